/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/unknown.h"
#include "source/host/cpu_stat.h"

#define CPU_LINES                                \
    "cpu  1809 1 913 182852 1367 2 13 6 700 7\n" \
    "cpu0 1014 0 499 91126 854 0 4 2 0 0\n"      \
    "cpu1 794 0 413 91725 512 0 9 3 0 0\n"
#define TEXT CPU_LINES "intr 153411 0 0\nctxt 5\nbtime 6\nprocesses 4902\nprocs_running 3\n"

static void ticks_become_nanoseconds(void **state)
{
    struct cpu_stat stat;

    (void)state;
    assert_int_equal(cpu_stat_parse(TEXT, 100, &stat), 0);
    assert_int_equal(stat.user_ns, 18100000000); /* with nice; guests are in it already */
    assert_int_equal(stat.system_ns, 9280000000);
    assert_int_equal(stat.idle_ns, 1828520000000);
    assert_int_equal(stat.iowait_ns, 13670000000);
    assert_int_equal(stat.steal_ns, 60000000);
    assert_int_equal(stat.cpus, 2);
}

static void each_cpu_has_its_busy_time(void **state)
{
    struct cpu_busy list[4] = { { 0, 0 } };

    (void)state;
    assert_int_equal(cpu_stat_parse_each(TEXT, 100, list, ARRAY_SIZE(list)), 2);
    assert_int_equal(list[0].number, 0);
    assert_int_equal(list[0].busy_ns, 15190000000); /* neither idle nor waiting for disks */
    assert_int_equal(list[1].number, 1);
    assert_int_equal(list[1].busy_ns, 12190000000);
    assert_int_equal(cpu_stat_parse_each(TEXT, 100, list, 1), 1);
    assert_int_equal(cpu_stat_parse_each("cpu 1 2 3 4\ncpu7 1 2 3 4\ncpu9 1 2 3", 100, list, 4),
                     1);
    assert_int_equal(list[0].number, 7);
    assert_int_equal(list[0].busy_ns, 60000000);
    assert_int_equal(cpu_stat_parse_each("", 100, list, 4), 0);
}

static void a_tick_may_be_any_part_of_a_second(void **state)
{
    struct cpu_stat stat;

    (void)state;
    assert_int_equal(cpu_stat_parse("cpu 1025 0 1 0 0 0 0 0\n", 1024, &stat), 0);
    assert_int_equal(stat.user_ns, 1000976562);
    assert_int_equal(stat.system_ns, 976562);
}

static void old_kernels_have_fewer_columns(void **state)
{
    struct cpu_stat stat;

    (void)state;
    assert_int_equal(cpu_stat_parse("cpu 1 2 3 4\ncpu0 1 2 3 4\nintr 0\n", 100, &stat), 0);
    assert_int_equal(stat.user_ns, 30000000);
    assert_int_equal(stat.system_ns, 30000000);
    assert_true(stat.iowait_ns == UNKNOWN);
    assert_true(stat.steal_ns == UNKNOWN);
}

static void centuries_of_cpu_time_are_unknown_and_not_wrong(void **state)
{
    struct cpu_stat stat;

    (void)state;
    assert_int_equal(
        cpu_stat_parse("cpu 18446744073709551615 0 5 18446744073709551614\n", 100, &stat), 0);
    assert_true(stat.user_ns == UNKNOWN);
    assert_true(stat.idle_ns == UNKNOWN);
    assert_int_equal(stat.system_ns, 50000000);
}

static void a_cut_never_gives_a_wrong_number(void **state)
{
    struct cpu_stat whole, stat;
    char text[sizeof(TEXT)];

    (void)state;
    assert_int_equal(cpu_stat_parse(TEXT, 100, &whole), 0);
    for (size_t length = 0; length < strlen(TEXT); length++) {
        memcpy(text, TEXT, length);
        text[length] = '\0';
        if (cpu_stat_parse(text, 100, &stat) < 0) {
            assert_null(strchr(text, '\n'));
            continue;
        }
        assert_int_equal(stat.steal_ns, whole.steal_ns);
        assert_true(stat.cpus == whole.cpus || stat.cpus == UNKNOWN);
        assert_int_equal(stat.cpus == UNKNOWN, length <= strlen(CPU_LINES));
    }
}

static void thousands_of_cpus_are_counted(void **state)
{
    enum { CPUS = 8192, LINE = 32 };
    char *text = malloc(CPUS * LINE + 64);
    struct cpu_stat stat;
    size_t used;

    (void)state;
    assert_non_null(text);
    used = (size_t)snprintf(text, 64, "cpu 1 2 3 4 5 6 7 8\n");
    for (int i = 0; i < CPUS; i++)
        used += (size_t)snprintf(text + used, LINE, "cpu%d 1 2 3 4 5 6 7 8\n", i);
    (void)snprintf(text + used, LINE, "intr 1\n");
    assert_int_equal(cpu_stat_parse(text, 100, &stat), 0);
    assert_int_equal(stat.cpus, CPUS);
    free(text);
}

static void refuses_damaged_text(void **state)
{
    static const char *const damaged[] = {
        "",
        "\n",
        "cpu\n",
        "cpu0 1 2 3 4\n",
        "cpu 1 2 3\n",
        "cpu 1 2 x 4 5 6\n",
        "cpu -1 2 3 4\n",
        "cpu 1 2 3 99999999999999999999\n",
        "cpu 1 2 3 4 5 6 7 8",
    };
    struct cpu_stat stat = { .user_ns = 5 };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(damaged); i++)
        assert_int_equal(cpu_stat_parse(damaged[i], 100, &stat), -EBADMSG);
    assert_int_equal(cpu_stat_parse(TEXT, 0, &stat), -EBADMSG);
    assert_int_equal(stat.user_ns, 5); /* untouched on failure */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ticks_become_nanoseconds),
        cmocka_unit_test(each_cpu_has_its_busy_time),
        cmocka_unit_test(a_tick_may_be_any_part_of_a_second),
        cmocka_unit_test(old_kernels_have_fewer_columns),
        cmocka_unit_test(centuries_of_cpu_time_are_unknown_and_not_wrong),
        cmocka_unit_test(a_cut_never_gives_a_wrong_number),
        cmocka_unit_test(thousands_of_cpus_are_counted),
        cmocka_unit_test(refuses_damaged_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
