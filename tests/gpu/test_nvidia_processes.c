/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/amount.h"
#include "base/clock.h"
#include "nvidia_fixture.h"
#include "source/gpu/nvidia.h"
#include "unit_test.h"

#define DEVICE "device 0 total 1000000000\ndevice 0 used 1000\n"

MACHINE_TEST(memory_of_each_process_is_read)
{
    struct machine *machine = *state;

    machine_open(machine, DEVICE "process 0 compute 10 543162368\nprocess 0 compute 20 4096\n"
                                 "process 0 compute 30 17\n");
    machine_read_processes(machine, (pid_t[]){ 10, 20, 0 });
    assert_int_equal(machine->process_count, 3);
    assert_int_equal(machine_process(machine, 0, 10)->memory_bytes, 543162368);
    assert_int_equal(machine_process(machine, 0, 20)->memory_bytes, 4096);
    assert_int_equal(machine_process(machine, 0, 30)->memory_bytes, 17); /* foreign */
    assert_null(machine_process(machine, 0, 10)->reason);
}

MACHINE_TEST(process_in_several_lists_is_counted_once_with_its_largest_memory)
{
    struct machine *machine = *state;

    machine_open(machine, DEVICE "process 0 compute 10 100\nprocess 0 graphics 10 300\n"
                                 "process 0 mps 10 200\nprocess 0 graphics 20 -\n"
                                 "process 0 mps 20 50\nprocess 0 mps 30 5\n");
    machine_read_processes(machine, (pid_t[]){ 10, 0 });
    assert_int_equal(machine->process_count, 3);
    assert_int_equal(machine_process(machine, 0, 10)->memory_bytes, 300);
    assert_int_equal(machine_process(machine, 0, 20)->memory_bytes, 50);
    assert_int_equal(machine_process(machine, 0, 30)->memory_bytes, 5);
}

MACHINE_TEST(process_on_two_devices_is_listed_for_each)
{
    struct machine *machine = *state;

    machine_open(machine, DEVICE "device 1 total 5\nprocess 0 compute 10 1\n"
                                 "process 1 compute 10 2\n");
    machine_read_processes(machine, (pid_t[]){ 10, 0 });
    assert_int_equal(machine_process(machine, 0, 10)->memory_bytes, 1);
    assert_int_equal(machine_process(machine, 1, 10)->memory_bytes, 2);
}

MACHINE_TEST(memory_not_available_is_unknown_with_a_reason)
{
    struct machine *machine = *state;

    machine_open(machine, DEVICE "process 0 compute 10 -\n");
    machine_read_processes(machine, (pid_t[]){ 10, 0 });
    assert_false(is_known(machine_process(machine, 0, 10)->memory_bytes));
    assert_non_null(machine_process(machine, 0, 10)->reason);
}

MACHINE_TEST(more_memory_than_the_device_has_is_unknown_with_a_reason)
{
    struct machine *machine = *state;
    struct gpu_pids pids = { .list = (pid_t[]){ 10, 0 }, .count = 1 };
    struct gpu_record account;

    machine_open(machine,
                 DEVICE "process 0 compute 10 18446744073709551614\n"
                        "process 0 compute 20 1000000000\ndevice 0 accounting 1\n"
                        "account 0 10 18446744073709551614 2000 9000000000000000 0 5\n");
    machine_read_processes(machine, pids.list);
    assert_false(is_known(machine_process(machine, 0, 10)->memory_bytes));
    assert_non_null(strstr(machine_process(machine, 0, 10)->reason, "than the device has"));
    assert_int_equal(machine_process(machine, 0, 20)->memory_bytes, 1000000000);
    assert_int_equal(gpu_nvidia.accounts(machine->vendor, &pids, &account, 1), 1);
    assert_false(is_known(account.peak_memory_bytes));
}

MACHINE_TEST(list_that_grows_between_two_calls_is_read_again)
{
    struct machine *machine = *state;

    machine_open(machine, DEVICE "process 0 compute 10 100\n"
                                 "grow nvmlDeviceGetComputeRunningProcesses_v3 3\n");
    machine_read_processes(machine, (pid_t[]){ 10, 0 });
    assert_int_equal(machine_process(machine, 0, 10)->memory_bytes, 100);
}

