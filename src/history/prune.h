/* SPDX-License-Identifier: Apache-2.0 */
/* prune.h - removes runs from a history. Its files are replaced or removed as a whole, so that a crash loses none. */
#ifndef HISTORY_PRUNE_H
#define HISTORY_PRUNE_H

#include "history/index.h"

/* A run that any of these excludes is removed. Zeroed: all are kept. */
struct history_limits {
    double started_after; /* seconds since 1970; 0: any */
    size_t runs;          /* of each name, or of each command without one; 0: any */
    double bytes;         /* of all runs; 0: any */
};

struct history_removed {
    uint64_t runs, of;
};

/* The index does not fit the files any more afterwards. */
int history_prune(struct history_index *index, const struct history_limits *limits,
                  struct history_removed *ret, struct spoor_error *err);

#endif
