/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fake_root.h"
#include "source/proc/pagemap.h"
#include "source/proc/same_memory.h"

#define PRESENT (1ull << 63)
#define SWAPPED (1ull << 62)
#define OF_FILE (1ull << 61)

static uint64_t page_bytes(void)
{
    return (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Ranges in pages, as text: "2-4 7-8 ". */
struct ranges {
    uint64_t origin;
    char text[4096];
};

static void note(uint64_t start, uint64_t end, void *data)
{
    struct ranges *ranges = data;
    size_t used = strlen(ranges->text);

    (void)snprintf(ranges->text + used, sizeof(ranges->text) - used, "%u-%u ",
                   (unsigned)((start - ranges->origin) / page_bytes()),
                   (unsigned)((end - ranges->origin) / page_bytes()));
}

/* Writes the entries of the first pages of process 7. */
static void put_entries(struct fake_root *fake, const uint64_t *entries, size_t count)
{
    char path[160];
    int fd;

    fake_root_write(fake, "proc/7/pagemap", "");
    (void)snprintf(path, sizeof(path), "%s/proc/7/pagemap", fake->path);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, entries, count * sizeof(*entries)), count * sizeof(*entries));
    assert_int_equal(close(fd), 0);
}

/* A plain file knows no PAGEMAP_SCAN, as a kernel before 6.7. */
static void without_the_scan_entries_are_read_one_by_one(void **state)
{
    const uint64_t entries[] = {
        0,
        PRESENT | OF_FILE,
        PRESENT | OF_FILE | 42,
        PRESENT, /* a private copy */
        SWAPPED | OF_FILE,
        PRESENT | OF_FILE,
        0,
        PRESENT | OF_FILE,
    };
    struct ranges ranges = { 0 };
    struct fake_root fake;
    int fd;

    (void)state;
    fake_root_init(&fake);
    put_entries(&fake, entries, ARRAY_SIZE(entries));
    fd = pagemap_open(&fake.root, 7);
    assert_true(fd >= 0);
    assert_int_equal(pagemap_scan(fd, 0, 8 * page_bytes(), note, &ranges), 0);
    assert_string_equal(ranges.text, "1-3 5-6 7-8 ");
    ranges.text[0] = '\0';
    assert_int_equal(pagemap_scan(fd, 2 * page_bytes(), 6 * page_bytes(), note, &ranges), 0);
    assert_string_equal(ranges.text, "2-3 5-6 ");
    /* The file ends before the area does: the process has ended. */
    assert_int_equal(pagemap_scan(fd, 0, 9 * page_bytes(), note, &ranges), -ESRCH);
    assert_int_equal(close(fd), 0);
    assert_int_equal(pagemap_open(&fake.root, 8), -ENOENT);
    fake_root_done(&fake);
}

static void a_range_may_go_on_beyond_one_read(void **state)
{
    enum { COUNT = 1500 };
    uint64_t entries[COUNT];
    struct ranges ranges = { 0 };
    struct fake_root fake;
    int fd;

    (void)state;
    for (size_t i = 0; i < COUNT; i++)
        entries[i] = i == 1400 ? 0 : PRESENT | OF_FILE;
    fake_root_init(&fake);
    put_entries(&fake, entries, COUNT);
    fd = pagemap_open(&fake.root, 7);
    assert_true(fd >= 0);
    assert_int_equal(pagemap_scan(fd, 0, COUNT * page_bytes(), note, &ranges), 0);
    assert_string_equal(ranges.text, "0-1400 1401-1500 ");
    assert_int_equal(close(fd), 0);
    fake_root_done(&fake);
}

/* On the live machine both ways see the pages that were touched, and only those. */
static void touched_pages_are_there(void **state)
{
    enum { PAGES = 64 };
    struct ranges ranges = { 0 }, entries = { 0 };
    int memory = memfd_create("pages", MFD_CLOEXEC);
    struct root root;
    char *map;
    int fd;

    (void)state;
    assert_true(memory >= 0);
    assert_int_equal(ftruncate(memory, (off_t)(PAGES * page_bytes())), 0);
    map = mmap(NULL, PAGES * page_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    assert_ptr_not_equal(map, MAP_FAILED);
    for (size_t page = 8; page < 12; page++)
        map[page * page_bytes()] = 1;
    map[63 * page_bytes()] = 1;
    assert_int_equal(root_open(NULL, &root), 0);
    fd = pagemap_open(&root, getpid());
    assert_true(fd >= 0);
    ranges.origin = entries.origin = (uint64_t)(uintptr_t)map;
    assert_int_equal(
        pagemap_scan(fd, ranges.origin, ranges.origin + PAGES * page_bytes(), note, &ranges),
        0);
    assert_int_equal(
        pagemap_read(fd, ranges.origin, ranges.origin + PAGES * page_bytes(), note, &entries),
        0);
    assert_string_equal(ranges.text, "8-12 63-64 ");
    assert_string_equal(entries.text, "8-12 63-64 ");
    assert_int_equal(close(fd), 0);
    root_close(&root);
    assert_int_equal(munmap(map, PAGES * page_bytes()), 0);
    assert_int_equal(close(memory), 0);
}

static void many_ranges_are_fetched_in_several_calls(void **state)
{
    enum { PAGES = 1200 };
    struct ranges ranges = { 0 };
    struct root root;
    char *map = mmap(NULL, PAGES * page_bytes(), PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    size_t count = 0;
    int fd;

    (void)state;
    assert_ptr_not_equal(map, MAP_FAILED);
    assert_int_equal(madvise(map, PAGES * page_bytes(), MADV_NOHUGEPAGE), 0);
    for (size_t page = 0; page < PAGES; page += 2)
        map[page * page_bytes()] = 1;
    assert_int_equal(root_open(NULL, &root), 0);
    fd = pagemap_open(&root, getpid());
    assert_true(fd >= 0);
    ranges.origin = (uint64_t)(uintptr_t)map;
    assert_int_equal(
        pagemap_scan(fd, ranges.origin, ranges.origin + PAGES * page_bytes(), note, &ranges),
        0);
    for (const char *c = ranges.text; *c; c++)
        count += *c == '-';
    assert_true(count > 300); /* as many as the text holds, and in order */
    assert_memory_equal(ranges.text, "0-1 2-3 4-5 ", 12);
    assert_non_null(strstr(ranges.text, " 510-511 512-513 514-515 "));
    assert_int_equal(close(fd), 0);
    root_close(&root);
    assert_int_equal(munmap(map, PAGES * page_bytes()), 0);
}

static void memory_of_a_fixture_is_nobody_elses(void **state)
{
    struct fake_root fake;
    struct root root;

    (void)state;
    assert_int_equal(root_open(NULL, &root), 0);
    assert_true(same_memory(&root, getpid(), getpid()));
    assert_false(same_memory(&root, getpid(), getppid()));
    root_close(&root);
    fake_root_init(&fake);
    assert_false(same_memory(&fake.root, getpid(), getpid()));
    fake_root_done(&fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_the_scan_entries_are_read_one_by_one),
        cmocka_unit_test(a_range_may_go_on_beyond_one_read),
        cmocka_unit_test(touched_pages_are_there),
        cmocka_unit_test(many_ranges_are_fetched_in_several_calls),
        cmocka_unit_test(memory_of_a_fixture_is_nobody_elses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
