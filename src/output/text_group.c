/* SPDX-License-Identifier: Apache-2.0 */
#include "output/text_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "base/cleanup.h"
#include "record/group.h"
#include "text/number.h"

enum { MISSING_SHOWN = 4, NODES_SHOWN = 8, IDLE_SHOWN = 6 };

/* A rank below this share of the mean CPU time is idle. */
#define IDLE_SHARE 0.05

static void add_host(const struct page *page, const char *host, struct buffer *out)
{
    if (!host)
        return;
    buffer_add_text(out, " on ");
    page_escape(page, host, out);
}

/* Adds "rank 7 on n03 has no end". */
static void add_missing(const struct record_group *group, const struct page *page,
                        struct buffer *out)
{
    uint64_t missing = group->ranks - group->reported;

    for (size_t i = 0; i < group->missing_count && i < MISSING_SHOWN; i++) {
        const struct record_missing *rank = &group->missing[i];
        const char *reason = rank->reason ? rank->reason : "it is missing";

        if (is_known(rank->rank))
            buffer_format(page_item(out), "rank %llu", (unsigned long long)rank->rank);
        else
            buffer_add_text(page_item(out), "a run");
        add_host(page, rank->host, out);
        buffer_add_text(out, " ");
        page_escape(page, strncmp(reason, "it ", 3) == 0 ? reason + 3 : reason, out);
    }
    if (missing > MISSING_SHOWN && missing <= group->ranks)
        buffer_format(out, ", and %llu more", (unsigned long long)missing - MISSING_SHOWN);
}

static void imbalance_write(const struct record_group *group, struct page *page)
{
    const struct {
        const char *name;
        double value;
    } others[] = {
        { "memory", group->memory_imbalance },
        { "time", group->elapsed_imbalance },
        { "waiting", group->wait_imbalance },
    };
    CLEANUP(buffer_done) struct buffer details = { 0 };

    if (group->seen_count < 2 || isnan(group->cpu_imbalance))
        return;
    buffer_add_text(&details, "CPU time of the busiest rank over the mean");
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        if (!isnan(others[i].value))
            buffer_format(page_item(&details), "%s %s", others[i].name,
                          number_short(others[i].value).text);
    }
    page_row(page, "Imbalance", number_short(group->cpu_imbalance).text, details.text);
}

void group_verdict_write(const struct record *record, struct page *page)
{
    const struct record_group *group = record->group;
    CLEANUP(buffer_done) struct buffer details = { 0 };
    CLEANUP(buffer_done) struct buffer missing = { 0 };

    if (!group)
        return;
    buffer_format(&details, "of %llu reported", (unsigned long long)group->ranks);
    if (group->node_count > 1)
        buffer_format(&details, ", on %zu nodes", group->node_count);
    add_missing(group, page, &missing);
    if (missing.length > 0)
        buffer_format(&details, "; %s", missing.text);
    page_row(page, "Ranks", number_count((double)group->reported).text, details.text);
    imbalance_write(group, page);
}

/* ---- nodes and ranks -------------------------------------------------------- */

static int compare_nodes(const void *a, const void *b)
{
    const struct record_node *first = *(const struct record_node *const *)a;
    const struct record_node *second = *(const struct record_node *const *)b;
    double x = first->memory.value, y = second->memory.value;

    if (isnan(x) || isnan(y))
        return isnan(x) - isnan(y);
    return x < y ? 1 : x > y ? -1 : (first > second) - (first < second);
}

