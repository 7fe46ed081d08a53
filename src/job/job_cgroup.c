/* SPDX-License-Identifier: Apache-2.0 */
/* job_cgroup.c - creates, reads and removes the job cgroup. */
#include "job/job_cgroup.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/parse.h"
#include "cgroup/cgroup.h"
#include "cgroup/cgroup_folder.h"
#include "cgroup/systemd_scope.h"
#include "job/member.h"
#include "source/gpu/drm_device.h"
#include "source/host/host.h"
#include "source/proc/pid_files.h"

static const char *const controllers[] = { "memory", "pids", "io", "dmem", NULL };
static const char *const without_gpus[] = { "memory", "pids", "io", NULL };

static unsigned enable_controllers(const struct root *root, const struct cgroup *cgroup)
{
    return cgroup_enable(root, cgroup, drm_may_be_here(root) ? controllers : without_gpus);
}

static const char *explain(int r)
{
    switch (-r) {
    case EACCES:
    case EPERM:
        return "the cgroup belongs to another user";
    case EROFS:
        return "cgroups are read-only here, as in most containers";
    case EBUSY:
        return "the cgroup contains other processes";
    case ENOENT:
        return "no cgroup is visible here";
    case ENOTDIR:
        return "not a cgroup directory";
    case EINPROGRESS:
        return "systemd did not provide a cgroup in time";
    default:
        return "the kernel refused to create a cgroup";
    }
}

/* Creates a folder and moves the child into it; leaves nothing behind on failure. */
static int make_folder(struct job_cgroup *job_cgroup, enum cgroup_controller tree,
                       const struct cgroup *parent, pid_t child)
{
    struct job_cgroup_folder folder = { .parent = *parent, .is_made = true };
    int r = cgroup_make_child(job_cgroup->root, parent, job_cgroup->name, child, &folder.own);

    if (r < 0)
        return r;
    cgroup_remove_abandoned(job_cgroup->root, parent);
    job_cgroup->folders[tree] = folder;
    return 0;
}

/* If the tracker is alone in a cgroup, moves it to a folder next to the job's, because a cgroup
 * with enabled controllers must not contain processes. The root cgroup, which has no
 * cgroup.events, may. */
static void step_aside(struct job_cgroup *job_cgroup, const struct cgroup *cgroup,
                       pid_t tracker)
{
    char name[sizeof(job_cgroup->name) + 8];

    (void)snprintf(name, sizeof(name), "%s-self", job_cgroup->name); /* fits */
    if (root_exists(job_cgroup->root, "%s/cgroup.events", cgroup->path) &&
        cgroup_holds_only(job_cgroup->root, cgroup, tracker) &&
        cgroup_make_child(job_cgroup->root, cgroup, name, tracker, &job_cgroup->tracker_own) ==
            0)
        job_cgroup->enabled = enable_controllers(job_cgroup->root, cgroup);
}

/* Disables the controllers that we enabled, so that processes may be moved to the parent
 * cgroup, unless another cgroup beside ours may need them. */
static void disable_controllers(struct job_cgroup *job_cgroup, const struct cgroup *above)
{
    if (job_cgroup->enabled == 0 || !cgroup_is_alone(job_cgroup->root, above, job_cgroup->name))
        return;
    cgroup_disable(job_cgroup->root, above, controllers, job_cgroup->enabled);
    job_cgroup->enabled = 0;
}

static void step_back(struct job_cgroup *job_cgroup)
{
    const struct cgroup *above = &job_cgroup->folders[CGROUP_UNIFIED].parent;

    if (!cgroup_is_visible(&job_cgroup->tracker_own))
        return;
    disable_controllers(job_cgroup, above);
    (void)cgroup_remove_tree(job_cgroup->root, &job_cgroup->tracker_own, above);
    job_cgroup->tracker_own.path[0] = '\0';
}

static int open_unified(struct job_cgroup *job_cgroup, const struct cgroup *cgroup,
                        pid_t tracker, pid_t child)
{
    int r = cgroup_is_visible(cgroup) ? make_folder(job_cgroup, CGROUP_UNIFIED, cgroup, child)
                                      : -ENOENT;

    if (r == 0)
        step_aside(job_cgroup, cgroup, tracker);
    return r;
}

/* Creates folders in version 1 hierarchies: for memory, only if the limits of the parent
 * cgroups include their children; for CPU time, only if the hierarchy does not also control the
 * scheduler, where a new group would change the job's share of the CPUs. */
