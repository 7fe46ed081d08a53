/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "fake_summary.h"
#include "source/perf/events.h"

TEST(figure_paths_are_unique_and_can_be_looked_up)
{
    for (size_t i = 0; i < figure_count(); i++) {
        assert_int_equal(figure_index(figure_path(i)), i);
        assert_non_null(figure_derivation(i));
    }
    assert_int_equal(figure_index("cpu"), -ENOENT);
    assert_int_equal(figure_index(""), -ENOENT);
    assert_int_equal(figure_index("cpu.total_seconds."), -ENOENT);
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), end_length = strlen(end);

    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

TEST(a_figure_has_the_unit_of_its_metric)
{
    static const struct {
        const char *path, *metric;
    } units[] = {
        { "_bytes", "_bytes" },   { "_chars", "_bytes" },  { "_seconds", "_seconds" },
        { "_joules", "_joules" }, { "_grams", "_joules" }, { "_cores", "_seconds" },
    };
    size_t count = 0;

    for (size_t i = 0; i < figure_count(); i++) {
        const char *name = metric_row(figure_metric(i))->published.name;

        for (size_t j = 0; j < ARRAY_SIZE(units); j++) {
            if (!ends_with(figure_path(i), units[j].path))
                continue;
            assert_true(ends_with(name, units[j].metric));
            count++;
        }
    }
    assert_true(count > figure_count() / 2);
}

TEST(without_samples_all_figures_are_unknown)
{
    struct machine machine;

    machine_init(&machine);
    for (size_t i = 0; i < figure_count(); i++) {
        struct spoor_figure figure = find(&machine, figure_path(i));

        assert_true(isnan(figure.value));
        assert_true(isnan(figure.low));
        assert_true(isnan(figure.high));
        assert_null(figure.source);
        assert_non_null(figure.reason);
        assert_false(figure.is_exact);
    }
}

TEST(an_unknown_figure_has_the_reason_of_its_source)
{
    struct machine machine;

    machine_init(&machine);
    machine.origins[METRIC_JOB_READ] = (struct origin){ NULL, "not ours to read", false };
    assert_string_equal(find(&machine, "io.read_bytes").reason, "not ours to read");
    assert_string_equal(find(&machine, "energy.co2e_grams").reason,
                        "requires --carbon-intensity");
    assert_int_equal(figure_index("no.such"), -ENOENT);
}

TEST(totals_are_the_growth_of_counters)
{
    struct machine machine;
    struct spoor_figure figure;

    machine_init(&machine);
    machine.origins[METRIC_HOST_NETWORK_SENT] = (struct origin){ "net", NULL, true };
    OBSERVE(&machine, METRIC_HOST_NETWORK_SENT, 1000, 1500, 4000);
    figure = find(&machine, "network.sent_bytes");
    assert_near(figure.value, 3000);
    assert_true(figure.is_exact);
    assert_string_equal(figure.source, "net");
    assert_null(figure.reason);
    assert_true(isnan(figure.low)); /* only sampled peaks have bounds */
}

/* When a page is written, the kernel counts the whole folio that contains it. */
TEST(bytes_written_by_a_job_are_limited_by_the_disk_writes)
{
    struct machine machine;
    struct spoor_figure figure;

    machine_init(&machine);
    OBSERVE(&machine, METRIC_JOB_WRITTEN, 0, 2000 * MB);
    OBSERVE(&machine, METRIC_HOST_DISK_WRITTEN, 500 * MB, 516 * MB);
    OBSERVE(&machine, METRIC_HOST_DIRTY, 90 * MB, 4 * MB);
    assert_near(find(&machine, "io.written_bytes").value, 2000e6); /* maybe on other storage */
    machine.summary.storage_is_local = true;
    machine.origins[METRIC_HOST_DISK_WRITTEN].source = "disks";
    assert_near(find(&machine, "io.written_bytes").value, 2000e6); /* maybe on a removed disk */
    machine.origins[METRIC_HOST_DISK_WRITTEN].is_exact = true;
    figure = find(&machine, "io.written_bytes");
    assert_near(figure.value, 20e6);
    assert_false(figure.is_exact);
    assert_string_equal(figure.source, "disks");
    OBSERVE(&machine, METRIC_JOB_WRITTEN, 0, 10 * MB);
    assert_near(find(&machine, "io.written_bytes").value, 10e6);
    OBSERVE(&machine, METRIC_JOB_WRITTEN, 0, UNKNOWN); /* unknown at the end */
    assert_true(isnan(find(&machine, "io.written_bytes").value));
}

