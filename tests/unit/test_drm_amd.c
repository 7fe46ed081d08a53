/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/amount.h"
#include "base/clock.h"
#include "fake_drm.h"
#include "source/gpu/gpu.h"
#include "unit_test.h"

#define MS NS_PER_MS
#define PCI "0000:03:00.0"
#define CLIENT(id, gfx_ns, vram)                                                  \
    "pos:\t0\ndrm-driver:\tamdgpu\ndrm-client-id:\t" id "\ndrm-pdev:\t" PCI       \
    "\npasid:\t32770\ndrm-memory-vram:\t" vram "\ndrm-resident-vram:\t" vram "\n" \
    "drm-engine-gfx:\t" gfx_ns " ns\n"

static const struct gpu_vendor *const amd = &gpu_amd;

struct machine {
    struct fake_root fake;
    void *vendor;
};

static const pid_t two_pids[] = { 41, 42 };
static const struct gpu_pids both = { two_pids, 2 }, first = { two_pids, 1 },
                             second = { two_pids + 1, 1 }, none = { NULL, 0 };

static void set_up(struct machine *machine)
{
    struct fake_root *fake = &machine->fake;

    fake_root_init(fake);
    fake_drm_card(fake, 1, PCI, "0x1002\n");
    fake_drm_node(fake, "renderD128", PCI);
    fake_drm_file(fake, 1, "device/device", "0x744c\n");
    fake_drm_file(fake, 1, "device/product_name", "Radeon Pro W7900\n");
    fake_drm_file(fake, 1, "device/unique_id", "8d3f00e1a2b4c5d6\n");
    fake_drm_file(fake, 1, "device/mem_info_vram_total", "51522830336\n");
    fake_drm_file(fake, 1, "device/mem_info_vram_used", "1073741824\n");
    fake_drm_file(fake, 1, "device/gpu_busy_percent", "40\n");
    fake_drm_file(fake, 1, "device/hwmon/hwmon5/power1_average", "241000000\n");
    fake_drm_file(fake, 1, "device/hwmon/hwmon5/temp1_input", "63000\n");
    fake_drm_file(fake, 1, "device/hwmon/hwmon5/freq1_input", "2304000000\n");
    fake_drm_file(fake, 1, "device/hwmon/hwmon5/energy1_input", "5000000\n");
    machine->vendor = NULL;
}

static void open_it(struct machine *machine)
{
    struct spoor_error err = { 0 };

    assert_int_equal(amd->open(&machine->fake.root, &machine->vendor, &err), 0);
}

static void tear_down(struct machine *machine)
{
    amd->close(machine->vendor);
    fake_root_done(&machine->fake);
}

static struct gpu_process process(struct machine *machine, const struct gpu_pids *pids, int pid)
{
    return fake_drm_process(amd, machine->vendor, pids, pid, 0);
}

static void count(struct machine *machine, const struct gpu_pids *pids, uint64_t now_ns)
{
    assert_int_equal(amd->read_busy(machine->vendor, pids, now_ns), 0);
}

FAKE_ROOT_TEST(a_machine_without_cards_has_no_gpu)
{
    struct fake_root *fake = *state;
    void *vendor = fake;

    assert_int_equal(amd->open(&fake->root, &vendor, NULL), -ENODEV);
    fake_root_write(fake, "sys/class/drm/version", "drm 1.1.0 20060810\n");
    assert_int_equal(amd->open(&fake->root, &vendor, NULL), -ENODEV);
    fake_drm_card(fake, 0, "0000:00:02.0", "0x8086\n");
    fake_root_write(fake, "sys/class/drm/card1/empty", "");
    assert_int_equal(amd->open(&fake->root, &vendor, NULL), -ENODEV);
    assert_ptr_equal(vendor, fake); /* untouched on failure */
    amd->close(NULL);
}

