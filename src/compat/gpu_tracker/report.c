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

/* A link, pipe or file that may be a trap. A device is none. */
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

/* Follows links, and also writes to devices and pipes. */
static int write_in_place(const char *path, const struct buffer *text)
{
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);
    int r;

    if (fd < 0)
        return -errno;
    r = buffer_write(text, fd);
    return r == 0 && close(take_fd(&fd)) < 0 ? -errno : r;
}

/* A file is replaced as a whole, if its directory can be written. */
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

enum figure_kind { RAM, GPU_RAM, NUMBER };

static const struct {
    enum figure_kind kind;
    const char *path;
    size_t place;
} figures[] = {
#define ROW(kind, path, member)                             \
    {                                                       \
        kind, path, offsetof(struct resource_usage, member) \
    }
    ROW(RAM, "memory.system_peak_bytes", max_ram.system),
    ROW(RAM, "memory.main.total_rss_bytes", max_ram.main.total_rss),
    ROW(RAM, "memory.main.private_rss_bytes", max_ram.main.private_rss),
    ROW(RAM, "memory.main.shared_rss_bytes", max_ram.main.shared_rss),
    ROW(RAM, "memory.descendants.total_rss_bytes", max_ram.descendants.total_rss),
    ROW(RAM, "memory.descendants.private_rss_bytes", max_ram.descendants.private_rss),
    ROW(RAM, "memory.descendants.shared_rss_bytes", max_ram.descendants.shared_rss),
    ROW(RAM, "memory.combined.total_rss_bytes", max_ram.combined.total_rss),
    ROW(RAM, "memory.combined.private_rss_bytes", max_ram.combined.private_rss),
    ROW(RAM, "memory.combined.shared_rss_bytes", max_ram.combined.shared_rss),
    ROW(GPU_RAM, "gpu.memory.system_bytes", max_gpu_ram.system),
    ROW(GPU_RAM, "gpu.memory.main_bytes", max_gpu_ram.main),
    ROW(GPU_RAM, "gpu.memory.descendants_bytes", max_gpu_ram.descendants),
    ROW(GPU_RAM, "gpu.memory.combined_bytes", max_gpu_ram.combined),
    ROW(NUMBER, "cpu.threads.main", cpu.main_thread_count),
    ROW(NUMBER, "cpu.threads.descendants", cpu.descendants_thread_count),
    ROW(NUMBER, "cpu.threads.combined", cpu.combined_thread_count),
#undef ROW
};

static double or_zero(double value)
{
    return isnan(value) ? 0 : value;
}

/* The mean may come from a better source than the maximum, and is never above it. */
static struct unit_percentages percentages(double max_units, double mean_units, uint64_t count)
{
    double mean_sum = 100 * or_zero(mean_units);
    double max_sum = fmax(100 * or_zero(max_units), mean_sum);
    double divisor = count > 0 ? (double)count : 1;

    return (struct unit_percentages){ max_sum, max_sum / divisor, mean_sum,
                                      mean_sum / divisor };
}

/* The machine's CPU time comes in steps of 10 ms, too coarse for a short run: it is limited to the
 * machine's CPUs, and is at least the job's. */
static struct unit_percentages bounded(struct unit_percentages system,
                                       const struct unit_percentages *job, uint64_t count)
{
    double all = 100 * (double)count;
    double max_sum = fmax(fmin(system.max_sum, all), job->max_sum);
    double mean_sum = fmax(fmin(system.mean_sum, all), job->mean_sum);

    return percentages(max_sum / 100, mean_sum / 100, count);
}

static void set_row(struct resource_usage *usage, size_t i, const struct usage_facts *facts,
                    double value)
{
    void *place = (char *)usage + figures[i].place;

    value = or_zero(value);
    switch (figures[i].kind) {
    case RAM:
        *(double *)place = value * facts->ram_unit->coefficient;
        break;
    case GPU_RAM:
        *(double *)place = value * facts->gpu_ram_unit->coefficient;
        break;
    case NUMBER:
        *(uint64_t *)place = (uint64_t)value;
        break;
    }
}

