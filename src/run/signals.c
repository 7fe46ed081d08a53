/* SPDX-License-Identifier: Apache-2.0 */
#include "run/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdnoreturn.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hidden_child.h"
#include "source/proc/pid_files.h"
#include "spoor/spoor.h"

/* ---- forwarding --------------------------------------------------------- */

void forward_signals(sigset_t *ret)
{
    sigfillset(ret); /* SIGKILL and SIGSTOP cannot be blocked */
}

void forward_end_signals(sigset_t *ret)
{
    (void)sigemptyset(ret);
    (void)sigaddset(ret, SIGINT);
    (void)sigaddset(ret, SIGTERM);
    (void)sigaddset(ret, SIGHUP);
    (void)sigaddset(ret, SIGQUIT);
}

bool forward_is_sent(const siginfo_t *info)
{
    return info->si_code == SI_USER || info->si_code == SI_TKILL || info->si_code == SI_QUEUE;
}

/* Whether the kernel sends this signal to a whole process group on behalf of the terminal. */
static bool is_of_terminal(int signal)
{
    switch (signal) {
    case SIGINT:
    case SIGQUIT:
    case SIGTSTP:
    case SIGTTIN:
    case SIGTTOU:
    case SIGHUP:
    case SIGWINCH:
    case SIGCONT:
        return true;
    default:
        return false;
    }
}

bool forward_is_wanted(const siginfo_t *info, const struct forward_facts *facts)
{
    if (info->si_signo == SIGCHLD)
        return false;
    /* We are the sender of SIGPIPE and SIGXFSZ caused by our own writes. */
    if (forward_is_sent(info))
        return info->si_pid != facts->self && !facts->is_from_job;
    if (info->si_code == SI_KERNEL && is_of_terminal(info->si_signo))
        return !facts->shares_group;
    return info->si_code == SI_KERNEL && info->si_signo == SIGALRM;
}

/* ---- dying as the command did ------------------------------------------- */

static sigset_t set_of(int signal)
{
    sigset_t set;

    (void)sigemptyset(&set);
    (void)sigaddset(&set, signal);
    return set;
}

/* Prevents a core file. If the core pattern is a program, the kernel ignores the limit but not
 * the dumpable flag. */
