/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compiler.h"
#include "run/process.h"
#include "run/track.h"
#include "unit_test.h"

/* ---- supervise ---------------------------------------------------------- */

struct result {
    int code;              /* exit code, or -errno of exec */
    bool has_children;     /* some process of the job is still running */
    bool is_by_our_signal; /* as returned by supervise() */
};

/* Runs and supervises a command as spoor does, but without a session. If `is_late`, starts
 * to supervise only after the command has exited. */
static struct result supervise_late(const char *const *argv, bool waits_for_all, bool is_late)
{
    siginfo_t info;
    CLEANUP(root_close) struct root root = ROOT_CLOSED;
    struct supervise_options options = { .root = &root, .waits_for_all = waits_for_all };
    struct result result = { .code = -1 };
    struct supervise_end end;
    struct spawn spawn;

    if (spawn_start((char *const *)(uintptr_t)argv, &spawn, NULL) == 0) {
        result.code = spawn_release(&spawn);
        assert_int_equal(root_open(NULL, &root), 0);
        options.pid = spawn.pid;
        if (result.code == 0 && is_late)
            (void)waitid(P_PID, (id_t)spawn.pid, &info, WEXITED | WNOWAIT);
        if (result.code == 0 && supervise(&options, &end, NULL) == 0) {
            result.code = supervise_exit_code(end.wait_status);
            result.is_by_our_signal = end.is_by_our_signal;
        }
    }
    result.has_children = waitpid(-1, NULL, WNOHANG) == 0;
    return result;
}

static struct result supervise_command(const char *const *argv, bool waits_for_all)
{
    return supervise_late(argv, waits_for_all, false);
}

/* Called in a separate process, so it may change process settings. */
typedef struct result (*supervisor_fn)(const char *const *argv, bool waits_for_all);

