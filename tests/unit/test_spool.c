/* SPDX-License-Identifier: Apache-2.0 */
/* test_spool.c - samples stored on disk until they are uploaded. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compiler.h"
#include "services/upload/spool.h"
#include "unit_test.h"

#define HEADER "a,b\n"

struct fixture {
    char home[PATH_MAX];
    struct spool spool;
    int run_fd;
};

static struct fixture fixture;

static int set_up(void **state)
{
    struct buffer description = { 0 };
    struct spoor_error err = { 0 };

    snprintf(fixture.home, sizeof(fixture.home), "/tmp/spool-test-XXXXXX");
    assert_non_null(mkdtemp(fixture.home));
    setenv("XDG_STATE_HOME", fixture.home, 1);
    buffer_add_text(&description, "{\"api_url\":\"https://x\",\"has_short_keys\":true}");
    if (spool_create(&description, &fixture.spool, &fixture.run_fd, &err) < 0)
        fail_msg("%s", err.message);
    buffer_done(&description);
    return 0;
}

static int tear_down(void **state)
{
    char path[PATH_MAX + 32];

    spool_remove(&fixture.spool);
    close(fixture.run_fd);
    snprintf(path, sizeof(path), "%s/spoor/uploads", fixture.home);
    assert_int_equal(rmdir(path), 0); /* nothing is left */
    snprintf(path, sizeof(path), "%s/spoor", fixture.home);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(fixture.home), 0);
    return 0;
}

static void append(const char *text)
{
    char path[PATH_MAX + 16];
    FILE *file;

    snprintf(path, sizeof(path), "%s/rows.csv", fixture.spool.path);
    file = fopen(path, "ae");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void assert_batch(const char *text, uint64_t rows, uint64_t *ret_end)
{
    struct spool_batch batch;

    assert_int_equal(spool_read_batch(&fixture.spool, 1000, &batch), 0);
    assert_string_equal(batch.csv.text ? batch.csv.text : "", text);
    assert_int_equal(batch.rows, rows);
    *ret_end = batch.end;
    buffer_done(&batch.csv);
}

TEST_WITH(only_complete_rows_are_sent, set_up, tear_down)
{
    uint64_t end;

    assert_batch("", 0, &end);
    append("a,b");
    assert_batch("", 0, &end);
    append("\n");
    assert_batch(HEADER, 0, &end);
    append("1,2\n3,");
    assert_batch(HEADER "1,2\n", 1, &end);
    assert_int_equal(spool_advance(&fixture.spool, end, 0), 0);
    assert_batch(HEADER, 0, &end);
    append("4\n5,6\n");
    assert_batch(HEADER "3,4\n5,6\n", 2, &end);
}

TEST_WITH(the_size_of_a_batch_is_limited, set_up, tear_down)
{
    struct spool_batch batch;

    append(HEADER "1,2\n3,4\n5,6\n");
    assert_int_equal(spool_read_batch(&fixture.spool, 11, &batch), 0);
    assert_string_equal(batch.csv.text, HEADER "1,2\n3,4\n");
    assert_int_equal(batch.rows, 2);
    buffer_done(&batch.csv);
}

TEST_WITH(another_process_continues_from_the_saved_position, set_up, tear_down)
{
    struct spool again;
    uint64_t end, rows, bytes;
    char path[PATH_MAX];

    append(HEADER "1,2\n3,4\n");
    snprintf(fixture.spool.run.id, sizeof(fixture.spool.run.id), "r");
    assert_batch(HEADER "1,2\n3,4\n", 2, &end);
    assert_int_equal(spool_advance(&fixture.spool, end, 0), 0);
    append("5,6\n");
    memcpy(path, fixture.spool.path, sizeof(fixture.spool.path));
    assert_int_equal(spool_open(path, &again), -EBUSY);
    assert_false(spool_run_is_over(&fixture.spool));
    close(fixture.run_fd);
    assert_true(spool_run_is_over(&fixture.spool));
    spool_close(&fixture.spool);
    assert_int_equal(spool_open(path, &fixture.spool), 0);
    assert_string_equal(fixture.spool.run.id, "r");
    assert_string_equal(fixture.spool.api_url, "https://x");
    assert_true(fixture.spool.has_short_keys);
    assert_int_equal(fixture.spool.batches, 1);
    assert_int_equal(spool_count(&fixture.spool, &rows, &bytes), 0);
    assert_int_equal(rows, 1);
    assert_int_equal(bytes, 4);
    assert_batch(HEADER "5,6\n", 1, &end);
    fixture.run_fd = -1;
}

/* The space of sent rows is freed if the file system supports this. */
TEST_WITH(sent_rows_take_no_space, set_up, tear_down)
{
    char path[PATH_MAX + 16], line[1024];
    struct stat status;
    uint64_t rows, bytes, end;

    memset(line, 'x', sizeof(line) - 2);
    memcpy(line + sizeof(line) - 2, "\n", 2);
    append(HEADER);
    for (int i = 0; i < 1000; i++)
        append(line);
    assert_int_equal(spool_count(&fixture.spool, &rows, &bytes), 0);
    assert_int_equal(rows, 1000);
    end = bytes + strlen(HEADER);
    assert_int_equal(spool_advance(&fixture.spool, end, 0), 0);
    snprintf(path, sizeof(path), "%s/rows.csv", fixture.spool.path);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_size, end);
    assert_true(status.st_blocks * 512 < 64 << 10);
    append("1,2\n");
    assert_batch(HEADER "1,2\n", 1, &end);
}

