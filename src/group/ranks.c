/* SPDX-License-Identifier: Apache-2.0 */
#include "group/ranks.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/error.h"
#include "base/unknown.h"
#include "record/launch.h"
#include "series/figure.h"

/* ---- adding --------------------------------------------------------------- */

void group_init(struct group *group)
{
    *group = (struct group){ 0 };
    record_init(&group->store);
    record_init(&group->first);
}

void group_done(struct group *group)
{
    free(group->ranks);
    record_done(&group->store);
    record_done(&group->first);
    group_init(group);
}

/* Keeps the notes that come first by their text: threads read the files in any order. */
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

static struct group_rank *append(struct group *group)
{
    size_t room = group->room > 0 ? 2 * group->room : 64;
    struct group_rank *ranks;

    if (group->count == group->room) {
        ranks = reallocarray(group->ranks, room, sizeof(*ranks));
        if (!ranks)
            return NULL;
        group->ranks = ranks;
        group->room = room;
    }
    return &group->ranks[group->count];
}

/* A text equal to the text of the previous rank is stored once. */
static int add(struct group *group, const struct record *record, struct spoor_error *err)
{
    static const struct launch no_launch = { .rank = UNKNOWN,
                                             .ranks = UNKNOWN,
                                             .local_rank = UNKNOWN,
                                             .node = UNKNOWN,
                                             .nodes = UNKNOWN,
                                             .restart = UNKNOWN };
    const struct launch *launch = record->launch ? record->launch : &no_launch;
    static const struct group_rank nothing;
    struct group_rank *rank = append(group);
    const struct group_rank *like = group->count > 0 ? rank - 1 : &nothing;

    if (!rank)
        return error_set(err, ENOMEM, "out of memory");
    if (!record->id || isnan(record->started_at))
        return error_set(err, EBADMSG, "no ID or no start");
    if (is_known(launch->rank) && launch->rank >= launch->ranks) /* not if ranks are unknown */
        return error_set(err, EBADMSG, "rank %llu of %llu", (unsigned long long)launch->rank,
                         (unsigned long long)launch->ranks);
    *rank = (struct group_rank){
        .id = record_text(&group->store, record->id),
        .host = record_share_text(&group->store, record->host, like->host),
        .job = record_share_text(&group->store, launch->job, like->job),
        .step = record_share_text(&group->store, launch->step, like->step),
        .rank = launch->rank,
        .ranks = launch->ranks,
        .local_rank = launch->local_rank,
        .node = launch->node,
        .nodes = launch->nodes,
        .restart = launch->restart,
        .started_at = record->started_at,
    };
    group->count++;
    return 0;
}

int group_add_begin(struct group *group, const struct record *record, struct spoor_error *err)
{
    int r = add(group, record, err);

    return r == 0 && group->store.error < 0 ? error_set(err, ENOMEM, "out of memory") : r;
}

static void copy_curve(struct group *group, const struct record_curve *curve,
                       struct rank_curve *ret)
{
    ret->seconds = record_alloc(&group->store, curve->count, sizeof(*ret->seconds));
    if (!ret->seconds)
        return;
    memcpy(ret->seconds, curve->seconds, curve->count * sizeof(*ret->seconds));
    ret->count = curve->count;
    for (size_t i = 0; i < GROUP_COLUMNS; i++) {
        const struct curve_column *column =
            curve_find(curve, metric_row(group_metrics[i])->published.name);

        if (column)
            ret->columns[i] =
                record_alloc(&group->store, curve->count, sizeof(*ret->columns[i]));
        for (size_t k = 0; column && ret->columns[i] && k < curve->count; k++)
            ret->columns[i][k] = curve_get(curve, column, k, k + 1);
    }
}

static void copy_figures(struct group *group, const struct spoor_figure *figures,
                         const struct spoor_figure *like, size_t count,
                         struct spoor_figure *ret)
{
    for (size_t i = 0; ret && figures && i < count; i++)
        ret[i] = record_figure(&group->store, figures[i], like ? &like[i] : NULL);
}

