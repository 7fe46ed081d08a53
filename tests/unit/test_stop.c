/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"
#include "run/stop.h"

/* A process in its own group, which is not orphaned: a stop is not dropped. */
static pid_t start_tracker(void (*run)(int arg), int arg)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        sigset_t all;

        (void)setpgid(0, 0);
        (void)sigfillset(&all);
        (void)sigprocmask(SIG_BLOCK, &all, NULL);
        run(arg);
        _exit(0);
    }
    return pid;
}

static int wait_for(pid_t pid)
{
    int wait_status;

    assert_int_equal(waitpid(pid, &wait_status, WUNTRACED), pid);
    return wait_status;
}

static void it_stops_though_the_signal_is_blocked(void **state)
{
    static const int signals[] = { SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
        pid_t pid = start_tracker(stop_by, signals[i]);
        int wait_status = wait_for(pid);

        assert_true(WIFSTOPPED(wait_status));
        assert_int_equal(WSTOPSIG(wait_status), signals[i]);
        assert_int_equal(kill(pid, SIGCONT), 0);
        wait_status = wait_for(pid);
        assert_true(WIFEXITED(wait_status));
    }
}

/* A command that stops itself by `number`, then exits with 7; and a tracker that stops with it,
 * writes the pid of the command before that, and exits with the code of the command. */
static int told_fd;

static void track(int number)
{
    siginfo_t info = { 0 };
    int wait_status;
    pid_t command = fork();

    if (command == 0) {
        sigset_t none;

        (void)sigemptyset(&none);
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
        (void)raise(number);
        _exit(7);
    }
    if (command < 0 || waitid(P_PID, (id_t)command, &info, WSTOPPED) < 0 ||
        write(told_fd, &command, sizeof(command)) != (ssize_t)sizeof(command))
        _exit(1);
    stop_with(command, info.si_status);
    if (waitpid(command, &wait_status, 0) != command)
        _exit(2);
    /* Nothing of ours is left, of whatever kind. */
    if (waitpid(-1, NULL, WNOHANG | __WALL) >= 0)
        _exit(3);
    _exit(WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 100 + WTERMSIG(wait_status));
}

static void stop_both(int number, pid_t *ret_tracker, pid_t *ret_command)
{
    int fds[2], wait_status;

    assert_int_equal(pipe(fds), 0);
    told_fd = fds[1];
    *ret_tracker = start_tracker(track, number);
    assert_int_equal(read(fds[0], ret_command, sizeof(*ret_command)), sizeof(*ret_command));
    wait_status = wait_for(*ret_tracker);
    assert_true(WIFSTOPPED(wait_status));
    assert_int_equal(WSTOPSIG(wait_status), number);
    close(fds[0]);
    close(fds[1]);
}

static void assert_exits_with(pid_t tracker, int code)
{
    int wait_status = wait_for(tracker);

    assert_true(WIFEXITED(wait_status));
    assert_int_equal(WEXITSTATUS(wait_status), code);
}

static void the_command_is_continued_with_us(void **state)
{
    pid_t tracker, command;

    (void)state;
    stop_both(SIGTSTP, &tracker, &command);
    assert_int_equal(kill(tracker, SIGCONT), 0);
    assert_exits_with(tracker, 7);
    stop_both(SIGSTOP, &tracker, &command);
    assert_int_equal(kill(-tracker, SIGCONT), 0); /* the group, as a shell does */
    assert_exits_with(tracker, 7);
}

static void we_are_continued_with_the_command(void **state)
{
    pid_t tracker, command;

    (void)state;
    stop_both(SIGSTOP, &tracker, &command);
    assert_int_equal(kill(command, SIGCONT), 0);
    assert_exits_with(tracker, 7);
}

static void the_end_of_the_command_continues_us(void **state)
{
    pid_t tracker, command;

    (void)state;
    stop_both(SIGTSTP, &tracker, &command);
    assert_int_equal(kill(command, SIGKILL), 0);
    assert_exits_with(tracker, 100 + SIGKILL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_stops_though_the_signal_is_blocked),
        cmocka_unit_test(the_command_is_continued_with_us),
        cmocka_unit_test(we_are_continued_with_the_command),
        cmocka_unit_test(the_end_of_the_command_continues_us),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
