/* SPDX-License-Identifier: Apache-2.0 */
#include "front/spoor/untracked_report.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "front/spoor/program.h"
#include "output/save.h"
#include "record/fill.h"

#define REASON "the job ran untracked"

static int fill(const struct tracked *tracked, const struct spoor_options *options,
                struct record *ret)
{
    struct host_facts host = { .cpus = UNKNOWN, .memory_bytes = UNKNOWN };
    static const struct series series;
    const struct limits limits = { .cpus = (double)NAN, .memory_bytes = UNKNOWN };
    const struct gpu_view gpu = { .state = GPU_PENDING, .reason = REASON };
    struct warning warning = { .code = "untracked" };
    struct summary summary;
    char id[33], cwd[PATH_MAX];
    struct record_input input = {
        .id = id,
        .name = options->name,
        .tags = options->tags,
        .command = options->command,
        .cwd = getcwd(cwd, sizeof(cwd)),
        .is_tracked = true,
        .has_ended = true,
        .wait_status = tracked->end.wait_status,
        .interval_ns = options->interval_ns,
        .host = &host,
        .limits = &limits,
        .gpu = &gpu,
        .summary = &summary,
        .series = &series,
        .tracker_cpu_ns = UNKNOWN,
        .tracker_max_rss_bytes = UNKNOWN,
        .budget = { .job_millionths = UINT64_MAX },
        .warnings = &warning,
        .warning_count = 1,
    };

    record_make_id(id);
    (void)gethostname(host.hostname, sizeof(host.hostname) - 1); /* or it is not known */
    summary_init(&summary, options->interval_ns);
    for (size_t i = 0; i < METRIC_COUNT; i++)
        summary.tally[i].origin.reason = REASON;
    (void)snprintf(warning.message, sizeof(warning.message), REASON ": %.200s", tracked->why);
    return record_fill(&input, ret);
}

static void set_times(const struct tracked *tracked, struct record *record)
{
    uint64_t now_ms = clock_now().realtime_ns / NS_PER_MS;

    record->elapsed_seconds = (double)tracked->elapsed_ns / 1e9;
    record->ended_at = (double)now_ms / 1e3;
    record->started_at = (double)(now_ms - tracked->elapsed_ns / NS_PER_MS) / 1e3;
}

struct report {
    const struct outputs *outputs;
    const struct record *record;
};

static int write_all(void *data)
{
    const struct report *report = data;

    for (size_t i = 0; i < report->outputs->count; i++) {
        const struct output *output = &report->outputs->items[i];
        struct spoor_error err = { 0 };
        int r = 0;

        if (output->fd < 0)
            r = save_to_file(report->record, 1, output->format, output->path, output->save,
                             &err);
        else if (output->fd != STDERR_FILENO)
            r = save_to_descriptor(report->record, 1, output->format,
                                   output->flags & SPOOR_COLOR, output->fd, &err);
        if (r < 0)
            complain("%s", err.message);
    }
    return 0;
}

void untracked_report_write(const struct outputs *outputs, const struct tracked *tracked,
                            const struct spoor_options *options)
{
    struct record record;

    if (fill(tracked, options, &record) < 0)
        return; /* no memory */
    set_times(tracked, &record);
    (void)program_write_report(&spoor_program, write_all, &(struct report){ outputs, &record });
    record_done(&record);
}
