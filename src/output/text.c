/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.c - the report on one screen, for people.
 *
 * One function per row, in the order of the rows. A minor row is left out if its figures are
 * unknown or trivial. The others show "n/a" for an unknown figure, and notes_write() adds the
 * reason.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/amount.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "output/chart.h"
#include "output/format.h"
#include "output/recommendation.h"
#include "output/text_layout.h"
#include "output/text_parts.h"
#include "recommend/needs.h"
#include "record/group.h"
#include "record/launch.h"
#include "text/escape.h"
#include "text/number.h"

/* Whether a cgroup was tracked: the run has a name but no main process. */
static bool is_of_cgroup(const struct record *record)
{
    return record->name && !is_known(record->pid) && !(record->command && record->command[0]);
}

/* Adds the name and the command, or the process or cgroup that was tracked. */
static void add_title(const struct record *record, const struct page *page, struct buffer *text)
{
    if (record->name) {
        page_escape(page, record->name, text);
        buffer_add_text(text, is_of_cgroup(record) ? "" : ": ");
    }
    if (record->command && record->command[0])
        escape_command(record->command, text);
    else if (!is_of_cgroup(record))
        buffer_format(text, "process %s", number_count(as_number(record->pid)).text);
}

/* Adds whether the out-of-memory killer killed the command itself or some of its
 * descendants. */
static void add_out_of_memory(const struct record *record, struct buffer *out)
{
    double kills = record_value(record, "events.oom_kills");

    if (record->signal && strcmp(record->signal, "SIGKILL") == 0)
        buffer_add_text(out, " (out of memory)");
    else
        buffer_format(out, ", %s killed for lack of memory",
                      kills > 1.5 ? "some processes were" : "a process was");
}

static void launch_write(const struct record *record, struct page *page)
{
    CLEANUP(buffer_done) struct buffer text = { 0 }, shown = { 0 };

    if (!record->launch)
        return;
    launch_describe(record->launch, record->host, &text);
    page_escape_command(page, buffer_text(&text), &shown);
    page_line(page, PAGE_DIM, &shown);
}

/* Adds "exit code 0", "killed by SIGKILL (out of memory)". */
static void add_ending(const struct record *record, const struct page *page,
                       struct buffer *text)
{
    if (!is_known(record->exit_code)) {
        buffer_add_text(text, record->is_still_running ? "still running"
                              : is_of_cgroup(record) && record->is_attached
                                  ? "ended"
                                  : "exit code unknown");
    } else if (record->signal) {
        buffer_add_text(text, "killed by ");
        page_escape(page, record->signal, text);
        buffer_add_text(text, record->has_dumped_core ? " (core dumped)" : "");
    } else {
        buffer_format(text, "exit code %llu", (unsigned long long)record->exit_code);
    }
    if (needs_is_out_of_memory(record))
        add_out_of_memory(record, text);
}

static void add_start(const struct record *record, struct buffer *text)
{
    struct clock_text date = clock_format(record->started_at);

    if (date.text[0])
        buffer_format(text, ", %s %.10s %.8s UTC",
                      record->is_attached ? "tracked from" : "started", date.text,
                      date.text + 11);
}

static void ending_write(const struct record *record, struct page *page)
{
    CLEANUP(buffer_done) struct buffer text = { 0 };

    add_ending(record, page, &text);
    page_add(page,
             record_has_failed(record) || needs_is_out_of_memory(record) ? PAGE_RED
                                                                         : PAGE_PLAIN,
             buffer_text(&text));
    buffer_clear(&text);
    add_start(record, &text);
    page_add(page, PAGE_DIM, text.length > 0 ? text.text : "");
    page_blank(page);
    launch_write(record, page);
    page_blank(page);
}

enum { CURVE_POINTS_MIN = 4, CURVE_COLUMNS_MAX = TEXT_COLUMNS - PAGE_DETAIL_START };

/* A curve is scaled to its maximum: a curve that stays below `visible` would draw noise at
 * full height. */
