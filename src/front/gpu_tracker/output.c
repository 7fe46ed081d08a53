/* SPDX-License-Identifier: Apache-2.0 */
#include "front/gpu_tracker/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
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

/* A file that is not there yet: its folder decides. */
static int check_folder(const char *path, struct spoor_error *err)
{
    const char *slash = strrchr(path, '/');
    char folder[PATH_MAX];
    int n = slash ? snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path + 1), path)
                  : snprintf(folder, sizeof(folder), ".");

    if (n < 0 || (size_t)n >= sizeof(folder))
        return fail(path, ENAMETOOLONG, err);
    if (faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) < 0)
        return fail(path, errno, err);
    return 0;
}

int gpu_tracker_output_check(const char *path, struct spoor_error *err)
{
    struct stat status;

    if (stat(path, &status) < 0)
        return errno == ENOENT && *path && path[strlen(path) - 1] != '/'
                   ? check_folder(path, err)
                   : fail(path, errno, err);
    if (S_ISDIR(status.st_mode))
        return fail(path, EISDIR, err);
    if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) < 0)
        return fail(path, errno, err);
    return 0;
}

int gpu_tracker_output_write(const char *path, const char *text, struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer out = { 0 };
    AUTO_CLOSE int fd = -1;
    int r;

    buffer_format(&out, "%s%s", text, path ? "" : "\n");
    if (!path) {
        r = buffer_write(&out, STDOUT_FILENO);
        return r < 0 ? error_sys(err, r, "The standard output cannot be written") : 0;
    }
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);
    if (fd < 0)
        return fail(path, errno, err);
    r = buffer_write(&out, fd);
    if (r == 0 && close(take_fd(&fd)) < 0)
        r = -errno;
    return r < 0 ? fail(path, r, err) : 0;
}
