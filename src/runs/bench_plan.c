/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "runs/bench.h"
#include "text/escape.h"

/* ---- parameters --------------------------------------------------------- */

static bool is_name_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_';
}

static size_t name_length(const char *parameter)
{
    return strcspn(parameter, "=");
}

int bench_check_parameter(const char *text, struct spoor_error *err)
{
    size_t length = name_length(text);
    bool is_name = length > 0;

    for (size_t i = 0; i < length; i++)
        is_name &= is_name_character(text[i]);
    if (!is_name || !text[length])
        return error_set(err, EINVAL, "invalid parameter '%s': expected NAME=VALUE,VALUE...",
                         text);
    return 0;
}

static size_t value_count(const char *parameter)
{
    size_t count = 1;

    for (const char *at = parameter + name_length(parameter); *at; at++)
        count += *at == ',';
    return count;
}

static const char *value_at(const char *parameter, size_t index, size_t *ret_length)
{
    const char *value = parameter + name_length(parameter) + 1;

    while (index-- > 0)
        value += strcspn(value, ",") + 1;
    *ret_length = strcspn(value, ",");
    return value;
}

static const char *find_place(const char *text, const char *parameter)
{
    size_t length = name_length(parameter);

    for (const char *at = strchr(text, '{'); at; at = strchr(at + 1, '{')) {
        if (strncmp(at + 1, parameter, length) == 0 && at[length + 1] == '}')
            return at;
    }
    return NULL;
}

/* ---- one command -------------------------------------------------------- */

/* A command as the user gave it, with {NAME} for parameters. */
struct template
{
    char **words;
    size_t word_count;
    const char *name, *prepare;
    char **parameters; /* all parameters of the request */
    size_t parameter_count;
};

/* Returns whether the name (or the words, if there is no name) contains the parameter. */
static bool shows(const struct template *template, const char *parameter)
{
    bool is_shown = template->name && find_place(template->name, parameter);

    for (size_t i = 0; !template->name && i < template->word_count; i++)
        is_shown |= find_place(template->words[i], parameter) != NULL;
    return is_shown;
}

static bool uses(const struct template *template, const char *parameter)
{
    bool is_used = shows(template, parameter) ||
                   (template->prepare && find_place(template->prepare, parameter));

    for (size_t i = 0; i < template->word_count; i++)
        is_used |= find_place(template->words[i], parameter) != NULL;
    return is_used;
}

/* Returns the value of a parameter in a combination. Combinations are numbers whose digits
 * are the indexes of the values. */
static const char *value_in(const struct template *template, size_t parameter,
                            size_t combination, size_t *ret_length)
{
    for (size_t i = template->parameter_count; --i > parameter;) {
        if (uses(template, template->parameters[i]))
            combination /= value_count(template->parameters[i]);
    }
    return value_at(template->parameters[parameter],
                    combination % value_count(template->parameters[parameter]), ret_length);
}

/* Copies a text with its parameters replaced; NULL stays NULL. Parameters inside a value are
 * not replaced. */
static char *expand(const struct template *template, const char *text, size_t combination)
{
    struct buffer out = { 0 };

    if (!text)
        return NULL;
    buffer_add_text(&out, "");
    while (*text) {
        size_t skipped = 1, length = 1;
        const char *added = text;

        for (size_t i = 0; i < template->parameter_count; i++) {
            if (find_place(text, template->parameters[i]) == text) {
                added = value_in(template, i, combination, &length);
                skipped = name_length(template->parameters[i]) + 2;
            }
        }
        buffer_add(&out, added, length);
        text += skipped;
    }
    if (buffer_error(&out) < 0)
        buffer_done(&out);
    return out.text;
}

static char *make_tag(const struct template *template, size_t parameter, size_t combination)
{
    size_t length, name = name_length(template->parameters[parameter]);
    const char *value = value_in(template, parameter, combination, &length);
    struct buffer tag = { 0 };

    buffer_add(&tag, template->parameters[parameter], name + 1);
    buffer_add(&tag, value, length);
    return tag.text;
}

static void command_done(struct bench_command *command)
{
    text_list_done(&command->words);
    text_list_done(&command->tags);
    free(command->name);
    free(command->prepare);
    free(command->label);
}

/* Returns the name, or the command in shell quoting, with the parameters that it does not
 * show: "make (branch=main)". */
static char *make_label(const struct template *template, const struct bench_command *command)
{
    struct buffer label = { 0 };
    size_t tag = 0;

    buffer_add_text(&label, command->name ? command->name : "");
    if (!command->name)
        escape_command((const char *const *)command->words.items, &label);
    for (size_t i = 0; i < template->parameter_count; i++) {
        if (!uses(template, template->parameters[i]))
            continue;
        if (!shows(template, template->parameters[i])) {
            buffer_add_text(&label, " (");
            escape_shell(command->tags.items[tag], &label);
            buffer_add_text(&label, ")");
        }
        tag++;
    }
    if (buffer_error(&label) < 0)
        buffer_done(&label);
    return label.text;
}

