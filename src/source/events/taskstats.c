/* SPDX-License-Identifier: Apache-2.0 */
/*
 * taskstats.c - finds the netlink family, registers for exit records, reads them.
 *
 * A message of generic netlink is a header of four bytes and attributes. An exit record has an
 * attribute for the thread (its ID and a struct taskstats) and, if it was the last of several
 * threads, one for the process. The struct grows at its end from kernel to kernel and contains
 * its version.
 */
#include "source/events/taskstats.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/genetlink.h>
#include <linux/taskstats.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/parse.h"
#include "source/events/netlink.h"
#include "source/proc/pid_files.h"

/* Room for a few thousand records: they are read now and then, not at every exit. */
enum { BUFFER_BYTES = 8 << 20, DATAGRAM_MAX = 4096 };

/* A request has room for this much. Possible CPUs are almost always one range. */
enum { TEXT_SIZE = 480 };

enum {
    SHIFTED_VERSION =
        15,            /* fields were inserted in the middle; from 16 on they are at the end */
    TGID_VERSION = 12, /* first version with this member and the next */
    TGID_OFFSET = 368,
    LAST_OF_PROCESS = 0x20, /* in ac_flag */
    HAS_NOT_EXEC = 0x01,    /* in ac_flag */
};

static int request(int fd, uint16_t family, uint8_t command, uint16_t attribute,
                   const char *text)
{
    unsigned char message[sizeof(struct genlmsghdr) + sizeof(struct nlattr) + TEXT_SIZE] = {
        0
    };
    struct genlmsghdr header = { .cmd = command, .version = 1 };
    size_t length = strlen(text) + 1;
    struct nlattr name = { .nla_len = (uint16_t)(sizeof(name) + length),
                           .nla_type = attribute };

    if (length > TEXT_SIZE)
        return -E2BIG;
    memcpy(message, &header, sizeof(header));
    memcpy(message + sizeof(header), &name, sizeof(name));
    memcpy(message + sizeof(header) + sizeof(name), text, length);
    return netlink_send(fd, family, NLM_F_REQUEST | NLM_F_ACK, message,
                        sizeof(header) + name.nla_len);
}

/* Reads replies up to the kernel's acknowledgement and returns its error code. A family ID in
 * the replies is stored in *ret_family. */
static int read_answer(int fd, uint16_t *ret_family)
{
    unsigned char datagram[DATAGRAM_MAX];
    ssize_t n;

    while ((n = netlink_receive(fd, datagram, sizeof(datagram))) > 0) {
        struct bytes rest = { datagram, (size_t)n }, payload, value;
        struct nlmsghdr header;
        unsigned type;
        int32_t error;

        while (netlink_next(&rest, &header, &payload)) {
            if (header.nlmsg_type == NLMSG_ERROR)
                return bytes_copy(&payload, &error, sizeof(error)) ? error : -EBADMSG;
            if (header.nlmsg_type != GENL_ID_CTRL || payload.left < GENL_HDRLEN)
                continue;
            payload.at += GENL_HDRLEN;
            payload.left -= GENL_HDRLEN;
            while (netlink_attribute(&payload, &type, &value)) {
                if (type == CTRL_ATTR_FAMILY_ID)
                    (void)bytes_copy(&value, ret_family, sizeof(*ret_family));
            }
        }
    }
    return n < 0 ? (int)n : -ENOMSG;
}

static int find_family(int fd, uint16_t *ret)
{
    uint16_t family = 0;
    int r = request(fd, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME,
                    TASKSTATS_GENL_NAME);

    if (r == 0)
        r = read_answer(fd, &family);
    if (r < 0)
        return r;
    if (family == 0)
        return -ENOENT;
    *ret = family;
    return 0;
}

/* Lists all CPUs: a process can exit on any of them, and records are requested per CPU. */
static int list_cpus(const struct root *root, char *buf, size_t size)
{
    ssize_t n = root_read(root, buf, size, "sys/devices/system/cpu/possible");

    if (n < 0)
        return (int)n;
    buf[strcspn(buf, "\n")] = '\0';
    return 0;
}

