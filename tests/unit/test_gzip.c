/* SPDX-License-Identifier: Apache-2.0 */
/* test_gzip.c - what is compressed can be unpacked by zlib. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "services/upload/gzip.h"

static void unpack(const struct buffer *packed, char *text, size_t size)
{
    z_stream stream = { .next_in = (unsigned char *)packed->text,
                        .avail_in = (uInt)packed->length,
                        .next_out = (unsigned char *)text,
                        .avail_out = (uInt)size };

    assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
    assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
    assert_int_equal(stream.total_out, size);
    inflateEnd(&stream);
}

static void nothing_is_a_valid_file(void **state)
{
    struct buffer packed = { 0 };
    char text[1];

    (void)state;
    assert_int_equal(gzip_add("", 0, &packed), 0);
    unpack(&packed, text, 0);
    buffer_done(&packed);
}

/* More than one piece of output, and hardly compressible. */
static void large_text_comes_back(void **state)
{
    enum { SIZE = 300000 };
    char *text = malloc(SIZE), *back = malloc(SIZE);
    struct buffer packed = { 0 };
    uint32_t random = 1;

    (void)state;
    for (size_t i = 0; i < SIZE; i++) {
        random = random * 1664525 + 1013904223;
        text[i] = (char)(random >> 24);
    }
    assert_int_equal(gzip_add(text, SIZE, &packed), 0);
    assert_true(packed.length > SIZE / 2);
    unpack(&packed, back, SIZE);
    assert_memory_equal(text, back, SIZE);
    buffer_done(&packed);
    free(text);
    free(back);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_a_valid_file),
        cmocka_unit_test(large_text_comes_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
