/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <errno.h>

#include "base/compiler.h"
#include "base/unknown.h"
#include "source/host/pressure.h"

static void the_total_of_some_is_taken(void **state)
{
    uint64_t ns;

    (void)state;
    assert_int_equal(pressure_parse("some avg10=0.81 avg60=0.56 avg300=0.21 total=2194262\n"
                                    "full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n",
                                    &ns),
                     0);
    assert_int_equal(ns, 2194262000);
    assert_int_equal(pressure_parse("full avg10=0.00 total=7\nsome avg10=0.00 total=8\n", &ns),
                     0);
    assert_int_equal(ns, 8000);
}

static void a_total_that_does_not_fit_is_unknown(void **state)
{
    uint64_t ns;

    (void)state;
    assert_int_equal(pressure_parse("some avg10=0.00 total=18446744073709551614\n", &ns), 0);
    assert_true(ns == UNKNOWN);
}

static void refuses_damaged_text(void **state)
{
    static const char *const damaged[] = {
        "",
        "some",
        "some \n",
        "some avg10=0.81 total=21",
        "some avg10=0.81 total=\n5\n",
        "some avg10=0.81 total=x\n",
        "some avg10=0.81\nfull avg10=0.00 total=7\n",
        "full avg10=0.00 total=7\n",
        "some avg10=0.00 total=99999999999999999999\n",
    };
    uint64_t ns = 5;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(damaged); i++)
        assert_int_equal(pressure_parse(damaged[i], &ns), -EBADMSG);
    assert_int_equal(ns, 5); /* untouched on failure */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_total_of_some_is_taken),
        cmocka_unit_test(a_total_that_does_not_fit_is_unknown),
        cmocka_unit_test(refuses_damaged_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
