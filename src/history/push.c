/* SPDX-License-Identifier: Apache-2.0 */
#include "history/index.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/loading.h"

enum { TABLES_VERSION = 1, BATCH_BYTES = 1 << 20 };

/* ---- the tables ----------------------------------------------------------- */

/* Columns of spoor.runs other than `id` and `row`. All other figures can be read from `row`. */
static const struct {
    const char *name, *type;
    const char *key; /* key in a row of the history */
} columns[] = {
    { "name", "text", "name" },
    { "command", "text", "command" },
    { "host", "text", "host" },
    { "user_name", "text", "user" },
    { "started_at", "timestamptz", "started_at" },
    { "ended_at", "timestamptz", "ended_at" },
    { "exit_code", "bigint", "exit_code" },
    { "signal", "text", "signal" },
    { "elapsed_seconds", "double precision", "elapsed_seconds" },
    { "cpu_seconds", "double precision", "cpu_total_seconds" },
    { "mean_cores", "double precision", "cpu_mean_cores" },
    { "memory_bytes", "bigint", "memory_combined_total_rss_bytes" },
    { "memory_bytes_low", "bigint", "memory_combined_total_rss_bytes_low" },
    { "memory_bytes_high", "bigint", "memory_combined_total_rss_bytes_high" },
    { "gpu_memory_bytes", "bigint", "gpu_memory_combined_bytes" },
    { "gpu_memory_bytes_low", "bigint", "gpu_memory_combined_bytes_low" },
    { "gpu_memory_bytes_high", "bigint", "gpu_memory_combined_bytes_high" },
    { "read_bytes", "bigint", "io_read_bytes" },
    { "written_bytes", "bigint", "io_written_bytes" },
    { "gpu_joules", "double precision", "energy_gpu_joules" },
    { "oom_kills", "bigint", "events_oom_kills" },
    { "cpus_limit", "double precision", "limits_cpus" },
    { "memory_limit_bytes", "bigint", "limits_memory_bytes" },
    { "machine_cpus", "bigint", "host_cpus" },
    { "machine_memory_bytes", "bigint", "host_memory_bytes" },
    { "cpu_model", "text", "host_cpu_model" },
    { "gpus", "text", "gpus" },
    { "instance_type", "text", "instance_type" },
};

/* The lock serializes programs that create the tables at the same time. A user without the
 * right to create a schema can use an empty schema that another user created. */
static const char schema_sql[] =
    "SELECT pg_advisory_xact_lock(hashtext('spoor.runs'));"
    "DO $$ BEGIN IF to_regnamespace('spoor') IS NULL THEN CREATE SCHEMA spoor; END IF; END $$;";

/* Runs without a name are listed by command, as 'spoor history stats' does. */
static const char views_sql[] =
    "CREATE INDEX IF NOT EXISTS runs_started_at ON spoor.runs (started_at);"
    "CREATE INDEX IF NOT EXISTS runs_name ON spoor.runs (name, started_at);"
    "CREATE OR REPLACE VIEW spoor.peaks AS SELECT coalesce(name, command) AS name,"
    " (started_at AT TIME ZONE 'UTC')::date AS day, count(*) AS runs,"
    " percentile_disc(0.5) WITHIN GROUP (ORDER BY memory_bytes) AS memory_median_bytes,"
    " max(memory_bytes) AS memory_max_bytes, max(gpu_memory_bytes) AS gpu_memory_max_bytes"
    " FROM spoor.runs GROUP BY 1, 2;"
    "CREATE OR REPLACE VIEW spoor.requests AS SELECT coalesce(name, command) AS name,"
    " memory_limit_bytes, count(*) AS runs, max(memory_bytes) AS memory_max_bytes,"
    " max(coalesce(memory_bytes_high, memory_bytes)) AS memory_max_bytes_high,"
    " round(100.0 * max(memory_bytes) / nullif(memory_limit_bytes, 0), 1) AS memory_percent,"
    " max(cpus_limit) AS cpus_limit, max(mean_cores) AS mean_cores_max"
    " FROM spoor.runs WHERE memory_limit_bytes IS NOT NULL GROUP BY 1, 2;"
    "CREATE OR REPLACE VIEW spoor.failures AS SELECT name, runs, failed,"
    " round(100.0 * failed / runs, 1) AS failed_percent, killed, oom_kills, last_failure"
    " FROM (SELECT coalesce(name, command) AS name, count(*) AS runs,"
    " count(*) FILTER (WHERE exit_code <> 0 OR signal IS NOT NULL) AS failed,"
    " count(signal) AS killed, sum(oom_kills) AS oom_kills, max(started_at)"
    " FILTER (WHERE exit_code <> 0 OR signal IS NOT NULL) AS last_failure"
    " FROM spoor.runs GROUP BY 1) AS names WHERE failed > 0;";

