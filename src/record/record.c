/* SPDX-License-Identifier: Apache-2.0 */
#include "record/record.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/amount.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "record/group.h"
#include "series/figure.h"
#include "text/find.h"
#include "text/json_writer.h"
#include "text/number.h"

/* ---- curve ----------------------------------------------------------------- */

const struct curve_column *curve_find(const struct record_curve *curve, const char *name)
{
    return FIND_IN_LIST(curve->columns, curve->column_count, name, name);
}

double curve_start(const struct record_curve *curve, size_t point)
{
    return point > 0 ? curve->seconds[point - 1] : 0;
}

double curve_rounded_seconds(const struct record_curve *curve, size_t point)
{
    return floor(curve->seconds[point] * 1e4 + 0.5) / 1e4;
}

struct curve_value curve_get(const struct record_curve *curve,
                             const struct curve_column *column, size_t first, size_t end)
{
    struct curve_value value = { (double)NAN, (double)NAN, (double)NAN };
    const struct curve_value unknown = value;
    double sum = 0, time = 0;

    for (size_t i = first; i < end; i++) {
        double span = curve->seconds[i] - curve_start(curve, i);

        if (isinf(column->high[i]))
            return unknown;
        if (isnan(column->high[i])) {
            time += column->is_rate ? span : 0;
            continue;
        }
        if (!((double)column->high[i] <= value.high)) /* also true if `high` is NaN */
            value.high = (double)column->high[i];
        if (!((double)column->low[i] >= value.low))
            value.low = (double)column->low[i];
        sum += (double)column->mean[i] * span;
        time += span;
        value.mean = (double)column->mean[i];
    }
    if (!isnan(value.mean) && time > 0)
        value.mean = sum / time;
    if (value.mean < value.low)
        value.low = value.mean;
    return value;
}

size_t curve_step(const struct record_curve *curve, size_t max_points)
{
    return curve->count > max_points ? (curve->count + max_points - 1) / max_points : 1;
}

void curve_highest(const struct record_curve *curve, const struct curve_column *column,
                   double *ret_cells, size_t cells)
{
    double end = curve->count > 0 ? curve->seconds[curve->count - 1] : 0;

    for (size_t i = 0; i < cells; i++)
        ret_cells[i] = (double)NAN;
    for (size_t i = 0; i < curve->count && end > 0 && cells > 0; i++) {
        double first = curve_start(curve, i) / end * (double)cells;
        double last = curve->seconds[i] / end * (double)cells;
        size_t cell = (size_t)first;

        if (!isfinite(column->high[i]))
            continue;
        do {
            double *at = &ret_cells[cell < cells ? cell : cells - 1];

            if (!((double)column->high[i] <= *at)) /* also true if `high` is NaN */
                *at = (double)column->high[i];
        } while (++cell < cells && (double)cell < last);
    }
}

/* ---- distribution ---------------------------------------------------------- */

#define NEAR_LIMIT 0.9

/* A value, and how long it lasted. */
struct span {
    double value, seconds;
};

static int compare_spans(const void *a, const void *b)
{
    const struct span *first = a, *second = b;

    return (first->value > second->value) - (first->value < second->value);
}

/* Returns the smallest value that the usage did not exceed for the share `quantile` of the
 * time. */
static double quantile_of(const struct span *sorted, size_t count, double total,
                          double quantile)
{
    double seconds = 0;

    for (size_t i = 0; i < count; i++) {
        seconds += sorted[i].seconds;
        if (seconds >= quantile * total * (1 - 1e-9)) /* sums are inexact */
            return decimal_round(sorted[i].value, 6); /* the curve stores floats */
    }
    return (double)NAN;
}

static void fill_quantiles(const struct record *record, const char *name,
                           struct record_quantiles *ret)
{
    const struct record_curve *curve = &record->curve;
    const struct curve_column *column = curve_find(curve, name);
    AUTO_FREE struct span *spans = calloc(curve->count + 1, sizeof(*spans));
    double total = 0;
    size_t count = 0;

