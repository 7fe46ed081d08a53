/* SPDX-License-Identifier: Apache-2.0 */
#include "compat/gpu_tracker/tracking.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/parse.h"
#include "base/root.h"
#include "text/number.h"

/* The parts of a report, and what the paths of their figures have in them; the first that fits
 * counts. */
static const struct {
    const char *key, *name;
} parts[TRACKING_PARTS] = {
    { "memory.system_peak", "System RAM" },    { ".total_rss", "Total RSS" },
    { ".private_rss", "Private RSS" },         { ".shared_rss", "Shared RSS" },
    { "gpu.memory.system", "System GPU RAM" }, { "gpu.memory.", "GPU RAM" },
    { "cpu.threads.", "Number of threads" },   { "cpu.", "CPU utilization" },
    { "gpu.utilization.", "GPU utilization" },
};

static void warn(struct tracking *tracking, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void warn(struct tracking *tracking, const char *fmt, ...)
{
    char message[512];
    va_list args;

    if (tracking->settings->is_silent)
        return;
    va_start(args, fmt);
    (void)vsnprintf(message, sizeof(message), fmt, args); /* cut is fine */
    va_end(args);
    tracking->warn(tracking->warn_data, message);
}

/* ---- before -------------------------------------------------------------- */

static double read_ram_bytes(void)
{
    char text[8192];
    struct root root;
    uint64_t kibibytes = 0;

    if (root_open(NULL, &root) < 0)
        return 0;
    if (root_read_start(&root, text, sizeof(text), "proc/meminfo") > 0)
        (void)parse_key_u64(text, "MemTotal:", &kibibytes); /* 0 if there is none */
    root_close(&root);
    return (double)kibibytes * 1024;
}

static struct usage_facts read_facts(const struct gpu_tracker_settings *settings,
                                     const struct gpu_tracker_gpus *gpus)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t core_count = online > 0 ? (uint64_t)online : 1;

    return (struct usage_facts){
        .ram_unit = settings->ram_unit,
        .gpu_ram_unit = settings->gpu_ram_unit,
        .time_unit = settings->time_unit,
        .core_count = core_count,
        .expected_core_count =
            settings->expected_core_count ? settings->expected_core_count : core_count,
        .ram_bytes = read_ram_bytes(),
        .gpu_count = gpus->count,
        .expected_gpu_count = gpus->expected_count,
        .gpu_ram_bytes = gpus->memory_bytes,
    };
}

static int open_file(struct tracking *tracking, struct spoor_error *err)
{
    const struct gpu_tracker_settings *settings = tracking->settings;
    const struct usage_facts *facts = &tracking->facts;
    struct tracking_facts written = {
        .ram_unit = facts->ram_unit->name,
        .gpu_ram_unit = facts->gpu_ram_unit->name,
        .time_unit = facts->time_unit->name,
        .ram_system_capacity = facts->ram_bytes * facts->ram_unit->coefficient,
        .gpu_ram_system_capacity = facts->gpu_ram_bytes * facts->gpu_ram_unit->coefficient,
        .system_core_count = (unsigned)facts->core_count,
        .n_expected_cores = (unsigned)facts->expected_core_count,
        .system_gpu_count = (unsigned)facts->gpu_count,
        .n_expected_gpus = (unsigned)facts->expected_gpu_count,
    };

    return settings->tracking_path ? tracking_writer_open(&tracking->file, &written, err) : 0;
}

/* Also if there is one that cannot be used. */
static void warn_of_no_gpus(struct tracking *tracking)
{
    if (tracking->gpus.count == 0 && !tracking->finds_gpus_later)
        warn(tracking, "%s", tracking->gpus.message);
}

static int refuse(struct tracking *tracking, tracking_complain *complain, int code,
                  const char *message)
{
    complain(tracking->warn_data, code, message);
    (void)tracking_writer_close(&tracking->file, NULL);
    return code;
}

