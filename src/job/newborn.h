/* SPDX-License-Identifier: Apache-2.0 */
/*
 * newborn.h - processes that are not yet what they will be.
 *
 * What vfork or posix_spawn has made has its parent's memory until it calls exec: counted then, a
 * large parent would count twice. And for a moment after exec a process has no arguments, which
 * tell an agent (agents.h) from another spoor. Both are over in a millisecond or so of CPU time,
 * for which it may have to wait; where they are not, the process is taken as it is.
 */
#ifndef JOB_NEWBORN_H
#define JOB_NEWBORN_H

#include <stdbool.h>

#include "base/root.h"
#include "job/member.h"

bool newborn_is_unborn(const struct root *root, const struct member *member);

#endif
