/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/amount.h"
#include "fake_root.h"
#include "gated_job.h"
#include "source/events/taskstats.h"
#include "unit_test.h"

enum { FAMILY = 24, TGID_OFFSET = 368, PEAK_KIB = 1112 };
enum { ATTRIBUTES = sizeof(struct nlmsghdr) + sizeof(struct genlmsghdr) };

#if TASKSTATS_VERSION >= 12
_Static_assert(offsetof(struct taskstats, ac_tgid) == TGID_OFFSET, "as the reader has it");
#endif

/* A datagram under construction; it ends at `size`. */
struct datagram {
    unsigned char bytes[4096];
    size_t size;
};

static void put(struct datagram *d, const void *bytes, size_t size)
{
    if (size > 0)
        memcpy(d->bytes + d->size, bytes, size);
    d->size += (size + 3) / 4 * 4;
}

static void put_attribute(struct datagram *d, uint16_t type, const void *value, size_t size)
{
    struct nlattr header = { (uint16_t)(sizeof(header) + size), type };

    put(d, &header, sizeof(header));
    put(d, value, size);
}

/* Begins an attribute that contains other attributes; close_nest() fills in its length. */
static size_t open_nest(struct datagram *d, uint16_t type)
{
    size_t start = d->size;
    struct nlattr header = { 0, type };

    put(d, &header, sizeof(header));
    return start;
}

static void close_nest(struct datagram *d, size_t start)
{
    uint16_t length = (uint16_t)(d->size - start);

    memcpy(d->bytes + start, &length, sizeof(length));
}

struct fields {
    uint32_t pid, tgid;
    uint16_t version;
    uint8_t flags;
    uint64_t peak_kib;
    size_t stats_bytes;
    uint64_t minor_faults;
    uint64_t user_us, system_us, run_ns, group_tick_ns, read_bytes, written_bytes;
    uint64_t cpu_wait_ns, io_wait_ns;
};

static void put_thread(struct datagram *d, uint16_t nest_type, const struct fields *fields)
{
    size_t nest = open_nest(d, nest_type);
    unsigned char stats[600] = { 0 };

    memcpy(stats + offsetof(struct taskstats, version), &fields->version, 2);
    memcpy(stats + offsetof(struct taskstats, ac_flag), &fields->flags, 1);
    memcpy(stats + offsetof(struct taskstats, hiwater_rss), &fields->peak_kib, 8);
    memcpy(stats + offsetof(struct taskstats, ac_minflt), &fields->minor_faults, 8);
    memcpy(stats + offsetof(struct taskstats, ac_comm), "worker", 6);
    memcpy(stats + offsetof(struct taskstats, ac_utime), &fields->user_us, 8);
    memcpy(stats + offsetof(struct taskstats, ac_stime), &fields->system_us, 8);
    memcpy(stats + offsetof(struct taskstats, cpu_run_virtual_total), &fields->run_ns, 8);
    memcpy(stats + offsetof(struct taskstats, cpu_run_real_total), &fields->group_tick_ns, 8);
    memcpy(stats + offsetof(struct taskstats, read_bytes), &fields->read_bytes, 8);
    memcpy(stats + offsetof(struct taskstats, write_bytes), &fields->written_bytes, 8);
    memcpy(stats + offsetof(struct taskstats, cpu_delay_total), &fields->cpu_wait_ns, 8);
    memcpy(stats + offsetof(struct taskstats, blkio_delay_total), &fields->io_wait_ns, 8);
    memcpy(stats + TGID_OFFSET, &fields->tgid, 4);
    put_attribute(
        d, nest_type == TASKSTATS_TYPE_AGGR_PID ? TASKSTATS_TYPE_PID : TASKSTATS_TYPE_TGID,
        &fields->pid, 4);
    put_attribute(d, TASKSTATS_TYPE_NULL, NULL, 0); /* the kernel pads with these */
    put_attribute(d, TASKSTATS_TYPE_STATS, stats, fields->stats_bytes);
    close_nest(d, nest);
}

