/* SPDX-License-Identifier: Apache-2.0 */
#include "output/text_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/amount.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "output/format.h"
#include "text/number.h"

/* ---- text system ----------------------------------------------------------- */

static double value_of(const struct record *record, const char *path)
{
    return record_system_find(record, path).value;
}

static void headline_write(const struct record *record, struct page *page)
{
    struct clock_text date = clock_format(record->started_at);
    CLEANUP(buffer_done) struct buffer text = { 0 };

    if (record->name) {
        page_escape(page, record->name, &text);
        buffer_add_text(&text, ": ");
    }
    page_escape(page, record->host ? record->host : "this machine", &text);
    page_add(page, PAGE_BOLD, buffer_text(&text));
    page_blank(page);
    buffer_clear(&text);
    buffer_format(&text, "measured for %s", number_duration(record->elapsed_seconds).text);
    if (date.text[0])
        buffer_format(&text, " from %.10s %.8s UTC", date.text, date.text + 11);
    page_add(page, PAGE_DIM, buffer_text(&text));
    page_blank(page);
    page_blank(page);
}

static void cpu_write(const struct record *record, struct page *page)
{
    char cpus[32] = "";

    if (is_known(record->cpus))
        (void)snprintf(cpus, sizeof(cpus), " of %llu", (unsigned long long)record->cpus);
    page_row_format(page, "CPU", number_short(value_of(record, "system.cpu.busy_cores")).text,
                    "cores busy%s: user %s, system %s", cpus,
                    number_short(value_of(record, "system.cpu.user_cores")).text,
                    number_short(value_of(record, "system.cpu.system_cores")).text);
    page_row_format(page, "  iowait",
                    number_short(value_of(record, "system.cpu.iowait_cores")).text,
                    "cores idle with I/O outstanding; %s stolen",
                    number_short(value_of(record, "system.cpu.steal_cores")).text);
}

static void memory_write(const struct record *record, struct page *page)
{
    double swap = value_of(record, "system.memory.swap_total_bytes");

    page_row_format(page, "Memory",
                    number_bytes(value_of(record, "system.memory.used_bytes")).text,
                    "used of %s, %s available",
                    number_bytes(value_of(record, "system.memory.total_bytes")).text,
                    number_bytes(value_of(record, "system.memory.available_bytes")).text);
    page_row_format(page, "  cached",
                    number_bytes(value_of(record, "system.memory.cached_bytes")).text,
                    "including %s of buffers; %s free",
                    number_bytes(value_of(record, "system.memory.buffers_bytes")).text,
                    number_bytes(value_of(record, "system.memory.free_bytes")).text);
    if (swap > 0)
        page_row_format(page, "  swap",
                        number_bytes(value_of(record, "system.memory.swap_used_bytes")).text,
                        "used of %s", number_bytes(swap).text);
}

/* Writes the row of a device: " sda", truncated to leave room for the value. */
static void device_write(struct page *page, const char *name, struct number value,
                         struct buffer *details)
{
    enum { NAME_COLUMNS = 12 };
    CLEANUP(buffer_done) struct buffer safe = { 0 };
    CLEANUP(buffer_done) struct buffer label = { 0 };

    page_escape(page, name ? name : "n/a", &safe);
    buffer_add_text(&label, "  ");
    page_cut(buffer_text(&safe), NAME_COLUMNS, &label);
    page_row(page, buffer_text(&label), value.text, details->text);
    buffer_done(details);
}

static void add_escaped(const struct page *page, const char *text, struct buffer *list)
{
    if (text)
        page_escape(page, text, page_item(list));
}

/* Adds "; 1 TB, ssd": facts about a device. */
static void add_facts(struct buffer *details, struct buffer *facts)
{
    if (facts->length > 0)
        buffer_format(details, "; %s", facts->text);
    buffer_done(facts);
}

static void disks_write(const struct record *record, struct page *page)
{
    const struct record_list *list = &record->system->disks;
    const struct record_disk *disks = list->items;
    struct buffer details = { 0 };

    page_row_format(page, "Disk I/O",
                    number_rate(value_of(record, "system.disk.read_bytes_per_second")).text,
                    "read, %s written",
                    number_rate(value_of(record, "system.disk.written_bytes_per_second")).text);
    for (size_t i = 0; i < list->count; i++) {
        struct buffer facts = { 0 };

        buffer_format(&details, "read, %s written",
                      number_rate(disks[i].written_bytes_per_second).text);
        if (is_known(disks[i].capacity_bytes))
            buffer_add_text(&facts, number_bytes((double)disks[i].capacity_bytes).text);
        add_escaped(page, disks[i].type, &facts);
        add_escaped(page, disks[i].model, &facts);
        add_facts(&details, &facts);
        device_write(page, disks[i].name, number_rate(disks[i].read_bytes_per_second),
                     &details);
    }
}

