/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export.h - the samples of a run for monitoring systems, while it lasts: --listen, --metrics,
 * --push and --otlp.
 *
 * The first two get the latest sample, with the highest levels since the previous sample they
 * got. A separate process writes the file (base/writer_process.h), so that a file system that
 * hangs blocks nothing. Pushed samples go through a stream to a spool, from which another
 * process sends them (services/upload).
 */
#ifndef FRONT_SPOOR_EXPORT_H
#define FRONT_SPOOR_EXPORT_H

#include <stdbool.h>

#include "front/spoor/settings.h"
#include "spoor/spoor.h"

struct exporter;

/* Check the value of an option. */
int export_check_label(const char *value, struct spoor_error *err);
int export_check_push(const char *value, struct spoor_error *err);
int export_check_otlp(const char *value, struct spoor_error *err);

bool export_is_requested(const struct settings *settings);

/* Opens everything that may fail, and sets its callback in the options, after a live view has set its own.
 * There must be no other threads that allocate memory. *ret is NULL if nothing is to be exported. */
int exporter_open(struct settings *settings, struct spoor_options *options,
                  struct exporter **ret, struct spoor_error *err);

/* Called when the job runs. Accepts NULL, like all functions below. */
void exporter_start(struct exporter *exporter);

/* Called after the session has stopped: ends the thread, writes the last sample, and starts to
 * push the remaining samples. */
void exporter_stop(struct exporter *exporter);

/* Waits until the remaining samples are pushed, at most 200 ms after exporter_stop(). */
void exporter_end(struct exporter *exporter);

/* Must be called after the session is closed. Sets the pointer to NULL. */
void exporter_close(struct exporter **handle);

#endif
