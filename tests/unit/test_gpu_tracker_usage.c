/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "compat/gpu_tracker/usage.h"

/* Figures of a test, by path; all others are not known. */
struct figure {
    const char *path;
    double value;
};

static double find(void *data, const char *path)
{
    for (const struct figure *figure = data; figure->path; figure++) {
        if (strcmp(figure->path, path) == 0)
            return figure->value;
    }
    return (double)NAN;
}

static struct usage_facts facts_in(const char *memory_unit, const char *time_unit)
{
    return (struct usage_facts){
        .ram_unit = usage_unit_find(usage_memory_units, memory_unit),
        .gpu_ram_unit = usage_unit_find(usage_memory_units, memory_unit),
        .time_unit = usage_unit_find(usage_time_units, time_unit),
        .core_count = 12,
        .expected_core_count = 2,
        .ram_bytes = 63088230400,
        .gpu_count = 2,
        .expected_gpu_count = 1,
        .gpu_ram_bytes = 34359738368,
    };
}

static void same(double a, double b)
{
    assert_memory_equal(&a, &b, sizeof(a)); /* to the last bit */
}

static void bytes_are_multiplied_by_the_unit(void **state)
{
    struct figure figures[] = {
        { "memory.main.total_rss_bytes", 890703872 },
        { "memory.main.private_rss_bytes", 674058240 },
        { "memory.combined.shared_rss_bytes", 216678400 },
        { "memory.descendants.total_rss_bytes", 4096 },
        { "memory.system_peak_bytes", 2399920128 },
        { "gpu.memory.main_bytes", 290455552 },
        { "gpu.memory.system_bytes", 353000000 },
        { 0 },
    };
    struct usage_facts facts = facts_in("megabytes", "seconds");
    struct usage_run run = { 1, nan(""), nan(""), nan("") };
    struct resource_usage usage = usage_of(&facts, &run, find, figures);

    (void)state;
    same(usage.max_ram.system_capacity, 63088.2304);
    same(usage.max_ram.system, 2399.9201279999997);
    same(usage.max_ram.main.total_rss, 890.7038719999999);
    same(usage.max_ram.main.private_rss, 674.05824);
    same(usage.max_ram.combined.shared_rss, 216.67839999999998);
    same(usage.max_ram.descendants.total_rss, 0.004096);
    same(usage.max_gpu_ram.system_capacity, 34359.738368);
    same(usage.max_gpu_ram.main, 290.455552);
    same(usage.max_gpu_ram.system, 353);
    assert_string_equal(usage.max_ram.unit, "megabytes");
    assert_string_equal(usage.max_gpu_ram.unit, "megabytes");
}

static void every_unit_has_its_coefficient(void **state)
{
    static const struct {
        const char *unit;
        double capacity;
    } memory[] = {
        { "bytes", 63088230400 },    { "kilobytes", 63088230.4 },   { "megabytes", 63088.2304 },
        { "gigabytes", 63.0882304 }, { "terabytes", 0.0630882304 },
    };
    static const struct {
        const char *unit;
        double time;
    } times[] = {
        { "seconds", 86400 },
        { "minutes", 1440 },
        { "hours", 24 },
        { "days", 1 },
    };
    struct usage_run run = { 86400, 0, 0, 0 };
    struct figure none = { 0 };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(memory); i++) {
        struct usage_facts facts = facts_in(memory[i].unit, "hours");

        assert_true(fabs(usage_of(&facts, &run, find, &none).max_ram.system_capacity /
                             memory[i].capacity -
                         1) < 1e-15);
    }
    for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
        struct usage_facts facts = facts_in("bytes", times[i].unit);

        assert_true(fabs(usage_of(&facts, &run, find, &none).compute_time.time / times[i].time -
                         1) < 1e-15);
    }
    assert_null(usage_unit_find(usage_memory_units, "megabyte"));
    assert_null(usage_unit_find(usage_time_units, "weeks"));
}

