/* SPDX-License-Identifier: Apache-2.0 */
/* fill_server.h - what a machine is, as a part of its record. For fill.c. */
#ifndef RECORD_FILL_SERVER_H
#define RECORD_FILL_SERVER_H

#include "record/record.h"
#include "record/server.h"
#include "source/host/facts.h"

struct record_cloud fill_cloud(struct record *record, const struct spoor_cloud *from);

/* `cloud` may be NULL. On failure it is missing: see record->error. */
void fill_server(struct record *record, const struct server_facts *facts,
                 const struct spoor_cloud *cloud);

#endif
