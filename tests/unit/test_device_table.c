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

#include "base/parse.h"
#include "base/unknown.h"
#include "source/host/device_table.h"

static struct device_table table;
static int calls;

/* A line is a name and two numbers. */
static int parse_name(const char **cursor, char name[DEVICE_NAME_SIZE])
{
    return parse_word(cursor, name, DEVICE_NAME_SIZE) < 0 ? -EBADMSG : 0;
}

static int parse_bytes(const char *cursor, struct device_bytes *ret)
{
    return parse_u64(&cursor, &ret->in) < 0 || parse_u64(&cursor, &ret->out) < 0 ? -EBADMSG : 0;
}

/* By the first letter: real, virtual or ignored. */
static enum device_class classify(const struct root *root, const char *name)
{
    (void)root;
    calls++;
    return name[0] == 'r' ? DEVICE_REAL : name[0] == 'v' ? DEVICE_VIRTUAL : DEVICE_IGNORED;
}

static int read_text(const char *text, struct device_bytes *ret)
{
    static const struct device_kind kind = { parse_name, parse_bytes, classify };
    struct root root = ROOT_CLOSED;

    return device_table_read(&table, &kind, &root, text, ret);
}

static void assert_sum(const char *text, uint64_t in, uint64_t out)
{
    struct device_bytes sum;

    assert_int_equal(read_text(text, &sum), 0);
    assert_int_equal(sum.in, in);
    assert_int_equal(sum.out, out);
}

static int begin(void **state)
{
    (void)state;
    device_table_init(&table);
    calls = 0;
    return 0;
}

static void a_device_is_asked_about_once(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        assert_sum("r0 5 1\nv0 7 7\ni0 9 9\n", 5, 1);
    assert_int_equal(calls, 3);
    assert_true(table.is_exact);
}

static void what_a_new_device_had_counted_before_is_not_growth(void **state)
{
    (void)state;
    assert_sum("r0 100 10\n", 100, 10);
    assert_sum("r9 7000 700\nr0 101 10\n", 101, 10);
    assert_false(table.is_exact);
    assert_sum("r9 7005 700\nr0 102 11\n", 107, 11);
}

static void a_device_that_is_removed_takes_nothing_away(void **state)
{
    (void)state;
    assert_sum("r0 100 10\nr1 1000 1000\nr2 5 5\n", 1105, 1015);
    assert_sum("r0 107 10\nr2 6 5\n", 1113, 1015);
    assert_false(table.is_exact);
    assert_sum("r2 7 5\n", 1114, 1015);
    assert_sum("", 1114, 1015);
    assert_sum("r0 110 10\nr1 1 1\n", 1114, 1015); /* they are back */
    assert_sum("r0 111 10\nr1 2 2\n", 1116, 1016);
}

static void a_device_may_take_the_place_of_another(void **state)
{
    (void)state;
    assert_sum("r0 100 0\nr1 10 0\nr2 1 0\n", 111, 0);
    assert_sum("r0 100 0\nr9 5000 0\nr2 2 0\n", 112, 0);
    assert_sum("r2 3 0\nr0 101 0\nr9 5001 0\n", 115, 0); /* in another order */
    assert_int_equal(calls, 4);
}

static void a_counter_that_was_reset_has_not_grown(void **state)
{
    (void)state;
    assert_sum("r0 100 10\nr1 7 7\n", 107, 17);
    assert_sum("r0 3 12\nr1 8 8\n", 108, 20);
    assert_false(table.is_exact);
    assert_sum("r0 4 12\nr1 8 8\n", 109, 20);
}

static void others_do_not_make_the_sum_inexact(void **state)
{
    (void)state;
    assert_sum("r0 100 10\nv0 7 7\ni0 9 9\n", 100, 10);
    assert_sum("r0 101 10\nv1 9 9\nv2 1 1\n", 101, 10);
    assert_sum("r0 102 10\nv1 1 1\ni5 1 1\n", 102, 10);
    assert_true(table.is_exact);
}

static void what_is_counted_is_decided_once(void **state)
{
    struct device_bytes sum = { 5, 5 };

    (void)state;
    assert_int_equal(read_text("", &sum), -ENOENT);
    assert_int_equal(read_text("i0 1 1\n", &sum), -ENOENT);
    assert_int_equal(sum.in, 5); /* untouched on failure */
    assert_sum("i0 1 1\nv0 50 5\n", 50, 5);
    assert_true(table.is_exact);
    assert_sum("r0 900 90\nv0 51 5\n", 51, 5);
}

static void a_damaged_reading_loses_nothing(void **state)
{
    struct device_bytes sum;

    (void)state;
    assert_sum("r0 100 10\nr1 1 1\n", 101, 11);
    assert_int_equal(read_text("r0 105 10\nr1 x\n", &sum), -EBADMSG);
    assert_int_equal(read_text("r7 x\n", &sum), -EBADMSG);
    assert_sum("r0 107 10\nr1 2 2\n", 109, 12);
    assert_true(table.is_exact);
}

static void a_sum_that_is_not_known_stays_so(void **state)
{
    (void)state;
    assert_sum("r0 18446744073709551615 5\n", UNKNOWN, 5);
    assert_sum("r0 18446744073709551615 6\n", UNKNOWN, 6);
}

/* A table with this many lines of real devices that have counted 1 each. */
static char *make_lines(size_t count)
{
    char *text = malloc(count * 20 + 1), *end = text;

    assert_non_null(text);
    for (size_t i = 0; i < count; i++)
        end += snprintf(end, 20, "r%zu 1 1\n", i);
    return text;
}

static void more_devices_than_fit_are_refused(void **state)
{
    char *text = make_lines(DEVICE_TABLE_SIZE);
    struct device_bytes sum;

    (void)state;
    assert_sum(text, DEVICE_TABLE_SIZE, DEVICE_TABLE_SIZE);
    assert_sum(text, DEVICE_TABLE_SIZE, DEVICE_TABLE_SIZE);
    assert_int_equal(calls, DEVICE_TABLE_SIZE);
    free(text);
    text = make_lines(DEVICE_TABLE_SIZE + 1);
    assert_int_equal(read_text(text, &sum), -E2BIG);
    free(text);
    assert_sum("r5000 9 9\nr0 2 2\n", DEVICE_TABLE_SIZE + 1, DEVICE_TABLE_SIZE + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_device_is_asked_about_once, begin),
        cmocka_unit_test_setup(what_a_new_device_had_counted_before_is_not_growth, begin),
        cmocka_unit_test_setup(a_device_that_is_removed_takes_nothing_away, begin),
        cmocka_unit_test_setup(a_device_may_take_the_place_of_another, begin),
        cmocka_unit_test_setup(a_counter_that_was_reset_has_not_grown, begin),
        cmocka_unit_test_setup(others_do_not_make_the_sum_inexact, begin),
        cmocka_unit_test_setup(what_is_counted_is_decided_once, begin),
        cmocka_unit_test_setup(a_damaged_reading_loses_nothing, begin),
        cmocka_unit_test_setup(a_sum_that_is_not_known_stays_so, begin),
        cmocka_unit_test_setup(more_devices_than_fit_are_refused, begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
