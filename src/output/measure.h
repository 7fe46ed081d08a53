/* SPDX-License-Identifier: Apache-2.0 */
/* measure.h - metrics and figures as text: in base units, unknown ones empty or null. */
#ifndef OUTPUT_MEASURE_H
#define OUTPUT_MEASURE_H

#include <stdint.h>

#include "sample/metric.h"
#include "spoor/spoor.h"
#include "text/json_writer.h"

/* A raw value in the base unit of its metric. Nothing if it is UNKNOWN. */
void metric_write(enum metric metric, uint64_t raw, struct buffer *out);

void json_add_metric(struct json_writer *json, const char *key, enum metric metric,
                     uint64_t raw);

/* An object: the value with its source and bounds, or why it is unknown. */
void json_add_measure(struct json_writer *json, const char *key,
                      const struct spoor_figure *figure);

#endif
