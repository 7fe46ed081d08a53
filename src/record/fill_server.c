/* SPDX-License-Identifier: Apache-2.0 */
#include "record/fill_server.h"

static void add_caches(struct record *record, const struct topology *topology,
                       struct record_server *to)
{
    to->caches = record_alloc(record, topology->cache_count, sizeof(*to->caches));
    to->cache_count = to->caches ? topology->cache_count : 0;
    for (size_t i = 0; i < to->cache_count; i++) {
        const struct topology_cache *from = &topology->caches[i];

        to->caches[i] = (struct record_cache){
            .level = from->level,
            .type = from->type == 'd'   ? "data"
                    : from->type == 'i' ? "instruction"
                                        : "unified",
            .count = from->count,
            .total_bytes = from->bytes,
        };
    }
}

static void add_disks(struct record *record, const struct devices *devices,
                      struct record_server *to)
{
    to->disks = record_alloc(record, devices->disk_count, sizeof(*to->disks));
    to->disk_count = to->disks ? devices->disk_count : 0;
    for (size_t i = 0; i < to->disk_count; i++) {
        const struct disk_device *from = &devices->disks[i];

        to->disks[i] = (struct record_server_disk){
            .name = record_text(record, from->name),
            .type = disk_type_name(from->type),
            .model = record_known_text(record, from->model),
            .capacity_bytes = from->capacity_bytes,
        };
    }
}

struct record_cloud fill_cloud(struct record *record, const struct spoor_cloud *from)
{
    return (struct record_cloud){
        .vendor = record_known_text(record, from->vendor),
        .region = record_known_text(record, from->region),
        .zone = record_known_text(record, from->zone),
        .instance_type = record_known_text(record, from->instance_type),
        .account = record_known_text(record, from->account),
    };
}

void fill_server(struct record *record, const struct server_facts *facts,
                 const struct spoor_cloud *cloud)
{
    struct record_server *to = record_alloc(record, 1, sizeof(*to));

    if (!to)
        return;
    *to = (struct record_server){
        .architecture = record_known_text(record, facts->architecture),
        .vendor = record_known_text(record, facts->dmi.text[DMI_SYS_VENDOR]),
        .model = record_known_text(record, facts->dmi.text[DMI_PRODUCT_NAME]),
        .hypervisor = record_text(record, facts->hypervisor),
        .container = record_known_text(record, facts->container.text),
        .sockets = facts->topology.sockets,
        .cores = facts->topology.cores,
        .threads = facts->topology.threads,
        .numa_nodes = facts->topology.numa_nodes,
    };
    add_caches(record, &facts->topology, to);
    add_disks(record, &facts->devices, to);
    to->has_cloud = cloud;
    if (cloud) {
        to->cloud = fill_cloud(record, cloud);
        to->cloud_reason = record_known_text(record, cloud->reason);
    }
    record->server = to;
}
