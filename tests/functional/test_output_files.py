# SPDX-License-Identifier: Apache-2.0
"""Output files: no file of the user is destroyed, and no measurement is lost."""
import csv
import io
import json
import os
import resource
import shutil
import signal
import stat
import subprocess
import threading

import pytest

from conftest import load, read_line

RUN = ("run", "-q")


def refused(done, *words):
    assert done.returncode == 125, done
    assert done.stderr.startswith("spoor: ") and done.stderr.count("\n") == 1, done.stderr
    assert all(word in done.stderr for word in words), done.stderr
    return True


def split_stderr(done):
    """Splits stderr into the error message and the rest."""
    line, _, rest = done.stderr.partition("\n")
    assert line.startswith("spoor: "), done.stderr
    return line, rest


def limit_files(size):
    """Returns a function that limits the size of files."""
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    return limit


# ---- a job that cannot be tracked ---------------------------------------------------

@pytest.mark.parametrize("suffix", ["json", "csv", "txt", "html"])
def test_report_of_an_untracked_job_replaces_the_old_one(spoor, tmp_path, suffix):
    path = tmp_path / f"r.{suffix}"
    path.write_text("old")
    done = spoor(*RUN, "-o", path, "--", "sh", "-c", "exit 7",
                 preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (8, 8)))
    assert done.returncode == 7 and "the job runs untracked: " in done.stderr
    text = path.read_text(encoding="utf-8")
    assert text != "old"
    if suffix in ("json", "txt"):
        assert "the job ran untracked: " in text
    if suffix == "json":
        report = json.loads(text)
        assert report["run"]["exit_code"] == 7 and report["run"]["elapsed_seconds"] > 0
        assert report["run"]["command"] == ["sh", "-c", "exit 7"] and report["run"]["samples"] == 0
        assert report["cpu"]["total_seconds"]["value"] is None
        assert report["cpu"]["total_seconds"]["reason"] == "the job ran untracked"
        assert spoor("report", "-f", "text", path).returncode == 0


# ---- a command that cannot be run -----------------------------------------------

@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
@pytest.mark.parametrize("options", [[], ["--append"], ["--cgroup=off"]], ids=str)
@pytest.mark.parametrize("command, code", [("/no/such", 127), ("/etc/passwd", 126)])
def test_missing_command_keeps_old_samples(spoor, tmp_path, suffix, options, command, code):
    path = tmp_path / f"s.{suffix}"
    spoor(*RUN, "--samples", path, "--", "true")
    old = path.read_bytes()
    assert old.count(b"\n") >= 2
    done = spoor("run", *options, "--samples", path, "-o", tmp_path / "r.json", "--", command)
    assert done.returncode == code
    assert path.read_bytes() == old
    assert os.listdir(tmp_path) == [path.name]


def test_missing_command_creates_no_samples(spoor, tmp_path):
    assert spoor("run", "--samples", tmp_path / "s.csv", "--", "/no/such").returncode == 127
    assert os.listdir(tmp_path) == []


