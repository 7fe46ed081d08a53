/* SPDX-License-Identifier: Apache-2.0 */
/*
 * widen COUNT - a process that was bound to one CPU switches to all CPUs, and forks on each of
 * them.
 */
#include <sched.h>
#include <unistd.h>

#include "ledger.h"
#include "workload.h"

static void act(void *data)
{
    (void)data;
    burn_ms(20);
}

static void bind_to(int first, int end)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    for (int i = first; i < end; i++)
        CPU_SET(i, &set);
    if (sched_setaffinity(0, sizeof(set), &set) < 0)
        ledger_cannot("this machine does not give the job its other CPUs");
}

int main(int argc, char **argv)
{
    long count = number_argument(argc, argv, 1);
    int cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
    pid_t pid;

    if (cpus < 2)
        ledger_cannot("this machine has one CPU");
    bind_to(0, cpus);
    ledger_open();
    for (long i = 0; i < count; i++) {
        int cpu = (int)(i % cpus);

        bind_to(cpu, cpu + 1);
        pid = start(act, NULL);
        bind_to(0, cpus);
        wait_for(pid);
    }
    ledger_set(PROCESSES, (double)count + 1);
    ledger_set(CONCURRENT, 2);
    ledger_add_own_cpu();
    ledger_close();
    return 0;
}
