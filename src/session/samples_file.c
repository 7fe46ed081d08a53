/* SPDX-License-Identifier: Apache-2.0 */
#include "session/samples_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/parse.h"
#include "text/csv_writer.h"

#define GPUS_MOST_NS NS_PER_SECOND

static int open_flags(unsigned flags)
{
    int how = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC;

    if (flags & SPOOR_SAMPLES_NO_CLOBBER)
        return how | O_EXCL;
    return flags & SPOOR_SAMPLES_APPEND ? how : how | O_TRUNC;
}

/* Reads "1" or "0_1" up to the name of a measure. */
static bool read_place(const char **cursor, struct gpu_place *ret)
{
    uint64_t index, part = 0;
    bool is_part;

    if (parse_u64(cursor, &index) < 0)
        return false;
    is_part = (*cursor)[0] == '_' && (*cursor)[1] >= '0' && (*cursor)[1] <= '9';
    *cursor += is_part;
    if ((is_part && parse_u64(cursor, &part) < 0) || index > INT_MAX || part > INT_MAX)
        return false;
    *ret = (struct gpu_place){ (unsigned)index, is_part ? (int)part : -1 };
    return true;
}

/* The GPUs that a header names: those of its columns gpuN_memory_bytes. */
static struct gpu_columns read_header(const char *path)
{
    enum { HEADER_MAX = 1 << 17 };
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    AUTO_FREE char *text = calloc(1, HEADER_MAX);
    struct gpu_columns gpus = { 0 };

    if (fd < 0 || !text || pread(fd, text, HEADER_MAX - 1, 0) <= 0)
        return gpus;
    text[strcspn(text, "\n")] = '\0';
    for (const char *at = text; (at = strstr(at, ",gpu")) != NULL;) {
        struct gpu_place place;

        at += strlen(",gpu");
        if (read_place(&at, &place) && strncmp(at, "_memory_bytes", 13) == 0 &&
            gpus.count < GPU_COLUMNS_MAX)
            gpus.places[gpus.count++] = place;
    }
    return gpus;
}

int samples_file_open(struct samples_file *file, const char *path, unsigned flags,
                      struct spoor_error *err)
{
    struct stat status;
    int r;

    *file = (struct samples_file)SAMPLES_FILE_CLOSED;
    if (!path)
        return 0;
    file->stream = stream_for_path(path);
    if (!file->stream)
        return error_set(err, EINVAL, "samples file '%s': the name must end in .csv or .jsonl",
                         path);
    r = row_writer_open(&file->writer, path, open_flags(flags));
    if (r < 0)
        return error_sys(err, r, "samples file '%s'", path);
    if (!file->stream->begin)
        return 0;
    /* A file that is appended to and holds rows already has its header. */
    file->needs_header =
        !(flags & SPOOR_SAMPLES_APPEND) || lstat(path, &status) < 0 || status.st_size == 0;
    file->has_gpus = !file->needs_header;
    if (file->has_gpus)
        file->gpus = read_header(path);
    return 0;
}

void samples_file_end(struct samples_file *file)
{
    if (file->writer.pid != 0)
        file->end = row_writer_close(&file->writer);
}

void samples_file_close(struct samples_file *file)
{
    samples_file_end(file);
    buffer_done(&file->row);
    buffer_done(&file->held);
}

/* The header, and the rows that waited for it, with empty cells for the GPUs. */
static void release(struct samples_file *file)
{
    struct buffer *text = &file->row;
    struct csv_writer csv = { .out = text }; /* only CSV has a header */
    const char *row = file->held.text;

    buffer_clear(text);
    file->stream->begin(&file->gpus, text);
    row_writer_add(&file->writer, text, 0);
    for (uint64_t i = 0; i < file->held_rows; i++) {
        size_t length = strcspn(row, "\n");

        buffer_clear(text);
        csv_begin_cell(&csv);
        buffer_add(text, row, length);
        for (size_t cell = 0; cell < file->gpus.count * GPU_MEASURE_COUNT; cell++)
            csv_begin_cell(&csv);
        csv_end_row(&csv);
        row_writer_add(&file->writer, text, 1);
        row += length + 1;
    }
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

    if (file->writer.pid == 0)
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
        row_writer_add(&file->writer, &file->row, 1);
    }
    file->previous = *sample;
    file->has_previous = true;
}
