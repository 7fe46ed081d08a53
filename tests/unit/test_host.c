/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "fake_root.h"
#include "source/host/host.h"
#include "unit_test.h"

/* ---- cpu stat -------------------------------------------------------------- */

#define CPU_LINES                                \
    "cpu  1809 1 913 182852 1367 2 13 6 700 7\n" \
    "cpu0 1014 0 499 91126 854 0 4 2 0 0\n"      \
    "cpu1 794 0 413 91725 512 0 9 3 0 0\n"
#define TEXT CPU_LINES "intr 153411 0 0\nctxt 5\nbtime 6\nprocesses 4902\nprocs_running 3\n"

TEST(ticks_are_converted_to_nanoseconds)
{
    struct cpu_stat stat;

    assert_int_equal(cpu_stat_parse(TEXT, 100, &stat), 0);
    assert_int_equal(stat.user_ns,
                     18100000000); /* includes nice time; guest time is contained in both */
    assert_int_equal(stat.system_ns, 9280000000);
    assert_int_equal(stat.iowait_ns, 13670000000);
    assert_int_equal(stat.steal_ns, 60000000);
    assert_int_equal(stat.cpus, 2);
}

TEST(each_cpu_has_its_busy_time)
{
    struct cpu_busy list[4] = { { 0, 0 } };

    assert_int_equal(cpu_stat_parse_each(TEXT, 100, list, ARRAY_SIZE(list)), 2);
    assert_int_equal(list[0].number, 0);
    assert_int_equal(list[0].busy_ns, 15190000000); /* excludes idle time and I/O wait */
    assert_int_equal(list[1].number, 1);
    assert_int_equal(list[1].busy_ns, 12190000000);
    assert_int_equal(cpu_stat_parse_each(TEXT, 100, list, 1), 1);
    assert_int_equal(cpu_stat_parse_each("cpu 1 2 3 4\ncpu7 1 2 3 4\ncpu9 1 2 3", 100, list, 4),
                     1);
    assert_int_equal(list[0].number, 7);
    assert_int_equal(list[0].busy_ns, 60000000);
    assert_int_equal(cpu_stat_parse_each("", 100, list, 4), 0);
}

TEST(any_number_of_ticks_per_second_is_supported)
{
    struct cpu_stat stat;

    assert_int_equal(cpu_stat_parse("cpu 1025 0 1 0 0 0 0 0\n", 1024, &stat), 0);
    assert_int_equal(stat.user_ns, 1000976562);
    assert_int_equal(stat.system_ns, 976562);
}

TEST(old_kernels_have_fewer_columns)
{
    struct cpu_stat stat;

    assert_int_equal(cpu_stat_parse("cpu 1 2 3 4\ncpu0 1 2 3 4\nintr 0\n", 100, &stat), 0);
    assert_int_equal(stat.user_ns, 30000000);
    assert_int_equal(stat.system_ns, 30000000);
    assert_true(stat.iowait_ns == UNKNOWN);
    assert_true(stat.steal_ns == UNKNOWN);
}

TEST(cpu_times_that_are_too_large_are_unknown)
{
    struct cpu_stat stat;

    assert_int_equal(
        cpu_stat_parse("cpu 18446744073709551615 0 5 18446744073709551614\n", 100, &stat), 0);
    assert_true(stat.user_ns == UNKNOWN);
    assert_int_equal(stat.system_ns, 50000000);
}

TEST(a_truncated_text_never_gives_a_wrong_number)
{
    struct cpu_stat whole, stat;
    char text[sizeof(TEXT)];

    assert_int_equal(cpu_stat_parse(TEXT, 100, &whole), 0);
    for (size_t length = 0; length < strlen(TEXT); length++) {
        memcpy(text, TEXT, length);
        text[length] = '\0';
        if (cpu_stat_parse(text, 100, &stat) < 0) {
            assert_null(strchr(text, '\n'));
            continue;
        }
        assert_int_equal(stat.steal_ns, whole.steal_ns);
        assert_true(stat.cpus == whole.cpus || stat.cpus == UNKNOWN);
        assert_int_equal(stat.cpus == UNKNOWN, length <= strlen(CPU_LINES));
    }
}

