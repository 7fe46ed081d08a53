/* SPDX-License-Identifier: Apache-2.0 */
#include "output/curve_json.h"

#include <math.h>

#include "text/number.h"

/* Several points become one, which keeps what was highest and lowest in them. */
struct reduction {
    const struct record_curve *curve;
    size_t step;
};

typedef double part_of(struct curve_value value);

static double high_of(struct curve_value value)
{
    return value.high;
}

static double low_of(struct curve_value value)
{
    return value.low;
}

static double mean_of(struct curve_value value)
{
    return value.mean;
}

static struct curve_value get(const struct reduction *reduction,
                              const struct curve_column *column, size_t first)
{
    size_t count = reduction->curve->count;
    size_t end = count - first < reduction->step ? count : first + reduction->step;

    return curve_get(reduction->curve, column, first, end);
}

static void add_rounded(struct json_writer *json, double value)
{
    if (isfinite(value)) {
        json_begin_value(json, NULL);
        rounded_write(value, json->out);
    } else {
        json_add_null(json, NULL);
    }
}

static void add_array(struct json_writer *json, const char *key,
                      const struct reduction *reduction, const struct curve_column *column,
                      part_of *part)
{
    json_begin_line(json, key, '[');
    for (size_t i = 0; i < reduction->curve->count; i += reduction->step)
        add_rounded(json, part(get(reduction, column, i)));
    json_end(json);
}

/* Is a part written the same as the highest value at every point? */
static bool is_same(const struct reduction *reduction, const struct curve_column *column,
                    part_of *part)
{
    for (size_t i = 0; i < reduction->curve->count; i += reduction->step) {
        struct curve_value value = get(reduction, column, i);

        if (!rounded_equal(value.high, part(value)))
            return false;
    }
    return true;
}

static void add_column(struct json_writer *json, const struct reduction *reduction,
                       const struct curve_column *column)
{
    json_begin(json, column->name, '{');
    json_add_text(json, "kind", column->is_rate ? "rate" : "gauge");
    add_array(json, "high", reduction, column, high_of);
    if (!is_same(reduction, column, low_of))
        add_array(json, "low", reduction, column, low_of);
    if (!is_same(reduction, column, mean_of))
        add_array(json, "mean", reduction, column, mean_of);
    json_end(json);
}

/* In steps of 0.1 ms. */
static void add_seconds(struct json_writer *json, const struct reduction *reduction)
{
    const struct record_curve *curve = reduction->curve;

    json_begin_line(json, "seconds", '[');
    for (size_t i = 0; i < curve->count; i += reduction->step) {
        size_t last = i + reduction->step < curve->count ? i + reduction->step : curve->count;

        json_add_number(json, NULL, floor(curve->seconds[last - 1] * 1e4 + 0.5) / 1e4);
    }
    json_end(json);
}

void curve_add_json(struct json_writer *json, const struct record_curve *curve,
                    size_t max_points)
{
    const struct reduction reduction = { curve, curve_step(curve, max_points) };

    if (curve->count == 0) {
        json_add_null(json, "curve");
        return;
    }
    json_begin(json, "curve", '{');
    json_add_u64(json, "samples", curve->samples);
    add_seconds(json, &reduction);
    json_begin(json, "columns", '{');
    for (size_t i = 0; i < curve->column_count; i++)
        add_column(json, &reduction, &curve->columns[i]);
    json_end(json);
    json_end(json);
}
