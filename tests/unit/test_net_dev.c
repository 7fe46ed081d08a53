/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <errno.h>

#include "base/compiler.h"
#include "fake_root.h"
#include "source/host/net_dev.h"

#define HEADING                                                  \
    "Inter-|   Receive                            |  Transmit\n" \
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes packets\n"

static int parse(const struct root *root, const char *text, struct net_dev *ret)
{
    struct device_table table;

    device_table_init(&table);
    return net_dev_parse(text, &table, root, ret);
}

static void where_there_is_hardware_only_it_counts(void **state)
{
    struct fake_root fake;
    struct net_dev net;

    (void)state;
    fake_root_init(&fake);
    fake_root_write(&fake, "sys/class/net/eth0/device/vendor", "x");
    fake_root_write(&fake, "sys/class/net/docker0/mtu", "1500");
    assert_int_equal(parse(&fake.root,
                           HEADING "    lo:    3267      29 0 0 0 0 0 0 3267 29 0 0 0 0 0 0\n"
                                   "  eth0: 9978350     486 0 0 0 0 0 0 34045 437 0 0 0 0 0 0\n"
                                   "docker0:1000 1 0 0 0 0 0 0 2000 1 0 0 0 0 0 0\n",
                           &net),
                     0);
    assert_int_equal(net.received_bytes, 9978350);
    assert_int_equal(net.sent_bytes, 34045);
    fake_root_done(&fake);
}

static void in_a_container_all_but_loopback_count(void **state)
{
    struct fake_root fake;
    struct net_dev net;

    (void)state;
    fake_root_init(&fake);
    assert_int_equal(parse(&fake.root,
                           HEADING "lo: 9 0 0 0 0 0 0 0 9 0 0 0 0 0 0 0\n"
                                   "eth0: 10 0 0 0 0 0 0 0 1 0 0 0 0 0 0 0\n"
                                   "eth1: 20 0 0 0 0 0 0 0 2 0 0 0 0 0 0 0\n",
                           &net),
                     0);
    assert_int_equal(net.received_bytes, 30);
    assert_int_equal(net.sent_bytes, 3);
    fake_root_done(&fake);
}

/* The bytes of a bridge would seem to have gone through the machine at once. */
static void others_do_not_count_when_the_card_is_removed(void **state)
{
    struct device_table table;
    struct fake_root fake;
    struct net_dev net;

    (void)state;
    fake_root_init(&fake);
    device_table_init(&table);
    fake_root_write(&fake, "sys/class/net/eth0/device/vendor", "x");
    assert_int_equal(net_dev_parse(HEADING "eth0: 10 0 0 0 0 0 0 0 1 0 0 0 0 0 0 0\n"
                                           "br0: 9999 0 0 0 0 0 0 0 9999 0 0 0 0 0 0 0\n",
                                   &table, &fake.root, &net),
                     0);
    assert_int_equal(net.received_bytes, 10);
    assert_int_equal(net_dev_parse(HEADING "br0: 9999 0 0 0 0 0 0 0 9999 0 0 0 0 0 0 0\n",
                                   &table, &fake.root, &net),
                     0);
    assert_int_equal(net.received_bytes, 10);
    fake_root_done(&fake);
}

static void a_card_that_works_for_another_is_not_counted_twice(void **state)
{
    struct fake_root fake;
    struct net_dev net;

    (void)state;
    fake_root_init(&fake);
    fake_root_write(&fake, "sys/class/net/eth0/device/vendor", "x");
    fake_root_write(&fake, "sys/class/net/enP1/device/vendor", "x");
    fake_root_link(&fake, "sys/class/net/enP1/master", "../eth0");
    assert_int_equal(parse(&fake.root,
                           HEADING "eth0: 10 0 0 0 0 0 0 0 1 0 0 0 0 0 0 0\n"
                                   "enP1: 9 0 0 0 0 0 0 0 1 0 0 0 0 0 0 0\n",
                           &net),
                     0);
    assert_int_equal(net.received_bytes, 10);
    fake_root_done(&fake);
}

static void a_name_may_hold_colons_bars_and_dots(void **state)
{
    struct fake_root fake;
    struct net_dev net;

    (void)state;
    fake_root_init(&fake);
    assert_int_equal(parse(&fake.root,
                           HEADING "eth0:1: 10 0 0 0 0 0 0 0 1 0 0 0 0 0 0 0\n"
                                   "a|b:20 0 0 0 0 0 0 0 2 0 0 0 0 0 0 0\n"
                                   "%s%n: 40 0 0 0 0 0 0 0 4 0 0 0 0 0 0 0\n"
                                   "..: 80 0 0 0 0 0 0 0 8 0 0 0 0 0 0 0\n",
                           &net),
                     0);
    assert_int_equal(net.received_bytes, 150);
    assert_int_equal(net.sent_bytes, 15);
    fake_root_done(&fake);
}

static void loopback_alone_is_no_network(void **state)
{
    struct net_dev net = { .sent_bytes = 5 };
    struct fake_root fake;

    (void)state;
    fake_root_init(&fake);
    assert_int_equal(parse(&fake.root, "", &net), -ENOENT);
    assert_int_equal(parse(&fake.root, HEADING, &net), -ENOENT);
    assert_int_equal(parse(&fake.root, HEADING "lo: 9 0 0 0 0 0 0 0 9 0 0 0 0 0 0 0\n", &net),
                     -ENOENT);
    assert_int_equal(net.sent_bytes, 5); /* untouched on failure */
    fake_root_done(&fake);
}

static void refuses_damaged_text(void **state)
{
    static const char *const damaged[] = {
        HEADING "eth0\n",
        HEADING "eth0:\n",
        HEADING ": 1 2 3\n",
        HEADING "eth0: 10 0 0 0 0 0 0 0\n",
        HEADING "eth0: 10 0 0 0 0 0 0 0 1 0 0",
        HEADING "eth0: x 0 0 0 0 0 0 0 1 0\n",
        HEADING "eth0: 10 0 0 0 0 0 0 0 -1 0\n",
        HEADING "eth0: 99999999999999999999 0 0 0 0 0 0 0 1 0\n",
        HEADING "a-name-that-is-longer-than-any-the-kernel-gives: 1 0 0 0 0 0 0 0 1\n",
    };
    struct net_dev net = { .sent_bytes = 5 };
    struct fake_root fake;

    (void)state;
    fake_root_init(&fake);
    for (size_t i = 0; i < ARRAY_SIZE(damaged); i++)
        assert_int_equal(parse(&fake.root, damaged[i], &net), -EBADMSG);
    assert_int_equal(net.sent_bytes, 5); /* untouched on failure */
    fake_root_done(&fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(where_there_is_hardware_only_it_counts),
        cmocka_unit_test(in_a_container_all_but_loopback_count),
        cmocka_unit_test(others_do_not_count_when_the_card_is_removed),
        cmocka_unit_test(a_card_that_works_for_another_is_not_counted_twice),
        cmocka_unit_test(a_name_may_hold_colons_bars_and_dots),
        cmocka_unit_test(loopback_alone_is_no_network),
        cmocka_unit_test(refuses_damaged_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
