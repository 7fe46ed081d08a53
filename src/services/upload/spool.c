/* SPDX-License-Identifier: Apache-2.0 */
#include "services/upload/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/error.h"
#include "output/output_file.h"
#include "text/json_writer.h"
#include "text/text_list.h"

struct spool_file spool_file(const struct spool *spool, const char *name)
{
    struct spool_file file;

    (void)snprintf(file.path, sizeof(file.path), "%s/%s", spool->path, name); /* fits */
    return file;
}

/* Returns the descriptor or -errno. */
static int open_file(const struct spool *spool, const char *name, int flags)
{
    int fd = open(spool_file(spool, name).path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);

    return fd < 0 ? -errno : fd;
}

/* ---- rows --------------------------------------------------------------- */

enum { HEADER_MAX_BYTES = 16 << 10, PIECE_BYTES = 64 << 10 };

/* The open file of the rows. */
struct rows {
    int fd;
    uint64_t size;
    bool is_begun; /* the header, if there is one, is complete */
    uint64_t header_bytes;
    char header[HEADER_MAX_BYTES];
};

static void close_rows(struct rows *rows)
{
    if (rows->fd >= 0)
        close(rows->fd);
}

/* Reads up to `size` bytes; fewer only at the end of the file. */
static ssize_t read_at(int fd, char *text, size_t size, uint64_t offset)
{
    size_t done = 0;
    ssize_t n = 1;

    while (done < size && n != 0) {
        n = pread(fd, text + done, size - done, (off_t)(offset + done));
        if (n > 0)
            done += (size_t)n;
        else if (n < 0 && errno != EINTR)
            return -errno;
    }
    return (ssize_t)done;
}

static int open_rows(const struct spool *spool, struct rows *rows)
{
    struct stat status;
    const char *end;
    ssize_t n;

    *rows = (struct rows){ .fd = open_file(spool, spool_rows(spool), 0) };
    if (rows->fd < 0)
        return rows->fd;
    if (fstat(rows->fd, &status) < 0)
        return -errno;
    rows->size = (uint64_t)status.st_size;
    rows->is_begun = *spool->service;
    if (rows->is_begun)
        return 0;
    n = read_at(rows->fd, rows->header, sizeof(rows->header), 0);
    if (n < 0)
        return (int)n;
    if ((uint64_t)n < smaller((uint64_t)status.st_size, sizeof(rows->header)))
        return -EIO; /* the file never shrinks */
    end = memchr(rows->header, '\n', (size_t)n);
    rows->is_begun = end;
    rows->header_bytes = end ? (uint64_t)(end + 1 - rows->header) : 0;
    return 0;
}

/* Returns the offset of the first unsent row. */
static uint64_t first_waiting(const struct spool *spool, const struct rows *rows)
{
    return !rows->is_begun ? rows->size : larger(spool->offset, rows->header_bytes);
}

/* Counts the complete rows that begin at `start` or later, and before `until`. *ret_end is
 * the offset after the last of them. */
static int count_rows(int fd, uint64_t start, uint64_t until, uint64_t *ret_rows,
                      uint64_t *ret_end)
{
    char piece[PIECE_BYTES];
    uint64_t rows = 0, end = start, at = start;

    while (end < until) {
        ssize_t n = read_at(fd, piece, sizeof(piece), at);

        if (n < 0)
            return (int)n;
        if (n == 0)
            break;
        for (const char *c = piece;
             end < until && (c = memchr(c, '\n', (size_t)(piece + n - c))); c++) {
            rows++;
            end = at + (uint64_t)(c + 1 - piece);
        }
        at += (uint64_t)n;
    }
    *ret_rows = rows;
    *ret_end = end;
    return 0;
}

int spool_read_batch(const struct spool *spool, size_t max_bytes, struct spool_batch *ret)
{
    CLEANUP(close_rows) struct rows rows;
    AUTO_FREE char *text = NULL;
    const char *newline;
    uint64_t start;
    ssize_t n;
    size_t size;
    int r = open_rows(spool, &rows);

    if (r < 0)
        return r;
    start = first_waiting(spool, &rows);
    size = (size_t)smaller(sub_floor0(rows.size, start), max_bytes);
    *ret = (struct spool_batch){ .end = start };
    buffer_add(&ret->csv, rows.header, rows.header_bytes);
    text = malloc(size + 1);
    if (!text)
        return -ENOMEM;
    n = read_at(rows.fd, text, size, start);
    if (n < (ssize_t)size) /* the file never shrinks */
        return n < 0 ? (int)n : -EIO;
    newline = memrchr(text, '\n', (size_t)n);
    size = newline ? (size_t)(newline + 1 - text) : 0;
    buffer_add(&ret->csv, text, size);
    r = count_rows(rows.fd, start, start + size, &ret->rows, &ret->end);
    return r < 0 ? r : buffer_error(&ret->csv);
}

