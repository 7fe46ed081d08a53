/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "compat/tracking/table.h"
#include "compat/tracking/tracking_file.h"
#include "fake_root.h"
#include "unit_test.h"

/* ---- tracking file ------------------------------------------------------ */

#define FACT_HEADER                                                                \
    "ram_unit,gpu_ram_unit,time_unit,ram_system_capacity,gpu_ram_system_capacity," \
    "system_core_count,n_expected_cores,system_gpu_count,n_expected_gpus\r\n"
#define ROW_HEADER                                                                       \
    "main_ram,descendants_ram,combined_ram,system_ram,main_gpu_ram,descendants_gpu_ram," \
    "combined_gpu_ram,system_gpu_ram,gpu_sum_utilization_percent,"                       \
    "gpu_hardware_utilization_percent,main_n_threads,descendants_n_threads,"             \
    "combined_n_threads,cpu_system_sum_utilization_percent,"                             \
    "cpu_system_hardware_utilization_percent,cpu_main_sum_utilization_percent,"          \
    "cpu_main_hardware_utilization_percent,cpu_descendants_sum_utilization_percent,"     \
    "cpu_descendants_hardware_utilization_percent,cpu_combined_sum_utilization_percent," \
    "cpu_combined_hardware_utilization_percent,timestamp\r\n"

static const struct tracking_facts facts = {
    .texts = { "gigabytes", "megabytes", "hours" },
    .numbers = { [TRACKING_RAM_CAPACITY] = 67.254165504,
                 [TRACKING_GPU_RAM_CAPACITY] = (double)NAN,
                 [TRACKING_CORE_COUNT] = 12,
                 [TRACKING_EXPECTED_CORES] = 3 },
};

/* The row of one process without descendants. */
static const double lone[TRACKING_COLUMNS] = {
    [TRACKING_MAIN_RAM] = 0.341860352,
    [TRACKING_COMBINED_RAM] = 0.341860352,
    [TRACKING_SYSTEM_RAM] = 5,
    [TRACKING_MAIN_GPU_RAM] = (double)NAN,
    [TRACKING_MAIN_N_THREADS] = 12,
    [TRACKING_COMBINED_N_THREADS] = 12,
    [TRACKING_CPU_MAIN_SUM_UTILIZATION_PERCENT] = 100.3,
    [TRACKING_TIMESTAMP] = 1746129779.2048252,
};

struct folder {
    struct fake_root fake;
    char csv[96];
    char sqlite[96];
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

static int start(struct tracking_writer *writer, const char *path, bool overwrite,
                 struct spoor_error *err)
{
    int r = tracking_writer_start(writer, path, overwrite, err);

    return r < 0 ? r : tracking_writer_open(writer, &facts, err);
}

static struct tracking_writer opened(const char *path)
{
    struct tracking_writer writer;

    assert_int_equal(start(&writer, path, false, NULL), 0);
    assert_int_equal(tracking_writer_begin(&writer, NULL), 0);
    return writer;
}

/* Adds a row and waits until it is in the file. */
/* Waits until all rows are written: tracking_writer_wait() gives up after 100 ms, for the job's sake. */
static void wait_for_rows(const struct tracking_writer *writer)
{
    assert_true(writer_process_wait(&writer->process, 10 * NS_PER_SECOND));
}

static void add(struct tracking_writer *writer, const double *row)
{
    assert_int_equal(tracking_writer_add(writer, row, NULL), 0);
    wait_for_rows(writer);
}

static const char *file_text(const char *path)
{
    static char text[65536];
    FILE *in = fopen(path, "re");
    size_t length;

    assert_non_null(in);
    length = fread(text, 1, sizeof(text) - 1, in);
    fclose(in);
    text[length] = '\0';
    return text;
}

static void check_text(const char *path, const char *expected)
{
    assert_string_equal(file_text(path), expected);
}

static void check_last_line(const char *path, const char *expected)
{
    const char *text = file_text(path);
    size_t length = strlen(text);

    assert_true(length > strlen(expected));
    assert_string_equal(text + length - strlen(expected), expected);
}

/* Checks the result of a query: '|' separates cells, a newline ends each row. */
static void check_query(const char *path, const char *sql, const char *expected)
{
    char text[8192] = "";
    size_t used = 0;
    sqlite3_stmt *statement;
    sqlite3 *db;

    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    while (sqlite3_step(statement) == SQLITE_ROW) {
        int count = sqlite3_column_count(statement);

        for (int i = 0; i < count; i++)
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%c",
                                     (const char *)sqlite3_column_text(statement, i),
                                     i + 1 < count ? '|' : '\n');
    }
    sqlite3_finalize(statement);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    assert_string_equal(text, expected);
}

