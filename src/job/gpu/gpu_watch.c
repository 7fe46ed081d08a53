/* SPDX-License-Identifier: Apache-2.0 */
#include "job/gpu/gpu_watch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "base/clock.h"
#include "base/reserve.h"

#define OTHERS_EVERY_NS (5 * NS_PER_SECOND)
/* Phase borders that are closer together share one slow reading, which takes milliseconds. */
#define BORDER_GAP_NS (2 * NS_PER_SECOND)
enum { ROWS_MAX = 1 << 16 };

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
                                 .owners = options->owners,
                                 .record_bytes = UNKNOWN,
                                 .counts_no_work = options->counts_no_work,
                                 .cgroup = options->cgroup,
                                 .cgroup_is_older = options->cgroup_is_older,
                                 .charges = CACHED_FILE_CLOSED,
                                 .charge_peaks = CACHED_FILE_CLOSED };
    r = gpu_inventory_open(&watch->inventory, root, options->vendors, options->vendor_count,
                           options->choice);
    if (r < 0)
        return r;
    begin_counting(&watch->inventory);
    r = gpu_account_init(&watch->account, watch->inventory.units, watch->inventory.count,
                         options->start_ns);
    if (r < 0)
        gpu_watch_close(watch);
    return r;
}

void gpu_watch_close(struct gpu_watch *watch)
{
    free(watch->processes);
    free(watch->rows);
    watch->processes = NULL;
    watch->rows = NULL;
    cached_file_close(&watch->charges);
    cached_file_close(&watch->charge_peaks);
    gpu_account_done(&watch->account);
    gpu_inventory_close(&watch->inventory);
}

/* Returns the index of a vendor's device in the list of all GPUs. */
static size_t unit_of(const struct gpu_inventory *inventory, size_t opened, size_t number)
{
    size_t i = 0;

    while (i + 1 < inventory->count &&
           (inventory->units[i].opened != opened || inventory->units[i].number != number))
        i++;
    return i;
}

/* Reads a vendor's list of processes, again if it has grown meanwhile. */
static ssize_t read_vendor_processes(struct gpu_watch *watch, const struct gpu_opened *opened)
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

/* Records the memory in use that vendors read while they listed processes. */
static void read_devices_memory(struct gpu_watch *watch)
{
    for (size_t i = 0; i < watch->inventory.count; i++) {
        const struct gpu_unit *unit = &watch->inventory.units[i];
        const struct gpu_opened *opened = &watch->inventory.opened[unit->opened];

        if (opened->vendor->memory_used)
            gpu_account_device_memory(&watch->account, i,
                                      opened->vendor->memory_used(opened->state, unit->number));
    }
}

/* Reads the memory that the kernel charged to the job. The charge does not include the memory
 * of a process that left the cgroup. */
static void read_charges(struct gpu_watch *watch)
{
    char now[8192] = "", peak[8192] = ""; /* enough for 64 GPUs */
    ssize_t n;

    if (!watch->cgroup)
        return;
    (void)cached_file_read(&watch->charge_peaks, watch->root, READ_WHOLE, peak, sizeof(peak),
                           "%s/dmem.peak", watch->cgroup);
    n = cached_file_read(&watch->charges, watch->root, READ_WHOLE, now, sizeof(now),
                         "%s/dmem.current", watch->cgroup);
    if (n == -ENOENT)
        watch->cgroup = NULL;
    for (size_t i = 0; i < watch->inventory.count; i++) {
        const char *address = watch->inventory.units[i].device.pci_address;
        struct cgroup_dmem charge = cgroup_parse_dmem(now, address);
        struct cgroup_dmem charge_peak = cgroup_parse_dmem(peak, address);

        if (watch->owners->have_left_cgroup)
            charge.bytes = UNKNOWN;
        gpu_account_charge(&watch->account, i, &charge, &charge_peak, watch->cgroup_is_older);
    }
}

