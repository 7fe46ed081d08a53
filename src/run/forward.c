/* SPDX-License-Identifier: Apache-2.0 */
#include "run/forward.h"

void forward_signals(sigset_t *ret)
{
    sigfillset(ret); /* but for SIGKILL and SIGSTOP, which cannot be blocked */
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

/* Signals that the kernel sends to a whole process group on behalf of the terminal. */
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
    /* The kernel writes SIGPIPE and SIGXFSZ of our own doing as sent by us. */
    if (forward_is_sent(info))
        return info->si_pid != facts->self && !facts->is_from_job;
    if (info->si_code == SI_KERNEL && is_of_terminal(info->si_signo))
        return !facts->shares_group;
    return info->si_code == SI_KERNEL && info->si_signo == SIGALRM;
}