TEST(a_device_is_described_by_its_files)
{
    struct machine machine;
    const struct gpu_device *device;

    set_up(&machine);
    fake_drm_card(&machine.fake, 0, "0000:83:00.0", "0x1002\n");
    open_it(&machine);
    assert_int_equal(amd->device_count(machine.vendor), 2);
    device = amd->device(machine.vendor, 0); /* sorted by PCI address */
    assert_string_equal(device->name, "Radeon Pro W7900");
    assert_string_equal(device->uuid, "GPU-8d3f00e1a2b4c5d6");
    assert_string_equal(device->pci_address, PCI);
    assert_int_equal(device->memory_total_bytes, 51522830336);
    assert_false(device->is_part);
    device = amd->device(machine.vendor, 1); /* a card without these files */
    assert_string_equal(device->name, "AMD GPU ");
    assert_string_equal(device->uuid, "");
    assert_string_equal(device->pci_address, "0000:83:00.0");
    assert_true(device->memory_total_bytes == UNKNOWN);
    tear_down(&machine);
}

TEST(hostile_device_names_are_escaped)
{
    struct machine machine;
    char name[400];

    set_up(&machine);
    (void)memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    memcpy(name, "\x1b[31m\x7f", 6);
    fake_drm_file(&machine.fake, 1, "device/product_name", name);
    fake_drm_file(&machine.fake, 1, "device/unique_id", "8d3f\"><b>\n");
    open_it(&machine);
    assert_memory_equal(amd->device(machine.vendor, 0)->name, "?[31m?xxx", 9);
    assert_int_equal(strlen(amd->device(machine.vendor, 0)->name), 95);
    assert_string_equal(amd->device(machine.vendor, 0)->uuid, "");
    tear_down(&machine);
}

TEST(a_reading_contains_every_value_of_the_driver)
{
    struct machine machine;
    struct gpu_reading reading;

    set_up(&machine);
    open_it(&machine);
    fake_drm_file(&machine.fake, 1, "device/hwmon/hwmon5/energy1_input", "5600000\n");
    assert_int_equal(amd->read(machine.vendor, 0, 1000 * MS, &reading), 0);
    assert_int_equal(reading.memory_used_bytes, 1 << 30);
    assert_int_equal(reading.busy_ns, 0);
    assert_int_equal(reading.energy.milliwatts, 241000);
    assert_int_equal(reading.temperature_celsius, 63);
    assert_int_equal(reading.clock_mhz, 2304);
    assert_int_equal(reading.energy.microjoules, 600000); /* since the driver was opened */
    assert_true(reading.encoder_busy_ns == UNKNOWN && reading.decoder_busy_ns == UNKNOWN);
    assert_true(reading.throttle_reasons == UNKNOWN);
    assert_null(reading.busy_reason);
    tear_down(&machine);
}

TEST(device_busy_time_is_the_integral_of_the_percentage)
{
    static const struct {
        const char *percent;
        uint64_t at_ms, busy_ms, covered_ms; /* may be UNKNOWN */
    } steps[] = {
        { "40\n", 1000, 0, 0 }, /* earlier time is unknown */
        { "40\n", 2000, 400, 1000 },
        { "100\n", 2500, 900, 1500 },
        { "65535\n", 3000, UNKNOWN, UNKNOWN },
        { "", 3200, UNKNOWN, UNKNOWN },
        { "50\n", 3500, 1400, 2500 },
        { "50\n", 3400, 1400, 2500 },
        { "0\n", 4500, 1400, 3600 },
    };
    struct machine machine;
    struct gpu_reading reading;

    set_up(&machine);
    open_it(&machine);
    for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
        bool is_told = is_known(steps[i].busy_ms);

        fake_drm_file(&machine.fake, 1, "device/gpu_busy_percent", steps[i].percent);
        assert_int_equal(amd->read(machine.vendor, 0, steps[i].at_ms * MS, &reading), 0);
        assert_true(reading.busy_ns == (is_told ? steps[i].busy_ms * MS : UNKNOWN));
        assert_true(reading.busy_covered_ns == (is_told ? steps[i].covered_ms * MS : UNKNOWN));
        assert_true(is_told == !reading.busy_reason);
    }
    tear_down(&machine);
}

