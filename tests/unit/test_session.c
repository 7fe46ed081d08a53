/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "fake_root.h"
#include "spoor/spoor.h"
#include "unit_test.h"

/* A child that waits for end of file on a pipe. */
struct child {
    pid_t pid;
    int end_fd;
};

static struct child start_child(void)
{
    struct child child;
    int pipe_fds[2];

    assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
    child.pid = fork();
    assert_true(child.pid >= 0);
    if (child.pid == 0) {
        char byte;

        close(pipe_fds[1]);
        _exit(read(pipe_fds[0], &byte, 1) == 0 ? 0 : 1);
    }
    close(pipe_fds[0]);
    child.end_fd = pipe_fds[1];
    return child;
}

static void end_child(struct child *child)
{
    int status;

    close(child->end_fd);
    assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
    assert_int_equal(status, 0);
}

static spoor_session *open_session(pid_t pid, uint64_t interval_ns)
{
    struct spoor_options options = SPOOR_OPTIONS_INIT;
    struct spoor_error err;
    spoor_session *session;

    options.pid = pid;
    options.interval_ns = interval_ns;
    assert_int_equal(spoor_session_open(&options, &session, &err), 0);
    return session;
}

TEST(invalid_options_cause_an_error_message)
{
    static const struct {
        pid_t pid;
        uint64_t interval_ns;
        size_t size;
        const char *message;
    } bad[] = {
        { -5, 1000000, sizeof(struct spoor_options),
          "invalid process ID -5: must not be negative" },
        { 1, 999999, sizeof(struct spoor_options),
          "invalid interval 999999 ns: must be 1 ms to 1 h" },
        { 1, 0, sizeof(struct spoor_options), "invalid interval 0 ns: must be 1 ms to 1 h" },
        { 1, 1000000, 0, "invalid options size 0: initialize them with SPOOR_OPTIONS_INIT" },
        { 1, 1000000, 5000,
          "invalid options size 5000: initialize them with SPOOR_OPTIONS_INIT" },
        { 0x7ffffff0, 1000000, sizeof(struct spoor_options), "no such process: 2147483632" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct spoor_options options = SPOOR_OPTIONS_INIT;
        struct spoor_error err = { 0 };
        spoor_session *session = NULL;

        options.size = bad[i].size;
        options.pid = bad[i].pid;
        options.interval_ns = bad[i].interval_ns;
        assert_true(spoor_session_open(&options, &session, &err) < 0);
        assert_string_equal(err.message, bad[i].message);
        assert_null(session);
    }
}

struct waiter {
    int pipe_fds[2];
    pid_t tid;
    pthread_barrier_t has_tid;
};

static void *tell_tid_and_wait(void *data)
{
    struct waiter *waiter = data;
    char byte;

    waiter->tid = gettid();
    (void)pthread_barrier_wait(&waiter->has_tid);
    (void)!read(waiter->pipe_fds[0], &byte, 1); /* until the other end is closed */
    return NULL;
}

TEST(the_id_of_a_thread_is_refused_as_a_process)
{
    struct spoor_options options = SPOOR_OPTIONS_INIT;
    struct spoor_error err = { 0 };
    struct waiter waiter;
    spoor_session *session;
    char expected[100];
    pthread_t thread;

    assert_int_equal(pipe2(waiter.pipe_fds, O_CLOEXEC), 0);
    assert_int_equal(pthread_barrier_init(&waiter.has_tid, NULL, 2), 0);
    assert_int_equal(pthread_create(&thread, NULL, tell_tid_and_wait, &waiter), 0);
    (void)pthread_barrier_wait(&waiter.has_tid);
    options.pid = waiter.tid;
    assert_int_equal(spoor_session_open(&options, &session, &err), -EINVAL);
    (void)snprintf(expected, sizeof(expected),
                   "%d is a thread of process %d: use the PID of the process", (int)waiter.tid,
                   (int)getpid());
    assert_string_equal(err.message, expected);
    close(waiter.pipe_fds[1]);
    (void)pthread_join(thread, NULL);
    close(waiter.pipe_fds[0]);
    (void)pthread_barrier_destroy(&waiter.has_tid);
}

TEST(samples_are_taken_automatically)
{
    struct child child = start_child();
    spoor_session *session = open_session(child.pid, SPOOR_INTERVAL_MIN_NS);
    size_t count = spoor_metric_count();
    double *values = calloc(count, sizeof(*values));
    struct spoor_error err;
    struct spoor_figure figure;
    double first_host_seconds = 0;
    size_t host_cpu = count;

    assert_non_null(values);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(spoor_metric_get(i)->name, "host_cpu_seconds") == 0)
            host_cpu = i;
    }
    assert_true(host_cpu < count);
    assert_int_equal(spoor_session_latest(session, values, count), -EAGAIN);
    assert_int_equal(spoor_session_start(session, &err), 0);
    assert_int_equal(spoor_session_latest(session, values, count), count);
    first_host_seconds = values[host_cpu];
    /* Spins until the machine's CPU time has changed in a later sample. Only the session's
     * thread takes samples here. */
    while (!(values[host_cpu] > first_host_seconds))
        assert_int_equal(spoor_session_latest(session, values, count), count);
    end_child(&child);
    assert_int_equal(spoor_session_stop(session, &err), 0);
    assert_int_equal(spoor_session_stop(session, &err), 0); /* may be called twice */
    assert_int_equal(spoor_session_figure(session, "processes.started", &figure, &err), 0);
    assert_true(figure.value >= 1 && figure.value <= 1);
    assert_int_equal(spoor_session_figure(session, "nonsense", &figure, &err), -ENOENT);
    assert_string_equal(err.message, "unknown figure 'nonsense'");
    free(values);
    assert_null(spoor_session_close(session));
}

