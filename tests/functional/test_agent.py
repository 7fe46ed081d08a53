# SPDX-License-Identifier: Apache-2.0
"""A tracker that a program steers by lines."""
import json
import os
import signal

import pytest

import schema
from conftest import eventually, load, read_line


class Agent:
    def __init__(self, spoor, *arguments):
        self.process = spoor.start("agent", *arguments)

    def tell(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def answer(self):
        return json.loads(read_line(self.process.stdout))

    def ask(self, line):
        self.tell(line)
        return self.answer()


def ready(spoor, *arguments):
    agent = Agent(spoor, *arguments)
    assert agent.answer() == {"event": "ready", "pid": agent.process.pid}
    return agent


@pytest.mark.threads
def test_agent_answers_every_line(spoor, held):
    agent = ready(spoor, "--pid", str(held.pid), "-i", "0.02", "--name", "n", "--tag", "a=b")
    assert agent.ask("phase-start load data") == {"event": "done"}
    assert agent.ask("sample") == {"event": "done"}
    assert agent.ask("phase-stop load data") == {"event": "done"}
    metrics = agent.ask("snapshot")["metrics"]
    assert metrics["main_rss_bytes"] == pytest.approx(50 << 20, rel=0.05)
    assert "job_cpu_seconds" in metrics
    result = agent.ask("stop")
    assert agent.process.wait() == 0 and agent.process.stdout.read() == b""
    assert result["event"] == "result"
    schema.check(result["report"])
    assert result["report"]["run"]["name"] == "n"
    assert result["report"]["run"]["tags"] == {"a": "b"}
    assert [phase["name"] for phase in result["report"]["phases"]] == ["load data"]


@pytest.mark.parametrize("line, message", [
    ("phase-stop x", "phase 'x' is not open"),
    ("phase-start ", "a phase name must have 1 to"),
    ("dance", "unknown command 'dance'"),
    ("stop now", "unknown command 'stop now'"),
    ("phase-start", "unknown command 'phase-start'"),
    ("", "unknown command ''"),
    ("phase-start \udcff", "a phase name"),
    pytest.param("x" * 5000, "the line is too long", id="long"),
    pytest.param("x" * 50000, "the line is too long", id="longer"),
])
def test_agent_says_what_it_cannot_do_and_goes_on(spoor, held, line, message):
    agent = ready(spoor, "--pid", str(held.pid))
    if "\udcff" in line:
        agent.process.stdin.write(b"phase-stop \xff\n")
        agent.process.stdin.flush()
        assert agent.answer() == {"event": "error", "code": "EINVAL",
                                  "message": "phase '\ufffd' is not open"}
    else:
        answer = agent.ask(line)
        assert (answer["event"], answer["code"]) == ("error", "EINVAL")
        assert message in answer["message"]
    assert agent.ask("stop")["event"] == "result"  # a line has one answer, however long it is
    assert agent.process.wait() == 0


@pytest.mark.parametrize("arguments, code, message", [
    ((), "EINVAL", "missing PID: spoor agent --pid PID"),
    (("--pid", "x"), "EINVAL", "--pid: invalid process ID 'x'"),
    (("--pid", str(2 ** 22 + 1)), "ESRCH", "no such process"),
    (("--pid", "1", "word"), "EINVAL", "unexpected argument 'word'"),
    (("--pid", "1", "--duration", "1"), "EINVAL", "--duration"),
    (("--pid", str(os.getpid()), "-o", "/nowhere/x.json"), "ENOENT",
     "directory '/nowhere' does not exist"),
    (("--pid", str(os.getpid()), "--samples", "/nowhere/x.csv"), "ENOENT", "does not exist"),
    (("--pid", str(os.getpid()), "--no-clobber", "-o", __file__), "EEXIST", "exists"),
])
def test_agent_refuses(spoor, arguments, code, message):
    done = spoor("agent", *arguments)
    assert done.returncode == 125 and done.stderr == ""
    answer = json.loads(done.stdout)
    assert (answer["event"], answer["code"]) == ("error", code) and message in answer["message"]


def test_end_of_input_ends_the_agent_with_its_files(spoor, held):
    path, samples = spoor.new_path("r.json"), spoor.new_path("s.csv")
    agent = ready(spoor, "--pid", str(held.pid), "-i", "1h", "-o", path, "--samples", samples)
    agent.process.stdin.close()
    assert agent.process.wait() == 0
    assert load(path)["run"]["pid"] == held.pid
    assert samples.read_bytes().count(b"\n") == 3  # a header, the first sample and the last
    assert held.poll() is None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_do_not_end_the_agent(spoor, held, number):
    agent = ready(spoor, "--pid", str(held.pid))
    agent.process.send_signal(number)
    assert agent.ask("sample") == {"event": "done"}
    assert agent.ask("stop")["event"] == "result"
    assert agent.process.wait() == 0


def test_files_are_there_when_the_process_has_ended_and_the_result_too(spoor, held):
    path = spoor.new_path("r.json")
    agent = ready(spoor, "--pid", str(held.pid), "-o", path)
    held.stdin.close()
    held.wait()
    eventually(path.exists, "the report")
    assert agent.ask("sample")["event"] == "error"
    assert agent.ask("snapshot")["event"] == "snapshot"
    assert agent.ask("stop")["report"]["run"] == load(path)["run"]
    assert agent.process.wait() == 0


def test_a_report_that_cannot_be_written_is_a_warning(spoor, held, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    agent = ready(spoor, "--pid", str(held.pid), "-o", folder / "r.json")
    folder.rmdir()
    messages = [warning["message"] for warning in agent.ask("stop")["report"]["warnings"]
                if warning["code"] == "output"]
    assert len(messages) == 1 and "cannot write '" in messages[0]


def test_variables_are_not_for_agents(spoor, held, tmp_path):
    environment = {**os.environ, "SPOOR_OUTPUT": str(tmp_path / "x.json"), "SPOOR_NAME": "n"}
    process = spoor.start("agent", "--pid", str(held.pid), env=environment)
    read_line(process.stdout)
    process.stdin.close()
    assert process.wait() == 0 and not (tmp_path / "x.json").exists()


def test_agent_is_not_in_the_list_of_commands_but_has_a_help(spoor):
    assert "agent" not in spoor("--help").stdout
    assert "spoor agent" in spoor("agent", "--help").stdout
    assert "standard input" in spoor("help", "agent").stdout
    completion = spoor("--completion", "spoor").stdout
    assert "attach" in completion and "agent" not in completion
