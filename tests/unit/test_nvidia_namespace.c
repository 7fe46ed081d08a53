/* SPDX-License-Identifier: Apache-2.0 */
#include "source/gpu/nvidia_namespace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "fake_root.h"

static void number_of_each_level_is_read(void **state)
{
    static const char status[] = "Name:\tx\nNSpid:\t81234\t77\t5\nNSpgid:\t1\n";
    pid_t pid = 0;

    (void)state;
    assert_int_equal(nvidia_namespace_parse(status, 1, &pid), 0);
    assert_int_equal(pid, 81234);
    assert_int_equal(nvidia_namespace_parse(status, 3, &pid), 0);
    assert_int_equal(pid, 5);
    assert_int_equal(nvidia_namespace_parse(status, 4, &pid), -ENOENT);
    assert_int_equal(nvidia_namespace_count(status), 3);
    assert_int_equal(nvidia_namespace_count("NSpid:\t5"), 1);
}

static void refuses_damaged_text(void **state)
{
    static const char *const damaged[] = {
        "",
        "NSpid",
        "NSpid:",
        "NSpid:\t",
        "NSpid:\tx\n",
        "NSpid:\t0\n",
        "NSpid:-1",
        "NSpid:\t-1\n",
        "NSpid:\t99999999999999999999\n",
        "xNSpid:\t1",
        "NSpid:\t2147483648\n",
        "Name:\tNSpid:\t1\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(damaged) / sizeof(damaged[0]); i++) {
        pid_t pid = -7;

        assert_true(nvidia_namespace_parse(damaged[i], 1, &pid) < 0);
        assert_int_equal(pid, -7); /* untouched on failure */
        assert_int_equal(nvidia_namespace_count(damaged[i]), 0);
    }
}

static void endless_list_of_numbers_is_bounded(void **state)
{
    static char text[4096] = "NSpid:";

    (void)state;
    for (size_t i = 6; i + 2 < sizeof(text); i += 2)
        memcpy(text + i, " 1", 2);
    assert_true(nvidia_namespace_count(text) <= 33);
}

static void first_namespace_is_known_by_its_number(void **state)
{
    struct fake_root fake;

    (void)state;
    fake_root_init(&fake);
    assert_true(nvidia_namespace_read(&fake.root).is_nested); /* not known: be careful */
    fake_root_link(&fake, "proc/self/ns/pid", "pid:[4026531836]");
    fake_root_write(&fake, "proc/self/status", "NSpid:\t1\n");
    assert_false(nvidia_namespace_read(&fake.root).is_nested);
    assert_int_equal(nvidia_namespace_read(&fake.root).level, 1);
    fake_root_done(&fake);
}

static void descriptors_tell_the_devices(void **state)
{
    static const char *const others[] = {
        "",
        "/",
        "/dev/nvidi",
        "/dev/nvidiactl",
        "/dev/nvidia-modeset",
        "/dev/nvidia",
        "/dev/nvidia 3",
        "/dev/nvidia3x",
        "/dev/nvidia3 (deleted)",
        "/dev/nvidia256",
        "/dev/nvidia99999999999999999999",
        "/dev/nvidia-caps/nvidia-cap1",
        "/tmp/dev/nvidia3",
    };
    struct nvidia_held held = { 0 };

    (void)state;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        nvidia_held_add(&held, others[i]);
    nvidia_held_add(&held, "/dev/nvidia-uvm-tools");
    assert_false(held.has_memory);
    nvidia_held_add(&held, "/dev/nvidia-uvm");
    assert_true(held.has_memory);
    for (unsigned i = 0; i < NVIDIA_MINORS_MAX; i++)
        assert_false(nvidia_held_has(&held, i));
    nvidia_held_add(&held, "/dev/nvidia0");
    nvidia_held_add(&held, "/dev/nvidia255");
    assert_true(nvidia_held_has(&held, 0));
    assert_true(nvidia_held_has(&held, 255));
    assert_false(nvidia_held_has(&held, 1));
    assert_false(nvidia_held_has(&held, UINT_MAX));
}

static void holders_are_counted_per_device(void **state)
{
    static const unsigned minors[] = { 0, 5, UINT_MAX };
    static const pid_t list[] = { 10, 11, 12, 13 };
    const struct gpu_pids pids = { .list = list, .count = 4 };
    struct nvidia_holder holders[3];
    struct fake_root fake;

    (void)state;
    fake_root_init(&fake);
    for (int pid = 11; pid <= 13; pid++) { /* 10 has ended */
        char path[64];

        (void)snprintf(path, sizeof(path), "proc/%d/fd/3", pid);
        fake_root_link(&fake, path, pid == 13 ? "/dev/nvidia5" : "/dev/nvidia0");
        (void)snprintf(path, sizeof(path), "proc/%d/fd/4", pid);
        fake_root_link(&fake, path, "/dev/nvidia-uvm");
    }
    nvidia_holders_read(&fake.root, &pids, minors, holders, 3);
    assert_int_equal(holders[0].count, 2);
    assert_int_equal(holders[0].pid, 11);
    assert_int_equal(holders[1].count, 1);
    assert_int_equal(holders[1].pid, 13);
    assert_int_equal(holders[2].count, 0);
    fake_root_done(&fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(number_of_each_level_is_read),
        cmocka_unit_test(refuses_damaged_text),
        cmocka_unit_test(endless_list_of_numbers_is_bounded),
        cmocka_unit_test(first_namespace_is_known_by_its_number),
        cmocka_unit_test(descriptors_tell_the_devices),
        cmocka_unit_test(holders_are_counted_per_device),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
