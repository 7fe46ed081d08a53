/* SPDX-License-Identifier: Apache-2.0 */

#include <stdio.h>

#include "base/clock.h"
#include "fake_root.h"
#include "job/gpu/gpu_owners.h"
#include "unit_test.h"

#define SECOND NS_PER_SECOND

static void add_process(struct fake_root *fake, int pid, int parent)
{
    char path[64], text[160];

    (void)snprintf(path, sizeof(path), "proc/%d/stat", pid);
    (void)snprintf(text, sizeof(text),
                   "%d (x) S %d 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 100 0 0 0 0 0 0 0 0\n", pid,
                   parent);
    fake_root_write(fake, path, text);
}

/* Sets the processes of the roster. */
static void update(struct gpu_owners *owners, const pid_t *pids, size_t count, uint64_t now_ns)
{
    struct member list[4] = { { .id.pid = 0 } };
    const struct roster roster = { .list = list,
                                   .count = count,
                                   .changes = owners->changes + 1 };

    for (size_t i = 0; i < count; i++)
        list[i].id.pid = pids[i];
    gpu_owners_update(owners, &roster, now_ns);
}

FAKE_ROOT_TEST(processes_in_the_roster_belong_to_the_job)
{
    struct fake_root *fake = *state;
    const pid_t living[] = { 300, 100, 200 };
    struct gpu_pids pids;
    struct gpu_owners owners;

    owners = (struct gpu_owners){ .main_pid = 100, .tracker_pid = 0 };
    update(&owners, living, 3, SECOND);
    pids = gpu_owners_pids(&owners);
    assert_int_equal(pids.count, 3);
    assert_true(pids.list[0] == 100 && pids.list[1] == 200 && pids.list[2] == 300);
    assert_true(gpu_owners_has(&owners, &fake->root, 200, SECOND));
    assert_false(
        gpu_owners_has(&owners, &fake->root, 201, SECOND)); /* the process does not exist */
    gpu_owners_done(&owners);
}

FAKE_ROOT_TEST(descendants_can_be_excluded)
{
    struct fake_root *fake = *state;
    struct gpu_owners owners;

    add_process(fake, 100, 50);
    add_process(fake, 110, 100);
    owners = (struct gpu_owners){ .main_pid = 100, .tracker_pid = 0 };
    owners.is_main_only = true;
    assert_true(gpu_owners_has(&owners, &fake->root, 100, SECOND));
    assert_false(gpu_owners_has(&owners, &fake->root, 110, SECOND));
    gpu_owners_done(&owners);
}

FAKE_ROOT_TEST(without_a_job_no_process_is_an_owner)
{
    struct fake_root *fake = *state;
    struct gpu_owners owners;

    add_process(fake, 2, 0); /* kernel threads and init have parent 0 */
    add_process(fake, 100, 2);
    owners = (struct gpu_owners){ .main_pid = 0, .tracker_pid = 0 };
    assert_int_equal(gpu_owners_pids(&owners).count, 0);
    assert_false(gpu_owners_has(&owners, &fake->root, 100, SECOND));
    gpu_owners_done(&owners);
}

FAKE_ROOT_TEST(a_descendant_that_is_not_in_the_roster_belongs_to_the_job)
{
    struct fake_root *fake = *state;
    struct gpu_owners owners;

    add_process(fake, 100, 50);
    add_process(fake, 110, 100);
    add_process(fake, 120, 110);
    add_process(fake, 130, 50); /* an orphan adopted by the tracker */
    add_process(fake, 50, 1);
    add_process(fake, 60, 1);
    owners = (struct gpu_owners){ .main_pid = 100, .tracker_pid = 50 };
    assert_true(gpu_owners_has(&owners, &fake->root, 120, SECOND));
    assert_true(gpu_owners_has(&owners, &fake->root, 130, SECOND));
    assert_false(gpu_owners_has(&owners, &fake->root, 60, SECOND));
    assert_int_equal(gpu_owners_pids(&owners).count, 2); /* 120 and 130 */
    gpu_owners_done(&owners);
}

FAKE_ROOT_TEST(foreign_processes_are_looked_up_again)
{
    struct fake_root *fake = *state;
    struct gpu_owners owners;

    add_process(fake, 60, 1);
    owners = (struct gpu_owners){ .main_pid = 100, .tracker_pid = 0 };
    assert_false(gpu_owners_has(&owners, &fake->root, 60, SECOND));
    add_process(fake, 60, 100); /* now another process with the same PID */
    assert_false(gpu_owners_has(&owners, &fake->root, 60, SECOND));
    gpu_owners_forget_foreign(&owners);
    assert_true(gpu_owners_has(&owners, &fake->root, 60, SECOND));
    gpu_owners_done(&owners);
}

FAKE_ROOT_TEST(an_exited_process_is_kept_for_a_while)
{
    struct fake_root *fake = *state;
    const pid_t living[] = { 100, 200 };
    struct gpu_owners owners;

    owners = (struct gpu_owners){ .main_pid = 100, .tracker_pid = 0 };
    update(&owners, living, 2, SECOND);
    assert_int_equal(gpu_owners_set(&owners, 300, SECOND), 0); /* the process exited at 1 s */
    update(&owners, living, 1, 2 * SECOND);
    assert_true(gpu_owners_has(&owners, &fake->root, 200, 3 * SECOND));
    assert_true(gpu_owners_has(&owners, &fake->root, 300, 3 * SECOND));
    assert_false(gpu_owners_has_old(&owners, GPU_OWNERS_KEPT_NS + SECOND));
    assert_true(gpu_owners_has_old(&owners, GPU_OWNERS_KEPT_NS + 3 * SECOND));
    gpu_owners_drop_old(&owners, GPU_OWNERS_KEPT_NS + 3 * SECOND);
    assert_false(gpu_owners_has_old(&owners, 50 * SECOND));
    assert_int_equal(gpu_owners_pids(&owners).count, 1);
    assert_false(gpu_owners_has(&owners, &fake->root, 200, 50 * SECOND));
    assert_false(gpu_owners_has(&owners, &fake->root, 300, 50 * SECOND));
    gpu_owners_done(&owners);
}

FAKE_ROOT_TEST(main_is_kept_when_surplus_exited_processes_are_dropped)
{
    struct fake_root *fake = *state;
    struct gpu_owners owners;

    owners = (struct gpu_owners){ .main_pid = 100, .tracker_pid = 0 };
    assert_int_equal(gpu_owners_set(&owners, 100, 0), 0);
    for (pid_t pid = 1000; pid < 1000 + 2 * GPU_OWNERS_ENDED_MAX; pid++)
        assert_int_equal(gpu_owners_set(&owners, pid, SECOND), 0);
    update(&owners, NULL, 0, SECOND);
    assert_in_range(gpu_owners_pids(&owners).count, 2, GPU_OWNERS_ENDED_MAX + 1);
    gpu_owners_drop_old(&owners, 100 * SECOND);
    assert_true(gpu_owners_has(&owners, &fake->root, 100, 100 * SECOND));
    assert_int_equal(gpu_owners_pids(&owners).count, 1);
    gpu_owners_done(&owners);
}

/* The parents form a cycle, which no kernel produces. */
FAKE_ROOT_TEST(a_cycle_of_parents_does_not_loop_forever)
{
    struct fake_root *fake = *state;
    struct gpu_owners owners;

    add_process(fake, 70, 71);
    add_process(fake, 71, 70);
    owners = (struct gpu_owners){ .main_pid = 100, .tracker_pid = 0 };
    assert_false(gpu_owners_has(&owners, &fake->root, 70, SECOND));
    gpu_owners_done(&owners);
}
