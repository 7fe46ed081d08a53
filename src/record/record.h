/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record.h - one run as plain values: all that a report can say about it.
 *
 * A session fills a record (fill.h); a JSON report can be loaded into one (load.h). Every
 * report format is a function of a record. It owns all its memory. Times are in seconds.
 * Unknown is NULL, NaN or UNKNOWN.
 *
 * Text from the job, the user or a driver may hold any bytes; outputs escape it.
 */
#ifndef RECORD_RECORD_H
#define RECORD_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "job/budget.h"
#include "record/curve.h"
#include "spoor/spoor.h"

#define RECORD_SCHEMA "spoor/1"

struct record_tag {
    const char *key, *value;
};

struct record_tags {
    struct record_tag *items;
    size_t count;
};

struct record_warning {
    const char *code, *message;
};

struct record_phase {
    const char *name;
    double started_at; /* since 1970, UTC */
    double elapsed_seconds;
    struct spoor_figure *figures; /* figure_count() of them */
};

/* What a report says about each GPU of the job, see record_gpu_path(). */
enum record_gpu_measure {
    RECORD_GPU_MEMORY,
    RECORD_GPU_JOB_MEMORY,
    RECORD_GPU_UTILIZATION_MEAN,
    RECORD_GPU_UTILIZATION_MAX,
    RECORD_GPU_JOB_UTILIZATION_MEAN,
    RECORD_GPU_JOB_UTILIZATION_MAX,
    RECORD_GPU_ENERGY,
    RECORD_GPU_TEMPERATURE_MAX,
    RECORD_GPU_POWER_MAX,
    RECORD_GPU_MEASURES,
};

/* A GPU of the machine, or a part of one (MIG device), which follows it. */
struct record_gpu {
    uint64_t index;   /* of the whole GPU */
    uint64_t part;    /* UNKNOWN: the whole */
    const char *uuid; /* or its PCI address, if it has none */
    const char *name, *vendor, *pci_address;
    uint64_t memory_bytes;
    bool is_part;
    bool is_selected; /* it is one of the job's; only then the rest is known */
    struct spoor_figure measures[RECORD_GPU_MEASURES];
    const char **throttled; /* "power", "thermal", "hardware"; ended by NULL */
};

/* One of the largest processes of the job. Times are since the start of the run. */
struct record_process {
    uint64_t pid, parent_pid;
    const char *name, *command;
    double started_seconds; /* negative: it ran before it was tracked */
    double ended_seconds;   /* NaN: it still ran at the end */
    double cpu_seconds;     /* of itself, without its children */
    uint64_t peak_rss_bytes, read_bytes, written_bytes, gpu_memory_bytes;
    uint64_t exit_code; /* 128 + N after signal N */
    const char *signal; /* "SIGKILL"; NULL: no signal ended it */
};

/* The other processes, summed by name. */
struct record_process_sum {
    const char *name; /* NULL: those whose name is not known */
    uint64_t count;
    double cpu_seconds;
    uint64_t peak_rss_bytes; /* the largest of one */
};

struct record {
    /* the run */
    const char *id, *name;
    struct record_tags tags;
    const char **command; /* ended by NULL */
    uint64_t pid;
    const char *host, *user, *cwd;
    double started_at, ended_at; /* since 1970, UTC, in whole milliseconds */
    double elapsed_seconds;
    uint64_t exit_code; /* 128 + N after signal N */
    const char *signal; /* "SIGKILL"; NULL: no signal ended it */
    bool has_dumped_core;
    bool is_attached;      /* the job had started before it was tracked */
    bool is_still_running; /* the main process was, at the last sample */
    double interval_seconds;
    uint64_t samples;
    const char *spoor_version;

    /* the machine, and what of it the job may use */
    const char *os, *kernel, *cpu_model;
    uint64_t cpus, memory_bytes;
    double cpus_limit;
    const char *cpus_limit_source;
    uint64_t memory_limit_bytes;
    const char *memory_limit_source;
    struct record_gpu *gpus;
    size_t gpu_count;
    uint64_t
        whole_gpus; /* parts not counted; UNKNOWN: nobody has asked, or the drivers have not answered */
    struct record_cloud *cloud; /* see server.h; NULL: not known */
    const char *gpus_reason;    /* why some or all GPUs are missing; not in a JSON report */

    struct spoor_figure *figures;     /* figure_count() of them; NULL: of a machine alone */
    struct record_process *processes; /* in order of their start */
    size_t process_count;
    struct record_process_sum *other_processes;
    size_t other_process_count;
    size_t shown_processes; /* in a text report: so many of the largest; not in a JSON report */
    struct record_system *system; /* see system.h; NULL: a job was tracked */
    struct record_server *server; /* see server.h; NULL: not of a machine alone */
    struct record_phase *phases;
    size_t phase_count;
    struct record_curve curve;

    /* what the tracker itself cost */
    double tracker_cpu_seconds;
    uint64_t tracker_max_rss_bytes, late_samples, detail_reads;
    double budget_percent; /* of the job's CPU time; NAN: without limit */
    double spent_seconds[SPENDING_COUNT];
    uint64_t postponed[SPENDING_COUNT]; /* how often the budget was used up */

    struct record_warning *warnings;
    size_t warning_count;
    const char *context; /* a JSON object of an integration, such as Metaflow's; NULL: none */

    int error; /* 0, or -ENOMEM: an allocation failed, and what was to be there is NULL */
    void *allocations; /* all of its memory */
};

/* A record of which nothing is known. */
void record_init(struct record *record);
void record_done(struct record *record);

/* Zeroed memory that lives as long as the record; NULL and record->error on failure. */
void *record_alloc(struct record *record, size_t count, size_t size);

/* A copy of a text. NULL stays NULL; of the second, so does empty text. */
const char *record_text(struct record *record, const char *text);
const char *record_known_text(struct record *record, const char *text);

/* The same figure with texts of the record's own. Those equal to `like`'s are not copied
 * again; NULL: there is none. */
struct spoor_figure record_figure(struct record *record, struct spoor_figure figure,
                                  const struct spoor_figure *like);

struct spoor_figure record_unknown_figure(const char *reason);

/* The figure of that path, among figures in the order of the figure table. */
struct spoor_figure record_find(const struct spoor_figure *figures, const char *path);

/* The value of a figure of the run; NaN: unknown. */
double record_value(const struct record *record, const char *path);

/* What counts against a memory limit that a cgroup sets: the peak of the job's cgroup. It leaves out
 * pages that are charged to another cgroup. NaN: unknown, or a cgroup does not set the limit. */
double record_charged_bytes(const struct record *record);

/* Where a measure of a GPU stands in the JSON object of that GPU: "memory.peak_bytes". */
const char *record_gpu_path(enum record_gpu_measure measure);

/* A random ID of a run: 32 hexadecimal digits. */
void record_make_id(char id[33]);

#endif
