/* SPDX-License-Identifier: Apache-2.0 */
/* memory_view.h - one process's memory, seen for shared_memory_estimate(). */
#ifndef JOB_MEMORY_MEMORY_VIEW_H
#define JOB_MEMORY_MEMORY_VIEW_H

#include <sys/types.h>

#include "base/root.h"
#include "job/member.h"
#include "job/memory/shared_memory.h"

/* From smaps_rollup. pid and is_main are left alone. -ESRCH or -ENOENT: the process has ended;
 * -EACCES: it is another user's. */
int memory_view_read(const struct root *root, pid_t pid, struct memory_view *view);

/* What statm alone tells: memory that no file backs is taken as private. */
void memory_view_from_statm(const struct member *member, struct memory_view *view);

#endif
