/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/amount.h"
#include "base/clock.h"
#include "nvidia_fixture.h"
#include "source/gpu/nvidia.h"
#include "unit_test.h"

#define DEVICE "device 0 total 100000\ndevice 0 used 1000\n"
#define MS(count) ((count)*1000000ull)
/* An idle sample that covers the time before the samples of the test. */
#define BEGIN(kind) "sample 0 " kind " ~1000 0\n"

MACHINE_TEST(every_buffered_sample_is_weighted_by_its_duration)
{
    struct machine *machine = *state;
    struct gpu_reading reading;

    machine_open(machine, DEVICE "sample 0 gpu 1000000 100\n"); /* from before the start */
    reading = machine_read(machine, 0);
    assert_int_equal(reading.busy_ns, 0);
    assert_int_equal(reading.busy_covered_ns, 0);
    machine_play(machine, DEVICE "sample 0 gpu 1000000 100\n" BEGIN(
                              "gpu") "sample 0 gpu ~1200 50\nsample 0 gpu ~1300 100\n"
                                     "sample 0 gpu ~1500 0\n");
    reading = machine_read(machine, 0);
    assert_int_equal(reading.busy_ns, MS(200));
    assert_in_range(reading.busy_covered_ns, MS(501), MS(1500));
    assert_null(reading.busy_reason);
}

MACHINE_TEST(sample_is_never_counted_twice)
{
    struct machine *machine = *state;

    machine_open(machine, DEVICE);
    machine_play(machine, DEVICE BEGIN("gpu") "sample 0 gpu ~1200 50\n");
    assert_int_equal(machine_read(machine, 0).busy_ns, MS(100));
    assert_int_equal(machine_read(machine, 0).busy_ns, MS(100));
}

MACHINE_TEST(first_sample_covers_the_time_since_the_start)
{
    struct machine *machine = *state;
    struct gpu_reading reading;

    machine_open(machine, DEVICE "sample 0 gpu 1000000 100\n");
    machine_play(machine, DEVICE "sample 0 gpu 1000000 100\nsample 0 gpu ~1000 100\n");
    reading = machine_read(machine, 0);
    assert_in_range(reading.busy_covered_ns, 1, MS(1000));
    assert_int_equal(reading.busy_ns, reading.busy_covered_ns);
}

MACHINE_TEST(samples_are_not_read_at_the_start)
{
    struct machine *machine = *state;
    struct gpu_reading reading;

    machine_open(machine, DEVICE "sample 0 gpu 1000000 100\nsample 0 encoder 1000000 100\n");
    assert_int_equal(gpu_nvidia.read(machine->vendor, 0, clock_now().monotonic_ns, &reading),
                     0);
    assert_int_equal(machine_calls(machine, "nvmlDeviceGetSamples"), 0);
    assert_int_equal(reading.busy_covered_ns, 0);
    assert_null(reading.busy_reason); /* no sample yet */
    (void)machine_read(machine, 0);
    assert_int_equal(machine_calls(machine, "nvmlDeviceGetSamples"), METER_COUNT);
}

MACHINE_TEST(source_of_utilization_is_determined_at_the_first_reading)
{
    struct machine *machine = *state;
    struct gpu_reading reading;

    machine_open(machine, DEVICE "fail nvmlDeviceGetSamples 3\n");
    assert_int_equal(gpu_nvidia.read(machine->vendor, 0, clock_now().monotonic_ns, &reading),
                     0);
    assert_null(reading.busy_reason);
    reading = machine_read(machine, 0);
    assert_false(is_known(reading.busy_ns));
    assert_non_null(reading.busy_reason);
}

/* The first reading takes the first snapshot. */
MACHINE_TEST(device_without_samples_is_measured_by_gpm)
{
    struct machine *machine = *state;
    struct gpu_reading reading;
    uint64_t later_ns;

    machine_open(machine, DEVICE "fail nvmlDeviceGetSamples 3\ngpm 0 all 10\ngpm\n"
                                 "device 0 rates 99\n");
    assert_int_equal(machine_read(machine, 0).busy_covered_ns, 0);
    later_ns = clock_now().monotonic_ns + 5 * NS_PER_SECOND;
    assert_int_equal(gpu_nvidia.read(machine->vendor, 0, later_ns, &reading), 0);
    assert_true(reading.busy_covered_ns >= 5 * NS_PER_SECOND);
    assert_in_range(reading.busy_ns * 1000 / reading.busy_covered_ns, 99, 100);
}

