# SPDX-License-Identifier: Apache-2.0
"""gpu-tracker around real commands: correct numbers, in its predecessor's format."""
import csv
import json
import os
import re
import shlex
import signal
import sqlite3
import time

import pytest

from conftest import continue_after_the_end, cpu_time, eventually, read_line
from gpu_tracker_report import NO_GPU, STATUS, parse_text, paths, result, split_output

MEGABYTES = ["--ru=megabytes", "--tu=seconds"]


def rows_of(path):
    """Reads the complete rows of a tracking file that may still be written to, as dicts of
    numbers."""
    if path.suffix == ".sqlite":
        with sqlite3.connect(path) as connection:
            connection.row_factory = sqlite3.Row
            return [dict(row) for row in connection.execute("SELECT * FROM data")]
    with open(path, newline="", encoding="utf-8") as file:
        lines = file.read().split("\r\n")[:-1]
    return [{key: float(value) for key, value in row.items()}
            for row in csv.DictReader(lines[2:])]


# ---- shape ------------------------------------------------------------------

def test_text_has_every_label_in_order(gpu_tracker):
    done = gpu_tracker("-e", "sleep 0.2")
    status, report = split_output(done.stdout)
    assert (done.returncode, status) == (0, 0)
    assert report.endswith("\n") and not report.endswith("\n\n")
    found = parse_text(report[:-1])
    assert list(found) == list(paths(column=1))
    assert found["Max RAM", "Unit"] == found["Max GPU RAM", "Unit"] == "gigabytes"
    assert found["Compute time", "Unit"] == "hours"


def test_text_and_json_agree(gpu_tracker, tmp_path):
    """The two formats come from two runs, so only stable values are compared."""
    report = result(gpu_tracker, "true")
    text = parse_text(split_output(gpu_tracker("-e", "true").stdout)[1][:-1])
    cores = os.cpu_count()
    assert report["cpu_utilization"]["system_core_count"] == cores
    assert report["cpu_utilization"]["n_expected_cores"] == cores
    assert text["CPU utilization", "System core count"] == str(cores)
    with open("/proc/meminfo", encoding="utf-8") as file:
        total = int(next(line for line in file if line.startswith("MemTotal:")).split()[1]) * 1024
    assert report["max_ram"]["system_capacity"] == total * 1e-9
    assert text["Max RAM", "System capacity"] == repr(float(f"{total * 1e-9:.3f}"))


def test_without_a_gpu_all_gpu_figures_are_0(gpu_tracker):
    report = result(gpu_tracker, "true")
    assert report["max_gpu_ram"] == {"unit": "gigabytes", "system_capacity": 0.0, "system": 0.0,
                                     "main": 0.0, "descendants": 0.0, "combined": 0.0}
    utilization = report["gpu_utilization"]
    assert utilization["system_gpu_count"] == utilization["n_expected_gpus"] == 0
    assert set(utilization["gpu_percentages"].values()) == {0.0}


def test_very_short_command_has_nonzero_figures(gpu_tracker):
    """The command exits before a sample is due. The kernel reports its peak only if that is
    larger than the tracker's, which is 7 MB with sanitizers. So the command writes 16 MB: the
    size of an idle interpreter depends on the page cache."""
    started = time.monotonic()
    report = result(gpu_tracker, "/usr/bin/python3 -c len(bytes([1])*(16<<20))", *MEGABYTES)
    assert 0 < report["compute_time"]["time"] < time.monotonic() - started
    assert report["max_ram"]["main"]["total_rss"] > 16.7
    assert report["max_ram"]["combined"]["total_rss"] > 16.7
    assert report["cpu_utilization"]["main"]["mean_sum_percent"] > 0
    assert report["cpu_utilization"]["main_n_threads"] == 1


def test_unmeasured_figures_cause_one_warning(gpu_tracker):
    """A command may exit before its memory could be read. The warning uses the names in the
    report, and lists all unmeasured figures."""
    warning = (r"WARNING:root:(System RAM|(Total|Private|Shared) RSS|Number of threads|"
               r"CPU utilization|, | and )+ could not be measured and (is|are) shown as 0\.0: "
               r"[^\n]+\.\n")
    for _ in range(20):
        stderr = gpu_tracker("-e", "true").stderr
        assert re.fullmatch(f"{NO_GPU}({warning})?({warning})?", stderr), stderr


# ---- numbers ----------------------------------------------------------------