/* The counter is read every ten seconds, so it does not increase in a phase between two
 * readings. */
TEST(energy_without_growth_is_unknown)
{
    struct machine machine;

    machine_init(&machine);
    machine.origins[METRIC_HOST_GPU_ENERGY].reason = "not read again";
    OBSERVE(&machine, METRIC_HOST_GPU_ENERGY, 4000000, 4000000);
    assert_true(isnan(find(&machine, "energy.gpu_joules").value));
    assert_string_equal(find(&machine, "energy.gpu_joules").reason, "not read again");
    OBSERVE(&machine, METRIC_HOST_GPU_ENERGY, 4000000, 4000000, 9000000);
    assert_near(find(&machine, "energy.gpu_joules").value, 5);
}

/* The kernel records only the peak of the whole run, so the peak of a phase is sampled. */
TEST(gpu_memory_of_a_phase_is_not_exact)
{
    struct machine machine;

    machine_init(&machine);
    machine.origins[METRIC_JOB_GPU_MEMORY].is_exact = true;
    OBSERVE(&machine, METRIC_JOB_GPU_MEMORY, UNKNOWN, 7 * MB, 2 * MB);
    assert_near(find(&machine, "gpu.memory.combined_bytes").value, 7 * MB);
    assert_true(find(&machine, "gpu.memory.combined_bytes").is_exact);
    machine.summary.started_ns = NS_PER_SECOND;
    assert_false(find(&machine, "gpu.memory.combined_bytes").is_exact);
}

TEST(mean_and_maximum_cores_are_growth_rates_of_cpu_time)
{
    struct machine machine;

    machine_init(&machine);
    machine.origins[METRIC_JOB_CPU].is_exact = true;
    OBSERVE(&machine, METRIC_JOB_CPU, 0, 3 * NS_PER_SECOND, 4 * NS_PER_SECOND);
    assert_near(find(&machine, "cpu.total_seconds").value, 4);
    assert_near(find(&machine, "cpu.mean_cores").value, 2);
    assert_true(find(&machine, "cpu.mean_cores").is_exact);
    assert_near(find(&machine, "cpu.max_cores").value, 3);
    assert_false(find(&machine, "cpu.max_cores").is_exact);
}

/* Taking the first sample may take most of the time of a run of a few milliseconds. */
TEST(a_mean_is_the_total_over_the_time_of_the_run)
{
    struct machine machine;
    struct sample sample;

    machine_init(&machine);
    sample_clear(&sample);
    sample.value[METRIC_JOB_CPU] = 0;
    sample.clocks[CLOCK_JOB_CPU].late_ns = 3 * NS_PER_MS;
    summary_add(&machine.summary, &sample);
    sample.elapsed_ns = 4 * NS_PER_MS;
    sample.value[METRIC_JOB_CPU] = 2 * NS_PER_MS;
    sample.clocks[CLOCK_JOB_CPU].late_ns = 0;
    summary_add(&machine.summary, &sample);
    assert_near(find(&machine, "cpu.total_seconds").value, 0.002);
    assert_near(find(&machine, "cpu.mean_cores").value, 0.5);
}

