/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outputs.h - where reports go: decided and tried before the job starts.
 *
 * The summary goes to stderr, unless it is to be quiet. The report goes to the
 * file of -o and to the descriptor of --summary-fd; with neither, a report in
 * another format than text takes the place of the summary on stderr.
 */
#ifndef FRONT_COMMON_OUTPUTS_H
#define FRONT_COMMON_OUTPUTS_H

#include "front/common/settings.h"
#include "spoor/spoor.h"

/* One report to be written, to a descriptor or else to a file. */
struct output {
    enum spoor_format format;
    unsigned flags;   /* of spoor_session_write() */
    int fd;           /* -1: it is a file */
    const char *path; /* of the file, or what messages call the descriptor */
};

struct outputs {
    struct output items[3];
    size_t count;
    enum spoor_save save;
    int device_fd; /* of a device named by -o, open until the end; or -1 */
};

/* Plans the outputs. The settings must outlive them. Fails, with a sentence that
 * says what to do, where an output would be refused at the end. */
int outputs_plan(const struct cli_settings *settings, struct outputs *ret,
                 struct spoor_error *err);
void outputs_done(struct outputs *outputs);

/* Writes the report of one of the items. */
int outputs_write_one(const struct outputs *outputs, size_t index, spoor_session *session,
                      struct spoor_error *err);

/* Writes every report. What fails is said in one line each on stderr. */
void outputs_write(const struct outputs *outputs, spoor_session *session);

/* Is text on this descriptor to be coloured? */
bool outputs_has_color(enum cli_color color, int fd);

#endif
