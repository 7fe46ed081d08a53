/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/compiler.h"
#include "group/folder.h"
#include "group/merge.h"
#include "output/format.h"
#include "record/launch.h"
#include "record/load.h"
#include "series/figure.h"
#include "unit_test.h"

#define MB 1e6

/* cmocka's assert_float_equal() has only single precision. */
#define assert_near(a, b, tolerance) assert_true(fabs((double)(a) - (double)(b)) <= (tolerance))

/* ---- ranks that are made up -------------------------------------------------- */

enum { POINTS = 4 };

/* A rank that holds `memory` bytes all the time and uses `cpu` seconds of CPU time. If
 * `private` is 0, private and shared memory are unknown. */
struct part {
    uint64_t rank, ranks, node;
    double start, seconds, cpu, memory, private, shared;
    const char *id; /* NULL: made from the rank */
    const char *job;
    bool is_begin;
};

static void set(struct record *record, const char *path, double value, bool is_exact)
{
    record->figures[figure_index(path)] = (struct spoor_figure){ .value = value,
                                                                 .low = (double)NAN,
                                                                 .high = (double)NAN,
                                                                 .source = "x",
                                                                 .is_exact = is_exact };
}

static void fill_curve(struct record *record, const struct part *part)
{
    static const char *const names[] = { "job_cpu_seconds", "job_rss_bytes" };
    struct record_curve *curve = &record->curve;

    curve->count = POINTS;
    curve->seconds = record_alloc(record, POINTS, sizeof(double));
    curve->columns = record_alloc(record, 2, sizeof(*curve->columns));
    curve->column_count = 2;
    for (size_t i = 0; i < 2; i++) {
        float *values = record_alloc(record, POINTS, sizeof(float));

        for (size_t k = 0; k < POINTS; k++) {
            curve->seconds[k] = part->seconds * (double)(k + 1) / POINTS;
            values[k] = (float)(i == 0 ? part->cpu / part->seconds : part->memory);
        }
        curve->columns[i] = (struct curve_column){ names[i], i == 0, values, values, values };
    }
}

static struct record make(const struct part *part)
{
    struct record record;
    char text[40];

    record_init(&record);
    (void)snprintf(text, sizeof(text), "%032llx", (unsigned long long)part->rank);
    record.id = record_text(&record, part->id ? part->id : text);
    (void)snprintf(text, sizeof(text), "n%02llu", (unsigned long long)part->node);
    record.host = record_text(&record, text);
    record.started_at = 1e9 + part->start;
    record.ended_at = record.started_at + part->seconds;
    record.elapsed_seconds = part->seconds;
    record.exit_code = 0;
    record.cpus = 8;
    record.launch = record_alloc(&record, 1, sizeof(*record.launch));
    *record.launch = (struct launch){ .launcher = "slurm",
                                      .job = part->job ? part->job : "1",
                                      .rank = part->rank,
                                      .ranks = part->ranks,
                                      .local_rank = 0,
                                      .local_ranks = UNKNOWN,
                                      .node = part->node,
                                      .nodes = UNKNOWN,
                                      .array_index = UNKNOWN,
                                      .restart = UNKNOWN };
    if (part->is_begin)
        return record;
    record.figures = record_alloc(&record, figure_count(), sizeof(*record.figures));
    for (size_t i = 0; i < figure_count(); i++)
        record.figures[i] = record_unknown_figure("not measured");
    set(&record, "cpu.total_seconds", part->cpu, true);
    set(&record, "cpu.mean_cores", part->cpu / part->seconds, true);
    set(&record, "cpu.max_cores", part->cpu / part->seconds, false);
    set(&record, "memory.combined.total_rss_bytes", part->memory, true);
    if (part->private > 0) {
        set(&record, "memory.combined.private_rss_bytes", part->private, false);
        set(&record, "memory.combined.shared_rss_bytes", part->shared, false);
    }
    set(&record, "memory.system_peak_bytes", 5000 * MB, false);
    set(&record, "network.received_bytes", 100, true);
    fill_curve(&record, part);
    return record;
}

