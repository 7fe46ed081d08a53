/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>

#include <stdio.h>

#include "base/clock.h"
#include "fake_root.h"
#include "job/gpu/gpu_kin.h"

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

static void those_that_are_told_belong(void **state)
{
    const pid_t living[] = { 300, 100, 200 };
    struct fake_root fake;
    struct gpu_pids pids;
    struct gpu_kin kin;

    (void)state;
    fake_root_init(&fake);
    assert_int_equal(gpu_kin_init(&kin, 100, 0), 0);
    assert_int_equal(gpu_kin_tell(&kin, living, 3, SECOND), 0);
    pids = gpu_kin_pids(&kin);
    assert_int_equal(pids.count, 3);
    assert_true(pids.list[0] == 100 && pids.list[1] == 200 && pids.list[2] == 300);
    assert_true(gpu_kin_has(&kin, &fake.root, 200, SECOND));
    assert_false(gpu_kin_has(&kin, &fake.root, 201, SECOND)); /* there is no such process */
    gpu_kin_done(&kin);
    fake_root_done(&fake);
}

static void descendants_may_be_left_out(void **state)
{
    struct fake_root fake;
    struct gpu_kin kin;

    (void)state;
    fake_root_init(&fake);
    add_process(&fake, 100, 50);
    add_process(&fake, 110, 100);
    assert_int_equal(gpu_kin_init(&kin, 100, 0), 0);
    kin.is_main_only = true;
    assert_true(gpu_kin_has(&kin, &fake.root, 100, SECOND));
    assert_false(gpu_kin_has(&kin, &fake.root, 110, SECOND));
    gpu_kin_done(&kin);
    fake_root_done(&fake);
}

static void without_a_job_no_process_belongs(void **state)
{
    struct fake_root fake;
    struct gpu_kin kin;

    (void)state;
    fake_root_init(&fake);
    add_process(&fake, 2, 0); /* the kernel's threads and init have the parent 0 */
    add_process(&fake, 100, 2);
    assert_int_equal(gpu_kin_init(&kin, 0, 0), 0);
    assert_int_equal(gpu_kin_pids(&kin).count, 0);
    assert_false(gpu_kin_has(&kin, &fake.root, 100, SECOND));
    gpu_kin_done(&kin);
    fake_root_done(&fake);
}

static void a_descendant_belongs_before_it_is_told(void **state)
{
    struct fake_root fake;
    struct gpu_kin kin;

    (void)state;
    fake_root_init(&fake);
    add_process(&fake, 100, 50);
    add_process(&fake, 110, 100);
    add_process(&fake, 120, 110);
    add_process(&fake, 130, 50); /* an orphan that the tracker adopted */
    add_process(&fake, 50, 1);
    add_process(&fake, 60, 1);
    assert_int_equal(gpu_kin_init(&kin, 100, 50), 0);
    assert_true(gpu_kin_has(&kin, &fake.root, 120, SECOND));
    assert_true(gpu_kin_has(&kin, &fake.root, 130, SECOND));
    assert_false(gpu_kin_has(&kin, &fake.root, 60, SECOND));
    assert_int_equal(gpu_kin_pids(&kin).count, 3);
    gpu_kin_done(&kin);
    fake_root_done(&fake);
}

static void strangers_are_asked_anew(void **state)
{
    struct fake_root fake;
    struct gpu_kin kin;

    (void)state;
    fake_root_init(&fake);
    add_process(&fake, 60, 1);
    assert_int_equal(gpu_kin_init(&kin, 100, 0), 0);
    assert_false(gpu_kin_has(&kin, &fake.root, 60, SECOND));
    add_process(&fake, 60, 100); /* another one, of the same number */
    assert_false(gpu_kin_has(&kin, &fake.root, 60, SECOND));
    gpu_kin_forget_strangers(&kin);
    assert_true(gpu_kin_has(&kin, &fake.root, 60, SECOND));
    gpu_kin_done(&kin);
    fake_root_done(&fake);
}

static void one_that_ended_is_kept_for_a_while(void **state)
{
    const pid_t living[] = { 100, 200 };
    struct fake_root fake;
    struct gpu_kin kin;

    (void)state;
    fake_root_init(&fake);
    assert_int_equal(gpu_kin_init(&kin, 100, 0), 0);
    assert_int_equal(gpu_kin_tell(&kin, living, 2, SECOND), 0);
    assert_int_equal(gpu_kin_add(&kin, 300, SECOND), 0); /* it is about to end */
    assert_int_equal(gpu_kin_tell(&kin, living, 1, 2 * SECOND), 0);
    assert_true(gpu_kin_has(&kin, &fake.root, 200, 3 * SECOND));
    assert_true(gpu_kin_has(&kin, &fake.root, 300, 3 * SECOND));
    assert_false(gpu_kin_has_old(&kin, GPU_KIN_KEPT_NS + SECOND));
    assert_true(gpu_kin_has_old(&kin, GPU_KIN_KEPT_NS + 3 * SECOND));
    gpu_kin_drop_old(&kin, GPU_KIN_KEPT_NS + 3 * SECOND);
    assert_false(gpu_kin_has_old(&kin, 50 * SECOND));
    assert_int_equal(gpu_kin_pids(&kin).count, 1);
    assert_false(gpu_kin_has(&kin, &fake.root, 200, 50 * SECOND));
    assert_false(gpu_kin_has(&kin, &fake.root, 300, 50 * SECOND));
    gpu_kin_done(&kin);
    fake_root_done(&fake);
}

static void main_is_kept_for_ever_and_many_that_ended_are_not(void **state)
{
    struct fake_root fake;
    struct gpu_kin kin;

    (void)state;
    fake_root_init(&fake);
    assert_int_equal(gpu_kin_init(&kin, 100, 0), 0);
    for (pid_t pid = 1000; pid < 1000 + 2 * GPU_KIN_ENDED_MAX; pid++)
        assert_int_equal(gpu_kin_add(&kin, pid, SECOND), 0);
    assert_int_equal(gpu_kin_tell(&kin, NULL, 0, SECOND), 0);
    assert_in_range(gpu_kin_pids(&kin).count, 2, GPU_KIN_ENDED_MAX + 1);
    gpu_kin_drop_old(&kin, 100 * SECOND);
    assert_true(gpu_kin_has(&kin, &fake.root, 100, 100 * SECOND));
    assert_int_equal(gpu_kin_pids(&kin).count, 1);
    gpu_kin_done(&kin);
    fake_root_done(&fake);
}

/* Parents that go round in a circle, as no kernel has them. */
static void a_circle_ends(void **state)
{
    struct fake_root fake;
    struct gpu_kin kin;

    (void)state;
    fake_root_init(&fake);
    add_process(&fake, 70, 71);
    add_process(&fake, 71, 70);
    assert_int_equal(gpu_kin_init(&kin, 100, 0), 0);
    assert_false(gpu_kin_has(&kin, &fake.root, 70, SECOND));
    gpu_kin_done(&kin);
    fake_root_done(&fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(those_that_are_told_belong),
        cmocka_unit_test(descendants_may_be_left_out),
        cmocka_unit_test(without_a_job_no_process_belongs),
        cmocka_unit_test(a_descendant_belongs_before_it_is_told),
        cmocka_unit_test(strangers_are_asked_anew),
        cmocka_unit_test(one_that_ended_is_kept_for_a_while),
        cmocka_unit_test(main_is_kept_for_ever_and_many_that_ended_are_not),
        cmocka_unit_test(a_circle_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
