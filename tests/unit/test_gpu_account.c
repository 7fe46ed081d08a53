/* SPDX-License-Identifier: Apache-2.0 */

#include <string.h>

#include "base/amount.h"
#include "fake_gpus.h"
#include "unit_test.h"

static struct gpu_account *const account = &fake_gpus.account;

TEST_WITH(memory_is_summed_over_the_jobs_gpus, fake_gpus_begin, fake_gpus_end)
{
    const struct gpu_row rows[] = {
        fake_row(PART_0, 10, GB, 0, 0),      fake_row(PART_1, 10, GB, 0, 0),
        fake_row(PART_1, 20, 3 * GB, 0, 0),  fake_row(OTHER, 10, 50 * GB, 0, 0),
        fake_row(PART_0, 500, 7 * GB, 0, 0), /* foreign */
    };
    const struct measure *levels = account->totals.measures;

    fake_see(WHOLE, fake_reading(20 * GB, UNKNOWN, UNKNOWN), 0);
    fake_see(PART_0, fake_reading(9 * GB, UNKNOWN, UNKNOWN), 0);
    fake_see(PART_1, fake_reading(5 * GB, UNKNOWN, UNKNOWN), 0);
    fake_see(OTHER, fake_reading(60 * GB, UNKNOWN, UNKNOWN), 0);
    gpu_account_memory(account, rows, 5, MS(10));
    assert_int_equal(levels[GPU_TOTAL_MAIN_MEMORY].value, 2 * GB);
    assert_int_equal(levels[GPU_TOTAL_DESCENDANTS_MEMORY].value, 3 * GB);
    assert_int_equal(levels[GPU_TOTAL_JOB_MEMORY].value, 5 * GB);
    assert_int_equal(levels[GPU_TOTAL_HOST_MEMORY].value,
                     80 * GB); /* the sum over all GPUs; a whole GPU includes its parts */
    assert_int_equal(account->list[PART_1].view.figures[GPU_JOB_MEMORY].peak, 4 * GB);
    assert_int_equal(account->list[OTHER].view.figures[GPU_MEMORY].peak, 60 * GB);
    gpu_account_memory(account, NULL, 0, MS(20));
    assert_int_equal(levels[GPU_TOTAL_JOB_MEMORY].value, 0);
    assert_int_equal(account->list[PART_1].view.figures[GPU_JOB_MEMORY].peak, 4 * GB);
}

TEST_WITH(mig_parts_are_summed_if_the_whole_gpu_reports_nothing, fake_gpus_begin, fake_gpus_end)
{
    fake_see(WHOLE, fake_reading(UNKNOWN, UNKNOWN, UNKNOWN), MS(1000));
    fake_see(PART_0, fake_reading(GB, MS(400), MS(1000)), MS(1000));
    fake_see(PART_1, fake_reading(2 * GB, MS(100), MS(1000)), MS(1000));
    gpu_account_memory(account, NULL, 0, MS(1000));
    assert_int_equal(account->totals.measures[GPU_TOTAL_HOST_MEMORY].value, 3 * GB);
    assert_int_equal(account->totals.measures[GPU_TOTAL_UTILIZATION].value, 500000);
    assert_int_equal(account->totals.measures[GPU_TOTAL_BUSY].value, MS(500));
    fake_see(WHOLE, fake_reading(UNKNOWN, MS(300), MS(1000)), MS(1000));
    gpu_account_memory(account, NULL, 0, MS(1000));
    assert_int_equal(account->totals.measures[GPU_TOTAL_UTILIZATION].value, 300000);
}

TEST_WITH(device_memory_is_at_least_the_memory_of_its_processes, fake_gpus_begin, fake_gpus_end)
{
    const struct gpu_row row = fake_row(WHOLE, 10, 5 * GB, 0, 0);

    fake_see(WHOLE, fake_reading(2 * GB, UNKNOWN, UNKNOWN), 0); /* read 0.9 s earlier */
    gpu_account_memory(account, &row, 1, MS(900));
    assert_int_equal(account->totals.measures[GPU_TOTAL_HOST_MEMORY].value, 5 * GB);
}

/* A quick look also reads the memory of the device, so the value follows other processes, up
 * and down. */
