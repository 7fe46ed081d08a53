/* SPDX-License-Identifier: Apache-2.0 */
#include "services/upload/uploader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/error.h"
#include "base/hidden_child.h"

/* ---- one run ------------------------------------------------------------ */

/* After a long time without a network there are too many rows for one request. */
enum { BATCH_MAX_BYTES = 8 << 20 };

/* Credentials that are valid for less than this are renewed. */
enum { RENEWED_BEFORE_SECONDS = 300 };

void uploader_done(struct uploader *uploader)
{
    uploader->api.http = http_close(uploader->api.http);
    explicit_bzero(&uploader->credentials, sizeof(uploader->credentials));
}

static int connect_api(struct uploader *uploader, struct spoor_error *err)
{
    return uploader->api.http ? 0 : http_open(&uploader->api.http, err);
}

void upload_add_value(struct json_writer *json, const char *key, const json_t *value)
{
    CLEANUP(buffer_done) struct buffer document = { 0 };
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);

    if (text)
        buffer_add_text(&document, text);
    free(text);
    if (document.length > 0)
        json_add_document(json, key, &document);
}

static int describe(const struct uploader *uploader, const struct spool *spool,
                    struct buffer *ret)
{
    json_auto_t *run = NULL;
    struct json_writer json = { .out = ret, .style = &json_compact };
    const char *key;
    json_t *value;

    (void)spool_load(spool, SPOOL_RUN, &run); /* if damaged, the description is empty */
    json_begin(&json, NULL, '{');
    json_object_foreach(json_object_get(run, "metadata"), key, value)
    {
        upload_add_value(&json, key, value);
    }
    if (uploader->add_machine)
        uploader->add_machine(&json);
    json_end(&json);
    return buffer_error(ret);
}

static void keep_credentials(struct uploader *uploader, struct spool *spool)
{
    (void)snprintf(uploader->credentials_of, sizeof(uploader->credentials_of), "%s",
                   spool->run.id);
    if (*uploader->credentials.region == '\0')
        memcpy(uploader->credentials.region, spool->region, sizeof(spool->region));
}

int uploader_register(struct uploader *uploader, struct spool *spool, struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer description = { 0 };
    int r;

    if (*spool->run.id != '\0' || *spool->service)
        return 0;
    r = connect_api(uploader, err);
    if (r < 0)
        return r;
    r = describe(uploader, spool, &description);
    if (r < 0)
        return error_sys(err, r, "cannot describe the run");
    r = sentinel_register(&uploader->api, &description, &spool->run, &uploader->credentials,
                          err);
    if (r < 0)
        return r;
    keep_credentials(uploader, spool);
    r = spool_save(spool);
    return r < 0 ? error_sys(err, r, "cannot write to '%s'", spool->path) : 0;
}

/* ---- batches ---------------------------------------------------------------- */

int uploader_add_uri(const struct spool *spool, uint64_t number, struct buffer *out)
{
    const char *prefix = spool->run.uri_prefix, *id = spool->run.id;
    size_t length = strlen(prefix);

    while (length > 0 && prefix[length - 1] == '/')
        length--;
    buffer_add(out, prefix, length);
    if (spool->has_short_keys)
        buffer_format(out, "/%04" PRIu64 ".csv.gz", number);
    else
        buffer_format(out, "/%s/%06" PRIu64 ".csv.gz", id, number);
    return buffer_error(out);
}

static int renew(struct uploader *uploader, struct spool *spool, struct spoor_error *err)
{
    int r = connect_api(uploader, err);

    if (r == 0)
        r = sentinel_refresh(&uploader->api, spool->run.id, &uploader->credentials, err);
    if (r == 0)
        keep_credentials(uploader, spool);
    return r;
}

static bool are_valid(const struct uploader *uploader, const struct spool *spool)
{
    double now = (double)clock_now().realtime_ns / 1e9;

    return strcmp(uploader->credentials_of, spool->run.id) == 0 &&
           uploader->credentials.expires_at - now >= RENEWED_BEFORE_SECONDS;
}

