/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/compiler.h"
#include "base/parse.h"
#include "fake_root.h"
#include "source/host/devices.h"
#include "unit_test.h"

/* ---- device table ---------------------------------------------------------- */

static struct device_table known_devices;
static int calls;

/* Parses a line with a name and two numbers. */
static int parse_name(const char **cursor, char name[DEVICE_NAME_SIZE])
{
    return parse_word(cursor, name, DEVICE_NAME_SIZE) < 0 ? -EBADMSG : 0;
}

static int parse_bytes(const char *cursor, struct device_bytes *ret)
{
    return parse_u64(&cursor, &ret->in) < 0 || parse_u64(&cursor, &ret->out) < 0 ? -EBADMSG : 0;
}

/* The first letter of a name selects the class: real, virtual or ignored. */
static enum device_class classify(UNUSED const struct root *root, const char *name)
{
    calls++;
    return name[0] == 'r' ? DEVICE_REAL : name[0] == 'v' ? DEVICE_VIRTUAL : DEVICE_IGNORED;
}

static int read_text(const char *text, struct device_bytes *ret)
{
    static const struct device_kind kind = { parse_name, parse_bytes, classify };
    struct root root = ROOT_CLOSED;

    return device_table_read(&known_devices, &kind, &root, text, ret);
}

static void assert_sum(const char *text, uint64_t in, uint64_t out)
{
    struct device_bytes sum;

    assert_int_equal(read_text(text, &sum), 0);
    assert_int_equal(sum.in, in);
    assert_int_equal(sum.out, out);
}

static int begin(void **state)
{
    device_table_init(&known_devices);
    calls = 0;
    return 0;
}

TEST_WITH(a_device_is_classified_once, begin, NULL)
{
    for (int i = 0; i < 3; i++)
        assert_sum("r0 5 1\nv0 7 7\ni0 9 9\n", 5, 1);
    assert_int_equal(calls, 3);
    assert_true(known_devices.is_exact);
}

TEST_WITH(earlier_counts_of_a_new_device_are_not_counted_as_growth, begin, NULL)
{
    assert_sum("r0 100 10\n", 100, 10);
    assert_sum("r9 7000 700\nr0 101 10\n", 101, 10);
    assert_false(known_devices.is_exact);
    assert_sum("r9 7005 700\nr0 102 11\n", 107, 11);
}

TEST_WITH(a_removed_device_does_not_reduce_the_sum, begin, NULL)
{
    assert_sum("r0 100 10\nr1 1000 1000\nr2 5 5\n", 1105, 1015);
    assert_sum("r0 107 10\nr2 6 5\n", 1113, 1015);
    assert_false(known_devices.is_exact);
    assert_sum("r2 7 5\n", 1114, 1015);
    assert_sum("", 1114, 1015);
    assert_sum("r0 110 10\nr1 1 1\n", 1114, 1015); /* r0 and r1 are back */
    assert_sum("r0 111 10\nr1 2 2\n", 1116, 1016);
}

TEST_WITH(a_device_may_replace_another_in_the_list, begin, NULL)
{
    assert_sum("r0 100 0\nr1 10 0\nr2 1 0\n", 111, 0);
    assert_sum("r0 100 0\nr9 5000 0\nr2 2 0\n", 112, 0);
    assert_sum("r2 3 0\nr0 101 0\nr9 5001 0\n", 115, 0); /* in another order */
    assert_int_equal(calls, 4);
}

TEST_WITH(a_counter_reset_is_not_counted_as_growth, begin, NULL)
{
    assert_sum("r0 100 10\nr1 7 7\n", 107, 17);
    assert_sum("r0 3 12\nr1 8 8\n", 108, 20);
    assert_false(known_devices.is_exact);
    assert_sum("r0 4 12\nr1 8 8\n", 109, 20);
}

TEST_WITH(ignored_devices_do_not_make_the_sum_inexact, begin, NULL)
{
    assert_sum("r0 100 10\nv0 7 7\ni0 9 9\n", 100, 10);
    assert_sum("r0 101 10\nv1 9 9\nv2 1 1\n", 101, 10);
    assert_sum("r0 102 10\nv1 1 1\ni5 1 1\n", 102, 10);
    assert_true(known_devices.is_exact);
}