/* Snapshots that are closer together yield no valid metrics: the first one is kept until 100
 * ms have passed. */
MACHINE_TEST(snapshots_of_gpm_are_100_ms_apart)
{
    struct machine *machine = *state;
    static const struct {
        uint64_t at_ms, covered_ms;
        size_t snapshots;
    } steps[] = { { 0, 0, 1 }, { 50, 0, 1 }, { 99, 0, 1 }, { 100, 100, 2 }, { 150, 100, 2 } };
    uint64_t start_ns = clock_now().monotonic_ns;

    machine_open(machine, DEVICE "fail nvmlDeviceGetSamples 3\ngpm 0 all 10\n");
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        struct gpu_reading reading;

        gpu_nvidia.refresh(machine->vendor);
        assert_int_equal(
            gpu_nvidia.read(machine->vendor, 0, start_ns + MS(steps[i].at_ms), &reading), 0);
        assert_int_equal(reading.busy_covered_ns, MS(steps[i].covered_ms));
        assert_int_equal(machine_calls(machine, "nvmlGpmSampleGet"), steps[i].snapshots);
    }
}

MACHINE_TEST(sample_over_100_or_from_the_future_is_dropped)
{
    struct machine *machine = *state;
    struct gpu_reading reading;

    machine_open(machine, DEVICE);
    machine_play(
        machine,
        DEVICE BEGIN("gpu") "sample 0 gpu ~1200 101\nsample 0 gpu ~1300 4294967295\n"
                            "sample 0 gpu 18446744073709551614 50\nsample 0 gpu ~1400 50\n");
    reading = machine_read(machine, 0);
    assert_int_equal(reading.busy_ns, MS(200)); /* the valid sample covers 400 ms */
    machine_play(machine, DEVICE "sample 0 gpu ~1600 100\n");
    assert_int_equal(machine_read(machine, 0).busy_ns, MS(400));
}

TEST(samples_may_have_another_type_and_order)
{
    static const char *const types[] = { "value_type 0\n", "value_type 3\n" };

    for (size_t i = 0; i < 2; i++) {
        struct machine machine;
        char script[256];

        machine_init(&machine, false);
        machine_open(&machine, DEVICE);
        (void)snprintf(script, sizeof(script),
                       DEVICE
                       "sample 0 gpu ~1400 100\nsample 0 gpu ~1200 50\n" BEGIN("gpu") "%s",
                       types[i]);
        machine_play(&machine, script);
        assert_int_equal(machine_read(&machine, 0).busy_ns, MS(300));
        machine_done(&machine);
    }
}

MACHINE_TEST(samples_of_an_unknown_type_are_ignored)
{
    struct machine *machine = *state;

    machine_open(machine, DEVICE);
    machine_play(machine, DEVICE "sample 0 gpu ~1000 100\nvalue_type 77\n");
    assert_int_equal(machine_read(machine, 0).busy_covered_ns, 0);
}

MACHINE_TEST(samples_that_exceed_the_buffer_are_read_again)
{
    struct machine *machine = *state;
    static char script[32768] = DEVICE;
    size_t used = strlen(script);

    machine_open(machine, DEVICE);
    for (unsigned i = 0; i <= 500; i++)
        used += (size_t)snprintf(script + used, sizeof(script) - used, "sample 0 gpu ~%u %u\n",
                                 1000 + i * 20, i > 0 ? 50 : 0);
    machine_play(machine, script);
    assert_in_range(machine_read(machine, 0).busy_covered_ns, MS(10001), MS(11000));
    assert_int_equal(machine_read(machine, 0).busy_ns, MS(5000));
}

MACHINE_TEST(encoder_and_decoder_have_their_own_samples)
{
    struct machine *machine = *state;
    struct gpu_reading reading;

    machine_open(machine, DEVICE);
    machine_play(machine,
                 DEVICE BEGIN("encoder")
                     BEGIN("decoder") "sample 0 encoder ~1200 10\nsample 0 decoder ~1200 20\n");
    reading = machine_read(machine, 0);
    assert_int_equal(reading.encoder_busy_ns, MS(20));
    assert_in_range(reading.encoder_covered_ns, MS(201), MS(1200));
    assert_int_equal(reading.decoder_busy_ns, MS(40));
    assert_int_equal(reading.busy_ns, 0);
}