static void add(struct group *group, const struct part *part)
{
    struct record record = make(part);
    struct spoor_error err = { 0 };

    assert_int_equal(group_add(group, &record, &err), 0);
}

static void merge(const struct part *parts, size_t count, struct record *ret)
{
    struct group group;
    struct spoor_error err = { 0 };

    group_init(&group);
    for (size_t i = 0; i < count; i++)
        add(&group, &parts[i]);
    assert_int_equal(group_merge(&group, ret, &err), 0);
    group_done(&group);
}

#define MERGE(parts, ret) merge(parts, ARRAY_SIZE(parts), ret)

static bool has_warning(const struct record *record, const char *code)
{
    for (size_t i = 0; i < record->warning_count; i++) {
        if (strcmp(record->warnings[i].code, code) == 0)
            return true;
    }
    return false;
}

static struct spoor_figure memory_of(const struct record *record)
{
    return record_find(record->figures, "memory.combined.total_rss_bytes");
}

static double next(uint64_t *random)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (double)(*random >> 11) / 0x1p53;
}

/* ---- figures --------------------------------------------------------------------- */

TEST(merging_one_rank_keeps_its_figures)
{
    const struct part part = {
        .rank = 0, .ranks = 1, .seconds = 10, .cpu = 7, .memory = 3 * MB
    };
    struct record merged, own = make(&part);

    merge(&part, 1, &merged);
    for (size_t i = 0; i < figure_count(); i++) {
        struct spoor_figure a = merged.figures[i], b = own.figures[i];

        assert_memory_equal(&a.value, &b.value, sizeof(double));
        assert_int_equal(a.is_exact, b.is_exact);
    }
    assert_near(merged.elapsed_seconds, 10, 0);
    assert_int_equal(merged.group->reported, 1);
    assert_null(memory_of(&merged).reason);
    record_done(&merged);
    record_done(&own);
}

TEST(memory_of_ranks_is_added_only_at_the_same_time)
{
    struct part parts[4];
    struct record merged;

    for (size_t i = 0; i < 4; i++)
        parts[i] = (struct part){
            .rank = i, .ranks = 4, .seconds = 10, .cpu = 1, .memory = 100 * MB * (double)(i + 1)
        };
    MERGE(parts, &merged);
    assert_near(memory_of(&merged).value, 1000 * MB, 1);
    assert_near(memory_of(&merged).low, 1000 * MB, 100);
    assert_near(memory_of(&merged).high, 1000 * MB, 1);
    record_done(&merged);
    for (size_t i = 0; i < 4; i++)
        parts[i].start = 10.0 * (double)i; /* one after the other */
    MERGE(parts, &merged);
    assert_near(memory_of(&merged).value, 400 * MB, 1);
    assert_near(memory_of(&merged).high, 1000 * MB, 1);
    assert_false(memory_of(&merged).is_exact);
    assert_near(merged.elapsed_seconds, 40, 1e-6);
    assert_near(record_value(&merged, "cpu.mean_cores"), 4 / 40.0, 1e-9);
    assert_near(record_value(&merged, "cpu.max_cores"), 0.1, 1e-6);
    record_done(&merged);
}

/* Both ranks map a shared window, but the second one mapped it after spoor had read its
 * shared memory. */
TEST(pages_that_may_be_shared_are_not_in_the_lower_bound)
{
    const struct part parts[] = {
        { .rank = 0,
          .ranks = 2,
          .seconds = 10,
          .memory = 114 * MB,
          .private = 50 * MB,
          .shared = 64 * MB },
        { .rank = 1,
          .ranks = 2,
          .seconds = 10,
          .memory = 114 * MB,
          .private = 50 * MB,
          .shared = MB },
    };
    struct record merged;

    MERGE(parts, &merged);
    assert_near(memory_of(&merged).low, 164 * MB, 100);
    assert_near(memory_of(&merged).high, 228 * MB, 1);
    record_done(&merged);
}

