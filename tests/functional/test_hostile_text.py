# SPDX-License-Identifier: Apache-2.0
"""Untrusted text (names, arguments, variables, files) goes through every command that prints it:
none of it may reach a terminal as a control character."""
import json
import os
import subprocess
import unicodedata

import pytest

from conftest import DEADLINE_SECONDS, read_line
from sub_tracking import GOLDEN

pytestmark = pytest.mark.any_user

# An escape sequence, C1 control characters as a raw byte and in UTF-8, a right-to-left override, a
# carriage return and a newline, and bytes that are not UTF-8. unit/test_escape.c tests each one
# separately.
HOSTILE = b"a\x1b[2J\x07\x7f\x9b31m\x85\xc2\x9b31m\xe2\x80\xae\xe2\x80\x8b\rb\nc\v\b\xff\xc0\xaf\xe2\x80"


@pytest.fixture
def hostile():
    return HOSTILE


def check(done):
    """Checks that the output is UTF-8, has no control characters except line ends and tabs, and
    that none of these comes from the hostile text."""
    for output in (done.stdout, done.stderr):
        text = output.decode("utf-8")  # fails if it is not UTF-8
        for character in text:
            assert character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cf"), \
                (repr(character), text)
        assert "b\nc" not in text, text
    return done


def call(program, *arguments, stdin=subprocess.DEVNULL, **options):
    return subprocess.run([program.binary, *arguments], check=False, capture_output=True,
                          cwd=program.folder, stdin=stdin, timeout=DEADLINE_SECONDS, **options)


# Each text is either shown, or refused and named in an error message.
SPOOR = {
    "command": lambda text: [text],
    "help": lambda text: ["help", text],
    "long option": lambda text: ["run", b"--" + text],
    "letter": lambda text: ["run", b"-" + text[1:]],
    "value of a flag": lambda text: ["run", b"--quiet=" + text, "true"],
    "interval": lambda text: ["run", "-i", text, "true"],
    "format": lambda text: ["run", "-f", text, "true"],
    "tag": lambda text: ["run", "--tag", text, "true"],
    "cgroup": lambda text: ["run", "--cgroup", b"/" + text.replace(b"/", b"."), "true"],
    "cgroup word": lambda text: ["run", "--cgroup", text, "true"],
    "gpus": lambda text: ["run", "--gpus", text, "true"],
    "config": lambda text: ["run", "--config", text, "true"],
    "samples suffix": lambda text: ["run", "--samples", text, "true"],
    "samples folder": lambda text: ["run", "--samples", text + b"/x.csv", "true"],
    "output folder": lambda text: ["run", "-o", text + b"/x", "true"],
    "samples format": lambda text: ["run", "--samples-format", text, "true"],
    "no such program": lambda text: ["run", "--", text],
    "arguments": lambda text: ["run", "--", "true", text],
    "name and tags": lambda text: ["run", "--name", text, "--tag", b"key=" + text, "--tag",
                                   text.replace(b"=", b"") + b"=1", "--", "true"],
    "json": lambda text: ["run", "-f", "json", "--name", text, "--tag", b"k=" + text, "true", text],
    "csv": lambda text: ["run", "-f", "csv", "--name", text, "--tag", b"k=" + text, "true", text],
    "attach": lambda text: ["attach", text],
    "attach pid": lambda text: ["attach", "--pid", text],
    "report": lambda text: ["report", "-f", "text", text],
    "info": lambda text: ["info", text],
    "info gpus": lambda text: ["info", "--gpus", text],
    "doctor": lambda text: ["doctor", text],
    "doctor cgroup": lambda text: ["doctor", "--cgroup", b"/" + text.replace(b"/", b".")],
    "phase word": lambda text: ["phase", text, "x"],
    "phase": lambda text: ["phase", "stop", text, "--file", "x.csv"],
    "phase file": lambda text: ["phase", "start", "x", "--file", text],
    "phase folder": lambda text: ["phase", "start", "x", "--file", text + b"/x.csv"],
}


@pytest.mark.parametrize("case", list(SPOOR))
def test_hostile_arguments_of_spoor_are_escaped(spoor, case, hostile):
    check(call(spoor, *SPOOR[case](hostile)))


@pytest.mark.parametrize("name", ["SPOOR_INTERVAL", "SPOOR_DISABLE", "SPOOR_FORMAT", "SPOOR_TAG",
                                  "SPOOR_NAME", "SPOOR_GPUS", "SPOOR_OUTPUT", "SPOOR_CONFIG",
                                  "SPOOR_SAMPLES_FORMAT", "CUDA_VISIBLE_DEVICES", "TERM", "LC_ALL", "USER",
                                  "SLURM_CPUS_ON_NODE", "SPOOR_PHASE_FILE"])
