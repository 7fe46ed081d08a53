/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record.h - one run as plain values: everything that a report contains.
 *
 * A session fills a record (fill.h); a JSON report can be loaded into one (load.h). Every report format is a
 * function of a record. A record owns all its memory. Times are in seconds. Unknown is NULL, NaN or UNKNOWN.
 *
 * Text from the job, the user or a driver may hold any bytes; outputs escape it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/amount.h"
#include "base/parse.h"
#include "job/budget.h"
#include "sample/metric.h"
#include "source/gpu/gpu.h"
#include "spoor/spoor.h"

/* The course of a run: points over time, each with the highest, lowest and mean value of every
 * column.
 *
 * A column is a metric of docs/METRICS.md, or a measure of one GPU ("gpu0_utilization").
 * Counters are stored as rates: the increase per second. */

/* The maximum number of points in a JSON report, and in a page. */
enum { CURVE_JSON_POINTS = 256, CURVE_PAGE_POINTS = 2000 };

/* NaN: unknown. Infinite, in a column: a part is unknown although its whole is known, as in
 * series/series.h. */
struct curve_value {
    double high, low, mean;
};

struct curve_column {
    const char *name;
    bool is_rate;
    float *high, *low, *mean; /* one value per point; may be the same array */
};

/* The record owns the memory. */
struct record_curve {
    uint64_t samples; /* samples that the curve was made from */
    size_t count;     /* points; 0: there is no curve */
    double *seconds;  /* the end of each point; it covers the time since the previous point */
    struct curve_column *columns;
    size_t column_count;
};

/* Finds a column by its name; NULL: there is no such column. */
const struct curve_column *curve_find(const struct record_curve *curve, const char *name);

/* Returns the start of the time that a point covers. */
double curve_start(const struct record_curve *curve, size_t point);

/* Returns the end of a point as in a JSON report: in steps of 0.1 ms. */
double curve_rounded_seconds(const struct record_curve *curve, size_t point);

/* Returns the values of a column over the points from `first` to before `end`. Means are
 * weighted by time. The mean of a rate covers all of the time, even if some points are
 * unknown, so that its integral stays the same. */
struct curve_value curve_get(const struct record_curve *curve,
                             const struct curve_column *column, size_t first, size_t end);

/* Computes the highest values of a column in `cells` parts of the run that have the same
 * length. A point counts in all cells that it overlaps; NaN: unknown. */
void curve_highest(const struct record_curve *curve, const struct curve_column *column,
                   double *ret_cells, size_t cells);

/* Returns how many points to join into one, so that at most `max_points` are left. */
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
    struct spoor_figure *figures; /* array of figure_count() figures */
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
    RECORD_GPU_WORK, /* followed by one measure per enum gpu_work_kind, in the same order */
    RECORD_GPU_MEASURES = RECORD_GPU_WORK + GPU_WORK_KINDS,
};

/* A GPU of the machine, or a part of one (MIG device). Parts follow their GPU. */
struct record_gpu {
    uint64_t index;   /* index of the whole GPU */
    uint64_t part;    /* UNKNOWN: a whole GPU */
    const char *uuid; /* UUID, or PCI address if the GPU has no UUID */
    const char *name, *vendor, *pci_address;
    uint64_t memory_bytes;
    bool is_part;
    bool is_selected; /* assigned to the job; otherwise the members below are unknown */
    struct spoor_figure measures[RECORD_GPU_MEASURES];
    const char **throttled; /* "power", "thermal", "hardware"; NULL-terminated */
};

/* One of the largest processes of the job. Times are since the start of the run. */
struct record_process {
    uint64_t pid, parent_pid;
    const char *name, *command;
    double started_seconds;  /* negative: the process ran before it was tracked */
    double ended_seconds;    /* NaN: the process was running at the end */
    double cpu_seconds;      /* CPU time of the process, without its children */
    double cpu_wait_seconds; /* time that its threads waited for a CPU */
    uint64_t peak_rss_bytes, read_bytes, written_bytes, gpu_memory_bytes;
    uint64_t exit_code; /* 128 + N after signal N */
    const char *signal; /* "SIGKILL"; NULL: no signal killed it */
};

