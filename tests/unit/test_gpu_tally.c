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

static void memory_is_summed_over_the_jobs_gpus(void **state)
{
    const struct gpu_row rows[] = {
        fake_row(PART_0, 10, GB, 0, 0),      fake_row(PART_1, 10, GB, 0, 0),
        fake_row(PART_1, 20, 3 * GB, 0, 0),  fake_row(OTHER, 10, 50 * GB, 0, 0),
        fake_row(PART_0, 500, 7 * GB, 0, 0), /* a stranger */
    };
    const struct gpu_levels *levels = &tally->totals.levels;

    (void)state;
    fake_see(WHOLE, fake_reading(20 * GB, UNKNOWN, UNKNOWN), 0);
    fake_see(PART_0, fake_reading(9 * GB, UNKNOWN, UNKNOWN), 0);
    fake_see(PART_1, fake_reading(5 * GB, UNKNOWN, UNKNOWN), 0);
    fake_see(OTHER, fake_reading(60 * GB, UNKNOWN, UNKNOWN), 0);
    gpu_tally_memory(tally, rows, 5, MS(10));
    assert_int_equal(levels->main_memory_bytes, 2 * GB);
    assert_int_equal(levels->descendants_memory_bytes, 3 * GB);
    assert_int_equal(levels->job_memory_bytes, 5 * GB);
    assert_int_equal(levels->host_memory_bytes, 80 * GB); /* parts are in the whole; all GPUs */
    assert_int_equal(tally->list[PART_1].view.job_memory_peak_bytes, 4 * GB);
    assert_int_equal(tally->list[OTHER].view.memory_peak_bytes, 60 * GB);
    gpu_tally_memory(tally, NULL, 0, MS(20));
    assert_int_equal(levels->job_memory_bytes, 0);
    assert_int_equal(tally->list[PART_1].view.job_memory_peak_bytes, 4 * GB);
}

static void parts_speak_for_a_whole_that_does_not_tell(void **state)
{
    (void)state;
    fake_see(WHOLE, fake_reading(UNKNOWN, UNKNOWN, UNKNOWN), MS(1000));
    fake_see(PART_0, fake_reading(GB, MS(400), MS(1000)), MS(1000));
    fake_see(PART_1, fake_reading(2 * GB, MS(100), MS(1000)), MS(1000));
    gpu_tally_memory(tally, NULL, 0, MS(1000));
    assert_int_equal(tally->totals.levels.host_memory_bytes, 3 * GB);
    assert_int_equal(tally->totals.levels.utilization, 500000);
    assert_int_equal(tally->totals.busy_ns, MS(500));
    fake_see(WHOLE, fake_reading(UNKNOWN, MS(300), MS(1000)), MS(1000));
    gpu_tally_memory(tally, NULL, 0, MS(1000));
    assert_int_equal(tally->totals.levels.utilization, 300000);
}

static void what_processes_hold_is_in_use(void **state)
{
    const struct gpu_row row = fake_row(WHOLE, 10, 5 * GB, 0, 0);

    (void)state;
    fake_see(WHOLE, fake_reading(2 * GB, UNKNOWN, UNKNOWN), 0); /* as it was a second ago */
    gpu_tally_memory(tally, &row, 1, MS(900));
    assert_int_equal(tally->totals.levels.host_memory_bytes, 5 * GB);
}

/* The quick look sees a device's memory too, others' and what falls again included. */
static void memory_of_a_device_is_seen_between_readings(void **state)
{
    (void)state;
    fake_see(ALONE, fake_reading(3 * GB, UNKNOWN, UNKNOWN), 0);
    gpu_tally_memory(tally, NULL, 0, 0);
    gpu_tally_device_memory(tally, ALONE, 10 * GB);
    gpu_tally_memory(tally, NULL, 0, MS(300));
    assert_int_equal(tally->totals.levels.host_memory_bytes, 10 * GB);
    gpu_tally_device_memory(tally, ALONE, 2 * GB);
    gpu_tally_memory(tally, NULL, 0, MS(600));
    assert_int_equal(tally->totals.levels.host_memory_bytes, 2 * GB);
    gpu_tally_device_memory(tally, ALONE, UNKNOWN);
    gpu_tally_memory(tally, NULL, 0, MS(700));
    assert_int_equal(tally->list[ALONE].view.memory_now_bytes, 2 * GB);
    assert_int_equal(tally->list[ALONE].view.memory_peak_bytes, 10 * GB);
}

