/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "base/compiler.h"
#include "compat/gpu_tracker/program.h"
#include "compat/gpu_tracker/tracking.h"
#include "unit_test.h"

/* ---- words -------------------------------------------------------------- */

/* Joins the words with '|': "a|b c|". */
static void check(const char *text, const char *expected)
{
    struct spoor_error err = { 0 };
    char joined[200] = "";
    struct text_list words = { 0 };

    assert_int_equal(words_split(text, &words, &err), 0);
    for (size_t i = 0; i < words.count; i++) {
        (void)strncat(joined, words.items[i], sizeof(joined) - strlen(joined) - 1);
        (void)strncat(joined, "|", sizeof(joined) - strlen(joined) - 1);
    }
    assert_string_equal(joined, expected);
    text_list_done(&words);
}

TEST(blanks_separate_words)
{
    check("ls -l -a", "ls|-l|-a|");
    check("  bash \t example-script.sh\n", "bash|example-script.sh|");
    check("a", "a|");
    check("", "");
    check(" \t\n\v\f\r", "");
}

TEST(quotes_keep_blanks)
{
    check("sh -c 'exit 3'", "sh|-c|exit 3|");
    check("sh -c \"echo 'a  b'\"", "sh|-c|echo 'a  b'|");
    check("a'b c'd\"e f\"", "ab cde f|");
    check("'' x \"\"", "|x||");
    check("'a\\b$'", "a\\b$|");
    check("'\n'", "\n|");
}

TEST(backslashes_escape_the_next_character)
{
    check("a\\ b", "a b|");
    check("\\'a \\\"b", "'a|\"b|");
    check("\\\\", "\\|");
    check("\"\\$ \\` \\\" \\\\ \\n\"", "$ ` \" \\ \\n|");
}

TEST(lines_are_joined_by_a_backslash)
{
    check("a\\\nb", "ab|");
    check("a \\\n b", "a|b|");
    check("\"a\\\nb\"", "ab|");
    check("\\\n", "");
}

TEST(other_characters_have_no_special_meaning)
{
    check("echo $HOME * | cat; a && b > c # d", "echo|$HOME|*|||cat;|a|&&|b|>|c|#|d|");
}

/* The predecessor did not interpret quotes, and its users' command lines must still work. */
TEST(an_unclosed_quote_is_literal)
{
    check("echo it's", "echo|it's|");
    check("echo 'a b", "echo|'a|b|");
    check("'", "'|");
    check("a b\"c d", "a|b\"c|d|");
    check("'a b' \"c\\\" \\", "'a|b'|\"c\\\"|\\|");
    check("a \\", "a|\\|");
}

/* ---- gpu tracker gpus --------------------------------------------------- */

/* Two NVIDIA GPUs, the second with a MIG part, and an AMD GPU of unknown memory size. */
static const struct spoor_gpu machine[] = {
    { .uuid = "GPU-b", .vendor = "nvidia", .memory_bytes = 16000000000 },
    { .uuid = "GPU-a", .vendor = "nvidia", .memory_bytes = 80000000000 },
    { .uuid = "MIG-1", .vendor = "nvidia", .memory_bytes = 20000000000, .is_part = true },
    { .uuid = "AMD-c", .vendor = "amd", .memory_bytes = UINT64_MAX },
};

static int choose(const struct spoor_gpu *list, size_t count, const char *uuids,
                  const char *brand, struct gpu_tracker_gpus *ret)
{
    *ret = (struct gpu_tracker_gpus){ .brand = brand };
    for (size_t i = 0; i < count; i++)
        gpu_tracker_gpus_add(&list[i], ret);
    return gpu_tracker_gpus_choose(ret, uuids);
}

static void gpu_tracker_gpus_check(const char *uuids, const char *brand, uint64_t count,
                                   uint64_t expected_count, double memory_bytes,
                                   const char *selection)
{
    struct gpu_tracker_gpus gpus;

    assert_int_equal(choose(machine, ARRAY_SIZE(machine), uuids, brand, &gpus), 0);
    assert_int_equal(gpus.whole.count, count);
    assert_int_equal(gpus.expected_count, expected_count);
    assert_true(gpus.memory_bytes >= memory_bytes && gpus.memory_bytes <= memory_bytes);
    assert_string_equal(gpus.selection, selection);
    assert_string_equal(gpus.message, "");
    gpu_tracker_gpus_done(&gpus);
}

