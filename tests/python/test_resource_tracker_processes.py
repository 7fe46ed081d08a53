# SPDX-License-Identifier: Apache-2.0
"""resource_tracker counts all kinds of descendants, and never itself."""
import os
import signal
import subprocess
import sys
import time

import pytest

from conftest import eventually
from resource_tracker import ResourceTracker
from resource_tracker.column_maps import NEWEST, OLDEST, README
from resource_tracker.tracker_procfs import get_process_stats, get_system_stats

BURN = """
import sys, time
def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
    return time.process_time()
"""


def cpu(tracker):
    frame = tracker.process_metrics
    return sum(frame["utime"]) + sum(frame["stime"])


def test_an_idle_program_has_its_own_memory_and_no_children(script):
    """Bug W11 of the predecessor: the trackers counted themselves."""
    out = script("""
        import os
        from resource_tracker import ResourceTracker
        from resource_tracker.tracker import get_pid_children, get_pid_pss_rollup

        with ResourceTracker(interval=0.02) as tracker:
            tracker.wait_for_samples(5, timeout=60)
            assert get_pid_children(os.getpid()) == set()
            own = get_pid_pss_rollup(os.getpid()) / 1024
        frame = tracker.process_metrics
        assert set(frame["children"]) <= {0, None}, frame["children"]
        print(min(frame["memory_mib"]) / own, max(frame["memory_mib"]) / own)
    """)
    least, most = map(float, out.split())
    assert 0.5 < least <= most < 1.5  # library pages are shared with other processes


def test_child_started_by_a_thread_is_counted():
    """Bug W7 of the predecessor: only children of the main thread were found."""
    import threading

    started, end = threading.Event(), threading.Event()

    def work():
        with subprocess.Popen([sys.executable, "-c", "held = bytearray(60 << 20); input()"],
                              stdin=subprocess.PIPE) as child:
            started.set()
            end.wait()
            child.communicate(b"\n")

    with ResourceTracker(interval=0.02) as tracker:
        tracker.wait_for_samples(1, timeout=60)
        before = tracker.process_metrics["memory_mib"][-1]
        thread = threading.Thread(target=work)
        thread.start()
        started.wait()
        try:
            eventually(lambda: tracker.process_metrics["memory_mib"][-1] > before + 50,
                       "the memory of the child")
            assert tracker.process_metrics["children"][-1] >= 1
        finally:
            end.set()
            thread.join()


def test_cpu_time_of_children_is_added_up():
    program = BURN + "print(burn(0.3))"
    with ResourceTracker(interval=0.05) as tracker:
        truth = sum(float(subprocess.run([sys.executable, "-c", program], check=True,
                                         stdout=subprocess.PIPE).stdout) for _ in range(3))
    assert cpu(tracker) == pytest.approx(truth, rel=0.15)
    assert tracker.run_totals["cpu.total_seconds"]["value"] == pytest.approx(cpu(tracker), rel=0.1)


def test_children_that_are_not_waited_for_are_counted(script):
    """Bug W13 of the predecessor: with SIGCHLD ignored, the CPU time of these children was lost."""
    out = script(BURN + """
import os, signal
from resource_tracker import ResourceTracker
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
with ResourceTracker(interval=0.02) as tracker:
    tracker.wait_for_samples(1, timeout=60)
    for _ in range(2):
        reader, writer = os.pipe()
        may_end, end = os.pipe()
        if os.fork() == 0:
            os.close(reader)
            os.close(end)
            burn(0.4)
            os.write(writer, b"x")
            os.read(may_end, 1)
            os._exit(0)
        os.close(writer)
        assert os.read(reader, 1) == b"x"
        done = time.time()
        while tracker.process_metrics["timestamp"][-1] <= done:
            tracker.wait_for_samples(tracker.n_samples + 1, timeout=60)
        os.close(end)
        assert os.read(reader, 1) == b""  # at its end
frame = tracker.process_metrics
print(sum(frame["utime"]) + sum(frame["stime"]))
    """)
    assert float(out) > 0.6  # the children used 0.8 s