TEST_WITH(memory_of_a_device_is_updated_between_readings, fake_gpus_begin, fake_gpus_end)
{
    fake_see(ALONE, fake_reading(3 * GB, UNKNOWN, UNKNOWN), 0);
    gpu_account_memory(account, NULL, 0, 0);
    gpu_account_device_memory(account, ALONE, 10 * GB);
    gpu_account_memory(account, NULL, 0, MS(300));
    assert_int_equal(account->totals.measures[GPU_TOTAL_HOST_MEMORY].value, 10 * GB);
    gpu_account_device_memory(account, ALONE, 2 * GB);
    gpu_account_memory(account, NULL, 0, MS(600));
    assert_int_equal(account->totals.measures[GPU_TOTAL_HOST_MEMORY].value, 2 * GB);
    gpu_account_device_memory(account, ALONE, UNKNOWN);
    gpu_account_memory(account, NULL, 0, MS(700));
    assert_int_equal(account->list[ALONE].view.figures[GPU_MEMORY].measure.now, 2 * GB);
    assert_int_equal(account->list[ALONE].view.figures[GPU_MEMORY].peak, 10 * GB);
}

TEST_WITH(device_memory_is_at_least_the_memory_of_its_mig_parts, fake_gpus_begin, fake_gpus_end)
{
    fake_see(WHOLE, fake_reading(3 * GB, UNKNOWN, UNKNOWN), 0); /* read 0.9 s earlier */
    gpu_account_device_memory(account, PART_0, 4 * GB);
    gpu_account_device_memory(account, PART_1, 5 * GB);
    gpu_account_memory(account, NULL, 0, MS(900));
    assert_int_equal(account->list[WHOLE].view.figures[GPU_MEMORY].peak, 9 * GB);
    assert_int_equal(account->totals.measures[GPU_TOTAL_HOST_MEMORY].value, 9 * GB);
}

/* With Intel's xe driver, the job's GPU memory may be system memory. */
TEST_WITH(memory_of_a_device_without_its_own_memory_is_not_compared, fake_gpus_begin,
          fake_gpus_end)
{
    const struct gpu_row row = fake_row(ALONE, 10, 5 * GB, 0, 0);

    fake_see(ALONE, fake_reading(UNKNOWN, UNKNOWN, UNKNOWN), 0);
    gpu_account_memory(account, &row, 1, MS(1));
    assert_true(account->totals.measures[GPU_TOTAL_HOST_MEMORY].value == UNKNOWN);
    assert_true(account->list[ALONE].view.figures[GPU_MEMORY].peak == UNKNOWN);
    assert_int_equal(account->totals.measures[GPU_TOTAL_JOB_MEMORY].value, 5 * GB);
}

TEST_WITH(unknown_memory_of_one_process_makes_memory_of_the_job_unknown, fake_gpus_begin,
          fake_gpus_end)
{
    const struct gpu_row rows[] = { fake_row(WHOLE, 10, GB, 0, 0),
                                    fake_row(WHOLE, 20, UNKNOWN, 0, 0) };
    const struct measure *levels = account->totals.measures;

    gpu_account_memory(account, NULL, 0, 0);
    assert_int_equal(levels[GPU_TOTAL_JOB_MEMORY].value, 0);
    assert_int_equal(account->list[WHOLE].view.figures[GPU_JOB_MEMORY].peak, 0);
    gpu_account_memory(account, &rows[1], 1, MS(1));
    assert_true(levels[GPU_TOTAL_JOB_MEMORY].value == UNKNOWN);
    assert_true(account->totals.has_unreported_memory);
    assert_string_equal(account->totals.measures[GPU_TOTAL_JOB_MEMORY].origin.reason, "hidden");
    /* The earlier 0 must not be reported as a peak. */
    assert_true(account->list[WHOLE].view.figures[GPU_JOB_MEMORY].peak == UNKNOWN);
    gpu_account_memory(account, rows, 2, MS(2));
    assert_true(levels[GPU_TOTAL_JOB_MEMORY].value == UNKNOWN);
    assert_int_equal(levels[GPU_TOTAL_MAIN_MEMORY].value, GB);
    assert_true(levels[GPU_TOTAL_DESCENDANTS_MEMORY].value == UNKNOWN);
}

