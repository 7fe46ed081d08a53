/* SPDX-License-Identifier: Apache-2.0 */
/* Peaks of memory between samples, in a job on a fake machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <stdio.h>

#include "base/unknown.h"
#include "fake_job.h"

static void put_memory(struct fake_job *f, unsigned pages, unsigned shared_kib)
{
    char text[256];

    fake_process_put(&f->fake, &(struct fake_process){ .pid = 10, .resident_pages = pages });
    (void)snprintf(text, sizeof(text),
                   "Rss: %u kB\nPss: %u kB\nShared_Clean: %u kB\nShared_Dirty: 0 kB\n"
                   "Private_Clean: 0 kB\nPrivate_Dirty: %u kB\nAnonymous: %u kB\n",
                   pages * 4, pages * 4 - shared_kib, shared_kib, pages * 4 - shared_kib,
                   pages * 4);
    fake_root_write(&f->fake, "proc/10/smaps_rollup", text);
}

/* A peak between samples has the parts that were read, and what is certainly new. */
static void the_parts_of_a_peak_add_up(void **state)
{
    const struct memory_split *at_peak;
    struct fake_job f;

    (void)state;
    fake_job_begin(&f, &(struct fake_process){ .pid = 10 }, true);
    at_peak = &f.reading.at_peak;
    f.job.sharing.mode = SPOOR_DETAIL_ALWAYS;
    put_memory(&f, 1000, 400);
    fake_job_look(&f);
    assert_int_equal(at_peak->total_bytes, 4000 * 1024);
    assert_int_equal(at_peak->private_bytes, 3600 * 1024);
    assert_int_equal(at_peak->shared_bytes, 400 * 1024);
    put_memory(&f, 1500, 400);
    job_glance(&f.job, f.now_ns);
    put_memory(&f, 900, 400);
    fake_job_look(&f);
    assert_int_equal(at_peak->total_bytes, 6000 * 1024);
    assert_int_equal(at_peak->private_bytes, 5600 * 1024);
    assert_int_equal(at_peak->shared_bytes, 400 * 1024);
    fake_job_look(&f);
    assert_int_equal(at_peak->total_bytes, 3600 * 1024); /* each reading has its own */
    assert_int_equal(at_peak->private_bytes, 3200 * 1024);
    fake_job_end(&f);
}

/* What came and went since the last reading is in one, what is there now in the other. */
static void a_peak_is_not_what_is_held_now(void **state)
{
    struct fake_job f;

    (void)state;
    fake_job_begin(&f, &(struct fake_process){ .pid = 10 }, true);
    put_memory(&f, 1500, 0);
    job_glance(&f.job, f.now_ns);
    put_memory(&f, 900, 0);
    fake_job_look(&f);
    assert_int_equal(f.reading.memory.main.total_bytes, 6000 * 1024);
    assert_int_equal(f.reading.memory.combined.total_bytes, 6000 * 1024);
    assert_int_equal(f.reading.memory_now.main.total_bytes, 3600 * 1024);
    assert_int_equal(f.reading.memory_now.combined.total_bytes, 3600 * 1024);
    assert_int_equal(f.reading.memory_now.descendants.total_bytes, 0);
    assert_int_equal(f.reading.process_count_now, 1);
    fake_job_end(&f);
}

static void without_detail_a_peak_has_no_parts(void **state)
{
    struct fake_job f;

    (void)state;
    fake_job_begin(&f, &(struct fake_process){ .pid = 10, .resident_pages = 1000 }, true);
    fake_job_look(&f);
    assert_int_equal(f.reading.at_peak.total_bytes, 4000 * 1024);
    assert_false(is_known(f.reading.at_peak.private_bytes));
    assert_false(is_known(f.reading.at_peak.shared_bytes));
    fake_job_end(&f);
}

/* It is a copy of the tracker until then, and nobody says when that ends. */
static void a_glance_sees_the_program_that_was_loaded_since(void **state)
{
    struct fake_job f;

    (void)state;
    fake_job_begin(
        &f, &(struct fake_process){ .pid = 10, .resident_pages = 2000, .has_no_exec = true },
        true);
    f.job.main.has_program = false;
    job_glance(&f.job, f.now_ns);
    assert_int_equal(f.job.marks.main_rss_peak_bytes, 0);
    put_memory(&f, 1500, 0);
    job_glance(&f.job, f.now_ns);
    put_memory(&f, 900, 0);
    fake_job_look(&f);
    assert_int_equal(f.reading.memory.main.total_bytes, 6000 * 1024);
    fake_job_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_parts_of_a_peak_add_up),
        cmocka_unit_test(a_peak_is_not_what_is_held_now),
        cmocka_unit_test(without_detail_a_peak_has_no_parts),
        cmocka_unit_test(a_glance_sees_the_program_that_was_loaded_since),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
