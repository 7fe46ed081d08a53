/* SPDX-License-Identifier: Apache-2.0 */
/* test_keeper.c - requests to the keeper and how its responses are used. The test provides
 * the responses. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/error.h"
#include "services/http.h"
#include "services/prices/keeper.h"
#include "unit_test.h"

#define GIB 1073741824.0
#define MIB 1048576.0
#define NO ((double)NAN)

/* ---- the network ---------------------------------------------------------- */

static struct {
    char url[512];
    uint64_t timeout_ms;
    int result; /* result of http_send() */
    int status;
    const char *message, *body;
} network;

int __wrap_http_open(struct http **ret, struct spoor_error *err);
struct http *__wrap_http_close(struct http *http);
int __wrap_http_send(struct http *http, const struct http_request *request,
                     struct http_response *ret, struct spoor_error *err);

int __wrap_http_open(struct http **ret, struct spoor_error *err)
{
    if (network.result == -ENOSYS)
        return error_set(err, ENOSYS, "libcurl.so.4 is not installed");
    *ret = (struct http *)&network;
    return 0;
}

struct http *__wrap_http_close(struct http *http)
{
    assert_ptr_equal(http, &network);
    return NULL;
}

int __wrap_http_send(struct http *http, const struct http_request *request,
                     struct http_response *ret, struct spoor_error *err)
{
    assert_ptr_equal(http, &network);
    assert_null(request->method);
    assert_string_equal(request->headers[0], "X-Application-ID: resource-tracker");
    network.timeout_ms = request->timeout_ms;
    snprintf(network.url, sizeof(network.url), "%s", request->url);
    if (network.result < 0)
        return error_set(err, network.result, "%s: %s", request->url, network.message);
    ret->status = network.status ? network.status : 200;
    buffer_add_text(&ret->body, network.body);
    return 0;
}

static struct needs need(double cpus, double memory_bytes, double gpus, double vram_bytes)
{
    return (struct needs){ .cpus.value = cpus,
                           .memory_bytes.value = memory_bytes,
                           .gpus.value = gpus,
                           .vram_bytes.value = vram_bytes };
}

static const char *url_variable, *timeout_variable;

static const char *get_variable(const char *name)
{
    return strcmp(name, "SPOOR_KEEPER_URL") == 0       ? url_variable
           : strcmp(name, "SPOOR_KEEPER_TIMEOUT") == 0 ? timeout_variable
                                                       : NULL;
}

static int find_servers(const char *url, const struct server_filter *filter, size_t count,
                        struct catalog *ret, struct spoor_error *err)
{
    struct keeper keeper = { 0 };
    int r;

    url_variable = url;
    r = keeper_open(get_variable, NULL, &keeper, err);
    if (r < 0)
        return r;
    r = keeper_find_servers(&keeper, filter, count, err);
    if (r == 0) {
        *ret = keeper.catalog;
        keeper.catalog = (struct catalog){ 0 };
    }
    keeper_close(&keeper);
    return r;
}

/* ---- servers -------------------------------------------------------------- */

static void check_query(const struct server_filter *filter, size_t count, const char *expected)
{
    struct catalog catalog = { 0 };

    network.body = "[]";
    assert_int_equal(find_servers(NULL, filter, count, &catalog, NULL), 0);
    assert_string_equal(network.url, expected);
    assert_int_equal(network.timeout_ms, 2000);
    assert_int_equal(catalog.count, 0);
    catalog_done(&catalog);
}

#define SERVERS \
    "https://keeper.sparecores.net/servers?order_by=min_price_ondemand&order_dir=asc&limit="

TEST(memory_is_requested_in_whole_gib_and_never_0)
{
    struct needs needs = need(2, 128 * MIB, 0, 0);
    const struct server_filter filter = { .needs = &needs };

    check_query(&filter, 5, SERVERS "5&vcpus_min=2&memory_min=1");
    needs = need(1, 60 * GIB, 0, NO);
    check_query(&filter, 1, SERVERS "1&vcpus_min=1&memory_min=60");
    needs = need(1, 60 * GIB + 1, NO, NO);
    check_query(&filter, 1, SERVERS "1&vcpus_min=1&memory_min=61");
    needs = need(NO, NO, NO, NO);
    check_query(&filter, 1, SERVERS "1");
}

TEST(gpus_are_requested_with_their_memory_in_gib)
{
    struct needs needs = need(4, 2 * GIB, 2, 20 * GIB + 1);
    const struct server_filter filter = { .needs = &needs };

    check_query(&filter, 3, SERVERS "3&vcpus_min=4&memory_min=2&gpu_min=2&gpu_memory_total=21");
    memcpy(needs.gpu_vendor, "nvidia", sizeof("nvidia")); /* not in the query: asks for more */
    check_query(&filter, 3,
                SERVERS "100&vcpus_min=4&memory_min=2&gpu_min=2&gpu_memory_total=21");
}