TEST_WITH(possibly_missing_processes_make_memory_of_the_job_unknown, fake_gpus_begin,
          fake_gpus_end)
{
    struct gpu_reading reading = fake_reading(GB, UNKNOWN, UNKNOWN);

    reading.processes_reason = "not listed";
    fake_see(WHOLE, reading, 0);
    gpu_account_memory(account, NULL, 0, 0);
    assert_true(account->totals.measures[GPU_TOTAL_JOB_MEMORY].value == UNKNOWN);
    assert_true(account->totals.measures[GPU_TOTAL_MAIN_MEMORY].value == UNKNOWN);
    assert_string_equal(account->totals.measures[GPU_TOTAL_JOB_MEMORY].origin.reason,
                        "not listed");
    assert_int_equal(account->totals.measures[GPU_TOTAL_HOST_MEMORY].value, GB);
}

/* Busy time is still reported. The 0 bytes read before the refusal are not a peak. */
TEST_WITH(a_refused_process_list_makes_only_memory_unknown, fake_gpus_begin, fake_gpus_end)
{
    const struct gpu_row row = fake_row(ALONE, 10, UNKNOWN, MS(500), MS(1000));
    struct gpu_reading reading = fake_reading(GB, MS(500), MS(1000));

    gpu_account_memory(account, NULL, 0, 0);
    assert_int_equal(account->list[ALONE].view.figures[GPU_JOB_MEMORY].peak, 0);
    reading.process_memory_reason = "refused";
    fake_see(ALONE, reading, MS(1000));
    gpu_account_busy(account, &row, 1, MS(1000));
    gpu_account_memory(account, NULL, 0, MS(1000));
    assert_true(account->totals.measures[GPU_TOTAL_JOB_MEMORY].value == UNKNOWN);
    assert_true(account->totals.measures[GPU_TOTAL_MAIN_MEMORY].value == UNKNOWN);
    assert_true(account->totals.has_unreported_memory);
    assert_string_equal(account->totals.measures[GPU_TOTAL_JOB_MEMORY].origin.reason,
                        "refused");
    assert_true(account->list[ALONE].view.figures[GPU_JOB_MEMORY].peak == UNKNOWN);
    assert_string_equal(account->list[ALONE].view.figures[GPU_JOB_MEMORY].measure.origin.reason,
                        "refused");
    assert_int_equal(account->totals.measures[GPU_TOTAL_JOB_UTILIZATION].value, 500000);
}

TEST_WITH(figures_are_unknown_if_the_job_has_no_gpu, fake_gpus_begin, fake_gpus_end)
{
    for (size_t i = 0; i < COUNT; i++)
        fake_gpus.units[i].is_selected = false;
    fake_see(OTHER, fake_reading(GB, MS(500), MS(1000)), MS(1000));
    gpu_account_busy(account, NULL, 0, MS(1000));
    gpu_account_memory(account, NULL, 0, MS(1000));
    assert_true(account->totals.measures[GPU_TOTAL_JOB_MEMORY].value == UNKNOWN);
    assert_true(account->totals.measures[GPU_TOTAL_BUSY].value == UNKNOWN &&
                account->totals.measures[GPU_TOTAL_JOB_BUSY].value == UNKNOWN);
    assert_true(account->totals.measures[GPU_TOTAL_ENERGY].value == UNKNOWN);
    assert_string_equal(account->totals.measures[GPU_TOTAL_JOB_MEMORY].origin.reason,
                        "none of this machine's GPUs is assigned to the job");
    assert_string_equal(account->totals.measures[GPU_TOTAL_BUSY].origin.reason,
                        account->totals.measures[GPU_TOTAL_JOB_MEMORY].origin.reason);
    assert_string_equal(account->totals.measures[GPU_TOTAL_JOB_BUSY].origin.reason,
                        account->totals.measures[GPU_TOTAL_JOB_MEMORY].origin.reason);
}

