/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upload_settings.h - whether and how samples are uploaded, from these variables:
 *
 *     SENTINEL_API_TOKEN          uploads are on if it is set and not empty
 *     SENTINEL_API_URL            of another service
 *     TRACKER_UPLOAD_INTERVAL     seconds between batches, default 60
 *     TRACKER_UPLOAD_DISK_LIMIT   MB of samples that may wait on disk, default 100
 *     TRACKER_UPLOAD_WAIT         seconds that the end of a run waits for the last samples to be
 *                                 sent, default 5
 */
#ifndef SERVICES_UPLOAD_UPLOAD_SETTINGS_H
#define SERVICES_UPLOAD_UPLOAD_SETTINGS_H

#include <stdint.h>

#include "base/environment.h"
#include "spoor/spoor.h"

#define SENTINEL_DEFAULT_URL "https://api.sentinel.sparecores.net"

struct upload_settings {
    char token[4096]; /* empty: nothing is uploaded */
    char url[1024];   /* without a slash at the end */
    uint64_t interval_ns;
    uint64_t disk_limit_bytes;
    uint64_t wait_ns;
};

/* Fails with a message if a variable is not valid, which has the default then. */
int upload_settings_read(environment_get *get, struct upload_settings *ret,
                         struct spoor_error *err);

/* Single values, for other places that they come from. -EINVAL with a message; untouched then. */
int upload_settings_set_token(struct upload_settings *settings, const char *token,
                              struct spoor_error *err);
int upload_settings_set_url(struct upload_settings *settings, const char *url,
                            struct spoor_error *err);
int upload_settings_set_interval(struct upload_settings *settings, double seconds,
                                 struct spoor_error *err);

#endif
