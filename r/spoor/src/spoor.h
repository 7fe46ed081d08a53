/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPOOR_R_H
#define SPOOR_R_H

#define R_NO_REMAP
#include <Rinternals.h>

/* ---- processes of the program (agent.c) ---------------------------------- */

/* Starts the program at `path` with these arguments, the first of which is the name it runs under.
 * Returns an external pointer, whose finalizer closes it. */
SEXP spoor_open(SEXP path, SEXP arguments);

/* Writes a text to the standard input of the program. FALSE: the program has ended. */
SEXP spoor_send(SEXP pointer, SEXP text);

/* The next line of its standard output, within some seconds. NULL: the program has ended; NA: the
 * time is over. */
SEXP spoor_receive(SEXP pointer, SEXP seconds);

/* Closes the input of the program and waits up to a second for its end. May be repeated. */
SEXP spoor_close(SEXP pointer);

/* Returns memory that R has freed to the system. */
SEXP spoor_trim(void);

/* ---- JSON (json.c) -------------------------------------------------------- */

/* A text as lists: an object is a named list; an array of numbers or of strings a vector, of others a
 * list; null is NULL, in a vector NA. */
SEXP spoor_json(SEXP text);

#endif
