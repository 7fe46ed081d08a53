/* SPDX-License-Identifier: Apache-2.0 */
/*
 * targets_net.c - responses of servers: cloud metadata, prices, uploads.
 *
 * Parts named "http STATUS HEADER" are the responses, in order; requests beyond the last one
 * fail. The other parts are files or arguments of the code under test.
 */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/error.h"
#include "base/root.h"
#include "compat/resource_tracker/program.h"
#include "fuzz.h"
#include "services/cloud/cloud.h"
#include "services/http.h"
#include "services/metrics_server.h"
#include "services/prices/keeper.h"
#include "services/upload/uploader.h"

#define ANSWER "http "

enum { FOLDER_SIZE = 300 };

static struct {
    struct fuzz_part parts[FUZZ_PARTS_MAX];
    size_t count, next;
} network;

int __wrap_http_open(struct http **ret, struct spoor_error *err);
struct http *__wrap_http_close(struct http *http);
int __wrap_http_send(struct http *http, const struct http_request *request,
                     struct http_response *ret, struct spoor_error *err);

int __wrap_http_open(struct http **ret, UNUSED struct spoor_error *err)
{
    *ret = (struct http *)(void *)&network;
    return 0;
}

struct http *__wrap_http_close(struct http *http)
{
    CHECK(!http || http == (struct http *)(void *)&network);
    return NULL;
}

static void check_request(const struct http_request *request)
{
    CHECK(request->timeout_ms > 0);
    CHECK(strncmp(request->url, "http://", 7) == 0 ||
          strncmp(request->url, "https://", 8) == 0);
    for (const char *c = request->url; *c; c++) /* a newline would start another header */
        CHECK(*c > ' ' && *c < 127);
    for (size_t i = 0; request->headers && request->headers[i]; i++)
        CHECK(!strpbrk(request->headers[i], "\r\n"));
}

int __wrap_http_send(UNUSED struct http *http, const struct http_request *request,
                     struct http_response *ret, struct spoor_error *err)
{
    const struct fuzz_part *part;
    char *end;

    check_request(request);
    while (network.next < network.count &&
           strncmp(network.parts[network.next].name, ANSWER, strlen(ANSWER)) != 0)
        network.next++;
    if (network.next == network.count)
        return error_set(err, ECONNREFUSED, "%s: nobody answers", request->url);
    part = &network.parts[network.next++];
    buffer_done(&ret->body);
    buffer_add(&ret->body, part->text, part->length);
    ret->status = (int)strtol(part->name + strlen(ANSWER), &end, 10);
    (void)snprintf(ret->header, sizeof(ret->header), "%s",
                   request->wanted_header && *end == ' ' ? end + 1 : "");
    return 0;
}

static void begin(char *text, size_t length)
{
    network.count = fuzz_split(text, length, network.parts);
    network.next = 0;
}

static const char *part_text(const char *name)
{
    return fuzz_part_text(network.parts, network.count, name);
}

/* ---- cloud metadata --------------------------------------------------------------------- */

static bool is_fact(const char *text)
{
    for (; *text; text++)
        if (*text <= ' ' || *text > '~')
            return false;
    return true;
}

static void check_facts(const struct cloud_facts *facts)
{
    CHECK_ENDED(facts->vendor);
    CHECK_ENDED(facts->region);
    CHECK_ENDED(facts->zone);
    CHECK_ENDED(facts->instance_type);
    CHECK_ENDED(facts->account);
    CHECK(is_fact(facts->vendor) && is_fact(facts->region) && is_fact(facts->zone));
    CHECK(is_fact(facts->instance_type) && is_fact(facts->account));
}

