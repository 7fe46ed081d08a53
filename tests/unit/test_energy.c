/* SPDX-License-Identifier: Apache-2.0 */
/* test_energy.c - energy counters in a fake root, and the job's share. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/clock.h"
#include "fake_root.h"
#include "sample/sampler.h"
#include "source/host/energy.h"
#include "unit_test.h"

#define ZONE "sys/class/powercap/intel-rapl:"

static void put_zone(struct fake_root *fake, int number, const char *name,
                     const char *energy_uj)
{
    char path[100];

    (void)snprintf(path, sizeof(path), ZONE "%d/name", number);
    fake_root_write(fake, path, name);
    (void)snprintf(path, sizeof(path), ZONE "%d/max_energy_range_uj", number);
    fake_root_write(fake, path, "262143328850\n");
    (void)snprintf(path, sizeof(path), ZONE "%d/energy_uj", number);
    fake_root_write(fake, path, energy_uj);
}

FAKE_ROOT_TEST(packages_are_summed_and_counters_may_wrap)
{
    struct fake_root *fake = *state;
    struct energy energy = { 0 };

    put_zone(fake, 0, "package-0\n", "262143000000\n");
    put_zone(fake, 1, "package-1\n", "5000000\n");
    put_zone(fake, 2, "psys\n", "7\n"); /* psys includes the packages */
    assert_int_equal(energy_read(&energy, &fake->root, NS_PER_SECOND), 0);
    assert_int_equal(energy.count, 2);
    assert_string_equal(energy.source, "powercap");
    put_zone(fake, 0, "package-0\n", "671150\n"); /* wrapped at the end of the range */
    put_zone(fake, 1, "package-1\n", "9000000\n");
    assert_int_equal(energy_read(&energy, &fake->root, 2 * NS_PER_SECOND), 1000000 + 4000000);
    assert_true(energy.is_complete);
    /* After an hour, the counter may have wrapped more than once. */
    (void)energy_read(&energy, &fake->root, 3600 * NS_PER_SECOND);
    assert_false(energy.is_complete);
    energy_close(&energy);
}

FAKE_ROOT_TEST(packages_may_be_added_and_removed)
{
    struct fake_root *fake = *state;
    struct energy energy = { 0 };

    put_zone(fake, 0, "package-0\n", "1000000\n");
    put_zone(fake, 1, "package-1\n", "1000000\n");
    assert_int_equal(energy_read(&energy, &fake->root, NS_PER_SECOND), 0);
    assert_int_equal(unlinkat(fake->root.fd, ZONE "1/energy_uj", 0), 0);
    cached_file_close(&energy.packages[1].file); /* simulates removal by the kernel */
    put_zone(fake, 0, "package-0\n", "2000000\n");
    assert_int_equal(energy_read(&energy, &fake->root, 2 * NS_PER_SECOND), 1000000);
    assert_false(energy.is_complete);
    put_zone(fake, 1, "package-1\n", "90000000\n"); /* the increase meanwhile is unknown */
    put_zone(fake, 2, "package-2\n", "70000000\n");
    assert_int_equal(energy_read(&energy, &fake->root, 15 * NS_PER_SECOND), 1000000);
    assert_int_equal(energy.count, 3);
    put_zone(fake, 1, "package-1\n", "90000001\n");
    put_zone(fake, 2, "package-2\n", "70000002\n");
    assert_int_equal(energy_read(&energy, &fake->root, 16 * NS_PER_SECOND), 1000003);
    energy_close(&energy);
}

TEST(other_energy_sources_are_used_if_rapl_is_missing)
{
    static const struct {
        const char *path, *text, *label_path, *label, *source, *next;
        uint64_t growth_uj;
    } rows[] = {
        { "sys/cray/pm_counters/cpu_energy", "100 J 1700000000 us\n", NULL, NULL,
          "cray.pm_counters", "103 J 1700000100 us\n", 3000000 },
        { "sys/class/hwmon/hwmon2/energy1_input", "500\n",
          "sys/class/hwmon/hwmon2/energy1_label", "Esocket0\n", "hwmon", "700\n", 200 },
        { "sys/class/hwmon/hwmon1/energy1_input", "500\n",
          "sys/class/hwmon/hwmon1/energy1_label", "Ecore000\n", NULL, "700\n", 0 },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct energy energy = { 0 };
        struct fake_root fake;

        fake_root_init(&fake);
        fake_root_write(&fake, rows[i].path, rows[i].text);
        if (rows[i].label)
            fake_root_write(&fake, rows[i].label_path, rows[i].label);
        assert_int_equal(energy_read(&energy, &fake.root, NS_PER_SECOND), UNKNOWN);
        assert_string_equal(energy.reason, "the run was too short");
        (void)energy_read(&energy, &fake.root, 2 * NS_PER_SECOND);
        fake_root_write(&fake, rows[i].path, rows[i].next);
        if (rows[i].source) {
            assert_string_equal(energy.source, rows[i].source);
            assert_int_equal(energy_read(&energy, &fake.root, 3 * NS_PER_SECOND),
                             rows[i].growth_uj);
            assert_false(energy.is_complete); /* energy before the first reading is missing */
        } else {
            assert_null(energy.source);
            assert_non_null(strstr(energy.reason, "no energy counter"));
        }
        energy_close(&energy);
        fake_root_done(&fake);
    }
}

/* The idle machine draws 20 W; then the job and another program use it. */
TEST(energy_is_attributed_in_proportion_to_cpu_time)
{
    struct cpu_energy energy = { 0 };
    struct energy_point point = { .now_ns = NS_PER_SECOND };

    cpu_energy_add(&energy, &point, false);
    point = (struct energy_point){ 2 * NS_PER_SECOND, 20000000, 0, 0 }; /* idle */
    cpu_energy_add(&energy, &point, false);
    assert_true(energy.job_uj < 1 && cpu_energy_low_uj(&energy) < 1);
    /* 100 W for a second, in which the job used three quarters of the busy time. */
    point = (struct energy_point){ 3 * NS_PER_SECOND, 120000000, 3 * NS_PER_SECOND,
                                   4 * NS_PER_SECOND };
    cpu_energy_add(&energy, &point, false);
    assert_true(fabs(energy.job_uj - 75e6) < 1);
    assert_true(fabs(cpu_energy_low_uj(&energy) - 0.75 * 80e6) < 1);
    point.now_ns += NS_PER_MS; /* too short for a clock tick */
    point.energy_uj += 100000;
    cpu_energy_add(&energy, &point, false);
    assert_true(fabs(energy.job_uj - 75e6) < 1);
    point.energy_uj = UNKNOWN;
    cpu_energy_add(&energy, &point, true);
    assert_true(fabs(energy.job_uj - 75e6) < 1);
}
