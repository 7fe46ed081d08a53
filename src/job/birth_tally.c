/* SPDX-License-Identifier: Apache-2.0 */
/*
 * birth_tally.c - counts processes by their events.
 *
 * - A process has ended when its last thread has: the first may end before others, and if another
 *   calls exec, the first ends and the process lives on.
 * - The ring reports the job alone. The connector reports the whole machine: there a process is of the
 *   job if its parent is.
 * - An exit record comes before the event of the same end, but by another way. So ended processes are
 *   kept until the records that came meanwhile are read; and for a record of an unknown process the
 *   events are read first.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/arithmetic.h"
#include "base/clock.h"
#include "base/reserve.h"
#include "base/unknown.h"
#include "job/births.h"
#include "source/proc/pid_stat.h"
#include "source/proc/pid_statm.h"
#include "spoor/spoor.h"

#define OWN_PREFIX "spoor-" /* of the names of trackers' own threads and helpers: of no job */
#define THREADS_MASK ((1u << 29) - 1) /* what a process holds */

/* ---- how many live at once ---------------------------------------------- */

static void raise_heads(struct heads *peak, const struct heads *now)
{
    peak->processes = larger(peak->processes, now->processes);
    peak->main_threads = larger(peak->main_threads, now->main_threads);
    peak->descendants_threads = larger(peak->descendants_threads, now->descendants_threads);
    peak->threads = larger(peak->threads, now->threads);
}

/* Counts the threads of a process as so many; 0: it has ended. */
static void set_threads(struct births *births, struct process *process, uint32_t threads)
{
    struct heads *now = &births->now;
    uint64_t *count =
        process->pid == births->main_pid ? &now->main_threads : &now->descendants_threads;

    if (!process->is_foreign) {
        now->processes = now->processes + (threads > 0) - (process->threads > 0);
        *count = *count + threads - process->threads;
        now->threads = now->main_threads + now->descendants_threads;
        raise_heads(&births->peak, now);
    }
    process->threads = threads & THREADS_MASK;
}

bool births_add_main(struct births *births)
{
    struct process *process = members_add_process(births->members, births->main_pid);

    if (!process)
        return false;
    births->started_count = 1;
    set_threads(births, process, 1);
    births->settled_peak = births->peak;
    return true;
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
    struct process *process;

    if (!births->events)
        return;
    births_mark_inexact(births, "the job was already running");
    process = members_add_process(births->members, pid);
    if (!process)
        return;
    births->started_count +=
        process->threads == 0; /* the main one is there since the opening */
    set_threads(births, process, count_threads(births, pid));
}

void births_resume(struct births *births)
{
    const struct members *members = births->members;

    for (size_t i = 0; i < members->count; i++) {
        const struct process *process = members_process(members, members->list[i].pid);

        if (process && process->threads == 0 && process->ended_ns == 0)
            births_adopt(births, process->pid);
    }
    births->needs_search = false;
    births->is_complete = true;
}

/* What has lived since all new processes were known is not known without it: the peaks are those from
 * before. */
static void disown(struct births *births, struct process *process)
{
    uint32_t threads = process->threads;

    set_threads(births, process, 0);
    process->is_foreign = true;
    process->threads = threads & THREADS_MASK; /* its end is waited for */
    births->started_count--;
    births->peak = births->settled_peak;
    raise_heads(&births->peak, &births->now);
    births->saw_agent = true;
}

void births_disown(struct births *births, pid_t pid)
{
    struct process *process = births->events ? members_process(births->members, pid) : NULL;

    if (!process || process->threads == 0 || process->is_foreign)
        return;
    disown(births, process);
    /* The intermediate process has ended; an exit record of it has its name. */
    if (births->taskstats.fd < 0 && process->parent_pid != 0 &&
        process->parent_pid != births->main_pid)
        births->started_count--;
}

/* ---- events ------------------------------------------------------------- */

static bool queue(struct pid_queue *queue, pid_t pid)
{
    if (reserve(&queue->pids, &queue->capacity, queue->count + 1, sizeof(pid)) < 0)
        return false;
    queue->pids[queue->count++] = pid;
    return true;
}

