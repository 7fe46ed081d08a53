/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_start.c - starts a process that is not our child.
 *
 * An intermediate process starts the program and exits, so the program is an orphan, which
 * init adopts and reaps. If this process is init (PID 1 of a container) or a subreaper, it
 * adopts the program itself; so the caller gets the PID, to reap it. Facts that shape this
 * file:
 *
 * - The intermediate process shares our memory (as vfork's child does) while this thread waits,
 *   so that a large caller is not copied. It does not call exec: the caller inherits only its
 *   own CPU time, some 50 us.
 * - It has the name of an agent, and so has the program until it calls exec. Otherwise other
 *   trackers would count the memory shared with us as a descendant's.
 * - A child created without an exit signal sends no SIGCHLD, and only a wait() with __WALL
 *   returns it. Calling exec would change both.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"

enum { STACK_BYTES = 128 << 10 };

struct order {
    const char *path;
    char *const *arguments;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    pid_t pid; /* PID of the program */
};

/* Runs in the intermediate process. Its status is an errno value. */
static int start_program(void *data)
{
    struct order *order = data;

    (void)prctl(PR_SET_NAME, SPOOR_AGENT_NAME); /* the name of this process, not the
                                                   caller's */

    return posix_spawn(&order->pid, order->path, &order->actions, &order->attributes,
                       order->arguments, environ);
}

static int run_go_between(struct order *order)
{
    AUTO_FREE char *stack = malloc(STACK_BYTES);
    sigset_t all, before;
    int status = 0;
    pid_t pid, r;

    if (!stack)
        return -ENOMEM;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* a handler would run on shared memory */
    pid = clone(start_program, stack + STACK_BYTES, CLONE_VM | CLONE_VFORK, order);
    if (pid < 0) {
        status = -errno;
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        return status;
    }
    do
        r = waitpid(pid, &status, __WALL);
    while (r < 0 && errno == EINTR);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    /* If another wait() with __WALL took the child, its status is lost. */
    return r < 0 || !WIFEXITED(status) ? 0 : -WEXITSTATUS(status);
}

static int fill_order(struct order *order, int input_fd, int output_fd)
{
    const short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    sigset_t none, all;
    int r;

    sigemptyset(&none);
    sigfillset(&all);
    r = posix_spawnattr_setsigmask(&order->attributes, &none);
    if (r == 0)
        r = posix_spawnattr_setsigdefault(&order->attributes, &all);
    if (r == 0)
        r = posix_spawnattr_setflags(&order->attributes, flags);
    if (r == 0)
        r = posix_spawn_file_actions_adddup2(&order->actions, input_fd, STDIN_FILENO);
    if (r == 0)
        r = posix_spawn_file_actions_adddup2(&order->actions, output_fd, STDOUT_FILENO);
    if (r == 0)
        r = posix_spawn_file_actions_addopen(&order->actions, STDERR_FILENO, "/dev/null",
                                             O_WRONLY, 0);
    return -r;
}

int spoor_agent_start(const char *path, char *const *arguments, int input_fd, int output_fd,
                      struct spoor_error *err)
{
    struct order order = { .path = path, .arguments = arguments };
    int r;

    /* Descriptors below 3 would be overwritten before they are copied. */
    if (input_fd <= STDERR_FILENO || output_fd <= STDERR_FILENO)
        return error_set(err, EINVAL, "agent: descriptors must be above 2");
    r = -posix_spawnattr_init(&order.attributes);
    if (r < 0)
        return error_sys(err, r, "agent");
    r = -posix_spawn_file_actions_init(&order.actions);
    if (r == 0) {
        r = fill_order(&order, input_fd, output_fd);
        if (r == 0)
            r = run_go_between(&order);
        posix_spawn_file_actions_destroy(&order.actions);
    }
    posix_spawnattr_destroy(&order.attributes);
    return r < 0 ? error_sys(err, r, "cannot start '%s'", path) : order.pid;
}
