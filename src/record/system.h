/* SPDX-License-Identifier: Apache-2.0 */
/*
 * system.h - what the machine did during a run without a job: totals as figures, and its disks,
 * network interfaces and mounts one by one. Section "system" of the JSON report.
 */
#ifndef RECORD_SYSTEM_H
#define RECORD_SYSTEM_H

#include "record/field.h"
#include "record/record.h"
#include "sample/metric.h"

struct record_disk {
    const char *name, *model, *vendor, *serial;
    const char *type; /* "nvme", "ssd", "hdd" */
    uint64_t capacity_bytes;
    double read_bytes_per_second, written_bytes_per_second;
};

struct record_interface {
    const char *name, *mac_address, *driver;
    const char *state; /* "up", "down" */
    uint64_t speed_mbps, mtu;
    bool is_hardware;
    double received_bytes_per_second, sent_bytes_per_second;
};

struct record_mount {
    const char *point, *type, *source;
    const char *disk; /* the whole disk it is on */
    uint64_t total_bytes, used_bytes, free_bytes;
};

struct record_list {
    void *items;
    size_t count;
};

struct record_system {
    struct spoor_figure *figures;  /* record_system_figure_count() of them */
    struct record_list disks;      /* of struct record_disk */
    struct record_list interfaces; /* of struct record_interface */
    struct record_list mounts;     /* of struct record_mount */
};

/* The lists, for what writes or loads them all. */
struct record_system_list {
    const char *path; /* "system.disks" */
    struct field_table fields;
    size_t item_size;
    size_t offset; /* of the list in struct record_system */
};

enum { RECORD_SYSTEM_LISTS = 3 };
extern const struct record_system_list record_system_lists[RECORD_SYSTEM_LISTS];

size_t record_system_figure_count(void);
const char *record_system_figure_path(size_t index);

/* The metric it is derived from (METRIC_NONE: it is no metric), and whether it is its increase per
 * second or its last value: for the documentation. */
enum metric record_system_figure_metric(size_t index);
bool record_system_figure_is_rate(size_t index);

/* A figure of the machine; unknown if there are none or a job was tracked. */
struct spoor_figure record_system_find(const struct record *record, const char *path);

#endif
