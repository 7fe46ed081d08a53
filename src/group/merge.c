/* SPDX-License-Identifier: Apache-2.0 */
#include "group/merge.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "base/compiler.h"
#include "base/error.h"
#include "group/ranks.h"
#include "record/launch.h"
#include "record/row.h"
#include "series/figure.h"

/* ---- warnings --------------------------------------------------------------- */

enum { WARNINGS_MAX = 64 };

static void PRINTF_LIKE(3, 4) warn(struct merge *merge, const char *code, const char *fmt, ...)
{
    struct record *ret = merge->ret;
    char message[512];
    va_list arguments;

    if (!ret->warnings)
        ret->warnings = record_alloc(ret, WARNINGS_MAX, sizeof(*ret->warnings));
    if (!ret->warnings || ret->warning_count == WARNINGS_MAX)
        return;
    va_start(arguments, fmt);
    (void)vsnprintf(message, sizeof(message), fmt, arguments);
    va_end(arguments);
    ret->warnings[ret->warning_count++] =
        (struct record_warning){ record_text(ret, code), record_text(ret, message) };
}

/* Adds the warnings of the ranks; a warning of several ranks is added once. */
static void warn_as_ranks(struct merge *merge)
{
    enum { DISTINCT_MAX = 32 };
    struct {
        const struct record_warning *warning;
        uint64_t rank;
        size_t count;
    } seen[DISTINCT_MAX];
    size_t count = 0;

    for (size_t i = 0; i < merge->ended_count; i++) {
        const struct group_rank *rank = merge->ended[i];

        for (size_t k = 0; k < rank->record.warning_count; k++) {
            size_t at = 0;

            while (at < count &&
                   !is_same_text(seen[at].warning->message, rank->record.warnings[k].message))
                at++;
            if (at == DISTINCT_MAX)
                continue;
            if (at == count) {
                seen[at].warning = &rank->record.warnings[k];
                seen[at].rank = rank->launch->rank;
                seen[at].count = 0;
                count++;
            }
            seen[at].count++;
        }
    }
    for (size_t i = 0; i < count; i++) {
        const char *message = seen[i].warning->message ? seen[i].warning->message : "";

        if (seen[i].count == 1 && is_known(seen[i].rank))
            warn(merge, seen[i].warning->code, "rank %llu: %s",
                 (unsigned long long)seen[i].rank, message);
        else
            warn(merge, seen[i].warning->code, "%zu of %zu ranks: %s", seen[i].count,
                 merge->ended_count, message);
    }
}

/* Warns if a clock was set during the run, or if clocks of nodes differ: ranks of one job
 * run at the same time, so their times must overlap. */
static void warn_about_clocks(struct merge *merge)
{
    static const double tolerance = 1;
    double end = 0;

    for (size_t i = 0; i < merge->ended_count; i++) {
        const struct group_rank *rank = merge->ended[i];
        double drift =
            rank->record.ended_at - rank->record.started_at - rank->record.elapsed_seconds;

        if (fabs(drift) > tolerance + 0.01 * rank->record.elapsed_seconds) {
            warn(merge, "clock",
                 "the clock of %s changed by %.0f s while rank %llu ran: times are not certain",
                 rank->record.host ? rank->record.host : "a node", drift,
                 (unsigned long long)rank->launch->rank);
            break;
        }
    }
    for (size_t i = 0; i < merge->node_count; i++) {
        const struct node *node = &merge->nodes[i];
        double first = HUGE_VAL, last = 0;

        for (size_t k = 0; k < node->ended; k++) {
            const struct group_rank *rank = node->ranks[k];

            first = fmin(first, rank->curve.start);
            last = fmax(last, rank->curve.start + rank->record.elapsed_seconds);
        }
        if (i > 0 && first > end + tolerance && node->ended > 0) {
            warn(merge, "clock",
                 "the ranks of %s began %.0f s after those of other nodes had ended: they did "
                 "not run at the same time, or the clocks of the nodes differ",
                 node->host ? node->host : "a node", first - end);
            break;
        }
        end = fmax(end, last);
    }
}

