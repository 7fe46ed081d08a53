/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay.c - the whole pipeline on a fixture machine, under a stepped clock.
 *
 * usage: replay MACHINE PID FORMAT
 *
 * MACHINE holds t0, t1, ...: instants one second apart. Writes the report, in text, json or
 * csv, or with "samples" the rows of a samples file (csv), to standard output.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "output/output.h"
#include "session/session.h"

#define FIRST_REALTIME_NS 1773480413000000000ull /* 2026-03-14T09:26:53Z */
#define FIRST_MONOTONIC_NS (1000 * NS_PER_SECOND)

static struct instant instant_of(unsigned step)
{
    return (struct instant){ FIRST_MONOTONIC_NS + step * NS_PER_SECOND,
                             FIRST_REALTIME_NS + step * NS_PER_SECOND };
}

static int fail(const char *what)
{
    fprintf(stderr, "replay: %s\n", what);
    return 1;
}

static bool find_instant(const char *machine, unsigned step, char *path, size_t size)
{
    struct stat stat_buf;

    (void)snprintf(path, size, "%s/t%u", machine, step);
    return stat(path, &stat_buf) == 0;
}

/* Steps through all instants; writes the rows of a samples file if wanted. */
static void step_through(spoor_session *session, const char *machine, struct buffer *rows)
{
    static const struct stream_gpus no_gpus;
    const struct stream *stream = stream_for_path("x.csv");
    struct sample previous;
    char path[4096], after[4096];

    if (rows)
        stream->begin(&no_gpus, rows);
    for (unsigned step = 0; find_instant(machine, step, path, sizeof(path)); step++) {
        bool is_last = !find_instant(machine, step + 1, after, sizeof(after));

        root_close(&session->root);
        if (root_open(path, &session->root) < 0)
            exit(fail(path));
        session_take_sample(session, instant_of(step), is_last);
        if (rows)
            stream->row(&(struct stream_row){ &session->latest, step > 0 ? &previous : NULL,
                                              &session->gpu, &no_gpus },
                        rows);
        previous = session->latest;
    }
    session_judge(session);
}

static int write_result(spoor_session *session, const char *format, struct buffer *rows)
{
    static const struct {
        const char *name;
        enum spoor_format format;
    } formats[] = { { "text", SPOOR_TEXT }, { "json", SPOOR_JSON }, { "csv", SPOOR_CSV } };
    struct spoor_error err = { 0 };

    if (strcmp(format, "samples") == 0)
        return buffer_write(rows, STDOUT_FILENO) < 0;
    for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
        if (strcmp(format, formats[i].name) == 0)
            return spoor_session_write(session, formats[i].format, STDOUT_FILENO, &err) < 0;
    }
    return fail("no such format");
}

int main(int argc, char **argv)
{
    static const char *const command[] = { "fixture", "--job", NULL };
    struct spoor_options options = SPOOR_OPTIONS_INIT;
    struct buffer rows = { 0 };
    struct spoor_error err;
    spoor_session *session;
    char first[4096];
    int r;

    if (argc != 4 || !find_instant(argv[1], 0, first, sizeof(first)))
        return fail("usage: replay MACHINE PID FORMAT");
    options.root = first;
    options.pid = (pid_t)strtol(argv[2], NULL, 10);
    options.command = command;
    if (spoor_session_open(&options, &session, &err) < 0)
        return fail(err.message);
    memset(session->run.id, '0', sizeof(session->run.id) - 1);
    step_through(session, argv[1], &rows);
    r = write_result(session, argv[3], &rows);
    buffer_done(&rows);
    session = spoor_session_close(session);
    return r;
}
