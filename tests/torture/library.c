/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library.c - a program that uses libspoor, for failures.py.
 *
 *     library REPORT
 *
 * Tracks a child without failures first, so that all libraries are loaded, then with failures.
 * Status 0: REPORT was written; 3: the library returned an error; 9: the library broke its
 * contract (a failure without a message, or leaked memory, descriptors or threads).
 */
#include <dirent.h>
#include <signal.h>
#include <spoor/spoor.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "failing.h"

/* Time limit for leftovers to disappear: a thread exits a moment after it is joined. */
enum { TRIES = 500, TRY_US = 10000 };

struct resources {
    long blocks;
    long fds;
    long threads;
};

static long count_entries(const char *path)
{
    DIR *folder = opendir(path);
    long count = 0;

    if (!folder)
        return -1;
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

static struct resources take_stock(void)
{
    return (struct resources){ failing_live_blocks(), count_entries("/proc/self/fd"),
                               count_entries("/proc/self/task") };
}

static int check(const char *call, int r, const struct spoor_error *err)
{
    if (r >= 0)
        return 0;
    if (err->code == 0 || err->message[0] == '\0') {
        fprintf(stderr, "library: %s failed with %d and without a message\n", call, r);
        exit(9);
    }
    fprintf(stderr, "library: %s: %s\n", call, err->message);
    return -1;
}

static int use(spoor_session *session, const char *path)
{
    struct spoor_error err = { 0 };
    struct spoor_figure figure;

    if (check("start", spoor_session_start(session, &err), &err) < 0)
        return -1;
    (void)check("phase start", spoor_phase_start(session, "p", &err), &err);
    (void)check("sample", spoor_session_sample(session, &err), &err);
    if (check("stop", spoor_session_stop(session, &err), &err) < 0)
        return -1;
    if (check("figure",
              spoor_session_figure(session, "memory.combined.total_rss_bytes", &figure, &err),
              &err) < 0)
        return -1;
    return check("save", spoor_session_save(session, SPOOR_JSON, path, SPOOR_REPLACE, &err),
                 &err);
}

static int track(pid_t pid, const char *path)
{
    struct spoor_options options = SPOOR_OPTIONS_INIT;
    spoor_session *session = NULL;
    struct spoor_error err = { 0 };
    int r;

    options.pid = pid;
    options.interval_ns = 5000000;
    r = check("open", spoor_session_open(&options, &session, &err), &err);
    if (r == 0)
        r = use(session, path);
    session = spoor_session_close(session);
    return r;
}

static bool has_more(const struct resources *before)
{
    struct resources now = take_stock();

    return now.blocks > before->blocks || now.fds > before->fds ||
           now.threads > before->threads;
}

static void compare(const struct resources *before)
{
    struct resources now;

    for (int i = 0; i < TRIES && has_more(before); i++)
        (void)usleep(TRY_US);
    now = take_stock();
    if (!has_more(before))
        return;
    fprintf(stderr, "library: left: %ld blocks, %ld descriptors, %ld threads\n",
            now.blocks - before->blocks, now.fds - before->fds, now.threads - before->threads);
    exit(9);
}

int main(int argc, char **argv)
{
    struct resources before;
    pid_t pid;
    int r;

    if (argc != 2)
        return 2;
    failing_hold(true);
    pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)pause();
        _exit(0);
    }
    if (pid < 0 || track(pid, argv[1]) < 0 || track(pid, argv[1]) < 0 || unlink(argv[1]) < 0)
        return 2;
    before = take_stock();
    failing_hold(false);
    r = track(pid, argv[1]);
    failing_hold(true);
    compare(&before);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    return r < 0 ? 3 : 0;
}
