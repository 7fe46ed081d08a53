/* SPDX-License-Identifier: Apache-2.0 */
/* From files to totals: tests a machine with GPUs of several DRM drivers. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/clock.h"
#include "fake_drm.h"
#include "job/gpu/gpu_watch.h"
#include "unit_test.h"

#define MS(n) ((n)*NS_PER_MS)
#define MIB (1ull << 20)
#define AMD_PCI "0000:03:00.0"
#define XE_PCI "0000:04:00.0"
#define I915_PCI "0000:00:02.0"

#define AMDGPU(id, gfx_ns, vram)                                       \
    "drm-driver:\tamdgpu\ndrm-client-id:\t" id "\ndrm-pdev:\t" AMD_PCI \
    "\ndrm-memory-vram:\t" vram "\ndrm-engine-gfx:\t" gfx_ns " ns\n"
#define AMDGPU_OLD(vram, percent) \
    "pdev:\t" AMD_PCI "\npasid:\t32770\nvram mem:\t" vram "\ngfx0:\t" percent "%\n"
#define I915(id, render_ns, memory)                                   \
    "drm-driver:\ti915\ndrm-client-id:\t" id "\ndrm-pdev:\t" I915_PCI \
    "\ndrm-resident-system0:\t" memory "\ndrm-engine-render:\t" render_ns " ns\n"
#define XE(id, cycles, total, memory)                             \
    "drm-driver:\txe\ndrm-client-id:\t" id "\ndrm-pdev:\t" XE_PCI \
    "\ndrm-resident-vram0:\t" memory "\ndrm-cycles-ccs:\t" cycles \
    "\ndrm-total-cycles-ccs:\t" total "\n"

enum { I915_UNIT, AMD_UNIT, XE_UNIT }; /* in order of PCI addresses */

#define JOB "sys/fs/cgroup/job"

struct machine {
    struct fake_root fake;
    const char *cgroup;
    bool cgroup_is_older;
    struct gpu_choice choice;
    struct gpu_owners owners;
    struct gpu_watch watch;
};

/* Makes process 41 alive, and process 42 too if `count` is 2. */
static void update(struct machine *machine, size_t count, uint64_t now_ns)
{
    struct member list[] = { { .id.pid = 41 }, { .id.pid = 42 } };
    const struct roster roster = { .list = list,
                                   .count = count,
                                   .changes = machine->owners.changes + 1 };

    gpu_owners_update(&machine->owners, &roster, now_ns);
}

static void add_process(struct machine *machine, int pid, int parent)
{
    char path[64], text[160];

    (void)snprintf(path, sizeof(path), "proc/%d/stat", pid);
    (void)snprintf(text, sizeof(text),
                   "%d (x) S %d 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 100 0 0 0 0 0 0 0 0\n", pid,
                   parent);
    fake_root_write(&machine->fake, path, text);
}

static const char *no_variable(UNUSED const char *name)
{
    return NULL;
}

static struct gpu_watch_options options_for(struct machine *machine)
{
    return (struct gpu_watch_options){
        .vendors = gpu_vendors,
        .vendor_count = gpu_vendor_count,
        .choice = &machine->choice,
        .owners = &machine->owners,
        .cgroup = machine->cgroup,
        .cgroup_is_older = machine->cgroup_is_older,
    };
}

static void open_machine(struct machine *machine, const char *gpus, environment_get *get)
{
    struct gpu_watch_options options = options_for(machine);

    machine->owners = (struct gpu_owners){ .main_pid = 41 };
    update(machine, 1, MS(0));
    assert_int_equal(gpu_choice_init(&machine->choice, gpus, get), 0);
    assert_int_equal(gpu_watch_open(&machine->watch, &machine->fake.root, &options), 0);
}

