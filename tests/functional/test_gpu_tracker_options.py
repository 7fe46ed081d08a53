# SPDX-License-Identifier: Apache-2.0
"""gpu-tracker: every option, message and exit code. Errors are reported before the command
starts."""
import json
import os
import re

import pytest

from gpu_tracker_report import NO_GPU, STATUS, parse_text, paths, result, split_output

USAGE = """\
Usage:
    gpu-tracker -h | --help
    gpu-tracker -v | --version
    gpu-tracker --execute=<command> [--output=<output>] [--format=<format>] \
[--tconfig=<config-file>] [--st=<sleep-time>] [--ru=<ram-unit>] [--gru=<gpu-ram-unit>] \
[--tu=<time-unit>] [--nec=<num-cores>] [--guuids=<gpu-uuids>] [--disable-logs] \
[--gb=<gpu-brand>] [--tf=<tracking-file>] [--overwrite] [--propagate] [--spelling=<spelling>]
    gpu-tracker sub-track combine --stf=<sub-track-file> -p <file-path>...
    gpu-tracker sub-track analyze --tf=<tracking-file> --stf=<sub-track-file> \
[--output=<output>] [--format=<format>]
    gpu-tracker sub-track compare [--output=<output>] [--format=<format>] \
[--cconfig=<config-file>] [-m <name>=<file-path>...] [--stat=<statistic>]
"""
MEMORY_UNITS = "Valid values are bytes, gigabytes, kilobytes, megabytes, terabytes"


@pytest.fixture
def refused(gpu_tracker):
    """Runs gpu-tracker with a command that creates a file; checks that it did not run, and
    returns the error message."""
    trace = gpu_tracker.folder / "trace"

    def run(*options, command=None):
        done = gpu_tracker("-e", command or f"touch {trace}", *options, cwd=gpu_tracker.folder)
        assert done.returncode == 1
        assert done.stdout == ""
        assert not trace.exists(), "the command was started"
        return done.stderr

    return run


@pytest.fixture
def config(gpu_tracker):
    """Returns a function that writes a config file and returns the option for it."""
    def write(content):
        path = gpu_tracker.folder / "config.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content),
                        encoding="utf-8")
        return f"--tconfig={path}"

    return write


# ---- usage ------------------------------------------------------------------

@pytest.mark.parametrize("option", ["-h", "--help", "--he"])
def test_help_names_every_option(gpu_tracker, option):
    done = gpu_tracker(option)
    assert (done.returncode, done.stderr) == (0, "")
    assert USAGE in done.stdout
    options = done.stdout.partition("\nOptions:\n")[2]
    for name in re.findall(r"--[a-z-]+", USAGE.partition("sub-track")[0]):
        assert re.search(rf"^  (-[a-z],|   ) {name}[ \n]", options, re.M), name
    assert all(len(line) < 80 for line in options.splitlines())


@pytest.mark.parametrize("option", ["-v", "--version"])
def test_version_is_printed_on_one_line(gpu_tracker, spoor, option):
    done = gpu_tracker(option)
    assert (done.returncode, done.stderr) == (0, "")
    assert "spoor " + done.stdout == spoor("--version").stdout.replace(" ", " 5.0.1+spoor.")


@pytest.mark.parametrize("arguments, message", [
    ([], "missing option: --execute=<command>"),
    (["--st=1"], "missing option: --execute=<command>"),
    (["-e", "true", "more"], "unexpected argument 'more'"),
    (["-e", "true", "--", "more"], "unexpected argument 'more'"),
    (["--nonsense"], "unknown option --nonsense"),
    (["--formats=json"], "unknown option --formats; did you mean --format?"),
    (["-E", "true"], "unknown option -E; did you mean -e (--execute)?"),
    (["--pid=1"], "unknown option --pid"),
    (["-e", "true", "-x"], "unknown option -x"),
    (["-e"], "-e requires a value: <command>"),
    (["-e", "true", "--st"], "--st requires a value: <sleep-time>"),
    (["-e", "true", "--overwrite=yes"], "--overwrite takes no value"),
    (["-e", "true", "--t=1"], "--t is not a unique prefix: --tconfig, --tu, --tf?"),
    (["-e", "true", "--o=1"], "--o is not a unique prefix: --output, --overwrite?"),
])
def test_bad_usage_shows_the_usage(gpu_tracker, arguments, message):
    done = gpu_tracker(*arguments)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"{message}\n{USAGE}"


