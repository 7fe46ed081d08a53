/* SPDX-License-Identifier: Apache-2.0 */
/* failing.h - what failing.c shares with the test: see failing.c. failures.py knows the layout. */
#ifndef TESTS_TORTURE_FAILING_H
#define TESTS_TORTURE_FAILING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { FAILING_FRAMES = 24, FAILING_SITES = 1 << 17 };

struct failing_state {
    _Atomic uint64_t count;          /* calls of the kind */
    _Atomic uint64_t matches;        /* of the wanted call site */
    _Atomic uint64_t failed;         /* that were made to fail */
    uint64_t frames[FAILING_FRAMES]; /* return addresses of the first that failed, then 0 */
    uint64_t sites[FAILING_SITES];   /* of every call, in order */
};

/* How a call fails, if not with an error number. */
enum { HOW_SHORT = -1, HOW_EMPTY = -2 };
extern int failing_how;

/* Whether calls of this kind are looked at. */
bool failing_wants(const char *kind);

/* Whether this call is to fail. errno is unchanged otherwise. */
bool failing_hits(const char *kind);

/* Sets errno and returns -1, or NULL. */
int failing_fail(void);
void *failing_null(void);

/* Calls of this thread are not looked at meanwhile. */
extern __thread bool failing_is_busy;

/* The function that a function of this name replaces. */
void *failing_next(const char *name);
#define NEXT(name)                 \
    static __typeof__(&name) next; \
    if (!next)                     \
    next = (__typeof__(&name))failing_next(#name)

/* For a program that is tested: no call counts or fails meanwhile. */
void failing_hold(bool holds);

/* Blocks that were allocated and not freed. */
long failing_live_blocks(void);

#endif
