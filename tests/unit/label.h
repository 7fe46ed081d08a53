/* SPDX-License-Identifier: Apache-2.0 */
/* label.h - sets the same origin for all values of a metric in a summary that a test has
 * filled. */
#pragma once

#include "series/summary.h"

static inline void summary_label(struct summary *summary, enum metric metric,
                                 struct origin origin)
{
    struct tally *tally = &summary->tally[metric];

    tally->origin = tally->max_origin = origin;
    tally->first_is_exact = origin.is_exact;
}
