/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record.h - one run as plain values: everything that a report contains.
 *
 * A session fills a record (fill.h); a JSON report can be loaded into one (load.h). Every report format is a
 * function of a record. A record owns all its memory. Times are in seconds. Unknown is NULL, NaN or UNKNOWN.
 *
 * Text from the job, the user or a driver may hold any bytes; outputs escape it.
 */
#ifndef RECORD_RECORD_H
#define RECORD_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "job/budget.h"
#include "sample/metric.h"
#include "spoor/spoor.h"

/* How a run went: points over time, each with the highest, lowest and mean value of every
 * column.
 *
 * A column is a metric of docs/METRICS.md, or a measure of one GPU ("gpu0_utilization"). A counter is a
 * rate here: its growth per second. */

/* How many points a JSON report has at most, and how many a page. */
enum { CURVE_JSON_POINTS = 256, CURVE_PAGE_POINTS = 2000 };

/* NaN: unknown. In a column, infinite: a part that is unknown where its whole is known, as in
 * series/series.h. */
struct curve_value {
    double high, low, mean;
};

struct curve_column {
    const char *name;
    bool is_rate;
    float *high, *low, *mean; /* one of each per point; may be the same array */
};

/* The memory is that of the record. */
struct record_curve {
    uint64_t samples; /* that it was made of */
    size_t count;     /* points; 0: there is no curve */
    double *seconds;  /* the end of each point; it covers the time since the one before */
    struct curve_column *columns;
    size_t column_count;
};

/* NULL: there is no such column. */
const struct curve_column *curve_find(const struct record_curve *curve, const char *name);

/* The start of the time that a point covers. */
double curve_start(const struct record_curve *curve, size_t point);

/* The end of a point as a JSON report has it: in steps of 0.1 ms. */
double curve_rounded_seconds(const struct record_curve *curve, size_t point);

/* The values of a column over several points, from `first` to before `end`. Means are weighted by time. The
 * mean of a rate covers all of the time, even if some points are unknown, so that its integral stays the same. */
struct curve_value curve_get(const struct record_curve *curve,
                             const struct curve_column *column, size_t first, size_t end);

/* The highest values of a column in `cells` parts of the run that have the same length. A point counts in
 * all cells that it covers a part of; NaN: unknown. */
void curve_highest(const struct record_curve *curve, const struct curve_column *column,
                   double *ret_cells, size_t cells);

/* How many points become one, so that no more than `max_points` are left. */
size_t curve_step(const struct record_curve *curve, size_t max_points);

#define RECORD_SCHEMA "spoor/1"

struct record_group;
struct launch;

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

/* The figures of each GPU of the job, see record_gpu_path(). */
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

/* The distribution of a quantity over the time of the run: means of the points of its curve. NaN: unknown. */
struct record_quantiles {
    double p50, p95; /* half of the time, and 95 % of it, the value was not above this */
    double near_limit_seconds; /* so long it was above 90 % of the limit */
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
    bool is_still_running; /* the main process was running at the last sample */
    double interval_seconds;
    uint64_t samples;
    const char *spoor_version;

    /* the machine, and the limits of the job */
    const char *os, *kernel, *cpu_model;
    uint64_t cpus, memory_bytes;
    double cpus_limit;
    const char *cpus_limit_source;
    uint64_t memory_limit_bytes;
    const char *memory_limit_source;
    struct record_gpu *gpus;
    size_t gpu_count;
    uint64_t
        whole_gpus; /* parts not counted; UNKNOWN: not read, or the drivers have not responded */
    struct record_cloud *cloud; /* NULL: not known */
    struct launch *launch;   /* NULL: neither a scheduler nor a launcher started it; launch.h */
    const char *gpus_reason; /* why some or all GPUs are missing; not in a JSON report */

    struct spoor_figure *figures; /* figure_count() of them; NULL: the machine without a job */
    struct record_process *processes; /* in order of their start */
    size_t process_count;
    struct record_process_sum *other_processes;
    size_t other_process_count;
    size_t
        shown_processes; /* in a text report: so many of the largest; SIZE_MAX: three, if there are several; not in JSON */
    struct record_system *system; /* NULL: a job was tracked */
    struct record_server *server; /* NULL: not of a machine alone */
    struct record_phase *phases;
    size_t phase_count;
    struct record_curve curve;
    struct record_quantiles cores, memory; /* cores have no limit here */
    struct record_group *group;            /* NULL: one run, not the ranks of a job; group.h */

    /* the cost of the tracker itself */
    double tracker_cpu_seconds;
    uint64_t tracker_max_rss_bytes, late_samples, detail_reads;
    double budget_percent; /* of the job's CPU time; NAN: without limit */
    double spent_seconds[SPENDING_COUNT];
    uint64_t postponed[SPENDING_COUNT]; /* how often the budget was used up */

    struct record_warning *warnings;
    size_t warning_count;
    const char *context; /* a JSON object of an integration, such as Metaflow's; NULL: none */

