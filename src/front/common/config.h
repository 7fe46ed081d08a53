/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.h - settings from a JSON file: one object whose keys are long options.
 *
 *     { "interval": "500ms", "format": "json", "quiet": true,
 *       "tag": { "team": "blue" } }
 *
 * Values are texts, numbers and booleans; "tag" takes a text, a list of texts or
 * an object. A file may serve all commands: what a command does not have is
 * passed over, what none has is refused with its line and column.
 */
#ifndef FRONT_COMMON_CONFIG_H
#define FRONT_COMMON_CONFIG_H

#include <stddef.h>
#include <stdint.h>

#include "front/common/settings.h"

#define CONFIG_MAX_BYTES (1u << 20)

/* Applies the file to what `given` leaves open. The message starts with the file's
 * name, line and column. */
int config_apply(const char *path, unsigned scope, uint32_t given,
                 struct cli_settings *settings, struct spoor_error *err);

/* The same for a text; `path` is what messages call it. */
int config_apply_text(const char *path, const char *text, size_t length, unsigned scope,
                      uint32_t given, struct cli_settings *settings, struct spoor_error *err);

/* Where the key number `index` (from 0) of the outermost object starts, from 1. The
 * text is valid JSON. */
void config_key_position(const char *text, size_t length, size_t index, unsigned *ret_line,
                         unsigned *ret_column);

#endif
