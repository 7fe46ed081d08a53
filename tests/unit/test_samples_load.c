/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "record/replay.h"
#include "record/samples_load.h"
#include "unit_test.h"

static struct sample_table begin(const char *line)
{
    struct sample_table table = { 0 };

    assert_int_equal(sample_table_begin(&table, line), 0);
    return table;
}

#define AUTO_DONE CLEANUP(sample_table_done)

static void refuse_all(const struct sample_table *table, const char *const *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct replay_row row;

        replay_row_clear(&row);
        assert_false(sample_table_read(table, rows[i], &row));
    }
}

static double read_one(const struct sample_table *table, const char *line, const char *metric,
                       struct replay_row *row)
{
    replay_row_clear(row);
    assert_true(sample_table_read(table, line, row));
    return row->value[replay_metric(metric)];
}

static bool is_near(double value, double expected)
{
    return fabs(value - expected) <= 1e-6 * fabs(expected);
}

TEST(csv_rows_are_read_by_the_columns_of_the_header)
{
    AUTO_DONE struct sample_table table = begin(
        "timestamp,elapsed_seconds,new_metric,job_cpu_seconds,job_cpu_cores,job_rss_bytes,"
        "gpu0_memory_bytes,gpu0_clock_hertz,gpu2_1_utilization");
    struct replay_row row;

    assert_true(is_near(
        read_one(&table, "1773480413.5,2,text,1.25,7,4096,,8,0.5", "job_cpu_seconds", &row),
        1.25));
    assert_true(is_near(row.unix_seconds, 1773480413.5));
    assert_true(is_near(row.elapsed_seconds, 2));
    assert_true(is_near(row.value[METRIC_JOB_RSS], 4096));
    assert_int_equal(row.gpus.count, 1);
    assert_int_equal(row.gpus.places[0].index, 2);
    assert_int_equal(row.gpus.places[0].part, 1);
    assert_true(is_near((double)row.gpus.values[0][2], 0.5));
    assert_true(isnan(row.gpus.values[0][0]));
    assert_true(isnan(read_one(&table, "1,2,,,,,,,\r", "job_rss_bytes", &row)));
}

TEST(a_row_names_its_run)
{
    AUTO_DONE struct sample_table table =
        begin("timestamp,elapsed_seconds,run_id,job_rss_bytes");
    AUTO_DONE struct sample_table lines =
        begin("{\"timestamp\": 1, \"elapsed_seconds\": 0, \"job_rss_bytes\": 3}");
    struct replay_row row;

    (void)read_one(&table, "1,2,0f3a,4", "job_rss_bytes", &row);
    assert_string_equal(row.run_id, "0f3a");
    (void)read_one(&table, "1,2,\"b7\",4", "job_rss_bytes", &row);
    assert_string_equal(row.run_id, "b7");
    (void)read_one(&table, "1,2,,4", "job_rss_bytes", &row);
    assert_string_equal(row.run_id, "");
    (void)read_one(&table, "1,2,0123456789abcdef0123456789abcdef0,4", "job_rss_bytes", &row);
    assert_string_equal(row.run_id, ""); /* too long */
    (void)read_one(&lines, "{\"timestamp\": 2, \"run_id\": \"c1\"}", "job_rss_bytes", &row);
    assert_string_equal(row.run_id, "c1"); /* after rows without a run ID */
}

TEST(an_incomplete_row_is_ignored)
{
    static const char *const rows[] = {
        "",          "1",
        "1,2",       "1,2,3,4,5",
        "x,2,3,4",   "1,2,3x,4",
        "1,2,\"3,4", ",2,3,4",
        "{}",        "timestamp,elapsed_seconds,job_rss_bytes,job_pss_bytes",
    };
    AUTO_DONE struct sample_table table =
        begin("timestamp,elapsed_seconds,job_rss_bytes,job_pss_bytes");

    refuse_all(&table, rows, ARRAY_SIZE(rows));
}

TEST(keys_of_json_rows_may_be_in_any_order)
{
    AUTO_DONE struct sample_table table = begin(
        "{\"timestamp\": 1, \"elapsed_seconds\": 0, \"job_rss_bytes\": 3, \"gpus\": null}");
    struct replay_row row;

    assert_true(
        is_near(read_one(&table,
                         "{\"job_rss_bytes\": 5, \"x\\\"\": \"}\", \"timestamp\": 2, "
                         "\"y\": {\"a\": [1, {}]}, \"elapsed_seconds\": null, \"gpus\": "
                         "[{\"index\": 1, \"part\": null, \"power_watts\": 250.5, "
                         "\"name\": \"x\"}, {\"index\": 2, \"part\": 0}]}",
                         "job_rss_bytes", &row),
                5));
    assert_true(is_near(row.unix_seconds, 2));
    assert_int_equal(row.gpus.count, 1);
    assert_int_equal(row.gpus.places[0].index, 1);
    assert_int_equal(row.gpus.places[0].part, -1);
    assert_true(is_near((double)row.gpus.values[0][4], 250.5));
}