    int error;         /* 0, or -ENOMEM: an allocation failed, and its value is NULL */
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

/* The text `like`, if it is the same; otherwise a copy. Both may be NULL. */
const char *record_share_text(struct record *record, const char *text, const char *like);

/* The same figure with its texts copied into the record. Texts equal to those of `like`, which may be
 * NULL, are not copied again. */
struct spoor_figure record_figure(struct record *record, struct spoor_figure figure,
                                  const struct spoor_figure *like);

struct spoor_figure record_unknown_figure(const char *reason);

/* The figure of that path, among figures in the order of the figure table. */
struct spoor_figure record_find(const struct spoor_figure *figures, const char *path);

/* The value of a figure of the run; NaN: unknown. */
double record_value(const struct record *record, const char *path);

/* Sets `cores` and `memory` by the curve (distribution.c). */
void record_fill_distribution(struct record *record);

/* The memory that counts against the limit of a cgroup: the peak of the job's cgroup, without pages that
 * are charged to another cgroup. NaN: unknown, or a cgroup does not set the limit. */
double record_charged_bytes(const struct record *record);

/* Where a measure of a GPU stands in the JSON object of that GPU: "memory.peak_bytes". */
const char *record_gpu_path(enum record_gpu_measure measure);

/* A random ID of a run: 32 hexadecimal digits. */
enum { RUN_ID_SIZE = 32 + 1 };
void record_make_id(char id[RUN_ID_SIZE]);

/* The tables of a record's fields that are not figures: where each stands in the
 * JSON report and in the struct. The JSON writer, the loader and the CSV row use them, so
 * none can forget a field. */

enum field_kind {
    FIELD_TEXT,    /* const char * */
    FIELD_COUNT,   /* uint64_t */
    FIELD_NUMBER,  /* double */
    FIELD_DATE,    /* double, since 1970, UTC */
    FIELD_FLAG,    /* bool */
    FIELD_IF_TRUE, /* bool; written only if it is true */
    FIELD_TEXTS,   /* const char **, ended by NULL */
    FIELD_TAGS,    /* struct record_tags */
};

struct field {
    const char *path; /* "run.id" */
    enum field_kind kind;
    size_t offset; /* in the struct that the table is of */
};

/* In the order of the JSON report. */
struct field_table {
    const struct field *rows;
    size_t count;
};

extern const struct field_table record_run_fields;
extern const struct field_table record_machine_fields; /* host and limits */
extern const struct field_table record_distribution_fields;
extern const struct field_table record_tracker_fields;
extern const struct field_table record_warning_fields;
extern const struct field_table record_phase_fields; /* before its figures */
extern const struct field_table record_gpu_fields;
extern const struct field_table record_process_fields;
extern const struct field_table record_process_sum_fields;

/* The first of record_gpu_fields identify the GPU. */
enum { RECORD_GPU_IDENTITY = 5 };

/* Makes every field of a struct unknown; flags are false. */
void field_table_clear(const struct field_table *table, void *base);

/* Where a field is. `base` is the struct that holds it. */
static inline const void *field_at(const struct field *field, const void *base)
{
    return (const char *)base + field->offset;
}

/* Facts about a machine beyond those of every report. Sections "server" and "cloud" of the JSON of `spoor
 * info`. */

/* All caches of one level and type. */
struct record_cache {
    uint64_t level;
    const char *type; /* "data", "instruction", "unified" */
    uint64_t count;
    uint64_t total_bytes; /* of all of them together */
};

struct record_server_disk {
    const char *name;
    const char *type; /* "nvme", "ssd", "hdd" */
    const char *model;
    uint64_t capacity_bytes;
};

struct record_cloud {
    const char *vendor, *region, *zone, *instance_type, *account;
};

/* Unknown is NULL or UNKNOWN. */
struct record_server {
    const char *architecture;   /* "x86_64" */
    const char *vendor, *model; /* from the firmware */
    const char *hypervisor;     /* "kvm", "other", ...; "none": a physical machine */
    const char *container;      /* "docker", ...; "none" */
    uint64_t sockets, cores, threads, numa_nodes;
    struct record_cache *caches;
    size_t cache_count;
    struct record_server_disk *disks;
    size_t disk_count;
    bool has_cloud; /* whether the cloud was looked up */
    struct record_cloud cloud;
    const char *cloud_reason; /* why some of it is unknown */
};

extern const struct field_table record_server_fields;
extern const struct field_table record_cache_fields;
extern const struct field_table record_server_disk_fields;
extern const struct field_table record_cloud_fields;

/* The usage of the machine during a run without a job: totals as figures, and its disks, network
 * interfaces and mounts one by one. Section "system" of the JSON report. */

struct record_disk {
    const char *name, *model, *vendor, *serial;
    const char *type; /* "nvme", "ssd", "hdd" */
    uint64_t capacity_bytes;
    double read_bytes_per_second, written_bytes_per_second;
};

struct record_interface {
    const char *name, *mac_address, *driver;
    const char *state; /* "up", "down" */
    uint64_t speed_mbps, mtu;
    bool is_hardware;
    double received_bytes_per_second, sent_bytes_per_second;
};

struct record_mount {
    const char *point, *type, *source;
    const char *disk; /* the whole disk it is on */
    uint64_t total_bytes, used_bytes, free_bytes;
};

struct record_list {
    void *items;
    size_t count;
};

struct record_system {
    struct spoor_figure *figures;  /* record_system_figure_count() of them */
    struct record_list disks;      /* of struct record_disk */
    struct record_list interfaces; /* of struct record_interface */
    struct record_list mounts;     /* of struct record_mount */
};

/* The lists, for writers and loaders of all of them. */
struct record_system_list {
    const char *path; /* "system.disks" */
    struct field_table fields;
    size_t item_size;
    size_t offset; /* of the list in struct record_system */
};

enum { RECORD_SYSTEM_LISTS = 3 };
extern const struct record_system_list record_system_lists[RECORD_SYSTEM_LISTS];

size_t record_system_figure_count(void);
const char *record_system_figure_path(size_t index);

/* The metric it is derived from (METRIC_NONE: it is no metric), and whether it is its increase per
 * second or its last value: for the documentation. */
enum metric record_system_figure_metric(size_t index);
bool record_system_figure_is_rate(size_t index);

/* A figure of the machine; unknown if there are none or a job was tracked. */
struct spoor_figure record_system_find(const struct record *record, const char *path);

#endif