static int open_v1(struct job_cgroup *job_cgroup, const struct cgroups *cgroups, pid_t child)
{
    const struct cgroup *memory = &cgroups->of[CGROUP_MEMORY];
    const struct cgroup *pids = &cgroups->of[CGROUP_PIDS];
    const struct cgroup *cpuacct = &cgroups->of[CGROUP_CPUACCT];
    const struct cgroup *dmem = &cgroups->of[CGROUP_DMEM];
    uint64_t is_hierarchical = 0;
    int r = -ENOENT;

    if (cgroup_is_visible(memory) && !memory->is_v2 &&
        cgroup_read_u64(job_cgroup->root, memory, "memory.use_hierarchy", &is_hierarchical) ==
            0 &&
        is_hierarchical == 1)
        r = make_folder(job_cgroup, CGROUP_MEMORY, memory, child);
    if (cgroup_is_visible(pids) && !pids->is_v2)
        (void)make_folder(job_cgroup, CGROUP_PIDS, pids, child);
    if (!job_cgroup_has(job_cgroup, CGROUP_UNIFIED) && cgroup_is_visible(cpuacct) &&
        !cpuacct->is_v2 && strcmp(cpuacct->path, cgroups->of[CGROUP_CPU].path) != 0)
        (void)make_folder(job_cgroup, CGROUP_CPUACCT, cpuacct, child);
    if (r == 0 && cgroup_is_visible(dmem) && !dmem->is_v2 && drm_may_be_here(job_cgroup->root))
        (void)make_folder(job_cgroup, CGROUP_DMEM, dmem, child);
    return r;
}

/* Uses a folder given by the user. Its files show its version and controllers. */
static int open_given(struct job_cgroup *job_cgroup, const char *path, pid_t child)
{
    static const struct {
        const char *file;
        enum cgroup_controller tree;
    } v1[] = { { "memory.usage_in_bytes", CGROUP_MEMORY },
               { "pids.current", CGROUP_PIDS },
               { "cpuacct.usage", CGROUP_CPUACCT },
               { "dmem.current", CGROUP_DMEM } };
    struct cgroup cgroup = { 0 };
    int r = -ENOTDIR;
    int length = snprintf(cgroup.path, sizeof(cgroup.path), "%s", path + strspn(path, "/"));

    if (length <= 0 || (size_t)length >= sizeof(cgroup.path))
        return -EINVAL;
    while (cgroup.path[length - 1] == '/')
        cgroup.path[--length] = '\0';
    cgroup.is_v2 = root_exists(job_cgroup->root, "%s/cgroup.controllers", cgroup.path);
    if (cgroup.is_v2) {
        job_cgroup->enabled = enable_controllers(job_cgroup->root, &cgroup);
        return make_folder(job_cgroup, CGROUP_UNIFIED, &cgroup, child);
    }
    for (size_t i = 0; i < ARRAY_SIZE(v1); i++) {
        if (root_exists(job_cgroup->root, "%s/%s", cgroup.path, v1[i].file))
            r = make_folder(job_cgroup, v1[i].tree, &cgroup, child);
    }
    return r;
}

/* Returns 0, or the error that prevented the removal. */
static int remove_folder(struct job_cgroup *job_cgroup, const struct job_cgroup_folder *folder)
{
    /* Remaining memory charges go to the parent. */
    int r = cgroup_remove_tree(job_cgroup->root, &folder->own, NULL);

    if (r != -EBUSY)
        return r;
    if (folder->own.is_v2)
        disable_controllers(job_cgroup, &folder->parent);
    return cgroup_remove_tree(job_cgroup->root, &folder->own, &folder->parent);
}

static void remove_folders(struct job_cgroup *job_cgroup)
{
    for (int i = CGROUP_TREE_COUNT - 1; i >= 0; i--) {
        struct job_cgroup_folder *folder = &job_cgroup->folders[i];
        int r = folder->is_made ? remove_folder(job_cgroup, folder) : 0;

        if (r < 0) /* a later run removes it once it is empty */
            job_cgroup->left_behind = (struct job_cgroup_left_behind){ folder->own, r };
        folder->is_made = false;
    }
    step_back(job_cgroup);
}