#define FACT_LINES FACT_HEADER "gigabytes,megabytes,hours,67.254165504,0.0,12,3,0,0\r\n"
#define LONE_LINE                                                                              \
    "0.341860352,0.0,0.341860352,5.0,0.0,0.0,0.0,0.0,0.0,0.0,12,0,12,0.0,0.0,100.3,0.0,0,0.0," \
    "0.0,0.0,1746129779.2048252\r\n"

TEST_WITH(csv_files_contain_facts_a_header_and_a_line_per_row, set_up, tear_down)
{
    const struct folder *folder = *state;
    struct tracking_writer writer = opened(folder->csv);
    double row[TRACKING_COLUMNS];

    check_text(folder->csv, FACT_LINES ROW_HEADER);
    add(&writer, lone);
    /* The row is on disk before the run ends. */
    check_text(folder->csv, FACT_LINES ROW_HEADER LONE_LINE);
    memcpy(row, lone, sizeof(row));
    row[TRACKING_DESCENDANTS_N_THREADS] = 2;
    row[TRACKING_TIMESTAMP] = 1746129780;
    add(&writer, row);
    assert_int_equal(tracking_writer_close(&writer, NULL), 0);
    check_text(folder->csv, FACT_LINES ROW_HEADER LONE_LINE
               "0.341860352,0.0,0.341860352,5.0,0.0,0.0,0.0,0.0,0.0,0.0,12,2,12,0.0,0.0,100.3,"
               "0.0,0.0,0.0,0.0,0.0,1746129780.0\r\n");
}

TEST_WITH(sqlite_files_contain_a_table_of_facts_and_one_of_rows, set_up, tear_down)
{
    const struct folder *folder = *state;
    struct tracking_writer writer = opened(folder->sqlite);
    char beside[128];

    add(&writer, lone);
    /* A concurrent reader sees the row. */
    check_query(folder->sqlite, "SELECT count(*) FROM data", "1\n");
    add(&writer, lone);
    assert_int_equal(tracking_writer_close(&writer, NULL), 0);
    check_query(folder->sqlite, "SELECT * FROM static_data",
                "gigabytes|megabytes|hours|67.254165504|0.0|12|3|0|0\n");
    check_query(folder->sqlite,
                "SELECT main_ram, main_gpu_ram, main_n_threads, "
                "typeof(cpu_descendants_sum_utilization_percent), typeof(main_n_threads), "
                "timestamp = 1746129779.2048252 FROM data",
                "0.341860352|0.0|12|real|integer|1\n0.341860352|0.0|12|real|integer|1\n");
    check_query(folder->sqlite,
                "SELECT type, count(*) FROM pragma_table_info('data') GROUP BY type",
                "FLOAT|19\nINTEGER|3\n");
    check_query(folder->sqlite,
                "SELECT type, count(*) FROM pragma_table_info('static_data') GROUP BY type",
                "FLOAT|2\nINTEGER|4\nVARCHAR|3\n");
    check_query(folder->sqlite, "PRAGMA journal_mode", "delete\n");
    (void)snprintf(beside, sizeof(beside), "%s-wal", folder->sqlite);
    assert_int_equal(access(beside, F_OK), -1);
}