static void add_warnings(struct merge *merge)
{
    struct group *group = merge->group;

    for (size_t i = 0; i < group->note_count; i++)
        warn(merge, "damaged", "%s", group->notes[i].message ? group->notes[i].message : "");
    if (group->skipped > group->note_count)
        warn(merge, "damaged", "%zu more lines are skipped",
             group->skipped - group->note_count);
    if (merge->other_jobs > 0)
        warn(merge, "other_job",
             "%zu records of other jobs are left out: the job that began last counts",
             merge->other_jobs);
    if (merge->out_of_range > 0)
        warn(merge, "rank_range", "%zu records are left out: their rank is not below %llu",
             merge->out_of_range, (unsigned long long)merge->size);
    if (merge->repeated > 0)
        warn(merge, "repeated", "%zu %s ran more than once: the last attempt counts",
             merge->repeated, merge->repeated == 1 ? "rank" : "ranks");
    warn_about_clocks(merge);
    warn_as_ranks(merge);
}

/* ---- GPUs -------------------------------------------------------------------- */

/* A GPU in the report of one rank. */
struct gpu_seen {
    const struct record_gpu *gpu;
    struct group_rank *rank;
    const struct node *node;
};

/* A PCI address, used if the UUID is unknown, identifies a GPU only within its node. */
static int compare_uuids(const void *a, const void *b)
{
    const struct gpu_seen *first = a, *second = b;
    int order = compare_texts(first->gpu->uuid, second->gpu->uuid);

    if (order == 0 && first->gpu->uuid && strchr(first->gpu->uuid, ':'))
        order = compare_texts(first->node->host, second->node->host);
    return order;
}

static int compare_devices(const void *a, const void *b)
{
    const struct gpu_seen *first = a, *second = b;
    int order = compare_uuids(a, b);

    if (order == 0)
        order = (first->node > second->node) - (first->node < second->node);
    return order != 0 ? order
                      : compare_u64(first->rank->launch->rank, second->rank->launch->rank);
}

/* Sorts GPUs by node, number and part. */
static int compare_places(const void *a, const void *b)
{
    const struct gpu_seen *first = a, *second = b;
    int order = (first->node > second->node) - (first->node < second->node);

    if (order == 0)
        order = compare_u64(first->gpu->index, second->gpu->index);
    if (order == 0)
        order = compare_u64(first->gpu->part + 1, second->gpu->part + 1); /* whole GPU first */
    return order != 0 ? order : compare_texts(first->gpu->uuid, second->gpu->uuid);
}

static size_t count_selected(const struct group_rank *rank)
{
    size_t count = 0;

    for (size_t i = 0; i < rank->record.gpu_count; i++)
        count += rank->record.gpus[i].is_selected;
    return count;
}

/* Sorts ranks: those that used the most GPUs first, then those that ran longest. */
static int compare_users(const void *a, const void *b)
{
    const struct group_rank *first = *(struct group_rank *const *)a;
    const struct group_rank *second = *(struct group_rank *const *)b;
    int order = compare_u64(count_selected(second), count_selected(first));

    if (order == 0)
        order = (first->record.elapsed_seconds < second->record.elapsed_seconds) -
                (first->record.elapsed_seconds > second->record.elapsed_seconds);
    return order != 0 ? order : compare_u64(first->launch->rank, second->launch->rank);
}

/* Selects the ranks whose GPU figures count: each rank that has a GPU that no rank before it
 * has. */
static int select_users(struct merge *merge, const struct gpu_seen *devices, size_t count)
{
    struct group_rank **users =
        record_alloc(&merge->scratch, merge->ended_count, sizeof(struct group_rank *));
    bool *is_counted = record_alloc(&merge->scratch, count, sizeof(*is_counted));

    if (!users || !is_counted)
        return -ENOMEM;
    memcpy(users, merge->ended, merge->ended_count * sizeof(struct group_rank *));
    qsort(users, merge->ended_count, sizeof(struct group_rank *), compare_users);
    for (size_t i = 0; i < merge->ended_count; i++) {
        struct group_rank *rank = users[i];
        bool is_new = false;

        for (size_t k = 0; k < rank->record.gpu_count; k++) {
            const struct gpu_seen key = { &rank->record.gpus[k], rank, rank->of_node };
            const struct gpu_seen *found =
                bsearch(&key, devices, count, sizeof(*devices), compare_uuids);

            /* bsearch() finds any entry of the GPU: go back to the first. */
            while (found > devices && compare_uuids(found - 1, found) == 0)
                found--;
            if (!rank->record.gpus[k].is_selected || !found)
                continue;
            is_new |= !is_counted[found - devices];
            is_counted[found - devices] = true;
        }
        rank->counts_gpus = is_new;
    }
    return 0;
}

