/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Linked with --wrap=thread_start_quiet: threads start only if this test allows it. Also linked
 * with --wrap=job_cgroup_remove, whose wrapper checks that the session is not locked.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/helper.h"
#include "session/session.h"
#include "spoor/spoor.h"
#include "unit_test.h"

int __real_thread_start_quiet(pthread_t *ret, void *(*run)(void *data), void *data);
int __wrap_thread_start_quiet(pthread_t *ret, void *(*run)(void *data), void *data);

static bool is_refused;

int __wrap_thread_start_quiet(pthread_t *ret, void *(*run)(void *data), void *data)
{
    return is_refused ? -EAGAIN : __real_thread_start_quiet(ret, run, data);
}

static spoor_session *ending;
static int lock_error = -1;

void __wrap_job_cgroup_remove(struct job_cgroup *job_cgroup);

/* If the caller holds the mutex, locking it times out. */
void __wrap_job_cgroup_remove(struct job_cgroup *job_cgroup)
{
    struct timespec deadline;

    (void)job_cgroup; /* there are no folders to remove */
    if (!ending)
        return;
    (void)clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += 5;
    lock_error = pthread_mutex_timedlock(&ending->mutex, &deadline);
    if (lock_error == 0)
        pthread_mutex_unlock(&ending->mutex);
}

/* Counts open descriptors whose link contains `kind`. */
static int count_open(const char *kind)
{
    DIR *folder = opendir("/proc/self/fd");
    const struct dirent *entry;
    int count = 0;

    assert_non_null(folder);
    while ((entry = readdir(folder)) != NULL) {
        char path[300], target[300] = "";

        (void)snprintf(path, sizeof(path), "/proc/self/fd/%s", entry->d_name);
        (void)!readlink(path, target, sizeof(target) - 1);
        count += strstr(target, kind) != NULL;
    }
    closedir(folder);
    return count;
}

static spoor_session *open_session(void)
{
    struct spoor_options options = SPOOR_OPTIONS_INIT;
    struct spoor_error err;
    spoor_session *session;

    options.pid = getpid();
    options.interval_ns = SPOOR_INTERVAL_MIN_NS;
    assert_int_equal(spoor_session_open(&options, &session, &err), 0);
    return session;
}

TEST(a_failed_thread_start_leaves_nothing_open)
{
    int before = count_open("eventfd");
    spoor_session *session = open_session();
    struct spoor_error err;

    is_refused = true;
    assert_int_equal(spoor_session_start(session, &err), -EAGAIN);
    assert_int_equal(count_open("eventfd"), before);
    assert_int_equal(spoor_session_sample(session, &err), -EINVAL);
    assert_int_equal(spoor_session_stop(session, &err), 0);
    is_refused = false;
    assert_int_equal(spoor_session_start(session, &err), 0); /* a second attempt works */
    assert_int_equal(spoor_session_stop(session, &err), 0);
    assert_null(spoor_session_close(session));
    assert_int_equal(count_open("eventfd"), before);
}

/* The removal may take a second for each folder. */
TEST(a_session_can_be_read_while_the_cgroup_is_removed)
{
    struct spoor_error err;

    ending = open_session();
    assert_int_equal(spoor_session_start(ending, &err), 0);
    assert_int_equal(spoor_session_stop(ending, &err), 0);
    assert_int_equal(lock_error, 0);
    assert_null(spoor_session_close(ending));
    ending = NULL;
}

/* ---- a thread that hangs -------------------------------------------------- */

/* From the second sample on, the callback blocks until the pipe `wait_fds` is closed. */
struct obstacle {
    int begun_fds[2]; /* a byte before and after the callback blocks */
    int wait_fds[2];
    int count;
};

static void wait_at(UNUSED const struct spoor_sample *sample, void *data)
{
    struct obstacle *obstacle = data;
    char byte;

    if (obstacle->count++ == 0)
        return; /* called by the thread that opens the session, for the first sample */
    (void)!write(obstacle->begun_fds[1], "", 1);
    (void)!read(obstacle->wait_fds[0], &byte, 1);
    (void)!write(obstacle->begun_fds[1], "", 1); /* the callback no longer blocks */
}

