/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPOOR_R_H
#define SPOOR_R_H

#define R_NO_REMAP
#include <Rinternals.h>

/* ---- processes of the program (agent.c) ---------------------------------- */

/* Starts the program at `path` with these arguments, the first of which is the name under
 * which it runs. Returns an external pointer, whose finalizer closes the agent. */
SEXP spoor_open(SEXP path, SEXP arguments);

/* Writes a text to the standard input of the program. Returns FALSE if the program has
 * exited. */
SEXP spoor_send(SEXP pointer, SEXP text);

/* Returns the next line of the program's standard output. NULL: the program has exited; NA:
 * no line within `seconds`. */
SEXP spoor_receive(SEXP pointer, SEXP seconds);

/* Closes the input of the program and waits up to a second until it exits. May be called
 * again. */
SEXP spoor_close(SEXP pointer);

/* Returns memory that R has freed to the system. */
SEXP spoor_trim(void);

/* ---- JSON (json.c) -------------------------------------------------------- */

/* Converts JSON text to lists: an object becomes a named list; an array of numbers or of
 * strings a vector, any other array a list; null becomes NULL, or NA in a vector. */
SEXP spoor_json(SEXP text);

#endif
