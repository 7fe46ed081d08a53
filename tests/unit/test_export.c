/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "example_report.h"
#include "json_check.h"
#include "output/export.h"
#include "unit_test.h"

#define LABELS "run_id=\"ab\""

/* ---- the tables --------------------------------------------------------- */

/* Names consist of letters, digits and the separators of the format, and begin with a
 * letter. */
static void check_name(const char *name, const char *separators)
{
    size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789");

    assert_true(name[0] >= 'a' && name[0] <= 'z');
    for (const char *c = name; *c; c += length) {
        length = strspn(c, "abcdefghijklmnopqrstuvwxyz0123456789");
        length += strspn(c + length, separators) > 0;
        assert_true(length > 0);
    }
}

struct names {
    const char *name, *otel, *attribute, *help;
    const char *unit; /* name of the unit in OpenTelemetry */
    bool is_counter;
};

static size_t list_names(struct names *ret)
{
    size_t count = 0;

    for (int i = 0; i < METRIC_COUNT; i++) {
        const struct metric_row *row = metric_row((enum metric)i);

        if (row->otel)
            ret[count++] = (struct names){ row->published.name,
                                           row->otel,
                                           row->attribute,
                                           row->published.help,
                                           name_unit(row->published.name).otel,
                                           row->published.kind == SPOOR_COUNTER };
    }
    for (int i = 0; i < GPU_MEASURE_COUNT; i++) {
        const struct gpu_measure_row *row = gpu_measure_row((enum gpu_measure)i);

        ret[count++] = (struct names){
            row->name,      row->otel, row->attribute, row->help, name_unit(row->name).otel,
            row->is_counter
        };
    }
    return count;
}

TEST(test_names_are_valid_and_unique)
{
    struct names rows[METRIC_COUNT + GPU_MEASURE_COUNT];
    size_t count = list_names(rows);

    for (size_t i = 0; i < count; i++) {
        check_name(rows[i].name, "_");
        check_name(rows[i].otel, "._");
        if (rows[i].attribute) {
            assert_non_null(strchr(rows[i].attribute, '='));
            check_name(rows[i].attribute, "._=");
        }
        assert_null(strpbrk(rows[i].help, "\\\"\n"));
        assert_null(strstr(rows[i].name, "_total"));
        for (size_t j = 0; j < i; j++) {
            bool is_same = strcmp(rows[i].otel, rows[j].otel) == 0;

            assert_false(is_same && !rows[i].attribute && !rows[j].attribute);
            assert_false(is_same && rows[i].attribute && rows[j].attribute &&
                         strcmp(rows[i].attribute, rows[j].attribute) == 0);
            if (is_same) {
                assert_string_equal(rows[i].unit, rows[j].unit);
                assert_int_equal(rows[i].is_counter, rows[j].is_counter);
            }
            /* GPU measures have a prefix, but names must differ even without it. */
            assert_string_not_equal(rows[i].name, rows[j].name);
        }
    }
}

TEST(test_no_metric_name_starts_with_the_gpu_prefix)
{
    for (int i = 0; i < METRIC_COUNT; i++)
        assert_true(strncmp(metric_row((enum metric)i)->published.name, "gpu_", 4) != 0);
}

/* ---- samples ------------------------------------------------------------ */

static struct export_sample empty(void)
{
    struct export_sample sample = { .unix_seconds = 1000.5, .elapsed_seconds = 2 };

    sample.cpu_limit = sample.memory_limit_bytes = (double)NAN;
    for (int i = 0; i < METRIC_COUNT; i++)
        sample.values[i] = (double)NAN;
    for (int i = 0; i < GPU_MEASURE_COUNT; i++)
        sample.gpus[0].values[i] = (double)NAN;
    return sample;
}

static void check_written(const struct export_sample *sample, enum exposition how,
                          const char *expected)
{
    struct buffer out = { 0 };

    export_write(sample, LABELS, how, &out);
    assert_int_equal(buffer_error(&out), 0);
    assert_string_equal(out.text, expected);
    buffer_done(&out);
}

