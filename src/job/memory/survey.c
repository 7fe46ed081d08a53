/* SPDX-License-Identifier: Apache-2.0 */
#include "job/memory/survey.h"

#include <errno.h>

#include "base/amount.h"
#include "base/clock.h"
#include "source/proc/pid_files.h"
#include "source/proc/smaps.h"

/* ---- one process ---------------------------------------------------------- */

/* Makes a view from statm alone: anonymous memory counts as private. */
static void memory_view_from_statm(const struct member *member, struct memory_view *view)
{
    uint64_t shared = smaller(member->reading.shared_bytes, member->reading.rss_bytes);

    view->resident = view->rss = member->reading.rss_bytes;
    view->shared_total = shared;
    view->file = view->mapped = shared;
    view->private_total = view->private_dirty = member->reading.rss_bytes - shared;
    view->pss_file = view->shared_huge = 0;
    view->pss = view->private_total;
}

/* How far status may lag behind: old kernels update it every 64 faults, each of which may
 * map 64 KiB, whatever the page size. */
#define STATUS_LAG_BYTES ((uint64_t)64 * 64 * 1024)

/* Returns an upper bound of shared memory (shm, tmpfs), which is in neither "Anonymous" nor the
 * file part of PSS. */
static uint64_t shmem_bytes(const struct root *root, pid_t pid, uint64_t pss_shmem)
{
    struct pid_status status;

    if (pss_shmem == 0 || pid_status_read(root, pid, &status) < 0 ||
        !is_known(status.rss_shmem_bytes))
        return 0;
    return status.rss_shmem_bytes + STATUS_LAG_BYTES;
}

/* Reads smaps_rollup. Does not change pid and group. -ESRCH or -ENOENT: the process has exited;
 * -EACCES: it belongs to another user. */
static int memory_view_read(const struct root *root, pid_t pid, struct memory_view *view)
{
    struct smaps_rollup rollup;
    uint64_t apart, merged, shared, anonymous;
    int r = smaps_rollup_read(root, pid, &rollup);

    if (r < 0)
        return r;
    shared = rollup.shared_clean + rollup.shared_dirty;
    merged = known_or_0(rollup.merged);
    anonymous = sub_floor0(rollup.anonymous, merged);
    if (merged > 0 && known_or_0(rollup.pss_anon) > anonymous)
        anonymous = rollup.pss_anon;
    view->mapped = sub_floor0(rollup.rss, rollup.anonymous);
    view->resident = rollup.rss;
    view->rss = view->mapped + anonymous;
    view->pss = rollup.pss;
    view->pss_file = known_or_0(rollup.pss_file);
    view->private_total = rollup.private_clean + rollup.private_dirty;
    view->private_dirty = rollup.private_dirty;
    view->shared_total = sub_floor0(shared, merged);
    view->shared_huge = known_or_0(rollup.shared_huge);
    apart = rollup.anonymous + shmem_bytes(root, pid, known_or_0(rollup.pss_shmem));
    view->file = larger(sub_floor0(rollup.rss, apart), view->pss_file);
    return 0;
}

/* If there are more processes than this, small programs are not walked unless they share
 * memory with a copy of themselves: their anonymous memory is private, and their files are
 * libraries. Only some of many similar copies are walked. */
enum { FEW = 16 };
#define SMALL_BYTES ((uint64_t)4 << 20)

/* The cost of a walk: for each process, and for each 4 KiB, whatever the page size. Huge
 * pages cost next to nothing. */
#define PROCESS_NS 20000u
#define COST_PAGE_BYTES 4096u
#define PAGE_LEAST_NS 0.1

/* A walk that takes longer than this reads only some of many similar copies, whatever their
 * size, and as few as necessary: the budget rarely allows more. */
#define LONG_NS (10 * NS_PER_MS)

/* Maximum difference between the sizes of two similar processes: they are read at different
 * moments of their startup. */
#define ALIKE_BYTES ((uint64_t)128 * 1024)
#define ALIKE_FAULTS (ALIKE_BYTES / 4096)

static bool is_near(uint64_t a, uint64_t b, uint64_t least)
{
    return abs_diff(a, b) <= larger(larger(a, b) / 16, least);
}

static bool are_alike(const struct member *a, const struct member *b)
{
    return a->parent_pid == b->parent_pid &&
           is_near(a->reading.rss_bytes, b->reading.rss_bytes, ALIKE_BYTES) &&
           is_near(a->reading.shared_bytes, b->reading.shared_bytes, ALIKE_BYTES) &&
           is_near(a->reading.faults, b->reading.faults, ALIKE_FAULTS);
}

/* Adds a fork to a group of similar siblings, unless it still borrows its parent's memory or
 * its RSS is 0 or above most_bytes. */
