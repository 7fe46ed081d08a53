/* SPDX-License-Identifier: Apache-2.0 */
#include "record/fill_system.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/compiler.h"
#include "record/system.h"
#include "series/figure.h"

/* ---- figures -------------------------------------------------------------- */

enum derivation {
    RATE,       /* growth of a counter per second, from the first to the last sample */
    LEVEL,      /* value of a metric at the last sample */
    HOST_LEVEL, /* likewise, of what is no metric: a member of struct host_reading */
};

/* The metric of a HOST_LEVEL is one from the same source. */
static const struct row {
    const char *path;
    enum derivation derivation;
    enum metric metric;
    size_t offset;
} rows[] = {
#define OF(member) offsetof(struct host_reading, member)
    { "system.cpu.busy_cores", RATE, METRIC_HOST_CPU, 0 },
    { "system.cpu.user_cores", RATE, METRIC_HOST_CPU_USER, 0 },
    { "system.cpu.system_cores", RATE, METRIC_HOST_CPU_SYSTEM, 0 },
    { "system.cpu.iowait_cores", RATE, METRIC_HOST_CPU_IOWAIT, 0 },
    { "system.cpu.steal_cores", RATE, METRIC_HOST_CPU_STEAL, 0 },
    { "system.memory.total_bytes", HOST_LEVEL, METRIC_HOST_MEMORY_USED,
      OF(memory.total_bytes) },
    { "system.memory.used_bytes", LEVEL, METRIC_HOST_MEMORY_USED, 0 },
    { "system.memory.available_bytes", LEVEL, METRIC_HOST_MEMORY_AVAILABLE, 0 },
    { "system.memory.free_bytes", HOST_LEVEL, METRIC_HOST_MEMORY_USED, OF(memory.free_bytes) },
    { "system.memory.cached_bytes", LEVEL, METRIC_HOST_MEMORY_CACHED, 0 },
    { "system.memory.buffers_bytes", HOST_LEVEL, METRIC_HOST_MEMORY_USED,
      OF(memory.buffers_bytes) },
    { "system.memory.dirty_bytes", LEVEL, METRIC_HOST_DIRTY, 0 },
    { "system.memory.swap_total_bytes", HOST_LEVEL, METRIC_HOST_SWAP_USED,
      OF(memory.swap_total_bytes) },
    { "system.memory.swap_used_bytes", LEVEL, METRIC_HOST_SWAP_USED, 0 },
    { "system.disk.read_bytes_per_second", RATE, METRIC_HOST_DISK_READ, 0 },
    { "system.disk.written_bytes_per_second", RATE, METRIC_HOST_DISK_WRITTEN, 0 },
    { "system.disk.space_total_bytes", HOST_LEVEL, METRIC_HOST_DISK_SPACE_USED,
      OF(space.total_bytes) },
    { "system.disk.space_used_bytes", LEVEL, METRIC_HOST_DISK_SPACE_USED, 0 },
    { "system.disk.space_free_bytes", LEVEL, METRIC_HOST_DISK_SPACE_FREE, 0 },
    { "system.network.received_bytes_per_second", RATE, METRIC_HOST_NETWORK_RECEIVED, 0 },
    { "system.network.sent_bytes_per_second", RATE, METRIC_HOST_NETWORK_SENT, 0 },
    { "system.pressure.cpu_ratio", RATE, METRIC_HOST_CPU_PRESSURE, 0 },
    { "system.pressure.memory_ratio", RATE, METRIC_HOST_MEMORY_PRESSURE, 0 },
    { "system.pressure.io_ratio", RATE, METRIC_HOST_IO_PRESSURE, 0 },
    { "system.processes.count", HOST_LEVEL, METRIC_NONE, OF(process_count) },
#undef OF
};

size_t record_system_figure_count(void)
{
    return ARRAY_SIZE(rows);
}

const char *record_system_figure_path(size_t index)
{
    return rows[index].path;
}

enum metric record_system_figure_metric(size_t index)
{
    return rows[index].derivation == HOST_LEVEL ? METRIC_NONE : rows[index].metric;
}

bool record_system_figure_is_rate(size_t index)
{
    return rows[index].derivation == RATE;
}

static struct spoor_figure make_level(const struct row *row, const struct record_input *input)
{
    static const struct origin processes = { "procfs", "cannot read /proc", false };
    const struct origin *origin =
        row->metric == METRIC_NONE ? &processes : &input->summary->tally[row->metric].origin;
    uint64_t value = UNKNOWN;
    struct spoor_figure figure = record_unknown_figure(origin->reason);

