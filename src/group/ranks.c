/* SPDX-License-Identifier: Apache-2.0 */
#include "group/ranks.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "base/error.h"
#include "base/reserve.h"
#include "record/launch.h"

/* ---- adding --------------------------------------------------------------- */

void group_init(struct group *group)
{
    *group = (struct group){ 0 };
    record_init(&group->store);
}

void group_done(struct group *group)
{
    for (size_t i = 0; i < group->count; i++)
        record_done(&group->ranks[i].record);
    free(group->ranks);
    record_done(&group->store);
    group_init(group);
}

/* Keeps the notes whose texts sort first, so that the order in which threads read the files
 * does not matter. */
void group_skip(struct group *group, const char *file, size_t line, const char *reason)
{
    struct record_warning *notes = group->notes;
    size_t at = group->note_count;
    char text[400];

    (void)snprintf(text, sizeof(text), "%.100s, line %zu is skipped: %.240s", file, line,
                   reason);
    group->skipped++;
    while (at > 0 && compare_texts(text, notes[at - 1].message) < 0)
        at--;
    if (at == ARRAY_SIZE(group->notes))
        return;
    if (group->note_count < ARRAY_SIZE(group->notes))
        group->note_count++;
    memmove(&notes[at + 1], &notes[at], (group->note_count - at - 1) * sizeof(*notes));
    notes[at].message = record_text(&group->store, text);
}

/* Keeps only the needed parts of a begin, to save memory: every rank has one. */
static void keep_begin(struct group *group, struct group_rank *rank)
{
    struct record all = rank->record;

    record_init(&rank->record);
    rank->record.id = record_text(&group->store, all.id);
    rank->record.host = record_text(&group->store, all.host);
    rank->record.started_at = all.started_at;
    rank->record.elapsed_seconds = 0;
    if (all.launch) {
        rank->record.launch = launch_copy(&group->store, all.launch);
        rank->launch = rank->record.launch;
    }
    record_done(&all);
}

static int check_rank(const struct record *record, const struct launch *launch,
                      struct spoor_error *err)
{
    if (!record->id || isnan(record->started_at))
        return error_set(err, EBADMSG, "no ID or no start");
    if (is_known(launch->rank) && launch->rank >= launch->ranks) /* false if unknown */
        return error_set(err, EBADMSG, "rank %llu of %llu", (unsigned long long)launch->rank,
                         (unsigned long long)launch->ranks);
    return 0;
}

int group_add(struct group *group, struct record *record, struct spoor_error *err)
{
    static const struct launch no_launch = { .rank = UNKNOWN,
                                             .ranks = UNKNOWN,
                                             .local_rank = UNKNOWN,
                                             .node = UNKNOWN,
                                             .nodes = UNKNOWN,
                                             .restart = UNKNOWN };
    const struct launch *launch = record->launch ? record->launch : &no_launch;
    struct group_rank *rank;
    int r = check_rank(record, launch, err);

    if (r == 0 &&
        reserve(&group->ranks, &group->room, group->count + 1, sizeof(*group->ranks)) < 0)
        r = error_set(err, ENOMEM, "out of memory");
    if (r < 0) {
        record_done(record);
        return r;
    }
    rank = &group->ranks[group->count];
    *rank = (struct group_rank){ .record = *record, .launch = launch };
    rank->record.elapsed_seconds = record->elapsed_seconds > 0 ? record->elapsed_seconds : 0;
    group->count++;
    if (!record->figures)
        keep_begin(group, rank);
    return group->store.error < 0 ? error_set(err, ENOMEM, "out of memory") : 0;
}

/* ---- the ranks that count -------------------------------------------------- */