static void find_kind(struct survey *survey, struct member *member, uint64_t most_bytes)
{
    size_t i = 0;

    member->survey.kind = 0;
    if (!member_is_copy(member) || member->reading.borrows_memory ||
        member->reading.rss_bytes == 0 || member->reading.rss_bytes > most_bytes)
        return;
    while (i < survey->kind_count && !are_alike(survey->kinds[i].first, member))
        i++;
    if (i == SURVEY_KINDS)
        return;
    if (i == survey->kind_count)
        survey->kinds[survey->kind_count++] = (struct survey_kind){ .first = member };
    survey->kinds[i].count++;
    member->survey.kind = (unsigned char)(i + 1);
}

static bool is_like_another(struct survey *survey, const struct member *member, size_t models)
{
    struct survey_kind *kind =
        member->survey.kind > 0 ? &survey->kinds[member->survey.kind - 1] : NULL;

    return kind && kind->planned_count++ % (kind->count / models + 1) != 0;
}

/* Plans a survey that walks about `models` of each group of similar copies no larger than
 * `alike_bytes`. */
static struct survey plan(struct roster *roster, bool walks_all, uint64_t alike_bytes,
                          size_t models)
{
    struct survey survey = { 0 };

    for (size_t i = 0; i < roster->count; i++)
        find_kind(&survey, &roster->list[i], alike_bytes);
    for (size_t i = 0; i < roster->count; i++) {
        struct member *member = &roster->list[i];

        survey.has_copies |= member_is_copy(member);
        member->survey.is_walked =
            walks_all || roster->count <= FEW || member->group == GROUP_MAIN ||
            (member_is_copy(member) ? !is_like_another(&survey, member, models)
                                    : member->reading.rss_bytes > SMALL_BYTES);
    }
    for (size_t i = 0; i < roster->count && survey.has_copies; i++) {
        const struct member *member = &roster->list[i];
        struct member *parent =
            member_is_copy(member) ? roster_member(roster, member->parent_pid) : NULL;

        if (parent)
            parent->survey.is_walked = true;
    }
    for (size_t i = 0; i < roster->count; i++) {
        struct member *member = &roster->list[i];

        member->survey.is_walked &=
            member->reading.rss_bytes > 0 && !member->reading.borrows_memory;
        survey.walk_count += member->survey.is_walked;
        survey.walk_bytes += member->survey.is_walked ? member->reading.rss_bytes : 0;
    }
    return survey;
}

struct survey survey_plan(struct roster *roster, bool walks_all, double page_ns)
{
    struct survey survey = plan(roster, walks_all, SMALL_BYTES, SURVEY_MODELS);

    for (size_t models = SURVEY_MODELS;
         !walks_all && models > 1 && survey_cost_ns(&survey, page_ns) > LONG_NS; models /= 2)
        survey = plan(roster, false, UINT64_MAX, models);
    return survey;
}

uint64_t survey_cost_ns(const struct survey *survey, double page_ns)
{
    return survey->walk_count * PROCESS_NS +
           (uint64_t)((double)(survey->walk_bytes / COST_PAGE_BYTES) * page_ns);
}

/* Attributes to pages only their share of the cost of a walk. Otherwise the cost for a job that
 * has just begun would make the same job seem too expensive once it has grown. Only half of a
 * change is applied, so that one slow walk does not prevent the next. */
double survey_learn(const struct survey *survey, double page_ns, uint64_t spent_ns)
{
    double pages_ns = (double)(survey->walk_bytes / COST_PAGE_BYTES) * page_ns;
    double expected_ns = pages_ns + (double)(survey->walk_count * PROCESS_NS);
    double learned_ns;

    if (survey->walk_count == 0)
        return page_ns;
    learned_ns =
        page_ns * (1 + pages_ns / expected_ns / 2 * ((double)spent_ns / expected_ns - 1));
    return learned_ns > PAGE_LEAST_NS ? learned_ns : PAGE_LEAST_NS;
}

static uint64_t own_bytes(const struct member *member)
{
    return sub_floor0(member->reading.rss_bytes, member->reading.shared_bytes);
}

/* Sets the size from which growth is counted: the result of the walk, which does not include
 * later pages, limited to the range of the sizes before and after the walk, since the kernel
 * updates sizes in batches. */
static void set_base(struct member *member, uint64_t before_bytes)
{
    uint64_t after_bytes = own_bytes(member);
    uint64_t least = smaller(before_bytes, after_bytes);

    member->survey.own_bytes =
        smaller(larger(member->survey.own_bytes, least), larger(before_bytes, after_bytes));
}

