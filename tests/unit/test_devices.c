/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/unknown.h"
#include "fake_root.h"
#include "source/host/devices.h"
#include "source/host/diskstats.h"
#include "source/host/net_dev.h"

/* name, sectors read, sectors written, capacity in sectors (0: not in sysfs), disk of a partition */
struct block_device {
    const char *name;
    unsigned read, written, size;
    const char *parent;
};

/* A line of each kind of device. Only some are disks. */
static const struct block_device zoo[] = {
    { "loop0", 1 << 20, 1 << 20, 8, NULL },
    { "ram0", 0, 0, 8, NULL },
    { "sda", 100, 10, 2000, NULL },
    { "sda1", 60, 4, 1000, "sda" },
    { "sda2", 40, 6, 1000, "sda" },
    { "vda", 200, 20, 4000, NULL },
    { "vda1", 200, 20, 4000, "vda" },
    { "xvda", 300, 30, 4000, NULL },
    { "nvme0n1", 400, 40, 8000, NULL },
    { "nvme0n1p1", 400, 40, 8000, "nvme0n1" },
    { "nvme0c0n1", 400, 40, 8000, NULL },
    { "mmcblk0", 500, 50, 100, NULL },
    { "mmcblk0p1", 500, 50, 100, "mmcblk0" },
    { "dm-0", 1000, 100, 2000, NULL },
    { "md0", 2000, 200, 2000, NULL },
    { "md0p1", 2000, 200, 2000, "md0" },
    { "zram0", 3000, 300, 8, NULL },
    { "zd0", 3000, 300, 8, NULL },
    { "sr0", 8, 0, 8, NULL },
    { "fd0", 8, 0, 8, NULL },
    { "bcache0", 9, 9, 8, NULL },
};

static void put_block(struct fake_root *fake, const char *name, const char *file,
                      const char *text)
{
    char path[128];

    (void)snprintf(path, sizeof(path), "sys/devices/block/%s/%s", name, file);
    fake_root_write(fake, path, text);
}

/* sysfs keeps a partition inside its disk, and links to both from one folder. */
static void add_block(struct fake_root *fake, const struct block_device *device)
{
    char link[128], target[128], place[64], size[32];

    if (device->parent)
        (void)snprintf(place, sizeof(place), "%s/%s", device->parent, device->name);
    else
        (void)snprintf(place, sizeof(place), "%s", device->name);
    (void)snprintf(size, sizeof(size), "%u\n", device->size);
    put_block(fake, place, "size", size);
    if (device->parent)
        put_block(fake, place, "partition", "1\n");
    (void)snprintf(link, sizeof(link), "sys/class/block/%s", device->name);
    (void)snprintf(target, sizeof(target), "../../devices/block/%s", place);
    fake_root_link(fake, link, target);
}

static void write_diskstats(struct fake_root *fake, const struct block_device *devices,
                            size_t count)
{
    char text[4096];
    size_t used = 0;

    for (size_t i = 0; i < count; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used,
                                 "   8 %7zu %s 1 2 %u 3 4 5 %u 6 0 7 8 0 0 0 0 0 0\n", i,
                                 devices[i].name, devices[i].read, devices[i].written);
    assert_true(used < sizeof(text));
    fake_root_write(fake, "proc/diskstats", text);
}

static struct devices read_all(struct fake_root *fake)
{
    struct devices devices = { 0 };

    assert_int_equal(devices_read(&fake->root, NULL, &devices), 0);
    return devices;
}

static void build_zoo(struct fake_root *fake)
{
    fake_root_init(fake);
    for (size_t i = 0; i < ARRAY_SIZE(zoo); i++)
        add_block(fake, &zoo[i]);
    write_diskstats(fake, zoo, ARRAY_SIZE(zoo));
}