/* The kernel counts the machine's CPU time in ticks on each CPU. */
TEST(a_mean_is_taken_over_at_least_the_counter_resolution)
{
    struct machine machine;
    struct sample sample;
    struct spoor_figure figure;

    machine_init(&machine);
    machine.origins[METRIC_HOST_CPU].is_exact = true;
    sample_clear(&sample);
    sample.value[METRIC_HOST_CPU] = 0;
    sample.clocks[CLOCK_HOST_CPU].resolution_ns = 10 * NS_PER_MS;
    summary_add(&machine.summary, &sample);
    sample.elapsed_ns = 3 * NS_PER_MS;
    summary_add(&machine.summary, &sample);
    figure = find(&machine, "cpu.system.mean_cores"); /* no tick yet: it may be busy */
    assert_true(isnan(figure.value) && isnan(find(&machine, "cpu.system.max_cores").value));
    assert_string_equal(figure.reason, "the run was shorter than a tick of the counter");
    sample.elapsed_ns = 4 * NS_PER_MS;
    sample.value[METRIC_HOST_CPU] = 20 * NS_PER_MS;
    summary_add(&machine.summary, &sample);
    figure = find(&machine, "cpu.system.mean_cores");
    assert_near(figure.value, 2); /* 20 ms in 10 ms, not in 4 ms */
    assert_false(figure.is_exact);
    sample.elapsed_ns = NS_PER_SECOND;
    sample.value[METRIC_HOST_CPU] = NS_PER_SECOND;
    summary_add(&machine.summary, &sample);
    figure = find(&machine, "cpu.system.mean_cores");
    assert_near(figure.value, 1);
    assert_true(figure.is_exact);
}

TEST(a_single_sample_has_a_total_but_no_rate)
{
    struct machine machine;

    machine_init(&machine);
    OBSERVE(&machine, METRIC_JOB_CPU, 5);
    assert_near(find(&machine, "cpu.total_seconds").value, 0);
    assert_true(isnan(find(&machine, "cpu.mean_cores").value));
    assert_string_equal(find(&machine, "cpu.max_cores").reason,
                        "a rate needs at least two samples");
}

TEST(the_fastest_rate_is_never_below_the_mean)
{
    struct machine machine;

    machine_init(&machine);
    OBSERVE(&machine, METRIC_JOB_CPU, 0, NS_PER_SECOND);
    machine.summary.tally[METRIC_JOB_CPU].max_rate = nan(""); /* there was no complete window */
    assert_near(find(&machine, "cpu.max_cores").value, 1);
}

#define MAIN_PEAK "memory.main.total_rss_bytes"
#define JOB_PEAK "memory.combined.total_rss_bytes"

TEST(a_peak_is_never_below_the_kernels_high_water_mark)
{
    struct machine machine;
    struct spoor_figure figure;

    machine_init(&machine);
    machine.origins[METRIC_MAIN_RSS_PEAK] = (struct origin){ "kernel", NULL, true };
    OBSERVE(&machine, METRIC_MAIN_RSS, 1 * MB, 100 * MB, 50 * MB);
    OBSERVE(&machine, METRIC_MAIN_RSS_PEAK, 1 * MB, 100 * MB, 600 * MB);
    assert_false(find(&machine, MAIN_PEAK).is_exact); /* a phase: the mark may still rise */
    OBSERVE(&machine, METRIC_MAIN_RSS_BOUND, UNKNOWN, UNKNOWN, 600 * MB);
    figure = find(&machine, MAIN_PEAK);
    assert_near(figure.value, 600e6);
    assert_true(figure.is_exact);
    assert_string_equal(figure.source, "kernel");
    assert_true(isnan(figure.low));
    assert_true(isnan(figure.high));
}

