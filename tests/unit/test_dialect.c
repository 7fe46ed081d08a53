/* SPDX-License-Identifier: Apache-2.0 */
#include <endian.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "output/dialect.h"
#include "unit_test.h"

#define START_NS 1773480413500000000ull
#define TICK_NS (10 * NS_PER_MS)
#define MIB 1048576ull

/* Two samples, a second apart. */
struct fixture {
    struct sample before, now;
    struct gpu_view gpu;
    struct gpu_unit units[2];
    struct gpu_device_view devices[2];
    struct stream_row row;
    struct buffer out;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    sample_clear(&f->before);
    sample_clear(&f->now);
    f->before.realtime_ns = START_NS;
    f->now.realtime_ns = START_NS + NS_PER_SECOND;
    f->now.elapsed_ns = NS_PER_SECOND;
    f->gpu.state = GPU_NONE;
    f->row = (struct stream_row){
        .sample = &f->now, .previous = &f->before, .gpu = &f->gpu, .pid = 42
    };
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    buffer_done(&f->out);
    free(f);
    return 0;
}

static void set_cpu(struct sample *sample, uint64_t cpu, uint64_t user, uint64_t system)
{
    sample->value[METRIC_JOB_CPU] = cpu;
    sample->value[METRIC_JOB_USER] = user;
    sample->value[METRIC_JOB_SYSTEM] = system;
}

static struct stream find(const char *dialect, const char *format)
{
    struct stream stream;
    struct spoor_error err = { 0 };

    if (stream_find("-", dialect, format, true, &stream, &err) < 0)
        fail_msg("%s", err.message);
    return stream;
}

/* Returns the cell with this name. */
static struct cell cell_of(const struct fixture *f, const char *dialect, const char *name)
{
    struct stream stream = find(dialect, NULL);
    const struct column *column;
    const char *prefix;

    for (size_t i = 0; (column = dialect_column(stream.table, i, &prefix)) != NULL; i++) {
        if (strcmp(column->name, name) == 0)
            return dialect_cell(column, &f->row);
    }
    fail_msg("%s has no column %s", dialect, name);
    return (struct cell){ 0 };
}

static void assert_cell(const struct fixture *f, const char *dialect, const char *name,
                        double value)
{
    double found = cell_of(f, dialect, name).value;

    if (isnan(value) != isnan(found) || found < value || found > value)
        fail_msg("%s of %s is %.17g, not %.17g", name, dialect, found, value);
}

static const char *write_row(struct fixture *f, const char *dialect, const char *format)
{
    struct stream stream = find(dialect, format);

    buffer_clear(&f->out);
    assert_true(stream_write_row(&stream, &f->row, &f->out));
    assert_int_equal(buffer_error(&f->out), 0);
    return f->out.text;
}

/* ---- cells ------------------------------------------------------------------------ */

TEST_WITH(the_first_sample_produces_no_row, set_up, tear_down)
{
    struct fixture *f = *state;
    struct stream stream = find("resource-tracker", NULL);

    f->row.previous = NULL;
    assert_false(stream_write_row(&stream, &f->row, &f->out));
    assert_int_equal(f->out.length, 0);
}

TEST_WITH(numbers_are_formatted_as_by_python, set_up, tear_down)
{
    struct fixture *f = *state;

    set_cpu(&f->before, 0, 0, 0);
    set_cpu(&f->now, 1500000, 1500000, 0); /* ns */
    f->now.moment[METRIC_JOB_PSS] = 30 * MIB + MIB / 8;
    f->now.moment[METRIC_JOB_PROCESSES] = 3;
    f->now.moment[METRIC_MAIN_THREADS] = 1;
    f->before.value[METRIC_JOB_READ] = f->now.value[METRIC_JOB_READ] = 7;
    f->before.value[METRIC_JOB_WRITTEN] = 0;
    f->now.value[METRIC_JOB_WRITTEN] = 8192;
    assert_string_equal(write_row(f, "resource-tracker", NULL),
                        "1773480414.5,42,2,0.0015,0,0.0015,30.125,0,8192,0,0,0\n");
    assert_string_equal(write_row(f, "resource-tracker-0.1", NULL),
                        "1773480414.5,42,2,0,0,0.0015,30848,0,8192,0,0,0\r\n");
    /* A rate that is rounded to 0 is still written as a float. */
    set_cpu(&f->now, 1000, 1000, 0);
    f->now.realtime_ns += 1200000;
    assert_string_equal(write_row(f, "resource-tracker", NULL),
                        "1773480414.501,42,2,1e-06,0,0.0,30.125,0,8192,0,0,0\n");
}

