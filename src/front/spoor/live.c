/* SPDX-License-Identifier: Apache-2.0 */
#include "front/spoor/live.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/error.h"
#include "base/thread_start.h"
#include "front/spoor/outputs.h"
#include "front/spoor/program.h"
#include "output/format.h"
#include "output/stream.h"
#include "run/reraise.h"
#include "run/stop.h"
#include "text/escape.h"

/* Frames are at least this far apart. */
#define FRAME_NS (100 * NS_PER_MS)

/* Signals that the view of a program that has the terminal for itself must see. The last ones end
 * the program, once the terminal is as it was. */
static const int handled_signals[] = { SIGTSTP, SIGCONT, SIGWINCH, SIGQUIT,
                                       SIGUSR1, SIGUSR2, SIGALRM };

enum live_fd {
    FD_WAKE,    /* an eventfd: there is something for the thread */
    FD_END,     /* an eventfd: q was pressed */
    FD_SIGNALS, /* a signalfd; only with keys */
    FD_COUNT,
};

struct live {
    char *title; /* safe for this terminal */
    bool has_color, has_unicode, has_keys;
    int terminal_fd;   /* opened by us, so that it can be non-blocking; or stderr */
    int fds[FD_COUNT]; /* -1: not open */
    sigset_t signals;
    pthread_t thread;
    bool has_thread;

    pthread_mutex_t mutex; /* of what follows; never held while something may block */
    struct live_view view;
    bool has_news; /* a sample that was not drawn yet */
    bool must_stop;

