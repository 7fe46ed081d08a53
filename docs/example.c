/* SPDX-License-Identifier: Apache-2.0 */
/*
 * example.c - measure one process from C, with a phase.
 *
 *     cc example.c $(pkg-config --cflags --libs spoor) -o example
 *     ./example
 *
 * Starts a child that holds 64 MB and computes for a moment, tracks it, and prints two
 * figures with their sources.
 */
#include <signal.h>
#include <spoor/spoor.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void work(int go, int done)
{
    size_t size = 64 << 20;
    char *memory = malloc(size);
    char byte;

    if (!memory || read(go, &byte, 1) != 1)
        _exit(1);
    memset(memory, 1, size);
    for (volatile long i = 0; i < 100000000; i++)
        continue;
    if (write(done, &byte, 1) != 1)
        _exit(1);
    (void)!read(go, &byte, 1); /* until the parent has taken its last sample */
    _exit(memory[size / 2] - 1);
}

static void print_figure(spoor_session *session, const char *path)
{
    struct spoor_figure figure;
    struct spoor_error err;

    if (spoor_session_figure(session, path, &figure, &err) < 0) {
        fprintf(stderr, "%s\n", err.message);
        exit(1);
    }
    if (figure.source)
        printf("%-36s %14.6g  %s%s\n", path, figure.value, figure.source,
               figure.is_exact ? ", exact" : "");
    else
        printf("%-36s %14s  %s\n", path, "n/a", figure.reason);
}

int main(void)
{
    struct spoor_options options = SPOOR_OPTIONS_INIT;
    struct spoor_error err;
    spoor_session *session;
    int go[2], done[2];
    char byte = 0;
    pid_t pid;

    if (pipe(go) < 0 || pipe(done) < 0)
        return 1;
    pid = fork();
    if (pid == 0)
        work(go[0], done[1]);
    options.pid = pid;
    options.interval_ns = 10000000; /* 10 ms */
    options.name = "example";
    if (pid < 0 || spoor_session_open(&options, &session, &err) < 0 ||
        spoor_session_start(session, &err) < 0 ||
        spoor_phase_start(session, "work", &err) < 0) {
        fprintf(stderr, "%s\n", pid < 0 ? "fork failed" : err.message);
        return 1;
    }
    if (write(go[1], &byte, 1) != 1 || read(done[0], &byte, 1) != 1)
        return 1;
    if (spoor_phase_stop(session, "work", &err) < 0 || spoor_session_stop(session, &err) < 0) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    print_figure(session, "cpu.total_seconds");
    print_figure(session, "memory.main.total_rss_bytes");
    (void)!write(go[1], &byte, 1);
    waitpid(pid, NULL, 0);
    session = spoor_session_close(session);
    return 0;
}
