# SPDX-License-Identifier: Apache-2.0
"""Tracks a process that is already running."""
import csv
import os
import resource
import signal
import subprocess
import sys
import time

import pytest

from conftest import descriptors_of, dropped_messages, eventually, load, read_line, rows_of, state_of, value


def first_rows(path, count=3):
    """Waits until the samples file has this many lines."""
    eventually(lambda: path.exists() and path.read_bytes().count(b"\n") >= count, "samples")


@pytest.mark.threads
def test_attach_ends_when_the_process_ends(spoor, held):
    path, samples = spoor.new_path("result.json"), spoor.new_path("s.csv")
    process = spoor.start("attach", "-q", "-i", "0.02", "-o", path, "--samples", samples,
                          "-p", str(held.pid))
    first_rows(samples)
    held.stdin.close()
    held.wait()
    assert process.wait() == 0
    result = load(path)
    assert result["run"]["pid"] == held.pid
    assert result["run"]["command"][1] == "50"
    assert value(result, "memory.combined.total_rss_bytes") == pytest.approx(50 << 20, rel=0.05)


@pytest.mark.threads
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal_ends_the_tracking_but_not_the_process(spoor, held, number):
    path, samples = spoor.new_path("result.json"), spoor.new_path("s.csv")
    process = spoor.start("attach", "-q", "-i", "0.02", "-o", path, "--samples", samples,
                          str(held.pid))
    first_rows(samples)
    process.send_signal(number)
    assert process.wait() == 0
    assert held.poll() is None
    result = load(path)
    assert result["run"]["exit_code"] is None and result["run"]["signal"] is None
    assert result["run"]["still_running"] is True and result["run"]["attached"] is True


def test_tracking_ends_after_the_given_duration(spoor, held):
    path = spoor.new_path("result.json")
    done = spoor("attach", "-q", "--duration", "100ms", "-i", "0.02", "-o", path, str(held.pid))
    assert done.returncode == 0 and held.poll() is None
    assert load(path)["run"]["elapsed_seconds"] >= 0.1


def test_attach_prints_the_summary(spoor, held):
    done = spoor("attach", "--duration", "50ms", "-p", str(held.pid))
    assert done.returncode == 0 and done.stdout == ""
    assert "CPU" in done.stderr and "emory" in done.stderr
    assert "\nstill running, tracked from " in done.stderr


def test_zombie_is_not_reported_as_still_running(spoor, held):
    process = spoor.start("attach", str(held.pid))
    eventually(lambda: os.path.exists(f"/proc/{process.pid}/task") and
               len(os.listdir(f"/proc/{process.pid}/task")) > 1, "the sampling thread")
    held.stdin.close()  # this test is the parent and has not reaped the process yet
    text = process.stderr.read().decode()
    assert "\nexit code unknown, tracked from " in text and "still running" not in text