void job_cgroup_remove(struct job_cgroup *job_cgroup)
{
    if (job_cgroup->root && job_cgroup->keeper.pid == 0 && !job_cgroup->is_adopted &&
        !job_cgroup->is_surrounding)
        remove_folders(job_cgroup);
}

/* ---- a cgroup created by systemd, if we may not create one with controllers ------- */

#define TIME_NS (250 * NS_PER_MS)

enum { UNIT_SIZE = 64 };

/* Whether the cgroup is a systemd scope, which a job may leave: the processes of a scope were
 * moved into it from outside, as in a login session. systemd finds the processes of a service
 * by its cgroup when it stops the service. Folders below a scope have another owner. */
static bool is_in_scope(const struct cgroup *cgroup)
{
    const char *part = basename(cgroup->path);
    const char *dot = strrchr(part, '.');

    return dot && dot != part && strcmp(dot, ".scope") == 0;
}

/* Whether the cgroup has no limit of its own. Limits on the number of processes are ignored:
 * systemd sets the same one on every scope. */
static bool is_unlimited(const struct root *root, const struct cgroup *cgroup)
{
    static const struct {
        const char *file;
        const char *unlimited; /* start of the file if unlimited; "": the file is empty */
    } limits[] = {
        { "memory.max", "max" }, { "memory.high", "max" }, { "memory.swap.max", "max" },
        { "cpu.max", "max" },    { "cpuset.cpus", "" },    { "cpuset.mems", "" },
        { "io.max", "" },
    };
    char text[256];

    for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
        const char *unlimited = limits[i].unlimited;
        ssize_t n =
            root_read_start(root, text, sizeof(text), "%s/%s", cgroup->path, limits[i].file);

        if (n < 0) /* without the controller there is no limit */
            continue;
        if (*unlimited ? !begins_with(text, unlimited) : text[strspn(text, "\n")] != '\0')
            return false;
    }
    return true;
}

/* Whether none of the cgroups that the job would leave has a limit. The manager of a user
 * creates cgroups in the user's slice, the machine's manager anywhere. */
static bool leaves_no_limit(const struct root *root, struct cgroup cgroup, uid_t uid)
{
    char slice[32];

    (void)snprintf(slice, sizeof(slice), "user-%u.slice", (unsigned)uid); /* fits */
    do {
        if (uid != 0 && strcmp(basename(cgroup.path), slice) == 0)
            return true;
        if (!is_unlimited(root, &cgroup))
            return false;
    } while (cgroup_to_parent(&cgroup));
    return uid == 0;
}

static bool machine_counts_memory(const struct root *root, struct cgroup cgroup)
{
    char text[256];

    while (cgroup_to_parent(&cgroup))
        continue;
    return root_read(root, text, sizeof(text), "%s/cgroup.controllers", cgroup.path) >= 0 &&
           parse_has_word(text, "memory");
}

bool job_cgroup_may_leave(const struct root *root, const struct cgroups *cgroups, uid_t uid)
{
    const struct cgroup *cgroup = &cgroups->of[CGROUP_UNIFIED];

    return cgroup_is_visible(cgroup) && cgroups->of[CGROUP_MEMORY].is_v2 &&
           is_in_scope(cgroup) && !root_exists(root, ".dockerenv") &&
           !root_exists(root, "run/.containerenv") && machine_counts_memory(root, *cgroup) &&
           leaves_no_limit(root, *cgroup, uid);
}

/* Sets up a scope. A cgroup with enabled controllers must not contain processes, so the keeper
 * and the child each get a folder in the scope. The path of the scope is read from the kernel,
 * not from systemd's reply. */
static int populate_scope(const struct job_cgroup *job_cgroup, const char *unit, pid_t keeper,
                          pid_t child, struct job_cgroup_folder *ret)
{
    const struct root *root = job_cgroup->root;
    struct cgroup aside;
    struct cgroups cgroups;
    char name[UNIT_SIZE];
    int r = cgroups_read(root, child, &cgroups);

    if (r < 0)
        return r;
    ret->parent = cgroups.of[CGROUP_UNIFIED];
    if (strcmp(basename(ret->parent.path), unit) != 0)
        return -ENOENT;
    (void)snprintf(name, sizeof(name), "%s-self", job_cgroup->name); /* fits */
    r = cgroup_make_child(root, &ret->parent, name, keeper, &aside);
    return r < 0 ? r
                 : cgroup_make_child(root, &ret->parent, job_cgroup->name, child, &ret->own);
}

