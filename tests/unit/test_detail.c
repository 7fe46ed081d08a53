/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/unknown.h"
#include "fake_root.h"
#include "job/borrowed_memory.h"
#include "job/detail.h"

#define MB ((uint64_t)1024 * 1024)

enum { MAIN = 10, CHILD = 11 };

/* A process of the fixture, in MB: memory of its own, and a part of a file that is shared
 * with others, `file_pss` of it its part. */
struct fake_memory {
    int pid;
    unsigned own, shared, shared_pss; /* of no file */
    unsigned file, file_pss, file_offset;
    unsigned twice; /* the file is mapped once more, this much later */
    unsigned merged, hugetlb;
};

static void write_file(struct fake_root *fake, int pid, const char *name, const char *text)
{
    char path[64];

    (void)snprintf(path, sizeof(path), "proc/%d/%s", pid, name);
    fake_root_write(fake, path, text);
}

static unsigned resident(const struct fake_memory *m)
{
    return m->own + m->shared + m->merged + m->file * (m->twice ? 2 : 1);
}

static void put_statm(struct fake_root *fake, int pid, unsigned megabytes)
{
    char text[64];

    (void)snprintf(text, sizeof(text), "%u %u 0 0 0 0 0\n", megabytes * 256, megabytes * 256);
    write_file(fake, pid, "statm", text);
}

static void put_rollup(struct fake_root *fake, const struct fake_memory *m)
{
    unsigned files = m->file * (m->twice ? 2 : 1), parts = m->file_pss * (m->twice ? 2 : 1);
    char text[1024];

    (void)snprintf(
        text, sizeof(text),
        "0-1 ---p 0 00:00 0 [rollup]\nRss: %u kB\nPss: %u kB\nPss_Anon: %u kB\n"
        "Pss_File: %u kB\nPss_Shmem: 0 kB\nShared_Clean: %u kB\nShared_Dirty: %u kB\n"
        "Private_Clean: 0 kB\nPrivate_Dirty: %u kB\nAnonymous: %u kB\nKSM: %u kB\n"
        "Shared_Hugetlb: %u kB\nPrivate_Hugetlb: 0 kB\n",
        resident(m) * 1024, (m->own + m->shared_pss + parts) * 1024,
        (m->own + m->shared_pss) * 1024, parts * 1024, files * 1024,
        (m->shared + m->merged) * 1024, m->own * 1024, (m->own + m->shared + m->merged) * 1024,
        m->merged * 1024, m->hugetlb * 1024);
    write_file(fake, m->pid, "smaps_rollup", text);
}

static void put_area(char *text, size_t size, uint64_t start, unsigned offset, unsigned inode,
                     const unsigned numbers[6])
{
    unsigned rss = numbers[0] + numbers[1];

    (void)snprintf(text, size,
                   "%llx-%llx rw-p %llx 01:02 %u  /x\nRss: %u kB\nPss: %u kB\n"
                   "Shared_Clean: %u kB\nShared_Dirty: 0 kB\nPrivate_Clean: 0 kB\n"
                   "Private_Dirty: %u kB\nAnonymous: %u kB\nKSM: %u kB\n",
                   (unsigned long long)start, (unsigned long long)(start + rss * MB),
                   (unsigned long long)(offset * MB), inode, rss * 1024, numbers[2] * 1024,
                   numbers[1] * 1024, numbers[0] * 1024, numbers[3] * 1024, numbers[4] * 1024);
}

/* Numbers of an area: own, shared, PSS, anonymous, merged. */
static void put_smaps(struct fake_root *fake, const struct fake_memory *m)
{
    char anonymous[512], file[512], again[512], text[1600];

    again[0] = '\0';
    put_area(anonymous, sizeof(anonymous), 0x10000000, 0, 0,
             (const unsigned[6]){ m->own, m->shared + m->merged, m->own + m->shared_pss,
                                  m->own + m->shared + m->merged, m->merged });
    put_area(file, sizeof(file), 0x7000000000, m->file_offset, 99,
             (const unsigned[6]){ 0, m->file, m->file_pss });
    if (m->twice)
        put_area(again, sizeof(again), 0x7100000000, m->file_offset + m->twice, 99,
                 (const unsigned[6]){ 0, m->file, m->file_pss });
    (void)snprintf(text, sizeof(text), "%s%s%s", anonymous, file, again);
    write_file(fake, m->pid, "smaps", text);
}

