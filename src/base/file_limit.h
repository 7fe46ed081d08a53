/* SPDX-License-Identifier: Apache-2.0 */
/* file_limit.h - how many files this process may have open. */
#ifndef BASE_FILE_LIMIT_H
#define BASE_FILE_LIMIT_H

#include <stdbool.h>

/* Raises the limit to its maximum. Not in a process that starts the job later: the job keeps the
 * limit it would have without us. */
void file_limit_raise(void);

/* Whether a file may stay open. The last descriptors below the limit are left free, so that files
 * which are opened for one read can always be read. */
bool file_limit_allows(int fd);

#endif
