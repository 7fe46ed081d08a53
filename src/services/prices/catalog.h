/* SPDX-License-Identifier: Apache-2.0 */
/*
 * catalog.h - a list of servers with their prices, as CSV or JSON. Part of the program, not of
 * the library, which does without a JSON parser.
 *
 * The columns are those of the Spare Cores keeper, so its answers are catalogues too: vendor_id,
 * api_reference (or server_id, or name), region_id, cpu_architecture, vcpus, memory_amount (MiB),
 * gpu_count, gpu_manufacturer, gpu_memory_total (MiB; or gpu_memory_min, of each GPU),
 * min_price_ondemand (USD per hour). Others are ignored. An empty cell, null and a missing key
 * are unknown. What is of the wrong type is refused with a message that says where it is.
 */
#ifndef SERVICES_PRICES_CATALOG_H
#define SERVICES_PRICES_CATALOG_H

#include "services/prices/server.h"
#include "text/buffer.h"

enum { CATALOG_BYTES_MAX = 64 << 20 };

/* Zeroed is empty. */
struct catalog {
    struct servers servers;
    void *document; /* the JSON it was read from; NULL: it was CSV */
};

void catalog_done(struct catalog *catalog);

/* Reads a file, or a text: it is JSON if it starts with a bracket, and CSV otherwise. The
 * messages about a text do not name a file. On success the caller ends *ret with
 * catalog_done(); it is untouched on failure. -EBADMSG: it is not a catalogue. */
int catalog_load(const char *path, struct catalog *ret, struct spoor_error *err);
int catalog_parse(const char *text, size_t length, struct catalog *ret,
                  struct spoor_error *err);
int catalog_parse_json(const char *text, size_t length, struct catalog *ret,
                       struct spoor_error *err);

/* Adds a row as the JSON object it was read from, with all its keys, in ASCII; nothing if the
 * catalogue was CSV. */
void catalog_add_row(const struct catalog *catalog, size_t row, struct buffer *out);

#endif