TEST_WITH(unknown_values_are_written_as_none, set_up, tear_down)
{
    struct fixture *f = *state;

    f->gpu.state = GPU_PENDING;
    f->row.pid = 0;
    assert_string_equal(
        write_row(f, "resource-tracker", NULL),
        "1773480414.5,\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\"\n");
    assert_string_equal(write_row(f, "resource-tracker-rs", NULL),
                        "1773480414,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,\n");
    assert_string_equal(write_row(f, "resource-tracker-0.3", "jsonl"),
                        "{\"timestamp\": 1773480414.5, \"pid\": null, \"children\": null, "
                        "\"utime\": null, \"stime\": null, \"cpu_usage\": null, "
                        "\"memory\": null, \"read_bytes\": null, \"write_bytes\": null, "
                        "\"gpu_usage\": null, \"gpu_vram\": null, \"gpu_utilized\": null}\n");
}

TEST_WITH(binary_doubles_equal_the_numbers_in_the_cells, set_up, tear_down)
{
    struct fixture *f = *state;
    const char *bytes;
    double values[12];

    f->gpu.state = GPU_PENDING;
    f->now.moment[METRIC_JOB_PSS] = MIB / 3;
    bytes = write_row(f, "resource-tracker", "f64");
    assert_int_equal(f->out.length, sizeof(values));
    for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
        uint64_t bits;

        memcpy(&bits, bytes + i * sizeof(bits), sizeof(bits));
        bits = le64toh(bits);
        memcpy(&values[i], &bits, sizeof(bits));
    }
    assert_memory_equal(&values[0], &(double){ 1773480414.5 }, sizeof(double));
    assert_memory_equal(&values[6], &(double){ 0.3333 }, sizeof(double));
    assert_true(isnan(values[7]) && isnan(values[11]));
}

TEST_WITH(a_counter_that_decreases_has_not_grown, set_up, tear_down)
{
    struct fixture *f = *state;

    f->before.host.disk.in = 1ull << 40;
    f->now.host.disk.in = 4096; /* a disk was removed */
    f->before.host.network.in = UINT32_MAX;
    f->now.host.network.in = 10; /* a 32-bit counter wrapped */
    f->before.host.cpu.user_ns = 900 * NS_PER_SECOND;
    f->now.host.cpu.user_ns = NS_PER_SECOND;
    f->before.host.cpu.system_ns = f->now.host.cpu.system_ns = 0;
    f->before.host.cpu.interrupt_ns = f->now.host.cpu.interrupt_ns = 0;
    assert_cell(f, "resource-tracker:system", "disk_read_bytes", 0);
    assert_cell(f, "resource-tracker:system", "net_recv_bytes", 0);
    assert_cell(f, "resource-tracker:system", "utime", 0);
    assert_cell(f, "resource-tracker:system", "cpu_usage", 0);
    assert_cell(f, "resource-tracker-rs", "cpu_usage", nan(""));
    set_cpu(&f->before, 5 * NS_PER_SECOND, 4 * NS_PER_SECOND, NS_PER_SECOND);
    set_cpu(&f->now, NS_PER_SECOND, NS_PER_SECOND, 0);
    assert_cell(f, "resource-tracker", "utime", 0);
    assert_cell(f, "resource-tracker", "stime", 0);
    assert_cell(f, "resource-tracker", "cpu_usage", 0);
}

/* The Python package does not count interrupts as system time; the Rust one counts steal
 * time as busy. */
TEST_WITH(cpu_times_of_the_machine_are_rates, set_up, tear_down)
{
    struct fixture *f = *state;

    f->before.host.cpu.user_ns = f->before.host.cpu.system_ns = 0;
    f->before.host.cpu.interrupt_ns = f->before.host.cpu.steal_ns = 0;
    f->now.host.cpu.user_ns = 40 * TICK_NS;
    f->now.host.cpu.system_ns = 31 * TICK_NS;
    f->now.host.cpu.interrupt_ns = TICK_NS;
    f->now.host.cpu.steal_ns = 2 * TICK_NS;
    assert_cell(f, "resource-tracker:system", "utime", 0.4);
    assert_cell(f, "resource-tracker:system", "stime", 0.3);
    assert_cell(f, "resource-tracker:system", "cpu_usage", 0.7);
    assert_cell(f, "resource-tracker-0.3:system", "utime", 40);
    assert_cell(f, "resource-tracker-0.3:system", "stime", 30);
    assert_cell(f, "resource-tracker-rs", "cpu_usage", 0.73);
}

