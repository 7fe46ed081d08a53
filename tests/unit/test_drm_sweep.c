/* SPDX-License-Identifier: Apache-2.0 */
/* Tests processes with unreadable files, and devices whose driver reports nothing. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/clock.h"
#include "fake_drm.h"
#include "source/gpu/gpu.h"
#include "unit_test.h"

#define MS NS_PER_MS
#define PCI "0000:00:02.0"
#define CLIENT(id, render_ns, memory)                            \
    "drm-driver:\ti915\ndrm-client-id:\t" id "\ndrm-pdev:\t" PCI \
    "\ndrm-resident-system0:\t" memory "\ndrm-engine-render:\t" render_ns " ns\n"

static const struct gpu_vendor *const intel = &gpu_intel;
static const pid_t two_pids[] = { 41, 42 };
static const struct gpu_pids both = { two_pids, 2 };

struct machine {
    struct fake_root fake;
    void *vendor;
};

static void set_up(struct machine *machine)
{
    fake_root_init(&machine->fake);
    fake_drm_card(&machine->fake, 0, PCI, "0x8086\n");
    machine->vendor = NULL;
    assert_int_equal(intel->open(&machine->fake.root, &machine->vendor, NULL), 0);
}

static void tear_down(struct machine *machine)
{
    intel->close(machine->vendor);
    fake_root_done(&machine->fake);
}

static struct gpu_process process(struct machine *machine)
{
    return fake_drm_process(intel, machine->vendor, &both, 41, 0);
}

static void count(struct machine *machine, uint64_t now_ns)
{
    assert_int_equal(intel->read_busy(machine->vendor, &both, now_ns), 0);
}

static const char *processes_reason(struct machine *machine)
{
    struct gpu_reading reading;

    assert_int_equal(intel->read(machine->vendor, 0, 0, &reading), 0);
    return reading.processes_reason;
}

static void write_stat(struct machine *machine, int pid, char state, int threads)
{
    char path[64], text[128];

    (void)snprintf(path, sizeof(path), "proc/%d/stat", pid);
    (void)snprintf(text, sizeof(text),
                   "%d (x) %c 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 %d 0 100 0 0\n", pid, state,
                   threads);
    fake_root_write(&machine->fake, path, text);
}

/* Reads while /proc/42/fd has this mode, as an ordinary user, since root may read
 * everything. */
static const char *reason_with_rights(struct machine *machine, mode_t mode)
{
    enum { NOBODY = 65534 };
    bool is_root = geteuid() == 0;
    int r;

    assert_int_equal(chmod(machine->fake.path, 0755), 0);
    assert_int_equal(fchmodat(machine->fake.root.fd, "proc/42/fd", mode, 0), 0);
    assert_true(!is_root || seteuid(NOBODY) == 0);
    r = intel->read_busy(machine->vendor, &both, MS);
    assert_true(!is_root || seteuid(0) == 0);
    assert_int_equal(fchmodat(machine->fake.root.fd, "proc/42/fd", 0755, 0), 0);
    assert_int_equal(r, 0);
    return processes_reason(machine);
}

/* The descriptor folder of a zombie is empty, but belongs to root, so other users cannot
 * read it. */
TEST(an_exited_process_has_no_memory_and_is_not_treated_as_unreadable)
{
    struct machine machine;

    set_up(&machine);
    fake_drm_fd(&machine.fake, 41, 5, "/dev/dri/renderD128", CLIENT("7", "5", "1 MiB"));
    fake_root_write(&machine.fake, "proc/42/fd/0", "");
    write_stat(&machine, 42, 'S', 1);
    assert_non_null(reason_with_rights(&machine, 0));    /* another user's process */
    assert_non_null(reason_with_rights(&machine, 0444)); /* links cannot be read */
    assert_null(reason_with_rights(&machine, 0555));
    write_stat(&machine, 42, 'Z', 1);
    assert_null(reason_with_rights(&machine, 0));
    assert_int_equal(process(&machine).memory_bytes, 1 << 20);
    fake_drm_remove(&machine.fake, "proc/42/stat"); /* reaped meanwhile */
    assert_null(reason_with_rights(&machine, 0));
    tear_down(&machine);
}