/* Computes the percentage as df does: of the space that is not reserved, rounded up to whole
 * percent. */
static void add_space(double total, double used, double free, struct buffer *details)
{
    buffer_format(details, "used of %s", number_bytes(total).text);
    if (used + free > 0) /* both are known */
        buffer_format(details, " (%s)",
                      number_percent(ceil(100 * used / (used + free)) / 100).text);
    buffer_format(details, ", %s free", number_bytes(free).text);
}

/* A mount is labelled with its device, since its path may be long. */
static void space_write(const struct record *record, struct page *page)
{
    const struct record_list *list = &record->system->mounts;
    const struct record_mount *mounts = list->items;
    double used = value_of(record, "system.disk.space_used_bytes");
    struct buffer details = { 0 };

    add_space(value_of(record, "system.disk.space_total_bytes"), used,
              value_of(record, "system.disk.space_free_bytes"), &details);
    page_row(page, "Disk space", number_bytes(used).text, details.text);
    buffer_done(&details);
    for (size_t i = 0; i < list->count; i++) {
        const struct record_mount *mount = &mounts[i];
        const char *source = mount->source ? mount->source : mount->type;
        const char *slash = source ? strrchr(source, '/') : NULL;

        add_space(as_number(mount->total_bytes), as_number(mount->used_bytes),
                  as_number(mount->free_bytes), &details);
        buffer_add_text(&details, "; on ");
        page_escape(page, mount->point ? mount->point : "n/a", &details);
        add_escaped(page, mount->type, &details);
        device_write(page, slash && slash[1] ? slash + 1 : source,
                     number_bytes(as_number(mount->used_bytes)), &details);
    }
}

/* Some virtual interfaces of the kernel are never used; these get no row. */
static bool is_worth_a_row(const struct record_interface *interface)
{
    return interface->is_hardware || !interface->state || strcmp(interface->state, "down") != 0;
}

static void network_write(const struct record *record, struct page *page)
{
    const struct record_list *list = &record->system->interfaces;
    const struct record_interface *interfaces = list->items;
    struct buffer details = { 0 };

    page_row_format(
        page, "Network",
        number_rate(value_of(record, "system.network.received_bytes_per_second")).text,
        "received, %s sent",
        number_rate(value_of(record, "system.network.sent_bytes_per_second")).text);
    for (size_t i = 0; i < list->count; i++) {
        const struct record_interface *interface = &interfaces[i];
        struct buffer facts = { 0 };

        if (!is_worth_a_row(interface))
            continue;
        buffer_format(&details, "received, %s sent",
                      number_rate(interface->sent_bytes_per_second).text);
        add_escaped(page, interface->state, &facts);
        if (is_known(interface->speed_mbps))
            buffer_format(page_item(&facts), "%llu Mb/s",
                          (unsigned long long)interface->speed_mbps);
        add_escaped(page, interface->is_hardware ? interface->driver : "virtual", &facts);
        add_facts(&details, &facts);
        device_write(page, interface->name, number_rate(interface->received_bytes_per_second),
                     &details);
    }
}

static void gpus_write(const struct record *record, struct page *page)
{
    for (size_t i = 0; i < record->gpu_count; i++) {
        const struct record_gpu *gpu = &record->gpus[i];
        const struct spoor_figure *measures = gpu->measures;
        double power = measures[RECORD_GPU_POWER_MAX].value;
        double temperature = measures[RECORD_GPU_TEMPERATURE_MAX].value;
        CLEANUP(buffer_done) struct buffer details = { 0 };

        if (!gpu->is_selected)
            continue;
        buffer_format(&details, "busy, %s of %s used",
                      number_bytes(measures[RECORD_GPU_MEMORY].value).text,
                      number_bytes(as_number(gpu->memory_bytes)).text);
        if (!isnan(power))
            buffer_format(page_item(&details), "%s W", number_count(power).text);
        if (!isnan(temperature))
            buffer_format(page_item(&details), "%s C", number_count(temperature).text);
        add_escaped(page, gpu->name, &details);
        page_row(page, gpu_label(gpu).text,
                 number_percent(measures[RECORD_GPU_UTILIZATION_MEAN].value).text,
                 details.text);
    }
}

static void pressure_write(const struct record *record, struct page *page)
{
    page_row_format(page, "Pressure",
                    number_percent(value_of(record, "system.pressure.cpu_ratio")).text,
                    "of the time some process waited for a CPU; %s for memory, %s for I/O",
                    number_percent(value_of(record, "system.pressure.memory_ratio")).text,
                    number_percent(value_of(record, "system.pressure.io_ratio")).text);
}

