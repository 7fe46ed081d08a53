/* SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "gated_job.h"
#include "job/process_events.h"
#include "job/source_names.h"
#include "unit_test.h"

static const struct {
    const char *source;
    unsigned disabled;
} kinds[] = {
    { "perf.fork-ring", SOURCE_CONNECTOR },
    { "proc-connector", SOURCE_RING },
};

struct watched {
    struct root root;
    struct roster roster;
    struct process_events process_events;
    struct gated_job job;
};

/* Starts a job. Returns false, with a message, if the source is not available; then the job
 * is not started. */
static bool start(struct watched *w, size_t kind, int (*work)(void))
{
    assert_int_equal(root_open(NULL, &w->root), 0);
    gated_job_start(&w->job, work);
    w->roster = (struct roster){ 0 };
    process_events_open(&w->process_events, &w->root, &w->roster, w->job.pid,
                        kinds[kind].disabled);
    if (w->process_events.source) {
        gated_job_begin(&w->job);
        assert_string_equal(w->process_events.source, kinds[kind].source);
        assert_true(w->process_events.is_exact);
        return true;
    }
    print_message("%s is refused\n", kinds[kind].source);
    assert_int_equal(kill(w->job.pid, SIGKILL), 0);
    assert_int_equal(waitpid(w->job.pid, NULL, 0), w->job.pid);
    gated_job_begin(&w->job);
    process_events_close(&w->process_events);
    roster_done(&w->roster);
    root_close(&w->root);
    return false;
}

/* Reads events as a tracker does, until the job has ended. Returns false, with a message, if
 * other programs started so many processes that events were lost. */
static bool finish(struct watched *w)
{
    struct pollfd events = { .fd = w->process_events.connector.fd, .events = POLLIN };
    int status;

    while (waitpid(w->job.pid, &status, WNOHANG) == 0) {
        (void)poll(&events, 1, (int)(w->process_events.drain_gap_ns / NS_PER_MS));
        process_events_drain(&w->process_events, false);
    }
    assert_int_equal(status, 0);
    process_events_drain(&w->process_events, false);
    /* The connector may report the exit after the wait has returned, and other processes of
     * the machine before that. */
    while (events.fd >= 0 && w->process_events.now.processes > 0 &&
           w->process_events.connector.lost_count == 0) {
        (void)poll(&events, 1, -1);
        process_events_drain(&w->process_events, false);
    }
    if (w->process_events.connector.lost_count == 0) {
        assert_true(w->process_events.is_exact);
        return true;
    }
    assert_false(w->process_events.is_exact);
    print_message("events were lost\n");
    process_events_close(&w->process_events);
    roster_done(&w->roster);
    root_close(&w->root);
    return false;
}

static void done(struct watched *w)
{
    process_events_close(&w->process_events);
    roster_done(&w->roster);
    root_close(&w->root);
}

/* Returns how many exited processes may still count as alive: one per CPU with the
 * connector, which may report exits late. */