def test_usage_error_contains_no_control_characters(gpu_tracker):
    done = gpu_tracker("--\x1b[31mred")
    assert done.returncode == 1
    assert done.stderr.startswith("unknown option --\\x1b[31mred\n")


@pytest.mark.parametrize("arguments", [
    ["-e", "true", "-f", "json"], ["-etrue", "-fjson"], ["--execute=true", "--format=json"],
    ["--execute", "true", "--format", "json"], ["--exec=true", "--form", "json"],
])
def test_options_are_accepted_in_every_form(gpu_tracker, arguments):
    done = gpu_tracker(*arguments)
    assert done.returncode == 0
    assert list(json.loads(split_output(done.stdout)[1])) == [row[0] for row in paths()
                                                            if len(row) == 1]


# ---- the command ------------------------------------------------------------

@pytest.mark.parametrize("command, words", [
    ("echo a b", "a b"), ("echo 'a  b'", "a  b"), ('echo "a  b" c\\ \\ d', "a  b c  d"),
    ("echo $HOME '*'", "$HOME *"), ("  echo\ta\n b ", "a b"), ("sh -c 'echo x; exit 3'", "x"),
    ("echo it's", "it's"), ('echo "a b', '"a b'), ("echo a\\", "a\\"),
])
def test_command_is_split_into_words_like_a_shell(gpu_tracker, command, words):
    done = gpu_tracker("-e", command)
    assert done.returncode == 0
    assert done.stdout.partition(STATUS)[0] == words + "\n"


@pytest.mark.parametrize("command, message", [
    ("", "Empty command provided."),
    ("  \t\n", "Empty command provided."),
])
def test_empty_command_is_refused(gpu_tracker, command, message):
    done = gpu_tracker("-e", command)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"ERROR:root:{message}\n"


@pytest.mark.parametrize("command", ["no-such-command", "/no/such/command", "nosuch with words"])
def test_missing_command_is_refused(gpu_tracker, command):
    # An unreadable folder in PATH would change the error to "permission denied".
    done = gpu_tracker("-e", command, "--disable-logs", env={"PATH": "/usr/bin:/bin"})
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f'ERROR:root:Command not found: "{command}"\n'


def test_unstartable_command_is_refused(gpu_tracker):
    done = gpu_tracker("-e", "/etc/passwd x", "--disable-logs")
    assert done.returncode == 1
    assert done.stdout == "[Errno 13] Permission denied: '/etc/passwd'\n"
    assert done.stderr == "ERROR:root:The following error occurred when starting the command " \
                          '"/etc/passwd x":\n'


# ---- values -----------------------------------------------------------------

@pytest.mark.parametrize("option, message", [
    ("--st=0.05", "Sleep time of 0.05 is invalid. Must be at least 0.1 seconds."),
    ("--st=0", "Sleep time of 0.0 is invalid. Must be at least 0.1 seconds."),
    ("--st=-1", "Sleep time of -1.0 is invalid. Must be at least 0.1 seconds."),
    ("--st=abc", '"abc" is not a valid sleep time. Must be a number.'),
    ("--st=nan", '"nan" is not a valid sleep time. Must be a number.'),
    ("--st=", '"" is not a valid sleep time. Must be a number.'),
    ("--ru=megabyte", f'"megabyte" is not a valid RAM unit. {MEMORY_UNITS}'),
    ("--gru=GB", f'"GB" is not a valid GPU RAM unit. {MEMORY_UNITS}'),
    ("--tu=weeks", '"weeks" is not a valid time unit. Valid values are days, hours, minutes, '
                   "seconds"),
    ("--nec=x", '"x" is not a valid number of expected cores. Must be a whole number of at '
                "least 1."),
    ("--nec=0", '"0" is not a valid number of expected cores. Must be a whole number of at '
                "least 1."),
    ("--nec=-2", '"-2" is not a valid number of expected cores. Must be a whole number of at '
                 "least 1."),
    ("--nec=1.5", '"1.5" is not a valid number of expected cores. Must be a whole number of at '
                  "least 1."),
    ("--gb=intel", '"intel" is not a valid GPU brand. Supported values are "nvidia" and "amd".'),
    ("--tf=rows.txt", 'Invalid file name: "rows.txt". Valid file extensions are ".csv" and '
                      '".sqlite".'),
    ("--format=xml", '"xml" is not a valid format. Valid values are "json" or "text".'),
    ("--format=pickle", '"pickle" is not a valid format, because loading a pickle can run any code. Use '
                        '"json", which sub-track compare reads.'),
    ("--spelling=x", '"x" is not a valid spelling. Valid values are "descendants" or '
                     '"descendents".'),
])
def test_bad_value_is_refused_before_the_command_starts(refused, option, message):
    assert refused(option) == f"ERROR:root:{message}\n"


