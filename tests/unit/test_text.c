/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/amount.h"
#include "base/compiler.h"
#include "example_report.h"
#include "example_system.h"
#include "json_check.h"
#include "output/text_parts.h"
#include "text/utf8.h"
#include "unit_test.h"

/* ---- text ------------------------------------------------------------------ */

static int set_up(void **state)
{
    *state = example_new();
    return 0;
}

static int tear_down(void **state)
{
    example_free(*state);
    return 0;
}

/* Writes a report without colour and checks properties of every report: it fits a screen of
 * 80 columns, and no line ends with spaces. Returns the number of lines. */
static size_t write_text(const struct example *example, bool has_unicode, struct buffer *out)
{
    size_t lines = 0;
    char *end;

    example_write(example, SPOOR_TEXT,
                  &(struct format_style){ false, has_unicode, TEXT_COLUMNS, true }, out);
    assert_int_equal(buffer_error(out), 0);
    for (char *line = out->text; *line; line = end + 1, lines++) {
        end = strchr(line, '\n');
        assert_non_null(end);
        assert_true(end == line || end[-1] != ' ');
        *end = '\0';
        assert_in_range(utf8_columns(line), 0, 80);
        *end = '\n';
    }
    return lines;
}

static void assert_holds(const struct buffer *out, const char *text)
{
    if (!strstr(out->text, text))
        fail_msg("not found: %s, but: %s", text, out->text);
}

static const char whole_report[] =
    "python3 train.py --name 'it'\\''s me'\n"
    "exit code 0, started 2026-03-14 09:26:53 UTC\n"
    "\n"
    "Elapsed           5.00 s\n"
    "CPU time          10.0 s  user 9.25 s, system 750 ms; 200 % of one CPU\n"
    "CPU cores           2.00  on average, 3.50 at peak, 4 allowed\n"
    "                          ▂▂▂▂▂▂▂▂▂▂▃▇▇▇▇▇▇▇▇▇▇▇██████████▇▇▇▇▇▇▇▇▇▇▇▂▁▁▁▁▁▁▁▁▁▁\n"
    "Memory           1.20 GB  peak: 1.18 GB private, 20.0 MB shared\n"
    "                          ▂▂▂▂▂▂▂▂▂▂▆▆▆▆▆▆▆▆▆▆▆████████████▅▅▅▅▅▅▅▅▅▅▅▁▁▁▁▁▁▁▁▁▁\n"
    "  main            210 MB  own peak, including shared pages\n"
    "  descendants    1.00 GB  own peak, including shared pages\n"
    "  limit          2.00 GB  60 % used at the peak, 800 MB left\n"
    "Page faults       300321  minor, 4 major\n"
    "Context switches     812  voluntary, 57 involuntary\n"
    "Disk I/O         12.0 MB  read, 48.0 MB written\n"
    "All I/O          15.0 MB  read, 50.0 MB written, including cache and pipes\n"
    "Network          1.20 MB  received, 300 kB sent by the whole host\n"
    "Processes              3  at once, 7 started, 12 threads at once\n"
    "Host              8 CPUs  33.6 GB, AMD EPYC 7763 64-Core Processor, Linux 6.12.1\n"
    "Next run          3 CPUs  2 GiB of memory, 1 min. The run took less than 10 s.\n"
    "\n"
    "tags         team=blue note=a=b\n"
    "tracker      12.0 ms of CPU (0.2 % of a core), 3.20 MB of RAM, 6 samples\n"
    "not exact    peak memory (at most 1.50 GB), private and shared memory,\n"
    "             processes, threads\n";

TEST_WITH(the_full_report_has_25_lines, set_up, tear_down)
{
    struct buffer out = { 0 };

    assert_in_range(write_text(*state, true, &out), 1, 25);
    assert_string_equal(out.text, whole_report);
    buffer_done(&out);
}