TEST(thousands_of_cpus_are_counted)
{
    enum { CPUS = 8192, LINE = 32 };
    char *text = malloc(CPUS * LINE + 64);
    struct cpu_stat stat;
    size_t used;

    assert_non_null(text);
    used = (size_t)snprintf(text, 64, "cpu 1 2 3 4 5 6 7 8\n");
    for (int i = 0; i < CPUS; i++)
        used += (size_t)snprintf(text + used, LINE, "cpu%d 1 2 3 4 5 6 7 8\n", i);
    (void)snprintf(text + used, LINE, "intr 1\n");
    assert_int_equal(cpu_stat_parse(text, 100, &stat), 0);
    assert_int_equal(stat.cpus, CPUS);
    free(text);
}

TEST(damaged_cpu_lines_are_refused)
{
    static const char *const damaged[] = {
        "",
        "\n",
        "cpu\n",
        "cpu0 1 2 3 4\n",
        "cpu 1 2 3\n",
        "cpu 1 2 x 4 5 6\n",
        "cpu -1 2 3 4\n",
        "cpu 1 2 3 99999999999999999999\n",
        "cpu 1 2 3 4 5 6 7 8",
    };
    struct cpu_stat stat = { .user_ns = 5 };

    for (size_t i = 0; i < ARRAY_SIZE(damaged); i++)
        assert_int_equal(cpu_stat_parse(damaged[i], 100, &stat), -EBADMSG);
    assert_int_equal(cpu_stat_parse(TEXT, 0, &stat), -EBADMSG);
    assert_int_equal(stat.user_ns, 5); /* untouched on failure */
}

/* ---- process count --------------------------------------------------------- */

FAKE_ROOT_TEST(processes_are_counted_and_other_folders_are_not)
{
    struct fake_root *fake = *state;

    assert_true(process_count_read(&fake->root) == UNKNOWN); /* /proc is missing */
    fake_root_write(fake, "proc/1/stat", "");
    fake_root_write(fake, "proc/42/stat", "");
    fake_root_write(fake, "proc/sys/x", "");
    assert_int_equal(process_count_read(&fake->root), 2);
    fake_root_write(fake, "proc/43/stat", "");
    assert_int_equal(process_count_read(&fake->root), 3);
}

/* ---- pressure -------------------------------------------------------------- */

TEST(pressure_is_read_from_the_some_line)
{
    uint64_t ns;

    assert_int_equal(pressure_parse("some avg10=0.81 avg60=0.56 avg300=0.21 total=2194262\n"
                                    "full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n",
                                    &ns),
                     0);
    assert_int_equal(ns, 2194262000);
    assert_int_equal(pressure_parse("full avg10=0.00 total=7\nsome avg10=0.00 total=8\n", &ns),
                     0);
    assert_int_equal(ns, 8000);
}

TEST(a_total_that_does_not_fit_is_unknown)
{
    uint64_t ns;

    assert_int_equal(pressure_parse("some avg10=0.00 total=18446744073709551614\n", &ns), 0);
    assert_true(ns == UNKNOWN);
}

TEST(damaged_pressure_is_refused)
{
    static const char *const damaged[] = {
        "",
        "some",
        "some \n",
        "some avg10=0.81 total=21",
        "some avg10=0.81 total=\n5\n",
        "some avg10=0.81 total=x\n",
        "some avg10=0.81\nfull avg10=0.00 total=7\n",
        "full avg10=0.00 total=7\n",
        "some avg10=0.00 total=99999999999999999999\n",
    };
    uint64_t ns = 5;

    for (size_t i = 0; i < ARRAY_SIZE(damaged); i++)
        assert_int_equal(pressure_parse(damaged[i], &ns), -EBADMSG);
    assert_int_equal(ns, 5); /* untouched on failure */
}

