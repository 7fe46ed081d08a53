# SPDX-License-Identifier: Apache-2.0
"""Logs samples to W&B, MLflow, TensorBoard and Aim. Debian and npm have none of these packages, so stand-ins replace
them, which accept only the documented calls.
"""
import contextlib
import os
import re
import subprocess
import sys
import threading
import time
import types
import warnings

import pytest

import spoor
from conftest import BINARY, DEADLINE_SECONDS, TOP, eventually
from spoor.integrations import _logger
from spoor.integrations.aim import AimLogger
from spoor.integrations.mlflow import MlflowLogger
from spoor.integrations.tensorboard import TensorBoardLogger
from spoor.integrations.wandb import WandbLogger

pytestmark = pytest.mark.any_user
SOON = 0.02  # seconds between samples


class Tool:
    """Records samples as {name: value} for each call; raises `failure` instead, if set."""

    def __init__(self):
        self.samples, self.failure, self.calls = [], None, 0

    def add(self, sample):
        self.calls += 1
        if self.failure:
            raise self.failure
        for name, value in sample.items():
            assert re.fullmatch(r"[\w ./-]+(\[\w+\])?", name)  # accepted by all four tools; Aim's context
            assert type(value) in (int, float) and value == value
        self.samples.append(sample)


class WandbRun(Tool):  # wandb.Run 0.28
    def __init__(self):
        super().__init__()
        self.axes, self.commits = {}, []

    def define_metric(self, name, step_metric=None, step_sync=None, hidden=None, summary=None, goal=None,
                      overwrite=None):
        assert "*" not in name[:-1]  # in a glob, the only star is the last character
        self.axes[name] = step_metric

    def log(self, data, step=None, commit=None):
        assert isinstance(data, dict) and step is None
        self.commits.append(commit)
        self.add(data)


class MlflowMetric:  # mlflow.entities.Metric 3.15
    def __init__(self, key, value, timestamp, step, model_id=None, dataset_name=None, dataset_digest=None, run_id=None):
        assert type(timestamp) is int and type(step) is int and timestamp > 1e12  # in milliseconds
        self.key, self.value, self.step = key, value, step


class MlflowClient(Tool):
    def __init__(self, tracking_uri=None, registry_uri=None):
        super().__init__()
        self.steps = []

    def log_batch(self, run_id, metrics=(), params=(), tags=(), synchronous=None):
        assert run_id == "run-1" and not params and not tags
        assert 0 < len(metrics) <= 1000 and len({metric.key for metric in metrics}) == len(metrics)
        self.steps.append({metric.step for metric in metrics})
        self.add({metric.key: metric.value for metric in metrics})


class Writer(Tool):  # SummaryWriter of torch.utils.tensorboard and tensorboardX
    last_step = 0

    def add_scalar(self, tag, scalar_value, global_step=None, walltime=None, new_style=False, double_precision=False):
        assert type(global_step) is int and global_step >= self.last_step and walltime is None
        self.last_step = global_step
        self.add({tag: scalar_value})


class AimRun(Tool):  # aim.Run 3.29
    def track(self, value, name=None, step=None, epoch=None, *, context=None):
        assert step is epoch is None and isinstance(context, dict)
        assert set(context) <= {"gpu"}
        self.add({name + "".join(f"[{gpu}]" for gpu in context.values()): value})


@pytest.fixture
def modules(monkeypatch):
    """Provides the stand-ins as modules, with a run that was started."""
    wandb, mlflow, aim = (types.ModuleType(name) for name in ("wandb", "mlflow", "aim"))
    wandb.run = WandbRun()
    client = MlflowClient()
    mlflow.MlflowClient = lambda: client
    mlflow.entities = types.SimpleNamespace(Metric=MlflowMetric)
    mlflow.active_run = lambda: types.SimpleNamespace(info=types.SimpleNamespace(run_id="run-1"))
    for module in (wandb, mlflow, aim):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    return types.SimpleNamespace(wandb=wandb, mlflow=mlflow, aim=aim, client=client)


