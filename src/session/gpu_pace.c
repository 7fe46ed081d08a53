/* SPDX-License-Identifier: Apache-2.0 */
#include "session/gpu_pace.h"

#include "base/arithmetic.h"
#include "base/clock.h"
#include "base/unknown.h"

#define USED_LEAST_NS (27 * NS_PER_MS)
#define USED_MOST_NS (250 * NS_PER_MS)
#define UNUSED_LEAST_NS (100 * NS_PER_MS)
#define UNUSED_MOST_NS NS_PER_SECOND
#define REST_MOST_NS NS_PER_SECOND
#define SLOW_LEAST_NS NS_PER_SECOND
#define SLOW_MOST_NS (5 * NS_PER_SECOND)
#define SLOW_QUIET_NS (10 * NS_PER_SECOND)
#define WAIT_LEAST_NS (5 * NS_PER_MS)
#define WAIT_MOST_NS NS_PER_SECOND
/* So long a look waits for the budget, if it is not due earlier by its own gap. */
#define POSTPONED_MOST_NS NS_PER_SECOND

/* Threads of a driver in the job wake up now and then. To allocate memory takes longer. */
#define HARDLY_NS (100 * NS_PER_US)

enum {
    HARDLY_SHARE = 1000, /* of the time, besides */
    QUIET_SHARE = 100,
    RESTING_CHECKS = 4,
    SLOW_SHARE = 1000, /* a slow look's cost to the gap */
    EARLY_SHARE = 8,   /* a look may be so much of its gap early, to save a wake-up */
};

void gpu_pace_init(struct gpu_pace *pace, uint64_t first_ns, bool is_for_host)
{
    *pace = (struct gpu_pace){
        .due_ns = first_ns,
        .is_for_host = is_for_host,
        .found = { .memory_bytes = UNKNOWN },
        .job = { .cpu_ns = UNKNOWN },
        .slow_cpu_ns = UNKNOWN,
    };
}

static uint64_t least_gap_ns(const struct gpu_pace *pace)
{
    return pace->found.holds_context ? USED_LEAST_NS : UNUSED_LEAST_NS;
}

static uint64_t most_gap_ns(const struct gpu_pace *pace)
{
    return pace->found.holds_context ? USED_MOST_NS : UNUSED_MOST_NS;
}

/* Something has changed, and more may. */
static void hasten(struct gpu_pace *pace, uint64_t now_ns)
{
    pace->gap_ns = least_gap_ns(pace);
    pace->due_ns = smaller(pace->due_ns, now_ns + pace->gap_ns);
}

static bool has_run(uint64_t before_ns, uint64_t cpu_ns, uint64_t least_ns)
{
    return !is_known(before_ns) || !is_known(cpu_ns) || apart(before_ns, cpu_ns) >= least_ns;
}

/* Notes what the job has done, and returns whether it is at rest. */
static bool is_at_rest(struct gpu_pace *pace, uint64_t now_ns, const struct gpu_job_state *job)
{
    uint64_t hardly_ns = HARDLY_NS + less(now_ns, pace->checked_ns) / HARDLY_SHARE;

    if (has_run(pace->job.cpu_ns, job->cpu_ns, hardly_ns)) {
        if (pace->resting_checks >= RESTING_CHECKS)
            pace->gap_ns = least_gap_ns(pace);
        pace->resting_checks = 0;
    } else {
        pace->resting_checks++;
    }
    pace->job.cpu_ns = job->cpu_ns;
    pace->checked_ns = now_ns;
    return pace->resting_checks >= RESTING_CHECKS && !pace->is_for_host;
}

static bool allows(const struct gpu_pace *pace, enum gpu_look look, struct budget *budget)
{
    return !budget || budget_allows(budget, SPENT_GPUS, pace->cost_ns[look]);
}

static bool slow_is_due(struct gpu_pace *pace, uint64_t now_ns, struct budget *budget)
{
    uint64_t since_ns = less(now_ns, pace->slow_ns);

    return since_ns >= pace->slow_gap_ns &&
           (since_ns >= SLOW_QUIET_NS || allows(pace, GPU_LOOK_SLOW, budget));
}

