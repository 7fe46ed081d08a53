/* SPDX-License-Identifier: Apache-2.0 */
#include "session/samples_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/error.h"
#include "text/csv.h"

#define GPUS_MOST_NS NS_PER_SECOND
/* How long to wait for the header of a shared file. */
#define HEADER_MOST_NS (100 * NS_PER_MS)

static enum output_mode mode_of(unsigned flags)
{
    if (flags & SPOOR_SAMPLES_NO_CLOBBER)
        return OUTPUT_NO_CLOBBER;
    return flags & SPOOR_SAMPLES_APPEND ? OUTPUT_APPEND : OUTPUT_TRUNCATE;
}

/* Reads the GPUs from the header of a table to append to. Returns the same values as
 * stream_read_header(); 1: there is no file yet. */
static int read_header(struct samples_file *file, struct spoor_error *err)
{
    AUTO_CLOSE int fd = open(file->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return errno == ENOENT ? 1 : error_sys(err, errno, "cannot be read");
    return stream_read_header(&file->stream, fd, &file->gpus, err);
}

static int open_checked(struct samples_file *file, unsigned flags, struct spoor_error *err)
{
    int r = stream_check(&file->stream, file->path, mode_of(flags), err);

    if (r < 0)
        return r;
    r = row_writer_open(&file->writer, file->path, mode_of(flags));
    if (r == -EBUSY)
        return error_set(err, EINVAL,
                         "another run is writing to it; name another file or append");
    if (r < 0)
        return error_sys(err, r, "cannot be written");
    file->needs_header = file->stream.has_header;
    file->is_shared = file->needs_header && flags & SPOOR_SAMPLES_APPEND && !file->is_pipe;
    if (!file->is_shared)
        return 0;
    r = read_header(file, err);
    file->needs_header = r == 1;
    file->has_gpus = r == 0;
    return r < 0 ? r : 0;
}

int samples_file_open(struct samples_file *file, const struct spoor_stream *stream,
                      const struct spoor_options *options, struct spoor_error *err)
{
    int r;

    *file = (struct samples_file){
        .path = strdup(stream->path),
        .facts = { .pid = options->pid,
                   .is_main_only = options->flags & SPOOR_MAIN_ONLY,
                   .is_machine_only =
                       options->pid == 0 && !(options->flags & SPOOR_TRACK_CGROUP) },
    };
    if (options->name)
        file->facts.name = file->name = strdup(options->name);
    if (!file->path || (options->name && !file->name))
        return error_set(err, ENOMEM, "out of memory");
    r = stream_find(file->path, stream->dialect, stream->format, !file->facts.is_machine_only,
                    &file->stream, err);
    file->is_pipe = stream_descriptor(file->path) >= 0 || output_file_is_special(file->path);
    if (r == 0 && file->stream.dialect)
        file->short_ns = options->interval_ns / 2;
    if (r == 0)
        r = open_checked(file, options->flags, err);
    return r < 0 ? error_prefix(err, r, "samples file '%s'", file->path) : 0;
}

void samples_file_end(struct samples_file *file)
{
    if (file->writer.pid != 0)
        file->end = writer_process_close(&file->writer, NULL);
}

void samples_file_close(struct samples_file *file)
{
    samples_file_end(file);
    free(take_ptr(file->path));
    free(take_ptr(file->name));
    device_sample_done(&file->devices);
    device_sample_done(&file->previous_devices);
    device_sample_done(&file->older_devices);
    buffer_done(&file->row);
    buffer_done(&file->held);
}

/* Writes the header. If another run writes its header to a shared file first, that run's GPUs
 * have columns. */
static void add_header(struct samples_file *file)
{
    buffer_clear(&file->row);
    stream_write_header(&file->stream, &file->gpus, &file->row);
    row_writer_add_header(&file->writer, &file->row);
    if (file->is_shared && writer_process_wait(&file->writer, HEADER_MOST_NS))
        (void)read_header(file, NULL); /* on failure our own header is assumed */
}

/* Writes the header and the rows that waited for it, with empty cells for the GPUs. */
static void release(struct samples_file *file)
{
    struct buffer *text = &file->row;
    struct csv_writer csv = { .out = text }; /* only our own CSV format waits for GPUs */
    const char *row = file->held.text;
    bool is_whole = buffer_error(&file->held) == 0;

    add_header(file);
    if (!is_whole) /* the rows count as dropped */
        row_writer_add(&file->writer, &file->held, file->held_rows);
    for (uint64_t i = 0; is_whole && i < file->held_rows; i++) {
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

/* Decides which GPUs have columns, once the drivers have responded or the time is up. */
static void learn_gpus(struct samples_file *file, const struct sample *sample,
                       const struct gpu_view *gpu, bool is_last)
{
    bool is_told = gpu->state == GPU_NONE || gpu->units != NULL;

    if (file->has_gpus)
        return;
    if (is_told ||
        (file->stream.has_header && (is_last || sample->elapsed_ns >= GPUS_MOST_NS))) {
        file->gpus = gpu_columns_of(gpu);
        file->has_gpus = true;
    }
}

static void read_devices(struct samples_file *file, struct samples_machine machine)
{
    if (!file->stream.lists_devices)
        return;
    device_sample_done(&file->older_devices);
    file->older_devices = file->previous_devices;
    file->previous_devices = file->devices;
    file->devices = (struct device_sample){ 0 };
    device_sample_read(&file->devices, machine.root, machine.space);
}

/* Keeps the sample for later rows. If the job has ended, its last values are kept instead of
 * the sample's. */
static void remember(struct samples_file *file, const struct sample *sample)
{
    static const enum metric kept[] = { METRIC_JOB_PSS, METRIC_JOB_RSS, METRIC_JOB_PROCESSES };
    bool keeps = file->has_previous && sample_job_is_gone(sample);
    uint64_t seen[ARRAY_SIZE(kept)];

    for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
        seen[i] = file->previous.moment[kept[i]];
    file->older = file->previous;
    file->has_older = file->has_previous;
    file->previous = *sample;
    file->has_previous = true;
    for (size_t i = 0; keeps && i < ARRAY_SIZE(kept); i++)
        file->previous.moment[kept[i]] = seen[i];
}

void samples_file_add(struct samples_file *file, const struct sample *sample,
                      const struct gpu_view *gpu, struct samples_machine machine, bool is_last)
{
    struct stream_row row = file->facts;
    bool is_short = file->has_previous &&
                    sub_floor0(sample->elapsed_ns, file->previous.elapsed_ns) < file->short_ns;

    if (file->writer.pid == 0 || (is_short && !is_last))
        return;
    row.sample = sample;
    row.previous = file->has_previous ? &file->previous : NULL;
    row.gpu = gpu;
    row.devices = &file->devices;
    row.previous_devices = &file->previous_devices;
    if (is_short && file->has_older) {
        row.rates_from = &file->older;
        row.rates_from_devices = &file->older_devices;
    }
    read_devices(file, machine);
    learn_gpus(file, sample, gpu, is_last);
    row.of_gpus = file->has_gpus ? &file->gpus : NULL;
    if (file->needs_header && (file->has_gpus || !file->stream.names_gpus))
        release(file);
    if (file->needs_header) {
        /* In this format each item is a row. */
        (void)stream_write_row(&file->stream, &row, &file->held);
        file->held_rows++;
    } else {
        buffer_clear(&file->row);
        if (stream_write_row(&file->stream, &row, &file->row))
            row_writer_add(&file->writer, &file->row, 1);
    }
    remember(file, sample);
}
