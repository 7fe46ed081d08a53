/* SPDX-License-Identifier: Apache-2.0 */
#include "session/gpu_pace.h"

#include "base/arithmetic.h"
#include "base/clock.h"

#define POLL_BUSY_NS (5 * NS_PER_MS)
#define POLL_IDLE_NS (20 * NS_PER_MS)
#define POLL_MOST_NS NS_PER_SECOND
#define READ_LEAST_NS NS_PER_SECOND
#define READ_MOST_NS (5 * NS_PER_SECOND)

/* Shares of a core, in millionths. */
#define SHARE_ALL 5000
#define SHARE_READ 2500
#define SHARE_POLL_LEAST 2000
#define SHARE_IDLE 1000

void gpu_pace_init(struct gpu_pace *pace, uint64_t now_ns)
{
    *pace = (struct gpu_pace){ .poll_due_ns = now_ns,
                               .read_due_ns = now_ns + READ_LEAST_NS,
                               .read_gap_ns = READ_LEAST_NS };
}

uint64_t gpu_pace_wake_ns(const struct gpu_pace *pace)
{
    return smaller(pace->poll_due_ns, pace->read_due_ns);
}

bool gpu_pace_read_is_due(const struct gpu_pace *pace, uint64_t now_ns)
{
    return now_ns >= pace->read_due_ns;
}

static uint64_t smooth(uint64_t before_ns, uint64_t cost_ns)
{
    return before_ns == 0 ? cost_ns : (7 * before_ns + cost_ns) / 8;
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

static void plan_poll(struct gpu_pace *pace, uint64_t now_ns, bool holds_context)
{
    uint64_t read_share = pace->read_cost_ns * 1000000 / pace->read_gap_ns;
    uint64_t left = larger(less(SHARE_ALL, read_share), SHARE_POLL_LEAST);

    pace->poll_due_ns =
        now_ns +
        (holds_context
             ? within(gap_for(pace->poll_cost_ns, left), POLL_BUSY_NS, POLL_MOST_NS)
             : within(gap_for(pace->poll_cost_ns, SHARE_IDLE), POLL_IDLE_NS, POLL_MOST_NS));
}

void gpu_pace_polled(struct gpu_pace *pace, uint64_t now_ns, uint64_t cost_ns,
                     bool holds_context)
{
    pace->poll_cost_ns = smooth(pace->poll_cost_ns, cost_ns);
    plan_poll(pace, now_ns, holds_context);
}

void gpu_pace_has_read(struct gpu_pace *pace, uint64_t now_ns, uint64_t cost_ns,
                       bool holds_context)
{
    pace->read_cost_ns = smooth(pace->read_cost_ns, cost_ns);
    pace->read_gap_ns =
        within(gap_for(pace->read_cost_ns, SHARE_READ), READ_LEAST_NS, READ_MOST_NS);
    pace->read_due_ns = now_ns + pace->read_gap_ns;
    plan_poll(pace, now_ns, holds_context);
}