void survey_look_again(struct survey *survey, const struct root *root, struct roster *roster)
{
    uint64_t read_bytes = 0, copied_bytes = 0, moved_bytes = 0;

    for (size_t i = 0; i < roster->count; i++) {
        struct member *member = &roster->list[i];
        uint64_t before_bytes = member->reading.rss_bytes, own_before_bytes = own_bytes(member);
        struct pid_statm statm;

        if (!member->survey.is_walked)
            continue;
        if (pid_statm_read(&member->files.statm, root, member_memory_pid(member), &statm) < 0 ||
            statm.resident_pages == 0) {
            survey->has_ended = true;
            continue;
        }
        member->reading.rss_bytes = product_u64(statm.resident_pages, root->page_bytes);
        member->reading.shared_bytes = product_u64(statm.shared_pages, root->page_bytes);
        set_base(member, own_before_bytes);
        survey->gained_bytes += sub_floor0(member->reading.rss_bytes, before_bytes);
        if (survey->has_copies && member->survey.is_known)
            copied_bytes +=
                sub_floor0(member_read_faults(member, root), member->survey.faults) *
                root->page_bytes;
        moved_bytes += abs_diff(member->reading.rss_bytes, before_bytes);
        read_bytes += before_bytes;
    }
    survey->gained_bytes = larger(survey->gained_bytes, copied_bytes);
    /* A page that another process maps during the survey is counted in full first, and then by
     * half. */
    survey->is_racy =
        survey->has_ended || larger(moved_bytes, survey->gained_bytes) > read_bytes / 100;
}

/* Whether the process is assumed to be similar to a walked one instead of being walked. */
static bool is_guessed(const struct member *member)
{
    return member->survey.kind > 0 && !member->survey.is_walked;
}

/* Copies the view of a similar process, without anonymous memory that this process does not
 * have yet: it counts as growth later. */
static void copy_view(const struct memory_view *model, const struct member *member,
                      struct memory_view *view)
{
    uint64_t less = sub_floor0(sub_floor0(model->resident, model->mapped), own_bytes(member));

    *view = *model;
    view->resident = sub_floor0(model->resident, less);
    view->rss = sub_floor0(model->rss, less);
    view->pss = sub_floor0(model->pss, less);
    view->private_total = sub_floor0(model->private_total, less);
    view->private_dirty = sub_floor0(model->private_dirty, less);
}

static int read_view(struct survey *survey, const struct root *root,
                     const struct member *member, struct memory_view *view)
{
    struct survey_kind *kind =
        member->survey.kind > 0 ? &survey->kinds[member->survey.kind - 1] : NULL;
    pid_t pid = view->pid;
    int r = 0;

    if (member->survey.is_walked)
        r = memory_view_read(root, pid, view);
    else if (kind && kind->model)
        copy_view(kind->model, member, view);
    else if (kind && !survey->is_denied)
        return -ESRCH; /* the similar processes have exited */
    else
        memory_view_from_statm(member, view);
    view->pid = pid;
    if (r < 0)
        memory_view_from_statm(member, view);
    else if (kind && member->survey.is_walked)
        kind->model = view;
    return r;
}

static void read_member(struct survey *survey, const struct root *root, struct member *member,
                        struct memory_view *view)
{
    int r = read_view(survey, root, member, view);

    if (r == -ESRCH || r == -ENOENT) {
        survey->has_ended = true;
        return;
    }
    survey->is_denied |= r < 0;
    survey->guessed_bytes += is_guessed(member) ? view->private_total : 0;
    member->survey.is_known = true;
    member->survey.private_bytes = view->private_total;
    member->survey.shared_huge_bytes = view->shared_huge;
    member->survey.own_bytes =
        is_guessed(member) ? own_bytes(member) : sub_floor0(view->resident, view->mapped);
    survey->count++;
}

/* Records page faults before the first process is read: a page that is copied during the reads
 * is shared in earlier results and private in later ones. */
static void note_faults(const struct survey *survey, const struct root *root,
                        struct roster *roster)
{
    for (size_t i = 0; i < roster->count; i++) {
        struct member *member = &roster->list[i];

        if (survey->has_copies && member->survey.is_walked)
            (void)member_read_faults(member, root);
        member->survey.faults = member->reading.faults;
    }
}

void survey_take(struct survey *survey, const struct root *root, struct roster *roster,
                 struct memory_view *views)
{
    note_faults(survey, root, roster);
    for (size_t i = 0; i < roster->count; i++) {
        struct member *member = &roster->list[i];
        struct memory_view *view = &views[survey->count];

        if (member->reading.rss_bytes == 0 || member->reading.borrows_memory)
            continue;
        *view =
            (struct memory_view){ .pid = member_memory_pid(member), .group = member->group };
        read_member(survey, root, member, view);
    }
}
