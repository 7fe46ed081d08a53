/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "front/arguments.h"

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
    { 'h', "help", NULL, "", EVERY, .apply = option_help },
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
    (const char *const[]) \
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

static void long_options_may_be_abbreviated(void **state)
{
    static const char *const forms[][4] = {
        { "pack", "--execute=true" },    { "pack", "--exec=true" }, { "pack", "--e", "true" },
        { "pack", "--execute", "true" }, { "pack", "-etrue" },      { "pack", "-e", "true" },
    };
    struct fixture f;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
        assert_int_equal(parse(&f, &lenient, forms[i]), 0);
        assert_string_equal(f.target.execute, "true");
        done(&f);
    }
    /* A whole name is not an abbreviation of another. */
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

static void unknown_options_are_named(void **state)
{
    (void)state;
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

static void values_are_where_they_belong(void **state)
{
    struct fixture f;

    (void)state;
    check_refused(&strict, WORDS("pack", "--tf"), "--tf requires a value: FILE");
    check_refused(&strict, WORDS("pack"), "missing option: --execute=COMMAND");
    check_refused(&lenient, WORDS("mark", "--overwrite=yes"), "--overwrite takes no value");
    assert_int_equal(parse(&f, &strict, WORDS("mark", "--overwrite", "--overwrite=no")), 0);
    assert_false(f.target.overwrites);
    done(&f);
}

static void options_may_follow_operands_unless_they_are_a_command_line(void **state)
{
    struct fixture f;

    (void)state;
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

static void options_may_stand_between_many_operands(void **state)
{
    const char *words[] = { "read", "-fa", "1",  "--st", "x",   "2",
                            "-",    "3",   "--", "-4",   "--5", NULL };
    static const char *const operands[] = { "1", "2", "-", "3", "-4", "--5" };
    const char *none[] = { "read", "-fa", NULL };
    struct fixture f;

    (void)state;
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

static void a_subcommand_narrows_the_options(void **state)
{
    struct fixture f;

    (void)state;
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

static void variables_fill_what_no_option_set(void **state)
{
    struct fixture f;

    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_options_may_be_abbreviated),
        cmocka_unit_test(unknown_options_are_named),
        cmocka_unit_test(values_are_where_they_belong),
        cmocka_unit_test(options_may_follow_operands_unless_they_are_a_command_line),
        cmocka_unit_test(options_may_stand_between_many_operands),
        cmocka_unit_test(a_subcommand_narrows_the_options),
        cmocka_unit_test(variables_fill_what_no_option_set),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
