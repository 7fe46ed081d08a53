/* SPDX-License-Identifier: Apache-2.0 */
#include "source/gpu/nvidia_meters.h"
#include "unit_test.h"

#include <math.h>

#define NOW_US 2000000000ull
#define MS(count) ((count)*1000000ull)

TEST(a_sample_covers_the_time_since_the_previous_one)
{
    struct busy_meter meter = { 0 };

    busy_meter_begin(&meter, 1000000);
    assert_true(busy_meter_add(&meter, 1100000, 100, NOW_US));
    assert_true(busy_meter_add(&meter, 1400000, 50, NOW_US));
    assert_int_equal(meter.busy_ns, MS(250));
    assert_int_equal(meter.covered_ns, MS(400));
}

TEST(the_first_sample_covers_a_default_period)
{
    struct busy_meter meter = { 0 };

    assert_true(busy_meter_add(&meter, 1000000, 50, NOW_US));
    assert_int_equal(meter.busy_ns, MS(100));
    assert_int_equal(meter.covered_ns, MS(200));
}

TEST(the_time_before_the_first_sample_does_not_set_the_period)
{
    struct busy_meter meter = { 0 };

    busy_meter_begin(&meter, 1000000);
    assert_true(busy_meter_add(&meter, 1030000, 100, NOW_US));
    assert_int_equal(meter.busy_ns, MS(30));
    assert_int_equal(meter.covered_ns, MS(30));
    assert_int_equal(meter.period_us, 0);
    assert_true(busy_meter_add(&meter, 1230000, 100, NOW_US));
    assert_int_equal(meter.period_us, 200000);
}

TEST(a_sample_after_a_gap_covers_one_period)
{
    struct busy_meter meter = { 0 };

    busy_meter_begin(&meter, 990000);
    assert_true(busy_meter_add(&meter, 1000000, 0, NOW_US));
    assert_true(busy_meter_add(&meter, 1100000, 0, NOW_US));
    assert_true(busy_meter_add(&meter, 1100000 + BUSY_HOLE_US + 1, 100, NOW_US));
    assert_int_equal(meter.busy_ns, MS(100));
    assert_int_equal(meter.covered_ns, MS(210)); /* the rest is neither busy nor idle */
    assert_true(busy_meter_add(&meter, 1100000 + 2 * BUSY_HOLE_US + 1, 100, NOW_US));
    assert_int_equal(meter.busy_ns, MS(1600)); /* just short enough to count */
}

TEST(a_damaged_sample_is_dropped)
{
    static const struct {
        uint64_t stamp_us;
        double percent;
    } damaged[] = {
        { 1000000, 50 },
        { 999999, 50 },
        { 0, 50 },
        { 1200000, 100.5 },
        { 1200000, -1 },
        { 1200000, (double)NAN },
        { 1200000, 4294967295.0 },
        { NOW_US + BUSY_FUTURE_US, 50 },
        { UINT64_MAX, 50 },
    };
    struct busy_meter meter = { 0 };

    busy_meter_begin(&meter, 1000000);
    for (size_t i = 0; i < sizeof(damaged) / sizeof(damaged[0]); i++)
        assert_false(busy_meter_add(&meter, damaged[i].stamp_us, damaged[i].percent, NOW_US));
    assert_int_equal(meter.busy_ns, 0);
    assert_int_equal(meter.covered_ns, 0);
    assert_int_equal(meter.last_us, 1000000);
}

TEST(a_clock_that_was_set_back_restarts_the_meter)
{
    struct busy_meter meter = { 0 };

    busy_meter_begin(&meter, NOW_US);
    busy_meter_check_clock(&meter, NOW_US - 1000000); /* a small step is ignored */
    assert_int_equal(meter.last_us, NOW_US);
    busy_meter_check_clock(&meter, NOW_US - 2 * BUSY_FUTURE_US);
    assert_int_equal(meter.last_us, NOW_US - 2 * BUSY_FUTURE_US);
    assert_true(busy_meter_add(&meter, NOW_US - 2 * BUSY_FUTURE_US + 200000, 100,
                               NOW_US - 2 * BUSY_FUTURE_US + 200000));
    assert_int_equal(meter.busy_ns, MS(200));
}

TEST(implausible_percentages_are_ignored)
{
    struct busy_meter meter = { 0 };

    busy_meter_add_span(&meter, MS(1000), 25);
    busy_meter_add_span(&meter, MS(1000), 101);
    busy_meter_add_span(&meter, MS(1000), (double)NAN);
    busy_meter_add_span(&meter, MS(1000), -1);
    assert_int_equal(meter.busy_ns, MS(250));
    assert_int_equal(meter.covered_ns, MS(1000));
}

TEST(idle_time_is_covered_up_to_its_end)
{
    struct busy_meter meter = { 0 };

    busy_meter_begin(&meter, 1000000);
    busy_meter_add_idle(&meter, 11000000);
    busy_meter_add_idle(&meter, 10000000); /* this time is already covered */
    assert_int_equal(meter.covered_ns, MS(10000));
    assert_int_equal(meter.busy_ns, 0);
    assert_false(busy_meter_add(&meter, 11000000, 100, NOW_US));
    assert_true(busy_meter_add(&meter, 11050000, 100, NOW_US));
    assert_int_equal(meter.busy_ns, MS(50));
    assert_int_equal(meter.period_us, 0);
}

TEST(the_period_is_the_shortest_plausible_one)
{
    assert_int_equal(busy_learn_period(0, 200000), 200000);
    assert_int_equal(busy_learn_period(200000, 167000), 167000);
    assert_int_equal(busy_learn_period(167000, 200000), 167000);
    assert_int_equal(busy_learn_period(167000, 3), 167000);
    assert_int_equal(busy_learn_period(0, 5000000), 0);
}

/* Compares as double: assert_int_equal() would convert -1 to unsigned, which is 0 on ARM. */
TEST(values_of_every_type_are_read)
{
    static const struct {
        union nvml_value value;
        int type;
        double percent;
    } cases[] = {
        { { .as_double = 12.5 }, 0, 12.5 },   { { .as_unsigned = 7 }, 1, 7 },
        { { .as_unsigned_long = 8 }, 2, 8 },  { { .as_unsigned_long_long = 9 }, 3, 9 },
        { { .as_long_long = -1 }, 4, -1 },    { { .as_int = -2 }, 5, -2 },
        { { .as_unsigned_short = 3 }, 6, 3 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_true(fabs(nvidia_sample_percent(cases[i].value, cases[i].type) -
                         cases[i].percent) < 1e-9);
    assert_true(isnan(nvidia_sample_percent((union nvml_value){ .as_int = 1 }, 7)));
    assert_true(isnan(nvidia_sample_percent((union nvml_value){ .as_int = 1 }, -1)));
}
