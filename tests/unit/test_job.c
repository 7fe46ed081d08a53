/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include <poll.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/clock.h"
#include "fake_job.h"
#include "gated_job.h"
#include "source/proc/pid_files.h"
#include "unit_test.h"

#define SECOND NS_PER_SECOND

TEST(grandchildren_belong_to_the_job)
{
    struct fake_job f;

    fake_job_begin(&f, &(struct fake_process){ .pid = 10, .user_ticks = 1, .children = "11 " },
                   true);
    fake_process_put(
        &f.fake,
        &(struct fake_process){ .pid = 11, .parent = 10, .user_ticks = 2, .children = "12 " });
    fake_process_put(&f.fake,
                     &(struct fake_process){ .pid = 12, .parent = 11, .user_ticks = 4 });
    fake_process_put(&f.fake,
                     &(struct fake_process){ .pid = 13, .parent = 1, .user_ticks = 8 });
    fake_job_look(&f);
    assert_int_equal(f.reading.process_count, 3);
    assert_int_equal(f.reading.started_count, 3);
    assert_int_equal(fake_job_cpu_ticks(&f), 7);
    assert_int_equal(f.reading.parts.first_ns, SECOND / 100);
    fake_job_end(&f);
}

FAKE_ROOT_TEST(the_main_process_can_be_tracked_alone)
{
    struct fake_root *fake = *state;
    struct job_reading reading;
    struct job job;

    fake_root_write(fake, "proc/1/task/1/children", "");
    fake_process_put(fake, &(struct fake_process){ .pid = 10,
                                                   .user_ticks = 1,
                                                   .child_user_ticks = 16,
                                                   .minor_faults = 3,
                                                   .child_minor_faults = 5,
                                                   .children = "11 " });
    fake_process_put(fake, &(struct fake_process){ .pid = 11, .parent = 10, .user_ticks = 2 });
    assert_int_equal(job_init(&job, &fake->root,
                              &(struct job_options){ .pid = 10,
                                                     .is_main_only = true,
                                                     .detail = SPOOR_DETAIL_NEVER },
                              SECOND),
                     0);
    job_refresh(&job, 2 * SECOND, true);
    read_sample(&job, 2 * SECOND, &reading);
    assert_int_equal(reading.process_count, 1);
    assert_int_equal(reading.usage.counter[USAGE_CPU_NS], SECOND / 100);
    assert_int_equal(reading.usage.counter[USAGE_USER_NS], SECOND / 100);
    assert_int_equal(reading.usage.counter[USAGE_MINOR_FAULTS], 3);
    job_done(&job);
}

/* Changes the counts of characters written by the process and by its first thread, and
 * returns the job's count. `process_chars` includes exited threads and waited-for children. */
static uint64_t written_alone(struct fake_job *f, unsigned process_chars, unsigned thread_chars,
                              unsigned child_faults)
{
    char text[128];

    f->now_ns += SECOND;
    fake_process_put(&f->fake,
                     &(struct fake_process){ .pid = 10,
                                             .user_ticks = (unsigned)(f->now_ns / SECOND),
                                             .written_chars = process_chars,
                                             .child_minor_faults = child_faults });
    (void)snprintf(text, sizeof(text), "rchar: 0\nwchar: %u\nread_bytes: 0\nwrite_bytes: 0\n",
                   thread_chars);
    fake_root_write(&f->fake, "proc/10/task/10/io", text);
    job_refresh(&f->job, f->now_ns, false);
    read_sample(&f->job, f->now_ns, &f->reading);
    return f->reading.usage.counter[USAGE_WRITTEN_CHARS];
}

