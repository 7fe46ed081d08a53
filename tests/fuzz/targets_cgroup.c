/* SPDX-License-Identifier: Apache-2.0 */
/* targets_cgroup.c - paths and files of cgroups, and replies of systemd. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "base/parse.h"
#include "cgroup/cgroup.h"
#include "cgroup/systemd_scope.h"
#include "fuzz.h"

static void check_cgroup(const struct cgroup *cgroup)
{
    struct cgroup copy = *cgroup;

    CHECK_ENDED(cgroup->path);
    CHECK(cgroup->path[0] != '/');
    if (!cgroup_is_visible(cgroup))
        return;
    CHECK(cgroup->mount_length <= strlen(cgroup->path));
    if (cgroup_to_child(&copy, "child") == 0)
        CHECK(cgroup_to_parent(&copy) && strcmp(copy.path, cgroup->path) == 0);
    while (cgroup_to_parent(&copy))
        CHECK(strlen(copy.path) >= cgroup->mount_length);
}

/* The parts are cgroup, mountinfo and directory. */
static void run_cgroup_paths(char *text, size_t length)
{
    struct fuzz_part parts[FUZZ_PARTS_MAX];
    size_t count = fuzz_split(text, length, parts);
    const char *mountinfo = fuzz_part_text(parts, count, "mountinfo");
    struct cgroups cgroups;
    struct cgroup own;

    if (cgroups_parse(fuzz_part_text(parts, count, "cgroup"), mountinfo, &cgroups) == 0)
        for (size_t i = 0; i < CGROUP_CONTROLLER_COUNT; i++)
            check_cgroup(&cgroups.of[i]);
    if (cgroups_parse_directory(fuzz_part_text(parts, count, "directory"), mountinfo, &own,
                                &cgroups) == 0) {
        check_cgroup(&own);
        CHECK(cgroup_is_visible(&own));
        for (size_t i = 0; i < CGROUP_CONTROLLER_COUNT; i++)
            check_cgroup(&cgroups.of[i]);
    }
}

/* Every parser must survive the contents of every cgroup file. */
static void run_cgroup_files(char *text, UNUSED size_t length)
{
    struct cgroup_cpu cpu;
    struct cgroup_memory memory;
    struct cgroup_io io;
    struct cgroup_dmem dmem = cgroup_parse_dmem(text, "0000:03:00.0");
    uint64_t value;
    double cpus;

    CHECK(is_known(dmem.bytes) == is_known(dmem.largest_bytes));
    CHECK(dmem.largest_bytes <= dmem.bytes);
    (void)cgroup_parse_cpu_stat(text, &cpu);
    (void)cgroup_parse_memory_stat(text, &memory);
    (void)cgroup_parse_io_stat(text, &io);
    (void)parse_key_u64(text, "oom_kill", &value);
    (void)cgroup_parse_throttled(text, &value);
    if (cgroup_parse_u64(text, &value) == 0)
        CHECK(!is_known(value) || value < 1ull << 60);
    if (cgroup_parse_quota(text, &cpus) == 0)
        CHECK(isnan(cpus) || (isfinite(cpus) && cpus >= 0));
}

/* The input is a D-Bus message. The call that spoor writes must not be taken for a reply. */
static void run_scope_message(char *text, size_t length)
{
    uint8_t call[SCOPE_CALL_SIZE];
    size_t expected;
    ssize_t written;

    if (length >= SCOPE_HEAD_SIZE &&
        scope_message_length((const uint8_t *)text, &expected) == 0)
        CHECK(expected >= SCOPE_HEAD_SIZE);
    (void)scope_message_outcome((const uint8_t *)text, length, "spoor-1.scope");

    written = scope_call_write(text, 1, 2, call);
    CHECK(written == -EMSGSIZE || (written > 0 && written <= SCOPE_CALL_SIZE));
    if (written > 0) {
        CHECK(scope_message_length(call, &expected) == 0 && expected == (size_t)written);
        CHECK(scope_message_outcome(call, expected, "spoor-1.scope") == -EAGAIN);
    }
}

const struct fuzz_target cgroup_targets[] = {
    { "cgroup_paths", run_cgroup_paths, 2 },
    { "cgroup_files", run_cgroup_files, 1 },
    { "scope_message", run_scope_message, 8 },
    { NULL, NULL, 0 },
};
