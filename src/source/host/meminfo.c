/* SPDX-License-Identifier: Apache-2.0 */
#include "source/host/meminfo.h"

#include <errno.h>
#include <string.h>
#include <sys/sysinfo.h>

#include "base/amount.h"
#include "base/cleanup.h"
#include "base/compiler.h"
#include "base/parse.h"

/* ---- Parse /proc/meminfo: "MemTotal:       49364832 kB" -------------------- */

struct lines {
    struct meminfo info;
    uint64_t swap_free_bytes, writeback_bytes;
};

#define LINE(key, member)                             \
    {                                                 \
        key ":", offsetof(struct lines, member), 1024 \
    }

static const struct keyed_field fields[] = {
    LINE("MemTotal", info.total_bytes),
    LINE("MemFree", info.free_bytes),
    LINE("MemAvailable", info.available_bytes),
    LINE("Buffers", info.buffers_bytes),
    LINE("Cached", info.page_cache_bytes),
    LINE("Active", info.active_bytes),
    LINE("Inactive", info.inactive_bytes),
    LINE("Active(anon)", info.active_anon_bytes),
    LINE("Inactive(anon)", info.inactive_anon_bytes),
    LINE("SwapTotal", info.swap_total_bytes),
    LINE("SwapFree", swap_free_bytes),
    LINE("Dirty", info.dirty_bytes),
    LINE("Writeback", writeback_bytes),
    LINE("SReclaimable", info.reclaimable_bytes),
    LINE("Hugetlb", info.hugetlb_bytes),
};

int meminfo_parse(const char *text, struct meminfo *ret)
{
    struct lines lines;
    struct meminfo *info = &lines.info;
    uint64_t file_bytes;

    keyed_parse(text, fields, ARRAY_SIZE(fields), &lines);
    if (!is_known(info->total_bytes))
        return -EBADMSG;
    file_bytes = sum_u64(info->buffers_bytes, info->page_cache_bytes);
    info->cached_bytes = sum_u64(file_bytes, info->reclaimable_bytes);
    info->dirty_bytes = sum_u64(info->dirty_bytes, lines.writeback_bytes);
    /* Kernels before 3.14 have no MemAvailable. */
    if (!is_known(info->available_bytes))
        info->available_bytes = sum_u64(info->free_bytes, file_bytes);
    info->swap_used_bytes = UNKNOWN;
    if (is_known(info->swap_total_bytes) && lines.swap_free_bytes <= info->swap_total_bytes)
        info->swap_used_bytes = info->swap_total_bytes - lines.swap_free_bytes;
    *ret = *info;
    return 0;
}

/* ---- memory in use --------------------------------------------------------- */

uint64_t anonymous_bytes_read(struct cached_file *file, const struct root *root)
{
    char text[512]; /* the values are in the first lines */
    struct meminfo info;

    if (cached_file_read(file, root, READ_START, text, sizeof(text), "proc/meminfo") < 0 ||
        meminfo_parse(text, &info) < 0)
        return UNKNOWN;
    return sum_u64(info.active_anon_bytes, info.inactive_anon_bytes);
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

    return begins_with(name, prefix) && parse_u64(&cursor, &kib) == 0 ? kib : 0;
}

static void find_sizes(struct huge_pages *pages, const struct root *root)
{
    AUTO_CLOSEDIR DIR *folder = root_open_folder(root, HUGE_PAGES_FOLDER);
    const struct dirent *entry;

    while (folder && pages->count < HUGE_PAGE_SIZES_MAX && (entry = readdir(folder))) {
        uint64_t kib = size_kib(entry->d_name);

        if (kib > 0)
            pages->sizes[pages->count++] =
                (struct huge_page_size){ kib, CACHED_FILE_CLOSED, CACHED_FILE_CLOSED };
    }
}

static uint64_t read_count(struct cached_file *file, const struct root *root, uint64_t kib,
                           const char *name)
{
    char text[32];
    uint64_t count;

    return cached_file_read(file, root, READ_RECORD, text, sizeof(text),
                            HUGE_PAGES_FOLDER "/hugepages-%llukB/%s", (unsigned long long)kib,
                            name) > 0 &&
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