static int put(struct uploader *uploader, struct spool *spool, const struct buffer *body,
               struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer uri = { 0 };
    bool is_new = !are_valid(uploader, spool);
    int r = is_new ? renew(uploader, spool, err) : 0;

    if (r < 0)
        return r;
    if (uploader_add_uri(spool, spool->batches, &uri) < 0)
        return error_set(err, ENOMEM, "out of memory");
    r = s3_put(uploader->api.http, uri.text, body, &uploader->credentials,
               uploader->api.timeout_ms, err);
    if (r == -EACCES && !is_new) {
        r = renew(uploader, spool, err);
        if (r == 0)
            r = s3_put(uploader->api.http, uri.text, body, &uploader->credentials,
                       uploader->api.timeout_ms, err);
    }
    memcpy(spool->region, uploader->credentials.region, sizeof(spool->region));
    return r;
}

static void done_batch(struct spool_batch *batch)
{
    buffer_done(&batch->csv);
}

/* Sends the next batch. Returns 1 if a batch was sent, 0 if there are no unsent rows, or
 * -errno. */
static int send_batch(struct uploader *uploader, struct spool *spool, struct spoor_error *err)
{
    CLEANUP(done_batch) struct spool_batch batch = { 0 };
    CLEANUP(buffer_done) struct buffer body = { 0 };
    bool is_pushed = *spool->service, is_refused = false;
    int r = spool_read_batch(spool, is_pushed ? PUSH_BATCH_MAX_BYTES : BATCH_MAX_BYTES, &batch);

    if (r == 0 && batch.rows > 0 && !is_pushed)
        r = gzip_add(batch.csv.text, batch.csv.length, &body);
    if (r < 0)
        return error_sys(err, r, "cannot read '%s'", spool->path);
    if (batch.rows == 0)
        return 0;
    r = is_pushed ? push_send(&uploader->push, &uploader->api, spool, &batch, err)
                  : put(uploader, spool, &body, err);
    is_refused = is_pushed && r == -EBADMSG;
    if (r < 0 && !is_refused)
        return r;
    r = spool_advance(spool, batch.end, is_refused ? batch.rows : 0);
    return r < 0 ? error_sys(err, r, "cannot write to '%s'", spool->path) : 1;
}

int uploader_send(struct uploader *uploader, struct spool *spool, struct spoor_error *err)
{
    int r = connect_api(uploader, err);

    while (r == 0) {
        if (uploader->is_hurried && uploader->is_hurried(uploader->data))
            return error_set(err, ECANCELED, "interrupted");
        r = send_batch(uploader, spool, err);
        if (r <= 0)
            return r;
        r = 0;
    }
    return r;
}

/* ---- the end ---------------------------------------------------------------- */

static void add_uris(const struct spool *spool, struct json_writer *json)
{
    CLEANUP(buffer_done) struct buffer uri = { 0 };

    json_begin(json, "data_uris", '[');
    for (uint64_t i = 0; i < spool->batches && buffer_error(json->out) == 0; i++) {
        buffer_clear(&uri);
        if (uploader_add_uri(spool, i, &uri) == 0)
            json_add_text(json, NULL, uri.text);
    }
    json_end(json);
}

/* Without end.json, the tracker was killed: reports a failure with exit code 1. */
static void add_end(const struct spool *spool, struct json_writer *json)
{
    json_auto_t *end = NULL;
    struct clock_text now = clock_format((double)clock_now().realtime_ns / 1e9);
    const char *status, *date;
    const json_t *code;

    (void)spool_load(spool, SPOOL_END, &end);
    status = json_string_value(json_object_get(end, "run_status"));
    date = json_string_value(json_object_get(end, "finished_at"));
    code = json_object_get(end, "exit_code");
    json_add_number(json, "exit_code", code ? (double)json_integer_value(code) : 1);
    json_add_text(json, "run_status", status ? status : "failed");
    json_add_text(json, "finished_at", date ? date : now.text);
}

/* `csv` has the rows, if they are sent as part of the message; else NULL. */
static int finish(struct uploader *uploader, struct spool *spool, const struct buffer *csv,
                  struct buffer *answer, struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer body = { 0 };
    CLEANUP(buffer_done) struct buffer unwanted = { 0 };
    struct json_writer json = { .out = &body, .style = &json_compact };
    int r = connect_api(uploader, err);

    if (r < 0)
        return r;
    json_begin(&json, NULL, '{');
    add_end(spool, &json);
    if (csv) {
        json_add_text(&json, "data_source", "inline");
        json_add_text(&json, "data_csv", csv->text ? csv->text : "");
    } else {
        json_add_text(&json, "data_source", "s3");
        add_uris(spool, &json);
    }
    json_end(&json);
    if (buffer_error(&body) < 0)
        return error_set(err, ENOMEM, "out of memory");
    return sentinel_finish(&uploader->api, spool->run.id, &body, answer ? answer : &unwanted,
                           err);
}

