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
#include <unistd.h>

#include "fake_root.h"
#include "job/memory/page_scan.h"

#define HAS ((1ull << 63) | (1ull << 61))

enum { MAIN = 1, CHILD = 2 };

static uint64_t page_bytes(void)
{
    return (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Says which of the first pages of a process are there: "..xx". Addresses start at 0. */
static void put_pages(struct fake_root *fake, int pid, const char *pages)
{
    char path[160], name[64];
    int fd;

    (void)snprintf(name, sizeof(name), "proc/%d/pagemap", pid);
    fake_root_write(fake, name, "");
    (void)snprintf(path, sizeof(path), "%s/%s", fake->path, name);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    for (const char *page = pages; *page; page++) {
        uint64_t entry = *page == 'x' ? HAS : 0;

        assert_int_equal(write(fd, &entry, sizeof(entry)), sizeof(entry));
    }
    assert_int_equal(close(fd), 0);
}

/* An area of pages: address, offset, count. So little of it is shared that it is never
 * clear with whom. */
static void put_area(struct memory_areas *areas, uint64_t start, uint64_t offset,
                     uint64_t count)
{
    const struct smaps_area area = {
        .start = start * page_bytes(),
        .end = (start + count) * page_bytes(),
        .offset = offset * page_bytes(),
        .inode = 9,
        .rss = count * page_bytes(),
        .shared_clean = page_bytes(),
    };

    assert_int_equal(memory_areas_add(areas, &area), 0);
}

struct fixture {
    struct fake_root fake;
    struct memory_areas areas;
    struct page_scan scan;
    struct page_scan_look look;
    struct group_bytes pages; /* the answer */
};

static void begin(struct fixture *f)
{
    *f = (struct fixture){ 0 };
    fake_root_init(&f->fake);
    memory_areas_clear(&f->areas, MEMORY_AREAS_MAX);
    f->look = (struct page_scan_look){ .scan = &f->scan,
                                       .root = &f->fake.root,
                                       .allowance_ns = UINT64_MAX };
}

/* Asks, through the estimate that sorts the areas and cuts them into files. */
static size_t ask(struct fixture *f)
{
    struct file_resolver resolver = { page_scan_resolve, &f->look, 0 };
    struct shared_files files;

    assert_int_equal(shared_files_estimate(&f->areas, &resolver, &files), 0);
    f->pages = (struct group_bytes){ files.total.main / page_bytes(),
                                     files.total.descendants / page_bytes(),
                                     files.total.combined / page_bytes() };
    return files.resolved_count;
}

static void end(struct fixture *f)
{
    memory_areas_done(&f->areas);
    fake_root_done(&f->fake);
}

static void add_process(struct fixture *f, int pid)
{
    assert_int_equal(memory_areas_add_process(&f->areas, pid, pid == MAIN), 0);
}

static void pages_count_once_whoever_maps_them(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f);
    put_pages(&f.fake, MAIN, "xx........");
    put_pages(&f.fake, CHILD, ".xxx......");
    put_pages(&f.fake, CHILD + 1, "...xx.....");
    for (int pid = MAIN; pid <= CHILD + 1; pid++) {
        add_process(&f, pid);
        put_area(&f.areas, 0, 100, 10);
    }
    assert_int_equal(ask(&f), 1);
    assert_int_equal(f.pages.main, 2);
    assert_int_equal(f.pages.descendants, 4);
    assert_int_equal(f.pages.combined, 5);
    end(&f);
}

/* Areas at other addresses, overlapping, with gaps between them, and one page twice. */
static void what_counts_is_the_place_in_the_file(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f);
    /*                       0123456789 */
    put_pages(&f.fake, MAIN, "xxx..xxx..");
    put_pages(&f.fake, CHILD, "x...xx....");
    add_process(&f, MAIN);
    put_area(&f.areas, 0, 0, 3); /* pages 0, 1, 2 */
    put_area(&f.areas, 5, 1, 3); /* pages 1, 2, 3 */
    add_process(&f, CHILD);
    put_area(&f.areas, 0, 1000000, 1); /* far behind */
    put_area(&f.areas, 4, 3, 2);       /* pages 3, 4 */
    assert_int_equal(ask(&f), 1);
    assert_int_equal(f.pages.main, 4);
    assert_int_equal(f.pages.descendants, 3);
    assert_int_equal(f.pages.combined, 6);
    end(&f);
}

/* Pages that were written to are no pages of the file any more. */
static void private_copies_are_added(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f);
    put_pages(&f.fake, CHILD, "xx........");
    put_pages(&f.fake, CHILD + 1, "..........");
    for (int pid = CHILD; pid <= CHILD + 1; pid++) {
        add_process(&f, pid);
        put_area(&f.areas, 0, 0, 10);
        f.areas.list[f.areas.count - 1].anonymous = 3 * page_bytes();
        f.areas.list[f.areas.count - 1].bytes.own = page_bytes();
    }
    assert_int_equal(ask(&f), 1);
    /* 2 of the file, 1 own copy of each, and 2 that both have by fork */
    assert_int_equal(f.pages.combined, 6);
    end(&f);
}

static void an_answer_stands_while_the_size_does(void **state)
{
    struct fixture f;
    char path[160];

    (void)state;
    begin(&f);
    for (int pid = CHILD; pid <= CHILD + 1; pid++) {
        put_pages(&f.fake, pid, "xxxx......");
        add_process(&f, pid);
        put_area(&f.areas, 0, 0, 10);
    }
    assert_int_equal(ask(&f), 1);
    assert_int_equal(f.look.scan_count, 1);

    /* Nothing to read any more: 5 % of movement is answered all the same. */
    (void)snprintf(path, sizeof(path), "%s/proc/%d/pagemap", f.fake.path, CHILD);
    assert_int_equal(unlink(path), 0);
    f.areas.list[0].rss -= page_bytes();
    assert_int_equal(ask(&f), 1);
    assert_int_equal(f.pages.combined, 4);
    assert_int_equal(f.look.scan_count, 1);

    /* More is not. */
    f.areas.list[0].rss -= page_bytes();
    assert_int_equal(ask(&f), 0);
    end(&f);
}

static void a_scan_that_costs_too_much_is_not_begun(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f);
    for (int pid = CHILD; pid <= CHILD + 1; pid++) {
        put_pages(&f.fake, pid, "xxxx......");
        add_process(&f, pid);
        put_area(&f.areas, 0, 0, 10);
    }
    f.look.allowance_ns = 100;
    assert_int_equal(ask(&f), 0);
    assert_true(f.look.refused_ns > 100);
    f.look.allowance_ns = UINT64_MAX;
    assert_int_equal(ask(&f), 1);
    end(&f);
}

static void a_file_of_terabytes_is_left_alone(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f);
    for (int pid = CHILD; pid <= CHILD + 1; pid++) {
        add_process(&f, pid);
        put_area(&f.areas, 0, 0, 1u << 30);
        f.areas.list[pid - CHILD].rss = 10 * page_bytes();
        f.areas.list[pid - CHILD].bytes.shared = 10 * page_bytes();
    }
    assert_int_equal(ask(&f), 0);
    assert_int_equal(f.pages.combined, 10);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_count_once_whoever_maps_them),
        cmocka_unit_test(what_counts_is_the_place_in_the_file),
        cmocka_unit_test(private_copies_are_added),
        cmocka_unit_test(an_answer_stands_while_the_size_does),
        cmocka_unit_test(a_scan_that_costs_too_much_is_not_begun),
        cmocka_unit_test(a_file_of_terabytes_is_left_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