def test_hostile_variables_are_escaped(spoor, name, hostile):
    environment = {**os.environb, name.encode(): hostile}
    check(call(spoor, "run", "--", "true", env=environment))
    check(call(spoor, "doctor", env=environment))
    check(call(spoor, "info", env=environment))
    check(call(spoor, "phase", "start", "x", env=environment))


@pytest.mark.parametrize("make", [lambda text: {text: 1}, lambda text: {"interval": text},
                                  lambda text: {"format": text}, lambda text: {"tag": text},
                                  lambda text: {"name": text}, lambda text: {"name": {text: text}}],
                         ids=["key", "interval", "format", "tag", "name", "object"])
def test_hostile_config_files_are_escaped(spoor, gpu_tracker, make, hostile):
    text = json.dumps(make(hostile.decode("latin-1")), ensure_ascii=False)
    for encoding in ("latin-1", "utf-8"):
        config = spoor.folder / "config.json"
        config.write_bytes(text.encode(encoding))
        check(call(spoor, "run", "--config", config, "true"))
        check(call(gpu_tracker, "-e", "true", "--tconfig", config))
        check(call(gpu_tracker, "sub-track", "compare", "--cconfig", config))


def test_hostile_process_names_are_escaped(spoor, hostile):
    """The name (16 bytes), arguments and working directory of a process are hostile, with attach
    and as a child of a job."""
    folder = os.fsencode(spoor.folder) + b"/" + hostile.replace(b"/", b".")
    os.mkdir(folder)
    program = folder + b"/" + hostile.replace(b"/", b".")
    os.symlink("/bin/sh", program)
    process = subprocess.Popen([program, "-c", "echo ready; read line", hostile], cwd=folder,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    read_line(process.stdout)
    for kind in ("text", "json", "csv"):
        check(call(spoor, "attach", "-f", kind, "--duration", "0.01", str(process.pid)))
        check(call(spoor, "run", "-f", kind, "--", program, "-c", "(:); exit 1", hostile))
    process.communicate(b"\n")


@pytest.mark.parametrize("kind", ["text", "json", "csv"])
def test_hostile_stored_reports_are_escaped(spoor, kind, hostile):
    """Every text of a stored report is untrusted."""
    path = spoor.folder / "report.json"
    call(spoor, "run", "-q", "-o", path, "--name", "n", "--tag", "k=v", "true")

    def poison(value):
        if isinstance(value, dict):
            return {key: poison(item) for key, item in value.items() if key != "schema"}
        if isinstance(value, list):
            return [poison(item) for item in value]
        return hostile.decode("latin-1") if isinstance(value, str) else value

    report = json.loads(path.read_text())
    mild = {**report, "run": {**report["run"], **{key: poison(report["run"][key]) for key in
                                                   ("name", "tags", "command", "host", "user", "cwd")}},
            "host": poison(report["host"]),
            "warnings": [poison({"code": "x", "message": "y"})]}
    for stored in (mild, {"schema": report["schema"], **poison(report)}):
        path.write_text(json.dumps(stored, ensure_ascii=False), encoding="utf-8")
        check(call(spoor, "report", "-f", kind, path))
    path.write_bytes(b'{"schema": "' + hostile)
    check(call(spoor, "report", "--text", path))


def test_hostile_phase_names_are_escaped(spoor, hostile):
    """Hostile phase names are sent through the protocol of an agent, and appear in its report."""
    lines = b"start " + hostile.replace(b"\n", b"") + b"\nstop x\n" + hostile + b"\n"
    process = subprocess.Popen([spoor.binary, "agent", "--pid", str(os.getpid()), "-f", "text", "-o",
                                spoor.folder / "out.txt"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    stdout, stderr = process.communicate(lines, timeout=DEADLINE_SECONDS)
    check(subprocess.CompletedProcess([], 0, stdout, stderr))


GPU_TRACKER = {
    "option": lambda text: [b"--" + text],
    "word": lambda text: [text],
    "sub-track word": lambda text: ["sub-track", text],
    "no such program": lambda text: ["-e", b"'" + text + b"'"],
    "arguments": lambda text: ["-e", b"true '" + text + b"'"],
    "quote": lambda text: ["-e", b"true '" + text],
    "sleep time": lambda text: ["-e", "true", b"--st=" + text],
    "unit": lambda text: ["-e", "true", b"--ru=" + text],
    "format": lambda text: ["-e", "true", "-f", text],
    "cores": lambda text: ["-e", "true", b"--nec=" + text],
    "uuids": lambda text: ["-e", "true", b"--guuids=" + text],
    "brand": lambda text: ["-e", "true", b"--gb=" + text],
    "tracking file": lambda text: ["-e", "true", b"--tf=" + text],
    "tracking folder": lambda text: ["-e", "true", b"--tf=" + text + b"/x.csv"],
    "output": lambda text: ["-e", "true", "-o", text + b"/x"],
    "config": lambda text: ["-e", "true", b"--tconfig=" + text],
    "analyze": lambda text: ["sub-track", "analyze", b"--tf=" + text + b".csv", "--stf=x.csv"],
    "analyze suffix": lambda text: ["sub-track", "analyze", b"--tf=" + text, b"--stf=" + text],
    "combine": lambda text: ["sub-track", "combine", b"--stf=" + text + b".csv", "-p", text, "-p", text],
    "combine folder": lambda text: ["sub-track", "combine", b"--stf=x.csv", "-p", text],
    "compare": lambda text: ["sub-track", "compare", "-m", b"x=" + text, "-m", text + b"=y"],
    "statistic": lambda text: ["sub-track", "compare", "-m", "x=y", "-m", "a=b", b"--stat=" + text],
}


@pytest.mark.parametrize("case", list(GPU_TRACKER))
def test_hostile_arguments_of_gpu_tracker_are_escaped(gpu_tracker, case, hostile):
    check(call(gpu_tracker, *GPU_TRACKER[case](hostile)))


def quoted(text):
    return b'"' + text.replace(b'"', b'""') + b'"'


def test_hostile_names_in_sub_tracking_files_are_escaped(gpu_tracker, hostile):
    """Names of blocks, units and columns are hostile; the output of analyze is the input of
    compare."""
    folder = os.fsencode(gpu_tracker.folder)
    blocks, tracking = folder + b"/blocks.csv", folder + b"/tracking.csv"
    with open(blocks, "wb") as file:
        file.write(b"process_id,code_block_name,position,timestamp\r\n")
        for position, time in ((0, 1746129779.1), (1, 1746129780.3)):
            file.write(b"265016,%s,%d,%f\r\n" % (quoted(hostile), position, time))
    done = check(call(gpu_tracker, "sub-track", "analyze", "--tf", GOLDEN / "tracking.csv", "--stf", blocks))
    assert b"Code Block Results" in done.stdout
    check(call(gpu_tracker, "sub-track", "analyze", "--tf", GOLDEN / "tracking.csv", "--stf", blocks,
               "-f", "json"))
    call(gpu_tracker, "sub-track", "analyze", "--tf", GOLDEN / "tracking.csv", "--stf", blocks,
         "-f", "json", "-o", folder + b"/results.json")
    done = check(call(gpu_tracker, "sub-track", "compare", "-m", hostile.replace(b"=", b"") + b"=results.json",
                      "-m", "other=results.json"))
    assert b"other" in done.stdout
    lines = (GOLDEN / "tracking.csv").read_bytes().replace(b"\r", b"").split(b"\n")
    with open(tracking, "wb") as file:
        file.write(b"\r\n".join([lines[0], lines[1].replace(b"gigabytes", quoted(hostile))] + lines[2:]))
    check(call(gpu_tracker, "sub-track", "analyze", "--tf", tracking, "--stf", blocks))
    with open(tracking, "wb") as file:
        file.write(b"\r\n".join([quoted(hostile) + b"," + lines[0]] + lines[1:]))
    check(call(gpu_tracker, "sub-track", "analyze", "--tf", tracking, "--stf", blocks))
    with open(blocks, "ab") as file:
        file.write(quoted(hostile) + b",x,0,1\r\n")
    check(call(gpu_tracker, "sub-track", "analyze", "--tf", GOLDEN / "tracking.csv", "--stf", blocks))
    check(call(gpu_tracker, "sub-track", "combine", "--stf", "new.csv", "-p", blocks, "-p", blocks))
    with open(folder + b"/results.json", "wb") as file:
        file.write(b'{"overall": {"' + hostile.replace(b"\n", b"") + b'": 1}}')
    check(call(gpu_tracker, "sub-track", "compare", "-m", "x=results.json", "-m", "y=results.json"))
