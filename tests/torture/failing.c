/* SPDX-License-Identifier: Apache-2.0 */
/*
 * failing.c - a library to preload that makes one call of a program fail.
 *
 * It wraps functions of the C library. The kinds of calls are alloc, open, read, write, stat, fd,
 * thread, fork and wait. Environment variables control it:
 *
 *     FAILING_STATE=FILE      counts and call sites, shared with the test and with forked children
 *     FAILING_KIND=KIND       the calls to count
 *     FAILING_SITE=HEX        only calls from this call site
 *     FAILING_AT=N            the Nth of these calls fails, from 1; 0, the default: none
 *     FAILING_HOW=ERRNO       an error number; "short": fewer bytes than requested;
 *                             "empty": end of file
 *     FAILING_ON=1            all calls of the kind fail from then on
 *
 * Calls of forked children count as well; calls of programs that they execute do not.
 *
 * A call site is a hash of the return addresses inside the program and libspoor, relative to their
 * load addresses: it is the same in every run, in whatever order threads run.
 */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "failing.h"

#pragma GCC visibility push(default)

enum { FRAMES_MAX = 48 };

static struct failing_state *state;
static char kind_wanted[16];
static bool is_sticky, has_begun;
static uint64_t site_wanted;
static uint64_t at_wanted;
int failing_how;
static atomic_long live_blocks;
static atomic_bool is_held;
__thread bool failing_is_busy;

/* The address ranges of the program and libspoor. */
static struct range {
    uintptr_t base, start, end;
} ranges[2];
static size_t range_count;

long failing_live_blocks(void)
{
    return live_blocks;
}

void failing_hold(bool holds)
{
    is_held = holds;
}

/* ---- call sites ------------------------------------------------------------- */

static int note_range(struct dl_phdr_info *info, size_t size, void *data)
{
    struct range range = { info->dlpi_addr, UINTPTR_MAX, 0 };
    bool is_program = info->dlpi_name[0] == '\0';

    (void)size;
    (void)data;
    if (range_count == 2 || !(is_program || strstr(info->dlpi_name, "libspoor")))
        return 0;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + header->p_vaddr;

        if (header->p_type != PT_LOAD)
            continue;
        range.start = start < range.start ? start : range.start;
        range.end = start + header->p_memsz > range.end ? start + header->p_memsz : range.end;
    }
    ranges[range_count++] = range;
    return 0;
}

/* Returns the FNV-1a hash of the return addresses. `ret` receives the first of them. */
static uint64_t find_site(uint64_t ret[FAILING_FRAMES])
{
    void *frames[FRAMES_MAX];
    int count = backtrace(frames, FRAMES_MAX);
    uint64_t hash = 14695981039346656037u;
    size_t used = 0;

    for (int i = 0; i < count; i++) {
        uintptr_t address = (uintptr_t)frames[i];

        for (size_t j = 0; j < range_count; j++) {
            if (address < ranges[j].start || address >= ranges[j].end)
                continue;
            if (used < FAILING_FRAMES)
                ret[used++] = address - ranges[j].base;
            hash = (hash ^ (address - ranges[j].base)) * 1099511628211u;
        }
    }
    return hash;
}

static bool is_hit(uint64_t site)
{
    if (at_wanted == 0)
        return false;
    if (is_sticky && atomic_load(&state->failed) > 0)
        return true;
    return (site_wanted == 0 || site == site_wanted) &&
           atomic_fetch_add(&state->matches, 1) + 1 == at_wanted;
}

bool failing_wants(const char *kind)
{
    return state && !failing_is_busy && !is_held && strcmp(kind, kind_wanted) == 0;
}

bool failing_hits(const char *kind)
{
    uint64_t frames[FAILING_FRAMES] = { 0 };
    int saved = errno;
    uint64_t site, index;
    bool result;

    if (!failing_wants(kind))
        return false;
    failing_is_busy = true;
    site = find_site(frames);
    index = atomic_fetch_add(&state->count, 1);
    if (index < FAILING_SITES)
        state->sites[index] = site;
    result = is_hit(site);
    if (result && atomic_fetch_add(&state->failed, 1) == 0)
        memcpy(state->frames, frames, sizeof(frames));
    failing_is_busy = false;
    errno = saved;
    return result;
}

int failing_fail(void)
{
    errno = failing_how > 0 ? failing_how : EIO;
    return -1;
}

void *failing_null(void)
{
    (void)failing_fail();
    return NULL;
}

/* ---- start ------------------------------------------------------------------ */

