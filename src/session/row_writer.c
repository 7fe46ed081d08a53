/* SPDX-License-Identifier: Apache-2.0 */
#include "session/row_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "output/save.h"
#include "output/stream.h"

/* How long a failure to open the file is waited for. */
#define OPEN_MOST_NS (250 * NS_PER_MS)

/* At the end, a reader that takes nothing is looked at so often before it is given up: 100 ms. */
enum { LOOK_MS = 20, LOOKS = 5 };

enum { RECORD_OPEN, RECORD_BEGIN, RECORD_HEADER, RECORD_ROWS };

/* ---- the child: only system calls, because the program may have had other threads --------- */

struct target {
    const struct writer_process *writer;
    const char *path;
    enum output_mode mode;
    int fd;             /* or -errno */
    bool is_descriptor; /* `fd` was open already */
    bool is_stream;   /* it is a descriptor, a device or a pipe: written to, and nothing else */
    bool is_created;  /* by us, and nothing was to be written yet */
    bool is_given_up; /* the reader of the stream */
};

/* Whole rows only: what a full disk took of a row is cut off again. */
static int write_whole(int fd, const struct buffer *text)
{
    off_t end = lseek(fd, 0, SEEK_END);
    int r = buffer_write(text, fd);

    if (r < 0 && end >= 0)
        (void)!ftruncate(fd, end); /* a pipe cannot be cut: nothing more to do */
    return r;
}

/* Bytes that the reader has not taken yet, as far as can be told. */
static int count_unread(int fd)
{
    int count = 0;

    if (ioctl(fd, TIOCOUTQ, &count) < 0 && ioctl(fd, FIONREAD, &count) < 0) /* that of a pipe */
        return 0;
    return count;
}

/* Waits for room for PIPE_BUF bytes. At the end, a reader that takes nothing is given up: -ETIMEDOUT.
 * One that does may take a while to make room: a pipe has it once a whole page was read. */
static int wait_for_reader(const struct writer_process *writer, int fd)
{
    struct pollfd fds[] = { { .fd = fd, .events = POLLOUT },
                            { .fd = WRITER_END_FD, .events = POLLRDHUP } };
    int unread = count_unread(fd);
    bool is_end = false;

    for (int looks = 0; looks < LOOKS; looks++) {
        int before = unread;
        bool was_end = is_end;

        if (poll(fds, is_end ? 1 : 2, is_end ? LOOK_MS : -1) < 0 && errno != EINTR)
            return -errno;
        if (fds[0].revents != 0) /* room, or a failure that the write will have too */
            return 0;
        is_end = is_end || fds[1].revents != 0;
        unread = count_unread(fd);
        if (was_end && unread == before)
            continue;
        looks = -1;
        writer_process_note_progress(writer);
    }
    return -ETIMEDOUT;
}

static int write_stream(struct target *target, const char *bytes, size_t size)
{
    int r = target->is_given_up ? -ETIMEDOUT : 0;

    while (r == 0 && size > 0) {
        size_t length = size < PIPE_BUF ? size : PIPE_BUF;
        struct buffer piece = { .text = (char *)(uintptr_t)bytes, .length = length };

        r = wait_for_reader(target->writer, target->fd);
        target->is_given_up = r == -ETIMEDOUT;
        if (r == 0)
            r = buffer_write(&piece, target->fd);
        bytes += length;
        size -= length;
    }
    return r;
}

static int open_file(struct target *target)
{
    if (target->is_stream && !target->is_descriptor) {
        target->fd = open(target->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
        return target->fd < 0 ? -errno : 0;
    }
    if (target->is_stream)
        return 0;
    target->fd = save_open_to_append(target->path, O_CREAT | O_EXCL);
    target->is_created = target->fd >= 0;
    if (target->fd == -EEXIST && target->mode != OUTPUT_NO_CLOBBER)
        target->fd = save_open_to_append(target->path, 0);
    return target->fd < 0 ? target->fd : 0;
}

static int begin_file(struct target *target)
{
    int r = 0;

    if (target->mode == OUTPUT_APPEND)
        r = save_end_torn_line(target->fd);
    else if (!target->is_created && ftruncate(target->fd, 0) < 0)
        r = -errno;
    target->is_created = false;
    return r;
}

static int carry_out(void *data, unsigned kind, const void *bytes, size_t size,
                     struct spoor_error *err)
{
    struct target *target = data;
    struct buffer text = { .text = (char *)(uintptr_t)bytes, .length = size };
    int r = 0;

    (void)err;
    if (kind == RECORD_OPEN)
        return open_file(target);
    if (target->fd < 0)
        return target->fd;
    if (target->is_stream)
        return kind == RECORD_BEGIN ? 0 : write_stream(target, bytes, size);
    if (target->mode == OUTPUT_APPEND) /* others may append too */
        output_file_lock(target->fd);
    if (kind == RECORD_BEGIN)
        r = begin_file(target);
    else if (kind == RECORD_ROWS || lseek(target->fd, 0, SEEK_END) <= 0)
        r = write_whole(target->fd, &text);
    if (target->mode == OUTPUT_APPEND)
        output_file_unlock(target->fd);
    return r;
}

/* Another run may have written to a file that we created. */
static int remove_if_unused(void *data, struct spoor_error *err)
{
    const struct target *target = data;
    struct stat status;

    (void)err;
    if (target->is_created && fstat(target->fd, &status) == 0 && status.st_size == 0)
        (void)unlink(target->path);
    return 0;
}

/* ---- ours --------------------------------------------------------------------------------- */

int row_writer_open(struct writer_process *writer, const char *path, enum output_mode mode)
{
    int descriptor = stream_descriptor(path);
    bool is_descriptor = descriptor >= 0;
    struct target target = {
        .writer = writer,
        .path = path,
        .mode = mode,
        .fd = is_descriptor ? STDOUT_FILENO : -EBADF, /* what the child calls it */
        .is_descriptor = is_descriptor,
        .is_stream = is_descriptor || output_file_is_special(path),
    };
    int output_fd = is_descriptor ? fcntl(descriptor, F_DUPFD_CLOEXEC, 3) : 0;
    struct writer_target how = {
        .carry_out = carry_out,
        .end = remove_if_unused,
        .data = &target,
        .output_fd = output_fd,
        .is_abandoned = target.is_stream,
    };
    int r = output_fd < 0 ? -errno : writer_process_start(writer, &how);

    if (output_fd > 0)
        close(output_fd);
    if (r < 0)
        return r;
    writer_process_put(writer, RECORD_OPEN, 0, NULL, 0);
    (void)writer_process_wait(writer, OPEN_MOST_NS);
    r = writer_process_error(writer, NULL);
    if (r < 0)
        (void)writer_process_close(writer, NULL);
    return r;
}

void row_writer_begin(struct writer_process *writer)
{
    writer_process_put(writer, RECORD_BEGIN, 0, NULL, 0);
}

void row_writer_add_header(struct writer_process *writer, const struct buffer *text)
{
    if (buffer_error(text) == 0)
        writer_process_put(writer, RECORD_HEADER, 0, text->text, text->length);
}

void row_writer_add(struct writer_process *writer, const struct buffer *text, uint64_t rows)
{
    if (buffer_error(text) == 0) {
        writer_process_put(writer, RECORD_ROWS, rows, text->text, text->length);
    } else if (writer->pid != 0) {
        writer->given_rows += rows;
        writer->dropped_rows += rows;
    }
}
