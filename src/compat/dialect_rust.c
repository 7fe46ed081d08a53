/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/amount.h"
#include "compat/dialect_columns.h"
#include "text/json_writer.h"
#include "text/number.h"

/* ---- CSV ----------------------------------------------------------------
 *
 * The CSV of the Rust program resource-tracker: unquoted, numbers with a fixed number
 * of decimals.
 */

/* clang-format off */
static const struct column csv_host[] = {
    TIME(0, INTEGER),
    PROCESSES,
    HOST_UTIME("utime", SECONDS, 3, FIXED),
    HOST_STIME("stime", SECONDS, 3, FIXED),
    { "cpu_usage", COLUMN_CORES, 1, 4, FIXED, .plus = { HOST(cpu.user_ns), HOST(cpu.system_ns), HOST(cpu.steal_ns) }, .clock = CLOCK_HOST_CPU },
    LEVEL("memory_free_mib", MIB, 0, INTEGER, memory.free_bytes),
    MEMORY_USED("memory_used_mib", MIB, 0, INTEGER),
    LEVEL("memory_buffers_mib", MIB, 0, INTEGER, memory.buffers_bytes),
    MEMORY_CACHED("memory_cached_mib", MIB, 0, INTEGER),
    LEVEL("memory_active_mib", MIB, 0, INTEGER, memory.active_bytes),
    LEVEL("memory_inactive_mib", MIB, 0, INTEGER, memory.inactive_bytes),
    HOST_IO,
    SPACE(GB, 6, FIXED),
    NETWORK,
    GPU("gpu_vram_mib", 4, FIXED | COLUMN_NO_GPU_ZERO, METRIC_HOST_GPU_UTILIZATION, METRIC_HOST_GPU_MEMORY, COLUMN_GPUS),
};

static const struct column job[] = {
    PID,
    CHILDREN("children", 0),
    JOB_UTIME("utime", SECONDS, 4, FIXED),
    JOB_STIME("stime", SECONDS, 4, FIXED),
    JOB_CPU(FIXED),
    JOB_MEMORY("memory_mib", MIB, 0, INTEGER),
    JOB_BYTES("disk_read_bytes", 0, METRIC_JOB_READ),
    JOB_BYTES("disk_write_bytes", 0, METRIC_JOB_WRITTEN),
    JOB_GPU_USAGE("gpu_usage", 4, FIXED),
    JOB_GPU_MEMORY("gpu_vram_mib", 4, FIXED),
    JOB_GPU_COUNT("gpu_utilized", FIXED),
};

_Static_assert(ARRAY_SIZE(csv_host) + ARRAY_SIZE(job) == 32, "as the predecessor");

const struct dialect dialect_resource_tracker_rs = {
    .name = "resource-tracker-rs",
    .csv = &csv_safe,
    .json_row = dialect_rust_json_row,
    .tables = {
        { "combined", { { csv_host, 1, "" },
                        { csv_host + 1, ARRAY_SIZE(csv_host) - 1, "system_" },
                        { job, ARRAY_SIZE(job), "process_" } } },
    },
};

/* ---- JSON ---------------------------------------------------------------
 *
 * The JSON of the Rust program resource-tracker: one object per sample, with
 * an array for each kind of device. Keys are sorted.
 */

/* Unknown members with this flag are left out; others are null. */
enum { OPTIONAL = 1u << 16 };

/* clang-format off */
static const struct column cgroup[] = { /* the job's cgroup, if it has its own */
    { "cgroup_usage_secs",          COLUMN_GROWTH, SECONDS, 9, OPTIONAL, .plus = { AT(job_cgroup_cpu_ns) } },
    { "cgroup_utilization_pct",     COLUMN_CORES, 1, 4, OPTIONAL, .plus = { AT(job_cgroup_cpu_ns) }, .clock = CLOCK_JOB_CPU },
};

