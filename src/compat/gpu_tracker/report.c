/* SPDX-License-Identifier: Apache-2.0 */
#include "compat/gpu_tracker/report.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compiler.h"
#include "base/error.h"
#include "output/output_file.h"
#include "record/replay.h"
#include "text/escape.h"
#include "text/json_writer.h"
#include "text/number.h"

/* ---- formats and files -------------------------------------------------- */

int gpu_tracker_format_parse(const char *text, enum gpu_tracker_format *ret,
                             struct spoor_error *err)
{
    if (text && strcmp(text, "pickle") == 0)
        return error_set(err, EINVAL,
                         "\"pickle\" is not a valid format, because loading a pickle can run "
                         "any code. Use \"json\", which sub-track compare reads.");
    if (text && strcmp(text, "text") != 0 && strcmp(text, "json") != 0)
        return error_set(err, EINVAL,
                         "\"%s\" is not a valid format. Valid values are \"json\" or \"text\".",
                         text);
    *ret = text && strcmp(text, "json") == 0 ? GPU_TRACKER_JSON : GPU_TRACKER_TEXT;
    return 0;
}

static int fail(const char *path, int code, struct spoor_error *err)
{
    return error_sys(err, code, "The output file %s cannot be written", path);
}

/* Rejects a link, pipe or file that another user may have planted. Devices are accepted. */
static int check_trust(const char *path, struct spoor_error *err)
{
    struct stat status;

    if (output_file_is_trusted(path) || (lstat(path, &status) == 0 && S_ISCHR(status.st_mode)))
        return 0;
    return error_set(err, EPERM,
                     "The output file %s belongs to another user in a public directory. Name "
                     "another file.",
                     path);
}

int gpu_tracker_output_check(const char *path, struct spoor_error *err)
{
    struct stat status;
    int trust = check_trust(path, err);

    if (trust < 0)
        return trust;
    if (stat(path, &status) < 0) {
        int r = -errno;

        if (r == -ENOENT && *path && path[strlen(path) - 1] != '/')
            r = output_file_check_directory(path, NULL);
        return r < 0 ? fail(path, r, err) : 0;
    }
    if (S_ISDIR(status.st_mode))
        return fail(path, EISDIR, err);
    if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) < 0)
        return fail(path, errno, err);
    return 0;
}

/* Follows links; can write to devices and pipes. */
static int write_in_place(const char *path, const struct buffer *text)
{
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);
    int r;

    if (fd < 0)
        return -errno;
    r = buffer_write(text, fd);
    return r == 0 && close(take_fd(&fd)) < 0 ? -errno : r;
}

/* Replaces a regular file as a whole if its directory is writable; otherwise writes in
 * place. */
static int write_file(const char *path, const struct buffer *text)
{
    struct replacement new_file;
    struct stat status;
    int r;

    if (lstat(path, &status) < 0 || !S_ISREG(status.st_mode) ||
        replacement_open(&new_file, path, false) < 0)
        return write_in_place(path, text);
    r = buffer_write(text, new_file.fd);
    if (r == 0)
        r = replacement_sync(&new_file);
    if (r == 0)
        return replacement_commit(&new_file, false);
    replacement_cancel(&new_file);
    return r;
}

int gpu_tracker_output_write(const char *path, const char *text, struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer out = { 0 };
    int r;

    buffer_format(&out, "%s%s", text, path ? "" : "\n");
    if (!path) {
        r = buffer_write(&out, STDOUT_FILENO);
        return r < 0 ? error_sys(err, r, "The standard output cannot be written") : 0;
    }
    r = check_trust(path, err);
    if (r < 0)
        return r;
    r = write_file(path, &out);
    return r < 0 ? fail(path, r, err) : 0;
}

/* ---- usage -------------------------------------------------------------- */

const struct usage_unit usage_memory_units[] = {
    { "bytes", 1 },        { "gigabytes", 1e-9 },  { "kilobytes", 1e-3 },
    { "megabytes", 1e-6 }, { "terabytes", 1e-12 }, { 0 },
};

const struct usage_unit usage_time_units[] = {
    { "days", 1.0 / 86400 },
    { "hours", 1.0 / 3600 },
    { "minutes", 1.0 / 60 },
    { "seconds", 1 },
    { 0 },
};

const struct usage_unit *usage_unit_find(const struct usage_unit *units, const char *name)
{
    for (; units->name; units++) {
        if (strcmp(units->name, name) == 0)
            return units;
    }
    return NULL;
}