/* Adds the figures of a GPU in the report of one rank. */
static void add_device(struct merge *merge, struct record_gpu *gpu,
                       const struct record_gpu *seen)
{
    static const bool adds_up[RECORD_GPU_MEASURES] = {
        [RECORD_GPU_JOB_MEMORY] = true,
        [RECORD_GPU_JOB_UTILIZATION_MEAN] = true,
        [RECORD_GPU_JOB_UTILIZATION_MAX] = true,
    };

    if (!seen->is_selected)
        return;
    for (size_t i = 0; i < RECORD_GPU_MEASURES; i++) {
        struct spoor_figure part = seen->measures[i];
        struct spoor_figure *sum = &gpu->measures[i];

        if (!gpu->is_selected || isnan(sum->value) ||
            (!adds_up[i] && part.value > sum->value)) {
            *sum = record_figure(merge->ret, part, NULL);
        } else if (adds_up[i] && !isnan(part.value)) {
            sum->value += part.value;
            sum->low = sum->high = (double)NAN;
            sum->is_exact &= part.is_exact;
        }
    }
    gpu->is_selected = true;
}

static size_t list_devices(struct merge *merge, struct gpu_seen *devices)
{
    size_t count = 0;

    for (size_t i = 0; i < merge->node_count; i++) {
        const struct node *node = &merge->nodes[i];

        for (size_t k = 0; k < node->ended; k++) {
            struct group_rank *rank = node->ranks[k];

            rank->of_node = node;
            for (size_t g = 0; g < rank->record.gpu_count; g++) {
                if (rank->record.gpus[g].uuid)
                    devices[count++] = (struct gpu_seen){ &rank->record.gpus[g], rank, node };
            }
        }
    }
    return count;
}

/* Renumbers GPUs, since GPUs of different nodes may have the same numbers. */
static void number_gpus(struct record *ret, const struct gpu_seen *places)
{
    uint64_t index = 0;

    for (size_t i = 0; i < ret->gpu_count; i++) {
        if (i > 0 && (places[i].node != places[i - 1].node ||
                      places[i].gpu->index != places[i - 1].gpu->index))
            index++;
        ret->gpus[i].index = index;
    }
}

static int merge_gpu_list(struct merge *merge)
{
    struct record *ret = merge->ret;
    struct gpu_seen *devices, *places;
    size_t count = 0, total = 0;

    for (size_t i = 0; i < merge->ended_count; i++)
        total += merge->ended[i]->record.gpu_count;
    devices = record_alloc(&merge->scratch, total, sizeof(*devices));
    places = record_alloc(&merge->scratch, total, sizeof(*places));
    ret->gpus = record_alloc(ret, total, sizeof(*ret->gpus));
    if (!devices || !places || !ret->gpus)
        return -ENOMEM;
    total = list_devices(merge, devices);
    qsort(devices, total, sizeof(*devices), compare_devices);
    for (size_t i = 0; i < total; i++) {
        if (i == 0 || compare_uuids(&devices[i - 1], &devices[i]) != 0)
            places[count++] = devices[i];
    }
    qsort(places, count, sizeof(*places), compare_places);
    for (size_t i = 0; i < count; i++) {
        const struct gpu_seen *same =
            bsearch(&places[i], devices, total, sizeof(*devices), compare_uuids);
        struct record_gpu *gpu = &ret->gpus[i];

        *gpu = *places[i].gpu;
        gpu->is_selected = false;
        gpu->throttled = NULL;
        gpu->uuid = record_text(ret, gpu->uuid);
        gpu->name = record_text(ret, gpu->name);
        gpu->vendor = record_text(ret, gpu->vendor);
        gpu->pci_address = record_text(ret, gpu->pci_address);
        for (size_t k = 0; k < RECORD_GPU_MEASURES; k++)
            gpu->measures[k] = record_unknown_figure(NULL);
        while (same > devices && compare_uuids(same - 1, same) == 0)
            same--;
        for (; same < devices + total && compare_uuids(same, &places[i]) == 0; same++)
            add_device(merge, gpu, same->gpu);
    }
    ret->gpu_count = count;
    number_gpus(ret, places);
    return select_users(merge, devices, total);
}