/* -EINPROGRESS: the child was moved or may be at any time, but there is no cgroup for us to read.
 * Other failures: the child was not moved. */
static int request_scope(const struct job_cgroup *job_cgroup, int fd, uint64_t deadline_ns,
                         pid_t keeper, pid_t child, struct job_cgroup_folder *ret)
{
    const struct root *root = job_cgroup->root;
    char unit[UNIT_SIZE], before[4096], now[4096];
    int r = (int)root_read(root, before, sizeof(before), "proc/%d/cgroup", (int)child);

    if (r < 0)
        return r;
    (void)snprintf(unit, sizeof(unit), "%s.scope", job_cgroup->name); /* fits */
    r = systemd_start_scope(fd, deadline_ns, unit, child, keeper);
    if (r == 0)
        return populate_scope(job_cgroup, unit, keeper, child, ret) < 0 ? -EINPROGRESS : 0;
    /* A manager that reports a failure may still have moved the child. */
    if (root_read(root, now, sizeof(now), "proc/%d/cgroup", (int)child) < 0 ||
        strcmp(now, before) != 0)
        return -EINPROGRESS;
    return r;
}

/* Asks systemd to move `child` into a scope instead of a cgroup made by us. Takes at most 250 ms.
 * `r` is the result of our own attempt, and is returned if systemd changes nothing. */
static int open_scope(struct job_cgroup *job_cgroup, const struct cgroups *cgroups, pid_t child,
                      int r)
{
    uint64_t deadline_ns = clock_now().monotonic_ns + TIME_NS;
    struct job_cgroup_folder folder = { .is_made = true };
    struct scope_keeper keeper = { 0 };
    AUTO_CLOSE int fd = -1;
    char path[64] = "/run/systemd/private";
    uid_t uid = geteuid();
    int started;

    if (!job_cgroup->root->is_live || !job_cgroup_may_leave(job_cgroup->root, cgroups, uid))
        return r;
    if (uid != 0) /* fits: a uid has ten digits at most */
        (void)snprintf(path, sizeof(path), "/run/user/%u/systemd/private", (unsigned)uid);
    fd = systemd_connect(path, deadline_ns);
    if (fd < 0 || scope_keeper_start(&keeper) < 0)
        return r;
    started = request_scope(job_cgroup, fd, deadline_ns, keeper.pid, child, &folder);
    if (started < 0)
        scope_keeper_stop(&keeper);
    if (started < 0 && started != -EINPROGRESS)
        return r;
    remove_folders(job_cgroup); /* the job has left them, or soon will */
    if (started < 0)
        return started;
    (void)enable_controllers(job_cgroup->root, &folder.parent); /* systemd removes it */
    job_cgroup->folders[CGROUP_UNIFIED] = folder;
    job_cgroup->keeper = keeper;
    return 0;
}

/* ---- opening and closing ------------------------------------------------------- */

static int open_own(struct job_cgroup *job_cgroup, pid_t tracker, pid_t child,
                    const struct cgroups *cgroups)
{
    int unified, r;

    if (!cgroups)
        return -ENOENT;
    unified = open_unified(job_cgroup, &cgroups->of[CGROUP_UNIFIED], tracker, child);
    r = open_v1(job_cgroup, cgroups, child);
    if (r == -ENOENT)
        r = unified;
    return job_cgroup_has_memory(job_cgroup) ? r : open_scope(job_cgroup, cgroups, child, r);
}

static void init(struct job_cgroup *job_cgroup, const struct root *root)
{
    *job_cgroup = (struct job_cgroup){ .root = root, .last = JOB_CGROUP_READING_UNKNOWN };
    for (int i = 0; i < JOB_CGROUP_FILE_COUNT; i++)
        job_cgroup->files[i] = (struct cached_file)CACHED_FILE_CLOSED;
}

/* Uses existing cgroups, which are only read. */
static void take_folders(struct job_cgroup *job_cgroup, const struct cgroups *cgroups)
{
    struct job_cgroup_reading first;

    for (int i = 0; i < CGROUP_TREE_COUNT; i++) {
        const struct cgroup *cgroup = &cgroups->of[i];

        if (cgroup_is_visible(cgroup) && cgroup->is_v2 == (i == CGROUP_UNIFIED))
            job_cgroup->folders[i] =
                (struct job_cgroup_folder){ .own = *cgroup, .is_made = true };
    }
    job_cgroup_read(job_cgroup, &first);
    job_cgroup->peaks.memory_before_bytes = first.memory_peak_bytes;
    job_cgroup->peaks.threads_before = first.threads_peak;
}

