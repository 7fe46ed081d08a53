/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include <poll.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/unknown.h"
#include "fake_root.h"
#include "gated_job.h"
#include "job/job.h"
#include "source/proc/pid_stat.h"

#define SECOND NS_PER_SECOND

/* A process of the fixture machine. Ticks are hundredths of a second. */
struct fake_process {
    int pid, parent, threads;
    char state;
    unsigned user_ticks, child_user_ticks, resident_pages, start_ticks;
    bool ignores_children;
    const char *children;
    unsigned written_chars;
    const char *name; /* NULL: "x" */
};

static void put_process(struct fake_root *fake, const struct fake_process *p)
{
    char path[64], text[1024];

    (void)snprintf(path, sizeof(path), "proc/%d/stat", p->pid);
    (void)snprintf(text, sizeof(text),
                   "%d (%s) %c %d 1 1 0 -1 0 10 0 0 0 %u 0 %u 0 20 0 %d 0 %u 1000 %u 0\n",
                   p->pid, p->name ? p->name : "x", p->state ? p->state : 'S', p->parent,
                   p->user_ticks, p->child_user_ticks, p->threads ? p->threads : 1,
                   p->start_ticks ? p->start_ticks : 5, p->resident_pages);
    fake_root_write(fake, path, text);
    (void)snprintf(path, sizeof(path), "proc/%d/statm", p->pid);
    (void)snprintf(text, sizeof(text), "%u %u 0 0 0 0 0\n", p->resident_pages,
                   p->resident_pages);
    fake_root_write(fake, path, text);
    (void)snprintf(path, sizeof(path), "proc/%d/status", p->pid);
    (void)snprintf(text, sizeof(text), "Tgid:\t%d\nUid:\t0\nVmHWM:\t%u kB\nSigIgn:\t%016x\n",
                   p->pid, p->resident_pages * 4, p->ignores_children ? 0x10000u : 0);
    fake_root_write(fake, path, text);
    (void)snprintf(path, sizeof(path), "proc/%d/io", p->pid);
    (void)snprintf(text, sizeof(text), "rchar: 0\nwchar: %u\nread_bytes: 0\nwrite_bytes: 0\n",
                   p->written_chars);
    fake_root_write(fake, path, text);
    (void)snprintf(path, sizeof(path), "proc/%d/task/%d/children", p->pid, p->pid);
    fake_root_write(fake, path, p->children ? p->children : "");
}

static void end_process(struct fake_root *fake, int pid)
{
    static const char *const files[] = { "stat", "statm", "status", "io" };
    char path[160];

    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        (void)snprintf(path, sizeof(path), "%s/proc/%d/%s", fake->path, pid, files[i]);
        assert_int_equal(unlink(path), 0);
    }
}

struct fixture {
    struct fake_root fake;
    struct job job;
    struct job_reading reading;
    uint64_t now_ns;
};

static void begin(struct fixture *f, const struct fake_process *main_process,
                  bool lists_children)
{
    f->now_ns = SECOND;
    fake_root_init(&f->fake);
    if (lists_children)
        fake_root_write(&f->fake, "proc/1/task/1/children", "");
    put_process(&f->fake, main_process);
    assert_int_equal(job_init(&f->job, &f->fake.root,
                              &(struct job_options){ .pid = main_process->pid,
                                                     .detail = SPOOR_DETAIL_NEVER },
                              f->now_ns),
                     0);
}

static void look(struct fixture *f)
{
    f->now_ns += SECOND;
    job_refresh(&f->job, f->now_ns, UNKNOWN, false);
    job_read(&f->job, f->now_ns, &f->reading);
}

static void end(struct fixture *f)
{
    job_done(&f->job);
    fake_root_done(&f->fake);
}

static uint64_t cpu_ticks(const struct fixture *f)
{
    return f->reading.usage.counter[USAGE_CPU_NS] / (SECOND / 100);
}

static void grandchildren_belong(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, &(struct fake_process){ .pid = 10, .user_ticks = 1, .children = "11 " }, true);
    put_process(&f.fake, &(struct fake_process){
                             .pid = 11, .parent = 10, .user_ticks = 2, .children = "12 " });
    put_process(&f.fake, &(struct fake_process){ .pid = 12, .parent = 11, .user_ticks = 4 });
    put_process(&f.fake, &(struct fake_process){ .pid = 13, .parent = 1, .user_ticks = 8 });
    look(&f);
    assert_int_equal(f.reading.process_count, 3);
    assert_int_equal(f.reading.started_count, 3);
    assert_int_equal(cpu_ticks(&f), 7);
    assert_int_equal(f.reading.main_cpu_ns, SECOND / 100);
    end(&f);
}