struct resource_usage usage_of(const struct usage_facts *facts, const struct usage_run *run,
                               usage_figure *figure, void *data)
{
    uint64_t cores = facts->expected_core_count;
    double seconds = run->elapsed_seconds;
    struct resource_usage usage = {
        .max_ram.unit = facts->ram_unit->name,
        .max_ram.system_capacity = facts->ram_bytes * facts->ram_unit->coefficient,
        .max_gpu_ram.unit = facts->gpu_ram_unit->name,
        .max_gpu_ram.system_capacity = facts->gpu_ram_bytes * facts->gpu_ram_unit->coefficient,
        .cpu.system_core_count = facts->core_count,
        .cpu.expected_core_count = cores,
        .cpu.system = percentages(figure(data, "cpu.system.max_cores"),
                                  figure(data, "cpu.system.mean_cores"), facts->core_count),
        .cpu.main = percentages(figure(data, "cpu.main.max_cores"),
                                run->main_cpu_seconds / seconds, cores),
        .cpu.descendants = percentages(figure(data, "cpu.descendants.max_cores"),
                                       run->descendants_cpu_seconds / seconds, cores),
        .cpu.combined = percentages(figure(data, "cpu.max_cores"),
                                    run->combined_cpu_seconds / seconds, cores),
        .gpu.system_gpu_count = facts->gpu_count,
        .gpu.expected_gpu_count = facts->expected_gpu_count,
        .gpu.percentages =
            percentages(figure(data, "gpu.utilization.max_gpus"),
                        figure(data, "gpu.utilization.mean_gpus"), facts->expected_gpu_count),
        .compute_time.unit = facts->time_unit->name,
        .compute_time.time = seconds * facts->time_unit->coefficient,
    };

    usage.cpu.system = bounded(usage.cpu.system, &usage.cpu.combined, facts->core_count);
    for (size_t i = 0; i < ARRAY_SIZE(figures); i++)
        set_row(&usage, i, facts, figure(data, figures[i].path));
    return usage;
}

/* ---- rows --------------------------------------------------------------- */

static size_t find_metric(const char *name)
{
    for (size_t i = 0; name && i < spoor_metric_count(); i++) {
        if (strcmp(spoor_metric_get(i)->name, name) == 0)
            return i;
    }
    return SIZE_MAX;
}