double usage_scale(const struct tracking_facts *facts, enum tracking_unit unit)
{
    static const enum tracking_fact facts_of[] = { [TRACKING_IN_RAM] = TRACKING_RAM_UNIT,
                                                   [TRACKING_IN_GPU_RAM] =
                                                       TRACKING_GPU_RAM_UNIT,
                                                   [TRACKING_IN_TIME] = TRACKING_TIME_UNIT };
    const struct usage_unit *found;

    if (unit == TRACKING_COUNTS || unit == TRACKING_PERCENT)
        return unit == TRACKING_PERCENT ? 100 : 1;
    found = usage_unit_find(unit == TRACKING_IN_TIME ? usage_time_units : usage_memory_units,
                            facts->texts[facts_of[unit]]);
    return found ? found->coefficient : (double)NAN;
}

/* "sum": percent of one core or GPU, summed over all; "hardware": the sum divided by the
 * expected number of cores or GPUs. */
struct percentages {
    double max_sum, max_hardware, mean_sum, mean_hardware;
};

enum group { SYSTEM, MAIN, DESCENDANTS, COMBINED, GPUS, GROUPS };

/* clang-format off */
#define SECTION(depth, key, label) { depth, REPORT_SECTION, key, label, NULL, 0, 0 }
#define UNIT(fact) { 1, REPORT_UNIT, "unit", "Unit", NULL, 0, fact }
#define FACT(key, label, fact) { 1, REPORT_COUNT, key, label, NULL, 0, fact }
#define CAPACITY(fact) { 1, REPORT_NUMBER, "system_capacity", "System capacity", NULL, 0, fact }
#define THREADS(key, label, path) { 1, REPORT_COUNT, key "_n_threads", label " number of threads", path, TRACKING_COUNTS, 0 }
#define RAM(depth, key, label, path) { depth, REPORT_NUMBER, key, label, path, TRACKING_IN_RAM, 0 }
#define GPU_RAM(key, label, path) { 1, REPORT_NUMBER, key, label, path, TRACKING_IN_GPU_RAM, 0 }
#define RSS(key, label)                                                    \
    SECTION(1, key, label),                                                \
    RAM(2, "total_rss", "Total RSS", "memory." key ".total_rss_bytes"),    \
    RAM(2, "private_rss", "Private RSS", "memory." key ".private_rss_bytes"), \
    RAM(2, "shared_rss", "Shared RSS", "memory." key ".shared_rss_bytes")
#define PERCENT(key, label, group, member) \
    { 2, REPORT_PERCENT, key, label, NULL, 0, ((group) * sizeof(struct percentages) + offsetof(struct percentages, member)) / sizeof(double) }
#define PERCENTAGES(key, label, group)                                     \
    SECTION(1, key, label),                                                \
    PERCENT("max_sum_percent", "Max sum percent", group, max_sum),         \
    PERCENT("max_hardware_percent", "Max hardware percent", group, max_hardware), \
    PERCENT("mean_sum_percent", "Mean sum percent", group, mean_sum),      \
    PERCENT("mean_hardware_percent", "Mean hardware percent", group, mean_hardware)

const struct usage_row usage_rows[USAGE_ROWS] = {
    SECTION(0, "max_ram", "Max RAM"),
    UNIT(TRACKING_RAM_UNIT),
    CAPACITY(TRACKING_RAM_CAPACITY),
    RAM(1, "system", "System", "memory.system_peak_bytes"),
    RSS("main", "Main"),
    RSS("descendants", "Descendants"),
    RSS("combined", "Combined"),
    SECTION(0, "max_gpu_ram", "Max GPU RAM"),
    UNIT(TRACKING_GPU_RAM_UNIT),
    CAPACITY(TRACKING_GPU_RAM_CAPACITY),
    GPU_RAM("system", "System", "gpu.memory.system_bytes"),
    GPU_RAM("main", "Main", "gpu.memory.main_bytes"),
    GPU_RAM("descendants", "Descendants", "gpu.memory.descendants_bytes"),
    GPU_RAM("combined", "Combined", "gpu.memory.combined_bytes"),
    SECTION(0, "cpu_utilization", "CPU utilization"),
    FACT("system_core_count", "System core count", TRACKING_CORE_COUNT),
    FACT("n_expected_cores", "Number of expected cores", TRACKING_EXPECTED_CORES),
    PERCENTAGES("system", "System", SYSTEM),
    PERCENTAGES("main", "Main", MAIN),
    PERCENTAGES("descendants", "Descendants", DESCENDANTS),
    PERCENTAGES("combined", "Combined", COMBINED),
    THREADS("main", "Main", "cpu.threads.main"),
    THREADS("descendants", "Descendants", "cpu.threads.descendants"),
    THREADS("combined", "Combined", "cpu.threads.combined"),
    SECTION(0, "gpu_utilization", "GPU utilization"),
    FACT("system_gpu_count", "System GPU count", TRACKING_GPU_COUNT),
    FACT("n_expected_gpus", "Number of expected GPUs", TRACKING_EXPECTED_GPUS),
    PERCENTAGES("gpu_percentages", "GPU percentages", GPUS),
    SECTION(0, "compute_time", "Compute time"),
    UNIT(TRACKING_TIME_UNIT),
    { 1, REPORT_TIME, "time", "Time", NULL, TRACKING_IN_TIME, 0 },
};
/* clang-format on */

