/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "compat/gpu_tracker/subtrack/results.h"
#include "unit_test.h"

enum { MANY = 100000 };

/* Size of the largest allocation made by results.c. */
static size_t largest_bytes;

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

void *__wrap_calloc(size_t count, size_t size)
{
    if (count * size > largest_bytes)
        largest_bytes = count * size;
    return __real_calloc(count, size);
}

/* Writes results without blocks, up to but not including the end of the document. */
static void write_start(struct buffer *out)
{
    struct results results = { .block_count = 0 };

    results_write_json(&results, out);
    assert_int_equal(buffer_error(out), 0);
    out->length -= strlen("]\n}");
    assert_memory_equal(out->text + out->length, "]\n}", 3);
}

/* A block that takes two bytes in a hostile file must not use a kilobyte of memory. */
TEST(blocks_without_calls_use_no_memory)
{
    CLEANUP(buffer_done) struct buffer text = { 0 };
    struct results results = { .block_count = 0 };
    struct spoor_error err;

    write_start(&text);
    for (size_t i = 0; i < MANY; i++)
        buffer_add_text(&text, i > 0 ? ",0" : "0");
    buffer_add_text(&text, "]}");
    assert_int_equal(buffer_error(&text), 0);
    largest_bytes = 0;
    assert_int_equal(results_parse(text.text, text.length, "f", &results, &err), -EBADMSG);
    assert_non_null(strstr(err.message, "a figure is missing"));
    assert_true(largest_bytes < 1 << 20);
}

TEST(a_pickle_is_recognized)
{
    struct results results = { .block_count = 0 };
    struct spoor_error err;

    assert_int_equal(results_parse("\x80\x04x", 3, "f.pkl", &results, &err), -EBADMSG);
    assert_non_null(strstr(err.message, "pickle"));
    assert_non_null(strstr(err.message, "TrackingComparison"));
}

TEST(results_survive_a_round_trip)
{
    CLEANUP(buffer_done) struct buffer text = { 0 };
    CLEANUP(results_done) struct results results = { .block_count = 0 };
    char name[] = "a.py:1";
    struct block_result block = { .name = name, .usage[1][2] = 5, .compute_time[0] = 0.5 };
    struct results written = { .blocks = &block, .block_count = 1 };

    written.overall[0][1] = 7;
    results_write_json(&written, &text);
    assert_int_equal(results_parse(text.text, text.length, "f", &results, NULL), 0);
    assert_int_equal(results.block_count, 1);
    assert_string_equal(results.blocks[0].name, name);
    assert_true(fabs(results.blocks[0].usage[1][2] - 5) < 1e-9);
    assert_true(fabs(results.blocks[0].compute_time[0] - 0.5) < 1e-9);
    assert_true(fabs(results.overall[0][1] - 7) < 1e-9);
}
