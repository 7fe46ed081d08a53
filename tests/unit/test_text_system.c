/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <string.h>

#include "example_system.h"
#include "json_check.h"

static const struct format_style plain = { false, true, TEXT_COLUMNS, true };

static int set_up(void **state)
{
    struct example *example = example_new();

    example_system(example);
    *state = example;
    return 0;
}

static int tear_down(void **state)
{
    example_free(*state);
    return 0;
}

static const char whole_report[] =
    "node7\n"
    "measured for 5.00 s from 2026-03-14 09:26:53 UTC\n"
    "\n"
    "CPU                 1.50  cores busy of 8: user 1.00, system 0.50\n"
    "  iowait            0.10  cores idle with I/O outstanding; 0.00 stolen\n"
    "Memory           3.00 GB  used of 33.6 GB, 30.6 GB available\n"
    "  cached         2.00 GB  including 100 MB of buffers; 28.6 GB free\n"
    "  swap           10.0 MB  used of 1.00 GB\n"
    "Disk I/O       1.00 MB/s  read, 10.0 MB/s written\n"
    "  sda          1.00 MB/s  read, 10.0 MB/s written; 100 GB, ssd, EVO \\x1b[2J\n"
    "  sdb                n/a  read, n/a written\n"
    "Disk space       40.0 GB  used of 90.0 GB (45 %), 50.0 GB free\n"
    "  vg-data        40.0 GB  used of 90.0 GB (45 %), 50.0 GB free; on /data \"1\",\n"
    "                          xfs\n"
    "Network              n/a  received, n/a sent\n"
    "  eth0               n/a  received, 1.00 kB/s sent; up, 10000 Mb/s, ice\n"
    "Pressure            20 %  of the time some process waited for a CPU; 0.0 % for\n"
    "                          memory, 1.0 % for I/O\n"
    "Processes            321\n"
    "Host              8 CPUs  33.6 GB, AMD EPYC 7763 64-Core Processor, Linux 6.12.1\n"
    "\n"
    "tags         team=blue note=a=b\n"
    "tracker      12.0 ms of CPU (0.2 % of a core), 3.20 MB of RAM, 6 samples\n"
    "unknown      network: no network interface\n";

static void the_machine_is_shown_without_lines_of_a_job(void **state)
{
    struct buffer out = { 0 };

    example_write(*state, SPOOR_TEXT, &plain, &out);
    assert_string_equal(out.text, whole_report);
    buffer_done(&out);
}

static void a_machine_that_says_nothing_is_no_harm(void **state)
{
    struct example *example = *state;
    const struct devices none = { 0 };
    struct buffer out = { 0 };

    example_forget(example);
    example->input.latest = NULL;
    example->input.first_devices = example->input.devices = &none;
    example_write(example, SPOOR_TEXT, &plain, &out);
    assert_non_null(strstr(out.text, "CPU                  n/a  cores busy: user n/a"));
    buffer_done(&out);
}

static void json_has_the_devices(void **state)
{
    struct buffer out = { 0 };

    example_write(*state, SPOOR_JSON, NULL, &out);
    assert_true(json_is_valid(out.text));
    assert_non_null(strstr(out.text, "\"pid\": null"));
    assert_non_null(strstr(out.text, "{\"name\": \"sdb\", \"type\": null, \"model\": null, "
                                     "\"vendor\": null, \"serial\": null, "
                                     "\"capacity_bytes\": null, "
                                     "\"read_bytes_per_second\": null, "
                                     "\"written_bytes_per_second\": null}"));
    assert_non_null(strstr(out.text, "\"point\": \"/data \\\"1\\\"\""));
    buffer_done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_machine_is_shown_without_lines_of_a_job, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_machine_that_says_nothing_is_no_harm, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(json_has_the_devices, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
