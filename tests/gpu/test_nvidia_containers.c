/* SPDX-License-Identifier: Apache-2.0 */
/* Processes seen from inside a container, where the driver's pids may be the host's. */
#include <stdio.h>
#include <string.h>

#include "base/amount.h"
#include "base/clock.h"
#include "nvidia_fixture.h"
#include "source/gpu/nvidia.h"
#include "unit_test.h"

#define DRIVER "driver 565.57.01\n"
#define USED_BYTES "device 0 total 100000\ndevice 0 used 700\n"
#define USED(bytes) DRIVER "device 0 total 100000\ndevice 0 used " #bytes "\n"

static const pid_t job[] = { 10, 11, 0 };

CONTAINER_TEST(listed_memory_of_a_process_is_used)
{
    struct machine *machine = *state;

    machine_open(machine, USED(100) "process 0 compute 10 70\n");
    machine_read_processes(machine, job);
    assert_int_equal(machine->process_count, 1);
    assert_int_equal(machine_process(machine, 0, 10)->memory_bytes, 70);
}

TEST(before_565_57_process_memory_in_containers_is_unknown)
{
    /* Drivers before 535.113 list the host's pid with its memory; later ones list the
     * container's pid with 0 bytes. */
    static const char *const scripts[] = {
        "driver 535.54.03\n" USED_BYTES "process 0 compute 10 600\nsample 0 gpu ~1000 50\n"
        "usage 0 10 ~1000 50\n",
        "driver 550.54.15\n" USED_BYTES "process 0 compute 10 0\nsample 0 gpu ~1000 50\n"
        "usage 0 81234 ~1000 50\n",
    };

    for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
        struct gpu_reading reading;
        struct machine machine;

        machine_init(&machine, true);
        machine_open(&machine, scripts[i]);
        machine_read_busy(&machine, job);
        reading = machine_read(&machine, 0);
        assert_int_equal(reading.memory_used_bytes, 700);
        assert_non_null(strstr(reading.process_memory_reason, "565.57"));
        assert_non_null(strstr(reading.processes_reason, "565.57"));
        assert_int_equal(machine.process_count, 0);
        machine_done(&machine);
        machine_init(&machine, false); /* outside containers these drivers report everything */
        machine_open(&machine, scripts[i]);
        machine_read_busy(&machine, job);
        reading = machine_read(&machine, 0);
        assert_null(reading.process_memory_reason);
        assert_null(reading.processes_reason);
        assert_true(machine_has_process(&machine, 0, 10));
        machine_done(&machine);
    }
}

TEST(driver_versions_are_compared_as_numbers)
{
    static const char *const old[] = { "340.108", "99.1",    "560.35.03",
                                       "565",     "565.9.1", "565.56.99" };
    static const char *const recent[] = { "565.57", "565.57.01", "565.100",
                                          "570.9",  "1000.1.2",  "" };

    for (size_t i = 0; i < sizeof(old) / sizeof(old[0]); i++) {
        assert_true(nvidia_driver_is_too_old(old[i]));
        assert_false(nvidia_driver_is_too_old(recent[i]));
    }
}

CONTAINER_TEST(memory_of_0_is_unknown)
{
    struct machine *machine = *state;

    machine_open(machine, USED(100) "process 0 compute 10 0\nprocess 0 compute 11 0\n");
    machine_read_processes(machine, job);
    assert_false(is_known(machine_process(machine, 0, 10)->memory_bytes));
    assert_false(is_known(machine_process(machine, 0, 11)->memory_bytes));
    assert_non_null(machine_process(machine, 0, 10)->reason);
}

MACHINE_TEST(memory_of_0_outside_a_container_is_unknown_too)
{
    struct machine *machine = *state;

    machine_open(machine, USED(100));
    machine_play(machine, USED(5000) "process 0 compute 10 0\n");
    machine_read_processes(machine, job);
    assert_false(is_known(machine_process(machine, 0, 10)->memory_bytes));
}

CONTAINER_TEST(memory_of_another_process_in_the_container_is_not_the_jobs)
{
    struct machine *machine = *state;

    machine_open(machine, USED(100) "process 0 compute 50 600\n");
    machine_read_processes(machine, job);
    assert_false(machine_has_process(machine, 0, 10));
    assert_int_equal(machine_process(machine, 0, 50)->memory_bytes, 600);
}

CONTAINER_TEST(samples_of_the_only_foreign_pid_belong_to_the_jobs_only_process)
{
    struct machine *machine = *state;

    machine_open(machine, USED(100) "process 0 compute 10 70\n");
    machine_read_processes(machine, job);
    machine_play(machine, USED(100) "process 0 compute 10 70\nsample 0 gpu ~1000 50\n"
                                    "usage 0 81234 ~1000 50\n");
    machine_read_busy(machine, job);
    assert_int_equal(machine_busy_percent(machine, 0, 10), 50);
    assert_true(machine_process(machine, 0, 10)->is_busy_attributed);
}

/* The process of another container, which the driver does not list here, holds 2 GiB and
 * computes; the job's process is idle. */