/* Stores the version in the comment of the table, which every user of the schema can read. */
static void write_tables(struct buffer *sql)
{
    buffer_format(sql, "%sCREATE TABLE IF NOT EXISTS spoor.runs (id text PRIMARY KEY",
                  schema_sql);
    for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
        buffer_format(sql, ", %s %s", columns[i].name, columns[i].type);
    buffer_format(sql,
                  ", row jsonb NOT NULL); COMMENT ON TABLE spoor.runs IS "
                  "'runs of spoor history push, version %d'; %s",
                  TABLES_VERSION, views_sql);
}

/* The server parses the lines. A value of the wrong type or range becomes NULL; the other
 * values are still stored. */
static void write_insert(struct buffer *sql)
{
    buffer_add_text(sql, "INSERT INTO spoor.runs (id");
    for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
        buffer_format(sql, ", %s", columns[i].name);
    buffer_add_text(sql, ", row) SELECT line->>'id'");
    for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
        const char *key = columns[i].key, *type = columns[i].type;

        if (strcmp(type, "text") == 0)
            buffer_format(sql, ", line->>'%s'", key);
        else if (strcmp(type, "timestamptz") == 0)
            buffer_format(sql,
                          ", CASE WHEN line->>'%s' ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}T' THEN "
                          "(line->>'%s')::timestamptz END",
                          key, key);
        else
            buffer_format(sql, ", jsonb_path_query_first(line, '$.%s ? (@.abs() < 9e18)')::%s",
                          key, type);
    }
    buffer_add_text(sql, ", line FROM jsonb_array_elements($1::jsonb) AS lines(line) "
                         "ON CONFLICT DO NOTHING");
}

/* ---- libpq ---------------------------------------------------------------- */

/* libpq is declared here, so that its header is not needed to build; libpq.so.5 has had
 * these functions since 2008. */
struct pg_conn;
struct pg_result;
enum { CONNECTION_OK = 0, PGRES_COMMAND_OK = 1, PGRES_TUPLES_OK = 2 };
enum { FIELD_SQLSTATE = 'C', FIELD_MESSAGE = 'M' };

struct database {
    void *(*parse_url)(const char *url, char **message);
    void (*free_options)(void *options);
    struct pg_conn *(*connect)(const char *const *keywords, const char *const *values,
                               int expands_url);
    int (*connection_status)(const struct pg_conn *connection);
    char *(*connection_error)(const struct pg_conn *connection);
    void (*finish)(struct pg_conn *connection);
    struct pg_result *(*execute)(struct pg_conn *connection, const char *sql);
    struct pg_result *(*execute_with)(struct pg_conn *connection, const char *sql, int count,
                                      const unsigned *types, const char *const *values,
                                      const int *lengths, const int *formats,
                                      int result_format);
    int (*status)(const struct pg_result *result);
    char *(*error_field)(const struct pg_result *result, int field);
    char *(*value)(const struct pg_result *result, int row, int column);
    char *(*changed_rows)(struct pg_result *result);
    void (*clear)(struct pg_result *result);
    struct pg_conn *connection;
    const char *advice; /* shown if the user lacks the permission */
};

