/* SPDX-License-Identifier: Apache-2.0 */
/*
 * topology.c - sockets, cores and caches.
 *
 * Every CPU lists the CPUs that it shares a core, a socket or a cache with, such as "0,64". Each of these
 * is counted at the first CPU of its list.
 */
#include "source/host/topology.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/compiler.h"
#include "base/parse.h"
#include "base/unknown.h"

#define CPU_PATH "sys/devices/system/cpu"

enum { CPUS_MAX = 8192, INDEXES_MAX = 16 };

int cache_size_parse(const char *text, uint64_t *ret)
{
    static const char units[] = "KMG";
    const char *cursor = text, *unit;
    uint64_t value;

    if (parse_u64(&cursor, &value) < 0)
        return -EBADMSG;
    unit = *cursor ? strchr(units, *cursor) : NULL;
    if (unit) {
        value = product_u64(value, 1ull << (10 * (unit - units + 1)));
        cursor++;
    }
    if (*cursor && !isspace((unsigned char)*cursor))
        return -EBADMSG;
    *ret = value;
    return 0;
}

static uint64_t read_number(const struct root *root, const char *path)
{
    char text[64];
    uint64_t value;

    return root_read(root, text, sizeof(text), "%s", path) > 0 &&
                   parse_whole_u64(text, &value) == 0
               ? value
               : UNKNOWN;
}

/* The number of CPUs or nodes in a file such as "0-3,8". */
static uint64_t count_list(const struct root *root, const char *path)
{
    char text[CPU_LIST_SIZE];
    unsigned count;

    return root_read(root, text, sizeof(text), "%s", path) > 0 &&
                   parse_cpu_list_count(text, &count) == 0
               ? count
               : UNKNOWN;
}

/* 1: the CPU is the first of the list in a file, 0: it is not. UNKNOWN: there is no such list. */
static uint64_t is_first(const struct root *root, const char *path, uint64_t cpu)
{
    char text[64]; /* the start is enough */
    const char *cursor = text;
    uint64_t first;

    return root_read_start(root, text, sizeof(text), "%s", path) > 0 &&
                   parse_u64(&cursor, &first) == 0
               ? first == cpu
               : UNKNOWN;
}

/* Of a CPU: by the name since Linux 5.3, or the older one. */
static uint64_t leads(const struct root *root, uint64_t cpu, const char *name,
                      const char *old_name)
{
    const char *const names[] = { name, old_name };
    uint64_t answer = UNKNOWN;

    for (size_t i = 0; i < ARRAY_SIZE(names) && !is_known(answer); i++) {
        char path[128];

        (void)snprintf(path, sizeof(path), CPU_PATH "/cpu%llu/topology/%s",
                       (unsigned long long)cpu, names[i]); /* fits */
        answer = is_first(root, path, cpu);
    }
    return answer;
}

/* ---- caches --------------------------------------------------------------- */

static void add_cache(struct topology *topology, uint64_t level, char type, uint64_t bytes)
{
    size_t at = 0;

    while (at < topology->cache_count &&
           (topology->caches[at].level < level ||
            (topology->caches[at].level == level && topology->caches[at].type < type)))
        at++;
    if (at == topology->cache_count || topology->caches[at].level != level ||
        topology->caches[at].type != type) {
        if (topology->cache_count == TOPOLOGY_CACHES_MAX)
            return;
        memmove(&topology->caches[at + 1], &topology->caches[at],
                (topology->cache_count - at) * sizeof(topology->caches[0]));
        topology->caches[at] = (struct topology_cache){ .level = level, .type = type };
        topology->cache_count++;
    }
    topology->caches[at].count++;
    topology->caches[at].bytes = sum_u64(topology->caches[at].bytes, bytes);
}

/* Whether there is a cache of that index. */
static bool read_cache(const struct root *root, uint64_t cpu, unsigned index,
                       struct topology *topology)
{
    char folder[96], path[128], type[32], size[32];
    uint64_t level, bytes = UNKNOWN;

    (void)snprintf(folder, sizeof(folder), CPU_PATH "/cpu%llu/cache/index%u",
                   (unsigned long long)cpu, index); /* fits */
    (void)snprintf(path, sizeof(path), "%s/level", folder);
    level = read_number(root, path);
    if (!is_known(level))
        return false;
    (void)snprintf(path, sizeof(path), "%s/shared_cpu_list", folder);
    if (is_first(root, path, cpu) != 1)
        return true;
    if (root_read(root, type, sizeof(type), "%s/type", folder) <= 0 ||
        !strchr("DIU", type[0])) /* Data, Instruction, Unified */
        return true;
    if (root_read(root, size, sizeof(size), "%s/size", folder) <= 0 ||
        cache_size_parse(size, &bytes) < 0)
        return true; /* virtual machines may have caches of no size */
    add_cache(topology, level, (char)tolower((unsigned char)type[0]), bytes);
    return true;
}

/* ---- all ------------------------------------------------------------------ */

static void read_cpu(const struct root *root, uint64_t cpu, struct topology *topology)
{
    topology->threads++;
    topology->cores =
        sum_u64(topology->cores, leads(root, cpu, "core_cpus_list", "thread_siblings_list"));
    topology->sockets =
        sum_u64(topology->sockets, leads(root, cpu, "package_cpus_list", "core_siblings_list"));
    for (unsigned i = 0; i < INDEXES_MAX && read_cache(root, cpu, i, topology); i++)
        ;
}

void topology_read(const struct root *root, struct topology *ret)
{
    char text[CPU_LIST_SIZE];
    const char *cursor = text;

    *ret =
        (struct topology){ .numa_nodes = count_list(root, "sys/devices/system/node/online") };
    if (root_read(root, text, sizeof(text), CPU_PATH "/online") <= 0)
        text[0] = '\0';
    for (uint64_t first, last; parse_u64(&cursor, &first) == 0; cursor += *cursor == ',') {
        last = first;
        if (*cursor == '-') {
            cursor++;
            if (parse_u64(&cursor, &last) < 0)
                break;
        }
        for (uint64_t cpu = first; cpu <= last && cpu < CPUS_MAX; cpu++)
            read_cpu(root, cpu, ret);
    }
    if (ret->threads == 0)
        ret->threads = ret->cores = ret->sockets = UNKNOWN;
}
