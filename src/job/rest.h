/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rest.h - whom to look at, by what is known of the job as a whole. Pure.
 *
 * The cgroup of the job, or perf, has its CPU time in one number. While that stands still nobody
 * of the job has run, and so nobody has forked, waited, ended, written or grown: what was read
 * before still holds. Two things may move all the same: memory falls where the kernel needs it
 * (reclaim), and a process may have got out of the number's sight (a set-uid program leaves perf,
 * another program may move one to another cgroup). So everybody is read every ten seconds; and if
 * somebody turns out to have run unseen, that number is not trusted again.
 */
#ifndef JOB_REST_H
#define JOB_REST_H

#include <stdbool.h>
#include <stdint.h>

/* Zeroed: nobody was looked at yet. */
struct rest {
    bool has_looked;
    bool is_doubtful;    /* the number was seen to leave somebody out */
    uint64_t cpu_ns;     /* of the job, when it was last looked at; UNKNOWN: nobody counts */
    uint64_t read_at_ns; /* when all of everybody was last read */
};

enum rest_look {
    LOOK_AT_NOBODY,
    LOOK_AT_MOVERS, /* those whose own clock has moved */
    LOOK_AT_ALL,
};

/* `cpu_ns` is the job's CPU time now, UNKNOWN where no number has it. */
enum rest_look rest_look_at(const struct rest *rest, uint64_t cpu_ns, uint64_t now_ns);

/* What a look came to. */
struct rest_seen {
    uint64_t moved_ns; /* by which the processes' own clocks have moved since the one before */
    bool is_whole;     /* nothing is left to be read of anybody */
};

/* That was done; `cpu_ns` was asked for before. */
void rest_looked(struct rest *rest, enum rest_look look, uint64_t cpu_ns, uint64_t now_ns,
                 struct rest_seen seen);

/* Something has changed that no CPU time tells of: the next look is at all. */
void rest_forget(struct rest *rest);

#endif
