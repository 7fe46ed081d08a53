/* SPDX-License-Identifier: Apache-2.0 */
/*
 * needs.c - the formulas.
 *
 * CPUs: the mean number of cores, rounded up, or more if these would lengthen the run by more
 * than a tenth. Memory and GPU memory: the peak times the margin, rounded up to a step. GPUs:
 * the most that were busy at once, rounded to the nearest number, but no fewer than the GPUs
 * that held memory. Time: the expected time with these CPUs, times the margin, in whole
 * minutes.
 */
#include "recommend/needs.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "base/cleanup.h"
#include "base/compiler.h"
#include "record/group.h"
#include "text/find.h"
#include "text/number.h"

/* If a run hit a limit, this many times the limit is recommended. */
static const double RETRY = 2;
/* A limit counts as reached if usage is at least this share of it. */
static const double NEAR = 0.95;
/* The elapsed time may grow by this factor if fewer CPUs are requested. */
static const double SLOWDOWN_MAX = 1.1;
/* CPUs used for less than this share of the elapsed time do not count. */
static const double BUSY_SHARE = 0.05;
/* Helper threads that use no more than this fraction of a CPU get no CPU of their own. */
static const double HELPER_THREADS = 0.05;
/* A run is starved if it waited for a CPU for at least this share of the elapsed time. */
static const double STARVED_SHARE = 0.1;
static const double SHORT_SECONDS = 10;
static const double MIB_BYTES = 1048576, GIB_BYTES = 1073741824;

const char *const needs_keys[NEEDS_FIELDS] = { "cpus", "memory_bytes", "gpus", "vram_bytes",
                                               "seconds" };

double needs_round_memory(double bytes)
{
    static const double steps_mib[] = { 128, 256, 512, 1024, 2048 };

    for (size_t i = 0; i < ARRAY_SIZE(steps_mib); i++) {
        if (bytes <= steps_mib[i] * MIB_BYTES)
            return steps_mib[i] * MIB_BYTES;
    }
    return ceil(bytes / GIB_BYTES) * GIB_BYTES; /* NaN stays NaN */
}

/* ---- one need ------------------------------------------------------------- */

static void PRINTF_LIKE(2, 3) add_reason(struct need *need, const char *fmt, ...)
{
    size_t used = strlen(need->why);
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(need->why + used, sizeof(need->why) - used, fmt, args); /* may truncate */
    va_end(args);
}

static struct need unknown_need(const char *reason)
{
    struct need need = { .value = (double)NAN,
                         .used_min = (double)NAN,
                         .used_max = (double)NAN,
                         .basis = (double)NAN };

    add_reason(&need, "%s", reason ? reason : "not known");
    return need;
}

/* Makes a need without a request: the caller sets the value and the explanation. */
static struct need need_of(double used)
{
    return (struct need){
        .value = (double)NAN, .known_runs = 1, .used_min = used, .used_max = used, .basis = used
    };
}

/* Rejects numbers that no run can have: a report from a file may contain any number. */
static bool is_plausible(double value)
{
    return value >= 0 && value < 0x1p62;
}

static double plausible_or_0(double value)
{
    return is_plausible(value) ? value : 0;
}

static const char *reason_of(const struct spoor_figure *figure)
{
    return isnan(figure->value) ? figure->reason : "the report has an impossible value";
}

/* ---- CPUs ----------------------------------------------------------------- */

/* The CPUs that a run used over time: the curve as in a JSON report, so that a stored report
 * leads to the same needs as the run itself. */
struct cpu_use {
    double elapsed, cpu_seconds, most_cores;
    double rest; /* seconds that the curve does not cover */
    size_t count;
    double seconds[CURVE_JSON_POINTS], cores[CURVE_JSON_POINTS];
};

