/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "compat/gpu_tracker/program.h"
#include "fake_root.h"
#include "front/arguments.h"
#include "front/spoor/settings.h"
#include "unit_test.h"

/* ---- arguments ---------------------------------------------------------- */

enum { PACK = 1u << 0, SHIP = 1u << 1, EVERY = PACK | SHIP };

struct target {
    char *execute, *format, *config, *unit, *file, *start, *start_file;
    struct text_list paths;
    bool overwrites;
};

#define TEXT(member) OPTION_ANY_TEXT(struct target, member)

static const struct option rows[] = {
    { 'e', "execute", "COMMAND", "", PACK | OPTION_REQUIRED, TEXT(execute) },
    { 'f', "format", "FORMAT", "", EVERY, TEXT(format) },
    { '\0', "tconfig", "FILE", "", PACK, TEXT(config) },
    { '\0', "tu", "UNIT", "", PACK, TEXT(unit) },
    { '\0', "tf", "FILE", "", PACK, TEXT(file) },
    { '\0', "st", "TIME", "", EVERY, TEXT(start) },
    { '\0', "stf", "FILE", "", EVERY, TEXT(start_file) },
    { 'p', "path", "FILE", "", SHIP | OPTION_REPEATABLE, OPTION_LIST(struct target, paths) },
    { '\0', "overwrite", NULL, "", EVERY, OPTION_FLAG(struct target, overwrites) },
    { 'h', "help", NULL, "", EVERY, .action = ACTION_HELP },
};
static const struct option_table table = { rows, ARRAY_SIZE(rows) };

static const struct command subcommands[] = {
    { .name = "pack", .options = &table, .scope = PACK },
    { .name = "ship", .options = &table, .scope = SHIP },
    { 0 },
};
static const struct command commands[] = {
    { .name = "run",
      .options = &table,
      .scope = SHIP,
      .operands = "COMMAND",
      .max_operands = OPERANDS_REST },
    { .name = "mark", .options = &table, .scope = SHIP, .operands = "NAME", .max_operands = 1 },
    { .name = "read", .options = &table, .scope = SHIP, .max_operands = OPERANDS_MANY },
    { .name = "pack", .options = &table, .scope = PACK },
    { .name = "sub",
      .options = &table,
      .scope = EVERY,
      .operands = "pack or ship",
      .max_operands = 1,
      .subcommands = subcommands },
    { 0 },
};
static const struct program strict = { .name = "prog",
                                       .commands = commands,
                                       .environment_prefix = "PROG_",
                                       .flags_take_values = true };
static const struct program lenient = {
    .name = "prog", .commands = commands, .allows_abbreviations = true, .has_full_usage = true
};

struct fixture {
    struct target target;
    struct arguments arguments;
    struct spoor_error err;
};

static int parse(struct fixture *f, const struct program *program, const char *const *argv)
{
    int argc = 0;

    while (argv[argc])
        argc++;
    *f = (struct fixture){ 0 };
    f->arguments.program = program;
    f->arguments.command = command_find(commands, argv[0]);
    f->arguments.target = &f->target;
    return arguments_parse(&f->arguments, argc, (char **)(uintptr_t)argv, &f->err);
}

static void done(struct fixture *f)
{
    option_free(&table, &f->target);
}

#define WORDS(...)        \
    (const char *[])      \
    {                     \
        __VA_ARGS__, NULL \
    }

static void check_refused(const struct program *program, const char *const *argv,
                          const char *message)
{
    struct fixture f;

    assert_int_equal(parse(&f, program, argv), -EINVAL);
    assert_string_equal(f.err.message, message);
    done(&f);
}

