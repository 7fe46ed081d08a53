/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/amount.h"
#include "base/clock.h"
#include "output/dialect.h"
#include "unit_test.h"

/* Two samples of a machine with a disk, a ZFS pool, a network interface and a GPU. */
struct machine {
    struct sample before, now;
    struct disk_device disks[2][1];
    struct network_device interfaces[2][1];
    struct mount_item mounts[2];
    struct cpu_busy cpus[2][1];
    struct device_sample devices[2];
    struct gpu_unit unit;
    struct gpu_device_view view;
    struct gpu_view gpu;
    struct stream_row row;
};

static void set_devices(struct machine *machine)
{
    static char point[] = "/a\"b", type[] = "ext4", source[] = "/dev/sda1";
    static char pool_point[] = "/tank", zfs[] = "zfs", pool[] = "zfs:tank";

    machine->mounts[0] =
        (struct mount_item){ point, type, source, 8, 1, { 1000, 600, 250 }, "sda" };
    machine->mounts[1] =
        (struct mount_item){ pool_point, zfs, pool, 0, 30, { 400, 100, 300 }, "zfs:tank" };
    for (uint64_t i = 0; i < 2; i++) {
        machine->disks[i][0] = (struct disk_device){ .name = "sda",
                                                     .model = "Disk",
                                                     .type = DISK_SSD,
                                                     .capacity_bytes = 2000,
                                                     .read_bytes = 1000 + 500 * i,
                                                     .written_bytes = 700 - 600 * i };
        machine->interfaces[i][0] = (struct network_device){ .name = "eth0",
                                                             .state = "up",
                                                             .speed_mbps = UNKNOWN,
                                                             .mtu = 1500,
                                                             .received_bytes = 3000 * i,
                                                             .sent_bytes = 10 };
        machine->cpus[i][0] = (struct cpu_busy){ 0, i * NS_PER_SECOND };
        machine->devices[i] = (struct device_sample){
            .devices = { .disks = machine->disks[i],
                         .disk_count = 1,
                         .interfaces = machine->interfaces[i],
                         .interface_count = 1,
                         .mounts = { machine->mounts, 2 } },
            .cpus = machine->cpus[i],
            .cpu_count = 1,
        };
    }
}

static void set_gpu(struct machine *machine)
{
    machine->unit = (struct gpu_unit){
        .device = { .uuid = "GPU-1",
                    .name = "H200",
                    .pci_address = "0000:3b:00.0",
                    .driver_version = "550.54.15",
                    .memory_total_bytes = 1000 },
        .place = { 0, -1 },
        .vendor = "nvidia",
        .is_selected = true,
    };
    gpu_device_view_init(&machine->view, &(struct gpu_sources){ 0 });
    machine->view.figures[GPU_MEMORY].measure.now = 250;
    machine->view.figures[GPU_UTILIZATION].measure.value = 500000;
    machine->view.figures[GPU_POWER].measure.value = 70500;
    machine->view.figures[GPU_TEMPERATURE].measure.value = 41;
    machine->gpu = (struct gpu_view){
        .state = GPU_READY, .units = &machine->unit, .count = 1, .devices = &machine->view
    };
}

static void set_machine(struct machine *machine)
{
    *machine = (struct machine){ .unit = { .vendor = "" } };
    sample_clear(&machine->before);
    sample_clear(&machine->now);
    machine->before.elapsed_ns = NS_PER_SECOND;
    machine->now.elapsed_ns = 3 * NS_PER_SECOND;
    machine->now.realtime_ns = 1000 * NS_PER_SECOND + 7;
    machine->now.host.memory.total_bytes = 4 << 20;
    machine->now.host.memory.available_bytes = 1 << 20;
    machine->before.value[METRIC_JOB_CPU] = 0;
    machine->now.value[METRIC_JOB_CPU] = NS_PER_SECOND;
    machine->now.moment[METRIC_JOB_RSS] = 5 << 20;
    set_devices(machine);
    set_gpu(machine);
    machine->row = (struct stream_row){
        .sample = &machine->now,
        .previous = &machine->before,
        .gpu = &machine->gpu,
        .pid = 42,
        .name = "a\"b",
        .devices = &machine->devices[1],
        .previous_devices = &machine->devices[0],
    };
}

