/* SPDX-License-Identifier: Apache-2.0 */
/*
 * escape.h - hostile text made safe for each output.
 *
 * Names and command lines come from the job and may hold anything: control characters, terminal escapes,
 * quotes, line ends, invalid UTF-8. Characters that change how a terminal shows the rest (utf8_is_unsafe) are
 * escaped in every output.
 */
#ifndef TEXT_ESCAPE_H
#define TEXT_ESCAPE_H

#include "text/buffer.h"

/* A JSON string with its quotes. Always valid UTF-8: a byte that is not part of
 * a valid sequence becomes U+FFFD. Unsafe characters are written as \uNNNN. */
void escape_json(const char *text, struct buffer *out);

/* The same as Python's json.dumps() writes it: ASCII only. */
void escape_json_ascii(const char *text, struct buffer *out);

/* A CSV cell, quoted where needed; control characters and invalid bytes as in
 * escape_terminal, so that a row stays one line. */
void escape_csv(const char *text, struct buffer *out);

/* The same for text that has been made safe already: quoted, nothing else. */
void escape_csv_quote(const char *safe, struct buffer *out);

/* A CSV cell as Python's csv module writes it: quoted if it holds a comma, a quote or a line
 * break, and otherwise left as it is. For files that a program reads back. */
void escape_csv_minimal(const char *text, struct buffer *out);

/* The same, but always quoted: as csv.QUOTE_NONNUMERIC does with text. */
void escape_csv_always(const char *text, struct buffer *out);

/* For a terminal: unsafe characters and invalid bytes become \n, \r, \t, \xNN,
 * \uNNNN or \UNNNNNNNN; a backslash is doubled. */
void escape_terminal(const char *text, struct buffer *out);

/* The same, but a backslash stays as it is: for messages and for reports in a predecessor's
 * layout, where ordinary text must not change. */
void escape_unsafe(const char *text, struct buffer *out);

/* Text that is safe on a UTF-8 terminal, for one that may know ASCII only: other
 * characters become \uNNNN or \UNNNNNNNN. Bytes of UTF-8 are controls to some. */
void escape_ascii(const char *safe, struct buffer *out);

/* An argument as a shell takes it, safe for a terminal: as it is, 'quoted', or with
 * escapes as $'a\nb'. Can be pasted. */
void escape_shell(const char *text, struct buffer *out);

/* A command line: its arguments as above, with blanks between. NULL: nothing. */
void escape_command(const char *const *arguments, struct buffer *out);

/* A part of a URL, such as the name of a directory or a value of its query: whatever is not a
 * letter, a digit or one of "-._~" becomes %NN. */
void escape_url(const char *text, struct buffer *out);

/* A path of a URL: the same, with its slashes. */
void escape_url_path(const char *path, struct buffer *out);

#endif
