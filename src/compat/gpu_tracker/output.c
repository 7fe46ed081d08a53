/* SPDX-License-Identifier: Apache-2.0 */
#include "compat/gpu_tracker/output.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "output/output_file.h"
#include "text/buffer.h"

int gpu_tracker_format_parse(const char *text, enum gpu_tracker_format *ret,
                             struct spoor_error *err)
{
    if (text && strcmp(text, "pickle") == 0)
        return error_set(err, EINVAL,
                         "\"pickle\" is not a valid format, because loading a pickle can run "
                         "any code. Use \"json\", which sub-track compare reads.");
    if (text && strcmp(text, "text") != 0 && strcmp(text, "json") != 0)
        return error_set(err, EINVAL,
                         "\"%s\" is not a valid format. Valid values are \"json\" or \"text\".",
                         text);
    *ret = text && strcmp(text, "json") == 0 ? GPU_TRACKER_JSON : GPU_TRACKER_TEXT;
    return 0;
}

static int fail(const char *path, int code, struct spoor_error *err)
{
    return error_sys(err, code, "The output file %s cannot be written", path);
}

/* A link, pipe or file that may be a trap. A device is none. */
static int check_trust(const char *path, struct spoor_error *err)
{
    struct stat status;

    if (output_file_is_trusted(path) || (lstat(path, &status) == 0 && S_ISCHR(status.st_mode)))
        return 0;
    return error_set(err, EPERM,
                     "The output file %s belongs to another user in a public directory. Name "
                     "another file.",
                     path);
}

int gpu_tracker_output_check(const char *path, struct spoor_error *err)
{
    struct stat status;
    int trust = check_trust(path, err);

    if (trust < 0)
        return trust;
    if (stat(path, &status) < 0) {
        int r = -errno;

        if (r == -ENOENT && *path && path[strlen(path) - 1] != '/')
            r = output_file_check_directory(path, NULL);
        return r < 0 ? fail(path, r, err) : 0;
    }
    if (S_ISDIR(status.st_mode))
        return fail(path, EISDIR, err);
    if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) < 0)
        return fail(path, errno, err);
    return 0;
}

/* Follows links, and writes to what is not a file. */
static int write_in_place(const char *path, const struct buffer *text)
{
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);
    int r;

    if (fd < 0)
        return -errno;
    r = buffer_write(text, fd);
    return r == 0 && close(take_fd(&fd)) < 0 ? -errno : r;
}

/* A file is replaced as a whole, if its directory can be written. */
static int write_file(const char *path, const struct buffer *text)
{
    struct replacement new_file;
    struct stat status;
    int r;

    if (lstat(path, &status) < 0 || !S_ISREG(status.st_mode) ||
        replacement_open(&new_file, path, false) < 0)
        return write_in_place(path, text);
    r = buffer_write(text, new_file.fd);
    if (r == 0)
        r = replacement_sync(&new_file);
    if (r == 0)
        return replacement_commit(&new_file, false);
    replacement_cancel(&new_file);
    return r;
}

int gpu_tracker_output_write(const char *path, const char *text, struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer out = { 0 };
    int r;

    buffer_format(&out, "%s%s", text, path ? "" : "\n");
    if (!path) {
        r = buffer_write(&out, STDOUT_FILENO);
        return r < 0 ? error_sys(err, r, "The standard output cannot be written") : 0;
    }
    r = check_trust(path, err);
    if (r < 0)
        return r;
    r = write_file(path, &out);
    return r < 0 ? fail(path, r, err) : 0;
}
