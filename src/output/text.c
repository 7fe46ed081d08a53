/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.c - the report on one screen, for people.
 *
 * One function a row, in the order of the screen. A row whose figures nobody would
 * miss is left out where they are not known or say nothing; the others say "n/a",
 * and notes.c says why.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/unknown.h"
#include "output/format.h"
#include "output/notes.h"
#include "output/page.h"
#include "output/phase_table.h"
#include "output/sparkline.h"
#include "output/text_gpu.h"
#include "text/escape.h"
#include "text/number.h"

static double value_of(const struct record *record, const char *path)
{
    return record_find(record->figures, path).value;
}

/* The command, or what stands in for it. */
static void headline_write(const struct record *record, struct page *page)
{
    struct buffer full = { 0 };
    struct buffer shown = { 0 };
    struct buffer cut = { 0 };

    if (record->name) {
        page_escape(page, record->name, &full);
        buffer_add_text(&full, ": ");
    }
    if (record->command && record->command[0])
        escape_command(record->command, &full);
    else
        buffer_format(&full, "process %s", number_count(as_number(record->pid)).text);
    if (full.text && page->has_unicode)
        page_cut(full.text, page->columns, &cut);
    else if (full.text) {
        escape_ascii(full.text, &shown);
        page_cut(shown.text ? shown.text : "", page->columns, &cut);
    }
    page_add(page, PAGE_BOLD, cut.text ? cut.text : "");
    page_blank(page);
    buffer_done(&full);
    buffer_done(&shown);
    buffer_done(&cut);
}

static void ending_write(const struct record *record, struct page *page)
{
    struct number elapsed = number_duration(record->elapsed_seconds);
    struct clock_text date = clock_format(record->started_at);
    bool has_ended = is_known(record->exit_code);
    struct buffer text = { 0 };

    if (!has_ended) {
        buffer_format(&text, "followed for %s, exit code not known", elapsed.text);
    } else if (record->signal) {
        buffer_add_text(&text, "killed by ");
        page_escape(page, record->signal, &text);
        buffer_format(&text, "%s after %s", record->has_dumped_core ? " (core dumped)" : "",
                      elapsed.text);
    } else {
        buffer_format(&text, "exited %llu after %s", (unsigned long long)record->exit_code,
                      elapsed.text);
    }
    page_add(page, has_ended && record->exit_code != 0 ? PAGE_RED : PAGE_PLAIN,
             text.text ? text.text : "");
    buffer_clear(&text);
    if (date.text[0])
        buffer_format(&text, ", started %.10s %.8s UTC", date.text, date.text + 11);
    page_add(page, PAGE_DIM, text.length > 0 ? text.text : "");
    page_blank(page);
    page_blank(page);
    buffer_done(&text);
}

enum { CURVE_POINTS_MIN = 4, CURVE_COLUMNS_MAX = TEXT_COLUMNS - PAGE_DETAIL_START };

static void curve_write(const struct record *record, struct page *page,
                        void (*make)(const struct record *record, double *ret_curve,
                                     size_t columns))
{
    double curve[CURVE_COLUMNS_MAX];
    size_t columns =
        page->columns < TEXT_COLUMNS ? page->columns - PAGE_DETAIL_START : CURVE_COLUMNS_MAX;
    struct buffer text = { 0 };

    if (!page->has_unicode || record->point_count < CURVE_POINTS_MIN)
        return;
    make(record, curve, columns);
    if (sparkline_max(curve, columns) > 0) {
        sparkline_write(curve, columns, &text);
        page_row(page, "", "", text.text);
    }
    buffer_done(&text);
}

static void cpu_write(const struct record *record, struct page *page)
{
    struct buffer details = { 0 };

    buffer_format(page_item(&details), "user %s",
                  number_duration(value_of(record, "cpu.user_seconds")).text);
    buffer_format(page_item(&details), "system %s",
                  number_duration(value_of(record, "cpu.system_seconds")).text);
    page_row(page, "CPU time", number_duration(value_of(record, "cpu.total_seconds")).text,
             details.text);
    buffer_clear(&details);
    buffer_format(page_item(&details), "on average, %s at most",
                  number_short(value_of(record, "cpu.max_cores")).text);
    if (!isnan(record->cpus_limit)) {
        buffer_add_text(page_item(&details), "of ");
        number_write(record->cpus_limit, &details);
        buffer_add_text(&details, " allowed");
    }
    page_row(page, "CPU cores", number_short(value_of(record, "cpu.mean_cores")).text,
             details.text);
    curve_write(record, page, sparkline_cpu);
    buffer_done(&details);
}

