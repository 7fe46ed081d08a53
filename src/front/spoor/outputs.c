/* SPDX-License-Identifier: Apache-2.0 */
#include "front/spoor/outputs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "front/spoor/program.h"
#include "output/format.h"

bool outputs_has_color(enum color color, int fd)
{
    const char *no_color = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");

    if (color != COLOR_AUTO)
        return color == COLOR_ALWAYS;
    return isatty(fd) && !(no_color && *no_color) &&
           !(terminal && strcmp(terminal, "dumb") == 0);
}

static int file_format(const struct settings *settings, enum spoor_format *ret,
                       struct spoor_error *err)
{
    const char *path = settings->output_path;

    *ret = SPOOR_TEXT;
    if (settings->has_format)
        *ret = settings->format;
    else if (!spoor_format_for_path(path, ret) && path_has_suffix(path, ".html"))
        return error_set(err, EINVAL,
                         "--output '%s': HTML is not supported yet; name a .json, .csv or "
                         ".txt file, or give --format",
                         path);
    return 0;
}

/* Copies the folder of a path: "." if it has none. */
static int folder_of(const char *path, char *buf, size_t size)
{
    const char *slash = strrchr(path, '/');
    int length = slash ? (int)(slash - path) : 1;
    int n;

    if (slash == path)
        n = snprintf(buf, size, "/");
    else
        n = snprintf(buf, size, "%.*s", length, slash ? path : ".");
    return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

static int check_folder(const char *path, const char *option, struct spoor_error *err)
{
    char folder[PATH_MAX];
    struct stat status;

    if (folder_of(path, folder, sizeof(folder)) < 0)
        return error_set(err, ENAMETOOLONG, "%s: the path is too long", option);
    if (stat(folder, &status) < 0) {
        if (errno == ENOENT)
            return error_set(err, ENOENT,
                             "%s '%s': directory '%s' does not exist; create it first", option,
                             path, folder);
        return error_sys(err, errno, "%s: directory '%s'", option, folder);
    }
    if (!S_ISDIR(status.st_mode))
        return error_set(err, ENOTDIR, "%s '%s': '%s' is not a directory", option, path,
                         folder);
    if (faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) < 0)
        return error_sys(err, errno, "%s '%s': cannot create files in directory '%s'", option,
                         path, folder);
    return 0;
}

/* Accepts only what the library will be able to write in the end. `ret_is_device` NULL:
 * a device is refused. */
static int check_file(const struct settings *settings, const char *path, const char *option,
                      bool *ret_is_device, struct spoor_error *err)
{
    struct stat status;

    if (path_has_suffix(path, "/"))
        return error_set(err, EISDIR, "%s '%s' is a directory; name a file in it", option,
                         path);
    if (lstat(path, &status) < 0)
        return errno == ENOENT ? check_folder(path, option, err)
                               : error_sys(err, errno, "%s '%s'", option, path);
    if (S_ISLNK(status.st_mode))
        return error_set(err, ELOOP,
                         "%s '%s' is a symbolic link, which spoor does not follow; name its "
                         "target instead%s",
                         option, path, ret_is_device ? ", or use --summary-fd" : "");
    if (S_ISDIR(status.st_mode))
        return error_set(err, EISDIR, "%s '%s' is a directory; name a file in it", option,
                         path);
    if (settings->is_no_clobber)
        return error_set(err, EEXIST,
                         "%s '%s' already exists; name another file or omit --no-clobber",
                         option, path);
    if (S_ISCHR(status.st_mode) && ret_is_device) {
        *ret_is_device = true;
        return 0;
    }
    if (!S_ISREG(status.st_mode))
        return error_set(err, EINVAL, "%s '%s' is not a regular file%s", option, path,
                         ret_is_device ? "; open it and use --summary-fd" : "");
    /* Replacing renames a new file over the old one, which needs write access to the folder. */
    if (!settings->is_append && ret_is_device)
        return check_folder(path, option, err);
    if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) < 0)
        return error_sys(err, errno, "cannot write to %s '%s'", option, path);
    return 0;
}

/* What we opened ourselves, such as the stand-in for a closed stderr, is close-on-exec; a
 * descriptor from the user is not. */
static int check_descriptor(int fd, struct spoor_error *err)
{
    int flags = fcntl(fd, F_GETFD);
    int mode = fcntl(fd, F_GETFL);

    if (flags < 0 || flags & FD_CLOEXEC)
        return error_set(err, EBADF,
                         "--summary-fd %d: the file descriptor is not open (try %d>FILE)", fd,
                         fd);
    if ((mode & O_ACCMODE) == O_RDONLY)
        return error_set(err, EBADF,
                         "--summary-fd %d: the file descriptor is not open for writing", fd);
    return 0;
}