    if (input->latest && row->derivation == LEVEL)
        value = input->latest->value[row->metric];
    else if (input->latest)
        memcpy(&value, (const char *)&input->latest->host + row->offset, sizeof(value));
    if (is_known(value)) {
        figure.value = (double)value;
        figure.source = origin->source;
        figure.reason = NULL;
    }
    return figure;
}

static void fill_figures(struct record *record, const struct record_input *input)
{
    struct spoor_figure *figures = record_alloc(record, ARRAY_SIZE(rows), sizeof(*figures));

    for (size_t i = 0; figures && i < ARRAY_SIZE(rows); i++) {
        struct spoor_figure figure = rows[i].derivation == RATE
                                         ? figure_mean_rate(rows[i].metric, input->summary)
                                         : make_level(&rows[i], input);

        figures[i] = record_figure(record, figure, i > 0 ? &figures[i - 1] : NULL);
    }
    record->system->figures = figures;
}

/* ---- devices -------------------------------------------------------------- */

static double rate_of(uint64_t before, uint64_t after, uint64_t span_ns)
{
    uint64_t growth = devices_growth(before, after);

    return is_known(growth) && span_ns > 0 ? (double)growth / ((double)span_ns / 1e9)
                                           : (double)NAN;
}

static void fill_disks(struct record *record, const struct record_input *input)
{
    const struct devices *devices = input->devices;
    struct record_disk *to = record_alloc(record, devices->disk_count, sizeof(*to));

    record->system->disks = (struct record_list){ to, to ? devices->disk_count : 0 };
    for (size_t i = 0; to && i < devices->disk_count; i++) {
        const struct disk_device *disk = &devices->disks[i];
        const struct disk_device *before = devices_find_disk(input->first_devices, disk->name);

        to[i] = (struct record_disk){
            .name = record_text(record, disk->name),
            .type = record_text(record, disk_type_name(disk->type)),
            .model = record_known_text(record, disk->model),
            .vendor = record_known_text(record, disk->vendor),
            .serial = record_known_text(record, disk->serial),
            .capacity_bytes = disk->capacity_bytes,
            .read_bytes_per_second = rate_of(before ? before->read_bytes : UNKNOWN,
                                             disk->read_bytes, input->devices_span_ns),
            .written_bytes_per_second = rate_of(before ? before->written_bytes : UNKNOWN,
                                                disk->written_bytes, input->devices_span_ns),
        };
    }
}

static void fill_interfaces(struct record *record, const struct record_input *input)
{
    const struct devices *devices = input->devices;
    struct record_interface *to = record_alloc(record, devices->interface_count, sizeof(*to));

    record->system->interfaces = (struct record_list){ to, to ? devices->interface_count : 0 };
    for (size_t i = 0; to && i < devices->interface_count; i++) {
        const struct network_device *device = &devices->interfaces[i];
        const struct network_device *before =
            devices_find_interface(input->first_devices, device->name);

        to[i] = (struct record_interface){
            .name = record_text(record, device->name),
            .mac_address = record_known_text(record, device->mac_address),
            .driver = record_known_text(record, device->driver),
            .state = record_known_text(record, device->state),
            .speed_mbps = device->speed_mbps,
            .mtu = device->mtu,
            .is_hardware = device->is_hardware,
            .received_bytes_per_second =
                rate_of(before ? before->received_bytes : UNKNOWN, device->received_bytes,
                        input->devices_span_ns),
            .sent_bytes_per_second = rate_of(before ? before->sent_bytes : UNKNOWN,
                                             device->sent_bytes, input->devices_span_ns),
        };
    }
}

static void fill_mounts(struct record *record, const struct devices *devices)
{
    struct record_mount *to = record_alloc(record, devices->mount_count, sizeof(*to));

    record->system->mounts = (struct record_list){ to, to ? devices->mount_count : 0 };
    for (size_t i = 0; to && i < devices->mount_count; i++) {
        const struct mount_item *mount = &devices->mounts[i].mount;

        to[i] = (struct record_mount){
            .point = record_text(record, mount->point),
            .type = record_known_text(record, mount->type),
            .source = record_known_text(record, mount->source),
            .disk = record_known_text(record, devices->mounts[i].disk),
            .total_bytes = mount->space.total_bytes,
            .used_bytes = mount->space.used_bytes,
            .free_bytes = mount->space.free_bytes,
        };
    }
}

void fill_system(struct record *record, const struct record_input *input)
{
    record->system = record_alloc(record, 1, sizeof(*record->system));
    if (!record->system)
        return;
    fill_figures(record, input);
    fill_disks(record, input);
    fill_interfaces(record, input);
    fill_mounts(record, input->devices);
}
