/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upload_process.h - uploads the samples of a run in a separate process, while the run goes on.
 *
 * The process is a hidden child (base/hidden_child.h) with the name of an agent: it belongs to no
 * job, has none of our descriptors open, and ends when we do. It alone loads libcurl. Neither the
 * start of the run nor the run waits for it; the end does for a short time.
 */
#ifndef SERVICES_UPLOAD_UPLOAD_PROCESS_H
#define SERVICES_UPLOAD_UPLOAD_PROCESS_H

#include "services/upload/spool.h"
#include "services/upload/upload_settings.h"
#include "services/upload/uploader.h"

struct upload_process {
    char path[PATH_MAX];      /* of the spool */
    char rows_path[PATH_MAX]; /* where the tracker writes the rows */
    uint64_t wait_ns;
    int run_fd;
    int fd;    /* to the process */
    pid_t pid; /* 0: not started */
};

/* Starts it. There must be no other threads yet. `metadata` is a JSON object that describes the run;
 * `has_short_keys`: objects are named as by the Python package. `add_machine` as in uploader.h. */
struct upload_order {
    const struct upload_settings *settings;
    const struct buffer *metadata;
    bool has_short_keys;
    void (*add_machine)(struct json_writer *json);
};

int upload_process_start(const struct upload_order *order, struct upload_process *ret,
                         struct spoor_error *err);

/* The run has begun: rows are written from now on. */
void upload_process_begin(const struct upload_process *process);

/* Adds the members is_alive, whether the process runs, and those of uploader_add_summary(). */
void upload_process_add_state(const struct upload_process *process, struct json_writer *json);

/* There is no run after all. */
void upload_process_cancel(struct upload_process *process);

/* What became of the samples. */
struct upload_result {
    bool is_complete; /* the service has all of them, but those that were dropped */
    uint64_t kept_rows;
    uint64_t dropped_rows;
    struct spoor_error err; /* if it is not complete */
    struct buffer summary;  /* JSON, see uploader_add_summary(); empty: unknown; owned */
};

/* The run is over, and the rows are written. Waits as long as the settings say, and less if nothing
 * moves. What was not sent then stays in the spool. The caller ends ret->summary with buffer_done(). */
void upload_process_end(struct upload_process *process, int exit_code, bool has_failed,
                        struct upload_result *ret);

#endif
