/* SPDX-License-Identifier: Apache-2.0 */
/* test_measures.c - the sources of values, on a fixture machine whose job has a cgroup of
 * version 2. */
#include <stdio.h>

#include "base/amount.h"
#include "base/clock.h"
#include "cgroup/cgroup.h"
#include "fake_job.h"
#include "sample/sampler.h"
#include "unit_test.h"

#define JOB "sys/fs/cgroup/job"

struct machine {
    struct fake_root fake;
    struct sampler sampler;
    struct sample sample;
    uint64_t now_ns;
    unsigned ticks;
};

static void put_process(struct machine *m)
{
    fake_process_put(
        &m->fake, &(struct fake_process){
                      .pid = 40, .parent = 1, .user_ticks = m->ticks, .resident_pages = 100 });
}

static void put_pressure(struct machine *m, const char *path, unsigned long long us)
{
    char text[100];

    (void)snprintf(text, sizeof(text), "some avg10=0.00 avg60=0.00 avg300=0.00 total=%llu\n",
                   us);
    fake_root_write(&m->fake, path, text);
}

/* A machine with two hours of CPU stalls since boot. */
static void prepare(struct machine *m)
{
    *m = (struct machine){ .now_ns = NS_PER_SECOND };
    fake_root_init(&m->fake);
    fake_root_write(&m->fake, "proc/self/mountinfo",
                    "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    fake_root_write(&m->fake, "proc/1/task/1/children", "");
    fake_root_write(&m->fake, JOB "/cgroup.procs", "40\n");
    fake_root_write(&m->fake, JOB "/cgroup.events", "populated 1\n");
    fake_root_write(&m->fake, JOB "/memory.stat", "anon 8192\nfile 0\nshmem 0\nfile_dirty 0\n");
    fake_root_write(&m->fake, JOB "/memory.current", "8192\n");
    fake_root_write(&m->fake, JOB "/memory.peak", "8192\n");
    fake_root_write(&m->fake, JOB "/memory.events", "oom_kill 0\n");
    fake_root_write(&m->fake, "sys/fs/cgroup/memory.events", "oom_kill 7\n");
    fake_root_write(&m->fake, JOB "/cpu.stat",
                    "usage_usec 1000\nuser_usec 1000\nsystem_usec 0\n");
    put_pressure(m, "proc/pressure/cpu", 7200ull * 1000000);
    put_process(m);
}

/* Tracks the job as if its cgroup had been created by spoor. */
static void begin(struct machine *m)
{
    struct job_options options = { .detail = SPOOR_DETAIL_NEVER };
    struct cgroups cgroups;
    struct cgroup own;

    assert_int_equal(cgroup_directory_find(&m->fake.root, "/" JOB, &own, &cgroups, NULL), 0);
    options.adopted = &own;
    options.cgroups = &cgroups;
    assert_int_equal(
        sampler_init(&m->sampler, &m->fake.root, &options, (struct instant){ m->now_ns, 0 }),
        0);
    m->sampler.job.meters.job_cgroup.is_adopted = false;
}

static void look(struct machine *m)
{
    m->now_ns += NS_PER_SECOND;
    m->ticks++; /* the job is not idle */
    put_process(m);
    sampler_tick(&m->sampler, (struct instant){ m->now_ns, 0 }, SAMPLE_REGULAR, &m->sample);
}

static void end(struct machine *m)
{
    sampler_done(&m->sampler);
    fake_root_done(&m->fake);
}

static void remove_cgroup(struct machine *m)
{
    char from[128], to[128];

    (void)snprintf(from, sizeof(from), "%s/" JOB, m->fake.path);
    (void)snprintf(to, sizeof(to), "%s/removed", m->fake.path);
    assert_int_equal(rename(from, to), 0);
}

TEST(job_pressure_is_not_replaced_by_pressure_of_the_machine)
{
    const struct origin *origin;
    struct machine m;

    prepare(&m);
    put_pressure(&m, JOB "/cpu.pressure", 2000);
    begin(&m);
    origin = &m.sample.origin[METRIC_JOB_CPU_PRESSURE];
    look(&m);
    assert_int_equal(m.sample.value[METRIC_JOB_CPU_PRESSURE], 2 * NS_PER_MS);
    assert_string_equal(origin->source, "cgroup.cpu.pressure");
    assert_true(origin->is_exact);
    remove_cgroup(&m);
    look(&m);
    assert_int_equal(m.sample.value[METRIC_JOB_CPU_PRESSURE], 2 * NS_PER_MS);
    assert_string_equal(origin->source, "cgroup.cpu.pressure");
    assert_false(origin->is_exact);
    end(&m);
}

TEST(pressure_of_the_machine_is_labelled)
{
    const struct origin *origin;
    struct machine m;

    prepare(&m);
    begin(&m);
    origin = &m.sample.origin[METRIC_JOB_CPU_PRESSURE];
    look(&m);
    assert_int_equal(m.sample.value[METRIC_JOB_CPU_PRESSURE], 7200 * NS_PER_SECOND);
    assert_string_equal(origin->source, "host.procfs.pressure");
    put_pressure(&m, JOB "/cpu.pressure", 2000); /* the source was chosen at the start */
    look(&m);
    assert_int_equal(m.sample.value[METRIC_JOB_CPU_PRESSURE], 7200 * NS_PER_SECOND);
    assert_string_equal(origin->source, "host.procfs.pressure");
    end(&m);
}

TEST(oom_kills_in_a_removed_cgroup_are_not_replaced_by_those_of_its_parent)
{
    struct machine m;

    prepare(&m);
    begin(&m);
    look(&m);
    assert_int_equal(m.sample.value[METRIC_JOB_OOM_KILLS], 0);
    remove_cgroup(&m);
    look(&m);
    assert_int_equal(m.sample.value[METRIC_JOB_OOM_KILLS], 0);
    end(&m);
}

TEST(storage_figures_name_their_source)
{
    const struct origin *read, *written;
    struct machine m;

    prepare(&m);
    fake_root_write(&m.fake, JOB "/io.stat", "8:0 rbytes=0 wbytes=0 rios=0 wios=0\n");
    begin(&m);
    read = &m.sample.origin[METRIC_JOB_READ];
    written = &m.sample.origin[METRIC_JOB_WRITTEN];
    look(&m);
    assert_string_equal(read->source, "procfs.io");
    assert_string_equal(written->source, "procfs.io");
    fake_root_write(&m.fake, JOB "/io.stat", "8:0 rbytes=0 wbytes=4096 rios=0 wios=1\n");
    look(&m);
    assert_int_equal(m.sample.value[METRIC_JOB_READ], 0);
    assert_string_equal(read->source, "procfs.io");
    assert_int_equal(m.sample.value[METRIC_JOB_WRITTEN], 4096);
    assert_string_equal(written->source, "cgroup.io.stat");
    end(&m);
}

TEST(storage_of_hundreds_of_disks_is_counted)
{
    static char text[64 << 10];
    size_t used = 0;
    struct machine m;

    prepare(&m);
    fake_root_write(&m.fake, JOB "/io.stat", "8:0 rbytes=0 wbytes=0 rios=0 wios=0\n");
    begin(&m);
    look(&m);
    for (int i = 0; i < 600; i++)
        used +=
            (size_t)snprintf(text + used, sizeof(text) - used,
                             "8:%d rbytes=0 wbytes=4096 rios=0 wios=1 dbytes=0 dios=0\n", i);
    fake_root_write(&m.fake, JOB "/io.stat", text);
    look(&m);
    assert_int_equal(m.sample.value[METRIC_JOB_WRITTEN], 600 * 4096);
    assert_string_equal(m.sample.origin[METRIC_JOB_WRITTEN].source, "cgroup.io.stat");
    end(&m);
}

/* The cgroup had counted work of processes that were never waited for. */
TEST(cpu_time_does_not_jump_if_the_cgroup_is_removed)
{
    const struct origin *origin;
    struct machine m;

    prepare(&m);
    fake_root_write(&m.fake, JOB "/cpu.stat",
                    "usage_usec 9000000\nuser_usec 9000000\nsystem_usec 0\n");
    begin(&m);
    origin = &m.sample.origin[METRIC_JOB_CPU];
    look(&m);
    assert_int_equal(m.sample.value[METRIC_JOB_CPU], 9 * NS_PER_SECOND);
    assert_true(origin->is_exact);
    remove_cgroup(&m);
    look(&m);
    look(&m);
    assert_int_equal(m.sample.value[METRIC_JOB_CPU], 9020 * NS_PER_MS);
    assert_string_equal(origin->source, "procfs.stat");
    assert_false(origin->is_exact);
    end(&m);
}
