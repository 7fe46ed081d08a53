/* SPDX-License-Identifier: Apache-2.0 */
/* test_adopted_cgroup.c - a job that is an existing cgroup of version 2, in a fake root. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/clock.h"
#include "cgroup/cgroup.h"
#include "fake_drm.h"
#include "fake_job.h"
#include "sample/sampler.h"
#include "unit_test.h"

#define JOB "sys/fs/cgroup/job"
#define MIB (UINT64_C(1) << 20)

struct adopted {
    struct fake_root fake;
    struct sampler sampler;
    struct sample sample;
    uint64_t now_ns;
};

static void put_number(struct adopted *a, const char *path, uint64_t number)
{
    char text[32];

    (void)snprintf(text, sizeof(text), "%llu\n", (unsigned long long)number);
    fake_root_write(&a->fake, path, text);
}

static void put_cpu(struct adopted *a, unsigned milliseconds)
{
    char text[100];

    (void)snprintf(text, sizeof(text), "usage_usec %u000\nuser_usec %u000\nsystem_usec 0\n",
                   milliseconds, milliseconds);
    fake_root_write(&a->fake, JOB "/cpu.stat", text);
}

/* The cgroup has two processes without a common parent, one of them in a child cgroup. Its
 * counters include processes that have exited. */
static void begin(struct adopted *a)
{
    struct job_options options = { .detail = SPOOR_DETAIL_NEVER };
    struct cgroups cgroups;
    struct cgroup own;

    *a = (struct adopted){ .now_ns = NS_PER_SECOND };
    fake_root_init(&a->fake);
    fake_root_write(&a->fake, "proc/self/mountinfo",
                    "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    fake_root_write(&a->fake, "proc/1/task/1/children", "");
    fake_root_write(&a->fake, JOB "/cgroup.procs", "40\n");
    fake_root_write(&a->fake, JOB "/sub/cgroup.procs", "50\n");
    fake_root_write(&a->fake, JOB "/cgroup.events", "populated 1\n");
    fake_root_write(&a->fake, JOB "/memory.stat", "anon 8192\nfile 0\nshmem 0\n");
    fake_root_write(&a->fake, JOB "/memory.max", "max\n");
    put_number(a, JOB "/memory.current", 30 * MIB);
    put_number(a, JOB "/memory.peak", 500 * MIB);
    put_number(a, JOB "/pids.peak", 70);
    put_cpu(a, 90000);
    fake_process_put(&a->fake,
                     &(struct fake_process){
                         .pid = 40, .parent = 1, .user_ticks = 99900, .resident_pages = 100 });
    fake_process_put(&a->fake,
                     &(struct fake_process){ .pid = 50, .parent = 2, .resident_pages = 20 });
    assert_int_equal(cgroup_directory_find(&a->fake.root, "/" JOB, &own, &cgroups, NULL), 0);
    options.adopted = &own;
    options.cgroups = &cgroups;
    assert_int_equal(
        sampler_init(&a->sampler, &a->fake.root, &options, (struct instant){ a->now_ns, 0 }),
        0);
}

static void look(struct adopted *a)
{
    a->now_ns += NS_PER_SECOND;
    sampler_tick(&a->sampler, (struct instant){ a->now_ns, 0 }, SAMPLE_REGULAR, &a->sample);
}

static void end(struct adopted *a)
{
    sampler_done(&a->sampler);
    fake_root_done(&a->fake);
}

static uint64_t value(const struct adopted *a, enum metric metric)
{
    return a->sample.value[metric];
}

TEST(all_processes_in_the_cgroup_belong_to_the_job)
{
    struct adopted a;

    begin(&a);
    look(&a);
    assert_int_equal(value(&a, METRIC_JOB_PROCESSES), 2);
    assert_int_equal(value(&a, METRIC_JOB_STARTED), 2);
    assert_int_equal(value(&a, METRIC_JOB_RSS), 120 * 4096);
    fake_process_put(&a.fake,
                     &(struct fake_process){ .pid = 60, .parent = 3, .resident_pages = 5 });
    fake_root_write(&a.fake, JOB "/sub/cgroup.procs", "50\n60\n");
    look(&a);
    assert_int_equal(value(&a, METRIC_JOB_PROCESSES), 3);
    assert_int_equal(value(&a, METRIC_JOB_STARTED), 3);
    assert_string_equal(a.sample.origin[METRIC_JOB_PROCESSES].source, "cgroup.procs");
    end(&a);
}

#define GPU "0000:03:00.0"
#define VRAM "drm/" GPU "/vram "

static struct spoor_figure gpu_memory(spoor_session *session)
{
    struct spoor_figure figure;

    assert_int_equal(spoor_session_figure(session, "gpu.memory.combined_bytes", &figure, NULL),
                     0);
    return figure;
}

/* Replaces the content of a file by a text of the same length in a single write, because
 * another thread may be reading the file. */
static void overwrite(struct adopted *a, const char *path, const char *text)
{
    int fd = openat(a->fake.root.fd, path, O_WRONLY | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

/* This test runs a whole session, because the session's GPU thread reads the files of the
 * cgroup. According to /proc, the processes do not use the GPU. */
TEST(memory_on_gpus_is_counted_by_the_cgroup)
{
    struct spoor_options options = SPOOR_OPTIONS_INIT;
    spoor_session *session;
    struct adopted a;

    begin(&a);
    fake_drm_card(&a.fake, 1, GPU, "0x1002\n");
    fake_root_write(&a.fake, JOB "/dmem.current", VRAM "4096\n");
    fake_root_write(&a.fake, JOB "/dmem.peak", VRAM "9000000\n"); /* reached before the run */
    options.root = a.fake.path;
    options.flags = SPOOR_TRACK_CGROUP;
    options.cgroup_folder = "/" JOB;
    options.interval_ns = 1000 * NS_PER_SECOND;
    assert_int_equal(spoor_session_open(&options, &session, NULL), 0);
    assert_int_equal(spoor_session_start(session, NULL), 0);
    do /* until the driver has been opened */
        assert_int_equal(spoor_session_sample(session, NULL), 0);
    while (isnan(gpu_memory(session).value));
    assert_int_equal(gpu_memory(session).value, 4096);
    assert_false(gpu_memory(session).is_exact);
    overwrite(&a, JOB "/dmem.peak", VRAM "9500000\n");
    assert_int_equal(spoor_session_stop(session, NULL), 0); /* reads the cgroup once more */
    assert_int_equal(gpu_memory(session).value, 9500000);
    assert_string_equal(gpu_memory(session).source, "cgroup.dmem");
    assert_true(gpu_memory(session).is_exact);
    spoor_session_close(session);
    end(&a);
}

TEST(refaults_of_the_cgroup_are_reported_in_bytes)
{
    struct adopted a;

    begin(&a);
    look(&a);
    assert_false(is_known(value(&a, METRIC_JOB_REFAULTED)));
    assert_non_null(strstr(a.sample.origin[METRIC_JOB_REFAULTED].reason, "does not count"));
    fake_root_write(&a.fake, JOB "/memory.stat",
                    "anon 8192\nfile 0\nshmem 0\nworkingset_refault_file 250\n");
    put_cpu(&a, 91000);
    look(&a);
    assert_int_equal(value(&a, METRIC_JOB_REFAULTED), 250 * 4096);
    assert_string_equal(a.sample.origin[METRIC_JOB_REFAULTED].source, "cgroup.memory.stat");
    assert_false(
        a.sample.origin[METRIC_JOB_REFAULTED].is_exact); /* updated in batches for each CPU */
    end(&a);
}

/* The processes have copied shared pages on write since smaps_rollup was read, so the cgroup
 * contains more anonymous memory than the sum of their PSS. */
TEST(pss_includes_the_anonymous_memory_of_the_cgroup)
{
    const char *rollup = "Rss: 80 kB\nPss: 40 kB\nShared_Clean: 0 kB\nShared_Dirty: 80 kB\n"
                         "Private_Clean: 0 kB\nPrivate_Dirty: 0 kB\nAnonymous: 80 kB\n";
    struct adopted a;

    begin(&a);
    a.sampler.job.sharing.mode = SPOOR_DETAIL_AUTO;
    fake_root_write(&a.fake, "proc/40/smaps_rollup", rollup);
    fake_root_write(&a.fake, "proc/50/smaps_rollup", rollup);
    look(&a);
    assert_int_equal(value(&a, METRIC_JOB_PSS), 80 * 1024);
    fake_root_write(&a.fake, JOB "/memory.stat", "anon 409600\nfile 0\nshmem 0\n");
    look(&a);
    assert_int_equal(value(&a, METRIC_JOB_PSS), 400 * 1024);
    end(&a);
}

TEST(a_child_in_another_cgroup_is_not_part_of_the_job)
{
    struct adopted a;

    begin(&a);
    fake_process_put(&a.fake,
                     &(struct fake_process){
                         .pid = 40, .parent = 1, .resident_pages = 100, .children = "41 " });
    fake_process_put(&a.fake,
                     &(struct fake_process){ .pid = 41, .parent = 40, .resident_pages = 9000 });
    look(&a);
    assert_int_equal(value(&a, METRIC_JOB_PROCESSES), 2);
    end(&a);
}

TEST(a_process_that_is_moved_out_leaves_the_job)
{
    struct adopted a;

    begin(&a);
    look(&a);
    fake_process_put(&a.fake,
                     &(struct fake_process){
                         .pid = 50, .parent = 2, .resident_pages = 20, .written_chars = 700 });
    look(&a);
    fake_root_write(&a.fake, JOB "/sub/cgroup.procs", "");
    look(&a);
    look(&a);
    assert_int_equal(value(&a, METRIC_JOB_PROCESSES), 1);
    assert_int_equal(value(&a, METRIC_JOB_WRITTEN_CHARS), 700); /* written before it left */
    end(&a);
}

TEST(an_attached_cgroup_has_no_main_process)
{
    struct adopted a;

    begin(&a);
    look(&a);
    for (int i = METRIC_MAIN_CPU; i < METRIC_JOB_CPU; i++) {
        assert_false(is_known(value(&a, (enum metric)i)));
        assert_string_equal(a.sample.origin[i].reason, "a cgroup has no main process");
    }
    end(&a);
}

/* A process that was moved into the cgroup had used CPU time elsewhere; other processes have
 * exited. */
TEST(cpu_time_comes_from_the_cgroup)
{
    struct adopted a;

    begin(&a);
    look(&a);
    assert_int_equal(value(&a, METRIC_JOB_CPU), 90 * NS_PER_SECOND);
    assert_int_equal(value(&a, METRIC_JOB_USER), 90 * NS_PER_SECOND);
    assert_true(a.sample.origin[METRIC_JOB_CPU].is_exact);
    put_cpu(&a, 90250);
    look(&a);
    assert_int_equal(value(&a, METRIC_JOB_CPU), 90250 * NS_PER_MS);
    assert_false(a.sampler.reading.cpu.has_unwaited);
    assert_false(a.sampler.reading.cpu.left_cgroup);
    end(&a);
}

TEST(a_peak_from_before_the_attach_is_not_reported)
{
    struct adopted a;

    begin(&a);
    look(&a);
    assert_int_equal(value(&a, METRIC_JOB_MEMORY_PEAK), 30 * MIB);
    assert_int_equal(value(&a, METRIC_JOB_THREADS_PEAK), 2);
    assert_false(a.sample.origin[METRIC_JOB_MEMORY_PEAK].is_exact);
    assert_string_equal(a.sample.origin[METRIC_JOB_MEMORY_PEAK].source,
                        "cgroup.memory.current");
    put_number(&a, JOB "/memory.current", 40 * MIB);
    look(&a);
    put_number(&a, JOB "/memory.current", 20 * MIB);
    put_number(&a, JOB "/pids.peak", 71);
    look(&a);
    assert_int_equal(value(&a, METRIC_JOB_MEMORY_PEAK), 40 * MIB);
    assert_int_equal(value(&a, METRIC_JOB_THREADS_PEAK), 71);
    put_number(&a, JOB "/memory.peak", 501 * MIB);
    look(&a);
    assert_int_equal(value(&a, METRIC_JOB_MEMORY_PEAK), 501 * MIB);
    assert_true(a.sample.origin[METRIC_JOB_MEMORY_PEAK].is_exact);
    assert_string_equal(a.sample.origin[METRIC_JOB_MEMORY_PEAK].source, "cgroup.memory.peak");
    end(&a);
}

TEST(the_last_reading_is_kept_after_the_cgroup_is_removed)
{
    struct adopted a;
    char from[128], to[128];

    begin(&a);
    look(&a);
    put_cpu(&a, 91000);
    look(&a);
    (void)snprintf(from, sizeof(from), "%s/" JOB, a.fake.path);
    (void)snprintf(to, sizeof(to), "%s/removed", a.fake.path);
    assert_int_equal(rename(from, to), 0);
    fake_process_end(&a.fake, 40);
    fake_process_end(&a.fake, 50);
    look(&a);
    assert_int_equal(value(&a, METRIC_JOB_CPU), 91 * NS_PER_SECOND);
    assert_false(a.sample.origin[METRIC_JOB_CPU].is_exact);
    assert_int_equal(value(&a, METRIC_JOB_MEMORY_PEAK), 30 * MIB);
    assert_int_equal(a.sampler.reading.process_count_now, 0);
    end(&a);
}

/* The processes are still alive, so spoor uses their memory. */
TEST(memory_grows_while_the_cgroup_cannot_be_read)
{
    struct adopted a;
    char path[128];

    begin(&a);
    look(&a);
    (void)snprintf(path, sizeof(path), "%s/" JOB "/cpu.stat", a.fake.path);
    assert_int_equal(unlink(path), 0);
    fake_process_put(&a.fake, &(struct fake_process){
                                  .pid = 40, .parent = 1, .resident_pages = 40 * MIB / 4096 });
    look(&a);
    assert_int_equal(value(&a, METRIC_JOB_MEMORY_PEAK), 40 * MIB + 20 * 4096);
    assert_false(a.sample.origin[METRIC_JOB_MEMORY_PEAK].is_exact);
    end(&a);
}

TEST(an_attached_cgroup_is_not_changed)
{
    struct adopted a;
    struct stat stat_before, stat_after;
    char path[128];

    begin(&a);
    (void)snprintf(path, sizeof(path), "%s/" JOB, a.fake.path);
    assert_int_equal(stat(path, &stat_before), 0);
    look(&a);
    job_cgroup_remove(&a.sampler.job.meters.job_cgroup);
    sampler_done(&a.sampler);
    assert_int_equal(stat(path, &stat_after), 0);
    assert_int_equal(stat_before.st_mtim.tv_nsec, stat_after.st_mtim.tv_nsec);
    fake_root_done(&a.fake);
}
