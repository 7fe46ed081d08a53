/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <math.h>

#include "base/unknown.h"
#include "output/process_list.h"

static struct record_process processes[] = {
    { .pid = 812,
      .name = "cc1",
      .command = "/usr/libexec/cc1 -quiet a/b.c",
      .started_seconds = 0.5,
      .ended_seconds = 2.25,
      .cpu_seconds = 1.7,
      .peak_rss_bytes = 183500000 },
    { .pid = 1234567,
      .name = "train\x1b[2J",
      .started_seconds = 1,
      .ended_seconds = (double)NAN,
      .cpu_seconds = 4000,
      .peak_rss_bytes = UNKNOWN },
    { .pid = 9, .ended_seconds = 1, .cpu_seconds = (double)NAN, .peak_rss_bytes = 1 },
};
static struct record_process_sum others[] = { { "sh", 1203, 2.1, 3500000 },
                                              { NULL, UNKNOWN, 0.1, UNKNOWN } };

static void check(size_t shown, const char *expected)
{
    const struct record record = {
        .elapsed_seconds = 5000,
        .processes = processes,
        .process_count = 3,
        .other_processes = others,
        .other_process_count = 2,
        .shown_processes = shown,
    };
    struct buffer out = { 0 };
    struct page page = { .out = &out, .columns = 80 };

    process_list_write(&record, &page);
    assert_string_equal(out.text ? out.text : "", expected);
    buffer_done(&out);
}

static void those_with_the_most_cpu_time_come_first(void **state)
{
    (void)state;
    check(2, "\n"
             "Processes   PID    CPU time  peak memory        time  command\n"
             "        1234567  1 h 07 min          n/a  1 h 23 min  train\\x1b[2J\n"
             "            812      1.70 s       184 MB      1.75 s  cc1 -quiet a/b.c\n"
             "  and 1204 more\n");
}

static void what_is_not_known_is_not_zero(void **state)
{
    (void)state;
    others[0].count = 0;
    check(200, "\n"
               "Processes   PID    CPU time  peak memory        time  command\n"
               "        1234567  1 h 07 min          n/a  1 h 23 min  train\\x1b[2J\n"
               "            812      1.70 s       184 MB      1.75 s  cc1 -quiet a/b.c\n"
               "              9         n/a          1 B      1.00 s  n/a\n");
}

static void command_is_escaped_once(void **state)
{
    (void)state;
    processes[2].command = "$'./e\\x1b' a\x1b";
    check(200, "\n"
               "Processes   PID    CPU time  peak memory        time  command\n"
               "        1234567  1 h 07 min          n/a  1 h 23 min  train\\x1b[2J\n"
               "            812      1.70 s       184 MB      1.75 s  cc1 -quiet a/b.c\n"
               "              9         n/a          1 B      1.00 s  $'./e\\x1b' a\\x1b\n");
}

static void without_the_option_there_is_none(void **state)
{
    (void)state;
    check(0, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(those_with_the_most_cpu_time_come_first),
        cmocka_unit_test(what_is_not_known_is_not_zero),
        cmocka_unit_test(command_is_escaped_once),
        cmocka_unit_test(without_the_option_there_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
