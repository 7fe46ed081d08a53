/* SPDX-License-Identifier: Apache-2.0 */
#include "session/pace.h"

#include "base/amount.h"
#include "base/clock.h"

/* Space expensive glances so that they do not drain the budget. */
enum { COST_SHARE = 32 };

/* A glance at a job that has stopped growing reads everything: expect it to cost this many times
 * as much as others. */
enum { WHOLE_COST = 4 };

static const struct {
    uint64_t first_ns, most_ns;
} gaps[] = {
    [JOB_RESTS] = { 100 * NS_PER_MS, 500 * NS_PER_MS },
    [JOB_RUNS] = { 10 * NS_PER_MS, 160 * NS_PER_MS },
    [JOB_GROWS] = { 5 * NS_PER_MS, 5 * NS_PER_MS },
};

#define SENTINEL_GAP_NS (25 * NS_PER_MS)
/* While the job is idle, the gap grows to this part of the time it has been idle. */
enum { SENTINEL_SHARE = 64 };
#define SENTINEL_GAP_MOST_NS (50 * NS_PER_MS)

#define EARLY_GAP_NS (10 * NS_PER_MS)
/* Early samples are at least this part of the run apart, and are taken only while the budget
 * could pay for several more, so that glances, which find peaks, never wait for them. */
enum { EARLY_SHARE = 32, EARLY_RESERVE = 8 };

void pace_init(struct pace *pace, uint64_t start_ns, uint64_t interval_ns, bool has_job)
{
    *pace = (struct pace){
        .interval_ns = interval_ns,
        .deadline_ns = start_ns + interval_ns,
        .start_ns = start_ns,
        .sampled_ns = start_ns,
        .glance_ns = has_job ? start_ns + gaps[JOB_GROWS].first_ns : PACE_NEVER,
        .sentinel_ns = has_job ? start_ns + SENTINEL_GAP_NS : PACE_NEVER,
        .state = JOB_GROWS,
    };
}

void pace_stagger(struct pace *pace, uint64_t rank, uint64_t ranks)
{
    if (rank > 0 && rank < ranks)
        pace->deadline_ns = pace->start_ns + pace->interval_ns / ranks * rank;
}

uint64_t pace_wake_ns(const struct pace *pace)
{
    return smaller(pace_glance_ns(pace), pace->deadline_ns);
}

uint64_t pace_glance_ns(const struct pace *pace)
{
    return pace->has_no_sentinel ? pace->glance_ns
                                 : smaller(pace->glance_ns, pace->sentinel_ns);
}

static void plan_sentinel(struct pace *pace, uint64_t now_ns)
{
    uint64_t idle_ns = pace->state == JOB_RESTS && !pace->has_connections
                           ? sub_floor0(now_ns, pace->idle_since_ns)
                           : 0;
    uint64_t gap_ns = larger(SENTINEL_GAP_NS, idle_ns / SENTINEL_SHARE);

    pace->sentinel_ns = now_ns + smaller(gap_ns, SENTINEL_GAP_MOST_NS);
}

void pace_glanced(struct pace *pace, uint64_t now_ns, uint64_t cost_ns,
                  enum activity_state state, struct budget *budget)
{
    uint64_t wait_ns;

    pace->cost_ns = smoothed(pace->cost_ns, cost_ns);
    pace->is_on_credit = false;
    pace->gap_ns = state == pace->state && pace->gap_ns > 0
                       ? smaller(2 * pace->gap_ns, gaps[state].most_ns)
                       : gaps[state].first_ns;
    if (state != pace->state)
        pace->idle_since_ns = now_ns;
    pace->state = state;
    wait_ns = budget_wait_ns(budget, SPENT_GLANCES, pace->cost_ns);
    budget->postponed[SPENT_GLANCES] += wait_ns > pace->gap_ns;
    pace->glance_ns =
        now_ns + larger(larger(pace->gap_ns, COST_SHARE * pace->cost_ns), wait_ns);
    plan_sentinel(pace, now_ns);
}

void pace_watched(struct pace *pace, uint64_t now_ns, bool has_grown, bool has_settled,
                  const struct budget *budget)
{
    uint64_t wait_ns = budget_wait_ns(budget, SPENT_GLANCES, pace->cost_ns);

    plan_sentinel(pace, now_ns);
    pace->is_on_credit =
        has_settled && wait_ns > 0 && budget_lends_glance(budget, WHOLE_COST * pace->cost_ns);
    if (has_grown || has_settled)
        pace->glance_ns = smaller(pace->glance_ns, now_ns + (pace->is_on_credit ? 0 : wait_ns));
}

bool pace_wants_sample(const struct pace *pace, uint64_t now_ns, const struct budget *budget)
{
    uint64_t gap_ns = larger(EARLY_GAP_NS, sub_floor0(now_ns, pace->start_ns) / EARLY_SHARE);

    return pace->is_fine_at_first && pace->state != JOB_RESTS &&
           now_ns >= pace->sampled_ns + gap_ns && now_ns + gap_ns <= pace->deadline_ns &&
           budget_wait_ns(budget, SPENT_SAMPLES, EARLY_RESERVE * pace->sample_cost_ns) == 0;
}

void pace_sampled_early(struct pace *pace, uint64_t now_ns, uint64_t cost_ns)
{
    pace->sampled_ns = now_ns;
    pace->sample_cost_ns = smoothed(pace->sample_cost_ns, cost_ns);
}

uint64_t pace_sampled(struct pace *pace, uint64_t now_ns)
{
    uint64_t missed = 0;

    pace->sampled_ns = now_ns;
    /* The sample also served as a glance. */
    if (pace->glance_ns != PACE_NEVER && pace->state == JOB_RESTS)
        pace->glance_ns = larger(pace->glance_ns, now_ns + pace->gap_ns);
    if (now_ns < pace->deadline_ns)
        return 0; /* the sample was requested, not due */
    pace->deadline_ns += pace->interval_ns;
    if (now_ns > pace->deadline_ns) {
        missed = (now_ns - pace->deadline_ns) / pace->interval_ns + 1;
        pace->deadline_ns += missed * pace->interval_ns;
    }
    return missed;
}
