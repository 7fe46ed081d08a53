/* SPDX-License-Identifier: Apache-2.0 */
#include "front/spoor/live.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/error.h"
#include "base/helper.h"
#include "front/spoor/outputs.h"
#include "front/spoor/program.h"
#include "output/chart.h"
#include "output/format.h"
#include "output/stream.h"
#include "output/text_layout.h"
#include "run/signals.h"
#include "text/escape.h"
#include "text/number.h"
#include "text/utf8.h"

/* ---- the screen --------------------------------------------------------- */

/* A terminal that takes nothing for this long is stalled. */
enum { STALLED_MS = 100 };

/* 0 or -errno: then there is no view, since stderr itself may block. After su(1), for example, the terminal
 * belongs to another user: it can only be opened as the controlling one. */
static int live_screen_open(struct live_screen *screen)
{
    const int flags = O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    int fd = open("/proc/self/fd/2", flags);
    int r = fd < 0 ? -errno : 0;

    if (fd < 0 && tcgetsid(STDERR_FILENO) == getsid(0))
        fd = open("/dev/tty", flags);
    *screen = (struct live_screen){ .fd = fd };
    return fd < 0 ? r : 0;
}

void live_screen_close(struct live_screen *screen)
{
    if (screen->fd >= 0)
        close(screen->fd);
    screen->fd = -1;
    buffer_done(&screen->unsent);
}

bool live_screen_is_in_foreground(const struct live_screen *screen)
{
    pid_t group = tcgetpgrp(screen->fd);

    return group < 0 || group == getpgrp();
}

void live_screen_read_size(const struct live_screen *screen, size_t *ret_columns,
                           size_t *ret_lines)
{
    struct winsize size = { 0 };

    (void)ioctl(screen->fd, TIOCGWINSZ, &size); /* terminals of some programs report no size */
    *ret_columns = size.ws_col > 0 ? size.ws_col : 80;
    *ret_lines = size.ws_row > 0 ? size.ws_row - 1u : 23; /* the cursor has the first */
}

void live_screen_take_modes(struct live_screen *screen)
{
    struct termios modes;

    if (screen->has_modes || tcgetattr(STDIN_FILENO, &screen->modes_before) < 0)
        return;
    modes = screen->modes_before;
    modes.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    modes.c_cc[VMIN] = modes.c_cc[VTIME] = 0; /* a read never waits */
    screen->has_modes = tcsetattr(STDIN_FILENO, TCSANOW, &modes) == 0;
}

/* Writes as much as the terminal accepts; waits for it if it makes progress within `stalled_ms`. */
static void send_unsent(struct live_screen *screen, int stalled_ms)
{
    struct pollfd ready = { .fd = screen->fd, .events = POLLOUT };
    struct buffer *unsent = &screen->unsent;
    size_t sent = 0;
    ssize_t n = 1;

    while (n > 0 && sent < unsent->length && poll(&ready, 1, stalled_ms) == 1 &&
           ready.revents == POLLOUT) {
        n = write(screen->fd, unsent->text + sent, unsent->length - sent);
        if (n > 0)
            sent += (size_t)n;
    }
    if (sent > 0)
        memmove(unsent->text, unsent->text + sent, unsent->length - sent);
    unsent->length -= sent;
}

static void add_frame(const char *text, size_t lines, struct buffer *out)
{
    /* Makes room below the cursor and saves where it is. */
    buffer_add_text(out, "\033[K");
    for (size_t i = 0; i < lines; i++)
        buffer_add_text(out, "\033D");
    buffer_format(out, "\033[%zuA\0337\r\n", lines);
    for (const char *end; (end = strchr(text, '\n')); text = end + 1) {
        buffer_add(out, text, (size_t)(end - text));
        buffer_add_text(out, "\033[K\r\n");
    }
    buffer_add_text(out, text);
    buffer_add_text(out, "\033[J\0338");
}

void live_screen_draw(struct live_screen *screen, const char *text, size_t lines)
{
    size_t length;

    send_unsent(screen, 0);
    if (screen->unsent.length > 0)
        return;
    buffer_clear(&screen->unsent);
    add_frame(text, lines, &screen->unsent);
    length = screen->unsent.length;
    if (buffer_error(&screen->unsent) == 0)
        send_unsent(screen, 0);
    if (screen->unsent.length == length)
        buffer_clear(&screen->unsent);
    else
        screen->is_drawn = true;
}

