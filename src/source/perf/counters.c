/* SPDX-License-Identifier: Apache-2.0 */
#include "source/perf/counters.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/amount.h"

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
