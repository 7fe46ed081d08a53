/* SPDX-License-Identifier: Apache-2.0 */
#include "output/save.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "output/format.h"

static bool has_content(const char *path)
{
    struct stat stat;

    return lstat(path, &stat) == 0 && stat.st_size > 0;
}

/* A device or pipe (/dev/stderr, a FIFO) cannot be replaced, only written to. */
static bool is_special(const char *path)
{
    struct stat stat;

    return lstat(path, &stat) == 0 && !S_ISREG(stat.st_mode) && !S_ISLNK(stat.st_mode);
}

static bool is_link(const char *path)
{
    struct stat stat;

    return lstat(path, &stat) == 0 && S_ISLNK(stat.st_mode);
}

static int write_open(const struct buffer *text, const char *path, int flags,
                      struct spoor_error *err)
{
    AUTO_CLOSE int fd = open(path, flags | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0666);
    int r;

    if (fd < 0)
        return error_sys(err, errno, "cannot write '%s'", path);
    r = buffer_write(text, fd);
    /* Some file systems (NFS, quotas) say only at the close that a write failed. */
    if (r == 0 && close(take_fd(&fd)) < 0)
        r = -errno;
    return r < 0 ? error_sys(err, r, "cannot write '%s'", path) : 0;
}

/* link() refuses to replace what exists; rename() does not. */
static int put_in_place(const char *temporary, const char *path, enum spoor_save how)
{
    int r = how == SPOOR_NO_CLOBBER ? link(temporary, path) : rename(temporary, path);

    return r < 0 ? -errno : 0;
}

/* Written beside it and moved into place: a reader finds the old report or the new one,
 * whole. */
static int write_beside(const struct buffer *text, const char *path, enum spoor_save how,
                        struct spoor_error *err)
{
    char temporary[PATH_MAX];
    int length = snprintf(temporary, sizeof(temporary), "%s.%d.tmp", path, (int)getpid());
    int r;

    if (length < 0 || (size_t)length >= sizeof(temporary))
        return error_sys(err, ENAMETOOLONG, "cannot write '%s'", path);
    (void)unlink(temporary); /* left behind by a process of the same pid that died */
    r = write_open(text, temporary, O_CREAT | O_EXCL, err);
    if (r == 0) {
        r = put_in_place(temporary, path, how);
        if (r < 0)
            (void)error_sys(err, r, "cannot write '%s'", path);
    }
    if (r < 0 || how == SPOOR_NO_CLOBBER)
        (void)unlink(temporary);
    return r;
}

static int save_text(const struct buffer *text, const char *path, enum spoor_save how,
                     struct spoor_error *err)
{
    if (is_link(path))
        return error_set(
            err, ELOOP, "cannot write '%s': it is a symbolic link, which spoor does not follow",
            path);
    if (is_special(path))
        return write_open(text, path, 0, err);
    if (how == SPOOR_APPEND)
        return write_open(text, path, O_CREAT | O_APPEND, err);
    return write_beside(text, path, how, err);
}

static int make_text(const struct record *record, enum spoor_format format,
                     const struct format_style *style, struct buffer *out,
                     struct spoor_error *err)
{
    const struct format *row = format_get(format);

    if (!row)
        return error_set(err, EINVAL, "unknown report format %d", (int)format);
    row->write(record, style, out);
    return buffer_error(out) < 0 ? error_sys(err, buffer_error(out), "cannot make the report")
                                 : 0;
}

int save_to_descriptor(const struct record *record, enum spoor_format format, bool has_color,
                       int fd, struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer text = { 0 };
    struct format_style style = format_style_for(fd, has_color);
    int r = make_text(record, format, &style, &text, err);

    if (r < 0)
        return r;
    r = buffer_write(&text, fd);
    return r < 0 ? error_sys(err, r, "cannot write the report") : 0;
}

int save_to_file(const struct record *record, enum spoor_format format, const char *path,
                 enum spoor_save how, struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer text = { 0 };
    struct format_style style = format_style_for(-1, false);
    int r;

    style.has_header = how != SPOOR_APPEND || !has_content(path);
    r = make_text(record, format, &style, &text, err);
    return r < 0 ? r : save_text(&text, path, how, err);
}
