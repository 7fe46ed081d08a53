/* SPDX-License-Identifier: Apache-2.0 */
#include "services/metrics_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/error.h"
#include "base/helper.h"
#include "base/parse.h"
#include "services/upload/sentinel.h"
#include "text/number.h"

enum { CLIENTS_MAX = 16, BACKLOG = 128, REQUEST_MAX = 8 << 10, PAUSE_MS = 100 };
#define CLIENT_MOST_NS (5 * NS_PER_SECOND)

struct client {
    int fd; /* -1: no client */
    uint64_t deadline_ns;
    size_t received, sent;
    struct buffer response; /* empty until the request is complete */
    char request[REQUEST_MAX];
};

struct metrics_server {
    int fd, end_fd;
    bool has_thread;
    pthread_t thread;
    metrics_render *render;
    void *data;
    struct client clients[CLIENTS_MAX];
};

/* ---- addresses ---------------------------------------------------------- */

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static int parse_address(const char *text, union address *ret, struct spoor_error *err)
{
    const char *colon = strrchr(text, ':'), *port_text = colon ? colon + 1 : text;
    size_t length = colon ? (size_t)(colon - text) : 0;
    bool is_v6 = length > 2 && text[0] == '[' && text[length - 1] == ']';
    char name[INET6_ADDRSTRLEN + 1] = "127.0.0.1";
    uint64_t port;

    *ret = (union address){ .v4 = { .sin_family = AF_INET } };
    if (length > 0 && length < sizeof(name) + 2 && strncmp(text, "localhost:", 10) != 0)
        (void)snprintf(name, sizeof(name), "%.*s", (int)length - 2 * is_v6, text + is_v6);
    if (parse_whole_u64(port_text, &port) == 0 && port <= UINT16_MAX) {
        ret->v4.sin_port = ret->v6.sin6_port = htons((uint16_t)port); /* the two overlap */
        if (!is_v6 && inet_pton(AF_INET, name, &ret->v4.sin_addr) == 1)
            return 0;
        ret->v6.sin6_family = AF_INET6;
        if (is_v6 && inet_pton(AF_INET6, name, &ret->v6.sin6_addr) == 1)
            return 0;
    }
    return error_set(err, EINVAL,
                     "invalid address '%s': expected PORT, ADDRESS:PORT or [ADDRESS]:PORT",
                     text);
}

int metrics_server_check(const char *address, struct spoor_error *err)
{
    union address parsed;

    return parse_address(address, &parsed, err);
}

static void write_url(int fd, struct buffer *out)
{
    union address own = { .v6 = { 0 } };
    socklen_t size = sizeof(own);
    char name[INET6_ADDRSTRLEN] = "";
    bool is_v6;

    (void)getsockname(fd, &own.any, &size);
    is_v6 = own.any.sa_family == AF_INET6;
    (void)inet_ntop(own.any.sa_family,
                    is_v6 ? (void *)&own.v6.sin6_addr : (void *)&own.v4.sin_addr, name,
                    sizeof(name));
    buffer_format(out, is_v6 ? "http://[%s]:%u/metrics" : "http://%s:%u/metrics", name,
                  ntohs(own.v4.sin_port));
}

/* ---- requests ----------------------------------------------------------- */

/* Returns the value of a header, which ends with its line; NULL: no such header. */
static const char *find_header(const char *request, const char *name)
{
    size_t length = strlen(name);

    for (const char *line = request; (line = strstr(line, "\r\n"));) {
        line += 2;
        if (strncasecmp(line, name, length) == 0 && line[length] == ':')
            return line + length + 1;
    }
    return NULL;
}

/* Returns the weight of a choice in a list such as "text/plain;q=0.5,gzip"; 0: not in the
 * list. */
static double weigh(const char *list, const char *choice)
{
    size_t length = strlen(choice);

    while (list && *list != '\r') {
        size_t end;

        list += strspn(list, " \t,");
        end = strcspn(list, ",\r");
        if (strncasecmp(list, choice, length) == 0 && strchr("; \t,\r", list[length])) {
            const char *weight = memmem(list, end, "q=", 2);
            double value = 1;

            if (weight) {
                weight += 2;
                (void)number_read(&weight, &value); /* 1 if malformed */
            }
            return value;
        }
        list += end;
    }
    return 0;
}