TEST_WITH(devices_of_the_class_counted_first_are_still_counted_later, begin, NULL)
{
    struct device_bytes sum = { 5, 5 };

    assert_int_equal(read_text("", &sum), -ENOENT);
    assert_int_equal(read_text("i0 1 1\n", &sum), -ENOENT);
    assert_int_equal(sum.in, 5); /* untouched on failure */
    assert_sum("i0 1 1\nv0 50 5\n", 50, 5);
    assert_true(known_devices.is_exact);
    assert_sum("r0 900 90\nv0 51 5\n", 51, 5);
}

TEST_WITH(a_damaged_reading_changes_no_sum, begin, NULL)
{
    struct device_bytes sum;

    assert_sum("r0 100 10\nr1 1 1\n", 101, 11);
    assert_int_equal(read_text("r0 105 10\nr1 x\n", &sum), -EBADMSG);
    assert_int_equal(read_text("r7 x\n", &sum), -EBADMSG);
    assert_sum("r0 107 10\nr1 2 2\n", 109, 12);
    assert_true(known_devices.is_exact);
}

TEST_WITH(an_unknown_sum_stays_unknown, begin, NULL)
{
    assert_sum("r0 18446744073709551615 5\n", UNKNOWN, 5);
    assert_sum("r0 18446744073709551615 6\n", UNKNOWN, 6);
}

/* Returns a text with `count` real devices whose counters are 1. The caller frees it. */
static char *make_lines(size_t count)
{
    char *text = malloc(count * 20 + 1), *end = text;

    assert_non_null(text);
    for (size_t i = 0; i < count; i++)
        end += snprintf(end, 20, "r%zu 1 1\n", i);
    return text;
}

TEST_WITH(more_devices_than_fit_are_refused, begin, NULL)
{
    char *text = make_lines(DEVICE_TABLE_SIZE);
    struct device_bytes sum;

    assert_sum(text, DEVICE_TABLE_SIZE, DEVICE_TABLE_SIZE);
    assert_sum(text, DEVICE_TABLE_SIZE, DEVICE_TABLE_SIZE);
    assert_int_equal(calls, DEVICE_TABLE_SIZE);
    free(text);
    text = make_lines(DEVICE_TABLE_SIZE + 1);
    assert_int_equal(read_text(text, &sum), -E2BIG);
    free(text);
    assert_sum("r5000 9 9\nr0 2 2\n", DEVICE_TABLE_SIZE + 1, DEVICE_TABLE_SIZE + 1);
}

/* ---- diskstats ------------------------------------------------------------- */

#define TAIL " 7 0 13484 22857 3520 1 64752 111 347 7\n"

static int parse_disks(const struct root *root, const char *text, struct device_bytes *ret)
{
    struct device_table table;

    device_table_init(&table);
    return diskstats_parse(text, &table, root, ret);
}

TEST(disks_are_recognized_by_name)
{
    static const char *const disks[] = { "sda",     "sdzz", "vda",      "xvda",       "nvme0n1",
                                         "mmcblk0", "nbd0", "nvme10n2", "cciss/c0d0", "dasda",
                                         "",        "p",    "1",        "p1",         "nvme",
                                         "sd",      "..",   "../..",    "%s%n",       "/",
                                         "\xff" };
    static const char *const others[] = {
        "sda1",   "vda12",  "xvda1",   "hdb3",         "nvme0n1p1", "mmcblk0p1",
        "nbd0p2", "loop0",  "loop0p1", "ram0",         "zram0",     "dm-0",
        "md0",    "md127",  "md127p1", "sr0",          "nvme0c1n1", "bcache0",
        "drbd10", "zd16p1", "fd0",     "cciss/c0d0p1", "1p1",
    };

    for (size_t i = 0; i < ARRAY_SIZE(disks); i++)
        assert_int_equal(disk_class_by_name(disks[i]), DEVICE_REAL);
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        assert_int_equal(disk_class_by_name(others[i]), DEVICE_IGNORED);
}

