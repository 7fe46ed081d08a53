/* SPDX-License-Identifier: Apache-2.0 */
/* threads - 40 waves of eight threads, each of which burns 3 ms and exits: their CPU time must
 * stay counted. */
#include <dirent.h>
#include <pthread.h>
#include <sched.h>

#include "ledger.h"
#include "workload.h"

enum { WAVES = 40, THREADS_AT_ONCE = 8 };

static void *act(void *data)
{
    meet(data); /* all threads of a wave exist at once */
    burn_ms(3);
    meet(data);
    return NULL;
}

static int count_threads(void)
{
    DIR *folder = opendir("/proc/self/task");
    int count = 0;

    while (folder && readdir(folder))
        count++;
    if (!folder || closedir(folder) < 0)
        ledger_fail("/proc/self/task");
    return count - 2; /* "." and ".." */
}

/* The kernel counts a joined thread until its exit is complete. */
static void wait_until_alone(void)
{
    while (count_threads() > 1)
        sched_yield();
}

int main(void)
{
    pthread_t threads[THREADS_AT_ONCE];
    meeting *place;

    ledger_open();
    place = meeting_of(THREADS_AT_ONCE);
    for (int wave = 0; wave < WAVES; wave++) {
        for (int i = 0; i < THREADS_AT_ONCE; i++) {
            if (pthread_create(&threads[i], NULL, act, place) != 0)
                ledger_fail("thread");
        }
        for (int i = 0; i < THREADS_AT_ONCE; i++)
            pthread_join(threads[i], NULL);
        wait_until_alone();
    }
    ledger_set(PROCESSES, 1);
    ledger_set(CONCURRENT, 1);
    ledger_set(THREADS, THREADS_AT_ONCE + 1);
    ledger_add_own_cpu();
    ledger_close();
    return 0;
}
