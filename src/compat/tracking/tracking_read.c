/* SPDX-License-Identifier: Apache-2.0 */
#include "compat/tracking/tracking_read.h"

#include <errno.h>
#include <stdio.h>

#include "base/error.h"
#include "compat/tracking/table.h"

static const struct table_place facts_place = { "static_data", 0 };
static const struct table_place rows_place = { "data", 2 };

static int open_fields(const char *path, const struct table_place *place,
                       const struct tracking_field *fields, size_t count, const char **names,
                       struct table **ret, struct spoor_error *err)
{
    for (size_t i = 0; i < count; i++)
        names[i] = fields[i].name;
    return table_open(path, place, names, count, ret, err);
}

static int read_facts(const char *path, struct tracking_read_facts *ret,
                      struct spoor_error *err)
{
    const char *names[TRACKING_FACTS];
    struct table *table = NULL;
    int r = open_fields(path, &facts_place, tracking_fact_fields, TRACKING_FACTS, names, &table,
                        err);

    if (r < 0)
        return r;
    r = table_next(table, err);
    if (r == 0)
        r = table_refuse(table, err, "the facts about the run are missing");
    for (size_t i = 0; i < TRACKING_FACTS && r >= 0; i++) {
        if (tracking_fact_fields[i].type == TRACKING_TEXT)
            (void)snprintf(ret->texts[i], sizeof(ret->texts[i]), "%s",
                           table_text(table, i)); /* a unit; a long one is cut */
        else
            r = table_number(table, i, &ret->numbers[i], err);
    }
    table_close(table);
    return r < 0 ? r : 0;
}

static int read_row(struct table *table, tracking_row_seen *seen, void *data,
                    struct spoor_error *err)
{
    double row[TRACKING_COLUMNS];
    int r = 0;

    for (size_t i = 0; i < TRACKING_COLUMNS && r == 0; i++)
        r = table_number(table, i, &row[i], err);
    if (r < 0)
        return r;
    r = seen(row, data);
    return r < 0 ? error_sys(err, r, "rows") : 0;
}

int tracking_read(const char *path, struct tracking_read_facts *ret, tracking_row_seen *seen,
                  void *data, struct spoor_error *err)
{
    const char *names[TRACKING_COLUMNS];
    struct table *table = NULL;
    int r = read_facts(path, ret, err);

    if (r == 0)
        r = open_fields(path, &rows_place, tracking_row_fields, TRACKING_COLUMNS, names, &table,
                        err);
    while (r >= 0 && (r = table_next(table, err)) > 0)
        r = read_row(table, seen, data, err);
    table_close(table);
    return r;
}
