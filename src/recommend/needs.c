/* SPDX-License-Identifier: Apache-2.0 */
/*
 * needs.c - the formulas.
 *
 * CPUs: the mean number of cores, rounded to the nearest (halves to even), at least 1.
 * Memory and GPU memory: the peak times 1.2, rounded up to a step. GPUs: the most that were busy at
 * once, rounded to the nearest, at least 1 if any was used. Time: times 1.2, in whole minutes.
 *
 * Every formula is monotonic, so the largest value is used.
 */
#include "recommend/needs.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/unknown.h"
#include "text/number.h"

static const double MARGIN = 1.2;
static const double RETRY = 2;   /* times the limit of a run that hit it */
static const double NEAR = 0.95; /* of a limit: it was reached */
static const double MIB_BYTES = 1048576, GIB_BYTES = 1073741824;

const struct needs_field needs_fields[NEEDS_FIELDS] = {
    { "cpus", offsetof(struct needs, cpus) },
    { "memory_bytes", offsetof(struct needs, memory_bytes) },
    { "gpus", offsetof(struct needs, gpus) },
    { "vram_bytes", offsetof(struct needs, vram_bytes) },
    { "seconds", offsetof(struct needs, seconds) },
};

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

static void PRINTF_LIKE(2, 3) say(struct need *need, const char *fmt, ...)
{
    size_t used = strlen(need->why);
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(need->why + used, sizeof(need->why) - used, fmt, args); /* cut is fine */
    va_end(args);
}

static struct need unknown_need(const char *reason)
{
    struct need need = { .value = (double)NAN,
                         .used_min = (double)NAN,
                         .used_max = (double)NAN,
                         .basis = (double)NAN };

    say(&need, "%s", reason ? reason : "not known");
    return need;
}

/* The caller sets the value and the sentence. */
static struct need need_of(double used)
{
    return (struct need){
        .value = (double)NAN, .known_runs = 1, .used_min = used, .used_max = used, .basis = used
    };
}

/* A report from a file may hold any number. */
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

/* Bursts are throttled by any quota: a run that was throttled for a tenth of its time needs more. */
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

static struct need find_cpus(const struct record *record)
{
    struct spoor_figure mean = record_find(record->figures, "cpu.mean_cores");
    double peak = record_value(record, "cpu.max_cores");
    double threads = record_value(record, "cpu.threads.combined");
    double limit = record->cpus_limit;
    double wanted = ceil(fmin(RETRY * limit, threads)); /* fmin: if they are known */
    struct need need;

    if (!is_plausible(mean.value))
        return unknown_need(reason_of(&mean));
    need = need_of(mean.value);
    need.value = fmax(1, rint(mean.value));
    if (is_throttled(record) && is_plausible(wanted) && wanted > limit) {
        need.value = fmax(need.value, wanted);
        need.is_guess = true;
        say(&need,
            "a guess: a quota of %s CPUs throttled the run for %s, so what it needs is "
            "unknown; "
            "twice the quota, but no more than its threads",
            number_short(limit).text,
            number_duration(record_value(record, "events.throttled_seconds")).text);
        return need;
    }
    say(&need, "%s used on average", number_short(mean.value).text);
    if (is_plausible(peak))
        say(&need, ", %s at peak", number_short(peak).text);
    say(&need, mean.value < 1 ? "; at least 1" : "; the mean, rounded");
    if (has_used_all_cpus(record, mean.value))
        say(&need, "; the run used all that it was allowed: more may make it faster");
    return need;
}

/* ---- memory --------------------------------------------------------------- */

bool needs_is_out_of_memory(const struct record *record)
{
    for (size_t i = 0; i < record->warning_count; i++) {
        if (record->warnings[i].code && strcmp(record->warnings[i].code, "oom") == 0)
            return true;
    }
    return record_value(record, "events.oom_kills") > 0;
}

/* Files in memory (tmpfs) that no process maps: the kernel cannot reclaim them either. */
static double unmapped_bytes(const struct record *record, double peak)
{
    static const double notable = 0.05, least = 8e6; /* less is the kernel's own counting */
    double anon = plausible_or_0(record_value(record, "memory.anon_peak_bytes"));

    return anon > (1 + notable) * peak && anon > peak + least ? anon - peak : 0;
}

