/* SPDX-License-Identifier: Apache-2.0 */
#include "output/notes.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "output/number.h"
#include "series/figure.h"

/* The figures that a reader of the text would ask about, and what to call them. */
static const struct topic {
    const char *path;
    const char *name;
    bool of_gpus; /* nobody asks where there is none */
} topics[] = {
    { "cpu.total_seconds", "CPU time", false },
    { "cpu.user_seconds", "user and system time", false },
    { "memory.combined.total_rss_bytes", "peak memory", false },
    { "memory.combined.private_rss_bytes", "private and shared memory", false },
    { "gpu.memory.combined_bytes", "GPU memory", true },
    { "gpu.job_utilization.mean_gpus", "GPU use of the job", true },
    { "gpu.utilization.mean_gpus", "GPU use", true },
    { "io.read_bytes", "storage", false },
    { "io.read_chars", "calls", false },
    { "network.received_bytes", "network", false },
    { "processes.started", "processes", false },
    { "cpu.threads.combined", "threads", false },
};

/* A bound that is twice the value tells little, and that of the whole is enough. */
static bool has_useful_bound(const struct topic *topic, const struct spoor_figure *figure)
{
    return strcmp(topic->name, "peak memory") == 0 && figure->high > figure->value &&
           figure->high < 2 * figure->value;
}

static void note_sampled(const struct spoor_figure *figures, uint64_t interval_ns,
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
        buffer_add_text(&text, "sampled every ");
        number_write_seconds(interval_ns, 0, &text);
        buffer_format(&text, " s: %s", names.text);
        page_note(page, PAGE_DIM, "not exact", text.text ? text.text : "");
    }
    buffer_done(&names);
    buffer_done(&text);
}

/* One line for each reason, with all that it is the reason of. */
static void note_missing(const struct spoor_figure *figures, struct page *page)
{
    bool is_noted[ARRAY_SIZE(topics)] = { false };

    for (size_t i = 0; i < ARRAY_SIZE(topics); i++) {
        const char *reason = figures[i].reason;
        struct buffer text = { 0 };

        if (!isnan(figures[i].value) || is_noted[i] || !reason)
            continue;
        for (size_t other = i; other < ARRAY_SIZE(topics); other++) {
            if (!figures[other].reason || strcmp(figures[other].reason, reason) != 0)
                continue;
            buffer_add_text(page_item(&text), topics[other].name);
            is_noted[other] = true;
        }
        buffer_add_text(&text, ": ");
        page_escape(page, reason, &text);
        page_note(page, PAGE_DIM, "not known", text.text ? text.text : "");
        buffer_done(&text);
    }
}

/* Is there something to say of GPUs? Also that it is not known whether there are any. */
static bool speaks_of_gpus(const struct gpu_view *view)
{
    return view->count > 0 || (view->state == GPU_PENDING && view->reason);
}

void notes_write(const struct report *report, struct page *page)
{
    struct spoor_figure figures[ARRAY_SIZE(topics)];

    for (size_t i = 0; i < ARRAY_SIZE(topics); i++) {
        figures[i] = figure_find(topics[i].path, report->summary, report->origins);
        if (topics[i].of_gpus && !speaks_of_gpus(report->gpu))
            figures[i] = (struct spoor_figure){ .value = nan("") };
    }
    note_sampled(figures, report->interval_ns, page);
    note_missing(figures, page);
}
