/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/amount.h"
#include "base/compiler.h"
#include "fake_root.h"
#include "source/proc/pid_files.h"
#include "source/proc/smaps.h"
#include "unit_test.h"

/* ---- pid stat -------------------------------------------------------------- */

/* fields 4 to 24 */
#define TAIL " 7 42 42 0 -1 4194368 100 11 12 13 200 50 30 20 20 0 3 0 5000 1000000 250"

TEST(the_used_columns_of_stat_are_read)
{
    struct pid_stat stat;

    assert_int_equal(pid_stat_parse("42 (name) S" TAIL " 18446744073709551615 1 1\n", &stat),
                     0);
    assert_int_equal(stat.pid, 42);
    assert_string_equal(stat.comm, "name");
    assert_int_equal(stat.state, 'S');
    assert_int_equal(stat.parent_pid, 7);
    assert_int_equal(stat.minor_faults, 100);
    assert_int_equal(stat.child_minor_faults, 11);
    assert_int_equal(stat.major_faults, 12);
    assert_int_equal(stat.child_major_faults, 13);
    assert_int_equal(stat.user_ticks, 200);
    assert_int_equal(stat.system_ticks, 50);
    assert_int_equal(stat.child_user_ticks, 30);
    assert_int_equal(stat.child_system_ticks, 20);
    assert_int_equal(stat.threads, 3);
    assert_int_equal(stat.start_ticks, 5000);
}

TEST(a_flag_distinguishes_a_forked_copy_from_an_executed_program)
{
    struct pid_stat stat;

    assert_int_equal(pid_stat_parse("42 (x) S" TAIL, &stat), 0);
    assert_false(stat.has_exec); /* 4194368 = 0x400040 */
    assert_int_equal(
        pid_stat_parse("42 (x) S 7 42 42 0 -1 4194304 1 1 1 1 1 1 1 1 20 0 3 0 5 1 2", &stat),
        0);
    assert_true(stat.has_exec);
}

TEST(an_exiting_process_is_recognized_before_it_is_a_zombie)
{
    static const struct {
        const char *text;
        bool is_ending;
    } cases[] = {
        { "42 (x) S" TAIL, false },
        { "42 (x) Z" TAIL, true },
        { "42 (x) X" TAIL, true },
        { "42 (x) R 7 42 42 0 -1 4194308 1 1 1 1 1 1 1 1 20 0 3 0 5 1 2", true },
    };
    struct pid_stat stat;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_int_equal(pid_stat_parse(cases[i].text, &stat), 0);
        assert_true(stat.is_ending == cases[i].is_ending);
    }
}

TEST(a_name_may_contain_parentheses_and_spaces)
{
    struct pid_stat stat;

    assert_int_equal(pid_stat_parse("42 (a) R 1 (b)) Z" TAIL, &stat), 0);
    assert_string_equal(stat.comm, "a) R 1 (b)");
    assert_int_equal(stat.state, 'Z');
    assert_int_equal(stat.parent_pid, 7);
}

TEST(a_name_may_contain_newlines_or_be_empty)
{
    struct pid_stat stat;

    assert_int_equal(pid_stat_parse("42 (a\nb\033[31m) R" TAIL, &stat), 0);
    assert_string_equal(stat.comm, "a\nb\033[31m");
    assert_int_equal(pid_stat_parse("42 () R" TAIL, &stat), 0);
    assert_string_equal(stat.comm, "");
}

TEST(damaged_text_is_refused)
{
    static const char *const damaged[] = {
        "",
        "42",
        "42 (",
        "42 )(",
        "42 (x)",
        "42 (x) ",
        "42 (x) S",
        "42 (x) S 7 42",
        "(x) S" TAIL,
        "0 (x) S" TAIL,
        "-42 (x) S" TAIL,
        "4294967338 (x) S" TAIL,
        "42 (x) S 4294967303 42 42 0 -1 4194304 1 1 1 1 1 1 1 1 20 0 3 0 5 1 2",
        "42 (x) S 99999999999999999999" TAIL,
        "42 (0123456789012345678901234567890123456789012345678901234567890123456789) S" TAIL,
    };

    for (size_t i = 0; i < ARRAY_SIZE(damaged); i++) {
        struct pid_stat stat = { .pid = -1 };

        assert_int_equal(pid_stat_parse(damaged[i], &stat), -EBADMSG);
        assert_int_equal(stat.pid, -1); /* untouched on failure */
    }
}

