/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "services/prices/catalog.h"
#include "unit_test.h"

/* ---- servers ------------------------------------------------------------ */

#define GIB 1073741824.0
#define NO ((double)NAN)

static const struct server offered[] = {
    { "aws", "small", "", "x86_64", "", 1, 1 * GIB, 0, NO, 0.01, 0 },
    { "aws", "unpriced", "", "x86_64", "", 4, 16 * GIB, 0, NO, NO, 1 },
    { "gcp", "large", "", "x86_64", "", 8, 64 * GIB, 0, NO, 0.40, 2 },
    { "hcloud", "arm", "", "arm64", "", 4, 8 * GIB, 0, NO, 0.02, 3 },
    { "aws", "medium", "", "x86_64", "", 4, 8 * GIB, 0, NO, 0.05, 4 },
    { "aws", "nvidia", "", "x86_64", "NVIDIA", 4, 16 * GIB, 1, 16 * GIB, 0.50, 5 },
    { "aws", "radeon", "", "x86_64", "AMD", 4, 16 * GIB, 1, 8 * GIB, 0.30, 6 },
    { "gcp", "8-nvidia", "", "x86_64", "NVIDIA", 64, 512 * GIB, 8, 640 * GIB, 30, 7 },
    { "", "secret", "", "", "", NO, NO, NO, NO, 0.001, 8 },
};

static struct needs need(double cpus, double memory_bytes, double gpus, double vram_bytes)
{
    return (struct needs){ .cpus.value = cpus,
                           .memory_bytes.value = memory_bytes,
                           .gpus.value = gpus,
                           .vram_bytes.value = vram_bytes,
                           .seconds.value = NO };
}

/* Compares the names of the fitting servers, in order; each name is followed by a space. */
static void check(const struct server_filter *filter, const char *expected)
{
    struct catalog servers = { 0 };
    char found[256] = "";

    for (size_t i = 0; i < ARRAY_SIZE(offered); i++)
        assert_int_equal(catalog_add(&servers, &offered[i]), 0);
    catalog_choose(&servers, filter);
    for (size_t i = 0; i < servers.count; i++) {
        size_t length = strlen(found);

        snprintf(found + length, sizeof(found) - length, "%s ", servers.items[i].name);
    }
    assert_string_equal(found, expected);
    catalog_done(&servers);
    assert_int_equal(servers.count, 0);
}

TEST(the_cheapest_fitting_server_is_first)
{
    struct needs needs = need(2, 4 * GIB, 0, 0);

    check(&(struct server_filter){ &needs, NULL, NULL },
          "arm medium radeon large nvidia 8-nvidia unpriced ");
    needs = need(4, 8 * GIB, 0, 0); /* exactly the size of two servers */
    check(&(struct server_filter){ &needs, NULL, NULL },
          "arm medium radeon large nvidia 8-nvidia unpriced ");
    needs = need(4, 8 * GIB + 1, 0, 0);
    check(&(struct server_filter){ &needs, NULL, NULL },
          "radeon large nvidia 8-nvidia unpriced ");
    needs = need(65, 1, 0, 0);
    check(&(struct server_filter){ &needs, NULL, NULL }, "");
}

TEST(gpus_must_be_of_the_right_vendor)
{
    struct needs needs = need(1, 1 * GIB, 1, 4 * GIB);

    check(&(struct server_filter){ &needs, NULL, NULL }, "radeon nvidia 8-nvidia ");
    memcpy(needs.gpu_vendor, "nvidia", sizeof("nvidia"));
    check(&(struct server_filter){ &needs, NULL, NULL }, "nvidia 8-nvidia ");
    needs.vram_bytes.value = 17 * GIB;
    check(&(struct server_filter){ &needs, NULL, NULL }, "8-nvidia ");
    needs.vram_bytes.value = NO;
    needs.gpus.value = 2;
    check(&(struct server_filter){ &needs, NULL, NULL }, "8-nvidia ");
}