/* ---- nodes and ranks ----------------------------------------------------------- */

/* Add a value to a sum; unknown ones are left out. */
static void add_known(uint64_t *sum, uint64_t value)
{
    if (is_known(value))
        *sum = sum_u64(known_or_0(*sum), value);
}

static void add_number(double *sum, double value)
{
    if (!isnan(value))
        *sum = isnan(*sum) ? value : *sum + value;
}

static uint64_t count_of(double value)
{
    return value >= 0 && value < 0x1p63 ? (uint64_t)value : UNKNOWN;
}

static void list_node_gpus(struct merge *merge, const struct node *from,
                           struct record_node *node)
{
    size_t count = 0, room = 0;

    for (size_t i = 0; i < from->ended; i++)
        room += from->ranks[i]->record.gpu_count;
    node->gpus = record_alloc(merge->ret, room + 1, sizeof(*node->gpus));
    for (size_t i = 0; node->gpus && i < from->ended; i++) {
        const struct group_rank *rank = from->ranks[i];

        for (size_t k = 0; k < rank->record.gpu_count; k++) {
            const char *uuid = rank->record.gpus[k].uuid;
            size_t at = 0;

            while (at < count && compare_texts(node->gpus[at], uuid) != 0)
                at++;
            if (at == count && uuid && rank->record.gpus[k].is_selected)
                node->gpus[count++] = record_text(merge->ret, uuid);
        }
    }
}

static int add_nodes(struct merge *merge)
{
    struct record_group *section = merge->section;
    ssize_t cpu = figure_index("cpu.total_seconds");

    section->nodes = record_alloc(merge->ret, merge->node_count, sizeof(*section->nodes));
    if (!section->nodes)
        return -ENOMEM;
    for (size_t i = 0; i < merge->node_count; i++) {
        const struct node *from = &merge->nodes[i];
        struct record_node *node = &section->nodes[i];
        double start = HUGE_VAL, end = 0;

        field_table_clear(&record_node_list.fields, node);
        node->host = record_text(merge->ret, from->host);
        node->node = from->index;
        node->ranks = from->count;
        node->reported = from->ended;
        node->memory = from->ended > 0 ? from->memory : record_unknown_figure(merge->missing);
        for (size_t k = 0; k < from->ended; k++) {
            const struct group_rank *rank = from->ranks[k];

            raise_to(&node->cpus, rank->record.cpus);
            raise_to(&node->memory_limit_bytes, rank->record.memory_limit_bytes);
            start = fmin(start, rank->curve.start);
            end = fmax(end, rank->curve.start + rank->record.elapsed_seconds);
            add_number(&node->cpu_seconds, rank->record.figures[cpu].value);
        }
        node->elapsed_seconds = from->ended > 0 ? end - start : (double)NAN;
        list_node_gpus(merge, from, node);
    }
    section->node_count = merge->node_count;
    section->deciding_node = section->nodes[merge->deciding].host;
    return 0;
}

/* Returns how long a rank waited. Excludes the pressure of the machine, which is not caused
 * by one rank. */
static double wait_of(const struct group_rank *rank)
{
    static const char *const paths[] = { "pressure.cpu_seconds", "pressure.memory_seconds",
                                         "pressure.io_seconds" };
    double sum = (double)NAN;

    for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
        struct spoor_figure figure = record_find(rank->record.figures, paths[i]);

        if (!source_is_host(figure.source))
            add_number(&sum, figure.value);
    }
    return sum;
}