def test_mean_cpu_usage_is_cpu_time_divided_by_wall_time(gpu_tracker, workload, tmp_path):
    """The job computes half of the time and prints its own CPU time."""
    path = tmp_path / "said"
    report = result(gpu_tracker, f"sh -c '{workload('duty')} 1.5 >{path}'", "--st=0.1",
                    "--nec=1", "--tu=seconds")
    cpu, wall = float(path.read_text().split()[0]), report["compute_time"]["time"]
    percent = report["cpu_utilization"]["combined"]["mean_sum_percent"]
    assert percent / 100 * wall == cpu_time(cpu)
    assert report["cpu_utilization"]["combined"]["mean_hardware_percent"] == percent
    # The machine's time is counted in whole ticks, charged to the process running at the tick, and
    # may miss some.
    assert report["cpu_utilization"]["system"]["mean_sum_percent"] >= 0.9 * percent


def test_mean_cpu_usage_does_not_depend_on_the_sleep_time(gpu_tracker, workload, tmp_path):
    path = tmp_path / "said"
    for sleep_time in ("0.1", "1", "15"):
        report = result(gpu_tracker, f"sh -c 'exec {workload('duty')} 0.8 >{path}'",
                        f"--st={sleep_time}", "--tu=seconds")
        cpu, wall = float(path.read_text().split()[0]), report["compute_time"]["time"]
        main = report["cpu_utilization"]["main"]
        assert main["mean_sum_percent"] / 100 * wall == cpu_time(cpu)
        assert main["max_sum_percent"] >= main["mean_sum_percent"]
        assert main["mean_hardware_percent"] == main["mean_sum_percent"] / os.cpu_count()


def test_cpu_time_of_short_lived_children_is_counted(gpu_tracker, workload, tmp_path):
    path = tmp_path / "said"
    report = result(gpu_tracker, f"sh -c 'exec {workload('burn')} 1 50 >{path}'", "--tu=seconds")
    seconds = report["cpu_utilization"]["descendants"]["mean_sum_percent"] / 100 \
        * report["compute_time"]["time"]
    assert seconds == cpu_time(float(path.read_text()))


def test_command_time_excludes_the_time_the_tracker_was_stopped(spoor, gpu_tracker, workload, tmp_path):
    """The command exits while its tracker is stopped."""
    started = spoor.result("true")[1]["processes"]["started"]
    if started["source"] not in ("proc-connector", "perf.fork-ring"):
        pytest.skip("no source of process events")
    path = tmp_path / "report.json"
    started = time.monotonic()
    tracker = gpu_tracker.start("--tu=seconds", "-f", "json", f"--output={path}", "-e",
                                f"sh -c 'kill -STOP $PPID; echo stopped; exec {workload('burn')} 0.5'")
    assert read_line(tracker.stdout) == "stopped"
    ended = continue_after_the_end(tracker, 1)
    assert json.loads(path.read_text())["compute_time"]["time"] < ended - started + 0.2


@pytest.mark.parametrize("sleep_time", ["0.1", "1", "60"])
def test_compute_time_is_the_wall_time_of_the_command(gpu_tracker, tmp_path, sleep_time):
    """The time is more than the command's own clock shows, and less than the duration of
    gpu-tracker."""
    path = tmp_path / "said"
    script = f"date +%s.%N >{path}; sleep 1; date +%s.%N >>{path}"
    started = time.monotonic()
    report = result(gpu_tracker, f"sh -c '{script}'", f"--st={sleep_time}", "--tu=seconds")
    seen = time.monotonic() - started
    start, end = map(float, path.read_text().split())
    assert end - start - 0.002 <= report["compute_time"]["time"] <= seen


def test_long_sleep_time_does_not_delay_the_end(gpu_tracker):
    started = time.monotonic()
    result(gpu_tracker, "true", "--st=60")
    assert time.monotonic() - started < 30


def test_memory_held_by_the_command_is_reported(gpu_tracker, workload):
    """Tracks a job of 300 MiB until a few more rows have been written."""
    path = gpu_tracker.folder / "rows.csv"
    process = gpu_tracker.start("-e", workload("hold") + " 300", "-f", "json", "--st=0.1",
                                *MEGABYTES, f"--tf={path}")
    pid = int(read_line(process.stdout))  # from here on, all memory is held
    before = len(rows_of(path))
    eventually(lambda: len(rows_of(path)) > before + 5, "rows")
    assert os.path.exists(f"/proc/{pid}")
    held = 300 * 1048576e-6
    ram = ended(process)["max_ram"]
    assert held <= ram["main"]["total_rss"] < held + 10
    # The kernel counts resident pages in batches for each CPU, so up to 0.25 MB may be missing.
    assert held - 0.25 <= ram["main"]["private_rss"] < held + 10
    assert ram["combined"]["total_rss"] == pytest.approx(ram["main"]["total_rss"], abs=1)
    assert ram["descendants"] == {"total_rss": 0.0, "private_rss": 0.0, "shared_rss": 0.0}
    assert held <= max(row["main_ram"] for row in rows_of(path)) < held + 10


