/* SPDX-License-Identifier: Apache-2.0 */
/* template.h - texts with {NAME} in them; {{ is a brace. */
#ifndef FRONT_SPOOR_TEMPLATE_H
#define FRONT_SPOOR_TEMPLATE_H

#include "front/spoor/settings.h"
#include "text/buffer.h"

/* ---- figures for scripts: --print '{elapsed_seconds} {cpu.total_seconds}\n' ----
 *
 * A name is a path of the JSON report; "run." may be omitted. The name of a measure stands for its
 * value. "\n", "\t" and "\\" are escape sequences. The last line ends with a newline. */

/* Checks a template. -EINVAL with a message: no report has this name, or the syntax is wrong.
 * Names of tags, GPUs and other lists depend on the run and are not checked. */
int print_check(const char *template, struct spoor_error *err);

/* Fills in the figures of a JSON report. Unknown figures are "null". */
int print_report(const char *template, const struct buffer *report, struct buffer *out,
                 struct spoor_error *err);

/* ---- names of output files with the run in them: "{name}-{date}-{id}.json" ----
 *
 *     {name} {host} {pid} {date} {time} {id} {rank} {node} {job} {step} {tag.KEY} */

/* Fills in the names of all output files. A slash in a value becomes "_". {id} sets
 * settings->run_id; {pid} is the attached process, or spoor itself; {rank}, {job} and {step}
 * come from the launcher, or are 0; {node} is the launcher's name of the machine, or the
 * host name; times are the current time in UTC. -EINVAL: a name in braces does not exist, or
 * its value is unknown. */
int file_names_fill_in(struct settings *settings, struct spoor_error *err);

/* Returns the value of --tag KEY=VALUE; NULL: there is none. */
const char *run_tag(const struct settings *settings, const char *key);

#endif