static int add_ranks(struct merge *merge)
{
    struct record_group *section = merge->section;
    struct record *ret = merge->ret;

    section->ranks_seen = record_alloc(ret, merge->ended_count, sizeof(*section->ranks_seen));
    if (!section->ranks_seen)
        return -ENOMEM;
    for (size_t i = 0; i < merge->ended_count; i++) {
        const struct group_rank *from = merge->ended[i];

        section->ranks_seen[i] = (struct record_rank){
            .rank = from->launch->rank,
            .local_rank = from->launch->local_rank,
            .host = record_share_text(ret, from->record.host,
                                      i > 0 ? section->ranks_seen[i - 1].host : NULL),
            .id = record_text(ret, from->record.id),
            .started_seconds = from->curve.start,
            .elapsed_seconds = from->record.elapsed_seconds,
            .cpu_seconds = record_value(&from->record, "cpu.total_seconds"),
            .mean_cores = record_value(&from->record, "cpu.mean_cores"),
            .peak_rss_bytes =
                count_of(record_value(&from->record, "memory.combined.total_rss_bytes")),
            .gpu_memory_bytes =
                count_of(record_value(&from->record, "gpu.memory.combined_bytes")),
            .read_bytes = count_of(record_value(&from->record, "io.read_bytes")),
            .written_bytes = count_of(record_value(&from->record, "io.written_bytes")),
            .wait_seconds = wait_of(from),
            .exit_code = from->record.exit_code,
            .signal = record_text(ret, from->record.signal),
            .restart = from->launch->restart,
        };
    }
    section->seen_count = merge->ended_count;
    return 0;
}

/* Sum and maximum of the values of all ranks. */
struct spread {
    double sum, largest;
    size_t count;
};

static void spread_add(struct spread *spread, double value)
{
    if (isnan(value))
        return;
    spread->sum += value;
    spread->largest = fmax(spread->largest, value);
    spread->count++;
}

static double imbalance(const struct spread *spread)
{
    return spread->sum > 0 ? spread->largest / (spread->sum / (double)spread->count)
                           : (double)NAN;
}

static void compare_ranks(struct record_group *section)
{
    struct spread cpu = { 0 }, memory = { 0 }, elapsed = { 0 }, waiting = { 0 };

    for (size_t i = 0; i < section->seen_count; i++) {
        const struct record_rank *rank = &section->ranks_seen[i];

        spread_add(&cpu, rank->cpu_seconds);
        spread_add(&memory, as_number(rank->peak_rss_bytes));
        spread_add(&elapsed, rank->elapsed_seconds);
        spread_add(&waiting, rank->wait_seconds);
    }
    section->cpu_imbalance = imbalance(&cpu);
    section->memory_imbalance = imbalance(&memory);
    section->elapsed_imbalance = imbalance(&elapsed);
    section->wait_imbalance = imbalance(&waiting);
}

static void add_missing(struct merge *merge, uint64_t number, const struct group_rank *begun)
{
    struct record_group *section = merge->section;

    if (section->missing_count == GROUP_MISSING_MAX)
        return;
    section->missing[section->missing_count++] = (struct record_missing){
        .rank = number,
        .host = record_text(merge->ret, begun ? begun->record.host : NULL),
        .started_at = begun ? begun->record.started_at : (double)NAN,
        .reason = record_text(merge->ret, begun ? "it has no end" : "it never began"),
    };
}

/* Lists ranks without an end and ranks that never began. */
static int list_missing(struct merge *merge)
{
    struct record_group *section = merge->section;
    uint64_t next = 0;

    section->missing = record_alloc(merge->ret, GROUP_MISSING_MAX, sizeof(*section->missing));
    if (!section->missing)
        return -ENOMEM;
    for (size_t i = 0; i < merge->count; i++) {
        const struct group_rank *rank = merge->ranks[i];

        for (; is_known(rank->launch->rank) && next < rank->launch->rank &&
               section->missing_count < GROUP_MISSING_MAX;
             next++)
            add_missing(merge, next, NULL);
        next = is_known(rank->launch->rank) ? rank->launch->rank + 1 : merge->size;
        if (!rank->record.figures)
            add_missing(merge, rank->launch->rank, rank);
    }
    for (; next < merge->size && section->missing_count < GROUP_MISSING_MAX; next++)
        add_missing(merge, next, NULL);
    return 0;
}