static void mean_is_cpu_time_over_wall_time(void **state)
{
    struct figure figures[] = {
        { "cpu.main.max_cores", 0.75 },
        { "cpu.descendants.max_cores", 3 },
        { "cpu.max_cores", 3.5 },
        { "cpu.system.max_cores", 6 },
        { "cpu.system.mean_cores", 4.5 },
        { "gpu.utilization.max_gpus", 0.5 },
        { "gpu.utilization.mean_gpus", 0.25 },
        { "cpu.threads.main", 24 },
        { "cpu.threads.descendants", 16 },
        { "cpu.threads.combined", 40 },
        { 0 },
    };
    struct usage_facts facts = facts_in("bytes", "seconds");
    struct usage_run run = { .elapsed_seconds = 8,
                             .main_cpu_seconds = 4,
                             .descendants_cpu_seconds = 16,
                             .combined_cpu_seconds = 20 };
    struct resource_usage usage = usage_of(&facts, &run, find, figures);

    (void)state;
    same(usage.cpu.main.mean_sum, 50);
    same(usage.cpu.main.mean_hardware, 25);
    same(usage.cpu.main.max_sum, 75);
    same(usage.cpu.main.max_hardware, 37.5);
    same(usage.cpu.descendants.mean_sum, 200);
    same(usage.cpu.descendants.max_sum, 300);
    same(usage.cpu.combined.mean_sum, 250);
    same(usage.cpu.combined.max_hardware, 175);
    same(usage.cpu.system.max_sum, 600);
    same(usage.cpu.system.max_hardware, 50); /* of the machine, whatever is expected */
    same(usage.cpu.system.mean_sum, 450);
    same(usage.gpu.percentages.max_sum, 50);
    same(usage.gpu.percentages.mean_hardware, 25);
    assert_int_equal(usage.cpu.system_core_count, 12);
    assert_int_equal(usage.cpu.expected_core_count, 2);
    assert_int_equal(usage.cpu.main_thread_count, 24);
    assert_int_equal(usage.cpu.descendants_thread_count, 16);
    assert_int_equal(usage.cpu.combined_thread_count, 40);
    assert_int_equal(usage.gpu.system_gpu_count, 2);
    assert_int_equal(usage.gpu.expected_gpu_count, 1);
}

static void no_maximum_is_below_its_mean(void **state)
{
    struct figure figures[] = { { "cpu.main.max_cores", 0.4 }, { 0 } };
    struct usage_facts facts = facts_in("bytes", "seconds");
    struct usage_run run = { 2, 1, 0, 1 };
    struct resource_usage usage = usage_of(&facts, &run, find, figures);

    (void)state;
    same(usage.cpu.main.mean_sum, 50);
    same(usage.cpu.main.max_sum, 50);
}

/* Its clock steps by 10 ms. */
static void the_machine_is_between_the_job_and_all_cores(void **state)
{
    struct figure figures[] = {
        { "cpu.max_cores", 2 },
        { "cpu.system.max_cores", 100 },
        { "cpu.system.mean_cores", 0 },
        { 0 },
    };
    struct usage_facts facts = facts_in("bytes", "seconds");
    struct usage_run run = { 2, 0, 2, 2 };
    struct resource_usage usage = usage_of(&facts, &run, find, figures);

    (void)state;
    same(usage.cpu.system.max_sum, 1200);
    same(usage.cpu.system.max_hardware, 100);
    same(usage.cpu.system.mean_sum, 100);
}

static void what_is_not_known_is_zero(void **state)
{
    struct usage_facts facts = facts_in("bytes", "seconds");
    struct usage_run run = { 0, nan(""), nan(""), nan("") };
    struct figure none = { 0 };
    struct resource_usage usage;

    (void)state;
    facts.gpu_count = facts.expected_gpu_count = 0;
    usage = usage_of(&facts, &run, find, &none);
    same(usage.max_ram.main.total_rss, 0);
    same(usage.max_gpu_ram.combined, 0);
    same(usage.cpu.main.mean_sum, 0);
    same(usage.cpu.combined.max_hardware, 0);
    same(usage.gpu.percentages.mean_hardware, 0);
    assert_int_equal(usage.cpu.main_thread_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_multiplied_by_the_unit),
        cmocka_unit_test(every_unit_has_its_coefficient),
        cmocka_unit_test(mean_is_cpu_time_over_wall_time),
        cmocka_unit_test(no_maximum_is_below_its_mean),
        cmocka_unit_test(the_machine_is_between_the_job_and_all_cores),
        cmocka_unit_test(what_is_not_known_is_zero),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
