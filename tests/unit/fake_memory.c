/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_memory.h"

#include <stdio.h>

#include "base/amount.h"
#include "unit_test.h"

void memory_write(struct memory_fixture *f, int pid, const char *name, const char *text)
{
    char path[64];

    (void)snprintf(path, sizeof(path), "proc/%d/%s", pid, name);
    fake_root_write(&f->fake, path, text);
}

static unsigned resident(const struct fake_memory *m)
{
    return m->own + m->shared + m->merged + m->file * (m->twice ? 2 : 1);
}

void memory_put_statm(struct memory_fixture *f, int pid, unsigned megabytes, unsigned mapped)
{
    char text[64];

    (void)snprintf(text, sizeof(text), "%u %u %u 0 0 0 0\n", megabytes * 256, megabytes * 256,
                   mapped * 256);
    memory_write(f, pid, "statm", text);
}

static void put_rollup(struct memory_fixture *f, const struct fake_memory *m)
{
    unsigned files = m->file * (m->twice ? 2 : 1), parts = m->file_pss * (m->twice ? 2 : 1);
    char text[1024];

    (void)snprintf(
        text, sizeof(text),
        "0-1 ---p 0 00:00 0 [rollup]\nRss: %u kB\nPss: %u kB\nPss_Anon: %u kB\n"
        "Pss_File: %u kB\nPss_Shmem: 0 kB\nShared_Clean: %u kB\nShared_Dirty: %u kB\n"
        "Private_Clean: 0 kB\nPrivate_Dirty: %u kB\nAnonymous: %u kB\nKSM: %u kB\n"
        "Shared_Hugetlb: %u kB\nPrivate_Hugetlb: 0 kB\n",
        resident(m) * 1024, (m->own + m->shared_pss + parts) * 1024,
        (m->own + m->shared_pss) * 1024, parts * 1024, files * 1024,
        (m->shared + m->merged) * 1024, m->own * 1024, (m->own + m->shared + m->merged) * 1024,
        m->merged * 1024, m->hugetlb * 1024);
    memory_write(f, m->pid, "smaps_rollup", text);
}

static void put_area(char *text, size_t size, uint64_t start, unsigned offset, unsigned inode,
                     const unsigned numbers[6])
{
    unsigned rss = numbers[0] + numbers[1];

    (void)snprintf(text, size,
                   "%llx-%llx rw-p %llx 01:02 %u  /x\nRss: %u kB\nPss: %u kB\n"
                   "Shared_Clean: %u kB\nShared_Dirty: 0 kB\nPrivate_Clean: 0 kB\n"
                   "Private_Dirty: %u kB\nAnonymous: %u kB\nKSM: %u kB\n",
                   (unsigned long long)start, (unsigned long long)(start + rss * MB),
                   (unsigned long long)(offset * MB), inode, rss * 1024, numbers[2] * 1024,
                   numbers[1] * 1024, numbers[0] * 1024, numbers[3] * 1024, numbers[4] * 1024);
}

/* The arguments of put_area(): own, shared, PSS, anonymous, merged. */
static void put_smaps(struct memory_fixture *f, const struct fake_memory *m)
{
    char anonymous[512], file[512], again[512], text[1600];

    again[0] = '\0';
    put_area(anonymous, sizeof(anonymous), 0x10000000, 0, 0,
             (const unsigned[6]){ m->own, m->shared + m->merged, m->own + m->shared_pss,
                                  m->own + m->shared + m->merged, m->merged });
    put_area(file, sizeof(file), 0x7000000000, m->file_offset, 99,
             (const unsigned[6]){ 0, m->file, m->file_pss });
    if (m->twice)
        put_area(again, sizeof(again), 0x7100000000, m->file_offset + m->twice, 99,
                 (const unsigned[6]){ 0, m->file, m->file_pss });
    (void)snprintf(text, sizeof(text), "%s%s%s", anonymous, file, again);
    memory_write(f, m->pid, "smaps", text);
}

void memory_begin(struct memory_fixture *f, enum spoor_detail mode)
{
    *f = (struct memory_fixture){ .now_ns = NS_PER_SECOND };
    fake_root_init(&f->fake);
    budget_init(&f->budget, BUDGET_MILLIONTHS, f->now_ns);
    memory_sharing_init(&f->sharing, &f->fake.root, &f->budget, mode, true);
    f->sharing.activity = JOB_RUNS;
}

void memory_end(struct memory_fixture *f)
{
    memory_sharing_done(&f->sharing);
    roster_done(&f->roster);
    fake_root_done(&f->fake);
}

struct member *memory_add(struct memory_fixture *f, int pid, uint64_t rss_bytes)
{
    const struct member member = {
        .id.pid = pid,
        .parent_pid = MAIN,
        .has_exec = true,
        .group = pid == MAIN ? GROUP_MAIN : GROUP_DESCENDANTS,
        .files = MEMBER_FILES_CLOSED,
        .reading.rss_bytes = rss_bytes,
        .survey.own_bytes = rss_bytes,
    };

    f->sharing.members_changed = true;
    return roster_add_member(&f->roster, &member);
}

void memory_put(struct memory_fixture *f, const struct fake_memory *m)
{
    struct member *member = roster_member(&f->roster, m->pid);
    uint64_t rss_bytes = resident(m) * MB;

    if (!member)
        member = memory_add(f, m->pid, rss_bytes);
    assert_non_null(member);
    if (m->shared > 0) /* only a process that has not called exec shares anonymous memory */
        member->has_exec = false;
    member->reading.rss_bytes = rss_bytes;
    member->reading.shared_bytes = m->file * (m->twice ? 2 : 1) * MB;
    memory_put_statm(f, m->pid, resident(m), m->file * (m->twice ? 2 : 1));
    put_rollup(f, m);
    put_smaps(f, m);
}

void memory_update(struct memory_fixture *f)
{
    f->now_ns += NS_PER_SECOND;
    budget_earn(&f->budget, f->now_ns, UNKNOWN);
    memory_sharing_update(&f->sharing, &f->roster, false, &f->estimate);
}

void memory_follow(struct memory_fixture *f)
{
    memory_sharing_update(&f->sharing, &f->roster, true, &f->estimate);
}

void memory_put_file_job(struct memory_fixture *f)
{
    memory_put(f, &(struct fake_memory){ .pid = MAIN, .own = 10 });
    memory_put(f,
               &(struct fake_memory){ .pid = CHILD, .own = 10, .file = 100, .file_pss = 33 });
    memory_put(
        f, &(struct fake_memory){
               .pid = CHILD + 1, .own = 10, .file = 100, .file_pss = 33, .file_offset = 100 });
}
