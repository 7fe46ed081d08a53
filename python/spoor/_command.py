# SPDX-License-Identifier: Apache-2.0
"""run(): a command under `spoor run`."""
from __future__ import annotations

import os
from typing import Any, Mapping, Optional, Sequence, Union

from ._program import find_program, make_error
from ._result import Path, Result
from ._tracker import option_words


def _read_report(path: str, program: str, status: int) -> dict[str, Any]:
    """Returns the report of the run. Raises an Error if there is none: the command was not started."""
    import json

    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            data: dict[str, Any] = json.load(file)
    except (OSError, ValueError):
        code, reason = {126: ("EACCES", "cannot be executed"), 127: ("ENOENT", "command not found")}.get(
            status, (None, f"was not started; the reason is on standard error (status {status})"))
        raise make_error(code, f"{program!r}: {reason}") from None
    return data


def run(command: Sequence[Union[str, bytes, os.PathLike[str], os.PathLike[bytes]]], *, check: bool = False,
        cwd: Optional[Path] = None, env: Optional[Mapping[str, str]] = None, stdin: Any = None, stdout: Any = None,
        interval: Union[float, str, None] = None, output: Optional[Path] = None, samples: Optional[Path] = None,
        name: Optional[str] = None, tags: Optional[Mapping[str, str]] = None, detail: Optional[str] = None,
        gpus: Optional[str] = None, append: bool = False, no_clobber: bool = False) -> Result:
    """Runs a command to its end and measures its usage, including everything it starts.

        result = spoor.run(["make", "-j8"])
        print(result.peak_memory_bytes, result.exit_code)

    Parameters
    ----------
    command : sequence of str, bytes or os.PathLike
        The program and its arguments. There is no shell: for one, run ``["sh", "-c", "a | b"]``.
    check : bool, default False
        Raise a subprocess.CalledProcessError if the command fails. The exception has the result as ``result``.
    cwd, env, stdin, stdout
        As for subprocess.run.
    interval, output, samples, name, tags, detail, gpus, append, no_clobber
        As for `Tracker`. The name of the output decides its format: ``.json``, ``.csv``, ``.html`` or text.

    Returns
    -------
    Result
        ``result.exit_code`` is the exit code of the command; ``result.run.signal`` is the signal that ended it.

    Raises
    ------
    Error
        If the command could not be started, or an argument is not valid.
    """
    import signal
    import subprocess
    import tempfile

    if isinstance(command, (str, bytes)) or not command:
        raise make_error("EINVAL", "command: expected a list such as ['ls', '-l']; "
                                   "for a shell command, ['sh', '-c', 'ls | wc']")
    samples = None if samples is None else os.path.abspath(samples)
    output = None if output is None else os.path.abspath(output)
    words = option_words(interval=interval, output=output, format=None, samples=samples, name=name, tags=tags,
                         detail=detail, gpus=gpus, append=append, no_clobber=no_clobber)
    with tempfile.TemporaryDirectory(prefix="spoor-") as folder:
        report = os.path.join(folder, "report.json")
        line = [find_program(), "run", "--quiet", f"--output={report}", *words, "--", *command]
        process = subprocess.Popen(line, cwd=cwd, env=env, stdin=stdin, stdout=stdout)
        try:
            status = process.wait()
        except BaseException:
            process.send_signal(signal.SIGTERM)  # spoor forwards it to the command
            process.wait()
            raise
        result = Result(_read_report(report, os.fsdecode(command[0]), status), samples=samples)
    if check and status != 0:
        failure: Any = subprocess.CalledProcessError(status, list(command))
        failure.result = result
        raise failure
    return result
