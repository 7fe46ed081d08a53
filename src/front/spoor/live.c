/* SPDX-License-Identifier: Apache-2.0 */
#include "front/spoor/live.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/error.h"
#include "base/helper.h"
#include "front/spoor/outputs.h"
#include "front/spoor/settings.h"
#include "history/store.h"
#include "output/format.h"
#include "output/stream.h"
#include "run/signals.h"
#include "text/escape.h"

/* ---- the screen --------------------------------------------------------- */

/* A terminal that accepts nothing for this long is stalled. */
enum { STALLED_MS = 100 };

/* Opens the terminal of stderr. Returns 0, or -errno: then there is no view, because writing to
 * stderr itself could block. After su(1), for example, the terminal belongs to another user and
 * can only be opened as /dev/tty. */
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
    screen->writer = helper_close(screen->writer);
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
    *ret_lines = size.ws_row > 0 ? size.ws_row - 1u : 23; /* the cursor uses the first line */
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
    /* Makes room below the cursor and saves the cursor's position. */
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

/* ---- one line -----------------------------------------------------------
 *
 * The job writes to the same terminal. The kernel does not interleave a blocking write with other
 * writes, even if the terminal is slow. A helper thread writes, since the terminal may stall.
 */

struct line_text {
    int fd;
    struct buffer text;
};

static void write_line(void *data)
{
    const struct line_text *line = data;

    (void)buffer_write(&line->text, line->fd); /* the terminal may have been closed */
}

static void release_line(void *data)
{
    struct line_text *line = data;

    close(line->fd);
    buffer_done(&line->text);
    free(line);
}

/* Prepares for draw_line(), which replaces live_screen_draw(). 0 or -errno. */
static int open_line(struct live_screen *screen)
{
    static const struct helper_work work = { "spoor-line", write_line, release_line };
    struct line_text *line = calloc(1, sizeof(*line));
    int r = line ? 0 : -ENOMEM;

    if (r == 0)
        line->fd = fcntl(screen->fd, F_DUPFD_CLOEXEC, 0);
    if (r == 0 && (line->fd < 0 || fcntl(line->fd, F_SETFL, O_RDWR) < 0))
        r = -errno;
    if (r == 0)
        r = helper_open(&work, line, &screen->writer);
    screen->line = line;
    if (r < 0 && line)
        release_line(line);
    return r;
}

/* Shows a text in the last of `rows` rows, unless an earlier text is still being written. The
 * cursor and the colors of the job are kept. After a change of the size, the cursor must first
 * leave the last row, and the remains of the old line are removed. */
static void draw_line(struct live_screen *screen, const char *text, size_t rows)
{
    struct buffer *out = &screen->line->text;

    if (rows < 3 || !helper_wait(screen->writer, 0))
        return;
    buffer_clear(out);
    if (screen->line_row != rows)
        buffer_format(out, "\0337\033[r\0338%s\033D\033[A",
                      screen->line_row > 0 ? "\033[J" : "");
    buffer_format(out, "\0337\033[1;%zur\033[%zu;1H\033[2K%s\0338", rows - 1, rows, text);
    if (buffer_error(out) == 0 && helper_start(screen->writer) == 0)
        screen->line_row = rows;
}

/* Removes the line. If the terminal is stalled, the line stays until the next attempt. */
static void clear_line(struct live_screen *screen)
{
    struct buffer *out = &screen->line->text;

    if (screen->line_row == 0 ||
        !helper_wait(screen->writer, clock_now().monotonic_ns + STALLED_MS * NS_PER_MS))
        return;
    buffer_clear(out);
    buffer_format(out, "\0337\033[r\033[%zu;1H\033[2K\0338", screen->line_row);
    if (buffer_error(out) == 0 && helper_start(screen->writer) == 0 &&
        helper_wait(screen->writer, clock_now().monotonic_ns + STALLED_MS * NS_PER_MS))
        screen->line_row = 0;
}

void live_screen_clear(struct live_screen *screen)
{
    if (screen->writer)
        clear_line(screen);
    if (screen->is_drawn) {
        buffer_add_text(&screen->unsent, "\033[J");
        send_unsent(screen, STALLED_MS);
    }
    if (screen->has_modes)
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &screen->modes_before);
    screen->is_drawn = screen->has_modes = false;
}

/* ---- the display -------------------------------------------------------- */

/* Frames are at least this far apart. */
#define FRAME_NS (100 * NS_PER_MS)
/* A frame is drawn after this time even without a sample: the elapsed time changes, and the
 * size may. */
#define TICK_NS NS_PER_SECOND

/* Signals that a view with keys does not handle: those that cannot be blocked, those that
 * end the program with a report (watch.h), and those that do not end it. All others end the
 * program, after the terminal is restored, or concern the terminal. */