/* The job has one process, no limit, no network traffic and no tags. */
TEST_WITH(a_plain_job_has_20_lines, set_up, tear_down)
{
    struct example *example = *state;
    struct buffer out = { 0 };

    example->input.tags = NULL;
    example->limits.memory_bytes = UNKNOWN;
    example->summary.tally[METRIC_DESCENDANTS_RSS].max = 0;
    example->summary.tally[METRIC_HOST_NETWORK_RECEIVED].last = 7000;
    example->summary.tally[METRIC_HOST_NETWORK_SENT].last = 5000;
    assert_in_range(write_text(example, true, &out), 1, 20);
    assert_null(strstr(out.text, "Network"));
    buffer_done(&out);
}

TEST_WITH(a_memory_split_below_the_peak_is_shown_with_its_total, set_up, tear_down)
{
    struct example *example = *state;
    struct buffer out = { 0 };

    example->summary.at_peak = (struct memory_split){ 1150000000, 1140000000, 10000000 };
    write_text(example, true, &out);
    assert_holds(
        &out, "Memory           1.20 GB  peak; at 1.15 GB: 1.14 GB private, 10.0 MB shared\n");
    buffer_done(&out);
}

TEST_WITH(a_large_page_cache_has_its_own_row, set_up, tear_down)
{
    struct example *example = *state;
    struct tally *tally = &example->summary.tally[METRIC_JOB_MEMORY_PEAK];
    struct buffer out = { 0 };

    tally->first = 0;
    tally->max = tally->last = 1500000000;
    write_text(example, true, &out);
    assert_holds(&out, "  with cache     1.50 GB  peak including page cache\n"
                       "  limit          2.00 GB  75 % used at the peak, 500 MB left\n");
    buffer_clear(&out);
    tally->max = tally->last = 1210000000;
    write_text(example, true, &out);
    assert_null(strstr(out.text, "with cache"));
    buffer_done(&out);
}

/* Pages charged to another cgroup do not count against the limit. */
TEST_WITH(a_cgroup_limit_is_compared_with_charged_memory, set_up, tear_down)
{
    struct example *example = *state;
    struct tally *tally = &example->summary.tally[METRIC_JOB_MEMORY_PEAK];
    struct buffer out = { 0 };

    example->limits.memory_bytes = 1000000000; /* the peak of the processes is 1.2 GB */
    tally->first = 0;
    tally->max = tally->last = 900000000;
    write_text(example, true, &out);
    assert_holds(&out, "  limit          1.00 GB  90 % used at the peak, 100 MB left\n");
    buffer_clear(&out);
    example->limits.memory_source = "slurm";
    write_text(example, true, &out);
    assert_holds(&out, "  limit          1.00 GB  120 % used at the peak, 0 B left\n");
    buffer_done(&out);
}

TEST_WITH(colors_change_nothing_else, set_up, tear_down)
{
    const struct example *example = *state;
    struct buffer out = { 0 };
    char *to;

    example_write(example, SPOOR_TEXT, &(struct format_style){ true, true, TEXT_COLUMNS, true },
                  &out);
    assert_holds(&out, "\033[1mCPU time\033[0m          10.0 s");
    assert_holds(&out, "\033[2mtracker\033[0m");
    to = out.text;
    for (const char *from = out.text; *from;) {
        if (*from == '\033')
            from += strcspn(from, "m") + 1;
        else
            *to++ = *from++;
    }
    *to = '\0';
    assert_string_equal(out.text, whole_report);
    buffer_done(&out);
}

TEST_WITH(the_report_is_ascii_without_unicode, set_up, tear_down)
{
    static const char *const command[] = { "caf\xc3\xa9", NULL };
    struct example *example = *state;
    struct buffer out = { 0 };

    example->input.command = command;
    example->input.name = "\xc3\x9b"; /* its second byte is CSI for some terminals */
    write_text(example, false, &out);
    for (const char *c = out.text; *c; c++)
        assert_in_range((unsigned char)*c, '\n', '~');
    assert_holds(&out, "\\u00db: 'caf\\u00e9'\n");
    buffer_done(&out);
}

