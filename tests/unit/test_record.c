/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "example_report.h"
#include "series/figure.h"
#include "unit_test.h"

TEST(a_record_outlives_its_sources)
{
    struct buffer before = { 0 }, after = { 0 };
    struct example *example = example_new();
    struct record record;

    example->input.phase_count = EXAMPLE_PHASES;
    example->input.warning_count = EXAMPLE_WARNINGS;
    example_fill(example, &record);
    json_write(&record, NULL, &before);
    memset(example->phases, 'x', sizeof(example->phases));
    memset(example->warnings, 'x', sizeof(example->warnings));
    memset(&example->host, 'x', sizeof(example->host));
    example_free(example);
    json_write(&record, NULL, &after);
    assert_string_equal(before.text, after.text);
    record_done(&record);
    buffer_done(&before);
    buffer_done(&after);
}

TEST(ending_a_record_twice_is_harmless)
{
    struct record record;

    record_init(&record);
    assert_true(isnan(record.elapsed_seconds));
    assert_int_equal(record.exit_code, UNKNOWN);
    record_done(&record);
    assert_non_null(record_text(&record, "x"));
    assert_null(record_text(&record, NULL));
    record_done(&record);
    record_done(&record);
}

TEST(a_failed_allocation_is_recorded)
{
    struct record record;

    record_init(&record);
    assert_null(record_alloc(&record, SIZE_MAX / 2, 4));
    assert_null(record_alloc(&record, SIZE_MAX, 1));
    assert_int_equal(record.error, -ENOMEM);
    record_done(&record);
}

TEST(figures_are_found_by_their_path)
{
    struct example *example = example_new();
    struct record record;

    example_fill(example, &record);
    assert_true(fabs(record_find(record.figures, "cpu.total_seconds").value - 10) < 1e-9);
    assert_string_equal(record_find(record.figures, "cpu.total_seconds").source,
                        "perf.task-clock");
    assert_true(isnan(record_find(record.figures, "no.such").value));
    assert_true(isnan(record_find(NULL, "cpu.total_seconds").value));
    record_done(&record);
    example_free(example);
}

/* If a tag is given twice, the last value is used. Keys that differ only in bytes that are
 * not UTF-8 are equal in JSON. */
TEST(each_tag_key_is_unique)
{
    static const char *const tags[] = { "a=1", "\xff=2", "b", "a=3", "\xfe=4", NULL };
    static const struct record_tag expected[] = { { "b", "" }, { "a", "3" }, { "\xfe", "4" } };
    struct example *example = example_new();
    struct record record;

    example->input.tags = tags;
    example_fill(example, &record);
    assert_int_equal(record.tags.count, ARRAY_SIZE(expected));
    for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
        assert_string_equal(record.tags.items[i].key, expected[i].key);
        assert_string_equal(record.tags.items[i].value, expected[i].value);
    }
    record_done(&record);
    example_free(example);
}

static const struct curve_column *find(const struct record *record, const char *name)
{
    const struct curve_column *column = curve_find(&record->curve, name);

    assert_non_null(column);
    return column;
}

TEST(the_curve_contains_rates_of_counters_and_values_of_gauges)
{
    struct example *example = example_new();
    struct record record;
    const struct curve_column *cpu, *memory;

    example_fill(example, &record);
    cpu = find(&record, "job_cpu_seconds");
    memory = find(&record, "job_rss_bytes");
    assert_int_equal(record.curve.count, EXAMPLE_SAMPLES);
    assert_int_equal(record.curve.samples, EXAMPLE_SAMPLES);
    assert_true(fabs(record.curve.seconds[5] - 5) < 1e-9);
    assert_true(cpu->is_rate && !memory->is_rate);
    assert_true(isnan(cpu->high[0]) && fabsf(cpu->high[3] - 3.5f) < 1e-6f);
    assert_true(fabsf(memory->high[3] - 1.2e9f) < 1);
    assert_null(curve_find(&record.curve, "job_swap_bytes")); /* its values were never known */
    assert_null(curve_find(&record.curve, "job_rss_peak_bytes"));
    record_done(&record);
    example_free(example);
}

TEST(dates_survive_a_round_trip)
{
    static const char *const bad[] = { "",
                                       "2026-03-14",
                                       "2026-03-14T09:26:53",
                                       "2026-03-14T09:26:53.Z",
                                       "2026-03-14T09:26:53.589",
                                       "2026-03-14T09:26:53.589Zx",
                                       "2026-13-14T09:26:53Z",
                                       "1969-12-31T23:59:59Z",
                                       "x" };
    double seconds;

    for (unsigned ms = 0; ms < 1000; ms++) {
        double date = 1773480413 + ms / 1e3;

        assert_int_equal(clock_parse(clock_format(date).text, &seconds), 0);
        assert_true(!(seconds < date) && !(seconds > date));
    }
    assert_int_equal(clock_parse("2026-03-14T09:26:53Z", &seconds), 0);
    assert_string_equal(clock_format(seconds).text, "2026-03-14T09:26:53.000Z");
    assert_string_equal(clock_format(nan("")).text, "");
    assert_string_equal(clock_format(1e300).text, "");
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_int_equal(clock_parse(bad[i], &seconds), -EBADMSG);
}
