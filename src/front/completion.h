/* SPDX-License-Identifier: Apache-2.0 */
/*
 * completion.h - what may stand at the end of a command line, for the scripts in docs/completion.
 *
 * Each line is a word and, behind a tab, what it means. These ask the shell: <files>, <commands> and
 * <processes> for such, <command> N for what it would offer if the command line began with word N,
 * where word 0 is the name of the program.
 */
#ifndef FRONT_COMPLETION_H
#define FRONT_COMPLETION_H

#include <stdio.h>

#include "front/program.h"

/* `words`: those behind the name of the program. The last one, which may be empty, is to be completed. */
void completion_write(FILE *out, const struct program *program, char **words, int count);

#endif