static void curve_write(const struct record *record, struct page *page,
                        void (*make)(const struct record *record, double *ret_curve,
                                     size_t columns),
                        double visible)
{
    double curve[CURVE_COLUMNS_MAX];
    size_t columns =
        page->columns < TEXT_COLUMNS ? page->columns - PAGE_DETAIL_START : CURVE_COLUMNS_MAX;
    CLEANUP(buffer_done) struct buffer text = { 0 };

    if (!page->has_unicode || record->curve.count < CURVE_POINTS_MIN)
        return;
    make(record, curve, columns);
    if (sparkline_max(curve, columns) >= visible) {
        sparkline_write(curve, columns, true, &text);
        page_row(page, "", "", text.text);
    }
}

/* Writes "8.25 s  ready to run, without a CPU (threads)". */
static void wait_write(const struct record *record, struct page *page)
{
    static const double notable = 0.25; /* share of the CPU time */
    struct spoor_figure wait = record_find(record->figures, "cpu.wait_seconds");

    if (wait.value > 0.1 && wait.value >= notable * record_value(record, "cpu.total_seconds"))
        page_row_format(page, "  waiting", number_duration(wait.value).text,
                        "%sready to run, without a CPU (threads)",
                        wait.is_exact ? "" : "at least; ");
}

/* Writes "1.87  instructions per cycle, 12.3 cache misses and 4.5 branch misses per 1,000
 * instructions". */
static void counters_write(const struct record *record, struct page *page)
{
    double instructions = record_value(record, "cpu.counters.instructions");
    double cycles = record_value(record, "cpu.counters.instructions_per_cycle");
    double cache = record_value(record, "cpu.counters.cache_misses");
    double branch = record_value(record, "cpu.counters.branch_misses");

    if (!isnan(cycles))
        page_row_format(page, "  per cycle", number_short(cycles).text,
                        "instructions; of 1000, %s missed the cache, %s a branch",
                        number_short(1000 * cache / instructions).text,
                        number_short(1000 * branch / instructions).text);
}

static void cpu_write(const struct record *record, struct page *page)
{
    double mean_cores = record_value(record, "cpu.mean_cores");
    CLEANUP(buffer_done) struct buffer details = { 0 };

    buffer_format(&details, "user %s, system %s",
                  number_duration(record_value(record, "cpu.user_seconds")).text,
                  number_duration(record_value(record, "cpu.system_seconds")).text);
    if (!isnan(mean_cores)) /* "Percent of CPU this job got" in time(1) */
        buffer_format(&details, "; %s of one CPU", number_percent(mean_cores).text);
    page_row(page, "CPU time", number_duration(record_value(record, "cpu.total_seconds")).text,
             details.text);
    wait_write(record, page);
    counters_write(record, page);
    buffer_clear(&details);
    buffer_format(&details, "on average, %s at peak",
                  number_short(record_value(record, "cpu.max_cores")).text);
    if (!isnan(record->cpus_limit)) {
        number_write(record->cpus_limit, page_item(&details));
        buffer_add_text(&details, " allowed");
    }
    page_row(page, "CPU cores", number_short(mean_cores).text, details.text);
    curve_write(record, page, sparkline_cpu, 0.005); /* smaller values are shown as 0.00 */
}

/* Adds "peak: 134 MB private, 270 MB shared": both at the moment of the peak, so that they add
 * up to it. If they were read when memory was below the peak, their total is shown too. */
static void add_split(const struct record *record, double peak, struct buffer *details)
{
    double total = record_value(record, "memory.at_peak.total_rss_bytes");
    double private = record_value(record, "memory.at_peak.private_rss_bytes");
    double shared = record_value(record, "memory.at_peak.shared_rss_bytes");

    buffer_add_text(details, "peak");
    if (record->group && record->group->node_count > 1 && record->group->deciding_node) {
        buffer_add_text(details, " of the largest node, ");
        escape_terminal(record->group->deciding_node, details);
    }
    if (isnan(private) || isnan(shared))
        return;
    if (strcmp(number_bytes(total).text, number_bytes(peak).text) == 0)
        buffer_add_text(details, ": ");
    else
        buffer_format(details, "; at %s: ", number_bytes(total).text);
    buffer_format(details, "%s private, %s shared", number_bytes(private).text,
                  number_bytes(shared).text);
}

