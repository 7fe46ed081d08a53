/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lookup.c - operations of the agent of resource-tracker (agent.c) that need no tracking:
 *
 *     cloud            "vendor": "aws", "region": "us-west-2", "zone": ..., "instance_type": ..., "account":
 *                      ..., "reason": null, "seconds": 0.004. Unknown members are null, and
 *                      `reason` is the cause; outside a cloud all are null. `seconds` is the
 *                      duration of the lookup.
 *     server           "machine": {...} as `spoor info --format json`, without the cloud
 *     servers REQUEST  "servers": {...} as `spoor recommend --server --format json`. The request is the text of
 *                      a JSON object; only its first two members are required:
 *                      {"cpus": 4, "memory_mib": 8192, "gpus": 1, "vram_mib": 4096, "count": 10,
 *                      "vendors": ["aws"], "architecture": "x86_64", "catalog": "servers.csv"}
 *     price REQUEST    "price": 0.096 in US dollars per hour, or null; the request is
 *                      {"vendor": "aws", "server": "m5.large", "region": "us-west-2", "catalog": null}
 */

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/environment.h"
#include "base/error.h"
#include "compat/resource_tracker/program.h"
#include "front/agent.h"
#include "services/cloud/cloud.h"
#include "services/prices/catalog.h"
#include "services/prices/keeper.h"
#include "text/json_member.h"
#include "text/json_writer.h"

#define MIB 1048576.0

enum { VENDORS_MAX = 32, COUNT_DEFAULT = 10 };

/* ---- this machine ----------------------------------------------------------- */

int lookup_cloud(void *data, const struct agent_request *request, struct json_writer *json,
                 struct spoor_error *err)
{
    CLEANUP(root_close) struct root root = ROOT_CLOSED;
    uint64_t start_ns = clock_now().monotonic_ns;
    struct cloud_facts facts = { 0 };
    int r = root_open(NULL, &root);

    (void)data;
    (void)request;
    if (r < 0)
        return error_sys(err, r, "/");
    r = cloud_find(&root, true, &facts, err);
    json_add_known_text(json, "vendor", facts.vendor);
    json_add_known_text(json, "region", facts.region);
    json_add_known_text(json, "zone", facts.zone);
    json_add_known_text(json, "instance_type", facts.instance_type);
    json_add_known_text(json, "account", facts.account);
    json_add_text(json, "reason", r < 0 && r != -ENODEV ? err->message : NULL);
    json_add_number(json, "seconds", (double)(clock_now().monotonic_ns - start_ns) / 1e9);
    return 0;
}

int lookup_server(void *data, const struct agent_request *request, struct json_writer *json,
                  struct spoor_error *err)
{
    AUTO_CLOSE int fd = memfd_create("server", MFD_CLOEXEC);
    CLEANUP(buffer_done) struct buffer text = { 0 };
    int r;

    (void)data;
    (void)request;
    if (fd < 0)
        return error_sys(err, errno, "memfd_create");
    r = spoor_machine_write(NULL, "all", NULL, SPOOR_JSON, 0, fd, err);
    if (r < 0)
        return r;
    if (lseek(fd, 0, SEEK_SET) < 0)
        return error_sys(err, errno, "lseek");
    r = buffer_read(&text, fd, BUFFER_MAX);
    if (r < 0)
        return error_sys(err, r, "read");
    json_add_document(json, "machine", &text);
    return 0;
}

/* ---- servers to rent -------------------------------------------------------- */

int lookup_servers(void *data, const struct agent_request *request, struct json_writer *json,
                   struct spoor_error *err)
{
    CLEANUP(keeper_close) struct keeper keeper = { 0 };
    json_auto_t *order = json_loads(request->arguments[0], 0, NULL);
    const json_t *list = json_object_get(order, "vendors");
    double count = member_number(order, "count");
    const char *vendors[VENDORS_MAX + 1] = { 0 };
    struct needs needs;
    struct server_filter filter = { .needs = &needs,
                                    .vendors = json_array_size(list) > 0 ? vendors : NULL,
                                    .architecture = member_text(order, "architecture") };
    struct server_table table = { .source = member_text(order, "catalog"),
                                  .catalog = &keeper.catalog,
                                  .run_seconds = (double)NAN,
                                  .run_price = (double)NAN };
    int r;

    (void)data;
    if (!json_is_object(order))
        return error_set(err, EINVAL, "expected a JSON object");
    for (size_t i = 0; i < json_array_size(list) && i < VENDORS_MAX; i++)
        vendors[i] = json_string_value(json_array_get(list, i));
    (void)needs_combine(NULL, 0, 1, &needs);
    needs.cpus.value = member_number(order, "cpus");
    needs.memory_bytes.value = member_number(order, "memory_mib") * MIB;
    needs.gpus.value = member_number(order, "gpus");
    needs.vram_bytes.value = member_number(order, "vram_mib") * MIB;
    if (!(needs.cpus.value >= 0) || !(needs.memory_bytes.value >= 0))
        return error_set(err, EINVAL, "CPUs and memory must be numbers");
    table.count = count >= 1 && count <= SERVERS_MAX ? (size_t)count : COUNT_DEFAULT;
    r = keeper_open(environment_own, table.source, &keeper, err);
    if (r == 0)
        r = keeper_find_servers(&keeper, &filter, table.count, err);
    if (r < 0)
        return r;
    catalog_choose(&keeper.catalog, &filter);
    server_table_add_json(&table, json);
    return 0;
}

int lookup_price(void *data, const struct agent_request *request, struct json_writer *json,
                 struct spoor_error *err)
{
    CLEANUP(keeper_close) struct keeper keeper = { 0 };
    json_auto_t *order = json_loads(request->arguments[0], 0, NULL);
    const char *vendor = member_text(order, "vendor"), *name = member_text(order, "server");
    const char *region = member_text(order, "region");
    double price = (double)NAN;
    int r;

    (void)data;
    if (!json_is_object(order))
        return error_set(err, EINVAL, "expected a JSON object");
    if (!vendor || !name)
        return error_set(err, EINVAL, "the vendor and the server must be texts");
    r = keeper_open(environment_own, member_text(order, "catalog"), &keeper, err);
    if (r == 0)
        r = keeper_find_price(&keeper, vendor, name, region ? region : "", &price, err);
    if (r == 0)
        json_add_number(json, "price", price);
    return r;
}
