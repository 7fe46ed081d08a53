# SPDX-License-Identifier: Apache-2.0
"""The wheels: built twice, installed into clean environments, and tested with the examples of the documents."""
import contextlib
import email
import fcntl
import json
import os
import re
import signal
import subprocess
import textwrap
import zipfile

import pytest

from conftest import BINARY, NO_SERVICES, TOP
from fake_keeper import SERVERS, Keeper

pytestmark = pytest.mark.any_user

CLEAN = {**{key: value for key, value in os.environ.items()
            if not key.startswith(("SPOOR", "PYTHON"))}, **NO_SERVICES}

EXAMPLE_MODULE = """
    import time

    def example_function():
        held = bytearray(20 * 10 ** 6)
        end = time.process_time() + 0.2
        while time.process_time() < end:
            pass
        return len(held)
"""

# The programs of the predecessor's tutorials, in order, without the text around them.
TUTORIAL_5 = """
    import json
    import multiprocessing as mp

    import gpu_tracker as gput
    from example_module import example_function

    if __name__ == "__main__":
        tracker = gput.Tracker(n_expected_cores=1, sleep_time=0.1)
        tracker.start()
        example_function()
        tracker.stop()
        print(tracker)
        with gput.Tracker() as tracker:
            example_function()
        with gput.Tracker(ram_unit='megabytes', gpu_ram_unit='megabytes', time_unit='seconds',
                          sleep_time=0.1) as tracker:
            example_function()
        print(tracker)
        print(json.dumps(tracker.to_json(), indent=1))
        print(tracker.resource_usage.max_ram)
        print(tracker.resource_usage.max_ram.unit)
        print(tracker.resource_usage.max_ram.main)
        print(tracker.resource_usage.max_ram.main.total_rss)
        print(tracker.resource_usage.max_gpu_ram)
        print(tracker.resource_usage.compute_time)
        try:
            with gput.Tracker() as tracker:
                example_function()
                raise RuntimeError('AN ERROR')
        except Exception as error:
            print(f'The following error occurred while tracking: {error}')
        finally:
            print(tracker.resource_usage.max_gpu_ram.main)
        ctx = mp.get_context(method='spawn')
        child_process = ctx.Process(target=example_function)
        with gput.Tracker(n_expected_cores=2, sleep_time=0.2) as tracker:
            child_process.start()
            example_function()
            child_process.join()
        child_process.close()
        print(tracker)
"""

TUTORIAL_2 = """
    import json
    import gpu_tracker as gput

    tracker = gput.Tracker(spelling="descendents")
    tracker.start()
    tracker.stop()
    print(tracker)
    with gput.Tracker(ram_unit='megabytes', gpu_ram_unit='kilobytes', time_unit='seconds') as tracker:
        pass
    print(tracker)
    print(json.dumps(tracker.to_json(), indent=1))
    print(tracker.max_ram)
    print(tracker.max_gpu_ram)
    print(tracker.compute_time)
"""

# The standalone example in resource-tracker's README, without the browser.
STANDALONE = """
    from resource_tracker import ResourceTracker

    tracker = ResourceTracker()
    # your compute-heavy code
    tracker.stop()

    # your analytics code utilizing the collected data
    tracker.process_metrics
    tracker.system_metrics
    tracker.get_combined_metrics()

    # or more conveniently get combined statistics
    tracker.stats()

    # get recommendations for resource allocation and cloud server type
    tracker.recommend_resources()
    tracker.recommend_server()

    # generate a HTML report on resource usage and recommendations
    report = tracker.report()
    report.save("report.html")
"""

