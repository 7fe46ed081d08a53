/* SPDX-License-Identifier: Apache-2.0 */
/* Processes of the job on GPUs, from their start until after their exit. */

#include "base/amount.h"
#include "base/clock.h"
#include "job/gpu/gpu_watch.h"
#include "nvidia_fixture.h"
#include "source/gpu/nvidia.h"
#include "unit_test.h"

#define MS(n) ((n)*NS_PER_MS)
#define CARD                                                                            \
    "device 0 uuid GPU-1\ndevice 0 name H200\ndevice 0 pci 0:3:0\ndevice 0 total 100\n" \
    "device 0 used 50\n"

static const struct gpu_choice all_gpus;

static void open_watch(struct gpu_watch *watch, const struct machine *machine,
                       struct gpu_owners *owners)
{
    const struct gpu_vendor *const vendors[] = { &gpu_nvidia };
    const struct gpu_watch_options options = {
        .vendors = vendors, .vendor_count = 1, .choice = &all_gpus, .owners = owners
    };

    assert_int_equal(gpu_watch_open(watch, &machine->fake.root, &options), 0);
}

/* The driver's accounting data includes the peak of an exited process, even if no look saw
 * the process. */
MACHINE_TEST(accounting_data_of_exited_processes_is_read_before_they_are_dropped)
{
    struct machine *machine = *state;
    struct gpu_owners owners = { .main_pid = 41, .tracker_pid = 40 };
    struct gpu_watch watch;

    machine_play(machine, CARD "device 0 accounting 1\naccount 0 42 7 1000 0 1 0\n");
    open_watch(&watch, machine, &owners);
    assert_int_equal(gpu_owners_set(&owners, 42, MS(1000)), 0);
    gpu_watch_read(&watch, MS(2000), true);
    assert_int_equal(machine_calls(machine, "nvmlDeviceGetAccountingStats"), 0);
    gpu_watch_read(&watch, MS(2000) + GPU_OWNERS_KEPT_NS, false);
    assert_int_equal(watch.record_bytes, 7);
    assert_int_equal(watch.account.list[0].view.figures[GPU_JOB_MEMORY].peak, 7);
    assert_int_equal(gpu_owners_pids(&owners).count, 0);
    gpu_watch_read(&watch, MS(3000) + GPU_OWNERS_KEPT_NS, false);
    assert_int_equal(machine_calls(machine, "nvmlDeviceGetAccountingStats"), 1);
    gpu_watch_close(&watch);
    gpu_owners_done(&owners);
}

/* Accounting data includes the time before spoor attached. */
MACHINE_TEST(accounting_data_is_not_read_for_an_attached_job)
{
    struct machine *machine = *state;
    struct gpu_owners owners = { .main_pid = 41 };
    struct gpu_watch watch;

    machine_play(machine, CARD "device 0 accounting 1\naccount 0 41 7 1000 0 1 0\n");
    assert_int_equal(gpu_owners_set(&owners, 41, 0), 0);
    open_watch(&watch, machine, &owners);
    gpu_watch_accounts(&watch);
    assert_false(is_known(watch.record_bytes));
    gpu_watch_close(&watch);
    gpu_owners_done(&owners);
}
