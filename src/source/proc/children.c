/* SPDX-License-Identifier: Apache-2.0 */
#include "source/proc/children.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/parse.h"

int children_parse(const char *text, child_found *found, void *data)
{
    int count = 0;

    for (;;) {
        uint64_t pid;

        while (*text == ' ' || *text == '\n')
            text++;
        if (*text == '\0')
            return count;
        if (parse_u64(&text, &pid) < 0 || pid == 0 || pid > INT32_MAX)
            return -EBADMSG;
        found((pid_t)pid, data);
        count++;
    }
}

void children_buffer_done(struct children_buffer *buffer)
{
    free(buffer->text);
    *buffer = (struct children_buffer){ 0 };
}

bool children_buffer_try(struct children_buffer *buffer, ssize_t *n)
{
    enum { FIRST = 16 << 10, LAST = 16 << 20 };
    size_t size = buffer->size ? 2 * buffer->size : FIRST;
    char *text;

    if (*n == CHILDREN_UNREAD && buffer->size > 0)
        return true;
    if ((*n != CHILDREN_UNREAD && *n != -EFBIG) || size > LAST)
        return false;
    text = realloc(buffer->text, size);
    *n = text ? CHILDREN_UNREAD : -ENOMEM;
    if (text)
        *buffer = (struct children_buffer){ text, size };
    return text;
}

static int thread_children(struct cached_file *file, const struct root *root, pid_t pid,
                           pid_t tid, struct children_buffer *buffer, child_found *found,
                           void *data)
{
    ssize_t n = CHILDREN_UNREAD;

    while (children_buffer_try(buffer, &n))
        n = cached_file_read(file, root, READ_WHOLE, buffer->text, buffer->size,
                             "proc/%d/task/%d/children", (int)pid, (int)tid);
    return n < 0 ? (int)n : children_parse(buffer->text, found, data);
}

/* Uses getdents64 with its own buffer, since opendir() allocates. */
int proc_each_number(int folder, size_t most, child_found *each, void *data)
{
    _Alignas(struct dirent64) char entries[4096];
    size_t count = 0;
    ssize_t n = 0;

    while (count < most && (n = getdents64(folder, (void *)entries, sizeof(entries))) > 0) {
        for (ssize_t at = 0; at < n;) {
            const struct dirent64 *entry = (const struct dirent64 *)(void *)(entries + at);
            uint64_t number;

            if (count < most && parse_whole_u64(entry->d_name, &number) == 0 &&
                number <= INT32_MAX) {
                each((pid_t)number, data);
                count++;
            }
            at += entry->d_reclen;
        }
    }
    return n < 0 ? -errno : 0;
}

int proc_each_thread(const struct root *root, pid_t pid, child_found *found, void *data)
{
    AUTO_CLOSE int folder = root_open_dir(root, "proc/%d/task", (int)pid);

    return folder < 0 ? folder : proc_each_number(folder, SIZE_MAX, found, data);
}

int proc_each_fd(const struct root *root, pid_t pid, child_found *found, void *data)
{
    AUTO_CLOSE int folder = root_open_dir(root, "proc/%d/fd", (int)pid);

    return folder < 0 ? folder : proc_each_number(folder, SIZE_MAX, found, data);
}

struct other_threads {
    const struct root *root;
    pid_t pid;
    struct children_buffer *buffer;
    child_found *found;
    void *data;
};

static void read_other_thread(pid_t tid, void *data)
{
    struct other_threads *others = data;

    if (tid == others->pid)
        return;
    /* Fails if the thread has exited: another thread has inherited its children. */
    (void)thread_children(NULL, others->root, others->pid, tid, others->buffer, others->found,
                          others->data);
}

int children_read(struct cached_file *leader, const struct root *root, pid_t pid,
                  uint64_t thread_count, struct children_buffer *buffer, child_found *found,
                  void *data)
{
    struct other_threads others = { root, pid, buffer, found, data };
    int r = thread_children(leader, root, pid, pid, buffer, found, data);

    if (r < 0 || thread_count <= 1)
        return r < 0 ? r : 0;
    return proc_each_thread(root, pid, read_other_thread, &others);
}

bool children_are_listed(const struct root *root)
{
    if (root->is_live)
        return root_exists(root, "proc/self/task/%d/children", (int)getpid());
    /* A fixture does not contain our process: check the init process instead. */
    return root_exists(root, "proc/1/task/1/children");
}

int proc_each_pid(const struct root *root, child_found *found, void *data)
{
    AUTO_CLOSE int folder = root_open_dir(root, "proc");

    return folder < 0 ? folder : proc_each_number(folder, SIZE_MAX, found, data);
}
