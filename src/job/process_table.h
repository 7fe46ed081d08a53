/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_table.h - what each process of the job was and used, in bounded memory. Pure.
 *
 * The hundred processes with the most CPU time and the hundred with the largest memory are kept one
 * by one, the others as a sum for each name. A process is added once, when it has ended or the report
 * is made.
 *
 * What a process used after it was last read is estimated: by the clock ticks of its exit record, which
 * are right on average and off by up to a tick, or by what it used before. Estimates are scaled in the
 * end so that all processes together have used what the job has.
 */
#ifndef JOB_PROCESS_TABLE_H
#define JOB_PROCESS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    PROCESSES_BY_CPU = 100,
    PROCESSES_BY_MEMORY = 100,
    PROCESSES_LARGEST = PROCESSES_BY_CPU + PROCESSES_BY_MEMORY,
    PROCESS_NAMES_MAX = 512, /* of those that are summed; more count as unknown */
    PROCESS_NAME_SIZE = 16,  /* as the kernel's */
};

/* Times are of the monotonic clock. What is not known is UNKNOWN. */
struct process_entry {
    pid_t pid, parent_pid;        /* parent 0: unknown */
    char name[PROCESS_NAME_SIZE]; /* hostile text; empty: unknown */
    char *command;                /* safe text; owned; NULL: unknown */
    uint64_t started_ns;
    uint64_t ended_ns;     /* UNKNOWN: it still runs */
    uint64_t cpu_ns;       /* of itself, without its children */
    uint64_t estimated_ns; /* CPU time besides, see above */
    uint64_t peak_bytes;
    uint64_t read_bytes, written_bytes;
    uint64_t gpu_bytes;
    int wait_status; /* as wait(2) reports it, if has_wait_status */
    bool has_wait_status;
};

/* Processes that are not kept one by one. */
struct process_sum {
    char name[PROCESS_NAME_SIZE]; /* padded with zeros; empty: unknown */
    uint64_t count;               /* UNKNOWN: not known */
    uint64_t cpu_ns;
    uint64_t estimated_ns; /* CPU time besides, see above */
    uint64_t estimates;    /* of how many */
    uint64_t peak_bytes;   /* the largest of one; UNKNOWN: of none is it known */
};

/* Zeroed is empty. */
struct process_table {
    struct process_entry *list; /* owned */
    size_t count;
    struct process_sum *others; /* owned */
    size_t other_count;
    struct process_sum unknown; /* without a name; all zero: there are none */

    /* Private. */
    size_t capacity, other_capacity;
    bool is_selective;                         /* not all are kept */
    uint64_t cpu_floor_ns, memory_floor_bytes; /* of the smallest that were, if so */
};

void process_table_done(struct process_table *table);

/* Whether a process with these figures would be kept, so that its command line is worth reading. */
bool process_table_keeps(const struct process_table *table, uint64_t cpu_ns,
                         uint64_t peak_bytes);

/* Adds a process and takes over its command. Without memory it is only counted. */
void process_table_add(struct process_table *table, struct process_entry *entry);

/* The process of that pid that was added last; NULL: it is not kept. */
struct process_entry *process_table_find(const struct process_table *table, pid_t pid);

/* A copy with its own memory. -ENOMEM: *ret is empty. */
int process_table_copy(const struct process_table *table, struct process_table *ret);

/* Ends a table: leaves PROCESSES_LARGEST at most, in order of their start; makes the CPU time of all
 * add up to the job's; sorts the sums, largest first. `started_count`: of the job; UNKNOWN is fine. */
void process_table_finish(struct process_table *table, uint64_t job_cpu_ns,
                          uint64_t started_count);

#endif
