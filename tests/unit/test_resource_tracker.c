/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "compat/resource_tracker/program.h"
#include "fake_root.h"
#include "unit_test.h"

/* ---- resource tracker options ------------------------------------------- */

/* Parses the options of a command. The caller frees the settings. */
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

TEST(the_agent_accepts_a_dialect)
{
    static const char *const dialects[] = { "resource-tracker", "resource-tracker-0.3",
                                            "resource-tracker-0.1" };
    struct tracker_settings settings;
    struct spoor_error err;

    assert_string_equal(AGENT->name, "agent");
    for (size_t i = 0; i < ARRAY_SIZE(dialects); i++) {
        assert_int_equal(PARSE(AGENT, &settings, &err, "--dialect", dialects[i]), 0);
        assert_string_equal(settings.dialect, dialects[i]);
        tracker_settings_done(&settings);
    }
    assert_int_equal(PARSE(AGENT, &settings, &err, "--dialect=resource-tracker-0.1",
                           "--dialect", "resource-tracker-0.3"),
                     0);
    assert_string_equal(settings.dialect, "resource-tracker-0.3"); /* the last value is used */
    tracker_settings_done(&settings);
    assert_int_equal(PARSE(AGENT, &settings, &err, "--pid", "42"), 0);
    assert_null(settings.dialect);
    tracker_settings_done(&settings);
}

TEST(the_option_dialect_needs_a_value)
{
    struct tracker_settings settings;
    struct spoor_error err;

    assert_int_equal(PARSE(AGENT, &settings, &err, "--dialect"), -EINVAL);
    tracker_settings_done(&settings);
    assert_int_equal(PARSE(AGENT, &settings, &err, "--dialect", ""), -EINVAL);
    tracker_settings_done(&settings);
}

TEST(the_program_itself_has_only_one_dialect)
{
    struct tracker_settings settings;
    struct spoor_error err;

    assert_int_equal(PARSE(TRACK, &settings, &err, "--dialect", "resource-tracker"), -EINVAL);
    assert_string_equal(err.message, "unknown option --dialect");
    tracker_settings_done(&settings);
}

TEST(the_agent_accepts_all_tracker_arguments)
{
    struct tracker_settings settings;
    struct spoor_error err;

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

TEST(intervals_pids_and_tags_are_checked)
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

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        assert_int_equal(PARSE(TRACK, &settings, &err, bad[i].option, bad[i].value), -EINVAL);
        assert_non_null(strstr(err.message, bad[i].message));
        tracker_settings_done(&settings);
    }
}

/* ---- resource tracker config -------------------------------------------- */

struct setup {
    struct fake_root fake; /* its folder is the current directory */
    struct tracker_settings settings;
    struct arguments arguments;
};

/* Writes the config file and initializes the settings. */
static void setup_config(struct setup *setup, const char *config)
{
    setup->arguments = ARGUMENTS_INIT(&resource_tracker_program,
                                      resource_tracker_program.main_command, &setup->settings);
    fake_root_write(&setup->fake, "resource-tracker.toml", config);
    tracker_settings_init(&setup->settings);
}

static void setup_init(struct setup *setup, const char *config)
{
    fake_root_init(&setup->fake);
    assert_int_equal(chdir(setup->fake.path), 0);
    setup_config(setup, config);
}

static void setup_done(struct setup *setup)
{
    assert_int_equal(chdir("/"), 0);
    tracker_settings_done(&setup->settings);
    fake_root_done(&setup->fake);
}

TEST(a_file_fills_only_unset_values)
{
    struct setup setup;
    struct spoor_error err;

    setup_init(&setup, "[job]\nname = 'file'\npid = 42\n[tracker]\ninterval_secs = 2.5\n"
                       "other = true\n");
    assert_int_equal(tracker_config_read(&setup.arguments, NULL, &err), 0);
    assert_string_equal(setup.settings.job_name, "file");
    assert_int_equal(setup.settings.pid, 42);
    assert_int_equal(setup.settings.interval_ns, 5 * NS_PER_SECOND / 2);
    assert_int_equal(arguments_source(&setup.arguments, "pid"), SET_BY_FILE);
    setup_done(&setup);
}