TEST(long_options_may_be_abbreviated)
{
    static const char *const forms[][4] = {
        { "pack", "--execute=true" },    { "pack", "--exec=true" }, { "pack", "--e", "true" },
        { "pack", "--execute", "true" }, { "pack", "-etrue" },      { "pack", "-e", "true" },
    };
    struct fixture f;

    for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
        assert_int_equal(parse(&f, &lenient, forms[i]), 0);
        assert_string_equal(f.target.execute, "true");
        done(&f);
    }
    /* A complete name is not an abbreviation of a longer one. */
    assert_int_equal(parse(&f, &lenient, WORDS("mark", "--st=1", "--stf", "a", "--over")), 0);
    assert_string_equal(f.target.start, "1");
    assert_string_equal(f.target.start_file, "a");
    assert_true(f.target.overwrites);
    done(&f);
    check_refused(&lenient, WORDS("pack", "--t=5"),
                  "--t is not a unique prefix: --tconfig, --tu, --tf?");
    check_refused(&strict, WORDS("pack", "--exec=true"),
                  "unknown option --exec; did you mean --execute?");
}

TEST(errors_name_unknown_options)
{
    check_refused(&lenient, WORDS("pack", "--formats=json"),
                  "unknown option --formats; did you mean --format?");
    check_refused(&lenient, WORDS("pack", "--xyzzy"), "unknown option --xyzzy");
    check_refused(&strict, WORDS("pack", "--xyzzy"),
                  "unknown option --xyzzy; see 'prog pack --help'");
    check_refused(&strict, WORDS("pack", "-E"),
                  "unknown option -E; did you mean -e (--execute)?");
    check_refused(&strict, WORDS("pack", "-z"), "unknown option -z; see 'prog pack --help'");
    check_refused(&strict, WORDS("pack", "-p", "x"),
                  "'prog pack' has no option -p; 'prog run' does");
}

TEST(values_are_assigned_to_their_options)
{
    struct fixture f;

    check_refused(&strict, WORDS("pack", "--tf"), "--tf requires a value: FILE");
    check_refused(&strict, WORDS("pack"), "missing option: --execute=COMMAND");
    check_refused(&lenient, WORDS("mark", "--overwrite=yes"), "--overwrite takes no value");
    assert_int_equal(parse(&f, &strict, WORDS("mark", "--overwrite", "--overwrite=no")), 0);
    assert_false(f.target.overwrites);
    done(&f);
}

TEST(options_may_follow_operands_unless_they_are_a_command_line)
{
    struct fixture f;

    assert_int_equal(parse(&f, &strict, WORDS("mark", "-fa", "name", "--st", "1")), 0);
    assert_int_equal(f.arguments.operand_count, 1);
    assert_string_equal(f.arguments.operands[0], "name");
    assert_string_equal(f.target.start, "1");
    done(&f);
    assert_int_equal(parse(&f, &strict, WORDS("run", "-fa", "ls", "--st", "1")), 0);
    assert_int_equal(f.arguments.first_operand, 2);
    assert_null(f.target.start);
    done(&f);
    check_refused(&strict, WORDS("mark", "a", "b"),
                  "unexpected argument 'b': only one NAME may be given");
    check_refused(&strict, WORDS("pack", "-e", "x", "b"), "unexpected argument 'b'");
}

TEST(options_may_be_between_operands)
{
    const char *words[] = { "read", "-fa", "1",  "--st", "x",   "2",
                            "-",    "3",   "--", "-4",   "--5", NULL };
    static const char *const operands[] = { "1", "2", "-", "3", "-4", "--5" };
    const char *none[] = { "read", "-fa", NULL };
    struct fixture f;

    assert_int_equal(parse(&f, &strict, words), 0);
    assert_string_equal(f.target.format, "a");
    assert_string_equal(f.target.start, "x");
    assert_int_equal(f.arguments.operand_count, ARRAY_SIZE(operands));
    for (size_t i = 0; i < ARRAY_SIZE(operands); i++)
        assert_string_equal(words[(size_t)f.arguments.first_operand + i], operands[i]);
    done(&f);
    assert_int_equal(parse(&f, &strict, none), 0);
    assert_int_equal(f.arguments.operand_count, 0);
    done(&f);
}

