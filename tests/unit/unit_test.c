/* SPDX-License-Identifier: Apache-2.0 */
#include "unit_test.h"

enum { TESTS_MAX = 128 };

static struct unit_test *first;

void unit_test_add(struct unit_test *test)
{
    struct unit_test **at = &first;

    while (*at && (*at)->line < test->line)
        at = &(*at)->next;
    test->next = *at;
    *at = test;
}

int unit_tests_run(void)
{
    struct CMUnitTest tests[TESTS_MAX];
    size_t count = 0;

    for (const struct unit_test *test = first; test; test = test->next) {
        assert_in_range(count, 0, TESTS_MAX - 1);
        tests[count++] = test->test;
    }
    assert_true(count > 0);
    /* cmocka_run_group_tests() accepts only an array of constant length. */
    return _cmocka_run_group_tests("tests", tests, count, NULL, NULL);
}

__attribute__((weak)) int main(void)
{
    return unit_tests_run();
}
