/* SPDX-License-Identifier: Apache-2.0 */
/* tracking_format.h - what the two kinds of tracking files have in common. */
#ifndef COMPAT_TRACKING_TRACKING_FORMAT_H
#define COMPAT_TRACKING_TRACKING_FORMAT_H

#include "compat/tracking/tracking_file.h"

enum tracking_type { TRACKING_TEXT, TRACKING_REAL, TRACKING_INTEGER };

struct tracking_field {
    const char *name;
    enum tracking_type type;
};

enum { TRACKING_FACTS = 9 };

extern const struct tracking_field tracking_fact_fields[TRACKING_FACTS];
extern const struct tracking_field tracking_row_fields[TRACKING_COLUMNS];

/* One fact: its text, or its number. */
struct tracking_value {
    const char *text; /* NULL: the number */
    double number;
};

/* The facts in the order of their fields. What is not known is 0. */
void tracking_fact_values(const struct tracking_facts *facts,
                          struct tracking_value ret[TRACKING_FACTS]);

/* A kind of file. Each writes the facts and an empty table to a file that exists and is empty;
 * opens such a file for rows; adds a row, in which all is known; and ends it. 0 or -errno with a
 * message. */
struct tracking_format {
    int (*create)(const char *path, const struct tracking_facts *facts,
                  struct spoor_error *err);
    int (*open)(const char *path, void **ret, struct spoor_error *err);
    int (*add)(void *state, const double row[TRACKING_COLUMNS], struct spoor_error *err);
    int (*close)(void *state, struct spoor_error *err);
};

extern const struct tracking_format tracking_csv;
extern const struct tracking_format tracking_sqlite;

#endif
