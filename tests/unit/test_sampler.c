/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/clock.h"
#include "fake_root.h"
#include "gated_job.h"
#include "sample/sampler.h"
#include "unit_test.h"

/* ---- memory parts ---------------------------------------------------------- */

static void set(uint64_t *value, uint64_t total, uint64_t private, uint64_t shared)
{
    value[METRIC_MAIN_RSS] = value[METRIC_JOB_RSS] = total;
    value[METRIC_MAIN_PRIVATE] = value[METRIC_JOB_PRIVATE] = private;
    value[METRIC_MAIN_SHARED] = value[METRIC_JOB_SHARED] = shared;
    value[METRIC_DESCENDANTS_RSS] = value[METRIC_DESCENDANTS_PRIVATE] =
        value[METRIC_DESCENDANTS_SHARED] = 0;
}

static void assert_job(const uint64_t *value, uint64_t private, uint64_t shared)
{
    assert_int_equal(value[METRIC_JOB_PRIVATE], private);
    assert_int_equal(value[METRIC_JOB_SHARED], shared);
}

/* A program has loaded 450 MB of libraries since its memory was read. */
TEST(parts_older_than_the_total_are_unknown)
{
    struct sample sample;

    sample_clear(&sample);
    set(sample.value, 1350, 800, 100);
    set(sample.moment, 1350, 800, 100);
    sample.at_peak = (struct memory_split){ 900, 800, 100 };
    memory_parts_reconcile(&sample);
    assert_job(sample.value, UNKNOWN, UNKNOWN);
    assert_job(sample.moment, UNKNOWN, UNKNOWN);
    assert_int_equal(sample.value[METRIC_MAIN_PRIVATE], UNKNOWN);
    assert_int_equal(sample.value[METRIC_JOB_RSS], 1350);
    assert_int_equal(sample.highest[METRIC_JOB_PRIVATE], 800); /* the peak is kept */
}

TEST(a_small_unexplained_part_counts_as_shared)
{
    struct sample sample;

    sample_clear(&sample);
    set(sample.value, 1010, 800, 200);
    sample.at_peak = (struct memory_split){ 1000, 800, 200 };
    memory_parts_reconcile(&sample);
    assert_job(sample.value, 800, 210);
    assert_int_equal(sample.value[METRIC_MAIN_SHARED], 210);
}

/* Private memory reached its maximum at another moment than the total. */
TEST(parts_are_read_at_the_moment_of_the_total)
{
    struct sample sample;

    sample_clear(&sample);
    set(sample.value, 1000, 700, 600);
    sample.at_peak = (struct memory_split){ 1000, 400, 600 };
    memory_parts_reconcile(&sample);
    assert_job(sample.value, 400, 600);
    assert_int_equal(sample.value[METRIC_MAIN_PRIVATE], 400);
    assert_int_equal(sample.highest[METRIC_JOB_PRIVATE], 700);
}

TEST(main_and_descendants_add_up_to_the_job)
{
    struct sample sample;
    uint64_t *value = sample.value;

    sample_clear(&sample);
    set(value, 1000, 700, 300);
    value[METRIC_MAIN_RSS] = 600;
    value[METRIC_MAIN_PRIVATE] = 300;
    value[METRIC_DESCENDANTS_RSS] = 700;
    value[METRIC_DESCENDANTS_PRIVATE] = 400;
    value[METRIC_DESCENDANTS_SHARED] = 300;
    sample.at_peak = (struct memory_split){ 1000, 700, 300 };
    memory_parts_reconcile(&sample);
    assert_int_equal(value[METRIC_MAIN_SHARED], 300);
    assert_int_equal(value[METRIC_DESCENDANTS_SHARED], 300);
    value[METRIC_DESCENDANTS_PRIVATE] = 450; /* read at another moment */
    memory_parts_reconcile(&sample);
    assert_int_equal(value[METRIC_MAIN_PRIVATE], UNKNOWN);
    assert_int_equal(value[METRIC_DESCENDANTS_PRIVATE], UNKNOWN);
    assert_job(value, 700, 300);
}

/* ---- clock of the job ------------------------------------------------------ */

