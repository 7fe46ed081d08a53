/* SPDX-License-Identifier: Apache-2.0 */
#include "front/attachment.h"

#include "base/root.h"

int attachment_open(const struct spoor_options *options, struct attachment *ret,
                    struct spoor_error *err)
{
    struct attachment attachment = { .session = NULL };
    int r;

    file_limit_raise(); /* perf needs a descriptor for each thread */
    if (options->flags & SPOOR_TRACK_CGROUP)
        r = watch_open_cgroup(options->cgroup_folder, &attachment.watch, err);
    else
        r = watch_open(options->pid, &attachment.watch, err);
    if (r < 0)
        return r;
    r = spoor_session_open(options, &attachment.session, err);
    if (r == 0)
        r = spoor_session_start(attachment.session, err);
    if (r < 0) {
        attachment.session = spoor_session_close(attachment.session);
        watch_close(&attachment.watch);
        return r;
    }
    *ret = attachment;
    return 0;
}

int attachment_stop(struct attachment *attachment, enum watch_end end, struct spoor_error *err)
{
    int wait_status;
    int r = spoor_session_stop(attachment->session, err);

    if (end == WATCH_PROCESS_ENDED && watch_wait_status(&attachment->watch, &wait_status) == 0)
        spoor_session_set_wait_status(attachment->session, wait_status);
    return r;
}

int attachment_follow(const struct program *program, const struct spoor_options *options,
                      uint64_t duration_ns, int input_fd, int output_fd, struct attachment *ret)
{
    enum watch_end end = WATCH_INTERRUPTED;
    struct spoor_error err = { 0 };

    if (attachment_open(options, ret, &err) < 0)
        return program_complain(program, "%s", err.message);
    ret->watch.input_fd = input_fd;
    ret->watch.output_fd = output_fd;
    if (watch_wait(&ret->watch, duration_ns, &end, &err) < 0)
        program_complain(program, "%s", err.message);
    if (attachment_stop(ret, end, &err) < 0)
        program_complain(program, "%s", err.message);
    return 0;
}

void attachment_close(struct attachment *attachment)
{
    if (!attachment->session)
        return;
    attachment->session = spoor_session_close(attachment->session);
    watch_close(&attachment->watch);
}
