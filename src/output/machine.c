/* SPDX-License-Identifier: Apache-2.0 */
/* machine.c - what machine this is, for people. */
#include <math.h>
#include <stdio.h>

#include "base/unknown.h"
#include "output/output.h"
#include "output/page.h"
#include "text/number.h"

static void host_write(const struct host_facts *host, struct page *page)
{
    const struct {
        const char *label, *text;
    } rows[] = {
        { "Host", host->hostname },
        { "System", host->os },
        { "Kernel", host->kernel },
        { "CPU", host->cpu_model },
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct buffer text = { 0 };

        page_escape(page, rows[i].text[0] ? rows[i].text : "n/a", &text);
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
    if (allowed)
        buffer_format(&text, ", of which a job may use %s (%s)", allowed,
                      source ? source : "n/a");
    page_note(page, PAGE_PLAIN, label, text.text ? text.text : "");
    buffer_done(&text);
}

static void gpu_write(const struct gpu_unit *unit, struct page *page)
{
    struct buffer text = { 0 };
    char label[32];

    (void)snprintf(label, sizeof(label), "GPU %s", gpu_place_text(unit->place, ':').text);
    page_escape(page, unit->device.name[0] ? unit->device.name : "n/a", &text);
    if (unit->device.is_part)
        buffer_format(&text, " (a part of GPU %u)", unit->place.index);
    buffer_format(&text, ", %s",
                  is_known(unit->device.memory_total_bytes)
                      ? number_bytes((double)unit->device.memory_total_bytes).text
                      : "n/a");
    page_escape(page, gpu_unit_id(unit), page_item(&text));
    if (unit->device.uuid[0] && unit->device.pci_address[0])
        page_escape(page, unit->device.pci_address, page_item(&text));
    if (!unit->is_selected)
        buffer_add_text(page_item(&text), "not the job's");
    page_note(page, PAGE_PLAIN, label, text.text ? text.text : "");
    buffer_done(&text);
}

void machine_write_text(const struct host_facts *host, const struct limits *limits,
                        const struct gpu_view *gpu, const struct text_style *style,
                        struct buffer *out)
{
    struct page page = { out, style->has_color, style->has_unicode, style->columns };
    struct buffer allowed = { 0 };
    char cpus[32];

    host_write(host, &page);
    (void)snprintf(cpus, sizeof(cpus), "%s",
                   number_count(is_known(host->cpus) ? (double)host->cpus : nan("")).text);
    number_write(limits->cpus, &allowed); /* nothing where it is not known */
    amount_write("CPUs", cpus, allowed.text, limits->cpus_source, &page);
    buffer_done(&allowed);
    amount_write(
        "Memory",
        number_bytes(is_known(host->memory_bytes) ? (double)host->memory_bytes : nan("")).text,
        is_known(limits->memory_bytes) ? number_bytes((double)limits->memory_bytes).text : NULL,
        limits->memory_source, &page);
    for (size_t i = 0; i < gpu->count; i++)
        gpu_write(&gpu->units[i], &page);
    if (gpu->count == 0 || gpu->reason)
        page_note(&page, PAGE_PLAIN, "GPUs", gpu->reason ? gpu->reason : "none");
}
