/* SPDX-License-Identifier: Apache-2.0 */
#include "job/gpu/gpu_watch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/clock.h"
#include "base/reserve.h"
#include "base/unknown.h"

#define OTHERS_EVERY_NS (5 * NS_PER_SECOND)
enum { ROWS_MAX = 1 << 16 };

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

    *watch =
        (struct gpu_watch){ .root = root, .owners = options->owners, .account_bytes = UNKNOWN };
    r = gpu_inventory_open(&watch->inventory, root, options->vendors, options->vendor_count,
                           options->choice);
    if (r < 0)
        return r;
    begin_counting(&watch->inventory);
    r = place_devices(watch);
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
    gpu_inventory_close(&watch->inventory);
}

/* A vendor's list of processes. Where it has grown meanwhile it is asked again. */
static ssize_t ask_processes(struct gpu_watch *watch, const struct gpu_opened *opened)
{
    struct gpu_pids pids = gpu_owners_pids(watch->owners);
    ssize_t n = 64;

    for (int tries = 0; tries < 4; tries++) {
        if (n > ROWS_MAX || reserve(&watch->processes, &watch->process_capacity, (size_t)n,
                                    sizeof(*watch->processes)) < 0)
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

        if (n < 0 || reserve(&watch->rows, &watch->row_capacity, watch->row_count + (size_t)n,
                             sizeof(*watch->rows)) < 0)
            continue;
        for (ssize_t at = 0; at < n; at++) {
            const struct gpu_process *process = &watch->processes[at];
            bool is_job = gpu_owners_has(watch->owners, watch->root, process->pid, now_ns);

            watch->rows[watch->row_count++] = (struct gpu_row){
                .process = *process,
                .unit = watch->places[i][process->device],
                .is_job = is_job,
                .is_main = process->pid == watch->owners->main_pid,
            };
            watch->holds_context |= is_job && !process->has_ended;
        }
    }
    see_devices(watch);
}

void gpu_watch_poll(struct gpu_watch *watch, uint64_t now_ns)
{
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

/* What the driver keeps of those that go can be asked for now and no more. */
static void let_old_go(struct gpu_watch *watch, uint64_t now_ns)
{
    if (!gpu_owners_has_old(watch->owners, now_ns))
        return;
    gpu_watch_accounts(watch);
    gpu_owners_drop_old(watch->owners, now_ns);
}

void gpu_watch_read(struct gpu_watch *watch, uint64_t now_ns, bool is_fresh)
{
    const struct gpu_inventory *inventory = &watch->inventory;

    let_old_go(watch, now_ns);
    gpu_owners_forget_foreign(watch->owners);
    for (size_t i = 0; i < inventory->opened_count; i++) {
        const struct gpu_opened *opened = &inventory->opened[i];
        struct gpu_pids pids = gpu_owners_pids(watch->owners);

        if (is_fresh && opened->vendor->refresh)
            opened->vendor->refresh(opened->state);
        if (opened->vendor->read_busy) /* where it fails the counters stand still */
            (void)opened->vendor->read_busy(opened->state, &pids, now_ns);
    }
    list_processes(watch, now_ns);
    read_devices(watch, now_ns, is_fresh);
    (void)gpu_tally_busy(&watch->tally, watch->rows, watch->row_count, now_ns);
    gpu_tally_memory(&watch->tally, watch->rows, watch->row_count, now_ns);
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
    struct gpu_pids pids = gpu_owners_pids(watch->owners);
    struct gpu_account *accounts;

    if (watch->owners->tracker_pid == 0)
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

struct gpu_totals gpu_watch_totals(const struct gpu_watch *watch)
{
    const char *reason = watch->inventory.none_reason;
    struct gpu_totals totals = watch->tally.totals;

    if (*reason)
        totals.memory_reason = totals.busy_reason = totals.job_busy_reason =
            totals.energy_reason = reason;
    return totals;
}

/* `offset` is that of a name in struct gpu_sources. */
static void add_names(const struct gpu_watch *watch, size_t offset, bool of_all, char *buf,
                      size_t size)
{
    const struct gpu_inventory *inventory = &watch->inventory;

    buf[0] = '\0';
    for (size_t i = 0; i < inventory->opened_count; i++) {
        const char *name;
        bool is_used = of_all;

        for (size_t unit = 0; unit < inventory->count; unit++)
            is_used |= inventory->units[unit].opened == i && inventory->units[unit].is_selected;
        memcpy(&name, (const char *)&inventory->opened[i].vendor->sources + offset,
               sizeof(name));
        if (is_used && !strstr(buf, name))
            (void)snprintf(buf + strlen(buf), size - strlen(buf), "%s%s", buf[0] ? "+" : "",
                           name); /* cut is fine */
    }
}

void gpu_watch_name_sources(const struct gpu_watch *watch, struct gpu_origin_names *ret)
{
    add_names(watch, offsetof(struct gpu_sources, process_memory), false, ret->process_memory,
              sizeof(ret->process_memory));
    add_names(watch, offsetof(struct gpu_sources, process_busy), false, ret->process_busy,
              sizeof(ret->process_busy));
    add_names(watch, offsetof(struct gpu_sources, device_busy), false, ret->device_busy,
              sizeof(ret->device_busy));
    add_names(watch, offsetof(struct gpu_sources, device), true, ret->device,
              sizeof(ret->device));
}