TEST(vendors_and_architectures_can_be_chosen)
{
    static const char *const vendors[] = { "AWS", "hcloud", NULL };
    static const char *const others[] = { "ovh", NULL };
    struct needs needs = need(2, 4 * GIB, 0, 0);

    check(&(struct server_filter){ &needs, vendors, NULL },
          "arm medium radeon nvidia unpriced ");
    check(&(struct server_filter){ &needs, vendors, "x86_64" },
          "medium radeon nvidia unpriced ");
    check(&(struct server_filter){ &needs, others, NULL }, "");
}

TEST(an_unknown_need_excludes_no_server)
{
    struct needs needs = need(8, NO, NO, NO);

    check(&(struct server_filter){ &needs, NULL, NULL }, "large 8-nvidia ");
    needs = need(NO, 100 * GIB, NO, NO);
    check(&(struct server_filter){ &needs, NULL, NULL }, "8-nvidia ");
}

TEST(servers_with_equal_prices_are_sorted_by_size_and_name)
{
    struct needs needs = need(1, 1, 0, 0);
    static const struct server equal[] = {
        { "b", "x", "", "", "", 4, 2, 0, NO, 1, 0 },
        { "a", "y", "", "", "", 4, 2, 0, NO, 1, 1 },
        { "a", "x", "", "", "", 4, 2, 0, NO, 1, 2 },
        { "a", "x", "", "", "", 4, 1, 0, NO, 1, 3 },
        { "z", "z", "", "", "", 2, 9, 0, NO, 1, 4 },
        { "a", "x", "", "", "", 4, 2, 0, NO, 1, 5 },
    };
    static const size_t order[] = { 4, 3, 2, 5, 1, 0 };
    struct catalog servers = { 0 };

    for (size_t i = 0; i < ARRAY_SIZE(equal); i++)
        assert_int_equal(catalog_add(&servers, &equal[i]), 0);
    catalog_choose(&servers, &(struct server_filter){ &needs, NULL, NULL });
    assert_int_equal(servers.count, ARRAY_SIZE(order));
    for (size_t i = 0; i < servers.count; i++)
        assert_int_equal(servers.items[i].row, order[i]);
    catalog_done(&servers);
}

TEST(a_server_is_found_in_its_region_or_otherwise_in_any_region)
{
    static const struct server listed[] = {
        { "aws", "m5.large", "us-east-1", "", "", 2, 8, 0, NO, 0.096, 0 },
        { "aws", "m5.large", "eu-west-1", "", "", 2, 8, 0, NO, 0.107, 1 },
        { "gcp", "m5.large", "eu-west-1", "", "", 2, 8, 0, NO, 9, 2 },
    };
    struct catalog servers = { 0 };

    for (size_t i = 0; i < ARRAY_SIZE(listed); i++)
        assert_int_equal(catalog_add(&servers, &listed[i]), 0);
    assert_int_equal(catalog_find(&servers, "aws", "m5.large", "eu-west-1")->row, 1);
    assert_int_equal(catalog_find(&servers, "aws", "m5.large", "ap-south-1")->row, 0);
    assert_int_equal(catalog_find(&servers, "aws", "m5.large", "")->row, 0);
    assert_int_equal(catalog_find(&servers, "gcp", "m5.large", "us-east-1")->row, 2);
    assert_null(catalog_find(&servers, "aws", "m5.xlarge", "eu-west-1"));
    assert_null(catalog_find(&servers, "", "m5.large", "eu-west-1"));
    catalog_done(&servers);
}

TEST(the_cost_of_a_run_is_its_time_multiplied_by_the_price)
{
    assert_true(fabs(server_cost(0.36, 100) - 0.01) < 1e-12);
    assert_true(isnan(server_cost(NO, 100)));
    assert_true(isnan(server_cost(1, NO)));
}

TEST(the_number_of_offers_is_limited)
{
    struct catalog servers = { 0 };

    for (size_t i = 0; i < SERVERS_MAX; i++)
        assert_int_equal(catalog_add(&servers, &offered[0]), 0);
    assert_int_equal(catalog_add(&servers, &offered[0]), -E2BIG);
    assert_int_equal(servers.count, SERVERS_MAX);
    catalog_done(&servers);
}