TEST_WITH(the_end_of_the_run_is_described_in_words, set_up, tear_down)
{
    static const struct {
        int wait_status;
        const char *text;
    } rows[] = {
        { 7 << 8, "\nexit code 7, started" },
        { 9, "\nkilled by SIGKILL, started" },
        { 11 | 0x80, "\nkilled by SIGSEGV (core dumped), started" },
    };
    struct example *example = *state;
    struct buffer out = { 0 };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        buffer_clear(&out);
        example->input.wait_status = rows[i].wait_status;
        write_text(example, true, &out);
        assert_holds(&out, rows[i].text);
    }
    buffer_clear(&out);
    example_write(example, SPOOR_TEXT, &(struct format_style){ true, true, TEXT_COLUMNS, true },
                  &out);
    assert_holds(&out, "\033[31mkilled by SIGSEGV"); /* failure is red */
    buffer_clear(&out);
    example->input.has_ended = false;
    write_text(example, true, &out);
    assert_holds(&out, "\nexit code unknown, started");
    buffer_done(&out);
}

TEST_WITH(unknown_figures_have_a_reason, set_up, tear_down)
{
    struct example *example = *state;
    struct buffer out = { 0 };

    example->origins[METRIC_JOB_READ].reason = "only its owner may read /proc/PID/io";
    example->origins[METRIC_JOB_READ_CHARS].reason = "only its owner may read /proc/PID/io";
    example_forget(example);
    write_text(example, true, &out);
    assert_holds(&out, "process 4242\nexit code unknown\n\n"
                       "Elapsed              n/a\n"
                       "CPU time             n/a  user n/a, system n/a\n");
    assert_holds(&out, "Memory               n/a  peak\n");
    assert_holds(&out, "Host                 n/a\n");
    assert_holds(&out,
                 "\nunknown      disk I/O, all I/O: only its owner may read /proc/PID/io\n");
    assert_null(strstr(out.text, "not exact"));
    assert_null(strstr(out.text, "nan"));
    buffer_done(&out);
}

/* Scaled to its own maximum, noise would look like full load. */
TEST_WITH(an_idle_job_has_no_cpu_curve, set_up, tear_down)
{
    struct example *example = *state;
    struct series *series = &example->series;
    struct tally *cpu = &example->summary.tally[METRIC_JOB_CPU];
    struct buffer out = { 0 };

    for (size_t i = 0; i < series->count * series->metric_count; i++) {
        const struct series_metric *column = &series->metrics[i % series->metric_count];
        size_t point = i / series->metric_count;

        if (column->metric == METRIC_JOB_CPU)
            series->counts[point * series->counter_count + column->place] =
                (struct series_count){ (double)series->ends_ns[point] * 2e-12, 0.004F, 0.001F };
    }
    cpu->count = cpu->anchor = cpu->start + cpu->anchor_ns / 500;
    write_text(example, true, &out);
    assert_holds(&out, "allowed\nMemory ");
    buffer_done(&out);
}

TEST_WITH(empty_rows_are_left_out, set_up, tear_down)
{
    struct example *example = *state;
    struct buffer out = { 0 };

    example->limits.memory_bytes = UNKNOWN;
    example->summary.tally[METRIC_DESCENDANTS_RSS].max = 0;
    example->summary.tally[METRIC_JOB_THREADS].max = 1;
    example->series.count = 3; /* too few for a curve */
    write_text(example, true, &out);
    assert_holds(&out, "at once, 7 started, 1 thread at once\n");
    assert_null(strstr(out.text, "limit"));
    assert_null(strstr(out.text, "descendants"));
    assert_null(strstr(out.text, "▁"));
    assert_null(strstr(out.text, "Stalled"));
    buffer_done(&out);
}

