/* SPDX-License-Identifier: Apache-2.0 */
/* test_amd_metrics.c - the metrics table of an AMD GPU's firmware, and the figures from it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "fake_drm.h"
#include "source/gpu/amd_metrics.h"
#include "unit_test.h"

#define MS NS_PER_MS
#define PCI "0000:03:00.0"
#define KB 1024ull

/* The layouts as declared by the kernel; the compiler computes the offsets. */
#define START                \
    uint16_t size;           \
    uint8_t format, content; \
    uint16_t temperatures[3], watts, gfx, dram
#define LINKS uint64_t read[8], written[8]
#define CLOCKS uint16_t clocks[8 + 3 * 4 + 1], last
#define BANDWIDTH               \
    uint16_t links[4];          \
    uint32_t gfx_acc, dram_acc; \
    uint64_t pcie_acc, pcie_now, pcie_counts[3]
#define CYCLES uint32_t cycles, residencies[5], lock
#define PARTITIONS(bytes)        \
    uint64_t parts[(bytes) / 8]; \
    uint32_t recoveries

union table {
    char bytes[AMD_METRICS_SIZE];
    struct {
        START;
    } any;
    struct {
        START;
        uint16_t vcn[4];
        uint64_t energy, clock;
        uint32_t throttle, lock;
        BANDWIDTH;
        LINKS;
        uint64_t timestamp;
        CLOCKS;
    } v4;
    struct {
        START;
        uint16_t vcn[4], jpeg[32];
        uint64_t energy, clock;
        uint32_t throttle, lock;
        BANDWIDTH;
        uint32_t naks[2];
        LINKS;
        uint64_t timestamp;
        CLOCKS;
    } v5;
    struct {
        START;
        uint64_t energy, clock;
        CYCLES;
        BANDWIDTH;
        uint32_t naks[2];
        LINKS;
        uint64_t timestamp;
        CLOCKS;
        PARTITIONS(8 * (32 + 64 + 8 + 64));
    } v6;
    struct {
        START;
        uint64_t bandwidth, energy, clock;
        CYCLES;
        BANDWIDTH;
        uint32_t naks[2];
        LINKS;
        uint16_t status[8], padding;
        uint64_t timestamp;
        CLOCKS;
        PARTITIONS(8 * (32 + 64 + 8 + 2 * 64));
    } v7;
    struct {
        START;
        uint64_t bandwidth, energy, clock;
        CYCLES;
        BANDWIDTH;
        uint32_t naks[2];
        LINKS;
        uint16_t status[8], padding;
        uint64_t timestamp;
        CLOCKS;
        PARTITIONS(8 * (32 + 80 + 8 + 5 * 64));
    } v8;
};

struct place {
    uint8_t content;
    size_t size, energy, read, written;
};