void live_screen_clear(struct live_screen *screen)
{
    if (screen->is_drawn) {
        buffer_add_text(&screen->unsent, "\033[J");
        send_unsent(screen, STALLED_MS);
    }
    if (screen->has_modes)
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &screen->modes_before);
    screen->is_drawn = screen->has_modes = false;
}

/* ---- the view ----------------------------------------------------------- */

/* A column stands for this long at least, so that a curve shows some minutes. */
#define COLUMN_SECONDS 2.0

/* A line of a row: label, value, curve and the largest value, each padded to its width. */
enum {
    LABEL_WIDTH = 13,
    VALUE_WIDTH = 12,
    CURVE_START = LABEL_WIDTH + VALUE_WIDTH,
    CURVE_MIN = 10,
    MAX_WIDTH = 18
};
enum { FRAME_LINES_MIN = 5 }; /* with fewer there is no headline and no footer */

enum live_unit {
    LIVE_CORES,
    LIVE_BYTES,
    LIVE_BYTES_PER_SECOND,
    LIVE_GPUS,
    LIVE_COUNT,
    LIVE_SHARE
};

/* In the order of the screen: the last ones are left out if there is no room. */
struct live_row {
    const char *label;
    const char *metric;
    enum live_unit unit;
};

static const struct live_row rows[LIVE_SCOPE_COUNT][LIVE_ROWS_MAX] = {
    [LIVE_JOB] = {
        { "CPU", "job_cpu_seconds", LIVE_CORES },
        { "Memory", "job_rss_bytes", LIVE_BYTES },
        { "GPUs", "job_gpu_utilization_gpus", LIVE_GPUS },
        { "GPU memory", "job_gpu_memory_bytes", LIVE_BYTES },
        { "Read", "job_read_bytes", LIVE_BYTES_PER_SECOND },
        { "Written", "job_written_bytes", LIVE_BYTES_PER_SECOND },
        { "Processes", "job_processes", LIVE_COUNT },
        { "Threads", "job_threads", LIVE_COUNT },
        { "Host CPU", "host_cpu_seconds", LIVE_CORES },
        { "Host memory", "host_memory_used_bytes", LIVE_BYTES },
    },
    [LIVE_HOST] = {
        { "CPU", "host_cpu_seconds", LIVE_CORES },
        { "Memory", "host_memory_used_bytes", LIVE_BYTES },
        { "Swap", "host_swap_used_bytes", LIVE_BYTES },
        { "GPUs", "host_gpu_utilization_gpus", LIVE_GPUS },
        { "GPU memory", "host_gpu_memory_bytes", LIVE_BYTES },
        { "Disk read", "host_disk_read_bytes", LIVE_BYTES_PER_SECOND },
        { "Disk write", "host_disk_written_bytes", LIVE_BYTES_PER_SECOND },
        { "Received", "host_network_received_bytes", LIVE_BYTES_PER_SECOND },
        { "Sent", "host_network_sent_bytes", LIVE_BYTES_PER_SECOND },
        { "CPU wait", "host_cpu_pressure_seconds", LIVE_SHARE },
        { "Memory wait", "host_memory_pressure_seconds", LIVE_SHARE },
        { "I/O wait", "host_io_pressure_seconds", LIVE_SHARE },
    },
};

/* ---- samples ------------------------------------------------------------ */

static size_t find_metric(const char *name)
{
    size_t count = spoor_metric_count(), i;

    for (i = 0; i < count && name && strcmp(spoor_metric_get(i)->name, name) != 0; i++)
        ;
    return name ? i : count;
}

void live_view_init(struct live_view *view, enum live_scope scope, double interval_seconds)
{
    *view = (struct live_view){
        .scope = scope,
        .column_seconds = fmax(interval_seconds, COLUMN_SECONDS),
        .rate_seconds = interval_seconds / 2,
    };
    for (size_t i = 0; i < LIVE_ROWS_MAX; i++) {
        struct live_curve *curve = &view->curves[i];

        *curve = (struct live_curve){ .metric = find_metric(rows[scope][i].metric) };
        curve->now = curve->max = curve->total = (double)NAN;
        for (size_t j = 0; j < LIVE_CURVE_COLUMNS; j++)
            curve->columns[j] = (double)NAN;
    }
}

