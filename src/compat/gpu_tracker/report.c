/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.c - one table of what a report holds; text and JSON both follow it.
 *
 * JSON is what Python's json.dumps(indent=1) makes of it. Text rounds to three
 * decimals, drops trailing zeros but for one, and indents by three blanks.
 */
#include "compat/gpu_tracker/report.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "text/escape.h"
#include "text/json_writer.h"
#include "text/number.h"

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

/* A key or label, in the older spelling if that is asked for. `buf` has NAME_SIZE bytes. */
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