static uint64_t late_ends(const struct process_events *events)
{
    return events->connector.fd < 0 ? 0 : (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
}

/* Runs `work` with each available source; skips if there is none. */
static void count_job(int (*work)(void), uint64_t started, uint64_t at_once)
{
    unsigned served = 0;

    for (size_t kind = 0; kind < ARRAY_SIZE(kinds); kind++) {
        struct watched w;

        if (!start(&w, kind, work) || !finish(&w))
            continue;
        assert_int_equal(w.process_events.started_count, started);
        assert_int_equal(w.process_events.now.processes, 0);
        assert_in_range(w.process_events.peak.processes, at_once,
                        at_once + late_ends(&w.process_events));
        assert_int_equal(w.roster.process_count, 0);
        done(&w);
        served++;
    }
    if (served == 0)
        skip();
}

static int start_three_hundred(void)
{
    for (int i = 0; i < 300; i++) {
        if (run_child(do_nothing) != 0)
            return 1;
    }
    return 0;
}

TEST(consecutive_processes_are_all_counted)
{
    count_job(start_three_hundred, 301, 2);
}

/* Starts ten children that wait for end of file on a pipe. */
static int start_ten_at_once(void)
{
    int gate[2], status = 0;
    char byte;

    if (pipe(gate) < 0)
        return 1;
    for (int i = 0; i < 10; i++) {
        pid_t pid = fork();

        if (pid < 0)
            return 1;
        if (pid == 0) {
            close(gate[1]);
            _exit(read(gate[0], &byte, 1) != 0);
        }
    }
    close(gate[1]);
    for (int i = 0; i < 10; i++) {
        if (wait(&status) < 0 || status != 0)
            return 1;
    }
    return 0;
}

TEST(concurrent_processes_raise_the_peak)
{
    count_job(start_ten_at_once, 11, 11);
}

/* Not do_nothing(): valgrind reports the memory of the thread as lost in a forked copy. */
static int exec_true(void)
{
    execl("/bin/true", "true", (char *)NULL);
    return 1;
}

static void *fork_in_a_thread(void *data)
{
    *(int *)data = run_child(exec_true);
    return NULL;
}

static int start_from_a_thread(void)
{
    pthread_t id;
    int result = 1;

    if (pthread_create(&id, NULL, fork_in_a_thread, &result) != 0)
        return 1;
    pthread_join(id, NULL);
    return result;
}

TEST(children_of_a_thread_are_counted)
{
    count_job(start_from_a_thread, 2, 2);
}

static void *exec_in_a_thread(void *data)
{
    /* The new program starts two processes. */
    execl("/bin/sh", "sh", "-c", "/bin/true; /bin/true; exit 0", (char *)NULL);
    return data;
}

/* The second thread calls exec, which ends the first thread but not the process. */
static int exec_from_a_thread(void)
{
    pthread_t id;

    if (pthread_create(&id, NULL, exec_in_a_thread, NULL) == 0)
        pthread_join(id, NULL);
    return 1;
}

TEST(a_process_outlives_its_first_thread)
{
    count_job(exec_from_a_thread, 3, 2);
}

static int fork_and_leave(void)
{
    pid_t pid = fork();

    if (pid == 0)
        _exit(run_child(do_nothing));
    return pid < 0;
}

/* The job waits for its last descendant through a pipe that all descendants hold open. */
static int start_a_daemon(void)
{
    int end[2];
    char byte;

    if (pipe(end) < 0)
        return 1;
    if (run_child(fork_and_leave) != 0)
        return 1;
    close(end[1]);
    return read(end[0], &byte, 1) != 0;
}

TEST(daemons_are_counted)
{
    unsigned served = 0;

    for (size_t kind = 0; kind < ARRAY_SIZE(kinds); kind++) {
        struct watched w;

        if (!start(&w, kind, start_a_daemon) || !finish(&w))
            continue;
        assert_int_equal(w.process_events.started_count, 4);
        assert_in_range(w.process_events.peak.processes, 3, 4 + late_ends(&w.process_events));
        done(&w);
        served++;
    }
    if (served == 0)
        skip();
}

/* Runs as the second thread, which exists when spoor attaches to the process and exits
 * before the first thread. */
static void *end_when_told(void *data)
{
    char byte;

    *(ssize_t *)data = read(STDIN_FILENO, &byte, 1);
    return NULL;
}

static int thread_then_children(void)
{
    pthread_t id;
    ssize_t n;
    int told[2];

    if (pipe(told) < 0 || dup2(told[0], STDIN_FILENO) < 0 ||
        pthread_create(&id, NULL, end_when_told, &n) != 0)
        return 1;
    (void)raise(SIGSTOP);
    if (write(told[1], "x", 1) != 1)
        return 1;
    pthread_join(id, NULL);
    return run_child(exec_true) || run_child(exec_true);
}

TEST(an_adopted_process_outlives_its_first_thread)
{
    struct roster roster = { 0 };
    struct process_events events;
    struct gated_job job;
    struct root root;
    int status;

    assert_int_equal(root_open(NULL, &root), 0);
    gated_job_start(&job, thread_then_children);
    gated_job_begin(&job);
    assert_int_equal(waitpid(job.pid, &status, WUNTRACED), job.pid);
    assert_true(WIFSTOPPED(status));
    process_events_open(&events, &root, &roster, job.pid, SOURCE_RING);
    process_events_adopt(&events, job.pid);
    assert_int_equal(kill(job.pid, SIGCONT), 0);
    gated_job_end(&job);
    process_events_drain(&events, false);
    if (events.source && events.connector.lost_count == 0)
        assert_int_equal(events.started_count, 3);
    assert_false(events.is_exact);
    process_events_close(&events);
    roster_done(&roster);
    root_close(&root);
}

struct newborn {
    unsigned count;
    unsigned gone_count; /* already waited for, so not readable */
    pid_t pid;           /* a process that exists */
};

static bool remember(pid_t pid, void *data)
{
    struct newborn *newborn = data;

    newborn->count++;
    if (kill(pid, 0) == 0)
        newborn->pid = pid;
    else
        newborn->gone_count++;
    return false;
}

/* Starts one child that exits and one that is stopped: only the stopped one can be read. */
static int stop_with_a_child(void)
{
    pid_t pid;
    int status;

    if (run_child(do_nothing) != 0)
        return 1;
    pid = fork();
    if (pid == 0) {
        (void)raise(SIGSTOP);
        _exit(0);
    }
    if (waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status))
        return 1;
    (void)raise(SIGSTOP);
    return waitpid(pid, &status, 0) != pid;
}