TEST(test_a_sample_is_written_in_each_format)
{
    struct export_sample sample = empty();

    sample.values[METRIC_JOB_CPU] = 1.25;
    sample.values[METRIC_JOB_THREADS] = 3;
    check_written(&sample, EXPOSE_OPENMETRICS,
                  "# TYPE spoor_run_elapsed_seconds gauge\n"
                  "# UNIT spoor_run_elapsed_seconds seconds\n"
                  "# HELP spoor_run_elapsed_seconds time since the run began\n"
                  "spoor_run_elapsed_seconds{" LABELS "} 2\n"
                  "# TYPE spoor_job_cpu_seconds counter\n"
                  "# UNIT spoor_job_cpu_seconds seconds\n"
                  "# HELP spoor_job_cpu_seconds CPU time of the job\n"
                  "spoor_job_cpu_seconds_total{" LABELS "} 1.25\n"
                  "# TYPE spoor_job_threads gauge\n"
                  "# HELP spoor_job_threads threads of the job\n"
                  "spoor_job_threads{" LABELS "} 3\n"
                  "# EOF\n");
    check_written(&sample, EXPOSE_TEXT,
                  "# TYPE spoor_run_elapsed_seconds gauge\n"
                  "# HELP spoor_run_elapsed_seconds time since the run began\n"
                  "spoor_run_elapsed_seconds{" LABELS "} 2\n"
                  "# TYPE spoor_job_cpu_seconds_total counter\n"
                  "# HELP spoor_job_cpu_seconds_total CPU time of the job\n"
                  "spoor_job_cpu_seconds_total{" LABELS "} 1.25\n"
                  "# TYPE spoor_job_threads gauge\n"
                  "# HELP spoor_job_threads threads of the job\n"
                  "spoor_job_threads{" LABELS "} 3\n");
    check_written(&sample, EXPOSE_TIMED,
                  "spoor_run_elapsed_seconds{" LABELS "} 2 1000500\n"
                  "spoor_job_cpu_seconds_total{" LABELS "} 1.25 1000500\n"
                  "spoor_job_threads{" LABELS "} 3 1000500\n");
}

TEST(test_gpu_metrics_have_labels)
{
    struct export_sample sample = empty();

    sample.gpu_count = 2;
    sample.gpus[1] = sample.gpus[0];
    sample.gpus[0].part = -1;
    sample.gpus[1].index = 3;
    sample.gpus[1].part = 1;
    (void)snprintf(sample.gpus[0].uuid, sizeof(sample.gpus[0].uuid), "GPU-1");
    (void)snprintf(sample.gpus[1].uuid, sizeof(sample.gpus[1].uuid), "MIG-2");
    sample.gpus[0].values[GPU_ENERGY] = sample.gpus[1].values[GPU_ENERGY] = 5;
    sample.elapsed_seconds = (double)NAN;
    check_written(&sample, EXPOSE_TEXT,
                  "# TYPE spoor_gpu_energy_joules_total counter\n"
                  "# HELP spoor_gpu_energy_joules_total energy used by the device since the "
                  "start of the run, estimated by its power since the last counter reading\n"
                  "spoor_gpu_energy_joules_total{" LABELS ",gpu=\"0\",uuid=\"GPU-1\"} 5\n"
                  "spoor_gpu_energy_joules_total{" LABELS ",gpu=\"3:1\",uuid=\"MIG-2\"} 5\n");
}

TEST(test_labels_are_escaped)
{
    struct buffer out = { 0 };

    export_add_label("name", "a\"b\\c\nd\x1b\xff\xe2\x80\xae", &out);
    export_add_label("host", "", &out);
    assert_string_equal(
        out.text, "name=\"a\\\"b\\\\c\\nd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\",host=\"\"");
    buffer_done(&out);
    assert_true(export_is_label_name("a_B9"));
    assert_false(export_is_label_name("9a") || export_is_label_name("") ||
                 export_is_label_name("a-b") || export_is_label_name("__a"));
}

static void check_value(const struct export_sample *sample, enum metric metric, float value)
{
    assert_float_equal((float)sample->values[metric], value, 0);
}

TEST(test_samples_between_two_scrapes_are_merged)
{
    struct export_sample sample = empty(), later = empty(), last = empty();

    sample.values[METRIC_JOB_RSS] = 10;
    sample.values[METRIC_JOB_READ] = 7;
    sample.values[METRIC_JOB_CPU] = 1;
    sample.values[METRIC_HOST_MEMORY_AVAILABLE] = 100;
    later.values[METRIC_JOB_RSS] = 4;
    later.values[METRIC_JOB_READ] = 5; /* a corrected value, lower than before */
    later.values[METRIC_JOB_CPU] = 2;
    later.values[METRIC_HOST_MEMORY_AVAILABLE] = 90;
    later.unix_seconds = 1001;
    export_sample_fold(&sample, &later);
    check_value(&sample, METRIC_JOB_RSS, 10);
    check_value(&sample, METRIC_JOB_READ, 7);
    check_value(&sample, METRIC_JOB_CPU, 2);
    check_value(&sample, METRIC_HOST_MEMORY_AVAILABLE, 90);
    assert_float_equal((float)sample.unix_seconds, 1001.0F, 0);
    last.values[METRIC_JOB_RSS] = 3;
    last.values[METRIC_JOB_READ] = 6;
    export_sample_follow(&sample, &last);
    check_value(&sample, METRIC_JOB_RSS, 3);
    check_value(&sample, METRIC_JOB_READ, 7);
}

