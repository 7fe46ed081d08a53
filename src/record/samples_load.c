/* SPDX-License-Identifier: Apache-2.0 */
#include "record/samples_load.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "record/sample_columns.h"
#include "record/sample_row.h"

#define NOT_SAMPLES "expected a report, or samples as --samples or --stream writes them"

struct loading {
    struct line_reader *lines; /* borrowed */
    struct sample_table table;
    const char *name;
    struct replay *replay; /* of the run that is read */
    uint64_t skipped;      /* rows of it that could not be read */
    struct records records;
    struct spoor_error *err;
};

static void loading_done(struct loading *loading)
{
    sample_table_done(&loading->table);
    replay_free(loading->replay);
    records_done(&loading->records);
}

static int begin_run(struct loading *loading)
{
    loading->replay = replay_new();
    loading->skipped = 0;
    if (!loading->replay)
        return error_set(loading->err, ENOMEM, "out of memory");
    sample_columns_begin(&loading->table.columns, loading->replay);
    return 0;
}

static int end_run(struct loading *loading)
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
    r = replay_finish(loading->replay, loading->name, loading->skipped, &items[records->count]);
    if (r == -ENODATA)
        return error_set(loading->err, EBADMSG, "no complete row; " NOT_SAMPLES);
    if (r < 0)
        return error_sys(loading->err, r, "cannot make the report");
    records->count++;
    replay_free(loading->replay);
    loading->replay = NULL;
    return 0;
}

static int add_row(struct loading *loading, const struct replay_row *row)
{
    int r = 0;

    if (replay_is_over(loading->replay, row)) {
        r = end_run(loading);
        if (r == 0)
            r = begin_run(loading);
    }
    if (r == 0)
        replay_add(loading->replay, row);
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
            loading->skipped++;
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
    r = begin_run(loading);
    if (r == 0)
        r = read_rows(loading, line);
    return r < 0 ? r : end_run(loading);
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
