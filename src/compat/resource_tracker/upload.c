/* SPDX-License-Identifier: Apache-2.0 */
#include "compat/resource_tracker/program.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <jansson.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/compiler.h"
#include "base/error.h"
#include "base/parse.h"
#include "base/root.h"
#include "front/arguments.h"
#include "services/cloud/cloud.h"
#include "source/host/devices.h"
#include "source/host/facts.h"
#include "text/json_member.h"

/* ---- the run ---------------------------------------------------------------- */

/* The keys, in the order of struct tracker_settings. */
static const char *const metadata_keys[TRACKER_METADATA_COUNT] = {
    "project_name",
    "stage_name",
    "task_name",
    "team",
    "env",
    "language",
    "orchestrator",
    "executor",
    "external_run_id",
    "container_image",
};

/* The service expects the list of arguments as JSON in a string. */
static void add_command(struct json_writer *json, const char *const *command)
{
    CLEANUP(buffer_done) struct buffer list = { 0 };
    struct json_writer arguments = { .out = &list, .style = &json_compact };

    json_begin(&arguments, NULL, '[');
    for (; *command; command++)
        json_add_text(&arguments, NULL, *command);
    json_end(&arguments);
    if (buffer_error(&list) == 0)
        json_add_text(json, "command", list.text);
}

/* Adds a JSON object to `ret`. `command` is NULL-terminated; NULL: a running process is
 * tracked. */
static void run_description_write(const struct tracker_settings *settings,
                                  const char *const *command, struct buffer *ret)
{
    struct json_writer json = { .out = ret, .style = &json_compact };

    json_begin(&json, NULL, '{');
    if (settings->job_name)
        json_add_text(&json, "job_name", settings->job_name);
    for (size_t i = 0; i < TRACKER_METADATA_COUNT; i++) {
        if (settings->metadata[i])
            json_add_text(&json, metadata_keys[i], settings->metadata[i]);
    }
    if (command)
        add_command(&json, command);
    if (settings->tags.count > 0) {
        json_begin(&json, "tags", '[');
        for (size_t i = 0; i < settings->tags.count; i++)
            json_add_text(&json, NULL, settings->tags.items[i]);
        json_end(&json);
    }
    json_end(&json);
}

/* ---- the machine ------------------------------------------------------------ */

static uint64_t in_mib(uint64_t bytes)
{
    return is_known(bytes) ? bytes >> 20 : UNKNOWN;
}

/* Cloud machines have an asset tag; other machines have the ID of their installation. */
static void add_host_id(const struct root *root, struct json_writer *json)
{
    static const char *const files[] = { "sys/class/dmi/id/board_asset_tag", "etc/machine-id" };
    char text[128] = "";

    for (size_t i = 0; i < ARRAY_SIZE(files) && *text == '\0'; i++) {
        if (root_read(root, text, sizeof(text), "%s", files[i]) < 0)
            text[0] = '\0';
        text[strcspn(text, "\r\n")] = '\0';
    }
    json_add_known_text(json, "host_id", text);
}

/* Adds the first IPv4 address that other machines can reach. */
static void add_address(struct json_writer *json)
{
    char text[INET_ADDRSTRLEN] = "";
    struct ifaddrs *list = NULL;

    if (getifaddrs(&list) < 0)
        list = NULL;
    for (const struct ifaddrs *each = list; each && *text == '\0'; each = each->ifa_next) {
        struct sockaddr_in address;

        if (!each->ifa_addr || each->ifa_addr->sa_family != AF_INET ||
            (each->ifa_flags & IFF_LOOPBACK))
            continue;
        memcpy(&address, each->ifa_addr, sizeof(address));
        (void)inet_ntop(AF_INET, &address.sin_addr, text, sizeof(text));
    }
    freeifaddrs(list);
    json_add_known_text(json, "host_ip", text);
}

static void add_storage(const struct root *root, struct json_writer *json)
{
    struct devices devices = { 0 };
    uint64_t bytes = 0;

    if (devices_read(root, NULL, &devices) < 0) {
        json_add_null(json, "host_storage_gb");
        return;
    }
    for (size_t i = 0; i < devices.disk_count; i++)
        bytes +=
            is_known(devices.disks[i].capacity_bytes) ? devices.disks[i].capacity_bytes : 0;
    devices_done(&devices);
    json_add_number(json, "host_storage_gb", (double)bytes / 1e9);
}

struct gpus {
    char model[128];
    uint64_t count;
    uint64_t memory_bytes;
};

static void count_gpu(const struct spoor_gpu *gpu, void *data)
{
    struct gpus *gpus = data;

    if (gpu->is_part)
        return;
    if (gpus->count++ == 0)
        (void)snprintf(gpus->model, sizeof(gpus->model), "%s", gpu->name); /* may be cut */
    if (is_known(gpu->memory_bytes))
        gpus->memory_bytes += gpu->memory_bytes;
}

