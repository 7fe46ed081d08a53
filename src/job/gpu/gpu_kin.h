/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_kin.h - which of the processes on a GPU are the job's.
 *
 * The sampler tells who belongs to the job, but only as often as it looks. A process that a
 * driver lists and nobody told of is asked for its parents: where one of them is of the job, so
 * is it. One that ended is kept for a while, since what it did shows up in the driver's samples
 * after its end; of very many that did, some go at once.
 */
#ifndef JOB_GPU_GPU_KIN_H
#define JOB_GPU_GPU_KIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/root.h"
#include "source/gpu/gpu.h"

#define GPU_KIN_KEPT_NS 20000000000ull /* 20 s */
enum { GPU_KIN_ENDED_MAX = 4096 };

struct gpu_relative {
    pid_t pid;
    uint64_t ended_ns; /* 0: it lives */
    bool is_told;      /* in the list that is being told */
    bool is_found;     /* by its parents, and not told yet: whether it lives is not known */
};

struct gpu_kin {
    pid_t main_pid;
    pid_t tracker_pid;         /* whose children are the job's; 0: nobody's */
    struct gpu_relative *list; /* sorted by pid; ours */
    size_t count, capacity;
    pid_t *pids; /* the numbers of the list; ours */
    size_t pid_count, pid_capacity;
    pid_t *strangers; /* sorted; ours */
    size_t stranger_count, stranger_capacity;
};

int gpu_kin_init(struct gpu_kin *kin, pid_t main_pid, pid_t tracker_pid);
void gpu_kin_done(struct gpu_kin *kin);

/* Who lives and belongs to the job, in any order. Those of before that are not among them
 * ended now at the latest. Returns 0 or -ENOMEM, where some are missing. */
int gpu_kin_tell(struct gpu_kin *kin, const pid_t *living, size_t count, uint64_t now_ns);

/* Is there one that ended so long ago that it is to go? Its number may be another's by now. */
bool gpu_kin_has_old(const struct gpu_kin *kin, uint64_t now_ns);
void gpu_kin_drop_old(struct gpu_kin *kin, uint64_t now_ns);

/* One that belongs, whether it still lives or not. */
int gpu_kin_add(struct gpu_kin *kin, pid_t pid, uint64_t now_ns);

/* Is it the job's? Looks up its parents where that is not known yet. */
bool gpu_kin_has(struct gpu_kin *kin, const struct root *root, pid_t pid, uint64_t now_ns);

/* Strangers are asked anew: their numbers may be others' by now. */
void gpu_kin_forget_strangers(struct gpu_kin *kin);

/* All of the job, sorted. Valid until the next change. */
struct gpu_pids gpu_kin_pids(struct gpu_kin *kin);

#endif
