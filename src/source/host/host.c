/* SPDX-License-Identifier: Apache-2.0 */
#include "source/host/host.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/parse.h"
#include "source/proc/children.h"

/* ---- cpu stat -------------------------------------------------------------- */

/* Parse /proc/stat.
 *
 *     cpu  1809 0 913 182852 1367 0 13 6 0 0      the sum, in ticks
 *     cpu0 1014 0 499 91126 854 0 4 2 0 0         one line for each CPU online
 *     intr 153411 0 0 ...                         thousands of numbers
 *     processes 4902
 *
 * The numbers of a cpu line, in order: see enum column. Later kernels add more. */

enum column {
    COLUMN_USER,
    COLUMN_NICE,
    COLUMN_SYSTEM,
    COLUMN_IDLE,
    COLUMN_IOWAIT,
    COLUMN_IRQ,
    COLUMN_SOFTIRQ,
    COLUMN_STEAL,
    COLUMN_COUNT,
    COLUMNS_NEEDED = COLUMN_IDLE + 1,
};

/* Converts whole seconds first: ticks times a billion would overflow soon. */
static uint64_t ticks_to_ns(uint64_t ticks, uint64_t ticks_per_second)
{
    if (!is_known(ticks))
        return UNKNOWN;
    return sum_u64(product_u64(ticks / ticks_per_second, NS_PER_SECOND),
                   ticks % ticks_per_second * NS_PER_SECOND / ticks_per_second);
}

static int parse_columns(const char *line, uint64_t column[COLUMN_COUNT])
{
    int count = 0;

    /* Without its newline, the last number may be truncated. */
    if (!line || !strchr(line, '\n'))
        return -EBADMSG;
    while (count < COLUMN_COUNT && parse_u64(&line, &column[count]) == 0)
        count++;
    if (count < COLUMNS_NEEDED)
        return -EBADMSG;
    for (; count < COLUMN_COUNT; count++)
        column[count] = UNKNOWN;
    return 0;
}

/* Counts the cpuN lines. The list is complete only if a line of another kind follows. */
static uint64_t count_cpus(const char *text)
{
    uint64_t count = 0;

    for (; begins_with(text, "cpu"); text = parse_next_line(text))
        count += is_digit(text[3]) ? 1 : 0;
    return strncmp(text, "cpu", strlen(text)) != 0 && count > 0 ? count : UNKNOWN;
}

/* Parses the columns of a cpu line. Does not change ret->cpus. */
static int parse_times(const char *line, uint64_t ticks_per_second, struct cpu_stat *ret)
{
    uint64_t column[COLUMN_COUNT];
    uint64_t user_ticks, system_ticks, interrupt_ticks;

    if (ticks_per_second == 0 || parse_columns(line, column) < 0)
        return -EBADMSG;
    /* Kernels without columns for interrupts count them as system time. */
    user_ticks = sum_u64(column[COLUMN_USER], column[COLUMN_NICE]);
    interrupt_ticks =
        sum_u64(known_or_0(column[COLUMN_IRQ]), known_or_0(column[COLUMN_SOFTIRQ]));
    system_ticks = sum_u64(column[COLUMN_SYSTEM], interrupt_ticks);
    ret->user_ns = ticks_to_ns(user_ticks, ticks_per_second);
    ret->system_ns = ticks_to_ns(system_ticks, ticks_per_second);
    ret->iowait_ns = ticks_to_ns(column[COLUMN_IOWAIT], ticks_per_second);
    ret->steal_ns = ticks_to_ns(column[COLUMN_STEAL], ticks_per_second);
    ret->interrupt_ns = ticks_to_ns(interrupt_ticks, ticks_per_second);
    return 0;
}

int cpu_stat_parse(const char *text, uint64_t ticks_per_second, struct cpu_stat *ret)
{
    int r = parse_times(parse_key(text, "cpu"), ticks_per_second, ret);

    if (r == 0)
        ret->cpus = count_cpus(text);
    return r;
}

