/* SPDX-License-Identifier: Apache-2.0 */
/* Linked with --wrap=fsync: the test replaces the disk. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "example_report.h"
#include "fake_root.h"
#include "output/save.h"
#include "unit_test.h"

struct fixture {
    struct fake_root fake;
    struct record record;
    struct spoor_error err;
    char path[128]; /* path of the file "f" */
    struct buffer text;
};

static int set_up(void **state)
{
    static struct fixture f;
    struct example *example = example_new();

    f = (struct fixture){ .err = { 0 } };
    fake_root_init(&f.fake);
    example_fill(example, &f.record);
    example_free(example);
    (void)snprintf(f.path, sizeof(f.path), "%s/f", f.fake.path);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    record_done(&f->record);
    buffer_done(&f->text);
    fake_root_done(&f->fake);
    return 0;
}

static int save(struct fixture *f, enum spoor_format format, enum spoor_save how)
{
    return save_to_file(&f->record, 1, format, f->path, how, &f->err);
}

static const char *content(struct fixture *f)
{
    buffer_clear(&f->text);
    assert_int_equal(buffer_read_file(&f->text, f->path, BUFFER_MAX), 0);
    return f->text.text;
}

static int count_lines(struct fixture *f)
{
    int lines = 0;

    for (const char *c = content(f); *c; c++)
        lines += *c == '\n';
    return lines;
}

TEST_WITH(rows_are_appended_under_one_header, set_up, tear_down)
{
    struct fixture *f = *state;

    for (int i = 0; i < 3; i++)
        assert_int_equal(save(f, SPOOR_CSV, SPOOR_APPEND), 0);
    assert_int_equal(count_lines(f), 4);
    assert_null(strstr(strchr(f->text.text, '\n'), "run_id,"));
}

TEST_WITH(appending_to_a_table_with_other_columns_is_refused, set_up, tear_down)
{
    static const char *const tables[] = { "a,b\n1,2\n", "run_id", "\n", "run_id,name\n" };
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        fake_root_write(&f->fake, "f", tables[i]);
        assert_int_equal(save_check(f->path, SPOOR_CSV, SPOOR_APPEND, &f->err), -EINVAL);
        assert_int_equal(save(f, SPOOR_CSV, SPOOR_APPEND), -EINVAL);
        assert_non_null(strstr(f->err.message, "has other columns"));
        assert_string_equal(content(f), tables[i]);
        assert_int_equal(save_check(f->path, SPOOR_JSON, SPOOR_APPEND, &f->err), 0);
        assert_int_equal(save_check(f->path, SPOOR_CSV, SPOOR_REPLACE, &f->err), 0);
    }
    fake_root_write(&f->fake, "f", "");
    assert_int_equal(save(f, SPOOR_CSV, SPOOR_APPEND), 0);
    assert_int_equal(save_check(f->path, SPOOR_CSV, SPOOR_APPEND, &f->err), 0);
}

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

TEST_WITH(an_incomplete_line_is_terminated_before_an_append, set_up, tear_down)
{
    struct fixture *f = *state;

    fake_root_write(&f->fake, "f", "{\"torn");
    assert_int_equal(save(f, SPOOR_JSON, SPOOR_APPEND), 0);
    assert_true(starts_with(content(f), "{\"torn\n{\n"));
}

TEST_WITH(a_partly_written_row_is_removed, set_up, tear_down)
{
    struct rlimit before, limit;
    struct fixture *f = *state;
    int r;

    assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    fake_root_write(&f->fake, "f", "old\n");
    limit = (struct rlimit){ 100, before.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    r = save(f, SPOOR_JSON, SPOOR_APPEND);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(r, -EFBIG);
    assert_string_equal(content(f), "old\n");
}

TEST_WITH(several_reports_are_written_as_one_table, set_up, tear_down)
{
    struct fixture *f = *state;
    struct record both[2] = { f->record, f->record };

    assert_int_equal(save_to_file(both, 2, SPOOR_CSV, f->path, SPOOR_REPLACE, &f->err), 0);
    assert_int_equal(count_lines(f), 3);
}

TEST_WITH(a_path_may_name_a_descriptor, set_up, tear_down)
{
    struct fixture *f = *state;
    char name[32];
    int fd = open(f->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    (void)snprintf(name, sizeof(name), "/dev/fd/%d", fd);
    assert_int_equal(write(fd, "before\n", 7), 7);
    assert_int_equal(save_to_file(&f->record, 1, SPOOR_JSON, name, SPOOR_REPLACE, &f->err), 0);
    close(fd);
    assert_true(starts_with(content(f), "before\n{\n"));
}

TEST_WITH(a_link_to_a_file_is_not_followed, set_up, tear_down)
{
    struct fixture *f = *state;

    fake_root_write(&f->fake, "target", "precious");
    fake_root_link(&f->fake, "f", "target");
    for (int how = SPOOR_REPLACE; how <= SPOOR_NO_CLOBBER; how++)
        assert_int_equal(save(f, SPOOR_TEXT, (enum spoor_save)how), -ELOOP);
    assert_string_equal(content(f), "precious");
}

static struct fixture *synced; /* the fixture whose file fsync() checks, or NULL */
static off_t size_at_sync;
static int sync_error;

int __wrap_fsync(int fd);

int __wrap_fsync(int fd)
{
    struct stat of_new, of_old;

    assert_int_equal(fstat(fd, &of_new), 0);
    if (!synced)
        return 0;
    assert_int_equal(stat(synced->path, &of_old), 0);
    assert_true(of_new.st_ino != of_old.st_ino); /* not yet replaced */
    size_at_sync = of_new.st_size;
    errno = sync_error;
    return sync_error == 0 ? 0 : -1;
}

/* After a power failure, the file is either the old report or the new one, never empty. */
TEST_WITH(a_report_is_synced_to_disk_before_it_replaces_another, set_up, tear_down)
{
    struct stat status;

    synced = *state;
    fake_root_write(&synced->fake, "f", "old");
    sync_error = EIO;
    assert_int_equal(save(synced, SPOOR_JSON, SPOOR_REPLACE), -EIO);
    assert_string_equal(content(synced), "old");
    sync_error = 0;
    assert_int_equal(save(synced, SPOOR_JSON, SPOOR_REPLACE), 0);
    assert_int_equal(stat(synced->path, &status), 0);
    assert_true(status.st_size > 0);
    assert_int_equal(size_at_sync, status.st_size);
    synced = NULL;
}
