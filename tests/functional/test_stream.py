# SPDX-License-Identifier: Apache-2.0
"""--samples, and its old name --stream: rows written as samples are taken, in spoor's columns or
a predecessor's, to a file, or to a pipe whose reader may stall or exit."""
import csv
import fcntl
import io
import json
import os
import re
import resource
import signal
import struct
import subprocess
import sys

import pytest

from conftest import DEADLINE_SECONDS, eventually, load, read_line, value, wait_for_samples, warnings_of
from test_stalled import children, comm_of, state_of

PROCESS = ("timestamp pid children utime stime cpu_usage memory_mib disk_read_bytes disk_write_bytes "
           "gpu_usage gpu_vram_mib gpu_utilized").split()
OLD_PROCESS = ("timestamp pid children utime stime cpu_usage {} read_bytes write_bytes gpu_usage "
               "gpu_vram gpu_utilized")
SYSTEM = ("timestamp processes utime stime cpu_usage memory_free_mib memory_used_mib "
          "memory_buffers_mib memory_cached_mib memory_active_mib memory_inactive_mib disk_read_bytes "
          "disk_write_bytes disk_space_total_gb disk_space_used_gb disk_space_free_gb net_recv_bytes "
          "net_sent_bytes gpu_usage gpu_vram_mib gpu_utilized").split()
OLD_SYSTEM = ("timestamp processes utime stime cpu_usage memory_free memory_used memory_buffers "
              "memory_cached memory_active{0} memory_inactive{0} disk_read_bytes disk_write_bytes "
              "disk_space_total_gb disk_space_used_gb disk_space_free_gb net_recv_bytes "
              "net_sent_bytes gpu_usage gpu_vram gpu_utilized")
COMBINED = (["timestamp"] + [f"system_{name}" for name in SYSTEM[1:]] +
            [f"process_{name}" for name in PROCESS[1:]])


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text, newline="")))


def as_python_writes_them(text, line_end):
    """Returns the rows after Python has read and written them."""
    def parse(cell):
        return cell[1:-1] if cell[0] == '"' else int(cell) if cell.isdecimal() else float(cell)
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_NONNUMERIC, lineterminator=line_end)
    writer.writerows(map(parse, line.split(",")) for line in text.split(line_end)[:-1])
    return out.getvalue()


@pytest.mark.parametrize("dialect, names, line_end", [
    ("resource-tracker", PROCESS, "\n"),
    ("resource-tracker:system", SYSTEM, "\n"),
    ("resource-tracker:combined", COMBINED, "\n"),
    ("resource-tracker-0.3", OLD_PROCESS.format("memory").split(), "\n"),
    ("resource-tracker-0.1", OLD_PROCESS.format("pss").split(), "\r\n"),
    ("resource-tracker-0.3:system", OLD_SYSTEM.format("").split(), "\n"),
    ("resource-tracker-0.1:system", OLD_SYSTEM.format("_anon").split(), "\r\n"),
], ids=lambda each: each if isinstance(each, str) and "re" in each else "")
def test_rows_are_quoted_and_terminated_as_by_the_python_package(spoor, dialect, names, line_end):
    path = spoor.new_path("rows.csv")
    done = spoor("run", "-q", "-i", "0.05", "--stream", path, "--dialect", dialect, "--",
                 "sleep", "0.2")
    assert (done.returncode, done.stderr) == (0, "")
    text = path.read_bytes().decode()
    assert text.split(line_end)[0] == ",".join(f'"{name}"' for name in names)
    assert text == as_python_writes_them(text, line_end)
    rows = list(csv.reader(io.StringIO(text, newline=""), quoting=csv.QUOTE_NONNUMERIC))
    assert rows[0] == names and len(rows) >= 2
    times = [row[0] for row in rows[1:]]
    assert times == sorted(times) and all(isinstance(time, float) for time in times)
    for row in rows[1:]:
        assert all(isinstance(cell, float) or cell == "" for cell in row)


def test_rows_in_the_dialect_of_the_rust_program_are_not_quoted(spoor):
    path = spoor.new_path("rows.csv")
    spoor("run", "-q", "-i", "0.05", "--stream", path, "--dialect", "resource-tracker-rs", "--",
          "sleep", "0.2")
    header, *rows = path.read_text().splitlines()
    assert header.split(",") == COMBINED
    assert rows
    for row in rows:
        row = dict(zip(COMBINED, row.split(",")))
        assert row["timestamp"].isdecimal() and row["process_memory_mib"].isdecimal()
        assert len(row["system_utime"].partition(".")[2]) == 3
        assert len(row["process_utime"].partition(".")[2]) == 4
        assert len(row["system_cpu_usage"].partition(".")[2]) == 4  # also in the row of a short interval