TEST_WITH(csv_and_sqlite_files_have_the_same_columns, set_up, tear_down)
{
    const struct folder *folder = *state;
    struct tracking_writer writer = opened(folder->sqlite);

    assert_int_equal(tracking_writer_close(&writer, NULL), 0);
    check_query(folder->sqlite,
                "SELECT group_concat(name, ',') || char(13) FROM pragma_table_info('data')",
                ROW_HEADER);
    check_query(folder->sqlite,
                "SELECT group_concat(name, ',') || char(13) FROM "
                "pragma_table_info('static_data')",
                FACT_HEADER);
}

TEST_WITH(rows_written_before_the_writer_was_killed_are_kept, set_up, tear_down)
{
    const struct folder *folder = *state;
    const char *const paths[] = { folder->csv, folder->sqlite };

    for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
        struct tracking_writer writer = opened(paths[i]);

        for (int n = 0; n < 3; n++)
            add(&writer, lone);
        assert_int_equal(kill(writer.process.pid, SIGKILL), 0);
        (void)tracking_writer_close(&writer, NULL);
    }
    check_text(folder->csv, FACT_LINES ROW_HEADER LONE_LINE LONE_LINE LONE_LINE);
    check_query(folder->sqlite, "SELECT count(*) FROM data", "3\n");
    check_query(folder->sqlite, "PRAGMA integrity_check", "ok\n");
}

static void check_rows(const struct folder *folder, const char *path, int count)
{
    if (path == folder->csv)
        check_text(path, count ? FACT_LINES ROW_HEADER LONE_LINE : FACT_LINES ROW_HEADER);
    else
        check_query(path, "SELECT count(*) FROM data", count ? "1\n" : "0\n");
}

TEST_WITH(a_new_file_without_rows_is_removed, set_up, tear_down)
{
    const struct folder *folder = *state;
    const char *const paths[] = { folder->csv, folder->sqlite };

    for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
        struct tracking_writer writer;

        assert_int_equal(start(&writer, paths[i], false, NULL), 0);
        assert_int_equal(access(paths[i], F_OK), 0);
        assert_int_equal(tracking_writer_close(&writer, NULL), 0);
        assert_int_equal(access(paths[i], F_OK), -1);
    }
}

TEST_WITH(a_replaced_file_keeps_its_mode, set_up, tear_down)
{
    const struct folder *folder = *state;
    const char *const paths[] = { folder->csv, folder->sqlite };

    for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
        struct tracking_writer writer = opened(paths[i]);
        struct stat status;

        assert_int_equal(tracking_writer_close(&writer, NULL), 0);
        assert_int_equal(chmod(paths[i], 0600), 0);
        assert_int_equal(start(&writer, paths[i], true, NULL), 0);
        assert_int_equal(tracking_writer_begin(&writer, NULL), 0);
        assert_int_equal(tracking_writer_close(&writer, NULL), 0);
        assert_int_equal(stat(paths[i], &status), 0);
        assert_int_equal(status.st_mode & 07777, 0600);
    }
}

TEST_WITH(an_existing_file_is_kept_or_replaced, set_up, tear_down)
{
    const struct folder *folder = *state;
    const char *const paths[] = { folder->csv, folder->sqlite };

    for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
        struct tracking_writer writer = opened(paths[i]);
        struct spoor_error err;
        char expected[256];

        add(&writer, lone);
        assert_int_equal(tracking_writer_close(&writer, NULL), 0);
        assert_int_equal(start(&writer, paths[i], false, &err), -EEXIST);
        (void)snprintf(expected, sizeof(expected),
                       "File %s already exists. Set overwrite to True to overwrite the "
                       "existing file.",
                       paths[i]);
        assert_string_equal(err.message, expected);
        assert_int_equal(writer.process.pid, 0);
        /* The old file remains until there are rows. */
        assert_int_equal(start(&writer, paths[i], true, &err), 0);
        assert_int_equal(tracking_writer_close(&writer, NULL), 0);
        check_rows(folder, paths[i], 1);
        assert_int_equal(start(&writer, paths[i], true, &err), 0);
        assert_int_equal(tracking_writer_begin(&writer, &err), 0);
        assert_int_equal(tracking_writer_close(&writer, NULL), 0);
        check_rows(folder, paths[i], 0);
    }
    check_text(folder->csv, FACT_LINES ROW_HEADER);
    check_query(folder->sqlite, "SELECT count(*) FROM data", "0\n");
}