TEST(vendors_and_architecture_are_requested)
{
    static const char *const vendors[] = { "aws", "x&limit=-1", NULL };
    struct needs needs = need(1, GIB, 0, 0);
    const struct server_filter filter = { &needs, vendors, "arm64" };

    check_query(&filter, 1,
                SERVERS "1&vcpus_min=1&memory_min=1&vendor=aws&vendor=x%26limit%3D-1"
                        "&architecture=arm64");
}

TEST(the_url_can_be_set)
{
    struct needs needs = need(NO, NO, NO, NO);
    const struct server_filter filter = { .needs = &needs };
    struct catalog catalog = { 0 };

    network.body = "[{\"name\": \"a\", \"vcpus\": 2}]";
    assert_int_equal(find_servers("http://127.0.0.1:8080/v1//", &filter, 7, &catalog, NULL), 0);
    assert_string_equal(network.url, "http://127.0.0.1:8080/v1/servers?order_by="
                                     "min_price_ondemand&order_dir=asc&limit=7");
    assert_int_equal(catalog.count, 1);
    catalog_done(&catalog);
}

TEST(the_time_limit_can_be_set)
{
    static const char *const wrong[] = { "0", "-1", "61", "nan", "1s", " " };
    struct needs needs = need(NO, NO, NO, NO);
    const struct server_filter filter = { .needs = &needs };
    struct catalog catalog = { 0 };

    network.body = "[]";
    timeout_variable = "0.25";
    assert_int_equal(find_servers("", &filter, 7, &catalog, NULL), 0);
    assert_int_equal(network.timeout_ms, 250);
    catalog_done(&catalog);
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        struct spoor_error err = { 0 };

        timeout_variable = wrong[i];
        assert_int_equal(find_servers("", &filter, 7, &catalog, &err), -EINVAL);
        assert_string_equal(err.message, "SPOOR_KEEPER_TIMEOUT: expected 0.001 to 60 seconds");
    }
    timeout_variable = NULL;
}

TEST(an_error_is_one_line_with_a_fix)
{
    static const struct {
        int result, status;
        const char *said, *message;
    } cases[] = {
        { -ECONNREFUSED, 0, "Could not resolve host: x",
          "cannot reach http://x: Could not resolve host: x; use --catalog FILE" },
        { -ETIMEDOUT, 0, "Operation timed out",
          "cannot reach http://x: Operation timed out; use --catalog FILE" },
        { -ENOSYS, 0, "", "libcurl.so.4 is not installed; use --catalog FILE" },
        { 0, 500, "[]", "http://x answered with status 500; use --catalog FILE" },
        { 0, 404, "{}", "http://x answered with status 404; use --catalog FILE" },
        { 0, 200, "{\"detail\": 1}",
          "the answer of http://x cannot be used: expected a list of servers; use --catalog "
          "FILE" },
        { 0, 200, "[{\"name\": \"a\", \"vcpus\": \"1\"}]",
          "the answer of http://x cannot be used: server 1: vcpus: expected a number; use "
          "--catalog FILE" },
    };
    struct needs needs = need(1, 1, 0, 0);
    const struct server_filter filter = { .needs = &needs };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct spoor_error err = { 0 };
        struct catalog catalog = { 0 };

        network.result = cases[i].result;
        network.status = cases[i].status;
        network.message = network.body = cases[i].said;
        assert_true(find_servers("http://x", &filter, 1, &catalog, &err) < 0);
        assert_string_equal(err.message, cases[i].message);
    }
    network.result = network.status = 0;
}

TEST(a_response_that_is_not_json_is_refused)
{
    static const char *const bodies[] = { "", "<html>", "name,vcpus,memory_amount\na,1,1\n" };
    struct needs needs = need(1, 1, 0, 0);
    const struct server_filter filter = { .needs = &needs };

    for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
        struct spoor_error err = { 0 };
        struct catalog catalog = { 0 };

        network.body = bodies[i];
        assert_int_equal(find_servers("http://x", &filter, 1, &catalog, &err), -EBADMSG);
        assert_non_null(strstr(err.message, "the answer of http://x cannot be used: not valid "
                                            "JSON (line 1, "));
        assert_non_null(strstr(err.message, "; use --catalog FILE"));
    }
}

