/* SPDX-License-Identifier: Apache-2.0 */
/* figures.c - merges the figures of a group: one function per rule of the table of figures. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "group/ranks.h"
#include "series/figure.h"

/* ---- figures ----------------------------------------------------------------- */

/* The sum of the same figure of several ranks or nodes. */
struct sum {
    double value, low, high;
    double largest, largest_low; /* the largest value and lower bound of a part */
    size_t known, unknown;
    bool is_exact, has_bounds;
    const char *source, *reason;
};

static void sum_add(struct sum *sum, const struct spoor_figure *part)
{
    double low = isnan(part->low) ? part->value : part->low;
    double high = !isnan(part->high) ? part->high
                  : isnan(part->low) ? part->value
                                     : (double)NAN;

    if (isnan(part->value)) {
        if (!sum->reason)
            sum->reason = part->reason;
        sum->unknown++;
        return;
    }
    if (sum->known++ == 0)
        *sum = (struct sum){ .known = 1,
                             .unknown = sum->unknown,
                             .is_exact = true,
                             .source = part->source,
                             .reason = sum->reason };
    sum->value += part->value;
    sum->low += low;
    sum->high += high;
    sum->largest = fmax(sum->largest, part->value);
    sum->largest_low = fmax(sum->largest_low, low);
    sum->is_exact &= part->is_exact;
    sum->has_bounds |= !isnan(part->low) || !isnan(part->high);
}

static const char *PRINTF_LIKE(2, 3) format_reason(struct merge *merge, const char *fmt, ...)
{
    char text[400];
    va_list arguments;

    va_start(arguments, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, arguments);
    va_end(arguments);
    return record_text(merge->ret, text);
}

/* Makes a figure from a sum. If a part is unknown, the sum is only a lower bound. */
static struct spoor_figure sum_figure(struct merge *merge, const struct sum *sum)
{
    struct spoor_figure figure = { .value = sum->value,
                                   .low = (double)NAN,
                                   .high = (double)NAN,
                                   .source = record_text(merge->ret, sum->source),
                                   .is_exact = sum->is_exact && sum->unknown == 0 };

    if (sum->known == 0)
        return record_unknown_figure(record_text(merge->ret, sum->reason));
    if (sum->unknown > 0) {
        figure.low = sum->low;
        figure.reason =
            format_reason(merge, "not known for %zu of %zu: %s", sum->unknown,
                          sum->known + sum->unknown, sum->reason ? sum->reason : "no reason");
    } else if (sum->has_bounds) {
        figure.low = sum->low;
        figure.high = sum->high;
    }
    return figure;
}

/* Finds the longest run of a node, which observed the machine for the longest time. NULL:
 * the figure is unknown. */
static const struct group_rank *find_longest(const struct node *node, size_t index)
{
    const struct group_rank *longest = NULL;

    for (size_t i = 0; i < node->ended; i++) {
        const struct group_rank *rank = node->ranks[i];

        if (!isnan(rank->record.figures[index].value) &&
            (!longest || rank->record.elapsed_seconds > longest->record.elapsed_seconds))
            longest = rank;
    }
    return longest;
}

static struct spoor_figure merge_host(struct merge *merge, size_t index)
{
    struct sum sum = { 0 };

    for (size_t i = 0; i < merge->node_count; i++) {
        const struct node *node = &merge->nodes[i];
        const struct group_rank *rank = find_longest(node, index);

        if (node->ended > 0)
            sum_add(&sum, &(rank ? rank : node->ranks[0])->record.figures[index]);
    }
    return sum_figure(merge, &sum);
}

static bool is_of_host(const struct merge *merge, size_t index)
{
    for (size_t i = 0; i < merge->ended_count; i++) {
        const char *source = merge->ended[i]->record.figures[index].source;

        if (source)
            return source_is_host(source);
    }
    return false;
}

static struct spoor_figure merge_sum(struct merge *merge, size_t index)
{
    struct sum sum = { 0 };

    if (is_of_host(merge, index)) /* such as pressure, if the job has no cgroup */
        return merge_host(merge, index);
    for (size_t i = 0; i < merge->ended_count; i++)
        sum_add(&sum, &merge->ended[i]->record.figures[index]);
    return sum_figure(merge, &sum);
}

/* Returns whether another rank of the node has the GPU figure: among ranks that use no GPU,
 * only one opens the driver. */
static bool is_left_to_others(const struct group_rank *rank, size_t index)
{
    bool is_left = false;

    if (!begins_with(figure_path(index), "gpu.") || !isnan(rank->record.figures[index].value))
        return false;
    for (size_t i = 0; !is_left && i < rank->of_node->ended; i++)
        is_left = !isnan(rank->of_node->ranks[i]->record.figures[index].value);
    return is_left;
}