/* An upper bound of the peak that is worth showing: one of twice the peak is of little use. It is shown,
 * not used: it supposes that all processes had their peaks at once, and is mostly far too high. */
static double upper_bound(const struct spoor_figure *peak)
{
    return !peak->is_exact && peak->high > peak->value && peak->high < 2 * peak->value
               ? peak->high
               : peak->value;
}

static struct need guess_memory(const struct record *record, double used)
{
    double limit = as_number(record->memory_limit_bytes);
    double kills = record_value(record, "events.oom_kills"); /* 0: the whole machine ran out */
    bool has_limit = limit > 0 && (kills > 0 || isnan(kills));
    /* A process that is being killed may still take some memory beyond the limit. */
    double had = has_limit && NEAR * used <= limit ? limit : used;
    struct need need = need_of(had);

    need.value = needs_round_memory(RETRY * had);
    need.is_guess = true;
    if (has_limit)
        say(&need,
            "a guess: the run was killed for lack of memory at its limit of %s, so what it "
            "needs is unknown; twice the %s",
            number_bytes(limit).text, had > limit ? "peak" : "limit");
    else
        say(&need,
            "a guess: the run was killed for lack of memory at a peak of %s, so what it needs "
            "is unknown; twice the peak",
            number_bytes(had).text);
    say(&need, ", rounded up to the next step");
    return need;
}

/* Notes on the memory besides its peak. */
static void add_memory_notes(const struct record *record, double used, struct need *need)
{
    static const double notable = 0.25; /* of the memory */
    double limit = as_number(record->memory_limit_bytes);
    double cache = record_value(record, "memory.page_cache_peak_bytes");

    if (limit > 0 && used >= NEAR * limit && !(record_charged_bytes(record) < NEAR * limit)) {
        need->is_guess = true;
        say(need, "; the run reached its limit of %s: it may need more",
            number_bytes(limit).text);
    }
    if (is_plausible(cache) && cache >= notable * used)
        say(need, "; page cache, up to %s, is not counted: the kernel can reclaim it",
            number_bytes(cache).text);
}

static struct need find_memory(const struct record *record)
{
    struct spoor_figure peak = record_find(record->figures, "memory.combined.total_rss_bytes");
    double swapped = plausible_or_0(record_value(record, "memory.swap_peak_bytes"));
    double unmapped = unmapped_bytes(record, peak.value);
    double others = swapped + unmapped;
    double used, high;
    struct need need;

    if (needs_is_out_of_memory(record))
        return guess_memory(record, plausible_or_0(peak.value) + others);
    if (!is_plausible(peak.value))
        return unknown_need(reason_of(&peak));
    used = peak.value + others;
    high = upper_bound(&peak) + others;
    need = need_of(used);
    need.value = needs_round_memory(MARGIN * used);
    say(&need, "peak %s", number_bytes(peak.value).text);
    if (unmapped > 0)
        say(&need, " and %s of files in memory", number_bytes(unmapped).text);
    if (swapped > 0)
        say(&need, " and %s swapped out", number_bytes(swapped).text);
    if (high > used)
        say(&need, ", at most %s, times 1.2, rounded up to the next step",
            number_bytes(high).text);
    else
        say(&need, ", %s, times 1.2, rounded up to the next step",
            peak.is_exact && others <= 0 ? "exact" : "sampled");
    if (high > need.value)
        say(&need, "; a peak between samples may have been higher than that");
    add_memory_notes(record, used, &need);
    return need;
}

/* ---- GPUs ----------------------------------------------------------------- */

static size_t count_gpus_with_memory(const struct record *record)
{
    size_t count = 0;

    for (size_t i = 0; i < record->gpu_count; i++)
        count += record->gpus[i].is_selected &&
                 record->gpus[i].measures[RECORD_GPU_JOB_MEMORY].value > 0;
    return count;
}

static bool has_no_gpu(const struct record *record)
{
    return record->gpu_count == 0 && record->whole_gpus == 0;
}

