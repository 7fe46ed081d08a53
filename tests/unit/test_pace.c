/* SPDX-License-Identifier: Apache-2.0 */

#include "base/amount.h"
#include "base/clock.h"
#include "session/pace.h"
#include "unit_test.h"

#define MS NS_PER_MS
#define START (1000 * NS_PER_SECOND)

static struct pace begin(uint64_t interval_ns)
{
    struct pace pace;

    pace_init(&pace, START, interval_ns, true);
    return pace;
}

static struct budget plenty(void)
{
    struct budget budget;

    budget_init(&budget, UINT64_MAX, START);
    return budget;
}

/* Simulates the next glance. Returns the time until the following glance. */
static uint64_t next_gap(struct pace *pace, struct budget *budget, uint64_t cost_ns,
                         enum activity_state state)
{
    uint64_t now_ns = pace->glance_ns;

    pace_glanced(pace, now_ns, cost_ns, state, budget);
    return pace->glance_ns - now_ns;
}

TEST(glances_are_frequent_while_a_job_grows)
{
    struct pace pace = begin(NS_PER_SECOND);
    struct budget budget = plenty();

    assert_int_equal(pace_wake_ns(&pace), START + 5 * MS);
    for (int i = 0; i < 100; i++)
        assert_int_equal(next_gap(&pace, &budget, MS / 10, JOB_GROWS), 5 * MS);
    /* After an expensive glance, the gap is longer. */
    assert_in_range(next_gap(&pace, &budget, 8 * MS, JOB_GROWS), 32 * MS, 40 * MS);
}

TEST(gaps_between_glances_double_while_nothing_changes)
{
    static const uint64_t runs_ms[] = { 10, 20, 40, 80, 160, 160 };
    static const uint64_t rests_ms[] = { 100, 200, 400, 500, 500 };
    struct pace pace = begin(NS_PER_SECOND);
    struct budget budget = plenty();

    for (size_t i = 0; i < sizeof(runs_ms) / sizeof(*runs_ms); i++)
        assert_int_equal(next_gap(&pace, &budget, MS / 10, JOB_RUNS), runs_ms[i] * MS);
    for (size_t i = 0; i < sizeof(rests_ms) / sizeof(*rests_ms); i++)
        assert_int_equal(next_gap(&pace, &budget, MS / 10, JOB_RESTS), rests_ms[i] * MS);
    assert_int_equal(next_gap(&pace, &budget, MS / 10, JOB_RUNS), 10 * MS);
    assert_int_equal(next_gap(&pace, &budget, MS / 10, JOB_GROWS), 5 * MS);
}

/* The budget earned by the job's CPU time covers all glances, even expensive ones. */
TEST(the_budget_stretches_the_gaps)
{
    struct pace pace = begin(NS_PER_SECOND);
    uint64_t spent_ns = 0;
    struct budget budget;

    budget_init(&budget, BUDGET_MILLIONTHS, START);
    while (pace.glance_ns < START + 100 * NS_PER_SECOND) {
        budget_earn(&budget, pace.glance_ns, pace.glance_ns - START); /* one busy core */
        budget_charge(&budget, SPENT_GLANCES, MS);
        spent_ns += MS;
        (void)next_gap(&pace, &budget, MS, JOB_GROWS);
    }
    /* a quarter of 0.35 % of 100 s, plus the initial tokens */
    assert_in_range(spent_ns, 90 * MS, 105 * MS);
    assert_true(budget.postponed[SPENT_GLANCES] > 70);
}

/* While a job is idle, the sentinel, a single number, is read every 25 ms, whatever the
 * budget. */
TEST(the_sentinel_is_read_while_glances_are_rare)
{
    struct pace pace = begin(NS_PER_SECOND);
    struct budget budget;

    budget_init(&budget, 0, START);
    budget_charge(&budget, SPENT_GLANCES, NS_PER_SECOND); /* the budget is used up */
    (void)next_gap(&pace, &budget, MS, JOB_RESTS);
    for (uint64_t i = 1; i <= 10; i++) {
        assert_int_equal(pace_wake_ns(&pace), START + 5 * MS + i * 25 * MS);
        pace_watched(&pace, pace.sentinel_ns, false, false, &budget);
    }
}

/* Lets the job rest from `START` on. Returns the time between two readings of the sentinel
 * after `idle_ns`. */