/* ---- curves --------------------------------------------------------------------- */

static struct curve_value value_at(const struct rank_curve *curve, size_t column, size_t point)
{
    return curve->columns[column]
               ? curve_get(curve->curve, curve->columns[column], point, point + 1)
               : (struct curve_value){ (double)NAN, (double)NAN, (double)NAN };
}

/* Computes the mean number of cores and the peak memory of a rank in each cell. */
static void fill_cells(const struct rank_curve *curve, double width, size_t cells, float *cores,
                       float *memory)
{
    const struct record_curve *points = curve->curve;

    for (size_t i = 0; i < cells; i++) {
        double from = (double)i * width, to = from + width, sum = 0, time = 0;

        cores[i] = memory[i] = (float)NAN;
        for (size_t k = 0; k < points->count; k++) {
            double start = curve->start + curve_start(points, k);
            double overlap = fmin(to, curve->start + points->seconds[k]) - fmax(from, start);
            double cpu, rss;

            if (!(overlap > 0))
                continue;
            rss = value_at(curve, GROUP_RSS, k).high;
            cpu = value_at(curve, GROUP_CPU, k).mean;
            if (isfinite(rss) && !((double)memory[i] >= rss))
                memory[i] = (float)rss; /* replaces NaN, too */
            if (isfinite(cpu)) {
                sum += cpu * overlap;
                time += overlap;
            }
        }
        if (time > 0)
            cores[i] = (float)(sum / time);
    }
}

/* Uses fewer cells if there are very many ranks, to keep the report small. */
static int add_rank_curves(struct merge *merge)
{
    enum { VALUES_MAX = GROUP_CELLS_MAX * 1000, CELLS_MIN = 20 };
    struct record_group *section = merge->section;
    size_t cells = merge->ended_count > 0 ? VALUES_MAX / merge->ended_count : 0;

    if (!(merge->seconds > 0) || merge->ended_count == 0)
        return 0;
    cells = cells > GROUP_CELLS_MAX ? GROUP_CELLS_MAX : cells < CELLS_MIN ? CELLS_MIN : cells;
    section->cell_seconds = record_alloc(merge->ret, cells, sizeof(double));
    section->cores = record_alloc(merge->ret, merge->ended_count, cells * sizeof(float));
    section->memory_bytes = record_alloc(merge->ret, merge->ended_count, cells * sizeof(float));
    if (!section->cell_seconds || !section->cores || !section->memory_bytes)
        return -ENOMEM;
    section->cell_count = cells;
    for (size_t i = 0; i < cells; i++)
        section->cell_seconds[i] =
            floor(merge->seconds * (double)(i + 1) / (double)cells * 1e3 + 0.5) / 1e3;
    for (size_t i = 0; i < merge->ended_count; i++)
        fill_cells(&merge->ended[i]->curve, merge->seconds / (double)cells, cells,
                   &section->cores[i * cells], &section->memory_bytes[i * cells]);
    return 0;
}

static bool has_column(const struct merge *merge, size_t column)
{
    for (size_t i = 0; i < merge->ended_count; i++) {
        if (merge->ended[i]->curve.columns[column])
            return true;
    }
    return false;
}

static int add_curve(struct merge *merge)
{
    struct record_curve *curve = &merge->ret->curve;
    size_t cells =
        merge->sweep.count < CURVE_JSON_POINTS ? merge->sweep.count : CURVE_JSON_POINTS;

    if (!(merge->seconds > 0) || cells == 0)
        return 0;
    curve->seconds = record_alloc(merge->ret, cells, sizeof(*curve->seconds));
    curve->columns = record_alloc(merge->ret, GROUP_COLUMNS, sizeof(*curve->columns));
    if (!curve->seconds || !curve->columns)
        return -ENOMEM;
    for (size_t i = 0; i < cells; i++)
        curve->seconds[i] = merge->seconds * (double)(i + 1) / (double)cells;
    for (size_t i = 0; i < GROUP_COLUMNS; i++) {
        const struct spoor_metric *metric = &metric_row(group_metrics[i])->published;
        float *values = record_alloc(merge->ret, cells, 3 * sizeof(*values));
        struct curve_column *column = &curve->columns[curve->column_count];

        if (!values)
            return -ENOMEM;
        if (!has_column(merge, i))
            continue;
        *column = (struct curve_column){ metric->name, metric->kind == SPOOR_COUNTER, values,
                                         values + cells, values + 2 * cells };
        sweep_fill(&merge->sweep, i, merge->seconds, cells, column);
        curve->column_count++;
    }
    curve->count = cells;
    curve->samples = known_or_0(merge->ret->samples);
    record_fill_distribution(merge->ret);
    if (merge->node_count > 1) /* the limit applies to one node, the curve to all */
        merge->ret->memory.near_limit_seconds = (double)NAN;
    return 0;
}

