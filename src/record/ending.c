/* SPDX-License-Identifier: Apache-2.0 */
#include "record/ending.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include "base/signal_name.h"
#include "base/unknown.h"

struct ending ending_of(bool has_ended, int wait_status)
{
    struct ending ending = { .exit_code = UNKNOWN };
    const char *name;
    int number;

    if (!has_ended)
        return ending;
    if (!WIFSIGNALED(wait_status)) {
        ending.exit_code = (uint64_t)WEXITSTATUS(wait_status);
        return ending;
    }
    number = WTERMSIG(wait_status);
    name = signal_name(number);
    ending.exit_code = 128 + (uint64_t)number;
    ending.has_dumped_core = WCOREDUMP(wait_status);
    if (name)
        (void)snprintf(ending.signal_name, sizeof(ending.signal_name), "%s", name);
    else if (number >= SIGRTMIN && number <= SIGRTMAX)
        (void)snprintf(ending.signal_name, sizeof(ending.signal_name), "SIGRTMIN+%d",
                       number - SIGRTMIN);
    else
        (void)snprintf(ending.signal_name, sizeof(ending.signal_name), "SIG%d", number);
    return ending;
}