static void set_up(struct machine *machine)
{
    struct fake_root *fake = &machine->fake;

    memset(machine, 0, sizeof(*machine));
    fake_root_init(fake);
    fake_drm_card(fake, 0, AMD_PCI, "0x1002\n");
    fake_drm_file(fake, 0, "device/mem_info_vram_total", "17179869184\n");
    fake_drm_file(fake, 0, "device/mem_info_vram_used", "2147483648\n");
    fake_drm_file(fake, 0, "device/gpu_busy_percent", "60\n");
    fake_drm_file(fake, 0, "device/hwmon/hwmon5/energy1_input", "5000000\n");
    fake_drm_card(fake, 1, XE_PCI, "0x8086\n");
    fake_drm_file(fake, 1, "device/tile0/physical_vram_size_bytes", "12884901888\n");
    fake_drm_file(fake, 1, "device/hwmon/hwmon3/energy2_input", "1000000\n");
    fake_drm_card(fake, 2, I915_PCI, "0x8086\n");
    add_process(machine, 41, 1);
    add_process(machine, 42, 41);
    add_process(machine, 99, 1);
}

static void tear_down(struct machine *machine)
{
    gpu_watch_close(&machine->watch);
    gpu_owners_done(&machine->owners);
    gpu_choice_done(&machine->choice);
    fake_root_done(&machine->fake);
}

TEST(gpus_of_all_vendors_are_in_one_list)
{
    const struct gpu_inventory *inventory;
    struct machine machine;

    set_up(&machine);
    open_machine(&machine, NULL, no_variable);
    inventory = &machine.watch.inventory;
    assert_int_equal(inventory->count, 3);
    assert_string_equal(inventory->units[I915_UNIT].device.pci_address, I915_PCI);
    assert_string_equal(inventory->units[AMD_UNIT].vendor, "amd");
    assert_string_equal(inventory->units[XE_UNIT].device.pci_address, XE_PCI);
    assert_string_equal(gpu_unit_id(&inventory->units[XE_UNIT]), XE_PCI);
    for (size_t i = 0; i < 3; i++)
        assert_true(inventory->units[i].is_selected);
    tear_down(&machine);
}

TEST(figures_of_all_drivers_add_up)
{
    const struct gpu_totals *totals;
    struct machine machine;

    set_up(&machine);
    open_machine(&machine, NULL, no_variable);
    totals = &machine.watch.account.totals;
    gpu_watch_read(&machine.watch, MS(0), true);
    assert_int_equal(totals->measures[GPU_TOTAL_JOB_MEMORY].value, 0);
    fake_drm_fd(&machine.fake, 41, 5, "/dev/dri/renderD128", AMDGPU("7", "0", "64 MiB"));
    fake_drm_fd(&machine.fake, 41, 6, "/dev/dri/renderD128", AMDGPU("7", "0", "64 MiB"));
    fake_drm_fd(&machine.fake, 42, 3, "/dev/dri/renderD129", XE("1", "0", "1000", "32 MiB"));
    fake_drm_fd(&machine.fake, 41, 7, "/dev/dri/renderD130", I915("2", "0", "8 MiB"));
    fake_drm_fd(&machine.fake, 99, 3, "/dev/dri/renderD128", AMDGPU("9", "0", "512 MiB"));
    update(&machine, 2, MS(500));
    gpu_watch_poll(&machine.watch, MS(500), false);
    assert_true(machine.watch.holds_context);
    assert_int_equal(totals->measures[GPU_TOTAL_MAIN_MEMORY].value,
                     72 * MIB); /* a client with two descriptors counts once */
    assert_int_equal(totals->measures[GPU_TOTAL_DESCENDANTS_MEMORY].value, 32 * MIB);
    assert_int_equal(totals->measures[GPU_TOTAL_JOB_MEMORY].value, 104 * MIB);
    gpu_watch_read(&machine.watch, MS(1000), false);
    fake_drm_fd(&machine.fake, 41, 5, "/dev/dri/renderD128",
                AMDGPU("7", "500000000", "64 MiB"));
    fake_drm_fd(&machine.fake, 41, 6, "/dev/dri/renderD128",
                AMDGPU("7", "500000000", "64 MiB"));
    fake_drm_fd(&machine.fake, 41, 7, "/dev/dri/renderD130", I915("2", "250000000", "8 MiB"));
    fake_drm_file(&machine.fake, 0, "device/hwmon/hwmon5/energy1_input", "9000000\n");
    fake_drm_file(&machine.fake, 1, "device/hwmon/hwmon3/energy2_input", "1500000\n");
    gpu_watch_read(&machine.watch, MS(2000), false);
    assert_int_equal(totals->measures[GPU_TOTAL_ENERGY].value, 4500000);
    assert_in_range(
        machine.watch.account.list[AMD_UNIT].view.figures[GPU_JOB_UTILIZATION].measure.value,
        499000, 501000);
    assert_in_range(
        machine.watch.account.list[I915_UNIT].view.figures[GPU_JOB_UTILIZATION].measure.value,
        249000, 251000);
    assert_in_range(
        machine.watch.account.list[AMD_UNIT].view.figures[GPU_UTILIZATION].measure.value,
        599000, 601000);
    assert_int_equal(
        totals->measures[GPU_TOTAL_UTILIZATION].value,
        machine.watch.account.list[AMD_UNIT].view.figures[GPU_UTILIZATION].measure.value);
    tear_down(&machine);
}