/* NaN is below every number. */
static void raise_value(double *value, double seen)
{
    if (isnan(*value) || seen > *value)
        *value = seen;
}

/* Begins new columns if the newest is full; columns without a sample are unknown. */
static void shift_columns(struct live_view *view, double elapsed_seconds)
{
    double passed = floor((elapsed_seconds - view->column_start) / view->column_seconds);
    size_t count = passed < LIVE_CURVE_COLUMNS ? (size_t)passed : LIVE_CURVE_COLUMNS;

    if (!(passed >= 1))
        return;
    for (size_t i = 0; i < LIVE_ROWS_MAX; i++) {
        struct live_curve *curve = &view->curves[i];

        memmove(curve->columns, curve->columns + count,
                (LIVE_CURVE_COLUMNS - count) * sizeof(*curve->columns));
        for (size_t j = LIVE_CURVE_COLUMNS - count; j < LIVE_CURVE_COLUMNS; j++)
            curve->columns[j] = (double)NAN;
        curve->growth = curve->growth_seconds = 0;
    }
    view->column_start += passed * view->column_seconds;
}

static void add_level(struct live_curve *curve, const struct spoor_sample *sample)
{
    curve->now = sample->moments[curve->metric];
    raise_value(&curve->max, sample->values[curve->metric]);
    raise_value(&curve->columns[LIVE_CURVE_COLUMNS - 1], sample->values[curve->metric]);
}

/* A counter that steps back was restarted: its growth meanwhile is unknown. Growth between two samples
 * that are close together is left to the next: the rate might be far off. */
static void add_counter(struct live_curve *curve, const struct spoor_sample *sample,
                        double rate_seconds)
{
    double total = sample->values[curve->metric];
    double growth = total - curve->total;
    double seconds = sample->elapsed_seconds - curve->total_seconds;

    if (!isnan(curve->total) && seconds < rate_seconds)
        return;
    curve->total = total;
    curve->total_seconds = sample->elapsed_seconds;
    curve->now = (double)NAN;
    if (!(growth >= 0 && seconds > 0))
        return;
    curve->now = growth / seconds;
    curve->growth += growth;
    curve->growth_seconds += seconds;
    curve->columns[LIVE_CURVE_COLUMNS - 1] = curve->growth / curve->growth_seconds;
    raise_value(&curve->max, curve->now);
}

void live_view_add(struct live_view *view, const struct spoor_sample *sample)
{
    shift_columns(view, sample->elapsed_seconds);
    for (size_t i = 0; i < LIVE_ROWS_MAX; i++) {
        struct live_curve *curve = &view->curves[i];

        if (curve->metric >= sample->count)
            continue;
        if (spoor_metric_get(curve->metric)->kind == SPOOR_GAUGE)
            add_level(curve, sample);
        else
            add_counter(curve, sample, view->rate_seconds);
    }
    view->elapsed_seconds = sample->elapsed_seconds;
}

/* ---- lines -------------------------------------------------------------- */

static void add_value(double value, enum live_unit unit, struct buffer *out)
{
    static const char *const suffixes[] = {
        [LIVE_CORES] = " cores", [LIVE_BYTES_PER_SECOND] = "/s", [LIVE_GPUS] = " GPUs"
    };
    struct number number = unit == LIVE_BYTES || unit == LIVE_BYTES_PER_SECOND
                               ? number_bytes(value)
                           : unit == LIVE_COUNT ? number_count(value)
                           : unit == LIVE_SHARE ? number_percent(value)
                                                : number_short(value);

    buffer_add_text(out, number.text);
    if (!isnan(value) && unit < ARRAY_SIZE(suffixes) && suffixes[unit])
        buffer_add_text(out, suffixes[unit]);
}

static void add_blanks(struct buffer *out, size_t count)
{
    while (count-- > 0)
        buffer_add(out, " ", 1);
}

