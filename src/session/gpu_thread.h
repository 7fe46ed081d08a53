/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_thread.h - the thread that looks at the GPUs.
 *
 * Calls of drivers can block for long, so they are made here and nowhere else. The thread
 * leaves what it saw on a board, where others take it. Where this machine has no GPU it ends at
 * once. While the job rests the thread sleeps. One that a driver keeps when the run ends is left behind: all that it uses is its own.
 */
#ifndef SESSION_GPU_THREAD_H
#define SESSION_GPU_THREAD_H

#include "session/gpu_board.h"

struct gpu_thread;

struct gpu_thread_options {
    const char *root;  /* folder that stands for "/"; NULL is "/" */
    const char *gpus;  /* as --gpus; NULL: by the environment */
    pid_t main_pid;    /* 0: there is no job */
    bool is_main_only; /* its descendants are not part of the job */
    bool is_for_host;  /* see struct gpu_watch_options */
    pid_t tracker_pid; /* our own where we spawned the job, which has our environment; else 0 */
    unsigned disabled; /* rungs */
    uint64_t start_ns; /* of the run */
    const struct members *members; /* as for gpu_thread_tell(), for the first look */
    const struct gate *gate;       /* GATE_RUNS of the job, borrowed; may be none */
};

/* May this machine have GPUs to look at? Costs little. */
bool gpu_thread_is_needed(const struct root *root, unsigned disabled);

/* Starts it. On success the caller closes *ret, before the gate is closed. */
int gpu_thread_start(const struct gpu_thread_options *options, struct gpu_thread **ret);

/* Who belongs to the job now. Costs little where that is as before. */
void gpu_thread_tell(struct gpu_thread *thread, const struct members *members);

/* One that belongs and is about to end. */
void gpu_thread_tell_ended(struct gpu_thread *thread, pid_t pid);

/* The gate has opened: disarms it and wakes the thread where the job goes on running. */
void gpu_thread_tell_run(struct gpu_thread *thread, uint64_t now_ns);

/* What is known now. The view is the caller's own, zeroed at first: its `devices` are made
 * here, for the caller to free; what else it points to lives until the thread is closed. */
void gpu_thread_take(struct gpu_thread *thread, uint64_t now_ns, struct gpu_view *view);

/* Asks for the last look; then waits for it, for a second at most, and not at all where a
 * driver has stopped answering. */
void gpu_thread_ask_last(struct gpu_thread *thread);
void gpu_thread_wait_last(struct gpu_thread *thread);

void gpu_thread_troubles(struct gpu_thread *thread, struct gpu_troubles *ret);

/* Ends it, or leaves it behind, and always returns NULL. Accepts NULL. */
struct gpu_thread *gpu_thread_close(struct gpu_thread *thread);

#endif
