/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "base/compiler.h"
#include "record/record.h"
#include "unit_test.h"

enum { POINTS = 4 };

/* A run of 10 s: 100 MB for 1 s, 200 for 8 s, 900 for 0.5 s, unknown for 0.5 s. */
struct example {
    struct record record;
    double seconds[POINTS];
    float memory[POINTS], cores[POINTS];
    struct curve_column columns[2];
};

static void make(struct example *example, double last_memory)
{
    *example = (struct example){
        .seconds = { 1, 9, 9.5, 10 },
        .memory = { 100, 200, 900, (float)last_memory },
        .cores = { 1, 1, 4, 0 },
    };
    example->columns[0] = (struct curve_column){ "job_rss_bytes", false, example->memory,
                                                 example->memory, example->memory };
    example->columns[1] = (struct curve_column){ "job_cpu_seconds", true, example->cores,
                                                 example->cores, example->cores };
    record_init(&example->record);
    example->record.curve = (struct record_curve){ .samples = POINTS,
                                                   .count = POINTS,
                                                   .seconds = example->seconds,
                                                   .columns = example->columns,
                                                   .column_count = 2 };
}

TEST(quantiles_weight_values_by_their_duration)
{
    struct example example;

    make(&example, 200);
    record_fill_distribution(&example.record);
    assert_float_equal(example.record.memory.p50, 200, 0);
    assert_float_equal(example.record.memory.p95, 200, 0); /* the spike is 5 % of the time */
    assert_float_equal(example.record.cores.p50, 1, 0);
    assert_true(isnan(example.record.memory.near_limit_seconds)); /* no limit is known */
    record_done(&example.record);
}

TEST(time_near_the_memory_limit_is_counted)
{
    struct example example;

    make(&example, 901);
    example.record.memory_limit_bytes = 1000;
    record_fill_distribution(&example.record);
    assert_float_equal(example.record.memory.near_limit_seconds, 1, 1e-9);
    assert_float_equal(example.record.memory.p95, 900, 0);
    record_done(&example.record);
}

TEST(unknown_values_are_not_part_of_the_distribution)
{
    struct example example;

    make(&example, (double)NAN);
    example.record.memory_limit_bytes = 100000;
    record_fill_distribution(&example.record);
    assert_float_equal(example.record.memory.p50, 200, 0);
    assert_float_equal(example.record.memory.p95, 900, 0); /* 0.5 s of 9.5 s is more than 5 % */
    assert_float_equal(example.record.memory.near_limit_seconds, 0, 0);
    example.record.curve.count = 0;
    record_fill_distribution(&example.record);
    assert_true(isnan(example.record.memory.p50));
    assert_true(isnan(example.record.cores.p95));
    record_done(&example.record);
}
