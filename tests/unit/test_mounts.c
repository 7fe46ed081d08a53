/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>

#include "base/compiler.h"
#include "base/root.h"
#include "source/host/mounts.h"
#include "unit_test.h"

/* ---- mountinfo ------------------------------------------------------------- */

#define LINE                                                                         \
    "36 35 98:2 /folder /mnt/a\\040b rw,noatime master:1 shared:2 - ext4 /dev/sda1 " \
    "rw,memory\n"

static struct text_part part(const char *text)
{
    return (struct text_part){ .start = text, .length = strlen(text) };
}

TEST(a_mountinfo_line_is_split_into_its_fields)
{
    struct mountinfo mount;

    assert_int_equal(mountinfo_parse_line(LINE "rest", &mount), 0);
    assert_int_equal(mount.major, 98);
    assert_int_equal(mount.minor, 2);
    assert_true(text_part_is(mount.root, "/folder"));
    assert_true(text_part_is(mount.point, "/mnt/a\\040b"));
    assert_true(text_part_is(mount.type, "ext4"));
    assert_true(text_part_is(mount.source, "/dev/sda1"));
    assert_true(text_part_is(mount.super_options, "rw,memory"));
}

TEST(optional_fields_before_the_dash_may_be_missing)
{
    struct mountinfo mount;

    assert_int_equal(mountinfo_parse_line("1 2 0:3 / / rw - proc proc rw\n", &mount), 0);
    assert_true(text_part_is(mount.type, "proc"));
}

TEST(a_source_may_be_empty_or_a_dash)
{
    struct mountinfo mount;

    assert_int_equal(mountinfo_parse_line("1 2 0:3 / / rw - tmpfs  rw\n", &mount), 0);
    assert_int_equal(mount.source.length, 0);
    assert_true(text_part_is(mount.super_options, "rw"));
    assert_int_equal(mountinfo_parse_line("1 2 0:3 / - rw - tmpfs - rw\n", &mount), 0);
    assert_true(text_part_is(mount.point, "-"));
    assert_true(text_part_is(mount.source, "-"));
}

TEST(every_truncated_line_is_refused)
{
    struct mountinfo mount = { .major = 5 };
    char text[sizeof(LINE)];

    for (size_t length = 0; length < strlen(LINE); length++) {
        memcpy(text, LINE, length);
        text[length] = '\0';
        assert_int_equal(mountinfo_parse_line(text, &mount), -EBADMSG);
        /* not even a newline completes the line */
        text[length] = '\n';
        text[length + 1] = '\0';
        if (length < strlen(LINE) - strlen(" rw,memory\n"))
            assert_int_equal(mountinfo_parse_line(text, &mount), -EBADMSG);
    }
    assert_int_equal(mount.major, 5); /* untouched on failure */
}

TEST(damaged_text_is_refused)
{
    static const char *const damaged[] = {
        "\n",
        "1 2 3 / / rw - t s o\n",
        "1 2 3:x / / rw - t s o\n",
        "1 2 :3 / / rw - t s o\n",
        "1 2 3:4x / / rw - t s o\n",
        "1 2 99999999999:4 / / rw - t s o\n",
        "1 2 3:4 / / rw t s o\n",
        "1 2 3:4 / / rw - t s o more\n",
    };
    struct mountinfo mount;

    for (size_t i = 0; i < ARRAY_SIZE(damaged); i++)
        assert_int_equal(mountinfo_parse_line(damaged[i], &mount), -EBADMSG);
}

TEST(a_huge_line_is_parsed)
{
    enum { SIZE = 1 << 20 };
    char *text = malloc(SIZE + 64);
    struct mountinfo mount;
    int start;

    assert_non_null(text);
    start = snprintf(text, 64, "1 2 3:4 / /a rw - overlay overlay rw,lowerdir=");
    memset(text + start, 'x', SIZE);
    memcpy(text + start + SIZE, "\n", 2);
    assert_int_equal(mountinfo_parse_line(text, &mount), 0);
    assert_true(mount.super_options.length > SIZE);
    free(text);
}

