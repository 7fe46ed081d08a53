/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_cost spawn|attach CROWD COUNT BATCH ROUNDS - compares the CPU time of a sample with
 * the floor.
 *
 * Each round takes BATCH samples of a crowd of COUNT sleeping children, then reads the same
 * processes BATCH times with the minimal loop, then the machine-wide files BATCH times. If the
 * machine slows down, all three take longer. Prints one line per round, in nanoseconds: the CPU
 * time of one sample, of one minimal loop and of one read of the machine-wide files.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "floor_reads.h"
#include "tracked_crowd.h"

static uint64_t thread_cpu_ns(void)
{
    struct timespec time = { 0 };

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time); /* cannot fail */
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static uint64_t time_samples(struct tracked_crowd *crowd, long batch)
{
    uint64_t before_ns = thread_cpu_ns();

    tracked_crowd_sample(crowd, batch);
    return (thread_cpu_ns() - before_ns) / (uint64_t)batch;
}

static uint64_t time_processes(const struct floor_reads *reads, long batch)
{
    uint64_t before_ns = thread_cpu_ns();

    for (long i = 0; i < batch; i++) {
        if (floor_read_processes(reads).resident_pages == 0)
            abort(); /* no process was read: the floor is not valid */
    }
    return (thread_cpu_ns() - before_ns) / (uint64_t)batch;
}

static uint64_t time_host(const struct floor_reads *reads, long batch)
{
    uint64_t before_ns = thread_cpu_ns();

    for (long i = 0; i < batch; i++)
        (void)floor_read_host(reads);
    return (thread_cpu_ns() - before_ns) / (uint64_t)batch;
}

int main(int argc, char **argv)
{
    struct tracked_crowd crowd;
    struct floor_reads reads;
    long batch, rounds;

    if (argc != 6)
        return 2;
    batch = strtol(argv[4], NULL, 10);
    rounds = strtol(argv[5], NULL, 10);
    tracked_crowd_start(argv[2], argv[3], strcmp(argv[1], "attach") == 0, &crowd);
    if (floor_open(crowd.pid, &reads) < 0)
        return 1;
    tracked_crowd_sample(&crowd, batch);
    (void)usleep(1100000); /* spoor reads some files a second after a process has run */
    tracked_crowd_sample(&crowd, batch);
    for (long i = 0; i < rounds; i++) {
        uint64_t sample_ns = time_samples(&crowd, batch);
        uint64_t floor_ns = time_processes(&reads, batch);

        printf("%llu %llu %llu\n", (unsigned long long)sample_ns, (unsigned long long)floor_ns,
               (unsigned long long)time_host(&reads, batch));
    }
    floor_close(&reads);
    tracked_crowd_end(&crowd);
    return 0;
}
