/* SPDX-License-Identifier: Apache-2.0 */
#include "job/memory/page_scan.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compiler.h"
#include "job/memory/cpu_spent.h"
#include "source/proc/pagemap.h"

/* 32 GiB of small pages of one file: two bitmaps of 1 MiB. */
enum { PAGES_MAX = 1 << 23 };

/* What a scan is likely to cost. */
#define COST_PER_AREA_NS 10000u
#define COST_PER_PAGE_NS 16u

enum { WORD_BITS = 64 };

/* The pages of a file that lie in areas, counted from the highest down: the areas come
 * in the order of their ends, and so a gap between them costs no bits. */
struct bitmap {
    uint64_t *words[2]; /* of the descendants, of main */
    size_t word_count;
    uint64_t page_bytes;
    uint64_t base;       /* the bit of the highest page of the run at hand */
    uint64_t run_end;    /* offset where the run ends */
    uint64_t run_start;  /* offset where it starts, as far as seen */
    uint64_t *target;    /* where the area at hand goes */
    uint64_t area_start; /* its first address ... */
    uint64_t area_offset;
};

static void mark(uint64_t start, uint64_t end, void *data)
{
    struct bitmap *bitmap = data;

    for (uint64_t address = start; address < end; address += bitmap->page_bytes) {
        uint64_t offset = bitmap->area_offset + (address - bitmap->area_start);
        uint64_t bit = bitmap->base + (bitmap->run_end - offset) / bitmap->page_bytes - 1;

        if (bit / WORD_BITS < bitmap->word_count)
            bitmap->target[bit / WORD_BITS] |= 1ull << bit % WORD_BITS;
    }
}

/* Goes on to an area that ends no later than those before. */
static void enter_area(struct bitmap *bitmap, const struct memory_area *area, bool is_main)
{
    if (area->offset_end <= bitmap->run_start) {
        bitmap->base += (bitmap->run_end - bitmap->run_start) / bitmap->page_bytes;
        bitmap->run_end = area->offset_end;
        bitmap->run_start = area->offset;
    } else if (area->offset < bitmap->run_start) {
        bitmap->run_start = area->offset;
    }
    bitmap->target = bitmap->words[is_main];
    bitmap->area_start = area->start;
    bitmap->area_offset = area->offset;
}

static int scan_areas(const struct root *root, const struct file_areas *file,
                      struct bitmap *bitmap)
{
    for (size_t i = file->count; i-- > 0;) {
        const struct memory_area *area = &file->list[i];
        const struct area_process *process = &file->all->processes[area->process];
        AUTO_CLOSE int fd = pagemap_open(root, process->pid);
        int r;

        if (fd < 0)
            return fd;
        enter_area(bitmap, area, process->is_main);
        r = pagemap_scan(fd, area->start, area->start + (area->offset_end - area->offset), mark,
                         bitmap);
        if (r < 0)
            return r;
    }
    return 0;
}

static uint64_t count_ones(uint64_t word)
{
    return (uint64_t)__builtin_popcountll(word);
}

static int scan(const struct root *root, const struct file_areas *file, struct group_bytes *ret)
{
    struct bitmap bitmap = { .page_bytes = root->page_bytes };
    uint64_t pages = file->span_bytes / bitmap.page_bytes;
    const struct memory_area *last = &file->list[file->count - 1];
    AUTO_FREE uint64_t *words = NULL;
    struct group_bytes pages_of = { 0 };
    int r;

    if (pages > PAGES_MAX)
        return -EFBIG;
    bitmap.word_count = (size_t)pages / WORD_BITS + 1;
    words = calloc(2 * bitmap.word_count, sizeof(*words));
    if (!words)
        return -ENOMEM;
    bitmap.words[0] = words;
    bitmap.words[1] = words + bitmap.word_count;
    bitmap.run_start = bitmap.run_end = last->offset_end;
    r = scan_areas(root, file, &bitmap);
    if (r < 0)
        return r;
    for (size_t i = 0; i < bitmap.word_count; i++) {
        pages_of.descendants += count_ones(bitmap.words[0][i]);
        pages_of.main += count_ones(bitmap.words[1][i]);
        pages_of.combined += count_ones(bitmap.words[0][i] | bitmap.words[1][i]);
    }
    *ret = (struct group_bytes){
        .main = pages_of.main * bitmap.page_bytes,
        .descendants = pages_of.descendants * bitmap.page_bytes,
        .combined = pages_of.combined * bitmap.page_bytes,
    };
    return 0;
}