static double or_zero(double value)
{
    return isnan(value) ? 0 : value;
}

/* The mean may come from a better source than the maximum, so raise the maximum to the mean. */
static struct percentages percentages(double max_units, double mean_units, double count)
{
    double mean_sum = 100 * or_zero(mean_units);
    double max_sum = fmax(100 * or_zero(max_units), mean_sum);
    double divisor = count > 0 ? count : 1;

    return (struct percentages){ max_sum, max_sum / divisor, mean_sum, mean_sum / divisor };
}

/* The kernel counts the machine's CPU time in steps of 10 ms, too coarse for a short run:
 * limit it to the machine's CPUs, and raise it to the CPU time of the job. */
static struct percentages system_percentages(double max_cores, double mean_cores,
                                             const struct percentages *job, double count)
{
    struct percentages system = percentages(max_cores, mean_cores, count);
    double max_sum = fmax(fmin(system.max_sum, 100 * count), job->max_sum);
    double mean_sum = fmax(fmin(system.mean_sum, 100 * count), job->mean_sum);

    return percentages(max_sum / 100, mean_sum / 100, count);
}

struct resource_usage usage_of(const struct tracking_facts *facts, const struct rows *rows,
                               double elapsed_seconds, usage_figure *figure, void *data)
{
    static const struct {
        const char *max;
        enum tracking_column column;
    } parts[] = {
        [MAIN] = { "cpu.main.max_cores", TRACKING_CPU_MAIN_SUM_UTILIZATION_PERCENT },
        [DESCENDANTS] = { "cpu.descendants.max_cores",
                          TRACKING_CPU_DESCENDANTS_SUM_UTILIZATION_PERCENT },
        [COMBINED] = { "cpu.max_cores", TRACKING_CPU_COMBINED_SUM_UTILIZATION_PERCENT },
    };
    const double *numbers = facts->numbers;
    struct percentages groups[GROUPS];
    struct resource_usage usage = { 0 };

    for (size_t i = MAIN; i <= COMBINED; i++)
        groups[i] = percentages(figure(data, parts[i].max),
                                rows_cpu_seconds(rows, parts[i].column) / elapsed_seconds,
                                numbers[TRACKING_EXPECTED_CORES]);
    groups[GPUS] =
        percentages(figure(data, "gpu.utilization.max_gpus"),
                    figure(data, "gpu.utilization.mean_gpus"), numbers[TRACKING_EXPECTED_GPUS]);
    groups[SYSTEM] = system_percentages(figure(data, "cpu.system.max_cores"),
                                        figure(data, "cpu.system.mean_cores"),
                                        &groups[COMBINED], numbers[TRACKING_CORE_COUNT]);
    for (size_t i = 0; i < USAGE_ROWS; i++) {
        const struct usage_row *row = &usage_rows[i];
        double *number = &usage.values[i].number;

        if (row->kind == REPORT_UNIT)
            usage.values[i].unit = facts->texts[row->place];
        else if (row->kind == REPORT_PERCENT)
            *number = ((const double *)groups)[row->place];
        else if (row->path)
            *number = or_zero(figure(data, row->path)) * usage_scale(facts, row->unit);
        else if (row->kind == REPORT_TIME)
            *number = elapsed_seconds * usage_scale(facts, row->unit);
        else
            *number = numbers[row->place];
    }
    return usage;
}

/* ---- rows --------------------------------------------------------------- */

