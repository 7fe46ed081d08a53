/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <errno.h>

#include "base/unknown.h"
#include "cgroup/cgroup_events.h"
#include "fake_root.h"

static void oom_kills_of_both_versions_are_parsed(void **state)
{
    uint64_t count;

    (void)state;
    assert_int_equal(cgroup_parse_oom_kills(
                         "low 0\nhigh 1\nmax 2\noom 3\noom_kill 4\noom_group_kill 5\n", &count),
                     0);
    assert_int_equal(count, 4);
    assert_int_equal(
        cgroup_parse_oom_kills("oom_kill_disable 0\nunder_oom 0\noom_kill 7\n", &count), 0);
    assert_int_equal(count, 7);
    assert_int_equal(cgroup_parse_oom_kills("oom_kill_disable 0\nunder_oom 0\n", &count),
                     -ENOENT);
    assert_int_equal(cgroup_parse_oom_kills("", &count), -ENOENT);
    assert_int_equal(cgroup_parse_oom_kills("oom_kill x\n", &count), -EBADMSG);
    assert_int_equal(count, 7); /* untouched on failure */
}

static void throttled_time_of_both_versions_is_in_nanoseconds(void **state)
{
    uint64_t ns;

    (void)state;
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

static void events_change_from_read_to_read(void **state)
{
    struct cgroups cgroups = make_cgroups();
    struct cgroup_events events;
    struct cgroup_watch watch;
    struct fake_root fake;

    (void)state;
    fake_root_init(&fake);
    fake_root_write(&fake, "cg/memory/a/b/memory.oom_control", "oom_kill 1\n");
    fake_root_write(&fake, "cg/v2/a/b/cpu.stat", "throttled_usec 2\n");
    fake_root_write(&fake, "cg/v2/a/b/cpu.max", "50000 100000\n");
    cgroup_watch_init(&watch, &fake.root, &cgroups);
    cgroup_watch_read(&watch, &fake.root, &events);
    assert_int_equal(events.oom_kills_count, 1);
    assert_int_equal(events.throttled_ns, 2000);
    fake_root_write(&fake, "cg/memory/a/b/memory.oom_control", "oom_kill 3\n");
    fake_root_write(&fake, "cg/v2/a/b/cpu.stat", "usage_usec 1\n");
    cgroup_watch_read(&watch, &fake.root, &events);
    assert_int_equal(events.oom_kills_count, 3);
    assert_true(events.throttled_ns == UNKNOWN);
    cgroup_watch_done(&watch);
    cgroup_watch_done(&watch); /* twice does no harm */
    fake_root_done(&fake);
}

static void throttling_is_read_where_the_quota_is(void **state)
{
    struct cgroups cgroups = make_cgroups();
    struct cgroup_events events;
    struct cgroup_watch watch;
    struct fake_root fake;

    (void)state;
    fake_root_init(&fake);
    fake_root_write(&fake, "cg/v2/a/b/cpu.max", "max 100000\n");
    fake_root_write(&fake, "cg/v2/a/b/cpu.stat", "throttled_usec 0\n");
    fake_root_write(&fake, "cg/v2/a/cpu.max", "50000 100000\n");
    fake_root_write(&fake, "cg/v2/a/cpu.stat", "throttled_usec 5\n");
    cgroup_watch_init(&watch, &fake.root, &cgroups);
    cgroup_watch_read(&watch, &fake.root, &events);
    assert_int_equal(events.throttled_ns, 5000);
    cgroup_watch_done(&watch);

    fake_root_write(&fake, "cg/v2/a/cpu.max", "max 100000\n");
    cgroup_watch_init(&watch, &fake.root, &cgroups);
    cgroup_watch_read(&watch, &fake.root, &events);
    assert_int_equal(events.throttled_ns, 0); /* no quota at all: its own count */
    cgroup_watch_done(&watch);
    fake_root_done(&fake);
}

static void without_cgroups_nothing_is_known(void **state)
{
    struct cgroup_events events = { 1, 2 };
    struct cgroup_watch watch;
    struct fake_root fake;

    (void)state;
    fake_root_init(&fake);
    fake_root_write(&fake, "cpu.stat", "throttled_usec 5\n");
    cgroup_watch_init(&watch, &fake.root, NULL);
    cgroup_watch_read(&watch, &fake.root, &events);
    assert_true(events.oom_kills_count == UNKNOWN);
    assert_true(events.throttled_ns == UNKNOWN);
    cgroup_watch_done(&watch);
    fake_root_done(&fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(oom_kills_of_both_versions_are_parsed),
        cmocka_unit_test(throttled_time_of_both_versions_is_in_nanoseconds),
        cmocka_unit_test(events_change_from_read_to_read),
        cmocka_unit_test(throttling_is_read_where_the_quota_is),
        cmocka_unit_test(without_cgroups_nothing_is_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
