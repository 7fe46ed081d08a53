/* SPDX-License-Identifier: Apache-2.0 */
/* Properties that hold for the needs of any run: tests 10,000 generated runs, alone and
 * combined. */
#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "needs_of_run.h"
#include "output/format.h"
#include "record/load.h"
#include "text/number.h"
#include "unit_test.h"

enum { RUNS = 10000 / LOOP_SHARE, TOGETHER_MAX = 40, POINTS_MAX = 600, STORED_EVERY = 25 };

static const double INEXACT = 1e-9; /* rounding error of sums of doubles */

/* ---- runs ----------------------------------------------------------------- */

/* Fixed seed. */
static uint64_t random_state = 0x9e3779b97f4a7c15;

static double random_to(double end)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (double)(random_state >> 11) / 0x1p53 * end;
}

static bool one_in(double count)
{
    return random_to(count) < 1;
}

/* Returns a number from 1 to `end`; each order of magnitude is equally likely. */
static double random_size(double end)
{
    return exp(random_to(log(end)));
}

/* A run, and the true values that the properties use. */
struct made_run {
    struct record record;
    double margin;
    double elapsed, cpu_seconds;
    double gpus_with_memory;
    size_t points;
    double seconds[POINTS_MAX]; /* the length of each point */
    float cores[POINTS_MAX];
};

static double random_cores(double most)
{
    if (one_in(3))
        return 0;
    if (one_in(3))
        return 1 + random_to(0.06); /* a thread and its helpers */
    return random_to(most);
}

/* Makes a curve with the precision of a JSON report. */
static void make_curve(struct made_run *run, size_t points)
{
    struct record_curve *curve = &run->record.curve;
    double most = random_size(128), end = 0;

    curve->seconds = record_alloc(&run->record, points, sizeof(double));
    curve->columns = record_alloc(&run->record, 1, sizeof(*curve->columns));
    assert_non_null(curve->seconds);
    assert_non_null(curve->columns);
    for (size_t i = 0; i < points; i++) {
        end += (1 + floor(random_to(1e4))) / 1e3;
        run->seconds[i] = end - (i > 0 ? curve->seconds[i - 1] : 0);
        curve->seconds[i] = end;
        run->cores[i] = (float)rounded_value(random_cores(most));
        run->cpu_seconds += run->seconds[i] * (double)run->cores[i];
    }
    curve->columns[0] = (struct curve_column){ .name = "job_cpu_seconds",
                                               .is_rate = true,
                                               .high = run->cores,
                                               .low = run->cores,
                                               .mean = run->cores };
    curve->count = run->points = points;
    curve->samples = points;
    curve->column_count = 1;
    run->elapsed = end;
}

static void make_gpus(struct made_run *run)
{
    size_t count = (size_t)random_to(5);
    double total = 0;

    for (size_t i = 0; i < count; i++) {
        double bytes = one_in(2) ? random_size(1e11) : 0;

        fake_run_add_gpu(&run->record, "nvidia", bytes);
        run->gpus_with_memory += bytes > 0;
        total += bytes;
    }
    if (count == 0)
        return;
    fake_run_set(&run->record, "gpu.memory.combined_bytes", total);
    if (one_in(4))
        return; /* the utilization of these GPUs is unknown */
    fake_run_set(&run->record, "gpu.job_utilization.max_gpus", random_to((double)count));
    fake_run_set(&run->record, "gpu.job_utilization.mean_gpus", random_to(1));
}

/* Makes a run that fails, runs out of memory, is throttled, or has unknown figures. */
static void make_trouble(struct made_run *run)
{
    struct record *record = &run->record;

    if (one_in(10))
        record->exit_code = 1;
    if (one_in(10)) {
        fake_run_set(record, "events.oom_kills", 1);
        record->memory_limit_bytes = (uint64_t)random_size(1e12);
    }
    if (one_in(10)) {
        record->cpus_limit = 1 + random_to(4);
        fake_run_set(record, "events.throttled_seconds", random_to(run->elapsed));
    }
    if (one_in(10))
        *fake_run_figure(record, PEAK) = record_unknown_figure("not measured");
    if (one_in(20))
        *fake_run_figure(record, "cpu.mean_cores") = record_unknown_figure("not measured");
}

