/* SPDX-License-Identifier: Apache-2.0 */
#include "record/replay.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "record/fill.h"

#define SOURCE "samples"
#define REASON "not in the samples"

enum { WAITING_MAX = 32 };

struct replay {
    struct summary summary;
    struct series series;
    enum replay_kind kinds[METRIC_COUNT];
    double units[METRIC_COUNT];  /* raw units per base unit */
    double totals[METRIC_COUNT]; /* totals of counters that the rows contain as increases */
    bool has_growth;             /* some counters are increases */
    bool has_start;              /* the rows count from the start of the run */
    struct replay_row waiting[WAITING_MAX];
    size_t waiting_count;
    uint64_t row_count;
    double first_unix, last_unix, last_elapsed;
    double interval_seconds; /* NaN: not known yet */
    struct sample sample;
    char run_id[RUN_ID_SIZE]; /* empty: unknown */
};

struct replay *replay_new(void)
{
    struct replay *replay = calloc(1, sizeof(*replay));

    if (!replay || series_init(&replay->series, CURVE_PAGE_POINTS) < 0) {
        free(replay);
        return NULL;
    }
    replay->interval_seconds = replay->first_unix = (double)NAN;
    for (int i = 0; i < METRIC_COUNT; i++)
        replay->units[i] = 1 / metric_value((enum metric)i, 1);
    return replay;
}

void replay_free(struct replay *replay)
{
    if (!replay)
        return;
    series_done(&replay->series);
    free(replay);
}

int replay_metric(const char *name)
{
    for (int i = 0; i < METRIC_COUNT; i++) {
        if (strcmp(metric_row((enum metric)i)->published.name, name) == 0)
            return i;
    }
    return -1;
}

void replay_set_kind(struct replay *replay, int metric, enum replay_kind kind)
{
    replay->kinds[metric] = kind;
    replay->has_growth |= kind != REPLAY_VALUE;
}

void replay_row_clear(struct replay_row *row)
{
    row->unix_seconds = row->elapsed_seconds = row->interval_seconds = (double)NAN;
    row->gpus.count = 0;
    row->run_id[0] = '\0';
    for (int i = 0; i < METRIC_COUNT; i++)
        row->value[i] = (double)NAN;
}

/* Returns the time of the next row, since the first one or the start of the run. */
static double elapsed_of(const struct replay *replay, const struct replay_row *row)
{
    if (!isnan(row->elapsed_seconds))
        return row->elapsed_seconds;
    if (!isnan(row->interval_seconds) && replay->row_count > 0)
        return replay->last_elapsed + row->interval_seconds;
    return row->unix_seconds - replay->first_unix;
}

bool replay_has_id_of(const struct replay *replay, const struct replay_row *row)
{
    return replay->row_count == 0 || strcmp(replay->run_id, row->run_id) == 0;
}

bool replay_is_over(const struct replay *replay, const struct replay_row *row)
{
    bool goes_back = isnan(row->interval_seconds)
                         ? elapsed_of(replay, row) < replay->last_elapsed
                         : row->unix_seconds < replay->last_unix;

    return replay->row_count > 0 && goes_back;
}

/* ---- a row as a sample ------------------------------------------------------ */

/* A file may hold any number: limit times to the year 2255. */
static uint64_t ns_of(double seconds)
{
    return seconds > 0 ? (uint64_t)(fmin(seconds, 9e9) * 1e9 + 0.5) : 0;
}

static uint64_t raw_of(const struct replay *replay, int metric, double value)
{
    double raw = value * replay->units[metric] + 0.5;

    return raw >= 0 && raw < 0x1p63 ? (uint64_t)raw : UNKNOWN; /* UNKNOWN for NaN */
}

static uint64_t total_of(struct replay *replay, int metric, double value, double seconds)
{
    if (replay->kinds[metric] == REPLAY_RATE)
        value *= seconds;
    if (isnan(value))
        return UNKNOWN;
    replay->totals[metric] += value > 0 ? value : 0;
    return raw_of(replay, metric, replay->totals[metric]);
}

static void take_sample(struct replay *replay, const struct series_gpus *gpus)
{
    struct sample *sample = &replay->sample;

    sample->clocks[CLOCK_HOST_CPU].resolution_ns = HOST_CPU_ERROR_NS;
    /* A job without threads is taken to be over. A cgroup may be empty for a while, but rows do
     * not show whether the job was a cgroup. */
    sample->job_is_over = sample->value[METRIC_JOB_THREADS] == 0;
    sample->at_peak =
        (struct memory_split){ sample->value[METRIC_JOB_RSS], sample->value[METRIC_JOB_PRIVATE],
                               sample->value[METRIC_JOB_SHARED] };
    summary_add(&replay->summary, sample);
    series_append(&replay->series, sample, &replay->summary, gpus);
}

