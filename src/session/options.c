/* SPDX-License-Identifier: Apache-2.0 */
/* options.c - checks the options of a session. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/environment.h"
#include "base/error.h"
#include "record/record.h"
#include "session/session.h"

static int check_job(const struct spoor_options *options, struct spoor_error *err)
{
    if (options->pid < 0)
        return error_set(err, EINVAL, "invalid process ID %d: must not be negative",
                         (int)options->pid);
    if (options->pid == 0 && options->flags & (SPOOR_CALLER_SPAWNED | SPOOR_MAIN_ONLY))
        return error_set(err, EINVAL, "missing process ID");
    if (options->flags & SPOOR_TRACK_CGROUP && (options->pid != 0 || !options->cgroup_folder))
        return error_set(err, EINVAL, "to track a cgroup, name it and no process");
    if (options->flags & SPOOR_MAIN_ONLY && options->flags & SPOOR_CALLER_SPAWNED)
        return error_set(err, EINVAL,
                         "SPOOR_MAIN_ONLY and SPOOR_CALLER_SPAWNED cannot be combined");
    return 0;
}

int session_copy_options(const struct spoor_options *from, struct spoor_options *ret,
                         struct spoor_error *err)
{
    struct spoor_options options = SPOOR_OPTIONS_INIT;

    if (from->size < sizeof(from->size) || from->size > sizeof(options))
        return error_set(err, EINVAL,
                         "invalid options size %zu: initialize them with SPOOR_OPTIONS_INIT",
                         from->size);
    memcpy(&options, from, from->size);
    if (check_job(&options, err) < 0)
        return -EINVAL;
    if (options.interval_ns < SPOOR_INTERVAL_MIN_NS ||
        options.interval_ns > SPOOR_INTERVAL_MAX_NS)
        return error_set(err, EINVAL, "invalid interval %llu ns: must be 1 ms to 1 h",
                         (unsigned long long)options.interval_ns);
    if ((unsigned)options.cgroup > SPOOR_CGROUP_REQUIRE)
        return error_set(err, EINVAL, "invalid cgroup mode %d", (int)options.cgroup);
    if ((unsigned)options.detail > SPOOR_DETAIL_NEVER)
        return error_set(err, EINVAL, "invalid detail mode %d", (int)options.detail);
    if (options.id && (strlen(options.id) != RUN_ID_SIZE - 1 ||
                       options.id[strspn(options.id, "0123456789abcdef")] != '\0'))
        return error_set(err, EINVAL, "invalid ID of the run: must be 32 hexadecimal digits");
    if (options.gpus && gpu_choice_check(options.gpus, err) < 0)
        return error_prefix(err, EINVAL, "gpus");
    *ret = options;
    return 0;
}

int session_open_root(const char *path, struct root *ret, struct spoor_error *err)
{
    int r = root_open(path, ret);

    return r < 0 ? error_sys(err, r, "root directory '%s'", path ? path : "/") : 0;
}

int session_read_disabled(unsigned *ret, struct spoor_error *err)
{
    const char *unknown;

    if (sources_parse(getenv("SPOOR_DISABLE"), ret, &unknown) < 0)
        return error_set(err, EINVAL, "SPOOR_DISABLE: unknown source '%s'", unknown);
    return 0;
}

int session_job_options(const struct spoor_options *options, struct job_options *ret,
                        struct spoor_error *err)
{
    *ret = (struct job_options){
        .pid = options->pid,
        .caller_spawned = options->flags & SPOOR_CALLER_SPAWNED,
        .is_main_only = options->flags & SPOOR_MAIN_ONLY,
        .has_counters = options->flags & SPOOR_COUNTERS,
        .detail = options->detail,
        .cgroup = options->cgroup,
        .cgroup_folder = options->cgroup_folder,
        .budget_millionths =
            options->budget_millionths != 0 ? options->budget_millionths : BUDGET_MILLIONTHS,
        .environment = environment_own,
    };
    return session_read_disabled(&ret->disabled, err);
}
