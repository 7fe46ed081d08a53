/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the busy time of each process. */
#include <stdio.h>

#include "base/amount.h"
#include "nvidia_fixture.h"
#include "unit_test.h"

#define DEVICE "device 0 total 100000\ndevice 0 used 1000\n"
#define MS(count) ((count)*1000000ull)

MACHINE_TEST(busy_time_of_each_process_is_separate)
{
    struct machine *machine = *state;

    machine_open(machine, DEVICE "process 0 compute 10 5\nprocess 0 compute 77 5\n");
    machine_play(machine, DEVICE "process 0 compute 10 5\nprocess 0 compute 77 5\n"
                                 "sample 0 gpu ~1000 80\nsample 0 gpu ~1400 80\n"
                                 "usage 0 10 ~1000 20\nusage 0 77 ~1000 60\n"
                                 "usage 0 10 ~1400 40\nusage 0 77 ~1400 40\n");
    machine_read_busy(machine, (pid_t[]){ 10, 0 });
    assert_int_equal(machine_busy_percent(machine, 0, 10), 30);
    assert_int_equal(machine_busy_percent(machine, 0, 77), 50);
    assert_in_range(machine_process(machine, 0, 10)->busy_covered_ns, 1, MS(1400));
    assert_null(machine_process(machine, 0, 10)->reason);
}

/* The driver averages only over the samples that name a process: here, the last two. */
MACHINE_TEST(time_before_a_process_started_is_not_attributed_to_it)
{
    struct machine *machine = *state;

    machine_open(machine, DEVICE);
    machine_play(machine, DEVICE "process 0 compute 10 5\nsample 0 gpu ~1000 0\n"
                                 "sample 0 gpu ~2000 0\nsample 0 gpu ~3000 0\n"
                                 "sample 0 gpu ~3200 60\nsample 0 gpu ~3400 100\n"
                                 "usage 0 10 ~3200 60\nusage 0 10 ~3400 100\n");
    machine_read_busy(machine, (pid_t[]){ 10, 0 });
    assert_in_range(machine_process(machine, 0, 10)->busy_ns, MS(320) - 1, MS(320));
    assert_in_range(machine_process(machine, 0, 10)->busy_covered_ns, MS(2400), MS(3400));
}

/* The driver no longer reports an exited process and excludes its samples from all means:
 * the mean of the other process is too large, but no busy time is lost. */
MACHINE_TEST(busy_time_of_other_processes_is_not_attributed_to_an_exited_process)
{
    struct machine *machine = *state;
    const char *lists = "process 0 compute 10 5\nprocess 0 compute 77 5\n";
    const char *idle = DEVICE "sample 0 gpu ~1000 0\n";
    char script[512];

    (void)snprintf(script, sizeof(script), "%s%s", idle, lists);
    machine_open(machine, script);
    machine_read_busy(machine, (pid_t[]){ 10, 0 });
    (void)snprintf(script, sizeof(script),
                   "%s%sprocess 0 compute 10 gone\n"
                   "sample 0 gpu ~1200 100\nsample 0 gpu ~1400 100\nsample 0 gpu ~1600 50\n"
                   "usage 0 10 ~1200 100\nusage 0 10 ~1400 100\nusage 0 77 ~1600 50\n",
                   idle, lists);
    machine_play(machine, script);
    machine_read_busy(machine, (pid_t[]){ 10, 0 });
    assert_int_equal(machine_process(machine, 0, 77)->busy_ns, MS(300)); /* half of 600 ms */
    assert_int_equal(machine_process(machine, 0, 10)->busy_ns, MS(200));
    assert_true(machine_process(machine, 0, 10)->has_ended);
}

/* Without device samples, process samples are not limited to the time of the last device
 * sample. */
MACHINE_TEST(single_failure_of_device_samples_is_harmless)
{
    struct machine *machine = *state;
    const char *script = DEVICE "process 0 compute 10 5\nsample 0 gpu ~1000 0\n"
                                "usage 0 10 ~1400 50\n";
    char failing[512];

    machine_open(machine, script);
    (void)machine_read(machine, 0); /* the device has a sample */
    (void)snprintf(failing, sizeof(failing), "%sfail nvmlDeviceGetSamples 999\n", script);
    machine_play(machine, failing);
    machine_read_busy(machine, (pid_t[]){ 10, 0 });
    assert_int_equal(machine_busy_percent(machine, 0, 10), 50);
}

/* The next successful call covers the time of the failed one, for the process and the
 * device. */
