/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "compat/resource_tracker/options.h"
#include "compat/resource_tracker/program.h"

/* Reads the options of a command. The caller ends the settings. */
static int parse(const struct command *command, const char *const argv[],
                 struct tracker_settings *settings, struct spoor_error *err)
{
    struct arguments arguments = ARGUMENTS_INIT(&resource_tracker_program, command, settings);
    int argc = 0;

    while (argv[argc])
        argc++;
    tracker_settings_init(settings);
    return arguments_parse(&arguments, argc, (char **)(uintptr_t)argv, err);
}

#define PARSE(command, settings, err, ...) \
    parse(command, (const char *const[]){ "command", __VA_ARGS__, NULL }, settings, err)
#define AGENT (&resource_tracker_program.commands[0])
#define TRACK (resource_tracker_program.main_command)

static void the_agent_takes_a_dialect(void **state)
{
    static const char *const dialects[] = { "resource-tracker", "resource-tracker-0.3",
                                            "resource-tracker-0.1" };
    struct tracker_settings settings;
    struct spoor_error err;

    (void)state;
    assert_string_equal(AGENT->name, "agent");
    for (size_t i = 0; i < ARRAY_SIZE(dialects); i++) {
        assert_int_equal(PARSE(AGENT, &settings, &err, "--dialect", dialects[i]), 0);
        assert_string_equal(settings.dialect, dialects[i]);
        tracker_settings_done(&settings);
    }
    assert_int_equal(PARSE(AGENT, &settings, &err, "--dialect=resource-tracker-0.1",
                           "--dialect", "resource-tracker-0.3"),
                     0);
    assert_string_equal(settings.dialect, "resource-tracker-0.3"); /* the last one counts */
    tracker_settings_done(&settings);
    assert_int_equal(PARSE(AGENT, &settings, &err, "--pid", "42"), 0);
    assert_null(settings.dialect);
    tracker_settings_done(&settings);
}

static void a_dialect_must_be_named(void **state)
{
    struct tracker_settings settings;
    struct spoor_error err;

    (void)state;
    assert_int_equal(PARSE(AGENT, &settings, &err, "--dialect"), -EINVAL);
    tracker_settings_done(&settings);
    assert_int_equal(PARSE(AGENT, &settings, &err, "--dialect", ""), -EINVAL);
    tracker_settings_done(&settings);
}

static void the_program_itself_has_only_one_dialect(void **state)
{
    struct tracker_settings settings;
    struct spoor_error err;

    (void)state;
    assert_int_equal(PARSE(TRACK, &settings, &err, "--dialect", "resource-tracker"), -EINVAL);
    assert_string_equal(err.message, "unknown option --dialect");
    tracker_settings_done(&settings);
}

static void the_agent_takes_what_a_tracker_is_made_with(void **state)
{
    struct tracker_settings settings;
    struct spoor_error err;

    (void)state;
    assert_int_equal(PARSE(AGENT, &settings, &err, "--pid", "42", "--interval", "0.25",
                           "--no-children", "--process-rows", "p.f64", "--system-rows",
                           "s.f64"),
                     0);
    assert_int_equal(settings.pid, 42);
    assert_int_equal(settings.interval_ns, NS_PER_SECOND / 4);
    assert_true(settings.excludes_children);
    assert_string_equal(settings.process_rows_path, "p.f64");
    assert_string_equal(settings.system_rows_path, "s.f64");
    tracker_settings_done(&settings);
}

static void intervals_pids_and_tags_are_checked(void **state)
{
    static const struct {
        const char *option, *value, *message;
    } bad[] = {
        { "--interval", "soon", "invalid value 'soon': expected a number of seconds" },
        { "--interval", "nan", "invalid value 'nan': expected a number of seconds" },
        { "--interval", "0", "'0' is out of range: expected 0.001 to 3600 seconds" },
        { "--interval", "3601", "'3601' is out of range: expected 0.001 to 3600 seconds" },
        { "--pid", "0", "invalid process ID '0'" },
        { "--pid", "-1", "invalid process ID '-1'" },
        { "--pid", "4294967297", "invalid process ID '4294967297'" },
        { "--tag", "x", "invalid tag 'x': expected KEY=VALUE" },
        { "--tag", "=x", "invalid tag '=x': expected KEY=VALUE" },
    };
    struct tracker_settings settings;
    struct spoor_error err;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        assert_int_equal(PARSE(TRACK, &settings, &err, bad[i].option, bad[i].value), -EINVAL);
        assert_non_null(strstr(err.message, bad[i].message));
        tracker_settings_done(&settings);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_agent_takes_a_dialect),
        cmocka_unit_test(a_dialect_must_be_named),
        cmocka_unit_test(the_program_itself_has_only_one_dialect),
        cmocka_unit_test(the_agent_takes_what_a_tracker_is_made_with),
        cmocka_unit_test(intervals_pids_and_tags_are_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
