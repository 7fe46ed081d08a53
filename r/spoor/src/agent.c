/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent.c - processes of the program spoor that work for this R session, and the socket that is
 * their standard input and output.
 *
 * They are not children of R: an intermediate process starts them and exits, so that no wait()
 * and no SIGCHLD of R, of parallel or of another package reports them. They exit when R's end
 * of the socket is closed, which the kernel does however R exits. A forked child of R closes
 * its copy at once, because the copy would keep them alive.
 */
#include "spoor.h"

#include <R.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    STACK_BYTES = 128 << 10,
    INTERRUPT_MS = 100, /* how often a wait checks for Ctrl-C */
    END_MS = 1000,      /* how long the program may take to exit */
};

struct agent {
    int fd; /* -1: closed */
    pid_t pid;
    char *text; /* received after the last line */
    size_t length, capacity;
    struct agent *next;
};

static struct agent *agents; /* the open agents */

/* ---- start ---------------------------------------------------------------- */

struct launch {
    const char *path;
    char **arguments;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    pid_t pid;
};

/* Runs in the intermediate process, which shares R's memory and exits with the result. Its
 * name marks it as part of a tracker, so that its memory is not counted as the job's. */
static int launch_program(void *data)
{
    struct launch *launch = data;

    prctl(PR_SET_NAME, "spoor-agent");
    return posix_spawn(&launch->pid, launch->path, &launch->actions, &launch->attributes,
                       launch->arguments, environ);
}

/* Returns 0 or an errno value. The intermediate process has no exit signal, so only __WALL
 * waits for it. */
static int run_intermediate(struct launch *launch)
{
    char *stack = R_alloc(STACK_BYTES, 1);
    sigset_t all, before;
    int status = 0;
    pid_t pid;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* a handler would run on shared memory */
    pid = clone(launch_program, stack + STACK_BYTES, CLONE_VM | CLONE_VFORK, launch);
    if (pid < 0)
        status = errno;
    else if (waitpid(pid, &status, __WALL) == pid)
        status = WEXITSTATUS(status);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status;
}

