/* SPDX-License-Identifier: Apache-2.0 */
#include "job/gpu/gpu_watch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/clock.h"
#include "base/unknown.h"
#include "source/proc/cpu_clock.h"

#define OTHERS_EVERY_NS (5 * NS_PER_SECOND)
enum { ROWS_MAX = 1 << 16, CLOCKS_MAX = 64 };

static int place_devices(struct gpu_watch *watch)
{
    const struct gpu_inventory *inventory = &watch->inventory;

    for (size_t i = 0; i < inventory->opened_count; i++) {
        watch->places[i] = calloc(inventory->count, sizeof(*watch->places[i]));
        if (!watch->places[i])
            return -ENOMEM;
    }
    for (size_t i = 0; i < inventory->count; i++)
        watch->places[inventory->units[i].opened][inventory->units[i].number] = i;
    return 0;
}

static void begin_counting(const struct gpu_inventory *inventory)
{
    for (size_t i = 0; i < inventory->opened_count; i++) {
        const struct gpu_opened *opened = &inventory->opened[i];

        if (opened->vendor->begin)
            opened->vendor->begin(opened->state);
    }
}

int gpu_watch_open(struct gpu_watch *watch, const struct root *root,
                   const struct gpu_watch_options *options)
{
    int r;

    *watch = (struct gpu_watch){ .root = root,
                                 .is_for_host = options->is_for_host,
                                 .read_cpu_ns = UNKNOWN,
                                 .account_bytes = UNKNOWN };
    gpu_rest_init(&watch->rest);
    r = gpu_inventory_open(&watch->inventory, root, options->vendors, options->vendor_count,
                           options->choice);
    if (r < 0)
        return r;
    begin_counting(&watch->inventory);
    r = place_devices(watch);
    if (r == 0)
        r = gpu_kin_init(&watch->kin, options->main_pid, options->tracker_pid);
    watch->kin.is_main_only = options->is_main_only;
    if (r == 0)
        r = gpu_tally_init(&watch->tally, watch->inventory.units, watch->inventory.count,
                           options->start_ns);
    if (r < 0)
        gpu_watch_close(watch);
    return r;
}

void gpu_watch_close(struct gpu_watch *watch)
{
    for (size_t i = 0; i < GPU_VENDORS_MAX; i++) {
        free(watch->places[i]);
        watch->places[i] = NULL;
    }
    free(watch->processes);
    free(watch->rows);
    watch->processes = NULL;
    watch->rows = NULL;
    gpu_tally_done(&watch->tally);
    gpu_kin_done(&watch->kin);
    gpu_inventory_close(&watch->inventory);
}

/* Room for `count` of either. */
static int reserve(struct gpu_watch *watch, size_t count)
{
    if (count > watch->process_capacity) {
        struct gpu_process *processes =
            realloc(watch->processes, 2 * count * sizeof(*processes));

        if (!processes)
            return -ENOMEM;
        watch->processes = processes;
        watch->process_capacity = 2 * count;
    }
    if (watch->row_count + count > watch->row_capacity) {
        size_t capacity = 2 * (watch->row_count + count);
        struct gpu_row *rows = realloc(watch->rows, capacity * sizeof(*rows));

        if (!rows)
            return -ENOMEM;
        watch->rows = rows;
        watch->row_capacity = capacity;
    }
    return 0;
}

/* A vendor's list of processes. Where it has grown meanwhile it is asked again. */
static ssize_t ask_processes(struct gpu_watch *watch, const struct gpu_opened *opened)
{
    struct gpu_pids pids = gpu_kin_pids(&watch->kin);
    ssize_t n = 64;

    for (int tries = 0; tries < 4; tries++) {
        if (n > ROWS_MAX || reserve(watch, (size_t)n) < 0)
            return -ENOMEM;
        n = opened->vendor->processes(opened->state, &pids, watch->processes,
                                      watch->process_capacity);
        if (n <= (ssize_t)watch->process_capacity)
            break;
    }
    return n > (ssize_t)watch->process_capacity ? (ssize_t)watch->process_capacity : n;
}

