/* SPDX-License-Identifier: Apache-2.0 */
#include "source/host/energy.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/parse.h"
#include "text/number.h"

#define POWERCAP "sys/class/powercap/intel-rapl:"
#define CRAY "sys/cray/pm_counters/cpu_energy"
#define PERF "sys/bus/event_source/devices/power"

#define NO_COUNTER "no energy counter of the CPUs (a virtual machine, or no driver)"
#define TOO_SHORT "the run was too short"

/* When to search for other sources, and how often to search for new packages. */
#define LATER_NS (100 * NS_PER_MS)
#define AGAIN_NS (10 * NS_PER_SECOND)

/* No package uses more power than this, which limits the increase of a counter. */
#define WATTS_MAX 2000.0

/* The search for zones and sensors ends after this many missing numbers. */
enum { GAP_MAX = 4, ZONES_MAX = 256, TEXT_SIZE = 128 };

const char energy_is_denied[] = "the energy counters of the CPUs are readable by root only";

/* Returns the increase of a counter that may have wrapped once. */
static uint64_t growth(uint64_t before, uint64_t now, uint64_t range)
{
    return now >= before ? now - before : sub_floor0(range, before) + now;
}

static int read_number(const struct root *root, const char *path, uint64_t *ret)
{
    char text[TEXT_SIZE];
    const char *cursor = text;
    ssize_t n = root_read_start(root, text, sizeof(text), "%s", path);

    return n < 0 ? (int)n : parse_u64(&cursor, ret);
}

/* ---- packages -------------------------------------------------------------- */

static uint64_t read_count(struct energy_package *package, const struct root *root)
{
    char text[TEXT_SIZE];
    const char *cursor = text;
    uint64_t count;

    if (package->path[0] == '\0')
        return read(package->file.fd, &count, sizeof(count)) == (ssize_t)sizeof(count)
                   ? count
                   : UNKNOWN;
    if (cached_file_read(&package->file, root, READ_RECORD, text, sizeof(text), "%s",
                         package->path) < 0 ||
        parse_u64(&cursor, &count) < 0) {
        cached_file_close(&package->file); /* the package may reappear */
        return UNKNOWN;
    }
    return count;
}

static bool has_package(const struct energy *energy, const char *path)
{
    for (size_t i = 0; i < energy->count; i++) {
        if (strcmp(energy->packages[i].path, path) == 0)
            return true;
    }
    return false;
}

/* Adds a package, which counts from its first reading. */
static void add_package(struct energy *energy, const char *source, const char *path, int fd,
                        double unit_uj)
{
    struct energy_package package = {
        .file.fd = fd, .unit_uj = unit_uj, .range = UINT64_MAX, .count = UNKNOWN
    };

    if (energy->count == ENERGY_PACKAGES_MAX || strlen(path) >= sizeof(package.path))
        return;
    if (!energy->packages)
        energy->packages = calloc(ENERGY_PACKAGES_MAX, sizeof(package));
    if (!energy->packages)
        return;
    (void)snprintf(package.path, sizeof(package.path), "%s", path); /* fits */
    energy->source = source;
    energy->packages[energy->count++] = package;
}

/* ---- sources --------------------------------------------------------------- */

/* Adds a zone if it is a package. "psys" is the whole machine, and zones below a package are
 * parts of that package. */
static int add_zone(struct energy *energy, const struct root *root, unsigned number)
{
    char path[TEXT_SIZE], name[TEXT_SIZE];
    uint64_t unused;
    int r;

    (void)snprintf(path, sizeof(path), POWERCAP "%u/energy_uj", number); /* fits */
    if (has_package(energy, path))
        return 0;
    r = read_number(root, path, &unused);
    if (r < 0)
        return r;
    if (root_read_start(root, name, sizeof(name), POWERCAP "%u/name", number) < 0 ||
        !begins_with(name, "package-"))
        return 0;
    add_package(energy, "powercap", path, -1, 1);
    (void)snprintf(path, sizeof(path), POWERCAP "%u/max_energy_range_uj", number); /* fits */
    if (energy->count > 0) /* on failure the counter is assumed never to wrap */
        (void)read_number(root, path, &energy->packages[energy->count - 1].range);
    return 0;
}

static void search_powercap(struct energy *energy, const struct root *root)
{
    for (unsigned i = 0, gap = 0; gap < GAP_MAX && i < ZONES_MAX; i++) {
        int r = add_zone(energy, root, i);

        gap = r == -ENOENT ? gap + 1 : 0;
        if (r == -EACCES)
            energy->reason = energy_is_denied;
    }
}

/* Searches for the counter of a Cray node: "123456 J 1700000000000000 us". */
static void search_cray(struct energy *energy, const struct root *root)
{
    uint64_t unused;

    if (read_number(root, CRAY, &unused) == 0)
        add_package(energy, "cray.pm_counters", CRAY, -1, 1e6);
}

/* Whether a label is a package's: "Esocket0" of AMD; other drivers have labels that start with
 * "cpu" or "package". Cores are parts of a package. */
