/* SPDX-License-Identifier: Apache-2.0 */
/* tracking_load.h - a tracking file of gpu-tracker as a record: compat/tracking/tracking_load.c. */
#ifndef RECORD_TRACKING_LOAD_H
#define RECORD_TRACKING_LOAD_H

#include "record/load.h"

/* Every message names the file. On success the caller ends *ret with records_done(). */
int tracking_load(const char *path, const char *name, struct records *ret,
                  struct spoor_error *err);

#endif