static void memory_of_parts_is_in_use_on_the_whole(void **state)
{
    (void)state;
    fake_see(WHOLE, fake_reading(3 * GB, UNKNOWN, UNKNOWN), 0); /* as it was a second ago */
    gpu_tally_device_memory(tally, PART_0, 4 * GB);
    gpu_tally_device_memory(tally, PART_1, 5 * GB);
    gpu_tally_memory(tally, NULL, 0, MS(900));
    assert_int_equal(tally->list[WHOLE].view.memory_peak_bytes, 9 * GB);
    assert_int_equal(tally->totals.levels.host_memory_bytes, 9 * GB);
}

/* Intel's xe: what the job has is no memory of the device. */
static void a_device_that_tells_no_memory_has_not_the_jobs(void **state)
{
    const struct gpu_row row = fake_row(ALONE, 10, 5 * GB, 0, 0);

    (void)state;
    fake_see(ALONE, fake_reading(UNKNOWN, UNKNOWN, UNKNOWN), 0);
    gpu_tally_memory(tally, &row, 1, MS(1));
    assert_true(tally->totals.levels.host_memory_bytes == UNKNOWN);
    assert_true(tally->list[ALONE].view.memory_peak_bytes == UNKNOWN);
    assert_int_equal(tally->totals.levels.job_memory_bytes, 5 * GB);
}

static void unknown_memory_of_a_process_makes_the_jobs_unknown(void **state)
{
    const struct gpu_row rows[] = { fake_row(WHOLE, 10, GB, 0, 0),
                                    fake_row(WHOLE, 20, UNKNOWN, 0, 0) };
    const struct gpu_levels *levels = &tally->totals.levels;

    (void)state;
    gpu_tally_memory(tally, NULL, 0, 0);
    assert_int_equal(levels->job_memory_bytes, 0);
    assert_int_equal(tally->list[WHOLE].view.job_memory_peak_bytes, 0);
    gpu_tally_memory(tally, &rows[1], 1, MS(1));
    assert_true(levels->job_memory_bytes == UNKNOWN);
    assert_true(tally->totals.has_unreported_memory);
    assert_string_equal(tally->totals.memory_reason, "hidden");
    /* The 0 of before is no measure of it. */
    assert_true(tally->list[WHOLE].view.job_memory_peak_bytes == UNKNOWN);
    gpu_tally_memory(tally, rows, 2, MS(2));
    assert_true(levels->job_memory_bytes == UNKNOWN);
    assert_int_equal(levels->main_memory_bytes, GB);
    assert_true(levels->descendants_memory_bytes == UNKNOWN);
}

static void processes_that_may_be_left_out_make_it_unknown_too(void **state)
{
    struct gpu_reading reading = fake_reading(GB, UNKNOWN, UNKNOWN);

    (void)state;
    reading.processes_reason = "not listed";
    fake_see(WHOLE, reading, 0);
    gpu_tally_memory(tally, NULL, 0, 0);
    assert_true(tally->totals.levels.job_memory_bytes == UNKNOWN);
    assert_true(tally->totals.levels.main_memory_bytes == UNKNOWN);
    assert_string_equal(tally->totals.memory_reason, "not listed");
    assert_int_equal(tally->totals.levels.host_memory_bytes, GB);
}

/* Busy time is told; the 0 bytes from before the lists were refused are no peak. */
static void memory_that_no_process_tells_makes_it_unknown_alone(void **state)
{
    const struct gpu_row row = fake_row(ALONE, 10, UNKNOWN, MS(500), MS(1000));
    struct gpu_reading reading = fake_reading(GB, MS(500), MS(1000));

    (void)state;
    gpu_tally_memory(tally, NULL, 0, 0);
    assert_int_equal(tally->list[ALONE].view.job_memory_peak_bytes, 0);
    reading.process_memory_reason = "refused";
    fake_see(ALONE, reading, MS(1000));
    assert_int_equal(gpu_tally_busy(tally, &row, 1, MS(1000)), 0);
    gpu_tally_memory(tally, NULL, 0, MS(1000));
    assert_true(tally->totals.levels.job_memory_bytes == UNKNOWN);
    assert_true(tally->totals.levels.main_memory_bytes == UNKNOWN);
    assert_true(tally->totals.has_unreported_memory);
    assert_string_equal(tally->totals.memory_reason, "refused");
    assert_true(tally->list[ALONE].view.job_memory_peak_bytes == UNKNOWN);
    assert_string_equal(tally->list[ALONE].view.job_memory_reason, "refused");
    assert_int_equal(tally->totals.levels.job_utilization, 500000);
}