TEST_WITH(notable_pressure_swap_and_lateness_are_shown, set_up, tear_down)
{
    struct example *example = *state;
    struct buffer out = { 0 };
    struct tally *swap = &example->summary.tally[METRIC_JOB_SWAP];
    struct tally *energy = &example->summary.tally[METRIC_JOB_CPU_ENERGY]; /* [1]: its bound */
    struct tally *wait = &example->summary.tally[METRIC_JOB_CPU_WAIT];
    struct tally *refaulted = &example->summary.tally[METRIC_JOB_REFAULTED];

    example->summary.tally[METRIC_JOB_CPU_PRESSURE].last = 1200000000;
    swap->first = swap->last = swap->max = 5000000;
    wait->first_ns = 0;
    wait->last_ns = 1;
    wait->first = 0;
    wait->last = 120000000000;
    example->summary.grams_per_joule = 1e-4;
    energy[0].first = energy[1].first = 0;
    energy[0].last = 1250000000;
    energy[1].last = 812000000;
    energy[0].first_ns = 0;
    energy[0].last_ns = 1;
    refaulted->first = 0;
    refaulted->last = 12000000000;
    example->input.late_samples = 2;
    write_text(example, true, &out);
    assert_holds(&out, "Stalled             24 %  of the time waiting for CPU (whole host)\n");
    assert_holds(&out, "  swapped out    5.00 MB  peak\n");
    assert_holds(&out,
                 "  waiting     2 min 00 s  at least; ready to run, without a CPU (threads)\n");
    assert_holds(&out,
                 "  re-read        12.0 GB  evicted from the page cache, then read again\n");
    assert_holds(&out, "Energy           1.25 kJ  of the CPUs, at least 812 J, 0.13 g CO2e\n");
    assert_holds(&out, "6 samples, 2 late\n");
    assert_null(strstr(out.text, "RDMA"));
    assert_null(strstr(out.text, "NFS"));
    buffer_done(&out);
}

TEST_WITH(rdma_and_nfs_are_shown_if_bytes_were_moved, set_up, tear_down)
{
    struct example *example = *state;
    struct tally *tally = example->summary.tally;
    struct buffer out = { 0 };

    tally[METRIC_HOST_RDMA_RECEIVED].first = tally[METRIC_HOST_RDMA_SENT].first = 0;
    tally[METRIC_HOST_RDMA_RECEIVED].last = 12000000000;
    tally[METRIC_HOST_RDMA_SENT].last = 3000000000;
    tally[METRIC_HOST_NFS_READ].first = tally[METRIC_HOST_NFS_WRITTEN].first = 0;
    tally[METRIC_HOST_NFS_READ].last = 0;
    tally[METRIC_HOST_NFS_WRITTEN].last = 48000000;
    write_text(example, true, &out);
    assert_holds(&out, "RDMA             12.0 GB  received, 3.00 GB sent by the whole host\n");
    assert_holds(&out, "NFS                  0 B  read, 48.0 MB written by the whole host\n");
    buffer_done(&out);
}

TEST_WITH(pressure_of_the_host_is_left_out_if_the_job_is_idle, set_up, tear_down)
{
    static const enum metric idle[] = { METRIC_JOB_CPU, METRIC_JOB_READ, METRIC_JOB_WRITTEN };
    struct example *example = *state;
    struct tally *tally = example->summary.tally;
    struct buffer out = { 0 };

    tally[METRIC_JOB_CPU_PRESSURE].last = 1200000000;
    for (size_t i = 0; i < ARRAY_SIZE(idle); i++) {
        buffer_clear(&out);
        write_text(example, true, &out);
        assert_holds(&out, "Stalled");
        tally[idle[i]].count = tally[idle[i]].last = tally[idle[i]].first;
    }
    buffer_clear(&out);
    write_text(example, true, &out);
    assert_null(strstr(out.text, "Stalled"));
    buffer_done(&out);
}

TEST_WITH(long_and_hostile_text_is_truncated_and_escaped, set_up, tear_down)
{
    static const char *const command[] = { "/usr/bin/a-program-with-a-long-name", "--option",
                                           "one two three four five six seven eight", NULL };
    static char huge[100001];
    static const char *const huge_command[] = { huge, NULL };
    struct example *example = *state;
    struct buffer out = { 0 };

    example->input.command = command;
    write_text(example, true, &out);
    assert_holds(&out, "/usr/bin/a-program-with-a-long-name --option 'one two three four five "
                       "six sev...\n");
    buffer_clear(&out);
    memset(huge, '\x1b', sizeof(huge) - 1);
    example->input.command = huge_command;
    example->input.name = huge;
    (void)snprintf(example->host.cpu_model, sizeof(example->host.cpu_model), "\x1b]0;%s",
                   "x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x");
    assert_in_range(write_text(example, true, &out), 1, 26);
    assert_null(strchr(out.text, '\x1b'));
    buffer_done(&out);
}