TEST_WITH(selecting_a_whole_gpu_includes_its_mig_parts, fake_gpus_begin, fake_gpus_end)
{
    const struct gpu_row rows[] = { fake_row(PART_0, 10, 2 * GB, 0, MS(1000)),
                                    fake_row(PART_1, 20, GB, 0, MS(1000)),
                                    fake_row(PART_1, 30, UNKNOWN, UNKNOWN, UNKNOWN) };
    const struct gpu_device_view *whole = &account->list[WHOLE].view;

    gpu_account_memory(account, rows, 2, 0);
    assert_int_equal(whole->figures[GPU_JOB_MEMORY].peak, 3 * GB);
    assert_int_equal(account->totals.measures[GPU_TOTAL_JOB_MEMORY].value, 3 * GB); /* not 6 */
    gpu_account_busy(account, rows, 3, MS(1000));
    gpu_account_memory(account, rows, 3, MS(1000));
    assert_true(whole->figures[GPU_JOB_MEMORY].measure.value == UNKNOWN);
    assert_string_equal(whole->figures[GPU_JOB_MEMORY].measure.origin.reason, "hidden");
    assert_true(whole->figures[GPU_JOB_UTILIZATION].measure.value == UNKNOWN);
    assert_true(whole->figures[GPU_JOB_UTILIZATION].mean == UNKNOWN);
    assert_string_equal(account->totals.measures[GPU_TOTAL_JOB_BUSY].origin.reason, "hidden");
}

TEST_WITH(energy_counts_from_the_first_reading, fake_gpus_begin, fake_gpus_end)
{
    struct gpu_reading reading = fake_reading(GB, UNKNOWN, UNKNOWN);

    reading.energy.microjoules = 0;
    for (uint64_t i = 0; i < 2; i++) { /* the counter still has its first value */
        fake_see(WHOLE, reading, MS(i));
        gpu_account_memory(account, NULL, 0, MS(i));
        assert_true(account->list[WHOLE].view.figures[GPU_ENERGY].measure.value == UNKNOWN);
        assert_true(account->totals.measures[GPU_TOTAL_ENERGY].value == UNKNOWN);
    }
    assert_non_null(
        strstr(account->totals.measures[GPU_TOTAL_ENERGY].origin.reason, "not read again"));
    assert_string_equal(account->list[WHOLE].view.figures[GPU_ENERGY].measure.origin.reason,
                        account->totals.measures[GPU_TOTAL_ENERGY].origin.reason);
    reading.energy.microjoules = 5000;
    fake_see(WHOLE, reading, MS(1000));
    gpu_account_memory(account, NULL, 0, MS(1000));
    assert_int_equal(account->totals.measures[GPU_TOTAL_ENERGY].value, 5000);
}

TEST_WITH(energy_of_a_lost_device_stays_in_the_sum, fake_gpus_begin, fake_gpus_end)
{
    struct gpu_reading reading = fake_reading(GB, UNKNOWN, UNKNOWN);

    reading.energy.microjoules = 5000;
    fake_see(WHOLE, reading, 0);
    reading.energy.microjoules = 100;
    fake_see(ALONE, reading, 0);
    gpu_account_device(account, WHOLE, NULL, MS(1000));
    gpu_account_memory(account, NULL, 0, MS(1000));
    assert_int_equal(account->totals.measures[GPU_TOTAL_ENERGY].value, 5100);
    assert_true(account->list[WHOLE].view.figures[GPU_ENERGY].measure.value == UNKNOWN);
}

TEST_WITH(sensors_keep_their_maximum, fake_gpus_begin, fake_gpus_end)
{
    struct gpu_reading reading = fake_reading(GB, UNKNOWN, UNKNOWN);

    reading.energy.milliwatts = 400000;
    reading.temperature_celsius = 70;
    reading.throttle_reasons = GPU_THROTTLE_POWER;
    fake_see(WHOLE, reading, 0);
    reading.energy.milliwatts = 90000;
    reading.temperature_celsius = UNKNOWN;
    reading.throttle_reasons = GPU_THROTTLE_THERMAL;
    fake_see(WHOLE, reading, MS(1000));
    assert_int_equal(account->list[WHOLE].view.figures[GPU_POWER].peak, 400000);
    assert_int_equal(account->list[WHOLE].view.figures[GPU_POWER].measure.value, 90000);
    assert_int_equal(account->list[WHOLE].view.figures[GPU_TEMPERATURE].peak, 70);
    assert_int_equal(account->list[WHOLE].view.throttle_reasons,
                     GPU_THROTTLE_POWER | GPU_THROTTLE_THERMAL);
}