int compare_texts(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

/* Sorts by rank, and the attempts of a rank by time. Each run without a rank counts as a
 * rank of its own. */
static int compare_attempts(const void *a, const void *b)
{
    const struct group_rank *first = *(struct group_rank *const *)a;
    const struct group_rank *second = *(struct group_rank *const *)b;
    int order = compare_u64(first->launch->rank, second->launch->rank);

    if (order == 0 && !is_known(first->launch->rank))
        order = compare_texts(first->record.id, second->record.id);
    if (order == 0)
        order = compare_numbers(first->record.started_at, second->record.started_at);
    if (order == 0)
        order = compare_texts(first->record.id, second->record.id);
    if (order == 0)
        order = compare_u64(first->record.figures != NULL, second->record.figures != NULL);
    return order != 0
               ? order
               : compare_numbers(first->record.elapsed_seconds, second->record.elapsed_seconds);
}

bool is_same_text(const char *a, const char *b)
{
    return compare_texts(a, b) == 0;
}

/* Finds the begin or end with the latest start, which determines the job and its number of
 * ranks. */
static const struct group_rank *find_latest(const struct group *group)
{
    const struct group_rank *latest = &group->ranks[0];

    for (size_t i = 1; i < group->count; i++) {
        const struct group_rank *other = &group->ranks[i];
        int order = compare_numbers(other->record.started_at, latest->record.started_at);

        if (order == 0)
            order = compare_texts(other->record.id, latest->record.id);
        if (order > 0)
            latest = other;
    }
    return latest;
}

/* Returns the last attempt of the rank whose attempts begin at `first`; *next is the index
 * of the next rank. */
static struct group_rank *choose_attempt(struct merge *merge, struct group_rank **attempts,
                                         size_t first, size_t count, size_t *next)
{
    size_t end = first + 1;
    struct group_rank *last;
    bool is_repeated = false;

    while (end < count && attempts[end]->launch->rank == attempts[first]->launch->rank &&
           (is_known(attempts[first]->launch->rank) ||
            is_same_text(attempts[end]->record.id, attempts[first]->record.id)))
        end++;
    last = attempts[end - 1];
    for (size_t i = first; i < end; i++) {
        if (!is_same_text(attempts[i]->record.id, last->record.id))
            is_repeated = true;
        else if (!last->record.figures && attempts[i]->record.figures)
            last = attempts[i];
    }
    merge->repeated += is_repeated;
    *next = end;
    return last;
}

static int select_ranks(struct merge *merge)
{
    struct group *group = merge->group;
    const struct group_rank *latest = find_latest(group);
    struct group_rank **attempts =
        record_alloc(&merge->scratch, group->count, sizeof(struct group_rank *));
    size_t count = 0;

    merge->ranks = record_alloc(&merge->scratch, group->count, sizeof(struct group_rank *));
    merge->ended = record_alloc(&merge->scratch, group->count, sizeof(struct group_rank *));
    if (!attempts || !merge->ranks || !merge->ended)
        return -ENOMEM;
    for (size_t i = 0; i < group->count; i++) {
        struct group_rank *rank = &group->ranks[i];
        bool is_of_job = is_same_text(rank->launch->job, latest->launch->job) &&
                         is_same_text(rank->launch->step, latest->launch->step);
        bool is_in_range =
            !is_known(latest->launch->ranks) || rank->launch->rank < latest->launch->ranks;

        merge->other_jobs += !is_of_job;
        merge->out_of_range += is_of_job && !is_in_range;
        if (is_of_job && is_in_range)
            attempts[count++] = rank;
    }
    qsort(attempts, count, sizeof(struct group_rank *), compare_attempts);
    for (size_t i = 0; i < count;) {
        struct group_rank *rank = choose_attempt(merge, attempts, i, count, &i);

        merge->ranks[merge->count++] = rank;
        if (rank->record.figures)
            merge->ended[merge->ended_count++] = rank;
    }
    merge->size = is_known(latest->launch->ranks) ? latest->launch->ranks : merge->count;
    for (size_t i = 0; i < merge->count; i++) {
        if (is_known(
                merge->ranks[i]->launch->rank)) /* some launchers do not provide the size */
            merge->size = larger(merge->size, merge->ranks[i]->launch->rank + 1);
    }
    return 0;
}

/* Sets the start and duration of the group, and the start of each rank within it. */
static void set_times(struct merge *merge)
{
    merge->started_at = merge->ranks[0]->record.started_at;
    for (size_t i = 0; i < merge->count; i++)
        merge->started_at = fmin(merge->started_at, merge->ranks[i]->record.started_at);
    merge->seconds = 0;
    for (size_t i = 0; i < merge->ended_count; i++) {
        struct group_rank *rank = merge->ended[i];

        rank->curve.start = rank->record.started_at - merge->started_at;
        rank->curve.curve = &rank->record.curve;
        for (size_t k = 0; k < GROUP_COLUMNS; k++)
            rank->curve.columns[k] =
                curve_find(&rank->record.curve, metric_row(group_metrics[k])->published.name);
        merge->seconds = fmax(merge->seconds, rank->curve.start + rank->record.elapsed_seconds);
    }
}

static int compare_hosts(const void *a, const void *b)
{
    const struct group_rank *first = *(struct group_rank *const *)a;
    const struct group_rank *second = *(struct group_rank *const *)b;
    int order = compare_texts(first->record.host, second->record.host);

    if (order == 0)
        order = compare_u64(first->record.figures == NULL, second->record.figures == NULL);
    return order != 0 ? order : compare_attempts(a, b);
}

static int compare_nodes(const void *a, const void *b)
{
    const struct node *first = a, *second = b;
    int order = compare_u64(first->index, second->index);

    return order != 0 ? order : compare_texts(first->host, second->host);
}

static int sweep_ranks(struct merge *merge, struct group_rank **ranks, size_t count,
                       struct sweep *ret)
{
    struct rank_curve **curves =
        record_alloc(&merge->scratch, count, sizeof(struct rank_curve *));

    if (!curves)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        curves[i] = &ranks[i]->curve;
    return sweep_init(ret, curves, count);
}

static int divide_into_nodes(struct merge *merge)
{
    struct group_rank **sorted =
        record_alloc(&merge->scratch, merge->count, sizeof(struct group_rank *));
    int r = 0;

    merge->nodes = record_alloc(&merge->scratch, merge->count, sizeof(*merge->nodes));
    if (!sorted || !merge->nodes)
        return -ENOMEM;
    memcpy(sorted, merge->ranks, merge->count * sizeof(struct group_rank *));
    qsort(sorted, merge->count, sizeof(struct group_rank *), compare_hosts);
    for (size_t i = 0; i < merge->count; i++) {
        struct node *node = &merge->nodes[merge->node_count];

        if (node > merge->nodes && is_same_text(node[-1].host, sorted[i]->record.host))
            node--;
        else
            *node = (struct node){ .host = sorted[i]->record.host,
                                   .index = UNKNOWN,
                                   .ranks = &sorted[i] };
        merge->node_count = (size_t)(node - merge->nodes) + 1;
        node->index = smaller(node->index, sorted[i]->launch->node);
        node->ended += sorted[i]->record.figures != NULL;
        node->count++;
    }
    qsort(merge->nodes, merge->node_count, sizeof(*merge->nodes), compare_nodes);
    for (size_t i = 0; r == 0 && i < merge->node_count; i++)
        r = sweep_ranks(merge, merge->nodes[i].ranks, merge->nodes[i].ended,
                        &merge->nodes[i].sweep);
    return r < 0 ? r : sweep_ranks(merge, merge->ended, merge->ended_count, &merge->sweep);
}

int merge_select(struct merge *merge)
{
    int r = select_ranks(merge);

    if (r < 0)
        return r;
    set_times(merge);
    return divide_into_nodes(merge);
}