    for (size_t i = 0; column && spans && i < curve->count; i++) {
        double seconds = curve->seconds[i] - curve_start(curve, i);
        double value = curve_get(curve, column, i, i + 1).mean;

        if (!isfinite(value) || !(seconds > 0))
            continue;
        spans[count++] = (struct span){ value, seconds };
        total += seconds;
    }
    if (count == 0)
        return;
    qsort(spans, count, sizeof(*spans), compare_spans);
    ret->p50 = quantile_of(spans, count, total, 0.50);
    ret->p95 = quantile_of(spans, count, total, 0.95);
    for (size_t i = 0; i < count && is_known(record->memory_limit_bytes); i++) {
        if (spans[i].value >= NEAR_LIMIT * (double)record->memory_limit_bytes)
            ret->near_limit_seconds += spans[i].seconds;
    }
}

void record_fill_distribution(struct record *record)
{
    struct record_quantiles cores = { (double)NAN, (double)NAN, 0 };
    struct record_quantiles memory = cores;

    fill_quantiles(record, "job_cpu_seconds", &cores);
    fill_quantiles(record, "job_rss_bytes", &memory);
    if (isnan(memory.p50) || !is_known(record->memory_limit_bytes))
        memory.near_limit_seconds = (double)NAN;
    record->cores = cores;
    record->memory = memory;
}

/* ---- record ---------------------------------------------------------------- */

void record_init(struct record *record)
{
    *record = (struct record){ .whole_gpus = UNKNOWN };
    for (size_t i = 0; i < RECORD_TABLES; i++)
        field_table_clear(record_tables[i], record);
}

/* Memory is allocated in blocks: a record has many short texts. All blocks are in one list;
 * pieces are taken from the first one. With AddressSanitizer, each piece is a block, so that
 * it detects reads beyond a piece. */
struct allocation {
    struct allocation *next;
    size_t used, size; /* bytes of the memory */
    max_align_t memory[];
};

#ifdef __SANITIZE_ADDRESS__
enum { BLOCK_BYTES = 0, PIECE_MAX = 0 };
#else
enum { BLOCK_BYTES = 8160, PIECE_MAX = 1024 };
#endif

static struct allocation *add_block(struct record *record, size_t bytes, bool is_own)
{
    struct allocation *block;
    size_t size;

    bytes = is_own ? bytes : BLOCK_BYTES;
    if (__builtin_add_overflow(bytes, sizeof(*block), &size))
        return NULL;
    block = calloc(1, size);
    if (!block)
        return NULL;
    block->size = bytes;
    if (record->allocations && is_own) { /* the first block may have room for pieces */
        struct allocation *first = record->allocations;

        block->next = first->next;
        first->next = block;
    } else {
        block->next = record->allocations;
        record->allocations = block;
    }
    return block;
}

void *record_alloc(struct record *record, size_t count, size_t size)
{
    struct allocation *block = record->allocations;
    size_t bytes;
    bool is_valid = !__builtin_mul_overflow(count, size, &bytes) &&
                    !__builtin_add_overflow(bytes, sizeof(max_align_t) - 1, &bytes);
    void *memory;

    bytes = is_valid ? bytes / sizeof(max_align_t) * sizeof(max_align_t) : 0;
    if (is_valid && (!block || bytes > block->size - block->used))
        block = add_block(record, bytes, bytes > PIECE_MAX);
    if (!is_valid || !block) {
        record->error = -ENOMEM;
        return NULL;
    }
    memory = (char *)block->memory + block->used;
    block->used += bytes;
    return memory;
}

void record_done(struct record *record)
{
    struct allocation *allocation = record->allocations;

    while (allocation) {
        struct allocation *next = allocation->next;

        free(allocation);
        allocation = next;
    }
    record_init(record);
}

const char *record_text(struct record *record, const char *text)
{
    size_t size = text ? strlen(text) + 1 : 0;
    char *copy = text ? record_alloc(record, size, 1) : NULL;

    return copy ? memcpy(copy, text, size) : NULL;
}

const char *record_known_text(struct record *record, const char *text)
{
    return text && *text ? record_text(record, text) : NULL;
}

