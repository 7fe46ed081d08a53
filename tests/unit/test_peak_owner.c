/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>

#include "base/compiler.h"
#include "job/memory/peak_owner.h"

#define MB ((uint64_t)1 << 20)

static void page_faults_decide_the_owner_of_a_peak(void **state)
{
    static const struct {
        struct peak_evidence evidence;
        enum peak_owner owner;
    } rows[] = {
        /* A shell that waited for a large child, with and without huge pages. */
        { { 300 * MB, 3 * MB, 20, 78000, 4096 }, OWNER_CHILD },
        { { 300 * MB, 3 * MB, 20, 2300, 4096 }, OWNER_CHILD },
        { { 300 * MB, 3 * MB, 1000, 78000, 4096 }, OWNER_PROBABLY_CHILD },
        { { 300 * MB, 3 * MB, 1000, 2300, 4096 }, OWNER_PROBABLY_CHILD },
        /* A program that ran a small one, and grew at its end. */
        { { 300 * MB, 20 * MB, 72000, 100, 4096 }, OWNER_SELF },
        { { 300 * MB, 20 * MB, 72000, 400, 4096 }, OWNER_PROBABLY_SELF },
        { { 300 * MB, 20 * MB, 600, 400, 4096 }, OWNER_PROBABLY_SELF },
        /* It was seen close to its maximum. */
        { { 200 * MB, 199 * MB, 0, 100, 4096 }, OWNER_PROBABLY_SELF },
        { { 200 * MB, 190 * MB, 100, 100, 4096 }, OWNER_PROBABLY_SELF },
        { { 210 * MB, 100 * MB, 55, 110, 4096 }, OWNER_PROBABLY_SELF }, /* huge pages */
        /* The same where a page has 64 KiB. */
        { { 300 * MB, 20 * MB, 4600, 400, 65536 }, OWNER_PROBABLY_SELF },
        { { 300 * MB, 20 * MB, 0, 400, 65536 }, OWNER_CHILD },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        assert_int_equal(peak_owner_of(&rows[i].evidence), rows[i].owner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(page_faults_decide_the_owner_of_a_peak),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
