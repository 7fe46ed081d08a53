/* SPDX-License-Identifier: Apache-2.0 */
/* machine.c - what machine this is, for people. */
#include <math.h>
#include <string.h>

#include "base/unknown.h"
#include "output/format.h"
#include "output/text_gpu.h"
#include "output/text_layout.h"
#include "record/server.h"
#include "text/number.h"

/* More are summed up. */
enum { DISKS_MAX = 8 };

/* A row, or none if there is nothing to say. */
static void row_write(struct page *page, const char *label, struct buffer *text)
{
    if (text->length > 0)
        page_note(page, PAGE_PLAIN, label, text->text);
    buffer_done(text);
}

/* Adds an item to a list if it is known. */
static void add_item(const struct page *page, const char *before, const char *text,
                     struct buffer *list)
{
    if (!text)
        return;
    buffer_add_text(page_item(list), before);
    page_escape(page, text, list);
}

/* "1 core", "8 cores"; nothing if it is not known. */
static void add_count(uint64_t count, const char *one, struct buffer *list)
{
    if (is_known(count))
        buffer_format(page_item(list), "%llu %s%s", (unsigned long long)count, one,
                      count == 1 ? "" : "s");
}

/* ---- host ----------------------------------------------------------------- */

static void host_write(const struct record *record, struct page *page)
{
    const struct {
        const char *label, *text;
    } rows[] = {
        { "Host", record->host },
        { "System", record->os },
        { "Kernel", record->kernel },
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct buffer text = { 0 };

        page_escape(page, rows[i].text ? rows[i].text : "n/a", &text);
        if (rows[i].text == record->kernel && record->server)
            add_item(page, "", record->server->architecture, &text);
        row_write(page, rows[i].label, &text);
    }
}

/* "Amazon EC2 m5.large", but not "Google Google Compute Engine". */
static void add_product(const struct record_server *server, struct page *page,
                        struct buffer *out)
{
    const char *vendor = server->vendor, *model = server->model;

    if (vendor && !(model && strncmp(model, vendor, strlen(vendor)) == 0))
        page_escape(page, vendor, out);
    if (model && out->length > 0)
        buffer_add_text(out, " ");
    if (model)
        page_escape(page, model, out);
}

/* "Amazon EC2 m5.large, virtual machine (kvm), container (docker)". */
static void machine_write(const struct record_server *server, struct page *page)
{
    struct buffer text = { 0 };

    add_product(server, page, &text);
    if (server->hypervisor && strcmp(server->hypervisor, "none") == 0) {
        buffer_add_text(page_item(&text), "physical machine");
    } else if (server->hypervisor) {
        add_item(page, "virtual machine (", server->hypervisor, &text);
        buffer_add_text(&text, ")");
    }
    if (server->container && strcmp(server->container, "none") != 0) {
        add_item(page, "container (", server->container, &text);
        buffer_add_text(&text, ")");
    }
    if (text.length == 0)
        buffer_add_text(&text, "n/a");
    row_write(page, "Machine", &text);
}

static void cloud_write(const struct record_server *server, struct page *page)
{
    const struct record_cloud *cloud = &server->cloud;
    struct buffer text = { 0 };

    if (!server->has_cloud)
        return;
    add_item(page, "", cloud->vendor, &text);
    add_item(page, "", cloud->instance_type, &text);
    add_item(page, "region ", cloud->region, &text);
    add_item(page, "zone ", cloud->zone, &text);
    add_item(page, "account ", cloud->account, &text);
    if (text.length == 0)
        buffer_add_text(&text, server->cloud_reason ? "n/a" : "none detected");
    if (server->cloud_reason) {
        buffer_add_text(&text, " (");
        page_escape(page, server->cloud_reason, &text);
        buffer_add_text(&text, ")");
    }
    row_write(page, "Cloud", &text);
}

/* ---- CPUs and memory ------------------------------------------------------ */

/* "2, of which a job may use 1.5 (cgroup.cpu.max)". */
static void amount_write(const char *label, const char *all, const char *allowed,
                         const char *source, struct page *page)
{
    struct buffer text = { 0 };

    buffer_add_text(&text, all);
    if (allowed && *allowed)
        buffer_format(&text, ", of which a job may use %s (%s)", allowed,
                      source ? source : "n/a");
    row_write(page, label, &text);
}