/* ---- vmstat ---------------------------------------------------------------- */

TEST(oom_kills_are_counted)
{
    uint64_t count;

    assert_int_equal(
        vmstat_parse_oom_kills("nr_free_pages 1\nxoom_kill 2\noom_kill 3\nswap_ra 4\n", &count),
        0);
    assert_int_equal(count, 3);
}

TEST(old_kernels_do_not_count_oom_kills)
{
    uint64_t count = 5;

    assert_int_equal(vmstat_parse_oom_kills("nr_free_pages 1\noom_killed 3\n", &count),
                     -ENOENT);
    assert_int_equal(vmstat_parse_oom_kills("", &count), -ENOENT);
    assert_int_equal(count, 5);
}

TEST(damaged_vmstat_is_refused)
{
    uint64_t count = 5;

    assert_int_equal(vmstat_parse_oom_kills("oom_kill 3", &count), -EBADMSG);
    assert_int_equal(vmstat_parse_oom_kills("oom_kill \n3\n", &count), -EBADMSG);
    assert_int_equal(vmstat_parse_oom_kills("oom_kill 99999999999999999999\n", &count),
                     -EBADMSG);
    assert_int_equal(count, 5); /* untouched on failure */
}

/* ---- host ------------------------------------------------------------------ */

static void write_machine(struct fake_root *fake)
{
    fake_root_write(fake, "proc/stat",
                    "cpu 100 0 200 300 400 0 0 5\ncpu0 100 0 200 300 400 0 0 5\n"
                    "intr 0\nprocesses 42\n");
    fake_root_write(fake, "proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 600 kB\n");
    fake_root_write(fake, "proc/diskstats", "8 0 sda 1 1 10 1 1 1 20 1\n");
    fake_root_write(fake, "proc/net/dev",
                    "heading\nheading\neth0: 7 0 0 0 0 0 0 0 8 0 0 0 0 0 0 0\n");
    fake_root_write(fake, "proc/pressure/cpu", "some avg10=0.00 total=1\n");
    fake_root_write(fake, "proc/pressure/memory", "some avg10=0.00 total=2\n");
    fake_root_write(fake, "proc/pressure/io", "some avg10=0.00 total=3\n");
    fake_root_write(fake, "proc/vmstat", "oom_kill 4\n");
}

struct machine {
    struct fake_root fake;
    struct host host;
};

static struct machine *machine_new(void)
{
    struct machine *machine = calloc(1, sizeof(*machine));

    assert_non_null(machine);
    fake_root_init(&machine->fake);
    host_init(&machine->host);
    return machine;
}

static void machine_free(struct machine *machine)
{
    host_done(&machine->host);
    host_done(&machine->host); /* a second call is harmless */
    fake_root_done(&machine->fake);
    free(machine);
}

TEST(a_reading_contains_every_figure)
{
    struct machine *machine = machine_new();
    struct host_reading reading;

    write_machine(&machine->fake);
    machine->host.ticks_per_second = 100;
    host_read(&machine->host, &machine->fake.root, 1, &reading);
    assert_int_equal(reading.cpu.user_ns, NS_PER_SECOND);
    assert_int_equal(reading.cpu.system_ns, 2 * NS_PER_SECOND);
    assert_int_equal(reading.cpu.cpus, 1);
    assert_int_equal(reading.memory.available_bytes, 600 * 1024);
    assert_int_equal(reading.disk.in, 5120);
    assert_int_equal(reading.disk.out, 10240);
    assert_int_equal(reading.network.in, 7);
    assert_int_equal(reading.network.out, 8);
    assert_int_equal(reading.pressure_ns[PRESSURE_CPU], 1000);
    assert_int_equal(reading.pressure_ns[PRESSURE_MEMORY], 2000);
    assert_int_equal(reading.pressure_ns[PRESSURE_IO], 3000);
    assert_int_equal(reading.oom_kills_count, 4);
    assert_true(reading.space.used_bytes == UNKNOWN); /* a fake root has no disks */
    assert_true(reading.process_count == UNKNOWN);    /* not requested */
    machine_free(machine);
}

