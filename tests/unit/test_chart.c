/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "output/chart.h"
#include "series/figure.h"
#include "unit_test.h"

/* ---- sparkline ------------------------------------------------------------- */

static void assert_curve(const double *curve, const double *expected, size_t columns)
{
    for (size_t i = 0; i < columns; i++)
        assert_true(fabs(curve[i] - expected[i]) < 1e-6);
}

static double spark_seconds[] = { 0, 1, 2, 3, 4, 5 };
static float spark_cores[] = { (float)NAN, 0.5f, 3, 3.5f, 2.95f, 0.05f };
static float spark_bytes[] = { 2e6f, 100e6f, 800e6f, 1200e6f, 750e6f, 0 };
static struct curve_column columns_of_run[] = {
    { "job_cpu_seconds", true, spark_cores, spark_cores, spark_cores },
    { "job_rss_bytes", false, spark_bytes, spark_bytes, spark_bytes },
};
static const struct record spark_run = {
    .elapsed_seconds = 5,
    .curve = { .samples = 6,
               .count = 6,
               .seconds = spark_seconds,
               .columns = columns_of_run,
               .column_count = 2 },
};

TEST(a_rate_is_drawn_as_constant_within_its_interval)
{
    static const double by_second[] = { 0.5, 3, 3.5, 2.95, 0.05 };
    static const double halves[] = { 0.5, 0.5, 3, 3, 3.5, 3.5, 2.95, 2.95, 0.05, 0.05 };
    double curve[10];

    sparkline_cpu(&spark_run, curve, 5);
    assert_curve(curve, by_second, 5);
    sparkline_cpu(&spark_run, curve, 10);
    assert_curve(curve, halves, 10);
    sparkline_cpu(&spark_run, curve, 1);
    assert_true(fabs(curve[0] - 2) < 1e-6); /* the mean */
}

/* As in the charts, the time of a point is the end of its interval. */
TEST(a_gauge_is_drawn_over_the_interval_of_its_point)
{
    static const double expected[] = { 100e6, 800e6, 1200e6, 750e6, 0 };
    double curve[5];

    sparkline_memory(&spark_run, curve, 5);
    assert_curve(curve, expected, 5);
    sparkline_memory(&spark_run, curve, 2);
    assert_true(fabs(sparkline_max(curve, 2) - 1200e6) < 1);
}

TEST(unknown_values_are_drawn_as_blanks)
{
    const double curve[] = { 0, nan(""), 3.5, 7 };
    float unknown[] = { (float)NAN, (float)NAN };
    struct curve_column column[] = { { "job_cpu_seconds", true, unknown, unknown, unknown },
                                     { "job_rss_bytes", false, unknown, unknown, unknown } };
    const struct record nothing = {
        .elapsed_seconds = 5,
        .curve = { .count = 2, .seconds = spark_seconds, .columns = column, .column_count = 2 },
    };
    double none[3];
    struct buffer out = { 0 };

    sparkline_write(curve, 4, true, &out);
    assert_string_equal(out.text, "▁ ▅█");
    buffer_done(&out);
    sparkline_cpu(&nothing, none, 3);
    assert_true(isnan(sparkline_max(none, 3)));
    sparkline_memory(&nothing, none, 3);
    assert_true(isnan(sparkline_max(none, 3)));
}

/* The source of CPU time became available late, or some points have no value. */
TEST(a_partly_known_rate_is_drawn_where_known)
{
    float gaps[] = { (float)NAN, (float)NAN, 2, 2 };
    struct curve_column column = { "job_cpu_seconds", true, gaps, gaps, gaps };
    const struct record late = {
        .elapsed_seconds = 4,
        .curve = { .count = 4,
                   .seconds = spark_seconds,
                   .columns = &column,
                   .column_count = 1 },
    };
    double curve[4];

    sparkline_cpu(&late, curve, 4);
    assert_true(isnan(curve[0]));
    assert_true(fabs(curve[1] - 2) < 1e-6 && fabs(curve[2] - 2) < 1e-6);
    assert_true(isnan(curve[3]));
}

TEST(a_curve_of_zeros_is_drawn_flat)
{
    static const double curve[] = { 0, 0 };
    struct buffer out = { 0 };

    sparkline_write(curve, 2, true, &out);
    assert_string_equal(out.text, "▁▁");
    buffer_done(&out);
}

TEST(an_empty_run_has_no_curve)
{
    const struct record empty = { .elapsed_seconds = nan("") };
    double curve[3];

    sparkline_cpu(&empty, curve, 3);
    assert_true(isnan(sparkline_max(curve, 3)));
    sparkline_memory(&empty, curve, 3);
    assert_true(isnan(sparkline_max(curve, 3)));
}

/* ---- chart ----------------------------------------------------------------- */

enum { POINTS = 7 };