const char **record_texts(struct record *record, const char *const *texts)
{
    size_t count = 0;
    const char **copy;

    while (texts && texts[count])
        count++;
    copy = texts ? record_alloc(record, count + 1, sizeof(*copy)) : NULL;
    for (size_t i = 0; copy && i < count; i++)
        copy[i] = record_text(record, texts[i]);
    return copy;
}

const char *record_share_text(struct record *record, const char *text, const char *like)
{
    return text && like && strcmp(text, like) == 0 ? like : record_text(record, text);
}

struct spoor_figure record_figure(struct record *record, struct spoor_figure figure,
                                  const struct spoor_figure *like)
{
    figure.source = record_share_text(record, figure.source, like ? like->source : NULL);
    figure.reason = record_share_text(record, figure.reason, like ? like->reason : NULL);
    return figure;
}

struct spoor_figure record_unknown_figure(const char *reason)
{
    return (struct spoor_figure){
        .value = (double)NAN, .low = (double)NAN, .high = (double)NAN, .reason = reason
    };
}

struct spoor_figure record_find(const struct spoor_figure *figures, const char *path)
{
    ssize_t index = figure_index(path);

    return figures && index >= 0 ? figures[index] : record_unknown_figure(NULL);
}

double record_value(const struct record *record, const char *path)
{
    return record_find(record->figures, path).value;
}

double record_charged_bytes(const struct record *record)
{
    const char *source = record->memory_limit_source;

    return source && begins_with(source, "cgroup.")
               ? record_value(record, "memory.job_peak_bytes")
               : (double)NAN;
}

double record_refaulted_bytes(const struct record *record)
{
    static const double least = 1e7, share = 0.1; /* share of the bytes read */
    double bytes = record_value(record, "memory.refaulted_bytes");

    return bytes >= least && !(bytes < share * record_value(record, "io.read_bytes"))
               ? bytes
               : (double)NAN;
}

const char *record_gpu_path(enum record_gpu_measure measure)
{
    static const char *const paths[RECORD_GPU_MEASURES] = {
        [RECORD_GPU_MEMORY] = "memory.peak_bytes",
        [RECORD_GPU_JOB_MEMORY] = "memory.job_peak_bytes",
        [RECORD_GPU_UTILIZATION_MEAN] = "utilization.mean",
        [RECORD_GPU_UTILIZATION_MAX] = "utilization.max",
        [RECORD_GPU_JOB_UTILIZATION_MEAN] = "job_utilization.mean",
        [RECORD_GPU_JOB_UTILIZATION_MAX] = "job_utilization.max",
        [RECORD_GPU_ENERGY] = "energy_joules",
        [RECORD_GPU_TEMPERATURE_MAX] = "max_temperature_celsius",
        [RECORD_GPU_POWER_MAX] = "max_power_watts",
        [RECORD_GPU_WORK + GPU_WORK_SM] = "work.sm",
        [RECORD_GPU_WORK + GPU_WORK_OCCUPANCY] = "work.occupancy",
        [RECORD_GPU_WORK + GPU_WORK_TENSOR] = "work.tensor",
        [RECORD_GPU_WORK + GPU_WORK_FP64] = "work.fp64",
        [RECORD_GPU_WORK + GPU_WORK_FP32] = "work.fp32",
        [RECORD_GPU_WORK + GPU_WORK_FP16] = "work.fp16",
        [RECORD_GPU_WORK + GPU_WORK_DRAM] = "work.dram",
        [RECORD_GPU_WORK + GPU_WORK_PCIE_SENT] = "work.pcie_sent_bytes",
        [RECORD_GPU_WORK + GPU_WORK_PCIE_RECEIVED] = "work.pcie_received_bytes",
        [RECORD_GPU_WORK + GPU_WORK_NVLINK_SENT] = "work.nvlink_sent_bytes",
        [RECORD_GPU_WORK + GPU_WORK_NVLINK_RECEIVED] = "work.nvlink_received_bytes",
    };

    return paths[measure];
}