int uploader_finish(struct uploader *uploader, struct spool *spool, struct buffer *answer,
                    struct spoor_error *err)
{
    uint64_t rows = 0, bytes = 0;
    int r = uploader_register(uploader, spool, err);

    if (r < 0)
        return r;
    if (*spool->service)
        return uploader_send(uploader, spool, err);
    r = spool_count(spool, &rows, &bytes);
    if (r == 0 && spool->batches == 0 && bytes <= BATCH_MAX_BYTES) {
        struct spool_batch batch = { 0 };

        r = spool_read_batch(spool, BATCH_MAX_BYTES, &batch);
        r = r < 0 ? error_sys(err, r, "cannot read '%s'", spool->path)
                  : finish(uploader, spool, &batch.csv, answer, err);
        buffer_done(&batch.csv);
        return r;
    }
    if (r < 0)
        return error_sys(err, r, "cannot read '%s'", spool->path);
    r = uploader_send(uploader, spool, err);
    return r < 0 ? r : finish(uploader, spool, NULL, answer, err);
}

/* ---- runs that are kept ------------------------------------------------- */

struct round {
    struct uploader *uploader;
    struct kept_report *report;
    bool is_given_up; /* the network is down: the rest is only counted */
};

/* Returns whether the next run would fail as well, because the network or the service is
 * down. If a run is rejected or damaged, others may still succeed. */
static bool is_for_all(int error)
{
    static const int errors[] = { ECONNREFUSED, ETIMEDOUT, EIO, EPROTO, ENOSYS, ECANCELED };

    for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
        if (error == -errors[i])
            return true;
    }
    return false;
}

static void send_run(struct round *round, struct spool *spool)
{
    struct kept_report *report = round->report;
    struct spoor_error err = { 0 };
    uint64_t rows = 0, bytes = 0;
    int r = spool_count(spool, &rows, &bytes);

    if (r == 0 && rows == 0 && *spool->run.id == '\0') {
        spool_remove(spool); /* the run never began */
        return;
    }
    r = round->is_given_up ? -ECANCELED : uploader_finish(round->uploader, spool, NULL, &err);
    if (r == 0) {
        report->sent_runs++;
        report->sent_rows += rows;
        spool_remove(spool);
        return;
    }
    (void)spool_count(spool, &rows, &bytes);
    report->kept_runs++;
    report->kept_rows += rows;
    round->is_given_up = is_for_all(r);
    if (report->err.code == 0)
        report->err = err;
}

static void visit(const char *path, void *data)
{
    CLEANUP(spool_close) struct spool spool = SPOOL_CLOSED;
    struct round *round = data;
    const char *service = round->uploader->service;
    int r = spool_open(path, &spool);

    if (r == 0 && strcmp(spool.service, service ? service : "") != 0)
        return;
    if (r == -EBUSY || (r == 0 && !spool_run_is_over(&spool)))
        round->report->busy_runs++;
    else if (r == 0 && strcmp(spool.api_url, round->uploader->api.url) == 0)
        send_run(round, &spool);
}

int kept_runs_send(struct uploader *uploader, struct kept_report *ret)
{
    struct round round = { .uploader = uploader, .report = ret };

    *ret = (struct kept_report){ 0 };
    return spool_for_each(false, visit, &round);
}

struct trim {
    uint64_t limit_bytes;
    uint64_t bytes; /* size of the runs visited so far */
    uint64_t dropped_rows;
};

/* Called for each run, newest first: removes runs beyond the limit. */
static void trim(const char *path, void *data)
{
    CLEANUP(spool_close) struct spool spool = SPOOL_CLOSED;
    struct trim *trim = data;
    uint64_t rows, bytes;

    if (spool_open(path, &spool) < 0 || !spool_run_is_over(&spool) ||
        spool_count(&spool, &rows, &bytes) < 0)
        return;
    trim->bytes += bytes;
    if (trim->bytes > trim->limit_bytes) {
        trim->dropped_rows += rows;
        spool_remove(&spool);
    }
}

