/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/amount.h"
#include "base/compiler.h"
#include "base/parse.h"
#include "cgroup/cgroup.h"
#include "fake_root.h"
#include "unit_test.h"

/* ---- cgroup ---------------------------------------------------------------- */

#define V2_MOUNT "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n"
#define HYBRID_MOUNTS                                                             \
    "27 1 254:0 / / rw - ext4 /dev/vda rw\n"                                      \
    "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"                  \
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n" \
    "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"           \
    "40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n"    \
    "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"

static const char *path(const struct cgroups *cgroups, enum cgroup_controller controller)
{
    return cgroups->of[controller].path;
}

TEST(on_version_2_all_controllers_share_one_folder)
{
    struct cgroups cgroups;

    assert_int_equal(cgroups_parse("0::/user.slice/a b\n", V2_MOUNT, &cgroups), 0);
    for (int i = 0; i < CGROUP_CONTROLLER_COUNT; i++) {
        assert_string_equal(cgroups.of[i].path, "sys/fs/cgroup/user.slice/a b");
        assert_true(cgroups.of[i].is_v2);
    }
}

TEST(on_a_hybrid_hierarchy_each_controller_has_its_own_version)
{
    struct cgroups cgroups;

    assert_int_equal(
        cgroups_parse("9:name=systemd:/s\n4:memory:/a/b\n2:cpu,cpuacct:/c:d\n0::/u\n",
                      HYBRID_MOUNTS, &cgroups),
        0);
    assert_string_equal(path(&cgroups, CGROUP_MEMORY), "sys/fs/cgroup/memory/a/b");
    assert_false(cgroups.of[CGROUP_MEMORY].is_v2);
    assert_string_equal(path(&cgroups, CGROUP_CPU), "sys/fs/cgroup/cpu,cpuacct/c:d");
    assert_string_equal(path(&cgroups, CGROUP_CPUACCT), "sys/fs/cgroup/cpu,cpuacct/c:d");
    assert_string_equal(path(&cgroups, CGROUP_UNIFIED), "sys/fs/cgroup/unified/u");
    assert_string_equal(path(&cgroups, CGROUP_PIDS), "sys/fs/cgroup/unified/u");
    assert_true(cgroups.of[CGROUP_PIDS].is_v2);
    assert_int_equal(
        cgroups_parse("9:dmem:/g\n0::/u\n",
                      HYBRID_MOUNTS
                      "42 31 0:39 / /sys/fs/cgroup/dmem rw - cgroup cgroup rw,dmem\n",
                      &cgroups),
        0);
    assert_string_equal(path(&cgroups, CGROUP_DMEM), "sys/fs/cgroup/dmem/g");
    assert_false(cgroups.of[CGROUP_DMEM].is_v2);
}

TEST(on_version_1_there_is_no_unified_tree)
{
    struct cgroups cgroups;

    assert_int_equal(
        cgroups_parse("4:memory:/\n",
                      "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
                      &cgroups),
        0);
    assert_string_equal(path(&cgroups, CGROUP_MEMORY), "sys/fs/cgroup/memory");
    assert_false(cgroup_is_visible(&cgroups.of[CGROUP_UNIFIED]));
    assert_false(cgroup_is_visible(&cgroups.of[CGROUP_CPU]));
}

TEST(a_bind_mount_shows_a_part_of_the_tree)
{
    static const char mount[] =
        "35 31 0:32 /docker/id /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n";
    struct cgroups cgroups;

    assert_int_equal(cgroups_parse("4:memory:/docker/id\n", mount, &cgroups), 0);
    assert_string_equal(path(&cgroups, CGROUP_MEMORY), "sys/fs/cgroup/memory");
    assert_int_equal(cgroups_parse("4:memory:/docker/id/sub\n", mount, &cgroups), 0);
    assert_string_equal(path(&cgroups, CGROUP_MEMORY), "sys/fs/cgroup/memory/sub");
    /* not below the mount: another container, a name with the same prefix, the root */
    assert_int_equal(cgroups_parse("4:memory:/docker/other\n", mount, &cgroups), -ENOENT);
    assert_int_equal(cgroups_parse("4:memory:/docker/id2\n", mount, &cgroups), -ENOENT);
    assert_int_equal(cgroups_parse("4:memory:/\n", mount, &cgroups), -ENOENT);
}