static void a_whole_disk_is_listed_once(void **state)
{
    static const char *const disks[] = { "mmcblk0", "nvme0n1", "sda", "vda", "xvda" };
    struct fake_root fake;
    struct devices devices;

    (void)state;
    build_zoo(&fake);
    devices = read_all(&fake);
    assert_int_equal(devices.disk_count, ARRAY_SIZE(disks));
    for (size_t i = 0; i < ARRAY_SIZE(disks); i++)
        assert_string_equal(devices.disks[i].name, disks[i]);
    assert_int_equal(devices.disks[2].read_bytes, 100 * 512);
    assert_int_equal(devices.disks[2].written_bytes, 10 * 512);
    devices_done(&devices);
    fake_root_done(&fake);
}

/* What host.h sums up is what is listed here. */
static void the_sum_over_the_list_is_the_sum_of_the_host(void **state)
{
    struct device_table table = { .count = 0 };
    char text[4096];
    struct diskstats sum;
    struct fake_root fake;
    struct devices devices;
    uint64_t read_bytes = 0;

    (void)state;
    build_zoo(&fake);
    devices = read_all(&fake);
    for (size_t i = 0; i < devices.disk_count; i++)
        read_bytes += devices.disks[i].read_bytes;
    assert_true(root_read(&fake.root, text, sizeof(text), "proc/diskstats") > 0);
    assert_int_equal(diskstats_parse(text, &table, &fake.root, &sum), 0);
    assert_int_equal(read_bytes, sum.read_bytes);
    assert_int_equal(read_bytes, (100 + 200 + 300 + 400 + 500) * 512);
    devices_done(&devices);
    fake_root_done(&fake);
}

/* Sectors of /proc and /sys have 512 bytes, on a disk whose own have 4096 too. */
static void a_4kn_disk_counts_in_512_byte_sectors(void **state)
{
    static const struct block_device disk = { "sdb", 8, 16, 1 << 20, NULL };
    struct fake_root fake;
    struct devices devices;

    (void)state;
    fake_root_init(&fake);
    add_block(&fake, &disk);
    put_block(&fake, "sdb", "queue/hw_sector_size", "4096\n");
    put_block(&fake, "sdb", "queue/logical_block_size", "4096\n");
    write_diskstats(&fake, &disk, 1);
    devices = read_all(&fake);
    assert_int_equal(devices.disks[0].read_bytes, 4096);
    assert_int_equal(devices.disks[0].written_bytes, 8192);
    assert_int_equal(devices.disks[0].capacity_bytes, 512u << 20);
    devices_done(&devices);
    fake_root_done(&fake);
}

static void disks_are_described(void **state)
{
    static const struct block_device disks[] = {
        { "nvme0n1", 1, 1, 8, NULL }, { "sda", 1, 1, 8, NULL },  { "vda", 1, 1, 8, NULL },
        { "xvda", 1, 1, 8, NULL },    { "nbd0", 0, 0, 0, NULL }, /* not connected */
    };
    struct fake_root fake;
    struct devices devices;

    (void)state;
    fake_root_init(&fake);
    for (size_t i = 0; i < ARRAY_SIZE(disks); i++)
        add_block(&fake, &disks[i]);
    put_block(&fake, "nvme0n1", "queue/rotational", "0\n");
    put_block(&fake, "nvme0n1", "device/model", "Samsung SSD 970 EVO Plus 1TB            \n");
    put_block(&fake, "nvme0n1", "device/serial", "S4EWNX0R \n");
    put_block(&fake, "sda", "queue/rotational", "1\n");
    put_block(&fake, "sda", "device/vendor", "ATA     \n");
    put_block(&fake, "sda", "device/vpd_pg80", "\1\1\1\010WD-12345");
    put_block(&fake, "vda", "queue/rotational", "0\n");
    put_block(&fake, "vda", "device/vendor", "0x1af4\n");
    put_block(&fake, "vda", "serial", "disk-1");
    write_diskstats(&fake, disks, ARRAY_SIZE(disks));
    devices = read_all(&fake);
    assert_int_equal(devices.disk_count, 4);
    assert_string_equal(devices.disks[0].model, "Samsung SSD 970 EVO Plus 1TB");
    assert_string_equal(devices.disks[0].serial, "S4EWNX0R");
    assert_string_equal(disk_type_name(devices.disks[0].type), "nvme");
    assert_string_equal(devices.disks[1].vendor, "ATA");
    assert_string_equal(devices.disks[1].serial, "WD-12345");
    assert_string_equal(disk_type_name(devices.disks[1].type), "hdd");
    assert_string_equal(devices.disks[2].vendor, "");
    assert_string_equal(devices.disks[2].serial, "disk-1");
    assert_string_equal(disk_type_name(devices.disks[2].type), "ssd");
    assert_null(disk_type_name(devices.disks[3].type));
    assert_string_equal(devices.disks[3].model, "");
    devices_done(&devices);
    fake_root_done(&fake);
}