#define PLACE(number)                                                                       \
    {                                                                                       \
        number, sizeof(((union table *)0)->v##number),                                      \
            offsetof(union table, v##number.energy), offsetof(union table, v##number.read), \
            offsetof(union table, v##number.written)                                        \
    }
static const struct place places[] = { PLACE(4), PLACE(5), PLACE(6), PLACE(7), PLACE(8) };

/* Two of the eight links exist; `read` and `written` are the kilobytes on each link. */
static void make_table(union table *table, const struct place *place, uint64_t joules,
                       uint16_t dram, uint64_t read, uint64_t written)
{
    uint64_t energy = joules << 16;

    memset(table, 0xff, sizeof(*table));
    table->any.size = (uint16_t)place->size;
    table->any.format = 1;
    table->any.content = place->content;
    table->any.dram = dram;
    memcpy(table->bytes + place->energy, &energy, sizeof(energy));
    for (size_t i = 0; i < 2; i++) {
        memcpy(table->bytes + place->read + i * 8, &read, 8);
        memcpy(table->bytes + place->written + i * 8, &written, 8);
    }
}

TEST(each_table_revision_has_its_own_layout)
{
    struct amd_metrics metrics;
    union table table;

    for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
        make_table(&table, &places[i], 3, 45, 7, 9);
        assert_int_equal(amd_metrics_parse(table.bytes, places[i].size, &metrics), 0);
        assert_int_equal(metrics.energy_uj, 3000000);
        assert_int_equal(metrics.dram_percent, 45);
        assert_int_equal(metrics.xgmi_read_bytes, 14 * KB);
        assert_int_equal(metrics.xgmi_written_bytes, 18 * KB);
    }
}

TEST(a_short_or_damaged_table_is_refused)
{
    struct amd_metrics metrics;
    union table table;

    for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
        make_table(&table, &places[i], 3, 45, 7, 9);
        for (size_t size = 0; size < places[i].size; size++)
            assert_int_equal(amd_metrics_parse(table.bytes, size, &metrics), -EBADMSG);
        assert_int_equal(amd_metrics_parse(table.bytes, places[i].size + 1, &metrics),
                         -EBADMSG);
        table.any.size =
            (uint16_t)(places[i].size - 8); /* as in an unreleased variant of 1.6 */
        assert_int_equal(amd_metrics_parse(table.bytes, places[i].size - 8, &metrics),
                         -EBADMSG);
    }
}

TEST(unknown_table_revisions_are_not_supported)
{
    static const uint8_t others[][2] = { { 1, 0 }, { 1, 3 }, { 1, 9 },    { 0, 4 },
                                         { 2, 4 }, { 3, 0 }, { 255, 255 } };
    struct amd_metrics metrics;
    union table table;

    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        make_table(&table, &places[0], 3, 45, 7, 9);
        table.any.format = others[i][0];
        table.any.content = others[i][1];
        assert_int_equal(amd_metrics_parse(table.bytes, places[0].size, &metrics), -ENOTSUP);
    }
}

TEST(fields_that_are_not_supported_are_unknown)
{
    static const uint64_t most = UINT64_MAX - 1;
    struct amd_metrics metrics;
    union table table;

    make_table(&table, &places[3], 0, UINT16_MAX, UINT64_MAX, UINT64_MAX);
    memset(table.bytes + places[3].energy, 0xff, sizeof(uint64_t));
    assert_int_equal(amd_metrics_parse(table.bytes, places[3].size, &metrics), 0);
    assert_false(is_known(metrics.energy_uj));
    assert_false(is_known(metrics.dram_percent));
    assert_false(is_known(metrics.xgmi_read_bytes));
    assert_false(is_known(metrics.xgmi_written_bytes));
    make_table(&table, &places[3], 0, 101, most, 1); /* impossible values */
    memcpy(table.bytes + places[3].energy, &most, sizeof(most));
    assert_int_equal(amd_metrics_parse(table.bytes, places[3].size, &metrics), 0);
    assert_false(is_known(metrics.energy_uj));
    assert_false(is_known(metrics.dram_percent));
    assert_false(is_known(metrics.xgmi_read_bytes));
    assert_int_equal(metrics.xgmi_written_bytes, 2 * KB);
}

/* ---- the vendor ------------------------------------------------------------------ */

struct machine {
    struct fake_root fake;
    void *vendor;
};

static void write_table(struct machine *machine, const union table *table, size_t size)
{
    static const char path[] = "sys/class/drm/card1/device/gpu_metrics";
    int fd;

    fake_drm_file(&machine->fake, 1, "device/gpu_metrics", "");
    fd = openat(machine->fake.root.fd, path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, table, size), size);
    close(fd);
}

static void put_table(struct machine *machine, uint64_t joules, uint16_t dram, uint64_t read,
                      uint64_t written)
{
    union table table;

    make_table(&table, &places[3], joules, dram, read, written);
    write_table(machine, &table, places[3].size);
}

static void set_up(struct machine *machine)
{
    fake_root_init(&machine->fake);
    fake_drm_card(&machine->fake, 1, PCI, "0x1002\n");
    fake_drm_file(&machine->fake, 1, "device/gpu_busy_percent", "40\n");
    machine->vendor = NULL;
}

static void open_it(struct machine *machine)
{
    assert_int_equal(gpu_amd.open(&machine->fake.root, &machine->vendor, NULL), 0);
}

