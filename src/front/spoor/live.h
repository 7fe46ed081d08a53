/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live.h - shows a run in progress on the terminal of stderr.
 *
 * The view is drawn below the cursor, which stays where it is: output of other programs goes above the view,
 * and the view does not depend on the lines drawn before, which a terminal may wrap when its size changes. A
 * thread draws, since a terminal may stall.
 *
 * With keys, the view belongs to a program that has the terminal for itself: q ends it, typed keys
 * are not shown, Ctrl-Z removes it from the screen while the program is stopped. Without keys, the
 * input and modes of the terminal are left to the job. In the background nothing is drawn.
 */
#ifndef FRONT_SPOOR_LIVE_H
#define FRONT_SPOOR_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <termios.h>

#include "front/spoor/settings.h"
#include "spoor/spoor.h"
#include "text/buffer.h"

/* ---- the screen ---------------------------------------------------------
 *
 * Nothing waits for a terminal that stalls, except the end for a moment. If it has taken a part of a
 * frame, the rest is sent before anything else. The cursor is never hidden, since a terminal that
 * stalls could leave it so.
 */

struct live_screen {
    int fd; /* non-blocking; -1: not open */
    struct buffer unsent;
    bool is_drawn;
    bool has_modes; /* keys are read: the modes of the terminal are ours */
    struct termios modes_before;
};

/* Accepts one that is not open. */
void live_screen_close(struct live_screen *screen);

/* A terminal that is not the controlling one has no foreground. */
bool live_screen_is_in_foreground(const struct live_screen *screen);

/* The room below the cursor. */
void live_screen_read_size(const struct live_screen *screen, size_t *ret_columns,
                           size_t *ret_lines);

/* From now on keys of stdin, if it is a terminal, are read at once and not shown. Keys that send signals
 * still do. */
void live_screen_take_modes(struct live_screen *screen);

/* Replaces the last frame by text of `lines` lines. If the terminal is stalled, it may be dropped. */
void live_screen_draw(struct live_screen *screen, const char *text, size_t lines);

/* Leaves the terminal as it was before. */
void live_screen_clear(struct live_screen *screen);

/* ---- the view -----------------------------------------------------------
 *
 * A curve has columns of equal time, the newest last. A column of a level shows its highest value,
 * a column of a rate the mean over the column.
 */

enum { LIVE_CURVE_COLUMNS = 120, LIVE_ROWS_MAX = 12 };

enum live_scope { LIVE_JOB, LIVE_HOST, LIVE_SCOPE_COUNT };

struct live_curve {
    size_t metric; /* of the sample; its count: there is no such metric */
    double now;    /* NaN: unknown */
    double max;
    double columns[LIVE_CURVE_COLUMNS]; /* NaN: unknown */
    /* of a counter: its latest value, and when; its growth in the newest column, and the time */
    double total, total_seconds, growth, growth_seconds;
};

struct live_view {
    enum live_scope scope;
    double elapsed_seconds;
    double column_seconds; /* that a column stands for */
    double column_start;   /* of the newest column */
    double rate_seconds;   /* a rate is of this long at least */
    struct live_curve curves[LIVE_ROWS_MAX];
};

struct live_style {
    size_t columns, lines; /* room for the text; the last column stays empty */
    bool has_color;
    bool has_unicode;
    const char *hint; /* last line, such as how to end; NULL: none */
};

void live_view_init(struct live_view *view, enum live_scope scope, double interval_seconds);

void live_view_add(struct live_view *view, const struct spoor_sample *sample);

/* Writes the lines to an empty buffer, without an end of line after the last. Returns their number,
 * at most style->lines. `title` must be safe for a terminal. */
size_t live_view_write(const struct live_view *view, const char *title,
                       const struct live_style *style, struct buffer *out);

/* ---- the display -------------------------------------------------------- */

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
