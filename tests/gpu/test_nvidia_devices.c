/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/amount.h"
#include "base/clock.h"
#include "nvidia_fixture.h"
#include "source/gpu/nvidia.h"
#include "unit_test.h"

#define H200                        \
    "device 0 uuid GPU-11111111\n"  \
    "device 0 name NVIDIA H200\n"   \
    "device 0 pci 0:59:0\n"         \
    "device 0 total 150754820096\n" \
    "device 0 used 543162368\n"     \
    "device 0 reserved 644874240\n"

TEST(structs_have_the_layout_of_nvml)
{
    assert_int_equal(sizeof(struct nvml_memory), 24);
    assert_int_equal(sizeof(struct nvml_memory_v2), 40);
    assert_int_equal(offsetof(struct nvml_memory_v2, used), 32);
    assert_int_equal(sizeof(struct nvml_sample), 16);
    assert_int_equal(sizeof(struct nvml_process_usage), 32);
    assert_int_equal(offsetof(struct nvml_process_usage, sm_percent), 16);
    assert_int_equal(sizeof(struct nvml_accounting), 56);
    assert_int_equal(offsetof(struct nvml_accounting, is_running), 32);
    assert_int_equal(sizeof(struct nvml_gpm_metric), 40);
    assert_int_equal(offsetof(struct nvml_gpm_metrics, metrics), 24);
    /* The library may write as many metrics as its own header declares: 333 so far. */
    assert_true(sizeof(struct nvml_gpm_metrics) > 24 + 333 * sizeof(struct nvml_gpm_metric));
    assert_int_equal(offsetof(struct nvml_pci, domain), 16);
    assert_true(sizeof(struct nvml_pci) >= 68);
}

MACHINE_TEST(name_memory_and_address_of_a_device_are_read)
{
    struct machine *machine = *state;
    const struct gpu_device *device;

    machine_open(machine, H200 "driver 550.54.15\n");
    assert_int_equal(gpu_nvidia.device_count(machine->vendor), 1);
    device = gpu_nvidia.device(machine->vendor, 0);
    assert_string_equal(device->driver_version, "550.54.15");
    assert_string_equal(device->uuid, "GPU-11111111");
    assert_string_equal(device->name, "NVIDIA H200");
    assert_string_equal(device->pci_address, "0000:3b:00.0");
    assert_int_equal(device->memory_total_bytes, 150754820096);
    assert_false(device->is_part);
}

MACHINE_TEST(more_than_four_devices_are_found)
{
    struct machine *machine = *state;

    machine_open(machine, "device 0 uuid GPU-0\ndevice 1 uuid GPU-1\ndevice 2 uuid GPU-2\n"
                          "device 3 uuid GPU-3\ndevice 4 uuid GPU-4\ndevice 5 uuid GPU-5\n"
                          "device 6 uuid GPU-6\ndevice 7 uuid GPU-7\ndevice 8 uuid GPU-8\n"
                          "device 9 uuid GPU-9\n");
    assert_int_equal(gpu_nvidia.device_count(machine->vendor), 10);
    assert_string_equal(gpu_nvidia.device(machine->vendor, 9)->uuid, "GPU-9");
}

MACHINE_TEST(device_without_permission_is_left_out)
{
    struct machine *machine = *state;

    machine_open(machine, "device 0 uuid GPU-0\ndevice 1 uuid GPU-1\n"
                          "fail nvmlDeviceGetHandleByIndex@0 4\n");
    assert_int_equal(gpu_nvidia.device_count(machine->vendor), 1);
    assert_string_equal(gpu_nvidia.device(machine->vendor, 0)->uuid, "GPU-1");
    assert_int_equal(gpu_nvidia.trouble(machine->vendor)->code, 0);
}