TEST(the_file_name_selects_csv_or_sqlite)
{
    struct spoor_error err;

    assert_int_equal(table_check_name("a.csv", &err), TABLE_CSV);
    assert_int_equal(table_check_name(".sqlite", &err), TABLE_SQLITE);
    assert_int_equal(table_check_name("a.txt", &err), -EINVAL);
    assert_string_equal(err.message, "Invalid file name: \"a.txt\". Valid file extensions are "
                                     "\".csv\" and \".sqlite\".");
    assert_int_equal(table_check_name("csv", &err), -EINVAL);
    assert_int_equal(table_check_name("a.CSV", &err), -EINVAL);
}

TEST(a_missing_folder_is_reported)
{
    struct tracking_writer writer;
    struct spoor_error err;

    assert_int_equal(start(&writer, "/no/such/t.csv", false, &err), -ENOENT);
    assert_non_null(strstr(err.message, "/no/such/t.csv"));
    assert_int_equal(start(&writer, "/no/such/t.sqlite", true, &err), -ENOENT);
}

/* Adds a row that cannot be written; adds another if the first call returned before the
 * failure was known. */
static int add_in_vain(struct tracking_writer *writer, struct spoor_error *err)
{
    int r = tracking_writer_add(writer, lone, err);

    wait_for_rows(writer);
    return r < 0 ? r : tracking_writer_add(writer, lone, err);
}

TEST_WITH(a_removed_file_causes_one_warning, set_up, tear_down)
{
    const struct folder *folder = *state;
    const char *const paths[] = { folder->csv, folder->sqlite };

    for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
        struct tracking_writer writer = opened(paths[i]);
        struct spoor_error err;
        char expected[256];

        add(&writer, lone);
        assert_int_equal(unlink(paths[i]), 0);
        assert_int_equal(add_in_vain(&writer, &err), -ENOENT);
        (void)snprintf(expected, sizeof(expected),
                       "The file %s was removed in the middle of writing data to it.",
                       paths[i]);
        assert_string_equal(err.message, expected);
        assert_int_equal(tracking_writer_add(&writer, lone, &err), 0);
        assert_int_equal(tracking_writer_close(&writer, &err), 0);
        assert_int_equal(access(paths[i], F_OK), -1);
    }
}

/* Limits the size of files that a process may write to `bytes`. */
static void set_file_limit(pid_t pid, rlim_t bytes)
{
    struct rlimit limit;

    assert_int_equal(prlimit(pid, RLIMIT_FSIZE, NULL, &limit), 0);
    limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
    assert_int_equal(prlimit(pid, RLIMIT_FSIZE, &limit, NULL), 0);
}

TEST_WITH(a_full_disk_loses_rows_but_leaves_only_complete_ones, set_up, tear_down)
{
    const struct folder *folder = *state;
    const char *const paths[] = { folder->csv, folder->sqlite };

    assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
        struct tracking_writer writer = opened(paths[i]);
        struct spoor_error err;
        int r = 0;

        set_file_limit(writer.process.pid, 32768);
        for (int n = 0; n < 1000 && r == 0; n++)
            r = add_in_vain(&writer, &err);
        assert_true(r < 0);
        assert_non_null(strstr(err.message, paths[i]));
        assert_int_equal(tracking_writer_add(&writer, lone, &err), 0);
        set_file_limit(writer.process.pid, RLIM_INFINITY);
        assert_int_equal(tracking_writer_close(&writer, &err), 0);
    }
    check_query(folder->sqlite, "PRAGMA integrity_check", "ok\n");
    check_query(folder->sqlite, "SELECT count(*) > 0 FROM data", "1\n");
    check_last_line(folder->csv, LONE_LINE);
}

