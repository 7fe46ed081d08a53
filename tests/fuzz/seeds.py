# SPDX-License-Identifier: Apache-2.0
"""Initial inputs, collected from the fixtures of the other tests: files of captured machines, golden files, and the
string literals of unit tests. Other inputs, such as binary messages, are generated here. Saved inputs are in
corpus/TARGET; the inputs of this file are not saved.
"""
import codecs
import csv
import hashlib
import os
import pathlib
import re
import sqlite3
import struct
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
MAX = 64 << 10  # FUZZ_INPUT_MAX
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # a folder without a disk
MACHINE = "tests/replay/machines/*/t?"
EXPECTED = "tests/replay/expected/*"

# The files that serve as inputs of each target: patterns below the top folder.
FILES = {
    "pid_stat": [f"{MACHINE}/proc/[0-9]*/stat"],
    "pid_status": [f"{MACHINE}/proc/[0-9]*/status"],
    "pid_statm": [f"{MACHINE}/proc/[0-9]*/statm"],
    "pid_io": [f"{MACHINE}/proc/[0-9]*/io"],
    "children": [f"{MACHINE}/proc/[0-9]*/task/*/children"],
    "smaps_rollup": [f"{MACHINE}/proc/[0-9]*/smaps_rollup"],
    "cmdline": [f"{MACHINE}/proc/[0-9]*/cmdline"],
    "cpu_stat": [f"{MACHINE}/proc/stat"],
    "meminfo": [f"{MACHINE}/proc/meminfo"],
    "diskstats": [f"{MACHINE}/proc/diskstats"],
    "net_dev": [f"{MACHINE}/proc/net/dev"],
    "mountinfo": [f"{MACHINE}/proc/self/mountinfo"],
    "pressure": [f"{MACHINE}/proc/pressure/*"],
    "vmstat": [f"{MACHINE}/proc/vmstat"],
    "cpuinfo": [f"{MACHINE}/proc/cpuinfo"],
    "os_release": [f"{MACHINE}/etc/os-release"],
    "passwd": [f"{MACHINE}/etc/passwd"],
    "csv": [f"{EXPECTED}.csv", f"{EXPECTED}.samples", "tests/functional/sub_track/*.csv"],
    "report": [f"{EXPECTED}.json"],
    "samples": [f"{EXPECTED}.samples", f"{EXPECTED}.resource-tracker*"],
    "stream_header": [f"{EXPECTED}.samples", f"{EXPECTED}.resource-tracker*"],
    "results": ["tests/functional/sub_track/analyze.json"],
    "tracking_csv": ["tests/functional/sub_track/tracking.csv"],
    "sub_tracking_csv": ["tests/functional/sub_track/phases.csv"],
    "lines": [f"{EXPECTED}.csv", f"{EXPECTED}.text"],
    "escape": [f"{EXPECTED}.text"],
    "utf8": [f"{EXPECTED}.text"],
}

# The unit tests whose string literals serve as inputs.
LITERALS = {
    "pid_stat": ["pid_files"],
    "pid_status": ["pid_files"],
    "pid_statm": ["pid_files"],
    "pid_io": ["pid_files"],
    "schedstat": ["pid_files"],
    "children": ["children"],
    "smaps": ["smaps"],
    "smaps_rollup": ["pid_files", "smaps"],
    "cmdline": ["command_line", "escape"],
    "cpu_stat": ["host"],
    "meminfo": ["meminfo"],
    "diskstats": ["devices"],
    "net_dev": ["devices"],
    "mountinfo": ["mounts", "cgroup"],
    "pressure": ["host"],
    "vmstat": ["host"],
    "cpuinfo": ["facts"],
    "os_release": ["facts"],
    "passwd": ["session", "facts"],
    "cpu_list": ["parse"],
    "cache_size": ["facts"],
    "cgroup_files": ["cgroup", "job_cgroup"],
    "scope_message": ["scope_message"],
    "drm_fdinfo": ["drm_fdinfo"],
    "drm_pci": ["drm_fdinfo", "drm_sweep"],
    "visible": ["visible"],
    "csv": ["csv_reader", "csv_writer"],
    "escape": ["escape"],
    "utf8": ["escape", "utf8"],
    "number": ["number", "number_reader"],
    "date": ["load", "sentinel", "record"],
    "duration": ["settings"],
    "lines": ["line_reader"],
    "report": ["load"],
    "samples": ["samples_load", "replay", "samples_file"],
    "catalog": ["catalog"],
    "results": ["results_json"],
    "tracking_csv": ["tracking_file"],
    "sub_tracking_csv": ["tracking_file"],
    "sub_tracking_append": ["escape", "phase"],
    "arguments": ["arguments", "settings"],
    "config_json": ["arguments"],
    "config_toml": ["resource_tracker"],
    "agent": ["agent_request"],
    "words": ["gpu_tracker"],
    "sources": ["measures", "cpu_sources"],
    "stream_header": ["stream", "gpu_columns", "samples_file"],
    "cloud_cache": ["cloud"],
    "metrics_request": ["metrics_server"],
}