MACHINE_TEST(figures_are_read_in_their_units)
{
    struct machine *machine = *state;
    struct gpu_reading reading;

    machine_open(machine, H200 "device 0 power 76543\ndevice 0 temperature 33\n"
                               "device 0 clock 1980\ndevice 0 throttle 140\n"
                               "device 0 energy 1000\n");
    machine_play(machine, H200 "device 0 power 76543\ndevice 0 temperature 33\n"
                               "device 0 clock 1980\ndevice 0 throttle 140\n"
                               "device 0 energy 1250\n");
    reading = machine_read(machine, 0);
    assert_int_equal(reading.memory_used_bytes, 543162368); /* excludes reserved memory */
    assert_int_equal(reading.energy.milliwatts, 76543);
    assert_int_equal(reading.temperature_celsius, 33);
    assert_int_equal(reading.clock_mhz, 1980);
    assert_int_equal(reading.throttle_reasons, GPU_THROTTLE_POWER | GPU_THROTTLE_HARDWARE);
    assert_int_equal(reading.energy.microjoules, 250000); /* since machine_open() */
}

MACHINE_TEST(figure_without_a_source_is_unknown_instead_of_0)
{
    struct machine *machine = *state;
    struct gpu_reading reading;

    machine_open(machine, "device 0 uuid GPU-0\nfail nvmlDeviceGetSamples 3\n");
    reading = machine_read(machine, 0);
    assert_false(is_known(gpu_nvidia.device(machine->vendor, 0)->memory_total_bytes));
    assert_false(is_known(reading.memory_used_bytes));
    assert_false(is_known(reading.busy_ns));
    assert_non_null(reading.busy_reason);
    assert_false(is_known(reading.encoder_busy_ns));
    assert_false(is_known(reading.decoder_busy_ns));
    assert_false(is_known(reading.energy.microjoules));
    assert_false(is_known(reading.energy.milliwatts));
    assert_false(is_known(reading.temperature_celsius));
    assert_false(is_known(reading.clock_mhz));
    assert_false(is_known(reading.throttle_reasons));
}

MACHINE_TEST(values_reported_as_not_available_are_unknown)
{
    struct machine *machine = *state;
    struct gpu_reading reading;

    machine_open(machine, H200 "device 0 power 4294967295\ndevice 0 clock 4294967295\n"
                               "device 0 energy 18446744073709551615\n"
                               "device 0 temperature 4294967295\n");
    reading = machine_read(machine, 0);
    assert_false(is_known(reading.energy.milliwatts));
    assert_false(is_known(reading.clock_mhz));
    assert_false(is_known(reading.energy.microjoules));
    assert_false(is_known(reading.temperature_celsius));
}

MACHINE_TEST(energy_continues_after_a_driver_restart)
{
    struct machine *machine = *state;

    machine_open(machine, H200 "device 0 energy 5000\n");
    machine_play(machine, H200 "device 0 energy 5400\n");
    assert_int_equal(machine_read(machine, 0).energy.microjoules, 400000);
    machine_play(machine, H200 "device 0 energy 100\n");
    assert_int_equal(machine_read(machine, 0).energy.microjoules, 400000);
    machine_play(machine, H200 "device 0 energy 150\n");
    assert_int_equal(machine_read(machine, 0).energy.microjoules, 450000);
}

MACHINE_TEST(expensive_figures_are_cached_between_readings)
{
    struct machine *machine = *state;
    struct gpu_reading reading;
    uint64_t now_ns;

    machine_open(machine, H200 "device 0 energy 1000\n");
    now_ns = clock_now().monotonic_ns;
    machine_play(machine, H200 "device 0 energy 1001\ndevice 0 power 5\n");
    assert_int_equal(gpu_nvidia.read(machine->vendor, 0, now_ns, &reading), 0);
    assert_int_equal(reading.energy.microjoules, 0); /* known: the counter was read at the
                                                      * opening */
    assert_int_equal(reading.energy.milliwatts, 5);
}

static struct gpu_reading read_at(struct machine *machine, uint64_t now_ns)
{
    struct gpu_reading reading;

    assert_int_equal(gpu_nvidia.read(machine->vendor, 0, now_ns, &reading), 0);
    return reading;
}