static struct cpu_use cpu_use_of(const struct record *record)
{
    const struct record_curve *curve = &record->curve;
    const struct curve_column *column = curve_find(curve, "job_cpu_seconds");
    double total = record_value(record, "cpu.total_seconds");
    double mean = plausible_or_0(record_value(record, "cpu.mean_cores"));
    size_t step = curve_step(curve, CURVE_JSON_POINTS);
    struct cpu_use use = { .elapsed = plausible_or_0(record->elapsed_seconds) };
    double before = 0;

    use.cpu_seconds = is_plausible(total) ? total : mean * use.elapsed;
    use.most_cores = use.elapsed > 0 ? use.cpu_seconds / use.elapsed : 0;
    for (size_t i = 0; column && i < curve->count; i += step) {
        size_t end = i + step < curve->count ? i + step : curve->count;
        double seconds = curve_rounded_seconds(curve, end - 1);
        double cores = rounded_value(curve_get(curve, column, i, end).mean);

        use.seconds[use.count] = seconds - before;
        use.cores[use.count] = plausible_or_0(cores);
        use.most_cores = fmax(use.most_cores, use.cores[use.count++]);
        before = seconds;
    }
    use.rest = fmax(0, use.elapsed - before);
    return use;
}

/* Returns the time that the run takes with `cpus` CPUs: work that needs more of them at once is
 * spread out. */
static double expected_seconds(const struct cpu_use *use, double cpus)
{
    double seconds = use->rest;

    for (size_t i = 0; i < use->count; i++)
        seconds += use->seconds[i] * fmax(1, use->cores[i] / cpus);
    return fmax(seconds, use->cpu_seconds / cpus);
}

static double round_cpus(double cores)
{
    static const double inexact = 1e-9; /* rounding error of the subtraction */

    return fmax(1, ceil(cores - HELPER_THREADS - inexact));
}

static double seconds_above(const struct cpu_use *use, double cpus)
{
    double seconds = 0;

    for (size_t i = 0; i < use->count; i++)
        seconds += round_cpus(use->cores[i]) > cpus ? use->seconds[i] : 0;
    return seconds;
}

/* Returns the fewest CPUs, at least `few`, with which the time is below the limit. More
 * CPUs never increase the time. */
static double fewest_cpus(const struct cpu_use *use, double few,
                          double (*seconds)(const struct cpu_use *use, double cpus),
                          double limit)
{
    static const double whole_max = 0x1p52; /* above this, there is no next whole number */
    double enough = use->elapsed > 0 ? fmin(ceil(use->most_cores), whole_max) : few;

    while (few < enough) {
        double middle = floor((few + enough) / 2);

        if (seconds(use, middle) < limit)
            enough = middle;
        else
            few = middle + 1;
    }
    return few;
}

/* Any quota throttles bursts, so a run needs more only if it was throttled for at least a tenth
 * of its time. */
static bool is_throttled(const struct record *record)
{
    static const double notable = 0.1;

    return record->cpus_limit > 0 && record_value(record, "events.throttled_seconds") >=
                                         notable * record->elapsed_seconds;
}

static bool has_used_all_cpus(const struct record *record, double mean)
{
    return mean >= NEAR * record->cpus_limit &&
           record_value(record, "cpu.threads.combined") > record->cpus_limit;
}

static void explain_cpus(const struct record *record, double mean, struct need *need)
{
    double peak = record_value(record, "cpu.max_cores");

    add_reason(need, "%s used on average", number_short(mean).text);
    if (is_plausible(peak))
        add_reason(need, ", %s at peak", number_short(peak).text);
    if (need->value > round_cpus(mean))
        add_reason(need, "; the fewest that lengthen the run by no more than 10 %%");
    else
        add_reason(need, "; %s",
                   mean < 1             ? "at least 1"
                   : need->value < mean ? "the mean, rounded"
                                        : "the mean, rounded up");
    if (has_used_all_cpus(record, mean))
        add_reason(need, "; the run used all that it was allowed: more may make it faster");
}