void job_cgroup_adopt(struct job_cgroup *job_cgroup, const struct root *root,
                      const struct cgroup *own, const struct cgroups *cgroups)
{
    init(job_cgroup, root);
    job_cgroup->is_adopted = true;
    job_cgroup->adopted = *own;
    take_folders(job_cgroup, cgroups);
    if (!job_cgroup_has_memory(job_cgroup))
        job_cgroup->reason = "the cgroup has no memory controller";
}

void job_cgroup_surround(struct job_cgroup *job_cgroup, const struct cgroups *cgroups)
{
    job_cgroup->is_surrounding = true;
    take_folders(job_cgroup, cgroups);
}

void job_cgroup_open(struct job_cgroup *job_cgroup, const struct root *root, pid_t tracker,
                     pid_t child, const struct cgroups *cgroups, const char *folder,
                     environment_get *environment)
{
    unsigned random = 0;
    int r;

    init(job_cgroup, root);
    (void)!getrandom(&random, sizeof(random), GRND_NONBLOCK); /* 0 is fine, too */
    (void)snprintf(job_cgroup->name, sizeof(job_cgroup->name), "spoor-%d-%08x", (int)tracker,
                   random);
    if (!folder && environment("SLURM_JOB_ID")) {
        job_cgroup->reason = "the cgroups of a Slurm step are managed by Slurm";
    } else {
        r = folder ? open_given(job_cgroup, folder, child)
                   : open_own(job_cgroup, tracker, child, cgroups);
        if (r < 0)
            job_cgroup->reason = explain(r);
        else if (!job_cgroup_has_memory(job_cgroup))
            job_cgroup->reason = "no cgroup controllers are delegated to us";
    }
}

void job_cgroup_close(struct job_cgroup *job_cgroup)
{
    if (!job_cgroup->root)
        return;
    for (int i = 0; i < JOB_CGROUP_FILE_COUNT; i++)
        cached_file_close(&job_cgroup->files[i]);
    children_buffer_done(&job_cgroup->io_text);
    job_cgroup_remove(job_cgroup); /* except a cgroup with a keeper: systemd removes that one */
    scope_keeper_stop(&job_cgroup->keeper);
    job_cgroup->root = NULL;
}

/* ---- reading ------------------------------------------------------------------ */

bool job_cgroup_has_memory(const struct job_cgroup *job_cgroup)
{
    if (job_cgroup_has(job_cgroup, CGROUP_MEMORY))
        return true;
    return job_cgroup_has(job_cgroup, CGROUP_UNIFIED) &&
           root_exists(job_cgroup->root, "%s/memory.current",
                       job_cgroup->folders[CGROUP_UNIFIED].own.path);
}

/* The name of a file in version 1, with its tree, and in version 2. NULL: none. */
static const struct {
    enum cgroup_controller v1_tree;
    const char *v1, *v2;
} files[JOB_CGROUP_FILE_COUNT] = {
    [JOB_CGROUP_FILE_CPU_STAT] = { .v2 = "cpu.stat" },
    [JOB_CGROUP_FILE_CPU] = { CGROUP_CPUACCT, "cpuacct.usage", NULL },
    [JOB_CGROUP_FILE_CPU_USER] = { CGROUP_CPUACCT, "cpuacct.usage_user", NULL },
    [JOB_CGROUP_FILE_CPU_SYSTEM] = { CGROUP_CPUACCT, "cpuacct.usage_sys", NULL },
    [JOB_CGROUP_FILE_MEMORY_PEAK] = { CGROUP_MEMORY, "memory.max_usage_in_bytes",
                                      "memory.peak" },
    [JOB_CGROUP_FILE_MEMORY_CURRENT] = { CGROUP_MEMORY, "memory.usage_in_bytes",
                                         "memory.current" },
    [JOB_CGROUP_FILE_MEMORY_STAT] = { CGROUP_MEMORY, "memory.stat", "memory.stat" },
    [JOB_CGROUP_FILE_THREADS_PEAK] = { CGROUP_PIDS, "pids.peak", "pids.peak" },
    [JOB_CGROUP_FILE_IO] = { .v2 = "io.stat" },
    [JOB_CGROUP_FILE_PRESSURE + PRESSURE_CPU] = { .v2 = "cpu.pressure" },
    [JOB_CGROUP_FILE_PRESSURE + PRESSURE_MEMORY] = { .v2 = "memory.pressure" },
    [JOB_CGROUP_FILE_PRESSURE + PRESSURE_IO] = { .v2 = "io.pressure" },
};