struct fixture {
    struct fake_root fake;
    struct detail detail;
    struct members members;
    struct memory_estimate estimate;
    uint64_t now_ns;
};

static void begin(struct fixture *f, enum spoor_detail mode)
{
    *f = (struct fixture){ .now_ns = NS_PER_SECOND };
    fake_root_init(&f->fake);
    detail_init(&f->detail, mode, true, true);
}

static void end(struct fixture *f)
{
    detail_done(&f->detail);
    members_done(&f->members);
    fake_root_done(&f->fake);
}

static struct member *add_member(struct fixture *f, int pid, uint64_t rss_bytes)
{
    const struct member member = {
        .pid = pid,
        .parent_pid = MAIN,
        .has_exec = true,
        .stat_file = KEPT_CLOSED,
        .statm_file = KEPT_CLOSED,
        .io_file = KEPT_CLOSED,
        .children_file = KEPT_CLOSED,
        .rss_bytes = rss_bytes,
        .detail_rss_bytes = rss_bytes,
    };

    f->detail.members_changed = true;
    return members_add(&f->members, &member);
}

/* A process as it is now, new or changed. */
static void put(struct fixture *f, const struct fake_memory *m)
{
    struct member *member = members_find(&f->members, m->pid);
    uint64_t rss_bytes = resident(m) * MB;

    if (!member)
        member = add_member(f, m->pid, rss_bytes);
    assert_non_null(member);
    member->rss_bytes = rss_bytes;
    put_statm(&f->fake, m->pid, resident(m));
    put_rollup(&f->fake, m);
    put_smaps(&f->fake, m);
}

static void update(struct fixture *f)
{
    f->now_ns += NS_PER_SECOND;
    detail_update(&f->detail, &f->fake.root, &f->members, MAIN, f->now_ns, &f->estimate);
}

static void follow(struct fixture *f)
{
    detail_follow(&f->detail, &f->members, MAIN, &f->estimate);
}

static void remove_file(struct fixture *f, int pid, const char *name)
{
    char path[160];

    (void)snprintf(path, sizeof(path), "%s/proc/%d/%s", f->fake.path, pid, name);
    assert_int_equal(unlink(path), 0);
}

/* Main and two children that show parts of a file which an outsider maps too: the children
 * megabytes 0-100 and 100-200, of which the sums tell only that they are 100 or more. */
static void put_file_job(struct fixture *f)
{
    put(f, &(struct fake_memory){ .pid = MAIN, .own = 10 });
    put(f, &(struct fake_memory){ .pid = CHILD, .own = 10, .file = 100, .file_pss = 33 });
    put(f, &(struct fake_memory){
               .pid = CHILD + 1, .own = 10, .file = 100, .file_pss = 33, .file_offset = 100 });
}

static void mappings_settle_what_sums_leave_open(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, SPOOR_DETAIL_AUTO);
    put_file_job(&f);
    update(&f);
    assert_int_equal(f.estimate.combined.total_bytes, 230 * MB);
    assert_int_equal(f.estimate.combined.private_bytes, 30 * MB);
    assert_int_equal(f.estimate.combined.shared_bytes, 200 * MB);
    assert_int_equal(f.estimate.descendants.total_bytes, 220 * MB);
    assert_int_equal(f.estimate.main.total_bytes, 10 * MB);
    assert_int_equal(f.detail.sharing.reads, 1);
    end(&f);
}

static void each_level_can_be_switched_off(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, SPOOR_DETAIL_AUTO);
    f.detail.sharing.uses_smaps = false;
    put_file_job(&f);
    update(&f);
    assert_int_equal(f.estimate.combined.total_bytes, 130 * MB);
    assert_int_equal(f.estimate.ambiguity_bytes, 100 * MB);
    assert_int_equal(f.detail.sharing.reads, 0);
    end(&f);
}