/* ---- the process that uploads -------------------------------------------
 *
 * The protocol, over a socket: we write a byte when the run begins, and shut down our direction
 * when it ends. Before it exits, the child writes a struct outcome and the response of the service.
 */

struct outcome {
    uint64_t dropped_rows;
    struct spoor_error err; /* code 0: everything was sent */
};

enum { LAST_REQUEST_TIMEOUT_MS = 10000 };

#define BACK_OFF_MIN_NS NS_PER_SECOND
#define BACK_OFF_MAX_NS (30 * NS_PER_SECOND)
#define INTERRUPTED_WAIT_NS (NS_PER_SECOND / 2)

/* ---- in the child ------------------------------------------------------ */

/* The descriptors that the child keeps. */
enum { SOCKET_FD = 0, LOCK_FD = 1 };

struct child {
    struct upload_settings settings;
    struct spool spool;
    struct uploader uploader;
    bool is_over;          /* the run has ended, or its tracker has exited */
    bool is_refused;       /* the service rejected the run; `err` is the reason */
    uint64_t dropped_rows; /* dropped rows of other runs */
    uint64_t back_off_ns;
    struct spoor_error err; /* the last failure */
};

/* Waits for the end of the run, until `until_ns` at most. */
static void wait_for_end(struct child *child, uint64_t until_ns)
{
    struct pollfd news = { .fd = SOCKET_FD, .events = POLLIN };
    char byte;

    while (!child->is_over) {
        struct timespec left = clock_time_until(until_ns);
        int n = ppoll(&news, 1, &left, NULL);

        if (n == 0 || (n < 0 && errno != EINTR))
            return;
        if (n > 0 && recv(SOCKET_FD, &byte, 1, MSG_DONTWAIT) == 0)
            child->is_over = true;
    }
}

static bool is_over(void *data)
{
    struct child *child = data;

    wait_for_end(child, 0);
    return child->is_over;
}

static int attempt(struct child *child, bool has_batch)
{
    int r = uploader_register(&child->uploader, &child->spool, &child->err);

    if (r == -EPERM)
        child->is_refused = true;
    if (r == 0 && has_batch)
        r = uploader_send(&child->uploader, &child->spool, &child->err);
    return r;
}

/* Does one round of work. Returns the time of the next round. */
static uint64_t work(struct child *child, uint64_t due_ns, bool has_batch)
{
    uint64_t interval_ns = child->settings.interval_ns;
    uint64_t now_ns;
    int r = 0;

    (void)spool_enforce_limit(&child->spool, child->settings.disk_limit_bytes);
    if (!child->is_refused)
        r = attempt(child, has_batch);
    now_ns = clock_now().monotonic_ns;
    if (r == 0 || child->is_refused) {
        child->back_off_ns = smaller(BACK_OFF_MIN_NS, interval_ns);
        return larger(due_ns + interval_ns, now_ns);
    }
    child->back_off_ns = smaller(2 * child->back_off_ns, BACK_OFF_MAX_NS);
    return now_ns + smaller(larger(child->back_off_ns / 2, child->uploader.push.retry_ns),
                            BACK_OFF_MAX_NS);
}

/* Uploads kept runs; stops if the current run ends. */
static void send_kept_runs(struct child *child)
{
    struct kept_report report;

    child->uploader.is_hurried = is_over;
    (void)kept_runs_send(&child->uploader, &report);
    child->uploader.is_hurried = NULL;
}

static void follow_run(struct child *child)
{
    struct trim kept = { .limit_bytes = child->settings.disk_limit_bytes };
    uint64_t due_ns = clock_now().monotonic_ns;
    bool has_kept = true;

    (void)spool_for_each(true, trim, &kept); /* on failure nothing is dropped */
    child->dropped_rows = kept.dropped_rows;
    child->back_off_ns = smaller(BACK_OFF_MIN_NS, child->settings.interval_ns);
    for (bool has_batch = false; !child->is_over; has_batch = true) {
        due_ns = work(child, due_ns, has_batch);
        if (has_kept && (*child->spool.run.id != '\0' || child->spool.batches > 0)) {
            has_kept = false;
            send_kept_runs(child);
        }
        wait_for_end(child, due_ns);
    }
}

