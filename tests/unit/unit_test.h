/* SPDX-License-Identifier: Apache-2.0 */
/* unit_test.h - a program of tests: TEST(name) { ... } defines a test and adds it to the program.
 * The tests run in the order of their lines. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

/* cmocka passes a state to every test; few need it. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* With sanitizers, loops over random cases run one in LOOP_SHARE of them, as each takes some five
 * times longer. The plain build runs all. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LOOP_SHARE 4
#else
#define LOOP_SHARE 1
#endif

struct unit_test {
    struct CMUnitTest test;
    int line;
    struct unit_test *next;
};

void unit_test_add(struct unit_test *test);

/* Runs the tests of the program. Returns its exit status. main() calls it if the program does not
 * define a main() of its own. */
int unit_tests_run(void);

/* A test between two functions of the type CMFixtureFunction; each may be NULL. */
#define TEST_WITH(name, set_up, tear_down)                                         \
    static void name(void **state);                                                \
    __attribute__((constructor)) static void add_##name(void)                      \
    {                                                                              \
        static struct unit_test test = { { #name, name, set_up, tear_down, NULL }, \
                                         __LINE__,                                 \
                                         NULL };                                   \
                                                                                   \
        unit_test_add(&test);                                                      \
    }                                                                              \
    static void name(void **state)

#define TEST(name) TEST_WITH(name, NULL, NULL)