void record_make_id(char id[RUN_ID_SIZE])
{
    unsigned char bytes[16] = { 0 };

    (void)!getrandom(bytes, sizeof(bytes), GRND_NONBLOCK); /* fails at early boot only */
    for (size_t i = 0; i < sizeof(bytes); i++)
        (void)snprintf(id + 2 * i, 3, "%02x", (unsigned)bytes[i]); /* two digits and a NUL */
}

struct spoor_figure record_system_find(const struct record *record, const char *path)
{
    for (size_t i = 0;
         record->system && record->system->figures && i < record_system_figure_count(); i++) {
        if (strcmp(record_system_figure_path(i), path) == 0)
            return record->system->figures[i];
    }
    return record_unknown_figure(NULL);
}

/* ---- field ----------------------------------------------------------------- */

#define AT(member) offsetof(struct record, member)

static const struct field run[] = {
    { "run.id", FIELD_TEXT, AT(id) },
    { "run.name", FIELD_TEXT, AT(name) },
    { "run.tags", FIELD_TAGS, AT(tags) },
    { "run.command", FIELD_TEXTS, AT(command) },
    { "run.pid", FIELD_COUNT, AT(pid) },
    { "run.host", FIELD_TEXT, AT(host) },
    { "run.user", FIELD_TEXT, AT(user) },
    { "run.cwd", FIELD_TEXT, AT(cwd) },
    { "run.started_at", FIELD_DATE, AT(started_at) },
    { "run.ended_at", FIELD_DATE, AT(ended_at) },
    { "run.elapsed_seconds", FIELD_NUMBER, AT(elapsed_seconds) },
    { "run.exit_code", FIELD_COUNT, AT(exit_code) },
    { "run.signal", FIELD_TEXT, AT(signal) },
    { "run.core_dumped", FIELD_IF_TRUE, AT(has_dumped_core) },
    { "run.attached", FIELD_IF_TRUE, AT(is_attached) },
    { "run.still_running", FIELD_IF_TRUE, AT(is_still_running) },
    { "run.interval_seconds", FIELD_NUMBER, AT(interval_seconds) },
    { "run.samples", FIELD_COUNT, AT(samples) },
    { "run.spoor_version", FIELD_TEXT, AT(spoor_version) },
};

static const struct field machine[] = {
    { "host.os", FIELD_TEXT, AT(os) },
    { "host.kernel", FIELD_TEXT, AT(kernel) },
    { "host.cpu_model", FIELD_TEXT, AT(cpu_model) },
    { "host.cpus", FIELD_COUNT, AT(cpus) },
    { "host.memory_bytes", FIELD_COUNT, AT(memory_bytes) },
    { "limits.cpus", FIELD_NUMBER, AT(cpus_limit) },
    { "limits.cpus_source", FIELD_TEXT, AT(cpus_limit_source) },
    { "limits.memory_bytes", FIELD_COUNT, AT(memory_limit_bytes) },
    { "limits.memory_source", FIELD_TEXT, AT(memory_limit_source) },
};

static const struct field distribution[] = {
    { "distribution.cores.p50", FIELD_NUMBER, AT(cores.p50) },
    { "distribution.cores.p95", FIELD_NUMBER, AT(cores.p95) },
    { "distribution.memory_bytes.p50", FIELD_NUMBER, AT(memory.p50) },
    { "distribution.memory_bytes.p95", FIELD_NUMBER, AT(memory.p95) },
    { "distribution.near_memory_limit_seconds", FIELD_NUMBER, AT(memory.near_limit_seconds) },
};

