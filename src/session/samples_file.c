/* SPDX-License-Identifier: Apache-2.0 */
#include "session/samples_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "output/save.h"
#include "text/csv_writer.h"

#define GPUS_MOST_NS NS_PER_SECOND

static enum output_mode mode_of(unsigned flags)
{
    if (flags & SPOOR_SAMPLES_NO_CLOBBER)
        return OUTPUT_NO_CLOBBER;
    return flags & SPOOR_SAMPLES_APPEND ? OUTPUT_APPEND : OUTPUT_TRUNCATE;
}

/* A new file, or what is there, which stays as it is. */
static int open_file(struct samples_file *file, const char *path, unsigned flags)
{
    int fd = save_open_to_append(path, O_CREAT | O_EXCL);

    if (fd >= 0) {
        file->fd = fd;
        file->created_path = strdup(path);
        return file->created_path ? 0 : -ENOMEM;
    }
    if (fd == -EEXIST && !(flags & SPOOR_SAMPLES_NO_CLOBBER))
        fd = save_open_to_append(path, 0);
    file->fd = fd < 0 ? -1 : fd;
    return fd < 0 ? fd : 0;
}

static int open_checked(struct samples_file *file, const char *path, unsigned flags,
                        struct spoor_error *err)
{
    int r = stream_check(path, mode_of(flags), err);

    if (r < 0)
        return r;
    file->stream = stream_for_path(path);
    file->is_appended_to = flags & SPOOR_SAMPLES_APPEND;
    r = open_file(file, path, flags);
    if (r < 0)
        return error_sys(err, r, "cannot be written");
    file->needs_header = file->stream->begin != NULL;
    if (!file->needs_header || !file->is_appended_to)
        return 0;
    r = stream_read_header(file->stream, file->fd, &file->gpus, err);
    file->needs_header = r == 1;
    file->has_gpus = r == 0;
    return r < 0 ? r : 0;
}

int samples_file_open(struct samples_file *file, const char *path, unsigned flags,
                      struct spoor_error *err)
{
    int r;

    *file = (struct samples_file)SAMPLES_FILE_CLOSED;
    if (!path)
        return 0;
    r = open_checked(file, path, flags, err);
    return r < 0 ? error_prefix(err, r, "samples file '%s'", path) : 0;
}

void samples_file_begin(struct samples_file *file)
{
    if (file->fd < 0)
        return;
    if (!file->created_path && !file->is_appended_to && ftruncate(file->fd, 0) < 0)
        file->error = -errno;
    free(take_ptr(file->created_path));
    if (!file->is_appended_to)
        return;
    output_file_lock(file->fd);
    (void)save_end_torn_line(file->fd); /* if it fails, so do the rows */
    output_file_unlock(file->fd);
}

void samples_file_close(struct samples_file *file)
{
    struct stat status;

    /* Another run may have appended to it meanwhile. */
    if (file->created_path && fstat(file->fd, &status) == 0 && status.st_size == 0)
        (void)unlink(file->created_path);
    free(take_ptr(file->created_path));
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
    buffer_done(&file->row);
    buffer_done(&file->held);
}

/* Writes whole rows only: what a full disk took of a row is cut off again. */
static void write_rows(struct samples_file *file, const struct buffer *text, uint64_t rows)
{
    off_t end = lseek(file->fd, 0, SEEK_END);
    int r = buffer_write(text, file->fd);

    if (r < 0) {
        (void)!ftruncate(file->fd, end);
        file->error = r;
        file->lost_rows += rows;
    }
}

/* The file is ours while we look where it ends. */
static void lock(const struct samples_file *file)
{
    if (file->is_appended_to)
        output_file_lock(file->fd);
}

static void unlock(const struct samples_file *file)
{
    if (file->is_appended_to)
        output_file_unlock(file->fd);
}

/* Another run that appends to the same file may have been faster: its GPUs have the columns. */
static bool has_header_by_now(struct samples_file *file)
{
    return file->is_appended_to &&
           stream_read_header(file->stream, file->fd, &file->gpus, NULL) == 0;
}

/* The header, and the rows that waited for it, with empty cells for the GPUs. */
static void release(struct samples_file *file)
{
    struct buffer text = { 0 };
    struct csv_writer csv = { .out = &text }; /* only CSV has a header */
    const char *row = file->held.text;

    lock(file);
    if (!has_header_by_now(file))
        file->stream->begin(&file->gpus, &text);
    for (uint64_t i = 0; i < file->held_rows; i++) {
        size_t length = strcspn(row, "\n");

        csv_begin_cell(&csv);
        buffer_add(&text, row, length);
        for (size_t cell = 0; cell < file->gpus.count * GPU_MEASURE_COUNT; cell++)
            csv_begin_cell(&csv);
        csv_end_row(&csv);
        row += length + 1;
    }
    write_rows(file, &text, file->held_rows);
    unlock(file);
    buffer_done(&text);
    buffer_done(&file->held);
    file->held_rows = 0;
    file->needs_header = false;
}

/* Which GPUs have columns: known once the drivers have told, or have not for too long. */
static void learn_gpus(struct samples_file *file, const struct sample *sample,
                       const struct gpu_view *gpu, bool is_last)
{
    bool is_told = gpu->state == GPU_NONE || gpu->units != NULL;

    if (file->has_gpus)
        return;
    if (is_told || (file->stream->begin && (is_last || sample->elapsed_ns >= GPUS_MOST_NS))) {
        file->gpus = gpu_columns_of(gpu);
        file->has_gpus = true;
    }
}

void samples_file_add(struct samples_file *file, const struct sample *sample,
                      const struct gpu_view *gpu, bool is_last)
{
    struct stream_row row = { sample, file->has_previous ? &file->previous : NULL, gpu, NULL };

    if (file->fd < 0)
        return;
    learn_gpus(file, sample, gpu, is_last);
    row.of_gpus = file->has_gpus ? &file->gpus : NULL;
    if (file->needs_header && file->has_gpus)
        release(file);
    if (file->needs_header) {
        file->stream->row(&row, &file->held);
        file->held_rows++;
    } else {
        buffer_clear(&file->row);
        file->stream->row(&row, &file->row);
        lock(file);
        write_rows(file, &file->row, 1);
        unlock(file);
    }
    file->previous = *sample;
    file->has_previous = true;
}
