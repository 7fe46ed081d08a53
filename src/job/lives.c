/* SPDX-License-Identifier: Apache-2.0 */
#include "job/lives.h"

#include <string.h>

#include "base/amount.h"

static void join_neighbours(struct lives *lives)
{
    struct life_moment *moments = lives->moments;
    size_t count = lives->count / 2;

    for (size_t i = 0; i < count; i++)
        moments[i] = (struct life_moment){
            .first_ns = smaller(moments[2 * i].first_ns, moments[2 * i + 1].first_ns),
            .last_ns = moments[2 * i + 1].last_ns,
            .sum_bytes = larger(moments[2 * i].sum_bytes, moments[2 * i + 1].sum_bytes),
        };
    lives->count = count;
}

static void add_life(struct life_moment *moment, const struct life *life)
{
    if (life->started_ns <= moment->last_ns && life->ended_ns >= moment->first_ns)
        moment->sum_bytes += life->peak_bytes;
}

void lives_end(struct lives *lives, struct process *process)
{
    const struct life life = { process->started_ns, process->ended_ns, process->peak_bytes };

    if (!lives || process->is_foreign || process->started_ns == 0)
        return;
    lives->is_partial |= process->peak_bytes == 0 && !process->is_borrower;
    for (size_t i = lives->count; i-- > 0 && lives->moments[i].last_ns >= life.started_ns;)
        add_life(&lives->moments[i], &life);
    lives->ended[lives->ended_count++ % LIVES_KEPT] = life;
    process->started_ns = 0;
}

static void add_moment(struct lives *lives, uint64_t now_ns)
{
    struct life_moment moment = { now_ns, now_ns, 0 };

    if (lives->count == LIVES_MOMENTS_MAX)
        join_neighbours(lives);
    /* Events of different CPUs may arrive a little out of order. */
    if (lives->count > 0)
        moment.last_ns = larger(now_ns, lives->moments[lives->count - 1].last_ns);
    for (size_t i = 0; i < LIVES_KEPT; i++)
        add_life(&moment, &lives->ended[i]);
    lives->moments[lives->count++] = moment;
}

void lives_start(struct lives *lives, struct process *process, uint64_t now_ns)
{
    lives_end(lives, process); /* the PID may be reused before the exit event */
    process->started_ns = now_ns;
    process->ended_ns = process->peak_bytes = 0;
    process->is_borrower = false;
    if (lives)
        add_moment(lives, now_ns);
}

/* Records whether a process may have borrowed its parent's memory (vfork): that memory is
 * counted with the parent. */
void lives_note_record(struct process *process, const struct exit_record *record)
{
    if (record->may_be_borrowed)
        process->is_borrower = true;
    else
        raise_to(&process->peak_bytes, record->peak_rss_bytes);
}

void lives_close_moments(struct lives *lives, const struct roster *roster)
{
    uint64_t oldest_ns = UINT64_MAX;
    size_t settled = 0;

    for (size_t i = 0; i < roster->slot_count; i++) {
        const struct process *process = roster_slot(roster, i);

        if (process && (process->threads > 0 || process->is_recording) &&
            process->started_ns > 0)
            oldest_ns = smaller(oldest_ns, process->started_ns);
    }
    while (settled < lives->count && lives->moments[settled].last_ns < oldest_ns)
        raise_to(&lives->highest_bytes, lives->moments[settled++].sum_bytes);
    lives->count -= settled;
    memmove(lives->moments, lives->moments + settled, lives->count * sizeof(*lives->moments));
}

uint64_t lives_bound_bytes(const struct lives *lives)
{
    uint64_t highest_bytes;

    if (!lives || lives->is_partial)
        return UNKNOWN;
    highest_bytes = lives->highest_bytes;
    for (size_t i = 0; i < lives->count; i++)
        raise_to(&highest_bytes, lives->moments[i].sum_bytes);
    return highest_bytes;
}
