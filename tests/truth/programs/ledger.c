/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "workload.h"

static const char *const names[FIGURE_COUNT] = {
    [CPU_SECONDS] = "cpu_seconds",
    [PEAK_RSS_BYTES] = "peak_rss_bytes",
    [MAIN_RSS_BYTES] = "main_rss_bytes",
    [DESCENDANTS_RSS_BYTES] = "descendants_rss_bytes",
    [PRIVATE_BYTES] = "private_bytes",
    [SHARED_BYTES] = "shared_bytes",
    [JOB_PEAK_BYTES] = "job_peak_bytes",
    [ANON_BYTES] = "anon_bytes",
    [PAGE_CACHE_BYTES] = "page_cache_bytes",
    [WRITTEN_BYTES] = "written_bytes",
    [WRITTEN_CHARS] = "written_chars",
    [READ_CHARS] = "read_chars",
    [PROCESSES] = "processes",
    [CONCURRENT] = "concurrent",
    [THREADS] = "threads",
    [UNSEEN_CPU_MICROSECONDS] = "unseen_cpu_microseconds",
    [ELAPSED_SECONDS] = "elapsed_seconds",
    [MINOR_FAULTS] = "minor_faults",
    [CPU_WAIT_SECONDS] = "cpu_wait_seconds",
    [SHARED_BYTES_AT_MOST] = "shared_bytes_at_most",
    [LOOPBACK_RECEIVED_BYTES] = "loopback_received_bytes",
    [LOOPBACK_SENT_BYTES] = "loopback_sent_bytes",
};

enum { LINE_BYTES = 2048, ENDS_MAX = 4096 };

/* Values are integers, in thousandths of a unit, so that processes can add to them
 * concurrently. */
struct ledger {
    atomic_int_fast64_t thousandths[FIGURE_COUNT];
    atomic_bool is_known[FIGURE_COUNT];
    atomic_int_fast64_t cpu_ns;
    pid_t main_pid;
    double started_seconds;                  /* start of the main process, since boot */
    double phases[PHASES_MAX][FIGURE_COUNT]; /* NaN: not recorded */
    int64_t cpu_at_gate_ns; /* CPU time of the main process when the counting began */
    /* CPU time of a process and of the children that it had waited for, when the process
     * added its clock. The PID selects the slot; living processes seldom share one. */
    struct {
        pid_t pid;
        int64_t cpu_ns;
    } ends[ENDS_MAX];
};

static struct ledger *ledger;

noreturn void ledger_fail(const char *what)
{
    fprintf(stderr, "truth: %s: %s\n", what, strerror(errno));
    _exit(99);
}

noreturn void ledger_cannot(const char *what)
{
    fprintf(stderr, "%s\n", what);
    _exit(77);
}

