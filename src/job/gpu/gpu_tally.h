/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_tally.h - from what vendors tell of devices and processes to what is said of the job.
 * Pure.
 *
 * - Sums are over the GPUs that are the job's, but for the host's memory, which is that of all.
 *   A GPU that is split into parts counts as itself where it tells a figure, else as its parts.
 * - What some GPU does not tell is left out of a sum; a sum of nothing is not known. What a
 *   process of the job does not tell makes the job's sum unknown.
 */
#ifndef JOB_GPU_GPU_TALLY_H
#define JOB_GPU_GPU_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "job/gpu/gpu_inventory.h"
#include "job/gpu/gpu_share.h"
#include "job/gpu/gpu_totals.h"
#include "source/gpu/gpu.h"

/* A process on a GPU. */
struct gpu_row {
    struct gpu_process process;
    size_t unit;  /* in the list of all GPUs */
    bool is_job;  /* it is of the job */
    bool is_main; /* it is the job's first */
};

struct gpu_unit_tally {
    struct gpu_share busy, job_busy, encoder, decoder;
    struct gpu_device_view view;
    bool has_parts;               /* which tell what processes do, and the whole does not */
    uint64_t memory_bytes;        /* in use, as the device told last */
    uint64_t job_busy_ns;         /* counter: sum over the job's processes, ended ones too */
    uint64_t job_seen_ns;         /* when a process of the job was last on it; 0: never */
    const char *processes_reason; /* see gpu_reading */
    const char *process_memory_reason;
    bool has_unreported_memory;    /* a process of the job once did not tell it */
    size_t unreported_count;       /* of its processes, that did not tell their busy time */
    const char *unreported_reason; /* why it is not known just now; NULL: it is told */
    const char *lost_reason;       /* why it will never be, of one that ended; NULL */

    /* of the list of processes that is being looked at */
    uint64_t listed_bytes, job_bytes;
    uint64_t job_covered_ns;
    size_t job_count, present_count; /* of the job's processes; without ended ones */
    size_t listed_unreported_count;
    size_t found_count; /* of those that had not told their busy time */
    const char *reason;
    bool is_unknown;
};

/* The busy time of a process of the job when it was last told. */
struct gpu_use {
    size_t unit;
    pid_t pid;
    uint64_t busy_ns;
    bool is_unreported; /* at the last look: nobody knows what it has grown by */
};

struct gpu_tally {
    const struct gpu_unit *units; /* borrowed */
    struct gpu_unit_tally *list;  /* one of each; ours */
    size_t count;
    uint64_t start_ns;
    struct gpu_use *uses, *spare; /* sorted; ours */
    size_t use_count, use_capacity;
    struct gpu_totals totals;
};

/* Why a figure is not known. */
extern const char gpu_none_selected[], gpu_no_samples[], gpu_not_told[];

/* `start_ns`: when the run began. The units must stay. Returns 0 or -ENOMEM. The caller ends
 * it with gpu_tally_done(), after a failure too. */
int gpu_tally_init(struct gpu_tally *tally, const struct gpu_unit *units, size_t count,
                   uint64_t start_ns);
void gpu_tally_done(struct gpu_tally *tally);

/* A reading of a GPU; NULL: it is lost. */
void gpu_tally_device(struct gpu_tally *tally, size_t index, const struct gpu_reading *reading,
                      uint64_t now_ns);

/* Memory in use on a GPU, seen in between. UNKNOWN: it was not. */
void gpu_tally_device_memory(struct gpu_tally *tally, size_t index, uint64_t used_bytes);

/* The memory of all processes, then the totals. */
void gpu_tally_memory(struct gpu_tally *tally, const struct gpu_row *rows, size_t count,
                      uint64_t now_ns);

/* The busy time of the job's processes, after it was read anew. -ENOMEM: it is lost. */
int gpu_tally_busy(struct gpu_tally *tally, const struct gpu_row *rows, size_t count,
                   uint64_t now_ns);

/* What the driver accounted: the largest memory that a process of the job ever had. */
void gpu_tally_account(struct gpu_tally *tally, size_t unit, uint64_t peak_bytes);

#endif