MACHINE_TEST(single_failure_of_process_samples_is_harmless)
{
    struct machine *machine = *state;

    machine_open(machine, DEVICE "process 0 compute 10 5\n");
    machine_read_busy(machine, (pid_t[]){ 10, 0 });
    machine_play(machine, DEVICE "process 0 compute 10 5\nsample 0 gpu ~1000 50\n"
                                 "fail nvmlDeviceGetProcessUtilization 999\n");
    machine_read_busy(machine, (pid_t[]){ 10, 0 });
    machine_play(machine, DEVICE "process 0 compute 10 5\nsample 0 gpu ~1000 50\n"
                                 "usage 0 10 ~1000 50\nsample 0 gpu ~2000 50\n"
                                 "usage 0 10 ~2000 50\n");
    machine_read_busy(machine, (pid_t[]){ 10, 0 });
    assert_int_equal(machine_busy_percent(machine, 0, 10), 50);
    assert_in_range(machine_process(machine, 0, 10)->busy_covered_ns, MS(1001), MS(2000));
}

MACHINE_TEST(process_that_ended_before_it_was_listed_is_counted)
{
    struct machine *machine = *state;
    const struct gpu_process *process;

    machine_open(machine, DEVICE);
    machine_play(machine, DEVICE "sample 0 gpu ~1000 90\nusage 0 10 ~1000 80\n"
                                 "usage 0 99 ~1000 10\n");
    machine_read_busy(machine, (pid_t[]){ 10, 0 });
    process = machine_process(machine, 0, 10);
    assert_int_equal(machine_busy_percent(machine, 0, 10), 80);
    assert_int_equal(process->memory_bytes, 0); /* on no list: it holds no memory */
    assert_true(process->has_ended);
    assert_false(machine_has_process(machine, 0, 99)); /* foreign */
}

/* If the buffer is too small, the driver returns the required size, which may grow until the
 * next call. */
MACHINE_TEST(process_samples_that_exceed_the_buffer_are_read_again)
{
    struct machine *machine = *state;
    enum { OTHERS = 300 };
    char script[16384];
    int used;

    machine_open(machine, DEVICE);
    used = snprintf(script, sizeof(script),
                    DEVICE "process 0 compute 10 5\nsample 0 gpu ~1000 50\n"
                           "grow nvmlDeviceGetProcessUtilization 2\n");
    for (int pid = 1000; pid < 1000 + OTHERS; pid++)
        used +=
            snprintf(script + used, sizeof(script) - (size_t)used, "usage 0 %d ~1000 0\n", pid);
    (void)snprintf(script + used, sizeof(script) - (size_t)used, "usage 0 10 ~1000 50\n");
    machine_play(machine, script);
    machine_read_busy(machine, (pid_t[]){ 10, 0 });
    assert_int_equal(machine_busy_percent(machine, 0, 10), 50);
    assert_int_equal(machine_calls(machine, "nvmlDeviceGetProcessUtilization"), 3);
}

/* The driver returns no process samples. */
MACHINE_TEST(process_without_samples_of_a_busy_device_was_idle)
{
    struct machine *machine = *state;

    machine_open(machine, DEVICE "process 0 compute 10 5\nsample 0 gpu ~1000 50\n");
    machine_read_busy(machine, (pid_t[]){ 10, 0 });
    assert_int_equal(machine_calls(machine, "nvmlDeviceGetProcessUtilization"), 1);
    assert_int_equal(machine_process(machine, 0, 10)->busy_ns, 0);
    assert_in_range(machine_process(machine, 0, 10)->busy_covered_ns, 1, MS(1000));
    assert_null(machine_process(machine, 0, 10)->reason);
}

MACHINE_TEST(reason_is_given_if_the_driver_keeps_no_process_samples)
{
    struct machine *machine = *state;

    machine_open(machine, DEVICE "process 0 compute 10 5\nsample 0 gpu ~1000 50\n"
                                 "fail nvmlDeviceGetProcessUtilization 3\n");
    machine_read_busy(machine, (pid_t[]){ 10, 0 });
    assert_false(is_known(machine_process(machine, 0, 10)->busy_ns));
    assert_non_null(machine_process(machine, 0, 10)->reason);
}

