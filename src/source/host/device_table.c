/* SPDX-License-Identifier: Apache-2.0 */
#include "source/host/device_table.h"

#include <errno.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/parse.h"
#include "base/unknown.h"

void device_table_init(struct device_table *table)
{
    table->count = 0;
    table->counted = DEVICE_IGNORED;
    table->is_exact = true;
    memset(table->sums, 0, sizeof(table->sums));
}

/* The index of a device on this line or a later one; the number of lines: it is not known. */
static size_t find(const struct device_table *table, size_t line, const char *name)
{
    while (line < table->count && strcmp(table->line[line].name, name) != 0)
        line++;
    return line;
}

/* Moves a device up to its line. Those in between move down, in their order. */
static void move_up(struct device_table *table, size_t from, size_t line)
{
    struct device moved = table->line[from];

    memmove(&table->line[line + 1], &table->line[line], (from - line) * sizeof(*table->line));
    table->line[line] = moved;
}

static void insert(struct device_table *table, const struct device *device, size_t line)
{
    if (table->count < DEVICE_TABLE_SIZE)
        table->count++;
    table->line[table->count - 1] = *device;
    move_up(table, table->count - 1, line);
}

static uint64_t add_growth(uint64_t sum, uint64_t before, uint64_t now)
{
    return sum_u64(sum, is_known(now) ? sub_floor0(now, before) : UNKNOWN);
}

static bool is_counted(const struct device_table *table, const struct device *device)
{
    return device->class != DEVICE_IGNORED && device->class == table->counted;
}

static void add(struct device_table *table, struct device *device, struct device_bytes now)
{
    struct device_bytes *before = &device->bytes, *sum = &table->sums[device->class];

    if (is_counted(table, device) && (now.in < before->in || now.out < before->out))
        table->is_exact = false;
    sum->in = add_growth(sum->in, before->in, now.in);
    sum->out = add_growth(sum->out, before->out, now.out);
    *before = now;
}

/* A device that is there from the start counts from 0, a later one from what it has now. */
static void add_new(struct device_table *table, struct device *device, struct device_bytes now)
{
    if (table->counted != DEVICE_IGNORED)
        device->bytes = now;
    if (is_counted(table, device))
        table->is_exact = false;
    add(table, device, now);
}

static int read_line(struct device_table *table, const struct device_kind *kind,
                     const struct root *root, const char *text, size_t line)
{
    struct device device = { .class = DEVICE_IGNORED };
    struct device_bytes now = { 0, 0 };
    size_t found;

    if (kind->parse_name(&text, device.name) < 0)
        return -EBADMSG;
    if (line == DEVICE_TABLE_SIZE)
        return -E2BIG;
    found = find(table, line, device.name);
    device.class =
        found < table->count ? table->line[found].class : kind->classify(root, device.name);
    if (device.class != DEVICE_IGNORED && kind->parse_bytes(text, &now) < 0)
        return -EBADMSG;
    if (found < table->count) {
        move_up(table, found, line);
        add(table, &table->line[line], now);
    } else {
        add_new(table, &device, now);
        insert(table, &device, line);
    }
    return 0;
}

/* Ends the table after these lines: the rest was removed. */
static void cut(struct device_table *table, size_t line)
{
    for (size_t i = line; i < table->count; i++) {
        if (is_counted(table, &table->line[i]))
            table->is_exact = false;
    }
    table->count = line;
}

static void decide(struct device_table *table)
{
    for (size_t i = 0; i < table->count && table->counted != DEVICE_REAL; i++) {
        if (table->line[i].class != DEVICE_IGNORED)
            table->counted = table->line[i].class;
    }
}

int device_table_read(struct device_table *table, const struct device_kind *kind,
                      const struct root *root, const char *text, struct device_bytes *ret)
{
    size_t line = 0;

    for (; *text; text = parse_next_line(text), line++) {
        int r = read_line(table, kind, root, text, line);

        if (r < 0)
            return r;
    }
    cut(table, line);
    if (table->counted == DEVICE_IGNORED)
        decide(table);
    if (table->counted == DEVICE_IGNORED)
        return -ENOENT;
    *ret = table->sums[table->counted];
    return 0;
}