/* The peaks of main and descendants occur at different moments, and both include shared pages,
 * so they do not add up to the peak of the job. */
static void scope_write(const struct record *record, struct page *page, const char *label,
                        const char *path)
{
    page_row(page, label, number_bytes(record_value(record, path)).text,
             "own peak, including shared pages");
}

static double limited_peak(const struct record *record)
{
    double charged = record_charged_bytes(record);

    return isnan(charged) ? fmax(record_value(record, "memory.combined.total_rss_bytes"),
                                 record_value(record, "memory.job_peak_bytes"))
                          : charged;
}

static void limit_write(const struct record *record, struct page *page)
{
    double limit = as_number(record->memory_limit_bytes);
    double peak = limited_peak(record);
    CLEANUP(buffer_done) struct buffer details = { 0 };

    if (isnan(limit))
        return;
    if (limit > 0 && peak >= 0) {
        buffer_format(page_item(&details), "%s used at the peak",
                      number_percent(peak / limit).text);
        buffer_format(page_item(&details), "%s left",
                      number_bytes(limit > peak ? limit - peak : 0).text);
    }
    page_row(page, "  limit", number_limit(limit).text, details.text);
}

/* Writes "12.0 GB  evicted from the page cache, then read again, 41.0 s stalled for memory". */
static void refaults_write(const struct record *record, struct page *page)
{
    double bytes = record_refaulted_bytes(record);
    struct spoor_figure stalled = record_find(record->figures, "pressure.memory_seconds");
    CLEANUP(buffer_done) struct buffer details = { 0 };

    if (isnan(bytes))
        return;
    buffer_add_text(&details, "evicted from the page cache, then read again");
    if (stalled.value > 0 && !source_is_host(stalled.source))
        buffer_format(page_item(&details), "%s stalled for memory",
                      number_duration(stalled.value).text);
    page_row(page, "  re-read", number_bytes(bytes).text, details.text);
}

static void memory_write(const struct record *record, struct page *page)
{
    /* Relative to the peak: a smaller excess is due to the job's page tables. */
    static const double notable = 1.02;
    double peak = record_value(record, "memory.combined.total_rss_bytes");
    double with_cache = record_value(record, "memory.job_peak_bytes");
    double swap = record_value(record, "memory.swap_peak_bytes");
    CLEANUP(buffer_done) struct buffer details = { 0 };

    add_split(record, peak, &details);
    page_row(page, "Memory", number_bytes(peak).text, details.text);
    curve_write(record, page, sparkline_memory, 1);
    if (record_value(record, "memory.descendants.total_rss_bytes") > 0 && !record->group) {
        scope_write(record, page, "  main", "memory.main.total_rss_bytes");
        scope_write(record, page, "  descendants", "memory.descendants.total_rss_bytes");
    }
    if (with_cache > notable * peak)
        page_row(page, "  with cache", number_bytes(with_cache).text,
                 "peak including page cache");
    if (swap > 0)
        page_row(page, "  swapped out", number_bytes(swap).text, "peak");
    refaults_write(record, page);
    limit_write(record, page);
}

