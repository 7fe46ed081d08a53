/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/cleanup.h"
#include "base/compiler.h"
#include "base/environment.h"
#include "base/error.h"
#include "front/spoor/outputs.h"
#include "front/spoor/settings.h"
#include "output/recommendation.h"
#include "recommend/needs.h"
#include "runs/run_set.h"
#include "services/cloud/cloud.h"
#include "services/prices/catalog.h"
#include "services/prices/keeper.h"

/* ---- servers ------------------------------------------------------------
 *
 * Servers for the next run, from a catalogue or from the Spare Cores keeper, and the cost of the run: spoor
 * recommend --server.
 */

/* A zeroed struct is ready. */
struct server_search {
    struct server_table table; /* the servers found */
    size_t runs;
    bool is_here;                            /* the longest run was made on this machine */
    struct keeper keeper;                    /* lists servers and prices */
    struct cloud_facts cloud;                /* facts of this machine */
    struct spoor_error failure, run_failure; /* why an entry of `table` was not found */
};

static void server_search_done(struct server_search *search)
{
    keeper_close(&search->keeper);
}

/* Called for each run, before the search. */
static void server_search_add_run(struct server_search *search, const struct record *record)
{
    struct server_table *table = &search->table;
    struct utsname names;

    if (!record->figures) /* a machine without a run */
        return;
    if (search->runs++ > 0 && !(record->elapsed_seconds > table->run_seconds))
        return;
    table->run_seconds = record->elapsed_seconds;
    search->is_here =
        record->host && uname(&names) == 0 && strcmp(record->host, names.nodename) == 0;
}

/* ---- the server of the run ------------------------------------------------ */

/* Finds the server type of this machine, if the run was made here, in a cloud. */
static void find_own_server(struct server_search *search)
{
    CLEANUP(root_close) struct root root = ROOT_CLOSED;

    if (!search->is_here || root_open(NULL, &root) < 0)
        return;
    /* If this fails, the facts of the firmware may be enough. */
    (void)cloud_find(&root, true, &search->cloud, NULL);
    if (!*search->cloud.vendor || !*search->cloud.instance_type)
        return;
    search->table.run_vendor = search->cloud.vendor;
    search->table.run_server = search->cloud.instance_type;
    search->table.run_region = search->cloud.region;
}

static void set_own_price(struct server_search *search, double price)
{
    search->table.run_price = price;
    if (!isnan(price))
        return;
    (void)error_set(&search->run_failure, ENOENT, "%s lists no price for it",
                    search->table.source);
    search->table.run_reason = search->run_failure.message;
}

/* ---- lists of servers ----------------------------------------------------- */

static int list_servers(struct server_search *search, const struct server_filter *filter,
                        const char *path, size_t count, struct spoor_error *err)
{
    const struct cloud_facts *cloud = &search->cloud;
    double price;
    int r = keeper_open(environment_own, path, &search->keeper, err);

    search->table.source = search->keeper.url;
    if (r == 0)
        r = keeper_find_servers(&search->keeper, filter, count, err);
    if (r < 0 || !search->table.run_server)
        return r;
    if (keeper_find_price(&search->keeper, cloud->vendor, cloud->instance_type, cloud->region,
                          &price, &search->run_failure) == 0)
        set_own_price(search, price);
    else
        search->table.run_reason = search->run_failure.message;
    return 0;
}

/* ---- the search ----------------------------------------------------------- */

/* Searches for servers. Takes as long as the keeper and the metadata service of a cloud may.
 * The table can be written even after a failure, whose message is its reason. */
static int server_search_find(struct server_search *search, const struct settings *settings,
                              const struct needs *needs)
{
    const struct server_filter filter = {
        .needs = needs,
        .vendors =
            settings->vendors.count > 0 ? (const char *const *)settings->vendors.items : NULL,
        .architecture = settings->architecture,
    };
    int r;

    search->table.count = settings->server_count;
    search->table.has_many_runs = search->runs > 1;
    search->table.run_price = (double)NAN;
    search->table.reason = search->failure.message;
    if (isnan(needs->cpus.value) || isnan(needs->memory_bytes.value))
        return error_set(&search->failure, ENODATA,
                         "no server can be chosen: the reports have no %s of the job",
                         isnan(needs->memory_bytes.value) ? "peak memory" : "CPU time");
    find_own_server(search);
    r = list_servers(search, &filter, settings->catalog_path, settings->server_count,
                     &search->failure);
    if (r < 0)
        return r;
    search->table.reason = NULL;
    catalog_choose(&search->keeper.catalog, &filter);
    search->table.catalog = &search->keeper.catalog;
    return 0;
}

