/* SPDX-License-Identifier: Apache-2.0 */
#include "job/ladder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/environment.h"
#include "base/unknown.h"
#include "job/gpu/gpu_inquiry.h"
#include "job/job.h"
#include "source/perf/task_clock.h"
#include "source/proc/cpu_clock.h"
#include "source/proc/pid_io.h"
#include "source/proc/smaps_rollup.h"

/* A job that does nothing, followed as any other: what serves for it serves here. */
struct trial {
    const struct root *root;
    pid_t pid;
    int end_fd; /* closed, it ends */
    struct job job;
    int error; /* of starting it */
    unsigned disabled;
    const char *remedy; /* of a probe that knows better than the table; NULL: it does not */
    char text[sizeof(((struct spoor_error *)0)->message)];
    struct {
        const char *name; /* of the GPU vendor that was asked last; NULL: none was */
        const char *why_not, *remedy;
        bool keeps_accounts;
    } vendor;
};

_Static_assert(sizeof(((struct trial *)0)->text) >= sizeof(((struct births *)0)->reason),
               "a reason of births fits");

static int start_child(struct trial *trial)
{
    int fds[2];
    char byte;

    if (pipe2(fds, O_CLOEXEC) < 0)
        return -errno;
    trial->pid = fork();
    if (trial->pid == 0) {
        close(fds[1]);
        _exit(read(fds[0], &byte, 1) == 0 ? 0 : 1);
    }
    close(fds[0]);
    trial->end_fd = fds[1];
    return trial->pid < 0 ? -errno : 0;
}

static void trial_start(struct trial *trial, const struct root *root)
{
    struct job_options options = { .caller_spawned = true, .environment = environment_own };
    struct cgroups cgroups;
    const char *unknown;

    *trial = (struct trial){ .root = root, .end_fd = -1 };
    (void)rungs_parse(getenv("SPOOR_DISABLE"), &trial->disabled, &unknown); /* none, then */
    trial->error = root->is_live ? start_child(trial) : -ENOTSUP;
    if (trial->error < 0)
        return;
    options.pid = trial->pid;
    if (cgroups_read(root, trial->pid, &cgroups) == 0)
        options.cgroups = &cgroups;
    trial->error = job_init(&trial->job, root, &options, clock_now().monotonic_ns);
}