static void add_gpus(struct json_writer *json)
{
    struct gpus gpus = { 0 };

    if (spoor_may_have_gpus(NULL))
        (void)spoor_gpu_list(NULL, "all", count_gpu, &gpus, NULL);
    json_add_known_text(json, "host_gpu_model", gpus.model);
    json_add_u64(json, "host_gpu_count", gpus.count);
    json_add_u64(json, "host_gpu_memory_mib",
                 in_mib(gpus.count > 0 ? gpus.memory_bytes : UNKNOWN));
}

/* Queries the metadata service if the machine belongs to a cloud. */
static void add_cloud(const struct root *root, struct json_writer *json)
{
    struct cloud_facts facts;

    (void)cloud_find(root, true, &facts, NULL); /* unknown values are empty */
    json_add_known_text(json, "cloud_vendor_id", facts.vendor);
    json_add_known_text(json, "cloud_account_id", facts.account);
    json_add_known_text(json, "cloud_region_id", facts.region);
    json_add_known_text(json, "cloud_zone_id", facts.zone);
    json_add_known_text(json, "cloud_instance_type", facts.instance_type);
}

/* Adds members about this machine: host_... and cloud_..., null if unknown. May take seconds. */
static void run_description_add_machine(struct json_writer *json)
{
    CLEANUP(root_close) struct root root = ROOT_CLOSED;
    struct host_facts facts;

    if (root_open("/", &root) < 0)
        return;
    host_facts_read(&root, &facts);
    add_host_id(&root, json);
    json_add_known_text(json, "host_hostname", facts.hostname);
    add_address(json);
    json_add_null(json, "host_server_allocation");
    json_add_u64(json, "host_vcpus", facts.cpus);
    json_add_known_text(json, "host_cpu_model", facts.cpu_model);
    json_add_u64(json, "host_memory_mib", in_mib(facts.memory_bytes));
    add_gpus(json);
    add_storage(&root, json);
    add_cloud(&root, json);
}

/* ---- uploads of an agent ------------------------------------------------ */

static int load(const char *path, json_t **ret, struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer text = { 0 };
    json_error_t error;
    int r = buffer_read_file(&text, path, CONFIG_MAX_BYTES);

    if (r < 0)
        return error_sys(err, r, "upload file '%s'", path);
    *ret = json_loadb(text.text, text.length, 0, &error);
    explicit_bzero(text.text, text.length);
    if (!json_is_object(*ret))
        return error_set(err, EINVAL, "upload file '%s': expected a JSON object", path);
    return 0;
}

static int apply(const json_t *order, struct upload_settings *settings, struct spoor_error *err)
{
    const json_t *interval = json_object_get(order, "interval");
    const char *token = member_text(order, "token");
    const char *url = member_text(order, "api_url");

    if (upload_settings_read(environment_own, settings, err) < 0 ||
        (token && upload_settings_set_token(settings, token, err) < 0) ||
        (url && upload_settings_set_url(settings, url, err) < 0) ||
        (interval && !json_is_null(interval) &&
         upload_settings_set_interval(settings, json_number_value(interval), err) < 0))
        return -EINVAL;
    return *settings->token == '\0' ? error_set(err, EINVAL, "there is no token to upload with")
                                    : 0;
}

static int write_metadata(const json_t *order, struct buffer *ret, struct spoor_error *err)
{
    const json_t *metadata = json_object_get(order, "metadata");
    char *text = json_is_object(metadata) ? json_dumps(metadata, JSON_COMPACT) : NULL;

    if (metadata && !json_is_null(metadata) && !text)
        return error_set(err, EINVAL, "upload file: 'metadata' must be an object");
    buffer_add_text(ret, text ? text : "{}");
    free(text);
    return buffer_error(ret);
}

int agent_upload_start(const char *path, struct upload_process *ret, struct spoor_error *err)
{
    json_auto_t *order = NULL;
    CLEANUP(buffer_done) struct buffer metadata = { 0 };
    struct upload_settings settings;
    struct upload_order upload = { .settings = &settings,
                                   .metadata = &metadata,
                                   .has_short_keys = true,
                                   .add_machine = run_description_add_machine };
    int r = load(path, &order, err);

    if (r == 0)
        r = apply(order, &settings, err);
    if (r == 0)
        r = write_metadata(order, &metadata, err);
    if (r == 0)
        r = upload_process_start(&upload, ret, err);
    return r;
}

static void add_result(const struct upload_process *process, const struct upload_result *result,
                       struct json_writer *json)
{
    json_auto_t *answer = result->answer.length > 0
                              ? json_loadb(result->answer.text, result->answer.length, 0, NULL)
                              : NULL;

    json_begin(json, "upload", '{');
    json_add_bool(json, "is_complete", result->is_complete);
    json_add_text(json, "message", result->is_complete ? NULL : result->err.message);
    json_add_u64(json, "kept_rows", result->kept_rows);
    json_add_u64(json, "dropped_rows", result->dropped_rows);
    json_add_text(json, "folder", result->is_complete ? NULL : process->path);
    if (answer)
        upload_add_value(json, "result", answer);
    else
        json_add_null(json, "result");
    json_end(json);
}