static void run_file(struct fake_root *fake, int pid, const char *file)
{
    char path[160];

    (void)snprintf(path, sizeof(path), "%s/proc/%d/exe", fake->path, pid);
    assert_int_equal(symlink(file, path), 0);
}

/* A file with zeros in it. */
static void put_bytes(struct fake_root *fake, const char *name, const char *bytes, size_t size)
{
    char path[160];
    FILE *file;

    (void)snprintf(path, sizeof(path), "%s/%s", fake->path, name);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

static void an_agent_is_of_no_job(void **state)
{
    struct fixture f;

    (void)state;
    begin(
        &f,
        &(struct fake_process){ .pid = 10, .user_ticks = 1, .children = "11 12 13 14 15 16 " },
        true);
    put_process(&f.fake, &(struct fake_process){ .pid = 11, .parent = 10, .user_ticks = 2 });
    put_process(&f.fake, &(struct fake_process){
                             .pid = 12, .parent = 10, .user_ticks = 4, .name = "spoor-agent" });
    run_file(&f.fake, 12, "/usr/bin/spoor");
    put_process(&f.fake, &(struct fake_process){
                             .pid = 13, .parent = 10, .user_ticks = 8, .name = "spoor-agent" });
    run_file(&f.fake, 13, "/usr/bin/miner"); /* it calls itself so */
    put_process(
        &f.fake,
        &(struct fake_process){
            .pid = 14, .parent = 10, .user_ticks = 16, .name = "spoor-agent", .state = 'Z' });
    put_process(&f.fake, &(struct fake_process){
                             .pid = 15, .parent = 10, .user_ticks = 32, .name = "spoor" });
    put_bytes(&f.fake, "proc/15/cmdline", "spoor\0agent\0--pid=10", 21);
    put_process(&f.fake, &(struct fake_process){
                             .pid = 16, .parent = 10, .user_ticks = 64, .name = "spoor" });
    put_bytes(&f.fake, "proc/16/cmdline", "spoor\0run\0true", 15);
    look(&f);
    assert_int_equal(f.reading.process_count, 4);
    assert_int_equal(f.reading.started_count, 4);
    assert_int_equal(cpu_ticks(&f), 75);
    end(&f);
}

static void a_process_may_turn_out_to_be_an_agent(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, &(struct fake_process){ .pid = 10, .user_ticks = 1, .children = "12 " }, true);
    put_process(&f.fake, &(struct fake_process){ .pid = 12, .parent = 10, .user_ticks = 4 });
    look(&f);
    assert_int_equal(f.reading.process_count, 2);
    put_process(&f.fake, &(struct fake_process){
                             .pid = 12, .parent = 10, .user_ticks = 6, .name = "spoor-agent" });
    look(&f);
    assert_int_equal(f.reading.process_count, 1);
    assert_int_equal(f.reading.started_count, 1);
    look(&f);
    assert_int_equal(f.reading.started_count, 1);
    end(&f);
}

static void without_children_files_parents_are_searched(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, &(struct fake_process){ .pid = 10 }, false);
    /* the grandchild has the smaller pid: one pass over /proc is not enough */
    put_process(&f.fake, &(struct fake_process){ .pid = 12, .parent = 10 });
    put_process(&f.fake, &(struct fake_process){ .pid = 11, .parent = 12 });
    put_process(&f.fake, &(struct fake_process){ .pid = 13, .parent = 1 });
    look(&f);
    assert_int_equal(f.reading.process_count, 3);
    end(&f);
}

/* What a child used moves to the parent that waits for it: the sum stays. */
static void a_waited_for_child_is_counted_once(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, &(struct fake_process){ .pid = 10, .user_ticks = 10, .children = "11 " }, true);
    put_process(&f.fake, &(struct fake_process){ .pid = 11, .parent = 10, .user_ticks = 50 });
    look(&f);
    assert_int_equal(cpu_ticks(&f), 60);
    end_process(&f.fake, 11);
    put_process(&f.fake,
                &(struct fake_process){ .pid = 10, .user_ticks = 10, .child_user_ticks = 55 });
    look(&f);
    assert_int_equal(cpu_ticks(&f), 65);
    assert_int_equal(f.reading.process_count, 1);
    assert_int_equal(f.reading.main_cpu_ns, SECOND / 10); /* its own part alone */
    end(&f);
}

