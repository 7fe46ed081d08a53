/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/parse.h"
#include "base/writer_process.h"
#include "front/spoor/outputs.h"
#include "front/spoor/settings.h"
#include "output/export.h"
#include "output/output_file.h"
#include "record/launch.h"
#include "record/record.h"
#include "services/metrics_server.h"
#include "services/upload/uploader.h"
#include "text/find.h"
#include "text/json_writer.h"

enum { PUSHES_MAX = 2, PASSWD_MAX_BYTES = 1 << 20 };

/* A receiver of samples, and the next sample for it. */
struct receiver {
    bool has_sample;
    bool is_taken; /* the receiver has read this sample */
    struct export_sample sample;
};

struct exporter {
    struct buffer labels;
    uint64_t interval_ns;
    spoor_sample_seen *next_seen; /* the live view; NULL: none */
    void *next_data;
    pthread_mutex_t mutex; /* guards the receiver that the server reads */
    struct receiver scraper, file;
    struct metrics_server *server;
    const char *path;
    struct writer_process writer;
    double written_seconds; /* sample.elapsed_seconds; negative: never */
    struct {
        const char *option;
        struct upload_process process;
    } pushes[PUSHES_MAX];
    size_t push_count;
    uint64_t stopped_ns; /* when pushing of the remaining samples began; 0: not yet */
    struct spoor_stream streams[SPOOR_STREAMS_MAX]; /* of the settings, then of the pushes */
};

/* ---- labels ------------------------------------------------------------- */

/* Label names of spoor and of Prometheus, which users may not set. */
static const char *const own_labels[] = { "run_id", "name", "host",     "user", "rank",
                                          "node",   "gpu",  "instance", "job",  "uuid" };

int export_check_label(const char *value, struct spoor_error *err)
{
    char name[64] = "";
    size_t length = strcspn(value, "=");

    memcpy(name, value, length < sizeof(name) ? length : sizeof(name) - 1);
    if (length >= sizeof(name) || !export_is_label_name(name))
        return error_set(err, EINVAL,
                         "invalid label '%s': expected NAME=VALUE or the key of a tag, and "
                         "letters, digits and _ in the name",
                         value);
    return FIND_TEXT(own_labels, name)
               ? error_set(err, EINVAL, "the label '%s' has a fixed meaning", name)
               : 0;
}

/* Reads the name from /etc/passwd: getpwuid() would load libraries. */
static void read_user(char *ret, size_t size)
{
    CLEANUP(buffer_done) struct buffer text = { 0 };

    if (buffer_read_file(&text, "/etc/passwd", PASSWD_MAX_BYTES) < 0 ||
        passwd_parse_name(text.text, geteuid(), ret, size) < 0)
        (void)snprintf(ret, size, "%u", (unsigned)geteuid());
}

/* Leaves `ret` unchanged if the value is unknown. */
static void format_count(uint64_t value, char *ret, size_t size)
{
    if (is_known(value))
        (void)snprintf(ret, size, "%llu", (unsigned long long)value); /* fits */
}

/* Calls add() for every label. */
typedef void add_label(const char *name, const char *value, void *data);

static int add_own_label(const struct settings *settings, const char *label, add_label *add,
                         void *data, struct spoor_error *err)
{
    const char *equals = strchr(label, '=');
    const char *value = equals ? equals + 1 : run_tag(settings, label);
    char name[64] = "";

    if (!value)
        return error_set(err, EINVAL, "--label %s: the run has no such tag; give it with --tag",
                         label);
    (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(label, "="), label); /* fits */
    add(name, value, data);
    return 0;
}

static int for_each_label(const struct settings *settings, add_label *add, void *data,
                          struct spoor_error *err)
{
    char host[HOST_NAME_MAX + 1] = "", user[64] = "", rank[24] = "", node[24] = "";
    struct launch launch;
    const struct export_label own[] = { { "run_id", settings->run_id },
                                        { "name", settings->name },
                                        { "host", host },
                                        { "user", user },
                                        { "rank", rank },
                                        { "node", node } };
    int r = 0;

    (void)gethostname(host, sizeof(host) - 1); /* stays empty on failure */
    read_user(user, sizeof(user));
    launch_read(&launch, environment_own);
    format_count(launch.rank, rank, sizeof(rank));
    format_count(launch.node, node, sizeof(node));
    for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
        if (own[i].value && *own[i].value)
            add(own[i].name, own[i].value, data);
    }
    for (size_t i = 0; r == 0 && i < settings->labels.count; i++)
        r = add_own_label(settings, settings->labels.items[i], add, data, err);
    return r;
}