static const struct field tracker[] = {
    { "tracker.cpu_seconds", FIELD_NUMBER, AT(tracker_cpu_seconds) },
    { "tracker.max_rss_bytes", FIELD_COUNT, AT(tracker_max_rss_bytes) },
    { "tracker.late_samples", FIELD_COUNT, AT(late_samples) },
    { "tracker.detail_reads", FIELD_COUNT, AT(detail_reads) },
    { "tracker.budget_percent", FIELD_NUMBER, AT(budget_percent) },
    { "tracker.spent.samples_seconds", FIELD_NUMBER, AT(spent_seconds[SPENT_SAMPLES]) },
    { "tracker.spent.events_seconds", FIELD_NUMBER, AT(spent_seconds[SPENT_EVENTS]) },
    { "tracker.spent.glances_seconds", FIELD_NUMBER, AT(spent_seconds[SPENT_GLANCES]) },
    { "tracker.spent.sharing_seconds", FIELD_NUMBER, AT(spent_seconds[SPENT_SHARING]) },
    { "tracker.spent.gpus_seconds", FIELD_NUMBER, AT(spent_seconds[SPENT_GPUS]) },
    { "tracker.spent.network_seconds", FIELD_NUMBER, AT(spent_seconds[SPENT_NETWORK]) },
    { "tracker.postponed.glances", FIELD_COUNT, AT(postponed[SPENT_GLANCES]) },
    { "tracker.postponed.sharing", FIELD_COUNT, AT(postponed[SPENT_SHARING]) },
    { "tracker.postponed.gpus", FIELD_COUNT, AT(postponed[SPENT_GPUS]) },
};

/* Fields with the same name in the JSON report and in the struct. */
#define ROW(kind, type, member)                      \
    {                                                \
#member, kind, offsetof(struct type, member) \
    }
#define TEXT(type, member) ROW(FIELD_TEXT, type, member)
#define COUNT(type, member) ROW(FIELD_COUNT, type, member)
#define NUMBER(type, member) ROW(FIELD_NUMBER, type, member)

static const struct field warning[] = {
    TEXT(record_warning, code),
    TEXT(record_warning, message),
};

static const struct field phase[] = {
    TEXT(record_phase, name),
    ROW(FIELD_DATE, record_phase, started_at),
    NUMBER(record_phase, elapsed_seconds),
};

static const struct field gpu[] = {
    COUNT(record_gpu, index),        COUNT(record_gpu, part),
    TEXT(record_gpu, uuid),          TEXT(record_gpu, name),
    TEXT(record_gpu, vendor),        TEXT(record_gpu, pci_address),
    COUNT(record_gpu, memory_bytes), ROW(FIELD_FLAG, record_gpu, is_part),
};

static const struct field process[] = {
    COUNT(record_process, pid),
    COUNT(record_process, parent_pid),
    TEXT(record_process, name),
    TEXT(record_process, command),
    NUMBER(record_process, started_seconds),
    NUMBER(record_process, ended_seconds),
    NUMBER(record_process, cpu_seconds),
    NUMBER(record_process, cpu_wait_seconds),
    COUNT(record_process, peak_rss_bytes),
    COUNT(record_process, read_bytes),
    COUNT(record_process, written_bytes),
    COUNT(record_process, gpu_memory_bytes),
    COUNT(record_process, exit_code),
    TEXT(record_process, signal),
};

static const struct field process_sum[] = {
    TEXT(record_process_sum, name),
    COUNT(record_process_sum, count),
    NUMBER(record_process_sum, cpu_seconds),
    COUNT(record_process_sum, peak_rss_bytes),
};

static const struct field remote[] = {
    TEXT(record_remote, address),
    COUNT(record_remote, connections),
    COUNT(record_remote, received_bytes),
    COUNT(record_remote, sent_bytes),
};

static const struct field server[] = {
    TEXT(record_server, architecture), TEXT(record_server, vendor),
    TEXT(record_server, model),        TEXT(record_server, hypervisor),
    TEXT(record_server, container),    COUNT(record_server, sockets),
    COUNT(record_server, cores),       COUNT(record_server, threads),
    COUNT(record_server, numa_nodes),
};

static const struct field cache[] = {
    COUNT(record_cache, level),
    TEXT(record_cache, type),
    COUNT(record_cache, count),
    COUNT(record_cache, total_bytes),
};

static const struct field server_disk[] = {
    TEXT(record_disk, name),
    TEXT(record_disk, type),
    TEXT(record_disk, model),
    COUNT(record_disk, capacity_bytes),
};

static const struct field cloud[] = {
    TEXT(record_cloud, vendor),        TEXT(record_cloud, region),  TEXT(record_cloud, zone),
    TEXT(record_cloud, instance_type), TEXT(record_cloud, account),
};