TEST(cgroups_outside_of_the_namespace_are_not_visible)
{
    struct cgroups cgroups;

    assert_int_equal(cgroups_parse("0::/../x\n", V2_MOUNT, &cgroups), -ENOENT);
    assert_int_equal(cgroups_parse("0::/..\n", V2_MOUNT, &cgroups), -ENOENT);
    assert_int_equal(cgroups_parse("0::/a/../../x\n", V2_MOUNT, &cgroups), -ENOENT);
    /* but accepted if the mount, too, was created outside the namespace */
    assert_int_equal(
        cgroups_parse("0::/../x\n", "31 23 0:28 /.. /cg rw - cgroup2 none rw\n", &cgroups), 0);
    assert_string_equal(path(&cgroups, CGROUP_UNIFIED), "cg/x");
    assert_int_equal(
        cgroups_parse("0::/../../x\n", "31 23 0:28 /.. /cg rw - cgroup2 none rw\n", &cgroups),
        -ENOENT);
    /* names may start with dots */
    assert_int_equal(cgroups_parse("0::/..x/...\n", V2_MOUNT, &cgroups), 0);
    assert_string_equal(path(&cgroups, CGROUP_UNIFIED), "sys/fs/cgroup/..x/...");
}

TEST(a_controller_of_an_unmounted_hierarchy_is_not_treated_as_version_2)
{
    struct cgroups cgroups;

    assert_int_equal(cgroups_parse("4:memory:/a\n0::/b\n", V2_MOUNT, &cgroups), 0);
    assert_false(cgroup_is_visible(&cgroups.of[CGROUP_MEMORY]));
    assert_string_equal(path(&cgroups, CGROUP_CPU), "sys/fs/cgroup/b");
}

TEST(the_mount_with_more_visible_ancestors_is_used)
{
    struct cgroups cgroups;

    assert_int_equal(cgroups_parse("0::/a/b\n",
                                   "1 2 0:28 /a/b /one rw - cgroup2 none rw\n"
                                   "1 2 0:28 / /two rw - cgroup2 none rw\n"
                                   "1 2 0:28 /a /three rw - cgroup2 none rw\n",
                                   &cgroups),
                     0);
    assert_string_equal(path(&cgroups, CGROUP_UNIFIED), "two/a/b");
}

TEST(escapes_are_decoded_in_mounts_but_not_in_cgroup_names)
{
    struct cgroups cgroups;

    assert_int_equal(cgroups_parse("0::/a b/c\\x2d\\040d\n",
                                   "1 2 0:28 /a\\040b /my\\040cg rw - cgroup2 none rw\n",
                                   &cgroups),
                     0);
    assert_string_equal(path(&cgroups, CGROUP_UNIFIED), "my cg/c\\x2d\\040d");
}

TEST(parents_are_followed_up_to_the_mount_point)
{
    struct cgroups cgroups;
    struct cgroup *cgroup = &cgroups.of[CGROUP_MEMORY];

    assert_int_equal(cgroups_parse("4:memory:/a/b\n", HYBRID_MOUNTS, &cgroups), 0);
    assert_true(cgroup_to_parent(cgroup));
    assert_string_equal(cgroup->path, "sys/fs/cgroup/memory/a");
    assert_true(cgroup_to_parent(cgroup));
    assert_string_equal(cgroup->path, "sys/fs/cgroup/memory");
    assert_false(cgroup_to_parent(cgroup));
    assert_string_equal(cgroup->path, "sys/fs/cgroup/memory");
    *cgroup = (struct cgroup){ .mount_length = 0 };
    assert_false(cgroup_to_parent(cgroup));
}

TEST(a_child_cgroup_is_a_direct_subdirectory)
{
    struct cgroup cgroup = { .path = "cg", .mount_length = 2 };
    char name[CGROUP_PATH_SIZE];

    assert_int_equal(cgroup_to_child(&cgroup, "spoor-1"), 0);
    assert_string_equal(cgroup.path, "cg/spoor-1");
    assert_int_equal(cgroup_to_child(&cgroup, ""), -EINVAL);
    assert_int_equal(cgroup_to_child(&cgroup, ".."), -EINVAL);
    assert_int_equal(cgroup_to_child(&cgroup, "a/b"), -EINVAL);
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    assert_int_equal(cgroup_to_child(&cgroup, name), -ENAMETOOLONG);
    assert_string_equal(cgroup.path, "cg/spoor-1");
    assert_true(cgroup_to_parent(&cgroup));
    assert_string_equal(cgroup.path, "cg");
    cgroup.path[0] = '\0';
    assert_int_equal(cgroup_to_child(&cgroup, "a"), -EINVAL);
}