/* Reads a file and checks its settings. `message`: the expected error, or NULL. */
static void check_file(const char *text, const char *name, pid_t pid, const char *message)
{
    struct setup setup;
    struct spoor_error err = { 0 };
    int r;

    setup_init(&setup, text);
    r = tracker_config_read(&setup.arguments, "resource-tracker.toml", &err);
    if (message)
        assert_string_equal(err.message, message);
    else if (r < 0)
        fail_msg("%s", err.message);
    assert_int_equal(r, message ? -EINVAL : 0);
    if (name)
        assert_string_equal(setup.settings.job_name, name);
    else
        assert_null(setup.settings.job_name);
    assert_int_equal(setup.settings.pid, pid);
    setup_done(&setup);
}

TEST(config_keys_are_recognized_only_in_their_table)
{
    check_file("name = 'a'\n[job]\nname = \"x\"\npid = 42\n[other]\nname='y'\n", "x", 42, NULL);
    check_file("job.name = 'x'\njob.pid=10", "x", 10, NULL);
    check_file("[job] # c\r\n\tname\t=\t'x'\t# one\r\n  # two\r\npid=3\r\n", "x", 3, NULL);
    check_file("'job.name' = 'x'\n[\"job.a\"]\nname = 2\n[[job]]\nname = 1", NULL, 0, NULL);
}

TEST(strings_are_in_single_or_double_quotes)
{
    static const struct {
        const char *text, *name;
    } strings[] = {
        { "job.name = \"q\\\"b\\\\t\\tn\\n\"", "q\"b\\t\tn\n" },
        { "job.name = 'C:\\new'", "C:\\new" },
        { "job.name = \"# no comment\" # c", "# no comment" },
        { "job.name = ''", "" },
        { "job.name = \"\"", "" },
        { "job.name = \"\\u0041\\u00e9\\u20AC\"", "A\u00e9\u20ac" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(strings); i++)
        check_file(strings[i].text, strings[i].name, 0, NULL);
}

TEST(other_lines_are_skipped)
{
    check_file("", NULL, 0, NULL);
    check_file("\n\n# only a comment", NULL, 0, NULL);
    check_file("a = true\nb = -0.5 # no\nc = 2026-11-16 02:00:00.5+01:00\nd = 0xff\ne = -inf\n"
               "f = [1, [2, 'x]'],\n # ]\n 3,\n]\ng = []\nh = { b = 1 }\ni = '''\nj\n'''\n"
               "= 1\nk\nl =\n\"m\nname =\njob.name = 'x'\n",
               "x", 0, NULL);
}

TEST(errors_name_the_file_and_the_line)
{
    static const struct {
        const char *text, *message;
    } bad[] = {
        { "[job]\nname = 5", "2: job.name: expected a string" },
        { "\n\njob.name =", "3: job.name: expected a string" },
        { "job.name = 'x' 2", "1: job.name: expected a string" },
        { "job.name = \"x", "1: job.name: expected a string" },
        { "job.name = 'x\n'", "1: job.name: expected a string" },
        { "job.name = \"\"\"x\n\"\"\"", "1: job.name: expected a string" },
        { "job.name = '''x'''", "1: job.name: expected a string" },
        { "job.name = \"\\q\"", "1: job.name: expected a string" },
        { "job.name = \"\\ud800\"", "1: job.name: expected a string" },
        { "job.name = \"\\u0000\"", "1: job.name: expected a string" },
        { "job.name = \"\x01\"", "1: job.name: expected a string" },
        { "job.pid = # none", "1: job.pid: expected a number" },
        { "job.pid = 1 2 ", "1: job.pid: expected a number" },
        { "[job]\npid = true", "2: job.pid: invalid process ID 'true'" },
        { "[job]\nname = 'x'\nname = 'y'", "3: job.name is set twice" },
    };
    char message[256];

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        (void)snprintf(message, sizeof(message), "resource-tracker.toml:%s", bad[i].message);
        check_file(bad[i].text, NULL, 0, message);
    }
}