static const struct {
    const char *name;
    size_t offset;
} symbols[] = {
    { "PQconninfoParse", offsetof(struct database, parse_url) },
    { "PQconninfoFree", offsetof(struct database, free_options) },
    { "PQconnectdbParams", offsetof(struct database, connect) },
    { "PQstatus", offsetof(struct database, connection_status) },
    { "PQerrorMessage", offsetof(struct database, connection_error) },
    { "PQfinish", offsetof(struct database, finish) },
    { "PQexec", offsetof(struct database, execute) },
    { "PQexecParams", offsetof(struct database, execute_with) },
    { "PQresultStatus", offsetof(struct database, status) },
    { "PQresultErrorField", offsetof(struct database, error_field) },
    { "PQgetvalue", offsetof(struct database, value) },
    { "PQcmdTuples", offsetof(struct database, changed_rows) },
    { "PQclear", offsetof(struct database, clear) },
};

static int load(struct database *database, struct spoor_error *err)
{
    /* Never unloaded, like libcurl. */
    void *library = dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL);
    void *address = NULL;

    for (size_t i = 0; i < ARRAY_SIZE(symbols) && library; i++) {
        address = dlsym(library, symbols[i].name);
        if (!address)
            break;
        memcpy((char *)database + symbols[i].offset, &address, sizeof(address));
    }
    if (address)
        return 0;
    (void)error_set(err, ENOSYS,
                    "libpq.so.5" LOADING_FAILED(
                        " is missing or damaged: install the package libpq5 (Debian, Ubuntu) "
                        "or libpq (Fedora)"));
    return -ENOSYS;
}

/* ---- the connection ------------------------------------------------------- */

static const char *url_start(const char *text)
{
    static const char *const schemes[] = { "postgresql://", "postgres://" };

    for (size_t i = 0; i < ARRAY_SIZE(schemes); i++) {
        if (strncmp(text, schemes[i], strlen(schemes[i])) == 0)
            return text + strlen(schemes[i]);
    }
    return NULL;
}

bool history_is_database(const char *text)
{
    return url_start(text) != NULL;
}

static int database_connect(struct database *database, const char *url, struct spoor_error *err)
{
    static const char *const names[] = { "connect_timeout", "fallback_application_name",
                                         "dbname", NULL };
    const char *const values[] = { "10", "spoor", url, NULL };
    const char *start = url_start(url), *at = strrchr(start, '@');
    void *options = database->parse_url(url, NULL);

    if (options)
        database->free_options(options);
    /* libpq would parse the part of a password after @ or / as a host or a port, and its
     * messages would show that part. */
    if (!options || (at && at != start + strcspn(start, "@/")))
        return error_set(
            err, EINVAL,
            "invalid URL: expected postgresql://USER@HOST:PORT/DATABASE, with %%40 "
            "and %%2F for @ and / in a name or password");
    database->connection = database->connect(names, values, true);
    if (database->connection_status(database->connection) != CONNECTION_OK) {
        const char *message = database->connection_error(database->connection);

        return error_set(err, ECONNREFUSED,
                         "cannot connect to the database: %.*s; check the URL, and the "
                         "password in ~/.pgpass or PGPASSWORD",
                         (int)strcspn(message, "\n"), message);
    }
    return 0;
}

/* Frees a result. If it is a failure, sets the error. */
static int check(struct database *database, struct pg_result *result, struct spoor_error *err)
{
    int status = database->status(result), r = 0;
    const char *state = database->error_field(result, FIELD_SQLSTATE);
    const char *message = database->error_field(result, FIELD_MESSAGE);
    bool is_denied = state && strcmp(state, "42501") == 0;

    if (!message)
        message = database->connection_error(database->connection);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
        r = error_set(err, is_denied ? EACCES : EIO, "the database: %.*s%s",
                      (int)strcspn(message, "\n"), message, is_denied ? database->advice : "");
    database->clear(result);
    return r;
}

static int execute(struct database *database, const char *sql, struct spoor_error *err)
{
    return check(database, database->execute(database->connection, sql), err);
}

/* ---- pushing -------------------------------------------------------------- */