/* A process that a search has found is known, though its fork was not reported. */
static bool belongs(const struct births *births, pid_t pid)
{
    const struct process *process = members_process(births->members, pid);

    return process && (process->threads > 0 || process->is_recording ||
                       (process->member != 0 && process->ended_ns == 0));
}

static uint64_t boot_clock_ns(void)
{
    struct timespec now = { 0 };

    (void)clock_gettime(CLOCK_BOOTTIME, &now); /* cannot fail for this clock */
    return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

/* When an event happened, in clock ticks since the boot: what files tell of the start of a process. */
static uint64_t event_ticks(const struct process_event *event)
{
    uint64_t tick_ns = NS_PER_SECOND / (uint64_t)sysconf(_SC_CLK_TCK);

    return (boot_clock_ns() - (clock_now().monotonic_ns - event->time_ns)) / tick_ns;
}

/* Whether the open process with that pid is the one that was forked, and not an earlier one: a search
 * may find a process before its event is read. */
static bool is_open_already(const struct births *births, const struct process *process,
                            const struct process_event *fork)
{
    return process->member != 0 &&
           births->members->list[process->member - 1].start_ticks + 1 >= event_ticks(fork);
}

static void note_fork(struct births *births, const struct process_event *event)
{
    struct process *process;

    if (event->is_thread) {
        process = members_process(births->members, event->pid);
        if (process && process->threads > 0)
            set_threads(births, process, process->threads + 1);
        return;
    }
    if (births->is_machine_wide && !belongs(births, event->parent_pid))
        return;
    process = members_add_process(births->members, event->pid);
    if (process && is_open_already(births, process, event)) {
        if (process->threads > 0)
            return; /* it was adopted */
    } else if (process) {
        process->member = 0;
    }
    births->started_count++;
    if (!process || !queue(&births->newborns, event->pid)) {
        births_mark_incomplete(births, "too many processes to follow");
        return;
    }
    /* If it lives already, its end was lost and its number used again. */
    if (process->threads > 0)
        set_threads(births, process, 0);
    lives_start(&births->lives, process, event->time_ns);
    process->is_foreign = process->is_recording = false;
    process->parent_pid = event->parent_pid;
    set_threads(births, process, 1);
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
    struct pid_stat stat;

    return (kill(event->pid, 0) == 0 || errno != ESRCH) && has_memory(births, event->pid) &&
           pid_stat_read_once(births->root, event->pid, &stat) == 0 &&
           stat.start_ticks <= event_ticks(event);
}

void births_end(struct births *births, struct process *process)
{
    if (process->threads > 0) {
        set_threads(births, process, 0);
        process->ended_ns = clock_now().monotonic_ns;
    }
    process->is_recording = births->taskstats.fd >= 0 && !process->is_foreign &&
                            queue(&births->ended, process->pid);
    members_release(births->members, process);
}

static void note_exit(struct births *births, const struct process_event *event)
{
    struct process *process = members_process(births->members, event->pid);

    if (!process || process->threads == 0) {
        if (!births->is_machine_wide)
            births_mark_incomplete(births, "an exit event without a fork event");
        return;
    }
    process->ended_ns = event->time_ns;
    set_threads(births, process, process->threads - 1);
    if (process->threads > 0)
        return;
    if (!births->is_machine_wide && !process->is_foreign && lives_on(births, event))
        births_mark_incomplete(births,
                               "the job ran a set-uid program, whose children are not seen");
    births_end(births, process);
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

bool births_note_record(struct births *births, const struct exit_record *record)
{
    struct process *process = members_process(births->members, record->tgid);
    bool is_main = record->tgid == births->main_pid;
    uint64_t *peak = is_main ? &births->main_peak_bytes : &births->largest_peak_bytes;

    if (!process)
        return false;
    /* An agent, or the process that started it, that has ended before it could be looked at. */
    if (strcmp(record->name, SPOOR_AGENT_NAME) == 0 && !is_main && !process->is_foreign)
        disown(births, process);
    if (strncmp(record->name, OWN_PREFIX, strlen(OWN_PREFIX)) == 0)
        return true;
    lives_note_record(process, record);
    if (is_main || !record->may_be_borrowed)
        raise_to(peak, record->peak_rss_bytes);
    return true;
}
