/* SPDX-License-Identifier: Apache-2.0 */
/* process_events.c - the sources of process events, and when they are read. */
#include "job/process_events.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "base/arithmetic.h"
#include "base/clock.h"
#include "base/compiler.h"
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

struct event_source {
    unsigned disabled_by;
    const char *source;
    bool is_machine_wide;
    int (*open)(struct process_events *events);
    void (*drain)(struct process_events *events);
    uint64_t (*lost_count)(const struct process_events *events);
    size_t (*capacity)(const struct process_events *events); /* of its buffer, in events */
};

/* ---- the two sources ---------------------------------------------------- */

static void note(const struct process_event *event, void *data)
{
    struct process_events *events = data;

    events->event_count++;
    process_events_note(events, event);
}

static int open_ring(struct process_events *events)
{
    return fork_ring_open(events->root, events->main_pid, &events->ring);
}

static void drain_ring(struct process_events *events)
{
    fork_ring_drain(&events->ring, note, events);
}

static uint64_t lost_by_ring(const struct process_events *events)
{
    return events->ring.lost_count + events->ring.was_full;
}

static size_t capacity_of_ring(const struct process_events *events)
{
    return fork_ring_capacity(&events->ring);
}

static int open_connector(struct process_events *events)
{
    return proc_connector_open(events->root, &events->connector);
}

static void drain_connector(struct process_events *events)
{
    proc_connector_drain(&events->connector, note, events);
}

static uint64_t lost_by_connector(const struct process_events *events)
{
    return events->connector.lost_count;
}

static size_t capacity_of_connector(const struct process_events *events)
{
    return events->connector.capacity;
}

/* Best first: the ring costs the job at each fork and context switch. */
static const struct event_source sources[] = {
    { SOURCE_CONNECTOR, "proc-connector", true, open_connector, drain_connector,
      lost_by_connector, capacity_of_connector },
    { SOURCE_RING, "perf.fork-ring", false, open_ring, drain_ring, lost_by_ring,
      capacity_of_ring },
};

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
        .main_peak_bytes = UNKNOWN,
        .largest_peak_bytes = UNKNOWN,
        .root = root,
        .roster = roster,
        .main_pid = main_pid,
        .connector = PROC_CONNECTOR_CLOSED,
        .taskstats = TASKSTATS_CLOSED,
    };
    for (size_t i = 0; i < ARRAY_SIZE(sources) && !events->reader; i++) {
        if (!(disabled & sources[i].disabled_by) && sources[i].open(events) == 0)
            events->reader = &sources[i];
    }
    usage_clear(&events->recorded);
    if (!events->reader)
        return;
    if (!process_events_add_main(events)) {
        process_events_close(events);
        return;
    }
    events->source = events->reader->source;
    events->is_machine_wide = events->reader->is_machine_wide;
    events->drained_ns = clock_now().monotonic_ns;
    events->suspended_ns = clock_suspended_ns();
    events->drain_gap_ns = GAP_LEAST_NS;
    events->is_exact = events->is_complete = true;
    if (events->ring.is_partial)
        process_events_mark_incomplete(events);
    events->has_peaks =
        !(disabled & SOURCE_TASKSTATS) && taskstats_open(root, &events->taskstats) == 0;
    if (events->has_peaks)
        lives_open(&events->lives);
}

void process_events_close(struct process_events *events)
{
    if (!events->root)
        return;
    fork_ring_close(&events->ring);
    proc_connector_close(&events->connector);
    taskstats_close(&events->taskstats);
    lives_close(&events->lives);
    free(events->newborns.pids);
    free(events->ended.pids);
    free(events->records.list);
    events->newborns = events->ended = (struct pid_queue){ 0 };
    events->records.list = NULL;
    events->records.count = events->records.capacity = 0;
    events->reader = NULL;
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

/* An exit record may be read before the event of the fork, which came earlier but on another
 * channel. A process that is still unknown at the next drain is not the job's. */
static void note_kept_records(struct process_events *events)
{
    for (size_t i = 0; i < events->records.count; i++)
        (void)process_events_note_record(events, &events->records.list[i]);
    events->records.count = 0;
}

/* The kernel sends the records of all processes of the machine: they are read now and then
 * so that the buffer does not fill up. The kernel sends an exit record, wakes the parent,
 * and sends the exit event last: the last sample may find the record without the event, so
 * samples always read the records. */
static void drain_records(struct process_events *events, uint64_t now_ns, bool is_sample)
{
    if (!is_sample && events->ended.count == 0 &&
        now_ns - events->records_read_ns < RECORDS_EVERY_NS)
        return;
    events->records_read_ns = now_ns;
    taskstats_drain(&events->taskstats, keep_record, events);
    if (!events->taskstats.skips_threads &&
        events->recorded_tasks > events->started_count + RECORDED_THREADS_MAX)
        (void)taskstats_skip_threads(&events->taskstats); /* else they cost more */
}

static void release_ended(struct process_events *events)
{
    for (size_t i = 0; i < events->ended.count; i++) {
        struct process *process = roster_find(events->roster, events->ended.pids[i]);

        if (!process || !process->is_recording)
            continue;
        lives_end(&events->lives, process);
        process->is_recording = false;
        roster_release(events->roster, process);
    }
    events->ended.count = 0;
    if (lives_are_many(&events->lives))
        lives_close_moments(&events->lives, events->roster);
}

/* After a loss, some exits may never be reported. */
static void end_lost(struct process_events *events)
{
    const struct roster *roster = events->roster;

    for (size_t i = 0; i < roster->slot_count;) {
        struct process *process = roster_slot(roster, i);

        if (process && process->threads > 0 && kill(process->pid, 0) < 0 && errno == ESRCH)
            process_events_end(events, process); /* its slot may be refilled from behind */
        else
            i++;
    }
}

static void check_losses(struct process_events *events)
{
    uint64_t lost_count = events->reader->lost_count(events);

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

/* Chooses the time of the next drain: at the recent rate, events fill a quarter of the
 * buffer, which leaves room for a burst. Several drains pass before the gap is long: jobs
 * often start with a burst. */
static void set_gap(struct process_events *events, uint64_t now_ns)
{
    uint64_t capacity = events->reader->capacity(events);
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

    if (!events->reader)
        return;
    now_ns = clock_now().monotonic_ns;
    suspended_ns = clock_suspended_ns();
    events->reader->drain(events);
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
        events->main_threads_peak.settled = events->main_threads_peak.confirmed;
        events->descendants_threads_peak.settled = events->descendants_threads_peak.confirmed;
        events->threads_peak.settled = events->threads_peak.confirmed;
    }
}
