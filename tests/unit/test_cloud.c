/* SPDX-License-Identifier: Apache-2.0 */
/* test_cloud.c - what is known without an answer. Answers: tests/functional/test_cloud.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fake_root.h"
#include "services/cloud/cloud.h"

/* Nothing listens on port 1. */
#define DEAD_END "http://127.0.0.1:1"

static struct fake_root fake;

static int begin(void **state)
{
    (void)state;
    fake_root_init(&fake);
    fake_root_write(&fake, "proc/sys/kernel/random/boot_id", "0f7d7d4e\n");
    setenv(CLOUD_URL_VARIABLE, DEAD_END, 1);
    setenv(CLOUD_TIMEOUT_VARIABLE, "20", 1);
    setenv("XDG_CACHE_HOME", fake.path, 1);
    return 0;
}

static int end(void **state)
{
    (void)state;
    fake_root_done(&fake);
    return 0;
}

static void a_machine_outside_a_cloud_asks_nothing(void **state)
{
    struct cloud_facts facts, none = { 0 };
    struct spoor_error err = { 0 };

    (void)state;
    fake_root_write(&fake, "sys/class/dmi/id/sys_vendor", "QEMU\n");
    memset(&facts, 'x', sizeof(facts));
    assert_int_equal(cloud_find(&fake.root, &facts, &err), -ENODEV);
    assert_memory_equal(&facts, &none, sizeof(facts));
}

static void a_service_that_does_not_answer_leaves_what_the_firmware_says(void **state)
{
    struct spoor_error err = { 0 };
    struct cloud_facts facts;

    (void)state;
    fake_root_write(&fake, "sys/class/dmi/id/sys_vendor", "Amazon EC2\n");
    fake_root_write(&fake, "sys/class/dmi/id/product_name", "m5.large\n");
    assert_int_equal(cloud_find(&fake.root, &facts, &err), -ECONNREFUSED);
    assert_string_equal(facts.vendor, "aws");
    assert_string_equal(facts.instance_type, "m5.large");
    assert_string_equal(facts.region, "");
    assert_non_null(strstr(err.message, "the metadata service of aws: " DEAD_END));
    assert_false(root_exists(&fake.root, "spoor/cloud.json")); /* not cached */
    fake_root_write(&fake, "sys/class/dmi/id/product_name", "HVM domU\n");
    assert_int_equal(cloud_find(&fake.root, &facts, &err), -ECONNREFUSED);
    assert_string_equal(facts.instance_type, "");
}

static void a_guess_is_not_a_vendor(void **state)
{
    struct cloud_facts facts;

    (void)state;
    fake_root_write(&fake, "sys/class/dmi/id/product_name", "OpenStack Nova\n");
    assert_int_equal(cloud_find(&fake.root, &facts, NULL), -ECONNREFUSED);
    assert_string_equal(facts.vendor, "");
}

static void the_user_can_forbid_it_or_be_wrong(void **state)
{
    struct spoor_error err = { 0 };
    struct cloud_facts facts;

    (void)state;
    fake_root_write(&fake, "sys/class/dmi/id/sys_vendor", "Hetzner\n");
    fake_root_write(&fake, "sys/class/dmi/id/product_name", "vServer\n");
    setenv(CLOUD_TIMEOUT_VARIABLE, "0", 1);
    assert_int_equal(cloud_find(&fake.root, &facts, &err), -ECANCELED);
    assert_string_equal(facts.vendor, "hcloud");
    assert_string_equal(err.message,
                        CLOUD_TIMEOUT_VARIABLE " is 0, so the metadata service is not asked");
    setenv(CLOUD_TIMEOUT_VARIABLE, "nan", 1);
    assert_int_equal(cloud_find(&fake.root, &facts, &err), -EINVAL);
    assert_string_equal(err.message, CLOUD_TIMEOUT_VARIABLE ": expected 0 to 60 seconds");
    setenv(CLOUD_TIMEOUT_VARIABLE, "61", 1);
    assert_int_equal(cloud_find(&fake.root, &facts, &err), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_machine_outside_a_cloud_asks_nothing, begin, end),
        cmocka_unit_test_setup_teardown(
            a_service_that_does_not_answer_leaves_what_the_firmware_says, begin, end),
        cmocka_unit_test_setup_teardown(a_guess_is_not_a_vendor, begin, end),
        cmocka_unit_test_setup_teardown(the_user_can_forbid_it_or_be_wrong, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
