/* SPDX-License-Identifier: Apache-2.0 */
#include "source/host/meminfo.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/arithmetic.h"
#include "base/compiler.h"
#include "base/parse.h"
#include "base/unknown.h"

/* ---- Parse /proc/meminfo: "MemTotal:       49364832 kB" -------------------- */

/* In the kernel's order: each line is searched after the previous one. */
enum line {
    LINE_TOTAL,
    LINE_FREE,
    LINE_AVAILABLE,
    LINE_BUFFERS,
    LINE_CACHED,
    LINE_ACTIVE,
    LINE_INACTIVE,
    LINE_ACTIVE_ANON,
    LINE_INACTIVE_ANON,
    LINE_SWAP_TOTAL,
    LINE_SWAP_FREE,
    LINE_DIRTY,
    LINE_WRITEBACK,
    LINE_SLAB_RECLAIMABLE,
    LINE_HUGETLB,
    LINE_COUNT,
};

static const char *const keys[LINE_COUNT] = {
    [LINE_TOTAL] = "MemTotal:",
    [LINE_FREE] = "MemFree:",
    [LINE_AVAILABLE] = "MemAvailable:",
    [LINE_BUFFERS] = "Buffers:",
    [LINE_CACHED] = "Cached:",
    [LINE_ACTIVE] = "Active:",
    [LINE_INACTIVE] = "Inactive:",
    [LINE_ACTIVE_ANON] = "Active(anon):",
    [LINE_INACTIVE_ANON] = "Inactive(anon):",
    [LINE_SWAP_TOTAL] = "SwapTotal:",
    [LINE_SWAP_FREE] = "SwapFree:",
    [LINE_DIRTY] = "Dirty:",
    [LINE_WRITEBACK] = "Writeback:",
    [LINE_SLAB_RECLAIMABLE] = "SReclaimable:",
    [LINE_HUGETLB] = "Hugetlb:",
};

/* The kernel's kB is 1024 bytes. A number without the unit is truncated. */
static uint64_t line_bytes(const char *text, const char **cursor, const char *key)
{
    const char *value = parse_key(*cursor, key);
    uint64_t kib;

    if (!value)
        value = parse_key(text, key);
    if (value)
        *cursor = value;
    if (!value || parse_u64(&value, &kib) < 0 || strncmp(value, " kB", 3) != 0)
        return UNKNOWN;
    return product_u64(kib, 1024);
}

int meminfo_parse(const char *text, struct meminfo *ret)
{
    uint64_t bytes[LINE_COUNT];
    const char *cursor = text;
    struct meminfo info;

    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        bytes[i] = line_bytes(text, &cursor, keys[i]);
    if (!is_known(bytes[LINE_TOTAL]))
        return -EBADMSG;

    info = (struct meminfo){
        .total_bytes = bytes[LINE_TOTAL],
        .free_bytes = bytes[LINE_FREE],
        .available_bytes = bytes[LINE_AVAILABLE],
        .cached_bytes = sum_u64(sum_u64(bytes[LINE_BUFFERS], bytes[LINE_CACHED]),
                                bytes[LINE_SLAB_RECLAIMABLE]),
        .buffers_bytes = bytes[LINE_BUFFERS],
        .page_cache_bytes = bytes[LINE_CACHED],
        .reclaimable_bytes = bytes[LINE_SLAB_RECLAIMABLE],
        .active_bytes = bytes[LINE_ACTIVE],
        .inactive_bytes = bytes[LINE_INACTIVE],
        .active_anon_bytes = bytes[LINE_ACTIVE_ANON],
        .inactive_anon_bytes = bytes[LINE_INACTIVE_ANON],
        .swap_total_bytes = bytes[LINE_SWAP_TOTAL],
        .swap_used_bytes = UNKNOWN,
        .hugetlb_bytes = bytes[LINE_HUGETLB],
        .dirty_bytes = sum_u64(bytes[LINE_DIRTY], bytes[LINE_WRITEBACK]),
    };
    /* Kernels before 3.14 have no MemAvailable. */
    if (!is_known(info.available_bytes))
        info.available_bytes =
            sum_u64(sum_u64(bytes[LINE_FREE], bytes[LINE_BUFFERS]), bytes[LINE_CACHED]);
    if (is_known(bytes[LINE_SWAP_TOTAL]) && is_known(bytes[LINE_SWAP_FREE]) &&
        bytes[LINE_SWAP_FREE] <= bytes[LINE_SWAP_TOTAL])
        info.swap_used_bytes = bytes[LINE_SWAP_TOTAL] - bytes[LINE_SWAP_FREE];
    *ret = info;
    return 0;
}

