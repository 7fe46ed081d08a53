/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cgroup.h - which cgroups a process is in, and where their files are.
 *
 * With version 2 there is one tree of cgroups for all controllers. With version 1
 * each controller may have a tree of its own. Many machines have both: some
 * controllers on version 1, the rest on an otherwise empty version 2 tree. So the
 * cgroup is found for each controller apart, and says which version it is.
 *
 * In a container only a part of a tree may be visible: the path of a cgroup is
 * what remains of it below the mount, and there may be none.
 */
#ifndef CGROUP_CGROUP_H
#define CGROUP_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/root.h"
#include "source/host/mounts.h"
#include "source/proc/children.h"
#include "spoor/spoor.h"

enum cgroup_controller {
    CGROUP_UNIFIED, /* the tree of version 2, whatever its controllers */
    CGROUP_MEMORY,
    CGROUP_PIDS,
    CGROUP_CPUACCT,
    CGROUP_CPU,
    CGROUP_CPUSET,
    CGROUP_CONTROLLER_COUNT,
};

enum { CGROUP_PATH_SIZE = 1024 };

/* One cgroup: a folder, and the visible part of the tree it stands in. */
struct cgroup {
    char path[CGROUP_PATH_SIZE]; /* below the root: "sys/fs/cgroup/memory/a"; empty: none */
    size_t mount_length;         /* of the part of it that is the mount point */
    bool is_v2;
};

/* The cgroups of one process. A controller that is on no version 1 tree is on the
 * version 2 one, and its entry is equal to that of CGROUP_UNIFIED. */
struct cgroups {
    struct cgroup of[CGROUP_CONTROLLER_COUNT];
};

/* From the texts of /proc/PID/cgroup and of our /proc/self/mountinfo, whose last
 * lines may be cut. Cgroups that are not visible, or whose path is too long, have
 * an empty path. -ENOENT: that goes for all of them. */
int cgroups_parse(const char *cgroup_text, const char *mountinfo_text, struct cgroups *ret);

int cgroups_read(const struct root *root, pid_t pid, struct cgroups *ret);

/* The cgroup of a directory such as /sys/fs/cgroup/memory/a, and the cgroups of the same path in the
 * other hierarchies, whether they exist or not. `directory` has no symbolic link in it. -EINVAL: it
 * is not in a mounted cgroup hierarchy. */
int cgroups_parse_directory(const char *directory, const char *mountinfo_text,
                            struct cgroup *ret_own, struct cgroups *ret);

/* Where a process is in the hierarchy of a controller: a part of the text of /proc/PID/cgroup.
 * -ENOENT: there is no such version 1 hierarchy; the controller may be on version 2. */
int cgroup_find_path(const char *cgroup_text, enum cgroup_controller controller,
                     struct text_part *ret);

static inline bool cgroup_is_visible(const struct cgroup *cgroup)
{
    return cgroup->path[0] != '\0';
}

/* Goes to the parent. False, and nothing changed, where it is not visible. */
bool cgroup_to_parent(struct cgroup *cgroup);

/* Goes to a child. -ENAMETOOLONG: its path does not fit; -EINVAL: `name` is not
 * the name of a folder, or the cgroup is not visible. Nothing changed then. */
int cgroup_to_child(struct cgroup *cgroup, const char *name);

/* ---- The figures in the files of one cgroup -------------------------------- */

/* One number. UNKNOWN for "no limit": "max" of version 2, "-1" and a number near
 * 2^63 of version 1. -EBADMSG: something else. */
int cgroup_parse_u64(const char *text, uint64_t *ret);

/* A quota of CPU time as a number of CPUs: "50000 100000" is 0.5; NaN for no
 * quota. The text of cpu.max of version 2. */
int cgroup_parse_quota(const char *text, double *ret_cpus);

/* The readers fail with -ENOENT where the cgroup is not visible. */
int cgroup_read_u64(const struct root *root, const struct cgroup *cgroup, const char *file,
                    uint64_t *ret);

/* cpu.max, or cpu.cfs_quota_us and cpu.cfs_period_us. */
int cgroup_read_quota(const struct root *root, const struct cgroup *cgroup, double *ret_cpus);