/* `elapsed_seconds`: time of the row since the first one or the start of the run. */
static void play(struct replay *replay, const struct replay_row *row, double elapsed_seconds)
{
    struct sample *sample = &replay->sample;
    double before = replay->has_growth && !replay->has_start ? replay->interval_seconds : 0;
    double elapsed = elapsed_seconds + before;
    /* Time since the previous row. */
    double seconds = elapsed - (double)sample->elapsed_ns / 1e9;

    sample->elapsed_ns = ns_of(elapsed);
    sample->realtime_ns = row->unix_seconds > 0 ? ns_of(row->unix_seconds) : sample->elapsed_ns;
    for (int i = 0; i < METRIC_COUNT; i++) {
        sample->value[i] = replay->kinds[i] == REPLAY_VALUE
                               ? raw_of(replay, i, row->value[i])
                               : total_of(replay, i, row->value[i], seconds);
        if (is_known(sample->value[i]))
            sample->origin[i] = (struct origin){ .source = SOURCE };
    }
    take_sample(replay, &row->gpus);
}

/* Adds a sample before the first row. Counters that the rows contain as increases are 0 in
 * it. */
static void play_start(struct replay *replay, const struct replay_row *first)
{
    struct sample *sample = &replay->sample;
    double start = first->unix_seconds -
                   (replay->has_start ? first->elapsed_seconds : replay->interval_seconds);
    const struct series_gpus no_gpus = { 0 };

    sample->realtime_ns = ns_of(start);
    for (int i = 0; i < METRIC_COUNT; i++) {
        if (replay->kinds[i] != REPLAY_VALUE && !isnan(first->value[i]))
            sample->value[i] = 0;
    }
    take_sample(replay, &no_gpus);
}

/* Returns the median of the first intervals, in whole milliseconds; 1 s if there is none. */
static double find_interval(const struct replay *replay)
{
    double intervals[WAITING_MAX];
    size_t count = 0;

    for (size_t i = 1; i < replay->waiting_count; i++) {
        double seconds =
            replay->waiting[i].elapsed_seconds - replay->waiting[i - 1].elapsed_seconds;

        if (seconds > 0)
            intervals[count++] = seconds;
    }
    qsort(intervals, count, sizeof(*intervals), compare_doubles);
    if (count == 0)
        return 1;
    /* Samples are a little late: the configured interval is a round number. */
    return fmax(floor(intervals[count / 2] * 1e3 + 0.5) / 1e3, 1e-3);
}

static void play_waiting(struct replay *replay)
{
    replay->interval_seconds = find_interval(replay);
    summary_init(&replay->summary, ns_of(replay->interval_seconds));
    sample_clear(&replay->sample);
    for (int i = 0; i < METRIC_COUNT; i++)
        replay->sample.origin[i] = (struct origin){ .reason = REASON };
    if (replay->has_growth)
        play_start(replay, &replay->waiting[0]);
    for (size_t i = 0; i < replay->waiting_count; i++)
        play(replay, &replay->waiting[i], replay->waiting[i].elapsed_seconds);
    replay->waiting_count = 0;
}

void replay_add(struct replay *replay, const struct replay_row *row)
{
    double elapsed;

    if (replay->row_count == 0) {
        replay->first_unix = row->unix_seconds;
        replay->has_start = !isnan(row->elapsed_seconds);
        memcpy(replay->run_id, row->run_id, sizeof(replay->run_id));
    }
    elapsed = elapsed_of(replay, row);
    replay->row_count++;
    replay->last_elapsed = elapsed;
    replay->last_unix = row->unix_seconds;
    if (!isnan(replay->interval_seconds)) {
        play(replay, row, elapsed);
        return;
    }
    replay->waiting[replay->waiting_count] = *row;
    replay->waiting[replay->waiting_count++].elapsed_seconds = elapsed;
    if (replay->waiting_count == WAITING_MAX)
        play_waiting(replay);
}

/* ---- the record ------------------------------------------------------------- */

static int fill_record(const struct replay *replay, const char *name, uint64_t skipped,
                       struct record *ret)
{
    static const struct host_facts host = { .cpus = UNKNOWN, .memory_bytes = UNKNOWN };
    const struct limits limits = { .cpus = (double)NAN, .memory_bytes = UNKNOWN };
    const struct gpu_view gpu = { .state = GPU_PENDING, .reason = REASON };
    struct warning warning = { .code = "samples" };
    struct record_input input = {
        .id = *replay->run_id ? replay->run_id : NULL,
        .name = name,
        .is_tracked = true,
        .interval_ns = ns_of(replay->interval_seconds),
        .host = &host,
        .limits = &limits,
        .gpu = &gpu,
        .summary = &replay->summary,
        .series = &replay->series,
        .tracker_cpu_ns = UNKNOWN,
        .tracker_max_rss_bytes = UNKNOWN,
        .late_samples = UNKNOWN,
        .detail_reads = UNKNOWN,
        .budget = { .job_millionths = UINT64_MAX },
        .warnings = &warning,
        .warning_count = skipped > 0,
    };

    for (int i = 0; i < SPENDING_COUNT; i++)
        input.budget.spent_ns[i] = input.budget.postponed[i] = UNKNOWN;
    (void)snprintf(warning.message, sizeof(warning.message),
                   "skipped %" PRIu64 " incomplete row%s of samples", skipped,
                   skipped == 1 ? "" : "s");
    return record_fill(&input, ret);
}

int replay_finish(struct replay *replay, const char *name, uint64_t skipped, struct record *ret)
{
    if (replay->row_count == 0)
        return -ENODATA;
    if (isnan(replay->interval_seconds))
        play_waiting(replay);
    return fill_record(replay, name, skipped, ret);
}
