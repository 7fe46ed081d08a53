/* SPDX-License-Identifier: Apache-2.0 */
#include "job/memory/borrowed_memory.h"

#include "source/proc/same_memory.h"

bool memory_is_borrowed(const struct root *root, struct members *members,
                        const struct member *member)
{
    const struct member *parent;

    /* Whose memory was found to be its own does not lose it. */
    if (member->has_exec || member->rss_bytes == 0 || member->detail_private_bytes > 0)
        return false;
    parent = members_find(members, member->parent_pid);
    /* Sizes do not tell: the parent's may have been read before it grew. */
    return parent && same_memory(root, parent->pid, member->pid);
}
