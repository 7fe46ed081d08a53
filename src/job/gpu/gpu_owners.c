/* SPDX-License-Identifier: Apache-2.0 */
#include "job/gpu/gpu_owners.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "base/reserve.h"
#include "source/proc/pid_files.h"

enum { ANCESTORS_MAX = 64, FOREIGN_MAX = 4096 };

void gpu_owners_done(struct gpu_owners *owners)
{
    free(owners->pids);
    free(owners->ended_ns);
    free(owners->foreign);
    *owners = (struct gpu_owners){ 0 };
}

static bool is_owner(const struct gpu_owners *owners, pid_t pid)
{
    return (pid == owners->main_pid && pid != 0) ||
           gpu_pids_have(&(struct gpu_pids){ owners->pids, owners->count }, pid);
}

int gpu_owners_set(struct gpu_owners *owners, pid_t pid, uint64_t ended_ns)
{
    size_t place = gpu_pids_place(owners->pids, owners->count, sizeof(pid), pid);
    size_t behind = owners->count - place;

    if (behind == 0 || owners->pids[place] != pid) {
        if (reserve(&owners->pids, &owners->capacity, owners->count + 1, sizeof(pid)) < 0 ||
            reserve(&owners->ended_ns, &owners->ended_capacity, owners->count + 1,
                    sizeof(ended_ns)) < 0)
            return -ENOMEM;
        memmove(owners->pids + place + 1, owners->pids + place, behind * sizeof(pid));
        memmove(owners->ended_ns + place + 1, owners->ended_ns + place,
                behind * sizeof(ended_ns));
        owners->count++;
    }
    owners->pids[place] = pid;
    owners->ended_ns[place] = ended_ns;
    return 0;
}

static bool ended_long_ago(const struct gpu_owners *owners, size_t i, uint64_t now_ns)
{
    return owners->pids[i] != owners->main_pid && owners->ended_ns[i] != 0 &&
           sub_floor0(now_ns, owners->ended_ns[i]) > GPU_OWNERS_KEPT_NS;
}

bool gpu_owners_has_old(const struct gpu_owners *owners, uint64_t now_ns)
{
    for (size_t i = 0; i < owners->count; i++) {
        if (ended_long_ago(owners, i, now_ns))
            return true;
    }
    return false;
}

static void keep(struct gpu_owners *owners, size_t *kept, size_t i)
{
    owners->pids[*kept] = owners->pids[i];
    owners->ended_ns[(*kept)++] = owners->ended_ns[i];
}

void gpu_owners_drop_old(struct gpu_owners *owners, uint64_t now_ns)
{
    size_t kept = 0;

    for (size_t i = 0; i < owners->count; i++) {
        if (!ended_long_ago(owners, i, now_ns))
            keep(owners, &kept, i);
    }
    owners->count = kept;
}

/* If too many processes have exited, drops the exited ones with the lowest PIDs. */
static void drop_surplus(struct gpu_owners *owners)
{
    size_t kept = 0, ended = 0;

    for (size_t i = 0; i < owners->count; i++)
        ended += owners->ended_ns[i] != 0;
    for (size_t i = 0; i < owners->count; i++) {
        if (ended > GPU_OWNERS_ENDED_MAX && owners->ended_ns[i] != 0 &&
            owners->pids[i] != owners->main_pid)
            ended--;
        else
            keep(owners, &kept, i);
    }
    owners->count = kept;
}

void gpu_owners_update(struct gpu_owners *owners, const struct roster *roster, uint64_t now_ns)
{
    if (owners->changes == roster->changes)
        return;
    for (size_t i = 0; i < owners->count; i++) {
        if (owners->ended_ns[i] == 0)
            owners->ended_ns[i] = now_ns;
    }
    for (size_t i = 0; i < roster->count; i++)
        (void)gpu_owners_set(owners, roster->list[i].id.pid, 0);
    owners->changes = roster->changes;
    drop_surplus(owners);
}

static void add_foreign(struct gpu_owners *owners, pid_t pid)
{
    size_t place = gpu_pids_place(owners->foreign, owners->foreign_count, sizeof(pid), pid);

    if (owners->foreign_count == FOREIGN_MAX ||
        reserve(&owners->foreign, &owners->foreign_capacity, owners->foreign_count + 1,
                sizeof(pid)) < 0)
        return; /* the process is looked up again next time */
    memmove(owners->foreign + place + 1, owners->foreign + place,
            (owners->foreign_count - place) * sizeof(pid));
    owners->foreign[place] = pid;
    owners->foreign_count++;
}

static bool descends_from_job(const struct gpu_owners *owners, const struct root *root,
                              pid_t pid)
{
    for (int i = 0; i < ANCESTORS_MAX && pid > 1; i++) {
        struct pid_stat stat;

        if (pid_stat_read(NULL, root, pid, &stat) < 0)
            return false;
        pid = stat.parent_pid;
        if (is_owner(owners, pid) || (pid == owners->tracker_pid && pid != 0))
            return true;
    }
    return false;
}

bool gpu_owners_has(struct gpu_owners *owners, const struct root *root, pid_t pid,
                    uint64_t now_ns)
{
    if (is_owner(owners, pid))
        return true;
    if (owners->is_main_only ||
        gpu_pids_have(&(struct gpu_pids){ owners->foreign, owners->foreign_count }, pid))
        return false;
    if (descends_from_job(owners, root, pid))
        return gpu_owners_set(owners, pid, now_ns) == 0; /* the process may have exited since */
    add_foreign(owners, pid);
    return false;
}

void gpu_owners_forget_foreign(struct gpu_owners *owners)
{
    owners->foreign_count = 0;
}

struct gpu_pids gpu_owners_pids(const struct gpu_owners *owners)
{
    return (struct gpu_pids){ owners->pids, owners->count };
}