int taskstats_open(const struct root *root, struct taskstats_socket *ret)
{
    AUTO_CLOSE int fd = -1;
    char cpus[TEXT_SIZE];
    uint16_t family, unused;
    int r;

    *ret = (struct taskstats_socket)TASKSTATS_CLOSED;
    if (!root->is_live)
        return -ENOTSUP;
    r = list_cpus(root, cpus, sizeof(cpus));
    if (r < 0)
        return r;
    fd = netlink_open(NETLINK_GENERIC, 0, BUFFER_BYTES);
    if (fd < 0)
        return fd;
    r = find_family(fd, &family);
    if (r == 0)
        r = request(fd, family, TASKSTATS_CMD_GET, TASKSTATS_CMD_ATTR_REGISTER_CPUMASK, cpus);
    if (r == 0)
        r = read_answer(fd, &unused);
    if (r < 0)
        return r;
    *ret = (struct taskstats_socket){ .fd = take_fd(&fd), .family = family };
    return 0;
}

/* Attaches a filter, which the kernel runs before it queues a record. The struct follows the
 * frame, the header, the attribute of the thread and its ID; if the kernel inserts padding, the
 * filter drops nothing. */
int taskstats_skip_threads(struct taskstats_socket *taskstats)
{
    const uint32_t at_attribute =
        sizeof(struct nlmsghdr) + GENL_HDRLEN + 2 * sizeof(struct nlattr) + sizeof(uint32_t);
    const uint32_t at_stats = at_attribute + sizeof(struct nlattr);
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, offsetof(struct nlmsghdr, nlmsg_type)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htons(taskstats->family), 0, 5),
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, at_attribute + offsetof(struct nlattr, nla_type)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htons(TASKSTATS_TYPE_STATS), 0, 3),
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, at_stats + offsetof(struct taskstats, ac_flag)),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, LAST_OF_PROCESS, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, 0),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
    };
    const struct sock_fprog filter = { ARRAY_SIZE(steps), steps };

    taskstats->skips_threads = true;
    return setsockopt(taskstats->fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)) < 0
               ? -errno
               : 0;
}

void taskstats_close(struct taskstats_socket *taskstats)
{
    /* The kernel drops a closed listener at its next record. */
    if (taskstats->fd >= 0)
        close(taskstats->fd);
    taskstats->fd = -1;
}

/* Copies the struct. Members that the kernel is too old to have are 0. */
static struct taskstats copy_stats(const struct bytes *value)
{
    struct taskstats stats = { 0 };

    memcpy(&stats, value->at, smaller(value->left, sizeof(stats)));
    return stats;
}

static void read_usage(const struct taskstats *stats, struct exit_record *record)
{
    uint64_t *counter = record->usage.counter;

    usage_clear(&record->usage); /* the CPU times stay unknown */
    record->tick_ns = product_u64(stats->ac_utime + stats->ac_stime, NS_PER_US);
    record->run_ns = stats->cpu_run_virtual_total;
    counter[USAGE_READ_BYTES] = stats->read_bytes;
    counter[USAGE_WRITTEN_BYTES] = stats->write_bytes;
    counter[USAGE_READ_CHARS] = stats->read_char;
    counter[USAGE_WRITTEN_CHARS] = stats->write_char;
    counter[USAGE_MINOR_FAULTS] = stats->ac_minflt;
    counter[USAGE_MAJOR_FAULTS] = stats->ac_majflt;
    counter[USAGE_VOLUNTARY_SWITCHES] = stats->nvcsw;
    counter[USAGE_INVOLUNTARY_SWITCHES] = stats->nivcsw;
    counter[USAGE_CPU_WAIT_NS] = record->run_ns > 0 ? stats->cpu_delay_total : UNKNOWN;
    counter[USAGE_IO_WAIT_NS] = stats->blkio_delay_total;
}

