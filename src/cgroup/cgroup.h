/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cgroup.h - which cgroups a process is in, and where their files are.
 *
 * With version 2 there is one tree of cgroups for all controllers. With version 1
 * each controller may have its own tree. Many machines have both: some controllers on version
 * 1, the rest on an otherwise empty version 2 tree. So the cgroup is looked up for each
 * controller, with its version.
 *
 * In a container only a part of a tree may be visible. The path of a cgroup is then relative to
 * the mount, and may be missing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/root.h"
#include "source/host/mounts.h"
#include "source/proc/children.h"
#include "spoor/spoor.h"

enum cgroup_controller {
    CGROUP_UNIFIED, /* the tree of version 2, with any controllers */
    CGROUP_MEMORY,
    CGROUP_PIDS,
    CGROUP_CPUACCT,
    CGROUP_DMEM,       /* memory of GPUs */
    CGROUP_TREE_COUNT, /* the job cgroup may have a folder in the hierarchies above */
    CGROUP_CPU = CGROUP_TREE_COUNT,
    CGROUP_CPUSET,
    CGROUP_CONTROLLER_COUNT,
};

enum { CGROUP_PATH_SIZE = 1024 };

/* One cgroup: a folder and the visible part of its tree. */
struct cgroup {
    /* Relative to the root: "sys/fs/cgroup/memory/a"; empty: not visible. */
    char path[CGROUP_PATH_SIZE];
    size_t mount_length; /* length of the mount point in `path` */
    bool is_v2;
};

/* The cgroups of one process. A controller without a version 1 tree is on version 2: its
 * entry equals CGROUP_UNIFIED. */
struct cgroups {
    struct cgroup of[CGROUP_CONTROLLER_COUNT];
};

/* Parses the texts of /proc/PID/cgroup and of our /proc/self/mountinfo; the last line of
 * either may be truncated. Cgroups that are not visible, or whose path is too long, have an
 * empty path. -ENOENT: none is visible. */
int cgroups_parse(const char *cgroup_text, const char *mountinfo_text, struct cgroups *ret);

int cgroups_read(const struct root *root, pid_t pid, struct cgroups *ret);

/* The same with the text of mountinfo_read(). */
int cgroups_find(const struct root *root, pid_t pid, const char *mountinfo_text,
                 struct cgroups *ret);

/* Finds the cgroup of a directory such as /sys/fs/cgroup/memory/a, and the cgroups of the same
 * path in the other hierarchies, whether they exist or not. `directory` contains no symbolic
 * link. -EINVAL: the directory is not in a mounted cgroup hierarchy. */
int cgroups_parse_directory(const char *directory, const char *mountinfo_text,
                            struct cgroup *ret_own, struct cgroups *ret);

/* Finds the path of a process in the hierarchy of a controller. *ret is a part of the text of
 * /proc/PID/cgroup. -ENOENT: there is no such version 1 hierarchy; the controller may be on
 * version 2. */
int cgroup_find_path(const char *cgroup_text, enum cgroup_controller controller,
                     struct text_part *ret);

static inline bool cgroup_is_visible(const struct cgroup *cgroup)
{
    return cgroup->path[0] != '\0';
}

/* Replaces the cgroup by its parent. False: it is not visible, and nothing was changed. */
bool cgroup_to_parent(struct cgroup *cgroup);

/* Replaces the cgroup by its child `name`. -ENAMETOOLONG: the path does not fit; -EINVAL:
 * `name` is not a folder name, or the cgroup is not visible. Changes nothing on failure. */
int cgroup_to_child(struct cgroup *cgroup, const char *name);

/* ---- The figures in the files of one cgroup -------------------------------- */

/* Parses one number. UNKNOWN means "no limit": "max" in version 2, "-1" or a number near 2^63
 * in version 1. -EBADMSG: not a number. */
int cgroup_parse_u64(const char *text, uint64_t *ret);

/* Parses cpu.max of version 2 as a number of CPUs: "50000 100000" is 0.5; NaN: no quota. */
int cgroup_parse_quota(const char *text, double *ret_cpus);

/* Reads one number. These readers fail with -ENOENT if the cgroup is not visible. */
int cgroup_read_u64(const struct root *root, const struct cgroup *cgroup, const char *file,
                    uint64_t *ret);

/* Reads cpu.max, or cpu.cfs_quota_us and cpu.cfs_period_us. */
int cgroup_read_quota(const struct root *root, const struct cgroup *cgroup, double *ret_cpus);

