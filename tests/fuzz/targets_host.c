/* SPDX-License-Identifier: Apache-2.0 */
/* targets_host.c - files that describe the whole machine. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/amount.h"
#include "base/parse.h"
#include "fuzz.h"
#include "session/session.h"
#include "source/events/fork_ring.h"
#include "source/host/devices.h"
#include "source/host/facts.h"
#include "source/host/host.h"
#include "source/host/meminfo.h"
#include "source/host/mounts.h"

static void run_cpu_stat(char *text, size_t length)
{
    struct cpu_busy list[16];
    struct cpu_stat stat;
    size_t count = cpu_stat_parse_each(text, 100, list, 16);

    CHECK(count <= 16 && count <= length);
    if (cpu_stat_parse(text, 100, &stat) == 0 && is_known(stat.interrupt_ns) &&
        is_known(stat.system_ns))
        CHECK(stat.interrupt_ns <= stat.system_ns);
}

static void run_meminfo(char *text, UNUSED size_t length)
{
    struct meminfo memory;

    if (meminfo_parse(text, &memory) < 0)
        return;
    CHECK(is_known(memory.total_bytes));
    if (is_known(memory.swap_used_bytes))
        CHECK(memory.swap_used_bytes <= memory.swap_total_bytes);
}

/* Each part is a later version of the file. The sums must never decrease. */
static void run_diskstats(char *text, size_t length)
{
    static struct device_table table;
    struct fuzz_part parts[FUZZ_PARTS_MAX];
    struct device_bytes before = { 0, 0 }, after;
    size_t count = fuzz_split(text, length, parts);

    device_table_init(&table);
    for (size_t i = 0; i < count; i++) {
        if (diskstats_parse(parts[i].text, &table, fuzz_empty_root(), &after) < 0)
            continue;
        CHECK(after.in >= before.in);
        CHECK(after.out >= before.out);
        before = after;
    }
    CHECK(table.count <= DEVICE_TABLE_SIZE);
}

static void run_net_dev(char *text, size_t length)
{
    static struct device_table table;
    struct fuzz_part parts[FUZZ_PARTS_MAX];
    struct device_bytes before = { 0, 0 }, after;
    size_t count = fuzz_split(text, length, parts);

    device_table_init(&table);
    for (size_t i = 0; i < count; i++) {
        if (net_dev_parse(parts[i].text, &table, fuzz_empty_root(), &after) < 0)
            continue;
        CHECK(after.in >= before.in);
        CHECK(after.out >= before.out);
        before = after;
    }
    CHECK(table.count <= DEVICE_TABLE_SIZE);
}

static void check_part(const char *line, struct text_part part)
{
    char decoded[256];
    int n;

    if (part.length == 0)
        return;
    CHECK(part.start >= line && part.start + part.length <= line + strlen(line));
    n = text_part_decode(part, decoded, sizeof(decoded));
    CHECK(n < 0 || (size_t)n == strlen(decoded));
    CHECK(n <= (int)part.length);
}

static void run_mountinfo(char *text, UNUSED size_t length)
{
    struct mountinfo mount;
    struct mounts space;

    for (const char *line = text; *line; line = parse_next_line(line)) {
        if (mountinfo_parse_line(line, &mount) < 0)
            continue;
        check_part(line, mount.root);
        check_part(line, mount.point);
        check_part(line, mount.type);
        check_part(line, mount.source);
        check_part(line, mount.super_options);
        (void)mount_is_disk(&mount);
        (void)mount_is_zfs(&mount);
        (void)text_part_has_option(mount.super_options, "memory");
    }
    (void)mounts_are_local(text);
    (void)mounts_may_stall(text);
    CHECK(mounts_read(fuzz_empty_root(), text, &space, NULL) == -ENOTSUP);
}

/* The parts are mountinfo and mountstats, alternating. The sums must never decrease. */
static void run_mountstats(char *text, size_t length)
{
    static struct device_table table;
    struct fuzz_part parts[FUZZ_PARTS_MAX];
    struct device_bytes before = { 0, 0 }, after;
    size_t count = fuzz_split(text, length, parts);

    device_table_init(&table);
    for (size_t i = 0; i + 1 < count; i += 2) {
        if (nfs_parse(parts[i].text, parts[i + 1].text, i, &table, &after) < 0)
            continue;
        CHECK(after.in >= before.in);
        CHECK(after.out >= before.out);
        before = after;
    }
    CHECK(table.count <= DEVICE_TABLE_SIZE);
}

static void run_pressure(char *text, UNUSED size_t length)
{
    uint64_t some_ns;

    (void)pressure_parse(text, &some_ns);
}

static void run_vmstat(char *text, UNUSED size_t length)
{
    uint64_t count;

    (void)vmstat_parse_oom_kills(text, &count);
}

static void run_cpuinfo(char *text, UNUSED size_t length)
{
    char model[24] = "";

    if (cpuinfo_parse_model(text, model, sizeof(model)) == 0)
        CHECK_ENDED(model);
}

static void run_os_release(char *text, UNUSED size_t length)
{
    char name[24] = "";

    if (os_release_parse_name(text, name, sizeof(name)) == 0)
        CHECK_ENDED(name);
}

static void run_passwd(char *text, UNUSED size_t length)
{
    char name[16] = "";

    for (uint64_t uid = 0; uid <= 1000; uid += 1000)
        if (passwd_parse_name(text, uid, name, sizeof(name)) == 0)
            CHECK(memchr(name, '\0', sizeof(name)) != NULL && *name != '\0');
}

static void run_cpu_list(char *text, UNUSED size_t length)
{
    enum { CAPACITY = 512 };
    unsigned cpus[CAPACITY];
    int n = parse_cpu_list(text, cpus, CAPACITY);
    int counted = parse_cpu_list(text, NULL, CPU_NUMBER_END);

    CHECK(n <= CAPACITY);
    CHECK(n == -E2BIG || n == counted);
    CHECK(counted < 0 || (counted > 0 && counted <= CPU_NUMBER_END));
}

static void run_cache_size(char *text, UNUSED size_t length)
{
    uint64_t bytes;

    (void)cache_size_parse(text, &bytes);
}

const struct fuzz_target host_targets[] = {
    { "cpu_stat", run_cpu_stat, 1 },     { "meminfo", run_meminfo, 1 },
    { "diskstats", run_diskstats, 2 },   { "net_dev", run_net_dev, 2 },
    { "mountinfo", run_mountinfo, 2 },   { "mountstats", run_mountstats, 2 },
    { "pressure", run_pressure, 1 },     { "vmstat", run_vmstat, 1 },
    { "cpuinfo", run_cpuinfo, 1 },       { "os_release", run_os_release, 1 },
    { "passwd", run_passwd, 1 },         { "cpu_list", run_cpu_list, 1 },
    { "cache_size", run_cache_size, 1 }, { NULL, NULL, 0 },
};
