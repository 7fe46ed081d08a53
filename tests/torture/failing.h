/* SPDX-License-Identifier: Apache-2.0 */
/* failing.h - state that failing.c shares with the test. failures.py reads the same layout. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { FAILING_FRAMES = 24, FAILING_SITES = 1 << 17 };

struct failing_state {
    _Atomic uint64_t count;          /* calls of the kind */
    _Atomic uint64_t matches;        /* calls from the selected call site */
    _Atomic uint64_t failed;         /* calls that were made to fail */
    uint64_t frames[FAILING_FRAMES]; /* return addresses of the first failed call, then 0 */
    uint64_t sites[FAILING_SITES];   /* call site of every call, in order */
};

/* How a call fails, if not with an error number. */
enum { HOW_SHORT = -1, HOW_EMPTY = -2 };
extern int failing_how;

/* Returns whether calls of this kind are counted. */
bool failing_wants(const char *kind);

/* Counts the call and returns whether it must fail. Does not change errno. */
bool failing_hits(const char *kind);

/* Sets errno and returns -1, or NULL. */
int failing_fail(void);
void *failing_null(void);

/* While true, calls made by this thread are not counted. */
extern __thread bool failing_is_busy;

/* Returns the function with this name that this library replaces. */
void *failing_next(const char *name);
#define NEXT(name)                 \
    static __typeof__(&name) next; \
    if (!next)                     \
    next = (__typeof__(&name))failing_next(#name)

/* Called by the tested program: while held, no call counts or fails. */
void failing_hold(bool holds);

/* Returns the number of blocks that were allocated and not freed. */
long failing_live_blocks(void);
