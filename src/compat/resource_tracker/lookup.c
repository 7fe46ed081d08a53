/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lookup.c - facts for the Python package that need no tracking, as JSON objects. It gets them from
 * `resource-tracker agent-lookup WHAT`, which belongs to no job (see front/agent.h) and exits after its response.
 *
 * WHAT is one of:
 *
 *     cloud    {"vendor": "aws", "region": "us-west-2", "zone": ..., "instance_type": ..., "account": ...,
 *              "reason": null, "seconds": 0.004}; null: unknown, as `reason` explains; all of them are null
 *              outside a cloud. `seconds` is how long it took.
 *     server   as `spoor info --format json`, without the cloud
 *     servers  {"servers": {...}} as `spoor recommend --server --format json`, for a request on standard
 *              input; only the first two members are required:
 *              {"cpus": 4, "memory_mib": 8192, "gpus": 1, "vram_mib": 4096, "count": 10,
 *              "vendors": ["aws"], "architecture": "x86_64", "catalog": "servers.csv"}
 *     price    {"price": 0.096} in US dollars per hour, or null; the request on standard input is
 *              {"vendor": "aws", "server": "m5.large", "region": "us-west-2", "catalog": null}
 *
 * If that fails, the response is an error of the agent protocol.
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
#include "text/json_writer.h"

#define MIB 1048576.0

enum { VENDORS_MAX = 32, COUNT_DEFAULT = 10 };

/* Returns NULL if there is no such member. */
static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static double number_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

/* ---- this machine ----------------------------------------------------------- */

static int add_cloud(const json_t *request, struct buffer *out, struct spoor_error *err)
{
    CLEANUP(root_close) struct root root = ROOT_CLOSED;
    struct json_writer json = { .out = out, .style = &json_compact };
    uint64_t start_ns = clock_now().monotonic_ns;
    struct cloud_facts facts = { 0 };
    int r = root_open(NULL, &root);

    (void)request;
    if (r < 0)
        return error_sys(err, r, "/");
    r = cloud_find(&root, &facts, err);
    json_begin(&json, NULL, '{');
    json_add_known_text(&json, "vendor", facts.vendor);
    json_add_known_text(&json, "region", facts.region);
    json_add_known_text(&json, "zone", facts.zone);
    json_add_known_text(&json, "instance_type", facts.instance_type);
    json_add_known_text(&json, "account", facts.account);
    json_add_text(&json, "reason", r < 0 && r != -ENODEV ? err->message : NULL);
    json_add_number(&json, "seconds", (double)(clock_now().monotonic_ns - start_ns) / 1e9);
    json_end(&json);
    return 0;
}

static int add_server(const json_t *request, struct buffer *out, struct spoor_error *err)
{
    AUTO_CLOSE int fd = memfd_create("server", MFD_CLOEXEC);
    int r;

    (void)request;
    if (fd < 0)
        return error_sys(err, errno, "memfd_create");
    r = spoor_machine_write(NULL, "all", NULL, SPOOR_JSON, 0, fd, err);
    if (r < 0)
        return r;
    if (lseek(fd, 0, SEEK_SET) < 0)
        return error_sys(err, errno, "lseek");
    r = buffer_read(out, fd, BUFFER_MAX);
    return r < 0 ? error_sys(err, r, "read") : 0;
}

/* ---- servers to rent -------------------------------------------------------- */

