/* SPDX-License-Identifier: Apache-2.0 */
#include "source/proc/cpu_clock.h"

#include <errno.h>
#include <time.h>

#include "base/clock.h"

/* As clock_getcpuclockid() makes it, without the system call that it adds: the
 * complement of the pid, then 3 bits: 2 says "scheduler's count, whole process". */
static clockid_t process_clock(pid_t pid)
{
    return (clockid_t)(~(unsigned)pid << 3 | 2);
}

int cpu_clock_read(const struct root *root, pid_t pid, uint64_t *ret_ns)
{
    struct timespec time;

    if (!root->is_live)
        return -ENOTSUP;
    if (clock_gettime(process_clock(pid), &time) < 0)
        return errno == EINVAL ? -ESRCH : -errno;
    *ret_ns = (uint64_t)time.tv_sec * NS_PER_SECOND + (uint64_t)time.tv_nsec;
    return 0;
}
