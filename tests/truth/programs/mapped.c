/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mapped once|written|twice|parts|shm - a file in memory, mapped in several ways.
 *
 * once:    300 MB, mapped by one process
 * written: 300 MB as a private mapping, a third of which is written: in this process, copies
 *          replace these pages
 * twice:   100 MB, mapped two times by one process: 100 MB of memory, counted as 200 by the kernel
 * parts:   240 MB, which three children map; each touches half of it, from 0, 60 or 120 MB on
 * shm:     two different objects of 60 MB with the same name, in three processes
 */
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ledger.h"
#include "workload.h"

enum { HOLD_MS = 700, CHILDREN = 3 };

static char *map_file(int fd, size_t bytes, int flags)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);

    if (memory == MAP_FAILED)
        ledger_fail("mmap");
    return memory;
}

static void map_once(void)
{
    size_t bytes = 300 * MB;
    double base = resident_bytes();
    int fd = make_sparse_file(bytes);
    char *memory = map_file(fd, bytes, MAP_SHARED);

    read_pages(memory, bytes);
    hold_ms(HOLD_MS);
    release(memory, bytes);
    close(fd); /* frees the pages now, before the CPU clock is read */
    ledger_set_lone_memory(base + (double)bytes);
}

static void map_and_write(void)
{
    size_t bytes = 300 * MB;
    double base = resident_bytes();
    int fd = make_sparse_file(bytes);
    char *memory = map_file(fd, bytes, MAP_PRIVATE);

    read_pages(memory, bytes);
    write_pages(memory, bytes / 3);
    hold_ms(HOLD_MS);
    release(memory, bytes);
    close(fd);
    ledger_set_lone_memory(base + (double)bytes);
    ledger_set(ANON_BYTES, (double)bytes / 3);
}

static void map_twice(void)
{
    size_t bytes = 100 * MB;
    int fd = make_sparse_file(bytes);
    double base = resident_bytes();
    char *maps[2];

    for (int i = 0; i < 2; i++) {
        maps[i] = map_file(fd, bytes, MAP_SHARED);
        read_pages(maps[i], bytes);
    }
    hold_ms(HOLD_MS);
    for (int i = 0; i < 2; i++)
        release(maps[i], bytes);
    close(fd);
    ledger_set(PEAK_RSS_BYTES, base + (double)bytes);
}

struct part {
    int fd;
    size_t file_bytes, start, bytes;
    bool is_late; /* touched after all others */
    meeting *place;
};

static void touch_part(void *data)
{
    const struct part *part = data;
    char *memory = map_file(part->fd, part->file_bytes, MAP_SHARED);

    /* Otherwise the kernel also maps the neighbours of a touched page. */
    madvise(memory, part->file_bytes, MADV_RANDOM);
    if (!part->is_late)
        read_pages(memory + part->start, part->bytes);
    meet(part->place);
    if (part->is_late)
        read_pages(memory + part->start, part->bytes);
    meet(part->place);
    meet(part->place);
    if (part->is_late) /* and released before all others */
        release(memory, part->file_bytes);
    meet(part->place);
    if (!part->is_late)
        release(memory, part->file_bytes);
}

static void run_children(void (*act)(void *), struct part parts[CHILDREN])
{
    pid_t pids[CHILDREN];

    for (int i = 0; i < CHILDREN; i++) {
        parts[i].place = i == 0 ? meeting_of(CHILDREN + 1) : parts[0].place;
        pids[i] = start(act, &parts[i]);
    }
    meet(parts[0].place); /* the late children start */
    meet(parts[0].place);
    hold_ms(HOLD_MS);
    meet(parts[0].place);
    meet(parts[0].place); /* the late children have released their part */
    for (int i = 0; i < CHILDREN; i++)
        wait_for(pids[i]);
    ledger_set(PROCESSES, CHILDREN + 1);
    ledger_set(CONCURRENT, CHILDREN + 1);
}

static void map_parts(void)
{
    size_t bytes = 240 * MIB;
    int fd = make_sparse_file(bytes);
    double base = resident_bytes();
    struct part parts[CHILDREN];

    for (size_t i = 0; i < CHILDREN; i++)
        parts[i] = (struct part){ fd, bytes, i * 60 * MIB, bytes / 2, false, NULL };
    run_children(touch_part, parts);
    close(fd);
    ledger_set(PEAK_RSS_BYTES, base + (double)bytes);
    ledger_set(DESCENDANTS_RSS_BYTES, base + (double)bytes);
    /* In the end 0-60 and 180-240 have one reader, 60-180 two. The private part depends on
     * which child reads first. Only the shared part, which only grows, is known. */
    ledger_set(SHARED_BYTES, (double)bytes / 2 + base);
}

static void map_shm(void)
{
    size_t bytes = 60 * MIB;
    struct part parts[CHILDREN];
    double base = resident_bytes();

    for (size_t i = 0; i < CHILDREN; i++) {
        /* The first two children have an object each; the third maps the object of the first. */
        int fd = i < 2 ? memfd_create("object", MFD_CLOEXEC) : parts[0].fd;

        if (fd < 0 || ftruncate(fd, (off_t)bytes) < 0)
            ledger_fail("memfd");
        /* An object is private while only one process has touched it. The child with its own
         * object is late, so that only one object at a time is private. */
        parts[i] = (struct part){ fd, bytes, 0, bytes, i == 1, NULL };
    }
    run_children(touch_part, parts);
    for (int i = 0; i < 2; i++)
        close(parts[i].fd);
    ledger_set(PEAK_RSS_BYTES, base + 2 * (double)bytes);
    ledger_set(DESCENDANTS_RSS_BYTES, base + 2 * (double)bytes);
    ledger_set(PRIVATE_BYTES, (double)bytes);
    ledger_set(SHARED_BYTES, (double)bytes + base);
}

static const struct {
    const char *name;
    void (*act)(void);
} ways[] = {
    { "once", map_once },   { "written", map_and_write }, { "twice", map_twice },
    { "parts", map_parts }, { "shm", map_shm },
};

int main(int argc, char **argv)
{
    ledger_open();
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        if (argc > 1 && strcmp(argv[1], ways[i].name) == 0)
            ways[i].act();
    }
    ledger_burn_to_ms(ENOUGH_CPU_MS);
    ledger_add_own_cpu();
    ledger_close();
    return 0;
}
