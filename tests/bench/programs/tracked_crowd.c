/* SPDX-License-Identifier: Apache-2.0 */
#include "tracked_crowd.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdnoreturn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/process.h"

static noreturn void die(const char *message)
{
    fprintf(stderr, "bench: %s\n", message);
    exit(1);
}

static spoor_session *open_session(pid_t pid, unsigned flags)
{
    struct spoor_options options = SPOOR_OPTIONS_INIT;
    spoor_session *session = NULL;
    struct spoor_error err = { 0 };

    options.pid = pid;
    options.flags = flags;
    options.interval_ns = SPOOR_INTERVAL_MAX_NS;
    if (spoor_session_open(&options, &session, &err) < 0 ||
        spoor_session_start(session, &err) < 0)
        die(err.message);
    return session;
}

static void release(struct spawn *spawn)
{
    int r = spawn_release(spawn);

    if (r < 0)
        die(strerror(-r));
}

static void wait_for_byte(int fd)
{
    char byte;
    ssize_t n;

    do {
        n = read(fd, &byte, 1);
    } while (n < 0 && errno == EINTR);
    if (n != 1)
        die("the crowd ended early");
}

void tracked_crowd_start(const char *crowd, const char *count, bool is_attached,
                         struct tracked_crowd *ret)
{
    char *argv[] = { (char *)(uintptr_t)crowd, (char *)(uintptr_t)count, NULL, NULL };
    struct spoor_error err = { 0 };
    struct spawn spawn;
    char fd_text[16];
    int ready[2];

    if (pipe2(ready, O_CLOEXEC) < 0 || fcntl(ready[1], F_SETFD, 0) < 0)
        die("pipe");
    (void)snprintf(fd_text, sizeof(fd_text), "%d", ready[1]); /* always fits */
    argv[2] = fd_text;
    if (spawn_start(argv, &spawn, &err) < 0)
        die(err.message);
    close(ready[1]);
    ret->pid = spawn.pid;
    if (!is_attached)
        ret->session = open_session(spawn.pid, SPOOR_CALLER_SPAWNED);
    release(&spawn);
    wait_for_byte(ready[0]);
    close(ready[0]);
    if (is_attached)
        ret->session = open_session(spawn.pid, 0);
}

void tracked_crowd_end(struct tracked_crowd *crowd)
{
    (void)kill(crowd->pid, SIGKILL); /* its children are killed with it, and reaped here */
    while (wait(NULL) > 0 || errno == EINTR)
        continue;
    crowd->session = spoor_session_close(crowd->session);
}

void tracked_crowd_sample(struct tracked_crowd *crowd, long sample_count)
{
    struct spoor_error err = { 0 };

    for (long i = 0; i < sample_count; i++) {
        if (spoor_session_sample(crowd->session, &err) < 0)
            die(err.message);
    }
}