TEST(io_of_a_process_tracked_alone_excludes_its_children)
{
    struct fake_job f = { 0 };

    fake_root_init(&f.fake);
    fake_process_put(&f.fake, &(struct fake_process){ .pid = 10 });
    assert_int_equal(job_init(&f.job, &f.fake.root,
                              &(struct job_options){ .pid = 10,
                                                     .is_main_only = true,
                                                     .detail = SPOOR_DETAIL_NEVER },
                              SECOND),
                     0);
    assert_int_equal(written_alone(&f, 1000, 1000, 0), 1000);
    assert_int_equal(written_alone(&f, 1500, 1000, 0), 1500); /* another thread has ended */
    assert_int_equal(written_alone(&f, 9500, 1000, 7), 1500); /* a child has exited */
    assert_int_equal(written_alone(&f, 9600, 1100, 7), 1600);
    fake_job_end(&f);
}

static void run_file(struct fake_root *fake, int pid, const char *file)
{
    char path[160];

    (void)snprintf(path, sizeof(path), "%s/proc/%d/exe", fake->path, pid);
    assert_int_equal(symlink(file, path), 0);
}

/* Writes a file that contains NUL bytes. */
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

/* The first child exited before the second started, although one look read both. */
TEST(process_events_limit_the_maximum_number_of_processes)
{
    struct fake_job f;

    fake_job_begin(&f, &(struct fake_process){ .pid = 10, .children = "11 12 " }, true);
    fake_process_put(&f.fake, &(struct fake_process){ .pid = 11, .parent = 10 });
    fake_process_put(&f.fake, &(struct fake_process){ .pid = 12, .parent = 10 });
    fake_job_look(&f);
    f.job.process_events.source = "perf.fork-ring";
    f.job.process_events.peak.processes = 2;
    f.job.process_events.is_exact = true;
    read_sample(&f.job, SECOND, &f.reading);
    assert_int_equal(f.reading.process_count, 2);
    f.job.process_events.is_exact = false; /* events were lost */
    read_sample(&f.job, SECOND, &f.reading);
    assert_int_equal(f.reading.process_count, 3);
    f.job.process_events.source = NULL;
    fake_job_end(&f);
}

TEST(an_agent_belongs_to_no_job)
{
    struct fake_job f;

    fake_job_begin(
        &f,
        &(struct fake_process){ .pid = 10, .user_ticks = 1, .children = "11 12 13 14 15 16 " },
        true);
    fake_process_put(&f.fake,
                     &(struct fake_process){ .pid = 11, .parent = 10, .user_ticks = 2 });
    fake_process_put(&f.fake,
                     &(struct fake_process){
                         .pid = 12, .parent = 10, .user_ticks = 4, .name = "spoor-agent" });
    run_file(&f.fake, 12, "/usr/bin/spoor");
    fake_process_put(&f.fake,
                     &(struct fake_process){
                         .pid = 13, .parent = 10, .user_ticks = 8, .name = "spoor-agent" });
    run_file(&f.fake, 13, "/usr/bin/miner"); /* another program with this name */
    fake_process_put(
        &f.fake,
        &(struct fake_process){
            .pid = 14, .parent = 10, .user_ticks = 16, .name = "spoor-agent", .state = 'Z' });
    fake_process_put(&f.fake, &(struct fake_process){
                                  .pid = 15, .parent = 10, .user_ticks = 32, .name = "spoor" });
    put_bytes(&f.fake, "proc/15/cmdline", "spoor\0agent\0--pid=10", 21);
    fake_process_put(&f.fake, &(struct fake_process){
                                  .pid = 16, .parent = 10, .user_ticks = 64, .name = "spoor" });
    put_bytes(&f.fake, "proc/16/cmdline", "spoor\0run\0true", 15);
    fake_process_put(
        &f.fake,
        &(struct fake_process){ .pid = 17, .parent = 10, .user_ticks = 128, .name = "spoor" });
    put_bytes(&f.fake, "proc/17/cmdline", "resource-tracker\0agent\0--pid=1", 31);
    fake_job_look(&f);
    assert_int_equal(f.reading.process_count, 4);
    assert_int_equal(f.reading.started_count, 4);
    assert_int_equal(fake_job_cpu_ticks(&f), 75);
    fake_job_end(&f);
}

