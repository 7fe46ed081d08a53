/* SPDX-License-Identifier: Apache-2.0 */
#include "job/gpu/gpu_inventory.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/helper.h"
#include "base/parse.h"
#include "job/source_names.h"

/* The largest environment that is read. */
enum { BLOCK_SIZE = 1 << 20 };

/* A driver that takes longer counts as not responding. A working driver takes 30 ms, or a
 * second if it has to wake up its GPUs. */
#define ANSWER_MOST_NS (2 * NS_PER_SECOND)

const char gpu_inquiry_silence[] = "the GPU driver did not respond within 2 s";

/* The variables that select a vendor's devices; the first valid one decides. A variable that
 * the job's own library reads is valid whenever it is set, and may leave no GPU at all. The
 * others are meant for a runtime or a scheduler and use the host's numbering: a list with an
 * item that is not a GPU here ("all", "void", or 8 in a container with two GPUs) is ignored. */
static const struct {
    const char *vendor; /* NULL: every vendor */
    enum visible_source source;
    bool is_binding; /* the job's own library reads it */
} variables[] = {
    { "nvidia", VISIBLE_CUDA, true },
    { "nvidia", VISIBLE_NVIDIA, false },
    { "amd", VISIBLE_ROCR, true },
    { NULL, VISIBLE_SLURM, false },
};

/* ---- the job's choice --------------------------------------------------- */

static int set(struct gpu_choice *choice, enum visible_source source, const char *text)
{
    if (!text)
        return 0;
    choice->texts[source] = strdup(text);
    return choice->texts[source] ? 0 : -ENOMEM;
}

int gpu_choice_init(struct gpu_choice *choice, const char *gpus, environment_get *environment)
{
    int r;

    *choice = (struct gpu_choice){ 0 };
    r = set(choice, VISIBLE_OPTION, gpus);
    for (int i = VISIBLE_OPTION + 1; r == 0 && i <= VISIBLE_SLURM; i++)
        r = set(choice, (enum visible_source)i,
                environment(visible_name((enum visible_source)i)));
    if (r < 0)
        gpu_choice_done(choice);
    return r;
}

const char *gpu_choice_find(const char *block, size_t size, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = block; at < block + size;) {
        size_t left = (size_t)(block + size - at);
        size_t entry = strnlen(at, left);

        if (entry == left)
            return NULL; /* the last variable is truncated */
        if (entry > length && at[length] == '=' && memcmp(at, name, length) == 0)
            return at + length + 1;
        at += entry + 1;
    }
    return NULL;
}

/* Joins the lists of several processes. Items after an invalid one are ignored, so "-1" goes
 * last. */
static int join(struct gpu_choice *choice, enum visible_source source, const char *text)
{
    char *before = choice->texts[source], *joined;
    bool is_last = text && *text == '-';

    if (!before || *before == '\0') {
        free(text ? before : NULL);
        return set(choice, source, text);
    }
    if (!text || *text == '\0' || strcmp(before, text) == 0)
        return 0;
    if (asprintf(&joined, "%s%s%s", is_last ? before : text, ",", is_last ? text : before) < 0)
        return -ENOMEM;
    free(before);
    choice->texts[source] = joined;
    return 0;
}

int gpu_choice_init_for(struct gpu_choice *choice, const char *gpus, const struct root *root,
                        const pid_t *pids, size_t count)
{
    AUTO_FREE char *block = malloc(BLOCK_SIZE);
    int r;

    *choice = (struct gpu_choice){ 0 };
    if (!block)
        return -ENOMEM;
    r = set(choice, VISIBLE_OPTION, gpus);
    for (size_t k = 0; k < count; k++) {
        ssize_t n = root_read_start(root, block, BLOCK_SIZE, "proc/%d/environ", (int)pids[k]);

        for (int i = VISIBLE_OPTION + 1; r == 0 && n > 0 && i <= VISIBLE_SLURM; i++)
            r = join(choice, (enum visible_source)i,
                     gpu_choice_find(block, (size_t)n, visible_name((enum visible_source)i)));
    }
    if (r < 0)
        gpu_choice_done(choice);
    return r;
}

void gpu_choice_done(struct gpu_choice *choice)
{
    for (size_t i = 0; i < ARRAY_SIZE(choice->texts); i++)
        free(choice->texts[i]);
    *choice = (struct gpu_choice){ 0 };
}