TEST(only_whole_gpus_are_counted)
{
    gpu_tracker_gpus_check(NULL, NULL, 3, 3, 96e9, "all");
}

TEST(a_list_selects_the_expected_gpus)
{
    gpu_tracker_gpus_check("GPU-a", NULL, 3, 1, 96e9, "GPU-a");
    gpu_tracker_gpus_check("GPU-a,AMD-c", NULL, 3, 2, 96e9, "GPU-a,AMD-c");
    gpu_tracker_gpus_check("GPU-a,GPU-a", NULL, 3, 1, 96e9, "GPU-a,GPU-a");
    gpu_tracker_gpus_check("MIG-1", NULL, 3, 1, 96e9, "MIG-1");
}

TEST(a_brand_excludes_other_vendors)
{
    gpu_tracker_gpus_check(NULL, "nvidia", 2, 2, 96e9, "GPU-b,GPU-a");
    gpu_tracker_gpus_check(NULL, "amd", 1, 1, 0, "AMD-c");
    gpu_tracker_gpus_check("GPU-b", "nvidia", 2, 1, 96e9, "GPU-b");
}

TEST(a_missing_gpu_is_refused)
{
    static const struct {
        const char *uuids, *brand;
        size_t count;
        int code;
        const char *message;
    } wrong[] = {
        { "GPU-x", NULL, 4, -EINVAL,
          "GPU UUID of GPU-x is not valid. Available UUIDs are: AMD-c, GPU-a, GPU-b" },
        { "GPU-a,", NULL, 4, -EINVAL,
          "GPU UUID of  is not valid. Available UUIDs are: AMD-c, GPU-a, GPU-b" },
        { "GPU-a", "amd", 4, -EINVAL,
          "GPU UUID of GPU-a is not valid. Available UUIDs are: AMD-c" },
        { "", NULL, 4, -EINVAL,
          "gpu_uuids is not None but the set is empty. Please provide a set of at least one "
          "GPU UUID." },
        { NULL, "amd", 3, -ENODEV, "No GPU of the brand \"amd\" was found." },
        { NULL, "nvidia", 0, -ENODEV, "No GPU of the brand \"nvidia\" was found." },
    };

    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        struct gpu_tracker_gpus gpus;

        assert_int_equal(choose(machine, wrong[i].count, wrong[i].uuids, wrong[i].brand, &gpus),
                         wrong[i].code);
        assert_string_equal(gpus.message, wrong[i].message);
        assert_null(gpus.selection);
        gpu_tracker_gpus_done(&gpus);
    }
}

TEST(without_a_gpu_the_list_is_ignored)
{
    static const char *const lists[] = { NULL, "", "GPU-a" };

    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        struct gpu_tracker_gpus gpus;

        assert_int_equal(choose(machine, 0, lists[i], NULL, &gpus), 0);
        assert_int_equal(gpus.whole.count, 0);
        assert_int_equal(gpus.expected_count, 0);
        assert_string_equal(gpus.selection, "none");
        assert_string_equal(gpus.message,
                            "Neither the nvidia-smi command nor the amd-smi command is "
                            "installed. Install one of these to profile the GPU. Otherwise the "
                            "GPU RAM and GPU utilization values will remain 0.0.");
        gpu_tracker_gpus_done(&gpus);
    }
}

TEST(a_long_list_is_shown_in_full)
{
    static const char uuid[] = "GPU-0a2b3c4d-1111-2222-3333-444455556660";
    struct spoor_gpu many[64];
    struct gpu_tracker_gpus gpus;
    const char *found = gpus.message;

    for (size_t i = 0; i < ARRAY_SIZE(many); i++)
        many[i] = (struct spoor_gpu){ .uuid = uuid, .vendor = "nvidia" };
    assert_int_equal(choose(many, ARRAY_SIZE(many), "x", NULL, &gpus), -EINVAL);
    for (size_t i = 0; i < ARRAY_SIZE(many); i++) {
        found = strstr(found, uuid);
        assert_non_null(found);
        found += strlen(uuid);
    }
    assert_string_equal(found, "");
    gpu_tracker_gpus_done(&gpus);
}
