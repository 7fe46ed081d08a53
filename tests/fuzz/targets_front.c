/* SPDX-License-Identifier: Apache-2.0 */
/* targets_front.c - input from users and callers: command lines, config files, requests. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "compat/gpu_tracker/program.h"
#include "compat/resource_tracker/program.h"
#include "front/agent.h"
#include "front/arguments.h"
#include "front/spoor/settings.h"
#include "fuzz.h"
#include "job/source_names.h"
#include "text/buffer.h"

/* ---- settings ------------------------------------------------------------------------ */

/* Large enough for the settings of any program. Only spoor's settings have defaults. */
union settings_of {
    struct settings spoor;
    max_align_t any[512];
};

static void settings_begin_for(const struct command *command, union settings_of *ret)
{
    memset(ret, 0, sizeof(*ret));
    if (command->options == &settings_table)
        settings_init(&ret->spoor);
}

static void settings_end_for(const struct command *command, union settings_of *settings)
{
    if (command->options == &settings_table)
        settings_done(&settings->spoor);
    else
        option_free(command->options, settings);
}

static void check_result(int r, const struct spoor_error *err)
{
    CHECK_ENDED(err->message);
    CHECK(r == 0 || (r < 0 && err->message[0] != '\0'));
}

static void parse_arguments(const struct program *program, const struct command *command,
                            int argc, char **argv)
{
    union settings_of settings;
    struct spoor_error err = { 0 };
    struct arguments arguments = ARGUMENTS_INIT(program, command, &settings);
    char **copy = calloc((size_t)argc + 1, sizeof(*copy)); /* some parsers reorder operands */

    CHECK(copy != NULL);
    memcpy(copy, argv, (size_t)argc * sizeof(*copy));
    settings_begin_for(command, &settings);
    check_result(arguments_parse(&arguments, argc, copy, &err), &err);
    CHECK(arguments.operand_count <= argc);
    settings_end_for(command, &settings);
    free(copy);
}

/* The input has one argument per line. The first is argv[0], which is ignored. */
static void run_arguments(char *text, UNUSED size_t length)
{
    static const struct program *const programs[] = { &spoor_program, &gpu_tracker_program,
                                                      &resource_tracker_program };
    enum { WORDS_MAX = 256 };
    char *words[WORDS_MAX + 1] = { 0 };
    int count = 0;

    for (char *word = text; word && count < WORDS_MAX;) {
        words[count++] = word;
        word = strchr(word, '\n');
        if (word)
            *word++ = '\0';
    }
    for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
        for (const struct command *c = programs[i]->commands; c->name; c++)
            if (c->options)
                parse_arguments(programs[i], c, count, words);
        if (programs[i]->main_command)
            parse_arguments(programs[i], programs[i]->main_command, count, words);
    }
}

static void run_config_json(char *text, size_t length)
{
    static const struct {
        const struct program *program;
        const char *command; /* NULL: the main command */
    } readers[] = { { &spoor_program, "run" }, { &gpu_tracker_program, NULL } };

    for (size_t i = 0; i < ARRAY_SIZE(readers); i++) {
        const struct program *program = readers[i].program;
        const struct command *command =
            readers[i].command ? command_find(program->commands, readers[i].command)
                               : program->main_command;
        union settings_of settings;
        struct arguments arguments = ARGUMENTS_INIT(program, command, &settings);
        struct spoor_error err = { 0 };

        settings_begin_for(command, &settings);
        check_result(config_read_text(&arguments, "config.json", text, length, &err), &err);
        settings_end_for(command, &settings);
    }
}

static void run_config_toml(char *text, size_t length)
{
    const char *path = fuzz_path("config.toml", text, length);
    union settings_of settings;
    struct arguments arguments = ARGUMENTS_INIT(
        &resource_tracker_program, resource_tracker_program.main_command, &settings);
    struct spoor_error err = { 0 };

    settings_begin_for(arguments.command, &settings);
    check_result(tracker_config_read(&arguments, path, &err), &err);
    settings_end_for(arguments.command, &settings);
}

/* ---- the agent ----------------------------------------------------------------------- */

static int echo(UNUSED void *data, const struct agent_request *request,
                struct json_writer *json, UNUSED struct spoor_error *err)
{
    CHECK(request->argument_count >= 1 && request->argument_count <= 2);
    json_add_text(json, "echo", request->arguments[0]);
    return 0;
}

/* Counts the complete lines that are not empty. */
static size_t count_requests(const char *text, size_t length)
{
    const char *end;
    size_t count = 0;

    for (const char *at = text; (end = memchr(at, '\n', length - (size_t)(at - text)));
         at = end + 1)
        count += end > at;
    return count;
}

static size_t check_answers(int fd)
{
    CLEANUP(buffer_done) struct buffer answers = { 0 };
    size_t count = 0;
    char *line, *rest;

    CHECK(lseek(fd, 0, SEEK_SET) == 0 && buffer_read(&answers, fd, BUFFER_MAX) == 0);
    for (rest = answers.text; (line = strsep(&rest, "\n")) && *line; count++) {
        json_auto_t *answer = json_loads(line, 0, NULL);
        const char *event = json_string_value(json_object_get(answer, "event"));

        CHECK(event && json_object_get(answer, "id"));
        CHECK(strcmp(event, "done") == 0 || strcmp(event, "error") == 0);
        CHECK(*event == 'd' || json_is_string(json_object_get(answer, "code")));
    }
    return count;
}

/* Every request gets one response, which is a line of JSON. */
static void run_agent(char *text, size_t length)
{
    static const struct agent_op ops[] = { { "echo", 1, 2, echo } };
    struct agent agent = { .ops = ops, .op_count = ARRAY_SIZE(ops) };
    int saved_in = dup(STDIN_FILENO), saved_out = dup(STDOUT_FILENO);
    int in = fuzz_file(text, length), out = fuzz_file("", 0);
    size_t answers;

    CHECK(dup2(in, STDIN_FILENO) == STDIN_FILENO && dup2(out, STDOUT_FILENO) == STDOUT_FILENO);
    agent_finish(&agent);
    CHECK(dup2(saved_out, STDOUT_FILENO) == STDOUT_FILENO);
    CHECK(dup2(saved_in, STDIN_FILENO) == STDIN_FILENO);
    answers = check_answers(out);
    CHECK(answers == count_requests(text, length));
    (void)close(saved_in);
    (void)close(saved_out);
    (void)close(in);
    (void)close(out);
}

/* ---- the command of gpu-tracker ------------------------------------------------------- */

static void run_words(char *text, size_t length)
{
    struct spoor_error err;
    struct text_list words = { 0 };
    size_t sum = 0;

    CHECK(words_split(text, &words, &err) == 0);
    for (size_t i = 0; i < words.count; i++)
        sum += strlen(words.items[i]);
    CHECK(sum <= length);
    text_list_done(&words);
}

/* ---- SPOOR_DISABLE ----------------------------------------------------------------------- */

static void run_sources(char *text, size_t length)
{
    const char *name = NULL;
    unsigned disabled = 0;

    if (sources_parse(text, &disabled, &name) < 0)
        CHECK(name >= text && name <= text + length);
}

const struct fuzz_target front_targets[] = {
    { "arguments", run_arguments, 8 },
    { "config_json", run_config_json, 2 },
    { "config_toml", run_config_toml, 4 },
    { "agent", run_agent, 8 },
    { "words", run_words, 1 },
    { "sources", run_sources, 1 },
    { NULL, NULL, 0 },
};
