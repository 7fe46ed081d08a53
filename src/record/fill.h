/* SPDX-License-Identifier: Apache-2.0 */
/* fill.h - makes a record from the data of a session. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/environment.h"
#include "base/root.h"
#include "cgroup/cgroup.h"
#include "job/gpu/gpu_view.h"
#include "job/network.h"
#include "job/process_table.h"
#include "record/launch.h"
#include "record/record.h"
#include "sample/metric.h"
#include "series/series.h"
#include "series/summary.h"
#include "source/host/devices.h"
#include "source/host/facts.h"

/* ---- The curve of a record, from the points that a run has kept ------------ */

/* Leaves out columns of the job that would repeat the host's: the host has its own columns. */
void fill_curve(struct record *record, const struct series *series,
                const struct summary *summary);

struct warning {
    char code[32];
    char message[240];
};

enum { WARNINGS_MAX = 64 };

/* Whether a 0 means unknown: the usage of a process of the job was not reported. */
struct gpu_uncertain {
    bool memory, busy;
};

struct phase {
    char name[128];
    bool is_open;
    unsigned open_count; /* more than 1: later phases were added to it while it was open */
    struct summary summary;
    struct gpu_uncertain gpu_uncertain;
};

enum { PHASES_MAX = 256 };

/* The data that a record is made from; borrowed. */
struct record_input {
    const char *id;
    const char *name;            /* NULL: none */
    const char *const *tags;     /* "KEY=VALUE", NULL-terminated; NULL: none */
    const char *const *command;  /* NULL-terminated; NULL: unknown */
    const char *user;            /* NULL or empty: unknown */
    const char *cwd;             /* NULL or empty: unknown */
    const struct launch *launch; /* NULL: unknown */
    pid_t pid;                   /* 0: there is no main process */
    bool is_tracked;             /* there is a job */
    bool is_attached;            /* the job had started before it was tracked */
    bool has_ended;              /* the wait status below is known */
    int wait_status;             /* as wait(2) reports it */
    bool is_still_running;       /* the main process was alive at the last sample */
    uint64_t interval_ns;

    const struct host_facts *host;
    const struct spoor_cloud *cloud; /* NULL: unknown */
    const struct limits *limits;
    const struct gpu_view *gpu;
    const struct summary *summary;
    const struct sample *latest; /* NULL: no sample was taken */
    const struct series *series;
    const struct phase *phases;
    size_t phase_count;
    const struct process_table *processes; /* finished table; NULL: unknown */
    const struct network_remotes *remotes; /* NULL: unknown */
    uint64_t started_ns; /* start of the run, for the times of the processes */

    /* without a job: devices at the first and the last sample */
    const struct devices *first_devices, *devices;
    uint64_t devices_span_ns; /* time between the first and the last sample */

    uint64_t tracker_cpu_ns;        /* UNKNOWN if it cannot be read */
    uint64_t tracker_max_rss_bytes; /* UNKNOWN if it cannot be read */
    uint64_t late_samples;
    uint64_t detail_reads;
    struct budget budget; /* the budget and its spending */

    const struct warning *warnings;
    size_t warning_count;
};

/* Makes the record of a run. Fails only with -ENOMEM. On success the caller calls
 * record_done(). */
int record_fill(const struct record_input *input, struct record *ret);

/* Fills in the processes of the job; none if input->processes is NULL. A part of
 * record_fill(). */
void fill_processes(struct record *record, const struct record_input *input);

/* Makes a record of a machine without a run. The view may have no devices; `cloud` may be
 * NULL. Fails only with -ENOMEM. On success the caller calls record_done(). */
int record_fill_machine(const struct host_facts *host, const struct limits *limits,
                        const struct gpu_view *gpu, const struct server_facts *server,
                        const struct spoor_cloud *cloud, struct record *ret);

/* ---- The limits of a job --------------------------------------------------- */

/* The smallest of the limits set by cgroups, CPU affinity and the batch system, read once at the start. */
struct limits {
    double cpus;             /* may be a fraction (a quota); NaN: unknown */
    const char *cpus_source; /* static: "affinity", "cgroup.cpu.max", "slurm", ... or NULL */
    uint64_t memory_bytes;   /* UNKNOWN: no limit, or it cannot be read */
    const char *memory_source;
};

/* `cgroups` are the cgroups of the process; NULL: they are not visible. */
void limits_read(const struct root *root, pid_t pid, const struct host_facts *host,
                 const struct cgroups *cgroups, environment_get *get, struct limits *ret);