@pytest.fixture(params=["wandb", "mlflow", "tensorboard", "aim"])
def made(request, modules):
    """made(tracker) creates the logger for a tool; made.tool is the stand-in that receives the
    values."""
    tool = {"wandb": modules.wandb.run, "mlflow": modules.client, "tensorboard": Writer(),
            "aim": AimRun()}[request.param]

    def make(tracker, interval=SOON):
        if request.param in ("wandb", "mlflow"):
            return {"wandb": WandbLogger, "mlflow": MlflowLogger}[request.param](tracker, interval=interval)
        return {"tensorboard": TensorBoardLogger, "aim": AimLogger}[request.param](tracker, tool, interval=interval)

    make.tool, make.name = tool, request.param
    return make


NAMES = {
    "wandb": {f"system/{name}" for name in (
        "cpu", "proc.memory.rssMB", "proc.memory.percent", "proc.memory.availableMB", "proc.cpu.threads",
        "memory_percent", "network.recv", "network.sent", "seconds")},
    "mlflow": {f"system/{name}" for name in (
        "cpu_utilization_percentage", "system_memory_usage_megabytes", "system_memory_usage_percentage",
        "disk_usage_megabytes", "disk_usage_percentage", "disk_available_megabytes", "network_receive_megabytes",
        "network_transmit_megabytes", "job_cpu_utilization_percentage", "job_memory_usage_megabytes")},
    "tensorboard": {"job/cpu_cores", "job/memory_bytes", "job/processes", "job/threads", "system/cpu_percent",
                    "system/memory_percent", "system/network_received_bytes", "system/network_sent_bytes"},
    "aim": {"__system__cpu", "__system__p_memory_percent", "__system__memory_percent", "__system__disk_percent"}}
# The name of the job's memory in each tool, and the number of bytes per unit.
MEMORY = {"wandb": ("system/proc.memory.rssMB", 2**20), "mlflow": ("system/job_memory_usage_megabytes", 1e6),
          "tensorboard": ("job/memory_bytes", 1)}


def logged(tool):
    """Returns all logged values by name."""
    found = {}
    for sample in list(tool.samples):
        for name, value in sample.items():
            found.setdefault(name, []).append(value)
    return found


def wait_for(tool, name, count):
    eventually(lambda: len(logged(tool).get(name, [])) >= count, f"{count} samples")


def test_logged_samples_use_the_metric_names_of_the_tool(made):
    name = min(NAMES[made.name])
    with spoor.Tracker(gpus="none") as tracker, made(tracker):
        wait_for(made.tool, name, 3)
        rss = tracker.snapshot().rss_bytes
    values = logged(made.tool)
    assert set(values) == NAMES[made.name]
    for key, numbers in values.items():
        if "percent" in key and "cpu" not in key:
            assert all(number <= 100 for number in numbers), key
        if "network" in key or "seconds" in key:
            assert 0 <= numbers[0] and numbers == sorted(numbers), key
        else:
            assert all(number > 0 or number == 0 and "cpu" in key for number in numbers), key
    if made.name in MEMORY:
        key, unit = MEMORY[made.name]
        assert values[key][-1] * unit == pytest.approx(rss, rel=0.1)


def test_logged_cpu_usage_is_the_mean_since_the_last_sample(modules):
    """The only sample is the last one, taken when the logger stops, so its means are over
    the whole block."""
    writer = Writer()
    with spoor.Tracker(gpus="none") as tracker:
        outer, outer_cpu = time.monotonic(), tracker.snapshot().cpu_seconds
        with TensorBoardLogger(tracker, writer, interval=3600):
            inner, inner_cpu = time.monotonic(), tracker.snapshot().cpu_seconds
            subprocess.run([sys.executable, "-S", "-c", "import time\nwhile time.process_time() < 0.5: pass"], check=True)
            used, inner = tracker.snapshot().cpu_seconds - inner_cpu, time.monotonic() - inner
            assert not writer.samples
        most, outer = tracker.snapshot().cpu_seconds - outer_cpu, time.monotonic() - outer
    cores, = logged(writer)["job/cpu_cores"]
    assert used >= 0.45 and used / outer <= cores <= most / inner


def test_wandb_keeps_the_steps_of_the_program(modules):
    run = modules.wandb.run
    with spoor.Tracker(gpus="none") as tracker, WandbLogger(tracker, interval=SOON):
        wait_for(run, "system/cpu", 2)
    assert set(run.commits) == {False}
    assert run.axes == {"system/seconds": None, "system/*": "system/seconds"}
    other = WandbRun()
    with spoor.Tracker(gpus="none") as tracker, WandbLogger(tracker, other, interval=SOON, commit=True):
        wait_for(other, "system/cpu", 2)
    assert set(other.commits) == {True}
    seconds = logged(other)["system/seconds"]
    assert seconds == sorted(seconds)


