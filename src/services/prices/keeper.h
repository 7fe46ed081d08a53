/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeper.h - finds servers and prices: in the Spare Cores keeper, a web service, or in a
 * catalogue file. Part of the program, not of the library.
 *
 * Responses are not trusted: a malformed response is an error with a one-line message, or an
 * unknown price.
 */
#pragma once

#include "base/environment.h"
#include "services/prices/catalog.h"

#define KEEPER_URL "https://keeper.sparecores.net"

/* Override the URL, and the seconds to wait for a response (default 2). */
#define KEEPER_URL_VARIABLE "SPOOR_KEEPER_URL"
#define KEEPER_TIMEOUT_VARIABLE "SPOOR_KEEPER_TIMEOUT"

struct http;

struct keeper {
    struct http *http; /* NULL: a file */
    const char *url;   /* URL, or path of the file; borrowed */
    uint64_t timeout_ms;
    struct catalog catalog; /* the servers found; owned */
};

/* Opens a catalogue file; `path` NULL: the web service. -ENOSYS: libcurl is not installed;
 * -EINVAL: invalid value of a variable; or an error of catalog_load(). The caller calls
 * keeper_close(), even after a failure. */
int keeper_open(environment_get *get, const char *path, struct keeper *ret,
                struct spoor_error *err);
void keeper_close(struct keeper *keeper);

/* Finds servers for a job: at least `count`, if there are so many. Some may not meet the
 * filter: call catalog_choose() next. */
int keeper_find_servers(struct keeper *keeper, const struct server_filter *filter, size_t count,
                        struct spoor_error *err);

/* Finds the on-demand price of a Linux server, in USD per hour: in `region` if it is offered
 * there, else in the first region listed. NaN: unknown. If the catalog is a file, call this
 * function before catalog_choose(), which removes servers. */
int keeper_find_price(struct keeper *keeper, const char *vendor, const char *server,
                      const char *region, double *ret, struct spoor_error *err);
