/* SPDX-License-Identifier: Apache-2.0 */
/* The ladder of nvidia_namespace.h: which process is meant, seen from inside a container. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/unknown.h"
#include "nvidia_fixture.h"
#include "source/gpu/nvidia.h"

#define USED(bytes) "device 0 total 100000\ndevice 0 minor 3\ndevice 0 used " #bytes "\n"

static const char *const nothing[] = { "/dev/null", NULL };
static const char *const computes[] = { "/dev/nvidiactl", "/dev/nvidia3", "/dev/nvidia-uvm",
                                        NULL };
static const char *const watches[] = { "/dev/nvidiactl", "/dev/nvidia3", NULL };
static const pid_t job[] = { 10, 11, 0 };

static void make(struct machine *machine, bool is_container, const char *const *first,
                 const char *const *second)
{
    machine_init(machine, is_container);
    machine_add_process(machine, 10, first);
    machine_add_process(machine, 11, second);
}

static void listed_process_with_memory_is_used_as_told(void **state)
{
    struct machine machine;

    (void)state;
    make(&machine, true, computes, nothing);
    machine_open(&machine, USED(100) "process 0 compute 10 70\n");
    machine_read_processes(&machine, job);
    assert_int_equal(machine.process_count, 1);
    assert_int_equal(machine_process(&machine, 0, 10)->memory_bytes, 70);
    assert_false(machine_process(&machine, 0, 10)->is_attributed);
    machine_done(&machine);
}

static void memory_of_0_is_unknown_where_others_are_listed(void **state)
{
    struct machine machine;

    (void)state;
    make(&machine, true, computes, computes);
    machine_open(&machine, USED(100) "process 0 compute 10 0\nprocess 0 compute 11 0\n");
    machine_read_processes(&machine, job);
    assert_false(is_known(machine_process(&machine, 0, 10)->memory_bytes));
    assert_false(is_known(machine_process(&machine, 0, 11)->memory_bytes));
    assert_non_null(machine_process(&machine, 0, 10)->reason);
    machine_done(&machine);
}

static void memory_of_0_alone_is_what_the_device_grew_by(void **state)
{
    const struct gpu_process *process;
    struct machine machine;

    (void)state;
    make(&machine, true, nothing, nothing);
    machine_open(&machine, USED(100));
    machine_read_processes(&machine, job); /* nobody has it open yet */
    machine_play(&machine, USED(5000) "process 0 compute 10 0\n");
    machine_read_processes(&machine, job);
    process = machine_process(&machine, 0, 10);
    assert_int_equal(process->memory_bytes, 4900);
    assert_true(process->is_attributed);
    machine_done(&machine);
}

static void memory_of_0_outside_a_container_is_never_attributed(void **state)
{
    struct machine machine;

    (void)state;
    make(&machine, false, computes, nothing);
    machine_open(&machine, USED(100));
    machine_play(&machine, USED(5000) "process 0 compute 10 0\n");
    machine_read_processes(&machine, job);
    assert_false(is_known(machine_process(&machine, 0, 10)->memory_bytes));
    assert_false(machine_process(&machine, 0, 10)->is_attributed);
    machine_done(&machine);
}

static void one_foreign_entry_is_our_one_process(void **state)
{
    const struct gpu_process *process;
    struct machine machine;

    (void)state;
    make(&machine, true, computes, nothing);
    /* A driver before 535.113: the host's number, which our /proc does not show. */
    machine_open(&machine, USED(100) "process 0 compute 81234 600\n");
    machine_read_processes(&machine, job);
    process = machine_process(&machine, 0, 10);
    assert_int_equal(process->memory_bytes, 600);
    assert_true(process->is_attributed);
    assert_false(machine_has_process(&machine, 0, 81234)); /* not twice */
    machine_done(&machine);
}

static void entry_of_another_process_of_the_container_is_not_ours(void **state)
{
    struct machine machine;

    (void)state;
    make(&machine, true, computes, nothing);
    machine_add_process(&machine, 50, computes);
    machine_open(&machine, USED(100) "process 0 compute 50 600\n");
    machine_read_processes(&machine, job);
    assert_false(is_known(machine_process(&machine, 0, 10)->memory_bytes));
    assert_int_equal(machine_process(&machine, 0, 50)->memory_bytes, 600);
    machine_done(&machine);
}