static void a_correction_is_kept_while_files_stand_still(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, SPOOR_DETAIL_ALWAYS);
    put_file_job(&f);
    update(&f);
    /* Main grows; its mappings are not looked at again. */
    put(&f, &(struct fake_memory){ .pid = MAIN, .own = 60 });
    update(&f);
    assert_int_equal(f.estimate.combined.total_bytes, 280 * MB);
    assert_int_equal(f.detail.sharing.reads, 1);
    /* The file's part moves by a tenth. */
    put(&f, &(struct fake_memory){ .pid = CHILD, .own = 10, .file = 80, .file_pss = 27 });
    update(&f);
    assert_int_equal(f.detail.sharing.reads, 2);
    assert_int_equal(f.estimate.combined.total_bytes, 260 * MB);
    /* A process comes. */
    put(&f, &(struct fake_memory){ .pid = CHILD + 2, .own = 5 });
    update(&f);
    assert_int_equal(f.detail.sharing.reads, 3);
    assert_int_equal(f.estimate.combined.total_bytes, 265 * MB);
    end(&f);
}

/* A file shown twice, 50 MB later: 150 of 200 resident MB are distinct. Between reads the
 * total follows the size from there; it does not jump to it. */
static void a_file_mapped_twice_counts_once(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, SPOOR_DETAIL_AUTO);
    put(&f, &(struct fake_memory){
                .pid = MAIN, .own = 10, .file = 100, .file_pss = 75, .twice = 50 });
    update(&f);
    assert_int_equal(f.estimate.main.total_bytes, 160 * MB);
    assert_int_equal(f.estimate.combined.total_bytes, 160 * MB);
    members_find(&f.members, MAIN)->rss_bytes += MB;
    follow(&f);
    assert_int_equal(f.estimate.combined.total_bytes, 161 * MB);
    assert_int_equal(f.estimate.main.total_bytes, 161 * MB);
    end(&f);
}

/* A doubt that proved to be nothing is not looked into at every change. */
static void libraries_are_not_suspected_twice(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, SPOOR_DETAIL_ALWAYS);
    put(&f, &(struct fake_memory){ .pid = MAIN, .own = 10, .file = 20, .file_pss = 1 });
    update(&f);
    assert_int_equal(f.detail.sharing.reads, 1);
    assert_int_equal(f.estimate.main.total_bytes, 30 * MB);
    put(&f, &(struct fake_memory){ .pid = CHILD, .own = 10 });
    update(&f);
    assert_int_equal(f.detail.sharing.reads, 1);
    end(&f);
}

static void what_there_is_no_time_for_is_done_later(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, SPOOR_DETAIL_AUTO);
    f.detail.tokens_ns = 12 * (int64_t)NS_PER_MS; /* enough for the sums alone */
    f.detail.sharing.areas_per_process = 3000;
    put_file_job(&f);
    update(&f);
    assert_int_equal(f.detail.reads, 1);
    assert_int_equal(f.detail.sharing.reads, 0);
    assert_true(f.detail.is_unsettled);
    assert_int_equal(f.estimate.combined.total_bytes, 130 * MB);
    /* Nothing moves, but time comes together: 10 ms in a second. */
    for (int i = 0; i < 20 && f.detail.is_unsettled; i++)
        update(&f);
    assert_false(f.detail.is_unsettled);
    assert_int_equal(f.estimate.combined.total_bytes, 230 * MB);
    end(&f);
}

static void time_spent_beyond_the_budget_is_owed(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, SPOOR_DETAIL_AUTO);
    put(&f, &(struct fake_memory){ .pid = MAIN, .own = 10 });
    update(&f);
    f.detail.tokens_ns = -15 * (int64_t)NS_PER_MS;
    put(&f, &(struct fake_memory){ .pid = MAIN, .own = 50 });
    update(&f); /* 5 ms are owed still */
    assert_int_equal(f.detail.reads, 1);
    assert_int_equal(f.estimate.combined.total_bytes, 50 * MB);
    update(&f);
    assert_int_equal(f.detail.reads, 2);
    end(&f);
}

