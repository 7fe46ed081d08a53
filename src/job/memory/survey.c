/* SPDX-License-Identifier: Apache-2.0 */
#include "job/memory/survey.h"

#include <errno.h>

#include "base/arithmetic.h"
#include "base/parse.h"
#include "job/memory/memory_view.h"
#include "source/proc/pid_statm.h"

static uint64_t own_bytes(const struct member *member)
{
    return less(member->rss_bytes, member->shared_bytes);
}

/* Growth counts from what the walk saw: pages that came after it are missing in its result. The walk
 * is held between the sizes before and after it, since the kernel updates those in batches. */
static void set_base(struct member *member, uint64_t before_bytes)
{
    uint64_t after_bytes = own_bytes(member);
    uint64_t least = smaller(before_bytes, after_bytes);

    member->detail_own_bytes =
        smaller(larger(member->detail_own_bytes, least), larger(before_bytes, after_bytes));
}

void survey_look_again(struct survey *survey, const struct root *root, struct members *members)
{
    uint64_t read_bytes = 0, copied_bytes = 0;

    for (size_t i = 0; i < members->count; i++) {
        struct member *member = &members->list[i];
        uint64_t before_bytes = member->rss_bytes, own_before_bytes = own_bytes(member);
        struct pid_statm statm;

        if (before_bytes == 0)
            continue;
        if (pid_statm_read(&member->statm_file, root, member_memory_pid(member), &statm) < 0 ||
            statm.resident_pages == 0) {
            survey->has_ended = true;
            continue;
        }
        member->rss_bytes = product_u64(statm.resident_pages, root->page_bytes);
        member->shared_bytes = product_u64(statm.shared_pages, root->page_bytes);
        if (!member->borrows_memory)
            set_base(member, own_before_bytes);
        survey->gained_bytes += less(member->rss_bytes, before_bytes);
        if (survey->has_copies && member->detail_private_bytes > 0)
            copied_bytes += less(member_read_faults(member, root), member->detail_faults) *
                            root->page_bytes;
        survey->moved_bytes += apart(member->rss_bytes, before_bytes);
        read_bytes += before_bytes;
    }
    survey->gained_bytes = larger(survey->gained_bytes, copied_bytes);
    /* A page that another maps meanwhile counts for one whole, then for half. */
    survey->is_racy = survey->has_ended ||
                      larger(survey->moved_bytes, survey->gained_bytes) > read_bytes / 100;
}

/* FNV-1a; never 0. */
static uint64_t program_of(const struct member *member)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (const char *c = member->comm; *c; c++)
        hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
    return hash | 1;
}

static void read_view(struct memory_view *view, const struct root *root, struct member *member,
                      bool is_main, struct survey *survey)
{
    int r;

    *view = (struct memory_view){ .pid = member_memory_pid(member),
                                  .is_main = is_main,
                                  .is_copy = !is_main && !member->has_exec,
                                  .program = program_of(member) };
    r = memory_view_read(root, member_memory_pid(member), view);
    if (r == -ESRCH || r == -ENOENT) {
        survey->has_ended = true;
        return;
    }
    if (r < 0) {
        survey->is_denied = true;
        memory_view_from_statm(member, view);
    }
    member->detail_private_bytes = view->private_total;
    member->detail_own_bytes = less(view->resident, view->mapped);
    survey->rss_bytes += member->rss_bytes;
    survey->count++;
}

/* From before the first process is read: a page that is copied while others are being read is shared
 * in what was read of them and private in what is read later. */
static void note_faults(const struct survey *survey, const struct root *root,
                        struct members *members)
{
    for (size_t i = 0; i < members->count; i++) {
        struct member *member = &members->list[i];

        if (survey->has_copies && member->rss_bytes > 0)
            (void)member_read_faults(member, root);
        member->detail_faults = member->faults;
    }
}

struct survey survey_take(struct memory_view *views, const struct root *root,
                          struct members *members, pid_t main_pid)
{
    struct survey survey = { 0 };

    for (size_t i = 0; i < members->count; i++)
        survey.has_copies |= members->list[i].is_descendant && !members->list[i].has_exec;
    note_faults(&survey, root, members);
    for (size_t i = 0; i < members->count; i++) {
        struct member *member = &members->list[i];

        if (member->rss_bytes == 0)
            continue;
        if (member->borrows_memory)
            member->detail_own_bytes = 0; /* what it has after exec is all new */
        else
            read_view(&views[survey.count], root, member, member->pid == main_pid, &survey);
    }
    return survey;
}

/* Of a page that was read as one process's own, and that another mapped before it was read itself,
 * the sums hold more than one; so do they of one that some were read with while another still
 * shared it, and others after that had got a copy. What was faulted in during the read bounds both;
 * what one process has is surely there. */
static void discount(struct memory_split *split, uint64_t least, uint64_t gained_bytes)
{
    least = smaller(larger(least, split->private_bytes), split->total_bytes);
    split->total_bytes = larger(less(split->total_bytes, gained_bytes), least);
    split->shared_bytes = split->total_bytes - split->private_bytes;
}

void survey_discount(const struct survey *survey, const struct memory_view *views,
                     struct memory_estimate *estimate)
{
    uint64_t job_max = 0, descendants_max = 0;

    if (survey->count == 1 || survey->gained_bytes == 0)
        return;
    for (size_t i = 0; i < survey->count; i++) {
        const struct memory_view *view = &views[i];

        job_max = larger(job_max, view->rss);
        descendants_max = larger(descendants_max, view->is_main ? 0 : view->rss);
    }
    discount(&estimate->combined, job_max, survey->gained_bytes);
    discount(&estimate->descendants, descendants_max, survey->gained_bytes);
}
