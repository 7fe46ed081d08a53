/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sample_columns.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/parse.h"

#define MIB 1048576.0
#define KIB 1024.0

#define RUN_ID "run_id"
#define NESTED_TIME "timestamp_secs"
#define NESTED_INTERVAL "actual_interval_ms"

/* A column of resource-tracker. Units of 0: that of CPU time, which depends on the version. */
struct rule {
    const char *name;
    const char *metrics[2];
    enum replay_kind kind;
    double unit, offset;
};

/* clang-format off */
static const struct rule process_rules[] = {
    { "utime",            { "job_cpu_seconds", "job_user_seconds" },   REPLAY_GROWTH, 0, 0 },
    { "stime",            { "job_cpu_seconds", "job_system_seconds" }, REPLAY_GROWTH, 0, 0 },
    { "children",         { "job_processes" },                         REPLAY_VALUE, 1, 1 },
    { "memory_mib",       { "job_rss_bytes", "job_pss_bytes" },        REPLAY_VALUE, MIB, 0 },
    { "memory",           { "job_rss_bytes", "job_pss_bytes" },        REPLAY_VALUE, KIB, 0 },
    { "pss",              { "job_rss_bytes", "job_pss_bytes" },        REPLAY_VALUE, KIB, 0 },
    { "disk_read_bytes",  { "job_read_bytes" },                        REPLAY_GROWTH, 1, 0 },
    { "disk_write_bytes", { "job_written_bytes" },                     REPLAY_GROWTH, 1, 0 },
    { "read_bytes",       { "job_read_bytes" },                        REPLAY_GROWTH, 1, 0 },
    { "write_bytes",      { "job_written_bytes" },                     REPLAY_GROWTH, 1, 0 },
    { "gpu_usage",        { "job_gpu_utilization_gpus" },              REPLAY_VALUE, 1, 0 },
    { "gpu_vram_mib",     { "job_gpu_memory_bytes" },                  REPLAY_VALUE, MIB, 0 },
    { "gpu_vram",         { "job_gpu_memory_bytes" },                  REPLAY_VALUE, MIB, 0 },
};
static const struct rule system_rules[] = {
    { "utime",             { "host_cpu_seconds", "host_cpu_user_seconds" },   REPLAY_GROWTH, 0, 0 },
    { "stime",             { "host_cpu_seconds", "host_cpu_system_seconds" }, REPLAY_GROWTH, 0, 0 },
    { "memory_used_mib",   { "host_memory_used_bytes" },                      REPLAY_VALUE, MIB, 0 },
    { "memory_used",       { "host_memory_used_bytes" },                      REPLAY_VALUE, KIB, 0 },
    { "memory_cached_mib", { "host_memory_cached_bytes" },                    REPLAY_VALUE, MIB, 0 },
    { "memory_cached",     { "host_memory_cached_bytes" },                    REPLAY_VALUE, KIB, 0 },
    { "disk_read_bytes",   { "host_disk_read_bytes" },                        REPLAY_GROWTH, 1, 0 },
    { "disk_write_bytes",  { "host_disk_written_bytes" },                     REPLAY_GROWTH, 1, 0 },
    { "net_recv_bytes",    { "host_network_received_bytes" },                 REPLAY_GROWTH, 1, 0 },
    { "net_sent_bytes",    { "host_network_sent_bytes" },                     REPLAY_GROWTH, 1, 0 },
    { "gpu_usage",         { "host_gpu_utilization_gpus" },                   REPLAY_VALUE, 1, 0 },
    { "gpu_vram_mib",      { "host_gpu_memory_bytes" },                       REPLAY_VALUE, MIB, 0 },
    { "gpu_vram",          { "host_gpu_memory_bytes" },                       REPLAY_VALUE, MIB, 0 },
};

