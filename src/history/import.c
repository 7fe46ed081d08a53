/* SPDX-License-Identifier: Apache-2.0 */
#include "history/import.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/error.h"
#include "record/row.h"
#include "text/find.h"
#include "text/json_member.h"
#include "text/number.h"

/* The form of a value in the file. */
enum unit {
    TEXT,
    COUNT,
    NUMBER,
    SECONDS,   /* a number */
    MEBIBYTES, /* a number */
    SIZE,      /* "29.8 MB" (2^20 bytes), or bytes */
    DURATION,  /* "1m 11s", or milliseconds */
    PERCENT,   /* "35.7%": percent of a core */
    DATE,      /* "2014-10-23 16:33:16.288" local time, or milliseconds since 1970 */
    UNIX,      /* seconds since 1970 */
};

/* A column or member of a file, and the column of a row (record/row.h) that it becomes. If
 * several become the same column, the last known value is used. */
struct column {
    const char *name;
    const char *row;
    enum unit unit;
};

#define MEMORY "memory_combined_total_rss_bytes"

static const struct column snakemake[] = {
    { "s", "elapsed_seconds", SECONDS },
    { "max_rss", MEMORY, MEBIBYTES },
    { "max_uss", "memory_combined_private_rss_bytes", MEBIBYTES },
    { "max_pss", "memory_combined_pss_bytes", MEBIBYTES },
    { "io_in", "io_read_bytes", MEBIBYTES },
    { "io_out", "io_written_bytes", MEBIBYTES },
    { "cpu_time", "cpu_total_seconds", SECONDS },
    { "rule_name", "name", TEXT },
    { "threads", "limits_cpus", NUMBER },
};

static const struct column nextflow[] = {
    { "name", "name", TEXT },
    { "hash", "tag.hash", TEXT },
    { "status", "tag.status", TEXT },
    { "exit", "exit_code", COUNT },
    { "submit", "started_at", DATE },
    { "start", "started_at", DATE },
    { "complete", "ended_at", DATE },
    { "realtime", "elapsed_seconds", DURATION },
    { "%cpu", "cpu_mean_cores", PERCENT },
    { "peak_rss", MEMORY, SIZE },
    { "rchar", "io_read_chars", SIZE },
    { "wchar", "io_written_chars", SIZE },
    { "read_bytes", "io_read_bytes", SIZE },
    { "write_bytes", "io_written_bytes", SIZE },
    { "vol_ctxt", "cpu_context_switches_voluntary", COUNT },
    { "inv_ctxt", "cpu_context_switches_involuntary", COUNT },
    { "cpus", "limits_cpus", NUMBER },
    { "memory", "limits_memory_bytes", SIZE },
    { "workdir", "cwd", TEXT },
    { "hostname", "host", TEXT },
    { "cpu_model", "host_cpu_model", TEXT },
};

static const struct column duct[] = {
    { "execution_summary.exit_code", "exit_code", COUNT },
    { "execution_summary.command", "command", TEXT },
    { "execution_summary.wall_clock_time", "elapsed_seconds", SECONDS },
    { "execution_summary.peak_rss", MEMORY, NUMBER },
    { "execution_summary.average_pcpu", "cpu_mean_cores", PERCENT },
    { "execution_summary.peak_pcpu", "cpu_max_cores", PERCENT },
    { "execution_summary.num_samples", "samples", COUNT },
    { "execution_summary.start_time", "started_at", UNIX },
    { "execution_summary.end_time", "ended_at", UNIX },
    { "execution_summary.working_directory", "cwd", TEXT },
    { "working_directory", "cwd", TEXT },
    { "system.hostname", "host", TEXT },
    { "system.user", "user", TEXT },
    { "system.cpu_total", "host_cpus", COUNT },
    { "system.memory_total", "host_memory_bytes", COUNT },
    { "message", "tag.message", TEXT },
};

/* ---- values --------------------------------------------------------------- */

static double read_size(const char *text)
{
    static const char units[] = "KMGTP";
    double value;
    const char *unit;

    if (number_read(&text, &value) < 0 || value < 0)
        return (double)NAN;
    text += strspn(text, " ");
    unit = *text ? strchr(units, *text) : NULL;
    return value * (unit ? pow(1024, (double)(unit - units) + 1) : 1);
}

static double read_duration(const char *text)
{
    AUTO_FREE char *copy = strdup(text);
    char *rest = copy, *word;
    double seconds = 0, number;

    if (decimal_parse(text, &number) == 0)
        return number / 1e3;
    while (copy && (word = strsep(&rest, " ")) != NULL) {
        uint64_t ns;

        if (duration_parse(word, &ns) < 0)
            return (double)NAN;
        seconds += (double)ns / (double)NS_PER_SECOND;
    }
    return seconds;
}

static double read_date(const char *text)
{
    struct tm date = { .tm_isdst = -1 };
    double number, fraction = 0;
    const char *rest;

    if (decimal_parse(text, &number) == 0)
        return number / 1e3;
    rest = strptime(text, "%Y-%m-%d %H:%M:%S", &date);
    if (!rest)
        return (double)NAN;
    if (*rest == '.')
        (void)number_read(&rest, &fraction); /* stays 0 if there is no fraction */
    return (double)mktime(&date) + fraction;
}

static double read_number(const char *text)
{
    double value;

    return number_read(&text, &value) == 0 ? value : (double)NAN;
}

