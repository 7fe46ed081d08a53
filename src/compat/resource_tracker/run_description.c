/* SPDX-License-Identifier: Apache-2.0 */
#include "compat/resource_tracker/run_description.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/compiler.h"
#include "base/root.h"
#include "base/unknown.h"
#include "services/cloud/cloud.h"
#include "source/host/devices.h"
#include "source/host/facts.h"

/* ---- the run ---------------------------------------------------------------- */

/* In the order of struct tracker_settings. */
static const char *const metadata_keys[TRACKER_METADATA_COUNT] = {
    "project_name",
    "stage_name",
    "task_name",
    "team",
    "env",
    "language",
    "orchestrator",
    "executor",
    "external_run_id",
    "container_image",
};

/* The service wants the list of arguments as a text, which is JSON. */
static void add_command(struct json_writer *json, const char *const *command)
{
    CLEANUP(buffer_done) struct buffer list = { 0 };
    struct json_writer arguments = { .out = &list, .style = &json_compact };

    json_begin(&arguments, NULL, '[');
    for (; *command; command++)
        json_add_text(&arguments, NULL, *command);
    json_end(&arguments);
    if (buffer_error(&list) == 0)
        json_add_text(json, "command", list.text);
}

void run_description_write(const struct tracker_settings *settings, const char *const *command,
                           struct buffer *ret)
{
    struct json_writer json = { .out = ret, .style = &json_compact };

    json_begin(&json, NULL, '{');
    if (settings->job_name)
        json_add_text(&json, "job_name", settings->job_name);
    for (size_t i = 0; i < TRACKER_METADATA_COUNT; i++) {
        if (settings->metadata[i])
            json_add_text(&json, metadata_keys[i], settings->metadata[i]);
    }
    if (command)
        add_command(&json, command);
    if (settings->tags.count > 0) {
        json_begin(&json, "tags", '[');
        for (size_t i = 0; i < settings->tags.count; i++)
            json_add_text(&json, NULL, settings->tags.items[i]);
        json_end(&json);
    }
    json_end(&json);
}

/* ---- the machine ------------------------------------------------------------ */

/* NULL: unknown. */
static const char *or_null(const char *text)
{
    return *text ? text : NULL;
}

static uint64_t in_mib(uint64_t bytes)
{
    return is_known(bytes) ? bytes >> 20 : UNKNOWN;
}

/* Cloud providers give a machine an asset tag; others have an ID of their installation. */
static void add_host_id(const struct root *root, struct json_writer *json)
{
    static const char *const files[] = { "sys/class/dmi/id/board_asset_tag", "etc/machine-id" };
    char text[128] = "";

    for (size_t i = 0; i < ARRAY_SIZE(files) && *text == '\0'; i++) {
        if (root_read(root, text, sizeof(text), "%s", files[i]) < 0)
            text[0] = '\0';
        text[strcspn(text, "\r\n")] = '\0';
    }
    json_add_text(json, "host_id", or_null(text));
}

/* The first IPv4 address that others can reach. */
static void add_address(struct json_writer *json)
{
    char text[INET_ADDRSTRLEN] = "";
    struct ifaddrs *list = NULL;

    if (getifaddrs(&list) < 0)
        list = NULL;
    for (const struct ifaddrs *each = list; each && *text == '\0'; each = each->ifa_next) {
        struct sockaddr_in address;

        if (!each->ifa_addr || each->ifa_addr->sa_family != AF_INET ||
            (each->ifa_flags & IFF_LOOPBACK))
            continue;
        memcpy(&address, each->ifa_addr, sizeof(address));
        (void)inet_ntop(AF_INET, &address.sin_addr, text, sizeof(text));
    }
    freeifaddrs(list);
    json_add_text(json, "host_ip", or_null(text));
}

static void add_storage(const struct root *root, struct json_writer *json)
{
    struct devices devices = { 0 };
    uint64_t bytes = 0;

    if (devices_read(root, NULL, &devices) < 0) {
        json_add_null(json, "host_storage_gb");
        return;
    }
    for (size_t i = 0; i < devices.disk_count; i++)
        bytes +=
            is_known(devices.disks[i].capacity_bytes) ? devices.disks[i].capacity_bytes : 0;
    devices_done(&devices);
    json_add_number(json, "host_storage_gb", (double)bytes / 1e9);
}

struct gpus {
    char model[128];
    uint64_t count;
    uint64_t memory_bytes;
};

static void count_gpu(const struct spoor_gpu *gpu, void *data)
{
    struct gpus *gpus = data;

    if (gpu->is_part)
        return;
    if (gpus->count++ == 0)
        (void)snprintf(gpus->model, sizeof(gpus->model), "%s", gpu->name); /* cut is fine */
    if (is_known(gpu->memory_bytes))
        gpus->memory_bytes += gpu->memory_bytes;
}

static void add_gpus(struct json_writer *json)
{
    struct gpus gpus = { 0 };

    if (spoor_may_have_gpus(NULL))
        (void)spoor_gpu_list(NULL, "all", count_gpu, &gpus, NULL);
    json_add_text(json, "host_gpu_model", or_null(gpus.model));
    json_add_u64(json, "host_gpu_count", gpus.count);
    json_add_u64(json, "host_gpu_memory_mib",
                 in_mib(gpus.count > 0 ? gpus.memory_bytes : UNKNOWN));
}

/* Asks the metadata service of the cloud, if this is a machine of one. */
static void add_cloud(const struct root *root, struct json_writer *json)
{
    struct cloud_facts facts;

    (void)cloud_find(root, &facts, NULL); /* what is not known is empty */
    json_add_text(json, "cloud_vendor_id", or_null(facts.vendor));
    json_add_text(json, "cloud_account_id", or_null(facts.account));
    json_add_text(json, "cloud_region_id", or_null(facts.region));
    json_add_text(json, "cloud_zone_id", or_null(facts.zone));
    json_add_text(json, "cloud_instance_type", or_null(facts.instance_type));
}

void run_description_add_machine(struct json_writer *json)
{
    CLEANUP(root_close) struct root root = ROOT_CLOSED;
    struct host_facts facts;

    if (root_open("/", &root) < 0)
        return;
    host_facts_read(&root, &facts);
    add_host_id(&root, json);
    json_add_text(json, "host_hostname", or_null(facts.hostname));
    add_address(json);
    json_add_null(json, "host_server_allocation");
    json_add_u64(json, "host_vcpus", facts.cpus);
    json_add_text(json, "host_cpu_model", or_null(facts.cpu_model));
    json_add_u64(json, "host_memory_mib", in_mib(facts.memory_bytes));
    add_gpus(json);
    add_storage(&root, json);
    add_cloud(&root, json);
}
