/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>

#include <string.h>

#include "base/clock.h"
#include "base/unknown.h"
#include "job/gpu/gpu_tally.h"

#define MS(n) ((n)*NS_PER_MS)
#define GB 1000000000ull

/* A whole GPU that is split into two parts, and another that is not the job's. */
enum { WHOLE, PART_0, PART_1, OTHER, COUNT };

static struct gpu_unit units[COUNT];
static struct gpu_tally tally;

static int set_up(void **state)
{
    static const struct gpu_sources sources = { .names_one = false };

    (void)state;
    memset(units, 0, sizeof(units));
    for (size_t i = 0; i < COUNT; i++)
        units[i].sources = &sources;
    units[PART_0].device.is_part = units[PART_1].device.is_part = true;
    units[WHOLE].is_selected = units[PART_0].is_selected = units[PART_1].is_selected = true;
    return gpu_tally_init(&tally, units, COUNT, 0);
}

static int tear_down(void **state)
{
    (void)state;
    gpu_tally_done(&tally);
    return 0;
}

static struct gpu_reading reading_of(uint64_t used_bytes, uint64_t busy_ns, uint64_t covered_ns)
{
    return (struct gpu_reading){
        .memory_used_bytes = used_bytes,
        .busy_ns = busy_ns,
        .busy_covered_ns = covered_ns,
        .encoder_busy_ns = UNKNOWN,
        .decoder_busy_ns = UNKNOWN,
        .energy_microjoules = UNKNOWN,
        .power_milliwatts = UNKNOWN,
        .temperature_celsius = UNKNOWN,
        .clock_mhz = UNKNOWN,
        .throttle_reasons = UNKNOWN,
        .busy_reason = is_known(busy_ns) ? NULL : "no busy time",
    };
}

static void see(size_t unit, struct gpu_reading reading, uint64_t now_ns)
{
    gpu_tally_device(&tally, unit, &reading, now_ns);
}

static struct gpu_row row_of(size_t unit, pid_t pid, uint64_t memory_bytes, uint64_t busy_ns,
                             uint64_t covered_ns)
{
    return (struct gpu_row){
        .process = { .pid = pid,
                     .memory_bytes = memory_bytes,
                     .busy_ns = busy_ns,
                     .busy_covered_ns = covered_ns,
                     .reason = is_known(memory_bytes) && is_known(busy_ns) ? NULL : "hidden" },
        .unit = unit,
        .is_job = pid < 100,
        .is_main = pid == 10,
    };
}

static void memory_is_summed_over_the_jobs_gpus(void **state)
{
    const struct gpu_row rows[] = {
        row_of(PART_0, 10, GB, 0, 0),      row_of(PART_1, 10, GB, 0, 0),
        row_of(PART_1, 20, 3 * GB, 0, 0),  row_of(OTHER, 10, 50 * GB, 0, 0),
        row_of(PART_0, 500, 7 * GB, 0, 0), /* a stranger */
    };
    const struct gpu_levels *levels = &tally.totals.levels;

    (void)state;
    see(WHOLE, reading_of(20 * GB, UNKNOWN, UNKNOWN), 0);
    see(PART_0, reading_of(9 * GB, UNKNOWN, UNKNOWN), 0);
    see(PART_1, reading_of(5 * GB, UNKNOWN, UNKNOWN), 0);
    see(OTHER, reading_of(60 * GB, UNKNOWN, UNKNOWN), 0);
    gpu_tally_memory(&tally, rows, 5, MS(10));
    assert_int_equal(levels->main_memory_bytes, 2 * GB);
    assert_int_equal(levels->descendants_memory_bytes, 3 * GB);
    assert_int_equal(levels->job_memory_bytes, 5 * GB);
    assert_int_equal(levels->host_memory_bytes, 80 * GB); /* parts are in the whole; all GPUs */
    assert_int_equal(tally.list[PART_1].view.job_memory_peak_bytes, 4 * GB);
    assert_int_equal(tally.list[OTHER].view.memory_peak_bytes, 60 * GB);
    gpu_tally_memory(&tally, NULL, 0, MS(20));
    assert_int_equal(levels->job_memory_bytes, 0);
    assert_int_equal(tally.list[PART_1].view.job_memory_peak_bytes, 4 * GB);
}

