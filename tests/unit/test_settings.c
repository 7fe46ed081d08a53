/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "front/spoor/settings.h"
#include "text/number.h"
#include "unit_test.h"

/* ---- duration ----------------------------------------------------------- */

TEST(times_are_read_with_and_without_units)
{
    static const struct {
        const char *text;
        uint64_t ns;
    } good[] = {
        { "1", 1000000000 },
        { "0.5", 500000000 },
        { ".5", 500000000 },
        { "5.", 5000000000 },
        { "500ms", 500000000 },
        { "0.25ms", 250000 },
        { "10us", 10000 },
        { "1s", 1000000000 },
        { "2m", 120000000000 },
        { "1.5min", 90000000000 },
        { "1h", 3600000000000 },
        { "1d", 86400000000000 },
        { "0", 0 },
        { "0.1", 100000000 },
        { "0.3", 300000000 },
        { "0.000000001", 1 },
        { "0.0000000019", 1 },
        { "007", 7000000000 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        uint64_t ns = 42;

        assert_int_equal(duration_parse(good[i].text, &ns), 0);
        assert_int_equal(ns, good[i].ns);
    }
}

TEST(an_invalid_time_is_refused)
{
    static const char *const bad[] = {
        "",    " ",   ".",    "nan",   "inf", "-",    "x",     "1x",     "1 s",      " 1",
        "1e3", "0x1", "1,5",  "1.2.3", "--1", "+1",   "1ms ",  "ms",     ".ms",      "1S",
        "-x",  "1\n", "1sec", "1.ss",  "-.",  "-nan", "1h30m", "1\x1b[", "infinity",
    };

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        uint64_t ns = 42;

        assert_int_equal(duration_parse(bad[i], &ns), -EBADMSG);
        assert_int_equal(ns, 42); /* untouched on failure */
    }
}

TEST(a_value_that_is_too_large_is_out_of_range)
{
    static const char *const bad[] = { "-1",
                                       "-0.5ms",
                                       "99999999999999999999",
                                       "18446744074",
                                       "18446744073.999999999",
                                       "99999999999999999999.5h" };
    char huge[5000];

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        uint64_t ns = 42;

        assert_int_equal(duration_parse(bad[i], &ns), -ERANGE);
        assert_int_equal(ns, 42);
    }
    memset(huge, '9', sizeof(huge) - 1);
    huge[sizeof(huge) - 1] = '\0';
    assert_int_equal(duration_parse(huge, &(uint64_t){ 0 }), -ERANGE);
    huge[1] = '.';
    assert_int_equal(duration_parse(huge, &(uint64_t){ 0 }), 0);
}

/* ---- settings ----------------------------------------------------------- */

struct fixture {
    struct settings settings;
    struct arguments arguments;
    struct spoor_error err;
    int result; /* result of settings_load() */
};

/* Loads the settings of "spoor COMMAND ARGUMENTS...". */
static void load(struct fixture *f, const char *command, const char *const *arguments)
{
    const char *argv[80] = { command };
    int argc = 1;

    for (; *arguments; arguments++)
        argv[argc++] = *arguments;
    *f = (struct fixture){ 0 };
    setenv("XDG_CONFIG_HOME", "/nonexistent", 1); /* the user's own file must not be read */
    f->arguments = ARGUMENTS_INIT(&spoor_program, command_find(spoor_program.commands, command),
                                  &f->settings);
    settings_init(&f->settings);
    f->result = settings_load(&f->arguments, argc, (char **)(uintptr_t)argv, &f->err);
}

#define ARGUMENTS(...)    \
    (const char *const[]) \
    {                     \
        __VA_ARGS__, NULL \
    }

TEST(spellings_of_an_option_are_equivalent)
{
    static const char *const spellings[][4] = {
        { "-i5", "true" },          { "-i", "5", "true" }, { "--interval", "5", "true" },
        { "--interval=5", "true" }, { "-qi5", "true" },    { "-qi", "5", "true" },
    };
    static const int operands[] = { 2, 3, 3, 2, 2, 3 };

    for (size_t i = 0; i < ARRAY_SIZE(spellings); i++) {
        struct fixture f;

        load(&f, "run", spellings[i]);
        assert_int_equal(f.arguments.first_operand, operands[i]);
        assert_int_equal(f.settings.interval_ns, 5 * NS_PER_SECOND);
        assert_int_equal(f.settings.is_quiet, i >= 4);
        settings_done(&f.settings);
    }
}

TEST(options_end_at_the_first_operand)
{
    struct fixture f;

    load(&f, "run", ARGUMENTS("-q", "ls", "-i", "5"));
    assert_int_equal(f.arguments.first_operand, 2);
    assert_int_equal(f.settings.interval_ns, NS_PER_SECOND);
    settings_done(&f.settings);

    load(&f, "run", ARGUMENTS("-q", "--", "-i", "5"));
    assert_int_equal(f.arguments.first_operand, 3);
    assert_int_equal(f.settings.interval_ns, NS_PER_SECOND);
    settings_done(&f.settings);

    load(&f, "run", ARGUMENTS("-q", "-", "-i"));
    assert_int_equal(f.arguments.first_operand, 2);
    settings_done(&f.settings);
}

