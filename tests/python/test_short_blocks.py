# SPDX-License-Identifier: Apache-2.0
"""Code blocks shorter than the interval request rows from the tracker."""
import csv
import os
import signal
import subprocess
import sys
import textwrap

import pytest

import gpu_tracker as gput
from conftest import eventually, is_alive
from gpu_tracker import sub_tracker


def read(path, skip=0):
    with open(path, encoding="utf-8", newline="") as file:
        for _ in range(skip):
            file.readline()
        return list(csv.DictReader(file))


SHORT_BLOCKS = """
    import os, sys, time
    import gpu_tracker as gput
    from gpu_tracker import sub_tracker

    # A busy machine may answer late. Other tests check these limits.
    sub_tracker._ALLOWANCE_SECONDS = sub_tracker._TIMEOUT_SECONDS = 60
    sub_tracker._LOOK_AGAIN_SECONDS = 600
    MEBIBYTE = 1 << 20


    def held():
        return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGESIZE")


    def burn(seconds):
        end = time.process_time() + seconds
        while time.process_time() < end:
            pass


    def block(name, mebibytes, busy, idle):
        with gput.SubTracker(name, sub_tracking_file="s.csv"):
            before = time.process_time()
            memory = bytearray(b"x") * (mebibytes * MEBIBYTE)
            burn(busy)
            time.sleep(idle)
            holds = held()
        print(name, holds, time.process_time() - before, flush=True)


    def blocks():
        for turn in range(3):
            block(f"works {turn}", 60, 0.05, 0)
            block(f"sleeps {turn}", 0, 0, 0.05)
            block(f"both {turn}", 30, 0.02, 0.03)
"""


def check_short_blocks(printed, scope="main"):
    """Compares the usage that the blocks printed with the measured usage. CPU usage is the
    process's CPU time between two rows, divided by the time between them. The sleep time is
    long, so that even on a busy machine the file contains only the blocks' own rows."""
    results = gput.SubTrackingAnalyzer("t.csv", "s.csv").sub_tracking_results()
    found = {block.name: block for block in results.code_block_results}
    times = [float(row["timestamp"]) for row in read("t.csv", skip=2)]
    events = {(row["code_block_name"], int(row["position"])): float(row["timestamp"])
              for row in read("s.csv")}
    lines = [line.rsplit(" ", 2) for line in printed.splitlines()]
    assert len(lines) == 9
    for name, memory, seconds in lines:
        usage = found[name].resource_usage
        start, stop = events[name, 0], events[name, 1]
        inside = [when for when in times if start <= when <= stop]
        assert found[name].num_timepoints == found[name].num_non_empty_calls == len(inside) == 1
        before = max(when for when in times if when < start)
        truth = 100 * float(seconds) / (inside[0] - before)
        assert usage["max"][f"{scope}_ram"] == pytest.approx(int(memory) / 1e6, rel=0.05)
        assert usage["mean"][f"cpu_{scope}_sum_utilization_percent"] == \
            pytest.approx(truth, rel=0.05, abs=2), name


def test_peak_of_a_block_includes_memory_it_has_freed(script):
    script("""
        import time
        import gpu_tracker as gput
        from gpu_tracker import sub_tracker

        sub_tracker._ALLOWANCE_SECONDS = sub_tracker._TIMEOUT_SECONDS = 60  # as above

        @gput.sub_track("holds", sub_tracking_file="s.csv")
        def hold():
            memory = bytearray(b"x") * (100 << 20)
            time.sleep(0.05)

        @gput.sub_track("sleeps", sub_tracking_file="s.csv")
        def sleep():
            time.sleep(0.05)

        with gput.Tracker(sleep_time=20, tracking_file="t.csv", ram_unit="megabytes",
                          disable_logs=True):
            for _ in range(3):
                sleep()
                hold()
                sleep()
    """)
    holds, sleeps = gput.SubTrackingAnalyzer("t.csv", "s.csv").sub_tracking_results() \
        .code_block_results
    least = sleeps.resource_usage["min"]["main_ram"]
    assert holds.num_calls == holds.num_non_empty_calls == 3
    assert holds.resource_usage["max"]["main_ram"] == pytest.approx(least + 104.9, rel=0.05)
    assert sleeps.num_non_empty_calls == sleeps.num_calls == sleeps.num_timepoints == 6
    assert sleeps.resource_usage["max"]["main_ram"] == pytest.approx(least, rel=0.1)