TEST(damaged_json_is_not_a_row)
{
    static const char *const rows[] = {
        "",
        "{",
        "{}",
        "[]",
        "{\"timestamp\"",
        "{\"timestamp\":",
        "{\"timestamp\":1",
        "{\"timestamp\":1,}x",
        "{\"timestamp\":1}}",
        "{\"timestamp\" 1}",
        "{\"timestamp\":1 \"a\":2}",
        "{\"a\":\"b}",
        "{\"timestamp\":1,\"gpus\":[{\"index\":1}",
        "{\"timestamp\":1,\"gpus\":[1]}",
        "{\"timestamp\":1,\"a\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
        "{timestamp:1}",
    };
    AUTO_DONE struct sample_table table =
        begin("{\"timestamp\": 1, \"elapsed_seconds\": 0, \"job_rss_bytes\": 3}");

    refuse_all(&table, rows, ARRAY_SIZE(rows));
}

/* docs/DIALECTS.md lists the units. */
TEST(tables_of_resource_tracker_have_other_units)
{
    AUTO_DONE struct sample_table process = begin(
        "\"timestamp\",\"pid\",\"children\",\"utime\",\"stime\",\"cpu_usage\",\"memory_mib\","
        "\"disk_read_bytes\",\"gpu_usage\"");
    AUTO_DONE struct sample_table old =
        begin("\"timestamp\",\"pid\",\"utime\",\"stime\",\"pss\"\r");
    AUTO_DONE struct sample_table both =
        begin("timestamp,system_processes,system_utime,system_memory_used_mib,"
              "process_pid,process_utime,process_memory_mib");
    struct replay_row row;

    assert_true(is_near(
        read_one(&process, "5.0,18,3,1.5,0.5,9,2,100,\"\"", "job_cpu_seconds", &row), 2));
    assert_true(is_near(row.value[METRIC_JOB_USER], 1.5));
    assert_true(is_near(row.value[METRIC_JOB_RSS], 2097152));
    assert_true(is_near(row.value[METRIC_JOB_PROCESSES], 4));
    assert_true(is_near(row.value[METRIC_JOB_READ], 100));
    assert_true(isnan(row.value[METRIC_JOB_GPU_UTILIZATION]));
    assert_true(is_near(read_one(&old, "5.0,18,150,50,2048\r", "job_cpu_seconds", &row), 2));
    assert_true(is_near(row.value[METRIC_JOB_RSS], 2097152));
    assert_true(is_near(read_one(&both, "5,90,3,10,18,1.5,2", "host_cpu_seconds", &row), 3));
    assert_true(is_near(row.value[METRIC_JOB_CPU], 1.5));
    assert_true(is_near(row.value[METRIC_HOST_MEMORY_USED], 10485760));
}

/* The first row has fewer keys than later ones. */
TEST(json_samples_of_resource_tracker_are_read)
{
    AUTO_DONE struct sample_table table =
        begin("{\"cpu\":{\"per_core_pct\":[1.5],\"utime_secs\":0.5},\"disk\":[],"
              "\"timestamp_secs\":5}");
    struct replay_row row;

    assert_true(is_near(
        read_one(&table,
                 "{\"actual_interval_ms\":250,\"cpu\":{\"per_core_pct\":[1.5],"
                 "\"process_child_count\":3,\"process_rss_mib\":2,\"stime_secs\":1,"
                 "\"utime_secs\":2},\"disk\":[{\"mounts\":[{\"used_bytes\":1}],"
                 "\"read_bytes_per_sec\":10},{\"read_bytes_per_sec\":30.5}],"
                 "\"gpu\":[{\"utilization_pct\":50,\"detail\":{}},{\"vram_used_bytes\":7}],"
                 "\"timestamp_secs\":6}",
                 "host_cpu_seconds", &row),
        3));
    assert_true(is_near(row.unix_seconds, 6));
    assert_true(is_near(row.interval_seconds, 0.25));
    assert_true(is_near(row.value[METRIC_JOB_PROCESSES], 4));
    assert_true(is_near(row.value[METRIC_JOB_RSS], 2097152));
    assert_true(is_near(row.value[METRIC_HOST_DISK_READ], 40.5));
    assert_int_equal(row.gpus.count, 2);
    assert_int_equal(row.gpus.places[1].index, 1);
    assert_true(
        is_near((double)row.gpus.values[0][sample_column_gpu_measure("utilization")], 0.5));
    assert_true(
        is_near((double)row.gpus.values[1][sample_column_gpu_measure("memory_bytes")], 7));
}

TEST(other_tables_are_refused)
{
    static const char *const lines[] = {
        "",
        "a,b,c",
        "timestamp",
        "timestamp,elapsed_seconds",
        "elapsed_seconds,job_rss_bytes",
        "id,name,job_rss_bytes",
        "\"timestamp",
        "{",
        "{\"timestamp\":1}",
        "{\"schema\":\"spoor/1\"}",
        "{\"cpu\":{\"utime_secs\":1}}",
        "{\"timestamp_secs\":1,\"disk\":[{}",
    };
    AUTO_DONE struct sample_table table = { 0 };

    for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
        assert_int_equal(sample_table_begin(&table, lines[i]), -EBADMSG);
    assert_null(table.names.items);
}
