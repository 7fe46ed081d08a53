/* SPDX-License-Identifier: Apache-2.0 */
/* test_surrounding.c - a job in the same cgroup as its tracker, on fixture machines. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/clock.h"
#include "fake_job.h"
#include "sample/sampler.h"
#include "unit_test.h"

#define V2 "sys/fs/cgroup/step/task"
#define MIB (UINT64_C(1) << 20)
#define PAGES_PER_MIB 256

enum { JOB = 1000040, CHILD, FOREIGN, HELPER };

struct step {
    struct fake_root fake;
    struct sampler sampler;
    struct sample sample;
    uint64_t now_ns;
};

static const char *slurm(const char *name)
{
    return strcmp(name, "SLURM_JOB_ID") == 0 ? "7" : NULL;
}

static void put_number(struct step *step, const char *path, uint64_t number)
{
    char text[32];

    (void)snprintf(text, sizeof(text), "%llu\n", (unsigned long long)number);
    fake_root_write(&step->fake, path, text);
}

static void put_cpu(struct step *step, unsigned milliseconds)
{
    char text[100];

    (void)snprintf(text, sizeof(text), "usage_usec %u000\nuser_usec %u000\nsystem_usec 0\n",
                   milliseconds, milliseconds);
    fake_root_write(&step->fake, V2 "/cpu.stat", text);
}

/* Writes `anon` and `file` to memory.stat, `all` to memory.current, `peak` to memory.peak. */
static void put_memory(struct step *step, uint64_t anon, uint64_t file, uint64_t all,
                       uint64_t peak)
{
    char text[128];

    (void)snprintf(text, sizeof(text), "anon %llu\nfile %llu\nshmem 0\n",
                   (unsigned long long)anon, (unsigned long long)file);
    fake_root_write(&step->fake, V2 "/memory.stat", text);
    put_number(step, V2 "/memory.current", all);
    put_number(step, V2 "/memory.peak", peak);
}

/* Lists the tracker, the job and `other` processes in the cgroup. */
static void put_processes(struct step *step, const char *path, const char *others)
{
    char text[128];

    (void)snprintf(text, sizeof(text), "%d\n%d\n%s", (int)getpid(), JOB, others);
    fake_root_write(&step->fake, path, text);
}

static void put_process(struct step *step, int pid, int parent, const char *name)
{
    fake_process_put(&step->fake,
                     &(struct fake_process){ .pid = pid, .parent = parent, .name = name });
}

static void put_tracker(struct step *step, unsigned mib)
{
    fake_process_put(&step->fake, &(struct fake_process){ .pid = (int)getpid(),
                                                          .parent = 1,
                                                          .resident_pages = mib * PAGES_PER_MIB,
                                                          .children = "1000040 " });
}

static void put_machine(struct step *step, const char *mounts, const char *memberships)
{
    char path[64];

    *step = (struct step){ .now_ns = NS_PER_SECOND };
    fake_root_init(&step->fake);
    fake_root_write(&step->fake, "proc/self/mountinfo", mounts);
    fake_root_write(&step->fake, "proc/1/task/1/children", "");
    (void)snprintf(path, sizeof(path), "proc/%d/cgroup", JOB);
    fake_root_write(&step->fake, path, memberships);
    put_tracker(step, 2);
    put_process(step, JOB, (int)getpid(), NULL);
}

static void start(struct step *step, enum spoor_cgroup cgroup)
{
    const struct job_options options = {
        .pid = JOB,
        .caller_spawned = true,
        .detail = SPOOR_DETAIL_NEVER,
        .cgroup = cgroup,
        .environment = slurm,
    };

    assert_int_equal(sampler_init(&step->sampler, &step->fake.root, &options,
                                  (struct instant){ step->now_ns, 0 }),
                     0);
}

/* Writes the version 2 cgroup of a task. Before the run it used 90 s of CPU time, with a
 * peak of 500 MiB. The tracker has 2 MiB of anonymous memory in this cgroup. */
static void begin(struct step *step, const char *others)
{
    put_machine(step, "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
                "0::/step/task\n");
    put_processes(step, V2 "/cgroup.procs", others);
    put_cpu(step, 90000);
    put_memory(step, 2 * MIB, MIB, 3 * MIB, 500 * MIB);
    put_number(step, V2 "/pids.peak", 70);
    fake_root_write(&step->fake, V2 "/io.stat", "8:0 rbytes=1000 wbytes=2000\n");
}