static struct result run_under(supervisor_fn supervisor, const char *const *argv,
                               bool waits_for_all)
{
    struct result result = { .code = -1 };
    int answer[2];
    pid_t pid;

    assert_int_equal(pipe2(answer, O_CLOEXEC), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        close(answer[0]);
        result = supervisor(argv, waits_for_all);
        (void)!write(answer[1], &result, sizeof(result)); /* on failure, read() fails too */
        close(answer[1]);
        _exit(0);
    }
    close(answer[1]);
    assert_int_equal(read(answer[0], &result, sizeof(result)), sizeof(result));
    close(answer[0]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    return result;
}

static struct result run(const char *const *argv, bool waits_for_all)
{
    return run_under(supervise_command, argv, waits_for_all);
}

static int shell(const char *script)
{
    const char *const argv[] = { "sh", "-c", script, NULL };

    return run(argv, false).code;
}

TEST(exit_codes_pass_through)
{
    assert_int_equal(shell("exit 0"), 0);
    assert_int_equal(shell("exit 7"), 7);
    assert_int_equal(shell("exit 255"), 255);
}

TEST(death_by_signal_n_gives_exit_code_128_plus_n)
{
    assert_int_equal(shell("kill -KILL $$"), 128 + SIGKILL);
    assert_int_equal(shell("kill -TERM $$"), 128 + SIGTERM);
    assert_int_equal(shell("ulimit -c 0; kill -SEGV $$"), 128 + SIGSEGV);
}

TEST(a_failed_exec_returns_its_errno)
{
    static const char *const missing[] = { "/nonexistent/command", NULL };
    static const char *const folder[] = { "/", NULL };

    assert_int_equal(run(missing, false).code, -ENOENT);
    assert_int_equal(run(folder, false).code, -EACCES);
    assert_false(run(folder, false).has_children); /* the child was reaped */
}

TEST(the_child_waits_until_the_gate_opens)
{
    static const char *const argv[] = { "sh", "-c", "kill -KILL $$", NULL };
    struct spawn spawn;
    siginfo_t info = { 0 };
    sigset_t mask;

    assert_int_equal(sigprocmask(SIG_SETMASK, NULL, &mask), 0);
    assert_int_equal(spawn_start((char *const *)(uintptr_t)argv, &spawn, NULL), 0);
    assert_int_equal(waitid(P_PID, (id_t)spawn.pid, &info, WEXITED | WNOHANG | WNOWAIT), 0);
    assert_int_equal(info.si_pid, 0); /* the child is alive */
    close(spawn.gate_fd);             /* simulates the death of the tracker */
    close(spawn.exec_fd);
    assert_int_equal(waitid(P_PID, (id_t)spawn.pid, &info, WEXITED), 0);
    assert_int_equal(info.si_code, CLD_EXITED);
    assert_int_equal(info.si_status, 125); /* not SIGKILL: the command did not run */
    assert_int_equal(sigprocmask(SIG_SETMASK, &mask, NULL), 0);
}

TEST(the_child_inherits_everything_unchanged)
{
    static const char *const argv[] = { "sh", "-c",
                                        "test $(ulimit -n) = $LIMIT &&"
                                        "test $(cut -d' ' -f5 /proc/$$/stat) = $GROUP &&"
                                        "grep -q '^SigBlk:.0*$' /proc/self/status &&"
                                        "test ! -e /proc/$$/fd/$FIRST_FREE",
                                        NULL };
    struct rlimit limit;
    char text[32];
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    (void)snprintf(text, sizeof(text), "%llu", (unsigned long long)limit.rlim_cur);
    setenv("LIMIT", limit.rlim_cur == RLIM_INFINITY ? "unlimited" : text, 1);
    (void)snprintf(text, sizeof(text), "%d", (int)getpgrp());
    setenv("GROUP", text, 1);
    (void)snprintf(text, sizeof(text), "%d", fd); /* the next descriptor gets this number */
    setenv("FIRST_FREE", text, 1);
    close(fd);
    assert_int_equal(run(argv, false).code, 0);
}

static struct result supervise_without_ends(const char *const *argv, bool waits_for_all)
{
    (void)signal(SIGCHLD, SIG_IGN);
    return supervise_command(argv, waits_for_all);
}

TEST(an_ignored_sigchld_is_restored_for_the_command)
{
    static const char *const argv[] = { "grep", "-q", "^SigIgn:.*[13579bdf]....$", /* bit 16 */
                                        "/proc/self/status", NULL };

    assert_int_equal(run_under(supervise_without_ends, argv, false).code, 0);
    assert_int_equal(run(argv, false).code, 1);
}

/* Reads one byte that the job wrote. */
static char hear(int fd)
{
    char c = '?';

    assert_int_equal(read(fd, &c, 1), 1);
    return c;
}

TEST(signals_sent_to_the_tracker_reach_the_job_once)
{
    static const char *const argv[] = {
        "sh", "-c",
        "n=0; trap 'n=$((n + 1)); printf u >&9' USR1; trap 'exit $((40 + n))' TERM;"
        "printf r >&9; while :; do sleep 0.01; done",
        NULL
    };
    siginfo_t info = { 0 };
    pid_t supervisor;
    int voice[2];

    assert_int_equal(pipe2(voice, O_CLOEXEC), 0);
    supervisor = fork();
    assert_true(supervisor >= 0);
    if (supervisor == 0) {
        int code = dup2(voice[1], 9) == 9 ? supervise_command(argv, false).code : 1;

        close(voice[0]);
        close(voice[1]);
        close(9);
        _exit(code);
    }
    close(voice[1]);
    assert_int_equal(hear(voice[0]), 'r');
    assert_int_equal(kill(supervisor, SIGUSR1), 0);
    assert_int_equal(hear(voice[0]), 'u');
    assert_int_equal(kill(supervisor, SIGTERM), 0);
    assert_int_equal(waitid(P_PID, (id_t)supervisor, &info, WEXITED), 0);
    assert_int_equal(info.si_code, CLD_EXITED);
    assert_int_equal(info.si_status, 41); /* the script counts one USR1, then TERM ends it */
    close(voice[0]);
}

TEST(signals_from_the_job_are_not_sent_back)
{
    assert_int_equal(shell("n=0; trap 'n=$((n + 1))' USR1; kill -USR1 $PPID; kill -USR1 $$;"
                           "kill -USR1 $PPID; exit $((40 + n))"),
                     41); /* counts the signal to itself, not those sent to spoor */
}

TEST(orphans_are_waited_for_on_request)
{
    static const char *const waits[] = { "sh", "-c", "(read x <&9) & exit 5", NULL };
    /* $$ is the PID of the command, even in the subshell. */
    static const char *const endures[] = {
        "sh", "-c", "(while kill -0 $$ 2>/dev/null; do :; done) & exit 5", NULL
    };
    struct result result;
    int gate[2];

    assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
    assert_int_equal(dup2(gate[0], 9), 9);
    result = run(waits, false);
    assert_int_equal(result.code, 5);
    assert_true(result.has_children); /* the orphan reads until the pipe is closed */
    close(gate[0]);
    close(gate[1]);
    close(9);
    result = run(endures, true);
    assert_int_equal(result.code, 5);
    assert_false(result.has_children);
}

static struct result supervise_in_its_own_group(const char *const *argv, bool waits_for_all)
{
    (void)setpgid(0, 0);
    (void)signal(SIGINT, SIG_DFL); /* ignored if the test runs in the background */
    return supervise_late(argv, waits_for_all, true);
}

/* Supervision may see the exit before it handles the signal, although the signal arrived
 * first. */
TEST(death_by_a_signal_to_the_whole_process_group_is_recognized)
{
    static const char *const alone[] = { "sh", "-c", "kill -TERM $$", NULL };
    static const char *const interrupts[] = { "sh", "-c", "kill -INT 0", NULL };
    /* A background child of a shell ignores the interrupt. */
    static const char *const leaves_one[] = {
        "sh", "-c", "(while kill -0 $$ 2>/dev/null; do :; done) & kill -INT 0", NULL
    };
    struct result result;

    result = run_under(supervise_in_its_own_group, interrupts, false);
    assert_int_equal(result.code, 128 + SIGINT);
    assert_true(result.is_by_our_signal);
    result = run_under(supervise_in_its_own_group, leaves_one, true);
    assert_int_equal(result.code, 128 + SIGINT);
    assert_true(result.is_by_our_signal);
    assert_false(result.has_children); /* one interrupt must not end the wait */
    result = run(alone, false);
    assert_int_equal(result.code, 128 + SIGTERM);
    assert_false(result.is_by_our_signal);
}