/* ---- catalog ------------------------------------------------------------ */

#define MIB 1048576.0

static void parse(const char *text, struct catalog *ret)
{
    struct spoor_error err = { 0 };

    if (catalog_parse(text, strlen(text), ret, &err) < 0)
        fail_msg("%s", err.message);
}

static bool is_number(double value, double expected)
{
    return fabs(value - expected) <= 1e-12 * expected;
}

/* ---- valid files ---------------------------------------------------------- */

TEST(a_csv_file_has_the_columns_of_its_header)
{
    struct catalog catalog = { 0 };
    const struct server *server;
    struct buffer row = { 0 };

    parse(
        "\xef\xbb\xbfmin_price_ondemand,vcpus,comment,memory_amount,vendor_id,server_id,"
        "api_reference,gpu_count,gpu_memory_min,gpu_manufacturer,cpu_architecture,region_id\r\n"
        "0.0052,2,\"cheap, small\",1024,aws,id,t3.micro,0,,,x86_64,eu-west-1\r\n"
        "\r\n"
        "30,96,,1e6,aws,p4d,,8,40960,NVIDIA,,\r\n",
        &catalog);
    assert_int_equal(catalog.count, 2);
    server = &catalog.items[0];
    assert_string_equal(server->vendor, "aws");
    assert_string_equal(server->name, "t3.micro");
    assert_string_equal(server->region, "eu-west-1");
    assert_string_equal(server->architecture, "x86_64");
    assert_string_equal(server->gpu_vendor, "");
    assert_true(is_number(server->vcpus, 2));
    assert_true(is_number(server->memory_bytes, 1024 * MIB));
    assert_true(is_number(server->gpus, 0) && isnan(server->vram_bytes));
    assert_true(is_number(server->price, 0.0052));
    server = &catalog.items[1];
    assert_string_equal(server->name, "p4d");
    assert_int_equal(server->row, 1);
    assert_true(is_number(server->gpus, 8) && is_number(server->vram_bytes, 8 * 40960 * MIB));
    catalog_add_row(&catalog, 0, &row);
    assert_int_equal(row.length, 0);
    catalog_done(&catalog);
}

TEST(a_json_catalogue_is_a_list_of_objects)
{
    struct catalog catalog = { 0 };
    const struct server *server;
    struct buffer row = { 0 };

    parse(
        " \n[{\"vendor_id\": \"gcp\", \"server_id\": \"123\", \"api_reference\": \"e2-small\","
        "\"vcpus\": 2, \"memory_amount\": 2048, \"gpu_count\": 0.5, \"gpu_memory_total\": 8192,"
        "\"gpu_memory_min\": 4096, \"min_price_ondemand\": 0.0168,"
        "\"description\": \"\\u202e\\u00e9\", \"gpus\": [{}], \"vendor\": {\"name\": 1}},"
        "{\"name\": \"x\", \"vcpus\": null, \"min_price_ondemand\": null}]",
        &catalog);
    assert_int_equal(catalog.count, 2);
    server = &catalog.items[0];
    assert_string_equal(server->vendor, "gcp");
    assert_string_equal(server->name, "e2-small");
    assert_true(is_number(server->gpus, 0.5) && is_number(server->vram_bytes, 8192 * MIB));
    server = &catalog.items[1];
    assert_string_equal(server->vendor, "");
    assert_true(isnan(server->vcpus) && isnan(server->price) && isnan(server->memory_bytes));
    catalog_add_row(&catalog, 1, &row);
    assert_string_equal(row.text,
                        "{\"name\":\"x\",\"vcpus\":null,\"min_price_ondemand\":null}");
    buffer_clear(&row);
    catalog_add_row(&catalog, 0, &row);
    assert_non_null(strstr(row.text, "\"description\":\"\\u202E\\u00E9\""));
    buffer_done(&row);
    catalog_done(&catalog);
}