static void look(struct step *step, enum sample_kind kind)
{
    step->now_ns += NS_PER_SECOND;
    sampler_tick(&step->sampler, (struct instant){ step->now_ns, 0 }, kind, &step->sample);
}

static void end(struct step *step)
{
    sampler_done(&step->sampler);
    fake_root_done(&step->fake);
}

static uint64_t value(const struct step *step, enum metric metric)
{
    return step->sample.value[metric];
}

static const struct origin *origin(const struct step *step, enum metric metric)
{
    return &step->sample.origin[metric];
}

TEST(growth_of_the_cgroup_belongs_to_the_job)
{
    struct step s;

    begin(&s, "");
    start(&s, SPOOR_CGROUP_AUTO);
    look(&s, SAMPLE_REGULAR);
    assert_int_equal(value(&s, METRIC_JOB_CPU), 0);
    put_cpu(&s, 91500);
    put_memory(&s, 702 * MIB, 3 * MIB, 706 * MIB, 1003 * MIB);
    look(&s, SAMPLE_LAST);
    assert_int_equal(value(&s, METRIC_JOB_CPU), 1500 * NS_PER_MS);
    assert_true(origin(&s, METRIC_JOB_CPU)->is_exact);
    assert_string_equal(origin(&s, METRIC_JOB_CPU)->source, "cgroup.cpu.stat");
    /* 3 MiB were charged at the start, 1 MiB of it page cache: less than 1 % is uncertain. */
    assert_int_equal(value(&s, METRIC_JOB_MEMORY_PEAK), 1000 * MIB);
    assert_true(origin(&s, METRIC_JOB_MEMORY_PEAK)->is_exact);
    assert_int_equal(value(&s, METRIC_JOB_ANON), 700 * MIB);
    assert_int_equal(value(&s, METRIC_JOB_PAGE_CACHE), 2 * MIB);
    assert_int_equal(value(&s, METRIC_JOB_PROCESSES), 1);
    assert_string_equal(origin(&s, METRIC_JOB_PROCESSES)->source, "procfs.children");
    assert_int_equal(value(&s, METRIC_JOB_THREADS_PEAK), 1); /* not the tracker's */
    end(&s);
}

/* The cgroup also counts the tracker's files, so its count is used only if the sum over
 * processes is known to be incomplete. */
TEST(storage_is_counted_by_the_cgroup_if_processes_are_missing)
{
    struct step s;

    begin(&s, "");
    start(&s, SPOOR_CGROUP_AUTO);
    fake_root_write(&s.fake, V2 "/io.stat", "8:0 rbytes=5000 wbytes=2000\n");
    look(&s, SAMPLE_REGULAR);
    assert_int_equal(value(&s, METRIC_JOB_READ), 0);
    put_cpu(&s, 91500); /* used by processes that no look found */
    look(&s, SAMPLE_LAST);
    assert_int_equal(value(&s, METRIC_JOB_READ), 4000);
    assert_string_equal(origin(&s, METRIC_JOB_READ)->source, "cgroup.io.stat");
    end(&s);
}

/* Memory that the tracker allocates does not belong to the job. */
TEST(the_memory_of_the_tracker_is_subtracted)
{
    struct step s;

    begin(&s, "");
    start(&s, SPOOR_CGROUP_AUTO);
    put_tracker(&s, 22);
    put_memory(&s, 722 * MIB, MIB, 723 * MIB, 1023 * MIB);
    look(&s, SAMPLE_LAST);
    assert_int_equal(value(&s, METRIC_JOB_MEMORY_PEAK), 1000 * MIB);
    assert_int_equal(value(&s, METRIC_JOB_ANON), 700 * MIB);
    end(&s);
}

TEST(the_peak_of_the_cgroup_has_an_upper_bound)
{
    struct step s;

    begin(&s, "");
    put_number(&s, V2 "/memory.peak", 3 * MIB);
    start(&s, SPOOR_CGROUP_AUTO);
    put_memory(&s, 10 * MIB, MIB, 11 * MIB, 53 * MIB);
    look(&s, SAMPLE_LAST);
    assert_int_equal(value(&s, METRIC_JOB_MEMORY_PEAK), 50 * MIB);
    assert_false(origin(&s, METRIC_JOB_MEMORY_PEAK)->is_exact);
    assert_int_equal(value(&s, METRIC_JOB_MEMORY_BOUND), 51 * MIB);
    end(&s);
}