/* The objects of resource-tracker-rs. Rows have the time in whole seconds, and exact intervals. */
static const struct rule nested_rules[] = {
    { "cpu.process_utime_secs",       { "job_cpu_seconds", "job_user_seconds" },          REPLAY_GROWTH, 1, 0 },
    { "cpu.process_stime_secs",       { "job_cpu_seconds", "job_system_seconds" },        REPLAY_GROWTH, 1, 0 },
    { "cpu.process_child_count",      { "job_processes" },                                REPLAY_VALUE, 1, 1 },
    { "cpu.process_rss_mib",          { "job_rss_bytes" },                                REPLAY_VALUE, MIB, 0 },
    { "cpu.process_pss_mib",          { "job_pss_bytes" },                                REPLAY_VALUE, MIB, 0 },
    { "cpu.process_disk_read_bytes",  { "job_read_bytes" },                               REPLAY_GROWTH, 1, 0 },
    { "cpu.process_disk_write_bytes", { "job_written_bytes" },                            REPLAY_GROWTH, 1, 0 },
    { "cpu.process_gpu_usage",        { "job_gpu_utilization_gpus" },                     REPLAY_VALUE, 1, 0 },
    { "cpu.process_gpu_vram_mib",     { "job_gpu_memory_bytes" },                         REPLAY_VALUE, MIB, 0 },
    { "cpu.utime_secs",               { "host_cpu_seconds", "host_cpu_user_seconds" },    REPLAY_GROWTH, 1, 0 },
    { "cpu.stime_secs",               { "host_cpu_seconds", "host_cpu_system_seconds" },  REPLAY_GROWTH, 1, 0 },
    { "memory.used_mib",              { "host_memory_used_bytes" },                       REPLAY_VALUE, MIB, 0 },
    { "memory.cached_mib",            { "host_memory_cached_bytes" },                     REPLAY_VALUE, MIB, 0 },
    { "memory.swap_used_mib",         { "host_swap_used_bytes" },                         REPLAY_VALUE, MIB, 0 },
    { "disk.read_bytes_per_sec",      { "host_disk_read_bytes" },                         REPLAY_RATE, 1, 0 },
    { "disk.write_bytes_per_sec",     { "host_disk_written_bytes" },                      REPLAY_RATE, 1, 0 },
    { "network.rx_bytes_per_sec",     { "host_network_received_bytes" },                  REPLAY_RATE, 1, 0 },
    { "network.tx_bytes_per_sec",     { "host_network_sent_bytes" },                      REPLAY_RATE, 1, 0 },
};
static const struct {
    const char *name;
    const char *measure;
    double unit;
} nested_gpu_rules[] = {
    { "gpu.utilization_pct",     "utilization",         0.01 },
    { "gpu.vram_used_bytes",     "memory_bytes",        1 },
    { "gpu.power_watts",         "power_watts",         1 },
    { "gpu.temperature_celsius", "temperature_celsius", 1 },
};

/* Each table has a column that no other has; a combined one has prefixes. */
static const struct table {
    const char *mark;
    const char *prefix;
    const struct rule *rules;
    size_t count;
} tables[] = {
    { "pid",              "",         process_rules, ARRAY_SIZE(process_rules) },
    { "process_pid",      "process_", process_rules, ARRAY_SIZE(process_rules) },
    { "processes",        "",         system_rules,  ARRAY_SIZE(system_rules) },
    { "system_processes", "system_",  system_rules,  ARRAY_SIZE(system_rules) },
    { NESTED_TIME,        "",         nested_rules,  ARRAY_SIZE(nested_rules) },
};
/* clang-format on */

static bool has(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0)
            return true;
    }
    return false;
}

/* ---- tables of resource-tracker --------------------------------------------- */

/* Versions that write MiB write seconds; before, CPU time was in ticks. */
static double cpu_unit(const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strstr(names[i], "memory") && strstr(names[i], "_mib"))
            return 1;
    }
    return 0.01;
}

static void apply_table(const struct table *table, const char *name, double cpu,
                        struct sample_column *ret)
{
    size_t prefix = strlen(table->prefix);

    if (strncmp(name, table->prefix, prefix) != 0)
        return;
    for (size_t i = 0; i < table->count; i++) {
        const struct rule *rule = &table->rules[i];

        if (strcmp(name + prefix, rule->name) != 0)
            continue;
        *ret = (struct sample_column){
            .use = COLUMN_METRIC,
            .metrics = { replay_metric(rule->metrics[0]),
                         rule->metrics[1] ? replay_metric(rule->metrics[1]) : -1 },
            .kind = rule->kind,
            .unit = rule->unit > 0 ? rule->unit : cpu,
            .offset = rule->offset,
        };
    }
}

static bool find_foreign(const char *const *names, size_t count, struct sample_column *items)
{
    double cpu = cpu_unit(names, count);
    bool is_found = false;

    for (size_t k = 0; k < ARRAY_SIZE(tables); k++) {
        if (!has(names, count, tables[k].mark))
            continue;
        is_found = true;
        for (size_t i = 0; i < count; i++)
            apply_table(&tables[k], names[i], cpu, &items[i]);
    }
    return is_found;
}

/* ---- our columns -------------------------------------------------------------- */

int sample_column_gpu_measure(const char *name)
{
    for (int i = 0; i < SERIES_GPU_MEASURES; i++) {
        if (strcmp(gpu_measure_row(series_gpu_measure((size_t)i))->name, name) == 0)
            return i;
    }
    return -1;
}

/* "gpu0_1_utilization" */
static bool find_gpu(const char *name, struct sample_column *ret)
{
    uint64_t index, part = 0;
    bool is_part;
    int measure;

    if (strncmp(name, "gpu", 3) != 0)
        return false;
    name += 3;
    if (parse_u64(&name, &index) < 0 || *name++ != '_')
        return false;
    is_part = *name >= '0' && *name <= '9';
    if (is_part && (parse_u64(&name, &part) < 0 || *name++ != '_'))
        return false;
    measure = sample_column_gpu_measure(name);
    if (measure < 0 || index > INT_MAX || part > INT_MAX)
        return false;
    *ret = (struct sample_column){
        .use = COLUMN_GPU,
        .gpu = { (unsigned)index, is_part ? (int)part : -1 },
        .gpu_measure = (size_t)measure,
        .unit = 1,
    };
    return true;
}