#define NET_HEADING                                                                  \
    "Inter-|   Receive                                                |  Transmit\n" \
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets\n"

static void interfaces_are_described(void **state)
{
    struct fake_root fake;
    struct devices devices;

    (void)state;
    fake_root_init(&fake);
    fake_root_write(&fake, "proc/net/dev",
                    NET_HEADING "    lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"
                                "  eth1:100 2 3 4 5 6 7 8 200 10 11 12 13 14 15 16\n"
                                "  eth0: 300 2 3 4 5 6 7 8 400 10 11 12 13 14 15 16\n"
                                "docker0: 5 2 3 4 5 6 7 8 6 10 11 12 13 14 15 16\n");
    fake_root_write(&fake, "sys/class/net/eth0/address", "52:54:00:12:34:56\n");
    fake_root_write(&fake, "sys/class/net/eth0/operstate", "up\n");
    fake_root_write(&fake, "sys/class/net/eth0/speed", "10000\n");
    fake_root_write(&fake, "sys/class/net/eth0/mtu", "9000\n");
    fake_root_write(&fake, "sys/class/net/eth0/device/vendor", "0x8086\n");
    fake_root_link(&fake, "sys/class/net/eth0/device/driver", "../../../bus/pci/drivers/ice");
    fake_root_write(&fake, "sys/class/net/eth1/operstate", "down\n");
    fake_root_write(&fake, "sys/class/net/eth1/speed", "-1\n");
    devices = read_all(&fake);
    assert_int_equal(devices.interface_count, 3);
    assert_string_equal(devices.interfaces[0].name, "docker0");
    assert_false(devices.interfaces[0].is_hardware);
    assert_string_equal(devices.interfaces[1].name, "eth0");
    assert_true(devices.interfaces[1].is_hardware);
    assert_string_equal(devices.interfaces[1].mac_address, "52:54:00:12:34:56");
    assert_string_equal(devices.interfaces[1].driver, "ice");
    assert_string_equal(devices.interfaces[1].state, "up");
    assert_int_equal(devices.interfaces[1].speed_mbps, 10000);
    assert_int_equal(devices.interfaces[1].mtu, 9000);
    assert_int_equal(devices.interfaces[1].received_bytes, 300);
    assert_int_equal(devices.interfaces[1].sent_bytes, 400);
    assert_string_equal(devices.interfaces[2].state, "down");
    assert_false(is_known(devices.interfaces[2].speed_mbps));
    assert_string_equal(devices.interfaces[2].driver, "");
    devices_done(&devices);
    fake_root_done(&fake);
}

static void devices_come_and_go(void **state)
{
    static const struct block_device before[] = { { "sda", 100, 10, 8, NULL },
                                                  { "sdb", 900, 900, 8, NULL } };
    static const struct block_device after[] = { { "sda", 150, 10, 8, NULL },
                                                 { "sdc", 70, 7, 8, NULL } };
    struct fake_root fake;
    struct devices first, last;

    (void)state;
    fake_root_init(&fake);
    write_diskstats(&fake, before, ARRAY_SIZE(before));
    fake_root_write(&fake, "proc/net/dev", NET_HEADING "usb0: 1 2 3 4 5 6 7 8 9 10\n");
    first = read_all(&fake);
    write_diskstats(&fake, after, ARRAY_SIZE(after));
    fake_root_write(&fake, "proc/net/dev", NET_HEADING "eth0: 1 2 3 4 5 6 7 8 9 10\n");
    last = read_all(&fake);
    assert_int_equal(last.disk_count, 2);
    assert_non_null(devices_find_disk(&first, "sda"));
    assert_non_null(devices_find_disk(&first, "sdb"));
    assert_null(devices_find_disk(&first, "sdc")); /* plugged in: no growth is known */
    assert_null(devices_find_disk(&last, "sdb"));
    assert_null(devices_find_interface(&first, "eth0"));
    assert_non_null(devices_find_interface(&last, "eth0"));
    devices_done(&first);
    devices_done(&last);
    fake_root_done(&fake);
}