static void finish_run(struct child *child)
{
    CLEANUP(buffer_done) struct buffer answer = { 0 };
    CLEANUP(buffer_done) struct buffer result = { 0 };
    struct outcome outcome = { 0 };
    int r = -EPERM;

    (void)spool_enforce_limit(&child->spool, child->settings.disk_limit_bytes);
    child->uploader.api.timeout_ms = LAST_REQUEST_TIMEOUT_MS;
    if (!child->is_refused)
        r = uploader_finish(&child->uploader, &child->spool, &answer, &child->err);
    if (r == 0)
        spool_remove(&child->spool);
    else
        (void)error_set(&outcome.err, EIO, "%s", child->err.message);
    outcome.dropped_rows = child->spool.dropped_rows + child->dropped_rows;
    buffer_add(&result, (const char *)&outcome, sizeof(outcome));
    buffer_add(&result, answer.text, answer.length);
    (void)buffer_write(&result, SOCKET_FD);
}

/* Without close_range() only descriptors below 1024 are closed. */
static void keep_only(int fd, int lock_fd)
{
    if (hidden_child_keep_only(fd, lock_fd) < 0) {
        for (int each = 2; each < 1024; each++)
            close(each);
    }
    (void)open("/dev/null", O_RDWR | O_CLOEXEC); /* reserve 2, the number of stderr */
    (void)!chdir("/");
}

static _Noreturn void serve(struct child *child, int fd)
{
    char byte;

    keep_only(fd, child->spool.lock_fd);
    child->spool.lock_fd = LOCK_FD;
    child->uploader.api = sentinel_of(&child->settings);
    child->uploader.service = child->spool.service;
    child->uploader.data = child;
    if (recv(SOCKET_FD, &byte, 1, 0) == 1) {
        follow_run(child);
        finish_run(child);
    }
    uploader_done(&child->uploader);
    _exit(0);
}

/* ---- in the tracker ---------------------------------------------------- */

static int write_description(const struct upload_order *order, struct buffer *ret)
{
    struct json_writer json = { .out = ret };

    json_begin(&json, NULL, '{');
    json_add_text(&json, "api_url", order->settings->url);
    if (order->service)
        json_add_text(&json, "service", order->service);
    json_add_bool(&json, "has_short_keys", order->has_short_keys);
    json_add_document(&json, "metadata", order->metadata);
    json_end(&json);
    return buffer_error(ret);
}

/* Starts the child, which takes over the lock of the spool. */
static int start(const struct upload_order *order, struct spool *spool,
                 struct upload_process *process)
{
    struct child child = { .settings = *order->settings,
                           .spool = *spool,
                           .uploader.add_machine = order->add_machine };
    int fds[2];
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
        return -errno;
    pid = hidden_child_fork(SPOOR_AGENT_NAME);
    if (pid == 0)
        serve(&child, fds[1]);
    close(fds[1]);
    explicit_bzero(&child.settings, sizeof(child.settings));
    if (pid < 0) {
        close(fds[0]);
        return pid;
    }
    spool_close(spool);
    process->fd = fds[0];
    process->pid = pid;
    return 0;
}

int upload_process_start(const struct upload_order *order, struct upload_process *ret,
                         struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer description = { 0 };
    struct upload_process process = { .wait_ns = order->settings->wait_ns };
    struct spool spool;
    int r = write_description(order, &description);

    if (r < 0)
        return error_sys(err, r, "cannot describe the run");
    r = spool_create(&description, &spool, &process.run_fd, err);
    if (r < 0)
        return r;
    memcpy(process.path, spool.path, sizeof(process.path));
    process.rows = spool_file(&spool, spool_rows(&spool));
    r = start(order, &spool, &process);
    if (r < 0) {
        close(process.run_fd);
        spool_remove(&spool);
        return error_sys(err, r, "cannot start the process that uploads");
    }
    *ret = process;
    return 0;
}

