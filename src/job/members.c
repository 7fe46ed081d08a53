/* SPDX-License-Identifier: Apache-2.0 */
/*
 * members.c - open addressing with linear probing. An entry that leaves pulls up those behind it, so
 * that a search ends at the first free slot.
 */
#include "job/members.h"

#include <stdlib.h>

#include "base/reserve.h"

enum { SLOTS_MIN = 256 };

/* Pids come one after another: a multiplication spreads them. */
static size_t home(const struct members *members, pid_t pid)
{
    return (size_t)((uint32_t)pid * 2654435769u) & (members->slot_count - 1);
}

/* The slot where it is, or would be put. */
static size_t probe(const struct members *members, pid_t pid)
{
    size_t i = home(members, pid);

    while (members->slots[i].pid != 0 && members->slots[i].pid != pid)
        i = (i + 1) & (members->slot_count - 1);
    return i;
}

static bool grow_slots(struct members *members)
{
    struct members larger = *members;

    larger.slot_count = members->slot_count ? members->slot_count * 2 : SLOTS_MIN;
    larger.slots = calloc(larger.slot_count, sizeof(*larger.slots));
    if (!larger.slots)
        return false;
    for (size_t i = 0; i < members->slot_count; i++) {
        if (members->slots[i].pid != 0)
            larger.slots[probe(&larger, members->slots[i].pid)] = members->slots[i];
    }
    free(members->slots);
    *members = larger;
    return true;
}

void members_done(struct members *members)
{
    for (size_t i = 0; i < members->count; i++)
        member_close(&members->list[i]);
    free(members->list);
    free(members->slots);
    *members = (struct members){ 0 };
}

struct process *members_process(const struct members *members, pid_t pid)
{
    struct process *process;

    if (members->process_count == 0 || pid <= 0)
        return NULL;
    process = &members->slots[probe(members, pid)];
    return process->pid != 0 ? process : NULL;
}

struct process *members_add_process(struct members *members, pid_t pid)
{
    struct process *process = members_process(members, pid);

    if (process)
        return process;
    if (pid <= 0 || members->process_count >= MEMBERS_MAX)
        return NULL;
    /* At most half full, so that searches stay short. */
    if (members->process_count * 2 >= members->slot_count && !grow_slots(members))
        return NULL;
    process = &members->slots[probe(members, pid)];
    *process = (struct process){ .pid = pid };
    members->process_count++;
    return process;
}

void members_release(struct members *members, struct process *process)
{
    size_t mask = members->slot_count - 1;
    size_t hole = (size_t)(process - members->slots);

    if (process->member != 0 || process->threads > 0 || process->is_recording)
        return;
    for (size_t i = (hole + 1) & mask; members->slots[i].pid != 0; i = (i + 1) & mask) {
        /* It may move up only if its search would still pass the hole. */
        if (((i - home(members, members->slots[i].pid)) & mask) < ((i - hole) & mask))
            continue;
        members->slots[hole] = members->slots[i];
        hole = i;
    }
    members->slots[hole] = (struct process){ 0 };
    members->process_count--;
}

struct member *members_find(const struct members *members, pid_t pid)
{
    const struct process *process = members_process(members, pid);

    return process && process->member != 0 ? &members->list[process->member - 1] : NULL;
}

struct member *members_add(struct members *members, const struct member *member)
{
    struct process *process;

    if (reserve(&members->list, &members->capacity, members->count + 1, sizeof(*member)) < 0)
        return NULL;
    process = members_add_process(members, member->pid);
    if (!process)
        return NULL;
    members->list[members->count++] = *member;
    process->member = (uint32_t)members->count;
    members->changes++;
    return &members->list[members->count - 1];
}

/* Its slot, or NULL if the pid is another process's by now. */
static struct process *slot_of(const struct members *members, size_t i)
{
    struct process *process = members_process(members, members->list[i].pid);

    return process && process->member == i + 1 ? process : NULL;
}

static int compare_starts(const void *left, const void *right)
{
    const struct member *a = left, *b = right;

    if (a->start_ticks != b->start_ticks)
        return a->start_ticks < b->start_ticks ? -1 : 1;
    return (a->pid > b->pid) - (a->pid < b->pid);
}

void members_order(struct members *members, size_t count)
{
    if (members->count - count < 2)
        return;
    qsort(members->list + count, members->count - count, sizeof(*members->list),
          compare_starts);
    /* They have just been added: each is found by its pid. */
    for (size_t i = count; i < members->count; i++)
        members_process(members, members->list[i].pid)->member = (uint32_t)i + 1;
}

void members_remove_left(struct members *members)
{
    size_t kept = 0;

    for (size_t i = 0; i < members->count; i++) {
        struct process *process =
            kept != i || members->list[i].has_left ? slot_of(members, i) : NULL;

        if (members->list[i].has_left) {
            member_close(&members->list[i]);
            if (process) {
                process->member = 0;
                members_release(members, process);
            }
            continue;
        }
        if (kept != i)
            members->list[kept] = members->list[i];
        if (process)
            process->member = (uint32_t)kept + 1;
        kept++;
    }
    members->changes += kept != members->count;
    members->count = kept;
}
