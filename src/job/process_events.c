/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_events.c - the sources of process events, when they are read, and what they count.
 *
 * - A process has exited when its last thread has: the first thread may exit before others, and
 *   if another calls exec, the first exits and the process lives on.
 * - The ring reports only the job. The connector reports the whole machine: there a process
 *   belongs to the job if its parent does.
 * - An exit record comes before the event of the same exit, but on another channel. So exited
 *   processes are kept until the records that arrived meanwhile are read, and records of unknown
 *   processes until the next drain.
 */
#include "job/process_events.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/amount.h"
#include "base/clock.h"
#include "base/parse.h"
#include "base/reserve.h"
#include "job/source_names.h"
#include "source/proc/pid_files.h"
#include "spoor/spoor.h"

#define RECORDS_EVERY_NS (100 * NS_PER_MS)
/* The number of threads that a job may start before their exit records are too expensive. */
#define RECORDED_THREADS_MAX 4096
#define GAP_LEAST_NS (5 * NS_PER_MS)
#define GAP_MOST_NS NS_PER_SECOND
/* The time between two events in a burst of 2000 processes a second. */
#define STORM_EVENT_NS (250 * NS_PER_US)
#define OWN_PREFIX "spoor-" /* names of trackers' own threads and helpers: part of no job */
#define OUT_OF_ORDER_NS (10 * NS_PER_MS) /* maximum delay of an event of another CPU */
#define LATE_EXIT_NS NS_PER_SECOND       /* maximum delay of the exit event of a thread */
#define THREADS_MASK ((1u << 25) - 1)    /* limit of the field in struct process */

/* Called when new processes may be missed from now on, or were missed before. */
static void mark_incomplete(struct process_events *events)
{
    events->is_exact = events->is_complete = false;
    events->was_incomplete = true;
}

/* ---- how many live at once ---------------------------------------------- */

static void raise_heads(struct heads *peak, const struct heads *now)
{
    peak->processes = larger(peak->processes, now->processes);
    for (int i = 0; i < GROUP_COUNT; i++)
        peak->threads[i] = larger(peak->threads[i], now->threads[i]);
}

static void raise_event_peak(struct event_peak *peak, uint64_t now, uint64_t fork_ns)
{
    if (now <= peak->count)
        return;
    peak->count = now;
    peak->time_ns = fork_ns;
    peak->doubtful = peak->rest;
}

static void raise_event_peaks(struct process_events *events, uint64_t fork_ns)
{
    const struct heads *now = &events->now;

    raise_event_peak(&events->process_peak, now->processes, fork_ns);
    for (int i = 0; i < GROUP_COUNT; i++)
        raise_event_peak(&events->thread_peaks[i], now->threads[i], fork_ns);
}

/* Corrects a peak by a late exit event: processes and threads that exited before the fork of
 * the peak were not alive at the peak, even if their exits are read only now. `late_ns`: by how
 * much an exit event may be later than the exit. */
static void correct_event_peak(struct event_peak *peak, uint64_t exit_ns, uint64_t late_ns)
{
    uint64_t doubt_ns = peak->doubtful > 0 ? LATE_EXIT_NS : late_ns;

    if (exit_ns < peak->time_ns + doubt_ns && peak->count > peak->confirmed) {
        peak->count--;
        peak->doubtful -= peak->doubtful > 0;
    } else if (exit_ns > peak->time_ns + larger(doubt_ns, OUT_OF_ORDER_NS)) {
        peak->confirmed = peak->count;
    }
}

/* Corrects the peak of threads. A thread is gone before its exit is reported, so its process
 * may already have started the next one. On a busy machine, several threads counted as alive
 * after the last exit may be gone. */
static void correct_thread_peak(struct process_events *events, enum member_group group,
                                uint64_t exit_ns)
{
    correct_event_peak(&events->thread_peaks[group], exit_ns, OUT_OF_ORDER_NS);
    events->thread_peaks[group].rest = events->now.threads[group];
}

static enum member_group group_of(const struct process_events *events, pid_t pid)
{
    return pid == events->main_pid ? GROUP_MAIN : GROUP_DESCENDANTS;
}

/* Sets the number of threads of a process; 0: it has exited. */
static void set_threads(struct process_events *events, struct process *process,
                        uint32_t threads)
{
    struct heads *now = &events->now;
    uint64_t *count = &now->threads[group_of(events, process->pid)];
    uint32_t before = process->threads;

    if (!process->is_foreign) {
        now->processes = now->processes + (threads > 0) - (before > 0);
        *count = *count + threads - before;
        now->threads[GROUP_JOB] = now->threads[GROUP_JOB] + threads - before;
        raise_heads(&events->peak, now);
    }
    process->threads = threads & THREADS_MASK;
}