MACHINE_TEST(list_that_never_fits_does_not_affect_the_other_lists)
{
    struct machine *machine = *state;

    machine_open(machine, DEVICE "process 0 compute 10 100\nprocess 0 graphics 20 200\n"
                                 "grow nvmlDeviceGetComputeRunningProcesses_v3 999999\n");
    machine_read_processes(machine, (pid_t[]){ 10, 20, 0 });
    assert_int_equal(machine->process_count, 1);
    assert_int_equal(machine_process(machine, 0, 20)->memory_bytes, 200);
}

MACHINE_TEST(list_of_a_thousand_processes_is_read_completely)
{
    struct machine *machine = *state;
    static char script[65536] = DEVICE;
    struct gpu_pids pids = { 0 };
    size_t used = strlen(script);

    for (int i = 0; i < 950; i++)
        used += (size_t)snprintf(script + used, sizeof(script) - used,
                                 "process 0 compute %d %d\n", 1000 + i, i + 1);
    machine_open(machine, script);
    /* Returns the full count even if the caller has less room. */
    assert_int_equal(
        gpu_nvidia.processes(machine->vendor, &pids, machine->processes, MACHINE_PROCESSES),
        950);
    assert_int_equal(machine->processes[63].pid, 1063);
    assert_int_equal(machine->processes[63].memory_bytes, 64);
}

MACHINE_TEST(element_count_above_the_buffer_size_is_ignored)
{
    struct machine *machine = *state;

    machine_open(machine, DEVICE "process 0 compute 10 100\n"
                                 "flood nvmlDeviceGetComputeRunningProcesses_v3 4000000000\n");
    machine_read_processes(machine, (pid_t[]){ 10, 0 });
    assert_int_equal(machine_process(machine, 0, 10)->memory_bytes, 100);
}

static const char *memory_reason(struct machine *machine)
{
    return machine_read(machine, 0).process_memory_reason;
}

TEST(refused_list_makes_memory_unknown_with_the_reason)
{
    static const struct {
        const char *line, *reason;
    } cases[] = {
        { "fail nvmlDeviceGetComputeRunningProcesses_v3 3\n",
          "compute processes: not supported" },
        { "fail nvmlDeviceGetComputeRunningProcesses_v3 4\n",
          "compute processes: permission denied" },
        { "fail nvmlDeviceGetComputeRunningProcesses_v3 999\n",
          "compute processes: unknown error" },
        { "fail nvmlDeviceGetComputeRunningProcesses_v3 15\n", "the device is lost" },
        { "fail nvmlDeviceGetGraphicsRunningProcesses_v3 4\n",
          "graphics processes: permission denied" },
        { "fail nvmlDeviceGetMPSComputeRunningProcesses_v3 999\n",
          "MPS processes: unknown error" },
        { "grow nvmlDeviceGetComputeRunningProcesses_v3 999999\n", "too many" },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char script[256];
        struct machine machine;

        (void)snprintf(script, sizeof(script), DEVICE "%s", cases[i].line);
        machine_init(&machine, false);
        machine_open(&machine, script);
        machine_read_processes(&machine, (pid_t[]){ 10, 0 });
        assert_non_null(memory_reason(&machine));
        assert_non_null(strstr(memory_reason(&machine), cases[i].reason));
        machine_done(&machine);
    }
}

MACHINE_TEST(unsupported_lists_of_graphics_and_mps_processes_count_as_empty)
{
    struct machine *machine = *state;

    machine_open(machine, DEVICE "process 0 compute 10 100\n"
                                 "fail nvmlDeviceGetGraphicsRunningProcesses_v3 3\n"
                                 "fail nvmlDeviceGetMPSComputeRunningProcesses_v3 3\n");
    machine_read_processes(machine, (pid_t[]){ 10, 0 });
    assert_int_equal(machine_process(machine, 0, 10)->memory_bytes, 100);
    assert_null(memory_reason(machine));
}

static uint64_t memory_at(struct machine *machine, const struct gpu_pids *pids, uint64_t now_ns)
{
    struct gpu_process process = { 0 };

    gpu_nvidia.refresh(machine->vendor);
    assert_int_equal(nvidia_processes(machine->vendor, pids, &process, 1, now_ns), 1);
    return process.memory_bytes;
}