TEST(the_processes_of_a_job_are_listed)
{
    struct child child = start_child();
    spoor_session *session = open_session(child.pid, SPOOR_INTERVAL_MIN_NS);
    struct spoor_process processes[2] = { { 0 } };
    struct spoor_error err;

    assert_int_equal(spoor_session_start(session, &err), 0);
    assert_int_equal(spoor_session_processes(session, NULL, 0), 1);
    assert_int_equal(spoor_session_processes(session, processes, 2), 1);
    assert_int_equal(processes[0].pid, child.pid);
    assert_int_equal(processes[0].parent_pid, getpid());
    assert_string_equal(processes[0].name, program_invocation_short_name);
    assert_true(processes[0].started_seconds <= 0);
    assert_true(isnan(processes[0].ended_seconds));
    assert_int_equal(processes[0].exit_code, -1);
    assert_int_equal(processes[1].pid, 0);
    end_child(&child);
    assert_int_equal(spoor_session_stop(session, &err), 0);
    assert_int_equal(spoor_session_processes(session, processes, 2), 1);
    assert_true(processes[0].ended_seconds >= 0);
    assert_null(spoor_session_close(session));
}

struct seen {
    size_t count;
    size_t metric_count;
    double last_elapsed_seconds;
    double last_unix_seconds;
    double rss_bytes; /* of the main process, at the first sample */
    size_t rss;       /* index of this metric */
    bool is_in_order;
};

static void see_sample(const struct spoor_sample *sample, void *data)
{
    struct seen *seen = data;

    if (seen->count++ == 0)
        seen->rss_bytes = sample->values[seen->rss];
    seen->metric_count = sample->count;
    seen->is_in_order =
        seen->is_in_order && sample->elapsed_seconds >= seen->last_elapsed_seconds;
    seen->last_elapsed_seconds = sample->elapsed_seconds;
    seen->last_unix_seconds = sample->unix_seconds;
}

TEST(every_sample_is_passed_to_the_caller)
{
    struct seen seen = { .is_in_order = true };
    struct spoor_options options = SPOOR_OPTIONS_INIT;
    struct child child = start_child();
    time_t before = time(NULL);
    struct spoor_error err;
    spoor_session *session;

    while (strcmp(spoor_metric_get(seen.rss)->name, "main_rss_bytes") != 0)
        seen.rss++;
    options.pid = child.pid;
    options.interval_ns = SPOOR_INTERVAL_MAX_NS; /* the thread takes no samples */
    options.sample_seen = see_sample;
    options.sample_data = &seen;
    assert_int_equal(spoor_session_open(&options, &session, &err), 0);
    assert_int_equal(seen.count, 0);
    assert_int_equal(spoor_session_start(session, &err), 0);
    assert_int_equal(seen.count, 1);
    assert_true(seen.last_elapsed_seconds <= 0);
    assert_true(seen.rss_bytes > 0);
    assert_int_equal(spoor_session_sample(session, &err), 0);
    assert_int_equal(seen.count, 2);
    end_child(&child);
    assert_int_equal(spoor_session_stop(session, &err), 0);
    assert_int_equal(seen.count, 3);
    assert_int_equal(seen.metric_count, spoor_metric_count());
    assert_true(seen.is_in_order && seen.last_elapsed_seconds > 0);
    assert_true(seen.last_unix_seconds >= (double)before);
    session = spoor_session_close(session);
    assert_int_equal(seen.count, 3);
}