def test_units_are_powers_of_ten(gpu_tracker, workload):
    script = f"sh -c '{workload('hold')} 100 </dev/null >/dev/null'"
    reports = {unit: result(gpu_tracker, script, f"--ru={unit}")["max_ram"]
               for unit in ("bytes", "kilobytes", "megabytes", "gigabytes", "terabytes")}
    for unit, power in (("kilobytes", 3), ("megabytes", 6), ("gigabytes", 9), ("terabytes", 12)):
        assert reports[unit]["unit"] == unit
        assert reports[unit]["system_capacity"] == pytest.approx(
            reports["bytes"]["system_capacity"] / 10 ** power)
        assert reports[unit]["descendants"]["total_rss"] == pytest.approx(
            reports["bytes"]["descendants"]["total_rss"] / 10 ** power, rel=0.05)
    assert reports["bytes"]["descendants"]["total_rss"] >= 100 << 20


@pytest.mark.parametrize("unit, seconds", [("seconds", 1), ("minutes", 60), ("hours", 3600),
                                           ("days", 86400)])
def test_compute_time_is_in_the_selected_unit(gpu_tracker, unit, seconds):
    started = time.monotonic()
    compute_time = result(gpu_tracker, "sleep 0.2", f"--tu={unit}")["compute_time"]
    assert compute_time["unit"] == unit
    assert 0.2 <= compute_time["time"] * seconds < time.monotonic() - started


def test_threads_and_cores_are_counted(gpu_tracker, workload):
    path = gpu_tracker.folder / "rows.csv"
    process = gpu_tracker.start("-e", workload("forks") + " 2", "-f", "json", "--st=0.1", "--nec=3",
                                f"--tf={path}")
    assert read_line(process.stdout) == "ready"
    before = len(rows_of(path))
    eventually(lambda: len(rows_of(path)) > before + 1, "a row of both children")
    cpu = ended(process)["cpu_utilization"]
    assert cpu["n_expected_cores"] == 3
    assert cpu["main_n_threads"] == 1
    assert cpu["descendants_n_threads"] == 2
    assert cpu["combined_n_threads"] == 3


def ended(process):
    """Ends a waiting job and returns its report."""
    process.stdin.close()
    status, report = split_output(process.stdout.read().decode())
    assert (process.wait(), status) == (0, 0)
    return json.loads(report)


# ---- tracking files ---------------------------------------------------------

@pytest.mark.parametrize("suffix", ["csv", "sqlite"])
def test_tracking_file_has_a_row_per_sample(gpu_tracker, workload, suffix):
    path = gpu_tracker.folder / f"rows.{suffix}"
    start = time.time()
    process = gpu_tracker.start("-e", workload("hold") + " 1", "-f", "json", "--st=0.1",
                                f"--tf={path}", "--tu=seconds", "--ru=bytes")
    read_line(process.stdout)
    eventually(lambda: len(rows_of(path)) >= 5, "five rows")
    report = ended(process)
    end = time.time()
    rows = rows_of(path)
    seconds = report["compute_time"]["time"]
    # There is a row every tenth of a second, unless the machine was too busy, and one at the end.
    # The first may be late.
    times = [row["timestamp"] for row in rows]
    assert len(rows) <= int((times[-1] - start) / 0.1) + 2
    assert times == sorted(times) and start <= times[0] and times[-1] <= end
    assert times[-1] - start >= seconds
    assert all(later - earlier >= 0.04 for earlier, later in zip(times, times[1:-1]))
    for row in rows:
        assert 0 < row["main_ram"] <= report["max_ram"]["main"]["total_rss"]
        assert row["main_n_threads"] == row["combined_n_threads"] == 1
        assert row["descendants_ram"] == row["main_gpu_ram"] == 0
        assert 0 < row["system_ram"] <= report["max_ram"]["system_capacity"]


def test_rows_of_a_short_command_contain_its_peak(gpu_tracker, workload):
    path = gpu_tracker.folder / "rows.csv"
    report = result(gpu_tracker, f"sh -c 'exec {workload('hold')} 100 </dev/null >/dev/null'",
                    f"--tf={path}", "--ru=megabytes", "--st=60")
    rows = rows_of(path)
    assert len(rows) == 1
    assert rows[0]["main_ram"] == pytest.approx(report["max_ram"]["main"]["total_rss"], abs=1)
    assert rows[0]["main_ram"] >= 104


