/* SPDX-License-Identifier: Apache-2.0 */
#include "record/load_curve.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/unknown.h"

/* More are not from us. */
enum { POINTS_MAX = 65536, COLUMNS_MAX = 4096 };

static int load_seconds(struct record *record, const json_t *array, struct spoor_error *err)
{
    struct record_curve *curve = &record->curve;
    size_t count = json_array_size(array);
    double before = 0;

    if (!json_is_array(array) || count > POINTS_MAX)
        return error_set(err, EBADMSG, "curve.seconds: expected an array of at most %d numbers",
                         POINTS_MAX);
    curve->seconds = record_alloc(record, count, sizeof(*curve->seconds));
    for (size_t i = 0; curve->seconds && i < count; i++) {
        const json_t *value = json_array_get(array, i);

        curve->seconds[i] = json_number_value(value);
        if (!json_is_number(value) || !(curve->seconds[i] >= before))
            return error_set(err, EBADMSG,
                             "curve.seconds: expected numbers that never decrease");
        before = curve->seconds[i];
    }
    curve->count = curve->seconds ? count : 0;
    return 0;
}

static int refuse_values(const struct curve_column *column, const char *key, size_t count,
                         struct spoor_error *err)
{
    return error_set(err, EBADMSG,
                     "curve.columns.%.64s.%s: expected an array of %zu numbers or nulls",
                     column->name, key, count);
}

/* If there are none, they are as the highest. */
static int load_values(struct record *record, const struct curve_column *column,
                       const json_t *object, const char *key, float **ret,
                       struct spoor_error *err)
{
    const json_t *array = json_object_get(object, key);
    size_t count = record->curve.count;
    float *values;

    if (!array && column->high) {
        *ret = column->high;
        return 0;
    }
    if (!json_is_array(array) || json_array_size(array) != count)
        return refuse_values(column, key, count, err);
    values = record_alloc(record, count, sizeof(*values));
    for (size_t i = 0; values && i < count; i++) {
        const json_t *value = json_array_get(array, i);

        if (!json_is_number(value) && !json_is_null(value))
            return refuse_values(column, key, count, err);
        values[i] = json_is_null(value) ? (float)NAN : (float)json_number_value(value);
    }
    *ret = values;
    return 0;
}

/* Unknown is unknown in all three. */
static int check_unknown(const struct curve_column *column, size_t count,
                         struct spoor_error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (isnan(column->high[i]) != isnan(column->low[i]) ||
            isnan(column->high[i]) != isnan(column->mean[i]))
            return error_set(err, EBADMSG,
                             "curve.columns.%.64s: expected the same nulls in all arrays",
                             column->name);
    }
    return 0;
}

static int load_column(struct record *record, const char *name, const json_t *object,
                       struct spoor_error *err)
{
    struct record_curve *curve = &record->curve;
    const char *kind = json_string_value(json_object_get(object, "kind"));
    struct curve_column column = { .name = record_text(record, name) };
    int r;

    if (!kind || (strcmp(kind, "rate") != 0 && strcmp(kind, "gauge") != 0))
        return error_set(err, EBADMSG, "curve.columns.%.64s.kind: expected rate or gauge",
                         name);
    if (!column.name)
        return 0; /* record->error says so */
    column.is_rate = strcmp(kind, "rate") == 0;
    r = load_values(record, &column, object, "high", &column.high, err);
    if (r == 0)
        r = load_values(record, &column, object, "low", &column.low, err);
    if (r == 0)
        r = load_values(record, &column, object, "mean", &column.mean, err);
    if (r < 0 || !column.high || !column.low || !column.mean)
        return r; /* record->error says so */
    curve->columns[curve->column_count++] = column;
    return check_unknown(&column, curve->count, err);
}

int load_curve(struct record *record, const json_t *curve, struct spoor_error *err)
{
    json_t *columns = json_object_get(curve, "columns");
    json_t *samples = json_object_get(curve, "samples");
    json_t *column;
    const char *name;
    int r;

    if (!curve || json_is_null(curve))
        return 0;
    if (!json_is_object(columns) || json_object_size(columns) > COLUMNS_MAX)
        return error_set(err, EBADMSG, "curve.columns: expected an object");
    if (!json_is_integer(samples) || json_integer_value(samples) < 0)
        return error_set(err, EBADMSG, "curve.samples: expected a whole number");
    record->curve.samples = (uint64_t)json_integer_value(samples);
    r = load_seconds(record, json_object_get(curve, "seconds"), err);
    record->curve.columns =
        record_alloc(record, json_object_size(columns), sizeof(*record->curve.columns));
    json_object_foreach(columns, name, column)
    {
        if (r == 0 && record->curve.columns)
            r = load_column(record, name, column, err);
    }
    return r;
}
