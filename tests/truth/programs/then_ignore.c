/* SPDX-License-Identifier: Apache-2.0 */
/*
 * then_ignore - a child burns a second and is waited for; then the process becomes a program
 * that ignores SIGCHLD and starts children, as a shell does with `exec`. The first child must
 * stay counted, and only once.
 */
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ledger.h"
#include "workload.h"

enum { CHILD_MS = 1000, LATER_MS = 300, LATER_CHILDREN = 4, LATER_CHILD_MS = 10 };
static const size_t bytes = 50 * MB;

static void act(void *data)
{
    char *memory = touch(bytes);

    (void)data;
    burn_ms(CHILD_MS);
    release(memory, bytes);
}

static void act_later(void *data)
{
    (void)data;
    burn_ms(LATER_CHILD_MS);
}

/* The kernel reaps the children: wait() fails once the last one has exited. */
static void run_unwaited(void)
{
    for (int i = 0; i < LATER_CHILDREN; i++)
        start(act_later, NULL);
    while (wait(NULL) > 0 || errno == EINTR)
        ;
}

static double waited_seconds(void)
{
    return (double)waited_cpu_ns() / 1e9;
}

static double page_faults(int who)
{
    struct rusage usage;

    getrusage(who, &usage);
    return (double)usage.ru_minflt;
}

int main(int argc, char **argv)
{
    ledger_open();
    if (argc == 1) {
        wait_for(start(act, NULL));
        signal(SIGCHLD, SIG_IGN);
        execl("/proc/self/exe", argv[0], "again", (char *)NULL);
        ledger_fail("exec");
    }
    hold_ms(100);
    run_unwaited();
    burn_ms(LATER_MS);
    ledger_set(PROCESSES, 2 + LATER_CHILDREN);
    ledger_set(MINOR_FAULTS, page_faults(RUSAGE_SELF) + page_faults(RUSAGE_CHILDREN));
    if (waited_seconds() < CHILD_MS / 1e3)
        ledger_cannot("this kernel forgets the children waited for when SIGCHLD is ignored");
    ledger_add_waited_cpu();
    ledger_add_own_cpu();
    ledger_close();
    return 0;
}
