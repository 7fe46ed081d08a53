/* SPDX-License-Identifier: Apache-2.0 */
/*
 * activity.h - the state of the job: idle, running or growing. Pure.
 *
 * The job cgroup or perf counts the CPU time of the whole job in one number. A job that uses
 * less than 1/200 of a CPU is idle: its processes are not read just because threads wake up and
 * find nothing to do. A job grows if its number of processes or its memory exceeds the maximum
 * since the last sample: smaller changes are not a new peak.
 *
 * While the number does not change, no process has run, so none has forked, waited, exited,
 * written or grown: earlier readings are still valid. There are two exceptions: the kernel may
 * reclaim memory, and the number may miss a process (perf does not follow a set-uid program,
 * and a process may be moved to another cgroup). So all processes are read every ten seconds;
 * and once a process has run without a change of the number, the number is no longer trusted.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum activity_state { JOB_RESTS, JOB_RUNS, JOB_GROWS };

/* A zeroed struct is valid: nothing was recorded yet, and the job counts as growing. */
struct activity {
    /* CPU time */
    uint64_t cpu_ns;       /* as last recorded; UNKNOWN: not available */
    uint64_t noted_ns;     /* when it was recorded; 0: never */
    uint64_t ran_ns;       /* when the job was last seen to run */
    bool is_at_rest;       /* the job has hardly run since then */
    bool has_come_to_rest; /* the job became idle in the last call */

    /* memory */
    uint64_t resident_bytes, process_count; /* as last recorded */
    uint64_t most_bytes, most_processes;    /* maxima since the last sample */
    unsigned still_notes; /* consecutive calls that hardly exceeded the maxima */

    /* the last looks at processes */
    bool has_looked;
    bool is_doubtful;       /* the CPU time was found to miss a process */
    uint64_t looked_cpu_ns; /* CPU time of the job at the last look; or UNKNOWN */
    uint64_t looked_at_ns;  /* when all processes were last read in full */
};

/* Records the CPU time of the job; UNKNOWN: the job counts as running. */
void activity_note_cpu(struct activity *activity, uint64_t now_ns, uint64_t cpu_ns);

/* Records the job's memory, which was just read. */
void activity_note_memory(struct activity *activity, uint64_t resident_bytes,
                          uint64_t process_count);

/* Records growth that the resident sizes of the job do not show. */
void activity_note_growth(struct activity *activity);

/* Called after a sample: resets the maxima for the next interval. */
void activity_begin_interval(struct activity *activity);

enum activity_state activity_state(const struct activity *activity);

/* The processes to read. */
enum activity_look {
    LOOK_AT_NONE,
    LOOK_AT_MOVERS, /* processes whose own CPU clock has advanced */
    LOOK_AT_ALL,
};

/* `cpu_ns` is the current CPU time of the job, or UNKNOWN. */
enum activity_look activity_look_at(const struct activity *activity, uint64_t cpu_ns,
                                    uint64_t now_ns);

/* The result of a look. */
struct activity_seen {
    uint64_t moved_ns; /* how far the processes' own clocks have advanced since the last look */
    bool is_whole;     /* every process was read in full */
};

/* Records a look; `cpu_ns` was read before the look. */
void activity_looked(struct activity *activity, enum activity_look look, uint64_t cpu_ns,
                     uint64_t now_ns, struct activity_seen seen);

/* Called after a change that the CPU time does not show: the next look reads all processes. */
void activity_forget(struct activity *activity);