@pytest.mark.parametrize("options", [[], ["--cgroup", "off"]], ids=["auto", "no-cgroup"])
def test_rows_add_up_to_the_usage_of_the_children(spoor, workload, options):
    """Children that start and exit between samples are counted in exactly one row."""
    path, report = spoor.new_path("rows.csv"), spoor.new_path("r.json")
    burn = workload("burn")
    done = spoor("run", "-q", "-i", "0.1", "-o", report, "--stream", path, "--dialect",
                 "resource-tracker", *options, "--", "sh", "-c",
                 f"for i in 1 2 3 4 5 6; do {burn} 0.15; done")
    assert done.returncode == 0, done.stderr
    rows = rows_of(path.read_text())
    total = sum(float(row["utime"]) + float(row["stime"]) for row in rows)
    assert total == pytest.approx(value(load(report), "cpu.total_seconds"), abs=0.002)
    assert total >= 6 * 0.15
    ticks = spoor.new_path("ticks.csv")
    spoor("run", "-q", "-i", "0.1", "-o", report, "--stream", ticks, "--dialect",
          "resource-tracker-0.1", *options, "--", burn, "0.3")
    rows = rows_of(ticks.read_bytes().decode())
    total = sum(int(row["utime"]) + int(row["stime"]) for row in rows)
    assert total == pytest.approx(100 * value(load(report), "cpu.total_seconds"), abs=2)


def test_a_job_shorter_than_an_interval_has_a_row(spoor, workload):
    path = spoor.new_path("rows.csv")
    spoor("run", "-q", "-i", "60", "--stream", path, "--dialect", "resource-tracker", "--",
          workload("burn"), "0.1")
    rows = rows_of(path.read_text())
    assert len(rows) == 1
    assert float(rows[0]["utime"]) + float(rows[0]["stime"]) >= 0.1
    assert float(rows[0]["memory_mib"]) > 0


def test_rows_are_written_while_the_job_runs(spoor, held):
    process = spoor.start("attach", "-q", "-i", "0.01", "--stream", "--dialect", "resource-tracker",
                          str(held.pid))
    assert read_line(process.stdout).startswith('"timestamp","pid"')
    row = dict(zip(PROCESS, read_line(process.stdout).split(",")))
    assert int(row["pid"]) == held.pid and row["children"] == '""'
    assert float(row["memory_mib"]) > 50
    process.send_signal(signal.SIGINT)
    rest = process.stdout.read().decode()
    assert process.wait(DEADLINE_SECONDS) == 0
    assert all(line.count(",") == len(PROCESS) - 1 for line in rest.splitlines())


def test_rows_go_to_stdout_and_the_summary_to_stderr(spoor):
    done = spoor("run", "-i", "0.05", "--stream", "-", "--", "sleep", "0.1")
    assert rows_of(done.stdout)[0]["elapsed_seconds"] == "0"
    assert "CPU time" in done.stderr and "Elapsed" not in done.stdout


def test_rows_can_be_written_as_json(spoor):
    done = spoor("run", "-q", "-i", "0.05", "--stream=-", "--stream-format=jsonl", "--dialect",
                 "resource-tracker:combined", "--", "sleep", "0.1")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert all(list(row) == COMBINED for row in rows) and rows
    assert isinstance(rows[0]["process_pid"], int) and rows[0]["process_children"] is None


def test_rows_can_be_written_as_binary_doubles(spoor):
    path, text = spoor.new_path("rows.f64"), spoor.new_path("rows.csv")
    spoor("run", "-q", "-i", "0.05", "--stream", path, "--dialect", "resource-tracker", "--samples",
          text, "--", "sleep", "0.1")
    data = path.read_bytes()
    assert len(data) > 0 and len(data) % (8 * len(PROCESS)) == 0
    first = struct.unpack_from(f"<{len(PROCESS)}d", data)
    assert first[0] == pytest.approx(float(rows_of(text.read_text())[0]["timestamp"]), abs=10)
    assert first[2] != first[2], "no children: NaN"


