/* SPDX-License-Identifier: Apache-2.0 */
/* test_http.c - sends requests to a server on the loopback interface. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "services/http.h"
#include "unit_test.h"

#define OK "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n"

/* A server in a child process. Each connection gets the next answer. The child writes the
 * requests to a pipe and exits after the last answer. */
struct server {
    pid_t pid;
    int requests;
    char url[64];
};

static void serve(int listener, int out, const char *const *answers)
{
    static char text[1 << 20];

    for (; *answers; answers++) {
        int fd = accept(listener, NULL, NULL);
        size_t length = 0;
        char *end, *field;

        for (;;) {
            ssize_t n = read(fd, text + length, sizeof(text) - 1 - length);

            if (n <= 0)
                break;
            length += (size_t)n;
            text[length] = '\0';
            end = strstr(text, "\r\n\r\n");
            field = strstr(text, "Content-Length: ");
            if (end && length >= (size_t)(end + 4 - text) +
                                     (field && field < end ? strtoul(field + 16, NULL, 10) : 0))
                break;
        }
        if (write(out, text, length) < 0 || write(fd, *answers, strlen(*answers)) < 0)
            _exit(1);
        close(fd);
    }
    _exit(0);
}

static struct server server_start(const char *const *answers)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof(address);
    struct server server = { 0 };
    int listener = socket(AF_INET, SOCK_STREAM, 0), pipes[2];

    assert_true(listener >= 0);
    assert_int_equal(bind(listener, (void *)&address, size), 0);
    assert_int_equal(listen(listener, 4), 0);
    assert_int_equal(getsockname(listener, (void *)&address, &size), 0);
    assert_int_equal(pipe(pipes), 0);
    server.pid = fork();
    assert_true(server.pid >= 0);
    if (server.pid == 0) {
        alarm(120); /* kills the server if a failing test does not stop it */
        close(pipes[0]);
        serve(listener, pipes[1], answers);
    }
    close(listener);
    close(pipes[1]);
    server.requests = pipes[0];
    snprintf(server.url, sizeof(server.url), "http://127.0.0.1:%d/a/b",
             ntohs(address.sin_port));
    return server;
}

/* Waits for the server and returns the requests it received. */
static void server_stop(struct server *server, struct buffer *ret)
{
    int status;

    assert_int_equal(buffer_read(ret, server->requests, HTTP_BODY_MAX), 0);
    close(server->requests);
    assert_int_equal(waitpid(server->pid, &status, 0), server->pid);
}

static struct http *client(void)
{
    struct http *http = NULL;
    struct spoor_error err = { 0 };

    if (http_open(&http, &err) < 0)
        fail_msg("%s", err.message);
    return http;
}

TEST(a_response_has_a_status_a_header_and_a_body)
{
    const char *const answers[] = { OK "X-Region:  eu-west-1 \r\n\r\nhi",
                                    "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
                                    NULL };
    const char *const headers[] = { "Metadata: true", NULL };
    struct server server = server_start(answers);
    struct http_request request = { .url = server.url,
                                    .headers = headers,
                                    .timeout_ms = 20000,
                                    .is_local = true,
                                    .wanted_header = "x-region" };
    struct http_response response = { 0 };
    struct http *http = client();
    struct buffer asked = { 0 };

    assert_int_equal(http_send(http, &request, &response, NULL), 0);
    assert_int_equal(response.status, 200);
    assert_string_equal(response.body.text, "hi");
    assert_string_equal(response.header, "eu-west-1");
    assert_int_equal(http_send(http, &request, &response, NULL), 0);
    assert_int_equal(response.status, 404);
    assert_string_equal(response.body.text, "");
    assert_string_equal(response.header, "");
    server_stop(&server, &asked);
    assert_non_null(strstr(asked.text, "GET /a/b HTTP/1.1\r\n"));
    assert_non_null(strstr(asked.text, "Metadata: true\r\n"));
    buffer_done(&asked);
    http_response_done(&response);
    http_close(http);
}

TEST(a_body_may_contain_any_bytes)
{
    const char *const answers[] = { OK "\r\nok", NULL };
    struct server server = server_start(answers);
    struct http_request request = { .method = "PUT",
                                    .url = server.url,
                                    .body = "a\0b",
                                    .body_length = 3,
                                    .timeout_ms = 20000 };
    struct http_response response = { 0 };
    struct http *http = client();
    struct buffer asked = { 0 };

    assert_int_equal(http_send(http, &request, &response, NULL), 0);
    server_stop(&server, &asked);
    assert_memory_equal(asked.text, "PUT /a/b HTTP/1.1\r\n", 19);
    assert_memory_equal(asked.text + asked.length - 7, "\r\n\r\na\0b", 7);
    assert_null(strstr(asked.text, "Expect:"));
    buffer_done(&asked);
    http_response_done(&response);
    http_close(http);
}

