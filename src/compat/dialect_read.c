/* SPDX-License-Identifier: Apache-2.0 */
/* dialect_read.c - finds the columns of the predecessors (docs/DIALECTS.md) in a table of
 * samples. */
#include <stdio.h>

#include "base/compiler.h"
#include "output/dialect.h"
#include "record/samples_load.h"
#include "text/find.h"

#define RATE(metric_) \
    .use = COLUMN_METRIC, .metrics = { metric_, -1 }, .kind = REPLAY_RATE, .unit = 1
#define GPU(unit_) .use = COLUMN_GPU, .gpu.part = -1, .unit = (unit_)

/* Members that dialect_rust.c writes without a column table: for the row, or for each
 * device. */
static const struct {
    const char *name;
    struct sample_column column;
    const char *gpu_measure;
} devices[] = {
    { "actual_interval_ms", { .use = COLUMN_INTERVAL_MS }, NULL },
    { "disk.read_bytes_per_sec", { RATE(METRIC_HOST_DISK_READ) }, NULL },
    { "disk.write_bytes_per_sec", { RATE(METRIC_HOST_DISK_WRITTEN) }, NULL },
    { "network.rx_bytes_per_sec", { RATE(METRIC_HOST_NETWORK_RECEIVED) }, NULL },
    { "network.tx_bytes_per_sec", { RATE(METRIC_HOST_NETWORK_SENT) }, NULL },
    { "gpu.utilization_pct", { GPU(0.01) }, "utilization" },
    { "gpu.vram_used_bytes", { GPU(1) }, "memory_bytes" },
    { "gpu.power_watts", { GPU(1) }, "power_watts" },
    { "gpu.temperature_celsius", { GPU(1) }, "temperature_celsius" },
};

/* A CPU time adds to its total and to its part (user or system). A count of children
 * excludes the main process: the offset adds it. */
static struct sample_column read_column(const struct column *column)
{
    const enum metric *metrics = column->read_as;
    bool is_growth = column->kind == COLUMN_GROWTH || column->kind == COLUMN_PART ||
                     column->kind == COLUMN_REST;

    return (struct sample_column){
        .use = COLUMN_METRIC,
        .metrics = { (int)metrics[0], metrics[1] ? (int)metrics[1] : -1 },
        .kind = is_growth ? REPLAY_GROWTH : REPLAY_VALUE,
        .unit = metric_value(metrics[0], column->per),
        .offset = column->kind == COLUMN_CHILDREN,
    };
}

static struct sample_column_name name_of(const char *before, const char *prefix,
                                         const char *name)
{
    struct sample_column_name ret;

    (void)snprintf(ret.text, sizeof(ret.text), "%s%s%s", before, prefix, name); /* fits */
    return ret;
}

/* Returns the index of `name` in `names`; `count` if it is not there. */
static size_t find(const char *const *names, size_t count, const char *name)
{
    const char *const *found = find_row(names, count, sizeof(*names), 0, name);

    return found ? (size_t)(found - names) : count;
}

/* Counts the columns of a table that occur in `names`, with the prefix `before`. Describes
 * those that can be read in `columns`, unless it is NULL. */
static size_t match(const struct dialect_table *table, const char *before,
                    const char *const *names, size_t count, struct sample_column *columns)
{
    const struct column *column;
    const char *prefix;
    size_t found = 0;

    for (size_t k = 0; (column = dialect_column(table, k, &prefix)) != NULL; k++) {
        size_t i = find(names, count, name_of(before, prefix, column->name).text);

        found += i < count;
        if (i < count && columns && column->read_as[0])
            columns[i] = read_column(column);
    }
    return found;
}

/* Chooses the generation with the most matching names; if several match equally well, the
 * newest. The second column identifies the table. */
static bool find_flat(size_t table, const char *before, const char *const *names, size_t count,
                      struct sample_column *columns)
{
    static const struct dialect *const generations[] = { &dialect_resource_tracker,
                                                         &dialect_resource_tracker_0_3,
                                                         &dialect_resource_tracker_0_1 };
    const struct dialect_table *best = &generations[0]->tables[table];
    const char *prefix, *mark = dialect_column(best, 1, &prefix)->name;
    size_t most = 0;

    if (find(names, count, name_of(before, prefix, mark).text) == count)
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(generations); i++) {
        size_t found = match(&generations[i]->tables[table], before, names, count, NULL);

        best = found > most ? &generations[i]->tables[table] : best;
        most = found > most ? found : most;
    }
    (void)match(best, before, names, count, columns);
    return true;
}

bool sample_columns_find_foreign(const char *const *names, size_t count,
                                 struct sample_column *columns)
{
    static const char *const prefixes[][2] = { { "", "process_" }, { "", "system_" } };
    bool is_found = find(names, count, NESTED_TIME) < count;

    if (is_found)
        (void)match(&dialect_rust_objects, "", names, count, columns);
    for (size_t k = 0; is_found && k < ARRAY_SIZE(devices); k++) {
        size_t i = find(names, count, devices[k].name);

        if (i == count)
            continue;
        columns[i] = devices[k].column;
        if (devices[k].gpu_measure)
            columns[i].gpu_measure = (size_t)sample_column_gpu_measure(devices[k].gpu_measure);
    }
    for (size_t i = 0; i < 4; i++)
        is_found |= find_flat(i / 2, prefixes[i / 2][i % 2], names, count, columns);
    return is_found;
}

struct sample_column_name sample_columns_nested(size_t index)
{
    const struct column *column;
    const char *prefix;

    if (index < ARRAY_SIZE(devices))
        return name_of("", "", devices[index].name);
    column = dialect_column(&dialect_rust_objects, index - ARRAY_SIZE(devices), &prefix);
    return column ? name_of("", prefix, column->name) : name_of("", "", "");
}