static void respond(const char *status, const char *headers, const struct buffer *body,
                    bool has_body, struct buffer *out)
{
    size_t length = body->length;

    buffer_format(out,
                  "HTTP/1.1 %s\r\n%sVary: Accept, Accept-Encoding\r\n"
                  "Connection: close\r\nContent-Length: %zu\r\n\r\n",
                  status, headers, length);
    if (has_body)
        buffer_add(out, body->text, length);
}

static void respond_metrics(const char *request, metrics_render *render, void *data,
                            bool has_body, struct buffer *out)
{
    CLEANUP(buffer_done) struct buffer text = { 0 };
    CLEANUP(buffer_done) struct buffer packed = { 0 };
    const char *accept = find_header(request, "Accept");
    double open = weigh(accept, "application/openmetrics-text");
    bool is_open = open > 0 && open >= weigh(accept, "text/plain");
    bool is_packed = weigh(find_header(request, "Accept-Encoding"), "gzip") > 0;
    char headers[160];

    render(data, is_open ? EXPOSE_OPENMETRICS : EXPOSE_TEXT, &text);
    is_packed = is_packed && text.length > 0 && gzip_add(text.text, text.length, &packed) == 0;
    (void)snprintf(headers, sizeof(headers), "Content-Type: %s; charset=utf-8\r\n%s",
                   is_open ? "application/openmetrics-text; version=1.0.0"
                           : "text/plain; version=0.0.4",
                   is_packed ? "Content-Encoding: gzip\r\n" : ""); /* fits */
    respond(buffer_error(&text) < 0 ? "500 Internal Server Error" : "200 OK", headers,
            is_packed ? &packed : &text, has_body, out);
}

void metrics_respond(const char *request, metrics_render *render, void *data,
                     struct buffer *out)
{
    static const struct buffer empty = { 0 };
    bool is_get = strncmp(request, "GET ", 4) == 0, is_head = strncmp(request, "HEAD ", 5) == 0;
    const char *path = request + strcspn(request, " ") + (is_get || is_head);
    size_t length = strcspn(path, " ?\r\n");

    if (!strstr(request, " HTTP/1.") || strstr(request, " HTTP/1.") > strstr(request, "\r\n"))
        respond("400 Bad Request", "", &empty, false, out);
    else if (!is_get && !is_head)
        respond("405 Method Not Allowed", "Allow: GET, HEAD\r\n", &empty, false, out);
    else if (length != strlen("/metrics") || strncmp(path, "/metrics", length) != 0)
        respond("404 Not Found", "", &empty, false, out);
    else
        respond_metrics(request, render, data, is_get, out);
}

/* ---- clients ------------------------------------------------------------ */

static void drop(struct client *client)
{
    if (client->fd >= 0)
        close(client->fd);
    buffer_done(&client->response);
    client->fd = -1;
}

