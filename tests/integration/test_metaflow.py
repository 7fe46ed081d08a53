# SPDX-License-Identifier: Apache-2.0
"""@track_resources in flows that the real Metaflow runs."""
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import textwrap

import pytest
from conftest import DEADLINE_SECONDS, PACKAGES, TOP

# A clone of Metaflow's source code, since Debian does not package it.
SOURCE = pathlib.Path(os.environ.get("METAFLOW_SOURCE", TOP / "build/metaflow"))
HAS_METAFLOW = (SOURCE / "metaflow/__init__.py").exists() and importlib.util.find_spec("requests")
pytestmark = pytest.mark.skipif(not HAS_METAFLOW, reason=f"there is no Metaflow in {SOURCE}, or python3-requests is missing")

# The flow in the README of resource-tracker, with less sleep.
README_FLOW = """
    from time import sleep
    from metaflow import Flow, FlowSpec, step, track_resources

    class ResourceTrackingFlow(FlowSpec):
        @step
        def start(self):
            print("Starting step")
            self.next(self.my_sleeping_data)

        @track_resources
        @step
        def my_sleeping_data(self):
            data = bytearray(500 * 1024 * 1024)  # 500MB
            sleep(0.1)
            self.next(self.end)

        @step
        def end(self):
            print("Step finished")
            pass

    if __name__ == "__main__":
        ResourceTrackingFlow()
"""

FLOW = """
    from metaflow import FlowSpec, Parameter, card, current, step, track_resources
    from metaflow.cards import Markdown

    class TestFlow(FlowSpec):
        fails = Parameter("fails", type=bool, default=False)

        @step
        def start(self):
            self.sizes = [10, 60, 20]
            self.next(self.work, foreach="sizes")

        @track_resources(interval=0.1, artifact_name="used")
        @card(type="blank", id="mine")
        @step
        def work(self):
            current.card["mine"].append(Markdown("my card"))
            held = bytearray(self.input * 1024 * 1024)
            self.size = len(held)
            self.next(self.join)

        @step
        def join(self, inputs):
            self.merge_artifacts(inputs, exclude=["size"])
            self.next(self.last)

        @card(type="blank", id="also_mine")
        @track_resources
        @step
        def last(self):
            if self.fails:
                raise ValueError("as told")
            self.next(self.end)

        @step
        def end(self):
            pass

    if __name__ == "__main__":
        TestFlow()
"""


@pytest.fixture
def flow(tmp_path):
    """flow(text, *arguments) runs a command of a flow and returns its output."""
    environment = {**os.environ, "PYTHONPATH": f"{PACKAGES}:{SOURCE}", "METAFLOW_USER": "tester",
                   "METAFLOW_HOME": str(tmp_path / "home"), "METAFLOW_DEFAULT_METADATA": "local",
                   "METAFLOW_DEFAULT_DATASTORE": "local", "USERNAME": "tester"}

    def run(text, *arguments, status=0):
        path = tmp_path / "flow.py"
        path.write_text(textwrap.dedent(text))
        done = subprocess.run([sys.executable, path, *arguments], cwd=tmp_path, env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=DEADLINE_SECONDS, check=False)
        assert done.returncode == status, done.stdout
        return done.stdout

    def ask(expression):
        """Returns the value of an expression evaluated with Metaflow's client, passed as JSON."""
        program = f"import json\nfrom metaflow import Flow, Step\nprint(json.dumps({expression}))"
        done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=environment,
                              stdout=subprocess.PIPE, text=True, timeout=DEADLINE_SECONDS, check=True)
        return json.loads(done.stdout)

    run.ask = ask
    run.folder = tmp_path
    return run


def get_card(flow, text, step, card_id=None):
    flow(text, "--quiet", "card", "get", step, "card.html",
         *([] if card_id is None else ["--id", card_id]))
    return (flow.folder / "card.html").read_text(encoding="utf-8")


def test_installed_metaflow_version_is_the_documented_one():
    version = re.search(r'"(.+)"', (SOURCE / "metaflow/version.py").read_text("utf-8"))[1]
    series = re.search(r"^Tested with Metaflow (\d+\.\d+) ", (TOP / "docs/PYTHON.md").read_text("utf-8"), re.M)[1]
    assert version.startswith(f"{series}.")