TEST_WITH(a_lost_device_is_unknown_and_keeps_its_peaks, fake_gpus_begin, fake_gpus_end)
{
    const struct gpu_row row = fake_row(WHOLE, 10, GB, 0, 0);

    fake_see(WHOLE, fake_reading(3 * GB, UNKNOWN, UNKNOWN), 0);
    gpu_account_memory(account, &row, 1, 0);
    gpu_account_device(account, WHOLE, NULL, MS(1000));
    gpu_account_memory(account, NULL, 0, MS(1000));
    assert_true(account->totals.measures[GPU_TOTAL_JOB_MEMORY].value == UNKNOWN);
    assert_true(account->list[WHOLE].view.figures[GPU_MEMORY].measure.value == UNKNOWN);
    assert_int_equal(account->list[WHOLE].view.figures[GPU_MEMORY].peak, 3 * GB);
    assert_int_equal(account->list[WHOLE].view.figures[GPU_JOB_MEMORY].peak, GB);
}

static struct gpu_work work_of(uint64_t sm_ns, uint64_t bytes, uint64_t covered_ns)
{
    struct gpu_work work = { .covered_ns = covered_ns, .reason = "hidden" };

    for (int i = 0; i < GPU_WORK_KINDS; i++)
        work.counts[i] = UNKNOWN;
    work.counts[GPU_WORK_SM] = sm_ns;
    work.counts[GPU_WORK_PCIE_SENT] = bytes;
    return work;
}

TEST_WITH(work_is_counted_up_to_its_last_reading, fake_gpus_begin, fake_gpus_end)
{
    const struct gpu_row row = fake_row(ALONE, 10, GB, 0, 0);
    const struct gpu_figure *figures = account->list[ALONE].view.figures;
    const struct measure *totals = &account->totals.measures[GPU_TOTAL_WORK];
    struct gpu_work work = work_of(0, 0, 0);

    gpu_account_work(account, ALONE, &work, MS(1000));
    gpu_account_memory(account, &row, 1, MS(1000));
    assert_false(is_known(totals[GPU_WORK_SM].value));
    work = work_of(MS(250), 1000, MS(1000)); /* 25 % busy in the last second */
    gpu_account_work(account, ALONE, &work, MS(2000));
    gpu_account_memory(account, &row, 1, MS(2000));
    assert_int_equal(figures[GPU_WORK + GPU_WORK_SM].measure.value, 250000);
    assert_int_equal(figures[GPU_WORK + GPU_WORK_SM].mean, 125000);
    assert_int_equal(figures[GPU_WORK + GPU_WORK_PCIE_SENT].measure.value, 1000);
    assert_false(is_known(figures[GPU_WORK + GPU_WORK_TENSOR].measure.value));
    assert_string_equal(figures[GPU_WORK + GPU_WORK_TENSOR].measure.origin.reason, "hidden");
    assert_int_equal(totals[GPU_WORK_SM].value, MS(250));
    gpu_account_work(account, ALONE, &work, MS(4000));
    gpu_account_memory(account, &row, 1, MS(4000));
    assert_int_equal(totals[GPU_WORK_SM].value, MS(250));
    assert_int_equal(totals[GPU_WORK_PCIE_SENT].value, 1000);
    assert_int_equal(figures[GPU_WORK + GPU_WORK_SM].mean, 125000);
    gpu_account_memory(account, NULL, 0, MS(5000)); /* the job no longer uses the GPU */
    gpu_account_work(account, ALONE, &work, MS(5000));
    assert_int_equal(totals[GPU_WORK_SM].value, MS(250));
    assert_false(is_known(figures[GPU_WORK + GPU_WORK_SM].measure.value));
    assert_int_equal(figures[GPU_WORK + GPU_WORK_SM].mean, 250000 / 5);
    assert_int_equal(figures[GPU_WORK + GPU_WORK_PCIE_SENT].measure.value, 1000);
    work = work_of(UNKNOWN, UNKNOWN, MS(1000)); /* the counters were lost */
    gpu_account_work(account, ALONE, &work, MS(9000));
    assert_int_equal(figures[GPU_WORK + GPU_WORK_SM].mean, 250000 / 5);
}

