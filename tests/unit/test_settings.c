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

#include "base/clock.h"
#include "base/compiler.h"
#include "front/common/settings.h"

struct fixture {
    struct cli_settings settings;
    struct spoor_error err;
    int operand; /* what settings_load() returned */
};

/* Loads "spoor run ARGS..." or "spoor attach ARGS...". */
static void load(struct fixture *f, unsigned scope, const char *const *arguments)
{
    const char *argv[80] = { scope == OPTION_RUN ? "run" : "attach" };
    int argc = 1;

    for (; *arguments; arguments++)
        argv[argc++] = *arguments;
    settings_init(&f->settings);
    f->err = (struct spoor_error){ 0 };
    f->operand =
        settings_load(&f->settings, scope, argc, (char *const *)(uintptr_t)argv, &f->err);
}

#define ARGUMENTS(...)    \
    (const char *const[]) \
    {                     \
        __VA_ARGS__, NULL \
    }

static void every_spelling_of_an_option_means_the_same(void **state)
{
    static const char *const spellings[][4] = {
        { "-i5", "true" },          { "-i", "5", "true" }, { "--interval", "5", "true" },
        { "--interval=5", "true" }, { "-qi5", "true" },    { "-qi", "5", "true" },
    };
    static const int operands[] = { 2, 3, 3, 2, 2, 3 };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(spellings); i++) {
        struct fixture f;

        load(&f, OPTION_RUN, spellings[i]);
        assert_int_equal(f.operand, operands[i]);
        assert_int_equal(f.settings.interval_ns, 5 * NS_PER_SECOND);
        assert_int_equal(f.settings.is_quiet, i >= 4);
        settings_done(&f.settings);
    }
}

static void options_end_at_the_first_other_word(void **state)
{
    struct fixture f;

    (void)state;
    load(&f, OPTION_RUN, ARGUMENTS("-q", "ls", "-i", "5"));
    assert_int_equal(f.operand, 2);
    assert_int_equal(f.settings.interval_ns, NS_PER_SECOND);
    settings_done(&f.settings);

    load(&f, OPTION_RUN, ARGUMENTS("-q", "--", "-i", "5"));
    assert_int_equal(f.operand, 3);
    assert_int_equal(f.settings.interval_ns, NS_PER_SECOND);
    settings_done(&f.settings);

    load(&f, OPTION_RUN, ARGUMENTS("-q", "-", "-i"));
    assert_int_equal(f.operand, 2);
    settings_done(&f.settings);
}

static void the_last_of_two_wins_but_tags_add_up(void **state)
{
    struct fixture f;

    (void)state;
    load(&f, OPTION_RUN,
         ARGUMENTS("--name", "a", "--name=b", "--tag", "x=1", "--tag=y=", "--detail", "never"));
    assert_int_equal(f.operand, 9);
    assert_string_equal(f.settings.name, "b");
    assert_int_equal(f.settings.tag_count, 2);
    assert_string_equal(f.settings.tags[0], "x=1");
    assert_string_equal(f.settings.tags[1], "y=");
    assert_null(f.settings.tags[2]);
    assert_int_equal(f.settings.detail, SPOOR_DETAIL_NEVER);
    settings_done(&f.settings);
}

