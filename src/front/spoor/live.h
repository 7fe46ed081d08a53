/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live.h - shows a run in progress on the terminal of stderr.
 *
 * The view is drawn below the cursor, which stays where it is: what others write to the terminal
 * goes above the view, and nothing has to be known about the lines drawn before, which a terminal
 * may wrap when its size changes. A thread draws, since a terminal may stall.
 *
 * With keys, the view belongs to a program that has the terminal for itself: q ends it, typed keys
 * are not shown, Ctrl-Z removes it from the screen while the program is stopped. Without keys, the
 * input and modes of the terminal are left to the job. In the background nothing is drawn.
 */
#ifndef FRONT_SPOOR_LIVE_H
#define FRONT_SPOOR_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "front/spoor/live_view.h"
#include "front/spoor/settings.h"
#include "spoor/spoor.h"

struct live;

struct live_options {
    const char *title; /* safe for a UTF-8 terminal */
    enum live_scope scope;
    uint64_t interval_ns;
    bool has_color;
    bool has_keys;
};

/* Whether stderr is a terminal that can show a view. */
bool live_is_possible(void);

/* Whether stdout is the terminal of stderr, too. */
bool live_shares_stdout(void);

/* The caller passes live_sample_seen() and the view to a session. Nothing is drawn before
 * live_start(). live_stop() removes the view from the screen and restores the terminal. The view
 * must not be closed before the session. live_open() returns NULL if it fails; live_stop() and
 * live_close() accept NULL, and live_close() returns it. */
struct live *live_open(const struct live_options *options, struct spoor_error *err);
int live_start(struct live *live, struct spoor_error *err);
void live_stop(struct live *live);
struct live *live_close(struct live *live);

spoor_sample_seen live_sample_seen;

/* For a command that has the terminal for itself: opens and starts a view with keys if the settings
 * and the terminal allow it, and enters it into the options. NULL: there is none. */
struct live *live_begin(const struct settings *settings, enum live_scope scope,
                        const char *title, struct spoor_options *options);

/* Readable when the user has pressed q; -1 if `live` is NULL. */
int live_end_fd(const struct live *live);

/* For CLEANUP. */
static inline void live_cleanup(struct live **live)
{
    *live = live_close(*live);
}

/* Removes the view until it is shown again. */
void live_hide(struct live *live, bool is_hidden);

#endif
