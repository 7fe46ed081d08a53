/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cloud.h - which cloud this machine belongs to, and its names there.
 *
 * The firmware (DMI strings) names a cloud. Only then the metadata service of that cloud is queried, on a
 * link-local address; a machine outside a cloud sends no packet and waits for nothing. The response is cached
 * until reboot. Part of the program, not of the library.
 */
#ifndef SERVICES_CLOUD_CLOUD_H
#define SERVICES_CLOUD_CLOUD_H

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

/* Seconds to wait for all responses together; 0: nothing is queried. */
#define CLOUD_TIMEOUT_VARIABLE "SPOOR_METADATA_TIMEOUT"

/* Empty members are unknown. Letters, digits and punctuation only, no blanks. */
struct cloud_facts {
    char
        vendor[32]; /* "aws", "gcp", "azure", "hcloud", "upcloud", "ovh", "alicloud", "vultr" */
    char region[64];
    char zone[64];
    char instance_type[128];
    char account[64]; /* account, project or subscription */
};

/* Looks up the cloud, for at most one second (CLOUD_TIMEOUT_VARIABLE); unless `may_ask`, without a query.
 * Always sets *ret. 0: the metadata service has responded, now or since boot. -ENODEV: not a machine of a
 * known cloud. Other errors: there was no usable response, as `err` explains; *ret holds the other facts, such
 * as the vendor. */
int cloud_find(const struct root *root, bool may_ask, struct cloud_facts *ret,
               struct spoor_error *err);

/* Describes the facts for the library; the texts are borrowed from the facts. */
struct spoor_cloud cloud_describe(const struct cloud_facts *facts);

/* ---- the vendors --------------------------------------------------------
 *
 * To add one: a row in each of the two tables of cloud.c. Nothing else changes.
 */

enum cloud_syntax {
    CLOUD_JSON,
    CLOUD_LINES, /* "key: value" */
    CLOUD_TEXT,  /* the response is the value */
};

/* A value in a response. */
struct cloud_field {
    const char
        *key; /* "compute.vmSize", "services.0.address", "region:"; NULL: the whole text */
    size_t offset, size;  /* place in struct cloud_facts; 0, 0: not stored */
    const char *expected; /* the value must be equal to this; NULL: any value */
    const char *unknown;  /* a value that means unknown */
    bool drops_suffix;    /* drops the last part: "europe-west1-b" is in "europe-west1" */
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
    bool is_guess; /* other clouds have the same DMI strings: only a response proves it */
    bool product_is_type; /* the DMI product name is the instance type */
    const char *header;   /* header of every request; NULL: none */
    /* Header of the request for a token, and name of the header with the token; NULL: no
     * token is needed. */
    const char *token_request_header, *token_header;
    const char *answer_header,
        *answer_value; /* value that every valid response has in that header; NULL: not checked */
    struct cloud_request requests[CLOUD_REQUESTS_MAX];
};

/* Returns the cloud that the firmware names, or NULL. */
const struct cloud_vendor *cloud_vendor_find(const struct dmi *dmi);

/* ---- responses of a vendor ---------------------------------------------- */

/* Adds the values of a response to the facts. -EBADMSG: it is not a response to this
 * request, or not of this cloud; the facts are then unchanged. */
int cloud_answer_parse(const struct cloud_request *request, const char *text,
                       struct cloud_facts *facts);

/* Copies a value: the part after its last '/', without blanks around it. -EBADMSG: it is empty, does not
 * fit, or is not made of letters, digits and the punctuation of identifiers. */
int cloud_value_copy(const char *text, size_t length, char *buf, size_t size);

/* ---- queries of the metadata service ------------------------------------ */

/* Makes all requests to the service at `url`, never through a proxy, within the time that is given. Adds
 * to the facts, the vendor included; values received before a failure stay. Errors are those of
 * http_send(), and: -ENOENT: status 404; -EPROTO: status of another failure; -EBADMSG: not the response of
 * such a service. */
int metadata_ask(const struct cloud_vendor *vendor, const char *url, uint64_t timeout_ms,
                 struct cloud_facts *facts, struct spoor_error *err);

/* ---- cached responses ---------------------------------------------------
 *
 * The file is $XDG_CACHE_HOME/spoor/cloud.json or ~/.cache/spoor/cloud.json, for the user only. It is a
 * convenience: if it cannot be read or written, or is not ours, the service is queried again.
 */

/* The origin of cached facts; they are used only if all members are the same. */
struct cloud_cache_key {
    const char *vendor;
    const char *url; /* URL of the service */
};

/* Returns -ENOENT if there is nothing that can be used. */
int cloud_cache_read(const struct root *root, environment_get *get_variable,
                     const struct cloud_cache_key *key, struct cloud_facts *ret);

void cloud_cache_write(const struct root *root, environment_get *get_variable,
                       const struct cloud_cache_key *key, const struct cloud_facts *facts);

#endif