void *failing_next(const char *name)
{
    bool was_busy = failing_is_busy;
    void *address;

    failing_is_busy = true;
    address = dlsym(RTLD_NEXT, name);
    failing_is_busy = was_busy;
    if (!address)
        abort();
    return address;
}

static int how_from_environment(void)
{
    const char *text = getenv("FAILING_HOW");

    if (!text)
        return EIO;
    return strcmp(text, "short") == 0   ? HOW_SHORT
           : strcmp(text, "empty") == 0 ? HOW_EMPTY
                                        : (int)strtol(text, NULL, 10);
}

static uint64_t number_from_environment(const char *name, int base)
{
    const char *text = getenv(name);

    return text ? strtoull(text, NULL, base) : 0;
}

__attribute__((constructor)) static void begin(void)
{
    static const char *const names[] = { "LD_PRELOAD",   "FAILING_STATE", "FAILING_KIND",
                                         "FAILING_SITE", "FAILING_AT",    "FAILING_HOW",
                                         "FAILING_ON" };
    const char *path = getenv("FAILING_STATE");
    const char *kind = getenv("FAILING_KIND");
    void *frames[1];
    void *map;
    int fd;

    has_begun = true;
    if (!path || !kind)
        return;
    failing_is_busy = true;
    (void)snprintf(kind_wanted, sizeof(kind_wanted), "%s", kind);
    site_wanted = number_from_environment("FAILING_SITE", 16);
    at_wanted = number_from_environment("FAILING_AT", 10);
    is_sticky = number_from_environment("FAILING_ON", 10) != 0;
    failing_how = how_from_environment();
    fd = open(path, O_RDWR | O_CLOEXEC);
    map = mmap(NULL, sizeof(*state), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    (void)backtrace(frames, 1); /* its first call loads a library */
    (void)dl_iterate_phdr(note_range, NULL);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        (void)unsetenv(names[i]); /* the job must not inherit them */
    failing_is_busy = false;
    if (map == MAP_FAILED)
        abort();
    state = map;
}

/* ---- alloc ------------------------------------------------------------------ */

/* Until this library has started, dlsym() and the program allocate from here. These blocks are
 * never freed. */
static _Alignas(16) char early[1 << 20];
static size_t early_used;
static bool is_resolving;

static void *allocate_early(size_t size)
{
    void *result = early + early_used;

    early_used += (size + 15) & ~(size_t)15;
    if (early_used > sizeof(early))
        abort();
    return result;
}

static bool is_early(const void *pointer)
{
    return (const char *)pointer >= early && (const char *)pointer < early + sizeof(early);
}

#define NEXT_ALLOCATOR(name, size)                     \
    static __typeof__(&name) next;                     \
    if (!next) {                                       \
        if (!has_begun || is_resolving)                \
            return allocate_early(size);               \
        is_resolving = true;                           \
        next = (__typeof__(&name))failing_next(#name); \
        is_resolving = false;                          \
    }

static void *count_block(void *block)
{
    if (block)
        live_blocks++;
    return block;
}

void *malloc(size_t size)
{
    NEXT_ALLOCATOR(malloc, size);
    return failing_hits("alloc") ? failing_null() : count_block(next(size));
}

void *calloc(size_t count, size_t size)
{
    NEXT_ALLOCATOR(calloc, count * size);
    return failing_hits("alloc") ? failing_null() : count_block(next(count, size));
}

void *realloc(void *block, size_t size)
{
    NEXT_ALLOCATOR(realloc, size);
    void *result;

    if (is_early(block)) {
        size_t most = (size_t)(early + sizeof(early) - (char *)block);

        result = malloc(size);
        return result ? memcpy(result, block, size < most ? size : most) : NULL;
    }
    if (failing_hits("alloc"))
        return failing_null();
    result = next(block, size);
    if (!block)
        (void)count_block(result);
    return result;
}

void *reallocarray(void *block, size_t count, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(block, bytes);
}

void free(void *block)
{
    static void (*next)(void *);

    if (!block || is_early(block))
        return;
    if (!next)
        next = (void (*)(void *))failing_next("free");
    live_blocks--;
    next(block);
}

/* Mapping anonymous memory counts as "alloc", mapping a file as "open". */
void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
    NEXT(mmap);
    if (failing_hits(flags & MAP_ANONYMOUS ? "alloc" : "open")) {
        (void)failing_fail();
        return MAP_FAILED;
    }
    return next(address, size, protection, flags, fd, offset);
}

void *mmap64(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
    return mmap(address, size, protection, flags, fd, offset);
}
