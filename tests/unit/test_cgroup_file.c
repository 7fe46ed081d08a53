/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <errno.h>
#include <math.h>

#include "base/compiler.h"
#include "base/unknown.h"
#include "cgroup/cgroup_file.h"
#include "fake_root.h"

static const struct cgroup v1 = { .path = "cg/v1", .mount_length = 2 };
static const struct cgroup v2 = { .path = "cg/v2", .mount_length = 2, .is_v2 = true };

static void no_limit_is_unknown(void **state)
{
    static const char *const none[] = {
        "max\n",
        "max",
        "-1\n",
        "9223372036854771712\n", /* pages of 4 KiB */
        "9223372036854710272\n", /* pages of 64 KiB */
        "18446744073709551615\n",
    };
    uint64_t value;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(none); i++) {
        value = 5;
        assert_int_equal(cgroup_parse_u64(none[i], &value), 0);
        assert_true(value == UNKNOWN);
    }
    assert_int_equal(cgroup_parse_u64("0\n", &value), 0);
    assert_int_equal(value, 0);
    assert_int_equal(cgroup_parse_u64("1099511627776\n", &value), 0);
    assert_int_equal(value, 1099511627776);
}

static void damaged_numbers_are_refused(void **state)
{
    static const char *const damaged[] = {
        "",          "\n",      "x",
        "maximum\n", "max 5\n", "-2\n",
        "1 2\n",     "1x\n",    "99999999999999999999\n",
    };
    uint64_t value = 5;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(damaged); i++)
        assert_int_equal(cgroup_parse_u64(damaged[i], &value), -EBADMSG);
    assert_int_equal(value, 5); /* untouched on failure */
}

static void a_quota_is_a_number_of_cpus(void **state)
{
    double cpus;

    (void)state;
    assert_int_equal(cgroup_parse_quota("50000 100000\n", &cpus), 0);
    assert_float_equal(cpus, 0.5, 0);
    assert_int_equal(cgroup_parse_quota("300000 100000\n", &cpus), 0);
    assert_float_equal(cpus, 3, 0);
    assert_int_equal(cgroup_parse_quota("max 100000\n", &cpus), 0);
    assert_true(isnan(cpus));
}

static void damaged_quotas_are_refused(void **state)
{
    static const char *const damaged[] = { "",        "max",       "max\n",
                                           "50000\n", "50000 0\n", "-1 100\n",
                                           "1 2 3\n", "x y\n",     "1 max\n" };
    double cpus = 5;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(damaged); i++)
        assert_int_equal(cgroup_parse_quota(damaged[i], &cpus), -EBADMSG);
    assert_float_equal(cpus, 5, 0); /* untouched on failure */
}

static void each_version_has_its_files(void **state)
{
    struct fake_root fake;
    unsigned count;
    uint64_t value;
    double cpus;

    (void)state;
    fake_root_init(&fake);
    fake_root_write(&fake, "cg/v1/cpu.cfs_quota_us", "150000\n");
    fake_root_write(&fake, "cg/v1/cpu.cfs_period_us", "100000\n");
    fake_root_write(&fake, "cg/v1/memory.limit_in_bytes", "4096\n");
    fake_root_write(&fake, "cg/v2/cpu.max", "250000 100000\n");
    fake_root_write(&fake, "cg/v2/cpuset.cpus.effective", "0-2,5\n");
    assert_int_equal(cgroup_read_quota(&fake.root, &v1, &cpus), 0);
    assert_float_equal(cpus, 1.5, 0);
    assert_int_equal(cgroup_read_quota(&fake.root, &v2, &cpus), 0);
    assert_float_equal(cpus, 2.5, 0);
    assert_int_equal(cgroup_read_u64(&fake.root, &v1, "memory.limit_in_bytes", &value), 0);
    assert_int_equal(value, 4096);
    assert_int_equal(cgroup_read_cpu_count(&fake.root, &v2, "cpuset.cpus.effective", &count),
                     0);
    assert_int_equal(count, 4);
    fake_root_write(&fake, "cg/v1/cpu.cfs_quota_us", "-1\n");
    assert_int_equal(cgroup_read_quota(&fake.root, &v1, &cpus), 0);
    assert_true(isnan(cpus));
    fake_root_write(&fake, "cg/v1/cpu.cfs_period_us", "0\n");
    assert_int_equal(cgroup_read_quota(&fake.root, &v1, &cpus), -EBADMSG);
    fake_root_done(&fake);
}

static void what_is_not_there_is_not_found(void **state)
{
    static const struct cgroup none = { .mount_length = 0 };
    struct fake_root fake;
    uint64_t value;
    double cpus;

    (void)state;
    fake_root_init(&fake);
    fake_root_write(&fake, "memory.max", "5\n"); /* no cgroup is not the root folder */
    assert_int_equal(cgroup_read_u64(&fake.root, &none, "memory.max", &value), -ENOENT);
    assert_int_equal(cgroup_read_u64(&fake.root, &v2, "memory.max", &value), -ENOENT);
    assert_int_equal(cgroup_read_quota(&fake.root, &v1, &cpus), -ENOENT);
    assert_int_equal(cgroup_read_quota(&fake.root, &v2, &cpus), -ENOENT);
    fake_root_done(&fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_limit_is_unknown),
        cmocka_unit_test(damaged_numbers_are_refused),
        cmocka_unit_test(a_quota_is_a_number_of_cpus),
        cmocka_unit_test(damaged_quotas_are_refused),
        cmocka_unit_test(each_version_has_its_files),
        cmocka_unit_test(what_is_not_there_is_not_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
