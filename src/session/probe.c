/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe.c - which sources work on this machine, for this user.
 *
 * Each source is tried, instead of being guessed from versions or names: a source may be denied
 * however new the kernel is.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/hidden_child.h"
#include "job/gpu/gpu_inventory.h"
#include "job/job.h"
#include "session/session.h"
#include "source/host/energy.h"
#include "source/perf/events.h"
#include "source/proc/pid_files.h"
#include "source/proc/smaps.h"

/* ---- an idle process to test sources on ------------------------------------ */

/* Runs in the child: reports that it is ready, and waits for the end of its input. */
static _Noreturn void be_child(int fd, bool is_foreign)
{
    enum { NOBODY = 65534 };
    char byte = 0;

    if (is_foreign && setresuid(NOBODY, NOBODY, NOBODY) < 0)
        _exit(1);
    _exit(write(fd, &byte, 1) == 1 && read(fd, &byte, 1) == 0 ? 0 : 1);
}

static void trial_child_end(pid_t pid, int end_fd)
{
    close(end_fd);
    child_reap(pid);
}

/* Starts a child that exits when *ret_end_fd is closed. The child belongs to this user or, if
 * `is_foreign`, which needs root, to another user. Returns its PID or -errno. */
static pid_t trial_child_start(bool is_foreign, int *ret_end_fd)
{
    int fds[2];
    pid_t pid;
    char byte;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
        return -errno;
    pid = fork();
    if (pid == 0) {
        close(fds[1]);
        be_child(fds[0], is_foreign);
    }
    if (pid < 0)
        pid = -errno;
    close(fds[0]);
    if (pid > 0 && read(fds[1], &byte, 1) != 1) {
        trial_child_end(pid, fds[1]);
        return -EPERM;
    }
    if (pid > 0)
        *ret_end_fd = fds[1];
    else
        close(fds[1]);
    return pid;
}

/* An idle job, tracked like any other: a source that works for this job works on this
 * machine. */
struct trial {
    const struct root *root;
    pid_t pid;  /* 0: there is no job, and `error` is the reason */
    int end_fd; /* the process exits when this is closed */
    struct job job;
    struct job_cgroup_reading reading; /* of its cgroup */
    int error;
    unsigned disabled;
    enum spoor_detail detail;
    enum spoor_cgroup cgroup;
    const char *remedy; /* from a probe, more specific than the table's; NULL: use the table */
    char text[sizeof(((struct spoor_error *)0)->message)];
    struct {
        unsigned bit;        /* bit of the GPU vendor in question, see source_names.h */
        unsigned opened_bit; /* bit of the vendor opened last; 0: none */
        const char *why_not, *remedy;
        bool keeps_accounts, counts_work;
    } vendor;
};

_Static_assert(FORK_RING_CPU_MAX == 8, "as the reason says");

static const char no_remedy[] = "";

static void trial_start(struct trial *trial, const struct root *root,
                        const struct job_options *like)
{
    struct job_options options = *like;
    struct cgroups cgroups;
    pid_t pid;

    *trial = (struct trial){
        .root = root, .disabled = like->disabled, .detail = like->detail, .cgroup = like->cgroup
    };
    pid = root->is_live ? trial_child_start(false, &trial->end_fd) : -ENOTSUP;
    if (pid < 0) {
        trial->error = pid;
        return;
    }
    trial->pid = options.pid = pid;
    options.caller_spawned = true;
    options.environment = environment_own;
    if (cgroups_read(root, pid, &cgroups) == 0)
        options.cgroups = &cgroups;
    trial->error = job_init(&trial->job, root, &options, clock_now().monotonic_ns);
    job_cgroup_read(&trial->job.meters.job_cgroup, &trial->reading);
    if (trial->error == -ENOTSUP) /* no required cgroup: the rows show why */
        trial->error = 0;
}

static void trial_end(struct trial *trial)
{
    if (trial->pid == 0)
        return;
    trial_child_end(trial->pid, trial->end_fd);
    job_done(&trial->job);
}

/* ---- probes: return NULL if the source works, or why not --------------------- */

typedef const char *probe(struct trial *trial);

