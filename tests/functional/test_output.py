# SPDX-License-Identifier: Apache-2.0
"""Outputs of runs, and failures to write them."""
import csv
import json
import os
import signal
import stat
import subprocess

import pytest

from conftest import eventually, load, read_line, warnings_of


@pytest.fixture
def tiny_disk(tmp_path):
    """Mounts a full file system of 16 kB; yields its folder and a function to remount it."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount")
    folder = tmp_path / "tiny"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=16k", "spoor-test", folder]
    if subprocess.run(mount, check=False).returncode != 0:
        pytest.skip("mounting is refused")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def fill(folder):
    try:
        with open(folder / "filler", "wb", buffering=0) as file:
            while file.write(b"x" * 4096):
                pass
    except OSError:
        pass


def one_line(text):
    assert text.startswith("spoor: ") and text.count("\n") == 1, text
    return True


def test_report_that_does_not_fit_on_the_disk_goes_to_stderr(spoor, tiny_disk):
    fill(tiny_disk)
    done = spoor("run", "-q", "-o", tiny_disk / "r.json", "--", "sh", "-c", "exit 4")
    assert done.returncode == 4
    complaint, _, report = done.stderr.partition("\n")
    assert one_line(complaint + "\n") and "No space left" in complaint
    assert json.loads(report)["run"]["exit_code"] == 4, "it is not lost"
    assert [path.name for path in tiny_disk.iterdir()] == ["filler"], "nothing half written"


def test_old_report_is_kept_if_the_new_one_does_not_fit_on_the_disk(spoor, tiny_disk):
    (tiny_disk / "r.json").write_text("old")
    fill(tiny_disk)
    assert spoor("run", "-q", "-o", tiny_disk / "r.json", "--", "true").returncode == 0
    assert (tiny_disk / "r.json").read_text() == "old"


def test_samples_that_do_not_fit_do_not_affect_the_job(spoor, tiny_disk):
    (tiny_disk / "s.jsonl").write_text("x" * 100)  # the page has room for one row, but not for two
    fill(tiny_disk)
    path = spoor.new_path("result.json")
    done = spoor("run", "-q", "-o", path, "--append", "--samples", tiny_disk / "s.jsonl", "--",
                 "true")
    assert done.returncode == 0
    result = load(path)
    assert "samples-lost" in warnings_of(result)
    assert (tiny_disk / "s.jsonl").read_text()[-1] in "x\n", "no half row"


def test_report_for_a_full_descriptor_goes_to_stderr(spoor):
    with open("/dev/full", "wb", buffering=0) as full:
        done = spoor("run", "-q", "-o", f"/dev/fd/{full.fileno()}", "-f", "json", "--",
                     "sh", "-c", "exit 6", pass_fds=(full.fileno(),))
    assert done.returncode == 6
    complaint, _, report = done.stderr.partition("\n")
    assert one_line(complaint + "\n") and "No space left" in complaint
    assert json.loads(report)["run"]["exit_code"] == 6, "it is not lost"


def test_closed_output_pipe_does_not_change_the_exit_code(spoor):
    read, write = os.pipe()
    os.close(read)
    done = spoor("run", "-q", "-o", f"/dev/fd/{write}", "--", "sh", "-c", "exit 6",
                 pass_fds=(write,))
    os.close(write)
    assert done.returncode == 6
    assert one_line(done.stderr) and "Broken pipe" in done.stderr


def test_closed_stderr_pipe_does_not_change_the_exit_code(spoor):
    read, write = os.pipe()
    os.close(read)
    done = spoor("run", "--", "sh", "-c", "exit 6", stderr=write)
    os.close(write)
    assert done.returncode == 6


def test_report_can_be_written_to_a_descriptor(spoor):
    read, write = os.pipe()
    process = spoor.start("run", "-q", "-o", f"/dev/fd/{write}", "-f", "csv", "--", "true",
                          pass_fds=(write,))
    os.close(write)
    with open(read, encoding="utf-8") as report:
        header, row = csv.reader(report)
    assert process.wait() == 0
    assert dict(zip(header, row))["exit_code"] == "0"


def test_read_only_folder_is_refused_before_the_start(spoor, tmp_path):
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o555)
    marker = tmp_path / "ran"
    if os.access(folder, os.W_OK):
        # Root ignores file modes, but /proc refuses new files for root too.
        folder = "/proc/self"
    done = spoor("run", "-o", f"{folder}/r.json", "--", "touch", marker)
    assert done.returncode == 125
    assert one_line(done.stderr) and str(folder) in done.stderr
    assert not marker.exists()


def test_output_replaces_a_file_atomically(spoor, tmp_path):
    path = tmp_path / "r.json"
    path.write_text("x" * 1_000_000)
    before = path.stat().st_ino
    assert spoor("run", "-q", "-o", path, "--", "true").returncode == 0
    load(path)
    assert path.stat().st_ino != before, "written apart, then renamed"
    assert [entry.name for entry in tmp_path.iterdir()] == ["r.json"], "no temporary file left"


def test_output_does_not_follow_a_symbolic_link(spoor, tmp_path):
    target, link = tmp_path / "target", tmp_path / "r.json"
    target.write_text("precious")
    link.symlink_to(target)
    spoor("run", "-q", "-o", link, "--", "true")
    spoor("run", "-q", "--append", "-o", link, "--", "true")
    spoor("run", "-q", "--samples", tmp_path / "s.csv", "--", "true")
    (tmp_path / "l.csv").symlink_to(target)
    spoor("run", "-q", "--samples", tmp_path / "l.csv", "--", "true")
    assert target.read_text() == "precious"


def test_device_file_is_written_to_instead_of_replaced(spoor, tmp_path):
    path = tmp_path / "null"
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("only root may make a device")
    assert spoor("run", "-q", "-f", "json", "-o", path, "--", "true").returncode == 0
    assert stat.S_ISCHR(path.lstat().st_mode)


def test_dash_selects_stdout(spoor):
    done = spoor("run", "-q", "-f", "json", "-o", "-", "--", "true")
    assert json.loads(done.stdout)["schema"] == "spoor/1"


@pytest.mark.parametrize("name, start", [("r.json", "{"), ("r.csv", "run_id,"), ("r.txt", "true\n")])
def test_format_follows_the_file_name(spoor, tmp_path, name, start):
    assert spoor("run", "-q", "-o", tmp_path / name, "--", "true").returncode == 0
    assert (tmp_path / name).read_text().startswith(start)
    assert (tmp_path / name).stat().st_size > 100


def test_append_adds_rows_under_one_header(spoor, tmp_path):
    path = tmp_path / "r.csv"
    for _ in range(3):
        assert spoor("run", "-q", "--append", "-o", path, "--", "true").returncode == 0
    rows = list(csv.DictReader(path.open()))
    assert len(rows) == 3 and len({row["run_id"] for row in rows}) == 3


def test_no_clobber_refuses_before_the_start(spoor, tmp_path):
    path, marker = tmp_path / "r.json", tmp_path / "ran"
    path.write_text("old")
    done = spoor("run", "--no-clobber", "-o", path, "--", "touch", marker)
    assert done.returncode == 125 and one_line(done.stderr) and "exists" in done.stderr
    assert path.read_text() == "old" and not marker.exists()
    done = spoor("run", "--no-clobber", "-q", "-o", tmp_path / "new.json", "--", "touch", marker)
    assert done.returncode == 0 and marker.exists()


def test_no_clobber_protects_the_samples_too(spoor, tmp_path):
    path, marker = tmp_path / "s.csv", tmp_path / "ran"
    path.write_text("old")
    done = spoor("run", "--no-clobber", "--samples", path, "--", "touch", marker)
    assert done.returncode == 125 and not marker.exists() and path.read_text() == "old"


@pytest.mark.threads
def test_samples_are_in_the_file_even_if_spoor_is_killed(spoor, workload):
    samples = {suffix: spoor.new_path(f"samples.{suffix}") for suffix in ("csv", "jsonl")}
    for suffix, path in samples.items():
        process = spoor.start("run", "-q", "-i", "0.01", "--samples", path, "--",
                              workload("hold"), "1")
        job = int(read_line(process.stdout))
        eventually(lambda p=path: p.exists() and p.read_bytes().count(b"\n") >= 5, "five rows")
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        os.kill(job, signal.SIGKILL)
        assert path.read_bytes().endswith(b"\n"), "whole up to the last row"
        with open(path, encoding="utf-8") as file:
            rows = list(csv.DictReader(file)) if suffix == "csv" else list(map(json.loads, file))
        assert len(rows) >= 4
        assert all(float(row["job_rss_bytes"]) > 0 for row in rows[-2:])


def test_csv_and_json_samples_have_the_same_columns(spoor, workload, tmp_path):
    for suffix in ("csv", "jsonl"):
        path = tmp_path / f"s.{suffix}"
        process = spoor.start("run", "-q", "-i", "0.01", "--samples", path, "--", workload("hold"),
                              "1")
        eventually(lambda p=path: p.exists() and p.read_bytes().count(b"\n") >= 5, "four rows")
        process.stdin.close()
        assert process.wait() == 0
    with open(tmp_path / "s.csv", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    with open(tmp_path / "s.jsonl", encoding="utf-8") as file:
        objects = list(map(json.loads, file))
    header = rows.pop(0)
    assert header[:3] == ["timestamp", "elapsed_seconds", "run_id"]
    assert {"job_cpu_seconds", "job_cpu_cores", "job_rss_bytes", "main_rss_bytes",
            "host_cpu_seconds", "job_processes"} <= set(header)
    assert all(list(row) == header + ["gpus"] for row in objects)  # one list for all GPUs
    assert len(set(header)) == len(header)
    assert len(rows) >= 4 and all(len(row) == len(header) for row in rows)
    for column in (0, 1):
        times = [float(row[column]) for row in rows]
        assert times == sorted(times)
    peak = 0
    for row in rows:
        named = dict(zip(header, row))
        assert all(cell == "" or float(cell) >= 0 for name, cell in named.items() if name != "run_id")
        assert float(named["host_cpu_seconds"]) > float(named["job_cpu_seconds"])
        peak = max(peak, float(named["job_rss_bytes"] or 0))
    assert 1 << 20 < peak < 16 << 20


def test_samples_are_appended_on_request(spoor, tmp_path):
    path = tmp_path / "s.csv"
    lengths = []
    for _ in range(2):
        assert spoor("run", "-q", "--append", "--samples", path, "--", "true").returncode == 0
        lengths.append(path.read_text().count("\n"))
    assert lengths[1] > lengths[0]
    assert path.read_text().count("timestamp") == 1


def test_only_terminals_get_color(spoor):
    assert "\x1b" not in spoor("run", "--", "true").stderr
    assert "\x1b" in spoor("run", "--color", "always", "--", "true").stderr