/* Sets *ret to the version of the tables; 0: there are none; -1: the table belongs to
 * another program. */
static int find_version(struct database *database, long *ret, struct spoor_error *err)
{
    struct pg_result *result = database->execute(
        database->connection,
        "SELECT CASE WHEN to_regclass('spoor.runs') IS NULL THEN '0' ELSE coalesce(substring("
        "obj_description(to_regclass('spoor.runs'), 'pg_class') FROM 'version ([0-9]+)'), "
        "'-1') END");

    if (database->status(result) == PGRES_TUPLES_OK)
        *ret = strtol(database->value(result, 0, 0), NULL, 10);
    return check(database, result, err);
}

static int check_tables(struct database *database, bool creates_tables, struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer sql = { 0 };
    long version = 0;
    int r = find_version(database, &version, err);

    if (r < 0 || version == TABLES_VERSION)
        return r;
    if (version != 0)
        return error_set(
            err, EPROTO, "the table spoor.runs %s; this program writes version %d: %s",
            version < 0 ? "was not created by spoor" : "has another version", TABLES_VERSION,
            version > TABLES_VERSION ? "update spoor" : "use another database");
    if (!creates_tables)
        return error_set(err, ENOENT,
                         "the database has no table spoor.runs; 'spoor history push --create' "
                         "creates it");
    write_tables(&sql);
    if (buffer_error(&sql) < 0)
        return error_set(err, ENOMEM, "out of memory");
    database->advice = "; ask the owner of the database to create the tables";
    return execute(database, sql.text, err);
}

struct push {
    struct database database;
    struct buffer insert, batch;
    struct history_pushed *pushed;
};

static int send_batch(struct push *push, struct spoor_error *err)
{
    struct database *database = &push->database;
    const char *values[1];
    struct pg_result *result;

    if (push->batch.length == 0)
        return 0;
    buffer_add_text(&push->batch, "]");
    if (buffer_error(&push->batch) < 0 || buffer_error(&push->insert) < 0)
        return error_set(err, ENOMEM, "out of memory");
    values[0] = push->batch.text;
    result = database->execute_with(database->connection, push->insert.text, 1, NULL, values,
                                    NULL, NULL, 0);
    push->pushed->added += strtoull(database->changed_rows(result), NULL, 10);
    buffer_clear(&push->batch);
    return check(database, result, err);
}

static int push_run(const struct history_run *run, void *data, struct spoor_error *err)
{
    struct push *push = data;
    int r;

    buffer_add_text(&push->batch, push->batch.length > 0 ? "," : "[");
    r = history_read(run, &push->batch, err);
    push->pushed->runs++;
    return r < 0 || push->batch.length < BATCH_BYTES ? r : send_batch(push, err);
}

static void push_done(struct push *push)
{
    if (push->database.connection) /* uncommitted changes are rolled back */
        push->database.finish(push->database.connection);
    buffer_done(&push->insert);
    buffer_done(&push->batch);
}

int history_push(struct history_index *index, const struct history_filter *filter,
                 const char *url, bool creates_tables, struct history_pushed *ret,
                 struct spoor_error *err)
{
    static const char advice[] = "; ask its owner for: GRANT USAGE ON SCHEMA spoor, GRANT "
                                 "INSERT ON spoor.runs";
    CLEANUP(push_done) struct push push = { .database.advice = advice, .pushed = ret };
    int r = load(&push.database, err);

    *ret = (struct history_pushed){ 0 };
    if (r == 0)
        r = database_connect(&push.database, url, err);
    if (r == 0)
        r = execute(&push.database,
                    "SET client_encoding = 'UTF8'; SET client_min_messages = error; BEGIN",
                    err);
    if (r == 0)
        r = check_tables(&push.database, creates_tables, err);
    push.database.advice = advice;
    write_insert(&push.insert);
    if (r == 0)
        r = history_select(index, filter, push_run, &push, err);
    if (r == 0)
        r = send_batch(&push, err);
    return r < 0 ? r : execute(&push.database, "COMMIT", err);
}