FAKE_ROOT_TEST(sysfs_takes_precedence_over_the_device_name)
{
    struct fake_root *fake = *state;

    fake_root_write(fake, "sys/class/block/xvda1/size", "1\n"); /* a whole disk, on old EC2 */
    fake_root_write(fake, "sys/class/block/odd/partition", "1\n");
    fake_root_write(fake, "sys/class/block/cciss!c0d0p1/partition", "1\n");
    fake_root_write(fake, "sys/class/block/dm-0/size", "1\n");
    assert_int_equal(disk_classify(&fake->root, "xvda1"), DEVICE_REAL);
    assert_int_equal(disk_classify(&fake->root, "odd"), DEVICE_IGNORED);
    assert_int_equal(disk_classify(&fake->root, "cciss/c0d0p1"), DEVICE_IGNORED);
    assert_int_equal(disk_classify(&fake->root, "dm-0"), DEVICE_IGNORED);
    assert_int_equal(disk_classify(&fake->root, "sda1"), DEVICE_IGNORED); /* unknown to sysfs */
    assert_int_equal(disk_classify(&fake->root, "sda"), DEVICE_REAL);
}

FAKE_ROOT_TEST(bytes_of_stacked_disks_are_counted_once)
{
    struct fake_root *fake = *state;
    struct device_bytes stats;

    assert_int_equal(parse_disks(&fake->root,
                                 "   7       0 loop0 9 9 1000 9 9 9 1000" TAIL
                                 "   8       0 sda 27143 7058 100 21867 2992 6418 10" TAIL
                                 "   8       1 sda1 27143 7058 100 21867 2992 6418 10" TAIL
                                 " 259       0 nvme0n1 1 2 20 3 4 5 2" TAIL
                                 " 259       1 nvme0n1p1 1 2 20 3 4 5 2" TAIL
                                 " 253       0 dm-0 1 2 100 3 4 5 10" TAIL
                                 "   9       0 md0 1 2 100 3 4 5 10" TAIL,
                                 &stats),
                     0);
    assert_int_equal(stats.in, 120 * 512);
    assert_int_equal(stats.out, 12 * 512);
}

FAKE_ROOT_TEST(without_disks_the_sum_is_unknown)
{
    struct fake_root *fake = *state;
    struct device_bytes stats = { .in = 5 };

    assert_int_equal(parse_disks(&fake->root, "", &stats), -ENOENT);
    assert_int_equal(parse_disks(&fake->root, " 7 0 loop0 9 9 10 9 9 9 10" TAIL, &stats),
                     -ENOENT);
    assert_int_equal(stats.in, 5); /* untouched on failure */
}

FAKE_ROOT_TEST(a_sum_that_does_not_fit_is_unknown)
{
    struct fake_root *fake = *state;
    struct device_bytes stats;

    assert_int_equal(
        parse_disks(&fake->root, "8 0 sda 1 1 18446744073709551615 1 1 1 2" TAIL, &stats), 0);
    assert_true(stats.in == UNKNOWN);
    assert_int_equal(stats.out, 1024);
}

FAKE_ROOT_TEST(damaged_diskstats_are_refused)
{
    struct fake_root *fake = *state;
    static const char *const damaged[] = {
        "\n",
        "8",
        "8 0\n",
        "8 0 sda\n",
        "8 0 sda 1 2 3 4 5 6\n",
        "8 0 sda 1 2 3 4 5 6 7",
        "8 0 sda 1 2 x 4 5 6 7 8\n",
        "8 0 sda 1 2 -3 4 5 6 7 8\n",
        "8 x sda 1 2 3 4 5 6 7 8\n",
        "8 0 sda 1 2 3 4 5 6 7 8\n8 16 sd",
        "8 0 a-name-that-is-longer-than-any-the-kernel-gives 1 2 3 4 5 6 7 8\n",
    };
    struct device_bytes stats = { .in = 5 };

    for (size_t i = 0; i < ARRAY_SIZE(damaged); i++)
        assert_int_equal(parse_disks(&fake->root, damaged[i], &stats), -EBADMSG);
    assert_int_equal(stats.in, 5); /* untouched on failure */
}

/* ---- net dev --------------------------------------------------------------- */

#define HEADING                                                  \
    "Inter-|   Receive                            |  Transmit\n" \
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes packets\n"

static int parse_interfaces(const struct root *root, const char *text, struct device_bytes *ret)
{
    struct device_table table;

    device_table_init(&table);
    return net_dev_parse(text, &table, root, ret);
}