static void two_foreign_entries_leave_us_without_an_answer(void **state)
{
    struct machine machine;

    (void)state;
    make(&machine, true, computes, nothing);
    machine_open(&machine,
                 USED(100) "process 0 compute 81234 600\nprocess 0 compute 81235 5\n");
    machine_read_processes(&machine, job);
    assert_false(is_known(machine_process(&machine, 0, 10)->memory_bytes));
    assert_non_null(machine_process(&machine, 0, 10)->reason);
    machine_done(&machine);
}

static void empty_list_attributes_what_the_device_grew_by(void **state)
{
    struct machine machine;

    (void)state;
    make(&machine, true, nothing, nothing);
    machine_open(&machine, USED(100));
    machine_read_processes(&machine, job);
    assert_int_equal(machine.process_count, 0);
    machine_add_process(&machine, 12, computes);
    machine_play(&machine, USED(900));
    machine_read_processes(&machine, (pid_t[]){ 10, 11, 12, 0 });
    assert_int_equal(machine.process_count, 1);
    assert_int_equal(machine_process(&machine, 0, 12)->memory_bytes, 800);
    assert_true(machine_process(&machine, 0, 12)->is_attributed);
    machine_done(&machine);
}

static void ladder_goes_on_where_the_list_is_refused(void **state)
{
    const char *refusal = USED(900) "fail nvmlDeviceGetComputeRunningProcesses_v3 4\n";
    struct machine machine;

    (void)state;
    make(&machine, true, nothing, nothing);
    machine_open(&machine, USED(100) "fail nvmlDeviceGetComputeRunningProcesses_v3 4\n");
    machine_read_processes(&machine, job);
    assert_int_equal(machine.process_count, 0); /* no one has it open */
    assert_null(machine_read(&machine, 0).process_memory_reason);
    machine_add_process(&machine, 12, computes);
    machine_play(&machine, refusal);
    machine_read_processes(&machine, (pid_t[]){ 10, 11, 12, 0 });
    assert_int_equal(machine_process(&machine, 0, 12)->memory_bytes, 800);
    assert_true(machine_process(&machine, 0, 12)->is_attributed);
    machine_add_process(&machine, 13, computes);
    machine_read_processes(&machine, (pid_t[]){ 10, 11, 12, 13, 0 });
    assert_false(is_known(machine_process(&machine, 0, 12)->memory_bytes));
    assert_non_null(strstr(machine_process(&machine, 0, 12)->reason, "permission denied"));
    machine_done(&machine);
}

static void job_that_was_there_first_leaves_no_baseline(void **state)
{
    struct machine machine;

    (void)state;
    make(&machine, true, computes, nothing);
    machine_open(&machine, USED(700));
    machine_play(&machine, USED(900));
    machine_read_processes(&machine, job);
    assert_false(is_known(machine_process(&machine, 0, 10)->memory_bytes));
    machine_done(&machine);
}

static void several_holders_are_not_split(void **state)
{
    struct machine machine;

    (void)state;
    make(&machine, true, nothing, nothing);
    machine_open(&machine, USED(100));
    machine_read_processes(&machine, job);
    machine_add_process(&machine, 12, computes);
    machine_add_process(&machine, 13, computes);
    machine_play(&machine, USED(900));
    machine_read_processes(&machine, (pid_t[]){ 10, 11, 12, 13, 0 });
    assert_int_equal(machine.process_count, 1);
    assert_false(is_known(machine_process(&machine, 0, 12)->memory_bytes));
    machine_done(&machine);
}

static void process_that_only_watches_the_device_does_not_use_it(void **state)
{
    struct machine machine;

    (void)state;
    make(&machine, true, watches, nothing);
    machine_open(&machine, USED(100));
    machine_read_processes(&machine, job);
    assert_int_equal(machine.process_count, 0);
    machine_done(&machine);
}

