/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "base/amount.h"
#include "base/clock.h"
#include "fake_drm.h"
#include "source/gpu/gpu.h"
#include "unit_test.h"

#define MS NS_PER_MS
#define I915(id, render_ns, video_ns, memory)                                     \
    "drm-driver:\ti915\ndrm-client-id:\t" id "\ndrm-pdev:\t0000:00:02.0\n" memory \
    "drm-engine-render:\t" render_ns " ns\ndrm-engine-video:\t" video_ns          \
    " ns\ndrm-engine-capacity-video:\t2\n"
#define XE(id, cycles, total)                                                        \
    "drm-driver:\txe\ndrm-client-id:\t" id "\ndrm-pdev:\t0000:03:00.0\n"             \
    "drm-resident-gtt:\t5 KiB\ndrm-resident-vram0:\t8 MiB\ndrm-cycles-ccs:\t" cycles \
    "\ndrm-total-cycles-ccs:\t" total "\ndrm-engine-capacity-ccs:\t4\n"

static const struct gpu_vendor *const intel = &gpu_intel;
static const pid_t one_pid[] = { 41 };
static const struct gpu_pids pids = { one_pid, 1 };

/* An integrated GPU with i915 and a discrete one with xe. */
static void *open_both(struct fake_root *fake)
{
    void *vendor = NULL;

    fake_root_init(fake);
    fake_drm_card(fake, 0, "0000:03:00.0", "0x8086\n");
    fake_drm_file(fake, 0, "device/device", "0xe20b\n");
    fake_drm_file(fake, 0, "device/tile0/physical_vram_size_bytes", "12884901888\n");
    fake_drm_file(fake, 0, "device/tile0/gt0/freq0/act_freq", "2850\n");
    fake_drm_file(fake, 0, "device/hwmon/hwmon3/energy2_input", "1000000\n");
    fake_drm_file(fake, 0, "device/hwmon/hwmon3/temp2_input", "48000\n");
    fake_drm_card(fake, 1, "0000:00:02.0", "0x8086\n");
    fake_drm_file(fake, 1, "device/device", "0x46a6\n");
    fake_drm_file(fake, 1, "gt/gt0/rps_act_freq_mhz", "1300\n");
    assert_int_equal(intel->open(&fake->root, &vendor, NULL), 0);
    return vendor;
}

static void close_both(struct fake_root *fake, void *vendor)
{
    intel->close(vendor);
    fake_root_done(fake);
}

TEST(memory_is_known_if_the_gpu_has_its_own_memory)
{
    struct fake_root fake;
    void *vendor = open_both(&fake);

    assert_int_equal(intel->device_count(vendor), 2);
    assert_string_equal(intel->device(vendor, 0)->pci_address, "0000:00:02.0");
    assert_string_equal(intel->device(vendor, 0)->name, "Intel GPU 0x46a6");
    assert_true(intel->device(vendor, 0)->memory_total_bytes == UNKNOWN);
    assert_string_equal(intel->device(vendor, 1)->name, "Intel GPU 0xe20b");
    assert_int_equal(intel->device(vendor, 1)->memory_total_bytes, 12884901888);
    close_both(&fake, vendor);
}

TEST(the_reason_is_given_if_busy_time_is_missing)
{
    struct fake_root fake;
    void *vendor = open_both(&fake);
    struct gpu_reading reading;

    fake_drm_file(&fake, 0, "device/hwmon/hwmon3/energy2_input", "4000000\n");
    assert_int_equal(intel->read(vendor, 1, 1000 * MS, &reading), 0);
    assert_true(reading.busy_ns == UNKNOWN);
    assert_non_null(reading.busy_reason);
    assert_int_equal(reading.energy.microjoules, 3000000);
    assert_int_equal(reading.temperature_celsius, 48);
    assert_int_equal(reading.clock_mhz, 2850);
    assert_true(reading.memory_used_bytes == UNKNOWN);
    assert_int_equal(intel->read(vendor, 0, 1000 * MS, &reading), 0);
    assert_int_equal(reading.clock_mhz, 1300);
    assert_true(reading.energy.microjoules == UNKNOWN); /* integrated: without sensors */
    close_both(&fake, vendor);
}

TEST(energy_continues_after_a_reset)
{
    struct fake_root fake;
    void *vendor = open_both(&fake);
    struct gpu_reading reading;

    fake_drm_file(&fake, 0, "device/hwmon/hwmon3/energy2_input", "4000000\n");
    assert_int_equal(intel->read(vendor, 1, 1000 * MS, &reading), 0);
    fake_drm_file(&fake, 0, "device/hwmon/hwmon3/energy2_input", "500000\n");
    assert_int_equal(intel->read(vendor, 1, 2000 * MS, &reading), 0);
    assert_int_equal(reading.energy.microjoules, 3500000);
    close_both(&fake, vendor);
}

TEST(energy_of_different_sensors_is_not_mixed)
{
    struct fake_root fake;
    void *vendor = open_both(&fake);
    struct gpu_reading reading;

    fake_drm_file(&fake, 0, "device/hwmon/hwmon3/energy1_input", "9000000\n"); /* added late */
    fake_drm_file(&fake, 0, "device/hwmon/hwmon3/energy2_input", "4000000\n");
    assert_int_equal(intel->read(vendor, 1, 1000 * MS, &reading), 0);
    assert_int_equal(reading.energy.microjoules, 3000000);
    fake_drm_file(&fake, 0, "device/hwmon/hwmon3/energy2_input", "");
    assert_int_equal(intel->read(vendor, 1, 2000 * MS, &reading), 0);
    assert_true(reading.energy.microjoules == UNKNOWN);
    close_both(&fake, vendor);
}

