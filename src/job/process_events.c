/* SPDX-License-Identifier: Apache-2.0 */
/* process_events.c - the sources of process events, and when they are read. */
#include "job/process_events.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "base/arithmetic.h"
#include "base/clock.h"
#include "base/reserve.h"
#include "base/unknown.h"
#include "job/source_names.h"

#define RECORDS_EVERY_NS (100 * NS_PER_MS)
/* The number of threads that a job may start before their exit records are too expensive. */
#define RECORDED_THREADS_MAX 4096
#define GAP_LEAST_NS (5 * NS_PER_MS)
#define GAP_MOST_NS NS_PER_SECOND
/* The time between two events in a burst of 2000 processes a second. */
#define STORM_EVENT_NS (250 * NS_PER_US)

static void note(const struct process_event *event, void *data)
{
    struct process_events *events = data;

    events->event_count++;
    process_events_note(events, event);
}

/* Returns how many events the source has lost so far. */
static uint64_t count_lost(const struct process_events *events)
{
    return events->is_machine_wide ? events->connector.lost_count
                                   : events->ring.lost_count + events->ring.was_full;
}

static size_t event_capacity(const struct process_events *events)
{
    return events->is_machine_wide ? events->connector.capacity
                                   : fork_ring_capacity(&events->ring);
}

/* ---- open and close ----------------------------------------------------- */

void process_events_mark_incomplete(struct process_events *events)
{
    events->is_exact = events->is_complete = false;
    events->was_incomplete = true;
}

void process_events_open(struct process_events *events, const struct root *root,
                         struct roster *roster, pid_t main_pid, unsigned disabled)
{
    *events = (struct process_events){
        .started_count = UNKNOWN,
        .peak_bytes = { UNKNOWN, UNKNOWN },
        .root = root,
        .roster = roster,
        .main_pid = main_pid,
        .connector = PROC_CONNECTOR_CLOSED,
        .taskstats = TASKSTATS_CLOSED,
    };
    usage_clear(&events->recorded);
    /* The ring is the second choice: it slows the job at each fork and context switch. */
    if (!(disabled & SOURCE_CONNECTOR) && proc_connector_open(root, &events->connector) == 0)
        events->source = "proc-connector";
    else if (!(disabled & SOURCE_RING) && fork_ring_open(root, main_pid, &events->ring) == 0)
        events->source = "perf.fork-ring";
    events->is_machine_wide = events->connector.fd >= 0;
    if (events->source && !process_events_add_main(events))
        process_events_close(events);
    if (!events->source)
        return;
    events->drained_ns = clock_now().monotonic_ns;
    events->suspended_ns = clock_suspended_ns();
    events->drain_gap_ns = GAP_LEAST_NS;
    events->is_exact = events->is_complete = true;
    if (events->ring.is_partial)
        process_events_mark_incomplete(events);
    events->has_peaks =
        !(disabled & SOURCE_TASKSTATS) && taskstats_open(root, &events->taskstats) == 0;
    if (events->has_peaks)
        events->lives = calloc(1, sizeof(*events->lives)); /* NULL: there are no bounds */
}

void process_events_close(struct process_events *events)
{
    if (!events->root)
        return;
    fork_ring_close(&events->ring);
    proc_connector_close(&events->connector);
    taskstats_close(&events->taskstats);
    free(events->lives);
    events->lives = NULL;
    free(events->newborns.pids);
    free(events->ended.pids);
    free(events->records.list);
    events->newborns = events->ended = (struct pid_queue){ 0 };
    events->records.list = NULL;
    events->records.count = events->records.capacity = 0;
    events->source = NULL;
}

/* ---- drain -------------------------------------------------------------- */

static void keep_record(const struct exit_record *record, void *data)
{
    struct process_events *events = data;

    if (process_events_note_record(events, record))
        return;
    if (reserve(&events->records.list, &events->records.capacity, events->records.count + 1,
                sizeof(*record)) < 0)
        events->taskstats.lost_count++;
    else
        events->records.list[events->records.count++] = *record;
}

/* Handles kept exit records. A record may be read before the event of the fork, which was sent
 * earlier but on another channel. A process that is still unknown at the next drain does not
 * belong to the job. */
static void note_kept_records(struct process_events *events)
{
    for (size_t i = 0; i < events->records.count; i++)
        (void)process_events_note_record(events, &events->records.list[i]);
    events->records.count = 0;
}

