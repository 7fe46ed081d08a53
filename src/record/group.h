/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group.h - the ranks of one job in one record: sections "group", "nodes", "rank_table" and "rank_curves" of the JSON
 * report. The other sections of such a record describe all ranks together (group/merge.h).
 *
 * Unknown is NULL, NaN or UNKNOWN. The record owns all memory.
 */
#pragma once

#include "record/record.h"

/* Maximum number of cells in the curve of a rank, and of missing ranks in the list. */
enum { GROUP_CELLS_MAX = 120, GROUP_MISSING_MAX = 1000 };

/* The columns of the curve of a rank in the file of its node, and of the curve of a group. */
enum { GROUP_CPU, GROUP_RSS, GROUP_COLUMNS = 6, GROUP_RANK_POINTS = 48 };
extern const enum metric group_metrics[GROUP_COLUMNS];

struct record_missing {
    uint64_t rank;
    const char *host;
    double started_at;
    const char *reason;
};

struct record_node {
    const char *host;
    /* Index of the node; ranks that started on it; how many of these reported their end. */
    uint64_t node, ranks, reported;
    double cpu_seconds, elapsed_seconds;
    struct spoor_figure memory; /* memory of all its ranks together */
    uint64_t cpus, memory_limit_bytes;
    const char **gpus; /* UUIDs, NULL-terminated */
};

struct record_rank {
    uint64_t rank, local_rank;
    const char *host, *id;
    double started_seconds; /* time since the first rank started */
    double elapsed_seconds, cpu_seconds, mean_cores;
    uint64_t peak_rss_bytes, gpu_memory_bytes, read_bytes, written_bytes;
    double wait_seconds; /* time stalled for CPU, memory or I/O */
    uint64_t exit_code;
    const char *signal;
    uint64_t restart;
};

struct record_group {
    uint64_t ranks, reported, nodes_expected;
    const char *deciding_node; /* the node with the most memory */
    double cpu_imbalance, memory_imbalance, elapsed_imbalance, wait_imbalance; /* max / mean */
    struct record_missing *missing;
    size_t missing_count;
    struct record_node *nodes;
    size_t node_count;
    struct record_rank *ranks_seen; /* ranks that reported their end, sorted by rank */
    size_t seen_count;
    double *cell_seconds; /* the end of each cell since the start of the group */
    size_t cell_count;
    float *cores, *memory_bytes; /* one row of cells per rank seen; NaN: not running */
};

extern const struct field_table record_group_fields; /* of struct record_group */
extern const struct list_field record_missing_list;
extern const struct list_field record_node_list; /* all fields of a node except `memory` */
extern const struct list_field record_rank_list;
