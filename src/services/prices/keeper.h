/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeper.h - queries the Spare Cores keeper, a web service, for servers and prices. Part of the program, not
 * of the library.
 *
 * Responses are untrusted: a malformed one is an error with a message of one line, or an unknown price.
 */
#ifndef SERVICES_PRICES_KEEPER_H
#define SERVICES_PRICES_KEEPER_H

#include "base/environment.h"
#include "services/prices/catalog.h"

#define KEEPER_URL "https://keeper.sparecores.net"

/* These replace the URL, and the time in seconds to wait for a response, which is 2. */
#define KEEPER_URL_VARIABLE "SPOOR_KEEPER_URL"
#define KEEPER_TIMEOUT_VARIABLE "SPOOR_KEEPER_TIMEOUT"

struct http;

struct keeper {
    struct http *http;
    const char *url; /* borrowed from the environment */
    uint64_t timeout_ms;
};

/* -ENOSYS: libcurl is not installed. -EINVAL: a variable has no valid value. The caller
 * calls keeper_close(). */
int keeper_open(environment_get *get, struct keeper *ret, struct spoor_error *err);
void keeper_close(struct keeper *keeper);

/* Finds servers for a job, `count` or more if there are that many. Some of them may not pass
 * the filter: servers_choose() decides. The caller calls catalog_done(). */
int keeper_find_servers(struct keeper *keeper, const struct server_filter *filter, size_t count,
                        struct catalog *ret, struct spoor_error *err);

/* Finds the price of a server, in USD per hour, on demand, with Linux: in that region if it
 * is offered there, else in the first region listed; NaN: unknown. */
int keeper_find_price(struct keeper *keeper, const char *vendor, const char *server,
                      const char *region, double *ret, struct spoor_error *err);

#endif