static void begin(struct datagram *d)
{
    struct nlmsghdr frame = { .nlmsg_type = FAMILY };
    struct genlmsghdr header = { .cmd = TASKSTATS_CMD_NEW, .version = 1 };

    d->size = 0;
    put(d, &frame, sizeof(frame));
    put(d, &header, sizeof(header));
}

static void end(struct datagram *d)
{
    uint32_t length = (uint32_t)d->size;

    memcpy(d->bytes, &length, sizeof(length));
}

static void make(struct datagram *d, const struct fields *fields)
{
    begin(d);
    put_thread(d, TASKSTATS_TYPE_AGGR_PID, fields);
    end(d);
}

static const struct fields new_kernel = {
    .pid = 43,
    .tgid = 42,
    .version = 16,
    .flags = 0x20,
    .peak_kib = PEAK_KIB,
    .stats_bytes = 560,
    .user_us = 8000,
    .system_us = 4000,
    .run_ns = 11500000,
    .read_bytes = 4096,
    .written_bytes = 8192,
};

/* A child of vfork that exits without exec has the peak of its parent. */
TEST(an_idle_child_may_have_no_memory_of_its_own)
{
    struct fields fields = new_kernel;
    struct exit_record record;
    struct datagram d;

    fields.flags |= 0x01; /* the process has not called exec */
    make(&d, &fields);
    assert_int_equal(taskstats_parse(d.bytes, d.size, FAMILY, &record), 0);
    assert_true(record.may_be_borrowed);
    fields.minor_faults = 12;
    make(&d, &fields);
    assert_int_equal(taskstats_parse(d.bytes, d.size, FAMILY, &record), 0);
    assert_false(record.may_be_borrowed);
}

TEST(an_exit_record_contains_thread_process_and_peak)
{
    struct exit_record record;
    struct datagram d;

    make(&d, &new_kernel);
    assert_int_equal(taskstats_parse(d.bytes, d.size, FAMILY, &record), 0);
    assert_int_equal(record.pid, 43);
    assert_int_equal(record.tgid, 42);
    assert_int_equal(record.peak_rss_bytes, PEAK_KIB * 1024);
    assert_string_equal(record.name, "worker");
    assert_true(record.is_group_exit);
    assert_false(record.may_be_borrowed);
    assert_int_equal(record.tick_ns, 12000000);
    assert_int_equal(record.run_ns, 11500000);
    assert_int_equal(record.usage.counter[USAGE_READ_BYTES], 4096);
    assert_int_equal(record.usage.counter[USAGE_WRITTEN_BYTES], 8192);
    assert_false(record.is_last_of_several);
}

TEST(an_exit_record_contains_the_waiting_times)
{
    struct fields fields = new_kernel;
    struct exit_record record;
    struct datagram d;

    fields.cpu_wait_ns = 7000000;
    fields.io_wait_ns = 3000000;
    make(&d, &fields);
    assert_int_equal(taskstats_parse(d.bytes, d.size, FAMILY, &record), 0);
    assert_int_equal(record.usage.counter[USAGE_CPU_WAIT_NS], 7000000);
    assert_int_equal(record.usage.counter[USAGE_IO_WAIT_NS], 3000000);
    fields.cpu_wait_ns = fields.run_ns = 0; /* a kernel without delay accounting */
    make(&d, &fields);
    assert_int_equal(taskstats_parse(d.bytes, d.size, FAMILY, &record), 0);
    assert_false(is_known(record.usage.counter[USAGE_CPU_WAIT_NS]));
}

