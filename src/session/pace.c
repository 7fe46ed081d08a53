/* SPDX-License-Identifier: Apache-2.0 */
#include "session/pace.h"

#include "base/arithmetic.h"
#include "base/clock.h"

#define WINDOW_NS (20 * NS_PER_MS)
#define WINDOW_GAP_NS (2 * NS_PER_MS)
#define SINGLE_GAP_NS (10 * NS_PER_MS)
#define ACTIVE_GAP_NS (20 * NS_PER_MS)
#define ACTIVE_SINGLE_MOST_NS (200 * NS_PER_MS)
#define POLL_GAP_NS (10 * NS_PER_MS) /* without a gate */

/* A few microseconds on a busy machine, 60 and more on a virtual one that was idle. */
#define WAKE_COST_FIRST_NS (5 * NS_PER_US)

enum {
    WINDOW_SHARE = 100, /* a glance's cost to the gap: 1 % */
    ACTIVE_SHARE = 200,
    ACTIVE_SINGLE_SHARE = 500,
    QUIET_GLANCES = 5, /* then the job is at rest */
    CALM_GLANCES_MOST = 4,
    REST_SHARE = 200,
};

void pace_init(struct pace *pace, uint64_t start_ns, uint64_t interval_ns, bool has_gate)
{
    *pace = (struct pace){
        .interval_ns = interval_ns,
        .deadline_ns = start_ns + interval_ns,
        .glance_ns = start_ns + WINDOW_GAP_NS,
        .cpu_asked_ns = start_ns,
        .wake_cost_ns = WAKE_COST_FIRST_NS,
        .has_gate = has_gate,
        .has_job = true,
    };
}

void pace_init_without_job(struct pace *pace, uint64_t start_ns, uint64_t interval_ns)
{
    pace_init(pace, start_ns, interval_ns, false);
    pace->glance_ns = PACE_NEVER;
    pace->has_job = false;
}

uint64_t pace_wake_ns(const struct pace *pace)
{
    return pace->glance_ns < pace->deadline_ns ? pace->glance_ns : pace->deadline_ns;
}

static uint64_t gap(const struct pace *pace, uint64_t least_ns, unsigned share)
{
    uint64_t fair_ns = (pace->cost_ns + pace->wake_cost_ns) * share;

    return fair_ns > least_ns ? fair_ns : least_ns;
}

static uint64_t window_gap(const struct pace *pace)
{
    return gap(pace, pace->is_single ? SINGLE_GAP_NS : WINDOW_GAP_NS, WINDOW_SHARE);
}

void pace_gate_opened(struct pace *pace, uint64_t now_ns)
{
    uint64_t length_ns = pace->arm_cost_ns * WINDOW_SHARE;

    pace->window_end_ns = now_ns + (length_ns > WINDOW_NS ? length_ns : WINDOW_NS);
    pace->glance_ns = now_ns;
    pace->quiet_glances = pace->calm_glances = 0;
}

/* Has the job used CPU time worth the name since it was last asked? Where that is not known it
 * has. Threads that only wake up to see that there is nothing to do are no reason to look. */
static bool was_active(struct pace *pace, uint64_t now_ns, uint64_t cpu_ns)
{
    bool is_active = cpu_ns == UINT64_MAX ||
                     apart(cpu_ns, pace->cpu_ns) > (now_ns - pace->cpu_asked_ns) / REST_SHARE;

    pace->cpu_ns = cpu_ns;
    pace->cpu_asked_ns = now_ns;
    pace->quiet_glances = is_active ? 0 : pace->quiet_glances + 1;
    pace->is_at_rest = pace->quiet_glances == QUIET_GLANCES;
    /* Without a gate nothing would tell that a resting job grows again. */
    return !pace->has_gate || pace->quiet_glances < QUIET_GLANCES;
}

static uint64_t active_gap(const struct pace *pace)
{
    if (!pace->has_gate)
        return gap(pace, POLL_GAP_NS, ACTIVE_SHARE);
    if (!pace->is_single || pace->quiet_glances > 0) /* it may be about to rest */
        return gap(pace, ACTIVE_GAP_NS, ACTIVE_SHARE);
    return gap(pace, smaller(ACTIVE_GAP_NS << pace->calm_glances, ACTIVE_SINGLE_MOST_NS),
               ACTIVE_SINGLE_SHARE);
}

bool pace_glanced(struct pace *pace, uint64_t now_ns, uint64_t cost_ns, uint64_t cpu_ns)
{
    bool is_active = was_active(pace, now_ns, cpu_ns);

    pace->cost_ns = smoothed(pace->cost_ns, cost_ns);
    if (now_ns < pace->window_end_ns) {
        pace->glance_ns = now_ns + window_gap(pace);
        return false;
    }
    pace->glance_ns = is_active ? now_ns + active_gap(pace) : PACE_NEVER;
    pace->calm_glances += pace->calm_glances < CALM_GLANCES_MOST;
    if (pace->window_end_ns == 0)
        return false;
    pace->window_end_ns = 0;
    return true;
}

bool pace_is_calm(const struct pace *pace)
{
    return pace->has_gate && pace->window_end_ns == 0;
}

void pace_woke(struct pace *pace, uint64_t cost_ns)
{
    pace->wake_cost_ns = smoothed(pace->wake_cost_ns, cost_ns);
}

uint64_t pace_sampled(struct pace *pace, uint64_t now_ns, uint64_t cpu_ns)
{
    uint64_t missed = 0;

    if (pace->has_job && was_active(pace, now_ns, cpu_ns) && pace->glance_ns == PACE_NEVER)
        pace->glance_ns = now_ns + active_gap(pace);
    if (now_ns < pace->deadline_ns)
        return 0; /* a sample that was asked for, not due */
    pace->deadline_ns += pace->interval_ns;
    if (now_ns > pace->deadline_ns) {
        missed = (now_ns - pace->deadline_ns) / pace->interval_ns + 1;
        pace->deadline_ns += missed * pace->interval_ns;
    }
    return missed;
}
