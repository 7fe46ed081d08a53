/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions on a machine with GPUs: lists of GPUs, phases, attribution. */
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/clock.h"
#include "job/gpu/gpu_watch.h"
#include "nvidia_fixture.h"
#include "sample/origins.h"
#include "source/gpu/nvidia.h"
#include "unit_test.h"

#define GB 1000000000.0
#define CARD                                                                            \
    "device 0 uuid GPU-1\ndevice 0 name H200\ndevice 0 pci 0:3:0\ndevice 0 total 100\n" \
    "device 0 used 50\n"

static void collect(const struct spoor_gpu *gpu, void *data)
{
    char *text = data;

    (void)snprintf(text + strlen(text), 200 - strlen(text), "%u %s %s %s %s %llu %d;",
                   gpu->index, gpu->uuid, gpu->name, gpu->vendor, gpu->pci_address,
                   (unsigned long long)gpu->memory_bytes, gpu->is_selected);
}

MACHINE_TEST(the_gpus_of_a_machine_are_listed)
{
    struct machine *machine = *state;
    struct spoor_error err = { 0 };
    char text[200] = "";

    machine_play(machine, CARD);
    assert_int_equal(spoor_gpu_list(NULL, NULL, collect, text, &err), 0);
    assert_string_equal(text, "0 GPU-1 H200 nvidia 0000:03:00.0 100 1;");
    text[0] = '\0';
    assert_int_equal(spoor_gpu_list(NULL, "none", collect, text, &err), 0);
    assert_string_equal(text, "0 GPU-1 H200 nvidia 0000:03:00.0 100 0;");
    assert_int_equal(spoor_gpu_list(NULL, "7", collect, text, &err), -ENOENT);
    assert_string_equal(err.message,
                        "--gpus: no GPU '7'; this machine has only GPU 0 (see 'spoor info')");
    assert_int_equal(spoor_gpu_list(NULL, "1;2", collect, text, &err), -EINVAL);
    assert_int_equal(spoor_gpu_list("/nowhere", NULL, collect, text, &err), -ENOENT);
    machine_play(machine, CARD "fail nvmlInit 18\n");
    assert_int_equal(spoor_gpu_list(NULL, NULL, collect, text, &err), -ELIBBAD);
    assert_non_null(strstr(err.message, "nvidia GPUs: "));
    /* Listing the GPUs must not start counters: each start would take milliseconds. */
    assert_int_equal(machine_calls(machine, "nvmlDeviceGetTotalEnergyConsumption"), 0);
}

static void collect_places(const struct spoor_gpu *gpu, void *data)
{
    char *text = data;

    (void)snprintf(text + strlen(text), 200 - strlen(text), "%s %u %d %d;", gpu->uuid,
                   gpu->index, gpu->part, gpu->is_selected);
}

/* Parts keep the driver's numbers and do not change the numbers of the next GPUs. */
MACHINE_TEST(mig_parts_are_numbered_within_their_gpu)
{
    struct machine *machine = *state;
    static const char script[] = CARD "device 0 mig 1\ndevice 0.0 uuid MIG-0\n"
                                      "device 0.2 uuid MIG-2\ndevice 1 uuid GPU-2\n"
                                      "device 1 pci 0:4:0\n";
    struct spoor_error err = { 0 };
    char text[200] = "";

    machine_play(machine, script);
    assert_int_equal(spoor_gpu_list(NULL, "0:2,1", collect_places, text, &err), 0);
    assert_string_equal(text, "GPU-1 0 -1 0;MIG-0 0 0 0;MIG-2 0 2 1;GPU-2 1 -1 1;");
}

/* Returns whether this process has a thread with this name. */
static bool has_thread(const char *name)
{
    DIR *folder = opendir("/proc/self/task");
    bool is_found = false;

    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char path[300], comm[32] = "";
        FILE *file;

        (void)snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
        file = fopen(path, "re");
        if (!file)
            continue; /* the thread has exited, or the entry is not a thread */
        is_found |= fgets(comm, sizeof(comm), file) && strncmp(comm, name, strlen(name)) == 0;
        (void)fclose(file);
    }
    (void)closedir(folder);
    return is_found;
}