/* Writes rows of two amounts: "12.0 MB  read, 48.0 MB written", "12345  minor, 3 major". */
static void amounts_write(const struct record *record, struct page *page)
{
    enum { IF_KNOWN = 1, IF_ANY = 2, IF_ANY_OR_UNKNOWN = 3 }; /* 0: always */
    static const struct {
        const char *label;
        struct number (*text)(double value);
        const char *path, *name, *other_path, *other_name;
        int is_shown;
    } rows[] = {
        { "Page faults", number_count, "cpu.page_faults.minor", "minor",
          "cpu.page_faults.major", "major", IF_KNOWN },
        { "Context switches", number_count, "cpu.context_switches.voluntary", "voluntary",
          "cpu.context_switches.involuntary", "involuntary", IF_KNOWN },
        { "Disk I/O", number_bytes, "io.read_bytes", "read", "io.written_bytes", "written", 0 },
        { "All I/O", number_bytes, "io.read_chars", "read", "io.written_chars",
          "written, including cache and pipes", 0 },
        { "TCP", number_bytes, "network.job.received_bytes", "received",
          "network.job.sent_bytes", "sent by the job", IF_ANY },
        { "TCP, local", number_bytes, "network.job.loopback_received_bytes", "received",
          "network.job.loopback_sent_bytes", "sent by the job within this machine", IF_ANY },
        { "Network", number_bytes, "network.received_bytes", "received", "network.sent_bytes",
          "sent by the whole host", IF_ANY_OR_UNKNOWN },
        { "RDMA", number_bytes, "network.rdma.received_bytes", "received",
          "network.rdma.sent_bytes", "sent by the whole host", IF_ANY },
        { "NFS", number_bytes, "network.nfs.read_bytes", "read", "network.nfs.written_bytes",
          "written by the whole host", IF_ANY },
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        double value = record_value(record, rows[i].path);
        double other = record_value(record, rows[i].other_path);
        bool is_any = value > 0 || other > 0;

        if ((rows[i].is_shown == IF_KNOWN && isnan(value)) ||
            (rows[i].is_shown == IF_ANY && !is_any) ||
            (rows[i].is_shown == IF_ANY_OR_UNKNOWN && !is_any && !isnan(value)))
            continue;
        page_row_format(page, rows[i].label, rows[i].text(value).text, "%s, %s %s",
                        rows[i].name, rows[i].text(other).text, rows[i].other_name);
    }
}

/* Other processes may cause all pressure of the host, so it only matters if the job ran or used
 * disks. */
static bool has_been_idle(const struct record *record)
{
    static const double notable_cores = 0.01;

    return !(record_value(record, "cpu.mean_cores") >= notable_cores ||
             record_value(record, "io.read_bytes") > 0 ||
             record_value(record, "io.written_bytes") > 0);
}

/* Writes "23 %  of the time waiting for CPU, 12 % for I/O". */
static void pressure_write(const struct record *record, struct page *page)
{
    static const struct {
        const char *path, *name;
    } kinds[] = {
        { "pressure.cpu_seconds", "CPU" },
        { "pressure.memory_seconds", "memory" },
        { "pressure.io_seconds", "I/O" },
    };
    static const double notable = 0.1; /* share of the time */
    struct number first = { "" };
    CLEANUP(buffer_done) struct buffer details = { 0 };
    bool is_shared = source_is_host(record_find(record->figures, kinds[0].path).source);
    /* The number of nodes or ranks in the sum. */
    double parts = !record->group ? 1
                   : is_shared    ? (double)record->group->node_count
                                  : (double)record->group->reported;

    if (is_shared && has_been_idle(record))
        return;
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        double stalled = record_value(record, kinds[i].path) / record->elapsed_seconds / parts;
        struct number percent = number_percent(fmin(stalled, 1));

        if (!(stalled >= notable))
            continue;
        if (details.length == 0) {
            first = percent;
            buffer_format(&details, "of the time waiting for %s", kinds[i].name);
        } else {
            buffer_format(&details, ", %s for %s", percent.text, kinds[i].name);
        }
    }
    if (details.length > 0) {
        buffer_add_text(&details, is_shared ? " (whole host)" : "");
        page_row(page, "Stalled", first.text, details.text);
    }
}

/* Writes "1.25 kJ  of the CPUs, 812 J to 3.10 kJ; 0.13 g CO2e". */
static void energy_write(const struct record *record, struct page *page)
{
    struct spoor_figure cpu = record_find(record->figures, "energy.cpu_joules");
    double grams = record_value(record, "energy.co2e_grams");
    CLEANUP(buffer_done) struct buffer details = { 0 };

    if (!isnan(cpu.value)) {
        buffer_format(&details, "of the CPUs, at least %s", number_energy(cpu.low).text);
        if (!isnan(cpu.high))
            buffer_format(&details, ", at most %s", number_energy(cpu.high).text);
    }
    if (!isnan(grams))
        buffer_format(page_item(&details), "%s g CO2e", number_short(grams).text);
    if (details.length > 0)
        page_row(page, "Energy", number_energy(cpu.value).text, details.text);
}

