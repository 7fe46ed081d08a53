/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "source/cgroup/dbus_message.h"

static const struct dbus_call small_call = {
    .serial = 7, .flags = DBUS_NO_START, .path = "/a", .member = "Go", .signature = "su"
};

/* Written by hand from the specification. */
/* clang-format off */
static const uint8_t small_bytes[] = {
    'l', 1,   2,   1,                           /* little-endian, call, flags, version */
    12,  0,   0,   0,                           /* length of the body */
    7,   0,   0,   0,                           /* serial */
    40,  0,   0,   0,                           /* length of the fields */
    1,   1,   'o', 0,   2,   0,   0,   0,       /* path */
    '/', 'a', 0,   0,   0,   0,   0,   0,       /* and padding to 8 */
    3,   1,   's', 0,   2,   0,   0,   0,       /* member */
    'G', 'o', 0,   0,   0,   0,   0,   0,       /* */
    8,   1,   'g', 0,   2,   's', 'u', 0,       /* signature */
    3,   0,   0,   0,   'a', 'b', 'c', 0,       /* the body: "abc" */
    1,   2,   0,   0,                           /* 513 */
};
/* clang-format on */

static ssize_t write_small(uint8_t *data, size_t size)
{
    struct dbus_writer writer;

    dbus_begin_call(&writer, data, size, &small_call);
    dbus_put_string(&writer, "abc");
    dbus_put_u32(&writer, 513);
    return dbus_end_call(&writer);
}

static void a_call_is_these_bytes(void **state)
{
    uint8_t data[256];

    (void)state;
    memset(data, 0xff, sizeof(data)); /* padding must be zeroed, whatever was there */
    assert_int_equal(write_small(data, sizeof(data)), sizeof(small_bytes));
    assert_memory_equal(data, small_bytes, sizeof(small_bytes));
}

static void an_array_does_not_count_the_padding_before_it(void **state)
{
    static const uint8_t expected[] = {
        1,  0, 0, 0,            /* a number, so that padding is needed */
        13, 0, 0, 0,            /* length of the array */
        1,  0, 0, 0, 'x', 0,    /* a struct of two strings */
        0,  0, 0, 0, 0,   0, 0, /* */
    };
    static const struct dbus_call call = { .serial = 1, .signature = "ua(ss)au" };
    struct dbus_writer writer;
    struct dbus_array array;
    uint8_t data[256];

    (void)state;
    dbus_begin_call(&writer, data, sizeof(data), &call);
    dbus_put_u32(&writer, 1);
    array = dbus_begin_array(&writer, 8);
    dbus_put_struct(&writer);
    dbus_put_string(&writer, "x");
    dbus_put_string(&writer, "");
    dbus_end_array(&writer, &array);
    assert_int_equal(writer.length - writer.body_at, sizeof(expected));
    assert_memory_equal(data + writer.body_at, expected, sizeof(expected));
    /* An empty array of structs is padded all the same. */
    array = dbus_begin_array(&writer, 8);
    dbus_end_array(&writer, &array);
    assert_int_equal((writer.length - writer.body_at) % 8, 0);
    assert_int_equal(data[array.length_at], 0);
    assert_true(dbus_end_call(&writer) > 0);
}

static void what_does_not_fit_is_not_sent(void **state)
{
    uint8_t guard[256];
    char long_signature[300];
    struct dbus_writer writer;
    ssize_t whole;

    (void)state;
    whole = write_small(guard, sizeof(guard));
    for (size_t size = 0; size < (size_t)whole; size++) {
        uint8_t *data = malloc(size ? size : 1); /* the sanitizer sees an overrun */

        assert_non_null(data);
        assert_int_equal(write_small(data, size), -EMSGSIZE);
        free(data);
    }
    memset(long_signature, 'u', sizeof(long_signature));
    long_signature[sizeof(long_signature) - 1] = '\0';
    dbus_begin_call(&writer, guard, sizeof(guard), &small_call);
    dbus_put_signature(&writer, long_signature);
    assert_int_equal(dbus_end_call(&writer), -EMSGSIZE);
}

static void a_message_is_read_as_it_was_written(void **state)
{
    struct dbus_message message;
    struct dbus_reader body;
    uint8_t data[256];
    ssize_t length = write_small(data, sizeof(data));
    const char *text = NULL;
    uint32_t number = 0;
    size_t whole = 0;

    (void)state;
    assert_int_equal(dbus_read_length(data, &whole), 0);
    assert_int_equal(whole, length);
    assert_int_equal(dbus_message_parse(data, (size_t)length, &message), 0);
    assert_int_equal(message.type, DBUS_CALL);
    assert_int_equal(message.serial, 7);
    assert_int_equal(message.reply_serial, 0);
    assert_string_equal(message.path, "/a");
    assert_string_equal(message.member, "Go");
    assert_string_equal(message.interface, "");
    assert_string_equal(message.error_name, "");
    assert_string_equal(message.signature, "su");
    body = (struct dbus_reader){ message.body, message.body_length, 0 };
    assert_int_equal(dbus_get_string(&body, &text), 0);
    assert_string_equal(text, "abc");
    assert_int_equal(dbus_get_u32(&body, &number), 0);
    assert_int_equal(number, 513);
    assert_int_equal(dbus_get_u32(&body, &number), -EBADMSG);
    assert_int_equal(number, 513); /* untouched on failure */
}