def test_only_the_first_invalid_value_is_reported(refused):
    wrong = ["--tf=x", "--tu=x", "--gru=x", "--ru=x", "--st=0"]
    named = ["Invalid file name", "time unit", "GPU RAM unit", "RAM unit", "Sleep time"]
    for count, name in enumerate(named, 1):
        assert name in refused(*wrong[:count])


def test_unavailable_brand_is_refused(refused):
    if os.path.exists("/dev/nvidia0") or os.path.exists("/dev/kfd"):
        pytest.skip("this machine has a GPU")
    for brand in ("nvidia", "amd"):
        assert refused(f"--gb={brand}") == \
            f'ERROR:root:No GPU of the brand "{brand}" was found.\n'


def test_uuids_are_ignored_without_a_gpu(gpu_tracker):
    if os.path.exists("/dev/nvidia0") or os.path.exists("/dev/kfd"):
        pytest.skip("this machine has a GPU")
    result(gpu_tracker, "true", "--guuids=GPU-1,GPU-2")


@pytest.mark.parametrize("tool", ["nvidia-smi", "amd-smi"])
def test_warning_names_the_installed_tool_that_finds_no_gpu(gpu_tracker, monkeypatch, tool):
    (gpu_tracker.folder / tool).write_text("#!/bin/sh\n")
    (gpu_tracker.folder / tool).chmod(0o755)
    monkeypatch.setenv("PATH", f"{os.environ['PATH']}:{gpu_tracker.folder}")
    assert gpu_tracker("-e", "true").stderr.startswith(
        f"WARNING:root:The {tool} command is installed but cannot connect to a GPU. The GPU RAM and "
        "GPU utilization values will remain 0.0.\n")


def test_warnings_can_be_disabled(gpu_tracker):
    assert gpu_tracker("-e", "true").stderr.startswith(NO_GPU)
    assert gpu_tracker("-e", "true", "--disable-logs").stderr == ""


def test_selected_units_are_used(gpu_tracker):
    report = result(gpu_tracker, "true", "--ru=kilobytes", "--gru=bytes", "--tu=days")
    assert report["max_ram"]["unit"] == "kilobytes"
    assert report["max_gpu_ram"]["unit"] == "bytes"
    assert report["compute_time"]["unit"] == "days"


def test_old_spelling_of_descendants_is_used_on_request(gpu_tracker):
    done = gpu_tracker("-e", "true", "--spelling=descendents")
    labels = list(parse_text(split_output(done.stdout)[1][:-1]))
    assert labels == [tuple(label.replace("escendants", "escendents") for label in path)
                      for path in paths(column=1)]
    done = gpu_tracker("-e", "true", "-f", "json", "--spelling=descendents")
    assert "descendents" in json.loads(split_output(done.stdout)[1])["max_ram"]
    assert "descendants" not in done.stdout
    assert result(gpu_tracker, "true", "--spelling=descendants")


def test_very_long_sleep_time_is_accepted(gpu_tracker):
    result(gpu_tracker, "true", "--st=1e9")


# ---- output -----------------------------------------------------------------

@pytest.mark.parametrize("style", ["text", "json"])
def test_output_file_has_no_newline_at_its_end(gpu_tracker, style):
    path = gpu_tracker.folder / "out"
    path.write_text("what was there before, which is longer than any report\n" * 200)
    done = gpu_tracker("-e", "sh -c 'exit 4'", "-o", path, "-f", style)
    assert (done.returncode, done.stdout) == (0, STATUS + "4\n")
    text = path.read_text()
    assert text[-1] != "\n"
    if style == "json":
        assert text == json.dumps(json.loads(text), indent=1)
    else:
        assert list(parse_text(text)) == list(paths(column=1))


def test_output_may_be_a_link_or_a_device(gpu_tracker):
    folder = gpu_tracker.folder
    (folder / "link").symlink_to(folder / "file")
    assert gpu_tracker("-e", "true", "-o", folder / "link").returncode == 0
    assert (folder / "file").read_text().startswith("Max RAM:")
    assert gpu_tracker("-e", "true", "-o", "/dev/null").stdout == STATUS + "0\n"


