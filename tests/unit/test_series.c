/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include "base/clock.h"
#include "series/series.h"
#include <cmocka.h>

/* Sample `i`: a second apart, a gauge that is high at one sample, a counter. */
static struct sample make(uint64_t i, uint64_t peak_at)
{
    struct sample sample;

    sample_clear(&sample);
    sample.elapsed_ns = i * NS_PER_SECOND;
    sample.realtime_ns = 7 * NS_PER_SECOND + sample.elapsed_ns;
    sample.value[METRIC_JOB_RSS] = i == peak_at ? 1000000 : 10;
    sample.value[METRIC_JOB_CPU] = i;
    return sample;
}

static void fill(struct series *series, uint64_t count, uint64_t peak_at)
{
    assert_int_equal(series_init(series), 0);
    for (uint64_t i = 0; i < count; i++) {
        struct sample sample = make(i, peak_at);

        series_append(series, &sample);
    }
}

static void short_runs_are_kept_sample_by_sample(void **state)
{
    struct series series;

    (void)state;
    fill(&series, SERIES_POINTS, 5);
    assert_int_equal(series.count, SERIES_POINTS);
    assert_int_equal(series.stride, 1);
    for (size_t i = 0; i < SERIES_POINTS; i++)
        assert_int_equal(series.points[i].value[METRIC_JOB_CPU], i);
    series_done(&series);
    series_done(&series); /* twice is harmless */
}

static void a_full_series_halves_its_resolution(void **state)
{
    struct series series;

    (void)state;
    fill(&series, SERIES_POINTS + 1, 5);
    assert_int_equal(series.count, SERIES_POINTS / 2 + 1);
    assert_int_equal(series.stride, 2);
    assert_int_equal(series.open_samples, 1);
    assert_int_equal(series.points[0].value[METRIC_JOB_CPU], 1); /* the later of two */
    assert_int_equal(series.points[0].elapsed_ns, NS_PER_SECOND);
    assert_int_equal(series.points[0].realtime_ns, 8 * NS_PER_SECOND);
    assert_int_equal(series.points[2].value[METRIC_JOB_RSS], 1000000); /* samples 4 and 5 */
    assert_int_equal(series.points[3].value[METRIC_JOB_RSS], 10);
    series_done(&series);
}

/* A week at 10 ms is 60 million samples; 200,000 of them halve it eight times. */
static void no_peak_and_no_growth_is_lost_in_a_long_run(void **state)
{
    static const uint64_t counts[] = {
        1, 2, 1023, 1024, 1025, 2047, 2048, 2049, 5000, 1000003
    };

    (void)state;
    for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
        struct series series;
        uint64_t peak_at = counts[k] / 3;
        size_t peaks = 0;

        fill(&series, counts[k], peak_at);
        assert_in_range(series.count, 1, SERIES_POINTS);
        for (size_t i = 0; i < series.count; i++) {
            const struct sample *point = &series.points[i];

            peaks += point->value[METRIC_JOB_RSS] == 1000000;
            assert_int_equal(point->elapsed_ns, point->value[METRIC_JOB_CPU] * NS_PER_SECOND);
            assert_true(i == 0 || point->elapsed_ns > point[-1].elapsed_ns);
        }
        assert_int_equal(peaks, 1);
        assert_int_equal(series.points[series.count - 1].value[METRIC_JOB_CPU], counts[k] - 1);
        series_done(&series);
    }
}

static void unknown_gives_way_to_known(void **state)
{
    struct series series;
    struct sample sample;

    (void)state;
    fill(&series, SERIES_POINTS, 5);
    series.points[0].value[METRIC_JOB_RSS] = UNKNOWN;
    series.points[3].value[METRIC_JOB_RSS] = UNKNOWN;
    series.points[4].value[METRIC_JOB_RSS] = UNKNOWN;
    series.points[5].value[METRIC_JOB_RSS] = UNKNOWN;
    series.points[7].value[METRIC_JOB_CPU] = UNKNOWN;
    sample = make(SERIES_POINTS, 5);
    series_append(&series, &sample);
    assert_int_equal(series.points[0].value[METRIC_JOB_RSS], 10);
    assert_int_equal(series.points[1].value[METRIC_JOB_RSS], 10);
    assert_false(is_known(series.points[2].value[METRIC_JOB_RSS]));
    assert_int_equal(series.points[3].value[METRIC_JOB_CPU], 6);
    assert_false(is_known(series.points[0].value[METRIC_JOB_SWAP]));
    series_done(&series);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_runs_are_kept_sample_by_sample),
        cmocka_unit_test(a_full_series_halves_its_resolution),
        cmocka_unit_test(no_peak_and_no_growth_is_lost_in_a_long_run),
        cmocka_unit_test(unknown_gives_way_to_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
