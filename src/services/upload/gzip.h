/* SPDX-License-Identifier: Apache-2.0 */
/* gzip.h - compresses in the format of gzip(1). */
#ifndef SERVICES_UPLOAD_GZIP_H
#define SERVICES_UPLOAD_GZIP_H

#include <stddef.h>

#include "text/buffer.h"

/* Adds the compressed bytes to `out`. 0 or -ENOMEM. */
int gzip_add(const char *bytes, size_t size, struct buffer *out);

#endif