static void a_child_nobody_waits_for_is_not_lost(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, &(struct fake_process){ .pid = 10, .ignores_children = true, .children = "11 " },
          true);
    put_process(&f.fake,
                &(struct fake_process){
                    .pid = 11, .parent = 10, .user_ticks = 50, .written_chars = 1000 });
    look(&f);
    end_process(&f.fake, 11);
    put_process(&f.fake,
                &(struct fake_process){ .pid = 10, .ignores_children = true, .user_ticks = 1 });
    look(&f);
    assert_int_equal(cpu_ticks(&f), 51);
    assert_int_equal(f.reading.usage.counter[USAGE_WRITTEN_CHARS], 1000);
    assert_true(f.job.saw_unwaited);
    end(&f);
}

/* Parent and child end between two looks: the parent's last figures did not hold the child's. */
static void parent_and_child_that_end_together_both_count(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, &(struct fake_process){ .pid = 10, .children = "11 " }, true);
    put_process(&f.fake, &(struct fake_process){
                             .pid = 11, .parent = 10, .user_ticks = 20, .children = "12 " });
    put_process(&f.fake, &(struct fake_process){ .pid = 12, .parent = 11, .user_ticks = 30 });
    look(&f);
    end_process(&f.fake, 11);
    end_process(&f.fake, 12);
    put_process(&f.fake, &(struct fake_process){ .pid = 10, .ignores_children = true });
    look(&f);
    assert_int_equal(cpu_ticks(&f), 50);
    end(&f);
}

static void totals_never_step_back(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, &(struct fake_process){ .pid = 10, .user_ticks = 10, .children = "11 " }, true);
    put_process(&f.fake, &(struct fake_process){ .pid = 11, .parent = 10, .user_ticks = 50 });
    look(&f);
    end_process(&f.fake, 11); /* reaped, but the parent was looked at before */
    look(&f);
    assert_int_equal(cpu_ticks(&f), 60);
    end(&f);
}

static void an_orphan_stays_a_member(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, &(struct fake_process){ .pid = 10, .children = "11 " }, true);
    put_process(&f.fake, &(struct fake_process){ .pid = 11, .parent = 10 });
    look(&f);
    put_process(&f.fake, &(struct fake_process){ .pid = 10 });
    put_process(&f.fake, &(struct fake_process){ .pid = 11, .parent = 1, .user_ticks = 7 });
    look(&f);
    assert_int_equal(f.reading.process_count, 2);
    assert_int_equal(cpu_ticks(&f), 7);
    end(&f);
}

static void a_reused_pid_is_another_process(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, &(struct fake_process){ .pid = 10, .children = "11 " }, true);
    put_process(&f.fake, &(struct fake_process){ .pid = 11, .parent = 10, .user_ticks = 5 });
    look(&f);
    put_process(&f.fake, &(struct fake_process){ .pid = 10, .child_user_ticks = 5 });
    put_process(&f.fake, &(struct fake_process){
                             .pid = 11, .parent = 1, .user_ticks = 900, .start_ticks = 77 });
    look(&f);
    assert_int_equal(f.reading.process_count, 1);
    assert_int_equal(cpu_ticks(&f), 5);
    end(&f);
}

static void peaks_outlive_their_process(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, &(struct fake_process){ .pid = 10, .resident_pages = 100, .children = "11 " },
          true);
    put_process(&f.fake,
                &(struct fake_process){ .pid = 11, .parent = 10, .resident_pages = 5000 });
    look(&f);
    assert_int_equal(f.reading.memory.combined.total_bytes, 5100 * 4096);
    end_process(&f.fake, 11);
    put_process(&f.fake, &(struct fake_process){ .pid = 10, .resident_pages = 100 });
    look(&f);
    assert_int_equal(f.reading.descendants_rss_peak_bytes, 5000 * 4096);
    assert_int_equal(f.reading.memory.descendants.total_bytes, 0);
    assert_false(is_known(f.reading.rss_bound_bytes)); /* of a job we did not start */
    end(&f);
}

/* Memory that was never seen is not 0. */
static void memory_of_an_unseen_process_is_unknown(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, &(struct fake_process){ .pid = 10, .state = 'Z', .resident_pages = 0 }, true);
    look(&f);
    assert_false(is_known(f.reading.memory.main.total_bytes));
    assert_false(is_known(f.reading.memory.combined.total_bytes));
    assert_int_equal(f.reading.memory.descendants.total_bytes, 0); /* there were none */
    end(&f);
}

static void no_process_is_no_job(void **state)
{
    struct fake_root fake;
    struct job job;

    (void)state;
    fake_root_init(&fake);
    assert_int_equal(job_init(&job, &fake.root, &(struct job_options){ .pid = 10 }, SECOND),
                     -ESRCH);
    job_done(&job);
    fake_root_done(&fake);
}

static const char *no_environment(const char *name)
{
    (void)name;
    return NULL;
}

/* A child of ours that has ended stays in the list of our children until it is reaped: a search
 * must not take it for a new process. */