/* The counter is read once a minute and at the end of the run. */
MACHINE_TEST(energy_between_counter_readings_is_estimated_from_power)
{
    struct machine *machine = *state;
    static const struct {
        uint64_t at_s, expected_microjoules;
        bool is_estimated;
        size_t calls;
    } steps[] = {
        { 10, 950000, true, 2 }, /* at 100 mW, minus 5 % */
        { 59, 5605000, true, 2 },
        { 61, 6100000, false, 3 }, /* read from the counter */
        { 71, 7050000, true, 3 },
    };
    struct gpu_reading reading;
    uint64_t now_ns;

    machine_open(machine, H200 "device 0 energy 1000\ndevice 0 power 100\n");
    now_ns = clock_now().monotonic_ns;
    gpu_nvidia.refresh(machine->vendor);
    assert_int_equal(read_at(machine, now_ns).energy.microjoules, 0);
    machine_play(machine, H200 "device 0 energy 7100\ndevice 0 power 100\n");
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        reading = read_at(machine, now_ns + steps[i].at_s * NS_PER_SECOND);
        assert_int_equal(reading.energy.microjoules, steps[i].expected_microjoules);
        assert_int_equal(reading.energy.is_estimated, steps[i].is_estimated);
        assert_int_equal(machine_calls(machine, "nvmlDeviceGetTotalEnergyConsumption"),
                         steps[i].calls);
    }
    gpu_nvidia.refresh(machine->vendor); /* the last reading; the estimate was too high */
    machine_play(machine, H200 "device 0 energy 7900\ndevice 0 power 100\n");
    reading = read_at(machine, now_ns + 72 * NS_PER_SECOND);
    assert_int_equal(reading.energy.microjoules, 6900000);
    assert_false(reading.energy.is_estimated);
}

MACHINE_TEST(energy_of_a_device_without_power_is_read_every_10_s)
{
    struct machine *machine = *state;
    uint64_t now_ns;

    machine_open(machine, H200 "device 0 energy 1000\n");
    now_ns = clock_now().monotonic_ns;
    machine_play(machine, H200 "device 0 energy 1001\n");
    assert_int_equal(read_at(machine, now_ns + 9 * NS_PER_SECOND).energy.microjoules, 0);
    assert_int_equal(read_at(machine, now_ns + 11 * NS_PER_SECOND).energy.microjoules, 1000);
}

static struct gpu_energy energy_at(struct machine *machine, uint64_t now_ns, bool is_border)
{
    struct gpu_energy energy;

    gpu_nvidia.energy(machine->vendor, 0, now_ns, is_border, &energy);
    return energy;
}

/* Quick looks read the power once a second. */
MACHINE_TEST(power_is_read_between_readings)
{
    struct machine *machine = *state;
    uint64_t now_ns;

    machine_open(machine, H200 "device 0 energy 1000\ndevice 0 power 100\n");
    now_ns = clock_now().monotonic_ns;
    gpu_nvidia.refresh(machine->vendor);
    (void)read_at(machine, now_ns);
    machine_play(machine, H200 "device 0 energy 1000\ndevice 0 power 300\n");
    for (unsigned i = 1; i <= 10; i++)
        (void)energy_at(machine, now_ns + i * 200 * NS_PER_MS, false);
    assert_int_equal(machine_calls(machine, "nvmlDeviceGetPowerUsage"), 1 + 1 + 2);
    /* one second at 200 mW on average, then three seconds at 300 mW */
    assert_int_equal(read_at(machine, now_ns + 4 * NS_PER_SECOND).energy.microjoules,
                     (200000 + 900000) / 20 * 19);
    /* After a long time without readings, the device is assumed to have been idle for most
     * of it. */
    machine_play(machine, H200 "device 0 energy 1000\ndevice 0 power 100\n");
    assert_int_equal(energy_at(machine, now_ns + 14 * NS_PER_SECOND, false).microjoules,
                     (1100000 + 200000 + 900000) / 20 * 19);
}

/* Phase boundaries read the energy and work counters, unless these were read less than two
 * seconds ago. */