static void add_text(const char *name, const char *value, void *data)
{
    export_add_label(name, value, data);
}

/* ---- samples ------------------------------------------------------------ */

static void receive(struct receiver *receiver, const struct export_sample *sample)
{
    if (!receiver->has_sample)
        receiver->sample = *sample;
    else if (receiver->is_taken)
        export_sample_follow(&receiver->sample, sample);
    else
        export_sample_fold(&receiver->sample, sample);
    receiver->has_sample = true;
    receiver->is_taken = false;
}

static void render(struct receiver *receiver, const char *labels, enum exposition how,
                   struct buffer *out)
{
    if (receiver->has_sample)
        export_write(&receiver->sample, labels, how, out);
    else if (how == EXPOSE_OPENMETRICS)
        buffer_add_text(out, "# EOF\n");
    receiver->is_taken = true;
}

static void render_scrape(void *data, enum exposition how, struct buffer *out)
{
    struct exporter *exporter = data;

    pthread_mutex_lock(&exporter->mutex);
    render(&exporter->scraper, exporter->labels.text, how, out);
    pthread_mutex_unlock(&exporter->mutex);
}

static void write_file(struct exporter *exporter)
{
    CLEANUP(buffer_done) struct buffer text = { 0 };

    render(&exporter->file, exporter->labels.text, EXPOSE_TEXT, &text);
    if (buffer_error(&text) == 0)
        writer_process_put(&exporter->writer, 0, 1, text.text, text.length);
    exporter->written_seconds = exporter->file.sample.elapsed_seconds;
}

/* Samples taken between intervals (SPOOR_FINE_AT_FIRST) are merged into the next due sample. */
static bool is_due(const struct exporter *exporter, double elapsed_seconds)
{
    return exporter->written_seconds < 0 ||
           elapsed_seconds >=
               exporter->written_seconds + 0.9 * (double)exporter->interval_ns / 1e9;
}

static void sample_seen(const struct spoor_sample *sample, void *data)
{
    struct exporter *exporter = data;
    struct export_sample now = export_sample_of(sample);

    if (exporter->server) {
        pthread_mutex_lock(&exporter->mutex);
        receive(&exporter->scraper, &now);
        pthread_mutex_unlock(&exporter->mutex);
    }
    if (exporter->path) {
        receive(&exporter->file, &now);
        if (is_due(exporter, sample->elapsed_seconds))
            write_file(exporter);
    }
    if (exporter->next_seen)
        exporter->next_seen(sample, exporter->next_data);
}

/* ---- the process that writes the file ----------------------------------- */

static int replace(void *data, UNUSED unsigned kind, const void *bytes, size_t size,
                   UNUSED struct spoor_error *err)
{
    struct buffer text = { .text = (char *)(uintptr_t)bytes, .length = size };

    return replacement_write(data, &text, (struct replacement_style){ 0 });
}

static int end_file(UNUSED void *data, UNUSED struct spoor_error *err)
{
    return 0;
}

static int open_file(struct exporter *exporter, const char *path, struct spoor_error *err)
{
    const struct writer_target target = { .carry_out = replace,
                                          .end = end_file,
                                          .data = (void *)(uintptr_t)path };
    int r = output_file_check(path, OUTPUT_REPLACE, err);

    if (r < 0)
        return error_prefix(err, r, "--metrics '%s'", path);
    r = writer_process_start(&exporter->writer, &target);
    if (r < 0)
        return error_sys(err, r, "cannot start the process that writes '%s'", path);
    exporter->path = path;
    return 0;
}

/* ---- pushes ------------------------------------------------------------- */

/* The URL names the run. */
static int read_push(const struct settings *settings, bool is_otlp, struct upload_settings *ret,
                     const char **ret_service, struct spoor_error *err)
{
    const char *url = is_otlp ? settings->otlp : settings->push;
    int r;

    *ret_service = "otlp";
    r = is_otlp ? otlp_settings(strcmp(url, "env") == 0 ? NULL : url, environment_own, ret, err)
                : push_settings(url, settings->run_id, environment_own, ret, ret_service, err);
    if (settings->export_interval_ns != 0)
        ret->interval_ns = settings->export_interval_ns;
    return r;
}

static int check_url(const struct settings *settings, struct spoor_error *err)
{
    struct upload_settings ignored;
    const char *service;

    return read_push(settings, settings->otlp, &ignored, &service, err);
}