/* Frees the disk space of sent rows. If the file system does not support holes, the space is
 * freed when the spool is removed. */
static void free_space(const struct spool *spool)
{
    CLEANUP(close_rows) struct rows rows;

    if (open_rows(spool, &rows) == 0 && rows.is_begun && spool->offset > rows.header_bytes)
        (void)fallocate(rows.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                        (off_t)rows.header_bytes, (off_t)(spool->offset - rows.header_bytes));
}

static int move_to(struct spool *spool, uint64_t offset, uint64_t batches,
                   uint64_t dropped_rows)
{
    struct spool before = *spool;
    int r;

    spool->offset = offset;
    spool->batches += batches;
    spool->dropped_rows += dropped_rows;
    r = spool_save(spool);
    if (r < 0)
        *spool = before;
    else
        free_space(spool);
    return r;
}

int spool_advance(struct spool *spool, uint64_t end, uint64_t refused_rows)
{
    return move_to(spool, end, 1, refused_rows);
}

int spool_count(const struct spool *spool, uint64_t *ret_rows, uint64_t *ret_bytes)
{
    CLEANUP(close_rows) struct rows rows;
    uint64_t start, end = 0;
    int r = open_rows(spool, &rows);

    if (r < 0)
        return r;
    start = first_waiting(spool, &rows);
    r = count_rows(rows.fd, start, rows.size, ret_rows, &end);
    if (r == 0)
        *ret_bytes = sub_floor0(rows.size, start);
    return r;
}

int spool_enforce_limit(struct spool *spool, uint64_t limit_bytes)
{
    CLEANUP(close_rows) struct rows rows;
    uint64_t start, until, dropped = 0, end = 0;
    int r = open_rows(spool, &rows);

    if (r < 0)
        return r;
    start = first_waiting(spool, &rows);
    if (sub_floor0(rows.size, start) <= limit_bytes)
        return 0;
    until = rows.size - limit_bytes + limit_bytes / 4;
    r = count_rows(rows.fd, start, until, &dropped, &end);
    return r < 0 ? r : move_to(spool, end, 0, dropped);
}

/* ---- files -------------------------------------------------------------- */

#define STATE "state.json"
#define END_SPACE "end.space"

/* Enough for a batch per second for twelve days. */
enum { BATCHES_MAX = 1 << 20 };

enum { FILE_MAX_BYTES = 4 << 20, END_BYTES = 512 };

