/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/unknown.h"
#include "fake_root.h"
#include "sample/device_sample.h"

static void cpus_and_devices_are_read_anew(void **state)
{
    uint64_t tick_ns = NS_PER_SECOND / (uint64_t)sysconf(_SC_CLK_TCK);
    struct device_sample sample = { 0 };
    struct fake_root fake;

    (void)state;
    fake_root_init(&fake);
    device_sample_read(&sample, &fake.root, NULL); /* a machine that says nothing */
    assert_int_equal(sample.cpu_count, 0);
    fake_root_write(&fake, "proc/stat",
                    "cpu 9 0 0 9 0 0 0 0\ncpu1 1 0 2 9 0 0 0 0\n"
                    "cpu3 4 0 0 9 0 0 0 0\nintr 0\n");
    device_sample_read(&sample, &fake.root, NULL);
    assert_int_equal(sample.cpu_count, 2);
    assert_int_equal(device_sample_cpu_ns(&sample, 1), 3 * tick_ns);
    assert_int_equal(device_sample_cpu_ns(&sample, 3), 4 * tick_ns);
    assert_true(device_sample_cpu_ns(&sample, 2) == UNKNOWN);
    device_sample_done(&sample);
    device_sample_done(&sample); /* twice does no harm */
    fake_root_done(&fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cpus_and_devices_are_read_anew),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
