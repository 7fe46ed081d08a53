# SPDX-License-Identifier: Apache-2.0
"""Options that all commands share, and the hints for commands that cannot be run."""
import csv
import json
import os
import pathlib
import re

import pytest

from conftest import load

MANUAL = pathlib.Path(__file__).parents[2] / "docs/man/spoor.1.scd.in"


def test_each_output_option_writes_a_file(spoor, tmp_path):
    done = spoor("run", "-q", "-o", "a.json", "-o", "b.csv", "-o", "c", "-f", "json", "--", "true",
                 cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    report = load(tmp_path / "a.json")
    other = load(tmp_path / "c")
    other["tracker"]["cpu_seconds"] = report["tracker"]["cpu_seconds"]  # includes the time for writing a.json
    assert other == report, "--format is that of a name without a suffix"
    with open(tmp_path / "b.csv", encoding="utf-8") as file:
        assert next(csv.DictReader(file))["run_id"] == report["run"]["id"]
    done = spoor("report", "-o", "d.json", "-o", "d.txt", "a.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert load(tmp_path / "d.json") == report and "CPU time" in (tmp_path / "d.txt").read_text()
    done = spoor("run", "-o", "a.json", "-o", "./a.json", "--", "touch", "started", cwd=tmp_path)
    assert done.returncode == 125 and "--output: 'a.json' and './a.json' are the same file" in done.stderr
    assert not (tmp_path / "started").exists()


def test_outputs_come_only_from_the_source_with_the_highest_precedence(spoor, tmp_path):
    """A variable holds one path, in which commas are not separators; a config file may hold a
    list."""
    config = tmp_path / "c"
    config.write_text('{"output": ["1.json", "2.csv"], "quiet": true}')
    for variable, options, names in ((None, [], ["1.json", "2.csv"]), ("a,b.json", [], ["a,b.json"]),
                                     ("a,b.json", ["-o", "3.json"], ["3.json"])):
        environment = {**os.environ, **({"SPOOR_OUTPUT": variable} if variable else {})}
        done = spoor("run", "--config", config, *options, "--", "true", cwd=tmp_path, env=environment)
        assert (done.returncode, done.stderr) == (0, "")
        found = sorted(path.name for path in tmp_path.glob("*.*"))
        assert found == names
        for name in found:
            (tmp_path / name).unlink()


def test_format_option_overrides_the_suffix_but_format_variable_does_not(spoor, tmp_path):
    """A format set by the environment is only a default; the suffix of a file name takes
    precedence."""
    spoor("run", "-q", "-f", "json", "-o", "a.txt", "--", "true", cwd=tmp_path)
    load(tmp_path / "a.txt")
    spoor("run", "-q", "-o", "b.txt", "--", "true", cwd=tmp_path,
          env={**os.environ, "SPOOR_FORMAT": "json"})
    assert "CPU time" in (tmp_path / "b.txt").read_text()


def test_a_requested_format_is_written_in_spite_of_quiet(spoor):
    """--format requests output, as --print does; a default set by the environment does not."""
    done = spoor("run", "-q", "-f", "json", "--", "true")
    assert done.stdout == "" and json.loads(done.stderr)["run"]["exit_code"] == 0
    assert spoor("run", "-q", "--", "true", env={**os.environ, "SPOOR_FORMAT": "json"}).stderr == ""


# Each of these commands prints on stdout, as text or JSON.
PRINTING = {"info": ["info", "--gpus", "none"], "doctor": ["doctor"], "system": ["system", "-i", "10ms"],
            "watch": ["watch"], "report": ["report", "r.json"], "recommend": ["recommend", "r.json"]}


@pytest.fixture
def stored(spoor, tmp_path, monkeypatch):
    """Stores a report in the working directory."""
    monkeypatch.chdir(tmp_path)
    spoor("run", "-q", "-o", "r.json", "--", "true")


@pytest.mark.parametrize("arguments", PRINTING.values(), ids=PRINTING)
def test_every_command_has_output_format_and_color(spoor, tmp_path, stored, arguments):
    done = spoor(*arguments, "-o", "a.json", "-o", "a.txt")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    whole = json.loads((tmp_path / "a.json").read_text())
    assert whole["schema"] == "spoor/1"
    assert json.loads(spoor(*arguments, "-f", "json").stdout).keys() == whole.keys()
    text = (tmp_path / "a.txt").read_text()
    assert text and not text.startswith("{") and "\033" not in text
    assert spoor(*arguments, "-o", "a.txt", "--no-such-option").returncode == 125
    for options, has_color in ((["--color=always"], True), (["--color=never"], False), ([], False)):
        done = spoor(*arguments, "-f", "text", *options)
        assert ("\033[" in done.stdout) == has_color, done.stdout


@pytest.mark.parametrize("arguments", [["run", "true"], ["attach", "--duration=1ms", str(os.getpid())],
                                       *PRINTING.values()], ids=lambda each: each[0])
def test_every_command_reads_the_config_file(spoor, tmp_path, stored, arguments):
    """The path of the config file comes from the option, the variable, or the user's folder."""
    config = tmp_path / ".config" / "spoor" / "config.json"
    config.parent.mkdir(parents=True)
    config.write_text('{"color": "always", "output": "of-runs.json", "format": "csv", "append": true}')
    home = {key: text for key, text in os.environ.items() if key != "XDG_CONFIG_HOME"}
    home["HOME"] = str(tmp_path)
    xdg = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path / ".config")}
    kind = ["-f", "text"] if arguments[0] in PRINTING else []
    for environment, options in ((home, []), (xdg, []), (None, ["--config", config]),
                                 ({**os.environ, "SPOOR_CONFIG": str(config)}, [])):
        done = spoor(arguments[0], *kind, *options, *arguments[1:], env=environment)
        assert done.returncode == 0 and "\033[" in (done.stdout or done.stderr), done
        # Output files are settings of runs only; other commands ignore them.
        assert (tmp_path / "of-runs.json").exists() == (arguments[0] in ("run", "attach"))
        for environment_ in (environment, {**(environment or os.environ), "SPOOR_COLOR": "never"}):
            options_ = ["--color=never"] if environment_ is environment else []
            done = spoor(arguments[0], *kind, *options, *options_, *arguments[1:], env=environment_)
            assert done.returncode == 0 and "\033[" not in done.stdout + done.stderr
    done = spoor(arguments[0], *kind, "--config", "none", *arguments[1:], env=xdg)
    assert done.returncode == 0 and "\033[" not in done.stdout + done.stderr
    config.write_text('{"colour": "always"}')
    done = spoor(*arguments, env=xdg)
    assert done.returncode == 125
    assert done.stderr == f'spoor: {config}: unknown key "colour"; did you mean "color"?\n'
    config.write_text("{")
    done = spoor(*arguments, env=xdg)
    assert done.returncode == 125 and done.stderr.startswith(f"spoor: {config}:1:1: ")


