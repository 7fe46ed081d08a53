/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/helper.h"
#include "fake_drm.h"
#include "nvidia_fixture.h"
#include "session/gpu_looks.h"
#include "unit_test.h"

#define SECONDS(n) ((n)*NS_PER_SECOND)
#define CARD "device 0 uuid GPU-1\ndevice 0 pci 0:3:0\ndevice 0 total 100\n"
#define PCI "0000:00:02.0"
#define AN_HOUR_OF_WORK                                     \
    "drm-driver:\ti915\ndrm-client-id:\t7\ndrm-pdev:\t" PCI \
    "\ndrm-resident-system0:\t8 MiB\ndrm-engine-render:\t3600000000000 ns\n"

/* A machine with a stand-in for NVIDIA's library, and spoor's looks at its GPUs. This
 * process is the job. */
struct bench {
    struct machine machine;
    struct member member;
    struct roster roster;
    struct gpu_looks looks;
    struct gpu_view view;
};

static void set_up(struct bench *bench, const char *script)
{
    CLEANUP(root_close) struct root live = ROOT_CLOSED;
    const struct gpu_looks_options options = { .root = &live,
                                               .gpus = "all",
                                               .main_pid = getpid(),
                                               .watch.start_ns = clock_now().monotonic_ns };

    assert_int_equal(root_open(NULL, &live), 0);
    *bench = (struct bench){ .member = { .id.pid = getpid() } };
    bench->roster = (struct roster){ .list = &bench->member, .count = 1, .changes = 1 };
    machine_init(&bench->machine, false);
    machine_play(&bench->machine, script);
    assert_int_equal(gpu_looks_open(&bench->looks, &options), 0);
}

static void tear_down(struct bench *bench)
{
    (void)unlink(getenv("SPOOR_NVML_SCRIPT")); /* unblocks the driver */
    while (!helper_wait(bench->looks.helper, 0))
        (void)usleep(100);
    gpu_looks_close(&bench->looks);
    machine_done(&bench->machine);
    free(bench->view.devices);
}

static void collect(struct gpu_looks *looks)
{
    while (!gpu_looks_collect(looks))
        (void)usleep(100);
}

static void start(struct bench *bench)
{
    assert_int_equal(gpu_looks_start(&bench->looks, GPU_LOOK_SLOW, &bench->roster), 0);
}

static void see_memory(struct bench *bench, unsigned bytes)
{
    char script[200];

    (void)snprintf(script, sizeof(script), CARD "device 0 used %u\nprocess 0 compute %d %u\n",
                   bytes, (int)getpid(), bytes);
    machine_play(&bench->machine, script);
    start(bench);
    collect(&bench->looks);
}

static uint64_t view_memory(struct bench *bench, uint64_t after_ns)
{
    gpu_looks_view(&bench->looks, clock_now().monotonic_ns + after_ns, &bench->view);
    return bench->view.totals.measures[GPU_TOTAL_JOB_MEMORY].value;
}

/* The memory as viewed this long after the start of the look in progress. */
static uint64_t view_memory_of_look(struct bench *bench, uint64_t taken_ns)
{
    gpu_looks_view(&bench->looks, bench->looks.started_ns + taken_ns, &bench->view);
    return bench->view.totals.measures[GPU_TOTAL_JOB_MEMORY].value;
}

/* Starts a look and waits until the driver's call blocks. */
static void block(struct bench *bench, const char *call)
{
    size_t before = machine_calls(&bench->machine, call);
    char script[200];

    (void)snprintf(script, sizeof(script), CARD "block %s 60000\n", call);
    machine_play(&bench->machine, script);
    start(bench);
    while (machine_calls(&bench->machine, call) == before ||
           gpu_looks_are_starved(&bench->looks))
        (void)usleep(100);
}

TEST(peak_and_current_memory_differ)
{
    struct bench bench;

    set_up(&bench, CARD);
    see_memory(&bench, 5);
    see_memory(&bench, 2);
    assert_int_equal(view_memory(&bench, 0), 5);
    assert_int_equal(bench.view.totals.measures[GPU_TOTAL_JOB_MEMORY].now, 2);
    assert_true(bench.looks.found.holds_context);
    assert_int_equal(bench.looks.found.memory_bytes, 2);
    assert_int_equal(view_memory(&bench, 0), 2);
    tear_down(&bench);
}

