# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests of the Python packages. The packages are run from the source tree, with a build of the
program."""
import os
import pathlib
import subprocess
import sys
import textwrap
import threading
import time

import pytest

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
PACKAGES = TOP / "python"
BINARY = pathlib.Path(os.environ.get("SPOOR_BINARY", TOP / "build/spoor")).absolute()
DEADLINE_SECONDS = 60

sys.path.insert(0, str(PACKAGES))
sys.path.append(str(TOP / "tests/functional"))  # for the fake services on loopback
os.environ["SPOOR_BIN"] = str(BINARY)
os.environ["PYTHONPATH"] = str(PACKAGES)
MARK = f"TESTED_BY={os.getpid()}"
os.environ["TESTED_BY"] = str(os.getpid())
for key in list(os.environ):
    if key.startswith("SPOOR_") and key not in ("SPOOR_BIN", "SPOOR_BINARY"):
        del os.environ[key]
# No server listens at this address, so a test without its own service reaches none.
NOWHERE = "http://127.0.0.1:1"
NO_SERVICES = {name: NOWHERE for name in ("SPOOR_KEEPER_URL", "SPOOR_METADATA_URL", "SPOOR_S3_URL",
                                          "SENTINEL_API_URL")}
os.environ.update(NO_SERVICES)
os.environ["no_proxy"] = "*"
os.environ.pop("SENTINEL_API_TOKEN", None)


def pytest_configure(config):
    config.addinivalue_line("markers", "any_user: the result does not depend on the user; runs once")
    config.addinivalue_line("markers", "main_thread: handles signals")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """On a very busy machine, a worker of pytest-xdist runs its tests in a thread other than the
    main one, which alone handles signals. Tests that need signals are then run in a separate
    process."""
    if not pyfuncitem.get_closest_marker("main_thread") or threading.current_thread() is threading.main_thread():
        return None
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider",
                           f"{pyfuncitem.path}::{pyfuncitem.name}"], text=True, check=False, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout
    return True


def eventually(condition, what):
    """Polls until condition() is true and returns its value; fails after a long time."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.005)
    pytest.fail(f"not within {DEADLINE_SECONDS} s: {what}")


def burn(seconds=0.05):
    """Uses CPU time."""
    end = time.process_time() + seconds  # os.times() would return two counters in hundredths of a second
    while time.process_time() < end:
        pass


def state_of(pid):
    """Returns the letter that the kernel shows for the state of a process; X if there is none."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_bytes()  # a name may be any bytes
    except (FileNotFoundError, ProcessLookupError):
        return "X"
    return stat.rpartition(b")")[2].split()[0].decode()


def is_alive(pid):
    return state_of(pid) not in "ZX"


def agents():
    """Lists the live agents of these tests, by PID."""
    found = set()
    for path in pathlib.Path("/proc").glob("[0-9]*/comm"):
        try:
            if path.read_bytes() == b"spoor-agent\n" and is_alive(int(path.parent.name)) and \
                    MARK.encode() in (path.parent / "environ").read_bytes().split(b"\0"):
                found.add(int(path.parent.name))
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            pass
    return found


@pytest.fixture(autouse=True)
def in_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))


@pytest.fixture
def script(tmp_path):
    """script(text, *arguments) runs a Python program until it exits and returns its output."""
    def start(text, *arguments, prefix=(), **options):
        path = tmp_path / "program.py"
        path.write_text(textwrap.dedent(text))
        return subprocess.Popen([*prefix, sys.executable, path, *map(str, arguments)],
                                stdout=subprocess.PIPE, text=True, **options)

    def run(text, *arguments, **options):
        process = start(text, *arguments, stderr=subprocess.PIPE, **options)
        out, err = process.communicate(timeout=DEADLINE_SECONDS)
        assert process.returncode == 0, err
        return out

    run.start = start
    return run


REPORTER = f"""#!/bin/bash
# A stand-in for `spoor report`: a page that contains the report as JSON.
[ "$1" = report ] || exec -a resource-tracker {BINARY} "$@"
echo "$@" > "$0.arguments"
printf '<html><script id="spoor-data">'
{BINARY} "${{@/--format=html/--format=json}}" || exit
printf '</script></html>\\n'
"""


@pytest.fixture
def stand_in_reporter(tmp_path, monkeypatch):
    """After stand_in_reporter(), pages are made by a program that embeds the report unchanged."""
    def install():
        path = tmp_path / "reporter"
        path.write_text(REPORTER)
        path.chmod(0o755)
        monkeypatch.setenv("SPOOR_BIN", str(path))
        return path
    return install
