/* SPDX-License-Identifier: Apache-2.0 */
#include "job/ladder.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/compiler.h"
#include "source/cgroup/cgroup.h"
#include "source/perf/task_clock.h"
#include "source/proc/children.h"
#include "source/proc/cpu_clock.h"
#include "source/proc/pid_io.h"
#include "source/proc/pid_stat.h"
#include "source/proc/pid_statm.h"
#include "source/proc/pid_status.h"
#include "source/proc/smaps_rollup.h"

/* A probe returns 0 where the source serves, or -errno. */
typedef int probe(const struct root *root);

static int probe_task_clock(const struct root *root)
{
    struct event_set events = { 0 };
    int r = root->is_live ? task_clock_add(&events, getpid()) : -ENOTSUP;

    event_set_close(&events);
    return r;
}

/* Asking whether we are a subreaper changes nothing and tells whether one can be. */
static int probe_subreaper(const struct root *root)
{
    int value;

    (void)root;
    return prctl(PR_GET_CHILD_SUBREAPER, &value) < 0 ? -errno : 0;
}

static int probe_cpu_clock(const struct root *root)
{
    uint64_t ns;

    return cpu_clock_read(root, getpid(), &ns);
}

static int probe_stat(const struct root *root)
{
    struct kept file = KEPT_CLOSED;
    struct pid_stat stat;
    int r = pid_stat_read(&file, root, getpid(), &stat);

    kept_close(&file);
    return r;
}

static int probe_statm(const struct root *root)
{
    struct kept file = KEPT_CLOSED;
    struct pid_statm statm;
    int r = pid_statm_read(&file, root, getpid(), &statm);

    kept_close(&file);
    return r;
}

static int probe_status(const struct root *root)
{
    struct pid_status status;

    return pid_status_read(root, getpid(), &status);
}

static int probe_io(const struct root *root)
{
    struct kept file = KEPT_CLOSED;
    struct pid_io io;
    int r = pid_io_read(&file, root, getpid(), &io);

    kept_close(&file);
    return r;
}

static int probe_foreign_io(const struct root *root)
{
    struct kept file = KEPT_CLOSED;
    struct pid_io io;
    int r = pid_io_read(&file, root, 1, &io);

    kept_close(&file);
    return r;
}

static int probe_rollup(const struct root *root)
{
    struct smaps_rollup rollup;

    return smaps_rollup_read(root, getpid(), &rollup);
}

static int probe_children(const struct root *root)
{
    return children_are_listed(root) ? 0 : -ENOENT;
}

static int probe_pressure(const struct root *root)
{
    char text[512];
    ssize_t n = root_read(root, text, sizeof(text), "proc/pressure/cpu");

    return n < 0 ? (int)n : 0;
}

static int probe_cgroup(const struct root *root)
{
    struct cgroups cgroups;

    return cgroups_read(root, getpid(), &cgroups);
}

static int probe_net_dev(const struct root *root)
{
    char text[64];
    ssize_t n = root_read_start(root, text, sizeof(text), "proc/net/dev");

    return n < 0 ? (int)n : 0;
}

/* Kept in the table so that a user learns what is missing, and from which version on it is
 * not. */
static int probe_later(const struct root *root)
{
    (void)root;
    return -ENOSYS;
}

#define OWN_PROCESS "mount /proc without hidepid, or run as root"

static const struct {
    const char *quantity;
    const char *source;
    probe *probe;
    const char *remedy;
} rungs[] = {
    { "CPU time of a job", "perf.task-clock", probe_task_clock,
      "sysctl kernel.perf_event_paranoid=2, or allow perf_event_open in the container" },
    { "CPU time of a job", "wait4 (subreaper)", probe_subreaper, NULL },
    { "CPU time of a process", "procfs.cpuclock", probe_cpu_clock, NULL },
    { "CPU time of a process", "procfs.stat", probe_stat, OWN_PROCESS },
    { "peak memory of a job", "cgroup.memory.peak", probe_later, NULL },
    { "peak memory of a job", "procfs.statm (sampled)", probe_statm, OWN_PROCESS },
    { "peak memory of a process", "procfs.status.VmHWM", probe_status, OWN_PROCESS },
    { "private and shared memory", "procfs.smaps_rollup", probe_rollup, OWN_PROCESS },
    { "processes of a job", "procfs.children", probe_children,
      "a kernel with CONFIG_PROC_CHILDREN; without it all of /proc is searched" },
    { "disk I/O", "procfs.io", probe_io, OWN_PROCESS },
    { "processes of other users", "procfs.io, smaps", probe_foreign_io, "run as root" },
    { "CPU quota, OOM kills", "cgroup", probe_cgroup, "mount /sys/fs/cgroup" },
    { "stalls", "host.procfs.pressure", probe_pressure, "boot with psi=1" },
    { "network", "host.procfs.net.dev", probe_net_dev, NULL },
    { "GPUs", "nvml, drm", probe_later, NULL },
    { "energy", "rapl", probe_later, NULL },
};

void ladder_check(const struct root *root,
                  void (*each)(const struct spoor_rung *rung, void *data), void *data)
{
    for (size_t i = 0; i < ARRAY_SIZE(rungs); i++) {
        int r = rungs[i].probe(root);
        char why[128];
        struct spoor_rung rung = {
            .quantity = rungs[i].quantity,
            .source = rungs[i].source,
            .is_available = r == 0,
        };

        if (r == -ENOSYS)
            rung.why_not = "not in this version";
        else if (r < 0)
            rung.why_not = strerror_r(-r, why, sizeof(why));
        if (r < 0)
            rung.remedy = rungs[i].remedy;
        each(&rung, data);
    }
}