static const char *why(struct trial *trial, int r)
{
    if (r < 0 && trial->root->proc_fault) {
        trial->remedy = "mount /proc in this PID namespace (unshare --mount-proc)";
        return trial->root->proc_fault;
    }
    switch (-r) {
    case 0:
        return NULL;
    case EACCES:
    case EPERM:
        return "permission denied";
    case ENOENT:
    case ENOSYS:
    case EOPNOTSUPP:
        return "not supported by this kernel";
    default:
        return "refused by the kernel";
    }
}

static const char *why_no_trial(struct trial *trial)
{
    if (trial->error == -ENOTSUP)
        return "not a live system";
    return trial->pid == 0 ? "cannot start a process" : why(trial, trial->error);
}

static const char *probe_cgroup(struct trial *trial, bool serves)
{
    if (serves)
        return NULL;
    if (trial->cgroup == SPOOR_CGROUP_OFF)
        trial->remedy = "remove --cgroup off";
    if (trial->job.meters.job_cgroup.reason)
        return trial->job.meters.job_cgroup.reason;
    trial->remedy = no_remedy; /* version 1 has a separate directory for each controller */
    if (trial->job.meters.job_cgroup.is_surrounding)
        return "the cgroup around spoor counts spoor too, or has no controller for it";
    return "the cgroup of the job has no controller for it";
}

static const char *probe_leaf_unified(struct trial *trial)
{
    const struct job_cgroup *cgroup = &trial->job.meters.job_cgroup;

    return probe_cgroup(trial,
                        job_cgroup_has(cgroup, CGROUP_UNIFIED) && !cgroup->is_surrounding);
}

static const char *probe_leaf_cpu(struct trial *trial)
{
    return probe_cgroup(trial, is_known(trial->reading.cpu.total_ns));
}

static const char *probe_leaf_memory(struct trial *trial)
{
    return probe_cgroup(trial, job_cgroup_has_memory(&trial->job.meters.job_cgroup));
}

static const char *probe_leaf_refaults(struct trial *trial)
{
    const struct cgroup_memory *memory = &trial->reading.memory;

    if (!is_known(memory->anon_bytes) || is_known(memory->refaulted_pages))
        return probe_cgroup(trial, is_known(memory->refaulted_pages));
    trial->remedy = no_remedy;
    return "not supported by this kernel";
}

/* Probes the dmem controller. Its file lists a region for each GPU whose driver counts its
 * memory. */
static const char *probe_dmem(struct trial *trial)
{
    const char *path = job_cgroup_dmem_path(&trial->job.meters.job_cgroup);
    char text[256] = "";

    if (!path || !root_exists(trial->root, "%s/dmem.current", path))
        return probe_cgroup(trial, false);
    (void)root_read_start(trial->root, text, sizeof(text), "%s/dmem.current", path);
    trial->remedy = no_remedy;
    return text[0] ? NULL : "no driver of a GPU in this machine counts its memory for cgroups";
}

static const char *probe_leaf_threads(struct trial *trial)
{
    return probe_cgroup(trial, is_known(trial->reading.threads_peak));
}

static const char *probe_leaf_pressure(struct trial *trial)
{
    return probe_cgroup(trial, is_known(trial->reading.pressure_ns[PRESSURE_CPU]));
}

static const char *probe_task_clock(struct trial *trial)
{
    struct event_set events = { 0 };
    int r = task_clock_add(&events, trial->pid);

    event_set_close(&events);
    return why(trial, r);
}

static const char *probe_counters(struct trial *trial)
{
    struct counters counters;
    int r = counters_open(&counters, trial->pid);

    counters_close(&counters);
    if (r != -ENOENT && r != -EOPNOTSUPP && r != -ENODEV)
        return why(trial, r);
    trial->remedy = no_remedy;
    return "this machine has no hardware counters";
}

static const char *probe_ring(struct trial *trial)
{
    struct fork_ring ring;
    int r = fork_ring_open(trial->root, trial->pid, &ring);

    fork_ring_close(&ring);
    if (r == -E2BIG) {
        trial->remedy = "bind the job to at most 8 CPUs (taskset)";
        return "more than 8 CPUs";
    }
    return why(trial, r);
}

