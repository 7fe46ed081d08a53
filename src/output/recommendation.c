/* SPDX-License-Identifier: Apache-2.0 */
#include "output/recommendation.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "recommend/needs.h"
#include "text/number.h"

/* ---- amounts as text ------------------------------------------------------ */

static struct number counted(double count, const char *one, const char *many)
{
    struct number number;

    (void)snprintf(number.text, sizeof(number.text), "%.20s %s", number_count(count).text,
                   count > 0.5 && count < 1.5 ? one : many);
    return number;
}

static struct number cpus_text(double count)
{
    return counted(count, "CPU", "CPUs");
}

/* ---- the row of a report -------------------------------------------------- */

/* Adds "at least 4 GiB of memory, 1 GPU with 24 GiB, 7 min". */
static void add_amounts(const struct needs *needs, struct buffer *out)
{
    if (!isnan(needs->memory_bytes.value))
        buffer_format(page_item(out), "%s%s of memory",
                      needs->memory_bytes.is_guess ? "at least " : "",
                      number_memory_step(needs->memory_bytes.value).text);
    if (needs->gpus.value > 0)
        buffer_add_text(page_item(out), counted(needs->gpus.value, "GPU", "GPUs").text);
    if (needs->gpus.value > 0 && needs->vram_bytes.value > 0)
        buffer_format(out, " with %s", number_memory_step(needs->vram_bytes.value).text);
    if (!isnan(needs->seconds.value) && !needs->seconds.is_guess)
        buffer_add_text(page_item(out), number_time_step(needs->seconds.value).text);
}

/* Adds "1 CPU, 14 h 30 min; 2 CPUs, 8 h"; without `with_default`, leaves out the recommended
 * choice. */
static void add_choices(const struct needs *needs, bool with_default, struct buffer *out)
{
    for (size_t i = 0; i < needs->choice_count; i++) {
        const struct need_choice *choice = &needs->choices[i];
        bool is_default =
            !(choice->cpus < needs->cpus.value || choice->cpus > needs->cpus.value);

        if (is_default && !with_default)
            continue;
        if (i > 0 && with_default)
            buffer_add_text(out, "; ");
        buffer_format(out, "%s, %s", cpus_text(choice->cpus).text,
                      number_time_step(choice->seconds).text);
    }
}

void recommendation_row(const struct record *record, struct page *page)
{
    CLEANUP(buffer_done) struct buffer details = { 0 };
    struct needs needs;

    needs_of(record, NEEDS_MARGIN, &needs);
    add_amounts(&needs, &details);
    if (details.length > 0 && !*needs.note)
        buffer_add_text(&details, " recommended");
    if (needs.choice_count > 1 && !needs.seconds.is_guess) {
        buffer_add_text(&details, "; or ");
        add_choices(&needs, false, &details);
    }
    if (*needs.note)
        buffer_format(&details, "%s%s", details.length > 0 ? ". " : "", needs.note);
    page_row(page, "Next run",
             isnan(needs.cpus.value) ? "n/a" : cpus_text(needs.cpus.value).text, details.text);
}

/* ---- JSON ----------------------------------------------------------------- */

static void add_requests(struct json_writer *json, const struct needs *needs)
{
    CLEANUP(buffer_done) struct buffer text = { 0 };

    json_begin(json, "requests", '[');
    for (size_t i = 0; request_get(i); i++) {
        buffer_clear(&text);
        request_write(request_get(i), needs, &text);
        json_begin_line(json, NULL, '{');
        json_add_text(json, "name", request_get(i)->name);
        json_add_text(json, "title", request_get(i)->title);
        json_add_text(json, "text", text.text);
        json_end(json);
    }
    json_end(json);
    if (buffer_error(&text) < 0)
        json->out->error = buffer_error(&text);
}

