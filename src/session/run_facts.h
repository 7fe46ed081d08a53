/* SPDX-License-Identifier: Apache-2.0 */
/* run_facts.h - name, user, command and launcher of a run, read when the session is opened. */
#ifndef SESSION_RUN_FACTS_H
#define SESSION_RUN_FACTS_H

#include <limits.h>

#include "base/root.h"
#include "record/launch.h"
#include "record/record.h"
#include "spoor/spoor.h"

struct run_facts {
    char id[RUN_ID_SIZE];
    char *name;         /* NULL: none */
    char **tags;        /* ended by NULL; NULL: none */
    char **command;     /* ended by NULL; NULL: not known */
    char user[64];      /* empty: not known */
    char cwd[PATH_MAX]; /* empty: not known */
    char *environment;  /* holds the texts of `launch` */
    struct launch launch;
};

/* Copies the options and reads the rest from the kernel. Fails only with -ENOMEM. The caller
 * must call run_facts_done(), even after a failure. */
int run_facts_init(struct run_facts *facts, const struct spoor_options *options,
                   const struct root *root);
void run_facts_done(struct run_facts *facts);

#endif