static const struct column cpu[] = { /* after per_core_pct */
    CHILDREN("process_child_count", OPTIONAL),
    { "process_cores_used",         COLUMN_CORES, 1, 4, OPTIONAL, .plus = { VALUE(METRIC_JOB_CPU) }, .clock = CLOCK_JOB_CPU },
    { "process_count",              COLUMN_LEVEL, 1, 0, INTEGER, .plus = { HOST(process_count) } },
    JOB_BYTES("process_disk_read_bytes", OPTIONAL, METRIC_JOB_READ),
    JOB_BYTES("process_disk_write_bytes", OPTIONAL, METRIC_JOB_WRITTEN),
    JOB_GPU_USAGE("process_gpu_usage", ALL, OPTIONAL),
    JOB_GPU_COUNT("process_gpu_utilized", OPTIONAL),
    JOB_GPU_MEMORY("process_gpu_vram_mib", ALL, OPTIONAL),
    { "process_pss_mib",            COLUMN_FIRST, MIB, 0, INTEGER | OPTIONAL, .plus = { MOMENT(METRIC_JOB_PSS), VALUE(METRIC_JOB_PSS) }, .read_as = { METRIC_JOB_PSS } },
    { "process_rss_mib",            COLUMN_FIRST, MIB, 0, INTEGER | OPTIONAL, .plus = { MOMENT(METRIC_JOB_RSS), VALUE(METRIC_JOB_RSS) }, .read_as = { METRIC_JOB_RSS } },
    JOB_STIME("process_stime_secs", SECONDS, 9, OPTIONAL),
    JOB_UTIME("process_utime_secs", SECONDS, 9, OPTIONAL),
    HOST_STIME("stime_secs", SECONDS, 9, 0),
    { "utilization_pct",            COLUMN_CORES, 1, 4, 0, .plus = { HOST(cpu.user_ns), HOST(cpu.system_ns), HOST(cpu.steal_ns) }, .clock = CLOCK_HOST_CPU },
    HOST_UTIME("utime_secs", SECONDS, 9, 0),
};

/* The members before the percentages. */
static const struct column memory[] = {
    LEVEL("active_mib", MIB, 0, INTEGER, memory.active_bytes),
    LEVEL("available_mib", MIB, 0, INTEGER, memory.available_bytes),
    LEVEL("buffers_mib", MIB, 0, INTEGER, memory.buffers_bytes),
    MEMORY_CACHED("cached_mib", MIB, 0, INTEGER),
    LEVEL("free_mib", MIB, 0, INTEGER, memory.free_bytes),
    LEVEL("inactive_mib", MIB, 0, INTEGER, memory.inactive_bytes),
    LEVEL("swap_total_mib", MIB, 0, INTEGER, memory.swap_total_bytes),
    { "swap_used_mib", COLUMN_LEVEL, MIB, 0, INTEGER, .plus = { HOST(memory.swap_used_bytes) }, .read_as = { METRIC_HOST_SWAP_USED } },
};

static const struct column more_memory[] = {
    LEVEL("total_mib", MIB, 0, INTEGER, memory.total_bytes),
    MEMORY_USED("used_mib", MIB, 0, INTEGER),
};

/* clang-format on */

const struct dialect_table dialect_rust_objects = {
    "objects",
    { { cpu, ARRAY_SIZE(cpu), "cpu." },
      { memory, ARRAY_SIZE(memory), "memory." },
      { more_memory, ARRAY_SIZE(more_memory), "memory." } },
};

/* ---- members ---------------------------------------------------------------- */

static void add_float(struct json_writer *json, const char *key, double value)
{
    if (isnan(value)) {
        json_add_null(json, key);
        return;
    }
    json_begin_value(json, key);
    buffer_add_text(json->out, decimal_float(value).text);
}

static void add_columns(struct json_writer *json, const struct column *columns, size_t count,
                        const struct stream_row *row)
{
    for (size_t i = 0; i < count; i++) {
        struct cell cell = dialect_cell(&columns[i], row);

        if (isnan(cell.value) && columns[i].flags & OPTIONAL)
            continue;
        if (isnan(cell.value) || !cell.is_integer)
            add_float(json, columns[i].name, cell.value);
        else
            json_add_u64(json, columns[i].name, (uint64_t)cell.value);
    }
}

static double percent(uint64_t part, uint64_t whole)
{
    if (!is_known(part) || !is_known(whole))
        return nan("");
    return whole == 0 ? 0 : (double)part / (double)whole * 100;
}

/* Adds the increase of a counter per second; 0 for a device that is not in the previous
 * sample. */
static void add_rate(struct json_writer *json, const char *key, uint64_t before, uint64_t after,
                     const struct stream_row *row)
{
    const struct sample *from = row->rates_from ? row->rates_from : row->previous;
    uint64_t span_ns = sub_floor0(row->sample->elapsed_ns, from->elapsed_ns);
    uint64_t growth = devices_growth(before, after);

    add_float(json, key,
              span_ns > 0 && is_known(growth) ? (double)growth / (double)span_ns * 1e9 : 0);
}

