/* SPDX-License-Identifier: Apache-2.0 */
#include "base/signal_name.h"

#include <signal.h>
#include <stddef.h>

#include "base/compiler.h"

#define NAME(signal) [signal] = #signal

/* Numbers differ between architectures; SIGIO is also SIGPOLL, SIGABRT also SIGIOT. */
static const char *const names[] = {
    NAME(SIGHUP),        NAME(SIGINT),   NAME(SIGQUIT), NAME(SIGILL),  NAME(SIGTRAP),
    NAME(SIGABRT),       NAME(SIGBUS),   NAME(SIGFPE),  NAME(SIGKILL), NAME(SIGUSR1),
    NAME(SIGSEGV),       NAME(SIGUSR2),  NAME(SIGPIPE), NAME(SIGALRM), NAME(SIGTERM),
    NAME(SIGCHLD),       NAME(SIGCONT),  NAME(SIGSTOP), NAME(SIGTSTP), NAME(SIGTTIN),
    NAME(SIGTTOU),       NAME(SIGURG),   NAME(SIGXCPU), NAME(SIGXFSZ), NAME(SIGPROF),
    NAME(SIGVTALRM),     NAME(SIGWINCH), NAME(SIGPWR),  NAME(SIGSYS),
#ifdef SIGSTKFLT
    NAME(SIGSTKFLT),
#endif
    [SIGIO] = "SIGPOLL", /* as glibc calls it */
};

const char *signal_name(int number)
{
    return number >= 0 && (size_t)number < ARRAY_SIZE(names) ? names[number] : NULL;
}
