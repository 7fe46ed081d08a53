/* SPDX-License-Identifier: Apache-2.0 */
/* message.h - how the programs write messages to stderr. */
#ifndef FRONT_COMMON_MESSAGE_H
#define FRONT_COMMON_MESSAGE_H

#include <stdarg.h>

#include "base/compiler.h"

/* Writes the prefix, the message and a newline in one piece. Control characters are
 * shown as '?': a message may quote a file or a name. */
void message_write(const char *prefix, const char *fmt, va_list args) PRINTF_LIKE(2, 0);

/* Replaces what a terminal could take for a command: C0, DEL and C1 characters. */
void message_clean(char *text);

#endif
