/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_owners.h - which processes on a GPU belong to the job.
 *
 * The processes of the roster are copied when it has changed, between two looks. If a driver lists
 * another process, its ancestors are looked up: if one of them belongs to the job, so does the process.
 * Exited processes are kept for a while, because their work appears in the driver's samples later;
 * if there are very many, some are dropped at once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/root.h"
#include "job/roster.h"
#include "source/gpu/gpu.h"

#define GPU_OWNERS_KEPT_NS 20000000000ull /* 20 s */
enum { GPU_OWNERS_ENDED_MAX = 4096 };

struct gpu_owners {
    pid_t main_pid;        /* 0: there is no job, or it is a cgroup */
    pid_t tracker_pid;     /* its children belong to the job; 0: none */
    bool is_main_only;     /* descendants do not belong to the job */
    bool have_left_cgroup; /* a process of the job is outside its cgroup */

    /* Private. */
    pid_t *pids;        /* sorted; owned */
    uint64_t *ended_ns; /* for each: when it was last seen; 0: it is alive; owned */
    size_t count, capacity, ended_capacity;
    uint64_t changes; /* change count of the roster when it was last copied */
    pid_t *foreign;   /* processes known not to belong; sorted; owned */
    size_t foreign_count, foreign_capacity;
};

/* Frees all memory; accepts a zeroed struct. */
void gpu_owners_done(struct gpu_owners *owners);

/* Copies the roster, if it has changed. Processes no longer in it have exited. If memory
 * runs out, some are missing. */
void gpu_owners_update(struct gpu_owners *owners, const struct roster *roster, uint64_t now_ns);

/* Adds a process of the job, or changes the time of its exit; 0: it is alive. -ENOMEM: it is not added. */
int gpu_owners_set(struct gpu_owners *owners, pid_t pid, uint64_t ended_ns);

/* Whether a process exited so long ago that its pid may have been reused. */
bool gpu_owners_has_old(const struct gpu_owners *owners, uint64_t now_ns);
void gpu_owners_drop_old(struct gpu_owners *owners, uint64_t now_ns);

/* Whether a process belongs to the job. Looks up the ancestors of an unknown process. */
bool gpu_owners_has(struct gpu_owners *owners, const struct root *root, pid_t pid,
                    uint64_t now_ns);

/* Forgets foreign processes, whose pids may have been reused. */
void gpu_owners_forget_foreign(struct gpu_owners *owners);

/* Returns all processes of the job. Valid until the next change. */
struct gpu_pids gpu_owners_pids(const struct gpu_owners *owners);