/* Reads a file from the hierarchy that has it, version 1 first; -ENOENT: none has it. */
static ssize_t read_record(struct job_cgroup *job_cgroup, enum job_cgroup_file file, char *text,
                           size_t size)
{
    bool is_v1 = files[file].v1 && job_cgroup_has(job_cgroup, files[file].v1_tree);
    enum cgroup_controller tree = is_v1 ? files[file].v1_tree : CGROUP_UNIFIED;
    const char *name = is_v1 ? files[file].v1 : files[file].v2;
    ssize_t n;

    if (!name || !job_cgroup_has(job_cgroup, tree) || job_cgroup->is_missing[file])
        return -ENOENT;
    n = cached_file_read(&job_cgroup->files[file], job_cgroup->root, READ_RECORD, text, size,
                         "%s/%s", job_cgroup->folders[tree].own.path, name);
    job_cgroup->is_missing[file] = n == -ENOENT;
    return n;
}

static uint64_t read_number(struct job_cgroup *job_cgroup, enum job_cgroup_file file)
{
    char text[64];
    uint64_t value;

    if (read_record(job_cgroup, file, text, sizeof(text)) < 0 ||
        cgroup_parse_u64(text, &value) < 0)
        return UNKNOWN;
    return value;
}

static bool read_cpu_stat(struct job_cgroup *job_cgroup, struct cgroup_cpu *ret)
{
    char text[1024];

    return read_record(job_cgroup, JOB_CGROUP_FILE_CPU_STAT, text, sizeof(text)) >= 0 &&
           cgroup_parse_cpu_stat(text, ret) == 0;
}

static void read_cpu(struct job_cgroup *job_cgroup, struct job_cgroup_reading *reading)
{
    if (read_cpu_stat(job_cgroup, &reading->cpu))
        return;
    reading->cpu.total_ns = read_number(job_cgroup, JOB_CGROUP_FILE_CPU);
    reading->cpu.user_ns = read_number(job_cgroup, JOB_CGROUP_FILE_CPU_USER);
    reading->cpu.system_ns = read_number(job_cgroup, JOB_CGROUP_FILE_CPU_SYSTEM);
    reading->split_is_by_ticks = true;
}

uint64_t job_cgroup_read_cpu_ns(struct job_cgroup *job_cgroup)
{
    struct cgroup_cpu cpu;

    return read_cpu_stat(job_cgroup, &cpu) ? cpu.total_ns
                                           : read_number(job_cgroup, JOB_CGROUP_FILE_CPU);
}

static int read_memory_stat(struct job_cgroup *job_cgroup, struct cgroup_memory *ret)
{
    const struct cgroup_memory *others = &job_cgroup->others.memory;
    char text[8192];
    ssize_t n = read_record(job_cgroup, JOB_CGROUP_FILE_MEMORY_STAT, text, sizeof(text));
    int r = n < 0 ? (int)n : cgroup_parse_memory_stat(text, ret);

    if (r < 0)
        return r;
    ret->anon_bytes = sub_floor0(ret->anon_bytes, others->anon_bytes);
    ret->shmem_bytes = sub_floor0(ret->shmem_bytes, others->shmem_bytes);
    ret->page_cache_bytes = sub_floor0(ret->page_cache_bytes, others->page_cache_bytes);
    return 0;
}

uint64_t job_cgroup_read_memory_bytes(struct job_cgroup *job_cgroup)
{
    return read_number(job_cgroup, JOB_CGROUP_FILE_MEMORY_CURRENT);
}

static void note_memory(struct job_cgroup *job_cgroup)
{
    if (job_cgroup->is_adopted || job_cgroup->is_surrounding)
        raise_to(&job_cgroup->peaks.memory_seen_bytes,
                 job_cgroup_read_memory_bytes(job_cgroup));
}

/* Takes the kernel's peak of an existing cgroup only if the peak has risen since we found the
 * cgroup. Otherwise the largest value seen is used. */