static const struct field disk[] = {
    TEXT(record_disk, name),
    TEXT(record_disk, type),
    TEXT(record_disk, model),
    TEXT(record_disk, vendor),
    TEXT(record_disk, serial),
    COUNT(record_disk, capacity_bytes),
    NUMBER(record_disk, read_bytes_per_second),
    NUMBER(record_disk, written_bytes_per_second),
};

static const struct field interface[] = {
    TEXT(record_interface, name),
    TEXT(record_interface, mac_address),
    TEXT(record_interface, driver),
    TEXT(record_interface, state),
    COUNT(record_interface, speed_mbps),
    COUNT(record_interface, mtu),
    ROW(FIELD_FLAG, record_interface, is_hardware),
    NUMBER(record_interface, received_bytes_per_second),
    NUMBER(record_interface, sent_bytes_per_second),
};

static const struct field mount[] = {
    TEXT(record_mount, point),        TEXT(record_mount, type),
    TEXT(record_mount, source),       TEXT(record_mount, disk),
    COUNT(record_mount, total_bytes), COUNT(record_mount, used_bytes),
    COUNT(record_mount, free_bytes),
};

/* The ranks of a job. */
static const struct field group[] = {
    { "group.ranks", FIELD_COUNT, offsetof(struct record_group, ranks) },
    { "group.reported", FIELD_COUNT, offsetof(struct record_group, reported) },
    { "group.nodes_expected", FIELD_COUNT, offsetof(struct record_group, nodes_expected) },
    { "group.deciding_node", FIELD_TEXT, offsetof(struct record_group, deciding_node) },
    { "group.imbalance.cpu", FIELD_NUMBER, offsetof(struct record_group, cpu_imbalance) },
    { "group.imbalance.memory", FIELD_NUMBER, offsetof(struct record_group, memory_imbalance) },
    { "group.imbalance.elapsed", FIELD_NUMBER,
      offsetof(struct record_group, elapsed_imbalance) },
    { "group.imbalance.wait", FIELD_NUMBER, offsetof(struct record_group, wait_imbalance) },
};

static const struct field missing[] = {
    COUNT(record_missing, rank),
    TEXT(record_missing, host),
    ROW(FIELD_DATE, record_missing, started_at),
    TEXT(record_missing, reason),
};

static const struct field node[] = {
    TEXT(record_node, host),
    COUNT(record_node, node),
    COUNT(record_node, ranks),
    COUNT(record_node, reported),
    NUMBER(record_node, cpu_seconds),
    NUMBER(record_node, elapsed_seconds),
    COUNT(record_node, cpus),
    COUNT(record_node, memory_limit_bytes),
    ROW(FIELD_TEXTS, record_node, gpus),
};

static const struct field rank[] = {
    COUNT(record_rank, rank),
    COUNT(record_rank, local_rank),
    TEXT(record_rank, host),
    TEXT(record_rank, id),
    NUMBER(record_rank, started_seconds),
    NUMBER(record_rank, elapsed_seconds),
    NUMBER(record_rank, cpu_seconds),
    NUMBER(record_rank, mean_cores),
    COUNT(record_rank, peak_rss_bytes),
    COUNT(record_rank, gpu_memory_bytes),
    COUNT(record_rank, read_bytes),
    COUNT(record_rank, written_bytes),
    NUMBER(record_rank, wait_seconds),
    COUNT(record_rank, exit_code),
    TEXT(record_rank, signal),
    COUNT(record_rank, restart),
};

#define TABLE(rows)              \
    {                            \
        (rows), ARRAY_SIZE(rows) \
    }

const struct field_table record_run_fields = TABLE(run);
const struct field_table record_machine_fields = TABLE(machine);
const struct field_table record_distribution_fields = TABLE(distribution);
const struct field_table record_tracker_fields = TABLE(tracker);
const struct field_table *const record_tables[RECORD_TABLES] = {
    &record_run_fields,
    &record_machine_fields,
    &record_distribution_fields,
    &record_tracker_fields,
};
const struct field_table record_phase_fields = TABLE(phase);
const struct field_table record_server_fields = TABLE(server);
const struct field_table record_cloud_fields = TABLE(cloud);
const struct field_table record_group_fields = TABLE(group);