TEST_WITH(beyond_the_limit_the_oldest_rows_are_dropped, set_up, tear_down)
{
    uint64_t end;

    append(HEADER);
    for (int i = 0; i < 100; i++)
        append("1,2\n");
    assert_int_equal(spool_enforce_limit(&fixture.spool, 400), 0);
    assert_int_equal(fixture.spool.dropped_rows, 0);
    append("3,4\n");
    assert_int_equal(spool_enforce_limit(&fixture.spool, 400), 0);
    assert_int_equal(fixture.spool.dropped_rows, 26); /* 1 too many, and a quarter more */
    assert_int_equal(spool_enforce_limit(&fixture.spool, 8), 0);
    assert_int_equal(fixture.spool.dropped_rows, 100);
    assert_batch(HEADER "3,4\n", 1, &end);
    assert_int_equal(fixture.spool.batches, 0);
}

static void write_state(const char *text)
{
    char path[PATH_MAX + 16];
    FILE *file;

    snprintf(path, sizeof(path), "%s/state.json", fixture.spool.path);
    file = fopen(path, "we");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

TEST_WITH(a_damaged_spool_is_not_opened, set_up, tear_down)
{
    static const char *const damaged[] = {
        "{",
        "{\"offset\": 9223372036854775807, \"batches\": 9223372036854775807}",
        "{\"offset\": 6, \"batches\": 7}",
    };
    char path[PATH_MAX];

    memcpy(path, fixture.spool.path, sizeof(fixture.spool.path));
    spool_close(&fixture.spool);
    for (size_t i = 0; i < ARRAY_SIZE(damaged); i++) {
        write_state(damaged[i]);
        assert_int_equal(spool_open(path, &fixture.spool), -EBADMSG);
    }
    write_state("{}");
    assert_int_equal(spool_open(path, &fixture.spool), 0);
    assert_int_equal(spool_open("/tmp/no/such", &fixture.spool), -ENOENT);
}

/* Simulates an owner that was killed while it removed the spool. */
TEST_WITH(an_abandoned_spool_is_removed, set_up, tear_down)
{
    char path[PATH_MAX], run[PATH_MAX + 16];

    memcpy(path, fixture.spool.path, sizeof(fixture.spool.path));
    snprintf(run, sizeof(run), "%s/%s", path, SPOOL_RUN);
    assert_int_equal(unlink(run), 0);
    assert_int_equal(spool_open(path, &fixture.spool), -EBUSY);
    spool_close(&fixture.spool);
    assert_int_equal(spool_open(path, &fixture.spool), -ENODATA);
    assert_int_equal(access(path, F_OK), -1);
}

static ino_t inode_of(const char *name)
{
    char path[PATH_MAX + 16];
    struct stat status;

    snprintf(path, sizeof(path), "%s/%s", fixture.spool.path, name);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    return status.st_ino;
}

TEST_WITH(the_end_of_a_run_is_written_into_reserved_space, set_up, tear_down)
{
    struct buffer text = { 0 };
    json_t *read = NULL;
    ino_t reserved = inode_of("end.space");

    assert_false(spool_run_is_over(&fixture.spool));
    buffer_add_text(&text, "{\"exit_code\":0}");
    assert_int_equal(spool_write_end(&fixture.spool, &text), 0);
    assert_int_equal(inode_of("end.json"), reserved);
    assert_int_equal(spool_load(&fixture.spool, SPOOL_END, &read), 0);
    assert_true(json_is_integer(json_object_get(read, "exit_code")));
    json_decref(read);
    assert_true(spool_run_is_over(&fixture.spool));
    assert_int_equal(spool_write_end(&fixture.spool, &text), -ENOENT);
    buffer_done(&text);
}
