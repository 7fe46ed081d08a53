/* SPDX-License-Identifier: Apache-2.0 */
#include "job/lives.h"

#include <stdlib.h>

#include "base/arithmetic.h"
#include "base/unknown.h"

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
    lives_end(lives, process); /* its number may be used again before that was told */
    process->started_ns = now_ns;
    process->ended_ns = process->peak_bytes = 0;
    process->is_borrower = false;
    if (lives->timeline)
        peak_timeline_start(lives->timeline, now_ns);
}

/* What it borrowed is counted with its parent. */
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

void lives_settle(struct lives *lives, const struct roster *roster)
{
    uint64_t oldest_ns = UINT64_MAX;

    for (size_t i = 0; i < roster->slot_count; i++) {
        const struct process *process = roster_slot(roster, i);

        if (process && (process->threads > 0 || process->is_recording) &&
            process->started_ns > 0)
            oldest_ns = smaller(oldest_ns, process->started_ns);
    }
    peak_timeline_settle(lives->timeline, oldest_ns);
}

uint64_t lives_bound_bytes(const struct lives *lives)
{
    return lives->timeline && !lives->is_partial ? peak_timeline_highest(lives->timeline)
                                                 : UNKNOWN;
}
