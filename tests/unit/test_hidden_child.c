/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hidden_child.h"
#include "unit_test.h"

static pid_t start(int fds[2], const char *name)
{
    pid_t pid;

    assert_return_code(pipe2(fds, O_CLOEXEC), errno);
    pid = hidden_child_fork(name);
    if (pid == 0) {
        char own_name[16] = "";
        sigset_t blocked;

        (void)prctl(PR_GET_NAME, own_name);
        (void)pthread_sigmask(SIG_SETMASK, NULL, &blocked);
        (void)!write(fds[1], own_name, sizeof(own_name));
        (void)!write(fds[1], sigismember(&blocked, SIGTERM) ? "b" : "-", 1);
        (void)!write(fds[1], getsid(0) == getpid() ? "s" : "-", 1);
        _exit(0);
    }
    assert_true(pid > 0);
    return pid;
}

TEST(the_child_has_its_own_name_and_session_and_blocks_signals)
{
    char own_name[16], said[18] = "";
    int fds[2];
    pid_t pid = start(fds, "spoor-test");

    child_reap(pid);
    assert_int_equal(read(fds[0], said, sizeof(said)), sizeof(said));
    assert_string_equal(said, "spoor-test");
    assert_memory_equal(said + 16, "bs", 2);
    assert_return_code(prctl(PR_GET_NAME, own_name), errno);
    assert_string_not_equal(own_name, "spoor-test");
    close(fds[0]);
    close(fds[1]);
}

TEST(the_child_is_not_returned_by_wait)
{
    int fds[2];
    pid_t pid = start(fds, "spoor-test");

    assert_int_equal(waitpid(-1, NULL, 0), -1);
    assert_int_equal(errno, ECHILD);
    child_reap(pid);
    assert_int_equal(kill(pid, 0), -1);
    close(fds[0]);
    close(fds[1]);
}

TEST(the_child_keeps_only_one_descriptor_open)
{
    int fds[2];
    char byte;
    pid_t pid;

    assert_return_code(pipe2(fds, O_CLOEXEC), errno);
    pid = hidden_child_fork("spoor-test");
    if (pid == 0) {
        int r = hidden_child_keep_only(fds[1], 0);

        (void)!write(0, r == -ENOSYS || (r == 0 && fcntl(fds[0], F_GETFD) < 0) ? "y" : "n", 1);
        _exit(0);
    }
    close(fds[1]);
    assert_int_equal(read(fds[0], &byte, 1), 1);
    assert_int_equal(byte, 'y');
    assert_int_equal(read(fds[0], &byte, 1), 0); /* EOF: descriptor 0 was the last copy */
    child_reap(pid);
    close(fds[0]);
}

TEST(the_child_keeps_its_standard_output)
{
    int wakes[2], rows[2];
    char byte;
    pid_t pid;

    assert_return_code(pipe2(wakes, O_CLOEXEC), errno);
    assert_return_code(pipe2(rows, O_CLOEXEC), errno);
    pid = hidden_child_fork("spoor-test");
    if (pid == 0) {
        int r = hidden_child_keep_only(wakes[0], rows[1]);

        (void)!write(1, r == -ENOSYS || (r == 0 && fcntl(rows[1], F_GETFD) < 0) ? "y" : "n", 1);
        _exit(read(0, &byte, 1) == 0 ? 0 : 1);
    }
    close(wakes[0]);
    close(rows[1]);
    assert_int_equal(read(rows[0], &byte, 1), 1);
    assert_int_equal(byte, 'y');
    close(wakes[1]);
    assert_int_equal(read(rows[0], &byte, 1), 0); /* EOF: descriptor 1 was the last copy */
    child_reap(pid);
    close(rows[0]);
}