TEST(a_peak_is_at_least_its_parts_and_never_0)
{
    struct step s;

    begin(&s, "");
    start(&s, SPOOR_CGROUP_AUTO);
    look(&s, SAMPLE_REGULAR);
    assert_false(is_known(value(&s, METRIC_JOB_MEMORY_PEAK)));
    assert_string_equal(origin(&s, METRIC_JOB_MEMORY_PEAK)->reason,
                        "the job ended before its memory was seen");
    put_memory(&s, 3 * MIB, 0, 3 * MIB, 500 * MIB); /* earlier page cache has been freed */
    put_cpu(&s, 90100);
    look(&s, SAMPLE_LAST);
    assert_int_equal(value(&s, METRIC_JOB_ANON), MIB);
    assert_int_equal(value(&s, METRIC_JOB_MEMORY_PEAK), MIB);
    end(&s);
}

TEST(an_earlier_peak_is_only_a_bound)
{
    struct step s;

    begin(&s, "");
    start(&s, SPOOR_CGROUP_AUTO);
    put_memory(&s, 202 * MIB, MIB, 203 * MIB, 500 * MIB);
    look(&s, SAMPLE_LAST);
    assert_int_equal(value(&s, METRIC_JOB_MEMORY_PEAK), 200 * MIB);
    assert_false(origin(&s, METRIC_JOB_MEMORY_PEAK)->is_exact);
    assert_string_equal(origin(&s, METRIC_JOB_MEMORY_PEAK)->source, "cgroup.memory.current");
    assert_int_equal(value(&s, METRIC_JOB_MEMORY_BOUND), 498 * MIB);
    end(&s);
}

/* The foreign process may be a shell that waits for the tracker. */
TEST(foreign_processes_leave_only_an_upper_bound)
{
    struct step s;

    begin(&s, "1000042\n");
    put_process(&s, FOREIGN, 1, NULL);
    start(&s, SPOOR_CGROUP_AUTO);
    put_cpu(&s, 91500);
    look(&s, SAMPLE_LAST);
    assert_int_equal(value(&s, METRIC_JOB_CPU), 0);
    assert_string_equal(origin(&s, METRIC_JOB_CPU)->source, "wait4");
    assert_false(is_known(value(&s, METRIC_JOB_MEMORY_PEAK)));
    assert_string_equal(origin(&s, METRIC_JOB_MEMORY_PEAK)->reason,
                        "the cgroups of a Slurm step are managed by Slurm");
    assert_int_equal(value(&s, METRIC_JOB_MEMORY_BOUND), 500 * MIB);
    end(&s);
}

static void assert_only_bounded(struct step *s, const char *others)
{
    begin(s, others);
    start(s, SPOOR_CGROUP_AUTO);
    look(s, SAMPLE_LAST);
    assert_false(is_known(value(s, METRIC_JOB_MEMORY_PEAK)));
    assert_int_equal(value(s, METRIC_JOB_MEMORY_BOUND), 500 * MIB);
    end(s);
}

TEST(a_process_of_another_pid_namespace_is_foreign)
{
    struct step s;

    assert_only_bounded(&s, "0\n");
}

TEST(processes_in_child_cgroups_are_checked)
{
    struct step s;

    begin(&s, "");
    put_process(&s, FOREIGN, 1, NULL);
    fake_root_write(&s.fake, V2 "/below/cgroup.procs", "1000042\n");
    start(&s, SPOOR_CGROUP_AUTO);
    look(&s, SAMPLE_LAST);
    assert_false(is_known(value(&s, METRIC_JOB_MEMORY_PEAK)));
    end(&s);
}

/* Lists a process of the job that no sample has found yet, the writer of the samples, and a
 * process that has exited since it was listed. */
TEST(descendants_of_the_tracker_are_not_foreign)
{
    struct step s;

    begin(&s, "1000041\n1000043\n1000099\n");
    put_process(&s, CHILD, JOB, NULL);
    put_process(&s, HELPER, (int)getpid(), SPOOR_AGENT_NAME);
    start(&s, SPOOR_CGROUP_AUTO);
    put_cpu(&s, 91500);
    look(&s, SAMPLE_LAST);
    assert_int_equal(value(&s, METRIC_JOB_CPU), 1500 * NS_PER_MS);
    assert_int_equal(s.sampler.job.agents.live_count, 1); /* its CPU time is subtracted */
    end(&s);
}

