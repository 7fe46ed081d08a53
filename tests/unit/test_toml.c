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
#include "base/error.h"
#include "front/toml.h"

/* All that was reported, as "key=text(type) ". */
struct found {
    char text[4096];
    size_t count;
};

static int note(const struct toml_value *value, void *data, struct spoor_error *err)
{
    static const char types[] = "snbo";
    struct found *found = data;
    size_t used = strlen(found->text);

    (void)err;
    found->count++;
    (void)snprintf(found->text + used, sizeof(found->text) - used, "%s=%s(%c) ", value->key,
                   value->text, types[value->type]);
    return 0;
}

static void assert_found(const char *text, const char *expected)
{
    struct found found = { .count = 0 };
    struct spoor_error err = { 0 };
    int r = toml_read("f", text, strlen(text), note, &found, &err);

    if (r < 0)
        fail_msg("%s", err.message);
    assert_string_equal(found.text, expected);
}

static void assert_refused(const char *text, const char *message)
{
    struct found found = { .count = 0 };
    struct spoor_error err = { 0 };

    assert_int_equal(toml_read("f", text, strlen(text), note, &found, &err), -EINVAL);
    assert_string_equal(err.message, message);
}

static void a_key_is_known_by_its_table(void **state)
{
    (void)state;
    assert_found("top = 1\n[job]\nname = \"x\"\npid = 42\n[ tracker ]\ninterval_secs=5\n",
                 "top=1(n) job.name=x(s) job.pid=42(n) tracker.interval_secs=5(n) ");
    assert_found("job.name = 'x'\njob . pid = 1\n\"job\".'other' = 2",
                 "job.name=x(s) job.pid=1(n) job.other=2(n) ");
    assert_found("[a.b]\nc.d = 1\n[[e]]\nf = 1\n[[e]]\nf = 2",
                 "a.b.c.d=1(n) e.f=1(n) e.f=2(n) ");
}

static void values_of_every_type_are_read(void **state)
{
    (void)state;
    assert_found("a = true\nb = false # yes\nc = 1_000\nd = -0.5\ne = +1.5e-3\nf = 6E2",
                 "a=true(b) b=false(b) c=1000(n) d=-0.5(n) e=+1.5e-3(n) f=6E2(n) ");
    assert_found("a = \"q\\\"b\\\\t\\tn\\n\"\nb = 'C:\\new'\nc = \"\"\nd = \"# no comment\"",
                 "a=q\"b\\t\tn\n(s) b=C:\\new(s) c=(s) d=# no comment(s) ");
    assert_found("a = [1, [2, 'x'],\n # comment\n 3,\n]\nb = []\nc = 2026-11-16T02:00:00Z\n"
                 "d = 0xff",
                 "a=(o) b=(o) c=(o) d=(o) ");
}

static void strings_may_have_escapes_and_several_lines(void **state)
{
    (void)state;
    assert_found("a = \"\\u0041\\u00e9\\u20AC\\U0001f600\"", "a=A\u00e9\u20ac\U0001f600(s) ");
    assert_found("a = \"\"\"\none\r\n\\ttwo \"\" \\\n\n  three\"\"\"\"\"\nb = 1",
                 "a=one\n\ttwo \"\" three\"\"(s) b=1(n) ");
    assert_found("a = '''C:\\new\n'x''''\nb = \"\"\"\"\"\"\nc = '''''' # none",
                 "a=C:\\new\n'x'(s) b=(s) c=(s) ");
}

static void the_keys_of_inline_tables_are_those_of_tables(void **state)
{
    (void)state;
    assert_found("job = { name = 'x', a.b = 1, c = { d = true } }\ne = {}",
                 "job.name=x(s) job.a.b=1(n) job.c.d=true(b) job.c=(o) job=(o) e=(o) ");
    assert_found("a = [ { b = 1 }, { b = [2] } ]\nc = 3", "a=(o) c=3(n) ");
    assert_found("'a.b'.c = 1\n[\"job.name\"]\nd = 2", "\"a.b\".c=1(n) \"job.name\".d=2(n) ");
}

static void dates_and_special_numbers_are_passed_over(void **state)
{
    (void)state;
    assert_found("a = 2026-11-16 02:00:00.5+01:00 # x\nb = 02:00:00\nc = -inf\nd = nan\n"
                 "e = [ 2026-11-16 ]\nf = +inf",
                 "a=(o) b=(o) c=(o) d=(o) e=(o) f=(o) ");
}

static void space_and_comments_do_not_matter(void **state)
{
    (void)state;
    assert_found("", "");
    assert_found("\n\n# only a comment", "");
    assert_found("\t a\t=\t1\t# one\r\n  # two\r\nb=2\r\n", "a=1(n) b=2(n) ");
}

