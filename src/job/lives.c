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

/* A process has ended, and all its exit records were read. */
static void end(struct lives *lives, const struct pid_entry *entry)
{
    if (!lives->timeline || entry->is_disowned || entry->started_ns == 0)
        return;
    lives->is_partial |= entry->peak_bytes == 0 && !entry->is_borrower;
    peak_timeline_end(lives->timeline, &(struct peak_life){ entry->started_ns, entry->ended_ns,
                                                            entry->peak_bytes });
}

void lives_start(struct lives *lives, struct pid_entry *entry, uint64_t now_ns)
{
    end(lives, entry); /* its number may be used again before that was told */
    entry->started_ns = now_ns;
    entry->ended_ns = entry->peak_bytes = 0;
    entry->is_borrower = false;
    if (lives->timeline)
        peak_timeline_start(lives->timeline, now_ns);
}

/* What it borrowed is counted with its parent. */
void lives_note_record(struct pid_entry *entry, const struct exit_record *record)
{
    if (record->may_be_borrowed)
        entry->is_borrower = true;
    else if (is_known(record->peak_rss_bytes))
        entry->peak_bytes = larger(entry->peak_bytes, record->peak_rss_bytes);
}

bool lives_visit(struct lives *lives, const struct pid_entry *entry)
{
    if (entry->threads == 0) {
        end(lives, entry);
        return false;
    }
    if (entry->started_ns > 0 &&
        (lives->oldest_ns == 0 || entry->started_ns < lives->oldest_ns))
        lives->oldest_ns = entry->started_ns;
    return true;
}

void lives_settle(struct lives *lives)
{
    if (lives->timeline)
        peak_timeline_settle(lives->timeline,
                             lives->oldest_ns > 0 ? lives->oldest_ns : UINT64_MAX);
    lives->oldest_ns = 0;
}

uint64_t lives_bound_bytes(const struct lives *lives)
{
    return lives->timeline && !lives->is_partial ? peak_timeline_highest(lives->timeline)
                                                 : UNKNOWN;
}
