# SPDX-License-Identifier: Apache-2.0
"""spoor history push: sends runs to a real PostgreSQL, which is started by an ordinary user and listens only on a
socket."""
import concurrent.futures
import glob
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile

import pytest
from conftest import BINARY, DEADLINE_SECONDS, TOP

PROGRAMS = max(glob.glob("/usr/lib/postgresql/*/bin"), default="", key=lambda path: int(path.split("/")[4]))
GIB = 1 << 30
NOBODY = 65534  # PostgreSQL refuses to run as root
pytestmark = pytest.mark.skipif(not PROGRAMS, reason="PostgreSQL is not installed")


class Server:
    """A server with the superuser postgres, who needs no password, and other users, who do."""

    def __init__(self, folder):
        self.folder = folder
        self.psql = [f"{PROGRAMS}/psql", "-X", "-v", "ON_ERROR_STOP=1", "-h", folder, "-U", "postgres"]
        user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
        environment = {**os.environ, "LC_ALL": "C", "HOME": str(folder)}
        subprocess.run([f"{PROGRAMS}/initdb", "-D", folder / "data", "-A", "trust", "-U", "postgres", "-E", "UTF8", "-N"],
                       check=True, stdout=subprocess.DEVNULL, cwd=folder, env=environment, timeout=DEADLINE_SECONDS, **user)
        (folder / "data/pg_hba.conf").write_text("local all postgres trust\nlocal all all scram-sha-256\n")
        # Messages about failures would fill the pipe; the message below is of the class "log".
        self.process = subprocess.Popen(
            [f"{PROGRAMS}/postgres", "-D", folder / "data", "-k", folder, "-c", "listen_addresses=", "-c", "fsync=off",
             "-c", "log_min_messages=log"], stderr=subprocess.PIPE, text=True, cwd=folder, env=environment, **user)
        lines = []
        for line in self.process.stderr:
            lines.append(line)
            if "ready to accept connections" in line:
                return
        pytest.fail(f"PostgreSQL did not start: {lines}")

    def sql(self, text, database="postgres"):
        """Returns the rows of a query, as lists of text."""
        done = subprocess.run([*self.psql, "-qAt", "-d", database, "-c", text], stdout=subprocess.PIPE, check=True,
                              text=True, timeout=DEADLINE_SECONDS)
        return [line.split("|") for line in done.stdout.splitlines()]

    def stop(self):
        self.process.send_signal(signal.SIGINT)  # also closes open connections
        self.process.communicate(timeout=DEADLINE_SECONDS)


@pytest.fixture(name="server", scope="module")
def fixture_server():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="pg-"))  # short: the path of a socket has 107 characters
    folder.chmod(0o755)
    server = None
    try:
        if os.geteuid() == 0:
            os.chown(folder, NOBODY, NOBODY)
        server = Server(folder)
        server.sql("CREATE ROLE team LOGIN PASSWORD 's3cr3t'")
        yield server
    finally:
        if server:
            server.stop()
        shutil.rmtree(folder)


class Database:
    """An empty database, and the history of one user."""

    def __init__(self, server, folder, name):
        self.server, self.folder, self.name = server, folder, name
        self.url = f"postgresql://postgres@/{name}?host={server.folder}"
        self.team_url = f"postgresql://team:s3cr3t@/{name}?host={server.folder}"
        server.sql(f"DROP DATABASE IF EXISTS {name}")
        server.sql(f"CREATE DATABASE {name}")

    def store(self, rows):
        path = self.folder / "runs/2026-11/node1.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)

    def push(self, *arguments, url=None, **options):
        environment = {**os.environ, "XDG_CACHE_HOME": str(self.folder), **options.pop("environment", {})}
        done = subprocess.run([BINARY, "history", "push", f"--history={self.folder}", url or self.url, *arguments],
                              check=False, capture_output=True, text=True, env=environment, timeout=DEADLINE_SECONDS,
                              **options)
        assert done.stdout == "" and "s3cr3t" not in done.stderr
        return done

    def added(self, *arguments, **options):
        """Runs a push that must succeed; returns its message."""
        done = self.push(*arguments, **options)
        assert done.returncode == 0, done.stderr
        return done.stderr

    def fault(self, *arguments, **options):
        """Runs a push that must fail; returns its message, which is one line."""
        done = self.push(*arguments, **options)
        assert done.returncode == 125 and done.stderr.count("\n") == 1, done
        return done.stderr

    def sql(self, text):
        return self.server.sql(text, self.name)


@pytest.fixture(name="database")
def fixture_database(server, tmp_path):
    return Database(server, tmp_path / "history", "team_runs")


def run(number, name, day, memory, **others):
    """Returns a run of a made-up history."""
    return {"id": f"{number:032x}", "name": name, "command": f"python3 {name}.py", "host": "node1", "user": "ada",
            "started_at": f"2026-11-{day:02}T10:00:00.000Z", "ended_at": f"2026-11-{day:02}T10:01:00.500Z",
            "elapsed_seconds": 60.5, "exit_code": 0, "cpu_total_seconds": 100.25, "cpu_mean_cores": 1.65,
            "memory_combined_total_rss_bytes": memory, "host_cpus": 8, "limits_cpus": 4, "limits_memory_bytes": 8 * GIB,
            **others}