/* ---- the run and its machines ------------------------------------------------------ */

static void copy_tags(struct record *ret, const struct record_tags *tags)
{
    ret->tags.items = record_alloc(ret, tags->count, sizeof(*ret->tags.items));
    for (size_t i = 0; ret->tags.items && i < tags->count; i++) {
        ret->tags.items[i].key = record_text(ret, tags->items[i].key);
        ret->tags.items[i].value = record_text(ret, tags->items[i].value);
        ret->tags.count = i + 1;
    }
}

/* Copies the command, the name and other facts of the lowest rank that has an end. */
static void copy_first(struct merge *merge)
{
    const struct record *first = merge->ended_count > 0 ? &merge->ended[0]->record : NULL;
    struct record *ret = merge->ret;

    if (!first)
        return;
    ret->name = record_text(ret, first->name);
    copy_tags(ret, &first->tags);
    ret->command = record_texts(ret, first->command);
    ret->user = record_text(ret, first->user);
    ret->cwd = record_text(ret, first->cwd);
    ret->spoor_version = record_text(ret, first->spoor_version);
    ret->os = record_text(ret, first->os);
    ret->kernel = record_text(ret, first->kernel);
    ret->cpu_model = record_text(ret, first->cpu_model);
    ret->interval_seconds = first->interval_seconds;
    ret->budget_percent = first->budget_percent;
    if (!first->launch)
        return;
    ret->launch = launch_copy(ret, first->launch);
    if (ret->launch) {
        ret->launch->rank = ret->launch->local_rank = ret->launch->local_ranks = UNKNOWN;
        ret->launch->node = UNKNOWN;
        ret->launch->node_name = NULL;
    }
}

/* The group gets the exit code of the first rank that failed. */
static void sum_ranks(struct merge *merge)
{
    struct record *ret = merge->ret;

    for (size_t i = 0; i < merge->ended_count; i++) {
        const struct group_rank *rank = merge->ended[i];

        if (!is_known(ret->exit_code) ||
            (ret->exit_code == 0 && is_known(rank->record.exit_code))) {
            ret->exit_code = rank->record.exit_code;
            ret->signal = record_text(ret, rank->record.signal);
        }
        add_known(&ret->samples, rank->record.samples);
        add_known(&ret->late_samples, rank->record.late_samples);
        raise_to(&ret->tracker_max_rss_bytes, rank->record.tracker_max_rss_bytes);
        add_number(&ret->tracker_cpu_seconds, rank->record.tracker_cpu_seconds);
    }
}

/* Returns how many CPUs the ranks of a node may use: they share the quota of a cgroup, but
 * each has its own affinity. */
static double limit_cpus(const struct node *node, const char **ret_source)
{
    double sum = 0, largest = 0, cpus = 0;
    bool is_shared = false;

    for (size_t i = 0; i < node->ended; i++) {
        const struct group_rank *rank = node->ranks[i];

        if (isnan(rank->record.cpus_limit))
            continue;
        is_shared |= rank->record.cpus_limit_source &&
                     begins_with(rank->record.cpus_limit_source, "cgroup.");
        *ret_source = rank->record.cpus_limit_source;
        largest = fmax(largest, rank->record.cpus_limit);
        cpus = fmax(cpus, is_known(rank->record.cpus) ? (double)rank->record.cpus
                                                      : rank->record.cpus_limit);
        sum += rank->record.cpus_limit;
    }
    if (!(largest > 0))
        return (double)NAN;
    return is_shared ? largest : fmin(sum, cpus);
}