void rows_init(struct rows *rows, const struct tracking_facts *facts, double interval_seconds)
{
    static const char *const peaks[ROWS_PEAKS] = { "main_rss_peak_bytes",
                                                   "descendants_rss_peak_bytes",
                                                   "job_rss_peak_bytes" };

    *rows = (struct rows){ .facts = facts, .interval_seconds = interval_seconds };
    for (size_t i = 0; i < ROWS_METRICS; i++) {
        const char *name =
            i < TRACKING_COLUMNS ? tracking_row_fields[i].metric : peaks[i - TRACKING_COLUMNS];

        rows->metric[i] = name ? (size_t)replay_metric(name) : SIZE_MAX;
    }
}

static struct rows_sample keep(const struct rows *rows, const struct spoor_sample *sample)
{
    struct rows_sample kept = { .elapsed_seconds = sample->elapsed_seconds,
                                .unix_seconds = sample->unix_seconds };

    for (size_t i = 0; i < ROWS_METRICS; i++) {
        size_t index = rows->metric[i];

        kept.value[i] = index < sample->count ? sample->moments[index] : (double)NAN;
    }
    return kept;
}

/* Returns the CPU time between two samples, in percent of a core; 0 if unknown. */
static double percent(const struct rows_sample *from, const struct rows_sample *to,
                      size_t metric)
{
    double seconds = to->elapsed_seconds - from->elapsed_seconds;
    double growth = to->value[metric] - from->value[metric];

    return growth > 0 && seconds > 0 ? 100 * growth / seconds : 0;
}

/* Raises the memory of a command that ended before its first row to the peaks of the kernel. */
static void raise_ram(const struct rows *rows, double row[TRACKING_COLUMNS])
{
    for (size_t i = 0; i < ROWS_PEAKS; i++) {
        double peak = rows->latest.value[TRACKING_COLUMNS + i];

        if (peak > rows->first.value[TRACKING_COLUMNS + i]) /* false if NaN */
            row[i] = fmax(row[i], peak * usage_scale(rows->facts, TRACKING_IN_RAM));
    }
}

static void fill(struct rows *rows, const struct rows_sample *from,
                 double row[TRACKING_COLUMNS])
{
    double *system = &row[TRACKING_CPU_SYSTEM_SUM_UTILIZATION_PERCENT];
    double *gpus = &row[TRACKING_GPU_SUM_UTILIZATION_PERCENT];
    const double *numbers = rows->facts->numbers;
    double core_count = numbers[TRACKING_CORE_COUNT];
    double gpu_count = numbers[TRACKING_EXPECTED_GPUS];

    for (size_t i = 0; i < TRACKING_TIMESTAMP; i++) {
        const struct tracking_field *field = &tracking_row_fields[i];
        const struct rows_sample *sample =
            field->moment == TRACKING_HELD ? &rows->alive : &rows->latest;

        if (!field->metric)
            row[i] = row[i - 1] / numbers[TRACKING_EXPECTED_CORES];
        else if (field->moment == TRACKING_RATE)
            row[i] = percent(from, &rows->latest, i);
        else
            row[i] = sample->value[i] * usage_scale(rows->facts, field->unit);
    }
    gpus[1] = gpu_count > 0 ? gpus[0] / gpu_count : 0;
    /* The kernel counts the machine's CPU time in steps of 10 ms, too coarse for a short
     * time. */
    system[0] = fmin(system[0], 100 * core_count);
    system[1] = system[0] / core_count;
    row[TRACKING_TIMESTAMP] = rows->latest.unix_seconds;
    rows->is_latest_written = true;
    rows->row_count++;
}

static bool is_due(const struct rows *rows, const double *wanted_after)
{
    const struct rows_sample *previous = &rows->previous;
    double seconds = rows->latest.elapsed_seconds - previous->elapsed_seconds;

    if (!wanted_after)
        return seconds >= rows->interval_seconds / 2;
    /* Over less than a millisecond, CPU percentages would be noise. */
    return rows->row_count == 0 || seconds >= 0.001 || previous->unix_seconds <= *wanted_after;
}

bool rows_take(struct rows *rows, const struct spoor_sample *sample, const double *wanted_after,
               double row[TRACKING_COLUMNS])
{
    rows->latest = keep(rows, sample);
    rows->is_latest_written = false;
    /* The first sample is taken before the command runs: all intervals start with it. */
    if (rows->sample_count++ == 0) {
        rows->first = rows->latest;
        rows->alive = rows->previous = rows->older = rows->latest;
        return false;
    }
    /* An exiting process loses its memory before its last thread. */
    if (rows->latest.value[TRACKING_MAIN_N_THREADS] > 0 &&
        !(rows->latest.value[TRACKING_MAIN_RAM] <= 0))
        rows->alive = rows->latest;
    if (!is_due(rows, wanted_after))
        return false;
    fill(rows, &rows->previous, row);
    rows->older = rows->previous;
    rows->previous = rows->latest;
    return true;
}

