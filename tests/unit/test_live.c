/* SPDX-License-Identifier: Apache-2.0 */
/* Tests output to a terminal, even to a blocked one. */
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "front/spoor/live.h"
#include "text/utf8.h"
#include "unit_test.h"

/* ---- live screen -------------------------------------------------------- */

#define BEFORE "\033[K\033D\033[1A\0337\r\n"
#define AFTER "\033[J\0338"
#define NEXT BEFORE "next" AFTER
#define ERASE "\033[J"
#define END AFTER ERASE
enum { MANY = 400000 }; /* more than the kernel buffers for a reader */

struct terminal {
    int master; /* non-blocking, like the slave */
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
    live_screen_close(&terminal->screen); /* a second call is harmless */
    close(terminal->master);
    buffer_done(&terminal->got);
}

/* Reads until `got` has at least `length` bytes. */
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

TEST(a_frame_is_drawn_and_erased)
{
    static const char expected[] =
        "\033[K\033D\033D\033[2A\0337\r\none\033[K\r\ntwo" AFTER ERASE;
    struct terminal terminal;

    begin(&terminal);
    live_screen_clear(&terminal.screen); /* nothing was drawn */
    live_screen_draw(&terminal.screen, "one\ntwo", 2);
    live_screen_clear(&terminal.screen);
    live_screen_clear(&terminal.screen);
    read_until(&terminal, strlen(expected));
    assert_string_equal(terminal.got.text, expected);
    end(&terminal);
}