def test_short_blocks_have_their_own_figures(script):
    check_short_blocks(script(SHORT_BLOCKS + """
    with gput.Tracker(sleep_time=20, tracking_file="t.csv", ram_unit="megabytes",
                      disable_logs=True):
        blocks()
    """))


def test_short_blocks_of_a_forked_child_have_their_own_figures(script):
    check_short_blocks(script(SHORT_BLOCKS + """
    with gput.Tracker(sleep_time=20, tracking_file="t.csv", ram_unit="megabytes",
                      disable_logs=True):
        child = os.fork()
        if child == 0:
            blocks()
            os._exit(0)
        os.waitpid(child, 0)
    """), "descendants")


def test_short_blocks_of_a_command_have_their_own_figures(tmp_path):
    (tmp_path / "program.py").write_text(textwrap.dedent(SHORT_BLOCKS) + "\n\nblocks()\n")
    done = subprocess.run([sys.executable, "-m", "gpu_tracker", "-e",
                           f"{sys.executable} program.py", "--st=20", "--tf=t.csv",
                           "--ru=megabytes", "--disable-logs", "-o", "report.txt"],
                          stdout=subprocess.PIPE, text=True, check=True, timeout=60)
    check_short_blocks("".join(line + "\n" for line in done.stdout.splitlines()
                               if not line.startswith("Resource tracking")))


@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGKILL])
def test_silent_tracker_does_not_block(monkeypatch, number):
    monkeypatch.setattr(sub_tracker, "_TIMEOUT_SECONDS", 0.05)
    tracker = gput.Tracker(sleep_time=20, tracking_file="t.csv", disable_logs=True)
    tracker.start()
    agent = tracker._agent.ready["pid"]
    with gput.SubTracker("b", sub_tracking_file="s.csv"):
        os.kill(agent, number)
        eventually(lambda: not is_alive(agent) or state(agent) == "T", "the signal has arrived")
    for _ in range(100):
        with gput.SubTracker("b", sub_tracking_file="s.csv"):
            pass
    assert len(read("s.csv")) == 202 and sub_tracker._trackers.tracked == []
    if number == signal.SIGSTOP:
        os.kill(agent, signal.SIGCONT)
        tracker.stop()


def state(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        return file.read().rpartition(")")[2].split()[0]


@pytest.mark.parametrize("first_seconds", [0.02, 1.9])
def test_time_spent_on_rows_of_blocks_is_bounded(monkeypatch, first_seconds):
    """The first answer waits for the start of the tracker, but this wait must not use up the
    time allowed for the blocks' rows."""
    asked = []
    monkeypatch.setattr(sub_tracker, "_trackers", sub_tracker._Trackers())
    monkeypatch.setattr(sub_tracker, "ancestors", lambda: [])
    monkeypatch.setattr(sub_tracker, "_ask", lambda *_: asked.append(clock.append(0.02 if asked else first_seconds)) or 1.0)
    clock = [100.0]
    monkeypatch.setattr(sub_tracker.time, "monotonic", lambda: sum(clock))
    sub_tracker._trackers.began = 100.0
    assert [sub_tracker.request_row(0.0) for _ in range(20)] == 20 * [1.0]
    for _ in range(1000):
        sub_tracker.request_row(0.0)
        clock.append(0.001)
    share = sub_tracker._SHARE
    assert (len(asked) - 1) * 0.02 <= sub_tracker._ALLOWANCE_SECONDS + share * (sum(clock) - 100) + 0.02
    assert len(asked) < 60  # 1020 without the limit


def test_row_of_a_block_needs_no_free_descriptor(script):
    out = script("""
        import os, resource
        import gpu_tracker as gput

        with gput.Tracker(sleep_time=20, tracking_file="t.csv", disable_logs=True):
            with gput.SubTracker("b", sub_tracking_file="s.sqlite"):
                pass
            free = os.dup(0)
            os.close(free)
            limits = resource.getrlimit(resource.RLIMIT_NOFILE)
            resource.setrlimit(resource.RLIMIT_NOFILE, (free, limits[1]))
            gput.sub_tracker.request_row(0.0)
            gput.sub_tracker.forget_trackers()
            gput.sub_tracker.request_row(0.0)
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        print("went on")
    """)
    assert out == "went on\n"
