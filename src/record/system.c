/* SPDX-License-Identifier: Apache-2.0 */
#include "record/system.h"

#include <string.h>

#include "base/compiler.h"

#define DISK(member) #member, offsetof(struct record_disk, member)
#define INTERFACE(member) #member, offsetof(struct record_interface, member)
#define MOUNT(member) #member, offsetof(struct record_mount, member)

#define ROW(kind, ...) ROW_OF(kind, __VA_ARGS__)
#define ROW_OF(kind, path, offset) \
    {                              \
        path, kind, offset         \
    }

static const struct field disk[] = {
    ROW(FIELD_TEXT, DISK(name)),
    ROW(FIELD_TEXT, DISK(type)),
    ROW(FIELD_TEXT, DISK(model)),
    ROW(FIELD_TEXT, DISK(vendor)),
    ROW(FIELD_TEXT, DISK(serial)),
    ROW(FIELD_COUNT, DISK(capacity_bytes)),
    ROW(FIELD_NUMBER, DISK(read_bytes_per_second)),
    ROW(FIELD_NUMBER, DISK(written_bytes_per_second)),
};

static const struct field interface[] = {
    ROW(FIELD_TEXT, INTERFACE(name)),
    ROW(FIELD_TEXT, INTERFACE(mac_address)),
    ROW(FIELD_TEXT, INTERFACE(driver)),
    ROW(FIELD_TEXT, INTERFACE(state)),
    ROW(FIELD_COUNT, INTERFACE(speed_mbps)),
    ROW(FIELD_COUNT, INTERFACE(mtu)),
    ROW(FIELD_FLAG, INTERFACE(is_hardware)),
    ROW(FIELD_NUMBER, INTERFACE(received_bytes_per_second)),
    ROW(FIELD_NUMBER, INTERFACE(sent_bytes_per_second)),
};

static const struct field mount[] = {
    ROW(FIELD_TEXT, MOUNT(point)),        ROW(FIELD_TEXT, MOUNT(type)),
    ROW(FIELD_TEXT, MOUNT(source)),       ROW(FIELD_TEXT, MOUNT(disk)),
    ROW(FIELD_COUNT, MOUNT(total_bytes)), ROW(FIELD_COUNT, MOUNT(used_bytes)),
    ROW(FIELD_COUNT, MOUNT(free_bytes)),
};

#define LIST(rows, type, member)                                       \
    {                                                                  \
        "system." #member, { (rows), ARRAY_SIZE(rows) }, sizeof(type), \
            offsetof(struct record_system, member)                     \
    }

const struct record_system_list record_system_lists[RECORD_SYSTEM_LISTS] = {
    LIST(disk, struct record_disk, disks),
    LIST(interface, struct record_interface, interfaces),
    LIST(mount, struct record_mount, mounts),
};

struct spoor_figure record_system_find(const struct record *record, const char *path)
{
    for (size_t i = 0;
         record->system && record->system->figures && i < record_system_figure_count(); i++) {
        if (strcmp(record_system_figure_path(i), path) == 0)
            return record->system->figures[i];
    }
    return record_unknown_figure(NULL);
}
