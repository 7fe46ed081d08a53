/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_board.h - what the GPU thread and the others leave for each other, under a mutex that is
 * never held while a driver is asked.
 */
#ifndef SESSION_GPU_BOARD_H
#define SESSION_GPU_BOARD_H

#include <pthread.h>
#include <stdbool.h>

#include "job/gpu/gpu_view.h"
#include "job/gpu/gpu_watch.h"
#include "job/members.h"
#include "source/perf/gate.h"
#include "source/proc/schedstat.h"

struct pid_list {
    pid_t *list; /* owned */
    size_t count, capacity;
};

/* What a report is to warn of. */
struct gpu_troubles {
    uint64_t silent_since_ns;     /* 0: drivers have always answered */
    uint64_t silent_for_ns;       /* the longest that one took */
    struct spoor_error unmatched; /* code 0: all GPUs of --gpus were found */
    struct gpu_refusal refusals[GPU_VENDORS_MAX];
    size_t refusal_count;
    uint64_t account_bytes; /* the most the driver accounted for one process; UNKNOWN */
    bool is_busy_mixed;     /* see struct gpu_totals */
};

struct gpu_board {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int wake_fd;      /* readable when there is something for the thread */
    struct root root; /* the live machine */

    /* for the thread */
    bool must_end; /* after a last look */
    bool has_run;  /* the job, after a rest */
    bool has_news; /* about who belongs: */
    struct pid_list living, ended;
    uint64_t changes; /* of the members, when they were told last */

    /* from the thread */
    bool has_looked; /* for the last time */
    bool has_ended;  /* it uses nothing of ours any more */
    bool is_abandoned;
    uint64_t calling_since_ns; /* 0: no driver is being asked */
    pid_t thread_id;           /* 0: it has not begun */
    struct schedstat before;   /* of it, when a call began, at most a second before this one */
    uint64_t before_ns;        /* when that was read; 0: never */
    enum gpu_state state;
    const char *reason;
    struct gpu_origin_names sources;
    struct gpu_unit *units; /* never changed once they are here; ours */
    size_t unit_count;
    struct gpu_totals totals;        /* levels are the largest since they were taken */
    struct gpu_device_view *devices; /* likewise; ours */
    struct gpu_totals latest;        /* as they were last */
    bool has_untaken;                /* they are of a look since totals were taken */
    struct gpu_troubles troubles;
};

/* Returns 0 or a negative errno; gpu_board_done() is to follow either way. */
int gpu_board_init(struct gpu_board *board);
void gpu_board_done(struct gpu_board *board);

/* ---- for the thread ---- */

/* A driver is asked from now on; publishing ends that. */
void gpu_board_begin_call(struct gpu_board *board);

/* What was looked at. */
void gpu_board_publish(struct gpu_board *board, const struct gpu_watch *watch);

/* The list of GPUs, once, or that there are none, and why. */
int gpu_board_publish_units(struct gpu_board *board, const struct gpu_watch *watch);
void gpu_board_publish_none(struct gpu_board *board, const char *reason);
void gpu_board_publish_refusals(struct gpu_board *board, const struct gpu_inventory *from);

/* Returns whether to go on, and whether the job has run. What was told about who belongs is
 * taken over into the watch. */
bool gpu_board_goes_on(struct gpu_board *board, struct gpu_watch *watch, bool *ret_has_run);

/* Arms the gate of the job, which is there for as long as the thread is to go on. False where it
 * is not, or there is no gate. */
bool gpu_board_arm(struct gpu_board *board, const struct gate *gate);

void gpu_board_end_last_look(struct gpu_board *board);

/* Returns whether nobody waits for the thread: it frees the board then. */
bool gpu_board_end(struct gpu_board *board);

/* ---- for the others ---- */

void gpu_board_tell(struct gpu_board *board, const struct members *members);
void gpu_board_tell_ended(struct gpu_board *board, pid_t pid);

/* The job has run. The gate is disarmed here: the thread may hang in a driver. */
void gpu_board_tell_run(struct gpu_board *board, const struct gate *gate);

/* See gpu_thread.h. */
void gpu_board_take(struct gpu_board *board, uint64_t now_ns, struct gpu_view *view);
void gpu_board_ask_last(struct gpu_board *board);
void gpu_board_wait_last(struct gpu_board *board);
void gpu_board_get_troubles(struct gpu_board *board, struct gpu_troubles *ret);

/* Waits for the thread's end, but not long. Returns false where it is left behind. */
bool gpu_board_leave(struct gpu_board *board);

#endif