/* Parts other than responses are the files of /sys/class/dmi/id. */
static void run_cloud_answers(char *text, size_t length)
{
    struct cloud_facts facts = { 0 };
    struct spoor_error err = { 0 };
    const struct cloud_vendor *vendor;
    struct dmi dmi;
    int r;

    begin(text, length);
    dmi_read(fuzz_root(network.parts, network.count), &dmi);
    for (size_t i = 0; i < DMI_FIELDS; i++)
        CHECK_ENDED(dmi.text[i]);
    vendor = cloud_vendor_find(&dmi);
    if (!vendor)
        return;
    r = metadata_ask(vendor, vendor->url, 10000, &facts, &err);
    CHECK(r == 0 || err.message[0] != '\0');
    CHECK(r < 0 || strcmp(facts.vendor, vendor->name) == 0);
    check_facts(&facts);
}

static const char *cache_variable(const char *name)
{
    return strcmp(name, "XDG_CACHE_HOME") == 0 ? fuzz_scratch() : NULL;
}

static void run_cloud_cache(char *text, size_t length)
{
    char boot_name[] = "proc/sys/kernel/random/boot_id";
    char boot_id[] = "6d1f0f2e-2a4f-4d8e-9d1c-0c7e2b0f9a11\n";
    const struct fuzz_part part = { boot_name, boot_id, sizeof(boot_id) - 1 };
    const struct cloud_cache_key key = { "aws", "http://169.254.169.254" };
    const struct root *root = fuzz_root(&part, 1);
    struct cloud_facts facts = { 0 }, again = { 0 };
    char folder[FOLDER_SIZE];

    (void)snprintf(folder, sizeof(folder), "%s/spoor", fuzz_scratch());
    CHECK(mkdir(folder, 0700) == 0 || errno == EEXIST);
    (void)fuzz_path("spoor/cloud.json", text, length);
    if (cloud_cache_read(root, cache_variable, &key, &facts) < 0)
        return;
    check_facts(&facts);
    cloud_cache_write(root, cache_variable, &key, &facts);
    CHECK(cloud_cache_read(root, cache_variable, &key, &again) == 0);
    CHECK(strcmp(facts.region, again.region) == 0 && strcmp(facts.account, again.account) == 0);
}

/* ---- prices ------------------------------------------------------------------------------ */

static const char *no_variable(UNUSED const char *name)
{
    return NULL;
}

static void run_keeper(char *text, size_t length)
{
    static const char *const vendors[] = { "aws", NULL };
    struct needs needs;
    struct server_filter filter = { .needs = &needs, .vendors = vendors };
    struct spoor_error err = { 0 };
    struct keeper keeper;
    double price = 0;

    begin(text, length);
    CHECK(keeper_open(no_variable, NULL, &keeper, &err) == 0);
    (void)needs_combine(NULL, 0, 1, &needs);
    needs.cpus.value = 2;
    needs.memory_bytes.value = 1e9;
    if (keeper_find_servers(&keeper, &filter, 3, &err) < 0)
        CHECK(err.message[0] != '\0' && !strchr(err.message, '\n'));
    if (keeper_find_price(&keeper, "aws", "m5.large", "us-west-2", &price, &err) < 0)
        CHECK(err.message[0] != '\0' && !strchr(err.message, '\n'));
    else
        CHECK(isnan(price) || price >= 0);
    keeper_close(&keeper);
}

/* The input is a request that the Python package sends. Requests with a catalogue are
 * skipped, because its path could be any file of the user. */
static void run_lookup(char *text, size_t length)
{
    static const struct {
        const char *name;
        int (*act)(void *data, const struct agent_request *request, struct json_writer *json,
                   struct spoor_error *err);
    } ops[] = { { "servers", lookup_servers }, { "price", lookup_price } };
    CLEANUP(buffer_done) struct buffer out = { 0 };
    struct spoor_error err = { 0 };

    begin(text, length);
    for (size_t i = 0; i < ARRAY_SIZE(ops); i++) {
        const char *argument = part_text(ops[i].name);
        const struct agent_request request = { .arguments = &argument, .argument_count = 1 };
        struct json_writer json = { .out = &out };

        buffer_clear(&out);
        if (strstr(argument, "catalog") || strchr(argument, '\\'))
            continue;
        CHECK(ops[i].act(NULL, &request, &json, &err) == 0 || err.message[0] != '\0');
    }
}

