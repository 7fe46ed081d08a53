/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter.h - selects runs of a history by conditions, as people write them:
 *
 *     name=train,tag.v=1,since=30d,exit!=0,command~resnet,last=5
 *
 * All conditions must hold. = is equal, != is not, ~ contains. The keys are name, command, host, user, job (of a scheduler),
 * id (its first digits), exit, tag.KEY, since and until (a time ago, or a date). "last" is the newest of these runs, "previous" the one before it,
 * last=N the N newest. A backslash before a comma makes it a part of a value.
 */
#ifndef HISTORY_FILTER_H
#define HISTORY_FILTER_H

#include <stdbool.h>

#include "spoor/spoor.h"
#include "text/buffer.h"

enum { FILTER_VALUES_MAX = 64 };

/* A zeroed filter selects every run. */
struct history_filter {
    struct buffer where; /* conditions in SQL, with placeholders for the values */
    char *values[FILTER_VALUES_MAX];
    size_t value_count;
    size_t skip, limit; /* counted from the newest run; limit 0: all */
    /* The runs of a name together, or else of a command, and these sorted; otherwise only by time. */
    bool sorts_by_label;
};

/* Adds conditions. `now`: seconds since 1970. -EINVAL with a message; -ENOMEM. */
int history_filter_add(struct history_filter *filter, const char *text, double now,
                       struct spoor_error *err);

/* Adds one condition: name, =, train. */
int history_filter_add_one(struct history_filter *filter, const char *key, const char *operator,
                           const char * value, double now, struct spoor_error *err);

void history_filter_done(struct history_filter *filter);

#endif
