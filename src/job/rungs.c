/* SPDX-License-Identifier: Apache-2.0 */
#include "job/rungs.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/compiler.h"

static const struct {
    const char *name;
    enum rung rung;
} names[] = {
    { "cgroup", RUNG_CGROUP },
    { "perf", RUNG_PERF },
    { "ring", RUNG_RING },
    { "connector", RUNG_CONNECTOR },
    { "taskstats", RUNG_TASKSTATS },
    { "clock", RUNG_CLOCK },
    { "children", RUNG_CHILDREN },
    { "smaps", RUNG_SMAPS },
    { "gpu", RUNG_GPU },
    { "nvidia", RUNG_NVIDIA },
    { "amd", RUNG_AMD },
    { "intel", RUNG_INTEL },
};

static unsigned find(const char *name, size_t length)
{
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        if (strlen(names[i].name) == length && strncmp(names[i].name, name, length) == 0)
            return names[i].rung;
    }
    return 0;
}

unsigned rungs_find(const char *name)
{
    return find(name, strlen(name));
}

int rungs_parse(const char *list, unsigned *ret_disabled, const char **ret_name)
{
    unsigned disabled = 0;

    while (list && *list) {
        size_t length = strcspn(list, ",");
        unsigned rung = find(list, length);

        if (rung == 0) {
            *ret_name = list;
            return -EINVAL;
        }
        disabled |= rung;
        list += length + (list[length] == ',');
    }
    *ret_disabled = disabled;
    return 0;
}
