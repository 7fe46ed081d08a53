/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracking_writer.h - the tracking file (tracking_file.h) in a writer process
 * (base/writer_process.h): a disk that does not respond costs rows, and holds nothing up.
 *
 * A failure is returned once, by the next call: -errno with a message, a warning for the user.
 * All functions accept a closed writer.
 */
#ifndef COMPAT_TRACKING_TRACKING_WRITER_H
#define COMPAT_TRACKING_TRACKING_WRITER_H

#include "base/writer_process.h"
#include "compat/tracking/tracking_file.h"

/* All zero: closed. */
struct tracking_writer {
    struct writer_process process;
    const char *path; /* borrowed */
    bool has_failed;  /* and that was returned */
};

/* Starts the process, for which this one must not have threads yet. 0 or -errno with a message. */
int tracking_writer_start(struct tracking_writer *writer, const char *path, bool overwrite,
                          struct spoor_error *err);

/* As tracking_file_open(); closes the writer on failure. A disk that does not respond within some
 * seconds is no failure yet. The texts of `facts` must have existed at the start. */
int tracking_writer_open(struct tracking_writer *writer, const struct tracking_facts *facts,
                         struct spoor_error *err);

int tracking_writer_begin(struct tracking_writer *writer, struct spoor_error *err);
int tracking_writer_add(struct tracking_writer *writer, const double row[TRACKING_COLUMNS],
                        struct spoor_error *err);

/* Waits a moment until the rows are in the file. */
void tracking_writer_wait(const struct tracking_writer *writer);

/* As tracking_file_close(). Also fails if rows could not be written in time. */
int tracking_writer_close(struct tracking_writer *writer, struct spoor_error *err);

#endif
