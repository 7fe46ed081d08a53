/* SPDX-License-Identifier: Apache-2.0 */
/* curve_json.h - the curve of a run in a JSON report. */
#ifndef OUTPUT_CURVE_JSON_H
#define OUTPUT_CURVE_JSON_H

#include "record/curve.h"
#include "text/json_writer.h"

/* Adds "curve", with no more points than that; null if there is none. */
void curve_add_json(struct json_writer *json, const struct record_curve *curve,
                    size_t max_points);

#endif