TEST(a_missing_file_makes_only_its_own_figure_unknown)
{
    struct machine machine;
    struct gpu_reading reading;

    fake_root_init(&machine.fake);
    fake_drm_card(&machine.fake, 0, PCI, "0x1002\n");
    fake_drm_file(&machine.fake, 0, "device/hwmon/hwmon0/power1_input", "9000000\n");
    fake_drm_file(&machine.fake, 0, "device/hwmon/hwmon0/temp1_input", "-5000\n");
    fake_drm_file(&machine.fake, 0, "device/mem_info_vram_total", "0\n");
    fake_drm_file(&machine.fake, 0, "device/mem_info_vram_used", "0\n");
    open_it(&machine);
    assert_int_equal(amd->read(machine.vendor, 0, MS, &reading), 0);
    assert_int_equal(reading.energy.milliwatts, 9000); /* the newer name of the sensor */
    assert_true(reading.temperature_celsius == UNKNOWN);
    assert_true(reading.busy_ns == UNKNOWN);
    assert_non_null(reading.busy_reason);
    assert_true(reading.memory_used_bytes == UNKNOWN); /* no memory of its own */
    assert_true(amd->device(machine.vendor, 0)->memory_total_bytes == UNKNOWN);
    assert_true(reading.energy.microjoules == UNKNOWN);
    tear_down(&machine);
}

TEST(a_sleeping_device_is_not_woken)
{
    static const char *const asleep[] = { "suspended\n", "suspending\n" };
    struct machine machine;
    struct gpu_reading reading;

    set_up(&machine);
    fake_drm_file(&machine.fake, 1, "device/power/runtime_status", "suspended\n");
    open_it(&machine);
    for (size_t i = 0; i < ARRAY_SIZE(asleep); i++) {
        fake_drm_file(&machine.fake, 1, "device/power/runtime_status", asleep[i]);
        assert_int_equal(amd->read(machine.vendor, 0, (i + 1) * 1000 * MS, &reading), 0);
        assert_int_equal(reading.busy_ns, 0);
        assert_true(reading.energy.milliwatts == UNKNOWN);
        assert_true(reading.energy.microjoules == UNKNOWN);
        /* Read without waking the device. */
        assert_int_equal(reading.memory_used_bytes, 1 << 30);
    }
    fake_drm_file(&machine.fake, 1, "device/power/runtime_status", "active\n");
    assert_int_equal(amd->read(machine.vendor, 0, 3000 * MS, &reading), 0);
    assert_int_equal(reading.busy_ns, 400 * MS);
    assert_true(reading.energy.microjoules == UNKNOWN); /* no earlier value to compare with */
    assert_int_equal(amd->read(machine.vendor, 0, 4000 * MS, &reading), 0);
    assert_int_equal(reading.energy.microjoules, 0);
    tear_down(&machine);
}

TEST(a_removed_device_is_lost)
{
    struct machine machine;
    struct gpu_reading reading;

    set_up(&machine);
    open_it(&machine);
    fake_drm_remove(&machine.fake, "sys/class/drm/card1/device");
    assert_int_equal(amd->read(machine.vendor, 0, 0, &reading), -ENODEV);
    fake_drm_card(&machine.fake, 1, "0000:04:00.0",
                  "0x1002\n"); /* another device got the card number */
    assert_int_equal(amd->read(machine.vendor, 0, 0, &reading), -ENODEV);
    fake_drm_remove(&machine.fake, "sys/class/drm/card1/device");
    fake_drm_card(&machine.fake, 1, PCI, "0x1002\n"); /* the first device is back */
    assert_int_equal(amd->read(machine.vendor, 0, 0, &reading), 0);
    tear_down(&machine);
}

TEST(memory_and_time_of_a_process_are_summed_over_its_clients)
{
    struct machine machine;
    struct gpu_process one;

    set_up(&machine);
    fake_drm_fd(&machine.fake, 41, 0, "/dev/null", "pos:\t0\n");
    fake_drm_fd(&machine.fake, 41, 5, "/dev/dri/renderD128", CLIENT("7", "5", "4096 KiB"));
    open_it(&machine);
    one = process(&machine, &both, 41);
    assert_int_equal(one.memory_bytes, 4 << 20);
    assert_true(one.busy_ns == UNKNOWN); /* not counted yet */
    assert_false(one.has_ended);
    count(&machine, &both, 1000 * MS);
    fake_drm_fd(&machine.fake, 41, 5, "/dev/dri/renderD128", CLIENT("7", "250000005", "1 MiB"));
    fake_drm_fd(&machine.fake, 41, 6, "/dev/dri/card1", CLIENT("8", "100000000", "2 MiB"));
    count(&machine, &both, 2000 * MS);
    one = process(&machine, &both, 41);
    assert_int_equal(one.memory_bytes, 3 << 20);
    assert_int_equal(one.busy_ns, 350 * MS);
    tear_down(&machine);
}