/* ---- tracking writer ---------------------------------------------------- */

static const char *const names[] = { "t.csv", "t.sqlite" };

static int count_row(UNUSED const double row[TRACKING_COLUMNS], void *data)
{
    size_t *count = data;

    ++*count;
    return 0;
}

static void check_row_count(const char *path, size_t expected)
{
    struct tracking_facts read;
    size_t count = 0;

    assert_int_equal(tracking_read(path, &read, count_row, &count, NULL), 0);
    assert_int_equal(count, expected);
    assert_string_equal(read.texts[0], "gigabytes");
}

static void add_rows(struct tracking_writer *writer, int count)
{
    const double row[TRACKING_COLUMNS] = { [TRACKING_TIMESTAMP] = 1 };

    for (int i = 0; i < count; i++)
        assert_int_equal(tracking_writer_add(writer, row, NULL), 0);
}

FAKE_ROOT_TEST(rows_are_in_the_file_after_close)
{
    struct fake_root *fake = *state;

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        struct tracking_writer writer;
        struct spoor_error err;
        char path[128];

        (void)snprintf(path, sizeof(path), "%s/%s", fake->path, names[i]);
        assert_int_equal(start(&writer, path, false, &err), 0);
        assert_int_equal(tracking_writer_begin(&writer, &err), 0);
        add_rows(&writer, 3);
        assert_int_equal(tracking_writer_close(&writer, &err), 0);
        check_row_count(path, 3);
        assert_int_equal(start(&writer, path, false, &err), -EEXIST);
        assert_non_null(strstr(err.message, "already exists"));
        assert_int_equal(writer.process.pid, 0);
        assert_int_equal(start(&writer, path, true, &err), 0);
        assert_int_equal(tracking_writer_close(&writer, &err), 0); /* nothing was written */
        check_row_count(path, 3);
    }
}

FAKE_ROOT_TEST(a_write_failure_is_returned_once)
{
    struct fake_root *fake = *state;
    const double row[TRACKING_COLUMNS] = { 0 };

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        struct tracking_writer writer;
        struct spoor_error err;
        char path[128];
        int failures = 0;

        (void)snprintf(path, sizeof(path), "%s/%s", fake->path, names[i]);
        assert_int_equal(start(&writer, path, false, &err), 0);
        assert_int_equal(tracking_writer_begin(&writer, &err), 0);
        assert_int_equal(unlink(path), 0);
        for (int n = 0; n < 5; n++)
            failures += tracking_writer_add(&writer, row, &err) < 0;
        failures += tracking_writer_close(&writer, &err) < 0;
        assert_int_equal(failures, 1);
        assert_non_null(strstr(err.message, "was removed"));
    }
}

FAKE_ROOT_TEST(rows_are_lost_if_the_writer_is_killed)
{
    struct fake_root *fake = *state;
    struct tracking_writer writer;
    struct spoor_error err;
    siginfo_t info;
    char path[128];

    (void)snprintf(path, sizeof(path), "%s/t.csv", fake->path);
    assert_int_equal(start(&writer, path, false, &err), 0);
    assert_int_equal(tracking_writer_begin(&writer, &err), 0);
    assert_int_equal(kill(writer.process.pid, SIGKILL), 0);
    assert_int_equal(waitid(P_PID, (id_t)writer.process.pid, &info, WEXITED | WNOWAIT | __WALL),
                     0);
    add_rows(&writer, 2);
    assert_int_equal(tracking_writer_close(&writer, &err), -ECHILD);
    assert_non_null(strstr(err.message, "could not write 2 rows to the file"));
}

TEST(a_closed_file_ignores_calls)
{
    struct tracking_writer writer = { 0 };

    add_rows(&writer, 1);
    tracking_writer_wait(&writer);
    assert_int_equal(tracking_writer_close(&writer, NULL), 0);
}
