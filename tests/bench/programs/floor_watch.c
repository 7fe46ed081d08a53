/* SPDX-License-Identifier: Apache-2.0 */
/*
 * floor_watch PID INTERVAL_MS ROUNDS - reads the figures of a process and its children ROUNDS
 * times, INTERVAL_MS apart as a tracker does, and discards the values.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "floor_reads.h"

static long argument(char **argv, int index)
{
    return strtol(argv[index], NULL, 10);
}

static void add_ms(struct timespec *time, long ms)
{
    time->tv_sec += ms / 1000;
    time->tv_nsec += ms % 1000 * 1000000;
    if (time->tv_nsec >= 1000000000) {
        time->tv_sec++;
        time->tv_nsec -= 1000000000;
    }
}

int main(int argc, char **argv)
{
    struct rlimit files;
    struct floor_reads reads;
    struct timespec deadline;
    uint64_t pages = 0;
    int r;

    if (argc != 4)
        return 2;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files); /* floor_open() fails if the limit is too low */
    }
    r = floor_open((pid_t)argument(argv, 1), &reads);
    if (r < 0) {
        fprintf(stderr, "floor_watch: %s\n", strerror(-r));
        return 1;
    }
    (void)clock_gettime(CLOCK_MONOTONIC, &deadline);
    for (long round = 0; round < argument(argv, 3); round++) {
        pages += floor_read_processes(&reads).resident_pages;
        add_ms(&deadline, argument(argv, 2));
        if (argument(argv, 2) > 0)
            (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, NULL);
    }
    floor_close(&reads);
    return pages == 0; /* nothing was read: the floor is not valid */
}