TEST_WITH(an_estimate_of_energy_may_be_too_high, fake_gpus_begin, fake_gpus_end)
{
    struct gpu_reading reading = fake_reading(GB, 0, 0);

    reading.energy.microjoules = 5000;
    reading.energy.is_estimated = true;
    fake_see(ALONE, reading, MS(1000));
    gpu_account_memory(account, NULL, 0, MS(1000));
    assert_true(account->totals.is_energy_estimated);
    reading.energy.microjoules = 4000;
    reading.energy.is_estimated = false;
    fake_see(ALONE, reading, MS(2000));
    gpu_account_memory(account, NULL, 0, MS(2000));
    assert_int_equal(account->totals.measures[GPU_TOTAL_ENERGY].value, 4000);
    assert_int_equal(account->list[ALONE].view.figures[GPU_ENERGY].peak, 4000);
    assert_false(account->totals.is_energy_estimated);
}

TEST_WITH(accounting_data_raises_peaks, fake_gpus_begin, fake_gpus_end)
{
    gpu_account_peak(account, WHOLE, 9 * GB);
    gpu_account_peak(account, WHOLE, UNKNOWN);
    gpu_account_peak(account, WHOLE, GB);
    assert_int_equal(account->list[WHOLE].view.figures[GPU_JOB_MEMORY].peak, 9 * GB);
    assert_int_equal(account->list[WHOLE].view.figures[GPU_MEMORY].peak, 9 * GB);
}

TEST_WITH(gauges_keep_their_maximum_until_they_are_sampled, fake_gpus_begin, fake_gpus_end)
{
    struct gpu_totals kept, newer;

    gpu_totals_clear(&kept);
    gpu_totals_clear(&newer);
    newer.measures[GPU_TOTAL_JOB_MEMORY].value = 5 * GB;
    newer.is_memory_unreported = true;
    newer.measures[GPU_TOTAL_BUSY].value = MS(10);
    gpu_totals_renew(&kept, &newer);
    newer.measures[GPU_TOTAL_JOB_MEMORY].value = GB;
    newer.is_memory_unreported = false;
    newer.measures[GPU_TOTAL_BUSY].value = MS(20);
    gpu_totals_renew(&kept, &newer);
    assert_int_equal(kept.measures[GPU_TOTAL_JOB_MEMORY].value, 5 * GB);
    assert_int_equal(kept.measures[GPU_TOTAL_BUSY].value, MS(20));
    assert_true(kept.is_memory_unreported); /* in one of the two GPUs */
    assert_true(kept.measures[GPU_TOTAL_MAIN_MEMORY].value == UNKNOWN);
}

/* ---- the busy time of the job ------------------------------------------- */

/* Processes start, continue, exit, and are dropped from the list. */
TEST_WITH(the_busy_time_of_the_job_is_the_sum_over_its_processes, fake_gpus_begin,
          fake_gpus_end)
{
    const struct gpu_row first[] = { fake_row(WHOLE, 10, GB, MS(100), MS(1000)),
                                     fake_row(WHOLE, 500, GB, MS(700), MS(1000)) };
    const struct gpu_row second[] = { fake_row(WHOLE, 10, GB, MS(200), MS(2000)),
                                      fake_row(WHOLE, 20, GB, MS(300), MS(2000)) };
    const struct gpu_row third[] = { fake_row(WHOLE, 20, GB, MS(350), MS(3000)) };

    gpu_account_busy(account, first, 2, MS(1000));
    gpu_account_memory(account, first, 2, MS(1000));
    assert_int_equal(account->totals.measures[GPU_TOTAL_JOB_BUSY].value, MS(100));
    assert_int_equal(account->totals.measures[GPU_TOTAL_JOB_UTILIZATION].value, 100000);
    gpu_account_busy(account, second, 2, MS(2000));
    gpu_account_memory(account, second, 2, MS(2000));
    assert_int_equal(account->totals.measures[GPU_TOTAL_JOB_UTILIZATION].value, 400000);
    assert_int_equal(account->totals.measures[GPU_TOTAL_JOB_BUSY].value, MS(500));
    gpu_account_busy(account, third, 1, MS(3000));
    gpu_account_memory(account, third, 1, MS(3000));
    assert_int_equal(account->totals.measures[GPU_TOTAL_JOB_UTILIZATION].value, 50000);
    assert_int_equal(account->list[WHOLE].view.figures[GPU_JOB_UTILIZATION].peak, 400000);
    assert_int_equal(account->list[WHOLE].view.figures[GPU_JOB_UTILIZATION].mean, 183333);
    gpu_account_busy(account, NULL, 0, MS(4000));
    gpu_account_memory(account, NULL, 0, MS(4000));
    assert_int_equal(account->totals.measures[GPU_TOTAL_JOB_BUSY].value, MS(550));
}

