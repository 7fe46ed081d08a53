/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pre_exec.h - processes before and just after exec.
 *
 * A child made by vfork or posix_spawn has its parent's memory until it calls exec; if it were
 * counted, a large parent would count twice. For a moment after exec a process has no arguments,
 * which distinguish an agent (agents.h) from another spoor. Both states last about a millisecond
 * of CPU time, which the process may have to wait for. If they last longer, the process is counted
 * as it is.
 */
#ifndef JOB_PRE_EXEC_H
#define JOB_PRE_EXEC_H

#include <stdbool.h>

#include "base/root.h"
#include "job/member.h"

bool member_is_pre_exec(const struct root *root, const struct member *member);

#endif