/* CPUs are summed over all nodes; memory and its limit belong to the node with the most
 * memory. */
static void sum_machines(struct merge *merge)
{
    const struct node *deciding = &merge->nodes[merge->deciding];
    struct record *ret = merge->ret;
    const char *source = NULL;
    double limit = 0;

    for (size_t i = 0; i < merge->node_count; i++) {
        const struct node *node = &merge->nodes[i];
        uint64_t cpus = UNKNOWN, gpus = UNKNOWN;

        for (size_t k = 0; k < node->ended; k++) {
            raise_to(&cpus, node->ranks[k]->record.cpus);
            raise_to(&gpus, node->ranks[k]->record.whole_gpus);
        }
        add_known(&ret->cpus, cpus);
        add_known(&ret->whole_gpus, gpus);
        if (node->ended > 0)
            limit += limit_cpus(node, &source); /* NaN: unknown */
    }
    ret->cpus_limit = merge->ended_count > 0 ? limit : (double)NAN;
    ret->cpus_limit_source = record_text(ret, source);
    for (size_t k = 0; k < deciding->ended; k++) {
        const struct group_rank *rank = deciding->ranks[k];

        raise_to(&ret->memory_bytes, rank->record.memory_bytes);
        raise_to(&ret->memory_limit_bytes, rank->record.memory_limit_bytes);
        if (rank->record.memory_limit_source)
            ret->memory_limit_source = rank->record.memory_limit_source;
    }
    ret->memory_limit_source = record_text(ret, ret->memory_limit_source);
}

/* ---- all of it ------------------------------------------------------------------------ */

static void describe(struct merge *merge)
{
    struct record_group *section = merge->section;
    struct record *ret = merge->ret;
    char id[RUN_ID_SIZE];

    section->ranks = merge->size;
    section->reported = merge->ended_count;
    compare_ranks(section);
    for (size_t i = 0; i < merge->count; i++) {
        if (!is_known(section->nodes_expected))
            section->nodes_expected = merge->ranks[i]->launch->nodes;
    }
    copy_first(merge);
    if (merge->node_count == 1)
        ret->host = record_text(ret, merge->nodes[0].host);
    ret->started_at = merge->started_at;
    ret->elapsed_seconds = merge->seconds;
    ret->ended_at = merge->started_at + merge->seconds;
    sum_ranks(merge);
    sum_machines(merge);
    row_make_id(ret, id);
    ret->id = record_text(ret, id);
}

static int merge_all(struct merge *merge)
{
    static int (*const steps[])(struct merge * merge) = { merge_gpu_list, merge_figures,
                                                          add_nodes, add_ranks, list_missing };
    int r = merge_select(merge);

    if (r < 0)
        return r;
    if (merge->ended_count < merge->size) {
        char text[80];

        (void)snprintf(text, sizeof(text), "%llu of %llu ranks have no end",
                       (unsigned long long)(merge->size - merge->ended_count),
                       (unsigned long long)merge->size);
        merge->missing = record_text(merge->ret, text);
    }
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(steps); i++)
        r = steps[i](merge);
    if (r < 0)
        return r;
    describe(merge);
    add_warnings(merge);
    r = add_rank_curves(merge);
    return r < 0 ? r : add_curve(merge);
}

int group_merge(struct group *group, struct record *ret, struct spoor_error *err)
{
    struct record record;
    struct merge merge = { .group = group, .ret = &record };
    int r;

    if (group->count == 0)
        return error_set(err, ENODATA, "no rank has begun");
    record_init(&record);
    record_init(&merge.scratch);
    record.group = merge.section = record_alloc(&record, 1, sizeof(*merge.section));
    if (merge.section)
        field_table_clear(&record_group_fields, merge.section);
    r = merge.section ? merge_all(&merge) : -ENOMEM;
    for (size_t i = 0; i < merge.node_count; i++)
        sweep_done(&merge.nodes[i].sweep);
    sweep_done(&merge.sweep);
    record_done(&merge.scratch);
    if (r == 0)
        r = record.error;
    if (r < 0) {
        record_done(&record);
        return error_sys(err, r, "cannot merge the ranks");
    }
    *ret = record;
    return 0;
}