TEST(a_subcommand_limits_the_options)
{
    struct fixture f;

    assert_int_equal(parse(&f, &strict, WORDS("sub", "-p", "a", "ship", "-pb")), 0);
    assert_ptr_equal(f.arguments.command, &subcommands[1]);
    assert_int_equal(f.target.paths.count, 2);
    assert_int_equal(arguments_source(&f.arguments, "path"), SET_BY_OPTION);
    assert_int_equal(arguments_source(&f.arguments, "format"), SET_BY_NOTHING);
    done(&f);
    assert_int_equal(parse(&f, &strict, WORDS("sub", "-h", "--no-such-option")), 0);
    assert_int_equal(f.arguments.action, ACTION_HELP);
    done(&f);
    check_refused(&strict, WORDS("sub", "ship", "-e", "x"),
                  "'sub ship' has no option --execute");
    check_refused(&strict, WORDS("sub", "pack"), "missing option: --execute=COMMAND");
    check_refused(&strict, WORDS("sub"), "missing subcommand: expected pack or ship");
    check_refused(&strict, WORDS("sub", "send"),
                  "unknown subcommand 'send': expected pack or ship");
}

TEST(variables_fill_options_that_were_not_given)
{
    struct fixture f;

    setenv("PROG_FORMAT", "json", 1);
    setenv("PROG_PATH", "a,b", 1);
    setenv("PROG_ST", "", 1);
    setenv("PROG_TU", "of another command", 1);
    assert_int_equal(parse(&f, &strict, WORDS("mark")), 0);
    assert_int_equal(arguments_complete(&f.arguments, &f.err), 0);
    assert_string_equal(f.target.format, "json");
    assert_int_equal(f.target.paths.count, 2);
    assert_null(f.target.start);
    assert_null(f.target.unit);
    assert_int_equal(arguments_source(&f.arguments, "format"), SET_BY_VARIABLE);
    done(&f);
    assert_int_equal(parse(&f, &strict, WORDS("mark", "-fcsv", "-pc")), 0);
    assert_int_equal(arguments_complete(&f.arguments, &f.err), 0);
    assert_string_equal(f.target.format, "csv");
    assert_int_equal(f.target.paths.count, 1);
    done(&f);
    assert_int_equal(parse(&f, &lenient, WORDS("mark")), 0); /* reads no variables */
    assert_int_equal(arguments_complete(&f.arguments, &f.err), 0);
    assert_null(f.target.format);
    done(&f);
    setenv("PROG_OVERWRITE", "maybe", 1);
    assert_int_equal(parse(&f, &strict, WORDS("mark")), 0);
    assert_int_equal(arguments_complete(&f.arguments, &f.err), -EINVAL);
    assert_string_equal(f.err.message,
                        "PROG_OVERWRITE: invalid value 'maybe': expected yes or no");
    done(&f);
    unsetenv("PROG_FORMAT");
    unsetenv("PROG_PATH");
    unsetenv("PROG_ST");
    unsetenv("PROG_TU");
    unsetenv("PROG_OVERWRITE");
}

/* ---- config ------------------------------------------------------------- */

/* Reads the settings of `spoor run` from a text. */
static int apply(const char *text, struct settings *settings, struct spoor_error *err)
{
    struct arguments arguments =
        ARGUMENTS_INIT(&spoor_program, command_find(spoor_program.commands, "run"), settings);

    settings_init(settings);
    return config_read_text(&arguments, "c.json", text, strlen(text), err);
}

TEST(config_values_may_be_strings_numbers_or_booleans)
{
    struct settings settings;

    assert_int_equal(apply("{\"interval\": 0.3, \"quiet\": true, \"append\": false,\n"
                           " \"processes\": 7, \"name\": \"n\", \"duration\": \"1m\"}",
                           &settings, NULL),
                     0);
    assert_int_equal(settings.interval_ns, 300 * NS_PER_MS);
    assert_true(settings.is_quiet);
    assert_false(settings.is_append);
    assert_int_equal(settings.process_count, 7);
    assert_string_equal(settings.name, "n");
    assert_int_equal(settings.duration_ns, 0); /* not an option of run: ignored */
    settings_done(&settings);
}