def test_only_the_spoor_program_reads_the_users_config_file(spoor, gpu_tracker, tmp_path):
    """The predecessors have their own config files, and the agent is started by programs."""
    (tmp_path / "spoor").mkdir()
    (tmp_path / "spoor" / "config.json").write_text("{")
    environment = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path)}
    assert gpu_tracker("-e", "true", env=environment).returncode == 0
    assert spoor("agent", "--pid", str(os.getpid()), env=environment).returncode == 0
    assert spoor("phase", "start", "x", "--file", tmp_path / "p.csv", env=environment).returncode == 0


def test_quiet_report_does_not_print_the_name_of_its_page(spoor, stored):
    assert spoor("report", "r.json").stderr == "spoor: the report is in 'r.html'\n"
    assert spoor("report", "-q", "r.json").stderr == ""


def test_help_and_manual_group_the_options(spoor):
    """The help lists the most used options first, and every option once."""
    text = spoor("run", "--help").stdout
    headings = [line for line in text.splitlines() if line.endswith(":") and " " not in line]
    assert headings == ["Output:", "Sampling:", "Metrics:", "Scope:", "Sources:", "General:", "Example:"]
    assert text.index("  -o, --output") < text.index("--samples") < text.index("--gpus") < text.index("--help")
    page = spoor("--man-options", "spoor", "run").stdout
    assert [line[3:] for line in page.splitlines() if line.startswith("## ")] == \
        [heading[:-1] for heading in headings[:-1]]
    options = [line.split("*--")[1].split("*")[0] for line in page.splitlines() if "*--" in line[:9]]
    assert len(set(options)) == len(options) == text.count("\n      --") + text.count("\n  -")