def test_missing_process_keeps_old_samples(spoor, tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("old")
    assert refused(spoor("attach", "--samples", path, "4194304"))
    assert path.read_text() == "old"


@pytest.mark.parametrize("suffix", ["csv", "sqlite"])
@pytest.mark.parametrize("command", ["/no/such", "/etc/passwd"])
def test_missing_command_keeps_the_old_tracking_file(gpu_tracker, suffix, command):
    path = gpu_tracker.folder / f"f.{suffix}"
    assert gpu_tracker("-e", "true", f"--tf={path}").returncode == 0
    old = path.read_bytes()
    assert len(old) > 100
    assert gpu_tracker("--overwrite", f"--tf={path}", "-e", command).returncode == 1
    assert path.read_bytes() == old
    assert os.listdir(gpu_tracker.folder) == [path.name]


@pytest.mark.parametrize("suffix", ["csv", "sqlite"])
def test_agent_that_cannot_attach_keeps_the_old_tracking_file(gpu_tracker, suffix):
    path = gpu_tracker.folder / f"f.{suffix}"
    path.write_text("old")
    ended = threading.Event()
    thread = threading.Thread(target=ended.wait)
    thread.start()  # the ID of a thread, not of a process
    process = gpu_tracker.start("agent", f"--pid={thread.native_id}", f"--tf={path}", "--overwrite")
    process.stdin.close()
    answer = json.loads(read_line(process.stdout))
    process.wait()
    ended.set()
    thread.join()
    assert answer["event"] == "error", answer
    assert path.read_text() == "old"
    assert os.listdir(gpu_tracker.folder) == [path.name]


# ---- modes ----------------------------------------------------------------------

@pytest.mark.parametrize("mode", [0o600, 0o640, 0o604, 0o444])
def test_replaced_report_keeps_its_mode(spoor, tmp_path, mode):
    path = tmp_path / "r.json"
    path.write_text("old")
    path.chmod(mode)
    assert spoor(*RUN, "-o", path, "--", "true").returncode == 0
    load(path)
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_new_report_has_the_mode_of_the_umask(spoor, tmp_path):
    for umask in (0o022, 0o027, 0o077):
        path = tmp_path / f"{umask}.json"
        spoor(*RUN, "-o", path, "--", "true", umask=umask)
        assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask


def test_replaced_report_keeps_its_owner(spoor, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    path = tmp_path / "r.json"
    path.write_text("old")
    os.chown(path, 1234, 2345)
    path.chmod(0o640)
    assert spoor(*RUN, "-o", path, "--", "true").returncode == 0
    status = path.stat()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (1234, 2345, 0o640)


@pytest.mark.parametrize("suffix", ["csv", "sqlite"])
def test_replaced_tracking_file_keeps_its_mode(gpu_tracker, suffix):
    path = gpu_tracker.folder / f"f.{suffix}"
    path.write_text("old")
    path.chmod(0o600)
    assert gpu_tracker("-e", "true", f"--tf={path}", "--overwrite").returncode == 0
    assert path.stat().st_size > 3 and stat.S_IMODE(path.stat().st_mode) == 0o600


# ---- append ---------------------------------------------------------------------

FOREIGN = ["a,b\n1,2\n", "run_id,name\n", "timestamp,elapsed_seconds,job_cpu_seconds\n1,2,3\n",
           "no table at all", "\n"]


@pytest.mark.parametrize("option, name", [("-o", "r.csv"), ("--samples", "s.csv")])
@pytest.mark.parametrize("text", FOREIGN)
def test_append_to_a_foreign_table_is_refused(spoor, tmp_path, option, name, text):
    path, marker = tmp_path / name, tmp_path / "ran"
    path.write_text(text)
    done = spoor("run", "--append", option, path, "--", "touch", marker)
    assert refused(done, "--append", str(path), "columns")
    assert path.read_text() == text and not marker.exists()


def test_report_is_not_appended_to_a_foreign_table(spoor, tmp_path):
    path, report = tmp_path / "r.csv", tmp_path / "r.json"
    path.write_text("a,b\n")
    spoor(*RUN, "-o", report, "--", "true")
    assert refused(spoor("report", report, "--append", "-o", path), "columns")
    assert path.read_text() == "a,b\n"


def test_append_terminates_an_incomplete_line_first(spoor, tmp_path):
    """A truncated line left by a crash does not become part of the new row."""
    for option, path in (("-o", tmp_path / "r.csv"), ("--samples", tmp_path / "s.csv"),
                         ("--samples", tmp_path / "s.jsonl"), ("-o", tmp_path / "r.json")):
        spoor(*RUN, "--append", option, path, "--", "true")
        path.write_bytes(path.read_bytes()[:-3])
        torn = path.read_bytes()
        assert spoor(*RUN, "--append", option, path, "--", "true").returncode == 0
        assert path.read_bytes().startswith(torn + b"\n"), path.name
        assert path.read_bytes()[len(torn) + 1:len(torn) + 2] not in (b"\n", b""), path.name


@pytest.mark.parametrize("name", ["r.csv", "r.json", "r.txt"])
def test_append_that_does_not_fit_leaves_no_partial_report(spoor, tmp_path, name):
    path = tmp_path / name
    spoor(*RUN, "--append", "-o", path, "--", "true")
    old = path.read_bytes()
    # There is room for 100 more bytes in the file.
    limit = len(old) + 100

    done = spoor(*RUN, "--append", "-o", path, "--", "sh", "-c", "exit 4",
                 preexec_fn=limit_files(limit))
    assert done.returncode == 4
    assert path.read_bytes() == old
    line, report = split_stderr(done)
    assert str(path) in line and "File too large" in line
    assert len(report) > 100


def test_old_report_is_kept_if_the_new_one_does_not_fit(spoor, gpu_tracker, tmp_path):
    path = tmp_path / "old"
    path.write_text("old")
    done = gpu_tracker("-e", "true", "-o", path, "--disable-logs", preexec_fn=limit_files(10))
    assert done.returncode == 1 and "File too large" in done.stderr
    assert "Max RAM:" in done.stdout and path.read_text() == "old"
    done = spoor(*RUN, "-o", path, "--", "true", preexec_fn=limit_files(10))
    assert done.returncode == 0 and "exit code 0" in done.stderr and path.read_text() == "old"


def test_concurrent_samples_have_one_header(spoor, tmp_path):
    path = tmp_path / "s.csv"
    # All jobs wait for end of file on the same pipe.
    hold, release = os.pipe()
    jobs = [spoor.start(*RUN, "--append", "--samples", path, "--", "sh", "-c", "cat",
                        stdin=hold, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            for _ in range(30)]
    os.close(hold)
    os.close(release)
    assert [job.wait() for job in jobs] == [0] * len(jobs)
    lines = path.read_text().splitlines()
    headers = [number for number, line in enumerate(lines) if line.startswith("timestamp")]
    assert headers == [0]
    assert {line.count(",") for line in lines} == {lines[0].count(",")}
    assert len(lines) >= 1 + 2 * len(jobs)


def test_concurrent_reports_have_one_header(spoor, tmp_path):
    path = tmp_path / "r.csv"
    jobs = [spoor.start(*RUN, "--append", "-o", path, "--", "true", stdin=subprocess.DEVNULL)
            for _ in range(30)]
    assert [job.wait() for job in jobs] == [0] * len(jobs)
    lines = path.read_text().splitlines()
    assert [line.startswith("run_id") for line in lines] == [True] + [False] * len(jobs)


def test_flock_does_not_block_an_append(spoor, tmp_path):
    """In `flock FILE spoor run --append -o FILE`, flock(1) holds its own lock on the file."""
    flock = shutil.which("flock")
    if not flock:
        pytest.skip("no flock(1)")
    path = tmp_path / "r.csv"
    path.touch()
    done = subprocess.run([flock, path, spoor.binary, *RUN, "--append", "-o", path, "--", "true"],
                          check=False, timeout=60)
    assert done.returncode == 0 and path.read_text().count("\n") == 2


# ---- a report that cannot be put in its place --------------------------------------

def test_report_without_its_directory_goes_to_stderr(spoor, tmp_path):
    folder = tmp_path / "d"
    folder.mkdir()
    done = spoor(*RUN, "-o", folder / "r.json", "--", "sh", "-c", f"rm -r {folder}; exit 3")
    assert done.returncode == 3
    line, report = split_stderr(done)
    assert str(folder / "r.json") in line and "does not exist" in line
    assert json.loads(report)["run"]["exit_code"] == 3


@pytest.mark.parametrize("arguments", [["-o", "/dev/full"], ["-o", "-"], ["-o", "/dev/fd/1"]])
def test_report_that_cannot_be_written_goes_to_stderr(spoor, arguments):
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = spoor(*RUN, "-f", "csv", *arguments, "--", "true", stdout=full)
    assert done.returncode == 0
    line, report = split_stderr(done)
    assert "No space left" in line
    assert list(csv.DictReader(io.StringIO(report)))[0]["exit_code"] == "0"


def test_text_report_that_cannot_be_written_does_not_repeat_the_summary(spoor):
    """stderr has the summary already, which is the same report."""
    done = spoor("run", "-f", "text", "-o", "/dev/full", "--", "true")
    assert done.stderr.count("exit code 0") == 1 and "No space left" in done.stderr


def test_report_is_not_repeated_on_stderr_if_the_reader_closed(spoor):
    read, write = os.pipe()
    os.close(read)
    done = spoor(*RUN, "-f", "json", "-o", "-", "--", "true", stdout=write)
    os.close(write)
    assert done.returncode == 0 and done.stderr.count("\n") == 1


def test_no_clobber_keeps_a_file_created_during_the_run(spoor, tmp_path):
    path = tmp_path / "r.json"
    done = spoor(*RUN, "--no-clobber", "-o", path, "--", "sh", "-c", f"echo mine > {path}")
    assert done.returncode == 0 and path.read_text() == "mine\n"
    line, report = split_stderr(done)
    assert "exists" in line and json.loads(report)["schema"] == "spoor/1"
    assert os.listdir(tmp_path) == ["r.json"]


@pytest.mark.parametrize("options", [[], ["--append"], ["--no-clobber"]], ids=str)
def test_names_may_be_as_long_as_the_file_system_allows(spoor, tmp_path, options):
    path = tmp_path / ("r" * 250 + ".json")
    assert spoor(*RUN, *options, "-o", path, "--", "true").returncode == 0
    load(path)
    assert os.listdir(tmp_path) == [path.name]


def test_longer_names_are_refused_before_the_start(spoor, tmp_path):
    marker = tmp_path / "ran"
    for path in (tmp_path / ("r" * 251 + ".json"), "x" * 5000 + ".json"):
        assert refused(spoor("run", "-o", path, "--", "touch", marker), "File name too long")
    assert not marker.exists()


# ---- descriptors, pipes and links ----------------------------------------------------

@pytest.mark.parametrize("path", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_stdout_can_be_named_by_a_path(spoor, path):
    done = spoor(*RUN, "-f", "json", "-o", path, "--", "echo", "job")
    job, _, report = done.stdout.partition("\n")
    assert (job, done.stderr, done.returncode) == ("job", "", 0)
    assert json.loads(report)["run"]["exit_code"] == 0


def test_stderr_can_be_named_by_a_path(spoor, tmp_path):
    done = spoor(*RUN, "-f", "json", "-o", "/dev/stderr", "--", "true")
    assert json.loads(done.stderr)["schema"] == "spoor/1"
    # In a regular file, the report follows earlier output.
    with open(tmp_path / "log", "w", encoding="utf-8") as log:
        spoor(*RUN, "-f", "json", "-o", "/dev/stderr", "--", "sh", "-c", "echo before >&2", stderr=log)
    before, _, report = (tmp_path / "log").read_text().partition("\n")
    assert before == "before" and json.loads(report)["schema"] == "spoor/1"


def test_descriptor_that_is_not_open_is_refused(spoor, tmp_path):
    marker = tmp_path / "ran"
    for path in ("/dev/fd/77", "/proc/self/fd/77"):
        assert refused(spoor("run", "-o", path, "--", "touch", marker), path)
    with open("/dev/null", "rb") as null:
        path = f"/dev/fd/{null.fileno()}"
        assert refused(spoor("run", "-o", path, "--", "touch", marker, pass_fds=(null.fileno(),)),
                       "not open for writing")
    assert not marker.exists()


def test_process_substitution_is_supported(spoor, tmp_path):
    path = tmp_path / "copy"
    script = f'"$0" run -q -f json -o >(cat > {path}; echo done) -- true; cat'
    process = subprocess.Popen(["bash", "-c", script, spoor.binary], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)
    assert read_line(process.stdout) == "done"
    process.communicate()
    load(path)


def test_report_can_be_written_to_a_named_pipe(spoor, tmp_path):
    path = tmp_path / "pipe.json"
    os.mkfifo(path)
    pipe = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # the pipe has room for the report
    done = spoor(*RUN, "-o", path, "--", "true")
    report = os.read(pipe, 1 << 16)
    os.close(pipe)
    assert done.returncode == 0 and json.loads(report)["schema"] == "spoor/1"
    assert stat.S_ISFIFO(path.lstat().st_mode)


def test_link_to_stderr_is_followed(spoor, tmp_path):
    """In containers, logs are links to /dev/stderr."""
    (tmp_path / "log").symlink_to("/dev/stderr")
    done = spoor(*RUN, "-f", "json", "-o", tmp_path / "log", "--", "true")
    assert json.loads(done.stderr)["schema"] == "spoor/1"
    assert (tmp_path / "log").is_symlink()


def test_links_and_pipes_of_other_users_in_a_public_directory_are_refused(spoor, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("only root can make the files of another user")
    folder = tmp_path / "public"
    folder.mkdir()
    folder.chmod(0o1777)
    (folder / "link").symlink_to("/dev/null")
    os.mkfifo(folder / "pipe")
    for name in ("link", "pipe"):
        os.chown(folder / name, 1234, 1234, follow_symlinks=False)
        assert refused(spoor("run", "-o", folder / name, "--", "true"), name)


# ---- formats and options ---------------------------------------------------------------

def test_tags_are_part_of_every_format(spoor, tmp_path):
    tags = ["--tag", "team=blue", "--tag", "note=two words"]
    for name in ("r.json", "r.csv", "r.txt"):
        spoor(*RUN, *tags, "-o", tmp_path / name, "--", "true")
    assert load(tmp_path / "r.json")["run"]["tags"] == {"team": "blue", "note": "two words"}
    row = next(csv.DictReader((tmp_path / "r.csv").open()))
    assert row["tags"] == "team=blue 'note=two words'"
    assert "team=blue" in (tmp_path / "r.txt").read_text()
    assert "two words" in (tmp_path / "r.txt").read_text()


@pytest.mark.parametrize("suffix", ["xml", "yaml", "htm", "jsonl", "tsv", "sqlite", "parquet"])
def test_file_name_with_the_suffix_of_another_format_is_refused(spoor, tmp_path, suffix):
    path = tmp_path / f"r.{suffix}"
    done = spoor("run", "-o", path, "--", "touch", tmp_path / "ran")
    assert refused(done, f".{suffix}", ".json, .csv, .html or .txt", "--format")
    assert os.listdir(tmp_path) == []
    assert spoor(*RUN, "-f", "text", "-o", path, "--", "true").returncode == 0


@pytest.mark.parametrize("name", ["r", "r.log", "r.out", "run.42", "r.text", ".xml"])
def test_other_file_names_select_the_text_format(spoor, tmp_path, name):
    assert spoor(*RUN, "-o", tmp_path / name, "--", "true").returncode == 0
    assert (tmp_path / name).read_text().startswith("true\n")


def test_directory_is_checked_before_the_start(spoor, tmp_path):
    marker = tmp_path / "ran"
    (tmp_path / "file").write_text("")
    for option, name in (("-o", "r.json"), ("--samples", "s.csv")):
        for folder, words in (("none", "does not exist"), ("file", "not a directory")):
            done = spoor("run", option, tmp_path / folder / name, "--", "touch", marker)
            assert refused(done, words)
    assert not marker.exists()


@pytest.mark.parametrize("option, values", [("--cgroup", ["/no/such/group", "off"]),
                                            ("--gpus", ["99", "none"]),
                                            ("--format", ["csv", "json"]),
                                            ("--interval", ["1h", "0.01"]),
                                            ("--name", ["a", "last"]),
                                            ("--wait", ["all", "main"])])
def test_last_value_of_an_option_is_used(spoor, tmp_path, option, values):
    both = [f"{option}={value}" for value in values]
    done = spoor(*RUN, "-f", "json", "-o", "-", *both, "--", "true", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    if option == "--name":
        assert report["run"]["name"] == "last"
    if option == "--interval":
        assert report["run"]["interval_seconds"] == 0.01


def test_last_value_of_cgroup_is_used(spoor):
    for values in (["/no/such/group", "auto"], ["require", "auto"], ["off", "auto"]):
        done = spoor(*RUN, *(f"--cgroup={value}" for value in values), "--", "true")
        assert (done.returncode, done.stderr) == (0, "")
    done = spoor("run", "--cgroup=auto", "--cgroup=/no/such/group", "--", "true")
    assert done.returncode == 125
