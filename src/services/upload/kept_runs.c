/* SPDX-License-Identifier: Apache-2.0 */
#include "services/upload/kept_runs.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/cleanup.h"
#include "base/compiler.h"
#include "services/upload/spool.h"

struct round {
    struct uploader *uploader;
    struct kept_report *report;
    bool is_given_up; /* the network is away: the rest is only counted */
};

static void count_kept(struct round *round, const struct spool *spool)
{
    uint64_t rows = 0, bytes = 0;

    (void)spool_count(spool, &rows, &bytes);
    round->report->kept_runs++;
    round->report->kept_rows += rows;
}

/* Whether the next run would fail as well: the network or the service is away. A run that is refused
 * or damaged says nothing about the next. */
static bool is_for_all(int error)
{
    static const int errors[] = { ECONNREFUSED, ETIMEDOUT, EIO, EPROTO, ENOSYS, ECANCELED };

    for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
        if (error == -errors[i])
            return true;
    }
    return false;
}

static void send_run(struct round *round, struct spool *spool)
{
    struct kept_report *report = round->report;
    struct spoor_error err = { 0 };
    uint64_t rows = 0, bytes = 0;
    int r = spool_count(spool, &rows, &bytes);

    if (r == 0 && rows == 0 && *spool->run.id == '\0') {
        spool_remove(spool); /* a run that never began */
        return;
    }
    r = round->is_given_up ? -ECANCELED : uploader_finish(round->uploader, spool, NULL, &err);
    if (r == 0) {
        report->sent_runs++;
        report->sent_rows += rows;
        spool_remove(spool);
        return;
    }
    count_kept(round, spool);
    round->is_given_up = is_for_all(r);
    if (report->err.code == 0)
        report->err = err;
}

static void visit(const char *path, void *data)
{
    CLEANUP(spool_close) struct spool spool = SPOOL_CLOSED;
    struct round *round = data;
    int r = spool_open(path, &spool);

    if (r == -EBUSY || (r == 0 && !spool_run_is_over(&spool)))
        round->report->busy_runs++;
    else if (r == 0 && strcmp(spool.api_url, round->uploader->settings->url) == 0)
        send_run(round, &spool);
}

int kept_runs_send(struct uploader *uploader, struct kept_report *ret)
{
    struct round round = { .uploader = uploader, .report = ret };
    char base[PATH_MAX];
    int r;

    *ret = (struct kept_report){ 0 };
    r = spool_find_base(base, NULL);
    return r < 0 ? r : spool_for_each(base, visit, &round);
}

struct trim {
    uint64_t limit_bytes;
    uint64_t bytes; /* of those that were visited */
    uint64_t dropped_rows;
    bool is_counting;
};

/* Twice: it adds them up, and then removes some. */
static void trim(const char *path, void *data)
{
    CLEANUP(spool_close) struct spool spool = SPOOL_CLOSED;
    struct trim *trim = data;
    uint64_t rows, bytes;

    if (spool_open(path, &spool) < 0 || !spool_run_is_over(&spool) ||
        spool_count(&spool, &rows, &bytes) < 0)
        return;
    if (trim->is_counting) {
        trim->bytes += bytes;
    } else if (trim->bytes > trim->limit_bytes) {
        trim->bytes -= smaller(bytes, trim->bytes);
        trim->dropped_rows += rows;
        spool_remove(&spool);
    }
}

int kept_runs_trim(uint64_t limit_bytes, uint64_t *ret_rows)
{
    struct trim state = { .limit_bytes = limit_bytes, .is_counting = true };
    char base[PATH_MAX];
    int r = spool_find_base(base, NULL);

    if (r == 0)
        r = spool_for_each(base, trim, &state);
    state.is_counting = false;
    if (r == 0 && state.bytes > limit_bytes)
        r = spool_for_each(base, trim, &state);
    *ret_rows = state.dropped_rows;
    return r;
}
