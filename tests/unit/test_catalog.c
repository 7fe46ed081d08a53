/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "services/prices/catalog.h"

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

/* ---- what is read --------------------------------------------------------- */

static void a_csv_file_has_the_columns_of_its_header(void **state)
{
    struct catalog catalog = { 0 };
    const struct server *server;
    struct buffer row = { 0 };

    (void)state;
    parse(
        "\xef\xbb\xbfmin_price_ondemand,vcpus,comment,memory_amount,vendor_id,server_id,"
        "api_reference,gpu_count,gpu_memory_min,gpu_manufacturer,cpu_architecture,region_id\r\n"
        "0.0052,2,\"cheap, small\",1024,aws,id,t3.micro,0,,,x86_64,eu-west-1\r\n"
        "\r\n"
        "30,96,,1e6,aws,p4d,,8,40960,NVIDIA,,\r\n",
        &catalog);
    assert_int_equal(catalog.servers.count, 2);
    server = &catalog.servers.items[0];
    assert_string_equal(server->vendor, "aws");
    assert_string_equal(server->name, "t3.micro");
    assert_string_equal(server->region, "eu-west-1");
    assert_string_equal(server->architecture, "x86_64");
    assert_string_equal(server->gpu_vendor, "");
    assert_true(is_number(server->vcpus, 2));
    assert_true(is_number(server->memory_bytes, 1024 * MIB));
    assert_true(is_number(server->gpus, 0) && isnan(server->vram_bytes));
    assert_true(is_number(server->price, 0.0052));
    server = &catalog.servers.items[1];
    assert_string_equal(server->name, "p4d");
    assert_int_equal(server->row, 1);
    assert_true(is_number(server->gpus, 8) && is_number(server->vram_bytes, 8 * 40960 * MIB));
    catalog_add_row(&catalog, 0, &row);
    assert_int_equal(row.length, 0);
    catalog_done(&catalog);
}

static void json_is_a_list_of_objects(void **state)
{
    struct catalog catalog = { 0 };
    const struct server *server;
    struct buffer row = { 0 };

    (void)state;
    parse(
        " \n[{\"vendor_id\": \"gcp\", \"server_id\": \"123\", \"api_reference\": \"e2-small\","
        "\"vcpus\": 2, \"memory_amount\": 2048, \"gpu_count\": 0.5, \"gpu_memory_total\": 8192,"
        "\"gpu_memory_min\": 4096, \"min_price_ondemand\": 0.0168,"
        "\"description\": \"\\u202e\\u00e9\", \"gpus\": [{}], \"vendor\": {\"name\": 1}},"
        "{\"name\": \"x\", \"vcpus\": null, \"min_price_ondemand\": null}]",
        &catalog);
    assert_int_equal(catalog.servers.count, 2);
    server = &catalog.servers.items[0];
    assert_string_equal(server->vendor, "gcp");
    assert_string_equal(server->name, "e2-small");
    assert_true(is_number(server->gpus, 0.5) && is_number(server->vram_bytes, 8192 * MIB));
    server = &catalog.servers.items[1];
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

static void a_catalogue_may_be_empty_of_servers(void **state)
{
    static const char *const texts[] = { "[]", "name,vcpus,memory_amount\n",
                                         "name,vcpus,memory_amount" };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct catalog catalog = { 0 };

        parse(texts[i], &catalog);
        assert_int_equal(catalog.servers.count, 0);
        catalog_done(&catalog);
    }
}

/* ---- what is refused ------------------------------------------------------ */

#define HEADER "name,vcpus,memory_amount\n"
#define TEN "0123456789"
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN

static void what_is_not_a_catalogue_is_refused_with_its_place(void **state)
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

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct catalog catalog = { .document = &catalog };
        struct spoor_error err = { 0 };

        assert_true(catalog_parse(cases[i].text, strlen(cases[i].text), &catalog, &err) < 0);
        if (strchr(cases[i].message, '(')) /* the column is up to the JSON parser */
            assert_memory_equal(err.message, cases[i].message, strlen(cases[i].message));
        else
            assert_string_equal(err.message, cases[i].message);
        assert_ptr_equal(catalog.document, &catalog); /* untouched */
    }
}

static void damaged_texts_are_survived(void **state)
{
    static const char json[] =
        "[{\"vendor_id\":\"a\",\"name\":\"b\",\"vcpus\":1.5,\"gpus\":[[]]}]";
    static const char csv[] = "name,vcpus,memory_amount\n\"a\"\"b\",1,2\nc,3,4\n";
    static const char *const texts[] = { json, csv };
    static const char bytes[] = "\0\"\n,{[\xff";

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        size_t length = strlen(texts[i]);

        for (size_t at = 0; at < length * sizeof(bytes); at++) {
            struct catalog catalog = { 0 };
            char *text = malloc(length); /* of the right size, for the sanitizer */

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

static void nesting_has_an_end(void **state)
{
    struct buffer text = { 0 };
    struct catalog catalog = { 0 };

    (void)state;
    for (int i = 0; i < 100000; i++)
        buffer_add_text(&text, "[");
    assert_int_equal(catalog_parse(text.text, text.length, &catalog, NULL), -EBADMSG);
    buffer_done(&text);
}

static void there_is_a_limit_to_the_number_of_servers(void **state)
{
    struct spoor_error err = { 0 };
    struct buffer text = { 0 };
    struct catalog catalog = { 0 };

    (void)state;
    buffer_add_text(&text, HEADER);
    for (int i = 0; i <= SERVERS_MAX; i++)
        buffer_add_text(&text, "a,1,1\n");
    assert_int_equal(catalog_parse(text.text, text.length, &catalog, &err), -EFBIG);
    assert_string_equal(err.message, "line 100002: more than 100000 servers");
    buffer_done(&text);
}

static void files_are_named_in_messages(void **state)
{
    char path[] = "/tmp/spoor-catalog-XXXXXX";
    struct catalog catalog = { 0 };
    struct spoor_error err = { 0 };
    int fd = mkstemp(path);

    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_csv_file_has_the_columns_of_its_header),
        cmocka_unit_test(json_is_a_list_of_objects),
        cmocka_unit_test(a_catalogue_may_be_empty_of_servers),
        cmocka_unit_test(what_is_not_a_catalogue_is_refused_with_its_place),
        cmocka_unit_test(damaged_texts_are_survived),
        cmocka_unit_test(nesting_has_an_end),
        cmocka_unit_test(there_is_a_limit_to_the_number_of_servers),
        cmocka_unit_test(files_are_named_in_messages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
