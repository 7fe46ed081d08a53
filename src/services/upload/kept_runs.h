/* SPDX-License-Identifier: Apache-2.0 */
/* kept_runs.h - runs of the past whose samples are still on disk, and are uploaded now. */
#ifndef SERVICES_UPLOAD_KEPT_RUNS_H
#define SERVICES_UPLOAD_KEPT_RUNS_H

#include "services/upload/uploader.h"

struct kept_report {
    uint64_t sent_runs, sent_rows;
    uint64_t kept_runs, kept_rows; /* not sent */
    uint64_t busy_runs;            /* still going on, or uploaded by another process */
    struct spoor_error err;        /* the first failure; its code is 0 if there was none */
};

/* Uploads them, until the network fails or the uploader is hurried. Those for another service are left
 * alone. 0, or -errno: they cannot be found. */
int kept_runs_send(struct uploader *uploader, struct kept_report *ret);

/* Removes the oldest of them until the rest holds no more than the limit. *ret_rows is how many rows
 * were dropped. */
int kept_runs_trim(uint64_t limit_bytes, uint64_t *ret_rows);

#endif