static int read_stats(const struct bytes *value, struct exit_record *record)
{
    struct taskstats stats = copy_stats(value);
    uint32_t tgid;

    if (value->left < offsetof(struct taskstats, hiwater_rss) + sizeof(stats.hiwater_rss))
        return -EBADMSG;
    memcpy(record->name, stats.ac_comm, sizeof(record->name));
    record->name[sizeof(record->name) - 1] = '\0';
    if (stats.version == SHIFTED_VERSION) {
        record->peak_rss_bytes = UNKNOWN;
        return 0;
    }
    /* 0 means that the process has no memory of its own: a kernel thread, or a process that
     * failed to start. */
    record->peak_rss_bytes =
        stats.hiwater_rss == 0 ? UNKNOWN : product_u64(stats.hiwater_rss, 1024);
    read_usage(&stats, record);
    record->may_be_borrowed = stats.ac_flag & HAS_NOT_EXEC && stats.ac_minflt < FORK_FAULTS_MIN;
    if (stats.version >= TGID_VERSION && value->left >= TGID_OFFSET + sizeof(tgid)) {
        memcpy(&tgid, value->at + TGID_OFFSET, sizeof(tgid)); /* older headers lack it */
        record->tgid = (pid_t)tgid;
        record->is_group_exit = stats.ac_flag & LAST_OF_PROCESS;
    }
    return 0;
}

/* Reads the attribute of one thread: its ID, then the struct. */
static int read_thread(struct bytes parts, struct exit_record *ret)
{
    struct exit_record record = { 0 };
    bool has_stats = false;
    struct bytes value;
    unsigned type;
    uint32_t pid = 0;

    while (netlink_attribute(&parts, &type, &value)) {
        if (type == TASKSTATS_TYPE_PID && !bytes_copy(&value, &pid, sizeof(pid)))
            return -EBADMSG;
        if (type != TASKSTATS_TYPE_STATS)
            continue;
        if (read_stats(&value, &record) < 0)
            return -EBADMSG;
        has_stats = true;
    }
    if (pid == 0 || !has_stats)
        return -EBADMSG;
    record.pid = (pid_t)pid;
    if (record.tgid == 0)
        record.tgid = record.pid;
    *ret = record;
    return 0;
}

/* Reads the attribute that comes with the last thread of a process: CPU times of all threads. */
static void read_group(struct bytes parts, struct exit_record *record)
{
    struct taskstats stats;
    struct bytes value;
    unsigned type;

    record->is_group_exit = record->is_last_of_several = true;
    while (netlink_attribute(&parts, &type, &value)) {
        if (type != TASKSTATS_TYPE_STATS)
            continue;
        stats = copy_stats(&value);
        raise_to(&record->tick_ns, stats.cpu_run_real_total);
        raise_to(&record->run_ns, stats.cpu_run_virtual_total);
    }
}

int taskstats_parse(const void *datagram, size_t size, uint16_t family, struct exit_record *ret)
{
    struct bytes rest = { datagram, size }, payload, value;
    struct exit_record record = { 0 };
    struct nlmsghdr header;
    unsigned type;

    if (!netlink_next(&rest, &header, &payload))
        return -EBADMSG;
    if (header.nlmsg_type != family)
        return -ENOMSG;
    if (payload.left < GENL_HDRLEN)
        return -EBADMSG;
    payload.at += GENL_HDRLEN;
    payload.left -= GENL_HDRLEN;
    while (netlink_attribute(&payload, &type, &value)) {
        if (type == TASKSTATS_TYPE_AGGR_PID && read_thread(value, &record) < 0)
            return -EBADMSG;
        if (type == TASKSTATS_TYPE_AGGR_TGID)
            read_group(value, &record);
    }
    if (record.pid == 0)
        return -EBADMSG;
    *ret = record;
    return 0;
}

struct reader {
    struct taskstats_socket *taskstats;
    exit_record_seen *seen;
    void *data;
};

static int take_record(const void *datagram, size_t size, void *data)
{
    const struct reader *reader = data;
    struct exit_record record;
    int r = taskstats_parse(datagram, size, reader->taskstats->family, &record);

    if (r == 0) {
        reader->taskstats->has_records = true;
        reader->seen(&record, reader->data);
    }
    return r;
}

void taskstats_drain(struct taskstats_socket *taskstats, exit_record_seen *seen, void *data)
{
    taskstats->lost_count +=
        netlink_drain(taskstats->fd, take_record, &(struct reader){ taskstats, seen, data });
}
