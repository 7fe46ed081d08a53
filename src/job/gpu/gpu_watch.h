/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_watch.h - reads the GPUs. A quick reading covers mainly the memory of processes, a slow
 * one everything. Both query drivers and may block.
 *
 * Used by a single thread, or step by step by a test.
 */
#pragma once

#include "job/gpu/gpu_account.h"
#include "job/gpu/gpu_inventory.h"
#include "job/gpu/gpu_owners.h"

struct gpu_watch {
    const struct root *root; /* borrowed */
    struct gpu_inventory inventory;
    struct gpu_owners *owners; /* which processes belong to the job; borrowed */
    struct gpu_account account;
    const char *cgroup; /* as in struct gpu_watch_options; NULL: no dmem files */
    bool cgroup_is_older;
    struct cached_file charges, charge_peaks; /* dmem.current and dmem.peak */
    struct gpu_process *processes;            /* buffer for a vendor's list; owned */
    size_t process_capacity;
    struct gpu_row *rows; /* owned */
    size_t row_count, row_capacity;
    bool counts_no_work;
    bool holds_context;    /* a process of the job uses a GPU */
    uint64_t read_ns;      /* when the slow reading was last made */
    uint64_t others_ns;    /* when GPUs not assigned to the job were last read */
    uint64_t record_bytes; /* largest accounting record of one process; or UNKNOWN */
    char sources[GPU_TOTAL_COUNT][64]; /* sources of each total, joined by "+" */
};

struct gpu_watch_options {
    const struct gpu_vendor *const *vendors;
    size_t vendor_count;
    const struct gpu_choice *choice;
    struct gpu_owners *owners; /* the caller may change them between two readings */
    uint64_t start_ns;         /* start of the run */
    bool counts_no_work;       /* do not read the counters of work */
    /* Folder of the job's cgroup, if it may count memory of GPUs, relative to the root; NULL:
     * there is none. Must outlive the watch. */
    const char *cgroup;
    bool cgroup_is_older; /* the cgroup is older than the run, so its peaks may be, too */
};

/* Returns the same values as gpu_inventory_open(). */
int gpu_watch_open(struct gpu_watch *watch, const struct root *root,
                   const struct gpu_watch_options *options);
void gpu_watch_close(struct gpu_watch *watch);

/* Makes the quick reading. `is_border`: a phase starts or stops, so the counters of energy and
 * work are read anew. */
void gpu_watch_poll(struct gpu_watch *watch, uint64_t now_ns, bool is_border);

/* Makes the slow reading. `is_fresh`: bypasses cached values, for the first and the last
 * reading. Drops processes that exited long ago, after reading their accounting records. */
void gpu_watch_read(struct gpu_watch *watch, uint64_t now_ns, bool is_fresh);

/* Reads the counters of energy and work when a phase starts or stops. Makes a slow reading
 * unless the last one was moments ago. */
void gpu_watch_look_at_border(struct gpu_watch *watch, uint64_t now_ns);

/* Reads the accounting records of the job's processes, at the end. Skipped for an attached job,
 * whose records include the time before the run. */
void gpu_watch_accounts(struct gpu_watch *watch);

/* Returns the totals of the last reading, each with the sources of its parts. If no GPU is
 * assigned to the job, this is the reason of all totals except the host's memory. Strings live
 * as long as the watch. */
struct gpu_totals gpu_watch_totals(struct gpu_watch *watch);