# Every class and function in the API reference of resource-tracker 0.1, with its signature.
REFERENCE_0_1 = """
    import os
    from resource_tracker.tracker import (
        PidTracker, SystemTracker, get_pid_children, get_pid_proc_io, get_pid_proc_times,
        get_pid_pss_rollup, get_pid_rss, get_pid_stats, get_system_stats, is_partition)

    pid = os.getpid()
    print(is_partition("nvme0n1p1"), is_partition(disk_name="nvme0n1"))
    print(get_pid_children(pid), get_pid_rss(pid) > 0, get_pid_pss_rollup(pid) > 0)
    print(sorted(get_pid_proc_times(pid, children=True)))
    print(sorted(key for key in get_pid_proc_io(pid) if key in ("read_bytes", "write_bytes")))
    print(get_pid_stats(pid, children=True)["pss"] > 0, get_system_stats()["memory_used"] > 0)
    tracker = PidTracker(pid=pid, interval=1, children=True, autostart=False, output_file=None)
    tracker()
    print(*tracker.diff_stats())
    tracker = SystemTracker(interval=1, autostart=False, output_file=None,
                            dialect="resource-tracker-0.1")
    print(*tracker.diff_stats())
    child = os.fork()
    if child == 0:
        while os.getppid() == pid:
            pass
        os._exit(0)
    print(child, flush=True)
    PidTracker(child, 0.1)  # writes rows until the process has ended
"""


def make_once(tmp_path_factory, name, make):
    """Returns a folder that make(folder) has filled once; the workers of a test run share it."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    made = folder.with_suffix(".made")
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            folder.mkdir(exist_ok=True)
            make(folder)
            made.touch()
    return folder


def make_wheels(folder):
    done = subprocess.run([TOP / "tools/make-wheel", BINARY.parent, folder], check=True, text=True, stdout=subprocess.PIPE)
    assert sorted(done.stdout.split()) == sorted(map(str, folder.iterdir()))


@pytest.fixture(scope="session")
def wheels(tmp_path_factory):
    """Returns the folder of the wheels."""
    return make_once(tmp_path_factory, "wheels", make_wheels)


def test_wheels_are_reproducible(wheels, tmp_path):
    again = tmp_path / "wheels"
    again.mkdir()
    make_wheels(again)
    assert sorted(path.name for path in again.iterdir()) == sorted(path.name for path in wheels.iterdir())
    for path in again.iterdir():
        assert path.read_bytes() == (wheels / path.name).read_bytes()


def pip(folder, *arguments):
    """Runs the system's pip on the virtual environment in this folder."""
    subprocess.run(["/usr/bin/python3", "-m", "pip", "--python", folder / "bin/python",
                    "--disable-pip-version-check", *arguments], check=True,
                   env={**CLEAN, "PIP_ROOT_USER_ACTION": "ignore"}, stdout=subprocess.DEVNULL)


def install(folder, wheels, *names):
    pip(folder, "install", "--no-index", "--find-links", wheels, *names)


def make_environment(folder):
    subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", folder], check=True,
                   env=CLEAN)
    return folder


def site_packages(folder):
    return next(folder.glob("lib/python3*/site-packages"))


@pytest.fixture(scope="session")
def environment(wheels, tmp_path_factory):
    """Returns the bin folder of a clean virtual environment with all distributions."""
    def make(folder):
        install(make_environment(folder), wheels, "spoor-gpu-tracker", "spoor-resource-tracker")
    return make_once(tmp_path_factory, "venv", make) / "bin"


