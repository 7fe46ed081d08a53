/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics_server.h - serves /metrics over HTTP/1.1, in one thread.
 *
 * The server closes the connection after each response. No client can block it: a client has
 * five seconds for request and response, a request has at most 8 KiB, and if there are 16
 * clients, a new one replaces the oldest.
 */
#pragma once

#include "output/export.h"
#include "spoor/spoor.h"
#include "text/buffer.h"

struct metrics_server;

/* Writes the metrics; called in the thread of the server. */
typedef void metrics_render(void *data, enum exposition how, struct buffer *out);

/* Checks "PORT", "ADDRESS:PORT" or "[ADDRESS]:PORT". The default address is 127.0.0.1. */
int metrics_server_check(const char *address, struct spoor_error *err);

/* Listens at the address; the kernel queues connections until metrics_server_start().
 * `ret_url` is the URL of the metrics; the caller calls buffer_done(). */
int metrics_server_open(const char *address, struct metrics_server **ret,
                        struct buffer *ret_url, struct spoor_error *err);
int metrics_server_start(struct metrics_server *server, metrics_render *render, void *data,
                         struct spoor_error *err);

/* Ends the thread and all connections. Accepts NULL; always returns NULL. */
struct metrics_server *metrics_server_close(struct metrics_server *server);

/* ---- requests, for tests ------------------------------------------------ */

/* Adds the response to a complete request. */
void metrics_respond(const char *request, metrics_render *render, void *data,
                     struct buffer *out);