/* The blanks that make a text so many columns wide. */
static void add_padding(struct buffer *out, const char *text, size_t width)
{
    size_t used = utf8_columns(text);

    add_blanks(out, used < width ? width - used : 0);
}

/* A terminal too narrow for a row: "Memory 1.46 GB", as much of it as fits. */
static void add_narrow_row(struct page *page, const struct live_row *row, double now)
{
    const char *label = row->label;
    struct buffer text = { 0 };

    buffer_format(&text, "%s ", label);
    add_value(now, row->unit, &text);
    if (text.text)
        buffer_add(page->out, text.text, utf8_fitting(text.text, page->columns));
    buffer_done(&text);
}

static void add_curve(struct page *page, const struct live_curve *curve, size_t columns)
{
    size_t count = columns < LIVE_CURVE_COLUMNS ? columns : LIVE_CURVE_COLUMNS;

    sparkline_write(curve->columns + LIVE_CURVE_COLUMNS - count, count, page->has_unicode,
                    page->out);
}

/* "Memory       1.46 GB     ▂▃▅▇█  max 1.62 GB": parts that do not fit are left out. */
static void add_row(struct page *page, const struct live_row *row,
                    const struct live_curve *curve)
{
    size_t room = page->columns - CURVE_START;
    bool has_max = room >= CURVE_MIN + MAX_WIDTH;
    struct buffer text = { 0 };

    page_add(page, PAGE_BOLD, row->label);
    add_padding(page->out, row->label, LABEL_WIDTH);
    add_value(curve->now, row->unit, &text);
    buffer_add_text(page->out, text.text ? text.text : "");
    if (room >= CURVE_MIN) {
        add_padding(page->out, text.text ? text.text : "", VALUE_WIDTH);
        add_curve(page, curve, has_max ? room - MAX_WIDTH : room);
    }
    buffer_clear(&text);
    buffer_add_text(&text, "  max ");
    add_value(curve->max, row->unit, &text);
    if (has_max)
        page_add(page, PAGE_DIM, text.text ? text.text : "");
    buffer_done(&text);
}

/* The title on the left, the time on the right. */
static void add_headline(struct page *page, const char *title, double elapsed_seconds)
{
    struct number time = number_duration(elapsed_seconds);
    size_t room = page->columns - strlen(time.text) - 2;
    struct buffer cut = { 0 };

    page_cut(title, room, &cut);
    page_add(page, PAGE_BOLD, cut.text ? cut.text : "");
    add_padding(page->out, cut.text ? cut.text : "", room + 2);
    buffer_add_text(page->out, time.text);
    buffer_done(&cut);
}

/* The caller's text, and the scale of the curves. */
static void add_footer(struct page *page, const struct live_view *view, const char *hint)
{
    struct buffer text = { 0 };

    buffer_format(&text, "%s%sone column is ", hint ? hint : "", hint ? "; " : "");
    number_write(view->column_seconds, &text);
    buffer_add_text(&text, " s");
    if (hint && text.text && utf8_columns(text.text) > page->columns)
        text.text[strlen(hint)] = '\0';
    if (text.text)
        text.text[utf8_fitting(text.text, page->columns)] = '\0';
    page_add(page, PAGE_DIM, text.text ? text.text : "");
    buffer_done(&text);
}

static size_t add_rows(struct page *page, const struct live_view *view, size_t lines)
{
    size_t count = 0;

    for (size_t i = 0; i < LIVE_ROWS_MAX && count < lines; i++) {
        const struct live_row *row = &rows[view->scope][i];
        const struct live_curve *curve = &view->curves[i];

        if (isnan(curve->max)) /* nothing is known of it yet */
            continue;
        if (page->out->length > 0)
            buffer_add_text(page->out, "\n");
        if (page->columns < CURVE_START)
            add_narrow_row(page, row, curve->now);
        else
            add_row(page, row, curve);
        count++;
    }
    return count;
}

size_t live_view_write(const struct live_view *view, const char *title,
                       const struct live_style *style, struct buffer *out)
{
    struct page page = {
        .out = out,
        .columns = style->columns > 0 ? style->columns - 1 : 0,
        .has_color = style->has_color,
        .has_unicode = style->has_unicode,
    };
    size_t lines;

    if (page.columns < CURVE_START || style->lines < FRAME_LINES_MIN)
        return add_rows(&page, view, style->lines);
    add_headline(&page, title, view->elapsed_seconds);
    lines = add_rows(&page, view, style->lines - 2);
    buffer_add_text(out, "\n");
    add_footer(&page, view, style->hint);
    return lines + 2;
}