TEST(a_catalogue_may_have_no_servers)
{
    static const char *const texts[] = { "[]", "name,vcpus,memory_amount\n",
                                         "name,vcpus,memory_amount" };

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct catalog catalog = { 0 };

        parse(texts[i], &catalog);
        assert_int_equal(catalog.count, 0);
        catalog_done(&catalog);
    }
}

/* ---- invalid files -------------------------------------------------------- */

#define HEADER "name,vcpus,memory_amount\n"
#define TEN "0123456789"
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN

TEST(invalid_catalogues_are_refused_with_a_position)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        { "", "it is empty" },
        { "\xef\xbb\xbf", "it is empty" },
        { "\n\n", "no column 'vcpus': expected a CSV file with a header, or JSON" },
        { "<html>no</html>", "no column 'vcpus': expected a CSV file with a header, or JSON" },
        { "name,vcpus\na,1\n",
          "no column 'memory_amount': expected a CSV file with a header, or JSON" },
        { HEADER "a,two,1\n", "line 2: vcpus: 'two' is not a number" },
        { HEADER "a,nan,1\n", "line 2: vcpus: 'nan' is not a number" },
        { HEADER "a,-1,1\n", "line 2: vcpus: expected a number from 0 to 1e+12" },
        { HEADER "a,1,1e13\n", "line 2: memory_amount: expected a number from 0 to 1e+12" },
        { HEADER "a,1,1\na,1\n", "line 3: 2 cells, but the header has 3" },
        { HEADER ",1,1\n", "line 2: no name: expected api_reference, server_id or name" },
        { HEADER "\"a,1,1\n", "line 3: not a CSV file: a NUL byte or an unclosed quote" },
        { HEADER HUNDRED ",1,1\n", "line 2: name: expected at most 95 characters" },
        { "{}", "expected a list of servers" },
        { "[", "not valid JSON (line 1, column " },
        { "[{\"name\": \"a\"}] x", "not valid JSON (line 1, column " },
        { "[1]", "server 1: expected an object" },
        { "[{\"name\": \"a\"}, {\"name\": 1}]", "server 2: name: expected a string" },
        { "[{\"name\": \"a\", \"vcpus\": \"1\"}]", "server 1: vcpus: expected a number" },
        { "[{\"name\": \"a\", \"vcpus\": -1}]",
          "server 1: vcpus: expected a number from 0 to 1e+12" },
        { "[{\"name\": \"\"}]",
          "server 1: no name: expected api_reference, server_id or name" },
        { "[{\"name\": \"a\\u0000b\"}]", "not valid JSON (line 1, column " },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct catalog catalog = { .document = &catalog };
        struct spoor_error err = { 0 };

        assert_true(catalog_parse(cases[i].text, strlen(cases[i].text), &catalog, &err) < 0);
        if (strchr(cases[i].message, '(')) /* the JSON parser determines the column */
            assert_memory_equal(err.message, cases[i].message, strlen(cases[i].message));
        else
            assert_string_equal(err.message, cases[i].message);
        assert_ptr_equal(catalog.document, &catalog); /* unchanged on failure */
    }
}

TEST(damaged_texts_are_harmless)
{
    static const char json[] =
        "[{\"vendor_id\":\"a\",\"name\":\"b\",\"vcpus\":1.5,\"gpus\":[[]]}]";
    static const char csv[] = "name,vcpus,memory_amount\n\"a\"\"b\",1,2\nc,3,4\n";
    static const char *const texts[] = { json, csv };
    static const char bytes[] = "\0\"\n,{[\xff";

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        size_t length = strlen(texts[i]);

        for (size_t at = 0; at < length * sizeof(bytes); at++) {
            struct catalog catalog = { 0 };
            char *text = malloc(length); /* exact size: the sanitizer detects overreads */

            assert_non_null(text);
            memcpy(text, texts[i], length);
            text[at / sizeof(bytes)] = bytes[at % sizeof(bytes)];
            if (catalog_parse(text, length, &catalog, NULL) == 0)
                catalog_done(&catalog);
            if (catalog_parse(text, at / sizeof(bytes), &catalog, NULL) == 0)
                catalog_done(&catalog);
            free(text);
        }
    }
}