/* Sums means, each weighted by the share of the time in which its rank ran. */
static struct spoor_figure merge_mean(struct merge *merge, size_t index)
{
    struct sum sum = { 0 };

    for (size_t i = 0; i < merge->ended_count; i++) {
        struct spoor_figure part = merge->ended[i]->record.figures[index];
        double share =
            merge->seconds > 0 ? merge->ended[i]->record.elapsed_seconds / merge->seconds : 1;

        part.value *= share;
        part.low *= share;
        part.high *= share;
        if (!is_left_to_others(merge->ended[i], index))
            sum_add(&sum, &part);
    }
    return sum_figure(merge, &sum);
}

/* Returns the column of a metric in the curves of ranks; GROUP_COLUMNS: no such column. */
static size_t find_column(enum metric metric)
{
    size_t column = 0;

    while (column < GROUP_COLUMNS && group_metrics[column] != metric)
        column++;
    return column;
}

/* Computes a peak of several ranks: at least the largest sum at one moment, at most the sum
 * of all peaks. */
static struct spoor_figure align(struct merge *merge, struct group_rank **ranks, size_t count,
                                 const struct sweep *sweep, size_t index)
{
    size_t column = find_column(figure_metric(index));
    struct curve_value moment;
    struct spoor_figure figure;
    struct sum sum = { 0 };

    for (size_t i = 0; i < count; i++) {
        if (!is_left_to_others(ranks[i], index))
            sum_add(&sum, &ranks[i]->record.figures[index]);
    }
    figure = sum_figure(merge, &sum);
    if (sum.known + sum.unknown < 2 || sum.known == 0)
        return figure;
    figure.low = sum.largest_low;
    if (column < GROUP_COLUMNS) {
        moment = sweep_peak(sweep, column);
        if (!isnan(moment.high)) { /* some rank has a curve */
            figure.value = fmin(fmax(moment.high, sum.largest), sum.value);
            figure.low = fmax(moment.low, sum.largest_low);
        }
    }
    figure.low = fmin(figure.low, figure.value);
    figure.high =
        sum.unknown > 0 || isnan(sum.high) ? (double)NAN : fmax(sum.high, figure.value);
    figure.is_exact = false;
    return figure;
}

/* Counts pages that are shared by several ranks of a node only once, as far as the reports show
 * them. Deducts from the value the part of the shared pages that PSS assigns to others, if PSS
 * was read near the peak. In the lower bound, only the rank with the most shared pages keeps
 * them. */
static void deduct_shared(const struct node *node, struct spoor_figure *memory)
{
    static const double near = 0.95; /* share of the peak */
    double deducted = 0, shared = 0, largest = 0, single = 0, single_low = 0;

    if (node->ended < 2 || isnan(memory->value))
        return;
    for (size_t i = 0; i < node->ended; i++) {
        const struct spoor_figure *figures = node->ranks[i]->record.figures;
        struct spoor_figure rss = record_find(figures, "memory.combined.total_rss_bytes");
        double own = record_find(figures, "memory.combined.shared_rss_bytes").value;
        double private = record_find(figures, "memory.combined.private_rss_bytes").value;
        double pss = record_find(figures, "memory.combined.pss_bytes").value;

        if (!isnan(own) && !isnan(private)) {
            /* At the peak, every page that is not private may be shared. */
            double most = fmax(own, rss.value - private);

            shared += most;
            largest = fmax(largest, most);
        }
        if (own > 0 && private + own >= near * rss.value && pss < rss.value)
            deducted += fmin(rss.value - pss, own);
        if (!isnan(rss.value)) {
            single = fmax(single, rss.value);
            single_low = fmax(single_low, isnan(rss.low) ? rss.value : rss.low);
        }
    }
    memory->low = fmin(fmax(memory->low - (shared - largest), single_low), memory->value);
    memory->value = fmax(fmax(memory->value - deducted, single), memory->low);
}

/* Returns whether a figure is the memory of some processes or some pages of the job. */
static bool is_part_of_rss(size_t index)
{
    const char *path = figure_path(index);

    return strstr(path, "_rss_bytes") || strstr(path, ".pss_bytes");
}

static struct spoor_figure merge_node(struct merge *merge, struct node *node, size_t index)
{
    struct spoor_figure figure = align(merge, node->ranks, node->ended, &node->sweep, index);

    if (figure_metric(index) == METRIC_JOB_RSS)
        deduct_shared(node, &figure);
    else if (is_part_of_rss(index) && node->ended > 1 && node->memory.value < figure.value)
        figure.value = fmax(node->memory.value, figure.low); /* at an unknown moment */
    if (node->ended < node->count) {
        figure.is_exact = false;
        figure.high = (double)NAN;
        figure.low = isnan(figure.low) ? figure.value : figure.low;
    }
    return figure;
}

