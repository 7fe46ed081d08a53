/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_choice.h - which GPUs were assigned to the job: copies of the option and of the variables
 * in the job's environment, so that another thread can query the drivers later.
 */
#ifndef JOB_GPU_GPU_CHOICE_H
#define JOB_GPU_GPU_CHOICE_H

#include <stddef.h>

#include "base/environment.h"
#include "base/root.h"
#include "source/gpu/visible.h"

/* Zeroed: nothing was specified, so all GPUs are assigned to the job. */
struct gpu_choice {
    char *texts[VISIBLE_SLURM + 1]; /* by enum visible_source; NULL: not specified; owned */
};

/* `gpus` is the value of --gpus, or NULL. Returns 0 or -ENOMEM. */
int gpu_choice_init(struct gpu_choice *choice, const char *gpus, environment_get *environment);

/* The same for running processes, using the environments they were started with: all GPUs that one of
 * them was given, or all if none has a list. An unreadable environment counts as empty. */
int gpu_choice_init_for(struct gpu_choice *choice, const char *gpus, const struct root *root,
                        const pid_t *pids, size_t count);
void gpu_choice_done(struct gpu_choice *choice);

/* Finds a variable in the contents of /proc/PID/environ; NULL: not set. */
const char *gpu_choice_find(const char *block, size_t size, const char *name);

/* Checks the syntax of a list for --gpus, without querying drivers. Returns 0, or -EINVAL with a
 * message. */
int gpu_choice_check(const char *gpus, struct spoor_error *err);

#endif