TEST(the_last_of_two_values_is_used_but_tags_add_up)
{
    struct fixture f;

    load(&f, "run",
         ARGUMENTS("--name", "a", "--name=b", "--tag", "x=1", "--tag=y=", "--detail", "never"));
    assert_int_equal(f.arguments.first_operand, 9);
    assert_string_equal(f.settings.name, "b");
    assert_int_equal(f.settings.tags.count, 2);
    assert_string_equal(f.settings.tags.items[0], "x=1");
    assert_string_equal(f.settings.tags.items[1], "y=");
    assert_null(f.settings.tags.items[2]);
    assert_int_equal(f.settings.detail, SPOOR_DETAIL_NEVER);
    settings_done(&f.settings);
}

TEST(a_stream_goes_to_stdout_if_no_file_is_needed)
{
    struct fixture f;

    load(&f, "attach", ARGUMENTS("--stream", "42", "--dialect", "resource-tracker"));
    assert_int_equal(f.result, 0);
    assert_int_equal(f.settings.pid, 42);
    assert_string_equal(f.settings.streams[0].path, "-");
    assert_string_equal(f.settings.streams[0].dialect, "resource-tracker");
    assert_false(f.settings.has_no_job);
    settings_done(&f.settings);
    load(&f, "system", ARGUMENTS("--stream=a.csv"));
    assert_string_equal(f.settings.streams[0].path, "a.csv");
    assert_null(f.settings.streams[0].dialect);
    assert_true(f.settings.has_no_job);
    settings_done(&f.settings);
    load(&f, "run", ARGUMENTS("--stream", "a.txt", "--stream-format", "jsonl", "true"));
    assert_string_equal(f.settings.streams[0].path, "a.txt");
    assert_string_equal(f.settings.streams[0].format, "jsonl");
    assert_int_equal(f.arguments.first_operand, 5);
    settings_done(&f.settings);
}

