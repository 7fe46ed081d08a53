/* SPDX-License-Identifier: Apache-2.0 */
#include "compat/gpu_tracker/tracking.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/parse.h"
#include "base/root.h"
#include "text/number.h"

/* ---- GPUs --------------------------------------------------------------- */

#define REMAIN " The GPU RAM and GPU utilization values will remain 0.0."

static int PRINTF_LIKE(3, 4) fail(struct gpu_tracker_gpus *gpus, int code, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(gpus->message, sizeof(gpus->message), fmt, args); /* may be truncated */
    va_end(args);
    return -code;
}

void gpu_tracker_gpus_done(struct gpu_tracker_gpus *gpus)
{
    text_list_done(&gpus->uuids);
    text_list_done(&gpus->whole);
    free(gpus->selection);
    *gpus = (struct gpu_tracker_gpus){ 0 };
}

void gpu_tracker_gpus_add(const struct spoor_gpu *gpu, void *data)
{
    struct gpu_tracker_gpus *gpus = data;

    if (gpus->brand && strcmp(gpu->vendor, gpus->brand) != 0)
        return;
    gpus->is_full |= text_list_add(&gpus->uuids, gpu->uuid, NULL) < 0;
    if (gpu->is_part)
        return;
    gpus->is_full |= text_list_add(&gpus->whole, gpu->uuid, NULL) < 0;
    if (gpu->memory_bytes != UINT64_MAX)
        gpus->memory_bytes += (double)gpu->memory_bytes;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void join(const struct text_list *list, const char *separator, struct buffer *out)
{
    for (size_t i = 0; i < list->count; i++) {
        buffer_add_text(out, i > 0 ? separator : "");
        buffer_add(out, list->items[i],
                   strlen(list->items[i])); /* messages are escaped later */
    }
}

static int refuse_uuid(struct gpu_tracker_gpus *gpus, const char *uuid, size_t length)
{
    CLEANUP(buffer_done) struct buffer known = { 0 };

    qsort(gpus->whole.items, gpus->whole.count, sizeof(*gpus->whole.items), compare_texts);
    join(&gpus->whole, ", ", &known);
    return fail(gpus, EINVAL, "GPU UUID of %.*s is not valid. Available UUIDs are: %s",
                (int)length, uuid, known.text ? known.text : "");
}

/* Counts the GPUs of a comma-separated list, duplicates once. */
static int count_uuids(struct gpu_tracker_gpus *gpus, const char *uuids)
{
    AUTO_FREE bool *is_named = calloc(gpus->uuids.count, sizeof(*is_named));

    if (!is_named)
        return fail(gpus, ENOMEM, "out of memory");
    gpus->expected_count = 0;
    for (;;) {
        size_t length = strcspn(uuids, ",");
        size_t i = 0;

        while (i < gpus->uuids.count && (strncmp(gpus->uuids.items[i], uuids, length) != 0 ||
                                         gpus->uuids.items[i][length] != '\0'))
            i++;
        if (i == gpus->uuids.count)
            return refuse_uuid(gpus, uuids, length);
        gpus->expected_count += !is_named[i];
        is_named[i] = true;
        if (uuids[length] == '\0')
            return 0;
        uuids += length + 1;
    }
}

int gpu_tracker_gpus_choose(struct gpu_tracker_gpus *gpus, const char *uuids)
{
    size_t count = gpus->whole.count;
    struct buffer selection = { 0 };
    int r = 0;

    gpus->expected_count = count;
    if (count == 0 && gpus->brand)
        return fail(gpus, ENODEV, "No GPU of the brand \"%s\" was found.", gpus->brand);
    if (count == 0)
        (void)fail(
            gpus, ENODEV,
            "Neither the nvidia-smi command nor the amd-smi command is installed. Install one "
            "of these to profile the GPU. Otherwise the GPU RAM and GPU utilization values "
            "will remain 0.0.");
    else if (uuids && *uuids == '\0')
        return fail(gpus, EINVAL,
                    "gpu_uuids is not None but the set is empty. Please provide a set of at "
                    "least one GPU UUID.");
    else if (uuids)
        r = count_uuids(gpus, uuids);
    if (r < 0)
        return r;
    if (count > 0 && gpus->brand && !uuids)
        join(&gpus->whole, ",", &selection);
    else
        buffer_add_text(&selection, count == 0 ? "none" : uuids ? uuids : "all");
    gpus->selection = selection.text;
    return gpus->is_full || buffer_error(&selection) < 0 ? fail(gpus, ENOMEM, "out of memory")
                                                         : 0;
}

/* A driver that does not respond in time is not an error: if it responds later, its GPUs are
 * tracked. */
static int pass_over_silence(const char *uuids, struct gpu_tracker_gpus *ret)
{
    gpu_tracker_gpus_done(ret);
    ret->is_silent = true;
    (void)fail(ret, ETIMEDOUT, "The GPU driver does not respond." REMAIN);
    ret->selection = strdup(uuids ? uuids : "all");
    return ret->selection ? 0 : fail(ret, ENOMEM, "out of memory");
}

static bool is_installed(const char *program)
{
    const char *folder = getenv("PATH");

    while (folder && *folder) {
        size_t length = strcspn(folder, ":");
        char path[PATH_MAX];
        int n = snprintf(path, sizeof(path), "%.*s/%s", (int)length, folder, program);

        if (n > 0 && (size_t)n < sizeof(path) && access(path, X_OK) == 0)
            return true;
        folder += length + (folder[length] == ':');
    }
    return false;
}

/* These commands are not needed, but users expect the warning of the predecessor. */
static void warn_of_tools(struct gpu_tracker_gpus *gpus)
{
    static const char *const tools[] = { "nvidia-smi", "amd-smi" };

    for (size_t i = 0; i < ARRAY_SIZE(tools); i++) {
        if (is_installed(tools[i])) {
            (void)fail(gpus, ENODEV,
                       "The %s command is installed but cannot connect to a GPU." REMAIN,
                       tools[i]);
            return;
        }
    }
}

int gpu_tracker_gpus_find(const char *uuids, const char *brand, struct gpu_tracker_gpus *ret)
{
    struct spoor_error err;
    int listed, r;

    *ret = (struct gpu_tracker_gpus){ .brand = brand };
    listed = spoor_gpu_list(NULL, "all", gpu_tracker_gpus_add, ret, &err);
    if (listed == -ETIMEDOUT)
        return pass_over_silence(uuids, ret);
    r = gpu_tracker_gpus_choose(ret, uuids);
    if (listed == 0 && r == 0 && ret->whole.count == 0)
        warn_of_tools(ret);
    if (listed < 0 && ret->whole.count == 0) /* a GPU whose driver cannot be used */
        (void)fail(ret, ENODEV, "%s." REMAIN, err.message);
    return r;
}

/* ---- tracking ----------------------------------------------------------- */

/* The parts of a report. A figure belongs to the first part whose key occurs in its path. */
static const struct {
    const char *key, *name;
} parts[TRACKING_PARTS] = {
    { "memory.system_peak", "System RAM" },    { ".total_rss", "Total RSS" },
    { ".private_rss", "Private RSS" },         { ".shared_rss", "Shared RSS" },
    { "gpu.memory.system", "System GPU RAM" }, { "gpu.memory.", "GPU RAM" },
    { "cpu.threads.", "Number of threads" },   { "cpu.", "CPU utilization" },
    { "gpu.utilization.", "GPU utilization" },
};

static void PRINTF_LIKE(2, 3) warn(struct tracking *tracking, const char *fmt, ...)
{
    char message[512];
    va_list args;

    if (tracking->settings->is_silent)
        return;
    va_start(args, fmt);
    (void)vsnprintf(message, sizeof(message), fmt, args); /* may be truncated */
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
        /* kibibytes stays 0 if there is no such line. */
        (void)parse_key_u64(text, "MemTotal:", &kibibytes);
    root_close(&root);
    return (double)kibibytes * 1024;
}

static struct tracking_facts read_facts(const struct gpu_tracker_settings *settings,
                                        const struct gpu_tracker_gpus *gpus)
{
    const char *const units[] = { [TRACKING_RAM_UNIT] = settings->ram_unit->name,
                                  [TRACKING_GPU_RAM_UNIT] = settings->gpu_ram_unit->name,
                                  [TRACKING_TIME_UNIT] = settings->time_unit->name };
    double online = (double)sysconf(_SC_NPROCESSORS_ONLN);
    double cores = online > 0 ? online : 1;
    double expected = (double)settings->expected_core_count;
    struct tracking_facts facts = {
        .numbers = {
            [TRACKING_RAM_CAPACITY] = read_ram_bytes() * settings->ram_unit->coefficient,
            [TRACKING_GPU_RAM_CAPACITY] = gpus->memory_bytes * settings->gpu_ram_unit->coefficient,
            [TRACKING_CORE_COUNT] = cores,
            [TRACKING_EXPECTED_CORES] = expected > 0 ? expected : cores,
            [TRACKING_GPU_COUNT] = (double)gpus->whole.count,
            [TRACKING_EXPECTED_GPUS] = (double)gpus->expected_count,
        },
    };

    for (size_t i = 0; i < ARRAY_SIZE(units); i++)
        (void)snprintf(facts.texts[i], sizeof(facts.texts[i]), "%s", units[i]); /* fits */
    return facts;
}

/* Warns if there is no GPU, or none that can be used. */
static void warn_of_no_gpus(struct tracking *tracking)
{
    if (tracking->gpus.whole.count == 0 && !tracking->finds_gpus_later)
        warn(tracking, "%s", tracking->gpus.message);
}

static const char *prepare(struct tracking *tracking, struct spoor_error *err)
{
    const struct gpu_tracker_settings *settings = tracking->settings;
    struct gpu_tracker_gpus *gpus = &tracking->gpus;
    int r = 0;

    if (settings->tracking_path) /* first, because drivers start threads */
        r = tracking_writer_start(&tracking->file, settings->tracking_path,
                                  settings->overwrites, err);
    if (r < 0)
        return err->message;
    if (!tracking->finds_gpus_later)
        r = gpu_tracker_gpus_find(settings->gpu_uuids, settings->gpu_brand, gpus);
    err->code = -r;
    if (r < 0)
        return gpus->message;
    tracking->facts = read_facts(settings, gpus);
    rows_init(&tracking->rows, &tracking->facts, settings->sleep_seconds);
    tracking->wanted_after = tracking->row_seconds = (double)NAN;
    if (settings->tracking_path &&
        tracking_writer_open(&tracking->file, &tracking->facts, err) < 0)
        return err->message;
    tracking->finds_gpus_later |= gpus->is_silent;
    warn_of_no_gpus(tracking);
    return NULL;
}

const char *tracking_prepare(struct tracking *tracking, struct spoor_error *err)
{
    const char *failure = prepare(tracking, err);

    if (failure)
        (void)tracking_writer_close(&tracking->file, NULL);
    return failure;
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

static void answer_request(void *data, const char *request, char ret[JOB_REQUEST_BYTES])
{
    struct tracking *tracking = data;
    double wanted_after, row_seconds;
    int r;

    if (decimal_parse(request, &wanted_after) < 0)
        return;
    tracking->wanted_after = wanted_after;
    r = spoor_session_sample(tracking->session, NULL);
    tracking->wanted_after = (double)NAN;
    row_seconds = tracking->row_seconds;
    tracking_writer_wait(&tracking->file);
    if (r == 0 && !isnan(row_seconds))
        (void)snprintf(ret, JOB_REQUEST_BYTES, "%s",
                       decimal_float(row_seconds).text); /* fits */
}

int tracking_listen(void *data, pid_t pid, UNUSED struct spoor_error *err)
{
    struct tracking *tracking = data;
    CLEANUP(root_close) struct root root = ROOT_CLOSED;

    /* On failure, code blocks get only the rows that are written anyway. */
    if (tracking->settings->tracking_path && root_open(NULL, &root) == 0)
        (void)job_listener_open(&tracking->requests, &root, "gpu-tracker-rows", pid);
    return 0;
}

void tracking_started(void *data, spoor_session *session, UNUSED pid_t pid)
{
    struct tracking *tracking = data;
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

/* Writes one warning per reason, with a list of the parts that are missing for it. */
static void warn_of_missing(struct tracking *tracking)
{
    for (size_t i = 0; i < TRACKING_PARTS; i++) {
        const char *reason = tracking->missing[i];
        char names[200] = "", after[200];
        size_t count = 0;

        for (size_t other = TRACKING_PARTS; reason && other-- > i;) {
            if (!tracking->missing[other] || tracking->has_warned[other] ||
                strcmp(tracking->missing[other], reason) != 0)
                continue;
            memcpy(after, names, sizeof(after));
            (void)snprintf(names, sizeof(names), "%s%s%.150s", parts[other].name,
                           count == 0   ? ""
                           : count == 1 ? " and "
                                        : ", ",
                           after); /* fits all parts */
            tracking->has_warned[other] = true;
            count++;
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

    if (is_gpu && tracking->gpus.whole.count == 0) /* a warning was printed before */
        return (double)NAN;
    if (!tracking->session || spoor_session_figure(tracking->session, path, &figure, NULL) < 0)
        return (double)NAN;
    if (isnan(figure.value) && figure.reason)
        note_missing(tracking, path, figure.reason);
    return figure.value;
}

/* Replaces the list of GPUs by the session's: at the start, drivers may not have responded
 * yet. It is too late to reject --guuids. */
static void take_gpus(struct tracking *tracking)
{
    const struct gpu_tracker_settings *settings = tracking->settings;
    struct gpu_tracker_gpus *gpus = &tracking->gpus;

    if (!tracking->finds_gpus_later || !tracking->session)
        return;
    gpu_tracker_gpus_done(gpus);
    gpus->brand = settings->gpu_brand;
    if (spoor_session_gpus(tracking->session, gpu_tracker_gpus_add, gpus, NULL) < 0)
        (void)pass_over_silence(settings->gpu_uuids, gpus);
    else if (gpus->uuids.count == 0) /* to report the reason */
        (void)gpu_tracker_gpus_find(settings->gpu_uuids, settings->gpu_brand, gpus);
    else
        (void)gpu_tracker_gpus_choose(gpus, settings->gpu_uuids);
    tracking->facts = read_facts(settings, gpus);
    tracking->finds_gpus_later = false;
    warn_of_no_gpus(tracking);
}

struct resource_usage tracking_usage(struct tracking *tracking, double elapsed_seconds)
{
    struct resource_usage usage;

    take_gpus(tracking);
    memset(tracking->missing, 0, sizeof(tracking->missing));
    usage = usage_of(&tracking->facts, &tracking->rows, elapsed_seconds, find_figure, tracking);
    warn_of_missing(tracking);
    return usage;
}