@pytest.mark.parametrize("command, code, message", [
    (["echo a | cat"], 127, "'echo a | cat': command not found (a command line for a shell); "
                            "try: sh -c 'echo a | cat'"),
    (["/bin/echo it's; true"], 127, "cannot run '/bin/echo it's; true': No such file or directory (a command line "
                                    "for a shell); try: sh -c '/bin/echo it'\\''s; true'"),
    (["cd", "/tmp"], 127, "'cd': command not found (a shell builtin); try: sh -c 'cd /tmp'"),
    (["source", "env.sh"], 127, "'source': command not found (a shell builtin); try: bash -c 'source env.sh'"),
    (["./job.py"], 126, "cannot run './job.py': Permission denied; try: python3 ./job.py"),
    (["./job"], 126, "cannot run './job': Permission denied; try: chmod +x ./job"),
    (["job"], 127, "'job': command not found; try: ./job"),
    (["./folder"], 126, "cannot run './folder': Permission denied (a directory)"),
    (["no-such-program"], 127, "'no-such-program': command not found"),
    (["a b", "c"], 127, "'a b': command not found"),
])
def test_error_for_a_command_that_cannot_run_contains_a_hint(spoor, tmp_path, command, code, message):
    (tmp_path / "job.py").write_text("print()\n")
    (tmp_path / "job").write_text("#!/bin/sh\n")
    (tmp_path / "folder").mkdir()
    path = "/usr/bin:/bin"  # an unreadable folder in PATH would change the reason
    done = spoor("run", "--", *command, cwd=tmp_path, env={**os.environ, "PATH": path})
    assert (done.returncode, done.stderr) == (code, f"spoor: {message}\n")


@pytest.mark.parametrize("name, other", [("slurm", "sbatch"), ("k8s", "kubernetes")])
def test_schedulers_have_aliases(spoor, stored, name, other):
    done = spoor("recommend", "--for", name, "r.json")
    assert done.returncode == 0 and done.stdout == spoor("recommend", "--for", other, "r.json").stdout


def leaves(node, path=""):
    """Yields the name and value of each figure of a report."""
    for key, value in node.items():
        if isinstance(value, dict) and value and "value" not in value:
            yield from leaves(value, f"{path}{key}.")
        else:
            yield f"{path}{key}", value


def test_figures_are_printed_for_scripts(spoor, tmp_path):
    """Every name in a report is accepted before the run, and prints the value in the report."""
    report = spoor.new_path("r.json")
    spoor("run", "-q", "--tag", "a=b", "-o", report, "--", "true")
    figures = dict(leaves(load(report)))
    done = spoor("report", "--print", "\n".join(f"{{{name}}}" for name in figures), report)
    assert done.returncode == 0, done.stderr
    for (name, value), printed in zip(figures.items(), done.stdout.removesuffix("\n").split("\n"), strict=True):
        value = value["value"] if isinstance(value, dict) and "value" in value else value
        assert (printed if isinstance(value, str) else json.loads(printed)) == value, name
    manual = MANUAL.read_text().partition("Common names:")[2].partition("shows all")[0]
    listed = re.findall(r"\*([a-z_.]+)\*", manual)
    done = spoor("run", "--print", " ".join(f"{{{name}}}" for name in listed), "--", "true")
    assert done.returncode == 0 and len(done.stderr.split()) == len(listed) > 10
    done = spoor("run", "-o", report, "--print", "{elapsed_seconds} {cpu.total_seconds}\\n", "--", "echo", "out")
    run = load(report)
    assert done.stdout == "out\n", "that of the command"
    assert done.stderr == f"{run['run']['elapsed_seconds']} {run['cpu']['total_seconds']['value']}\n"
    done = spoor("report", "--print", "{{{run.command.1}}} {run.tags.b}\\t{gpu.devices.7.name}\\\\", report, report)
    assert done.stdout == 2 * "{out} null\tnull\\\n"


