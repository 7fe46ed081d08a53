/* SPDX-License-Identifier: Apache-2.0 */
#include "source/events/cpu_list.h"

#include <errno.h>
#include <sched.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/parse.h"

/* More than any kernel is built for. */
#define CPU_MAX 8192u

int cpu_list_parse(const char *text, unsigned *cpus, size_t capacity)
{
    const char *cursor = text;
    size_t count = 0;

    for (;;) {
        uint64_t first, last;

        if (parse_u64(&cursor, &first) < 0)
            return -EBADMSG;
        last = first;
        if (*cursor == '-') {
            cursor++;
            if (parse_u64(&cursor, &last) < 0)
                return -EBADMSG;
        }
        if (first > last || last >= CPU_MAX)
            return -EBADMSG;
        for (uint64_t cpu = first; cpu <= last; cpu++) {
            if (count == capacity)
                return -E2BIG;
            cpus[count++] = (unsigned)cpu;
        }
        if (*cursor != ',')
            break;
        cursor++;
    }
    if (*cursor != '\n' && *cursor != '\0')
        return -EBADMSG;
    return (int)count;
}

static int bound_cpus(pid_t pid, unsigned *cpus, size_t capacity)
{
    unsigned long mask[CPU_MAX / (8 * sizeof(unsigned long))] = { 0 };
    size_t count = 0;

    if (sched_getaffinity(pid, sizeof(mask), (cpu_set_t *)mask) < 0)
        return -errno;
    for (unsigned cpu = 0; cpu < CPU_MAX; cpu++) {
        if (!(mask[cpu / (8 * sizeof(*mask))] >> cpu % (8 * sizeof(*mask)) & 1))
            continue;
        if (count == capacity)
            return -E2BIG;
        cpus[count++] = cpu;
    }
    return (int)count;
}

int cpu_list_of_process(const struct root *root, pid_t pid, unsigned *cpus, size_t capacity,
                        bool *ret_is_partial)
{
    char text[512];
    ssize_t n = root_read(root, text, sizeof(text), "sys/devices/system/cpu/online");
    int count = n < 0 ? (int)n : cpu_list_parse(text, cpus, capacity);

    *ret_is_partial = count <= 0;
    return count > 0 ? count : bound_cpus(pid, cpus, capacity);
}