TEST(each_invalid_option_has_its_own_error_message)
{
    static const struct {
        const char *arguments[4];
        const char *message;
    } refusals[] = {
        { { "--intervall", "5" }, "unknown option --intervall; did you mean --interval?" },
        { { "--zzzzzz" }, "unknown option --zzzzzz; see 'spoor run --help'" },
        { { "-I", "5" }, "unknown option -I; did you mean -i (--interval)?" },
        { { "-z" }, "unknown option -z; see 'spoor run --help'" },
        { { "-q1" }, "unknown option -1; see 'spoor run --help'" },
        { { "-i" }, "-i requires a value: TIME" },
        { { "--output" }, "--output requires a value: FILE" },
        { { "--output=" }, "--output: the value must not be empty" },
        { { "-i", "0" }, "-i: '0' is out of range: expected 1ms to 1h" },
        { { "-i", "-1" }, "-i: '-1' is out of range: expected 1ms to 1h" },
        { { "-i", "10us" }, "-i: '10us' is out of range: expected 1ms to 1h" },
        { { "-i", "61m" }, "-i: '61m' is out of range: expected 1ms to 1h" },
        { { "-i", "nan" },
          "-i: invalid time 'nan': expected seconds (0.5) or a unit (500ms, 2m, 1h)" },
        { { "--format=xml" },
          "--format: invalid value 'xml': expected "
          "text|json|csv|html|markdown|openmetrics|snakemake|nextflow|seff|jobstats|trace" },
        { { "--report=a.htm" }, "--report: 'a.htm' must end in .html" },
        { { "-f", "jso" },
          "-f: invalid value 'jso': expected "
          "text|json|csv|html|markdown|openmetrics|snakemake|nextflow|seff|jobstats|trace" },
        { { "--detail=text" }, "--detail: invalid value 'text': expected auto|always|never" },
        { { "--wait", "" }, "--wait: invalid value '': expected main|all" },
        { { "--tag", "x" }, "--tag: invalid tag 'x': expected KEY=VALUE" },
        { { "--tag", "=x" }, "--tag: invalid tag '=x': expected KEY=VALUE" },
        { { "--samples=" }, "--samples: the value must not be empty" },
        { { "--samples-format=csv" }, "--samples-format requires --samples" },
        { { "--quiet=maybe" }, "--quiet: invalid value 'maybe': expected yes or no" },
        { { "--append", "--no-clobber" }, "--append and --no-clobber cannot be combined" },
        { { "--duration=1" }, "'spoor run' has no option --duration; 'spoor attach' does" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
        struct fixture f;

        load(&f, "run", refusals[i].arguments);
        assert_int_equal(f.result, -EINVAL);
        assert_string_equal(f.err.message, refusals[i].message);
        settings_done(&f.settings);
    }
}

TEST(hostile_arguments_are_refused)
{
    char huge[10000] = "--";
    struct fixture f;

    memset(huge + 2, 'x', sizeof(huge) - 3);
    huge[sizeof(huge) - 1] = '\0';
    load(&f, "run", ARGUMENTS(huge));
    assert_int_equal(f.result, -EINVAL);
    settings_done(&f.settings);
    huge[0] = '-', huge[1] = 'i';
    load(&f, "run", ARGUMENTS(huge));
    assert_int_equal(f.result, -EINVAL);
    settings_done(&f.settings);
    load(&f, "run", ARGUMENTS("--=", "-"));
    assert_int_equal(f.result, -EINVAL);
    settings_done(&f.settings);
    load(&f, "run", ARGUMENTS("-\xff\x1b"));
    assert_int_equal(f.result, -EINVAL);
    settings_done(&f.settings);
}

TEST(too_many_tags_are_refused)
{
    const char *arguments[SETTINGS_TAGS_MAX + 2] = { NULL };
    struct fixture f;

    for (size_t i = 0; i <= SETTINGS_TAGS_MAX; i++)
        arguments[i] = "--tag=a=b";
    load(&f, "run", arguments);
    assert_int_equal(f.result, -EINVAL);
    assert_string_equal(f.err.message, "--tag: at most 64 tags are allowed");
    settings_done(&f.settings);
}

TEST(help_ends_the_parsing)
{
    struct fixture f;

    load(&f, "run", ARGUMENTS("-qh", "--no-such-option"));
    assert_int_equal(f.result, 0);
    assert_int_equal(f.arguments.action, ACTION_HELP);
    settings_done(&f.settings);
    load(&f, "attach", ARGUMENTS("42", "--version"));
    assert_int_equal(f.arguments.action, ACTION_VERSION);
    settings_done(&f.settings);
}

TEST(a_variable_fills_an_option_that_was_not_given)
{
    struct fixture f;

    setenv("SPOOR_INTERVAL", "250ms", 1);
    setenv("SPOOR_QUIET", "1", 1);
    setenv("SPOOR_NO_CLOBBER", "off", 1);
    setenv("SPOOR_TAG", "a=1,b=2", 1);
    setenv("SPOOR_NAME", "", 1);
    load(&f, "run", ARGUMENTS("true"));
    assert_int_equal(f.arguments.first_operand, 1);
    assert_int_equal(f.settings.interval_ns, 250 * NS_PER_MS);
    assert_true(f.settings.is_quiet);
    assert_false(f.settings.is_no_clobber);
    assert_int_equal(f.settings.tags.count, 2);
    assert_null(f.settings.name);
    settings_done(&f.settings);

    load(&f, "run", ARGUMENTS("-i2", "--quiet=no", "--tag=c=3", "true"));
    assert_int_equal(f.settings.interval_ns, 2 * NS_PER_SECOND);
    assert_false(f.settings.is_quiet);
    assert_int_equal(f.settings.tags.count, 1);
    settings_done(&f.settings);

    setenv("SPOOR_INTERVAL", "soon", 1);
    load(&f, "run", ARGUMENTS("true"));
    assert_int_equal(f.result, -EINVAL);
    assert_string_equal(f.err.message, "SPOOR_INTERVAL: invalid time 'soon': expected seconds "
                                       "(0.5) or a unit (500ms, 2m, 1h)");
    settings_done(&f.settings);
    unsetenv("SPOOR_INTERVAL");
    unsetenv("SPOOR_QUIET");
    unsetenv("SPOOR_NO_CLOBBER");
    unsetenv("SPOOR_TAG");
    unsetenv("SPOOR_NAME");
}

TEST(attach_takes_one_process)
{
    static const char *const bad[][3] = {
        { "-p", "x" },     { "0" },        { "-p", "-3" }, { "4", "5" },
        { "99999999999" }, { "-p4", "5" }, { "" },
    };
    struct fixture f;

    load(&f, "attach", ARGUMENTS("-q", "42", "-i", "0.5", "--duration=2m"));
    assert_int_equal(f.result, 0);
    assert_int_equal(f.settings.pid, 42);
    assert_int_equal(f.settings.interval_ns, NS_PER_SECOND / 2);
    assert_int_equal(f.settings.duration_ns, 120 * NS_PER_SECOND);
    settings_done(&f.settings);
    setenv("SPOOR_PID", "7", 1);
    load(&f, "attach", ARGUMENTS("42"));
    assert_int_equal(f.settings.pid, 42);
    settings_done(&f.settings);
    unsetenv("SPOOR_PID");
    load(&f, "attach", ARGUMENTS("42x"));
    assert_int_equal(f.result, 0);
    assert_string_equal(f.settings.process_name, "42x");
    settings_done(&f.settings);
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        load(&f, "attach", bad[i]);
        assert_int_equal(f.result, -EINVAL);
        settings_done(&f.settings);
    }
}

/* Within one command, names and letters are unique. */
TEST(the_option_table_is_consistent)
{
    assert_true(settings_table.count <= OPTIONS_MAX);
    for (size_t i = 0; i < settings_table.count; i++) {
        const struct option *option = &settings_table.rows[i];

        assert_true(!option->apply == (option->action != ACTION_WORK));
        for (size_t j = 0; j < i; j++) {
            const struct option *other = &settings_table.rows[j];

            if (!(option->flags & other->flags & 0xffff))
                continue;
            assert_string_not_equal(option->name, other->name);
            assert_true(!option->letter || option->letter != other->letter);
        }
    }
}