def test_mlflow_steps_count_samples(modules):
    with spoor.Tracker(gpus="none") as tracker, MlflowLogger(tracker, interval=SOON):
        eventually(lambda: len(modules.client.steps) >= 3, "3 samples")
    assert modules.client.steps == [{step} for step in range(len(modules.client.steps))]


def test_logger_requires_a_started_run(modules, monkeypatch):
    monkeypatch.setattr(modules.wandb, "run", None)
    monkeypatch.setattr(modules.mlflow, "active_run", lambda: None)
    with pytest.raises(spoor.Error, match=r"call wandb\.init\(\) first"):
        WandbLogger(spoor.Tracker())
    with pytest.raises(spoor.Error, match=r"call mlflow\.start_run\(\) first, or pass run_id"):
        MlflowLogger(spoor.Tracker())
    MlflowLogger(spoor.Tracker(), run_id="run-1")


def test_tools_are_not_imported(script):
    assert script("""
        import sys
        from spoor.integrations import aim, mlflow, tensorboard, wandb
        print({name.partition(".")[0] for name in sys.modules} & {"aim", "mlflow", "tensorboard", "wandb", "torch"})
        try:
            wandb.WandbLogger(None)
        except ModuleNotFoundError as error:
            print(error)
    """) == "set()\nNo module named 'wandb'\n"


def test_logger_requires_a_running_tracker(made):
    with pytest.raises(spoor.Error, match="the tracker is not running"):
        made(spoor.Tracker()).start()
    with pytest.raises(ValueError, match="interval: 0 is out of range"):
        made(spoor.Tracker(), interval=0)


def test_logger_ends_when_the_tracker_ends(made):
    tracker = spoor.Tracker(gpus="none").start()
    logger = made(tracker).start()
    eventually(lambda: made.tool.calls, "a sample")
    thread = logger._thread
    assert tracker.stop()
    thread.join(DEADLINE_SECONDS)
    assert not thread.is_alive()
    logger.stop()
    logger.stop()  # stopping again changes nothing


def test_logger_survives_a_tracker_that_is_killed(made):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with spoor.Tracker(gpus="none") as tracker, made(tracker):
            eventually(lambda: made.tool.calls, "a sample")
            os.kill(tracker._agent.ready["pid"], 9)
    assert not tracker.result
    assert [str(warning.message) for warning in seen] == ["tracking has stopped: the tracker ended unexpectedly"]


@pytest.mark.parametrize("action", ["always", "error"])
def test_exception_of_the_tool_does_not_affect_the_program(made, action, capsys):
    made.tool.failure = ConnectionError("no route to host")
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter(action)
        with spoor.Tracker(gpus="none") as tracker, made(tracker):
            eventually(lambda: made.tool.calls >= 3, "3 calls")
            made.tool.failure = None
            eventually(lambda: made.tool.samples, "a sample")
    assert tracker.result
    if action == "always":
        assert [(warning.category, str(warning.message)) for warning in seen] == [
            (RuntimeWarning, "a sample was not logged: ConnectionError: no route to host")]


def test_hanging_tool_does_not_delay_the_program(made, monkeypatch):
    monkeypatch.setattr(_logger, "_STOP_SECONDS", 0.01)
    release, is_in_call = threading.Event(), threading.Event()

    def hang(sample):
        is_in_call.set()
        release.wait(DEADLINE_SECONDS)
    monkeypatch.setattr(made.tool, "add", hang)
    with spoor.Tracker(gpus="none") as tracker, made(tracker) as logger:
        thread = logger._thread
        assert is_in_call.wait(DEADLINE_SECONDS)
    assert tracker.result and thread.is_alive() and thread.daemon
    release.set()


def test_logger_belongs_to_the_process_that_started_it(made):
    """A forked child has no logging thread; the parent's logger continues."""
    with spoor.Tracker(gpus="none") as tracker, made(tracker) as logger:
        eventually(lambda: made.tool.calls, "a sample")
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                logger.stop()
                try:
                    logger.start()
                except spoor.Error:
                    status = 0
            finally:
                os._exit(status)
        assert os.waitpid(pid, 0) == (pid, 0)
        calls = made.tool.calls
        eventually(lambda: made.tool.calls > calls, "another sample")


