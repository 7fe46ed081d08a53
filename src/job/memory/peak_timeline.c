/* SPDX-License-Identifier: Apache-2.0 */
#include "job/memory/peak_timeline.h"

#include <string.h>

#include "base/arithmetic.h"

static void join_neighbours(struct peak_timeline *timeline)
{
    struct peak_moment *moments = timeline->moments;
    size_t count = timeline->count / 2;

    for (size_t i = 0; i < count; i++)
        moments[i] = (struct peak_moment){
            .first_ns = smaller(moments[2 * i].first_ns, moments[2 * i + 1].first_ns),
            .last_ns = moments[2 * i + 1].last_ns,
            .sum_bytes = larger(moments[2 * i].sum_bytes, moments[2 * i + 1].sum_bytes),
        };
    timeline->count = count;
}

static void add_life(struct peak_moment *moment, const struct peak_life *life)
{
    if (life->started_ns <= moment->last_ns && life->ended_ns >= moment->first_ns)
        moment->sum_bytes += life->peak_bytes;
}

void peak_timeline_start(struct peak_timeline *timeline, uint64_t now_ns)
{
    struct peak_moment moment = { now_ns, now_ns, 0 };

    if (timeline->count == PEAK_MOMENTS_MAX)
        join_neighbours(timeline);
    /* Events of different CPUs may come a little out of order. */
    if (timeline->count > 0)
        moment.last_ns = larger(now_ns, timeline->moments[timeline->count - 1].last_ns);
    for (size_t i = 0; i < PEAK_LIVES_KEPT; i++)
        add_life(&moment, &timeline->lives[i]);
    timeline->moments[timeline->count++] = moment;
}

void peak_timeline_end(struct peak_timeline *timeline, const struct peak_life *life)
{
    for (size_t i = timeline->count; i > 0; i--) {
        if (timeline->moments[i - 1].last_ns < life->started_ns)
            break;
        add_life(&timeline->moments[i - 1], life);
    }
    timeline->lives[timeline->life_count++ % PEAK_LIVES_KEPT] = *life;
}

void peak_timeline_settle(struct peak_timeline *timeline, uint64_t oldest_ns)
{
    size_t settled = 0;

    while (settled < timeline->count && timeline->moments[settled].last_ns < oldest_ns)
        timeline->highest_bytes =
            larger(timeline->highest_bytes, timeline->moments[settled++].sum_bytes);
    timeline->count -= settled;
    memmove(timeline->moments, timeline->moments + settled,
            timeline->count * sizeof(*timeline->moments));
}

uint64_t peak_timeline_highest(const struct peak_timeline *timeline)
{
    uint64_t highest = timeline->highest_bytes;

    for (size_t i = 0; i < timeline->count; i++)
        highest = larger(highest, timeline->moments[i].sum_bytes);
    return highest;
}