static uint64_t sentinel_gap_after(uint64_t idle_ns, bool has_connections)
{
    struct pace pace = begin(NS_PER_SECOND);
    struct budget budget = plenty();
    uint64_t now_ns = START;

    pace.has_connections = has_connections;
    pace_glanced(&pace, now_ns, MS / 10, JOB_RESTS, &budget);
    while (now_ns < START + idle_ns) {
        now_ns = pace_glance_ns(&pace);
        if (now_ns < pace.glance_ns)
            pace_watched(&pace, now_ns, false, false, &budget);
        else
            pace_glanced(&pace, now_ns, MS / 10, JOB_RESTS, &budget);
        assert_true(pace_glance_ns(&pace) > now_ns);
    }
    return pace.sentinel_ns - now_ns;
}

TEST(the_sentinel_is_read_less_often_once_a_job_has_been_idle_for_a_while)
{
    struct pace pace = begin(NS_PER_SECOND);
    struct budget budget = plenty();

    assert_int_equal(sentinel_gap_after(NS_PER_SECOND, false), 25 * MS);
    assert_in_range(sentinel_gap_after(2 * NS_PER_SECOND, false), 30 * MS, 35 * MS);
    assert_int_equal(sentinel_gap_after(60 * NS_PER_SECOND, false), 50 * MS);
    assert_int_equal(sentinel_gap_after(60 * NS_PER_SECOND, true), 25 * MS);
    /* Once the job runs, the gap is short at once, and it stays short until the job has been idle
     * again for a while. */
    pace_glanced(&pace, START, MS / 10, JOB_RESTS, &budget);
    pace_glanced(&pace, START + 60 * NS_PER_SECOND, MS / 10, JOB_RUNS, &budget);
    assert_int_equal(pace.sentinel_ns, START + 60 * NS_PER_SECOND + 25 * MS);
    pace_glanced(&pace, START + 61 * NS_PER_SECOND, MS / 10, JOB_RESTS, &budget);
    pace_watched(&pace, START + 62 * NS_PER_SECOND, false, false, &budget);
    assert_int_equal(pace.sentinel_ns, START + 62 * NS_PER_SECOND + 25 * MS);
}

TEST(the_sentinel_is_not_read_for_a_rank_of_one_process)
{
    struct pace pace = begin(NS_PER_SECOND);
    struct budget budget = plenty();

    (void)next_gap(&pace, &budget, MS / 10, JOB_RESTS);
    pace.has_no_sentinel = true;
    assert_int_equal(pace_wake_ns(&pace), START + 105 * MS);
    assert_int_equal(pace_glance_ns(&pace), START + 105 * MS);
    pace.has_no_sentinel = false; /* the rank has started another process */
    assert_int_equal(pace_wake_ns(&pace), START + 30 * MS);
}

TEST(samples_of_ranks_are_spread_over_the_interval)
{
    for (uint64_t rank = 0; rank < 4; rank++) {
        struct pace pace = begin(NS_PER_SECOND);

        pace_stagger(&pace, rank, 4);
        assert_int_equal(pace.deadline_ns, START + (rank == 0 ? 1000 : rank * 250) * MS);
        (void)pace_sampled(&pace, pace.deadline_ns);
        assert_int_equal(pace.deadline_ns, START + (rank == 0 ? 2000 : 1000 + rank * 250) * MS);
        pace_stagger(&pace, UNKNOWN, 4);
        pace_stagger(&pace, 1, UNKNOWN);
        pace_stagger(&pace, 5, 4);
    }
}

TEST(growth_seen_by_the_sentinel_causes_a_glance_if_the_budget_allows)
{
    struct pace pace = begin(NS_PER_SECOND);
    struct budget budget = plenty();

    (void)next_gap(&pace, &budget, MS / 10, JOB_RESTS);
    assert_int_equal(pace.glance_ns, START + 105 * MS);
    pace_watched(&pace, pace.sentinel_ns, false, false, &budget);
    assert_int_equal(pace.glance_ns, START + 105 * MS);
    pace_watched(&pace, pace.sentinel_ns, true, false, &budget);
    assert_int_equal(pace.glance_ns, START + 55 * MS);
    budget_init(&budget, BUDGET_MILLIONTHS, START);
    budget_charge(&budget, SPENT_GLANCES, 50 * MS);
    (void)next_gap(&pace, &budget, MS, JOB_RESTS);
    pace_watched(&pace, pace.sentinel_ns, true, false, &budget);
    assert_true(pace.glance_ns > pace.sentinel_ns); /* the budget is overdrawn */
}