/* ---- uploads ----------------------------------------------------------------------------- */

static void remove_leftovers(const char *folder)
{
    static const char *const names[] = { SPOOL_RUN, "rows.csv", SPOOL_END, "state.json" };
    char path[PATH_MAX];

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        (void)unlink(path);
    }
}

/* Parts run.json, state.json, rows.csv and end.json are the files of the spool. Returns
 * whether there is a run.json. */
static bool write_spool(char folder[FOLDER_SIZE])
{
    char name[64];
    bool has_run = false;

    (void)snprintf(folder, FOLDER_SIZE, "%s/spool", fuzz_scratch());
    CHECK(mkdir(folder, 0700) == 0 || errno == EEXIST);
    remove_leftovers(folder);
    for (size_t i = 0; i < network.count; i++) {
        const struct fuzz_part *part = &network.parts[i];

        if (strcmp(part->name, SPOOL_RUN) != 0 && strcmp(part->name, "state.json") != 0 &&
            strcmp(part->name, "rows.csv") != 0 && strcmp(part->name, SPOOL_END) != 0)
            continue;
        has_run |= strcmp(part->name, SPOOL_RUN) == 0;
        (void)snprintf(name, sizeof(name), "spool/%s", part->name);
        (void)fuzz_path(name, part->text, part->length);
    }
    return has_run;
}

static void upload(struct spool *spool)
{
    static const struct upload_settings settings = { .token = "token",
                                                     .url = "https://example.com" };
    CLEANUP(buffer_done) struct buffer answer = { 0 };
    struct uploader uploader = { .api = sentinel_of(&settings) };
    struct spoor_error err = { 0 };
    uint64_t offset = spool->offset;

    CHECK(spool_enforce_limit(spool, 1 << 20) == 0 || spool->offset == offset);
    if (uploader_register(&uploader, spool, &err) == 0) {
        CHECK_ENDED(spool->run.id);
        CHECK(spool->run.id[0] != '\0' && !strpbrk(spool->run.id, "/?#\r\n "));
        (void)uploader_send(&uploader, spool, &err);
        CHECK(spool->offset >= offset);
        (void)uploader_finish(&uploader, spool, &answer, &err);
    }
    CHECK_ENDED(err.message);
    uploader_done(&uploader);
}

static void run_upload(char *text, size_t length)
{
    struct spool spool = SPOOL_CLOSED;
    char folder[FOLDER_SIZE];

    begin(text, length);
    if (!write_spool(folder) || spool_open(folder, &spool) < 0)
        return;
    CHECK_ENDED(spool.api_url);
    CHECK(spool.batches <= 1 << 20);
    if (spool.batches < 1 << 10) /* listing the names of more batches would take too long */
        upload(&spool);
    spool_close(&spool);
}

static void render_nothing(UNUSED void *data, UNUSED enum exposition how, struct buffer *out)
{
    buffer_add_text(out, "# EOF\n");
}

/* The input is a request to the server of --listen. */
static void run_metrics_request(char *text, UNUSED size_t length)
{
    struct buffer out = { 0 };
    struct spoor_error err;

    if (strstr(text, "\r\n\r\n")) { /* the server responds only to complete headers */
        metrics_respond(text, render_nothing, NULL, &out);
        CHECK(strncmp(out.text, "HTTP/1.1 ", 9) == 0 && strstr(out.text, "\r\n\r\n"));
    }
    (void)metrics_server_check(text, &err);
    buffer_done(&out);
}

const struct fuzz_target net_targets[] = {
    { "cloud_answers", run_cloud_answers, 40 },
    { "cloud_cache", run_cloud_cache, 40 },
    { "keeper", run_keeper, 4 },
    { "lookup", run_lookup, 4 },
    { "metrics_request", run_metrics_request, 4 },
    { "upload", run_upload, 100 },
    { NULL, NULL, 0 },
};
