# SPDX-License-Identifier: Apache-2.0
"""Trackers with threads, forks, other trackers, and in programs that are killed."""
import csv
import json
import multiprocessing
import os
import pathlib
import resource
import signal
import subprocess
import sys
import threading

import pytest

import gpu_tracker as gput
import spoor
from conftest import BINARY, DEADLINE_SECONDS, agents, eventually, is_alive


def descriptors():
    return len(os.listdir("/proc/self/fd"))


STARTS = 1000 if os.environ.get("TEST_FULL") else 100


def test_repeated_starts_leave_no_agents_or_descriptors():
    gput.Tracker(disable_logs=True).__enter__().stop()  # imports modules that are loaded only once
    before, open_before = agents(), descriptors()
    for _ in range(STARTS):
        tracker = gput.Tracker(disable_logs=True)
        tracker.start()
        tracker.stop()
    assert descriptors() == open_before and os.listdir() == []
    eventually(lambda: agents() <= before, "the end of all agents")
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_agent_is_not_a_child_of_the_program(script):
    assert script("""
        import os, signal, spoor
        seen = []
        signal.signal(signal.SIGCHLD, lambda *_: seen.append(1))
        with spoor.Tracker() as tracker:
            try:
                os.wait()
            except ChildProcessError:
                print("none")
            agent = tracker._agent.ready["pid"]
            print(os.getsid(agent) == agent, os.getpgid(agent) == agent)
            print(open(f"/proc/{agent}/comm").read().strip())
            print(len(os.listdir(f"/proc/{agent}/fd")) < 64)
        print(len(seen))
    """).split() == ["none", "True", "True", "spoor-agent", "True", "0"]


def test_agent_does_not_inherit_descriptors():
    read_fd, write_fd = os.pipe()
    os.set_inheritable(write_fd, True)
    with spoor.Tracker():
        os.close(write_fd)
        assert os.read(read_fd, 1) == b""  # the agent has not inherited it
    os.close(read_fd)


def test_tracker_works_with_closed_standard_descriptors(tmp_path):
    code = "import spoor; t = spoor.Tracker(); t.start(); t.stop(); open('ok', 'w')"
    subprocess.run(["sh", "-c", f"exec {sys.executable} -c \"{code}\" <&- >&- 2>&-"], check=True)
    assert (tmp_path / "ok").exists()


def test_interrupt_at_the_terminal_does_not_end_the_agent(script):
    """The signal is sent to the program's whole process group."""
    process = script.start("""
        import signal, time, gpu_tracker
        signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background
        try:
            with gpu_tracker.Tracker(disable_logs=True) as tracker:
                print("ready", flush=True)
                while True:  # a signal just before a pause() would not end it
                    time.sleep(0.01)
        except KeyboardInterrupt:
            print(tracker.resource_usage.max_ram.main.total_rss > 0)
    """, start_new_session=True)
    assert process.stdout.readline() == "ready\n"
    os.killpg(process.pid, signal.SIGINT)
    assert process.communicate(timeout=DEADLINE_SECONDS)[0] == "True\n"


KILLED = """
    import os, sys, signal, gpu_tracker, spoor
    gpu = gpu_tracker.Tracker(disable_logs=True, sleep_time=0.1, tracking_file=sys.argv[1])
    gpu.start()
    own = spoor.Tracker(interval=0.05, output="r.json", samples="s.csv").start()
    print(gpu._agent.ready["pid"], own._agent.ready["pid"], flush=True)
    signal.pause()
"""


@pytest.mark.parametrize("name", ["t.csv", "t.sqlite"])
def test_files_are_complete_when_the_program_is_killed(script, name):
    process = script.start(KILLED, name)
    pids = [int(word) for word in process.stdout.readline().split()]
    assert all(map(is_alive, pids))
    process.kill()
    process.wait()
    process.stdout.close()
    for pid in pids:
        eventually(lambda pid=pid: not is_alive(pid), "the end of the agent")
    result = json.loads(pathlib.Path("r.json").read_text(encoding="utf-8"))
    assert result["run"]["pid"] == process.pid
    assert pathlib.Path("s.csv").read_bytes().endswith(b"\n")
    if name.endswith(".csv"):
        text = pathlib.Path(name).read_bytes().decode()
        rows = list(csv.reader(text.splitlines()))
        assert text.endswith("\r\n") and {len(row) for row in rows[2:]} == {22} and len(rows) > 3
    else:
        import sqlite3

        connection = sqlite3.connect(name)
        assert connection.execute("SELECT count(*) FROM data").fetchone()[0] > 0
        assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        connection.close()
    assert not [path for path in os.listdir() if path.endswith(("-wal", "-shm", "-journal"))]


