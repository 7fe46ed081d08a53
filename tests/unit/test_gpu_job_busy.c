/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>

#include <string.h>

#include "base/unknown.h"
#include "fake_gpus.h"

static struct gpu_tally *const tally = &fake_gpus.tally;

/* The job's share: of processes that come, go on, end and are forgotten. */
static void busy_time_of_the_job_is_that_of_its_processes(void **state)
{
    const struct gpu_row first[] = { fake_row(WHOLE, 10, GB, MS(100), MS(1000)),
                                     fake_row(WHOLE, 500, GB, MS(700), MS(1000)) };
    const struct gpu_row second[] = { fake_row(WHOLE, 10, GB, MS(200), MS(2000)),
                                      fake_row(WHOLE, 20, GB, MS(300), MS(2000)) };
    const struct gpu_row third[] = { fake_row(WHOLE, 20, GB, MS(350), MS(3000)) };

    (void)state;
    assert_int_equal(gpu_tally_busy(tally, first, 2, MS(1000)), 0);
    gpu_tally_memory(tally, first, 2, MS(1000));
    assert_int_equal(tally->totals.job_busy_ns, MS(100));
    assert_int_equal(tally->totals.levels.job_utilization, 100000);
    assert_int_equal(gpu_tally_busy(tally, second, 2, MS(2000)), 0);
    gpu_tally_memory(tally, second, 2, MS(2000));
    assert_int_equal(tally->totals.levels.job_utilization, 400000);
    assert_int_equal(tally->totals.job_busy_ns, MS(500));
    assert_int_equal(gpu_tally_busy(tally, third, 1, MS(3000)), 0);
    gpu_tally_memory(tally, third, 1, MS(3000));
    assert_int_equal(tally->totals.levels.job_utilization, 50000);
    assert_int_equal(tally->list[WHOLE].view.job_utilization_max, 400000);
    assert_int_equal(tally->list[WHOLE].view.job_utilization_mean, 183333);
    assert_int_equal(gpu_tally_busy(tally, NULL, 0, MS(4000)), 0);
    gpu_tally_memory(tally, NULL, 0, MS(4000));
    assert_int_equal(tally->totals.job_busy_ns, MS(550));
}

static void others_that_a_driver_cannot_tell_apart_are_told_of(void **state)
{
    static const struct gpu_sources names_one = { .names_one = true };
    struct gpu_row rows[] = { fake_row(WHOLE, 10, GB, 0, MS(1000)),
                              fake_row(WHOLE, 500, GB, 0, MS(1000)) };

    (void)state;
    rows[1].process.computes = true;
    fake_see(WHOLE, fake_reading(GB, MS(500), MS(1000)), MS(1000));
    assert_int_equal(gpu_tally_busy(tally, rows, 2, MS(1000)), 0); /* it can tell them apart */
    assert_false(tally->totals.is_busy_mixed);
    fake_gpus.units[WHOLE].sources = &names_one;
    assert_int_equal(gpu_tally_busy(tally, rows, 1, MS(2000)), 0);     /* the job is alone */
    assert_int_equal(gpu_tally_busy(tally, rows + 1, 1, MS(3000)), 0); /* it is away */
    rows[1].process.computes = false;
    assert_int_equal(gpu_tally_busy(tally, rows, 2, MS(3500)), 0); /* a desktop */
    rows[1].process.computes = true;
    fake_see(WHOLE, fake_reading(GB, MS(500), MS(4000)), MS(4000)); /* nobody was busy */
    assert_int_equal(gpu_tally_busy(tally, rows, 2, MS(4000)), 0);
    assert_false(tally->totals.is_busy_mixed);
    fake_see(WHOLE, fake_reading(GB, MS(600), MS(5000)), MS(5000));
    assert_int_equal(gpu_tally_busy(tally, rows, 2, MS(5000)), 0);
    assert_true(tally->totals.is_busy_mixed);
}

static void busy_time_that_is_not_told_is_no_zero(void **state)
{
    const struct gpu_row row = fake_row(PART_0, 10, GB, UNKNOWN, UNKNOWN);

    (void)state;
    assert_int_equal(gpu_tally_busy(tally, NULL, 0, MS(1000)), 0);
    gpu_tally_memory(tally, NULL, 0, MS(1000));
    assert_int_equal(tally->totals.job_busy_ns, 0); /* nobody was there */
    assert_int_equal(gpu_tally_busy(tally, &row, 1, MS(2000)), 0);
    gpu_tally_memory(tally, &row, 1, MS(2000));
    assert_true(tally->totals.job_busy_ns == UNKNOWN && tally->totals.has_unreported_busy);
    assert_string_equal(tally->totals.job_busy_reason, "hidden");
    assert_true(tally->list[PART_0].view.job_utilization_mean == UNKNOWN);
    assert_true(tally->list[PART_0].view.job_utilization_max == UNKNOWN);
}

static void busy_time_that_is_told_again_counts_once(void **state)
{
    const uint64_t busy_ns[] = { MS(100), UNKNOWN, UNKNOWN, MS(300) };

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct gpu_row row = fake_row(WHOLE, 10, GB, busy_ns[i], MS(1000 * (i + 1)));

        assert_int_equal(gpu_tally_busy(tally, &row, 1, MS(1000 * (i + 1))), 0);
    }
    gpu_tally_memory(tally, NULL, 0, MS(4000));
    assert_in_range(tally->totals.job_busy_ns, MS(299), MS(300));
}