/* Finds the number of CPUs. `ret_other`: an alternative to it; equal to it if there is no
 * alternative. */
static struct need find_cpus(const struct record *record, const struct cpu_use *use,
                             double *ret_other)
{
    struct spoor_figure mean = record_find(record->figures, "cpu.mean_cores");
    double threads = record_value(record, "cpu.threads.combined");
    double limit = record->cpus_limit;
    double wanted = ceil(fmin(RETRY * limit, threads)); /* fmin() ignores an unknown value */
    double few = round_cpus(mean.value);
    struct need need;

    if (!is_plausible(mean.value))
        return unknown_need(reason_of(&mean));
    need = need_of(mean.value);
    need.value = fewest_cpus(use, few, expected_seconds, SLOWDOWN_MAX * use->elapsed);
    need.basis = need.value;
    *ret_other = few < need.value
                     ? few
                     : fewest_cpus(use, few, seconds_above, BUSY_SHARE * use->elapsed);
    if (is_throttled(record) && is_plausible(wanted) && wanted > limit) {
        need.value = *ret_other = fmax(need.value, wanted);
        need.is_guess = true;
        add_reason(&need,
                   "a guess: a quota of %s CPUs throttled the run for %s, so what it needs is "
                   "unknown; "
                   "twice the quota, but no more than its threads",
                   number_short(limit).text,
                   number_duration(record_value(record, "events.throttled_seconds")).text);
        return need;
    }
    explain_cpus(record, mean.value, &need);
    return need;
}

/* ---- memory --------------------------------------------------------------- */

bool needs_is_out_of_memory(const struct record *record)
{
    return FIND_IN_LIST(record->warnings, record->warning_count, code, "oom") ||
           record_value(record, "events.oom_kills") > 0;
}

/* Returns the size of files in memory (tmpfs) that no process maps: the kernel cannot reclaim
 * them either. */
static double unmapped_bytes(const struct record *record, double peak)
{
    /* Smaller differences are inaccuracies of the kernel's counters. */
    static const double notable = 0.05, least = 8e6;
    double anon = plausible_or_0(record_value(record, "memory.anon_peak_bytes"));

    return anon > (1 + notable) * peak && anon > peak + least ? anon - peak : 0;
}

/* Returns the upper bound of the peak if it is worth showing, otherwise the peak: a bound of
 * twice the peak is of little use. The bound is shown but not used: it assumes that all
 * processes had their peaks at once, and is usually far too high. */
static double upper_bound(const struct spoor_figure *peak)
{
    return !peak->is_exact && peak->high > peak->value && peak->high < 2 * peak->value
               ? peak->high
               : peak->value;
}

/* Returns "twice" or "N times": the factor for the limit of a run that hit it. */
static struct number times_text(double margin)
{
    struct number number = { "twice" };

    if (margin > RETRY)
        (void)snprintf(number.text, sizeof(number.text), "%.20s times",
                       decimal_number(margin).text);
    return number;
}

static struct need guess_memory(const struct record *record, double used, double margin)
{
    double limit = as_number(record->memory_limit_bytes);
    /* The kill count is 0 if the whole machine ran out of memory. */
    double kills = record_value(record, "events.oom_kills");
    bool has_limit = limit > 0 && (kills > 0 || isnan(kills));
    /* A process that is being killed may still allocate some memory beyond the limit. */
    double had = has_limit && NEAR * used <= limit ? limit : used;
    struct need need = need_of(had);

    need.value = needs_round_memory(fmax(RETRY, margin) * had);
    need.is_guess = true;
    if (has_limit)
        add_reason(
            &need,
            "a guess: the run was killed for lack of memory at its limit of %s, so what it "
            "needs is unknown; %s the %s",
            number_bytes(limit).text, times_text(margin).text, had > limit ? "peak" : "limit");
    else
        add_reason(
            &need,
            "a guess: the run was killed for lack of memory at a peak of %s, so what it needs "
            "is unknown; %s the peak",
            number_bytes(had).text, times_text(margin).text);
    add_reason(&need, ", rounded up to the next step");
    return need;
}

