/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "output/chart.h"
#include "series/figure.h"

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

/* Blocks where the locale has them. */
static void charts_stand_on_one_time_axis(void **state)
{
    (void)state;
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

static void without_unicode_charts_are_ascii(void **state)
{
    (void)state;
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

/* The points have four digits of what the figures are. */
static void means_and_peaks_are_those_of_the_figures(void **state)
{
    struct spoor_figure *figures = calloc(figure_count(), sizeof(*figures));
    struct record record = run;
    struct buffer out = { 0 };

    (void)state;
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

static void a_run_without_a_curve_says_so(void **state)
{
    const struct record none = { .name = "a\x1b[31m" };

    (void)state;
    assert_text(
        &none, (struct format_style){ true, true, 60, true },
        "\x1b[1ma\\x1b[31m\x1b[0m\n\nno curve: the run was too short, or its report is of "
        "an older version\n");
}

/* Short and long runs, one column and many points. */
static void every_width_has_room(void **state)
{
    struct buffer out = { 0 };
    double end[] = { 1e-3, 3600, 31536000 };

    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(charts_stand_on_one_time_axis),
        cmocka_unit_test(without_unicode_charts_are_ascii),
        cmocka_unit_test(means_and_peaks_are_those_of_the_figures),
        cmocka_unit_test(a_run_without_a_curve_says_so),
        cmocka_unit_test(every_width_has_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
