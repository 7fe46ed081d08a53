/* SPDX-License-Identifier: Apache-2.0 */
/*
 * births.c - counts processes by the events of their lives.
 *
 * - A process has ended when its last thread has: the first may end before others, and where
 *   another calls exec, the first ends and the process lives on.
 * - The ring tells of the job alone. The connector tells of the whole machine: there a process
 *   is of the job if its parent is.
 * - An exit record comes before the event of the same exit, but by another way. So ended processes
 *   are kept until the records that came meanwhile are read, and records of unknown processes until
 *   the next drain.
 */
#include "job/births.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/arithmetic.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/reserve.h"
#include "base/unknown.h"
#include "job/rungs.h"
#include "source/proc/pid_stat.h"
#include "source/proc/pid_statm.h"
#include "spoor/spoor.h"

#define RECORDS_EVERY_NS (100 * NS_PER_MS)
#define GAP_LEAST_NS (5 * NS_PER_MS)
#define GAP_MOST_NS NS_PER_SECOND
#define STORM_EVENT_NS \
    (250 * NS_PER_US) /* between two events of a storm of 2000 processes a second */

struct births_source {
    unsigned rung;
    const char *source;
    const char *name; /* in a reason */
    bool is_machine_wide;
    int (*open)(struct births *births);
    void (*drain)(struct births *births);
    uint64_t (*lost_count)(const struct births *births);
    size_t (*capacity)(const struct births *births); /* of its buffer, in events */
};

/* ---- the two sources ---------------------------------------------------- */

static void note(const struct process_event *event, void *data)
{
    struct births *births = data;

    births->event_count++;
    births_note(births, event);
}

static int open_ring(struct births *births)
{
    return fork_ring_open(births->root, births->main_pid, &births->ring);
}

static void drain_ring(struct births *births)
{
    fork_ring_drain(&births->ring, note, births);
}

static uint64_t lost_by_ring(const struct births *births)
{
    return births->ring.lost_count + births->ring.was_full;
}

static size_t capacity_of_ring(const struct births *births)
{
    return fork_ring_capacity(&births->ring);
}

static int open_connector(struct births *births)
{
    return proc_connector_open(births->root, &births->connector);
}

static void drain_connector(struct births *births)
{
    (void)proc_connector_drain(&births->connector, note, births);
}

static uint64_t lost_by_connector(const struct births *births)
{
    return births->connector.lost_count;
}

static size_t capacity_of_connector(const struct births *births)
{
    return births->connector.capacity;
}

/* Best first: the ring costs the job at each fork and context switch. */
static const struct births_source sources[] = {
    { RUNG_CONNECTOR, "proc-connector", "proc connector", true, open_connector, drain_connector,
      lost_by_connector, capacity_of_connector },
    { RUNG_RING, "perf.fork-ring", "perf's fork ring", false, open_ring, drain_ring,
      lost_by_ring, capacity_of_ring },
};

/* ---- open and close ----------------------------------------------------- */

