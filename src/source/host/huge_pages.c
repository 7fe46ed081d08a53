/* SPDX-License-Identifier: Apache-2.0 */
#include "source/host/huge_pages.h"

#include <dirent.h>
#include <string.h>
#include <unistd.h>

#include "base/arithmetic.h"
#include "base/parse.h"

#define FOLDER "sys/kernel/mm/hugepages"

/* The number in a name such as "hugepages-2048kB"; 0: it is another name. */
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
    int fd = root_open_dir(root, FOLDER);
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
                                   FOLDER "/hugepages-%llukB/%s", (unsigned long long)kib,
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
