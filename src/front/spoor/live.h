/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live.h - shows a run in progress on the terminal of stderr: a view of many lines, or one line.
 *
 * The view is drawn below the cursor, which stays where it is: output of other programs goes above the view,
 * and the view does not depend on the lines drawn before, which a terminal may wrap when its size changes. A
 * thread draws, since a terminal may stall.
 *
 * With keys, the view belongs to a program that has the terminal for itself: q ends the
 * program, typed keys are not shown, Ctrl-Z removes the view from the screen while the program is
 * stopped. Without keys, the input and modes of the terminal are left to the job. In the
 * background nothing is drawn.
 *
 * The one line is the last of the terminal; all other lines scroll above it, so that a job can write to
 * the same terminal.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <termios.h>

#include "front/spoor/settings.h"
#include "output/text_layout.h"
#include "spoor/spoor.h"
#include "text/buffer.h"

/* ---- the screen ---------------------------------------------------------
 *
 * No function waits for a terminal that stalls; only live_screen_clear() does, for a moment. If the terminal
 * has accepted a part of a frame, the rest is sent first. The cursor is never hidden: it would stay hidden on
 * a terminal that stalls.
 */

struct live_screen {
    int fd; /* non-blocking; -1: not open */
    struct buffer unsent;
    bool is_drawn;
    bool has_modes; /* keys are read: the modes of the terminal are ours */
    struct termios modes_before;
    struct helper *writer; /* writes the one line; NULL: there is no such line */
    struct line_text *line;
    size_t line_row; /* the row of the line; 0: it is not shown */
};

/* Accepts a screen that is not open. */
void live_screen_close(struct live_screen *screen);

/* Only the controlling terminal has a foreground process group: for any other terminal, returns
 * true. */
bool live_screen_is_in_foreground(const struct live_screen *screen);

/* Returns the size of the space below the cursor. */
void live_screen_read_size(const struct live_screen *screen, size_t *ret_columns,
                           size_t *ret_lines);

/* From now on, reads keys from stdin, if it is a terminal, unbuffered and without echo. Keys
 * that send signals still do so. */
void live_screen_take_modes(struct live_screen *screen);

/* Replaces the last frame by text of `lines` lines. If the terminal is stalled, the text may
 * be dropped. */
void live_screen_draw(struct live_screen *screen, const char *text, size_t lines);

/* Removes the view from the terminal. */
void live_screen_clear(struct live_screen *screen);

/* ---- the view -----------------------------------------------------------
 *
 * A curve has columns of equal time, the newest last. A column of a level shows its highest value,
 * a column of a rate the mean over the column. On the screen, the columns so far fill the width.
 *
 * The processes with the most CPU and memory are shown as a tree: each below its nearest
 * ancestor that is also shown.
 */

enum {
    LIVE_CURVE_COLUMNS = 240,
    LIVE_ROWS_MAX = 12,
    LIVE_GPUS_MAX = 32,
    LIVE_PROCESSES_MAX = 64,
};

enum live_scope { LIVE_JOB, LIVE_HOST, LIVE_SCOPE_COUNT };

struct live_curve {
    size_t metric; /* index in the sample; the number of metrics: there is no such metric */
    double now;    /* NaN: unknown */
    double max;
    double columns[LIVE_CURVE_COLUMNS]; /* NaN: unknown */
    /* For a counter: the latest value and when it was read; the increase in the newest column
     * and the time that this increase covers. */
    double total, total_seconds, growth, growth_seconds;
};

struct live_process {
    pid_t pid;
    size_t place;  /* position among all processes; the first started come first */
    size_t parent; /* index of the parent in the view; SIZE_MAX: not in the view */
    double cores;  /* since the last sample; NaN: unknown */
    double rss_bytes;
    double rank;      /* rank by CPU and memory */
    bool has_command; /* the text is a command line, safe for a terminal; otherwise a name */
    char text[160];
};

