/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/compiler.h"
#include "fake_root.h"
#include "source/proc/smaps.h"
#include "unit_test.h"

#define HEAD "5572dac57000-5572dac59000 r--p 00001000 fe:01 247136                     "
#define LINES                                                                                 \
    "Size:                  8 kB\nKernelPageSize:        4 kB\nRss:                   8 kB\n" \
    "Pss:                   4 kB\nPss_Dirty:             9 kB\nShared_Clean:          5 kB\n" \
    "Shared_Dirty:          1 kB\nPrivate_Clean:         2 kB\nPrivate_Dirty:         0 kB\n" \
    "Referenced:            8 kB\nAnonymous:             3 kB\nKSM:                   1 kB\n" \
    "THPeligible:           0\nVmFlags: rd mr mw me \n"
#define STACK "7ffd00000000-7ffd00021000 rw-p 00000000 00:00 0                  [stack]\n" LINES

struct seen {
    struct smaps_area first, last;
    size_t count;
    uint64_t rss;
};

static int note(const struct smaps_area *area, void *data)
{
    struct seen *seen = data;

    if (seen->count++ == 0)
        seen->first = *area;
    seen->last = *area;
    seen->rss += area->sizes.rss;
    return 0;
}

static int parse(const char *text, struct seen *seen)
{
    int fd = memfd_create("smaps", MFD_CLOEXEC);
    int r;

    *seen = (struct seen){ 0 };
    assert_int_equal(pwrite(fd, text, strlen(text), 0), strlen(text));
    r = smaps_parse(fd, note, seen);
    close(fd);
    return r;
}

TEST(columns_and_lines_of_an_area_are_read)
{
    struct seen seen;

    assert_int_equal(parse(HEAD "/usr/bin/cat\n" LINES STACK, &seen), 0);
    assert_int_equal(seen.count, 2);
    assert_int_equal(seen.first.start, 0x5572dac57000);
    assert_int_equal(seen.first.end, 0x5572dac59000);
    assert_int_equal(seen.first.offset, 0x1000);
    assert_int_equal(seen.first.device, 0xfeull << 32 | 1);
    assert_int_equal(seen.first.inode, 247136);
    assert_int_equal(seen.first.sizes.rss, 8 * 1024);
    assert_int_equal(seen.first.sizes.pss, 4 * 1024);
    assert_int_equal(seen.first.sizes.shared_clean, 5 * 1024);
    assert_int_equal(seen.first.sizes.shared_dirty, 1024);
    assert_int_equal(seen.first.sizes.private_clean, 2 * 1024);
    assert_int_equal(seen.first.sizes.private_dirty, 0);
    assert_int_equal(seen.first.sizes.anonymous, 3 * 1024);
    assert_int_equal(seen.first.sizes.merged, 1024);
    assert_int_equal(seen.last.start, 0x7ffd00000000);
    assert_int_equal(seen.last.inode, 0);
}

/* The kernel may end a read anywhere: each packet is the result of one. */
TEST(lines_may_be_divided_between_reads)
{
    static const char text[] = HEAD "/usr/bin/cat\n" LINES STACK;
    static const size_t pieces[] = { 16, 61, 500, sizeof(text) };

    for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
        struct seen whole, seen = { .count = 0 };
        int fds[2];

        assert_int_equal(parse(text, &whole), 0);
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
        for (size_t at = 0; at < strlen(text); at += pieces[i]) {
            size_t left = strlen(text) - at, size = left < pieces[i] ? left : pieces[i];

            assert_int_equal(write(fds[1], text + at, size), size);
        }
        close(fds[1]);
        assert_int_equal(smaps_parse(fds[0], note, &seen), 0);
        assert_int_equal(seen.count, 2);
        assert_memory_equal(&seen, &whole, sizeof(seen));
        close(fds[0]);
    }
}

/* A path may be up to 4095 bytes of anything but a newline, and may look like a line of the
 * file. */
TEST(the_name_of_a_mapping_is_not_parsed_as_data)
{
    static const char *const names[] = { "Rss: 1000 kB", "5-6 r--p 0 0:0 0", "/a (deleted)",
                                         "\x01\xff\x7f", "/x\\012Rss: 9 kB" };
    char text[12000];
    struct seen seen;

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        (void)snprintf(text, sizeof(text), "%s%s\n%s", HEAD, names[i], LINES);
        assert_int_equal(parse(text, &seen), 0);
        assert_int_equal(seen.count, 1);
        assert_int_equal(seen.rss, 8 * 1024);
    }
    (void)snprintf(text, sizeof(text), "%s%04000d\n%s", HEAD, 7, LINES);
    assert_int_equal(parse(text, &seen), 0);
    assert_int_equal(seen.first.inode, 247136);
}