MACHINE_TEST(values_are_kept_if_a_list_is_refused_temporarily)
{
    struct machine *machine = *state;
    struct gpu_pids pids = { .list = (pid_t[]){ 10 }, .count = 1 };
    uint64_t now_ns = clock_now().monotonic_ns;

    machine_open(machine, DEVICE "process 0 compute 10 100\n");
    assert_int_equal(memory_at(machine, &pids, now_ns), 100);
    machine_play(machine, DEVICE "fail nvmlDeviceGetComputeRunningProcesses_v3 999\n");
    assert_int_equal(memory_at(machine, &pids, now_ns + 900 * NS_PER_MS), 100);
    assert_null(memory_reason(machine));
    assert_false(is_known(memory_at(machine, &pids, now_ns + 1100 * NS_PER_MS)));
    assert_non_null(memory_reason(machine));
    machine_play(machine, DEVICE "process 0 compute 10 200\n");
    assert_int_equal(memory_at(machine, &pids, now_ns + 1200 * NS_PER_MS), 200);
    assert_null(memory_reason(machine));
}

/* Samples name the busy processes; without samples, the job's busy time is unknown. */
MACHINE_TEST(busy_time_is_known_from_samples_if_lists_are_refused)
{
    struct machine *machine = *state;
    const char *refused = DEVICE "fail nvmlDeviceGetComputeRunningProcesses_v3 4\n";

    machine_open(machine, refused);
    machine_read_processes(machine, (pid_t[]){ 10, 0 });
    assert_non_null(machine_read(machine, 0).processes_reason);
    machine_play(machine, DEVICE "fail nvmlDeviceGetComputeRunningProcesses_v3 4\n"
                                 "sample 0 gpu ~1000 50\nusage 0 10 ~1000 50\n");
    machine_read_busy(machine, (pid_t[]){ 10, 0 });
    assert_int_equal(machine_busy_percent(machine, 0, 10), 50);
    assert_false(is_known(machine_process(machine, 0, 10)->memory_bytes));
    assert_false(machine_process(machine, 0, 10)->has_ended);
    assert_null(machine_read(machine, 0).processes_reason);
    assert_non_null(memory_reason(machine));
}

MACHINE_TEST(list_is_read_when_device_memory_changes)
{
    struct machine *machine = *state;
    struct gpu_pids pids = { .list = (pid_t[]){ 10, 0 }, .count = 1 };

    machine_open(machine, DEVICE "process 0 compute 10 100\n");
    machine_read_processes(machine, pids.list);
    for (uint64_t i = 0; i < 5; i++) { /* without a refresh */
        char script[128];

        (void)snprintf(script, sizeof(script),
                       DEVICE "device 0 used %u\nprocess 0 compute 10 %u\n", (unsigned)i + 2000,
                       (unsigned)i + 200);
        machine_play(machine, script);
        assert_int_equal(
            gpu_nvidia.processes(machine->vendor, &pids, machine->processes, MACHINE_PROCESSES),
            1);
        assert_int_equal(machine->processes[0].memory_bytes, i + 200);
    }
}

/* One process may free as much memory as another one allocates, so the list is still read
 * now and then. */
MACHINE_TEST(list_is_read_occasionally_while_memory_is_constant)
{
    struct machine *machine = *state;
    struct gpu_pids pids = { .list = (pid_t[]){ 10 }, .count = 1 };
    struct gpu_process process;
    uint64_t now_ns;

    machine_open(machine, DEVICE "process 0 compute 77 100\n");
    now_ns = clock_now().monotonic_ns;
    assert_int_equal(nvidia_processes(machine->vendor, &pids, &process, 1, now_ns), 1);
    machine_play(machine, DEVICE "process 0 compute 10 5\n");
    (void)nvidia_processes(machine->vendor, &pids, &process, 1, now_ns + 5 * NS_PER_MS);
    assert_int_equal(process.pid, 77);
    (void)nvidia_processes(machine->vendor, &pids, &process, 1, now_ns + 2 * NS_PER_SECOND);
    assert_int_equal(process.pid, 10);
}