/* "private up to 1.40 GB, shared up to 61.0 MB" of a scope: each had its peak at a moment of
 * its own. Nothing where neither is known. */
static void add_shares(const struct record *record, const char *scope, struct buffer *details)
{
    static const struct {
        const char *key, *name;
    } shares[] = { { "private_rss_bytes", "private" }, { "shared_rss_bytes", "shared" } };
    char path[64];

    for (size_t i = 0; i < ARRAY_SIZE(shares); i++) {
        double bytes;

        (void)snprintf(path, sizeof(path), "memory.%s.%s", scope, shares[i].key); /* fits */
        bytes = value_of(record, path);
        if (!isnan(bytes))
            buffer_format(page_item(details), "%s up to %s", shares[i].name,
                          number_bytes(bytes).text);
    }
}

static void scope_write(const struct record *record, struct page *page, const char *label,
                        const char *scope)
{
    struct buffer details = { 0 };
    char path[64];

    (void)snprintf(path, sizeof(path), "memory.%s.total_rss_bytes", scope); /* fits */
    add_shares(record, scope, &details);
    page_row(page, label, number_bytes(value_of(record, path)).text, details.text);
    buffer_done(&details);
}

static void limit_write(const struct record *record, struct page *page, double peak)
{
    double limit = as_number(record->memory_limit_bytes);
    struct buffer details = { 0 };

    if (isnan(limit))
        return;
    if (limit > 0 && peak >= 0) {
        buffer_format(page_item(&details), "%s used at the peak",
                      number_percent(peak / limit).text);
        buffer_format(page_item(&details), "%s left",
                      number_bytes(limit > peak ? limit - peak : 0).text);
    }
    page_row(page, "  limit", number_bytes(limit).text, details.text);
    buffer_done(&details);
}

static void memory_write(const struct record *record, struct page *page)
{
    double peak = value_of(record, "memory.combined.total_rss_bytes");
    double with_cache = value_of(record, "memory.job_peak_bytes");
    double swap = value_of(record, "memory.swap_peak_bytes");
    struct buffer shares = { 0 };
    struct buffer details = { 0 };

    add_shares(record, "combined", &shares);
    buffer_format(&details, "peak%s%s", shares.length ? "; " : "",
                  shares.length ? shares.text : "");
    buffer_done(&shares);
    if (with_cache > peak)
        buffer_format(page_item(&details), "%s with page cache", number_bytes(with_cache).text);
    if (swap > 0)
        buffer_format(page_item(&details), "%s swapped out", number_bytes(swap).text);
    page_row(page, "Memory", number_bytes(peak).text, details.text);
    buffer_done(&details);
    curve_write(record, page, sparkline_memory);
    if (value_of(record, "memory.descendants.total_rss_bytes") > 0) {
        scope_write(record, page, "  main", "main");
        scope_write(record, page, "  descendants", "descendants");
    }
    limit_write(record, page, fmax(peak, with_cache));
}

/* Bytes in and out: "12.0 MB  read, 48.0 MB written". */
static void transfers_write(const struct record *record, struct page *page)
{
    static const struct {
        const char *label, *path_in, *in, *path_out, *out;
    } transfers[] = {
        { "Storage", "io.read_bytes", "read", "io.written_bytes", "written" },
        { "Calls", "io.read_chars", "read", "io.written_chars",
          "written (files, cache, pipes)" },
        { "Network", "network.received_bytes", "received", "network.sent_bytes",
          "sent (whole host)" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(transfers); i++) {
        struct buffer details = { 0 };

        buffer_format(&details, "%s, %s %s", transfers[i].in,
                      number_bytes(value_of(record, transfers[i].path_out)).text,
                      transfers[i].out);
        page_row(page, transfers[i].label,
                 number_bytes(value_of(record, transfers[i].path_in)).text, details.text);
        buffer_done(&details);
    }
}

static bool is_of_host(const struct record *record, const char *path)
{
    struct spoor_figure figure = record_find(record->figures, path);

    return figure.source && strncmp(figure.source, "host.", 5) == 0;
}

static void pressure_write(const struct record *record, struct page *page)
{
    static const struct {
        const char *path, *name;
    } kinds[] = {
        { "pressure.cpu_seconds", "CPU" },
        { "pressure.memory_seconds", "memory" },
        { "pressure.io_seconds", "I/O" },
    };
    static const double notable = 0.1; /* of the time */
    struct buffer details = { 0 };
    double elapsed = record->elapsed_seconds;

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        double stalled = value_of(record, kinds[i].path);

        if (elapsed > 0 && stalled / elapsed >= notable)
            buffer_format(page_item(&details), "%s %s", kinds[i].name,
                          number_percent(fmin(stalled / elapsed, 1)).text);
    }
    if (details.length > 0) {
        buffer_add_text(&details, is_of_host(record, kinds[0].path)
                                      ? " of the time (whole host)"
                                      : " of the time");
        page_row(page, "Pressure", "waits for", details.text);
    }
    buffer_done(&details);
}