/* Other threads may outlive the first one, but /proc/PID/fd lists only the first thread's
 * files. */
TEST(memory_of_a_process_without_its_first_thread_is_unknown)
{
    struct machine machine;

    set_up(&machine);
    fake_root_write(&machine.fake, "proc/42/fd/none", "");
    write_stat(&machine, 42, 'S', 2);
    count(&machine, MS);
    assert_null(processes_reason(&machine)); /* no file is open */
    write_stat(&machine, 42, 'Z', 2);
    count(&machine, 2 * MS);
    assert_non_null(processes_reason(&machine));
    assert_non_null(reason_with_rights(&machine, 0));
    tear_down(&machine);
}

TEST(memory_of_an_unreadable_process_is_unknown)
{
    struct machine machine;

    set_up(&machine);
    fake_root_write(&machine.fake, "proc/42/fd", ""); /* not a folder: listing fails */
    write_stat(&machine, 42, 'S', 1);
    count(&machine, MS);
    assert_non_null(processes_reason(&machine));
    fake_drm_remove(&machine.fake, "proc/42/fd");
    count(&machine, 2 * MS);
    assert_null(processes_reason(&machine));
    tear_down(&machine);
}

TEST(use_of_a_device_without_reports_is_unknown)
{
    static const char *const texts[] = {
        "",
        "pos:\t0\nflags:\t02100002\nmnt_id:\t27\n",   /* before Linux 5.19 */
        "drm-driver: i915\ndrm-pdev: 0000:00:02.0\n", /* without a client id */
        "drm-driver: i915\ndrm-client-id: 7\n",       /* without a device */
        NULL,                                         /* too long to be read */
    };
    struct machine machine;
    struct gpu_process one;
    char huge[20000];

    (void)memset(huge, 'x', sizeof(huge) - 1);
    huge[sizeof(huge) - 1] = '\0';
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        set_up(&machine);
        fake_drm_node(&machine.fake, "renderD128", PCI);
        fake_drm_fd(&machine.fake, 41, 4, "/dev/dri/renderD128", CLIENT("7", "0", "1 MiB"));
        fake_drm_fd(&machine.fake, 41, 5, i % 2 ? "/dev/dri/card0" : "/dev/dri/renderD128",
                    texts[i] ? texts[i] : huge);
        count(&machine, 1000 * MS);
        count(&machine, 2000 * MS);
        one = process(&machine);
        assert_true(one.memory_bytes == UNKNOWN && one.busy_ns == UNKNOWN);
        assert_non_null(one.reason);
        assert_false(one.has_ended);
        fake_drm_close(&machine.fake, 41, 5);
        count(&machine, 3000 * MS);
        one = process(&machine);
        assert_int_equal(one.memory_bytes, 1 << 20); /* the other client's memory is reported */
        assert_true(one.busy_ns == UNKNOWN);         /* descriptor 5 may have been busy */
        fake_drm_close(&machine.fake, 41, 4);
        assert_true(process(&machine).has_ended);
        assert_int_equal(process(&machine).memory_bytes, 0);
        tear_down(&machine);
    }
}

/* On a live machine, a quick sweep does not list the descriptors of a process again; it must
 * not treat descriptors that it did not list as closed. */
TEST(unreported_use_stays_unknown_between_listings)
{
    struct machine machine;

    set_up(&machine);
    machine.fake.root.is_live = true;
    fake_drm_node(&machine.fake, "renderD128", PCI);
    fake_drm_fd(&machine.fake, 41, 5, "/dev/dri/renderD128", "pos:\t0\nflags:\t02100002\n");
    for (int i = 0; i < 20; i++) {
        struct gpu_process one = process(&machine);

        assert_true(one.memory_bytes == UNKNOWN && !one.has_ended);
    }
    fake_drm_close(&machine.fake, 41, 5);
    count(&machine, MS);
    assert_true(process(&machine).has_ended);
    tear_down(&machine);
}