TEST(memory_of_a_group_is_the_memory_of_its_largest_node)
{
    const struct part parts[] = {
        { .rank = 0, .ranks = 3, .node = 0, .seconds = 10, .cpu = 2, .memory = 500 * MB },
        { .rank = 1, .ranks = 3, .node = 1, .seconds = 10, .cpu = 4, .memory = 300 * MB },
        { .rank = 2, .ranks = 3, .node = 2, .seconds = 10, .cpu = 6, .memory = 400 * MB },
    };
    struct record merged;

    MERGE(parts, &merged);
    assert_near(memory_of(&merged).value, 500 * MB, 0);
    assert_true(memory_of(&merged).is_exact); /* one exact rank per node */
    assert_string_equal(merged.group->deciding_node, "n00");
    assert_near(record_value(&merged, "cpu.total_seconds"), 12, 0);
    assert_true(record_find(merged.figures, "cpu.total_seconds").is_exact);
    assert_near(record_value(&merged, "network.received_bytes"), 300, 0); /* once per node */
    assert_near(record_value(&merged, "memory.system_peak_bytes"), 5000 * MB, 0);
    assert_int_equal(merged.cpus, 24);
    assert_near(merged.group->cpu_imbalance, 1.5, 1e-9);
    record_done(&merged);
}

TEST(ranks_that_did_not_end_are_listed)
{
    const struct part parts[] = {
        { .rank = 0, .ranks = 4, .seconds = 10, .cpu = 2, .memory = MB },
        { .rank = 1, .ranks = 4, .seconds = 10, .cpu = 2, .memory = MB, .is_begin = true },
        { .rank = 3, .ranks = 4, .seconds = 10, .cpu = 2, .memory = MB },
    };
    struct record merged;

    MERGE(parts, &merged);
    assert_int_equal(merged.group->reported, 2);
    assert_int_equal(merged.group->missing_count, 2);
    assert_int_equal(merged.group->missing[0].rank, 1);
    assert_string_equal(merged.group->missing[0].reason, "it has no end");
    assert_string_equal(merged.group->missing[0].host, "n00");
    assert_int_equal(merged.group->missing[1].rank, 2);
    assert_string_equal(merged.group->missing[1].reason, "it never began");
    assert_string_equal(record_find(merged.figures, "cpu.total_seconds").reason,
                        "2 of 4 ranks have no end");
    assert_false(record_find(merged.figures, "cpu.total_seconds").is_exact);
    assert_true(isnan(memory_of(&merged).high));
    record_done(&merged);
}

TEST(only_the_last_attempt_of_a_rank_is_counted)
{
    struct part parts[] = {
        { .rank = 0, .ranks = 2, .seconds = 10, .cpu = 2, .memory = MB },
        { .rank = 1, .ranks = 2, .seconds = 10, .cpu = 100, .memory = MB, .id = "first" },
        { .rank = 1,
          .ranks = 2,
          .start = 20,
          .seconds = 5,
          .cpu = 3,
          .memory = MB,
          .id = "second" },
    };
    struct record merged;

    MERGE(parts, &merged);
    assert_near(record_value(&merged, "cpu.total_seconds"), 5, 0);
    assert_true(has_warning(&merged, "repeated"));
    assert_string_equal(merged.group->ranks_seen[1].id, "second");
    record_done(&merged);
    parts[2].is_begin = true; /* the first attempt does not replace it */
    MERGE(parts, &merged);
    assert_int_equal(merged.group->reported, 1);
    assert_int_equal(merged.group->missing[0].rank, 1);
    record_done(&merged);
}

TEST(only_the_job_that_began_last_is_counted)
{
    const struct part parts[] = {
        { .rank = 0, .ranks = 8, .seconds = 10, .cpu = 50, .memory = MB, .job = "41" },
        { .rank = 0,
          .ranks = 1,
          .start = 100,
          .seconds = 10,
          .cpu = 2,
          .memory = MB,
          .job = "42",
          .id = "b" },
    };
    struct record merged;

    MERGE(parts, &merged);
    assert_int_equal(merged.group->ranks, 1);
    assert_near(record_value(&merged, "cpu.total_seconds"), 2, 0);
    assert_true(has_warning(&merged, "other_job"));
    record_done(&merged);
}

