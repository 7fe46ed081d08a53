/* SPDX-License-Identifier: Apache-2.0 */
#include "compat/tracking/tracking_writer.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"

/* How long the file is waited for before the job starts. */
#define OPEN_MOST_NS (2 * NS_PER_SECOND)
/* How long rows are waited for. */
#define ROWS_MOST_NS (100 * NS_PER_MS)

enum { RECORD_OPEN, RECORD_BEGIN, RECORD_ROW };

/* ---- the child ---------------------------------------------------------------------------- */

struct target {
    const char *path;
    bool overwrite;
    struct tracking_file *file; /* NULL: it could not be opened */
};

static int carry_out(void *data, unsigned kind, const void *bytes, size_t size,
                     struct spoor_error *err)
{
    struct target *target = data;
    struct tracking_facts facts;
    double row[TRACKING_COLUMNS];

    (void)size;
    if (kind == RECORD_OPEN) {
        memcpy(&facts, bytes, sizeof(facts));
        return tracking_file_open(target->path, target->overwrite, &facts, &target->file, err);
    }
    if (!target->file)
        return -EBADF;
    if (kind == RECORD_BEGIN)
        return tracking_file_begin(target->file, err);
    memcpy(row, bytes, sizeof(row));
    return tracking_file_add(target->file, row, err);
}

static int end(void *data, struct spoor_error *err)
{
    const struct target *target = data;

    return tracking_file_close(target->file, err);
}

/* ---- ours --------------------------------------------------------------------------------- */

static int first_failure(struct tracking_writer *writer, struct spoor_error *err)
{
    int r = writer->has_failed ? 0 : writer_process_error(&writer->process, err);

    writer->has_failed |= r < 0;
    return r;
}

int tracking_writer_start(struct tracking_writer *writer, const char *path, bool overwrite,
                          struct spoor_error *err)
{
    struct target target = { .path = path, .overwrite = overwrite };
    int r;

    *writer = (struct tracking_writer){ .path = path };
    r = writer_process_start(
        &writer->process,
        &(struct writer_target){ .carry_out = carry_out, .end = end, .data = &target });
    return r < 0 ? error_sys(err, r, "cannot start a process to write the file %s", path) : 0;
}

int tracking_writer_open(struct tracking_writer *writer, const struct tracking_facts *facts,
                         struct spoor_error *err)
{
    int r;

    writer_process_put(&writer->process, RECORD_OPEN, 0, facts, sizeof(*facts));
    (void)writer_process_wait(&writer->process, OPEN_MOST_NS);
    r = first_failure(writer, err);
    if (r < 0)
        (void)tracking_writer_close(writer, NULL);
    return r;
}

int tracking_writer_begin(struct tracking_writer *writer, struct spoor_error *err)
{
    writer_process_put(&writer->process, RECORD_BEGIN, 0, NULL, 0);
    (void)writer_process_wait(&writer->process, OPEN_MOST_NS);
    return first_failure(writer, err);
}

int tracking_writer_add(struct tracking_writer *writer, const double row[TRACKING_COLUMNS],
                        struct spoor_error *err)
{
    writer_process_put(&writer->process, RECORD_ROW, 1, row, TRACKING_COLUMNS * sizeof(*row));
    return first_failure(writer, err);
}

void tracking_writer_wait(const struct tracking_writer *writer)
{
    (void)writer_process_wait(&writer->process, ROWS_MOST_NS);
}

int tracking_writer_close(struct tracking_writer *writer, struct spoor_error *err)
{
    struct spoor_error failure = { 0 };
    struct writer_end end = writer_process_close(&writer->process, &failure);
    struct tracking_writer closed = *writer;

    *writer = (struct tracking_writer){ 0 };
    if (end.error == 0 || closed.has_failed)
        return 0;
    if (failure.code != 0)
        return error_set(err, failure.code, "%s", failure.message);
    return error_set(err, end.error, "could not write %llu row%s to the file %s: %s",
                     (unsigned long long)end.lost_rows, end.lost_rows == 1 ? "" : "s",
                     closed.path, writer_end_reason(&end));
}
