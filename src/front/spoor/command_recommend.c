/* SPDX-License-Identifier: Apache-2.0 */
/* command_recommend.c - spoor recommend: what to request for the next run. */
#include <errno.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/error.h"
#include "front/spoor/outputs.h"
#include "front/spoor/program.h"
#include "front/spoor/server_search.h"
#include "output/recommendation.h"
#include "recommend/scheduler_request.h"
#include "record/load.h"

static int add_file(struct needs *needs, struct server_search *search, const char *path,
                    struct spoor_error *err)
{
    CLEANUP(records_done) struct records records = { 0 };
    size_t before = needs->runs;
    int r = records_load(path, &records, err);

    for (size_t i = 0; i < records.count; i++) {
        needs_add(needs, &records.items[i]);
        server_search_add_run(search, &records.items[i]);
    }
    if (r == 0 && needs->runs == before)
        return error_set(err, EBADMSG,
                         "'%s': no job was tracked; expected a report of 'spoor run'", path);
    return r;
}

/* `servers`: NULL if they were not asked for. */
static void write_json(const struct needs *needs, const struct server_table *servers,
                       struct buffer *out)
{
    struct json_writer json = { .out = out };

    json_begin(&json, NULL, '{');
    json_add_text(&json, "schema", RECORD_SCHEMA);
    json_add_u64(&json, "runs", needs->runs);
    json_add_u64(&json, "failed_runs", needs->failed_runs);
    recommendation_add_json(&json, needs, true);
    if (servers)
        server_table_add_json(servers, &json);
    json_end(&json);
    buffer_add(out, "\n", 1);
}

static void write_needs(const struct settings *settings, const struct needs *needs,
                        const struct server_table *servers, struct buffer *out)
{
    struct format_style style =
        format_style_for(STDOUT_FILENO, outputs_has_color(settings->color, STDOUT_FILENO));

    if (settings->request) {
        request_write(request_find(settings->request), needs, out);
    } else if (settings->format == SPOOR_JSON) {
        write_json(needs, servers, out);
    } else {
        recommendation_write_text(needs, &style, out);
        if (servers)
            server_table_write_text(servers, &style, out);
    }
}

/* Without servers the rest is still worth writing. Returns the exit code. */
static int recommend(const struct settings *settings, const struct needs *needs,
                     struct server_search *search)
{
    CLEANUP(buffer_done) struct buffer out = { 0 };
    struct spoor_error err = { 0 };
    int code = 0, r;

    if (settings->wants_servers && server_search_find(search, settings, needs, &err) < 0)
        code = complain("%s", err.message);
    write_needs(settings, needs, settings->wants_servers ? &search->table : NULL, &out);
    r = buffer_error(&out);
    if (r == 0)
        r = buffer_write(&out, STDOUT_FILENO);
    if (r < 0) {
        (void)error_sys(&err, r, "cannot write to standard output");
        return complain("%s", err.message);
    }
    return code;
}

int command_recommend(const struct command *command, int argc, char **argv)
{
    CLEANUP(settings_done) struct settings settings;
    CLEANUP(server_search_done) struct server_search search = { 0 };
    struct arguments arguments;
    struct spoor_error err = { 0 };
    struct needs needs;
    int code = settings_begin(&settings, &arguments, command, argc, argv);
    int r = 0;

    if (code >= 0)
        return code;
    if (arguments.operand_count == 0)
        return complain("missing argument: spoor recommend [OPTIONS] FILE...");
    needs_init(&needs);
    for (int i = 0; r == 0 && i < arguments.operand_count; i++)
        r = add_file(&needs, &search, argv[arguments.first_operand + i], &err);
    if (r < 0)
        return complain("%s", err.message);
    return recommend(&settings, &needs, &search);
}