size_t cpu_stat_parse_each(const char *text, uint64_t ticks_per_second, struct cpu_busy *list,
                           size_t capacity)
{
    size_t count = 0;

    for (; begins_with(text, "cpu") && count < capacity; text = parse_next_line(text)) {
        const char *line = text + 3;
        struct cpu_stat stat;
        uint64_t number;

        if (is_digit(*line) && parse_u64(&line, &number) == 0 &&
            parse_times(line, ticks_per_second, &stat) == 0)
            list[count++] =
                (struct cpu_busy){ number, sum_u64(sum_u64(stat.user_ns, stat.system_ns),
                                                   known_or_0(stat.steal_ns)) };
    }
    return count;
}

/* ---- process count --------------------------------------------------------- */

static void count_one(pid_t pid, void *data)
{
    uint64_t *count = data;

    (void)pid;
    ++*count;
}

uint64_t process_count_read(const struct root *root)
{
    uint64_t count = 0;

    return proc_each_pid(root, count_one, &count) < 0 ? UNKNOWN : count;
}

/* ---- Parse "some avg10=0.81 avg60=0.56 avg300=0.21 total=2194262" (us) ----- */

int pressure_parse(const char *text, uint64_t *ret_some_ns)
{
    static const char key[] = " total=";
    const char *line = parse_key(text, "some");
    const char *end = line ? strchr(line, '\n') : NULL;
    const char *total;
    uint64_t total_us;

    if (!end)
        return -EBADMSG;
    total = strstr(line, key);
    if (!total || total > end)
        return -EBADMSG;
    total += strlen(key);
    if (parse_u64(&total, &total_us) < 0 || total > end)
        return -EBADMSG;
    *ret_some_ns = product_u64(total_us, NS_PER_US);
    return 0;
}

/* ---- Parse /proc/vmstat: "oom_kill 0" -------------------------------------- */

int vmstat_parse_oom_kills(const char *text, uint64_t *ret_count)
{
    const char *value = parse_key(text, "oom_kill");

    if (!value)
        return -ENOENT;
    /* Without its newline, the number may be truncated. */
    if (!strchr(value, '\n'))
        return -EBADMSG;
    return parse_u64(&value, ret_count);
}

/* ---- host ------------------------------------------------------------------ */

static const uint64_t SPACE_PERIOD_NS = 10 * NS_PER_SECOND;
static const uint64_t OOM_KILLS_PERIOD_NS = 60 * NS_PER_SECOND;
static const uint64_t RDMA_DELAY_NS = 100 * NS_PER_MS;

/* Reading a slow table may take at most 1/SLOW_SHARE of the time. */
enum { SLOW_SHARE = 1000 };

static const char *const pressure_paths[PRESSURE_COUNT] = {
    [PRESSURE_CPU] = "proc/pressure/cpu",
    [PRESSURE_MEMORY] = "proc/pressure/memory",
    [PRESSURE_IO] = "proc/pressure/io",
};

void host_reading_clear(struct host_reading *reading)
{
    memset(reading, 0xff, sizeof(*reading)); /* each member is a uint64_t: UNKNOWN */
}

void host_init(struct host *host)
{
    long ticks = sysconf(_SC_CLK_TCK);

    host->counts_processes = false;
    host->ticks_per_second = ticks > 0 ? (uint64_t)ticks : 0;
    host->stat.fd = host->meminfo.fd = host->diskstats.fd = host->net_dev.fd = -1;
    host->vmstat.fd = -1;
    for (int i = 0; i < PRESSURE_COUNT; i++)
        host->pressure[i].fd = -1;
    device_table_init(&host->disks);
    device_table_init(&host->interfaces);
    device_table_init(&host->rdma.table);
    device_table_init(&host->nfs.table);
    host->rdma.bytes = host->nfs.bytes = (struct device_bytes){ UNKNOWN, UNKNOWN };
    host->first_ns = 0;
    host->space_reader = (struct space){ 0 };
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
    host->rdma.due_ns = host->nfs.due_ns = 0;
}