static const char *probe_connector(struct trial *trial)
{
    struct proc_connector connector;
    int r = proc_connector_open(trial->root, &connector);

    proc_connector_close(&connector);
    if (r == -ENOTSUP) {
        trial->remedy = "run outside containers and user namespaces";
        return "not available in this namespace, or not supported by this kernel";
    }
    return why(trial, r);
}

/* Probes perf's thread events. The connector is preferred, since it does not slow down the job,
 * but its events from different CPUs arrive out of order. */
static const char *probe_thread_events(struct trial *trial)
{
    if (!trial->job.process_events.is_machine_wide)
        return probe_ring(trial);
    trial->remedy = no_remedy;
    return "proc-connector is used";
}

static const char *probe_exit_records(struct trial *trial)
{
    if (!trial->job.process_events.source)
        return "needs proc-connector or perf.fork-ring, below";
    return trial->job.process_events.has_peaks ? NULL : "permission denied";
}

static const char *probe_network(struct trial *trial)
{
    return trial->root->proc_fault ? why(trial, -ESRCH) : trial->job.network.reason;
}

static const char *probe_always(struct trial *trial)
{
    (void)trial;
    return NULL;
}

/* Probes files that every process has. */
static const char *probe_files(struct trial *trial)
{
    return why(trial, trial->root->proc_fault ? -ESRCH : 0);
}

static const char *probe_cpu_clock(struct trial *trial)
{
    uint64_t ns;

    return why(trial, cpu_clock_read(trial->root, trial->pid, &ns));
}

static const char *probe_schedstat(struct trial *trial)
{
    struct schedstat times;
    int r = schedstat_read(trial->root, trial->pid, &times);

    return why(trial, r == 0 && times.run_ns == 0 ? -ENOENT : r);
}

static const char *probe_rollup(struct trial *trial)
{
    struct smaps_rollup rollup;

    if (trial->detail == SPOOR_DETAIL_NEVER) {
        trial->remedy = "remove --detail never";
        return "disabled by --detail never";
    }
    return why(trial, smaps_rollup_read(trial->root, trial->pid, &rollup));
}

static const char *probe_children(struct trial *trial)
{
    if (trial->root->proc_fault)
        return why(trial, -ESRCH);
    return trial->job.lists_children ? NULL : "not supported by this kernel";
}

static const char *probe_io(struct trial *trial)
{
    struct pid_io io;

    return why(trial, pid_io_read(NULL, trial->root, trial->pid, &io));
}

/* Reads a process of another user. Root starts such a process; other users read process 1,
 * which belongs to root or, in a user's own container, to that user. */
static const char *probe_foreign(struct trial *trial)
{
    struct smaps_rollup rollup;
    struct pid_io io;
    bool is_root = geteuid() == 0;
    int end_fd = -1;
    pid_t pid = is_root ? trial_child_start(true, &end_fd) : 1;
    int r = pid < 0 ? pid : pid_io_read(NULL, trial->root, pid, &io);

    if (r == 0)
        r = smaps_rollup_read(trial->root, pid, &rollup);
    if (is_root && pid > 0)
        trial_child_end(pid, end_fd);
    if (r == -ENOENT && !root_exists(trial->root, "proc/%d", (int)pid)) {
        trial->remedy = "mount /proc without hidepid, or run as root";
        return "they are hidden: /proc is mounted with hidepid";
    }
    return why(trial, r);
}

static const char *probe_pressure(struct trial *trial)
{
    char text[512];
    ssize_t n = root_read(trial->root, text, sizeof(text), "proc/pressure/cpu");

    return why(trial, n < 0 ? (int)n : 0);
}

/* Returns a remedy for a failing GPU driver. Only NVIDIA's driver has versions that must
 * match. */
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

