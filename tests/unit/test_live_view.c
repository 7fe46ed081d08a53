/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "front/spoor/live_view.h"
#include "text/utf8.h"

enum { METRICS_MAX = 256 };

static size_t index_of(const char *name)
{
    size_t i = 0;

    while (strcmp(spoor_metric_get(i)->name, name) != 0)
        i++;
    return i;
}

/* A sample of which only CPU time and memory are known. */
static void add(struct live_view *view, double seconds, double cpu_seconds, double peak_bytes,
                double now_bytes)
{
    double values[METRICS_MAX], moments[METRICS_MAX];
    const struct spoor_sample sample = {
        .elapsed_seconds = seconds,
        .values = values,
        .count = spoor_metric_count(),
        .moments = moments,
    };

    assert_true(sample.count <= METRICS_MAX);
    for (size_t i = 0; i < sample.count; i++)
        values[i] = moments[i] = (double)NAN;
    values[index_of("job_cpu_seconds")] = cpu_seconds;
    values[index_of("job_rss_bytes")] = peak_bytes;
    moments[index_of("job_rss_bytes")] = now_bytes;
    live_view_add(view, &sample);
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

/* The widest line, without colors. */
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

static void a_rate_is_the_growth_since_the_last_sample(void **state)
{
    struct live_view view;

    (void)state;
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

static void samples_that_are_close_together_give_no_spike(void **state)
{
    struct live_view view;

    (void)state;
    live_view_init(&view, LIVE_JOB, 1);
    add(&view, 0, 5, 1, 1);
    add(&view, 0.01, 5.02, 1, 1);
    assert_true(isnan(view.curves[0].now));
    add(&view, 1, 5.5, 1, 1);
    assert_true(fabs(view.curves[0].now - 0.5) < 1e-9);
    add(&view, 1.01, 5.6, 1, 1);
    assert_true(fabs(view.curves[0].now - 0.5) < 1e-9); /* as before */
    assert_true(fabs(view.curves[0].max - 0.5) < 1e-9);
}

static void a_counter_that_steps_back_gives_no_spike(void **state)
{
    struct live_view view;

    (void)state;
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

/* A column of two seconds: the mean of a rate, the peak of a level. */
static void a_column_stands_for_several_samples(void **state)
{
    const size_t newest = LIVE_CURVE_COLUMNS - 1;
    struct live_view view;

    (void)state;
    live_view_init(&view, LIVE_JOB, 0.5);
    add(&view, 0, 0, 1, 1);
    add(&view, 0.5, 0.5, 9, 1);
    add(&view, 1.5, 0.5, 2, 1);
    assert_true(fabs(view.curves[0].columns[newest] - 0.5 / 1.5) < 1e-9);
    assert_true(fabs(view.curves[1].columns[newest] - 9) < 1e-9);
    add(&view, 2, 1.5, 3, 1);
    assert_true(fabs(view.curves[0].columns[newest] - 2) < 1e-9);
    assert_true(fabs(view.curves[1].columns[newest] - 3) < 1e-9);
    assert_true(fabs(view.curves[1].columns[newest - 1] - 9) < 1e-9);
    add(&view, 7, 1.5, 4, 1); /* no sample fell into one column */
    assert_true(isnan(view.curves[1].columns[newest - 1]));
    assert_true(fabs(view.curves[1].columns[newest - 2] - 3) < 1e-9);
    add(&view, 1e9, 1.5, 5, 1);
    assert_true(fabs(view.curves[1].columns[newest] - 5) < 1e-9);
    assert_true(isnan(view.curves[1].columns[0]));
}

static void rows_without_a_value_are_left_out(void **state)
{
    struct live_style style = { .columns = 80, .lines = 23, .hint = "q: end" };
    struct live_view view;
    struct buffer out = { 0 };

    (void)state;
    live_view_init(&view, LIVE_JOB, 1);
    add(&view, 0, 0, 100e6, 100e6);
    add(&view, 1, 0.5, 100e6, 100e6);
    assert_int_equal(write_lines(&view, style, &out), 4);
    assert_int_equal(count_lines(out.text), 4);
    assert_non_null(strstr(out.text, "process 42 (job)"));
    assert_non_null(strstr(out.text, "\nCPU          0.50 cores"));
    assert_non_null(strstr(out.text, "\nMemory       100 MB"));
    assert_non_null(strstr(out.text, "max 100 MB\nq: end; one column is 2 s"));
    assert_null(strstr(out.text, "GPU"));
    assert_null(strchr(out.text, '\033'));
    buffer_clear(&out);
    style.columns = 40; /* too narrow for the whole footer */
    style.hint = "q or Ctrl-C: end with a report";
    (void)write_lines(&view, style, &out);
    assert_string_equal(strrchr(out.text, '\n') + 1, style.hint);
    buffer_done(&out);
}

static void every_size_of_terminal_is_kept_to(void **state)
{
    struct live_view view;

    (void)state;
    live_view_init(&view, LIVE_JOB, 1);
    add(&view, 0, 0, 1, 1);
    for (int i = 1; i < 500; i++)
        add(&view, i, i % 7, i * 1e9, i * 1e9);
    for (size_t columns = 0; columns < 200; columns++) {
        for (size_t lines = 0; lines < 8; lines++) {
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
}

static void other_terminals_get_ascii(void **state)
{
    struct live_view view;
    struct live_style style = { .columns = 80, .lines = 23 };
    struct buffer out = { 0 };

    (void)state;
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

static void the_host_has_rows_of_its_own(void **state)
{
    struct live_view view;

    (void)state;
    live_view_init(&view, LIVE_HOST, 1);
    for (size_t i = 0; i < LIVE_ROWS_MAX; i++)
        assert_true(view.curves[i].metric < spoor_metric_count());
    live_view_init(&view, LIVE_JOB, 1);
    for (size_t i = 0; i < 10; i++)
        assert_true(view.curves[i].metric < spoor_metric_count());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rate_is_the_growth_since_the_last_sample),
        cmocka_unit_test(samples_that_are_close_together_give_no_spike),
        cmocka_unit_test(a_counter_that_steps_back_gives_no_spike),
        cmocka_unit_test(a_column_stands_for_several_samples),
        cmocka_unit_test(rows_without_a_value_are_left_out),
        cmocka_unit_test(every_size_of_terminal_is_kept_to),
        cmocka_unit_test(other_terminals_get_ascii),
        cmocka_unit_test(the_host_has_rows_of_its_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