/* What was seen of devices while their processes were listed. */
static void see_devices(struct gpu_watch *watch)
{
    for (size_t i = 0; i < watch->inventory.count; i++) {
        const struct gpu_unit *unit = &watch->inventory.units[i];
        const struct gpu_opened *opened = &watch->inventory.opened[unit->opened];

        if (opened->vendor->memory_used)
            gpu_tally_device_memory(&watch->tally, i,
                                    opened->vendor->memory_used(opened->state, unit->number));
    }
}

static void list_processes(struct gpu_watch *watch, uint64_t now_ns)
{
    const struct gpu_inventory *inventory = &watch->inventory;

    watch->row_count = 0;
    watch->holds_context = false;
    for (size_t i = 0; i < inventory->opened_count; i++) {
        ssize_t n = ask_processes(watch, &inventory->opened[i]);

        if (n < 0 || reserve(watch, (size_t)n) < 0)
            continue;
        for (ssize_t at = 0; at < n; at++) {
            const struct gpu_process *process = &watch->processes[at];
            bool is_job = gpu_kin_has(&watch->kin, watch->root, process->pid, now_ns);

            watch->rows[watch->row_count++] = (struct gpu_row){
                .process = *process,
                .unit = watch->places[i][process->device],
                .is_job = is_job,
                .is_main = process->pid == watch->kin.main_pid,
            };
            watch->holds_context |= is_job && !process->has_ended;
        }
    }
    see_devices(watch);
}

/* Of those that live. UNKNOWN: there are too many, or one cannot be read. */
static uint64_t job_cpu_ns(const struct gpu_watch *watch)
{
    uint64_t sum_ns = 0;
    size_t clock_count = 0;

    for (size_t i = 0; i < watch->kin.count; i++) {
        const struct gpu_relative *relative = &watch->kin.list[i];
        uint64_t cpu_ns;

        if (relative->ended_ns != 0 && !relative->is_found)
            continue;
        if (clock_count++ == CLOCKS_MAX)
            return UNKNOWN;
        if (cpu_clock_read(watch->root, relative->pid, &cpu_ns) == 0)
            sum_ns += cpu_ns;
        else if (!relative->is_found) /* one that was has ended */
            return UNKNOWN;
    }
    return sum_ns;
}

bool gpu_watch_rests(struct gpu_watch *watch, uint64_t now_ns)
{
    return gpu_rest_note(&watch->rest, job_cpu_ns(watch), now_ns);
}

void gpu_watch_poll(struct gpu_watch *watch, uint64_t now_ns)
{
    watch->looked_ns = now_ns;
    list_processes(watch, now_ns);
    gpu_tally_memory(&watch->tally, watch->rows, watch->row_count, now_ns);
}

static void read_devices(struct gpu_watch *watch, uint64_t now_ns, bool is_fresh)
{
    const struct gpu_inventory *inventory = &watch->inventory;
    bool reads_others = is_fresh || now_ns - watch->others_ns >= OTHERS_EVERY_NS;

    if (reads_others)
        watch->others_ns = now_ns;
    for (size_t i = 0; i < inventory->count; i++) {
        const struct gpu_unit *unit = &inventory->units[i];
        const struct gpu_opened *opened = &inventory->opened[unit->opened];
        struct gpu_reading reading;

        if (!unit->is_selected && !reads_others)
            continue;
        if (opened->vendor->read(opened->state, unit->number, now_ns, &reading) < 0)
            gpu_tally_device(&watch->tally, i, NULL, now_ns);
        else
            gpu_tally_device(&watch->tally, i, &reading, now_ns);
    }
}

/* Less than a hundredth of the time counts as hardly. Without a job nothing says when the GPUs will
 * be busy. */