static void add(struct outputs *outputs, enum spoor_format format, int fd, const char *path)
{
    outputs->items[outputs->count++] = (struct output){ format, 0, fd, path };
}

/* Text on a descriptor may have color, text in a file never has. */
static void add_descriptor(struct outputs *outputs, const struct settings *settings,
                           enum spoor_format format, int fd, const char *name)
{
    add(outputs, format, fd, name);
    if (outputs_has_color(settings->color, fd))
        outputs->items[outputs->count - 1].flags = SPOOR_COLOR;
}

static int plan_file(const struct settings *settings, struct outputs *plan,
                     struct spoor_error *err)
{
    const char *path = settings->output_path;
    enum spoor_format format = SPOOR_TEXT;
    bool is_device = false;
    int r;

    r = file_format(settings, &format, err);
    if (r < 0)
        return r;
    if (strcmp(path, "-") == 0) {
        add_descriptor(plan, settings, format, STDOUT_FILENO, "stdout");
        return 0;
    }
    r = check_file(settings, path, "--output", &is_device, err);
    if (r < 0)
        return r;
    if (is_device) {
        plan->device_fd = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY);
        if (plan->device_fd < 0)
            return error_sys(err, errno, "--output '%s'", path);
    }
    add(plan, format, plan->device_fd, path);
    return 0;
}

static int check_samples(const struct settings *settings, struct spoor_error *err)
{
    const char *path = settings->samples_path;

    if (settings->output_path && strcmp(settings->output_path, path) == 0)
        return error_set(err, EINVAL, "--output and --samples name the same file");
    return check_file(settings, path, "--samples", NULL, err);
}

/* Does the text already go to the terminal, where the user would see that of stderr too? */
static bool has_text(const struct outputs *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        const struct output *output = &plan->items[i];

        if ((output->fd == STDOUT_FILENO || output->fd == STDERR_FILENO) &&
            output->format == SPOOR_TEXT)
            return true;
    }
    return false;
}

static int plan_all(const struct settings *settings, struct outputs *plan,
                    struct spoor_error *err)
{
    enum spoor_format format = settings->has_format ? settings->format : SPOOR_TEXT;
    int fd = settings->summary_fd;
    int r = 0;

    if (settings->output_path)
        r = plan_file(settings, plan, err);
    if (r == 0 && settings->samples_path)
        r = check_samples(settings, err);
    if (r == 0 && fd >= 0)
        r = check_descriptor(fd, err);
    if (r < 0)
        return r;
    if (fd >= 0)
        add_descriptor(plan, settings, format, fd, "the file descriptor of --summary-fd");
    if (!settings->is_quiet && !has_text(plan)) {
        format = plan->count == 0 ? format : SPOOR_TEXT;
        add_descriptor(plan, settings, format, STDERR_FILENO, "stderr");
    }
    return 0;
}

int outputs_plan(const struct settings *settings, struct outputs *ret, struct spoor_error *err)
{
    struct outputs plan = { .device_fd = -1 };
    int r = plan_all(settings, &plan, err);

    if (r < 0) {
        outputs_done(&plan);
        return r;
    }
    plan.save = settings->is_append       ? SPOOR_APPEND
                : settings->is_no_clobber ? SPOOR_NO_CLOBBER
                                          : SPOOR_REPLACE;
    *ret = plan;
    return 0;
}

void outputs_done(struct outputs *outputs)
{
    if (outputs->device_fd >= 0)
        close(outputs->device_fd);
    outputs->device_fd = -1;
    outputs->count = 0;
}

int outputs_write_one(const struct outputs *outputs, size_t index, spoor_session *session,
                      struct spoor_error *err)
{
    const struct output *output = &outputs->items[index];

    if (output->fd >= 0)
        return spoor_session_write(session, output->format, output->flags, output->fd, err);
    return spoor_session_save(session, output->format, output->path, outputs->save, err);
}

struct report {
    const struct outputs *outputs;
    spoor_session *session;
};

static int write_all(void *data)
{
    const struct report *report = data;

    for (size_t i = 0; i < report->outputs->count; i++) {
        struct spoor_error err = { 0 };

        if (outputs_write_one(report->outputs, i, report->session, &err) < 0)
            complain("%s", err.message);
    }
    return 0;
}

void outputs_write(const struct outputs *outputs, spoor_session *session)
{
    struct report report = { outputs, session };

    if (outputs->count > 0)
        (void)program_write_report(&spoor_program, write_all, &report);
}
