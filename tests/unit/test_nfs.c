/* SPDX-License-Identifier: Apache-2.0 */
/* test_nfs.c - bytes of NFS mounts in mountstats, counting each superblock once. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "fake_root.h"
#include "source/host/devices.h"
#include "unit_test.h"

#define OTHERS \
    "device proc mounted on /proc with fstype proc\nno device mounted on /x with fstype y\n"

#define STATS(point, age, bytes)                                                 \
    "device server:/export mounted on " point " with fstype nfs4 statvers=1.1\n" \
    "\topts:\trw,vers=4.2,rsize=1048576,addr=10.0.0.1\n"                         \
    "\tage:\t" age "\n\tcaps:\tcaps=0x1fffbfff,wtmult=512,dtsize=1048576\n"      \
    "\tsec:\tflavor=1,pseudoflavor=1\n\tevents:\t1 2 3 4 5 6 7 8 9 10\n"         \
    "\tbytes:\t" bytes " \n\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n"    \
    "\txprt:\ttcp 0 0 2 0 11 40 40 0 40 0 2 0 0\n\tper-op statistics\n"          \
    "\t        NULL: 1 1 0 44 24 0 0 0 0\n\t        READ: 9 9 0 9 9 0 0 0 0\n\n"

#define MOUNT(device, point) \
    "40 25 " device " / " point " rw,relatime shared:9 - nfs4 server:/export rw\n"
#define PROC "21 25 0:20 / /proc rw - proc proc rw\n"

static struct device_table table;

static int begin(void **state)
{
    device_table_init(&table);
    return 0;
}

static void assert_bytes(const char *mountinfo, const char *mountstats, uint64_t seconds,
                         uint64_t in, uint64_t out)
{
    struct device_bytes bytes;

    assert_int_equal(nfs_parse(mountinfo, mountstats, seconds, &table, &bytes), 0);
    assert_int_equal(bytes.in, in);
    assert_int_equal(bytes.out, out);
}

TEST_WITH(nfs_bytes_are_counted_from_the_first_reading, begin, NULL)
{
    assert_bytes(PROC MOUNT("0:52", "/home"),
                 OTHERS STATS("/home", "99", "1 2 3 4 500 600 7 8"), 0, 0, 0);
    assert_bytes(PROC MOUNT("0:52", "/home"),
                 OTHERS STATS("/home", "100", "9 9 9 9 700 601 9 9"), 1, 200, 1);
    assert_true(table.is_exact);
}

/* One file system is mounted twice; another one has the same counters. */
TEST_WITH(an_nfs_superblock_mounted_twice_is_counted_once, begin, NULL)
{
#define ALL(read)                                                    \
    STATS("/home", "99", "0 0 0 0 " read " 5 0 0")                   \
    OTHERS STATS("/mnt/my\\040home", "99", "0 0 0 0 " read " 5 0 0") \
        STATS("/data", "99", "0 0 0 0 " read " 5 0 0")
    static const char mounts[] =
        MOUNT("0:52", "/home") PROC MOUNT("0:52", "/mnt/my\\040home") MOUNT("0:53", "/data");

    assert_bytes(mounts, ALL("100"), 0, 0, 0);
    assert_bytes(mounts, ALL("130"), 1, 60, 0);
    assert_int_equal(table.count, 2);
    /* The first mount is removed: the second one continues its counters. */
    assert_bytes(MOUNT("0:52", "/mnt/my\\040home"),
                 STATS("/mnt/my\\040home", "99", "0 0 0 0 140 5 0 0"), 2, 70, 0);
}

TEST_WITH(new_nfs_mounts_are_counted_from_their_mount_time, begin, NULL)
{
    assert_bytes(MOUNT("0:52", "/home"), STATS("/home", "99", "0 0 0 0 500 600 7 8"), 0, 0, 0);
    /* One superblock is older than the run: it was mounted in another namespace before. */
    assert_bytes(MOUNT("0:52", "/home") MOUNT("0:60", "/old") MOUNT("0:61", "/new"),
                 STATS("/home", "109", "0 0 0 0 501 600 7 8")
                     STATS("/old", "5000", "0 0 0 0 1000 1000 7 8")
                         STATS("/new", "3", "0 0 0 0 40 50 7 8"),
                 10, 41, 50);
    assert_false(table.is_exact);
    assert_bytes(PROC, OTHERS, 11, 41, 50); /* all were unmounted */
    assert_bytes(MOUNT("0:52", "/home"), STATS("/home", "1", "0 0 0 0 9 9 7 8"), 20, 50, 59);
}

TEST(damaged_texts_are_refused)
{
    static const struct {
        const char *mountinfo, *mountstats;
        int result;
    } rows[] = {
        { "", "", -ENOENT },
        { PROC, OTHERS, -ENOENT },
        { PROC, "device nfsd mounted on /proc/fs/nfsd with fstype nfsd\n", -ENOENT },
        { MOUNT("0:52", "/home"), OTHERS, -EBADMSG },
        { PROC, STATS("/home", "9", "1 2 3 4 5 6 7 8"), -EBADMSG }, /* not in mountinfo yet */
        { MOUNT("0:52", "/a"), STATS("/b", "9", "1 2 3 4 5 6 7 8"), -EBADMSG },
        { MOUNT("0:52", "/a"), STATS("/a", "9", "1 2 3 4 5"), -EBADMSG },
        { MOUNT("0:52", "/a"), STATS("/a", "9", "1 2 3 4 5 -6 7 8"), -EBADMSG },
        { MOUNT("0:52", "/a"),
          "device s:/ mounted on /a with fstype nfs\n\tbytes:\t1 2 3 4 5 6", -EBADMSG },
        { MOUNT("0:52", "/a"), "device s:/ mounted on /a with fstype nfs4", -EBADMSG },
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct device_bytes bytes;

        device_table_init(&table);
        assert_int_equal(nfs_parse(rows[i].mountinfo, rows[i].mountstats, 0, &table, &bytes),
                         rows[i].result);
    }
}

TEST_WITH(both_files_are_read, begin, NULL)
{
    struct device_bytes bytes;
    struct fake_root fake;

    fake_root_init(&fake);
    assert_int_equal(nfs_read(&fake.root, 0, &table, &bytes), -ENOENT);
    fake_root_write(&fake, "proc/self/mountinfo", MOUNT("0:52", "/home"));
    assert_int_equal(nfs_read(&fake.root, 0, &table, &bytes), -ENOENT);
    fake_root_write(&fake, "proc/self/mountstats", STATS("/home", "9", "1 2 3 4 5 6 7 8"));
    assert_int_equal(nfs_read(&fake.root, 0, &table, &bytes), 0);
    fake_root_write(&fake, "proc/self/mountstats", STATS("/home", "9", "1 2 3 4 9 7 7 8"));
    assert_int_equal(nfs_read(&fake.root, 0, &table, &bytes), 0);
    assert_int_equal(bytes.in, 4);
    assert_int_equal(bytes.out, 1);
    fake_root_done(&fake);
}