/* An attached process without a source of events exited at an unknown time before the last
 * sample. */
TEST(the_last_sample_of_an_ended_job_is_not_late)
{
    static struct sampler sampler;
    struct job_options options = { .detail = SPOOR_DETAIL_NEVER,
                                   .cgroup = SPOOR_CGROUP_OFF,
                                   .disabled = UINT_MAX };
    struct gated_job job;
    struct root root;
    struct sample sample;

    assert_int_equal(root_open(NULL, &root), 0);
    gated_job_start(&job, do_nothing);
    options.pid = job.pid;
    assert_int_equal(sampler_init(&sampler, &root, &options, clock_now()), 0);
    sampler_tick(&sampler, clock_now(), SAMPLE_REGULAR, &sample);
    assert_true(sample.clocks[CLOCK_JOB_CPU].late_ns > 0);
    gated_job_begin(&job);
    gated_job_end(&job);
    sampler_tick(&sampler, clock_now(), SAMPLE_LAST, &sample);
    assert_int_equal(sample.clocks[CLOCK_JOB_CPU].late_ns, 0);
    sampler_done(&sampler);
    root_close(&root);
}

/* ---- RDMA and NFS ---------------------------------------------------------- */

#define PORT "sys/class/infiniband/mlx5_0/ports/1/counters/port_"
#define NFS(bytes) \
    "device s:/ mounted on /s with fstype nfs4 statvers=1.1\n\tbytes:\t" bytes " \n"

FAKE_ROOT_TEST(rdma_and_nfs_are_metrics_of_the_host)
{
    struct fake_root *fake = *state;
    static struct sampler sampler;
    const struct job_options options = { .detail = SPOOR_DETAIL_NEVER };
    struct instant now = { .monotonic_ns = NS_PER_SECOND };
    struct sample sample;

    fake_root_write(fake, PORT "rcv_data", "10\n");
    fake_root_write(fake, PORT "xmit_data", "10\n");
    fake_root_write(fake, "proc/self/mountinfo", "40 25 0:52 / /s rw - nfs4 s:/ rw\n");
    fake_root_write(fake, "proc/self/mountstats", NFS("0 0 0 0 5 6 7 8"));
    assert_int_equal(sampler_init(&sampler, &fake->root, &options, now), 0);
    sampler_tick(&sampler, now, SAMPLE_REGULAR, &sample);
    assert_int_equal(sample.value[METRIC_HOST_NFS_READ], 0);
    assert_int_equal(sample.value[METRIC_HOST_RDMA_SENT], UNKNOWN);
    assert_non_null(sample.origin[METRIC_HOST_RDMA_SENT].reason);
    now.monotonic_ns += NS_PER_SECOND;
    sampler_tick(&sampler, now, SAMPLE_REGULAR, &sample);
    fake_root_write(fake, PORT "rcv_data", "12\n");
    fake_root_write(fake, PORT "xmit_data", "13\n");
    fake_root_write(fake, "proc/self/mountstats", NFS("0 0 0 0 9 11 7 8"));
    sampler_tick(&sampler, now, SAMPLE_LAST, &sample);
    assert_int_equal(sample.value[METRIC_HOST_RDMA_RECEIVED], 8);
    assert_int_equal(sample.value[METRIC_HOST_RDMA_SENT], 12);
    assert_int_equal(sample.value[METRIC_HOST_NFS_READ], 4);
    assert_int_equal(sample.value[METRIC_HOST_NFS_WRITTEN], 5);
    assert_string_equal(sample.origin[METRIC_HOST_RDMA_SENT].source, "host.sysfs.infiniband");
    assert_string_equal(sample.origin[METRIC_HOST_NFS_READ].source, "host.procfs.mountstats");
    assert_false(sample.origin[METRIC_HOST_RDMA_SENT].is_exact); /* the port appeared late */
    assert_true(sample.origin[METRIC_HOST_NFS_WRITTEN].is_exact);
    sampler_done(&sampler);
}

/* ---- device sample --------------------------------------------------------- */