FAKE_ROOT_TEST(only_hardware_interfaces_are_counted_if_there_are_any)
{
    struct fake_root *fake = *state;
    struct device_bytes net;

    fake_root_write(fake, "sys/class/net/eth0/device/vendor", "x");
    fake_root_write(fake, "sys/class/net/docker0/mtu", "1500");
    assert_int_equal(
        parse_interfaces(&fake->root,
                         HEADING "    lo:    3267      29 0 0 0 0 0 0 3267 29 0 0 0 0 0 0\n"
                                 "  eth0: 9978350     486 0 0 0 0 0 0 34045 437 0 0 0 0 0 0\n"
                                 "docker0:1000 1 0 0 0 0 0 0 2000 1 0 0 0 0 0 0\n",
                         &net),
        0);
    assert_int_equal(net.in, 9978350);
    assert_int_equal(net.out, 34045);
}

FAKE_ROOT_TEST(in_a_container_all_interfaces_except_loopback_are_counted)
{
    struct fake_root *fake = *state;
    struct device_bytes net;

    assert_int_equal(parse_interfaces(&fake->root,
                                      HEADING "lo: 9 0 0 0 0 0 0 0 9 0 0 0 0 0 0 0\n"
                                              "eth0: 10 0 0 0 0 0 0 0 1 0 0 0 0 0 0 0\n"
                                              "eth1: 20 0 0 0 0 0 0 0 2 0 0 0 0 0 0 0\n",
                                      &net),
                     0);
    assert_int_equal(net.in, 30);
    assert_int_equal(net.out, 3);
}

/* The bytes of the bridge would otherwise appear as a burst. */
FAKE_ROOT_TEST(virtual_interfaces_do_not_replace_a_removed_card)
{
    struct fake_root *fake = *state;
    struct device_table table;
    struct device_bytes net;

    device_table_init(&table);
    fake_root_write(fake, "sys/class/net/eth0/device/vendor", "x");
    assert_int_equal(net_dev_parse(HEADING "eth0: 10 0 0 0 0 0 0 0 1 0 0 0 0 0 0 0\n"
                                           "br0: 9999 0 0 0 0 0 0 0 9999 0 0 0 0 0 0 0\n",
                                   &table, &fake->root, &net),
                     0);
    assert_int_equal(net.in, 10);
    assert_int_equal(net_dev_parse(HEADING "br0: 9999 0 0 0 0 0 0 0 9999 0 0 0 0 0 0 0\n",
                                   &table, &fake->root, &net),
                     0);
    assert_int_equal(net.in, 10);
}

FAKE_ROOT_TEST(traffic_of_a_card_and_its_master_is_counted_once)
{
    struct fake_root *fake = *state;
    struct device_bytes net;

    fake_root_write(fake, "sys/class/net/eth0/device/vendor", "x");
    fake_root_write(fake, "sys/class/net/enP1/device/vendor", "x");
    fake_root_link(fake, "sys/class/net/enP1/master", "../eth0");
    assert_int_equal(parse_interfaces(&fake->root,
                                      HEADING "eth0: 10 0 0 0 0 0 0 0 1 0 0 0 0 0 0 0\n"
                                              "enP1: 9 0 0 0 0 0 0 0 1 0 0 0 0 0 0 0\n",
                                      &net),
                     0);
    assert_int_equal(net.in, 10);
}

FAKE_ROOT_TEST(an_interface_name_may_contain_colons_bars_and_dots)
{
    struct fake_root *fake = *state;
    struct device_bytes net;

    assert_int_equal(parse_interfaces(&fake->root,
                                      HEADING "eth0:1: 10 0 0 0 0 0 0 0 1 0 0 0 0 0 0 0\n"
                                              "a|b:20 0 0 0 0 0 0 0 2 0 0 0 0 0 0 0\n"
                                              "%s%n: 40 0 0 0 0 0 0 0 4 0 0 0 0 0 0 0\n"
                                              "..: 80 0 0 0 0 0 0 0 8 0 0 0 0 0 0 0\n",
                                      &net),
                     0);
    assert_int_equal(net.in, 150);
    assert_int_equal(net.out, 15);
}

