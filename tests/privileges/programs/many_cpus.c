/* SPDX-License-Identifier: Apache-2.0 */
/* many_cpus.c - a library to preload that reports an affinity of 16 CPUs, however few the
 * machine has. */
#include <errno.h>
#include <sched.h>
#include <string.h>

int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
    (void)pid;
    if (size < sizeof(unsigned short)) {
        errno = EINVAL;
        return -1;
    }
    memset(set, 0, size);
    memset(set, 0xff, sizeof(unsigned short));
    return 0;
}
