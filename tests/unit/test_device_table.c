/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "source/host/device_table.h"

static int calls;

/* Real where the name starts with 'r'. */
static enum device_class classify(const struct root *root, const char *name)
{
    (void)root;
    calls++;
    return name[0] == 'r' ? DEVICE_REAL : DEVICE_VIRTUAL;
}

static void a_device_is_asked_about_once(void **state)
{
    static struct device_table table;
    struct root root = ROOT_CLOSED;

    (void)state;
    calls = 0;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(device_table_get(&table, &root, 0, "r0", classify), DEVICE_REAL);
        assert_int_equal(device_table_get(&table, &root, 1, "v0", classify), DEVICE_VIRTUAL);
    }
    assert_int_equal(calls, 2);
}

static void another_name_on_the_line_is_asked_about_anew(void **state)
{
    static struct device_table table;
    struct root root = ROOT_CLOSED;

    (void)state;
    calls = 0;
    assert_int_equal(device_table_get(&table, &root, 0, "r0", classify), DEVICE_REAL);
    assert_int_equal(device_table_get(&table, &root, 0, "v0", classify), DEVICE_VIRTUAL);
    assert_int_equal(device_table_get(&table, &root, 0, "r", classify), DEVICE_REAL);
    assert_int_equal(calls, 3);
}

static void more_devices_than_fit_are_still_right(void **state)
{
    static struct device_table table;
    struct root root = ROOT_CLOSED;
    char name[DEVICE_NAME_SIZE];

    (void)state;
    calls = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < DEVICE_TABLE_SIZE + 10; i++) {
            (void)snprintf(name, sizeof(name), "%c%zu", i % 2 ? 'r' : 'v', i);
            assert_int_equal(device_table_get(&table, &root, i, name, classify),
                             i % 2 ? DEVICE_REAL : DEVICE_VIRTUAL);
        }
    }
    assert_int_equal(calls, DEVICE_TABLE_SIZE + 20);
}

static void a_name_that_does_not_fit_is_not_cut(void **state)
{
    static struct device_table table;
    struct root root = ROOT_CLOSED;
    char name[DEVICE_NAME_SIZE + 10];

    (void)state;
    calls = 0;
    memset(name, 'r', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    assert_int_equal(device_table_get(&table, &root, 0, name, classify), DEVICE_REAL);
    assert_int_equal(table.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_device_is_asked_about_once),
        cmocka_unit_test(another_name_on_the_line_is_asked_about_anew),
        cmocka_unit_test(more_devices_than_fit_are_still_right),
        cmocka_unit_test(a_name_that_does_not_fit_is_not_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
