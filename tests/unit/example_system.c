/* SPDX-License-Identifier: Apache-2.0 */
#include "example_system.h"

#include "base/clock.h"
#include "base/compiler.h"

#define MB 1000000ull
#define GB (1000 * MB)
#define MS NS_PER_MS

/* Values of the last sample; they are 0 in all earlier samples. */
static const struct {
    enum metric metric;
    uint64_t value;
} levels[] = {
    { METRIC_HOST_CPU, 7500 * MS },
    { METRIC_HOST_CPU_USER, 5000 * MS },
    { METRIC_HOST_CPU_SYSTEM, 2500 * MS },
    { METRIC_HOST_CPU_IOWAIT, 500 * MS },
    { METRIC_HOST_CPU_STEAL, 0 },
    { METRIC_HOST_MEMORY_USED, 3 * GB },
    { METRIC_HOST_MEMORY_AVAILABLE, 30600 * MB },
    { METRIC_HOST_MEMORY_CACHED, 2 * GB },
    { METRIC_HOST_DIRTY, 0 },
    { METRIC_HOST_SWAP_USED, 10 * MB },
    { METRIC_HOST_DISK_READ, 5 * MB },
    { METRIC_HOST_DISK_WRITTEN, 50 * MB },
    { METRIC_HOST_DISK_SPACE_USED, 40 * GB },
    { METRIC_HOST_DISK_SPACE_FREE, 50 * GB },
    { METRIC_HOST_CPU_PRESSURE, 1000 * MS },
    { METRIC_HOST_MEMORY_PRESSURE, 0 },
    { METRIC_HOST_IO_PRESSURE, 50 * MS },
};

static struct disk_device first_disks[] = {
    { .name = "sda", .read_bytes = 0, .written_bytes = 0 },
};
static struct disk_device disks[] = {
    { .name = "sda",
      .model = "EVO \x1b[2J",
      .serial = "S1",
      .type = DISK_SSD,
      .capacity_bytes = 100 * GB,
      .read_bytes = 2 * MB,
      .written_bytes = 20 * MB },
    { .name = "sdb", .capacity_bytes = UNKNOWN, .read_bytes = 7, .written_bytes = 7 },
};
static struct network_device first_interfaces[] = {
    { .name = "eth0", .received_bytes = 9 * MB, .sent_bytes = 1000 },
};
static struct network_device interfaces[] = {
    { .name = "eth0",
      .mac_address = "52:54:00:12:34:56",
      .driver = "ice",
      .state = "up",
      .speed_mbps = 10000,
      .mtu = 9000,
      .received_bytes = 1 * MB,
      .sent_bytes = 3000,
      .is_hardware = true },
    { .name = "dummy0", .state = "down", .speed_mbps = UNKNOWN, .mtu = UNKNOWN },
};
static char point[] = "/data \"1\"";
static char type[] = "xfs";
static char source[] = "/dev/mapper/vg-data";
static struct mount_item mounts[] = {
    { point, type, source, 253, 0, { 90 * GB, 40 * GB, 50 * GB }, "sda" },
};

static const struct devices first = {
    .disks = first_disks,
    .disk_count = ARRAY_SIZE(first_disks),
    .interfaces = first_interfaces,
    .interface_count = ARRAY_SIZE(first_interfaces),
};
static const struct devices last = {
    .disks = disks,
    .disk_count = ARRAY_SIZE(disks),
    .interfaces = interfaces,
    .interface_count = ARRAY_SIZE(interfaces),
    .mounts = { mounts, ARRAY_SIZE(mounts) },
};

void example_system(struct example *example)
{
    struct sample *sample = &example->samples[EXAMPLE_SAMPLES - 1];

    summary_init(&example->summary, NS_PER_SECOND);
    for (int i = 0; i < METRIC_COUNT; i++) {
        for (size_t k = 0; k < EXAMPLE_SAMPLES; k++)
            example->samples[k].value[i] = UNKNOWN;
        example->origins[i] = (struct origin){ NULL, "no job is tracked", false };
    }
    for (size_t i = 0; i < ARRAY_SIZE(levels); i++) {
        for (size_t k = 0; k + 1 < EXAMPLE_SAMPLES; k++)
            example->samples[k].value[levels[i].metric] = 0;
        sample->value[levels[i].metric] = levels[i].value;
        example->origins[levels[i].metric] =
            (struct origin){ "host.example", "not readable", false };
    }
    example->origins[METRIC_HOST_NETWORK_RECEIVED].reason = "no network interface";
    sample->host.memory.total_bytes = 33600 * MB;
    sample->host.memory.free_bytes = 28600 * MB;
    sample->host.memory.buffers_bytes = 100 * MB;
    sample->host.memory.swap_total_bytes = 1 * GB;
    sample->host.space.total_bytes = 90 * GB;
    sample->host.process_count = 321;
    for (size_t k = 0; k < EXAMPLE_SAMPLES; k++)
        summary_add(&example->summary, &example->samples[k]);
    example_label(example);
    example->series.count = 0;
    example->input.pid = 0;
    example->input.is_tracked = false;
    example->input.command = NULL;
    example->input.has_ended = false;
    example->input.latest = sample;
    example->input.first_devices = &first;
    example->input.devices = &last;
    example->input.devices_span_ns = 2 * NS_PER_SECOND;
}
