/* SPDX-License-Identifier: Apache-2.0 */
#include "job/activity.h"

#include "base/amount.h"
#include "base/clock.h"

#define READ_ALL_EVERY_NS (10 * NS_PER_SECOND)

/* A cgroup counts a running process up to its last timer tick, so the process's own clock
 * may be ahead by this much. */
#define UNSEEN_NS (20 * NS_PER_MS)
/* A job is idle if it has not run for this long. */
#define REST_AFTER_NS (3 * UNSEEN_NS)

/* Ignore smaller changes: running programs touch a page now and then. */
#define STILL_BYTES ((uint64_t)256 * 1024)

enum {
    REST_SHARE = 200,
    STILL_SHARE = 64,
    STILL_NOTES = 3, /* the job has stopped growing after this many readings without growth */
};

void activity_note_cpu(struct activity *activity, uint64_t now_ns, uint64_t cpu_ns)
{
    bool was_at_rest = activity->is_at_rest;
    bool is_first = activity->noted_ns == 0;
    bool has_run = is_first || !is_known(cpu_ns) || !is_known(activity->cpu_ns) ||
                   abs_diff(cpu_ns, activity->cpu_ns) >
                       sub_floor0(now_ns, activity->noted_ns) / REST_SHARE;

    activity->cpu_ns = cpu_ns;
    activity->noted_ns = now_ns;
    if (has_run)
        activity->ran_ns = now_ns;
    activity->is_at_rest = sub_floor0(now_ns, activity->ran_ns) >= REST_AFTER_NS;
    activity->has_come_to_rest = activity->is_at_rest && !was_at_rest;
}

void activity_note_growth(struct activity *activity)
{
    activity->still_notes = 0;
    activity->is_at_rest = false; /* a growing job is running, whatever its CPU time */
    activity->ran_ns = activity->noted_ns;
}

void activity_note_memory(struct activity *activity, uint64_t resident_bytes,
                          uint64_t process_count)
{
    uint64_t most = activity->most_bytes;
    bool is_still = process_count <= activity->most_processes &&
                    resident_bytes <= most + larger(STILL_BYTES, most / STILL_SHARE);

    activity->resident_bytes = resident_bytes;
    activity->process_count = process_count;
    if (is_still) { /* keep the old maxima, so that growth in small steps adds up */
        activity->still_notes++;
        return;
    }
    activity_note_growth(activity);
    activity->most_bytes = larger(most, resident_bytes);
    activity->most_processes = larger(activity->most_processes, process_count);
}

void activity_begin_interval(struct activity *activity)
{
    activity->most_bytes = activity->resident_bytes;
    activity->most_processes = activity->process_count;
}

enum activity_state activity_state(const struct activity *activity)
{
    if (activity->is_at_rest)
        return JOB_RESTS;
    return activity->still_notes < STILL_NOTES ? JOB_GROWS : JOB_RUNS;
}

static bool stands_still(const struct activity *activity, uint64_t cpu_ns)
{
    return activity->has_looked && is_known(cpu_ns) && cpu_ns == activity->looked_cpu_ns;
}

enum activity_look activity_look_at(const struct activity *activity, uint64_t cpu_ns,
                                    uint64_t now_ns)
{
    if (!activity->has_looked || now_ns - activity->looked_at_ns >= READ_ALL_EVERY_NS)
        return LOOK_AT_ALL;
    return stands_still(activity, cpu_ns) && !activity->is_doubtful ? LOOK_AT_NONE
                                                                    : LOOK_AT_MOVERS;
}

void activity_looked(struct activity *activity, enum activity_look look, uint64_t cpu_ns,
                     uint64_t now_ns, struct activity_seen seen)
{
    if (look == LOOK_AT_NONE)
        return;
    activity->is_doubtful |= stands_still(activity, cpu_ns) && seen.moved_ns > UNSEEN_NS;
    activity->has_looked = true;
    activity->looked_cpu_ns = seen.is_whole ? cpu_ns : UNKNOWN;
    if (look == LOOK_AT_ALL)
        activity->looked_at_ns = now_ns;
}

void activity_forget(struct activity *activity)
{
    activity->has_looked = false;
}
