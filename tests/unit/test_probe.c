/* SPDX-License-Identifier: Apache-2.0 */
/* test_probe.c - the probes of `spoor doctor` if no process can be started. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spoor/spoor.h"
#include "unit_test.h"

/* ---- fork() fails on request (see meson.build) ---- */

pid_t __real_fork(void);
pid_t __wrap_fork(void);

static bool fork_fails;

pid_t __wrap_fork(void)
{
    if (!fork_fails)
        return __real_fork();
    errno = EAGAIN;
    return -1;
}

struct seen {
    unsigned available_count;
    unsigned unstarted_count;
};

static void count(const struct spoor_source *source, void *data)
{
    struct seen *seen = data;

    assert_int_equal(source->is_available, source->why_not == NULL);
    seen->available_count += source->is_available;
    seen->unstarted_count +=
        source->why_not && strcmp(source->why_not, "cannot start a process") == 0;
}

static struct seen check(void)
{
    struct seen seen = { 0 };

    assert_int_equal(spoor_machine_check(NULL, count, &seen, NULL), 0);
    return seen;
}

static int descriptor_count(void)
{
    int count = 0;

    for (int fd = 0; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

TEST(a_failed_fork_affects_neither_descriptors_nor_children_of_the_caller)
{
    int before = descriptor_count();
    pid_t child = __real_fork();
    siginfo_t info;
    struct seen seen;
    int status;

    if (child == 0)
        _exit(42);
    assert_true(child > 0);
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    fork_fails = true;
    seen = check();
    fork_fails = false;
    assert_int_equal(descriptor_count(), before);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), 42);
    assert_true(seen.unstarted_count > 0);
}

TEST(a_probe_leaves_no_files_and_no_children)
{
    int before = descriptor_count();
    struct seen seen = check();

    assert_true(seen.available_count > 0);
    assert_int_equal(seen.unstarted_count, 0);
    assert_int_equal(descriptor_count(), before);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}
