/* SPDX-License-Identifier: Apache-2.0 */
#include "front/spoor/live_screen.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* A terminal that takes nothing for this long is stalled. */
enum { STALLED_MS = 100 };

/* After su(1), for example, the terminal belongs to another user: it can only be opened as the
 * controlling one. */
int live_screen_open(struct live_screen *screen)
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

    (void)ioctl(screen->fd, TIOCGWINSZ, &size); /* terminals of some programs do not say */
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

/* Sends what the terminal takes; waits for it if it makes progress within `stalled_ms`. */
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