/* Converts a text to the value of a row; NULL: the value is unknown. */
static json_t *make_value(const char *text, enum unit unit)
{
    double value = (double)NAN;

    switch (unit) {
    case TEXT:
        return json_string(text);
    case COUNT:
    case NUMBER:
    case SECONDS:
        value = read_number(text);
        break;
    case MEBIBYTES:
        value = read_number(text) * 1024 * 1024;
        break;
    case SIZE:
        value = read_size(text);
        break;
    case DURATION:
        value = read_duration(text);
        break;
    case PERCENT:
        value = read_number(text) / 100;
        break;
    case DATE:
    case UNIX:
        value = unit == DATE ? read_date(text) : read_number(text);
        return isnan(value) ? NULL : json_string(clock_format(value).text);
    }
    if (isnan(value))
        return NULL;
    /* Sizes and counts are whole numbers, even if they were rounded. */
    return unit == COUNT || unit == MEBIBYTES || unit == SIZE
               ? json_integer((json_int_t)llround(value))
               : json_real(value);
}

static void add_value(json_t *row, const struct column *column, const char *text)
{
    json_t *value = *text && strcmp(text, "-") != 0 && strcmp(text, "NA") != 0
                        ? make_value(text, column->unit)
                        : NULL;

    if (value)
        (void)json_object_set_new(row, column->row, value); /* unknown if out of memory */
}

/* ---- rows ----------------------------------------------------------------- */

/* Adds the CPU time, if it can be computed, and marks all figures as sampled. */
static void complete_row(json_t *row)
{
    const json_t *cores = json_object_get(row, "cpu_mean_cores");
    const json_t *seconds = json_object_get(row, "elapsed_seconds");
    json_t *sampled = json_array(), *value;
    const char *name;

    if (cores && seconds && !json_object_get(row, "cpu_total_seconds"))
        (void)json_object_set_new(
            row, "cpu_total_seconds",
            json_real(json_number_value(cores) * json_number_value(seconds)));
    json_object_foreach(row, name, value)
    {
        if (json_is_number(value))
            (void)json_array_append_new(sampled, json_string(name));
    }
    (void)json_object_set_new(row, "sampled", sampled);
}

/* `number`: number of the row, from 1; 0: the file is one run. */
static int add_run(json_t *row, const char *path, size_t number, struct records *records,
                   struct spoor_error *err)
{
    struct record *next = records_next(records, err);
    const char *base = basename(path);
    char origin[300];
    int r;

    if (!next)
        return -ENOMEM;
    complete_row(row);
    (void)snprintf(origin, sizeof(origin), number > 0 ? "%.250s:%zu" : "%.250s", base, number);
    (void)json_object_set_new(row, "tag.imported", json_string(origin));
    if (!json_object_get(row, "name") && number > 0)
        (void)json_object_set_new(row, "name", json_stringn(base, strcspn(base, ".")));
    r = row_from_json(row, next, err);
    records->count += r == 0;
    return r;
}

/* ---- tables --------------------------------------------------------------- */

enum { COLUMNS_MAX = 128 };

static int read_table(char *text, const struct column *columns, size_t count, const char *path,
                      struct records *ret, struct spoor_error *err)
{
    const struct column *heading[COLUMNS_MAX] = { NULL };
    char *line, *cell;
    int r = 0;

    for (size_t number = 0; r == 0 && (line = strsep(&text, "\n")) != NULL; number++) {
        json_auto_t *row = json_object();

        line[strcspn(line, "\r")] = '\0';
        for (size_t i = 0; *line && i < COLUMNS_MAX && (cell = strsep(&line, "\t")) != NULL;
             i++) {
            if (number == 0)
                heading[i] = FIND_IN_LIST(columns, count, name, cell);
            else if (heading[i])
                add_value(row, heading[i], cell);
            if (!line)
                break;
        }
        if (json_object_size(row) > 0)
            r = add_run(row, path, number, ret, err);
    }
    return r;
}

/* ---- con/duct ------------------------------------------------------------- */

static int read_duct(const struct buffer *text, const char *path, struct records *ret,
                     struct spoor_error *err)
{
    json_auto_t *root = json_loadb(text->text, text->length, 0, NULL), *row = json_object();

    if (!json_object_get(root, "execution_summary"))
        return error_set(err, EBADMSG,
                         "neither a report of spoor nor the info.json of con/duct");
    for (size_t i = 0; i < ARRAY_SIZE(duct); i++) {
        const json_t *value = member_at(root, duct[i].name);

        if (json_is_string(value))
            add_value(row, &duct[i], json_string_value(value));
        else if (json_is_number(value))
            add_value(row, &duct[i], decimal_number(json_number_value(value)).text);
    }
    return add_run(row, path, 0, ret, err);
}

/* ---- files ---------------------------------------------------------------- */

static const char snakemake_start[] = "s\th:m:s\t", nextflow_start[] = "task_id\t",
                  duct_start[] = "{\"command\"";

bool import_is_known(const char *start)
{
    return begins_with(start, snakemake_start) || begins_with(start, nextflow_start) ||
           begins_with(start, duct_start);
}

int import_read(struct buffer *text, const char *path, struct records *ret,
                struct spoor_error *err)
{
    CLEANUP(records_done) struct records records = { 0 };
    int r;

    if (begins_with(text->text, snakemake_start))
        r = read_table(text->text, snakemake, ARRAY_SIZE(snakemake), path, &records, err);
    else if (begins_with(text->text, nextflow_start))
        r = read_table(text->text, nextflow, ARRAY_SIZE(nextflow), path, &records, err);
    else
        r = read_duct(text, path, &records, err);
    if (r == 0 && records.count == 0)
        r = error_set(err, ENODATA, "no runs");
    if (r < 0)
        return error_prefix(err, r, "'%s'", path);
    *ret = records;
    records = (struct records){ 0 };
    return 0;
}