/* A process at an earlier sample. */
struct live_usage {
    pid_t pid;
    double cpu_seconds, cores;
};

/* The caller frees the members with live_view_done(). */
struct live_view {
    enum live_scope scope;
    double elapsed_seconds;
    double usual_seconds;  /* usual time of earlier runs of this name; NaN: unknown */
    double column_seconds; /* time that a column covers */
    double column_start;   /* start of the newest column */
    double rate_seconds;   /* rates are computed over at least this time */
    size_t column_count;   /* number of columns that have begun */
    struct live_curve curves[LIVE_ROWS_MAX];
    double cpu_limit, memory_limit_bytes; /* NaN: none */
    struct spoor_gpu_sample gpus[LIVE_GPUS_MAX];
    size_t gpu_count;
    struct live_process processes[LIVE_PROCESSES_MAX]; /* by rank */
    size_t process_count, process_total;
    struct live_usage *usage; /* usage of all processes; owned */
    size_t usage_count;
    double usage_seconds; /* time of `usage` */
};

struct live_style {
    size_t columns, lines; /* room for the text; the last column stays empty */
    bool has_color;
    bool has_unicode;
    const char *hint; /* last line, such as how to end; NULL: none */
};

/* Returns the page of a style; its lines are one column shorter. */
static inline struct page live_page(const struct live_style *style, struct buffer *out)
{
    return (struct page){ out, style->has_color, style->has_unicode,
                          style->columns > 0 ? style->columns - 1 : 0 };
}

void live_view_init(struct live_view *view, enum live_scope scope, double interval_seconds);
void live_view_done(struct live_view *view);

void live_view_add(struct live_view *view, const struct spoor_sample *sample);

/* Writes the lines to an empty buffer, without an end of line after the last. Returns their number,
 * at most style->lines. `title` must be safe for a terminal. */
size_t live_view_write(const struct live_view *view, const char *title,
                       const struct live_style *style, struct buffer *out);

/* Writes the time and as many figures as fit in one line. */
void live_view_write_line(const struct live_view *view, const struct live_style *style,
                          struct buffer *out);

/* ---- the display -------------------------------------------------------- */

struct live;

/* Writes the text of a view, like live_view_write(). */
typedef size_t live_write(void *data, const struct live_style *style, struct buffer *out);

struct live_options {
    const char *title; /* safe for a UTF-8 terminal */
    const char
        *name; /* name of the run, to look up its usual time in the history; NULL: unknown */
    enum live_scope scope;
    uint64_t interval_ns;
    bool has_color;
    bool has_keys;
    bool is_line;      /* one line at the bottom */
    live_write *write; /* called every second instead of showing samples; NULL: none */
    void *write_data;
};

/* Whether stderr is a terminal that can show a view. */
bool live_is_possible(void);

/* Whether stdout is the same terminal as stderr. */
bool live_shares_stdout(void);

/* A session passes its samples to the view, see live_begin(). Nothing is drawn before
 * live_start(). live_stop() removes the view from the screen and restores the terminal. The view
 * must not be closed before the session. live_open() returns NULL if it fails; live_stop() and
 * live_close() accept NULL, and live_close() sets the pointer to it. */
struct live *live_open(const struct live_options *options, struct spoor_error *err);
int live_start(struct live *live, struct spoor_error *err);
void live_stop(struct live *live);
void live_close(struct live **view);

/* Opens a view, if the settings and the terminal allow it, and sets the options. `has_keys`: for a command that has the
 * terminal for itself; the view is started, too. NULL: there is no view. */
struct live *live_begin(const struct settings *settings, const struct buffer *title,
                        bool has_keys, struct spoor_options *options);

/* Returns a descriptor that is readable when the user has pressed q; -1 if `live` is NULL. */
int live_end_fd(const struct live *live);

/* Removes the view until it is shown again. */
void live_hide(struct live *live, bool is_hidden);
