/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <string.h>

#include "base/compiler.h"
#include "front/nearest.h"

static void distance_counts_single_changes(void **state)
{
    static const struct {
        const char *a, *b;
        size_t distance;
    } pairs[] = {
        { "", "", 0 },           { "run", "run", 0 },
        { "rnu", "run", 1 },     { "rn", "run", 1 },
        { "runx", "run", 1 },    { "ran", "run", 1 },
        { "", "run", 3 },        { "abc", "xyz", 3 },
        { "quite", "quiet", 1 }, { "kitten", "sitting", 3 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
        assert_int_equal(edit_distance(pairs[i].a, pairs[i].b), pairs[i].distance);
        assert_int_equal(edit_distance(pairs[i].b, pairs[i].a), pairs[i].distance);
    }
}

static void words_of_any_length_are_safe(void **state)
{
    char huge[100000];

    (void)state;
    memset(huge, 'a', sizeof(huge) - 1);
    huge[sizeof(huge) - 1] = '\0';
    assert_int_equal(edit_distance(huge, "a"), 62);
    assert_int_equal(edit_distance(huge, huge), 0);
}

static const char *nearest_of_three(const char *word)
{
    struct nearest nearest = NEAREST_TO(word);

    nearest_offer(&nearest, "interval");
    nearest_offer(&nearest, "output");
    nearest_offer(&nearest, "quiet");
    return nearest_get(&nearest);
}

static void a_slip_names_what_was_meant(void **state)
{
    (void)state;
    assert_string_equal(nearest_of_three("intervalx"), "interval");
    assert_string_equal(nearest_of_three("intreval"), "interval");
    assert_string_equal(nearest_of_three("outptu"), "output");
    assert_string_equal(nearest_of_three("quite"), "quiet");
}

static void the_start_of_a_word_names_it(void **state)
{
    (void)state;
    assert_string_equal(nearest_of_three("int"), "interval");
    assert_string_equal(nearest_of_three("out"), "output");
}

static void another_word_names_nothing(void **state)
{
    (void)state;
    assert_null(nearest_of_three("frobnicate"));
    assert_null(nearest_of_three("x"));
    assert_null(nearest_of_three(""));
    assert_null(nearest_of_three("sleep"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distance_counts_single_changes),
        cmocka_unit_test(words_of_any_length_are_safe),
        cmocka_unit_test(a_slip_names_what_was_meant),
        cmocka_unit_test(the_start_of_a_word_names_it),
        cmocka_unit_test(another_word_names_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
