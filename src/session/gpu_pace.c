/* SPDX-License-Identifier: Apache-2.0 */
#include "session/gpu_pace.h"

#include "base/amount.h"
#include "base/clock.h"

#define SLOW_LEAST_NS NS_PER_SECOND
#define SLOW_FIRST_NS (2 * NS_PER_SECOND)
#define SLOW_MOST_NS (5 * NS_PER_SECOND)
#define SLOW_QUIET_NS (10 * NS_PER_SECOND)
#define WAIT_LEAST_NS (5 * NS_PER_MS)
#define WAIT_MOST_NS NS_PER_SECOND
/* Ignore smaller changes of the address space: they are threads and buffers of the program. */
#define SPACE_BYTES ((uint64_t)32 << 20)
/* A quick look waits at most this long for the budget. A slow look waits until the driver might
 * drop samples. */
#define POSTPONED_MOST_NS NS_PER_SECOND

/* A GPU that an idle job holds draws power: read it this often. */
#define REST_GAP_NS (2 * NS_PER_SECOND)

/* Minimum time between looks that the budget cannot pay for, caused by a change of the address
 * space. */
#define FORCED_GAP_NS (100 * NS_PER_MS)

enum {
    SPACE_SHARE = 16,  /* also ignore changes below this part of the job's GPU memory */
    SLOW_SHARE = 1000, /* gap after a slow look, as a multiple of its cost */
    EARLY_SHARE = 4,   /* a look may be this part of its gap early, to save a wake-up */
};

/* Gaps between quick looks; the index is whether the job uses a GPU. */
static const struct {
    uint64_t least_ns, most_ns;
} gaps[] = {
    [false] = { 100 * NS_PER_MS, 400 * NS_PER_MS },
    [true] = { 27 * NS_PER_MS, 250 * NS_PER_MS },
};

void gpu_pace_init(struct gpu_pace *pace, uint64_t first_ns, bool is_for_host)
{
    *pace = (struct gpu_pace){
        .due_ns = first_ns,
        .is_for_host = is_for_host,
        .found = { .memory_bytes = UNKNOWN },
    };
}

/* Returns to the short gap: a change is often followed by others. */
static void shorten_gap(struct gpu_pace *pace, uint64_t now_ns)
{
    pace->gap_ns = gaps[pace->found.holds_context].least_ns;
    pace->due_ns = smaller(pace->due_ns, now_ns + pace->gap_ns);
}

static bool space_has_changed(const struct gpu_pace *pace)
{
    uint64_t memory_bytes = first_known(pace->found.memory_bytes, 0);

    return pace->job.space_bytes != 0 &&
           abs_diff(pace->job.space_bytes, pace->looked_space_bytes) >=
               larger(SPACE_BYTES, memory_bytes / SPACE_SHARE);
}

static void update_plan(struct gpu_pace *pace, uint64_t now_ns, const struct gpu_job_state *job)
{
    struct gpu_job_state before = pace->job;

    pace->job = *job;
    pace->job.rests &= !pace->is_for_host;
    if (pace->gap_ns == 0)
        return;
    if ((pace->found.holds_context && job->started_count != before.started_count) ||
        (before.rests && !pace->job.rests))
        shorten_gap(pace, now_ns);
    if (pace->job.rests != before.rests)
        pace->owes_look = pace->job.rests;
    if (pace->owes_look || space_has_changed(pace))
        pace->due_ns = smaller(pace->due_ns, now_ns);
}

static uint64_t slow_gap_ns(const struct gpu_pace *pace)
{
    uint64_t cost_ns = pace->cost_ns[GPU_LOOK_SLOW];

    if ((pace->job.rests && pace->found.utilization == 0) ||
        (!pace->found.holds_context && !pace->is_for_host))
        return SLOW_QUIET_NS;
    if (cost_ns == 0)
        return SLOW_FIRST_NS;
    return larger(SLOW_LEAST_NS, smaller(cost_ns * SLOW_SHARE, SLOW_MOST_NS));
}

static bool allows(const struct gpu_pace *pace, enum gpu_look look, struct budget *budget)
{
    return !budget || budget_allows(budget, SPENT_GPUS, pace->cost_ns[look]);
}