static void assert_has(const struct buffer *text, const char *part)
{
    if (!strstr(text->text, part))
        fail_msg("%s is not in %s", part, text->text);
}

TEST(devices_are_listed_with_their_rates)
{
    struct buffer text = { 0 };
    struct machine machine;

    set_machine(&machine);
    dialect_rust_json_row(&machine.row, &text);
    assert_has(&text, "{\"actual_interval_ms\":2000,\"cpu\":{\"per_core_pct\":[50.0],"
                      "\"process_cores_used\":0.5,\"process_count\":null,");
    assert_has(&text,
               "\"disk\":[{\"capacity_bytes\":2000,\"device\":\"sda\",\"device_type\":"
               "\"ssd\",\"model\":\"Disk\",\"mounts\":[{\"available_bytes\":250,"
               "\"filesystem\":\"ext4\",\"mount_point\":\"/a\\\"b\",\"total_bytes\":1000,"
               "\"used_bytes\":750,\"used_pct\":75.0}],\"read_bytes_per_sec\":250.0,"
               "\"read_bytes_total\":1500,\"serial\":null,\"vendor\":null,"
               "\"write_bytes_per_sec\":0.0,\"write_bytes_total\":100},"); /* reset */
    assert_has(&text, "{\"capacity_bytes\":null,\"device\":\"zfs:tank\",\"device_type\":null,"
                      "\"model\":null,\"mounts\":[{\"available_bytes\":300,");
    assert_has(&text,
               "\"network\":[{\"driver\":null,\"interface\":\"eth0\",\"mac_address\":null,"
               "\"mtu\":1500,\"operstate\":\"up\",\"rx_bytes_per_sec\":1500.0,"
               "\"rx_bytes_total\":3000,\"speed_mbps\":null,\"tx_bytes_per_sec\":0.0,"
               "\"tx_bytes_total\":10}]");
    assert_has(&text, "\"gpu\":[{\"core_count\":null,\"detail\":{\"driver_version\":"
                      "\"550.54.15\",\"pci_bus_id\":\"0000:3b:00.0\"},\"device_type\":"
                      "\"nvidia\",\"frequency_mhz\":null,"
                      "\"host_id\":\"0\",\"name\":\"H200\",\"power_watts\":70.5,"
                      "\"temperature_celsius\":41,\"utilization_pct\":50.0,\"uuid\":\"GPU-1\","
                      "\"vram_total_bytes\":1000,\"vram_used_bytes\":250,"
                      "\"vram_used_pct\":25.0}]");
    assert_has(&text, "\"job_name\":\"a\\\"b\",\"memory\":{\"active_mib\":null,");
    assert_has(&text, "\"used_mib\":3,\"used_pct\":75.0}");
    assert_has(&text, "\"timestamp_secs\":1000,\"tracked_pid\":42}\n");
    buffer_done(&text);
}

TEST(a_new_device_has_no_rate_yet)
{
    struct buffer text = { 0 };
    struct device_sample none = { 0 };
    struct machine machine;

    set_machine(&machine);
    machine.row.previous_devices = &none;
    machine.before.elapsed_ns = 0; /* the first row */
    dialect_rust_json_row(&machine.row, &text);
    assert_has(&text, "{\"cpu\":{\"per_core_pct\":[0.0],");
    assert_has(&text, "\"read_bytes_per_sec\":0.0,\"read_bytes_total\":1500,");
    assert_has(&text, "\"rx_bytes_per_sec\":0.0,\"rx_bytes_total\":3000,");
    buffer_done(&text);
}

