/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/amount.h"
#include "base/clock.h"
#include "nvidia_fixture.h"
#include "unit_test.h"

#define DEVICE "device 0 total 100000\ndevice 0 used 1000\n"
#define HOPPER \
    DEVICE "gpm 0 all 97\ngpm 0 metric 2 25\ngpm 0 metric 10 100.5\ngpm 0 metric 20 8\n"
#define MS(count) ((count)*NS_PER_MS)
#define S(count) ((count)*NS_PER_SECOND)
#define MIB 1048576

static struct machine machine;

static int begin(void **state)
{
    machine_init(&machine, false);
    return 0;
}

static int end(void **state)
{
    machine_done(&machine);
    return 0;
}

enum look { QUICK, SLOW };

static struct gpu_work look(uint64_t now_ns, bool is_used, enum look kind)
{
    struct gpu_work work;

    gpu_nvidia.work(machine.vendor, 0, now_ns, is_used, kind == QUICK, &work);
    return work;
}

static void check_calls(size_t snapshots, size_t comparisons)
{
    assert_int_equal(machine_calls(&machine, "nvmlGpmSampleGet"), snapshots);
    assert_int_equal(machine_calls(&machine, "nvmlGpmMetricsGet"), comparisons);
}

TEST_WITH(work_is_counted_only_while_the_job_uses_the_device, begin, end)
{
    struct gpu_work work;

    machine_open(&machine, HOPPER);
    work = look(S(1), false, SLOW);
    assert_false(is_known(work.counts[GPU_WORK_SM]));
    assert_string_equal(work.reason, "counted only while the job uses the GPU");
    check_calls(0, 0);
    (void)look(S(2), true, QUICK);
    work = look(S(6), true, SLOW);
    assert_int_equal(work.covered_ns, S(4));
    assert_int_equal(work.counts[GPU_WORK_SM], S(1));
    assert_int_equal(work.counts[GPU_WORK_DRAM], S(4)); /* limited to 100 % */
    assert_int_equal(work.counts[GPU_WORK_PCIE_SENT], 32 * MIB);
    assert_false(is_known(work.counts[GPU_WORK_TENSOR])); /* not reported */
    assert_string_equal(work.reason, "the driver does not report it");
    work = look(S(8), false, SLOW); /* no longer used: the last two seconds are counted */
    assert_int_equal(work.counts[GPU_WORK_SM], MS(1500));
    work = look(S(100), false, SLOW);
    assert_int_equal(work.counts[GPU_WORK_SM], MS(1500));
    check_calls(3, 2);
    (void)look(S(101), true, SLOW); /* the device is used again */
    work = look(S(105), true, SLOW);
    assert_int_equal(work.covered_ns, S(10));
    assert_int_equal(work.counts[GPU_WORK_SM], MS(2500));
}

/* 100 s with a quick look every 250 ms and a slow one every second. */
TEST_WITH(snapshots_are_compared_every_10_s, begin, end)
{
    machine_open(&machine, HOPPER);
    for (unsigned i = 0; i <= 400; i++)
        (void)look(S(10) + i * MS(250), true, i % 4 == 0 ? SLOW : QUICK);
    check_calls(11, 10);                /* at 0; at 1, 11, 21, ... 91 s */
    gpu_nvidia.refresh(machine.vendor); /* the job ends */
    assert_int_equal(look(S(111), false, SLOW).covered_ns, S(101));
    check_calls(12, 11);
}

/* Counters that another program uses are tried only once. */
TEST_WITH(counters_that_are_missing_or_in_use_are_not_read_again, begin, end)
{
    static const struct {
        const char *script, *reason;
        size_t snapshots;
    } cases[] = {
        { DEVICE, "the driver counts it on Hopper and later devices only", 0 },
        { HOPPER "fail nvmlGpmSampleGet 19\n",
          "the device's performance counters are in use, as by DCGM or a profiler", 1 },
        { HOPPER "fail nvmlGpmMetricsGet 19\n",
          "the device's performance counters are in use, as by DCGM or a profiler", 2 },
        { HOPPER "fail nvmlGpmMetricsGet 4\n",
          "the driver denies access to the device's performance counters", 2 },
        { HOPPER "fail nvmlGpmMetricsGet 999\n",
          "the driver fails to read the device's performance counters", 2 },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct gpu_work work = { 0 };

        machine_open(&machine, cases[i].script);
        for (unsigned second = 1; second <= 30; second++)
            work = look(S(second), true, SLOW);
        assert_false(is_known(work.counts[GPU_WORK_SM]));
        assert_string_equal(work.reason, cases[i].reason);
        assert_int_equal(machine_calls(&machine, "nvmlGpmSampleGet"), cases[i].snapshots);
        machine_done(&machine);
        machine_init(&machine, false);
    }
}

/* NaN must not become 0. */
TEST_WITH(implausible_counter_values_are_unknown, begin, end)
{
    struct gpu_work work;

    machine_open(&machine,
                 DEVICE "gpm 0 metric 2 nan\ngpm 0 metric 5 -3\ngpm 0 metric 20 1e99\n"
                        "gpm 0 metric 10 50\n");
    (void)look(S(1), true, QUICK);
    work = look(S(2), true, SLOW);
    assert_false(is_known(work.counts[GPU_WORK_SM]));
    assert_false(is_known(work.counts[GPU_WORK_TENSOR]));
    assert_false(is_known(work.counts[GPU_WORK_PCIE_SENT]));
    assert_int_equal(work.counts[GPU_WORK_DRAM], MS(500));
}
