/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waiting - four threads that keep one CPU busy: at each moment three of them wait for it.
 *
 * A thread that never sleeps waits for a CPU whenever it does not run, so wall time minus CPU
 * time is its waiting time.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "ledger.h"
#include "workload.h"

enum { THREADS_AT_ONCE = 4, BURN_MS = 500 };

static double seconds_of(clockid_t clock)
{
    struct timespec now;

    if (clock_gettime(clock, &now) < 0)
        ledger_fail("clock_gettime");
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Replaces the start time in `data` with the waiting time. A thread's time starts when it is
 * created, because it then waits for its first turn. */
static void *act(void *data)
{
    double *started = data;

    burn_ms(BURN_MS);
    *started = seconds_of(CLOCK_MONOTONIC) - *started - seconds_of(CLOCK_THREAD_CPUTIME_ID);
    return NULL;
}

static void stay_on_one_cpu(void)
{
    cpu_set_t all, one;
    int cpu = 0;

    if (sched_getaffinity(0, sizeof(all), &all) < 0)
        ledger_fail("sched_getaffinity");
    while (!CPU_ISSET(cpu, &all))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    if (sched_setaffinity(0, sizeof(one), &one) < 0)
        ledger_fail("sched_setaffinity");
}

int main(void)
{
    pthread_t threads[THREADS_AT_ONCE];
    double waited[THREADS_AT_ONCE], sum = 0;

    ledger_open();
    stay_on_one_cpu();
    for (int i = 0; i < THREADS_AT_ONCE; i++) {
        waited[i] = seconds_of(CLOCK_MONOTONIC);
        errno = pthread_create(&threads[i], NULL, act, &waited[i]);
        if (errno != 0)
            ledger_fail("thread");
    }
    for (int i = 0; i < THREADS_AT_ONCE; i++) {
        pthread_join(threads[i], NULL);
        sum += waited[i];
    }
    ledger_set(CPU_WAIT_SECONDS, sum);
    ledger_set(PROCESSES, 1);
    ledger_set(CONCURRENT, 1);
    ledger_set(THREADS, THREADS_AT_ONCE + 1);
    ledger_add_own_cpu();
    ledger_close();
    return 0;
}