static bool slow_is_due(const struct gpu_pace *pace, uint64_t now_ns, struct budget *budget)
{
    uint64_t since_ns = sub_floor0(now_ns, pace->slow_ns);

    return since_ns >= slow_gap_ns(pace) &&
           (since_ns >= SLOW_QUIET_NS || allows(pace, GPU_LOOK_SLOW, budget));
}

static bool quick_is_due(struct gpu_pace *pace, uint64_t now_ns, struct budget *budget)
{
    /* The address space is watched only if a process is known to use a GPU. */
    bool is_urgent = space_has_changed(pace) || (pace->owes_look && !pace->found.holds_context);
    uint64_t cost_ns = pace->cost_ns[GPU_LOOK_QUICK];

    if (pace->job.rests && !pace->owes_look && !space_has_changed(pace)) {
        uint64_t slow_ns = larger(pace->slow_ns + slow_gap_ns(pace), now_ns + WAIT_MOST_NS);
        uint64_t power_ns = pace->found.holds_context ? pace->looked_ns + REST_GAP_NS : slow_ns;

        if (now_ns < power_ns) {
            pace->due_ns = smaller(slow_ns, power_ns);
            return false;
        }
    }
    if (sub_floor0(now_ns, pace->looked_ns) >= POSTPONED_MOST_NS ||
        allows(pace, GPU_LOOK_QUICK, budget))
        return true;
    if (is_urgent && sub_floor0(now_ns, pace->forced_ns) >= FORCED_GAP_NS) {
        pace->forced_ns = now_ns;
        return true;
    }
    pace->due_ns =
        smaller(pace->looked_ns + POSTPONED_MOST_NS,
                larger(pace->due_ns, now_ns + budget_wait_ns(budget, SPENT_GPUS, cost_ns)));
    return false;
}

static enum gpu_look choose(struct gpu_pace *pace, uint64_t now_ns, struct budget *budget)
{
    if (pace->gap_ns == 0) {
        pace->due_ns = now_ns + WAIT_LEAST_NS;
        return GPU_LOOK_SLOW;
    }
    pace->gap_ns = smaller(2 * pace->gap_ns, gaps[pace->found.holds_context].most_ns);
    pace->due_ns = now_ns + pace->gap_ns;
    /* A slow look takes milliseconds, during which an allocation may be released. */
    if (!space_has_changed(pace) && slow_is_due(pace, now_ns, budget))
        return GPU_LOOK_SLOW;
    return quick_is_due(pace, now_ns, budget) ? GPU_LOOK_QUICK : GPU_LOOK_NONE;
}

enum gpu_look gpu_pace_begin(struct gpu_pace *pace, uint64_t now_ns,
                             const struct gpu_job_state *job, struct budget *budget)
{
    update_plan(pace, now_ns, job);
    if (now_ns + pace->gap_ns / EARLY_SHARE < pace->due_ns)
        return GPU_LOOK_NONE;
    pace->looking = choose(pace, now_ns, budget);
    if (pace->looking != GPU_LOOK_NONE) {
        pace->looked_ns = now_ns;
        pace->owes_look = false;
        pace->looked_space_bytes = pace->job.space_bytes;
    }
    if (pace->looking == GPU_LOOK_SLOW)
        pace->slow_ns = now_ns;
    return pace->looking;
}

/* Called while a look is in progress: the longer it takes, the less often it is checked. */
void gpu_pace_wait(struct gpu_pace *pace, uint64_t now_ns)
{
    uint64_t taken_ns = sub_floor0(now_ns, pace->looked_ns);

    pace->due_ns = now_ns + larger(WAIT_LEAST_NS, smaller(taken_ns, WAIT_MOST_NS));
}

void gpu_pace_end(struct gpu_pace *pace, uint64_t now_ns, uint64_t cost_ns,
                  const struct gpu_findings *found)
{
    bool is_opening = pace->gap_ns == 0;
    bool has_changed = found->memory_bytes != pace->found.memory_bytes ||
                       found->holds_context != pace->found.holds_context;

    if (found->holds_context && !pace->found.holds_context)
        pace->slow_ns = now_ns; /* the driver has no samples of this process yet */
    pace->found = *found;
    if (has_changed || is_opening)
        shorten_gap(pace, now_ns);
    if (is_opening) /* opening costs more than any later look */
        pace->due_ns = now_ns;
    else
        pace->cost_ns[pace->looking] = smoothed(pace->cost_ns[pace->looking], cost_ns);
    pace->looking = GPU_LOOK_NONE;
}
