/* SPDX-License-Identifier: Apache-2.0 */
/*
 * roster.c - open addressing with linear probing. A removed entry is replaced by a later one of
 * the same run, so that a search can end at the first free slot.
 */
#include "job/roster.h"

#include <stdlib.h>

#include "base/reserve.h"

enum { SLOTS_MIN = 256 };

/* PIDs are consecutive: a multiplication spreads them. */
static size_t home(const struct roster *roster, pid_t pid)
{
    return (size_t)((uint32_t)pid * 2654435769u) & (roster->slot_count - 1);
}

/* Returns the slot of a PID, or the free slot in which to put it. */
static size_t probe(const struct roster *roster, pid_t pid)
{
    size_t i = home(roster, pid);

    while (roster->slots[i].pid != 0 && roster->slots[i].pid != pid)
        i = (i + 1) & (roster->slot_count - 1);
    return i;
}

static bool grow_slots(struct roster *roster)
{
    struct roster larger = *roster;

    larger.slot_count = roster->slot_count ? roster->slot_count * 2 : SLOTS_MIN;
    larger.slots = calloc(larger.slot_count, sizeof(*larger.slots));
    if (!larger.slots)
        return false;
    for (size_t i = 0; i < roster->slot_count; i++) {
        if (roster->slots[i].pid != 0)
            larger.slots[probe(&larger, roster->slots[i].pid)] = roster->slots[i];
    }
    free(roster->slots);
    *roster = larger;
    return true;
}

void roster_done(struct roster *roster)
{
    for (size_t i = 0; i < roster->count; i++)
        member_close(&roster->list[i]);
    free(roster->list);
    free(roster->slots);
    process_table_done(&roster->ended);
    *roster = (struct roster){ 0 };
}

struct process *roster_find(const struct roster *roster, pid_t pid)
{
    struct process *process;

    if (roster->process_count == 0 || pid <= 0)
        return NULL;
    process = &roster->slots[probe(roster, pid)];
    return process->pid != 0 ? process : NULL;
}

struct process *roster_add(struct roster *roster, pid_t pid)
{
    struct process *process = roster_find(roster, pid);

    if (process)
        return process;
    if (pid <= 0 || roster->process_count >= ROSTER_MAX)
        return NULL;
    /* Keep the table at most half full, so that searches stay short. */
    if (roster->process_count * 2 >= roster->slot_count && !grow_slots(roster))
        return NULL;
    process = &roster->slots[probe(roster, pid)];
    *process = (struct process){ .pid = pid };
    roster->process_count++;
    return process;
}

void roster_release(struct roster *roster, struct process *process)
{
    size_t mask = roster->slot_count - 1;
    size_t hole = (size_t)(process - roster->slots);

    if (process->member != 0 || process->threads > 0 || process->is_recording)
        return;
    for (size_t i = (hole + 1) & mask; roster->slots[i].pid != 0; i = (i + 1) & mask) {
        /* An entry may move up only if its search would still pass the hole. */
        if (((i - home(roster, roster->slots[i].pid)) & mask) < ((i - hole) & mask))
            continue;
        roster->slots[hole] = roster->slots[i];
        hole = i;
    }
    roster->slots[hole] = (struct process){ 0 };
    roster->process_count--;
}

struct member *roster_member(const struct roster *roster, pid_t pid)
{
    const struct process *process = roster_find(roster, pid);

    return process && process->member != 0 ? &roster->list[process->member - 1] : NULL;
}

struct member *roster_add_member(struct roster *roster, const struct member *member)
{
    struct process *process;

    if (reserve(&roster->list, &roster->capacity, roster->count + 1, sizeof(*member)) < 0)
        return NULL;
    process = roster_add(roster, member->id.pid);
    if (!process)
        return NULL;
    roster->list[roster->count++] = *member;
    process->member = (uint32_t)roster->count;
    roster->changes++;
    return &roster->list[roster->count - 1];
}

struct process *roster_slot_of(const struct roster *roster, const struct member *member)
{
    struct process *process = roster_find(roster, member->id.pid);

    return process && process->member == (size_t)(member - roster->list) + 1 ? process : NULL;
}

static int compare_starts(const void *left, const void *right)
{
    const struct member *a = left, *b = right;

    return a->id.start_ticks != b->id.start_ticks
               ? compare_u64(a->id.start_ticks, b->id.start_ticks)
               : a->id.pid - b->id.pid;
}

/* Finds the parent of list[i] among later entries of the same tick; or returns `count`. */
static size_t find_parent(const struct member *list, size_t i, size_t count)
{
    for (size_t j = i + 1; j < count && list[j].id.start_ticks == list[i].id.start_ticks; j++) {
        if (list[j].id.pid == list[i].parent_pid)
            return j;
    }
    return count;
}

/* Moves parents before their children: after PIDs wrap around, a child has a smaller PID than
 * its parent. */
static void put_parents_first(struct member *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        /* Limit the loop: PIDs of parents may be reused, so that the links may form a cycle. */
        for (size_t tries = i, j; tries < count; tries++) {
            struct member child = list[i];

            j = find_parent(list, i, count);
            if (j == count)
                break;
            list[i] = list[j];
            list[j] = child;
        }
    }
}

void roster_order(struct roster *roster, size_t count)
{
    if (roster->count - count < 2)
        return;
    qsort(roster->list + count, roster->count - count, sizeof(*roster->list), compare_starts);
    put_parents_first(roster->list + count, roster->count - count);
    /* The processes have just been added: each is found by its PID. */
    for (size_t i = count; i < roster->count; i++)
        roster_find(roster, roster->list[i].id.pid)->member = (uint32_t)i + 1;
}

size_t roster_left_count(const struct roster *roster)
{
    size_t count = 0;

    for (size_t i = 0; i < roster->count; i++)
        count += roster->list[i].account.has_left;
    return count;
}

void roster_remove_left(struct roster *roster)
{
    size_t kept = 0;

    for (size_t i = 0; i < roster->count; i++) {
        struct process *process = kept != i || roster->list[i].account.has_left
                                      ? roster_slot_of(roster, &roster->list[i])
                                      : NULL;

        if (roster->list[i].account.has_left) {
            member_close(&roster->list[i]);
            if (process) {
                process->member = 0;
                roster_release(roster, process);
            }
            continue;
        }
        if (kept != i)
            roster->list[kept] = roster->list[i];
        if (process)
            process->member = (uint32_t)kept + 1;
        kept++;
    }
    roster->changes += kept != roster->count;
    roster->count = kept;
}