static struct need none_used(const char *why)
{
    struct need need = need_of(0);

    need.value = 0;
    say(&need, "%s", why);
    return need;
}

static struct need find_gpus(const struct record *record)
{
    struct spoor_figure mean = record_find(record->figures, "gpu.job_utilization.mean_gpus");
    double max = record_value(record, "gpu.job_utilization.max_gpus");
    double memory = record_value(record, "gpu.memory.combined_bytes");
    struct need need;

    if (has_no_gpu(record))
        return none_used("the machine has no GPU");
    if (!is_plausible(mean.value) && memory > 0) {
        need = need_of(fmax(1, (double)count_gpus_with_memory(record)));
        need.value = need.basis;
        need.is_guess = true;
        say(&need, "a guess: the run had memory on so many; how busy it kept them is unknown");
        return need;
    }
    if (!is_plausible(mean.value))
        return unknown_need(reason_of(&mean));
    if (mean.value <= 0 && !(memory > 0))
        return none_used("the run used no GPU");
    need = need_of(fmax(mean.value, plausible_or_0(max)));
    need.value = fmax(1, rint(need.basis));
    say(&need, "%s busy at peak, %s on average; the peak, rounded, at least 1",
        number_short(need.basis).text, number_short(mean.value).text);
    return need;
}

static struct need find_vram(const struct record *record)
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
    need.value = needs_round_memory(MARGIN * peak.value);
    say(&need, "peak %s on all GPUs, %s, times 1.2, rounded up to the next step",
        number_bytes(peak.value).text, peak.is_exact ? "exact" : "sampled");
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

static bool has_failed(const struct record *record)
{
    return is_known(record->exit_code) && record->exit_code != 0;
}

static struct need find_time(const struct record *record)
{
    static const double minute = 60;
    double elapsed = record->elapsed_seconds;
    struct need need;

    if (!is_plausible(elapsed))
        return unknown_need("the report has no elapsed time");
    need = need_of(elapsed);
    need.value = fmax(1, ceil(MARGIN * elapsed / minute)) * minute;
    need.is_guess = !is_known(record->exit_code) || has_failed(record) || record->is_attached;
    say(&need, "%s, times 1.2, rounded up to whole minutes", number_duration(elapsed).text);
    if (has_failed(record))
        say(&need, "; the run failed: a complete one may take longer");
    else if (record->is_still_running)
        say(&need, "; the run went on after that");
    else if (record->is_attached)
        say(&need, "; the run had started before that");
    else if (need.is_guess)
        say(&need, "; how the run ended is unknown");
    return need;
}

/* ---- all of them ---------------------------------------------------------- */

void needs_init(struct needs *needs)
{
    *needs = (struct needs){ 0 };
    for (size_t i = 0; i < NEEDS_FIELDS; i++)
        *(struct need *)(void *)((char *)needs + needs_fields[i].offset) =
            unknown_need("no run was given");
}

/* The larger value is used; if both are equal, the one that is not a guess. */
static void include(struct need *need, const struct need *run)
{
    struct need old = *need;
    bool is_more =
        !isnan(run->basis) && (!(run->basis <= old.basis) ||
                               (!(run->basis < old.basis) && old.is_guess && !run->is_guess));

    if (is_more || old.known_runs == 0)
        *need = *run;
    need->known_runs = old.known_runs + run->known_runs;
    need->used_min = fmin(old.used_min, run->used_min); /* the one that is known */
    need->used_max = fmax(old.used_max, run->used_max);
}

void needs_add(struct needs *needs, const struct record *record)
{
    struct need need;

    if (record->system || !record->figures)
        return;
    needs->runs++;
    needs->failed_runs += has_failed(record);
    need = find_cpus(record);
    include(&needs->cpus, &need);
    need = find_memory(record);
    include(&needs->memory_bytes, &need);
    need = find_gpus(record);
    include(&needs->gpus, &need);
    need = find_vram(record);
    include(&needs->vram_bytes, &need);
    need = find_time(record);
    include(&needs->seconds, &need);
    if (needs->gpus.value > 0)
        find_gpu_vendor(record, needs);
}