/* ---- pid files ------------------------------------------------------------- */

TEST(schedstat_contains_the_time_run_and_the_time_waited)
{
    static const char *const damaged[] = { "", "1", "x 2 3", "1 x" };
    struct schedstat times = { .waited_ns = 9 };
    struct root root;

    for (size_t i = 0; i < ARRAY_SIZE(damaged); i++)
        assert_int_equal(schedstat_parse(damaged[i], &times), -EBADMSG);
    assert_int_equal(times.waited_ns, 9);
    assert_int_equal(schedstat_parse("674352 151757 2\n", &times), 0);
    assert_int_equal(times.run_ns, 674352);
    assert_int_equal(times.waited_ns, 151757);
    assert_int_equal(root_open(NULL, &root), 0);
    assert_int_equal(schedstat_read(&root, INT_MAX, &times), -ENOENT);
    root_close(&root);
}

TEST(three_numbers_of_statm_are_read)
{
    static const char *const damaged[] = { "", "1", "1 2", "1 2 x", "a b c" };
    struct pid_statm statm = { .size_pages = 9 };

    for (size_t i = 0; i < ARRAY_SIZE(damaged); i++)
        assert_int_equal(pid_statm_parse(damaged[i], &statm), -EBADMSG);
    assert_int_equal(statm.size_pages, 9);
    assert_int_equal(pid_statm_parse("100 50 20 1 0 30 0\n", &statm), 0);
    assert_int_equal(statm.size_pages, 100);
    assert_int_equal(statm.resident_pages, 50);
    assert_int_equal(statm.shared_pages, 20);
}

#define STATUS_HEAD                      \
    "Name:\tx\nUmask:\t0022\nState:\tS " \
    "(sleeping)\nTgid:\t42\nPid:\t43\nUid:\t1000\t1000\t1\t1\n"

TEST(the_high_water_mark_is_read_from_status)
{
    struct pid_status status;

    assert_int_equal(pid_status_parse(STATUS_HEAD "VmPeak:\t   99 kB\nVmHWM:\t   1024 kB\n"
                                                  "RssAnon:\t 5 kB\nVmSwap:\t 3 kB\n"
                                                  "Threads:\t2\nSigIgn:\t0000000000010000\n",
                                      &status),
                     0);
    assert_int_equal(status.thread_group, 42);
    assert_int_equal(status.uid, 1000);
    assert_int_equal(status.rss_peak_bytes, 1048576);
    assert_int_equal(status.swap_bytes, 3072);
    assert_int_equal(status.threads, 2);
    assert_true(status.ignores_child_signal);
    assert_false(is_known(status.rss_shmem_bytes)); /* the line is missing */
}

FAKE_ROOT_TEST(status_is_read_beyond_many_groups)
{
    struct fake_root *fake = *state;
    static char text[800 << 10];
    size_t used = (size_t)snprintf(text, sizeof(text), STATUS_HEAD "Groups:\t");
    struct pid_status status;

    for (int i = 0; i < 65536; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "4000000000 ");
    (void)snprintf(text + used, sizeof(text) - used,
                   "\nVmHWM:\t 1024 kB\nVmSwap:\t 3 kB\nThreads:\t2\n"
                   "SigIgn:\t0000000000010000\n");
    fake_root_write(fake, "proc/42/status", text);
    assert_int_equal(pid_status_read(&fake->root, 42, &status), 0);
    assert_int_equal(status.rss_peak_bytes, 1 << 20);
    assert_int_equal(status.swap_bytes, 3072);
    assert_int_equal(status.threads, 2);
    assert_true(status.ignores_child_signal);
}

TEST(a_zombie_has_no_memory_lines)
{
    struct pid_status status;

    assert_int_equal(pid_status_parse(STATUS_HEAD "SigIgn:\t0000000000000000\n", &status), 0);
    assert_false(is_known(status.rss_peak_bytes));
    assert_false(status.ignores_child_signal);
}