static void no_gpu_of_the_job_is_no_figure(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT; i++)
        fake_gpus.units[i].is_selected = false;
    fake_see(OTHER, fake_reading(GB, MS(500), MS(1000)), MS(1000));
    assert_int_equal(gpu_tally_busy(tally, NULL, 0, MS(1000)), 0);
    gpu_tally_memory(tally, NULL, 0, MS(1000));
    assert_true(tally->totals.levels.job_memory_bytes == UNKNOWN);
    assert_true(tally->totals.busy_ns == UNKNOWN && tally->totals.job_busy_ns == UNKNOWN);
    assert_true(tally->totals.energy_microjoules == UNKNOWN);
    assert_string_equal(tally->totals.memory_reason,
                        "none of this machine's GPUs is assigned to the job");
    assert_string_equal(tally->totals.busy_reason, tally->totals.memory_reason);
    assert_string_equal(tally->totals.job_busy_reason, tally->totals.memory_reason);
}

static void a_whole_has_what_its_parts_have(void **state)
{
    const struct gpu_row rows[] = { fake_row(PART_0, 10, 2 * GB, 0, MS(1000)),
                                    fake_row(PART_1, 20, GB, 0, MS(1000)),
                                    fake_row(PART_1, 30, UNKNOWN, UNKNOWN, UNKNOWN) };
    const struct gpu_device_view *whole = &tally->list[WHOLE].view;

    (void)state;
    gpu_tally_memory(tally, rows, 2, 0);
    assert_int_equal(whole->job_memory_peak_bytes, 3 * GB);
    assert_int_equal(tally->totals.levels.job_memory_bytes, 3 * GB); /* once */
    assert_int_equal(gpu_tally_busy(tally, rows, 3, MS(1000)), 0);
    gpu_tally_memory(tally, rows, 3, MS(1000));
    assert_true(whole->value[GPU_JOB_MEMORY] == UNKNOWN);
    assert_string_equal(whole->job_memory_reason, "hidden");
    assert_true(whole->value[GPU_JOB_UTILIZATION] == UNKNOWN);
    assert_true(whole->job_utilization_mean == UNKNOWN);
    assert_string_equal(tally->totals.job_busy_reason, "hidden");
}

static void energy_counts_from_the_first_reading(void **state)
{
    struct gpu_reading reading = fake_reading(GB, UNKNOWN, UNKNOWN);

    (void)state;
    reading.energy_microjoules = 0;
    for (uint64_t i = 0; i < 2; i++) { /* it is read seldom, and looked at often */
        fake_see(WHOLE, reading, MS(i));
        gpu_tally_memory(tally, NULL, 0, MS(i));
        assert_true(tally->list[WHOLE].view.value[GPU_ENERGY] == UNKNOWN);
        assert_true(tally->totals.energy_microjoules == UNKNOWN);
    }
    assert_non_null(strstr(tally->totals.energy_reason, "not read again"));
    assert_string_equal(tally->list[WHOLE].view.energy_reason, tally->totals.energy_reason);
    reading.energy_microjoules = 5000;
    fake_see(WHOLE, reading, MS(1000));
    gpu_tally_memory(tally, NULL, 0, MS(1000));
    assert_int_equal(tally->totals.energy_microjoules, 5000);
}

static void energy_of_a_lost_device_stays_in_the_sum(void **state)
{
    struct gpu_reading reading = fake_reading(GB, UNKNOWN, UNKNOWN);

    (void)state;
    reading.energy_microjoules = 5000;
    fake_see(WHOLE, reading, 0);
    reading.energy_microjoules = 100;
    fake_see(ALONE, reading, 0);
    gpu_tally_device(tally, WHOLE, NULL, MS(1000));
    gpu_tally_memory(tally, NULL, 0, MS(1000));
    assert_int_equal(tally->totals.energy_microjoules, 5100);
    assert_true(tally->list[WHOLE].view.value[GPU_ENERGY] == UNKNOWN);
}

