/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_choice.h - what was said about which GPUs are the job's: the option, and the variables
 * of the job's environment, copied, so that drivers can be asked later by another thread.
 */
#ifndef JOB_GPU_GPU_CHOICE_H
#define JOB_GPU_GPU_CHOICE_H

#include <stddef.h>

#include "base/environment.h"
#include "base/root.h"
#include "source/gpu/visible.h"

/* Zeroed is empty: all GPUs are the job's. */
struct gpu_choice {
    char *texts[VISIBLE_SLURM + 1]; /* by enum visible_source; NULL: not said; ours */
};

/* `gpus` as --gpus says it, or NULL. Returns 0 or -ENOMEM. */
int gpu_choice_init(struct gpu_choice *choice, const char *gpus, environment_get *environment);

/* The same of a process that runs already, by the environment it was started with. What may
 * not be read is taken as not set. */
int gpu_choice_init_for(struct gpu_choice *choice, const char *gpus, const struct root *root,
                        pid_t pid);
void gpu_choice_done(struct gpu_choice *choice);

/* A variable of a block as /proc/PID/environ has it, or NULL. */
const char *gpu_choice_find(const char *block, size_t size, const char *name);

/* Could that be a list for --gpus, as far as that can be told without a driver? Returns 0, or
 * -EINVAL with a sentence. */
int gpu_choice_check(const char *gpus, struct spoor_error *err);

#endif