TEST(differing_clocks_cause_a_warning)
{
    struct part parts[] = {
        { .rank = 0, .ranks = 2, .node = 0, .seconds = 10, .cpu = 2, .memory = MB },
        { .rank = 1,
          .ranks = 2,
          .node = 1,
          .start = 0.5,
          .seconds = 10,
          .cpu = 2,
          .memory = MB },
    };
    struct record merged;

    MERGE(parts, &merged);
    assert_false(has_warning(&merged, "clock"));
    record_done(&merged);
    parts[1].start = 3600;
    MERGE(parts, &merged);
    assert_true(has_warning(&merged, "clock"));
    assert_near(merged.elapsed_seconds, 3610, 1e-6);
    record_done(&merged);
}

TEST(runs_without_a_rank_can_be_merged_too)
{
    const struct part parts[] = {
        { .rank = UNKNOWN, .ranks = UNKNOWN, .seconds = 10, .cpu = 2, .memory = MB, .id = "a" },
        { .rank = UNKNOWN, .ranks = UNKNOWN, .seconds = 10, .cpu = 3, .memory = MB, .id = "b" },
        { .rank = UNKNOWN,
          .ranks = UNKNOWN,
          .seconds = 10,
          .cpu = 3,
          .memory = MB,
          .id = "c",
          .is_begin = true },
    };
    struct record merged;

    MERGE(parts, &merged);
    assert_int_equal(merged.group->ranks, 3);
    assert_int_equal(merged.group->reported, 2);
    assert_int_equal(merged.group->missing_count, 1);
    assert_near(record_value(&merged, "cpu.total_seconds"), 5, 0);
    record_done(&merged);
}

/* A folder may contain arbitrary files, so ranks may contradict each other. */
TEST(contradictory_ranks_are_harmless)
{
    enum { SEEDS = 300, COUNT = 12 };

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        uint64_t random = seed;
        char ids[COUNT][8];
        struct part parts[COUNT];
        struct record merged;

        for (size_t i = 0; i < COUNT; i++) {
            (void)snprintf(ids[i], sizeof(ids[i]), "%zu", i / 2);
            parts[i] =
                (struct part){ .rank = (uint64_t)(next(&random) * 6),
                               .ranks = next(&random) < 0.5 ? UNKNOWN : 6 + seed % 3 * 999,
                               .node = (uint64_t)(next(&random) * 3),
                               .start = floor(next(&random) * 4),
                               .seconds = 1,
                               .cpu = 1,
                               .memory = MB,
                               .id = ids[i],
                               .is_begin = next(&random) < 0.5 };
            if (next(&random) < 0.3)
                parts[i].rank = UNKNOWN;
        }
        MERGE(parts, &merged);
        assert_true(merged.group->reported <= merged.group->ranks);
        assert_true(merged.group->missing_count >=
                    smaller(merged.group->ranks - merged.group->reported, GROUP_MISSING_MAX));
        record_done(&merged);
    }
}

TEST(a_billion_ranks_take_no_memory)
{
    const struct part part = {
        .rank = 3, .ranks = 1000000000, .seconds = 10, .cpu = 2, .memory = MB
    };
    struct record merged;

    merge(&part, 1, &merged);
    assert_int_equal(merged.group->ranks, 1000000000);
    assert_int_equal(merged.group->missing_count, GROUP_MISSING_MAX);
    assert_int_equal(merged.group->missing[3].rank, 4); /* rank 3 has ended: not missing */
    record_done(&merged);
}

TEST(impossible_ranks_are_refused)
{
    const struct part part = { .rank = 16, .ranks = 16, .seconds = 1, .cpu = 1, .memory = 1 };
    struct record record = make(&part);
    struct spoor_error err = { 0 };
    struct group group;

    group_init(&group);
    assert_int_equal(group_add(&group, &record, &err), -EBADMSG);
    assert_int_equal(group_merge(&group, &record, &err), -ENODATA);
    group_done(&group);
}