/* Returns 0 or an errno value. */
static int start_program(struct launch *launch, int fd)
{
    sigset_t none, all;
    int r;

    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_init(&launch->attributes);
    posix_spawnattr_setsigmask(&launch->attributes, &none);
    posix_spawnattr_setsigdefault(&launch->attributes, &all);
    /* The program gets its own session, so that Ctrl-C at the terminal does not reach it. */
    posix_spawnattr_setflags(&launch->attributes, POSIX_SPAWN_SETSIGMASK |
                                                      POSIX_SPAWN_SETSIGDEF |
                                                      POSIX_SPAWN_SETSID);
    posix_spawn_file_actions_init(&launch->actions);
    posix_spawn_file_actions_adddup2(&launch->actions, fd, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&launch->actions, fd, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&launch->actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    r = run_intermediate(launch);
    posix_spawn_file_actions_destroy(&launch->actions);
    posix_spawnattr_destroy(&launch->attributes);
    return r;
}

/* ---- end ------------------------------------------------------------------ */

/* Orphans become children of PID 1, which R may be in a container, or of a subreaper. */
static bool adopts_orphans(void)
{
    int is_subreaper = 0;

    return getpid() == 1 || (prctl(PR_GET_CHILD_SUBREAPER, &is_subreaper) == 0 && is_subreaper);
}

static void close_agent(struct agent *agent)
{
    struct pollfd input = { .fd = agent->fd, .events = POLLIN };
    char rest[4096];

    if (agent->fd < 0)
        return;
    for (struct agent **link = &agents; *link; link = &(*link)->next) {
        if (*link == agent) {
            *link = agent->next;
            break;
        }
    }
    shutdown(agent->fd, SHUT_WR);
    while (poll(&input, 1, END_MS) > 0 && read(agent->fd, rest, sizeof(rest)) > 0)
        ;
    close(agent->fd);
    agent->fd = -1;
    if (adopts_orphans())
        waitpid(agent->pid, NULL, input.revents ? 0 : WNOHANG);
}

static void finalize(SEXP pointer)
{
    struct agent *agent = R_ExternalPtrAddr(pointer);

    if (!agent)
        return;
    close_agent(agent);
    free(agent->text);
    free(agent);
    R_ClearExternalPtr(pointer);
}

/* Called in a forked child. */
static void forget_agents(void)
{
    for (; agents; agents = agents->next) {
        close(agents->fd);
        agents->fd = -1;
    }
}

/* ---- calls from R --------------------------------------------------------- */

static struct agent *get_agent(SEXP pointer)
{
    struct agent *agent = R_ExternalPtrAddr(pointer);

    if (!agent || agent->fd < 0)
        Rf_error("the tracker has ended, or belongs to the process that started it");
    return agent;
}

static char **make_arguments(SEXP arguments)
{
    R_xlen_t count = Rf_xlength(arguments);
    char **words = (char **)R_alloc((size_t)count + 1, sizeof(*words));

    for (R_xlen_t i = 0; i < count; i++)
        words[i] = (char *)Rf_translateChar(STRING_ELT(arguments, i));
    words[count] = NULL;
    return words;
}

SEXP spoor_open(SEXP path, SEXP arguments)
{
    static bool is_registered;
    struct launch launch = { .path = Rf_translateChar(STRING_ELT(path, 0)),
                             .arguments = make_arguments(arguments) };
    struct agent *agent = calloc(1, sizeof(*agent));
    int r, fds[2];
    SEXP pointer;

    if (!agent)
        Rf_error("out of memory");
    agent->fd = -1;
    pointer = PROTECT(R_MakeExternalPtr(agent, R_NilValue, R_NilValue));
    R_RegisterCFinalizerEx(pointer, finalize, TRUE);
    if (!is_registered)
        is_registered = pthread_atfork(NULL, NULL, forget_agents) == 0;
    /* Unlike a pipe, a socket can be written to without SIGPIPE. */
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
        Rf_error("cannot start '%s': %s", launch.path, strerror(errno));
    r = start_program(&launch, fds[1]);
    close(fds[1]);
    if (r != 0) {
        close(fds[0]);
        Rf_error("cannot start '%s': %s", launch.path, strerror(r));
    }
    agent->fd = fds[0];
    agent->pid = launch.pid;
    agent->next = agents;
    agents = agent;
    UNPROTECT(1);
    return pointer;
}

SEXP spoor_send(SEXP pointer, SEXP text)
{
    struct agent *agent = get_agent(pointer);
    const char *rest = CHAR(STRING_ELT(text, 0));
    size_t length = strlen(rest);

    while (length > 0) {
        struct pollfd output = { .fd = agent->fd, .events = POLLOUT };
        ssize_t sent = send(agent->fd, rest, length, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (sent < 0 && errno != EAGAIN && errno != EINTR)
            return Rf_ScalarLogical(FALSE);
        if (sent < 0) {
            poll(&output, 1, INTERRUPT_MS);
            R_CheckUserInterrupt();
            continue;
        }
        rest += sent;
        length -= (size_t)sent;
    }
    return Rf_ScalarLogical(TRUE);
}

/* Waits up to some time for output and appends it to the text. Returns 0 if the program has
 * exited, -1 if there was no output. */
static ssize_t receive_some(struct agent *agent, int milliseconds)
{
    struct pollfd input = { .fd = agent->fd, .events = POLLIN };
    ssize_t n;

    if (agent->capacity - agent->length < 4096) {
        size_t capacity = 2 * agent->capacity + 65536;
        char *text = realloc(agent->text, capacity);

        if (!text)
            Rf_error("out of memory");
        agent->text = text;
        agent->capacity = capacity;
    }
    if (poll(&input, 1, milliseconds) <= 0)
        return -1;
    n = read(agent->fd, agent->text + agent->length, agent->capacity - agent->length);
    if (n > 0)
        agent->length += (size_t)n;
    return n < 0 && errno == EINTR ? -1 : n < 0 ? 0 : n;
}

SEXP spoor_receive(SEXP pointer, SEXP seconds)
{
    struct agent *agent = get_agent(pointer);
    int rounds = (int)(Rf_asReal(seconds) * 1000 / INTERRUPT_MS);
    size_t searched = 0;

    while (true) {
        char *end = agent->length > searched
                        ? memchr(agent->text + searched, '\n', agent->length - searched)
                        : NULL;
        ssize_t n;

        if (end) {
            size_t length = (size_t)(end - agent->text);
            SEXP line = PROTECT(Rf_mkCharLenCE(agent->text, (int)length, CE_UTF8));

            agent->length -= length + 1;
            memmove(agent->text, end + 1, agent->length);
            line = Rf_ScalarString(line);
            UNPROTECT(1);
            return line;
        }
        searched = agent->length;
        n = receive_some(agent, INTERRUPT_MS);
        if (n == 0)
            return R_NilValue;
        if (n < 0 && rounds-- <= 0)
            return Rf_ScalarString(NA_STRING);
        R_CheckUserInterrupt();
    }
}

SEXP spoor_close(SEXP pointer)
{
    struct agent *agent = R_ExternalPtrAddr(pointer);

    if (agent)
        close_agent(agent);
    return R_NilValue;
}

SEXP spoor_trim(void)
{
#ifdef __GLIBC__
    malloc_trim(0);
#endif
    return R_NilValue;
}