static void list_processes(struct gpu_watch *watch, uint64_t now_ns)
{
    const struct gpu_inventory *inventory = &watch->inventory;

    watch->row_count = 0;
    watch->holds_context = false;
    for (size_t i = 0; i < inventory->opened_count; i++) {
        ssize_t n = read_vendor_processes(watch, &inventory->opened[i]);

        if (n < 0 || reserve(&watch->rows, &watch->row_capacity, watch->row_count + (size_t)n,
                             sizeof(*watch->rows)) < 0)
            continue;
        for (ssize_t at = 0; at < n; at++) {
            const struct gpu_process *process = &watch->processes[at];
            bool is_job = gpu_owners_has(watch->owners, watch->root, process->pid, now_ns);

            watch->rows[watch->row_count++] = (struct gpu_row){
                .process = *process,
                .unit = unit_of(&watch->inventory, i, process->device),
                .is_job = is_job,
                .is_main = process->pid == watch->owners->main_pid,
            };
            watch->holds_context |= is_job && !process->has_ended;
        }
    }
    read_devices_memory(watch);
    read_charges(watch);
}

static bool is_used(const struct gpu_watch *watch, size_t unit)
{
    for (size_t i = 0; i < watch->row_count; i++) {
        if (watch->rows[i].unit == unit && watch->rows[i].is_job &&
            !watch->rows[i].process.has_ended)
            return true;
    }
    return false;
}

/* Counts the work of the job's GPUs. */
static void count_work(struct gpu_watch *watch, uint64_t now_ns, bool is_quick)
{
    struct gpu_work off = { .reason = "--gpm off: performance counters are not read" };

    for (int i = 0; i < GPU_WORK_KINDS; i++)
        off.counts[i] = UNKNOWN;
    for (size_t i = 0; i < watch->inventory.count; i++) {
        const struct gpu_unit *unit = &watch->inventory.units[i];
        const struct gpu_opened *opened = &watch->inventory.opened[unit->opened];
        struct gpu_work work = off;

        if (!unit->is_selected || !opened->vendor->work)
            continue;
        if (!watch->counts_no_work)
            opened->vendor->work(opened->state, unit->number, now_ns, is_used(watch, i),
                                 is_quick, &work);
        gpu_account_work(&watch->account, i, &work, now_ns);
    }
}

static void read_energy(struct gpu_watch *watch, uint64_t now_ns, bool is_border)
{
    for (size_t i = 0; i < watch->inventory.count; i++) {
        const struct gpu_unit *unit = &watch->inventory.units[i];
        const struct gpu_opened *opened = &watch->inventory.opened[unit->opened];
        struct gpu_energy energy;

        if (!unit->is_selected || !opened->vendor->energy || (!is_border && !is_used(watch, i)))
            continue;
        opened->vendor->energy(opened->state, unit->number, now_ns, is_border, &energy);
        gpu_account_energy(&watch->account, i, &energy);
    }
}

void gpu_watch_poll(struct gpu_watch *watch, uint64_t now_ns, bool is_border)
{
    list_processes(watch, now_ns);
    read_energy(watch, now_ns, is_border);
    count_work(watch, now_ns, !is_border);
    gpu_account_memory(&watch->account, watch->rows, watch->row_count, now_ns);
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
        int r;

        if (!unit->is_selected && !reads_others)
            continue;
        r = opened->vendor->read(opened->state, unit->number, now_ns, &reading);
        gpu_account_device(&watch->account, i, r < 0 ? NULL : &reading, now_ns);
    }
}

/* Drops processes that exited long ago, after reading their accounting records. */
static void drop_old_owners(struct gpu_watch *watch, uint64_t now_ns)
{
    if (!gpu_owners_has_old(watch->owners, now_ns))
        return;
    gpu_watch_accounts(watch);
    gpu_owners_drop_old(watch->owners, now_ns);
}