TEST(the_exit_of_one_thread_does_not_end_its_process)
{
    struct fields fields = new_kernel;
    struct exit_record record;
    struct datagram d;

    fields.flags = 0;
    make(&d, &fields);
    assert_int_equal(taskstats_parse(d.bytes, d.size, FAMILY, &record), 0);
    assert_false(record.is_group_exit);
    /* The last of several threads is followed by the figures of the process. */
    begin(&d);
    put_thread(&d, TASKSTATS_TYPE_AGGR_PID, &fields);
    fields.group_tick_ns = 72000000;
    fields.run_ns = 70500000;
    put_thread(&d, TASKSTATS_TYPE_AGGR_TGID, &fields);
    end(&d);
    assert_int_equal(taskstats_parse(d.bytes, d.size, FAMILY, &record), 0);
    assert_true(record.is_group_exit);
    assert_int_equal(record.pid, 43);
    assert_true(record.is_last_of_several);
    assert_int_equal(record.tick_ns, 72000000);
    assert_int_equal(record.run_ns, 70500000);
    assert_int_equal(record.usage.counter[USAGE_READ_BYTES],
                     4096);                                     /* bytes of the thread alone */
    assert_false(is_known(record.usage.counter[USAGE_CPU_NS])); /* tick_ns and run_ns have it */
}

TEST(an_old_kernel_does_not_report_the_process)
{
    const struct fields old = { .pid = 43,
                                .tgid = 0xdead,
                                .version = 8,
                                .flags = 0x20,
                                .peak_kib = PEAK_KIB,
                                .stats_bytes = 328 };
    struct exit_record record;
    struct datagram d;

    make(&d, &old);
    assert_int_equal(taskstats_parse(d.bytes, d.size, FAMILY, &record), 0);
    assert_int_equal(record.tgid, 43);
    assert_int_equal(record.peak_rss_bytes, PEAK_KIB * 1024);
}

/* Version 15 is the only one that has these fields at other offsets. */
TEST(an_unreadable_peak_is_unknown)
{
    struct fields fields = new_kernel;
    struct exit_record record;
    struct datagram d;

    fields.version = 15;
    make(&d, &fields);
    assert_int_equal(taskstats_parse(d.bytes, d.size, FAMILY, &record), 0);
    assert_false(is_known(record.peak_rss_bytes));
    fields = new_kernel;
    fields.peak_kib = 0; /* a kernel thread */
    make(&d, &fields);
    assert_int_equal(taskstats_parse(d.bytes, d.size, FAMILY, &record), 0);
    assert_false(is_known(record.peak_rss_bytes));
    fields.peak_kib = UINT64_MAX / 2;
    make(&d, &fields);
    assert_int_equal(taskstats_parse(d.bytes, d.size, FAMILY, &record), 0);
    assert_false(is_known(record.peak_rss_bytes));
}

TEST(a_truncated_datagram_is_refused)
{
    struct exit_record record = { .pid = -1 };
    struct datagram d;

    make(&d, &new_kernel);
    for (uint32_t size = 0; size < d.size; size++) {
        assert_int_equal(taskstats_parse(d.bytes, size, FAMILY, &record), -EBADMSG);
        if (size < sizeof(struct nlmsghdr))
            continue;
        memcpy(d.bytes, &size, sizeof(size)); /* the header's length field has the same size */
        assert_int_equal(taskstats_parse(d.bytes, size, FAMILY, &record), -EBADMSG);
        end(&d);
    }
    assert_int_equal(record.pid, -1);
}

TEST(wrong_lengths_are_refused)
{
    static const uint16_t lies[] = { 0, 1, 3, 4, 5, 4095, 0xffff };
    struct exit_record record = { .pid = -1 };
    struct datagram d;

    for (size_t i = 0; i < sizeof(lies) / sizeof(*lies); i++) {
        make(&d, &new_kernel);
        memcpy(d.bytes + ATTRIBUTES, &lies[i], sizeof(lies[i]));
        assert_int_equal(taskstats_parse(d.bytes, d.size, FAMILY, &record), -EBADMSG);
        make(&d, &new_kernel); /* the nested attribute of the ID */
        memcpy(d.bytes + ATTRIBUTES + sizeof(struct nlattr), &lies[i], sizeof(lies[i]));
        assert_int_equal(taskstats_parse(d.bytes, d.size, FAMILY, &record), -EBADMSG);
    }
    assert_int_equal(record.pid, -1);
}

