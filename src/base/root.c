/* SPDX-License-Identifier: Apache-2.0 */
#include "base/root.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/cleanup.h"
#include "base/parse.h"

/* ---- file limit ------------------------------------------------------------ */

void file_limit_raise(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit); /* on failure fewer files are kept open */
    }
}

bool file_limit_allows(int fd)
{
    enum { LEFT_FREE = 64 };
    /* The limit as last read; refreshed when it seems to be reached. */
    static _Atomic rlim_t known;
    struct rlimit limit;

    if (known > (rlim_t)fd + LEFT_FREE)
        return true;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return true;
    known = limit.rlim_cur;
    return limit.rlim_cur > (rlim_t)fd + LEFT_FREE;
}

/* ---- root ------------------------------------------------------------------ */

/* Compares PID namespaces by NSpid, the PIDs of a process from the namespace of /proc down to
 * its own. Linux before 4.1 has no such line. */
static bool is_in_inner_namespace(const struct root *root)
{
    char text[4096];
    const char *line;

    if (root_read_lines(root, text, sizeof(text), ROOT_LINE_SIZE, "proc/self/status") < 0)
        return false;
    line = strstr(text, "\nNSpid:\t");
    if (!line)
        return false;
    line += strlen("\nNSpid:\t");
    return line[strcspn(line, "\t\n")] == '\t';
}

static const char *find_proc_fault(const struct root *root)
{
    static const char foreign[] = "/proc belongs to another PID namespace";
    char own[16], link[16];

    (void)snprintf(own, sizeof(own), "%d", (int)getpid()); /* fits */
    if (root_read_link(root, link, sizeof(link), "proc/self") < 0)
        return root_exists(root, "proc/version") ? foreign : "/proc is not mounted";
    return strcmp(link, own) != 0 || is_in_inner_namespace(root) ? foreign : NULL;
}