def test_child_that_outlives_the_program_does_not_keep_the_agent_alive(script):
    process = script.start("""
        import os, sys, signal, spoor
        tracker = spoor.Tracker(output="r.json").start()
        child = os.fork()
        if child == 0:
            try:
                tracker.stop()
            except spoor.Error as error:
                assert "belongs to the process that started it" in str(error)
            os.write(1, b"%d\\n" % os.getpid())
            signal.pause()
        os.write(1, b"%d\\n" % tracker._agent.ready["pid"])
        signal.pause()
    """)
    pids = [int(process.stdout.readline()) for _ in range(2)]
    child = next(pid for pid in pids if pathlib.Path(f"/proc/{pid}/comm").read_text()
                 != "spoor-agent\n")
    agent = sum(pids) - child
    process.kill()
    process.wait()
    eventually(lambda: not is_alive(agent), "the end of the agent")
    assert is_alive(child) and os.path.exists("r.json")
    os.kill(child, signal.SIGKILL)
    process.stdout.close()


def test_forked_child_may_leave_the_block(script):
    assert script("""
        import os, sys, gpu_tracker, spoor
        with spoor.Tracker() as own, gpu_tracker.Tracker(disable_logs=True) as tracker:
            child = os.fork()
            if child == 0:
                spoor.phase("child").__enter__()
                with gpu_tracker.Tracker(disable_logs=True) as inner:
                    pass
                assert inner.resource_usage.max_ram.main.total_rss > 0
                assert inner.resource_usage.max_ram.descendants.total_rss == 0
        if child == 0:
            sys.exit(7)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        print(tracker.resource_usage.max_ram.main.total_rss > 0, own.result.run.pid == os.getpid())
    """).split() == ["7", "True", "True"]


METHODS = """
    import multiprocessing, os, sys, gpu_tracker

    def work(queue, gate):
        with gpu_tracker.Tracker(disable_logs=True, ram_unit="megabytes") as tracker:
            held = bytearray(100 * 10 ** 6)
        queue.put((os.getpid(), tracker.resource_usage.max_ram.main.total_rss,
                   tracker.resource_usage.max_ram.descendants.total_rss))
        gate.get()

    if __name__ == "__main__":
        context = multiprocessing.get_context(sys.argv[1])
        queue, gate = context.SimpleQueue(), context.SimpleQueue()
        with gpu_tracker.Tracker(disable_logs=True, ram_unit="megabytes", sleep_time=0.1) as tracker:
            children = [context.Process(target=work, args=(queue, gate)) for _ in range(3)]
            for child in children:
                child.start()
            results = [queue.get() for _ in children]
            tracker._agent.ask("sample")  # all processes hold their memory
            for child in children:
                gate.put(None)
            for child in children:
                child.join()
        for _, main, descendants in results:
            assert 100 < main < 200 and descendants == 0, results
        assert len({pid for pid, _, _ in results}) == 3
        usage = tracker.resource_usage
        # All three, without pages that copies may share because they changed during the read.
        assert 250 < usage.max_ram.descendants.total_rss < 700, usage.max_ram
        assert usage.max_ram.main.total_rss < 60, usage.max_ram
        print("fine")
"""


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_multiprocessing_is_supported(script, method):
    assert script(METHODS, method) == "fine\n"


def test_threads_have_their_own_trackers():
    results = []

    def work():
        for _ in range(5):
            with gput.Tracker(disable_logs=True) as tracker, spoor.Tracker() as own:
                with own.phase("p"):
                    pass
            results.append((tracker.resource_usage.max_ram.main.total_rss, own.result.run.pid))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 40
    assert all(rss > 0 and pid == os.getpid() for rss, pid in results)


def test_start_and_stop_may_be_in_different_threads():
    tracker = spoor.Tracker()
    thread = threading.Thread(target=tracker.start)
    thread.start()
    thread.join()
    assert tracker.stop().run.pid == os.getpid()


# By how much the reported CPU time of the descendants may exceed RUSAGE_CHILDREN, if a process's
# children are intermediate processes that start agents: the resolution of two counters in
# hundredths of a second.
RESOLUTION_SECONDS = 0.02


def children_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_concurrent_trackers_do_not_count_each_other():
    before = children_seconds()
    with spoor.Tracker(interval=0.01) as outer:
        for _ in range(5):
            with gput.Tracker(disable_logs=True) as inner, spoor.Tracker() as innermost:
                outer.sample()
    for memory in (outer.result.memory, innermost.result.memory):
        assert memory.descendants.total_rss_bytes.value == 0
    assert inner.resource_usage.max_ram.descendants.total_rss == 0
    assert outer.result.cpu.threads.descendants.value == 0
    cpu_seconds = outer.result.cpu.descendants.mean_cores.value * outer.result.run.elapsed_seconds
    assert cpu_seconds <= children_seconds() - before + RESOLUTION_SECONDS
    assert outer.result.processes.max_concurrent.value == 1