TEST_WITH(busy_time_mixed_with_foreign_processes_is_reported, fake_gpus_begin, fake_gpus_end)
{
    static const struct gpu_sources names_one = { .names_one = true };
    struct gpu_row rows[] = { fake_row(WHOLE, 10, GB, 0, MS(1000)),
                              fake_row(WHOLE, 500, GB, 0, MS(1000)) };

    rows[1].process.computes = true;
    fake_see(WHOLE, fake_reading(GB, MS(500), MS(1000)), MS(1000));
    gpu_account_busy(account, rows, 2, MS(1000)); /* the driver reports both processes */
    assert_false(account->totals.is_busy_mixed);
    fake_gpus.units[WHOLE].sources = &names_one;
    gpu_account_busy(account, rows, 1, MS(2000)); /* only the job's process is present */
    /* Only the foreign process is present. */
    gpu_account_busy(account, rows + 1, 1, MS(3000));
    rows[1].process.computes = false;
    gpu_account_busy(account, rows, 2, MS(3500)); /* a foreign desktop, not computing */
    rows[1].process.computes = true;
    fake_see(WHOLE, fake_reading(GB, MS(500), MS(4000)), MS(4000)); /* the GPU was idle */
    gpu_account_busy(account, rows, 2, MS(4000));
    assert_false(account->totals.is_busy_mixed);
    fake_see(WHOLE, fake_reading(GB, MS(600), MS(5000)), MS(5000));
    gpu_account_busy(account, rows, 2, MS(5000));
    assert_true(account->totals.is_busy_mixed);
}

TEST_WITH(unreported_busy_time_is_not_0, fake_gpus_begin, fake_gpus_end)
{
    const struct gpu_row row = fake_row(PART_0, 10, GB, UNKNOWN, UNKNOWN);

    gpu_account_busy(account, NULL, 0, MS(1000));
    gpu_account_memory(account, NULL, 0, MS(1000));
    assert_int_equal(account->totals.measures[GPU_TOTAL_JOB_BUSY].value,
                     0); /* no process was present */
    gpu_account_busy(account, &row, 1, MS(2000));
    gpu_account_memory(account, &row, 1, MS(2000));
    assert_true(account->totals.measures[GPU_TOTAL_JOB_BUSY].value == UNKNOWN &&
                account->totals.has_unreported_busy);
    assert_string_equal(account->totals.measures[GPU_TOTAL_JOB_BUSY].origin.reason, "hidden");
    assert_true(account->list[PART_0].view.figures[GPU_JOB_UTILIZATION].mean == UNKNOWN);
    assert_true(account->list[PART_0].view.figures[GPU_JOB_UTILIZATION].peak == UNKNOWN);
}

TEST_WITH(busy_time_reported_twice_is_counted_once, fake_gpus_begin, fake_gpus_end)
{
    const uint64_t busy_ns[] = { MS(100), UNKNOWN, UNKNOWN, MS(300) };

    for (size_t i = 0; i < 4; i++) {
        struct gpu_row row = fake_row(WHOLE, 10, GB, busy_ns[i], MS(1000 * (i + 1)));

        gpu_account_busy(account, &row, 1, MS(1000 * (i + 1)));
    }
    gpu_account_memory(account, NULL, 0, MS(4000));
    assert_in_range(account->totals.measures[GPU_TOTAL_JOB_BUSY].value, MS(299), MS(300));
}

/* xe reports cycles: busy time is unknown until the frequency of the clock has been
 * measured. */
TEST_WITH(late_busy_time_is_unknown_until_it_arrives, fake_gpus_begin, fake_gpus_end)
{
    const uint64_t busy_ns[] = { UNKNOWN, MS(500), MS(500) };

    gpu_account_busy(account, NULL, 0, MS(1000));
    for (size_t i = 0; i < 3; i++) {
        struct gpu_row row = fake_row(ALONE, 10, GB, busy_ns[i], UNKNOWN);

        gpu_account_busy(account, &row, 1, MS(2000 + 1000 * i));
        gpu_account_memory(account, &row, 1, MS(2000 + 1000 * i));
        assert_int_equal(account->totals.is_busy_unreported, i == 0);
        assert_int_equal(account->totals.has_unreported_busy, i == 0);
        assert_int_equal(is_known(account->totals.measures[GPU_TOTAL_JOB_BUSY].value), i > 0);
    }
    assert_int_equal(account->totals.measures[GPU_TOTAL_JOB_UTILIZATION].value,
                     0); /* no work in the last second */
    assert_int_equal(account->list[ALONE].view.figures[GPU_JOB_UTILIZATION].peak, 250000);
}