static void note_activity(struct gpu_watch *watch, uint64_t now_ns)
{
    uint64_t cpu_ns = job_cpu_ns(watch);
    uint64_t span_ns = now_ns - watch->read_ns;

    watch->is_quiet = watch->kin.main_pid != 0 && !watch->is_for_host && is_known(cpu_ns) &&
                      is_known(watch->read_cpu_ns) &&
                      apart(cpu_ns, watch->read_cpu_ns) < span_ns / 100 &&
                      watch->tally.totals.levels.utilization == 0;
    watch->read_cpu_ns = cpu_ns;
    watch->read_ns = now_ns;
}

/* What the driver keeps of those that go can be asked for now and no more. */
static void let_old_go(struct gpu_watch *watch, uint64_t now_ns)
{
    if (!gpu_kin_has_old(&watch->kin, now_ns))
        return;
    gpu_watch_accounts(watch);
    gpu_kin_drop_old(&watch->kin, now_ns);
}

void gpu_watch_read(struct gpu_watch *watch, uint64_t now_ns, bool is_fresh)
{
    const struct gpu_inventory *inventory = &watch->inventory;

    let_old_go(watch, now_ns);
    gpu_kin_forget_strangers(&watch->kin);
    for (size_t i = 0; i < inventory->opened_count; i++) {
        const struct gpu_opened *opened = &inventory->opened[i];
        struct gpu_pids pids = gpu_kin_pids(&watch->kin);

        if (is_fresh && opened->vendor->refresh)
            opened->vendor->refresh(opened->state);
        if (opened->vendor->read_busy) /* where it fails the counters stand still */
            (void)opened->vendor->read_busy(opened->state, &pids, now_ns);
    }
    list_processes(watch, now_ns);
    read_devices(watch, now_ns, is_fresh);
    (void)gpu_tally_busy(&watch->tally, watch->rows, watch->row_count, now_ns);
    gpu_tally_memory(&watch->tally, watch->rows, watch->row_count, now_ns);
    note_activity(watch, now_ns);
}

static void take_accounts(struct gpu_watch *watch, size_t opened,
                          const struct gpu_account *accounts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t unit = watch->places[opened][accounts[i].device];

        if (!watch->inventory.units[unit].is_selected)
            continue;
        gpu_tally_account(&watch->tally, unit, accounts[i].peak_memory_bytes);
        raise_to(&watch->account_bytes, accounts[i].peak_memory_bytes);
    }
}

void gpu_watch_accounts(struct gpu_watch *watch)
{
    enum { ACCOUNTS_MAX = 4096 };
    struct gpu_pids pids = gpu_kin_pids(&watch->kin);
    struct gpu_account *accounts;

    if (watch->kin.tracker_pid == 0)
        return;
    accounts = calloc(ACCOUNTS_MAX, sizeof(*accounts));
    for (size_t i = 0; accounts && i < watch->inventory.opened_count; i++) {
        const struct gpu_opened *opened = &watch->inventory.opened[i];
        ssize_t n = -ENOTSUP;

        if (opened->vendor->accounts)
            n = opened->vendor->accounts(opened->state, &pids, accounts, ACCOUNTS_MAX);
        if (n > 0)
            take_accounts(watch, i, accounts,
                          n < ACCOUNTS_MAX ? (size_t)n : (size_t)ACCOUNTS_MAX);
    }
    free(accounts);
}

void gpu_watch_source(const struct gpu_watch *watch, gpu_source_get *which, bool of_all,
                      char *buf, size_t size)
{
    const struct gpu_inventory *inventory = &watch->inventory;

    buf[0] = '\0';
    for (size_t i = 0; i < inventory->opened_count; i++) {
        const char *source = which(&inventory->opened[i].vendor->sources);
        bool is_selected = of_all;

        for (size_t unit = 0; unit < inventory->count; unit++)
            is_selected |=
                inventory->units[unit].opened == i && inventory->units[unit].is_selected;
        if (!is_selected || strstr(buf, source))
            continue;
        (void)snprintf(buf + strlen(buf), size - strlen(buf), "%s%s", buf[0] ? "+" : "",
                       source); /* cut is fine */
    }
}
