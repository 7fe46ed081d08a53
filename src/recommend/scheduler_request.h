/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scheduler_request.h - a request for resources in the syntax of a scheduler or workflow tool, ready to
 * paste.
 *
 * To add a format: add a write function and a row in scheduler_request.c, and its name to the
 * option --for.
 */
#ifndef RECOMMEND_SCHEDULER_REQUEST_H
#define RECOMMEND_SCHEDULER_REQUEST_H

#include "recommend/needs.h"
#include "text/buffer.h"

struct request_format {
    const char *name;    /* "sbatch" */
    const char *title;   /* "Slurm" */
    const char *comment; /* prefix of a comment line: "#" */
    void (*write)(const struct needs *needs, struct buffer *out);
};

/* Finds a format by its name; NULL: there is no such format. */
const struct request_format *request_find(const char *name);

/* Returns a format by index; NULL after the last. */
const struct request_format *request_get(size_t index);

/* Writes the request, after a comment for each quantity that is unknown or a guess. */
void request_write(const struct request_format *format, const struct needs *needs,
                   struct buffer *out);

#endif