static void a_zombie_whose_figures_were_taken_is_not_found_again(void **state)
{
    const struct job_options options = {
        .pid = fork(),
        .caller_spawned = true,
        .detail = SPOOR_DETAIL_NEVER,
        .cgroup = SPOOR_CGROUP_OFF,
        .disabled = RUNG_PERF | RUNG_GATE | RUNG_RING | RUNG_CONNECTOR | RUNG_TASKSTATS,
        .environment = no_environment,
    };
    struct job_reading reading;
    siginfo_t info;
    struct root root;
    struct job job;

    (void)state;
    assert_true(options.pid >= 0);
    if (options.pid == 0)
        _exit(0);
    assert_int_equal(root_open("/", &root), 0);
    assert_int_equal(job_init(&job, &root, &options, SECOND), 0);
    assert_int_equal(waitid(P_PID, (id_t)options.pid, &info, WEXITED | WNOWAIT), 0);
    job_child_ended(&job, options.pid, SECOND);
    for (uint64_t i = 2; i < 4; i++) {
        job_refresh(&job, i * SECOND, UNKNOWN, true);
        job_read(&job, i * SECOND, &reading);
        assert_int_equal(reading.started_count, 1);
        assert_int_equal(reading.process_count, 0);
        assert_int_equal(job.members.count, 0);
    }
    job_done(&job);
    assert_int_equal(waitid(P_PID, (id_t)options.pid, &info, WEXITED), 0);
    root_close(&root);
}

static void wait_until_asleep(const struct root *root, pid_t pid)
{
    struct kept file = KEPT_CLOSED;
    struct pid_stat stat;

    do {
        (void)poll(NULL, 0, 1);
        assert_int_equal(pid_stat_read(&file, root, pid, &stat), 0);
    } while (stat.state != 'S');
    kept_close(&file);
}

/* A process that sleeps, seen to have come to rest, on the real machine. It waits at its gate, with
 * no thread of a sanitizer beside it that would wake now and then. */
static void begin_sleeper(struct gated_job *sleeper, struct job *job, struct root *root)
{
    struct job_options options = { .disabled = ~0u & ~(unsigned)RUNG_CLOCK };
    uint64_t clock_ns;

    gated_job_start(sleeper, do_nothing);
    options.pid = sleeper->pid;
    assert_int_equal(root_open(NULL, root), 0);
    wait_until_asleep(root, sleeper->pid); /* it may not have run at all yet */
    assert_int_equal(job_init(job, root, &options, SECOND), 0);
    do {
        clock_ns = job->members.list[0].clock_ns;
        (void)poll(NULL, 0, 10);
        job_refresh(job, SECOND, UNKNOWN, true);
    } while (job->members.list[0].clock_ns != clock_ns);
}

static void who_has_not_run_is_passed_over_for_ten_seconds(void **state)
{
    const uint64_t mark = 12345;
    struct root root = ROOT_CLOSED;
    struct gated_job sleeper;
    struct job job;

    (void)state;
    begin_sleeper(&sleeper, &job, &root);
    job.members.list[0].rss_bytes = mark;
    job_refresh(&job, 10 * SECOND, UNKNOWN, false);
    assert_int_equal(job.members.list[0].rss_bytes, mark); /* was not read */
    job_refresh(&job, 11 * SECOND, UNKNOWN, false);
    assert_true(job.members.list[0].rss_bytes != mark);
    /* It ends, and is reaped: its clock is gone, and so is it. */
    gated_job_begin(&sleeper);
    gated_job_end(&sleeper);
    job_refresh(&job, 12 * SECOND, UNKNOWN, false);
    assert_int_equal(job.members.count, 0);
    job_done(&job);
    root_close(&root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grandchildren_belong),
        cmocka_unit_test(an_agent_is_of_no_job),
        cmocka_unit_test(a_process_may_turn_out_to_be_an_agent),
        cmocka_unit_test(without_children_files_parents_are_searched),
        cmocka_unit_test(a_waited_for_child_is_counted_once),
        cmocka_unit_test(a_child_nobody_waits_for_is_not_lost),
        cmocka_unit_test(parent_and_child_that_end_together_both_count),
        cmocka_unit_test(totals_never_step_back),
        cmocka_unit_test(an_orphan_stays_a_member),
        cmocka_unit_test(a_reused_pid_is_another_process),
        cmocka_unit_test(peaks_outlive_their_process),
        cmocka_unit_test(memory_of_an_unseen_process_is_unknown),
        cmocka_unit_test(no_process_is_no_job),
        cmocka_unit_test(a_zombie_whose_figures_were_taken_is_not_found_again),
        cmocka_unit_test(who_has_not_run_is_passed_over_for_ten_seconds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
