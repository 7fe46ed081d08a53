/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "services/prices/server_table.h"

#define NO ((double)NAN)

/* A catalogue in the order of its text. */
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

static void a_table_has_the_columns_that_are_known(void **state)
{
    struct catalog catalog = catalog_of(csv);
    struct server_table table = { .source = "a\nfile",
                                  .catalog = &catalog,
                                  .run_seconds = 120 };

    (void)state;
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

static void a_cost_is_never_shown_as_nothing(void **state)
{
    struct catalog catalog = catalog_of("name,vcpus,memory_amount,min_price_ondemand\n"
                                        "a,1,1024,0.01\nfree,1,1024,0\n");
    struct server_table table = {
        .source = "f", .catalog = &catalog, .count = 9, .run_seconds = 0.5
    };

    (void)state;
    check_text(&table, "\nServers that fit, the cheapest first (f)\n"
                       "  server  vCPUs  memory  per hour   per run\n"
                       "  a           1   1 GiB   $0.0100  <$0.0001\n"
                       "  free        1   1 GiB   $0.0000   $0.0000\n");
    catalog_done(&catalog);
}

static void it_says_when_no_server_fits(void **state)
{
    struct catalog catalog = catalog_of("[]");
    struct server_table table = { .source = "f", .catalog = &catalog, .count = 5 };

    (void)state;
    check_text(&table, "\nNo server fits (f)\n");
    table.catalog = NULL;
    table.reason = "offline";
    check_text(&table, "");
    catalog_done(&catalog);
}

static void the_cost_of_the_run_itself_is_a_row(void **state)
{
    struct server_table table = { .run_seconds = 154,
                                  .run_vendor = "aws",
                                  .run_server = "m5.large",
                                  .run_region = "eu-west-1",
                                  .run_price = 0.107 };

    (void)state;
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

static void json_has_all_that_is_known(void **state)
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

    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_has_the_columns_that_are_known),
        cmocka_unit_test(a_cost_is_never_shown_as_nothing),
        cmocka_unit_test(it_says_when_no_server_fits),
        cmocka_unit_test(the_cost_of_the_run_itself_is_a_row),
        cmocka_unit_test(json_has_all_that_is_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