static void copy_gpus(struct group *group, const struct record *record,
                      const struct group_rank *like, struct group_rank *rank)
{
    struct record *store = &group->store;

    rank->gpus = record_alloc(store, record->gpu_count, sizeof(*rank->gpus));
    for (size_t i = 0; rank->gpus && i < record->gpu_count; i++) {
        const struct record_gpu *gpu = &record->gpus[i];
        const struct record_gpu *other = i < like->gpu_count ? &like->gpus[i] : NULL;
        struct record_gpu *copy = &rank->gpus[i];

        *copy = *gpu;
        copy->uuid = record_text(store, gpu->uuid);
        copy->name = record_share_text(store, gpu->name, other ? other->name : NULL);
        copy->vendor = record_share_text(store, gpu->vendor, other ? other->vendor : NULL);
        copy->pci_address = record_text(store, gpu->pci_address);
        copy->throttled = NULL;
        copy_figures(group, gpu->measures, other ? other->measures : NULL, RECORD_GPU_MEASURES,
                     copy->measures);
        rank->gpu_count = i + 1;
    }
}

static void copy_warnings(struct group *group, const struct record *record,
                          const struct group_rank *like, struct group_rank *rank)
{
    rank->warnings =
        record_alloc(&group->store, record->warning_count, sizeof(*rank->warnings));
    for (size_t i = 0; rank->warnings && i < record->warning_count; i++) {
        const struct record_warning *warning = &record->warnings[i];
        const struct record_warning *other =
            i < like->warning_count ? &like->warnings[i] : NULL;

        rank->warnings[i].code =
            record_share_text(&group->store, warning->code, other ? other->code : NULL);
        rank->warnings[i].message =
            record_share_text(&group->store, warning->message, other ? other->message : NULL);
        rank->warning_count = i + 1;
    }
}

/* Whether a record describes the group better: it has a lower rank, or is a later attempt of the same one. */
static bool is_before(const struct record *record, const struct record *first)
{
    uint64_t rank = record->launch ? record->launch->rank : UNKNOWN;
    int order = compare_u64(rank, first->launch ? first->launch->rank : UNKNOWN);

    if (order == 0)
        order =
            (record->started_at < first->started_at) - (record->started_at > first->started_at);
    return order != 0 ? order < 0 : compare_texts(record->id, first->id) > 0;
}

int group_add_end(struct group *group, struct record *record, struct spoor_error *err)
{
    static const struct group_rank nothing;
    const struct group_rank *like;
    struct group_rank *rank;
    struct record *store = &group->store;
    int r = record->figures ? add(group, record, err)
                            : error_set(err, EBADMSG, "not the report of a run");

    if (r < 0)
        return r;
    rank = &group->ranks[group->count - 1];
    like = group->last_end < group->count - 1 ? &group->ranks[group->last_end] : &nothing;
    rank->elapsed_seconds = record->elapsed_seconds > 0 ? record->elapsed_seconds : 0;
    rank->ended_at = record->ended_at;
    rank->exit_code = record->exit_code;
    rank->signal = record_text(store, record->signal);
    rank->cpus = record->cpus;
    rank->memory_bytes = record->memory_bytes;
    rank->memory_limit_bytes = record->memory_limit_bytes;
    rank->whole_gpus = record->whole_gpus;
    rank->samples = record->samples;
    rank->late_samples = record->late_samples;
    rank->tracker_max_rss_bytes = record->tracker_max_rss_bytes;
    rank->tracker_cpu_seconds = record->tracker_cpu_seconds;
    rank->cpus_limit = record->cpus_limit;
    rank->cpus_limit_source =
        record_share_text(store, record->cpus_limit_source, like->cpus_limit_source);
    rank->memory_limit_source =
        record_share_text(store, record->memory_limit_source, like->memory_limit_source);
    copy_gpus(group, record, like, rank);
    copy_warnings(group, record, like, rank);
    copy_curve(group, &record->curve, &rank->curve);
    rank->figures = record_alloc(store, figure_count(), sizeof(*rank->figures));
    copy_figures(group, record->figures, like->figures, figure_count(), rank->figures);
    group->last_end = group->count - 1;
    if (store->error < 0)
        return error_set(err, ENOMEM, "out of memory");
    if (!group->has_first || is_before(record, &group->first)) {
        record_done(&group->first);
        group->first = *record;
        group->has_first = true;
    } else {
        record_done(record);
    }
    return 0;
}

/* ---- the ranks that count -------------------------------------------------- */

static int compare_numbers(double a, double b)
{
    return (a > b) - (a < b);
}

