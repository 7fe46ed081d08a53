/* SPDX-License-Identifier: Apache-2.0 */
#include "source/perf/events.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/cleanup.h"
#include "base/reserve.h"
#include "base/root.h"

/* ---- event set ------------------------------------------------------------- */

int task_clock_add(struct event_set *set, pid_t tid)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof(attr),
        .config = PERF_COUNT_SW_TASK_CLOCK,
        .inherit = 1,
        /* Required for ordinary users. The clock still counts kernel time. */
        .exclude_kernel = 1,
        .exclude_hv = 1,
    };
    long fd;

    if (set->count == EVENT_SET_MAX)
        return -E2BIG;
    if (reserve(&set->fds, &set->capacity, set->count + 1, sizeof(*set->fds)) < 0)
        return -ENOMEM;
    fd = syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0)
        return -errno;
    if (!file_limit_allows((int)fd)) {
        close((int)fd);
        return -EMFILE;
    }
    set->fds[set->count++] = (int)fd;
    return 0;
}

void event_set_close(struct event_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        close(set->fds[i]);
    free(set->fds);
    *set = (struct event_set){ 0 };
}

int event_set_read(const struct event_set *set, uint64_t *ret)
{
    uint64_t sum = 0;

    if (set->count == 0)
        return -ENOENT;
    for (size_t i = 0; i < set->count; i++) {
        uint64_t value;
        ssize_t n = read(set->fds[i], &value, sizeof(value));

        if (n != (ssize_t)sizeof(value))
            return n < 0 ? -errno : -EIO;
        sum += value;
    }
    *ret = sum;
    return 0;
}

/* ---- thread events --------------------------------------------------------- */

enum { ROUNDS = 5, THREADS_MAX = 1 << 16 };

struct tids {
    pid_t *list; /* owned */
    size_t count, capacity;
    bool is_cut; /* out of memory */
};

static void free_tids(struct tids *tids)
{
    free(tids->list);
}

static void add_tid(pid_t tid, void *data)
{
    struct tids *tids = data;

    if (tids->count < THREADS_MAX &&
        reserve(&tids->list, &tids->capacity, tids->count + 1, sizeof(tid)) == 0)
        tids->list[tids->count++] = tid;
    else
        tids->is_cut = true;
}

static int compare(const void *a, const void *b)
{
    const pid_t *left = a, *right = b;

    return (*left > *right) - (*left < *right);
}

static int list_tids(const struct thread_events *events, struct tids *ret)
{
    ret->count = 0;
    events->list(events->list_data, add_tid, ret);
    if (ret->is_cut)
        return -ENOMEM;
    if (ret->count > 0)
        qsort(ret->list, ret->count, sizeof(*ret->list), compare);
    return 0;
}

static bool has_new(const struct tids *before, const struct tids *after)
{
    for (size_t i = 0; i < after->count; i++) {
        if (before->count == 0 || !bsearch(&after->list[i], before->list, before->count,
                                           sizeof(*before->list), compare))
            return true;
    }
    return false;
}

static int open_all(const struct thread_events *events, const struct tids *tids)
{
    for (size_t i = 0; i < tids->count; i++) {
        int r = events->open(events->data, tids->list[i]);

        if (r < 0 && r != -ESRCH)
            return r;
    }
    return 0;
}

int thread_events_open(const struct thread_events *events)
{
    CLEANUP(free_tids) struct tids before = { 0 }, after = { 0 };
    int r = 0;

    for (int round = 0; round < ROUNDS; round++) {
        if (round > 0)
            events->close(events->data);
        r = list_tids(events, &before);
        if (r == 0)
            r = open_all(events, &before);
        if (r == 0)
            r = list_tids(events, &after);
        if (r < 0)
            break;
        if (!has_new(&before, &after))
            return 0;
    }
    if (r < 0)
        events->close(events->data);
    return r;
}

/* ---- hardware counters ------------------------------------------------------ */

int counters_open(struct counters *counters, pid_t tid)
{
    static const uint64_t configs[COUNTER_COUNT] = {
        [COUNTER_CYCLES] = PERF_COUNT_HW_CPU_CYCLES,
        [COUNTER_INSTRUCTIONS] = PERF_COUNT_HW_INSTRUCTIONS,
        [COUNTER_CACHE_MISSES] = PERF_COUNT_HW_CACHE_MISSES,
        [COUNTER_BRANCH_MISSES] = PERF_COUNT_HW_BRANCH_MISSES,
    };

    *counters = (struct counters){ .is_open = true, .fds = { -1, -1, -1, -1 } };
    for (int i = 0; i < COUNTER_COUNT; i++) {
        struct perf_event_attr attr = {
            .type = PERF_TYPE_HARDWARE,
            .size = sizeof(attr),
            .config = configs[i],
            .inherit = 1,
            .exclude_kernel = 1,
            .exclude_hv = 1,
            /* Inherited events cannot be read as a group. */
            .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
        };
        int leader = i == 0 ? -1 : counters->fds[0];
        long fd = syscall(SYS_perf_event_open, &attr, tid, -1, leader, PERF_FLAG_FD_CLOEXEC);

        counters->fds[i] = (int)fd;
        if (fd < 0 && i <= COUNTER_INSTRUCTIONS) { /* a CPU may lack the other counters */
            int error = errno;

            counters_close(counters);
            return -error;
        }
    }
    return 0;
}

void counters_close(struct counters *counters)
{
    for (int i = 0; i < COUNTER_COUNT && counters->is_open; i++) {
        if (counters->fds[i] >= 0)
            close(counters->fds[i]);
    }
    counters->is_open = false;
}

uint64_t counter_scale(uint64_t count, uint64_t enabled, uint64_t running)
{
    if (running == 0)
        return enabled == 0 ? 0 : UNKNOWN;
    return running >= enabled ? count
                              : (uint64_t)((double)count * (double)enabled / (double)running);
}

bool counters_read(const struct counters *counters, uint64_t ret[COUNTER_COUNT])
{
    bool is_exact = true;

    for (int i = 0; i < COUNTER_COUNT; i++) {
        uint64_t read_in[3]; /* count, enabled, running */

        ret[i] = UNKNOWN;
        if (!counters->is_open || counters->fds[i] < 0 ||
            read(counters->fds[i], read_in, sizeof(read_in)) != (ssize_t)sizeof(read_in))
            continue;
        ret[i] = counter_scale(read_in[0], read_in[1], read_in[2]);
        is_exact &= read_in[2] >= read_in[1];
    }
    return is_exact;
}