/* The child was read and ended before the end: its statm shows a zombie. */
static void a_process_that_ends_meanwhile_leaves_the_safe_bound(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, SPOOR_DETAIL_AUTO);
    put(&f, &(struct fake_memory){ .pid = MAIN, .shared = 100, .shared_pss = 50 });
    put(&f, &(struct fake_memory){ .pid = CHILD, .shared = 100, .shared_pss = 100 });
    put_statm(&f.fake, CHILD, 0);
    update(&f);
    assert_int_equal(f.estimate.combined.total_bytes, 100 * MB);
    assert_true(f.detail.members_changed);
    end(&f);
}

static void an_empty_file_is_a_process_that_ended(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, SPOOR_DETAIL_AUTO);
    put(&f, &(struct fake_memory){ .pid = MAIN, .own = 20 });
    put(&f, &(struct fake_memory){ .pid = CHILD, .own = 30 });
    write_file(&f.fake, CHILD, "smaps_rollup", "");
    update(&f);
    assert_int_equal(f.estimate.combined.total_bytes, 20 * MB);
    assert_true(is_known(f.estimate.combined.private_bytes));
    end(&f);
}

/* The mappings of a child are gone when their turn comes. */
static void a_process_that_ends_before_its_mappings_leaves_no_correction(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, SPOOR_DETAIL_AUTO);
    put_file_job(&f);
    write_file(&f.fake, CHILD + 1, "smaps", "");
    update(&f);
    assert_false(f.detail.sharing.has_correction);
    assert_int_equal(f.estimate.combined.total_bytes, 130 * MB);
    end(&f);
}

static void a_process_that_may_not_be_read_makes_sharing_unknown(void **state)
{
    struct fixture f;
    char path[160];

    (void)state;
    begin(&f, SPOOR_DETAIL_AUTO);
    put(&f, &(struct fake_memory){ .pid = MAIN, .own = 20 });
    put(&f, &(struct fake_memory){ .pid = CHILD, .own = 30 });
    /* Root may read everything: a folder refuses even it. */
    remove_file(&f, CHILD, "smaps_rollup");
    (void)snprintf(path, sizeof(path), "%s/proc/%d/smaps_rollup", f.fake.path, CHILD);
    assert_int_equal(mkdir(path, 0700), 0);
    update(&f);
    assert_true(f.detail.is_denied);
    assert_int_equal(f.estimate.combined.total_bytes, 50 * MB);
    assert_false(is_known(f.estimate.combined.private_bytes));
    assert_false(is_known(f.estimate.combined.shared_bytes));
    follow(&f);
    assert_false(is_known(f.estimate.combined.private_bytes));
    end(&f);
}

/* 100 MB of one content: one page, though the kernel calls all of it resident. */
static void merged_pages_are_not_resident_memory(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, SPOOR_DETAIL_AUTO);
    put(&f, &(struct fake_memory){ .pid = MAIN, .own = 2, .merged = 100, .shared_pss = 1 });
    update(&f);
    assert_int_equal(f.estimate.main.total_bytes, 3 * MB);
    assert_int_equal(f.estimate.combined.total_bytes, 3 * MB);
    assert_int_equal(f.estimate.combined.private_bytes, 2 * MB);
    follow(&f);
    assert_int_equal(f.estimate.combined.total_bytes, 3 * MB);
    end(&f);
}

static void huge_pages_stand_apart(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, SPOOR_DETAIL_AUTO);
    put(&f, &(struct fake_memory){ .pid = MAIN, .own = 2, .hugetlb = 64 });
    put(&f, &(struct fake_memory){ .pid = CHILD, .own = 2, .hugetlb = 64 });
    update(&f);
    assert_int_equal(f.estimate.combined.total_bytes, 4 * MB);
    assert_int_equal(f.estimate.hugetlb_bytes, 64 * MB);
    end(&f);
}

