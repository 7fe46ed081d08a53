/* SPDX-License-Identifier: Apache-2.0 */
#include "source/gpu/drm_fdinfo.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/amount.h"
#include "base/compiler.h"
#include "base/parse.h"
#include "source/gpu/gpu.h"

struct unit {
    const char *name;
    uint64_t factor;
};

static const struct unit plain[] = { { "", 1 }, { NULL, 0 } };
static const struct unit nanoseconds[] = { { "ns", 1 }, { NULL, 0 } };
static const struct unit hertz[] = { { "Hz", 1 },        { "KHz", 1000 },       { "kHz", 1000 },
                                     { "MHz", 1000000 }, { "GHz", 1000000000 }, { NULL, 0 } };
static const struct unit bytes[] = { { "", 1 },          { "kB", 1 << 10 },  { "KiB", 1 << 10 },
                                     { "MiB", 1 << 20 }, { "GiB", 1 << 30 }, { NULL, 0 } };

enum figure_of { OF_ENGINE, OF_REGION };

#define ENGINE(figure) OF_ENGINE, offsetof(struct drm_fdinfo_engine, figure)
#define REGION(figure) OF_REGION, offsetof(struct drm_fdinfo_region, bytes[figure])

/* Keys followed by a name. If one key is a prefix of another, the longer comes first. */
static const struct row {
    const char *prefix;
    const struct unit *units;
    enum figure_of of;
    size_t offset;
} rows[] = {
    /* clang-format off */
    { "drm-engine-capacity-", plain,       ENGINE(capacity) },
    { "drm-engine-",          nanoseconds, ENGINE(busy_ns) },
    { "drm-total-cycles-",    plain,       ENGINE(total_cycles) },
    { "drm-cycles-",          plain,       ENGINE(cycles) },
    { "drm-maxfreq-",         hertz,       ENGINE(max_hz) },
    { "drm-total-",           bytes,       REGION(DRM_MEMORY_TOTAL) },
    { "drm-shared-",          bytes,       REGION(DRM_MEMORY_SHARED) },
    { "drm-resident-",        bytes,       REGION(DRM_MEMORY_RESIDENT) },
    { "drm-memory-",          bytes,       REGION(DRM_MEMORY_RESIDENT_OLD) },
    { "drm-purgeable-",       bytes,       REGION(DRM_MEMORY_PURGEABLE) },
    { "drm-active-",          bytes,       REGION(DRM_MEMORY_ACTIVE) },
    /* clang-format on */
};

/* Regions of amdgpu before 5.19. */
static const struct {
    const char *key, *region;
} old_regions[] = { { "vram mem", "vram" }, { "gtt mem", "gtt" }, { "cpu mem", "cpu" } };

/* A line: its key, which ends at ':', and the rest. */
struct line {
    const char *key;
    size_t key_length;
    const char *value;
};

static bool is_line_end(const char *text)
{
    text += strspn(text, " \t");
    return *text == '\0' || *text == '\n';
}

static bool has_key(const struct line *line, const char *key)
{
    return line->key_length == strlen(key) && memcmp(line->key, key, line->key_length) == 0;
}

static int parse_quantity(const char *value, const struct unit *units, uint64_t *ret)
{
    uint64_t number;

    if (parse_u64(&value, &number) < 0)
        return -EBADMSG;
    value += strspn(value, " \t");
    for (; units->name; units++) {
        size_t length = strlen(units->name);

        if (strncmp(value, units->name, length) == 0 && is_line_end(value + length)) {
            *ret = product_u64(number, units->factor);
            return 0;
        }
    }
    return -EBADMSG;
}

/* Parses a percentage. The kernel writes the hundredths as a separate number, so "12.5%" means
 * 12.05 %. It adds up contexts whose work overlaps, so a busy engine may exceed 100 %. */
static int parse_percent(const char *value, uint64_t *ret)
{
    uint64_t whole, hundredths = 0;

    if (parse_u64(&value, &whole) < 0)
        return -EBADMSG;
    if (*value == '.') {
        value++;
        if (parse_digits(&value, &hundredths) < 0)
            return -EBADMSG;
    }
    if (*value != '%' || !is_line_end(value + 1) || hundredths > 99)
        return -EBADMSG;
    *ret = whole < 100 ? whole * 100 + hundredths : 10000;
    return 0;
}

/* Finds or adds the element of this name in a list of engines or regions: a name, then figures
 * of type uint64_t. NULL: no room, or no valid name. */
static void *find_named(void *list, size_t *count, size_t most, size_t size, const char *text,
                        size_t length)
{
    char *at = list;

    if (length == 0 || length >= DRM_NAME_SIZE)
        return NULL;
    for (size_t i = 0; i < *count; i++, at += size) {
        if (strncmp(at, text, length) == 0 && at[length] == '\0')
            return at;
    }
    if (*count == most)
        return NULL;
    ++*count;
    memset(at, 0xff, size); /* UNKNOWN */
    memcpy(at, text, length);
    at[length] = '\0';
    return at;
}