static void add_memory_notes(const struct record *record, double used, struct need *need)
{
    static const double notable = 0.25; /* share of the memory */
    double limit = as_number(record->memory_limit_bytes);
    double cache = record_value(record, "memory.page_cache_peak_bytes");
    double reread = record_refaulted_bytes(record);

    if (limit > 0 && used >= NEAR * limit && !(record_charged_bytes(record) < NEAR * limit)) {
        need->is_guess = true;
        add_reason(need, "; the run reached its limit of %s: it may need more",
                   number_bytes(limit).text);
    }
    if (is_plausible(cache) && cache >= notable * used)
        add_reason(need, "; page cache, up to %s, is not counted: the kernel can reclaim it",
                   number_bytes(cache).text);
    if (limit > 0 && record_charged_bytes(record) >= NEAR * limit && !isnan(reread))
        add_reason(
            need,
            "; the run re-read %s that did not fit in memory: with more, it may be faster",
            number_bytes(reread).text);
}

static struct need find_memory(const struct record *record, double margin)
{
    struct spoor_figure peak = record_find(record->figures, "memory.combined.total_rss_bytes");
    double swapped = plausible_or_0(record_value(record, "memory.swap_peak_bytes"));
    double unmapped = unmapped_bytes(record, peak.value);
    double others = swapped + unmapped;
    double used, high;
    struct need need;

    if (needs_is_out_of_memory(record))
        return guess_memory(record, plausible_or_0(peak.value) + others, margin);
    if (!is_plausible(peak.value))
        return unknown_need(reason_of(&peak));
    used = peak.value + others;
    high = upper_bound(&peak) + others;
    need = need_of(used);
    need.value = needs_round_memory(margin * used);
    add_reason(&need, "peak %s", number_bytes(peak.value).text);
    if (unmapped > 0)
        add_reason(&need, " and %s of files in memory", number_bytes(unmapped).text);
    if (swapped > 0)
        add_reason(&need, " and %s swapped out", number_bytes(swapped).text);
    if (high > used)
        add_reason(&need, ", at most %s", number_bytes(high).text);
    else
        add_reason(&need, ", %s", peak.is_exact && others <= 0 ? "exact" : "sampled");
    add_reason(&need, ", times %s, rounded up to the next step", decimal_number(margin).text);
    if (high > need.value)
        add_reason(&need, "; a peak between samples may have been higher than that");
    add_memory_notes(record, used, &need);
    return need;
}

/* ---- GPUs ----------------------------------------------------------------- */

/* A split GPU and its parts, which follow it in the list, share the same memory: if a part held
 * memory, the parts are counted instead of the GPU. */
static double count_gpus_with_memory(const struct record *record)
{
    bool is_counted = false; /* the whole GPU of the current parts was counted */
    size_t count = 0;

    for (size_t i = 0; i < record->gpu_count; i++) {
        const struct record_gpu *gpu = &record->gpus[i];
        bool has_memory = gpu->is_selected && gpu->measures[RECORD_GPU_JOB_MEMORY].value > 0;

        count += has_memory && !(gpu->is_part && is_counted);
        is_counted = gpu->is_part ? is_counted && !has_memory : has_memory;
    }
    return (double)count;
}

static bool has_no_gpu(const struct record *record)
{
    return record->gpu_count == 0 && record->whole_gpus == 0;
}

static struct need none_used(const char *why)
{
    struct need need = need_of(0);

    need.value = 0;
    add_reason(&need, "%s", why);
    return need;
}

static struct need find_gpus(const struct record *record)
{
    struct spoor_figure mean = record_find(record->figures, "gpu.job_utilization.mean_gpus");
    double max = record_value(record, "gpu.job_utilization.max_gpus");
    double memory = record_value(record, "gpu.memory.combined_bytes");
    double holders = count_gpus_with_memory(record);
    struct need need;

