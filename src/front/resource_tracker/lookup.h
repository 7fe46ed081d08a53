/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lookup.h - resource-tracker agent-lookup WHAT: facts for the Python package, which need no tracking.
 * The process belongs to no job (see front/common/agent.h), and ends after its answer, one JSON object.
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
 * If that fails, the answer is an error of the agent protocol.
 */
#ifndef FRONT_RESOURCE_TRACKER_LOOKUP_H
#define FRONT_RESOURCE_TRACKER_LOOKUP_H

#include "front/common/program.h"

int tracker_lookup_main(const struct command *command, int argc, char **argv);

#endif
