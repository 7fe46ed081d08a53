/* SPDX-License-Identifier: Apache-2.0 */
/*
 * escape.h - makes hostile text safe for each output.
 *
 * Names and command lines come from the job and may hold anything: control characters, terminal
 * escapes, quotes, line ends, invalid UTF-8. Characters that change how a terminal shows the
 * rest (utf8_is_unsafe) are escaped in every output.
 */
#pragma once

#include "text/buffer.h"

/* Writes a JSON string with its quotes. Always valid UTF-8: a byte that is not part of a
 * valid sequence becomes U+FFFD. Unsafe characters are written as \uNNNN. */
void escape_json(const char *text, struct buffer *out);

/* Writes a JSON string as Python's json.dumps() does: ASCII only. */
void escape_json_ascii(const char *text, struct buffer *out);

/* Writes a CSV cell, quoted if needed; control characters and invalid bytes as in
 * escape_terminal, so that a row stays one line. */
void escape_csv(const char *text, struct buffer *out);

/* Writes text that is already safe as a CSV cell: only adds quotes, if needed. */
void escape_csv_quote(const char *safe, struct buffer *out);

/* Writes a CSV cell as Python's csv module does: quoted if it contains a comma, a quote or a
 * line break, and otherwise unchanged. For files that a program reads back. */
void escape_csv_minimal(const char *text, struct buffer *out);

/* Like escape_csv_minimal(), but always quotes, as csv.QUOTE_NONNUMERIC does with text. */
void escape_csv_always(const char *text, struct buffer *out);

/* Writes text for a terminal: unsafe characters and invalid bytes become \n, \r, \t, \xNN,
 * \uNNNN or \UNNNNNNNN; a backslash is doubled. */
void escape_terminal(const char *text, struct buffer *out);

/* Like escape_terminal(), but leaves backslashes unchanged: for messages and for reports in a
 * predecessor's layout, where ordinary text must not change. */
void escape_unsafe(const char *text, struct buffer *out);

/* Writes text that is safe on a UTF-8 terminal for a terminal that may support ASCII only:
 * other characters become \uNNNN or \UNNNNNNNN. Some terminals interpret bytes of UTF-8 as
 * controls. */
void escape_ascii(const char *safe, struct buffer *out);

/* Writes an argument in shell quoting, safe for a terminal: unchanged, 'quoted', or with
 * escapes as $'a\nb'. The result can be pasted. */
void escape_shell(const char *text, struct buffer *out);

/* Writes a command line: its arguments, each as by escape_shell(), separated by blanks. NULL:
 * nothing. */
void escape_command(const char *const *arguments, struct buffer *out);

/* Writes a part of a URL, such as the name of a directory or a value of its query:
 * everything except letters, digits and "-._~" becomes %NN. */
void escape_url(const char *text, struct buffer *out);

/* Writes the path of a URL: like escape_url(), but keeps slashes. */
void escape_url_path(const char *path, struct buffer *out);