/* Counts the CPUs in a list such as cpuset.cpus. */
int cgroup_count_cpus(const struct root *root, const struct cgroup *cgroup, const char *file);

/* The usage of a cgroup, parsed from its files. Pure. Versions 1 and 2 fill the same struct. */

/* Totals since the cgroup was created. UNKNOWN: not in the text. */
struct cgroup_cpu {
    uint64_t total_ns, user_ns, system_ns;
};

int cgroup_parse_cpu_stat(const char *text, struct cgroup_cpu *ret);

struct cgroup_memory {
    uint64_t anon_bytes;       /* anonymous memory, without shared memory */
    uint64_t shmem_bytes;      /* shared memory and tmpfs */
    uint64_t page_cache_bytes; /* memory backed by files */
    uint64_t dirty_bytes;      /* page cache still to be written; or UNKNOWN */
    uint64_t refaulted_pages;  /* evicted pages of files that were read again; or UNKNOWN */
};

/* Parses memory.stat of either version. */
int cgroup_parse_memory_stat(const char *text, struct cgroup_memory *ret);

struct cgroup_io {
    uint64_t read_bytes, written_bytes;
};

/* Parses io.stat of version 2: the sum over devices. An empty file is 0. */
int cgroup_parse_io_stat(const char *text, struct cgroup_io *ret);

/* GPU memory in dmem.current or dmem.peak. */
struct cgroup_dmem {
    uint64_t bytes;         /* the sum over the GPU's regions; UNKNOWN: none is listed */
    uint64_t largest_bytes; /* the largest region */
};

/* Finds a GPU by its PCI address. Each region of the GPU's memory has a line:
 * "drm/0000:03:00.0/vram0 4096". */
struct cgroup_dmem cgroup_parse_dmem(const char *text, const char *pci_address);

/* Adverse events of a cgroup: processes killed because memory ran out, and time lost to the
 * CPU quota.
 *
 * Other processes may share the cgroup, and the counts began before the job. Only their
 * increase during the job counts, and it is an upper bound for the job. */

/* Totals since the cgroup was created. UNKNOWN: not counted by this kernel. */
struct cgroup_events {
    uint64_t oom_kills_count;
    uint64_t throttled_ns;
};

/* Open files of the watched cgroups. All members are private. */
struct cgroup_watch {
    struct cgroup memory, cpu;
    struct cached_file memory_file, cpu_file;
};

/* Chooses the cgroups: for memory the process's own; for the quota the nearest ancestor (or the
 * cgroup itself) that has a quota now, since the kernel counts throttled time there. Leaves no
 * file open. `cgroups` is copied; NULL: none are known. */
void cgroup_watch_init(struct cgroup_watch *watch, const struct root *root,
                       const struct cgroups *cgroups);
void cgroup_watch_done(struct cgroup_watch *watch);

/* Reads the events. Never fails: a value that cannot be read is UNKNOWN. */
void cgroup_watch_read(struct cgroup_watch *watch, const struct root *root,
                       struct cgroup_events *ret);

/* Parses cpu.stat of version 2 (in us) or version 1 (in ns). */
int cgroup_parse_throttled(const char *text, uint64_t *ret_ns);

/* An existing cgroup given by the user, such as the cgroup of a container, service or batch job.
 *
 * With version 1 it is a directory of one hierarchy. Cgroups with the same path in other
 * hierarchies are assumed to contain the same processes, unless they are empty. */

/* Finds the directory and, in *ret, the cgroups of its processes: as in struct cgroups, a
 * controller without a version 1 hierarchy is on version 2. -ENOENT: no such directory;
 * -EINVAL: not a cgroup; -ESRCH: no process in the cgroup. */
int cgroup_directory_find(const struct root *root, const char *directory,
                          struct cgroup *ret_own, struct cgroups *ret, struct spoor_error *err);

/* Calls `found` for each process in the cgroup and, if `is_deep`, in the cgroups below it. A
 * process of an outer PID namespace has PID 0 and is not counted. Returns the number of
 * processes; -ENOENT: the cgroup was removed. */
int cgroup_each_process(const struct root *root, const struct cgroup *cgroup, bool is_deep,
                        struct children_buffer *buffer, child_found *found, void *data);

/* Whether the cgroup or one below contains a process. False if the cgroup was removed. */
bool cgroup_is_populated(const struct root *root, const struct cgroup *cgroup);
