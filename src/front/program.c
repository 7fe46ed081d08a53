/* SPDX-License-Identifier: Apache-2.0 */
#include "front/program.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/loading.h"
#include "front/arguments.h"
#include "front/help.h"
#include "run/signals.h"
#include "text/buffer.h"
#include "text/escape.h"
#include "text/find.h"

const struct command *command_find(const struct command *commands, const char *name)
{
    for (; commands->name; commands++) {
        if (strcmp(commands->name, name) == 0)
            return commands;
    }
    return NULL;
}

/* Allocates no memory. */
static void say_no_memory(const char *prefix)
{
    char line[128];
    int length = snprintf(line, sizeof(line), "%sout of memory\n", prefix); /* fits */

    (void)!write(STDERR_FILENO, line,
                 (size_t)length); /* a failure cannot be reported anywhere */
}

/* Writes one line with a single call. `text` NULL: out of memory. */
static void print_text(const char *prefix, const char *text)
{
    CLEANUP(buffer_done) struct buffer line = { 0 };

    buffer_add_text(&line, prefix);
    escape_unsafe(text ? text : "", &line);
    buffer_add(&line, "\n", 1);
    if (!text || buffer_error(&line) < 0)
        say_no_memory(prefix);
    else
        (void)buffer_write(&line, STDERR_FILENO); /* a failure cannot be reported anywhere */
}

static void PRINTF_LIKE(2, 0) print_message(const char *prefix, const char *fmt, va_list args)
{
    AUTO_FREE char *text = NULL;

    if (vasprintf(&text, fmt, args) < 0)
        text = NULL;
    print_text(prefix, text);
}

int program_complain(const struct program *program, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    print_message(program->error_prefix, fmt, args);
    va_end(args);
    return program->failure_code;
}

void program_warn(const struct program *program, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    print_message(program->warning_prefix, fmt, args);
    va_end(args);
}

/* ---- commands that cannot run -------------------------------------------- */

static bool is_builtin(const char *word)
{
    static const char *const builtins[] = { ".",      "alias", "bg",     "cd",    "eval",
                                            "exec",   "exit",  "export", "fg",    "jobs",
                                            "popd",   "pushd", "read",   "set",   "shift",
                                            "source", "trap",  "ulimit", "umask", "unalias",
                                            "unset",  "wait" };

    return FIND_TEXT(builtins, word) != NULL;
}

/* Returns the program that runs a script of this name; NULL: unknown. */
static const char *interpreter_of(const char *file)
{
    static const struct {
        const char *suffix, *program;
    } rows[] = { { ".py", "python3" }, { ".sh", "sh" },   { ".bash", "bash" },
                 { ".pl", "perl" },    { ".rb", "ruby" }, { ".R", "Rscript" },
                 { ".js", "node" } };
    const char *dot = strrchr(file, '.');
    const __typeof__(rows[0]) *row = dot ? FIND_ROW(rows, suffix, dot) : NULL;

    return row ? row->program : NULL;
}

/* Adds a hint: "; try: sh -c 'a | b'". */
static void add_trial(struct buffer *out, const char *const *line)
{
    buffer_add_text(out, "; try: ");
    escape_command(line, out);
}

static void hint_at_missing(const char *const *command, struct buffer *out)
{
    const char *file = command[0];
    bool is_line = !command[1] && strpbrk(file, " |&;<>$`*");
    CLEANUP(buffer_done) struct buffer text = { 0 };

    buffer_add_text(&text, "./");
    buffer_add_text(&text, file);
    if (!is_line && !strchr(file, '/') && text.text && access(text.text, F_OK) == 0) {
        const char *line[] = { text.text, NULL };

        add_trial(out, line);
    } else if (is_line || is_builtin(file)) {
        bool is_of_bash = !is_line && (strcmp(file, "source") == 0 || file[0] == 'p');
        const char *line[] = { is_of_bash ? "bash" : "sh", "-c", NULL, NULL };

        buffer_clear(&text);
        for (const char *const *word = command; *word; word++)
            buffer_format(&text, "%s%s", word == command ? "" : " ", *word);
        line[2] = text.text;
        buffer_add_text(out, is_line ? " (a command line for a shell)" : " (a shell builtin)");
        if (line[2])
            add_trial(out, line);
    }
}

/* Adds a hint for a file that exists and cannot be executed: EACCES or ENOEXEC. */
static void hint_at_script(const char *file, int code, struct buffer *out)
{
    const char *program = interpreter_of(file);
    const char *change[] = { "chmod", "+x", file, NULL };
    const char *run[] = { program ? program : "sh", file, NULL };
    struct stat status;

    if (stat(file, &status) < 0)
        return;
    if (S_ISDIR(status.st_mode))
        buffer_add_text(out, " (a directory)");
    else if (code == ENOEXEC || (code == EACCES && access(file, X_OK) < 0 && program))
        add_trial(out, run);
    else if (code == EACCES && S_ISREG(status.st_mode) && (status.st_mode & 0111) == 0)
        add_trial(out, change);
}

