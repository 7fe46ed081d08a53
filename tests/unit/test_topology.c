/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>

#include "base/compiler.h"
#include "base/unknown.h"
#include "fake_root.h"
#include "source/host/topology.h"

#define CPU "sys/devices/system/cpu"

static void write_cpu(struct fake_root *fake, unsigned cpu, const char *file, const char *text)
{
    char path[128];

    snprintf(path, sizeof(path), CPU "/cpu%u/%s", cpu, file);
    fake_root_write(fake, path, text);
}

static void write_cache(struct fake_root *fake, unsigned cpu, unsigned index, const char *level,
                        const char *type, const char *size, const char *shared)
{
    const char *const files[][2] = {
        { "level", level }, { "type", type }, { "size", size }, { "shared_cpu_list", shared }
    };
    char file[64];

    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        snprintf(file, sizeof(file), "cache/index%u/%s", index, files[i][0]);
        write_cpu(fake, cpu, file, files[i][1]);
    }
}

/* Two sockets with two cores of two threads, CPU 3 offline. */
static void shared_parts_count_once(void **state)
{
    static const unsigned online[] = { 0, 1, 2, 4, 5, 6, 7 };
    static const char *const cores[] = { "0,4", "1,5", "2,6", "", "0,4", "1,5", "2,6", "7" };
    static const char *const sockets[] = { "0-1,4-5", "2,6-7" };
    struct fake_root fake;
    struct topology found;

    (void)state;
    fake_root_init(&fake);
    fake_root_write(&fake, CPU "/online", "0-2,4-7\n");
    fake_root_write(&fake, "sys/devices/system/node/online", "0-1\n");
    for (size_t i = 0; i < ARRAY_SIZE(online); i++) {
        unsigned cpu = online[i];
        const char *socket = sockets[(cpu & 3) >= 2];

        write_cpu(&fake, cpu, "topology/core_cpus_list", cores[cpu]);
        write_cpu(&fake, cpu, "topology/core_siblings_list", socket); /* as old kernels */
        write_cache(&fake, cpu, 0, "3\n", "Unified\n", "32768K\n", socket);
        write_cache(&fake, cpu, 1, "1\n", "Instruction\n", "32K\n", cores[cpu]);
        write_cache(&fake, cpu, 2, "1\n", "Data\n", "48K\n", cores[cpu]);
    }
    topology_read(&fake.root, &found);
    assert_int_equal(found.threads, 7);
    assert_int_equal(found.cores, 4);
    assert_int_equal(found.sockets, 2);
    assert_int_equal(found.numa_nodes, 2);
    assert_int_equal(found.cache_count, 3);
    assert_int_equal(found.caches[0].level, 1);
    assert_int_equal(found.caches[0].type, 'd');
    assert_int_equal(found.caches[0].count, 4);
    assert_int_equal(found.caches[0].bytes, 4 * 48 << 10);
    assert_int_equal(found.caches[1].type, 'i');
    assert_int_equal(found.caches[2].level, 3);
    assert_int_equal(found.caches[2].type, 'u');
    assert_int_equal(found.caches[2].count, 2);
    assert_int_equal(found.caches[2].bytes, 64 << 20);
    fake_root_done(&fake);
}

static void what_the_kernel_does_not_say_is_unknown(void **state)
{
    struct fake_root fake;
    struct topology found;

    (void)state;
    fake_root_init(&fake);
    topology_read(&fake.root, &found);
    assert_true(found.threads == UNKNOWN && found.cores == UNKNOWN && found.sockets == UNKNOWN);
    assert_true(found.numa_nodes == UNKNOWN);
    assert_int_equal(found.cache_count, 0);
    fake_root_write(&fake, CPU "/online", "0-1\n");
    write_cpu(&fake, 0, "topology/core_cpus_list", "0\n");
    write_cpu(&fake, 0, "cache/index0/level", "1\n"); /* and nothing more */
    topology_read(&fake.root, &found);
    assert_int_equal(found.threads, 2);
    assert_true(found.cores == UNKNOWN && found.sockets == UNKNOWN);
    assert_int_equal(found.cache_count, 0);
    fake_root_done(&fake);
}

static void damaged_lists_end_where_they_are_damaged(void **state)
{
    static const struct {
        const char *text;
        uint64_t threads;
    } lists[] = { { "", UNKNOWN },   { "x", UNKNOWN },   { "0,x", 1 },
                  { "0-", UNKNOWN }, { "5-3", UNKNOWN }, { "0-99999999999", 8192 } };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        struct fake_root fake;
        struct topology found;

        fake_root_init(&fake);
        fake_root_write(&fake, CPU "/online", lists[i].text);
        topology_read(&fake.root, &found);
        assert_true(found.threads == lists[i].threads);
        fake_root_done(&fake);
    }
}

static void sizes_have_units(void **state)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {
        { "32K\n", 32 << 10 }, { "8M", 8 << 20 }, { "1G\n", 1 << 30 }, { "512\n", 512 }
    };
    static const char *const bad[] = { "", "K", "32X", "32KB", "-1K" };
    uint64_t bytes = 7;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_int_equal(cache_size_parse(bad[i], &bytes), -EBADMSG);
    assert_int_equal(bytes, 7);
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        assert_int_equal(cache_size_parse(good[i].text, &bytes), 0);
        assert_int_equal(bytes, good[i].bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shared_parts_count_once),
        cmocka_unit_test(what_the_kernel_does_not_say_is_unknown),
        cmocka_unit_test(damaged_lists_end_where_they_are_damaged),
        cmocka_unit_test(sizes_have_units),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
