/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "fake_job.h"
#include "unit_test.h"

void fake_process_put(struct fake_root *fake, const struct fake_process *p)
{
    char path[64], text[1024];

    (void)snprintf(path, sizeof(path), "proc/%d/stat", p->pid);
    (void)snprintf(text, sizeof(text),
                   "%d (%s) %c %d 1 1 0 -1 %u %u %u %u %u %u 0 %u 0 20 0 %d 0 %u 1000 %u 0\n",
                   p->pid, p->name ? p->name : "x", p->state ? p->state : 'S', p->parent,
                   p->has_no_exec ? 0x40u : 0, /* PF_FORKNOEXEC */
                   p->minor_faults, p->child_minor_faults, p->major_faults,
                   p->child_major_faults, p->user_ticks, p->child_user_ticks,
                   p->threads ? p->threads : 1, p->start_ticks ? p->start_ticks : 5,
                   p->resident_pages);
    fake_root_write(fake, path, text);
    (void)snprintf(path, sizeof(path), "proc/%d/statm", p->pid);
    (void)snprintf(text, sizeof(text), "%u %u 0 0 0 0 0\n", p->resident_pages,
                   p->resident_pages);
    fake_root_write(fake, path, text);
    (void)snprintf(path, sizeof(path), "proc/%d/status", p->pid);
    (void)snprintf(text, sizeof(text), "Tgid:\t%d\nUid:\t0\nVmHWM:\t%u kB\nSigIgn:\t%016x\n",
                   p->pid, p->resident_pages * 4, p->ignores_children ? 0x10000u : 0);
    fake_root_write(fake, path, text);
    (void)snprintf(path, sizeof(path), "proc/%d/io", p->pid);
    (void)snprintf(text, sizeof(text), "rchar: 0\nwchar: %u\nread_bytes: 0\nwrite_bytes: 0\n",
                   p->written_chars);
    fake_root_write(fake, path, text);
    (void)snprintf(path, sizeof(path), "proc/%d/task/%d/children", p->pid, p->pid);
    fake_root_write(fake, path, p->children ? p->children : "");
}

void fake_process_end(struct fake_root *fake, int pid)
{
    static const char *const files[] = { "stat", "statm", "status", "io" };
    char path[160];

    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        (void)snprintf(path, sizeof(path), "%s/proc/%d/%s", fake->path, pid, files[i]);
        assert_int_equal(unlink(path), 0);
    }
}

void fake_job_begin(struct fake_job *f, const struct fake_process *main_process,
                    bool lists_children)
{
    f->now_ns = NS_PER_SECOND;
    fake_root_init(&f->fake);
    if (lists_children)
        fake_root_write(&f->fake, "proc/1/task/1/children", "");
    fake_process_put(&f->fake, main_process);
    assert_int_equal(job_init(&f->job, &f->fake.root,
                              &(struct job_options){ .pid = main_process->pid,
                                                     .detail = SPOOR_DETAIL_NEVER },
                              f->now_ns),
                     0);
}

void read_sample(struct job *job, uint64_t now_ns, struct job_reading *ret)
{
    job_collect(job, now_ns);
    job_read(job, ret);
    job_begin_interval(job);
}

void fake_job_look(struct fake_job *f)
{
    f->now_ns += NS_PER_SECOND;
    job_refresh(&f->job, f->now_ns, false);
    read_sample(&f->job, f->now_ns, &f->reading);
}

void fake_job_end(struct fake_job *f)
{
    job_done(&f->job);
    fake_root_done(&f->fake);
}

uint64_t fake_job_cpu_ticks(const struct fake_job *f)
{
    return f->reading.usage.counter[USAGE_CPU_NS] / (NS_PER_SECOND / 100);
}
