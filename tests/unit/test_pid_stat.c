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
#include "source/proc/pid_stat.h"

/* fields 4 to 24 */
#define TAIL " 7 42 42 0 -1 4194368 100 11 12 13 200 50 30 20 20 0 3 0 5000 1000000 250"

static void reads_the_columns_that_are_used(void **state)
{
    struct pid_stat stat;

    (void)state;
    assert_int_equal(pid_stat_parse("42 (name) S" TAIL " 18446744073709551615 1 1\n", &stat),
                     0);
    assert_int_equal(stat.pid, 42);
    assert_string_equal(stat.comm, "name");
    assert_int_equal(stat.state, 'S');
    assert_int_equal(stat.parent_pid, 7);
    assert_int_equal(stat.minor_faults, 100);
    assert_int_equal(stat.child_minor_faults, 11);
    assert_int_equal(stat.major_faults, 12);
    assert_int_equal(stat.child_major_faults, 13);
    assert_int_equal(stat.user_ticks, 200);
    assert_int_equal(stat.system_ticks, 50);
    assert_int_equal(stat.child_user_ticks, 30);
    assert_int_equal(stat.child_system_ticks, 20);
    assert_int_equal(stat.threads, 3);
    assert_int_equal(stat.start_ticks, 5000);
    assert_int_equal(stat.rss_pages, 250);
}

static void a_flag_tells_a_fork_from_a_program(void **state)
{
    struct pid_stat stat;

    (void)state;
    assert_int_equal(pid_stat_parse("42 (x) S" TAIL, &stat), 0);
    assert_false(stat.has_exec); /* 4194368 = 0x400040 */
    assert_int_equal(
        pid_stat_parse("42 (x) S 7 42 42 0 -1 4194304 1 1 1 1 1 1 1 1 20 0 3 0 5 1 2", &stat),
        0);
    assert_true(stat.has_exec);
}

static void a_process_is_ending_before_it_is_a_zombie(void **state)
{
    static const struct {
        const char *text;
        bool is_ending;
    } cases[] = {
        { "42 (x) S" TAIL, false },
        { "42 (x) Z" TAIL, true },
        { "42 (x) X" TAIL, true },
        { "42 (x) R 7 42 42 0 -1 4194308 1 1 1 1 1 1 1 1 20 0 3 0 5 1 2", true },
    };
    struct pid_stat stat;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_int_equal(pid_stat_parse(cases[i].text, &stat), 0);
        assert_true(stat.is_ending == cases[i].is_ending);
    }
}

static void name_may_hold_parentheses_and_spaces(void **state)
{
    struct pid_stat stat;

    (void)state;
    assert_int_equal(pid_stat_parse("42 (a) R 1 (b)) Z" TAIL, &stat), 0);
    assert_string_equal(stat.comm, "a) R 1 (b)");
    assert_int_equal(stat.state, 'Z');
    assert_int_equal(stat.parent_pid, 7);
}

static void name_may_hold_newlines_and_nothing(void **state)
{
    struct pid_stat stat;

    (void)state;
    assert_int_equal(pid_stat_parse("42 (a\nb\033[31m) R" TAIL, &stat), 0);
    assert_string_equal(stat.comm, "a\nb\033[31m");
    assert_int_equal(pid_stat_parse("42 () R" TAIL, &stat), 0);
    assert_string_equal(stat.comm, "");
}

static void refuses_damaged_text(void **state)
{
    static const char *const damaged[] = {
        "",
        "42",
        "42 (",
        "42 )(",
        "42 (x)",
        "42 (x) ",
        "42 (x) S",
        "42 (x) S 7 42",
        "(x) S" TAIL,
        "0 (x) S" TAIL,
        "-42 (x) S" TAIL,
        "4294967338 (x) S" TAIL,
        "42 (x) S 4294967303 42 42 0 -1 4194304 1 1 1 1 1 1 1 1 20 0 3 0 5 1 2",
        "42 (x) S 99999999999999999999" TAIL,
        "42 (0123456789012345678901234567890123456789012345678901234567890123456789) S" TAIL,
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(damaged); i++) {
        struct pid_stat stat = { .pid = -1 };

        assert_int_equal(pid_stat_parse(damaged[i], &stat), -EBADMSG);
        assert_int_equal(stat.pid, -1); /* untouched on failure */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_the_columns_that_are_used),
        cmocka_unit_test(a_flag_tells_a_fork_from_a_program),
        cmocka_unit_test(a_process_is_ending_before_it_is_a_zombie),
        cmocka_unit_test(name_may_hold_parentheses_and_spaces),
        cmocka_unit_test(name_may_hold_newlines_and_nothing),
        cmocka_unit_test(refuses_damaged_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
