/* SPDX-License-Identifier: Apache-2.0 */
#include "job/lives.h"

#include <stdlib.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/unknown.h"

/* ---- peaks together ----------------------------------------------------------- */

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
    /* Events of different CPUs may arrive a little out of order. */
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

void peak_timeline_close_moments(struct peak_timeline *timeline, uint64_t oldest_ns)
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

void lives_open(struct lives *lives)
{
    lives->timeline = calloc(1, sizeof(*lives->timeline));
}

void lives_close(struct lives *lives)
{
    free(lives->timeline);
    *lives = (struct lives){ 0 };
}

void lives_end(struct lives *lives, struct process *process)
{
    if (!lives->timeline || process->is_foreign || process->started_ns == 0)
        return;
    lives->is_partial |= process->peak_bytes == 0 && !process->is_borrower;
    peak_timeline_end(
        lives->timeline,
        &(struct peak_life){ process->started_ns, process->ended_ns, process->peak_bytes });
    process->started_ns = 0;
}

void lives_start(struct lives *lives, struct process *process, uint64_t now_ns)
{
    lives_end(lives, process); /* the PID may be reused before the exit event */
    process->started_ns = now_ns;
    process->ended_ns = process->peak_bytes = 0;
    process->is_borrower = false;
    if (lives->timeline)
        peak_timeline_start(lives->timeline, now_ns);
}

/* Memory borrowed by vfork is counted with the parent. */
void lives_note_record(struct process *process, const struct exit_record *record)
{
    if (record->may_be_borrowed)
        process->is_borrower = true;
    else if (is_known(record->peak_rss_bytes))
        process->peak_bytes = larger(process->peak_bytes, record->peak_rss_bytes);
}

bool lives_are_many(const struct lives *lives)
{
    return lives->timeline && lives->timeline->count >= PEAK_MOMENTS_MAX / 2;
}

void lives_close_moments(struct lives *lives, const struct roster *roster)
{
    uint64_t oldest_ns = UINT64_MAX;

    for (size_t i = 0; i < roster->slot_count; i++) {
        const struct process *process = roster_slot(roster, i);

        if (process && (process->threads > 0 || process->is_recording) &&
            process->started_ns > 0)
            oldest_ns = smaller(oldest_ns, process->started_ns);
    }
    peak_timeline_close_moments(lives->timeline, oldest_ns);
}

uint64_t lives_bound_bytes(const struct lives *lives)
{
    return lives->timeline && !lives->is_partial ? peak_timeline_highest(lives->timeline)
                                                 : UNKNOWN;
}