MACHINE_TEST(mig_device_has_memory_and_processes_of_its_own)
{
    struct machine *machine = *state;
    const char *script = "device 0 total 1000\ndevice 0 used 300\ndevice 0 mig 1\n"
                         "device 0.0 uuid MIG-a\ndevice 0.0 total 400\ndevice 0.0 used 100\n"
                         "device 0.0 instance 7\n"
                         "device 0.2 uuid MIG-c\ndevice 0.2 total 500\ndevice 0.2 used 200\n"
                         "device 0.2 instance 9\n"
                         "device 1 uuid GPU-1\n"
                         /* with permission, the whole device lists them, too */
                         "process 0 compute 10 11\nprocess 0 compute 20 22\n"
                         "process 0.0 compute 10 11\nprocess 0.2 compute 20 22\n";

    machine_open(machine, script);
    assert_int_equal(gpu_nvidia.device_count(machine->vendor), 4);
    assert_true(gpu_nvidia.device(machine->vendor, 1)->is_part);
    assert_string_equal(gpu_nvidia.device(machine->vendor, 1)->uuid, "MIG-a");
    assert_string_equal(gpu_nvidia.device(machine->vendor, 1)->pci_address, "");
    assert_string_equal(gpu_nvidia.device(machine->vendor, 2)->uuid, "MIG-c");
    assert_false(gpu_nvidia.device(machine->vendor, 3)->is_part);
    assert_int_equal(machine_read(machine, 2).memory_used_bytes, 200);
    machine_read_processes(machine, (pid_t[]){ 10, 20, 0 });
    assert_int_equal(machine->process_count, 2);
    assert_int_equal(machine_process(machine, 1, 10)->memory_bytes, 11);
    assert_int_equal(machine_process(machine, 2, 20)->memory_bytes, 22);
}

MACHINE_TEST(peak_of_an_exited_process_comes_from_accounting_data)
{
    struct machine *machine = *state;
    /* 10 exited during the run; 20 is an earlier process with the same pid; 30 is foreign. */
    const char *script = DEVICE "device 0 accounting 1\n"
                                "account 0 10 4096 2000 9000000000000000 0 50\n"
                                "account 0 20 8192 2000 1000000 0 50\n"
                                "account 0 30 1 1 9000000000000000 0 1\n"
                                "account 0 40 - 0 1000000 1 0\n";
    struct gpu_pids pids = { .list = (pid_t[]){ 10, 20, 40 }, .count = 3 };
    struct gpu_record accounts[4];

    machine_open(machine, script);
    assert_int_equal(gpu_nvidia.accounts(machine->vendor, &pids, accounts, 4), 2);
    assert_int_equal(accounts[0].pid, 10);
    assert_int_equal(accounts[0].peak_memory_bytes, 4096);
    assert_int_equal(accounts[1].pid, 40);
    assert_false(is_known(accounts[1].peak_memory_bytes));
}

MACHINE_TEST(accounting_data_is_not_read_if_accounting_is_off)
{
    struct machine *machine = *state;
    struct gpu_pids pids = { .list = (pid_t[]){ 10 }, .count = 1 };
    struct gpu_record account;

    machine_open(machine, DEVICE "account 0 10 4096 2000 9000000000000000 0 50\n");
    assert_int_equal(gpu_nvidia.accounts(machine->vendor, &pids, &account, 1), 0);
    machine_play(machine, DEVICE "device 0 accounting 1\nfail nvmlDeviceGetAccountingPids 4\n"
                                 "account 0 10 4096 2000 9000000000000000 0 50\n");
    assert_int_equal(gpu_nvidia.accounts(machine->vendor, &pids, &account, 1), 0);
    machine_play(machine, DEVICE "device 0 accounting 1\nfail nvmlDeviceGetAccountingMode 3\n"
                                 "account 0 10 4096 2000 9000000000000000 0 50\n");
    assert_int_equal(gpu_nvidia.accounts(machine->vendor, &pids, &account, 1), 0);
}

MACHINE_TEST(accounting_data_of_many_processes_is_read_completely)
{
    struct machine *machine = *state;
    static char script[16384] = DEVICE "device 0 accounting 1\n";
    struct gpu_pids pids = { .list = (pid_t[]){ 1199 }, .count = 1 };
    size_t used = strlen(script);
    struct gpu_record account;

    for (int pid = 1000; pid < 1200; pid++)
        used += (size_t)snprintf(script + used, sizeof(script) - used,
                                 "account 0 %d %d 2000 9000000000000000 0 50\n", pid, pid);
    machine_open(machine, script);
    assert_int_equal(gpu_nvidia.accounts(machine->vendor, &pids, &account, 1), 1);
    assert_int_equal(account.peak_memory_bytes, 1199);
}
