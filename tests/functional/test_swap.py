# SPDX-License-Identifier: Apache-2.0
"""Memory that resident sizes do not include: swapped out, or in huge pages."""
import csv
import ctypes
import fcntl
import mmap
import os
import pathlib
import signal
import subprocess
import sys

import pytest

from conftest import DEADLINE_SECONDS, children_of, eventually, load, read_line, value, wait_for_samples

pytestmark = pytest.mark.alone  # swap space and huge pages are shared by the whole machine
MB = 1 << 20
HUGE_PAGES = pathlib.Path("/proc/sys/vm/nr_hugepages")
JOB = """if True:
    import ctypes, mmap, sys
    memory = mmap.mmap(-1, {size}, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | {flags})
    for at in range(0, {size}, 4096):
        memory[at] = 1
    print(ctypes.addressof(ctypes.c_char.from_buffer(memory)), flush=True)
    {then}
    sys.stdin.readline()"""


@pytest.fixture(autouse=True, scope="module")
def fixture_ends_by_exception():
    """Restores the settings of the machine if SIGTERM ends the tests: huge pages that were left
    changed the memory of MPI programs tracked later."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    yield
    signal.signal(signal.SIGTERM, before)


def job(size, flags=0, then="pass"):
    return sys.executable, "-c", JOB.format(size=size, flags=flags, then=then)


def wait_until_at_rest(pid):
    """Waits until spoor no longer reads the status of an idle process."""
    for _ in range(4):
        wait_for_samples(pid)


@pytest.fixture
def swap(tmp_path):
    """Enables some swap space for the duration of the test."""
    if os.geteuid() != 0:
        pytest.skip("only root may add swap space")
    file = tmp_path / "swap"
    with file.open("wb") as opened:
        os.fchmod(opened.fileno(), 0o600)
        os.posix_fallocate(opened.fileno(), 0, 128 * MB)
    subprocess.run(["mkswap", file], check=True, stdout=subprocess.DEVNULL)
    if subprocess.run(["swapon", file], check=False).returncode != 0:
        pytest.skip("no swap space can be added")
    yield
    subprocess.run(["swapoff", file], check=True)


def swapped_bytes(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmSwap:")[2].split()[0]) * 1024


def machine_swap_bytes():
    sizes = dict(line.split(":") for line in pathlib.Path("/proc/meminfo").read_text().splitlines())
    return (int(sizes["SwapTotal"].split()[0]) - int(sizes["SwapFree"].split()[0])) * 1024


def swap_out(pid, address, size):
    """Swaps out memory of a process by process_madvise(MADV_PAGEOUT), without waking the
    process."""
    class Range(ctypes.Structure):
        _fields_ = (("start", ctypes.c_void_p), ("size", ctypes.c_size_t))
    descriptor = os.pidfd_open(pid)
    try:
        advise = ctypes.CDLL(None, use_errno=True).syscall
        if advise(440, descriptor, ctypes.byref(Range(address, size)), ctypes.c_size_t(1), 21, 0) < 0:
            pytest.skip(f"process_madvise: {os.strerror(ctypes.get_errno())}")
    finally:
        os.close(descriptor)


def test_swapped_memory_of_a_sleeping_process_is_found(spoor, swap):
    """Regression test: the CPU clock of the process did not advance, so its status was not read
    again."""
    path = spoor.new_path("result.json")
    tracker = spoor.start("run", "-q", "-i", "0.05", "-o", path, "--", *job(60 * MB))
    address = int(read_line(tracker.stdout))
    child = children_of(tracker.pid)[0]
    wait_until_at_rest(tracker.pid)
    swap_out(child, address, 60 * MB)
    swapped = eventually(lambda: swapped_bytes(child), "it is swapped out")
    wait_for_samples(tracker.pid)
    tracker.communicate(b"\n", timeout=DEADLINE_SECONDS)
    result = load(path)
    assert value(result, "memory.swap_peak_bytes") >= 0.9 * swapped
    assert any(warning["code"] == "swapped" for warning in result["warnings"])


def test_swapped_memory_of_a_short_job_is_found(spoor, swap):
    """Regression test: the status was read only once a second."""
    then = "memory.madvise(21); end = __import__('time').process_time() + 0.5\n" \
           "    while __import__('time').process_time() < end: pass"
    _, result = spoor.result(*job(60 * MB, then=then))
    assert value(result, "memory.swap_peak_bytes") >= 30 * MB


def test_swapped_memory_of_forked_processes_counts_once(spoor, swap):
    """VmSwap of each child includes the parent's swapped pages. Regression test: 308 MB were
    reported for 68 MB."""
    path = spoor.new_path("result.json")
    then = f"""import os, time, atexit
    memory.madvise(21)
    child = os.fork() or time.sleep(1000)
    atexit.register(os.kill, child, 9)
    more = mmap.mmap(-1, {8 * MB}, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    more[::4096] = bytes(range(128)) * {8 * MB // 4096 // 128}
    more.madvise(21) # the machine's swap usage changes: the child is read too
    print(flush=True)"""
    tracker = spoor.start("run", "-q", "-i", "0.05", "-o", path, "--", *job(60 * MB, then=then))
    read_line(tracker.stdout)
    read_line(tracker.stdout)
    wait_until_at_rest(tracker.pid)
    swapped, used = swapped_bytes(children_of(tracker.pid)[0]), machine_swap_bytes()
    tracker.communicate(b"\n", timeout=DEADLINE_SECONDS)
    assert 0.9 * swapped <= value(load(path), "memory.swap_peak_bytes") <= used + 16 * MB


@pytest.fixture
def huge_pages():
    if os.geteuid() != 0:
        pytest.skip("only root may reserve huge pages")
    with HUGE_PAGES.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # another run of these tests may change the number, too
        before = HUGE_PAGES.read_text()
        try:
            HUGE_PAGES.write_text(str(int(before) + 10))
            if int(HUGE_PAGES.read_text()) < int(before) + 10:
                pytest.skip("no memory for huge pages")
            yield
        finally:
            HUGE_PAGES.write_text(before)


def run_with_huge_pages(spoor, then="pass"):
    """Runs a job that keeps 20 MB of huge pages until spoor has read it while idle. Returns the
    report and the samples."""
    path, samples = spoor.new_path("result.json"), spoor.new_path("samples.csv")
    command = job(20 * MB, flags=0x40000, then=then)
    tracker = spoor.start("run", "-q", "-i", "0.05", "--samples", samples, "-o", path, "--", *command)
    read_line(tracker.stdout)
    wait_until_at_rest(tracker.pid)
    tracker.communicate(b"\n", timeout=DEADLINE_SECONDS)
    with open(samples, encoding="utf-8") as file:
        return load(path), list(csv.DictReader(file))


def figure(result, path):
    for key in path.split("."):
        result = result[key]
    return result


def test_huge_pages_are_counted_as_memory_of_the_job(spoor, huge_pages):
    """Regression test: 200 MB of huge pages were included in no figure."""
    result, rows = run_with_huge_pages(spoor)
    for path in "main.total_rss_bytes", "combined.total_rss_bytes", "combined.private_rss_bytes":
        memory = figure(result, "memory." + path)
        assert 20 * MB < memory["value"] < 60 * MB, path
        assert memory.get("low", 0) <= memory["value"] <= memory.get("high", memory["value"]), path
    assert max(int(row["job_rss_bytes"] or 0) for row in rows) > 20 * MB
    assert result["processes"]["largest"][0]["peak_rss_bytes"] > 20 * MB


def test_huge_pages_of_two_processes_count_once(spoor, huge_pages):
    """A forked child has the huge pages of its parent."""
    then = "import os, time\n    child = os.fork() or time.sleep(1000)\n    " \
           "__import__('atexit').register(os.kill, child, 9)"
    result, _ = run_with_huge_pages(spoor, then)
    assert 20 * MB < value(result, "memory.descendants.total_rss_bytes")
    assert 20 * MB < value(result, "memory.combined.total_rss_bytes") < 40 * MB
    assert value(result, "memory.combined.shared_rss_bytes") > 20 * MB


def test_huge_pages_shared_with_another_program_are_shared(spoor, huge_pages):
    """Regression test: they were private memory of the job, so that a group of ranks that share
    them had more than the machine."""
    descriptor = os.memfd_create("huge", os.MFD_HUGETLB)
    os.ftruncate(descriptor, 20 * MB)
    mapped = mmap.mmap(descriptor, 20 * MB)
    mapped[::4096] = bytes(len(mapped) // 4096)
    program = f"""if True:
        import mmap, os
        memory = mmap.mmap(os.open("/proc/{os.getpid()}/fd/{descriptor}", os.O_RDWR), {20 * MB})
        sum(memory[::4096])
        print(flush=True)
        open(0).readline()"""
    path = spoor.new_path("result.json")
    tracker = spoor.start("run", "-q", "-i", "0.05", "--detail", "always", "-o", path, "--", sys.executable, "-c", program)
    read_line(tracker.stdout)
    wait_until_at_rest(tracker.pid)
    tracker.communicate(b"\n", timeout=DEADLINE_SECONDS)
    mapped.close()
    os.close(descriptor)
    result = load(path)
    assert value(result, "memory.combined.total_rss_bytes") > 20 * MB
    assert value(result, "memory.combined.shared_rss_bytes") > 20 * MB
    assert value(result, "memory.combined.private_rss_bytes") < 20 * MB
