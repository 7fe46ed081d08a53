/* SPDX-License-Identifier: Apache-2.0 */
/* read_file.h - a whole file in memory. */
#ifndef FRONT_COMMON_READ_FILE_H
#define FRONT_COMMON_READ_FILE_H

#include <stddef.h>

/* Reads a file of less than `max_bytes`. The caller frees *ret, which ends with a NUL that
 * *ret_length does not count. 0 or -errno; -EFBIG: it is larger. */
int read_file(const char *path, size_t max_bytes, char **ret, size_t *ret_length);

#endif
