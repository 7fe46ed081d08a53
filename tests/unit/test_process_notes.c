/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/clock.h"
#include "fake_job.h"
#include "unit_test.h"

static const struct fake_process main_process = { .pid = 10,
                                                  .children = "11 ",
                                                  .user_ticks = 30 };

static struct process_table list(const struct fake_job *f, uint64_t job_cpu_ns)
{
    struct process_table table;

    assert_int_equal(job_list_processes(&f->job, job_cpu_ns, &table), 0);
    return table;
}

static void put(struct fake_job *f, int pid, const char *name, const char *command,
                unsigned ticks)
{
    char path[64];

    fake_process_put(
        &f->fake,
        &(struct fake_process){
            .pid = pid, .parent = 10, .name = name, .user_ticks = ticks, .resident_pages = 9 });
    (void)snprintf(path, sizeof(path), "proc/%d/cmdline", pid);
    fake_root_write(&f->fake, path, command);
}

/* The machine is suspended after a process has started, but before the next search finds
 * that process. */
TEST(a_suspend_does_not_move_the_start_of_a_process)
{
    const uint64_t tick_ns = NS_PER_SECOND / (uint64_t)sysconf(_SC_CLK_TCK);
    const uint64_t now_ns = clock_now().monotonic_ns, slept_ns = clock_suspended_ns();
    struct member member = { .id.start_ticks = (now_ns + slept_ns) / tick_ns };
    struct fake_job f;

    fake_job_begin(&f, &main_process, true);
    f.fake.root.is_live = true;
    f.job.suspended_ns = slept_ns + 3 * NS_PER_SECOND;
    job_note_start(&f.job, &member, now_ns);
    assert_in_range(member.notes.started_ns, now_ns - 3 * NS_PER_SECOND - tick_ns,
                    now_ns - 3 * NS_PER_SECOND);
    f.job.suspended_ns = sub_floor0(slept_ns, 3 * NS_PER_SECOND);
    job_note_start(&f.job, &member, now_ns);
    assert_true(member.notes.started_ns <= clock_now().monotonic_ns);
    f.fake.root.is_live = false;
    fake_job_end(&f);
}

/* The job had used CPU time before spoor attached to it. */
TEST(usage_before_the_first_reading_is_not_counted)
{
    struct fake_process main = main_process;
    struct process_table table;
    struct fake_job f;

    fake_job_begin(&f, &main, true);
    put(&f, 11, "worker", "worker", 50);
    fake_job_look(&f);
    put(&f, 11, "worker", "worker", 70);
    main.user_ticks = 40;
    fake_process_put(&f.fake, &main);
    fake_job_look(&f);
    table = list(&f, 300 * NS_PER_MS);
    assert_int_equal(table.count, 2);
    assert_int_equal(table.list[0].pid, 10);
    assert_int_equal(table.list[0].cpu_ns, 100 * NS_PER_MS);
    assert_int_equal(table.list[1].cpu_ns, 200 * NS_PER_MS);
    assert_int_equal(table.list[1].parent_pid, 10);
    assert_string_equal(table.list[1].name, "worker");
    assert_string_equal(table.list[1].command, "worker");
    assert_int_equal(table.list[1].peak_bytes, 9 * f.fake.root.page_bytes);
    assert_int_equal(table.list[1].started_ns, 2 * NS_PER_SECOND);
    assert_false(is_known(table.list[1].ended_ns));
    assert_int_equal(table.other_count + table.unknown.count, 0);
    process_table_done(&table);
    fake_job_end(&f);
}

