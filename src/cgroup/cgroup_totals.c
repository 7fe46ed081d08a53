/* SPDX-License-Identifier: Apache-2.0 */
#include "cgroup/cgroup_totals.h"

#include <errno.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/clock.h"
#include "base/parse.h"
#include "base/unknown.h"

static uint64_t key_or_unknown(const char *text, const char *key)
{
    uint64_t value;

    return parse_key_u64(text, key, &value) < 0 ? UNKNOWN : value;
}

int cgroup_parse_cpu_stat(const char *text, struct cgroup_cpu *ret)
{
    struct cgroup_cpu cpu = {
        .total_ns = product_u64(key_or_unknown(text, "usage_usec"), NS_PER_US),
        .user_ns = product_u64(key_or_unknown(text, "user_usec"), NS_PER_US),
        .system_ns = product_u64(key_or_unknown(text, "system_usec"), NS_PER_US),
    };

    if (!is_known(cpu.total_ns))
        return -EBADMSG;
    *ret = cpu;
    return 0;
}

/* As the kernel does for cpu.stat of version 2. */
void cgroup_split_cpu(struct cgroup_cpu *cpu, uint64_t user_before_ns,
                      uint64_t system_before_ns)
{
    uint64_t ticks_ns = sum_u64(cpu->user_ns, cpu->system_ns);

    if (!is_known(cpu->total_ns) || !is_known(ticks_ns))
        return;
    cpu->system_ns =
        ticks_ns > 0
            ? (uint64_t)((double)cpu->total_ns * (double)cpu->system_ns / (double)ticks_ns)
            : 0;
    if (is_known(system_before_ns))
        cpu->system_ns = larger(cpu->system_ns, system_before_ns);
    cpu->system_ns = smaller(cpu->system_ns, cpu->total_ns);
    cpu->user_ns = cpu->total_ns - cpu->system_ns;
    if (!is_known(user_before_ns) || cpu->user_ns >= user_before_ns)
        return;
    cpu->user_ns = smaller(user_before_ns, cpu->total_ns);
    cpu->system_ns = cpu->total_ns - cpu->user_ns;
}

/* Shared memory is counted as page cache by both versions, but no file backs it. */
int cgroup_parse_memory_stat(const char *text, struct cgroup_memory *ret)
{
    uint64_t anon = key_or_unknown(text, "anon");
    uint64_t file = key_or_unknown(text, "file");
    uint64_t shmem = key_or_unknown(text, "shmem");
    uint64_t dirty =
        sum_u64(key_or_unknown(text, "file_dirty"), key_or_unknown(text, "file_writeback"));

    if (!is_known(anon)) { /* version 1; total_ includes cgroups below */
        anon = key_or_unknown(text, "total_rss");
        file = key_or_unknown(text, "total_cache");
        shmem = key_or_unknown(text, "total_shmem");
    }
    if (!is_known(anon) || !is_known(file))
        return -EBADMSG;
    if (!is_known(shmem) || shmem > file) /* the counters are not read at one instant */
        shmem = is_known(shmem) ? file : 0;
    *ret = (struct cgroup_memory){ anon, shmem, file - shmem, dirty };
    return 0;
}

/* A line: "8:0 rbytes=4096 wbytes=8192 rios=1 wios=2 dbytes=0 dios=0". */
static uint64_t line_value(const char *line, const char *key)
{
    const char *found = memmem(line, strcspn(line, "\n"), key, strlen(key));
    uint64_t value;

    if (!found || found[-1] != ' ')
        return 0;
    found += strlen(key);
    return parse_u64(&found, &value) < 0 ? 0 : value;
}

int cgroup_parse_io_stat(const char *text, struct cgroup_io *ret)
{
    struct cgroup_io io = { 0 };

    for (; *text; text = parse_next_line(text)) {
        if (*text < '0' || *text > '9')
            return -EBADMSG;
        io.read_bytes = sum_u64(io.read_bytes, line_value(text, "rbytes="));
        io.written_bytes = sum_u64(io.written_bytes, line_value(text, "wbytes="));
    }
    *ret = io;
    return 0;
}