int gpu_choice_check(const char *gpus, struct spoor_error *err)
{
    static const char allowed[] =
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_.,:/ \t";

    if (gpus[strspn(gpus, allowed)] != '\0')
        return error_set(err, EINVAL,
                         "invalid GPU list '%s': expected all, none, or numbers, UUIDs or PCI "
                         "addresses separated by commas",
                         gpus);
    for (const char *item = gpus; item;) {
        size_t length = strcspn(item, ",");

        if (strspn(item, " \t") >= length)
            return error_set(err, EINVAL, "invalid GPU list '%s': it has an empty item", gpus);
        item = item[length] == ',' ? item + length + 1 : NULL;
    }
    return 0;
}

/* ---- the GPUs ----------------------------------------------------------- */

static int add_units(struct gpu_inventory *inventory, size_t opened)
{
    const struct gpu_opened *from = &inventory->opened[opened];
    size_t count = from->vendor->device_count(from->state);
    uint64_t pci = 0; /* the first device is not a part */
    struct gpu_unit *units;

    if (count == 0)
        return 0;
    units = realloc(inventory->units, (inventory->count + count) * sizeof(*units));
    if (!units)
        return -ENOMEM;
    inventory->units = units;
    for (size_t i = 0; i < count; i++) {
        const struct gpu_device *device = from->vendor->device(from->state, i);

        if (!device->is_part)
            pci = visible_pci_key(device->pci_address);
        units[inventory->count++] = (struct gpu_unit){
            .device = *device,
            .vendor = from->vendor->name,
            .sources = &from->vendor->sources,
            .opened = opened,
            .number = i,
            .pci = pci,
        };
    }
    return 0;
}

static void refuse(struct gpu_inventory *inventory, const char *vendor,
                   const struct spoor_error *error, bool is_partial)
{
    inventory->refusals[inventory->refusal_count++] =
        (struct gpu_refusal){ vendor, *error, is_partial };
}

static int open_vendor(struct gpu_inventory *inventory, const struct root *root,
                       const struct gpu_vendor *vendor)
{
    struct spoor_error err = { 0 };
    void *state = NULL;
    int r = vendor->open(root, &state, &err);

    if (r == -ENXIO || (r == -ENODEV && inventory->absent.code == 0))
        inventory->absent = err;
    else if (r < 0 && r != -ENODEV)
        refuse(inventory, vendor->name, &err, false);
    if (r < 0)
        return 0;
    if (vendor->trouble && vendor->trouble(state)->code != 0)
        refuse(inventory, vendor->name, vendor->trouble(state), true);
    inventory->opened[inventory->opened_count++] = (struct gpu_opened){ vendor, state };
    return add_units(inventory, inventory->opened_count - 1);
}

/* Compares PCI addresses. Parts follow their device, as in the list of the vendor. */
static int compare_units(const void *left, const void *right)
{
    const struct gpu_unit *a = left, *b = right;
    int order = compare_u64(a->pci, b->pci);

    if (order == 0)
        order = compare_u64(a->opened, b->opened);
    return order != 0 ? order : compare_u64(a->number, b->number);
}

static void number_units(struct gpu_inventory *inventory)
{
    unsigned wholes = 0;

    for (size_t i = 0; i < inventory->count; i++) {
        struct gpu_unit *unit = &inventory->units[i];

        wholes += !unit->device.is_part;
        unit->place = (struct gpu_place){
            .index = wholes - 1, /* a part is never the first */
            .part = unit->device.is_part ? (int)unit->device.part : -1,
        };
    }
}

static bool is_of(const struct gpu_unit *unit, const char *vendor)
{
    return !vendor || strcmp(unit->vendor, vendor) == 0;
}

/* Selects the devices named in a list among the devices of a vendor, or of all vendors if
 * `vendor` is NULL. Returns the number of items that match none of them, or -ENOMEM. */
static ssize_t select_among(struct gpu_inventory *inventory, const char *vendor,
                            enum visible_source source, const char *text,
                            struct spoor_error *note)
{
    AUTO_FREE const struct gpu_device **devices = calloc(inventory->count, sizeof(void *));
    AUTO_FREE bool *selected = calloc(inventory->count, sizeof(*selected));
    size_t count = 0, faults;