/* The other processes, summed by name. */
struct record_process_sum {
    const char *name; /* NULL: processes with unknown names */
    uint64_t count;
    double cpu_seconds;
    uint64_t peak_rss_bytes; /* the largest peak of one process */
};

/* The job's TCP connections with one address. */
struct record_remote {
    const char *address; /* NULL: several addresses */
    uint64_t connections, received_bytes, sent_bytes;
};

/* The distribution of a quantity over the time of the run: means of the points of its curve. NaN: unknown. */
struct record_quantiles {
    double p50, p95; /* the value was not above these for half, or 95 %, of the time */
    double near_limit_seconds; /* time during which the value was at least 90 % of the limit */
};

struct record {
    /* the run */
    const char *id, *name;
    struct record_tags tags;
    const char **command; /* NULL-terminated */
    uint64_t pid;
    const char *host, *user, *cwd;
    double started_at, ended_at; /* Unix times in UTC, in whole milliseconds */
    double elapsed_seconds;
    uint64_t exit_code; /* 128 + N after signal N */
    const char *signal; /* "SIGKILL"; NULL: no signal killed it */
    bool has_dumped_core;
    bool is_attached;      /* the job had started before it was tracked */
    bool is_still_running; /* the main process was running at the last sample */
    double interval_seconds;
    uint64_t samples;
    const char *spoor_version;

    /* The machine, and the limits of the job. */
    const char *os, *kernel, *cpu_model;
    uint64_t cpus, memory_bytes;
    double cpus_limit;
    const char *cpus_limit_source;
    uint64_t memory_limit_bytes;
    const char *memory_limit_source;
    struct record_gpu *gpus;
    size_t gpu_count;
    uint64_t
        whole_gpus; /* not counting parts; UNKNOWN: not read, or no response from the drivers */
    struct record_cloud *cloud; /* NULL: not looked up, or none */
    struct launch *launch;      /* NULL: not started by a scheduler or launcher; launch.h */
    const char *gpus_reason;    /* why some or all GPUs are missing; not in a JSON report */

    struct spoor_figure *figures; /* figure_count() figures; NULL: a machine without a run */
    struct record_process *processes; /* in the order in which they started */
    size_t process_count;
    struct record_process_sum *other_processes;
    size_t other_process_count;
    struct record_remote *remotes; /* remote addresses with the most bytes */
    size_t remote_count;
    /* Number of the largest processes in a text report; SIZE_MAX: three, if there are
     * several; not in JSON. */
    size_t shown_processes;
    struct record_system *system; /* NULL: a job was tracked */
    struct record_server *server; /* NULL unless the record is of a machine without a run */
    struct record_phase *phases;
    size_t phase_count;
    struct record_curve curve;
    struct record_quantiles cores, memory; /* cores.near_limit_seconds is not used */
    struct record_group *group;            /* NULL: one run, not the ranks of a job; group.h */

    /* the cost of the tracker itself */
    double tracker_cpu_seconds;
    uint64_t tracker_max_rss_bytes, late_samples, detail_reads;
    double budget_percent; /* percentage of the job's CPU time; NAN: no limit */
    double spent_seconds[SPENDING_COUNT];
    uint64_t postponed[SPENDING_COUNT]; /* readings postponed for lack of budget */

    struct record_warning *warnings;
    size_t warning_count;
    const char *context; /* a JSON object of an integration, such as Metaflow's; NULL: none */

    int error;         /* 0, or -ENOMEM: an allocation failed, and the value is NULL */
    void *allocations; /* list of all allocations */
};

/* Makes a record in which everything is unknown. */
void record_init(struct record *record);
void record_done(struct record *record);

