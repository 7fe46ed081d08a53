/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compiler.h"
#include "run/job_socket.h"
#include "unit_test.h"

/* ---- job socket --------------------------------------------------------- */

#define SERVICE "test-job-socket"

/* Valid only after job_listener_stop(). */
struct asked {
    unsigned count;
    char last[JOB_REQUEST_BYTES];
};

/* Answers "<REQUEST>"; does not answer the request "x". */
static void echo(void *data, const char *request, char ret[JOB_REQUEST_BYTES])
{
    struct asked *asked = data;

    asked->count++;
    (void)snprintf(asked->last, sizeof(asked->last), "%s", request);
    if (strcmp(request, "x") != 0)
        (void)snprintf(ret, JOB_REQUEST_BYTES, "<%.100s>", request);
}

static int connect_to(const char *service)
{
    struct root root;
    int fd;

    assert_int_equal(root_open(NULL, &root), 0);
    fd = job_socket_connect(&root, service, getpid());
    root_close(&root);
    return fd;
}

static int send_request(const char *request, size_t length)
{
    int fd = connect_to(SERVICE);

    assert_true(fd >= 0);
    assert_int_equal(send(fd, request, length, MSG_NOSIGNAL), (ssize_t)length);
    return fd;
}

/* Returns the length of the answer, or 0 if there is none. Closes the socket. */
static ssize_t take_answer(int fd, char answer[JOB_REQUEST_BYTES])
{
    struct pollfd answered = { .fd = fd, .events = POLLIN };
    ssize_t n;

    assert_int_equal(poll(&answered, 1, 60000), 1);
    n = recv(answered.fd, answer, JOB_REQUEST_BYTES - 1, 0);
    answer[n > 0 ? n : 0] = '\0';
    close(answered.fd);
    return n > 0 ? n : 0;
}

static ssize_t ask(const char *request, size_t length, char answer[JOB_REQUEST_BYTES])
{
    return take_answer(send_request(request, length), answer);
}

static int open_listener(struct job_listener *listener)
{
    CLEANUP(root_close) struct root root = ROOT_CLOSED;

    assert_int_equal(root_open(NULL, &root), 0);
    return job_listener_open(listener, &root, SERVICE, getpid());
}

static int start_phases(struct job_listener *listener, struct job_run *run,
                        struct spoor_error *err)
{
    CLEANUP(root_close) struct root root = ROOT_CLOSED;

    assert_int_equal(root_open(NULL, &root), 0);
    return phase_listener_start(listener, &root, run, err);
}

static int start(struct job_listener *listener, struct asked *asked)
{
    int r = open_listener(listener);

    return r < 0 ? r : job_listener_serve(listener, echo, asked);
}

/* A job may send a request as soon as it runs. */
TEST(a_request_waits_until_the_listener_answers)
{
    struct job_listener listener = { 0 };
    struct asked asked = { 0 };
    char answer[JOB_REQUEST_BYTES];
    int fd;

    assert_int_equal(open_listener(&listener), 0);
    fd = send_request("early", 5);
    assert_int_equal(job_listener_serve(&listener, echo, &asked), 0);
    assert_true(take_answer(fd, answer) > 0);
    assert_string_equal(answer, "<early>");
    job_listener_stop(&listener);
}

TEST(an_unanswered_request_ends_when_the_listener_closes)
{
    struct job_listener listener = { 0 };
    char answer[JOB_REQUEST_BYTES];
    int fd;

    assert_int_equal(open_listener(&listener), 0);
    fd = send_request("early", 5);
    job_listener_stop(&listener);
    assert_int_equal(take_answer(fd, answer), 0);
}

TEST(a_request_is_answered)
{
    struct job_listener listener = { 0 };
    struct asked asked = { 0 };
    char answer[JOB_REQUEST_BYTES];

    assert_int_equal(start(&listener, &asked), 0);
    assert_true(ask("a b", 3, answer) > 0);
    assert_string_equal(answer, "<a b>");
    assert_int_equal(ask("x", 1, answer), 0);
    assert_int_equal(ask("a\0b", 3, answer), 0);
    job_listener_stop(&listener);
    assert_int_equal(asked.count, 2); /* the request that contains a NUL was skipped */
    assert_string_equal(asked.last, "x");
}

