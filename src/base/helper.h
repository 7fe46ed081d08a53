/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helper.h - calls that may hang, such as those of a GPU driver or a disk that does not respond,
 * made in a thread that can be left behind.
 *
 * The helper owns the data of its calls. The caller uses them only while no call is under way.
 */
#ifndef BASE_HELPER_H
#define BASE_HELPER_H

#include <stdbool.h>
#include <stdint.h>

struct helper;

struct helper_work {
    const char *name; /* of the thread, at most 15 bytes */
    void (*call)(void *data);
    void (*release)(void *data); /* frees the data: when the helper is closed or, if it was left
                                    behind, when its call returns */
};

/* On failure the data stay the caller's. */
int helper_open(const struct helper_work *work, void *data, struct helper **ret);

/* Ends it, or leaves it behind if a call is under way. Accepts NULL; always returns NULL. */
struct helper *helper_close(struct helper *helper);

/* Starts a call. The last one must have ended. */
int helper_start(struct helper *helper);

/* Whether no call is under way; waits for that until `deadline_ns` (monotonic; 0: not at all). */
bool helper_wait(struct helper *helper, uint64_t deadline_ns);

#endif