TEST(a_hostile_name_cannot_fake_a_line)
{
    struct pid_status status;

    /* The kernel writes a newline in a name as \
     * , so a name cannot start a line. */
    assert_int_equal(pid_status_parse("Name:\tVmHWM: 77 kB\\nTgid:\t7\nTgid:\t42\n", &status),
                     0);
    assert_int_equal(status.thread_group, 42);
    assert_false(is_known(status.rss_peak_bytes));
}

TEST(status_without_its_first_lines_is_refused)
{
    struct pid_status status;

    assert_int_equal(pid_status_parse("", &status), -EBADMSG);
    assert_int_equal(pid_status_parse("Name:\tx\nTgid:", &status), -EBADMSG);
}

TEST(an_io_file_without_its_four_lines_is_refused)
{
    struct pid_io io = { .read_chars = 9 };

    assert_int_equal(pid_io_parse("", &io), -EBADMSG);
    assert_int_equal(pid_io_parse("rchar: 1\nwchar: 2\nread_bytes: 4096\n", &io), -EBADMSG);
    assert_int_equal(
        pid_io_parse("rchar: 1\nwchar: 2\nread_bytes: 4096\nread_bytes: 4096\n", &io),
        -EBADMSG);
    assert_int_equal(io.read_chars, 9);
    assert_int_equal(pid_io_parse("rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 4096\n"
                                  "write_bytes: 8192\ncancelled_write_bytes: 0\n",
                                  &io),
                     0);
    assert_int_equal(io.read_chars, 1);
    assert_int_equal(io.written_chars, 2);
    assert_int_equal(io.read_bytes, 4096);
    assert_int_equal(io.written_bytes, 8192);
}

#define ROLLUP                                                                                \
    "55d0-7ffd ---p 00000000 00:00 0                          [rollup]\n"                     \
    "Rss:                1000 kB\nPss:                 500 kB\nPss_Dirty:           1 kB\n"   \
    "Pss_Anon:            300 kB\nPss_File:            150 kB\nPss_Shmem:            50 kB\n" \
    "Shared_Clean:        600 kB\nShared_Dirty:        100 kB\nPrivate_Clean:        20 kB\n" \
    "Private_Dirty:       280 kB\nReferenced:         1000 kB\nAnonymous:          300 kB\n"

TEST(rollup_is_converted_to_bytes)
{
    struct smaps_rollup rollup;

    assert_int_equal(smaps_rollup_parse(ROLLUP, &rollup), 0);
    assert_int_equal(rollup.rss, 1000 * 1024);
    assert_int_equal(rollup.pss, 500 * 1024);
    assert_int_equal(rollup.pss_anon, 300 * 1024);
    assert_int_equal(rollup.pss_shmem, 50 * 1024);
    assert_int_equal(rollup.private_dirty, 280 * 1024);
    assert_int_equal(rollup.anonymous, 300 * 1024);
}

TEST(an_empty_rollup_means_that_the_process_exited)
{
    struct smaps_rollup rollup;

    assert_int_equal(smaps_rollup_parse("", &rollup), -ESRCH);
    assert_int_equal(smaps_rollup_parse("Rss: 1 kB\n", &rollup), -EBADMSG);
}

TEST(an_old_kernel_does_not_split_pss)
{
    struct smaps_rollup rollup;

    assert_int_equal(smaps_rollup_parse("Rss: 1 kB\nPss: 1 kB\nShared_Clean: 1 kB\n"
                                        "Shared_Dirty: 0 kB\nPrivate_Clean: 0 kB\n"
                                        "Private_Dirty: 0 kB\nAnonymous: 0 kB\n",
                                        &rollup),
                     0);
    assert_false(is_known(rollup.pss_anon));
}

TEST(a_command_line_is_split_at_its_nuls)
{
    char text[] = "sh\0-c\0\0echo a\0";
    const char *arguments[8];

    assert_int_equal(cmdline_split(text, sizeof(text) - 1, arguments, 8), 4);
    assert_string_equal(arguments[0], "sh");
    assert_string_equal(arguments[1], "-c");
    assert_string_equal(arguments[2], "");
    assert_string_equal(arguments[3], "echo a");
    assert_null(arguments[4]);
    assert_int_equal(cmdline_split(text, sizeof(text) - 1, arguments, 2), 1);
    assert_null(arguments[1]);
    assert_int_equal(cmdline_split(text, 0, arguments, 2), 0);
}