/* Reads exit records. The kernel sends the records of all processes of the machine, so they
 * must be read now and then, before the buffer is full. The kernel sends an exit record, wakes
 * the parent, and sends the exit event last: the last sample may find the record without the
 * event, so samples always read the records. */
static void drain_records(struct process_events *events, uint64_t now_ns, bool is_sample)
{
    if (!is_sample && events->ended.count == 0 &&
        now_ns - events->records_read_ns < RECORDS_EVERY_NS)
        return;
    events->records_read_ns = now_ns;
    taskstats_drain(&events->taskstats, keep_record, events);
    /* On failure, records of threads keep arriving, which costs more. */
    if (!events->taskstats.skips_threads &&
        events->recorded_tasks > events->started_count + RECORDED_THREADS_MAX)
        (void)taskstats_skip_threads(&events->taskstats);
}

static void release_ended(struct process_events *events)
{
    for (size_t i = 0; i < events->ended.count; i++) {
        struct process *process = roster_find(events->roster, events->ended.pids[i]);

        if (!process || !process->is_recording)
            continue;
        lives_end(events->lives, process);
        process->is_recording = false;
        roster_release(events->roster, process);
    }
    events->ended.count = 0;
    if (lives_are_many(events->lives))
        lives_close_moments(events->lives, events->roster);
}

/* Ends processes whose exit events were lost. */
static void end_lost(struct process_events *events)
{
    const struct roster *roster = events->roster;

    for (size_t i = 0; i < roster->slot_count;) {
        struct process *process = roster_slot(roster, i);

        if (process && process->threads > 0 && kill(process->pid, 0) < 0 && errno == ESRCH)
            /* A later entry may move into this slot, so i stays. */
            process_events_end(events, process);
        else
            i++;
    }
}

static void check_losses(struct process_events *events)
{
    uint64_t lost_count = count_lost(events);

    if (events->taskstats.lost_count > 0 ||
        (!events->taskstats.has_records && events->now.processes < events->started_count))
        events->has_peaks = false;
    if (lost_count == events->lost_count)
        return;
    events->lost_count = lost_count;
    process_events_mark_incomplete(events);
    events->needs_search = true;
    end_lost(events);
}

/* Chooses the time of the next drain: until then, at the recent rate, events fill a quarter of
 * the buffer, which leaves room for a burst. The gap at most doubles each time: jobs often
 * start with a burst. */
static void set_gap(struct process_events *events, uint64_t now_ns)
{
    uint64_t capacity = event_capacity(events);
    uint64_t span_ns = sub_floor0(now_ns, events->drained_ns);
    uint64_t gap_ns = smaller(2 * events->drain_gap_ns, GAP_MOST_NS);

    gap_ns = smaller(gap_ns, capacity * STORM_EVENT_NS);
    if (events->event_count > 0)
        gap_ns = smaller(gap_ns, span_ns * capacity / 4 / events->event_count);
    events->drain_gap_ns = larger(gap_ns, GAP_LEAST_NS);
    events->event_count = 0;
    events->drained_ns = now_ns;
}

void process_events_drain(struct process_events *events, bool is_sample)
{
    uint64_t now_ns, suspended_ns;

    if (!events->source)
        return;
    now_ns = clock_now().monotonic_ns;
    suspended_ns = clock_suspended_ns();
    if (events->is_machine_wide)
        proc_connector_drain(&events->connector, note, events);
    else
        fork_ring_drain(&events->ring, note, events);
    events->suspended_ns = suspended_ns;
    set_gap(events, now_ns);
    note_kept_records(events);
    if (events->taskstats.fd >= 0)
        drain_records(events, now_ns, is_sample);
    release_ended(events);
    check_losses(events);
}

void process_events_announce(struct process_events *events, uint64_t until_ns,
                             process_events_born *born, void *data)
{
    struct pid_queue *newborns = &events->newborns;
    size_t kept = 0;

    for (size_t i = 0; i < newborns->count; i++) {
        const struct process *process = roster_find(events->roster, newborns->pids[i]);

        if (!process || process->threads == 0)
            continue;
        if (process->started_ns > until_ns || born(newborns->pids[i], data))
            newborns->pids[kept++] = newborns->pids[i];
    }
    newborns->count = kept;
    if (kept == 0) {
        events->settled_peak = events->peak;
        events->process_peak.settled = events->process_peak.count;
        for (int i = 0; i < GROUP_COUNT; i++)
            events->thread_peaks[i].settled = events->thread_peaks[i].confirmed;
    }
}