    if (has_no_gpu(record))
        return none_used("the machine has no GPU");
    if (!is_plausible(mean.value) && memory > 0) {
        need = need_of(fmax(1, holders));
        need.value = need.basis;
        need.is_guess = true;
        add_reason(&need,
                   "a guess: the run had memory on so many; how busy it kept them is unknown");
        return need;
    }
    if (!is_plausible(mean.value))
        return unknown_need(reason_of(&mean));
    if (mean.value <= 0 && !(memory > 0) && holders < 1)
        return none_used("the run used no GPU");
    need = need_of(fmax(mean.value, plausible_or_0(max)));
    need.value = fmax(fmax(1, rint(need.basis)), holders);
    add_reason(&need, "%s busy at peak, %s on average", number_short(need.basis).text,
               number_short(mean.value).text);
    if (holders > rint(need.basis))
        add_reason(&need, ", %s with memory of the run: as many as that",
                   number_count(holders).text);
    else
        add_reason(&need, "; the peak, rounded, at least 1");
    need.basis = need.value;
    return need;
}

static struct need find_vram(const struct record *record, double margin)
{
    struct spoor_figure peak = record_find(record->figures, "gpu.memory.combined_bytes");
    struct need need;

    if (has_no_gpu(record))
        return none_used("the machine has no GPU");
    if (!is_plausible(peak.value))
        return unknown_need(reason_of(&peak));
    if (peak.value <= 0)
        return none_used("the run used no GPU memory");
    need = need_of(peak.value);
    need.value = needs_round_memory(margin * peak.value);
    add_reason(&need, "peak %s on all GPUs, %s, times %s, rounded up to the next step",
               number_bytes(peak.value).text, peak.is_exact ? "exact" : "sampled",
               decimal_number(margin).text);
    return need;
}

static void find_gpu_vendor(const struct record *record, struct needs *needs)
{
    for (size_t i = 0; i < record->gpu_count && !needs->gpu_vendor[0]; i++) {
        const struct record_gpu *gpu = &record->gpus[i];

        if (gpu->is_selected && gpu->vendor && strlen(gpu->vendor) < sizeof(needs->gpu_vendor))
            (void)snprintf(needs->gpu_vendor, sizeof(needs->gpu_vendor), "%s", gpu->vendor);
    }
}

/* ---- time ----------------------------------------------------------------- */

/* Returns why the elapsed time may be too short for a complete run; NULL: the run is
 * complete. */
static const char *time_caveat_of(const struct record *record)
{
    if (record_has_failed(record))
        return "the run failed: a complete one may take longer";
    if (record->is_still_running)
        return "the run went on after that";
    if (record->is_attached)
        return "the run had started before that";
    return is_known(record->exit_code) ? NULL : "how the run ended is unknown";
}

static double round_time(double seconds)
{
    static const double minute = 60;

    return fmax(1, ceil(seconds / minute)) * minute;
}

static void set_time(struct needs *needs, double expected, double cpus)
{
    static const double notable = 1.005; /* smaller differences are not mentioned */
    double elapsed = needs->seconds.used_max;

    needs->seconds = need_of(elapsed);
    needs->seconds.basis = expected;
    needs->seconds.value = round_time(needs->margin * expected);
    needs->seconds.is_guess = needs->time_caveat;
    add_reason(&needs->seconds, "%s", number_duration(elapsed).text);
    if (expected > notable * elapsed)
        add_reason(&needs->seconds, ", %s with %s CPU%s", number_duration(expected).text,
                   number_count(cpus).text, cpus > 1 ? "s" : "");
    add_reason(&needs->seconds, ", times %s, rounded up to whole minutes",
               decimal_number(needs->margin).text);
    if (needs->time_caveat)
        add_reason(&needs->seconds, "; %s", needs->time_caveat);
}