/* Earlier readings stay valid. */
TEST(foreign_processes_that_enter_later_make_counts_inexact)
{
    struct step s;

    begin(&s, "");
    start(&s, SPOOR_CGROUP_AUTO);
    put_memory(&s, 2 * MIB, MIB, 3 * MIB, 1003 * MIB);
    put_cpu(&s, 90100);
    look(&s, SAMPLE_REGULAR);
    assert_true(origin(&s, METRIC_JOB_MEMORY_PEAK)->is_exact);
    put_process(&s, FOREIGN, 1, NULL);
    put_processes(&s, V2 "/cgroup.procs", "1000042\n");
    put_memory(&s, 2 * MIB, MIB, 3 * MIB, 4000 * MIB);
    put_cpu(&s, 99000);
    look(&s, SAMPLE_LAST);
    assert_int_equal(value(&s, METRIC_JOB_MEMORY_PEAK), 1000 * MIB);
    assert_false(origin(&s, METRIC_JOB_MEMORY_PEAK)->is_exact);
    assert_int_equal(value(&s, METRIC_JOB_MEMORY_BOUND), 4000 * MIB);
    assert_int_equal(value(&s, METRIC_JOB_CPU), 100 * NS_PER_MS);
    assert_false(origin(&s, METRIC_JOB_CPU)->is_exact);
    assert_false(s.sampler.reading.cpu.left_cgroup);
    end(&s);
}

TEST(a_removed_cgroup_keeps_its_last_reading)
{
    struct step s;
    char from[128], to[128];

    begin(&s, "");
    start(&s, SPOOR_CGROUP_AUTO);
    put_memory(&s, 2 * MIB, MIB, 3 * MIB, 1003 * MIB);
    look(&s, SAMPLE_REGULAR);
    (void)snprintf(from, sizeof(from), "%s/" V2, s.fake.path);
    (void)snprintf(to, sizeof(to), "%s/removed", s.fake.path);
    assert_int_equal(rename(from, to), 0);
    look(&s, SAMPLE_LAST);
    assert_int_equal(value(&s, METRIC_JOB_MEMORY_PEAK), 1000 * MIB);
    assert_false(origin(&s, METRIC_JOB_MEMORY_PEAK)->is_exact);
    end(&s);
}

/* Each hierarchy is checked separately: this task has its own cgroup for memory, but not for
 * CPU time. */
TEST(version_1_has_one_cgroup_per_controller)
{
    static const char mounts[] =
        "30 23 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
        "31 23 0:27 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct\n";
    struct step s;

    put_machine(&s, mounts, "3:memory:/step/task\n2:cpuacct:/step\n");
    fake_root_link(&s.fake, "proc/self/ns/pid", "pid:[4026531836]");
    put_process(&s, FOREIGN, 1, NULL);
    put_processes(&s, "sys/fs/cgroup/memory/step/task/cgroup.procs", "");
    put_processes(&s, "sys/fs/cgroup/cpuacct/step/cgroup.procs", "1000042\n");
    put_number(&s, "sys/fs/cgroup/cpuacct/step/cpuacct.usage", 5 * NS_PER_SECOND);
    put_number(&s, "sys/fs/cgroup/memory/step/task/memory.usage_in_bytes", 3 * MIB);
    put_number(&s, "sys/fs/cgroup/memory/step/task/memory.max_usage_in_bytes", 3 * MIB);
    fake_root_write(&s.fake, "sys/fs/cgroup/memory/step/task/memory.stat",
                    "total_rss 2097152\ntotal_cache 0\ntotal_shmem 0\n");
    start(&s, SPOOR_CGROUP_AUTO);
    put_number(&s, "sys/fs/cgroup/memory/step/task/memory.max_usage_in_bytes", 503 * MIB);
    look(&s, SAMPLE_LAST);
    assert_int_equal(value(&s, METRIC_JOB_MEMORY_PEAK), 500 * MIB);
    assert_true(origin(&s, METRIC_JOB_MEMORY_PEAK)->is_exact);
    assert_string_equal(origin(&s, METRIC_JOB_MEMORY_PEAK)->source,
                        "cgroup.memory.max_usage_in_bytes");
    assert_string_equal(origin(&s, METRIC_JOB_CPU)->source, "wait4");
    end(&s);
}