/* The end of growth is the moment to see a peak. The next glance pays for itself again. */
TEST(a_job_that_has_stopped_growing_is_glanced_at_on_credit)
{
    struct pace pace = begin(NS_PER_SECOND);
    struct budget budget;

    budget_init(&budget, BUDGET_MILLIONTHS, START);
    budget_charge(&budget, SPENT_GLANCES, 30 * MS); /* overdrawn */
    (void)next_gap(&pace, &budget, MS, JOB_GROWS);
    assert_true(pace.glance_ns > pace.sentinel_ns);
    pace_watched(&pace, pace.sentinel_ns, false, true, &budget);
    assert_int_equal(pace.glance_ns, START + 30 * MS);
    assert_true(pace.is_on_credit);
    (void)next_gap(&pace, &budget, MS, JOB_GROWS);
    assert_false(pace.is_on_credit);
    budget_charge(&budget, SPENT_EVENTS, 20 * MS); /* overdrawn by as much as can be saved */
    pace_watched(&pace, pace.sentinel_ns, false, true, &budget);
    assert_false(pace.is_on_credit);
    budget.tokens_ns = 0;
    budget_borrow(&budget, SPENT_GLANCES, 15 * MS); /* the other half is for memory sharing */
    pace_watched(&pace, pace.sentinel_ns, false, true, &budget);
    assert_false(pace.is_on_credit);
    assert_true(pace.glance_ns > pace.sentinel_ns);
}

TEST(samples_are_taken_at_absolute_deadlines)
{
    struct pace pace = begin(100 * MS);

    assert_int_equal(pace.deadline_ns, START + 100 * MS);
    assert_int_equal(pace_sampled(&pace, START + 50 * MS), 0); /* a requested sample */
    assert_int_equal(pace.deadline_ns, START + 100 * MS);
    assert_int_equal(pace_sampled(&pace, START + 130 * MS), 0);
    assert_int_equal(pace.deadline_ns, START + 200 * MS);
    assert_int_equal(pace_sampled(&pace, START + 530 * MS), 3);
    assert_int_equal(pace.deadline_ns, START + 600 * MS);
}

/* Simulates glances for 30 s. Returns the number of early samples, and checks the gaps
 * between them. */
static unsigned early_samples(enum activity_state activity, struct budget *budget,
                              uint64_t cost_ns, bool is_fine)
{
    struct pace pace = begin(NS_PER_SECOND);
    unsigned count = 0;

    pace.is_fine_at_first = is_fine;
    while (pace.glance_ns < START + 30 * NS_PER_SECOND) {
        uint64_t now_ns = pace.glance_ns;

        if (now_ns >= pace.deadline_ns)
            (void)pace_sampled(&pace, now_ns);
        (void)next_gap(&pace, budget, MS / 10, activity);
        if (!pace_wants_sample(&pace, now_ns, budget))
            continue;
        assert_true(now_ns - pace.sampled_ns >= 10 * MS);
        assert_true(32 * (now_ns - pace.sampled_ns) >= now_ns - START);
        assert_true(now_ns < START + 16 * NS_PER_SECOND);
        pace_sampled_early(&pace, now_ns, cost_ns);
        budget_charge(budget, SPENT_SAMPLES, cost_ns);
        count++;
    }
    return count;
}

TEST(an_active_job_is_sampled_early)
{
    struct budget budget = plenty();

    assert_in_range(early_samples(JOB_GROWS, &budget, MS / 10, true), 80, 160);
    assert_in_range(early_samples(JOB_RUNS, &budget, MS / 10, true), 20, 80);
    assert_int_equal(early_samples(JOB_RESTS, &budget, MS / 10, true), 0);
    assert_int_equal(early_samples(JOB_GROWS, &budget, MS / 10, false), 0);
}

TEST(early_samples_leave_tokens_for_glances)
{
    struct budget budget;

    budget_init(&budget, BUDGET_MILLIONTHS, START);
    assert_in_range(early_samples(JOB_GROWS, &budget, MS / 2, true), 32, 33); /* 16 of 20 ms */
    assert_int_equal(budget_wait_ns(&budget, SPENT_GLANCES, 3 * MS), 0);
}

TEST(without_a_job_there_are_only_samples)
{
    struct pace pace;

    pace_init(&pace, START, NS_PER_SECOND, false);
    assert_int_equal(pace_wake_ns(&pace), START + NS_PER_SECOND);
    (void)pace_sampled(&pace, START + NS_PER_SECOND);
    assert_int_equal(pace_wake_ns(&pace), START + 2 * NS_PER_SECOND);
}