static void between_reads_values_follow_the_resident_sizes(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, SPOOR_DETAIL_AUTO);
    put(&f, &(struct fake_memory){ .pid = MAIN, .own = 10, .shared = 50, .shared_pss = 25 });
    put(&f, &(struct fake_memory){ .pid = CHILD, .own = 10, .shared = 50, .shared_pss = 25 });
    update(&f);
    assert_int_equal(f.estimate.combined.total_bytes, 70 * MB);
    members_find(&f.members, MAIN)->rss_bytes += 30 * MB;
    follow(&f);
    assert_int_equal(f.estimate.combined.total_bytes, 100 * MB);
    assert_int_equal(f.estimate.combined.private_bytes, 50 * MB);
    assert_int_equal(f.estimate.descendants.total_bytes, 60 * MB);
    /* The child ends: its own memory goes, what it shared stays with main. */
    members_find(&f.members, CHILD)->rss_bytes = 0;
    follow(&f);
    assert_int_equal(f.estimate.combined.total_bytes, 90 * MB);
    assert_int_equal(f.estimate.descendants.total_bytes, 0);
    assert_int_equal(f.detail.reads, 1);
    end(&f);
}

static void without_detail_only_totals_are_known(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, SPOOR_DETAIL_NEVER);
    put(&f, &(struct fake_memory){ .pid = MAIN, .own = 10 });
    put(&f, &(struct fake_memory){ .pid = CHILD, .own = 20 });
    follow(&f);
    assert_int_equal(f.estimate.combined.total_bytes, 30 * MB);
    update(&f);
    assert_int_equal(f.estimate.main.total_bytes, 10 * MB);
    assert_int_equal(f.estimate.descendants.total_bytes, 20 * MB);
    assert_false(is_known(f.estimate.combined.private_bytes));
    assert_false(is_known(f.estimate.pss_bytes));
    assert_int_equal(f.detail.reads, 0);
    end(&f);
}

static bool is_wanted(struct fixture *f)
{
    follow(f);
    return detail_is_wanted_for_peak(&f->detail, &f->members, MAIN, f->now_ns, &f->estimate);
}

static void a_new_maximum_is_worth_a_read(void **state)
{
    struct fixture f;
    struct member *main_member;

    (void)state;
    begin(&f, SPOOR_DETAIL_AUTO);
    put(&f, &(struct fake_memory){ .pid = MAIN, .own = 100 });
    assert_false(is_wanted(&f)); /* nothing was read yet */
    update(&f);
    main_member = members_find(&f.members, MAIN);
    assert_false(is_wanted(&f));
    main_member->rss_bytes = 101 * MB; /* not worth it */
    assert_false(is_wanted(&f));
    main_member->rss_bytes = 60 * MB; /* moved, but down */
    assert_false(is_wanted(&f));
    main_member->rss_bytes = 120 * MB;
    assert_true(is_wanted(&f));
    f.detail.tokens_ns = 1000; /* no time */
    assert_false(is_wanted(&f));
    f.now_ns += NS_PER_SECOND;
    assert_true(is_wanted(&f));
    f.detail.mode = SPOOR_DETAIL_NEVER;
    assert_false(is_wanted(&f));
    end(&f);
}

/* Going down is no maximum: it is read only where time for one more read is left. */
static void a_read_for_a_maximum_goes_first(void **state)
{
    struct fixture f;
    int64_t one_read_ns;

    (void)state;
    begin(&f, SPOOR_DETAIL_AUTO);
    put(&f, &(struct fake_memory){ .pid = MAIN, .own = 1000 });
    update(&f);
    f.detail.page_cost_ns = 50;
    one_read_ns = 20000 + 1000 * 256 * 50;
    f.detail.refilled_ns = f.now_ns + NS_PER_SECOND; /* no refill at the next update */
    f.detail.tokens_ns = one_read_ns + one_read_ns / 10;
    put(&f, &(struct fake_memory){ .pid = MAIN, .own = 900 });
    update(&f);
    assert_int_equal(f.detail.reads, 1);
    f.detail.refilled_ns = f.now_ns + NS_PER_SECOND;
    f.detail.tokens_ns = one_read_ns + one_read_ns / 10;
    put(&f, &(struct fake_memory){ .pid = MAIN, .own = 1050 });
    update(&f);
    assert_int_equal(f.detail.reads, 2);
    end(&f);
}

