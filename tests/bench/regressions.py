#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""regressions.py [BINARY] - measures how often `spoor check` finds regressions of 10 %, and how
often it raises a false alarm.

A job that sleeps runs 20 times, then 200 times more without a change, each run checked against
the 20 runs before it; then ten times with 10 % more time and ten times with 10 % more memory.
Then the same is done, with fewer runs, for a job that computes. On a machine shared with others,
its time varies by more than 10 %, so a single run cannot reveal a regression; ten runs together
are compared with the 20 before them (`spoor compare`). Prints how many regressions were found.
"""
import pathlib
import subprocess
import sys
import tempfile

BINARY = sys.argv[1] if len(sys.argv) > 1 else str(pathlib.Path(__file__).parents[2] / "build/spoor")
EARLIER, CHANGED = 20, 10
WAITS = "import time\nx = bytearray({memory} << 20)\ntime.sleep({work} * 0.002)"
COMPUTES = "x = bytearray({memory} << 20)\nfor i in range({work} * 100000): pass"


class Trial:
    """Runs of a job: the earlier runs, and the latest one."""

    def __init__(self, folder, job):
        self.job, self.earlier, self.latest = job, folder / "earlier.json", folder / "latest.json"
        for _ in range(EARLIER):
            self.run(self.earlier)

    def run(self, to, work=100, memory=100):
        subprocess.run([BINARY, "run", "-q", "--append", "-f", "json", "-o", to, "--name", "job", "--",
                        "/usr/bin/python3", "-c", self.job.format(work=work, memory=memory)], check=True)

    def alarms(self, figures, **change):
        """Runs `spoor check` on one more run and returns its output. A run without a change is
        added to the earlier runs."""
        self.latest.unlink(missing_ok=True)
        self.run(self.latest, **change)
        done = subprocess.run([BINARY, "check", "--baseline", self.earlier, "--figures", figures, self.latest],
                              capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1):
            sys.exit(done.stderr)
        if not change:
            self.earlier.write_text(self.earlier.read_text() + self.latest.read_text())
        return done.stdout.splitlines()

    def show(self, title, unchanged):
        false = [lines for lines in (self.alarms("time,cpu,memory") for _ in range(unchanged)) if lines]
        print(f"{title}, without a change: alarms in {len(false)} of {unchanged} runs")
        print(*(f"  {line}" for lines in false for line in lines), sep="\n")
        for figure, change in (("time", {"work": 110}), ("memory", {"memory": 110})):
            found = sum(bool(self.alarms(figure, **change)) for _ in range(CHANGED))
            print(f"{title}, 10 % more {figure}: found in {found} of {CHANGED} runs", flush=True)


def compare(trial):
    together, last = trial.latest.with_name("together.json"), trial.latest.with_name("last.json")
    for _ in range(EARLIER):
        trial.run(last)
    for _ in range(CHANGED):
        trial.run(together, work=110)
    subprocess.run([BINARY, "compare", "--figures", "time,cpu", last, together], check=True)


def main():
    for title, job, unchanged in (("waits", WAITS, 200), ("computes", COMPUTES, 60)):
        with tempfile.TemporaryDirectory() as name:
            trial = Trial(pathlib.Path(name), job)
            trial.show(title, unchanged)
            if job == COMPUTES:
                compare(trial)


main()
