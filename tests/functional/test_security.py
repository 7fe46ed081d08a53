# SPDX-License-Identifier: Apache-2.0
"""Attacks on the claims of docs/SECURITY.md. Other attacks are in test_hostile_text.py
(terminals), test_output_files.py (links and pipes) and test_upload*.py (uploads)."""
import json
import os
import pathlib
import socket
import sqlite3
import stat
import subprocess
import sys

import pytest

from conftest import DEADLINE_SECONDS, descriptors_of, eventually, load, read_line, state_of

STRANGER = 1234
AS_STRANGER = ["setpriv", f"--reuid={STRANGER}", f"--regid={STRANGER}", "--clear-groups"]
IN_PUBLIC = "belongs to another user in a public directory"


@pytest.fixture
def public(tmp_path):
    """Creates a folder that every user may write to, like /tmp."""
    if os.geteuid() != 0:
        pytest.skip("only root can make the files of another user")
    folder = tmp_path / "public"
    folder.mkdir()
    folder.chmod(0o1777)
    return folder


def plant(path, text="old\n"):
    """Creates a file that belongs to another user."""
    path.write_text(text)
    path.chmod(0o666)
    os.chown(path, STRANGER, STRANGER)
    return path


def plant_link(path, target):
    path.symlink_to(target)
    os.chown(path, STRANGER, STRANGER, follow_symlinks=False)
    return path


# ---- planted files in a public folder ------------------------------------------------

def test_report_is_not_written_to_a_planted_file(spoor, public):
    """A descriptor opened before the run cannot be used to read the report, either."""
    path = plant(public / "report.json")
    with open(path, encoding="utf-8") as before:
        assert spoor("run", "-q", "-o", path, "--", "true", umask=0o022).returncode == 0
        assert before.read() == "old\n"
    assert path.stat().st_uid == os.geteuid()
    assert stat.S_IMODE(path.stat().st_mode) & 0o022 == 0
    assert load(path)["schema"] == "spoor/1"


@pytest.mark.parametrize("options", [["--samples"], ["--append", "--samples"], ["--append", "-o"]], ids=str)
def test_planted_file_is_not_overwritten_in_place(spoor, public, options):
    """The planted file may be a hard link to any file, if the kernel does not protect hard
    links."""
    path = plant(public / "s.csv", "")
    done = spoor("run", "-q", *options, path, "--", "true")
    assert done.returncode == 125 and IN_PUBLIC in done.stderr
    assert path.read_text() == ""


@pytest.mark.parametrize("kind", ["link", "dangling link", "pipe", "file"])
def test_gpu_tracker_refuses_a_planted_output_file(gpu_tracker, public, tmp_path, kind):
    victim, path = tmp_path / "victim", public / "output"
    if kind == "pipe":
        os.mkfifo(path)
        os.chown(path, STRANGER, STRANGER)
    elif kind == "file":
        plant(path)
    else:
        plant_link(path, victim)
    if kind == "link":
        victim.write_text("precious")
    done = gpu_tracker("-e", "true", "-o", path)
    assert done.returncode == 1 and "public directory" in done.stderr
    assert (victim.read_text() if victim.exists() else None) == ("precious" if kind == "link" else None)
    if kind == "file":
        assert path.read_text() == "old\n"


def test_gpu_tracker_follows_a_link_owned_by_the_user(gpu_tracker, tmp_path):
    """The predecessor follows links, too."""
    (tmp_path / "output").symlink_to(tmp_path / "target")
    assert gpu_tracker("-e", "true", "-o", tmp_path / "output").returncode == 0
    assert (tmp_path / "target").stat().st_size > 100


@pytest.mark.parametrize("name", ["f.csv", "f.sqlite"])
def test_tracking_file_is_not_written_through_a_planted_link(gpu_tracker, public, tmp_path, name):
    """With --overwrite, a planted link is replaced, not followed; without, it is refused."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    path = plant_link(public / name, victim)
    assert gpu_tracker("-e", "true", f"--tf={path}").returncode == 1
    assert path.is_symlink()
    assert gpu_tracker("--overwrite", "-e", "true", f"--tf={path}").returncode == 0
    assert victim.read_text() == "precious" and not path.is_symlink()
    assert path.stat().st_uid == os.geteuid()


@pytest.mark.parametrize("suffix", ["-wal", "-journal"])
def test_planted_link_next_to_a_tracking_file_is_not_followed(gpu_tracker, public, tmp_path, suffix):
    """SQLite would use the targets as its own WAL or journal."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    plant_link(public / f"f.sqlite{suffix}", victim)
    assert gpu_tracker("-e", "true", f"--tf={public / 'f.sqlite'}").returncode == 0
    assert victim.read_text() == "precious"