TEST(a_partly_written_frame_is_completed_first)
{
    AUTO_FREE char *large = malloc(MANY + 1);
    const char *rest;
    struct terminal terminal;

    assert_non_null(large);
    memset(large, 'x', MANY);
    large[MANY] = '\0';
    begin(&terminal);
    live_screen_draw(&terminal.screen, large, 1);
    assert_true(terminal.screen.is_drawn && terminal.screen.unsent.length > 0);
    live_screen_draw(&terminal.screen, "dropped", 1);
    while (terminal.got.length < strlen(BEFORE AFTER) + MANY) {
        read_until(&terminal, terminal.got.length + 1);
        live_screen_draw(&terminal.screen, "next", 1); /* drawn as soon as there is room */
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

TEST(a_blocked_terminal_gets_no_frame)
{
    struct terminal terminal;

    begin(&terminal);
    assert_int_equal(tcflow(terminal.screen.fd, TCOOFF), 0); /* as Ctrl-S does */
    live_screen_draw(&terminal.screen, "frame", 1);
    assert_int_equal(terminal.screen.unsent.length, 0);
    assert_false(terminal.screen.is_drawn);
    end(&terminal);
}

TEST(clearing_a_blocked_screen_gives_up)
{
    AUTO_FREE char *large = malloc(MANY + 1);
    struct terminal terminal;

    assert_non_null(large);
    memset(large, 'x', MANY);
    large[MANY] = '\0';
    begin(&terminal);
    live_screen_draw(&terminal.screen, large, 1);
    live_screen_clear(&terminal.screen);
    assert_false(terminal.screen.is_drawn);
    end(&terminal);
}

TEST(a_closed_terminal_is_not_an_error)
{
    struct terminal terminal;

    begin(&terminal);
    live_screen_draw(&terminal.screen, "frame", 1);
    assert_true(terminal.screen.is_drawn);
    close(terminal.master);
    live_screen_draw(&terminal.screen, "frame", 1);
    assert_int_equal(terminal.screen.unsent.length, 0); /* the frame was dropped */
    live_screen_clear(&terminal.screen);
    assert_false(terminal.screen.is_drawn);
    terminal.master = -1;
    end(&terminal);
}

TEST(terminal_modes_are_restored)
{
    struct termios before, during, after;
    struct terminal terminal;
    int input = dup(STDIN_FILENO);

    begin(&terminal);
    assert_int_equal(dup2(terminal.screen.fd, STDIN_FILENO), STDIN_FILENO);
    assert_int_equal(tcgetattr(STDIN_FILENO, &before), 0);
    live_screen_take_modes(&terminal.screen);
    live_screen_take_modes(&terminal.screen); /* keeps the modes that were saved before */
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

TEST(the_view_leaves_the_line_of_the_cursor_free)
{
    struct winsize size = { .ws_col = 40, .ws_row = 10 };
    struct terminal terminal;
    size_t columns, lines;

    begin(&terminal);
    live_screen_read_size(&terminal.screen, &columns, &lines);
    assert_int_equal(columns, 80); /* the default */
    assert_int_equal(lines, 23);
    assert_int_equal(ioctl(terminal.master, TIOCSWINSZ, &size), 0);
    live_screen_read_size(&terminal.screen, &columns, &lines);
    assert_int_equal(columns, 40);
    assert_int_equal(lines, 9);
    /* A terminal that is not the controlling one counts as foreground. */
    assert_true(live_screen_is_in_foreground(&terminal.screen));
    end(&terminal);
}

/* ---- live view ---------------------------------------------------------- */

enum { METRICS_MAX = 256 };

static size_t index_of(const char *name)
{
    size_t i = 0;

    while (strcmp(spoor_metric_get(i)->name, name) != 0)
        i++;
    return i;
}

/* Adds CPU time and memory to `sample`, and the sample to the view. */
static void add_with(struct live_view *view, double seconds, double cpu_seconds,
                     double peak_bytes, double now_bytes, struct spoor_sample sample)
{
    double values[METRICS_MAX], moments[METRICS_MAX];

    sample.elapsed_seconds = seconds;
    sample.values = values;
    sample.count = spoor_metric_count();
    sample.moments = moments;

    assert_true(sample.count <= METRICS_MAX);
    for (size_t i = 0; i < sample.count; i++)
        values[i] = moments[i] = (double)NAN;
    values[index_of("job_cpu_seconds")] = cpu_seconds;
    values[index_of("job_rss_bytes")] = peak_bytes;
    moments[index_of("job_rss_bytes")] = now_bytes;
    live_view_add(view, &sample);
}

static void add(struct live_view *view, double seconds, double cpu_seconds, double peak_bytes,
                double now_bytes)
{
    add_with(view, seconds, cpu_seconds, peak_bytes, now_bytes,
             (struct spoor_sample){ .cpu_limit = nan(""), .memory_limit_bytes = nan("") });
}

static size_t write_lines(const struct live_view *view, struct live_style style,
                          struct buffer *out)
{
    return live_view_write(view, "process 42 (job)", &style, out);
}

static size_t count_lines(const char *text)
{
    size_t count = 1;

    for (; (text = strchr(text, '\n')); text++)
        count++;
    return count;
}

/* Returns the width of the widest line, without colors. */
static size_t widest(const char *text)
{
    size_t max = 0;

    while (*text) {
        char line[1024];
        size_t length = strcspn(text, "\n");

        assert_true(length < sizeof(line));
        memcpy(line, text, length);
        line[length] = '\0';
        max = utf8_columns(line) > max ? utf8_columns(line) : max;
        text += length + (text[length] == '\n');
    }
    return max;
}

TEST(a_rate_is_the_growth_since_the_last_sample)
{
    struct live_view view;

    live_view_init(&view, LIVE_JOB, 1);
    add(&view, 0, 5, 100e6, 100e6);
    assert_true(isnan(view.curves[0].now));
    add(&view, 1, 6.5, 200e6, 150e6);
    assert_true(fabs(view.curves[0].now - 1.5) < 1e-9);
    add(&view, 3, 7.5, 120e6, 110e6);
    assert_true(fabs(view.curves[0].now - 0.5) < 1e-9);
    assert_true(fabs(view.curves[0].max - 1.5) < 1e-9);
    assert_true(fabs(view.curves[1].now - 110e6) < 1);
    assert_true(fabs(view.curves[1].max - 200e6) < 1);
}

TEST(samples_close_together_cause_no_spike)
{
    struct live_view view;

    live_view_init(&view, LIVE_JOB, 1);
    add(&view, 0, 5, 1, 1);
    add(&view, 0.01, 5.02, 1, 1);
    assert_true(isnan(view.curves[0].now));
    add(&view, 1, 5.5, 1, 1);
    assert_true(fabs(view.curves[0].now - 0.5) < 1e-9);
    add(&view, 1.01, 5.6, 1, 1);
    assert_true(fabs(view.curves[0].now - 0.5) < 1e-9); /* unchanged: it is too soon */
    assert_true(fabs(view.curves[0].max - 0.5) < 1e-9);
}

/* The only sample between 1 and 2 seconds is close to the previous one. */
TEST(samples_close_together_leave_no_gap)
{
    const double *columns;
    struct live_view view;

    live_view_init(&view, LIVE_JOB, 1);
    add(&view, 0, 0, 1, 1);
    add(&view, 0.9, 0.9, 1, 1);
    add(&view, 1.3, 1.3, 1, 1);
    add(&view, 2.1, 3.3, 1, 1);
    columns = &view.curves[0].columns[LIVE_CURVE_COLUMNS - 3];
    assert_true(fabs(columns[0] - 1) < 1e-9 && fabs(columns[1] - 2) < 1e-9 &&
                fabs(columns[2] - 2) < 1e-9);
    add(&view, 6, 7, 1, 1); /* simulates a stopped tracker */
    assert_true(isnan(view.curves[0].columns[LIVE_CURVE_COLUMNS - 2]));
    live_view_done(&view);
}

TEST(a_counter_that_decreases_causes_no_spike)
{
    struct live_view view;

    live_view_init(&view, LIVE_JOB, 1);
    add(&view, 0, 1000, 1, 1);
    add(&view, 1, 1001, 1, 1);
    add(&view, 2, 3, 1, 1);
    assert_true(isnan(view.curves[0].now));
    add(&view, 3, 4, 1, 1);
    assert_true(fabs(view.curves[0].now - 1) < 1e-9);
    add(&view, 4, nan(""), 1, 1);
    add(&view, 5, 6, 1, 1);
    assert_true(fabs(view.curves[0].max - 1) < 1e-9);
}

/* A column covers a second: it shows the mean of a rate, or the peak of a level. */
TEST(a_curve_column_covers_several_samples)
{
    const size_t newest = LIVE_CURVE_COLUMNS - 1;
    struct live_view view;

    live_view_init(&view, LIVE_JOB, 0.5);
    add(&view, 0, 0, 1, 1);
    add(&view, 0.25, 0.5, 9, 1);
    add(&view, 0.75, 0.5, 2, 1);
    assert_true(fabs(view.curves[0].columns[newest] - 0.5 / 0.75) < 1e-9);
    assert_true(fabs(view.curves[1].columns[newest] - 9) < 1e-9);
    add(&view, 1, 1.5, 3, 1);
    assert_true(fabs(view.curves[0].columns[newest] - 4) < 1e-9);
    assert_true(fabs(view.curves[1].columns[newest] - 3) < 1e-9);
    assert_true(fabs(view.curves[1].columns[newest - 1] - 9) < 1e-9);
    add(&view, 3.5, 1.5, 4, 1); /* one column has no sample */
    assert_true(isnan(view.curves[1].columns[newest - 1]));
    assert_true(fabs(view.curves[1].columns[newest - 2] - 3) < 1e-9);
    add(&view, 1e9, 1.5, 5, 1);
    assert_true(fabs(view.curves[1].columns[newest] - 5) < 1e-9);
    assert_true(isnan(view.curves[1].columns[0]));
}

TEST(rows_without_a_value_are_left_out)
{
    struct live_style style = { .columns = 80, .lines = 23, .hint = "q: end" };
    struct live_view view;
    struct buffer out = { 0 };

    live_view_init(&view, LIVE_JOB, 1);
    add(&view, 0, 0, 100e6, 100e6);
    add(&view, 1, 0.5, 100e6, 100e6);
    assert_int_equal(write_lines(&view, style, &out), 4);
    assert_int_equal(count_lines(out.text), 4);
    assert_non_null(strstr(out.text, "process 42 (job)"));
    assert_non_null(strstr(out.text, "\nCPU          0.50 cores"));
    assert_non_null(strstr(out.text, "\nMemory       100 MB"));
    assert_non_null(strstr(out.text, "max 100 MB\nq: end; curves: last 1.00 s"));
    assert_null(strstr(out.text, "GPU"));
    assert_null(strchr(out.text, '\033'));
    buffer_clear(&out);
    style.columns = 40; /* too narrow for the whole footer */
    style.hint = "q or Ctrl-C: end with a report";
    (void)write_lines(&view, style, &out);
    assert_string_equal(strrchr(out.text, '\n') + 1, style.hint);
    buffer_done(&out);
}

/* A tree that is as deep as possible: process i is a child of process i - 1. */
enum { DEEP = 100 };

static struct spoor_sample deep_sample(struct spoor_process_sample processes[DEEP],
                                       double cpu_seconds)
{
    static const struct spoor_gpu_sample gpus[] = {
        { .index = 0, .part = -1, .utilization = 0.5, .memory_bytes = 1e9 },
        { .index = 1, .part = 2, .memory_total_bytes = 2e9 },
    };

    for (int i = 0; i < DEEP; i++)
        processes[i] = (struct spoor_process_sample){
            .pid = 1000 + i,
            .parent_pid = 999 + i,
            .name = "evil\033[2J",
            .command = i % 2
                           ? "program --with 'an argument' that is longer than most terminals "
                             "are wide, and then some more"
                           : NULL,
            .cpu_seconds = cpu_seconds * i,
            .rss_bytes = 1e6,
        };
    return (struct spoor_sample){
        .gpus = gpus,
        .gpu_count = 2,
        .processes = processes,
        .process_count = DEEP,
        .cpu_limit = 2,
        .memory_limit_bytes = 8.0 * (1 << 30),
    };
}

TEST(processes_with_the_most_cpu_are_shown_as_a_tree)
{
    const struct live_style style = { .columns = 100, .lines = 13 };
    struct spoor_process_sample processes[DEEP];
    struct live_view view;
    struct buffer out = { 0 };

    live_view_init(&view, LIVE_JOB, 1);
    add_with(&view, 0, 0, 100e6, 100e6, deep_sample(processes, 0));
    add_with(&view, 1, 1, 8e9, 8e9, deep_sample(processes, 0.01));
    add_with(&view, 1.01, 1, 8e9, 8e9, deep_sample(processes, 0.02)); /* too soon for a rate */
    assert_int_equal(write_lines(&view, style, &out), 13);
    assert_non_null(strstr(out.text, "\nCPU          1.00 of 2 cores "));
    assert_non_null(strstr(out.text, "\nMemory       8.00 GB of 8 GiB "));
    assert_non_null(strstr(out.text, "\nGPU 0        50 %, 1.00 GB of 0 B; job "));
    assert_non_null(strstr(out.text, "\nGPU 1:2      "));
    assert_non_null(strstr(out.text, "\n     PID    CPU    MEMORY  COMMAND\n"
                                     "    1095   0.95   1.00 MB  program --with "));
    assert_non_null(strstr(out.text, "\n    1096   0.96   1.00 MB    evil\\x1b[2J\n"));
    assert_non_null(strstr(out.text, "\n    1097   0.97   1.00 MB      program --with "));
    assert_non_null(strstr(out.text, "\n    1099   0.99   1.00 MB          program --with "));
    assert_non_null(strstr(out.text, "\n     95 more\n"));
    buffer_done(&out);
    live_view_done(&view);
}

TEST(memory_near_its_limit_is_red)
{
    const struct live_style style = { .columns = 100, .lines = 23, .has_color = true };
    struct spoor_process_sample processes[DEEP];
    struct live_view view;
    struct buffer out = { 0 };

    live_view_init(&view, LIVE_JOB, 1);
    add_with(&view, 0, 0, 8e9, 8e9, deep_sample(processes, 0));
    (void)write_lines(&view, style, &out);
    assert_non_null(strstr(out.text, "\033[31m8.00 GB of 8 GiB\033[0m"));
    buffer_clear(&out);
    add_with(&view, 1, 0, 8e9, 7e9, deep_sample(processes, 0));
    (void)write_lines(&view, style, &out);
    assert_null(strstr(out.text, "\033[31m"));
    buffer_done(&out);
    live_view_done(&view);
}

TEST(a_status_line_contains_as_many_figures_as_fit)
{
    struct live_style style = { .columns = 80 };
    struct spoor_process_sample processes[DEEP];
    struct live_view view;
    struct buffer out = { 0 };

    live_view_init(&view, LIVE_JOB, 1);
    add_with(&view, 0, 0, 1e9, 1e9, deep_sample(processes, 0));
    add_with(&view, 1, 1, 1e9, 1e9, deep_sample(processes, 1));
    live_view_write_line(&view, &style, &out);
    assert_string_equal(out.text, "1.00 s  CPU 1.00 of 2 cores  Memory 1.00 GB of 8 GiB");
    buffer_clear(&out);
    add(&view, 2, 1, 1e9, 0); /* the job has exited */
    live_view_write_line(&view, &style, &out);
    assert_string_equal(out.text, "2.00 s  CPU 1.00 of 2 cores  Memory 1.00 GB of 8 GiB");
    for (style.columns = 0; style.columns < 80; style.columns++) {
        buffer_clear(&out);
        live_view_write_line(&view, &style, &out);
        assert_true(widest(out.text) + 1 <= (style.columns > 1 ? style.columns : 1));
    }
    buffer_done(&out);
    live_view_done(&view);
}

TEST(frames_fit_every_terminal_size)
{
    struct spoor_process_sample processes[DEEP];
    struct live_view view;

    live_view_init(&view, LIVE_JOB, 1);
    add(&view, 0, 0, 1, 1);
    for (int i = 1; i < 500; i++)
        add_with(&view, i, i % 7, i * 1e9, i * 1e9, deep_sample(processes, i));
    for (size_t columns = 0; columns < 200; columns++) {
        for (size_t lines = 0; lines < 80; lines += lines < 16 ? 1 : 16) {
            const struct live_style style = { .columns = columns,
                                              .lines = lines,
                                              .has_unicode = columns % 2,
                                              .hint = "q or Ctrl-C: end with a report" };
            struct buffer out = { 0 };
            size_t count = write_lines(&view, style, &out);

            assert_true(count <= lines);
            if (columns > 1 && lines > 0)
                assert_int_equal(count_lines(out.text), count);
            assert_true(widest(out.text ? out.text : "") + 1 <= (columns > 1 ? columns : 1));
            buffer_done(&out);
        }
    }
    live_view_done(&view);
}

TEST(terminals_without_utf8_get_ascii)
{
    struct live_view view;
    struct live_style style = { .columns = 80, .lines = 23 };
    struct buffer out = { 0 };

    live_view_init(&view, LIVE_JOB, 1);
    for (int i = 0; i < 9; i++)
        add(&view, i, i * i, 1, 1);
    (void)write_lines(&view, style, &out);
    for (const char *c = out.text; *c; c++)
        assert_true((*c >= ' ' && *c <= '~') || *c == '\n');
    buffer_clear(&out);
    style.has_unicode = style.has_color = true;
    (void)write_lines(&view, style, &out);
    assert_non_null(strstr(out.text, "█"));
    assert_non_null(strstr(out.text, "\033[1mCPU\033[0m"));
    buffer_done(&out);
}

TEST(the_machine_has_its_own_rows)
{
    struct live_view view;

    live_view_init(&view, LIVE_HOST, 1);
    for (size_t i = 0; i < LIVE_ROWS_MAX; i++)
        assert_true(view.curves[i].metric < spoor_metric_count());
    live_view_init(&view, LIVE_JOB, 1);
    for (size_t i = 0; i < 10; i++)
        assert_true(view.curves[i].metric < spoor_metric_count());
}
