/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "source/cgroup/systemd_address.h"

static void the_first_path_of_a_list_is_taken(void **state)
{
    static const struct {
        const char *text;
        const char *path;
    } good[] = {
        { "unix:path=/run/user/1000/bus", "/run/user/1000/bus" },
        { "unix:path=/run/bus,guid=0123456789abcdef", "/run/bus" },
        { "unix:guid=01,path=/run/bus", "/run/bus" },
        { "unix:path=/run/bus;unix:path=/other", "/run/bus" },
        { "tcp:host=127.0.0.1,port=1;unix:path=/run/bus", "/run/bus" },
        { "unix:abstract=/tmp/dbus-x,guid=1;unix:path=/run/bus", "/run/bus" },
        { ";;unix:path=/run/bus", "/run/bus" },
        { "unix:path=/a%20b%2fc%2C%3b", "/a b/c,;" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        struct systemd_address address = { .is_direct = true };

        assert_int_equal(systemd_address_parse(good[i].text, &address), 0);
        assert_string_equal(address.path, good[i].path);
        assert_false(address.is_direct);
    }
}

static void other_texts_are_no_address(void **state)
{
    static const struct {
        const char *text;
        int result;
    } bad[] = {
        { "", -ENOENT },
        { "x", -ENOENT },
        { "unix", -ENOENT },
        { "unix:", -ENOENT },
        { "unix:;", -ENOENT },
        { "unix:abstract=/tmp/dbus-x", -ENOENT },
        { "unixexec:path=/bin/sh", -ENOENT },
        { "path=/run/bus", -ENOENT },
        { "unix:xpath=/run/bus", -ENOENT },
        { "tcp:path=/run/bus", -ENOENT },
        { "unix:path=", -EBADMSG },
        { "unix:path=relative", -EBADMSG },
        { "unix:path=/a%", -EBADMSG },
        { "unix:path=/a%2", -EBADMSG },
        { "unix:path=/a%zz", -EBADMSG },
        { "unix:path=/a%00b", -EBADMSG },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct systemd_address address = { "before", true };

        assert_int_equal(systemd_address_parse(bad[i].text, &address), bad[i].result);
        assert_string_equal(address.path, "before"); /* untouched on failure */
    }
}

static void a_path_must_fit_a_socket_address(void **state)
{
    static const char prefix[] = "unix:path=";
    struct systemd_address address;
    char text[4096];

    (void)state;
    memset(text, '/', sizeof(text));
    memcpy(text, prefix, sizeof(prefix) - 1);
    text[sizeof(text) - 1] = '\0';
    assert_int_equal(systemd_address_parse(text, &address), -ENAMETOOLONG);
    text[sizeof(prefix) - 1 + SYSTEMD_PATH_SIZE] = '\0';
    assert_int_equal(systemd_address_parse(text, &address), -ENAMETOOLONG);
    text[sizeof(prefix) - 1 + SYSTEMD_PATH_SIZE - 1] = '\0';
    assert_int_equal(systemd_address_parse(text, &address), 0);
    assert_int_equal(strlen(address.path), SYSTEMD_PATH_SIZE - 1);
}

static const char *no_environment(const char *name)
{
    (void)name;
    return NULL;
}

static const char *usual_environment(const char *name)
{
    return strcmp(name, "DBUS_SESSION_BUS_ADDRESS") == 0 ? "unix:path=/run/user/1000/bus"
                                                         : NULL;
}

static const char *other_environment(const char *name)
{
    return strcmp(name, "DBUS_SESSION_BUS_ADDRESS") == 0 ? "unix:path=/tmp/bus" : NULL;
}

static void root_speaks_to_the_machines_manager_alone(void **state)
{
    struct systemd_address addresses[SYSTEMD_ADDRESSES_MAX];

    (void)state;
    assert_int_equal(systemd_addresses(0, other_environment, addresses), 2);
    assert_string_equal(addresses[0].path, "/run/systemd/private");
    assert_true(addresses[0].is_direct);
    assert_string_equal(addresses[1].path, "/run/dbus/system_bus_socket");
    assert_false(addresses[1].is_direct);
}

static void a_user_speaks_to_the_users_own_manager(void **state)
{
    struct systemd_address addresses[SYSTEMD_ADDRESSES_MAX];

    (void)state;
    assert_int_equal(systemd_addresses(1000, no_environment, addresses), 2);
    assert_string_equal(addresses[0].path, "/run/user/1000/systemd/private");
    assert_true(addresses[0].is_direct);
    assert_string_equal(addresses[1].path, "/run/user/1000/bus");
    assert_false(addresses[1].is_direct);
    /* The same bus is not asked twice. */
    assert_int_equal(systemd_addresses(1000, usual_environment, addresses), 2);
    assert_string_equal(addresses[1].path, "/run/user/1000/bus");
    assert_int_equal(systemd_addresses(4294967294u, other_environment, addresses), 3);
    assert_string_equal(addresses[1].path, "/tmp/bus");
    assert_false(addresses[1].is_direct);
    assert_string_equal(addresses[2].path, "/run/user/4294967294/bus");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_path_of_a_list_is_taken),
        cmocka_unit_test(other_texts_are_no_address),
        cmocka_unit_test(a_path_must_fit_a_socket_address),
        cmocka_unit_test(root_speaks_to_the_machines_manager_alone),
        cmocka_unit_test(a_user_speaks_to_the_users_own_manager),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
