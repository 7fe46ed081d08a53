# SPDX-License-Identifier: Apache-2.0
"""ProcessTracker, PidTracker and SystemTracker write CSV, with and without the end of a process."""
import csv
import os
import re
import signal
import subprocess
import sys
import threading

import pytest

from conftest import BINARY, DEADLINE_SECONDS, eventually, is_alive
from resource_tracker import ProcessTracker
from resource_tracker.column_maps import NEWEST, OLDEST, README, columns_of

# Uses CPU time after reading a line, and exits.
BUSY = """
import time
print(flush=True)
input()
end = time.process_time() + 0.2
while time.process_time() < end:
    pass
"""


@pytest.fixture
def busy():
    """Starts a process that works and exits on request."""
    with subprocess.Popen([sys.executable, "-c", BUSY], text=True, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as child:
        child.stdout.readline()
        yield child
        if child.poll() is None:
            child.kill()


def header(table, dialect):
    """Returns the header as text; lines of version 0.1 end in \\r\
    ."""
    return ",".join(f'"{name}"' for name in columns_of(table, dialect)) + "\n"


def read(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def work_when_tracked(busy, path):
    """Makes the process work once the header is written, which happens when tracking has
    started."""
    def work():
        eventually(lambda: path.exists() and path.read_text(), "the header")
        busy.stdin.write("\n")
        busy.stdin.flush()

    threading.Thread(target=work).start()


@pytest.mark.parametrize("dialect", [NEWEST, README, OLDEST])
def test_columns_equal_those_of_the_program(tmp_path, dialect):
    command = {"process": ["run", "-q"], "system": ["system", "-q", "-i", "0.01", "--duration", "0.02"]}
    for table, words in command.items():
        path = tmp_path / f"{table}.csv"
        job = ["--", "true"] if table == "process" else []
        subprocess.run([BINARY, *words, f"--stream={path}", f"--dialect={dialect}", *job], check=True,
                       stdout=subprocess.DEVNULL)
        text = path.read_bytes().decode()
        assert text.splitlines()[0] + "\n" == header(table, dialect)
        assert text.count("\r\n") == (text.count("\n") if dialect == OLDEST else 0)


def test_the_last_partial_interval_of_a_process_is_kept(busy, tmp_path):
    """The interval is longer than the lifetime of the process."""
    path = tmp_path / "rows.csv"
    work_when_tracked(busy, path)
    tracker = ProcessTracker(busy.pid, interval=3600, output_file=str(path))
    assert tracker.status == "exited" and tracker.cycle == 1
    text = path.read_text()
    assert text.startswith(header("process", NEWEST)) and "\r" not in text
    row, = read(path)
    assert int(row["pid"]) == busy.pid
    assert 0.15 < float(row["utime"]) + float(row["stime"]) < 0.5
    assert re.fullmatch(r"\d+\.\d{1,3}", row["timestamp"])


def test_each_interval_has_a_row(busy, tmp_path, script):
    path = tmp_path / "rows.csv"
    process = script.start("""
        import sys
        from resource_tracker import ProcessTracker
        tracker = ProcessTracker(int(sys.argv[1]), interval=0.02, csv_file_path=sys.argv[2])
        print(tracker.status, tracker.cycle)
    """, busy.pid, path)
    eventually(lambda: path.exists() and path.read_text().count("\n") > 3, "three rows")
    busy.stdin.write("\n")
    busy.stdin.flush()  # not communicate(): the clock of a process ends when it is waited for
    out, _ = process.communicate(timeout=DEADLINE_SECONDS)
    rows = read(path)
    assert out.split() == ["exited", str(len(rows))] and len(rows) >= 3
    assert sum(float(row["utime"]) + float(row["stime"]) for row in rows) > 0.15
    assert all(row["children"] == "" for row in rows)  # no children, as in version 0.5


@pytest.mark.parametrize("dialect", [NEWEST, README, OLDEST])
def test_interrupt_ends_the_rows_of_the_machine(script, dialect):
    process = script.start("""
        import signal, sys
        from resource_tracker import SystemTracker
        signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored
        try:
            SystemTracker(interval=0.02, dialect=sys.argv[1])
        except KeyboardInterrupt:
            print("interrupted")
    """, dialect)
    assert process.stdout.readline() == header("system", dialect)
    lines = [process.stdout.readline() for _ in range(3)]
    assert all(len(line.split(",")) == 21 for line in lines)
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=DEADLINE_SECONDS)
    assert process.returncode == 0 and rest.splitlines()[-1] == "interrupted"


@pytest.mark.parametrize("output", ["None", "'/dev/stdout'"])
def test_a_closed_reader_ends_the_rows(script, output):
    """This happens in a pipe such as SystemTracker() | head -2."""
    process = script.start(f"""
        import sys
        from resource_tracker import SystemTracker
        tracker = SystemTracker(interval=0.02, output_file={output})
        print(tracker.status, file=sys.stderr)
    """, stderr=subprocess.PIPE)
    assert process.stdout.readline() == header("system", NEWEST)
    process.stdout.close()
    err = process.stderr.read()
    assert process.wait(DEADLINE_SECONDS) == 0 and err == "exited\n"
    process.stderr.close()


def test_interrupt_writes_the_last_row(script):
    process = script.start("""
        import signal
        from resource_tracker import SystemTracker
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            SystemTracker(interval=3600)
        except KeyboardInterrupt:
            pass
    """)
    assert process.stdout.readline() == header("system", NEWEST)
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=DEADLINE_SECONDS)
    assert process.returncode == 0 and len(rest.splitlines()) == 1