void text_system_write(const struct record *record, struct page *page)
{
    headline_write(record, page);
    cpu_write(record, page);
    memory_write(record, page);
    gpus_write(record, page);
    disks_write(record, page);
    space_write(record, page);
    network_write(record, page);
    pressure_write(record, page);
    page_row(page, "Processes", number_count(value_of(record, "system.processes.count")).text,
             NULL);
}

/* ---- The machine, for people -------------------------------------- */

/* Further disks are summed up. */
enum { DISKS_MAX = 8 };

static void row_write(struct page *page, const char *label, struct buffer *text)
{
    if (text->length > 0)
        page_note(page, PAGE_BOLD, label, text->text);
    buffer_done(text);
}

static void add_item(const struct page *page, const char *before, const char *text,
                     struct buffer *list)
{
    if (!text)
        return;
    buffer_add_text(page_item(list), before);
    page_escape(page, text, list);
}

/* Adds "1 core", "8 cores"; nothing if the count is unknown. */
static void add_count(uint64_t count, const char *one, struct buffer *list)
{
    if (is_known(count))
        buffer_format(page_item(list), "%llu %s%s", (unsigned long long)count, one,
                      count == 1 ? "" : "s");
}

/* ---- host ----------------------------------------------------------------- */

static void host_facts_write(const struct record *record, struct page *page)
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

/* Adds "Amazon EC2 m5.large", but not "Google Google Compute Engine". */
static void add_product(const struct record_server *server, struct page *page,
                        struct buffer *out)
{
    const char *vendor = server->vendor, *model = server->model;

    if (vendor && !(model && begins_with(model, vendor)))
        page_escape(page, vendor, out);
    if (model && out->length > 0)
        buffer_add_text(out, " ");
    if (model)
        page_escape(page, model, out);
}

/* Writes "Amazon EC2 m5.large, virtual machine (kvm), container (docker)". */
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

static void cloud_write(const struct record_cloud *cloud, struct page *page)
{
    struct buffer text = { 0 };

    add_item(page, "", cloud->vendor, &text);
    add_item(page, "", cloud->instance_type, &text);
    add_item(page, "region ", cloud->region, &text);
    add_item(page, "zone ", cloud->zone, &text);
    add_item(page, "account ", cloud->account, &text);
    if (text.length == 0)
        buffer_add_text(&text, cloud->reason ? "n/a" : "none detected");
    if (cloud->reason) {
        buffer_add_text(&text, " (");
        page_escape(page, cloud->reason, &text);
        buffer_add_text(&text, ")");
    }
    row_write(page, "Cloud", &text);
}

/* ---- CPUs and memory ------------------------------------------------------ */

/* Writes "2, of which a job may use 1.5 (cgroup.cpu.max)". */
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

/* Writes "Neoverse-V1, 1 socket, 2 cores, 1 NUMA node". */
static void cpu_facts_write(const struct record *record, struct page *page)
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

/* Adds a size in powers of 1024, as usual for caches. */
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

/* Writes "L1d 2 x 64 KiB, L3 32 MiB". */
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

static void disk_list_write(const struct record_server *server, struct page *page)
{
    struct buffer text = { 0 };
    size_t count = server->disk_count;
    uint64_t total = 0;

    for (size_t i = 0; i < count; i++) {
        const struct record_disk *disk = &server->disks[i];

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
    CLEANUP(buffer_done) struct buffer allowed = { 0 };

    host_facts_write(record, &page);
    if (record->server)
        machine_write(record->server, &page);
    if (record->server && record->cloud)
        cloud_write(record->cloud, &page);
    cpu_facts_write(record, &page);
    number_write(record->cpus_limit, &allowed); /* writes nothing if unknown */
    amount_write("CPUs", number_count(as_number(record->cpus)).text, allowed.text,
                 record->cpus_limit_source, &page);
    if (record->server)
        caches_write(record->server, &page);
    amount_write("Memory", number_bytes(as_number(record->memory_bytes)).text,
                 isnan(memory_limit) ? NULL : number_limit(memory_limit).text,
                 record->memory_limit_source, &page);
    if (record->server)
        disk_list_write(record->server, &page);
    for (size_t i = 0; i < record->gpu_count; i++)
        gpu_write(&record->gpus[i], &page);
    if (record->gpu_count == 0 || record->gpus_reason)
        page_note(&page, PAGE_BOLD, "GPUs", record->gpus_reason ? record->gpus_reason : "none");
}
