/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_tracker_track.c - from the settings to the report.
 *
 * What can be refused is refused before the command starts: the checks of the options, a GPU
 * that is not there, a file that cannot be written. After that the result is never lost: what
 * cannot go to its file goes to the screen.
 */
#include "cli/gpu_tracker_track.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/parse.h"
#include "base/root.h"
#include "cli/gpu_tracker_gpus.h"
#include "cli/gpu_tracker_log.h"
#include "cli/gpu_tracker_output.h"
#include "cli/gpu_tracker_rows.h"
#include "run/track.h"
#include "store/tracking_file.h"

/* Of the figures that a report holds. */
static const char *const sections[] = { "cpu.", "memory.", "gpu." };
enum { SECTIONS = ARRAY_SIZE(sections) };

struct tracking {
    const struct gpu_tracker_settings *settings;
    struct gpu_tracker_gpus gpus;
    struct usage_facts facts;
    struct rows rows;
    struct tracking_file *file; /* NULL: none */
    spoor_session *session;     /* NULL: the command ran untracked */
    bool has_warned[SECTIONS];  /* of figures that are not known, once a section */
};

/* ---- before -------------------------------------------------------------- */

static double read_ram_bytes(void)
{
    char text[8192];
    struct root root;
    uint64_t kibibytes = 0;

    if (root_open(NULL, &root) < 0)
        return 0;
    if (root_read_start(&root, text, sizeof(text), "proc/meminfo") > 0)
        (void)parse_key_u64(text, "MemTotal:", &kibibytes); /* 0 where there is none */
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

    if (!settings->tracking_path)
        return 0;
    return tracking_file_open(settings->tracking_path, settings->overwrites, &written,
                              &tracking->file, err);
}

/* Returns 0; or 1, the exit code, after saying what is wrong. */
static int prepare(struct tracking *tracking)
{
    const struct gpu_tracker_settings *settings = tracking->settings;
    struct gpu_tracker_gpus *gpus = &tracking->gpus;
    struct spoor_error err = { 0 };

    if (settings->output_path && gpu_tracker_output_check(settings->output_path, &err) < 0)
        return gpu_tracker_error("%s", err.message);
    if (gpu_tracker_gpus_find(settings->gpu_uuids, settings->gpu_brand, gpus) < 0)
        return gpu_tracker_error("%s", gpus->message);
    tracking->facts = read_facts(settings, gpus);
    rows_init(&tracking->rows, &tracking->facts, settings->sleep_seconds);
    if (open_file(tracking, &err) < 0)
        return gpu_tracker_error("%s", err.message);
    if (gpus->count == 0 && !settings->is_silent)
        gpu_tracker_warning("%s", gpus->message);
    return 0;
}

/* ---- meanwhile ----------------------------------------------------------- */

static void add_row(struct tracking *tracking, const double row[TRACKING_COLUMNS])
{
    struct spoor_error err;

    if (tracking->file && tracking_file_add(tracking->file, row, &err) < 0 &&
        !tracking->settings->is_silent)
        gpu_tracker_warning("%s", err.message);
}

static void see_sample(const struct spoor_sample *sample, void *data)
{
    struct tracking *tracking = data;
    double row[TRACKING_COLUMNS];

    if (rows_take(&tracking->rows, sample, row))
        add_row(tracking, row);
}

static void finish_file(struct tracking *tracking)
{
    double row[TRACKING_COLUMNS];
    struct spoor_error err;

    if (rows_finish(&tracking->rows, row))
        add_row(tracking, row);
    if (tracking_file_close(tracking->file, &err) < 0 && !tracking->settings->is_silent)
        gpu_tracker_warning("%s", err.message);
    tracking->file = NULL;
}

/* ---- after --------------------------------------------------------------- */

static void warn_once(struct tracking *tracking, const char *path, const char *reason)
{
    for (size_t i = 0; i < SECTIONS; i++) {
        if (strncmp(path, sections[i], strlen(sections[i])) != 0)
            continue;
        if (!tracking->has_warned[i] && !tracking->settings->is_silent)
            gpu_tracker_warning("%s could not be measured and is shown as 0: %s.", path,
                                reason);
        tracking->has_warned[i] = true;
    }
}

