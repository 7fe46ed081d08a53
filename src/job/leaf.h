/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leaf.h - a cgroup of the job's own: exact totals of all that is in it, kept by the
 * kernel.
 *
 * Everything the job starts stays in it, whatever it does to its parents. On version 2 a
 * folder without any controller has the CPU time, the pressure and the list of processes;
 * memory and pids need a controller that the folder above hands down. On version 1 each
 * controller has a tree and so a folder of its own.
 *
 * A leaf is made below the tracker's own cgroup, so that all limits on that go on to hold,
 * and is removed at the end; what is left in it then goes back to the cgroup above. Where that
 * gives no figures of memory, systemd may have a cgroup for the job: leaf_scope.h. That one is
 * systemd's to remove, when all that is in it has ended.
 */
#ifndef JOB_LEAF_H
#define JOB_LEAF_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/environment.h"
#include "base/root.h"
#include "source/cgroup/cgroup.h"
#include "source/cgroup/cgroup_events.h"
#include "source/cgroup/cgroup_totals.h"
#include "source/cgroup/scope_keeper.h"
#include "source/host/host.h"
#include "spoor/spoor.h"

/* The trees a leaf may have a folder in. */
enum leaf_tree { LEAF_UNIFIED, LEAF_MEMORY, LEAF_PIDS, LEAF_CPUACCT, LEAF_TREE_COUNT };

struct leaf_folder {
    struct cgroup parent;
    struct cgroup own;
    bool is_made; /* and the job is in it */
};

/* Its files that are kept open. */
enum leaf_file {
    LEAF_FILE_CPU,
    LEAF_FILE_CPU_USER,
    LEAF_FILE_CPU_SYSTEM,
    LEAF_FILE_MEMORY_PEAK,
    LEAF_FILE_MEMORY_STAT,
    LEAF_FILE_THREADS_PEAK,
    LEAF_FILE_IO,
    LEAF_FILE_PROCS,
    LEAF_FILE_PRESSURE, /* of CPU, memory and I/O */
    LEAF_FILE_COUNT = LEAF_FILE_PRESSURE + PRESSURE_COUNT,
};

/* Since the leaf was made. UNKNOWN where it cannot say. */
struct leaf_reading {
    uint64_t cpu_ns, user_ns, system_ns;
    uint64_t memory_peak_bytes; /* page cache and kernel memory included */
    struct cgroup_memory memory;
    uint64_t threads_peak;
    uint64_t read_bytes, written_bytes;
    uint64_t pressure_ns[PRESSURE_COUNT];
    uint64_t oom_kills_count;
};

struct leaf {
    const struct root *root; /* borrowed; NULL: there is no leaf */
    struct leaf_folder folders[LEAF_TREE_COUNT];
    struct cgroup tracker_own;  /* where the tracker stands meanwhile; empty: where it was */
    struct scope_keeper keeper; /* of a cgroup that systemd made; none: all are ours */
    struct kept files[LEAF_FILE_COUNT];
    bool is_missing[LEAF_FILE_COUNT]; /* it was looked for: there is no such file */
    struct cgroup_watch events;
    const char *reason; /* why there is none, or no more of it; static; NULL: all is there */
};

#define LEAF_NONE    \
    {                \
        .root = NULL \
    }

/* Makes the leaf and moves `child` into it, which has not started anything yet. `folder` is a
 * cgroup that was handed to us, or NULL: one of `cgroups`, which are the tracker's own (NULL: none
 * can be seen). `environment` is asked for signs
 * that cgroups are another's business. Never fails: reason says why there is none. */
void leaf_open(struct leaf *leaf, const struct root *root, pid_t tracker, pid_t child,
               const struct cgroups *cgroups, const char *folder, environment_get *environment);

/* Removes it. The tracker and what is left of the job go back to where they came from. */
void leaf_close(struct leaf *leaf);

static inline bool leaf_has(const struct leaf *leaf, enum leaf_tree tree)
{
    return leaf->root && leaf->folders[tree].is_made;
}

/* Does it count memory? */
bool leaf_has_memory(const struct leaf *leaf);

void leaf_read(struct leaf *leaf, struct leaf_reading *ret);

/* Of a reading its pressure alone, anew. */
void leaf_read_pressure(struct leaf *leaf, struct leaf_reading *reading);

/* The CPU time alone. UNKNOWN: it does not say. */
uint64_t leaf_read_cpu_ns(struct leaf *leaf);

/* Raises each part to what the cgroup holds now. */
void leaf_raise_memory(struct leaf *leaf, struct cgroup_memory *peak);

/* The processes in it, a pid per line. As kept_read(). -ENOENT: no leaf on version 2. */
ssize_t leaf_read_procs(struct leaf *leaf, char *text, size_t size);

#endif