    if (!devices || !selected)
        return -ENOMEM;
    for (size_t i = 0; i < inventory->count; i++) {
        if (is_of(&inventory->units[i], vendor))
            devices[count++] = &inventory->units[i].device;
    }
    faults = visible_select(source, text, devices, count, selected, note);
    count = 0;
    for (size_t i = 0; i < inventory->count; i++) {
        if (is_of(&inventory->units[i], vendor))
            inventory->units[i].is_selected = selected[count++];
    }
    return (ssize_t)faults;
}

static void select_all(struct gpu_inventory *inventory, const char *vendor)
{
    for (size_t i = 0; i < inventory->count; i++) {
        if (is_of(&inventory->units[i], vendor))
            inventory->units[i].is_selected = true;
    }
}

/* If no GPU is selected, records which list is the reason. */
static void explain(struct gpu_inventory *inventory, enum visible_source source,
                    const char *text)
{
    inventory->none_reason[0] = '\0';
    for (size_t i = 0; i < inventory->count; i++) {
        if (inventory->units[i].is_selected)
            return;
    }
    visible_explain_none(source, text, inventory->none_reason, sizeof(inventory->none_reason));
}

static int select_by_variable(struct gpu_inventory *inventory, const char *vendor,
                              const struct gpu_choice *choice)
{
    for (size_t i = 0; i < ARRAY_SIZE(variables); i++) {
        const char *text = choice->texts[variables[i].source];
        ssize_t faults;

        if (!text || (variables[i].vendor && strcmp(variables[i].vendor, vendor) != 0))
            continue;
        faults = select_among(inventory, vendor, variables[i].source, text, NULL);
        if (faults < 0)
            return (int)faults;
        if (faults == 0 || variables[i].is_binding) {
            explain(inventory, variables[i].source, text);
            return 0;
        }
    }
    select_all(inventory, vendor);
    inventory->none_reason[0] = '\0';
    return 0;
}

static int select_units(struct gpu_inventory *inventory, const struct gpu_choice *choice)
{
    const char *option = choice->texts[VISIBLE_OPTION];
    int r = 0;

    if (option) {
        if (select_among(inventory, NULL, VISIBLE_OPTION, option, &inventory->unmatched) < 0)
            return -ENOMEM;
        explain(inventory, VISIBLE_OPTION, option);
        return 0;
    }
    for (size_t i = 0; r == 0 && i < inventory->opened_count; i++)
        r = select_by_variable(inventory, inventory->opened[i].vendor->name, choice);
    return r;
}

int gpu_inventory_open(struct gpu_inventory *inventory, const struct root *root,
                       const struct gpu_vendor *const *vendors, size_t vendor_count,
                       const struct gpu_choice *choice)
{
    int r = 0;

    *inventory = (struct gpu_inventory){ 0 };
    for (size_t i = 0; r == 0 && i < vendor_count && i < GPU_VENDORS_MAX; i++)
        r = open_vendor(inventory, root, vendors[i]);
    if (r == 0 && inventory->count == 0)
        r = -ENODEV;
    if (r == 0) {
        qsort(inventory->units, inventory->count, sizeof(*inventory->units), compare_units);
        number_units(inventory);
        r = select_units(inventory, choice);
    }
    if (r < 0)
        gpu_inventory_close(inventory);
    return r;
}

/* Closes the drivers, but keeps the list of units, which is valid without them. */
static void close_drivers(struct gpu_inventory *inventory)
{
    for (size_t i = 0; i < inventory->opened_count; i++)
        inventory->opened[i].vendor->close(inventory->opened[i].state);
    inventory->opened_count = 0;
}

/* Closes the drivers and frees the list of units. Keeps the refusals, which warnings report. */
void gpu_inventory_close(struct gpu_inventory *inventory)
{
    close_drivers(inventory);
    free(inventory->units);
    inventory->units = NULL;
    inventory->count = 0;
}

size_t gpu_vendors_enabled(unsigned disabled, const struct gpu_vendor *ret[GPU_VENDORS_MAX])
{
    size_t count = 0;

    for (size_t i = 0; i < gpu_vendor_count && count < GPU_VENDORS_MAX; i++) {
        const struct gpu_vendor *vendor = gpu_vendors[i];

        if (!(disabled & (SOURCE_GPU | sources_find(vendor->name))))
            ret[count++] = vendor;
    }
    return count;
}

