/* SPDX-License-Identifier: Apache-2.0 */
#include "runs/compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/compiler.h"

/* ---- one set ------------------------------------------------------------ */

/* Takes the bounds of the run whose value is nearest to the median. */
static void find_bounds(const struct run_group *group, const struct run_figure *figure,
                        struct set_figure *ret)
{
    double nearest = (double)INFINITY;

    ret->is_exact = true;
    for (size_t i = 0; i < group->count; i++) {
        struct spoor_figure value = run_figure_get(figure, group->runs[i]);
        double distance = fabs(value.value - ret->statistics.median);

        if (isnan(value.value) && !ret->reason)
            ret->reason = value.reason ? value.reason : "unknown";
        ret->is_exact &= isnan(value.value) || value.is_exact;
        if (!(distance < nearest))
            continue;
        nearest = distance;
        ret->low = run_figure_low(&value);
        ret->high = run_figure_high(&value);
    }
    if (ret->statistics.count > 0)
        ret->reason = NULL;
}

/* Stores the known values in `values`, sorted; the array has room for one per run. */
static void summarize(const struct run_group *group, const struct run_figure *figure,
                      double *values, struct set_figure *ret)
{
    size_t count = run_values(group->runs, group->count, figure, values);

    *ret = (struct set_figure){ .low = (double)NAN, .high = (double)NAN };
    statistics_of(values, count, &ret->statistics);
    find_bounds(group, figure, ret);
}

/* ---- two sets ----------------------------------------------------------- */

/* Ignores small differences: with a resolution of a microsecond, two times are never equal. */
static void compare_singles(struct figure_change *change)
{
    const struct set_figure *a = &change->a, *b = &change->b;
    bool overlaps = a->low <= b->high && b->low <= a->high;
    double difference = fabs(a->statistics.median - b->statistics.median);
    bool matters = difference > STATISTICS_SHARE_MIN * fabs(a->statistics.median);

    change->verdict = overlaps || !matters ? VERDICT_SAME : VERDICT_DIFFERS;
    change->note = overlaps   ? "the bounds overlap"
                   : !matters ? "less than half a percent"
                              : "the bounds do not overlap";
}

static void compare_to_range(const struct statistics *one, const struct statistics *many,
                             struct figure_change *change)
{
    bool is_inside = fabs(one->median - many->median) <= statistics_tolerance(many);

    change->is_range = true;
    change->verdict = is_inside ? VERDICT_SAME : VERDICT_DIFFERS;
    change->note = is_inside ? "inside the usual range" : "outside the usual range";
}

static void decide(const struct comparison *comparison, struct figure_change *change)
{
    const struct statistics *a = &change->a.statistics, *b = &change->b.statistics;
    const struct statistics *fewer = a->count <= b->count ? a : b;
    const struct statistics *more = a->count <= b->count ? b : a;

    change->p = comparison->p;
    if (a->count == 0 || b->count == 0) {
        change->note = "unknown";
    } else if (more->count == 1) {
        compare_singles(change);
    } else if (!isnan(comparison->p)) {
        change->verdict = comparison->is_significant ? VERDICT_DIFFERS : VERDICT_SAME;
        change->note = comparison->is_significant ? "significant" : "not significant";
    } else if (fewer->count == 1 && more->count >= COMPARE_RANGE_MIN) {
        compare_to_range(fewer, more, change);
    } else {
        change->note = "too few runs";
    }
}

int runs_compare(const struct run_group *a, const struct run_group *b,
                 const struct run_figure *figure, struct figure_change *ret)
{
    AUTO_FREE double *values = calloc(a->count + b->count + 1, sizeof(*values));
    struct comparison comparison;
    double *others;
    int r;

    *ret = (struct figure_change){ .verdict = VERDICT_UNKNOWN };
    if (!values)
        return -ENOMEM;
    others = values + a->count;
    summarize(a, figure, values, &ret->a);
    summarize(b, figure, others, &ret->b);
    r = statistics_compare(values, ret->a.statistics.count, others, ret->b.statistics.count,
                           &comparison);
    ret->ratio = comparison.ratio;
    ret->ratio_low = comparison.low;
    ret->ratio_high = comparison.high;
    decide(&comparison, ret);
    return r;
}

/* ---- machines ----------------------------------------------------------- */

/* Adds the machine of a run to the list, unless it is there already. Each line of the list
 * begins with a newline. */
static void add_machine(const struct record *run, struct buffer *list)
{
    CLEANUP(buffer_done) struct buffer line = { 0 };

    buffer_add_text(&line, "\n");
    (void)run_property(run, "machine", &line, NULL); /* cannot fail */
    buffer_add_text(&line, "\n");
    if (buffer_error(&line) == 0 && list->text && !strstr(list->text, line.text))
        buffer_add_text(list, line.text + 1);
}

void runs_describe_machines(const struct run_groups *groups, struct buffer *out)
{
    CLEANUP(buffer_done) struct buffer list = { 0 };
    const char *machine;

    buffer_add_text(&list, "\n");
    for (size_t i = 0; i < groups->count; i++) {
        for (size_t k = 0; k < groups->items[i].count; k++)
            add_machine(groups->items[i].runs[k], &list);
    }
    if (!list.text || strchr(list.text + 1, '\n') == strrchr(list.text, '\n'))
        return;
    buffer_add_text(out, "different machines");
    for (machine = list.text + 1; *machine; machine += strcspn(machine, "\n") + 1) {
        buffer_add_text(out, machine == list.text + 1 ? ": " : "; ");
        buffer_add(out, machine, strcspn(machine, "\n"));
    }
}
