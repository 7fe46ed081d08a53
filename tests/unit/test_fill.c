/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/amount.h"
#include "base/clock.h"
#include "example_system.h"
#include "record/fill.h"
#include "record/record.h"
#include "unit_test.h"

/* ---- fill curve ------------------------------------------------------------ */

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

TEST(a_job_column_contains_values_of_the_job)
{
    struct curve curve;

    setup(&curve);
    fill(&curve, "cgroup.cpu.pressure");
    assert_int_equal(curve.record.curve.count, 4);
    assert_non_null(curve_find(&curve.record.curve, "job_cpu_pressure_seconds"));
    assert_non_null(curve_find(&curve.record.curve, "host_cpu_pressure_seconds"));
    teardown(&curve);
}

TEST(a_job_column_with_values_of_the_host_is_left_out)
{
    struct curve curve;

    setup(&curve);
    fill(&curve, "host.procfs.pressure");
    assert_null(curve_find(&curve.record.curve, "job_cpu_pressure_seconds"));
    assert_non_null(curve_find(&curve.record.curve, "host_cpu_pressure_seconds"));
    teardown(&curve);
}

/* ---- fill system ----------------------------------------------------------- */

static int set_up(void **state)
{
    struct example *example = example_new();

    example_system(example);
    *state = example;
    return 0;
}

static int tear_down(void **state)
{
    example_free(*state);
    return 0;
}

static void assert_near(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-9 * fabs(expected)))
        fail_msg("%f is not %f", value, expected);
}

TEST_WITH(counters_become_rates_and_gauges_are_unchanged, set_up, tear_down)
{
    static const struct {
        const char *path;
        double value;
    } expected[] = {
        { "system.cpu.busy_cores", 1.5 },
        { "system.cpu.iowait_cores", 0.1 },
        { "system.memory.used_bytes", 3e9 },
        { "system.memory.free_bytes", 28.6e9 },
        { "system.memory.swap_total_bytes", 1e9 },
        { "system.disk.written_bytes_per_second", 10e6 },
        { "system.disk.space_total_bytes", 90e9 },
        { "system.pressure.cpu_ratio", 0.2 },
        { "system.processes.count", 321 },
    };
    struct record record;

    example_fill(*state, &record);
    for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++)
        assert_near(record_system_find(&record, expected[i].path).value, expected[i].value);
    record_done(&record);
}

TEST_WITH(every_figure_has_a_source_or_a_reason, set_up, tear_down)
{
    struct record record;
    struct spoor_figure unknown;

    example_fill(*state, &record);
    assert_false(is_known(record.pid));
    for (size_t i = 0; i < record_system_figure_count(); i++) {
        const struct spoor_figure *figure = &record.system->figures[i];

        assert_true(isnan(figure->value) ? figure->reason && !figure->source
                                         : figure->source && !figure->reason);
    }
    unknown = record_system_find(&record, "system.network.received_bytes_per_second");
    assert_string_equal(unknown.reason, "no network interface");
    assert_true(isnan(record_system_find(&record, "no.such.path").value));
    record_done(&record);
}

TEST_WITH(devices_have_rates_only_if_they_existed_before, set_up, tear_down)
{
    struct record record;
    const struct record_disk *disks;
    const struct record_interface *interfaces;
    const struct record_mount *mounts;

    example_fill(*state, &record);
    disks = record.system->disks.items;
    interfaces = record.system->interfaces.items;
    mounts = record.system->mounts.items;
    assert_int_equal(record.system->disks.count, 2);
    assert_near(disks[0].read_bytes_per_second, 1e6);
    assert_near(disks[0].written_bytes_per_second, 10e6);
    assert_string_equal(disks[0].type, "ssd");
    assert_null(disks[0].vendor);
    assert_true(isnan(disks[1].read_bytes_per_second)); /* plugged in after the first reading */
    assert_null(disks[1].type);
    assert_true(isnan(interfaces[0].received_bytes_per_second)); /* the counter was reset */
    assert_near(interfaces[0].sent_bytes_per_second, 1000);
    assert_int_equal(record.system->mounts.count, 1);
    assert_string_equal(mounts[0].point, "/data \"1\"");
    assert_string_equal(mounts[0].disk, "sda");
    assert_int_equal(mounts[0].total_bytes, 90000000000);
    record_done(&record);
}

TEST_WITH(a_run_with_a_job_has_no_machine_section, set_up, tear_down)
{
    struct example *example = *state;
    struct record record;

    example->input.pid = 42;
    example->input.is_tracked = true;
    example_fill(example, &record);
    assert_null(record.system);
    assert_true(isnan(record_system_find(&record, "system.cpu.busy_cores").value));
    record_done(&record);
}

TEST_WITH(without_a_sample_all_figures_are_unknown, set_up, tear_down)
{
    struct example *example = *state;
    const struct devices none = { 0 };
    struct record record;

    example_forget(example);
    example->input.latest = NULL;
    example->input.first_devices = example->input.devices = &none;
    example_fill(example, &record);
    for (size_t i = 0; i < record_system_figure_count(); i++)
        assert_true(isnan(record.system->figures[i].value));
    record_done(&record);
}
