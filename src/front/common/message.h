/* SPDX-License-Identifier: Apache-2.0 */
/* message.h - the one way in which the programs speak on stderr. */
#ifndef FRONT_COMMON_MESSAGE_H
#define FRONT_COMMON_MESSAGE_H

#include <stddef.h>

#include "base/compiler.h"

/* Exit code when we ourselves fail before the job starts. */
#define EXIT_OWN_FAILURE 125

/* Writes "spoor: ...\n" to stderr in one piece. Control characters are shown as
 * '?': a message may quote a file or a name. Returns EXIT_OWN_FAILURE. */
int complain(const char *fmt, ...) PRINTF_LIKE(1, 2);

#endif
