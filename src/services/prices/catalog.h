/* SPDX-License-Identifier: Apache-2.0 */
/*
 * catalog.h - a list of servers with their prices, as CSV or JSON. Part of the program, not of
 * the library, which has no JSON parser.
 *
 * The columns have the names that the Spare Cores keeper uses, so its responses are catalogues
 * too: vendor_id, api_reference (or server_id, or name), region_id, cpu_architecture, vcpus,
 * memory_amount (MiB), gpu_count, gpu_manufacturer, gpu_memory_total (MiB; or gpu_memory_min,
 * per GPU), min_price_ondemand (USD per hour). Other columns are ignored. An empty cell, null
 * and a missing key mean unknown. A value of the wrong type is an error; the message names its
 * row and column.
 */
#pragma once

#include <stddef.h>

#include "output/format.h"
#include "recommend/needs.h"
#include "text/buffer.h"
#include "text/json_writer.h"

/* ---- servers ------------------------------------------------------------
 *
 * The figures of a server are what its vendor advertises; NaN or an empty text is unknown.
 * Texts come from files and services and may contain anything but NUL; outputs escape them.
 */

struct server {
    char vendor[32];       /* "aws" */
    char name[96];         /* the vendor's name for the server: "m5.large"; never empty */
    char region[64];       /* region of the price; empty: lowest price of all regions */
    char architecture[32]; /* "x86_64" */
    char gpu_vendor[32];   /* "NVIDIA" */
    double vcpus;
    double memory_bytes;
    double gpus;       /* may be a fraction */
    double vram_bytes; /* memory of all GPUs together */
    double price;      /* USD per hour, on demand */
    size_t row;        /* index in its catalogue, from 0 */
};

enum { SERVERS_MAX = 100000 };

/* A zeroed struct is empty. */
struct catalog {
    struct server *items; /* owned */
    size_t count, capacity;
    void *document; /* the JSON document; NULL if read from CSV */
};

void catalog_done(struct catalog *catalog);

/* Adds a server. Returns 0, -ENOMEM, or -E2BIG if there are SERVERS_MAX already. */
int catalog_add(struct catalog *catalog, const struct server *server);

/* The requirements that a server must meet. */
struct server_filter {
    const struct needs *needs;  /* unknown needs are ignored */
    const char *const *vendors; /* accepted vendors, NULL-terminated; NULL: any */
    const char *architecture;   /* NULL: any */
};

/* Returns whether a server meets the filter. An unknown figure of the server never meets a
 * need. */
bool server_fits(const struct server *server, const struct server_filter *filter);

/* Keeps the servers that fit, cheapest first; servers without a price come last. */
void catalog_choose(struct catalog *catalog, const struct server_filter *filter);

/* Returns the server of that name: in `region` if it is listed there, else in any region. NULL:
 * not found. */
const struct server *catalog_find(const struct catalog *catalog, const char *vendor,
                                  const char *name, const char *region);

/* Returns the cost of `seconds` at a price per hour; NaN: unknown. */
double server_cost(double price, double seconds);

/* ---- lists of servers --------------------------------------------------- */

/* Read a file or a text: JSON if it starts with a bracket, else CSV. Messages about a text
 * contain no file name. On success the caller calls catalog_done(); *ret is untouched on
 * failure. -EBADMSG: not a catalogue. */
int catalog_load(const char *path, struct catalog *ret, struct spoor_error *err);
int catalog_parse(const char *text, size_t length, struct catalog *ret,
                  struct spoor_error *err);
int catalog_parse_json(const char *text, size_t length, struct catalog *ret,
                       struct spoor_error *err);

/* Adds the JSON object that a row was read from, with all its keys, in ASCII; adds nothing
 * if the catalogue was CSV. */
void catalog_add_row(const struct catalog *catalog, size_t row, struct buffer *out);

/* ---- the table of servers -----------------------------------------------
 *
 * Servers for the next run and the cost of a run, as text and JSON. Part of the program, not of the library.
 */

/* All texts are borrowed. */
struct server_table {
    const char *source;            /* file or URL of the list of servers; NULL: unknown */
    const struct catalog *catalog; /* servers that fit, cheapest first; NULL: unknown */
    size_t count;                  /* maximum number of servers to show */
    const char *reason;            /* why there is no catalogue; NULL: there is one */

    double run_seconds; /* time of the longest run; NaN: unknown */
    bool has_many_runs; /* there are several runs */

    /* The server on which the run was made. Unknown: NULL, NULL and an empty region. */
    const char *run_vendor, *run_server, *run_region;
    double run_price;       /* USD per hour */
    const char *run_reason; /* why the price is unknown; NULL: it is known */
};

/* Writes the cost of the run, if its server is known, and a table of servers. */
void server_table_write_text(const struct server_table *table, const struct format_style *style,
                             struct buffer *out);

/* Adds the object "servers". */
void server_table_add_json(const struct server_table *table, struct json_writer *json);
