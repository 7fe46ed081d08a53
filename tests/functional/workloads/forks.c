/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forks N [deep] - starts N processes that live at the same time, all children of the first
 * process or, with "deep", each the child of the previous one. Prints "ready" once all of them
 * run, and ends them at end of file on its input.
 *
 * Each process writes a byte to the pipe `ready`, then reads from the pipe `gate`. Only the
 * first process keeps the write end of `gate` open; closing it ends the others.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs in a child: reports that it has started, then waits for end of file on `gate`. */
static void live(int ready, int gate)
{
    char byte = 'r';

    if (write(ready, &byte, 1) != 1)
        _exit(1);
    while (read(gate, &byte, 1) > 0)
        ;
}

/* Starts `count` processes. With `is_deep`, each child starts the next one. */
static int start(long count, int is_deep, int ready, const int gate[2])
{
    for (long i = 0; i < count; i++) {
        pid_t pid = fork();

        if (pid < 0)
            return 1;
        if (pid > 0 && is_deep) {
            if (i > 0)
                live(ready, gate[0]);
            return 0;
        }
        if (pid == 0) {
            close(gate[1]);
            if (!is_deep || i == count - 1) {
                live(ready, gate[0]);
                _exit(0);
            }
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    long count = argc > 1 ? strtol(argv[1], NULL, 10) : 1;
    int is_deep = argc > 2 && strcmp(argv[2], "deep") == 0;
    pid_t first = getpid();
    int ready[2], gate[2];
    char byte;

    if (pipe(ready) < 0 || pipe(gate) < 0 || start(count, is_deep, ready[1], gate) != 0)
        return 1;
    if (getpid() == first) {
        for (long i = 0; i < count; i++) {
            if (read(ready[0], &byte, 1) != 1)
                return 1;
        }
        puts("ready");
        fflush(stdout);
        while (read(STDIN_FILENO, &byte, 1) > 0)
            ;
        close(gate[1]);
    }
    while (wait(NULL) > 0)
        ;
    return 0;
}