static void count_sample(UNUSED const struct spoor_sample *sample, void *data)
{
    atomic_fetch_add((_Atomic unsigned *)data, 1);
}

TEST(the_caller_can_set_the_time_of_the_second_sample)
{
    struct spoor_options options = SPOOR_OPTIONS_INIT;
    struct child child = start_child();
    const struct timespec moment = { .tv_nsec = 1000000 };
    _Atomic unsigned count = 0;
    struct spoor_error err;
    spoor_session *session;

    options.pid = child.pid;
    options.interval_ns = SPOOR_INTERVAL_MAX_NS; /* the third sample would be due in an hour */
    options.second_sample_ns = clock_now().monotonic_ns + 20 * NS_PER_MS;
    options.sample_seen = count_sample;
    options.sample_data = &count;
    assert_int_equal(spoor_session_open(&options, &session, &err), 0);
    assert_int_equal(spoor_session_start(session, &err), 0);
    while (count < 2)
        nanosleep(&moment, NULL);
    assert_true(clock_now().monotonic_ns >= options.second_sample_ns);
    end_child(&child);
    assert_int_equal(spoor_session_stop(session, &err), 0);
    assert_int_equal(count, 3);
    session = spoor_session_close(session);
}

static off_t file_size(const char *path)
{
    struct stat status;

    assert_int_equal(stat(path, &status), 0);
    return status.st_size;
}

FAKE_ROOT_TEST(a_stream_may_end_before_the_session)
{
    struct fake_root *fake = *state;
    struct spoor_options options = SPOOR_OPTIONS_INIT;
    struct child child = start_child();
    struct spoor_stream streams[] = { { NULL, "resource-tracker:process", NULL },
                                      { NULL, "resource-tracker:system", NULL } };
    const off_t process_row = 12 * sizeof(double), system_row = 21 * sizeof(double);
    char paths[2][128];
    struct spoor_error err;
    spoor_session *session;

    for (int i = 0; i < 2; i++) {
        (void)snprintf(paths[i], sizeof(paths[i]), "%s/%d.f64", fake->path, i);
        streams[i].path = paths[i];
    }
    options.pid = child.pid;
    options.interval_ns = SPOOR_INTERVAL_MAX_NS;
    options.streams = streams;
    options.stream_count = 2;
    assert_int_equal(spoor_session_open(&options, &session, &err), 0);
    assert_int_equal(spoor_session_start(session, &err), 0);
    end_child(&child);
    assert_int_equal(spoor_session_end_stream(session, 2, &err), -EINVAL);
    assert_int_equal(spoor_session_end_stream(session, 0, &err), 0);
    assert_int_equal(file_size(paths[0]), process_row);
    assert_int_equal(spoor_session_end_stream(session, 0, &err), 0); /* it has already ended */
    assert_int_equal(spoor_session_stop(session, &err), 0);
    assert_int_equal(file_size(paths[0]), process_row);
    assert_int_equal(file_size(paths[1]), 3 * system_row);
    assert_int_equal(spoor_session_lost_rows(session, 0, NULL), 0);
    session = spoor_session_close(session);
}

FAKE_ROOT_TEST(a_report_replaces_a_file_atomically)
{
    struct fake_root *fake = *state;
    spoor_session *session = open_session(getpid(), SPOOR_INTERVAL_MAX_NS);
    struct spoor_error err;
    char path[128], link_path[128];
    struct stat before, after;

    (void)snprintf(path, sizeof(path), "%s/report.csv", fake->path);
    (void)snprintf(link_path, sizeof(link_path), "%s/link.csv", fake->path);
    assert_int_equal(spoor_session_start(session, &err), 0);
    assert_int_equal(spoor_session_save(session, SPOOR_CSV, path, SPOOR_NO_CLOBBER, &err), 0);
    assert_int_equal(spoor_session_save(session, SPOOR_CSV, path, SPOOR_NO_CLOBBER, &err),
                     -EEXIST);
    assert_int_equal(stat(path, &before), 0);
    assert_int_equal(spoor_session_save(session, SPOOR_CSV, path, SPOOR_REPLACE, &err), 0);
    assert_int_equal(stat(path, &after), 0);
    assert_true(before.st_ino != after.st_ino); /* replaced by a rename, not overwritten */
    assert_int_equal(spoor_session_save(session, SPOOR_CSV, path, SPOOR_APPEND, &err), 0);
    assert_int_equal(stat(path, &before), 0);
    assert_true(before.st_size > after.st_size && before.st_size < 2 * after.st_size);
    assert_int_equal(symlink(path, link_path), 0);
    assert_int_equal(spoor_session_save(session, SPOOR_CSV, link_path, SPOOR_REPLACE, &err),
                     -ELOOP);
    assert_int_equal(spoor_session_save(session, SPOOR_CSV, link_path, SPOOR_APPEND, &err),
                     -ELOOP);
    session = spoor_session_close(session);
}

