/* SPDX-License-Identifier: Apache-2.0 */

#include "base/amount.h"
#include "base/clock.h"
#include "job/gpu/gpu_share.h"
#include "unit_test.h"

#define MS(n) ((n)*NS_PER_MS)
#define START MS(500)

static struct gpu_share begun(void)
{
    struct gpu_share share;

    gpu_share_begin(&share, START);
    return share;
}

TEST(before_the_first_window_the_share_is_unknown)
{
    struct gpu_share share = begun();

    assert_true(gpu_share_total_ns(&share, START + MS(100)) == UNKNOWN);
    assert_false(gpu_share_advance(&share, UNKNOWN, MS(100), START + MS(100)));
    assert_false(gpu_share_advance(&share, 0, 0, START + MS(100))); /* no time is covered */
    assert_true(share.last == UNKNOWN && share.max == UNKNOWN);
}

TEST(late_counts_are_spread_over_the_preceding_time)
{
    struct gpu_share share = begun();

    /* A second of samples, half of it busy, arrives at once. */
    assert_true(gpu_share_advance(&share, MS(500), MS(1000), START + MS(1200)));
    assert_int_equal(share.last, 500000);
    assert_int_equal(share.max, 500000);
    assert_int_equal(share.total_ns, MS(600)); /* time without samples gets the same share */
    assert_false(gpu_share_advance(&share, MS(500), MS(1000), START + MS(1300)));
    assert_int_equal(gpu_share_total_ns(&share, START + MS(1300)), MS(650));
    assert_true(gpu_share_advance(&share, MS(500), MS(2000), START + MS(2200)));
    assert_int_equal(share.last, 0);
    assert_int_equal(share.total_ns, MS(600));
    assert_int_equal(share.max, 500000);
}

/* The last look at a driver may happen long after the job has ended. */
TEST(time_after_the_end_does_not_count)
{
    struct gpu_share share = begun();

    assert_true(gpu_share_advance(&share, MS(1000), MS(1000), START + MS(1000)));
    assert_int_equal(gpu_share_total_ns(&share, START + MS(800)), MS(800));
    assert_true(gpu_share_advance(&share, MS(1100), MS(2000), START + MS(2000)));
    assert_int_equal(gpu_share_total_ns(&share, START + MS(1900)), MS(1090));
}

TEST(shares_never_exceed_one_and_counters_never_decrease)
{
    struct gpu_share share = begun();

    assert_true(gpu_share_advance(&share, MS(3000), MS(1000), START + MS(1000)));
    assert_int_equal(share.last, GPU_SHARE_WHOLE);
    assert_true(gpu_share_advance(&share, MS(10), MS(2000), START + MS(2000)));
    assert_int_equal(share.last, 0);
    assert_int_equal(share.total_ns, MS(1000));
}

TEST(the_clock_is_used_if_a_counter_has_no_covered_time)
{
    struct gpu_share share = begun();

    /* The time is too short for a share. */
    assert_false(gpu_share_advance(&share, 0, UNKNOWN, START + MS(1)));
    assert_true(gpu_share_advance(&share, MS(250), UNKNOWN, START + MS(1000)));
    assert_int_equal(share.last, 250000);
    assert_int_equal(share.total_ns, MS(250));
}

TEST(a_short_window_does_not_set_the_maximum)
{
    struct gpu_share share = begun();

    assert_true(gpu_share_advance(&share, MS(500), MS(1000), START + MS(1000)));
    assert_true(gpu_share_advance(&share, MS(530), MS(1030), START + MS(1030)));
    assert_int_equal(share.last, GPU_SHARE_WHOLE);
    assert_int_equal(share.max, 500000);
}

/* Another source has reported the idle period, so the time covered by samples grew during
 * it. */
TEST(busy_time_after_an_idle_period_is_not_diluted)
{
    struct gpu_share share = begun();

    for (uint64_t i = 1; i <= 10; i++)
        gpu_share_idle(&share, START + MS(1000) * i);
    assert_int_equal(share.max, 0);
    assert_true(gpu_share_advance(&share, MS(800), MS(10800), START + MS(11000)));
    assert_int_equal(share.last, 800000);
    assert_int_equal(share.total_ns, MS(800));
}

TEST(extrapolation_is_limited)
{
    struct gpu_share share = begun();

    assert_true(gpu_share_advance(&share, MS(1000), MS(1000), START + MS(1000)));
    assert_int_equal(gpu_share_total_ns(&share, START + MS(60000)), MS(2000));
}
