/* SPDX-License-Identifier: Apache-2.0 */
/* test_live_screen.c - what a terminal gets, also if it stalls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "front/spoor/live_screen.h"

#define BEFORE "\033[K\033D\033[1A\0337\r\n"
#define AFTER "\033[J\0338"
#define NEXT BEFORE "next" AFTER
#define ERASE "\033[J"
#define END AFTER ERASE
enum { MANY = 400000 }; /* more than the kernel keeps for a reader */

struct terminal {
    int master; /* as the slave, it never waits */
    struct live_screen screen;
    struct buffer got;
};

static void begin(struct terminal *terminal)
{
    struct termios modes;

    *terminal = (struct terminal){ .screen.fd = -1 };
    terminal->master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    assert_true(terminal->master >= 0);
    assert_int_equal(unlockpt(terminal->master), 0);
    terminal->screen.fd =
        open(ptsname(terminal->master), O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    assert_true(terminal->screen.fd >= 0);
    assert_int_equal(tcgetattr(terminal->screen.fd, &modes), 0);
    modes.c_oflag &= ~(tcflag_t)OPOST;
    assert_int_equal(tcsetattr(terminal->screen.fd, TCSANOW, &modes), 0);
}

static void end(struct terminal *terminal)
{
    live_screen_close(&terminal->screen);
    live_screen_close(&terminal->screen); /* twice does no harm */
    close(terminal->master);
    buffer_done(&terminal->got);
}

/* Reads until so much was got, or more. */
static void read_until(struct terminal *terminal, size_t length)
{
    struct pollfd ready = { .fd = terminal->master, .events = POLLIN };
    char text[4096];

    while (terminal->got.length < length) {
        ssize_t n;

        assert_int_equal(poll(&ready, 1, 60 * 1000), 1);
        n = read(terminal->master, text, sizeof(text));
        assert_true(n > 0);
        buffer_add(&terminal->got, text, (size_t)n);
    }
}

static void a_frame_is_drawn_and_erased(void **state)
{
    static const char expected[] =
        "\033[K\033D\033D\033[2A\0337\r\none\033[K\r\ntwo" AFTER ERASE;
    struct terminal terminal;

    (void)state;
    begin(&terminal);
    live_screen_clear(&terminal.screen); /* nothing was drawn */
    live_screen_draw(&terminal.screen, "one\ntwo", 2);
    live_screen_clear(&terminal.screen);
    live_screen_clear(&terminal.screen);
    read_until(&terminal, strlen(expected));
    assert_string_equal(terminal.got.text, expected);
    end(&terminal);
}

static void the_rest_of_a_frame_comes_before_the_next(void **state)
{
    AUTO_FREE char *large = malloc(MANY + 1);
    const char *rest;
    struct terminal terminal;

    (void)state;
    assert_non_null(large);
    memset(large, 'x', MANY);
    large[MANY] = '\0';
    begin(&terminal);
    live_screen_draw(&terminal.screen, large, 1);
    assert_true(terminal.screen.is_drawn && terminal.screen.unsent.length > 0);
    live_screen_draw(&terminal.screen, "dropped", 1);
    while (terminal.got.length < strlen(BEFORE AFTER) + MANY) {
        read_until(&terminal, terminal.got.length + 1);
        live_screen_draw(&terminal.screen, "next", 1); /* there is room for it in the end */
    }
    live_screen_clear(&terminal.screen);
    while (strcmp(terminal.got.text + terminal.got.length - strlen(END), END) != 0)
        read_until(&terminal, terminal.got.length + 1);
    assert_memory_equal(terminal.got.text, BEFORE, strlen(BEFORE));
    rest = terminal.got.text + strlen(BEFORE);
    assert_memory_equal(rest, large, MANY);
    rest += MANY;
    assert_memory_equal(rest, AFTER, strlen(AFTER));
    for (rest += strlen(AFTER); strcmp(rest, ERASE) != 0; rest += strlen(NEXT))
        assert_memory_equal(rest, NEXT, strlen(NEXT));
    end(&terminal);
}

static void a_terminal_that_takes_nothing_gets_no_frame(void **state)
{
    struct terminal terminal;

    (void)state;
    begin(&terminal);
    assert_int_equal(tcflow(terminal.screen.fd, TCOOFF), 0); /* as Ctrl-S does */
    live_screen_draw(&terminal.screen, "frame", 1);
    assert_int_equal(terminal.screen.unsent.length, 0);
    assert_false(terminal.screen.is_drawn);
    end(&terminal);
}

static void an_end_that_cannot_be_shown_is_given_up(void **state)
{
    AUTO_FREE char *large = malloc(MANY + 1);
    struct terminal terminal;

    (void)state;
    assert_non_null(large);
    memset(large, 'x', MANY);
    large[MANY] = '\0';
    begin(&terminal);
    live_screen_draw(&terminal.screen, large, 1);
    live_screen_clear(&terminal.screen);
    assert_false(terminal.screen.is_drawn);
    end(&terminal);
}

static void a_terminal_that_has_gone_is_no_error(void **state)
{
    struct terminal terminal;

    (void)state;
    begin(&terminal);
    live_screen_draw(&terminal.screen, "frame", 1);
    close(terminal.master);
    live_screen_draw(&terminal.screen, "frame", 1);
    live_screen_clear(&terminal.screen);
    terminal.master = -1;
    end(&terminal);
}

static void modes_are_restored(void **state)
{
    struct termios before, during, after;
    struct terminal terminal;
    int input = dup(STDIN_FILENO);

    (void)state;
    begin(&terminal);
    assert_int_equal(dup2(terminal.screen.fd, STDIN_FILENO), STDIN_FILENO);
    assert_int_equal(tcgetattr(STDIN_FILENO, &before), 0);
    live_screen_take_modes(&terminal.screen);
    live_screen_take_modes(&terminal.screen); /* those before are not overwritten */
    assert_int_equal(tcgetattr(STDIN_FILENO, &during), 0);
    live_screen_clear(&terminal.screen);
    assert_int_equal(tcgetattr(STDIN_FILENO, &after), 0);
    assert_int_equal(during.c_lflag & (ICANON | ECHO), 0);
    assert_true(during.c_lflag & ISIG);
    assert_int_equal(after.c_lflag, before.c_lflag);
    assert_memory_equal(after.c_cc, before.c_cc, sizeof(before.c_cc));
    close(STDIN_FILENO);
    if (input >= 0) {
        assert_int_equal(dup2(input, STDIN_FILENO), STDIN_FILENO);
        close(input);
    }
    end(&terminal);
}

static void the_line_of_the_cursor_is_not_ours(void **state)
{
    struct winsize size = { .ws_col = 40, .ws_row = 10 };
    struct terminal terminal;
    size_t columns, lines;

    (void)state;
    begin(&terminal);
    live_screen_read_size(&terminal.screen, &columns, &lines);
    assert_int_equal(columns, 80); /* it does not say */
    assert_int_equal(lines, 23);
    assert_int_equal(ioctl(terminal.master, TIOCSWINSZ, &size), 0);
    live_screen_read_size(&terminal.screen, &columns, &lines);
    assert_int_equal(columns, 40);
    assert_int_equal(lines, 9);
    assert_true(
        live_screen_is_in_foreground(&terminal.screen)); /* it is not the controlling one */
    end(&terminal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_is_drawn_and_erased),
        cmocka_unit_test(the_rest_of_a_frame_comes_before_the_next),
        cmocka_unit_test(a_terminal_that_takes_nothing_gets_no_frame),
        cmocka_unit_test(an_end_that_cannot_be_shown_is_given_up),
        cmocka_unit_test(a_terminal_that_has_gone_is_no_error),
        cmocka_unit_test(modes_are_restored),
        cmocka_unit_test(the_line_of_the_cursor_is_not_ours),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
