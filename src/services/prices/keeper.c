/* SPDX-License-Identifier: Apache-2.0 */
#include "services/prices/keeper.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "base/error.h"
#include "services/http.h"
#include "text/escape.h"
#include "text/json_member.h"
#include "text/number.h"

#define GIB 1073741824.0
#define INSTEAD "; use --catalog FILE"

enum {
    TIMEOUT_MS = 2000,
    /* If the GPU vendor matters, ask for more servers: the request does not contain the vendor,
     * whose spelling may differ, so some servers have other GPUs. */
    COUNT_WITH_GPUS = 100,
};

int keeper_open(environment_get *get, const char *path, struct keeper *ret,
                struct spoor_error *err)
{
    const char *url = get(KEEPER_URL_VARIABLE);
    struct spoor_error failure = { 0 };
    int r;

    *ret = (struct keeper){ .url = path, .timeout_ms = TIMEOUT_MS };
    if (path)
        return catalog_load(path, &ret->catalog, err);
    r = http_timeout_read(get, KEEPER_TIMEOUT_VARIABLE, 0.001, &ret->timeout_ms, err);
    if (r < 0)
        return r;
    r = http_open(&ret->http, &failure);
    if (r < 0)
        return error_set(err, r, "%.200s" INSTEAD, failure.message);
    ret->url = url && *url ? url : KEEPER_URL;
    return 0;
}

void keeper_close(struct keeper *keeper)
{
    keeper->http = http_close(keeper->http);
    catalog_done(&keeper->catalog);
}

/* ---- requests ------------------------------------------------------------- */

/* Adds the base URL without a slash at the end. */
static void begin_url(const struct keeper *keeper, struct buffer *url)
{
    size_t length = strlen(keeper->url);

    while (length > 0 && keeper->url[length - 1] == '/')
        length--;
    buffer_add(url, keeper->url, length);
}

/* Returns why a request failed, without the URL, which can be long. */
static const char *reason_for(const struct spoor_error *error, const char *url)
{
    size_t length = strlen(url);

    if (strncmp(error->message, url, length) == 0 &&
        strncmp(error->message + length, ": ", 2) == 0)
        return error->message + length + 2;
    return strerror(error->code);
}

/* Requests a URL whose response is JSON. */
static int get(struct keeper *keeper, const struct buffer *url, struct http_response *ret,
               struct spoor_error *err)
{
    static const char *const headers[] = { "X-Application-ID: resource-tracker",
                                           "Accept: application/json", NULL };
    struct http_request request = { .url = url->text,
                                    .headers = headers,
                                    .timeout_ms = keeper->timeout_ms };
    struct spoor_error failure = { 0 };
    int r;

    if (buffer_error(url) < 0)
        return error_set(err, ENOMEM, "out of memory");
    r = http_send(keeper->http, &request, ret, &failure);
    if (r < 0)
        return error_set(err, r, "cannot reach %.80s: %.100s" INSTEAD, keeper->url,
                         reason_for(&failure, url->text));
    if (!http_is_success(ret->status))
        return error_set(err, EBADMSG, "%.80s answered with status %d" INSTEAD, keeper->url,
                         ret->status);
    return 0;
}

/* ---- servers -------------------------------------------------------------- */

/* Adds a need, rounded up to a whole number, as a parameter of the query. Adds nothing if it
 * is 0 or unknown. */
static void add_minimum(struct buffer *url, const char *name, const struct need *need,
                        double unit)
{
    if (need->value > 0)
        buffer_format(url, "&%s=%s", name, decimal_number(ceil(need->value / unit)).text);
}

static void add_text(struct buffer *url, const char *name, const char *text)
{
    buffer_format(url, "&%s=", name);
    escape_url(text, url);
}

int keeper_find_servers(struct keeper *keeper, const struct server_filter *filter, size_t count,
                        struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer url = { 0 };
    CLEANUP(http_response_done) struct http_response response = { 0 };
    const struct needs *needs = filter->needs;
    struct spoor_error failure = { 0 };
    int r;

    if (!keeper->http)
        return 0; /* the catalogue has all servers */
    if (needs->gpus.value > 0 && *needs->gpu_vendor && count < COUNT_WITH_GPUS)
        count = COUNT_WITH_GPUS;
    begin_url(keeper, &url);
    buffer_format(&url, "/servers?order_by=min_price_ondemand&order_dir=asc&limit=%zu", count);
    add_minimum(&url, "vcpus_min", &needs->cpus, 1);
    add_minimum(&url, "memory_min", &needs->memory_bytes, GIB);
    add_minimum(&url, "gpu_min", &needs->gpus, 1);
    add_minimum(&url, "gpu_memory_total", &needs->vram_bytes, GIB);
    for (size_t i = 0; filter->vendors && filter->vendors[i]; i++)
        add_text(&url, "vendor", filter->vendors[i]);
    if (filter->architecture)
        add_text(&url, "architecture", filter->architecture);
    r = get(keeper, &url, &response, err);
    if (r < 0)
        return r;
    if (catalog_parse_json(response.body.text, response.body.length, &keeper->catalog,
                           &failure) < 0)
        return error_set(err, failure.code, "the answer of %.80s cannot be used: %.80s" INSTEAD,
                         keeper->url, failure.message);
    return 0;
}

/* ---- prices --------------------------------------------------------------- */

static bool has_other_text(const json_t *object, const char *key, const char *expected)
{
    const json_t *value = json_object_get(object, key);

    return value && !json_is_null(value) && !member_is(object, key, expected);
}

/* Returns NaN if the entry is not an hourly on-demand price in USD for Linux. */
static double price_of(const json_t *entry)
{
    const json_t *price = json_object_get(entry, "price");

    if (!member_is(entry, "allocation", "ondemand") ||
        !member_is(entry, "operating_system", "Linux") ||
        has_other_text(entry, "unit", "hour") || has_other_text(entry, "currency", "USD") ||
        !json_is_number(price) || json_number_value(price) < 0)
        return (double)NAN;
    return json_number_value(price);
}

int keeper_find_price(struct keeper *keeper, const char *vendor, const char *server,
                      const char *region, double *ret, struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer url = { 0 };
    CLEANUP(http_response_done) struct http_response response = { 0 };
    const struct server *listed;
    double found = (double)NAN;
    json_t *list;
    int r;

    if (!keeper->http) {
        listed = catalog_find(&keeper->catalog, vendor, server, region);
        *ret = listed ? listed->price : (double)NAN;
        return 0;
    }
    begin_url(keeper, &url);
    buffer_add_text(&url, "/server/");
    escape_url(vendor, &url);
    buffer_add_text(&url, "/");
    escape_url(server, &url);
    buffer_add_text(&url, "/prices");
    r = get(keeper, &url, &response, err);
    if (r < 0)
        return r;
    list = json_loadb(response.body.text, response.body.length, 0, NULL);
    if (!json_is_array(list))
        r = error_set(err, EBADMSG,
                      "the answer of %.80s cannot be used: expected a list of prices" INSTEAD,
                      keeper->url);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *entry = json_array_get(list, i);
        double price = price_of(entry);

        if (isnan(price))
            continue;
        if (isnan(found) || member_is(entry, "region_id", region))
            found = price;
        if (member_is(entry, "region_id", region))
            break;
    }
    json_decref(list);
    if (r == 0)
        *ret = found;
    return r;
}
