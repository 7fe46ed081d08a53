/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks properties that must hold for the curve of every run, on generated runs. These runs
 * contain late and requested samples; counters that are read late, unknown for a while or
 * reset; and memory whose parts are not always known. The seeds are fixed.
 */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/amount.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "job/cpu_sources.h"
#include "output/format.h"
#include "record/fill.h"
#include "record/load.h"
#include "record/replay.h"
#include "sample/sampler.h"
#include "series/figure.h"
#include "unit_test.h"

enum { SEEDS = 400 / LOOP_SHARE, GAP_SAMPLES = 4 };

struct run {
    uint64_t random;
    uint64_t interval_ns;
    uint64_t now_ns;
    double main_cores, descendants_cores;
    double main_ns, descendants_ns;
    uint64_t read_job_ns, read_main_ns; /* last values; they never decrease */
    uint64_t host_ns, read_host_ns;
    struct cpu_split parts; /* main and descendants, as in the last sample */
    uint64_t read_bytes, disk_bytes, missed_ns;
    size_t cpu_gap, io_gap; /* number of following samples without these values */
    struct summary summary;
    struct series series;
    struct record record;
    struct replay *replay;
};

/* ---- a run ------------------------------------------------------------------ */

static double draw(struct run *run)
{
    run->random = run->random * 6364136223846793005u + 1442695040888963407u;
    return (double)(run->random >> 11) / 0x1p53;
}

static bool happens(struct run *run, double probability)
{
    return draw(run) < probability;
}

static void change_load(struct run *run)
{
    run->main_cores = happens(run, 0.3) ? 0 : draw(run);
    run->descendants_cores = happens(run, 0.3) ? 0 : 16 * draw(run);
    run->read_bytes += happens(run, 0.5) ? 0 : (uint64_t)(1e9 * draw(run));
    run->disk_bytes += (uint64_t)(1e9 * draw(run));
    if (happens(run, 0.01))
        run->disk_bytes = (uint64_t)(100 * draw(run));
    if (happens(run, 0.01))
        run->missed_ns += (uint64_t)(1e9 * draw(run));
    if (run->cpu_gap == 0 && happens(run, 0.05))
        run->cpu_gap = 1 + (size_t)(GAP_SAMPLES * draw(run));
    if (run->io_gap == 0 && happens(run, 0.05))
        run->io_gap = 1 + (size_t)(GAP_SAMPLES * draw(run));
}

/* Counters are read a little after the sample's time: first the job's, then main's. */
static void read_cpu(struct run *run, struct sample *sample)
{
    uint64_t late_ns = (uint64_t)(0.05 * draw(run) * (double)run->interval_ns);
    double main_late_ns = (double)late_ns + 0.05 * draw(run) * (double)run->interval_ns;
    double job_ns = run->main_ns + run->descendants_ns +
                    (run->main_cores + run->descendants_cores) * (double)late_ns;
    double main_ns = run->main_ns + run->main_cores * main_late_ns;

    raise_to(&run->read_job_ns, (uint64_t)job_ns);
    raise_to(&run->read_main_ns, (uint64_t)main_ns);
    sample->clocks[CLOCK_JOB_CPU] = (struct sample_clock){ late_ns, run->interval_ns / 20 };
    sample->missed_cpu_ns = run->missed_ns;
    sample->value[METRIC_JOB_CPU] = run->read_job_ns;
    cpu_split_set(&run->parts, run->read_job_ns, run->read_main_ns);
    sample->value[METRIC_MAIN_CPU] = run->parts.first_ns;
    sample->value[METRIC_DESCENDANTS_CPU] = run->parts.second_ns;
}

/* The counter advances in ticks, and may be read long after the sample's time. */
static void read_host_cpu(struct run *run, struct sample *sample)
{
    uint64_t late_ns = (uint64_t)((happens(run, 0.1) ? 1 : 0.01) * draw(run) * 50e6);
    uint64_t tick_ns = 10 * NS_PER_MS;

    raise_to(&run->read_host_ns, run->host_ns + 2 * late_ns);
    sample->clocks[CLOCK_HOST_CPU] = (struct sample_clock){ late_ns, 3 * tick_ns };
    sample->value[METRIC_HOST_CPU] = run->read_host_ns / tick_ns * tick_ns;
}

static void read_memory(struct run *run, struct sample *sample)
{
    uint64_t private = (uint64_t)(1e9 * draw(run)), shared = (uint64_t)(1e9 * draw(run));

    sample->value[METRIC_JOB_RSS] = private + shared;
    if (happens(run, 0.1))
        return;
    sample->value[METRIC_JOB_PRIVATE] = private;
    sample->value[METRIC_JOB_SHARED] = shared;
}

static void add_row(struct run *run, const struct sample *sample)
{
    struct replay_row row;

    replay_row_clear(&row);
    row.unix_seconds = 1.7e9 + (double)sample->elapsed_ns / 1e9;
    row.elapsed_seconds = (double)sample->elapsed_ns / 1e9;
    for (int i = 0; i < METRIC_COUNT; i++)
        row.value[i] = metric_value((enum metric)i, sample->value[i]);
    replay_add(run->replay, &row);
}

