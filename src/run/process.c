/* SPDX-License-Identifier: Apache-2.0 */
#include "run/process.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/parse.h"

#define DESCENDANTS_MAX 4096
#define CHILDREN_TEXT_BYTES (64u * 1024)
#define ANCESTORS_MAX 1024 /* a tree that changes while it is climbed may look endless */

/* Columns of proc_pid_stat(5), numbered as there. */
enum { COLUMN_PARENT = 4, COLUMN_START = 22 };

int process_parse(const char *text, struct process *ret)
{
    const char *name_end = strrchr(text, ')'); /* the name may hold anything, ')' too */
    int64_t column[COLUMN_START + 1] = { 0 };
    const char *cursor;

    if (!name_end || name_end[1] != ' ' || name_end[2] == '\0')
        return -EBADMSG;
    cursor = name_end + 3;
    for (int i = COLUMN_PARENT; i <= COLUMN_START; i++) {
        /* Columns that we pass over may be larger than an int64_t. */
        uint64_t wide;

        if (parse_i64(&cursor, &column[i]) < 0 && parse_u64(&cursor, &wide) < 0)
            return -EBADMSG;
    }
    *ret = (struct process){
        .state = name_end[2],
        .parent_pid = (pid_t)column[COLUMN_PARENT],
        .start_ticks = (uint64_t)column[COLUMN_START],
    };
    return 0;
}

int process_read(const struct root *root, pid_t pid, struct process *ret)
{
    char text[1024];
    ssize_t n = root_read(root, text, sizeof(text), "proc/%d/stat", (int)pid);

    return n < 0 ? (int)n : process_parse(text, ret);
}

bool process_has_ended(const struct root *root, pid_t pid)
{
    struct process process;

    return process_read(root, pid, &process) < 0 || process.state == 'Z' ||
           process.state == 'X';
}

bool process_descends(const struct root *root, pid_t pid, pid_t ancestor)
{
    for (int i = 0; i < ANCESTORS_MAX && pid > 1; i++) {
        struct process process;

        if (process_read(root, pid, &process) < 0)
            return false;
        if (process.parent_pid == ancestor)
            return true;
        pid = process.parent_pid;
    }
    return false;
}

/* Adds the children of one thread. Returns the new count. */
static size_t add_children(const struct root *root, pid_t pid, const char *thread, char *text,
                           pid_t *buf, size_t count, size_t capacity)
{
    const char *cursor = text;
    uint64_t child;

    /* Cut where it is longer: the count is a lower bound then. */
    if (root_read_start(root, text, CHILDREN_TEXT_BYTES, "proc/%d/task/%s/children", (int)pid,
                        thread) < 0)
        return count;
    while (count < capacity && parse_u64(&cursor, &child) == 0)
        buf[count++] = (pid_t)child;
    return count;
}

static void cleanup_dir(DIR **dir)
{
    if (*dir)
        closedir(*dir);
}

ssize_t process_children(const struct root *root, pid_t pid, pid_t *buf, size_t capacity)
{
    AUTO_FREE char *text = malloc(CHILDREN_TEXT_BYTES);
    CLEANUP(cleanup_dir) DIR *dir = NULL;
    const struct dirent *entry;
    size_t count = 0;
    int fd;

    if (!text)
        return -ENOMEM;
    if (!root_exists(root, "proc/%d/task/%d/children", (int)pid, (int)pid))
        return -ENOENT;
    fd = root_open_dir(root, "proc/%d/task", (int)pid);
    if (fd < 0)
        return fd;
    dir = fdopendir(fd);
    if (!dir) {
        close(fd);
        return -ENOMEM;
    }
    while ((entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] != '.')
            count = add_children(root, pid, entry->d_name, text, buf, count, capacity);
    }
    return (ssize_t)count;
}

/* A child of ours that wait() does not know is none of the job: a helper of the tracker. The
 * job's orphans, whatever they were to their parents, are waited for as any child. */
static bool is_helper(pid_t pid)
{
    siginfo_t info;

    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD;
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
        if (queue[i] != except && !process_has_ended(root, queue[i]))
            alive_count++;
        n = process_children(root, queue[i], queue + known_count,
                             DESCENDANTS_MAX - known_count);
        if (n > 0)
            known_count += (size_t)n;
    }
    return alive_count;
}
