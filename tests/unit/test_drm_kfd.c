/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/stat.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/clock.h"
#include "fake_drm.h"
#include "source/gpu/gpu.h"
#include "unit_test.h"

#define PCI "0000:03:00.0"
#define CLIENT                                                \
    "drm-driver:\tamdgpu\ndrm-client-id:\t7\ndrm-pdev:\t" PCI \
    "\ndrm-memory-vram:\t1 MiB\ndrm-engine-gfx:\t5 ns\n"

static const struct gpu_vendor *const amd = &gpu_amd;

struct machine {
    struct fake_root fake;
    void *vendor;
};

static const pid_t two_pids[] = { 41, 42 };
static const struct gpu_pids both = { two_pids, 2 };

static void open_it(struct machine *machine)
{
    assert_int_equal(amd->open(&machine->fake.root, &machine->vendor, NULL), 0);
}

static void tear_down(struct machine *machine)
{
    amd->close(machine->vendor);
    fake_root_done(&machine->fake);
}

static struct gpu_process process(struct machine *machine, int pid)
{
    return fake_drm_process(amd, machine->vendor, &both, pid, 0);
}

#define NODES "sys/class/kfd/kfd/topology/nodes/"

static void set_up(struct machine *machine, const char *pid_namespace)
{
    struct fake_root *fake = &machine->fake;

    fake_root_init(fake);
    fake_drm_card(fake, 1, PCI, "0x1002\n");
    fake_root_link(fake, "proc/self/ns/pid", pid_namespace);
    fake_root_write(fake, NODES "0/gpu_id", "0\n");
    fake_root_write(fake, NODES "0/properties", "cpu_cores_count 8\nlocation_id 0\n");
    fake_root_write(fake, NODES "1/gpu_id", "54321\n");
    fake_root_write(fake, NODES "1/properties",
                    "simd_count 192\nvendor_id 4098\nlocation_id 768\ndomain 0\n");
    fake_root_write(fake, NODES "2/gpu_id", "999\n"); /* a GPU without readable properties */
    fake_root_write(fake, NODES "3/gpu_id", "");
    fake_root_write(fake, NODES "4/gpu_id", "777\n"); /* at an address without a card */
    fake_root_write(fake, NODES "4/properties", "location_id 16384\ndomain 0\n");
    fake_root_write(fake, "sys/class/kfd/kfd/proc/41/vram_54321", "8388608\n");
    fake_root_write(fake, "sys/class/kfd/kfd/proc/41/vram_777", "5\n");
    fake_root_write(fake, "sys/class/kfd/kfd/proc/42/vram_54321", "9\n");
    fake_drm_fd(fake, 41, 3, "/dev/kfd", "pos:\t0\n");
    fake_drm_fd(fake, 41, 5, "/dev/dri/renderD128", CLIENT);
}

TEST(kfd_reports_memory_but_no_busy_time_of_rocm_processes)
{
    struct machine machine;
    struct gpu_process list[4];

    set_up(&machine, "pid:[4026531836]");
    open_it(&machine);
    assert_int_equal(amd->read_busy(machine.vendor, &both, NS_PER_SECOND), 0);
    assert_int_equal(amd->processes(machine.vendor, &both, list, 4),
                     1); /* process 42 has not opened KFD */
    assert_int_equal(list[0].memory_bytes, 8 << 20);
    assert_true(list[0].busy_ns == UNKNOWN);
    assert_non_null(list[0].reason);
    /* Once the descriptor of the DRM device is closed, only KFD reports the process's
     * memory. */
    fake_drm_close(&machine.fake, 41, 5);
    assert_int_equal(process(&machine, 41).memory_bytes, 8 << 20);
    assert_false(process(&machine, 41).has_ended);
    fake_drm_remove(&machine.fake, "sys/class/kfd/kfd/proc/41/vram_54321");
    assert_true(process(&machine, 41).has_ended);
    tear_down(&machine);
}

TEST(in_a_container_kfd_is_not_read)
{
    struct machine machine;

    set_up(&machine, "pid:[4026532999]");
    open_it(&machine);
    assert_int_equal(amd->read_busy(machine.vendor, &both, NS_PER_SECOND), 0);
    assert_int_equal(process(&machine, 41).memory_bytes, 1 << 20); /* from fdinfo */
    assert_true(process(&machine, 41).busy_ns == UNKNOWN);         /* 41 has opened KFD */
    tear_down(&machine);
}

/* The files of a GPU may be hidden, for example by the device cgroup. */
TEST(gpus_known_to_kfd_are_not_left_out)
{
    struct machine machine;
    struct gpu_process list[4];

    set_up(&machine, "pid:[4026531836]");
    fake_drm_card(&machine.fake, 2, "0000:04:00.0", "0x1002\n");
    fake_root_write(&machine.fake, NODES "5/gpu_id", "111\n");
    fake_root_write(&machine.fake, NODES "5/properties", "location_id 1024\ndomain 0\n");
    open_it(&machine);
    assert_int_equal(amd->processes(machine.vendor, &both, list, 4), 1);
    assert_int_equal(process(&machine, 41).memory_bytes, 8 << 20);
    fake_root_write(&machine.fake, "sys/class/kfd/kfd/proc/41/vram_111", "4096\n");
    assert_int_equal(fake_drm_process(amd, machine.vendor, &both, 41, 1).memory_bytes, 4096);
    fake_drm_remove(&machine.fake, "sys/class/kfd/kfd/proc/41/vram_54321");
    assert_int_equal(process(&machine, 41).memory_bytes, 1 << 20); /* from fdinfo */
    assert_int_equal(fake_drm_process(amd, machine.vendor, &both, 41, 1).memory_bytes, 4096);
    tear_down(&machine);
}

TEST(kfd_reports_memory_of_unreadable_processes)
{
    enum { NOBODY = 65534 };
    struct machine machine;
    struct fake_root *fake = &machine.fake;
    struct gpu_reading reading;
    bool is_root = geteuid() == 0;

    set_up(&machine, "pid:[4026531836]");
    fake_root_write(fake, "proc/42/fd/0", "");
    /* The process must be alive: no user may read the files of an exited one. */
    fake_root_write(fake, "proc/42/stat",
                    "42 (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 100 0 0\n");
    assert_int_equal(chmod(fake->path, 0755), 0);
    assert_int_equal(fchmodat(fake->root.fd, "proc/42/fd", 0, 0), 0);
    open_it(&machine);
    /* Root may read everything, so the test temporarily becomes another user. */
    assert_true(!is_root || seteuid(NOBODY) == 0);
    assert_int_equal(process(&machine, 42).memory_bytes, 9);
    assert_true(!is_root || seteuid(0) == 0);
    assert_int_equal(amd->read(machine.vendor, 0, NS_PER_SECOND, &reading), 0);
    assert_non_null(reading.processes_reason); /* process 42 may use more memory */
    assert_int_equal(fchmodat(fake->root.fd, "proc/42/fd", 0755, 0), 0);
    (void)process(&machine, 41);
    assert_int_equal(amd->read(machine.vendor, 0, 2 * NS_PER_SECOND, &reading), 0);
    assert_null(reading.processes_reason);
    tear_down(&machine);
}
