/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vendor.h - the clouds we know: how their machines look, and how their metadata services are asked.
 *
 * To add one: a row in each of the two tables of vendor.c. Nothing else changes.
 */
#ifndef SERVICES_CLOUD_VENDOR_H
#define SERVICES_CLOUD_VENDOR_H

#include <stdbool.h>
#include <stddef.h>

#include "source/host/facts.h"

enum cloud_syntax {
    CLOUD_JSON,
    CLOUD_LINES, /* "key: value" */
    CLOUD_TEXT,  /* the answer is the value */
};

/* A value in an answer. */
struct cloud_field {
    const char *key;      /* "compute.vmSize", "services.0.address"; NULL: the whole text */
    size_t offset, size;  /* where it goes in struct cloud_facts; 0, 0: nowhere */
    const char *expected; /* the value must be this; NULL: anything */
    const char *unknown;  /* a value that says nothing */
    bool drops_suffix;    /* without its last part: "europe-west1-b" is in "europe-west1" */
};

enum { CLOUD_FIELDS_MAX = 5, CLOUD_REQUESTS_MAX = 3 };

struct cloud_request {
    const char *path; /* NULL: none */
    enum cloud_syntax syntax;
    bool is_optional;                            /* not every machine has it */
    struct cloud_field fields[CLOUD_FIELDS_MAX]; /* the first must be there */
};

struct cloud_vendor {
    const char *name;
    const char *url;
    bool is_guess;        /* others have the same DMI strings: only an answer proves it */
    bool product_is_type; /* the DMI product name is the instance type */
    const char *header;   /* of every request; NULL: none */
    /* of the request for a token, and name of the one that carries it; NULL: no token is needed */
    const char *token_request_header, *token_header;
    const char *answer_header,
        *answer_value; /* of every right answer; NULL: none in particular */
    struct cloud_request requests[CLOUD_REQUESTS_MAX];
};

/* The cloud that the firmware names, or NULL. */
const struct cloud_vendor *cloud_vendor_find(const struct dmi *dmi);

#endif