/* Has the job hardly run since the last slow look? */
static void note_quiet(struct gpu_pace *pace, uint64_t now_ns)
{
    uint64_t hardly_ns = less(now_ns, pace->slow_ns) / QUIET_SHARE;

    pace->is_quiet = !has_run(pace->slow_cpu_ns, pace->job.cpu_ns, hardly_ns);
    pace->slow_cpu_ns = pace->job.cpu_ns;
}

static enum gpu_look begin(struct gpu_pace *pace, enum gpu_look look, uint64_t now_ns)
{
    pace->looking = look;
    pace->looked_ns = now_ns;
    if (look == GPU_LOOK_SLOW) {
        note_quiet(pace, now_ns);
        pace->slow_ns = now_ns;
    }
    return look;
}

enum gpu_look gpu_pace_begin(struct gpu_pace *pace, uint64_t now_ns,
                             const struct gpu_job_state *job, struct budget *budget)
{
    bool is_opening = pace->looked_ns == 0;
    bool rests;

    if (job->started_count != pace->job.started_count && !is_opening)
        hasten(pace, now_ns);
    pace->job.started_count = job->started_count;
    if (now_ns + pace->gap_ns / EARLY_SHARE < pace->due_ns)
        return GPU_LOOK_NONE;
    rests = is_at_rest(pace, now_ns, job);
    if (is_opening) {
        pace->due_ns = now_ns + WAIT_LEAST_NS;
        return begin(pace, GPU_LOOK_SLOW, now_ns);
    }
    pace->gap_ns = smaller(2 * pace->gap_ns, rests ? REST_MOST_NS : most_gap_ns(pace));
    pace->due_ns = now_ns + pace->gap_ns;
    if (slow_is_due(pace, now_ns, budget))
        return begin(pace, GPU_LOOK_SLOW, now_ns);
    if (rests)
        return GPU_LOOK_NONE;
    if (less(now_ns, pace->looked_ns) >= POSTPONED_MOST_NS ||
        allows(pace, GPU_LOOK_QUICK, budget))
        return begin(pace, GPU_LOOK_QUICK, now_ns);
    pace->due_ns = smaller(
        now_ns + larger(budget_wait_ns(budget, pace->cost_ns[GPU_LOOK_QUICK]), pace->gap_ns),
        pace->looked_ns + POSTPONED_MOST_NS);
    return GPU_LOOK_NONE;
}

/* The longer it goes on, the less often that is checked. */
void gpu_pace_wait(struct gpu_pace *pace, uint64_t now_ns)
{
    uint64_t taken_ns = less(now_ns, pace->looked_ns);

    pace->due_ns = now_ns + larger(WAIT_LEAST_NS, smaller(taken_ns, WAIT_MOST_NS));
}

static uint64_t slow_gap_ns(const struct gpu_pace *pace)
{
    if (!pace->is_for_host && pace->is_quiet && pace->found.utilization == 0)
        return SLOW_QUIET_NS;
    if (!pace->is_for_host && !pace->found.holds_context)
        return SLOW_MOST_NS;
    return larger(SLOW_LEAST_NS,
                  smaller(pace->cost_ns[GPU_LOOK_SLOW] * SLOW_SHARE, SLOW_MOST_NS));
}

void gpu_pace_end(struct gpu_pace *pace, uint64_t now_ns, uint64_t cost_ns,
                  const struct gpu_findings *found)
{
    bool is_opening = pace->gap_ns == 0;
    bool has_changed = found->memory_bytes != pace->found.memory_bytes ||
                       found->holds_context != pace->found.holds_context;

    pace->found = *found;
    if (!is_opening) /* which costs more than any later look */
        pace->cost_ns[pace->looking] = smoothed(pace->cost_ns[pace->looking], cost_ns);
    pace->slow_gap_ns = slow_gap_ns(pace);
    pace->looking = GPU_LOOK_NONE;
    if (has_changed)
        hasten(pace, now_ns);
    if (is_opening) {
        pace->gap_ns = least_gap_ns(pace);
        pace->due_ns = now_ns;
    }
}
