#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""regressions.py [BINARY] - does `spoor check` find regressions of 10 %, and how often does it raise a false alarm?

Runs a job 20 times, then 200 times more without a change, each checked against the runs before it, and then with 10 %
more work and with 10 % more memory, ten times each. Prints how many were reported. Needs a quiet machine: time is measured.
"""
import pathlib
import subprocess
import sys
import tempfile

BINARY = sys.argv[1] if len(sys.argv) > 1 else str(pathlib.Path(__file__).parents[2] / "build/spoor")
EARLIER, UNCHANGED, CHANGED = 20, 200, 10
JOB = "x = bytearray({memory} << 20)\nfor i in range({work} * 100000): pass"


def run(to, work=100, memory=100):
    subprocess.run([BINARY, "run", "-q", "--append", "-f", "json", "-o", to, "--name", "job", "--",
                    "/usr/bin/python3", "-c", JOB.format(work=work, memory=memory)], check=True)


def alarms(folder, figure, **job):
    """The lines of `spoor check` for one more run, which is kept if it is like the others."""
    latest, earlier = folder / "latest.json", folder / "earlier.json"
    latest.unlink(missing_ok=True)
    run(latest, **job)
    done = subprocess.run([BINARY, "check", "--baseline", earlier, "--figures", figure, latest], capture_output=True,
                          text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(done.stderr)
    if not job:
        earlier.write_text(earlier.read_text() + latest.read_text())
    return done.stdout.splitlines()


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for _ in range(EARLIER):
            run(folder / "earlier.json")
        false = [line for _ in range(UNCHANGED) for line in alarms(folder, "time,cpu,memory")]
        print(f"without a change: {len(false)} alarms in {UNCHANGED} runs (time, cpu, memory)")
        print(*false, sep="\n")
        for title, figure, job in (("10 % more work", "time", {"work": 110}), ("10 % more memory", "memory", {"memory": 110})):
            found = sum(bool(alarms(folder, figure, **job)) for _ in range(CHANGED))
            print(f"{title}: {figure} reported in {found} of {CHANGED} runs")


main()