/* ---- the display -------------------------------------------------------- */

/* Frames are at least this far apart. */
#define FRAME_NS (100 * NS_PER_MS)

/* Signals that the view of a program that has the terminal for itself leaves alone: those that cannot be
 * blocked, those that end the program with a report (watch.h), and those that do not end it. All others
 * end the program, once the terminal is as it was, or are about the terminal. */
static const int unhandled_signals[] = { SIGKILL, SIGSTOP, SIGINT,  SIGTERM, SIGHUP, SIGPIPE,
                                         SIGCHLD, SIGURG,  SIGTTIN, SIGTTOU, SIGIO };

enum live_fd {
    FD_WAKE,    /* an eventfd: there is something for the thread */
    FD_END,     /* an eventfd: q was pressed */
    FD_SIGNALS, /* a signalfd; only with keys */
    FD_COUNT,
};

struct live {
    char *title; /* safe for this terminal */
    bool has_color, has_unicode, has_keys;
    int fds[FD_COUNT]; /* -1: not open */
    sigset_t signals;
    pthread_t thread;
    bool has_thread;

    pthread_mutex_t mutex; /* of what follows; never held while something may block */
    struct live_view view;
    bool has_news; /* a sample that was not drawn yet */
    bool must_stop;

    pthread_mutex_t screen_mutex; /* of what follows; held while the terminal is used */
    struct live_screen screen;
    bool is_hidden;
};

/* ---- the terminal ------------------------------------------------------- */

bool live_is_possible(void)
{
    const char *terminal = getenv("TERM");

    return terminal && *terminal && strcmp(terminal, "dumb") != 0 && isatty(STDERR_FILENO);
}

bool live_shares_stdout(void)
{
    struct stat out, err;

    return isatty(STDOUT_FILENO) && fstat(STDOUT_FILENO, &out) == 0 &&
           fstat(STDERR_FILENO, &err) == 0 && out.st_rdev == err.st_rdev;
}

/* The key that ends the view, if the view reads keys. */
static const char *hint_of(const struct live *live)
{
    if (!live->has_keys)
        return NULL;
    return live->screen.has_modes ? "q or Ctrl-C: end with a report"
                                  : "Ctrl-C: end with a report";
}

/* With the screen held. */
static void draw(struct live *live, const struct live_view *view)
{
    struct live_screen *screen = &live->screen;
    struct live_style style = {
        .has_color = live->has_color,
        .has_unicode = live->has_unicode,
    };
    struct buffer text = { 0 };
    size_t lines;

    if (live->is_hidden || !live_screen_is_in_foreground(screen))
        return;
    if (live->has_keys)
        live_screen_take_modes(screen);
    style.hint = hint_of(live);
    live_screen_read_size(screen, &style.columns, &style.lines);
    lines = live_view_write(view, live->title, &style, &text);
    if (lines > 0)
        live_screen_draw(screen, text.text ? text.text : "", lines);
    buffer_done(&text);
}

/* ---- the thread --------------------------------------------------------- */

static void redraw(struct live *live)
{
    struct live_view view;

    pthread_mutex_lock(&live->mutex);
    view = live->view;
    live->has_news = false;
    pthread_mutex_unlock(&live->mutex);
    pthread_mutex_lock(&live->screen_mutex);
    draw(live, &view);
    pthread_mutex_unlock(&live->screen_mutex);
}

static void leave(struct live *live)
{
    pthread_mutex_lock(&live->screen_mutex);
    live_screen_clear(&live->screen);
    pthread_mutex_unlock(&live->screen_mutex);
}

static void take_signal(struct live *live)
{
    struct signalfd_siginfo info;

    if (read(live->fds[FD_SIGNALS], &info, sizeof(info)) != sizeof(info))
        return;
    switch (info.ssi_signo) {
    case SIGCONT:
        leave(live); /* a shell may have changed the modes, and has written to the screen */
        redraw(live);
        break;
    case SIGWINCH:
        redraw(live);
        break;
    case SIGTSTP:
        leave(live);
        stop_by(SIGTSTP);
        break;
    default:
        leave(live);
        reraise((int)info.ssi_signo);
    }
}