TEST(a_sample_equal_to_the_kernels_high_water_mark_is_exact)
{
    struct machine machine;

    machine_init(&machine);
    machine.origins[METRIC_MAIN_RSS_PEAK] = (struct origin){ "kernel", NULL, true };
    OBSERVE(&machine, METRIC_MAIN_RSS, 1 * MB, 100 * MB);
    OBSERVE(&machine, METRIC_MAIN_RSS_PEAK, 1 * MB, 100 * MB);
    OBSERVE(&machine, METRIC_MAIN_RSS_BOUND, UNKNOWN, 100 * MB);
    assert_true(find(&machine, MAIN_PEAK).is_exact);
    assert_string_equal(find(&machine, MAIN_PEAK).source, "kernel");
}

TEST(the_kernels_high_water_mark_is_used_without_a_sample)
{
    struct machine machine;

    machine_init(&machine);
    OBSERVE(&machine, METRIC_MAIN_RSS_PEAK, 1 * MB, 100 * MB);
    assert_near(find(&machine, MAIN_PEAK).value, 100e6);
}

/* If a phase starts after the peak of the process, its figure must not be that peak. */
TEST(a_high_water_mark_from_before_the_run_is_not_used)
{
    struct machine machine;
    struct spoor_figure figure;

    machine_init(&machine);
    machine.origins[METRIC_MAIN_RSS_PEAK].is_exact = true;
    OBSERVE(&machine, METRIC_MAIN_RSS, 20 * MB, 30 * MB);
    OBSERVE(&machine, METRIC_MAIN_RSS_PEAK, 600 * MB, 600 * MB);
    figure = find(&machine, MAIN_PEAK);
    assert_near(figure.value, 30e6);
    assert_false(figure.is_exact);
    assert_near(figure.low, 30e6);
    assert_true(isnan(figure.high)); /* no bound while the process runs */
}

TEST(sampled_peaks_have_bounds)
{
    struct machine machine;
    struct spoor_figure figure;

    machine_init(&machine);
    OBSERVE(&machine, METRIC_JOB_RSS, 1 * MB, 120 * MB, 80 * MB);
    figure = find(&machine, JOB_PEAK);
    assert_near(figure.value, 120e6);
    assert_near(figure.low, 120e6);
    assert_true(isnan(figure.high)); /* no upper bound is known */
    OBSERVE(&machine, METRIC_JOB_RSS_BOUND, 1 * MB, 150 * MB, 150 * MB);
    figure = find(&machine, JOB_PEAK);
    assert_near(figure.low, 120e6);
    assert_near(figure.high, 150e6);
    /* A bound below the peak is ignored, unless the difference is only a few pages. */
    OBSERVE(&machine, METRIC_JOB_RSS_BOUND, 1 * MB, 100 * MB, 100 * MB);
    figure = find(&machine, JOB_PEAK);
    assert_true(isnan(figure.high));
    assert_false(figure.is_exact);
    OBSERVE(&machine, METRIC_JOB_RSS_BOUND, 1 * MB, 119 * MB, 119 * MB);
    figure = find(&machine, JOB_PEAK);
    assert_near(figure.value, 120e6);
    assert_true(figure.is_exact);
    assert_true(isnan(figure.low));
    OBSERVE(&machine, METRIC_JOB_RSS_BOUND, 1 * MB, 150 * MB, 150 * MB);
    /* The kernel counts pages that are mapped twice two times. */
    OBSERVE(&machine, METRIC_JOB_RSS_DISCOUNT, 0, 50 * MB, 20 * MB);
    assert_near(find(&machine, JOB_PEAK).low, 70e6);
    /* The cgroup's anonymous memory is a lower bound. */
    OBSERVE(&machine, METRIC_JOB_ANON, 1 * MB, 90 * MB, 80 * MB);
    assert_near(find(&machine, JOB_PEAK).low, 90e6);
}

/* The parts of the cgroup's memory are read after its peak: they may exceed it by a few pages. The peak of a
 * descendant is no bound for them. */
