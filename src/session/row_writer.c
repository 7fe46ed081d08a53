/* SPDX-License-Identifier: Apache-2.0 */
/* row_writer.c - a writer process (base/writer_process.h) that appends rows to a file. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/clock.h"
#include "output/save.h"
#include "output/stream.h"
#include "session/samples_file.h"

/* Maximum wait for the file to be opened, to report a failure at once. */
#define OPEN_MOST_NS (250 * NS_PER_MS)

/* How long to wait for a reader at the end of the run, in total. */
#define DRAIN_MOST_NS (200 * NS_PER_MS)

/* How often to retry a named pipe without a reader. */
enum { OPEN_EVERY_MS = 50 };

enum { RECORD_OPEN, RECORD_BEGIN, RECORD_HEADER, RECORD_ROWS };

/* ---- the child: only system calls, because the program may have had other threads --------- */

struct target {
    const struct writer_process *writer;
    const char *path;
    enum output_mode mode;
    int fd;             /* descriptor or -errno; -ENXIO: a named pipe without a reader */
    bool is_descriptor; /* `fd` was open already */
    bool has_reader;    /* the file is a pipe, a terminal, another device or a socket */
    bool is_created;    /* we created the file, and no row was written yet */
    /* monotonic time at which to give up on the reader; 0: the run has not ended */
    uint64_t give_up_ns;
    /* -errno: no rows are written, because the file still contains another run's rows, or lacks
     * a header. */
    int refusal;
};

/* ---- a reader ----------------------------------------------------------------------------- */

/* Opens a device or a named pipe, which may have no reader yet. A descriptor is shared with
 * the job, and writing to it may block: its file is opened again, if possible, so that no
 * write blocks. */
static int open_for_reader(struct target *target)
{
    const char *path = target->is_descriptor ? "/proc/self/fd/1" : target->path;
    int fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    struct stat status;

    if (fd < 0 && target->is_descriptor)
        return 0;
    target->fd = fd < 0 ? -errno : fd;
    if (target->fd == -ENXIO && stat(path, &status) == 0 && S_ISFIFO(status.st_mode))
        return 0;
    return target->fd < 0 ? target->fd : 0;
}

static int timeout_ms(const struct target *target)
{
    uint64_t left_ms = target->fd < 0 ? OPEN_EVERY_MS : INT_MAX;

    if (target->give_up_ns != 0)
        left_ms = smaller(
            left_ms, sub_floor0(target->give_up_ns, clock_now().monotonic_ns) / NS_PER_MS + 1);
    return (int)left_ms;
}

/* Waits until a reader has room for PIPE_BUF bytes; -ETIMEDOUT: gave up. */
static int wait_for_reader(struct target *target)
{
    while (true) {
        struct pollfd fds[] = { { .fd = target->fd, .events = POLLOUT }, /* -1 is ignored */
                                { .fd = WRITER_END_FD, .events = POLLRDHUP } };
        bool is_end = target->give_up_ns != 0;

        if (poll(fds, is_end ? 1 : 2, timeout_ms(target)) < 0 && errno != EINTR)
            return -errno;
        if (fds[0].revents != 0) /* room, or an error that the write will return too */
            return 0;
        if (is_end && clock_now().monotonic_ns >= target->give_up_ns)
            return -ETIMEDOUT;
        if (!is_end && fds[1].revents != 0) {
            target->give_up_ns = clock_now().monotonic_ns + DRAIN_MOST_NS;
            writer_process_note_progress(target->writer);
        }
        if (target->fd == -ENXIO && open_for_reader(target) < 0)
            return target->fd;
    }
}

/* Writes pieces that a pipe accepts atomically. */
static int write_to_reader(struct target *target, const struct buffer *text)
{
    size_t done = 0;
    int r = 0;

    while (r == 0 && done < text->length) {
        ssize_t n = -1;

        r = wait_for_reader(target);
        if (r == 0)
            n = write(target->fd, text->text + done, smaller(text->length - done, PIPE_BUF));
        if (n > 0)
            done += (size_t)n;
        else if (r == 0 && (n == 0 || (errno != EAGAIN && errno != EINTR)))
            r = n < 0 ? -errno : -EIO;
    }
    if (r == -ETIMEDOUT)
        target->fd = r;
    return r;
}

/* ---- a file ------------------------------------------------------------------------------- */

/* Writes whole rows only. A row that a full disk cut short is removed again, unless another
 * process has written to the file since: the job may, if the file is our standard output. */
