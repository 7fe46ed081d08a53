/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream.h - samples as they are taken, a row each, in our columns or in those of a predecessor
 * (dialect.h). The encodings are rows of a table.
 */
#ifndef OUTPUT_STREAM_H
#define OUTPUT_STREAM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "output/output_file.h"
#include "sample/metric.h"
#include "sample/sample.h"
#include "sample/sampler.h"
#include "spoor/spoor.h"
#include "text/buffer.h"
#include "text/json_writer.h"

/* ---- Metrics and figures as text: in base units, unknown ones empty or null --- */

/* A raw value in the base unit of its metric. Nothing if it is UNKNOWN. */
void metric_write(enum metric metric, uint64_t raw, struct buffer *out);

void json_add_metric(struct json_writer *json, const char *key, enum metric metric,
                     uint64_t raw);

/* One row of a stream. */
struct stream_row {
    const struct sample *sample;
    const struct sample *previous;     /* the one before; NULL at the first */
    const struct gpu_view *gpu;        /* as it was then */
    const struct gpu_columns *of_gpus; /* NULL: they are not known yet */
    pid_t pid;                         /* the main process of the job; 0: there is no job */
    bool is_main_only;                 /* its descendants are not tracked */
    bool is_machine_only;              /* no job is tracked */
    const char *run_id;                /* as in the report, or NULL */
    const char *name;                  /* label of the run, or NULL */
    /* The devices of both samples, if stream_lists_devices(). */
    const struct device_sample *devices, *previous_devices;
    /* A row that is too short for rates has those since this sample, the one before `previous`;
     * NULL: since `previous`. */
    const struct sample *rates_from;
    const struct device_sample *rates_from_devices;
};

struct encoding;
struct dialect;
struct dialect_table;

/* Which columns, and how they are written. */
struct stream {
    const struct encoding *encoding;
    const struct dialect *dialect;     /* NULL: our columns */
    const struct dialect_table *table; /* of the dialect */
};

/* Finds a stream. `dialect` is NULL or "spoor" for our columns, or as in dialect_find(); `format` is
 * "csv", "jsonl", "f64", or NULL: by the suffix of the path or, if that is a descriptor, a device or
 * a pipe, CSV. -EINVAL with a message: there is none. */
int stream_find(const char *path, const char *dialect, const char *format, bool has_job,
                struct stream *ret, struct spoor_error *err);

/* The descriptor that a path names, as output_file_descriptor() but also "-"; -1: it is a file. */
int stream_descriptor(const char *path);

/* Checks that rows can be written there: as output_file_check() and, if a table is appended to,
 * that it has the same columns. Changes nothing. */
int stream_check(const struct stream *stream, const char *path, enum output_mode mode,
                 struct spoor_error *err);

/* The GPUs of a table that is appended to, from its header. 1: the file is empty; 0: *ret is
 * set; -EINVAL: it is another table. */
int stream_read_header(const struct stream *stream, int fd, struct gpu_columns *ret,
                       struct spoor_error *err);

bool stream_has_header(const struct stream *stream);

/* Whether the header names the GPUs, and so waits until they are known. */
bool stream_names_gpus(const struct stream *stream);

void stream_write_header(const struct stream *stream, const struct gpu_columns *gpus,
                         struct buffer *out);

/* Writes nothing, and returns false, if the row would need a sample before it. */
bool stream_write_row(const struct stream *stream, const struct stream_row *row,
                      struct buffer *out);

/* Whether rows have the number of processes of the machine, which costs more than the rest of it. */
bool stream_counts_processes(const struct stream *stream);

/* Whether rows of a dialect have the utilization of the machine's GPUs. */
bool stream_reads_host_gpus(const struct stream *stream);

/* Whether rows list the devices of the machine. */
bool stream_lists_devices(const struct stream *stream);

#endif
