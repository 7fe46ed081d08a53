#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""upload.py [--batches N] [--outage SECONDS] [SPOOR] - tests that an upload survives a network
that is down.

Runs a job of 200 batches; in the middle the service is down for 60 s. Every sample on disk must
arrive once. Takes three minutes. Exits with status 0 if nothing is lost.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "functional"))

from fake_sentinel import FakeSentinel  # noqa: E402: the line above adds its folder to the path

INTERVAL_SECONDS = 0.5


def wait_for(condition, seconds, what):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            sys.exit(f"not within {seconds:.0f} s: {what}")
        time.sleep(0.05)


def main():
    parser = argparse.ArgumentParser(description="does an upload survive a network that is down?")
    parser.add_argument("--batches", type=int, default=200)
    parser.add_argument("--outage", type=float, default=60)
    parser.add_argument("spoor", nargs="?", default="build/spoor")
    arguments = parser.parse_args()
    service = FakeSentinel()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "resource-tracker").symlink_to(pathlib.Path(arguments.spoor).resolve())
        environment = service.environment(folder, TRACKER_UPLOAD_INTERVAL=str(INTERVAL_SECONDS),
                                          SPOOR_METADATA_URL=service.url)
        process = subprocess.Popen([folder / "resource-tracker", "-i", "0.02", "-f", "csv", "-o",
                                    folder / "samples.csv", "--", "cat"], stdin=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True,
                                   env={**os.environ, **environment})
        patience = 60 + 4 * INTERVAL_SECONDS * arguments.batches
        wait_for(lambda: len(service.objects) >= arguments.batches // 2, patience, "half of the batches")
        service.go_away()
        time.sleep(arguments.outage)
        service.come_back()
        wait_for(lambda: len(service.objects) >= arguments.batches, patience, "all batches")
        process.stdin.close()
        said = process.stderr.read()
        status = process.wait()
        on_disk = (folder / "samples.csv").read_text().splitlines()
        left = list((folder / "spoor/uploads").iterdir())
    run_id, end = service.finishes[0]
    arrived = service.rows(end["data_uris"])
    largest = max(len(service.rows([uri])) - 1 for uri in end["data_uris"])
    print(f"{len(service.objects)} batches, {arguments.outage:.0f} s without network; rows on disk: "
          f"{len(on_disk) - 1}, arrived: {len(arrived) - 1}, in the largest batch: {largest}")
    is_good = (arrived == on_disk and not service.problems and not left and said == "" and
               status == 0 and end["data_uris"] == service.batches(run_id))
    if not is_good:
        print(f"LOST: {service.problems} {left} {said!r} status {status}")
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