static void find_own(const char *name, struct sample_column *ret)
{
    int metric = replay_metric(name);

    if (strcmp(name, "elapsed_seconds") == 0)
        ret->use = COLUMN_ELAPSED;
    else if (strcmp(name, RUN_ID) == 0)
        ret->use = COLUMN_RUN_ID;
    else if (metric >= 0)
        *ret = (struct sample_column){
            .use = COLUMN_METRIC, .metrics = { metric, -1 }, .kind = REPLAY_VALUE, .unit = 1
        };
    else
        (void)find_gpu(name, ret); /* a column that is not charted */
}

/* Columns that are not metrics of a table. */
static void find_common(const char *name, struct sample_column *ret)
{
    if (strcmp(name, "timestamp") == 0 || strcmp(name, NESTED_TIME) == 0)
        ret->use = COLUMN_UNIX;
    else if (strcmp(name, NESTED_INTERVAL) == 0)
        ret->use = COLUMN_INTERVAL_MS;
    for (size_t i = 0; i < ARRAY_SIZE(nested_gpu_rules); i++) {
        if (strcmp(name, nested_gpu_rules[i].name) == 0)
            *ret = (struct sample_column){
                .use = COLUMN_GPU,
                .gpu.part = -1,
                .gpu_measure = (size_t)sample_column_gpu_measure(nested_gpu_rules[i].measure),
                .unit = nested_gpu_rules[i].unit,
            };
    }
}

int sample_columns_find(const char *const *names, size_t count, struct sample_columns *ret)
{
    struct sample_columns columns = { calloc(count + 1, sizeof(*columns.items)), count };
    bool is_own = has(names, count, "elapsed_seconds") && has(names, count, "job_rss_bytes");
    bool is_timed = has(names, count, "timestamp") || has(names, count, NESTED_TIME);

    if (!columns.items)
        return -ENOMEM;
    if (!is_timed || (!is_own && !find_foreign(names, count, columns.items))) {
        sample_columns_done(&columns);
        return -EBADMSG;
    }
    for (size_t i = 0; i < count; i++) {
        if (is_own)
            find_own(names[i], &columns.items[i]);
        find_common(names[i], &columns.items[i]);
    }
    *ret = columns;
    return 0;
}

const char *sample_columns_optional(const char *const *names, size_t count, size_t index)
{
    if (!has(names, count, NESTED_TIME)) /* rows of an earlier version have no ID */
        return index == 0 ? RUN_ID : NULL;
    if (index < ARRAY_SIZE(nested_rules))
        return nested_rules[index].name;
    index -= ARRAY_SIZE(nested_rules);
    if (index < ARRAY_SIZE(nested_gpu_rules))
        return nested_gpu_rules[index].name;
    return index == ARRAY_SIZE(nested_gpu_rules) ? NESTED_INTERVAL : NULL;
}

void sample_columns_done(struct sample_columns *columns)
{
    free(columns->items);
    *columns = (struct sample_columns){ 0 };
}

/* ---- rows ----------------------------------------------------------------------- */

void sample_columns_begin(const struct sample_columns *columns, struct replay *replay)
{
    for (size_t i = 0; i < columns->count; i++) {
        const struct sample_column *column = &columns->items[i];

        for (size_t k = 0; k < 2 && column->use == COLUMN_METRIC; k++) {
            if (column->metrics[k] >= 0)
                replay_set_kind(replay, column->metrics[k], column->kind);
        }
    }
}

/* Several columns may be parts of one metric. */
static void add_part(double *value, double part)
{
    *value = isnan(*value) ? part : *value + part;
}

static void add_gpu(const struct sample_column *column, double value, struct series_gpus *gpus)
{
    size_t i = 0;

    while (i < gpus->count && (gpus->places[i].index != column->gpu.index ||
                               gpus->places[i].part != column->gpu.part))
        i++;
    if (i == SERIES_GPUS_MAX)
        return;
    if (i == gpus->count) {
        gpus->places[gpus->count++] = column->gpu;
        for (size_t k = 0; k < SERIES_GPU_MEASURES; k++)
            gpus->values[i][k] = (float)NAN;
    }
    gpus->values[i][column->gpu_measure] = (float)value;
}

void sample_column_add(const struct sample_column *column, double value, struct replay_row *row)
{
    switch (column->use) {
    case COLUMN_UNIX:
        row->unix_seconds = value;
        break;
    case COLUMN_ELAPSED:
        row->elapsed_seconds = value;
        break;
    case COLUMN_METRIC:
        value = value * column->unit + column->offset;
        add_part(&row->value[column->metrics[0]], value);
        if (column->metrics[1] >= 0)
            add_part(&row->value[column->metrics[1]], value);
        break;
    case COLUMN_GPU:
        add_gpu(column, value * column->unit, &row->gpus);
        break;
    case COLUMN_INTERVAL_MS:
        row->interval_seconds = value / 1e3;
        break;
    case COLUMN_RUN_ID: /* a text */
    case COLUMN_OTHER:
        break;
    }
}