/* ---- OTLP --------------------------------------------------------------- */

TEST(test_otlp_json_contains_samples_and_resource)
{
    static const struct export_label resource[] = { { "spoor.run.id", "ab" } };
    struct export_sample samples[] = { empty(), empty() };
    struct buffer out = { 0 };

    samples[0].values[METRIC_JOB_USER] = 1;
    samples[1].values[METRIC_JOB_USER] = 2;
    samples[1].values[METRIC_JOB_SYSTEM] = 0.5;
    samples[1].unix_seconds = 1001.5;
    samples[1].gpu_count = 1;
    (void)snprintf(samples[1].gpus[0].uuid, sizeof(samples[1].gpus[0].uuid), "GPU-1");
    samples[1].gpus[0].values[GPU_TEMPERATURE] = 50;
    otlp_write(samples, 2, resource, 1, &out);
    assert_int_equal(buffer_error(&out), 0);
    assert_true(json_is_valid(out.text));
    assert_string_equal(
        out.text,
        "{\"resourceMetrics\":[{\"resource\":{\"attributes\":[{\"key\":\"spoor.run.id\","
        "\"value\":{\"stringValue\":\"ab\"}}]},\"scopeMetrics\":[{\"scope\":{\"name\":"
        "\"spoor\","
        "\"version\":\"" SPOOR_VERSION "\"},\"metrics\":["
        "{\"name\":\"spoor.job.cpu.mode.time\",\"description\":\"the part of it spent in user "
        "space\",\"unit\":\"s\",\"sum\":{\"aggregationTemporality\":2,\"isMonotonic\":true,"
        "\"dataPoints\":["
        "{\"startTimeUnixNano\":\"998500000000\",\"timeUnixNano\":\"1000500000000\","
        "\"asDouble\":1,\"attributes\":[{\"key\":\"cpu.mode\",\"value\":{\"stringValue\":"
        "\"user\"}}]},"
        "{\"startTimeUnixNano\":\"999500000000\",\"timeUnixNano\":\"1001500000000\","
        "\"asDouble\":2,\"attributes\":[{\"key\":\"cpu.mode\",\"value\":{\"stringValue\":"
        "\"user\"}}]},"
        "{\"startTimeUnixNano\":\"999500000000\",\"timeUnixNano\":\"1001500000000\","
        "\"asDouble\":0.5,\"attributes\":[{\"key\":\"cpu.mode\",\"value\":{\"stringValue\":"
        "\"system\"}}]}]}},"
        "{\"name\":\"hw.temperature\",\"description\":\"temperature of the device\",\"unit\":"
        "\"Cel\",\"gauge\":{\"dataPoints\":[{\"timeUnixNano\":\"1001500000000\",\"asDouble\":"
        "50,"
        "\"attributes\":[{\"key\":\"hw.type\",\"value\":{\"stringValue\":\"gpu\"}},{\"key\":"
        "\"hw.id\",\"value\":{\"stringValue\":\"GPU-1\"}}]}]}}]}]}]}");
    buffer_done(&out);
}

/* ---- reports ------------------------------------------------------------ */

static size_t occurrences(const char *text, const char *part)
{
    size_t count = 0;

    for (; (text = strstr(text, part)); text++)
        count++;
    return count;
}

TEST(test_reports_share_metric_families)
{
    struct example *example = example_new();
    struct record records[2];
    struct buffer out = { 0 };

    example_fill(example, &records[0]);
    example_fill(example, &records[1]);
    openmetrics_write_all(records, 2, &out);
    assert_int_equal(buffer_error(&out), 0);
    assert_int_equal(
        occurrences(out.text, "# TYPE spoor_run_memory_combined_total_rss_bytes gauge\n"), 1);
    assert_int_equal(
        occurrences(out.text, "\nspoor_run_memory_combined_total_rss_bytes{run_id="), 2);
    assert_int_equal(occurrences(out.text, "\nspoor_run_cpu_total_seconds{"), 2);
    assert_int_equal(occurrences(out.text, "# EOF\n"), 1);
    assert_string_equal(out.text + out.length - 6, "# EOF\n");
    assert_null(strstr(out.text, "nan"));
    for (size_t i = 0; i < 2; i++)
        record_done(&records[i]);
    buffer_done(&out);
    example_free(example);
}
