/* SPDX-License-Identifier: Apache-2.0 */
#include "job/members.h"

#include <stdlib.h>
#include <string.h>

void members_done(struct members *members)
{
    for (size_t i = 0; i < members->count; i++)
        member_close(&members->list[i]);
    free(members->list);
    free(members->slots);
    *members = (struct members){ 0 };
}

static size_t slot_of(const struct members *members, pid_t pid)
{
    size_t mask = members->slot_count - 1;
    size_t slot = (size_t)pid * 2654435761u & mask;

    while (members->slots[slot] != 0 && members->list[members->slots[slot] - 1].pid != pid)
        slot = (slot + 1) & mask;
    return slot;
}

static void index_all(struct members *members)
{
    memset(members->slots, 0, members->slot_count * sizeof(*members->slots));
    for (size_t i = 0; i < members->count; i++)
        members->slots[slot_of(members, members->list[i].pid)] = (uint32_t)i + 1;
}

static int grow(struct members *members)
{
    size_t capacity = members->capacity ? 2 * members->capacity : 16;
    struct member *list = NULL;
    uint32_t *slots;

    if (capacity > MEMBERS_MAX)
        return -1;
    slots = calloc(2 * capacity, sizeof(*slots));
    if (slots)
        list = realloc(members->list, capacity * sizeof(*list));
    if (!list) {
        free(slots);
        return -1;
    }
    free(members->slots);
    members->list = list;
    members->capacity = capacity;
    members->slots = slots;
    members->slot_count = 2 * capacity;
    index_all(members);
    return 0;
}

struct member *members_find(struct members *members, pid_t pid)
{
    uint32_t entry;

    if (members->slot_count == 0)
        return NULL;
    entry = members->slots[slot_of(members, pid)];
    return entry == 0 ? NULL : &members->list[entry - 1];
}

struct member *members_add(struct members *members, const struct member *member)
{
    struct member *added;

    if (members->count == members->capacity && grow(members) < 0)
        return NULL;
    added = &members->list[members->count++];
    *added = *member;
    members->slots[slot_of(members, added->pid)] = (uint32_t)members->count;
    members->changes++;
    return added;
}

void members_remove_left(struct members *members)
{
    size_t kept = 0;

    for (size_t i = 0; i < members->count; i++) {
        if (members->list[i].has_left) {
            member_close(&members->list[i]);
            continue;
        }
        if (kept != i)
            members->list[kept] = members->list[i];
        kept++;
    }
    if (kept == members->count)
        return;
    members->count = kept;
    members->changes++;
    index_all(members);
}
