/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/compiler.h"
#include "base/unknown.h"
#include "fake_root.h"
#include "source/host/diskstats.h"

#define TAIL " 7 0 13484 22857 3520 1 64752 111 347 7\n"

static int parse(const struct root *root, const char *text, struct diskstats *ret)
{
    struct device_table table;

    device_table_init(&table);
    return diskstats_parse(text, &table, root, ret);
}

static void names_tell_disks_from_the_rest(void **state)
{
    static const char *const disks[] = { "sda",     "sdzz", "vda",      "xvda",       "nvme0n1",
                                         "mmcblk0", "nbd0", "nvme10n2", "cciss/c0d0", "dasda" };
    static const char *const others[] = {
        "sda1",   "vda12",  "xvda1",   "hdb3",         "nvme0n1p1", "mmcblk0p1",
        "nbd0p2", "loop0",  "loop0p1", "ram0",         "zram0",     "dm-0",
        "md0",    "md127",  "md127p1", "sr0",          "nvme0c1n1", "bcache0",
        "drbd10", "zd16p1", "fd0",     "cciss/c0d0p1",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(disks); i++)
        assert_int_equal(disk_class_by_name(disks[i]), DEVICE_REAL);
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        assert_int_equal(disk_class_by_name(others[i]), DEVICE_IGNORED);
}

static void odd_names_do_no_harm(void **state)
{
    static const char *const odd[] = { "",   "p",  "1",     "p1",   "1p1", "nvme",
                                       "sd", "..", "../..", "%s%n", "/",   "\xff" };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(odd); i++)
        (void)disk_class_by_name(odd[i]); /* the sanitizers look on */
}

static void sysfs_knows_better_than_the_name(void **state)
{
    struct fake_root fake;

    (void)state;
    fake_root_init(&fake);
    fake_root_write(&fake, "sys/class/block/xvda1/size", "1\n"); /* a disk, as on old EC2 */
    fake_root_write(&fake, "sys/class/block/odd/partition", "1\n");
    fake_root_write(&fake, "sys/class/block/cciss!c0d0p1/partition", "1\n");
    fake_root_write(&fake, "sys/class/block/dm-0/size", "1\n");
    assert_int_equal(disk_classify(&fake.root, "xvda1"), DEVICE_REAL);
    assert_int_equal(disk_classify(&fake.root, "odd"), DEVICE_IGNORED);
    assert_int_equal(disk_classify(&fake.root, "cciss/c0d0p1"), DEVICE_IGNORED);
    assert_int_equal(disk_classify(&fake.root, "dm-0"), DEVICE_IGNORED);
    assert_int_equal(disk_classify(&fake.root, "sda1"), DEVICE_IGNORED); /* not in sysfs */
    assert_int_equal(disk_classify(&fake.root, "sda"), DEVICE_REAL);
    fake_root_done(&fake);
}

static void a_byte_is_counted_once(void **state)
{
    struct diskstats stats;
    struct fake_root fake;

    (void)state;
    fake_root_init(&fake);
    assert_int_equal(parse(&fake.root,
                           "   7       0 loop0 9 9 1000 9 9 9 1000" TAIL
                           "   8       0 sda 27143 7058 100 21867 2992 6418 10" TAIL
                           "   8       1 sda1 27143 7058 100 21867 2992 6418 10" TAIL
                           " 259       0 nvme0n1 1 2 20 3 4 5 2" TAIL
                           " 259       1 nvme0n1p1 1 2 20 3 4 5 2" TAIL
                           " 253       0 dm-0 1 2 100 3 4 5 10" TAIL
                           "   9       0 md0 1 2 100 3 4 5 10" TAIL,
                           &stats),
                     0);
    assert_int_equal(stats.read_bytes, 120 * 512);
    assert_int_equal(stats.written_bytes, 12 * 512);
    fake_root_done(&fake);
}

static void a_machine_without_disks_is_not_one_that_is_idle(void **state)
{
    struct diskstats stats = { .read_bytes = 5 };
    struct fake_root fake;

    (void)state;
    fake_root_init(&fake);
    assert_int_equal(parse(&fake.root, "", &stats), -ENOENT);
    assert_int_equal(parse(&fake.root, " 7 0 loop0 9 9 10 9 9 9 10" TAIL, &stats), -ENOENT);
    assert_int_equal(stats.read_bytes, 5); /* untouched on failure */
    fake_root_done(&fake);
}

static void a_sum_that_does_not_fit_is_unknown(void **state)
{
    struct diskstats stats;
    struct fake_root fake;

    (void)state;
    fake_root_init(&fake);
    assert_int_equal(parse(&fake.root, "8 0 sda 1 1 18446744073709551615 1 1 1 2" TAIL, &stats),
                     0);
    assert_true(stats.read_bytes == UNKNOWN);
    assert_int_equal(stats.written_bytes, 1024);
    fake_root_done(&fake);
}

static void refuses_damaged_text(void **state)
{
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
    struct diskstats stats = { .read_bytes = 5 };
    struct fake_root fake;

    (void)state;
    fake_root_init(&fake);
    for (size_t i = 0; i < ARRAY_SIZE(damaged); i++)
        assert_int_equal(parse(&fake.root, damaged[i], &stats), -EBADMSG);
    assert_int_equal(stats.read_bytes, 5); /* untouched on failure */
    fake_root_done(&fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_tell_disks_from_the_rest),
        cmocka_unit_test(odd_names_do_no_harm),
        cmocka_unit_test(sysfs_knows_better_than_the_name),
        cmocka_unit_test(a_byte_is_counted_once),
        cmocka_unit_test(a_machine_without_disks_is_not_one_that_is_idle),
        cmocka_unit_test(a_sum_that_does_not_fit_is_unknown),
        cmocka_unit_test(refuses_damaged_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