MACHINE_TEST(phase_boundaries_read_the_counters)
{
    struct machine *machine = *state;
    struct gpu_work work;
    uint64_t now_ns;

    machine_open(machine, H200 "device 0 energy 1000\ndevice 0 power 100\ngpm 0 metric 2 50\n");
    now_ns = clock_now().monotonic_ns;
    gpu_nvidia.work(machine->vendor, 0, now_ns, true, true, &work);
    gpu_nvidia.work(machine->vendor, 0, now_ns + NS_PER_SECOND, true, false, &work);
    machine_play(machine, H200 "device 0 energy 1800\ndevice 0 power 100\ngpm 0 metric 2 50\n");
    assert_true(energy_at(machine, now_ns + 1500 * NS_PER_MS, true).is_estimated);
    assert_int_equal(energy_at(machine, now_ns + 3 * NS_PER_SECOND, true).microjoules, 800000);
    gpu_nvidia.work(machine->vendor, 0, now_ns + 3 * NS_PER_SECOND, true, false, &work);
    assert_int_equal(work.counts[GPU_WORK_SM], 1500 * NS_PER_MS);
    assert_int_equal(machine_calls(machine, "nvmlDeviceGetTotalEnergyConsumption"), 2);
}

MACHINE_TEST(memory_is_read_by_the_first_version_of_the_call_if_the_second_fails)
{
    struct machine *machine = *state;

    machine_open(machine, H200 "fail nvmlDeviceGetMemoryInfo_v2 25\n");
    assert_int_equal(machine_read(machine, 0).memory_used_bytes, 543162368 + 644874240);
}

MACHINE_TEST(integrated_gpu_has_the_machines_memory)
{
    struct machine *machine = *state;

    fake_root_write(&machine->fake, "proc/meminfo",
                    "MemTotal:       1000 kB\nMemFree:  5 kB\nMemAvailable:    600 kB\n");
    machine_open(machine, "device 0 name Orin\n");
    assert_int_equal(gpu_nvidia.device(machine->vendor, 0)->memory_total_bytes, 1000 * 1024);
    assert_int_equal(machine_read(machine, 0).memory_used_bytes, 400 * 1024);
    /* Any other failure does not mean that the GPU has no memory of its own. */
    machine_play(machine, "device 0 name Orin\nfail nvmlDeviceGetMemoryInfo 999\n");
    assert_false(is_known(machine_read(machine, 0).memory_used_bytes));
}

MACHINE_TEST(unterminated_garbage_as_a_name_is_harmless)
{
    struct machine *machine = *state;
    const struct gpu_device *device;
    char script[512] = "device 0 name_hex ";

    for (size_t i = 0; i < 120; i++)
        memcpy(script + strlen(script), i % 2 ? "1b" : "ff", 3);
    memcpy(script + strlen(script), "\n", 2);
    machine_open(machine, script);
    device = gpu_nvidia.device(machine->vendor, 0);
    assert_int_equal(strnlen(device->name, sizeof(device->name)), sizeof(device->name) - 1);
    assert_int_equal((unsigned char)device->name[0], 0xff);
}

MACHINE_TEST(lost_device_does_not_affect_the_other_device)
{
    struct machine *machine = *state;
    const char *script = "device 0 total 100\ndevice 0 used 1\ndevice 1 total 100\n"
                         "device 1 used 2\nfail nvmlDeviceGetMemoryInfo_v2@0 15\n"
                         "fail nvmlDeviceGetComputeRunningProcesses_v3@0 15\n"
                         "process 1 compute 42 7\n";
    struct gpu_reading reading;

    machine_open(machine, script);
    assert_int_equal(gpu_nvidia.read(machine->vendor, 0, 1, &reading), -ENODEV);
    assert_int_equal(machine_read(machine, 1).memory_used_bytes, 2);
    machine_read_processes(machine, (pid_t[]){ 42, 0 });
    assert_int_equal(machine_process(machine, 1, 42)->memory_bytes, 7);
}