TEST(nesting_depth_is_limited)
{
    struct buffer text = { 0 };
    struct catalog catalog = { 0 };

    for (int i = 0; i < 100000; i++)
        buffer_add_text(&text, "[");
    assert_int_equal(catalog_parse(text.text, text.length, &catalog, NULL), -EBADMSG);
    buffer_done(&text);
}

TEST(the_number_of_servers_is_limited)
{
    struct spoor_error err = { 0 };
    struct buffer text = { 0 };
    struct catalog catalog = { 0 };

    buffer_add_text(&text, HEADER);
    for (int i = 0; i <= SERVERS_MAX; i++)
        buffer_add_text(&text, "a,1,1\n");
    assert_int_equal(catalog_parse(text.text, text.length, &catalog, &err), -EFBIG);
    assert_string_equal(err.message, "line 100002: more than 100000 servers");
    buffer_done(&text);
}

TEST(error_messages_name_the_catalogue_file)
{
    char path[] = "/tmp/spoor-catalog-XXXXXX";
    struct catalog catalog = { 0 };
    struct spoor_error err = { 0 };
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, "[1]", 3), 3);
    close(fd);
    assert_int_equal(catalog_load(path, &catalog, &err), -EBADMSG);
    assert_non_null(strstr(err.message, path));
    assert_non_null(strstr(err.message, "': server 1: expected an object"));
    unlink(path);
    assert_int_equal(catalog_load(path, &catalog, &err), -ENOENT);
    assert_non_null(strstr(err.message, "cannot read '"));
    assert_int_equal(catalog_load("/", &catalog, &err), -EISDIR);
}

/* ---- server table ------------------------------------------------------- */

/* Parses a catalog; the servers stay in the order of the text. */
static struct catalog catalog_of(const char *text)
{
    struct catalog catalog = { 0 };
    struct spoor_error err = { 0 };

    if (catalog_parse(text, strlen(text), &catalog, &err) < 0)
        fail_msg("%s", err.message);
    return catalog;
}

static void check_text(const struct server_table *table, const char *expected)
{
    const struct format_style style = { .columns = 80 };
    struct buffer out = { 0 };

    server_table_write_text(table, &style, &out);
    assert_int_equal(buffer_error(&out), 0);
    assert_string_equal(out.text ? out.text : "", expected);
    buffer_done(&out);
}

static const char csv[] =
    "vendor_id,name,vcpus,memory_amount,min_price_ondemand,cpu_architecture,gpu_count,"
    "gpu_memory_total,region_id\n"
    "hcloud,cx22,2,4096,0.006,x86_64,0,,\n"
    "aws,g4dn.xlarge,4,16384,0.526,x86_64,1,16384,us-east-1\n"
    "\x1b[31m,a-name-that-is-longer-than-all-others-are,0.25,614.4,,,,,\n";

TEST(columns_without_any_known_value_are_left_out)
{
    struct catalog catalog = catalog_of(csv);
    struct server_table table = { .source = "a\nfile",
                                  .catalog = &catalog,
                                  .run_seconds = 120 };

    table.count = 1;
    check_text(&table, "\nServers that fit, the cheapest first (a\\nfile)\n"
                       "  vendor  server  arch    vCPUs  memory  per hour  per run\n"
                       "  hcloud  cx22    x86_64      2   4 GiB   $0.0060  $0.0002\n");
    table.count = 5;
    check_text(&table, "\nServers that fit, the cheapest first (a\\nfile)\n"
                       /* clang-format off */
"  vendor    server                            region     arch    vCPUs   memory  GPUs    VRAM  per hour  per run\n"
"  hcloud    cx22                                         x86_64      2    4 GiB                 $0.0060  $0.0002\n"
"  aws       g4dn.xlarge                       us-east-1  x86_64      4   16 GiB     1  16 GiB   $0.5260  $0.0175\n"
"  \\x1b[31m  a-name-that-is-longer-than-al...                      0.25  0.6 GiB                     n/a      n/a\n");
    /* clang-format on */
    catalog_done(&catalog);
}

