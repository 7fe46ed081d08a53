/* SPDX-License-Identifier: Apache-2.0 */
#include "history/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "output/format.h"
#include "output/output_file.h"
#include "output/save.h"
#include "text/text_list.h"

/* ---- the folder ----------------------------------------------------------- */

static const char *chosen;

void history_choose(const char *value)
{
    chosen = value;
}

bool history_is_folder(const char *value)
{
    return value && strchr(value, '/') != NULL;
}

/* Rejects a base directory of another user (with sudo, HOME may be one): its owner could not
 * use a directory that we create in it. */
static bool try_base(const char *base, const char *below, char ret[PATH_MAX])
{
    struct stat status;
    int n;

    if (!base || base[0] != '/' || (stat(base, &status) == 0 && status.st_uid != geteuid()))
        return false;
    n = snprintf(ret, PATH_MAX, "%s%s", base, below);
    return n > 0 && n < PATH_MAX;
}

int history_folder(char ret[PATH_MAX], struct spoor_error *err)
{
    const char *named = history_is_folder(chosen) ? chosen : getenv("SPOOR_HISTORY");

    if (history_is_folder(named) && strlen(named) < PATH_MAX) {
        memcpy(ret, named, strlen(named) + 1);
        return 0;
    }
    if (try_base(getenv("XDG_STATE_HOME"), "/spoor", ret) ||
        try_base(getenv("HOME"), "/.local/state/spoor", ret))
        return 0;
    return error_set(err, ENOENT,
                     "no folder for the history: HOME is not set or belongs to another user; "
                     "set SPOOR_HISTORY to a folder");
}

/* ---- appending ------------------------------------------------------------ */

void history_name_host(char name[256])
{
    memset(name, 0, 256);
    if (gethostname(name, 255) < 0 || name[0] == '\0')
        memcpy(name, "localhost", sizeof("localhost"));
    for (char *c = name; *c; c++)
        *c = *c == '/' || (c == name && *c == '.') ? '_' : *c;
}

static int name_file(const char *folder, double started_at, char path[PATH_MAX])
{
    time_t start = isnan(started_at) ? time(NULL) : (time_t)started_at;
    struct tm date = { 0 };
    char host[256];
    int n;

    (void)gmtime_r(&start, &date);
    history_name_host(host);
    n = snprintf(path, PATH_MAX, "%s/runs/%04d-%02d/%s.jsonl", folder, date.tm_year + 1900,
                 date.tm_mon + 1, host);
    return n < 0 || n >= PATH_MAX ? -ENAMETOOLONG : 0;
}

int history_open_locked(const char *path, int flags, bool *ret_is_locked)
{
    enum { TRIES = 100 };

    for (int i = 0; i < TRIES; i++) {
        int fd = open(path, flags | O_RDWR | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
        struct stat status;

        if (fd < 0)
            return -errno;
        *ret_is_locked = output_file_lock(fd);
        if (fstat(fd, &status) == 0 && status.st_nlink > 0)
            return fd;
        close(fd); /* replaced while we waited for the lock: open the new file */
    }
    return -EAGAIN;
}

int history_append_line(char *path, const struct buffer *row)
{
    AUTO_CLOSE int fd = -1;
    bool is_locked = false;
    off_t size;
    ssize_t n;
    int r;

    fd = history_open_locked(path, O_CREAT, &is_locked);
    if (fd == -ENOENT) {
        char *slash = strrchr(path, '/');

        *slash = '\0';
        r = output_make_directories(path);
        *slash = '/';
        if (r < 0)
            return r;
        fd = history_open_locked(path, O_CREAT, &is_locked);
    }
    if (fd < 0)
        return take_fd(&fd);
    size = lseek(fd, 0, SEEK_END);
    r = save_end_torn_line(fd);
    n = r < 0 ? r : write(fd, row->text, row->length);
    if (n < 0 && r == 0)
        r = -errno;
    else if (r == 0 && (size_t)n < row->length)
        r = -ENOSPC;
    if (r < 0 && is_locked && size >= 0)
        (void)!ftruncate(fd, size); /* on failure the next writer completes the line */
    /* Some file systems (NFS, quotas) report a failed write only here. */
    return close(take_fd(&fd)) < 0 && r == 0 ? -errno : r;
}

int history_append(const char *folder, double started_at, const struct buffer *row,
                   struct spoor_error *err)
{
    char path[PATH_MAX];
    int r = buffer_error(row);

    if (r == 0)
        r = name_file(folder, started_at, path);
    if (r < 0)
        return error_sys(err, r, "'%s'", folder);
    r = history_append_line(path, row);
    return r < 0 ? error_sys(err, r, "cannot write '%s'", path) : 0;
}

/* ---- all files ------------------------------------------------------------ */

static int is_month(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int is_rows(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && path_has_suffix(entry->d_name, ".jsonl");
}

struct visit {
    history_see_file *each;
    void *data;
    struct spoor_error *err;
};

/* A directory that is removed meanwhile counts as empty. */
static int visit_entries(const char *folder, int (*filter)(const struct dirent *entry),
                         const struct visit *visit)
{
    CLEANUP(text_list_done) struct text_list paths = { 0 };
    int r = text_list_folder(&paths, folder, filter);

    if (r == -ENOENT || r == -ENOTDIR)
        return 0;
    if (r < 0)
        return error_sys(visit->err, r, "cannot read '%s'", folder);
    for (size_t i = 0; r >= 0 && i < paths.count; i++)
        r = filter == is_month ? visit_entries(paths.items[i], is_rows, visit)
                               : visit->each(paths.items[i], visit->data, visit->err);
    return r;
}

int history_for_each(const char *folder, history_see_file *each, void *data,
                     struct spoor_error *err)
{
    const struct visit visit = { each, data, err };
    char path[PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s/runs", folder);

    if (n < 0 || (size_t)n >= sizeof(path))
        return error_sys(err, ENAMETOOLONG, "'%s'", folder);
    return visit_entries(path, is_month, &visit);
}

int history_visit(const char *folder, history_see_file *each, void *data,
                  struct spoor_error *err)
{
    const struct visit visit = { each, data, err };

    return visit_entries(folder, is_rows, &visit);
}