TEST(keys_of_old_amdgpu_are_read)
{
    struct machine machine;

    set_up(&machine);
    open_machine(&machine, "1", no_variable);
    fake_drm_fd(&machine.fake, 41, 5, "/dev/dri/renderD128", AMDGPU_OLD("65536 kB", "12.50"));
    gpu_watch_read(&machine.watch, MS(1000), true);
    assert_int_equal(machine.watch.account.totals.measures[GPU_TOTAL_MAIN_MEMORY].value,
                     64 * MIB);
    tear_down(&machine);
}

/* ---- memory charged to the cgroup ---------------------------------------------- */

static void put_charges(struct machine *machine, const char *current, const char *peak)
{
    fake_root_write(&machine->fake, JOB "/dmem.current", current);
    if (peak)
        fake_root_write(&machine->fake, JOB "/dmem.peak", peak);
}

/* Main uses 64 MiB on the AMD GPU, and the job has a cgroup. */
static void open_charged(struct machine *machine, bool is_older)
{
    set_up(machine);
    machine->cgroup = JOB;
    machine->cgroup_is_older = is_older;
    fake_drm_node(&machine->fake, "renderD128", AMD_PCI);
    fake_drm_fd(&machine->fake, 41, 5, "/dev/dri/renderD128", AMDGPU("7", "0", "64 MiB"));
    open_machine(machine, AMD_PCI, no_variable);
}

static struct measure job_memory(struct machine *machine)
{
    return gpu_watch_totals(&machine->watch).measures[GPU_TOTAL_JOB_MEMORY];
}

TEST(memory_counted_by_the_kernel_replaces_the_sum_over_processes)
{
    const struct gpu_device_view *view;
    struct machine machine;
    struct gpu_totals totals;

    open_charged(&machine, false);
    put_charges(&machine, "drm/" AMD_PCI "/vram 104857600\n",
                "drm/" AMD_PCI "/vram 314572800\n");
    gpu_watch_read(&machine.watch, MS(0), true);
    totals = gpu_watch_totals(&machine.watch);
    view = &machine.watch.account.list[AMD_UNIT].view;
    assert_int_equal(job_memory(&machine).now, 100 * MIB);
    assert_int_equal(job_memory(&machine).value, 300 * MIB); /* a spike before the reading */
    assert_string_equal(job_memory(&machine).origin.source, "cgroup.dmem");
    assert_true(job_memory(&machine).origin.is_exact);
    assert_int_equal(totals.measures[GPU_TOTAL_MAIN_MEMORY].value, 64 * MIB);
    assert_string_equal(totals.measures[GPU_TOTAL_MAIN_MEMORY].origin.source, "drm.fdinfo");
    assert_int_equal(totals.measures[GPU_TOTAL_DESCENDANTS_MEMORY].value, 36 * MIB);
    assert_true(view->is_job_memory_exact);
    put_charges(&machine, "drm/" AMD_PCI "/vram 0\n", "drm/" AMD_PCI "/vram 314572800\n");
    gpu_watch_poll(&machine.watch, MS(100), false);
    assert_int_equal(job_memory(&machine).value, 0); /* no new spike */
    assert_true(job_memory(&machine).origin.is_exact);
    assert_int_equal(view->figures[GPU_JOB_MEMORY].peak, 300 * MIB);
    tear_down(&machine);
}

