/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agents.h - which processes are agents (spoor.h): trackers that programs have started. They are
 * of no job.
 *
 * An agent is started by a go-between, which shares its caller's memory and runs no program.
 * Both have the name of an agent from the beginning, but for a moment after exec, when it is that
 * of its file. A name is all that a zombie has; of a living process that has called exec the file
 * is asked too, for a process of the job may call itself what it likes.
 */
#ifndef JOB_AGENTS_H
#define JOB_AGENTS_H

#include <stdbool.h>

#include "base/root.h"
#include "job/member.h"

/* It may be one, but its arguments are not there yet. */
bool agents_is_unclear(const struct root *root, const struct member *member);

bool agents_has(const struct root *root, const struct member *member);

#endif