/* A valid file is truncated at each byte; then each byte is changed. */
TEST(hostile_text_is_harmless)
{
    static const char good[] = "[job]\nname = \"a\\tb\\u00e9\" # c\r\npid = 42\n[[t.u]]\n"
                               "v = [ 1, 'z' ]\n[tracker]\ninterval_secs = 1.5e+1\n";
    uint32_t random = 1;
    size_t errors = 0, names = 0;
    struct setup setup;

    setup_init(&setup, good);
    for (size_t round = 0; round < 2000; round++) {
        char text[sizeof(good)];
        struct spoor_error err;
        int r;

        memcpy(text, good, sizeof(good));
        if (round < sizeof(good))
            text[round] = '\0';
        for (int i = 0; i < 4 && round >= sizeof(good); i++) {
            random = random * 1664525 + 1013904223;
            text[(random >> 8) % (sizeof(text) - 1)] = (char)(random >> 24);
        }
        tracker_settings_done(&setup.settings);
        setup_config(&setup, text);
        err.message[0] = '\0';
        r = tracker_config_read(&setup.arguments, "resource-tracker.toml", &err);
        if (r < 0) {
            assert_int_equal(r, -EINVAL);
            assert_non_null(strstr(err.message, "resource-tracker.toml:"));
            assert_null(setup.settings.job_name);
            assert_int_equal(setup.settings.pid, 0);
            assert_int_equal(setup.settings.interval_ns, NS_PER_SECOND);
        }
        errors += r < 0;
        names += setup.settings.job_name != NULL;
    }
    setup_done(&setup);
    assert_in_range(errors, 100, 1900);
    assert_in_range(names, 100, 2000 - errors);
}

/* In each file, the error is at the end. */
TEST(an_invalid_file_changes_nothing)
{
    static const char *const bad[] = {
        "[job]\nname = 'file'\npid = 42\n[tracker]\ninterval_secs = 0\n",
        "[tracker]\ninterval_secs = 9\n[job]\nname = 'file'\npid = 'x'\n",
        "[tracker]\ninterval_secs = 9\n[job]\npid = 42\nname = 'file\n",
        "[tracker]\ninterval_secs = 9\n[job]\nname = 'file'\nname = 'again'\n",
    };
    struct spoor_error err;

    for (size_t i = 0; i < 2 * ARRAY_SIZE(bad); i++) {
        const char *path = i < ARRAY_SIZE(bad) ? NULL : "resource-tracker.toml";
        struct setup setup;

        setup_init(&setup, bad[i % ARRAY_SIZE(bad)]);
        assert_int_equal(tracker_config_read(&setup.arguments, path, &err), path ? -EINVAL : 0);
        assert_non_null(strstr(err.message, "resource-tracker.toml:"));
        assert_null(setup.settings.job_name);
        assert_int_equal(setup.settings.pid, 0);
        assert_int_equal(setup.settings.interval_ns, NS_PER_SECOND);
        assert_int_equal(arguments_source(&setup.arguments, "pid"), SET_BY_NOTHING);
        setup_done(&setup);
    }
}

TEST(a_missing_file_is_not_an_error)
{
    struct setup setup;
    struct spoor_error err;

    setup_init(&setup, "");
    assert_int_equal(unlink("resource-tracker.toml"), 0);
    assert_int_equal(tracker_config_read(&setup.arguments, NULL, &err), 0);
    assert_int_equal(tracker_config_read(&setup.arguments, "missing.toml", &err), 0);
    assert_string_equal(err.message, "config file 'missing.toml': No such file or directory");
    setup_done(&setup);
}