TEST(a_process_stays_listed_after_its_end)
{
    struct fake_process main = main_process;
    struct process_table table;
    struct fake_job f;

    fake_job_begin(&f, &main, true);
    fake_job_look(&f);
    put(&f, 11, "worker", "worker", 50);
    fake_job_look(&f);
    fake_process_end(&f.fake, 11);
    main.children = "";
    fake_process_put(&f.fake, &main);
    fake_job_look(&f);
    assert_int_equal(f.job.roster.count, 1);
    table = list(&f, UNKNOWN);
    assert_int_equal(table.count, 2);
    assert_int_equal(table.list[1].pid, 11);
    assert_string_equal(table.list[1].command, "worker");
    assert_int_equal(table.list[1].ended_ns, f.now_ns);
    assert_true(table.list[1].cpu_ns >= 500 * NS_PER_MS);
    assert_false(table.list[1].has_wait_status);
    process_table_done(&table);
    fake_job_end(&f);
}

TEST(after_exec_the_name_and_the_command_are_updated)
{
    struct process_table table;
    struct fake_job f;

    fake_job_begin(&f, &main_process, true);
    put(&f, 11, "sh", "sh run.sh", 1);
    fake_job_look(&f);
    put(&f, 11, "python3", "python3 train.py", 2);
    fake_job_look(&f);
    table = list(&f, UNKNOWN);
    assert_string_equal(table.list[1].name, "python3");
    assert_string_equal(table.list[1].command, "'python3 train.py'"); /* one argument */
    process_table_done(&table);
    fake_job_end(&f);
}

/* From here on the process sleeps, so it is not read again. */
TEST(a_missing_command_is_read_later)
{
    struct process_table table;
    struct fake_job f;

    fake_job_begin(&f, &main_process, true);
    put(&f, 11, "hold", "", 1); /* during exec */
    fake_root_write(&f.fake, "proc/11/comm", "hold\n");
    fake_job_look(&f);
    put(&f, 11, "hold", "/bin/hold", 1);
    job_note_newborn(&f.job);
    table = list(&f, UNKNOWN);
    assert_string_equal(table.list[1].command, "/bin/hold");
    process_table_done(&table);
    fake_job_end(&f);
}

TEST(a_reused_pid_is_another_process)
{
    struct fake_process reused = { .pid = 11, .parent = 10, .name = "two", .start_ticks = 900 };
    struct process_table table;
    struct fake_job f;

    fake_job_begin(&f, &main_process, true);
    put(&f, 11, "one", "one", 5);
    fake_job_look(&f);
    fake_process_end(&f.fake, 11);
    fake_process_put(&f.fake, &reused);
    fake_job_look(&f);
    fake_job_look(&f);
    table = list(&f, UNKNOWN);
    assert_int_equal(table.count, 3);
    assert_string_equal(table.list[1].name, "one");
    assert_true(is_known(table.list[1].ended_ns));
    assert_string_equal(table.list[2].name, "two");
    assert_int_equal(table.list[2].pid, 11);
    assert_false(is_known(table.list[2].ended_ns));
    process_table_done(&table);
    fake_job_end(&f);
}

TEST(the_largest_gpu_memory_is_kept)
{
    struct process_table table;
    struct fake_job f;

    fake_job_begin(&f, &main_process, true);
    fake_job_look(&f);
    job_note_gpu(&f.job, 10, 200);
    job_note_gpu(&f.job, 10, 100);
    job_note_gpu(&f.job, 77, 900); /* this process does not belong to the job */
    table = list(&f, UNKNOWN);
    assert_int_equal(table.list[0].gpu_bytes, 200);
    process_table_done(&table);
    fake_job_end(&f);
}

/* The page size belongs to job->root, here the fixture. */
TEST(memory_is_computed_with_the_page_size_of_the_machine)
{
    struct fake_process main = main_process;
    struct process_table table;
    struct fake_job f;

    fake_job_begin(&f, &main, true);
    f.fake.root.page_bytes = 65536;
    put(&f, 11, "worker", "worker", 50);
    fake_job_look(&f);
    table = list(&f, 0);
    assert_int_equal(table.count, 2);
    assert_int_equal(table.list[1].peak_bytes, 9 * 65536);
    process_table_done(&table);
    fake_job_end(&f);
}
