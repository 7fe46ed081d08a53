/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/compiler.h"
#include "fake_root.h"
#include "spoor/spoor.h"

/* A child that waits until it is told to end, through a pipe. */
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

static void bad_options_are_refused_with_a_sentence(void **state)
{
    static const struct {
        pid_t pid;
        uint64_t interval_ns;
        size_t size;
        const char *message;
    } bad[] = {
        { 0, 1000000, sizeof(struct spoor_options), "invalid process ID 0: must be positive" },
        { -5, 1000000, sizeof(struct spoor_options),
          "invalid process ID -5: must be positive" },
        { 1, 999999, sizeof(struct spoor_options),
          "invalid interval 999999 ns: must be 1 ms to 1 h" },
        { 1, 0, sizeof(struct spoor_options), "invalid interval 0 ns: must be 1 ms to 1 h" },
        { 1, 1000000, 0, "invalid options size 0: initialize them with SPOOR_OPTIONS_INIT" },
        { 1, 1000000, 5000,
          "invalid options size 5000: initialize them with SPOOR_OPTIONS_INIT" },
        { 0x7ffffff0, 1000000, sizeof(struct spoor_options), "no such process: 2147483632" },
    };

    (void)state;
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

static void a_thread_is_not_a_process(void **state)
{
    struct spoor_options options = SPOOR_OPTIONS_INIT;
    struct spoor_error err = { 0 };
    struct waiter waiter;
    spoor_session *session;
    char expected[100];
    pthread_t thread;

    (void)state;
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

static void samples_come_by_themselves(void **state)
{
    struct child child = start_child();
    spoor_session *session = open_session(child.pid, SPOOR_INTERVAL_MIN_NS);
    size_t count = spoor_metric_count();
    double *values = calloc(count, sizeof(*values));
    struct spoor_error err;
    struct spoor_figure figure;
    double first_host_seconds = 0;
    size_t host_cpu = count;

    (void)state;
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
    /* Busy until the machine's CPU time has moved in a later sample: only the thread takes it. */
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

struct seen {
    size_t count;
    size_t metric_count;
    double last_elapsed_seconds;
    double last_unix_seconds;
    double rss_bytes; /* of the first process, at the first sample */
    size_t rss;       /* which metric that is */
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

static void every_sample_is_shown_to_the_caller(void **state)
{
    struct seen seen = { .is_in_order = true };
    struct spoor_options options = SPOOR_OPTIONS_INIT;
    struct child child = start_child();
    time_t before = time(NULL);
    struct spoor_error err;
    spoor_session *session;

    (void)state;
    while (strcmp(spoor_metric_get(seen.rss)->name, "main_rss_bytes") != 0)
        seen.rss++;
    options.pid = child.pid;
    options.interval_ns = SPOOR_INTERVAL_MAX_NS; /* the thread takes none */
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

static void phases_have_figures_of_their_own(void **state)
{
    struct child child = start_child();
    spoor_session *session = open_session(child.pid, SPOOR_INTERVAL_MAX_NS);
    struct spoor_error err;
    char text[65536];
    int pipe_fds[2];
    ssize_t n;

    (void)state;
    assert_int_equal(spoor_phase_start(session, "early", &err), -EINVAL);
    assert_string_equal(err.message, "phase 'early': the session is not running");
    assert_int_equal(spoor_session_start(session, &err), 0);
    assert_int_equal(spoor_phase_start(session, "outer", &err), 0);
    assert_int_equal(spoor_phase_start(session, "inner", &err), 0);
    assert_int_equal(spoor_phase_stop(session, "inner", &err), 0);
    assert_int_equal(spoor_phase_stop(session, "inner", &err), -ENOENT);
    assert_string_equal(err.message, "phase 'inner' is not open");
    assert_int_equal(spoor_phase_start(session, "", &err), -EINVAL);
    end_child(&child);
    assert_int_equal(spoor_session_stop(session, &err), 0);
    assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
    assert_true(fcntl(pipe_fds[1], F_SETPIPE_SZ, 1 << 20) >= 0);
    assert_int_equal(spoor_session_write(session, SPOOR_JSON, 0, pipe_fds[1], &err), 0);
    close(pipe_fds[1]);
    n = read(pipe_fds[0], text, sizeof(text) - 1);
    assert_true(n > 0);
    text[n] = '\0';
    close(pipe_fds[0]);
    assert_non_null(strstr(text, "\"name\": \"outer\""));
    assert_non_null(strstr(text, "\"name\": \"inner\""));
    assert_null(strstr(text, "\"name\": \"early\""));
    session = spoor_session_close(session);
}

static size_t count_text(const char *text, const char *part)
{
    size_t count = 0;

    for (; (text = strstr(text, part)) != NULL; text++)
        count++;
    return count;
}

static void phases_beyond_the_limit_are_added_to_earlier_ones(void **state)
{
    spoor_session *session = open_session(getpid(), SPOOR_INTERVAL_MAX_NS);
    FILE *file = tmpfile();
    struct spoor_error err;
    struct stat stat;
    char *text;

    (void)state;
    assert_non_null(file);
    assert_int_equal(spoor_session_start(session, &err), 0);
    for (int i = 0; i < 300; i++) {
        assert_int_equal(spoor_phase_start(session, "epoch", &err), 0);
        assert_int_equal(spoor_phase_stop(session, "epoch", &err), 0);
    }
    assert_int_equal(spoor_phase_stop(session, "epoch", &err), -ENOENT);
    assert_int_equal(spoor_phase_start(session, "new", &err), 0);
    assert_int_equal(spoor_phase_start(session, "newer", &err), 0);
    assert_int_equal(spoor_phase_start(session, "epoch", &err), 0); /* open twice */
    assert_int_equal(spoor_phase_start(session, "epoch", &err), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(spoor_phase_stop(session, i ? "newer" : "new", &err), 0);
        assert_int_equal(spoor_phase_stop(session, "epoch", &err), 0);
    }
    assert_int_equal(spoor_phase_stop(session, "newer", &err), -ENOENT);
    assert_int_equal(spoor_phase_stop(session, "epoch", &err), -ENOENT);
    assert_int_equal(spoor_session_stop(session, &err), 0);
    assert_int_equal(spoor_session_write(session, SPOOR_JSON, 0, fileno(file), &err), 0);
    assert_int_equal(fstat(fileno(file), &stat), 0);
    text = calloc(1, (size_t)stat.st_size + 1);
    assert_non_null(text);
    assert_int_equal(pread(fileno(file), text, (size_t)stat.st_size, 0), stat.st_size);
    assert_int_equal(count_text(text, "\"name\": \"epoch\""), 255);
    assert_int_equal(count_text(text, "\"name\": \"(others)\""), 1);
    assert_int_equal(count_text(text, "\"code\": \"phases\""), 1);
    assert_int_equal(count_text(text, "\"name\": \"new"), 0);
    free(text);
    (void)fclose(file);
    session = spoor_session_close(session);
}

static void a_report_replaces_a_file_whole_or_not_at_all(void **state)
{
    spoor_session *session = open_session(getpid(), SPOOR_INTERVAL_MAX_NS);
    struct spoor_error err;
    struct fake_root fake;
    char path[128], link_path[128];
    struct stat before, after;

    (void)state;
    fake_root_init(&fake);
    (void)snprintf(path, sizeof(path), "%s/report.csv", fake.path);
    (void)snprintf(link_path, sizeof(link_path), "%s/link.csv", fake.path);
    assert_int_equal(spoor_session_start(session, &err), 0);
    assert_int_equal(spoor_session_save(session, SPOOR_CSV, path, SPOOR_NO_CLOBBER, &err), 0);
    assert_int_equal(spoor_session_save(session, SPOOR_CSV, path, SPOOR_NO_CLOBBER, &err),
                     -EEXIST);
    assert_int_equal(stat(path, &before), 0);
    assert_int_equal(spoor_session_save(session, SPOOR_CSV, path, SPOOR_REPLACE, &err), 0);
    assert_int_equal(stat(path, &after), 0);
    assert_true(before.st_ino != after.st_ino); /* renamed, not written over */
    assert_int_equal(spoor_session_save(session, SPOOR_CSV, path, SPOOR_APPEND, &err), 0);
    assert_int_equal(stat(path, &before), 0);
    assert_true(before.st_size > after.st_size && before.st_size < 2 * after.st_size);
    assert_int_equal(symlink(path, link_path), 0);
    assert_int_equal(spoor_session_save(session, SPOOR_CSV, link_path, SPOOR_REPLACE, &err),
                     -ELOOP);
    assert_int_equal(spoor_session_save(session, SPOOR_CSV, link_path, SPOOR_APPEND, &err),
                     -ELOOP);
    session = spoor_session_close(session);
    fake_root_done(&fake);
}

static void nothing_is_closed_twice_or_left_open(void **state)
{
    (void)state;
    assert_null(spoor_session_close(NULL));
    for (int i = 0; i < 100; i++) {
        spoor_session *session = open_session(getpid(), SPOOR_INTERVAL_MIN_NS);
        struct spoor_error err;

        if (i % 2)
            assert_int_equal(spoor_session_start(session, &err), 0);
        assert_null(spoor_session_close(session));
    }
    /* 100 sessions later the next descriptor is a small number still. */
    {
        int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

        assert_true(fd >= 0 && fd < 20);
        close(fd);
    }
}

/* ---- a thread that hangs -------------------------------------------------- */

/* A callback that returns when its pipe is closed, from the second sample on. */
struct obstacle {
    int begun_fds[2]; /* a byte when it blocks */
    int wait_fds[2];
    int count;
};

static void wait_at(const struct spoor_sample *sample, void *data)
{
    struct obstacle *obstacle = data;
    char byte;

    (void)sample;
    if (obstacle->count++ == 0)
        return; /* the first is taken by the caller */
    (void)!write(obstacle->begun_fds[1], "", 1);
    (void)!read(obstacle->wait_fds[0], &byte, 1);
}

/* A session whose thread takes a sample that does not end. */
static spoor_session *open_hanging(pid_t pid, struct obstacle *obstacle)
{
    struct spoor_options options = SPOOR_OPTIONS_INIT;
    struct spoor_error err;
    spoor_session *session;
    char byte;

    *obstacle = (struct obstacle){ .count = 0 };
    assert_int_equal(pipe2(obstacle->begun_fds, O_CLOEXEC), 0);
    assert_int_equal(pipe2(obstacle->wait_fds, O_CLOEXEC), 0);
    options.pid = pid;
    options.interval_ns = SPOOR_INTERVAL_MIN_NS;
    options.sample_seen = wait_at;
    options.sample_data = obstacle;
    assert_int_equal(spoor_session_open(&options, &session, &err), 0);
    assert_int_equal(spoor_session_start(session, &err), 0);
    assert_int_equal(read(obstacle->begun_fds[0], &byte, 1), 1);
    return session;
}

static void let_go_on(struct obstacle *obstacle)
{
    close(obstacle->wait_fds[1]);
}

static void obstacle_done(struct obstacle *obstacle)
{
    close(obstacle->begun_fds[0]);
    close(obstacle->begun_fds[1]);
    close(obstacle->wait_fds[0]);
}

static void a_thread_that_hangs_keeps_nobody_waiting(void **state)
{
    struct child child = start_child();
    struct obstacle obstacle;
    spoor_session *session = open_hanging(child.pid, &obstacle);
    struct spoor_figure figure;
    struct spoor_error err = { 0 };
    double value;

    (void)state;
    assert_int_equal(spoor_session_child_ended(session, child.pid), -EAGAIN);
    spoor_session_set_wait_status(session, 0);
    spoor_session_note_end(session);
    spoor_session_warn(session, "test", "a warning");
    assert_true(spoor_session_latest(session, &value, 1) > 0);
    assert_int_equal(
        spoor_session_figure(session, "memory.combined.total_rss_bytes", &figure, &err), 0);
    assert_int_equal(spoor_session_stop_within(session, 1000000, &err), -ETIMEDOUT);
    assert_string_equal(err.message, "the last sample is missing: the sampling thread hangs");
    assert_int_equal(spoor_session_save(session, SPOOR_JSON, "/dev/null", SPOOR_REPLACE, &err),
                     0);
    let_go_on(&obstacle);
    assert_int_equal(spoor_session_stop(session, &err), 0);
    assert_int_equal(spoor_session_child_ended(session, child.pid), 0);
    assert_null(spoor_session_close(session));
    obstacle_done(&obstacle);
    end_child(&child);
}

/* A sanitizer sees whether the thread frees all. */
static void a_session_whose_thread_hangs_can_be_closed(void **state)
{
    struct child child = start_child();
    struct obstacle obstacle;
    spoor_session *session = open_hanging(child.pid, &obstacle);
    char byte;

    (void)state;
    assert_int_equal(spoor_session_stop_within(session, 0, NULL), -ETIMEDOUT);
    assert_null(spoor_session_close(session));
    let_go_on(&obstacle);
    assert_int_equal(read(obstacle.begun_fds[0], &byte, 1), 1); /* the last sample */
    end_child(&child);
}

/* ---- many callers --------------------------------------------------------- */

static void *start_session(void *data)
{
    return (void *)(intptr_t)spoor_session_start(data, NULL);
}

static void *stop_session(void *data)
{
    return (void *)(intptr_t)spoor_session_stop(data, NULL);
}

/* How many of some threads that do the same at once return 0. */
static int count_successes(void *(*act)(void *data), spoor_session *session)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    int count = 0;

    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, act, session), 0);
    for (int i = 0; i < THREADS; i++) {
        void *result;

        assert_int_equal(pthread_join(threads[i], &result), 0);
        count += result == NULL;
    }
    return count;
}

static void many_may_start_and_stop_a_session(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        struct child child = start_child();
        spoor_session *session = open_session(child.pid, SPOOR_INTERVAL_MIN_NS);

        assert_int_equal(count_successes(start_session, session), 1);
        assert_int_equal(count_successes(stop_session, session), 4);
        assert_int_equal(spoor_session_sample(session, NULL), -EINVAL);
        assert_null(spoor_session_close(session));
        end_child(&child);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_options_are_refused_with_a_sentence),
        cmocka_unit_test(a_thread_is_not_a_process),
        cmocka_unit_test(samples_come_by_themselves),
        cmocka_unit_test(every_sample_is_shown_to_the_caller),
        cmocka_unit_test(phases_have_figures_of_their_own),
        cmocka_unit_test(phases_beyond_the_limit_are_added_to_earlier_ones),
        cmocka_unit_test(a_report_replaces_a_file_whole_or_not_at_all),
        cmocka_unit_test(nothing_is_closed_twice_or_left_open),
        cmocka_unit_test(a_thread_that_hangs_keeps_nobody_waiting),
        cmocka_unit_test(a_session_whose_thread_hangs_can_be_closed),
        cmocka_unit_test(many_may_start_and_stop_a_session),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