TEST_WITH(each_warning_has_its_own_line, set_up, tear_down)
{
    struct example *example = *state;
    struct buffer out = { 0 };

    example->input.warning_count = EXAMPLE_WARNINGS;
    memset(example->warnings[0].message, 'x', sizeof(example->warnings[0].message) - 1);
    write_text(example, true, &out);
    assert_holds(&out, "\nwarning      xxxxxxxxxx");
    assert_holds(&out, "\nwarning      row\\n\\x1b[31m\"two\"\n");
    buffer_done(&out);
}

TEST_WITH(the_table_of_phases_shows_at_most_eight, set_up, tear_down)
{
    struct example *example = *state;
    struct buffer out = { 0 };

    example->input.phase_count = 2;
    write_text(example, true, &out);
    assert_holds(&out,
                 "\n\n"
                 "Phases                                   time     CPU time  peak memory\n"
                 "  load                                 2.00 s       3.50 s       800 MB\n"
                 "  train\\x1b[2J, \"quick\"                2.00 s       3.00 s      1.20 GB\n"
                 "\ntags ");
    buffer_clear(&out);
    example->input.phase_count = EXAMPLE_PHASES;
    memset(example->phases[2].name, 'n', sizeof(example->phases[2].name) - 1);
    write_text(example, true, &out);
    assert_holds(&out,
                 "  nnnnnnnnnnnnnnnnnnnnnnnnnnn...          n/a          n/a          n/a\n");
    assert_holds(&out, "\n  and 2 more\n\ntags ");
    buffer_done(&out);
}

TEST_WITH(exact_figures_have_no_remark, set_up, tear_down)
{
    struct example *example = *state;
    struct buffer out = { 0 };

    for (int i = 0; i < METRIC_COUNT; i++)
        example->origins[i].is_exact = true;
    example_label(example);
    write_text(example, true, &out);
    assert_null(strstr(out.text, "not exact"));
    assert_null(strstr(out.text, "unknown"));
    buffer_done(&out);
}

/* ---- text system ----------------------------------------------------------- */

static const struct format_style plain = { false, true, TEXT_COLUMNS, true };

static int system_set_up(void **state)
{
    struct example *example = example_new();

    example_system(example);
    *state = example;
    return 0;
}

static int system_tear_down(void **state)
{
    example_free(*state);
    return 0;
}

static const char system_whole_report[] =
    "node7\n"
    "measured for 5.00 s from 2026-03-14 09:26:53 UTC\n"
    "\n"
    "CPU                 1.50  cores busy of 8: user 1.00, system 0.50\n"
    "  iowait            0.10  cores idle with I/O outstanding; 0.00 stolen\n"
    "Memory           3.00 GB  used of 33.6 GB, 30.6 GB available\n"
    "  cached         2.00 GB  including 100 MB of buffers; 28.6 GB free\n"
    "  swap           10.0 MB  used of 1.00 GB\n"
    "Disk I/O       1.00 MB/s  read, 10.0 MB/s written\n"
    "  sda          1.00 MB/s  read, 10.0 MB/s written; 100 GB, ssd, EVO \\x1b[2J\n"
    "  sdb                n/a  read, n/a written\n"
    "Disk space       40.0 GB  used of 90.0 GB (45 %), 50.0 GB free\n"
    "  vg-data        40.0 GB  used of 90.0 GB (45 %), 50.0 GB free; on /data \"1\",\n"
    "                          xfs\n"
    "Network              n/a  received, n/a sent\n"
    "  eth0               n/a  received, 1.00 kB/s sent; up, 10000 Mb/s, ice\n"
    "Pressure            20 %  of the time some process waited for a CPU; 0.0 % for\n"
    "                          memory, 1.0 % for I/O\n"
    "Processes            321\n"
    "Host              8 CPUs  33.6 GB, AMD EPYC 7763 64-Core Processor, Linux 6.12.1\n"
    "\n"
    "tags         team=blue note=a=b\n"
    "tracker      12.0 ms of CPU (0.2 % of a core), 3.20 MB of RAM, 6 samples\n"
    "unknown      network: no network interface\n";

TEST_WITH(the_machine_is_shown_without_job_lines, system_set_up, system_tear_down)
{
    struct buffer out = { 0 };

    example_write(*state, SPOOR_TEXT, &plain, &out);
    assert_string_equal(out.text, system_whole_report);
    buffer_done(&out);
}