/* Keeps `other` only if it needs fewer CPUs and takes longer. */
static void set_choices(struct needs *needs, struct need_choice chosen,
                        struct need_choice other)
{
    needs->choice_count = 0;
    if (other.cpus < chosen.cpus && other.seconds > chosen.seconds)
        needs->choices[needs->choice_count++] = other;
    needs->choices[needs->choice_count++] = chosen;
    if (other.cpus > chosen.cpus && other.seconds < chosen.seconds)
        needs->choices[needs->choice_count++] = other;
}

static struct need_choice choice_of(const struct cpu_use *use, double cpus, double margin)
{
    double expected = expected_seconds(use, cpus);

    return (struct need_choice){ cpus, round_time(margin * expected), expected };
}

static void find_cpus_and_time(const struct record *record, struct needs *needs)
{
    const struct cpu_use use = cpu_use_of(record);
    double other = (double)NAN, cpus;

    needs->cpus = find_cpus(record, &use, &other);
    needs->time_caveat = time_caveat_of(record);
    cpus = needs->cpus.value;
    if (!is_plausible(record->elapsed_seconds)) {
        needs->seconds = unknown_need("the report has no elapsed time");
        return;
    }
    needs->seconds = need_of(record->elapsed_seconds);
    if (isnan(cpus)) {
        set_time(needs, use.elapsed, cpus);
        return;
    }
    set_choices(needs, choice_of(&use, cpus, needs->margin),
                choice_of(&use, other, needs->margin));
    set_time(needs, expected_seconds(&use, cpus), cpus);
}

/* ---- the note ------------------------------------------------------------- */

/* Pressure of the whole machine does not count: it may have affected only other processes. */
static bool is_starved(const struct record *record)
{
    struct spoor_figure waited = record_find(record->figures, "pressure.cpu_seconds");

    return waited.value >= STARVED_SHARE * record->elapsed_seconds && waited.source &&
           !source_is_host(waited.source);
}

static enum run_condition condition_of(const struct record *record)
{
    if (needs_is_out_of_memory(record))
        return RUN_OUT_OF_MEMORY;
    if (record_has_failed(record))
        return RUN_FAILED;
    if (record->elapsed_seconds < SHORT_SECONDS)
        return RUN_SHORT;
    return is_starved(record) ? RUN_STARVED : RUN_CONDITIONS;
}

/* Sets the note on the most serious condition of the runs. Short runs do not matter if there
 * are longer ones, nor does a run that ran out of memory if another used more. */
static void set_note(struct needs *needs)
{
    static const char *const sentences[RUN_CONDITIONS] = {
        [RUN_OUT_OF_MEMORY] = "ran out of memory: the recommended memory is a guess.",
        [RUN_FAILED] = "failed: a complete run may need more.",
        [RUN_SHORT] = "took less than 10 s.",
        [RUN_STARVED] = ("waited for a CPU for a tenth of the time or more: with more CPUs, it "
                         "may take less time."),
    };

    for (size_t i = 0; i < RUN_CONDITIONS; i++) {
        bool is_partial = i == RUN_SHORT && needs->partial_runs > 0;

        if (needs->conditions[i] == 0 ||
            (i == RUN_SHORT && needs->conditions[i] < needs->runs) ||
            (i == RUN_OUT_OF_MEMORY && !needs->memory_bytes.is_guess))
            continue;
        if (needs->runs > 1)
            (void)snprintf(needs->note, sizeof(needs->note), "%zu of %zu runs %s",
                           needs->conditions[i], needs->runs,
                           is_partial ? "were tracked for less than 10 s." : sentences[i]);
        else
            (void)snprintf(needs->note, sizeof(needs->note), "The run %s",
                           is_partial ? "was tracked for less than 10 s." : sentences[i]);
        return;
    }
}

/* ---- one run -------------------------------------------------------------- */