static void tear_down(struct machine *machine)
{
    gpu_amd.close(machine->vendor);
    fake_root_done(&machine->fake);
}

static struct gpu_work work(struct machine *machine, uint64_t now_ns, bool is_used,
                            bool is_quick)
{
    struct gpu_work work;

    gpu_amd.work(machine->vendor, 0, now_ns, is_used, is_quick, &work);
    return work;
}

static uint64_t energy_uj(struct machine *machine)
{
    struct gpu_reading reading;

    assert_int_equal(gpu_amd.read(machine->vendor, 0, 1000 * MS, &reading), 0);
    return reading.energy.microjoules;
}

TEST(work_is_counted_while_the_job_uses_the_gpu)
{
    struct machine machine;
    struct gpu_work now;

    set_up(&machine);
    put_table(&machine, 0, 90, 100, 1000);
    open_it(&machine);
    now = work(&machine, 0, false, false);
    assert_false(is_known(now.counts[GPU_WORK_DRAM]));
    assert_string_equal(now.reason, "counted only while the job uses the GPU");
    put_table(&machine, 0, 90, 200, 2000);
    (void)work(&machine, 1000 * MS, true, true); /* counting starts here */
    put_table(&machine, 0, 30, 210, 2100);
    assert_int_equal(work(&machine, 2000 * MS, true, true).covered_ns, 0); /* not read */
    now = work(&machine, 3000 * MS, true, false);
    assert_int_equal(now.covered_ns, 2000 * MS);
    assert_int_equal(now.counts[GPU_WORK_DRAM], 600 * MS);
    assert_int_equal(now.counts[GPU_WORK_NVLINK_RECEIVED], 20 * KB);
    assert_int_equal(now.counts[GPU_WORK_NVLINK_SENT], 200 * KB);
    put_table(&machine, 0, 50, 220, 2100);
    now = work(&machine, 4000 * MS, false, false); /* no longer used: read once more */
    assert_int_equal(now.counts[GPU_WORK_DRAM], 1100 * MS);
    put_table(&machine, 0, 50, 999, 9999); /* work of other jobs is not counted */
    now = work(&machine, 5000 * MS, false, false);
    assert_int_equal(now.covered_ns, 3000 * MS);
    assert_int_equal(now.counts[GPU_WORK_NVLINK_RECEIVED], 40 * KB);
    (void)work(&machine, 6000 * MS, true, false);
    now = work(&machine, 7000 * MS, true, false);
    assert_int_equal(now.covered_ns, 4000 * MS);
    assert_int_equal(now.counts[GPU_WORK_NVLINK_RECEIVED], 40 * KB);
    assert_int_equal(now.counts[GPU_WORK_DRAM], 1600 * MS);
    tear_down(&machine);
}

/* AMD reports busy engines, not active multiprocessors, and PCIe bandwidth, not bytes. */
TEST(figures_that_amd_does_not_count_are_unknown)
{
    static const enum gpu_work_kind others[] = {
        GPU_WORK_SM,   GPU_WORK_OCCUPANCY, GPU_WORK_TENSOR,    GPU_WORK_FP64,
        GPU_WORK_FP32, GPU_WORK_FP16,      GPU_WORK_PCIE_SENT, GPU_WORK_PCIE_RECEIVED,
    };
    struct machine machine;
    struct gpu_work now;

    set_up(&machine);
    put_table(&machine, 0, 90, 100, 1000);
    open_it(&machine);
    (void)work(&machine, 1000 * MS, true, false);
    now = work(&machine, 2000 * MS, true, false);
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        assert_false(is_known(now.counts[others[i]]));
    assert_string_equal(now.reason, "the driver does not report it");
    tear_down(&machine);
}

