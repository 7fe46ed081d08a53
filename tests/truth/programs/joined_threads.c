/* SPDX-License-Identifier: Apache-2.0 */
/*
 * joined_threads COUNT - one process whose threads start and are joined one after the other.
 * The exit of a thread costs CPU time that no clock of the process shows. This time must not be
 * mistaken for a missing child.
 */
#include <pthread.h>

#include "ledger.h"
#include "workload.h"

static void *act(void *data)
{
    return data;
}

int main(int argc, char **argv)
{
    long count = number_argument(argc, argv, 1);
    pthread_t thread;

    ledger_open();
    for (long i = 0; i < count; i++) {
        if (pthread_create(&thread, NULL, act, NULL) != 0)
            ledger_fail("thread");
        pthread_join(thread, NULL);
    }
    ledger_set(PROCESSES, 1);
    ledger_set(CONCURRENT, 1);
    ledger_add_own_cpu();
    ledger_close();
    return 0;
}