TEST(a_driver_that_does_not_respond_is_not_waited_for)
{
    struct spoor_error err = { 0 };
    struct machine machine;
    char text[200] = "";

    machine_init(&machine, false);
    machine_play(&machine, CARD "block nvmlInit 60000\n");
    assert_int_equal(spoor_gpu_list(NULL, NULL, collect, text, &err), -ETIMEDOUT);
    assert_string_equal(err.message, "the GPU driver did not respond within 2 s");
    assert_string_equal(text, "");
    assert_true(has_thread("spoor-gpu-list"));
    machine_play(&machine, CARD); /* unblocks the driver, so that the abandoned thread ends */
    while (has_thread("spoor-gpu-list"))
        (void)usleep(1000);
    machine_done(&machine); /* the driver writes its calls to the folder until then */
}

TEST(a_session_with_an_invalid_list_of_gpus_is_refused)
{
    struct spoor_options options = SPOOR_OPTIONS_INIT;
    struct spoor_error err = { 0 };
    spoor_session *session;

    options.pid = getpid();
    options.gpus = "0,,1";
    assert_int_equal(spoor_session_open(&options, &session, &err), -EINVAL);
    assert_memory_equal(err.message, "gpus: ", 6);
}

static double peak_of(spoor_session *session)
{
    struct spoor_figure figure;
    struct spoor_error err;

    assert_int_equal(spoor_session_figure(session, "gpu.memory.combined_bytes", &figure, &err),
                     0);
    return figure.value;
}

/* Takes samples until the current memory is `bytes`; NaN: until it is unknown. */
static void wait_for_memory(spoor_session *session, double bytes)
{
    double values[256];
    size_t metric = 0;

    while (strcmp(spoor_metric_get(metric)->name, "job_gpu_memory_bytes") != 0)
        metric++;
    for (;;) {
        const struct timespec pause = { .tv_nsec = 2000000 };

        assert_int_equal(spoor_session_sample(session, NULL), 0);
        assert_true(spoor_session_latest(session, values, 256) > 0);
        if (isnan(bytes) ? isnan(values[metric]) : fabs(values[metric] - bytes) < 0.5)
            return;
        (void)nanosleep(&pause, NULL);
    }
}

static void play_memory(struct machine *machine, unsigned long long bytes)
{
    char script[400];

    (void)snprintf(script, sizeof(script),
                   CARD "device 0 total 9000000000\nprocess 0 compute %d %llu\n", (int)getpid(),
                   bytes);
    machine_play(machine, script);
}

/* Returns the report as JSON, which the caller frees. */
static char *report_of(spoor_session *session)
{
    FILE *file = tmpfile();
    char *text = calloc(1, 1 << 20);

    assert_non_null(file);
    assert_non_null(text);
    assert_int_equal(spoor_session_write(session, SPOOR_JSON, 0, fileno(file), NULL), 0);
    assert_true(pread(fileno(file), text, (1 << 20) - 1, 0) > 0);
    (void)fclose(file);
    return text;
}

MACHINE_TEST(a_phase_has_the_peak_of_its_own_time)
{
    struct machine *machine = *state;
    struct spoor_options options = SPOOR_OPTIONS_INIT;
    struct spoor_error err = { 0 };
    spoor_session *session;
    char text[200] = "";
    const char *phase;
    char *report;

    play_memory(machine, 5000000000);
    options.pid = getpid();
    options.interval_ns = SPOOR_INTERVAL_MAX_NS;
    assert_int_equal(spoor_session_open(&options, &session, &err), 0);
    assert_int_equal(spoor_session_start(session, &err), 0);
    wait_for_memory(session, 5 * GB);
    assert_int_equal(spoor_session_gpus(session, collect, text, &err), 0);
    assert_string_equal(text, "0 GPU-1 H200 nvidia 0000:03:00.0 9000000000 1;");
    play_memory(machine, 2000000000);
    wait_for_memory(session, 2 * GB);
    assert_int_equal(spoor_phase_start(session, "small", &err), 0);
    play_memory(machine, 3000000000);
    wait_for_memory(session, 3 * GB);
    assert_int_equal(spoor_phase_stop(session, "small", &err), 0);
    assert_true(fabs(peak_of(session) - 5 * GB) < 0.5);
    report = report_of(session);
    phase = strstr(report, "\"phases\"");
    assert_non_null(phase);
    assert_non_null(strstr(phase, "\"combined_bytes\": {\"value\": 3000000000,"));
    assert_null(strstr(phase, "\"devices\"")); /* a phase has only totals */
    free(report);
    session = spoor_session_close(session);
}

/* Memory is unknown once and 0 otherwise, so the peak of the run is unknown. The peak of a
 * later phase and the current memory are known. */