def test_a_daemon_is_counted(script):
    """Bug W13 of the predecessor: the memory of a daemonized process was not counted."""
    script("""
        import os, signal, time
        from resource_tracker import ResourceTracker

        def memory():
            tracker.wait_for_samples(tracker.n_samples + 1, timeout=60)
            return tracker.process_metrics["memory_mib"][-1]

        with ResourceTracker(interval=0.02) as tracker:
            before = memory()
            reader, writer = os.pipe()
            may_end, end = os.pipe()
            parent = os.fork()
            if parent == 0:
                daemon = os.fork()
                if daemon == 0:
                    os.setsid()
                    held = bytearray(60 << 20)
                    os.write(writer, b"x")
                    signal.pause()
                os.write(writer, b"%d" % daemon)
                os.read(may_end, 1)
                os._exit(0)
            said = b""
            while not said.count(b"x") or len(said) < 2:
                said += os.read(reader, 20)
            daemon = int(said.replace(b"x", b""))
            try:
                while memory() < before + 50:
                    pass
                os.write(end, b"x")
                os.waitpid(parent, 0)  # it is an orphan now
                tracker.wait_for_samples(tracker.n_samples + 3, timeout=60)
                assert memory() > before + 50
            finally:
                os.kill(daemon, signal.SIGKILL)
    """)


def test_children_can_be_excluded():
    program = BURN + "print(burn(0.3))"
    with ResourceTracker(interval=0.05, children=False, track_system=False) as tracker:
        subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.PIPE)
    assert cpu(tracker) < 0.2
    assert set(tracker.process_metrics["children"]) == {None}


def test_a_process_name_may_contain_blanks_and_parentheses(script):
    """Bug W8 of the predecessor: such a name shifted the fields of /proc/PID/stat."""
    out = script(BURN + """
import os
from resource_tracker import ResourceTracker
from resource_tracker.tracker import get_pid_proc_times
from resource_tracker.tracker_procfs import get_process_stats
with open("/proc/self/comm", "w") as file:
    file.write("a b) 9 9 (c")
with ResourceTracker(interval=0.05) as tracker:
    before = time.process_time()
    burn(0.3)
    used = time.process_time() - before
frame = tracker.process_metrics
ticks = get_pid_proc_times(os.getpid())
total = time.process_time()
print((sum(frame["utime"]) + sum(frame["stime"])) / used,
      sum(ticks.values()) / os.sysconf("SC_CLK_TCK") / total,
      sum(get_process_stats(os.getpid())[key] for key in ("utime", "stime")) / total)
    """)
    assert all(0.8 < float(ratio) < 1.3 for ratio in out.split()), out


# ---- readings ----


def test_process_stats_have_the_documented_keys():
    stats = get_process_stats(os.getpid())
    assert list(stats) == ["timestamp", "pid", "children", "utime", "stime", "memory_mib",
                           "disk_read_bytes", "disk_write_bytes", "gpu_usage", "gpu_vram_mib",
                           "gpu_utilized", "gpu_utilized_indexes"]
    assert stats["pid"] == os.getpid() and abs(stats["timestamp"] - time.time()) < 60
    assert stats["gpu_utilized_indexes"] == set()
    assert stats["memory_mib"] > 1 and stats["utime"] + stats["stime"] > 0
    assert get_process_stats(os.getpid(), children=False)["children"] is None
    later = get_process_stats(os.getpid())
    assert later["timestamp"] > stats["timestamp"] and later["utime"] >= stats["utime"]


def test_descendants_are_counted():
    with subprocess.Popen(["sh", "-c", "sh -c 'sleep 1000 & echo; wait' & wait"],
                          stdout=subprocess.PIPE, start_new_session=True) as shell:
        shell.stdout.readline()
        children = get_process_stats(shell.pid)["children"]
        os.killpg(shell.pid, signal.SIGKILL)
    assert children == 2


def test_an_exited_process_uses_nothing():
    with subprocess.Popen([sys.executable, "-c", "pass"]) as child:
        pass
    stats = get_process_stats(child.pid)
    assert stats["memory_mib"] == stats["utime"] == stats["children"] == 0
    assert list(stats) == list(get_process_stats(os.getpid()))