static void each_refusal_has_its_sentence(void **state)
{
    static const struct {
        const char *arguments[4];
        const char *message;
    } refusals[] = {
        { { "--intervall", "5" }, "unknown option --intervall; did you mean --interval?" },
        { { "--zzzzzz" }, "unknown option --zzzzzz; 'spoor run --help' lists them" },
        { { "-I", "5" }, "unknown option -I; did you mean -i (--interval)?" },
        { { "-z" }, "unknown option -z; 'spoor run --help' lists them" },
        { { "-q1" }, "unknown option -1; 'spoor run --help' lists them" },
        { { "-i" }, "-i needs a value: TIME" },
        { { "--output" }, "--output needs a value: FILE" },
        { { "--output=" }, "--output: the value is empty" },
        { { "-i", "0" }, "-i: '0' is out of range: give 1ms to 1h" },
        { { "-i", "-1" }, "-i: '-1' is out of range: give 1ms to 1h" },
        { { "-i", "10us" }, "-i: '10us' is out of range: give 1ms to 1h" },
        { { "-i", "61m" }, "-i: '61m' is out of range: give 1ms to 1h" },
        { { "-i", "nan" },
          "-i: 'nan' is not a time: write seconds (0.5) or a unit (500ms, 2m, 1h)" },
        { { "--format=html" },
          "--format: html is not in this version; there are text|json|csv" },
        { { "-f", "jso" }, "-f: 'jso' is not one of text|json|csv" },
        { { "--detail=text" }, "--detail: 'text' is not one of auto|always|never" },
        { { "--wait", "" }, "--wait: '' is not one of main|all" },
        { { "--samples", "x.txt" }, "--samples: 'x.txt' must end with .csv or .jsonl" },
        { { "--samples", "csv" }, "--samples: 'csv' must end with .csv or .jsonl" },
        { { "--tag", "x" }, "--tag: 'x' is no tag: write KEY=VALUE" },
        { { "--tag", "=x" }, "--tag: '=x' is no tag: write KEY=VALUE" },
        { { "--summary-fd", "-1" }, "--summary-fd: '-1' is not the number of a descriptor" },
        { { "--quiet=maybe" }, "--quiet: 'maybe' is neither yes nor no" },
        { { "--append", "--no-clobber" }, "--append and --no-clobber exclude each other" },
        { { "--duration=1" }, "--duration is an option of 'spoor attach', not of 'spoor run'" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
        struct fixture f;

        load(&f, OPTION_RUN, refusals[i].arguments);
        assert_int_equal(f.operand, -EINVAL);
        assert_string_equal(f.err.message, refusals[i].message);
        settings_done(&f.settings);
    }
}

static void hostile_words_are_refused_without_harm(void **state)
{
    char huge[10000] = "--";
    struct fixture f;

    (void)state;
    memset(huge + 2, 'x', sizeof(huge) - 3);
    huge[sizeof(huge) - 1] = '\0';
    load(&f, OPTION_RUN, ARGUMENTS(huge));
    assert_int_equal(f.operand, -EINVAL);
    settings_done(&f.settings);
    huge[0] = '-', huge[1] = 'i';
    load(&f, OPTION_RUN, ARGUMENTS(huge));
    assert_int_equal(f.operand, -EINVAL);
    settings_done(&f.settings);
    load(&f, OPTION_RUN, ARGUMENTS("--=", "-"));
    assert_int_equal(f.operand, -EINVAL);
    settings_done(&f.settings);
    load(&f, OPTION_RUN, ARGUMENTS("-\xff\x1b"));
    assert_int_equal(f.operand, -EINVAL);
    settings_done(&f.settings);
}

static void more_tags_than_there_is_room_for_are_refused(void **state)
{
    const char *arguments[SETTINGS_TAGS_MAX + 2] = { NULL };
    struct fixture f;

    (void)state;
    for (size_t i = 0; i <= SETTINGS_TAGS_MAX; i++)
        arguments[i] = "--tag=a=b";
    load(&f, OPTION_RUN, arguments);
    assert_int_equal(f.operand, -EINVAL);
    assert_int_equal(f.settings.tag_count, SETTINGS_TAGS_MAX);
    settings_done(&f.settings);
}

static void help_ends_the_reading(void **state)
{
    struct fixture f;

    (void)state;
    load(&f, OPTION_RUN, ARGUMENTS("-qh", "--no-such-option"));
    assert_true(f.operand >= 0);
    assert_int_equal(f.settings.action, CLI_SHOW_HELP);
    settings_done(&f.settings);
    load(&f, OPTION_ATTACH, ARGUMENTS("42", "--version"));
    assert_int_equal(f.settings.action, CLI_SHOW_VERSION);
    settings_done(&f.settings);
}

static void a_variable_fills_what_no_option_gave(void **state)
{
    struct fixture f;

    (void)state;
    setenv("SPOOR_INTERVAL", "250ms", 1);
    setenv("SPOOR_QUIET", "1", 1);
    setenv("SPOOR_NO_CLOBBER", "off", 1);
    setenv("SPOOR_TAG", "a=1,b=2", 1);
    setenv("SPOOR_NAME", "", 1);
    load(&f, OPTION_RUN, ARGUMENTS("true"));
    assert_int_equal(f.operand, 1);
    assert_int_equal(f.settings.interval_ns, 250 * NS_PER_MS);
    assert_true(f.settings.is_quiet);
    assert_false(f.settings.is_no_clobber);
    assert_int_equal(f.settings.tag_count, 2);
    assert_null(f.settings.name);
    settings_done(&f.settings);

    load(&f, OPTION_RUN, ARGUMENTS("-i2", "--quiet=no", "--tag=c=3", "true"));
    assert_int_equal(f.settings.interval_ns, 2 * NS_PER_SECOND);
    assert_false(f.settings.is_quiet);
    assert_int_equal(f.settings.tag_count, 1);
    settings_done(&f.settings);

    setenv("SPOOR_INTERVAL", "soon", 1);
    load(&f, OPTION_RUN, ARGUMENTS("true"));
    assert_int_equal(f.operand, -EINVAL);
    assert_string_equal(f.err.message, "SPOOR_INTERVAL: 'soon' is not a time: write seconds "
                                       "(0.5) or a unit (500ms, 2m, 1h)");
    settings_done(&f.settings);
    unsetenv("SPOOR_INTERVAL");
    unsetenv("SPOOR_QUIET");
    unsetenv("SPOOR_NO_CLOBBER");
    unsetenv("SPOOR_TAG");
    unsetenv("SPOOR_NAME");
}

static void attach_takes_one_process(void **state)
{
    static const char *const bad[][3] = {
        { "x" },           { "0" },        { "-p", "-3" }, { "4", "5" },
        { "99999999999" }, { "-p4", "5" }, { "" },
    };
    struct fixture f;

    (void)state;
    load(&f, OPTION_ATTACH, ARGUMENTS("-q", "42", "-i", "0.5", "--duration=2m"));
    assert_int_equal(f.operand, 6);
    assert_int_equal(f.settings.pid, 42);
    assert_int_equal(f.settings.interval_ns, NS_PER_SECOND / 2);
    assert_int_equal(f.settings.duration_ns, 120 * NS_PER_SECOND);
    settings_done(&f.settings);
    setenv("SPOOR_PID", "7", 1);
    load(&f, OPTION_ATTACH, ARGUMENTS("42"));
    assert_int_equal(f.settings.pid, 42);
    settings_done(&f.settings);
    unsetenv("SPOOR_PID");
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        load(&f, OPTION_ATTACH, bad[i]);
        assert_int_equal(f.operand, -EINVAL);
        settings_done(&f.settings);
    }
}

static void the_table_is_sound(void **state)
{
    (void)state;
    assert_true(settings_table.count <= 32);
    for (size_t i = 0; i < settings_table.count; i++) {
        const struct cli_option *option = &settings_table.rows[i];

        assert_non_null(option->apply);
        assert_ptr_equal(option_find(&settings_table, option->name, strlen(option->name)),
                         option);
        assert_true(option->flags & (OPTION_RUN | OPTION_ATTACH | OPTION_PHASE));
        for (size_t j = 0; j < i; j++)
            assert_true(!option->letter || option->letter != settings_table.rows[j].letter);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_spelling_of_an_option_means_the_same),
        cmocka_unit_test(options_end_at_the_first_other_word),
        cmocka_unit_test(the_last_of_two_wins_but_tags_add_up),
        cmocka_unit_test(each_refusal_has_its_sentence),
        cmocka_unit_test(hostile_words_are_refused_without_harm),
        cmocka_unit_test(more_tags_than_there_is_room_for_are_refused),
        cmocka_unit_test(help_ends_the_reading),
        cmocka_unit_test(a_variable_fills_what_no_option_gave),
        cmocka_unit_test(attach_takes_one_process),
        cmocka_unit_test(the_table_is_sound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