/* Version 1 does not list processes of outer PID namespaces, so there may be hidden ones. */
TEST(version_1_cgroup_in_a_pid_namespace_gives_only_an_upper_bound)
{
    struct step s;

    put_machine(&s, "30 23 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
                "3:memory:/step\n");
    fake_root_link(&s.fake, "proc/self/ns/pid", "pid:[4026532281]");
    put_processes(&s, "sys/fs/cgroup/memory/step/cgroup.procs", "");
    put_number(&s, "sys/fs/cgroup/memory/step/memory.usage_in_bytes", 3 * MIB);
    put_number(&s, "sys/fs/cgroup/memory/step/memory.max_usage_in_bytes", 3 * MIB);
    start(&s, SPOOR_CGROUP_AUTO);
    put_number(&s, "sys/fs/cgroup/memory/step/memory.max_usage_in_bytes", 503 * MIB);
    look(&s, SAMPLE_LAST);
    assert_false(is_known(value(&s, METRIC_JOB_MEMORY_PEAK)));
    assert_int_equal(value(&s, METRIC_JOB_MEMORY_BOUND), 503 * MIB);
    end(&s);
}

/* The cgroup's folder is missing, as if another file system were mounted over it. */
TEST(a_cgroup_that_cannot_be_read_is_not_used)
{
    struct step s;

    put_machine(&s, "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "0::/step/task\n");
    start(&s, SPOOR_CGROUP_AUTO);
    look(&s, SAMPLE_LAST);
    assert_false(s.sampler.job.meters.job_cgroup.is_surrounding);
    assert_string_equal(origin(&s, METRIC_JOB_MEMORY_PEAK)->reason,
                        "the cgroups of a Slurm step are managed by Slurm");
    end(&s);
}

/* Only the root of a hierarchy has a release agent. The kernel charges no memory to the
 * root. */
TEST(the_root_cgroup_of_version_1_gives_no_bound)
{
    struct step s;

    put_machine(&s, "30 23 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
                "3:memory:/\n");
    put_process(&s, FOREIGN, 1, NULL);
    put_processes(&s, "sys/fs/cgroup/memory/cgroup.procs", "1000042\n");
    fake_root_write(&s.fake, "sys/fs/cgroup/memory/release_agent", "\n");
    put_number(&s, "sys/fs/cgroup/memory/memory.max_usage_in_bytes", 4096);
    start(&s, SPOOR_CGROUP_AUTO);
    look(&s, SAMPLE_LAST);
    assert_false(is_known(value(&s, METRIC_JOB_MEMORY_BOUND)));
    end(&s);
}

TEST(surrounding_cgroup_is_not_used_if_cgroups_are_off)
{
    struct step s;

    begin(&s, "");
    start(&s, SPOOR_CGROUP_OFF);
    look(&s, SAMPLE_LAST);
    assert_string_equal(origin(&s, METRIC_JOB_CPU)->source, "wait4");
    assert_false(is_known(value(&s, METRIC_JOB_MEMORY_PEAK)));
    assert_false(is_known(value(&s, METRIC_JOB_MEMORY_BOUND)));
    end(&s);
}

/* In a container, the root of the cgroup namespace is the container's cgroup. */
TEST(processes_in_a_namespaced_root_cgroup_are_not_treated_as_escaped)
{
    struct step s;

    put_machine(&s, "31 23 0:28 / /" V2 " rw - cgroup2 cgroup2 rw\n", "0::/\n");
    put_processes(&s, V2 "/cgroup.procs", "");
    put_cpu(&s, 90000);
    put_memory(&s, 2 * MIB, MIB, 3 * MIB, 3 * MIB);
    start(&s, SPOOR_CGROUP_AUTO);
    fake_root_write(&s.fake, "proc/1000040/cgroup", "0::/below\n");
    put_memory(&s, 2 * MIB, MIB, 3 * MIB, 1003 * MIB);
    look(&s, SAMPLE_LAST);
    assert_true(origin(&s, METRIC_JOB_MEMORY_PEAK)->is_exact);
    end(&s);
}
