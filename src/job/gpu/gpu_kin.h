/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_kin.h - which processes on a GPU belong to the job.
 *
 * The sampler reports the processes of the job, but only at each sample. If a driver lists a
 * process that was not reported, its ancestors are looked up: if one of them belongs to the job,
 * so does the process. Exited processes are kept for a while, because their work appears in the
 * driver's samples later; if there are very many, some are dropped at once.
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
    uint64_t ended_ns; /* 0: it is alive */
    bool is_told;      /* in the list that is being reported */
    bool is_found;     /* found by its ancestors, not reported yet: it may have exited */
};

struct gpu_kin {
    pid_t main_pid;
    pid_t tracker_pid;         /* its children belong to the job; 0: none */
    bool is_main_only;         /* descendants do not belong; false until set */
    struct gpu_relative *list; /* sorted by pid; owned */
    size_t count, capacity;
    pid_t *pids; /* the pids of the list; owned */
    size_t pid_count, pid_capacity;
    pid_t *strangers; /* processes known to be foreign; sorted; owned */
    size_t stranger_count, stranger_capacity;
};

/* `main_pid` 0: there is no job, and no process belongs to it. */
int gpu_kin_init(struct gpu_kin *kin, pid_t main_pid, pid_t tracker_pid);
void gpu_kin_done(struct gpu_kin *kin);

/* Reports the live processes of the job, in any order. Processes reported before that are not
 * among them have exited. Returns 0, or -ENOMEM if some are missing. */
int gpu_kin_tell(struct gpu_kin *kin, const pid_t *living, size_t count, uint64_t now_ns);

/* Whether a process exited so long ago that its pid may have been reused. */
bool gpu_kin_has_old(const struct gpu_kin *kin, uint64_t now_ns);
void gpu_kin_drop_old(struct gpu_kin *kin, uint64_t now_ns);

/* Adds a process of the job, alive or not. */
int gpu_kin_add(struct gpu_kin *kin, pid_t pid, uint64_t now_ns);

/* Whether it belongs to the job. Looks up its ancestors if that is not known yet. */
bool gpu_kin_has(struct gpu_kin *kin, const struct root *root, pid_t pid, uint64_t now_ns);

/* Forgets foreign processes, whose pids may have been reused. */
void gpu_kin_forget_strangers(struct gpu_kin *kin);

/* All processes of the job, sorted. Valid until the next change. */
struct gpu_pids gpu_kin_pids(struct gpu_kin *kin);

#endif
