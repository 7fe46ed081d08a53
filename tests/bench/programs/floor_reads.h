/* SPDX-License-Identifier: Apache-2.0 */
/*
 * floor_reads.h - the minimal work of a tracker: reads the CPU clock and the statm file, which
 * stays open, of each process. The benchmark compares spoor's cost with this floor.
 */
#pragma once

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
    int files[8]; /* machine-wide files; -1: not open */
    size_t file_count;
};

/* Opens the files of a process and of its children. Returns 0 or -errno. Call floor_close()
 * even after a failure. */
int floor_open(pid_t main_pid, struct floor_reads *ret);
void floor_close(struct floor_reads *reads);

/* Sums over all processes of the job. */
struct floor_sums {
    uint64_t cpu_ns;
    uint64_t resident_pages;
};
struct floor_sums floor_read_processes(const struct floor_reads *reads);

/* Reads the machine-wide files that a sample includes. Returns the number of bytes read. */
size_t floor_read_host(const struct floor_reads *reads);