/* Makes a random run; its curve, if it has one, has at most `points_max` points. */
static void make_run(struct made_run *run, double margin, size_t points_max)
{
    *run = (struct made_run){ .margin = margin };
    fake_run_init(&run->record);
    if (one_in(10)) {
        run->elapsed = random_size(1e6);
        run->cpu_seconds = run->elapsed * random_cores(random_size(128));
    } else {
        make_curve(run, 1 + (size_t)random_to((double)points_max));
    }
    run->cpu_seconds *= 0.98 + random_to(0.04); /* counted separately from the curve */
    run->record.elapsed_seconds = run->elapsed;
    fake_run_set(&run->record, "cpu.total_seconds", run->cpu_seconds);
    fake_run_set(&run->record, "cpu.mean_cores", run->cpu_seconds / run->elapsed);
    fake_run_set(&run->record, "cpu.threads.combined", random_size(100));
    fake_run_set(&run->record, PEAK, random_size(1e12));
    make_gpus(run);
    make_trouble(run);
}

/* ---- one run -------------------------------------------------------------- */

static double expected_seconds(const struct made_run *run, double cpus)
{
    double seconds = run->points > 0 ? 0 : run->elapsed;

    for (size_t i = 0; i < run->points; i++)
        seconds += run->seconds[i] * fmax(1, (double)run->cores[i] / cpus);
    return fmax(seconds, run->cpu_seconds / cpus);
}

static void assert_request_suffices(const struct made_run *run, double cpus, double seconds)
{
    double used = run->margin * run->cpu_seconds;

    if (cpus * seconds < used * (1 - INEXACT))
        fail_msg("%g CPUs for %g s, but %g CPU seconds", cpus, seconds, used);
}

static void assert_choices(const struct made_run *run, const struct needs *needs)
{
    size_t defaults = 0;

    assert_in_range(needs->choice_count, 1, ARRAY_SIZE(needs->choices));
    for (size_t i = 0; i < needs->choice_count; i++) {
        const struct need_choice *choice = &needs->choices[i];

        assert_request_suffices(run, choice->cpus, choice->seconds);
        defaults +=
            is_value(&needs->cpus, choice->cpus) && is_value(&needs->seconds, choice->seconds);
        assert_true(i == 0 || choice->cpus > needs->choices[i - 1].cpus);
        assert_true(i == 0 || choice->seconds < needs->choices[i - 1].seconds);
    }
    assert_int_equal(defaults, 1);
}

static void assert_one_run(const struct made_run *run, const struct needs *needs)
{
    double mean = run->cpu_seconds / run->elapsed, cpus = needs->cpus.value;

    if (!isnan(needs->gpus.value))
        assert_true(needs->gpus.value >= run->gpus_with_memory);
    else
        assert_true(run->gpus_with_memory < 1);
    assert_true(needs->seconds.value >= run->margin * run->elapsed * (1 - INEXACT));
    if (isnan(cpus))
        return;
    assert_choices(run, needs);
    assert_true(cpus >= mean - 0.05 - INEXACT);
    assert_true(expected_seconds(run, cpus) <= 1.1 * run->elapsed * (1 + INEXACT));
    if (cpus > 1 && cpus - 1 >= mean - 0.05 && !needs->cpus.is_guess)
        assert_true(expected_seconds(run, cpus - 1) >= 1.1 * run->elapsed * (1 - INEXACT));
}

TEST(needs_of_a_run_cover_its_usage)
{
    static struct made_run run;

    for (size_t i = 0; i < RUNS; i++) {
        struct needs needs;

        make_run(&run, random_size(10), CURVE_JSON_POINTS);
        needs_of(&run.record, run.margin, &needs);
        assert_one_run(&run, &needs);
        record_done(&run.record);
    }
}

TEST(needs_of_a_run_are_the_same_after_loading)
{
    static struct made_run run;

    for (size_t i = 0; i < RUNS / STORED_EVERY; i++) {
        struct needs needs, stored;
        struct buffer json = { 0 };
        struct record record;

        make_run(&run, NEEDS_MARGIN, POINTS_MAX);
        needs = find_needs(&run.record);
        json_write(&run.record, NULL, &json);
        assert_int_equal(record_parse(json.text, json.length, &record, NULL, NULL), 0);
        stored = find_needs(&record);
        for (size_t j = 0; j < NEEDS_FIELDS; j++)
            assert_string_equal(needs.fields[j].why, stored.fields[j].why);
        assert_int_equal(needs.choice_count, stored.choice_count);
        assert_string_equal(needs.note, stored.note);
        record_done(&record);
        record_done(&run.record);
        buffer_done(&json);
    }
}

