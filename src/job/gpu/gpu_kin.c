/* SPDX-License-Identifier: Apache-2.0 */
#include "job/gpu/gpu_kin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arithmetic.h"
#include "source/proc/pid_stat.h"

enum { ANCESTORS_MAX = 64, STRANGERS_MAX = 4096 };

int gpu_kin_init(struct gpu_kin *kin, pid_t main_pid, pid_t tracker_pid)
{
    *kin = (struct gpu_kin){ .main_pid = main_pid, .tracker_pid = tracker_pid };
    return main_pid != 0 ? gpu_kin_add(kin, main_pid, 0) : 0;
}

void gpu_kin_done(struct gpu_kin *kin)
{
    free(kin->list);
    free(kin->pids);
    free(kin->strangers);
    *kin = (struct gpu_kin){ 0 };
}

static int compare_pids(const void *left, const void *right)
{
    pid_t a = *(const pid_t *)left, b = *(const pid_t *)right;

    return (a > b) - (a < b);
}

/* Where the number stands, or would. */
static size_t place_of(const struct gpu_kin *kin, pid_t pid)
{
    size_t low = 0, high = kin->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (kin->list[middle].pid < pid)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct gpu_relative *find(const struct gpu_kin *kin, pid_t pid)
{
    size_t place = place_of(kin, pid);

    return place < kin->count && kin->list[place].pid == pid ? &kin->list[place] : NULL;
}

static int insert(struct gpu_kin *kin, pid_t pid, uint64_t ended_ns)
{
    size_t place = place_of(kin, pid);

    if (kin->count == kin->capacity) {
        size_t capacity = kin->capacity ? 2 * kin->capacity : 64;
        struct gpu_relative *list = realloc(kin->list, capacity * sizeof(*list));

        if (!list)
            return -ENOMEM;
        kin->list = list;
        kin->capacity = capacity;
    }
    memmove(kin->list + place + 1, kin->list + place,
            (kin->count - place) * sizeof(*kin->list));
    kin->list[place] =
        (struct gpu_relative){ .pid = pid, .ended_ns = ended_ns, .is_told = true };
    kin->count++;
    kin->pid_count = 0;
    return 0;
}

int gpu_kin_add(struct gpu_kin *kin, pid_t pid, uint64_t now_ns)
{
    struct gpu_relative *relative = find(kin, pid);

    if (!relative)
        return insert(kin, pid, now_ns);
    if (relative->ended_ns != 0)
        relative->ended_ns = now_ns;
    return 0;
}

static bool ended_long_ago(const struct gpu_kin *kin, const struct gpu_relative *relative,
                           uint64_t now_ns)
{
    return relative->pid != kin->main_pid && relative->ended_ns != 0 &&
           less(now_ns, relative->ended_ns) > GPU_KIN_KEPT_NS;
}

bool gpu_kin_has_old(const struct gpu_kin *kin, uint64_t now_ns)
{
    for (size_t i = 0; i < kin->count; i++) {
        if (ended_long_ago(kin, &kin->list[i], now_ns))
            return true;
    }
    return false;
}

void gpu_kin_drop_old(struct gpu_kin *kin, uint64_t now_ns)
{
    size_t kept = 0;

    for (size_t i = 0; i < kin->count; i++) {
        if (!ended_long_ago(kin, &kin->list[i], now_ns))
            kin->list[kept++] = kin->list[i];
    }
    if (kept != kin->count)
        kin->pid_count = 0;
    kin->count = kept;
}

/* Of too many that ended, the first found go. */
static void drop_surplus(struct gpu_kin *kin)
{
    size_t kept = 0, ended = 0;

    for (size_t i = 0; i < kin->count; i++)
        ended += kin->list[i].ended_ns != 0;
    if (ended <= GPU_KIN_ENDED_MAX)
        return;
    for (size_t i = 0; i < kin->count; i++) {
        const struct gpu_relative *relative = &kin->list[i];

        if (relative->pid != kin->main_pid && relative->ended_ns != 0 &&
            ended > GPU_KIN_ENDED_MAX)
            ended--;
        else
            kin->list[kept++] = *relative;
    }
    kin->count = kept;
    kin->pid_count = 0;
}

int gpu_kin_tell(struct gpu_kin *kin, const pid_t *living, size_t count, uint64_t now_ns)
{
    int r = 0;

    for (size_t i = 0; i < kin->count; i++)
        kin->list[i].is_told = false;
    for (size_t i = 0; i < count; i++) {
        struct gpu_relative *relative = find(kin, living[i]);

        if (relative) {
            relative->is_told = true;
            relative->is_found = false;
            relative->ended_ns = 0;
        } else if (insert(kin, living[i], 0) < 0) {
            r = -ENOMEM;
        }
    }
    for (size_t i = 0; i < kin->count; i++) {
        struct gpu_relative *relative = &kin->list[i];

        if (!relative->is_told && relative->ended_ns == 0)
            relative->ended_ns = now_ns;
    }
    drop_surplus(kin);
    return r;
}

static bool is_stranger(const struct gpu_kin *kin, pid_t pid)
{
    return kin->stranger_count > 0 && bsearch(&pid, kin->strangers, kin->stranger_count,
                                              sizeof(pid), compare_pids) != NULL;
}

static void add_stranger(struct gpu_kin *kin, pid_t pid)
{
    if (kin->stranger_count == kin->stranger_capacity) {
        size_t capacity = kin->stranger_capacity ? 2 * kin->stranger_capacity : 64;
        pid_t *list = NULL;

        if (capacity <= STRANGERS_MAX)
            list = realloc(kin->strangers, capacity * sizeof(*list));
        if (!list)
            return; /* it is asked again next time */
        kin->strangers = list;
        kin->stranger_capacity = capacity;
    }
    kin->strangers[kin->stranger_count++] = pid;
    qsort(kin->strangers, kin->stranger_count, sizeof(pid), compare_pids);
}

static bool descends_from_job(const struct gpu_kin *kin, const struct root *root, pid_t pid)
{
    for (int i = 0; i < ANCESTORS_MAX && pid > 1; i++) {
        struct pid_stat stat;

        if (pid_stat_read_once(root, pid, &stat) < 0)
            return false;
        pid = stat.parent_pid;
        if (find(kin, pid) || (kin->tracker_pid != 0 && pid == kin->tracker_pid))
            return true;
    }
    return false;
}

bool gpu_kin_has(struct gpu_kin *kin, const struct root *root, pid_t pid, uint64_t now_ns)
{
    if (find(kin, pid))
        return true;
    if (kin->is_main_only || is_stranger(kin, pid))
        return false;
    if (!descends_from_job(kin, root, pid)) {
        add_stranger(kin, pid);
        return false;
    }
    if (insert(kin, pid, now_ns) < 0)
        return false;
    find(kin, pid)->is_found = true;
    return true;
}

void gpu_kin_forget_strangers(struct gpu_kin *kin)
{
    kin->stranger_count = 0;
}

struct gpu_pids gpu_kin_pids(struct gpu_kin *kin)
{
    if (kin->pid_count != kin->count && kin->pid_capacity < kin->count) {
        pid_t *pids = realloc(kin->pids, kin->capacity * sizeof(*pids));

        if (!pids)
            return (struct gpu_pids){ 0 };
        kin->pids = pids;
        kin->pid_capacity = kin->capacity;
    }
    for (size_t i = kin->pid_count; i < kin->count; i++)
        kin->pids[i] = kin->list[i].pid;
    kin->pid_count = kin->count;
    return (struct gpu_pids){ kin->pids, kin->count };
}