void upload_process_begin(const struct upload_process *process)
{
    if (process->pid != 0)
        (void)send(process->fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Killing the child is safe at any moment: the next upload continues from the spool. */
static void stop(struct upload_process *process)
{
    (void)kill(process->pid, SIGKILL);
    child_reap(process->pid);
    close(process->fd);
    close(process->run_fd);
    process->pid = 0;
}

void upload_process_cancel(struct upload_process *process)
{
    struct spool spool;

    if (process->pid == 0)
        return;
    stop(process);
    if (spool_open(process->path, &spool) == 0)
        spool_remove(&spool);
}

static int write_end(const struct upload_process *process, int exit_code, bool has_failed)
{
    CLEANUP(buffer_done) struct buffer text = { 0 };
    struct json_writer json = { .out = &text };
    struct spool spool = SPOOL_CLOSED;

    json_begin(&json, NULL, '{');
    json_add_number(&json, "exit_code", exit_code);
    json_add_text(&json, "run_status", has_failed ? "failed" : "finished");
    json_add_text(&json, "finished_at",
                  clock_format((double)clock_now().realtime_ns / 1e9).text);
    json_end(&json);
    memcpy(spool.path, process->path, sizeof(spool.path));
    return spool_write_end(&spool, &text);
}

/* Returns a descriptor that is readable after a signal to terminate; -1 on failure: only the
 * time limit applies. */
static int open_interrupt(void)
{
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
    sigset_t signals;

    (void)sigemptyset(&signals);
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
        (void)sigaddset(&signals, numbers[i]);
    return signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Consumes one pending signal. */
static bool is_interrupted(int fd)
{
    struct signalfd_siginfo info;

    return fd >= 0 && read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info);
}

/* Reads the result of the child until the child exits. Returns false at the time limit. A
 * signal shortens the limit to half a second, not to 0: it may be the signal that ended the
 * job. */
static bool listen_to(const struct upload_process *process, struct buffer *ret)
{
    AUTO_CLOSE int interrupt_fd = open_interrupt();
    struct pollfd news[] = { { .fd = process->fd, .events = POLLIN },
                             { .fd = interrupt_fd, .events = POLLIN } };
    uint64_t deadline_ns = clock_now().monotonic_ns + process->wait_ns;
    char piece[4096];
    ssize_t n;

    for (;;) {
        struct timespec left = clock_time_until(deadline_ns);
        int ready = ppoll(news, ARRAY_SIZE(news), &left, NULL);

        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0)
            return false;
        if (is_interrupted(interrupt_fd))
            deadline_ns = smaller(deadline_ns, clock_now().monotonic_ns + INTERRUPTED_WAIT_NS);
        if (!news[0].revents)
            continue;
        n = recv(process->fd, piece, sizeof(piece), MSG_DONTWAIT);
        if (n <= 0)
            return n == 0;
        buffer_add(ret, piece, (size_t)n);
    }
}

static void read_result(const struct buffer *result, bool has_ended, struct upload_result *ret)
{
    struct outcome outcome;

    if (result->length < sizeof(outcome)) {
        (void)error_set(&ret->err, ETIMEDOUT,
                        has_ended ? "the process that uploads was killed" : "timed out");
        return;
    }
    memcpy(&outcome, result->text, sizeof(outcome));
    ret->dropped_rows = outcome.dropped_rows;
    ret->err = outcome.err;
    ret->is_complete = outcome.err.code == 0;
    buffer_add(&ret->answer, result->text + sizeof(outcome), result->length - sizeof(outcome));
}

void upload_process_finish(const struct upload_process *process, int exit_code, bool has_failed)
{
    (void)write_end(process, exit_code, has_failed); /* if it fails, the run counts as failed */
    upload_process_begin(process);                   /* no effect if the run has begun */
    (void)shutdown(process->fd, SHUT_WR);
}

void upload_process_end(struct upload_process *process, int exit_code, bool has_failed,
                        struct upload_result *ret)
{
    CLEANUP(buffer_done) struct buffer result = { 0 };
    CLEANUP(spool_close) struct spool spool = SPOOL_CLOSED;
    uint64_t bytes;
    bool has_ended;

    *ret = (struct upload_result){ .is_complete = process->pid == 0 };
    if (process->pid == 0)
        return;
    upload_process_finish(process, exit_code, has_failed);
    has_ended = listen_to(process, &result);
    stop(process);
    read_result(&result, has_ended, ret);
    if (spool_open(process->path, &spool) == 0) { /* otherwise complete and removed */
        ret->dropped_rows = larger(ret->dropped_rows, spool.dropped_rows);
        (void)spool_count(&spool, &ret->kept_rows, &bytes);
    }
}
