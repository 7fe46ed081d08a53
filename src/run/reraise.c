/* SPDX-License-Identifier: Apache-2.0 */
#include "run/reraise.h"

#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

/* A core pattern that names a program ignores the limit, but not the flag. */
static void prevent_core_file(void)
{
    static const struct rlimit none = { 0, 0 };

    (void)setrlimit(RLIMIT_CORE, &none); /* lowering a limit is always allowed */
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

void reraise(int signal)
{
    static const struct sigaction standard = { .sa_handler = SIG_DFL };
    sigset_t only;

    (void)fflush(NULL); /* errors were reported when it was written */
    prevent_core_file();
    (void)sigaction(signal, &standard, NULL); /* fails for SIGKILL, which needs no action */
    (void)kill(getpid(), signal);
    (void)sigemptyset(&only);
    (void)sigaddset(&only, signal);
    (void)sigprocmask(SIG_UNBLOCK, &only, NULL);
}
