/* SPDX-License-Identifier: Apache-2.0 */
/* machine.c - what machine this is, for people. */
#include <math.h>
#include <string.h>

#include "base/unknown.h"
#include "output/format.h"
#include "output/page.h"
#include "output/text_gpu.h"
#include "text/number.h"

static void host_write(const struct record *record, struct page *page)
{
    const struct {
        const char *label, *text;
    } rows[] = {
        { "Host", record->host },
        { "System", record->os },
        { "Kernel", record->kernel },
        { "CPU", record->cpu_model },
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct buffer text = { 0 };

        page_escape(page, rows[i].text ? rows[i].text : "n/a", &text);
        page_note(page, PAGE_PLAIN, rows[i].label, text.text ? text.text : "");
        buffer_done(&text);
    }
}

/* "2, of which a job may use 1.5 (cgroup.cpu.max)". */
static void amount_write(const char *label, const char *all, const char *allowed,
                         const char *source, struct page *page)
{
    struct buffer text = { 0 };

    buffer_add_text(&text, all);
    if (allowed && *allowed)
        buffer_format(&text, ", of which a job may use %s (%s)", allowed,
                      source ? source : "n/a");
    page_note(page, PAGE_PLAIN, label, text.text ? text.text : "");
    buffer_done(&text);
}

static void gpu_write(const struct record_gpu *gpu, struct page *page)
{
    struct buffer text = { 0 };

    page_escape(page, gpu->name ? gpu->name : "n/a", &text);
    if (gpu->is_part)
        buffer_format(&text, " (a part of GPU %llu)", (unsigned long long)gpu->index);
    buffer_format(&text, ", %s", number_bytes(as_number(gpu->memory_bytes)).text);
    page_escape(page, gpu->uuid, page_item(&text));
    if (gpu->pci_address && strcmp(gpu->pci_address, gpu->uuid) != 0)
        page_escape(page, gpu->pci_address, page_item(&text));
    if (!gpu->is_selected)
        buffer_add_text(page_item(&text), "not the job's");
    page_note(page, PAGE_PLAIN, gpu_label(gpu).text, text.text ? text.text : "");
    buffer_done(&text);
}

void machine_write_text(const struct record *record, const struct format_style *style,
                        struct buffer *out)
{
    struct page page = { out, style->has_color, style->has_unicode, style->columns };
    double memory_limit = as_number(record->memory_limit_bytes);
    struct buffer allowed = { 0 };

    host_write(record, &page);
    number_write(record->cpus_limit, &allowed); /* nothing if it is not known */
    amount_write("CPUs", number_count(as_number(record->cpus)).text, allowed.text,
                 record->cpus_limit_source, &page);
    buffer_done(&allowed);
    amount_write("Memory", number_bytes(as_number(record->memory_bytes)).text,
                 isnan(memory_limit) ? NULL : number_bytes(memory_limit).text,
                 record->memory_limit_source, &page);
    for (size_t i = 0; i < record->gpu_count; i++)
        gpu_write(&record->gpus[i], &page);
    if (record->gpu_count == 0 || record->gpus_reason)
        page_note(&page, PAGE_PLAIN, "GPUs",
                  record->gpus_reason ? record->gpus_reason : "none");
}
