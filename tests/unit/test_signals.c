/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/compiler.h"
#include "run/signals.h"
#include "unit_test.h"

/* ---- forward ------------------------------------------------------------ */

enum { SELF = 100, OTHER = 200 };

static bool is_wanted(int signal, int code, pid_t sender, bool is_from_job, bool shares_group)
{
    const struct forward_facts facts = { SELF, is_from_job, shares_group };
    siginfo_t info = { .si_signo = signal, .si_code = code };

    info.si_pid = sender;
    return forward_is_wanted(&info, &facts);
}

TEST(signals_from_a_process_are_forwarded)
{
    static const int codes[] = { SI_USER, SI_TKILL, SI_QUEUE };
    static const int signals[] = { SIGINT,  SIGTERM,  SIGHUP,  SIGQUIT, SIGUSR1, SIGUSR2,
                                   SIGCONT, SIGWINCH, SIGTSTP, SIGALRM, SIGPIPE, SIGURG };

    for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
        for (size_t j = 0; j < ARRAY_SIZE(codes); j++)
            assert_true(is_wanted(signals[i], codes[j], OTHER, false, true));
        assert_true(is_wanted(signals[i], SI_USER, 0, false, true)); /* other PID namespace */
    }
    assert_true(is_wanted(SIGRTMIN, SI_QUEUE, OTHER, false, true));
}

TEST(signals_from_the_terminal_are_not_forwarded)
{
    static const int signals[] = { SIGINT, SIGQUIT, SIGTSTP, SIGHUP, SIGWINCH };

    for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
        assert_false(is_wanted(signals[i], SI_KERNEL, 0, false, true));
        /* The command has left spoor's process group. */
        assert_true(is_wanted(signals[i], SI_KERNEL, 0, false, false));
    }
}

TEST(signals_from_the_job_are_not_sent_back)
{
    assert_false(is_wanted(SIGUSR1, SI_USER, OTHER, true, true));
    assert_false(is_wanted(SIGTSTP, SI_USER, OTHER, true, true));
}

TEST(signals_caused_by_the_tracker_are_not_forwarded)
{
    assert_false(is_wanted(SIGPIPE, SI_USER, SELF, false, true));
    assert_false(is_wanted(SIGXFSZ, SI_USER, SELF, false, true));
    assert_false(is_wanted(SIGXCPU, SI_KERNEL, 0, false, true));
    assert_false(is_wanted(SIGIO, SI_KERNEL, 0, false, true));
}

TEST(an_alarm_is_forwarded)
{
    assert_true(is_wanted(SIGALRM, SI_KERNEL, 0, false, true));
}

TEST(sigchld_is_not_forwarded)
{
    assert_false(is_wanted(SIGCHLD, CLD_EXITED, OTHER, false, true));
    assert_false(is_wanted(SIGCHLD, SI_USER, OTHER, false, true));
}

TEST(fault_and_stop_signals_sent_by_a_process_are_forwarded)
{
    static const int signals[] = { SIGSEGV, SIGBUS,  SIGFPE,  SIGILL, SIGTRAP,
                                   SIGSYS,  SIGABRT, SIGTTIN, SIGTTOU };
    sigset_t set;

    forward_signals(&set);
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
        assert_true(sigismember(&set, signals[i]));
        assert_true(is_wanted(signals[i], SI_USER, OTHER, false, true));
        assert_false(is_wanted(signals[i], SI_KERNEL, 0, false, true));
    }
    assert_true(sigismember(&set, SIGCHLD));
    assert_true(sigismember(&set, SIGPIPE));
    assert_true(sigismember(&set, SIGTSTP));
    assert_true(sigismember(&set, SIGRTMAX));
}

/* ---- reraise ------------------------------------------------------------ */

/* Returns the wait status of a process that blocks all signals, ignores this signal and
 * reraises it. The process's buffered output goes to `output_fd`. */
static int status_after(int number, int output_fd)
{
    int wait_status;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        struct rlimit cores = { 0, 0 };
        FILE *output = fdopen(output_fd, "w");
        sigset_t all;

        (void)getrlimit(RLIMIT_CORE, &cores);
        cores.rlim_cur = cores.rlim_max;
        (void)setrlimit(RLIMIT_CORE, &cores);
        (void)sigfillset(&all);
        (void)sigprocmask(SIG_BLOCK, &all, NULL);
        (void)signal(number, SIG_IGN);
        if (output)
            (void)fputs("last words", output);
        reraise(number);
        _exit(1);
    }
    assert_int_equal(waitpid(pid, &wait_status, 0), pid);
    return wait_status;
}