static void clear(struct needs *needs, double margin, double quantile)
{
    *needs = (struct needs){ .margin = margin, .quantile = quantile };
    for (size_t i = 0; i < NEEDS_FIELDS; i++)
        needs->fields[i] = unknown_need("no run was given");
}

static void count_nodes(const struct record_group *group, struct needs *needs)
{
    static const uint64_t most = 1 << 20; /* larger values are impossible */

    needs->nodes = group->node_count;
    if (group->nodes_expected <= most && group->nodes_expected > needs->nodes)
        needs->nodes = group->nodes_expected;
    for (size_t i = 0; i < group->node_count; i++) {
        if (group->nodes[i].ranks <= most && group->nodes[i].ranks > needs->node_ranks)
            needs->node_ranks = group->nodes[i].ranks;
    }
}

void needs_of(const struct record *record, double margin, struct needs *ret)
{
    enum run_condition condition;

    clear(ret, margin, 1);
    if (record->system || !record->figures)
        return;
    ret->runs = 1;
    ret->failed_runs = record_has_failed(record);
    ret->partial_runs = record->is_attached || record->is_still_running;
    find_cpus_and_time(record, ret);
    ret->memory_bytes = find_memory(record, margin);
    ret->gpus = find_gpus(record);
    ret->vram_bytes = find_vram(record, margin);
    if (ret->gpus.value > 0)
        find_gpu_vendor(record, ret);
    if (record->group)
        count_nodes(record->group, ret);
    condition = condition_of(record);
    if (condition < RUN_CONDITIONS)
        ret->conditions[condition] = 1;
    set_note(ret);
}

/* ---- many runs ------------------------------------------------------------ */

/* Sorts by usage, so that a run that used more replaces a guess. If the usage is equal, the
 * larger need is last, or the one that is not a guess. */
static int compare_needs(const void *a, const void *b)
{
    const struct need *x = *(const struct need *const *)a, *y = *(const struct need *const *)b;

    if (x->basis < y->basis || x->basis > y->basis)
        return x->basis < y->basis ? -1 : 1;
    if (x->value < y->value || x->value > y->value)
        return x->value < y->value ? -1 : 1;
    return (int)y->is_guess - (int)x->is_guess;
}

/* Returns the need at the quantile, by nearest rank; NULL: it is unknown for all runs.
 * `sorted` is scratch space for `count` pointers. */
static const struct need *pick(struct needs *list, size_t count, size_t field, double quantile,
                               const struct need **sorted)
{
    static const double inexact = 1e-9; /* rounding error of the product */
    size_t known = 0, rank;

    for (size_t i = 0; i < count; i++) {
        if (!isnan(list[i].fields[field].value))
            sorted[known++] = &list[i].fields[field];
    }
    if (known == 0)
        return NULL;
    qsort(sorted, known, sizeof(void *), compare_needs);
    rank = (size_t)fmax(1, ceil(quantile * (double)known - inexact));
    return sorted[rank - 1];
}

/* Sets the need of the run at the quantile, and the range of usage over all runs. */
static void combine_field(struct needs *list, size_t count, size_t field,
                          const struct need **sorted, struct needs *ret)
{
    const struct need *picked = pick(list, count, field, ret->quantile, sorted);
    struct need *need = &ret->fields[field];

    *need = picked ? *picked : list[0].fields[field];
    need->known_runs = 0;
    for (size_t i = 0; i < count; i++) {
        const struct need *run = &list[i].fields[field];

        need->known_runs += run->known_runs;
        /* fmin() ignores an unknown value. */
        need->used_min = fmin(need->used_min, run->used_min);
        need->used_max = fmax(need->used_max, run->used_max);
    }
}

/* Returns the time that a run takes with at most `cpus` CPUs. With fewer CPUs than in any of
 * its choices, the time grows in proportion. */