static void samples_of_the_one_foreigner_are_our_one_process(void **state)
{
    struct machine machine;

    (void)state;
    make(&machine, true, computes, nothing);
    machine_open(&machine, USED(100) "process 0 compute 10 70\n");
    machine_read_processes(&machine, job);
    machine_play(&machine, USED(100) "process 0 compute 10 70\nsample 0 gpu ~1000 50\n"
                                     "usage 0 81234 ~1000 50\n");
    machine_read_busy(&machine, job);
    assert_int_equal(machine_busy_percent(&machine, 0, 10), 50);
    assert_true(machine_process(&machine, 0, 10)->is_busy_attributed);
    machine_done(&machine);
}

/* Another container's process, which no list of ours has, holds 2 GiB and computes; ours is idle. */
static void samples_of_a_neighbour_are_not_ours(void **state)
{
    static const char *const devices[] = {
        /* ours with its memory */
        "device 0 used 2147483748\nprocess 0 compute 10 70\n",
        /* and with the 0 bytes of older drivers */
        "device 0 used 2147483748\nprocess 0 compute 10 0\n",
        /* alone but for another of this container */
        "device 0 used 170\nprocess 0 compute 10 70\nprocess 0 compute 50 100\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
        struct machine machine;
        char script[512];

        make(&machine, true, nothing, nothing);
        machine_add_process(&machine, 50, nothing);
        (void)snprintf(script, sizeof(script),
                       "device 0 total 9000000000\ndevice 0 minor 3\n%s", devices[i]);
        machine_open(&machine, script);
        machine_read_processes(&machine, job);
        (void)snprintf(script, sizeof(script),
                       "device 0 total 9000000000\ndevice 0 minor 3\n%s"
                       "sample 0 gpu ~1000 50\nusage 0 81234 ~1000 50\n",
                       devices[i]);
        machine_play(&machine, script);
        machine_read_busy(&machine, job);
        assert_false(is_known(machine_process(&machine, 0, 10)->busy_ns));
        assert_non_null(machine_process(&machine, 0, 10)->reason);
        machine_done(&machine);
    }
}

/* What was concluded before it came stands, and nothing is said of the time since. */
static void neighbour_that_comes_later_makes_busy_time_unknown(void **state)
{
    struct machine machine;

    (void)state;
    make(&machine, true, computes, nothing);
    machine_open(&machine, USED(100) "process 0 compute 10 70\n");
    machine_play(&machine, USED(100) "process 0 compute 10 70\nsample 0 gpu ~1000 50\n"
                                     "usage 0 81234 ~1000 50\n");
    machine_read_processes(&machine, job);
    machine_read_busy(&machine, job);
    assert_int_equal(machine_busy_percent(&machine, 0, 10), 50);
    machine_play(&machine, USED(2147483748) "process 0 compute 10 70\nsample 0 gpu ~2000 80\n"
                                            "usage 0 81235 ~2000 80\n");
    machine_read_busy(&machine, job);
    assert_false(is_known(machine_process(&machine, 0, 10)->busy_ns));
    machine_play(&machine, USED(100) "process 0 compute 10 70\nsample 0 gpu ~3000 50\n"
                                     "usage 0 81234 ~3000 50\n");
    machine_read_busy(&machine, job);
    assert_true(is_known(machine_process(&machine, 0, 10)->busy_ns));
    machine_done(&machine);
}

static void samples_are_ours_with_0_bytes_where_the_device_was_empty_before(void **state)
{
    struct machine machine;

    (void)state;
    make(&machine, true, nothing, nothing);
    machine_open(&machine, USED(100));
    machine_read_processes(&machine, job);
    machine_play(&machine, USED(5000) "process 0 compute 10 0\n");
    machine_read_processes(&machine, job);
    machine_play(&machine, USED(5000) "process 0 compute 10 0\nsample 0 gpu ~1000 50\n"
                                      "usage 0 81234 ~1000 50\n");
    machine_read_busy(&machine, job);
    assert_int_equal(machine_busy_percent(&machine, 0, 10), 50);
    machine_done(&machine);
}

