/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zlib.h>

#include "base/compiler.h"
#include "services/metrics_server.h"
#include "unit_test.h"

static void write_name(UNUSED void *data, enum exposition how, struct buffer *out)
{
    buffer_add_text(out, how == EXPOSE_OPENMETRICS ? "open\n" : "text\n");
}

/* ---- requests ----------------------------------------------------------- */

static const char *answer(const char *request)
{
    static struct buffer out;

    buffer_done(&out);
    metrics_respond(request, write_name, NULL, &out);
    assert_int_equal(buffer_error(&out), 0);
    return out.text;
}

static void check_status(const char *request, const char *status)
{
    const char *response = answer(request);

    if (strncmp(response + strlen("HTTP/1.1 "), status, strlen(status)) != 0)
        fail_msg("%s is answered by %s", request, response);
}

TEST(test_only_metrics_are_served)
{
    check_status("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", "200");
    check_status("GET /metrics?x=1 HTTP/1.0\r\n\r\n", "200");
    check_status("GET / HTTP/1.1\r\n\r\n", "404");
    check_status("GET /metrics/ HTTP/1.1\r\n\r\n", "404");
    check_status("GET /metricsx HTTP/1.1\r\n\r\n", "404");
    check_status("GET /../metrics HTTP/1.1\r\n\r\n", "404");
    check_status("POST /metrics HTTP/1.1\r\n\r\n", "405");
    check_status("get /metrics HTTP/1.1\r\n\r\n", "405");
    check_status("GET /metrics HTTP/2.0\r\n\r\n", "400");
    check_status("GET /metrics\r\n\r\n", "400");
    check_status("GET /metrics\r\nX: HTTP/1.1\r\n\r\n", "400");
    check_status("\r\n\r\n", "400");
    check_status(" HTTP/1.1\r\n\r\n", "405");
}

TEST(test_the_response_to_head_has_no_body)
{
    const char *response = answer("HEAD /metrics HTTP/1.1\r\n\r\n");

    assert_non_null(strstr(response, "Content-Length: 5\r\n"));
    assert_string_equal(strstr(response, "\r\n\r\n"), "\r\n\r\n");
}

static bool gets_openmetrics(const char *accept)
{
    char request[512];
    const char *response;
    bool is_open;

    (void)snprintf(request, sizeof(request), "GET /metrics HTTP/1.1\r\n%s\r\n\r\n", accept);
    response = answer(request);
    is_open = strstr(response, "application/openmetrics-text; version=1.0.0; charset=utf-8");
    assert_string_equal(strstr(response, "\r\n\r\n") + 4, is_open ? "open\n" : "text\n");
    assert_true(is_open || strstr(response, "text/plain; version=0.0.4; charset=utf-8"));
    return is_open;
}

TEST(test_the_format_is_negotiated)
{
    assert_true(gets_openmetrics("Accept: application/openmetrics-text;version=1.0.0,"
                                 "application/openmetrics-text;version=0.0.1;q=0.75,"
                                 "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"));
    assert_true(gets_openmetrics("X: y\r\naccept:APPLICATION/OpenMetrics-Text"));
    assert_false(gets_openmetrics("Host: a"));
    assert_false(gets_openmetrics("Accept: */*"));
    assert_false(gets_openmetrics("Accept: text/plain, application/openmetrics-text;q=0.5"));
    assert_false(gets_openmetrics("Accept: application/openmetrics-text;q=0"));
    assert_false(gets_openmetrics("Accept: application/openmetrics-textual"));
    assert_false(gets_openmetrics("Accept:"));
}

TEST(test_gzip_is_negotiated)
{
    const char *response =
        answer("GET /metrics HTTP/1.1\r\nAccept-Encoding: br, gzip;q=0.5\r\n\r\n");
    const char *body = strstr(response, "\r\n\r\n") + 4;
    unsigned char text[16] = "";
    z_stream stream = { .next_in = (unsigned char *)(uintptr_t)body,
                        .avail_in = 100, /* replaced below */
                        .next_out = text,
                        .avail_out = sizeof(text) - 1 };
    size_t length = strtoul(strstr(response, "Content-Length: ") + 16, NULL, 10);

    stream.avail_in = (uInt)length;
    assert_non_null(strstr(response, "Content-Encoding: gzip\r\n"));
    assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
    assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
    assert_int_equal(inflateEnd(&stream), Z_OK);
    assert_string_equal((char *)text, "text\n");
    response = answer("GET /metrics HTTP/1.1\r\nAccept-Encoding: gzip;q=0\r\n\r\n");
    assert_null(strstr(response, "gzip"));
}