#define NO_CODEC "device 0 encoder 0\ndevice 0 decoder 0\n"

/* Each reading makes one call for the cores, and reads the utilization rates of encoder and
 * decoder. */
MACHINE_TEST(idle_encoders_of_an_idle_device_are_not_read)
{
    struct machine *machine = *state;
    const char *samples = "nvmlDeviceGetSamples";
    struct gpu_reading reading, later;

    machine_open(machine, DEVICE NO_CODEC);
    (void)machine_read(machine, 0); /* the first reading reads all samples */
    assert_int_equal(machine_calls(machine, samples), 3);
    machine_play(machine, DEVICE NO_CODEC BEGIN("gpu") "sample 0 encoder ~900 50\n");
    reading = machine_read(machine, 0);
    assert_int_equal(machine_calls(machine, samples), 4);
    assert_int_equal(reading.encoder_busy_ns, 0);
    assert_in_range(reading.encoder_covered_ns, 1, MS(1000));
    assert_int_equal(reading.encoder_covered_ns, reading.busy_covered_ns);
    assert_int_equal(reading.decoder_covered_ns, reading.busy_covered_ns);
    /* Samples continue after the idle time. */
    machine_play(machine, DEVICE "device 0 encoder 30\ndevice 0 decoder 0\n" BEGIN(
                              "gpu") "sample 0 encoder ~900 50\nsample 0 encoder ~1200 30\n");
    later = machine_read(machine, 0);
    assert_int_equal(machine_calls(machine, samples), 6); /* the decoder's rate is 0 */
    assert_int_equal(later.encoder_busy_ns, MS(60));
    assert_int_equal(later.encoder_covered_ns, reading.encoder_covered_ns + MS(200));
    assert_int_equal(later.decoder_covered_ns, reading.decoder_covered_ns);
}

/* A job that used no GPU may have only one reading, at its end. */
MACHINE_TEST(encoders_are_never_read_if_the_device_was_always_idle)
{
    struct machine *machine = *state;
    struct gpu_reading reading;

    machine_open(machine, DEVICE NO_CODEC);
    machine_play(machine, DEVICE NO_CODEC BEGIN("gpu") "sample 0 gpu ~1200 0\n");
    reading = machine_read(machine, 0);
    assert_int_equal(machine_calls(machine, "nvmlDeviceGetSamples"), 1);
    assert_int_equal(reading.encoder_busy_ns, 0);
    assert_int_equal(reading.encoder_covered_ns, reading.busy_covered_ns);
    assert_int_equal(reading.decoder_covered_ns, reading.busy_covered_ns);
}

MACHINE_TEST(encoders_of_a_busy_device_are_read)
{
    struct machine *machine = *state;
    struct gpu_reading reading;

    machine_open(machine, DEVICE NO_CODEC);
    (void)machine_read(machine, 0);
    machine_play(machine, DEVICE NO_CODEC BEGIN("encoder") "sample 0 gpu ~1200 1\n"
                                                           "sample 0 encoder ~1200 50\n");
    reading = machine_read(machine, 0);
    assert_int_equal(reading.encoder_busy_ns, MS(100)); /* although its rate is 0 again */
    assert_int_equal(machine_calls(machine, "nvmlDeviceGetSamples"), 6);
}

/* The device is busy, but samples of its processes show that they do not use the encoder. */
MACHINE_TEST(unused_encoders_of_a_busy_device_are_not_read)
{
    struct machine *machine = *state;
    static const pid_t pids[] = { 41, 0 };
    const char *samples = "nvmlDeviceGetSamples";
    struct gpu_reading reading;

    machine_open(machine, DEVICE NO_CODEC);
    machine_play(machine, DEVICE NO_CODEC BEGIN("gpu") "sample 0 gpu ~1200 50\n"
                                                       "usage 0 41 ~1200 50\n");
    machine_read_busy(machine, pids);
    reading = machine_read(machine, 0);
    assert_int_equal(machine_calls(machine, samples), 2); /* both for the cores */
    assert_int_equal(reading.encoder_busy_ns, 0);
    assert_int_equal(reading.encoder_covered_ns, reading.busy_covered_ns);
    machine_play(machine, DEVICE NO_CODEC BEGIN("gpu") "sample 0 gpu ~1400 50\nencoding 30\n"
                                                       "usage 0 41 ~1400 50\n"
                                                       "sample 0 encoder ~1400 30\n");
    machine_read_busy(machine, pids);
    reading = machine_read(machine, 0);
    assert_int_equal(reading.encoder_busy_ns, MS(60));
}