TEST_WITH(a_system_report_without_values_is_harmless, system_set_up, system_tear_down)
{
    struct example *example = *state;
    const struct devices none = { 0 };
    struct buffer out = { 0 };

    example_forget(example);
    example->input.latest = NULL;
    example->input.first_devices = example->input.devices = &none;
    example_write(example, SPOOR_TEXT, &plain, &out);
    assert_non_null(strstr(out.text, "CPU                  n/a  cores busy: user n/a"));
    buffer_done(&out);
}

TEST_WITH(json_lists_the_devices, system_set_up, system_tear_down)
{
    struct buffer out = { 0 };

    example_write(*state, SPOOR_JSON, NULL, &out);
    assert_true(json_is_valid(out.text));
    assert_non_null(strstr(out.text, "\"pid\": null"));
    assert_non_null(strstr(out.text, "{\"name\": \"sdb\", \"type\": null, \"model\": null, "
                                     "\"vendor\": null, \"serial\": null, "
                                     "\"capacity_bytes\": null, "
                                     "\"read_bytes_per_second\": null, "
                                     "\"written_bytes_per_second\": null}"));
    assert_non_null(strstr(out.text, "\"point\": \"/data \\\"1\\\"\""));
    buffer_done(&out);
}

/* ---- process list ---------------------------------------------------------- */

static struct record_process processes[] = {
    { .pid = 812,
      .name = "cc1",
      .command = "/usr/libexec/cc1 -quiet a/b.c",
      .started_seconds = 0.5,
      .ended_seconds = 2.25,
      .cpu_seconds = 1.7,
      .peak_rss_bytes = 183500000 },
    { .pid = 1234567,
      .name = "train\x1b[2J",
      .started_seconds = 1,
      .ended_seconds = (double)NAN,
      .cpu_seconds = 4000,
      .peak_rss_bytes = UNKNOWN },
    { .pid = 9, .ended_seconds = 1, .cpu_seconds = (double)NAN, .peak_rss_bytes = 1 },
};
static struct record_process_sum others[] = { { "sh", 1203, 2.1, 3500000 },
                                              { NULL, UNKNOWN, 0.1, UNKNOWN } };

static void check(size_t shown, const char *expected)
{
    const struct record record = {
        .elapsed_seconds = 5000,
        .processes = processes,
        .process_count = 3,
        .other_processes = others,
        .other_process_count = 2,
        .shown_processes = shown,
    };
    struct buffer out = { 0 };
    struct page page = { .out = &out, .columns = 80 };

    process_list_write(&record, &page);
    assert_string_equal(out.text ? out.text : "", expected);
    buffer_done(&out);
}

TEST(processes_are_sorted_by_cpu_time)
{
    check(2, "\n"
             "Processes   PID    CPU time  peak memory        time  command\n"
             "        1234567  1 h 07 min          n/a  1 h 23 min  train\\x1b[2J\n"
             "            812      1.70 s       184 MB      1.75 s  cc1 -quiet a/b.c\n"
             "  and 1204 more\n");
}

TEST(an_unknown_value_is_not_0)
{
    others[0].count = 0;
    check(200, "\n"
               "Processes   PID    CPU time  peak memory        time  command\n"
               "        1234567  1 h 07 min          n/a  1 h 23 min  train\\x1b[2J\n"
               "            812      1.70 s       184 MB      1.75 s  cc1 -quiet a/b.c\n"
               "              9         n/a          1 B      1.00 s  n/a\n");
}

TEST(command_is_escaped_once)
{
    processes[2].command = "$'./e\\x1b' a\x1b";
    check(200, "\n"
               "Processes   PID    CPU time  peak memory        time  command\n"
               "        1234567  1 h 07 min          n/a  1 h 23 min  train\\x1b[2J\n"
               "            812      1.70 s       184 MB      1.75 s  cc1 -quiet a/b.c\n"
               "              9         n/a          1 B      1.00 s  $'./e\\x1b' a\\x1b\n");
}

TEST(processes_are_not_listed_without_the_option)
{
    check(0, "");
}
