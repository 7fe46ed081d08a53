/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "fake_root.h"
#include "session/samples_file.h"
#include "unit_test.h"

#define MIB 1048576ull

/* Columns of the process table of resource-tracker. */
enum { COLUMN_CHILDREN = 2, COLUMN_MEMORY = 6, COLUMNS = 12 };

struct fixture {
    struct fake_root fake;
    char path[128];
    struct samples_file file;
    struct sample sample;
    struct gpu_view gpu;
};

static void open_file(struct fixture *f, const char *name, const char *dialect)
{
    struct spoor_options options = SPOOR_OPTIONS_INIT;
    struct spoor_stream stream = { f->path, dialect, NULL };

    fake_root_init(&f->fake);
    (void)snprintf(f->path, sizeof(f->path), "%s/%s", f->fake.path, name);
    options.pid = 42;
    assert_int_equal(samples_file_open(&f->file, &stream, &options, NULL), 0);
    row_writer_begin(&f->file.writer);
    sample_clear(&f->sample);
}

/* Ends the file and returns its content, which remains valid until close_file(). */
static const char *end_file(struct fixture *f, struct buffer *text)
{
    samples_file_end(&f->file);
    assert_int_equal(f->file.end.lost_rows, 0);
    assert_int_equal(buffer_read_file(text, f->path, BUFFER_MAX), 0);
    return text->text;
}

static void close_file(struct fixture *f, struct buffer *text)
{
    samples_file_close(&f->file);
    fake_root_done(&f->fake);
    buffer_done(text);
}

static void add_sample(struct fixture *f, uint64_t elapsed_ns, bool is_last)
{
    f->sample.elapsed_ns = elapsed_ns;
    f->sample.realtime_ns = elapsed_ns + NS_PER_SECOND;
    samples_file_add(&f->file, &f->sample, &f->gpu, (struct samples_machine){ NULL, NULL },
                     is_last);
}

/* Adds a sample one second after the previous one. */
static void add_job(struct fixture *f, uint64_t processes, uint64_t pss_bytes)
{
    f->sample.moment[METRIC_JOB_PROCESSES] = f->sample.value[METRIC_JOB_PROCESSES] = processes;
    f->sample.moment[METRIC_JOB_PSS] = f->sample.value[METRIC_JOB_PSS] = pss_bytes;
    f->sample.moment[METRIC_JOB_RSS] = f->sample.value[METRIC_JOB_RSS] = pss_bytes;
    add_sample(f, f->sample.elapsed_ns + NS_PER_SECOND, false);
}

static void check_job(const char *text, size_t row, double children, double memory_mib)
{
    double cells[COLUMNS];

    memcpy(cells, text + row * sizeof(cells), sizeof(cells));
    assert_float_equal(cells[COLUMN_CHILDREN], children, 0);
    assert_float_equal(cells[COLUMN_MEMORY], memory_mib, 0);
}

TEST(an_ended_job_keeps_its_last_values)
{
    struct fixture f = { .gpu.state = GPU_NONE };
    struct buffer text = { 0 };
    const char *rows;

    open_file(&f, "rows.f64", "resource-tracker");
    add_job(&f, 1, 5 * MIB);
    add_job(&f, 3, 7 * MIB);
    add_job(&f, 0, 0);
    add_job(&f, 0, 0); /* the values are kept once more */
    add_job(&f, 2, 9 * MIB);
    add_job(&f, 1, 0); /* the process is about to exit and has freed its memory */
    rows = end_file(&f, &text);
    assert_int_equal(text.length, 5 * COLUMNS * sizeof(double));
    check_job(rows, 0, 2, 7);
    check_job(rows, 1, 2, 7);
    check_job(rows, 2, 2, 7);
    check_job(rows, 3, 1, 9);
    check_job(rows, 4, 1, 9);
    close_file(&f, &text);
}

static size_t count_lines(const char *text)
{
    size_t count = 0;

    for (; *text; text++)
        count += *text == '\n';
    return count;
}

TEST(a_sample_soon_after_a_row_becomes_part_of_the_next_row)
{
    struct fixture f = { .gpu.state = GPU_NONE };
    struct buffer text = { 0 };

    open_file(&f, "rows.jsonl", "resource-tracker");
    add_sample(&f, 0, false);
    add_sample(&f, NS_PER_SECOND, false);
    add_sample(&f, NS_PER_SECOND + 400 * NS_PER_MS, false); /* when a phase starts */
    add_sample(&f, 2 * NS_PER_SECOND, false);
    add_sample(&f, 2 * NS_PER_SECOND + 400 * NS_PER_MS, true);
    assert_int_equal(count_lines(end_file(&f, &text)), 3);
    close_file(&f, &text);
}

/* Adds a sample of a job that has used this much CPU time, all in user mode. */
static void add_cpu(struct fixture *f, uint64_t elapsed_ms, uint64_t cpu_ms, bool is_last)
{
    f->sample.value[METRIC_JOB_CPU] = f->sample.value[METRIC_JOB_USER] = cpu_ms * NS_PER_MS;
    f->sample.value[METRIC_JOB_SYSTEM] = 0;
    f->sample.host.cpu.cpus = 4;
    add_sample(f, elapsed_ms * NS_PER_MS, is_last);
}

/* Checks the process table, with the columns timestamp, pid, children, utime, stime,
 * cpu_usage. */
static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("%s is not in %s", part, text);
}

