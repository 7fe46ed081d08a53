/* SPDX-License-Identifier: Apache-2.0 */
/* test_server.c - describes a machine, faked by files, as text and as JSON. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/amount.h"
#include "fake_root.h"
#include "json_check.h"
#include "output/format.h"
#include "record/fill.h"
#include "unit_test.h"

static const struct format_style plain = { false, false, TEXT_COLUMNS, true };
static const struct limits limits = { 1.5, "cgroup.cpu.max", UNKNOWN, NULL };
static const struct gpu_view no_gpus = { .state = GPU_NONE };
static const struct host_facts host = { "node7", "Debian", "6.1.0", "A CPU", 2, 16000000000 };

static const char *no_variable(UNUSED const char *name)
{
    return NULL;
}

static void make_machine(struct fake_root *fake)
{
    static const char *const files[][2] = {
        { "proc/sys/kernel/arch", "x86_64\n" },
        { "sys/class/dmi/id/sys_vendor", "Amazon EC2\n" },
        { "sys/class/dmi/id/product_name", "m5.large\n" },
        { ".dockerenv", "" },
        { "sys/devices/system/node/online", "0\n" },
        { "sys/devices/system/cpu/online", "0-1\n" },
        { "sys/devices/system/cpu/cpu0/topology/core_cpus_list", "0-1\n" },
        { "sys/devices/system/cpu/cpu1/topology/core_cpus_list", "0-1\n" },
        { "sys/devices/system/cpu/cpu0/topology/package_cpus_list", "0-1\n" },
        { "sys/devices/system/cpu/cpu1/topology/package_cpus_list", "0-1\n" },
        { "sys/devices/system/cpu/cpu0/cache/index0/level", "1\n" },
        { "sys/devices/system/cpu/cpu0/cache/index0/type", "Data\n" },
        { "sys/devices/system/cpu/cpu0/cache/index0/size", "48K\n" },
        { "sys/devices/system/cpu/cpu0/cache/index0/shared_cpu_list", "0-1\n" },
        { "proc/diskstats", "259 0 nvme0n1 1 0 8 1 1 0 8 1 0 1 1\n" },
        { "sys/class/block/nvme0n1/size", "1000000\n" },
        { "sys/class/block/nvme0n1/device/model", "Elastic \033[2JStore\n" },
        { "sys/block/nvme0n1/size", "1000000\n" },
    };

    fake_root_init(fake);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        fake_root_write(fake, files[i][0], files[i][1]);
}

static void describe(const struct root *root, const struct spoor_cloud *cloud,
                     enum spoor_format format, struct buffer *out)
{
    struct server_facts facts;
    struct record record;

    assert_int_equal(server_facts_read(root, no_variable, &facts), 0);
    assert_int_equal(record_fill_machine(&host, &limits, &no_gpus, &facts, cloud, &record), 0);
    server_facts_done(&facts); /* the record has its own copies */
    if (format == SPOOR_JSON)
        machine_write_json(&record, out);
    else
        machine_write_text(&record, &plain, out);
    record_done(&record);
    assert_int_equal(buffer_error(out), 0);
}

static const struct spoor_cloud aws = {
    sizeof(struct spoor_cloud),
    "aws",
    "us-west-2",
    "us-west-2b",
    "m5.large",
    "123456789012",
    NULL,
};

TEST(a_machine_fits_on_one_screen)
{
    static const char expected[] =
        "Host         node7\n"
        "System       Debian\n"
        "Kernel       6.1.0, x86_64\n"
        "Machine      Amazon EC2 m5.large, virtual machine (kvm), container (docker)\n"
        "Cloud        aws, m5.large, region us-west-2, zone us-west-2b, account\n"
        "             123456789012\n"
        "CPU          A CPU, 1 socket, 1 core, 1 NUMA node\n"
        "CPUs         2, of which a job may use 1.5 (cgroup.cpu.max)\n"
        "Caches       L1d 48 KiB\n"
        "Memory       16.0 GB\n"
        "Disk         nvme0n1, 512 MB, nvme, Elastic \\x1b[2JStore\n"
        "GPUs         none\n";
    struct buffer out = { 0 };
    struct fake_root fake;

    make_machine(&fake);
    describe(&fake.root, &aws, SPOOR_TEXT, &out);
    assert_string_equal(out.text, expected);
    buffer_done(&out);
    fake_root_done(&fake);
}

