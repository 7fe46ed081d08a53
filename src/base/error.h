/* SPDX-License-Identifier: Apache-2.0 */
/*
 * error.h - how a failure is described on its way up to the caller.
 *
 * Each function returns -code, so that one line describes and returns:
 *
 *     return error_set(err, EINVAL, "interval must be positive");
 *     return error_sys(err, r, "open '%s'", path);    adds ": No such file..."
 *     return error_prefix(err, r, "sampling");        adds "sampling: " in front
 *
 * `code` is an errno value, positive or negative. `err` may be NULL. A message
 * that does not fit is truncated, never overrun.
 */
#pragma once

#include "base/compiler.h"
#include "spoor/spoor.h"

int error_set(struct spoor_error *err, int code, const char *fmt, ...) PRINTF_LIKE(3, 4);
int error_sys(struct spoor_error *err, int code, const char *fmt, ...) PRINTF_LIKE(3, 4);
int error_prefix(struct spoor_error *err, int code, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* ---- Names of signals. sigabbrev_np() would need glibc 2.32; musl does not have it --- */

/* Returns a name such as "SIGHUP"; NULL: a real-time signal, or not a signal. */
const char *signal_name(int number);
