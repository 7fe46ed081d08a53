/* SPDX-License-Identifier: Apache-2.0 */
/* json_check.h - checks that a text is exactly one JSON value (RFC 8259). */
#ifndef TESTS_JSON_CHECK_H
#define TESTS_JSON_CHECK_H

#include <stdbool.h>

/* Whitespace around the value is allowed. The keys of an object must be unique. */
bool json_is_valid(const char *text);

#endif