static void admit(struct metrics_server *server)
{
    struct client *oldest = server->clients;
    int fd = accept4(server->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

    if (fd < 0) {
        /* Out of descriptors or memory: pause, or poll() would return again at once. */
        if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
            (void)poll(NULL, 0, PAUSE_MS);
        return;
    }
    for (size_t i = 0; i < CLIENTS_MAX; i++) {
        struct client *client = &server->clients[i];

        if (client->fd < 0 || (oldest->fd >= 0 && client->deadline_ns < oldest->deadline_ns))
            oldest = client;
    }
    drop(oldest);
    oldest->fd = fd;
    oldest->received = oldest->sent = 0;
    oldest->deadline_ns = clock_now().monotonic_ns + CLIENT_MOST_NS;
}

/* Reads a part of the request. Returns false if the connection is to be closed: the client has
 * left, or memory ran out. */
static bool receive(struct metrics_server *server, struct client *client)
{
    size_t room = sizeof(client->request) - 1 - client->received;
    ssize_t n = recv(client->fd, client->request + client->received, room, 0);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    if (n <= 0)
        return false;
    client->received += (size_t)n;
    client->request[client->received] = '\0';
    if (strstr(client->request, "\r\n\r\n")) /* a NUL byte ends the text */
        metrics_respond(client->request, server->render, server->data, &client->response);
    else if (client->received == sizeof(client->request) - 1)
        buffer_add_text(&client->response,
                        "HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\n"
                        "Content-Length: 0\r\n\r\n");
    return buffer_error(&client->response) == 0;
}

/* Sends a part of the response. Returns false if the connection is to be closed: all is sent,
 * or the client has left. */
static bool send_response(struct client *client)
{
    ssize_t n = send(client->fd, client->response.text + client->sent,
                     client->response.length - client->sent, MSG_NOSIGNAL);

    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    client->sent += (size_t)n;
    if (client->sent < client->response.length)
        return true;
    (void)shutdown(client->fd, SHUT_WR);
    return false;
}

static void serve(struct metrics_server *server, struct client *client, bool is_ready)
{
    bool stays = client->deadline_ns > clock_now().monotonic_ns;

    if (stays && is_ready && client->response.length == 0)
        stays = receive(server, client);
    if (stays && is_ready && client->response.length > 0)
        stays = send_response(client);
    if (!stays)
        drop(client);
}

static void *run(void *data)
{
    struct metrics_server *server = data;

    for (;;) {
        struct pollfd fds[CLIENTS_MAX + 2] = { { .fd = server->end_fd, .events = POLLIN },
                                               { .fd = server->fd, .events = POLLIN } };
        uint64_t deadline_ns = UINT64_MAX;
        struct timespec left;

        for (size_t i = 0; i < CLIENTS_MAX; i++) {
            const struct client *client = &server->clients[i];

            fds[i + 2].fd = client->fd;
            fds[i + 2].events = client->response.length > 0 ? POLLOUT : POLLIN;
            if (client->fd >= 0)
                deadline_ns = smaller(deadline_ns, client->deadline_ns);
        }
        left = clock_time_until(deadline_ns);
        (void)ppoll(fds, ARRAY_SIZE(fds), deadline_ns == UINT64_MAX ? NULL : &left, NULL);
        if (fds[0].revents)
            return NULL;
        for (size_t i = 0; i < CLIENTS_MAX; i++) {
            if (server->clients[i].fd >= 0)
                serve(server, &server->clients[i], fds[i + 2].revents != 0);
        }
        if (fds[1].revents)
            admit(server);
    }
}

/* ---- the server --------------------------------------------------------- */

static int listen_at(struct metrics_server *server, const union address *address)
{
    const int yes = 1;

    server->fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    server->end_fd = eventfd(0, EFD_CLOEXEC);
    if (server->fd < 0 || server->end_fd < 0)
        return -errno;
    /* Reuse a port that an earlier run has just left. */
    (void)setsockopt(server->fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    return bind(server->fd, &address->any, sizeof(*address)) < 0 ||
                   listen(server->fd, BACKLOG) < 0
               ? -errno
               : 0;
}

int metrics_server_open(const char *address, struct metrics_server **ret,
                        struct buffer *ret_url, struct spoor_error *err)
{
    union address parsed;
    struct metrics_server *server;
    int r = parse_address(address, &parsed, err);

    if (r < 0)
        return r;
    server = calloc(1, sizeof(*server));
    if (!server)
        return error_set(err, ENOMEM, "out of memory");
    for (size_t i = 0; i < CLIENTS_MAX; i++)
        server->clients[i].fd = -1;
    server->fd = server->end_fd = -1;
    r = listen_at(server, &parsed);
    if (r < 0) {
        metrics_server_close(server);
        return error_sys(err, r, "cannot listen on '%s'", address);
    }
    write_url(server->fd, ret_url);
    *ret = server;
    return 0;
}

int metrics_server_start(struct metrics_server *server, metrics_render *render, void *data,
                         struct spoor_error *err)
{
    int r;

    server->render = render;
    server->data = data;
    r = thread_start_quiet(&server->thread, run, server);
    server->has_thread = r == 0;
    return r < 0 ? error_sys(err, r, "cannot start the thread that serves metrics") : 0;
}

struct metrics_server *metrics_server_close(struct metrics_server *server)
{
    const uint64_t one = 1;

    if (!server)
        return NULL;
    if (server->has_thread) {
        (void)!write(server->end_fd, &one, sizeof(one)); /* the counter cannot overflow */
        (void)pthread_join(server->thread, NULL);
    }
    for (size_t i = 0; i < CLIENTS_MAX; i++)
        drop(&server->clients[i]);
    if (server->fd >= 0)
        close(server->fd);
    if (server->end_fd >= 0)
        close(server->end_fd);
    free(server);
    return NULL;
}