def test_each_samples_option_adds_a_stream(spoor):
    """The suffix selects the format; --samples-format applies to names without a known suffix."""
    csv_path, json_path = spoor.new_path("rows.csv"), spoor.new_path("rows.jsonl")
    done = spoor("run", "-q", "-i", "60", "--samples", csv_path, "--samples", json_path, "--samples", "-",
                 "--samples-format", "jsonl", "--", "true")
    assert done.returncode == 0, done.stderr
    times = [row["timestamp"] for row in rows_of(csv_path.read_text())]
    assert times and [json.loads(line)["timestamp"] for line in json_path.read_text().splitlines()] == \
        list(map(float, times))
    assert json_path.read_text() == done.stdout


def test_samples_have_the_columns_of_a_dialect(spoor):
    path = spoor.new_path("rows.csv")
    spoor("run", "-q", "-i", "60", "--samples", path, "--dialect", "resource-tracker", "--", "true")
    assert list(rows_of(path.read_text())[0]) == PROCESS
    done = spoor("system", "-i", "0.02", "--duration", "0.05", "--samples", "-")
    assert rows_of(done.stdout)


def test_the_old_name_of_samples_is_an_alias(spoor, tmp_path):
    """An option takes precedence over the variable and the config file, under either name."""
    config = tmp_path / "c.json"
    config.write_text('{"stream": "config.csv", "stream-format": "csv"}')
    environment = {**os.environ, "SPOOR_STREAM": "a,variable.csv"}
    for arguments, names in ((["--samples", "option.csv"], ["option.csv"]), ([], ["a,variable.csv"]),
                             (["--samples", "1.csv", "--stream", "2.csv"], ["1.csv", "2.csv"])):
        assert spoor("run", "-q", "--config", config, *arguments, "--", "true", cwd=tmp_path,
                     env=environment).returncode == 0
        found = sorted(path.name for path in tmp_path.glob("*.csv"))
        assert found == names
        for name in found:
            (tmp_path / name).unlink()
    assert "--stream" not in spoor("run", "--help").stdout


def test_a_second_run_is_appended_without_a_header(spoor):
    path = spoor.new_path("rows.csv")
    arguments = ["run", "-q", "-i", "60", "--append", "--stream", path, "--dialect",
                 "resource-tracker"]
    for _ in range(2):
        assert spoor(*arguments, "--", "true").returncode == 0
    assert len(rows_of(path.read_text())) == 2
    done = spoor(*arguments[:-1], "resource-tracker-0.3", "--", "true")
    assert done.returncode == 125 and "has other columns" in done.stderr


def test_reader_of_a_named_pipe_may_start_later(spoor):
    path = spoor.new_path("pipe")
    os.mkfifo(path)
    process = spoor.start("run", "-q", "-i", "0.02", "--stream", path, "--", "cat")
    with open(path, encoding="utf-8") as reader:
        assert reader.readline().startswith("timestamp,elapsed_seconds,")
        assert reader.readline().count(",") > 50
        process.stdin.close()
        rest = reader.read()
    assert process.wait(DEADLINE_SECONDS) == 0
    assert rest.endswith("\n")


def test_named_pipe_without_a_reader_does_not_block_the_job(spoor):
    path, report = spoor.new_path("pipe"), spoor.new_path("r.json")
    os.mkfifo(path)
    done = spoor("run", "-q", "-o", report, "--stream", path, "--", "sh", "-c", "exit 4")
    assert done.returncode == 4
    assert warnings_of(load(report))["samples-lost"].endswith(f"to {path}: it does not respond")


@pytest.mark.threads
def test_a_stalled_reader_delays_nothing_and_lost_rows_are_counted(spoor):
    """While the pipe is not read, spoor takes samples, forwards signals, and detects the job's
    exit."""
    reader, writer = os.pipe()
    room = fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 4096)
    report, copy = spoor.new_path("r.json"), spoor.new_path("copy.csv")
    process = spoor.start("run", "-o", report, "-i", "0.002", "--stream", "-", "--samples", copy,
                          "--", "sh", "-c", "trap 'echo caught >&2' USR1; echo ready >&2; read line; "
                          "while ! read line; do :; done; exit 3", stdout=writer)
    os.close(writer)
    assert read_line(process.stderr) == "ready"
    eventually(lambda: copy.exists() and copy.stat().st_size > 2 * room, "more than a pipe holds")
    process.send_signal(signal.SIGUSR1)
    assert read_line(process.stderr) == "caught"
    process.stdin.write(b"end\nend\n")
    process.stdin.close()
    assert process.wait(DEADLINE_SECONDS) == 3
    with open(reader, encoding="utf-8", newline="") as file:
        text = file.read()  # end of file: no process has the pipe open any more
    assert text.endswith("\n")
    result = load(report)
    lost = len(rows_of(copy.read_text())) - len(rows_of(text))
    assert lost > 0
    assert warnings_of(result)["samples-lost"] == \
        f"could not write {lost} rows to standard output: it does not respond"
    assert f"could not write {lost} rows" in process.stderr.read().decode()