static void a_counter_that_steps_back_gives_no_growth(void **state)
{
    (void)state;
    assert_int_equal(devices_growth(5, 8), 3);
    assert_int_equal(devices_growth(8, 8), 0);
    assert_false(is_known(devices_growth(8, 5)));          /* reset */
    assert_false(is_known(devices_growth(UINT32_MAX, 7))); /* wrapped, on a 32-bit kernel */
    assert_false(is_known(devices_growth(UNKNOWN, 7)));
    assert_false(is_known(devices_growth(7, UNKNOWN)));
}

static void a_machine_that_shows_nothing_has_no_devices(void **state)
{
    struct space space = { 0 };
    struct fake_root fake;
    struct devices devices;

    (void)state;
    fake_root_init(&fake);
    fake_root_write(&fake, "proc/diskstats",
                    "8 0 sda 1 2\ngarbage\n8 16 sdb 1 1 1 1 1 1 1 1\n");
    fake_root_write(&fake, "proc/net/dev", "x\n");
    assert_int_equal(devices_read(&fake.root, &space, &devices), 0);
    assert_int_equal(devices.disk_count, 1); /* a damaged line is passed over */
    assert_int_equal(devices.interface_count, 0);
    assert_int_equal(devices.mount_count, 0);
    devices_done(&devices);
    devices_done(&devices);
    space_done(&space);
    fake_root_done(&fake);
}

/* A partition, a volume on top of it, and what sysfs does not know. */
static void a_mount_leads_to_its_disk(void **state)
{
    static const struct {
        unsigned minor;
        const char *source, *disk;
    } mounts[] = {
        { 2, "/dev/sda2", "sda" },
        { 253, "/dev/mapper/vg-home", "nvme0n1" },
        { 99, "/dev/nvme0n1p1", "nvme0n1" }, /* btrfs has its own numbers */
        { 98, "/dev/mapper/gone", "" },
        { 97, "/dev/../..", "" },
        { 96, "overlay", "" },
        { 95, "zfs:tank", "zfs:tank" },
    };
    struct fake_root fake;

    (void)state;
    build_zoo(&fake);
    fake_root_link(&fake, "sys/dev/block/8:2", "../../devices/block/sda/sda2");
    fake_root_link(&fake, "sys/dev/block/8:253", "../../devices/block/dm-0");
    put_block(&fake, "dm-0", "slaves/nvme0n1p1/size", "1\n");
    for (size_t i = 0; i < ARRAY_SIZE(mounts); i++) {
        char source[64], disk[DEVICE_NAME_SIZE];
        struct mount_item mount = { .major = 8, .minor = mounts[i].minor, .source = source };

        (void)snprintf(source, sizeof(source), "%s", mounts[i].source);
        devices_find_disk_of(&fake.root, &mount, disk);
        assert_string_equal(disk, mounts[i].disk);
    }
    fake_root_done(&fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_disk_is_listed_once),
        cmocka_unit_test(the_sum_over_the_list_is_the_sum_of_the_host),
        cmocka_unit_test(a_4kn_disk_counts_in_512_byte_sectors),
        cmocka_unit_test(disks_are_described),
        cmocka_unit_test(interfaces_are_described),
        cmocka_unit_test(devices_come_and_go),
        cmocka_unit_test(a_counter_that_steps_back_gives_no_growth),
        cmocka_unit_test(a_machine_that_shows_nothing_has_no_devices),
        cmocka_unit_test(a_mount_leads_to_its_disk),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