TEST(json_has_every_value)
{
    static const char expected[] =
        "  \"server\": {\n"
        "    \"architecture\": \"x86_64\",\n"
        "    \"vendor\": \"Amazon EC2\",\n"
        "    \"model\": \"m5.large\",\n"
        "    \"hypervisor\": \"kvm\",\n"
        "    \"container\": \"docker\",\n"
        "    \"sockets\": 1,\n"
        "    \"cores\": 1,\n"
        "    \"threads\": 2,\n"
        "    \"numa_nodes\": 1,\n"
        "    \"caches\": [\n"
        "      {\"level\": 1, \"type\": \"data\", \"count\": 1, \"total_bytes\": 49152}\n"
        "    ],\n"
        "    \"disks\": [\n"
        "      {\"name\": \"nvme0n1\", \"type\": \"nvme\", \"model\": \"Elastic "
        "\\u001b[2JStore\", "
        "\"capacity_bytes\": 512000000}\n"
        "    ]\n"
        "  },\n"
        "  \"cloud\": {\n"
        "    \"vendor\": \"aws\",\n"
        "    \"region\": \"us-west-2\",\n"
        "    \"zone\": \"us-west-2b\",\n"
        "    \"instance_type\": \"m5.large\",\n"
        "    \"account\": \"123456789012\"\n"
        "  },\n"
        "  \"cloud_reason\": null\n"
        "}\n";
    struct buffer out = { 0 };
    struct fake_root fake;
    const char *found;

    make_machine(&fake);
    describe(&fake.root, &aws, SPOOR_JSON, &out);
    assert_true(json_is_valid(out.text));
    found = strstr(out.text, "  \"server\"");
    assert_string_equal(found ? found : "", expected);
    buffer_done(&out);
    fake_root_done(&fake);
}

TEST(a_missing_value_has_a_reason)
{
    static const struct {
        struct spoor_cloud cloud;
        const char *text;
    } cases[] = {
        { { .size = sizeof(aws) }, "\nCloud        none detected\n" },
        { { .size = sizeof(aws), .reason = "no answer" }, "\nCloud        n/a (no answer)\n" },
        { { .size = sizeof(aws), .vendor = "gcp", .reason = "no answer" },
          "\nCloud        gcp (no answer)\n" },
    };
    struct fake_root fake;

    fake_root_init(&fake); /* a machine without files */
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct buffer out = { 0 };

        describe(&fake.root, &cases[i].cloud, SPOOR_TEXT, &out);
        assert_non_null(strstr(out.text, cases[i].text));
        assert_non_null(strstr(out.text, "\nMachine      n/a\n"));
        assert_null(strstr(out.text, "Caches"));
        assert_null(strstr(out.text, "Disk"));
        buffer_done(&out);
    }
    fake_root_done(&fake);
}

FAKE_ROOT_TEST(many_disks_are_summed_up)
{
    struct fake_root *fake = *state;
    struct buffer out = { 0 }, table = { 0 };

    for (char letter = 'a'; letter < 'm'; letter++) {
        char path[64];

        buffer_format(&table, "8 %d sd%c 1 0 8 1 1 0 8 1 0 1 1\n", 16 * (letter - 'a'), letter);
        snprintf(path, sizeof(path), "sys/class/block/sd%c/size", letter);
        fake_root_write(fake, path, "2000000000\n");
        snprintf(path, sizeof(path), "sys/block/sd%c/size", letter);
        fake_root_write(fake, path, "2000000000\n");
    }
    fake_root_write(fake, "proc/diskstats", table.text);
    describe(&fake->root, NULL, SPOOR_TEXT, &out);
    assert_non_null(strstr(out.text, "\nDisks        12, 12.3 TB in all\n"));
    assert_null(strstr(out.text, "Cloud"));
    buffer_done(&table);
    buffer_done(&out);
}
