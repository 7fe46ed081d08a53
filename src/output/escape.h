/* SPDX-License-Identifier: Apache-2.0 */
/*
 * escape.h - hostile text made safe for each output.
 *
 * Names and command lines come from the job and may hold anything: control
 * characters, terminal escapes, quotes, line ends, invalid UTF-8.
 */
#ifndef OUTPUT_ESCAPE_H
#define OUTPUT_ESCAPE_H

#include "output/buffer.h"

/* A JSON string with its quotes. Always valid UTF-8: a byte that is not part of
 * a valid sequence becomes U+FFFD. */
void escape_json(const char *text, struct buffer *out);

/* A CSV cell, quoted where needed; control characters and invalid bytes as in
 * escape_terminal, so that a row stays one line. */
void escape_csv(const char *text, struct buffer *out);

/* For a terminal: control characters (C0, DEL, C1), bidirectional overrides and
 * invalid bytes become \n, \t, \xNN or \uNNNN; a backslash is doubled. */
void escape_terminal(const char *text, struct buffer *out);

/* An argument as a shell would need it quoted, then made safe for a terminal. */
void escape_shell(const char *text, struct buffer *out);

#endif