static void parts_speak_for_a_whole_that_does_not_tell(void **state)
{
    (void)state;
    see(WHOLE, reading_of(UNKNOWN, UNKNOWN, UNKNOWN), MS(1000));
    see(PART_0, reading_of(GB, MS(400), MS(1000)), MS(1000));
    see(PART_1, reading_of(2 * GB, MS(100), MS(1000)), MS(1000));
    gpu_tally_memory(&tally, NULL, 0, MS(1000));
    assert_int_equal(tally.totals.levels.host_memory_bytes, 3 * GB);
    assert_int_equal(tally.totals.levels.utilization, 500000);
    assert_int_equal(tally.totals.busy_ns, MS(500));
    see(WHOLE, reading_of(UNKNOWN, MS(300), MS(1000)), MS(1000));
    gpu_tally_memory(&tally, NULL, 0, MS(1000));
    assert_int_equal(tally.totals.levels.utilization, 300000);
}

static void what_processes_hold_is_in_use(void **state)
{
    const struct gpu_row row = row_of(WHOLE, 10, 5 * GB, 0, 0);

    (void)state;
    see(WHOLE, reading_of(2 * GB, UNKNOWN, UNKNOWN), 0); /* as it was a second ago */
    gpu_tally_memory(&tally, &row, 1, MS(900));
    assert_int_equal(tally.totals.levels.host_memory_bytes, 5 * GB);
}

static void unknown_memory_of_a_process_makes_the_jobs_unknown(void **state)
{
    const struct gpu_row rows[] = { row_of(WHOLE, 10, GB, 0, 0),
                                    row_of(WHOLE, 20, UNKNOWN, 0, 0) };
    const struct gpu_levels *levels = &tally.totals.levels;

    (void)state;
    gpu_tally_memory(&tally, NULL, 0, 0);
    assert_int_equal(levels->job_memory_bytes, 0);
    assert_int_equal(tally.list[WHOLE].view.job_memory_peak_bytes, 0);
    gpu_tally_memory(&tally, &rows[1], 1, MS(1));
    assert_true(levels->job_memory_bytes == UNKNOWN);
    assert_true(tally.totals.has_untold_memory);
    assert_string_equal(tally.totals.memory_reason, "hidden");
    /* The 0 of before is no measure of it. */
    assert_true(tally.list[WHOLE].view.job_memory_peak_bytes == UNKNOWN);
    gpu_tally_memory(&tally, rows, 2, MS(2));
    assert_true(levels->job_memory_bytes == UNKNOWN);
    assert_int_equal(levels->main_memory_bytes, GB);
    assert_true(levels->descendants_memory_bytes == UNKNOWN);
}

static void processes_that_may_be_left_out_make_it_unknown_too(void **state)
{
    struct gpu_reading reading = reading_of(GB, UNKNOWN, UNKNOWN);

    (void)state;
    reading.processes_reason = "not listed";
    see(WHOLE, reading, 0);
    gpu_tally_memory(&tally, NULL, 0, 0);
    assert_true(tally.totals.levels.job_memory_bytes == UNKNOWN);
    assert_true(tally.totals.levels.main_memory_bytes == UNKNOWN);
    assert_string_equal(tally.totals.memory_reason, "not listed");
    assert_int_equal(tally.totals.levels.host_memory_bytes, GB);
}