TEST(samples_of_a_neighbour_are_not_the_jobs)
{
    static const char *const devices[] = {
        /* the driver lists the job's process with its memory */
        "device 0 used 2147483748\nprocess 0 compute 10 70\n",
        /* the driver lists it with 0 bytes, as older drivers do */
        "device 0 used 2147483748\nprocess 0 compute 10 0\n",
        /* no neighbour, but another process of this container */
        "device 0 used 170\nprocess 0 compute 10 70\nprocess 0 compute 50 100\n",
    };

    for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
        struct machine machine;
        char script[512];

        machine_init(&machine, true);
        (void)snprintf(script, sizeof(script), DRIVER "device 0 total 9000000000\n%s",
                       devices[i]);
        machine_open(&machine, script);
        machine_read_processes(&machine, job);
        (void)snprintf(script, sizeof(script),
                       DRIVER "device 0 total 9000000000\n%s"
                              "sample 0 gpu ~1000 50\nusage 0 81234 ~1000 50\n",
                       devices[i]);
        machine_play(&machine, script);
        machine_read_busy(&machine, job);
        assert_false(is_known(machine_process(&machine, 0, 10)->busy_ns));
        assert_non_null(machine_process(&machine, 0, 10)->reason);
        machine_done(&machine);
    }
}

/* Busy time is unknown while the neighbour runs, and known again afterwards. */
CONTAINER_TEST(neighbour_that_appears_later_makes_busy_time_unknown)
{
    struct machine *machine = *state;

    machine_open(machine, USED(100) "process 0 compute 10 70\n");
    machine_play(machine, USED(100) "process 0 compute 10 70\nsample 0 gpu ~1000 50\n"
                                    "usage 0 81234 ~1000 50\n");
    machine_read_processes(machine, job);
    machine_read_busy(machine, job);
    assert_int_equal(machine_busy_percent(machine, 0, 10), 50);
    machine_play(machine, USED(2147483748) "process 0 compute 10 70\nsample 0 gpu ~2000 80\n"
                                           "usage 0 81235 ~2000 80\n");
    machine_read_busy(machine, job);
    assert_false(is_known(machine_process(machine, 0, 10)->busy_ns));
    machine_play(machine, USED(100) "process 0 compute 10 70\nsample 0 gpu ~3000 50\n"
                                    "usage 0 81234 ~3000 50\n");
    machine_read_busy(machine, job);
    assert_true(is_known(machine_process(machine, 0, 10)->busy_ns));
}

CONTAINER_TEST(samples_of_two_foreign_pids_make_busy_time_unknown)
{
    struct machine *machine = *state;

    machine_open(machine, USED(100) "process 0 compute 10 70\n");
    machine_read_processes(machine, job);
    machine_play(machine, USED(100) "process 0 compute 10 70\nsample 0 gpu ~1000 100\n"
                                    "usage 0 81234 ~1000 50\nusage 0 81235 ~1000 50\n");
    machine_read_busy(machine, job);
    assert_int_equal(machine_process(machine, 0, 10)->memory_bytes, 70);
    assert_false(is_known(machine_process(machine, 0, 10)->busy_ns));
    assert_non_null(machine_process(machine, 0, 10)->reason);
}

/* The process computes in bursts on a device that a neighbour also uses. */
CONTAINER_TEST(unassigned_samples_stay_unassigned_after_idle_time)
{
    struct machine *machine = *state;

    machine_open(machine, USED(100) "process 0 compute 10 70\n");
    machine_read_processes(machine, job);
    machine_play(machine, USED(100) "process 0 compute 10 70\nsample 0 gpu ~1000 100\n"
                                    "usage 0 81234 ~1000 50\nusage 0 81235 ~1000 50\n");
    machine_read_busy(machine, job);
    machine_play(machine, USED(100) "process 0 compute 10 70\nsample 0 gpu ~1000 100\n"
                                    "sample 0 gpu ~2000 0\n");
    machine_read_busy(machine, job);
    assert_false(is_known(machine_process(machine, 0, 10)->busy_ns));
}

/* PID 11 of the host computes; PID 11 of the container has not opened the device. */
CONTAINER_TEST(samples_of_a_foreign_process_with_an_equal_pid_are_not_the_jobs)
{
    struct machine *machine = *state;

    machine_open(machine, USED(100) "process 0 compute 10 70\n");
    machine_read_processes(machine, job);
    machine_play(machine, USED(100) "process 0 compute 10 70\nsample 0 gpu ~1000 100\n"
                                    "usage 0 11 ~1000 60\nusage 0 81234 ~1000 40\n");
    machine_read_busy(machine, job);
    assert_false(machine_has_process(machine, 0, 11));
    /* Either sample may be the job's. */
    assert_false(is_known(machine_process(machine, 0, 10)->busy_ns));
}

MACHINE_TEST(exited_neighbour_outside_a_container_is_not_the_job)
{
    struct machine *machine = *state;

    machine_open(machine, USED(100) "process 0 compute 10 70\n");
    machine_read_processes(machine, job);
    machine_play(machine, USED(100) "process 0 compute 10 70\nsample 0 gpu ~1000 50\n"
                                    "usage 0 81234 ~1000 50\n");
    machine_read_busy(machine, job);
    assert_int_equal(machine_process(machine, 0, 10)->busy_ns, 0); /* no sample names it */
}

/* Accounting data contains the host's PIDs: an equal PID belongs to another process. */
CONTAINER_TEST(accounting_data_is_not_used_in_a_container)
{
    struct machine *machine = *state;
    struct gpu_pids pids = { .list = job, .count = 2 };
    struct gpu_record account;

    machine_open(machine, USED(100) "process 0 compute 10 70\ndevice 0 accounting 1\n"
                                    "account 0 10 4096 2000 9000000000000000 0 50\n");
    assert_int_equal(gpu_nvidia.accounts(machine->vendor, &pids, &account, 1), 0);
}