bool gpu_vendors_may_be_here(const struct root *root, const struct gpu_vendor *const *vendors,
                             size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!vendors[i]->may_be_here || vendors[i]->may_be_here(root))
            return true;
    }
    return false;
}

size_t gpu_units_count_whole(const struct gpu_unit *units, size_t count)
{
    size_t whole = 0;

    for (size_t i = 0; i < count; i++)
        whole += !units[i].device.is_part;
    return whole;
}

const char *gpu_unit_id(const struct gpu_unit *unit)
{
    return unit->device.uuid[0] ? unit->device.uuid : unit->device.pci_address;
}

struct gpu_place_text gpu_place_text(struct gpu_place place, char between)
{
    struct gpu_place_text result;

    if (place.part < 0)
        (void)snprintf(result.text, sizeof(result.text), "%u", place.index);
    else
        (void)snprintf(result.text, sizeof(result.text), "%u%c%d", place.index, between,
                       place.part);
    return result;
}

bool gpu_place_parse(const char **cursor, struct gpu_place *ret)
{
    uint64_t index, part = 0;
    bool is_part;

    if (parse_u64(cursor, &index) < 0)
        return false;
    is_part = (*cursor)[0] == '_' && is_digit((*cursor)[1]);
    *cursor += is_part;
    if ((is_part && parse_u64(cursor, &part) < 0) || index > INT_MAX || part > INT_MAX)
        return false;
    *ret = (struct gpu_place){ (unsigned)index, is_part ? (int)part : -1 };
    return true;
}

/* ---- the list without the drivers --------------------------------------- */

struct inquiry {
    struct root root;
    struct gpu_choice choice;
    const struct gpu_vendor *vendors[GPU_VENDORS_MAX];
    size_t vendor_count;
    int result;
    struct gpu_inventory found;
};

static void inquire(void *data)
{
    struct inquiry *inquiry = data;

    inquiry->result = gpu_inventory_open(&inquiry->found, &inquiry->root, inquiry->vendors,
                                         inquiry->vendor_count, &inquiry->choice);
    close_drivers(&inquiry->found);
}

static void release(void *data)
{
    struct inquiry *inquiry = data;

    gpu_inventory_close(&inquiry->found);
    gpu_choice_done(&inquiry->choice);
    root_close(&inquiry->root);
    free(inquiry);
}

static const struct helper_work inquiry_work = { "spoor-gpu-list", inquire, release };

static int prepare_inquiry(struct inquiry *inquiry, const struct root *root,
                           const struct gpu_vendor *const *vendors, size_t vendor_count,
                           const char *gpus)
{
    int r = root_copy(root, &inquiry->root);

    if (r < 0)
        return r;
    inquiry->vendor_count = vendor_count < GPU_VENDORS_MAX ? vendor_count : GPU_VENDORS_MAX;
    for (size_t i = 0; i < inquiry->vendor_count; i++)
        inquiry->vendors[i] = vendors[i];
    return gpu_choice_init(&inquiry->choice, gpus, environment_own);
}

int gpu_inquire(const struct root *root, const struct gpu_vendor *const *vendors,
                size_t vendor_count, const char *gpus, struct gpu_inventory *ret)
{
    struct inquiry *inquiry = calloc(1, sizeof(*inquiry));
    struct helper *helper = NULL;
    int r;

    *ret = (struct gpu_inventory){ 0 };
    if (!inquiry)
        return -ENOMEM;
    inquiry->root = (struct root)ROOT_CLOSED;
    r = prepare_inquiry(inquiry, root, vendors, vendor_count, gpus);
    if (r == 0)
        r = helper_open(&inquiry_work, inquiry, &helper);
    if (!helper) {
        release(inquiry);
        return r;
    }
    r = helper_start(helper);
    if (r == 0 && !helper_wait(helper, clock_now().monotonic_ns + ANSWER_MOST_NS))
        r = -ETIMEDOUT;
    else if (r == 0) {
        r = inquiry->result;
        *ret = inquiry->found;
        inquiry->found = (struct gpu_inventory){ 0 };
    }
    helper_close(helper);
    return r;
}
