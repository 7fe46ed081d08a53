/* SPDX-License-Identifier: Apache-2.0 */
/* prune.h - removes runs from a history. Its files are replaced or removed as a whole, so that a crash loses none. */
#ifndef HISTORY_PRUNE_H
#define HISTORY_PRUNE_H

#include "history/index.h"

/* A run that exceeds any of these limits is removed. A zeroed struct keeps all runs. */
struct history_limits {
    double started_after; /* seconds since 1970; 0: no limit */
    size_t runs;  /* runs of each name, or of each command without a name; 0: no limit */
    double bytes; /* size of all runs; 0: no limit */
};

struct history_removed {
    uint64_t runs, of;
};

/* Afterwards the index no longer matches the files. */
int history_prune(struct history_index *index, const struct history_limits *limits,
                  struct history_removed *ret, struct spoor_error *err);

#endif