static double seconds[POINTS] = { 0, 10, 20, 30, 40, 50, 60 };
static float cores[POINTS] = { (float)NAN, 0.5f, 1, 2, 4, 3, 0.02f };
static float bytes[POINTS] = { 1e6f, 2e8f, 4e8f, 4e8f, (float)NAN, 8e8f, 8e8f };
static float nothing[POINTS];
static struct curve_column columns[] = {
    { "job_cpu_seconds", true, cores, cores, cores },
    { "host_memory_used_bytes", false, bytes, bytes, bytes },
    { "job_read_bytes", true, nothing, nothing, nothing },
};
static const char *command[] = { "make", "it's", NULL };
static struct record run = {
    .command = command,
    .curve = { .samples = 7,
               .count = POINTS,
               .seconds = seconds,
               .columns = columns,
               .column_count = 3 },
};

static void assert_text(const struct record *record, struct format_style style,
                        const char *expected)
{
    struct buffer out = { 0 };

    chart_write(record, &style, &out);
    assert_string_equal(out.text, expected);
    buffer_done(&out);
}

/* Tests charts with block characters. */
TEST(charts_share_one_time_axis)
{
    assert_text(&run, (struct format_style){ false, true, 60, true },
                "make 'it'\\''s'\n"
                "\n"
                "CPU  1.75 cores on average, 4.00 at peak\n"
                "      4.00 ┤                        ████████\n"
                "           │                        ████████████████\n"
                "           │                ████████████████████████\n"
                "           │▄▄▄▄▄▄▄▄████████████████████████████████▁▁▁▁▁▁▁▁\n"
                "         0 └────────────────────────────────────────────────\n"
                "\n"
                "Memory of the machine  520 MB on average, 800 MB at peak\n"
                "    800 MB ┤                                ████████████████\n"
                "           │                                ████████████████\n"
                "           │        ████████████████        ████████████████\n"
                "           │████████████████████████        ████████████████\n"
                "         0 └────────────────────────────────────────────────\n"
                "            0                    30.0 s           1 min 00 s\n");
}

TEST(charts_are_ascii_without_unicode)
{
    assert_text(&run, (struct format_style){ false, false, 60, true },
                "make 'it'\\''s'\n"
                "\n"
                "CPU  1.75 cores on average, 4.00 at peak\n"
                "      4.00 |                        ########\n"
                "           |                        ################\n"
                "           |                ########################\n"
                "           |::::::::################################........\n"
                "         0 +------------------------------------------------\n"
                "\n"
                "Memory of the machine  520 MB on average, 800 MB at peak\n"
                "    800 MB |                                ################\n"
                "           |                                ################\n"
                "           |        ################        ################\n"
                "           |########################        ################\n"
                "         0 +------------------------------------------------\n"
                "            0                    30.0 s           1 min 00 s\n");
}

/* Headings show the exact figures; points have only four digits. */
TEST(means_and_peaks_match_the_figures)
{
    struct spoor_figure *figures = calloc(figure_count(), sizeof(*figures));
    struct record record = run;
    struct buffer out = { 0 };

    assert_non_null(figures);
    for (size_t i = 0; i < figure_count(); i++)
        figures[i].value = (double)NAN;
    figures[figure_index("cpu.mean_cores")].value = 1.234;
    figures[figure_index("cpu.max_cores")].value = 4.321;
    figures[figure_index("memory.system_peak_bytes")].value = 510e6; /* below the mean */
    record.figures = figures;
    chart_write(&record, &(struct format_style){ false, true, 60, true }, &out);
    assert_non_null(
        strstr(out.text, "\nCPU  1.23 cores on average, 4.32 at peak\n      4.32 ┤"));
    assert_non_null(
        strstr(out.text, "\nMemory of the machine  510 MB on average, 510 MB at peak\n"));
    buffer_done(&out);
    free(figures);
}

TEST(a_message_is_shown_for_a_run_without_a_curve)
{
    const struct record none = { .name = "a\x1b[31m" };

    assert_text(
        &none, (struct format_style){ true, true, 60, true },
        "\x1b[1ma\\x1b[31m\x1b[0m\n\nno curve: the run was too short, or its report is of "
        "an older version\n");
}

/* Draws runs of 1 ms, an hour and a year. */
TEST(charts_fit_every_width)
{
    struct buffer out = { 0 };
    double end[] = { 1e-3, 3600, 31536000 };

    for (size_t i = 0; i < 3; i++) {
        struct record other = run;
        double scaled[POINTS];

        for (size_t k = 0; k < POINTS; k++)
            scaled[k] = seconds[k] / 60 * end[i];
        other.curve.seconds = scaled;
        for (size_t width = TEXT_COLUMNS_MIN; width <= TEXT_COLUMNS_MAX; width++) {
            buffer_clear(&out);
            chart_write(&other, &(struct format_style){ false, false, width, true }, &out);
            for (const char *line = out.text; *line; line += strcspn(line, "\n") + 1)
                assert_in_range(strcspn(line, "\n"), 0, width);
        }
    }
    buffer_done(&out);
}