/* Busy time is told; the 0 bytes from before the lists were refused are no peak. */
static void memory_that_no_process_tells_makes_it_unknown_alone(void **state)
{
    const struct gpu_row row = row_of(WHOLE, 10, UNKNOWN, MS(500), MS(1000));
    struct gpu_reading reading = reading_of(GB, MS(500), MS(1000));

    (void)state;
    gpu_tally_memory(&tally, NULL, 0, 0);
    assert_int_equal(tally.list[WHOLE].view.job_memory_peak_bytes, 0);
    reading.process_memory_reason = "refused";
    see(WHOLE, reading, MS(1000));
    assert_int_equal(gpu_tally_busy(&tally, &row, 1, MS(1000)), 0);
    gpu_tally_memory(&tally, NULL, 0, MS(1000));
    assert_true(tally.totals.levels.job_memory_bytes == UNKNOWN);
    assert_true(tally.totals.levels.main_memory_bytes == UNKNOWN);
    assert_true(tally.totals.has_untold_memory);
    assert_string_equal(tally.totals.memory_reason, "refused");
    assert_true(tally.list[WHOLE].view.job_memory_peak_bytes == UNKNOWN);
    assert_string_equal(tally.list[WHOLE].view.job_memory_reason, "refused");
    assert_int_equal(tally.totals.levels.job_utilization, 500000);
}

static void no_gpu_of_the_job_is_no_figure(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT; i++)
        units[i].is_selected = false;
    see(OTHER, reading_of(GB, MS(500), MS(1000)), MS(1000));
    assert_int_equal(gpu_tally_busy(&tally, NULL, 0, MS(1000)), 0);
    gpu_tally_memory(&tally, NULL, 0, MS(1000));
    assert_true(tally.totals.levels.job_memory_bytes == UNKNOWN);
    assert_true(tally.totals.busy_ns == UNKNOWN && tally.totals.job_busy_ns == UNKNOWN);
    assert_true(tally.totals.energy_microjoules == UNKNOWN);
    assert_string_equal(tally.totals.memory_reason, "none of this machine's GPUs is the job's");
    assert_string_equal(tally.totals.busy_reason, tally.totals.memory_reason);
    assert_string_equal(tally.totals.job_busy_reason, tally.totals.memory_reason);
}

/* The job's share: of processes that come, go on, end and are forgotten. */
static void busy_time_of_the_job_is_that_of_its_processes(void **state)
{
    const struct gpu_row first[] = { row_of(WHOLE, 10, GB, MS(100), MS(1000)),
                                     row_of(WHOLE, 500, GB, MS(700), MS(1000)) };
    const struct gpu_row second[] = { row_of(WHOLE, 10, GB, MS(200), MS(2000)),
                                      row_of(WHOLE, 20, GB, MS(300), MS(2000)) };
    const struct gpu_row third[] = { row_of(WHOLE, 20, GB, MS(350), MS(3000)) };

    (void)state;
    assert_int_equal(gpu_tally_busy(&tally, first, 2, MS(1000)), 0);
    gpu_tally_memory(&tally, first, 2, MS(1000));
    assert_int_equal(tally.totals.job_busy_ns, MS(100));
    assert_int_equal(tally.totals.levels.job_utilization, 100000);
    assert_int_equal(gpu_tally_busy(&tally, second, 2, MS(2000)), 0);
    gpu_tally_memory(&tally, second, 2, MS(2000));
    assert_int_equal(tally.totals.levels.job_utilization, 400000);
    assert_int_equal(tally.totals.job_busy_ns, MS(500));
    assert_int_equal(gpu_tally_busy(&tally, third, 1, MS(3000)), 0);
    gpu_tally_memory(&tally, third, 1, MS(3000));
    assert_int_equal(tally.totals.levels.job_utilization, 50000);
    assert_int_equal(tally.list[WHOLE].view.job_utilization_max, 400000);
    assert_int_equal(tally.list[WHOLE].view.job_utilization_mean, 183333);
    assert_int_equal(gpu_tally_busy(&tally, NULL, 0, MS(4000)), 0);
    gpu_tally_memory(&tally, NULL, 0, MS(4000));
    assert_int_equal(tally.totals.job_busy_ns, MS(550));
}

