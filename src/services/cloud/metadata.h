/* SPDX-License-Identifier: Apache-2.0 */
/* metadata.h - asks the metadata service of a cloud. */
#ifndef SERVICES_CLOUD_METADATA_H
#define SERVICES_CLOUD_METADATA_H

#include <stdint.h>

#include "services/cloud/cloud.h"
#include "services/cloud/vendor.h"

/* Makes all requests to the service at `url`, never through a proxy, within the time that is given. Adds
 * to the facts, the vendor included; what was answered before a failure stays. Errors are those of
 * http_send(), and: -ENOENT: status 404; -EPROTO: status of another failure; -EBADMSG: not the answer of
 * such a service. */
int metadata_ask(const struct cloud_vendor *vendor, const char *url, uint64_t timeout_ms,
                 struct cloud_facts *facts, struct spoor_error *err);

#endif
