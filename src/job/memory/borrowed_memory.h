/* SPDX-License-Identifier: Apache-2.0 */
/* borrowed_memory.h - members that run in the memory of their parent. */
#ifndef JOB_MEMORY_BORROWED_MEMORY_H
#define JOB_MEMORY_BORROWED_MEMORY_H

#include <stdbool.h>

#include "base/root.h"
#include "job/members.h"

/* Is it a child of vfork() or posix_spawn() that has not called exec yet? Its memory is
 * its parent's and counts there. Costs a system call until it has memory of its own. */
bool memory_is_borrowed(const struct root *root, struct members *members,
                        struct member *member);

#endif
