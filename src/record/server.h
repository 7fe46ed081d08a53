/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server.h - what a machine is, beyond what every report says of it. Sections "server" and "cloud" of the
 * JSON of `spoor info`.
 */
#ifndef RECORD_SERVER_H
#define RECORD_SERVER_H

#include "record/field.h"
#include "record/record.h"

/* All caches of one level and type. */
struct record_cache {
    uint64_t level;
    const char *type; /* "data", "instruction", "unified" */
    uint64_t count;
    uint64_t total_bytes; /* of all of them together */
};

struct record_server_disk {
    const char *name;
    const char *type; /* "nvme", "ssd", "hdd" */
    const char *model;
    uint64_t capacity_bytes;
};

struct record_cloud {
    const char *vendor, *region, *zone, *instance_type, *account;
};

/* Unknown is NULL or UNKNOWN. */
struct record_server {
    const char *architecture;   /* "x86_64" */
    const char *vendor, *model; /* as the firmware says */
    const char *hypervisor;     /* "kvm", "other", ...; "none": a physical machine */
    const char *container;      /* "docker", ...; "none" */
    uint64_t sockets, cores, threads, numa_nodes;
    struct record_cache *caches;
    size_t cache_count;
    struct record_server_disk *disks;
    size_t disk_count;
    bool has_cloud; /* whether somebody looked which cloud it is */
    struct record_cloud cloud;
    const char *cloud_reason; /* why some of it is unknown */
};

extern const struct field_table record_server_fields;
extern const struct field_table record_cache_fields;
extern const struct field_table record_server_disk_fields;
extern const struct field_table record_cloud_fields;

#endif
