/* SPDX-License-Identifier: Apache-2.0 */
#include "record/samples_load.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "record/sample_table.h"

#define NOT_SAMPLES "expected a report, or samples as --samples or --stream writes them"

/* A run whose end has not been read. Concurrent runs may have written rows between its own. */
struct open_run {
    struct replay *replay;
    uint64_t skipped; /* rows that could not be read, each behind a row of this run */
};

struct loading {
    struct line_reader *lines; /* borrowed */
    struct sample_table table;
    const char *name;
    struct open_run *runs; /* one at least; owned */
    size_t run_count;
    size_t current; /* the run of the last row */
    struct records records;
    struct spoor_error *err;
};

static void loading_done(struct loading *loading)
{
    sample_table_done(&loading->table);
    for (size_t i = 0; i < loading->run_count; i++)
        replay_free(loading->runs[i].replay);
    free(loading->runs);
    records_done(&loading->records);
}

static int begin_run(struct loading *loading, struct open_run *run)
{
    *run = (struct open_run){ .replay = replay_new() };
    if (!run->replay)
        return error_set(loading->err, ENOMEM, "out of memory");
    sample_columns_begin(&loading->table.columns, run->replay);
    return 0;
}

static int add_run(struct loading *loading)
{
    struct open_run *runs =
        reallocarray(loading->runs, loading->run_count + 1, sizeof(*loading->runs));

    if (!runs)
        return error_set(loading->err, ENOMEM, "out of memory");
    loading->runs = runs;
    if (loading->run_count == LOAD_REPORTS_MAX)
        return error_set(loading->err, EFBIG, "more than %d runs", LOAD_REPORTS_MAX);
    loading->current = loading->run_count++;
    return begin_run(loading, &runs[loading->current]);
}

static int end_run(struct loading *loading, struct open_run *run)
{
    struct records *records = &loading->records;
    struct record *items =
        realloc(records->items, (records->count + 1) * sizeof(*records->items));
    int r;

    if (!items)
        return error_set(loading->err, ENOMEM, "out of memory");
    records->items = items;
    if (records->count == LOAD_REPORTS_MAX)
        return error_set(loading->err, EFBIG, "more than %d runs", LOAD_REPORTS_MAX);
    r = replay_finish(run->replay, loading->name, run->skipped, &items[records->count]);
    if (r == -ENODATA)
        return error_set(loading->err, EBADMSG, "no complete row; " NOT_SAMPLES);
    if (r < 0)
        return error_sys(loading->err, r, "cannot make the report");
    records->count++;
    replay_free(take_ptr(run->replay));
    return 0;
}

/* Makes the run of a row the current one. */
static int find_run(struct loading *loading, const struct replay_row *row)
{
    size_t i = loading->current;

    if (replay_has_id_of(loading->runs[i].replay, row))
        return 0;
    for (i = 0; i < loading->run_count; i++) {
        loading->current = i;
        if (replay_has_id_of(loading->runs[i].replay, row))
            return 0;
    }
    return add_run(loading);
}

static int add_row(struct loading *loading, const struct replay_row *row)
{
    int r = find_run(loading, row);
    struct open_run *run = &loading->runs[loading->current];

    if (r == 0 && replay_is_over(run->replay, row)) {
        r = end_run(loading, run);
        if (r == 0)
            r = begin_run(loading, run);
    }
    if (r == 0)
        replay_add(run->replay, row);
    return r;
}

static int refuse_line(const struct loading *loading, int code)
{
    if (code == -E2BIG || code == -EBADMSG)
        return error_set(loading->err, EBADMSG, "not a table of samples; " NOT_SAMPLES);
    return code < 0 ? error_sys(loading->err, code, "cannot be read") : code;
}

/* The last line is cut if the run was interrupted, and may still look whole. */
static int read_rows(struct loading *loading, struct line line)
{
    struct replay_row row;
    int r = 1;

    while (r > 0) {
        replay_row_clear(&row);
        if (!line.is_torn && sample_table_read(&loading->table, line.text, &row))
            r = add_row(loading, &row);
        else if (line.length > 0)
            loading->runs[loading->current].skipped++;
        if (r >= 0)
            r = refuse_line(loading, line_reader_next(loading->lines, &line));
    }
    return r;
}

static int load(struct loading *loading)
{
    struct line line;
    int r = line_reader_next(loading->lines, &line);

    if (r > 0)
        r = sample_table_begin(&loading->table, line.text);
    if (r < 0)
        return refuse_line(loading, r);
    if (loading->table.columns.count == 0)
        return error_set(loading->err, EBADMSG, "the file is empty; " NOT_SAMPLES);
    if (!loading->table.is_json) /* it was the header */
        line = (struct line){ .text = line.text + line.length };
    r = add_run(loading);
    if (r == 0)
        r = read_rows(loading, line);
    for (size_t i = 0; r >= 0 && i < loading->run_count; i++)
        r = end_run(loading, &loading->runs[i]);
    return r;
}

int samples_load(struct line_reader *lines, const char *name, struct records *ret,
                 struct spoor_error *err)
{
    CLEANUP(loading_done)
    struct loading loading = { .lines = lines, .name = name, .err = err };
    int r = load(&loading);

    if (r < 0)
        return r;
    *ret = loading.records;
    loading.records = (struct records){ 0 };
    return 0;
}