TEST(one_rank_may_read_the_gpus_for_all)
{
    struct group group;
    struct spoor_error err = { 0 };
    struct record merged;

    group_init(&group);
    for (uint64_t i = 0; i < 4; i++) {
        const struct part part = {
            .rank = i, .ranks = 4, .seconds = 10, .cpu = 1, .memory = MB
        };
        struct record record = make(&part);

        if (i == 1)
            set(&record, "gpu.memory.combined_bytes", 7, true);
        assert_int_equal(group_add(&group, &record, &err), 0);
    }
    assert_int_equal(group_merge(&group, &merged, &err), 0);
    assert_near(record_value(&merged, "gpu.memory.combined_bytes"), 7, 0);
    assert_true(record_find(merged.figures, "gpu.memory.combined_bytes").is_exact);
    record_done(&merged);
    group_done(&group);
}

TEST(each_gpu_counts_once)
{
    struct group group;
    struct spoor_error err = { 0 };
    struct record merged;

    group_init(&group);
    for (uint64_t i = 0; i < 4; i++) { /* two ranks per node share a GPU */
        const struct part part = {
            .rank = i, .ranks = 4, .node = i / 2, .seconds = 10, .cpu = 1, .memory = MB
        };
        struct record record = make(&part);
        struct record_gpu *gpu = record_alloc(&record, 1, sizeof(*gpu));

        *gpu = (struct record_gpu){ .index = 0,
                                    .part = UNKNOWN,
                                    .uuid = i < 2 ? "GPU-a" : "GPU-b",
                                    .memory_bytes = 10,
                                    .is_selected = true };
        for (size_t k = 0; k < RECORD_GPU_MEASURES; k++)
            gpu->measures[k] = (struct spoor_figure){
                .value = 5, .low = (double)NAN, .high = (double)NAN, .source = "x"
            };
        record.gpus = gpu;
        record.gpu_count = record.whole_gpus = 1;
        set(&record, "energy.gpu_joules", 1000, true);
        set(&record, "gpu.memory.combined_bytes", 7, false);
        assert_int_equal(group_add(&group, &record, &err), 0);
    }
    assert_int_equal(group_merge(&group, &merged, &err), 0);
    assert_int_equal(merged.gpu_count, 2);
    assert_int_equal(merged.gpus[1].index, 1);
    assert_near(merged.gpus[0].measures[RECORD_GPU_JOB_MEMORY].value, 10, 0); /* two ranks */
    assert_near(merged.gpus[0].measures[RECORD_GPU_ENERGY].value, 5, 0);
    assert_int_equal(merged.whole_gpus, 2);
    assert_near(record_value(&merged, "energy.gpu_joules"), 2000, 0);
    assert_near(record_value(&merged, "gpu.memory.combined_bytes"), 28, 0);
    assert_string_equal(merged.group->nodes[1].gpus[0], "GPU-b");
    assert_null(merged.group->nodes[1].gpus[1]);
    record_done(&merged);
    group_done(&group);
}

/* ---- properties ---------------------------------------------------------------------- */

static void check_bounds(const struct record *merged)
{
    for (size_t i = 0; i < figure_count(); i++) {
        struct spoor_figure figure = merged->figures[i];

        if (isnan(figure.value))
            continue;
        assert_true(isnan(figure.low) || figure.low <= figure.value);
        assert_true(isnan(figure.high) || figure.high >= figure.value);
        assert_true(!figure.is_exact || (isnan(figure.low) && isnan(figure.high)));
    }
}