TEST(the_time_of_an_exited_agent_is_kept)
{
    struct agents agents = { .live_count = 0 };
    struct root none = ROOT_CLOSED;

    agents_note(&agents, (struct process_id){ 11, 1 });
    agents_note(&agents, (struct process_id){ 11, 1 }); /* searches report an agent again */
    agents_note(&agents, (struct process_id){ 12, 1 });
    assert_int_equal(agents.live_count, 2);
    agents_end(&agents, (struct process_id){ 11, 1 }, 5 * SECOND);
    agents_end(&agents, (struct process_id){ 11, 1 }, 5 * SECOND);
    agents_end(&agents, (struct process_id){ 13, 1 }, 7 * SECOND); /* 13 is not an agent */
    assert_int_equal(agents_cpu_ns(&agents, &none), 5 * SECOND);
    for (pid_t pid = 100; pid < 100 + 2 * AGENTS_MAX; pid++)
        agents_note(&agents, (struct process_id){ pid, 1 });
    assert_int_equal(agents.live_count, AGENTS_MAX);
}

/* A subreaper in the job reaps an agent, and another process gets the agent's PID. */
TEST(a_process_that_reuses_the_pid_of_an_agent_is_not_an_agent)
{
    struct agents agents = { .live_count = 0 };
    struct process_id id = { .pid = getpid() };
    struct pid_stat stat;
    struct root root;
    uint64_t agent_ns;

    assert_int_equal(root_open("/", &root), 0);
    assert_int_equal(pid_stat_read(NULL, &root, id.pid, &stat), 0);
    id.start_ticks = stat.start_ticks;
    agents_note(&agents, id);
    agent_ns = agents_cpu_ns(&agents, &root);
    assert_true(agent_ns > 0);
    agents.live[0].id.start_ticks--;
    assert_int_equal(agents_cpu_ns(&agents, &root), agent_ns); /* the last known value */
    assert_int_equal(agents.live_count, 0);
    agents_end(&agents, id, SECOND);
    assert_int_equal(agents_cpu_ns(&agents, &root), agent_ns);
    root_close(&root);
}

TEST(a_process_may_turn_out_to_be_an_agent)
{
    struct fake_job f;

    fake_job_begin(&f, &(struct fake_process){ .pid = 10, .user_ticks = 1, .children = "12 " },
                   true);
    fake_process_put(&f.fake,
                     &(struct fake_process){ .pid = 12, .parent = 10, .user_ticks = 4 });
    fake_job_look(&f);
    assert_int_equal(f.reading.process_count, 2);
    fake_process_put(&f.fake,
                     &(struct fake_process){
                         .pid = 12, .parent = 10, .user_ticks = 6, .name = "spoor-agent" });
    fake_job_look(&f);
    assert_int_equal(f.reading.process_count, 1);
    assert_int_equal(f.reading.started_count, 1);
    fake_job_look(&f);
    assert_int_equal(f.reading.started_count, 1);
    fake_job_end(&f);
}

TEST(processes_are_found_by_their_parents_without_children_files)
{
    struct fake_job f;

    fake_job_begin(&f, &(struct fake_process){ .pid = 10 }, false);
    /* The grandchild has the smaller PID, so one pass over /proc is not enough. */
    fake_process_put(&f.fake, &(struct fake_process){ .pid = 12, .parent = 10 });
    fake_process_put(&f.fake, &(struct fake_process){ .pid = 11, .parent = 12 });
    fake_process_put(&f.fake, &(struct fake_process){ .pid = 13, .parent = 1 });
    fake_job_look(&f);
    assert_int_equal(f.reading.process_count, 3);
    fake_job_end(&f);
}