TEST_WITH(samples_in_quick_succession_have_a_rate, set_up, tear_down)
{
    struct fixture *f = *state;

    set_cpu(&f->before, 0, 0, 0);
    set_cpu(&f->now, NS_PER_MS, NS_PER_MS, 0);
    f->now.elapsed_ns = 2 * NS_PER_MS;
    f->now.clocks[CLOCK_JOB_CPU].resolution_ns = 10 * NS_PER_MS;
    assert_cell(f, "resource-tracker", "cpu_usage",
                0.2); /* measured over at least half a tick, to avoid noise */
    assert_cell(f, "resource-tracker", "utime", 0.001);
    f->now.elapsed_ns = 0;
    assert_cell(f, "resource-tracker", "cpu_usage", 0.2);
    set_cpu(&f->now, 0, 0, 0);
    assert_cell(f, "resource-tracker", "cpu_usage", 0);
    f->now.clocks[CLOCK_JOB_CPU].resolution_ns = 0;
    assert_cell(f, "resource-tracker", "cpu_usage", 0);
    set_cpu(&f->now, NS_PER_MS, NS_PER_MS, 0);
    f->now.elapsed_ns = 2 * NS_PER_MS;
    f->now.clocks[CLOCK_JOB_CPU].resolution_ns = 10 * NS_PER_MS;
    f->now.clocks[CLOCK_JOB_CPU].late_ns = 8 * NS_PER_MS;
    assert_cell(f, "resource-tracker", "cpu_usage", 0.1);
}

TEST_WITH(user_and_system_time_add_up, set_up, tear_down)
{
    struct fixture *f = *state;

    set_cpu(&f->before, 1000000000, 600000000, 400000000);
    set_cpu(&f->now, 1000000003 + 1000 * 7, 610000000, 420000000); /* a third of 7 us */
    assert_cell(f, "resource-tracker", "utime", 0.000002);
    assert_cell(f, "resource-tracker", "stime", 0.000005);
    /* Without new ticks, the previous ratio is used; without any ticks, all time is user
     * time. */
    set_cpu(&f->now, 2000000000, 600000000, 400000000);
    assert_cell(f, "resource-tracker", "utime", 0.6);
    assert_cell(f, "resource-tracker", "stime", 0.4);
    set_cpu(&f->before, 0, 0, 0);
    set_cpu(&f->now, 5000, 0, 0);
    assert_cell(f, "resource-tracker", "utime", 0.000005);
    assert_cell(f, "resource-tracker", "stime", 0);
    /* User time was unknown in the previous sample. */
    f->before.value[METRIC_JOB_USER] = UNKNOWN;
    set_cpu(&f->now, 9000, 20000000, 10000000);
    assert_cell(f, "resource-tracker", "utime", 0.000006);
    assert_cell(f, "resource-tracker", "stime", 0.000003);
}

TEST_WITH(memory_falls_back_from_pss_to_rss_to_the_last_value, set_up, tear_down)
{
    struct fixture *f = *state;

    f->before.moment[METRIC_JOB_PSS] = 9 * MIB;
    f->now.moment[METRIC_JOB_PSS] = 5 * MIB;
    f->now.moment[METRIC_JOB_RSS] = 6 * MIB;
    f->now.value[METRIC_JOB_PSS] = 7 * MIB;
    assert_cell(f, "resource-tracker", "memory_mib", 5);
    f->now.moment[METRIC_JOB_PSS] = UNKNOWN;
    assert_cell(f, "resource-tracker", "memory_mib", 6);
    f->now.moment[METRIC_JOB_PSS] = f->now.moment[METRIC_JOB_RSS] = 0; /* the job has exited */
    assert_cell(f, "resource-tracker", "memory_mib", 7);
    f->now.value[METRIC_JOB_PSS] = 0;
    assert_cell(f, "resource-tracker", "memory_mib", 9);
    f->before.moment[METRIC_JOB_PSS] = UNKNOWN;
    assert_cell(f, "resource-tracker", "memory_mib", 0);
    f->now.value[METRIC_JOB_RSS_PEAK] = 11 * MIB;
    assert_cell(f, "resource-tracker", "memory_mib", 11);
}