TEST(a_part_of_the_cgroup_is_bounded_by_its_own_peak)
{
    struct machine machine;
    struct spoor_figure figure;

    machine_init(&machine);
    machine.origins[METRIC_JOB_MEMORY_PEAK].is_exact = true;
    OBSERVE(&machine, METRIC_JOB_MEMORY_PEAK, 1 * MB, 119 * MB, 119 * MB);
    OBSERVE(&machine, METRIC_JOB_ANON, 1 * MB, 120 * MB, 120 * MB);
    OBSERVE(&machine, METRIC_DESCENDANTS_RSS_PEAK, 1 * MB, 300 * MB, 300 * MB);
    figure = find(&machine, "memory.anon_peak_bytes");
    assert_near(figure.value, 120e6);
    assert_true(figure.is_exact && isnan(figure.high));
    /* A cgroup that other processes share gives no bound if its own is below the value. */
    machine.origins[METRIC_JOB_MEMORY_PEAK].is_exact = false;
    machine.origins[METRIC_JOB_MEMORY_BOUND].is_exact = true;
    OBSERVE(&machine, METRIC_JOB_MEMORY_BOUND, 1 * MB, 119 * MB, 119 * MB);
    figure = find(&machine, "memory.anon_peak_bytes");
    assert_true(!figure.is_exact && isnan(figure.high));
}

/* The largest process alone is a lower bound of the job's memory. */
TEST(a_lower_bound_raises_the_peak_and_stays_inexact)
{
    struct machine machine;
    struct spoor_figure figure;

    machine_init(&machine);
    OBSERVE(&machine, METRIC_JOB_RSS, 1 * MB, 100 * MB);
    OBSERVE(&machine, METRIC_JOB_RSS_PEAK, 1 * MB, 300 * MB);
    OBSERVE(&machine, METRIC_JOB_RSS_BOUND, 1 * MB, 400 * MB);
    figure = find(&machine, JOB_PEAK);
    assert_near(figure.value, 300e6);
    assert_false(figure.is_exact);
    assert_near(figure.low, 300e6);
    assert_near(figure.high, 400e6);
}

TEST(instructions_are_counted_per_cycle)
{
    struct machine machine;

    machine_init(&machine);
    machine.origins[METRIC_JOB_INSTRUCTIONS].reason = "requires --counters";
    assert_string_equal(find(&machine, "cpu.counters.instructions_per_cycle").reason,
                        "requires --counters");
    OBSERVE(&machine, METRIC_JOB_INSTRUCTIONS, 10, 310);
    OBSERVE(&machine, METRIC_JOB_CYCLES, 20, 220);
    assert_near(find(&machine, "cpu.counters.instructions_per_cycle").value, 1.5);
    assert_near(find(&machine, "cpu.counters.cycles").value, 200);
    assert_int_equal(counter_scale(100, 200, 50),
                     400); /* the counter was active for a quarter of the time */
    assert_int_equal(counter_scale(100, 200, 200), 100);
    assert_int_equal(counter_scale(0, 0, 0), 0);
    assert_int_equal(counter_scale(0, 200, 0), UNKNOWN);
}

TEST(energy_has_bounds_and_a_footprint)
{
    struct machine machine;
    struct spoor_figure figure;

    machine_init(&machine);
    OBSERVE(&machine, METRIC_JOB_CPU_ENERGY, 0, 300 * MB);
    OBSERVE(&machine, METRIC_JOB_CPU_ENERGY_LOW, 0, 200 * MB);
    OBSERVE(&machine, METRIC_HOST_CPU_ENERGY, 0, 500 * MB);
    figure = find(&machine, "energy.cpu_joules");
    assert_near(figure.value, 300);
    assert_near(figure.low, 200);
    assert_true(isnan(figure.high)); /* one package could not be read for a while */
    machine.origins[METRIC_HOST_CPU_ENERGY].is_exact = true;
    OBSERVE(&machine, METRIC_HOST_CPU_ENERGY, 0, 500 * MB);
    machine.summary.tally[METRIC_HOST_CPU_ENERGY].first_is_exact = true;
    assert_near(find(&machine, "energy.cpu_joules").high, 500);
    assert_true(isnan(find(&machine, "energy.co2e_grams").value));
    machine.summary.grams_per_joule = 380 * 1.5 / 3.6e6;
    figure = find(&machine, "energy.co2e_grams");
    assert_near(figure.value, 300 * 380 * 1.5 / 3.6e6);
    assert_near(figure.low, 200 * 380 * 1.5 / 3.6e6);
    assert_near(figure.high, 500 * 380 * 1.5 / 3.6e6);
    OBSERVE(&machine, METRIC_HOST_GPU_ENERGY, 0, 100 * MB);
    assert_near(find(&machine, "energy.co2e_grams").value, 400 * 380 * 1.5 / 3.6e6);
}