static void trial_end(struct trial *trial)
{
    if (trial->end_fd < 0)
        return;
    job_done(&trial->job);
    close(trial->end_fd);
    while (waitpid(trial->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
}

/* ---- probes: NULL where the source serves, or why not ------------------- */

typedef const char *probe(struct trial *trial);

static const char *why(int r)
{
    switch (-r) {
    case 0:
        return NULL;
    case EACCES:
    case EPERM:
        return "permission denied";
    case ENOENT:
        return "not supported by this kernel";
    case ENOTSUP:
        return "not a live system";
    default:
        return "refused by the kernel";
    }
}

static const char *probe_leaf(struct trial *trial, bool serves)
{
    if (trial->error < 0)
        return why(trial->error);
    if (serves)
        return NULL;
    return trial->job.leaf.reason ? trial->job.leaf.reason : "cannot create a cgroup here";
}

static const char *probe_leaf_unified(struct trial *trial)
{
    return probe_leaf(trial, leaf_has(&trial->job.leaf, LEAF_UNIFIED));
}

static const char *probe_leaf_cpu(struct trial *trial)
{
    return probe_leaf(trial, is_known(leaf_read_cpu_ns(&trial->job.leaf)));
}

static const char *probe_leaf_memory(struct trial *trial)
{
    return probe_leaf(trial, leaf_has_memory(&trial->job.leaf));
}

static const char *probe_leaf_threads(struct trial *trial)
{
    struct leaf_reading reading;

    leaf_read(&trial->job.leaf, &reading);
    return probe_leaf(trial, is_known(reading.threads_peak));
}

static const char *probe_task_clock(struct trial *trial)
{
    struct event_set events = { 0 };
    int r = trial->root->is_live ? task_clock_add(&events, getpid()) : -ENOTSUP;

    event_set_close(&events);
    return why(r);
}

static const char *probe_gate(struct trial *trial)
{
    if (trial->error < 0)
        return why(trial->error);
    return trial->job.fault_gate.events.count > 0 ? NULL : "permission denied";
}

static const char *probe_births(struct trial *trial, const char *source, unsigned others)
{
    struct births births = { 0 };
    bool serves;

    if (trial->error < 0)
        return why(trial->error);
    births_open(&births, trial->root, trial->pid, others);
    serves = births.source && strcmp(births.source, source) == 0;
    memcpy(trial->text, births.reason, sizeof(births.reason));
    births_close(&births);
    return serves ? NULL : trial->text;
}

static const char *probe_ring(struct trial *trial)
{
    return probe_births(trial, "perf.fork-ring", RUNG_CONNECTOR | RUNG_TASKSTATS);
}

static const char *probe_connector(struct trial *trial)
{
    return probe_births(trial, "proc-connector", RUNG_RING | RUNG_TASKSTATS);
}

static const char *probe_exit_records(struct trial *trial)
{
    if (trial->error < 0)
        return why(trial->error);
    return trial->job.births.has_peaks ? NULL : "permission denied";
}

static const char *probe_always(struct trial *trial)
{
    (void)trial;
    return NULL;
}

static const char *probe_cpu_clock(struct trial *trial)
{
    uint64_t ns;

    return why(cpu_clock_read(trial->root, getpid(), &ns));
}

static const char *probe_rollup(struct trial *trial)
{
    struct smaps_rollup rollup;

    return why(smaps_rollup_read(trial->root, getpid(), &rollup));
}

static const char *probe_children(struct trial *trial)
{
    return children_are_listed(trial->root) ? NULL : "not supported by this kernel";
}

static const char *probe_io_of(struct trial *trial, pid_t pid)
{
    struct kept file = KEPT_CLOSED;
    struct pid_io io;
    int r = pid_io_read(&file, trial->root, pid, &io);

    kept_close(&file);
    return why(r);
}

static const char *probe_io(struct trial *trial)
{
    return probe_io_of(trial, getpid());
}

static const char *probe_foreign_io(struct trial *trial)
{
    return probe_io_of(trial, 1);
}

static const char *probe_pressure(struct trial *trial)
{
    return root_exists(trial->root, "proc/pressure/cpu") ? NULL
                                                         : "not supported by this kernel";
}

static const char no_remedy[] = "";

/* What helps against a failure of a GPU's driver. NVIDIA's alone has versions that must agree. */
static const char *remedy_of_driver(int error)
{
    switch (error) {
    case ELIBBAD:
        return "reboot, or reload the nvidia kernel module";
    case ETIMEDOUT:
        return "enable persistence mode if the GPU is slow to start; otherwise check dmesg for "
               "errors, then reset the GPU or reboot";
    default:
        return NULL;
    }
}

static bool keep_accounts(const struct gpu_inventory *inventory)
{
    for (size_t i = 0; i < inventory->count; i++) {
        if (inventory->units[i].device.keeps_accounts)
            return true;
    }
    return false;
}

/* Opens a vendor as a run would. */
static const char *ask_vendor(struct trial *trial, const char *name)
{
    const struct gpu_vendor *vendors[GPU_VENDORS_MAX];
    size_t count = gpu_vendors_enabled(trial->disabled, vendors);

    for (size_t i = 0; i < count; i++) {
        struct gpu_inventory found;
        const struct spoor_error *error = &found.absent;
        int r;

        if (strcmp(vendors[i]->name, name) != 0)
            continue;
        r = gpu_inquire(trial->root, &vendors[i], 1, "all", &found);
        trial->vendor.keeps_accounts = keep_accounts(&found);
        gpu_inventory_close(&found);
        if (found.refusal_count > 0)
            error = &found.refusals[0].error;
        trial->remedy = remedy_of_driver(r == -ETIMEDOUT ? ETIMEDOUT : error->code);
        if (r == -ETIMEDOUT)
            return gpu_inquiry_silence;
        memcpy(trial->text, error->message, sizeof(trial->text));
        return r == 0 ? NULL : trial->text[0] ? trial->text : "no such GPU in this machine";
    }
    trial->remedy = "unset SPOOR_DISABLE";
    return "disabled by SPOOR_DISABLE";
}

/* Once for the rungs of a vendor, which stand together. */
static const char *probe_vendor(struct trial *trial, const char *name)
{
    if (!trial->vendor.name || strcmp(trial->vendor.name, name) != 0) {
        trial->vendor.name = name;
        trial->vendor.why_not = ask_vendor(trial, name);
        trial->vendor.remedy = trial->remedy;
    }
    trial->remedy = trial->vendor.remedy;
    return trial->vendor.why_not;
}

static const char *probe_nvidia(struct trial *trial)
{
    return probe_vendor(trial, "nvidia");
}

static const char *probe_accounts(struct trial *trial)
{
    if (probe_nvidia(trial)) {
        trial->remedy = no_remedy; /* as above */
        return "see 'NVIDIA GPUs' above";
    }
    return trial->vendor.keeps_accounts
               ? NULL
               : "accounting mode is off, or not visible in a container";
}

static const char *probe_amd(struct trial *trial)
{
    return probe_vendor(trial, "amd");
}

static const char *probe_intel(struct trial *trial)
{
    return probe_vendor(trial, "intel");
}

static const char *probe_later(struct trial *trial)
{
    (void)trial;
    return "not implemented yet";
}

/* A step that would change it: for a user, and for root, who may be refused in a container. */
struct remedy {
    const char *of_user, *of_root; /* NULL: none is known */
};

static const struct remedy delegate = {
    "run as root, or delegate a cgroup and pass --cgroup DIRECTORY",
    "delegate a cgroup and pass --cgroup DIRECTORY",
};
static const struct remedy allow_perf = {
    "sysctl kernel.perf_event_paranoid=2; in a container, allow perf_event_open",
    "in a container, allow perf_event_open",
};
static const struct remedy be_root = {
    "run as root",
    "run outside containers, with CAP_NET_ADMIN",
};
static const struct remedy show_proc = {
    "mount /proc without hidepid, or run as root",
    "mount /proc without hidepid",
};
static const struct remedy allow_ptrace = {
    "run as root; in a container, also allow CAP_SYS_PTRACE",
    "in a container, allow CAP_SYS_PTRACE",
};
static const struct remedy list_children = {
    "use a kernel built with CONFIG_PROC_CHILDREN",
    "use a kernel built with CONFIG_PROC_CHILDREN",
};
static const struct remedy boot_with_pressure = { "boot with psi=1", "boot with psi=1" };

#define GET_NVIDIA \
    "install the NVIDIA driver; in a container, pass the GPUs through (docker run --gpus all)"
static const struct remedy get_nvidia = { GET_NVIDIA, GET_NVIDIA };

#define ACCOUNT "outside containers, run nvidia-smi --accounting-mode=1"
static const struct remedy account = { "as root, " ACCOUNT, ACCOUNT };

static const struct {
    const char *quantity;
    const char *source;
    probe *probe;
    const struct remedy *remedy; /* NULL: none */
} rungs[] = {
    { "CPU time of a job", "cgroup.cpu.stat", probe_leaf_cpu, &delegate },
    { "CPU time of a job", "wait4, verified by perf", probe_task_clock, &allow_perf },
    { "CPU time of a job", "wait4 (subreaper)", probe_always, NULL },
    { "CPU time of a process", "procfs.cpuclock", probe_cpu_clock, NULL },
    { "CPU time of a process", "procfs.stat", probe_always, NULL },
    { "peak memory of a job, with page cache", "cgroup.memory.peak", probe_leaf_memory,
      &delegate },
    { "peak memory of a job", "procfs.statm, read on page faults", probe_gate, &allow_perf },
    { "peak memory of a job", "procfs.statm, every 10 ms", probe_always, NULL },
    { "peak memory of a process", "wait4.ru_maxrss, procfs.status.VmHWM", probe_always, NULL },
    { "peak memory of processes never waited for", "taskstats", probe_exit_records, &be_root },
    { "private and shared memory", "procfs.smaps_rollup, smaps, pagemap", probe_rollup,
      &show_proc },
    { "processes of a job", "cgroup.procs", probe_leaf_unified, &delegate },
    { "processes of a job", "procfs.children", probe_children, &list_children },
    { "processes of a job", "scan of /proc", probe_always, NULL },
    { "number of processes started", "perf.fork-ring", probe_ring, &allow_perf },
    { "number of processes started", "proc-connector", probe_connector, &be_root },
    { "number of processes started", "processes seen by samples", probe_always, NULL },
    { "peak number of threads", "cgroup.pids.peak", probe_leaf_threads, &delegate },
    { "peak number of threads", "procfs.stat", probe_always, NULL },
    { "disk I/O", "procfs.io", probe_io, &show_proc },
    { "I/O and memory of other users' processes", "procfs.io, procfs.smaps", probe_foreign_io,
      &allow_ptrace },
    { "pressure stalls of the job", "cgroup pressure", probe_leaf_unified, &delegate },
    { "pressure stalls of the machine", "host.procfs.pressure", probe_pressure,
      &boot_with_pressure },
    { "NVIDIA GPUs", "nvml", probe_nvidia, &get_nvidia },
    { "exact peak memory of processes on NVIDIA GPUs", "nvml.accounting", probe_accounts,
      &account },
    { "AMD GPUs", "amdgpu sysfs, drm.fdinfo, kfd", probe_amd, NULL },
    { "Intel GPUs", "i915 or xe sysfs, drm.fdinfo", probe_intel, NULL },
    { "CPU energy", "rapl", probe_later, NULL },
};

/* NULL: none is known. */
static const char *remedy_now(const struct trial *trial, const struct remedy *remedy)
{
    if (trial->remedy || !remedy)
        return trial->remedy == no_remedy ? NULL : trial->remedy;
    return geteuid() == 0 ? remedy->of_root : remedy->of_user;
}

void ladder_check(const struct root *root,
                  void (*each)(const struct spoor_rung *rung, void *data), void *data)
{
    struct trial trial;

    trial_start(&trial, root);
    for (size_t i = 0; i < ARRAY_SIZE(rungs); i++) {
        struct spoor_rung rung = { .quantity = rungs[i].quantity, .source = rungs[i].source };

        trial.remedy = NULL;
        rung.why_not = rungs[i].probe(&trial);
        rung.is_available = !rung.why_not;
        rung.remedy = rung.why_not ? remedy_now(&trial, rungs[i].remedy) : NULL;
        each(&rung, data);
    }
    trial_end(&trial);
}
