/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_name.h - names of output files with the run in them: "{name}-{date}-{id}.json".
 *
 *     {name} {host} {pid} {date} {time} {id} {rank} {tag.KEY}       {{ is a brace
 */
#ifndef FRONT_SPOOR_FILE_NAME_H
#define FRONT_SPOOR_FILE_NAME_H

#include "front/spoor/settings.h"

/* Fills in the names of all output files. A slash in a value becomes "_". {id} sets settings->run_id; {pid} is
 * the process that is attached to, or spoor itself; {rank} is that of MPI, Slurm or torchrun, or 0; the
 * time is that of now, UTC. -EINVAL: a name has braces that mean nothing, or a value that is not known. */
int file_names_fill_in(struct settings *settings, struct spoor_error *err);

/* The rank of this process in a parallel job, by the variables of its launcher; NULL: it has none. */
const char *run_rank(void);

/* The value of --tag KEY=VALUE; NULL: there is none. */
const char *run_tag(const struct settings *settings, const char *key);

#endif