static double upper_bound(const struct spoor_figure *figure)
{
    return figure->is_exact ? figure->value : figure->high;
}

/* Sets *largest to the larger of two nodes; the result is exact only if it is certainly the
 * larger one. */
static void take_larger(struct spoor_figure *largest, const struct spoor_figure *other)
{
    struct spoor_figure smaller_one = *other;
    double low, high;

    if (isnan(other->value))
        return;
    if (isnan(largest->value) || other->value > largest->value) {
        smaller_one = *largest;
        *largest = *other;
    }
    if (isnan(smaller_one.value))
        return;
    high = upper_bound(largest);
    low = isnan(largest->low) ? largest->value : largest->low;
    if (largest->is_exact && upper_bound(&smaller_one) <= largest->value)
        return;
    largest->low = fmax(low, isnan(smaller_one.low) ? smaller_one.value : smaller_one.low);
    largest->low = fmin(largest->low, largest->value);
    largest->high = isnan(high) || isnan(upper_bound(&smaller_one))
                        ? (double)NAN
                        : fmax(high, upper_bound(&smaller_one));
    largest->is_exact = false;
}

static struct spoor_figure merge_nodes(struct merge *merge, size_t index)
{
    struct spoor_figure largest = record_unknown_figure(NULL);

    for (size_t i = 0; i < merge->node_count; i++) {
        struct node *node = &merge->nodes[i];
        struct spoor_figure figure = merge_node(merge, node, index);
        double before = largest.value;

        if (node->ended == 0)
            continue;
        if (isnan(largest.value) && !largest.reason)
            largest.reason = figure.reason;
        take_larger(&largest, &figure);
        if (figure_metric(index) == METRIC_JOB_RSS && !(largest.value <= before))
            merge->deciding = i;
    }
    return largest;
}

static struct spoor_figure merge_host_peak(struct merge *merge, size_t index)
{
    struct spoor_figure largest = record_unknown_figure(NULL);

    for (size_t i = 0; i < merge->ended_count; i++) {
        const struct spoor_figure *part = &merge->ended[i]->record.figures[index];

        if (isnan(largest.value) || part->value > largest.value)
            largest = *part;
    }
    return record_figure(merge->ret, largest, NULL);
}

static struct spoor_figure merge_gpus(struct merge *merge, size_t index)
{
    struct sum sum = { 0 };

    for (size_t i = 0; i < merge->ended_count; i++) {
        if (merge->ended[i]->counts_gpus)
            sum_add(&sum, &merge->ended[i]->record.figures[index]);
    }
    if (sum.known == 0 && sum.unknown == 0)
        return merge_host(merge, index);
    return sum_figure(merge, &sum);
}

static struct spoor_figure merge_figure(struct merge *merge, size_t index)
{
    switch (figure_merge(index)) {
    case FIGURE_ADD:
        return merge_sum(merge, index);
    case FIGURE_MEAN:
        return merge_mean(merge, index);
    case FIGURE_ALIGN:
        return align(merge, merge->ended, merge->ended_count, &merge->sweep, index);
    case FIGURE_PER_NODE:
        return merge_nodes(merge, index);
    case FIGURE_HOST:
        return merge_host(merge, index);
    case FIGURE_HOST_PEAK:
        return merge_host_peak(merge, index);
    case FIGURE_GPUS:
        return merge_gpus(merge, index);
    case FIGURE_NO_MERGE:
        break;
    }
    return record_unknown_figure("the ranks have their peaks at different moments");
}

/* Makes the figure a lower bound if ranks have no end: their usage is missing. */
static void note_missing(struct merge *merge, struct spoor_figure *figure)
{
    if (!merge->missing || isnan(figure->value))
        return;
    figure->low = isnan(figure->low) ? figure->value : figure->low;
    figure->high = (double)NAN;
    figure->is_exact = false;
    figure->reason = merge->missing;
}

int merge_figures(struct merge *merge)
{
    struct record *ret = merge->ret;
    size_t rss = (size_t)figure_index("memory.combined.total_rss_bytes");

    ret->figures = record_alloc(ret, figure_count(), sizeof(*ret->figures));
    if (!ret->figures)
        return -ENOMEM;
    for (size_t i = 0; i < merge->node_count; i++)
        merge->nodes[i].memory = merge_node(merge, &merge->nodes[i], rss);
    for (size_t i = 0; i < figure_count(); i++) {
        struct spoor_figure figure = merge_figure(merge, i);

        ret->figures[i] = merge->ended_count == 1
                              ? record_figure(ret, merge->ended[0]->record.figures[i], NULL)
                              : figure;
        note_missing(merge, &ret->figures[i]);
    }
    for (size_t i = 0; i < merge->node_count; i++) {
        if (merge->nodes[i].ended < merge->nodes[i].count)
            note_missing(merge, &merge->nodes[i].memory);
    }
    return 0;
}