static void others_that_a_driver_cannot_tell_apart_are_told_of(void **state)
{
    static const struct gpu_sources names_one = { .names_one = true };
    struct gpu_row rows[] = { row_of(WHOLE, 10, GB, 0, MS(1000)),
                              row_of(WHOLE, 500, GB, 0, MS(1000)) };

    (void)state;
    rows[1].process.computes = true;
    see(WHOLE, reading_of(GB, MS(500), MS(1000)), MS(1000));
    assert_int_equal(gpu_tally_busy(&tally, rows, 2, MS(1000)), 0); /* it can tell them apart */
    assert_false(tally.totals.is_busy_mixed);
    units[WHOLE].sources = &names_one;
    assert_int_equal(gpu_tally_busy(&tally, rows, 1, MS(2000)), 0);     /* the job is alone */
    assert_int_equal(gpu_tally_busy(&tally, rows + 1, 1, MS(3000)), 0); /* it is away */
    rows[1].process.computes = false;
    assert_int_equal(gpu_tally_busy(&tally, rows, 2, MS(3500)), 0); /* a desktop */
    rows[1].process.computes = true;
    see(WHOLE, reading_of(GB, MS(500), MS(4000)), MS(4000)); /* nobody was busy */
    assert_int_equal(gpu_tally_busy(&tally, rows, 2, MS(4000)), 0);
    assert_false(tally.totals.is_busy_mixed);
    see(WHOLE, reading_of(GB, MS(600), MS(5000)), MS(5000));
    assert_int_equal(gpu_tally_busy(&tally, rows, 2, MS(5000)), 0);
    assert_true(tally.totals.is_busy_mixed);
}

static void busy_time_that_is_not_told_is_no_zero(void **state)
{
    const struct gpu_row row = row_of(PART_0, 10, GB, UNKNOWN, UNKNOWN);

    (void)state;
    assert_int_equal(gpu_tally_busy(&tally, NULL, 0, MS(1000)), 0);
    gpu_tally_memory(&tally, NULL, 0, MS(1000));
    assert_int_equal(tally.totals.job_busy_ns, 0); /* nobody was there */
    assert_int_equal(gpu_tally_busy(&tally, &row, 1, MS(2000)), 0);
    gpu_tally_memory(&tally, &row, 1, MS(2000));
    assert_true(tally.totals.job_busy_ns == UNKNOWN && tally.totals.has_untold_busy);
    assert_string_equal(tally.totals.job_busy_reason, "hidden");
    assert_true(tally.list[PART_0].view.job_utilization_mean == UNKNOWN);
    assert_true(tally.list[PART_0].view.job_utilization_max == UNKNOWN);
}

static void busy_time_that_is_told_again_counts_once(void **state)
{
    const uint64_t busy_ns[] = { MS(100), UNKNOWN, UNKNOWN, MS(300) };

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct gpu_row row = row_of(WHOLE, 10, GB, busy_ns[i], MS(1000 * (i + 1)));

        assert_int_equal(gpu_tally_busy(&tally, &row, 1, MS(1000 * (i + 1))), 0);
    }
    gpu_tally_memory(&tally, NULL, 0, MS(4000));
    assert_in_range(tally.totals.job_busy_ns, MS(299), MS(300));
}

static void energy_counts_from_the_first_reading(void **state)
{
    struct gpu_reading reading = reading_of(GB, UNKNOWN, UNKNOWN);

    (void)state;
    reading.energy_microjoules = 0;
    see(WHOLE, reading, 0);
    gpu_tally_memory(&tally, NULL, 0, 0);
    assert_true(tally.totals.energy_microjoules == UNKNOWN);
    reading.energy_microjoules = 5000;
    see(WHOLE, reading, MS(1000));
    gpu_tally_memory(&tally, NULL, 0, MS(1000));
    assert_int_equal(tally.totals.energy_microjoules, 5000);
}

