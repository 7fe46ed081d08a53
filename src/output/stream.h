/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream.h - writes samples as they are taken, one row each, in our columns or a predecessor's
 * (dialect.h). The encodings are rows of a table.
 */
#pragma once

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

/* Writes a raw value in the base unit of its metric; nothing if it is UNKNOWN. */
void metric_write(enum metric metric, uint64_t raw, struct buffer *out);

void json_add_metric(struct json_writer *json, const char *key, enum metric metric,
                     uint64_t raw);

/* One row of a stream. */
struct stream_row {
    const struct sample *sample;
    const struct sample *previous;     /* NULL: `sample` is the first */
    const struct gpu_view *gpu;        /* the GPUs at the time of the sample */
    const struct gpu_columns *of_gpus; /* NULL: the GPUs are not known yet */
    pid_t pid;                         /* the main process of the job; 0: there is no job */
    bool is_main_only;                 /* the descendants are not tracked */
    bool is_machine_only;              /* no job is tracked */
    const char *run_id;                /* ID as in the report, or NULL */
    const char *name;                  /* label of the run, or NULL */
    /* The devices at both samples, if stream.lists_devices. */
    const struct device_sample *devices, *previous_devices;
    /* If the time since `previous` is too short for rates, they cover the time since this
     * earlier sample; NULL: since `previous`. */
    const struct sample *rates_from;
    const struct device_sample *rates_from_devices;
};

struct encoding;
struct dialect;
struct dialect_table;

/* The columns and their encoding. */
struct stream {
    const struct encoding *encoding;
    const struct dialect *dialect;     /* NULL: our columns */
    const struct dialect_table *table; /* a table of the dialect */
    bool has_header;
    bool names_gpus; /* the header contains the GPUs, and so must wait until they are known */
    /* Rows contain the number of processes of the machine, which is more expensive to read than
     * all other figures of the machine together. */
    bool counts_processes;
    bool reads_host_gpus; /* rows of a dialect have the utilization of the machine's GPUs */
    bool lists_devices;   /* rows list the devices of the machine */
};

/* Finds a stream. `dialect` is NULL or "spoor" for our columns, or a name that dialect_find()
 * accepts; `format` is "csv", "jsonl", "f64", or NULL: by the suffix of the path or, if that is
 * a descriptor, a device or a pipe, CSV. -EINVAL with a message: there is no such dialect or
 * format. */
int stream_find(const char *path, const char *dialect, const char *format, bool has_job,
                struct stream *ret, struct spoor_error *err);

/* Returns the descriptor of a path as output_file_descriptor() does, and also of "-"; -1:
 * the path is a file. */
int stream_descriptor(const char *path);

/* Checks that rows can be written to a file, as output_file_check() does and, if a table is
 * appended to, that it has the same columns. Changes nothing. */
int stream_check(const struct stream *stream, const char *path, enum output_mode mode,
                 struct spoor_error *err);

/* Reads the GPUs from the header of a table that is appended to. 1: the file is empty; 0:
 * *ret is set; -EINVAL: it is another table. */
int stream_read_header(const struct stream *stream, int fd, struct gpu_columns *ret,
                       struct spoor_error *err);

void stream_write_header(const struct stream *stream, const struct gpu_columns *gpus,
                         struct buffer *out);

/* Writes nothing and returns false if the row would need a previous sample. */
bool stream_write_row(const struct stream *stream, const struct stream_row *row,
                      struct buffer *out);