static void take_risen_peaks(struct job_cgroup *job_cgroup, struct job_cgroup_reading *reading)
{
    const struct job_cgroup_peaks *peaks = &job_cgroup->peaks;

    note_memory(job_cgroup);
    if (is_known(reading->threads_peak) && reading->threads_peak <= peaks->threads_before)
        reading->threads_peak = UNKNOWN;
    reading->memory_peak_is_sampled = !is_known(reading->memory_peak_bytes) ||
                                      reading->memory_peak_bytes <= peaks->memory_before_bytes;
    if (reading->memory_peak_is_sampled)
        reading->memory_peak_bytes =
            peaks->memory_seen_bytes > 0 ? peaks->memory_seen_bytes : UNKNOWN;
}

void job_cgroup_raise_memory(struct job_cgroup *job_cgroup, struct cgroup_memory *peak)
{
    struct cgroup_memory memory;

    note_memory(job_cgroup);
    if (read_memory_stat(job_cgroup, &memory) < 0)
        return;
    raise_to(&peak->anon_bytes, memory.anon_bytes);
    raise_to(&peak->shmem_bytes, memory.shmem_bytes);
    raise_to(&peak->page_cache_bytes, memory.page_cache_bytes);
}

static void read_io(struct job_cgroup *job_cgroup, struct job_cgroup_reading *reading)
{
    struct children_buffer *buffer = &job_cgroup->io_text;
    ssize_t n = CHILDREN_UNREAD;

    while (children_buffer_try(buffer, &n))
        n = read_record(job_cgroup, JOB_CGROUP_FILE_IO, buffer->text, buffer->size);
    if (n >= 0)
        (void)cgroup_parse_io_stat(buffer->text, &reading->io); /* stays unknown on failure */
}

void job_cgroup_read_pressure(struct job_cgroup *job_cgroup, struct job_cgroup_reading *reading)
{
    char text[512];

    for (int i = 0; i < PRESSURE_COUNT; i++) {
        if (read_record(job_cgroup, (enum job_cgroup_file)(JOB_CGROUP_FILE_PRESSURE + i), text,
                        sizeof(text)) >= 0)
            /* On failure the value stays as it was. */
            (void)pressure_parse(text, &reading->pressure_ns[i]);
    }
}

/* Subtracts the usage of the tracker. Its threads start and exit, so the peak of all threads is
 * unknown; the ratio of user to system time is taken from the tracker and the job together. */
static void subtract_others(const struct job_cgroup_reading *others,
                            struct job_cgroup_reading *reading)
{
    reading->cpu.total_ns = sub_known(reading->cpu.total_ns, others->cpu.total_ns);
    reading->cpu.user_ns = sub_known(reading->cpu.user_ns, others->cpu.user_ns);
    reading->cpu.system_ns = sub_known(reading->cpu.system_ns, others->cpu.system_ns);
    reading->split_is_by_ticks = true;
    reading->memory_peak_bytes =
        sub_known(reading->memory_peak_bytes, others->memory_peak_bytes);
    reading->io.read_bytes = sub_known(reading->io.read_bytes, others->io.read_bytes);
    reading->io.written_bytes = sub_known(reading->io.written_bytes, others->io.written_bytes);
    reading->threads_peak = UNKNOWN;
}

static bool is_lost(uint64_t value, uint64_t before)
{
    return !is_known(value) && is_known(before);
}

/* Keeps the last reading if the cgroup has been removed. A cgroup that is not ours, or was
 * created by systemd, may be removed as soon as it is empty. */
static void keep_last(struct job_cgroup *job_cgroup, struct job_cgroup_reading *reading)
{
    if (is_lost(reading->cpu.total_ns, job_cgroup->last.cpu.total_ns) ||
        is_lost(reading->memory_peak_bytes, job_cgroup->last.memory_peak_bytes)) {
        *reading = job_cgroup->last;
        reading->is_gone = true;
    } else {
        job_cgroup->last = *reading;
    }
}

