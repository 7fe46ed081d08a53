/* SPDX-License-Identifier: Apache-2.0 */
/* space.c - the space on the machine's disks, with a timeout. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "source/host/mounts.h"

/* A disk responds within microseconds, but on a busy machine the helper may have to wait. */
#define RESPONSE_MOST_NS (250 * NS_PER_MS)

struct space_inquiry {
    struct root root;
    struct mounts sum;
    bool wants_list;
    struct mount_list list;
    int result;
    char text[128 << 10]; /* mounts beyond this are left out */
};

static void inquire(void *data)
{
    struct space_inquiry *inquiry = data;

    mount_list_done(&inquiry->list); /* list of an inquiry that timed out */
    inquiry->result = mounts_read(&inquiry->root, inquiry->text, &inquiry->sum,
                                  inquiry->wants_list ? &inquiry->list : NULL);
}

/* Reads the mounts here if none may block: most machines have no mount that may, and need no
 * thread. */
static int inquire_safely(struct space *space)
{
    struct space_inquiry *inquiry = space->inquiry;
    ssize_t n = root_read_start(&inquiry->root, inquiry->text, sizeof(inquiry->text),
                                "proc/self/mountinfo");
    int r;

    if (n < 0)
        return (int)n;
    space->has_nfs = false;
    if (!mounts_may_stall(inquiry->text)) {
        inquire(inquiry);
        return 0;
    }
    space->has_nfs = strstr(inquiry->text, " - nfs ") || strstr(inquiry->text, " - nfs4 ");
    r = helper_start(space->helper);
    if (r < 0)
        return r;
    return helper_wait(space->helper, clock_now().monotonic_ns + RESPONSE_MOST_NS) ? 0
                                                                                   : -ETIMEDOUT;
}

static void release(void *data)
{
    struct space_inquiry *inquiry = data;

    mount_list_done(&inquiry->list);
    root_close(&inquiry->root);
    free(inquiry);
}

static const struct helper_work work = { "spoor-disks", inquire, release };

static int open_helper(struct space *space, const struct root *root)
{
    struct space_inquiry *inquiry =
        malloc(sizeof(*inquiry)); /* most of the text is never touched */
    int r = inquiry ? root_copy(root, &inquiry->root) : -ENOMEM;

    if (inquiry)
        inquiry->list = (struct mount_list){ 0 };

    if (r < 0) {
        free(inquiry);
        return r;
    }
    r = helper_open(&work, inquiry, &space->helper);
    if (r < 0)
        release(inquiry);
    else
        space->inquiry = inquiry;
    return r;
}

int space_read(struct space *space, const struct root *root, struct mounts *ret,
               struct mount_list *ret_list)
{
    int r = 0;

    if (!root->is_live)
        return -ENOTSUP;
    if (!space->helper)
        r = open_helper(space, root);
    if (r < 0)
        return r;
    if (!helper_wait(space->helper, 0))
        return -ETIMEDOUT; /* the last inquiry is still in progress */
    space->inquiry->wants_list = ret_list != NULL;
    r = inquire_safely(space);
    if (r < 0)
        return r;
    if (space->inquiry->result < 0)
        return space->inquiry->result;
    *ret = space->inquiry->sum;
    if (ret_list) {
        *ret_list = space->inquiry->list;
        space->inquiry->list = (struct mount_list){ 0 };
    }
    return 0;
}

void space_done(struct space *space)
{
    space->helper = helper_close(space->helper);
    space->inquiry = NULL;
}
