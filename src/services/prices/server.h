/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server.h - which servers fit a job, and what a run on them costs (pure).
 *
 * The figures of a server are those its vendor advertises. Unknown is NaN or empty text. Text
 * comes from files and services and may hold anything but NUL; outputs escape it.
 */
#ifndef SERVICES_PRICES_SERVER_H
#define SERVICES_PRICES_SERVER_H

#include <stddef.h>

#include "recommend/needs.h"

struct server {
    char vendor[32];       /* "aws" */
    char name[96];         /* what the vendor calls it: "m5.large"; never empty */
    char region[64];       /* in which the price holds; empty: the lowest of all regions */
    char architecture[32]; /* "x86_64" */
    char gpu_vendor[32];   /* "NVIDIA" */
    double vcpus;
    double memory_bytes;
    double gpus;       /* may be a fraction */
    double vram_bytes; /* of all GPUs together */
    double price;      /* USD per hour, on demand */
    size_t row;        /* where it is in its catalogue, from 0 */
};

enum { SERVERS_MAX = 100000 };

/* Zeroed is empty. */
struct servers {
    struct server *items; /* owned */
    size_t count, capacity;
};

void servers_done(struct servers *servers);

/* 0, -ENOMEM, or -E2BIG: there are SERVERS_MAX already. */
int servers_add(struct servers *servers, const struct server *server);

/* What a server must have. */
struct server_filter {
    const struct needs *needs;  /* those that are unknown are ignored */
    const char *const *vendors; /* one of these, ended by NULL; NULL: any */
    const char *architecture;   /* NULL: any */
};

/* A server of which a figure that is needed is unknown does not fit. */
bool server_fits(const struct server *server, const struct server_filter *filter);

/* Leaves those that fit, the cheapest first; those without a price are last. */
void servers_choose(struct servers *servers, const struct server_filter *filter);

/* The server of that name, in that region if it is listed, else in any. NULL: there is none. */
const struct server *servers_find(const struct servers *servers, const char *vendor,
                                  const char *name, const char *region);

/* What so much time costs at a price per hour; NaN: unknown. */
double server_cost(double price, double seconds);

#endif