struct thread {
    pthread_barrier_t barrier;
    pid_t id;
};

static void *stay(void *data)
{
    struct thread *thread = data;

    thread->id = (pid_t)syscall(SYS_gettid);
    pthread_barrier_wait(&thread->barrier);
    pthread_barrier_wait(&thread->barrier);
    return NULL;
}

/* A thread stands in for a child of vfork(): it has a number and statm of its own, and runs
 * in the memory of the process. */
static void borrowed_memory_counts_once(void **state)
{
    struct fixture f;
    struct thread thread;
    struct root live;
    pthread_t handle;
    struct member *child;

    (void)state;
    assert_int_equal(pthread_barrier_init(&thread.barrier, NULL, 2), 0);
    assert_int_equal(pthread_create(&handle, NULL, stay, &thread), 0);
    pthread_barrier_wait(&thread.barrier);
    assert_int_equal(root_open(NULL, &live), 0);
    begin(&f, SPOOR_DETAIL_NEVER);
    assert_non_null(add_member(&f, getpid(), 100 * MB));
    child = add_member(&f, thread.id, 100 * MB);
    assert_non_null(child);
    child->parent_pid = getpid();
    child->has_exec = false;
    assert_true(memory_is_borrowed(&live, &f.members, child));
    detail_update(&f.detail, &live, &f.members, getpid(), NS_PER_SECOND, &f.estimate);
    assert_int_equal(f.estimate.combined.total_bytes, 100 * MB);
    assert_int_equal(f.estimate.main.total_bytes, 100 * MB);
    assert_int_equal(f.estimate.descendants.total_bytes, 0);
    detail_follow(&f.detail, &f.members, getpid(), &f.estimate);
    assert_int_equal(f.estimate.combined.total_bytes, 100 * MB);
    /* After exec the memory is its own; of another size it never was the parent's. */
    child->rss_bytes = 50 * MB;
    assert_false(memory_is_borrowed(&live, &f.members, child));
    child->rss_bytes = 100 * MB;
    child->has_exec = true;
    f.detail.members_changed = false;
    detail_update(&f.detail, &live, &f.members, getpid(), 2 * NS_PER_SECOND, &f.estimate);
    assert_int_equal(f.estimate.combined.total_bytes, 200 * MB);
    assert_true(f.detail.members_changed);
    pthread_barrier_wait(&thread.barrier);
    assert_int_equal(pthread_join(handle, NULL), 0);
    assert_int_equal(pthread_barrier_destroy(&thread.barrier), 0);
    root_close(&live);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mappings_settle_what_sums_leave_open),
        cmocka_unit_test(each_level_can_be_switched_off),
        cmocka_unit_test(a_correction_is_kept_while_files_stand_still),
        cmocka_unit_test(a_file_mapped_twice_counts_once),
        cmocka_unit_test(libraries_are_not_suspected_twice),
        cmocka_unit_test(what_there_is_no_time_for_is_done_later),
        cmocka_unit_test(time_spent_beyond_the_budget_is_owed),
        cmocka_unit_test(a_process_that_ends_meanwhile_leaves_the_safe_bound),
        cmocka_unit_test(an_empty_file_is_a_process_that_ended),
        cmocka_unit_test(a_process_that_ends_before_its_mappings_leaves_no_correction),
        cmocka_unit_test(a_process_that_may_not_be_read_makes_sharing_unknown),
        cmocka_unit_test(merged_pages_are_not_resident_memory),
        cmocka_unit_test(huge_pages_stand_apart),
        cmocka_unit_test(between_reads_values_follow_the_resident_sizes),
        cmocka_unit_test(without_detail_only_totals_are_known),
        cmocka_unit_test(a_new_maximum_is_worth_a_read),
        cmocka_unit_test(a_read_for_a_maximum_goes_first),
        cmocka_unit_test(borrowed_memory_counts_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