TEST_WITH(lost_busy_time_of_an_exited_process_stays_unknown, fake_gpus_begin, fake_gpus_end)
{
    const struct gpu_row row = fake_row(ALONE, 10, GB, UNKNOWN, UNKNOWN);

    gpu_account_busy(account, &row, 1, MS(1000));
    gpu_account_busy(account, NULL, 0, MS(2000));
    gpu_account_memory(account, NULL, 0, MS(2000));
    assert_false(account->totals.is_busy_unreported);
    assert_true(account->totals.has_unreported_busy);
    assert_string_equal(account->totals.measures[GPU_TOTAL_JOB_BUSY].origin.reason, "hidden");
    assert_true(account->list[ALONE].view.figures[GPU_JOB_UTILIZATION].mean == UNKNOWN);
}

/* The driver's samples arrive late; until they do, the work of a new process is unknown. */
TEST_WITH(a_process_without_samples_has_no_busy_time, fake_gpus_begin, fake_gpus_end)
{
    const struct gpu_row early = fake_row(ALONE, 10, GB, 0, 0);
    const struct gpu_row late = fake_row(ALONE, 10, GB, MS(100), MS(1000));
    const struct gpu_device_view *view = &account->list[ALONE].view;

    gpu_account_busy(account, NULL, 0, MS(50));
    gpu_account_memory(account, NULL, 0, MS(50));
    assert_int_equal(account->totals.measures[GPU_TOTAL_JOB_BUSY].value, 0);
    assert_int_equal(view->figures[GPU_JOB_UTILIZATION].measure.value,
                     0); /* no process was present */
    gpu_account_memory(account, &early, 1, MS(200));
    assert_true(account->totals.measures[GPU_TOTAL_JOB_BUSY].value == UNKNOWN);
    assert_true(account->totals.measures[GPU_TOTAL_JOB_UTILIZATION].value == UNKNOWN);
    assert_true(view->figures[GPU_JOB_UTILIZATION].measure.value == UNKNOWN);
    gpu_account_busy(account, &early, 1, MS(1000));
    gpu_account_memory(account, &early, 1, MS(1000));
    assert_true(view->figures[GPU_JOB_UTILIZATION].mean == UNKNOWN &&
                view->figures[GPU_JOB_UTILIZATION].peak == UNKNOWN);
    assert_true(account->totals.has_unreported_busy);
    assert_string_equal(account->totals.measures[GPU_TOTAL_JOB_BUSY].origin.reason,
                        "the driver had no samples of it when they were last read");
    gpu_account_busy(account, &late, 1, MS(2000));
    gpu_account_memory(account, &late, 1, MS(2000));
    assert_false(account->totals.has_unreported_busy);
    assert_int_equal(view->figures[GPU_JOB_UTILIZATION].measure.value, 100000);
}

TEST_WITH(busy_time_stays_open_until_samples_of_an_exited_process_arrive, fake_gpus_begin,
          fake_gpus_end)
{
    const struct gpu_row row = fake_row(ALONE, 10, GB, 0, 0);

    gpu_account_busy(account, NULL, 0, MS(50));
    gpu_account_memory(account, &row, 1, MS(200));
    fake_see(ALONE, fake_reading(GB, 0, MS(200)), MS(400));
    gpu_account_busy(account, NULL, 0, MS(400));
    gpu_account_memory(account, NULL, 0, MS(400));
    assert_true(account->totals.measures[GPU_TOTAL_JOB_BUSY].value == UNKNOWN);
    fake_see(ALONE, fake_reading(GB, 0, MS(1200)), MS(1400));
    gpu_account_busy(account, NULL, 0, MS(1400));
    gpu_account_memory(account, NULL, 0, MS(1400));
    assert_int_equal(account->totals.measures[GPU_TOTAL_JOB_BUSY].value,
                     0); /* the samples do not contain the process, so it did no work */
    assert_false(account->totals.has_unreported_busy);
}
