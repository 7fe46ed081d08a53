/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/unknown.h"
#include "fake_root.h"
#include "session/samples_file.h"

/* Rows of a job, in a file of a folder that is removed at the end. */
struct fixture {
    struct fake_root fake;
    struct samples_file file;
    struct gpu_view gpu;
    char path[128];
    struct buffer text; /* of the file, once it is read */
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    fake_root_init(&f->fake);
    f->gpu.state = GPU_NONE;
    (void)snprintf(f->path, sizeof(f->path), "%s/rows", f->fake.path); /* fits */
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    samples_file_close(&f->file);
    buffer_done(&f->text);
    fake_root_done(&f->fake);
    free(f);
    return 0;
}

static void begin(struct fixture *f, const char *dialect, const char *format)
{
    struct spoor_stream stream = { f->path, dialect, format };
    struct spoor_options options = SPOOR_OPTIONS_INIT;
    struct spoor_error err;

    options.pid = 42;
    options.interval_ns = NS_PER_SECOND;
    if (samples_file_open(&f->file, &stream, &options, &err) < 0)
        fail_msg("%s", err.message);
    samples_file_begin(&f->file);
}

/* A sample of a job that has used this much CPU time, all of it in user mode. */
static void add(struct fixture *f, uint64_t elapsed_ms, uint64_t cpu_ms, bool is_last)
{
    struct samples_machine machine = { &f->fake.root, NULL };
    struct sample sample;

    sample_clear(&sample);
    sample.elapsed_ns = elapsed_ms * NS_PER_MS;
    sample.value[METRIC_JOB_CPU] = sample.value[METRIC_JOB_USER] = cpu_ms * NS_PER_MS;
    sample.value[METRIC_JOB_SYSTEM] = 0;
    sample.host.cpu.cpus = 4;
    samples_file_add(&f->file, &sample, &f->gpu, machine, is_last);
}

/* The text of a row, from 0, without the header. */
static const char *read_row(struct fixture *f, unsigned index)
{
    char *row;

    samples_file_end(&f->file);
    buffer_done(&f->text);
    assert_int_equal(buffer_read_file(&f->text, f->path, 1 << 20), 0);
    row = f->text.text;
    for (unsigned i = 0; i <= index; i++) {
        row = strchr(row, '\n');
        assert_non_null(row);
        row++;
    }
    row[strcspn(row, "\n")] = '\0';
    return row;
}

/* timestamp, pid, children, utime, stime, cpu_usage, ... */
static void assert_row(struct fixture *f, unsigned index, const char *start)
{
    const char *row = read_row(f, index);

    if (strncmp(row, start, strlen(start)) != 0)
        fail_msg("row %u is %s, not %s", index, row, start);
}

static void a_short_last_row_has_its_growth_and_the_rate_of_two_rows(void **state)
{
    struct fixture *f = *state;

    begin(f, "resource-tracker", "csv");
    add(f, 0, 0, false);
    add(f, 1000, 1000, false);
    add(f, 2000, 1500, false);
    add(f, 2004, 1512, true); /* 3 cores? */
    assert_row(f, 0, "0.0,42,\"\",1.0,0,1.0,");
    assert_row(f, 1, "0.0,42,\"\",0.5,0,0.5,");
    assert_row(f, 2, "0.0,42,\"\",0.012,0,0.51,"); /* 512 ms in 1004 ms */
    assert_string_equal(read_row(f, 3), "");
}

static void a_last_row_that_is_long_enough_has_its_own_rate(void **state)
{
    struct fixture *f = *state;

    begin(f, "resource-tracker", "csv");
    add(f, 0, 0, false);
    add(f, 1000, 1000, false);
    add(f, 1500, 1100, true);
    assert_row(f, 1, "0.0,42,\"\",0.1,0,0.2,");
}

static void a_row_that_is_short_and_alone_has_no_more_cores_than_the_machine(void **state)
{
    struct fixture *f = *state;

    begin(f, "resource-tracker", "csv");
    add(f, 0, 0, false);
    add(f, 1, 40, true);
    assert_row(f, 0, "0.0,42,\"\",0.04,0,4.0,");
}

static void other_short_rows_are_part_of_the_next(void **state)
{
    struct fixture *f = *state;

    begin(f, "resource-tracker", "csv");
    add(f, 0, 0, false);
    add(f, 10, 10, false); /* too soon after the first */
    add(f, 1000, 500, false);
    add(f, 1400, 600, false);
    add(f, 2000, 700, true);
    assert_row(f, 0, "0.0,42,\"\",0.5,0,0.5,");
    assert_row(f, 1, "0.0,42,\"\",0.2,0,0.2,");
    assert_string_equal(read_row(f, 2), "");
}

static void write_devices(struct fixture *f, unsigned received, unsigned ticks)
{
    char text[256];

    (void)snprintf(text, sizeof(text),
                   "heading\nheading\neth0: %u 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
                   received); /* fits */
    fake_root_write(&f->fake, "proc/net/dev", text);
    (void)snprintf(text, sizeof(text), "cpu %u 0 0 0 0 0 0 0\ncpu0 %u 0 0 0 0 0 0 0\n", ticks,
                   ticks); /* likewise */
    fake_root_write(&f->fake, "proc/stat", text);
}

static void devices_of_a_short_last_row_have_the_rates_of_two_rows(void **state)
{
    static const struct {
        uint64_t elapsed_ms;
        unsigned received, ticks;
    } samples[] = {
        { 0, 0, 0 }, { 1000, 5000, 100 }, { 2000, 6000, 150 }, { 2004, 7008, 152 }
    };
    struct fixture *f = *state;
    const char *row;

    begin(f, "resource-tracker-rs", "jsonl");
    for (size_t i = 0; i < 4; i++) {
        write_devices(f, samples[i].received, samples[i].ticks);
        add(f, samples[i].elapsed_ms, 0, i == 3);
    }
    row = read_row(f, 0);
    assert_non_null(strstr(row, "\"per_core_pct\":[50.0]"));
    assert_non_null(strstr(row, "\"rx_bytes_per_sec\":1000.0,\"rx_bytes_total\":6000,"));
    row = read_row(f, 1);
    assert_non_null(strstr(row, "\"actual_interval_ms\":4,"));
    assert_non_null(strstr(row, "\"per_core_pct\":[51.79"));
    assert_non_null(strstr(row, "\"rx_bytes_per_sec\":2000.0,\"rx_bytes_total\":7008,"));
}

#define with_file(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_file(a_short_last_row_has_its_growth_and_the_rate_of_two_rows),
        with_file(a_last_row_that_is_long_enough_has_its_own_rate),
        with_file(a_row_that_is_short_and_alone_has_no_more_cores_than_the_machine),
        with_file(other_short_rows_are_part_of_the_next),
        with_file(devices_of_a_short_last_row_have_the_rates_of_two_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