/* ---- devices ---------------------------------------------------------------- */

/* Returns the devices at the start of the interval that rates cover. */
static const struct device_sample *devices_before(const struct stream_row *row)
{
    return row->rates_from_devices ? row->rates_from_devices : row->previous_devices;
}

static void add_cpus(struct json_writer *json, const struct stream_row *row)
{
    double span_ns = (double)dialect_rate_span_ns(row, CLOCK_HOST_CPU);

    json_begin(json, "per_core_pct", '[');
    for (size_t i = 0; i < row->devices->cpu_count; i++) {
        const struct cpu_busy *now = &row->devices->cpus[i];
        uint64_t before = device_sample_cpu_ns(devices_before(row), now->number);
        uint64_t growth = devices_growth(before, now->busy_ns);

        add_float(json, NULL, is_known(growth) ? fmin((double)growth / span_ns * 100, 100) : 0);
    }
    json_end(json);
}

static void add_mount(struct json_writer *json, const struct mount_item *mount)
{
    uint64_t used = sub_floor0(mount->space.total_bytes, mount->space.free_bytes);

    json_begin(json, NULL, '{');
    json_add_u64(json, "available_bytes", mount->space.free_bytes);
    json_add_text(json, "filesystem", mount->type);
    json_add_text(json, "mount_point", mount->point);
    json_add_u64(json, "total_bytes", mount->space.total_bytes);
    json_add_u64(json, "used_bytes", used);
    add_float(json, "used_pct", percent(used, mount->space.total_bytes));
    json_end(json);
}

static void add_disk(struct json_writer *json, const struct disk_device *disk,
                     const struct stream_row *row)
{
    const struct devices *devices = &row->devices->devices;
    const struct disk_device *before =
        devices_find_disk(&devices_before(row)->devices, disk->name);

    json_begin(json, NULL, '{');
    json_add_u64(json, "capacity_bytes", disk->capacity_bytes);
    json_add_text(json, "device", disk->name);
    json_add_text(json, "device_type", disk_type_name(disk->type));
    json_add_known_text(json, "model", disk->model);
    json_begin(json, "mounts", '[');
    for (size_t i = 0; i < devices->mounts.count; i++) {
        if (strcmp(devices->mounts.items[i].disk, disk->name) == 0)
            add_mount(json, &devices->mounts.items[i]);
    }
    json_end(json);
    add_rate(json, "read_bytes_per_sec", before ? before->read_bytes : UNKNOWN,
             disk->read_bytes, row);
    json_add_u64(json, "read_bytes_total", disk->read_bytes);
    json_add_known_text(json, "serial", disk->serial);
    json_add_known_text(json, "vendor", disk->vendor);
    add_rate(json, "write_bytes_per_sec", before ? before->written_bytes : UNKNOWN,
             disk->written_bytes, row);
    json_add_u64(json, "write_bytes_total", disk->written_bytes);
    json_end(json);
}

/* Adds disks, then ZFS pools. Pools have no counters of their own. */
static void add_disks(struct json_writer *json, const struct stream_row *row)
{
    const struct devices *devices = &row->devices->devices;

    json_begin(json, "disk", '[');
    for (size_t i = 0; i < devices->disk_count; i++)
        add_disk(json, &devices->disks[i], row);
    for (size_t i = 0; i < devices->mounts.count; i++) {
        struct disk_device pool = { .capacity_bytes = UNKNOWN,
                                    .read_bytes = UNKNOWN,
                                    .written_bytes = UNKNOWN };

        if (strncmp(devices->mounts.items[i].disk, "zfs:", 4) != 0)
            continue;
        memcpy(pool.name, devices->mounts.items[i].disk, sizeof(pool.name));
        add_disk(json, &pool, row);
    }
    json_end(json);
}