MACHINE_TEST(device_without_samples_is_polled)
{
    struct machine *machine = *state;
    const char *script = DEVICE "fail nvmlDeviceGetSamples 3\ndevice 0 rates 40\n";
    struct gpu_reading reading;
    uint64_t start_ns;

    machine_open(machine, script);
    (void)machine_read(machine, 0);
    start_ns = clock_now().monotonic_ns + NS_PER_SECOND;
    gpu_nvidia.refresh(machine->vendor); /* without it, a slow machine makes fewer calls */
    assert_int_equal(gpu_nvidia.read(machine->vendor, 0, start_ns, &reading), 0);
    assert_true(reading.busy_covered_ns >= NS_PER_SECOND);
    assert_in_range(reading.busy_ns * 100 / reading.busy_covered_ns, 39, 40);
    assert_string_equal(reading.busy_source, "nvml.rates");
}

MACHINE_TEST(failure_of_the_first_reading_is_not_final)
{
    struct machine *machine = *state;
    const char *failing = DEVICE "fail nvmlDeviceGetSamples 999\n"
                                 "fail nvmlDeviceGetUtilizationRates 999\n";
    struct gpu_reading reading;

    machine_open(machine, failing);
    reading = machine_read(machine, 0);
    assert_false(is_known(reading.busy_ns));
    assert_non_null(strstr(reading.busy_reason, "fails"));
    machine_play(machine, DEVICE "sample 0 gpu ~1000 50\n");
    reading = machine_read(machine, 0);
    assert_null(reading.busy_reason);
    assert_int_equal(reading.busy_ns * 2, reading.busy_covered_ns);
    assert_true(reading.busy_covered_ns > 0);
}

MACHINE_TEST(mig_device_is_measured_by_gpm)
{
    struct machine *machine = *state;
    const char *script = "device 0 total 1\ndevice 0 mig 1\n"
                         "device 0.1 uuid MIG-b\ndevice 0.1 instance 5\n"
                         "fail nvmlDeviceGetSamples 3\ngpm 0 5 25\ngpm 0 all 10\n"
                         "gpm 0 4 99\ngpm\n";
    struct gpu_reading reading;
    uint64_t later_ns;

    machine_open(machine, script);
    later_ns = clock_now().monotonic_ns + 2 * NS_PER_SECOND;
    assert_int_equal(gpu_nvidia.read(machine->vendor, 1, later_ns, &reading), 0);
    assert_true(reading.busy_covered_ns >= 2 * NS_PER_SECOND);
    assert_in_range(reading.busy_ns * 1000 / reading.busy_covered_ns, 249, 250);
    assert_string_equal(reading.busy_source, "nvml.gpm");
    assert_int_equal(gpu_nvidia.read(machine->vendor, 0, later_ns, &reading), 0);
    assert_in_range(reading.busy_ns * 1000 / reading.busy_covered_ns, 99, 100);
}

MACHINE_TEST(mig_device_without_gpm_has_a_reason)
{
    struct machine *machine = *state;
    const char *script = "device 0 total 1\ndevice 0 mig 1\ndevice 0.1 uuid MIG-b\n"
                         "fail nvmlDeviceGetSamples 3\n"
                         "fail nvmlDeviceGetProcessUtilization 3\nprocess 0.1 compute 10 5\n";
    struct gpu_reading reading;

    machine_open(machine, script);
    reading = machine_read(machine, 1);
    assert_false(is_known(reading.busy_ns));
    assert_non_null(strstr(reading.busy_reason, "MIG"));
    machine_read_busy(machine, (pid_t[]){ 10, 0 });
    assert_int_equal(machine_process(machine, 1, 10)->memory_bytes, 5);
    assert_false(is_known(machine_process(machine, 1, 10)->busy_ns));
    assert_non_null(strstr(machine_process(machine, 1, 10)->reason, "MIG"));
}
