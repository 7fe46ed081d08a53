/* SPDX-License-Identifier: Apache-2.0 */
/* thread_child - a worker thread, not the main one, starts the process that does the work. */
#include <pthread.h>

#include "ledger.h"
#include "workload.h"

static const size_t child_bytes = 100 * MB;

static void act(void *data)
{
    char *memory = touch(child_bytes);

    (void)data;
    burn_ms(1000);
    release(memory, child_bytes);
}

static void *work(void *data)
{
    wait_for(start(act, data));
    return NULL;
}

int main(void)
{
    pthread_t thread;

    ledger_open();
    if (pthread_create(&thread, NULL, work, NULL) != 0)
        ledger_fail("thread");
    pthread_join(thread, NULL);
    ledger_set(PEAK_RSS_BYTES, (double)child_bytes + resident_bytes());
    ledger_set(DESCENDANTS_RSS_BYTES, (double)child_bytes + resident_bytes());
    ledger_set(PRIVATE_BYTES, (double)child_bytes);
    ledger_set(PROCESSES, 2);
    ledger_set(CONCURRENT, 2);
    ledger_set(THREADS, 3);
    ledger_add_own_cpu();
    ledger_close();
    return 0;
}
