/* SPDX-License-Identifier: Apache-2.0 */
#include "session/gpu_pace.h"

#include "base/arithmetic.h"
#include "base/clock.h"

#define POLL_BUSY_NS (5 * NS_PER_MS)
#define POLL_IDLE_NS (100 * NS_PER_MS)
#define POLL_REST_NS (25 * NS_PER_MS)
#define POLL_AWAKE_NS (27 * NS_PER_MS)
#define POLL_AWAKE_COST_NS (150 * NS_PER_US) /* after a sleep of 40 ms; of 25 ms, some 110 us */
#define POLL_MOST_NS NS_PER_SECOND
#define READ_LEAST_NS NS_PER_SECOND
#define SAVED_MOST_NS (3 * NS_PER_MS)
#define READ_CHEAP_NS NS_PER_MS
#define READ_MOST_NS (5 * NS_PER_SECOND)
#define READ_QUIET_NS (10 * NS_PER_SECOND) /* drivers keep samples for 14 s */

/* Shares of a core, in millionths. */
#define SHARE_ALL 4500
#define SHARE_READ 1000
#define SHARE_REPAY 2000
#define SHARE_POLL_LEAST 2500
#define SHARE_IDLE 1000

void gpu_pace_init(struct gpu_pace *pace, uint64_t now_ns, uint64_t start_cost_ns)
{
    *pace = (struct gpu_pace){ .poll_due_ns = now_ns,
                               .read_due_ns = now_ns + READ_LEAST_NS,
                               .saved_until_ns = now_ns,
                               .read_gap_ns = READ_LEAST_NS,
                               /* the last look takes about half of what the start did */
                               .debt_ns = start_cost_ns + start_cost_ns / 2 };
}

uint64_t gpu_pace_wake_ns(const struct gpu_pace *pace)
{
    return pace->is_gated ? pace->read_due_ns : smaller(pace->poll_due_ns, pace->read_due_ns);
}

bool gpu_pace_poll_is_due(const struct gpu_pace *pace, uint64_t now_ns)
{
    return !pace->is_gated && now_ns >= pace->poll_due_ns;
}

void gpu_pace_gate(struct gpu_pace *pace, bool is_gated)
{
    pace->is_gated = is_gated;
}

bool gpu_pace_read_is_due(const struct gpu_pace *pace, uint64_t now_ns)
{
    return now_ns >= pace->read_due_ns;
}

/* How long to wait so that the cost is that share of the time. */
static uint64_t gap_for(uint64_t cost_ns, uint64_t share)
{
    return cost_ns * 1000000 / share;
}

static uint64_t within(uint64_t gap_ns, uint64_t least_ns, uint64_t most_ns)
{
    return larger(least_ns, smaller(gap_ns, most_ns));
}

/* What quick looks may take of the time, in millionths. */
static uint64_t poll_share(const struct gpu_pace *pace)
{
    uint64_t read_share = pace->read_cost_ns * 1000000 / pace->read_gap_ns;
    uint64_t repay_share = pace->debt_ns > 0 ? SHARE_REPAY : 0;

    return larger(less(SHARE_ALL, read_share + repay_share), SHARE_POLL_LEAST);
}

/* Quick looks save up what they do not use. */
static void spend(struct gpu_pace *pace, uint64_t now_ns, uint64_t cost_ns)
{
    uint64_t span_ns = less(now_ns, pace->saved_until_ns);
    uint64_t earned_ns = span_ns * poll_share(pace) / 1000000;

    pace->saved_ns = smaller(pace->saved_ns + earned_ns, SAVED_MOST_NS);
    pace->saved_ns = less(pace->saved_ns, cost_ns);
    pace->debt_ns = less(pace->debt_ns, span_ns * SHARE_REPAY / 1000000);
    pace->saved_until_ns = now_ns;
}

static uint64_t poll_gap_ns(const struct gpu_pace *pace, bool holds_context)
{
    uint64_t cost_ns = pace->poll_cost_ns;
    uint64_t most_ns = cost_ns <= POLL_AWAKE_COST_NS ? POLL_AWAKE_NS : POLL_MOST_NS;

    if (!holds_context)
        return within(gap_for(cost_ns, SHARE_IDLE), POLL_IDLE_NS, POLL_MOST_NS);
    if (pace->saved_ns >= cost_ns)
        return POLL_BUSY_NS;
    return within(gap_for(cost_ns, poll_share(pace)), POLL_BUSY_NS, most_ns);
}

static void plan_poll(struct gpu_pace *pace, uint64_t now_ns, bool holds_context)
{
    pace->poll_due_ns = now_ns + poll_gap_ns(pace, holds_context);
}

void gpu_pace_polled(struct gpu_pace *pace, uint64_t now_ns, uint64_t cost_ns,
                     bool holds_context)
{
    pace->poll_cost_ns = smoothed(pace->poll_cost_ns, cost_ns);
    spend(pace, now_ns, cost_ns);
    plan_poll(pace, now_ns, holds_context);
}

void gpu_pace_rested(struct gpu_pace *pace, uint64_t now_ns, uint64_t cost_ns,
                     bool holds_context)
{
    spend(pace, now_ns, cost_ns);
    pace->poll_due_ns = now_ns + (holds_context ? POLL_REST_NS : POLL_IDLE_NS);
}

/* While the start is paid back, as seldom as is fit. */
static uint64_t read_gap_ns(const struct gpu_pace *pace, bool is_quiet)
{
    if (is_quiet)
        return READ_QUIET_NS;
    if (pace->debt_ns > 0 && pace->read_cost_ns > READ_CHEAP_NS)
        return READ_MOST_NS;
    return within(gap_for(pace->read_cost_ns, SHARE_READ), READ_LEAST_NS, READ_MOST_NS);
}

void gpu_pace_has_read(struct gpu_pace *pace, uint64_t now_ns, uint64_t cost_ns,
                       const struct gpu_activity *activity)
{
    pace->read_cost_ns = smoothed(pace->read_cost_ns, cost_ns);
    pace->read_gap_ns = read_gap_ns(pace, activity->is_quiet);
    pace->read_due_ns = now_ns + pace->read_gap_ns;
    plan_poll(pace, now_ns, activity->holds_context);
}