static int write_whole(int fd, const struct buffer *text)
{
    off_t start = lseek(fd, 0, fcntl(fd, F_GETFL) & O_APPEND ? SEEK_END : SEEK_CUR);
    struct stat status;
    size_t done = 0;
    ssize_t n = 0;
    off_t end;
    int r;

    while (done < text->length) {
        n = write(fd, text->text + done, text->length - done);
        if (n > 0)
            done += (size_t)n;
        else if (n == 0 || errno != EINTR)
            break;
    }
    if (done == text->length)
        return 0;
    r = n < 0 ? -errno : -EIO;
    end = start + (off_t)done;
    if (lseek(fd, 0, SEEK_CUR) == end && fstat(fd, &status) == 0 && status.st_size == end &&
        ftruncate(fd, start) == 0)
        (void)lseek(fd, start, SEEK_SET);
    return r;
}

static int open_file(struct target *target)
{
    target->fd = save_open_to_append(target->path, O_CREAT | O_EXCL);
    target->is_created = target->fd >= 0;
    if (target->fd == -EEXIST && target->mode != OUTPUT_NO_CLOBBER)
        target->fd = save_open_to_append(target->path, 0);
    if (target->fd < 0)
        return target->fd;
    if (output_file_claim(target->fd, target->mode != OUTPUT_APPEND) < 0 &&
        target->mode != OUTPUT_APPEND) { /* rows of the other run would be lost */
        close(target->fd);
        target->fd = -EBUSY;
        return target->fd;
    }
    return 0;
}

static int begin_file(struct target *target)
{
    int r = 0;

    if (target->mode == OUTPUT_APPEND)
        r = save_end_torn_line(target->fd);
    else if (!target->is_created && ftruncate(target->fd, 0) < 0)
        r = -errno;
    (void)output_file_claim(target->fd, false); /* other runs may append from now on */
    target->is_created = false;
    return r;
}

static int change_file(struct target *target, unsigned kind, const struct buffer *text)
{
    int r = 0;

    if (target->fd < 0)
        return target->fd;
    if (target->mode == OUTPUT_APPEND) /* other runs may append too */
        output_file_lock(target->fd);
    if (kind == RECORD_BEGIN)
        r = begin_file(target);
    else if (kind == RECORD_ROWS || lseek(target->fd, 0, SEEK_END) <= 0)
        r = write_whole(target->fd, text);
    if (target->mode == OUTPUT_APPEND)
        output_file_unlock(target->fd);
    return r;
}

/* ---- either ------------------------------------------------------------------------------- */

static int open_target(struct target *target)
{
    if (target->has_reader)
        return open_for_reader(target);
    return target->is_descriptor ? 0 : open_file(target);
}

/* Changes the target. A header or row is empty if memory ran out. */
static int change(struct target *target, unsigned kind, const struct buffer *text)
{
    if (kind != RECORD_BEGIN && text->length == 0)
        return -ENOMEM;
    if (!target->has_reader && !target->is_descriptor)
        return change_file(target, kind, text);
    if (kind == RECORD_BEGIN)
        return 0;
    if (target->fd < 0 && target->fd != -ENXIO)
        return target->fd;
    return target->has_reader ? write_to_reader(target, text) : write_whole(target->fd, text);
}

static int carry_out(void *data, unsigned kind, const void *bytes, size_t size,
                     struct spoor_error *err)
{
    struct target *target = data;
    struct buffer text = { .text = (char *)(uintptr_t)bytes, .length = size };
    int r;

    (void)err;
    if (kind == RECORD_OPEN)
        return open_target(target);
    r = target->refusal < 0 ? target->refusal : change(target, kind, &text);
    if (r < 0 && kind != RECORD_ROWS)
        target->refusal = r;
    return r;
}

/* Removes a file that we created if it is still empty: another run may have written to it. */
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

static bool is_regular(int fd)
{
    struct stat status;

    return fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

int row_writer_open(struct writer_process *writer, const char *path, enum output_mode mode)
{
    int descriptor = stream_descriptor(path);
    bool is_descriptor = descriptor >= 0;
    struct target target = {
        .writer = writer,
        .path = path,
        .mode = mode,
        .fd = is_descriptor ? STDOUT_FILENO : -EBADF, /* descriptor number in the child */
        .is_descriptor = is_descriptor,
        .has_reader = is_descriptor ? !is_regular(descriptor) : output_file_is_special(path),
    };
    int output_fd = is_descriptor ? fcntl(descriptor, F_DUPFD_CLOEXEC, 3) : 0;
    struct writer_target how = {
        .carry_out = carry_out,
        .end = remove_if_unused,
        .data = &target,
        .output_fd = output_fd,
        .has_reader = target.has_reader,
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

static void put(struct writer_process *writer, unsigned kind, uint64_t rows,
                const struct buffer *text)
{
    writer_process_put(writer, kind, rows, text->text,
                       buffer_error(text) == 0 ? text->length : 0);
}

void row_writer_add_header(struct writer_process *writer, const struct buffer *text)
{
    put(writer, RECORD_HEADER, 0, text);
}

void row_writer_add(struct writer_process *writer, const struct buffer *text, uint64_t rows)
{
    put(writer, RECORD_ROWS, rows, text);
}
