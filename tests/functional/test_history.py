# SPDX-License-Identifier: Apache-2.0
"""spoor history: runs that are saved and found again, without any effect on the job."""
import contextlib
import csv
import json
import os
import random
import signal
import stat
import subprocess
import threading
import time

import pytest

from conftest import DEADLINE_SECONDS, HERE, IS_FULL, children_of, load
import test_live
from test_live import FRAME, after_the_view, attach
from test_output_files import limit_files

pytestmark = pytest.mark.any_user
RUN = ("run", "-q")
terminal = test_live.terminal  # a pytest fixture


@pytest.fixture(name="folders", autouse=True)
def fixture_folders(tmp_path, monkeypatch):
    """Sets the state and cache directories of the user."""
    for name in ("state", "cache"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(f"XDG_{name.upper()}_HOME", str(tmp_path / name))
    return tmp_path / "state" / "spoor"


def rows_of(folder):
    """Parses all rows of a history; each line must be a valid row."""
    lines = [line for path in sorted(folder.glob("runs/*/*.jsonl"))
             for line in path.read_bytes().split(b"\n")[:-1]]
    return [json.loads(line) for line in lines]


def listed(spoor, *arguments, **options):
    done = spoor("history", "-f", "json", *arguments, **options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(name="row")
def fixture_row(spoor, folders):
    """Returns the row of a real run, and clears the history."""
    spoor(*RUN, "--save", "--", "true")
    [path] = folders.glob("runs/*/*.jsonl")
    [row] = rows_of(folders)
    path.unlink()
    return row


def store(folder, rows, month="2026-11", host="other"):
    path = folder / "runs" / month / f"{host}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    return path


def numbered(row, count, **more):
    """Returns rows with distinct IDs and start times, a minute apart."""
    return [{**row, "id": f"{number:032x}", "started_at": f"2026-11-{1 + number // 1440:02}T"
             f"{number // 60 % 24:02}:{number % 60:02}:00.000Z", **more} for number in range(count)]


# ---- saved runs ----------------------------------------------------------------------

def test_runs_are_saved_only_on_request(spoor, folders):
    assert spoor(*RUN, "--", "true").returncode == 0
    assert spoor(*RUN, "--", "true", env={**os.environ, "SPOOR_HISTORY": "no"}).returncode == 0
    assert not folders.exists()


def test_run_is_saved_by_option_variable_or_config_file(spoor, folders, tmp_path):
    config = tmp_path / "config.json"
    config.write_text('{"history": true}')
    other = tmp_path / "other"
    for options, variable in [(("--save",), None), (("--history",), None), ((), "yes"), (("--config", config), None),
                              ((), f"{other}"), (("--save",), f"{other}"), (("--save",), "no")]:
        environment = {**os.environ, **({"SPOOR_HISTORY": variable} if variable else {})}
        assert spoor(*RUN, *options, "--", "true", env=environment).returncode == 0
    assert len(rows_of(folders)) == 5 and len(rows_of(other)) == 2
    config.write_text('{"history": false}')
    assert spoor(*RUN, "--config", config, "--", "true").returncode == 0
    assert len(rows_of(folders)) == 5
    assert spoor("history", "--history=maybe").returncode == 125


def test_row_is_flat_and_small_and_contains_the_figures_of_the_report(spoor, folders, tmp_path):
    path = tmp_path / "r.json"
    done = spoor(*RUN, "--save", "--name", "train", "--tag", "v=1", "--tag", "note=two words", "-o", path, "--",
                 "sh", "-c", "echo 'a  b' >/dev/null; exit 3")
    assert done.returncode == 3
    report, [row] = load(path), rows_of(folders)
    assert all(not isinstance(value, dict) for value in row.values())
    assert len(json.dumps(row)) < 2048
    run = report["run"]
    for key in ("id", "name", "host", "user", "cwd", "started_at", "ended_at", "elapsed_seconds", "exit_code"):
        assert row[key] == run[key]
    assert (row["tag.v"], row["tag.note"], row["report"]) == ("1", "two words", str(path))
    assert row["command"] == "sh -c 'echo '\\''a  b'\\'' >/dev/null; exit 3'"
    assert "signal" not in row  # unknown
    for name, measure in [("cpu_total_seconds", report["cpu"]["total_seconds"]),
                          ("memory_combined_total_rss_bytes", report["memory"]["combined"]["total_rss_bytes"])]:
        assert row[name] == measure["value"]
        assert row.get(name + "_high") == measure.get("high")
        is_sampled = name in row["sampled"] or name + "_low" in row or name + "_high" in row
        assert is_sampled != measure["exact"]
    # Conversely, the keys that both have must be equal.
    again = json.loads(spoor("report", "@last", "-f", "json").stdout)
    assert again["run"]["command"] == run["command"] and again["run"]["tags"] == run["tags"]
    for path in ("cpu.total_seconds", "memory.combined.total_rss_bytes", "io.read_chars"):
        section, _, key = path.partition(".")
        first, *rest = key.split(".")
        old, new = report[section][first], again[section][first]
        for part in rest:
            old, new = old[part], new[part]
        assert (new["value"], new["exact"], new.get("high")) == (old["value"], old["exact"], old.get("high"))


def test_files_are_private_at_every_moment(spoor, folders):
    """The umask is 0; a watched directory shows the mode of each file as soon as the file
    appears."""
    seen, stop = [], threading.Event()

    def watch():
        while not stop.is_set():
            for path in [folders, *folders.rglob("*")]:
                try:
                    mode = path.stat().st_mode
                    seen.append((stat.S_ISDIR(mode), stat.S_IMODE(mode)))
                except FileNotFoundError:
                    pass

    watcher = threading.Thread(target=watch)
    watcher.start()
    for _ in range(5):
        assert spoor(*RUN, "--save", "--", "true", preexec_fn=lambda: os.umask(0)).returncode == 0
    assert spoor("history", "prune", "--keep", "2", preexec_fn=lambda: os.umask(0)).returncode == 0
    stop.set()
    watcher.join()
    assert set(seen) == {(True, 0o700), (False, 0o600)}
    [index] = (folders.parent.parent / "cache").rglob("*.sqlite")
    assert stat.S_IMODE(index.stat().st_mode) == 0o600


def test_untracked_run_is_saved_too(spoor, folders):
    import resource
    done = spoor(*RUN, "--save", "--", "sh", "-c", "exit 7",
                 preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (8, 8)))
    assert done.returncode == 7 and "untracked" in done.stderr
    [row] = rows_of(folders)
    assert row["exit_code"] == 7 and "cpu_total_seconds" not in row


# ---- failures ------------------------------------------------------------------------

def failed_to_save(done, *words):
    assert done.returncode == 3 and done.stdout == "out\n", done
    [line] = done.stderr.splitlines()
    assert line.startswith("spoor: the run is not saved in the history: "), line
    assert all(word in line for word in words), line


JOB = ("--", "sh", "-c", "echo out; exit 3")


def test_full_disk_leaves_the_history_unchanged(spoor, folders, row):
    path = store(folders, [row], month=f"{row['ended_at']:.7}", host=row["host"])
    before = path.read_bytes()
    done = spoor(*RUN, "--save", *JOB, preexec_fn=limit_files(len(before) + 100))
    failed_to_save(done, str(path), "No space left on device")
    assert path.read_bytes() == before


@pytest.mark.parametrize("place", ["state", "state/spoor", "state/spoor/runs"])
def test_unwritable_folder_is_reported(spoor, tmp_path, place):
    """A file in place of a folder also stops root."""
    path = tmp_path / place
    if place == "state":
        path.rmdir()
    path.parent.mkdir(exist_ok=True)
    path.write_text("")
    failed_to_save(spoor(*RUN, "--save", *JOB), str(path))
    assert path.read_text() == ""


def test_read_only_folder_is_reported(spoor, folders):
    """Drops root's permission override, so that root is refused too."""
    folders.mkdir()
    folders.chmod(0o500)
    prefix = ["setpriv", "--inh-caps", "-dac_override", "--bounding-set", "-dac_override"] if os.geteuid() == 0 else []
    done = subprocess.run([*prefix, spoor.binary, *RUN, "--save", *JOB], capture_output=True, text=True, check=False,
                          timeout=DEADLINE_SECONDS)
    failed_to_save(done, "Permission denied")


def test_missing_home_directory_is_reported(spoor):
    environment = {key: text for key, text in os.environ.items() if key not in ("HOME", "XDG_STATE_HOME")}
    failed_to_save(spoor(*RUN, "--save", *JOB, env=environment), "SPOOR_HISTORY")


@pytest.fixture(name="without_locks", scope="session")
def fixture_without_locks(tmp_path_factory):
    library = tmp_path_factory.mktemp("no-locks") / "no_locks.so"
    subprocess.run(["cc", "-D_GNU_SOURCE", "-shared", "-fPIC", "-o", library, HERE / "workloads/no_locks.c"],
                   check=True)
    options = os.environ.get("ASAN_OPTIONS", "")
    return {"LD_PRELOAD": str(library), "ASAN_OPTIONS": f"{options}:verify_asan_link_order=0"}


def test_runs_are_saved_even_if_locks_fail(spoor, folders, without_locks):
    done = spoor(*RUN, "--save", *JOB, env={**os.environ, **without_locks})
    assert (done.returncode, done.stdout, done.stderr) == (3, "out\n", "")
    assert len(rows_of(folders)) == 1


# ---- many writers --------------------------------------------------------------------

@pytest.mark.parametrize("kills", [False, True], ids=["all end", "some are killed"])
def test_no_row_is_lost_or_torn_by_50_writers(spoor, folders, kills):
    """Each writer saves several runs. A shell continues after one of its spoors was killed."""
    turns = range(1, 6 if IS_FULL else 3)
    script = f'for i in {" ".join(map(str, turns))}; do "{spoor.binary}" run -q --save --name w$0-$i -- true; echo $?; done'
    writers = [spoor.start("run", "-q", "--save", "--name", f"w{number}-0", "--", "sh", "-c", script, str(number))
               for number in range(50)]
    killed, chance = 0, random.Random(1)
    while kills and killed < 40 and any(writer.poll() is None for writer in writers):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # the shell exited meanwhile
            for shell in children_of(chance.choice(writers).pid):
                for tracker in children_of(shell):
                    os.kill(tracker, signal.SIGKILL)
                    killed += 1
    ended = {}
    deadline = time.monotonic() + 4 * DEADLINE_SECONDS  # all runs share the CPUs, and end late
    for number, writer in enumerate(writers):
        output, _ = writer.communicate(timeout=max(deadline - time.monotonic(), 0.001))
        assert writer.returncode == 0
        ended[number] = [int(code) for code in output.split()]
    names = [row["name"] for row in rows_of(folders)]  # each line is complete
    assert len(names) == len(set(names))
    for number, codes in ended.items():
        assert len(codes) == len(turns) and f"w{number}-0" in names
        for turn, code in enumerate(codes, 1):
            assert code in (0, 137) and (code == 137 or f"w{number}-{turn}" in names)
    lost = [code for codes in ended.values() for code in codes if code == 137]
    assert (0 < len(lost) <= killed) if kills else not lost
    runs = 50 * (1 + len(turns))
    assert runs - len(lost) <= len(names) <= runs
    assert len(listed(spoor)) == len(names)


def test_incomplete_line_of_a_killed_writer_is_terminated(spoor, folders, row):
    path = store(folders, [row], month=f"{row['ended_at']:.7}", host=row["host"])
    with path.open("a", encoding="utf-8") as file:
        file.write('{"id":"half a li')
    assert len(listed(spoor)) == 1
    assert spoor(*RUN, "--save", "--name", "next", "--", "true").returncode == 0
    done = spoor("history", "-f", "json")
    assert [run["name"] for run in json.loads(done.stdout)] == [None, "next"]
    assert "1 damaged line of the history" in done.stderr


def test_damaged_lines_are_skipped_and_counted(spoor, folders, row):
    path = store(folders, numbered(row, 2))
    with path.open("ab") as file:
        file.write(b'not JSON\n{"id": 7}\n[]\n\x00\xff\n\n' + b"x" * 3_000_000 + b"\n")
    store(folders, [{**row, "id": "f" * 32}])
    done = spoor("history", "-f", "json")
    assert len(json.loads(done.stdout)) == 3
    assert int(done.stderr.split()[1]) >= 5 and "damaged lines of the history" in done.stderr


# ---- the index -----------------------------------------------------------------------

def test_index_is_updated_when_files_change(spoor, folders, row, tmp_path):
    first = store(folders, numbered(row, 3))
    assert len(listed(spoor)) == 3
    store(folders, [{**row, "id": "a" * 32}])
    second = store(folders, [{**row, "id": "b" * 32}], host="second")
    assert len(listed(spoor)) == 5
    text = first.read_text(encoding="utf-8").splitlines(keepends=True)
    first.write_text("".join(text[1:]), encoding="utf-8")  # shorter, in place
    assert len(listed(spoor)) == 4
    second.unlink()
    assert len(listed(spoor)) == 3
    [index] = (tmp_path / "cache").rglob("*.sqlite")
    for damage in (b"", b"no database", b"SQLite format 3\0" + b"\xff" * 5000):
        index.write_bytes(damage)
        assert len(listed(spoor)) == 3
    data = bytearray(index.read_bytes())
    data[4096:20000] = bytes(len(data[4096:20000]))
    index.write_bytes(data)
    for _ in range(2):  # damages a page in the middle, which is noticed when it is read
        done = spoor("history", "-f", "json")
    assert len(json.loads(done.stdout)) == 3
    index.unlink()
    index.mkdir()  # the index cannot be written
    assert len(listed(spoor)) == 3


def test_index_of_another_version_is_rebuilt(spoor, folders, row, tmp_path):
    import sqlite3
    store(folders, numbered(row, 3))
    assert len(listed(spoor)) == 3
    [index] = (tmp_path / "cache").rglob("*.sqlite")
    with sqlite3.connect(index) as database:
        database.execute("PRAGMA user_version = 99")
        database.execute("DROP TABLE run")
    assert len(listed(spoor)) == 3


def test_indexed_files_are_not_read_again(spoor, folders, row):
    """Checks work instead of time: once indexed, a query reads no line of the files again."""
    rows = [{**row, "id": f"{number:032x}", "name": f"job{number % 50}"} for number in range(10_000)]
    path = store(folders, rows)
    assert len(listed(spoor, "--name", "job7")) == 200
    path.write_bytes(b"\0" * path.stat().st_size)  # same size, so it is not read again
    assert len(listed(spoor, "--name", "job7")) == 200
    assert len(listed(spoor, "--name", "job7", "--limit", "3")) == 3


# ---- filters and selectors -----------------------------------------------------------

@pytest.fixture(name="mixed")
def fixture_mixed(folders, row):
    changes = [{"name": "train", "tag.v": "1", "exit_code": 0, "host": "a", "user": "eve", "job": "1234"},
               {"name": "train", "tag.v": "2", "exit_code": 1, "host": "b", "command": "python3 train.py --lr 0.1"},
               {"name": "a,b", "tag.x": "two words", "exit_code": 0, "host": "b"},
               {"name": "test", "tag.v": "1", "exit_code": 137, "signal": "SIGKILL", "host": "a"}]
    rows = [{**old, **change} for old, change in zip(numbered(row, 4), changes)]
    rows[0]["started_at"] = "2020-01-01T12:00:00.000Z"
    rows[3]["id"] = "abcdef0123456789abcdef0123456789"
    store(folders, rows)
    return rows


@pytest.mark.parametrize("filters, expected", [
    ([], [0, 1, 2, 3]), (["name=train"], [0, 1]), (["name!=train"], [2, 3]), (["name~t"], [0, 1, 3]),
    (["name=train,tag.v=1"], [0]), (["name=train", "tag.v=1"], [0]), (["tag.v=1"], [0, 3]), (["tag.v!=1"], [1, 2]),
    (["tag.x~words"], [2]), (["exit!=0"], [1, 3]), (["exit=0"], [0, 2]), (["host=b"], [1, 2]), (["user=eve"], [0]),
    (["job=1234"], [0]), (["@job~23"], [0]), (["job=12"], []),
    (["command~lr 0.1"], [1]), (["until=2021-01-01"], [0]), (["since=2026-11-01"], [1, 2, 3]), (["since=1ms"], []),
    (["last"], [3]), (["previous"], [2]), (["last=2"], [2, 3]), (["name=train,last"], [1]),
    (["name=train,previous"], [0]), (["id=abcdef"], [3]), (["name=a\\,b"], [2]), (["@last"], [3]),
    (["--name", "a,b"], [2]), (["--name", "train", "--last"], [1]), (["--limit", "2"], [2, 3]),
], ids=str)
def test_filters_select_runs(spoor, mixed, filters, expected):
    assert [run["id"] for run in listed(spoor, *filters)] == [mixed[number]["id"] for number in expected]


@pytest.mark.parametrize("text", ["name", "=x", "color=red", "exit=x", "exit~1", "id=xyz", "since=never", "last=0",
                                  "last=x", "since!=1d", "name=a,,b", "tag.=1", "x'; DROP TABLE run; --=1"])
def test_invalid_filters_are_refused(spoor, mixed, text):
    for command in (["history", text], ["report", "-f", "json", f"@{text}"]):
        done = spoor(*command)
        assert done.returncode == 125 and done.stderr.startswith("spoor: "), done
        assert done.stderr.count("\n") == 1
    assert len(listed(spoor)) == len(mixed)


def test_other_commands_select_runs_of_the_history(spoor, mixed, tmp_path):
    def ids(*arguments):
        done = spoor("report", "-f", "csv", *arguments, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return [row["run_id"] for row in csv.DictReader(done.stdout.splitlines())]

    names = [row["id"] for row in mixed]
    assert ids("@last") == ids("--last") == ids("abcdef") == names[3:]
    assert ids("@name=train") == ids("--name", "train") == names[:2]
    assert ids("--name", "a,b") == [names[2]] and ids("@previous", "@last") == names[2:]
    (tmp_path / "abcdef").write_text("not a report")
    assert spoor("report", "-f", "csv", "abcdef", cwd=tmp_path).returncode == 125  # a file comes first
    done = spoor("recommend", "--name", "train", "-f", "json")
    assert done.returncode == 0 and json.loads(done.stdout)["runs"] == 2
    for selector, words in [("@name=none", "no run of the history"), ("000000", "begins so"),
                            ("dddddd", "no run of the history")]:
        done = spoor("report", "-f", "csv", selector)
        assert done.returncode == 125 and words in done.stderr, done
    done = spoor("report", "--last", cwd=tmp_path)
    assert done.returncode == 0 and (tmp_path / "report.html").exists()


# ---- list, show, stats ---------------------------------------------------------------

def test_list_shows_the_requested_columns(spoor, mixed):
    columns = "id,name,tag.v,exit,time,memory,cpu.max_cores,cwd,samples,started_at,limits_cpus"
    done = spoor("history", "--columns", columns, "-f", "csv")
    rows = list(csv.DictReader(done.stdout.splitlines()))
    assert ",".join(rows[0]) == columns and len(rows) == 4
    assert (rows[1]["tag.v"], rows[1]["exit"], rows[2]["tag.v"]) == ("2", "1", "")
    assert float(rows[0]["memory"]) == mixed[0]["memory_combined_total_rss_bytes"]
    assert rows[0]["cwd"] == mixed[0]["cwd"]
    assert "| NAME |" in spoor("history", "-f", "markdown").stdout
    text = spoor("history").stdout.splitlines()
    assert text[0].split()[:3] == ["ID", "STARTED", "NAME"] and text[-1].startswith("abcdef01 ")
    assert spoor("history", "--columns", "id,nonsense").returncode == 125
    assert spoor("history", "-f", "html").returncode == 125


def test_show_prints_the_report_of_a_run(spoor, mixed):
    for operand in ("abcdef01", "last", "@last"):
        done = spoor("history", "show", operand)
        assert done.returncode == 0 and "killed by SIGKILL" in done.stdout
    shown = json.loads(spoor("history", "show", "abcdef01", "-f", "json").stdout)
    assert shown["run"]["id"] == mixed[3]["id"]
    assert spoor("history", "show").returncode == 125


def test_stats_are_grouped_by_name(spoor, folders, row):
    times = [1, 2, 3, 4, 100]
    rows = [{**old, "elapsed_seconds": seconds, "exit_code": int(seconds > 50), "name": "job",
             "memory_combined_total_rss_bytes": seconds * 1000000}
            for old, seconds in zip(numbered(row, 5), times)]
    store(folders, rows + [{**row, "id": "c" * 32, "command": "no name"}])
    [job, other] = json.loads(spoor("history", "stats", "-f", "json").stdout)
    assert (job["name"], job["runs"], job["failed"]) == ("job", 5, 1)
    assert (job["time_p50"], job["time_p95"], job["time_max"]) == (3, 100, 100)
    assert (job["memory_p50"], job["memory_max"]) == (3e6, 1e8)
    assert job["request_memory"] == 128 << 20 and job["request_time"] == 120
    assert (other["name"], other["runs"]) == ("no name", 1)
    [only] = json.loads(spoor("history", "stats", "exit=0,name=job", "-f", "json").stdout)
    assert (only["runs"], only["failed"], only["time_max"]) == (4, 0, 4)


def test_options_of_other_subcommands_are_refused(spoor):
    for arguments in (["--older", "1d"], ["stats", "--keep", "1"], ["show", "last", "--columns", "id"],
                      ["prune"], ["prune", "name=x", "--keep", "1"], ["import"], ["push"], ["stats", "--create"]):
        done = spoor("history", *arguments)
        assert done.returncode == 125 and done.stderr.count("\n") == 1, done


def test_live_view_shows_the_median_time_of_earlier_runs(spoor, folders, row, held, terminal):
    """The view shows the median time of the runs that succeeded."""
    rows = numbered(row, 4, name="train", exit_code=0)
    for old, seconds in zip(rows, (240, 245, 250, 1)):
        old["elapsed_seconds"] = seconds
    rows[3]["exit_code"] = 1
    store(folders, rows)
    window = terminal(attach(spoor, held, "--save", "--name", "train"))
    assert "train" in window.wait_for(FRAME)
    window.wait_for("s, usually 4 min 05 s")
    window.type("q")
    code, text = window.end()
    assert code == 0 and "usually" not in after_the_view(text)
    window = terminal(attach(spoor, held, "--name", "train"))  # the history is disabled
    assert "usually" not in window.wait_for(FRAME) + window.wait_for(FRAME)


# ---- prune ---------------------------------------------------------------------------

def test_runs_are_pruned_by_age_number_and_size(spoor, folders, row):
    rows = numbered(row, 10, name="a") + [{**row, "id": "e" * 32, "name": "b"}]
    for old in rows[:4]:
        old["started_at"] = "2020-01-01T00:00:00.000Z"
    path = store(folders, rows)
    other = store(folders, [{**rows[0], "id": "d" * 32}], month="2020-01")
    assert spoor("history", "prune", "--older", "365d").stderr == "spoor: removed 5 of 12 runs\n"
    assert not other.exists() and len(listed(spoor)) == 7
    spoor("history", "prune", "--keep", "3")
    assert [run["id"] for run in listed(spoor)] == [old["id"] for old in rows[7:]]
    spoor("history", "prune", "--max-size", str(2 * len(json.dumps(row)) + 400))
    kept = [run["id"] for run in listed(spoor)]
    assert kept == [old["id"] for old in rows[9:]]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text() == "".join(json.dumps(old) + "\n" for old in rows[9:])


def test_prune_keeps_a_run_that_is_saved_at_the_same_time(spoor, folders):
    """Writers and pruners modify one file in turns: the newest run of each name is kept."""
    script = f'for i in 1 2 3 4 5 6 7 8; do "{spoor.binary}" run -q --save --name w$0 --tag i=$i -- true; done'
    writers = [spoor.start("run", "-q", "--", "sh", "-c", script, str(number)) for number in range(8)]
    while any(writer.poll() is None for writer in writers):
        assert spoor("history", "prune", "--keep", "1").returncode == 0
    assert all(writer.wait() == 0 for writer in writers)
    newest = {row["name"]: row["tag.i"] for row in rows_of(folders)}
    assert newest == {f"w{number}": "8" for number in range(8)}


# ---- import --------------------------------------------------------------------------

SNAKEMAKE = """s\th:m:s\tmax_rss\tmax_vms\tmax_uss\tmax_pss\tio_in\tio_out\tmean_load\tcpu_time
12.5000\t0:00:12\t100.50\t200.00\t90.00\t95.00\t1.50\t2.00\t80.00\t10.00
13.0000\t0:00:13\t101.00\t200.00\t-\tNA\t0.00\t2.00\t80.00\t10.50
"""
NEXTFLOW = """task_id\thash\tnative_id\tname\tstatus\texit\tsubmit\tduration\trealtime\t%cpu\tpeak_rss\tpeak_vmem\trchar\twchar
1\t45/ab752a\t2032\tblast (1)\tCOMPLETED\t0\t2026-10-23 16:33:16.288\t1m 30s\t1m 10s\t50.0%\t29.5 MB\t354 MB\t33.3 MB\t0
2\t72/db873d\t2033\tblast (2)\tFAILED\t1\t2026-10-23 16:34:17.211\t30s\t352ms\t-\t1.5 GB\t428.1 MB\t192.7 MB\t1 KB
3\t53/d13188\t2034\tblast (3)\tABORTED\t-\t-\t-\t-\t-\t-\t-\t-\t-
"""
DUCT = json.dumps({
    "command": "python3 train.py", "duct_version": "0.21.0", "schema_version": "0.2.2", "gpu": None, "message": "first",
    "system": {"cpu_total": 8, "memory_total": 16 << 30, "hostname": "node1", "uid": 1000, "user": "eve"},
    "execution_summary": {"exit_code": 2, "command": "python3 train.py", "wall_clock_time": 10.5, "peak_rss": 123456789,
                          "average_pcpu": 150.0, "peak_pcpu": 200.0, "num_samples": 11,
                          "start_time": 1773480413.5, "end_time": 1773480424.0, "working_directory": "/data"}})


def test_runs_of_other_programs_are_imported(spoor, folders, tmp_path):
    files = {"bench.tsv": SNAKEMAKE, "trace.txt": NEXTFLOW, "x_info.json": DUCT}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    paths = [tmp_path / name for name in files]
    environment = {**os.environ, "TZ": "UTC"}
    assert spoor("history", "import", *paths, env=environment).stderr == \
        "spoor: added 6 runs; the history had 0 already\n"
    assert spoor("history", "import", *paths, *paths, env=environment).stderr.startswith("spoor: added 0 runs;")
    rows = {row["tag.imported"]: row for row in rows_of(folders)}
    bench, task, failed, duct = (rows[key] for key in ("bench.tsv:1", "trace.txt:1", "trace.txt:2", "x_info.json"))
    assert bench["name"] == "bench" and bench["elapsed_seconds"] == 12.5 and bench["cpu_total_seconds"] == 10
    assert bench["memory_combined_total_rss_bytes"] == 100.5 * (1 << 20) and bench["io_read_bytes"] == 1.5 * (1 << 20)
    assert "memory_combined_pss_bytes" not in rows["bench.tsv:2"]
    assert (task["name"], task["exit_code"], task["started_at"]) == ("blast (1)", 0, "2026-10-23T16:33:16.288Z")
    assert (task["elapsed_seconds"], task["cpu_total_seconds"]) == (70, 35)
    assert task["memory_combined_total_rss_bytes"] == round(29.5 * (1 << 20)) and task["io_written_chars"] == 0
    assert (failed["exit_code"], failed["elapsed_seconds"], failed["tag.status"]) == (1, 0.352, "FAILED")
    assert "cpu_total_seconds" not in failed and "exit_code" not in rows["trace.txt:3"]
    assert (duct["command"], duct["host"], duct["user"], duct["cwd"]) == ("python3 train.py", "node1", "eve", "/data")
    assert (duct["exit_code"], duct["elapsed_seconds"], duct["cpu_total_seconds"]) == (2, 10.5, 15.75)
    assert duct["memory_combined_total_rss_bytes"] == 123456789 and duct["cpu_max_cores"] == 2
    assert duct["started_at"] == "2026-03-14T09:26:53.500Z" and duct["tag.message"] == "first"
    assert all("cpu_total_seconds" not in row or "cpu_total_seconds" in row["sampled"] for row in rows.values())
    # Imported runs can be used like any others.
    assert spoor("recommend", tmp_path / "bench.tsv", "-f", "json").returncode == 0
    assert spoor("history", "show", "name=bench,last").returncode == 0


def test_reports_samples_and_histories_are_imported(spoor, folders, tmp_path):
    report, samples = tmp_path / "r.json", tmp_path / "s.csv"
    spoor(*RUN, "--name", "first", "-o", report, "--", "true")
    spoor(*RUN, "--name", "second", "--samples", samples, "--", "true")
    assert spoor("history", "import", report, samples).stderr.startswith("spoor: added 2 runs")
    assert spoor("history", "import", samples, report).stderr.startswith("spoor: added 0 runs")
    assert load(report)["run"]["id"] in [row["id"] for row in rows_of(folders)]
    [path] = folders.glob("runs/*/*.jsonl")
    other = f"--history={tmp_path / 'other'}"
    assert spoor("history", other, "import", path).stderr.startswith("spoor: added 2 runs")
    strip = [{key: value for key, value in row.items()} for row in rows_of(folders)]
    assert rows_of(tmp_path / "other") == strip


def test_import_of_other_files_is_refused(spoor, folders, tmp_path):
    for number, text in enumerate(["", "{}", '{"command": 1}', "s\th:m:s\t\n", "task_id\n", '{"id": 1}']):
        path = tmp_path / f"{number}.json"
        path.write_text(text)
        done = spoor("history", "import", path)
        assert done.returncode == 125 and str(path) in done.stderr, (text, done)
    assert not folders.exists()
