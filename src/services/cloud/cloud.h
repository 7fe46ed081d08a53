/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cloud.h - finds the cloud that this machine belongs to, its region, instance type and
 * account.
 *
 * The metadata service of a cloud is queried, at a link-local address, only if the firmware
 * (DMI strings) names that cloud: other machines send no packet and wait for nothing. The
 * response is cached until reboot. Part of the program, not of the library.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/environment.h"
#include "base/root.h"
#include "source/host/facts.h"
#include "spoor/spoor.h"

/* ---- the cloud of this machine ------------------------------------------ */

/* Replaces the address of every metadata service: "http://127.0.0.1:8080". */
#define CLOUD_URL_VARIABLE "SPOOR_METADATA_URL"

/* Time limit for all requests together, in seconds; 0: no queries. */
#define CLOUD_TIMEOUT_VARIABLE "SPOOR_METADATA_TIMEOUT"

/* Empty members are unknown. Values consist of letters, digits and punctuation, without
 * blanks. */
struct cloud_facts {
    char
        vendor[32]; /* "aws", "gcp", "azure", "hcloud", "upcloud", "ovh", "alicloud", "vultr" */
    char region[64];
    char zone[64];
    char instance_type[128];
    char account[64]; /* account, project or subscription */
};

/* Looks up the cloud, for at most one second (CLOUD_TIMEOUT_VARIABLE). Without `may_ask`,
 * only the firmware and the cache are used. Always sets *ret. 0: the metadata service has
 * responded, now or earlier since boot. -ENODEV: not a machine of a known cloud. Other
 * errors: there was no usable response, for the reason in `err`; *ret then has the facts
 * from other sources, such as the vendor. */
int cloud_find(const struct root *root, bool may_ask, struct cloud_facts *ret,
               struct spoor_error *err);

/* Converts the facts for the library; the texts are borrowed from `facts`. */
struct spoor_cloud cloud_describe(const struct cloud_facts *facts);

/* ---- the vendors --------------------------------------------------------
 *
 * To add a vendor, add a row to each of the two tables in cloud.c. Nothing else changes.
 */

enum cloud_syntax {
    CLOUD_JSON,
    CLOUD_LINES, /* "key: value" */
    CLOUD_TEXT,  /* the response is the value */
};

/* The members of struct cloud_facts. */
enum cloud_fact {
    CLOUD_NO_FACT,
    CLOUD_VENDOR,
    CLOUD_REGION,
    CLOUD_ZONE,
    CLOUD_INSTANCE_TYPE,
    CLOUD_ACCOUNT
};

/* A value in a response. */
struct cloud_field {
    const char
        *key; /* "compute.vmSize", "services.0.address", "region:"; NULL: the whole text */
    enum cloud_fact fact; /* where to store it */
    const char *expected; /* the value must equal this text; NULL: any value */
    const char *unknown;  /* value that means unknown */
    bool drops_suffix;    /* drops the last part: "europe-west1-b" becomes "europe-west1" */
};

enum { CLOUD_FIELDS_MAX = 5, CLOUD_REQUESTS_MAX = 3 };

struct cloud_request {
    const char *path; /* NULL: none */
    enum cloud_syntax syntax;
    bool is_optional;                            /* not every machine has this value */
    struct cloud_field fields[CLOUD_FIELDS_MAX]; /* the first field is required */
};

struct cloud_vendor {
    const char *name;
    const char *url;
    bool is_guess; /* other clouds have the same DMI strings: a response must confirm it */
    bool product_is_type; /* the DMI product name is the instance type */
    const char *header;   /* header of every request; NULL: none */
    /* Header of the request for a token, and name of the header with the token; NULL: no
     * token is needed. */
    const char *token_request_header, *token_header;
    const char *answer_header,
        *answer_value; /* required value of that header; NULL: not checked */
    struct cloud_request requests[CLOUD_REQUESTS_MAX];
};

/* Returns the cloud that the firmware names, or NULL. */
const struct cloud_vendor *cloud_vendor_find(const struct dmi *dmi);

/* ---- responses of a vendor ---------------------------------------------- */

/* Adds the values of a response to the facts. -EBADMSG: not a response to this request, or not
 * from this cloud; the facts are then unchanged. */
int cloud_answer_parse(const struct cloud_request *request, const char *text,
                       struct cloud_facts *facts);

/* Copies the part of a value after its last '/', without surrounding blanks. -EBADMSG: it is
 * empty, does not fit, or has other characters than letters, digits and the punctuation of
 * identifiers. */
int cloud_value_copy(const char *text, size_t length, char *buf, size_t size);

/* ---- queries of the metadata service ------------------------------------ */

/* Sends all requests to the service at `url`, never through a proxy, within the time limit.
 * Adds the responses and the vendor to the facts; values received before a failure stay.
 * Returns the errors of http_send(), and -ENOENT: status 404; -EPROTO: another status of
 * failure; -EBADMSG: not a response of this service. */
int metadata_ask(const struct cloud_vendor *vendor, const char *url, uint64_t timeout_ms,
                 struct cloud_facts *facts, struct spoor_error *err);

/* ---- cached responses ---------------------------------------------------
 *
 * The file is $XDG_CACHE_HOME/spoor/cloud.json or ~/.cache/spoor/cloud.json, with access for
 * the user only. It is optional: if it cannot be read or written, or belongs to another user,
 * the service is queried again.
 */

/* The origin of cached facts: they are used only if all members match. */
struct cloud_cache_key {
    const char *vendor;
    const char *url; /* URL of the service */
};

/* Reads the cached facts. Returns -ENOENT if the cache has no usable facts. */
int cloud_cache_read(const struct root *root, environment_get *get_variable,
                     const struct cloud_cache_key *key, struct cloud_facts *ret);

void cloud_cache_write(const struct root *root, environment_get *get_variable,
                       const struct cloud_cache_key *key, const struct cloud_facts *facts);
