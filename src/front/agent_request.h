/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_request.h - one request of the agent protocol, a line of JSON:
 *
 *     {"id": 1, "op": "phase-start", "arguments": ["load"]}
 *
 * "arguments" may be left out. Other members are ignored.
 */
#ifndef FRONT_AGENT_REQUEST_H
#define FRONT_AGENT_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spoor/spoor.h"

struct json_t;

/* Zeroed is empty. */
struct agent_request {
    bool has_id;
    uint64_t id;
    const char *op;
    const char **arguments; /* owned; their text belongs to the document */
    size_t argument_count;
    struct json_t *document; /* owned */
};

/* Parses a line without its newline. On failure (-EINVAL), *ret has the id if it could be read,
 * so that the error can be matched with its request. The caller calls done() in any case. */
int agent_request_parse(const char *line, size_t length, struct agent_request *ret,
                        struct spoor_error *err);
void agent_request_done(struct agent_request *request);

#endif