/* Before 535.113 lists and samples have the same numbers. */
static void samples_of_the_one_listed_foreigner_are_ours(void **state)
{
    static const char *const numbers[] = { "81234", "81235" };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct machine machine;
        char script[256];

        make(&machine, true, computes, nothing);
        machine_open(&machine, USED(100) "process 0 compute 81234 70\n");
        machine_read_processes(&machine, job);
        (void)snprintf(script, sizeof(script),
                       USED(100) "process 0 compute 81234 70\nsample 0 gpu ~1000 50\n"
                                 "usage 0 %s ~1000 50\n",
                       numbers[i]);
        machine_play(&machine, script);
        machine_read_busy(&machine, job);
        assert_int_equal(is_known(machine_process(&machine, 0, 10)->busy_ns), i == 0);
        machine_done(&machine);
    }
}

static void samples_of_two_foreigners_are_unknown_with_a_reason(void **state)
{
    struct machine machine;

    (void)state;
    make(&machine, true, computes, nothing);
    machine_open(&machine, USED(100) "process 0 compute 10 70\n");
    machine_read_processes(&machine, job);
    machine_play(&machine, USED(100) "process 0 compute 10 70\nsample 0 gpu ~1000 100\n"
                                     "usage 0 81234 ~1000 50\nusage 0 81235 ~1000 50\n");
    machine_read_busy(&machine, job);
    assert_int_equal(machine_process(&machine, 0, 10)->memory_bytes, 70);
    assert_false(is_known(machine_process(&machine, 0, 10)->busy_ns));
    assert_non_null(machine_process(&machine, 0, 10)->reason);
    machine_done(&machine);
}

static void samples_under_a_number_of_the_hosts_proc_are_looked_up(void **state)
{
    struct machine machine;

    (void)state;
    make(&machine, true, computes, computes);
    fake_root_write(&machine.fake, "proc/self/status", "Name:\tspoor\nNSpid:\t900\t9\n");
    fake_root_write(&machine.fake, "proc/81234/status", "Name:\tx\nNSpid:\t81234\t11\n");
    fake_root_write(&machine.fake, "proc/81235/status", "Name:\tx\nNSpid:\t81235\n");
    machine_open(&machine, USED(100) "process 0 compute 10 70\nprocess 0 compute 11 5\n");
    machine_read_processes(&machine, job);
    machine_play(&machine, USED(100) "process 0 compute 10 70\nprocess 0 compute 11 5\n"
                                     "sample 0 gpu ~1000 99\nusage 0 81234 ~1000 90\n"
                                     "usage 0 81235 ~1000 7\n");
    machine_read_busy(&machine, job);
    assert_int_equal(machine_busy_percent(&machine, 0, 11), 90);
    machine_done(&machine);
}

/* It computes in bursts, on a device that a neighbour has too. */
static void samples_that_were_nobodys_are_so_after_a_rest(void **state)
{
    struct machine machine;

    (void)state;
    make(&machine, true, computes, nothing);
    machine_open(&machine, USED(100) "process 0 compute 10 70\n");
    machine_read_processes(&machine, job);
    machine_play(&machine, USED(100) "process 0 compute 10 70\nsample 0 gpu ~1000 100\n"
                                     "usage 0 81234 ~1000 50\nusage 0 81235 ~1000 50\n");
    machine_read_busy(&machine, job);
    machine_play(&machine, USED(100) "process 0 compute 10 70\nsample 0 gpu ~1000 100\n"
                                     "sample 0 gpu ~2000 0\n");
    machine_read_busy(&machine, job);
    assert_false(is_known(machine_process(&machine, 0, 10)->busy_ns));
    machine_done(&machine);
}

/* CUDA opens all devices, whichever it uses. */
static void a_device_that_is_merely_open_is_not_used(void **state)
{
    static const char *const both[] = { "/dev/nvidia3", "/dev/nvidia4", "/dev/nvidia-uvm",
                                        NULL };
    static const char devices[] = USED(100) "device 1 total 100000\ndevice 1 minor 4\n"
                                            "device 1 used 50\n";
    struct machine machine;
    char script[400];

    (void)state;
    make(&machine, true, both, both);
    machine_open(&machine, devices);
    machine_read_processes(&machine, job);
    assert_false(is_known(machine_process(&machine, 1, 10)->memory_bytes)); /* so far */
    (void)snprintf(script, sizeof(script), "%sprocess 0 compute 10 70\n", devices);
    machine_play(&machine, script);
    machine_read_processes(&machine, job);
    assert_int_equal(machine.process_count, 1);
    assert_int_equal(machine_process(&machine, 0, 10)->memory_bytes, 70);
    machine_done(&machine);
}

