/* SPDX-License-Identifier: Apache-2.0 */
#include "output/save.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "output/format.h"
#include "output/output_file.h"

/* ---- appending -------------------------------------------------------------- */

/* Checks whether a file begins with the header of a format. Returns 1 if the file is empty, 0
 * if it has the header or the format has none, and -EINVAL if it has another header. */
static int compare_header(int fd, const struct format *format, struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer header = { 0 };
    AUTO_FREE char *found = NULL;
    off_t size = lseek(fd, 0, SEEK_END);
    ssize_t n;

    if (size <= 0 || !format->header)
        return size == 0;
    format->header(&header);
    found = malloc(header.length + 1);
    if (!found || buffer_error(&header) < 0)
        return error_set(err, ENOMEM, "out of memory");
    n = pread(fd, found, header.length, 0);
    if (n < 0)
        return error_sys(err, errno, "cannot be read");
    if ((size_t)n != header.length || memcmp(found, header.text, header.length) != 0)
        return error_set(err, EINVAL, SAVE_OTHER_COLUMNS);
    return 0;
}

int save_open_to_append(const char *path, int flags)
{
    int fd = open(path, flags | O_RDWR | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0666);

    if (fd < 0 && errno == EACCES && !(flags & O_EXCL))
        fd = open(path, flags | O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0666);
    return fd < 0 ? -errno : fd;
}

int save_end_torn_line(int fd)
{
    off_t size = lseek(fd, 0, SEEK_END);
    char last = '\n';

    if (size <= 0 || pread(fd, &last, 1, size - 1) != 1 || last == '\n')
        return 0; /* the line is complete, or the file cannot be read and stays unchanged */
    return write(fd, "\n", 1) == 1 ? 0 : -errno;
}

/* ---- making and writing ----------------------------------------------------- */

static int make_text(const struct record *records, size_t count, const struct format *format,
                     struct format_style *style, struct buffer *out, struct spoor_error *err)
{
    format_write(format, records, count, style, out);
    return buffer_error(out) < 0 ? error_sys(err, buffer_error(out), "cannot make the report")
                                 : 0;
}

/* Appends everything or, if the disk is full, nothing. */
static int append(const struct record *records, size_t count, const struct format *format,
                  const char *path, struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer text = { 0 };
    struct format_style style = format_style_for(-1, false);
    AUTO_CLOSE int fd = save_open_to_append(path, O_CREAT);
    off_t size;
    int r;

    if (fd < 0)
        return take_fd(&fd);
    output_file_lock(fd);
    size = lseek(fd, 0, SEEK_END);
    r = compare_header(fd, format, err);
    style.has_header = r == 1;
    if (r >= 0)
        r = make_text(records, count, format, &style, &text, err);
    if (r < 0)
        return r;
    r = save_end_torn_line(fd);
    if (r == 0)
        r = buffer_write(&text, fd);
    if (r < 0 && size >= 0)
        (void)!ftruncate(fd, size);
    /* Some file systems (NFS, quotas) report a failed write only here. */
    if (r == 0 && close(take_fd(&fd)) < 0)
        r = -errno;
    return r;
}

static int replace(const struct buffer *text, const char *path, enum spoor_save how)
{
    return replacement_write(path, text,
                             (struct replacement_style){
                                 .is_synced = true, .is_no_clobber = how == SPOOR_NO_CLOBBER });
}

static int write_special(const struct buffer *text, const char *path, struct spoor_error *err)
{
    AUTO_CLOSE int opened = -1;
    int fd = output_file_descriptor(path);

    if (fd < 0) {
        opened = output_file_open_special(path, err);
        if (opened < 0)
            return take_fd(&opened);
    }
    return buffer_write(text, fd < 0 ? opened : fd);
}

/* Returns 0 or -errno. Sets *err only if strerror() would not explain the failure. */
static int save(const struct record *records, size_t count, enum spoor_format format,
                const char *path, enum spoor_save how, struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer text = { 0 };
    struct format_style style = format_style_for(-1, false);
    const struct format *row = format_get(format);
    bool is_special = output_file_descriptor(path) >= 0 || output_file_is_special(path);
    int r = format_check(format, err);

    if (r < 0)
        return r;
    if (!is_special) {
        r = save_check(path, format, how, err);
        if (r < 0)
            return r;
        if (how == SPOOR_APPEND)
            return append(records, count, row, path, err);
    }
    r = make_text(records, count, row, &style, &text, err);
    if (r < 0)
        return r;
    return is_special ? write_special(&text, path, err) : replace(&text, path, how);
}

/* ---- for callers -------------------------------------------------------------- */

int save_check(const char *path, enum spoor_format format, enum spoor_save how,
               struct spoor_error *err)
{
    static const enum output_mode modes[] = {
        [SPOOR_REPLACE] = OUTPUT_REPLACE,
        [SPOOR_APPEND] = OUTPUT_APPEND,
        [SPOOR_NO_CLOBBER] = OUTPUT_NO_CLOBBER,
    };
    const struct format *row = format_get(format);
    AUTO_CLOSE int fd = -1;
    int r = format_check(format, err);

    if (r == 0 && how == SPOOR_APPEND && row->write_all)
        r = error_set(err, EINVAL, "cannot be appended to; name another file or omit --append");
    if (r == 0)
        r = output_file_check(path, modes[how], err);
    if (r < 0 || how != SPOOR_APPEND || access(path, F_OK) < 0)
        return r;
    fd = save_open_to_append(path, 0);
    if (fd < 0)
        return error_sys(err, take_fd(&fd), "cannot be written");
    r = compare_header(fd, row, err);
    return r < 0 ? r : 0;
}

int save_to_descriptor(const struct record *records, size_t count, enum spoor_format format,
                       bool has_color, int fd, struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer text = { 0 };
    struct format_style style = format_style_for(fd, has_color);
    const struct format *row = format_get(format);
    int r = format_check(format, err);

    if (r < 0)
        return r;
    r = make_text(records, count, row, &style, &text, err);
    if (r < 0)
        return r;
    r = buffer_write(&text, fd);
    return r < 0 ? error_sys(err, r, "cannot write the report") : 0;
}

int save_to_file(const struct record *records, size_t count, enum spoor_format format,
                 const char *path, enum spoor_save how, struct spoor_error *err)
{
    struct spoor_error why = { 0 };
    int r = save(records, count, format, path, how, &why);

    if (r < 0 && !why.message[0])
        return error_sys(err, r, "cannot write '%s'", path);
    return r < 0 ? error_set(err, r, "cannot write '%s': %s", path, why.message) : 0;
}

static int append_text(const struct buffer *text, const char *path)
{
    AUTO_CLOSE int fd = save_open_to_append(path, O_CREAT);
    int r;

    if (fd < 0)
        return take_fd(&fd);
    output_file_lock(fd);
    r = save_end_torn_line(fd);
    if (r == 0)
        r = buffer_write(text, fd);
    return r == 0 && close(take_fd(&fd)) < 0 ? -errno : r;
}

int save_text(const struct buffer *text, int fd, const char *path, enum spoor_save how,
              struct spoor_error *err)
{
    int r = buffer_error(text);

    if (r == 0)
        r = fd >= 0               ? buffer_write(text, fd)
            : how == SPOOR_APPEND ? append_text(text, path)
                                  : replace(text, path, how);
    return r < 0 ? error_sys(err, r, "cannot write '%s'", path) : 0;
}