TEST(a_small_cost_is_not_shown_as_0)
{
    struct catalog catalog = catalog_of("name,vcpus,memory_amount,min_price_ondemand\n"
                                        "a,1,1024,0.01\nfree,1,1024,0\n");
    struct server_table table = {
        .source = "f", .catalog = &catalog, .count = 9, .run_seconds = 0.5
    };

    check_text(&table, "\nServers that fit, the cheapest first (f)\n"
                       "  server  vCPUs  memory  per hour   per run\n"
                       "  a           1   1 GiB   $0.0100  <$0.0001\n"
                       "  free        1   1 GiB   $0.0000   $0.0000\n");
    catalog_done(&catalog);
}

TEST(the_output_states_that_no_server_fits)
{
    struct catalog catalog = catalog_of("[]");
    struct server_table table = { .source = "f", .catalog = &catalog, .count = 5 };

    check_text(&table, "\nNo server fits (f)\n");
    table.catalog = NULL;
    table.reason = "offline";
    check_text(&table, "");
    catalog_done(&catalog);
}

TEST(the_cost_of_the_run_is_shown_as_a_row)
{
    struct server_table table = { .run_seconds = 154,
                                  .run_vendor = "aws",
                                  .run_server = "m5.large",
                                  .run_region = "eu-west-1",
                                  .run_price = 0.107 };

    check_text(&table, "This run         $0.0046  2 min 34 s on aws m5.large in eu-west-1 at "
                       "$0.1070 per\n"
                       "                          hour\n");
    table.has_many_runs = true;
    table.run_region = "";
    table.run_price = NO;
    table.run_reason = "'f' has no price for it";
    check_text(&table, "Longest run          n/a  2 min 34 s on aws m5.large; 'f' has no price "
                       "for it\n");
}

TEST(json_contains_every_known_value)
{
    struct catalog catalog =
        catalog_of("[{\"vendor_id\": \"hcloud\", \"name\": \"cx22\", \"vcpus\": 2, "
                   "\"memory_amount\": 4096,"
                   "\"min_price_ondemand\": 0.006, \"extra\": [1]}, {\"name\": \"b\"}]");
    struct server_table table = {
        .source = "f", .catalog = &catalog, .count = 1, .run_seconds = 3600, .run_price = NO
    };
    struct buffer out = { 0 };
    struct json_writer json = { .out = &out, .style = &json_compact };

    json_begin(&json, NULL, '{');
    server_table_add_json(&table, &json);
    table.catalog = NULL;
    table.reason = "\"offline\"";
    server_table_add_json(&table, &json);
    json_end(&json);
    assert_string_equal(
        out.text,
        "{\"servers\":{\"source\":\"f\",\"reason\":null,\"run\":{\"elapsed_seconds\":3600,"
        "\"vendor\":null,\"name\":null,\"region\":null,\"price_usd_per_hour\":null,"
        "\"cost_usd\":null,\"reason\":null},\"fitting\":[{\"vendor\":\"hcloud\",\"name\":"
        "\"cx22\",\"region\":null,\"architecture\":null,\"vcpus\":2,\"memory_bytes\":"
        "4294967296,"
        "\"gpus\":null,\"gpu_vendor\":null,\"vram_bytes\":null,\"price_usd_per_hour\":0.006,"
        "\"run_cost_usd\":0.006,\"details\":{\"vendor_id\":\"hcloud\",\"name\":\"cx22\","
        "\"vcpus\":2,\"memory_amount\":4096,\"min_price_ondemand\":0.006,"
        "\"extra\":[1]}}]},\"servers\":{\"source\":\"f\",\"reason\":\"\\\"offline\\\"\","
        "\"run\":"
        "{\"elapsed_seconds\":3600,\"vendor\":null,\"name\":null,\"region\":null,"
        "\"price_usd_per_hour\":null,\"cost_usd\":null,\"reason\":null},\"fitting\":null}}");
    buffer_done(&out);
    catalog_done(&catalog);
}
