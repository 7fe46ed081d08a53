/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_table.h - each process of the job and its usage, in bounded memory. Pure.
 *
 * The hundred processes with the most CPU time and the hundred with the most memory are kept
 * individually, the others as a sum for each name. A process is added once, when it has exited
 * or the report is made.
 *
 * The usage of a process after its last reading is estimated: by the clock ticks of its exit
 * record, which are right on average and off by up to a tick, or from its earlier usage. At the
 * end the estimates are scaled so that the processes add up to the job.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    PROCESSES_BY_CPU = 100,
    PROCESSES_BY_MEMORY = 100,
    PROCESSES_LARGEST = PROCESSES_BY_CPU + PROCESSES_BY_MEMORY,
    PROCESS_NAMES_MAX = 512, /* names of summed processes; further names count as unknown */
    PROCESS_NAME_SIZE = 16,  /* as in the kernel */
};

/* Times are of the monotonic clock. Unknown values are UNKNOWN. */
struct process_entry {
    pid_t pid, parent_pid;        /* parent 0: unknown */
    char name[PROCESS_NAME_SIZE]; /* untrusted text; empty: unknown */
    char *command;                /* safe text; owned; NULL: unknown */
    uint64_t started_ns;
    uint64_t ended_ns;     /* UNKNOWN: the process is still running */
    uint64_t cpu_ns;       /* CPU time of the process, without its children */
    uint64_t estimated_ns; /* additional CPU time, see above */
    uint64_t peak_bytes;
    uint64_t read_bytes, written_bytes;
    uint64_t gpu_bytes;
    uint64_t wait_ns; /* time that the threads waited for a CPU */
    int wait_status;  /* as wait(2) reports it, if has_wait_status */
    bool has_wait_status;
};

/* Processes that are not kept individually. */
struct process_sum {
    char name[PROCESS_NAME_SIZE]; /* padded with zeros; empty: unknown */
    uint64_t count;               /* or UNKNOWN */
    uint64_t cpu_ns;
    uint64_t estimated_ns; /* additional CPU time, see above */
    uint64_t estimates;    /* number of processes with an estimate */
    uint64_t peak_bytes;   /* the largest peak of one process; UNKNOWN: none is known */
};

/* A zeroed struct is empty. */
struct process_table {
    struct process_entry *list; /* owned */
    size_t count;
    struct process_sum *others; /* owned */
    size_t other_count;
    struct process_sum unknown; /* processes without a known name; all zero: none */

    /* Private. */
    size_t capacity, other_capacity;
    bool is_selective; /* not all processes are kept */
    /* Values of the smallest kept processes, if is_selective. */
    uint64_t cpu_floor_ns, memory_floor_bytes;
};

void process_table_done(struct process_table *table);

/* Whether a process with these values would be kept, so that its command should be read. */
bool process_table_keeps(const struct process_table *table, uint64_t cpu_ns,
                         uint64_t peak_bytes);

/* Adds a process and takes ownership of its command. If memory runs out it is only counted. */
void process_table_add(struct process_table *table, struct process_entry *entry);

/* Returns the last added process with this PID; NULL: none was kept. */
struct process_entry *process_table_find(const struct process_table *table, pid_t pid);

/* Makes a deep copy. -ENOMEM: *ret is empty. */
int process_table_copy(const struct process_table *table, struct process_table *ret);

/* Completes a table: keeps at most PROCESSES_LARGEST, in order of their start; makes the CPU
 * time of all add up to the job's; sorts the sums, largest first. `started_count`: processes
 * that the job started, or UNKNOWN. */
void process_table_finish(struct process_table *table, uint64_t job_cpu_ns,
                          uint64_t started_count);
