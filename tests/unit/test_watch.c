/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "run/watch.h"
#include "unit_test.h"

/* Starts a child that exits with `code` when *ret_gate_fd is closed. */
static pid_t start_child(int code, int *ret_gate_fd)
{
    int gate[2];
    pid_t pid;

    assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        ssize_t n;
        char c;

        close(gate[1]);
        n = read(gate[0], &c, 1);
        close(gate[0]);
        _exit(n == 0 ? code : 1);
    }
    close(gate[0]);
    *ret_gate_fd = gate[1];
    return pid;
}

TEST(the_exit_of_the_process_ends_the_watch)
{
    enum watch_end end = WATCH_INTERRUPTED;
    struct watch watch;
    int gate_fd, wait_status;
    pid_t pid = start_child(7, &gate_fd);
    int r;

    assert_int_equal(watch_open(pid, NULL, &watch, NULL), 0);
    close(gate_fd);
    assert_int_equal(watch_wait(&watch, 0, &end, NULL), 0);
    assert_int_equal(end, WATCH_PROCESS_ENDED);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    r = watch_wait_status(&watch, &wait_status);
    if (r == 0) /* since Linux 6.15 */
        assert_int_equal(wait_status, 7 << 8);
    else
        assert_int_equal(r, -ENODATA);
    watch_close(&watch);
    watch_close(&watch); /* a second call is harmless */
}

TEST(without_a_pidfd_the_process_is_polled)
{
    enum watch_end end = WATCH_INTERRUPTED;
    struct watch watch;
    int gate_fd, wait_status;
    pid_t pid = start_child(7, &gate_fd);

    assert_int_equal(watch_open(pid, NULL, &watch, NULL), 0);
    if (watch.pid_fd >= 0)
        close(watch.pid_fd);
    watch.pid_fd = -1; /* simulates a kernel without pidfds */
    assert_int_equal(watch_identify(&watch), 0);
    assert_int_equal(watch_wait(&watch, NS_PER_MS, &end, NULL), 0);
    assert_int_equal(end, WATCH_TIME_IS_UP);
    close(gate_fd);
    assert_int_equal(watch_wait(&watch, 0, &end, NULL), 0);
    assert_int_equal(end, WATCH_PROCESS_ENDED); /* a zombie counts as ended */
    assert_int_equal(watch_wait_status(&watch, &wait_status), -ENODATA);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    end = WATCH_INTERRUPTED;
    assert_int_equal(watch_wait(&watch, 0, &end, NULL), 0);
    assert_int_equal(end, WATCH_PROCESS_ENDED); /* so does a process that is gone */
    watch_close(&watch);
}

TEST(duration_and_signals_end_the_watch_but_not_the_process)
{
    enum watch_end end = WATCH_PROCESS_ENDED;
    struct watch watch;
    int gate_fd;
    pid_t pid = start_child(0, &gate_fd);

    assert_int_equal(watch_open(pid, NULL, &watch, NULL), 0);
    assert_int_equal(watch_wait(&watch, NS_PER_MS, &end, NULL), 0);
    assert_int_equal(end, WATCH_TIME_IS_UP);
    assert_int_equal(raise(SIGTERM), 0);
    assert_int_equal(watch_wait(&watch, 0, &end, NULL), 0);
    assert_int_equal(end, WATCH_INTERRUPTED);
    assert_int_equal(waitpid(pid, NULL, WNOHANG), 0); /* the child is alive */
    close(gate_fd);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    watch_close(&watch);
}

TEST(without_a_process_only_duration_and_signals_end_the_watch)
{
    enum watch_end end = WATCH_PROCESS_ENDED;
    struct watch watch;

    assert_int_equal(watch_open(0, NULL, &watch, NULL), 0);
    assert_int_equal(watch_wait(&watch, NS_PER_MS, &end, NULL), 0);
    assert_int_equal(end, WATCH_TIME_IS_UP);
    assert_int_equal(raise(SIGTERM), 0);
    assert_int_equal(watch_wait(&watch, 0, &end, NULL), 0);
    assert_int_equal(end, WATCH_INTERRUPTED);
    watch_close(&watch);
}

TEST(input_and_a_closed_reader_end_the_wait)
{
    enum watch_end end = WATCH_PROCESS_ENDED;
    struct watch watch;
    int gate_fd, fds[2];
    pid_t pid = start_child(0, &gate_fd);

    assert_int_equal(pipe(fds), 0);
    assert_int_equal(watch_open(pid, NULL, &watch, NULL), 0);
    watch.input_fd = fds[0];
    watch_ignore_signals(&watch);
    assert_int_equal(raise(SIGTERM), 0);
    assert_int_equal(watch_wait(&watch, NS_PER_MS, &end, NULL), 0);
    assert_int_equal(end, WATCH_TIME_IS_UP);
    assert_int_equal(write(fds[1], "x", 1), 1);
    assert_int_equal(watch_wait(&watch, 0, &end, NULL), 0);
    assert_int_equal(end, WATCH_INPUT);
    watch.input_fd = -1;
    watch.output_fd = fds[1];
    assert_int_equal(watch_wait(&watch, NS_PER_MS, &end, NULL), 0);
    assert_int_equal(end, WATCH_TIME_IS_UP);
    close(fds[0]);
    assert_int_equal(watch_wait(&watch, 0, &end, NULL), 0);
    assert_int_equal(end, WATCH_READER_LEFT);
    close(fds[1]);
    close(gate_fd);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    watch_close(&watch);
}

TEST(a_missing_process_is_refused)
{
    struct spoor_error err;
    struct watch watch;
    int gate_fd;
    pid_t pid = start_child(0, &gate_fd);

    close(gate_fd);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(watch_open(pid, NULL, &watch, &err), -ESRCH);
    assert_int_equal(err.code, ESRCH);
}