TEST(the_wrapper_dies_as_the_command_did_without_a_core_file)
{
    static const int signals[] = { SIGHUP,  SIGINT,  SIGQUIT, SIGABRT, SIGKILL,
                                   SIGSEGV, SIGPIPE, SIGTERM, SIGXCPU, SIGXFSZ };

    for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
        int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
        int wait_status = status_after(signals[i], fd);

        close(fd);
        assert_true(WIFSIGNALED(wait_status));
        assert_int_equal(WTERMSIG(wait_status), signals[i]);
        assert_false(WCOREDUMP(wait_status));
    }
}

TEST(printed_text_is_not_lost)
{
    char text[32] = "";
    int fds[2];

    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    assert_int_equal(WTERMSIG(status_after(SIGTERM, fds[1])), SIGTERM);
    close(fds[1]);
    assert_int_equal(read(fds[0], text, sizeof(text) - 1), 10);
    assert_string_equal(text, "last words");
    close(fds[0]);
}

/* ---- interruptible ------------------------------------------------------ */

static int return_code(void *data)
{
    const int *code = data;

    return *code;
}

static int stall(UNUSED void *data)
{
    while (pause() < 0)
        continue;
    return 0;
}

static int die(UNUSED void *data)
{
    return raise(SIGKILL);
}

TEST(a_killed_child_is_detected)
{
    assert_int_equal(run_interruptible(die, NULL), -SIGKILL);
}

TEST(the_result_of_interruptible_work_is_returned)
{
    for (int code = 0; code < 256; code += 51)
        assert_int_equal(run_interruptible(return_code, &code), code);
}

TEST(an_ignored_sigchld_does_not_matter)
{
    int code = 3;

    (void)signal(SIGCHLD, SIG_IGN);
    assert_int_equal(run_interruptible(return_code, &code), 3);
}

TEST(a_signal_ends_stalled_work)
{
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
    sigset_t signals, before;

    (void)sigfillset(&signals);
    (void)sigprocmask(SIG_BLOCK, &signals, &before);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        (void)raise(numbers[i]); /* pending, as if the signal had arrived during the work */
        if (i > 0)
            (void)raise(SIGINT); /* a second signal shortens the wait */
        assert_true(run_interruptible(stall, NULL) < 0);
        assert_true(waitpid(-1, NULL, 0) > 0); /* the worker was killed */
    }
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
}

TEST(work_has_time_to_finish_after_a_signal)
{
    const struct timespec at_once = { 0 };
    sigset_t signals, before;
    int code = 5;

    (void)sigfillset(&signals);
    (void)sigprocmask(SIG_BLOCK, &signals, &before);
    (void)raise(SIGTERM);
    assert_int_equal(run_interruptible(return_code, &code), 5);
    (void)sigtimedwait(&signals, NULL, &at_once); /* still pending if the work was faster */
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
}

/* ---- stop --------------------------------------------------------------- */

/* Starts a process in its own group. The group is not orphaned, so the kernel does not
 * discard a stop signal. */
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

TEST(a_blocked_stop_signal_still_stops_the_tracker)
{
    static const int signals[] = { SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU };

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

static int told_fd;

/* Runs a tracker whose command stops itself by `number`, then exits with 7. The tracker
 * writes the PID of the command to told_fd, stops with the command, and exits with its code. */
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
    /* There must be no other child. */
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

TEST(sigcont_to_the_tracker_continues_the_command)
{
    pid_t tracker, command;

    stop_both(SIGTSTP, &tracker, &command);
    assert_int_equal(kill(tracker, SIGCONT), 0);
    assert_exits_with(tracker, 7);
    stop_both(SIGSTOP, &tracker, &command);
    assert_int_equal(kill(-tracker, SIGCONT), 0); /* signals the group, as a shell does */
    assert_exits_with(tracker, 7);
}

TEST(sigcont_to_the_command_continues_the_tracker)
{
    pid_t tracker, command;

    stop_both(SIGSTOP, &tracker, &command);
    assert_int_equal(kill(command, SIGCONT), 0);
    assert_exits_with(tracker, 7);
}

TEST(the_end_of_the_command_continues_the_tracker)
{
    pid_t tracker, command;

    stop_both(SIGTSTP, &tracker, &command);
    assert_int_equal(kill(command, SIGKILL), 0);
    assert_exits_with(tracker, 100 + SIGKILL);
}