/* Memory that was never read is not 0. */
TEST(memory_of_an_unseen_process_is_unknown)
{
    struct fake_job f;

    fake_job_begin(&f, &(struct fake_process){ .pid = 10, .state = 'Z', .resident_pages = 0 },
                   true);
    fake_job_look(&f);
    assert_false(is_known(f.reading.memory.of[GROUP_MAIN].total_bytes));
    assert_false(is_known(f.reading.memory.of[GROUP_JOB].total_bytes));
    assert_int_equal(f.reading.memory.of[GROUP_DESCENDANTS].total_bytes,
                     0); /* the job has no descendants */
    fake_job_end(&f);
}

/* Children that a process waited for before spoor attached to it do not belong to the run. */
TEST(memory_of_children_that_exited_unseen_is_unknown)
{
    struct fake_process main_process = { .pid = 10,
                                         .resident_pages = 100,
                                         .child_minor_faults = 5000 };
    struct fake_job f;

    fake_job_begin(&f, &main_process, true);
    fake_job_look(&f);
    fake_job_look(&f);
    assert_int_equal(f.reading.memory.of[GROUP_DESCENDANTS].total_bytes, 0);
    main_process.user_ticks = 1;
    main_process.child_minor_faults = 6000;
    fake_process_put(&f.fake, &main_process);
    fake_job_look(&f);
    assert_false(is_known(f.reading.memory.of[GROUP_DESCENDANTS].total_bytes));
    assert_true(is_known(f.reading.memory.of[GROUP_MAIN].total_bytes));
    fake_job_end(&f);
}

FAKE_ROOT_TEST(a_missing_process_is_an_error)
{
    struct fake_root *fake = *state;
    struct job job;

    assert_int_equal(job_init(&job, &fake->root, &(struct job_options){ .pid = 10 }, SECOND),
                     -ESRCH);
    job_done(&job);
}

static const char *no_environment(UNUSED const char *name)
{
    return NULL;
}

/* An exited child stays in the list of children until it is reaped; a search must not add it as
 * a new process. */
TEST(an_accounted_zombie_is_not_added_again)
{
    const struct job_options options = {
        .pid = fork(),
        .caller_spawned = true,
        .detail = SPOOR_DETAIL_NEVER,
        .cgroup = SPOOR_CGROUP_OFF,
        .disabled = SOURCE_PERF | SOURCE_RING | SOURCE_CONNECTOR | SOURCE_TASKSTATS,
        .environment = no_environment,
    };
    struct job_reading reading;
    siginfo_t info;
    struct root root;
    struct job job;

    assert_true(options.pid >= 0);
    if (options.pid == 0)
        _exit(0);
    assert_int_equal(root_open("/", &root), 0);
    assert_int_equal(job_init(&job, &root, &options, SECOND), 0);
    assert_int_equal(waitid(P_PID, (id_t)options.pid, &info, WEXITED | WNOWAIT), 0);
    job_child_ended(&job, options.pid, SECOND);
    for (uint64_t i = 2; i < 4; i++) {
        job_refresh(&job, i * SECOND, true);
        read_sample(&job, i * SECOND, &reading);
        assert_int_equal(reading.started_count, 1);
        assert_int_equal(reading.process_count, 0);
        assert_int_equal(job.roster.count, 0);
    }
    job_done(&job);
    assert_int_equal(waitid(P_PID, (id_t)options.pid, &info, WEXITED), 0);
    root_close(&root);
}

static uint64_t counter_of(struct job *job, uint64_t now_ns, enum usage_counter counter)
{
    struct job_reading reading;

    job_refresh(job, now_ns, true);
    read_sample(job, now_ns, &reading);
    return reading.usage.counter[counter];
}

