/* SPDX-License-Identifier: Apache-2.0 */
#include "job/memory/borrowed_memory.h"

#include "source/proc/same_memory.h"

/* The two sizes were read one after the other: the parent's other threads run on. */
static bool is_near(uint64_t a, uint64_t b)
{
    return (a > b ? a - b : b - a) <= a / 64;
}

bool memory_is_borrowed(const struct root *root, struct members *members,
                        const struct member *member)
{
    const struct member *parent;

    /* Whose memory was found to be its own does not lose it. */
    if (member->has_exec || member->rss_bytes == 0 || member->detail_private_bytes > 0)
        return false;
    parent = members_find(members, member->parent_pid);
    return parent && is_near(parent->rss_bytes, member->rss_bytes) &&
           same_memory(root, parent->pid, member->pid);
}
