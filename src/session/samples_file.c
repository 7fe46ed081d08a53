/* SPDX-License-Identifier: Apache-2.0 */
#include "session/samples_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

static int open_flags(unsigned flags)
{
    int how = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC;

    if (flags & SPOOR_SAMPLES_NO_CLOBBER)
        return how | O_EXCL;
    return flags & SPOOR_SAMPLES_APPEND ? how : how | O_TRUNC;
}

/* A file that is added to and holds rows already has its header. */
static bool needs_header(int fd)
{
    struct stat stat;

    return fstat(fd, &stat) < 0 || stat.st_size == 0;
}

int samples_file_open(struct samples_file *file, const char *path, unsigned flags,
                      struct spoor_error *err)
{
    int r = 0;

    *file = (struct samples_file)SAMPLES_FILE_CLOSED;
    if (!path)
        return 0;
    file->stream = stream_for_path(path);
    if (!file->stream)
        return error_set(err, EINVAL, "samples file '%s': the name must end in .csv or .jsonl",
                         path);
    file->fd = open(path, open_flags(flags), 0666);
    if (file->fd < 0)
        return error_sys(err, errno, "samples file '%s'", path);
    if (needs_header(file->fd)) {
        file->stream->begin(&file->row);
        r = buffer_write(&file->row, file->fd);
        buffer_clear(&file->row);
    }
    if (r < 0) {
        samples_file_close(file);
        return error_sys(err, r, "samples file '%s'", path);
    }
    return 0;
}

void samples_file_close(struct samples_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
    buffer_done(&file->row);
}

/* Writes whole rows only: what a full disk took of a row is cut off again. */
static int write_row(const struct samples_file *file)
{
    off_t end = lseek(file->fd, 0, SEEK_END);
    int r = buffer_write(&file->row, file->fd);

    if (r < 0 && end >= 0)
        (void)!ftruncate(file->fd, end); /* a pipe cannot be cut: nothing more to do */
    return r;
}

void samples_file_add(struct samples_file *file, const struct sample *sample)
{
    int r;

    if (file->fd < 0)
        return;
    buffer_clear(&file->row);
    file->stream->row(sample, file->has_previous ? &file->previous : NULL, &file->row);
    r = write_row(file);
    if (r < 0) {
        file->error = r;
        file->lost_rows++;
    }
    file->previous = *sample;
    file->has_previous = true;
}