TEST(a_second_listener_on_the_same_name_is_refused)
{
    struct job_listener first = { 0 }, second = { 0 };
    struct asked asked = { 0 };

    assert_int_equal(start(&first, &asked), 0);
    assert_int_equal(start(&second, &asked), -EADDRINUSE);
    job_listener_stop(&second);
    job_listener_stop(&first);
    job_listener_stop(&first);
    assert_int_equal(connect_to(SERVICE), -1);
    assert_int_equal(start(&second, &asked), 0);
    job_listener_stop(&second);
}

/* ---- phase socket ------------------------------------------------------- */

static spoor_session *start_session(void)
{
    struct spoor_options options = SPOOR_OPTIONS_INIT;
    spoor_session *session;
    struct spoor_error err;

    options.pid = getpid();
    options.interval_ns = SPOOR_INTERVAL_MAX_NS;
    assert_int_equal(spoor_session_open(&options, &session, &err), 0);
    assert_int_equal(spoor_session_start(session, &err), 0);
    return session;
}

/* Exits with a message; called in a child. */
static void exit_refused(UNUSED const char *message)
{
    _exit(100);
}

/* Calls phase_send() in a child. Returns the number of trackers reached, or 100 if the call
 * was refused. */
static int send_in_child(const char *name, bool is_stop)
{
    pid_t pid = fork();
    int status;

    if (pid == 0)
        _exit((int)phase_send(name, is_stop, exit_refused));
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* Set in every test: a `spoor watch` outside may request the status of any listener. */
static const struct spoor_options options_of_a_run = { .name = "label" };

TEST(child_starts_and_stops_a_phase)
{
    spoor_session *session = start_session();
    int around = send_in_child("x", false); /* trackers around this test */
    struct job_run run = { session, &options_of_a_run, 0 };
    struct job_listener listener;
    struct spoor_error err;

    assert_int_equal(start_phases(&listener, &run, &err), 0);
    assert_int_equal(send_in_child("a name", false), around + 1);
    assert_int_equal(spoor_phase_stop(session, "a name", &err), 0); /* started by the child */
    assert_int_equal(spoor_phase_start(session, "b", &err), 0);
    assert_int_equal(send_in_child("b", true), around + 1);
    assert_int_equal(spoor_phase_stop(session, "b", &err), -ENOENT);
    assert_int_equal(send_in_child("b", true), 100); /* refused, with a message */
    job_listener_stop(&listener);
    assert_int_equal(send_in_child("c", false), around);
    job_listener_stop(&listener); /* a second call is harmless */
    session = spoor_session_close(session);
}

TEST(samples_and_the_status_are_sent_on_request)
{
    spoor_session *session = start_session();
    struct job_run run = { session, &options_of_a_run, 0 };
    struct job_listener listener;
    char answer[JOB_REQUEST_BYTES];
    struct spoor_error err;
    double before;
    int fd;

    assert_int_equal(start_phases(&listener, &run, &err), 0);
    before = spoor_session_latest_seconds(session);
    fd = connect_to("spoor-phases");
    assert_int_equal(send(fd, "sample", 6, MSG_NOSIGNAL), 6);
    assert_true(take_answer(fd, answer) > 0);
    assert_string_equal(answer, "done");
    assert_true(spoor_session_latest_seconds(session) > before);
    fd = connect_to("spoor-phases");
    assert_int_equal(send(fd, "status", 6, MSG_NOSIGNAL), 6);
    assert_true(take_answer(fd, answer) > 0);
    assert_non_null(strstr(answer, "\"name\":\"label\""));
    job_listener_stop(&listener);
    session = spoor_session_close(session);
}

TEST(second_listener_of_a_process_is_refused)
{
    spoor_session *session = start_session();
    struct job_run run = { session, &options_of_a_run, 0 };
    struct job_listener first, second;
    struct spoor_error err;

    assert_int_equal(start_phases(&first, &run, &err), 0);
    assert_int_equal(start_phases(&second, &run, &err), -EADDRINUSE);
    assert_non_null(strstr(err.message, "cannot listen for phases of the job"));
    job_listener_stop(&second);
    job_listener_stop(&first);
    session = spoor_session_close(session);
}