static const char *open_vendor(struct trial *trial)
{
    const struct gpu_vendor *vendors[GPU_VENDORS_MAX];
    size_t count = gpu_vendors_enabled(trial->disabled, vendors);

    for (size_t i = 0; i < count; i++) {
        struct gpu_inventory found;
        const struct spoor_error *error = &found.absent;
        int r;

        if (sources_find(vendors[i]->name) != trial->vendor.bit)
            continue;
        r = gpu_inquire(trial->root, &vendors[i], 1, "all", &found);
        for (size_t k = 0; k < found.count; k++) {
            trial->vendor.keeps_accounts |= found.units[k].device.keeps_accounts;
            trial->vendor.counts_work |= found.units[k].device.counts_work;
        }
        gpu_inventory_close(&found);
        if (found.refusal_count > 0)
            error = &found.refusals[0].error;
        trial->remedy = remedy_of_driver(r == -ETIMEDOUT ? ETIMEDOUT : error->code);
        if (r == -ETIMEDOUT)
            return gpu_inquiry_silence;
        memcpy(trial->text, error->message, sizeof(trial->text));
        return r == 0 ? NULL : trial->text[0] ? trial->text : "no such GPU in this machine";
    }
    return "not supported by this version";
}

/* Probes a vendor once for all of its sources, which are adjacent in the table. */
static const char *probe_vendor(struct trial *trial)
{
    if (trial->vendor.opened_bit != trial->vendor.bit) {
        trial->vendor.opened_bit = trial->vendor.bit;
        trial->vendor.keeps_accounts = trial->vendor.counts_work = false;
        trial->vendor.why_not = open_vendor(trial);
        trial->vendor.remedy = trial->remedy;
    }
    trial->remedy = trial->vendor.remedy;
    return trial->vendor.why_not;
}

static const char *probe_of_vendor(struct trial *trial, const bool *works, const char *why_not)
{
    if (!probe_vendor(trial))
        return *works ? NULL : why_not;
    trial->remedy = no_remedy; /* the vendor's row has the remedy */
    return trial->vendor.bit == SOURCE_AMD ? "see 'AMD GPUs' above" : "see 'NVIDIA GPUs' above";
}

static const char *probe_accounts(struct trial *trial)
{
    return probe_of_vendor(trial, &trial->vendor.keeps_accounts,
                           "accounting mode is off, or not visible in a container");
}

static const char *probe_work(struct trial *trial)
{
    return probe_of_vendor(trial, &trial->vendor.counts_work,
                           trial->vendor.bit == SOURCE_AMD
                               ? "no GPU has it in gpu_metrics: MI300 and later do"
                               : "no GPU is of the Hopper generation or later, or MIG is on");
}

/* The files of powercap have mode 0400 since Linux 5.10. */
#define UDEV_LINE                                                                     \
    "run as root, or as root add to /etc/udev/rules.d/90-energy.rules: SUBSYSTEM==\"" \
    "powercap\", ACTION==\"add\", RUN+=\"/bin/chmod a+r /sys%p/energy_uj\""

static const char *probe_energy(struct trial *trial)
{
    struct energy energy = { 0 };
    const char *reason;

    energy_search(&energy, trial->root);
    reason = energy.source ? NULL : energy.reason;
    trial->remedy = reason == energy_is_denied ? UDEV_LINE : no_remedy;
    energy_close(&energy);
    return reason;
}

static int read_counters(const struct trial *trial, bool is_nfs)
{
    AUTO_FREE struct device_table *table = malloc(sizeof(*table));
    struct device_bytes unused;

    if (!table)
        return -ENOMEM;
    device_table_init(table);
    return is_nfs ? nfs_read(trial->root, 0, table, &unused)
                  : rdma_read(trial->root, table, &unused);
}

static const char *probe_rdma(struct trial *trial)
{
    return read_counters(trial, false) < 0 ? "no RDMA port has counters" : NULL;
}

static const char *probe_nfs(struct trial *trial)
{
    return read_counters(trial, true) < 0 ? "no NFS file system is mounted" : NULL;
}