FAKE_ROOT_TEST(network_traffic_is_unknown_with_only_a_loopback_interface)
{
    struct fake_root *fake = *state;
    struct device_bytes net = { .out = 5 };

    assert_int_equal(parse_interfaces(&fake->root, "", &net), -ENOENT);
    assert_int_equal(parse_interfaces(&fake->root, HEADING, &net), -ENOENT);
    assert_int_equal(
        parse_interfaces(&fake->root, HEADING "lo: 9 0 0 0 0 0 0 0 9 0 0 0 0 0 0 0\n", &net),
        -ENOENT);
    assert_int_equal(net.out, 5); /* untouched on failure */
}

FAKE_ROOT_TEST(damaged_interface_lines_are_refused)
{
    struct fake_root *fake = *state;
    static const char *const damaged[] = {
        HEADING "eth0\n",
        HEADING "eth0:\n",
        HEADING ": 1 2 3\n",
        HEADING "eth0: 10 0 0 0 0 0 0 0\n",
        HEADING "eth0: 10 0 0 0 0 0 0 0 1 0 0",
        HEADING "eth0: x 0 0 0 0 0 0 0 1 0\n",
        HEADING "eth0: 10 0 0 0 0 0 0 0 -1 0\n",
        HEADING "eth0: 99999999999999999999 0 0 0 0 0 0 0 1 0\n",
        HEADING "a-name-that-is-longer-than-any-the-kernel-gives: 1 0 0 0 0 0 0 0 1\n",
    };
    struct device_bytes net = { .out = 5 };

    for (size_t i = 0; i < ARRAY_SIZE(damaged); i++)
        assert_int_equal(parse_interfaces(&fake->root, damaged[i], &net), -EBADMSG);
    assert_int_equal(net.out, 5); /* untouched on failure */
}

/* ---- devices --------------------------------------------------------------- */

/* Sizes are in sectors of 512 bytes. `parent` is the disk of a partition. */
struct block_device {
    const char *name;
    unsigned read, written, size;
    const char *parent;
};

/* Block devices of all kinds; only some of them are whole disks. */
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

/* In sysfs, the folder of a partition is inside the folder of its disk; class/block links to both. */
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