void job_cgroup_read(struct job_cgroup *job_cgroup, struct job_cgroup_reading *ret)
{
    *ret = (struct job_cgroup_reading)JOB_CGROUP_READING_UNKNOWN;
    if (!job_cgroup->root)
        return;
    read_cpu(job_cgroup, ret);
    (void)read_memory_stat(job_cgroup, &ret->memory); /* on failure the memory stays unknown */
    ret->memory_peak_bytes = read_number(job_cgroup, JOB_CGROUP_FILE_MEMORY_PEAK);
    read_io(job_cgroup, ret);
    job_cgroup_read_pressure(job_cgroup, ret);
    ret->threads_peak = read_number(job_cgroup, JOB_CGROUP_FILE_THREADS_PEAK);
    if (job_cgroup->is_adopted || job_cgroup->is_surrounding)
        take_risen_peaks(job_cgroup, ret);
    if (job_cgroup->is_surrounding)
        subtract_others(&job_cgroup->others, ret);
    keep_last(job_cgroup, ret);
}

const char *job_cgroup_dmem_path(const struct job_cgroup *job_cgroup)
{
    enum cgroup_controller tree = job_cgroup_tree(job_cgroup, CGROUP_DMEM);

    return job_cgroup_has(job_cgroup, tree) && !job_cgroup->is_surrounding
               ? job_cgroup->folders[tree].own.path
               : NULL;
}

ssize_t job_cgroup_read_procs(struct job_cgroup *job_cgroup, char *text, size_t size)
{
    if (!job_cgroup_has(job_cgroup, CGROUP_UNIFIED) || job_cgroup->is_surrounding)
        return -ENOENT;
    return cached_file_read(&job_cgroup->files[JOB_CGROUP_FILE_PROCS], job_cgroup->root,
                            READ_WHOLE, text, size, "%s/cgroup.procs",
                            job_cgroup->folders[CGROUP_UNIFIED].own.path);
}

/* ---- processes that have left it ----------------------------------------------- */

enum { TEXT_SIZE = 16 * 1024, GROWTH_BYTES = 4 << 20 };

static bool read_text(const struct root *root, pid_t pid, char text[TEXT_SIZE])
{
    return root_read(root, text, TEXT_SIZE, "proc/%d/cgroup", (int)pid) > 0;
}

void cgroup_escape_init(struct cgroup_escape *escape, const struct job_cgroup *job_cgroup,
                        pid_t main_pid)
{
    char text[TEXT_SIZE];
    struct text_part path;

    *escape = (struct cgroup_escape){ 0 };
    if (!job_cgroup->root || !read_text(job_cgroup->root, main_pid, text))
        return;
    for (int i = 0; i < CGROUP_TREE_COUNT; i++) {
        if (job_cgroup_has(job_cgroup, (enum cgroup_controller)i) &&
            cgroup_find_path(text, (enum cgroup_controller)i, &path) == 0 &&
            path.length < sizeof(escape->home[i]))
            memcpy(escape->home[i], path.start, path.length);
    }
}

/* Whether a process is exiting: version 1 then lists it in the root of the hierarchy. */
static bool is_ending(const struct root *root, struct member *member)
{
    struct pid_stat stat;

    return pid_stat_read(&member->files.stat, root, member->id.pid, &stat) < 0 ||
           stat.is_ending;
}

static bool is_at_or_below(struct text_part path, const char *home)
{
    size_t length = strlen(home);

    if (length == 1) /* the root of a cgroup namespace, "/" */
        return true;
    return path.length >= length && strncmp(path.start, home, length) == 0 &&
           (path.length == length || path.start[length] == '/');
}

static bool is_watching(const struct cgroup_escape *escape)
{
    for (int i = 0; i < CGROUP_TREE_COUNT; i++) {
        if (escape->home[i][0] != '\0' && !escape->has_left[i])
            return true;
    }
    return false;
}

void cgroup_escape_check(struct cgroup_escape *escape, const struct root *root,
                         struct member *member)
{
    char text[TEXT_SIZE];
    struct text_part path;

    if (!is_watching(escape))
        return;
    member->reading.placed_rss_bytes = member->reading.rss_bytes;
    if (!read_text(root, member->id.pid, text))
        return;
    for (int i = 0; i < CGROUP_TREE_COUNT; i++) {
        if (escape->home[i][0] == '\0' || escape->has_left[i] ||
            cgroup_find_path(text, (enum cgroup_controller)i, &path) < 0 ||
            is_at_or_below(path, escape->home[i]))
            continue;
        if (is_ending(root, member))
            return;
        escape->has_left[i] = true;
    }
}

bool cgroup_escape_is_due(const struct cgroup_escape *escape, const struct member *member)
{
    return member->reading.rss_bytes > 2 * member->reading.placed_rss_bytes + GROWTH_BYTES &&
           is_watching(escape);
}