/* Linux 6.14 has no dmem.peak, so the peak is only sampled. */
TEST(memory_is_inexact_if_the_cgroup_has_no_peak)
{
    struct machine machine;

    open_charged(&machine, false);
    put_charges(&machine, "drm/" AMD_PCI "/vram 104857600\n", NULL);
    gpu_watch_read(&machine.watch, MS(0), true);
    assert_int_equal(job_memory(&machine).value, 100 * MIB);
    assert_string_equal(job_memory(&machine).origin.source, "cgroup.dmem");
    assert_false(job_memory(&machine).origin.is_exact);
    tear_down(&machine);
}

TEST(the_peak_of_an_existing_cgroup_is_used_only_if_it_rises)
{
    struct machine machine;

    open_charged(&machine, true);
    put_charges(&machine, "drm/" AMD_PCI "/vram 1048576\n", "drm/" AMD_PCI "/vram 314572800\n");
    gpu_watch_read(&machine.watch, MS(0), true);
    assert_int_equal(job_memory(&machine).value, MIB);
    assert_false(job_memory(&machine).origin.is_exact);
    put_charges(&machine, "drm/" AMD_PCI "/vram 1048576\n", "drm/" AMD_PCI "/vram 419430400\n");
    gpu_watch_poll(&machine.watch, MS(100), false);
    assert_int_equal(job_memory(&machine).value, 400 * MIB);
    assert_true(job_memory(&machine).origin.is_exact);
    tear_down(&machine);
}

TEST(a_process_outside_the_cgroup_is_counted_with_the_others)
{
    struct machine machine;

    open_charged(&machine, false);
    put_charges(&machine, "drm/" AMD_PCI "/vram 1048576\n", "drm/" AMD_PCI "/vram 2097152\n");
    gpu_watch_read(&machine.watch, MS(0), true);
    assert_true(job_memory(&machine).origin.is_exact);
    machine.owners.have_left_cgroup = true;
    gpu_watch_poll(&machine.watch, MS(100), false);
    assert_int_equal(job_memory(&machine).value, 64 * MIB);
    assert_string_equal(job_memory(&machine).origin.source, "drm.fdinfo");
    assert_false(job_memory(&machine).origin.is_exact);
    tear_down(&machine);
}

/* The driver is unloaded for a while: the new memory region counts from 0, and the time
 * before is missing. */
TEST(memory_regions_may_appear_and_disappear)
{
    const struct gpu_device_view *view;
    struct machine machine;

    open_charged(&machine, false);
    view = &machine.watch.account.list[AMD_UNIT].view;
    put_charges(&machine, "drm/" AMD_PCI "/vram 209715200\n",
                "drm/" AMD_PCI "/vram 209715200\n");
    gpu_watch_read(&machine.watch, MS(0), true);
    put_charges(&machine, "drm/" XE_PCI "/vram0 0\n", "drm/" XE_PCI "/vram0 0\n");
    gpu_watch_poll(&machine.watch, MS(100), false);
    assert_int_equal(job_memory(&machine).value, 64 * MIB);
    assert_string_equal(job_memory(&machine).origin.source, "drm.fdinfo");
    put_charges(&machine, "drm/" AMD_PCI "/vram 104857600\n",
                "drm/" AMD_PCI "/vram 104857600\n");
    gpu_watch_poll(&machine.watch, MS(200), false);
    assert_int_equal(job_memory(&machine).value, 100 * MIB);
    assert_int_equal(view->figures[GPU_JOB_MEMORY].peak, 200 * MIB);
    assert_false(view->is_job_memory_exact);
    assert_false(job_memory(&machine).origin.is_exact);
    tear_down(&machine);
}