/* Stores a figure of the engine or region of this name. */
static void put_figure(struct drm_fdinfo *info, enum figure_of of, size_t offset,
                       const char *name, size_t length, uint64_t value)
{
    char *place = of == OF_ENGINE
                      ? find_named(info->engine, &info->engine_count, DRM_ENGINE_MAX,
                                   sizeof(info->engine[0]), name, length)
                      : find_named(info->region, &info->region_count, DRM_REGION_MAX,
                                   sizeof(info->region[0]), name, length);

    if (place)
        memcpy(place + offset, &value, sizeof(value));
}

static void read_figure(const struct line *line, struct drm_fdinfo *info)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        size_t length = strlen(rows[i].prefix);
        uint64_t value;

        if (line->key_length < length || memcmp(line->key, rows[i].prefix, length) != 0)
            continue;
        if (parse_quantity(line->value, rows[i].units, &value) == 0)
            put_figure(info, rows[i].of, rows[i].offset, line->key + length,
                       line->key_length - length, value);
        return;
    }
}

static void read_old_figure(const struct line *line, struct drm_fdinfo *info)
{
    uint64_t value;

    for (size_t i = 0; i < ARRAY_SIZE(old_regions); i++) {
        const char *name = old_regions[i].region;

        if (has_key(line, old_regions[i].key) &&
            parse_quantity(line->value, bytes, &value) == 0) {
            put_figure(info, REGION(DRM_MEMORY_RESIDENT_OLD), name, strlen(name), value);
            return;
        }
    }
    if (parse_percent(line->value, &value) == 0)
        put_figure(info, ENGINE(busy_percent_x100), line->key, line->key_length, value);
}

/* Reads keys that occur once. Returns whether the line had such a key. */
static bool read_identity(const struct line *line, struct drm_fdinfo *info, uint64_t *pasid)
{
    const char *value = line->value;

    if (has_key(line, "drm-driver"))
        (void)parse_word(&value, info->driver, sizeof(info->driver)); /* empty if too long */
    else if (has_key(line, "drm-pdev") || has_key(line, "pdev"))
        /* The address stays UNKNOWN on failure. */
        (void)gpu_pci_parse(value + strspn(value, " \t"), &info->pci);
    else if (has_key(line, "drm-client-id"))
        (void)parse_quantity(value, plain, &info->client_id); /* stays UNKNOWN on failure */
    else if (has_key(line, "pasid"))
        (void)parse_quantity(value, plain, pasid); /* stays UNKNOWN on failure */
    else
        return false;
    return true;
}

int drm_fdinfo_parse(const char *text, struct drm_fdinfo *ret)
{
    struct drm_fdinfo info = { .pci = UNKNOWN, .client_id = UNKNOWN };
    uint64_t pasid = UNKNOWN;

    for (; *text; text = parse_next_line(text)) {
        struct line line = { .key = text, .key_length = strcspn(text, ":\n") };

        if (text[line.key_length] != ':')
            continue;
        line.value = text + line.key_length + 1;
        if (read_identity(&line, &info, &pasid))
            continue;
        if (begins_with(text, "drm-"))
            read_figure(&line, &info);
        else
            read_old_figure(&line, &info);
    }
    if (info.driver[0] == '\0' && !is_known(info.pci))
        return -ENOENT;
    /* amdgpu before 5.19 has no client id; the id of its address space is used instead. An id
     * of 0 means none, and is common to all clients without an id. */
    if (!is_known(info.client_id) && pasid > 0)
        info.client_id = pasid;
    if (!is_known(info.client_id))
        return -EBADMSG;
    *ret = info;
    return 0;
}

static bool begins_with_any(const char *name, const char *const *prefixes)
{
    for (; *prefixes; prefixes++) {
        if (begins_with(name, *prefixes))
            return true;
    }
    return false;
}

static uint64_t region_memory(const struct drm_fdinfo_region *region)
{
    static const enum drm_memory best_first[] = { DRM_MEMORY_RESIDENT, DRM_MEMORY_RESIDENT_OLD,
                                                  DRM_MEMORY_TOTAL };

    for (size_t i = 0; i < ARRAY_SIZE(best_first); i++) {
        if (is_known(region->bytes[best_first[i]]))
            return region->bytes[best_first[i]];
    }
    return UNKNOWN;
}

/* Sums the memory of the regions whose name begins with one of `prefixes`. Returns whether
 * there is such a region. *ret is UNKNOWN if the size of one is not reported. */
static bool sum_regions(const struct drm_fdinfo *info, const char *const *prefixes,
                        uint64_t *ret)
{
    uint64_t sum = 0;
    bool found = false;

    for (size_t i = 0; i < info->region_count; i++) {
        if (!begins_with_any(info->region[i].name, prefixes))
            continue;
        sum = sum_u64(sum, region_memory(&info->region[i]));
        found = true;
    }
    *ret = found ? sum : UNKNOWN;
    return found;
}

uint64_t drm_fdinfo_memory(const struct drm_fdinfo *info)
{
    static const char *const own[] = { "vram", "local", NULL };
    static const char *const machine[] = { "system", "gtt", NULL };
    uint64_t memory;

    if (!sum_regions(info, own, &memory))
        (void)sum_regions(info, machine, &memory);
    return memory;
}