/* Counts the live threads of a process, which exits with the last one. */
static uint32_t count_threads(const struct process_events *events, pid_t pid)
{
    struct pid_stat stat;

    if (pid_stat_read(NULL, events->root, pid, &stat) < 0 || stat.threads == 0)
        return 1;
    /* The first thread may have exited before the others, and is still counted. */
    return (uint32_t)(stat.threads - (stat.is_ending && stat.threads > 1));
}

static bool add_main(struct process_events *events)
{
    struct process *process = roster_add(events->roster, events->main_pid);

    if (!process)
        return false;
    events->started_count = events->started_tasks = 1;
    /* The connector reports the exit of every thread, the ring only of those that start later. */
    set_threads(events, process,
                events->connector.fd >= 0 ? count_threads(events, events->main_pid) : 1);
    events->settled_peak = events->peak;
    raise_event_peaks(events, 0);
    events->process_peak.settled = events->process_peak.count;
    return true;
}

void process_events_adopt(struct process_events *events, pid_t pid)
{
    struct process *process;

    if (!events->source)
        return;
    events->is_exact = false;
    process = roster_add(events->roster, pid);
    if (!process)
        return;
    if (process->threads == 0) /* the main process is counted from the start */
        events->started_count++;
    set_threads(events, process, count_threads(events, pid));
}

void process_events_resume(struct process_events *events)
{
    const struct roster *roster = events->roster;

    for (size_t i = 0; i < roster->count; i++) {
        const struct process *process = roster_find(roster, roster->list[i].id.pid);

        if (process && process->threads == 0 && process->ended_ns == 0)
            process_events_adopt(events, process->pid);
    }
    events->needs_search = false;
    events->is_complete = true;
}

/* Removes a process from the counts. The peaks without it are known only up to the last moment
 * when all new processes were known to belong to the job, so they fall back to their values at
 * that moment. */
static void disown(struct process_events *events, struct process *process)
{
    uint32_t threads = process->threads;

    set_threads(events, process, 0);
    process->is_foreign = true;
    process->threads = threads & THREADS_MASK; /* the exit of the process is still expected */
    events->started_count--;
    events->started_tasks -= threads;
    events->peak = events->settled_peak;
    raise_heads(&events->peak, &events->now);
    events->saw_agent = true;
}

void process_events_disown(struct process_events *events, pid_t pid)
{
    struct process *process = events->source ? roster_find(events->roster, pid) : NULL;

    if (!process || process->threads == 0 || process->is_foreign)
        return;
    disown(events, process);
    /* The intermediate process has exited; an exit record would contain its name. */
    if (events->taskstats.fd < 0 && process->parent_pid != 0 &&
        process->parent_pid != events->main_pid)
        events->started_count--;
}

/* ---- events ------------------------------------------------------------- */

static bool queue(struct pid_queue *queue, pid_t pid)
{
    if (reserve(&queue->pids, &queue->capacity, queue->count + 1, sizeof(pid)) < 0)
        return false;
    queue->pids[queue->count++] = pid;
    return true;
}

/* Whether a process belongs to the job. A process found by a search does, even if its fork was
 * not reported. */
static bool belongs(const struct process_events *events, pid_t pid)
{
    const struct process *process = roster_find(events->roster, pid);

    return process && !process->is_foreign &&
           (process->threads > 0 || process->is_recording ||
            (process->member != 0 && process->ended_ns == 0));
}

/* Returns the time of an event in clock ticks since boot, like start times in files. */
static uint64_t event_ticks(const struct process_event *event, uint64_t suspended_ns)
{
    return (event->time_ns + suspended_ns) / clock_tick_ns();
}

/* Whether the open process with this PID is the forked one, not an earlier one: a search may
 * find a process before its event is read. */
static bool is_open_already(const struct process_events *events, const struct process *process,
                            const struct process_event *fork)
{
    return process->member != 0 &&
           events->roster->list[process->member - 1].id.start_ticks + 1 >=
               event_ticks(fork, events->suspended_ns);
}

static void note_parent(struct process_events *events, pid_t pid)
{
    struct process *parent = roster_find(events->roster, pid);

    if (parent)
        parent->has_children = true;
}