def test_closed_reader_ends_the_stream_but_not_the_job(spoor):
    report = spoor.new_path("r.json")
    process = spoor.start("run", "-o", report, "-i", "0.01", "--stream", "-", "--dialect",
                          "resource-tracker", "--", "cat")
    read_line(process.stdout)
    process.stdout.close()
    wait_for_samples(process.pid)
    process.stdin.close()
    assert process.wait(DEADLINE_SECONDS) == 0
    result = load(report)
    assert result["run"]["exit_code"] == 0 and "samples-lost" not in warnings_of(result)


def writer_of(process):
    """Returns the PID of the process that writes the rows."""
    pid, = (pid for pid in children(process.pid) if comm_of(pid) == "spoor-agent")
    return int(pid)


def test_rows_are_lost_if_their_writer_is_killed(spoor):
    report = spoor.new_path("r.json")
    process = spoor.start("run", "-o", report, "-i", "0.01", "--stream", "-", "--", "cat")
    read_line(process.stdout)
    os.kill(writer_of(process), signal.SIGKILL)
    wait_for_samples(process.pid)
    process.stdin.close()
    assert process.wait(DEADLINE_SECONDS) == 0
    assert re.fullmatch(r"could not write [0-9]+ rows to standard output: "
                        "its writer process was killed", warnings_of(load(report))["samples-lost"])


def test_attach_ends_when_the_reader_of_its_only_output_closes(spoor, held):
    process = spoor.start("attach", "-i", "0.01", "--stream", str(held.pid))
    read_line(process.stdout)
    process.stdout.close()
    assert process.wait(DEADLINE_SECONDS) == 0
    assert "Memory" in process.stderr.read().decode()
    assert held.poll() is None


def test_attach_continues_after_the_reader_closes_if_a_report_is_requested(spoor, held):
    report = spoor.new_path("r.json")
    process = spoor.start("attach", "-q", "-i", "0.01", "-o", report, "--stream", str(held.pid))
    read_line(process.stdout)
    process.stdout.close()
    wait_for_samples(process.pid)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    assert process.wait(DEADLINE_SECONDS) == 0
    assert load(report)["run"]["samples"] > 1


def test_rows_of_the_machine_end_when_the_reader_closes(spoor):
    """Rows are written until the reader closes the pipe."""
    process = spoor.start("system", "-q", "-i", "0.02", "--stream", "--dialect", "resource-tracker")
    assert read_line(process.stdout) == ",".join(f'"{name}"' for name in SYSTEM)
    row = dict(zip(SYSTEM, read_line(process.stdout).split(",")))
    assert int(row["processes"]) >= 2 and float(row["memory_used_mib"]) > 1
    total, used, free = (row[f"disk_space_{part}_gb"].strip('"') for part in ("total", "used", "free"))
    # Empty if no file system is on a disk, or if the helper took longer than the first row.
    assert total == used == free == "" or float(total) == pytest.approx(float(used) + float(free), abs=0.02)
    process.stdout.close()
    assert process.wait(DEADLINE_SECONDS) == 0
    assert process.stderr.read() == b""


@pytest.mark.parametrize("dialect, column", [
    ("spoor", "host_cpu_seconds"), ("resource-tracker-0.3", "processes"), ("resource-tracker-0.1", "processes"),
    ("resource-tracker-rs", "system_processes"), ("resource-tracker:process", "pid")])
def test_rows_of_the_machine_end_after_the_duration(spoor, dialect, column):
    done = spoor("system", "-i", "0.02", "--duration", "0.1", "--stream", "--dialect", dialect)
    assert done.returncode == 0 and "CPU" in done.stderr
    rows = rows_of(done.stdout)
    assert len(rows) >= 1 and float(rows[0]["timestamp"]) > 1e9
    assert rows[0][column] == "" if column == "pid" else float(rows[0][column]) > 1


