/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - the program spoor: from its name and its first argument to a command. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "front/common/command.h"
#include "front/common/help.h"
#include "front/common/message.h"
#include "front/gpu_tracker/program.h"

/* Where stdin, stdout or stderr came closed, the next file we open would take its
 * number, and be written to by mistake. The stand-in closes again at exec: the job
 * finds what we found. */
static void fill_standard_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
            open("/dev/null", O_RDWR | O_CLOEXEC) < 0)
            return; /* no /dev/null: nothing more can be done */
    }
}

/* The programs that this one is, by the name it was called by; spoor otherwise. */
static const struct {
    const char *name;
    int (*main)(int argc, char **argv);
} programs[] = {
    { "gpu-tracker", gpu_tracker_main },
};

static const char *called_as(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

int main(int argc, char **argv)
{
    const struct command *command;

    fill_standard_descriptors();
    for (size_t i = 0; i < ARRAY_SIZE(programs) && argc > 0; i++) {
        if (strcmp(called_as(argv[0]), programs[i].name) == 0)
            return programs[i].main(argc, argv);
    }
    if (argc < 2) {
        help_overview(stderr);
        return EXIT_OWN_FAILURE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        help_overview(stdout);
        return 0;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)
        return command_version();
    command = command_find(argv[1]);
    if (!command)
        return command_refuse(argv[1]);
    return command->main(command, argc - 1, argv + 1);
}