static void sensors_keep_their_largest(void **state)
{
    struct gpu_reading reading = reading_of(GB, UNKNOWN, UNKNOWN);

    (void)state;
    reading.power_milliwatts = 400000;
    reading.temperature_celsius = 70;
    reading.throttle_reasons = GPU_THROTTLE_POWER;
    see(WHOLE, reading, 0);
    reading.power_milliwatts = 90000;
    reading.temperature_celsius = UNKNOWN;
    reading.throttle_reasons = GPU_THROTTLE_THERMAL;
    see(WHOLE, reading, MS(1000));
    assert_int_equal(tally.list[WHOLE].view.power_max_milliwatts, 400000);
    assert_int_equal(tally.list[WHOLE].view.value[GPU_POWER], 90000);
    assert_int_equal(tally.list[WHOLE].view.temperature_max_celsius, 70);
    assert_int_equal(tally.list[WHOLE].view.throttle_reasons,
                     GPU_THROTTLE_POWER | GPU_THROTTLE_THERMAL);
}

static void a_lost_device_is_not_known_and_keeps_its_peaks(void **state)
{
    const struct gpu_row row = row_of(WHOLE, 10, GB, 0, 0);

    (void)state;
    see(WHOLE, reading_of(3 * GB, UNKNOWN, UNKNOWN), 0);
    gpu_tally_memory(&tally, &row, 1, 0);
    gpu_tally_device(&tally, WHOLE, NULL, MS(1000));
    gpu_tally_memory(&tally, NULL, 0, MS(1000));
    assert_true(tally.totals.levels.job_memory_bytes == UNKNOWN);
    assert_true(tally.list[WHOLE].view.value[GPU_MEMORY] == UNKNOWN);
    assert_int_equal(tally.list[WHOLE].view.memory_peak_bytes, 3 * GB);
    assert_int_equal(tally.list[WHOLE].view.job_memory_peak_bytes, GB);
}

static void accounts_raise_peaks(void **state)
{
    (void)state;
    gpu_tally_account(&tally, WHOLE, 9 * GB);
    gpu_tally_account(&tally, WHOLE, UNKNOWN);
    gpu_tally_account(&tally, WHOLE, GB);
    assert_int_equal(tally.list[WHOLE].view.job_memory_peak_bytes, 9 * GB);
    assert_int_equal(tally.list[WHOLE].view.memory_peak_bytes, 9 * GB);
}

static void levels_stay_the_largest_until_they_are_taken(void **state)
{
    struct gpu_totals kept, newer;

    (void)state;
    gpu_totals_clear(&kept);
    gpu_totals_clear(&newer);
    newer.levels.job_memory_bytes = 5 * GB;
    newer.busy_ns = MS(10);
    gpu_totals_renew(&kept, &newer);
    newer.levels.job_memory_bytes = GB;
    newer.busy_ns = MS(20);
    gpu_totals_renew(&kept, &newer);
    assert_int_equal(kept.levels.job_memory_bytes, 5 * GB);
    assert_int_equal(kept.busy_ns, MS(20));
    assert_true(kept.levels.main_memory_bytes == UNKNOWN);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(memory_is_summed_over_the_jobs_gpus),
        TEST(parts_speak_for_a_whole_that_does_not_tell),
        TEST(what_processes_hold_is_in_use),
        TEST(unknown_memory_of_a_process_makes_the_jobs_unknown),
        TEST(processes_that_may_be_left_out_make_it_unknown_too),
        TEST(memory_that_no_process_tells_makes_it_unknown_alone),
        TEST(no_gpu_of_the_job_is_no_figure),
        TEST(busy_time_of_the_job_is_that_of_its_processes),
        TEST(others_that_a_driver_cannot_tell_apart_are_told_of),
        TEST(busy_time_that_is_not_told_is_no_zero),
        TEST(busy_time_that_is_told_again_counts_once),
        TEST(energy_counts_from_the_first_reading),
        TEST(sensors_keep_their_largest),
        TEST(a_lost_device_is_not_known_and_keeps_its_peaks),
        TEST(accounts_raise_peaks),
        TEST(levels_stay_the_largest_until_they_are_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