/* ---- memory in use --------------------------------------------------------- */

uint64_t anonymous_bytes_read(struct cached_file *file, const struct root *root)
{
    char text[512]; /* they are among the first lines */
    const char *cursor = text;
    uint64_t active_bytes;

    if (cached_file_read_start(file, root, text, sizeof(text), "proc/meminfo") < 0)
        return UNKNOWN;
    active_bytes = line_bytes(text, &cursor, keys[LINE_ACTIVE_ANON]);
    return sum_u64(active_bytes, line_bytes(text, &cursor, keys[LINE_INACTIVE_ANON]));
}

uint64_t swap_in_use_bytes(const struct root *root)
{
    struct sysinfo info;

    if (!root->is_live || sysinfo(&info) != 0)
        return UNKNOWN;
    return (uint64_t)(info.totalswap - info.freeswap) * info.mem_unit;
}

/* ---- huge pages ------------------------------------------------------------ */

#define HUGE_PAGES_FOLDER "sys/kernel/mm/hugepages"

/* Returns the number in a name such as "hugepages-2048kB"; 0: another name. */
static uint64_t size_kib(const char *name)
{
    static const char prefix[] = "hugepages-";
    const char *cursor = name + strlen(prefix);
    uint64_t kib;

    return strncmp(name, prefix, strlen(prefix)) == 0 && parse_u64(&cursor, &kib) == 0 ? kib
                                                                                       : 0;
}

static void find_sizes(struct huge_pages *pages, const struct root *root)
{
    int fd = root_open_dir(root, HUGE_PAGES_FOLDER);
    DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry;

    if (!folder) {
        if (fd >= 0)
            (void)close(fd);
        return;
    }
    while (pages->count < HUGE_PAGE_SIZES_MAX && (entry = readdir(folder))) {
        uint64_t kib = size_kib(entry->d_name);

        if (kib > 0)
            pages->sizes[pages->count++] =
                (struct huge_page_size){ kib, CACHED_FILE_CLOSED, CACHED_FILE_CLOSED };
    }
    (void)closedir(folder);
}

static uint64_t read_count(struct cached_file *file, const struct root *root, uint64_t kib,
                           const char *name)
{
    char text[32];
    uint64_t count;

    return cached_file_read_record(file, root, text, sizeof(text),
                                   HUGE_PAGES_FOLDER "/hugepages-%llukB/%s",
                                   (unsigned long long)kib, name) > 0 &&
                   parse_whole_u64(text, &count) == 0
               ? count
               : 0;
}

uint64_t huge_pages_read(struct huge_pages *pages, const struct root *root)
{
    uint64_t used_kib = 0;

    if (pages->count == 0)
        find_sizes(pages, root);
    for (size_t i = 0; i < pages->count; i++) {
        struct huge_page_size *size = &pages->sizes[i];
        uint64_t total = read_count(&size->total_file, root, size->kib, "nr_hugepages");

        if (total > 0)
            used_kib += size->kib * sub_floor0(total, read_count(&size->free_file, root,
                                                                 size->kib, "free_hugepages"));
    }
    return product_u64(used_kib, 1024);
}

void huge_pages_close(struct huge_pages *pages)
{
    for (size_t i = 0; i < pages->count; i++) {
        cached_file_close(&pages->sizes[i].total_file);
        cached_file_close(&pages->sizes[i].free_file);
    }
    pages->count = 0;
}