TEST(a_request_can_be_signed)
{
    const char *const answers[] = { OK "\r\nok", NULL };
    const struct http_signature signature = { "AKID", "secret", "token/1", "eu-west-1" };
    struct server server = server_start(answers);
    struct http_request request = { .method = "PUT",
                                    .url = server.url,
                                    .body = "abc",
                                    .body_length = 3,
                                    .timeout_ms = 20000,
                                    .signature = &signature };
    struct http_response response = { 0 };
    struct http *http = client();
    struct buffer asked = { 0 };

    assert_int_equal(http_send(http, &request, &response, NULL), 0);
    server_stop(&server, &asked);
    assert_non_null(strstr(asked.text, "Authorization: AWS4-HMAC-SHA256 Credential=AKID/"));
    assert_non_null(strstr(asked.text, "/eu-west-1/s3/aws4_request"));
    assert_non_null(strstr(asked.text, "x-amz-security-token: token/1\r\n"));
    assert_non_null(strstr(asked.text, "SignedHeaders=host;x-amz-content-sha256;x-amz-date;"
                                       "x-amz-security-token, "));
    assert_null(strstr(asked.text, "secret"));
    buffer_done(&asked);
    http_response_done(&response);
    http_close(http);
}

TEST(a_signature_with_a_line_break_is_refused)
{
    const struct http_signature signature = { "AKID", "secret", "token\r\nHost: evil",
                                              "eu-west-1" };
    struct http_request request = { .url = "http://127.0.0.1:1/",
                                    .timeout_ms = 20000,
                                    .signature = &signature };
    struct http_response response = { 0 };
    struct spoor_error err = { 0 };
    struct http *http = client();

    assert_int_equal(http_send(http, &request, &response, &err), -EINVAL);
    assert_null(strstr(err.message, "evil"));
    http_response_done(&response);
    http_close(http);
}

/* A metadata service never redirects; a server that redirects is some other service. */
TEST(redirects_are_followed_except_by_local_requests)
{
    struct server target = server_start((const char *const[]){ OK "\r\nok", NULL });
    char answer[256];
    struct server server;
    struct http_request request = { .timeout_ms = 20000 };
    struct http_response response = { 0 };
    struct http *http = client();
    struct buffer asked = { 0 };

    snprintf(
        answer, sizeof(answer),
        "HTTP/1.1 302 Found\r\nLocation: %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        target.url);
    server = server_start((const char *const[]){ answer, answer, NULL });
    request.url = server.url;
    request.is_local = true;
    assert_int_equal(http_send(http, &request, &response, NULL), 0);
    assert_int_equal(response.status, 302);
    request.is_local = false;
    assert_int_equal(http_send(http, &request, &response, NULL), 0);
    assert_int_equal(response.status, 200);
    server_stop(&server, &asked);
    server_stop(&target, &asked);
    buffer_done(&asked);
    http_response_done(&response);
    http_close(http);
}

TEST(failures_have_error_codes)
{
    struct server silent = server_start((const char *const[]){ NULL });
    const struct {
        const char *url;
        int error;
    } cases[] = { { "http://127.0.0.1:1/", -ECONNREFUSED },
                  { "file:///etc/passwd", -EINVAL },
                  { "http://[", -EINVAL } };
    struct http_response response = { 0 };
    struct spoor_error err = { 0 };
    struct http *http = client();
    struct buffer asked = { 0 };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct http_request request = { .url = cases[i].url,
                                        .timeout_ms = 20000,
                                        .is_local = true };

        assert_int_equal(http_send(http, &request, &response, &err), cases[i].error);
        assert_non_null(strstr(err.message, cases[i].url));
    }
    server_stop(&silent, &asked);
    buffer_done(&asked);
    http_response_done(&response);
    http_close(http);
}

/* No process accepts the connection, so there is no response. */
TEST(a_request_ends_at_its_time_limit)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct http_response response = { 0 };
    struct http *http = client();
    char url[64];
    struct http_request request = { .url = url, .timeout_ms = 50, .is_local = true };

    assert_int_equal(bind(listener, (void *)&address, size), 0);
    assert_int_equal(listen(listener, 4), 0);
    assert_int_equal(getsockname(listener, (void *)&address, &size), 0);
    snprintf(url, sizeof(url), "http://127.0.0.1:%d/", ntohs(address.sin_port));
    assert_int_equal(http_send(http, &request, &response, NULL), -ETIMEDOUT);
    close(listener);
    http_response_done(&response);
    http_close(http);
}

int main(void)
{
    /* Requests to 127.0.0.1 must not go to the user's proxy. */
    setenv("no_proxy", "*", 1);
    return unit_tests_run();
}
