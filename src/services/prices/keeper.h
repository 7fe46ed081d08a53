/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeper.h - servers and prices: from the Spare Cores keeper, a web service, or from a catalogue in a file.
 * Part of the program, not of the library.
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
    struct http *http; /* NULL: a file */
    const char *url;   /* or the path of the file; borrowed */
    uint64_t timeout_ms;
    struct catalog catalog; /* the servers found; owned */
};

/* `path` NULL: the web service. -ENOSYS: libcurl is not installed. -EINVAL: a variable has no valid value.
 * Others: as catalog_load(). The caller calls keeper_close(), also after a failure. */
int keeper_open(environment_get *get, const char *path, struct keeper *ret,
                struct spoor_error *err);
void keeper_close(struct keeper *keeper);

/* Finds servers for a job, `count` or more if there are that many. Some of them may not pass
 * the filter: catalog_choose() decides. */
int keeper_find_servers(struct keeper *keeper, const struct server_filter *filter, size_t count,
                        struct spoor_error *err);

/* Finds the price of a server, in USD per hour, on demand, with Linux: in that region if it
 * is offered there, else in the first region listed; NaN: unknown. Of a file, before catalog_choose(). */
int keeper_find_price(struct keeper *keeper, const char *vendor, const char *server,
                      const char *region, double *ret, struct spoor_error *err);

#endif