void gpu_watch_read(struct gpu_watch *watch, uint64_t now_ns, bool is_fresh)
{
    const struct gpu_inventory *inventory = &watch->inventory;

    watch->read_ns = now_ns;
    drop_old_owners(watch, now_ns);
    gpu_owners_forget_foreign(watch->owners);
    for (size_t i = 0; i < inventory->opened_count; i++) {
        const struct gpu_opened *opened = &inventory->opened[i];
        struct gpu_pids pids = gpu_owners_pids(watch->owners);

        if (is_fresh && opened->vendor->refresh)
            opened->vendor->refresh(opened->state);
        if (opened->vendor->read_busy) /* on failure the counters keep their values */
            (void)opened->vendor->read_busy(opened->state, &pids, now_ns);
    }
    list_processes(watch, now_ns);
    read_devices(watch, now_ns, is_fresh);
    count_work(watch, now_ns, false);
    gpu_account_busy(&watch->account, watch->rows, watch->row_count, now_ns);
    gpu_account_memory(&watch->account, watch->rows, watch->row_count, now_ns);
}

void gpu_watch_look_at_border(struct gpu_watch *watch, uint64_t now_ns)
{
    if (now_ns < watch->read_ns + BORDER_GAP_NS) {
        gpu_watch_poll(watch, now_ns, true);
        return;
    }
    read_energy(watch, now_ns, true);
    gpu_watch_read(watch, now_ns, false);
}

static void take_accounts(struct gpu_watch *watch, size_t opened,
                          const struct gpu_record *accounts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t unit = unit_of(&watch->inventory, opened, accounts[i].device);

        if (!watch->inventory.units[unit].is_selected)
            continue;
        gpu_account_peak(&watch->account, unit, accounts[i].peak_memory_bytes);
        raise_to(&watch->record_bytes, accounts[i].peak_memory_bytes);
    }
}

void gpu_watch_accounts(struct gpu_watch *watch)
{
    enum { ACCOUNTS_MAX = 4096 };
    struct gpu_pids pids = gpu_owners_pids(watch->owners);
    struct gpu_record *accounts;

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

/* Returns the sources of the GPUs, joined by "+". `is_known_only`: only the sources of GPUs that
 * have reported the figure; NULL: there is none. */
static const char *join_sources(struct gpu_watch *watch, enum gpu_total total,
                                bool is_known_only)
{
    char text[sizeof(watch->sources[0])] = "";
    const char *source = NULL;

    for (size_t i = 0; i < watch->inventory.count; i++) {
        const struct gpu_figure *figure =
            &watch->account.list[i].view.figures[gpu_total_measure(total)];
        const char *name = total == GPU_TOTAL_MAIN_MEMORY
                               ? watch->inventory.units[i].sources->process_memory
                               : figure->measure.origin.source;
        size_t length = strlen(text);

        if ((!watch->inventory.units[i].is_selected && total != GPU_TOTAL_HOST_MEMORY) ||
            (is_known_only && !is_known(figure->peak)) || strstr(text, name))
            continue;
        (void)snprintf(text + length, sizeof(text) - length, "%s%s", source ? "+" : "",
                       name); /* truncation is fine */
        source = source ? watch->sources[total] : name;
    }
    /* Other threads may be reading the text: change it only if it differs. */
    if (source == watch->sources[total] && strcmp(watch->sources[total], text) != 0)
        memcpy(watch->sources[total], text, sizeof(text));
    return source;
}

struct gpu_totals gpu_watch_totals(struct gpu_watch *watch)
{
    const char *reason = watch->inventory.none_reason;
    struct gpu_totals totals = watch->account.totals;

    for (int i = 0; i < GPU_TOTAL_COUNT; i++) {
        const char *source = join_sources(watch, (enum gpu_total)i, true);

        totals.measures[i].origin.source =
            source ? source : join_sources(watch, (enum gpu_total)i, false);
        if (*reason && i != GPU_TOTAL_HOST_MEMORY)
            totals.measures[i].origin.reason = reason;
    }
    return totals;
}