TEST(waiting_for_a_cpu_has_bounds_unless_it_is_exact)
{
    struct machine machine;
    struct spoor_figure figure;

    machine_init(&machine);
    machine.origins[METRIC_JOB_THREADS_PEAK].is_exact = true;
    OBSERVE(&machine, METRIC_JOB_CPU_WAIT, 0, 2 * NS_PER_SECOND, 3 * NS_PER_SECOND);
    assert_near(find(&machine, "cpu.wait_seconds").low, 3);
    assert_true(isnan(find(&machine, "cpu.wait_seconds").high)); /* thread count unknown */
    machine.summary.started_ns = 0;
    machine.summary.ended_ns = 2 * NS_PER_SECOND;
    OBSERVE(&machine, METRIC_JOB_THREADS_PEAK, 1, 5, 5);
    OBSERVE(&machine, METRIC_JOB_CPU, 0, NS_PER_SECOND, 2 * NS_PER_SECOND);
    figure = find(&machine, "cpu.wait_seconds");
    assert_near(figure.value, 3);
    assert_near(figure.low, 3);
    assert_near(figure.high, 5 * 2 - 2); /* five threads for 2 s, less 2 s of CPU time */
    machine.origins[METRIC_JOB_CPU_WAIT].is_exact = true;
    OBSERVE(&machine, METRIC_JOB_CPU_WAIT, 0, 2 * NS_PER_SECOND, 3 * NS_PER_SECOND);
    figure = find(&machine, "cpu.wait_seconds");
    assert_true(figure.is_exact && isnan(figure.low) && isnan(figure.high));
}

/* If processes have left the cgroup, the cgroup's peak is not a bound. */
TEST(an_inexact_value_is_not_a_bound)
{
    struct machine machine;

    machine_init(&machine);
    OBSERVE(&machine, METRIC_JOB_ANON, 1 * MB, 10 * MB);
    OBSERVE(&machine, METRIC_JOB_MEMORY_PEAK, 2 * MB, 12 * MB);
    assert_near(find(&machine, "memory.anon_peak_bytes").low, 10e6);
    assert_true(isnan(find(&machine, "memory.anon_peak_bytes").high));
    machine.origins[METRIC_JOB_MEMORY_PEAK].is_exact = true;
    assert_near(find(&machine, "memory.anon_peak_bytes").high, 12e6);
}

TEST(a_phase_counts_only_its_own_processes)
{
    struct machine machine;

    machine_init(&machine);
    OBSERVE(&machine, METRIC_JOB_STARTED, 1, 4, 7); /* the run started with the job */
    OBSERVE(&machine, METRIC_JOB_PROCESSES, 1, 3, 2);
    assert_near(find(&machine, "processes.started").value, 7);
    assert_near(find(&machine, "processes.max_concurrent").value, 3);
    OBSERVE(&machine, METRIC_JOB_STARTED, 100,
            101); /* a phase: two processes at its start, a third one later */
    OBSERVE(&machine, METRIC_JOB_PROCESSES, 2, 3);
    assert_near(find(&machine, "processes.started").value, 3);
}

#define SWITCHES "cpu.context_switches.voluntary"

