/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>

#include "base/clock.h"
#include "base/unknown.h"
#include "job/gpu/gpu_rest.h"

#define US(n) ((n)*NS_PER_US)

/* Notes each of the CPU times, so far apart; returns what is said of the last. */
static bool rests_at(uint64_t gap_ns, const uint64_t *cpu_ns, size_t count)
{
    struct gpu_rest rest;
    bool result = false;

    gpu_rest_init(&rest);
    for (size_t i = 0; i < count; i++)
        result = gpu_rest_note(&rest, cpu_ns[i], NS_PER_SECOND + i * gap_ns);
    return result;
}

static bool rests(const uint64_t *cpu_ns, size_t count)
{
    return rests_at(NS_PER_MS, cpu_ns, count);
}

#define RESTS(...)                           \
    rests((const uint64_t[]){ __VA_ARGS__ }, \
          sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

static void it_is_not_known_before_two_spans(void **state)
{
    (void)state;
    assert_false(RESTS(US(500)));
    assert_false(RESTS(US(500), US(500)));
    assert_true(RESTS(US(500), US(500), US(500)));
}

static void threads_that_wake_up_now_and_then_are_rest(void **state)
{
    (void)state;
    assert_true(RESTS(0, US(40), US(80), US(120), US(160), US(200), US(240)));
    assert_false(RESTS(0, US(40), US(80), US(120), US(225)));
}

/* Ten times a second for 63 us, as a thread of CUDA does, noted every 100 ms. */
static void a_little_is_rest_however_seldom_it_is_noted(void **state)
{
    const uint64_t cpu_ns[] = { 0, US(63), US(126), US(189), US(252) };
    const uint64_t more_ns[] = { 0, US(63), US(126), US(189), US(489) };

    (void)state;
    assert_true(rests_at(100 * NS_PER_MS, cpu_ns, 5));
    assert_false(rests_at(100 * NS_PER_MS, more_ns, 5));
}

static void what_has_run_is_looked_at_twice(void **state)
{
    (void)state;
    assert_false(RESTS(0, 0, 0, US(300)));
    assert_false(RESTS(0, 0, 0, US(300), US(300)));
    assert_true(RESTS(0, 0, 0, US(300), US(300), US(300)));
}

static void work_that_falls_into_two_spans_counts(void **state)
{
    (void)state;
    assert_false(RESTS(0, 0, US(60), US(120)));
}

/* Its CPU time is no longer in the sum. */
static void the_end_of_a_process_is_no_rest(void **state)
{
    (void)state;
    assert_false(RESTS(US(900), US(900), US(900), US(300)));
}

static void unknown_is_no_rest(void **state)
{
    (void)state;
    assert_false(RESTS(0, 0, 0, UNKNOWN));
    assert_false(RESTS(0, 0, UNKNOWN, 0, 0, UNKNOWN));
    assert_false(RESTS(0, UNKNOWN, 0, 0)); /* not known from when on */
    assert_true(RESTS(UNKNOWN, 0, 0, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_not_known_before_two_spans),
        cmocka_unit_test(threads_that_wake_up_now_and_then_are_rest),
        cmocka_unit_test(a_little_is_rest_however_seldom_it_is_noted),
        cmocka_unit_test(what_has_run_is_looked_at_twice),
        cmocka_unit_test(work_that_falls_into_two_spans_counts),
        cmocka_unit_test(the_end_of_a_process_is_no_rest),
        cmocka_unit_test(unknown_is_no_rest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