static void note_fork(struct process_events *events, const struct process_event *event)
{
    struct process *process;

    if (event->is_thread) {
        process = roster_find(events->roster, event->pid);
        if (process && process->threads > 0) {
            events->started_tasks += !process->is_foreign;
            set_threads(events, process, process->threads + 1);
            raise_event_peaks(events, event->time_ns);
        }
        return;
    }
    if (events->is_machine_wide && !belongs(events, event->parent_pid))
        return;
    process = roster_add(events->roster, event->pid);
    if (process && is_open_already(events, process, event)) {
        if (process->threads > 0)
            return; /* the process was adopted */
    } else if (process) {
        process->member = 0;
    }
    events->started_count++;
    events->started_tasks++;
    note_parent(events, event->parent_pid);
    if (!process || !queue(&events->newborns, event->pid)) {
        mark_incomplete(events);
        return;
    }
    /* If the process is already alive, its exit was lost and its PID reused. */
    if (process->threads > 0)
        set_threads(events, process, 0);
    lives_start(events->lives, process, event->time_ns);
    process->is_foreign = process->is_recording = process->is_listed = false;
    process->has_wait_status = process->has_children = false;
    process->parent_pid = event->parent_pid;
    set_threads(events, process, 1);
    raise_event_peaks(events, event->time_ns);
}

/* Whether a process has memory. Without memory it is a zombie, or about to be one. (The
 * resident pages in stat do not help: they may read 0 for a small process.) */
static bool has_memory(const struct process_events *events, pid_t pid)
{
    struct pid_statm statm;

    return pid_statm_read(NULL, events->root, pid, &statm) == 0 && statm.size_pages > 0;
}

/* Whether a process still exists, is alive, and is not a new one with the same PID. perf
 * reports a process that executes a set-uid program as if it had exited. */
static bool lives_on(const struct process_events *events, const struct process_event *event)
{
    struct pid_stat stat;

    return (kill(event->pid, 0) == 0 || errno != ESRCH) && has_memory(events, event->pid) &&
           pid_stat_read(NULL, events->root, event->pid, &stat) == 0 &&
           stat.start_ticks <= event_ticks(event, clock_suspended_ns());
}

/* The process is released, or kept until its exit records are read. */
static void end_process(struct process_events *events, struct process *process)
{
    if (process->threads > 0) {
        set_threads(events, process, 0);
        process->ended_ns = clock_now().monotonic_ns;
    }
    process->is_recording = events->taskstats.fd >= 0 && !process->is_foreign &&
                            queue(&events->ended, process->pid);
    roster_release(events->roster, process);
}

static void note_exit(struct process_events *events, const struct process_event *event)
{
    struct process *process = roster_find(events->roster, event->pid);

    if (!process || process->threads == 0) {
        if (!events->is_machine_wide)
            mark_incomplete(events);
        return;
    }
    process->ended_ns = event->time_ns;
    set_threads(events, process, process->threads - 1);
    if (!process->is_foreign) {
        correct_thread_peak(events, group_of(events, event->pid), event->time_ns);
        correct_thread_peak(events, GROUP_JOB, event->time_ns);
    }
    if (process->threads > 0) {
        events->exited_threads += !process->is_foreign;
        return;
    }
    events->all_ended_ns = event->time_ns;
    if (!process->is_foreign)
        correct_event_peak(&events->process_peak, event->time_ns, 0);
    note_exit_status(events->roster, process, event);
    if (!events->is_machine_wide && !process->is_foreign && lives_on(events, event))
        mark_incomplete(events); /* children of the process are not reported */
    end_process(events, process);
}

void process_events_note(struct process_events *events, const struct process_event *event)
{
    if (event->kind == PROCESS_FORKED)
        note_fork(events, event);
    else
        note_exit(events, event);
}

bool process_events_note_record(struct process_events *events, const struct exit_record *record)
{
    struct process *process = roster_find(events->roster, record->tgid);
    enum member_group group = group_of(events, record->tgid);
    bool is_main = group == GROUP_MAIN;

    if (!process)
        return false;
    /* An agent, or the process that started it, exited before we could read it. */
    if (strcmp(record->name, SPOOR_AGENT_NAME) == 0 && !is_main && !process->is_foreign)
        disown(events, process);
    if (begins_with(record->name, OWN_PREFIX))
        return true;
    if (!process->is_foreign) {
        usage_add(&events->recorded, &record->usage);
        events->recorded_tasks++;
    }
    lives_note_record(process, record);
    if (!process->is_foreign)
        note_exit_record(events->roster, process, record, events->taskstats.skips_threads);
    if (is_main || !record->may_be_borrowed)
        raise_to(&events->peak_bytes[group], record->peak_rss_bytes);
    return true;
}

/* ---- open and close ----------------------------------------------------- */

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
    if (events->source && !add_main(events))
        process_events_close(events);
    if (!events->source)
        return;
    events->drained_ns = clock_now().monotonic_ns;
    events->suspended_ns = clock_suspended_ns();
    events->drain_gap_ns = GAP_LEAST_NS;
    events->is_exact = events->is_complete = true;
    if (events->ring.is_partial)
        mark_incomplete(events);
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
    if (events->lives && events->lives->count >= LIVES_MOMENTS_MAX / 2)
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
            end_process(events, process);
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
    mark_incomplete(events);
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
