/* SPDX-License-Identifier: Apache-2.0 */
#include "source/gpu/visible.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/compiler.h"
#include "base/error.h"
#include "base/parse.h"

#define ITEM_SIZE 128
/* Maximum length of a list quoted in messages. */
#define SHOWN_MAX 64

static const struct {
    const char *name;
    bool is_strict; /* allows only numbers and UUIDs; any other item ends the list */
} sources[] = {
    [VISIBLE_OPTION] = { "--gpus", false },
    [VISIBLE_CUDA] = { "CUDA_VISIBLE_DEVICES", true },
    [VISIBLE_NVIDIA] = { "NVIDIA_VISIBLE_DEVICES", false },
    [VISIBLE_ROCR] = { "ROCR_VISIBLE_DEVICES", true },
    [VISIBLE_SLURM] = { "SLURM_JOB_GPUS", false },
};

struct choice {
    enum visible_source source;
    const struct gpu_device *const *devices;
    size_t count;
    bool *selected;
};

const char *visible_name(enum visible_source source)
{
    return sources[source].name;
}

uint64_t visible_pci_key(const char *text)
{
    uint64_t pci;

    return text[strcspn(text, " \t\n")] == '\0' && gpu_pci_parse(text, &pci) == 0 ? pci
                                                                                  : UINT64_MAX;
}

static ssize_t find_number(const struct choice *choice, uint64_t number)
{
    for (size_t i = 0; i < choice->count; i++) {
        if (!choice->devices[i]->is_part && number-- == 0)
            return (ssize_t)i;
    }
    return -ENOENT;
}

static void select_with_parts(const struct choice *choice, size_t index)
{
    choice->selected[index] = true;
    for (size_t i = index + 1;
         i < choice->count && choice->devices[i]->is_part && !choice->devices[index]->is_part;
         i++)
        choice->selected[i] = true;
}

/* Parses "0-3" or "3". -EINVAL: the item has another form; -ENOENT: no such device. */
static int select_numbers(const struct choice *choice, const char *item)
{
    const char *cursor = item;
    uint64_t first, last;
    int result = 0;

    if (parse_digits(&cursor, &first) < 0)
        return -EINVAL;
    last = first;
    if (*cursor == '-' && !sources[choice->source].is_strict) {
        cursor++;
        if (parse_digits(&cursor, &last) < 0)
            return -EINVAL;
    }
    if (*cursor != '\0')
        return -EINVAL;
    if (last < first || last - first >= choice->count)
        return -ENOENT;
    for (uint64_t number = first; number - first <= last - first; number++) {
        ssize_t index = find_number(choice, number);

        if (index < 0)
            result = -ENOENT;
        else
            select_with_parts(choice, (size_t)index);
        if (number == last)
            break;
    }
    return result;
}

/* Parses "0:1" and selects that part of a device. */
static int select_part(const struct choice *choice, const char *item)
{
    const char *cursor = item;
    uint64_t number, part;
    ssize_t index;

    if (parse_digits(&cursor, &number) < 0 || *cursor++ != ':' ||
        parse_digits(&cursor, &part) < 0 || *cursor != '\0')
        return -EINVAL;
    index = find_number(choice, number);
    if (index < 0)
        return -ENOENT;
    for (size_t i = (size_t)index + 1; i < choice->count && choice->devices[i]->is_part; i++) {
        if (choice->devices[i]->part == part) {
            choice->selected[i] = true;
            return 0;
        }
    }
    return -ENOENT;
}

static int select_address(const struct choice *choice, const char *item)
{
    uint64_t key = visible_pci_key(item);

    if (key == UINT64_MAX)
        return -EINVAL;
    for (size_t i = 0; i < choice->count; i++) {
        if (visible_pci_key(choice->devices[i]->pci_address) == key) {
            select_with_parts(choice, i);
            return 0;
        }
    }
    return -ENOENT;
}

