/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/unknown.h"
#include "fake_root.h"
#include "source/host/host.h"

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
    host_done(&machine->host); /* twice does no harm */
    fake_root_done(&machine->fake);
    free(machine);
}

static void a_reading_holds_every_figure(void **state)
{
    struct machine *machine = machine_new();
    struct host_reading reading;

    (void)state;
    write_machine(&machine->fake);
    machine->host.ticks_per_second = 100;
    host_read(&machine->host, &machine->fake.root, 1, &reading);
    assert_int_equal(reading.cpu.user_ns, NS_PER_SECOND);
    assert_int_equal(reading.cpu.system_ns, 2 * NS_PER_SECOND);
    assert_int_equal(reading.cpu.cpus, 1);
    assert_int_equal(reading.memory.available_bytes, 600 * 1024);
    assert_int_equal(reading.disk.read_bytes, 5120);
    assert_int_equal(reading.disk.written_bytes, 10240);
    assert_int_equal(reading.network.received_bytes, 7);
    assert_int_equal(reading.network.sent_bytes, 8);
    assert_int_equal(reading.pressure_ns[PRESSURE_CPU], 1000);
    assert_int_equal(reading.pressure_ns[PRESSURE_MEMORY], 2000);
    assert_int_equal(reading.pressure_ns[PRESSURE_IO], 3000);
    assert_int_equal(reading.oom_kills_count, 4);
    assert_true(reading.space.used_bytes == UNKNOWN); /* a fixture has no disks to ask */
    assert_true(reading.process_count == UNKNOWN);    /* nobody wants to know */
    machine_free(machine);
}

static void a_device_that_comes_or_goes_is_no_spike(void **state)
{
    struct machine *machine = machine_new();
    struct host_reading reading;

    (void)state;
    write_machine(&machine->fake);
    host_read(&machine->host, &machine->fake.root, 1, &reading);
    fake_root_write(&machine->fake, "proc/net/dev",
                    "heading\nheading\nveth1: 9000 0 0 0 0 0 0 0 9000 0 0 0 0 0 0 0\n"
                    "eth0: 10 0 0 0 0 0 0 0 8 0 0 0 0 0 0 0\n");
    fake_root_write(&machine->fake, "proc/diskstats",
                    "8 0 sda 1 1 11 1 1 1 20 1\n8 16 sdb 1 1 9000 1 1 1 9000 1\n");
    host_read(&machine->host, &machine->fake.root, 2, &reading);
    assert_int_equal(reading.network.received_bytes, 10);
    assert_int_equal(reading.network.sent_bytes, 8);
    assert_int_equal(reading.disk.read_bytes, 11 * 512);
    assert_int_equal(reading.disk.written_bytes, 20 * 512);
    fake_root_write(&machine->fake, "proc/net/dev",
                    "heading\nheading\neth0: 11 0 0 0 0 0 0 0 9 0 0 0 0 0 0 0\n");
    fake_root_write(&machine->fake, "proc/diskstats", "8 16 sdb 1 1 9001 1 1 1 9000 1\n");
    host_read(&machine->host, &machine->fake.root, 3, &reading);
    assert_int_equal(reading.network.received_bytes, 11);
    assert_int_equal(reading.network.sent_bytes, 9);
    assert_int_equal(reading.disk.read_bytes, 12 * 512);
    assert_int_equal(reading.disk.written_bytes, 20 * 512);
    machine_free(machine);
}

static void processes_are_counted_if_that_is_wanted(void **state)
{
    struct machine *machine = machine_new();
    struct host_reading reading;

    (void)state;
    fake_root_write(&machine->fake, "proc/1/stat", "");
    fake_root_write(&machine->fake, "proc/4242/stat", "");
    fake_root_write(&machine->fake, "proc/sys/x", "");
    machine->host.counts_processes = true;
    host_read(&machine->host, &machine->fake.root, 1, &reading);
    assert_int_equal(reading.process_count, 2);
    machine_free(machine);
}

static void a_machine_that_tells_nothing_is_unknown(void **state)
{
    struct machine *machine = machine_new();
    struct host_reading reading;
    uint64_t figure;

    (void)state;
    memset(&reading, 0, sizeof(reading));
    host_read(&machine->host, &machine->fake.root, 1, &reading);
    for (size_t i = 0; i < sizeof(reading) / sizeof(figure); i++) {
        memcpy(&figure, (const char *)&reading + i * sizeof(figure), sizeof(figure));
        assert_true(figure == UNKNOWN);
    }
    machine_free(machine);
}

static void a_damaged_file_costs_only_its_own_figures(void **state)
{
    struct machine *machine = machine_new();
    struct host_reading reading;

    (void)state;
    write_machine(&machine->fake);
    fake_root_write(&machine->fake, "proc/meminfo", "MemTo");
    fake_root_write(&machine->fake, "proc/net/dev", "");
    host_read(&machine->host, &machine->fake.root, 1, &reading);
    assert_true(reading.memory.total_bytes == UNKNOWN);
    assert_true(reading.network.sent_bytes == UNKNOWN);
    assert_int_equal(reading.disk.read_bytes, 5120);
    assert_int_equal(reading.cpu.cpus, 1);
    machine_free(machine);
}

static void of_a_file_that_does_not_fit_the_start_is_used(void **state)
{
    static const char start[] = "cpu 100 0 200 300 400 0 0 5\ncpu0 1 0 2 3 4 0 0 5\nintr ";
    struct machine *machine = machine_new();
    char *text = malloc(2 * HOST_TEXT_SIZE);
    struct host_reading reading;

    (void)state;
    assert_non_null(text);
    memset(text, '7', 2 * HOST_TEXT_SIZE);
    memcpy(text, start, strlen(start));
    text[2 * HOST_TEXT_SIZE - 1] = '\0';
    fake_root_write(&machine->fake, "proc/stat", text);
    fake_root_write(&machine->fake, "proc/diskstats", text);
    host_read(&machine->host, &machine->fake.root, 1, &reading);
    assert_true(reading.cpu.user_ns != UNKNOWN);
    assert_int_equal(reading.cpu.cpus, 1);
    assert_true(reading.disk.read_bytes == UNKNOWN);
    free(text);
    machine_free(machine);
}

static void slow_figures_are_read_once_a_minute_or_when_asked(void **state)
{
    struct machine *machine = machine_new();
    struct host_reading reading;

    (void)state;
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

static void the_live_machine_can_be_read_again_and_again(void **state)
{
    struct machine *machine = machine_new();
    struct root root = ROOT_CLOSED;
    struct host_reading first, second;

    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reading_holds_every_figure),
        cmocka_unit_test(a_device_that_comes_or_goes_is_no_spike),
        cmocka_unit_test(processes_are_counted_if_that_is_wanted),
        cmocka_unit_test(a_machine_that_tells_nothing_is_unknown),
        cmocka_unit_test(a_damaged_file_costs_only_its_own_figures),
        cmocka_unit_test(of_a_file_that_does_not_fit_the_start_is_used),
        cmocka_unit_test(slow_figures_are_read_once_a_minute_or_when_asked),
        cmocka_unit_test(the_live_machine_can_be_read_again_and_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
