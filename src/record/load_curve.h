/* SPDX-License-Identifier: Apache-2.0 */
/* load_curve.h - the curve of a JSON report. */
#ifndef RECORD_LOAD_CURVE_H
#define RECORD_LOAD_CURVE_H

#include <jansson.h>

#include "record/record.h"

/* `curve` is that key of the report; NULL: there is none. -EBADMSG: it is not a curve. */
int load_curve(struct record *record, const json_t *curve, struct spoor_error *err);

#endif