TEST(a_short_last_row_has_the_rate_of_two_rows)
{
    struct fixture f = { .gpu.state = GPU_NONE };
    struct buffer text = { 0 };

    open_file(&f, "rows.csv", "resource-tracker");
    add_cpu(&f, 0, 0, false);
    add_cpu(&f, 1000, 1000, false);
    add_cpu(&f, 2000, 1500, false);
    add_cpu(&f, 2004, 1512, true); /* on its own, this interval would show 3 cores */
    assert_int_equal(count_lines(end_file(&f, &text)), 4);
    assert_has(text.text, "\n2.0,42,\"\",1.0,0,1.0,");
    assert_has(text.text, "\n3.0,42,\"\",0.5,0,0.5,");
    assert_has(text.text, "\n3.004,42,\"\",0.012,0,0.51,"); /* 512 ms in 1004 ms */
    close_file(&f, &text);
}

TEST(a_long_last_row_has_its_own_rate)
{
    struct fixture f = { .gpu.state = GPU_NONE };
    struct buffer text = { 0 };

    open_file(&f, "rows.csv", "resource-tracker");
    add_cpu(&f, 0, 0, false);
    add_cpu(&f, 1000, 1000, false);
    add_cpu(&f, 1500, 1100, true);
    assert_has(end_file(&f, &text), "\n2.5,42,\"\",0.1,0,0.2,");
    close_file(&f, &text);
}

TEST(a_short_single_row_is_limited_to_the_machines_cores)
{
    struct fixture f = { .gpu.state = GPU_NONE };
    struct buffer text = { 0 };

    open_file(&f, "rows.csv", "resource-tracker");
    add_cpu(&f, 0, 0, false);
    add_cpu(&f, 1, 40, true);
    assert_has(end_file(&f, &text), "\n1.001,42,\"\",0.04,0,4.0,");
    close_file(&f, &text);
}

static void add_devices(struct fixture *f, uint64_t elapsed_ms, unsigned received,
                        unsigned ticks, bool is_last)
{
    struct samples_machine machine = { &f->fake.root, NULL };
    char text[256];

    (void)snprintf(text, sizeof(text), "\n\neth0: %u 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
                   received); /* fits */
    fake_root_write(&f->fake, "proc/net/dev", text);
    (void)snprintf(text, sizeof(text), "cpu %u 0 0 0 0 0 0 0\ncpu0 %u 0 0 0 0 0 0 0\n", ticks,
                   ticks); /* fits */
    fake_root_write(&f->fake, "proc/stat", text);
    f->sample.elapsed_ns = elapsed_ms * NS_PER_MS;
    samples_file_add(&f->file, &f->sample, &f->gpu, machine, is_last);
}

TEST(devices_of_a_short_last_row_have_the_rates_of_two_rows)
{
    struct fixture f = { .gpu.state = GPU_NONE };
    struct buffer text = { 0 };
    const char *last;

    open_file(&f, "rows.jsonl", "resource-tracker-rs");
    add_devices(&f, 0, 0, 0, false);
    add_devices(&f, 1000, 5000, 100, false);
    add_devices(&f, 2000, 6000, 150, false);
    add_devices(&f, 2004, 7008, 152, true);
    last = strstr(end_file(&f, &text), "\"actual_interval_ms\":4,");
    assert_non_null(last);
    assert_has(text.text, "\"rx_bytes_per_sec\":1000.0,\"rx_bytes_total\":6000,");
    assert_has(last, "\"per_core_pct\":[51.79"); /* 520 ms in 1004 ms */
    assert_has(last, "\"rx_bytes_per_sec\":2000.0,\"rx_bytes_total\":7008,");
    close_file(&f, &text);
}

/* Only spoor's own columns name the GPUs in the header. */
TEST(rows_wait_for_the_list_of_gpus)
{
    struct fixture f = { .gpu.state = GPU_PENDING };
    struct buffer text = { 0 };

    open_file(&f, "rows.csv", NULL);
    add_sample(&f, 0, false);
    add_sample(&f, 100 * NS_PER_MS, false);
    assert_true(writer_process_wait(&f.file.writer, 60 * NS_PER_SECOND));
    assert_int_equal(buffer_read_file(&text, f.path, BUFFER_MAX), 0);
    assert_int_equal(text.length, 0);
    f.gpu.state = GPU_NONE;
    add_sample(&f, 200 * NS_PER_MS, false);
    assert_int_equal(count_lines(end_file(&f, &text)), 4);
    assert_memory_equal(text.text, "timestamp,", 10);
    close_file(&f, &text);
}

/* There was no memory for the waiting rows. */
TEST(rows_that_cannot_be_buffered_are_reported_as_lost)
{
    struct fixture f = { .gpu.state = GPU_PENDING };
    struct buffer text = { 0 };

    open_file(&f, "rows.csv", NULL);
    f.file.held.error = -ENOMEM;
    add_sample(&f, 0, false);
    add_sample(&f, 100 * NS_PER_MS, false);
    f.gpu.state = GPU_NONE;
    add_sample(&f, 200 * NS_PER_MS, false);
    samples_file_end(&f.file);
    assert_int_equal(f.file.end.lost_rows, 2);
    assert_int_equal(buffer_read_file(&text, f.path, BUFFER_MAX), 0);
    assert_int_equal(count_lines(text.text), 2);
    close_file(&f, &text);
}