TEST(escapes_are_decoded)
{
    static const struct {
        const char *text;
        const char *decoded;
    } good[] = {
        { "", "" },
        { "/a\\040b\\011c\\012d\\134e", "/a b\tc\nd\\e" },
        { "/\\377", "/\377" },
        { "\\", "\\" },
        { "\\04", "\\04" },
        { "\\400", "\\400" },
        { "\\089", "\\089" },
        { "\\134040", "\\040" },
    };
    char buf[64];

    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        assert_int_equal(text_part_decode(part(good[i].text), buf, sizeof(buf)),
                         strlen(good[i].decoded));
        assert_string_equal(buf, good[i].decoded);
    }
}

TEST(a_text_that_does_not_fit_is_refused)
{
    char buf[4];

    assert_int_equal(text_part_decode(part("abc"), buf, sizeof(buf)), 3);
    assert_int_equal(text_part_decode(part("abcd"), buf, sizeof(buf)), -ENAMETOOLONG);
    assert_int_equal(text_part_decode(part("a\\040b"), buf, sizeof(buf)), 3);
    assert_int_equal(text_part_decode(part(""), buf, 0), -ENAMETOOLONG);
    assert_int_equal(text_part_decode(part("a\\000"), buf, sizeof(buf)), -EBADMSG);
}

TEST(mount_options_must_match_as_whole_words)
{
    assert_true(text_part_has_option(part("rw,cpu,cpuacct"), "cpu"));
    assert_true(text_part_has_option(part("rw,cpu,cpuacct"), "cpuacct"));
    assert_true(text_part_has_option(part("ro"), "ro"));
    assert_false(text_part_has_option(part("rw,cpuacct"), "cpu"));
    assert_false(text_part_has_option(part("rw,name=cpu"), "cpu"));
    assert_false(text_part_has_option(part(""), "ro"));
    assert_false(text_part_has_option(part(",,"), "ro"));
    assert_false(text_part_has_option(part("errors=remount-ro"), "ro"));
    assert_true(text_part_starts(part("/dev/loop1"), "/dev/loop"));
    assert_false(text_part_starts(part("/dev"), "/dev/"));
}

/* ---- mounts ---------------------------------------------------------------- */

static bool is_disk(const char *line)
{
    struct mountinfo mount;

    assert_int_equal(mountinfo_parse_line(line, &mount), 0);
    return mount_is_disk(&mount);
}

TEST(only_writable_block_devices_are_disks)
{
    static const char *const disks[] = {
        "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard\n",
        "27 1 254:0 / / ro,relatime - ext4 /dev/vda rw\n", /* only this mount is read-only */
        "28 1 0:25 /@home /home rw - btrfs /dev/nvme0n1p2 rw,subvol=/@home\n",
        "29 1 253:1 / /x rw - xfs /dev/mapper/vg-lv rw\n",
    };
    static const char *const others[] = {
        "22 27 0:21 / /proc rw - proc proc rw\n",
        "24 27 0:6 / /dev rw - devtmpfs devtmpfs rw\n",
        "30 27 7:1 / /snap/x ro - squashfs /dev/loop1 ro\n",
        "30 27 7:1 / /image rw - ext4 /dev/loop1 rw\n",
        "31 27 11:0 / /cd ro - iso9660 /dev/sr0 ro\n",
        "32 27 8:1 / /old ro - ext4 /dev/sda1 ro,errors=continue\n",
        "33 27 0:50 / /f rw - fuse /dev/fuse rw\n",
        "34 27 0:51 / /n rw - nfs server:/export rw\n",
        "35 27 0:52 / / rw - overlay overlay rw\n",
    };

    for (size_t i = 0; i < ARRAY_SIZE(disks); i++)
        assert_true(is_disk(disks[i]));
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        assert_false(is_disk(others[i]));
}

