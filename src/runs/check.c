/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/compiler.h"
#include "base/error.h"
#include "runs/compare.h"
#include "text/escape.h"

/* ---- limits ------------------------------------------------------------- */

int run_limit_parse(const char *text, struct run_limit *ret, struct spoor_error *err)
{
    const char *equals = strchr(text, '=');
    AUTO_FREE char *name = NULL;
    int r;

    if (!equals || equals == text || !equals[1])
        return error_set(err, EINVAL,
                         "invalid limit '%s': expected FIGURE=VALUE, such as memory=2GiB",
                         text);
    name = strndup(text, (size_t)(equals - text));
    if (!name)
        return error_set(err, ENOMEM, "out of memory");
    r = run_figure_find(name, &ret->figure, err);
    return r < 0 ? r : run_figure_parse(&ret->figure, equals + 1, &ret->max, err);
}

/* Returns whether a limit is broken; if so, writes a line about it. */
static bool is_broken(const struct run_limit *limit, const struct record *run,
                      struct buffer *out)
{
    struct spoor_figure figure = run_figure_get(&limit->figure, run);
    double low = run_figure_low(&figure), high = run_figure_high(&figure);

    if (isnan(figure.value)) {
        buffer_format(out, "%s is unknown (%s): the limit of %s was not checked",
                      limit->figure.name, figure.reason ? figure.reason : "not measured",
                      run_figure_text(&limit->figure, limit->max).text);
        return true;
    }
    if (figure.value <= limit->max)
        return false;
    buffer_format(out, "%s: %s is more than %s", limit->figure.name,
                  run_figure_text(&limit->figure, figure.value).text,
                  run_figure_text(&limit->figure, limit->max).text);
    if (low < high)
        buffer_format(out, " (measured between %s and %s)",
                      run_figure_text(&limit->figure, low).text,
                      run_figure_text(&limit->figure, high).text);
    return true;
}

int run_limits_check(const char *const *limits, const struct record *run,
                     void (*broken)(void *data, const struct record *run, const char *line),
                     void *data, struct spoor_error *err)
{
    for (; limits && *limits; limits++) {
        CLEANUP(buffer_done) struct buffer line = { 0 };
        struct run_limit limit = { 0 };
        int r = run_limit_parse(*limits, &limit, err);

        if (r < 0)
            return r;
        if (is_broken(&limit, run, &line) && line.text)
            broken(data, run, line.text);
    }
    return 0;
}

/* ---- the baseline ------------------------------------------------------- */

static bool is_same(const struct record *a, const struct record *b)
{
    return a == b || (a->id && b->id && strcmp(a->id, b->id) == 0);
}

static bool has_same_machine(const struct record *a, const struct record *b)
{
    CLEANUP(buffer_done) struct buffer first = { 0 }, second = { 0 };

    (void)run_property(a, "machine", &first, NULL);
    (void)run_property(b, "machine", &second, NULL);
    return first.text && second.text && strcmp(first.text, second.text) == 0;
}

static int compare_starts(const void *a, const void *b)
{
    const struct record *first = *(const struct record *const *)a;
    const struct record *second = *(const struct record *const *)b;

    return (first->started_at > second->started_at) - (first->started_at < second->started_at);
}

int baseline_find(const struct run_set *set, const struct record *run, struct run_group *ret)
{
    const struct record **runs = calloc(set->count + 1, sizeof(struct record *));
    size_t count = 0;

    if (!runs)
        return -ENOMEM;
    for (size_t i = 0; i < set->count; i++) {
        const struct record *other = &set->runs[i];

        if (!is_same(other, run) && !record_has_failed(other) && has_same_machine(other, run) &&
            !(other->started_at > run->started_at))
            runs[count++] = other;
    }
    qsort(runs, count, sizeof(struct record *), compare_starts);
    *ret = (struct run_group){ NULL, runs, count };
    if (count > BASELINE_RUNS) {
        memmove(runs, runs + count - BASELINE_RUNS, BASELINE_RUNS * sizeof(struct record *));
        ret->count = BASELINE_RUNS;
    }
    return 0;
}

void baseline_done(struct run_group *baseline)
{
    free(baseline->runs);
    *baseline = (struct run_group){ 0 };
}

int baseline_check(const struct run_group *baseline, const struct run_figure *figure,
                   const struct record *run, double tolerance, struct buffer *out)
{
    double value = run_figure_get(figure, run).value;
    double values[BASELINE_RUNS], margin;
    struct statistics usual;
    size_t count = run_values(baseline->runs, baseline->count, figure, values);

    statistics_of(values, count, &usual);
    if (isnan(value) || count == 0)
        return 0;
    if (count < COMPARE_RANGE_MIN && !(tolerance > 0))
        return -ENODATA;
    margin = tolerance * usual.median;
    if (count >= COMPARE_RANGE_MIN)
        margin = fmax(margin, statistics_tolerance(&usual));
    if (!(value > usual.median + margin))
        return 0;
    escape_unsafe(figure->name, out);
    buffer_format(out,
                  ": %s is more than %s, the most that is usual: the median of %zu run%s is %s",
                  run_figure_text(figure, value).text,
                  run_figure_text(figure, usual.median + margin).text, count,
                  count == 1 ? "" : "s", run_figure_text(figure, usual.median).text);
    if (usual.median > 0)
        buffer_format(out, " (%+.1f %%)", 100 * (value / usual.median - 1));
    return 1;
}