TEST(copies_of_a_descriptor_are_counted_once)
{
    static const char text[] = CLIENT("7", "100000000", "1 MiB");
    struct machine machine;
    struct gpu_process list[8];

    set_up(&machine);
    open_it(&machine);
    count(&machine, &both, 1000 * MS);
    for (int fd = 5; fd < 9; fd++)
        fake_drm_fd(&machine.fake, 41, fd, "/dev/dri/renderD128", text);
    fake_drm_fd(&machine.fake, 42, 5, "/dev/dri/renderD128", text); /* inherited by a child */
    count(&machine, &both, 2000 * MS);
    assert_int_equal(amd->processes(machine.vendor, &both, list, 8), 1);
    assert_int_equal(list[0].pid, 41);
    assert_int_equal(list[0].memory_bytes, 1 << 20);
    assert_int_equal(list[0].busy_ns, 100 * MS);
    assert_int_equal(amd->processes(machine.vendor, &both, list, 0), 1); /* no room in `list` */
    tear_down(&machine);
}

TEST(a_client_outlives_the_process_it_came_from)
{
    struct machine machine;

    set_up(&machine);
    open_it(&machine);
    count(&machine, &both, 1000 * MS);
    fake_drm_fd(&machine.fake, 41, 5, "/dev/dri/renderD128", CLIENT("7", "100000000", "1 MiB"));
    fake_drm_fd(&machine.fake, 42, 9, "/dev/dri/renderD128", CLIENT("7", "100000000", "1 MiB"));
    count(&machine, &both, 2000 * MS);
    fake_drm_close(&machine.fake, 41, 5);
    fake_drm_fd(&machine.fake, 42, 9, "/dev/dri/renderD128", CLIENT("7", "300000000", "2 MiB"));
    count(&machine, &second, 3000 * MS);
    assert_true(process(&machine, &second, 41).has_ended);
    assert_int_equal(process(&machine, &second, 41).memory_bytes, 0);
    assert_int_equal(process(&machine, &second, 41).busy_ns, 100 * MS);
    assert_int_equal(process(&machine, &second, 42).memory_bytes, 2 << 20);
    assert_int_equal(process(&machine, &second, 42).busy_ns, 200 * MS);
    tear_down(&machine);
}

TEST(the_busy_time_of_an_exited_process_is_kept)
{
    struct machine machine;
    struct gpu_process ended;

    set_up(&machine);
    open_it(&machine);
    count(&machine, &both, 1000 * MS);
    fake_drm_fd(&machine.fake, 41, 5, "/dev/dri/renderD128", CLIENT("7", "100000000", "1 MiB"));
    count(&machine, &both, 2000 * MS);
    /* The last value of the client, which was read between two counts, is still counted. */
    fake_drm_fd(&machine.fake, 41, 5, "/dev/dri/renderD128", CLIENT("7", "170000000", "1 MiB"));
    assert_int_equal(process(&machine, &both, 41).busy_ns, 100 * MS);
    fake_drm_close(&machine.fake, 41, 5);
    ended = process(&machine, &second, 41);
    assert_true(ended.has_ended);
    assert_int_equal(ended.memory_bytes, 0);
    count(&machine, &second, 3000 * MS);
    assert_int_equal(process(&machine, &none, 41).busy_ns, 170 * MS);
    count(&machine, &none, 4000 * MS);
    assert_int_equal(process(&machine, &none, 41).busy_ns, 170 * MS);
    tear_down(&machine);
}

TEST(a_process_without_engine_time_was_idle)
{
    struct machine machine;

    set_up(&machine);
    /* amdgpu omits engines that have done nothing. */
    fake_drm_fd(&machine.fake, 41, 5, "/dev/dri/renderD128",
                "drm-driver: amdgpu\ndrm-client-id: 7\ndrm-pdev: " PCI
                "\ndrm-memory-vram: 5\n");
    open_it(&machine);
    count(&machine, &first, 1000 * MS);
    assert_int_equal(process(&machine, &first, 41).busy_ns, 0);
    tear_down(&machine);
}