static void an_error_names_file_and_line(void **state)
{
    static const struct {
        const char *text, *message;
    } bad[] = {
        { "a = 1\nb\n", "f:2: expected '=' after a key" },
        { "\n\n= 1", "f:3: expected a key" },
        { "a = ", "f:1: expected a string, a number, true or false" },
        { "a = yes", "f:1: expected a string, a number, true or false" },
        { "a = -", "f:1: expected a string, a number, true or false" },
        { "a = 1 2", "f:1: unexpected text after a value" },
        { "a = trueish", "f:1: unexpected text after a value" },
        { "a = \"x", "f:1: missing \" at the end of a string" },
        { "a = 'x\nb = 'y'", "f:1: missing ' at the end of a string" },
        { "a = \"\\", "f:1: invalid escape in a string" },
        { "a = \"\\q\"", "f:1: invalid escape in a string" },
        { "a = \"\\u00g1\"", "f:1: invalid escape in a string" },
        { "a = \"\\u004", "f:1: invalid escape in a string" },
        { "a = \"\\ud800\"", "f:1: invalid character in an escape" },
        { "a = \"\\U00110000\"", "f:1: invalid character in an escape" },
        { "a = \"\\u0000\"", "f:1: invalid character in an escape" },
        { "a = \"\x01\"", "f:1: control character in a string" },
        { "# \x7f", "f:1: control character in a comment" },
        { "a = \"\"\"x\ny\"\"", "f:2: missing \"\"\" at the end of a string" },
        { "a = '''x\n\n", "f:3: missing ''' at the end of a string" },
        { "a = { b = 1", "f:1: expected ',' or '}' in an inline table" },
        { "a = { b }", "f:1: expected '=' after a key" },
        { "a = { b = 1,\nc = 2 }", "f:1: expected a key" },
        { "a = [1,\n2\n3]", "f:3: expected ',' or ']' in an array" },
        { "a = [1,", "f:1: expected a string, a number, true or false" },
        { "[a", "f:1: expected ']' after the name of a table" },
        { "[[a]", "f:1: expected ']]' after the name of a table" },
        { "[]", "f:1: expected a key" },
        { "[a]]", "f:1: unexpected text after a value" },
        { "a. = 1", "f:1: expected a key" },
        { "\"\"\"a\"\"\" = 1", "f:1: expected '=' after a key" },
        { "{\"a\": 1}", "f:1: expected a key" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_refused(bad[i].text, bad[i].message);
}

static int refuse(const struct toml_value *value, void *data, struct spoor_error *err)
{
    (void)data;
    return error_set(err, EINVAL, "%s: no", value->key);
}

static void a_value_that_the_caller_refuses_ends_the_reading(void **state)
{
    static const char text[] = "a = [\n1\n]\nb = 2\n";
    struct spoor_error err;

    (void)state;
    assert_int_equal(toml_read("f", text, sizeof(text) - 1, refuse, NULL, &err), -EINVAL);
    assert_string_equal(err.message, "f:3: a: no");
}

static void nesting_is_limited(void **state)
{
    char text[4096] = "a = ";

    (void)state;
    memset(text + 4, '[', sizeof(text) - 5);
    assert_refused(text, "f:1: values are nested too deeply");
    for (size_t i = 4; i + 3 < sizeof(text); i += 3)
        memcpy(text + i, "{a=", 3);
    assert_refused(text, "f:1: values are nested too deeply");
}

/* A text that is not NUL-ended, in memory of its exact size: the address sanitizer sees all that is
 * read beyond it. */
static void read_exact(const char *text, size_t length)
{
    struct found found = { .count = 0 };
    struct spoor_error err = { 0 };
    char *copy = malloc(length + !length);

    assert_non_null(copy);
    memcpy(copy, text, length);
    (void)toml_read("f", copy, length, note, &found, &err); /* refused or not, it returns */
    free(copy);
}

static void hostile_text_is_survived(void **state)
{
    static const char good[] = "[job]\nname = \"a\\tb\" # c\r\n'x'.\"y\" = -1.5e+3\n[[t.u]]\n"
                               "v = [ 1, 'z', [true, 2026-01-01],\n]\n"
                               "w = { x = \"\"\"a\\\n b\\u00e9\"\"\"\", y = '''c''' }\n";
    uint32_t random = 1;

    (void)state;
    for (size_t length = 0; length < sizeof(good); length++)
        read_exact(good, length); /* cut anywhere; the last has a NUL in it */
    for (int round = 0; round < 20000; round++) {
        char text[sizeof(good)];

        memcpy(text, good, sizeof(good));
        for (int i = 0; i < 4; i++) {
            random = random * 1664525 + 1013904223;
            text[(random >> 8) % sizeof(text)] = (char)(random >> 24);
        }
        read_exact(text, sizeof(text));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_is_known_by_its_table),
        cmocka_unit_test(values_of_every_type_are_read),
        cmocka_unit_test(strings_may_have_escapes_and_several_lines),
        cmocka_unit_test(the_keys_of_inline_tables_are_those_of_tables),
        cmocka_unit_test(dates_and_special_numbers_are_passed_over),
        cmocka_unit_test(space_and_comments_do_not_matter),
        cmocka_unit_test(an_error_names_file_and_line),
        cmocka_unit_test(a_value_that_the_caller_refuses_ends_the_reading),
        cmocka_unit_test(nesting_is_limited),
        cmocka_unit_test(hostile_text_is_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
