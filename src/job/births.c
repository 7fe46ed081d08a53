/* SPDX-License-Identifier: Apache-2.0 */
/*
 * births.c - counts processes by the events of their lives.
 *
 * - A process has ended when its last thread has: the first may end before others, and where
 *   another calls exec, the first ends and the process lives on.
 * - The ring tells of the job alone. The connector tells of the whole machine: there a process
 *   is of the job if its parent is.
 * - An exit record comes before the event of the same end, but by another way. So numbers of
 *   ended processes are kept until the records that came meanwhile are read; and for a record
 *   of an unknown process that would matter the events are read first.
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
#include "base/unknown.h"
#include "job/rungs.h"
#include "source/proc/pid_stat.h"
#include "source/proc/pid_statm.h"
#include "spoor/spoor.h"

#define RECORDS_EVERY_NS (100 * NS_PER_MS)
#define GAP_LEAST_NS (5 * NS_PER_MS)
#define GAP_MOST_NS (100 * NS_PER_MS)
#define FASTEST_EVENT_NS (50 * NS_PER_US) /* a small machine that does nothing but fork */
#define OWN_PREFIX "spoor-" /* of the names of trackers' own threads and helpers: of no job */
#define THREADS_MASK ((1u << 30) - 1) /* what a pid_entry holds */

struct births_source {
    unsigned rung;
    const char *source;
    const char *name; /* in a reason */
    bool is_machine_wide;
    int (*open)(struct births *births);
    void (*drain)(struct births *births);
    uint64_t (*lost_count)(const struct births *births);
};

/* ---- the two sources ---------------------------------------------------- */

static void note(const struct process_event *event, void *data)
{
    births_note(data, event);
}

static int open_ring(struct births *births)
{
    return fork_ring_open(births->root, births->main_pid, &births->ring);
}

/* A ring of 32 pages is full after some 25 ms of threads made as fast as one CPU can. */
static void drain_ring(struct births *births)
{
    fork_ring_drain(&births->ring, note, births);
    births->drain_gap_ns = 20 * NS_PER_MS;
}

static uint64_t lost_by_ring(const struct births *births)
{
    return births->ring.lost_count + births->ring.was_full;
}

static int open_connector(struct births *births)
{
    return proc_connector_open(births->root, &births->connector);
}

/* The gap is short enough for a sudden storm; and, while there is one, for the next events to fill a
 * quarter of the buffer. */
static void set_connector_gap(struct births *births, size_t event_count, uint64_t now_ns)
{
    uint64_t room = births->connector.capacity, gap_ns = room * FASTEST_EVENT_NS;

    if (event_count > 0)
        gap_ns = smaller(gap_ns, (now_ns - births->drained_ns) / event_count * room / 4);
    births->drain_gap_ns = larger(smaller(gap_ns, GAP_MOST_NS), GAP_LEAST_NS);
}

static void drain_connector(struct births *births)
{
    uint64_t now_ns = clock_now().monotonic_ns;

    set_connector_gap(births, proc_connector_drain(&births->connector, note, births), now_ns);
    births->drained_ns = now_ns;
}

static uint64_t lost_by_connector(const struct births *births)
{
    return births->connector.lost_count;
}

