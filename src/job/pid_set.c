/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pid_set.c - open addressing with linear probing. An entry that leaves pulls those behind it
 * up, so that there are no marks of what once was and a search ends at the first free slot.
 */
#include "job/pid_set.h"

#include <stdlib.h>

enum { SLOTS_MIN = 256 };

/* Pids come one after another: a multiplication spreads them. */
static size_t home(const struct pid_set *set, pid_t pid)
{
    return (size_t)((uint32_t)pid * 2654435769u) & (set->slot_count - 1);
}

/* The slot where it is, or would be put. */
static size_t probe(const struct pid_set *set, pid_t pid)
{
    size_t i = home(set, pid);

    while (set->slots[i].pid != 0 && set->slots[i].pid != pid)
        i = (i + 1) & (set->slot_count - 1);
    return i;
}

static bool grow(struct pid_set *set)
{
    struct pid_set larger = { .count = set->count };

    larger.slot_count = set->slot_count ? set->slot_count * 2 : SLOTS_MIN;
    larger.slots = calloc(larger.slot_count, sizeof(*larger.slots));
    if (!larger.slots)
        return false;
    for (size_t i = 0; i < set->slot_count; i++) {
        if (set->slots[i].pid != 0)
            larger.slots[probe(&larger, set->slots[i].pid)] = set->slots[i];
    }
    free(set->slots);
    *set = larger;
    return true;
}

void pid_set_done(struct pid_set *set)
{
    free(set->slots);
    *set = (struct pid_set){ 0 };
}

struct pid_entry *pid_set_find(const struct pid_set *set, pid_t pid)
{
    struct pid_entry *entry;

    if (set->count == 0 || pid <= 0)
        return NULL;
    entry = &set->slots[probe(set, pid)];
    return entry->pid != 0 ? entry : NULL;
}

struct pid_entry *pid_set_add(struct pid_set *set, pid_t pid)
{
    struct pid_entry *entry = pid_set_find(set, pid);

    if (entry)
        return entry;
    if (pid <= 0 || set->count >= PID_SET_MAX)
        return NULL;
    /* At most half full, so that searches stay short. */
    if (set->count * 2 >= set->slot_count && !grow(set))
        return NULL;
    entry = &set->slots[probe(set, pid)];
    *entry = (struct pid_entry){ .pid = pid };
    set->count++;
    return entry;
}

void pid_set_remove(struct pid_set *set, struct pid_entry *entry)
{
    size_t mask = set->slot_count - 1;
    size_t hole = (size_t)(entry - set->slots);

    for (size_t i = (hole + 1) & mask; set->slots[i].pid != 0; i = (i + 1) & mask) {
        /* It may move up only where its search would still pass the hole. */
        if (((i - home(set, set->slots[i].pid)) & mask) < ((i - hole) & mask))
            continue;
        set->slots[hole] = set->slots[i];
        hole = i;
    }
    set->slots[hole] = (struct pid_entry){ 0 };
    set->count--;
}

void pid_set_filter(struct pid_set *set, bool (*keep)(struct pid_entry *entry, void *data),
                    void *data)
{
    for (size_t i = 0; i < set->slot_count;) {
        struct pid_entry *entry = &set->slots[i];

        /* What is removed may be replaced by one from behind, which is asked in its turn. */
        if (entry->pid != 0 && !keep(entry, data))
            pid_set_remove(set, entry);
        else
            i++;
    }
}