/* Allocates zeroed memory that lives as long as the record. On failure, returns NULL and
 * sets record->error. */
void *record_alloc(struct record *record, size_t count, size_t size);

/* Copies a text. NULL stays NULL; the second function also turns an empty text into NULL. */
const char *record_text(struct record *record, const char *text);
const char *record_known_text(struct record *record, const char *text);

/* Copies a list of texts that is NULL-terminated. NULL stays NULL. */
const char **record_texts(struct record *record, const char *const *texts);

/* Returns `like` if it is equal to `text`, otherwise a copy of `text`. Both may be NULL. */
const char *record_share_text(struct record *record, const char *text, const char *like);

/* Returns the figure with its texts copied into the record. Texts equal to those of `like`,
 * which may be NULL, are not copied again. */
struct spoor_figure record_figure(struct record *record, struct spoor_figure figure,
                                  const struct spoor_figure *like);

struct spoor_figure record_unknown_figure(const char *reason);

/* Finds a figure by its path. `figures` must be in the order of the figure table. */
struct spoor_figure record_find(const struct spoor_figure *figures, const char *path);

/* Returns the value of a figure of the run; NaN: unknown. */
double record_value(const struct record *record, const char *path);

/* Whether a source measures the whole machine, for lack of a cgroup of the job. */
static inline bool source_is_host(const char *source)
{
    return source && begins_with(source, "host.");
}

/* Whether a signal killed the run, or its exit code is known and not 0. */
static inline bool record_has_failed(const struct record *record)
{
    return record->signal || (is_known(record->exit_code) && record->exit_code != 0);
}

/* Sets `cores` and `memory` from the curve: one spike, or constant use? */
void record_fill_distribution(struct record *record);

/* Returns the memory that counts against the limit of a cgroup: the peak of the job's
 * cgroup, without pages that are charged to another cgroup. NaN: unknown, or a cgroup does
 * not set the limit. */
double record_charged_bytes(const struct record *record);

/* Returns the page cache that the run read again after it had been evicted. NaN: unknown, or too
 * little to matter. */
double record_refaulted_bytes(const struct record *record);

/* Returns the path of a measure in the JSON object of its GPU: "memory.peak_bytes". */
const char *record_gpu_path(enum record_gpu_measure measure);

/* Length of the random ID of a run: 32 hexadecimal digits and a NUL. */
enum { RUN_ID_SIZE = 32 + 1 };
void record_make_id(char id[RUN_ID_SIZE]);

/* Tables of the fields of a record that are not figures: the place of each in the JSON report
 * and in the struct. The JSON writer, the loader and the CSV row share them, so that none can
 * miss a field. */

enum field_kind {
    FIELD_TEXT,    /* const char * */
    FIELD_COUNT,   /* uint64_t */
    FIELD_NUMBER,  /* double */
    FIELD_DATE,    /* double, since 1970, UTC */
    FIELD_FLAG,    /* bool */
    FIELD_IF_TRUE, /* bool; written only if it is true */
    FIELD_TEXTS,   /* const char **, NULL-terminated */
    FIELD_TAGS,    /* struct record_tags */
};

struct field {
    const char *path; /* "run.id" */
    enum field_kind kind;
    size_t offset; /* offset in the struct of the table */
};

/* The fields in their order in the JSON report. */
struct field_table {
    const struct field *rows;
    size_t count;
};

extern const struct field_table record_run_fields;
extern const struct field_table record_machine_fields; /* host and limits */
extern const struct field_table record_distribution_fields;
extern const struct field_table record_tracker_fields;
enum { RECORD_TABLES = 4 };
extern const struct field_table *const record_tables[RECORD_TABLES]; /* the four above */
extern const struct field_table record_phase_fields;                 /* figures excluded */

/* A list of structs: its path in the JSON report, the fields of each item, and the offsets of
 * two members of the struct that has the list: the pointer to the items, and their count. */