static void add_interfaces(struct json_writer *json, const struct stream_row *row)
{
    const struct devices *devices = &row->devices->devices;

    json_begin(json, "network", '[');
    for (size_t i = 0; i < devices->interface_count; i++) {
        const struct network_device *now = &devices->interfaces[i];
        const struct network_device *before =
            devices_find_interface(&devices_before(row)->devices, now->name);

        json_begin(json, NULL, '{');
        json_add_known_text(json, "driver", now->driver);
        json_add_text(json, "interface", now->name);
        json_add_known_text(json, "mac_address", now->mac_address);
        json_add_u64(json, "mtu", now->mtu);
        json_add_known_text(json, "operstate", now->state);
        add_rate(json, "rx_bytes_per_sec", before ? before->received_bytes : UNKNOWN,
                 now->received_bytes, row);
        json_add_u64(json, "rx_bytes_total", now->received_bytes);
        json_add_u64(json, "speed_mbps", now->speed_mbps);
        add_rate(json, "tx_bytes_per_sec", before ? before->sent_bytes : UNKNOWN,
                 now->sent_bytes, row);
        json_add_u64(json, "tx_bytes_total", now->sent_bytes);
        json_end(json);
    }
    json_end(json);
}

static void add_gpu(struct json_writer *json, const struct gpu_unit *unit,
                    const struct gpu_device_view *view)
{
    uint64_t used = view->figures[GPU_MEMORY].measure.now;

    json_begin(json, NULL, '{');
    json_add_null(json, "core_count");
    json_begin(json, "detail", '{');
    if (*unit->device.driver_version)
        json_add_text(json, "driver_version", unit->device.driver_version);
    json_add_known_text(json, "pci_bus_id", unit->device.pci_address);
    json_end(json);
    json_add_text(json, "device_type", unit->vendor);
    add_float(json, "frequency_mhz", as_number(view->figures[GPU_CLOCK].measure.value));
    json_add_text(json, "host_id", gpu_place_text(unit->place, ':').text);
    json_add_text(json, "name", unit->device.name);
    add_float(json, "power_watts",
              gpu_measure_value(GPU_POWER, view->figures[GPU_POWER].measure.value));
    json_add_u64(json, "temperature_celsius", view->figures[GPU_TEMPERATURE].measure.value);
    add_float(
        json, "utilization_pct",
        100 * gpu_measure_value(GPU_UTILIZATION, view->figures[GPU_UTILIZATION].measure.value));
    json_add_text(json, "uuid", gpu_unit_id(unit));
    json_add_u64(json, "vram_total_bytes", unit->device.memory_total_bytes);
    json_add_u64(json, "vram_used_bytes", used);
    add_float(json, "vram_used_pct", percent(used, unit->device.memory_total_bytes));
    json_end(json);
}

static void add_gpus(struct json_writer *json, const struct gpu_view *view)
{
    json_begin(json, "gpu", '[');
    for (size_t i = 0; view->state == GPU_READY && i < view->count; i++)
        add_gpu(json, &view->units[i], &view->devices[i]);
    json_end(json);
}

/* ---- the sample ------------------------------------------------------------- */

static void add_memory(struct json_writer *json, const struct stream_row *row)
{
    const struct meminfo *host = &row->sample->host.memory;

    json_begin(json, "memory", '{');
    add_columns(json, memory, ARRAY_SIZE(memory), row);
    add_float(json, "swap_used_pct", percent(host->swap_used_bytes, host->swap_total_bytes));
    add_columns(json, more_memory, ARRAY_SIZE(more_memory), row);
    add_float(json, "used_pct",
              percent(sub_floor0(host->total_bytes, host->available_bytes), host->total_bytes));
    json_end(json);
}

void dialect_rust_json_row(const struct stream_row *row, struct buffer *out)
{
    struct json_writer json = { .out = out, .style = &json_compact };
    bool is_first = row->previous->elapsed_ns == 0;

    json_begin(&json, NULL, '{');
    if (!is_first)
        json_add_u64(&json, "actual_interval_ms",
                     sub_floor0(row->sample->elapsed_ns, row->previous->elapsed_ns) /
                         NS_PER_MS);
    json_begin(&json, "cpu", '{');
    add_columns(&json, cgroup, ARRAY_SIZE(cgroup), row);
    add_cpus(&json, row);
    add_columns(&json, cpu, ARRAY_SIZE(cpu), row);
    json_end(&json);
    add_disks(&json, row);
    add_gpus(&json, row->gpu);
    json_add_text(&json, "job_name", row->name);
    add_memory(&json, row);
    add_interfaces(&json, row);
    json_add_text(&json, "resource-tracker-version", "0.1.14+spoor." SPOOR_VERSION);
    json_add_u64(&json, "timestamp_secs", row->sample->realtime_ns / NS_PER_SECOND);
    json_add_u64(&json, "tracked_pid", row->pid > 0 ? (uint64_t)row->pid : UNKNOWN);
    json_end(&json);
    buffer_add(out, "\n", 1);
}
