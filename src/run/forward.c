/* SPDX-License-Identifier: Apache-2.0 */
#include "run/forward.h"

#include "base/compiler.h"

void forward_signals(sigset_t *ret)
{
    static const int left_alone[] = {
        SIGSEGV, SIGBUS,  SIGFPE,  SIGILL,  SIGTRAP, SIGSYS,
        SIGABRT, SIGTTIN, SIGTTOU, SIGKILL, SIGSTOP,
    };

    sigfillset(ret);
    for (size_t i = 0; i < ARRAY_SIZE(left_alone); i++)
        sigdelset(ret, left_alone[i]);
}

bool forward_is_sent(const siginfo_t *info)
{
    return info->si_code == SI_USER || info->si_code == SI_TKILL || info->si_code == SI_QUEUE;
}

/* Signals that the kernel gives to the whole foreground group. */
static bool is_of_terminal(int signal)
{
    return signal == SIGINT || signal == SIGQUIT || signal == SIGTSTP || signal == SIGHUP ||
           signal == SIGWINCH || signal == SIGCONT;
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