TEST(living_processes_are_announced_once)
{
    unsigned served = 0;

    for (size_t kind = 0; kind < ARRAY_SIZE(kinds); kind++) {
        struct newborn newborn = { 0 };
        struct watched w;
        int status;

        if (!start(&w, kind, stop_with_a_child))
            continue;
        assert_int_equal(waitpid(w.job.pid, &status, WUNTRACED), w.job.pid);
        assert_true(WIFSTOPPED(status));
        process_events_drain(&w.process_events, false);
        for (int i = 0; i < 2; i++)
            process_events_announce(&w.process_events, UINT64_MAX, remember, &newborn);
        assert_int_equal(newborn.count - newborn.gone_count, 1);
        /* The connector may not have reported the exit of the first child, though the job has
         * waited for it. */
        assert_in_range(newborn.gone_count, 0, w.process_events.connector.fd < 0 ? 0 : 1);
        assert_int_equal(kill(newborn.pid, SIGCONT), 0);
        assert_int_equal(kill(w.job.pid, SIGCONT), 0);
        if (!finish(&w))
            continue;
        assert_int_equal(w.process_events.started_count, 3);
        done(&w);
        served++;
    }
    if (served == 0)
        skip();
}

enum { MAIN_BYTES = 16 << 20, CHILD_BYTES = 40 << 20 };

static int touch(size_t bytes)
{
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

    return memory == MAP_FAILED || munmap(memory, bytes) != 0;
}

static int touch_much(void)
{
    return touch(CHILD_BYTES);
}

static int touch_in_main_and_child(void)
{
    for (int i = 0; i < 20; i++) {
        if (run_child(i == 9 ? touch_much : do_nothing) != 0)
            return 1;
    }
    return touch(MAIN_BYTES);
}

TEST(peaks_of_exited_processes_are_kept)
{
    unsigned served = 0;

    for (size_t kind = 0; kind < ARRAY_SIZE(kinds); kind++) {
        struct watched w;
        bool has_peaks;

        if (!start(&w, kind, touch_in_main_and_child))
            continue;
        has_peaks = w.process_events.has_peaks;
        if (!finish(&w))
            continue;
        if (has_peaks) {
            assert_true(w.process_events.has_peaks);
            /* Both processes also include the memory of this test. */
            assert_in_range(w.process_events.peak_bytes[GROUP_MAIN], MAIN_BYTES, UNKNOWN - 1);
            assert_in_range(w.process_events.peak_bytes[GROUP_DESCENDANTS] -
                                w.process_events.peak_bytes[GROUP_MAIN],
                            (CHILD_BYTES - MAIN_BYTES) / 2, CHILD_BYTES);
            served++;
        } else {
            assert_false(is_known(w.process_events.peak_bytes[GROUP_MAIN]));
            assert_false(is_known(w.process_events.peak_bytes[GROUP_DESCENDANTS]));
        }
        done(&w);
    }
    if (served == 0) {
        print_message("taskstats: refused\n");
        skip();
    }
}