static const int unhandled_signals[] = { SIGKILL, SIGSTOP, SIGINT,  SIGTERM, SIGHUP, SIGPIPE,
                                         SIGCHLD, SIGURG,  SIGTTIN, SIGTTOU, SIGIO };

enum live_fd {
    FD_WAKE,    /* an eventfd that wakes the thread */
    FD_END,     /* an eventfd: q was pressed */
    FD_SIGNALS, /* a signalfd; open only if the view reads keys */
    FD_COUNT,
};

/* The usual time of a run, looked up while it runs: a history may be large, or on a disk that hangs. */
struct lookup {
    char folder[PATH_MAX]; /* folder of the history */
    char *name;
    double seconds; /* NaN: unknown */
};

static void look_up(void *data)
{
    struct lookup *lookup = data;

    lookup->seconds = history_usual_seconds(lookup->folder, lookup->name);
}

static void release_lookup(void *data)
{
    struct lookup *lookup = data;

    free(lookup->name);
    free(lookup);
}

struct live {
    char *title;                 /* safe for this terminal */
    struct helper *usual_helper; /* NULL: nothing is looked up */
    struct lookup *usual;        /* the data of the helper */
    bool has_color, has_unicode, has_keys, is_line;
    live_write *write; /* NULL: samples are shown */
    void *write_data;
    int fds[FD_COUNT]; /* -1: not open */
    sigset_t signals;
    pthread_t thread;
    bool has_thread;

    /* Protects the members below; never held while something may block. */
    pthread_mutex_t mutex;
    struct live_view view;
    bool has_news;       /* a sample has not been drawn yet */
    uint64_t sampled_ns; /* time of the last sample; 0: there was none */
    bool must_stop;