/* Opens a session whose thread takes an endless sample. */
static spoor_session *open_hanging(struct obstacle *obstacle)
{
    struct spoor_options options = SPOOR_OPTIONS_INIT;
    struct spoor_error err;
    spoor_session *session;
    char byte;

    *obstacle = (struct obstacle){ .count = 0 };
    assert_int_equal(pipe2(obstacle->begun_fds, O_CLOEXEC), 0);
    assert_int_equal(pipe2(obstacle->wait_fds, O_CLOEXEC), 0);
    options.pid = getpid();
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

struct asker {
    spoor_session *session;
    int begun_fd;
};

static void *ask_for_sample(void *data)
{
    const struct asker *asker = data;

    (void)!write(asker->begun_fd, "", 1);
    (void)spoor_session_sample(asker->session, NULL);
    return NULL;
}

/* After the end of the job, a listener waits for such a caller, but not as long as for a
 * thread that hangs. */
TEST(stopping_wakes_callers_that_wait_for_a_sample)
{
    struct obstacle obstacle;
    spoor_session *session = open_hanging(&obstacle);
    struct asker asker = { session, obstacle.begun_fds[1] };
    struct timespec deadline;
    pthread_t thread;
    char byte;

    assert_int_equal(pthread_create(&thread, NULL, ask_for_sample, &asker), 0);
    assert_int_equal(read(obstacle.begun_fds[0], &byte, 1), 1);
    (void)poll(NULL, 0, 10); /* time for the caller to start waiting */
    assert_int_equal(spoor_session_stop_within(session, 1000000, NULL), -ETIMEDOUT);
    (void)clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += 7; /* shorter than the timeout for a thread that hangs */
    assert_int_equal(pthread_timedjoin_np(thread, NULL, &deadline), 0);
    let_go_on(&obstacle);
    assert_int_equal(spoor_session_stop(session, NULL), 0);
    assert_null(spoor_session_close(session));
    obstacle_done(&obstacle);
}

TEST(a_hanging_thread_blocks_no_caller)
{
    struct obstacle obstacle;
    spoor_session *session = open_hanging(&obstacle);
    struct spoor_figure figure;
    struct spoor_error err = { 0 };
    double value;

    assert_int_equal(spoor_session_child_ended(session, getpid()), -EAGAIN);
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
    assert_int_equal(spoor_session_child_ended(session, getpid()), 0);
    assert_null(spoor_session_close(session));
    obstacle_done(&obstacle);
}

/* A sanitizer checks that the thread frees all its memory. */
TEST(a_session_with_a_hanging_thread_can_be_closed)
{
    static struct obstacle obstacle; /* the thread uses it after the session is closed */
    int count = count_open("eventfd");
    spoor_session *session = open_hanging(&obstacle);
    char byte;

    assert_int_equal(spoor_session_stop_within(session, 0, NULL), -ETIMEDOUT);
    assert_null(spoor_session_close(session));
    let_go_on(&obstacle);
    assert_int_equal(read(obstacle.begun_fds[0], &byte, 1), 1);
    while (count_open("eventfd") > count) /* only this shows that the thread has ended */
        (void)usleep(1000);
    assert_int_equal(obstacle.count, 2); /* not called after the session was closed */
    obstacle_done(&obstacle);
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

/* Calls `act` in several threads at once. Returns how many of the calls return 0. */
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

TEST(several_threads_may_start_and_stop_a_session)
{
    for (int i = 0; i < 20; i++) {
        spoor_session *session = open_session();

        assert_int_equal(count_successes(start_session, session), 1);
        assert_int_equal(count_successes(stop_session, session), 4);
        assert_int_equal(spoor_session_sample(session, NULL), -EINVAL);
        assert_null(spoor_session_close(session));
    }
}

int main(void)
{
    (void)setenv("SPOOR_DISABLE", "gpu", 1); /* GPU libraries open eventfds, too */
    return unit_tests_run();
}