def test_system_stats_have_the_documented_keys():
    stats = get_system_stats()
    assert set(stats) == {
        "timestamp", "processes", "utime", "stime", "memory_free_mib", "memory_used_mib",
        "memory_buffers_mib", "memory_cached_mib", "memory_active_mib", "memory_inactive_mib",
        "disk_stats", "disk_spaces", "net_recv_bytes", "net_sent_bytes", "gpu_usage",
        "gpu_vram_mib", "gpu_utilized"}
    assert stats["processes"] > 1 and stats["utime"] > 0 and stats["memory_used_mib"] > 1
    for disk in stats["disk_stats"].values():
        assert set(disk) == {"read_bytes", "write_bytes"}
    for space in stats["disk_spaces"].values():
        assert space["total"] == space["used"] + space["free"] > 0


def test_the_loopback_device_is_not_counted():
    """Bug W10 of the predecessor: with psutil, the loopback device was counted."""
    import socket

    before = get_system_stats()
    with socket.create_server(("127.0.0.1", 0)) as server, \
            socket.create_connection(server.getsockname()) as client:
        connection, _ = server.accept()
        with connection:
            for _ in range(500):
                client.sendall(b"x" * 65536)
                left = 65536
                while left:
                    left -= len(connection.recv(left))
    after = get_system_stats()
    assert after["net_sent_bytes"] - before["net_sent_bytes"] < 500 * 65536


def test_killed_agent_is_replaced_at_the_next_reading():
    from resource_tracker import _tracking

    get_system_stats()
    os.kill(_tracking._agent.ready["pid"], signal.SIGKILL)
    assert get_system_stats()["processes"] > 1


