/* SPDX-License-Identifier: Apache-2.0 */
#include "cgroup/cgroup_events.h"

#include <math.h>

#include "base/arithmetic.h"
#include "base/clock.h"
#include "base/parse.h"
#include "base/unknown.h"
#include "cgroup/cgroup_file.h"

int cgroup_parse_oom_kills(const char *text, uint64_t *ret_count)
{
    return parse_key_u64(text, "oom_kill", ret_count);
}

int cgroup_parse_throttled(const char *text, uint64_t *ret_ns)
{
    uint64_t us;

    if (parse_key_u64(text, "throttled_usec", &us) < 0)
        return parse_key_u64(text, "throttled_time", ret_ns);
    *ret_ns = product_u64(us, NS_PER_US);
    return 0;
}

static bool has_quota(const struct root *root, const struct cgroup *cgroup)
{
    double cpus;

    return cgroup_read_quota(root, cgroup, &cpus) == 0 && !isnan(cpus);
}

static struct cgroup quota_holder(const struct root *root, const struct cgroup *cgroup)
{
    struct cgroup holder = *cgroup;

    do {
        if (has_quota(root, &holder))
            return holder;
    } while (cgroup_to_parent(&holder));
    return *cgroup;
}

void cgroup_watch_init(struct cgroup_watch *watch, const struct root *root,
                       const struct cgroups *cgroups)
{
    *watch = (struct cgroup_watch){ .memory_file = CACHED_FILE_CLOSED,
                                    .cpu_file = CACHED_FILE_CLOSED };
    if (!cgroups)
        return;
    watch->memory = cgroups->of[CGROUP_MEMORY];
    watch->cpu = quota_holder(root, &cgroups->of[CGROUP_CPU]);
}

void cgroup_watch_done(struct cgroup_watch *watch)
{
    cached_file_close(&watch->memory_file);
    cached_file_close(&watch->cpu_file);
}

static const char *read_text(struct cached_file *kept, const struct root *root,
                             const struct cgroup *cgroup, const char *file, char *buf,
                             size_t size)
{
    if (!cgroup_is_visible(cgroup) ||
        cached_file_read_record(kept, root, buf, size, "%s/%s", cgroup->path, file) < 0)
        return "";
    return buf;
}

void cgroup_watch_read(struct cgroup_watch *watch, const struct root *root,
                       struct cgroup_events *ret)
{
    const char *memory_file = watch->memory.is_v2 ? "memory.events" : "memory.oom_control";
    const char *text;
    char buf[4096];

    /* A parser that fails leaves its figure as it is: unknown. */
    *ret = (struct cgroup_events){ .oom_kills_count = UNKNOWN, .throttled_ns = UNKNOWN };
    text = read_text(&watch->memory_file, root, &watch->memory, memory_file, buf, sizeof(buf));
    (void)cgroup_parse_oom_kills(text, &ret->oom_kills_count);
    text = read_text(&watch->cpu_file, root, &watch->cpu, "cpu.stat", buf, sizeof(buf));
    (void)cgroup_parse_throttled(text, &ret->throttled_ns);
}