/* "1 thread", "12 threads". */
static void add_counted(struct buffer *out, double count, const char *noun)
{
    bool is_one = count > 0.5 && count < 1.5;

    buffer_format(out, "%s %s%s", number_count(count).text, noun, is_one ? "" : "s");
}

static void processes_write(const struct record *record, struct page *page)
{
    struct buffer details = { 0 };

    buffer_format(&details, "at once, %s in all, ",
                  number_count(value_of(record, "processes.started")).text);
    add_counted(&details, value_of(record, "cpu.threads.combined"), "thread");
    page_row(page, "Processes", number_count(value_of(record, "processes.max_concurrent")).text,
             details.text);
    buffer_done(&details);
}

static void host_write(const struct record *record, struct page *page)
{
    struct buffer details = { 0 };
    char cpus[32] = "n/a";

    if (is_known(record->cpus))
        (void)snprintf(cpus, sizeof(cpus), "%llu CPU%s", (unsigned long long)record->cpus,
                       record->cpus == 1 ? "" : "s");
    if (record->cpu_model)
        page_escape(page, record->cpu_model, page_item(&details));
    if (is_known(record->memory_bytes))
        buffer_add_text(page_item(&details), number_bytes((double)record->memory_bytes).text);
    if (record->kernel) {
        buffer_add_text(page_item(&details), "Linux ");
        page_escape(page, record->kernel, &details);
    }
    page_row(page, "Host", cpus, details.text);
    buffer_done(&details);
}

static void warnings_write(const struct record *record, struct page *page)
{
    for (size_t i = 0; i < record->warning_count; i++) {
        struct buffer text = { 0 };

        if (record->warnings[i].message)
            page_escape(page, record->warnings[i].message, &text);
        page_note(page, PAGE_RED, "warning", text.text ? text.text : "");
        buffer_done(&text);
    }
}

static void tracker_write(const struct record *record, struct page *page)
{
    double cpu = record->tracker_cpu_seconds;
    double elapsed = record->elapsed_seconds;
    struct buffer text = { 0 };

    buffer_format(&text, "%s of CPU", number_duration(cpu).text);
    if (elapsed >= 0.1) /* of less it says nothing about a longer run */
        buffer_format(&text, " (%s of a core)", number_percent(cpu / elapsed).text);
    buffer_format(page_item(&text), "%s of RAM",
                  number_bytes(as_number(record->tracker_max_rss_bytes)).text);
    add_counted(page_item(&text), as_number(record->samples), "sample");
    if (is_known(record->late_samples) && record->late_samples > 0)
        buffer_format(page_item(&text), "%llu late", (unsigned long long)record->late_samples);
    page_note(page, PAGE_DIM, "tracker", text.text ? text.text : "");
    buffer_done(&text);
}

void text_write(const struct record *record, const struct format_style *style,
                struct buffer *out)
{
    struct page page = { out, style->has_color, style->has_unicode, style->columns };

    headline_write(record, &page);
    ending_write(record, &page);
    cpu_write(record, &page);
    memory_write(record, &page);
    text_gpu_write(record, &page);
    transfers_write(record, &page);
    processes_write(record, &page);
    pressure_write(record, &page);
    host_write(record, &page);
    phase_table_write(record, &page);
    page_blank(&page);
    warnings_write(record, &page);
    tracker_write(record, &page);
    notes_write(record, &page);
}
