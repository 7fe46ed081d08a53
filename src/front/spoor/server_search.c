/* SPDX-License-Identifier: Apache-2.0 */
#include "front/spoor/server_search.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/compiler.h"
#include "base/environment.h"
#include "base/error.h"
#include "services/prices/keeper.h"

void server_search_done(struct server_search *search)
{
    catalog_done(&search->catalog);
}

void server_search_add_run(struct server_search *search, const struct record *record)
{
    struct server_table *table = &search->table;
    struct utsname names;

    if (!record->figures) /* no job was tracked */
        return;
    if (search->runs++ > 0 && !(record->elapsed_seconds > table->run_seconds))
        return;
    table->run_seconds = record->elapsed_seconds;
    search->is_here =
        record->host && uname(&names) == 0 && strcmp(record->host, names.nodename) == 0;
}

/* ---- the server of the run ------------------------------------------------ */

/* Which server this machine is, if the run was made here, in a cloud. */
static void find_own_server(struct server_search *search)
{
    CLEANUP(root_close) struct root root = ROOT_CLOSED;

    if (!search->is_here || root_open(NULL, &root) < 0)
        return;
    /* If it fails, the firmware may have told enough. */
    (void)cloud_find(&root, &search->cloud, NULL);
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

/* ---- where servers are listed --------------------------------------------- */

static int search_catalog(struct server_search *search, const char *path,
                          struct spoor_error *err)
{
    const struct cloud_facts *cloud = &search->cloud;
    const struct server *own;
    int r = catalog_load(path, &search->catalog, err);

    search->table.source = path;
    if (r < 0 || !search->table.run_server)
        return r;
    own = servers_find(&search->catalog.servers, cloud->vendor, cloud->instance_type,
                       cloud->region);
    set_own_price(search, own ? own->price : (double)NAN);
    return 0;
}

static int search_keeper(struct server_search *search, const struct server_filter *filter,
                         size_t count, struct spoor_error *err)
{
    const struct cloud_facts *cloud = &search->cloud;
    CLEANUP(keeper_close) struct keeper keeper = { 0 };
    double price;
    int r = keeper_open(environment_own, &keeper, err);

    if (r < 0)
        return r;
    search->table.source = keeper.url;
    r = keeper_find_servers(&keeper, filter, count, &search->catalog, err);
    if (r < 0 || !search->table.run_server)
        return r;
    if (keeper_find_price(&keeper, cloud->vendor, cloud->instance_type, cloud->region, &price,
                          &search->run_failure) == 0)
        set_own_price(search, price);
    else
        search->table.run_reason = search->run_failure.message;
    return 0;
}

/* ---- the search ----------------------------------------------------------- */

static int find(struct server_search *search, const struct settings *settings,
                const struct needs *needs, struct spoor_error *err)
{
    const struct server_filter filter = {
        .needs = needs,
        .vendors =
            settings->vendors.count > 0 ? (const char *const *)settings->vendors.items : NULL,
        .architecture = settings->architecture,
    };
    int r;

    if (isnan(needs->cpus.value) || isnan(needs->memory_bytes.value))
        return error_set(err, ENODATA,
                         "no server can be chosen: the reports do not say how %s the job needs",
                         isnan(needs->memory_bytes.value) ? "much memory" : "many CPUs");
    find_own_server(search);
    r = settings->catalog_path ? search_catalog(search, settings->catalog_path, err)
                               : search_keeper(search, &filter, settings->server_count, err);
    if (r < 0)
        return r;
    servers_choose(&search->catalog.servers, &filter);
    search->table.catalog = &search->catalog;
    return 0;
}

int server_search_find(struct server_search *search, const struct settings *settings,
                       const struct needs *needs, struct spoor_error *err)
{
    int r;

    search->table.count = settings->server_count;
    search->table.has_many_runs = search->runs > 1;
    search->table.run_price = (double)NAN;
    r = find(search, settings, needs, &search->failure);
    if (r == 0)
        return 0;
    search->table.reason = search->failure.message;
    return error_set(err, r, "%s", search->failure.message);
}
