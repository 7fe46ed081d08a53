/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.h - settings from a JSON file: one object whose keys are options.
 *
 *     { "interval": "500ms", "format": "json", "quiet": true, "tag": { "team": "blue" } }
 *
 * A key is the long name of an option, or what its row says. Values are what one would
 * write on the command line, so both are checked by the same code. A repeatable option
 * takes a string, a list of strings, or an object, whose members are KEY=VALUE. One file
 * may serve all commands: keys of other commands are ignored, unknown ones are refused.
 */
#ifndef FRONT_CONFIG_H
#define FRONT_CONFIG_H

#include <stddef.h>

#include "front/arguments.h"

#define CONFIG_MAX_BYTES (1u << 20)

/* Applies the file to what is not set yet. The message starts with the file's name, line
 * and column. */
int config_read(struct arguments *arguments, const char *path, struct spoor_error *err);

/* The same for a text; `path` is what messages call it. */
int config_read_text(struct arguments *arguments, const char *path, const char *text,
                     size_t length, struct spoor_error *err);

#endif