TEST(a_whole_disk_is_listed_once)
{
    static const char *const disks[] = { "mmcblk0", "nvme0n1", "sda", "vda", "xvda" };
    struct fake_root fake;
    struct devices devices;

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

/* The total is the sum that diskstats_parse() returns for the host. */
TEST(the_listed_devices_add_up_to_the_total_of_the_host)
{
    struct device_table table = { .count = 0 };
    char text[4096];
    struct device_bytes sum;
    struct fake_root fake;
    struct devices devices;
    uint64_t read_bytes = 0;

    build_zoo(&fake);
    devices = read_all(&fake);
    for (size_t i = 0; i < devices.disk_count; i++)
        read_bytes += devices.disks[i].read_bytes;
    assert_true(root_read(&fake.root, text, sizeof(text), "proc/diskstats") > 0);
    assert_int_equal(diskstats_parse(text, &table, &fake.root, &sum), 0);
    assert_int_equal(read_bytes, sum.in);
    assert_int_equal(read_bytes, (100 + 200 + 300 + 400 + 500) * 512);
    devices_done(&devices);
    fake_root_done(&fake);
}

/* /proc and /sys count sectors of 512 bytes, even if the disk's sectors have 4096 bytes. */
FAKE_ROOT_TEST(a_4kn_disk_is_counted_in_512_byte_sectors)
{
    struct fake_root *fake = *state;
    static const struct block_device disk = { "sdb", 8, 16, 1 << 20, NULL };
    struct devices devices;

    add_block(fake, &disk);
    put_block(fake, "sdb", "queue/hw_sector_size", "4096\n");
    put_block(fake, "sdb", "queue/logical_block_size", "4096\n");
    write_diskstats(fake, &disk, 1);
    devices = read_all(fake);
    assert_int_equal(devices.disks[0].read_bytes, 4096);
    assert_int_equal(devices.disks[0].written_bytes, 8192);
    assert_int_equal(devices.disks[0].capacity_bytes, 512u << 20);
    devices_done(&devices);
}

FAKE_ROOT_TEST(facts_about_disks_are_listed)
{
    struct fake_root *fake = *state;
    static const struct block_device disks[] = {
        { "nvme0n1", 1, 1, 8, NULL }, { "sda", 1, 1, 8, NULL },  { "vda", 1, 1, 8, NULL },
        { "xvda", 1, 1, 8, NULL },    { "nbd0", 0, 0, 0, NULL }, /* not connected */
    };
    struct devices devices;

    for (size_t i = 0; i < ARRAY_SIZE(disks); i++)
        add_block(fake, &disks[i]);
    put_block(fake, "nvme0n1", "queue/rotational", "0\n");
    put_block(fake, "nvme0n1", "device/model", "Samsung SSD 970 EVO Plus 1TB            \n");
    put_block(fake, "nvme0n1", "device/serial", "S4EWNX0R \n");
    put_block(fake, "sda", "queue/rotational", "1\n");
    put_block(fake, "sda", "device/vendor", "ATA     \n");
    put_block(fake, "sda", "device/vpd_pg80", "\1\1\1\010WD-12345");
    put_block(fake, "vda", "queue/rotational", "0\n");
    put_block(fake, "vda", "device/vendor", "0x1af4\n");
    put_block(fake, "vda", "serial", "disk-1");
    write_diskstats(fake, disks, ARRAY_SIZE(disks));
    devices = read_all(fake);
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
}

#define NET_HEADING                                                                  \
    "Inter-|   Receive                                                |  Transmit\n" \
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets\n"

TEST(facts_about_interfaces_are_listed)
{
    struct fake_root fake;
    struct devices devices;

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

FAKE_ROOT_TEST(devices_may_be_added_and_removed)
{
    struct fake_root *fake = *state;
    static const struct block_device before[] = { { "sda", 100, 10, 8, NULL },
                                                  { "sdb", 900, 900, 8, NULL } };
    static const struct block_device after[] = { { "sda", 150, 10, 8, NULL },
                                                 { "sdc", 70, 7, 8, NULL } };
    struct devices first, last;

    write_diskstats(fake, before, ARRAY_SIZE(before));
    fake_root_write(fake, "proc/net/dev", NET_HEADING "usb0: 1 2 3 4 5 6 7 8 9 10\n");
    first = read_all(fake);
    write_diskstats(fake, after, ARRAY_SIZE(after));
    fake_root_write(fake, "proc/net/dev", NET_HEADING "eth0: 1 2 3 4 5 6 7 8 9 10\n");
    last = read_all(fake);
    assert_int_equal(last.disk_count, 2);
    assert_non_null(devices_find_disk(&first, "sda"));
    assert_non_null(devices_find_disk(&first, "sdb"));
    assert_null(devices_find_disk(&first, "sdc")); /* plugged in later: increase unknown */
    assert_null(devices_find_disk(&last, "sdb"));
    assert_null(devices_find_interface(&first, "eth0"));
    assert_non_null(devices_find_interface(&last, "eth0"));
    devices_done(&first);
    devices_done(&last);
}

TEST(a_counter_that_decreases_has_not_grown)
{
    assert_int_equal(devices_growth(5, 8), 3);
    assert_int_equal(devices_growth(8, 8), 0);
    assert_false(is_known(devices_growth(8, 5)));          /* the counter was reset */
    assert_false(is_known(devices_growth(UINT32_MAX, 7))); /* wrapped on a 32-bit kernel */
    assert_false(is_known(devices_growth(UNKNOWN, 7)));
    assert_false(is_known(devices_growth(7, UNKNOWN)));
}

FAKE_ROOT_TEST(no_devices_are_listed_without_files)
{
    struct fake_root *fake = *state;
    struct space space = { 0 };
    struct devices devices;

    fake_root_write(fake, "proc/diskstats", "8 0 sda 1 2\ngarbage\n8 16 sdb 1 1 1 1 1 1 1 1\n");
    fake_root_write(fake, "proc/net/dev", "x\n");
    assert_int_equal(devices_read(&fake->root, &space, &devices), 0);
    assert_int_equal(devices.disk_count, 1); /* a damaged line is skipped */
    assert_int_equal(devices.interface_count, 0);
    assert_int_equal(devices.mounts.count, 0);
    devices_done(&devices);
    devices_done(&devices);
    space_done(&space);
}

/* Mounts a partition, a logical volume, and devices that sysfs does not list by number. */
TEST(the_disk_of_a_mount_is_found)
{
    static const struct {
        unsigned minor;
        const char *source, *disk;
    } mounts[] = {
        { 2, "/dev/sda2", "sda" },
        { 253, "/dev/mapper/vg-home", "nvme0n1" },
        { 99, "/dev/nvme0n1p1", "nvme0n1" }, /* btrfs uses its own device numbers */
        { 98, "/dev/mapper/gone", "" },
        { 97, "/dev/../..", "" },
        { 96, "overlay", "" },
        { 95, "zfs:tank", "zfs:tank" },
    };
    struct fake_root fake;

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

TEST(interfaces_of_a_namespace_are_summed)
{
    static const char text[] = "heading\nheading\n"
                               "    lo: 10 1 0 0 0 0 0 0 11 1 0 0 0 0 0 0\n"
                               "  eth0:100 1 0 0 0 0 0 0 200 1 0 0 0 0 0 0\n"
                               "  eth1: 1 1 0 0 0 0 0 0 2 1 0 0 0 0 0 0\n";
    struct device_bytes loopback, others;

    assert_int_equal(net_dev_sum(text, &loopback, &others), 0);
    assert_int_equal(loopback.in, 10);
    assert_int_equal(loopback.out, 11);
    assert_int_equal(others.in, 101);
    assert_int_equal(others.out, 202);
    assert_int_equal(net_dev_sum("a\nb\nlo: x\n", &loopback, &others), -EBADMSG);
}

/* ---- RDMA ports ------------------------------------------------------------ */

static void put_port(struct fake_root *fake, const char *port, const char *received,
                     const char *sent)
{
    char path[200];

    (void)snprintf(path, sizeof(path), "sys/class/infiniband/%s/counters/port_rcv_data", port);
    fake_root_write(fake, path, received);
    (void)snprintf(path, sizeof(path), "sys/class/infiniband/%s/counters/port_xmit_data", port);
    fake_root_write(fake, path, sent);
}

static void assert_rdma(const struct fake_root *fake, uint64_t in, uint64_t out)
{
    struct device_bytes bytes;

    assert_int_equal(rdma_read(&fake->root, &known_devices, &bytes), 0);
    assert_int_equal(bytes.in, in);
    assert_int_equal(bytes.out, out);
}

TEST_WITH(rdma_ports_are_summed_in_words_of_4_bytes, begin, NULL)
{
    struct fake_root fake;

    fake_root_init(&fake);
    put_port(&fake, "mlx5_0/ports/1", "1000\n", "2000\n");
    put_port(&fake, "mlx5_0/ports/2", "18446744073709551000\n",
             "0\n"); /* would overflow when converted to bytes */
    put_port(&fake, "rocep1s0/ports/1", "50\n", "60\n");
    fake_root_write(&fake, "sys/class/infiniband/rocep1s0/ports/1/link_layer", "Ethernet\n");
    fake_root_write(&fake, "sys/class/infiniband/efa_0/ports/1/hw_counters/rx_bytes", "7\n");
    assert_rdma(&fake, 0, 0);
    put_port(&fake, "mlx5_0/ports/1", "1010\n", "2001\n");
    put_port(&fake, "rocep1s0/ports/1", "53\n", "60\n");
    assert_rdma(&fake, 4 * (10 + 3), 4 * 1);
    assert_true(known_devices.is_exact);
    assert_int_equal(known_devices.count, 2);
    fake_root_done(&fake);
}

TEST_WITH(rdma_ports_may_appear_disappear_and_saturate, begin, NULL)
{
    struct device_bytes bytes;
    struct fake_root fake;

    fake_root_init(&fake);
    assert_int_equal(rdma_read(&fake.root, &known_devices, &bytes), -ENOENT);
    put_port(&fake, "mlx4_0/ports/1", "4294967290\n", "5\n");
    assert_rdma(&fake, 0, 0);
    put_port(&fake, "mlx4_0/ports/1", "4294967295\n", "6\n"); /* saturated at 32 bits */
    assert_rdma(&fake, 20, 4);
    assert_false(known_devices.is_exact);
    put_port(&fake, "mlx5_1/ports/1", "9000\n", "9000\n");
    assert_rdma(&fake, 20, 4);
    put_port(&fake, "mlx5_1/ports/1", "9001\n", "9000\n");
    put_port(&fake, "mlx4_0/ports/1", "N/A (no PMA)\n", "6\n");
    assert_rdma(&fake, 24, 4);
    fake_root_done(&fake);
}
