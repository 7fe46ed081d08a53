/* SPDX-License-Identifier: Apache-2.0 */
#include "source/host/host.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/unknown.h"
#include "source/host/pressure.h"
#include "source/host/vmstat.h"

static const uint64_t SPACE_PERIOD_NS = 10 * NS_PER_SECOND;
static const uint64_t OOM_KILLS_PERIOD_NS = 60 * NS_PER_SECOND;

static const char *const pressure_paths[PRESSURE_COUNT] = {
    [PRESSURE_CPU] = "proc/pressure/cpu",
    [PRESSURE_MEMORY] = "proc/pressure/memory",
    [PRESSURE_IO] = "proc/pressure/io",
};

const struct host_reading HOST_READING_UNKNOWN = {
    .cpu = { UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN },
    .memory = { UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN,
                UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN },
    .disk = { UNKNOWN, UNKNOWN },
    .network = { UNKNOWN, UNKNOWN },
    .space = { UNKNOWN, UNKNOWN, UNKNOWN },
    .pressure_ns = { UNKNOWN, UNKNOWN, UNKNOWN },
    .oom_kills_count = UNKNOWN,
    .process_count = UNKNOWN,
};

void host_init(struct host *host)
{
    long ticks = sysconf(_SC_CLK_TCK);

    host->counts_processes = false;
    host->process_count = (struct process_count){ 0 };
    host->ticks_per_second = ticks > 0 ? (uint64_t)ticks : 0;
    host->stat.fd = host->meminfo.fd = host->diskstats.fd = host->net_dev.fd = -1;
    host->vmstat.fd = -1;
    for (int i = 0; i < PRESSURE_COUNT; i++)
        host->pressure[i].fd = -1;
    device_table_init(&host->disks);
    device_table_init(&host->interfaces);
    host->space_reader = (struct space){ 0 };
    host->space = HOST_READING_UNKNOWN.space;
    host->oom_kills_count = UNKNOWN;
    host_expire(host);
}

void host_done(struct host *host)
{
    cached_file_close(&host->stat);
    cached_file_close(&host->meminfo);
    cached_file_close(&host->diskstats);
    cached_file_close(&host->net_dev);
    cached_file_close(&host->vmstat);
    for (int i = 0; i < PRESSURE_COUNT; i++)
        cached_file_close(&host->pressure[i]);
    space_done(&host->space_reader);
}

void host_expire(struct host *host)
{
    host->space_due_ns = 0;
    host->oom_kills_due_ns = 0;
}

/* Half a table of devices would be another sum at every reading: it is refused. */
static const char *read_whole(struct host *host, const struct root *root,
                              struct cached_file *kept, const char *path)
{
    return cached_file_read(kept, root, host->text, sizeof(host->text), "%s", path) < 0
               ? ""
               : host->text;
}

bool host_storage_is_local(struct host *host, const struct root *root)
{
    return root_read(root, host->text, sizeof(host->text), "proc/self/mountinfo") >= 0 &&
           mounts_are_local(host->text);
}

static const char *read_start(struct host *host, const struct root *root,
                              struct cached_file *kept, const char *path)
{
    return cached_file_read_start(kept, root, host->text, sizeof(host->text), "%s", path) < 0
               ? ""
               : host->text;
}

static const char *read_record(struct host *host, const struct root *root,
                               struct cached_file *kept, const char *path)
{
    return cached_file_read_record(kept, root, host->text, sizeof(host->text), "%s", path) < 0
               ? ""
               : host->text;
}

static void read_oom_kills(struct host *host, const struct root *root)
{
    const char *text = read_start(host, root, &host->vmstat, "proc/vmstat");

    host->oom_kills_count = UNKNOWN;
    (void)vmstat_parse_oom_kills(text, &host->oom_kills_count); /* stays unknown */
}

void host_read(struct host *host, const struct root *root, uint64_t now_ns,
               struct host_reading *ret)
{
    const char *text;

    /* A parser that fails leaves its part as it is: unknown. */
    *ret = HOST_READING_UNKNOWN;
    host->cpu_span.from_ns = root->is_live ? clock_now().monotonic_ns : now_ns;
    text = read_start(host, root, &host->stat, "proc/stat");
    host->cpu_span.until_ns = root->is_live ? clock_now().monotonic_ns : now_ns;
    (void)cpu_stat_parse(text, host->ticks_per_second, &ret->cpu);
    text = read_record(host, root, &host->meminfo, "proc/meminfo");
    (void)meminfo_parse(text, &ret->memory);
    text = read_whole(host, root, &host->diskstats, "proc/diskstats");
    (void)diskstats_parse(text, &host->disks, root, &ret->disk);
    text = read_whole(host, root, &host->net_dev, "proc/net/dev");
    (void)net_dev_parse(text, &host->interfaces, root, &ret->network);
    for (int i = 0; i < PRESSURE_COUNT; i++) {
        text = read_record(host, root, &host->pressure[i], pressure_paths[i]);
        (void)pressure_parse(text, &ret->pressure_ns[i]);
    }
    if (now_ns >= host->oom_kills_due_ns) {
        read_oom_kills(host, root);
        host->oom_kills_due_ns = now_ns + OOM_KILLS_PERIOD_NS;
    }
    if (now_ns >= host->space_due_ns) {
        host->space = HOST_READING_UNKNOWN.space;
        (void)space_read(&host->space_reader, root, &host->space, NULL); /* stays unknown */
        host->space_due_ns = now_ns + SPACE_PERIOD_NS;
    }
    if (host->counts_processes)
        ret->process_count = process_count_read(&host->process_count, root, now_ns);
    ret->oom_kills_count = host->oom_kills_count;
    ret->space = host->space;
}
