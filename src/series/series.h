/* SPDX-License-Identifier: Apache-2.0 */
/*
 * series.h - the run's curve in bounded memory.
 *
 * At most SERIES_POINTS points. When they are full, neighbours are merged and
 * from then on a point covers twice as many samples: a week at 10 ms fits as well
 * as a minute at 1 s. A merged point keeps the largest value of a gauge, so no
 * peak is lost, and the last value of a counter, so no growth is lost.
 */
#ifndef SERIES_SERIES_H
#define SERIES_SERIES_H

#include <stddef.h>
#include <stdint.h>

#include "sample/sample.h"

enum { SERIES_POINTS = 1024 }; /* even */

struct series {
    struct sample *points; /* SERIES_POINTS of them, owned */
    size_t count;          /* finished points, and the open one if it holds samples */
    uint64_t stride;       /* samples a point covers */
    uint64_t open_samples; /* samples in the last point while it is open; 0: it is finished */
};

int series_init(struct series *series);
void series_done(struct series *series);
void series_append(struct series *series, const struct sample *sample);

#endif
