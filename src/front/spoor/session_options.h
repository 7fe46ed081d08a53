/* SPDX-License-Identifier: Apache-2.0 */
/* session_options.h - the settings as options of a session. */
#ifndef FRONT_SPOOR_SESSION_OPTIONS_H
#define FRONT_SPOOR_SESSION_OPTIONS_H

#include <string.h>

#include "front/spoor/settings.h"
#include "spoor/spoor.h"

/* The texts are borrowed from the settings. */
static inline struct spoor_options session_options(const struct settings *settings)
{
    struct spoor_options options = SPOOR_OPTIONS_INIT;

    options.interval_ns = settings->interval_ns;
    options.detail = settings->detail;
    options.budget_millionths = settings->budget_millionths;
    if (settings->cgroup && strchr(settings->cgroup, '/')) {
        options.cgroup = SPOOR_CGROUP_REQUIRE;
        options.cgroup_folder = settings->cgroup;
    } else if (settings->cgroup) {
        options.cgroup = strcmp(settings->cgroup, "off") == 0       ? SPOOR_CGROUP_OFF
                         : strcmp(settings->cgroup, "require") == 0 ? SPOOR_CGROUP_REQUIRE
                                                                    : SPOOR_CGROUP_AUTO;
    }
    options.gpus = settings->gpus;
    options.name = settings->name;
    options.tags = (const char *const *)settings->tags.items;
    options.samples_path = settings->samples_path;
    options.streams = &settings->stream;
    options.stream_count = settings->stream_path ? 1 : 0;
    if (settings->is_append)
        options.flags |= SPOOR_SAMPLES_APPEND;
    if (settings->is_no_clobber)
        options.flags |= SPOOR_SAMPLES_NO_CLOBBER;
    return options;
}

#endif
