/* SPDX-License-Identifier: Apache-2.0 */
/* Peaks of memory between samples, in a job on a fake machine. */
#include <stdio.h>

#include "base/amount.h"
#include "base/clock.h"
#include "fake_job.h"
#include "unit_test.h"

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

/* The parts of a peak between samples are the parts that were read last, plus the increase
 * since then. */
TEST(the_parts_of_a_peak_add_up_to_its_total)
{
    const struct memory_split *at_peak;
    struct fake_job f;

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
    assert_int_equal(at_peak->total_bytes, 3600 * 1024); /* each reading has its own peak */
    assert_int_equal(at_peak->private_bytes, 3200 * 1024);
    fake_job_end(&f);
}

/* A reading contains the maximum since the last reading and, separately, the current value. */
TEST(the_peak_is_kept_when_the_current_value_falls)
{
    struct fake_job f;

    fake_job_begin(&f, &(struct fake_process){ .pid = 10 }, true);
    put_memory(&f, 1500, 0);
    job_glance(&f.job, f.now_ns);
    put_memory(&f, 900, 0);
    fake_job_look(&f);
    assert_int_equal(f.reading.memory.of[GROUP_MAIN].total_bytes, 6000 * 1024);
    assert_int_equal(f.reading.memory.of[GROUP_JOB].total_bytes, 6000 * 1024);
    assert_int_equal(f.reading.memory_now.of[GROUP_MAIN].total_bytes, 3600 * 1024);
    assert_int_equal(f.reading.memory_now.of[GROUP_JOB].total_bytes, 3600 * 1024);
    assert_int_equal(f.reading.memory_now.of[GROUP_DESCENDANTS].total_bytes, 0);
    assert_int_equal(f.reading.process_count_now, 1);
    fake_job_end(&f);
}

/* A reading is derived from what was seen, and changes nothing. */
TEST(a_second_reading_equals_the_first)
{
    struct fake_job f;
    struct job_reading second;

    fake_job_begin(&f, &(struct fake_process){ .pid = 10 }, true);
    put_memory(&f, 1500, 400);
    job_glance(&f.job, f.now_ns);
    put_memory(&f, 900, 400);
    job_refresh(&f.job, f.now_ns, true);
    job_collect(&f.job, f.now_ns);
    job_read(&f.job, &f.reading);
    job_read(&f.job, &second);
    assert_int_equal(second.memory.of[GROUP_JOB].total_bytes, 6000 * 1024);
    for (int metric = 0; metric < METRIC_JOB_END; metric++) {
        struct measure a = { 0 }, b = { 0 };

        assert_int_equal(job_measure(&f.job, &f.reading, (enum metric)metric, &a),
                         job_measure(&f.job, &second, (enum metric)metric, &b));
        assert_int_equal(a.value, b.value);
        assert_int_equal(a.now, b.now);
        assert_ptr_equal(a.origin.source, b.origin.source);
        assert_ptr_equal(a.origin.reason, b.origin.reason);
        assert_int_equal(a.origin.is_exact, b.origin.is_exact);
    }
    job_begin_interval(&f.job);
    job_read(&f.job, &second);
    assert_int_equal(second.memory.of[GROUP_JOB].total_bytes, 3600 * 1024);
    fake_job_end(&f);
}

TEST(the_parts_of_a_peak_are_unknown_without_detail)
{
    struct fake_job f;

    fake_job_begin(&f, &(struct fake_process){ .pid = 10, .resident_pages = 1000 }, true);
    fake_job_look(&f);
    assert_int_equal(f.reading.at_peak.total_bytes, 4000 * 1024);
    assert_false(is_known(f.reading.at_peak.private_bytes));
    assert_false(is_known(f.reading.at_peak.shared_bytes));
    fake_job_end(&f);
}

