/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cache.h - what a metadata service answered, kept until reboot.
 *
 * The file is $XDG_CACHE_HOME/spoor/cloud.json or ~/.cache/spoor/cloud.json, for the user only. It is a
 * convenience: if it cannot be read or written, or is not ours, the service is asked again.
 */
#ifndef SERVICES_CLOUD_CACHE_H
#define SERVICES_CLOUD_CACHE_H

#include "base/environment.h"
#include "base/root.h"
#include "services/cloud/cloud.h"

/* What the facts belong to; all must be the same for them to be used again. */
struct cloud_cache_key {
    const char *vendor;
    const char *url; /* of the service */
};

/* -ENOENT: there is nothing that can be used. */
int cloud_cache_read(const struct root *root, environment_get *get_variable,
                     const struct cloud_cache_key *key, struct cloud_facts *ret);

void cloud_cache_write(const struct root *root, environment_get *get_variable,
                       const struct cloud_cache_key *key, const struct cloud_facts *facts);

#endif
