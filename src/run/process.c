/* SPDX-License-Identifier: Apache-2.0 */
#include "run/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <stdnoreturn.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/hidden_child.h"
#include "base/parse.h"
#include "base/root.h"
#include "run/signals.h"
#include "source/proc/children.h"

/* ---- looking at processes ----------------------------------------------- */

#define DESCENDANTS_MAX 4096
#define ANCESTORS_MAX 1024 /* limit for a tree that changes while it is walked */

static bool is_alive(const struct root *root, pid_t pid, struct pid_stat *ret)
{
    return pid_stat_read(NULL, root, pid, ret) == 0 && !pid_stat_is_zombie(ret);
}

bool process_descends(const struct root *root, pid_t pid, pid_t ancestor)
{
    for (int i = 0; i < ANCESTORS_MAX && pid > 1; i++) {
        struct pid_stat process;

        if (pid_stat_read(NULL, root, pid, &process) < 0)
            return false;
        if (process.parent_pid == ancestor)
            return true;
        pid = process.parent_pid;
    }
    return false;
}

struct children {
    pid_t *buf;
    size_t count, capacity;
};

static void add_child(pid_t child, void *data)
{
    struct children *children = data;

    if (children->count < children->capacity)
        children->buf[children->count++] = child;
}

ssize_t process_children(const struct root *root, pid_t pid, pid_t *buf, size_t capacity)
{
    struct children children = { .buf = buf, .capacity = capacity };
    struct children_buffer text = { 0 };
    /* Passing at least 2 threads makes it read the children of all threads. */
    int r = children_read(NULL, root, pid, 2, &text, add_child, &children);

    children_buffer_done(&text);
    return r < 0 ? r : (ssize_t)children.count;
}

/* ---- by name ------------------------------------------------------------ */

enum { NAMED_MAX = 1024, COMM_LENGTH = 15 };

struct named {
    pid_t pids[NAMED_MAX];
    size_t count;
};

/* Whether a process other than this one has this name. */
static bool is_named(const struct root *root, pid_t pid, const char *name)
{
    struct pid_stat process;

    return pid != getpid() && is_alive(root, pid, &process) &&
           strncmp(process.comm, name, COMM_LENGTH) == 0;
}

static void collect_named(const struct root *root, const char *name, struct named *ret)
{
    AUTO_CLOSEDIR DIR *folder = root_open_folder(root, "proc");
    const struct dirent *entry;

    while (folder && (entry = readdir(folder)) && ret->count < NAMED_MAX) {
        struct stat status;
        uint64_t pid;

        if (parse_whole_u64(entry->d_name, &pid) == 0 && pid <= INT32_MAX &&
            fstatat(dirfd(folder), entry->d_name, &status, 0) == 0 &&
            (geteuid() == 0 || status.st_uid == geteuid()) && is_named(root, (pid_t)pid, name))
            ret->pids[ret->count++] = (pid_t)pid;
    }
}

static void remove_descendants(const struct root *root, struct named *named)
{
    const struct named all = *named;

    named->count = 0;
    for (size_t i = 0; i < all.count; i++) {
        bool descends = false;

        for (size_t j = 0; j < all.count && !descends; j++)
            descends = j != i && process_descends(root, all.pids[i], all.pids[j]);
        if (!descends)
            named->pids[named->count++] = all.pids[i];
    }
}

int process_find_named(const char *name, pid_t *ret, struct spoor_error *err)
{
    struct named named = { .count = 0 };
    CLEANUP(root_close) struct root root = ROOT_CLOSED;
    int r = root_open(NULL, &root);

    if (r < 0)
        return error_sys(err, r, "cannot list processes");
    collect_named(&root, name, &named);
    if (named.count > 1)
        remove_descendants(&root, &named);
    if (named.count == 0)
        return error_set(err, ESRCH, "no process is called '%.100s'", name);
    if (named.count > 1)
        return error_set(err, ENOTUNIQ,
                         "%zu processes are called '%.100s', such as %d and %d: "
                         "give a PID",
                         named.count, name, (int)named.pids[0], (int)named.pids[1]);
    *ret = named.pids[0];
    return 0;
}

/* Whether a child is a helper of the tracker: wait() without __WALL does not return it.
 * Orphans of the job are returned like any child, whatever exit signal they had. */
static bool is_helper(pid_t pid)
{
    siginfo_t info;

    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD;
}

size_t process_own_children(pid_t *buf, size_t capacity)
{
    CLEANUP(root_close) struct root root = ROOT_CLOSED;
    size_t count = 0;
    siginfo_t info;
    ssize_t n;

    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0)
        return 0;                 /* the usual case */
    (void)root_open(NULL, &root); /* on failure no process can be listed */
    n = process_children(&root, getpid(), buf, capacity);
    for (ssize_t i = 0; i < n; i++) {
        if (!is_helper(buf[i]))
            buf[count++] = buf[i];
    }
    return count;
}

/* Whether a process is alive and not an agent. An agent exits by itself soon after the program
 * that it tracks. */