/* The host's 11 computes; ours does not have the device open. */
static void samples_of_a_stranger_with_a_number_of_ours_are_not_ours(void **state)
{
    struct machine machine;

    (void)state;
    make(&machine, true, computes, nothing);
    machine_open(&machine, USED(100) "process 0 compute 10 70\n");
    machine_read_processes(&machine, job);
    machine_play(&machine, USED(100) "process 0 compute 10 70\nsample 0 gpu ~1000 100\n"
                                     "usage 0 11 ~1000 60\nusage 0 81234 ~1000 40\n");
    machine_read_busy(&machine, job);
    assert_false(machine_has_process(&machine, 0, 11));
    assert_false(
        is_known(machine_process(&machine, 0, 10)->busy_ns)); /* one of the two is it */
    machine_done(&machine);
}

static void ended_neighbour_outside_a_container_is_not_mistaken_for_us(void **state)
{
    struct machine machine;

    (void)state;
    make(&machine, false, computes, nothing);
    machine_open(&machine, USED(100) "process 0 compute 10 70\n");
    machine_read_processes(&machine, job);
    machine_play(&machine, USED(100) "process 0 compute 10 70\nsample 0 gpu ~1000 50\n"
                                     "usage 0 81234 ~1000 50\n");
    machine_read_busy(&machine, job);
    assert_int_equal(machine_process(&machine, 0, 10)->busy_ns, 0); /* it had no sample */
    machine_done(&machine);
}

/* They are kept under the host's numbers: one that is the same as ours is another process. */
static void accounts_are_not_those_of_a_container(void **state)
{
    struct gpu_pids pids = { .list = job, .count = 2 };
    struct gpu_account account;
    struct machine machine;

    (void)state;
    make(&machine, true, computes, nothing);
    machine_open(&machine, USED(100) "process 0 compute 10 70\ndevice 0 accounting 1\n"
                                     "account 0 10 4096 2000 9000000000000000 0 50\n");
    assert_int_equal(gpu_nvidia.accounts(machine.vendor, &pids, &account, 1), 0);
    machine_done(&machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(listed_process_with_memory_is_used_as_told),
        cmocka_unit_test(memory_of_0_is_unknown_where_others_are_listed),
        cmocka_unit_test(memory_of_0_alone_is_what_the_device_grew_by),
        cmocka_unit_test(memory_of_0_outside_a_container_is_never_attributed),
        cmocka_unit_test(one_foreign_entry_is_our_one_process),
        cmocka_unit_test(entry_of_another_process_of_the_container_is_not_ours),
        cmocka_unit_test(two_foreign_entries_leave_us_without_an_answer),
        cmocka_unit_test(empty_list_attributes_what_the_device_grew_by),
        cmocka_unit_test(ladder_goes_on_where_the_list_is_refused),
        cmocka_unit_test(job_that_was_there_first_leaves_no_baseline),
        cmocka_unit_test(several_holders_are_not_split),
        cmocka_unit_test(process_that_only_watches_the_device_does_not_use_it),
        cmocka_unit_test(samples_of_the_one_foreigner_are_our_one_process),
        cmocka_unit_test(samples_of_a_neighbour_are_not_ours),
        cmocka_unit_test(neighbour_that_comes_later_makes_busy_time_unknown),
        cmocka_unit_test(samples_are_ours_with_0_bytes_where_the_device_was_empty_before),
        cmocka_unit_test(samples_of_the_one_listed_foreigner_are_ours),
        cmocka_unit_test(samples_of_two_foreigners_are_unknown_with_a_reason),
        cmocka_unit_test(samples_under_a_number_of_the_hosts_proc_are_looked_up),
        cmocka_unit_test(samples_that_were_nobodys_are_so_after_a_rest),
        cmocka_unit_test(a_device_that_is_merely_open_is_not_used),
        cmocka_unit_test(samples_of_a_stranger_with_a_number_of_ours_are_not_ours),
        cmocka_unit_test(ended_neighbour_outside_a_container_is_not_mistaken_for_us),
        cmocka_unit_test(accounts_are_not_those_of_a_container),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
