#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""gnu_time.py [BINARY] - writes the table of docs/FROM-GNU-TIME.md: jobs that record their own
usage, run under GNU time (Debian package time) and under spoor, both with default options.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import truth

MB = 1e6
# Description of the job, its command, and the figures to show.
JOBS = [
    ("one process has 500 MB for 0.1 s", "spike 500 100 write", ("memory",)),
    ("four processes, memory shared and copied on write", "sharing", ("memory",)),
    ("two children have 200 MB each at the same time", "twins together", ("memory",)),
    ("a daemon has 300 MB and runs for 1 s", "daemon 300 1000 stay", ("memory", "cpu")),
    ("200 children run for 20 ms each", "many 200 20 wait", ("cpu",)),
    ("the same, and the parent ignores SIGCHLD", "many 200 20 ignore", ("cpu",)),
]


def run(folder, command, *tracker):
    """Runs a job; returns the job's own figures, and the tracker's output."""
    program, *arguments = command.split()
    environment = {**os.environ, "TRUTH": str(folder / "truth.json")}
    subprocess.run([*tracker, str(folder / program), *arguments], env=environment, check=True)
    return json.loads((folder / "truth.json").read_text()), (folder / "report").read_text()


def figures(folder, command):
    """Returns {figure: (truth, value of GNU time, value of spoor)}, in MB and seconds. The truth
    was recorded in the run under spoor."""
    report = folder / "report"
    _, timed = run(folder, command, "/usr/bin/time", "-o", str(report), "-f", "%M %U %S")
    kilobytes, user, system = map(float, timed.split())
    true, text = run(folder, command, str(folder / "spoor"), "run", "-q", "-f", "json", "-o", str(report), "--")
    ours = json.loads(text)
    return {"memory": (true.get("peak_rss_bytes", 0) / MB, kilobytes * 1024 / MB,
                       ours["memory"]["combined"]["total_rss_bytes"]["value"] / MB),
            "cpu": (true.get("cpu_seconds", 0), user + system, ours["cpu"]["total_seconds"]["value"])}


def main():
    binary = sys.argv[1] if len(sys.argv) > 1 else truth.HERE.parent.parent / "build/spoor"
    print("| job | figure | true | GNU time | spoor |\n|---|---|---:|---:|---:|")
    with tempfile.TemporaryDirectory(prefix="spoor-time-") as name:
        folder = pathlib.Path(name)
        truth.Runner(folder, binary)
        for text, command, shown in JOBS:
            found = figures(folder, command)
            for figure in shown:
                label, form = ("peak memory", "{:.0f} MB") if figure == "memory" else ("CPU time", "{:.2f} s")
                print("| " + " | ".join([text, label, *map(form.format, found[figure])]) + " |")


if __name__ == "__main__":
    main()