/* The cgroup was removed. */
TEST(a_cgroup_that_cannot_be_read_is_not_read_again)
{
    struct machine machine;

    open_charged(&machine, false);
    gpu_watch_read(&machine.watch, MS(0), true); /* dmem.current is missing */
    assert_int_equal(job_memory(&machine).value, 64 * MIB);
    assert_null(machine.watch.cgroup); /* not read again */
    put_charges(&machine, "drm/" AMD_PCI "/vram 104857600\n", NULL);
    gpu_watch_poll(&machine.watch, MS(100), false);
    assert_int_equal(job_memory(&machine).value, 64 * MIB);
    tear_down(&machine);
}

/* The peaks of two GPUs may occur at different times. */
TEST(the_peak_over_two_gpus_is_not_exact)
{
    const struct gpu_device_view *view;
    struct machine machine;

    set_up(&machine);
    machine.cgroup = JOB;
    open_machine(&machine, AMD_PCI "," XE_PCI, no_variable);
    view = &machine.watch.account.list[XE_UNIT].view;
    put_charges(&machine, "drm/" AMD_PCI "/vram 0\ndrm/" XE_PCI "/vram0 1048576\n",
                "drm/" AMD_PCI "/vram 0\ndrm/" XE_PCI "/vram0 3145728\n");
    gpu_watch_read(&machine.watch, MS(0), true);
    assert_int_equal(job_memory(&machine).value, 3 * MIB);
    assert_true(job_memory(&machine).origin.is_exact); /* the AMD GPU was not used */
    put_charges(&machine, "drm/" AMD_PCI "/vram 0\ndrm/" XE_PCI "/vram0 1048576\n",
                "drm/" AMD_PCI "/vram 2097152\ndrm/" XE_PCI "/vram0 3145728\n");
    gpu_watch_poll(&machine.watch, MS(100), false);
    assert_int_equal(job_memory(&machine).value, 2 * MIB);
    assert_false(job_memory(&machine).origin.is_exact);
    assert_true(view->is_job_memory_exact);
    tear_down(&machine);
}

TEST(an_exited_process_keeps_its_busy_time)
{
    const struct gpu_totals *totals;
    struct machine machine;
    uint64_t before_ns;

    set_up(&machine);
    open_machine(&machine, "1", no_variable);
    totals = &machine.watch.account.totals;
    fake_drm_fd(&machine.fake, 41, 5, "/dev/dri/renderD128", AMDGPU("7", "0", "64 MiB"));
    gpu_watch_read(&machine.watch, MS(0), true);
    fake_drm_fd(&machine.fake, 41, 5, "/dev/dri/renderD128",
                AMDGPU("7", "900000000", "64 MiB"));
    gpu_watch_read(&machine.watch, MS(1000), false);
    before_ns = totals->measures[GPU_TOTAL_JOB_BUSY].value;
    assert_in_range(before_ns, MS(890), MS(910));
    fake_drm_close(&machine.fake, 41, 5);
    gpu_watch_read(&machine.watch, MS(2000), false);
    assert_int_equal(totals->measures[GPU_TOTAL_JOB_MEMORY].value, 0);
    assert_int_equal(totals->measures[GPU_TOTAL_JOB_BUSY].value, before_ns);
    tear_down(&machine);
}

/* No process of the job starts or exits for a while, so the roster is unchanged. */
TEST(the_pid_of_a_long_exited_process_may_be_reused)
{
    struct machine machine;

    set_up(&machine);
    open_machine(&machine, NULL, no_variable);
    update(&machine, 2, MS(500));
    update(&machine, 1, MS(1000));
    gpu_watch_read(&machine.watch, MS(2000), true);
    add_process(&machine, 42, 1); /* now the PID of a foreign process */
    fake_drm_fd(&machine.fake, 42, 3, "/dev/dri/renderD130", I915("2", "0", "8 MiB"));
    gpu_watch_read(&machine.watch, MS(2000) + GPU_OWNERS_KEPT_NS, false);
    assert_int_equal(machine.watch.account.totals.measures[GPU_TOTAL_JOB_MEMORY].value, 0);
    tear_down(&machine);
}

