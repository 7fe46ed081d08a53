/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "example_report.h"
#include "fake_root.h"
#include "history/import.h"
#include "history/index.h"
#include "history/store.h"
#include "recommend/needs.h"
#include "record/row.h"
#include "series/figure.h"
#include "unit_test.h"

/* ---- rows ----------------------------------------------------------------- */

static void load_row(const struct buffer *row, struct record *ret)
{
    struct spoor_error err = { 0 };

    if (row_parse(row->text, row->length, ret, &err) < 0)
        fail_msg("%s", err.message);
}

static bool is_same(double a, double b)
{
    return (isnan(a) && isnan(b)) || fabs(a - b) < 1e-9 * fabs(a) + 1e-12;
}

/* A lower bound that equals the value is omitted; readers assume so. */
TEST(a_row_contains_every_figure_with_its_bounds)
{
    struct example *example = example_new();
    CLEANUP(buffer_done) struct buffer row = { 0 }, again = { 0 };
    struct record record, loaded;

    example->input.launch =
        &(struct launch){ .scheduler = "slurm", .job = "77", .rank = UNKNOWN, .restart = 2 };
    example_fill(example, &record);
    row_write(&record, &row);
    load_row(&row, &loaded);
    assert_true(row.length < 2048);
    assert_string_equal(loaded.launch->job, "77");
    assert_true(loaded.launch->restart == 2 && !is_known(loaded.launch->rank));
    for (size_t i = 0; i < figure_count(); i++) {
        const struct spoor_figure *old = &record.figures[i], *new = &loaded.figures[i];

        if (!row_has_figure(i)) {
            assert_true(isnan(new->value));
            continue;
        }
        assert_true(is_same(old->value, new->value));
        assert_true(is_same(old->high, new->high));
        assert_true(is_same(run_figure_low(old), run_figure_low(new)));
        assert_true(isnan(old->value) || old->is_exact == new->is_exact);
    }
    assert_string_equal(loaded.id, record.id);
    assert_true(is_same(loaded.started_at, record.started_at));
    row_write(&loaded, &again);
    assert_string_equal(row.text, again.text);
    record_done(&record);
    record_done(&loaded);
    example_free(example);
}

TEST(a_command_is_split_as_a_shell_would)
{
    static const char *const words[] = { "sh",     "-c", "echo 'a  b' \"$1\"", "",  "new\nline",
                                         "\xff\\", "*",  "gr\xc3\xbc\xc3\x9f", NULL };
    CLEANUP(buffer_done) struct buffer row = { 0 };
    struct record record, loaded;

    record_init(&record);
    record.id = "0123456789abcdef";
    record.command = (const char **)(uintptr_t)words;
    row_write(&record, &row);
    load_row(&row, &loaded);
    for (size_t i = 0; words[i]; i++)
        assert_string_equal(loaded.command[i], words[i]);
    assert_null(loaded.command[ARRAY_SIZE(words) - 1]);
    record_done(&loaded);
}

TEST(a_long_command_is_truncated)
{
    char argument[10000];
    const char *command[] = { argument, "end", NULL };
    CLEANUP(buffer_done) struct buffer row = { 0 };
    struct record record, loaded;

    memset(argument, 'x', sizeof(argument) - 1);
    argument[sizeof(argument) - 1] = '\0';
    record_init(&record);
    record.id = "0123456789abcdef";
    record.command = command;
    row_write(&record, &row);
    assert_true(row.length < ROW_COMMAND_MAX + 100);
    load_row(&row, &loaded);
    assert_string_equal(loaded.command[1], "...");
    record_done(&loaded);
}

/* The job has two GPUs and used memory on one; a third GPU is not assigned to it. */
TEST(a_row_contains_gpu_names_and_their_memory)
{
    struct record_gpu gpus[] = {
        { .name = "NVIDIA H200", .vendor = "nvidia", .is_selected = true },
        { .name = "NVIDIA H200", .vendor = "nvidia", .is_selected = true },
        { .name = "other" }
    };
    struct example *example = example_new();
    CLEANUP(buffer_done) struct buffer row = { 0 };
    struct record record, loaded;
    struct needs needs;

    example_fill(example, &record);
    for (size_t i = 0; i < ARRAY_SIZE(gpus); i++)
        gpus[i].measures[RECORD_GPU_JOB_MEMORY].value = i == 1 ? 5e9 : (double)NAN;
    record.gpus = gpus;
    record.gpu_count = ARRAY_SIZE(gpus);
    record.whole_gpus = 3;
    record.figures[figure_index("gpu.memory.combined_bytes")] =
        (struct spoor_figure){ .value = 5e9, .low = (double)NAN, .high = (double)NAN };
    row_write(&record, &row);
    load_row(&row, &loaded);
    assert_int_equal(loaded.whole_gpus, 3);
    assert_int_equal(loaded.gpu_count, 2);
    assert_string_equal(loaded.gpus[1].name, "NVIDIA H200");
    assert_true(loaded.gpus[0].is_selected && loaded.gpus[1].is_selected);
    assert_true(is_same(loaded.gpus[0].measures[RECORD_GPU_JOB_MEMORY].value, 5e9));
    needs_of(&loaded, 1, &needs);
    assert_true(is_same(needs.gpus.value, 1));
    assert_string_equal(needs.gpu_vendor, "nvidia");
    record_done(&record);
    record_done(&loaded);
    example_free(example);
}

