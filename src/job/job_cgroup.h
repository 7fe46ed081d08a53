/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_cgroup.h - the job cgroup: a cgroup for the job alone, with exact totals from the kernel.
 *
 * Everything the job starts stays in it, even if its parent exits. On version 2 a cgroup
 * without controllers has CPU time, pressure and the list of processes; memory and pids need a
 * controller delegated by the parent cgroup. On version 1 each controller has its own
 * hierarchy, so there is one folder per controller.
 *
 * The job cgroup is created below the tracker's own, so that all limits still apply. It is
 * removed at the end; remaining processes go back to the parent cgroup. If it cannot count
 * memory, systemd may provide a cgroup, which systemd removes once it is empty.
 *
 * An existing cgroup is only read. Its peaks cover its whole life, so they count only if they
 * rise during the run. An adopted cgroup is the job: everything in it belongs to the job. A
 * surrounding cgroup also contains the tracker (surrounding.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/amount.h"
#include "base/environment.h"
#include "base/root.h"
#include "cgroup/cgroup.h"
#include "cgroup/systemd_scope.h"
#include "source/host/host.h"
#include "source/proc/children.h"
#include "spoor/spoor.h"

struct job_cgroup_folder {
    struct cgroup parent;
    struct cgroup own;
    bool is_made; /* the folder exists and contains the job */
};

/* The files kept open. */
enum job_cgroup_file {
    JOB_CGROUP_FILE_CPU_STAT,
    JOB_CGROUP_FILE_CPU, /* this and the next two: version 1 */
    JOB_CGROUP_FILE_CPU_USER,
    JOB_CGROUP_FILE_CPU_SYSTEM,
    JOB_CGROUP_FILE_MEMORY_PEAK,
    JOB_CGROUP_FILE_MEMORY_CURRENT,
    JOB_CGROUP_FILE_MEMORY_STAT,
    JOB_CGROUP_FILE_THREADS_PEAK,
    JOB_CGROUP_FILE_IO,
    JOB_CGROUP_FILE_PROCS,
    JOB_CGROUP_FILE_PRESSURE, /* pressure of CPU, memory and I/O */
    JOB_CGROUP_FILE_COUNT = JOB_CGROUP_FILE_PRESSURE + PRESSURE_COUNT,
};

/* Totals since the cgroup was created. UNKNOWN: not available. */
struct job_cgroup_reading {
    struct cgroup_cpu cpu;
    bool split_is_by_ticks;     /* version 1: only the sum of user and system time is counted */
    uint64_t memory_peak_bytes; /* including page cache and kernel memory */
    bool memory_peak_is_sampled; /* the largest value seen: the kernel's peak is older */
    struct cgroup_memory memory;
    uint64_t threads_peak;
    struct cgroup_io io;
    uint64_t pressure_ns[PRESSURE_COUNT];
    bool is_gone; /* the cgroup was removed: these are the last values */
};

#define JOB_CGROUP_READING_UNKNOWN                                                          \
    {                                                                                       \
        .cpu = { UNKNOWN, UNKNOWN, UNKNOWN }, .memory_peak_bytes = UNKNOWN,                 \
        .memory = { UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN }, .threads_peak = UNKNOWN, \
        .io = { UNKNOWN, UNKNOWN }, .pressure_ns = { UNKNOWN, UNKNOWN, UNKNOWN },           \
    }

struct job_cgroup {
    const struct root *root; /* borrowed; NULL: there is no job cgroup */
    char name[48];           /* "spoor-PID-RANDOM" */
    struct job_cgroup_folder folders[CGROUP_TREE_COUNT];
    bool is_adopted; /* the cgroup was not created by us, and everything in it is the job */
    struct cgroup adopted; /* the adopted cgroup */
    bool is_surrounding; /* the cgroup was not created by us either, and contains the tracker */
    struct job_cgroup_reading others; /* usage in a surrounding cgroup that is not the job's */
    struct job_cgroup_peaks {
        uint64_t memory_before_bytes, threads_before; /* peaks when the cgroup was found */
        uint64_t memory_seen_bytes;                   /* the largest seen since then */
    } peaks;
    struct job_cgroup_reading last;
    struct cgroup tracker_own; /* where the tracker was moved; empty: it was not moved */
    unsigned enabled; /* controllers that we enabled in the parent, as cgroup_enable() */
    struct job_cgroup_left_behind {
        struct cgroup cgroup; /* empty: none */
        int error;            /* why the cgroup could not be removed */
    } left_behind;
    struct scope_keeper keeper; /* keeper of a cgroup created by systemd, if any */
    struct cached_file files[JOB_CGROUP_FILE_COUNT];
    bool is_missing[JOB_CGROUP_FILE_COUNT]; /* the file does not exist */
    struct children_buffer io_text;         /* io.stat has a line for each disk */
    const char *reason; /* why all or part of the cgroup is missing; static; or NULL */
};

/* Creates the job cgroup and moves `child`, which has not started any process yet, into it.
 * `folder` is a cgroup delegated to us; if it is NULL, the cgroup is created below one of
 * `cgroups`, the tracker's own (NULL: none is visible). `environment` is checked for signs that
 * another program manages cgroups. Never fails: `reason` explains a missing cgroup. */
void job_cgroup_open(struct job_cgroup *job_cgroup, const struct root *root, pid_t tracker,
                     pid_t child, const struct cgroups *cgroups, const char *folder,
                     environment_get *environment);

/* Adopts an existing cgroup, see cgroup_directory_find(). */
void job_cgroup_adopt(struct job_cgroup *job_cgroup, const struct root *root,
                      const struct cgroup *own, const struct cgroups *cgroups);

/* Uses the tracker's own cgroups, after job_cgroup_open() created none. Cgroups that are not
 * visible are skipped. The caller sets `others`. */
void job_cgroup_surround(struct job_cgroup *job_cgroup, const struct cgroups *cgroups);

/* Removes the cgroup after the last reading; left_behind is set if that failed. */
void job_cgroup_remove(struct job_cgroup *job_cgroup);

/* Closes and removes the cgroup. The tracker and the rest of the job are moved back. */
void job_cgroup_close(struct job_cgroup *job_cgroup);

static inline bool job_cgroup_has(const struct job_cgroup *job_cgroup,
                                  enum cgroup_controller tree)
{
    return job_cgroup->root && job_cgroup->folders[tree].is_made;
}

/* Returns the hierarchy that has the files of a controller: its version 1 hierarchy if the job
 * cgroup has a folder there, else version 2. */
static inline enum cgroup_controller job_cgroup_tree(const struct job_cgroup *job_cgroup,
                                                     enum cgroup_controller v1)
{
    return job_cgroup_has(job_cgroup, v1) ? v1 : CGROUP_UNIFIED;
}

bool job_cgroup_has_memory(const struct job_cgroup *job_cgroup);

void job_cgroup_read(struct job_cgroup *job_cgroup, struct job_cgroup_reading *ret);

/* Updates only the pressure of a reading. */
void job_cgroup_read_pressure(struct job_cgroup *job_cgroup,
                              struct job_cgroup_reading *reading);

/* Reads the CPU time only. May be UNKNOWN. */
uint64_t job_cgroup_read_cpu_ns(struct job_cgroup *job_cgroup);

/* Reads only the memory in use, page cache included. May be UNKNOWN. */
uint64_t job_cgroup_read_memory_bytes(struct job_cgroup *job_cgroup);

/* Raises each part of `peak` to its current value. Also records the memory of an adopted
 * cgroup. */
void job_cgroup_raise_memory(struct job_cgroup *job_cgroup, struct cgroup_memory *peak);

/* Returns the folder with the files of the dmem controller; NULL: it is not enabled. */
const char *job_cgroup_dmem_path(const struct job_cgroup *job_cgroup);

/* Lists the processes in the cgroup, one PID per line. Returns the same values as
 * cached_file_read(); -ENOENT: the cgroup is not on version 2, or contains the tracker too. */
ssize_t job_cgroup_read_procs(struct job_cgroup *job_cgroup, char *text, size_t size);

/* Whether systemd may move a job out of these cgroups into one created by the manager of `uid`.
 * The job then leaves the cgroup of its login session for one next to it. This is allowed only
 * if all limits still apply, and no service, container or batch system relies on the job's
 * cgroup. */
bool job_cgroup_may_leave(const struct root *root, const struct cgroups *cgroups, uid_t uid);

/* ---- processes that have left the job cgroup
 *
 * The totals of a cgroup are the totals of the job only while all processes of the job are in
 * that cgroup or below it. Container runtimes move their processes away, and on version 1 a
 * process may leave the cgroup in the hierarchy of a single controller.
 */

struct member;

/* Zeroed: there is no job cgroup to leave. */
struct cgroup_escape {
    /* Paths as in /proc/PID/cgroup; empty: none. */
    char home[CGROUP_TREE_COUNT][CGROUP_PATH_SIZE];
    bool has_left[CGROUP_TREE_COUNT]; /* a process was seen elsewhere */
};

/* Records the cgroups of main; call it as soon as main is in the job cgroup. */
void cgroup_escape_init(struct cgroup_escape *escape, const struct job_cgroup *job_cgroup,
                        pid_t main_pid);

/* Reads the cgroups of a process. */
void cgroup_escape_check(struct cgroup_escape *escape, const struct root *root,
                         struct member *member);

/* Whether a process should be checked because it has grown a lot since the last check. */
bool cgroup_escape_is_due(const struct cgroup_escape *escape, const struct member *member);