static void assert_refused(const char *script, int expected, const char *message)
{
    struct spoor_error err = { 0 };
    struct machine machine;
    void *vendor = &err;

    machine_init(&machine, false);
    machine_play(&machine, script);
    assert_int_equal(gpu_nvidia.open(&machine.fake.root, &vendor, &err), expected);
    assert_ptr_equal(vendor, &err); /* untouched on failure */
    assert_non_null(strstr(err.message, message));
    machine_done(&machine);
}

TEST(library_without_a_driver_reports_no_gpu)
{
    assert_refused("fail nvmlInit 9\n", -ENXIO, "the NVIDIA driver is not loaded");
    assert_refused("", -ENODEV, "no GPU that we may use");
    assert_refused("device 0 name x\nfail nvmlDeviceGetHandleByIndex 4\n", -ENODEV,
                   "no GPU that we may use");
}

TEST(driver_failure_is_reported_with_its_own_text)
{
    assert_refused("device 0 name x\nfail nvmlDeviceGetCount 999\n", -EIO,
                   "does not report the number of its GPUs: Unknown Error (error 999)");
    assert_refused("device 0 name x\nfail nvmlDeviceGetHandleByIndex 15\n", -EIO,
                   "cannot open the driver's GPU 0: GPU is lost (error 15)");
}

MACHINE_TEST(device_that_cannot_be_opened_is_reported)
{
    struct machine *machine = *state;
    const struct spoor_error *trouble;

    machine_open(machine, "device 0 uuid GPU-0\ndevice 1 uuid GPU-1\ndevice 2 uuid GPU-2\n"
                          "fail nvmlDeviceGetHandleByIndex@1 15\n"
                          "fail nvmlDeviceGetHandleByIndex@2 999\n");
    assert_int_equal(gpu_nvidia.device_count(machine->vendor), 1);
    trouble = gpu_nvidia.trouble(machine->vendor);
    assert_int_equal(trouble->code, ENODEV);
    assert_non_null(strstr(trouble->message, "cannot open the driver's GPU 1: GPU is lost"));
}

TEST(driver_of_another_version_is_reported)
{
    assert_refused("fail nvmlInit 18\n", -ELIBBAD, "different versions");
    assert_refused("fail nvmlInit 4\n", -EACCES,
                   "failed to initialize: Insufficient Permissions (error 4)");
}

MACHINE_TEST(driver_is_not_opened_for_files_of_another_machine)
{
    struct machine *machine = *state;
    struct spoor_error err = { 0 };
    void *vendor = NULL;

    machine_play(machine, H200);
    machine->fake.root.is_live = false;
    assert_int_equal(gpu_nvidia.open(&machine->fake.root, &vendor, &err), -ENODEV);
}

/* The figure that is lost if a call fails. */
enum loss {
    LOSES_NONE,
    LOSES_UNRESERVED, /* the used memory includes reserved memory */
    LOSES_PROCESS,
    LOSES_PART, /* the part and its process */
    LOSES_ACCOUNT,
};

