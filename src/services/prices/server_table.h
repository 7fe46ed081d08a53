/* SPDX-License-Identifier: Apache-2.0 */
/* server_table.h - servers for the next run and what a run on them costs, as text and JSON. Part of
 * the program, not of the library. */
#ifndef SERVICES_PRICES_SERVER_TABLE_H
#define SERVICES_PRICES_SERVER_TABLE_H

#include "output/format.h"
#include "services/prices/catalog.h"
#include "text/json_writer.h"

/* All texts are borrowed. */
struct server_table {
    const char *source;            /* the file or URL that lists the servers; NULL: unknown */
    const struct catalog *catalog; /* those that fit, the cheapest first; NULL: unknown */
    size_t count;                  /* how many to show, at most */
    const char *reason;            /* why there is no catalogue; NULL: there is one */

    double run_seconds; /* of the longest run; NaN: unknown */
    bool has_many_runs; /* there are others */

    /* The server that this run was made on; NULL, NULL and empty: unknown. */
    const char *run_vendor, *run_server, *run_region;
    double run_price;       /* USD per hour */
    const char *run_reason; /* why the price is unknown; NULL: it is known */
};

/* A row for the cost of the run, if its server is known, and a table of servers. */
void server_table_write_text(const struct server_table *table, const struct format_style *style,
                             struct buffer *out);

/* The object "servers". */
void server_table_add_json(const struct server_table *table, struct json_writer *json);

#endif
