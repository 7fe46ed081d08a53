/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "front/gpu_tracker/row_requests.h"

/* Read after row_requests_stop() only. */
struct asked {
    unsigned count;
    double wanted_after;
    double answer;
};

static double take(void *data, double wanted_after)
{
    struct asked *asked = data;

    asked->count++;
    asked->wanted_after = wanted_after;
    return asked->answer;
}

/* -1: nobody listens. */
static int connect_to(pid_t pid)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int length = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "gpu-tracker/%d",
                          (int)pid);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    if (connect(fd, (struct sockaddr *)&address, size) == 0)
        return fd;
    assert_int_equal(errno, ECONNREFUSED);
    close(fd);
    return -1;
}

/* Sends a text and returns the length of the answer. */
static ssize_t ask(const char *text, char *answer, size_t size)
{
    int fd = connect_to(getpid());
    ssize_t n;

    assert_true(fd >= 0);
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    n = recv(fd, answer, size - 1, 0);
    answer[n > 0 ? n : 0] = '\0';
    close(fd);
    return n;
}

static void a_request_is_answered_with_the_time_of_the_row(void **state)
{
    struct asked asked = { .answer = 1700000000.125 };
    struct row_requests requests = { 0 };
    char answer[64];

    (void)state;
    assert_int_equal(row_requests_start(&requests, getpid(), take, &asked), 0);
    assert_true(ask("1700000000.0\n", answer, sizeof(answer)) > 0);
    assert_string_equal(answer, "1700000000.125\n");
    row_requests_stop(&requests);
    assert_int_equal(asked.count, 1);
    assert_true(fabs(asked.wanted_after - 1700000000) < 1e-6);
}

static void damaged_requests_and_missing_rows_have_no_answer(void **state)
{
    static const char *const damaged[] = { "", "\n", "1", "nan\n", "x\n" };
    struct asked asked = { .answer = (double)NAN };
    struct row_requests requests = { 0 };
    char answer[64];

    (void)state;
    assert_int_equal(row_requests_start(&requests, getpid(), take, &asked), 0);
    for (size_t i = 0; i < sizeof(damaged) / sizeof(damaged[0]); i++)
        assert_true(ask(damaged[i], answer, sizeof(answer)) <= 0);
    assert_true(ask("0.0\n", answer, sizeof(answer)) <= 0);
    row_requests_stop(&requests);
    assert_int_equal(asked.count, 1);
}

static void one_tracker_answers_for_a_process(void **state)
{
    struct asked asked = { .answer = 1 };
    struct row_requests first = { 0 }, second = { 0 };

    (void)state;
    assert_int_equal(row_requests_start(&first, getpid(), take, &asked), 0);
    assert_int_equal(row_requests_start(&second, getpid(), take, &asked), -EADDRINUSE);
    row_requests_stop(&second);
    row_requests_stop(&first);
    row_requests_stop(&first);
    assert_int_equal(connect_to(getpid()), -1);
    assert_int_equal(row_requests_start(&second, getpid(), take, &asked), 0);
    row_requests_stop(&second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_is_answered_with_the_time_of_the_row),
        cmocka_unit_test(damaged_requests_and_missing_rows_have_no_answer),
        cmocka_unit_test(one_tracker_answers_for_a_process),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
