/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - all programs in one binary: the name it is called by selects one. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "compat/gpu_tracker/program.h"
#include "compat/resource_tracker/program.h"
#include "front/help.h"
#include "front/program.h"
#include "front/spoor/settings.h"

/* The first program is the default, for any other name. */
static const struct program *const programs[] = { &spoor_program, &gpu_tracker_program,
                                                  &resource_tracker_program };

/* If stdin, stdout or stderr is closed, the next file we open would get its number, and output
 * would go to that file. Therefore opens /dev/null in its place, but in the wrong direction:
 * using the descriptor fails with EBADF, as if it were closed. It is closed at exec, so the job
 * finds it closed. */
static void fill_standard_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
            open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC) < 0)
            return; /* no /dev/null: nothing more can be done */
    }
}

static const struct program *find_program(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
        if (strcmp(programs[i]->name, name) == 0)
            return programs[i];
    }
    return NULL;
}

/* Generates manual pages for the build: `spoor --man-commands PROGRAM`, `spoor --man-options
 * PROGRAM [COMMAND]` and `spoor --man-page PROGRAM COMMAND`. Returns the exit code; -1: none of
 * these was requested. */
static int generate(int argc, char **argv)
{
    const struct program *program = argc >= 3 ? find_program(argv[2]) : NULL;
    const struct command *command;

    if (!program)
        return -1;
    command = argc > 3 ? command_find(program->commands, argv[3]) : program->main_command;
    if (strcmp(argv[1], "--man-commands") == 0)
        man_commands(stdout, program);
    else if (strcmp(argv[1], "--man-options") == 0 && command)
        man_options(stdout, command);
    else if (strcmp(argv[1], "--man-page") == 0 && command)
        man_page(stdout, program, command);
    else
        return strncmp(argv[1], "--man-", 6) == 0 ? program->failure_code : -1;
    return 0;
}

static int run_program(const struct program *program, int argc, char **argv)
{
    int code = program == programs[0] ? generate(argc, argv) : -1;

    if (argc > 1 && strcmp(argv[1], "--complete") == 0) {
        completion_write(stdout, program, argv + 2, argc - 2); /* for shell completion */
        return 0;
    }
    return code >= 0 ? code : program_main(program, argc, argv);
}

/* Flushes stdout: a write to a full disk or a closed descriptor may fail only now. */
static int check_stdout(const struct program *program, int code)
{
    bool has_failed = ferror(stdout);

    if (fflush(stdout) == 0 && !has_failed)
        return code;
    return program_complain(program, "cannot write to standard output: %s", strerror(errno));
}

int main(int argc, char **argv)
{
    const struct program *program = argc > 0 ? find_program(basename(argv[0])) : NULL;

    if (!program)
        program = programs[0];
    fill_standard_descriptors();
    return check_stdout(program, run_program(program, argc, argv));
}