def test_a_forked_child_can_take_readings():
    get_system_stats()
    pid = os.fork()
    if pid == 0:
        os._exit(0 if get_process_stats(os.getpid())["memory_mib"] > 0 else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert get_system_stats()["processes"] > 1


# ---- version 0.1 ----


def test_functions_for_one_process_return_values_of_that_process():
    from resource_tracker.tracker import (get_pid_children, get_pid_proc_io, get_pid_proc_times,
                                          get_pid_pss_rollup, get_pid_rss)

    with subprocess.Popen(["sh", "-c", "sleep 1000 & echo; wait"], stdout=subprocess.PIPE) as shell:
        shell.stdout.readline()
        children = get_pid_children(os.getpid())
        assert shell.pid in children and len(get_pid_children(shell.pid)) == 1
        assert get_pid_children(shell.pid) < children
        for pid in get_pid_children(shell.pid) | {shell.pid}:
            os.kill(pid, 9)
    assert get_pid_rss(os.getpid()) >= get_pid_pss_rollup(os.getpid()) > 1000
    times = get_pid_proc_times(os.getpid())
    assert set(times) == {"utime", "stime"} and times["utime"] > 0
    assert times["utime"] >= get_pid_proc_times(os.getpid(), children=False)["utime"]
    assert {"read_bytes", "write_bytes", "rchar"} <= set(get_pid_proc_io(os.getpid()))
    gone = shell.pid
    assert get_pid_children(gone) == set() and get_pid_rss(gone) == get_pid_pss_rollup(gone) == 0
    assert get_pid_proc_times(gone) == {"utime": 0, "stime": 0}
    assert get_pid_proc_io(gone) == {"read_bytes": 0, "write_bytes": 0}


def test_readings_of_version_0_1_have_the_documented_keys():
    from resource_tracker.tracker import get_pid_stats, get_system_stats

    stats = get_pid_stats(os.getpid())
    assert set(stats) == {"timestamp", "pid", "children", "utime", "stime", "pss", "read_bytes",
                          "write_bytes", "gpu_usage", "gpu_vram", "gpu_utilized",
                          "gpu_utilized_indexes"}
    assert stats["pss"] > 1000 and type(stats["pss"]) is type(stats["utime"]) is int
    system = get_system_stats()
    assert {"timestamp", "processes", "utime", "stime", "memory_free", "memory_used",
            "memory_buffers", "memory_cached", "memory_active_anon", "memory_inactive_anon",
            "disk_stats", "disk_spaces", "net_recv_bytes", "net_sent_bytes"} <= set(system)
    for disk in system["disk_stats"].values():
        assert set(disk) == {"read_sectors", "write_sectors"}
    assert system["utime"] > 100 and system["memory_used"] > 1000


def test_clock_ticks_are_rounded_not_truncated(monkeypatch):
    """0.29 s are 29 ticks, although 0.29 * 100 is slightly less in floating point."""
    from resource_tracker import tracker_procfs

    per_second = os.sysconf("SC_CLK_TCK")
    process, system = get_process_stats(os.getpid()), get_system_stats()
    monkeypatch.setattr(tracker_procfs, "get_process_stats", lambda *arguments: process)
    monkeypatch.setattr(tracker_procfs, "get_system_stats", lambda: system)
    for ticks in range(10 * per_second):
        process["utime"] = system["stime"] = ticks / per_second
        assert tracker_procfs.old_process_stats("pss", 1, True)["utime"] == ticks
        assert tracker_procfs._ticks(system["stime"]) == ticks
    assert tracker_procfs.old_system_stats()["stime"] == ticks and tracker_procfs._ticks(None) is None


# ---- rows one at a time ----


def test_diff_stats_are_growth_since_the_last_call():
    from resource_tracker import ProcessTracker, SystemTracker

    tracker = ProcessTracker(autostart=False)
    assert (tracker.status, tracker.cycle, tracker.interval, tracker.pid) == \
        ("running", 0, 1, os.getpid())
    assert tracker() is None and tracker.stats["pid"] == os.getpid()
    end = time.process_time() + 0.2
    while time.process_time() < end:
        pass
    row = tracker.diff_stats()
    assert 0.1 < row["utime"] + row["stime"] < 1 and row["cpu_usage"] > 0 and tracker.cycle == 1
    assert len(row) == 12 and len(SystemTracker(autostart=False).diff_stats()) == 21
    with pytest.raises(ValueError, match="must be positive"):
        ProcessTracker(interval=0)


@pytest.mark.parametrize("dialect, suffix", [(README, ""), (OLDEST, "_anon")])
def test_older_dialects_compute_memory_differently(monkeypatch, dialect, suffix):
    """As in the CSV rows of these dialects, reclaimable and available memory do not matter."""
    from resource_tracker import SystemTracker, tracker_procfs

    monkeypatch.setattr(tracker_procfs, "_meminfo", lambda: {
        "MemTotal": 100000, "MemFree": 20000, "MemAvailable": 70000, "Buffers": 3000,
        "Cached": 40000, "SReclaimable": 5000, "Active": 30000, "Inactive": 25000,
        "Active(anon)": 30000, "Inactive(anon)": 25000})
    row = SystemTracker(autostart=False, dialect=dialect).diff_stats()
    assert {name: value for name, value in row.items() if name.startswith("memory_")} == {
        "memory_free": 20000, "memory_used": 37000, "memory_buffers": 3000,
        "memory_cached": 40000, f"memory_active{suffix}": 30000,
        f"memory_inactive{suffix}": 25000}


def test_pid_tracker_provides_the_oldest_interface():
    from resource_tracker.tracker import PidTracker, ProcessTracker, SystemTracker

    with pytest.warns(DeprecationWarning, match="PidTracker is deprecated") as caught:
        tracker = PidTracker(os.getpid(), 0.5, True, False)
    assert caught[0].filename == __file__ and isinstance(tracker, ProcessTracker)
    assert (tracker.interval, tracker.children, tracker.dialect) == (0.5, True, OLDEST)
    row = tracker.diff_stats()
    assert row["pss"] > 1000 and "read_bytes" in row and "memory_mib" not in row
    row = SystemTracker(autostart=False, dialect=OLDEST).diff_stats()
    assert type(row["memory_active_anon"]) is int
    assert SystemTracker(autostart=False).dialect == NEWEST
