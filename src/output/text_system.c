/* SPDX-License-Identifier: Apache-2.0 */
#include "output/text_system.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/unknown.h"
#include "output/text_gpu.h"
#include "record/system.h"
#include "text/number.h"

static double value_of(const struct record *record, const char *path)
{
    return record_system_find(record, path).value;
}

/* "1.46 MB/s". */
static struct number number_rate(double bytes_per_second)
{
    struct number bytes = number_bytes(bytes_per_second);
    struct number rate;

    if (isnan(bytes_per_second))
        return bytes;
    (void)snprintf(rate.text, sizeof(rate.text), "%.24s/s", bytes.text); /* fits */
    return rate;
}

static void headline_write(const struct record *record, struct page *page)
{
    struct clock_text date = clock_format(record->started_at);
    struct buffer text = { 0 };

    if (record->name) {
        page_escape(page, record->name, &text);
        buffer_add_text(&text, ": ");
    }
    page_escape(page, record->host ? record->host : "this machine", &text);
    page_add(page, PAGE_BOLD, text.text ? text.text : "");
    page_blank(page);
    buffer_clear(&text);
    buffer_format(&text, "measured for %s", number_duration(record->elapsed_seconds).text);
    if (date.text[0])
        buffer_format(&text, " from %.10s %.8s UTC", date.text, date.text + 11);
    page_add(page, PAGE_DIM, text.text ? text.text : "");
    page_blank(page);
    page_blank(page);
    buffer_done(&text);
}

static void cpu_write(const struct record *record, struct page *page)
{
    struct buffer details = { 0 };

    buffer_add_text(&details, "cores busy");
    if (is_known(record->cpus))
        buffer_format(&details, " of %llu", (unsigned long long)record->cpus);
    buffer_format(&details, ": user %s, system %s",
                  number_short(value_of(record, "system.cpu.user_cores")).text,
                  number_short(value_of(record, "system.cpu.system_cores")).text);
    page_row(page, "CPU", number_short(value_of(record, "system.cpu.busy_cores")).text,
             details.text);
    buffer_clear(&details);
    buffer_format(&details, "cores idle with I/O outstanding; %s stolen",
                  number_short(value_of(record, "system.cpu.steal_cores")).text);
    page_row(page, "  iowait", number_short(value_of(record, "system.cpu.iowait_cores")).text,
             details.text);
    buffer_done(&details);
}

static void memory_write(const struct record *record, struct page *page)
{
    double swap = value_of(record, "system.memory.swap_total_bytes");
    struct buffer details = { 0 };

    buffer_format(&details, "used of %s, %s available",
                  number_bytes(value_of(record, "system.memory.total_bytes")).text,
                  number_bytes(value_of(record, "system.memory.available_bytes")).text);
    page_row(page, "Memory", number_bytes(value_of(record, "system.memory.used_bytes")).text,
             details.text);
    buffer_clear(&details);
    buffer_format(&details, "including %s of buffers; %s free",
                  number_bytes(value_of(record, "system.memory.buffers_bytes")).text,
                  number_bytes(value_of(record, "system.memory.free_bytes")).text);
    page_row(page, "  cached",
             number_bytes(value_of(record, "system.memory.cached_bytes")).text, details.text);
    buffer_clear(&details);
    buffer_format(&details, "used of %s", number_bytes(swap).text);
    if (swap > 0)
        page_row(page, "  swap",
                 number_bytes(value_of(record, "system.memory.swap_used_bytes")).text,
                 details.text);
    buffer_done(&details);
}

/* The row of a device: "  sda", cut to leave room for the value. */
static void device_write(struct page *page, const char *name, struct number value,
                         struct buffer *details)
{
    enum { NAME_COLUMNS = 12 };
    struct buffer safe = { 0 };
    struct buffer label = { 0 };

    page_escape(page, name ? name : "n/a", &safe);
    buffer_add_text(&label, "  ");
    page_cut(safe.text ? safe.text : "", NAME_COLUMNS, &label);
    page_row(page, label.text ? label.text : "", value.text, details->text);
    buffer_done(&safe);
    buffer_done(&label);
    buffer_done(details);
}

static void add_escaped(const struct page *page, const char *text, struct buffer *list)
{
    if (text)
        page_escape(page, text, page_item(list));
}

/* "; 1 TB, ssd": what the device is. */
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

    buffer_format(&details, "read, %s written",
                  number_rate(value_of(record, "system.disk.written_bytes_per_second")).text);
    page_row(page, "Disk I/O",
             number_rate(value_of(record, "system.disk.read_bytes_per_second")).text,
             details.text);
    buffer_done(&details);
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

/* The share is that of df: of the space that is not reserved, rounded up to whole percent. */
static void add_space(double total, double used, double free, struct buffer *details)
{
    buffer_format(details, "used of %s", number_bytes(total).text);
    if (used + free > 0) /* both are known */
        buffer_format(details, " (%s)",
                      number_percent(ceil(100 * used / (used + free)) / 100).text);
    buffer_format(details, ", %s free", number_bytes(free).text);
}

/* A mount is labelled with the device, since its point may be long. */
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

/* The kernel has virtual interfaces that nobody uses. */
static bool is_worth_a_row(const struct record_interface *interface)
{
    return interface->is_hardware || !interface->state || strcmp(interface->state, "down") != 0;
}

static void network_write(const struct record *record, struct page *page)
{
    const struct record_list *list = &record->system->interfaces;
    const struct record_interface *interfaces = list->items;
    struct buffer details = { 0 };

    buffer_format(&details, "received, %s sent",
                  number_rate(value_of(record, "system.network.sent_bytes_per_second")).text);
    page_row(page, "Network",
             number_rate(value_of(record, "system.network.received_bytes_per_second")).text,
             details.text);
    buffer_done(&details);
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
        struct buffer details = { 0 };

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
        buffer_done(&details);
    }
}

static void pressure_write(const struct record *record, struct page *page)
{
    struct buffer details = { 0 };

    buffer_format(&details,
                  "of the time some process waited for a CPU; %s for memory, %s for I/O",
                  number_percent(value_of(record, "system.pressure.memory_ratio")).text,
                  number_percent(value_of(record, "system.pressure.io_ratio")).text);
    page_row(page, "Pressure",
             number_percent(value_of(record, "system.pressure.cpu_ratio")).text, details.text);
    buffer_done(&details);
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