@pytest.mark.parametrize("name", ["p.csv", "p.sqlite"])
@pytest.mark.parametrize("is_link", [False, True])
def test_planted_phase_file_is_refused(spoor, public, tmp_path, name, is_link):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    path = plant_link(public / name, victim) if is_link else plant(public / name, "")
    done = spoor("phase", "start", "x", "--file", path)
    assert done.returncode != 0 and IN_PUBLIC in done.stderr
    assert victim.read_text() == "precious" and (is_link or path.read_text() == "")


def test_config_file_that_is_a_pipe_is_ignored(resource_tracker):
    """The default path of the config file is in the working directory, which may be /tmp."""
    os.mkfifo(resource_tracker.folder / "resource-tracker.toml")
    done = resource_tracker("--quiet", "--", "true")
    assert done.returncode == 0
    assert "not a regular file; ignored" in done.stderr


# ---- sockets -------------------------------------------------------------------

def phase_address(pid):
    return f"\0spoor-phases/{os.readlink('/proc/self/ns/pid')}/{pid}"


def say(text):
    """Returns a command that sends a request to the tracker with a given PID, and prints the
    answer."""
    return [sys.executable, "-c", "import socket, sys\n"
            "client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
            "client.connect(sys.argv[1].replace('@', chr(0), 1))\n"
            f"client.send(b'{text}')\n"
            "print(client.recv(1000).decode())"]


def start_waiting(spoor, path):
    process = spoor.start("run", "-q", "-o", path, "--", "sh", "-c", "echo ready; read line")
    read_line(process.stdout)
    return process


def test_only_the_user_may_mark_phases(spoor, tmp_path):
    path = tmp_path / "report.json"
    process = start_waiting(spoor, path)
    address = phase_address(process.pid).replace("\0", "@")
    strangers = [AS_STRANGER] if os.geteuid() == 0 else []
    for prefix in strangers:
        # The tracker closes the connection without an answer, perhaps before the request could be
        # sent.
        done = subprocess.run([*prefix, *say("start theirs"), address], text=True, capture_output=True,
                              timeout=DEADLINE_SECONDS, check=False)
        assert done.stdout.strip() == "", done
    done = subprocess.run([*say("start ours"), address], text=True, capture_output=True, check=True,
                          timeout=DEADLINE_SECONDS)
    assert done.stdout.strip() == "done"
    process.communicate(b"\n")
    assert [phase["name"] for phase in load(path)["phases"]] == ["ours"]


def was_never_accepted(client):
    try:
        client.recv(1)
    except ConnectionResetError:
        return True
    return False


def test_silent_clients_do_not_delay_the_end(spoor, tmp_path):
    """While the job runs, each client delays the listener by 0.1 s; the end of the run is not
    delayed."""
    path = tmp_path / "report.json"
    process = start_waiting(spoor, path)
    clients = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(100)]
    for client in clients:
        client.connect(phase_address(process.pid))
    process.communicate(b"\n", timeout=DEADLINE_SECONDS)
    assert any(was_never_accepted(client) for client in clients)
    for client in clients:
        client.close()
    assert process.returncode == 0 and load(path)["phases"] == []