    pthread_mutex_t screen; /* held while the terminal is used; of what follows */
    bool is_drawn, is_hidden;
    bool has_modes; /* keys are read: the modes of the terminal are ours */
    struct termios modes_before;
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

static int open_terminal(void)
{
    int fd = open("/proc/self/fd/2", O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

    return fd < 0 ? STDERR_FILENO : fd;
}

/* A terminal that is not the controlling one has no foreground. */
static bool is_in_foreground(const struct live *live)
{
    pid_t group = tcgetpgrp(live->terminal_fd);

    return group < 0 || group == getpgrp();
}

/* Drops what a stalled terminal does not take: the next frame shows more. */
static void put(const struct live *live, const char *text, size_t length)
{
    struct pollfd ready = { .fd = live->terminal_fd, .events = POLLOUT };

    if (poll(&ready, 1, 0) == 1 && ready.revents == POLLOUT)
        (void)!write(live->terminal_fd, text, length);
}

/* Reads keys without showing them; signals of keys stay. */
static void take_modes(struct live *live)
{
    struct termios modes;

    if (!live->has_keys || live->has_modes || tcgetattr(STDIN_FILENO, &live->modes_before) < 0)
        return;
    modes = live->modes_before;
    modes.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    modes.c_cc[VMIN] = modes.c_cc[VTIME] = 0; /* a read never waits */
    live->has_modes = tcsetattr(STDIN_FILENO, TCSANOW, &modes) == 0;
}

/* Leaves the terminal as it was before the view. */
static void clear_screen(struct live *live)
{
    static const char erase[] = "\033[J";

    if (live->is_drawn)
        put(live, erase, sizeof(erase) - 1);
    if (live->has_modes)
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &live->modes_before);
    live->is_drawn = live->has_modes = false;
}

static void add_frame(const char *text, size_t lines, struct buffer *out)
{
    /* Hides the cursor, makes room below it and saves where it is. */
    buffer_add_text(out, "\033[?25l\033[K");
    for (size_t i = 0; i < lines; i++)
        buffer_add_text(out, "\033D");
    buffer_format(out, "\033[%zuA\0337\r\n", lines);
    for (const char *end; (end = strchr(text, '\n')); text = end + 1) {
        buffer_add(out, text, (size_t)(end - text));
        buffer_add_text(out, "\033[K\r\n");
    }
    buffer_add_text(out, text);
    buffer_add_text(out, "\033[J\0338\033[?25h");
}

/* How to end it, if that is ours to say. */
static const char *hint_of(const struct live *live)
{
    if (!live->has_keys)
        return NULL;
    return live->has_modes ? "q or Ctrl-C: end with a report" : "Ctrl-C: end with a report";
}

/* Terminals of some programs do not say how large they are. */
static void read_size(const struct live *live, struct live_style *style)
{
    struct winsize size = { 0 };

    (void)ioctl(live->terminal_fd, TIOCGWINSZ, &size); /* else as above */
    style->columns = size.ws_col > 0 ? size.ws_col : 80;
    style->lines = size.ws_row > 0 ? size.ws_row - 1u : 23; /* the cursor has the first */
}

/* With the screen held. */
static void draw(struct live *live, const struct live_view *view)
{
    struct live_style style = {
        .has_color = live->has_color,
        .has_unicode = live->has_unicode,
    };
    struct buffer text = { 0 };
    struct buffer frame = { 0 };
    size_t lines;

    if (live->is_hidden || !is_in_foreground(live))
        return;
    take_modes(live);
    style.hint = hint_of(live);
    read_size(live, &style);
    lines = live_view_write(view, live->title, &style, &text);
    if (lines > 0)
        add_frame(text.text ? text.text : "", lines, &frame);
    if (buffer_error(&frame) == 0 && frame.length > 0)
        put(live, frame.text, frame.length);
    live->is_drawn = true;
    buffer_done(&text);
    buffer_done(&frame);
}

/* ---- the thread --------------------------------------------------------- */

static void redraw(struct live *live)
{
    struct live_view view;

    pthread_mutex_lock(&live->mutex);
    view = live->view;
    live->has_news = false;
    pthread_mutex_unlock(&live->mutex);
    pthread_mutex_lock(&live->screen);
    draw(live, &view);
    pthread_mutex_unlock(&live->screen);
}

static void leave(struct live *live)
{
    pthread_mutex_lock(&live->screen);
    clear_screen(live);
    pthread_mutex_unlock(&live->screen);
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

    pthread_mutex_lock(&live->screen);
    has_modes = live->has_modes;
    pthread_mutex_unlock(&live->screen);
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
    pthread_mutex_lock(&live->screen);
    live->is_hidden = is_hidden;
    if (is_hidden)
        clear_screen(live);
    pthread_mutex_unlock(&live->screen);
}

/* Blocks the signals, except those that were blocked or ignored before. */
static int open_signals(struct live *live)
{
    sigset_t blocked;

    (void)sigemptyset(&live->signals);
    (void)pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    for (size_t i = 0; i < ARRAY_SIZE(handled_signals); i++) {
        struct sigaction action = { .sa_handler = SIG_DFL };

        (void)sigaction(handled_signals[i], NULL, &action);
        if (!sigismember(&blocked, handled_signals[i]) && action.sa_handler != SIG_IGN)
            (void)sigaddset(&live->signals, handled_signals[i]);
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

    live->has_unicode = format_style_for(STDERR_FILENO, false).has_unicode &&
                        !(terminal && strcmp(terminal, "linux") == 0); /* few glyphs */
    if (live->has_unicode)
        escape_unsafe(options->title, &title);
    else
        escape_ascii(options->title, &title);
    live->title = title.text;
    live->terminal_fd = open_terminal();
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
    live->terminal_fd = -1;
    for (size_t i = 0; i < FD_COUNT; i++)
        live->fds[i] = -1;
    (void)pthread_mutex_init(&live->mutex, NULL);  /* cannot fail with defaults */
    (void)pthread_mutex_init(&live->screen, NULL); /* likewise */
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
    int fd = settings->stream_path ? stream_descriptor(settings->stream_path) : -1;
    struct stat stat;

    return fd >= 0 && !(fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode));
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
    if (live->terminal_fd > STDERR_FILENO)
        close(live->terminal_fd);
    for (size_t i = 0; i < FD_COUNT; i++) {
        if (live->fds[i] >= 0)
            close(live->fds[i]);
    }
    (void)pthread_mutex_destroy(&live->mutex);
    (void)pthread_mutex_destroy(&live->screen);
    free(live->title);
    free(live);
    return NULL;
}