TEST(merged_bounds_are_valid_and_independent_of_the_order_of_lines)
{
    enum { COUNT = 40 };
    const uint64_t seeds = getenv("TEST_FULL") ? 200 : 50;

    for (uint64_t seed = 1; seed <= seeds; seed++) {
        struct buffer texts[2] = { { 0 }, { 0 } };
        struct format_style style = { 0 };
        struct part parts[COUNT];
        uint64_t random = seed;
        double cpu = 0, nodes = 0;
        struct record merged;

        for (size_t i = 0; i < COUNT; i++)
            parts[i] = (struct part){ .rank = i,
                                      .ranks = COUNT,
                                      .node = (uint64_t)(next(&random) * 5),
                                      .start = next(&random) * 50,
                                      .seconds = 1 + next(&random) * 20,
                                      .cpu = floor(next(&random) * 1000),
                                      .memory = floor(next(&random) * 1e9),
                                      .is_begin = next(&random) < 0.1 };
        for (size_t k = 0; k < 2; k++) {
            MERGE(parts, &merged);
            check_bounds(&merged);
            json_write(&merged, &style, &texts[k]);
            if (k == 0) {
                for (size_t i = 0; i < COUNT; i++)
                    cpu += parts[i].is_begin ? 0 : parts[i].cpu;
                for (size_t i = 0; i < merged.group->node_count; i++)
                    nodes += isnan(merged.group->nodes[i].cpu_seconds)
                                 ? 0
                                 : merged.group->nodes[i].cpu_seconds;
                assert_near(record_value(&merged, "cpu.total_seconds"), cpu, 1e-6);
                assert_near(nodes, cpu, 1e-6);
            }
            record_done(&merged);
            for (size_t i = COUNT - 1; i > 0; i--) {
                size_t other = (size_t)(next(&random) * (double)(i + 1));
                struct part swapped = parts[i];

                parts[i] = parts[other];
                parts[other] = swapped;
            }
        }
        assert_string_equal(texts[0].text, texts[1].text);
        buffer_done(&texts[0]);
        buffer_done(&texts[1]);
    }
}

TEST(a_merged_report_is_the_same_after_loading)
{
    CLEANUP(buffer_done) struct buffer first = { 0 }, second = { 0 };
    struct format_style style = { 0 };
    struct spoor_error err = { 0 };
    struct part parts[6];
    struct record merged, loaded;

    for (size_t i = 0; i < 6; i++)
        parts[i] = (struct part){ .rank = i,
                                  .ranks = 8,
                                  .node = i / 3,
                                  .start = (double)i,
                                  .seconds = 9.5,
                                  .cpu = 3,
                                  .memory = 1e8,
                                  .is_begin = i == 4 };
    MERGE(parts, &merged);
    json_write(&merged, &style, &first);
    assert_int_equal(record_parse(first.text, first.length, &loaded, NULL, &err), 0);
    json_write(&loaded, &style, &second);
    assert_string_equal(first.text, second.text);
    record_done(&merged);
    record_done(&loaded);
}

/* ---- folders --------------------------------------------------------------------------- */