/* "Neoverse-V1, 1 socket, 2 cores, 1 NUMA node". */
static void cpu_write(const struct record *record, struct page *page)
{
    const struct record_server *server = record->server;
    struct buffer text = { 0 };

    page_escape(page, record->cpu_model ? record->cpu_model : "n/a", &text);
    if (server) {
        add_count(server->sockets, "socket", &text);
        add_count(server->cores, "core", &text);
        add_count(server->numa_nodes, "NUMA node", &text);
    }
    row_write(page, "CPU", &text);
}

/* In powers of 1024, as caches are. */
static void add_size(uint64_t bytes, struct buffer *out)
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB" };
    size_t unit = 0;
    double value = (double)bytes;

    while (value >= 1024 && unit + 1 < ARRAY_SIZE(units)) {
        value /= 1024;
        unit++;
    }
    number_write(value, out);
    buffer_format(out, " %s", units[unit]);
}

/* "L1d 2 x 64 KiB, L3 32 MiB". */
static void caches_write(const struct record_server *server, struct page *page)
{
    struct buffer text = { 0 };

    for (size_t i = 0; i < server->cache_count; i++) {
        const struct record_cache *cache = &server->caches[i];
        bool is_even = cache->count > 0 && cache->total_bytes % cache->count == 0;

        if (!is_known(cache->total_bytes))
            continue;
        buffer_format(page_item(&text), "L%llu%s ", (unsigned long long)cache->level,
                      *cache->type == 'u'   ? ""
                      : *cache->type == 'd' ? "d"
                                            : "i");
        if (is_even && cache->count > 1)
            buffer_format(&text, "%llu x ", (unsigned long long)cache->count);
        add_size(is_even ? cache->total_bytes / cache->count : cache->total_bytes, &text);
        if (!is_even)
            buffer_format(&text, " in %llu", (unsigned long long)cache->count);
    }
    row_write(page, "Caches", &text);
}

/* ---- disks ---------------------------------------------------------------- */

static void disks_write(const struct record_server *server, struct page *page)
{
    struct buffer text = { 0 };
    size_t count = server->disk_count;
    uint64_t total = 0;

    for (size_t i = 0; i < count; i++) {
        const struct record_server_disk *disk = &server->disks[i];

        if (is_known(disk->capacity_bytes))
            total += disk->capacity_bytes;
        if (count > DISKS_MAX)
            continue;
        page_escape(page, disk->name, &text);
        buffer_add_text(page_item(&text), number_bytes(as_number(disk->capacity_bytes)).text);
        add_item(page, "", disk->type, &text);
        add_item(page, "", disk->model, &text);
        row_write(page, "Disk", &text);
    }
    if (count > DISKS_MAX) {
        buffer_format(&text, "%zu, %s in all", count, number_bytes((double)total).text);
        row_write(page, "Disks", &text);
    }
}

/* ---- GPUs ----------------------------------------------------------------- */

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
    row_write(page, gpu_label(gpu).text, &text);
}

void machine_write_text(const struct record *record, const struct format_style *style,
                        struct buffer *out)
{
    struct page page = { out, style->has_color, style->has_unicode, style->columns };
    double memory_limit = as_number(record->memory_limit_bytes);
    struct buffer allowed = { 0 };

    host_write(record, &page);
    if (record->server) {
        machine_write(record->server, &page);
        cloud_write(record->server, &page);
    }
    cpu_write(record, &page);
    number_write(record->cpus_limit, &allowed); /* nothing if it is not known */
    amount_write("CPUs", number_count(as_number(record->cpus)).text, allowed.text,
                 record->cpus_limit_source, &page);
    buffer_done(&allowed);
    if (record->server)
        caches_write(record->server, &page);
    amount_write("Memory", number_bytes(as_number(record->memory_bytes)).text,
                 isnan(memory_limit) ? NULL : number_bytes(memory_limit).text,
                 record->memory_limit_source, &page);
    if (record->server)
        disks_write(record->server, &page);
    for (size_t i = 0; i < record->gpu_count; i++)
        gpu_write(&record->gpus[i], &page);
    if (record->gpu_count == 0 || record->gpus_reason)
        page_note(&page, PAGE_PLAIN, "GPUs",
                  record->gpus_reason ? record->gpus_reason : "none");
}
