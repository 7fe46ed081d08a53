/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zombie COUNT - a process that has a zombie child from before it was tracked starts COUNT
 * children, all alive at once.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ledger.h"
#include "workload.h"

static void act(void *data)
{
    meet(data);
    burn_ms(30);
    meet(data);
    hold_ms(300);
}

int main(int argc, char **argv)
{
    long count = number_argument(argc, argv, 1);
    pid_t zombie = fork(), pids[64];
    siginfo_t info;
    meeting *place;

    if (zombie == 0)
        _exit(0);
    if (zombie < 0 || count > 64 || waitid(P_PID, (id_t)zombie, &info, WEXITED | WNOWAIT) < 0)
        ledger_fail("zombie");
    ledger_open();
    place = meeting_of((unsigned)count);
    for (long i = 0; i < count; i++)
        pids[i] = start(act, place);
    for (long i = 0; i < count; i++)
        wait_for(pids[i]);
    ledger_set(PROCESSES, (double)count + 1);
    ledger_set(CONCURRENT, (double)count + 1);
    ledger_burn_to_ms(ENOUGH_CPU_MS);
    ledger_add_own_cpu();
    ledger_close();
    return 0;
}