def test_earlier_usage_is_not_counted(spoor, workload):
    """The CPU time of an attached job is the time used while it is tracked."""
    process = subprocess.Popen(["sh", "-c", f"{workload('burn')} 0.5; read -r line"],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert float(read_line(process.stdout)) >= 0.5
    path = spoor.new_path("result.json")
    assert spoor("attach", "-q", "--duration", "50ms", "-o", path, str(process.pid)).returncode == 0
    process.communicate(b"\n")
    assert value(load(path), "cpu.total_seconds") < 0.2


def test_earlier_children_belong_to_the_job(spoor, workload):
    process = subprocess.Popen([workload("forks"), "20"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)
    assert read_line(process.stdout) == "ready"
    path = spoor.new_path("result.json")
    assert spoor("attach", "-q", "--duration", "50ms", "-o", path, str(process.pid)).returncode == 0
    process.communicate()
    assert value(load(path), "processes.max_concurrent") == 21


# Each child uses less CPU time than a clock tick, and a parent that stays waits for it.
SHORT_CHILDREN = """if True:
    import os, time
    is_open, stays_open = os.pipe()
    def parent(end):
        os.close(stays_open)
        child = os.fork()
        if child == 0:
            while time.process_time() < 0.009: pass
            print("burnt", flush=True)
            os.read(0, 1)
            os._exit(0)
        os.waitpid(child, 0)
        os.close(end)
        os.read(is_open, 1)  # until the program exits
        os._exit(0)
    print("ready", flush=True)
    for _ in range(5):
        os.read(0, 1)
        reader, end = os.pipe()
        if os.fork() == 0:
            parent(end)
        os.close(end)
        os.read(reader, 1)
        print("waited", flush=True)
    os.read(0, 1)
"""


def test_cpu_time_of_children_below_a_clock_tick_is_counted(spoor, monkeypatch):
    """The kernel reports the time of children that were waited for in ticks, so their own clocks
    are added up. load() checks that the processes of the report add up to the job, too."""
    monkeypatch.setenv("SPOOR_DISABLE", "cgroup,perf,ring,connector,taskstats")
    path, samples = spoor.new_path("result.json"), spoor.new_path("s.csv")
    job = subprocess.Popen([sys.executable, "-S", "-c", SHORT_CHILDREN], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert read_line(job.stdout) == "ready"
    tracker = spoor.start("attach", "-q", "-i", "0.02", "-o", path, "--samples", samples, str(job.pid))
    first_rows(samples)
    for turn in range(5):
        for step in ("burnt", "waited"):
            job.stdin.write(b"x")
            job.stdin.flush()
            assert read_line(job.stdout) == step
            rows = len(rows_of(samples))
            first_rows(samples, rows + 6)
    job.stdin.close()
    job.wait()
    assert tracker.wait() == 0
    assert value(load(path), "cpu.total_seconds") >= 5 * 0.009


@pytest.mark.parametrize("command", ["attach", "run"])
def test_process_is_tracked_after_its_first_thread_has_exited(spoor, workload, command):
    path, samples = spoor.new_path("result.json"), spoor.new_path("s.csv")
    options = ["-q", "-i", "0.02", "-o", path, "--samples", samples]
    if command == "run":
        job = tracker = spoor.start("run", *options, "--", workload("headless"), "50")
        assert read_line(job.stdout) == "ready"
    else:
        job = subprocess.Popen([workload("headless"), "50"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)
        assert read_line(job.stdout) == "ready"
        tracker = spoor.start("attach", *options, str(job.pid))
    first_rows(samples)
    job.stdin.write(b"\n")
    job.stdin.flush()
    assert read_line(job.stdout) == "burnt"
    first_rows(samples, samples.read_bytes().count(b"\n") + 3)
    *_, last = csv.DictReader(samples.read_text().split("\n")[:-1])  # complete rows
    assert float(last["job_processes"]) == float(last["main_threads"]) == 1
    assert float(last["main_rss_bytes"]) >= 50 << 20
    job.stdin.close()
    assert job.wait() == 0 and tracker.wait() == 0
    job.stdout.close()
    result = load(path)
    assert value(result, "processes.max_concurrent") == 1
    assert value(result, "processes.started") == 1
    assert value(result, "cpu.total_seconds") >= 0.29
    assert value(result, "memory.main.total_rss_bytes") >= 50 << 20
    assert value(result, "memory.combined.private_rss_bytes") >= 50 << 20


THREADS = """
import sys, threading
threading.stack_size(256 << 10)
end = threading.Event()
for _ in range(int(sys.argv[1])):
    threading.Thread(target=end.wait, daemon=True).start()
print("ready", flush=True)
sys.stdin.readline()
"""


def perf_events(spoor, threads, soft, hard):
    """Returns how many perf events `spoor attach` opens for a process with this many additional
    threads, and the report."""
    job = subprocess.Popen(["/usr/bin/python3", "-c", THREADS, str(threads)],
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert read_line(job.stdout) == "ready"
    path, samples = spoor.new_path("result.json"), spoor.new_path("s.csv")
    process = spoor.start(
        "attach", "-q", "-i", "0.02", "-o", path, "--samples", samples, str(job.pid),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard)))
    first_rows(samples)
    links = descriptors_of(process.pid)
    job.communicate(b"\n")
    assert process.wait() == 0
    return links.count("anon_inode:[perf_event]"), load(path)


def test_descriptor_limit_is_raised_for_many_threads(spoor):
    """spoor raises its descriptor limit. Each thread has one event of each kind."""
    few, _ = perf_events(spoor, 4, 256, 4096)
    kinds = few // 5  # 0 if perf is not allowed
    assert few == kinds * 5
    count, result = perf_events(spoor, 299, 256, 4096)
    assert count == kinds * 300
    assert value(result, "cpu.threads.main") == 300


def test_perf_is_not_used_if_descriptors_run_out(spoor):
    """Events on only some of the threads would miss the other threads, so none is opened."""
    count, result = perf_events(spoor, 299, 256, 256)
    assert count == 0
    assert value(result, "cpu.threads.main") == 300
    assert value(result, "memory.main.total_rss_bytes") > 0


UNWAITED = """
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
print(flush=True)
while True:
    if os.fork() == 0:
        while time.process_time() < 0.01: pass
        os._exit(0)
    try: os.wait()
    except ChildProcessError: pass
"""


def test_cpu_time_found_only_at_the_end_does_not_raise_the_peak(spoor):
    """perf, which is read last, includes the time of children that were never waited for. The
    children ran one at a time, so the peak is one CPU."""
    path = spoor.new_path("result.json")
    with subprocess.Popen(["/usr/bin/python3", "-c", UNWAITED], stdout=subprocess.PIPE) as process:
        try:
            read_line(process.stdout)
            done = spoor("attach", "-q", "-i", "0.4", "--duration", "2.35", "-o", path, str(process.pid),
                         env={**os.environ, "SPOOR_DISABLE": "connector,taskstats,ring"})
        finally:
            process.kill()
    assert done.returncode == 0
    assert value(load(path), "cpu.max_cores") <= 1.5


@pytest.fixture
def foreign():
    """Starts a process that this user may not read: su, which runs as root and waits for a
    password."""
    if os.geteuid() == 0:
        pytest.skip("root may read every process")
    process = subprocess.Popen(["su", "-c", "true"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert os.read(process.stdout.fileno(), 100)
    with pytest.raises(PermissionError):
        with open(f"/proc/{process.pid}/io", encoding="ascii") as file:
            file.read()
    yield process
    process.kill()
    process.communicate()


def test_readable_figures_of_another_users_process_are_reported(spoor, foreign):
    path = spoor.new_path("result.json")
    done = spoor("attach", "-q", "--duration", "50ms", "-o", path, str(foreign.pid))
    assert done.returncode == 0
    result = load(path)
    assert value(result, "memory.main.total_rss_bytes") > 0
    assert value(result, "cpu.total_seconds") is not None
    for section, key in (("io", "written_bytes"), ("io", "read_chars")):
        assert result[section][key]["value"] is None
        assert "another user" in result[section][key]["reason"]
    assert value(result, "memory.main.private_rss_bytes") is None
    assert result["memory"]["main"]["private_rss_bytes"]["reason"]


def test_unreadable_figures_of_another_users_process_are_shown_as_not_available(spoor, foreign):
    done = spoor("attach", "--duration", "50ms", "-p", str(foreign.pid))
    assert done.returncode == 0 and "n/a" in done.stderr


def test_host_pressure_is_not_reported_as_job_pressure(spoor, held):
    path = spoor.new_path("result.json")
    spoor("attach", "-q", "--duration", "200ms", "-i", "0.02", "-o", path, str(held.pid))
    result = load(path)
    columns = result["curve"]["columns"]
    for kind in ("cpu", "memory", "io"):
        source = result["pressure"][f"{kind}_seconds"]["source"]
        assert (f"job_{kind}_pressure_seconds" in columns) == (source or "").startswith("cgroup."), kind


@pytest.mark.parametrize("interval", ["0.01", "1"])
def test_end_time_of_the_job_is_exact_even_if_the_tracker_is_stopped(spoor, interval):
    """Regression test: the elapsed time continued, and means were too low, until the tracker was
    continued."""
    path, samples = spoor.new_path("result.json"), spoor.new_path("samples.jsonl")
    burn = "import sys, time\nsys.stdin.readline()\nwhile time.process_time() < 0.3: pass\nprint(flush=True)\n"
    job = subprocess.Popen(["/usr/bin/python3", "-c", burn + "sys.stdin.readline()"], stdin=subprocess.PIPE,
                           stdout=subprocess.PIPE)
    began = time.monotonic()
    tracker = spoor.start("attach", "-q", "-i", interval, "-o", path, "--samples", samples, str(job.pid))
    eventually(lambda: samples.exists() and samples.read_text(), "a sample")
    job.stdin.write(b"\n")
    job.stdin.flush()
    read_line(job.stdout)
    tracker.send_signal(signal.SIGSTOP)
    eventually(lambda: state_of(tracker.pid) == "T", "the tracker is stopped")
    job.communicate()
    lived = time.monotonic() - began
    time.sleep(2 * lived)
    dropped = dropped_messages(tracker.pid)
    tracker.send_signal(signal.SIGCONT)
    assert tracker.wait() == 0
    result = load(path)
    if result["processes"]["started"]["source"] != "proc-connector":
        pytest.skip("no event reports the end")
    elapsed = result["run"]["elapsed_seconds"]
    # The tracker of an ordinary user has room for the events of some 3,000 forks, and other tests fork, too.
    assert elapsed <= lived or dropped
    assert value(result, "cpu.mean_cores") * elapsed >= 0.7 * value(result, "cpu.total_seconds")