static void add_sample(struct run *run)
{
    const struct series_gpus no_gpus = { 0 };
    struct sample sample;

    sample_clear(&sample);
    sample.elapsed_ns = run->now_ns;
    sample.value[METRIC_HOST_DISK_READ] = run->disk_bytes;
    read_host_cpu(run, &sample);
    if (run->cpu_gap == 0)
        read_cpu(run, &sample);
    if (run->io_gap == 0)
        sample.value[METRIC_JOB_READ] = run->read_bytes;
    read_memory(run, &sample);
    summary_add(&run->summary, &sample);
    series_append(&run->series, &sample, &run->summary, &no_gpus);
    add_row(run, &sample);
    run->cpu_gap -= run->cpu_gap > 0;
    run->io_gap -= run->io_gap > 0;
}

static void advance(struct run *run, double intervals)
{
    uint64_t span_ns = (uint64_t)(intervals * (double)run->interval_ns);

    run->now_ns += span_ns;
    run->host_ns += happens(run, 0.5) ? span_ns : 2 * span_ns;
    run->main_ns += run->main_cores * (double)span_ns;
    run->descendants_ns += run->descendants_cores * (double)span_ns;
    change_load(run);
}

static void begin(struct run *run, uint64_t seed)
{
    static const uint64_t intervals_ns[] = { 10 * NS_PER_MS, 100 * NS_PER_MS, NS_PER_SECOND };

    *run = (struct run){ .random = seed, .interval_ns = intervals_ns[seed % 3] };
    (void)draw(run);
    run->disk_bytes = 123456789;
    run->host_ns = 1234567890;
    summary_init(&run->summary, run->interval_ns);
    assert_int_equal(series_init(&run->series, seed % 2 == 0 ? 8 : 64), 0);
    record_init(&run->record);
    run->replay = replay_new();
    assert_non_null(run->replay);
}

static void make(struct run *run, uint64_t seed)
{
    size_t count;

    begin(run, seed);
    count = 1 + (size_t)(draw(run) * (seed % 5 == 0 ? 1000 : 12));
    add_sample(run);
    for (size_t i = 0; i < count; i++) {
        advance(run, happens(run, 0.1) ? draw(run) : 1 + 0.1 * draw(run));
        add_sample(run);
    }
    advance(run, draw(run)); /* the last interval is incomplete */
    if (!happens(run, 0.1))
        run->cpu_gap = run->io_gap = 0;
    add_sample(run);
    fill_curve(&run->record, &run->series, &run->summary);
}

static void end(struct run *run)
{
    series_done(&run->series);
    record_done(&run->record);
    replay_free(run->replay);
}

/* ---- properties ------------------------------------------------------------- */

static const enum metric counters[] = { METRIC_MAIN_CPU, METRIC_DESCENDANTS_CPU, METRIC_JOB_CPU,
                                        METRIC_JOB_READ, METRIC_HOST_DISK_READ };

static const struct curve_column *find(const struct record_curve *curve, enum metric metric)
{
    return curve_find(curve, metric_row(metric)->published.name);
}

static double integral(const struct record_curve *curve, const struct curve_column *column)
{
    double sum = 0;

    for (size_t i = 0; i < curve->count; i++) {
        if (!isnan(column->mean[i]))
            sum += (double)column->mean[i] * (curve->seconds[i] - curve_start(curve, i));
    }
    return sum;
}

static double highest(const struct record_curve *curve, const struct curve_column *column)
{
    double max = nan("");

    for (size_t i = 0; i < curve->count; i++) {
        if (!((double)column->high[i] <= max) && !isnan(column->high[i]))
            max = (double)column->high[i];
    }
    return max;
}

static void assert_near(double value, double expected, double tolerance, uint64_t seed)
{
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("seed %d: %.9g instead of %.9g", (int)seed, value, expected);
}

/* Points are in order and end at the last sample. */
static void check_times(const struct record_curve *curve, double end, uint64_t seed)
{
    assert_true(curve->count > 0);
    for (size_t i = 1; i < curve->count; i++)
        assert_true(curve->seconds[i] >= curve->seconds[i - 1]);
    assert_near(curve->seconds[curve->count - 1], end, 1e-4, seed);
}

/* `error`: relative error of each value; `seconds_error`: error of the start and end of each
 * point. */
static void check_rates(const struct record_curve *curve, const struct summary *summary,
                        double error, double seconds_error, uint64_t seed)
{
    for (size_t i = 0; i < ARRAY_SIZE(counters); i++) {
        const struct tally *tally = &summary->tally[counters[i]];
        const struct curve_column *column = find(curve, counters[i]);
        double total = metric_value(counters[i], tally->last - tally->first);
        double peak = summary_max_rate(summary, counters[i]);

        if (!column) { /* the value was known at most once */
            assert_true(!is_known(tally->first) || tally->start_ns == tally->end_ns);
            continue;
        }
        assert_near(highest(curve, column), peak, error * peak, seed);
        assert_near(integral(curve, column), total,
                    error * total + 2 * seconds_error * peak * (double)curve->count, seed);
    }
}

