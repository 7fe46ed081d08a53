/* SPDX-License-Identifier: Apache-2.0 */
/* session_options.h - the user's settings as options of a session. */
#ifndef FRONT_COMMON_SESSION_OPTIONS_H
#define FRONT_COMMON_SESSION_OPTIONS_H

#include "front/common/settings.h"
#include "spoor/spoor.h"

/* The texts stay the settings'. */
static inline struct spoor_options session_options(const struct cli_settings *settings)
{
    struct spoor_options options = SPOOR_OPTIONS_INIT;

    options.interval_ns = settings->interval_ns;
    options.detail = settings->detail;
    options.cgroup = settings->cgroup;
    options.cgroup_folder = settings->cgroup_folder;
    options.gpus = settings->gpus;
    options.name = settings->name;
    options.tags = (const char *const *)settings->tags;
    options.samples_path = settings->samples_path;
    if (settings->is_append)
        options.flags |= SPOOR_SAMPLES_APPEND;
    if (settings->is_no_clobber)
        options.flags |= SPOOR_SAMPLES_NO_CLOBBER;
    return options;
}

#endif
