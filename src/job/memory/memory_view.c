/* SPDX-License-Identifier: Apache-2.0 */
#include "job/memory/memory_view.h"

#include "base/arithmetic.h"
#include "base/unknown.h"
#include "source/proc/pid_files.h"
#include "source/proc/smaps.h"

void memory_view_from_statm(const struct member *member, struct memory_view *view)
{
    uint64_t shared =
        member->shared_bytes < member->rss_bytes ? member->shared_bytes : member->rss_bytes;

    view->resident = view->rss = member->rss_bytes;
    view->shared_total = shared;
    view->file = view->mapped = shared;
    view->private_total = view->private_dirty = member->rss_bytes - shared;
    view->pss_file = 0;
    view->pss = view->private_total;
}

/* How far status may lag behind: old kernels count it anew every 64 faults, each of which may map
 * 64 KiB, whatever the size of a page. */
#define STATUS_LAG_BYTES ((uint64_t)64 * 64 * 1024)

/* Shared memory (shm, tmpfs) is in neither "Anonymous" nor the file part of PSS. This is what it may
 * be at most. */
static uint64_t shmem_bytes(const struct root *root, pid_t pid, uint64_t pss_shmem)
{
    struct pid_status status;

    if (pss_shmem == 0 || pid_status_read(root, pid, &status) < 0 ||
        !is_known(status.rss_shmem_bytes))
        return 0;
    return status.rss_shmem_bytes + STATUS_LAG_BYTES;
}

int memory_view_read(const struct root *root, pid_t pid, struct memory_view *view)
{
    struct smaps_rollup rollup;
    uint64_t apart, merged, shared, anonymous;
    int r = smaps_rollup_read(root, pid, &rollup);

    if (r < 0)
        return r;
    shared = rollup.shared_clean + rollup.shared_dirty;
    merged = known_or_0(rollup.merged);
    anonymous = sub_floor0(rollup.anonymous, merged);
    if (merged > 0 && known_or_0(rollup.pss_anon) > anonymous)
        anonymous = rollup.pss_anon;
    view->mapped = sub_floor0(rollup.rss, rollup.anonymous);
    view->resident = rollup.rss;
    view->rss = view->mapped + anonymous;
    view->pss = rollup.pss;
    view->pss_file = known_or_0(rollup.pss_file);
    view->private_total = rollup.private_clean + rollup.private_dirty;
    view->private_dirty = rollup.private_dirty;
    view->shared_total = sub_floor0(shared, merged);
    apart = rollup.anonymous + shmem_bytes(root, pid, known_or_0(rollup.pss_shmem));
    view->file = larger(sub_floor0(rollup.rss, apart), view->pss_file);
    return 0;
}
