/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/compiler.h"
#include "front/common/option.h"

static const char *seen_name;
static const char *seen_value;

static int see(struct cli_settings *settings, const struct cli_option *option,
               const char *value, struct spoor_error *err)
{
    (void)settings;
    (void)err;
    seen_name = option->name;
    seen_value = value;
    return 0;
}

static const struct cli_option rows[] = {
    { 'e', "execute", "COMMAND", "", 1, see }, { 'f', "format", "FORMAT", "", 1, see },
    { '\0', "tconfig", "FILE", "", 1, see },   { '\0', "tu", "UNIT", "", 1, see },
    { '\0', "tf", "FILE", "", 1, see },        { '\0', "st", "TIME", "", 1, see },
    { '\0', "stf", "FILE", "", 1, see },       { '\0', "overwrite", NULL, "", 1, see },
};
static const struct option_table table = { rows, ARRAY_SIZE(rows), true };

static int parse(const char *first, const char *second, struct spoor_error *err)
{
    const char *const argv[] = { first, second, NULL };
    uint32_t given = 0;

    seen_name = seen_value = NULL;
    return option_parse(&table, 1, second ? 2 : 1, (char *const *)(uintptr_t)argv, 0, NULL,
                        &given, err);
}

static void long_options_may_be_cut_short(void **state)
{
    static const struct {
        const char *words[2];
        const char *name;
        const char *value;
    } cases[] = {
        { { "--execute=true", NULL }, "execute", "true" },
        { { "--exec=true", NULL }, "execute", "true" },
        { { "--e", "true" }, "execute", "true" },
        { { "--form", "json" }, "format", "json" },
        { { "-etrue", NULL }, "execute", "true" },
        { { "--over", NULL }, "overwrite", NULL },
        /* A whole name is no prefix of another. */
        { { "--st=1", NULL }, "st", "1" },
        { { "--stf", "a.csv" }, "stf", "a.csv" },
        { { "--tc=a=b", NULL }, "tconfig", "a=b" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct spoor_error err;

        assert_int_equal(parse(cases[i].words[0], cases[i].words[1], &err),
                         cases[i].words[1] ? 2 : 1);
        assert_string_equal(seen_name, cases[i].name);
        if (cases[i].value)
            assert_string_equal(seen_value, cases[i].value);
        else
            assert_null(seen_value);
    }
}

static void check_refused(const char *word, const char *message)
{
    struct spoor_error err;

    assert_int_equal(parse(word, NULL, &err), -EINVAL);
    assert_string_equal(err.message, message);
    assert_null(seen_name);
}

static void a_prefix_of_several_names_them(void **state)
{
    (void)state;
    check_refused("--t", "--t is not a unique prefix: --tconfig, --tu, --tf?");
    check_refused("--t=5", "--t is not a unique prefix: --tconfig, --tu, --tf?");
    check_refused("--s=5", "--s is not a unique prefix: --st, --stf?");
}

static void what_is_no_option_is_named(void **state)
{
    (void)state;
    check_refused("--formats=json", "unknown option --formats");
    check_refused("--xyzzy", "unknown option --xyzzy");
    check_refused("-Z", "unknown option -Z");
    check_refused("--tf", "--tf needs a value: FILE");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_options_may_be_cut_short),
        cmocka_unit_test(a_prefix_of_several_names_them),
        cmocka_unit_test(what_is_no_option_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