/* ---- private copies of the file's pages --------------------------------- */

/* The copies are no pages of the file: they are added as smaps tells them. Those that
 * processes share by fork count as often as the process with the most has them. */
static int add_anonymous(const struct file_areas *file, struct group_bytes *total)
{
    const struct memory_areas *all = file->all;
    AUTO_FREE uint64_t *shared = calloc(all->process_count, sizeof(*shared));
    uint64_t main_max = 0, descendants_max = 0;

    if (!shared)
        return -ENOMEM;
    for (size_t i = 0; i < file->count; i++) {
        const struct memory_area *area = &file->list[i];
        uint64_t own = area->anonymous < area->bytes.own ? area->anonymous : area->bytes.own;

        *(all->processes[area->process].is_main ? &total->main : &total->descendants) += own;
        total->combined += own;
        shared[area->process] += area->anonymous - own;
    }
    for (size_t i = 0; i < all->process_count; i++) {
        uint64_t *max = all->processes[i].is_main ? &main_max : &descendants_max;

        if (shared[i] > *max)
            *max = shared[i];
    }
    total->main += main_max;
    total->descendants += descendants_max;
    total->combined += main_max > descendants_max ? main_max : descendants_max;
    return 0;
}

/* ---- what is remembered ------------------------------------------------- */

static bool is_near(uint64_t a, uint64_t b)
{
    uint64_t difference = a > b ? a - b : b - a;

    return difference <= a / 20;
}

static struct scanned_file *find(struct page_scan *scan, const struct scanned_file *wanted)
{
    for (size_t i = 0; i < ARRAY_SIZE(scan->files); i++) {
        struct scanned_file *file = &scan->files[i];

        if (file->area_count > 0 && file->device == wanted->device &&
            file->inode == wanted->inode)
            return file;
    }
    return NULL;
}

/* Keeps the answer in place of an older one. */
static void remember(struct page_scan *scan, const struct scanned_file *entry)
{
    struct scanned_file *place = find(scan, entry);

    if (!place) {
        place = &scan->files[scan->next];
        scan->next = (scan->next + 1) % SCANNED_FILES;
    }
    *place = *entry;
}

static uint64_t rss_of(const struct file_areas *file)
{
    uint64_t rss = 0;

    for (size_t i = 0; i < file->count; i++)
        rss += file->list[i].rss;
    return rss;
}

static int scan_within(struct page_scan_look *look, const struct file_areas *file,
                       struct scanned_file *entry)
{
    uint64_t cost_ns =
        file->count * COST_PER_AREA_NS + entry->rss / look->root->page_bytes * COST_PER_PAGE_NS;
    uint64_t started_ns = cpu_spent_ns(look->root);
    uint64_t spent_ns;
    int r;

    if (cost_ns > look->allowance_ns) {
        look->refused_ns += cost_ns;
        return -EBUSY;
    }
    r = scan(look->root, file, &entry->mapped);
    spent_ns = cpu_spent_ns(look->root) - started_ns;
    look->allowance_ns = look->allowance_ns > spent_ns ? look->allowance_ns - spent_ns : 0;
    if (r < 0)
        return r;
    look->scan_count++;
    remember(look->scan, entry);
    return 0;
}

int page_scan_resolve(void *data, const struct file_areas *file, struct group_bytes *ret)
{
    struct page_scan_look *look = data;
    struct scanned_file entry = {
        .device = file->list[0].device,
        .inode = file->list[0].inode,
        .rss = rss_of(file),
        .area_count = file->count,
    };
    const struct scanned_file *known = find(look->scan, &entry);
    struct group_bytes total;
    int r;

    if (known && known->area_count == entry.area_count && is_near(known->rss, entry.rss)) {
        entry.mapped = known->mapped;
    } else {
        r = scan_within(look, file, &entry);
        if (r < 0)
            return r;
    }
    total = entry.mapped;
    r = add_anonymous(file, &total);
    if (r < 0)
        return r;
    *ret = total;
    return 0;
}
