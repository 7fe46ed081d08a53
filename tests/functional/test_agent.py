# SPDX-License-Identifier: Apache-2.0
"""A tracker that a program controls by requests: agent protocol 2."""
import json
import os
import pathlib
import resource
import signal

import pytest

import schema
from conftest import eventually, load, read_line, state_of


class Agent:
    def __init__(self, spoor, *arguments):
        self.process = spoor.start("agent", *arguments)
        self.last_id = 0

    def write(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def answer(self):
        return json.loads(read_line(self.process.stdout))

    def ask(self, op, *arguments):
        """Returns the answer to a request, without its id."""
        self.last_id += 1
        request = {"id": self.last_id, "op": op, "arguments": arguments}
        self.write(json.dumps(request).encode() + b"\n")
        answer = self.answer()
        assert answer.pop("id") == self.last_id
        return answer

    def end(self):
        """Closes the agent's input and returns its remaining output. The exit code must be 0."""
        self.process.stdin.close()
        rest = self.process.stdout.read()
        assert self.process.wait() == 0
        return rest


DONE = {"event": "done"}


def ready(spoor, *arguments):
    agent = Agent(spoor, *arguments)
    assert agent.answer() == {"event": "ready", "protocol": 2, "pid": agent.process.pid}
    return agent


@pytest.mark.threads
def test_agent_answers_every_request(spoor, held):
    agent = ready(spoor, "--pid", str(held.pid), "-i", "0.02", "--name", "n", "--tag", "a=b")
    assert agent.ask("phase-start", "load data") == DONE
    assert agent.ask("sample") == DONE
    assert agent.ask("phase-stop", "load data") == DONE
    snapshot = agent.ask("snapshot")
    metrics = snapshot["metrics"]
    assert metrics["main_rss_bytes"] == pytest.approx(50 << 20, rel=0.05)
    result = agent.ask("stop")
    assert result["event"] == "done"
    assert len(snapshot["gpus"]) == result["report"]["gpu"]["count"]
    used_ns = int(pathlib.Path(f"/proc/{held.pid}/schedstat").read_text().split()[0])
    assert metrics["job_cpu_seconds"] == pytest.approx(used_ns / 1e9, abs=0.01)
    schema.check(result["report"])
    assert result["report"]["run"]["name"] == "n"
    assert result["report"]["run"]["tags"] == {"a": "b"}
    assert [phase["name"] for phase in result["report"]["phases"]] == ["load data"]
    again = agent.ask("stop")["report"]  # for a program that lost the first answer
    assert [again[key] for key in ("run", "phases")] == \
        [result["report"][key] for key in ("run", "phases")]
    assert agent.ask("sample")["code"] == "EINVAL"
    assert agent.end() == b""


def test_answers_are_in_the_order_of_the_requests_and_carry_their_ids(spoor, held):
    """A program may send several requests without waiting for answers."""
    agent = ready(spoor, "--pid", str(held.pid))
    agent.write(b'{"op":"sample","id":7}\n\n{"id":3,"op":"dance"}\n{"id":0,"op":"sample"}\n'
                b'{"id":9223372036854775807,"op":"sample"}\n')
    answers = [agent.answer() for _ in range(4)]
    assert [(answer["id"], answer["event"]) for answer in answers] == [
        (7, "done"), (3, "error"), (0, "done"), (9223372036854775807, "done")]
    assert agent.end() == b""


def test_requested_sample_adds_a_row(spoor, held):
    samples = spoor.new_path("s.csv")
    agent = ready(spoor, "--pid", str(held.pid), "-i", "1h", "--samples", samples)
    for _ in range(3):
        assert agent.ask("sample") == DONE
    agent.end()
    assert samples.read_bytes().count(b"\n") == 6  # a header, and the samples, first and last included


@pytest.mark.parametrize("op, arguments, message", [
    ("phase-stop", ["x"], "phase 'x' is not open"),
    ("phase-start", [""], "a phase name must have 1 to"),
    ("phase-start", ["x" * 1000], "a phase name must have 1 to"),
    ("phase-start", [], "operation 'phase-start': wrong number of arguments"),
    ("phase-start", ["x", "y"], "operation 'phase-start': wrong number of arguments"),
    ("stop", ["now"], "operation 'stop': wrong number of arguments"),
    ("dance", [], "unknown operation 'dance'"),
    ("", [], "unknown operation ''"),
    ("s\nt", [], "unknown operation 's"),
])
def test_agent_reports_errors_and_continues(spoor, held, op, arguments, message):
    agent = ready(spoor, "--pid", str(held.pid))
    answer = agent.ask(op, *arguments)
    assert (answer["event"], answer["code"]) == ("error", "EINVAL")
    assert message in answer["message"]
    assert agent.ask("sample") == DONE
    assert agent.end() == b""


@pytest.mark.parametrize("line, message", [
    (b"sample", "invalid request: "),
    (b"[]", "invalid request: expected a JSON object"),
    (b"{}", "invalid request: 'id' must be a whole number"),
    (b'{"id":-1,"op":"sample"}', "invalid request: 'id' must be a whole number"),
    (b'{"id":"1","op":"sample"}', "invalid request: 'id' must be a whole number"),
    (b'{"id":1,"op":"sample"', "invalid request: "),
    (b'{"id":1,"op":"sample"} x', "invalid request: "),
    (b'{"id":1,"op":"sample"}\0', "invalid request: "),
    (b'{"id":1,"op":"sample"}\0{"id":2,"op":"sample"}', "invalid request: "),
    (b'\0{"id":1,"op":"sample"}', "invalid request: "),
    (b'{"id":1,"op":"phase-start","arguments":["a\0b"]}', "invalid request: "),
    (b'{"id":1,"op":"phase-start","arguments":["a\\u0000b"]}', "invalid request: "),
    (b'{"id":1,"op":"phase-start","arguments":["\xff"]}', "invalid request: "),
    pytest.param(b"x" * 2 ** 20, "invalid request: ", id="long"),
    pytest.param(b"x" * (2 ** 20 + 1), "invalid request: the line is too long", id="too long"),
    pytest.param(b"x" * 5 * 2 ** 20, "invalid request: the line is too long", id="much too long"),
    pytest.param(b"[" * 10000, "invalid request: ", id="deep"),
])
def test_line_that_is_not_a_request_gets_one_answer_without_an_id(spoor, held, line, message):
    agent = ready(spoor, "--pid", str(held.pid))
    agent.write(line + b"\n")
    answer = agent.answer()
    assert (answer["id"], answer["event"], answer["code"]) == (None, "error", "EINVAL")
    assert message in answer["message"]
    assert agent.ask("sample") == DONE
    assert agent.end() == b""


@pytest.mark.parametrize("line, message", [
    (b'{"id":1}', "invalid request: 'op' must be a string"),
    (b'{"id":1,"op":2}', "invalid request: 'op' must be a string"),
    (b'{"id":1,"op":"phase-start","arguments":"x"}', "must be a list of strings"),
    (b'{"id":1,"op":"phase-start","arguments":[1]}', "must be a list of strings"),
    (b'{"id":1,"op":"phase-start","arguments":[null]}', "must be a list of strings"),
])
def test_answer_to_an_invalid_request_carries_its_id(spoor, held, line, message):
    agent = ready(spoor, "--pid", str(held.pid))
    agent.write(line + b"\n")
    answer = agent.answer()
    assert (answer["id"], answer["event"], answer["code"]) == (1, "error", "EINVAL")
    assert message in answer["message"]
    assert agent.end() == b""


@pytest.mark.parametrize("has_ended", [False, True])
def test_agent_waits_for_nonblocking_input(spoor, held, has_ended):
    read_fd, write_fd = os.pipe()
    os.set_blocking(read_fd, False)
    path = spoor.new_path("r.json")
    process = spoor.start("agent", "--pid", str(held.pid), "-i", "1h", "-o", path, stdin=read_fd)
    os.close(read_fd)
    assert json.loads(read_line(process.stdout))["event"] == "ready"
    if has_ended:
        held.stdin.close()
        held.wait()
        eventually(path.exists, "the report")
    eventually(lambda: state_of(process.pid) == "S", "the main thread to sleep")
    os.write(write_fd, b'{"id":1,"op":"stop"}\n')
    assert json.loads(read_line(process.stdout))["id"] == 1
    os.close(write_fd)
    assert process.wait() == 0


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
def test_agent_refuses_invalid_arguments(spoor, arguments, code, message):
    done = spoor("agent", *arguments)
    assert done.returncode == 125 and done.stderr == ""
    answer = json.loads(done.stdout)
    assert (answer["id"], answer["event"], answer["code"]) == (None, "error", code) and message in answer["message"]


def test_end_of_input_ends_the_agent_after_it_writes_its_files(spoor, held):
    path, samples = spoor.new_path("r.json"), spoor.new_path("s.csv")
    agent = ready(spoor, "--pid", str(held.pid), "-i", "1h", "-o", path, "--samples", samples)
    agent.process.stdin.close()
    assert agent.process.wait() == 0
    assert load(path)["run"]["pid"] == held.pid
    assert samples.read_bytes().count(b"\n") == 3  # a header, the first and the last sample
    assert held.poll() is None


def test_end_of_input_ends_an_agent_with_unread_answers(spoor, held):
    path = spoor.new_path("r.json")
    agent = ready(spoor, "--pid", str(held.pid), "-i", "1h", "-o", path)
    agent.write(b'{"id": 1, "op": "snapshot"}\n' * 100)  # more answers than fit into a pipe
    agent.process.stdin.close()
    assert agent.process.wait(timeout=60) == 0
    assert load(path)["run"]["pid"] == held.pid


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_agent_survives_signals(spoor, held, number):
    agent = ready(spoor, "--pid", str(held.pid))
    agent.process.send_signal(number)
    assert agent.ask("sample") == DONE
    assert agent.ask("stop")["event"] == "done"
    agent.end()


def test_files_and_result_are_available_after_the_process_has_ended(spoor, held):
    path = spoor.new_path("r.json")
    agent = ready(spoor, "--pid", str(held.pid), "-o", path)
    held.stdin.close()
    held.wait()
    eventually(path.exists, "the report")
    assert agent.ask("sample")["event"] == "error"
    assert agent.ask("snapshot")["metrics"]
    assert agent.ask("stop")["report"]["run"] == load(path)["run"]
    agent.end()


def test_an_unwritable_report_is_a_warning(spoor, held, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    agent = ready(spoor, "--pid", str(held.pid), "-o", folder / "r.json")
    folder.rmdir()
    messages = [warning["message"] for warning in agent.ask("stop")["report"]["warnings"]
                if warning["code"] == "output"]
    assert len(messages) == 1 and "cannot write '" in messages[0]


def test_agent_ignores_spoor_variables(spoor, held, tmp_path):
    environment = {**os.environ, "SPOOR_OUTPUT": str(tmp_path / "x.json"), "SPOOR_NAME": "n"}
    process = spoor.start("agent", "--pid", str(held.pid), env=environment)
    read_line(process.stdout)
    process.stdin.close()
    assert process.wait() == 0 and not (tmp_path / "x.json").exists()


def test_agent_command_is_hidden_but_has_help(spoor):
    assert "agent" not in spoor("--help").stdout
    assert "spoor agent" in spoor("agent", "--help").stdout
    assert "standard input" in spoor("help", "agent").stdout
    completion = spoor("--complete", "").stdout
    assert "attach" in completion and "agent" not in completion


def test_agent_that_cannot_wait_for_the_process_still_answers(spoor, held):
    """poll() fails if it is given more descriptors than the descriptor limit allows."""
    agent = ready(spoor, "--pid", str(held.pid), "-i", "1h")
    limits = resource.prlimit(agent.process.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(agent.process.pid, resource.RLIMIT_NOFILE, (2, limits[1]))
    for _ in range(2):  # polling fails after the first request at the latest
        assert agent.ask("snapshot")["event"] == "done"
    resource.prlimit(agent.process.pid, resource.RLIMIT_NOFILE, limits)
    assert agent.ask("stop")["report"]["run"]["still_running"]
    assert agent.end() == b""
