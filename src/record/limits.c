/* SPDX-License-Identifier: Apache-2.0 */
/*
 * limits.c - the smallest of all limits applies; the report names its source.
 *
 * A value that is not below the machine's own size is not a limit: for example a quota of 64
 * CPUs on a machine with 8, or the memory of a batch job that has the node to itself.
 */
#include "record/fill.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/amount.h"
#include "base/cleanup.h"
#include "base/compiler.h"
#include "base/parse.h"
#include "source/host/facts.h"

static const uint64_t MIB_BYTES = 1ull << 20;
static const uint64_t CPUS_PLAUSIBLE = UINT16_MAX;

/* No process runs with 0 CPUs: such a limit was misread and is ignored. */
static void lower_cpus(struct limits *limits, double cpus, const char *source)
{
    if (!(cpus > 0) || cpus >= limits->cpus)
        return;
    limits->cpus = cpus;
    limits->cpus_source = source;
}

static void lower_memory(struct limits *limits, uint64_t bytes, const char *source)
{
    if (bytes >= limits->memory_bytes)
        return;
    limits->memory_bytes = bytes;
    limits->memory_source = source;
}

/* Quotas are not inherited: the quota of each ancestor applies as well. */
static void apply_quota(const struct root *root, struct cgroup cgroup, struct limits *limits)
{
    const char *source = cgroup.is_v2 ? "cgroup.cpu.max" : "cgroup.cpu.cfs_quota_us";
    double cpus;

    do {
        if (cgroup_read_quota(root, &cgroup, &cpus) == 0)
            lower_cpus(limits, cpus, source);
    } while (cgroup_to_parent(&cgroup));
}

static void apply_memory(const struct root *root, struct cgroup cgroup, struct limits *limits)
{
    const char *file = cgroup.is_v2 ? "memory.max" : "memory.limit_in_bytes";
    const char *source = cgroup.is_v2 ? "cgroup.memory.max" : "cgroup.memory.limit_in_bytes";
    uint64_t bytes;

    do {
        if (cgroup_read_u64(root, &cgroup, file, &bytes) == 0)
            lower_memory(limits, bytes, source);
    } while (cgroup_to_parent(&cgroup));
}

/* The effective set already includes the limits of the ancestors, so the nearest one counts. */
static void apply_cpuset(const struct root *root, struct cgroup cgroup, struct limits *limits)
{
    static const struct {
        bool is_v2;
        const char *file;
        const char *source;
    } files[] = {
        { true, "cpuset.cpus.effective", "cgroup.cpuset.cpus.effective" },
        { false, "cpuset.effective_cpus", "cgroup.cpuset.effective_cpus" },
        { false, "cpuset.cpus", "cgroup.cpuset.cpus" },
    };
    int count;

    do {
        for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
            if (files[i].is_v2 != cgroup.is_v2)
                continue;
            count = cgroup_count_cpus(root, &cgroup, files[i].file);
            if (count > 0) {
                lower_cpus(limits, count, files[i].source);
                return;
            }
        }
    } while (cgroup_to_parent(&cgroup));
}

/* Returns how many CPUs the process may use; or -errno. */
static int read_affinity(const struct root *root, pid_t pid)
{
    enum { SIZE = 64 * 1024 };
    AUTO_FREE char *text = malloc(SIZE);
    const char *list;
    ssize_t n;

    if (!text)
        return -ENOMEM;
    n = root_read_lines(root, text, SIZE, CPU_LIST_SIZE, "proc/%d/status", (int)pid);
    if (n < 0)
        return (int)n;
    list = parse_key(text, "Cpus_allowed_list:");
    return list ? parse_cpu_list(list, NULL, CPU_NUMBER_END) : -ENOENT;
}

/* Returns a variable that is a number above 0, or UNKNOWN. Slurm writes 0 for "all". */
static uint64_t get_number(environment_get *get, const char *name)
{
    const char *text = get(name);
    uint64_t value;

    return text && parse_whole_u64(text, &value) == 0 && value > 0 ? value : UNKNOWN;
}

/* Returns the memory of a Slurm step. srun sets no variable for it, but slurmstepd sets
 * RLIMIT_RSS to it, a limit that Linux ignores. */
static uint64_t read_step_memory(const struct root *root, pid_t pid)
{
    char text[4096];
    uint64_t bytes;

    return root_read_start(root, text, sizeof(text), "proc/%d/limits", (int)pid) > 0 &&
                   parse_key_u64(text, "Max resident set", &bytes) == 0 && bytes > 0
               ? bytes
               : UNKNOWN;
}

/* Memory is granted per node: for all CPUs that the batch job has there, not only for those
 * of one task. */
static void apply_slurm(const struct root *root, pid_t pid, environment_get *get,
                        struct limits *limits)
{
    uint64_t task_cpus = get_number(get, "SLURM_CPUS_PER_TASK");
    uint64_t node_cpus = get_number(get, "SLURM_CPUS_ON_NODE");
    uint64_t node_mib = get_number(get, "SLURM_MEM_PER_NODE");
    uint64_t cpu_mib = get_number(get, "SLURM_MEM_PER_CPU");
    uint64_t cpus = first_known(task_cpus, node_cpus);

    if (cpus <= CPUS_PLAUSIBLE)
        lower_cpus(limits, (double)cpus, "slurm");
    if (!is_known(node_mib))
        node_mib = product_u64(cpu_mib, first_known(node_cpus, task_cpus));
    lower_memory(limits, product_u64(node_mib, MIB_BYTES), "slurm");
    if (get("SLURM_JOB_ID"))
        lower_memory(limits, read_step_memory(root, pid), "slurm");
}

void limits_read(const struct root *root, pid_t pid, const struct host_facts *host,
                 const struct cgroups *cgroups, environment_get *get, struct limits *ret)
{
    struct limits limits = {
        .cpus = is_known(host->cpus) ? (double)host->cpus : HUGE_VAL,
        .memory_bytes = host->memory_bytes,
    };
    int affinity;

    /* A cpuset restricts the affinity too: it is read first, so that the report names it as
     * the source. */
    if (cgroups) {
        apply_cpuset(root, cgroups->of[CGROUP_CPUSET], &limits);
        apply_quota(root, cgroups->of[CGROUP_CPU], &limits);
        apply_memory(root, cgroups->of[CGROUP_MEMORY], &limits);
    }
    affinity = read_affinity(root, pid);
    if (affinity > 0) {
        lower_cpus(&limits, affinity, "affinity");
        /* All CPUs of the machine are allowed. The list may also include CPUs that could be
         * plugged in, so the machine's own count is used. */
        if (!limits.cpus_source)
            limits.cpus_source = "affinity";
    }
    apply_slurm(root, pid, get, &limits);

    if (!limits.cpus_source)
        limits.cpus = (double)NAN;
    if (!limits.memory_source)
        limits.memory_bytes = UNKNOWN;
    *ret = limits;
}
