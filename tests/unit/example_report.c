/* SPDX-License-Identifier: Apache-2.0 */
#include "example_report.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "label.h"

/* 2026-03-14T09:26:53.589Z */
#define EXAMPLE_START_NS 1773480413589000000ull
#define EXAMPLE_BOOT_NS (1000 * NS_PER_SECOND) /* start of the run, on the monotonic clock */

#define MB 1000000ull
#define MS NS_PER_MS

/* clang-format off */
static const struct {
    enum metric metric;
    const char *source;
    bool is_exact;
    uint64_t value[EXAMPLE_SAMPLES];
} known[] = {
    { METRIC_MAIN_CPU, "clock", true, { 0, 500 * MS, 900 * MS, 900 * MS, 950 * MS, 1000 * MS } },
    { METRIC_MAIN_RSS, "procfs.statm", false, { 2 * MB, 100 * MB, 200 * MB, 200 * MB, 50 * MB, 0 } },
    { METRIC_MAIN_RSS_PEAK, "procfs.status", true, { 2 * MB, 110 * MB, 210 * MB, 210 * MB, 210 * MB, 210 * MB } },
    { METRIC_MAIN_RSS_BOUND, "wait4.ru_maxrss", true, { UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, 210 * MB } },
    { METRIC_MAIN_PRIVATE, "procfs.smaps_rollup", false, { 1 * MB, 90 * MB, 180 * MB, 180 * MB, 40 * MB, 0 } },
    { METRIC_MAIN_SHARED, "procfs.smaps_rollup", false, { 1 * MB, 10 * MB, 20 * MB, 20 * MB, 10 * MB, 0 } },
    { METRIC_MAIN_THREADS, "procfs.stat", false, { 1, 1, 4, 4, 1, 1 } },
    { METRIC_DESCENDANTS_CPU, "clock", true, { 0, 0, 2600 * MS, 6100 * MS, 9000 * MS, 9000 * MS } },
    { METRIC_DESCENDANTS_RSS, "procfs.statm", false, { 0, 0, 600 * MB, 1000 * MB, 700 * MB, 0 } },
    { METRIC_DESCENDANTS_RSS_BOUND, "procfs.status", true, { 0, 0, 900 * MB, 1290 * MB, 1290 * MB, 0 } },
    { METRIC_JOB_CPU, "perf.task-clock", true, { 0, 500 * MS, 3500 * MS, 7000 * MS, 9950 * MS, 10000 * MS } },
    { METRIC_JOB_USER, "procfs.stat", true, { 0, 400 * MS, 3200 * MS, 6500 * MS, 9200 * MS, 9250 * MS } },
    { METRIC_JOB_SYSTEM, "procfs.stat", true, { 0, 100 * MS, 300 * MS, 500 * MS, 750 * MS, 750 * MS } },
    { METRIC_JOB_MINOR_FAULTS, "wait4", true, { 0, 25000, 200000, 300000, 300300, 300321 } },
    { METRIC_JOB_MAJOR_FAULTS, "wait4", true, { 0, 3, 3, 4, 4, 4 } },
    { METRIC_JOB_VOLUNTARY_SWITCHES, "wait4", true, { 0, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, 812 } },
    { METRIC_JOB_INVOLUNTARY_SWITCHES, "wait4", true, { 0, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, 57 } },
    { METRIC_JOB_RSS, "procfs.statm", false, { 2 * MB, 100 * MB, 800 * MB, 1200 * MB, 750 * MB, 0 } },
    { METRIC_JOB_RSS_BOUND, "procfs.status", true, { 2 * MB, 110 * MB, 1110 * MB, 1500 * MB, 1500 * MB, 0 } },
    { METRIC_JOB_PRIVATE, "procfs.smaps_rollup", false, { 1 * MB, 90 * MB, 780 * MB, 1180 * MB, 740 * MB, 0 } },
    { METRIC_JOB_SHARED, "procfs.smaps_rollup", false, { 1 * MB, 10 * MB, 20 * MB, 20 * MB, 10 * MB, 0 } },
    { METRIC_JOB_PROCESSES, "procfs.children", false, { 1, 1, 3, 3, 3, 1 } },
    { METRIC_JOB_STARTED, "procfs.children", false, { 1, 1, 3, 5, 7, 7 } },
    { METRIC_JOB_THREADS, "procfs.stat", false, { 1, 1, 6, 12, 9, 1 } },
    { METRIC_JOB_READ, "procfs.io", true, { 0, 4096, 12 * MB, 12 * MB, 12 * MB, 12 * MB } },
    { METRIC_JOB_WRITTEN, "procfs.io", true, { 0, 0, 0, 24 * MB, 48 * MB, 48 * MB } },
    { METRIC_JOB_READ_CHARS, "procfs.io", true, { 0, 20000, 15 * MB, 15 * MB, 15 * MB, 15 * MB } },
    { METRIC_JOB_WRITTEN_CHARS, "procfs.io", true, { 0, 900, 1000, 25 * MB, 50 * MB, 50 * MB } },
    { METRIC_HOST_CPU, "procfs.stat", true, { 1000000 * MS, 1001000 * MS, 1005000 * MS, 1010000 * MS, 1014000 * MS, 1014500 * MS } },
    { METRIC_HOST_MEMORY_USED, "procfs.meminfo", false, { 3000 * MB, 3100 * MB, 3900 * MB, 4200 * MB, 3800 * MB, 3000 * MB } },
    { METRIC_HOST_NETWORK_RECEIVED, "procfs.net.dev", true, { 7000, 7000, 8000, 9000, 1207000, 1207000 } },
    { METRIC_HOST_NETWORK_SENT, "procfs.net.dev", true, { 5000, 5000, 5000, 5000, 305000, 305000 } },
    { METRIC_JOB_CPU_PRESSURE, "host.procfs.pressure", true, { 0, 0, 100 * MS, 200 * MS, 200 * MS, 200 * MS } },
};
/* clang-format on */