/* ---- many runs ------------------------------------------------------------ */

struct together {
    size_t count;
    double quantile, margin;
    double cpu_seconds[TOGETHER_MAX];
    struct needs runs[TOGETHER_MAX], list[TOGETHER_MAX], needs;
};

static void combine(struct together *all)
{
    static struct made_run run;

    for (size_t i = 0; i < all->count; i++) {
        make_run(&run, all->margin, 8);
        needs_of(&run.record, all->margin, &all->runs[i]);
        all->cpu_seconds[i] = run.cpu_seconds;
        record_done(&run.record);
    }
    memcpy(all->list, all->runs, sizeof(all->list));
    assert_int_equal(needs_combine(all->list, all->count, all->quantile, &all->needs), 0);
    assert_int_equal(all->needs.runs, all->count);
}

/* The combined needs cover the needs of each run, with two exceptions: a larger run replaces
 * a guess, and a run may take less time on more CPUs. */
static void assert_largest(const struct together *all)
{
    assert_int_equal(all->needs.would_fail_runs, 0);
    for (size_t i = 0; i < all->count; i++) {
        for (size_t j = 0; j < NEEDS_FIELDS; j++) {
            const struct need *need = &all->needs.fields[j];
            const struct need *run = &all->runs[i].fields[j];

            bool may_be_less =
                run->is_guess ||
                (j == NEEDS_SECONDS && all->needs.cpus.value > all->runs[i].cpus.value);

            assert_true(isnan(run->value) || need->value >= run->value ||
                        (may_be_less && need->value >= run->used_max * (1 - INEXACT)));
        }
        if (!isnan(all->runs[i].cpus.value))
            assert_true(all->needs.cpus.value * all->needs.seconds.value >=
                        all->margin * all->cpu_seconds[i] * (1 - INEXACT));
    }
}

/* At most 1 - quantile of the runs use more than the request. */
static void assert_few_fail(const struct together *all)
{
    static const size_t deadly[] = { NEEDS_MEMORY, NEEDS_GPUS, NEEDS_VRAM, NEEDS_SECONDS };
    double allowed = (1 - all->quantile) * (double)all->count + INEXACT;
    size_t most = 0, sum = 0, short_of_cpu = 0;

    for (size_t j = 0; j < ARRAY_SIZE(deadly); j++) {
        size_t above = 0;

        for (size_t i = 0; i < all->count; i++)
            above += all->list[i].fields[deadly[j]].basis > all->needs.fields[deadly[j]].value;
        assert_true((double)above <= allowed);
        most = above > most ? above : most;
        sum += above;
    }
    for (size_t i = 0; i < all->count; i++)
        short_of_cpu += !isnan(all->runs[i].cpus.value) &&
                        all->needs.cpus.value * all->needs.seconds.value <
                            all->margin * all->cpu_seconds[i] * (1 - INEXACT);
    assert_true((double)short_of_cpu <= allowed);
    assert_true(all->needs.would_fail_runs >= most);
    assert_true((double)all->needs.would_fail_runs <= 4 * allowed);
    assert_true(sum == 0 || all->needs.would_fail_runs > 0);
}

TEST(needs_of_many_runs_cover_the_usage_of_each)
{
    static struct together all;
    size_t failing = 0;

    for (size_t i = 0; i < RUNS; i += all.count) {
        all.count = 1 + (size_t)random_to(TOGETHER_MAX);
        all.margin = one_in(4) ? 1 : random_size(10);
        all.quantile = one_in(2) ? 1 : 0.01 + random_to(0.99);
        combine(&all);
        if (all.quantile < 1)
            assert_few_fail(&all);
        else
            assert_largest(&all);
        failing += all.needs.would_fail_runs;
    }
    assert_true(failing > 0); /* proves that assert_few_fail() has seen failing runs */
}
