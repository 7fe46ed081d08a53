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

#include "base/compiler.h"
#include "services/prices/server.h"

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

/* Names of those that fit, in their order, each with a blank behind. */
static void check(const struct server_filter *filter, const char *expected)
{
    struct servers servers = { 0 };
    char found[256] = "";

    for (size_t i = 0; i < ARRAY_SIZE(offered); i++)
        assert_int_equal(servers_add(&servers, &offered[i]), 0);
    servers_choose(&servers, filter);
    for (size_t i = 0; i < servers.count; i++) {
        size_t length = strlen(found);

        snprintf(found + length, sizeof(found) - length, "%s ", servers.items[i].name);
    }
    assert_string_equal(found, expected);
    servers_done(&servers);
    assert_int_equal(servers.count, 0);
}

static void the_cheapest_that_fits_is_first(void **state)
{
    struct needs needs = need(2, 4 * GIB, 0, 0);

    (void)state;
    check(&(struct server_filter){ &needs, NULL, NULL },
          "arm medium radeon large nvidia 8-nvidia unpriced ");
    needs = need(4, 8 * GIB, 0, 0); /* exactly what two of them have */
    check(&(struct server_filter){ &needs, NULL, NULL },
          "arm medium radeon large nvidia 8-nvidia unpriced ");
    needs = need(4, 8 * GIB + 1, 0, 0);
    check(&(struct server_filter){ &needs, NULL, NULL },
          "radeon large nvidia 8-nvidia unpriced ");
    needs = need(65, 1, 0, 0);
    check(&(struct server_filter){ &needs, NULL, NULL }, "");
}

static void gpus_are_those_of_the_right_vendor(void **state)
{
    struct needs needs = need(1, 1 * GIB, 1, 4 * GIB);

    (void)state;
    check(&(struct server_filter){ &needs, NULL, NULL }, "radeon nvidia 8-nvidia ");
    memcpy(needs.gpu_vendor, "nvidia", sizeof("nvidia"));
    check(&(struct server_filter){ &needs, NULL, NULL }, "nvidia 8-nvidia ");
    needs.vram_bytes.value = 17 * GIB;
    check(&(struct server_filter){ &needs, NULL, NULL }, "8-nvidia ");
    needs.vram_bytes.value = NO;
    needs.gpus.value = 2;
    check(&(struct server_filter){ &needs, NULL, NULL }, "8-nvidia ");
}

static void vendors_and_architectures_can_be_chosen(void **state)
{
    static const char *const vendors[] = { "AWS", "hcloud", NULL };
    static const char *const others[] = { "ovh", NULL };
    struct needs needs = need(2, 4 * GIB, 0, 0);

    (void)state;
    check(&(struct server_filter){ &needs, vendors, NULL },
          "arm medium radeon nvidia unpriced ");
    check(&(struct server_filter){ &needs, vendors, "x86_64" },
          "medium radeon nvidia unpriced ");
    check(&(struct server_filter){ &needs, others, NULL }, "");
}

static void an_unknown_need_rules_nothing_out(void **state)
{
    struct needs needs = need(8, NO, NO, NO);

    (void)state;
    check(&(struct server_filter){ &needs, NULL, NULL }, "large 8-nvidia ");
    needs = need(NO, 100 * GIB, NO, NO);
    check(&(struct server_filter){ &needs, NULL, NULL }, "8-nvidia ");
}

static void servers_of_one_price_are_ordered_by_size_and_name(void **state)
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
    struct servers servers = { 0 };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(equal); i++)
        assert_int_equal(servers_add(&servers, &equal[i]), 0);
    servers_choose(&servers, &(struct server_filter){ &needs, NULL, NULL });
    assert_int_equal(servers.count, ARRAY_SIZE(order));
    for (size_t i = 0; i < servers.count; i++)
        assert_int_equal(servers.items[i].row, order[i]);
    servers_done(&servers);
}

static void a_server_is_found_in_its_region_or_else_anywhere(void **state)
{
    static const struct server listed[] = {
        { "aws", "m5.large", "us-east-1", "", "", 2, 8, 0, NO, 0.096, 0 },
        { "aws", "m5.large", "eu-west-1", "", "", 2, 8, 0, NO, 0.107, 1 },
        { "gcp", "m5.large", "eu-west-1", "", "", 2, 8, 0, NO, 9, 2 },
    };
    struct servers servers = { 0 };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(listed); i++)
        assert_int_equal(servers_add(&servers, &listed[i]), 0);
    assert_int_equal(servers_find(&servers, "aws", "m5.large", "eu-west-1")->row, 1);
    assert_int_equal(servers_find(&servers, "aws", "m5.large", "ap-south-1")->row, 0);
    assert_int_equal(servers_find(&servers, "aws", "m5.large", "")->row, 0);
    assert_int_equal(servers_find(&servers, "gcp", "m5.large", "us-east-1")->row, 2);
    assert_null(servers_find(&servers, "aws", "m5.xlarge", "eu-west-1"));
    assert_null(servers_find(&servers, "", "m5.large", "eu-west-1"));
    servers_done(&servers);
}

static void a_run_costs_its_time_at_the_price(void **state)
{
    (void)state;
    assert_true(fabs(server_cost(0.36, 100) - 0.01) < 1e-12);
    assert_true(isnan(server_cost(NO, 100)));
    assert_true(isnan(server_cost(1, NO)));
}

static void there_is_a_limit_to_their_number(void **state)
{
    struct servers servers = { 0 };

    (void)state;
    for (size_t i = 0; i < SERVERS_MAX; i++)
        assert_int_equal(servers_add(&servers, &offered[0]), 0);
    assert_int_equal(servers_add(&servers, &offered[0]), -E2BIG);
    assert_int_equal(servers.count, SERVERS_MAX);
    servers_done(&servers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cheapest_that_fits_is_first),
        cmocka_unit_test(gpus_are_those_of_the_right_vendor),
        cmocka_unit_test(vendors_and_architectures_can_be_chosen),
        cmocka_unit_test(an_unknown_need_rules_nothing_out),
        cmocka_unit_test(servers_of_one_price_are_ordered_by_size_and_name),
        cmocka_unit_test(a_server_is_found_in_its_region_or_else_anywhere),
        cmocka_unit_test(a_run_costs_its_time_at_the_price),
        cmocka_unit_test(there_is_a_limit_to_their_number),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