int compare_texts(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

/* By rank; the attempts of a rank by time. Runs without a rank are ranks of their own. */
static int compare_attempts(const void *a, const void *b)
{
    const struct group_rank *first = *(struct group_rank *const *)a;
    const struct group_rank *second = *(struct group_rank *const *)b;
    int order = compare_u64(first->rank, second->rank);

    if (order == 0 && !is_known(first->rank))
        order = compare_texts(first->id, second->id);
    if (order == 0)
        order = compare_numbers(first->started_at, second->started_at);
    if (order == 0)
        order = compare_texts(first->id, second->id);
    if (order == 0)
        order = compare_u64(first->figures != NULL, second->figures != NULL);
    return order != 0 ? order
                      : compare_numbers(first->elapsed_seconds, second->elapsed_seconds);
}

bool is_same_text(const char *a, const char *b)
{
    return compare_texts(a, b) == 0;
}

/* The begin or end with the latest start: its job counts, and its number of ranks. */
static const struct group_rank *find_latest(const struct group *group)
{
    const struct group_rank *latest = &group->ranks[0];

    for (size_t i = 1; i < group->count; i++) {
        const struct group_rank *other = &group->ranks[i];
        int order = compare_numbers(other->started_at, latest->started_at);

        if (order == 0)
            order = compare_texts(other->id, latest->id);
        if (order > 0)
            latest = other;
    }
    return latest;
}

/* The last attempt of the rank whose attempts begin at `first`; *next is the first one of the next rank. */
static struct group_rank *choose_attempt(struct merge *merge, struct group_rank **attempts,
                                         size_t first, size_t count, size_t *next)
{
    size_t end = first + 1;
    struct group_rank *last;
    bool is_repeated = false;

    while (end < count && attempts[end]->rank == attempts[first]->rank &&
           (is_known(attempts[first]->rank) ||
            is_same_text(attempts[end]->id, attempts[first]->id)))
        end++;
    last = attempts[end - 1];
    for (size_t i = first; i < end; i++) {
        if (!is_same_text(attempts[i]->id, last->id))
            is_repeated = true;
        else if (!last->figures && attempts[i]->figures)
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
        bool is_of_job =
            is_same_text(rank->job, latest->job) && is_same_text(rank->step, latest->step);
        bool is_in_range = !is_known(latest->ranks) || rank->rank < latest->ranks;

        merge->other_jobs += !is_of_job;
        merge->out_of_range += is_of_job && !is_in_range;
        if (is_of_job && is_in_range)
            attempts[count++] = rank;
    }
    qsort(attempts, count, sizeof(struct group_rank *), compare_attempts);
    for (size_t i = 0; i < count;) {
        struct group_rank *rank = choose_attempt(merge, attempts, i, count, &i);

        merge->ranks[merge->count++] = rank;
        if (rank->figures)
            merge->ended[merge->ended_count++] = rank;
    }
    merge->size = is_known(latest->ranks) ? latest->ranks : merge->count;
    for (size_t i = 0; i < merge->count; i++) {
        if (is_known(merge->ranks[i]->rank)) /* some launchers do not provide the size */
            merge->size = larger(merge->size, merge->ranks[i]->rank + 1);
    }
    return 0;
}

/* The time of the group, and the place of each rank in it. */
static void set_times(struct merge *merge)
{
    merge->started_at = merge->ranks[0]->started_at;
    for (size_t i = 0; i < merge->count; i++)
        merge->started_at = fmin(merge->started_at, merge->ranks[i]->started_at);
    merge->seconds = 0;
    for (size_t i = 0; i < merge->ended_count; i++) {
        struct group_rank *rank = merge->ended[i];

        rank->curve.start = rank->started_at - merge->started_at;
        merge->seconds = fmax(merge->seconds, rank->curve.start + rank->elapsed_seconds);
    }
}

static int compare_hosts(const void *a, const void *b)
{
    const struct group_rank *first = *(struct group_rank *const *)a;
    const struct group_rank *second = *(struct group_rank *const *)b;
    int order = compare_texts(first->host, second->host);

    if (order == 0)
        order = compare_u64(first->figures == NULL, second->figures == NULL);
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

        if (node > merge->nodes && is_same_text(node[-1].host, sorted[i]->host))
            node--;
        else
            *node =
                (struct node){ .host = sorted[i]->host, .index = UNKNOWN, .ranks = &sorted[i] };
        merge->node_count = (size_t)(node - merge->nodes) + 1;
        node->index = smaller(node->index, sorted[i]->node);
        node->ended += sorted[i]->figures != NULL;
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