static void node_write(const struct record_node *node, struct page *page)
{
    CLEANUP(buffer_done) struct buffer details = { 0 }, name = { 0 }, label = { 0 };
    double limit = as_number(node->memory_limit_bytes);

    page_escape(page, node->host ? node->host : "unknown", &name);
    buffer_add_text(&label, "  ");
    page_cut(buffer_text(&name), PAGE_DETAIL_START - 14, &label);
    if (!isnan(node->memory.low) && node->memory.high > node->memory.value)
        buffer_format(&details, "%s to %s, ", number_bytes(node->memory.low).text,
                      number_bytes(node->memory.high).text);
    if (node->memory.value >= 0 && limit > 0)
        buffer_format(&details, "%s of the limit, ",
                      number_percent(node->memory.value / limit).text);
    buffer_format(&details, "%s CPU time, %llu of %llu ranks",
                  number_duration(node->cpu_seconds).text, (unsigned long long)node->reported,
                  (unsigned long long)node->ranks);
    page_row(page, buffer_text(&label), number_bytes(node->memory.value).text, details.text);
}

static void nodes_write(const struct record_group *group, struct page *page)
{
    AUTO_FREE const struct record_node **nodes =
        calloc(group->node_count + 1, sizeof(struct record_node *));

    if (!nodes || group->node_count < 2)
        return;
    for (size_t i = 0; i < group->node_count; i++)
        nodes[i] = &group->nodes[i];
    qsort(nodes, group->node_count, sizeof(struct record_node *), compare_nodes);
    page_row_format(page, "Nodes", number_count((double)group->node_count).text,
                    "with the peak memory of their ranks%s",
                    group->node_count > NODES_SHOWN ? "; those with the most:" : ":");
    for (size_t i = 0; i < group->node_count && i < NODES_SHOWN; i++)
        node_write(nodes[i], page);
}

static void rank_write_row(const struct record_rank *rank, const char *label,
                           struct number value, struct page *page)
{
    CLEANUP(buffer_done) struct buffer details = { 0 };

    if (is_known(rank->rank))
        buffer_format(&details, "rank %llu", (unsigned long long)rank->rank);
    else
        buffer_add_text(&details, "a run");
    add_host(page, rank->host, &details);
    page_row(page, label, value.text, details.text);
}

static void idle_write(const struct record_group *group, struct page *page)
{
    CLEANUP(buffer_done) struct buffer details = { 0 };
    double sum = 0;
    size_t count = 0;

    for (size_t i = 0; i < group->seen_count; i++)
        sum += isnan(group->ranks_seen[i].cpu_seconds) ? 0 : group->ranks_seen[i].cpu_seconds;
    for (size_t i = 0; i < group->seen_count; i++) {
        const struct record_rank *rank = &group->ranks_seen[i];

        if (!(rank->cpu_seconds < IDLE_SHARE * sum / (double)group->seen_count))
            continue;
        if (count++ < IDLE_SHOWN && is_known(rank->rank))
            buffer_format(page_item(&details), "rank %llu", (unsigned long long)rank->rank);
    }
    if (count > IDLE_SHOWN)
        buffer_format(&details, ", and %zu more", count - IDLE_SHOWN);
    if (count > 0)
        page_row_format(page, "  idle", number_count((double)count).text,
                        "%s: less than 5 %% of the mean CPU time", buffer_text(&details));
}

void group_table_write(const struct record *record, struct page *page)
{
    const struct record_group *group = record->group;
    const struct record_rank *largest = NULL, *slowest = NULL;

    if (!group)
        return;
    nodes_write(group, page);
    for (size_t i = 0; group->seen_count > 1 && i < group->seen_count; i++) {
        const struct record_rank *rank = &group->ranks_seen[i];

        if (is_known(rank->peak_rss_bytes) &&
            (!largest || rank->peak_rss_bytes > largest->peak_rss_bytes))
            largest = rank;
        if (!slowest || rank->elapsed_seconds > slowest->elapsed_seconds)
            slowest = rank;
    }
    if (largest)
        rank_write_row(largest, "Largest rank", number_bytes((double)largest->peak_rss_bytes),
                       page);
    if (slowest)
        rank_write_row(slowest, "Slowest rank", number_duration(slowest->elapsed_seconds),
                       page);
    idle_write(group, page);
}