/* Rejects a directory that other users can write to: they could plant files. */
static bool is_ours(const char *path)
{
    struct stat status;

    return lstat(path, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
           (status.st_mode & 022) == 0 && access(path, W_OK | X_OK) == 0;
}

static bool try_base(const char *directory, const char *below, char base[PATH_MAX])
{
    int n;

    if (!directory || directory[0] != '/')
        return false;
    n = snprintf(base, PATH_MAX, "%s%s", directory, below);
    return n > 0 && n < PATH_MAX && output_make_directories(base) == 0 && is_ours(base);
}

/* Finds the directory of all spools; creates it if it does not exist. */
static int find_base(char base[PATH_MAX], struct spoor_error *err)
{
    const char *temporary = getenv("TMPDIR");
    char below[64];

    (void)snprintf(below, sizeof(below), "/spoor-uploads-%u", (unsigned)geteuid());
    if (try_base(getenv("XDG_STATE_HOME"), "/spoor/uploads", base) ||
        try_base(getenv("HOME"), "/.local/state/spoor/uploads", base) ||
        try_base(temporary ? temporary : "/tmp", below, base))
        return 0;
    return error_set(err, EACCES,
                     "no directory for samples that wait to be uploaded: set XDG_STATE_HOME to "
                     "a directory that you can write to");
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* The names of spools start with a date, so sorting by name sorts by age. */
int spool_for_each(bool is_newest_first, void (*each)(const char *path, void *data), void *data)
{
    CLEANUP(text_list_done) struct text_list paths = { 0 };
    char base[PATH_MAX];
    int r = find_base(base, NULL);

    if (r == 0)
        r = text_list_folder(&paths, base, is_visible);
    for (size_t i = 0; r == 0 && i < paths.count; i++)
        each(paths.items[is_newest_first ? paths.count - 1 - i : i], data);
    return r;
}

/* Replaces a file of the spool as a whole. */
static int replace_file(const struct spool *spool, const char *name, const struct buffer *text,
                        bool is_synced)
{
    const struct replacement_style style = { .is_private = true, .is_synced = is_synced };

    return replacement_write(spool_file(spool, name).path, text, style);
}

/* Creates a file with `size` zeros. */
static int make_file(const struct spool *spool, const char *name, size_t size)
{
    AUTO_CLOSE int fd = open_file(spool, name, O_CREAT | O_EXCL);
    const char zeros[END_BYTES] = { 0 };
    ssize_t n = fd < 0 ? 0 : write(fd, zeros, size);

    if (fd < 0)
        return fd;
    if (n < 0)
        return -errno;
    return (size_t)n < size ? -ENOSPC : 0;
}

int spool_write_end(const struct spool *spool, const struct buffer *text)
{
    AUTO_CLOSE int fd = open_file(spool, END_SPACE, 0);
    int r = fd < 0 ? fd : buffer_error(text);

    if (r == 0)
        r = buffer_write(text, fd);
    if (r == 0 && ftruncate(fd, (off_t)text->length) < 0)
        r = -errno;
    if (r == 0 &&
        rename(spool_file(spool, END_SPACE).path, spool_file(spool, SPOOL_END).path) < 0)
        r = -errno;
    return r;
}

int spool_save(const struct spool *spool)
{
    CLEANUP(buffer_done) struct buffer text = { 0 };
    struct json_writer json = { .out = &text };

    json_begin(&json, NULL, '{');
    json_add_text(&json, "run_id", spool->run.id);
    json_add_text(&json, "upload_uri_prefix", spool->run.uri_prefix);
    json_add_text(&json, "region", spool->region);
    json_add_u64(&json, "offset", spool->offset);
    json_add_u64(&json, "batches", spool->batches);
    json_add_u64(&json, "dropped_rows", spool->dropped_rows);
    json_end(&json);
    /* Sync the file: the rows that it marks as sent are deleted next, so it must survive a
     * crash. */
    return replace_file(spool, STATE, &text, true);
}

static uint64_t load_count(const json_t *object, const char *key)
{
    json_int_t count = json_integer_value(json_object_get(object, key));

    return count > 0 ? (uint64_t)count : 0;
}

int spool_load(const struct spool *spool, const char *name, json_t **ret)
{
    CLEANUP(buffer_done) struct buffer text = { 0 };
    int r = buffer_read_file(&text, spool_file(spool, name).path, FILE_MAX_BYTES);

    if (r < 0)
        return r;
    *ret = json_loadb(text.text, text.length, 0, NULL);
    return *ret ? 0 : -EBADMSG;
}

static int load_run(struct spool *spool)
{
    json_t *object;
    int r = spool_load(spool, SPOOL_RUN, &object);

    if (r < 0)
        return r == -ENOENT ? -ENODATA : r;
    (void)sentinel_copy_text(object, "api_url", spool->api_url, sizeof(spool->api_url));
    (void)sentinel_copy_text(object, "service", spool->service, sizeof(spool->service));
    spool->has_short_keys = json_is_true(json_object_get(object, "has_short_keys"));
    json_decref(object);
    return 0;
}

/* If there is no state file, nothing has been sent. No batch is empty, so the number of
 * batches must not exceed the number of bytes sent. */
static int load_state(struct spool *spool)
{
    json_t *object;
    int r = spool_load(spool, STATE, &object);

    if (r < 0)
        return r == -ENOENT ? 0 : r;
    (void)sentinel_copy_text(object, "run_id", spool->run.id, sizeof(spool->run.id));
    (void)sentinel_copy_text(object, "upload_uri_prefix", spool->run.uri_prefix,
                             sizeof(spool->run.uri_prefix));
    (void)sentinel_copy_text(object, "region", spool->region, sizeof(spool->region));
    spool->offset = load_count(object, "offset");
    spool->batches = load_count(object, "batches");
    spool->dropped_rows = load_count(object, "dropped_rows");
    json_decref(object);
    if (spool->run.id[0] != '\0' && !sentinel_is_run_id(spool->run.id))
        return -EBADMSG;
    return spool->batches > smaller(spool->offset, BATCHES_MAX) ? -EBADMSG : 0;
}

/* ---- lifetime --------------------------------------------------------------- */

static int lock_directory(struct spool *spool, int how)
{
    spool->lock_fd = open(spool->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (spool->lock_fd >= 0 && flock(spool->lock_fd, how) == 0)
        return 0;
    return errno == EWOULDBLOCK ? -EBUSY : -errno;
}

static int populate(struct spool *spool, const struct buffer *description, int *ret_run_fd)
{
    AUTO_CLOSE int run_fd = -1;
    int r = replace_file(spool, SPOOL_RUN, description, false);

    if (r == 0)
        r = make_file(spool, END_SPACE, END_BYTES);
    if (r == 0)
        r = load_run(spool);
    if (r == 0)
        r = make_file(spool, spool_rows(spool), 0); /* mode 0600 */
    if (r < 0)
        return r;
    run_fd = open_file(spool, SPOOL_RUN, 0);
    if (run_fd < 0)
        return run_fd;
    if (flock(run_fd, LOCK_SH) < 0)
        return -errno;
    *ret_run_fd = take_fd(&run_fd);
    return 0;
}

/* Locks the directory before it writes run.json: a directory without a lock and run.json looks
 * like an abandoned spool. -ENOENT: another process removed the directory as abandoned before
 * we had the lock. */
static int create_in(const char *base, const struct buffer *description, struct spool *ret,
                     int *ret_run_fd)
{
    CLEANUP(spool_close) struct spool spool = SPOOL_CLOSED;
    struct clock_text date = clock_format((double)clock_now().realtime_ns / 1e9);
    int n = snprintf(spool.path, sizeof(spool.path), "%s/%s-%d-XXXXXX", base, date.text,
                     (int)getpid());
    int r;

    if (n < 0 || (size_t)n >= sizeof(spool.path))
        return -ENAMETOOLONG;
    if (!mkdtemp(spool.path))
        return -errno;
    r = lock_directory(&spool, LOCK_EX);
    if (r == 0)
        r = populate(&spool, description, ret_run_fd);
    if (r < 0) {
        spool_remove(&spool);
        return r;
    }
    *ret = spool;
    spool.lock_fd = -1;
    return 0;
}

int spool_create(const struct buffer *description, struct spool *ret, int *ret_run_fd,
                 struct spoor_error *err)
{
    enum { ATTEMPTS = 10 };
    char base[PATH_MAX];
    int r = find_base(base, err);

    if (r < 0)
        return r;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        r = create_in(base, description, ret, ret_run_fd);
        if (r != -ENOENT)
            break;
    }
    return r < 0 ? error_sys(err, r, "cannot write to '%s'", base) : 0;
}

int spool_open(const char *path, struct spool *ret)
{
    CLEANUP(spool_close) struct spool spool = SPOOL_CLOSED;
    int r;

    if (strlen(path) >= sizeof(spool.path))
        return -ENAMETOOLONG;
    memcpy(spool.path, path, strlen(path) + 1);
    r = lock_directory(&spool, LOCK_EX | LOCK_NB);
    if (r == 0)
        r = load_run(&spool);
    if (r == 0)
        r = load_state(&spool);
    if (r == -ENODATA)
        spool_remove(&spool); /* a process was killed while it created or removed the spool */
    if (r < 0)
        return r;
    *ret = spool;
    spool.lock_fd = -1;
    return 0;
}

void spool_close(struct spool *spool)
{
    if (spool->lock_fd >= 0)
        close(spool->lock_fd);
    spool->lock_fd = -1;
}

/* Removes run.json first: a spool without it counts as abandoned. Removes all other files as
 * well, because a crash may have left temporary ones. */
void spool_remove(struct spool *spool)
{
    DIR *directory = NULL;
    struct dirent *entry;
    int fd = spool->lock_fd < 0 ? -1 : fcntl(spool->lock_fd, F_DUPFD_CLOEXEC, 3);

    if (fd >= 0) {
        (void)unlinkat(fd, SPOOL_RUN, 0);
        directory = fdopendir(fd);
    }
    while (directory && (entry = readdir(directory))) {
        if (entry->d_type != DT_DIR)
            (void)unlinkat(dirfd(directory), entry->d_name, 0);
    }
    if (directory)
        closedir(directory);
    (void)rmdir(spool->path);
    spool_close(spool);
}

bool spool_run_is_over(const struct spool *spool)
{
    AUTO_CLOSE int fd = -1;

    if (access(spool_file(spool, SPOOL_END).path, F_OK) == 0)
        return true;
    fd = open_file(spool, SPOOL_RUN, 0);
    return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
}
