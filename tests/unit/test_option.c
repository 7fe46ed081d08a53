/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "base/compiler.h"
#include "front/option.h"
#include "unit_test.h"

/* ---- nearest ------------------------------------------------------------ */

TEST(edit_distance_counts_single_changes)
{
    static const struct {
        const char *a, *b;
        size_t distance;
    } pairs[] = {
        { "", "", 0 },           { "run", "run", 0 },
        { "rnu", "run", 1 },     { "rn", "run", 1 },
        { "runx", "run", 1 },    { "ran", "run", 1 },
        { "", "run", 3 },        { "abc", "xyz", 3 },
        { "quite", "quiet", 1 }, { "kitten", "sitting", 3 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
        assert_int_equal(edit_distance(pairs[i].a, pairs[i].b), pairs[i].distance);
        assert_int_equal(edit_distance(pairs[i].b, pairs[i].a), pairs[i].distance);
    }
}

TEST(words_of_any_length_are_safe)
{
    char huge[100000];

    memset(huge, 'a', sizeof(huge) - 1);
    huge[sizeof(huge) - 1] = '\0';
    assert_int_equal(edit_distance(huge, "a"), 62);
    assert_int_equal(edit_distance(huge, huge), 0);
}

static const char *nearest_of_three(const char *word)
{
    struct nearest nearest = NEAREST_TO(word);

    nearest_offer(&nearest, "interval");
    nearest_offer(&nearest, "output");
    nearest_offer(&nearest, "quiet");
    return nearest_get(&nearest);
}

TEST(a_typing_error_causes_a_suggestion)
{
    assert_string_equal(nearest_of_three("intervalx"), "interval");
    assert_string_equal(nearest_of_three("intreval"), "interval");
    assert_string_equal(nearest_of_three("outptu"), "output");
    assert_string_equal(nearest_of_three("quite"), "quiet");
}

TEST(the_start_of_a_word_matches_it)
{
    assert_string_equal(nearest_of_three("int"), "interval");
    assert_string_equal(nearest_of_three("out"), "output");
}

TEST(other_words_match_nothing)
{
    assert_null(nearest_of_three("frobnicate"));
    assert_null(nearest_of_three("x"));
    assert_null(nearest_of_three(""));
    assert_null(nearest_of_three("sleep"));
}

/* ---- option ------------------------------------------------------------- */

enum size { SMALL, MIDDLE, LARGE };

struct target {
    char *text;
    char *any_text;
    struct text_list list;
    bool flag;
    enum size size;
};

static const struct option rows[] = {
    { 't', "text", "TEXT", "", 1, OPTION_TEXT(struct target, text) },
    { 'a', "any", "TEXT", "", 1, OPTION_ANY_TEXT(struct target, any_text) },
    { 'l', "list", "TEXT", "", 1, OPTION_LIST(struct target, list) },
    { 'f', "flag", NULL, "", 1, OPTION_FLAG(struct target, flag) },
    { 's', "size", "small|middle|large", "", 1, OPTION_CHOICE(struct target, size) },
};
static const struct option_table table = { rows, ARRAY_SIZE(rows) };

static int apply(struct target *target, size_t row, const char *value, struct spoor_error *err)
{
    return rows[row].apply(target, &rows[row], value, err);
}

TEST(string_options_are_copied_and_replaced)
{
    struct target target = { 0 };
    char value[] = "one";

    assert_int_equal(apply(&target, 0, value, NULL), 0);
    value[0] = 'x';
    assert_string_equal(target.text, "one");
    assert_int_equal(apply(&target, 0, "two", NULL), 0);
    assert_string_equal(target.text, "two");
    assert_int_equal(apply(&target, 0, "", NULL), -EINVAL);
    assert_string_equal(target.text, "two");
    assert_int_equal(apply(&target, 1, "", NULL), 0);
    assert_string_equal(target.any_text, "");
    option_free(&table, &target);
    assert_null(target.text);
    assert_null(target.any_text);
}

TEST(lists_grow_and_end_with_null)
{
    struct target target = { 0 };

    assert_int_equal(apply(&target, 2, "a", NULL), 0);
    assert_int_equal(apply(&target, 2, "", NULL), -EINVAL);
    assert_int_equal(apply(&target, 2, "b", NULL), 0);
    assert_int_equal(target.list.count, 2);
    assert_string_equal(target.list.items[0], "a");
    assert_string_equal(target.list.items[1], "b");
    assert_null(target.list.items[2]);
    option_free(&table, &target);
    assert_int_equal(target.list.count, 0);
    option_free(&table, &target); /* a second call is harmless */
}

TEST(flags_accept_the_usual_words)
{
    static const struct {
        const char *word;
        bool meaning;
    } words[] = { { NULL, true },  { "yes", true },  { "TRUE", true },   { "1", true },
                  { "no", false }, { "Off", false }, { "false", false }, { "0", false } };
    struct spoor_error err;
    struct target target;

    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        target.flag = !words[i].meaning;
        assert_int_equal(apply(&target, 3, words[i].word, NULL), 0);
        assert_int_equal(target.flag, words[i].meaning);
    }
    assert_int_equal(apply(&target, 3, "maybe", &err), -EINVAL);
    assert_string_equal(err.message, "invalid value 'maybe': expected yes or no");
}

TEST(choices_must_be_whole_words)
{
    static const char *const wrong[] = { "", "middl", "larger", "small|middle", "Large" };
    struct target target = { 0 };
    struct spoor_error err;

    assert_int_equal(apply(&target, 4, "large", NULL), 0);
    assert_int_equal(target.size, LARGE);
    assert_int_equal(apply(&target, 4, "small", NULL), 0);
    assert_int_equal(target.size, SMALL);
    target.size = MIDDLE;
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        assert_int_equal(apply(&target, 4, wrong[i], &err), -EINVAL);
        assert_int_equal(target.size, MIDDLE); /* untouched on failure */
    }
    assert_string_equal(err.message, "invalid value 'Large': expected small|middle|large");
}
