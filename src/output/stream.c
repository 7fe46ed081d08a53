/* SPDX-License-Identifier: Apache-2.0 */
#include "output/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/arithmetic.h"
#include "base/cleanup.h"
#include "base/compiler.h"
#include "base/error.h"
#include "base/parse.h"
#include "output/format.h"
#include "output/save.h"
#include "series/rate.h"

static const struct stream streams[] = {
    { ".csv", csv_stream_begin, csv_stream_row },
    { ".jsonl", NULL, jsonl_stream_row },
};

const struct stream *stream_for_path(const char *path)
{
    for (size_t i = 0; i < ARRAY_SIZE(streams); i++) {
        if (path_has_suffix(path, streams[i].suffix))
            return &streams[i];
    }
    return NULL;
}

double stream_rate(enum metric metric, const struct sample *sample,
                   const struct sample *previous)
{
    uint64_t span_ns =
        previous ? less(sample_read_ns(sample, metric), sample_read_ns(previous, metric)) : 0;

    /* Of rows that follow each other faster than the counter can tell, it would be noise. */
    if (span_ns == 0 || 2 * span_ns < sample->clocks[metric_clock(metric)].resolution_ns)
        return nan("");
    return counter_rate(metric, previous->value[metric], sample->value[metric], span_ns);
}

/* ---- tables that are appended to ------------------------------------------- */

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
static struct gpu_columns find_gpus(const char *header)
{
    struct gpu_columns gpus = { 0 };

    for (const char *at = header; (at = strstr(at, ",gpu")) != NULL;) {
        struct gpu_place place;

        at += strlen(",gpu");
        if (read_place(&at, &place) && strncmp(at, "_memory_bytes", 13) == 0 &&
            gpus.count < GPU_COLUMNS_MAX)
            gpus.places[gpus.count++] = place;
    }
    return gpus;
}

int stream_read_header(const struct stream *stream, int fd, struct gpu_columns *ret,
                       struct spoor_error *err)
{
    enum { HEADER_MAX = 1 << 17 };
    AUTO_FREE char *found = calloc(1, HEADER_MAX + 1);
    CLEANUP(buffer_done) struct buffer header = { 0 };
    struct gpu_columns gpus;
    ssize_t n;

    if (!found)
        return error_set(err, ENOMEM, "out of memory");
    n = pread(fd, found, HEADER_MAX - 1, 0);
    if (n < 0)
        return error_sys(err, errno, "cannot be read");
    if (n == 0)
        return 1;
    found[strcspn(found, "\n") + 1] = '\0';
    gpus = find_gpus(found);
    stream->begin(&gpus, &header);
    if (buffer_error(&header) < 0 || strcmp(found, header.text) != 0)
        return error_set(err, EINVAL, SAVE_OTHER_COLUMNS);
    *ret = gpus;
    return 0;
}

int stream_check(const char *path, enum output_mode mode, struct spoor_error *err)
{
    const struct stream *stream = stream_for_path(path);
    struct gpu_columns gpus;
    AUTO_CLOSE int fd = -1;
    int r;

    if (!stream)
        return error_set(err, EINVAL, "the name must end in .csv or .jsonl");
    r = output_file_check(path, mode, err);
    if (r < 0 || mode != OUTPUT_APPEND || !stream->begin || access(path, F_OK) < 0)
        return r;
    fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return error_sys(err, errno, "cannot be read");
    r = stream_read_header(stream, fd, &gpus, err);
    return r < 0 ? r : 0;
}