TEST(added_or_removed_devices_cause_no_spike)
{
    struct machine *machine = machine_new();
    struct host_reading reading;

    write_machine(&machine->fake);
    host_read(&machine->host, &machine->fake.root, 1, &reading);
    fake_root_write(&machine->fake, "proc/net/dev",
                    "heading\nheading\nveth1: 9000 0 0 0 0 0 0 0 9000 0 0 0 0 0 0 0\n"
                    "eth0: 10 0 0 0 0 0 0 0 8 0 0 0 0 0 0 0\n");
    fake_root_write(&machine->fake, "proc/diskstats",
                    "8 0 sda 1 1 11 1 1 1 20 1\n8 16 sdb 1 1 9000 1 1 1 9000 1\n");
    host_read(&machine->host, &machine->fake.root, 2, &reading);
    assert_int_equal(reading.network.in, 10);
    assert_int_equal(reading.network.out, 8);
    assert_int_equal(reading.disk.in, 11 * 512);
    assert_int_equal(reading.disk.out, 20 * 512);
    fake_root_write(&machine->fake, "proc/net/dev",
                    "heading\nheading\neth0: 11 0 0 0 0 0 0 0 9 0 0 0 0 0 0 0\n");
    fake_root_write(&machine->fake, "proc/diskstats", "8 16 sdb 1 1 9001 1 1 1 9000 1\n");
    host_read(&machine->host, &machine->fake.root, 3, &reading);
    assert_int_equal(reading.network.in, 11);
    assert_int_equal(reading.network.out, 9);
    assert_int_equal(reading.disk.in, 12 * 512);
    assert_int_equal(reading.disk.out, 20 * 512);
    machine_free(machine);
}

TEST(processes_are_counted_on_request)
{
    struct machine *machine = machine_new();
    struct host_reading reading;

    fake_root_write(&machine->fake, "proc/1/stat", "");
    fake_root_write(&machine->fake, "proc/4242/stat", "");
    fake_root_write(&machine->fake, "proc/sys/x", "");
    machine->host.counts_processes = true;
    host_read(&machine->host, &machine->fake.root, 1, &reading);
    assert_int_equal(reading.process_count, 2);
    machine_free(machine);
}

TEST(without_files_every_figure_is_unknown)
{
    struct machine *machine = machine_new();
    struct host_reading reading;
    uint64_t figure;

    memset(&reading, 0, sizeof(reading));
    host_read(&machine->host, &machine->fake.root, 1, &reading);
    for (size_t i = 0; i < sizeof(reading) / sizeof(figure); i++) {
        memcpy(&figure, (const char *)&reading + i * sizeof(figure), sizeof(figure));
        assert_true(figure == UNKNOWN);
    }
    machine_free(machine);
}

TEST(a_damaged_file_makes_only_its_own_figures_unknown)
{
    struct machine *machine = machine_new();
    struct host_reading reading;

    write_machine(&machine->fake);
    fake_root_write(&machine->fake, "proc/meminfo", "MemTo");
    fake_root_write(&machine->fake, "proc/net/dev", "");
    host_read(&machine->host, &machine->fake.root, 1, &reading);
    assert_true(reading.memory.total_bytes == UNKNOWN);
    assert_true(reading.network.out == UNKNOWN);
    assert_int_equal(reading.disk.in, 5120);
    assert_int_equal(reading.cpu.cpus, 1);
    machine_free(machine);
}

