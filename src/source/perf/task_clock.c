/* SPDX-License-Identifier: Apache-2.0 */
#include "source/perf/task_clock.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

int task_clock_open(pid_t pid)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof(attr),
        .config = PERF_COUNT_SW_TASK_CLOCK,
        .inherit = 1,
        /* Asked of ordinary users. The clock counts kernel time all the same. */
        .exclude_kernel = 1,
        .exclude_hv = 1,
    };
    long fd = syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);

    return fd < 0 ? -errno : (int)fd;
}

int task_clock_read(int fd, uint64_t *ret_ns)
{
    uint64_t value;
    ssize_t n = read(fd, &value, sizeof(value));

    if (n < 0)
        return -errno;
    if (n != (ssize_t)sizeof(value))
        return -EIO;
    *ret_ns = value;
    return 0;
}
