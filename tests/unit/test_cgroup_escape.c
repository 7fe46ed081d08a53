/* SPDX-License-Identifier: Apache-2.0 */

#include "fake_job.h"
#include "job/job_cgroup.h"
#include "unit_test.h"

#define UNIFIED "0::/a/spoor-1-2"
#define MEMORY "4:memory:/b/spoor-1-2"

struct escape {
    struct fake_root fake;
    struct job_cgroup job_cgroup;
    struct cgroup_escape escape;
    struct member member;
};

static void begin(struct escape *e, const char *text)
{
    *e = (struct escape){ 0 };
    fake_root_init(&e->fake);
    fake_process_put(&e->fake, &(struct fake_process){ .pid = 10, .resident_pages = 9 });
    fake_root_write(&e->fake, "proc/10/cgroup", text);
    e->job_cgroup.root = &e->fake.root;
    e->job_cgroup.folders[CGROUP_UNIFIED].is_made =
        e->job_cgroup.folders[CGROUP_MEMORY].is_made = true;
    cgroup_escape_init(&e->escape, &e->job_cgroup, 10);
    e->member = (struct member){ .id.pid = 10, .files.stat = CACHED_FILE_CLOSED };
}

static void move(struct escape *e, const char *text)
{
    fake_root_write(&e->fake, "proc/10/cgroup", text);
    cgroup_escape_check(&e->escape, &e->fake.root, &e->member);
}

TEST(a_process_in_the_cgroup_or_below_it_has_not_escaped)
{
    struct escape e;

    begin(&e, MEMORY "\n" UNIFIED "\n");
    move(&e, MEMORY "\n" UNIFIED "\n");
    move(&e, MEMORY "/deeper/still\n" UNIFIED "/x\n");
    assert_false(e.escape.has_left[CGROUP_UNIFIED]);
    assert_false(e.escape.has_left[CGROUP_MEMORY]);
    fake_root_done(&e.fake);
}

TEST(a_process_may_leave_a_single_hierarchy)
{
    struct escape e;

    begin(&e, MEMORY "\n" UNIFIED "\n");
    move(&e, "4:memory:/b\n" UNIFIED "\n");
    assert_false(e.escape.has_left[CGROUP_UNIFIED]);
    assert_true(e.escape.has_left[CGROUP_MEMORY]);
    move(&e, MEMORY "\n0::/a/spoor-1-23\n"); /* in the unified hierarchy, it is outside */
    assert_true(e.escape.has_left[CGROUP_UNIFIED]);
    assert_true(e.escape.has_left[CGROUP_MEMORY]);
    fake_root_done(&e.fake);
}

/* In a version 1 hierarchy, the kernel shows an exiting process in the root cgroup. */
TEST(an_exiting_process_is_not_treated_as_escaped)
{
    struct escape e;

    begin(&e, MEMORY "\n" UNIFIED "\n");
    fake_process_put(&e.fake, &(struct fake_process){ .pid = 10, .state = 'Z' });
    move(&e, "4:memory:/\n" UNIFIED "\n");
    assert_false(e.escape.has_left[CGROUP_MEMORY]);
    fake_process_end(&e.fake, 10);
    move(&e, "4:memory:/\n" UNIFIED "\n");
    assert_false(e.escape.has_left[CGROUP_MEMORY]);
    fake_root_done(&e.fake);
}

TEST(a_process_that_grows_is_checked_again)
{
    struct escape e;

    begin(&e, MEMORY "\n" UNIFIED "\n");
    e.member.reading.rss_bytes = 1 << 20;
    assert_false(cgroup_escape_is_due(&e.escape, &e.member));
    e.member.reading.rss_bytes = 100 << 20;
    assert_true(cgroup_escape_is_due(&e.escape, &e.member));
    move(&e, MEMORY "\n" UNIFIED "\n");
    assert_false(cgroup_escape_is_due(&e.escape, &e.member));
    e.member.reading.rss_bytes = 300 << 20;
    assert_true(cgroup_escape_is_due(&e.escape, &e.member));
    fake_root_done(&e.fake);
}

TEST(without_a_cgroup_nothing_is_checked)
{
    struct cgroup_escape escape;
    struct job_cgroup none = { 0 };

    cgroup_escape_init(&escape, &none, 10);
    assert_false(cgroup_escape_is_due(
        &escape, &(struct member){ .id.pid = 10, .reading.rss_bytes = 1 << 30 }));
}