/* ---- the command -------------------------------------------------------- */

static int list_needs(const struct run_set *set, double margin, struct server_search *search,
                      struct needs **ret, size_t *ret_count, struct spoor_error *err)
{
    struct needs *items = calloc(set->count + 1, sizeof(*items));

    if (!items)
        return error_set(err, ENOMEM, "out of memory");
    for (size_t i = 0; i < set->count; i++) {
        needs_of(&set->runs[i], margin, &items[*ret_count]);
        *ret_count += items[*ret_count].runs;
        server_search_add_run(search, &set->runs[i]);
    }
    *ret = items;
    return 0;
}

/* Rejects a file without a tracked job, such as a report of a machine, even if other files have
 * one. */
static int check_jobs(const struct run_set *set, struct spoor_error *err)
{
    for (size_t i = 0; i < set->source_count; i++) {
        const struct run_source *source = &set->sources[i];
        bool has_job = false;

        for (size_t k = 0; k < source->records.count; k++)
            has_job |= !source->records.items[k].system && source->records.items[k].figures;
        if (!has_job)
            return error_set(err, EBADMSG,
                             "'%s': no job was tracked; expected a report of 'spoor run'",
                             source->path);
    }
    return 0;
}

/* Writes the recommendation as JSON. `servers`: NULL if they were not requested. */
static void write_json(const struct needs *needs, const struct server_table *servers,
                       struct buffer *out)
{
    struct json_writer json = { .out = out };

    json_begin(&json, NULL, '{');
    json_add_text(&json, "schema", RECORD_SCHEMA);
    json_add_u64(&json, "runs", needs->runs);
    json_add_u64(&json, "failed_runs", needs->failed_runs);
    json_add_number(&json, "margin", needs->margin);
    json_add_number(&json, "quantile", needs->quantile);
    json_add_u64(&json, "would_fail_runs", needs->would_fail_runs);
    recommendation_add_json(&json, needs, RECOMMENDATION_SPREAD);
    if (servers)
        server_table_add_json(servers, &json);
    json_end(&json);
    buffer_add(out, "\n", 1);
}

struct answer {
    const struct settings *settings;
    const struct needs *needs;
    const struct server_table *servers; /* NULL: they were not requested */
};

static int write_needs(void *data, const struct output *output,
                       const struct format_style *style, struct buffer *out,
                       UNUSED struct spoor_error *err)
{
    const struct answer *answer = data;

    if (answer->settings->request) {
        request_write(request_find(answer->settings->request), answer->needs, out);
    } else if (output->format == SPOOR_JSON) {
        write_json(answer->needs, answer->servers, out);
    } else {
        recommendation_write_text(answer->needs, style, out);
        if (answer->servers)
            server_table_write_text(answer->servers, style, out);
    }
    return 0;
}

/* Writes the recommendation. If no servers are found, writes the rest. Returns the exit
 * code. */
static int recommend(struct settings *settings, const struct needs *needs,
                     struct server_search *search)
{
    struct answer answer = { settings, needs, settings->wants_servers ? &search->table : NULL };
    int code = 0, r;

    if (settings->wants_servers && server_search_find(search, settings, needs) < 0)
        code = complain("%s", search->failure.message);
    r = outputs_print(settings, FORMATS_TEXT_JSON, "to standard output", write_needs, &answer);
    return r != 0 ? r : code;
}

int command_recommend(struct settings *settings, char **files, int file_count)
{
    CLEANUP(server_search_done) struct server_search search = { 0 };
    CLEANUP(run_set_done) struct run_set set = { 0 };
    CLEANUP(text_list_done) struct text_list runs = { 0 };
    AUTO_FREE struct needs *items = NULL;
    struct spoor_error err = { 0 };
    struct needs needs = { 0 };
    size_t count = 0;
    int r = settings_select(settings, files, file_count, &runs, &err);

    if (r == 0 && runs.count == 0)
        return complain("missing argument: spoor recommend [OPTIONS] FILE...");
    if (r == 0)
        r = run_set_load(&set, runs.items, runs.count, &err);
    if (r == 0)
        r = check_jobs(&set, &err);
    if (r == 0)
        r = list_needs(&set, settings->margin, &search, &items, &count, &err);
    if (r == 0 && needs_combine(items, count, settings->quantile, &needs) < 0)
        r = error_set(&err, ENOMEM, "out of memory");
    if (r < 0)
        return complain("%s", err.message);
    return recommend(settings, &needs, &search);
}