int agent_upload_finish(struct upload_process *process, const char *exit_code,
                        const char *status, struct json_writer *json, struct spoor_error *err)
{
    bool has_failed = strcmp(status, "failed") == 0;
    const char *cursor = exit_code;
    struct upload_result result;
    int64_t code;

    if (parse_i64(&cursor, &code) < 0 || *cursor != '\0' || code < INT32_MIN ||
        code > INT32_MAX)
        return error_set(err, EINVAL, "invalid exit code '%.100s'", exit_code);
    if (!has_failed && strcmp(status, "finished") != 0)
        return error_set(err, EINVAL, "invalid status '%.100s': expected finished or failed",
                         status);
    upload_process_end(process, (int)code, has_failed, &result);
    add_result(process, &result, json);
    buffer_done(&result.answer);
    return 0;
}

/* ---- uploads of a run --------------------------------------------------- */

#define warn(...) program_warn(&resource_tracker_program, __VA_ARGS__)

void tracker_upload_start(const struct tracker_settings *settings, const char *const *command,
                          struct upload_process *ret)
{
    CLEANUP(buffer_done) struct buffer metadata = { 0 };
    struct upload_settings upload;
    struct upload_order order = { .settings = &upload,
                                  .metadata = &metadata,
                                  .add_machine = run_description_add_machine };
    struct spoor_error err = { 0 };
    int r = upload_settings_read(environment_own, &upload, &err);

    *ret = (struct upload_process){ 0 };
    if (r == 0 && *upload.token == '\0')
        return;
    if (r == 0) {
        run_description_write(settings, command, &metadata);
        r = upload_process_start(&order, ret, &err);
    }
    if (r < 0)
        warn("samples are not uploaded: %s", err.message);
}

void tracker_upload_end(struct upload_process *process, int exit_code, bool is_quiet)
{
    struct pollfd output = { .fd = STDERR_FILENO, .events = POLLOUT };
    struct upload_result result;
    bool has_room;

    upload_process_end(process, exit_code, exit_code != 0, &result);
    has_room = poll(&output, 1, 0) == 1; /* a slow reader of stderr must not block us */
    if (!result.is_complete && !is_quiet && has_room)
        warn("upload incomplete: %s; %" PRIu64
             " %s kept in %s and will be sent by the next run, or by "
             "'resource-tracker upload'",
             result.err.message, result.kept_rows,
             result.kept_rows == 1 ? "sample is" : "samples are", process->path);
    if (result.dropped_rows > 0 && has_room)
        warn("%" PRIu64 " %s dropped: too many waited to be uploaded; see "
             "TRACKER_UPLOAD_DISK_LIMIT",
             result.dropped_rows, result.dropped_rows == 1 ? "sample was" : "samples were");
    buffer_done(&result.answer);
}

/* ---- resource-tracker upload ------------------------------------------------ */

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

static int show(const struct kept_report *report)
{
    if (report->sent_runs > 0 && report->sent_rows == 1)
        printf("runs uploaded: %" PRIu64 " (1 sample)\n", report->sent_runs);
    else if (report->sent_runs > 0)
        printf("runs uploaded: %" PRIu64 " (%" PRIu64 " samples)\n", report->sent_runs,
               report->sent_rows);
    if (report->busy_runs > 0)
        printf("runs in progress, skipped: %" PRIu64 "\n", report->busy_runs);
    if (report->sent_runs + report->busy_runs + report->kept_runs == 0)
        printf("nothing to upload\n");
    if (report->kept_runs == 0)
        return 0;
    return program_complain(&resource_tracker_program,
                            "%s; still kept: %" PRIu64 " sample%s of %" PRIu64 " run%s",
                            report->err.message, report->kept_rows, plural(report->kept_rows),
                            report->kept_runs, plural(report->kept_runs));
}

int tracker_upload_main(const struct command *command, int argc, char **argv)
{
    CLEANUP(tracker_settings_done) struct tracker_settings settings;
    struct arguments arguments = ARGUMENTS_INIT(&resource_tracker_program, command, &settings);
    struct upload_settings upload;
    struct uploader uploader = { .add_machine = run_description_add_machine };
    struct kept_report report;
    struct spoor_error err = { 0 };
    int code;

    tracker_settings_init(&settings);
    code = program_read(&arguments, argc, argv);
    if (code >= 0)
        return code;
    if (upload_settings_read(environment_own, &upload, &err) < 0)
        return program_complain(&resource_tracker_program, "%s", err.message);
    if (*upload.token == '\0')
        return program_complain(&resource_tracker_program,
                                "nothing can be uploaded: set SENTINEL_API_TOKEN");
    uploader.api = sentinel_of(&upload);
    if (kept_runs_send(&uploader, &report) < 0)
        return program_complain(&resource_tracker_program,
                                "the directory of kept samples cannot be read");
    uploader_done(&uploader);
    return show(&report);
}