/* If the name or words do not show all parameters, uses the label as the name of the runs. */
static int name_by_label(const struct template *template, struct bench_command *command)
{
    bool is_shown = true;

    for (size_t i = 0; i < template->parameter_count; i++)
        is_shown &= shows(template, template->parameters[i]) ||
                    !uses(template, template->parameters[i]);
    if (is_shown)
        return 0;
    free(command->name);
    command->name = strdup(command->label);
    return command->name ? 0 : -ENOMEM;
}

static int make_command(const struct template *template, size_t combination,
                        struct bench_command *ret)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < template->word_count; i++)
        r = text_list_take(&ret->words, expand(template, template->words[i], combination),
                           NULL);
    for (size_t i = 0; r == 0 && i < template->parameter_count; i++)
        if (uses(template, template->parameters[i]))
            r = text_list_take(&ret->tags, make_tag(template, i, combination), NULL);
    ret->name = expand(template, template->name, combination);
    ret->prepare = expand(template, template->prepare, combination);
    if (r == 0)
        ret->label = make_label(template, ret);
    if (!ret->label || !ret->name != !template->name || !ret->prepare != !template->prepare)
        return -ENOMEM;
    return name_by_label(template, ret);
}

/* ---- all commands ------------------------------------------------------- */

static size_t list_length(char **list)
{
    size_t length = 0;

    while (list && list[length])
        length++;
    return length;
}

static int add_combinations(const struct template *template, struct bench_plan *plan,
                            struct spoor_error *err)
{
    size_t count = 1;

    for (size_t i = 0; i < template->parameter_count && count <= BENCH_COMMANDS_MAX; i++)
        count *=
            uses(template, template->parameters[i]) ? value_count(template->parameters[i]) : 1;
    for (size_t i = 0; i < count; i++) {
        struct bench_command *items;

        if (plan->count == BENCH_COMMANDS_MAX)
            return error_set(err, EINVAL, "at most %d commands can be compared",
                             BENCH_COMMANDS_MAX);
        items = reallocarray(plan->items, plan->count + 1, sizeof(*items));
        if (!items)
            return error_set(err, ENOMEM, "out of memory");
        plan->items = items;
        items[plan->count] = (struct bench_command){ 0 };
        if (make_command(template, i, &items[plan->count++]) < 0)
            return error_set(err, ENOMEM, "out of memory");
    }
    return 0;
}

static int check_labels(const struct bench_plan *plan, struct spoor_error *err)
{
    for (size_t i = 0; i < plan->count; i++) {
        for (size_t k = 0; k < i; k++) {
            if (strcmp(plan->items[i].label, plan->items[k].label) == 0)
                return error_set(err, EINVAL,
                                 "'%s' is given twice: give each command its own --name",
                                 plan->items[i].label);
        }
    }
    return 0;
}

/* Adds the commands of the request, and counts for each parameter the commands that use it. */
static int add_commands(const struct bench_request *request, size_t *used,
                        struct bench_plan *plan, struct spoor_error *err)
{
    size_t name_count = list_length(request->names), given = 0;
    int r = 0;

    for (char **word = request->words; r == 0; given++) {
        struct template template = { .words = word,
                                     .name = given < name_count ? request->names[given] : NULL,
                                     .prepare = request->prepare,
                                     .parameters = request->parameters,
                                     .parameter_count = list_length(request->parameters) };

        while (word[template.word_count] && strcmp(word[template.word_count], "--vs") != 0)
            template.word_count++;
        if (template.word_count == 0 || word[0][0] == '\0')
            return error_set(err, EINVAL, "missing command %s --vs",
                             word[template.word_count] ? "before" : "after");
        for (size_t i = 0; i < template.parameter_count; i++)
            used[i] += uses(&template, request->parameters[i]);
        r = add_combinations(&template, plan, err);
        if (!word[template.word_count])
            break;
        word += template.word_count + 1;
    }
    if (r == 0 && name_count > given + 1)
        return error_set(err, EINVAL, "--name: there are more names than commands");
    return r;
}

int bench_plan_make(const struct bench_request *request, struct bench_plan *ret,
                    struct spoor_error *err)
{
    CLEANUP(bench_plan_done) struct bench_plan plan = { 0 };
    size_t parameter_count = list_length(request->parameters);
    AUTO_FREE size_t *used = calloc(parameter_count + 1, sizeof(*used));
    int r;

    if (!used)
        return error_set(err, ENOMEM, "out of memory");
    r = add_commands(request, used, &plan, err);
    for (size_t i = 0; r == 0 && i < parameter_count; i++) {
        const char *parameter = request->parameters[i];

        if (used[i] == 0)
            r = error_set(err, EINVAL, "no command contains {%.*s}",
                          (int)name_length(parameter), parameter);
    }
    if (r == 0)
        r = check_labels(&plan, err);
    if (r < 0)
        return r;
    *ret = plan;
    plan = (struct bench_plan){ 0 };
    return 0;
}

void bench_plan_done(struct bench_plan *plan)
{
    for (size_t i = 0; i < plan->count; i++)
        command_done(&plan->items[i]);
    free(plan->items);
    *plan = (struct bench_plan){ 0 };
}
