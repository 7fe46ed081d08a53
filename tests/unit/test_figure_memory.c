/* SPDX-License-Identifier: Apache-2.0 */
#include "base/compiler.h"
#include "fake_summary.h"

#define JOB_PEAK "memory.combined.total_rss_bytes"

/* The job had no descendants at first; the memory of its later descendants was never read. */
TEST(a_peak_of_0_followed_by_unknown_values_is_unknown)
{
    struct machine machine;

    machine_init(&machine);
    OBSERVE(&machine, METRIC_DESCENDANTS_RSS, 0, 0, 0);
    assert_near(find(&machine, "memory.descendants.total_rss_bytes").value, 0);
    OBSERVE(&machine, METRIC_DESCENDANTS_RSS, 0, UNKNOWN, UNKNOWN);
    assert_true(isnan(find(&machine, "memory.descendants.total_rss_bytes").value));
    OBSERVE(&machine, METRIC_DESCENDANTS_RSS, 0, UNKNOWN, 3 * MB);
    assert_near(find(&machine, "memory.descendants.total_rss_bytes").value, 3e6);
}

/* The private and shared parts were read only once, when the job began. */
TEST(parts_that_were_read_too_early_are_unknown)
{
    struct machine machine;

    machine_init(&machine);
    OBSERVE(&machine, METRIC_JOB_RSS, 4096, 300 * MB);
    OBSERVE(&machine, METRIC_JOB_PRIVATE, 0, 0);
    OBSERVE(&machine, METRIC_DESCENDANTS_RSS, 0, 0);
    OBSERVE(&machine, METRIC_DESCENDANTS_PRIVATE, 0, 0);
    machine.summary.at_peak = (struct memory_split){ 4096, 0, 4096 };
    assert_true(isnan(find(&machine, "memory.combined.private_rss_bytes").value));
    assert_string_equal(find(&machine, "memory.combined.private_rss_bytes").reason,
                        "memory was not read near its peak");
    assert_near(find(&machine, "memory.descendants.private_rss_bytes").value, 0);
    machine.summary.at_peak = (struct memory_split){ 300 * MB, 0, 300 * MB };
    assert_near(find(&machine, "memory.combined.private_rss_bytes").value, 0);
}

/* Pages that a descendant maps twice do not make the figures of the main process uncertain. */
TEST(the_discount_of_a_scope_lowers_only_its_own_bound)
{
    struct machine machine;

    machine_init(&machine);
    OBSERVE(&machine, METRIC_MAIN_RSS, 1 * MB, 3 * MB);
    OBSERVE(&machine, METRIC_DESCENDANTS_RSS, 1 * MB, 120 * MB);
    OBSERVE(&machine, METRIC_JOB_RSS, 1 * MB, 121 * MB);
    OBSERVE(&machine, METRIC_DESCENDANTS_RSS_DISCOUNT, 0, 50 * MB);
    OBSERVE(&machine, METRIC_JOB_RSS_DISCOUNT, 0, 50 * MB);
    OBSERVE(&machine, METRIC_DESCENDANTS_SHARED, 1 * MB, 110 * MB); /* also discounted */
    assert_near(find(&machine, "memory.main.total_rss_bytes").low, 3e6);
    assert_near(find(&machine, "memory.descendants.total_rss_bytes").low, 70e6);
    assert_near(find(&machine, JOB_PEAK).low, 71e6);
}

static const enum metric memory_metrics[] = { METRIC_MAIN_RSS,
                                              METRIC_MAIN_PRIVATE,
                                              METRIC_MAIN_SHARED,
                                              METRIC_MAIN_RSS_PEAK,
                                              METRIC_MAIN_RSS_BOUND,
                                              METRIC_MAIN_RSS_DISCOUNT,
                                              METRIC_DESCENDANTS_RSS,
                                              METRIC_DESCENDANTS_PRIVATE,
                                              METRIC_DESCENDANTS_SHARED,
                                              METRIC_DESCENDANTS_RSS_PEAK,
                                              METRIC_DESCENDANTS_RSS_BOUND,
                                              METRIC_DESCENDANTS_RSS_DISCOUNT,
                                              METRIC_JOB_RSS,
                                              METRIC_JOB_PRIVATE,
                                              METRIC_JOB_SHARED,
                                              METRIC_JOB_PSS,
                                              METRIC_JOB_RSS_PEAK,
                                              METRIC_JOB_RSS_BOUND,
                                              METRIC_JOB_RSS_DISCOUNT };

static void assert_not_above(const struct machine *machine, const char *part, const char *whole)
{
    struct spoor_figure a = find(machine, part), b = find(machine, whole);

    if (isnan(a.value) || isnan(b.value))
        return;
    assert_true(a.value <= b.value);
    a.low = a.is_exact ? a.value : a.low, a.high = a.is_exact ? a.value : a.high;
    b.low = b.is_exact ? b.value : b.low, b.high = b.is_exact ? b.value : b.high;
    assert_true(b.low <= b.value && !(b.high < b.value));
    assert_true(a.low <= b.low);
    assert_true(isnan(b.high) || a.high <= b.high);
}

static const char *const not_above[][2] = {
    { "memory.main.private_rss_bytes", "memory.main.total_rss_bytes" },
    { "memory.main.shared_rss_bytes", "memory.main.total_rss_bytes" },
    { "memory.descendants.private_rss_bytes", "memory.descendants.total_rss_bytes" },
    { "memory.main.private_rss_bytes", "memory.combined.private_rss_bytes" },
    { "memory.combined.private_rss_bytes", "memory.combined.pss_bytes" },
    { "memory.combined.pss_bytes", JOB_PEAK },
    { "memory.combined.shared_rss_bytes", JOB_PEAK },
    { "memory.main.total_rss_bytes", JOB_PEAK },
    { "memory.descendants.total_rss_bytes", JOB_PEAK },
};

/* The report must be consistent for any combination of sources. */
TEST(memory_figures_are_consistent)
{
    uint64_t seed = 1;

    for (int round = 0; round < 2000; round++) {
        struct machine machine;

        machine_init(&machine);
        for (size_t i = 0; i < ARRAY_SIZE(memory_metrics); i++) {
            uint64_t first, second;

            seed = seed * 6364136223846793005u + 1442695040888963407u;
            first = (seed >> 33) % 100 * MB;
            second = seed >> 61 == 0 ? UNKNOWN : (seed >> 41) % 100 * MB;
            OBSERVE(&machine, memory_metrics[i], first, second);
        }
        for (int i = 0; i < METRIC_COUNT; i++)
            machine.origins[i].is_exact = i == METRIC_MAIN_RSS_BOUND ||
                                          i == METRIC_JOB_RSS_BOUND ||
                                          i == METRIC_DESCENDANTS_RSS_BOUND;
        if (round % 2) { /* main has an exact peak, equal to its bound */
            machine.origins[METRIC_MAIN_RSS_PEAK].is_exact = true;
            machine.summary.tally[METRIC_MAIN_RSS_BOUND] =
                machine.summary.tally[METRIC_MAIN_RSS_PEAK];
        }
        for (size_t i = 0; i < ARRAY_SIZE(not_above); i++)
            assert_not_above(&machine, not_above[i][0], not_above[i][1]);
    }
}