static double expected_with(const struct needs *run, double cpus)
{
    if (run->choice_count == 0)
        return run->seconds.used_max;
    for (size_t i = run->choice_count; i-- > 0;) {
        if (run->choices[i].cpus <= cpus)
            return run->choices[i].expected;
    }
    return run->choices[0].expected * run->choices[0].cpus / cpus;
}

/* Sets the time of every run to its time with `cpus` CPUs, and combines the times. */
static struct need_choice combine_time(struct needs *list, size_t count, double cpus,
                                       const struct need **sorted, struct needs *ret)
{
    for (size_t i = 0; i < count; i++) {
        if (!isnan(list[i].seconds.value))
            set_time(&list[i], expected_with(&list[i], cpus), cpus);
    }
    combine_field(list, count, NEEDS_SECONDS, sorted, ret);
    return (struct need_choice){ cpus, ret->seconds.value, ret->seconds.basis };
}

/* The other choice comes from the run that determines the CPUs. */
static void combine_cpus_and_time(struct needs *list, size_t count, const struct need **sorted,
                                  struct needs *ret)
{
    const struct need *picked = pick(list, count, NEEDS_CPUS, ret->quantile, sorted);
    const struct needs *run = &list[0];
    struct need_choice chosen, other;
    double cpus;

    for (size_t i = 0; i < count; i++)
        run = &list[i].cpus == picked ? &list[i] : run;
    combine_field(list, count, NEEDS_CPUS, sorted, ret);
    cpus = ret->cpus.value;
    other.cpus = cpus;
    for (size_t i = 0; i < run->choice_count; i++)
        other = run->choices[i].cpus < cpus || run->choices[i].cpus > cpus ? run->choices[i]
                                                                           : other;
    other = combine_time(list, count, other.cpus, sorted, ret);
    /* Called last: its times stay in the list. */
    chosen = combine_time(list, count, cpus, sorted, ret);
    if (!isnan(chosen.cpus) && !isnan(chosen.seconds))
        set_choices(ret, chosen, other);
}

static bool is_beyond(const struct needs *run, const struct needs *request)
{
    /* A run that was killed at its limit has the limit as its basis. */
    bool is_killed = run->conditions[RUN_OUT_OF_MEMORY] > 0;

    return run->memory_bytes.basis > request->memory_bytes.value ||
           (is_killed && run->memory_bytes.basis >= request->memory_bytes.value) ||
           run->gpus.value > request->gpus.value ||
           run->vram_bytes.basis > request->vram_bytes.value ||
           run->seconds.basis > request->seconds.value;
}

int needs_combine(struct needs *list, size_t count, double quantile, struct needs *ret)
{
    AUTO_FREE const struct need **sorted = NULL;

    clear(ret, count > 0 ? list[0].margin : NEEDS_MARGIN, quantile);
    if (count == 0)
        return 0;
    sorted = calloc(count, sizeof(void *));
    if (!sorted)
        return -ENOMEM;
    for (size_t i = NEEDS_MEMORY; i < NEEDS_SECONDS; i++)
        combine_field(list, count, i, sorted, ret);
    combine_cpus_and_time(list, count, sorted, ret);
    for (size_t i = 0; i < count; i++) {
        ret->runs += list[i].runs;
        ret->failed_runs += list[i].failed_runs;
        ret->partial_runs += list[i].partial_runs;
        ret->would_fail_runs += is_beyond(&list[i], ret);
        for (size_t j = 0; j < RUN_CONDITIONS; j++)
            ret->conditions[j] += list[i].conditions[j];
        ret->nodes = list[i].nodes > ret->nodes ? list[i].nodes : ret->nodes;
        ret->node_ranks =
            list[i].node_ranks > ret->node_ranks ? list[i].node_ranks : ret->node_ranks;
        if (!*ret->gpu_vendor && ret->gpus.value > 0)
            memcpy(ret->gpu_vendor, list[i].gpu_vendor, sizeof(ret->gpu_vendor));
    }
    set_note(ret);
    return 0;
}
