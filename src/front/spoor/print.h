/* SPDX-License-Identifier: Apache-2.0 */
/*
 * print.h - figures for scripts: --print '{elapsed_seconds} {cpu.total_seconds}\n'.
 *
 * A name in braces is a path of the JSON report; those of the section "run" need no section. A measure is its
 * value. "{{", "}}", "\n", "\t" and "\\" are characters. The last line ends with a newline.
 */
#ifndef FRONT_SPOOR_PRINT_H
#define FRONT_SPOOR_PRINT_H

#include "spoor/spoor.h"
#include "text/buffer.h"

/* -EINVAL with a message: no report has this name, or the syntax is wrong. Names of tags,
 * GPUs and other lists depend on the run and are not checked. */
int print_check(const char *template, struct spoor_error *err);

/* Fills in the figures of a JSON report. Unknown figures are "null". */
int print_report(const char *template, const struct buffer *report, struct buffer *out,
                 struct spoor_error *err);

#endif