TEST(messages_of_another_netlink_family_are_ignored)
{
    struct exit_record record;
    struct datagram d;

    make(&d, &new_kernel);
    assert_int_equal(taskstats_parse(d.bytes, d.size, FAMILY + 1, &record), -ENOMSG);
}

enum { TOUCHED_BYTES = 24 << 20 };

static int touch_memory(void)
{
    char *memory = mmap(NULL, TOUCHED_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

    return memory == MAP_FAILED || munmap(memory, TOUCHED_BYTES) != 0;
}

static void find(const struct exit_record *record, void *data)
{
    struct exit_record *wanted = data;

    if (record->tgid == wanted->tgid && record->is_group_exit)
        *wanted = *record;
}

TEST(the_kernel_reports_the_peak_of_an_exited_process)
{
    struct exit_record record = { 0 };
    struct taskstats_socket taskstats;
    struct gated_job job;
    struct root root;
    int r;

    assert_int_equal(root_open(NULL, &root), 0);
    r = taskstats_open(&root, &taskstats);
    root_close(&root);
    if (r < 0) {
        print_message("taskstats: %s\n", strerror(-r));
        skip();
    }
    gated_job_start(&job, touch_memory);
    record.tgid = job.pid;
    gated_job_begin(&job);
    gated_job_end(&job);
    taskstats_drain(&taskstats, find, &record);
    assert_true(record.is_group_exit);
    assert_in_range(record.peak_rss_bytes, TOUCHED_BYTES - (1 << 20), UNKNOWN - 1);
    taskstats_close(&taskstats);
    taskstats_close(&taskstats);
}

static void *end_thread(void *data)
{
    return data;
}

static int run_threads(void)
{
    for (int i = 0; i < 3; i++) {
        pthread_t thread;

        if (pthread_create(&thread, NULL, end_thread, NULL) != 0 ||
            pthread_join(thread, NULL) != 0)
            return 1;
    }
    return 0;
}

struct seen_records {
    pid_t tgid;
    int threads, processes;
};

static void count(const struct exit_record *record, void *data)
{
    struct seen_records *seen = data;

    if (record->tgid == seen->tgid)
        *(record->is_group_exit ? &seen->processes : &seen->threads) += 1;
}

TEST(records_of_threads_can_be_skipped)
{
    struct taskstats_socket taskstats;
    struct root root;
    int r;

    assert_int_equal(root_open(NULL, &root), 0);
    r = taskstats_open(&root, &taskstats);
    root_close(&root);
    if (r < 0) {
        print_message("taskstats: %s\n", strerror(-r));
        skip();
    }
    for (int skips = 0; skips <= 1; skips++) {
        struct seen_records seen = { 0 };
        struct gated_job job;

        if (skips)
            assert_int_equal(taskstats_skip_threads(&taskstats), 0);
        gated_job_start(&job, run_threads);
        seen.tgid = job.pid;
        gated_job_begin(&job);
        gated_job_end(&job);
        taskstats_drain(&taskstats, count, &seen);
        assert_int_equal(seen.processes, 1);
        assert_int_equal(seen.threads, skips ? 0 : 3);
    }
    taskstats_close(&taskstats);
}

FAKE_ROOT_TEST(exit_records_are_not_supported_for_a_fixture)
{
    struct fake_root *fake = *state;
    struct taskstats_socket taskstats;

    assert_int_equal(taskstats_open(&fake->root, &taskstats), -ENOTSUP);
    fake->root.is_live = true;
    assert_int_equal(taskstats_open(&fake->root, &taskstats), -ENOENT);
    assert_int_equal(taskstats.fd, -1);
}