TEST(a_long_url_does_not_hide_the_reason)
{
    struct needs needs = need(1, 1, 0, 0);
    const char *vendors[41] = { 0 };
    const struct server_filter filter = { &needs, vendors, NULL };
    struct catalog catalog = { 0 };
    struct spoor_error err = { 0 };

    for (size_t i = 0; i < 40; i++)
        vendors[i] = "some-vendor";
    network.result = -ETIMEDOUT;
    network.message = "cut";
    assert_int_equal(find_servers("http://x", &filter, 1, &catalog, &err), -ETIMEDOUT);
    assert_string_equal(err.message,
                        "cannot reach http://x: Connection timed out; use --catalog FILE");
    network.result = 0;
}

/* ---- prices --------------------------------------------------------------- */

static int find_price(const char *body, double *ret, struct spoor_error *err)
{
    struct keeper keeper = { 0 };
    int r;

    network.body = body;
    url_variable = "http://x/";
    assert_int_equal(keeper_open(get_variable, NULL, &keeper, NULL), 0);
    r = keeper_find_price(&keeper, "aws", "m5/../a b", "eu-west-1", ret, err);
    keeper_close(&keeper);
    assert_string_equal(network.url, "http://x/server/aws/m5%2F..%2Fa%20b/prices");
    return r;
}

#define ENTRY(region, allocation, system, rest)                     \
    "{\"region_id\": \"" region "\", \"allocation\": \"" allocation \
    "\", \"operating_system\": \"" system "\"" rest "}"

static const struct {
    const char *body;
    double price;
} price_cases[] = {
    { "[]", NO },
    { "[null, 1, {}, [], \"x\"]", NO },
    { "[" ENTRY("eu-west-1", "spot", "Linux", ", \"price\": 1") "," ENTRY(
          "eu-west-1", "ondemand", "Windows",
          ", \"price\": 2") "," ENTRY("us-east-1", "ondemand", "Linux",
                                      ", \"price\": 3") "," ENTRY("eu-west-1", "ondemand",
                                                                  "Linux",
                                                                  ", \"price\": "
                                                                  "4") "," ENTRY("eu-west-"
                                                                                 "1",
                                                                                 "ondemand",
                                                                                 "Linux",
                                                                                 ", "
                                                                                 "\"price\""
                                                                                 ": 5") "]",
      4 },
    /* uses the first on-demand price of another region */
    { "[" ENTRY("eu-west-1", "spot", "Linux", ", \"price\": 1") "," ENTRY(
          "us-east-1", "ondemand", "Linux",
          ", \"price\": 3") "," ENTRY("us-east-2", "ondemand", "Linux", ", \"price\": 2") "]",
      3 },
    /* no entry has a usable price */
    { "[" ENTRY("eu-west-1", "ondemand", "Linux", ", \"price\": null") "," ENTRY(
          "eu-west-1", "ondemand", "Linux",
          ", \"price\": \"4\"") "," ENTRY("eu-west-1", "ondemand", "Linux",
                                          ", \"price\": -4") "," ENTRY("eu-west-1", "ondemand",
                                                                       "Linux", "") "]",
      NO },
    /* prices are not in USD per hour */
    { "[" ENTRY(
          "eu-west-1", "ondemand", "Linux",
          ", \"price\": 9, \"unit\": \"month\"") "," ENTRY("eu-west-1", "ondemand", "Linux",
                                                           ", \"price\": 9, \"currency\": "
                                                           "\"EUR\"") "," ENTRY("us-east-1",
                                                                                "ondemand",
                                                                                "Linux",
                                                                                ", "
                                                                                "\"price\":"
                                                                                " 1, "
                                                                                "\"unit\": "
                                                                                "\"hour\", "
                                                                                "\"currency"
                                                                                "\": "
                                                                                "\"USD\"") "]",
      1 },
};

TEST(the_on_demand_linux_price_of_the_region_is_used)
{
    for (size_t i = 0; i < ARRAY_SIZE(price_cases); i++) {
        double price = -1;

        assert_int_equal(find_price(price_cases[i].body, &price, NULL), 0);
        assert_true(isnan(price_cases[i].price) ? isnan(price)
                                                : fabs(price - price_cases[i].price) < 1e-12);
    }
}

TEST(a_response_without_prices_is_refused)
{
    static const char *const bodies[] = { "", "{}", "null", "[{]", "<html>" };

    for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
        struct spoor_error err = { 0 };
        double price = -1;

        assert_int_equal(find_price(bodies[i], &price, &err), -EBADMSG);
        assert_string_equal(err.message, "the answer of http://x/ cannot be used: expected a "
                                         "list of prices; use --catalog FILE");
        assert_true(price < 0); /* untouched on failure */
    }
}