/* No file counts the switches of the whole job, but wait4 returns them. */
TEST(context_switches_are_known_once_main_has_ended)
{
    struct job_options options = {
        .caller_spawned = true,
        .detail = SPOOR_DETAIL_NEVER,
        .cgroup = SPOOR_CGROUP_OFF,
        .disabled = SOURCE_PERF | SOURCE_RING | SOURCE_CONNECTOR | SOURCE_TASKSTATS,
        .environment = no_environment,
    };
    struct gated_job gated;
    struct rusage rusage;
    siginfo_t info;
    struct root root;
    struct job job;

    gated_job_start(&gated, do_nothing);
    options.pid = gated.pid;
    assert_int_equal(root_open("/", &root), 0);
    assert_int_equal(job_init(&job, &root, &options, SECOND), 0);
    assert_int_equal(counter_of(&job, 2 * SECOND, USAGE_VOLUNTARY_SWITCHES), 0);
    job.main.has_program = true; /* simulates a main process that has called exec */
    assert_false(is_known(counter_of(&job, 3 * SECOND, USAGE_VOLUNTARY_SWITCHES)));
    gated_job_begin(&gated);
    assert_int_equal(waitid(P_PID, (id_t)gated.pid, &info, WEXITED | WNOWAIT), 0);
    job_child_ended(&job, gated.pid, 4 * SECOND);
    (void)counter_of(&job, 4 * SECOND, USAGE_CPU_NS);
    assert_int_equal(wait4(gated.pid, NULL, 0, &rusage), gated.pid);
    assert_int_equal(counter_of(&job, 5 * SECOND, USAGE_VOLUNTARY_SWITCHES), rusage.ru_nvcsw);
    assert_int_equal(counter_of(&job, 5 * SECOND, USAGE_INVOLUNTARY_SWITCHES),
                     rusage.ru_nivcsw);
    assert_int_equal(counter_of(&job, 5 * SECOND, USAGE_MINOR_FAULTS), rusage.ru_minflt);
    assert_true(rusage.ru_nvcsw > 0 && rusage.ru_minflt > 0);
    job_done(&job);
    root_close(&root);
}

static void wait_until_asleep(const struct root *root, pid_t pid)
{
    struct cached_file file = CACHED_FILE_CLOSED;
    struct pid_stat stat;

    do {
        (void)poll(NULL, 0, 1);
        assert_int_equal(pid_stat_read(&file, root, pid, &stat), 0);
    } while (stat.state != 'S');
    cached_file_close(&file);
}

/* Starts a real process that sleeps at its gate, and attaches to it. The process must not
 * have a sanitizer thread, which would wake up now and then. */
static void begin_sleeper(struct gated_job *sleeper, struct job *job, struct root *root)
{
    struct job_options options = { .disabled = ~0u & ~(unsigned)SOURCE_CLOCK };
    uint64_t clock_ns;

    gated_job_start(sleeper, do_nothing);
    options.pid = sleeper->pid;
    assert_int_equal(root_open(NULL, root), 0);
    wait_until_asleep(root, sleeper->pid); /* before that, it may not have run at all */
    assert_int_equal(job_init(job, root, &options, SECOND), 0);
    do {
        clock_ns = job->roster.list[0].reading.clock_ns;
        (void)poll(NULL, 0, 10);
        job_refresh(job, SECOND, true);
    } while (job->roster.list[0].reading.clock_ns != clock_ns);
}

TEST(idle_processes_are_skipped_for_ten_seconds)
{
    const uint64_t mark = 12345;
    struct root root = ROOT_CLOSED;
    struct gated_job sleeper;
    struct job job;

    begin_sleeper(&sleeper, &job, &root);
    job.roster.list[0].reading.rss_bytes = mark;
    job_refresh(&job, 10 * SECOND, false);
    assert_int_equal(job.roster.list[0].reading.rss_bytes, mark); /* was not read again */
    job_refresh(&job, 11 * SECOND, false);
    assert_true(job.roster.list[0].reading.rss_bytes != mark);
    /* Once the process is reaped, its CPU clock no longer exists. */
    gated_job_begin(&sleeper);
    gated_job_end(&sleeper);
    job_refresh(&job, 12 * SECOND, false);
    assert_int_equal(job.roster.count, 0);
    job_done(&job);
    root_close(&root);
}
