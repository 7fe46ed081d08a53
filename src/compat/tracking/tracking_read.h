/* SPDX-License-Identifier: Apache-2.0 */
/* tracking_read.h - a tracking file, read back: its facts, then row after row. */
#ifndef COMPAT_TRACKING_TRACKING_READ_H
#define COMPAT_TRACKING_TRACKING_READ_H

#include "compat/tracking/tracking_format.h"

struct tracking_read_facts {
    char texts[TRACKING_FACTS][64]; /* of those that are text */
    double numbers[TRACKING_FACTS]; /* of the others */
};

/* Takes one row. 0 to go on, or -errno. */
typedef int tracking_row_seen(const double row[TRACKING_COLUMNS], void *data);

/* Every message names the file. */
int tracking_read(const char *path, struct tracking_read_facts *ret, tracking_row_seen *seen,
                  void *data, struct spoor_error *err);

#endif