def literals(text):
    """Returns the string literals of a C file; adjacent literals are joined."""
    text = re.sub(r"^\s*#.*?[^\\]$", "", text, flags=re.M)
    text = re.sub(r'("(?:\\.|[^"\\])*")|/\*.*?\*/', lambda match: match[1] or " ", text, flags=re.S)
    for group in re.findall(r'"(?:\\.|[^"\\])*"(?:\s*"(?:\\.|[^"\\])*")*', text):
        parts = re.findall(r'"((?:\\.|[^"\\])*)"', group)
        yield b"".join(codecs.escape_decode(part.encode())[0] for part in parts)


def join(*parts):
    """Joins (name, contents) pairs in the format that fuzz_split() reads, in which a part ends
    with a newline."""
    texts = [(name, text if isinstance(text, bytes) else text.encode()) for name, text in parts]
    return b"".join(f"@@ {name}\n".encode() + text + (b"" if text.endswith(b"\n") else b"\n")
                    for name, text in texts)


# ---- binary messages of the kernel -------------------------------------------------------------------


def netlink(kind, payload):
    return struct.pack("=IHHII", 16 + len(payload), kind, 0, 0, 0) + payload


def proc_connector():
    for what, data in [(1, (7, 7, 42, 42)), (1, (8, 7, 43, 42)), (0x80000000, (42, 42, 256, 17)),
                       (2, (42, 42, 0, 0))]:
        event = struct.pack("=IIQIIII", what, 0, 5 * 10**9, *data) + bytes(16)
        yield netlink(3, struct.pack("=IIIIHH", 1, 1, 0, 0, len(event), 0) + event)