static int add_servers(const json_t *request, struct buffer *out, struct spoor_error *err)
{
    CLEANUP(keeper_close) struct keeper keeper = { 0 };
    struct json_writer json = { .out = out, .style = &json_compact };
    const json_t *list = json_object_get(request, "vendors");
    double count = number_of(request, "count");
    const char *vendors[VENDORS_MAX + 1] = { 0 };
    struct needs needs;
    struct server_filter filter = { .needs = &needs,
                                    .vendors = json_array_size(list) > 0 ? vendors : NULL,
                                    .architecture = text_of(request, "architecture") };
    struct server_table table = { .source = text_of(request, "catalog"),
                                  .catalog = &keeper.catalog,
                                  .run_seconds = (double)NAN,
                                  .run_price = (double)NAN };
    int r;

    for (size_t i = 0; i < json_array_size(list) && i < VENDORS_MAX; i++)
        vendors[i] = json_string_value(json_array_get(list, i));
    (void)needs_combine(NULL, 0, 1, &needs);
    needs.cpus.value = number_of(request, "cpus");
    needs.memory_bytes.value = number_of(request, "memory_mib") * MIB;
    needs.gpus.value = number_of(request, "gpus");
    needs.vram_bytes.value = number_of(request, "vram_mib") * MIB;
    if (!(needs.cpus.value >= 0) || !(needs.memory_bytes.value >= 0))
        return error_set(err, EINVAL, "CPUs and memory must be numbers");
    table.count = count >= 1 && count <= SERVERS_MAX ? (size_t)count : COUNT_DEFAULT;
    r = keeper_open(environment_own, table.source, &keeper, err);
    if (r == 0)
        r = keeper_find_servers(&keeper, &filter, table.count, err);
    if (r < 0)
        return r;
    servers_choose(&keeper.catalog.servers, &filter);
    json_begin(&json, NULL, '{');
    server_table_add_json(&table, &json);
    json_end(&json);
    return 0;
}

static int find_price(const json_t *request, double *ret, struct spoor_error *err)
{
    CLEANUP(keeper_close) struct keeper keeper = { 0 };
    const char *vendor = text_of(request, "vendor"), *name = text_of(request, "server");
    const char *region = text_of(request, "region");
    int r;

    if (!vendor || !name)
        return error_set(err, EINVAL, "the vendor and the server must be texts");
    r = keeper_open(environment_own, text_of(request, "catalog"), &keeper, err);
    return r < 0 ? r : keeper_find_price(&keeper, vendor, name, region ? region : "", ret, err);
}

static int add_price(const json_t *request, struct buffer *out, struct spoor_error *err)
{
    struct json_writer json = { .out = out, .style = &json_compact };
    double price = (double)NAN;
    int r = find_price(request, &price, err);

    if (r < 0)
        return r;
    json_begin(&json, NULL, '{');
    json_add_number(&json, "price", price);
    json_end(&json);
    return 0;
}

/* ---- the command ------------------------------------------------------------ */

static const struct lookup {
    const char *name;
    bool has_request;
    int (*add)(const json_t *request, struct buffer *out, struct spoor_error *err);
} lookups[] = {
    { "cloud", false, add_cloud },
    { "server", false, add_server },
    { "servers", true, add_servers },
    { "price", true, add_price },
    { 0 },
};

int lookup_answer(const char *what, const char *request, size_t length, struct buffer *out,
                  struct spoor_error *err)
{
    json_auto_t *object = NULL;
    const struct lookup *lookup = lookups;

    while (lookup->name && strcmp(lookup->name, what) != 0)
        lookup++;
    if (!lookup->name)
        return error_set(err, EINVAL, "expected cloud, server, servers or price");
    if (lookup->has_request) {
        object = json_loadb(request, length, 0, NULL);
        if (!json_is_object(object))
            return error_set(err, EINVAL, "expected a JSON object");
    }
    return lookup->add(object, out, err);
}

int tracker_lookup_main(const struct command *command, int argc, char **argv)
{
    CLEANUP(buffer_done) struct buffer input = { 0 };
    CLEANUP(buffer_done) struct buffer out = { 0 };
    struct spoor_error err = { 0 };
    int r;

    (void)command;
    agent_begin();
    r = buffer_read(&input, STDIN_FILENO, BUFFER_MAX);
    if (r < 0)
        return agent_refuse(r, "standard input cannot be read");
    if (lookup_answer(argc == 2 ? argv[1] : "", input.text ? input.text : "", input.length,
                      &out, &err) < 0)
        return agent_refuse(err.code, err.message);
    buffer_add(&out, "\n", 1);
    return buffer_write(&out, STDOUT_FILENO) < 0;
}
