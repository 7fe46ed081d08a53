/* SPDX-License-Identifier: Apache-2.0 */
/*
 * births.h - how many processes a job started and had at once, and the peak memory of those
 * that ended, from events instead of looks: nothing is too short to be seen.
 *
 * The best of two sources serves: perf's ring of forks and exits, else the proc connector.
 * Beside either, where root allows it, exit records tell peaks of memory.
 */
#ifndef JOB_BIRTHS_H
#define JOB_BIRTHS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/root.h"
#include "job/pid_set.h"
#include "source/events/fork_ring.h"
#include "source/events/proc_connector.h"
#include "source/events/taskstats.h"

struct births_source; /* one of the two */

struct births {
    /* For the caller to read, true as of the last drain. Processes, not threads; the main one
     * counts as the first. UNKNOWN where no source serves. */
    const char *source; /* "perf.fork-ring", "proc-connector" or NULL */
    char reason[192];   /* why there is none, or why it is not exact; else empty */
    bool is_exact;
    uint64_t started_count;
    uint64_t live_count;
    uint64_t max_concurrent; /* by the connector up to one more for each CPU, see there */
    unsigned drain_ms;       /* how often to drain, see births_fd() */

    /* Largest peak of resident memory of ended processes; UNKNOWN: none was told. One that
     * was vforked and ran no program of its own has its parent's memory, and peak. */
    bool has_peaks; /* exit records come, and none was lost */
    uint64_t main_peak_bytes;
    uint64_t largest_peak_bytes; /* of one process other than the main one */

    /* Ours. */
    const struct root *root; /* borrowed */
    pid_t main_pid;
    const struct births_source *events;
    bool is_machine_wide; /* its events are not the job's alone */
    struct fork_ring ring;
    struct proc_connector connector;
    struct taskstats_socket taskstats;
    struct pid_set pids;
    uint64_t lost_count;      /* what the source said at the last drain */
    uint64_t records_read_ns; /* when exit records were read last; monotonic */
    bool must_filter;         /* there are new or ended ones in `pids` */
};

/* Opens what it can of the sources that `disabled` (rungs.h) does not name, falling to none.
 * To be called while the main process has neither children nor threads. */
void births_open(struct births *births, const struct root *root, pid_t main_pid,
                 unsigned disabled);

/* A process that is of the job already, where that was running when we came. Such counts are
 * not exact. */
void births_adopt(struct births *births, pid_t pid);

/* A process that was counted turns out to be an agent, made by a go-between that was gone at
 * once: neither is of the job. The most at once stays as it was seen. */
void births_disown(struct births *births, pid_t pid);

/* Accepts a zeroed one. */
void births_close(struct births *births);

/* When to drain, beside at each sample: -1: every `drain_ms` while the job is busy, which
 * costs next to nothing where nothing happened. Else a descriptor that is readable at every
 * event: when it is, but no sooner than `drain_ms` after the last time. */
int births_fd(const struct births *births);

/* Told of a new process. True: tell again at the next drain. */
typedef bool births_born(pid_t pid, void *data);

/* Reads all there is. `born` (may be NULL) is told of each new process that still lives, the
 * main one apart. */
void births_drain(struct births *births, births_born *born, void *data);

/* What a drain does with each event. */
void births_note(struct births *births, const struct process_event *event);

#endif
