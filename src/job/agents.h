/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agents.h - which processes are agents (spoor.h): trackers started by programs. They belong to
 * no job.
 *
 * An agent is started by an intermediate process, which shares its caller's memory and never
 * calls exec. Both have the name of an agent from the beginning, except for a moment after exec,
 * when the name is that of the executable. A zombie has only its name. For a live process that has
 * called exec the executable is checked too, because a process may set any name.
 */
#ifndef JOB_AGENTS_H
#define JOB_AGENTS_H

#include <stdbool.h>

#include "base/root.h"
#include "job/member.h"

/* Whether it may be one, but its arguments are not available yet. */
bool agents_is_unclear(const struct root *root, const struct member *member);

bool agents_has(const struct root *root, const struct member *member);

#endif
