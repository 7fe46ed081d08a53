# SPDX-License-Identifier: Apache-2.0
"""Runs of resource-tracker that upload samples, for tests."""
import os
import pathlib
import re
import signal

from conftest import eventually, read_line

INTERVAL = ("-i", "0.02")


class Run:
    """A job that runs until end() is called; its samples are also written to a file."""

    def __init__(self, program, service, folder, *options, **environment):
        self.path = program.new_path("samples.csv")
        self.folder = folder
        self.environment = {**os.environ, **service.environment(
            folder, **{"TRACKER_UPLOAD_INTERVAL": "0.2", **environment})}
        self.process = program.start(*INTERVAL, "-f", "csv", "-o", self.path, *options, "--",
                                     "sh", "-c", "echo started; read -r code; exit $code",
                                     env=self.environment)
        assert read_line(self.process.stdout) == "started"

    def end(self, code=0):
        """Ends the job; returns its stderr."""
        self.process.stdin.write(f"{code}\n".encode())
        self.process.stdin.close()
        said = self.process.stderr.read().decode()
        assert self.process.wait() == code
        return said

    def rows(self):
        """Returns the lines of the samples file."""
        return self.path.read_text().splitlines() if self.path.exists() else []

    def uploader(self):
        return uploader_of(self.folder)


def uploader_of(folder):
    """Returns the PID of the process that has locked the run's spool, or None."""
    for link in pathlib.Path("/proc").glob("[0-9]*/fd/1"):
        try:
            if os.path.dirname(os.readlink(link)) == f"{folder}/spoor/uploads":
                return int(link.parts[2])
        except OSError:
            pass
    return None


def kill_uploader(run):
    pid = eventually(run.uploader, "the uploader")
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: run.uploader() is None, "its end")


def counted(count):
    return f"{count} sample{'' if count == 1 else 's'}"


def kept_in(said):
    """Returns the number of kept samples named in a message on stderr; None if there is no
    message."""
    found = re.search(r"; (1 sample is|\d+ samples are) kept in", said)
    return int(found[1].split()[0]) if found else None


def upload(program, run):
    return program("upload", env=run.environment)