def test_only_phases_are_lost_if_the_socket_name_is_taken(spoor, tmp_path):
    """Any process can take the tracker's socket name, because the PID is known before the
    tracker starts: the process that calls exec keeps its PID."""
    path = tmp_path / "report.json"
    squatter = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    starter = subprocess.Popen(["sh", "-c", 'echo ready; read line; exec "$@"', "sh", spoor.binary, "run",
                                "-q", "-o", path, "--", "true"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)
    read_line(starter.stdout)
    squatter.bind(phase_address(starter.pid))
    starter.communicate(b"\n", timeout=DEADLINE_SECONDS)
    squatter.close()
    assert starter.returncode == 0
    assert "cannot listen for phases" in json.dumps(load(path)["warnings"])


IMPOSTOR = """
import socket, sys
server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
server.bind(chr(0) + sys.argv[1])
server.listen()
print("ready", flush=True)
print("got", server.accept()[0].recv(1000), flush=True)
"""


def test_phase_is_not_sent_to_a_process_that_took_the_socket_name(spoor, tmp_path):
    """`spoor phase` contacts its ancestors by PID. Another process has taken the socket name of
    one of them."""
    impostor = subprocess.Popen([sys.executable, "-c", IMPOSTOR, phase_address(os.getpid())[1:]],
                                stdout=subprocess.PIPE)
    read_line(impostor.stdout)
    spoor("phase", "start", "secret", cwd=tmp_path)
    assert read_line(impostor.stdout) == "got b''"
    impostor.stdout.close()
    assert impostor.wait() == 0


def listening(pid):
    """Returns the names of all listening sockets of a running process."""
    assert state_of(pid) != "Z"
    inodes = set()
    for target in descriptors_of(pid):
        if target.startswith("socket:["):
            inodes.add(target[len("socket:["):-1])
    found = []
    for line in pathlib.Path("/proc/net/unix").read_text().splitlines()[1:]:
        columns = line.split()
        if columns[6] in inodes and int(columns[3], 16) & 0x10000:
            found.append(columns[7] if len(columns) > 7 else "")
    for family in ("tcp", "tcp6"):
        for line in pathlib.Path(f"/proc/net/{family}").read_text().splitlines()[1:]:
            columns = line.split()
            if columns[9] in inodes and columns[3] == "0A":
                found.append(columns[1])
    return found


def test_an_agent_has_no_listening_socket(spoor, held):
    """An agent is controlled only through the pipe of the process that started it."""
    agent = spoor.start("agent", "--pid", str(held.pid))
    assert json.loads(read_line(agent.stdout))["event"] == "ready"
    assert listening(agent.pid) == []
    agent.stdin.close()
    assert agent.wait() == 0


def test_run_has_no_listening_socket_except_for_phases(spoor, tmp_path):
    process = start_waiting(spoor, tmp_path / "report.json")
    names = listening(process.pid)
    process.communicate(b"\n")
    assert names == [phase_address(process.pid).replace("\0", "@")]


# ---- files of others that are read ---------------------------------------------

HUGE_BYTES = 4 << 30
MEMORY_BYTES = 1 << 30  # the maximum, with sanitizers


def refused_in_bounds(command, tmp_path):
    """Checks that a command refuses its input with one line of output, and with little memory."""
    with open(tmp_path / "stderr", "w+", encoding="utf-8") as errors:
        process = subprocess.Popen(list(map(os.fspath, command)), cwd=tmp_path, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        text = errors.read()
    assert process.returncode in (1, 125) and text.count("\n") == 1, (process.returncode, text)
    assert usage.ru_maxrss * 1024 < MEMORY_BYTES
    return text


@pytest.fixture
def huge(tmp_path):
    def make(name):
        with open(tmp_path / name, "wb") as file:
            file.truncate(HUGE_BYTES)
        return tmp_path / name
    return make


def test_huge_file_is_refused(spoor, tmp_path, huge):
    """The file is refused before all of it is read, since it would not fit into memory."""
    path = huge("huge.json")
    assert "larger than" in refused_in_bounds([spoor.binary, "report", path], tmp_path)
    refused_in_bounds([spoor.binary, "run", "--config", path, "true"], tmp_path)


def test_endless_line_in_a_file_is_refused(gpu_tracker, tmp_path, huge):
    path = huge("huge.csv")
    refused_in_bounds([gpu_tracker.binary, "sub-track", "analyze", f"--tf={path}", f"--stf={path}"], tmp_path)


ENDLESS = ("CREATE VIEW data AS WITH RECURSIVE endless(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM endless) "
           "SELECT i AS process_id, 'x' AS code_block_name, 0 AS position, 1.0 AS timestamp FROM endless")


def test_view_in_a_database_is_not_executed(sub_track, tmp_path):
    path = tmp_path / "endless.sqlite"
    with sqlite3.connect(path) as database:
        database.execute(ENDLESS)
    database.close()
    done = sub_track("combine", f"--stf={tmp_path / 'all.sqlite'}", "-p", path)
    assert done.returncode != 0 and "view" in done.stderr, done
    assert not (tmp_path / "all.sqlite").exists()


def test_trigger_in_a_phase_file_is_not_executed(spoor, tmp_path):
    path = tmp_path / "p.sqlite"
    assert spoor("phase", "start", "x", "--file", path).returncode == 0
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE trap (i INTEGER)")
        database.execute("CREATE TRIGGER spring AFTER INSERT ON data BEGIN INSERT INTO trap VALUES (1); END")
    assert spoor("phase", "stop", "x", "--file", path).returncode == 0
    assert database.execute("SELECT count(*) FROM data").fetchone() == (2,)
    assert database.execute("SELECT count(*) FROM trap").fetchone() == (0,)
    database.close()


# ---- files of ours -------------------------------------------------------------

def test_no_temporary_files_are_left(spoor, tmp_path):
    """A report is written next to its final path; no file of a run is created in TMPDIR."""
    temporary, folder = tmp_path / "tmp", tmp_path / "out"
    temporary.mkdir()
    folder.mkdir()
    process = spoor.start("run", "-o", folder / "r.json", "--samples", folder / "s.csv", "--", "sh", "-c",
                          "echo ready; read line", env={**os.environ, "TMPDIR": str(temporary)})
    read_line(process.stdout)
    eventually((folder / "s.csv").exists, "samples")
    assert list(temporary.iterdir()) == []
    process.communicate(b"\n")
    assert list(temporary.iterdir()) == []
    assert sorted(path.name for path in folder.iterdir()) == ["r.json", "s.csv"]
