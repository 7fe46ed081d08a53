/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/unknown.h"
#include "fake_memory.h"
#include "job/memory/borrowed_memory.h"

/* The child was read and ended before the end: its statm shows a zombie. */
static void a_process_that_ends_meanwhile_leaves_the_safe_bound(void **state)
{
    struct memory_fixture f;

    (void)state;
    memory_begin(&f, SPOOR_DETAIL_ALWAYS);
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .shared = 100, .shared_pss = 50 });
    memory_put(&f, &(struct fake_memory){ .pid = CHILD, .shared = 100, .shared_pss = 100 });
    memory_put_statm(&f, CHILD, 0, 0);
    memory_update(&f);
    assert_int_equal(f.estimate.combined.total_bytes, 100 * MB);
    assert_true(f.detail.members_changed);
    memory_end(&f);
}

static void an_empty_file_is_a_process_that_ended(void **state)
{
    struct memory_fixture f;

    (void)state;
    memory_begin(&f, SPOOR_DETAIL_ALWAYS);
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .own = 20 });
    memory_put(&f, &(struct fake_memory){ .pid = CHILD, .own = 30 });
    memory_write(&f, CHILD, "smaps_rollup", "");
    memory_update(&f);
    assert_int_equal(f.estimate.combined.total_bytes, 20 * MB);
    assert_true(is_known(f.estimate.combined.private_bytes));
    memory_end(&f);
}

/* The mappings of a child are gone when their turn comes. */
static void a_process_that_ends_before_its_mappings_leaves_no_correction(void **state)
{
    struct memory_fixture f;

    (void)state;
    memory_begin(&f, SPOOR_DETAIL_ALWAYS);
    memory_put_file_job(&f);
    memory_write(&f, CHILD + 1, "smaps", "");
    memory_update(&f);
    assert_false(f.detail.sharing.has_correction);
    assert_int_equal(f.estimate.combined.total_bytes, 130 * MB);
    memory_end(&f);
}

static void a_process_that_may_not_be_read_makes_sharing_unknown(void **state)
{
    struct memory_fixture f;
    char path[160];

    (void)state;
    memory_begin(&f, SPOOR_DETAIL_ALWAYS);
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .own = 20 });
    memory_put(&f, &(struct fake_memory){ .pid = CHILD, .own = 30 });
    /* Root may read everything: a folder refuses even it. */
    (void)snprintf(path, sizeof(path), "%s/proc/%d/smaps_rollup", f.fake.path, CHILD);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    memory_update(&f);
    assert_true(f.detail.is_denied);
    assert_int_equal(f.estimate.combined.total_bytes, 50 * MB);
    assert_false(is_known(f.estimate.combined.private_bytes));
    assert_false(is_known(f.estimate.combined.shared_bytes));
    memory_follow(&f);
    assert_false(is_known(f.estimate.combined.private_bytes));
    memory_end(&f);
}

/* 100 MB of one content: one page, though the kernel calls all of it resident. */
static void merged_pages_are_not_resident_memory(void **state)
{
    struct memory_fixture f;

    (void)state;
    memory_begin(&f, SPOOR_DETAIL_ALWAYS);
    memory_put(&f,
               &(struct fake_memory){ .pid = MAIN, .own = 2, .merged = 100, .shared_pss = 1 });
    memory_update(&f);
    assert_int_equal(f.estimate.main.total_bytes, 3 * MB);
    assert_int_equal(f.estimate.combined.total_bytes, 3 * MB);
    assert_int_equal(f.estimate.combined.private_bytes, 2 * MB);
    memory_follow(&f);
    assert_int_equal(f.estimate.combined.total_bytes, 3 * MB);
    memory_end(&f);
}

static void huge_pages_stand_apart(void **state)
{
    struct memory_fixture f;

    (void)state;
    memory_begin(&f, SPOOR_DETAIL_ALWAYS);
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .own = 2, .hugetlb = 64 });
    memory_put(&f, &(struct fake_memory){ .pid = CHILD, .own = 2, .hugetlb = 64 });
    memory_update(&f);
    assert_int_equal(f.estimate.combined.total_bytes, 4 * MB);
    assert_int_equal(f.estimate.hugetlb_bytes, 64 * MB);
    memory_end(&f);
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
    struct memory_fixture f;
    struct thread thread;
    struct root live;
    pthread_t handle;
    struct member *child;

    (void)state;
    assert_int_equal(pthread_barrier_init(&thread.barrier, NULL, 2), 0);
    assert_int_equal(pthread_create(&handle, NULL, stay, &thread), 0);
    pthread_barrier_wait(&thread.barrier);
    assert_int_equal(root_open(NULL, &live), 0);
    memory_begin(&f, SPOOR_DETAIL_NEVER);
    assert_non_null(memory_add(&f, getpid(), 100 * MB));
    child = memory_add(&f, thread.id, 100 * MB);
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
    /* The parent's size may be from before it grew. */
    child->rss_bytes = 150 * MB;
    assert_true(memory_is_borrowed(&live, &f.members, child));
    /* After exec the memory is its own. */
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
    memory_end(&f);
}

/* Between reads PSS grows and falls with what each process has of its own. */
static void pss_follows_private_memory(void **state)
{
    struct memory_fixture f;

    (void)state;
    memory_begin(&f, SPOOR_DETAIL_AUTO);
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .own = 200 });
    memory_update(&f);
    assert_int_equal(f.estimate.pss_bytes, 200 * MB);
    members_find(&f.members, MAIN)->rss_bytes += 100 * MB;
    memory_follow(&f);
    assert_int_equal(f.estimate.combined.private_bytes, 300 * MB);
    assert_int_equal(f.estimate.pss_bytes, 300 * MB);
    members_find(&f.members, MAIN)->rss_bytes -= 250 * MB;
    memory_follow(&f);
    assert_int_equal(f.estimate.pss_bytes, 50 * MB);
    memory_end(&f);
}

/* The size after the read is larger than what was read: it has grown, and maps nothing twice. */
static void growth_during_a_read_is_no_double_mapping(void **state)
{
    struct memory_fixture f;

    (void)state;
    memory_begin(&f, SPOOR_DETAIL_ALWAYS);
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .own = 20 });
    memory_put_statm(&f, MAIN, 300, 0);
    memory_update(&f);
    assert_int_equal(f.detail.bases.main.discount, 0);
    assert_int_equal(f.detail.bases.job.discount, 0);
    memory_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pss_follows_private_memory),
        cmocka_unit_test(growth_during_a_read_is_no_double_mapping),
        cmocka_unit_test(a_process_that_ends_meanwhile_leaves_the_safe_bound),
        cmocka_unit_test(an_empty_file_is_a_process_that_ended),
        cmocka_unit_test(a_process_that_ends_before_its_mappings_leaves_no_correction),
        cmocka_unit_test(a_process_that_may_not_be_read_makes_sharing_unknown),
        cmocka_unit_test(merged_pages_are_not_resident_memory),
        cmocka_unit_test(huge_pages_stand_apart),
        cmocka_unit_test(borrowed_memory_counts_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