HISTORY = [
    run(1, "train", 1, 2 * GIB, **{"memory_combined_total_rss_bytes_high": 3 * GIB, "tag.lr": "0.1"}),
    run(2, "train", 1, 4 * GIB),
    run(3, "train", 2, 5 * GIB),
    run(4, "train", 3, 8 * GIB, exit_code=137, signal="SIGKILL", events_oom_kills=1),
    run(5, "prepare", 1, GIB),
    run(6, "prepare", 3, GIB, exit_code=2, limits_memory_bytes=16 * GIB),
    run(7, "evaluate", 3, GIB // 2, gpu_memory_combined_bytes=20 * GIB, energy_gpu_joules=1234.5),
]


def test_second_push_adds_no_runs(database):
    database.store(HISTORY)
    assert database.added("--create") == "spoor: added 7 runs; the database had 0 already\n"
    assert database.added() == "spoor: added 0 runs; the database had 7 already\n"
    database.store([run(8, "train", 4, GIB)])
    assert database.added("--create") == "spoor: added 1 run; the database had 7 already\n"
    assert database.sql("SELECT count(*), count(DISTINCT id) FROM spoor.runs") == [["8", "8"]]
    assert database.sql("SET timezone TO utc; SELECT name, command, host, user_name, started_at, ended_at - started_at, "
                        "exit_code, elapsed_seconds, cpu_seconds, memory_bytes, memory_bytes_low, memory_bytes_high, "
                        f"cpus_limit, row->>'tag.lr' FROM spoor.runs WHERE id = '{1:032x}'") == [[
                            "train", "python3 train.py", "node1", "ada", "2026-11-01 10:00:00+00", "00:01:00.5", "0",
                            "60.5", "100.25", str(2 * GIB), "", str(3 * GIB), "4", "0.1"]]
    assert [json.loads(text) for [text] in database.sql("SELECT row FROM spoor.runs ORDER BY id LIMIT 7")] == HISTORY


def test_runs_are_pushed_in_several_batches(database):
    subprocess.run([BINARY, "run", "-q", f"--history={database.folder}", "--name", "größe 'x'", "--", "true"], check=True)
    database.store(run(number, "many", 1, number, cwd="/long" * 100) for number in range(4000))  # 4 MB
    assert database.added("--create") == "spoor: added 4001 runs; the database had 0 already\n"
    assert database.sql("SELECT count(*), count(memory_bytes) FROM spoor.runs WHERE name = 'many'") == [["4000"] * 2]
    assert database.sql("SELECT name, exit_code, elapsed_seconds > 0, ended_at >= started_at FROM spoor.runs "
                        "WHERE name <> 'many'") == [["größe 'x'", "0", "t", "t"]]


def test_concurrent_pushes_add_each_run_once(database):
    """All pushes create the tables; each run is added by one of them."""
    database.store(HISTORY)
    with concurrent.futures.ThreadPoolExecutor() as threads:
        messages = list(threads.map(lambda _: database.added("--create"), range(4)))
    assert sum(int(message.split()[2]) for message in messages) == len(HISTORY), messages
    assert database.sql("SELECT count(*) FROM spoor.runs") == [[str(len(HISTORY))]]


def test_filters_choose_the_runs(database):
    database.store(HISTORY)
    assert database.added("--create", "name=train,exit=0", "until=2026-11-02").startswith("spoor: added 2 runs;")
    assert database.added("--name", "prepare", "--last").startswith("spoor: added 1 run;")
    assert sorted(database.sql("SELECT name, count(*) FROM spoor.runs GROUP BY name")) == [["prepare", "1"], ["train", "2"]]


def test_views_summarize_the_runs(database):
    database.store(HISTORY)
    database.added("--create")
    assert database.sql("SELECT day, runs, memory_median_bytes, memory_max_bytes FROM spoor.peaks WHERE name = 'train' "
                        "ORDER BY day") == [["2026-11-01", "2", str(2 * GIB), str(4 * GIB)],
                                            ["2026-11-02", "1", str(5 * GIB), str(5 * GIB)],
                                            ["2026-11-03", "1", str(8 * GIB), str(8 * GIB)]]
    assert database.sql("SELECT gpu_memory_max_bytes FROM spoor.peaks WHERE name = 'evaluate'") == [[str(20 * GIB)]]
    assert database.sql("SELECT name, memory_limit_bytes, runs, memory_max_bytes, memory_percent, cpus_limit, "
                        "mean_cores_max FROM spoor.requests WHERE name <> 'evaluate' ORDER BY name, 2") == [
                            ["prepare", str(8 * GIB), "1", str(GIB), "12.5", "4", "1.65"],
                            ["prepare", str(16 * GIB), "1", str(GIB), "6.3", "4", "1.65"],
                            ["train", str(8 * GIB), "4", str(8 * GIB), "100.0", "4", "1.65"]]
    assert database.sql("SET timezone TO utc; SELECT * FROM spoor.failures ORDER BY name") == [
        ["prepare", "2", "1", "50.0", "0", "", "2026-11-03 10:00:00+00"],
        ["train", "4", "1", "25.0", "1", "1", "2026-11-03 10:00:00+00"]]


def test_documented_queries_have_the_documented_output(database):
    """Each query must have the output shown in docs/TEAM.md."""
    database.store(HISTORY)
    database.added("--create")
    blocks = re.findall(r"```sql\n(SELECT [^`]*)```\n\n```text\n([^`]*)```", (TOP / "docs/TEAM.md").read_text())
    assert len(blocks) == 3
    for query, output in blocks:
        shown = subprocess.run([*database.server.psql, "-d", database.name, "-c", query], check=True, text=True,
                               stdout=subprocess.PIPE, env={**os.environ, "PGTZ": "UTC"}, timeout=DEADLINE_SECONDS).stdout
        assert [line.rstrip() for line in shown.strip("\n").split("\n")] == output.strip("\n").split("\n")


def test_values_of_unexpected_types_do_not_prevent_a_push(database):
    database.store([run(1, "x", 1, "much", exit_code=1e30, started_at="yesterday", elapsed_seconds={}), HISTORY[1]])
    database.added("--create")
    assert database.sql("SELECT memory_bytes, exit_code, started_at, elapsed_seconds FROM spoor.runs ORDER BY id LIMIT 1"
                        ) == [[""] * 4]


def test_error_for_a_database_without_tables_suggests_create(database):
    database.store(HISTORY)
    assert "no table spoor.runs; 'spoor history push --create' creates it" in database.fault()


def test_tables_of_another_version_are_refused(database):
    database.store(HISTORY)
    database.added("--create")
    database.sql("COMMENT ON TABLE spoor.runs IS 'version 2'")
    assert database.fault("--create").endswith("has another version; this program writes version 1: update spoor\n")
    database.sql("COMMENT ON TABLE spoor.runs IS NULL")
    assert "was not created by spoor" in database.fault()


def test_error_for_a_user_without_permission_names_the_required_grants(database):
    database.store(HISTORY)
    assert "ask the owner of the database to create the tables" in database.fault("--create", url=database.team_url)
    database.added("--create", "last=3")
    advice = "ask its owner for: GRANT USAGE ON SCHEMA spoor, GRANT INSERT ON spoor.runs"
    assert f"permission denied for schema spoor; {advice}" in database.fault(url=database.team_url)
    database.sql("GRANT USAGE ON SCHEMA spoor TO team")
    assert f"permission denied for table runs; {advice}" in database.fault(url=database.team_url)
    database.sql("GRANT INSERT ON spoor.runs TO team")
    assert database.added(url=database.team_url) == "spoor: added 4 runs; the database had 3 already\n"


def test_failed_push_adds_nothing(database):
    """The push is one transaction, whose second batch fails."""
    database.store([HISTORY[0]])
    database.added("--create")
    database.sql("ALTER TABLE spoor.runs ADD CHECK (name <> 'bad')")
    database.store([*(run(number, "good", 1, GIB, cwd="/long" * 100) for number in range(2, 3000)),
                    run(3000, "bad", 1, GIB)])
    assert "violates check constraint" in database.fault()
    assert database.sql("SELECT count(*) FROM spoor.runs") == [["1"]]


def test_passwords_are_not_printed(database):
    """push() checks each message for passwords."""
    database.store(HISTORY)
    place = f"host={database.server.folder}"
    assert "password authentication failed" in database.fault(url=f"postgresql://team:not-s3cr3t@/x?{place}")
    for url in ("team:s3cr3t@127.0.0.1:1/x", "127.0.0.1:1/x?password=s3cr3t"):
        message = database.fault(url=f"postgresql://{url}")
        assert "Connection refused; check the URL" in message
    for url in ("team:a/s3cr3t@h/x", "team:a@s3cr3t@h/x", "team:s3cr3t%zz@h/x", "team:s3cr3t@[::1/x", "h/x?s3cr3t=1"):
        assert "invalid URL: expected postgresql://USER@HOST" in database.fault(url=f"postgresql://{url}")
    assert "only one URL" in database.fault(database.team_url)
    for url in ("mysql://team:s3cr3t@h/x", "name=train"):
        assert "missing argument: spoor history push postgresql://" in database.fault(database.team_url, url=url)


def test_error_names_the_package_if_libpq_is_missing(database, tmp_path):
    (tmp_path / "libpq.so.5").touch()
    message = database.fault(environment={"LD_LIBRARY_PATH": str(tmp_path)})
    assert "libpq.so.5 is missing or damaged: install the package libpq5" in message