TEST(busy_time_of_i915_is_the_time_of_the_busiest_class)
{
    struct fake_root fake;
    void *vendor = open_both(&fake);
    struct gpu_process process;

    fake_drm_fd(&fake, 41, 4, "/dev/dri/renderD129",
                I915("3", "0", "0", "drm-resident-system0: 2 MiB\n"));
    assert_int_equal(intel->read_busy(vendor, &pids, 1000 * MS), 0);
    fake_drm_fd(&fake, 41, 4, "/dev/dri/renderD129",
                I915("3", "100000000", "900000000", "drm-resident-system0: 3 MiB\n"));
    assert_int_equal(intel->read_busy(vendor, &pids, 2000 * MS), 0);
    process = fake_drm_process(intel, vendor, &pids, 41, 0);
    assert_int_equal(process.busy_ns, 450 * MS); /* 900 ms on two video engines */
    assert_int_equal(process.memory_bytes, 3 << 20);
    assert_null(process.reason);
    close_both(&fake, vendor);
}

TEST(xe_cycles_are_converted_to_time)
{
    struct fake_root fake;
    void *vendor = open_both(&fake);
    struct gpu_process process;

    assert_int_equal(intel->read_busy(vendor, &pids, 500 * MS), 0);
    fake_drm_fd(&fake, 41, 4, "/dev/dri/renderD128", XE("3", "0", "1000000000"));
    assert_int_equal(intel->read_busy(vendor, &pids, 1000 * MS), 0);
    fake_drm_fd(&fake, 41, 4, "/dev/dri/renderD128", XE("3", "38400000", "1019200000"));
    assert_int_equal(intel->read_busy(vendor, &pids, 2000 * MS), 0);
    process = fake_drm_process(intel, vendor, &pids, 41, 1);
    assert_int_equal(process.busy_ns, 500 * MS); /* two of four engines for 1 s */
    assert_int_equal(process.memory_bytes, 8 << 20);
    close_both(&fake, vendor);
}

TEST(a_driver_without_engine_time_leaves_it_unknown)
{
    struct fake_root fake;
    void *vendor = open_both(&fake);
    struct gpu_process process;

    fake_drm_fd(&fake, 41, 4, "/dev/dri/card1",
                "drm-driver: i915\ndrm-client-id: 5\ndrm-pdev: 0000:00:02.0\n");
    assert_int_equal(intel->read_busy(vendor, &pids, 1000 * MS), 0);
    process = fake_drm_process(intel, vendor, &pids, 41, 0);
    assert_true(process.busy_ns == UNKNOWN && process.memory_bytes == UNKNOWN);
    assert_non_null(process.reason);
    close_both(&fake, vendor);
}

TEST(the_same_client_id_on_two_devices_is_two_clients)
{
    struct fake_root fake;
    void *vendor = open_both(&fake);

    fake_drm_fd(&fake, 41, 4, "/dev/dri/renderD128", XE("3", "0", "1"));
    fake_drm_fd(&fake, 41, 5, "/dev/dri/renderD129",
                I915("3", "0", "0", "drm-resident-system0: 2 MiB\n"));
    assert_int_equal(fake_drm_process(intel, vendor, &pids, 41, 0).memory_bytes, 2 << 20);
    assert_int_equal(fake_drm_process(intel, vendor, &pids, 41, 1).memory_bytes, 8 << 20);
    close_both(&fake, vendor);
}

TEST(only_local_memory_of_i915_is_counted)
{
    struct fake_root fake;
    void *vendor = open_both(&fake);
    struct gpu_reading reading;

    fake_drm_file(&fake, 1, "lmem_total_bytes", "8000\n");
    fake_drm_file(&fake, 1, "lmem_avail_bytes", "3000\n");
    fake_drm_fd(
        &fake, 41, 4, "/dev/dri/renderD129",
        I915("3", "0", "0", "drm-resident-system0: 2 MiB\ndrm-resident-local0: 1 MiB\n"));
    assert_int_equal(fake_drm_process(intel, vendor, &pids, 41, 0).memory_bytes, 1 << 20);
    assert_int_equal(intel->read(vendor, 0, 1000 * MS, &reading), 0);
    assert_int_equal(reading.memory_used_bytes, 5000);
    close_both(&fake, vendor);
}

/* If a driver reports that a GPU has no memory, the GPU's processes use other memory, so 0
 * would be wrong. */
TEST(used_memory_is_unknown_if_the_gpu_has_no_memory)
{
    struct fake_root fake;
    void *vendor = open_both(&fake);
    struct gpu_reading reading;

    fake_drm_file(&fake, 1, "lmem_total_bytes", "0\n");
    fake_drm_file(&fake, 1, "lmem_avail_bytes", "0\n");
    assert_int_equal(intel->read(vendor, 0, 1000 * MS, &reading), 0);
    assert_true(reading.memory_used_bytes == UNKNOWN);
    close_both(&fake, vendor);
}

TEST(a_card_without_a_pci_address_has_no_clients)
{
    struct fake_root fake;
    struct gpu_process list[4];
    void *vendor = NULL;

    fake_root_init(&fake);
    fake_drm_card(&fake, 0, "platform-gpu", "0x8086\n");
    fake_drm_card(&fake, 1, "nowhere", "0x8086suffix\n");
    assert_int_equal(intel->open(&fake.root, &vendor, NULL), 0);
    assert_int_equal(intel->device_count(vendor), 1);
    assert_string_equal(intel->device(vendor, 0)->pci_address, "");
    fake_drm_fd(&fake, 41, 4, "/dev/dri/card0", "drm-driver: i915\ndrm-client-id: 5\n");
    assert_int_equal(intel->processes(vendor, &pids, list, 4), 0);
    close_both(&fake, vendor);
}
