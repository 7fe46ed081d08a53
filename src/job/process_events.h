/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_events.h - forks and exits: how many processes a job started, how many processes and
 * threads it had at once, and the peak memory of those that exited. Unlike sampling, events do not
 * miss short-lived processes.
 *
 * The better of two sources is used: the proc connector, or perf's ring buffer of forks and exits. For
 * root, exit records (taskstats) add the memory peaks.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/root.h"
#include "job/lives.h"
#include "job/roster.h"
#include "source/events/fork_ring.h"
#include "source/events/proc_connector.h"
#include "source/events/taskstats.h"
#include "source/proc/usage.h"

/* Processes and threads alive at once. */
struct heads {
    uint64_t processes;
    uint64_t threads[GROUP_COUNT];
};

struct pid_queue {
    pid_t *pids; /* owned */
    size_t count, capacity;
};

/* The most processes or threads at once, by event times: the connector may reorder events. */
struct event_peak {
    uint64_t count;
    uint64_t time_ns;   /* time of the fork that raised `count` */
    uint64_t confirmed; /* the part of `count` that no late event can lower */
    uint64_t settled;   /* value when every new process was last known to belong to the job */
    uint64_t rest;      /* threads: number alive after the last exit */
    uint64_t doubtful;  /* threads: the part of the peak that was alive after the last exit */
};

struct process_events {
    /* For the caller to read, as of the last drain. Counts are of processes, not threads, and
     * include the main process. UNKNOWN if there is no source. */
    const char *source; /* "perf.fork-ring", "proc-connector" or NULL */
    bool is_exact;
    uint64_t started_count;
    struct heads now;
    uint64_t all_ended_ns; /* when the last process exited, if none is alive; monotonic */
    struct heads peak;     /* the connector may count one more per CPU, see proc_connector.h */
    struct heads settled_peak; /* values when all new processes were last known to belong */
    struct event_peak process_peak, thread_peaks[GROUP_COUNT];
    bool saw_agent;      /* an agent was seen: the peaks lack processes alive before that */
    uint64_t drained_ns; /* time of the last drain; monotonic */
    /* clock_suspended_ns() before the last drain: before all events that arrive now. */
    uint64_t suspended_ns;
    uint64_t drain_gap_ns; /* time until the next drain; follows the rate of events */
    /* Every new process is reported: no search is needed. */
    bool is_complete;
    bool needs_search; /* a search is needed, then process_events_resume() */
    /* Events were incomplete at some time: a process may be alive even though its exit was
     * reported, or its start was not. */
    bool was_incomplete;

    /* Largest peak of resident memory of exited processes; UNKNOWN: none was reported. */
    bool has_peaks; /* exit records are available, and none was lost */
    uint64_t peak_bytes[GROUP_JOB];

    /* Threads, including first threads: started ones, and exited ones with a record. */
    uint64_t started_tasks, recorded_tasks;
    uint64_t exited_threads; /* exited threads that were not the last of their process */
    struct usage recorded;   /* usage of the recorded threads, without CPU times */

    /* Private. */
    const struct root *root; /* borrowed */
    pid_t main_pid;
    bool is_machine_wide; /* events are not limited to the job */
    struct fork_ring ring;
    struct proc_connector connector;
    struct taskstats_socket taskstats;
    struct roster *roster;     /* borrowed */
    struct lives *lives;       /* lives of descendants, from exit records; owned */
    uint64_t lost_count;       /* events lost until the last drain */
    size_t event_count;        /* events read since the last drain */
    uint64_t records_read_ns;  /* when exit records were last read; monotonic */
    struct pid_queue newborns; /* new processes that were not announced yet, parents first */
    struct pid_queue ended;    /* processes whose exit records may still arrive */
    struct {
        struct exit_record *list; /* owned */
        size_t count, capacity;
    } records; /* exit records of unknown processes */
};

/* Opens the best available source that is not in `disabled` (source_names.h), if any. Call this while
 * the main process has neither children nor threads. */
void process_events_open(struct process_events *events, const struct root *root,
                         struct roster *roster, pid_t main_pid, unsigned disabled);

/* Adds a process of a job that was already running. This makes the counts inexact. */
void process_events_adopt(struct process_events *events, pid_t pid);

/* Called after a search for processes whose events were lost: adopts all open processes. */
void process_events_resume(struct process_events *events);

/* Removes an agent, and the short-lived process that started it: neither belongs to the job. */
void process_events_disown(struct process_events *events, pid_t pid);

/* Accepts a zeroed struct. */
void process_events_close(struct process_events *events);

/* Reads all pending events. Exit records are read if a process of the job has exited, for
 * samples, and now and then. */
void process_events_drain(struct process_events *events, bool is_sample);

/* Callback for a new process. Returns true if it must be called again for this process. */
typedef bool process_events_born(pid_t pid, void *data);

/* Calls `born` for each new process that was still alive at the last drain and had started by
 * `until_ns`, except the main one: parents first, and each once. */
void process_events_announce(struct process_events *events, uint64_t until_ns,
                             process_events_born *born, void *data);

/* Returns when the last process of the job exited, according to its event: the tracker may have
 * been stopped at that time. 0: a process is alive, or the time is unknown. */
static inline uint64_t process_events_ended_ns(const struct process_events *events)
{
    return events->source && events->now.processes == 0 && !events->was_incomplete
               ? events->all_ended_ns
               : 0;
}

/* Whether a process other than the main one is alive. Right after a drain at the exit of the
 * main process, this shows whether another process outlived it, because a fork is reported
 * before fork() returns. The exit of the main process may or may not have been read. */
static inline bool process_events_outlive_main(const struct process_events *events)
{
    const struct process *main = roster_find(events->roster, events->main_pid);

    return events->now.processes > (main && main->threads > 0);
}

/* Whether an exit record came for every thread that was started. */
static inline bool process_events_has_all_records(const struct process_events *events)
{
    return events->has_peaks && events->recorded_tasks > 0 &&
           events->recorded_tasks == events->started_tasks;
}

/* process_events_drain() calls both. The second one takes an exit record; it returns false if the
 * process is unknown, for now or for good. */
void process_events_note(struct process_events *events, const struct process_event *event);
bool process_events_note_record(struct process_events *events,
                                const struct exit_record *record);

/* process_notes.c: what the exit of a process of the job, and its exit records, add to the table
 * of processes. `skips_threads`: there are no records of single threads. */
void note_exit_status(struct roster *roster, struct process *process,
                      const struct process_event *event);
void note_exit_record(struct roster *roster, struct process *process,
                      const struct exit_record *record, bool skips_threads);
