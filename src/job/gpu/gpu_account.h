/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_account.h - adds up what vendors report about devices and processes: the figures of each GPU and
 * of the job. Pure.
 *
 * - Totals are over the GPUs that are the job's, but for the host's memory, which is that of all. A GPU
 *   that is split into parts counts as itself if it reports a figure, else as its parts.
 * - A GPU that does not report a figure is left out of a total; a total of nothing is unknown. If a
 *   process of the job does not report a figure, the job's total is unknown.
 * - A process of the job may be on a GPU before anything says what it did there: a driver's samples
 *   come late, and some counters are known from the second look on. Until then the job's busy time
 *   is unknown, whatever it was before.
 */
#ifndef JOB_GPU_GPU_ACCOUNT_H
#define JOB_GPU_GPU_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "job/gpu/gpu_share.h"
#include "job/gpu/gpu_view.h"
#include "source/gpu/gpu.h"

/* A process on a GPU. */
struct gpu_row {
    struct gpu_process process;
    size_t unit;  /* in the list of all GPUs */
    bool is_job;  /* it is of the job */
    bool is_main; /* it is the job's first */
};

struct gpu_unit_account {
    struct gpu_share busy, job_busy, encoder, decoder;
    struct gpu_device_view view;
    bool has_parts;               /* which report what processes do, and the whole does not */
    uint64_t memory_bytes;        /* in use, as the device reported last */
    uint64_t job_busy_ns;         /* counter: sum over the job's processes, ended ones too */
    uint64_t job_seen_ns;         /* when a process of the job was last on it; 0: never */
    const char *processes_reason; /* see gpu_reading */
    const char *process_memory_reason;
    bool has_unreported_memory;    /* a process of the job once did not report it */
    size_t unreported_count;       /* of its processes, that did not report their busy time */
    const char *unreported_reason; /* why it is unknown just now; NULL: it is reported */
    const char *lost_reason;       /* why it will never be, of one that ended; NULL */

    /* of the list of processes that is being looked at */
    uint64_t listed_bytes;
    struct measure job_memory; /* of the job's processes */
    uint64_t job_covered_ns;
    size_t job_count, present_count; /* of the job's processes; without ended ones */
    size_t listed_unreported_count;
    const char *listed_reason; /* why their busy time is unknown; NULL: it is known */
    size_t found_count;        /* of those that had not reported their busy time */
};

/* The busy time of a process of the job when it was last reported. */
struct gpu_use {
    size_t unit;
    pid_t pid;
    uint64_t busy_ns;
    bool is_unreported; /* at the last look: its growth is unknown */
};

struct gpu_account {
    const struct gpu_unit *units;  /* borrowed */
    struct gpu_unit_account *list; /* one of each; owned */
    size_t count;
    uint64_t start_ns;
    struct gpu_use *uses, *spare; /* sorted; owned */
    size_t use_count, use_capacity;
    struct gpu_totals totals; /* without the sources of their origins */
};

/* Why a figure is unknown. */
extern const char gpu_not_told[];

/* The source of busy times that were inferred: gpu_process.is_busy_attributed. */
extern const char gpu_attributed[];

/* `start_ns`: when the run began. The units must stay. Returns 0 or -ENOMEM. The caller ends it with
 * gpu_account_done(), after a failure too. */
int gpu_account_init(struct gpu_account *account, const struct gpu_unit *units, size_t count,
                     uint64_t start_ns);
void gpu_account_done(struct gpu_account *account);

/* A reading of a GPU; NULL: it is lost. */
void gpu_account_device(struct gpu_account *account, size_t index,
                        const struct gpu_reading *reading, uint64_t now_ns);

/* Memory in use on a GPU, seen in between. UNKNOWN: it was not. */
void gpu_account_device_memory(struct gpu_account *account, size_t index, uint64_t used_bytes);

/* The memory of all processes, then the totals. */
void gpu_account_memory(struct gpu_account *account, const struct gpu_row *rows, size_t count,
                        uint64_t now_ns);

/* The busy time of the job's processes, after it was read again. -ENOMEM: it is lost. */
int gpu_account_busy(struct gpu_account *account, const struct gpu_row *rows, size_t count,
                     uint64_t now_ns);

/* The driver's record of a process of the job: the largest memory that it ever had. */
void gpu_account_peak(struct gpu_account *account, size_t unit, uint64_t peak_bytes);

#endif