/* Selects by UUID. -ENOTUNIQ: several UUIDs start with `item`, and none equals it. */
static int select_uuid(const struct choice *choice, const char *item)
{
    size_t length = strlen(item), matches = 0, match = 0;

    for (size_t i = 0; i < choice->count; i++) {
        const char *uuid = choice->devices[i]->uuid;

        if (strncasecmp(uuid, item, length) != 0)
            continue;
        match = i;
        matches++;
        if (uuid[length] == '\0') {
            matches = 1;
            break;
        }
    }
    if (matches != 1)
        return matches == 0 ? -ENOENT : -ENOTUNIQ;
    select_with_parts(choice, match);
    return 0;
}

static int select_item(const struct choice *choice, const char *item)
{
    static const struct {
        int (*read)(const struct choice *choice, const char *item);
        bool is_strict; /* strict sources accept this form */
    } readers[] = {
        { select_numbers, true },
        { select_part, false },
        { select_address, false },
        { select_uuid, true },
    };
    int r = -EINVAL;

    if (*item == '\0')
        return -EINVAL;
    for (size_t i = 0; i < ARRAY_SIZE(readers) && r == -EINVAL; i++)
        if (readers[i].is_strict || !sources[choice->source].is_strict)
            r = readers[i].read(choice, item);
    return r;
}

/* Copies the next item without the blanks around it. An item that is too long is truncated,
 * and matches nothing. Returns the start of the item after it, or NULL. */
static const char *next_item(const char *text, char item[ITEM_SIZE])
{
    size_t length = strcspn(text, ",");
    const char *after = text[length] == ',' ? text + length + 1 : NULL;

    while (length > 0 && strchr(" \t\n", *text)) {
        text++;
        length--;
    }
    while (length > 0 && strchr(" \t\n", text[length - 1]))
        length--;
    length = length < ITEM_SIZE ? length : ITEM_SIZE - 1;
    memcpy(item, text, length);
    item[length] = '\0';
    return after;
}

static void describe(enum visible_source source, int code, const char *item,
                     struct spoor_error *note)
{
    (void)error_set(note, -code,
                    code == -ENOTUNIQ ? "%s: '%s' matches several GPUs" : "%s: no GPU '%s'",
                    sources[source].name, item);
}

void visible_explain_none(enum visible_source source, const char *text, char *buf, size_t size)
{
    bool is_long = strlen(text) > SHOWN_MAX;

    if (*text == '\0')
        (void)snprintf(buf, size, "%s is empty: no GPU is assigned to the job",
                       sources[source].name);
    else
        (void)snprintf(buf, size, "%s%c%.*s%s matches none of this machine's GPUs",
                       sources[source].name, source == VISIBLE_OPTION ? ' ' : '=', SHOWN_MAX,
                       text, is_long ? "..." : "");
}

/* Whether the list is the option --gpus and consists only of `word`. */
static bool is_option(enum visible_source source, const char *text, const char *word)
{
    char item[ITEM_SIZE];

    return source == VISIBLE_OPTION && text && next_item(text, item) == NULL &&
           strcasecmp(item, word) == 0;
}

bool visible_is_none(const char *text)
{
    return is_option(VISIBLE_OPTION, text, "none");
}

size_t visible_select(enum visible_source source, const char *text,
                      const struct gpu_device *const *devices, size_t count, bool *selected,
                      struct spoor_error *note)
{
    const struct choice choice = { source, devices, count, selected };
    char item[ITEM_SIZE];
    size_t faults = 0;
    bool is_all = is_option(source, text, "all");

    for (size_t i = 0; i < count; i++)
        selected[i] = is_all;
    if (is_all || is_option(source, text, "none"))
        return 0;
    while (text) {
        int r;

        text = next_item(text, item);
        r = select_item(&choice, item);
        if (r == 0)
            continue;
        if (faults++ == 0)
            describe(source, r, item, note);
        if (sources[source].is_strict)
            break;
    }
    return faults;
}