    /* Protects the members below; held while the terminal is used. */
    pthread_mutex_t screen_mutex;
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

/* Draws a frame. Must be called with screen_mutex held. */
static void draw(struct live *live, const struct live_view *view)
{
    struct live_screen *screen = &live->screen;
    struct live_style style = {
        .has_color = live->has_color,
        .has_unicode = live->has_unicode,
    };
    CLEANUP(buffer_done) struct buffer text = { 0 };
    size_t lines;

    if (live->is_hidden || !live_screen_is_in_foreground(screen))
        return;
    if (live->has_keys)
        live_screen_take_modes(screen);
    style.hint = !live->has_keys     ? NULL
                 : screen->has_modes ? "q or Ctrl-C: end with a report"
                                     : "Ctrl-C: end with a report";
    live_screen_read_size(screen, &style.columns, &style.lines);
    if (live->is_line) {
        live_view_write_line(view, &style, &text);
        draw_line(screen, buffer_text(&text), style.lines + 1);
    } else {
        lines = live->write ? live->write(live->write_data, &style, &text)
                            : live_view_write(view, live->title, &style, &text);
        if (lines > 0)
            live_screen_draw(screen, buffer_text(&text), lines);
    }
}

/* ---- the thread --------------------------------------------------------- */

static void redraw(struct live *live)
{
    struct live_view view;
    uint64_t sampled_ns;

    pthread_mutex_lock(&live->mutex);
    view = live->view;
    sampled_ns = live->sampled_ns;
    live->has_news = false;
    pthread_mutex_unlock(&live->mutex);
    if (sampled_ns == 0 && !live->write)
        return;
    view.elapsed_seconds += (double)(clock_now().monotonic_ns - sampled_ns) / 1e9;
    if (live->usual_helper && helper_wait(live->usual_helper, 0))
        view.usual_seconds = live->usual->seconds;
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

static void wake(const struct live *live, enum live_fd fd)
{
    uint64_t one = 1;

    /* Cannot block: the counter has room for 1. */
    (void)!write(live->fds[fd], &one, sizeof(one));
}

/* Reads keys. Returns false at the end of the input. */
static bool take_keys(struct live *live)
{
    char keys[64];
    ssize_t n = read(STDIN_FILENO, keys, sizeof(keys));

    if (n > 0 && (memchr(keys, 'q', (size_t)n) || memchr(keys, 'Q', (size_t)n)))
        wake(live, FD_END);
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

/* Consumes a wake-up. Returns false if the thread must end. */
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
    uint64_t drawn_ns = 0;

    while (look_for_news(live, &has_news)) {
        struct pollfd fds[] = {
            { .fd = live->fds[FD_WAKE], .events = POLLIN },
            { .fd = live->fds[FD_SIGNALS], .events = POLLIN }, /* poll() ignores -1 */
            { .fd = has_input && reads_keys(live) ? STDIN_FILENO : -1, .events = POLLIN },
        };
        uint64_t due_ns = drawn_ns + (has_news ? FRAME_NS : TICK_NS);
        struct timespec left = clock_time_until(due_ns);

        if (clock_now().monotonic_ns >= due_ns) {
            redraw(live);
            drawn_ns = clock_now().monotonic_ns;
            continue;
        }
        if (ppoll(fds, ARRAY_SIZE(fds), &left, NULL) < 0)
            break;
        if (fds[1].revents)
            take_signal(live);
        if (fds[2].revents)
            has_input = take_keys(live);
    }
    return NULL;
}

/* ---- for others --------------------------------------------------------- */

static void sample_seen(const struct spoor_sample *sample, void *data)
{
    struct live *live = data;

    pthread_mutex_lock(&live->mutex);
    live_view_add(&live->view, sample);
    live->has_news = true;
    live->sampled_ns = clock_now().monotonic_ns;
    pthread_mutex_unlock(&live->mutex);
    wake(live, FD_WAKE);
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

/* Blocks the signals, except signals that were blocked before or that do not have their default
 * action. */
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
    if (r == 0 && live->is_line)
        r = open_line(&live->screen);
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

/* If this fails, the view does not show the usual time. */
static void open_lookup(struct live *live, const char *name)
{
    static const struct helper_work work = { "history", look_up, release_lookup };
    struct lookup *lookup = calloc(1, sizeof(*lookup));

    if (!lookup)
        return;
    lookup->seconds = (double)NAN;
    lookup->name = strdup(name);
    if (!lookup->name || history_folder(lookup->folder, NULL) < 0 ||
        helper_open(&work, lookup, &live->usual_helper) < 0)
        release_lookup(lookup);
    else
        live->usual = lookup;
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
    live->is_line = options->is_line;
    live->write = options->write;
    live->write_data = options->write_data;
    live->screen.fd = -1;
    for (size_t i = 0; i < FD_COUNT; i++)
        live->fds[i] = -1;
    (void)pthread_mutex_init(&live->mutex, NULL);        /* cannot fail with defaults */
    (void)pthread_mutex_init(&live->screen_mutex, NULL); /* cannot fail with defaults */
    live_view_init(&live->view, options->scope,
                   (double)options->interval_ns / (double)NS_PER_SECOND);
    r = open_parts(live, options);
    if (options->name)
        open_lookup(live, options->name);
    if (r < 0) {
        (void)error_sys(err, r, "cannot show a live view");
        live_close(&live);
    }
    return live;
}

int live_start(struct live *live, struct spoor_error *err)
{
    int r;

    if (live->usual_helper && helper_start(live->usual_helper) < 0)
        live->usual_helper = helper_close(live->usual_helper);
    r = thread_start_quiet(&live->thread, run, live);

    live->has_thread = r == 0;
    return r < 0 ? error_sys(err, r, "cannot show a live view") : 0;
}

/* Returns whether the rows of a stream go to a terminal too, or to a program that may show
 * them there. */
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

struct live *live_begin(const struct settings *settings, const struct buffer *title,
                        bool has_keys, struct spoor_options *options)
{
    const struct live_options own = {
        .title = buffer_text(title),
        .name = settings_saves_run(settings) ? settings->name : NULL,
        .scope = settings->has_no_job ? LIVE_HOST : LIVE_JOB,
        .interval_ns = settings->interval_ns,
        .has_color = outputs_has_color(settings->color, STDERR_FILENO),
        .has_keys = has_keys,
        .is_line = settings->is_live_line,
    };
    struct spoor_error err = { 0 };
    struct live *live;

    if (!settings->is_live || !live_is_possible() || (has_keys && is_covered_by_rows(settings)))
        return NULL;
    live = live_open(&own, &err);
    if (!live || (has_keys && live_start(live, &err) < 0)) {
        complain("%s", err.message);
        live_close(&live);
        return NULL;
    }
    options->flags |= SPOOR_LIST_PROCESSES;
    options->sample_seen = sample_seen;
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
        wake(live, FD_WAKE);
        (void)pthread_join(live->thread, NULL);
        live->has_thread = false;
    }
    leave(live);
    (void)pthread_sigmask(SIG_UNBLOCK, &live->signals, NULL);
    (void)sigemptyset(&live->signals);
}

void live_close(struct live **view)
{
    struct live *live = take_ptr(*view);

    if (!live)
        return;
    live_stop(live);
    for (size_t i = 0; i < FD_COUNT; i++) {
        if (live->fds[i] >= 0)
            close(live->fds[i]);
    }
    (void)pthread_mutex_destroy(&live->mutex);
    (void)pthread_mutex_destroy(&live->screen_mutex);
    live->usual_helper = helper_close(live->usual_helper);
    live_screen_close(&live->screen);
    live_view_done(&live->view);
    free(live->title);
    free(live);
}
