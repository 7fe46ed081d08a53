/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/root.h"
#include "cgroup/scope_keeper.h"
#include "job/agents.h"

static int start(void **state)
{
    static struct scope_keeper keeper; /* cmocka hands it to the test */
    int r = scope_keeper_start(&keeper);

    *state = r == 0 ? &keeper : NULL;
    if (r == -ENOSYS)
        print_message("the kernel is too old for a keeper\n");
    return r == -ENOSYS ? 0 : r;
}

static int stop(void **state)
{
    if (*state)
        scope_keeper_stop(*state);
    return 0;
}

static struct scope_keeper *get(void **state)
{
    if (!*state)
        skip();
    return *state;
}

/* Becomes readable when all others that have the other end have closed it. */
static bool is_closed_within(int fd, int ms)
{
    struct pollfd poller = { .fd = fd, .events = POLLIN };

    return poll(&poller, 1, ms) == 1 && (poller.revents & POLLHUP);
}

static void no_wait_for_children_finds_it(void **state)
{
    struct scope_keeper *keeper = get(state);
    siginfo_t info = { 0 };

    assert_true(keeper->pid > 0);
    assert_int_equal(kill(keeper->pid, 0), 0);
    assert_int_equal(waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT), -1);
    assert_int_equal(errno, ECHILD);
    assert_int_equal(waitpid(keeper->pid, NULL, WNOHANG), -1);
}

/* Its parent is the tracker, as that of an orphan of the job is. */
static void no_job_counts_it(void **state)
{
    struct scope_keeper *keeper = get(state);
    struct member member = { .pid = keeper->pid };
    struct root root;

    assert_int_equal(root_open(NULL, &root), 0);
    assert_true(root_read(&root, member.comm, sizeof(member.comm), "proc/%d/comm",
                          (int)keeper->pid) > 0);
    member.comm[strcspn(member.comm, "\n")] = '\0';
    assert_true(agents_has(&root, &member));
    root_close(&root);
}

static void it_has_no_file_of_ours_open(void **state)
{
    struct scope_keeper *keeper;
    int fds[2];

    (void)state;
    assert_int_equal(pipe2(fds, 0), 0); /* one that would be handed down */
    if (start(state) != 0 || !*state) {
        close(fds[0]);
        close(fds[1]);
        skip();
    }
    keeper = *state;
    close(fds[1]);
    assert_true(is_closed_within(fds[0], 10000));
    close(fds[0]);
    assert_int_equal(kill(keeper->pid, 0), 0); /* and lives */
    stop(state);
}

static void signals_do_not_end_it(void **state)
{
    static const int signals[] = { SIGTERM, SIGINT, SIGHUP, SIGPIPE, SIGUSR1, SIGALRM };
    struct scope_keeper *keeper = get(state);
    siginfo_t info = { 0 };

    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        assert_int_equal(kill(keeper->pid, signals[i]), 0);
    assert_int_equal(
        waitid(P_PID, (id_t)keeper->pid, &info, WEXITED | WNOHANG | WNOWAIT | __WALL), 0);
    assert_int_equal(info.si_pid, 0);
}

static void it_ends_even_when_it_has_been_stopped(void **state)
{
    struct scope_keeper *keeper = get(state);
    pid_t pid = keeper->pid;

    assert_int_equal(kill(pid, SIGSTOP), 0);
    scope_keeper_stop(keeper);
    assert_int_equal(keeper->pid, 0);
    assert_int_equal(kill(pid, 0), -1);
    assert_int_equal(errno, ESRCH);
    scope_keeper_stop(keeper); /* none: nothing happens */
}

/* Plays a tracker that is killed. What it started must not outlive it. */
static void it_ends_with_the_tracker(void **state)
{
    int fds[2];
    int status;
    pid_t tracker, keeper = 0;
    struct root root;
    char text[512];

    (void)state;
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    tracker = fork();
    assert_true(tracker >= 0);
    if (tracker == 0) {
        struct scope_keeper own = { 0 };

        (void)scope_keeper_start(&own);
        (void)!write(fds[1], &own.pid, sizeof(own.pid));
        (void)raise(SIGKILL);
    }
    assert_int_equal(read(fds[0], &keeper, sizeof(keeper)), sizeof(keeper));
    assert_int_equal(waitpid(tracker, &status, 0), tracker);
    close(fds[0]);
    close(fds[1]);
    if (keeper == 0)
        skip();
    assert_int_equal(root_open(NULL, &root), 0);
    for (int i = 0; i < 10000; i++) {
        ssize_t n = root_read(&root, text, sizeof(text), "proc/%d/stat", (int)keeper);

        if (n < 0 || strstr(text, ") Z ")) {
            root_close(&root);
            return;
        }
        (void)poll(NULL, 0, 1);
    }
    fail_msg("it is still there");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(no_wait_for_children_finds_it, start, stop),
        cmocka_unit_test_setup_teardown(no_job_counts_it, start, stop),
        cmocka_unit_test(it_has_no_file_of_ours_open),
        cmocka_unit_test_setup_teardown(signals_do_not_end_it, start, stop),
        cmocka_unit_test_setup_teardown(it_ends_even_when_it_has_been_stopped, start, stop),
        cmocka_unit_test(it_ends_with_the_tracker),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