void recommendation_add_json(struct json_writer *json, const struct needs *needs,
                             enum recommendation_extra extra)
{
    json_begin(json, "recommendation", '{');
    for (size_t i = 0; i < NEEDS_FIELDS; i++) {
        const struct need *need = &needs->fields[i];

        json_begin_line(json, needs_keys[i], '{');
        json_add_number(json, "value", need->value);
        json_add_bool(json, "guess", need->is_guess);
        if (extra == RECOMMENDATION_SPREAD) {
            json_add_number(json, "used_min", need->used_min);
            json_add_number(json, "used_max", need->used_max);
            json_add_u64(json, "known_runs", need->known_runs);
        }
        json_add_text(json, "why", need->why);
        json_end(json);
    }
    json_begin_line(json, "choices", '[');
    for (size_t i = 0; i < needs->choice_count; i++) {
        json_begin(json, NULL, '{');
        json_add_number(json, "cpus", needs->choices[i].cpus);
        json_add_number(json, "seconds", needs->choices[i].seconds);
        json_end(json);
    }
    json_end(json);
    json_add_text(json, "note", *needs->note ? needs->note : NULL);
    if (extra == RECOMMENDATION_REQUESTS)
        add_requests(json, needs);
    json_end(json);
}

/* ---- text ----------------------------------------------------------------- */

/* The rows in the order of needs_keys. */
static const struct row {
    const char *label;
    struct number (*text)(double value);
    struct number (*used_text)(double used);
} rows[NEEDS_FIELDS] = {
    { "CPUs", number_count, number_short },
    { "Memory", number_memory_step, number_bytes },
    { "GPUs", number_count, number_short },
    { "GPU memory", number_memory_step, number_bytes },
    { "Time", number_time_step, number_duration },
};

/* Adds "; 120 MB to 338 MB in 3 runs". */
static void add_spread(const struct row *row, const struct need *need, size_t runs,
                       struct buffer *out)
{
    struct number min = row->used_text(need->used_min), max = row->used_text(need->used_max);

    if (need->known_runs > 1 && strcmp(min.text, max.text) != 0)
        buffer_format(out, "; %s to %s in %zu runs", min.text, max.text, need->known_runs);
    if (need->known_runs < runs && need->known_runs > 0)
        buffer_format(out, "; unknown in %zu of %zu runs", runs - need->known_runs, runs);
}

static void add_title(const struct needs *needs, struct page *page)
{
    CLEANUP(buffer_done) struct buffer text = { 0 };

    page_add(page, PAGE_BOLD, "Recommended for the next run");
    if (needs->runs > 1)
        buffer_format(&text, ", judging by %zu runs", needs->runs);
    page_add(page, PAGE_DIM, buffer_text(&text));
    page_blank(page);
    page_blank(page);
}

static void add_remarks(const struct needs *needs, struct page *page)
{
    CLEANUP(buffer_done) struct buffer choices = { 0 };
    size_t runs = needs->runs;

    add_choices(needs, true, &choices);
    if (needs->choice_count > 1)
        page_row(page, "Choices", "", choices.text);
    if (needs->quantile < 1)
        page_row_format(page, "Would fail", number_count((double)needs->would_fail_runs).text,
                        "of %zu runs, with this request at quantile %s", runs,
                        decimal_number(needs->quantile).text);
    if (*needs->note)
        page_row(page, "Note", "", needs->note);
}

void recommendation_write_text(const struct needs *needs, const struct format_style *style,
                               struct buffer *out)
{
    struct page page = { out, style->has_color, style->has_unicode, style->columns };

    add_title(needs, &page);
    for (size_t i = 0; i < NEEDS_FIELDS; i++) {
        const struct need *need = &needs->fields[i];
        CLEANUP(buffer_done) struct buffer details = { 0 };

        if (need == &needs->vram_bytes && needs->gpus.value <= 0)
            continue;
        page_escape(&page, need->why, &details);
        add_spread(&rows[i], need, needs->runs, &details);
        page_row(&page, rows[i].label,
                 isnan(need->value) ? "n/a" : rows[i].text(need->value).text, details.text);
    }
    add_remarks(needs, &page);
}
