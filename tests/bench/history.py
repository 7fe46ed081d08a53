# SPDX-License-Identifier: Apache-2.0
"""history.py - measures the cost of a history: time to append a run, time of a query, bytes."""
import datetime
import json
import os
import statistics
import subprocess
import time

import machine
from rows import Row, spread_of
from starting import take_turns

RUNS, QUICK_RUNS = 1_000_000, 20_000
NAMES = 1000
APPEND_LIMIT_MS, QUERY_LIMIT_SECONDS, LIMIT_BYTES = 2.0, 1.0, 2048
START = datetime.datetime(2026, 1, 1)


def fill(folder, row, count):
    """Writes a history of many runs, one per minute, with equal figures and NAMES different
    names. Returns its size in bytes."""
    row = {**row, "id": "@ID@", "name": "@NAME@", "started_at": "@START@"}
    template = json.dumps(row, separators=(",", ":")) + "\n"
    files, total = {}, 0
    for number in range(count):
        start = START + datetime.timedelta(seconds=20 * number)
        month = f"{start:%Y-%m}"
        if month not in files:
            path = folder / "runs" / month / "bench.jsonl"
            path.parent.mkdir(parents=True)
            files[month] = path.open("w", encoding="utf-8")
        line = (template.replace("@ID@", f"{number * 2654435761 % 2**64:032x}")
                .replace("@NAME@", f"job{number % NAMES}")
                .replace("@START@", f"{start:%Y-%m-%dT%H:%M:%S}.000Z"))
        total += files[month].write(line)
    for file in files.values():
        file.close()
    return total


def timed(command):
    """Returns how many seconds a command takes, and the number of lines that it prints."""
    started = time.perf_counter()
    output = subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout
    return time.perf_counter() - started, output.splitlines()


def cpu_ms(command):
    """Returns the CPU time of a command and all its children, which other programs hardly
    affect."""
    pid = os.posix_spawnp(command[0], command, os.environ)
    _, status, usage = os.wait4(pid, 0)
    assert status == 0, f"{command}: {status}"
    return (usage.ru_utime + usage.ru_stime) * 1e3


def history(bench):
    count = RUNS if bench.effort == 1 else QUICK_RUNS
    run = [bench.spoor, "run", "-q", "--name", "bench", "--tag", "v=1"]
    with machine.scratch() as folder:
        os.environ |= {"SPOOR_HISTORY": "no", "XDG_CACHE_HOME": str(folder / "cache")}
        kept = f"--history={folder / 'history'}"
        machine.run([*run, kept, "--", "true"])
        row = json.loads(next((folder / "history").glob("runs/*/*")).read_text())
        total = fill(folder / "history", row, count)
        query = [bench.spoor, "history", kept, "--name", "job7", "-f", "csv"]
        build, lines = timed(query)
        assert len(lines) == count / NAMES + 1
        queries = [timed(query)[0] for _ in range(bench.much(10, 3))]
        by_time = [timed([*query[:3], "last=30"])[0] for _ in range(bench.much(10, 3))]
        commands = [[*run, "--", "true"], [*run, kept, "--", "true"]]
        plain, saved = take_turns(commands, bench.much(100, 10))
        plain_cpu, saved_cpu = zip(*([cpu_ms(command) for command in commands]
                                     for _ in range(bench.much(100, 10))))
        size = sum(path.stat().st_size for path in (folder / "cache").rglob("*.sqlite"))
    what = f"of {count:,} runs"
    return [
        Row(f"time to append a run to a history {what}", "ms",
            statistics.median(saved) - statistics.median(plain), None, APPEND_LIMIT_MS, "",
            spread_of(saved), {"plain": statistics.median(plain)}),
        Row("CPU time to append a run", "ms", statistics.median(saved_cpu) - statistics.median(plain_cpu), None,
            APPEND_LIMIT_MS, "", spread_of(saved_cpu), {"plain": statistics.median(plain_cpu)}),
        Row(f"history --name {what}", "s", statistics.median(queries), None, QUERY_LIMIT_SECONDS, "",
            spread_of(queries), {"first": build, "index_bytes_per_run": size / count}),
        Row(f"history last=30 {what}", "s", statistics.median(by_time), None, QUERY_LIMIT_SECONDS, "",
            spread_of(by_time), {}),
        Row("bytes of a run in the history", "bytes", total / count, None, LIMIT_BYTES, "", 0, {}),
    ]