static struct spoor_figure figure_of(spoor_session *session, const char *path)
{
    struct spoor_figure figure;

    assert_int_equal(spoor_session_figure(session, path, &figure, NULL), 0);
    return figure;
}

TEST(flags_that_need_a_process_are_refused_without_one)
{
    static const struct {
        pid_t pid;
        unsigned flags;
        const char *message;
    } bad[] = {
        { 0, SPOOR_CALLER_SPAWNED, "missing process ID" },
        { 0, SPOOR_MAIN_ONLY, "missing process ID" },
        { 1, SPOOR_MAIN_ONLY | SPOOR_CALLER_SPAWNED,
          "SPOOR_MAIN_ONLY and SPOOR_CALLER_SPAWNED cannot be combined" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct spoor_options options = SPOOR_OPTIONS_INIT;
        struct spoor_error err = { 0 };
        spoor_session *session = NULL;

        options.pid = bad[i].pid;
        options.flags = bad[i].flags;
        assert_int_equal(spoor_session_open(&options, &session, &err), -EINVAL);
        assert_string_equal(err.message, bad[i].message);
    }
}

TEST(a_session_without_a_job_measures_the_host)
{
    spoor_session *session = open_session(0, SPOOR_INTERVAL_MIN_NS);
    struct spoor_error err;

    assert_int_equal(spoor_session_start(session, &err), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(spoor_session_sample(session, &err), 0);
    assert_int_equal(spoor_session_stop(session, &err), 0);
    assert_true(figure_of(session, "memory.system_peak_bytes").value > 0);
    for (size_t i = 0; i < spoor_metric_count(); i++) {
        const char *name = spoor_metric_get(i)->name;
        double values[200];

        assert_true(spoor_session_latest(session, values, ARRAY_SIZE(values)) > 0);
        if (strncmp(name, "host_", 5) != 0)
            assert_true(isnan(values[i]));
    }
    assert_true(isnan(figure_of(session, "cpu.total_seconds").value));
    assert_string_equal(figure_of(session, "cpu.total_seconds").reason, "no job is tracked");
    assert_string_equal(figure_of(session, "gpu.memory.combined_bytes").reason,
                        "no job is tracked");
    assert_string_equal(figure_of(session, "processes.started").reason, "no job is tracked");
    session = spoor_session_close(session);
}

/* The child of this test is a descendant, and must not be counted. */
TEST(a_session_may_exclude_descendants)
{
    struct spoor_options options = SPOOR_OPTIONS_INIT;
    struct child child = start_child();
    struct spoor_error err;
    spoor_session *session;

    options.pid = getpid();
    options.flags = SPOOR_MAIN_ONLY;
    assert_int_equal(spoor_session_open(&options, &session, &err), 0);
    assert_int_equal(spoor_session_start(session, &err), 0);
    assert_int_equal(spoor_session_stop(session, &err), 0);
    assert_true(figure_of(session, "processes.max_concurrent").value < 1.5);
    assert_true(figure_of(session, "memory.main.total_rss_bytes").value > 0);
    assert_true(isnan(figure_of(session, "memory.descendants.total_rss_bytes").value));
    assert_string_equal(figure_of(session, "memory.descendants.total_rss_bytes").reason,
                        "descendants are not tracked");
    session = spoor_session_close(session);
    end_child(&child);
}

TEST(closing_twice_is_harmless_and_complete)
{
    assert_null(spoor_session_close(NULL));
    for (int i = 0; i < 100; i++) {
        spoor_session *session = open_session(getpid(), SPOOR_INTERVAL_MIN_NS);
        struct spoor_error err;

        if (i % 2)
            assert_int_equal(spoor_session_start(session, &err), 0);
        assert_null(spoor_session_close(session));
    }
    /* After 100 sessions, the next descriptor must still be a small number. */
    {
        int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

        assert_true(fd >= 0 && fd < 20);
        close(fd);
    }
}