/* The counts are known before the program runs and after it has exited, but not in between. */
TEST(context_switches_are_known_only_for_the_whole_run)
{
    struct machine machine;

    machine_init(&machine);
    machine.origins[METRIC_JOB_VOLUNTARY_SWITCHES] = (struct origin){ "wait4", "later", true };
    OBSERVE(&machine, METRIC_JOB_VOLUNTARY_SWITCHES, 0, UNKNOWN, UNKNOWN);
    assert_true(isnan(find(&machine, SWITCHES).value)); /* still running */
    assert_string_equal(find(&machine, SWITCHES).reason, "later");
    OBSERVE(&machine, METRIC_JOB_VOLUNTARY_SWITCHES, UNKNOWN, 700); /* phase until the end */
    assert_true(isnan(find(&machine, SWITCHES).value));
    OBSERVE(&machine, METRIC_JOB_VOLUNTARY_SWITCHES, 0, UNKNOWN, 700);
    assert_near(find(&machine, SWITCHES).value, 700);
    assert_true(find(&machine, SWITCHES).is_exact);
    OBSERVE(&machine, METRIC_JOB_VOLUNTARY_SWITCHES, 0, UNKNOWN, 0);
    assert_near(find(&machine, SWITCHES).value, 0);
}

#define AT_PEAK(part) "memory.at_peak." part "_rss_bytes"

TEST(parts_at_the_peak_add_up_to_its_total)
{
    struct machine machine;

    machine_init(&machine);
    OBSERVE(&machine, METRIC_JOB_RSS, 300 * MB, 404 * MB);
    OBSERVE(&machine, METRIC_JOB_PRIVATE, 269 * MB, 135 * MB);
    OBSERVE(&machine, METRIC_JOB_SHARED, 1 * MB, 270 * MB);
    machine.summary.at_peak = (struct memory_split){ 404 * MB, 135 * MB, 269 * MB };
    assert_near(find(&machine, AT_PEAK("total")).value, 404e6);
    assert_near(find(&machine, AT_PEAK("private")).value, 135e6);
    assert_near(find(&machine, AT_PEAK("shared")).value, 269e6);
    assert_false(find(&machine, AT_PEAK("total")).is_exact);
    assert_string_equal(find(&machine, AT_PEAK("total")).source, "test");
}

TEST(parts_read_far_from_the_peak_are_unknown)
{
    struct machine machine;

    machine_init(&machine);
    machine.origins[METRIC_JOB_PRIVATE].reason = "no rights";
    machine.summary.at_peak = (struct memory_split){ 95 * MB, 90 * MB, 5 * MB };
    OBSERVE(&machine, METRIC_JOB_RSS, 20 * MB, 95 * MB);
    OBSERVE(&machine, METRIC_JOB_PRIVATE, 20 * MB, 90 * MB);
    OBSERVE(&machine, METRIC_JOB_RSS_PEAK, 20 * MB, 100 * MB);
    assert_near(find(&machine, AT_PEAK("private")).value, 90e6); /* near enough the peak */
    OBSERVE(&machine, METRIC_JOB_RSS_PEAK, 20 * MB, 150 * MB);
    assert_true(isnan(find(&machine, AT_PEAK("private")).value));
    assert_string_equal(find(&machine, AT_PEAK("total")).reason,
                        "memory was not read near its peak");
    /* 50 MB of the peak may be pages that are mapped twice. */
    OBSERVE(&machine, METRIC_JOB_RSS_DISCOUNT, 0, 50 * MB);
    assert_near(find(&machine, AT_PEAK("private")).value, 90e6);
    /* Private memory was never read. */
    OBSERVE(&machine, METRIC_JOB_PRIVATE, UNKNOWN);
    machine.summary.at_peak = (struct memory_split){ 150 * MB, UNKNOWN, UNKNOWN };
    assert_near(find(&machine, AT_PEAK("total")).value, 150e6);
    assert_string_equal(find(&machine, AT_PEAK("private")).reason, "no rights");
}