struct list_field {
    const char *path; /* "processes.largest" */
    struct field_table fields;
    size_t item_size, items, count;
};

/* Lists of struct record. */
extern const struct list_field record_gpu_list;
extern const struct list_field record_process_list;
extern const struct list_field record_process_sum_list;
extern const struct list_field record_remote_list;
extern const struct list_field record_warning_list;

/* The first fields of a GPU identify it. */
enum { RECORD_GPU_IDENTITY = 5 };

struct json_writer;

/* Adds a field to a document. Returns false for lists of texts and for tags, which each document
 * writes in its own way. */
bool field_add_json(struct json_writer *json, const char *key, const struct field *field,
                    const void *base);

/* Sets every field of a struct to unknown; flags are false. */
void field_table_clear(const struct field_table *table, void *base);

/* Returns the address of a field. `base` is the struct that holds it. */
static inline const void *field_at(const struct field *field, const void *base)
{
    return (const char *)base + field->offset;
}

/* Further facts about a machine. Sections "server" and "cloud" of the JSON of `spoor info`. */

/* All caches of one level and type. */
struct record_cache {
    uint64_t level;
    const char *type; /* "data", "instruction", "unified" */
    uint64_t count;
    uint64_t total_bytes; /* size of all of them together */
};

struct record_disk {
    const char *name, *model, *vendor, *serial;
    const char *type; /* "nvme", "ssd", "hdd" */
    uint64_t capacity_bytes;
    double read_bytes_per_second, written_bytes_per_second;
};

struct record_cloud {
    const char *vendor, *region, *zone, *instance_type, *account;
    const char *reason; /* why some members are unknown */
};

/* Unknown members are NULL or UNKNOWN. */
struct record_server {
    const char *architecture;   /* "x86_64" */
    const char *vendor, *model; /* from the firmware */
    const char *hypervisor;     /* "kvm", "other", ...; "none": a physical machine */
    const char *container;      /* "docker", ...; "none" */
    uint64_t sockets, cores, threads, numa_nodes;
    struct record_cache *caches;
    size_t cache_count;
    struct record_disk *disks; /* the rates are not set */
    size_t disk_count;
};

extern const struct field_table record_server_fields;
extern const struct list_field record_cache_list; /* of struct record_server */
extern const struct list_field record_server_disk_list;
extern const struct field_table record_cloud_fields;

/* The usage of the machine during a run without a job: totals as figures, and its disks, network
 * interfaces and mounts one by one. Section "system" of the JSON report. */

struct record_interface {
    const char *name, *mac_address, *driver;
    const char *state; /* "up", "down" */
    uint64_t speed_mbps, mtu;
    bool is_hardware;
    double received_bytes_per_second, sent_bytes_per_second;
};

struct record_mount {
    const char *point, *type, *source;
    const char *disk; /* the whole disk that holds the file system */
    uint64_t total_bytes, used_bytes, free_bytes;
};

struct record_list {
    void *items;
    size_t count;
};

struct record_system {
    struct spoor_figure *figures;  /* array of record_system_figure_count() figures */
    struct record_list disks;      /* of struct record_disk */
    struct record_list interfaces; /* of struct record_interface */
    struct record_list mounts;     /* of struct record_mount */
};

enum { RECORD_SYSTEM_LISTS = 3 };
extern const struct list_field record_system_lists[RECORD_SYSTEM_LISTS];

size_t record_system_figure_count(void);
const char *record_system_figure_path(size_t index);

/* Returns the metric that a figure is derived from (METRIC_NONE: none), and whether the
 * figure is its increase per second or its last value: for the documentation. */
enum metric record_system_figure_metric(size_t index);
bool record_system_figure_is_rate(size_t index);

/* Returns a figure of the machine; unknown if there are none or a job was tracked. */
struct spoor_figure record_system_find(const struct record *record, const char *path);