/* How many CPUs a list as cpuset.cpus names. */
int cgroup_count_cpus(const struct root *root, const struct cgroup *cgroup, const char *file);

/* What a cgroup has used: the texts of its files, parsed. Pure.
 *
 * Versions 1 and 2 tell the same things in other words; here they are one struct. */

/* Since the cgroup was made. UNKNOWN where the text does not say. */
struct cgroup_cpu {
    uint64_t total_ns, user_ns, system_ns;
};

/* cpu.stat of version 2. */
int cgroup_parse_cpu_stat(const char *text, struct cgroup_cpu *ret);

/* Scales user and system time of version 1, which are counted in ticks, so that they add up to the
 * total and neither is below what it was before. */
void cgroup_split_cpu(struct cgroup_cpu *cpu, uint64_t user_before_ns,
                      uint64_t system_before_ns);

struct cgroup_memory {
    uint64_t anon_bytes;       /* what no file backs, shared memory apart */
    uint64_t shmem_bytes;      /* shared memory and tmpfs */
    uint64_t page_cache_bytes; /* what files back */
    uint64_t dirty_bytes;      /* the part of it that is still to be written; or UNKNOWN */
};

/* memory.stat of either version. */
int cgroup_parse_memory_stat(const char *text, struct cgroup_memory *ret);

struct cgroup_io {
    uint64_t read_bytes, written_bytes;
};

/* io.stat of version 2: the sum over devices. An empty file is 0. */
int cgroup_parse_io_stat(const char *text, struct cgroup_io *ret);

/* What happened to a cgroup against its will: processes killed
 * for want of memory, and time it was kept from running by its CPU quota.
 *
 * Others may share the cgroup, and the counts began before the job: what is said
 * of a job is how they change while it runs, and at most that. */

/* Totals since the cgroup was made. UNKNOWN where the kernel does not say. */
struct cgroup_events {
    uint64_t oom_kills_count;
    uint64_t throttled_ns;
};

/* The files, kept open. All of it is private. */
struct cgroup_watch {
    struct cgroup memory, cpu;
    struct cached_file memory_file, cpu_file;
};

/* Chooses the cgroups: for memory the process's own; for the quota the nearest one
 * at or above it that has a quota now, since the time is counted there. Opens
 * nothing for longer than the call. `cgroups` is copied; NULL: nothing is known. */
void cgroup_watch_init(struct cgroup_watch *watch, const struct root *root,
                       const struct cgroups *cgroups);
void cgroup_watch_done(struct cgroup_watch *watch);

/* Never fails: what cannot be read is UNKNOWN. */
void cgroup_watch_read(struct cgroup_watch *watch, const struct root *root,
                       struct cgroup_events *ret);

/* memory.events of version 2, memory.oom_control of version 1. */
int cgroup_parse_oom_kills(const char *text, uint64_t *ret_count);

/* cpu.stat of version 2 (in us) or of version 1 (in ns). */
int cgroup_parse_throttled(const char *text, uint64_t *ret_ns);

/* An existing cgroup that a user named: of a container, a service or a batch job.
 *
 * With version 1 it is a directory of one hierarchy. The cgroups of the same path in the other
 * hierarchies are taken to be of the same processes if there are any in them. */

/* Finds it, and in *ret the cgroups that count for its processes: as in struct cgroups, a controller
 * without a version 1 hierarchy is on that of version 2. -ENOENT: no such directory; -EINVAL: it is
 * not a cgroup; -ESRCH: there is no process in it. */
int cgroup_directory_find(const struct root *root, const char *directory,
                          struct cgroup *ret_own, struct cgroups *ret, struct spoor_error *err);

/* Calls `found` for each process in it and in the cgroups below. Returns their number; -ENOENT: it
 * is gone. Those of other PID namespaces are left out. */
int cgroup_each_process(const struct root *root, const struct cgroup *cgroup,
                        struct children_buffer *buffer, child_found *found, void *data);

/* Whether a process is in it or below. False if it is gone. */
bool cgroup_is_populated(const struct root *root, const struct cgroup *cgroup);

#endif