static int64_t own_cpu_ns(void)
{
    struct timespec time;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void pass_byte(const char *gate, const char *suffix, int flags)
{
    char path[4096];
    char byte = 'x';
    int fd;

    snprintf(path, sizeof(path), "%s.%s", gate, suffix);
    fd = open(path, flags | O_CLOEXEC);
    if (fd < 0)
        ledger_fail(path);
    if ((flags == O_RDONLY ? read(fd, &byte, 1) : write(fd, &byte, 1)) != 1)
        ledger_fail(path);
    close(fd);
}

static double boot_seconds(void)
{
    struct timespec time;

    clock_gettime(CLOCK_BOOTTIME, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Returns when this process was forked, in seconds since boot, to the precision of a clock
 * tick. */
static double start_seconds(void)
{
    enum { FIELDS_BEFORE_START = 20 }; /* after the name, see proc(5) */
    char text[1024], *field;
    int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

    if (n <= 0)
        ledger_fail("/proc/self/stat");
    close(fd);
    text[n] = '\0';
    field = strrchr(text, ')');
    for (int i = 0; field && i < FIELDS_BEFORE_START; i++)
        field = strchr(field + 1, ' ');
    if (!field)
        ledger_fail("/proc/self/stat");
    return (double)strtoull(field, NULL, 10) / (double)sysconf(_SC_CLK_TCK);
}

void ledger_open(void)
{
    const char *gate = getenv("TRUTH_GATE");

    ledger = shared_memory(sizeof(*ledger));
    ledger->main_pid = getpid();
    ledger->started_seconds = start_seconds();
    for (int phase = 0; phase < PHASES_MAX; phase++) {
        for (int i = 0; i < FIGURE_COUNT; i++)
            ledger->phases[phase][i] = NAN;
    }
    if (gate) {
        pass_byte(gate, "ready", O_WRONLY);
        pass_byte(gate, "go", O_RDONLY);
        ledger->cpu_at_gate_ns = own_cpu_ns();
    }
}

/* CPU time that the process `added_by` has added so far. */
static int64_t added_ns;
static pid_t added_by;

static int64_t rusage_ns(const struct rusage *usage)
{
    return (usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * INT64_C(1000000000) +
           (usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) * INT64_C(1000);
}

void ledger_add_own_cpu(void)
{
    int64_t now_ns = own_cpu_ns();
    bool is_main = getpid() == ledger->main_pid;

    atomic_fetch_add(&ledger->cpu_ns, now_ns - (is_main ? ledger->cpu_at_gate_ns : 0));
    added_ns = now_ns;
    added_by = getpid();
    ledger->ends[added_by % ENDS_MAX].pid = added_by;
    ledger->ends[added_by % ENDS_MAX].cpu_ns = now_ns + waited_cpu_ns();
}

void ledger_add_end(pid_t pid, const struct rusage *usage)
{
    if (ledger->ends[pid % ENDS_MAX].pid == pid)
        atomic_fetch_add(&ledger->cpu_ns,
                         rusage_ns(usage) - ledger->ends[pid % ENDS_MAX].cpu_ns);
}

/* Adds the CPU time that this process has used since it added its clock. */
static void add_later_cpu(void)
{
    if (added_by == getpid())
        atomic_fetch_add(&ledger->cpu_ns, own_cpu_ns() - added_ns);
}

void ledger_burn_to_ms(long milliseconds)
{
    bool is_main = getpid() == ledger->main_pid;
    int64_t used_ns = ledger->cpu_ns + own_cpu_ns() - (is_main ? ledger->cpu_at_gate_ns : 0);
    int64_t left_ns = milliseconds * INT64_C(1000000) - used_ns;

    if (left_ns > 0)
        burn_ms((long)(left_ns / 1000000));
}

int64_t ledger_cpu_ns(void)
{
    return atomic_load(&ledger->cpu_ns);
}

int64_t waited_cpu_ns(void)
{
    struct rusage usage;

    getrusage(RUSAGE_CHILDREN, &usage);
    return rusage_ns(&usage);
}

void ledger_add_waited_cpu(void)
{
    atomic_fetch_add(&ledger->cpu_ns, waited_cpu_ns());
}

void ledger_set(enum figure figure, double value)
{
    atomic_store(&ledger->thousandths[figure], (int_fast64_t)(value * 1000));
    atomic_store(&ledger->is_known[figure], true);
}

void ledger_add(enum figure figure, double value)
{
    atomic_fetch_add(&ledger->thousandths[figure], (int_fast64_t)(value * 1000));
    atomic_store(&ledger->is_known[figure], true);
}

void ledger_set_phase(unsigned phase, enum figure figure, double value)
{
    ledger->phases[phase][figure] = value;
}

void ledger_set_elapsed(void)
{
    ledger_set(ELAPSED_SECONDS, boot_seconds() - ledger->started_seconds);
}

void ledger_set_lone_memory(double bytes)
{
    ledger_set(PEAK_RSS_BYTES, bytes);
    ledger_set(MAIN_RSS_BYTES, bytes);
    ledger_set(PRIVATE_BYTES, bytes);
}

/* Creates the file, with room for the line. This costs CPU time, so it comes before the last
 * reading of the clock. */
static int make_room(size_t bytes)
{
    const char *path = getenv("TRUTH");
    char blank[LINE_BYTES];
    int fd;

    if (!path)
        ledger_cannot("$TRUTH must name the file to write");
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    memset(blank, ' ', bytes);
    if (fd < 0 || write(fd, blank, bytes) != (ssize_t)bytes)
        ledger_fail("$TRUTH");
    return fd;
}

static size_t put(char *line, size_t size, const char *text)
{
    return (size_t)snprintf(line, size, "%s", text);
}

static size_t put_phases(char line[LINE_BYTES], size_t used)
{
    for (int phase = 0; phase < PHASES_MAX; phase++) {
        const char *separator = phase == 0 ? ", \"phases\": [{" : ", {";
        bool is_noted = false;

        for (int i = 0; i < FIGURE_COUNT; i++) {
            if (isnan(ledger->phases[phase][i]))
                continue;
            used += (size_t)snprintf(line + used, LINE_BYTES - used, "%s\"%s\": %.15g",
                                     is_noted ? ", " : separator, names[i],
                                     ledger->phases[phase][i]);
            is_noted = true;
        }
        if (!is_noted)
            return used + (phase == 0 ? 0 : put(line + used, LINE_BYTES - used, "]"));
        used += put(line + used, LINE_BYTES - used, "}");
    }
    return used + put(line + used, LINE_BYTES - used, "]");
}

void ledger_close(void)
{
    int fd = make_room(LINE_BYTES);
    char line[LINE_BYTES];
    size_t used;

    add_later_cpu();
    used = (size_t)snprintf(line, sizeof(line), "{\"%s\": %.6f", names[CPU_SECONDS],
                            (double)ledger->cpu_ns / 1e9);
    for (int i = CPU_SECONDS + 1; i < FIGURE_COUNT; i++) {
        if (ledger->is_known[i])
            used += (size_t)snprintf(line + used, sizeof(line) - used, ", \"%s\": %.15g",
                                     names[i], (double)ledger->thousandths[i] / 1000);
    }
    used = put_phases(line, used);
    snprintf(line + used, sizeof(line) - used, "}%*s", (int)(sizeof(line) - used - 2), "\n");
    if (pwrite(fd, line, sizeof(line) - 1, 0) < 0)
        ledger_fail("$TRUTH");
    close(fd);
}
