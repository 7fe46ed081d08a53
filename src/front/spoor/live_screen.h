/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_screen.h - the terminal of stderr, for text that is drawn below the cursor again and again.
 *
 * Nothing waits for a terminal that stalls, except the end for a moment. If it has taken a part of a
 * frame, the rest is sent before anything else. The cursor is never hidden, since a terminal that
 * stalls could leave it so.
 */
#ifndef FRONT_SPOOR_LIVE_SCREEN_H
#define FRONT_SPOOR_LIVE_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

#include "text/buffer.h"

struct live_screen {
    int fd; /* non-blocking; -1: not open */
    struct buffer unsent;
    bool is_drawn;
    bool has_modes; /* keys are read: the modes of the terminal are ours */
    struct termios modes_before;
};

/* 0 or -errno: then there is no view, since stderr itself may block. */
int live_screen_open(struct live_screen *screen);

/* Accepts one that is not open. */
void live_screen_close(struct live_screen *screen);

/* A terminal that is not the controlling one has no foreground. */
bool live_screen_is_in_foreground(const struct live_screen *screen);

/* The room below the cursor. */
void live_screen_read_size(const struct live_screen *screen, size_t *ret_columns,
                           size_t *ret_lines);

/* From now on keys of stdin, if it is a terminal, are read at once and not shown. Those that send
 * signals still do. */
void live_screen_take_modes(struct live_screen *screen);

/* Replaces what was drawn before by text of so many lines. If the terminal is stalled, it may be
 * dropped. */
void live_screen_draw(struct live_screen *screen, const char *text, size_t lines);

/* Leaves the terminal as it was before. */
void live_screen_clear(struct live_screen *screen);

#endif
