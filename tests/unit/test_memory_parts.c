/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>

#include "sample/memory_parts.h"

static void set(uint64_t *value, uint64_t total, uint64_t private, uint64_t shared)
{
    value[METRIC_MAIN_RSS] = value[METRIC_JOB_RSS] = total;
    value[METRIC_MAIN_PRIVATE] = value[METRIC_JOB_PRIVATE] = private;
    value[METRIC_MAIN_SHARED] = value[METRIC_JOB_SHARED] = shared;
    value[METRIC_DESCENDANTS_RSS] = value[METRIC_DESCENDANTS_PRIVATE] =
        value[METRIC_DESCENDANTS_SHARED] = 0;
}

static void assert_job(const uint64_t *value, uint64_t private, uint64_t shared)
{
    assert_int_equal(value[METRIC_JOB_PRIVATE], private);
    assert_int_equal(value[METRIC_JOB_SHARED], shared);
}

/* A program that has loaded 450 MB of libraries since its memory was read. */
static void parts_that_are_older_than_the_total_are_unknown(void **state)
{
    struct sample sample;

    (void)state;
    sample_clear(&sample);
    set(sample.value, 1350, 800, 100);
    set(sample.moment, 1350, 800, 100);
    sample.at_peak = (struct memory_split){ 900, 800, 100 };
    memory_parts_settle(&sample);
    assert_job(sample.value, UNKNOWN, UNKNOWN);
    assert_job(sample.moment, UNKNOWN, UNKNOWN);
    assert_int_equal(sample.value[METRIC_MAIN_PRIVATE], UNKNOWN);
    assert_int_equal(sample.value[METRIC_JOB_RSS], 1350);
    assert_int_equal(sample.highest[METRIC_JOB_PRIVATE], 800); /* its peak is not lost */
}

static void a_little_more_is_shared(void **state)
{
    struct sample sample;

    (void)state;
    sample_clear(&sample);
    set(sample.value, 1010, 800, 200);
    sample.at_peak = (struct memory_split){ 1000, 800, 200 };
    memory_parts_settle(&sample);
    assert_job(sample.value, 800, 210);
    assert_int_equal(sample.value[METRIC_MAIN_SHARED], 210);
}

/* Private memory was highest at another moment than the total. */
static void parts_are_of_the_moment_of_the_total(void **state)
{
    struct sample sample;

    (void)state;
    sample_clear(&sample);
    set(sample.value, 1000, 700, 600);
    sample.at_peak = (struct memory_split){ 1000, 400, 600 };
    memory_parts_settle(&sample);
    assert_job(sample.value, 400, 600);
    assert_int_equal(sample.value[METRIC_MAIN_PRIVATE], 400);
    assert_int_equal(sample.highest[METRIC_JOB_PRIVATE], 700);
}

static void parts_of_main_and_descendants_are_those_of_the_job(void **state)
{
    struct sample sample;
    uint64_t *value = sample.value;

    (void)state;
    sample_clear(&sample);
    set(value, 1000, 700, 300);
    value[METRIC_MAIN_RSS] = 600;
    value[METRIC_MAIN_PRIVATE] = 300;
    value[METRIC_DESCENDANTS_RSS] = 700;
    value[METRIC_DESCENDANTS_PRIVATE] = 400;
    value[METRIC_DESCENDANTS_SHARED] = 300;
    sample.at_peak = (struct memory_split){ 1000, 700, 300 };
    memory_parts_settle(&sample);
    assert_int_equal(value[METRIC_MAIN_SHARED], 300);
    assert_int_equal(value[METRIC_DESCENDANTS_SHARED], 300);
    value[METRIC_DESCENDANTS_PRIVATE] = 450; /* of another moment */
    memory_parts_settle(&sample);
    assert_int_equal(value[METRIC_MAIN_PRIVATE], UNKNOWN);
    assert_int_equal(value[METRIC_DESCENDANTS_PRIVATE], UNKNOWN);
    assert_job(value, 700, 300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_that_are_older_than_the_total_are_unknown),
        cmocka_unit_test(a_little_more_is_shared),
        cmocka_unit_test(parts_are_of_the_moment_of_the_total),
        cmocka_unit_test(parts_of_main_and_descendants_are_those_of_the_job),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