def test_unwritable_output_is_refused(refused, gpu_tracker):
    folder = gpu_tracker.folder
    wrong = {folder: "Is a directory", folder / "no" / "file": "No such file or directory",
             "": "No such file or directory", f"{folder}/file/": "No such file or directory"}
    for path, why in wrong.items():
        assert refused("-o", path) == \
            f"ERROR:root:The output file {path} cannot be written: {why}\n"


def test_output_file_without_write_permission_is_refused(refused, gpu_tracker):
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    path = gpu_tracker.folder / "file"
    path.touch(0o400)
    assert refused("-o", path) == \
        f"ERROR:root:The output file {path} cannot be written: Permission denied\n"
    gpu_tracker.folder.chmod(0o500)
    path = gpu_tracker.folder / "new"
    assert refused("-o", path) == \
        f"ERROR:root:The output file {path} cannot be written: Permission denied\n"
    gpu_tracker.folder.chmod(0o700)


def test_result_is_printed_if_the_output_folder_is_removed(gpu_tracker):
    """The folder is removed while the command runs."""
    folder = gpu_tracker.folder / "gone"
    folder.mkdir()
    done = gpu_tracker("-e", f"rmdir {folder}", "-o", folder / "out", "--disable-logs")
    assert done.returncode == 1
    status, report = split_output(done.stdout)
    assert status == 0 and list(parse_text(report[:-1])) == list(paths(column=1))
    assert done.stderr == f"ERROR:root:The output file {folder}/out cannot be written: " \
                          "No such file or directory\n"


# ---- tracking file ----------------------------------------------------------

@pytest.mark.parametrize("suffix", ["csv", "sqlite"])
def test_existing_tracking_file_is_refused_without_overwrite(refused, gpu_tracker, suffix):
    path = gpu_tracker.folder / f"rows.{suffix}"
    path.write_text("mine")
    assert refused(f"--tf={path}") == \
        f"ERROR:root:File {path} already exists. Set overwrite to True to overwrite the " \
        "existing file.\n"
    assert path.read_text() == "mine"
    result(gpu_tracker, "true", f"--tf={path}", "--overwrite")
    assert path.read_bytes()[:4] != b"mine"


def test_tracking_file_that_cannot_be_created_is_refused(refused):
    assert "No such file or directory" in refused("--tf=/no/such/folder/rows.csv")


def test_tracking_file_contains_units_and_machine_facts(gpu_tracker):
    path = gpu_tracker.folder / "rows.csv"
    report = result(gpu_tracker, "true", f"--tf={path}", "--nec=3", "--ru=bytes", "--gru=bytes",
                    "--tu=minutes")
    header, values = path.read_text().splitlines()[:2]
    assert dict(zip(header.split(","), values.split(","))) == {
        "ram_unit": "bytes", "gpu_ram_unit": "bytes", "time_unit": "minutes",
        "ram_system_capacity": repr(report["max_ram"]["system_capacity"]),
        "gpu_ram_system_capacity": "0.0",
        "system_core_count": str(os.cpu_count()), "n_expected_cores": "3",
        "system_gpu_count": "0", "n_expected_gpus": "0"}


def test_tracking_file_is_removed_if_the_command_was_not_found(gpu_tracker):
    path = gpu_tracker.folder / "rows.csv"
    assert gpu_tracker("-e", "nosuch", f"--tf={path}").returncode == 1
    assert not path.exists()


def test_tracking_file_removed_during_the_run_causes_a_warning(gpu_tracker):
    path = gpu_tracker.folder / "rows.csv"
    done = gpu_tracker("-e", f"sh -c 'rm {path}; sleep 0.5'", f"--tf={path}", "--st=0.1")
    assert done.returncode == 0
    assert done.stderr.count("WARNING:root:") == 2 # the other one: there is no GPU
    assert f"The file {path} was removed in the middle of writing data to it." in done.stderr


# ---- config file ------------------------------------------------------------