/* Before exec, the process is a copy of the tracker. No event reports the exec. */
TEST(a_glance_finds_a_newly_loaded_program)
{
    struct fake_job f;

    fake_job_begin(
        &f, &(struct fake_process){ .pid = 10, .resident_pages = 2000, .has_no_exec = true },
        true);
    f.job.main.has_program = false;
    job_glance(&f.job, f.now_ns);
    assert_int_equal(f.job.marks.rss_peak_bytes[GROUP_MAIN], 0);
    put_memory(&f, 1500, 0);
    job_glance(&f.job, f.now_ns);
    put_memory(&f, 900, 0);
    fake_job_look(&f);
    assert_int_equal(f.reading.memory.of[GROUP_MAIN].total_bytes, 6000 * 1024);
    fake_job_end(&f);
}

/* ---- copies on write ---------------------------------------------------------- */

enum { PAGES_PER_MB = 256, SHARED_MB = 160, COPIED_MB = 100 };
#define MB ((uint64_t)1024 * 1024)

static void put_machine_memory(struct fake_job *f, unsigned megabytes)
{
    char text[128];

    (void)snprintf(text, sizeof(text),
                   "MemTotal: 9999999 kB\nActive(anon): 1024 kB\nInactive(anon): %u kB\n",
                   megabytes * 1024);
    fake_root_write(&f->fake, "proc/meminfo", text);
}

/* Writes a process whose memory was all shared when it was read. Its page faults since then
 * may have copied `copied_mb`. */
static void put_fork(struct fake_job *f, int pid, unsigned copied_mb)
{
    char path[64], text[256];

    fake_process_put(&f->fake,
                     &(struct fake_process){ .pid = pid,
                                             .parent = pid == 10 ? 1 : 10,
                                             .has_no_exec = pid != 10,
                                             .children = pid == 10 ? "11 " : "",
                                             .resident_pages = SHARED_MB * PAGES_PER_MB,
                                             .user_ticks = copied_mb,
                                             .minor_faults = copied_mb * PAGES_PER_MB });
    (void)snprintf(path, sizeof(path), "proc/%d/smaps_rollup", pid);
    (void)snprintf(text, sizeof(text),
                   "Rss: %u kB\nPss: %u kB\nPss_Anon: %u kB\nShared_Clean: 0 kB\n"
                   "Shared_Dirty: %u kB\nPrivate_Clean: 0 kB\nPrivate_Dirty: 0 kB\n"
                   "Anonymous: %u kB\n",
                   SHARED_MB * 1024, SHARED_MB * 512, SHARED_MB * 512, SHARED_MB * 1024,
                   SHARED_MB * 1024);
    fake_root_write(&f->fake, path, text);
}

/* A process and its fork are read. Then, in four steps with a glance after each, the fork
 * has page faults and the machine uses more memory. */
static void begin_copies(struct fake_job *f)
{
    fake_job_begin(f, &(struct fake_process){ .pid = 10, .children = "11 " }, true);
    f->job.sharing.mode = SPOOR_DETAIL_AUTO;
    put_fork(f, 10, 0);
    put_fork(f, 11, 0);
    put_machine_memory(f, 1000);
    fake_job_look(f);
    job_glance(&f->job, f->now_ns);
    assert_int_equal(f->job.sharing.reads, 1);
    f->job.sharing.activity = JOB_GROWS;
    f->job.budget.tokens_ns = -1; /* the budget allows no read */
    for (unsigned step = 1; step <= 4; step++) {
        put_machine_memory(f, 1000 + step * COPIED_MB / 4);
        put_fork(f, 11, step * COPIED_MB / 4);
        f->now_ns += NS_PER_SECOND / 100;
        job_glance(&f->job, f->now_ns);
        assert_int_equal(activity_state(&f->job.activity), JOB_GROWS);
    }
    assert_int_equal(f->job.sharing.reads, 1);
}

