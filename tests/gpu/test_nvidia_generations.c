/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads one machine through each generation of the driver's library. The first argument names
 * the generation that the stand-in plays (standin.h). A missing function costs only its
 * figures, and no array is read with the wrong stride.
 */
#include <errno.h>
#include <string.h>

#include "base/amount.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "nvidia_fixture.h"
#include "source/gpu/nvidia.h"
#include "unit_test.h"

#define MACHINE                                                                           \
    "device 0 uuid GPU-1\ndevice 0 name NVIDIA Test\ndevice 0 pci 0:59:0\n"               \
    "device 0 total 10000\ndevice 0 used 100\ndevice 0 reserved 7\ndevice 0 throttle 4\n" \
    "device 0 power 5\ndevice 0 rates 50\n"                                               \
    "process 0 compute 11 1111\nprocess 0 compute 22 2222\nprocess 0 compute 33 3333\n"   \
    "process 0 compute 44 4444\nprocess 0 graphics 55 5555\n"

/* The properties of a generation. */
struct generation {
    const char *name;
    int opens;     /* the expected result of open */
    size_t stride; /* size of a list element; 0: no lists */
    uint64_t used_bytes;
    bool has_samples, has_usage;
};

static const struct generation generations[] = {
    { "broken", -ENOSYS, 0, 0, false, false }, { "bare", 0, 0, UNKNOWN, false, false },
    { "v340", 0, 16, 107, false, false },      { "v470", 0, 24, 107, true, true },
    { "v510", 0, 24, 100, true, true },        { "v530", 0, 32, 100, true, true },
    { "full", 0, 24, 100, true, true },
};

static const struct generation *generation; /* the one under test */

TEST(error_names_a_missing_symbol_only_if_it_is_required)
{
    struct spoor_error err = { 0 };
    struct machine machine;

    machine_init(&machine, false);
    machine_play(&machine, MACHINE);
    assert_int_equal(gpu_nvidia.open(&machine.fake.root, &machine.vendor, &err),
                     generation->opens);
    if (generation->opens < 0)
        assert_non_null(strstr(err.message, "no nvmlDeviceGetCount_v2"));
    machine_done(&machine);
}

TEST(every_process_of_the_list_has_its_own_memory)
{
    static const pid_t pids[] = { 11, 22, 33, 44, 55, 0 };
    struct machine machine;

    if (generation->opens < 0)
        return;
    machine_init(&machine, false);
    machine_open(&machine, MACHINE);
    machine_read_processes(&machine, pids);
    assert_int_equal(machine.process_count, generation->stride ? 5 : 0);
    for (size_t i = 0; i < machine.process_count; i++)
        assert_int_equal(machine_process(&machine, 0, pids[i])->memory_bytes, pids[i] * 101);
    if (generation->stride)
        assert_int_equal(
            ((struct nvidia *)machine.vendor)->nvml.lists[NVML_COMPUTE].stride_bytes,
            generation->stride);
    machine_done(&machine);
}

TEST(figures_are_known_if_the_library_provides_their_calls)
{
    bool is_bare = strcmp(generation->name, "bare") == 0;
    struct gpu_reading reading;
    struct machine machine;

    if (generation->opens < 0)
        return;
    machine_init(&machine, false);
    machine_open(&machine, MACHINE);
    machine_play(&machine, MACHINE "sample 0 gpu ~1000 0\nsample 0 gpu ~1200 50\n");
    reading = machine_read(&machine, 0);
    assert_int_equal(reading.memory_used_bytes, generation->used_bytes);
    assert_int_equal(reading.energy.milliwatts, is_bare ? UNKNOWN : 5);
    assert_int_equal(reading.throttle_reasons, is_bare ? UNKNOWN : GPU_THROTTLE_POWER);
    assert_false(is_known(reading.temperature_celsius));
    assert_int_equal(is_known(reading.busy_ns), !is_bare);
    assert_int_equal(reading.busy_reason != NULL, is_bare);
    if (generation->has_samples)
        assert_int_equal(reading.busy_ns, 100 * NS_PER_MS);
    assert_string_equal(gpu_nvidia.device(machine.vendor, 0)->name,
                        is_bare ? "" : "NVIDIA Test");
    assert_string_equal(gpu_nvidia.device(machine.vendor, 0)->pci_address,
                        is_bare ? "" : "0000:3b:00.0");
    machine_done(&machine);
}

TEST(processes_are_measured_if_the_library_provides_their_calls)
{
    struct machine machine;

    if (generation->stride == 0)
        return;
    machine_init(&machine, false);
    machine_open(&machine, MACHINE);
    machine_play(&machine, MACHINE "sample 0 gpu ~1000 50\nusage 0 11 ~1000 50\n");
    machine_read_busy(&machine, (pid_t[]){ 11, 0 });
    if (generation->has_usage)
        assert_int_equal(machine_busy_percent(&machine, 0, 11), 50);
    else
        assert_false(is_known(machine_process(&machine, 0, 11)->busy_ns));
    machine_done(&machine);
}

int main(int argc, char **argv)
{
    for (size_t i = 0; i < ARRAY_SIZE(generations); i++) {
        if (argc > 1 && strcmp(generations[i].name, argv[1]) == 0)
            generation = &generations[i];
    }
    return generation ? unit_tests_run() : 2;
}
