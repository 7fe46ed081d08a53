# SPDX-License-Identifier: Apache-2.0
"""An agent of resource-tracker that writes rows to temporary files.

The files are deleted once the agent has opened them, so that nothing is left behind however this
process ends.
"""
from __future__ import annotations

import os
import time

from spoor._agent import Agent
from spoor._error import Error, make_error

from ._dialect import NEWEST
from ._rows import RowFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Mapping, Sequence


def _make_folder() -> str:
    """A new folder for temporary files; tempfile would take 10 ms to import."""
    failure: OSError | None = None
    for place in (os.environ.get("TMPDIR") or "/tmp", "/tmp", "/var/tmp", "/dev/shm"):
        folder = os.path.join(place, f"resource_tracker-{os.urandom(8).hex()}")
        try:
            os.mkdir(folder, 0o700)
            return folder
        except OSError as error:
            failure = failure or error
    assert failure is not None
    raise failure


def _remove_folder(folder: str) -> None:
    try:
        for name in os.listdir(folder):
            os.unlink(os.path.join(folder, name))
        os.rmdir(folder)
    except OSError:
        pass


def _describe_run(metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    """The metadata as Sentinel expects it: without None, and a command as a JSON list of words."""
    import json

    found = {key: value for key, value in (metadata or {}).items() if value is not None}
    command = found.get("command")
    if command is not None:
        if isinstance(command, str):
            import shlex

            command = shlex.split(command)
        found["command"] = json.dumps([str(word) for word in command])
    return found


def _write_upload(folder: str, upload: Mapping[str, Any]) -> str:
    """A file that nobody else can read: it has the token."""
    import json

    upload = {**upload, "metadata": _describe_run(upload["metadata"])}
    path = os.path.join(folder, "upload.json")
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with open(fd, "w", encoding="utf-8") as file:
        json.dump(upload, file)
    return path


class Tracking:
    """The tracking of a process ("process"), of the machine ("system"), or of both, from its
    start to close(). The first measurement has been made when the constructor returns."""

    def __init__(self, tables: Sequence[str], dialect: str, interval: float, pid: int,
                 children: bool, upload: Mapping[str, Any] | None = None) -> None:
        """`upload`: what is uploaded besides, and where to (src/compat/resource_tracker/agent_upload.h)."""
        folder, start_time = _make_folder(), time.time()
        self.rows: dict[str, RowFile] = {}
        self.agent: Agent | None = None
        self.is_uploading = upload is not None and bool(tables)
        self.warnings: list[str] = []  # once it has stopped: what is missing from the rows
        words = [f"--interval={interval:.9f}".rstrip("0").rstrip(".")]
        if dialect != NEWEST:
            words.append(f"--dialect={dialect}")
        if "process" in tables:
            words += [f"--pid={pid}", *([] if children else ["--no-children"])]
        try:
            for table in tables:
                path = os.path.join(folder, f"{table}.f64")
                self.rows[table] = RowFile(path, table, dialect, start_time)
                words.append(f"--{table}-rows={path}")
            if upload is not None:
                words.append(f"--upload={_write_upload(folder, upload)}")
            if tables:
                self.agent = Agent(*words, name="resource-tracker")
        except Error as error:  # in the terms of Python: "--interval" is interval
            self.close()
            raise make_error(error.code, str(error).removeprefix("--")) from None
        except BaseException:
            self.close()
            raise
        finally:
            _remove_folder(folder)

    def stop(self) -> dict[str, Any] | None:
        """Ends the tracking with a last row, and returns the totals of the process. The agent ends too,
        unless it uploads."""
        if self.agent is None:
            return None
        try:
            answer = self.agent.ask("stop") if self.is_uploading else self.agent.stop()
        except Error:  # any other exception comes from a signal handler: it may be asked again
            self.end()
            raise
        if not self.is_uploading:
            self.end()
        self.warnings = [f"rows are missing: {reason}" for reason in answer["warnings"]]
        totals: dict[str, Any] | None = answer["figures"]
        return totals

    def finish_upload(self, exit_code: int, run_status: str) -> dict[str, Any] | None:
        """Ends the upload and the agent, after stop(). Returns what became of the upload; None if there
        is none."""
        if self.agent is None or not self.is_uploading:
            return None
        try:
            upload: dict[str, Any] = self.agent.ask("finish", str(exit_code), run_status)["upload"]
            self.agent.stop()
        except Error:
            self.end()
            raise
        self.end()
        return upload

    def end(self) -> None:
        """Ends the agent, if it has not ended. The rows can still be read."""
        if self.agent is not None:
            self.agent.close()
            self.agent = None

    def close(self) -> None:
        """Ends the agent and deletes the rows."""
        self.end()
        for rows in self.rows.values():
            rows.close()
        self.rows.clear()

    def __del__(self) -> None:
        for rows in getattr(self, "rows", {}).values():
            rows.close()
        if getattr(self, "agent", None) is not None:
            self.end()