TEST(the_start_of_an_overlong_file_is_used)
{
    static const char start[] = "cpu 100 0 200 300 400 0 0 5\ncpu0 1 0 2 3 4 0 0 5\nintr ";
    struct machine *machine = machine_new();
    char *text = malloc(2 * HOST_TEXT_SIZE);
    struct host_reading reading;

    assert_non_null(text);
    memset(text, '7', 2 * HOST_TEXT_SIZE);
    memcpy(text, start, strlen(start));
    text[2 * HOST_TEXT_SIZE - 1] = '\0';
    fake_root_write(&machine->fake, "proc/stat", text);
    fake_root_write(&machine->fake, "proc/diskstats", text);
    host_read(&machine->host, &machine->fake.root, 1, &reading);
    assert_true(reading.cpu.user_ns != UNKNOWN);
    assert_int_equal(reading.cpu.cpus, 1);
    assert_true(reading.disk.in == UNKNOWN);
    free(text);
    machine_free(machine);
}

TEST(slow_figures_are_read_once_a_minute_or_on_request)
{
    struct machine *machine = machine_new();
    struct host_reading reading;

    write_machine(&machine->fake);
    host_read(&machine->host, &machine->fake.root, 5 * NS_PER_SECOND, &reading);
    fake_root_write(&machine->fake, "proc/vmstat", "oom_kill 9\n");
    host_read(&machine->host, &machine->fake.root, 65 * NS_PER_SECOND - 1, &reading);
    assert_int_equal(reading.oom_kills_count, 4);
    host_read(&machine->host, &machine->fake.root, 65 * NS_PER_SECOND, &reading);
    assert_int_equal(reading.oom_kills_count, 9);
    fake_root_write(&machine->fake, "proc/vmstat", "oom_kill 10\n");
    host_expire(&machine->host);
    host_read(&machine->host, &machine->fake.root, 65 * NS_PER_SECOND + 1, &reading);
    assert_int_equal(reading.oom_kills_count, 10);
    machine_free(machine);
}

#define NFS_MOUNT "40 25 0:52 / /home rw - nfs4 server:/home rw\n"
#define NFS_STATS(bytes) \
    "device server:/home mounted on /home with fstype nfs4 statvers=1.1\n\tbytes:\t" bytes "\n"
#define PORT "sys/class/infiniband/mlx5_0/ports/1/counters/port_"

/* NFS traffic counts from the first reading. RDMA ports are searched for only after 100 ms,
 * to spare short commands the cost. */
TEST(rdma_and_nfs_traffic_is_counted_since_they_were_found)
{
    struct machine *machine = machine_new();
    struct host_reading reading;

    fake_root_write(&machine->fake, PORT "rcv_data", "100\n");
    fake_root_write(&machine->fake, PORT "xmit_data", "100\n");
    fake_root_write(&machine->fake, "proc/self/mountinfo", NFS_MOUNT);
    fake_root_write(&machine->fake, "proc/self/mountstats", NFS_STATS("1 1 1 1 10 20 1 1"));
    host_read(&machine->host, &machine->fake.root, NS_PER_SECOND, &reading);
    assert_int_equal(reading.nfs.in, 0);
    assert_true(reading.rdma.in == UNKNOWN);
    fake_root_write(&machine->fake, "proc/self/mountstats", NFS_STATS("1 1 1 1 11 22 1 1"));
    host_read(&machine->host, &machine->fake.root, NS_PER_SECOND + 99 * NS_PER_MS, &reading);
    assert_int_equal(reading.nfs.out, 2);
    assert_true(reading.rdma.in == UNKNOWN);
    host_read(&machine->host, &machine->fake.root, NS_PER_SECOND + 100 * NS_PER_MS, &reading);
    assert_int_equal(reading.rdma.in, 0);
    fake_root_write(&machine->fake, PORT "xmit_data", "107\n");
    fake_root_write(&machine->fake, "proc/self/mountstats", "damaged");
    host_read(&machine->host, &machine->fake.root, 2 * NS_PER_SECOND, &reading);
    assert_int_equal(reading.rdma.out, 28);
    assert_int_equal(reading.nfs.out, 2); /* the last known value */
    assert_false(
        machine->host.rdma.table.is_exact); /* the first tenth of a second is missing */
    assert_false(machine->host.nfs.table.is_exact);
    machine_free(machine);
}