static void sensors_keep_their_largest(void **state)
{
    struct gpu_reading reading = fake_reading(GB, UNKNOWN, UNKNOWN);

    (void)state;
    reading.power_milliwatts = 400000;
    reading.temperature_celsius = 70;
    reading.throttle_reasons = GPU_THROTTLE_POWER;
    fake_see(WHOLE, reading, 0);
    reading.power_milliwatts = 90000;
    reading.temperature_celsius = UNKNOWN;
    reading.throttle_reasons = GPU_THROTTLE_THERMAL;
    fake_see(WHOLE, reading, MS(1000));
    assert_int_equal(tally->list[WHOLE].view.power_max_milliwatts, 400000);
    assert_int_equal(tally->list[WHOLE].view.value[GPU_POWER], 90000);
    assert_int_equal(tally->list[WHOLE].view.temperature_max_celsius, 70);
    assert_int_equal(tally->list[WHOLE].view.throttle_reasons,
                     GPU_THROTTLE_POWER | GPU_THROTTLE_THERMAL);
}

static void a_lost_device_is_not_known_and_keeps_its_peaks(void **state)
{
    const struct gpu_row row = fake_row(WHOLE, 10, GB, 0, 0);

    (void)state;
    fake_see(WHOLE, fake_reading(3 * GB, UNKNOWN, UNKNOWN), 0);
    gpu_tally_memory(tally, &row, 1, 0);
    gpu_tally_device(tally, WHOLE, NULL, MS(1000));
    gpu_tally_memory(tally, NULL, 0, MS(1000));
    assert_true(tally->totals.levels.job_memory_bytes == UNKNOWN);
    assert_true(tally->list[WHOLE].view.value[GPU_MEMORY] == UNKNOWN);
    assert_int_equal(tally->list[WHOLE].view.memory_peak_bytes, 3 * GB);
    assert_int_equal(tally->list[WHOLE].view.job_memory_peak_bytes, GB);
}

static void accounts_raise_peaks(void **state)
{
    (void)state;
    gpu_tally_account(tally, WHOLE, 9 * GB);
    gpu_tally_account(tally, WHOLE, UNKNOWN);
    gpu_tally_account(tally, WHOLE, GB);
    assert_int_equal(tally->list[WHOLE].view.job_memory_peak_bytes, 9 * GB);
    assert_int_equal(tally->list[WHOLE].view.memory_peak_bytes, 9 * GB);
}

static void levels_stay_the_largest_until_they_are_taken(void **state)
{
    struct gpu_totals kept, newer;

    (void)state;
    gpu_totals_clear(&kept);
    gpu_totals_clear(&newer);
    newer.levels.job_memory_bytes = 5 * GB;
    newer.is_memory_unreported = true;
    newer.busy_ns = MS(10);
    gpu_totals_renew(&kept, &newer);
    newer.levels.job_memory_bytes = GB;
    newer.is_memory_unreported = false;
    newer.busy_ns = MS(20);
    gpu_totals_renew(&kept, &newer);
    assert_int_equal(kept.levels.job_memory_bytes, 5 * GB);
    assert_int_equal(kept.busy_ns, MS(20));
    assert_true(kept.is_memory_unreported); /* at one of the looks */
    assert_true(kept.levels.main_memory_bytes == UNKNOWN);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fake_gpus_begin, fake_gpus_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(memory_is_summed_over_the_jobs_gpus),
        TEST(parts_speak_for_a_whole_that_does_not_tell),
        TEST(what_processes_hold_is_in_use),
        TEST(memory_of_a_device_is_seen_between_readings),
        TEST(memory_of_parts_is_in_use_on_the_whole),
        TEST(a_device_that_tells_no_memory_has_not_the_jobs),
        TEST(unknown_memory_of_a_process_makes_the_jobs_unknown),
        TEST(processes_that_may_be_left_out_make_it_unknown_too),
        TEST(memory_that_no_process_tells_makes_it_unknown_alone),
        TEST(no_gpu_of_the_job_is_no_figure),
        TEST(a_whole_has_what_its_parts_have),
        TEST(energy_counts_from_the_first_reading),
        TEST(energy_of_a_lost_device_stays_in_the_sum),
        TEST(sensors_keep_their_largest),
        TEST(a_lost_device_is_not_known_and_keeps_its_peaks),
        TEST(accounts_raise_peaks),
        TEST(levels_stay_the_largest_until_they_are_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
