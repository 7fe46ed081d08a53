/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lookup.h - facts for the Python package that need no tracking, as JSON objects. It gets them from
 * `resource-tracker agent-lookup WHAT`, which belongs to no job (see front/agent.h) and exits after its response.
 *
 * WHAT is one of:
 *
 *     cloud    {"vendor": "aws", "region": "us-west-2", "zone": ..., "instance_type": ..., "account": ...,
 *              "reason": null, "seconds": 0.004}; null: unknown, as `reason` explains; all of them are null
 *              outside a cloud. `seconds` is how long it took.
 *     server   as `spoor info --format json`, without the cloud
 *     servers  {"servers": {...}} as `spoor recommend --server --format json`, for a request on standard
 *              input; only the first two members are required:
 *              {"cpus": 4, "memory_mib": 8192, "gpus": 1, "vram_mib": 4096, "count": 10,
 *              "vendors": ["aws"], "architecture": "x86_64", "catalog": "servers.csv"}
 *     price    {"price": 0.096} in US dollars per hour, or null; the request on standard input is
 *              {"vendor": "aws", "server": "m5.large", "region": "us-west-2", "catalog": null}
 *
 * If that fails, the response is an error of the agent protocol.
 */
#ifndef COMPAT_RESOURCE_TRACKER_LOOKUP_H
#define COMPAT_RESOURCE_TRACKER_LOOKUP_H

#include "front/program.h"
#include "text/buffer.h"

/* Adds the response. The request is ignored if there is no need for one. */
int lookup_answer(const char *what, const char *request, size_t length, struct buffer *out,
                  struct spoor_error *err);

int tracker_lookup_main(const struct command *command, int argc, char **argv);

#endif