FAKE_ROOT_TEST(cpus_and_devices_are_read_again)
{
    struct fake_root *fake = *state;
    uint64_t tick_ns = NS_PER_SECOND / (uint64_t)sysconf(_SC_CLK_TCK);
    struct device_sample sample = { 0 };

    device_sample_read(&sample, &fake->root, NULL); /* a machine without files */
    assert_int_equal(sample.cpu_count, 0);
    fake_root_write(fake, "proc/stat",
                    "cpu 9 0 0 9 0 0 0 0\ncpu1 1 0 2 9 0 0 0 0\n"
                    "cpu3 4 0 0 9 0 0 0 0\nintr 0\n");
    device_sample_read(&sample, &fake->root, NULL);
    assert_int_equal(sample.cpu_count, 2);
    assert_int_equal(device_sample_cpu_ns(&sample, 1), 3 * tick_ns);
    assert_int_equal(device_sample_cpu_ns(&sample, 3), 4 * tick_ns);
    assert_true(device_sample_cpu_ns(&sample, 2) == UNKNOWN);
    device_sample_done(&sample);
    device_sample_done(&sample); /* a second call is harmless */
}

/* ---- sampler gpus ---------------------------------------------------------- */

static uint64_t reported(struct sampler *sampler, struct gpu_view *view, uint64_t busy_ns,
                         bool is_last)
{
    struct sample sample;

    sample_clear(&sample);
    view->totals.measures[GPU_TOTAL_JOB_BUSY].value = busy_ns;
    sampler_add_gpus(sampler, view, is_last, &sample);
    return sample.value[METRIC_JOB_GPU_BUSY];
}

/* A driver's samples arrive late; until then, busy time is extrapolated. */
TEST(busy_time_may_decrease_only_in_the_last_sample)
{
    static struct sampler sampler;
    struct gpu_view view = { .state = GPU_READY };

    gpu_totals_clear(&view.totals);
    assert_int_equal(reported(&sampler, &view, 5 * NS_PER_SECOND, false), 5 * NS_PER_SECOND);
    assert_int_equal(reported(&sampler, &view, 3 * NS_PER_SECOND, false), 5 * NS_PER_SECOND);
    assert_false(is_known(reported(&sampler, &view, UNKNOWN, false)));
    assert_int_equal(reported(&sampler, &view, 4 * NS_PER_SECOND, true), 4 * NS_PER_SECOND);
}

/* The last value before the driver stopped responding may be the peak: it stays in `value`, but
 * `moment` is unknown. */
TEST(gauges_of_a_silent_driver_are_in_the_sample)
{
    static struct sampler sampler;
    struct gpu_view view = { .state = GPU_SILENT, .reason = "it is silent" };
    struct sample sample;

    gpu_totals_clear(&view.totals);
    view.totals.measures[GPU_TOTAL_JOB_MEMORY].value = 5;
    sample_clear(&sample);
    sampler_add_gpus(&sampler, &view, true, &sample);
    assert_int_equal(sample.value[METRIC_JOB_GPU_MEMORY], 5);
    assert_false(is_known(sample.moment[METRIC_JOB_GPU_MEMORY]));
    assert_false(is_known(sample.value[METRIC_JOB_GPU_BUSY]));
    assert_false(is_known(sample.value[METRIC_HOST_GPU_ENERGY]));
}

/* While the driver does not respond, a peak may be missed. */
TEST(exactness_of_gpu_memory_is_in_the_sample)
{
    static struct sampler sampler;
    struct gpu_view view = { .state = GPU_READY };
    struct sample sample;

    gpu_totals_clear(&view.totals);
    view.totals.measures[GPU_TOTAL_JOB_MEMORY].value = 5;
    view.totals.measures[GPU_TOTAL_JOB_MEMORY].origin.is_exact = true;
    sample_clear(&sample);
    sampler_add_gpus(&sampler, &view, true, &sample);
    assert_true(sample.origin[METRIC_JOB_GPU_MEMORY].is_exact);
    assert_false(sample.origin[METRIC_MAIN_GPU_MEMORY].is_exact);
    view.state = GPU_SILENT;
    sampler_add_gpus(&sampler, &view, true, &sample);
    assert_false(sample.origin[METRIC_JOB_GPU_MEMORY].is_exact);
}