static double find_figure(void *data, const char *path)
{
    struct tracking *tracking = data;
    bool is_gpu = strncmp(path, "gpu.", 4) == 0;
    struct spoor_figure figure;

    if (!tracking->session || spoor_session_figure(tracking->session, path, &figure, NULL) < 0)
        return (double)NAN;
    if (isnan(figure.value) && figure.reason && !(is_gpu && tracking->facts.gpu_count == 0))
        warn_once(tracking, path, figure.reason);
    return figure.value;
}

/* The report as text, to be freed; NULL: out of memory. */
static char *make_report(struct tracking *tracking, uint64_t elapsed_ns)
{
    struct usage_run run = { .elapsed_seconds = (double)elapsed_ns / 1e9 };
    struct resource_usage usage;
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);

    if (!out)
        return NULL;
    rows_cpu(&tracking->rows, &run);
    usage = usage_of(&tracking->facts, &run, find_figure, tracking);
    report_write(out, &usage, tracking->settings->style);
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

static int write_result(struct tracking *tracking, const struct tracked *tracked)
{
    int wait_status = tracked->end.wait_status;
    AUTO_FREE char *text = make_report(tracking, tracked->elapsed_ns);
    const char *path = tracking->settings->output_path;
    struct spoor_error err = { 0 };
    char line[100];
    int r;

    (void)snprintf(line, sizeof(line),
                   "Resource tracking complete. Process completed with status code: %d",
                   WIFSIGNALED(wait_status) ? -WTERMSIG(wait_status)
                                            : WEXITSTATUS(wait_status)); /* fits */
    r = gpu_tracker_output_write(NULL, line, &err);
    if (!text)
        return gpu_tracker_error("out of memory");
    if (r == 0 || path)
        r = gpu_tracker_output_write(path, text, &err);
    if (r == 0)
        return 0;
    gpu_tracker_error("%s", err.message);
    if (path)
        (void)gpu_tracker_output_write(NULL, text, NULL); /* better here than nowhere */
    return 1;
}

/* Ends us by a signal, as it ended the command. Returns where it does not. */
static void end_by(int number)
{
    struct sigaction standard = { .sa_handler = SIG_DFL };
    sigset_t only;

    (void)sigemptyset(&only);
    (void)sigaddset(&only, number);
    (void)sigaction(number, &standard, NULL);
    (void)raise(number);
    (void)sigprocmask(SIG_UNBLOCK, &only, NULL);
}

static int refuse_exec(const struct gpu_tracker_settings *settings, int code)
{
    if (code == ENOENT)
        return gpu_tracker_error("Command not found: \"%s\"", settings->command);
    gpu_tracker_error("The following error occurred when starting the command \"%s\":",
                      settings->command);
    (void)printf("[Errno %d] %s: '%s'\n", code, strerror(code), settings->words[0]);
    return 1;
}

static void say(const char *message)
{
    (void)gpu_tracker_error("%s", message);
}

static int run_command(struct tracking *tracking)
{
    const struct gpu_tracker_settings *settings = tracking->settings;
    struct track_options options = {
        .command = settings->words,
        .session = SPOOR_OPTIONS_INIT,
        .say = say,
    };
    struct spoor_error err = { 0 };
    struct tracked tracked;
    enum track_outcome outcome;
    int code;

    options.session.interval_ns = (uint64_t)(settings->sleep_seconds * (double)NS_PER_SECOND);
    options.session.gpus = tracking->gpus.selection;
    options.session.sample_seen = see_sample;
    options.session.sample_data = tracking;
    outcome = track(&options, &tracked, &err);
    finish_file(tracking);
    if (outcome != TRACK_RAN && settings->tracking_path)
        (void)unlink(settings->tracking_path); /* there is nothing in it */
    if (outcome == TRACK_REFUSED)
        return gpu_tracker_error("%s", err.message);
    if (outcome == TRACK_NO_EXEC)
        return refuse_exec(settings, err.code);
    tracking->session = tracked.session;
    code = write_result(tracking, &tracked);
    tracking->session = spoor_session_close(tracked.session);
    if (tracked.end.is_by_our_signal)
        end_by(WTERMSIG(tracked.end.wait_status));
    if (code == 0 && settings->propagates)
        code = supervise_exit_code(tracked.end.wait_status);
    return code;
}

int gpu_tracker_track(const struct gpu_tracker_settings *settings)
{
    struct tracking tracking = { .settings = settings };
    int code = prepare(&tracking);

    if (code == 0)
        code = run_command(&tracking);
    gpu_tracker_gpus_done(&tracking.gpus);
    return code;
}