static void prevent_core_file(void)
{
    static const struct rlimit none = { 0, 0 };

    (void)setrlimit(RLIMIT_CORE, &none); /* lowering a limit is always allowed */
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

void reraise(int signal)
{
    static const struct sigaction standard = { .sa_handler = SIG_DFL };
    sigset_t only = set_of(signal);

    (void)fflush(NULL); /* errors were reported by the writers */
    prevent_core_file();
    (void)sigaction(signal, &standard, NULL); /* fails for SIGKILL, which needs no action */
    (void)kill(getpid(), signal);
    (void)sigprocmask(SIG_UNBLOCK, &only, NULL);
}

/* ---- work that a signal interrupts -------------------------------------- */

/* Enough time for any work that does not hang. */
#define GRACE_NS (250 * NS_PER_MS)

/* Returns the next signal; -1: none came in time. `deadline_ns` 0: no limit. */
static int next_signal(const sigset_t *signals, uint64_t deadline_ns)
{
    struct timespec left = clock_time_until(deadline_ns);
    int number;

    do
        number = sigtimedwait(signals, NULL, deadline_ns ? &left : NULL);
    while (number < 0 && errno == EINTR && !deadline_ns);
    return number;
}

static int wait_for(pid_t pid, const sigset_t *signals)
{
    uint64_t deadline_ns = 0;
    int interrupted_by = 0;

    for (;;) {
        int status;
        int number;

        if (waitpid(pid, &status, WNOHANG) == pid)
            return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
        number = next_signal(signals, deadline_ns);
        if (number == SIGCHLD)
            continue;
        if (interrupted_by == 0) {
            interrupted_by = number;
            deadline_ns = clock_now().monotonic_ns + GRACE_NS;
            continue;
        }
        (void)kill(pid, SIGKILL);
        return -interrupted_by;
    }
}

int run_interruptible(int (*work)(void *data), void *data)
{
    struct sigaction standard = { .sa_handler = SIG_DFL };
    sigset_t signals, before;
    pid_t pid;
    int r;

    forward_end_signals(&signals);
    (void)sigaddset(&signals, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &signals, &before);
    (void)sigaction(SIGCHLD, &standard, NULL); /* SIGCHLD must not be ignored to be received */
    pid = fork();
    if (pid == 0) /* not _exit(): LeakSanitizer would report memory of the parent's threads */
        (void)syscall(SYS_exit_group, work(data));
    r = pid < 0 ? work(data) : wait_for(pid, &signals);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return r;
}

/* ---- stopping with the job ---------------------------------------------- */

/* The helper doubles its polling interval each time, since most stops are long. */
#define FIRST_POLL_MS 10
#define LAST_POLL_MS 320

void stop_by(int signal)
{
    static const struct sigaction standard = { .sa_handler = SIG_DFL };
    struct sigaction before = standard;
    sigset_t only = set_of(signal);

    (void)sigaction(signal, &standard, &before); /* fails for SIGSTOP, which needs no action */
    (void)kill(getpid(), signal);
    (void)sigprocmask(SIG_UNBLOCK, &only, NULL);
    (void)sigprocmask(SIG_BLOCK, &only, NULL);
    (void)sigaction(signal, &before, NULL);
}

/* ---- the helper --------------------------------------------------------- */

/* Whether a process is stopped. A stop by a debugger ('t') counts too. */
static bool is_stopped(int stat_fd)
{
    char text[1024] = "";
    struct pid_stat stat;

    return pread(stat_fd, text, sizeof(text) - 1, 0) > 0 && pid_stat_parse(text, &stat) == 0 &&
           (stat.state == 'T' || stat.state == 't');
}

static noreturn void poll_state(int stat_fd, pid_t tracker)
{
    int interval_ms = FIRST_POLL_MS;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (getppid() == tracker && is_stopped(stat_fd)) {
        (void)poll(NULL, 0, interval_ms);
        if (interval_ms < LAST_POLL_MS)
            interval_ms *= 2;
    }
    if (getppid() == tracker)
        (void)kill(tracker, SIGCONT);
    _exit(0);
}

/* Starts the helper. It has the name of an agent, so that it does not count as a process of the
 * job. */
static pid_t start_helper(pid_t command)
{
    AUTO_CLOSE int stat_fd = -1;
    pid_t pid, tracker = getpid();
    char path[32];

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)command); /* fits any pid */
    stat_fd = open(path, O_RDONLY | O_CLOEXEC);
    if (stat_fd < 0)
        return -errno;
    pid = hidden_child_fork(SPOOR_AGENT_NAME);
    if (pid == 0)
        poll_state(stat_fd, tracker);
    return pid;
}

/* ---- the command -------------------------------------------------------- */

/* Returns the command's process group if it is not ours, else 0. */
static pid_t group_of(pid_t command)
{
    pid_t group = getpgid(command);

    return group > 0 && group != getpgrp() ? group : 0;
}

/* Gives the terminal to the command's own group if ours has it. */
static bool pass_terminal_on(pid_t command)
{
    AUTO_CLOSE int fd = -1;
    pid_t group = group_of(command);

    if (group == 0)
        return false;
    fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
    return fd >= 0 && tcgetpgrp(fd) == getpgrp() && tcsetpgrp(fd, group) == 0;
}

static void continue_command(pid_t command)
{
    pid_t group = group_of(command);

    /* The command may have been killed in the meantime. */
    (void)kill(group ? -group : command, SIGCONT);
}

static bool has_been_continued(pid_t command)
{
    siginfo_t info = { 0 };

    return waitid(P_PID, (id_t)command, &info, WCONTINUED | WNOHANG) == 0 && info.si_pid != 0;
}

void stop_with(pid_t command, int signal)
{
    static const struct timespec at_once = { 0 };
    sigset_t only = set_of(SIGCONT);
    siginfo_t info;
    pid_t helper;

    /* Without us the command would lead the foreground group and have the terminal. */
    if ((signal == SIGTTIN || signal == SIGTTOU) && pass_terminal_on(command)) {
        continue_command(command);
        return;
    }
    helper = start_helper(command);
    if (helper < 0)
        return; /* keep running: otherwise no process would continue us */
    stop_by(signal);
    (void)kill(helper, SIGKILL);
    child_reap(helper);
    if (sigtimedwait(&only, &info, &at_once) < 0 || info.si_pid == helper ||
        has_been_continued(command))
        return;
    (void)pass_terminal_on(command);
    continue_command(command);
}
