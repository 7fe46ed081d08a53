/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_watch.h - looks at the GPUs: a quick look at the memory of processes, and a slow one at
 * everything. Each asks drivers, and may take long.
 *
 * Used by one thread, or step by step by a test.
 */
#ifndef JOB_GPU_GPU_WATCH_H
#define JOB_GPU_GPU_WATCH_H

#include "job/gpu/gpu_inventory.h"
#include "job/gpu/gpu_kin.h"
#include "job/gpu/gpu_rest.h"
#include "job/gpu/gpu_tally.h"

struct gpu_watch {
    const struct root *root; /* borrowed */
    struct gpu_inventory inventory;
    struct gpu_kin kin; /* tell it who belongs */
    struct gpu_tally tally;
    size_t *places[GPU_VENDORS_MAX]; /* of a vendor's devices in the list; ours */
    struct gpu_process *processes;   /* room for a vendor's list; ours */
    size_t process_capacity;
    struct gpu_row *rows; /* ours */
    size_t row_count, row_capacity;
    bool holds_context;     /* a process of the job uses a GPU */
    uint64_t looked_ns;     /* when that was last looked at */
    struct gpu_rest rest;   /* of the job's living processes */
    bool is_quiet;          /* the job had hardly run by the last slow look, no GPU was busy */
    uint64_t read_ns;       /* when that was */
    uint64_t read_cpu_ns;   /* CPU time of the job then */
    uint64_t others_ns;     /* when the GPUs that are not the job's were last read */
    uint64_t account_bytes; /* the most that the driver accounted for one process; UNKNOWN */
};

struct gpu_watch_options {
    const struct gpu_vendor *const *vendors;
    size_t vendor_count;
    const struct gpu_choice *choice;
    pid_t main_pid, tracker_pid;
    uint64_t start_ns; /* of the run */
};

/* As gpu_inventory_open(). */
int gpu_watch_open(struct gpu_watch *watch, const struct root *root,
                   const struct gpu_watch_options *options);
void gpu_watch_close(struct gpu_watch *watch);

/* Whether a quick look can be left out: the processes of the job have hardly run, and who does
 * not run allocates nothing. No driver is asked. */
bool gpu_watch_rests(struct gpu_watch *watch, uint64_t now_ns);

/* The quick look. */
void gpu_watch_poll(struct gpu_watch *watch, uint64_t now_ns);

/* The slow look. `is_fresh`: drivers read all anew, for the first and the last look. Lets go of
 * processes that ended long ago, once their accounts are taken. */
void gpu_watch_read(struct gpu_watch *watch, uint64_t now_ns, bool is_fresh);

/* Asks for the accounts that drivers keep of the job's processes: at the end. Of a job that was
 * attached to they speak of the time before us too, and are not asked for. */
void gpu_watch_accounts(struct gpu_watch *watch);

/* Where figures come from: the sources of the vendors whose GPUs are the job's, or of all, "+"
 * between them. `which` gets one of a vendor's. */
typedef const char *gpu_source_get(const struct gpu_sources *sources);
void gpu_watch_source(const struct gpu_watch *watch, gpu_source_get *which, bool of_all,
                      char *buf, size_t size);

#endif