static void assert_lacks(const struct buffer *text, const char *part)
{
    if (strstr(text->text, part))
        fail_msg("%s is in %s", part, text->text);
}

TEST(a_job_without_a_cgroup_has_no_cgroup_figures)
{
    struct buffer text = { 0 };
    struct machine machine;

    set_machine(&machine);
    dialect_rust_json_row(&machine.row, &text);
    assert_lacks(&text, "cgroup");
    buffer_clear(&text);
    machine.before.job_cgroup_cpu_ns = 5 * NS_PER_SECOND;
    machine.now.job_cgroup_cpu_ns = 8 * NS_PER_SECOND;
    dialect_rust_json_row(&machine.row, &text);
    assert_has(&text, "\"cpu\":{\"cgroup_usage_secs\":3.0,\"cgroup_utilization_pct\":1.5,"
                      "\"per_core_pct\":[");
    buffer_done(&text);
}

TEST(an_unknown_driver_version_is_left_out)
{
    struct buffer text = { 0 };
    struct machine machine;

    set_machine(&machine);
    machine.unit.device.driver_version[0] = '\0';
    dialect_rust_json_row(&machine.row, &text);
    assert_has(&text, "\"detail\":{\"pci_bus_id\":\"0000:3b:00.0\"}");
    buffer_done(&text);
}

TEST(without_a_job_gpu_figures_cover_all_processes)
{
    struct buffer text = { 0 };
    struct machine machine;

    set_machine(&machine);
    machine.now.moment[METRIC_HOST_GPU_UTILIZATION] = 500000;
    machine.now.moment[METRIC_HOST_GPU_MEMORY] = 3 << 19;
    dialect_rust_json_row(&machine.row, &text);
    assert_lacks(&text, "process_gpu"); /* unknown for the job */
    buffer_clear(&text);
    machine.row.is_machine_only = true;
    machine.row.pid = 0;
    dialect_rust_json_row(&machine.row, &text);
    assert_has(&text, "\"process_gpu_usage\":0.5,\"process_gpu_utilized\":1,"
                      "\"process_gpu_vram_mib\":1.5,");
    buffer_done(&text);
}

/* The row covers 3 ms, with one CPU tick and 600 bytes; its rates are computed over 2.003 s. */
TEST(rates_of_a_very_short_row_include_the_previous_row)
{
    struct buffer text = { 0 };
    struct sample middle;
    struct device_sample middle_devices;
    struct network_device interface;
    struct machine machine;

    set_machine(&machine);
    machine.now.host.cpu.cpus = machine.before.host.cpu.cpus = 2;
    machine.before.host.cpu = (struct cpu_stat){ .cpus = 2 };
    middle = machine.now;
    middle.host.cpu = (struct cpu_stat){ .user_ns = 2 * NS_PER_SECOND, .cpus = 2 };
    middle_devices = machine.devices[1];
    interface = machine.interfaces[1][0];
    interface.received_bytes = 2400;
    middle_devices.devices.interfaces = &interface;
    machine.now.elapsed_ns = middle.elapsed_ns + 3 * NS_PER_MS;
    machine.now.host.cpu = middle.host.cpu;
    machine.now.host.cpu.user_ns += 10 * NS_PER_MS;
    machine.cpus[1][0].busy_ns = 1001500000;
    machine.row.previous = &middle;
    machine.row.previous_devices = &middle_devices;
    machine.row.rates_from = &machine.before;
    machine.row.rates_from_devices = &machine.devices[0];
    dialect_rust_json_row(&machine.row, &text);
    assert_has(&text, "{\"actual_interval_ms\":3,\"cpu\":{\"per_core_pct\":[50.0],");
    assert_has(&text, "\"utilization_pct\":1.0035,\"utime_secs\":0.01}");
    assert_has(&text, "\"rx_bytes_per_sec\":1497.7533699450823,");
    buffer_done(&text);
}
