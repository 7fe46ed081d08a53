/* SPDX-License-Identifier: Apache-2.0 */
/*
 * push.h - pushes rows of samples to a monitoring system, in its format:
 *
 *     pushgateway   PUT /metrics/job/...: as text, only the latest sample
 *     import        POST /api/v1/import/prometheus (VictoriaMetrics): as text, every sample with
 *                   its time
 *     otlp          POST /v1/metrics: as OTLP in JSON, every sample
 *
 * The metadata of the run is { "labels": { "run_id": "..." }, "resource": { ... },
 * "interval_seconds": 1 }. Samples that are closer together than the interval are folded into
 * one.
 */
#pragma once

#include <stdint.h>

#include "base/environment.h"
#include "output/export.h"
#include "services/upload/sentinel.h"
#include "spoor/spoor.h"

struct spool;
struct spool_batch;

enum { PUSH_BATCH_MAX_BYTES = 1 << 20 };

struct push_state {
    uint64_t retry_ns;           /* delay that the service requests; 0: not given */
    char run_id[64];             /* run of `latest`; empty: nothing sent yet */
    struct export_sample latest; /* the last sample that was sent */
};

/* Sets the settings of a push: ret->url is the complete URL, ret->token has the lines of the
 * headers. -EINVAL with a message. */
int push_settings(const char *url, const char *run_id, environment_get *get,
                  struct upload_settings *ret, const char **ret_service,
                  struct spoor_error *err);

/* Sets the settings for OTLP. `url` NULL: use the variables OTEL_EXPORTER_OTLP_... */
int otlp_settings(const char *url, environment_get *get, struct upload_settings *ret,
                  struct spoor_error *err);

/* Parses KEY=VALUE,KEY=VALUE with %-escapes, the form of OTEL_RESOURCE_ATTRIBUTES, and calls
 * add() for each pair. */
void push_for_each_pair(const char *list,
                        void (*add)(const char *key, const char *value, void *data),
                        void *data);

/* Sends a batch. -EBADMSG: the service rejected these rows and always will; -EIO: it cannot
 * accept them now; or an error of http_send(). */
int push_send(struct push_state *state, const struct sentinel *api, const struct spool *spool,
              const struct spool_batch *batch, struct spoor_error *err);
