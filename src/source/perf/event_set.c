/* SPDX-License-Identifier: Apache-2.0 */
#include "source/perf/event_set.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file_limit.h"
#include "base/reserve.h"

int event_set_add(struct event_set *set, struct perf_event_attr *attr, pid_t tid)
{
    long fd;

    if (set->count == EVENT_SET_MAX)
        return -E2BIG;
    if (reserve(&set->fds, &set->capacity, set->count + 1, sizeof(*set->fds)) < 0)
        return -ENOMEM;
    attr->size = sizeof(*attr);
    attr->inherit = 1;
    attr->exclude_hv = 1;
    fd = syscall(SYS_perf_event_open, attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
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

void event_set_control(const struct event_set *set, unsigned long request)
{
    for (size_t i = 0; i < set->count; i++)
        (void)ioctl(set->fds[i], request, 0); /* cannot fail for events of ours */
}
