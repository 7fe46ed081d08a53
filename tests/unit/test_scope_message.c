/* SPDX-License-Identifier: Apache-2.0 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "cgroup/systemd_scope.h"
#include "unit_test.h"

static const char unit[] = "spoor-1-cafe.scope";

/* A call that systemd 252 accepted and a signal that it sent; lines begin at multiples of 8. */
/* clang-format off */
static const char call[] =
    "l\1\0\1\350\0\0\0"                           /* order, call, flags, version; body */
    "\1\0\0\0\216\0\0\0"                          /* serial; fields */
    "\1\1o\0\31\0\0\0/org/freedesktop/systemd1\0\0\0\0\0\0\0"
    "\2\1s\0\40\0\0\0org.freedesktop.systemd1.Manager\0\0\0\0\0\0\0\0"
    "\3\1s\0\22\0\0\0StartTransientUnit\0\0\0\0\0\0"
    "\10\1g\0\20ssa(sv)a(sa(sv))\0\0\0"
    "\22\0\0\0spoor-1-cafe.scope\0\0"
    "\4\0\0\0fail\0\0\0\0"
    "\274\0\0\0"                                  /* properties */
    "\13\0\0\0Description\0\1s\0\0\27\0\0\0A job measured by spoor\0"
    "\23\0\0\0DelegateControllers\0\2as\0\37\0\0\0"
    "\6\0\0\0memory\0\0" "\4\0\0\0pids\0\0\0\0" "\2\0\0\0io\0" "\0"
    "\13\0\0\0CollectMode\0\1s\0\0\22\0\0\0inactive-or-failed\0" "\0\0\0\0\0"
    "\4\0\0\0PIDs\0\2au\0\0\0\0\10\0\0\0\147\22\0\0\150\22\0\0"
    "\0\0\0";                                   /* no other units; the last NUL is implied */

static const char removed[] =
    "l\4\1\1\115\0\0\0"                           /* order, signal, flags, version; body */
    "\12\0\0\0\242\0\0\0"                         /* serial; fields */
    "\1\1o\0\31\0\0\0/org/freedesktop/systemd1\0\0\0\0\0\0\0"
    "\2\1s\0\40\0\0\0org.freedesktop.systemd1.Manager\0\0\0\0\0\0\0\0"
    "\3\1s\0\12\0\0\0JobRemoved\0\0\0\0\0\0"
    "\7\1s\0\30\0\0\0org.freedesktop.systemd1\0\0\0\0\0\0\0\0"
    "\10\1g\0\4uoss\0\0\0\0\0\0\0"
    "\24\0\0\0\40\0\0\0/org/freedesktop/systemd1/job/20\0\0\0\0"
    "\22\0\0\0spoor-1-cafe.scope\0\0"
    "\4\0\0\0done";                               /* the last NUL is implied */
/* clang-format on */

enum { AT_MEMBER = 112, AT_BODY = 184 };

/* Returns the first `size` bytes in an allocation of exactly that size, so that the
 * sanitizer detects reads beyond the end. */
static uint8_t *copy(size_t size)
{
    uint8_t *data = malloc(size ? size : 1);

    assert_non_null(data);
    memcpy(data, removed, size);
    return data;
}

TEST(the_encoded_call_has_the_expected_bytes)
{
    uint8_t data[SCOPE_CALL_SIZE];

    memset(data, 0xff, sizeof(data)); /* padding must be zeroed */
    assert_int_equal(scope_call_write(unit, 4711, 4712, data), sizeof(call));
    assert_memory_equal(data, call, sizeof(call));
}

TEST(a_call_that_is_too_long_is_refused)
{
    uint8_t *data = malloc(SCOPE_CALL_SIZE);
    char name[SCOPE_CALL_SIZE + 100];
    size_t fits = 0;

    assert_non_null(data);
    memset(name, 'x', sizeof(name));
    for (size_t length = 0; length < sizeof(name); length++) {
        ssize_t n;

        name[length] = '\0';
        n = scope_call_write(name, 1, 2, data);
        name[length] = 'x';
        if (n > 0)
            fits = length;
        assert_true(n > 0 ? n <= SCOPE_CALL_SIZE : n == -EMSGSIZE);
    }
    assert_in_range(fits, 64, SCOPE_CALL_SIZE);
    free(data);
}

TEST(the_outcome_comes_from_the_job_removed_signal)
{
    uint8_t *data = copy(sizeof(removed));
    size_t length = 0;

    assert_int_equal(scope_message_length(data, &length), 0);
    assert_int_equal(length, sizeof(removed));
    assert_int_equal(scope_message_outcome(data, length, unit), 0);
    assert_int_equal(scope_message_outcome(data, length, "other.scope"), -EAGAIN);
    memcpy(data + sizeof(removed) - 5, "fail", 4);
    assert_int_equal(scope_message_outcome(data, length, unit), -EREMOTEIO);
    data[1] = 3; /* an error reply */
    assert_int_equal(scope_message_outcome(data, length, unit), -EREMOTEIO);
    data[1] = 2; /* a method return */
    assert_int_equal(scope_message_outcome(data, length, unit), -EAGAIN);
    free(data);
}

TEST(other_signals_are_ignored)
{
    uint8_t *data = copy(sizeof(removed));

    data[AT_MEMBER + 8] = 'X';
    assert_int_equal(scope_message_outcome(data, sizeof(removed), unit), -EAGAIN);
    free(data);
}

TEST(every_truncated_message_is_refused)
{
    for (size_t size = 0; size < sizeof(removed); size++) {
        uint8_t *data = copy(size);

        assert_int_equal(scope_message_outcome(data, size, unit), -EBADMSG);
        free(data);
    }
}

TEST(damaged_messages_are_refused)
{
    static const struct {
        size_t at;
        uint8_t value;
    } damages[] = {
        { 0, 'B' },                 /* the other byte order */
        { 0, 0 },                   /* no byte order */
        { 3, 2 },                   /* another version */
        { 7, 0xff },                /* a body of 4 GB */
        { 4, 1 },                   /* a body shorter than the message */
        { 15, 0xff },               /* fields of 4 GB */
        { 12, 0xff },               /* more fields than there are */
        { AT_BODY + 4, 200 },       /* an unterminated path */
        { AT_BODY + 7, 0xff },      /* a path of 4 GB */
        { AT_BODY + 4, 31 },        /* a path not terminated at its length */
        { AT_BODY + 44, 60 },       /* a unit beyond the end */
        { sizeof(removed) - 9, 5 }, /* a result beyond the end */
        { sizeof(removed) - 1, 'x' },
    };

    for (size_t i = 0; i < ARRAY_SIZE(damages); i++) {
        uint8_t *data = copy(sizeof(removed));

        data[damages[i].at] = damages[i].value;
        if (scope_message_outcome(data, sizeof(removed), unit) != -EBADMSG)
            fail_msg("%zu", i);
        free(data);
    }
}

/* Sets every byte to values that are unusual for lengths and types: the sanitizers report
 * invalid reads. */
TEST(corrupt_bytes_cause_no_invalid_read)
{
    static const uint8_t values[] = { 0, 1, 4, 's', 'g', 'v', 0x7f, 0x80, 0xff };

    for (size_t at = 0; at < sizeof(removed); at++) {
        for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
            uint8_t *data = copy(sizeof(removed));

            data[at] = values[i];
            assert_true(scope_message_outcome(data, sizeof(removed), unit) <= 0);
            free(data);
        }
    }
}

int main(void)
{
    /* The examples are for a little-endian machine. */
    return BYTE_ORDER == LITTLE_ENDIAN ? unit_tests_run() : 77;
}