/* On a live machine, mountstats is read only if mountinfo lists an NFS mount, and only as
 * often as the cost of a read allows. */
TEST(mountstats_is_read_only_if_nfs_is_mounted_and_not_too_often)
{
    struct machine *machine = machine_new();
    struct host_reading reading;

    machine->fake.root.is_live = true;
    fake_root_write(&machine->fake, "proc/self/mountinfo",
                    "21 25 0:20 / /x rw - nfsd nfsd rw\n"); /* an NFS server, not a client */
    fake_root_write(&machine->fake, "proc/self/mountstats", NFS_STATS("1 1 1 1 10 20 1 1"));
    host_read(&machine->host, &machine->fake.root, NS_PER_SECOND, &reading);
    assert_false(machine->host.space_reader.has_nfs);
    assert_int_equal(machine->host.nfs.due_ns, 0); /* not read */
    fake_root_write(&machine->fake, "proc/self/mountinfo", NFS_MOUNT);
    host_expire(&machine->host);
    host_read(&machine->host, &machine->fake.root, 2 * NS_PER_SECOND, &reading);
    assert_int_equal(reading.nfs.in, 0);
    fake_root_write(&machine->fake, "proc/self/mountstats", NFS_STATS("1 1 1 1 15 20 1 1"));
    host_read(&machine->host, &machine->fake.root, 2 * NS_PER_SECOND + 1, &reading);
    assert_int_equal(reading.nfs.in, 0);
    host_expire(&machine->host);
    host_read(&machine->host, &machine->fake.root, 2 * NS_PER_SECOND + 2, &reading);
    assert_int_equal(reading.nfs.in, 5);
    machine_free(machine);
}

TEST(missing_rdma_and_nfs_are_searched_again_every_ten_seconds)
{
    struct machine *machine = machine_new();
    struct host_reading reading;

    host_read(&machine->host, &machine->fake.root, NS_PER_SECOND, &reading);
    host_read(&machine->host, &machine->fake.root, 2 * NS_PER_SECOND, &reading);
    fake_root_write(&machine->fake, PORT "rcv_data", "100\n");
    fake_root_write(&machine->fake, PORT "xmit_data", "100\n");
    fake_root_write(&machine->fake, "proc/self/mountinfo", NFS_MOUNT);
    fake_root_write(&machine->fake, "proc/self/mountstats", NFS_STATS("1 1 1 1 10 20 1 1"));
    host_read(&machine->host, &machine->fake.root, 10 * NS_PER_SECOND, &reading);
    assert_true(reading.rdma.in == UNKNOWN && reading.nfs.in == UNKNOWN);
    host_read(&machine->host, &machine->fake.root, 12 * NS_PER_SECOND, &reading);
    assert_true(reading.rdma.in == 0 && reading.nfs.in == 0);
    machine_free(machine);
}

TEST(the_live_machine_can_be_read_again_and_again)
{
    struct machine *machine = machine_new();
    struct root root = ROOT_CLOSED;
    struct host_reading first, second;

    assert_int_equal(root_open(NULL, &root), 0);
    host_read(&machine->host, &root, 1, &first);
    host_read(&machine->host, &root, 2, &second);
    assert_true(first.cpu.cpus != UNKNOWN && first.cpu.cpus > 0);
    assert_int_equal(first.cpu.cpus, second.cpu.cpus);
    assert_true(first.cpu.user_ns <= second.cpu.user_ns);
    assert_true(second.memory.available_bytes <= second.memory.total_bytes);
    root_close(&root);
    machine_free(machine);
}
