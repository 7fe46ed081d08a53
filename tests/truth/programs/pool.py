#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""pool.py fork|forkserver - Python's process pool with a new process for each task.

The tasks run one at a time, each with 60 MB of its own. The shared part is at most the memory of
their parents: the main process, and the server that forks for it.
"""
import json
import multiprocessing
import os
import resource
import sys
import time

TASKS = 12
TASK_BYTES = 60_000_000


def task(_):
    memory = bytearray(TASK_BYTES)
    time.sleep(0.05)
    return len(memory)


def main():
    kind = sys.argv[1]
    with multiprocessing.get_context(kind).Pool(1, maxtasksperchild=1) as pool:
        assert pool.map(task, range(TASKS), chunksize=1) == [TASK_BYTES] * TASKS
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    parents = own * (2 if kind == "forkserver" else 1)
    truth = {"shared_bytes_at_most": parents, "main_rss_bytes": own}
    with open(os.environ["TRUTH"], "w", encoding="utf-8") as file:
        json.dump(truth, file)


if __name__ == "__main__":
    main()