def attribute(kind, value):
    return struct.pack("=HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)


def taskstats():
    for nests, size in [((4,), 376), ((4, 5), 376), ((4,), 328), ((4,), 100)]:
        body = struct.pack("=BBH", 2, 1, 0)
        for nest in nests:
            stats = (struct.pack("=HHIBB", 12, 0, 0, 2, 0) + bytes(range(1, 120)) * 6)[:size]
            body += attribute(nest, attribute(1 if nest == 4 else 2, struct.pack("=I", 42))
                              + attribute(3, stats))
        yield struct.pack("=H", 24) + netlink(24, body)


def tcp_diag():
    for family, state, size in [(2, 1, 280), (10, 8, 280), (2, 7, 104), (10, 10, 0)]:
        message = struct.pack("=BBBB", family, state, 0, 0) + bytes(range(48)) + bytes(20)
        body = message + attribute(2, bytes(range(1, 71)) * 4)[:4 + size] + attribute(21, bytes(8))
        yield netlink(20, body) + netlink(3, bytes(4))
    yield netlink(2, struct.pack("=i", -2))


def amd_metrics():
    for revision, size in [(4, 288), (5, 360), (6, 1664), (7, 2208), (8, 3872)]:
        yield (struct.pack("=HBB", size, 1, revision) + bytes(range(100)) * 40)[:size]


def task_record():
    def task(kind):
        return struct.pack("=IHHIIIIQ", kind, 0, 32, 42, 7, 42, 8, 123456789)

    lost = struct.pack("=IHHQQ", 2, 0, 24, 99, 3)
    other = struct.pack("=IHHQ", 3, 0, 16, 0)
    for start in (b"\0", b"\xff"):
        yield start + task(7) + task(4) + lost + other
        yield start + task(7) * 20
        yield start + lost


def nvml():
    """Returns inputs for a library whose calls answer with the next bytes of the input."""
    for flags in range(8):
        for step in (1, 7, 40):
            yield bytes([flags]) + bytes(8) + bytes((i * step) % 128 for i in range(2000))
        yield bytes([flags]) + b"\xaa\x55" * 4 + bytes(range(256)) * 4


# ---- SQLite --------------------------------------------------------------------------------------------


def database(*statements):
    with tempfile.TemporaryDirectory(prefix="spoor-seeds-") as folder:
        path = pathlib.Path(folder, "a.sqlite")
        with sqlite3.connect(path) as connection:
            connection.execute("PRAGMA page_size = 512")
            for statement, rows in statements:
                if rows is None:
                    connection.execute(statement)
                else:
                    connection.executemany(statement, rows)
        connection.close()
        return path.read_bytes()


def table(name, columns, rows):
    marks = ", ".join("?" * len(columns))
    return [(f"CREATE TABLE {name} ({', '.join(columns)})", None),
            (f"INSERT INTO {name} VALUES ({marks})", rows)]


def csv_rows(name):
    with open(TOP / "tests/functional/sub_track" / name, newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def tracking_sqlite():
    facts, values, columns, *rows = csv_rows("tracking.csv")
    yield database(*table("static_data", facts, [values]), *table("data", columns, rows[:20]))
    yield database(*table("static_data", facts, [values]), *table("data", columns, []))
    yield database(*table("static_data", facts, []))


def sub_tracking_sqlite():
    columns, *rows = csv_rows("phases.csv")
    yield database(*table("data", columns, rows))
    yield database(*table("data", columns, [(1, "x" * 2000, 0, 1.5), (1, None, 1, 2)]))


# ---- inputs of several parts -----------------------------------------------------------------------------


def cgroup_paths():
    """Combines every text of /proc/PID/cgroup with every mountinfo of the tests."""
    texts = [text for name in ("cgroup", "mounts", "limits")
             for text in literals((TOP / f"tests/unit/test_{name}.c").read_text())]
    texts += [path.read_bytes() for path in sorted(TOP.glob(f"{MACHINE}/proc/[0-9]*/cgroup"))[:2]]
    cgroups = [text for text in texts if re.match(rb"\d+:", text)]
    mounts = [text for text in texts if b" - cgroup" in text]
    mounts += [b"".join(mounts)]
    for cgroup in cgroups:
        for mount in mounts:
            yield join(("cgroup", cgroup), ("mountinfo", mount),
                       ("directory", b"/sys/fs/cgroup/memory/a"))


def machine(pid_names=(), skipped=()):
    """Returns a captured machine as a single input. One of its processes gets PID 42."""
    for folder in sorted(TOP.glob(MACHINE))[:1]:
        parts = []
        for path in sorted(folder.rglob("*")):
            name = str(path.relative_to(folder))
            process = re.match(r"proc/(\d+)/", name)
            if not path.is_file() or any(word in name for word in skipped):
                continue
            if process and process[1] not in pid_names:
                continue
            text = path.read_bytes()[:4000]
            if process:
                name = name.replace(process[1], "42")
                text = text.replace(process[1].encode(), b"42", 1)
            parts.append((name, text))
        yield join(*parts)


def server():
    return machine()


def run():
    return machine(pid_names=("18168",))


def keeper():
    """Returns the responses of the fake service in the unit test."""
    for text in literals((TOP / "tests/unit/test_keeper.c").read_text()):
        if text[:1] in b"[{":
            yield join(("http 200", text), ("http 200", text))
    yield join(("http 404", '{"detail": "not found"}'))


def catalog_literals(name):
    return [text for text in literals((TOP / f"tests/unit/test_{name}.c").read_text())
            if text[:1] in b"[{"]


def lookup():
    servers = '{"cpus": 2, "memory_mib": 1024, "gpus": 0, "count": 3, "vendors": ["aws"]}'
    price = '{"vendor": "aws", "server": "m5.large", "region": "us-west-2"}'
    for text in catalog_literals("keeper"):
        yield join(("servers", servers), ("price", price), ("http 200", text), ("http 200", text))


MAKERS = {maker.__name__: maker for maker in (
    proc_connector, taskstats, tcp_diag, task_record, nvml, tracking_sqlite, sub_tracking_sqlite, cgroup_paths,
    amd_metrics, server, run, keeper, lookup)}


def collect(folder):
    """Writes the inputs to folder/TARGET/HASH. Returns the number of inputs for each target."""
    inputs = {}
    for target, patterns in FILES.items():
        for pattern in patterns:
            paths = sorted(TOP.glob(pattern))
            assert paths, f"seeds.py: no file matches {pattern}"
            inputs.setdefault(target, set()).update(path.read_bytes()[:MAX] for path in paths)
    for target, tests in LITERALS.items():
        for test in tests:
            text = (TOP / f"tests/unit/test_{test}.c").read_text()
            inputs.setdefault(target, set()).update(text[:MAX] for text in literals(text))
    for target, maker in MAKERS.items():
        inputs.setdefault(target, set()).update(text[:MAX] for text in maker())
    for target, texts in inputs.items():
        path = pathlib.Path(folder, target)
        path.mkdir(parents=True, exist_ok=True)
        for text in texts:
            (path / hashlib.sha1(text).hexdigest()[:16]).write_bytes(text)
    return {target: len(texts) for target, texts in inputs.items()}