static void write_file(const char *path, const char *text, size_t length)
{
    FILE *file = fopen(path, "we");

    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static void add_lines(struct buffer *text, const struct part *part)
{
    struct part begin = *part;
    struct record record;

    begin.is_begin = true;
    record = make(&begin);
    rank_write_begin(&record, text);
    record_done(&record);
    if (part->is_begin)
        return;
    record = make(part);
    rank_write(&record, NULL, text);
    record_done(&record);
}

TEST(damaged_lines_are_skipped)
{
    static const char *const damaged[] = {
        "{\"schema\":\"spoor/"
        "1\",\"begin\":{\"id\":\"x\",\"started_at\":\"2026-01-01T00:00:00Z\"},\"launch\":{"
        "\"rank\":-1}}\n",
        "{\"schema\":\"spoor/"
        "1\",\"begin\":{\"id\":\"x\",\"started_at\":\"2026-01-01T00:00:00Z\"},\"launch\":{"
        "\"rank\":9,\"ranks\":2}}\n",
        "{\"schema\":\"spoor/1\",\"begin\":7}\n",
        "{\"schema\":\"spoor/2\"}\n",
        "[1,2]\n",
        "\xff\xfe\n",
        "null\n",
        "{\"schema\":\"spoor/1\",\"run\":{\"id\":\"x\"}}\n",
        "{\"schema\":\"spoor/1\",\"run\":{\"id\":\"x\",\"elapsed_seconds\":1e999}}\n",
    };
    char folder[] = "/tmp/spoor-group.XXXXXX", path[64];
    CLEANUP(buffer_done) struct buffer text = { 0 };
    struct spoor_error err = { 0 };
    struct record merged;
    struct part part = { .rank = 0, .ranks = 2, .seconds = 10, .cpu = 2, .memory = MB };

    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/n00.jsonl", folder);
    add_lines(&text, &part);
    for (size_t i = 0; i < ARRAY_SIZE(damaged); i++)
        buffer_add_text(&text, damaged[i]);
    part.rank = 1;
    add_lines(&text, &part);
    write_file(path, text.text, text.length);
    assert_true(group_is_folder(folder));
    assert_int_equal(group_load(folder, &merged, &err), 0);
    assert_int_equal(merged.group->reported, 2);
    assert_int_equal(merged.warning_count, ARRAY_SIZE(damaged));
    assert_non_null(strstr(merged.warnings[0].message, "n00.jsonl, line "));
    record_done(&merged);
    unlink(path);
    assert_false(group_is_folder(folder));
    assert_int_equal(group_load(folder, &merged, &err), -ENODATA);
    rmdir(folder);
}

/* A file may be truncated at any byte if the machine crashed or the disk was full. */
TEST(a_file_may_be_cut_anywhere)
{
    char folder[] = "/tmp/spoor-group.XXXXXX", path[64];
    CLEANUP(buffer_done) struct buffer text = { 0 };
    struct part part = { .rank = 0, .ranks = 2, .seconds = 10, .cpu = 2, .memory = MB };
    size_t whole;

    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/n00.jsonl", folder);
    add_lines(&text, &part);
    whole = text.length;
    part.rank = 1;
    add_lines(&text, &part);
    for (size_t length = 0; length <= text.length; length += length < 400 ? 1 : 37) {
        struct spoor_error err = { 0 };
        struct record merged;
        int r;

        write_file(path, text.text, length);
        r = group_load(folder, &merged, &err);
        assert_true(r == 0 || r == -ENODATA);
        if (r < 0)
            continue;
        assert_true(merged.group->reported >= (length >= whole));
        check_bounds(&merged);
        record_done(&merged);
    }
    unlink(path);
    rmdir(folder);
}

TEST(a_line_that_is_too_long_is_skipped)
{
    char folder[] = "/tmp/spoor-group.XXXXXX", path[64];
    CLEANUP(buffer_done) struct buffer text = { 0 };
    const struct part part = { .rank = 0, .ranks = 1, .seconds = 10, .cpu = 2, .memory = MB };
    struct spoor_error err = { 0 };
    struct record merged;

    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/n00.jsonl", folder);
    for (size_t i = 0; i < 3 << 20; i++)
        buffer_add(&text, "x", 1);
    buffer_add(&text, "\n", 1);
    add_lines(&text, &part);
    write_file(path, text.text, text.length);
    assert_int_equal(group_load(folder, &merged, &err), 0);
    assert_int_equal(merged.group->reported, 1);
    assert_true(has_warning(&merged, "damaged"));
    record_done(&merged);
    unlink(path);
    rmdir(folder);
}

TEST(ten_thousand_ranks_are_merged)
{
    enum { COUNT = 10000 };
    struct group group;
    struct spoor_error err = { 0 };
    struct record merged;

    group_init(&group);
    for (size_t i = 0; i < COUNT; i++) {
        const struct part part = { .rank = i,
                                   .ranks = COUNT,
                                   .node = i / 100,
                                   .start = (double)(i % 7),
                                   .seconds = 100,
                                   .cpu = 1,
                                   .memory = MB * (double)(1 + i / 100) };

        add(&group, &part);
    }
    assert_int_equal(group_merge(&group, &merged, &err), 0);
    assert_int_equal(merged.group->reported, COUNT);
    assert_int_equal(merged.group->node_count, 100);
    assert_near(record_value(&merged, "cpu.total_seconds"), COUNT, 1e-6);
    assert_near(memory_of(&merged).value, 100 * 100 * MB, 1);
    assert_string_equal(merged.group->deciding_node, "n99");
    record_done(&merged);
    group_done(&group);
}
