# SPDX-License-Identifier: Apache-2.0
"""Helpers for the tests of sub-track: its files and error messages."""
import csv
import pathlib
import sqlite3

import pytest

GOLDEN = pathlib.Path(__file__).parent / "sub_track"
HEADER = ["process_id", "code_block_name", "position", "timestamp"]
STATISTICS = ["min", "max", "mean", "std"]


def succeeded(done, stderr=""):
    assert (done.returncode, done.stderr) == (0, stderr), done
    return done.stdout


def refused(done, message):
    """Checks that the error is one line in the format of the predecessor's log."""
    assert done.returncode == 1 and done.stdout == "", done
    assert done.stderr == f"ERROR:root:{message}\n"


def write_events(path, events):
    if path.suffix == ".sqlite":
        with sqlite3.connect(path) as database:
            database.execute("CREATE TABLE data (process_id INTEGER, code_block_name VARCHAR, "
                             "position INTEGER, timestamp FLOAT)")
            database.executemany("INSERT INTO data VALUES (?, ?, ?, ?)", events)
        database.close()
    else:
        with open(path, "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([HEADER, *events])
    return path


def read_events(path):
    if path.suffix == ".sqlite":
        database = sqlite3.connect(path)
        rows = database.execute("SELECT * FROM data").fetchall()
        database.close()
        return rows
    with open(path, newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert header == HEADER
    return [(int(pid), name, int(position), float(time)) for pid, name, position, time in rows]


def tracking_tables():
    with open(GOLDEN / "tracking.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    return rows[:2], rows[2:]


def write_tracking_sqlite(path):
    database = sqlite3.connect(path)
    for name, (header, *rows) in zip(("static_data", "data"), tracking_tables()):
        kinds = ["VARCHAR" if column.endswith("unit") else
                 "INTEGER" if column.startswith(("n_", "system_core", "system_gpu_c")) else "FLOAT"
                 for column in header]
        columns = ", ".join(map(" ".join, zip(header, kinds)))
        database.execute(f"CREATE TABLE {name} ({columns})")
        database.executemany(f"INSERT INTO {name} VALUES ({','.join('?' * len(header))})", rows)
    database.commit()
    database.close()
    return path


def golden(name):
    return (GOLDEN / name).read_text(encoding="utf-8")


def close_to(found, expected):
    """Checks for the same keys in the same order, and almost equal numbers."""
    if isinstance(expected, dict):
        assert list(found) == list(expected)
        for key, value in expected.items():
            close_to(found[key], value)
    elif isinstance(expected, list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected):
            close_to(one, other)
    else:
        assert isinstance(found, type(expected)) and found == pytest.approx(expected, rel=1e-12)
