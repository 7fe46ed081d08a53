/* SPDX-License-Identifier: Apache-2.0 */
#include "job/memory/borrowed_memory.h"

#include "source/proc/same_memory.h"

bool memory_is_borrowed(const struct root *root, struct members *members, struct member *member)
{
    const struct member *parent;

    if (member->has_exec || member->has_own_memory || member->rss_bytes == 0)
        return false;
    parent = members_find(members, member->parent_pid);
    if (!parent)
        return false;
    /* Sizes do not tell: the parent's may have been read before it grew. */
    if (same_memory(root, parent->pid, member->pid))
        return true;
    member->has_own_memory = root->is_live; /* and does not lose it */
    return false;
}
