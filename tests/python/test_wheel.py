# SPDX-License-Identifier: Apache-2.0
"""The wheel: made twice, installed into a clean environment, and the documents' examples there."""
import json
import os
import pathlib
import re
import subprocess
import textwrap
import zipfile

import pytest

from conftest import BINARY, TOP

CLEAN = {key: value for key, value in os.environ.items()
         if not key.startswith(("SPOOR", "PYTHON"))}

EXAMPLE_MODULE = """
    import time

    def example_function():
        held = bytearray(20 * 10 ** 6)
        end = time.process_time() + 0.2
        while time.process_time() < end:
            pass
        return len(held)
"""

# The programs of the predecessor's tutorials, in their order; what is between is their prose.
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


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    folders = [tmp_path_factory.mktemp("wheel") for _ in range(2)]
    paths = []
    for folder in folders:
        done = subprocess.run([TOP / "tools/make-wheel", BINARY.parent, folder], check=True,
                              text=True, stdout=subprocess.PIPE)
        paths.append(pathlib.Path(done.stdout.strip()))
    assert paths[0].name == paths[1].name and paths[0].read_bytes() == paths[1].read_bytes()
    return paths[0]


@pytest.fixture(scope="session")
def environment(wheel, tmp_path_factory):
    """The bin folder of a clean virtual environment in which the wheel is installed."""
    folder = tmp_path_factory.mktemp("venv")
    subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", folder], check=True,
                   env=CLEAN)
    subprocess.run(["/usr/bin/python3", "-m", "pip", "--python", folder / "bin/python", "install",
                    "--quiet", "--no-index", "--disable-pip-version-check", wheel], check=True,
                   env={**CLEAN, "PIP_ROOT_USER_ACTION": "ignore"})
    return folder / "bin"


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


def shape(text):
    """The text without its numbers."""
    return re.sub(r"\d+(\.\d+)?(e[-+]\d+)?", "N", text)


def test_contents_and_record(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        assert archive.testzip() is None and names == sorted(names)
        record = archive.read(next(name for name in names if name.endswith("RECORD"))).decode()
        modes = {info.filename: info.external_attr >> 16 for info in archive.infolist()}
    assert sorted(line.split(",")[0] for line in record.splitlines()) == names
    assert {"spoor/py.typed", "gpu_tracker/py.typed", "spoor/bin/spoor",
            "spoor/lib/libspoor.so"} <= set(names)
    assert modes["spoor/bin/spoor"] == 0o100755 and modes["spoor/py.typed"] == 0o100644
    assert re.fullmatch(r"spoor-[\d.]+-py3-none-linux_\w+\.whl", wheel.name)


def test_programs_are_installed_and_start_no_python(environment, run):
    for name in ("spoor", "gpu-tracker"):
        assert (environment / name).read_bytes()[:4] == b"\x7fELF"
    assert run("spoor", "--version").startswith("spoor ")
    out = run("gpu-tracker", "-e", "true", "--disable-logs")
    assert out.startswith("Resource tracking complete. Process completed with status code: 0\n")
    assert run("python", "-m", "gpu_tracker", "-v") == run("gpu-tracker", "-v")


def test_packages_use_the_program_beside_them(environment, run):
    out = run("python", "-c", "import spoor; print(spoor.find_program())", SPOOR_BIN="/bin/false")
    assert out.strip().endswith("site-packages/spoor/bin/spoor")
    assert str(environment.parent) in out


def test_tutorial_of_version_5(run, tmp_path):
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
    assert float(rest[7]) >= 0
    last = rest[8:]
    assert float(last[last.index("   Descendants:") + 1].split()[-1]) > 0.02


def test_tutorial_of_version_2(run, tmp_path):
    (tmp_path / "program.py").write_text(textwrap.dedent(TUTORIAL_2))
    out = run("python", "program.py")
    assert out.count("   Descendents:\n") == 2 == out.count("   Descendants:\n")
    assert "\nMaxRAM(unit='megabytes', " in out and "\nMaxGPURAM(unit='kilobytes', " in out
    assert "\nComputeTime(unit='seconds', time=" in out


def test_example_of_the_documents(run, tmp_path):
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


def test_source_is_valid_for_python_3_9():
    import ast

    for path in (TOP / "python").glob("*/*.py"):
        ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 9))