static void fill_samples(struct example *example)
{
    static const struct series_gpus no_gpus = { 0 };

    for (size_t i = 0; i < EXAMPLE_SAMPLES; i++) {
        struct sample *sample = &example->samples[i];

        sample_clear(sample);
        sample->elapsed_ns = i * NS_PER_SECOND;
        sample->realtime_ns = EXAMPLE_START_NS + i * NS_PER_SECOND;
        for (size_t k = 0; k < ARRAY_SIZE(known); k++)
            sample->value[known[k].metric] = known[k].value[i];
        sample->at_peak = (struct memory_split){ sample->value[METRIC_JOB_RSS],
                                                 sample->value[METRIC_JOB_PRIVATE],
                                                 sample->value[METRIC_JOB_SHARED] };
        summary_add(&example->summary, sample);
        series_append(&example->series, sample, &example->summary, &no_gpus);
    }
    for (size_t k = 0; k < ARRAY_SIZE(known); k++)
        example->origins[known[k].metric] =
            (struct origin){ known[k].source, NULL, known[k].is_exact };
}

/* Phase 0 contains samples 0 to 2, phase 1 all later ones; the other phases contain none. */
static void fill_phases(struct example *example)
{
    for (size_t i = 0; i < EXAMPLE_PHASES; i++) {
        struct phase *phase = &example->phases[i];

        (void)snprintf(phase->name, sizeof(phase->name), "phase %zu", i);
        summary_init(&phase->summary, NS_PER_SECOND);
    }
    (void)snprintf(example->phases[0].name, sizeof(example->phases[0].name), "load");
    (void)snprintf(example->phases[1].name, sizeof(example->phases[1].name),
                   "train\x1b[2J, \"quick\"");
    for (size_t i = 0; i < EXAMPLE_SAMPLES; i++)
        summary_add(&example->phases[i <= 2 ? 0 : 1].summary, &example->samples[i]);
}

static void fill_input(struct example *example)
{
    static const char *const command[] = { "python3", "train.py", "--name", "it's me", NULL };
    static const char *const tags[] = { "team=blue", "note=a=b", NULL };

    example->host = (struct host_facts){
        .hostname = "node7",
        .os = "Debian GNU/Linux 12 (bookworm)",
        .kernel = "6.12.1",
        .cpu_model = "AMD EPYC 7763 64-Core Processor",
        .cpus = 8,
        .memory_bytes = 33600 * MB,
    };
    example->limits = (struct limits){ 4, "affinity", 2000 * MB, "cgroup.memory.max" };
    example->gpu = (struct gpu_view){ .state = GPU_NONE, .reason = "this machine has no GPU" };
    example->warnings[0] = (struct warning){ "throttled", "the CPU quota held the job back" };
    example->warnings[1] = (struct warning){ "lost", "row\n\x1b[31m\"two\"" };
    example->input = (struct record_input){
        .id = "0123456789abcdef0123456789abcdef",
        .tags = tags,
        .command = command,
        .user = "ada",
        .cwd = "/home/ada",
        .pid = 4242,
        .is_tracked = true,
        .has_ended = true,
        .interval_ns = NS_PER_SECOND,
        .host = &example->host,
        .limits = &example->limits,
        .gpu = &example->gpu,
        .summary = &example->summary,
        .series = &example->series,
        .phases = example->phases,
        .tracker_cpu_ns = 12 * MS,
        .tracker_max_rss_bytes = 3200000,
        .late_samples = 0,
        .detail_reads = 3,
        .budget = { .job_millionths = BUDGET_MILLIONTHS,
                    .spent_ns = { [SPENT_SAMPLES] = 7 * MS,
                                  [SPENT_GLANCES] = 3 * MS,
                                  [SPENT_SHARING] = 2 * MS },
                    .postponed = { [SPENT_GLANCES] = 5 } },
        .warnings = example->warnings,
        .processes = &example->processes,
        .started_ns = EXAMPLE_BOOT_NS,
    };
}