TEST(the_id_of_a_row_depends_only_on_its_values)
{
    char first[RUN_ID_SIZE], second[RUN_ID_SIZE];
    struct record record;

    record_init(&record);
    record.elapsed_seconds = 1.5;
    row_make_id(&record, first);
    record.id = "other";
    row_make_id(&record, second);
    assert_string_equal(first, second);
    record.elapsed_seconds = 1.6;
    row_make_id(&record, second);
    assert_string_not_equal(first, second);
    assert_int_equal(strlen(first), RUN_ID_SIZE - 1);
}

TEST(other_text_is_not_a_row)
{
    static const char *const texts[] = {
        "",    "{", "[]", "{}", "{\"id\":1}", "{\"id\":\"a\"", "{\"id\":\"a\",\"samples\":-1}",
        "null"
    };
    struct record record;

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        assert_int_equal(row_parse(texts[i], strlen(texts[i]), &record, NULL), -EBADMSG);
}

/* ---- filters -------------------------------------------------------------- */

TEST(a_filter_becomes_sql_with_placeholders)
{
    CLEANUP(history_filter_done) struct history_filter filter = { 0 };
    struct spoor_error err = { 0 };

    assert_int_equal(
        history_filter_add(&filter, "name=a\\,b',tag.k!=v,since=10,last=3", 110, &err), 0);
    assert_null(strchr(filter.where.text, '\''));
    assert_int_equal(filter.value_count, 4);
    assert_string_equal(filter.values[0], "a,b'");
    assert_string_equal(filter.values[1], "k");
    assert_string_equal(filter.values[3], "100");
    assert_int_equal(filter.limit, 3);
}

TEST(too_many_conditions_are_refused)
{
    CLEANUP(history_filter_done) struct history_filter filter = { 0 };
    struct spoor_error err = { 0 };
    int r = 0;

    for (int i = 0; r == 0 && i <= FILTER_VALUES_MAX; i++)
        r = history_filter_add(&filter, "exit=0", 0, &err);
    assert_int_equal(r, -EINVAL);
}

/* ---- files ---------------------------------------------------------------- */

static int append(const char *folder, double date, const char *text)
{
    CLEANUP(buffer_done) struct buffer row = { 0 };
    struct spoor_error err = { 0 };

    buffer_add_text(&row, text);
    return history_append(folder, date, &row, &err);
}

static int count_file(const char *path, void *data, UNUSED struct spoor_error *err)
{
    struct stat status;

    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    ++*(int *)data;
    return 0;
}

FAKE_ROOT_TEST(each_month_has_its_own_file)
{
    struct fake_root *fake = *state;
    struct spoor_error err = { 0 };
    int files = 0;

    assert_int_equal(append(fake->path, 0, "{\"id\":\"a\"}\n"), 0);
    assert_int_equal(append(fake->path, 1, "{\"id\":\"b\"}\n"), 0);
    assert_int_equal(append(fake->path, 40 * 86400.0, "{\"id\":\"c\"}\n"), 0);
    assert_int_equal(append(fake->path, (double)NAN, "{\"id\":\"d\"}\n"), 0);
    assert_int_equal(history_for_each(fake->path, count_file, &files, &err), 0);
    assert_int_equal(files, 3);
}

/* ---- other programs ------------------------------------------------------- */

static struct record import_one(const char *text, struct records *records)
{
    CLEANUP(buffer_done) struct buffer buffer = { 0 };
    struct spoor_error err = { 0 };

    buffer_add_text(&buffer, text);
    if (import_read(&buffer, "folder/file.txt", records, &err) < 0)
        fail_msg("%s", err.message);
    return records->items[0];
}

TEST(nextflow_values_may_have_units_or_be_raw)
{
    static const char human[] = "task_id\trealtime\tpeak_rss\t%cpu\texit\r\n"
                                "1\t1h 2m 3s\t1.5 KB\t200.5%\t-\r\n";
    static const char raw[] = "task_id\trealtime\tpeak_rss\tstart\n1\t3723000\t1536\t1500\n";
    CLEANUP(records_done) struct records records = { 0 };
    struct record record = import_one(human, &records);

    assert_true(is_same(record.elapsed_seconds, 3723));
    assert_true(is_same(record_value(&record, "memory.combined.total_rss_bytes"), 1536));
    assert_true(is_same(record_value(&record, "cpu.total_seconds"), 3723 * 2.005));
    assert_int_equal(record.exit_code, UINT64_MAX);
    records_done(&records);
    record = import_one(raw, &records);
    assert_true(is_same(record.elapsed_seconds, 3723));
    assert_true(is_same(record.started_at, 1.5));
    assert_string_equal(record.tags.items[0].value, "file.txt:1");
}
