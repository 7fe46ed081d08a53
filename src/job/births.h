/* SPDX-License-Identifier: Apache-2.0 */
/*
 * births.h - process events: how many processes a job started, how many processes and threads
 * it had at once, and the peak memory of those that exited. Unlike sampling, events do not miss
 * short-lived processes.
 *
 * The better of two sources is used: perf's ring buffer of forks and exits, or the proc
 * connector. For root, exit records (taskstats) add the memory peaks.
 */
#ifndef JOB_BIRTHS_H
#define JOB_BIRTHS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/root.h"
#include "job/lives.h"
#include "job/members.h"
#include "source/events/fork_ring.h"
#include "source/events/proc_connector.h"
#include "source/events/taskstats.h"

struct births_source; /* one of the two */

/* How many live at once. */
struct heads {
    uint64_t processes;
    uint64_t main_threads;
    uint64_t descendants_threads;
    uint64_t threads; /* of both */
};

struct pid_queue {
    pid_t *pids; /* owned */
    size_t count, capacity;
};

struct births {
    /* For the caller to read; as of the last drain. Processes, not threads, including the main
     * process. UNKNOWN if there is no source. */
    const char *source; /* "perf.fork-ring", "proc-connector" or NULL */
    char reason[192];   /* why there is no source, or why it is not exact; or empty */
    bool is_exact;
    uint64_t started_count;
    struct heads now;
    struct heads peak;         /* the connector may count one more per CPU, see there */
    struct heads settled_peak; /* when every new process was last known to belong */
    bool saw_agent;            /* what lived while it was not known is not in the peaks */
    uint64_t drained_ns;       /* when it was last drained; monotonic */
    uint64_t drain_gap_ns;     /* until the next drain; follows the rate of events */
    /* Every new process is reported: no search is needed to find them. */
    bool is_complete;
    bool
        needs_search; /* it will be, when those that were missed are adopted; see births_resume() */

    /* Largest peak of resident memory of exited processes; UNKNOWN: none was reported. */
    bool has_peaks; /* exit records are available, and none was lost */
    uint64_t main_peak_bytes;
    uint64_t largest_peak_bytes; /* of one process other than the main one */

    /* Private. */
    const struct root *root; /* borrowed */
    pid_t main_pid;
    const struct births_source *events;
    bool is_machine_wide; /* its events are not limited to the job */
    struct fork_ring ring;
    struct proc_connector connector;
    struct taskstats_socket taskstats;
    struct members *members;   /* borrowed */
    struct lives lives;        /* of descendants, with exit records */
    uint64_t lost_count;       /* lost events, as of the last drain */
    size_t event_count;        /* read since the last drain */
    uint64_t records_read_ns;  /* when exit records were last read; monotonic */
    struct pid_queue newborns; /* not announced yet, parents first */
    struct pid_queue ended;    /* whose exit records may still come */
    struct {
        struct exit_record *list; /* owned */
        size_t count, capacity;
        size_t old_count; /* the first of them were there at the last drain */
    } records;            /* of processes that are not known */
};

/* Opens the best available source that is not in `disabled` (rungs.h), if any. Call this while
 * the main process has neither children nor threads. */
void births_open(struct births *births, const struct root *root, struct members *members,
                 pid_t main_pid, unsigned disabled);

/* Adds a process of a job that was already running. The counts are then not exact. */
void births_adopt(struct births *births, pid_t pid);

/* After a search for processes whose events were lost: adopts what is open. */
void births_resume(struct births *births);

/* Removes a process that turns out to be an agent, and the short-lived intermediate process that
 * started it: neither belongs to the job. */
void births_disown(struct births *births, pid_t pid);

/* Accepts a zeroed one. */
void births_close(struct births *births);

/* Reads all pending events. */
void births_drain(struct births *births);

/* Called for a new process. Returns true to be called again next time. */
typedef bool births_born(pid_t pid, void *data);

/* Calls `born` for each new process that was still alive at the last drain and had started by
 * `until_ns`, except the main one: parents first, and each once. */
void births_announce(struct births *births, uint64_t until_ns, births_born *born, void *data);

/* Whether a process other than the main one lives. Right after a drain at the end of the main
 * process, that is whether one outlived it: a fork is reported before it returns. Its own exit
 * may or may not have been read. */
static inline bool births_outlive_main(const struct births *births)
{
    const struct process *main = members_process(births->members, births->main_pid);

    return births->now.processes > (main && main->threads > 0);
}

/* ---- among the files of births ---- */

bool births_add_main(struct births *births);
void births_note(struct births *births, const struct process_event *event);
/* False: the process is not known, yet or at all. */
bool births_note_record(struct births *births, const struct exit_record *record);
/* A process has ended. It is released, or kept until its exit records are read. */
void births_end(struct births *births, struct process *process);
void births_mark_inexact(struct births *births, const char *why);
/* New processes may be missed from now on, or were. */
void births_mark_incomplete(struct births *births, const char *why);

#endif
