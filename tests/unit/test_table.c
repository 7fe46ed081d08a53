/* SPDX-License-Identifier: Apache-2.0 */
/* test_table.c - tables written by other programs, whose content is not trusted. */
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "compat/tracking/table.h"
#include "fake_root.h"
#include "unit_test.h"

static const char *const columns[] = { "name", "size" };
static const struct table_place place = { "data", 0 };

struct folder {
    struct fake_root fake;
    char csv[96], sqlite[96];
};

static int set_up(void **state)
{
    static struct folder folder;

    fake_root_init(&folder.fake);
    (void)snprintf(folder.csv, sizeof(folder.csv), "%s/t.csv", folder.fake.path);
    (void)snprintf(folder.sqlite, sizeof(folder.sqlite), "%s/t.sqlite", folder.fake.path);
    *state = &folder;
    return 0;
}

static int tear_down(void **state)
{
    struct folder *folder = *state;

    fake_root_done(&folder->fake);
    return 0;
}

static void make_database(const struct folder *folder, const char *sql)
{
    sqlite3 *db;

    assert_int_equal(sqlite3_open(folder->sqlite, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* Reads the first row. Returns the first error, or 0. */
static int read_first(const char *path, double *ret, struct spoor_error *err)
{
    struct table *table = NULL;
    int r = table_open(path, &place, columns, 2, &table, err);

    if (r == 0)
        r = table_next(table, err);
    if (r > 0)
        r = table_number(table, 1, ret, err);
    table_close(table);
    return r;
}

TEST_WITH(csv_and_sqlite_tables_can_be_read, set_up, tear_down)
{
    struct folder *folder = *state;
    struct spoor_error err;
    double size = 0;

    fake_root_write(&folder->fake, "t.csv", "size,name\n2.5,a\n");
    assert_int_equal(read_first(folder->csv, &size, &err), 0);
    assert_true(size > 2.4 && size < 2.6);
    make_database(folder, "CREATE TABLE data (size, name); INSERT INTO data VALUES (3.5, 'a')");
    assert_int_equal(read_first(folder->sqlite, &size, &err), 0);
    assert_true(size > 3.4 && size < 3.6);
}

TEST_WITH(a_row_must_have_as_many_cells_as_the_header, set_up, tear_down)
{
    struct folder *folder = *state;
    struct spoor_error err;
    double size;

    fake_root_write(&folder->fake, "t.csv", "name,size\na,1,2\n");
    assert_int_equal(read_first(folder->csv, &size, &err), -EBADMSG);
    assert_non_null(strstr(err.message, "3 cells, but the header has 2"));
}

/* A view could return endless rows, by joins or recursion. */
TEST_WITH(a_view_is_not_accepted_as_a_table, set_up, tear_down)
{
    struct folder *folder = *state;
    struct spoor_error err;
    double size;

    make_database(folder, "CREATE TABLE t (name, size); INSERT INTO t VALUES ('a', 1); "
                          "CREATE VIEW data AS SELECT a.* FROM t a, t b, t c");
    assert_int_equal(read_first(folder->sqlite, &size, &err), -EBADMSG);
    assert_non_null(strstr(err.message, "access to view"));
}

TEST_WITH(a_number_must_be_finite, set_up, tear_down)
{
    struct folder *folder = *state;
    struct spoor_error err;
    double size = 7;

    make_database(folder,
                  "CREATE TABLE data (name, size); INSERT INTO data VALUES ('a', 9e999)");
    assert_int_equal(read_first(folder->sqlite, &size, &err), -EBADMSG);
    assert_non_null(strstr(err.message, "is not a number"));
    assert_true(size > 6.9);
}

TEST_WITH(the_size_of_a_cell_is_limited, set_up, tear_down)
{
    struct folder *folder = *state;
    struct spoor_error err;
    double size;

    make_database(folder, "CREATE TABLE data (name AS (zeroblob(900000000)), size); "
                          "INSERT INTO data VALUES (1)");
    assert_int_equal(read_first(folder->sqlite, &size, &err), -EBADMSG);
    assert_non_null(strstr(err.message, "too big"));
}