/* No resident size changes, and the fork exits before its memory is read. */
TEST(expected_copies_of_unread_forks_are_counted)
{
    struct fake_job f;

    begin_copies(&f);
    fake_process_put(&f.fake, &(struct fake_process){ .pid = 10, .resident_pages = 40960 });
    fake_process_end(&f.fake, 11);
    fake_job_look(&f);
    assert_int_equal(f.reading.memory.of[GROUP_JOB].total_bytes, (SHARED_MB + COPIED_MB) * MB);
    assert_int_equal(f.reading.memory.pss_bytes, (SHARED_MB + COPIED_MB) * MB);
    assert_int_equal(f.reading.discount[GROUP_JOB],
                     COPIED_MB * MB); /* the lower bound excludes the copies */
    fake_job_look(&f);
    assert_int_equal(f.reading.memory.of[GROUP_JOB].total_bytes, SHARED_MB * MB);
    fake_job_end(&f);
}

/* The faults had other causes: a read shows that nothing was copied. */
TEST(a_read_replaces_expected_copies)
{
    struct fake_job f;

    begin_copies(&f);
    f.job.budget.tokens_ns = (int64_t)NS_PER_SECOND;
    f.job.budget.share_ns[SPENT_SHARING] = (int64_t)NS_PER_SECOND;
    fake_job_look(&f);
    assert_int_equal(f.job.sharing.reads, 2);
    assert_int_equal(f.reading.memory.of[GROUP_JOB].total_bytes, SHARED_MB * MB);
    fake_process_end(&f.fake, 11);
    fake_job_look(&f);
    assert_int_equal(f.reading.memory.of[GROUP_JOB].total_bytes, SHARED_MB * MB);
    fake_job_end(&f);
}

/* ---- the end of growth -------------------------------------------------------- */

TEST(memory_that_rose_and_rises_no_longer_has_settled)
{
    const struct job_sentinel *sentinel;
    struct fake_job f;

    fake_job_begin(&f, &(struct fake_process){ .pid = 10 }, true);
    sentinel = &f.job.sentinel;
    f.job.activity.cpu_ns = UNKNOWN; /* otherwise a small job that has not run is not read */
    put_machine_memory(&f, 1000);
    (void)job_watch_memory(&f.job);
    assert_false(sentinel->has_settled);
    for (unsigned megabytes = 1100; megabytes <= 1300; megabytes += 100) {
        put_machine_memory(&f, megabytes);
        (void)job_watch_memory(&f.job);
        assert_true(sentinel->is_rising);
        assert_false(sentinel->has_settled);
    }
    for (int i = 0; i < 2; i++) { /* until a glance has read it */
        (void)job_watch_memory(&f.job);
        assert_true(sentinel->has_settled);
    }
    job_glance(&f.job, f.now_ns);
    (void)job_watch_memory(&f.job);
    assert_false(sentinel->has_settled);
    fake_job_end(&f);
}

/* Regression test: after an early sample, no glance read memory sharing. */
TEST(memory_sharing_is_read_when_growth_has_ended)
{
    struct fake_job f;

    begin_copies(&f);
    f.job.is_early = true;
    f.job.sentinel.has_settled = true;
    f.job.budget.tokens_ns = (int64_t)NS_PER_SECOND;
    f.job.budget.share_ns[SPENT_SHARING] = (int64_t)NS_PER_SECOND;
    job_glance(&f.job, f.now_ns);
    assert_int_equal(f.job.sharing.reads, 2);
    fake_job_end(&f);
}

TEST(with_detail_always_glances_read_no_page_tables)
{
    struct fake_job f;

    begin_copies(&f);
    f.job.sharing.mode = SPOOR_DETAIL_ALWAYS;
    f.job.sentinel.has_settled = true;
    job_glance(&f.job, f.now_ns);
    assert_int_equal(f.job.sharing.reads, 1);
    fake_job_end(&f);
}