def test_start_of_the_rows_can_be_delayed_and_the_header_omitted(tmp_path, script, monkeypatch):
    """Nothing is left behind if the program is killed."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    process = script.start("""
        import sys, time
        from resource_tracker import ProcessTracker
        start = time.time() + 0.2
        tracker = ProcessTracker(start_time=start, interval=0.02, autostart=False)
        print(start, flush=True)
        tracker.start_tracking(print_header=False)
    """)
    start = float(process.stdout.readline())
    assert float(process.stdout.readline().split(",")[0]) >= start - 0.001
    process.kill()
    process.communicate()
    assert list(tmp_path.glob("resource_tracker-*")) == []


def test_an_exited_process_has_no_rows(busy, tmp_path):
    busy.communicate("\n")
    path = tmp_path / "rows.csv"
    tracker = ProcessTracker(busy.pid, output_file=str(path))
    assert tracker.status == "exited" and not path.exists()


def test_pid_tracker_is_deprecated(busy, tmp_path):
    from resource_tracker.tracker import PidTracker

    path = tmp_path / "rows.csv"
    work_when_tracked(busy, path)
    with pytest.warns(DeprecationWarning):
        PidTracker(busy.pid, 0.05, output_file=str(path))
    assert path.read_text().startswith(header("process", OLDEST))
    assert path.read_bytes().count(b"\r\n") == path.read_bytes().count(b"\n")
    rows = read(path)
    assert any(int(row["pss"]) > 1000 for row in rows)
    assert all(row["utime"].isdigit() for row in rows)


def test_a_killed_agent_ends_the_rows_with_a_warning(script):
    process = script.start("""
        import warnings
        from resource_tracker import SystemTracker, _tracking
        start = _tracking.Agent.__init__
        def print_agent(self, *arguments, **keywords):
            start(self, *arguments, **keywords)
            print(self.ready["pid"], flush=True)
        _tracking.Agent.__init__ = print_agent
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            SystemTracker(interval=0.02)
        print(*[warning.message for warning in caught])
    """)
    agent = int(process.stdout.readline())
    assert process.stdout.readline() == header("system", NEWEST)
    os.kill(agent, signal.SIGKILL)
    eventually(lambda: not is_alive(agent), "the end of the agent")
    out, _ = process.communicate(timeout=DEADLINE_SECONDS)
    assert process.returncode == 0
    assert out.splitlines()[-1] == "tracking has stopped: the tracker ended unexpectedly"