/* ---- addresses ---------------------------------------------------------- */

TEST(test_listen_addresses_are_parsed)
{
    static const char *const good[] = { "9400",          ":9400",      "127.0.0.1:0",
                                        "0.0.0.0:65535", "[::1]:9400", "[::]:1",
                                        "localhost:9400" };
    static const char *const bad[] = { "",      "x",     "65536", "-1",          "1.2.3.4",
                                       "a:1",   "::1:1", "[]:1",  "[1.2.3.4]:1", "1.2.3.4:",
                                       "[::1:1" };
    struct spoor_error err;

    for (size_t i = 0; i < ARRAY_SIZE(good); i++)
        assert_int_equal(metrics_server_check(good[i], &err), 0);
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_int_equal(metrics_server_check(bad[i], &err), -EINVAL);
}

/* ---- clients ------------------------------------------------------------ */

struct served {
    struct metrics_server *server;
    uint16_t port;
};

static int set_up(void **state)
{
    static struct served served;
    struct buffer url = { 0 };
    struct spoor_error err;

    assert_int_equal(metrics_server_open("0", &served.server, &url, &err), 0);
    assert_int_equal(strncmp(url.text, "http://127.0.0.1:", 17), 0);
    assert_string_equal(strrchr(url.text, '/'), "/metrics");
    served.port = (uint16_t)strtoul(url.text + 17, NULL, 10);
    assert_int_equal(metrics_server_start(served.server, write_name, NULL, &err), 0);
    buffer_done(&url);
    *state = &served;
    return 0;
}

static int tear_down(void **state)
{
    struct served *served = *state;

    assert_null(metrics_server_close(served->server));
    return 0;
}

static int join(const struct served *served)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(served->port) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

/* Reads until the server closes or resets the connection; checks the start of the response. */
static void check_response(int fd, const char *start)
{
    char text[4096] = "";
    size_t length = 0;
    ssize_t n;

    while ((n = recv(fd, text + length, sizeof(text) - 1 - length, 0)) > 0)
        length += (size_t)n;
    assert_int_equal(strncmp(text, start, strlen(start)), 0);
    close(fd);
}

static const char whole[] = "GET /metrics HTTP/1.1\r\n\r\n";

TEST_WITH(test_a_request_may_come_in_pieces, set_up, tear_down)
{
    int fd = join(*state);

    for (const char *c = whole; *c; c++)
        assert_int_equal(send(fd, c, 1, MSG_NOSIGNAL), 1);
    check_response(fd, "HTTP/1.1 200 OK\r\n");
}

TEST_WITH(test_silent_clients_do_not_block_the_server, set_up, tear_down)
{
    int silent[100];

    for (size_t i = 0; i < ARRAY_SIZE(silent); i++)
        silent[i] = join(*state);
    for (int i = 0; i < 3; i++) {
        int fd = join(*state);

        assert_int_equal(send(fd, whole, strlen(whole), MSG_NOSIGNAL), strlen(whole));
        check_response(fd, "HTTP/1.1 200 OK\r\n");
    }
    check_response(silent[0], ""); /* closed in favor of a newer client */
    for (size_t i = 1; i < ARRAY_SIZE(silent); i++)
        close(silent[i]);
}

TEST_WITH(test_the_size_of_a_request_is_limited, set_up, tear_down)
{
    int fd = join(*state);
    char piece[1024];

    memset(piece, 'a', sizeof(piece));
    for (int i = 0; i < 8; i++)
        (void)send(fd, piece, sizeof(piece) - (i == 7), MSG_NOSIGNAL);
    check_response(fd, "HTTP/1.1 431 ");
}

TEST_WITH(test_clients_may_disconnect_early, set_up, tear_down)
{
    for (int i = 0; i < 50; i++)
        close(join(*state));
    test_a_request_may_come_in_pieces(state);
}

TEST_WITH(test_a_port_in_use_is_refused, set_up, tear_down)
{
    const struct served *served = *state;
    struct metrics_server *other = NULL;
    struct buffer url = { 0 };
    struct spoor_error err;
    char text[16];

    (void)snprintf(text, sizeof(text), "%u", served->port);
    assert_int_equal(metrics_server_open(text, &other, &url, &err), -EADDRINUSE);
    assert_null(other);
}