void rows_init(struct rows *rows, const struct usage_facts *facts, double interval_seconds)
{
    static const char *const peaks[ROWS_PEAKS] = { "main_rss_peak_bytes",
                                                   "descendants_rss_peak_bytes",
                                                   "job_rss_peak_bytes" };

    *rows = (struct rows){ .facts = facts, .interval_seconds = interval_seconds };
    for (size_t i = 0; i < ROWS_METRICS; i++)
        rows->metric[i] = find_metric(i < TRACKING_COLUMNS ? tracking_row_fields[i].metric
                                                           : peaks[i - TRACKING_COLUMNS]);
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

/* CPU time per second in percent of a core, from one sample to another. Unknown is 0. */
static double percent(const struct rows_sample *from, const struct rows_sample *to,
                      size_t metric)
{
    double seconds = to->elapsed_seconds - from->elapsed_seconds;
    double growth = to->value[metric] - from->value[metric];

    return growth > 0 && seconds > 0 ? 100 * growth / seconds : 0;
}

/* The command has ended and has no row yet: use the kernel's peak. */
static void raise_ram(const struct rows *rows, double row[TRACKING_COLUMNS])
{
    for (size_t i = 0; i < ROWS_PEAKS; i++) {
        double peak = rows->latest.value[TRACKING_COLUMNS + i];

        if (peak > rows->first.value[TRACKING_COLUMNS + i]) /* the other one, if one is NaN */
            row[i] = fmax(row[i], peak * rows->facts->ram_unit->coefficient);
    }
}

static double scale_of(const struct rows *rows, enum tracking_unit unit)
{
    switch (unit) {
    case TRACKING_IN_RAM:
        return rows->facts->ram_unit->coefficient;
    case TRACKING_IN_GPU_RAM:
        return rows->facts->gpu_ram_unit->coefficient;
    case TRACKING_PERCENT:
        return 100;
    case TRACKING_COUNTS:
        break;
    }
    return 1;
}

static void fill(struct rows *rows, const struct rows_sample *from,
                 double row[TRACKING_COLUMNS])
{
    double *system = &row[TRACKING_CPU_SYSTEM_SUM_UTILIZATION_PERCENT];
    double *gpus = &row[TRACKING_GPU_SUM_UTILIZATION_PERCENT];
    double core_count = (double)rows->facts->core_count;
    double gpu_count = (double)rows->facts->expected_gpu_count;

    for (size_t i = 0; i < TRACKING_TIMESTAMP; i++) {
        const struct tracking_field *field = &tracking_row_fields[i];
        const struct rows_sample *sample =
            field->moment == TRACKING_HELD ? &rows->alive : &rows->latest;

        if (!field->metric)
            row[i] = row[i - 1] / (double)rows->facts->expected_core_count;
        else if (field->moment == TRACKING_RATE)
            row[i] = percent(from, &rows->latest, i);
        else
            row[i] = sample->value[i] * scale_of(rows, field->unit);
    }
    gpus[1] = gpu_count > 0 ? gpus[0] / gpu_count : 0;
    /* The machine's CPU time comes in steps of 10 ms, too coarse for a short time. */
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
    /* Over a shorter time CPU percentages would be noise. */
    return rows->row_count == 0 || seconds >= 0.001 || previous->unix_seconds <= *wanted_after;
}

bool rows_take(struct rows *rows, const struct spoor_sample *sample, const double *wanted_after,
               double row[TRACKING_COLUMNS])
{
    rows->latest = keep(rows, sample);
    rows->is_latest_written = false;
    if (rows->sample_count++ == 0) { /* before the command runs: all windows start here */
        rows->first = rows->latest;
        rows->alive = rows->previous = rows->older = rows->latest;
        return false;
    }
    /* A process that exits gives up its memory before its last thread. */
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
        double peak = value * rows->facts->ram_unit->coefficient;

        is_more |= peak > row[i] * little;
        row[i] = fmax(row[i], peak); /* the other one, if one is NaN */
    }
    start = fmax(start, rows->older.unix_seconds); /* the rows stay in the order of time */
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

static double growth(const struct rows *rows, enum tracking_column metric)
{
    double value = rows->latest.value[metric] - rows->first.value[metric];

    if (rows->sample_count == 0)
        return (double)NAN;
    return value < 0 ? 0 : value;
}

void rows_cpu(const struct rows *rows, struct usage_run *run)
{
    run->main_cpu_seconds = growth(rows, TRACKING_CPU_MAIN_SUM_UTILIZATION_PERCENT);
    run->descendants_cpu_seconds =
        growth(rows, TRACKING_CPU_DESCENDANTS_SUM_UTILIZATION_PERCENT);
    run->combined_cpu_seconds = growth(rows, TRACKING_CPU_COMBINED_SUM_UTILIZATION_PERCENT);
}

/* ---- the report ---------------------------------------------------------
 *
 * JSON is formatted like Python's json.dumps(indent=1). Text rounds to three decimals, drops trailing zeros
 * but for one, and indents by three blanks.
 */

enum kind { SECTION, WORD, FLOAT, COUNT };

/* Ended by a row without a key. */
struct row {
    enum kind kind;
    const char *key;
    const char *label;
    size_t place;             /* in the struct that the table is of */
    const struct row *inside; /* of a SECTION: the table of the struct at that place */
};

/* clang-format off */
#define AT(member) offsetof(struct rss_values, member)
static const struct row rss_rows[] = {
    { FLOAT, "total_rss",   "Total RSS",   AT(total_rss),   NULL },
    { FLOAT, "private_rss", "Private RSS", AT(private_rss), NULL },
    { FLOAT, "shared_rss",  "Shared RSS",  AT(shared_rss),  NULL },
    { 0 },
};
#undef AT

#define AT(member) offsetof(struct unit_percentages, member)
static const struct row percentage_rows[] = {
    { FLOAT, "max_sum_percent",       "Max sum percent",       AT(max_sum),       NULL },
    { FLOAT, "max_hardware_percent",  "Max hardware percent",  AT(max_hardware),  NULL },
    { FLOAT, "mean_sum_percent",      "Mean sum percent",      AT(mean_sum),      NULL },
    { FLOAT, "mean_hardware_percent", "Mean hardware percent", AT(mean_hardware), NULL },
    { 0 },
};
#undef AT

#define AT(member) offsetof(struct resource_usage, member)
static const struct row ram_rows[] = {
    { WORD,    "unit",            "Unit",            AT(max_ram.unit),            NULL },
    { FLOAT,   "system_capacity", "System capacity", AT(max_ram.system_capacity), NULL },
    { FLOAT,   "system",          "System",          AT(max_ram.system),          NULL },
    { SECTION, "main",            "Main",            AT(max_ram.main),            rss_rows },
    { SECTION, "descendants",     "Descendants",     AT(max_ram.descendants),     rss_rows },
    { SECTION, "combined",        "Combined",        AT(max_ram.combined),        rss_rows },
    { 0 },
};

static const struct row gpu_ram_rows[] = {
    { WORD,  "unit",            "Unit",            AT(max_gpu_ram.unit),            NULL },
    { FLOAT, "system_capacity", "System capacity", AT(max_gpu_ram.system_capacity), NULL },
    { FLOAT, "system",          "System",          AT(max_gpu_ram.system),          NULL },
    { FLOAT, "main",            "Main",            AT(max_gpu_ram.main),            NULL },
    { FLOAT, "descendants",     "Descendants",     AT(max_gpu_ram.descendants),     NULL },
    { FLOAT, "combined",        "Combined",        AT(max_gpu_ram.combined),        NULL },
    { 0 },
};

static const struct row cpu_rows[] = {
    { COUNT,   "system_core_count",     "System core count",             AT(cpu.system_core_count),        NULL },
    { COUNT,   "n_expected_cores",      "Number of expected cores",      AT(cpu.expected_core_count),      NULL },
    { SECTION, "system",                "System",                        AT(cpu.system),                   percentage_rows },
    { SECTION, "main",                  "Main",                          AT(cpu.main),                     percentage_rows },
    { SECTION, "descendants",           "Descendants",                   AT(cpu.descendants),              percentage_rows },
    { SECTION, "combined",              "Combined",                      AT(cpu.combined),                 percentage_rows },
    { COUNT,   "main_n_threads",        "Main number of threads",        AT(cpu.main_thread_count),        NULL },
    { COUNT,   "descendants_n_threads", "Descendants number of threads", AT(cpu.descendants_thread_count), NULL },
    { COUNT,   "combined_n_threads",    "Combined number of threads",    AT(cpu.combined_thread_count),    NULL },
    { 0 },
};

static const struct row gpu_rows[] = {
    { COUNT,   "system_gpu_count", "System GPU count",        AT(gpu.system_gpu_count),   NULL },
    { COUNT,   "n_expected_gpus",  "Number of expected GPUs", AT(gpu.expected_gpu_count), NULL },
    { SECTION, "gpu_percentages",  "GPU percentages",         AT(gpu.percentages),        percentage_rows },
    { 0 },
};

static const struct row time_rows[] = {
    { WORD,  "unit", "Unit", AT(compute_time.unit), NULL },
    { FLOAT, "time", "Time", AT(compute_time.time), NULL },
    { 0 },
};

static const struct row report_rows[] = {
    { SECTION, "max_ram",         "Max RAM",         0, ram_rows },
    { SECTION, "max_gpu_ram",     "Max GPU RAM",     0, gpu_ram_rows },
    { SECTION, "cpu_utilization", "CPU utilization", 0, cpu_rows },
    { SECTION, "gpu_utilization", "GPU utilization", 0, gpu_rows },
    { SECTION, "compute_time",    "Compute time",    0, time_rows },
    { 0 },
};
#undef AT

/* clang-format on */

enum { NAME_SIZE = 64 };

/* A key or label, in the older spelling if requested. `buf` has NAME_SIZE bytes. */
static const char *spell(const char *name, const struct report_style *style, char *buf)
{
    static const char newer[] = "escendants";
    char *found;

    (void)snprintf(buf, NAME_SIZE, "%s", name); /* fits: those of the tables */
    found = style->is_descendents ? strstr(buf, newer) : NULL;
    if (found)
        memcpy(found, "escendents", strlen(newer));
    return buf;
}

/* Rounded to three decimals first, then the shortest decimal of that. */
static double rounded(double value)
{
    char text[400]; /* the largest double has 309 digits before the point */
    double again = value;

    (void)snprintf(text, sizeof(text), "%.3f", value); /* fits */
    (void)decimal_parse(text, &again);                 /* it was a number */
    return again;
}

/* Each line ends the one before it: there is none to end at the very start. */
static void write_text(struct buffer *out, const struct row *rows, const char *base,
                       unsigned depth, const struct report_style *style)
{
    for (const struct row *row = rows; row->key; row++) {
        const void *place = base + row->place;
        char name[NAME_SIZE];

        if (depth > 0 || row > rows)
            buffer_add(out, "\n", 1);
        buffer_format(out, "%*s%s:", (int)(3 * depth), "", spell(row->label, style, name));
        switch (row->kind) {
        case SECTION:
            write_text(out, row->inside, place, depth + 1, style);
            break;
        case WORD:
            buffer_add(out, " ", 1);
            escape_unsafe(*(const char *const *)place, out);
            break;
        case COUNT:
            buffer_format(out, " %" PRIu64, *(const uint64_t *)place);
            break;
        case FLOAT:
            buffer_format(out, " %s", decimal_float(rounded(*(const double *)place)).text);
            break;
        }
    }
}

static void write_json(struct json_writer *json, const char *key, const struct row *rows,
                       const char *base, const struct report_style *style)
{
    json_begin(json, key, '{');
    for (const struct row *row = rows; row->key; row++) {
        const void *place = base + row->place;
        char buf[NAME_SIZE];
        const char *name = spell(row->key, style, buf);

        switch (row->kind) {
        case SECTION:
            write_json(json, name, row->inside, place, style);
            break;
        case WORD:
            json_add_text(json, name, *(const char *const *)place);
            break;
        case COUNT:
            json_add_u64(json, name, *(const uint64_t *)place);
            break;
        case FLOAT:
            json_add_number(json, name, *(const double *)place);
            break;
        }
    }
    json_end(json);
}

void report_write(const struct resource_usage *usage, struct report_style style,
                  struct buffer *out)
{
    struct json_writer json = { .out = out, .style = &json_python };

    if (style.format == GPU_TRACKER_JSON)
        write_json(&json, NULL, report_rows, (const char *)usage, &style);
    else
        write_text(out, report_rows, (const char *)usage, 0, &style);
}