def test_rows_show_cpu_usage(gpu_tracker, workload):
    path = gpu_tracker.folder / "rows.csv"
    script = f"sh -c 'echo go; read line; {workload('burn')} 1.2 >/dev/null'"
    process = gpu_tracker.start("-e", script, "-f", "json", "--st=0.5", f"--tf={path}", "--nec=1")
    assert read_line(process.stdout) == "go"
    eventually(lambda: rows_of(path), "a row while it does nothing")
    report = ended(process)
    column = [row["cpu_combined_sum_utilization_percent"] for row in rows_of(path)]
    assert column[0] < max(column) / 3
    assert max(column) <= 150  # a sample and its CPU clocks are read at slightly different times
    assert max(column) / 2 <= report["cpu_utilization"]["combined"]["max_sum_percent"] <= 150
    for row in rows_of(path):
        assert row["cpu_combined_hardware_utilization_percent"] == \
            row["cpu_combined_sum_utilization_percent"]
        assert row["cpu_main_sum_utilization_percent"] \
            + row["cpu_descendants_sum_utilization_percent"] == \
            pytest.approx(row["cpu_combined_sum_utilization_percent"], abs=1)


# ---- the end of the command -------------------------------------------------

def test_status_of_the_command_is_printed_but_not_returned(gpu_tracker):
    done = gpu_tracker("-e", "sh -c 'exit 7'")
    assert done.returncode == 0
    assert split_output(done.stdout)[0] == 7


def test_killed_command_has_a_negative_status(gpu_tracker):
    done = gpu_tracker("-e", "sh -c 'kill -9 $$'")
    assert done.returncode == 0
    assert split_output(done.stdout)[0] == -9


@pytest.mark.parametrize("script, code", [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137)])
def test_status_is_passed_on_if_requested(gpu_tracker, script, code):
    assert gpu_tracker("-e", f"sh -c '{script}'", "--propagate").returncode == code


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_result_is_complete_if_a_signal_ends_command_and_tracker(gpu_tracker, workload, number):
    # 64 MB is more than the tracker uses with sanitizers, so the kernel reports the peak of the
    # exited process.
    process = gpu_tracker.start("-e", workload("hold") + " 64", "-f", "json")
    pid = int(read_line(process.stdout))
    process.send_signal(number)
    status, report = split_output(process.stdout.read().decode())
    assert status == -number
    assert json.loads(report)["max_ram"]["main"]["total_rss"] == pytest.approx(65 * 2**20 / 1e9, rel=0.03)
    assert process.wait() == -number
    assert not os.path.exists(f"/proc/{pid}")


def test_keyboard_interrupt_of_the_process_group_leaves_no_process_running(gpu_tracker, workload):
    # Without "<&0", bash gives background children no input, and they exit at once.
    script = f"{workload('hold')} 1 <&0 & {workload('hold')} 1 <&0 & wait"
    process = gpu_tracker.start("-e", f"bash -c {shlex.quote(script)}", start_new_session=True)
    pids = [int(read_line(process.stdout)) for _ in range(2)]
    os.killpg(process.pid, signal.SIGINT)
    # Background children of a shell ignore the interrupt; end of file on their input ends them.
    process.stdin.close()
    output = process.stdout.read().decode()
    assert STATUS + "-2\n" in output and "Compute time:" in output
    assert process.wait() == -signal.SIGINT
    eventually(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids), "all are gone")


def test_command_that_handles_the_signal_ends_with_its_own_status(gpu_tracker):
    process = gpu_tracker.start("-e", "sh -c 'trap \"exit 3\" TERM; echo go; "
                                      "while :; do sleep 0.02; done'")
    assert read_line(process.stdout) == "go"
    process.send_signal(signal.SIGTERM)
    assert split_output(process.stdout.read().decode())[0] == 3
    assert process.wait() == 0


def test_command_uses_the_standard_streams_of_gpu_tracker(gpu_tracker):
    done = gpu_tracker("-e", "sh -c 'cat; echo err >&2'", stdin=None, input="in\n")
    assert done.stdout.startswith("in\n" + STATUS + "0\nMax RAM:\n")
    assert done.stderr.startswith(NO_GPU + "err\n")


def test_no_files_are_left_in_the_current_folder(gpu_tracker):
    gpu_tracker("-e", "true", cwd=gpu_tracker.folder)
    gpu_tracker("-e", "nosuch", "--tf=rows.csv", cwd=gpu_tracker.folder)
    assert os.listdir(gpu_tracker.folder) == []


def test_closed_stdout_is_reported_as_an_error_of_gpu_tracker(gpu_tracker):
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = gpu_tracker("-e", "true", stdout=write_end)
    os.close(write_end)
    assert done.returncode == 1
    assert "ERROR:root:The standard output cannot be written: Broken pipe\n" in done.stderr