/* Best first: the ring costs the job at each fork and context switch. */
static const struct births_source sources[] = {
    { RUNG_CONNECTOR, "proc-connector", "proc connector", true, open_connector, drain_connector,
      lost_by_connector },
    { RUNG_RING, "perf.fork-ring", "perf's fork ring", false, open_ring, drain_ring,
      lost_by_ring },
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

static void mark_inexact(struct births *births, const char *why)
{
    if (!births->is_exact)
        return; /* the first reason is enough */
    births->is_exact = false;
    add_reason(births, "%s", why);
}

/* New processes may be missed from now on, or were. */
static void mark_incomplete(struct births *births, const char *why)
{
    births->is_complete = false;
    mark_inexact(births, why);
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

static void change_heads(struct births *births, struct pid_entry *entry, uint32_t threads,
                         int processes, pid_t parent_pid)
{
    struct head_change change = { entry->pid, parent_pid, processes,
                                  (int)threads - (int)entry->threads,
                                  entry->pid == births->main_pid };

    entry->threads = threads & THREADS_MASK;
    if (!entry->is_disowned)
        head_count_change(&births->heads, change);
}

/* Counts the threads of a process as so many; 0: it has ended. */
static void set_threads(struct births *births, struct pid_entry *entry, uint32_t threads)
{
    change_heads(births, entry, threads, threads == 0 ? -1 : 0, 0);
}

/* Counts a process that has no threads so far. */
static void start(struct births *births, struct pid_entry *entry, pid_t parent_pid,
                  uint32_t threads)
{
    change_heads(births, entry, threads, 1, parent_pid);
}

static bool add_main(struct births *births)
{
    struct pid_entry *entry = pid_set_add(&births->pids, births->main_pid);

    if (!entry)
        return false;
    births->started_count = 1;
    start(births, entry, 0, 1);
    head_count_settle(&births->heads);
    return true;
}

void births_open(struct births *births, const struct root *root, pid_t main_pid,
                 unsigned disabled)
{
    *births = (struct births){
        .started_count = UNKNOWN,
        .main_peak_bytes = UNKNOWN,
        .largest_peak_bytes = UNKNOWN,
        .root = root,
        .main_pid = main_pid,
        .connector = PROC_CONNECTOR_CLOSED,
        .taskstats = TASKSTATS_CLOSED,
    };
    for (size_t i = 0; i < ARRAY_SIZE(sources) && !births->events; i++)
        (void)open_source(births, &sources[i], disabled); /* it says why not */
    if (!births->events)
        return;
    if (!add_main(births)) {
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

/* Its threads that live: each will be told to end, and it is over with the last. */
static uint32_t count_threads(const struct births *births, pid_t pid)
{
    struct pid_stat stat;

    if (pid_stat_read_once(births->root, pid, &stat) < 0 || stat.threads == 0)
        return 1;
    /* The first one may have ended before the others, and stays in the count. */
    return (uint32_t)(stat.threads - (stat.is_ending && stat.threads > 1));
}

void births_adopt(struct births *births, pid_t pid)
{
    struct pid_entry *entry;

    if (!births->events)
        return;
    mark_inexact(births, "the job was already running");
    births->adopted_ns = clock_now().monotonic_ns;
    entry = pid_set_add(&births->pids, pid);
    if (!entry)
        return;
    /* The main one is there since the opening. */
    if (entry->threads > 0) {
        set_threads(births, entry, count_threads(births, pid));
        return;
    }
    births->started_count++;
    start(births, entry, 0, count_threads(births, pid));
}

void births_disown(struct births *births, pid_t pid)
{
    struct pid_entry *entry = births->events ? pid_set_find(&births->pids, pid) : NULL;
    uint32_t threads = entry ? entry->threads : 0;
    pid_t parent_pid;

    if (!entry || entry->threads == 0 || entry->is_disowned)
        return;
    if (head_count_forget(&births->heads, pid, &parent_pid)) {
        entry->is_disowned = true;
        births->started_count -= parent_pid != 0 ? 2 : 1;
        entry = pid_set_find(&births->pids, parent_pid);
        if (entry)
            entry->is_disowned = true; /* until its end */
        return;
    }
    set_threads(births, entry, 0);
    entry->threads = threads & THREADS_MASK;
    entry->is_disowned = true;
    births->started_count -= births->started_count > 2 ? 2 : 1;
}

void births_close(struct births *births)
{
    if (!births->root)
        return;
    fork_ring_close(&births->ring);
    proc_connector_close(&births->connector);
    taskstats_close(&births->taskstats);
    pid_set_done(&births->pids);
    head_count_done(&births->heads);
    lives_close(&births->lives);
    free(births->newborns);
    births->newborns = NULL;
    births->newborn_count = births->newborn_capacity = 0;
    births->events = NULL;
}

int births_fd(const struct births *births)
{
    return births->events ? births->connector.fd : -1;
}

/* ---- events ------------------------------------------------------------- */

static bool add_newborn(struct births *births, pid_t pid)
{
    if (births->newborn_count == births->newborn_capacity) {
        size_t capacity = births->newborn_capacity ? 2 * births->newborn_capacity : 64;
        pid_t *newborns = realloc(births->newborns, capacity * sizeof(*newborns));

        if (!newborns)
            return false;
        births->newborns = newborns;
        births->newborn_capacity = capacity;
    }
    births->newborns[births->newborn_count++] = pid;
    return true;
}

static void note_fork(struct births *births, const struct process_event *event)
{
    struct pid_entry *entry;

    if (event->is_thread) {
        entry = pid_set_find(&births->pids, event->pid);
        if (entry && entry->threads > 0)
            set_threads(births, entry, entry->threads + 1);
        return;
    }
    if (births->is_machine_wide && !pid_set_find(&births->pids, event->parent_pid))
        return;
    entry = pid_set_find(&births->pids, event->pid);
    if (entry && event->time_ns < births->adopted_ns)
        return;
    births->started_count++;
    entry = pid_set_add(&births->pids, event->pid);
    if (!entry || !add_newborn(births, event->pid)) {
        mark_incomplete(births, "too many processes to follow");
        return;
    }
    /* If it lives already, its end was lost and its number used again. */
    if (entry->threads > 0)
        set_threads(births, entry, 0);
    lives_start(&births->lives, entry, event->time_ns);
    entry->is_disowned = false;
    start(births, entry, event->parent_pid, 1);
}

static uint64_t boot_clock_ns(void)
{
    struct timespec now = { 0 };

    (void)clock_gettime(CLOCK_BOOTTIME, &now); /* cannot fail for this clock */
    return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

/* Without memory it is a zombie, or on its way to be one. (stat's count of resident pages is
 * no help: of a small process it may read 0.) */
static bool has_memory(const struct births *births, pid_t pid)
{
    struct kept file = KEPT_CLOSED;
    struct pid_statm statm;
    int r = pid_statm_read(&file, births->root, pid, &statm);

    kept_close(&file);
    return r == 0 && statm.size_pages > 0;
}

/* Perf lets go of a process that starts a set-uid program as if it had ended. Is it there, is
 * it alive, and not another one that was given the number since? */
static bool lives_on(const struct births *births, const struct process_event *event)
{
    struct kept file = KEPT_CLOSED;
    uint64_t tick_ns = NS_PER_SECOND / (uint64_t)sysconf(_SC_CLK_TCK);
    struct pid_stat stat;
    int r;

    if ((kill(event->pid, 0) < 0 && errno == ESRCH) || !has_memory(births, event->pid))
        return false;
    r = pid_stat_read(&file, births->root, event->pid, &stat);
    kept_close(&file);
    return r == 0 && stat.start_ticks * tick_ns <=
                         boot_clock_ns() - (clock_now().monotonic_ns - event->time_ns);
}

static void note_exit(struct births *births, const struct process_event *event)
{
    struct pid_entry *entry = pid_set_find(&births->pids, event->pid);

    if (!entry || entry->threads == 0) {
        if (!births->is_machine_wide)
            mark_incomplete(births, "an exit event without a fork event");
        return;
    }
    set_threads(births, entry, entry->threads - 1);
    entry->ended_ns = event->time_ns;
    if (entry->threads > 0)
        return;
    if (entry->is_disowned) {
        pid_set_remove(&births->pids, entry);
        return;
    }
    if (!births->is_machine_wide && lives_on(births, event))
        mark_incomplete(births, "the job ran a set-uid program, whose children are not seen");
    if (births->taskstats.fd >= 0)
        births->must_filter = true;
    else
        pid_set_remove(&births->pids, entry);
}

void births_note(struct births *births, const struct process_event *event)
{
    switch (event->kind) {
    case PROCESS_FORKED:
        note_fork(births, event);
        break;
    case PROCESS_EXITED:
        note_exit(births, event);
        break;
    }
}

/* An agent, or the process that started it, that has ended before it could be looked at. */
static void disown_ended(struct births *births, pid_t pid)
{
    struct pid_entry *entry;

    if (!pid_set_find(&births->pids, pid))
        births->events->drain(births);
    entry = pid_set_find(&births->pids, pid);
    if (!entry || entry->is_disowned || !head_count_forget(&births->heads, pid, NULL))
        return;
    entry->is_disowned = true;
    births->started_count--;
}

static void note_record(const struct exit_record *record, void *data)
{
    struct births *births = data;
    bool is_main = record->tgid == births->main_pid;
    uint64_t *peak = is_main ? &births->main_peak_bytes : &births->largest_peak_bytes;
    struct pid_entry *entry;

    if (strcmp(record->name, SPOOR_AGENT_NAME) == 0 && !is_main)
        disown_ended(births, record->tgid);
    if (!pid_set_find(&births->pids, record->tgid))
        births->events->drain(births);
    entry = pid_set_find(&births->pids, record->tgid);
    if (!entry || strncmp(record->name, OWN_PREFIX, strlen(OWN_PREFIX)) == 0)
        return;
    lives_note_record(entry, record);
    if (is_main || !record->may_be_borrowed)
        raise_to(peak, record->peak_rss_bytes);
}

/* Records of the whole machine pile up where none of ours ends. */
static void drain_records(struct births *births)
{
    uint64_t now_ns = clock_now().monotonic_ns;

    if (!births->must_filter && now_ns - births->records_read_ns < RECORDS_EVERY_NS)
        return;
    births->records_read_ns = now_ns;
    taskstats_drain(&births->taskstats, note_record, births);
}

/* ---- drain -------------------------------------------------------------- */

/* After a loss we may wait for ends that were told to nobody. */
static bool still_exists(struct pid_entry *entry, void *data)
{
    struct births *births = data;

    if (entry->threads == 0 || kill(entry->pid, 0) == 0 || errno != ESRCH)
        return true;
    set_threads(births, entry, 0);
    return false;
}

static void check_losses(struct births *births)
{
    uint64_t lost_count = births->events->lost_count(births);

    if (births->taskstats.lost_count > 0 ||
        (!births->taskstats.has_records && births->heads.now.processes < births->started_count))
        births->has_peaks = false;
    if (lost_count == births->lost_count)
        return;
    births->lost_count = lost_count;
    mark_incomplete(births,
                    "events were lost: processes started faster than events could be read");
    pid_set_filter(&births->pids, still_exists, births);
}

static bool is_needed(struct pid_entry *entry, void *data)
{
    return lives_visit(data, entry);
}

void births_drain(struct births *births)
{
    if (!births->events)
        return;
    births->events->drain(births);
    if (births->taskstats.fd >= 0)
        drain_records(births);
    check_losses(births);
    if (!births->must_filter)
        return;
    pid_set_filter(&births->pids, is_needed, &births->lives);
    births->must_filter = false;
    lives_settle(&births->lives);
}

void births_announce(struct births *births, uint64_t until_ns, births_born *born, void *data)
{
    size_t kept = 0;

    for (size_t i = 0; i < births->newborn_count; i++) {
        pid_t pid = births->newborns[i];
        const struct pid_entry *entry = pid_set_find(&births->pids, pid);

        if (!entry || entry->threads == 0)
            continue;
        if (entry->started_ns > until_ns || born(pid, data))
            births->newborns[kept++] = pid;
    }
    births->newborn_count = kept;
    if (kept == 0)
        head_count_settle(&births->heads);
}
