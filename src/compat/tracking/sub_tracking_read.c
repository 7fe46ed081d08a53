/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/reserve.h"
#include "compat/tracking/sub_tracking_file.h"
#include "compat/tracking/table.h"

enum column { PROCESS_ID, CODE_BLOCK_NAME, POSITION, TIMESTAMP };

const char *const sub_tracking_columns[SUB_TRACKING_COLUMNS] = {
    [PROCESS_ID] = "process_id",
    [CODE_BLOCK_NAME] = "code_block_name",
    [POSITION] = "position",
    [TIMESTAMP] = "timestamp",
};

static const struct table_place place = { "data", 0 };

void block_log_done(struct block_log *log)
{
    free(log->events);
    free(log->names);
    *log = (struct block_log){ 0 };
}

const char *block_log_name(const struct block_log *log, const struct block_event *event)
{
    return log->names + event->name;
}

/* Rows of one block often follow each other: its name is kept once then. */
static int add_name(struct block_log *log, const char *name, size_t *ret)
{
    size_t length = strlen(name) + 1;

    for (size_t i = log->count; i-- > 0 && i + 2 >= log->count;) {
        if (strcmp(block_log_name(log, &log->events[i]), name) == 0) {
            *ret = log->events[i].name;
            return 0;
        }
    }
    if (reserve(&log->names, &log->names_capacity, log->names_length + length, 1) < 0)
        return -ENOMEM;
    memcpy(log->names + log->names_length, name, length);
    *ret = log->names_length;
    log->names_length += length;
    return 0;
}

int block_log_add(struct block_log *log, int64_t process_id, const char *name, bool is_stop,
                  double timestamp)
{
    struct block_event event = { process_id, 0, log->count, timestamp, is_stop };
    int r = reserve(&log->events, &log->capacity, log->count + 1, sizeof(event));

    if (r == 0)
        r = add_name(log, name, &event.name);
    if (r < 0)
        return r;
    log->events[log->count++] = event;
    return 0;
}

static int read_row(struct table *table, struct block_log *log, struct spoor_error *err)
{
    int64_t process_id = 0, position = 0;
    double timestamp = 0;
    int r = table_integer(table, PROCESS_ID, &process_id, err);

    if (r == 0)
        r = table_integer(table, POSITION, &position, err);
    if (r == 0)
        r = table_number(table, TIMESTAMP, &timestamp, err);
    if (r < 0)
        return r;
    if (position != 0 && position != 1)
        return table_refuse(table, err, "invalid position %lld: must be 0 (start) or 1 (stop)",
                            (long long)position);
    if (block_log_add(log, process_id, table_text(table, CODE_BLOCK_NAME), position == 1,
                      timestamp) < 0)
        return error_set(err, ENOMEM, "out of memory");
    return 0;
}

int sub_tracking_read(const char *path, struct block_log *ret, struct spoor_error *err)
{
    struct block_log log = { 0 };
    struct table *table = NULL;
    int r = table_open(path, &place, sub_tracking_columns, SUB_TRACKING_COLUMNS, &table, err);

    while (r >= 0 && (r = table_next(table, err)) > 0)
        r = read_row(table, &log, err);
    table_close(table);
    if (r < 0) {
        block_log_done(&log);
        return r;
    }
    *ret = log;
    return 0;
}