/* Adds "1 thread", "12 threads". */
static void add_counted(struct buffer *out, double count, const char *noun)
{
    bool is_one = count > 0.5 && count < 1.5;

    buffer_format(out, "%s %s%s", number_count(count).text, noun, is_one ? "" : "s");
}

static void processes_write(const struct record *record, struct page *page)
{
    CLEANUP(buffer_done) struct buffer details = { 0 };

    buffer_format(&details, "at once, %s started, ",
                  number_count(record_value(record, "processes.started")).text);
    add_counted(&details, record_value(record, "cpu.threads.combined"), "thread");
    buffer_add_text(&details, " at once");
    page_row(page, "Processes",
             number_count(record_value(record, "processes.max_concurrent")).text, details.text);
}

/* Adds a CPU model without the trademark signs of names such as "Intel(R) Xeon(R) Platinum". */
static void add_cpu_model(const struct page *page, const char *model, struct buffer *out)
{
    static const char *const marks[] = { "(R)", "(TM)", "(r)", "(tm)" };
    CLEANUP(buffer_done) struct buffer plain = { 0 };

    while (*model) {
        size_t skipped = 0;

        for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
            if (begins_with(model, marks[i]))
                skipped = strlen(marks[i]);
        }
        if (skipped == 0)
            buffer_add(&plain, model, 1);
        model += skipped > 0 ? skipped : 1;
    }
    page_escape(page, buffer_text(&plain), out);
}

/* Writes one line, truncated if it is too long. */
static void host_write(const struct record *record, struct page *page)
{
    CLEANUP(buffer_done) struct buffer details = { 0 };
    CLEANUP(buffer_done) struct buffer line = { 0 };
    char cpus[32] = "n/a";

    if (is_known(record->cpus))
        (void)snprintf(cpus, sizeof(cpus), "%llu CPU%s", (unsigned long long)record->cpus,
                       record->cpus == 1 ? "" : "s");
    if (is_known(record->memory_bytes))
        buffer_add_text(page_item(&details), number_bytes((double)record->memory_bytes).text);
    if (record->cpu_model)
        add_cpu_model(page, record->cpu_model, page_item(&details));
    if (record->kernel) {
        buffer_add_text(page_item(&details), "Linux ");
        page_escape(page, record->kernel, &details);
    }
    page_cut(buffer_text(&details), page->columns - PAGE_DETAIL_START, &line);
    page_row(page, "Host", cpus, line.text);
}

static void tags_note(const struct record *record, struct page *page)
{
    CLEANUP(buffer_done) struct buffer words = { 0 };
    CLEANUP(buffer_done) struct buffer shown = { 0 };

    if (record->tags.count == 0)
        return;
    tags_write(&record->tags, &words);
    if (words.text && !page->has_unicode)
        escape_ascii(words.text, &shown);
    page_note(page, PAGE_DIM, "tags", shown.text ? shown.text : buffer_text(&words));
}

static void warnings_write(const struct record *record, struct page *page)
{
    for (size_t i = 0; i < record->warning_count; i++) {
        CLEANUP(buffer_done) struct buffer text = { 0 };

        if (record->warnings[i].message)
            page_escape(page, record->warnings[i].message, &text);
        page_note(page, PAGE_RED, "warning", buffer_text(&text));
    }
}

static void tracker_write(const struct record *record, struct page *page)
{
    double cpu = record->tracker_cpu_seconds;
    double elapsed = record->elapsed_seconds;
    CLEANUP(buffer_done) struct buffer text = { 0 };

    if (!isnan(cpu))
        buffer_format(&text, "%s of CPU", number_duration(cpu).text);
    if (!isnan(cpu) && elapsed >= 0.1) /* the share means nothing for a shorter run */
        buffer_format(&text, " (%s of a core)", number_percent(cpu / elapsed).text);
    if (is_known(record->tracker_max_rss_bytes))
        buffer_format(page_item(&text), "%s of RAM",
                      number_bytes((double)record->tracker_max_rss_bytes).text);
    add_counted(page_item(&text), as_number(record->samples), "sample");
    if (is_known(record->late_samples) && record->late_samples > 0)
        buffer_format(page_item(&text), "%llu late", (unsigned long long)record->late_samples);
    page_note(page, PAGE_DIM, "tracker", buffer_text(&text));
}