static const struct {
    const char *name;
    enum loss loss;
} calls[] = {
    { "nvmlSystemGetDriverVersion", LOSES_NONE },
    { "nvmlDeviceGetName", LOSES_NONE },
    { "nvmlDeviceGetUUID", LOSES_NONE },
    { "nvmlDeviceGetPciInfo", LOSES_NONE },
    { "nvmlDeviceGetMinorNumber", LOSES_NONE },
    { "nvmlDeviceGetMemoryInfo", LOSES_NONE },
    { "nvmlDeviceGetMemoryInfo_v2", LOSES_UNRESERVED },
    { "nvmlDeviceGetPowerUsage", LOSES_NONE },
    { "nvmlDeviceGetTotalEnergyConsumption", LOSES_NONE },
    { "nvmlDeviceGetTemperature", LOSES_NONE },
    { "nvmlDeviceGetClockInfo", LOSES_NONE },
    { "nvmlDeviceGetCurrentClocksEventReasons", LOSES_NONE },
    { "nvmlDeviceGetSamples", LOSES_NONE },
    { "nvmlDeviceGetUtilizationRates", LOSES_NONE },
    { "nvmlDeviceGetEncoderUtilization", LOSES_NONE },
    { "nvmlDeviceGetDecoderUtilization", LOSES_NONE },
    { "nvmlDeviceGetComputeRunningProcesses_v3", LOSES_PROCESS },
    { "nvmlDeviceGetGraphicsRunningProcesses_v3", LOSES_NONE },
    { "nvmlDeviceGetMPSComputeRunningProcesses_v3", LOSES_NONE },
    { "nvmlDeviceGetProcessUtilization", LOSES_NONE },
    { "nvmlDeviceGetAccountingMode", LOSES_ACCOUNT },
    { "nvmlDeviceGetAccountingPids", LOSES_ACCOUNT },
    { "nvmlDeviceGetAccountingStats", LOSES_ACCOUNT },
    { "nvmlDeviceGetMigMode", LOSES_PART },
    { "nvmlDeviceGetMaxMigDeviceCount", LOSES_PART },
    { "nvmlDeviceGetMigDeviceHandleByIndex", LOSES_PART },
    { "nvmlDeviceGetGpuInstanceId", LOSES_NONE },
    { "nvmlGpmQueryDeviceSupport", LOSES_NONE },
    { "nvmlGpmSampleGet", LOSES_NONE },
    { "nvmlGpmMigSampleGet", LOSES_NONE },
    { "nvmlGpmMetricsGet", LOSES_NONE },
};

TEST(failure_of_any_single_call_loses_only_its_figures)
{
    static const int statuses[] = { 1, 3, 4, 6, 7, 999 };

    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]) * 6; i++) {
        struct gpu_pids pids = { .list = (pid_t[]){ 10 }, .count = 1 };
        enum loss loss = calls[i / 6].loss;
        bool is_container = i % 2 == 0;
        struct gpu_record account;
        struct machine machine;
        char script[512];

        machine_init(&machine, is_container);
        (void)snprintf(script, sizeof(script),
                       H200 "device 0 mig 1\ndevice 0.0 total 5\ndevice 0.0 used 3\n"
                            "device 0.0 instance 1\ngpm 0 1 50\ndevice 0 accounting 1\n"
                            "account 0 10 5 5 5 1 5\nprocess 0.0 compute 10 5\nfail %s %d\n",
                       calls[i / 6].name, statuses[i % 6]);
        machine_open(&machine, script);
        assert_int_equal(gpu_nvidia.device_count(machine.vendor), loss == LOSES_PART ? 1 : 2);
        assert_int_equal(machine_read(&machine, 0).memory_used_bytes,
                         543162368 + (loss == LOSES_UNRESERVED ? 644874240 : 0));
        if (loss != LOSES_PART)
            assert_int_equal(machine_read(&machine, 1).memory_used_bytes, 3);
        machine_read_busy(&machine, (pid_t[]){ 10, 0 });
        assert_int_equal(machine.process_count,
                         loss == LOSES_PART || loss == LOSES_PROCESS ? 0 : 1);
        if (machine.process_count > 0)
            assert_int_equal(machine.processes[0].memory_bytes, 5);
        assert_int_equal(gpu_nvidia.accounts(machine.vendor, &pids, &account, 1),
                         is_container || loss == LOSES_ACCOUNT ? 0 : 1);
        machine_done(&machine);
    }
}

/* Only the calling thread waits; test_gpu_looks.c covers the other threads. */
MACHINE_TEST(read_waits_for_a_blocking_call)
{
    struct machine *machine = *state;
    uint64_t before_ns;

    machine_open(machine, H200 "device 0 power 5\n");
    machine_play(machine, H200 "device 0 power 6\nblock nvmlDeviceGetPowerUsage 50\n");
    before_ns = clock_now().monotonic_ns;
    assert_int_equal(machine_read(machine, 0).energy.milliwatts, 6);
    assert_true(clock_now().monotonic_ns - before_ns >= 50 * NS_PER_MS);
}