TEST(tags_may_be_a_string_a_list_or_an_object)
{
    static const struct {
        const char *text;
        size_t count;
    } files[] = {
        { "{\"tag\": \"a=1\"}", 1 },
        { "{\"tag\": [\"a=1\", \"b=2\"]}", 2 },
        { "{\"tag\": {\"a\": \"1\", \"b\": \"x=y\"}}", 2 },
        { "{\"tag\": []}", 0 },
        { "{}", 0 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        struct settings settings;

        assert_int_equal(apply(files[i].text, &settings, NULL), 0);
        assert_int_equal(settings.tags.count, files[i].count);
        if (settings.tags.count)
            assert_string_equal(settings.tags.items[0], "a=1");
        settings_done(&settings);
    }
}

TEST(a_config_file_does_not_override_options)
{
    const char *text = "{\"interval\": 5, \"name\": \"n\"}";
    struct settings settings;
    struct arguments arguments =
        ARGUMENTS_INIT(&spoor_program, command_find(spoor_program.commands, "run"), &settings);
    char command[] = "run", option[] = "-i2";
    char *argv[] = { command, option, NULL };

    settings_init(&settings);
    assert_int_equal(arguments_parse(&arguments, 2, argv, NULL), 0);
    assert_int_equal(config_read_text(&arguments, "c.json", text, strlen(text), NULL), 0);
    assert_int_equal(settings.interval_ns, 2 * NS_PER_SECOND);
    assert_string_equal(settings.name, "n");
    assert_int_equal(arguments_source(&arguments, "interval"), SET_BY_OPTION);
    assert_int_equal(arguments_source(&arguments, "name"), SET_BY_FILE);
    settings_done(&settings);
}

TEST(errors_name_the_file_and_the_key)
{
    static const struct {
        const char *text;
        const char *message;
    } mistakes[] = {
        { "{\"intervalx\": 1}",
          "c.json: unknown key \"intervalx\"; did you mean \"interval\"?" },
        { "{\n  \"tag\": {\"interval\": \"{\\\",\"},\n  \"x\": 1}",
          "c.json: unknown key \"x\"" },
        { "{\"name\": \"\xc3\xa9\", \"zzz\": 1}", "c.json: unknown key \"zzz\"" },
        { "{\"help\": true}", "c.json: \"help\" cannot be set in a config file" },
        { "{\"pid\": 1}", "c.json: \"pid\" cannot be set in a config file" },
        { "{\"quiet\": 1}", "c.json: quiet: expected true or false" },
        { "{\"quiet\": null}", "c.json: quiet: expected true or false" },
        { "{\"interval\": true}", "c.json: interval: expected a string or a number" },
        { "{\"interval\": {}}", "c.json: interval: expected a string or a number" },
        { "{\"name\": [\"a\"]}", "c.json: name: expected a string or a number" },
        { "{\"tag\": {\"a\": 1}}", "c.json: tag: expected a string as the value of 'a'" },
        { "{\"tag\": {\"a=b\": \"c\"}}", "c.json: tag: 'a=b' must not contain '='" },
        { "{\"tag\": [[]]}", "c.json: tag: expected a string or a number" },
        { "{\"interval\": 0}", "c.json: interval: '0' is out of range: expected 1ms to 1h" },
        { "[1]", "c.json: expected an object: { \"KEY\": VALUE, ... }" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(mistakes); i++) {
        struct settings settings;
        struct spoor_error err;

        assert_int_equal(apply(mistakes[i].text, &settings, &err), -EINVAL);
        assert_string_equal(err.message, mistakes[i].message);
        settings_done(&settings);
    }
}

TEST(broken_json_is_refused_with_its_position)
{
    static const struct {
        const char *text;
        const char *place;
    } broken[] = {
        { "", "c.json:1:0: " },
        { "{", "c.json:1:1: " },
        { "{\"interval\": 1,\n}", "c.json:2:1: " },
        { "{\"interval\" 1}", "c.json:1:13: " },
        { "{\"name\": \"\xff\"}", "c.json:1:10: " },
        { "{\"name\": \"a\\u0000b\"}", "c.json:1:19: " },
        { "{\"name\": \"a\", \"name\": \"b\"}", "c.json:1:20: " },
        { "{} x", "c.json:1:4: " },
        { "\x1b[31m", "c.json:1:1: " },
    };

    for (size_t i = 0; i < ARRAY_SIZE(broken); i++) {
        struct settings settings;
        struct spoor_error err;

        assert_int_equal(apply(broken[i].text, &settings, &err), -EINVAL);
        if (strncmp(err.message, broken[i].place, strlen(broken[i].place)) != 0)
            fail_msg("case %zu: %s", i, err.message);
        settings_done(&settings);
    }
}

TEST(endless_nesting_is_refused)
{
    char deep[20000] = "{\"tag\": ";
    struct settings settings;
    struct spoor_error err;

    memset(deep + strlen(deep), '[', sizeof(deep) - strlen(deep) - 1);
    deep[sizeof(deep) - 1] = '\0';
    assert_int_equal(apply(deep, &settings, &err), -EINVAL);
    settings_done(&settings);
}

static int read_file(const struct fake_root *fake, const char *name, struct settings *settings)
{
    struct arguments arguments =
        ARGUMENTS_INIT(&spoor_program, command_find(spoor_program.commands, "run"), settings);
    struct spoor_error err;
    char path[128];

    (void)snprintf(path, sizeof(path), "%s%s", fake ? fake->path : "", name);
    return config_read(&arguments, path, &err);
}

FAKE_ROOT_TEST(the_size_of_a_file_is_limited)
{
    struct fake_root *fake = *state;
    struct settings settings;

    fake_root_write(fake, "good.json", "{\"interval\": \"2m\"}\n");
    settings_init(&settings);
    assert_int_equal(read_file(fake, "/good.json", &settings), 0);
    assert_int_equal(settings.interval_ns, 120 * NS_PER_SECOND);
    assert_int_equal(read_file(fake, "/none.json", &settings), -ENOENT);
    assert_int_equal(read_file(NULL, "/dev/zero", &settings), -EFBIG);
    assert_int_equal(read_file(fake, "", &settings), -EISDIR);
    settings_done(&settings);
}

/* ---- the keys of gpu-tracker ------------------------------------------------ */

static int apply_gpu_tracker(const char *text, struct gpu_tracker_settings *texts,
                             struct spoor_error *err)
{
    struct arguments arguments =
        ARGUMENTS_INIT(&gpu_tracker_program, gpu_tracker_program.main_command, texts);

    return config_read_text(&arguments, "c.json", text, strlen(text), err);
}

TEST(config_keys_may_differ_from_option_names)
{
    struct gpu_tracker_settings texts = { 0 };

    assert_int_equal(apply_gpu_tracker("{\"sleep_time\": 0.5, \"overwrite\": true,"
                                       " \"gpu_uuids\": [\"a\", \"b\"], \"gpu_brand\": null,"
                                       " \"join_timeout\": \"ignored\"}",
                                       &texts, NULL),
                     0);
    assert_string_equal(texts.sleep_time, "0.5");
    assert_string_equal(texts.gpu_uuids, "a,b");
    assert_true(texts.overwrites);
    assert_null(texts.gpu_brand);
    gpu_tracker_settings_done(&texts);
    assert_int_equal(apply_gpu_tracker("{\"gpu_uuids\": []}", &texts, NULL), 0);
    assert_string_equal(texts.gpu_uuids, "");
    gpu_tracker_settings_done(&texts);
}

TEST(each_config_key_accepts_only_its_own_type)
{
    static const struct {
        const char *text;
        const char *message;
    } mistakes[] = {
        { "{\"st\": 1}", "c.json: unknown key \"st\"" },
        { "{\"execute\": \"ls\"}", "c.json: \"execute\" cannot be set in a config file" },
        { "{\"sleep_time\": [1]}", "c.json: sleep_time: expected a string or a number" },
        { "{\"ram_unit\": 1}", "c.json: ram_unit: expected a string" },
        { "{\"overwrite\": \"yes\"}", "c.json: overwrite: expected true or false" },
        { "{\"gpu_uuids\": 1}", "c.json: gpu_uuids: expected a list of strings" },
        { "{\"gpu_uuids\": [1]}", "c.json: gpu_uuids: expected a list of strings" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(mistakes); i++) {
        struct gpu_tracker_settings texts = { 0 };
        struct spoor_error err;

        assert_int_equal(apply_gpu_tracker(mistakes[i].text, &texts, &err), -EINVAL);
        assert_string_equal(err.message, mistakes[i].message);
        gpu_tracker_settings_done(&texts);
    }
}
