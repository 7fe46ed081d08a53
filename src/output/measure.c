/* SPDX-License-Identifier: Apache-2.0 */
#include "output/measure.h"

#include <math.h>

#include "base/unknown.h"
#include "text/number.h"

void metric_write(enum metric metric, uint64_t raw, struct buffer *out)
{
    if (!is_known(raw))
        return;
    switch (metric_row(metric)->unit) {
    case UNIT_NANOSECONDS:
        number_write_seconds(raw, 0, out);
        break;
    case UNIT_BYTES:
    case UNIT_COUNT:
        number_write_u64(raw, out);
        break;
    case UNIT_MILLIONTHS:
    case UNIT_MICROJOULES:
        number_write(metric_value(metric, raw), out);
        break;
    }
}

void json_add_metric(struct json_writer *json, const char *key, enum metric metric,
                     uint64_t raw)
{
    if (!is_known(raw)) {
        json_add_null(json, key);
        return;
    }
    json_begin_value(json, key);
    metric_write(metric, raw, json->out);
}

void json_add_measure(struct json_writer *json, const char *key,
                      const struct spoor_figure *figure)
{
    json_begin_line(json, key, '{');
    json_add_number(json, "value", figure->value);
    json_add_text(json, "source", figure->source);
    json_add_bool(json, "exact", figure->is_exact);
    if (!isnan(figure->low)) {
        json_add_number(json, "low", figure->low);
        json_add_number(json, "high", figure->high); /* null: no upper bound is known */
    }
    if (isnan(figure->value))
        json_add_text(json, "reason", figure->reason ? figure->reason : "not known");
    json_end(json);
}
