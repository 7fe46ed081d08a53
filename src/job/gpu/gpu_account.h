/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_account.h - sums up the reports of vendors about devices and processes: the figures of
 * each GPU and of the job. Pure.
 *
 * - Totals are sums over the GPUs assigned to the job; only the host's memory is a sum over all
 *   GPUs. If a GPU is split into parts, its own figure counts if it reports one, else the
 *   figures of its parts.
 * - A GPU that does not report a figure is left out of a total; a total without any figure is
 *   unknown. If a process of the job does not report a figure, the job's total is unknown.
 * - A process of the job may be on a GPU before its usage is reported: a driver's samples
 *   come late, and some counters are known from the second look on. Until then the job's busy
 *   time is unknown, whatever it was before.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cgroup/cgroup.h"
#include "job/gpu/gpu_share.h"
#include "job/gpu/gpu_view.h"
#include "source/gpu/gpu.h"

struct gpu_row {
    struct gpu_process process;
    size_t unit;  /* index in the list of all GPUs */
    bool is_job;  /* the process belongs to the job */
    bool is_main; /* the process is the main process */
};

struct gpu_unit_account {
    struct gpu_share busy, job_busy, encoder, decoder;
    struct gpu_device_view view;
    bool has_parts;       /* its parts report processes, but the whole GPU does not */
    struct gpu_work work; /* as last reported */
    double work_rates[GPU_WORK_KINDS]; /* amounts per ns between the last two readings */
    uint64_t memory_bytes;             /* in use, as last reported by the device */
    uint64_t job_busy_ns; /* counter: sum over the job's processes, exited ones included */
    uint64_t job_seen_ns; /* when a process of the job was last on the device; 0: never */
    const char *processes_reason; /* see gpu_reading */
    const char *process_memory_reason;
    uint64_t charge_bytes;      /* memory charged to the job, as last read; or UNKNOWN */
    uint64_t charge_peak_bytes; /* highest peak of the charge so far; UNKNOWN: none yet */
    /* Charge_peak_bytes if it rose since the last look; else UNKNOWN. */
    uint64_t charge_risen_bytes;
    bool has_charge_peak; /* the peak rose during this run */
    bool has_charge_gap;  /* the charge or its peak was once unknown */
    /* A process of the job did not report its memory at least once. */
    bool has_unreported_memory;
    size_t unreported_count; /* processes of the job that did not report their busy time */
    const char *unreported_reason; /* why that time is unknown now; NULL: it is known */
    const char *lost_reason;       /* why the busy time of an exited process is lost; or NULL */

    /* values from the current list of processes */
    uint64_t listed_bytes;
    struct measure job_memory; /* memory of the job's processes */
    uint64_t job_covered_ns;
    size_t job_count, present_count; /* the job's processes; living ones among them */
    size_t listed_unreported_count;
    const char *listed_reason; /* why a busy time is unknown; NULL: all are known */
    size_t found_count;        /* listed processes unreported at the last look */
};

/* The last reported busy time of a process of the job. */
struct gpu_use {
    size_t unit;
    pid_t pid;
    uint64_t busy_ns;
    bool is_unreported; /* not reported by the last look: the increase of busy_ns is unknown */
    bool is_listed;     /* listed by the current look */
};

struct gpu_account {
    const struct gpu_unit *units;  /* borrowed */
    struct gpu_unit_account *list; /* one per unit; owned */
    size_t count;
    uint64_t start_ns;
    struct gpu_use *uses; /* owned */
    size_t use_count, use_capacity;
    struct gpu_totals totals; /* origin.source is not set */
};

/* The reason "the driver does not report this figure". */
extern const char gpu_not_reported[];

/* Initializes an account. `start_ns`: start of the run. The units must outlive the account.
 * Returns 0 or -ENOMEM. The caller must call gpu_account_done(), even after a failure. */
int gpu_account_init(struct gpu_account *account, const struct gpu_unit *units, size_t count,
                     uint64_t start_ns);
void gpu_account_done(struct gpu_account *account);

/* Adds a reading of a GPU; NULL: the driver has lost the device. */
void gpu_account_device(struct gpu_account *account, size_t index,
                        const struct gpu_reading *reading, uint64_t now_ns);

/* Adds the memory in use on a GPU, read between full readings. UNKNOWN: it was not read. */
void gpu_account_device_memory(struct gpu_account *account, size_t index, uint64_t used_bytes);

/* Adds the energy of a GPU, read between full readings. */
void gpu_account_energy(struct gpu_account *account, size_t index,
                        const struct gpu_energy *energy);

/* Adds the work of a GPU. */
void gpu_account_work(struct gpu_account *account, size_t index, const struct gpu_work *work,
                      uint64_t now_ns);

/* Adds the memory on a GPU that the kernel charged to the job, before gpu_account_memory(): it
 * replaces the sum over processes. `is_older`: the first peak may be older than the run. */
void gpu_account_charge(struct gpu_account *account, size_t index,
                        const struct cgroup_dmem *now, const struct cgroup_dmem *peak,
                        bool is_older);

/* Adds the memory of all processes, then computes the totals. */
void gpu_account_memory(struct gpu_account *account, const struct gpu_row *rows, size_t count,
                        uint64_t now_ns);

/* Adds the busy time of the job's processes, after it was read again. */
void gpu_account_busy(struct gpu_account *account, const struct gpu_row *rows, size_t count,
                      uint64_t now_ns);

/* Adds the peak memory of a process of the job, from the driver's accounting record. */
void gpu_account_peak(struct gpu_account *account, size_t unit, uint64_t peak_bytes);