TEST_WITH(memory_left_in_the_cgroup_of_an_ended_job_is_ignored, set_up, tear_down)
{
    struct fixture *f = *state;

    f->before.moment[METRIC_JOB_PSS] = 9 * MIB;
    f->before.moment[METRIC_JOB_RSS] = 12 * MIB;
    f->before.moment[METRIC_JOB_PROCESSES] = 1;
    f->now.moment[METRIC_JOB_PSS] = f->now.value[METRIC_JOB_PSS] = 0;
    f->now.moment[METRIC_JOB_RSS] = f->now.value[METRIC_JOB_RSS] = 1 * MIB;
    f->now.moment[METRIC_JOB_PROCESSES] = 1; /* the process is exiting */
    assert_cell(f, "resource-tracker", "memory_mib", 9);
    f->now.moment[METRIC_JOB_PROCESSES] = 0;
    assert_cell(f, "resource-tracker", "memory_mib", 9);
    f->now.value[METRIC_JOB_RSS] = 15 * MIB; /* a newer RSS, but no newer PSS */
    assert_cell(f, "resource-tracker", "memory_mib", 9);
    /* PSS was never known. */
    f->before.moment[METRIC_JOB_PSS] = UNKNOWN;
    f->now.moment[METRIC_JOB_PSS] = f->now.value[METRIC_JOB_PSS] = UNKNOWN;
    assert_cell(f, "resource-tracker", "memory_mib", 15);
    f->now.value[METRIC_JOB_RSS] = 1 * MIB;
    assert_cell(f, "resource-tracker", "memory_mib", 12);
}

TEST_WITH(the_number_of_children_excludes_the_main_process, set_up, tear_down)
{
    struct fixture *f = *state;

    f->now.moment[METRIC_JOB_PROCESSES] = 1;
    f->now.moment[METRIC_MAIN_THREADS] = 4;
    assert_cell(f, "resource-tracker", "children", nan("")); /* 0 is written as None */
    assert_cell(f, "resource-tracker-0.1", "children", 0);
    f->now.moment[METRIC_JOB_PROCESSES] = 3;
    assert_cell(f, "resource-tracker", "children", 2);
    f->now.moment[METRIC_MAIN_THREADS] = 0; /* main has exited */
    assert_cell(f, "resource-tracker", "children", 3);
    f->row.is_main_only = true;
    assert_cell(f, "resource-tracker-0.1", "children", nan(""));
    f->row.is_main_only = false;
    f->row.pid = 0; /* a cgroup has no main process */
    f->now.moment[METRIC_MAIN_THREADS] = UNKNOWN;
    assert_cell(f, "resource-tracker", "children", 3);
}

TEST_WITH(memory_of_the_machine_is_written, set_up, tear_down)
{
    struct fixture *f = *state;

    f->now.host.memory.total_bytes = 1000 * MIB;
    f->now.host.memory.available_bytes = 300 * MIB;
    f->now.host.memory.free_bytes = 100 * MIB;
    f->now.host.memory.buffers_bytes = 10 * MIB;
    f->now.host.memory.page_cache_bytes = 200 * MIB;
    f->now.host.memory.reclaimable_bytes = 50 * MIB;
    assert_cell(f, "resource-tracker:system", "memory_used_mib", 700);
    assert_cell(f, "resource-tracker:system", "memory_cached_mib", 250);
    assert_cell(f, "resource-tracker-0.1:system", "memory_used", 690 * 1024);
    assert_cell(f, "resource-tracker-0.1:system", "memory_cached", 200 * 1024);
    f->now.host.memory.buffers_bytes = 0;
    assert_false(cell_of(f, "resource-tracker:system", "memory_buffers_mib").is_integer);
}

TEST_WITH(space_on_disks_is_written, set_up, tear_down)
{
    struct fixture *f = *state;

    f->now.host.space.total_bytes = 5000000000;
    f->now.host.space.used_bytes = 2000000000; /* a part is reserved for root */
    f->now.host.space.free_bytes = 2876543211;
    assert_cell(f, "resource-tracker:system", "disk_space_used_gb", 2.12);
    assert_cell(f, "resource-tracker:system", "disk_space_free_gb", 2.88);
    assert_cell(f, "resource-tracker-0.3:system", "disk_space_total_gb", 4.66); /* GiB */
    assert_cell(f, "resource-tracker-rs", "disk_space_used_gb", 2.123457);
}

