/* SPDX-License-Identifier: Apache-2.0 */
#include "compat/resource_tracker/machine_stats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/unknown.h"
#include "source/host/devices.h"
#include "source/host/host.h"

struct machine {
    struct root root;
    struct host host;
    struct space space;
};

int machine_open(struct machine **ret, struct spoor_error *err)
{
    struct machine *machine = calloc(1, sizeof(*machine));
    int r;

    if (!machine)
        return error_set(err, ENOMEM, "out of memory");
    r = root_open(NULL, &machine->root);
    if (r < 0) {
        free(machine);
        return error_sys(err, r, "cannot open '/'");
    }
    host_init(&machine->host);
    machine->host.counts_processes = true;
    *ret = machine;
    return 0;
}

void machine_free(struct machine *machine)
{
    if (!machine)
        return;
    host_done(&machine->host);
    space_done(&machine->space);
    root_close(&machine->root);
    free(machine);
}

static uint64_t minus(uint64_t a, uint64_t b)
{
    return is_known(a) && is_known(b) ? sub_floor0(a, b) : UNKNOWN;
}

static void add_mib(struct json_writer *json, const char *key, uint64_t bytes)
{
    if (is_known(bytes))
        json_add_number(json, key, (double)bytes / 1048576.0);
    else
        json_add_null(json, key);
}

static void add_memory(const struct meminfo *memory, struct json_writer *json)
{
    add_mib(json, "memory_free_mib", memory->free_bytes);
    add_mib(json, "memory_used_mib", minus(memory->total_bytes, memory->available_bytes));
    add_mib(json, "memory_buffers_mib", memory->buffers_bytes);
    add_mib(json, "memory_cached_mib",
            sum_u64(memory->page_cache_bytes, memory->reclaimable_bytes));
    add_mib(json, "memory_active_mib", memory->active_bytes);
    add_mib(json, "memory_inactive_mib", memory->inactive_bytes);
}

/* Known by its name, as its datasets are mounted in several places. */
static bool mount_is_pool(const struct mount_item *mount)
{
    return strncmp(mount->source, "zfs:", 4) == 0;
}

static void add_devices(const struct devices *devices, struct json_writer *json)
{
    json_begin(json, "disk_stats", '{');
    for (size_t i = 0; i < devices->disk_count; i++) {
        json_begin(json, devices->disks[i].name, '{');
        json_add_u64(json, "read_bytes", devices->disks[i].read_bytes);
        json_add_u64(json, "write_bytes", devices->disks[i].written_bytes);
        json_end(json);
    }
    json_end(json);
    json_begin(json, "disk_spaces", '{');
    for (size_t i = 0; i < devices->mount_count; i++) {
        const struct mount_item *mount = &devices->mounts[i].mount;

        json_begin(json, mount_is_pool(mount) ? mount->source : mount->point, '{');
        json_add_u64(json, "total", mount->space.total_bytes);
        json_add_u64(json, "used", minus(mount->space.total_bytes, mount->space.free_bytes));
        json_add_u64(json, "free", mount->space.free_bytes);
        json_end(json);
    }
    json_end(json);
}

int machine_add_stats(struct machine *machine, struct json_writer *json,
                      struct spoor_error *err)
{
    CLEANUP(devices_done) struct devices devices = { 0 };
    struct instant now = clock_now();
    struct host_reading reading;
    int r = devices_read(&machine->root, &machine->space, &devices);

    if (r < 0)
        return error_sys(err, r, "devices");
    host_read(&machine->host, &machine->root, now.monotonic_ns, &reading);
    json_add_number(json, "timestamp", (double)now.realtime_ns / 1e9);
    json_add_u64(json, "processes", reading.process_count);
    json_add_seconds(json, "utime", reading.cpu.user_ns);
    json_add_seconds(json, "stime", minus(reading.cpu.system_ns, reading.cpu.interrupt_ns));
    add_memory(&reading.memory, json);
    add_devices(&devices, json);
    json_add_u64(json, "net_recv_bytes", reading.network.in);
    json_add_u64(json, "net_sent_bytes", reading.network.out);
    return 0;
}