#define LOCAL                                                 \
    "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard\n" \
    "22 27 0:21 / /proc rw - proc proc rw\n"                  \
    "28 1 0:25 / /home rw - btrfs /dev/nvme0n1p2 rw\n"        \
    "30 27 7:1 / /snap/x ro - squashfs /dev/loop1 ro\n"       \
    "36 27 0:53 / /ro rw - nfs server:/export ro\n"           \
    "35 27 0:52 / / rw - overlay overlay rw\n"

TEST(disk_writes_exclude_network_and_virtual_file_systems)
{
    static const char *const elsewhere[] = {
        "33 27 0:50 / /f rw - fuse.sshfs server: rw\n",
        "33 27 0:50 / /f rw - fuse /dev/fuse rw\n",
        "34 27 0:51 / /n rw - nfs4 server:/export rw\n",
        "37 27 0:54 / /v rw - virtiofs share rw\n",
        "38 27 0:55 / /z rw - zfs pool/data rw\n",
        "30 27 7:1 / /image rw - ext4 /dev/loop1 rw\n",
        "damaged\n",
    };

    assert_true(mounts_are_local(LOCAL));
    for (size_t i = 0; i < ARRAY_SIZE(elsewhere); i++) {
        char text[1024];

        assert_true(snprintf(text, sizeof(text), "%s%s", LOCAL, elsewhere[i]) < 1024);
        assert_false(mounts_are_local(text));
    }
}

/* Writes a mountinfo line that describes "/" as a disk, whatever it is on this machine. */
static void describe_root_folder(char *buf, size_t size)
{
    struct stat root;

    assert_int_equal(stat("/", &root), 0);
    assert_true(snprintf(buf, size, "27 1 %u:%u / / rw - ext4 /dev/vda rw\n",
                         major(root.st_dev), minor(root.st_dev)) < (int)size);
}

TEST(network_and_fuse_mounts_may_block)
{
    static const char *const stalling[] = {
        "33 27 0:50 / /n ro - nfs4 server:/export ro\n",
        "33 27 0:50 / /g rw - gpfs /dev/gpfs0 rw\n",
        "33 27 8:17 / /w rw - fuseblk /dev/sdb1 rw\n",
        "33 27 0:50 / /f rw - fuse.sshfs server: rw\n",
        "33 27 0:50 / /p rw - 9p share rw\n",
        "damaged\n",
    };

    assert_false(mounts_may_stall("27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard\n"
                                  "22 27 0:21 / /proc rw - proc proc rw\n"
                                  "28 1 0:25 / /home rw - btrfs /dev/nvme0n1p2 rw\n"));
    for (size_t i = 0; i < ARRAY_SIZE(stalling); i++)
        assert_true(mounts_may_stall(stalling[i]));
}

TEST(a_filesystem_mounted_twice_is_counted_once)
{
    char line[128], text[512];
    struct root root = ROOT_CLOSED;
    struct statvfs space;
    struct mounts once, twice;

    assert_int_equal(root_open(NULL, &root), 0);
    describe_root_folder(line, sizeof(line));
    assert_true(snprintf(text, sizeof(text), "garbage\n%s%s%s", line, line, "27 1 cut") <
                (int)sizeof(text));
    assert_int_equal(statvfs("/", &space), 0);
    assert_int_equal(mounts_read(&root, line, &once, NULL), 0);
    assert_int_equal(mounts_read(&root, text, &twice, NULL), 0);
    assert_int_equal(once.total_bytes, space.f_blocks * space.f_frsize);
    assert_int_equal(twice.total_bytes, once.total_bytes);
    assert_true(once.free_bytes <= space.f_blocks * space.f_frsize);
    assert_true(once.used_bytes <= space.f_blocks * space.f_frsize);
    /* other programs may write meanwhile, but hardly half of the disk */
    assert_true(twice.used_bytes < once.used_bytes + space.f_blocks * space.f_frsize / 2);
    root_close(&root);
}