static void job_write(const struct record *record, struct page *page)
{
    struct buffer title = { 0 };

    add_title(record, page, &title);
    page_headline(page, &title);
    ending_write(record, page);
    group_verdict_write(record, page);
    page_row(page, "Elapsed", number_duration(record->elapsed_seconds).text, NULL);
    cpu_write(record, page);
    memory_write(record, page);
    text_gpu_write(record, page);
    amounts_write(record, page);
    processes_write(record, page);
    pressure_write(record, page);
    energy_write(record, page);
}

/* ---- requested against used, in six lines ---------------------------------- */

/* Writes "1.90 of 4 used on average (47 %)". */
static void used_write(struct page *page, const char *label, struct number used,
                       const char *limit, double share, const char *how)
{
    CLEANUP(buffer_done) struct buffer text = { 0 };

    if (isnan(share))
        buffer_format(&text, "%s used %s", used.text, how);
    else
        buffer_format(&text, "%s of %s used %s (%s)", used.text, limit, how,
                      number_percent(share).text);
    page_note(page, PAGE_PLAIN, label, buffer_text(&text));
}

static double count_selected_gpus(const struct record *record)
{
    size_t count = 0;

    for (size_t i = 0; i < record->gpu_count; i++)
        count += record->gpus[i].is_selected && !record->gpus[i].is_part;
    return (double)count;
}

void brief_write(const struct record *record, const struct format_style *style,
                 struct buffer *out)
{
    struct page page = { out, style->has_color, style->has_unicode, style->columns };
    double cores = record_value(record, "cpu.mean_cores"), gpus = count_selected_gpus(record);
    double memory = limited_peak(record), limit = as_number(record->memory_limit_bytes);
    double busy = record_value(record, "gpu.job_utilization.mean_gpus");
    CLEANUP(buffer_done) struct buffer text = { 0 }, shown = { 0 }, line = { 0 };

    if (record->launch) {
        launch_describe(record->launch, record->host, &text);
        buffer_add_text(&text, ": ");
    }
    add_title(record, &page, &text);
    page_escape_command(&page, buffer_text(&text), &shown);
    page_cut(buffer_text(&shown), page.columns - PAGE_NOTE_START, &line);
    page_note(&page, PAGE_PLAIN, "Job", buffer_text(&line));
    buffer_clear(&text);
    add_ending(record, &page, &text);
    add_start(record, &text);
    page_note(&page, PAGE_PLAIN, "State", buffer_text(&text));
    page_note(&page, PAGE_PLAIN, "Wall time", number_duration(record->elapsed_seconds).text);
    used_write(&page, "Cores", number_short(cores), decimal_number(record->cpus_limit).text,
               cores / record->cpus_limit, "on average");
    used_write(&page, "Memory", number_bytes(memory), number_limit(limit).text, memory / limit,
               isnan(limit) ? "at peak, no limit" : "at peak");
    if (gpus > 0)
        used_write(&page, "GPUs", number_short(busy), decimal_number(gpus).text, busy / gpus,
                   "on average");
    else
        page_note(&page, PAGE_PLAIN, "GPUs", "none");
}

void text_write(const struct record *record, const struct format_style *style,
                struct buffer *out)
{
    struct page page = { out, style->has_color, style->has_unicode, style->columns };

    if (record->system)
        text_system_write(record, &page);
    else
        job_write(record, &page);
    host_write(record, &page);
    if (!record->system)
        recommendation_row(record, &page);
    group_table_write(record, &page);
    phase_table_write(record, &page);
    process_list_write(record, &page);
    page_blank(&page);
    tags_note(record, &page);
    warnings_write(record, &page);
    tracker_write(record, &page);
    notes_write(record, &page);
}