/* xe: what was done is counted once the speed of the clock is known. */
static void busy_time_that_comes_late_is_unknown_until_then(void **state)
{
    const uint64_t busy_ns[] = { UNKNOWN, MS(500), MS(500) };

    (void)state;
    assert_int_equal(gpu_tally_busy(tally, NULL, 0, MS(1000)), 0);
    for (size_t i = 0; i < 3; i++) {
        struct gpu_row row = fake_row(ALONE, 10, GB, busy_ns[i], UNKNOWN);

        assert_int_equal(gpu_tally_busy(tally, &row, 1, MS(2000 + 1000 * i)), 0);
        gpu_tally_memory(tally, &row, 1, MS(2000 + 1000 * i));
        assert_int_equal(tally->totals.is_busy_unreported, i == 0);
        assert_int_equal(tally->totals.has_unreported_busy, i == 0);
        assert_int_equal(is_known(tally->totals.job_busy_ns), i > 0);
    }
    assert_int_equal(tally->totals.levels.job_utilization, 0); /* which is true */
    assert_int_equal(tally->list[ALONE].view.job_utilization_max, 250000);
}

static void busy_time_of_one_that_ended_unreported_is_never_known(void **state)
{
    const struct gpu_row row = fake_row(ALONE, 10, GB, UNKNOWN, UNKNOWN);

    (void)state;
    assert_int_equal(gpu_tally_busy(tally, &row, 1, MS(1000)), 0);
    assert_int_equal(gpu_tally_busy(tally, NULL, 0, MS(2000)), 0);
    gpu_tally_memory(tally, NULL, 0, MS(2000));
    assert_false(tally->totals.is_busy_unreported);
    assert_true(tally->totals.has_unreported_busy);
    assert_string_equal(tally->totals.job_busy_reason, "hidden");
    assert_true(tally->list[ALONE].view.job_utilization_mean == UNKNOWN);
}

/* A driver's samples come late: what a process that just came does is not known before. */
static void a_process_without_samples_has_no_busy_time(void **state)
{
    const struct gpu_row early = fake_row(ALONE, 10, GB, 0, 0);
    const struct gpu_row late = fake_row(ALONE, 10, GB, MS(100), MS(1000));
    const struct gpu_device_view *view = &tally->list[ALONE].view;

    (void)state;
    assert_int_equal(gpu_tally_busy(tally, NULL, 0, MS(50)), 0);
    gpu_tally_memory(tally, NULL, 0, MS(50));
    assert_int_equal(tally->totals.job_busy_ns, 0);
    assert_int_equal(view->value[GPU_JOB_UTILIZATION], 0); /* nobody was there */
    gpu_tally_memory(tally, &early, 1, MS(200));
    assert_true(tally->totals.job_busy_ns == UNKNOWN);
    assert_true(tally->totals.levels.job_utilization == UNKNOWN);
    assert_true(view->value[GPU_JOB_UTILIZATION] == UNKNOWN);
    assert_int_equal(gpu_tally_busy(tally, &early, 1, MS(1000)), 0);
    gpu_tally_memory(tally, &early, 1, MS(1000));
    assert_true(view->job_utilization_mean == UNKNOWN && view->job_utilization_max == UNKNOWN);
    assert_true(tally->totals.has_unreported_busy);
    assert_string_equal(tally->totals.job_busy_reason, gpu_no_samples);
    assert_int_equal(gpu_tally_busy(tally, &late, 1, MS(2000)), 0);
    gpu_tally_memory(tally, &late, 1, MS(2000));
    assert_false(tally->totals.has_unreported_busy);
    assert_int_equal(view->value[GPU_JOB_UTILIZATION], 100000);
}

static void one_that_was_gone_before_its_samples_came_is_waited_for(void **state)
{
    const struct gpu_row row = fake_row(ALONE, 10, GB, 0, 0);

    (void)state;
    assert_int_equal(gpu_tally_busy(tally, NULL, 0, MS(50)), 0);
    gpu_tally_memory(tally, &row, 1, MS(200));
    fake_see(ALONE, fake_reading(GB, 0, MS(200)), MS(400));
    assert_int_equal(gpu_tally_busy(tally, NULL, 0, MS(400)), 0);
    gpu_tally_memory(tally, NULL, 0, MS(400));
    assert_true(tally->totals.job_busy_ns == UNKNOWN);
    fake_see(ALONE, fake_reading(GB, 0, MS(1200)), MS(1400));
    assert_int_equal(gpu_tally_busy(tally, NULL, 0, MS(1400)), 0);
    gpu_tally_memory(tally, NULL, 0, MS(1400));
    assert_int_equal(tally->totals.job_busy_ns, 0); /* the samples do not name it */
    assert_false(tally->totals.has_unreported_busy);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fake_gpus_begin, fake_gpus_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(busy_time_of_the_job_is_that_of_its_processes),
        TEST(others_that_a_driver_cannot_tell_apart_are_told_of),
        TEST(busy_time_that_is_not_told_is_no_zero),
        TEST(busy_time_that_is_told_again_counts_once),
        TEST(busy_time_that_comes_late_is_unknown_until_then),
        TEST(busy_time_of_one_that_ended_unreported_is_never_known),
        TEST(a_process_without_samples_has_no_busy_time),
        TEST(one_that_was_gone_before_its_samples_came_is_waited_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
