/* SPDX-License-Identifier: Apache-2.0 */
#include "run/process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "source/proc/children.h"
#include "spoor/spoor.h"

#define DESCENDANTS_MAX 4096
#define ANCESTORS_MAX 1024 /* a tree that changes while it is climbed may look endless */

static bool is_alive(const struct root *root, pid_t pid, struct pid_stat *ret)
{
    return pid_stat_read_once(root, pid, ret) == 0 && !pid_stat_is_zombie(ret);
}

void process_reap(pid_t pid)
{
    siginfo_t info;

    while (waitid(P_PID, (id_t)pid, &info, WEXITED) < 0 && errno == EINTR)
        continue;
}

bool process_has_ended(const struct root *root, pid_t pid)
{
    struct pid_stat process;

    return !is_alive(root, pid, &process);
}

bool process_descends(const struct root *root, pid_t pid, pid_t ancestor)
{
    for (int i = 0; i < ANCESTORS_MAX && pid > 1; i++) {
        struct pid_stat process;

        if (pid_stat_read_once(root, pid, &process) < 0)
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
    struct cached_file file = CACHED_FILE_CLOSED;
    /* Two threads or more: all are asked. */
    int r = children_read(&file, root, pid, 2, &text, add_child, &children);

    cached_file_close(&file);
    children_buffer_done(&text);
    return r < 0 ? r : (ssize_t)children.count;
}

/* A child of ours that wait() does not know is none of the job: a helper of the tracker. The
 * job's orphans, whatever they were to their parents, are waited for as any child. */
static bool is_helper(pid_t pid)
{
    siginfo_t info;

    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD;
}

size_t process_own_children(pid_t *buf, size_t capacity)
{
    struct root root = ROOT_CLOSED;
    size_t count = 0;
    siginfo_t info;
    ssize_t n;

    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0)
        return 0;                 /* most often there are none */
    (void)root_open(NULL, &root); /* else none can be listed */
    n = process_children(&root, getpid(), buf, capacity);
    root_close(&root);
    for (ssize_t i = 0; i < n; i++) {
        if (!is_helper(buf[i]))
            buf[count++] = buf[i];
    }
    return count;
}

/* An agent is a tracker, of no job; it ends by itself a moment after the program that it tracks. */
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
