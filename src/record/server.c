/* SPDX-License-Identifier: Apache-2.0 */
#include "record/server.h"

#include "base/compiler.h"

#define SERVER(member) #member, offsetof(struct record_server, member)
#define CACHE(member) #member, offsetof(struct record_cache, member)
#define DISK(member) #member, offsetof(struct record_server_disk, member)
#define CLOUD(member) #member, offsetof(struct record_cloud, member)

#define ROW(kind, ...) ROW_OF(kind, __VA_ARGS__)
#define ROW_OF(kind, path, offset) \
    {                              \
        path, kind, offset         \
    }

static const struct field server[] = {
    ROW(FIELD_TEXT, SERVER(architecture)), ROW(FIELD_TEXT, SERVER(vendor)),
    ROW(FIELD_TEXT, SERVER(model)),        ROW(FIELD_TEXT, SERVER(hypervisor)),
    ROW(FIELD_TEXT, SERVER(container)),    ROW(FIELD_COUNT, SERVER(sockets)),
    ROW(FIELD_COUNT, SERVER(cores)),       ROW(FIELD_COUNT, SERVER(threads)),
    ROW(FIELD_COUNT, SERVER(numa_nodes)),
};

static const struct field cache[] = {
    ROW(FIELD_COUNT, CACHE(level)),
    ROW(FIELD_TEXT, CACHE(type)),
    ROW(FIELD_COUNT, CACHE(count)),
    ROW(FIELD_COUNT, CACHE(total_bytes)),
};

static const struct field disk[] = {
    ROW(FIELD_TEXT, DISK(name)),
    ROW(FIELD_TEXT, DISK(type)),
    ROW(FIELD_TEXT, DISK(model)),
    ROW(FIELD_COUNT, DISK(capacity_bytes)),
};

static const struct field cloud_rows[] = {
    ROW(FIELD_TEXT, CLOUD(vendor)),  ROW(FIELD_TEXT, CLOUD(region)),
    ROW(FIELD_TEXT, CLOUD(zone)),    ROW(FIELD_TEXT, CLOUD(instance_type)),
    ROW(FIELD_TEXT, CLOUD(account)),
};

#define TABLE(rows)              \
    {                            \
        (rows), ARRAY_SIZE(rows) \
    }

const struct field_table record_server_fields = TABLE(server);
const struct field_table record_cache_fields = TABLE(cache);
const struct field_table record_server_disk_fields = TABLE(disk);
const struct field_table record_cloud_fields = TABLE(cloud_rows);