int export_check_push(const char *value, struct spoor_error *err)
{
    return check_url(&(struct settings){ .push = (char *)(uintptr_t)value }, err);
}

int export_check_otlp(const char *value, struct spoor_error *err)
{
    return check_url(&(struct settings){ .otlp = (char *)(uintptr_t)value }, err);
}

static void add_member(const char *name, const char *value, void *data)
{
    json_add_text(data, name, value);
}

/* Adds an attribute of the resource, with its OpenTelemetry name if there is one. */
static void add_attribute(const char *name, const char *value, void *data)
{
    static const struct export_label names[] = {
        { "run_id", "service.instance.id" },
        { "name", "spoor.run.name" },
        { "host", "host.name" },
        { "user", "process.owner" },
        { "rank", "spoor.rank" },
        { "node", "spoor.node" },
    };

    const struct export_label *found = FIND_ROW(names, name, name);

    json_add_text(data, found ? found->value : name, value);
}

static int describe(const struct settings *settings, struct buffer *ret,
                    struct spoor_error *err)
{
    struct json_writer json = { .out = ret, .style = &json_compact };
    const char *service = getenv("OTEL_SERVICE_NAME");

    json_begin(&json, NULL, '{');
    json_add_number(&json, "interval_seconds", (double)settings->interval_ns / 1e9);
    json_begin(&json, "labels", '{');
    (void)for_each_label(settings, add_member, &json, err); /* the labels are valid */
    json_end(&json);
    json_begin(&json, "resource", '{');
    json_add_text(&json, "spoor.run.id", settings->run_id);
    json_add_text(&json, "service.name", "spoor"); /* default: the last value counts */
    push_for_each_pair(getenv("OTEL_RESOURCE_ATTRIBUTES"), add_member, &json);
    if (service && *service)
        json_add_text(&json, "service.name", service);
    (void)for_each_label(settings, add_attribute, &json, err);
    json_end(&json);
    json_end(&json);
    return buffer_error(ret) < 0 ? error_set(err, ENOMEM, "out of memory") : 0;
}

static int open_push(struct exporter *exporter, const struct settings *settings, bool is_otlp,
                     struct spoor_options *options, struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer metadata = { 0 };
    struct upload_process *process = &exporter->pushes[exporter->push_count].process;
    struct upload_settings upload;
    struct upload_order order = { .settings = &upload, .metadata = &metadata };
    int r = read_push(settings, is_otlp, &upload, &order.service, err);

    if (r == 0)
        r = describe(settings, &metadata, err);
    if (r == 0 && options->stream_count >= SPOOR_STREAMS_MAX)
        r = error_set(err, EINVAL, "--samples, --push and --otlp: at most %d in all",
                      SPOOR_STREAMS_MAX);
    if (r == 0)
        r = upload_process_start(&order, process, err);
    explicit_bzero(&upload, sizeof(upload));
    if (r < 0)
        return r;
    if (settings->is_no_clobber)
        (void)unlink(process->rows.path); /* the stream would refuse to overwrite it */
    exporter->pushes[exporter->push_count++].option = is_otlp ? "--otlp" : "--push";
    exporter->streams[options->stream_count++] =
        (struct spoor_stream){ .path = process->rows.path, .format = "jsonl" };
    options->streams = exporter->streams;
    return 0;
}

static int open_pushes(struct exporter *exporter, const struct settings *settings,
                       struct spoor_options *options, struct spoor_error *err)
{
    int r = 0;

    memcpy(exporter->streams, settings->streams,
           settings->stream_count * sizeof(*settings->streams));
    if (settings->push)
        r = open_push(exporter, settings, false, options, err);
    if (r == 0 && settings->otlp)
        r = open_push(exporter, settings, true, options, err);
    return r;
}

/* The time limit covers all pushes together. */
static void end_push(struct exporter *exporter, size_t index)
{
    struct pollfd output = { .fd = STDERR_FILENO, .events = POLLOUT };
    struct upload_process *process = &exporter->pushes[index].process;
    struct upload_result result;

    process->wait_ns =
        sub_floor0(exporter->stopped_ns + process->wait_ns, clock_now().monotonic_ns);
    upload_process_end(process, 0, false, &result);
    if (poll(&output, 1, 0) == 1 && !result.is_complete)
        complain("%s: %s; %" PRIu64 " %s in %s for the next run that pushes there",
                 exporter->pushes[index].option, result.err.message, result.kept_rows,
                 result.kept_rows == 1 ? "sample waits" : "samples wait", process->path);
    if (poll(&output, 1, 0) == 1 && result.dropped_rows > 0)
        complain("%s: %" PRIu64 " %s refused, or dropped because too many waited",
                 exporter->pushes[index].option, result.dropped_rows,
                 result.dropped_rows == 1 ? "sample was" : "samples were");
    buffer_done(&result.answer);
}