bool rows_peak(const struct rows *rows, const struct spoor_sample *sample, double start,
               double row[TRACKING_COLUMNS])
{
    const double little = 1.02; /* ignore the usual fluctuation */
    bool is_more = false;

    for (size_t i = 0; i < ROWS_PEAKS; i++) {
        size_t index = rows->metric[i];
        double value = index < sample->count ? sample->values[index] : (double)NAN;
        double peak = value * usage_scale(rows->facts, TRACKING_IN_RAM);

        is_more |= peak > row[i] * little;
        row[i] = fmax(row[i], peak); /* fmax() ignores NaN */
    }
    start = fmax(start, rows->older.unix_seconds); /* keep rows in order of time */
    row[TRACKING_TIMESTAMP] = (start + sample->unix_seconds) / 2;
    return is_more;
}

bool rows_finish(struct rows *rows, double row[TRACKING_COLUMNS])
{
    if (rows->sample_count < 2 || rows->is_latest_written)
        return false;
    fill(rows, &rows->older, row);
    if (rows->row_count == 1)
        raise_ram(rows, row);
    return true;
}

double rows_cpu_seconds(const struct rows *rows, enum tracking_column column)
{
    double value = rows->latest.value[column] - rows->first.value[column];

    if (rows->sample_count == 0)
        return (double)NAN;
    return value < 0 ? 0 : value;
}

/* ---- the report ---------------------------------------------------------
 *
 * JSON is formatted like Python's json.dumps(indent=1). In text, numbers are rounded to three
 * decimals and keep at most one trailing zero ("1.0"); the indent is three blanks.
 */

enum { NAME_SIZE = 64 };

/* Returns a key or label, in the older spelling if requested. `buf` has NAME_SIZE bytes. */
static const char *spell(const char *name, const struct report_style *style, char *buf)
{
    static const char newer[] = "escendants";
    char *found;

    (void)snprintf(buf, NAME_SIZE, "%s", name); /* always fits: the names are from the tables */
    found = style->is_descendents ? strstr(buf, newer) : NULL;
    if (found)
        memcpy(found, "escendents", strlen(newer));
    return buf;
}

/* Each line but the first begins with a newline, so the text does not end with one. */
static void write_text(const struct resource_usage *usage, const struct report_style *style,
                       struct buffer *out)
{
    for (size_t i = 0; i < USAGE_ROWS; i++) {
        const struct usage_row *row = &usage_rows[i];
        double number = usage->values[i].number;
        char name[NAME_SIZE];

        buffer_format(out, "%s%*s%s:", i > 0 ? "\n" : "", (int)(3 * row->depth), "",
                      spell(row->label, style, name));
        if (row->kind == REPORT_UNIT) {
            buffer_add(out, " ", 1);
            escape_unsafe(usage->values[i].unit, out);
        } else if (row->kind == REPORT_COUNT) {
            buffer_format(out, " %" PRIu64, (uint64_t)number);
        } else if (row->kind != REPORT_SECTION) {
            buffer_format(out, " %s", decimal_float(decimal_round(number, 3)).text);
        }
    }
}

static void write_json(const struct resource_usage *usage, const struct report_style *style,
                       struct buffer *out)
{
    struct json_writer json = { .out = out, .style = &json_python };
    unsigned depth = 0;

    json_begin(&json, NULL, '{');
    for (size_t i = 0; i < USAGE_ROWS; i++) {
        const struct usage_row *row = &usage_rows[i];
        char buf[NAME_SIZE];
        const char *key = spell(row->key, style, buf);

        for (; depth > row->depth; depth--)
            json_end(&json);
        depth += row->kind == REPORT_SECTION;
        if (row->kind == REPORT_SECTION)
            json_begin(&json, key, '{');
        else if (row->kind == REPORT_UNIT)
            json_add_text(&json, key, usage->values[i].unit);
        else if (row->kind == REPORT_COUNT)
            json_add_u64(&json, key, (uint64_t)usage->values[i].number);
        else
            json_add_number(&json, key, usage->values[i].number);
    }
    for (; depth > 0; depth--)
        json_end(&json);
    json_end(&json);
}

void report_write(const struct resource_usage *usage, struct report_style style,
                  struct buffer *out)
{
    if (style.format == GPU_TRACKER_JSON)
        write_json(usage, &style, out);
    else
        write_text(usage, &style, out);
}