static const char *rocr_zero(const char *name)
{
    return strcmp(name, "ROCR_VISIBLE_DEVICES") == 0 ? "" : NULL;
}

static const char *slurm_one(const char *name)
{
    return strcmp(name, "SLURM_JOB_GPUS") == 0 ? "0" : NULL;
}

TEST(each_vendor_has_its_own_variables)
{
    static const struct {
        const char *gpus;
        environment_get *get;
        bool selected[3]; /* i915, amd, xe */
    } cases[] = {
        { NULL, no_variable, { true, true, true } },
        { NULL, rocr_zero, { true, false, true } },
        { NULL, slurm_one, { true, true, false } }, /* the first GPU of each vendor */
        { "2", rocr_zero, { false, false, true } },
        { AMD_PCI, no_variable, { false, true, false } },
        { "none", no_variable, { false, false, false } },
        { "all", rocr_zero, { true, true, true } },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct machine machine;

        set_up(&machine);
        open_machine(&machine, cases[i].gpus, cases[i].get);
        for (size_t unit = 0; unit < 3; unit++)
            assert_int_equal(machine.watch.inventory.units[unit].is_selected,
                             cases[i].selected[unit]);
        tear_down(&machine);
    }
}

FAKE_ROOT_TEST(without_a_gpu_there_is_nothing_to_watch)
{
    struct fake_root *fake = *state;
    struct gpu_watch_options options = { .vendors = gpu_vendors,
                                         .vendor_count = gpu_vendor_count };
    struct gpu_choice choice = { 0 };
    struct gpu_watch watch;

    options.choice = &choice;
    assert_int_equal(gpu_watch_open(&watch, &fake->root, &options), -ENODEV);
    assert_int_equal(watch.inventory.refusal_count, 0);
}

static int fail_to_open(UNUSED const struct root *root, UNUSED void **ret,
                        struct spoor_error *err)
{
    (void)snprintf(err->message, sizeof(err->message), "broken");
    return -EIO;
}

FAKE_ROOT_TEST(a_failing_vendor_is_reported)
{
    struct fake_root *fake = *state;
    static const struct gpu_vendor broken = { .name = "broken", .open = fail_to_open };
    const struct gpu_vendor *const vendors[] = { &broken };
    struct gpu_choice choice = { 0 };
    struct gpu_inventory inventory;

    assert_int_equal(gpu_inventory_open(&inventory, &fake->root, vendors, 1, &choice), -ENODEV);
    assert_int_equal(inventory.refusal_count, 1);
    assert_string_equal(inventory.refusals[0].vendor, "broken");
    assert_string_equal(inventory.refusals[0].error.message, "broken");
}

TEST(a_variable_is_found_in_the_environment_of_a_process)
{
    static const char block[] = "PATH=/bin\0XCUDA=1\0CUDA_VISIBLE_DEVICES=0,1\0EMPTY=\0CUT=x";

    assert_string_equal(gpu_choice_find(block, sizeof(block) - 1, "CUDA_VISIBLE_DEVICES"),
                        "0,1");
    assert_string_equal(gpu_choice_find(block, sizeof(block) - 1, "EMPTY"), "");
    assert_null(gpu_choice_find(block, sizeof(block) - 1, "CUDA"));
    assert_null(gpu_choice_find(block, sizeof(block) - 1, "CUT"));
    assert_null(gpu_choice_find("", 0, "PATH"));
}

TEST(sources_come_from_the_vendors_in_use)
{
    struct gpu_totals totals;
    struct machine machine;

    set_up(&machine);
    open_machine(&machine, "1", no_variable);
    totals = gpu_watch_totals(&machine.watch);
    assert_string_equal(totals.measures[GPU_TOTAL_JOB_MEMORY].origin.source, "drm.fdinfo");
    assert_string_equal(totals.measures[GPU_TOTAL_HOST_MEMORY].origin.source,
                        "intel.sysfs+amdgpu.sysfs"); /* for all GPUs */
    tear_down(&machine);
}