/* The device has no links to other GPUs. */
TEST(a_missing_field_does_not_affect_the_others)
{
    struct machine machine;
    struct gpu_work now;

    set_up(&machine);
    put_table(&machine, 0, 50, UINT64_MAX, UINT64_MAX);
    open_it(&machine);
    (void)work(&machine, 1000 * MS, true, false);
    now = work(&machine, 2000 * MS, true, false);
    assert_int_equal(now.counts[GPU_WORK_DRAM], 500 * MS);
    assert_false(is_known(now.counts[GPU_WORK_NVLINK_SENT]));
    put_table(&machine, 0, UINT16_MAX, 7, 7);
    now = work(&machine, 3000 * MS, true, false);
    assert_false(is_known(now.counts[GPU_WORK_DRAM])); /* a second is missing from the count */
    assert_false(is_known(now.counts[GPU_WORK_NVLINK_SENT]));
    tear_down(&machine);
}

TEST(the_reason_is_given_if_a_table_cannot_be_used)
{
    struct machine machine;
    union table table;
    struct gpu_work now;

    set_up(&machine);
    open_it(&machine);
    assert_false(gpu_amd.device(machine.vendor, 0)->counts_work);
    now = work(&machine, 0, true, false); /* the table is missing */
    assert_string_equal(now.reason, "the driver's gpu_metrics is missing or damaged");
    gpu_amd.close(machine.vendor);
    make_table(&table, &places[0], 0, 1, 1, 1);
    table.any.content = 3;
    write_table(&machine, &table, 120);
    open_it(&machine);
    now = work(&machine, 0, true, false);
    assert_string_equal(now.reason, "the driver reports it for MI300 and later devices");
    gpu_amd.close(machine.vendor);
    put_table(&machine, 0, 90, 100, 1000);
    open_it(&machine);
    assert_true(gpu_amd.device(machine.vendor, 0)->counts_work);
    (void)work(&machine, 0, true, false);
    assert_true(is_known(work(&machine, 1000 * MS, true, false).counts[GPU_WORK_DRAM]));
    make_table(&table, &places[3], 0, 1, 1, 1);
    write_table(&machine, &table, 100);
    now = work(&machine, 2000 * MS, true, false);
    assert_false(is_known(now.counts[GPU_WORK_DRAM]));
    put_table(&machine, 0, 90, 100, 1000); /* a valid table again, which is not read any more */
    (void)work(&machine, 3000 * MS, true, false);
    now = work(&machine, 4000 * MS, true, false);
    assert_false(is_known(now.counts[GPU_WORK_DRAM]));
    assert_string_equal(now.reason, "the driver's gpu_metrics is missing or damaged");
    tear_down(&machine);
}

TEST(energy_is_counted_from_the_start)
{
    struct machine machine;

    set_up(&machine);
    put_table(&machine, 1000, 0, 0, 0);
    open_it(&machine);
    put_table(&machine, 1007, 0, 0, 0);
    assert_int_equal(energy_uj(&machine), 7000000);
    put_table(&machine, 2, 0, 0, 0); /* the device was reset */
    assert_int_equal(energy_uj(&machine), 9000000);
    tear_down(&machine);
}

TEST(the_energy_sensor_is_preferred_to_the_table)
{
    struct machine machine;

    set_up(&machine);
    put_table(&machine, 1000, 0, 0, 0);
    fake_drm_file(&machine.fake, 1, "device/hwmon/hwmon5/energy1_input", "5000000\n");
    open_it(&machine);
    put_table(&machine, 1007, 0, 0, 0);
    fake_drm_file(&machine.fake, 1, "device/hwmon/hwmon5/energy1_input", "6000000\n");
    assert_int_equal(energy_uj(&machine), 1000000);
    tear_down(&machine);
}

TEST(a_sleeping_device_is_not_woken)
{
    struct machine machine;

    set_up(&machine);
    fake_drm_file(&machine.fake, 1, "device/power/runtime_status", "suspended\n");
    open_it(&machine); /* must not read the missing table, which would never be read again */
    (void)work(&machine, 0, true, false);
    put_table(&machine, 0, 90, 100, 1000);
    fake_drm_file(&machine.fake, 1, "device/power/runtime_status", "active\n");
    (void)work(&machine, 1000 * MS, true, false);
    assert_int_equal(work(&machine, 2000 * MS, true, false).counts[GPU_WORK_DRAM], 900 * MS);
    tear_down(&machine);
}