def test_agent_is_not_part_of_a_job_of_spoor_run(script, tmp_path):
    """spoor run adopts the agent and reaps it."""
    program = tmp_path / "program.py"
    # The program reaches its peak early. An increase after the last sample could also be the peak
    # of a child that the program waited for, and it has waited for the intermediate process.
    program.write_text("import gpu_tracker, resource, time\n"
                       "bytearray(20 * 10 ** 6)\n"
                       "with gpu_tracker.Tracker(disable_logs=True):\n"
                       "    time.sleep(0.3)\n"
                       "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
                       "print(used.ru_utime + used.ru_stime)\n")
    done = subprocess.run([BINARY, "run", "-q", "-i", "0.01", "--cgroup", "off", "-o", "r.json",
                           "--", sys.executable, program], check=True, stdout=subprocess.PIPE,
                          env={**os.environ, "SPOOR_DISABLE": "perf"})
    result = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert result["memory"]["descendants"]["total_rss_bytes"]["value"] == 0
    assert result["cpu"]["threads"]["descendants"]["value"] == 0
    assert result["processes"]["started"]["value"] == 1
    cpu_seconds = result["cpu"]["descendants"]["mean_cores"]["value"] * \
        result["run"]["elapsed_seconds"]
    assert cpu_seconds <= float(done.stdout) + RESOLUTION_SECONDS
    # At this interval, a busy machine skips samples, with a warning.
    assert {warning["code"] for warning in result["warnings"]} <= {"late-samples"}


def test_agent_is_not_counted_among_the_processes_of_a_job(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import spoor\nspoor.Tracker().start()\ninput()\n")
    samples = tmp_path / "s.jsonl"
    process = subprocess.Popen([BINARY, "run", "-q", "-i", "0.02", "-o", "r.json", "--samples",
                                samples, "--", sys.executable, program], stdin=subprocess.PIPE)
    eventually(lambda: samples.exists() and samples.read_bytes().count(b"\n") > 5
               and len(agents()) > 0, "the agent")
    before = samples.read_bytes().count(b"\n")
    eventually(lambda: samples.read_bytes().count(b"\n") > before + 5, "more samples")
    process.communicate(b"\n")
    result = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    events = result["processes"]["started"]
    if events["source"] == "perf.fork-ring" and events["exact"]:
        assert events["value"] == result["processes"]["max_concurrent"]["value"] == 1
        threads = result["cpu"]["threads"]
        assert threads["combined"]["value"] == threads["main"]["value"]
        assert threads["descendants"]["value"] == 0


@pytest.mark.parametrize("cgroup", ["auto", "off"])
def test_usage_of_an_agent_is_not_counted(tmp_path, cgroup):
    """The usage is not counted although the cgroup and perf include it."""
    program = tmp_path / "program.py"
    program.write_text("import spoor, time\n"
                       "with spoor.Tracker(interval=0.001) as tracker:\n"
                       "    agent = tracker._agent.ready['pid']\n"
                       "    clock = ~agent << 3 | 2\n"
                       "    while time.clock_gettime(clock) < 0.15: time.sleep(0.01)\n"
                       "print(time.process_time())\n")
    done = subprocess.run([BINARY, "run", "-q", "--cgroup", cgroup, "-o", "r.json", "--",
                           sys.executable, program], check=True, stdout=subprocess.PIPE)
    result = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert result["cpu"]["total_seconds"]["value"] <= float(done.stdout) + 0.07
    assert "unwaited-children" not in {warning["code"] for warning in result["warnings"]}


def test_agent_that_outlives_its_program_does_not_prolong_the_job(tmp_path):
    """The agent was not stopped: it notices that its program has exited, and takes a last
    sample."""
    program = tmp_path / "program.py"
    program.write_text("import os, signal, spoor\n"
                       "agent = spoor.Tracker().start()._agent.ready['pid']\n"
                       "os.kill(agent, signal.SIGSTOP)\n"
                       "print(agent, flush=True)\n"
                       "os._exit(0)\n")
    done = subprocess.run([BINARY, "run", "-q", "-o", "r.json", "--", sys.executable, program],
                          check=True, stdout=subprocess.PIPE)
    os.kill(int(done.stdout), signal.SIGKILL)
    result = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert "still-running" not in {warning["code"] for warning in result["warnings"]}