TEST(keys_of_old_drivers_are_read)
{
    static const char text[] = "pos:\t0\npdev:\t" PCI "\npasid:\t32769\nvram mem:\t2048 kB\n"
                               "gtt mem:\t512 kB\ncpu mem:\t0 kB\ngfx0:\t25.0%\n";
    struct machine machine;

    set_up(&machine);
    fake_drm_fd(&machine.fake, 41, 5, "/dev/dri/renderD128", text);
    fake_drm_fd(&machine.fake, 41, 6, "/dev/dri/renderD128", text);
    open_it(&machine);
    count(&machine, &first, 1000 * MS);
    count(&machine, &first, 3000 * MS);
    assert_int_equal(process(&machine, &first, 41).memory_bytes, 2 << 20);
    assert_int_equal(process(&machine, &first, 41).busy_ns, 500 * MS);
    tear_down(&machine);
}

TEST(descriptors_without_amd_gpu_data_are_skipped)
{
    struct machine machine;
    struct gpu_process list[4];
    char long_name[200];

    set_up(&machine);
    (void)memset(long_name, 'x', sizeof(long_name) - 1);
    long_name[sizeof(long_name) - 1] = '\0';
    fake_drm_node(&machine.fake, "renderD129", "0000:00:02.0");
    fake_drm_fd(&machine.fake, 41, 3, "/dev/dri/renderD129",
                "drm-driver: i915\ndrm-client-id: 7\ndrm-pdev: 0000:00:02.0\n");
    fake_drm_fd(&machine.fake, 41, 4, "/dev/dri/renderD128", NULL);
    fake_drm_fd(&machine.fake, 41, 5, "/dev/dri/renderD129",
                "");                                         /* a device of another vendor */
    fake_drm_fd(&machine.fake, 41, 6, "/dev/dri/card7", ""); /* no such card */
    fake_drm_fd(&machine.fake, 41, 7, "/tmp/dri/cardinal", CLIENT("7", "5", "5"));
    fake_drm_fd(&machine.fake, 41, 8, long_name, CLIENT("7", "5", "5"));
    fake_drm_fd(&machine.fake, 41, 9, "/dev/dri/card1 (deleted)", "pos:\t0\n");
    /* An NPU is not a GPU. */
    fake_drm_fd(&machine.fake, 41, 10, "/dev/accel/accel0",
                "drm-driver: amdxdna_accel_driver\ndrm-client-id: 7\ndrm-pdev: " PCI
                "\ndrm-engine-npu-amdxdna: 5 ns\n");
    fake_root_link(&machine.fake, "proc/41/fd/not-a-number", "/dev/dri/renderD128");
    open_it(&machine);
    assert_int_equal(amd->processes(machine.vendor, &both, list, 4), 0);
    count(&machine, &both, 1000 * MS);
    assert_int_equal(amd->processes(machine.vendor, &none, list, 4), 0);
    tear_down(&machine);
}

/* On a live machine, a quick sweep does not list descriptors while their number is
 * unchanged. */
TEST(known_clients_are_read_at_once_and_new_ones_found_at_the_next_count)
{
    struct machine machine;

    set_up(&machine);
    machine.fake.root.is_live = true;
    fake_drm_fd(&machine.fake, 41, 5, "/dev/dri/renderD128", CLIENT("7", "5", "1 MiB"));
    open_it(&machine);
    assert_int_equal(process(&machine, &both, 41).memory_bytes, 1 << 20);
    fake_drm_fd(&machine.fake, 41, 5, "/dev/dri/renderD128", CLIENT("7", "5", "2 MiB"));
    assert_int_equal(process(&machine, &both, 41).memory_bytes, 2 << 20);
    fake_drm_fd(&machine.fake, 41, 5, "/dev/dri/renderD128", CLIENT("8", "5", "3 MiB"));
    assert_int_equal(process(&machine, &both, 41).memory_bytes, 3 << 20); /* other client */
    fake_drm_fd(&machine.fake, 42, 5, "/dev/dri/renderD128", CLIENT("9", "5", "4 MiB"));
    count(&machine, &both, 1000 * MS);
    assert_int_equal(process(&machine, &both, 42).memory_bytes, 4 << 20);
    fake_drm_fd(&machine.fake, 41, 6, "/dev/dri/renderD128", CLIENT("9", "5", "4 MiB"));
    count(&machine, &both, 2000 * MS);
    /* Process 42 is no longer passed in; 41 still holds the client. */
    assert_int_equal(process(&machine, &first, 41).memory_bytes, 7 << 20);
    tear_down(&machine);
}