/* The datasets of a pool share its free space, and each uses some space of its own. */
TEST(datasets_of_a_pool_share_its_free_space)
{
    const struct mounts datasets[] = { { 100, 30, 70 }, { 80, 10, 65 }, { 5, 5, 0 } };
    struct mounts pool = { 0 };

    for (size_t i = 0; i < ARRAY_SIZE(datasets); i++)
        mounts_add_dataset(&pool, &datasets[i]);
    assert_int_equal(pool.used_bytes, 45);
    assert_int_equal(pool.free_bytes, 70);
    assert_int_equal(pool.total_bytes, 115);
}

/* Writes lines for "/" with these types and sources, and reads them. */
static int read_as(const char *const (*lines)[2], size_t count, struct mount_list *ret)
{
    struct root root = ROOT_CLOSED;
    struct mounts sum;
    struct stat folder;
    char text[1024];
    size_t used = 0;
    int r;

    assert_int_equal(root_open(NULL, &root), 0);
    assert_int_equal(stat("/", &folder), 0);
    for (size_t i = 0; i < count; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used,
                                 "27 1 %u:%u / / rw - %s %s rw\n", major(folder.st_dev),
                                 minor(folder.st_dev), lines[i][0], lines[i][1]);
    assert_true(used < sizeof(text));
    r = mounts_read(&root, text, &sum, ret);
    root_close(&root);
    return r;
}

TEST(a_mount_list_contains_each_pool_and_disk_once)
{
    static const char *const lines[][2] = {
        { "zfs", "tank" },       { "zfs", "tank/home" },   { "tmpfs", "tmpfs" },
        { "zfs", "other/data" }, { "zfs", "tank/x" },      { "ext4", "/dev/sd\\040a" },
        { "ext4", "/dev/sdb" },  { "overlay", "overlay" },
    };
    static const char *const sources[] = { "zfs:tank", "zfs:other", "/dev/sd a" };
    struct mount_list list = { 0 };

    assert_int_equal(read_as(lines, ARRAY_SIZE(lines), &list), 0);
    assert_int_equal(list.count, ARRAY_SIZE(sources));
    for (size_t i = 0; i < list.count; i++) {
        assert_string_equal(list.items[i].source, sources[i]);
        assert_string_equal(list.items[i].point, "/");
    }
    assert_string_equal(list.items[0].type, "zfs");
    assert_string_equal(list.items[2].type, "ext4");
    /* three datasets compared with one; other programs may write a little meanwhile */
    assert_true(list.items[0].space.used_bytes >= 2 * list.items[1].space.used_bytes);
    mount_list_done(&list);
}

TEST(an_overlay_is_listed_if_there_is_no_disk)
{
    static const char *const lines[][2] = { { "proc", "proc" }, { "overlay", "overlay" } };
    struct mount_list list = { 0 };

    assert_int_equal(read_as(lines, ARRAY_SIZE(lines), &list), 0);
    assert_int_equal(list.count, 1);
    assert_string_equal(list.items[0].type, "overlay");
    mount_list_done(&list);
    assert_int_equal(read_as(lines, 1, &list), -ENOENT);
}

TEST(a_hidden_mount_is_skipped)
{
    struct root root = ROOT_CLOSED;
    struct mounts mounts = { .used_bytes = 5 };

    assert_int_equal(root_open(NULL, &root), 0);
    assert_int_equal(
        mounts_read(&root, "27 1 4095:1 / / rw - ext4 /dev/sda1 rw\n", &mounts, NULL), -ENOENT);
    assert_int_equal(
        mounts_read(&root, "27 1 8:1 / /no\\040such rw - ext4 /dev/sda1 rw\n", &mounts, NULL),
        -ENOENT);
    assert_int_equal(mounts_read(&root, "", &mounts, NULL), -ENOENT);
    assert_int_equal(mounts.used_bytes, 5); /* untouched on failure */
    root_close(&root);
}

TEST(mounts_of_a_fixture_are_not_read)
{
    struct root root = ROOT_CLOSED;
    struct mounts mounts;

    assert_int_equal(root_open("/proc", &root), 0);
    assert_int_equal(
        mounts_read(&root, "27 1 254:0 / / rw - ext4 /dev/vda rw\n", &mounts, NULL), -ENOTSUP);
    root_close(&root);
}