/* A signal with fields that we do not need, of all types that a field may have. */
static void fields_that_are_not_known_are_passed_over(void **state)
{
    /* clang-format off */
    static const uint8_t bytes[] = {
        'l', 4,   0,   1,   0, 0, 0, 0, 9, 0,   0, 0, 70, 0, 0, 0, /* */
        99,  1,   't', 0,   0, 0, 0, 0, 1, 2,   3, 4, 5,  6, 7, 8, /* 8 bytes at 24 */
        98,  1,   'y', 0,   5, 0, 0, 0,                            /* */
        7,   1,   's', 0,   2, 0, 0, 0, ':', '1', 0, 0, 0, 0, 0, 0, /* the sender */
        9,   1,   'u', 0,   1, 0, 0, 0,                            /* */
        3,   1,   'u', 0,   1, 0, 0, 0,                            /* a member that is no text */
        5,   1,   'u', 0,   6, 0, 0, 0,                            /* which call it answers */
        8,   1,   'g', 0,   0, 0, 0, 0,                            /* 6 of these 8 count */
    };
    /* clang-format on */
    struct dbus_message message;

    (void)state;
    assert_int_equal(dbus_message_parse(bytes, sizeof(bytes), &message), 0);
    assert_int_equal(message.type, DBUS_SIGNAL);
    assert_int_equal(message.reply_serial, 6);
    assert_string_equal(message.member, "");
    assert_string_equal(message.signature, "");
    assert_int_equal(message.body_length, 0);
}

static void every_cut_message_is_refused(void **state)
{
    uint8_t whole[256];
    ssize_t length = write_small(whole, sizeof(whole));

    (void)state;
    for (size_t size = 0; size < (size_t)length; size++) {
        struct dbus_message message = { .serial = 99 };
        uint8_t *data = malloc(size ? size : 1);

        assert_non_null(data);
        memcpy(data, whole, size);
        assert_int_equal(dbus_message_parse(data, size, &message), -EBADMSG);
        assert_int_equal(message.serial, 99); /* untouched on failure */
        free(data);
    }
}

static void damaged_heads_are_refused(void **state)
{
    static const struct {
        size_t at;
        uint8_t value;
    } damages[] = {
        { 0, 'B' },   /* big-endian */
        { 0, 0 },     /* */
        { 3, 2 },     /* another version */
        { 7, 0xff },  /* a body of 4 GB */
        { 4, 1 },     /* one that is not there */
        { 15, 0xff }, /* fields of 4 GB */
        { 12, 200 },  /* more than there are */
        { 12, 3 },    /* ending inside one */
        { 17, 9 },    /* a signature that runs on */
        { 18, '(' },  /* a type that no field has */
        { 18, 0 },    /* none */
        { 20, 200 },  /* a path that runs on */
        { 23, 0xff }, /* for 4 GB */
        { 20, 1 },    /* a text that does not end where it says */
        { 20, 5 },    /* one with a NUL in it */
    };
    uint8_t whole[256];
    ssize_t length = write_small(whole, sizeof(whole));

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(damages); i++) {
        struct dbus_message message;
        uint8_t data[256];

        memcpy(data, whole, sizeof(data));
        data[damages[i].at] = damages[i].value;
        assert_int_equal(dbus_message_parse(data, (size_t)length, &message), -EBADMSG);
    }
}

/* Every byte set to values that lengths and types do not expect: only the sanitizers and the
 * bounds say something here. */
static void no_single_byte_leads_outside(void **state)
{
    static const uint8_t values[] = { 0, 1, 4, 's', 'g', 'v', 0x7f, 0x80, 0xff };
    uint8_t whole[256];
    ssize_t length = write_small(whole, sizeof(whole));

    (void)state;
    for (size_t at = 0; at < (size_t)length; at++) {
        for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
            struct dbus_message message;
            uint8_t *data = malloc((size_t)length);

            assert_non_null(data);
            memcpy(data, whole, (size_t)length);
            data[at] = values[i];
            if (dbus_message_parse(data, (size_t)length, &message) == 0) {
                assert_true(message.body >= data);
                assert_true(message.body + message.body_length <= data + length);
                assert_true(strlen(message.path) < (size_t)length);
            }
            free(data);
        }
    }
}

static void texts_end_where_they_say(void **state)
{
    static const uint8_t good[] = { 2, 0, 0, 0, 'o', 'k', 0 };
    static const uint8_t unended[] = { 2, 0, 0, 0, 'o', 'k', 'x' };
    static const uint8_t huge[] = { 0xff, 0xff, 0xff, 0xff, 'o', 'k', 0 };
    static const uint8_t inner[] = { 3, 0, 0, 0, 'o', 0, 'k', 0 };
    const struct {
        const uint8_t *data;
        size_t length;
        int result;
    } texts[] = { { good, sizeof(good), 0 },
                  { good, sizeof(good) - 1, -EBADMSG },
                  { good, 3, -EBADMSG },
                  { good, 0, -EBADMSG },
                  { unended, sizeof(unended), -EBADMSG },
                  { huge, sizeof(huge), -EBADMSG },
                  { inner, sizeof(inner), -EBADMSG } };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct dbus_reader reader = { texts[i].data, texts[i].length, 0 };
        const char *text = "before";

        assert_int_equal(dbus_get_string(&reader, &text), texts[i].result);
        assert_string_equal(text, texts[i].result == 0 ? "ok" : "before");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_is_these_bytes),
        cmocka_unit_test(an_array_does_not_count_the_padding_before_it),
        cmocka_unit_test(what_does_not_fit_is_not_sent),
        cmocka_unit_test(a_message_is_read_as_it_was_written),
        cmocka_unit_test(fields_that_are_not_known_are_passed_over),
        cmocka_unit_test(every_cut_message_is_refused),
        cmocka_unit_test(damaged_heads_are_refused),
        cmocka_unit_test(no_single_byte_leads_outside),
        cmocka_unit_test(texts_end_where_they_say),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
