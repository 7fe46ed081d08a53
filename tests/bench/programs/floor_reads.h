/* SPDX-License-Identifier: Apache-2.0 */
/*
 * floor_reads.h - the least a tracker can do: of each process its CPU clock and statm, on files
 * that are kept open. What spoor costs is compared with this.
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
    int files[8]; /* of the whole machine; -1: not open */
    size_t file_count;
};

/* Opens the files of a process and of its children. Returns 0 or -errno; the caller calls
 * floor_close(), after a failure too. */
int floor_open(pid_t main_pid, struct floor_reads *ret);
void floor_close(struct floor_reads *reads);

/* The sums over all processes. */
struct floor_sums {
    uint64_t cpu_ns;
    uint64_t resident_pages;
};
struct floor_sums floor_read_processes(const struct floor_reads *reads);

/* Reads the files of the whole machine that a sample holds figures of. Returns bytes of text. */
size_t floor_read_host(const struct floor_reads *reads);

#endif