def test_config_file_sets_every_parameter(gpu_tracker, config):
    rows = gpu_tracker.folder / "rows.csv"
    rows.write_text("old")
    done = gpu_tracker("-e", "true", "-f", "json", config({
        "sleep_time": 0.5, "ram_unit": "bytes", "gpu_ram_unit": "kilobytes",
        "time_unit": "minutes", "n_expected_cores": 5, "gpu_uuids": ["GPU-1", "GPU-2"],
        "disable_logs": True, "tracking_file": str(rows), "overwrite": True, "gpu_brand": None,
        "resource_usage_file": "x.pkl", "n_join_attempts": 5, "join_timeout": 10.0,
        "process_id": None, "spelling": "descendents"}))
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(split_output(done.stdout)[1])
    assert report["max_ram"]["unit"] == "bytes"
    assert report["max_gpu_ram"]["unit"] == "kilobytes"
    assert report["compute_time"]["unit"] == "minutes"
    assert report["cpu_utilization"]["n_expected_cores"] == 5
    assert "descendents" in report["max_ram"]
    assert rows.read_text().startswith("ram_unit,")


@pytest.mark.parametrize("cores", [2, 2.0, "2", "2.0"])
def test_numbers_in_a_config_file_may_be_strings(gpu_tracker, config, cores):
    report = result(gpu_tracker, "true", config({"sleep_time": "0.5", "n_expected_cores": cores}))
    assert report["cpu_utilization"]["n_expected_cores"] == 2


def test_number_of_cores_may_have_a_decimal_point(gpu_tracker):
    report = result(gpu_tracker, "true", "--nec=2.0")
    assert report["cpu_utilization"]["n_expected_cores"] == 2


def test_option_overrides_the_config_file(gpu_tracker, config):
    report = result(gpu_tracker, "true", config({"ram_unit": "bytes", "sleep_time": 0.01}),
                    "--ru=terabytes", "--st=0.1")
    assert report["max_ram"]["unit"] == "terabytes"


@pytest.mark.parametrize("value", ["GPU-1,GPU-2", ["GPU-1"], [], None])
def test_uuids_in_a_config_file_may_be_a_list_or_a_string(gpu_tracker, config, value):
    result(gpu_tracker, "true", config({"gpu_uuids": value}))


def test_false_in_a_config_file_selects_the_default(refused, gpu_tracker, config):
    path = gpu_tracker.folder / "rows.csv"
    path.write_text("mine")
    assert "already exists" in refused(config({"overwrite": False, "disable_logs": False}),
                                       f"--tf={path}")


@pytest.mark.parametrize("content, message", [
    ({"sleeptime": 1}, 'unknown key "sleeptime"; did you mean "sleep_time"?'),
    ({"process_id": 1}, "process_id: cannot be set: gpu-tracker tracks the command that it "
                        "runs"),
    ({"sleep_time": [1]}, "sleep_time: expected a string or a number"),
    ({"ram_unit": 1}, "ram_unit: expected a string"),
    ({"overwrite": "yes"}, "overwrite: expected true or false"),
    ({"gpu_uuids": 1}, "gpu_uuids: expected a list of strings"),
    ({"gpu_uuids": [1]}, "gpu_uuids: expected a list of strings"),
    ({"time_unit": "days", "xyzzy": 1}, 'unknown key "xyzzy"'),
    ([], 'expected an object: { "KEY": VALUE, ... }'),
])
def test_error_about_a_bad_config_file_is_one_line(refused, gpu_tracker, config, content, message):
    path = gpu_tracker.folder / "config.json"
    assert refused(config(content)) == f"ERROR:root:{path}: {message}\n"


@pytest.mark.parametrize("content, message", [
    ({"sleep_time": 0.01}, "Sleep time of 0.01 is invalid. Must be at least 0.1 seconds."),
    ({"n_expected_cores": 0}, '"0" is not a valid number of expected cores. Must be a whole '
                              "number of at least 1."),
    ({"n_expected_cores": 1.5}, '"1.5" is not a valid number of expected cores. Must be a whole '
                                "number of at least 1."),
    ({"sleep_time": "x"}, '"x" is not a valid sleep time. Must be a number.'),
    ({"gpu_brand": "intel"}, '"intel" is not a valid GPU brand. Supported values are "nvidia" '
                             'and "amd".'),
])
def test_bad_value_in_a_config_file_is_refused(refused, config, content, message):
    assert refused(config(content)) == f"ERROR:root:{message}\n"


def test_config_file_that_is_not_json_is_refused(refused, gpu_tracker, config):
    path = gpu_tracker.folder / "config.json"
    assert re.fullmatch(rf"ERROR:root:{path}:1:\d+: .+\n", refused(config("{ 'a': 1 }")))
    assert re.fullmatch(r"ERROR:root:.*/no/such.*No such file or directory\n",
                        refused("--tconfig=/no/such.json"))
