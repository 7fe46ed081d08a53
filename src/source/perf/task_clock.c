/* SPDX-License-Identifier: Apache-2.0 */
#include "source/perf/task_clock.h"

int task_clock_add(struct event_set *set, pid_t tid)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_TASK_CLOCK,
        /* Asked of ordinary users. The clock counts kernel time all the same. */
        .exclude_kernel = 1,
    };

    return event_set_add(set, &attr, tid);
}
