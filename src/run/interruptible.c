/* SPDX-License-Identifier: Apache-2.0 */
#include "run/interruptible.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "run/forward.h"

/* Long enough for what does not stall. */
#define GRACE_NS (250 * NS_PER_MS)

/* The next signal. -1: none came in time. `deadline_ns` 0: there is no limit. */
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
    (void)sigaction(SIGCHLD, &standard, NULL); /* ignored, it would not report the end */
    pid = fork();
    if (pid ==
        0) /* not _exit(): to a sanitizer, threads that only the parent has would be leaks */
        (void)syscall(SYS_exit_group, work(data));
    r = pid < 0 ? work(data) : wait_for(pid, &signals);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return r;
}
