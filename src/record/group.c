/* SPDX-License-Identifier: Apache-2.0 */
#include "record/group.h"

#include "base/compiler.h"

const enum metric group_metrics[GROUP_COLUMNS] = {
    [GROUP_CPU] = METRIC_JOB_CPU, [GROUP_RSS] = METRIC_JOB_RSS, METRIC_JOB_READ,
    METRIC_JOB_WRITTEN,           METRIC_JOB_GPU_MEMORY,        METRIC_JOB_GPU_UTILIZATION,
};

#define AT(path, kind, type, member)              \
    {                                             \
        path, kind, offsetof(struct type, member) \
    }
#define TEXT(type, member) AT(#member, FIELD_TEXT, type, member)
#define COUNT(type, member) AT(#member, FIELD_COUNT, type, member)
#define NUMBER(type, member) AT(#member, FIELD_NUMBER, type, member)

static const struct field group[] = {
    AT("group.ranks", FIELD_COUNT, record_group, ranks),
    AT("group.reported", FIELD_COUNT, record_group, reported),
    AT("group.nodes_expected", FIELD_COUNT, record_group, nodes_expected),
    AT("group.deciding_node", FIELD_TEXT, record_group, deciding_node),
    AT("group.imbalance.cpu", FIELD_NUMBER, record_group, cpu_imbalance),
    AT("group.imbalance.memory", FIELD_NUMBER, record_group, memory_imbalance),
    AT("group.imbalance.elapsed", FIELD_NUMBER, record_group, elapsed_imbalance),
    AT("group.imbalance.wait", FIELD_NUMBER, record_group, wait_imbalance),
};

static const struct field missing[] = {
    COUNT(record_missing, rank),
    TEXT(record_missing, host),
    AT("started_at", FIELD_DATE, record_missing, started_at),
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
    AT("gpus", FIELD_TEXTS, record_node, gpus),
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

const struct field_table record_group_fields = { group, ARRAY_SIZE(group) };

#define LIST(path, rows, type, items, count)                                           \
    {                                                                                  \
        path, { (rows), ARRAY_SIZE(rows) }, sizeof(struct type),                       \
            offsetof(struct record_group, items), offsetof(struct record_group, count) \
    }

const struct list_field record_missing_list =
    LIST("group.missing", missing, record_missing, missing, missing_count);
const struct list_field record_node_list = LIST("nodes", node, record_node, nodes, node_count);
const struct list_field record_rank_list =
    LIST("rank_table", rank, record_rank, ranks_seen, seen_count);
