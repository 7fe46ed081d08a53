/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "source/host/mountinfo.h"

#define LINE                                                                         \
    "36 35 98:2 /folder /mnt/a\\040b rw,noatime master:1 shared:2 - ext4 /dev/sda1 " \
    "rw,memory\n"

static struct text_part part(const char *text)
{
    return (struct text_part){ .start = text, .length = strlen(text) };
}

static void a_line_has_its_parts(void **state)
{
    struct mountinfo mount;

    (void)state;
    assert_int_equal(mountinfo_parse_line(LINE "rest", &mount), 0);
    assert_int_equal(mount.major, 98);
    assert_int_equal(mount.minor, 2);
    assert_true(text_part_is(mount.root, "/folder"));
    assert_true(text_part_is(mount.point, "/mnt/a\\040b"));
    assert_true(text_part_is(mount.type, "ext4"));
    assert_true(text_part_is(mount.source, "/dev/sda1"));
    assert_true(text_part_is(mount.super_options, "rw,memory"));
}

static void words_before_the_dash_are_optional(void **state)
{
    struct mountinfo mount;

    (void)state;
    assert_int_equal(mountinfo_parse_line("1 2 0:3 / / rw - proc proc rw\n", &mount), 0);
    assert_true(text_part_is(mount.type, "proc"));
}

static void a_source_may_be_empty_or_a_dash(void **state)
{
    struct mountinfo mount;

    (void)state;
    assert_int_equal(mountinfo_parse_line("1 2 0:3 / / rw - tmpfs  rw\n", &mount), 0);
    assert_int_equal(mount.source.length, 0);
    assert_true(text_part_is(mount.super_options, "rw"));
    assert_int_equal(mountinfo_parse_line("1 2 0:3 / - rw - tmpfs - rw\n", &mount), 0);
    assert_true(text_part_is(mount.point, "-"));
    assert_true(text_part_is(mount.source, "-"));
}

static void every_cut_line_is_refused(void **state)
{
    struct mountinfo mount = { .major = 5 };
    char text[sizeof(LINE)];

    (void)state;
    for (size_t length = 0; length < strlen(LINE); length++) {
        memcpy(text, LINE, length);
        text[length] = '\0';
        assert_int_equal(mountinfo_parse_line(text, &mount), -EBADMSG);
        /* the next line does not complete it */
        text[length] = '\n';
        text[length + 1] = '\0';
        if (length < strlen(LINE) - strlen(" rw,memory\n"))
            assert_int_equal(mountinfo_parse_line(text, &mount), -EBADMSG);
    }
    assert_int_equal(mount.major, 5); /* untouched on failure */
}

static void refuses_damaged_text(void **state)
{
    static const char *const damaged[] = {
        "\n",
        "1 2 3 / / rw - t s o\n",
        "1 2 3:x / / rw - t s o\n",
        "1 2 :3 / / rw - t s o\n",
        "1 2 3:4x / / rw - t s o\n",
        "1 2 99999999999:4 / / rw - t s o\n",
        "1 2 3:4 / / rw t s o\n",
        "1 2 3:4 / / rw - t s o more\n",
    };
    struct mountinfo mount;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(damaged); i++)
        assert_int_equal(mountinfo_parse_line(damaged[i], &mount), -EBADMSG);
}

static void a_huge_line_is_parsed(void **state)
{
    enum { SIZE = 1 << 20 };
    char *text = malloc(SIZE + 64);
    struct mountinfo mount;
    int start;

    (void)state;
    assert_non_null(text);
    start = snprintf(text, 64, "1 2 3:4 / /a rw - overlay overlay rw,lowerdir=");
    memset(text + start, 'x', SIZE);
    memcpy(text + start + SIZE, "\n", 2);
    assert_int_equal(mountinfo_parse_line(text, &mount), 0);
    assert_true(mount.super_options.length > SIZE);
    free(text);
}

static void escapes_are_decoded(void **state)
{
    static const struct {
        const char *text;
        const char *decoded;
    } good[] = {
        { "", "" },
        { "/a\\040b\\011c\\012d\\134e", "/a b\tc\nd\\e" },
        { "/\\377", "/\377" },
        { "\\", "\\" },
        { "\\04", "\\04" },
        { "\\400", "\\400" },
        { "\\089", "\\089" },
        { "\\134040", "\\040" },
    };
    char buf[64];

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        assert_int_equal(text_part_decode(part(good[i].text), buf, sizeof(buf)),
                         strlen(good[i].decoded));
        assert_string_equal(buf, good[i].decoded);
    }
}

static void what_does_not_fit_is_refused(void **state)
{
    char buf[4];

    (void)state;
    assert_int_equal(text_part_decode(part("abc"), buf, sizeof(buf)), 3);
    assert_int_equal(text_part_decode(part("abcd"), buf, sizeof(buf)), -ENAMETOOLONG);
    assert_int_equal(text_part_decode(part("a\\040b"), buf, sizeof(buf)), 3);
    assert_int_equal(text_part_decode(part(""), buf, 0), -ENAMETOOLONG);
    assert_int_equal(text_part_decode(part("a\\000"), buf, sizeof(buf)), -EBADMSG);
}

static void options_are_whole_words(void **state)
{
    (void)state;
    assert_true(text_part_has_option(part("rw,cpu,cpuacct"), "cpu"));
    assert_true(text_part_has_option(part("rw,cpu,cpuacct"), "cpuacct"));
    assert_true(text_part_has_option(part("ro"), "ro"));
    assert_false(text_part_has_option(part("rw,cpuacct"), "cpu"));
    assert_false(text_part_has_option(part("rw,name=cpu"), "cpu"));
    assert_false(text_part_has_option(part(""), "ro"));
    assert_false(text_part_has_option(part(",,"), "ro"));
    assert_false(text_part_has_option(part("errors=remount-ro"), "ro"));
    assert_true(text_part_starts(part("/dev/loop1"), "/dev/loop"));
    assert_false(text_part_starts(part("/dev"), "/dev/"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_has_its_parts),
        cmocka_unit_test(words_before_the_dash_are_optional),
        cmocka_unit_test(a_source_may_be_empty_or_a_dash),
        cmocka_unit_test(every_cut_line_is_refused),
        cmocka_unit_test(refuses_damaged_text),
        cmocka_unit_test(a_huge_line_is_parsed),
        cmocka_unit_test(escapes_are_decoded),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(options_are_whole_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
