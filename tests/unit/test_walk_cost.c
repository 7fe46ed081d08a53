/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>

#include "job/memory/walk_cost.h"

#define MB (1024u * 1024u)
#define US 1000u

static struct walk_cost begin(void)
{
    struct walk_cost cost;

    walk_cost_init(&cost);
    return cost;
}

/* Twenty walks over so much that took so long; what the next is expected to take, in microseconds. */
static uint64_t learned_us(struct walk_cost *cost, size_t processes, uint64_t mb, uint64_t us)
{
    for (int i = 0; i < 20; i++)
        walk_cost_learn(cost, processes, mb * MB, us * US);
    return walk_cost_ns(cost, processes, mb * MB) / US;
}

static void a_walk_is_expected_to_take_what_the_last_took(void **state)
{
    struct walk_cost cost = begin();

    (void)state;
    assert_in_range(learned_us(&cost, 2, 1000, 6000), 5900, 6100);
    assert_in_range(learned_us(&cost, 2, 1000, 30000), 29000, 31000);
    assert_in_range(learned_us(&cost, 2, 1000, 1000), 950, 1060);
}

static void huge_pages_cost_next_to_nothing(void **state)
{
    struct walk_cost cost = begin();

    (void)state;
    assert_in_range(learned_us(&cost, 1, 10000, 20), 20, 300);
    assert_in_range(learned_us(&cost, 1, 10000, 40000), 38000,
                    42000); /* and then small ones do */
}

/* Four processes of 3 MB took half a millisecond: at 180 MB that is not 11 ms. */
static void a_slow_walk_over_little_tells_little_of_much(void **state)
{
    struct walk_cost cost = begin();

    (void)state;
    walk_cost_learn(&cost, 4, 12 * MB, 540 * US);
    assert_in_range(walk_cost_ns(&cost, 4, 180 * MB) / US, 820, 1500);
    cost = begin();
    walk_cost_learn(&cost, 1, MB / 16, 1000 * US); /* a program that is being loaded */
    assert_in_range(walk_cost_ns(&cost, 4, 180 * MB) / US, 820, 1500);
}

static void a_walk_over_nothing_tells_nothing(void **state)
{
    struct walk_cost cost = begin();
    uint64_t before_ns = walk_cost_ns(&cost, 3, 100 * MB);

    (void)state;
    walk_cost_learn(&cost, 3, 0, 540 * US);
    assert_int_equal(walk_cost_ns(&cost, 3, 100 * MB), before_ns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_walk_is_expected_to_take_what_the_last_took),
        cmocka_unit_test(huge_pages_cost_next_to_nothing),
        cmocka_unit_test(a_slow_walk_over_little_tells_little_of_much),
        cmocka_unit_test(a_walk_over_nothing_tells_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