TEST_WITH(only_busy_gpus_are_counted_as_utilized, set_up, tear_down)
{
    struct fixture *f = *state;

    f->gpu = (struct gpu_view){
        .state = GPU_READY, .units = f->units, .count = 2, .devices = f->devices
    };
    for (unsigned i = 0; i < 2; i++) {
        f->units[i] = (struct gpu_unit){ .place = { i, -1 }, .is_selected = true };
        gpu_device_view_init(&f->devices[i], &(struct gpu_sources){ 0 });
    }
    f->devices[0].figures[GPU_UTILIZATION].measure.value = 240000;
    f->devices[0].figures[GPU_JOB_UTILIZATION].measure.value = 0;
    f->devices[1].figures[GPU_UTILIZATION].measure.value =
        f->devices[1].figures[GPU_JOB_UTILIZATION].measure.value = 0;
    f->now.moment[METRIC_HOST_GPU_UTILIZATION] = 240000;
    f->now.moment[METRIC_HOST_GPU_MEMORY] = 1034 * MIB;
    f->now.moment[METRIC_JOB_GPU_UTILIZATION] = f->now.moment[METRIC_JOB_GPU_MEMORY] = 0;
    assert_non_null(strstr(write_row(f, "resource-tracker:system", NULL), ",0.24,1034.0,1\n"));
    assert_non_null(strstr(write_row(f, "resource-tracker", NULL), ",0,0,0\n"));
    assert_non_null(
        strstr(write_row(f, "resource-tracker-rs", NULL), ",0.2400,1034.0000,1,42,"));
    assert_non_null(strstr(write_row(f, "resource-tracker-rs", NULL), ",0.0000,0.0000,0\n"));
    f->row.is_machine_only = true; /* GPU figures then include all processes */
    assert_non_null(strstr(write_row(f, "resource-tracker-rs", NULL), ",0.2400,1034.0000,1\n"));
    assert_non_null(strstr(write_row(f, "resource-tracker:process", NULL), ",0,0,0\n"));
    f->now.moment[METRIC_HOST_GPU_UTILIZATION] = 0;
    assert_non_null(strstr(write_row(f, "resource-tracker:system", NULL), ",0.0,1034.0,1\n"));
}

/* ---- a day ---------------------------------------------------------------------------- */

static double f64_at(const struct buffer *out, size_t index)
{
    uint64_t bits;
    double value;

    memcpy(&bits, out->text + index * sizeof(bits), sizeof(bits));
    bits = le64toh(bits);
    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* Remainders below a tick or a microsecond, in many rows, must not be lost. */
TEST_WITH(a_day_of_rows_adds_up, set_up, tear_down)
{
    enum { ROWS = 86400 };
    static const char *const dialects[] = { "resource-tracker", "resource-tracker-0.1" };
    static const double units[] = { 1e9, 1e7 };
    struct fixture *f = *state;

    for (size_t d = 0; d < ARRAY_SIZE(dialects); d++) {
        struct stream stream = find(dialects[d], "f64");
        uint64_t cpu = 123456789, read = 1ull << 50;
        double cpu_sum = 0, read_sum = 0;

        set_cpu(&f->now, cpu, cpu / 2, cpu / 2);
        f->now.value[METRIC_JOB_READ] = read;
        for (unsigned i = 0; i < ROWS; i++) {
            f->before = f->now;
            cpu += 3333333 + i % 7;
            read += i % 4096;
            set_cpu(&f->now, cpu, cpu / 3 / TICK_NS * TICK_NS, cpu / 2 / TICK_NS * TICK_NS);
            f->now.value[METRIC_JOB_READ] = read;
            f->now.elapsed_ns += NS_PER_SECOND;
            f->now.realtime_ns += NS_PER_SECOND;
            buffer_clear(&f->out);
            assert_true(stream_write_row(&stream, &f->row, &f->out));
            assert_int_equal(f->out.length, 12 * sizeof(double));
            cpu_sum += f64_at(&f->out, 3) + f64_at(&f->out, 4);
            read_sum += f64_at(&f->out, 7);
        }
        assert_true(fabs(cpu_sum * units[d] - (double)(cpu - 123456789)) <= units[d]);
        assert_true(read_sum >= (double)(read - (1ull << 50)));
        assert_true(read_sum <= (double)(read - (1ull << 50)));
    }
}
