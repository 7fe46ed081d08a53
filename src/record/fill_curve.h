/* SPDX-License-Identifier: Apache-2.0 */
/* fill_curve.h - the curve of a record, from the points that a run has kept. */
#ifndef RECORD_FILL_CURVE_H
#define RECORD_FILL_CURVE_H

#include "record/record.h"
#include "series/series.h"

/* Without columns of the job whose values are the host's: those have columns of the host. */
void fill_curve(struct record *record, const struct series *series,
                const struct summary *summary);

#endif