@pytest.fixture
def run(environment, tmp_path):
    def run(*command, **options):
        done = subprocess.run([environment / command[0], *command[1:]], cwd=tmp_path, text=True,
                              env={**CLEAN, **options}, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    (tmp_path / "example_module.py").write_text(textwrap.dedent(EXAMPLE_MODULE))
    return run


@pytest.fixture
def start(environment, tmp_path):
    """`with start(text) as process` runs a Python program whose output can be read while it
    runs."""
    @contextlib.contextmanager
    def start(text):
        path = tmp_path / "program.py"
        path.write_text(textwrap.dedent(text))
        process = subprocess.Popen([environment / "python", path], cwd=tmp_path, text=True,
                                   env=CLEAN, stdout=subprocess.PIPE)
        try:
            yield process
        except BaseException:
            process.kill()
            raise
        finally:
            process.communicate()
    return start


def shape(text):
    """Returns the text without its numbers."""
    return re.sub(r"\d+(\.\d+)?(e[-+]\d+)?", "N", text)


def read_wheel(wheels, pattern):
    """Returns the names and modes of the files in a wheel, its metadata and its list of entry
    points."""
    path, = wheels.glob(pattern)
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        assert archive.testzip() is None and names == sorted(names)
        info = next(name for name in names if name.endswith("/METADATA")).rpartition("/")[0]
        record = archive.read(f"{info}/RECORD").decode()
        assert sorted(line.split(",")[0] for line in record.splitlines()) == names
        assert archive.read(f"{info}/LICENSE") == (TOP / "LICENSE").read_bytes()
        if "manylinux" in path.name:  # it contains third-party code
            assert archive.read(f"{info}/NOTICES") == (TOP / "NOTICES").read_bytes()
        metadata = email.message_from_bytes(archive.read(f"{info}/METADATA"))
        entry_points = archive.read(f"{info}/entry_points.txt").decode() \
            if f"{info}/entry_points.txt" in names else ""
        modes = {entry.filename: entry.external_attr >> 16 for entry in archive.infolist()}
    version = re.search(r"version: '([^']+)'", (TOP / "meson.build").read_text())[1]
    assert metadata["Version"] == version and f"-{version}-" in path.name
    assert metadata["License"] == "Apache-2.0" and metadata["Requires-Python"] == ">=3.9"
    assert metadata.get_payload().startswith("# ")
    return modes, metadata, entry_points


def test_wheel_of_spoor_has_the_expected_contents(wheels):
    modes, metadata, entry_points = read_wheel(wheels, "spoor-*-py3-none-manylinux_*.whl")
    assert metadata["Name"] == "spoor" and metadata.get_all("Requires-Dist") is None
    assert entry_points == "[pytest11]\npytest_spoor = pytest_spoor\n"
    assert {"pytest_spoor/__init__.py", "pytest_spoor/py.typed", "spoor/integrations/mlflow.py",
            "spoor/py.typed"} <= set(modes)
    assert modes["spoor/bin/spoor"] == modes["spoor/lib/libspoor.so"] == 0o100755
    assert modes["spoor/__init__.py"] == 0o100644
    assert not [name for name in modes if re.search("(gpu|resource)[-_]tracker", name)]


def test_tag_of_the_wheel_matches_the_required_glibc(wheels, tmp_path):
    path, = wheels.glob("spoor-*-manylinux_*.whl")
    major, minor, machine = re.search(r"-manylinux_(\d+)_(\d+)_(\w+)\.whl$", path.name).groups()
    needed = set()
    with zipfile.ZipFile(path) as archive:
        for name in ("spoor/bin/spoor", "spoor/lib/libspoor.so"):
            symbols = subprocess.run(["readelf", "--dyn-syms", "--wide", archive.extract(name, tmp_path)],
                                     check=True, text=True, stdout=subprocess.PIPE).stdout
            needed |= {tuple(map(int, version.split("."))) for version in
                       re.findall(r" UND \w+@GLIBC_([\d.]+)", symbols)}
    assert max(needed)[:2] == (int(major), int(minor)) and machine == os.uname().machine


def test_wheel_of_gpu_tracker_has_the_expected_contents(wheels):
    modes, metadata, entry_points = read_wheel(wheels, "spoor_gpu_tracker-*-py3-none-any.whl")
    assert metadata["Name"] == "spoor-gpu-tracker"
    assert metadata.get_all("Requires-Dist") == [f"spoor=={metadata['Version']}"]
    assert entry_points == "[console_scripts]\ngpu-tracker = gpu_tracker.__main__:become_program\n"
    assert "gpu_tracker/py.typed" in modes
    assert not [name for name in modes if name.startswith("spoor/")]


def test_wheel_of_resource_tracker_has_the_expected_contents(wheels):
    modes, metadata, entry_points = read_wheel(wheels, "spoor_resource_tracker-*-py3-none-any.whl")
    assert metadata["Name"] == "spoor-resource-tracker"
    assert entry_points == "[console_scripts]\nresource-tracker = resource_tracker.__main__:become_program\n"
    assert metadata.get_all("Requires-Dist") == [f"spoor=={metadata['Version']}"]
    assert "resource_tracker/py.typed" in modes
    extension = {name for name in modes if name.startswith("metaflow_extensions/")}
    assert extension == {f"metaflow_extensions/resource_tracker/plugins/{name}.py" for name in (
        "mfextinit_resource_tracker", "track_resources_decorator", "cards/tracked_resources/__init__")}
    assert not [name for name in modes if name.startswith("spoor/")]


def remaining(folder):
    """Returns all remaining paths except the shared folders of share/, which pip leaves."""
    return sorted(path for path in folder.rglob("*")
                  if path.relative_to(folder).parts[0] != "share" or not path.is_dir())


def test_installing_spoor_alone_keeps_another_gpu_tracker(wheels, tmp_path):
    folder = make_environment(tmp_path / "venv")
    other = site_packages(folder) / "gpu_tracker/__init__.py"
    other.parent.mkdir()
    other.write_text("mine = True\n")
    before = sorted(folder.rglob("*"))
    install(folder, wheels, "spoor")
    assert other.read_text() == "mine = True\n" and list(other.parent.iterdir()) == [other]
    assert not (folder / "bin/gpu-tracker").exists()
    program = "import gpu_tracker, spoor; assert gpu_tracker.mine; spoor.snapshot()"
    subprocess.run([folder / "bin/python", "-B", "-c", program], check=True, env=CLEAN)
    pip(folder, "uninstall", "--yes", "spoor")
    assert remaining(folder) == before


def test_uninstalling_all_packages_leaves_no_files(wheels, tmp_path):
    folder = make_environment(tmp_path / "venv")
    before = sorted(folder.rglob("*"))
    install(folder, wheels, "spoor-gpu-tracker", "spoor-resource-tracker")
    names = {path.name for path in site_packages(folder).iterdir()}
    assert {"spoor", "gpu_tracker", "resource_tracker", "metaflow_extensions"} < names
    assert (folder / "bin/gpu-tracker").exists()
    pip(folder, "uninstall", "--yes", "spoor-gpu-tracker", "spoor-resource-tracker", "spoor")
    # pip leaves the folders of a namespace package, which other packages may share.
    namespace = site_packages(folder) / "metaflow_extensions"
    assert remaining(folder) == sorted([*before, namespace, namespace / "resource_tracker"])


def test_commands_run_the_program_without_a_python_wrapper(environment, run):
    assert (environment / "spoor").read_bytes()[:4] == b"\x7fELF"  # not a Python script
    assert run("spoor", "--version").startswith("spoor ")
    out = run("gpu-tracker", "-e", "sh -c 'readlink /proc/$PPID/exe'", "--disable-logs")
    assert out.splitlines()[0].endswith("site-packages/spoor/bin/spoor")
    assert out.splitlines()[1] == \
        "Resource tracking complete. Process completed with status code: 0"
    assert run("python", "-m", "gpu_tracker", "-v") == run("gpu-tracker", "-v")


def test_resource_tracker_command_executes_the_program(run):
    out = run("resource-tracker", "-f", "csv", "--", "sh", "-c", "readlink /proc/$PPID/exe")
    assert out.splitlines()[0].endswith("site-packages/spoor/bin/spoor")
    assert run("python", "-m", "resource_tracker", "--version") == run("resource-tracker", "--version")


def test_wheel_contains_manual_pages_completion_and_schema(environment, run):
    """man(1) and the shells look there if the environment's bin folder is in PATH or the prefix
    is ~/.local."""
    share = environment.parent / "share"
    commands = ["spoor", "gpu-tracker", "resource-tracker"]
    listed = re.findall(r"^\*(.*)\*\(1\)$", run("spoor", "--man-commands", "spoor"), re.M)
    assert len(listed) > 5
    for page in commands + listed:
        assert "\n.SH NAME\n" in (share / f"man/man1/{page}.1").read_text("utf-8"), page
    for command in commands:
        assert "_spoor" in (share / f"bash-completion/completions/{command}").read_text("utf-8")
        assert command in (share / f"fish/vendor_completions.d/{command}.fish").read_text("utf-8")
    assert (share / "zsh/site-functions/_spoor").read_text("utf-8").startswith("#compdef spoor ")
    assert json.loads((share / "spoor/spoor.schema.json").read_text("utf-8"))["title"]


def test_pip_installs_all_modules_from_source():
    listed = re.findall(r"'((?:pytest_)?spoor/.*?)'", (TOP / "python/meson.build").read_text("utf-8"))
    there = [path.relative_to(TOP / "python").as_posix() for name in ("pytest_spoor", "spoor")
             for path in (TOP / "python" / name).rglob("*") if path.suffix in (".py", ".typed")]
    assert sorted(set(listed) - {"spoor/bin", "spoor/lib", "spoor/integrations"}) == sorted(there)


def test_pytest_finds_the_plugin(run, tmp_path):
    (tmp_path / "test_it.py").write_text("def test_it(): pass\n")
    out = run("python", "-m", "pytest", "-p", "no:cacheprovider", "--spoor", PYTHONPATH="/usr/lib/python3/dist-packages")
    assert re.search(r"^ *\d+\.\d MB +\+\d+\.\d MB +\d+\.\d+ s +\d+\.\d+ s  test_it.py::test_it$", out, re.M), out


def test_notices_list_all_bundled_libraries():
    """The libraries are those that meson.build links statically, the parts of the page, and musl
    in the static program."""
    text = (TOP / "NOTICES").read_text("utf-8")
    linked = re.findall(r"dependency\('(\w+)', static:", (TOP / "meson.build").read_text("utf-8"))
    assert sorted(linked) == ["jansson", "sqlite3", "zlib"]
    for name in ("jansson", "SQLite", "zlib", "uPlot", "musl"):
        assert re.search(rf"^## {name} ", text, re.M), name


def test_packages_use_the_program_installed_with_them(environment, run):
    out = run("python", "-c", "import spoor; print(spoor.find_program())", SPOOR_BIN="/bin/false")
    assert out.strip().endswith("site-packages/spoor/bin/spoor")
    assert str(environment.parent) in out


def test_tutorial_of_version_5_works(run, tmp_path):
    (tmp_path / "program.py").write_text(textwrap.dedent(TUTORIAL_5))
    lines = run("python", "program.py").splitlines()
    assert shape("\n".join(lines[:4])) == \
        "Max RAM:\n   Unit: gigabytes\n   System capacity: N\n   System: N"
    assert lines.count("Max RAM:") == 3 and "   Number of expected cores: 1" in lines
    start = lines.index("{")
    data = json.loads("\n".join(lines[start:lines.index("}") + 1]))
    assert data["max_ram"]["unit"] == "megabytes" and data["compute_time"]["time"] > 0.04
    rest = lines[lines.index("}") + 1:]
    assert shape(rest[0]) == (
        "MaxRAM(unit='megabytes', system_capacity=N, system=N, main=RSSValues(total_rss=N, "
        "private_rss=N, shared_rss=N), descendants=RSSValues(total_rss=N, private_rss=N, "
        "shared_rss=N), combined=RSSValues(total_rss=N, private_rss=N, shared_rss=N))")
    assert rest[1] == "megabytes" and float(rest[3]) == data["max_ram"]["main"]["total_rss"] > 20
    assert shape(rest[4]) == ("MaxGPURAM(unit='megabytes', system_capacity=N, system=N, main=N, "
                              "descendants=N, combined=N)")
    assert shape(rest[5]) == "ComputeTime(unit='seconds', time=N)"
    assert rest[6] == "The following error occurred while tracking: AN ERROR"
    assert float(rest[7]) == 0  # utilization of the GPU
    last = rest[8:]
    assert float(last[last.index("   Descendants:") + 1].split()[-1]) > 0.02


def test_tutorial_of_version_2_works(run, tmp_path):
    (tmp_path / "program.py").write_text(textwrap.dedent(TUTORIAL_2))
    out = run("python", "program.py")
    assert out.count("   Descendents:\n") == 2 == out.count("   Descendants:\n")
    assert "\nMaxRAM(unit='megabytes', " in out and "\nMaxGPURAM(unit='kilobytes', " in out
    assert "\nComputeTime(unit='seconds', time=" in out


def test_documented_example_works(run, tmp_path):
    (tmp_path / "program.py").write_text(textwrap.dedent("""
        import spoor
        from example_module import example_function
        with spoor.Tracker(interval=0.1, output="report.json", samples="curve.csv") as tracker:
            with spoor.phase("load"):
                example_function()
        print(tracker.result)
        print(tracker.result.phases[0].cpu.total_seconds.value >= 0.04)
    """))
    assert run("python", "program.py").endswith("True\n")
    assert json.loads((tmp_path / "report.json").read_text())["schema"] == "spoor/1"


def test_standalone_example_of_resource_tracker_works(run, tmp_path):
    (tmp_path / "program.py").write_text(textwrap.dedent(STANDALONE + """
    print(len(tracker.process_metrics), len(tracker.system_metrics), tracker.n_samples)
    print(len(tracker.get_combined_metrics().columns), sorted(tracker.stats()))
    print(tracker.recommend_resources(), tracker.recommend_server()["server_id"])
    """))
    with Keeper() as keeper:
        out = run("python", "program.py", SPOOR_KEEPER_URL=keeper.url, SPOOR_KEEPER_TIMEOUT="60",
                  no_proxy="*")
    rows, stats, needs = out.splitlines()
    assert needs == f"{{'cpu': 1, 'memory': 128, 'gpu': 0, 'vram': 0}} {SERVERS[1]['server_id']}"
    assert rows in ("1 1 1", "2 2 2")  # the interval may have ended in between
    assert stats.startswith("32 ") and "'process_cpu_usage'" in stats and "'run_totals'" in stats


def test_other_examples_of_resource_tracker_work(start):
    with start("""
        import os, signal
        signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored
        from resource_tracker import SystemTracker
        try:
            tracker = SystemTracker()
        except KeyboardInterrupt:
            pass
        from resource_tracker import get_cloud_info, get_server_info
        print(*get_server_info())
        print(*get_cloud_info())
        from resource_tracker.tracker_procfs import get_process_stats, get_system_stats
        from resource_tracker.tracker_psutil import get_process_stats, get_system_stats
        print(get_process_stats(os.getpid())["pid"] == os.getpid(), len(get_system_stats()))
    """) as process:
        assert process.stdout.readline().startswith('"timestamp","processes","utime",')
        assert len(process.stdout.readline().split(",")) == 21
        process.send_signal(signal.SIGINT)
        lines = process.stdout.read().splitlines()
    assert lines[-3].startswith("os vcpus memory_mib gpu_count gpu_names gpu_name gpu_memory_mib ")
    assert lines[-2:] == ["vendor instance_type region discovery_time", "True 17"]


def test_documented_interface_of_resource_tracker_0_1_works(start):
    with start(REFERENCE_0_1) as process:
        lines = [process.stdout.readline().rstrip() for _ in range(11)]
        os.kill(int(lines.pop(7)), signal.SIGKILL)
        lines += process.stdout.read().splitlines()
    assert process.returncode == 0
    process = "timestamp pid children utime stime cpu_usage pss read_bytes write_bytes gpu_usage " \
        "gpu_vram gpu_utilized"
    assert lines[:7] == [
        "True False", "set() True True", "['stime', 'utime']", "['read_bytes', 'write_bytes']",
        "True True", process,
        "timestamp processes utime stime cpu_usage memory_free memory_used memory_buffers "
        "memory_cached memory_active_anon memory_inactive_anon disk_read_bytes disk_write_bytes "
        "disk_space_total_gb disk_space_used_gb disk_space_free_gb net_recv_bytes net_sent_bytes "
        "gpu_usage gpu_vram gpu_utilized"]
    assert lines[7] == ",".join(f'"{name}"' for name in process.split())
    assert len(lines) >= 9 and all(len(line.split(",")) == 12 for line in lines[8:])


def test_source_is_valid_for_python_3_9():
    import ast

    for path in (TOP / "python").rglob("*.py"):
        ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 9))