static bool is_package_label(const char *label)
{
    return begins_with(label, "Esocket") || strncasecmp(label, "cpu", strlen("cpu")) == 0 ||
           strncasecmp(label, "package", strlen("package")) == 0;
}

static void search_hwmon(struct energy *energy, const struct root *root)
{
    char path[TEXT_SIZE], label[TEXT_SIZE];
    uint64_t unused;

    for (unsigned chip = 0, gap = 0; gap < GAP_MAX && chip < ZONES_MAX; chip++) {
        if (!root_exists(root, "sys/class/hwmon/hwmon%u/energy1_input", chip)) {
            gap = root_exists(root, "sys/class/hwmon/hwmon%u", chip) ? 0 : gap + 1;
            continue;
        }
        gap = 0;
        for (unsigned i = 1; i < ZONES_MAX; i++) {
            (void)snprintf(path, sizeof(path), "sys/class/hwmon/hwmon%u/energy%u_input", chip,
                           i);
            if (read_number(root, path, &unused) < 0)
                break;
            if (root_read_start(root, label, sizeof(label),
                                "sys/class/hwmon/hwmon%u/energy%u_label", chip, i) >= 0 &&
                is_package_label(label))
                add_package(energy, "hwmon", path, -1, 1);
        }
    }
}

/* Searches perf's events. The event of a package is opened on one of its CPUs; its scale is in
 * joules. */
static void search_perf(struct energy *energy, const struct root *root)
{
    struct perf_event_attr attr = { .size = sizeof(attr) };
    unsigned cpus[ENERGY_PACKAGES_MAX];
    char text[TEXT_SIZE];
    uint64_t type;
    double scale;
    int count;

    if (!root->is_live || read_number(root, PERF "/type", &type) < 0 ||
        root_read_start(root, text, sizeof(text), PERF "/events/energy-pkg") < 0 ||
        !begins_with(text, "event="))
        return;
    attr.type = (uint32_t)type;
    attr.config = strtoull(text + strlen("event="), NULL, 16);
    if (root_read_start(root, text, sizeof(text), PERF "/events/energy-pkg.scale") < 0)
        return;
    text[strcspn(text, "\n")] = '\0';
    if (decimal_parse(text, &scale) < 0)
        return;
    if (root_read_start(root, text, sizeof(text), PERF "/cpumask") < 0)
        return;
    count = parse_cpu_list(text, cpus, ENERGY_PACKAGES_MAX);
    for (int i = 0; i < count; i++) {
        long fd = syscall(SYS_perf_event_open, &attr, -1, cpus[i], -1, PERF_FLAG_FD_CLOEXEC);

        if (fd >= 0)
            add_package(energy, "perf.power", "", (int)fd, scale * 1e6);
        else if (errno == EACCES || errno == EPERM)
            energy->reason = energy_is_denied;
    }
}

void energy_search(struct energy *energy, const struct root *root)
{
    static void (*const searches[])(struct energy * energy,
                                    const struct root *root) = { search_powercap, search_cray,
                                                                 search_hwmon, search_perf };

    energy->has_searched = true;
    energy->reason = NO_COUNTER;
    for (size_t i = 0; i < ARRAY_SIZE(searches) && energy->count == 0; i++)
        searches[i](energy, root);
}

/* ---- readings -------------------------------------------------------------- */

static void search_now(struct energy *energy, const struct root *root, uint64_t now_ns)
{
    uint64_t unused;

    if (energy->first_ns == 0) {
        energy->first_ns = now_ns;
        energy->is_complete = true;
        energy->reason = TOO_SHORT;
        if (read_number(root, POWERCAP "0/energy_uj", &unused) < 0)
            return;
    } else if (energy->count == 0 ? energy->has_searched || now_ns - energy->first_ns < LATER_NS
                                  : strcmp(energy->source, "powercap") != 0 ||
                                        now_ns - energy->searched_ns < AGAIN_NS) {
        return;
    }
    energy->searched_ns = now_ns;
    if (energy->count == 0)
        energy_search(energy, root);
    else
        search_powercap(energy, root);
}

uint64_t energy_read(struct energy *energy, const struct root *root, uint64_t now_ns)
{
    double most_uj = (double)(now_ns - energy->read_ns) / 1e9 * WATTS_MAX * 1e6;

    search_now(energy, root, now_ns);
    for (size_t i = 0; i < energy->count; i++) {
        struct energy_package *package = &energy->packages[i];
        uint64_t count = read_count(package, root);

        if (is_known(count) && is_known(package->count)) {
            energy->total_uj +=
                (double)growth(package->count, count, package->range) * package->unit_uj;
            /* Incomplete if the counter may have wrapped more than once. */
            energy->is_complete &= most_uj < (double)package->range * package->unit_uj;
        } else if (energy->read_ns != 0) {
            energy->is_complete = false;
        }
        package->count = count;
    }
    energy->read_ns = now_ns;
    return energy->count > 0 ? (uint64_t)energy->total_uj : UNKNOWN;
}

void energy_close(struct energy *energy)
{
    for (size_t i = 0; i < energy->count; i++)
        cached_file_close(&energy->packages[i].file);
    free(energy->packages);
    *energy = (struct energy){ 0 };
}
