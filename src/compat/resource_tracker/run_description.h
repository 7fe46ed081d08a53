/* SPDX-License-Identifier: Apache-2.0 */
/* run_description.h - what describes a run to Sentinel: its options, its command and its machine. */
#ifndef COMPAT_RESOURCE_TRACKER_RUN_DESCRIPTION_H
#define COMPAT_RESOURCE_TRACKER_RUN_DESCRIPTION_H

#include "compat/resource_tracker/options.h"
#include "text/json_writer.h"

/* Adds a JSON object to `ret`. `command` ends with NULL; NULL: there is none. */
void run_description_write(const struct tracker_settings *settings, const char *const *command,
                           struct buffer *ret);

/* Adds members about this machine: host_... and cloud_..., null if unknown. May take seconds. */
void run_description_add_machine(struct json_writer *json);

#endif