MACHINE_TEST(a_phase_does_not_inherit_earlier_unknown_values)
{
    struct machine *machine = *state;
    struct spoor_options options = SPOOR_OPTIONS_INIT;
    struct spoor_error err = { 0 };
    spoor_session *session;
    const char *phases;
    char *report;

    machine_play(machine, CARD);
    options.pid = getpid();
    options.interval_ns = SPOOR_INTERVAL_MAX_NS;
    assert_int_equal(spoor_session_open(&options, &session, &err), 0);
    assert_int_equal(spoor_session_start(session, &err), 0);
    wait_for_memory(session, 0);
    play_memory(machine, UNKNOWN);
    wait_for_memory(session, nan(""));
    machine_play(machine, CARD);
    wait_for_memory(session, 0);
    assert_int_equal(spoor_phase_start(session, "later", &err), 0);
    assert_int_equal(spoor_phase_stop(session, "later", &err), 0);
    assert_int_equal(spoor_session_sample(session, &err), 0);
    assert_true(isnan(peak_of(session)));
    report = report_of(session);
    phases = strstr(report, "\"phases\"");
    assert_non_null(phases);
    assert_non_null(strstr(phases, "\"combined_bytes\": {\"value\": 0,"));
    free(report);
    session = spoor_session_close(session);
}

/* The stop comes while the first look opens the driver: its result is collected afterwards. */
MACHINE_TEST(a_process_has_its_memory_if_the_first_look_ends_after_the_stop)
{
    struct machine *machine = *state;
    struct spoor_options options = SPOOR_OPTIONS_INIT;
    struct spoor_process process = { 0 };
    struct spoor_error err = { 0 };
    spoor_session *session;
    char script[300];

    (void)snprintf(
        script, sizeof(script),
        CARD
        "cost nvmlInit 100000\ndevice 0 total 9000000000\nprocess 0 compute %d 5000000000\n",
        (int)getpid());
    machine_play(machine, script);
    options.pid = getpid();
    options.interval_ns = SPOOR_INTERVAL_MAX_NS;
    assert_int_equal(spoor_session_open(&options, &session, &err), 0);
    assert_int_equal(spoor_session_start(session, &err), 0);
    while (machine_calls(machine, "nvmlInit") == 0)
        (void)usleep(1000);
    assert_int_equal(spoor_session_stop(session, &err), 0);
    assert_true(fabs(peak_of(session) - 5 * GB) < 0.5);
    assert_int_equal(spoor_session_processes(session, &process, 1), 1);
    assert_true(fabs(process.gpu_memory_bytes - 5 * GB) < 0.5);
    session = spoor_session_close(session);
}

/* In a container, samples have the pids of the host. */
TEST(busy_time_attributed_to_an_unlisted_process_has_its_own_source)
{
    const struct gpu_vendor *const vendors[] = { &gpu_nvidia };
    struct origin origins[METRIC_COUNT];
    struct gpu_choice choice = { 0 };
    struct gpu_owners owners = { .main_pid = 41 };
    struct gpu_watch_options options = {
        .vendors = vendors, .vendor_count = 1, .choice = &choice, .owners = &owners
    };
    struct gpu_view view = { .state = GPU_READY };
    struct gpu_watch watch;
    struct machine machine;

    machine_init(&machine, true);
    machine.began_us = clock_now().realtime_ns / NS_PER_US;
    machine_play(&machine, CARD);
    assert_int_equal(gpu_owners_set(&owners, 41, 0), 0);
    assert_int_equal(gpu_watch_open(&watch, &machine.fake.root, &options), 0);
    gpu_watch_read(&watch, clock_now().monotonic_ns, true);
    machine_play(&machine, CARD "device 0 used 80\nprocess 0 compute 41 30\n");
    gpu_watch_read(&watch, clock_now().monotonic_ns, true);
    assert_string_equal(gpu_watch_totals(&watch).measures[GPU_TOTAL_JOB_BUSY].origin.source,
                        "nvml.process_samples");
    machine_play(&machine, CARD "device 0 used 80\nprocess 0 compute 41 30\n"
                                "sample 0 gpu ~1000 50\nusage 0 81234 ~1000 50\n");
    gpu_watch_read(&watch, clock_now().monotonic_ns, true);
    assert_int_equal(watch.account.totals.measures[GPU_TOTAL_MAIN_MEMORY].value, 30);
    view.totals = gpu_watch_totals(&watch);
    origins_init(origins);
    origins_update_gpus(origins, &view);
    assert_string_equal(origins[METRIC_MAIN_GPU_MEMORY].source, "nvml.processes");
    assert_string_equal(origins[METRIC_JOB_GPU_BUSY].source, "attributed");
    gpu_watch_close(&watch);
    gpu_owners_done(&owners);
    machine_done(&machine);
}