@pytest.mark.parametrize("arguments, message", [
    (["--dialect", "resource-tracker"], "--dialect requires --samples"),
    (["--stream-format", "csv"], "--samples-format requires --samples"),
    (["--stream", "-", "--dialect", "psrecord"], "--dialect: unknown dialect 'psrecord': expected spoor, "
     "resource-tracker, resource-tracker-0.3, resource-tracker-0.1 or resource-tracker-rs"),
    (["--stream", "-", "--stream-format", "xml"], "--stream-format: unknown format 'xml'"),
    (["--stream", "-", "--stream-format", "f64"], "--stream-format: unknown format 'f64'"),
    (["--stream", "rows.txt"], "--samples 'rows.txt': the name must end in .csv or .jsonl"),
    (["--stream", "rows.f64"], "--samples 'rows.f64': the name must end in .csv or .jsonl"),
    (["--stream", "-", "-o", "-"], "--output and --samples name the same file"),
    (["--stream", "x.csv", "--samples", "x.csv"], "--samples: 'x.csv' and 'x.csv' are the same file"),
    (["--stream", "/dev/fd/77"], "--samples '/dev/fd/77': file descriptor 77 is not open"),
    (["--stream", "x.f64", "--dialect", "resource-tracker", "--append"],
     "--samples 'x.f64': cannot be appended to"),
    (["--stream", "missing/x.csv"], "directory 'missing' does not exist"),
], ids=lambda each: each[-1] if isinstance(each, list) else "")
def test_unsupported_streams_are_refused_before_the_job_starts(spoor, tmp_path, arguments,
                                                                  message):
    done = spoor("run", *arguments, "--", "touch", "started", cwd=tmp_path)
    assert done.returncode == 125 and message in done.stderr
    assert not (tmp_path / "started").exists()


def test_a_closed_stdout_is_refused(spoor):
    done = subprocess.run(["sh", "-c", '"$0" attach --stream $$ >&-', spoor.binary],
                          stderr=subprocess.PIPE, text=True, check=False, timeout=DEADLINE_SECONDS)
    assert done.returncode == 125
    assert "--samples '-': file descriptor 1 is not open" in done.stderr


def test_rows_are_appended_to_stdout_that_is_a_file(spoor, tmp_path):
    path = tmp_path / "out"
    path.write_text("before\n")
    with open(path, "ab") as file:
        spoor("run", "-q", "-i", "60", "--stream", "-", "--dialect", "resource-tracker", "--",
              "echo", "job", stdout=file)
    lines = path.read_text().splitlines()
    assert lines[0] == "before" and sorted(line[:5] for line in lines[1:])[0] == '"time'
    assert "job" in lines and len(lines) == 4


def test_stdout_on_a_full_disk_contains_only_complete_rows(spoor, tmp_path):
    """The disk becomes full after 10 more bytes, in the middle of a row."""
    path, report = tmp_path / "out", spoor.new_path("r.json")
    with open(path, "wb") as file:
        process = spoor.start("run", "-q", "-o", report, "-i", "0.01", "--stream", "-", "--dialect",
                              "resource-tracker", "--", "cat", stdout=file)
    eventually(lambda: path.stat().st_size > 1000, "some rows")
    writer = writer_of(process)
    os.kill(writer, signal.SIGSTOP)
    eventually(lambda: state_of(writer) == "T", "the writer has stopped")
    resource.prlimit(writer, resource.RLIMIT_FSIZE, (path.stat().st_size + 10,) * 2)
    os.kill(writer, signal.SIGCONT)
    wait_for_samples(process.pid)
    process.stdin.close()
    assert process.wait(DEADLINE_SECONDS) == 0
    text = path.read_text()
    assert text.endswith("\n")
    assert {len(row) for row in csv.reader(io.StringIO(text, newline=""))} == {len(PROCESS)}
    assert warnings_of(load(report))["samples-lost"].endswith(" to standard output: File too large")


def test_rows_include_python_threads_and_their_children(spoor, workload):
    """The predecessor did not count a child started by a thread other than the first."""
    path = spoor.new_path("rows.csv")
    script = ("import subprocess, threading\n"
              "thread = threading.Thread(target=subprocess.run, args=(['sh', '-c', '%s 0.2 >&2; exec cat'],))\n"
              "thread.start()\nthread.join()\n" % workload("burn"))
    process = spoor.start("run", "-q", "-i", "0.05", "--stream", path, "--dialect", "resource-tracker", "--",
                          sys.executable, "-c", script)
    eventually(lambda: path.exists() and "1" in {row["children"] for row in rows_of(path.read_text())}, "the child")
    process.stdin.close()
    assert process.wait(DEADLINE_SECONDS) == 0
    rows = rows_of(path.read_text())
    assert sum(float(row["utime"]) + float(row["stime"]) for row in rows) >= 0.2
