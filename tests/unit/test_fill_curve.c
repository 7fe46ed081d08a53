/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>

#include "base/clock.h"
#include "record/fill_curve.h"

struct curve {
    struct summary summary;
    struct series series;
    struct record record;
};

static void setup(struct curve *curve)
{
    *curve = (struct curve){ 0 };
    record_init(&curve->record);
    summary_init(&curve->summary, NS_PER_SECOND);
    assert_int_equal(series_init(&curve->series, 8), 0);
}

static void teardown(struct curve *curve)
{
    series_done(&curve->series);
    record_done(&curve->record);
}

static void add_pressure(struct curve *curve, uint64_t seconds)
{
    const struct series_gpus no_gpus = { 0 };
    struct sample sample;

    sample_clear(&sample);
    sample.elapsed_ns = seconds * NS_PER_SECOND;
    sample.value[METRIC_JOB_CPU_PRESSURE] = sample.elapsed_ns / 4;
    sample.value[METRIC_HOST_CPU_PRESSURE] = sample.elapsed_ns / 4;
    summary_add(&curve->summary, &sample);
    series_append(&curve->series, &sample, &curve->summary, &no_gpus);
}

static void fill(struct curve *curve, const char *job_source)
{
    for (uint64_t i = 0; i < 4; i++)
        add_pressure(curve, i);
    curve->summary.tally[METRIC_JOB_CPU_PRESSURE].origin.source = job_source;
    curve->summary.tally[METRIC_HOST_CPU_PRESSURE].origin.source = "host.procfs.pressure";
    fill_curve(&curve->record, &curve->series, &curve->summary);
}

static void a_column_of_the_job_has_values_of_the_job(void **state)
{
    struct curve curve;

    (void)state;
    setup(&curve);
    fill(&curve, "cgroup.cpu.pressure");
    assert_int_equal(curve.record.curve.count, 4);
    assert_non_null(curve_find(&curve.record.curve, "job_cpu_pressure_seconds"));
    assert_non_null(curve_find(&curve.record.curve, "host_cpu_pressure_seconds"));
    teardown(&curve);
}

static void a_column_of_the_job_with_values_of_the_host_is_left_out(void **state)
{
    struct curve curve;

    (void)state;
    setup(&curve);
    fill(&curve, "host.procfs.pressure");
    assert_null(curve_find(&curve.record.curve, "job_cpu_pressure_seconds"));
    assert_non_null(curve_find(&curve.record.curve, "host_cpu_pressure_seconds"));
    teardown(&curve);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_column_of_the_job_has_values_of_the_job),
        cmocka_unit_test(a_column_of_the_job_with_values_of_the_host_is_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