TEST(memory_seen_before_a_driver_stopped_is_reported_once)
{
    struct bench bench;

    set_up(&bench, CARD);
    see_memory(&bench, 1);
    assert_int_equal(view_memory(&bench, 0), 1);
    see_memory(&bench, 5);
    see_memory(&bench, 2);
    block(&bench, "nvmlDeviceGetPowerUsage");
    assert_int_equal(view_memory_of_look(&bench, SECONDS(10)), 5);
    assert_int_equal(bench.view.state, GPU_SILENT);
    assert_false(is_known(bench.view.totals.measures[GPU_TOTAL_JOB_BUSY].value));
    assert_false(is_known(view_memory_of_look(&bench, SECONDS(20))));
    assert_false(gpu_looks_collect(&bench.looks));
    assert_in_range(bench.looks.troubles.silent_for_ns, SECONDS(9), SECONDS(21));
    assert_int_equal(unlink(getenv("SPOOR_NVML_SCRIPT")), 0); /* the driver responds again */
    collect(&bench.looks);
    see_memory(&bench, 1);
    assert_int_equal(view_memory(&bench, 0), 1); /* memory in between is unknown */
    assert_int_equal(bench.view.state, GPU_READY);
    tear_down(&bench);
}

TEST(a_slow_driver_is_not_treated_as_stopped)
{
    struct bench bench;

    set_up(&bench, CARD);
    see_memory(&bench, 3);
    assert_int_equal(view_memory(&bench, 0), 3);
    block(&bench, "nvmlDeviceGetPowerUsage");
    assert_int_equal(view_memory_of_look(&bench, SECONDS(1)), 3);
    assert_int_equal(bench.view.state, GPU_READY);
    tear_down(&bench);
}

TEST(a_driver_that_never_responded_is_not_treated_as_stopped)
{
    struct bench bench;

    set_up(&bench, CARD);
    (void)view_memory(&bench, 0);
    assert_string_equal(bench.view.reason, "the job ended before the GPU driver was opened");
    block(&bench, "nvmlInit");
    (void)view_memory(&bench, SECONDS(10));
    assert_int_equal(bench.view.state, GPU_PENDING);
    assert_string_equal(bench.view.reason, "the GPU driver does not respond");
    assert_false(gpu_looks_finish(&bench.looks)); /* does not wait for the driver */
    assert_false(gpu_looks_are_idle(&bench.looks));
    tear_down(&bench);
}

/* Returns the busy time of a job whose child has worked for an hour before the GPUs are
 * first read. */
static uint64_t busy_time_of_old_child(pid_t tracker_pid)
{
    struct member list[] = { { .id.pid = 41 }, { .id.pid = 42, .parent_pid = 41 } };
    const struct roster roster = { .list = list, .count = ARRAY_SIZE(list), .changes = 1 };
    struct gpu_looks_options options = { .main_pid = 41,
                                         .tracker_pid = tracker_pid,
                                         .watch.start_ns = clock_now().monotonic_ns };
    struct gpu_view view = { 0 };
    struct gpu_looks looks;
    struct fake_root fake;
    uint64_t looked_ns;

    fake_root_init(&fake);
    options.root = &fake.root;
    fake_drm_card(&fake, 0, PCI, "0x8086\n");
    fake_drm_fd(&fake, 42, 3, "/dev/dri/renderD128", AN_HOUR_OF_WORK);
    assert_int_equal(gpu_looks_open(&looks, &options), 0);
    assert_int_equal(gpu_looks_start(&looks, GPU_LOOK_SLOW, &roster), 0);
    collect(&looks);
    looked_ns = clock_now().monotonic_ns;
    /* Busy time is a share of a time window, which has a minimum length. */
    while (clock_now().monotonic_ns - looked_ns < 100 * NS_PER_MS)
        (void)usleep(1000);
    gpu_looks_begin_last(&looks, &roster);
    assert_true(gpu_looks_finish(&looks));
    gpu_looks_view(&looks, clock_now().monotonic_ns, &view);
    assert_int_equal(view.totals.measures[GPU_TOTAL_DESCENDANTS_MEMORY].value, 8 << 20);
    gpu_looks_close(&looks);
    free(view.devices);
    fake_root_done(&fake);
    return view.totals.measures[GPU_TOTAL_JOB_BUSY].value;
}

TEST(work_before_the_attach_is_not_counted)
{
    assert_int_equal(busy_time_of_old_child(0), 0);
}

TEST(work_of_children_of_a_started_job_is_counted)
{
    assert_in_range(busy_time_of_old_child(getpid()), 1, UNKNOWN - 1);
}

FAKE_ROOT_TEST(gpu_files_are_not_searched_if_no_gpu_is_selected)
{
    struct fake_root *fake = *state;

    fake_drm_card(fake, 0, PCI, "0x8086\n");
    assert_true(gpu_looks_are_needed(&fake->root, NULL, 0));
    assert_true(gpu_looks_are_needed(&fake->root, "0", 0));
    assert_false(gpu_looks_are_needed(&fake->root, "none", 0));
}