def test_flow_of_the_readme_is_tracked(flow):
    flow(README_FLOW, "run")
    data = "Flow('ResourceTrackingFlow').latest_run.data.resource_tracker_data"
    assert flow.ask(f"list({data})") == [
        "step_failed", "tracker", "process_metrics", "system_metrics", "cloud_info", "server_info",
        "stats", "historical_stats"]
    assert flow.ask(f"{data}['process_metrics'].columns")[:3] == ["timestamp", "pid", "children"]
    peak = flow.ask(f"{data}['tracker']['run_totals']['memory.main.total_rss_bytes']['value']")
    assert 500 * 1024 * 1024 < peak < 700 * 1024 * 1024
    assert flow.ask(f"{data}['historical_stats']") == []
    card = get_card(flow, README_FLOW, "my_sleeping_data")
    assert "ResourceTrackingFlow/" in card and "/my_sleeping_data/" in card
    assert "There is no report" not in card


def test_flow_with_a_foreach_tracks_every_task(flow):
    for _ in range(2):
        flow(FLOW, "run")
    work = "Flow('TestFlow').latest_run['work']"
    rows = flow.ask(f"sorted((task['size'].data, task['used'].data['tracker']['metadata']['interval'],"
                    f" len(task['used'].data['historical_stats'])) for task in {work})")
    assert rows == [[size << 20, 0.1, 1] for size in (10, 20, 60)]
    peaks = flow.ask(f"[task['used'].data['tracker']['run_totals']"
                     f"['memory.main.total_rss_bytes']['value'] for task in {work}]")
    past = flow.ask(f"[task['used'].data['historical_stats'][0]['run_totals']"
                    f"['memory.main.total_rss_bytes'] for task in {work}]")
    assert max(peaks) > min(peaks) + (40 << 20) and min(past) > min(peaks) + (30 << 20)
    assert flow.ask("hasattr(Flow('TestFlow').latest_run['join'].task.data, 'used')") is False
    cards = flow.ask("[len([*__import__('metaflow').cards.get_cards(task)])"
                     " for step in ('work', 'last') for task in Flow('TestFlow').latest_run[step]]")
    assert cards == [2] * 4


def test_failed_flow_has_a_card(flow):
    flow(FLOW, "run", "--fails", "True", status=1)
    last = "Flow('TestFlow').latest_run['last'].task"
    assert flow.ask(f"{last}['resource_tracker_data'].data['step_failed']") is True
    card = get_card(flow, FLOW, "last", "resource_tracker_last")
    assert "There is no report" not in card


@pytest.mark.parametrize("word, reason", [
    ("interval=0", "invalid interval 0: expected a positive number of seconds"),
    ("interval=x", "invalid interval 'x': expected"),
    ("artifact_name=a-b", "invalid artifact_name 'a-b': expected an identifier")])
def test_flow_with_wrong_attributes_is_refused_at_once(flow, word, reason):
    text = README_FLOW.replace("@track_resources\n", "\n")
    output = flow(text, "run", "--with", f"track_resources:{word}", status=1)
    assert f"@track_resources: {reason}" in output and "Task is starting" not in output


def test_flow_continues_if_its_tracker_cannot_start(flow):
    text = README_FLOW.replace("@track_resources\n", "@track_resources(dialect='none')\n")
    output = flow(text, "run")
    assert "the resources of this step are not known: unknown dialect 'none'" in output
    assert "There is no report of this task: unknown dialect" in get_card(flow, text,
                                                                          "my_sleeping_data")


def test_flow_can_be_tracked_without_a_card(flow):
    text = README_FLOW.replace("@track_resources\n", "\n")
    flow(text, "run", "--with", "track_resources:create_card=False")
    steps = "Flow('ResourceTrackingFlow').latest_run"
    assert not list(flow.folder.rglob("*.html"))
    assert flow.ask(f"all(step.task['resource_tracker_data'].data['tracker'] for step in {steps})")


def test_flow_ships_the_packages_to_other_machines(flow):
    output = flow(README_FLOW, "package", "list")
    for name in ("resource_tracker/_metaflow.py", "spoor/_agent.py", "track_resources_decorator.py"):
        assert f"/{name}\n" in output
