/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_name.h - names of output files with the run in them: "{name}-{date}-{id}.json".
 *
 *     {name} {host} {pid} {date} {time} {id} {rank} {node} {job} {step} {tag.KEY}       {{ is a brace
 */
#ifndef FRONT_SPOOR_FILE_NAME_H
#define FRONT_SPOOR_FILE_NAME_H

#include "front/spoor/settings.h"

/* Fills in the names of all output files. A slash in a value becomes "_". {id} sets
 * settings->run_id; {pid} is the attached process, or spoor itself; {rank}, {job} and {step}
 * come from the launcher, or are 0; {node} is the launcher's name of the machine, or the
 * host name; times are the current time in UTC. -EINVAL: a name in braces does not exist, or
 * its value is unknown. */
int file_names_fill_in(struct settings *settings, struct spoor_error *err);

/* Returns the value of --tag KEY=VALUE; NULL: there is none. */
const char *run_tag(const struct settings *settings, const char *key);

#endif