/* The machine's CPU time is accurate only to a few ticks, so the expected increase is
 * computed from the mean rate, which is unknown if there was no tick. */
static void check_host_cpu(const struct record_curve *curve, const struct summary *summary,
                           double error, double seconds_error, uint64_t seed)
{
    double known = figure_mean_rate(METRIC_HOST_CPU, summary).value;
    double mean = isnan(known) ? 0 : known;
    double seconds = (double)(summary->ended_ns - summary->started_ns) / 1e9;
    double peak = summary_max_rate(summary, METRIC_HOST_CPU);

    assert_near(integral(curve, find(curve, METRIC_HOST_CPU)), mean * seconds,
                error * mean * seconds + 2 * seconds_error * peak * (double)curve->count, seed);
}

static void check_sum(const struct record_curve *curve, enum metric first, enum metric second,
                      enum metric whole, double error, uint64_t seed)
{
    const struct curve_column *a = find(curve, first), *b = find(curve, second),
                              *sum = find(curve, whole);

    for (size_t i = 0; a && b && i < curve->count; i++) {
        double parts = (double)a->mean[i] + (double)b->mean[i], all = (double)sum->mean[i];

        if (isfinite(parts))
            assert_near(parts, all, error * all, seed);
        else
            assert_true(!isfinite(a->mean[i]) && !isfinite(b->mean[i]));
    }
}

static void check_order(const struct record_curve *curve)
{
    for (size_t k = 0; k < curve->column_count; k++) {
        const struct curve_column *column = &curve->columns[k];

        for (size_t i = 0; i < curve->count; i++) {
            if (isfinite(column->high[i]))
                assert_true(column->low[i] >= 0 && column->low[i] <= column->mean[i] &&
                            (double)column->mean[i] <= 1.00001 * (double)column->high[i]);
        }
    }
}

static void check(const struct record_curve *curve, const struct run *run,
                  const struct summary *summary, double error, double seconds_error,
                  uint64_t seed)
{
    check_times(curve, (double)run->now_ns / 1e9, seed);
    check_rates(curve, summary, error, seconds_error, seed);
    check_host_cpu(curve, summary, error, seconds_error, seed);
    check_sum(curve, METRIC_MAIN_CPU, METRIC_DESCENDANTS_CPU, METRIC_JOB_CPU, error, seed);
    check_sum(curve, METRIC_JOB_PRIVATE, METRIC_JOB_SHARED, METRIC_JOB_RSS, error, seed);
    check_order(curve);
}

TEST(the_integral_of_a_curve_equals_the_counter)
{
    struct run run;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        make(&run, seed);
        check(&run.record.curve, &run, &run.summary, 1e-5, 0, seed);
        end(&run);
    }
}

static void pass_through_json(const struct record *from, size_t max_points, struct record *ret)
{
    struct buffer out = { 0 };
    struct json_writer json = { .out = &out, .style = &json_compact };
    json_t *loaded;

    json_begin(&json, NULL, '{');
    curve_add_json(&json, &from->curve, max_points);
    json_end(&json);
    loaded = json_loads(out.text, 0, NULL);
    assert_non_null(loaded);
    assert_int_equal(load_curve(ret, json_object_get(loaded, "curve"), NULL), 0);
    json_decref(loaded);
    buffer_done(&out);
}

TEST(a_reduced_curve_in_json_keeps_the_integral)
{
    struct run run;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct record loaded;

        make(&run, seed);
        record_init(&loaded);
        pass_through_json(&run.record, 4 + seed % 30, &loaded);
        check(&loaded.curve, &run, &run.summary, 1.1e-3, 1e-4, seed);
        record_done(&loaded);
        end(&run);
    }
}

/* Rows contain neither reading times nor missed usage, so totals are computed from the rows
 * alone. */
TEST(a_curve_made_from_rows_keeps_the_integral)
{
    struct run run;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        const struct curve_column *column;
        struct record replayed;
        double total;

        make(&run, seed);
        assert_int_equal(replay_finish(run.replay, NULL, 0, &replayed), 0);
        check_times(&replayed.curve, (double)run.now_ns / 1e9, seed);
        check_sum(&replayed.curve, METRIC_MAIN_CPU, METRIC_DESCENDANTS_CPU, METRIC_JOB_CPU,
                  1e-5, seed);
        check_sum(&replayed.curve, METRIC_JOB_PRIVATE, METRIC_JOB_SHARED, METRIC_JOB_RSS, 1e-5,
                  seed);
        check_order(&replayed.curve);
        column = find(&replayed.curve, METRIC_JOB_CPU);
        total = record_value(&replayed, "cpu.total_seconds");
        if (column && !isnan(total)) {
            assert_near(integral(&replayed.curve, column), total, 1e-5 * total, seed);
            assert_near(record_value(&replayed, "cpu.max_cores"),
                        highest(&replayed.curve, column),
                        1e-5 * highest(&replayed.curve, column), seed);
        }
        record_done(&replayed);
        end(&run);
    }
}