def test_template_replaces_the_text_report(spoor, tmp_path):
    template = ["--print", "{exit_code}"]
    for options, stdout, stderr in ((["-o", "-"], "7\n", ""), (["-q"], "", "7\n"), ([], "", "7\n")):
        done = spoor("run", *options, *template, "--", "sh", "-c", "exit 7")
        assert (done.returncode, done.stdout, done.stderr) == (7, stdout, stderr)
    path = tmp_path / "codes.txt"
    for _ in range(2):
        done = spoor("run", "--append", "-o", path, *template, "--", "sh", "-c", "exit 7")
        assert "CPU time" in done.stderr
    assert path.read_text() == "7\n7\n"


@pytest.mark.parametrize("template, message", [
    ("{elapsed_second}", "unknown name 'elapsed_second'; did you mean 'elapsed_seconds'?"),
    ("{cpu.user_secnds}", "unknown name 'cpu.user_secnds'; did you mean 'cpu.user_seconds'?"),
    ("{nothing.of.this.kind}", "unknown name 'nothing.of.this.kind': expected a path in the JSON report, such "
     "as cpu.total_seconds; 'spoor run -f json -- true' shows them all"),
    ("a {cpu", "expected {NAME} at '{cpu'; {{ is a brace"), ("{}", "expected {NAME} at '{}'; {{ is a brace"),
    ("{" + 200 * "x" + "}", "expected {NAME} at '{" + 19 * "x" + "'; {{ is a brace"),
    ("", "the value must not be empty"),
])
def test_invalid_template_is_refused_before_the_job_starts(spoor, tmp_path, template, message):
    done = spoor("run", "--print", template, "--", "touch", tmp_path / "started")
    assert (done.returncode, done.stderr) == (125, f"spoor: --print: {message}\n")
    assert not (tmp_path / "started").exists()


WRONG = {"interval": "soon", "format": "xml", "report": "a.txt", "print": "{", "processes": "many", "tag": "x",
         "samples-format": "xml", "dialect": "none", "budget": "much", "carbon-intensity": "much", "pue": "0.5",
         "gpus": "0,,1", "detail": "some", "gpm": "on",
         "color": "red", "quiet": "maybe", "live": "maybe", "append": "maybe", "no-clobber": "maybe",
         "max": "much", "save": "maybe", "history": "maybe", "config": "/nonexistent",
         "listen": "x", "label": "1", "push": "x", "otlp": "x", "export-interval": "soon"}


@pytest.mark.parametrize("command, own", [("run", {"wait": "none", "cgroup": "some", "counters": "maybe"}),
                                          ("attach", {"duration": "long", "pid": "x"})])
def test_a_variable_sets_each_option_of_run_and_attach(spoor, command, own):
    """Tests the options listed in spoor(1), except --help, --version, and --cgroup of attach."""
    listed = {line.split("*--")[1].split("*")[0]
              for line in spoor("--man-options", "spoor", command).stdout.splitlines() if "*--" in line[:9]}
    wrong = {name: value for name, value in {**WRONG, **own}.items() if name != "max" or command == "run"}
    assert listed - set(wrong) == {"output", "name", "on-exit", "samples", "metrics", "help", "version"} | \
        ({"cgroup"} if command == "attach" else {"group"})
    operand = "true" if command == "run" else "1"
    for name, value in wrong.items():
        variable = "SPOOR_" + name.upper().replace("-", "_")
        done = spoor(command, operand, env={**os.environ, variable: value})
        assert done.returncode == 125
        assert done.stderr.startswith("spoor: config file '/nonexistent'" if name == "config" else f"spoor: {variable}: ")