/* False: there will be no more keys. */
static bool take_keys(struct live *live)
{
    char keys[64];
    ssize_t n = read(STDIN_FILENO, keys, sizeof(keys));
    uint64_t one = 1;

    if (n > 0 && (memchr(keys, 'q', (size_t)n) || memchr(keys, 'Q', (size_t)n)))
        (void)!write(live->fds[FD_END], &one, sizeof(one)); /* a counter has room for 1 */
    return n > 0;
}

static bool reads_keys(struct live *live)
{
    bool has_modes;

    pthread_mutex_lock(&live->screen_mutex);
    has_modes = live->screen.has_modes;
    pthread_mutex_unlock(&live->screen_mutex);
    return has_modes;
}

/* False: the thread is to end. */
static bool look_for_news(struct live *live, bool *has_news)
{
    bool must_stop;
    uint64_t count;

    (void)!read(live->fds[FD_WAKE], &count, sizeof(count)); /* does not block */
    pthread_mutex_lock(&live->mutex);
    *has_news = live->has_news;
    must_stop = live->must_stop;
    pthread_mutex_unlock(&live->mutex);
    return !must_stop;
}

static void *run(void *data)
{
    struct live *live = data;
    bool has_input = live->has_keys, has_news = false;
    uint64_t next_ns = 0;

    while (look_for_news(live, &has_news)) {
        struct pollfd fds[] = {
            { .fd = live->fds[FD_WAKE], .events = POLLIN },
            { .fd = live->fds[FD_SIGNALS], .events = POLLIN }, /* -1 is passed over */
            { .fd = has_input && reads_keys(live) ? STDIN_FILENO : -1, .events = POLLIN },
        };
        struct timespec left;

        if (has_news && clock_now().monotonic_ns >= next_ns) {
            redraw(live);
            next_ns = clock_now().monotonic_ns + FRAME_NS;
            continue;
        }
        left = clock_time_until(next_ns);
        if (ppoll(fds, ARRAY_SIZE(fds), has_news ? &left : NULL, NULL) < 0)
            break;
        if (fds[1].revents)
            take_signal(live);
        if (fds[2].revents)
            has_input = take_keys(live);
    }
    return NULL;
}

/* ---- for others --------------------------------------------------------- */

static void wake(struct live *live)
{
    uint64_t one = 1;

    (void)!write(live->fds[FD_WAKE], &one, sizeof(one)); /* a counter has room for 1 */
}

void live_sample_seen(const struct spoor_sample *sample, void *data)
{
    struct live *live = data;

    pthread_mutex_lock(&live->mutex);
    live_view_add(&live->view, sample);
    live->has_news = true;
    pthread_mutex_unlock(&live->mutex);
    wake(live);
}

int live_end_fd(const struct live *live)
{
    return live ? live->fds[FD_END] : -1;
}

void live_hide(struct live *live, bool is_hidden)
{
    pthread_mutex_lock(&live->screen_mutex);
    live->is_hidden = is_hidden;
    if (is_hidden)
        live_screen_clear(&live->screen);
    pthread_mutex_unlock(&live->screen_mutex);
}

static bool is_handled(int number)
{
    struct sigaction action = { .sa_handler = SIG_DFL };

    for (size_t i = 0; i < ARRAY_SIZE(unhandled_signals); i++) {
        if (number == unhandled_signals[i])
            return false;
    }
    return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_DFL;
}

/* Blocks the signals, except those that were blocked before, or do not have their default action. */
static int open_signals(struct live *live)
{
    sigset_t blocked;

    (void)sigemptyset(&live->signals);
    (void)pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    for (int number = 1; number <= SIGRTMAX; number++) {
        if (is_handled(number) && !sigismember(&blocked, number))
            (void)sigaddset(&live->signals, number);
    }
    live->fds[FD_SIGNALS] = signalfd(-1, &live->signals, SFD_CLOEXEC | SFD_NONBLOCK);
    if (live->fds[FD_SIGNALS] < 0)
        return -errno;
    return -pthread_sigmask(SIG_BLOCK, &live->signals, NULL);
}

