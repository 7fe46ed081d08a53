/* SPDX-License-Identifier: Apache-2.0 */
/*
 * floor_reads.h - the minimal work of a tracker: reads the CPU clock and statm of each process
 * from files that stay open. The bench compares spoor's cost with it.
 */
#ifndef BENCH_FLOOR_READS_H
#define BENCH_FLOOR_READS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct floor_process {
    clockid_t clock;
    int statm_fd;
};

struct floor_reads {
    struct floor_process *processes; /* owned */
    size_t process_count;
    int files[8]; /* files of the whole machine; -1: not open */
    size_t file_count;
};

/* Opens the files of a process and of its children. Returns 0 or -errno; the caller calls
 * floor_close(), after a failure too. */
int floor_open(pid_t main_pid, struct floor_reads *ret);
void floor_close(struct floor_reads *reads);

/* Sums over all processes. */
struct floor_sums {
    uint64_t cpu_ns;
    uint64_t resident_pages;
};
struct floor_sums floor_read_processes(const struct floor_reads *reads);

/* Reads the machine-wide files that a sample includes. Returns bytes of text. */
size_t floor_read_host(const struct floor_reads *reads);

#endif