TEST(a_path_that_is_too_long_is_not_truncated)
{
    char text[2 * CGROUP_PATH_SIZE];
    struct cgroups cgroups;

    memset(text, 'x', sizeof(text));
    memcpy(text, "0::/", 4);
    memcpy(text + sizeof(text) - 2, "\n", 2);
    assert_int_equal(cgroups_parse(text, V2_MOUNT, &cgroups), -ENOENT);
}

TEST(damaged_lines_are_skipped)
{
    static const char *const damaged[] = {
        "", "\n", "0", "0:", "0::", "0::\n", "0::/a", "0:/a\n", "4:memory:a\n", ":::\n", "x\n",
    };
    struct cgroups cgroups = { .of[0].mount_length = 5 };

    for (size_t i = 0; i < ARRAY_SIZE(damaged); i++)
        assert_int_equal(cgroups_parse(damaged[i], V2_MOUNT HYBRID_MOUNTS, &cgroups), -ENOENT);
    assert_int_equal(cgroups_parse("0::/a\n", "", &cgroups), -ENOENT);
    assert_int_equal(
        cgroups_parse("0::/a\n", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cg", &cgroups),
        -ENOENT);
    assert_int_equal(cgroups_parse("0::/a\n", "1 2 0:28 / / rw - cgroup2 none rw\n", &cgroups),
                     -ENOENT);
    assert_int_equal(
        cgroups_parse("0::/a\n", "1 2 0:28 / //sys rw - cgroup2 none rw\n", &cgroups), -ENOENT);
    assert_int_equal(
        cgroups_parse("0::/a\n", "1 2 0:28 / not/absolute rw - cgroup2 none rw\n", &cgroups),
        -ENOENT);
    assert_int_equal(cgroups.of[0].mount_length, 5); /* untouched on failure */
    assert_int_equal(cgroups_parse("x\n4:memory\n0::/a\n9:cut", "x\n" V2_MOUNT "x", &cgroups),
                     0);
    assert_string_equal(path(&cgroups, CGROUP_MEMORY), "sys/fs/cgroup/a");
}

FAKE_ROOT_TEST(cgroups_are_read_through_the_root)
{
    struct fake_root *fake = *state;
    struct cgroups cgroups;

    assert_int_equal(cgroups_read(&fake->root, 42, &cgroups), -ENOENT);
    fake_root_write(fake, "proc/42/cgroup", "0::/a\n");
    assert_int_equal(cgroups_read(&fake->root, 42, &cgroups), -ENOENT);
    fake_root_write(fake, "proc/self/mountinfo", V2_MOUNT);
    assert_int_equal(cgroups_read(&fake->root, 42, &cgroups), 0);
    assert_string_equal(path(&cgroups, CGROUP_CPU), "sys/fs/cgroup/a");
}

/* ---- cgroup file ----------------------------------------------------------- */

static const struct cgroup v1 = { .path = "cg/v1", .mount_length = 2 };
static const struct cgroup v2 = { .path = "cg/v2", .mount_length = 2, .is_v2 = true };

TEST(an_absent_limit_is_unknown)
{
    static const char *const none[] = {
        "max\n",
        "max",
        "-1\n",
        "9223372036854771712\n", /* pages of 4 KiB */
        "9223372036854710272\n", /* pages of 64 KiB */
        "18446744073709551615\n",
    };
    uint64_t value;

    for (size_t i = 0; i < ARRAY_SIZE(none); i++) {
        value = 5;
        assert_int_equal(cgroup_parse_u64(none[i], &value), 0);
        assert_true(value == UNKNOWN);
    }
    assert_int_equal(cgroup_parse_u64("0\n", &value), 0);
    assert_int_equal(value, 0);
    assert_int_equal(cgroup_parse_u64("1099511627776\n", &value), 0);
    assert_int_equal(value, 1099511627776);
}

TEST(damaged_numbers_are_refused)
{
    static const char *const damaged[] = {
        "",          "\n",      "x",
        "maximum\n", "max 5\n", "-2\n",
        "1 2\n",     "1x\n",    "99999999999999999999\n",
    };
    uint64_t value = 5;

    for (size_t i = 0; i < ARRAY_SIZE(damaged); i++)
        assert_int_equal(cgroup_parse_u64(damaged[i], &value), -EBADMSG);
    assert_int_equal(value, 5); /* untouched on failure */
}

TEST(a_quota_is_converted_to_a_number_of_cpus)
{
    double cpus;

    assert_int_equal(cgroup_parse_quota("50000 100000\n", &cpus), 0);
    assert_float_equal(cpus, 0.5, 0);
    assert_int_equal(cgroup_parse_quota("300000 100000\n", &cpus), 0);
    assert_float_equal(cpus, 3, 0);
    assert_int_equal(cgroup_parse_quota("max 100000\n", &cpus), 0);
    assert_true(isnan(cpus));
}

TEST(damaged_quotas_are_refused)
{
    static const char *const damaged[] = { "",        "max",       "max\n",
                                           "50000\n", "50000 0\n", "-1 100\n",
                                           "1 2 3\n", "x y\n",     "1 max\n" };
    double cpus = 5;

    for (size_t i = 0; i < ARRAY_SIZE(damaged); i++)
        assert_int_equal(cgroup_parse_quota(damaged[i], &cpus), -EBADMSG);
    assert_float_equal(cpus, 5, 0); /* untouched on failure */
}

FAKE_ROOT_TEST(each_cgroup_version_is_read_from_its_own_files)
{
    struct fake_root *fake = *state;
    uint64_t value;
    double cpus;

    fake_root_write(fake, "cg/v1/cpu.cfs_quota_us", "150000\n");
    fake_root_write(fake, "cg/v1/cpu.cfs_period_us", "100000\n");
    fake_root_write(fake, "cg/v1/memory.limit_in_bytes", "4096\n");
    fake_root_write(fake, "cg/v2/cpu.max", "250000 100000\n");
    fake_root_write(fake, "cg/v2/cpuset.cpus.effective", "0-2,5\n");
    assert_int_equal(cgroup_read_quota(&fake->root, &v1, &cpus), 0);
    assert_float_equal(cpus, 1.5, 0);
    assert_int_equal(cgroup_read_quota(&fake->root, &v2, &cpus), 0);
    assert_float_equal(cpus, 2.5, 0);
    assert_int_equal(cgroup_read_u64(&fake->root, &v1, "memory.limit_in_bytes", &value), 0);
    assert_int_equal(value, 4096);
    assert_int_equal(cgroup_count_cpus(&fake->root, &v2, "cpuset.cpus.effective"), 4);
    fake_root_write(fake, "cg/v1/cpu.cfs_quota_us", "-1\n");
    assert_int_equal(cgroup_read_quota(&fake->root, &v1, &cpus), 0);
    assert_true(isnan(cpus));
    fake_root_write(fake, "cg/v1/cpu.cfs_period_us", "0\n");
    assert_int_equal(cgroup_read_quota(&fake->root, &v1, &cpus), -EBADMSG);
}

FAKE_ROOT_TEST(missing_files_are_not_found)
{
    struct fake_root *fake = *state;
    static const struct cgroup none = { .mount_length = 0 };
    uint64_t value;
    double cpus;

    fake_root_write(fake, "memory.max", "5\n"); /* not the limit of a missing cgroup */
    assert_int_equal(cgroup_read_u64(&fake->root, &none, "memory.max", &value), -ENOENT);
    assert_int_equal(cgroup_read_u64(&fake->root, &v2, "memory.max", &value), -ENOENT);
    assert_int_equal(cgroup_read_quota(&fake->root, &v1, &cpus), -ENOENT);
    assert_int_equal(cgroup_read_quota(&fake->root, &v2, &cpus), -ENOENT);
}

/* ---- cgroup events --------------------------------------------------------- */

TEST(oom_kills_of_both_versions_are_parsed)
{
    uint64_t count;

    assert_int_equal(
        parse_key_u64("low 0\nhigh 1\nmax 2\noom 3\noom_kill 4\noom_group_kill 5\n", "oom_kill",
                      &count),
        0);
    assert_int_equal(count, 4);
    assert_int_equal(
        parse_key_u64("oom_kill_disable 0\nunder_oom 0\noom_kill 7\n", "oom_kill", &count), 0);
    assert_int_equal(count, 7);
    assert_int_equal(parse_key_u64("oom_kill_disable 0\nunder_oom 0\n", "oom_kill", &count),
                     -ENOENT);
    assert_int_equal(parse_key_u64("", "oom_kill", &count), -ENOENT);
    assert_int_equal(parse_key_u64("oom_kill x\n", "oom_kill", &count), -EBADMSG);
    assert_int_equal(count, 7); /* untouched on failure */
}

TEST(throttled_time_of_both_versions_is_in_nanoseconds)
{
    uint64_t ns;

    assert_int_equal(
        cgroup_parse_throttled(
            "usage_usec 9\nnr_periods 1\nnr_throttled 1\nthrottled_usec 12\n", &ns),
        0);
    assert_int_equal(ns, 12000);
    assert_int_equal(
        cgroup_parse_throttled("nr_periods 1\nnr_throttled 1\nthrottled_time 34\n", &ns), 0);
    assert_int_equal(ns, 34);
    /* version 2 without the controller */
    assert_int_equal(cgroup_parse_throttled("usage_usec 9\nuser_usec 5\n", &ns), -ENOENT);
    assert_int_equal(cgroup_parse_throttled("", &ns), -ENOENT);
    assert_int_equal(ns, 34); /* untouched on failure */
    assert_int_equal(cgroup_parse_throttled("throttled_usec 18446744073709551614\n", &ns), 0);
    assert_true(ns == UNKNOWN);
}

static struct cgroups make_cgroups(void)
{
    return (struct cgroups){
        .of[CGROUP_MEMORY] = { .path = "cg/memory/a/b", .mount_length = 9 },
        .of[CGROUP_CPU] = { .path = "cg/v2/a/b", .mount_length = 5, .is_v2 = true },
    };
}

FAKE_ROOT_TEST(cgroup_events_are_updated_at_each_reading)
{
    struct fake_root *fake = *state;
    struct cgroups cgroups = make_cgroups();
    struct cgroup_events events;
    struct cgroup_watch watch;

    fake_root_write(fake, "cg/memory/a/b/memory.oom_control", "oom_kill 1\n");
    fake_root_write(fake, "cg/v2/a/b/cpu.stat", "throttled_usec 2\n");
    fake_root_write(fake, "cg/v2/a/b/cpu.max", "50000 100000\n");
    cgroup_watch_init(&watch, &fake->root, &cgroups);
    cgroup_watch_read(&watch, &fake->root, &events);
    assert_int_equal(events.oom_kills_count, 1);
    assert_int_equal(events.throttled_ns, 2000);
    fake_root_write(fake, "cg/memory/a/b/memory.oom_control", "oom_kill 3\n");
    fake_root_write(fake, "cg/v2/a/b/cpu.stat", "usage_usec 1\n");
    cgroup_watch_read(&watch, &fake->root, &events);
    assert_int_equal(events.oom_kills_count, 3);
    assert_true(events.throttled_ns == UNKNOWN);
    cgroup_watch_done(&watch);
    cgroup_watch_done(&watch); /* a second call is harmless */
}

FAKE_ROOT_TEST(throttling_is_read_from_the_cgroup_that_has_the_quota)
{
    struct fake_root *fake = *state;
    struct cgroups cgroups = make_cgroups();
    struct cgroup_events events;
    struct cgroup_watch watch;

    fake_root_write(fake, "cg/v2/a/b/cpu.max", "max 100000\n");
    fake_root_write(fake, "cg/v2/a/b/cpu.stat", "throttled_usec 0\n");
    fake_root_write(fake, "cg/v2/a/cpu.max", "50000 100000\n");
    fake_root_write(fake, "cg/v2/a/cpu.stat", "throttled_usec 5\n");
    cgroup_watch_init(&watch, &fake->root, &cgroups);
    cgroup_watch_read(&watch, &fake->root, &events);
    assert_int_equal(events.throttled_ns, 5000);
    cgroup_watch_done(&watch);

    fake_root_write(fake, "cg/v2/a/cpu.max", "max 100000\n");
    cgroup_watch_init(&watch, &fake->root, &cgroups);
    cgroup_watch_read(&watch, &fake->root, &events);
    assert_int_equal(events.throttled_ns, 0); /* no quota anywhere: read from cg/v2/a/b */
    cgroup_watch_done(&watch);
}

FAKE_ROOT_TEST(without_cgroups_all_events_are_unknown)
{
    struct fake_root *fake = *state;
    struct cgroup_events events = { 1, 2 };
    struct cgroup_watch watch;

    fake_root_write(fake, "cpu.stat", "throttled_usec 5\n");
    cgroup_watch_init(&watch, &fake->root, NULL);
    cgroup_watch_read(&watch, &fake->root, &events);
    assert_true(events.oom_kills_count == UNKNOWN);
    assert_true(events.throttled_ns == UNKNOWN);
    cgroup_watch_done(&watch);
}

/* ---- cgroup directory ------------------------------------------------------ */

#define V2 "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n"
#define HYBRID                                                                    \
    "27 1 254:0 / / rw - ext4 /dev/vda rw\n"                                      \
    "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"                  \
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n" \
    "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"           \
    "36 31 0:33 / /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer\n"         \
    "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"

enum { LIST_SIZE = 100 };

struct machine {
    struct fake_root fake;
    struct cgroup own;
    struct cgroups cgroups;
    struct spoor_error err;
};

static void begin(struct machine *machine, const char *mounts)
{
    *machine = (struct machine){ .err = { 0 } };
    fake_root_init(&machine->fake);
    fake_root_write(&machine->fake, "proc/self/mountinfo", mounts);
}

static int find(struct machine *machine, const char *directory)
{
    return cgroup_directory_find(&machine->fake.root, directory, &machine->own,
                                 &machine->cgroups, &machine->err);
}

static void note(pid_t pid, void *data)
{
    char *text = data;
    size_t used = strlen(text);

    (void)snprintf(text + used, LIST_SIZE - used, "%d ", (int)pid);
}

static int list(struct machine *machine, char *text)
{
    struct children_buffer buffer = { 0 };
    int count;

    text[0] = '\0';
    count = cgroup_each_process(&machine->fake.root, &machine->own, true, &buffer, note, text);
    children_buffer_done(&buffer);
    return count;
}

TEST(a_version_2_cgroup_is_one_directory)
{
    struct machine m;

    begin(&m, V2);
    fake_root_write(&m.fake, "sys/fs/cgroup/a.slice/b.scope/cgroup.procs", "42\n");
    fake_root_write(&m.fake, "sys/fs/cgroup/a.slice/b.scope/cgroup.events",
                    "populated 1\nfrozen 0\n");
    assert_int_equal(find(&m, "/sys/fs/cgroup/a.slice/b.scope"), 0);
    assert_string_equal(m.own.path, "sys/fs/cgroup/a.slice/b.scope");
    assert_true(m.own.is_v2);
    for (int i = 0; i < CGROUP_CONTROLLER_COUNT; i++)
        assert_string_equal(m.cgroups.of[i].path, m.own.path);
    assert_true(cgroup_to_parent(&m.own));
    assert_true(cgroup_to_parent(&m.own));
    assert_false(cgroup_to_parent(&m.own)); /* the top of the tree */
    fake_root_done(&m.fake);
}

TEST(a_version_1_cgroup_is_found_in_every_hierarchy)
{
    struct machine m;

    begin(&m, HYBRID);
    fake_root_write(&m.fake, "sys/fs/cgroup/freezer/docker/1f/cgroup.procs", "42\n");
    fake_root_write(&m.fake, "sys/fs/cgroup/memory/docker/1f/cgroup.procs", "42\n");
    fake_root_write(&m.fake, "sys/fs/cgroup/cpu,cpuacct/docker/1f/cgroup.procs", "42\n");
    assert_int_equal(find(&m, "/sys/fs/cgroup/freezer/docker/1f"), 0);
    assert_string_equal(m.own.path, "sys/fs/cgroup/freezer/docker/1f");
    assert_string_equal(m.cgroups.of[CGROUP_MEMORY].path, "sys/fs/cgroup/memory/docker/1f");
    assert_string_equal(m.cgroups.of[CGROUP_CPUACCT].path,
                        "sys/fs/cgroup/cpu,cpuacct/docker/1f");
    assert_false(cgroup_is_visible(&m.cgroups.of[CGROUP_UNIFIED]));
    assert_false(cgroup_is_visible(&m.cgroups.of[CGROUP_PIDS]));
    fake_root_done(&m.fake);
}

/* On a hybrid system, a controller may have a directory with the same name that does not
 * contain the processes. */
TEST(an_empty_cgroup_of_the_same_name_is_ignored)
{
    struct machine m;

    begin(&m, HYBRID);
    fake_root_write(&m.fake, "sys/fs/cgroup/memory/job/cgroup.procs", "42\n");
    fake_root_write(&m.fake, "sys/fs/cgroup/cpu,cpuacct/job/cgroup.procs", "");
    fake_root_write(&m.fake, "sys/fs/cgroup/unified/job/cgroup.procs", "");
    fake_root_write(&m.fake, "sys/fs/cgroup/unified/job/cgroup.events", "populated 0\n");
    assert_int_equal(find(&m, "/sys/fs/cgroup/memory/job"), 0);
    assert_string_equal(m.cgroups.of[CGROUP_MEMORY].path, "sys/fs/cgroup/memory/job");
    assert_false(cgroup_is_visible(&m.cgroups.of[CGROUP_CPUACCT]));
    assert_false(cgroup_is_visible(&m.cgroups.of[CGROUP_UNIFIED]));
    fake_root_done(&m.fake);
}

/* Docker on version 1: the root of the mount is the container's cgroup; parent cgroups are
 * hidden. */
TEST(a_container_sees_its_cgroup_at_the_mount_point)
{
    struct machine m;

    begin(&m, "35 31 0:32 /docker/1f /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
              "36 31 0:33 /docker/1f /sys/fs/cgroup/pids ro - cgroup cgroup rw,pids\n");
    fake_root_write(&m.fake, "sys/fs/cgroup/memory/cgroup.procs", "42\n");
    fake_root_write(&m.fake, "sys/fs/cgroup/pids/cgroup.procs", "42\n");
    assert_int_equal(find(&m, "/sys/fs/cgroup/memory"), 0);
    assert_string_equal(m.cgroups.of[CGROUP_PIDS].path, "sys/fs/cgroup/pids");
    fake_root_done(&m.fake);
}

TEST(processes_in_child_cgroups_are_listed_too)
{
    struct machine m;
    char text[LIST_SIZE];

    begin(&m, V2);
    fake_root_write(&m.fake, "sys/fs/cgroup/job/cgroup.procs", "");
    fake_root_write(&m.fake, "sys/fs/cgroup/job/a/cgroup.procs", "7\n0\n8\n");
    fake_root_write(&m.fake, "sys/fs/cgroup/job/a/b/cgroup.procs", "9\n");
    fake_root_write(&m.fake, "sys/fs/cgroup/job/cgroup.events", "populated 1\n");
    assert_int_equal(find(&m, "/sys/fs/cgroup/job"), 0);
    assert_int_equal(list(&m, text), 3); /* 0 is a process of another PID namespace */
    assert_string_equal(text, "7 0 8 9 ");
    assert_true(cgroup_is_populated(&m.fake.root, &m.own));
    fake_root_write(&m.fake, "sys/fs/cgroup/job/cgroup.events", "populated 0\n");
    assert_false(cgroup_is_populated(&m.fake.root, &m.own));
    assert_int_equal(cgroup_to_child(&m.own, "gone"), 0);
    assert_int_equal(list(&m, text), -ENOENT);
    assert_false(cgroup_is_populated(&m.fake.root, &m.own));
    fake_root_done(&m.fake);
}

TEST(a_directory_that_cannot_be_tracked_causes_an_error_message)
{
    struct machine m;

    begin(&m, HYBRID);
    fake_root_write(&m.fake, "sys/fs/cgroup/memory/empty/cgroup.procs", "");
    fake_root_write(&m.fake, "sys/fs/cgroup/memory/odd/file", "");
    assert_int_equal(find(&m, "/sys/fs/cgroup/memory/none"), -ENOENT);
    assert_string_equal(m.err.message, "no such cgroup: '/sys/fs/cgroup/memory/none'");
    assert_int_equal(find(&m, "/sys/fs/cgroup/memory/empty"), -ESRCH);
    assert_string_equal(m.err.message,
                        "there is no process in cgroup '/sys/fs/cgroup/memory/empty'");
    assert_int_equal(find(&m, "/home"), -EINVAL);
    assert_string_equal(m.err.message,
                        "'/home' is not a cgroup: name a directory below /sys/fs/cgroup");
    assert_int_equal(find(&m, "/sys/fs/cgroup/memory/odd"), -EINVAL);
    assert_int_equal(find(&m, "/sys/fs/cgroup/memoryless"), -EINVAL);
    assert_int_equal(find(&m, ""), -EINVAL);
    fake_root_done(&m.fake);
}
