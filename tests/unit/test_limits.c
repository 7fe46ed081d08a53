/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/amount.h"
#include "fake_root.h"
#include "record/fill.h"
#include "unit_test.h"

#define MIB (1ull << 20)

/* Writes a machine with 8 CPUs and 1 GiB, and process 42. */
static void write_machine(struct fake_root *fake)
{
    fake_root_write(fake, "proc/stat",
                    "cpu 1 2 3 4\ncpu0 1 2 3 4\ncpu1 1 2 3 4\ncpu2 1 2 3 4\ncpu3 1 2 3 4\n"
                    "cpu4 1 2 3 4\ncpu5 1 2 3 4\ncpu6 1 2 3 4\ncpu7 1 2 3 4\nintr 0\n");
    fake_root_write(fake, "proc/meminfo", "MemTotal: 1048576 kB\n");
    fake_root_write(fake, "proc/42/status", "Name:\tx\nCpus_allowed_list:\t0-7\nMems:\t0\n");
}

static void write_v2(struct fake_root *fake)
{
    fake_root_write(fake, "proc/42/cgroup", "0::/a/b\n");
    fake_root_write(fake, "proc/self/mountinfo",
                    "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    fake_root_write(fake, "sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
    fake_root_write(fake, "sys/fs/cgroup/a/b/memory.max", "max\n");
}

static void write_v1(struct fake_root *fake)
{
    fake_root_write(fake, "proc/42/cgroup", "4:memory:/a/b\n3:cpuset:/\n2:cpu:/a/b\n0::/\n");
    fake_root_write(fake, "proc/self/mountinfo",
                    "32 31 0:29 / /cg/cpu rw - cgroup cgroup rw,cpu\n"
                    "33 31 0:30 / /cg/cpuset rw - cgroup cgroup rw,cpuset\n"
                    "35 31 0:32 / /cg/memory rw - cgroup cgroup rw,memory\n"
                    "41 31 0:38 / /cg/unified rw - cgroup2 cgroup2 rw\n");
    fake_root_write(fake, "cg/cpu/a/b/cpu.cfs_quota_us", "-1\n");
    fake_root_write(fake, "cg/cpu/a/b/cpu.cfs_period_us", "100000\n");
    fake_root_write(fake, "cg/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
}

static void read_limits(const struct root *root, environment_get *get, struct limits *ret)
{
    struct host_facts host;
    struct cgroups cgroups;

    host_facts_read(root, &host);
    limits_read(root, 42, &host, cgroups_read(root, 42, &cgroups) == 0 ? &cgroups : NULL, get,
                ret);
}

static const char *no_environment(UNUSED const char *name)
{
    return NULL;
}

FAKE_ROOT_TEST(the_size_of_the_machine_is_the_limit_if_nothing_else_is)
{
    struct fake_root *fake = *state;
    struct limits limits;

    write_machine(fake);
    write_v2(fake);
    fake_root_write(fake, "sys/fs/cgroup/cpuset.cpus.effective", "0-7\n");
    read_limits(&fake->root, no_environment, &limits);
    assert_float_equal(limits.cpus, 8, 0);
    assert_string_equal(limits.cpus_source, "affinity");
    assert_true(limits.memory_bytes == UNKNOWN);
    assert_null(limits.memory_source);

    write_v1(fake);
    read_limits(&fake->root, no_environment, &limits);
    assert_float_equal(limits.cpus, 8, 0);
    assert_true(limits.memory_bytes == UNKNOWN);
}

FAKE_ROOT_TEST(affinity_limits_cpus_and_is_named_as_the_source)
{
    struct fake_root *fake = *state;
    struct limits limits;

    write_machine(fake);
    fake_root_write(fake, "proc/42/status", "Cpus_allowed_list:\t1,3-4\n");
    read_limits(&fake->root, no_environment, &limits);
    assert_float_equal(limits.cpus, 3, 0);
    assert_string_equal(limits.cpus_source, "affinity");
}

/* Simulates a machine with thousands of CPUs, and a user with many groups. */
FAKE_ROOT_TEST(a_list_of_cpus_is_read_in_full)
{
    struct fake_root *fake = *state;
    static char text[800 << 10];
    size_t used = (size_t)snprintf(text, sizeof(text), "Groups:\t");
    struct limits limits;

    write_machine(fake);
    write_v2(fake);
    for (int i = 0; i < 65536; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "4000000000 ");
    used += (size_t)snprintf(text + used, sizeof(text) - used, "\nCpus_allowed_list:\t1,3-4\n");
    fake_root_write(fake, "proc/42/status", text);
    read_limits(&fake->root, no_environment, &limits);
    assert_non_null(limits.cpus_source);
    assert_float_equal(limits.cpus, 3, 0);

    used = 0;
    for (int i = 0; i < 3072; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%d", i ? "," : "", 2 * i);
    fake_root_write(fake, "sys/fs/cgroup/a/b/cpuset.cpus.effective", text);
    (void)snprintf(text + used, sizeof(text) - used, "\n");
    fake_root_write(fake, "proc/stat", "cpu 1 2 3 4\nintr 0\n");
    memmove(text + strlen("Cpus_allowed_list:\t"), text, used + 2);
    memcpy(text, "Cpus_allowed_list:\t", strlen("Cpus_allowed_list:\t"));
    fake_root_write(fake, "proc/42/status", text);
    read_limits(&fake->root, no_environment, &limits);
    assert_float_equal(limits.cpus, 3072, 0);
    assert_string_equal(limits.cpus_source, "cgroup.cpuset.cpus.effective");
}

FAKE_ROOT_TEST(offline_cpus_do_not_count)
{
    struct fake_root *fake = *state;
    struct limits limits;

    write_machine(fake);
    fake_root_write(fake, "proc/42/status", "Cpus_allowed_list:\t0-127\n");
    read_limits(&fake->root, no_environment, &limits);
    assert_float_equal(limits.cpus, 8, 0);
}

FAKE_ROOT_TEST(on_version_2_the_tightest_ancestor_wins)
{
    struct fake_root *fake = *state;
    struct limits limits;

    write_machine(fake);
    write_v2(fake);
    fake_root_write(fake, "sys/fs/cgroup/a/b/cpu.max", "400000 100000\n");
    fake_root_write(fake, "sys/fs/cgroup/a/cpu.max", "150000 100000\n");
    fake_root_write(fake, "sys/fs/cgroup/a/b/memory.max", "536870912\n");
    fake_root_write(fake, "sys/fs/cgroup/a/memory.max", "268435456\n");
    fake_root_write(fake, "sys/fs/cgroup/memory.max", "1073741824\n");
    read_limits(&fake->root, no_environment, &limits);
    assert_float_equal(limits.cpus, 1.5, 0);
    assert_string_equal(limits.cpus_source, "cgroup.cpu.max");
    assert_int_equal(limits.memory_bytes, 256 * MIB);
    assert_string_equal(limits.memory_source, "cgroup.memory.max");
}

FAKE_ROOT_TEST(on_version_1_the_tightest_ancestor_wins)
{
    struct fake_root *fake = *state;
    struct limits limits;

    write_machine(fake);
    write_v1(fake);
    fake_root_write(fake, "cg/cpu/a/cpu.cfs_quota_us", "50000\n");
    fake_root_write(fake, "cg/cpu/a/cpu.cfs_period_us", "100000\n");
    fake_root_write(fake, "cg/memory/a/memory.limit_in_bytes", "104857600\n");
    read_limits(&fake->root, no_environment, &limits);
    assert_float_equal(limits.cpus, 0.5, 0);
    assert_string_equal(limits.cpus_source, "cgroup.cpu.cfs_quota_us");
    assert_int_equal(limits.memory_bytes, 100 * MIB);
    assert_string_equal(limits.memory_source, "cgroup.memory.limit_in_bytes");
}

FAKE_ROOT_TEST(a_cpuset_is_named_instead_of_the_affinity_it_causes)
{
    struct fake_root *fake = *state;
    struct limits limits;

    write_machine(fake);
    write_v1(fake);
    fake_root_write(fake, "proc/42/status", "Cpus_allowed_list:\t0-1\n");
    fake_root_write(fake, "cg/cpuset/cpuset.cpus", "0-1\n");
    read_limits(&fake->root, no_environment, &limits);
    assert_float_equal(limits.cpus, 2, 0);
    assert_string_equal(limits.cpus_source, "cgroup.cpuset.cpus");
    fake_root_write(fake, "cg/cpuset/cpuset.effective_cpus", "0\n");
    read_limits(&fake->root, no_environment, &limits);
    assert_float_equal(limits.cpus, 1, 0);
    assert_string_equal(limits.cpus_source, "cgroup.cpuset.effective_cpus");

    write_v2(fake);
    fake_root_write(fake, "sys/fs/cgroup/a/cpuset.cpus.effective", "0-1\n");
    read_limits(&fake->root, no_environment, &limits);
    assert_string_equal(limits.cpus_source, "cgroup.cpuset.cpus.effective");
}

FAKE_ROOT_TEST(a_limit_above_the_machine_is_ignored)
{
    struct fake_root *fake = *state;
    struct limits limits;

    write_machine(fake);
    write_v2(fake);
    fake_root_write(fake, "sys/fs/cgroup/a/cpu.max", "6400000 100000\n");
    fake_root_write(fake, "sys/fs/cgroup/a/memory.max", "1073741824\n"); /* = MemTotal */
    read_limits(&fake->root, no_environment, &limits);
    assert_float_equal(limits.cpus, 8, 0);
    assert_string_equal(limits.cpus_source, "affinity");
    assert_true(limits.memory_bytes == UNKNOWN);
}

static const char *slurm_per_cpu(const char *name)
{
    if (strcmp(name, "SLURM_CPUS_PER_TASK") == 0)
        return "2";
    if (strcmp(name, "SLURM_CPUS_ON_NODE") == 0)
        return "4";
    return strcmp(name, "SLURM_MEM_PER_CPU") == 0 ? "100" : NULL;
}

static const char *slurm_per_node(const char *name)
{
    if (strcmp(name, "SLURM_CPUS_ON_NODE") == 0)
        return "4";
    if (strcmp(name, "SLURM_MEM_PER_CPU") == 0)
        return "1";
    return strcmp(name, "SLURM_MEM_PER_NODE") == 0 ? "512" : NULL;
}

static const char *slurm_nonsense(const char *name)
{
    if (strcmp(name, "SLURM_CPUS_PER_TASK") == 0)
        return "0";
    if (strcmp(name, "SLURM_CPUS_ON_NODE") == 0)
        return "4(x2)";
    if (strcmp(name, "SLURM_MEM_PER_NODE") == 0)
        return "18446744073709551614";
    return strcmp(name, "SLURM_MEM_PER_CPU") == 0 ? "" : NULL;
}

static const char *slurm_larger(const char *name)
{
    return strncmp(name, "SLURM_", 6) == 0 ? "4096" : NULL;
}

FAKE_ROOT_TEST(limits_of_the_batch_system_apply)
{
    struct fake_root *fake = *state;
    struct limits limits;

    write_machine(fake);
    read_limits(&fake->root, slurm_per_cpu, &limits);
    assert_float_equal(limits.cpus, 2, 0);
    assert_string_equal(limits.cpus_source, "slurm");
    assert_int_equal(limits.memory_bytes, 400 * MIB);
    assert_string_equal(limits.memory_source, "slurm");
    read_limits(&fake->root, slurm_per_node, &limits);
    assert_float_equal(limits.cpus, 4, 0);
    assert_int_equal(limits.memory_bytes, 512 * MIB);

    write_v2(fake); /* the cgroup has the lower limit */
    fake_root_write(fake, "sys/fs/cgroup/a/cpu.max", "100000 100000\n");
    fake_root_write(fake, "sys/fs/cgroup/a/memory.max", "1048576\n");
    read_limits(&fake->root, slurm_per_node, &limits);
    assert_string_equal(limits.cpus_source, "cgroup.cpu.max");
    assert_int_equal(limits.memory_bytes, MIB);
}

static const char *slurm_step(const char *name)
{
    return strcmp(name, "SLURM_JOB_ID") == 0 ? "7" : NULL;
}

/* srun sets no variable for the memory of a step. */
FAKE_ROOT_TEST(the_memory_limit_of_a_step_comes_from_its_resource_limit)
{
    struct fake_root *fake = *state;
    static const char lines[] =
        "Limit                     Soft Limit           Hard Limit           Units     \n"
        "Max cpu time              10                   unlimited            seconds   \n"
        "Max resident set          209715200            209715200            bytes     \n"
        "Max processes             20                   20                   processes \n";
    struct limits limits;

    write_machine(fake);
    fake_root_write(fake, "proc/42/limits", lines);
    read_limits(&fake->root, slurm_step, &limits);
    assert_int_equal(limits.memory_bytes, 200 * MIB);
    assert_string_equal(limits.memory_source, "slurm");
    read_limits(&fake->root, no_environment, &limits); /* the kernel ignores RLIMIT_RSS */
    assert_true(limits.memory_bytes == UNKNOWN);
    fake_root_write(
        fake, "proc/42/limits",
        "Max resident set          unlimited            unlimited            bytes\n");
    read_limits(&fake->root, slurm_step, &limits);
    assert_true(limits.memory_bytes == UNKNOWN);
}

FAKE_ROOT_TEST(impossible_values_of_the_batch_system_are_ignored)
{
    struct fake_root *fake = *state;
    struct limits limits;

    write_machine(fake);
    read_limits(&fake->root, slurm_nonsense, &limits);
    assert_float_equal(limits.cpus, 8, 0);
    assert_string_equal(limits.cpus_source, "affinity");
    assert_true(limits.memory_bytes == UNKNOWN);
    read_limits(&fake->root, slurm_larger, &limits);
    assert_float_equal(limits.cpus, 8, 0);
    assert_true(limits.memory_bytes == UNKNOWN);
}

FAKE_ROOT_TEST(without_files_limits_are_unknown)
{
    struct fake_root *fake = *state;
    struct limits limits;

    read_limits(&fake->root, no_environment, &limits);
    assert_true(isnan(limits.cpus));
    assert_null(limits.cpus_source);
    assert_true(limits.memory_bytes == UNKNOWN);
    assert_null(limits.memory_source);
    read_limits(&fake->root, slurm_per_cpu, &limits);
    assert_float_equal(limits.cpus, 2, 0);
}

FAKE_ROOT_TEST(limits_from_damaged_files_are_ignored)
{
    struct fake_root *fake = *state;
    struct limits limits;

    write_machine(fake);
    write_v2(fake);
    fake_root_write(fake, "proc/42/status", "Cpus_allowed_list:\t0-");
    fake_root_write(fake, "sys/fs/cgroup/a/cpu.max", "0 100000\n");
    fake_root_write(fake, "sys/fs/cgroup/a/b/cpu.max", "");
    fake_root_write(fake, "sys/fs/cgroup/a/memory.max", "12 34\n");
    fake_root_write(fake, "sys/fs/cgroup/a/cpuset.cpus.effective", "\n");
    read_limits(&fake->root, no_environment, &limits);
    assert_true(isnan(limits.cpus));
    assert_true(limits.memory_bytes == UNKNOWN);
}