static int open_parts(struct live *live, const struct live_options *options)
{
    struct buffer title = { 0 };
    const char *terminal = getenv("TERM");
    int r;

    live->has_unicode = format_style_for(STDERR_FILENO, false).has_unicode &&
                        !(terminal && strcmp(terminal, "linux") == 0); /* few glyphs */
    if (live->has_unicode)
        escape_unsafe(options->title, &title);
    else
        escape_ascii(options->title, &title);
    live->title = title.text;
    r = live_screen_open(&live->screen);
    if (r < 0)
        return r;
    live->fds[FD_WAKE] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    live->fds[FD_END] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (!live->title)
        return -ENOMEM;
    if (live->fds[FD_WAKE] < 0 || live->fds[FD_END] < 0)
        return -errno;
    return live->has_keys ? open_signals(live) : 0;
}

struct live *live_open(const struct live_options *options, struct spoor_error *err)
{
    struct live *live = calloc(1, sizeof(*live));
    int r;

    if (!live) {
        (void)error_set(err, ENOMEM, "out of memory");
        return NULL;
    }
    live->has_color = options->has_color;
    live->has_keys = options->has_keys;
    live->screen.fd = -1;
    for (size_t i = 0; i < FD_COUNT; i++)
        live->fds[i] = -1;
    (void)pthread_mutex_init(&live->mutex, NULL);        /* cannot fail with defaults */
    (void)pthread_mutex_init(&live->screen_mutex, NULL); /* likewise */
    live_view_init(&live->view, options->scope,
                   (double)options->interval_ns / (double)NS_PER_SECOND);
    r = open_parts(live, options);
    if (r < 0) {
        (void)error_sys(err, r, "cannot show a live view");
        live = live_close(live);
    }
    return live;
}

int live_start(struct live *live, struct spoor_error *err)
{
    int r = thread_start_quiet(&live->thread, run, live);

    live->has_thread = r == 0;
    return r < 0 ? error_sys(err, r, "cannot show a live view") : 0;
}

/* Do the rows of a stream go to a terminal too, or to a program that may show them there? */
static bool is_covered_by_rows(const struct settings *settings)
{
    for (size_t i = 0; i < settings->stream_count; i++) {
        int fd = stream_descriptor(settings->streams[i].path);
        struct stat stat;

        if (fd >= 0 && !(fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode)))
            return true;
    }
    return false;
}

struct live *live_begin(const struct settings *settings, enum live_scope scope,
                        const char *title, struct spoor_options *options)
{
    const struct live_options own = {
        .title = title,
        .scope = scope,
        .interval_ns = settings->interval_ns,
        .has_color = outputs_has_color(settings->color, STDERR_FILENO),
        .has_keys = true,
    };
    struct spoor_error err = { 0 };
    struct live *live;

    if (!settings->is_live || !live_is_possible() || is_covered_by_rows(settings))
        return NULL;
    live = live_open(&own, &err);
    if (!live || live_start(live, &err) < 0) {
        complain("%s", err.message);
        return live_close(live);
    }
    options->sample_seen = live_sample_seen;
    options->sample_data = live;
    return live;
}

void live_stop(struct live *live)
{
    if (!live)
        return;
    if (live->has_thread) {
        pthread_mutex_lock(&live->mutex);
        live->must_stop = true;
        pthread_mutex_unlock(&live->mutex);
        wake(live);
        (void)pthread_join(live->thread, NULL);
        live->has_thread = false;
    }
    leave(live);
    (void)pthread_sigmask(SIG_UNBLOCK, &live->signals, NULL);
    (void)sigemptyset(&live->signals);
}

struct live *live_close(struct live *live)
{
    if (!live)
        return NULL;
    live_stop(live);
    for (size_t i = 0; i < FD_COUNT; i++) {
        if (live->fds[i] >= 0)
            close(live->fds[i]);
    }
    (void)pthread_mutex_destroy(&live->mutex);
    (void)pthread_mutex_destroy(&live->screen_mutex);
    live_screen_close(&live->screen);
    free(live->title);
    free(live);
    return NULL;
}