def test_running_logger_cannot_be_started_again(made):
    with spoor.Tracker(gpus="none") as tracker:
        logger = made(tracker, interval=3600)
        with logger:
            with pytest.raises(spoor.Error, match="the logger is already running"):
                logger.start()
        calls = made.tool.calls
        assert calls
        with logger:  # starts the logger again
            pass
        assert made.tool.calls == 2 * calls


GPU_PROGRAM = """
    import sys
    sys.path.insert(0, {tests!r})
    import spoor
    from test_integrations import *
    os.environ["SPOOR_NVML_SCRIPT"] = sys.argv[1]  # conftest.py has removed such variables
    mlflow = sys.modules["mlflow"] = types.ModuleType("mlflow")
    mlflow.entities = types.SimpleNamespace(Metric=MlflowMetric)
    tools = [WandbRun(), MlflowClient(), Writer(), AimRun()]
    with spoor.Tracker() as tracker:
        eventually(lambda: tracker.snapshot().gpus and tracker.snapshot().gpus[1]["utilization"] is not None, "GPUs")
        for logger in (WandbLogger(tracker, tools[0]), MlflowLogger(tracker, "run-1", client=tools[1]),
                       TensorBoardLogger(tracker, tools[2]), AimLogger(tracker, tools[3])):
            with logger:
                pass
    for tool in tools:
        print(sorted((name, value) for sample in tool.samples for name, value in sample.items() if "gpu" in name))
"""


def test_values_of_each_gpu_are_logged(script, tmp_path):
    """A stand-in for NVIDIA's library simulates two GPUs; the second one uses 30 of 150 GB and
    is busy for 90 % of the time."""
    played = tmp_path / "script"
    played.write_text("".join(
        f"device {i} uuid GPU-{i}000-aaaa\ndevice {i} name NVIDIA H200\ndevice {i} pci 0:{59 + i}:0\n"
        f"device {i} total 150000000000\ndevice {i} used {used}\ndevice {i} minor {i}\nstream {i} gpu 200 {busy}\n"
        for i, used, busy in ((0, 15 * 10**9, 0), (1, 30 * 10**9, 90))))
    out = script(GPU_PROGRAM.format(tests=str(TOP / "tests/python")), played, env={
        **os.environ, "LD_LIBRARY_PATH": str(BINARY.parent / "tests/gpu/standin/full")})
    wandb, mlflow, tensorboard, aim = (dict(eval(line)) for line in out.splitlines())
    assert wandb["system/gpu.1.gpu"] == pytest.approx(90) and wandb["system/gpu.0.gpu"] == 0
    assert wandb["system/gpu.1.memoryAllocated"] == pytest.approx(20)
    assert wandb["system/gpu.1.memoryAllocatedBytes"] == 30e9
    assert mlflow["system/gpu_1_utilization_percentage"] == pytest.approx(90)
    assert mlflow["system/gpu_0_memory_usage_megabytes"] == pytest.approx(15000)
    assert mlflow["system/gpu_0_memory_usage_percentage"] == pytest.approx(10)
    assert tensorboard["gpu1/utilization_percent"] == pytest.approx(90) and tensorboard["gpu0/memory_bytes"] == 15e9
    assert aim["__system__gpu[1]"] == pytest.approx(90) and aim["__system__gpu_memory_percent[0]"] == pytest.approx(10)


def test_documented_examples_work(modules, monkeypatch):
    """Runs each example, with a training that ends once a sample was logged."""
    section = (TOP / "docs/PYTHON.md").read_text("utf-8").partition("\n## W&B, MLflow")[2].partition("\n## ")[0]
    examples = re.findall(r"^```python\n(.*?)^```$", section, re.M | re.S)
    assert len(examples) == 4
    writer, run = Writer(), AimRun()
    torch = types.ModuleType("torch.utils.tensorboard")
    torch.SummaryWriter = lambda folder: writer
    for name in ("torch", "torch.utils", "torch.utils.tensorboard"):
        monkeypatch.setitem(sys.modules, name, torch)
    modules.aim.Run = lambda system_tracking_interval: run
    modules.mlflow.start_run = lambda: contextlib.nullcontext()
    modules.wandb.init = lambda project: contextlib.nullcontext(modules.wandb.run)
    for example, tool in zip(examples, (modules.wandb.run, modules.client, writer, run)):
        assert not tool.samples
        exec(example, {"train": lambda: None})
        assert tool.samples
