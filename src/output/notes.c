/* SPDX-License-Identifier: Apache-2.0 */
#include "output/notes.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/compiler.h"
#include "base/unknown.h"
#include "output/text_gpu.h"
#include "record/system.h"
#include "sample/origins.h"
#include "text/number.h"

/* The rows of the text that not every report has. */
enum row { EVERY, IF_KNOWN, GPU_MEMORY_ROW, GPU_USE_ROW };

/* The figures that a reader of the text would ask about, and what to call them. */
static const struct topic {
    const char *path;
    const char *name;
    enum row row;
} topics[] = {
    { "cpu.total_seconds", "CPU time", EVERY },
    { "cpu.user_seconds", "user and system time", EVERY },
    { "memory.combined.total_rss_bytes", "peak memory", EVERY },
    { "memory.at_peak.private_rss_bytes", "private and shared memory", EVERY },
    { "gpu.memory.combined_bytes", "GPU memory", GPU_MEMORY_ROW },
    { "gpu.job_utilization.mean_gpus", "GPU use of the job", GPU_USE_ROW },
    { "gpu.utilization.mean_gpus", "GPU use", GPU_USE_ROW },
    { "cpu.page_faults.minor", "page faults", IF_KNOWN },
    { "cpu.context_switches.voluntary", "context switches", IF_KNOWN },
    { "io.read_bytes", "disk I/O", EVERY },
    { "io.read_chars", "all I/O", EVERY },
    { "network.received_bytes", "network", EVERY },
    { "processes.started", "processes", EVERY },
    { "cpu.threads.combined", "threads", EVERY },
};

/* The same of a machine without a job. */
static const struct topic system_topics[] = {
    { "system.cpu.busy_cores", "CPU", EVERY },
    { "system.memory.used_bytes", "memory", EVERY },
    { "system.disk.read_bytes_per_second", "disk I/O", EVERY },
    { "system.disk.space_used_bytes", "disk space", EVERY },
    { "system.network.received_bytes_per_second", "network", EVERY },
    { "system.pressure.cpu_ratio", "pressure", EVERY },
};

enum { TOPICS_MAX = ARRAY_SIZE(topics) };

/* A bound of twice the value says little, and the bound of the total is enough. */
static bool has_useful_bound(const struct topic *topic, const struct spoor_figure *figure)
{
    return strcmp(topic->name, "peak memory") == 0 && figure->high > figure->value &&
           figure->high < 2 * figure->value;
}

static void note_sampled(const struct spoor_figure *figures, double interval_seconds,
                         struct page *page)
{
    struct buffer names = { 0 };
    struct buffer text = { 0 };

    for (size_t i = 0; i < ARRAY_SIZE(topics); i++) {
        if (isnan(figures[i].value) || figures[i].is_exact)
            continue;
        buffer_add_text(page_item(&names), topics[i].name);
        if (has_useful_bound(&topics[i], &figures[i]))
            buffer_format(&names, " (at most %s)", number_bytes(figures[i].high).text);
    }
    if (names.length > 0) {
        buffer_add_text(&text, "sampled");
        if (!isnan(interval_seconds)) { /* a stored report may lack it */
            buffer_add_text(&text, " every ");
            number_write(interval_seconds, &text);
            buffer_add_text(&text, " s");
        }
        buffer_format(&text, ": %s", names.text);
        page_note(page, PAGE_DIM, "not exact", text.text ? text.text : "");
    }
    buffer_done(&names);
    buffer_done(&text);
}

/* One line per reason, with all figures that are unknown for it. */
static void note_missing(const struct topic *of, const struct spoor_figure *figures,
                         size_t count, struct page *page)
{
    bool is_noted[TOPICS_MAX] = { false };

    for (size_t i = 0; i < count; i++) {
        const char *reason = figures[i].reason;
        struct buffer text = { 0 };

        if (!isnan(figures[i].value) || is_noted[i] || !reason)
            continue;
        for (size_t other = i; other < count; other++) {
            if (!figures[other].reason || strcmp(figures[other].reason, reason) != 0)
                continue;
            buffer_add_text(page_item(&text), of[other].name);
            is_noted[other] = true;
        }
        buffer_add_text(&text, ": ");
        page_escape(page, reason, &text);
        page_note(page, PAGE_DIM, "unknown", text.text ? text.text : "");
        buffer_done(&text);
    }
}

/* Figures without a row need no note, except that GPUs are unknown. */
static bool is_shown(const struct topic *topic, const struct spoor_figure *figure,
                     const struct record *record)
{
    if (topic->row == EVERY)
        return true;
    if (topic->row == IF_KNOWN)
        return !isnan(figure->value);
    if (record->gpu_count == 0)
        return !is_known(record->whole_gpus) && figure->reason &&
               strcmp(figure->reason, origins_gpus_pending) != 0 &&
               strcmp(figure->reason, origins_gpus_not_opened) != 0 &&
               strcmp(figure->reason, origins_gpus_unwanted) != 0;
    return topic->row == GPU_MEMORY_ROW || text_gpu_has_used(record);
}

static void note_system(const struct record *record, struct page *page)
{
    struct spoor_figure figures[ARRAY_SIZE(system_topics)];

    for (size_t i = 0; i < ARRAY_SIZE(system_topics); i++)
        figures[i] = record_system_find(record, system_topics[i].path);
    note_missing(system_topics, figures, ARRAY_SIZE(system_topics), page);
}

void notes_write(const struct record *record, struct page *page)
{
    struct spoor_figure figures[ARRAY_SIZE(topics)];

    if (record->system) {
        note_system(record, page);
        return;
    }
    for (size_t i = 0; i < ARRAY_SIZE(topics); i++) {
        figures[i] = record_find(record->figures, topics[i].path);
        if (!is_shown(&topics[i], &figures[i], record))
            figures[i] = record_unknown_figure(NULL);
    }
    note_sampled(figures, record->interval_seconds, page);
    note_missing(topics, figures, ARRAY_SIZE(topics), page);
}
