/* SPDX-License-Identifier: Apache-2.0 */
/*
 * activity.h - what the job is doing: it rests, runs, or grows. Pure.
 *
 * The job cgroup, or perf, has the CPU time of the job in one number. A job that uses less than a
 * 200th of the time rests: threads that only wake up to see that there is nothing to do are no reason
 * to look. A job grows if its processes or its memory have become more than they were since the last
 * sample: what comes and goes below that is no new peak.
 *
 * While the number does not change at all, no process has run, so none has forked, waited, exited,
 * written or grown: what was read before still holds. There are two exceptions: the kernel may reclaim
 * memory, and the number may miss a process (perf does not follow a set-uid program, and a process may
 * be moved to another cgroup). So all processes are read every ten seconds; and if a process turns out
 * to have run unnoticed, the number is not trusted again.
 */
#ifndef JOB_ACTIVITY_H
#define JOB_ACTIVITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum activity_state { JOB_RESTS, JOB_RUNS, JOB_GROWS };

/* Zeroed: nothing was noted yet, and the job grows. */
struct activity {
    /* of the CPU time */
    uint64_t cpu_ns;       /* when it was last noted; UNKNOWN: it is not known */
    uint64_t noted_ns;     /* when that was; 0: never */
    uint64_t ran_ns;       /* when the job was last seen to run */
    bool is_at_rest;       /* since then it has hardly run */
    bool has_come_to_rest; /* that was found at the last note */

    /* of the memory */
    uint64_t resident_bytes, process_count; /* as last noted */
    uint64_t most_bytes, most_processes;    /* since the last sample */
    unsigned still_notes;                   /* in a row, at which these were hardly exceeded */

    /* of the last look at all processes */
    bool has_looked;
    bool is_doubtful;       /* the CPU time was seen to miss a process */
    uint64_t looked_cpu_ns; /* of the job then; UNKNOWN: not known */
    uint64_t looked_at_ns;  /* when all processes were last read in full */
};

/* Notes the CPU time of the job; UNKNOWN: then it runs. */
void activity_note_cpu(struct activity *activity, uint64_t now_ns, uint64_t cpu_ns);

/* Notes its memory, as a look has just found it. */
void activity_note_memory(struct activity *activity, uint64_t resident_bytes,
                          uint64_t process_count);

/* It has grown in a way that its resident sizes do not show. */
void activity_note_growth(struct activity *activity);

/* A sample was taken: peaks are those of the next interval from now on. */
void activity_begin_interval(struct activity *activity);

enum activity_state activity_state(const struct activity *activity);

/* Which processes to read. */
enum activity_look {
    LOOK_AT_NOBODY,
    LOOK_AT_MOVERS, /* those whose own CPU clock has advanced */
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

/* Records a look; `cpu_ns` was read before it. */
void activity_looked(struct activity *activity, enum activity_look look, uint64_t cpu_ns,
                     uint64_t now_ns, struct activity_seen seen);

/* Something changed that does not show in the CPU time: the next look is at all processes. */
void activity_forget(struct activity *activity);

#endif