int tracking_prepare(struct tracking *tracking, tracking_complain *complain)
{
    const struct gpu_tracker_settings *settings = tracking->settings;
    struct gpu_tracker_gpus *gpus = &tracking->gpus;
    struct spoor_error err = { 0 };
    int r = 0;

    if (settings->tracking_path) /* first, because drivers start threads */
        r = tracking_writer_start(&tracking->file, settings->tracking_path,
                                  settings->overwrites, &err);
    if (r < 0)
        return refuse(tracking, complain, r, err.message);
    if (!tracking->finds_gpus_later)
        r = gpu_tracker_gpus_find(settings->gpu_uuids, settings->gpu_brand, gpus);
    if (r < 0)
        return refuse(tracking, complain, r, gpus->message);
    tracking->facts = read_facts(settings, gpus);
    rows_init(&tracking->rows, &tracking->facts, settings->sleep_seconds);
    tracking->wanted_after = tracking->row_seconds = (double)NAN;
    r = open_file(tracking, &err);
    if (r < 0)
        return refuse(tracking, complain, r, err.message);
    tracking->finds_gpus_later |= gpus->is_silent;
    warn_of_no_gpus(tracking);
    return 0;
}

void tracking_done(struct tracking *tracking)
{
    gpu_tracker_gpus_done(&tracking->gpus);
}

/* ---- meanwhile ----------------------------------------------------------- */

static void add_row(struct tracking *tracking, const double row[TRACKING_COLUMNS])
{
    struct spoor_error err;

    if (tracking_writer_add(&tracking->file, row, &err) < 0)
        warn(tracking, "%s", err.message);
}

static void see_sample(const struct spoor_sample *sample, void *data)
{
    struct tracking *tracking = data;
    double wanted_after = tracking->wanted_after;
    double row[TRACKING_COLUMNS], peak[TRACKING_COLUMNS];

    if (!rows_take(&tracking->rows, sample, isnan(wanted_after) ? NULL : &wanted_after, row))
        return;
    memcpy(peak, row, sizeof(peak));
    if (wanted_after > 0 && rows_peak(&tracking->rows, sample, wanted_after, peak))
        add_row(tracking, peak);
    add_row(tracking, row);
    tracking->row_seconds = sample->unix_seconds;
}

static double take_row(struct tracking *tracking, double wanted_after)
{
    int r;

    tracking->wanted_after = wanted_after;
    r = spoor_session_sample(tracking->session, NULL);
    tracking->wanted_after = (double)NAN;
    return r < 0 ? (double)NAN : tracking->row_seconds;
}

static void answer_request(void *data, const char *request, char ret[JOB_REQUEST_BYTES])
{
    struct tracking *tracking = data;
    double wanted_after, row_seconds;

    if (decimal_parse(request, &wanted_after) < 0)
        return;
    row_seconds = take_row(tracking, wanted_after);
    tracking_writer_wait(&tracking->file);
    if (!isnan(row_seconds))
        (void)snprintf(ret, JOB_REQUEST_BYTES, "%s",
                       decimal_float(row_seconds).text); /* fits */
}

void tracking_listen(struct tracking *tracking, pid_t pid)
{
    /* If it fails, code blocks have the rows that are written anyway. */
    if (tracking->settings->tracking_path)
        (void)job_listener_open(&tracking->requests, "gpu-tracker-rows", pid);
}

void tracking_started(struct tracking *tracking, spoor_session *session)
{
    struct spoor_error err;

    tracking->session = session;
    if (!tracking->settings->tracking_path)
        return;
    if (tracking_writer_begin(&tracking->file, &err) < 0) {
        warn(tracking, "%s", err.message);
        session = NULL;
    }
    if (!session)
        job_listener_stop(&tracking->requests);
    else if (tracking->requests.is_open)
        (void)job_listener_serve(&tracking->requests, answer_request, tracking);
}