#define LIST(path, rows, type, base, items, count)                            \
    {                                                                         \
        path, TABLE(rows), sizeof(struct type), offsetof(struct base, items), \
            offsetof(struct base, count)                                      \
    }

const struct list_field record_gpu_list =
    LIST("host.gpus", gpu, record_gpu, record, gpus, gpu_count);
const struct list_field record_process_list =
    LIST("processes.largest", process, record_process, record, processes, process_count);
const struct list_field record_process_sum_list =
    LIST("processes.others", process_sum, record_process_sum, record, other_processes,
         other_process_count);
const struct list_field record_remote_list =
    LIST("network.remotes", remote, record_remote, record, remotes, remote_count);
const struct list_field record_warning_list =
    LIST("warnings", warning, record_warning, record, warnings, warning_count);
const struct list_field record_cache_list =
    LIST("caches", cache, record_cache, record_server, caches, cache_count);
const struct list_field record_server_disk_list =
    LIST("disks", server_disk, record_disk, record_server, disks, disk_count);

const struct list_field record_system_lists[RECORD_SYSTEM_LISTS] = {
    LIST("system.disks", disk, record_disk, record_system, disks.items, disks.count),
    LIST("system.interfaces", interface, record_interface, record_system, interfaces.items,
         interfaces.count),
    LIST("system.mounts", mount, record_mount, record_system, mounts.items, mounts.count),
};

const struct list_field record_missing_list =
    LIST("group.missing", missing, record_missing, record_group, missing, missing_count);
const struct list_field record_node_list =
    LIST("nodes", node, record_node, record_group, nodes, node_count);
const struct list_field record_rank_list =
    LIST("rank_table", rank, record_rank, record_group, ranks_seen, seen_count);

const enum metric group_metrics[GROUP_COLUMNS] = {
    [GROUP_CPU] = METRIC_JOB_CPU, [GROUP_RSS] = METRIC_JOB_RSS, METRIC_JOB_READ,
    METRIC_JOB_WRITTEN,           METRIC_JOB_GPU_MEMORY,        METRIC_JOB_GPU_UTILIZATION,
};

void field_table_clear(const struct field_table *table, void *base)
{
    static const uint64_t unknown_count = UNKNOWN;
    static const double unknown_number = (double)NAN;

    for (size_t i = 0; i < table->count; i++) {
        void *at = (char *)base + table->rows[i].offset;

        switch (table->rows[i].kind) {
        case FIELD_COUNT:
            memcpy(at, &unknown_count, sizeof(unknown_count));
            break;
        case FIELD_NUMBER:
        case FIELD_DATE:
            memcpy(at, &unknown_number, sizeof(unknown_number));
            break;
        case FIELD_TEXT:
        case FIELD_TEXTS:
        case FIELD_TAGS:
        case FIELD_FLAG:
        case FIELD_IF_TRUE:
            break; /* zero, as set by the caller, means unknown */
        }
    }
}

bool field_add_json(struct json_writer *json, const char *key, const struct field *field,
                    const void *base)
{
    const void *at = field_at(field, base);

    switch (field->kind) {
    case FIELD_TEXT:
        json_add_text(json, key, *(const char *const *)at);
        break;
    case FIELD_COUNT:
        json_add_u64(json, key, *(const uint64_t *)at);
        break;
    case FIELD_NUMBER:
        json_add_number(json, key, *(const double *)at);
        break;
    case FIELD_DATE:
        json_add_known_text(json, key, clock_format(*(const double *)at).text);
        break;
    case FIELD_FLAG:
    case FIELD_IF_TRUE:
        if (field->kind == FIELD_FLAG || *(const bool *)at)
            json_add_bool(json, key, *(const bool *)at);
        break;
    case FIELD_TEXTS:
    case FIELD_TAGS:
        return false;
    }
    return true;
}