int root_open(const char *path, struct root *ret)
{
    bool is_live = !path || strcmp(path, "/") == 0;
    int fd = open(is_live ? "/" : path, O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return -errno;
    *ret = (struct root){
        .fd = fd,
        .is_live = is_live,
        .page_bytes = is_live ? (size_t)sysconf(_SC_PAGESIZE) : 4096,
    };
    if (is_live)
        ret->proc_fault = find_proc_fault(ret);
    return 0;
}

void root_close(struct root *root)
{
    if (root->fd >= 0)
        close(root->fd);
    root->fd = -1;
}

int root_copy(const struct root *root, struct root *ret)
{
    int fd = fcntl(root->fd, F_DUPFD_CLOEXEC, 0);

    if (fd < 0)
        return -errno;
    *ret = *root;
    ret->fd = fd;
    return 0;
}

PRINTF_LIKE(3, 0)
static int format_path(const struct root *root, char path[PATH_MAX], const char *fmt,
                       va_list args)
{
    int length = vsnprintf(path, PATH_MAX, fmt, args);

    if (length < 0 || length >= PATH_MAX)
        return -ENAMETOOLONG;
    return root->proc_fault && begins_with(path, "proc/") && is_digit(path[5]) ? -ESRCH : 0;
}

PRINTF_LIKE(3, 0)
static int open_at(const struct root *root, int flags, const char *fmt, va_list args)
{
    char path[PATH_MAX];
    int r = format_path(root, path, fmt, args);
    int fd;

    if (r < 0)
        return r;
    fd = openat(root->fd, path, flags | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* Opens the path that `fmt` and the variable arguments of the calling function form. */
#define OPEN_PATH(root, flags, fmt)             \
    __extension__({                             \
        va_list args_;                          \
        int fd_;                                \
                                                \
        va_start(args_, fmt);                   \
        fd_ = open_at(root, flags, fmt, args_); \
        va_end(args_);                          \
        fd_;                                    \
    })

/* A file of /proc may be returned in pieces, so read until the end, unless it is a record. */
static ssize_t read_file(int fd, enum file_read how, char *buf, size_t size)
{
    size_t used = 0;
    bool is_cut;

    for (;;) {
        ssize_t n = pread(fd, buf + used, size - used, (off_t)used);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        used += (size_t)n;
        if (n == 0 || used == size || how == READ_RECORD)
            break;
    }
    is_cut = used == size;
    used -= is_cut;
    buf[used] = '\0';
    return is_cut && how != READ_START ? -EFBIG : (ssize_t)used;
}

ssize_t root_read(const struct root *root, char *buf, size_t size, const char *fmt, ...)
{
    AUTO_CLOSE int fd = OPEN_PATH(root, O_RDONLY, fmt);

    return fd < 0 ? fd : read_file(fd, READ_WHOLE, buf, size);
}

ssize_t root_read_start(const struct root *root, char *buf, size_t size, const char *fmt, ...)
{
    AUTO_CLOSE int fd = OPEN_PATH(root, O_RDONLY, fmt);

    return fd < 0 ? fd : read_file(fd, READ_START, buf, size);
}

uint64_t root_read_number(const struct root *root, const char *fmt, ...)
{
    AUTO_CLOSE int fd = OPEN_PATH(root, O_RDONLY, fmt);
    char text[64];
    uint64_t value;

    return fd >= 0 && read_file(fd, READ_WHOLE, text, sizeof(text)) > 0 &&
                   parse_whole_u64(text, &value) == 0
               ? value
               : UNKNOWN;
}

/* Drops the bytes of each line beyond `line_size`. buf[0..used) is already done; its last line, which starts
 * at *line, continues in buf[used..end). Returns the new end. */
static size_t shorten_lines(char *buf, size_t *line, size_t used, size_t end, size_t line_size)
{
    for (size_t from = used; from < end;) {
        const char *newline = memchr(buf + from, '\n', end - from);
        size_t stop = newline ? (size_t)(newline - buf) : end;
        size_t kept = smaller(stop - from, line_size - (used - *line));

        memmove(buf + used, buf + from, kept);
        used += kept;
        from = stop;
        if (newline) {
            buf[used++] = buf[from++];
            *line = used;
        }
    }
    return used;
}

static ssize_t read_lines(int fd, char *buf, size_t size, size_t line_size)
{
    size_t used = 0, line = 0, room = size - 1;
    off_t offset = 0;

    while (room > 0) {
        ssize_t n = pread(fd, buf + used, room, offset);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        offset += n;
        used = shorten_lines(buf, &line, used, used + (size_t)n, line_size);
        if ((size_t)n < room) /* end of file: otherwise the kernel fills the room */
            break;
        room = size - 1 - used;
    }
    buf[used] = '\0';
    return (ssize_t)used;
}

ssize_t root_read_lines(const struct root *root, char *buf, size_t size, size_t line_size,
                        const char *fmt, ...)
{
    AUTO_CLOSE int fd = OPEN_PATH(root, O_RDONLY, fmt);

    return fd < 0 ? fd : read_lines(fd, buf, size, line_size);
}

int root_open_dir(const struct root *root, const char *fmt, ...)
{
    return OPEN_PATH(root, O_RDONLY | O_DIRECTORY, fmt);
}

DIR *root_open_folder(const struct root *root, const char *fmt, ...)
{
    AUTO_CLOSE int fd = OPEN_PATH(root, O_RDONLY | O_DIRECTORY, fmt);
    DIR *folder = NULL;

    if (fd >= 0)
        folder = fdopendir(fd);
    else
        errno = -fd;
    if (folder)
        (void)take_fd(&fd); /* closed with the folder */
    return folder;
}

ssize_t root_read_link(const struct root *root, char *buf, size_t size, const char *fmt, ...)
{
    char path[PATH_MAX];
    va_list args;
    ssize_t n;
    int r;

    va_start(args, fmt);
    r = format_path(root, path, fmt, args);
    va_end(args);
    if (r < 0)
        return r;
    n = readlinkat(root->fd, path, buf, size);
    if (n < 0)
        return -errno;
    if ((size_t)n == size)
        return -EFBIG;
    buf[n] = '\0';
    return n;
}

bool root_exists(const struct root *root, const char *fmt, ...)
{
    char path[PATH_MAX];
    struct stat stat;
    va_list args;
    int r;

    va_start(args, fmt);
    r = format_path(root, path, fmt, args);
    va_end(args);
    return r == 0 && fstatat(root->fd, path, &stat, 0) == 0;
}

/* Opens the file unless it is open. *ret_keeps: whether it may stay open. */
PRINTF_LIKE(4, 0)
static int open_cached(struct cached_file *kept, const struct root *root, bool *ret_keeps,
                       const char *fmt, va_list args)
{
    *ret_keeps = root->is_live;
    if (kept->fd >= 0)
        return 0;
    kept->fd = open_at(root, O_RDONLY, fmt, args);
    if (kept->fd < 0) {
        int r = kept->fd;

        kept->fd = -1;
        return r;
    }
    *ret_keeps = root->is_live && file_limit_allows(kept->fd);
    return 0;
}

ssize_t cached_file_read(struct cached_file *kept, const struct root *root, enum file_read how,
                         char *buf, size_t size, const char *fmt, ...)
{
    struct cached_file once = CACHED_FILE_CLOSED;
    struct cached_file *file = kept ? kept : &once;
    va_list args;
    bool keeps;
    ssize_t n;

    va_start(args, fmt);
    n = open_cached(file, root, &keeps, fmt, args);
    va_end(args);
    if (n < 0)
        return n;
    n = read_file(file->fd, how, buf, size);
    if (!keeps || !kept)
        cached_file_close(file);
    return n;
}

void cached_file_close(struct cached_file *kept)
{
    if (kept->fd >= 0)
        close(kept->fd);
    kept->fd = -1;
}
