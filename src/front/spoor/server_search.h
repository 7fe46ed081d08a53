/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server_search.h - servers for the next run, from a catalogue or from the Spare Cores keeper, and
 * what the run has cost: spoor recommend --server.
 */
#ifndef FRONT_SPOOR_SERVER_SEARCH_H
#define FRONT_SPOOR_SERVER_SEARCH_H

#include "front/spoor/settings.h"
#include "services/cloud/cloud.h"
#include "services/prices/catalog.h"

/* Zeroed is ready. */
struct server_search {
    struct server_table table; /* of what was found */
    size_t runs;
    bool is_here; /* the longest run was made on this machine */
    struct catalog catalog;
    struct cloud_facts cloud;                /* of this machine */
    struct spoor_error failure, run_failure; /* what `table` says was not found, and why */
};

void server_search_done(struct server_search *search);

/* Each run, before the search. */
void server_search_add_run(struct server_search *search, const struct record *record);

/* Searches, and takes as long as the keeper and the metadata service of a cloud may. The table can be
 * written even if it fails: it then has the reason. */
int server_search_find(struct server_search *search, const struct settings *settings,
                       const struct needs *needs, struct spoor_error *err);

#endif