/* Lists two processes, the second with few known values, and the sum of all others. */
static void add_processes(struct example *example)
{
    example->process_list[0] = (struct process_entry){
        .pid = 4242,
        .parent_pid = 4200,
        .name = "python3",
        .started_ns = EXAMPLE_BOOT_NS - 1,
        .ended_ns = UNKNOWN,
        .cpu_ns = 1000 * MS,
        .peak_bytes = 210 * MB,
        .read_bytes = 12 * MB,
        .written_bytes = 0,
        .gpu_bytes = 1 << 30,
        .wait_ns = 500000000,
    };
    example->process_list[1] = (struct process_entry){
        .pid = 4250,
        .name = "a\"\x1b[2J",
        .command = example->command,
        .started_ns = EXAMPLE_BOOT_NS + 250 * MS,
        .ended_ns = EXAMPLE_BOOT_NS + 4250 * MS,
        .cpu_ns = 8 * NS_PER_SECOND,
        .peak_bytes = UNKNOWN,
        .read_bytes = UNKNOWN,
        .written_bytes = UNKNOWN,
        .gpu_bytes = UNKNOWN,
        .wait_ns = UNKNOWN,
        .has_wait_status = true,
        .wait_status = 9,
    };
    (void)snprintf(example->command, sizeof(example->command), "worker 'a b'");
    example->process_sum = (struct process_sum){
        .name = "sh", .count = 3, .cpu_ns = 900 * MS, .peak_bytes = 3 * MB
    };
    example->processes = (struct process_table){
        .list = example->process_list,
        .count = 2,
        .others = &example->process_sum,
        .other_count = 1,
        .unknown = { .count = 2, .cpu_ns = 100 * MS, .peak_bytes = UNKNOWN },
    };
}

void example_label(struct example *example)
{
    for (int i = 0; i < METRIC_COUNT; i++) {
        summary_label(&example->summary, (enum metric)i, example->origins[i]);
        for (size_t k = 0; k < EXAMPLE_PHASES; k++)
            summary_label(&example->phases[k].summary, (enum metric)i, example->origins[i]);
    }
}

struct example *example_new(void)
{
    struct example *example = calloc(1, sizeof(*example));

    assert(example && series_init(&example->series, SERIES_POINTS) == 0);
    for (int i = 0; i < METRIC_COUNT; i++)
        example->origins[i] = (struct origin){ .reason = "not in this example" };
    summary_init(&example->summary, NS_PER_SECOND);
    fill_samples(example);
    fill_phases(example);
    fill_input(example);
    add_processes(example);
    example_label(example);
    return example;
}

void example_free(struct example *example)
{
    series_done(&example->series);
    free(example);
}

void example_forget(struct example *example)
{
    summary_init(&example->summary, NS_PER_SECOND);
    example_label(example);
    example->series.count = 0;
    example->host = (struct host_facts){ .cpus = UNKNOWN, .memory_bytes = UNKNOWN };
    example->limits = (struct limits){ .cpus = nan(""), .memory_bytes = UNKNOWN };
    example->input.name = NULL;
    example->input.tags = NULL;
    example->input.command = NULL;
    example->input.user = NULL;
    example->input.cwd = NULL;
    example->input.has_ended = false;
    example->input.processes = NULL;
    example->input.tracker_cpu_ns = UNKNOWN;
    example->input.tracker_max_rss_bytes = UNKNOWN;
}

void example_fill(const struct example *example, struct record *ret)
{
    int r = record_fill(&example->input, ret);

    assert(r == 0);
    (void)r;
}

void example_write(const struct example *example, enum spoor_format format,
                   const struct format_style *style, struct buffer *out)
{
    struct format_style own = style ? *style : (struct format_style){ 0 };
    struct record record;

    example_fill(example, &record);
    format_write(format_get(format), &record, 1, &own, out);
    record_done(&record);
}