static const char *read_text(struct host *host, const struct root *root,
                             struct cached_file *kept, enum file_read how, const char *path)
{
    return cached_file_read(kept, root, how, host->text, sizeof(host->text), "%s", path) < 0
               ? ""
               : host->text;
}

static void read_oom_kills(struct host *host, const struct root *root)
{
    const char *text = read_text(host, root, &host->vmstat, READ_START, "proc/vmstat");

    host->oom_kills_count = UNKNOWN;
    /* The count stays unknown on failure. */
    (void)vmstat_parse_oom_kills(text, &host->oom_kills_count);
}

static void read_slow(struct host *host, const struct root *root, uint64_t now_ns,
                      struct slow_table *slow)
{
    uint64_t elapsed_ns = sub_floor0(now_ns, host->first_ns), began_ns;
    bool is_first = !is_known(slow->bytes.in);
    int r;

    if (now_ns < slow->due_ns)
        return;
    began_ns = clock_now().monotonic_ns;
    r = slow == &host->rdma
            ? rdma_read(root, &slow->table, &slow->bytes)
            : nfs_read(root, elapsed_ns / NS_PER_SECOND, &slow->table, &slow->bytes);
    /* Either recent bytes or the bytes before the first reading are missing. */
    if (r < 0 || (is_first && elapsed_ns > 0))
        slow->table.is_exact = false;
    slow->due_ns = now_ns;
    if (r == -ENOENT)
        slow->due_ns += SPACE_PERIOD_NS;
    else if (root->is_live)
        slow->due_ns += SLOW_SHARE * (clock_now().monotonic_ns - began_ns);
}

void host_read(struct host *host, const struct root *root, uint64_t now_ns,
               struct host_reading *ret)
{
    const char *text;

    /* If a parser fails, its part stays unknown. */
    host_reading_clear(ret);
    if (host->first_ns == 0)
        host->first_ns = now_ns;
    host->cpu_span.from_ns = root->is_live ? clock_now().monotonic_ns : now_ns;
    text = read_text(host, root, &host->stat, READ_START, "proc/stat");
    host->cpu_span.until_ns = root->is_live ? clock_now().monotonic_ns : now_ns;
    (void)cpu_stat_parse(text, host->ticks_per_second, &ret->cpu);
    text = read_text(host, root, &host->meminfo, READ_RECORD, "proc/meminfo");
    (void)meminfo_parse(text, &ret->memory);
    /* A truncated table of devices is not parsed: its sum would vary between readings. */
    text = read_text(host, root, &host->diskstats, READ_WHOLE, "proc/diskstats");
    (void)diskstats_parse(text, &host->disks, root, &ret->disk);
    text = read_text(host, root, &host->net_dev, READ_WHOLE, "proc/net/dev");
    (void)net_dev_parse(text, &host->interfaces, root, &ret->network);
    for (int i = 0; i < PRESSURE_COUNT; i++) {
        text = read_text(host, root, &host->pressure[i], READ_RECORD, pressure_paths[i]);
        (void)pressure_parse(text, &ret->pressure_ns[i]);
    }
    if (now_ns >= host->oom_kills_due_ns) {
        read_oom_kills(host, root);
        host->oom_kills_due_ns = now_ns + OOM_KILLS_PERIOD_NS;
    }
    if (now_ns >= host->space_due_ns) {
        host->space = (struct mounts){ UNKNOWN, UNKNOWN, UNKNOWN };
        /* The space stays unknown on failure. */
        (void)space_read(&host->space_reader, root, &host->space, NULL);
        host->space_due_ns = now_ns + SPACE_PERIOD_NS;
    }
    if (now_ns - host->first_ns >= RDMA_DELAY_NS)
        read_slow(host, root, now_ns, &host->rdma);
    if (host->space_reader.has_nfs || host->nfs.table.count > 0 || !root->is_live)
        read_slow(host, root, now_ns, &host->nfs);
    ret->rdma = host->rdma.bytes;
    ret->nfs = host->nfs.bytes;
    if (host->counts_processes)
        ret->process_count = process_count_read(root);
    ret->oom_kills_count = host->oom_kills_count;
    ret->space = host->space;
}