static void add_reason(struct births *births, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* A reason that does not fit is cut. */
static void add_reason(struct births *births, const char *fmt, ...)
{
    size_t used = strlen(births->reason);
    va_list args;

    if (used > 0 && used + 2 < sizeof(births->reason)) {
        memcpy(births->reason + used, "; ", 3);
        used += 2;
    }
    va_start(args, fmt);
    (void)vsnprintf(births->reason + used, sizeof(births->reason) - used, fmt, args);
    va_end(args);
}

void births_mark_inexact(struct births *births, const char *why)
{
    if (!births->is_exact)
        return; /* the first reason is enough */
    births->is_exact = false;
    add_reason(births, "%s", why);
}

/* New processes may be missed from now on, or were. */
void births_mark_incomplete(struct births *births, const char *why)
{
    births->is_complete = false;
    births_mark_inexact(births, why);
}

static bool open_source(struct births *births, const struct births_source *source,
                        unsigned disabled)
{
    char text[96];
    int r = disabled & source->rung ? -ECANCELED : source->open(births);

    if (r == 0) {
        births->events = source;
        return true;
    }
    if (r == -ECANCELED)
        add_reason(births, "%s: disabled", source->name);
    else if (r == -E2BIG)
        add_reason(births, "%s: more than %d CPUs", source->name, FORK_RING_CPU_MAX);
    else
        add_reason(births, "%s: %s", source->name, strerror_r(-r, text, sizeof(text)));
    return false;
}

void births_open(struct births *births, const struct root *root, struct members *members,
                 pid_t main_pid, unsigned disabled)
{
    *births = (struct births){
        .started_count = UNKNOWN,
        .main_peak_bytes = UNKNOWN,
        .largest_peak_bytes = UNKNOWN,
        .root = root,
        .members = members,
        .main_pid = main_pid,
        .connector = PROC_CONNECTOR_CLOSED,
        .taskstats = TASKSTATS_CLOSED,
    };
    for (size_t i = 0; i < ARRAY_SIZE(sources) && !births->events; i++)
        (void)open_source(births, &sources[i], disabled); /* it says why not */
    if (!births->events)
        return;
    if (!births_add_main(births)) {
        births_close(births);
        add_reason(births, "out of memory");
        return;
    }
    births->source = births->events->source;
    births->is_machine_wide = births->events->is_machine_wide;
    births->drained_ns = clock_now().monotonic_ns;
    births->drain_gap_ns = GAP_LEAST_NS;
    births->is_exact = births->is_complete = true;
    births->reason[0] = '\0';
    births->has_peaks =
        !(disabled & RUNG_TASKSTATS) && taskstats_open(root, &births->taskstats) == 0;
    if (births->has_peaks)
        lives_open(&births->lives);
}

void births_close(struct births *births)
{
    if (!births->root)
        return;
    fork_ring_close(&births->ring);
    proc_connector_close(&births->connector);
    taskstats_close(&births->taskstats);
    lives_close(&births->lives);
    free(births->newborns.pids);
    free(births->ended.pids);
    free(births->records.list);
    births->newborns = births->ended = (struct pid_queue){ 0 };
    births->records.list = NULL;
    births->records.count = births->records.capacity = births->records.old_count = 0;
    births->events = NULL;
}

/* ---- drain -------------------------------------------------------------- */

static void keep_record(const struct exit_record *record, void *data)
{
    struct births *births = data;

    if (births_note_record(births, record))
        return;
    if (reserve(&births->records.list, &births->records.capacity, births->records.count + 1,
                sizeof(*record)) < 0)
        births->taskstats.lost_count++;
    else
        births->records.list[births->records.count++] = *record;
}

/* An exit record may be read before the event of the fork, which came first but by another way. A
 * process that is still not known at the next drain is not the job's. */
static void note_kept_records(struct births *births)
{
    for (size_t i = 0; i < births->records.old_count; i++)
        (void)births_note_record(births, &births->records.list[i]);
    births->records.count -= births->records.old_count;
    memmove(births->records.list, births->records.list + births->records.old_count,
            births->records.count * sizeof(*births->records.list));
    births->records.old_count = births->records.count;
}

/* Records of the whole machine pile up if none of ours ends. */
static void drain_records(struct births *births, uint64_t now_ns)
{
    if (births->ended.count == 0 && now_ns - births->records_read_ns < RECORDS_EVERY_NS)
        return;
    births->records_read_ns = now_ns;
    taskstats_drain(&births->taskstats, keep_record, births);
}

static void release_ended(struct births *births)
{
    for (size_t i = 0; i < births->ended.count; i++) {
        struct process *process = members_process(births->members, births->ended.pids[i]);

        if (!process || !process->is_recording)
            continue;
        lives_end(&births->lives, process);
        process->is_recording = false;
        members_release(births->members, process);
    }
    births->ended.count = 0;
    if (lives_are_many(&births->lives))
        lives_settle(&births->lives, births->members);
}

/* After a loss we may wait for ends that are never reported. */
static void end_lost(struct births *births)
{
    const struct members *members = births->members;

    for (size_t i = 0; i < members->slot_count;) {
        struct process *process = members_slot(members, i);

        if (process && process->threads > 0 && kill(process->pid, 0) < 0 && errno == ESRCH)
            births_end(births, process); /* it may be replaced by one from behind */
        else
            i++;
    }
}

static void check_losses(struct births *births)
{
    uint64_t lost_count = births->events->lost_count(births);

    if (births->taskstats.lost_count > 0 ||
        (!births->taskstats.has_records && births->now.processes < births->started_count))
        births->has_peaks = false;
    if (lost_count == births->lost_count)
        return;
    births->lost_count = lost_count;
    births_mark_incomplete(
        births, "events were lost: processes started faster than events could be read");
    births->needs_search = true;
    end_lost(births);
}

/* At the rate of late, the next events fill a quarter of the buffer, and it has room for a sudden
 * storm. It may take a few drains before the gap is long: jobs begin with a storm. */
static void set_gap(struct births *births, uint64_t now_ns)
{
    uint64_t capacity = births->events->capacity(births);
    uint64_t span_ns = less(now_ns, births->drained_ns);
    uint64_t gap_ns = smaller(2 * births->drain_gap_ns, GAP_MOST_NS);

    gap_ns = smaller(gap_ns, capacity * STORM_EVENT_NS);
    if (births->event_count > 0)
        gap_ns = smaller(gap_ns, span_ns * capacity / 4 / births->event_count);
    births->drain_gap_ns = larger(gap_ns, GAP_LEAST_NS);
    births->event_count = 0;
    births->drained_ns = now_ns;
}

void births_drain(struct births *births)
{
    uint64_t now_ns;

    if (!births->events)
        return;
    now_ns = clock_now().monotonic_ns;
    births->events->drain(births);
    set_gap(births, now_ns);
    if (births->records.count > 0)
        note_kept_records(births);
    if (births->taskstats.fd >= 0)
        drain_records(births, now_ns);
    release_ended(births);
    check_losses(births);
}

void births_announce(struct births *births, uint64_t until_ns, births_born *born, void *data)
{
    struct pid_queue *newborns = &births->newborns;
    size_t kept = 0;

    for (size_t i = 0; i < newborns->count; i++) {
        const struct process *process = members_process(births->members, newborns->pids[i]);

        if (!process || process->threads == 0)
            continue;
        if (process->started_ns > until_ns || born(newborns->pids[i], data))
            newborns->pids[kept++] = newborns->pids[i];
    }
    newborns->count = kept;
    if (kept == 0)
        births->settled_peak = births->peak;
}
