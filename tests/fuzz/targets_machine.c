/* SPDX-License-Identifier: Apache-2.0 */
/*
 * targets_machine.c - whole machines: the input is their /proc, /sys and /etc.
 *
 * "server" reads the facts of a machine; "run" tracks its process 42 for two samples and writes the
 * report.
 */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/root.h"
#include "fuzz.h"
#include "record/fill.h"
#include "record/load.h"
#include "session/session.h"
#include "source/host/facts.h"
#include "source/host/host.h"

static const char *no_variable(UNUSED const char *name)
{
    return NULL;
}

static void check_devices(const struct devices *devices)
{
    for (size_t i = 0; i < devices->disk_count; i++) {
        CHECK_ENDED(devices->disks[i].name);
        CHECK_ENDED(devices->disks[i].model);
        CHECK(devices_find_disk(devices, devices->disks[i].name) != NULL);
    }
    for (size_t i = 0; i < devices->interface_count; i++) {
        CHECK_ENDED(devices->interfaces[i].name);
        CHECK_ENDED(devices->interfaces[i].mac_address);
    }
}

static void check_limits(const struct root *root, const struct host_facts *host)
{
    struct cgroups cgroups;
    struct limits limits;
    int r = cgroups_read(root, 42, &cgroups);

    limits_read(root, 42, host, r == 0 ? &cgroups : NULL, no_variable, &limits);
    CHECK(isnan(limits.cpus) || limits.cpus >= 0);
}

static void run_server(char *text, size_t length)
{
    static struct host host;
    struct fuzz_part parts[FUZZ_PARTS_MAX];
    const struct root *root = fuzz_root(parts, fuzz_split(text, length, parts));
    struct host_reading reading;
    struct host_facts facts;
    struct server_facts server;

    host_facts_read(root, &facts);
    CHECK_ENDED(facts.os);
    CHECK_ENDED(facts.cpu_model);
    CHECK(server_facts_read(root, no_variable, &server) == 0);
    CHECK(server.topology.cache_count <= TOPOLOGY_CACHES_MAX);
    check_devices(&server.devices);
    server_facts_done(&server);
    host_init(&host);
    host_read(&host, root, NS_PER_SECOND, &reading);
    host_read(&host, root, 2 * NS_PER_SECOND, &reading);
    host_done(&host);
    check_limits(root, &facts);
}

/* ---- a run -------------------------------------------------------------------------------- */

static void check_report(spoor_session *session)
{
    CLEANUP(buffer_done) struct buffer text = { 0 };
    struct spoor_error err = { 0 };
    struct record record;
    int fd = fuzz_file("", 0);

    CHECK(spoor_session_write(session, SPOOR_JSON, 0, fd, &err) == 0);
    CHECK(lseek(fd, 0, SEEK_SET) == 0 && buffer_read(&text, fd, BUFFER_MAX) == 0);
    CHECK(record_parse(text.text, text.length, &record, NULL, &err) == 0);
    record_done(&record);
    CHECK(spoor_session_write(session, SPOOR_TEXT, 0, fd, &err) == 0);
    (void)close(fd);
}

static void run_run(char *text, size_t length)
{
    static const char *const command[] = { "job", NULL };
    struct fuzz_part parts[FUZZ_PARTS_MAX];
    struct spoor_options options = SPOOR_OPTIONS_INIT;
    struct spoor_error err = { 0 };
    spoor_session *session;
    char path[64];

    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d",
                   fuzz_root(parts, fuzz_split(text, length, parts))->fd);
    options.root = path;
    options.pid = 42;
    options.command = command;
    if (spoor_session_open(&options, &session, &err) < 0) {
        CHECK(err.message[0] != '\0');
        return;
    }
    for (unsigned i = 0; i < 2; i++)
        session_take_sample(
            session,
            (struct instant){ (1000 + i) * NS_PER_SECOND, (1773480413 + i) * NS_PER_SECOND },
            i == 1 ? SAMPLE_LAST : SAMPLE_REGULAR);
    session_warn(session);
    check_report(session);
    session = spoor_session_close(session);
}

const struct fuzz_target machine_targets[] = {
    { "server", run_server, 200 },
    { "run", run_run, 400 },
    { NULL, NULL, 0 },
};