static int refuse_exec(const struct program *program, const char *const *command, int code)
{
    CLEANUP(buffer_done) struct buffer hint = { 0 };
    const char *file = command[0];

    if (code == ENOENT)
        hint_at_missing(command, &hint);
    else
        hint_at_script(file, code, &hint);
    if (code == ENOENT && !strchr(file, '/'))
        program_complain(program, "'%s': command not found%s", file, buffer_text(&hint));
    else if (code == ENOENT && access(file, F_OK) == 0)
        program_complain(program, "cannot run '%s': the interpreter it names does not exist",
                         file);
    else
        program_complain(program, "cannot run '%s': %s%s", file, strerror(code),
                         buffer_text(&hint));
    return code == ENOENT ? 127 : 126;
}

int program_run(const struct program *program, struct track_options *options,
                void (*finish)(const struct tracked *tracked, void *data), void *data)
{
    struct spoor_error err = { 0 };
    struct tracked tracked;

    switch (track(options, &tracked, &err)) {
    case TRACK_REFUSED:
        return program_complain(program, "%s", err.message);
    case TRACK_NO_EXEC:
        return refuse_exec(program, (const char *const *)options->command, err.code);
    case TRACK_RAN:
        break;
    }
    if (tracked.session || options->reports_untracked)
        finish(&tracked, data);
    spoor_session_close(tracked.session);
    if (WIFSIGNALED(tracked.end.wait_status))
        reraise(WTERMSIG(tracked.end.wait_status));
    return supervise_exit_code(tracked.end.wait_status);
}

int program_write_report(const struct program *program, int (*write)(void *data), void *data)
{
    struct pollfd room = { .fd = STDERR_FILENO, .events = POLLOUT };
    int r = run_interruptible(write, data);

    if (r >= 0)
        return r;
    /* Do not block if stderr is full: the report may have been interrupted while it waited for
     * the same reader. */
    if (poll(&room, 1, 0) == 1)
        program_complain(program, "the report is incomplete: interrupted by %s",
                         signal_name(-r));
    return 1;
}

static int suggest_tracking(const struct program *program, const char *const *line)
{
    CLEANUP(buffer_done) struct buffer text = { 0 };

    escape_command(line, &text);
    program_complain(program, "unknown command '%s'; to track it: %s %s -- %s", line[0],
                     program->name, program->commands->name,
                     buffer_error(&text) < 0 ? line[0] : text.text);
    return program->failure_code;
}

int program_refuse_command(const struct program *program, const char *word,
                           const char *const *line)
{
    struct nearest nearest = NEAREST_TO(word);
    const char *near;

    for (const struct command *command = program->commands; command->name; command++) {
        if (!command->is_hidden)
            nearest_offer(&nearest, command->name);
    }
    near = nearest_get(&nearest);
    if (near)
        return program_complain(program, "unknown command '%s'; did you mean '%s'?", word,
                                near);
    if (line && program->commands->max_operands == OPERANDS_REST)
        return suggest_tracking(program, line);
    return program_complain(program, "unknown command '%s'; see '%s --help'", word,
                            program->name);
}

static int show_version(const struct program *program)
{
    return printf("%s%s" LOADING_NOTE "\n", program->version_prefix, spoor_version()) < 0;
}

int program_show(const struct arguments *arguments)
{
    if (arguments->action == ACTION_VERSION)
        return show_version(arguments->program);
    help_command(stdout, arguments->program, arguments->command);
    return 0;
}

int program_read(struct arguments *arguments, int argc, char **argv)
{
    const struct program *program = arguments->program;
    const struct command *command = arguments->command;
    struct spoor_error err = { 0 };

    if (arguments_parse(arguments, argc, argv, &err) < 0) {
        if (!program->has_full_usage)
            return program_complain(program, "%s", err.message);
        print_text("", err.message);
        help_usage(stderr, program, command);
        return program->failure_code;
    }
    if (arguments->action != ACTION_WORK)
        return program_show(arguments);
    if (arguments_complete(arguments, &err) < 0)
        return program_complain(program, "%s", err.message);
    return -1;
}

int program_main(const struct program *program, int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : NULL;
    const struct command *command = word ? command_find(program->commands, word) : NULL;

    if (command)
        return (command->main ? command->main : program->main)(command, argc - 1, argv + 1);
    if (program->main_command)
        return program->main_command->main(program->main_command, argc, argv);
    if (!word) {
        help_overview(stderr, program);
        return program->failure_code;
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        help_overview(stdout, program);
        return 0;
    }
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
        return show_version(program);
    if (word[0] == '-')
        return program_complain(program, "options go after the subcommand: %s %s %s ...",
                                program->name, program->commands->name, word);
    return program_refuse_command(program, word, (const char *const *)(argv + 1));
}