void tracking_configure(struct tracking *tracking, struct spoor_options *options)
{
    options->interval_ns =
        (uint64_t)(tracking->settings->sleep_seconds * (double)NS_PER_SECOND);
    options->gpus = tracking->gpus.selection ? tracking->gpus.selection : "all";
    options->flags |= SPOOR_HOLD_SAMPLES | SPOOR_OPEN_GPUS; /* every report counts the GPUs */
    options->sample_seen = see_sample;
    options->sample_data = tracking;
}

void tracking_finish(struct tracking *tracking)
{
    double row[TRACKING_COLUMNS];
    struct spoor_error err;

    job_listener_stop(&tracking->requests);
    if (rows_finish(&tracking->rows, row))
        add_row(tracking, row);
    if (tracking_writer_close(&tracking->file, &err) < 0)
        warn(tracking, "%s", err.message);
}

/* ---- after --------------------------------------------------------------- */

static void note_missing(struct tracking *tracking, const char *path, const char *reason)
{
    for (size_t i = 0; i < TRACKING_PARTS; i++) {
        if (!strstr(path, parts[i].key))
            continue;
        if (!tracking->missing[i])
            tracking->missing[i] = reason;
        return;
    }
}

/* One warning for each reason, with all that it is the reason of. */
static void warn_of_missing(struct tracking *tracking)
{
    for (size_t i = 0; i < TRACKING_PARTS; i++) {
        const char *reason = tracking->missing[i];
        size_t of[TRACKING_PARTS];
        size_t count = 0;
        char names[200] = "";

        for (size_t other = i; reason && other < TRACKING_PARTS; other++) {
            if (!tracking->missing[other] || tracking->has_warned[other] ||
                strcmp(tracking->missing[other], reason) != 0)
                continue;
            of[count++] = other;
            tracking->has_warned[other] = true;
        }
        for (size_t n = 0; n < count; n++) {
            size_t used = strlen(names);

            (void)snprintf(names + used, sizeof(names) - used, "%s%s",
                           n == 0           ? ""
                           : n == count - 1 ? " and "
                                            : ", ",
                           parts[of[n]].name); /* fits */
        }
        if (count > 0)
            warn(tracking, "%s could not be measured and %s shown as 0.0: %s.", names,
                 count == 1 ? "is" : "are", reason);
    }
}

static double find_figure(void *data, const char *path)
{
    struct tracking *tracking = data;
    bool is_gpu = strncmp(path, "gpu.", 4) == 0;
    struct spoor_figure figure;

    if (is_gpu && tracking->facts.gpu_count == 0) /* as was warned of */
        return (double)NAN;
    if (!tracking->session || spoor_session_figure(tracking->session, path, &figure, NULL) < 0)
        return (double)NAN;
    if (isnan(figure.value) && figure.reason)
        note_missing(tracking, path, figure.reason);
    return figure.value;
}

/* Those that the session has found: its drivers may have been slower than we would wait. */
static void take_gpus(struct tracking *tracking)
{
    const struct gpu_tracker_settings *settings = tracking->settings;

    if (!tracking->finds_gpus_later || !tracking->session)
        return;
    gpu_tracker_gpus_done(&tracking->gpus);
    (void)gpu_tracker_gpus_ask(tracking->session, settings->gpu_uuids, settings->gpu_brand,
                               &tracking->gpus); /* too late to refuse */
    tracking->facts = read_facts(settings, &tracking->gpus);
    tracking->finds_gpus_later = false;
    warn_of_no_gpus(tracking);
}

struct resource_usage tracking_usage(struct tracking *tracking, double elapsed_seconds)
{
    struct usage_run run = { .elapsed_seconds = elapsed_seconds };
    struct resource_usage usage;

    take_gpus(tracking);
    memset(tracking->missing, 0, sizeof(tracking->missing));
    rows_cpu(&tracking->rows, &run);
    usage = usage_of(&tracking->facts, &run, find_figure, tracking);
    warn_of_missing(tracking);
    return usage;
}