TEST(an_old_kernel_does_not_report_merged_pages)
{
    struct seen seen;

    assert_int_equal(parse("1000-2000 r--p 00000000 00:00 0 \nRss: 4 kB\nPss: 4 kB\n"
                           "Shared_Clean: 0 kB\nShared_Dirty: 0 kB\nPrivate_Clean: 4 kB\n"
                           "Private_Dirty: 0 kB\nAnonymous: 4 kB\n",
                           &seen),
                     0);
    assert_int_equal(seen.first.sizes.merged, 0);
}

TEST(damaged_text_is_refused)
{
    static const char *const damaged[] = {
        LINES,                /* no area */
        "x" HEAD "\n" LINES,  /* no valid area */
        HEAD "\n",            /* no lines */
        HEAD "\nRss: 1 kB\n", /* too few lines */
        HEAD "\nRss: 1 kB",   /* truncated in a line */
        HEAD "\nRss: x kB\n", /* no number */
        HEAD "\nRss: -1 kB\n",
        HEAD "\nRss: 99999999999999999999 kB\n",
        HEAD "\nRss: 999999999999999999 kB\n" LINES,
        "5572dac57000 r--p 0 0:0 0\n" LINES,
        "5572dac57000-\n" LINES,
        "5572dac57000-5572dac59000\n" LINES,
        "5572dac57000-5572dac59000 r--p\n" LINES,
        "5572dac57000-5572dac59000 r--p 0 0 0\n" LINES,
        "5572dac57000-5572dac59000 r--p 0 0:0\n" LINES,
        "5572dac57000-5572dac59000 r--p 0 0:0 x\n" LINES,
        "5572dac59000-5572dac57000 r--p 0 0:0 0\n" LINES, /* ends before it starts */
        "15572dac5700015572dac57000-1 r--p 0 0:0 0\n" LINES,
        "1000-2000 r--p 0 123456789:0 0\n" LINES,
    };
    struct seen seen;

    for (size_t i = 0; i < ARRAY_SIZE(damaged); i++)
        assert_int_equal(parse(damaged[i], &seen), -EBADMSG);
}

FAKE_ROOT_TEST(an_empty_smaps_text_means_that_the_process_exited)
{
    struct fake_root *fake = *state;
    struct seen seen;

    assert_int_equal(parse("", &seen), -ESRCH);
    fake_root_write(fake, "proc/7/smaps", "");
    assert_int_equal(smaps_read(&fake->root, 7, note, &seen), -ESRCH);
    assert_int_equal(smaps_read(&fake->root, 8, note, &seen), -ENOENT);
}

FAKE_ROOT_TEST(a_large_smaps_file_is_read_in_pieces)
{
    struct fake_root *fake = *state;
    enum { COUNT = 10000 };
    static const char one[] = HEAD "/usr/bin/cat\n" LINES;
    char *text = malloc(COUNT * sizeof(one));
    struct seen seen = { 0 };

    assert_non_null(text);
    for (size_t i = 0; i < COUNT; i++)
        memcpy(text + i * (sizeof(one) - 1), one, sizeof(one));
    fake_root_write(fake, "proc/7/smaps", text);
    assert_int_equal(smaps_read(&fake->root, 7, note, &seen), 0);
    assert_int_equal(seen.count, COUNT);
    assert_int_equal(seen.rss, COUNT * 8 * 1024);
    free(text);
}

static int stop_at_two(UNUSED const struct smaps_area *area, void *data)
{
    return ++*(int *)data == 2 ? -E2BIG : 0;
}

FAKE_ROOT_TEST(the_callback_can_end_the_reading)
{
    struct fake_root *fake = *state;
    int count = 0;

    fake_root_write(fake, "proc/7/smaps", STACK STACK STACK STACK);
    assert_int_equal(smaps_read(&fake->root, 7, stop_at_two, &count), -E2BIG);
    assert_int_equal(count, 2);
}

TEST(the_rollup_has_merged_pages)
{
    struct smaps_rollup rollup;

    assert_int_equal(smaps_rollup_parse(LINES, &rollup), 0);
    assert_int_equal(rollup.merged, 1024);
}

/* The kernel computes both files from the same page tables. */
TEST(areas_add_up_to_the_rollup)
{
    struct smaps_rollup rollup;
    struct seen seen = { 0 };
    struct root root;

    assert_int_equal(root_open(NULL, &root), 0);
    assert_int_equal(smaps_read(&root, getpid(), note, &seen), 0);
    assert_int_equal(smaps_rollup_read(&root, getpid(), &rollup), 0);
    assert_true(seen.count > 5);
    assert_true(seen.rss > rollup.rss / 100 * 95 && seen.rss < rollup.rss / 100 * 105);
    root_close(&root);
}
