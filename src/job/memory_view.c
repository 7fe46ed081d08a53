/* SPDX-License-Identifier: Apache-2.0 */
#include "job/memory_view.h"

#include "base/unknown.h"
#include "source/proc/pid_status.h"
#include "source/proc/smaps_rollup.h"

void memory_view_from_statm(const struct member *member, struct memory_view *view)
{
    uint64_t shared =
        member->shared_bytes < member->rss_bytes ? member->shared_bytes : member->rss_bytes;

    view->rss = member->rss_bytes;
    view->shared_total = shared;
    view->file = shared;
    view->private_total = view->private_dirty = member->rss_bytes - shared;
    view->pss_file = 0;
    view->pss = view->private_total;
}

/* Shared memory (shm, tmpfs) is in neither "Anonymous" nor the file part of PSS. */
static uint64_t shmem_bytes(const struct root *root, pid_t pid, uint64_t pss_shmem)
{
    struct pid_status status;

    if (pss_shmem == 0 || pid_status_read(root, pid, &status) < 0 ||
        !is_known(status.rss_shmem_bytes))
        return 0;
    return status.rss_shmem_bytes;
}

int memory_view_read(const struct root *root, pid_t pid, struct memory_view *view)
{
    struct smaps_rollup rollup;
    uint64_t apart;
    int r = smaps_rollup_read(root, pid, &rollup);

    if (r < 0)
        return r;
    view->rss = rollup.rss;
    view->pss = rollup.pss;
    view->pss_file = is_known(rollup.pss_file) ? rollup.pss_file : 0;
    view->private_total = rollup.private_clean + rollup.private_dirty;
    view->private_dirty = rollup.private_dirty;
    view->shared_total = rollup.shared_clean + rollup.shared_dirty;
    apart = rollup.anonymous +
            shmem_bytes(root, pid, is_known(rollup.pss_shmem) ? rollup.pss_shmem : 0);
    view->file = rollup.rss > apart ? rollup.rss - apart : 0;
    return 0;
}