/* ---- all of it ---------------------------------------------------------- */

bool export_is_requested(const struct settings *settings)
{
    return settings->listen || settings->metrics_path || settings->push || settings->otlp;
}

static int open_server(struct exporter *exporter, const char *address, struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer url = { 0 };
    const char *colon = strrchr(address, ':');
    int r = metrics_server_open(address, &exporter->server, &url, err);

    if (r == 0 && strcmp(colon ? colon + 1 : address, "0") == 0)
        program_warn(&spoor_program, "metrics at %s", url.text);
    return r;
}

int exporter_open(struct settings *settings, struct spoor_options *options,
                  struct exporter **ret, struct spoor_error *err)
{
    CLEANUP(exporter_close) struct exporter *exporter = NULL;
    int r;

    *ret = NULL;
    if (!export_is_requested(settings))
        return settings->labels.count == 0
                   ? 0
                   : error_set(err, EINVAL,
                               "--label requires --listen, --metrics, --push or --otlp");
    exporter = calloc(1, sizeof(*exporter));
    if (!exporter)
        return error_set(err, ENOMEM, "out of memory");
    (void)pthread_mutex_init(&exporter->mutex, NULL); /* cannot fail with defaults */
    exporter->written_seconds = -1;
    exporter->interval_ns = settings->interval_ns;
    if (!settings->run_id[0])
        record_make_id(settings->run_id);
    r = for_each_label(settings, add_text, &exporter->labels, err);
    if (r == 0 && buffer_error(&exporter->labels) < 0)
        r = error_set(err, ENOMEM, "out of memory");
    if (r == 0)
        r = open_pushes(exporter, settings, options, err);
    if (r == 0 && settings->metrics_path)
        r = open_file(exporter, settings->metrics_path, err);
    if (r == 0 && settings->listen)
        r = open_server(exporter, settings->listen, err);
    if (r < 0)
        return r;
    options->id = settings->run_id;
    exporter->next_seen = options->sample_seen;
    exporter->next_data = options->sample_data;
    options->sample_seen = sample_seen;
    options->sample_data = exporter;
    *ret = take_ptr(exporter);
    return 0;
}

void exporter_start(struct exporter *exporter)
{
    struct spoor_error err;

    for (size_t i = 0; exporter && i < exporter->push_count; i++)
        upload_process_begin(&exporter->pushes[i].process);
    if (exporter && exporter->server &&
        metrics_server_start(exporter->server, render_scrape, exporter, &err) < 0)
        complain("%s", err.message);
}

void exporter_stop(struct exporter *exporter)
{
    struct writer_end end;

    if (!exporter)
        return;
    for (size_t i = 0; i < exporter->push_count && exporter->stopped_ns == 0; i++)
        upload_process_finish(&exporter->pushes[i].process, 0, false);
    exporter->stopped_ns = clock_now().monotonic_ns;
    exporter->server = metrics_server_close(exporter->server);
    if (!exporter->path)
        return;
    if (exporter->file.has_sample && !exporter->file.is_taken)
        write_file(exporter);
    end = writer_process_close(&exporter->writer, NULL);
    if (end.lost_rows > 0)
        complain("cannot write '%s': %s", exporter->path, writer_end_reason(&end));
    exporter->path = NULL;
}

void exporter_end(struct exporter *exporter)
{
    for (size_t i = 0; exporter && i < exporter->push_count; i++)
        end_push(exporter, i);
    if (exporter)
        exporter->push_count = 0;
}

/* Cancels pushes that were not finished: there was no run. */
void exporter_close(struct exporter **handle)
{
    struct exporter *exporter = take_ptr(*handle);

    if (!exporter)
        return;
    for (size_t i = 0; i < exporter->push_count; i++)
        upload_process_cancel(&exporter->pushes[i].process);
    exporter->push_count = 0;
    exporter_stop(exporter);
    buffer_done(&exporter->labels);
    (void)pthread_mutex_destroy(&exporter->mutex);
    free(exporter);
}
