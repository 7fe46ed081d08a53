/* SPDX-License-Identifier: Apache-2.0 */
#include "job/source_names.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/compiler.h"

static const struct {
    const char *name;
    enum source_bit source;
} names[] = {
    { "cgroup", SOURCE_CGROUP },       { "perf", SOURCE_PERF },
    { "ring", SOURCE_RING },           { "connector", SOURCE_CONNECTOR },
    { "taskstats", SOURCE_TASKSTATS }, { "clock", SOURCE_CLOCK },
    { "children", SOURCE_CHILDREN },   { "smaps", SOURCE_SMAPS },
    { "network", SOURCE_NETWORK },     { "gpu", SOURCE_GPU },
    { "nvidia", SOURCE_NVIDIA },       { "amd", SOURCE_AMD },
    { "intel", SOURCE_INTEL },
};

static unsigned find(const char *name, size_t length)
{
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        if (strlen(names[i].name) == length && strncmp(names[i].name, name, length) == 0)
            return names[i].source;
    }
    return 0;
}

unsigned sources_find(const char *name)
{
    return find(name, strlen(name));
}

int sources_parse(const char *list, unsigned *ret_disabled, const char **ret_name)
{
    unsigned disabled = 0;

    while (list && *list) {
        size_t length = strcspn(list, ",");
        unsigned source = find(list, length);

        if (source == 0) {
            *ret_name = list;
            return -EINVAL;
        }
        disabled |= source;
        list += length + (list[length] == ',');
    }
    *ret_disabled = disabled;
    return 0;
}