/* The glance at the end of growth reads the page faults before it looks for copies. */
TEST(copies_are_expected_when_growth_has_ended)
{
    struct fake_job f;

    begin_copies(&f);
    put_machine_memory(&f, 1000 + COPIED_MB + 20);
    put_fork(&f, 11, COPIED_MB + 20);
    f.job.sentinel.has_settled = true;
    job_glance(&f.job, f.now_ns);
    assert_int_equal(f.job.sharing.reads, 1);
    assert_int_equal(f.job.sharing.copied_bytes, (COPIED_MB + 20) * MB);
    fake_job_end(&f);
}

/* Regression test: a sample between two glances read the page faults, and the next glance took the
 * growth for another program's. */
TEST(copies_are_expected_if_a_sample_has_read_their_faults)
{
    struct fake_job f;

    begin_copies(&f);
    put_machine_memory(&f, 1000 + COPIED_MB + 20);
    put_fork(&f, 11, COPIED_MB + 20);
    fake_job_look(&f);
    assert_int_equal(f.job.sharing.reads, 1);
    job_glance(&f.job, f.now_ns);
    assert_int_equal(f.job.sharing.copied_bytes, (COPIED_MB + 20) * MB);
    fake_job_end(&f);
}

TEST(a_sample_reads_what_has_settled)
{
    struct fake_job f;

    fake_job_begin(&f, &(struct fake_process){ .pid = 10 }, true);
    f.job.is_early = true;
    f.job.sentinel.has_settled = true;
    fake_job_look(&f);
    assert_true(f.job.sentinel.has_settled);
    f.job.is_early = false;
    fake_job_look(&f);
    assert_false(f.job.sentinel.has_settled);
    fake_job_end(&f);
}

/* ---- forks that are opened late -------------------------------------------------- */

/* Adds a fork of process 10 with this memory. `forked_ns`: the time in its event. Returns the
 * memory that it may have inherited. */
static uint64_t inherited_bytes(struct fake_job *f, int pid, unsigned megabytes,
                                uint64_t forked_ns)
{
    struct look look = job_look(&f->job, f->now_ns, false);
    struct process *process = roster_add(&f->job.roster, pid);

    assert_non_null(process);
    process->parent_pid = 10;
    process->started_ns = forked_ns;
    fake_process_put(&f->fake,
                     &(struct fake_process){ .pid = pid,
                                             .parent = 10,
                                             .has_no_exec = true,
                                             .resident_pages = megabytes * PAGES_PER_MB });
    job_add_member(&f->job, &look, pid);
    assert_non_null(roster_member(&f->job.roster, pid));
    return roster_member(&f->job.roster, pid)->survey.own_bytes;
}

TEST(a_fork_inherits_at_most_the_peak_of_its_parent)
{
    struct fake_job f;

    fake_job_begin(&f, &(struct fake_process){ .pid = 10, .resident_pages = PAGES_PER_MB },
                   true);
    assert_int_equal(inherited_bytes(&f, 11, 100, clock_now().monotonic_ns), MB);
    assert_int_equal(inherited_bytes(&f, 12, 0, clock_now().monotonic_ns), 0);
    /* The parent has grown before it forked again. */
    fake_process_put(&f.fake,
                     &(struct fake_process){ .pid = 10, .resident_pages = 8 * PAGES_PER_MB });
    assert_int_equal(inherited_bytes(&f, 13, 100, clock_now().monotonic_ns), 8 * MB);
    /* exec has restarted the mark of the parent. */
    fake_process_put(&f.fake,
                     &(struct fake_process){ .pid = 10, .resident_pages = 1, .name = "other" });
    assert_int_equal(inherited_bytes(&f, 14, 100, clock_now().monotonic_ns), 100 * MB);
    fake_process_end(&f.fake, 10); /* its peak at the next fork is unknown */
    assert_int_equal(inherited_bytes(&f, 15, 100, clock_now().monotonic_ns), 100 * MB);
    fake_job_end(&f);
}
