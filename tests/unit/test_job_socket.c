/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/compiler.h"
#include "run/job_socket.h"

#define SERVICE "test-job-socket"

/* Read after job_listener_stop() only. */
struct asked {
    unsigned count;
    char last[JOB_REQUEST_BYTES];
};

/* "x" has no answer. */
static void echo(void *data, const char *request, char ret[JOB_REQUEST_BYTES])
{
    struct asked *asked = data;

    asked->count++;
    (void)snprintf(asked->last, sizeof(asked->last), "%s", request);
    if (strcmp(request, "x") != 0)
        (void)snprintf(ret, JOB_REQUEST_BYTES, "<%.100s>", request);
}

static int connect_to_self(void)
{
    struct root root;
    int fd;

    assert_int_equal(root_open(NULL, &root), 0);
    fd = job_socket_connect(&root, SERVICE, getpid());
    root_close(&root);
    return fd;
}

/* The length of the answer; 0: there is none. */
static ssize_t ask(const char *request, size_t length, char answer[JOB_REQUEST_BYTES])
{
    struct pollfd answered = { .fd = connect_to_self(), .events = POLLIN };
    ssize_t n;

    assert_true(answered.fd >= 0);
    assert_int_equal(send(answered.fd, request, length, MSG_NOSIGNAL), (ssize_t)length);
    assert_int_equal(poll(&answered, 1, 60000), 1);
    n = recv(answered.fd, answer, JOB_REQUEST_BYTES - 1, 0);
    answer[n > 0 ? n : 0] = '\0';
    close(answered.fd);
    return n > 0 ? n : 0;
}

static void a_request_is_answered(void **state)
{
    struct job_listener listener = { 0 };
    struct asked asked = { 0 };
    char answer[JOB_REQUEST_BYTES];

    (void)state;
    assert_int_equal(job_listener_start(&listener, SERVICE, getpid(), echo, &asked), 0);
    assert_true(ask("a b", 3, answer) > 0);
    assert_string_equal(answer, "<a b>");
    assert_int_equal(ask("x", 1, answer), 0);
    assert_int_equal(ask("a\0b", 3, answer), 0);
    job_listener_stop(&listener);
    assert_int_equal(asked.count, 2); /* the one with a NUL was passed over */
    assert_string_equal(asked.last, "x");
}

static void one_listener_has_a_name(void **state)
{
    struct job_listener first = { 0 }, second = { 0 };
    struct asked asked = { 0 };

    (void)state;
    assert_int_equal(job_listener_start(&first, SERVICE, getpid(), echo, &asked), 0);
    assert_int_equal(job_listener_start(&second, SERVICE, getpid(), echo, &asked), -EADDRINUSE);
    job_listener_stop(&second);
    job_listener_stop(&first);
    job_listener_stop(&first);
    assert_int_equal(connect_to_self(), -1);
    assert_int_equal(job_listener_start(&second, SERVICE, getpid(), echo, &asked), 0);
    job_listener_stop(&second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_is_answered),
        cmocka_unit_test(one_listener_has_a_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
