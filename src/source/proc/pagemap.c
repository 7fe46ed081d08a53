/* SPDX-License-Identifier: Apache-2.0 */
#include "source/proc/pagemap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compiler.h"

/* What <linux/fs.h> has since 6.7. Declared here, since the headers of the machine that
 * builds may be older than the kernel that runs. */
struct scan_range {
    uint64_t start;
    uint64_t end;
    uint64_t categories;
};

struct scan_request {
    uint64_t size; /* of this struct */
    uint64_t flags;
    uint64_t start;
    uint64_t end;
    uint64_t walk_end; /* out: how far it came */
    uint64_t ranges;   /* address of the results */
    uint64_t range_count;
    uint64_t max_pages;
    uint64_t inverted_mask;
    uint64_t category_mask; /* all of these */
    uint64_t any_of_mask;
    uint64_t return_mask;
};

#define PAGEMAP_SCAN_REQUEST _IOWR('f', 16, struct scan_request)
#define CATEGORY_FILE (1u << 2)
#define CATEGORY_PRESENT (1u << 3)

/* The bits of an entry. */
#define ENTRY_PRESENT (1ull << 63)
#define ENTRY_FILE (1ull << 61)

int pagemap_open(const struct root *root, pid_t pid)
{
    AUTO_CLOSE int folder = root_open_dir(root, "proc/%d", (int)pid);
    int fd;

    if (folder < 0)
        return folder;
    fd = openat(folder, "pagemap", O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

int pagemap_read(int fd, uint64_t start, uint64_t end, pagemap_each *each, void *data)
{
    const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t range_start = 0, range_end = 0;
    uint64_t entries[512] = { 0 };

    for (uint64_t address = start; address < end;) {
        uint64_t left = (end - address) / page_bytes;
        size_t wanted = left < ARRAY_SIZE(entries) ? (size_t)left : ARRAY_SIZE(entries);
        ssize_t n = pread(fd, entries, wanted * sizeof(entries[0]),
                          (off_t)(address / page_bytes * sizeof(entries[0])));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < (ssize_t)sizeof(entries[0]))
            return n < 0 ? -errno : -ESRCH;
        for (size_t i = 0; i < (size_t)n / sizeof(entries[0]); i++, address += page_bytes) {
            if (!(entries[i] & ENTRY_PRESENT) || !(entries[i] & ENTRY_FILE))
                continue;
            if (address != range_end) {
                if (range_end != range_start)
                    each(range_start, range_end, data);
                range_start = address;
            }
            range_end = address + page_bytes;
        }
    }
    if (range_end != range_start)
        each(range_start, range_end, data);
    return 0;
}

/* The error of a kernel that does not know the request, or does not let us ask. */
static bool is_unavailable(int error)
{
    return error == ENOTTY || error == EINVAL || error == ENOSYS || error == EPERM;
}

int pagemap_scan(int fd, uint64_t start, uint64_t end, pagemap_each *each, void *data)
{
    struct scan_range ranges[256] = { 0 };
    struct scan_request request = {
        .size = sizeof(request),
        .start = start,
        .end = end,
        .ranges = (uint64_t)(uintptr_t)ranges,
        .range_count = ARRAY_SIZE(ranges),
        .category_mask = CATEGORY_FILE | CATEGORY_PRESENT,
        .return_mask = CATEGORY_FILE | CATEGORY_PRESENT,
    };

    while (request.start < end) {
        int n = ioctl(fd, PAGEMAP_SCAN_REQUEST, &request);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && is_unavailable(errno) && request.start == start)
            return pagemap_read(fd, start, end, each, data);
        if (n < 0)
            return -errno;
        for (int i = 0; i < n; i++)
            each(ranges[i].start, ranges[i].end, data);
        if (request.walk_end <= request.start)
            return -ESRCH; /* it makes no way: nothing is there any more */
        request.start = request.walk_end;
    }
    return 0;
}