static bool is_at_work(const struct root *root, pid_t pid)
{
    struct pid_stat process;

    return is_alive(root, pid, &process) && strcmp(process.comm, SPOOR_AGENT_NAME) != 0;
}

size_t process_count_descendants(const struct root *root, pid_t pid, pid_t except)
{
    size_t child_count;
    AUTO_FREE pid_t *queue = calloc(DESCENDANTS_MAX, sizeof(*queue));
    size_t alive_count = 0;
    size_t known_count;
    ssize_t n;

    if (!queue)
        return 0;
    n = process_children(root, pid, queue, DESCENDANTS_MAX);
    child_count = known_count = n > 0 ? (size_t)n : 0;
    for (size_t i = 0; i < known_count; i++) {
        if (i < child_count && pid == getpid() && is_helper(queue[i]))
            continue;
        if (queue[i] != except && is_at_work(root, queue[i]))
            alive_count++;
        n = process_children(root, queue[i], queue + known_count,
                             DESCENDANTS_MAX - known_count);
        if (n > 0)
            known_count += (size_t)n;
    }
    return alive_count;
}

/* ---- starting a command ------------------------------------------------- */

/* State that the child restores before exec. */
struct inherited {
    sigset_t mask;
    struct sigaction on_child;
};

static ssize_t read_all(int fd, void *buf, size_t size)
{
    ssize_t n;

    do {
        n = read(fd, buf, size);
    } while (n < 0 && errno == EINTR);
    return n;
}

/* Runs the child. Between fork and exec only system calls are allowed. */
static noreturn void child_main(char *const argv[], int gate_fd, int exec_fd,
                                const struct inherited *inherited)
{
    ssize_t n;
    char token;
    int code;

    sigaction(SIGCHLD, &inherited->on_child, NULL);
    sigprocmask(SIG_SETMASK, &inherited->mask, NULL);
    n = read_all(gate_fd, &token, 1);
    close(gate_fd);
    if (n != 1) {
        close(exec_fd);
        _exit(125);
    }
    execvp(argv[0], argv);
    code = errno;
    /* Writing an int to a pipe is atomic; without a reader the error is lost. */
    n = write(exec_fd, &code, sizeof(code));
    close(exec_fd);
    _exit(n < 0 ? 125 : code == ENOENT ? 127 : 126);
}

/* Sets up the signals. If our parent left SIGCHLD ignored, the kernel would reap the job before
 * us. */
static void prepare_signals(struct inherited *ret)
{
    struct sigaction standard = { .sa_handler = SIG_DFL };
    sigset_t ours;

    forward_signals(&ours);
    sigprocmask(SIG_BLOCK, &ours, &ret->mask);
    sigaction(SIGCHLD, &standard, &ret->on_child);
}

int spawn_start(char *const argv[], struct spawn *ret, struct spoor_error *err)
{
    AUTO_CLOSE int gate_read = -1, gate_write = -1, exec_read = -1, exec_write = -1;
    struct inherited inherited;
    int gate[2], exec[2];
    pid_t pid;

    if (pipe2(gate, O_CLOEXEC) < 0)
        return error_sys(err, errno, "pipe");
    gate_read = gate[0];
    gate_write = gate[1];
    if (pipe2(exec, O_CLOEXEC) < 0)
        return error_sys(err, errno, "pipe");
    exec_read = exec[0];
    exec_write = exec[1];

    prepare_signals(&inherited);
    /* On failure orphans are adopted by init. */
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    pid = fork();
    if (pid < 0) {
        int code = errno;

        sigaction(SIGCHLD, &inherited.on_child, NULL);
        sigprocmask(SIG_SETMASK, &inherited.mask, NULL);
        return error_sys(err, code, "cannot fork");
    }
    if (pid == 0) {
        close(gate_write); /* otherwise the gate would not close when the parent exits */
        close(exec_read);
        child_main(argv, gate_read, exec_write, &inherited);
    }
    file_limit_raise(); /* the job has already been forked and keeps its own limit */
    *ret = (struct spawn){ pid, take_fd(&gate_write), take_fd(&exec_read) };
    return 0;
}

void spawn_cancel(struct spawn *spawn)
{
    close(take_fd(&spawn->gate_fd));
    close(take_fd(&spawn->exec_fd));
    child_reap(spawn->pid);
}

int spawn_release(struct spawn *spawn)
{
    AUTO_CLOSE int gate_fd = take_fd(&spawn->gate_fd);
    AUTO_CLOSE int exec_fd = take_fd(&spawn->exec_fd);
    ssize_t n;
    int code;

    do {
        n = write(gate_fd, "", 1);
    } while (n < 0 && errno == EINTR);
    /* The write fails if the child was killed at the gate, which its wait status shows. A
     * live child exits when the gate closes. */
    close(take_fd(&gate_fd));
    if (read_all(exec_fd, &code, sizeof(code)) != (ssize_t)sizeof(code))
        return 0; /* exec closed the pipe */
    child_reap(spawn->pid);
    return -code;
}