/* Remedies for an ordinary user and for root: even root may be refused in a container. */
struct remedy {
    const char *of_user, *of_root; /* of_root NULL: same as of_user */
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
static const struct remedy list_children = { "use a kernel built with CONFIG_PROC_CHILDREN",
                                             NULL };
static const struct remedy boot_with_pressure = { "boot with psi=1", NULL };
static const struct remedy get_nvidia = {
    "install the NVIDIA driver; in a container, pass the GPUs through (docker run --gpus all)",
    NULL,
};

#define ACCOUNT "outside containers, run nvidia-smi --accounting-mode=1"
static const struct remedy account = { "as root, " ACCOUNT, ACCOUNT };

#define CGROUP SOURCE_CGROUP
#define GPUS(vendor) (SOURCE_GPU | (vendor))

/* The sources of a quantity are adjacent, best first. */
/* clang-format off */
static const struct {
    const char *quantity;
    const char *source;
    probe *probe;
    const struct remedy *remedy; /* NULL: none */
    unsigned disabled_by;        /* each of these bits disables the source */
    bool needs_job;              /* the probe uses the trial's job */
} sources[] = {
{ "CPU time of a job", "cgroup.cpu.stat", probe_leaf_cpu, &delegate, CGROUP, true },
{ "CPU time of a job", "wait4, verified by perf", probe_task_clock, &allow_perf, SOURCE_PERF, true },
{ "CPU time of a job", "wait4 (subreaper)", probe_always, NULL, 0, false },
{ "CPU time of a process", "procfs.cpuclock", probe_cpu_clock, NULL, SOURCE_CLOCK, true },
{ "CPU time of a process", "procfs.stat", probe_files, NULL, 0, false },
{ "peak memory of a job, with page cache", "cgroup.memory.peak", probe_leaf_memory, &delegate, CGROUP, true },
{ "page cache read again", "cgroup.memory.stat", probe_leaf_refaults, &delegate, CGROUP, true },
{ "peak memory of a job", "procfs.statm, between samples", probe_files, NULL, 0, false },
{ "peak memory of a process", "wait4.ru_maxrss, procfs.status.VmHWM", probe_always, NULL, 0, false },
{ "peak memory of processes never waited for", "taskstats", probe_exit_records, &be_root, SOURCE_TASKSTATS, true },
{ "private and shared memory", "procfs.smaps_rollup", probe_rollup, &show_proc, 0, true },
{ "processes of a job", "cgroup.procs", probe_leaf_unified, &delegate, CGROUP, true },
{ "processes of a job", "procfs.children", probe_children, &list_children, SOURCE_CHILDREN, true },
{ "processes of a job", "scan of /proc", probe_files, NULL, 0, false },
{ "number of processes started", "proc-connector", probe_connector, &be_root, SOURCE_CONNECTOR, true },
{ "number of processes started", "perf.fork-ring", probe_ring, &allow_perf, SOURCE_RING, true },
{ "number of processes started", "processes seen by samples", probe_files, NULL, 0, false },
{ "peak number of threads", "perf.fork-ring", probe_thread_events, &allow_perf, SOURCE_RING, true },
{ "peak number of threads", "cgroup.pids.peak", probe_leaf_threads, &delegate, CGROUP, true },
{ "peak number of threads", "procfs.stat", probe_files, NULL, 0, false },
{ "waiting for a CPU", "taskstats", probe_exit_records, &be_root, SOURCE_TASKSTATS, true },
{ "waiting for a CPU", "procfs.schedstat", probe_schedstat, NULL, 0, true },
{ "instructions per cycle, with --counters", "perf.hardware", probe_counters, &allow_perf, SOURCE_PERF, true },
{ "disk I/O", "procfs.io", probe_io, &show_proc, 0, true },
{ "network bytes of a job", "sock_diag", probe_network, NULL, SOURCE_NETWORK, true },
{ "bytes of RDMA ports", "host.sysfs.infiniband", probe_rdma, NULL, 0, false },
{ "bytes of NFS mounts", "host.procfs.mountstats", probe_nfs, NULL, 0, false },
{ "I/O and memory of other users' processes", "procfs.io, procfs.smaps", probe_foreign, &allow_ptrace, 0, true },
{ "pressure stalls of the job", "cgroup pressure", probe_leaf_pressure, &delegate, CGROUP, true },
{ "pressure stalls of the machine", "host.procfs.pressure", probe_pressure, &boot_with_pressure, 0, false },
{ "NVIDIA GPUs", "nvml", probe_vendor, &get_nvidia, GPUS(SOURCE_NVIDIA), false },
{ "exact peak memory of processes on NVIDIA GPUs", "nvml.accounting", probe_accounts, &account, GPUS(SOURCE_NVIDIA), false },
{ "work of NVIDIA GPUs: SMs, tensor cores, bandwidth", "nvml.gpm", probe_work, NULL, GPUS(SOURCE_NVIDIA), false },
{ "AMD GPUs", "amdgpu sysfs, drm.fdinfo, kfd", probe_vendor, NULL, GPUS(SOURCE_AMD), false },
{ "work of AMD GPUs: memory bandwidth, XGMI", "amdgpu.gpu_metrics", probe_work, NULL, GPUS(SOURCE_AMD), false },
{ "Intel GPUs", "i915 or xe sysfs, drm.fdinfo", probe_vendor, NULL, GPUS(SOURCE_INTEL), false },
{ "peak memory of a job on AMD and Intel GPUs", "cgroup.dmem", probe_dmem, &delegate, CGROUP | SOURCE_GPU, true },
{ "CPU energy", "powercap, Cray, hwmon or perf", probe_energy, NULL, 0, false },
};
/* clang-format on */

static const char *check(struct trial *trial, size_t i)
{
    trial->remedy = NULL;
    if (trial->disabled & sources[i].disabled_by) {
        trial->remedy = "unset SPOOR_DISABLE";
        return "disabled by SPOOR_DISABLE";
    }
    if (sources[i].needs_job && trial->error < 0) {
        trial->remedy = no_remedy;
        return why_no_trial(trial);
    }
    trial->vendor.bit = sources[i].disabled_by & ~(unsigned)SOURCE_GPU;
    return sources[i].probe(trial);
}

static const char *remedy_now(const struct trial *trial, const struct remedy *remedy)
{
    if (trial->remedy || !remedy)
        return trial->remedy == no_remedy ? NULL : trial->remedy;
    return geteuid() == 0 && remedy->of_root ? remedy->of_root : remedy->of_user;
}

/* Returns the name of the cgroup that the tracker and the job share. */
static const char *name_surrounding(struct trial *trial, const char *source)
{
    const struct job_cgroup *cgroup = &trial->job.meters.job_cgroup;
    enum cgroup_controller tree = CGROUP_UNIFIED;

    while (tree < CGROUP_TREE_COUNT && !job_cgroup_has(cgroup, tree))
        tree++;
    if (tree < CGROUP_TREE_COUNT) /* a long path is truncated */
        (void)snprintf(trial->text, sizeof(trial->text), "%s of the cgroup around spoor, /%s",
                       source, cgroup->folders[tree].own.path);
    return trial->text;
}

/* Calls `each` for every source, the best source of a quantity first. `like` has the
 * settings of the run in question; its process is ignored. */
static int probe_sources(const struct root *root, const struct job_options *like,
                         void (*each)(const struct spoor_source *source, void *data),
                         void *data)
{
    AUTO_FREE struct trial *trial = malloc(sizeof(*trial)); /* too large for a small stack */

    if (!trial)
        return -ENOMEM;
    trial_start(trial, root, like);
    for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
        struct spoor_source source = { .quantity = sources[i].quantity,
                                       .source = sources[i].source };

        source.why_not = check(trial, i);
        source.is_available = !source.why_not;
        if (source.is_available && sources[i].disabled_by == CGROUP &&
            trial->job.meters.job_cgroup.is_surrounding)
            source.source = name_surrounding(trial, sources[i].source);
        source.remedy = source.why_not ? remedy_now(trial, sources[i].remedy) : NULL;
        each(&source, data);
    }
    trial_end(trial);
    return 0;
}

int spoor_machine_check(const struct spoor_options *options,
                        void (*each)(const struct spoor_source *source, void *data), void *data,
                        struct spoor_error *err)
{
    const struct spoor_options defaults = SPOOR_OPTIONS_INIT;
    struct job_options job;
    CLEANUP(root_close) struct root root = ROOT_CLOSED;
    int r;

    if (!options)
        options = &defaults;
    r = session_job_options(options, &job, err);
    if (r == 0)
        r = session_open_root(options->root, &root, err);
    if (r < 0)
        return r;
    r = probe_sources(&root, &job, each, data);
    return r < 0 ? error_set(err, -r, "out of memory") : 0;
}