/* Process samples are not read at the start, nor while the device is idle. */
MACHINE_TEST(refusal_is_detected_when_process_samples_are_first_read)
{
    struct machine *machine = *state;
    const char *refusal = DEVICE "process 0 compute 10 5\nsample 0 gpu ~1000 0\n"
                                 "fail nvmlDeviceGetProcessUtilization 3\n";
    char script[512];

    machine_open(machine, refusal);
    machine_read_processes(machine, (pid_t[]){ 10, 0 });
    assert_int_equal(machine_process(machine, 0, 10)->busy_covered_ns, 0); /* not read yet */
    machine_read_busy(machine, (pid_t[]){ 10, 0 });
    assert_int_equal(machine_process(machine, 0, 10)->busy_ns, 0);
    assert_in_range(machine_process(machine, 0, 10)->busy_covered_ns, 1, MS(1000));
    (void)snprintf(script, sizeof(script), "%ssample 0 gpu ~1200 50\n", refusal);
    machine_play(machine, script);
    machine_read_busy(machine, (pid_t[]){ 10, 0 });
    assert_false(is_known(machine_process(machine, 0, 10)->busy_ns));
    assert_non_null(machine_process(machine, 0, 10)->reason);
}

MACHINE_TEST(reason_is_given_if_process_samples_fail)
{
    struct machine *machine = *state;

    machine_open(machine, DEVICE "process 0 compute 10 5\nsample 0 gpu ~1000 50\n"
                                 "fail nvmlDeviceGetProcessUtilization 999\n");
    machine_read_busy(machine, (pid_t[]){ 10, 0 });
    assert_false(is_known(machine_process(machine, 0, 10)->busy_ns));
    assert_non_null(machine_process(machine, 0, 10)->reason);
    machine_play(machine, DEVICE "process 0 compute 10 5\nsample 0 gpu ~1000 50\n"
                                 "usage 0 10 ~1000 50\n");
    machine_read_busy(machine, (pid_t[]){ 10, 0 });
    assert_int_equal(machine_busy_percent(machine, 0, 10), 50);
}

MACHINE_TEST(process_samples_of_an_idle_device_are_not_read)
{
    struct machine *machine = *state;
    const char *usage_call = "nvmlDeviceGetProcessUtilization";
    const struct gpu_process *process;

    machine_open(machine, DEVICE "process 0 compute 10 5\nsample 0 gpu ~1000 0\n");
    machine_read_busy(machine, (pid_t[]){ 10, 0 });
    assert_int_equal(machine_calls(machine, usage_call), 0);
    assert_int_equal(machine_process(machine, 0, 10)->busy_ns, 0);
    assert_in_range(machine_process(machine, 0, 10)->busy_covered_ns, 1, MS(1000));
    machine_play(machine, DEVICE "process 0 compute 10 5\nsample 0 gpu ~1000 0\n"
                                 "sample 0 gpu ~1200 50\nusage 0 10 ~1200 50\n");
    machine_read_busy(machine, (pid_t[]){ 10, 0 });
    assert_int_equal(machine_calls(machine, usage_call), 1);
    process = machine_process(machine, 0, 10);
    assert_int_equal(process->busy_ns, MS(100));
    assert_in_range(process->busy_covered_ns, MS(201), MS(1200));
    machine_read_busy(machine, (pid_t[]){ 10, 0 });
    assert_int_equal(machine_calls(machine, usage_call), 1);
}

/* The driver's utilization rate covers only part of the time. */
MACHINE_TEST(process_samples_of_a_device_without_samples_are_read)
{
    struct machine *machine = *state;

    machine_open(machine, DEVICE "process 0 compute 10 5\nfail nvmlDeviceGetSamples 3\n"
                                 "device 0 rates 0\nusage 0 10 ~1000 50\n");
    machine_read_busy(machine, (pid_t[]){ 10, 0 });
    assert_int_equal(machine_busy_percent(machine, 0, 10), 50);
}

MACHINE_TEST(process_samples_are_read_before_the_first_device_sample)
{
    struct machine *machine = *state;

    machine_open(machine, DEVICE "process 0 compute 10 5\nusage 0 10 ~1000 50\n");
    machine_read_busy(machine, (pid_t[]){ 10, 0 });
    assert_int_equal(machine_busy_percent(machine, 0, 10), 50);
}

MACHINE_TEST(busy_time_of_an_idle_process_is_known_to_be_0)
{
    struct machine *machine = *state;

    machine_open(machine, DEVICE "process 0 compute 10 5\nsample 0 gpu ~1000 0\n");
    machine_read_busy(machine, (pid_t[]){ 10, 0 });
    assert_int_equal(machine_process(machine, 0, 10)->busy_ns, 0);
    assert_in_range(machine_process(machine, 0, 10)->busy_covered_ns, 1, MS(1000));
    assert_null(machine_process(machine, 0, 10)->reason);
}
