# SPDX-License-Identifier: Apache-2.0
"""The bytes of a job's TCP connections, compared with the counts of a server in this process.

Connections stay open until the samples show them, so that spoor sees each one even on a busy
machine.
"""
import contextlib
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading

import pytest

from conftest import IS_FULL, eventually, rows_of

# Whether nothing else uses the network namespace: see the last test.
IS_ALONE = "SPOOR_TEST_ALONE" in os.environ
# These jobs hardly run, and with AddressSanitizer or a slow machine each look costs several times as much: at the default
# budget, a connection may not be looked for within a minute.
BUDGET = ("--budget", "none" if IS_ALONE else "50")
COUNTS = ("received_bytes", "sent_bytes", "loopback_received_bytes", "loopback_sent_bytes")

# Requests a response of N bytes with a request of M bytes: sends N, M, then the rest of the M
# bytes.
CLIENT = """
import os, socket, struct, sys, time
def connect(port, host):
    return socket.create_connection((host, port))
def ask(c, wanted, size):
    c.sendall(struct.pack("!II", wanted, size) + bytes(size - 8))
def take(c, wanted):
    while wanted > 0:
        data = c.recv(min(wanted, 1 << 20))
        assert data
        wanted -= len(data)
"""


class Server:
    """A server that answers requests once they are released, and counts the bytes that it sends
    and receives."""

    def __init__(self, host):
        self.listener = socket.create_server((host, 0), backlog=1024,
                                             family=socket.AF_INET6 if ":" in host else socket.AF_INET)
        self.port = self.listener.getsockname()[1]
        self.released = threading.Event()
        self.lock = threading.Lock()
        self.received = self.sent = self.open = 0
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                with self.lock:
                    self.open += 1
                threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def count(self, received, sent):
        with self.lock:
            self.received += received
            self.sent += sent

    def serve(self, connection):
        received = 0
        with connection, contextlib.suppress(OSError):
            head = connection.recv(8, socket.MSG_WAITALL)
            received = len(head)
            wanted, size = struct.unpack("!II", head)
            while received < size:
                received += len(connection.recv(1 << 20))
            self.released.wait()
            connection.sendall(bytes(wanted))
            self.count(0, wanted)
            while more := connection.recv(1 << 20):  # until the client closes
                received += len(more)
        self.count(received, 0)
        with self.lock:
            self.open -= 1

    def close(self):
        self.released.set()
        eventually(lambda: self.open == 0, "all connections are closed")
        self.listener.close()


@pytest.fixture(name="server", params=["127.0.0.1"])
def fixture_server(request):
    server = Server(request.param)
    yield server
    server.close()


def await_seen(samples, count):
    """Waits until the samples contain the connections. If nothing else uses the network, the
    figures must be exact, so spoor must also have seen that the other end of each connection,
    accepted earlier, belongs to another program."""
    eventually(lambda: any((row["job_network_connections"] or 0) >= count for row in rows_of(samples)[-1:]),
               "the connections are seen")
    if IS_ALONE:
        rows = len(rows_of(samples))
        eventually(lambda: len(rows_of(samples)) >= rows + 4, "more samples are taken")


def track(spoor, tmp_path, server, code, *arguments, seen=1, status=0):
    """Runs a Python program under spoor, releases the server once this many connections were
    seen, and returns the job's network figures."""
    samples, report = tmp_path / "samples.jsonl", tmp_path / "report.json"
    if seen == 0:
        server.released.set()
    job = subprocess.Popen(
        [spoor.binary, "run", "-q", "-i", "0.05", *BUDGET, "--samples", str(samples), "-f", "json", "-o", str(report),
         "--", "/usr/bin/python3", "-c", CLIENT + code, str(server.port), *map(str, arguments)],
        stderr=subprocess.PIPE)
    if seen > 0:
        eventually(lambda: server.open >= seen, "the connections are accepted")
        await_seen(samples, seen)
        server.released.set()
    _, errors = job.communicate(timeout=60)
    assert job.returncode == status, errors.decode()
    address = server.listener.getsockname()[0]
    server.close()
    network = json.loads(report.read_text())["network"]
    check_remotes(network, address)
    return network["job"]


def check_remotes(network, address):
    """Checks that all connections have the same remote address, and that all bytes are assigned
    to this address."""
    job = network["job"]
    if job["connections"]["value"] == 0:
        assert network["remotes"] == []
        return
    assert network["remotes"] == [{"address": address, "connections": job["connections"]["value"],
                                   "received_bytes": job["loopback_received_bytes"]["value"],
                                   "sent_bytes": job["loopback_sent_bytes"]["value"]}]


def assert_within(figure, true):
    """Checks that low <= truth <= high; an exact figure must be within 1 % of the truth. There is no upper bound if
    reports of closed connections are lost, or too late, because other programs close many meanwhile."""
    if figure["exact"]:
        assert abs(figure["value"] - true) <= max(true / 100, 1), figure
        return
    assert figure["low"] == figure["value"] <= true, figure
    assert true <= figure["high"] if figure["high"] is not None else not IS_ALONE, figure


def assert_exact(figures, received, sent, ends=1):
    """Checks that the value is exact to the byte, except for the end of a connection: the kernel
    does not report whether its count of received bytes includes the end. Connections that other
    programs close meanwhile widen the bounds."""
    for name, true, missing in zip(COUNTS, (0, 0, received, sent), (0, 0, ends, 0)):
        figure = figures[name]
        assert_within(figure, true)
        assert true - missing <= figure["value"] <= true and figure["source"] == "sock_diag", figures
        assert figure["exact"] or not IS_ALONE, figures


@pytest.mark.parametrize("server", ["127.0.0.1", "::1"], indirect=True)
def test_bytes_of_a_long_connection_are_exact(spoor, tmp_path, server):
    figures = track(spoor, tmp_path, server, """
c = connect(int(sys.argv[1]), sys.argv[2])
ask(c, 20_000_000, 3_000_000)
take(c, 20_000_000)
""", server.listener.getsockname()[0])
    assert_exact(figures, 20_000_000, 3_000_000)
    assert figures["connections"]["value"] == 1


def test_connection_that_a_child_inherits_is_counted_once(spoor, tmp_path, server):
    figures = track(spoor, tmp_path, server, """
c = connect(int(sys.argv[1]), "127.0.0.1")
if os.fork() == 0:
    ask(c, 5_000_000, 1000)
    take(c, 5_000_000)
    os._exit(0)
c.close()
os.wait()
""")
    assert_exact(figures, 5_000_000, 1000)
    assert figures["connections"]["value"] == 1


def test_connection_passed_to_another_process_still_counts_for_the_job(spoor, tmp_path, server):
    figures = track(spoor, tmp_path, server, """
left, right = socket.socketpair()
if os.fork() == 0:
    c = socket.socket(fileno=socket.recv_fds(right, 1, 1)[1][0])
    ask(c, 5_000_000, 1000)
    take(c, 5_000_000)
    os._exit(0)
with connect(int(sys.argv[1]), "127.0.0.1") as c:
    socket.send_fds(left, [b"x"], [c.fileno()])
os.wait()
""")
    assert_exact(figures, 5_000_000, 1000)


def test_connection_given_to_the_job_counts_for_the_job(spoor, tmp_path, server):
    """Spoor first saw the connection while it belonged to another program."""
    samples, report, door = tmp_path / "samples.jsonl", tmp_path / "report.json", tmp_path / "door"
    with socket.socket(socket.AF_UNIX) as listener, \
            socket.create_connection(("127.0.0.1", server.port)) as given:
        listener.bind(str(door))
        listener.listen()
        job = subprocess.Popen(
            [spoor.binary, "run", "-q", "-i", "0.05", *BUDGET, "--samples", str(samples), "-f", "json",
             "-o", str(report), "--", "/usr/bin/python3", "-c", CLIENT + """
own = connect(int(sys.argv[1]), "127.0.0.1")
with socket.socket(socket.AF_UNIX) as door:
    door.connect(sys.argv[2])
    given = socket.socket(fileno=socket.recv_fds(door, 1, 1)[1][0])
for c in own, given:
    ask(c, 1_000_000, 1000)
for c in own, given:
    take(c, 1_000_000)
""", str(server.port), str(door)])
        connection, _ = listener.accept()
        await_seen(samples, 1)
        socket.send_fds(connection, [b"x"], [given.fileno()])
        connection.close()
    await_seen(samples, 2)
    server.released.set()
    assert job.wait(timeout=60) == 0
    assert_exact(json.loads(report.read_text())["network"]["job"], 2_000_000, 2000, ends=2)


def test_bytes_of_a_half_closed_connection_are_exact(spoor, tmp_path, server):
    figures = track(spoor, tmp_path, server, """
c = connect(int(sys.argv[1]), "127.0.0.1")
ask(c, 5_000_000, 1000)
c.shutdown(socket.SHUT_WR)
take(c, 5_000_000)
""")
    assert_exact(figures, 5_000_000, 1000)


def test_bytes_of_a_killed_client_are_within_the_bounds(spoor, tmp_path, server):
    figures = track(spoor, tmp_path, server, """
c = connect(int(sys.argv[1]), "127.0.0.1")
ask(c, 50_000_000, 1_000_000)
take(c, 1_000_000)
os.kill(os.getpid(), 9)
""", status=-signal.SIGKILL)
    assert_within(figures["loopback_sent_bytes"], 1_000_000)
    assert figures["loopback_received_bytes"]["value"] >= 1_000_000


def test_bytes_of_short_connections_are_within_the_bounds(spoor, tmp_path, server):
    count = 10_000 if IS_FULL else 1000
    figures = track(spoor, tmp_path, server, """
from concurrent.futures import ThreadPoolExecutor
def one(_):
    with connect(int(sys.argv[1]), "127.0.0.1") as c:
        ask(c, 10_000, 100)
        take(c, 10_000)
with ThreadPoolExecutor(4) as pool:
    list(pool.map(one, range(int(sys.argv[2]))))
""", count, seen=0)
    assert_within(figures["loopback_received_bytes"], count * 10_000)
    assert_within(figures["loopback_sent_bytes"], count * 100)


def test_bytes_of_a_server_equal_those_of_its_clients(spoor, tmp_path):
    """The job accepts connections; its clients are foreign."""
    samples, report = tmp_path / "samples.jsonl", tmp_path / "report.json"
    job = subprocess.Popen(
        [spoor.binary, "run", "-q", "-i", "0.05", *BUDGET, "--samples", str(samples), "-f", "json", "-o", str(report),
         "--", "/usr/bin/python3", "-c", """
import socket
with socket.create_server(("127.0.0.1", 0)) as listener:
    print(listener.getsockname()[1], flush=True)
    c, _ = listener.accept()
    got = 0
    while data := c.recv(1 << 20):
        got += len(data)
    c.sendall(bytes(1000))
"""], stdout=subprocess.PIPE)
    with socket.create_connection(("127.0.0.1", int(job.stdout.readline()))) as client:
        await_seen(samples, 1)
        client.sendall(bytes(2_000_000))
        client.shutdown(socket.SHUT_WR)
        while client.recv(4096):
            pass
    job.communicate(timeout=60)
    assert_exact(json.loads(report.read_text())["network"]["job"], 2_000_000, 1000)


def test_network_bytes_of_an_attached_job_count_from_the_attach(spoor, tmp_path, server):
    report, samples = tmp_path / "report.json", tmp_path / "samples.jsonl"
    client = subprocess.Popen([sys.executable, "-c", CLIENT + """
c = connect(int(sys.argv[1]), "127.0.0.1")
ask(c, 1_000_000, 500_000)
print("ready", flush=True)
take(c, 1_000_000)
""", str(server.port)], stdout=subprocess.PIPE)
    client.stdout.readline()
    eventually(lambda: server.open == 1, "the request has arrived")
    tracker = subprocess.Popen([spoor.binary, "attach", "-q", "-i", "0.05", "--samples", str(samples), "-f", "json",
                                "-o", str(report), str(client.pid)])
    eventually(lambda: any(row["job_network_connections"] == 1 for row in rows_of(samples)[-1:]), "the connection is seen")
    server.released.set()
    client.communicate(timeout=60)
    tracker.wait(timeout=60)
    figures = json.loads(report.read_text())["network"]["job"]
    assert_within(figures["loopback_received_bytes"], 1_000_000)
    assert figures["loopback_received_bytes"]["value"] >= 999_999
    assert figures["loopback_sent_bytes"]["value"] < 500_000


def test_report_of_a_job_without_sockets_has_no_network_line(spoor):
    done = subprocess.run([spoor.binary, "run", "--", "true"], capture_output=True, text=True, check=True, timeout=60)
    assert "TCP" not in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")
def test_traffic_in_a_network_namespace_of_the_job_is_counted(spoor, tmp_path):
    """The interface also counts headers: 66 bytes for each 64 KiB, and for each acknowledgement."""
    samples, report = tmp_path / "samples.jsonl", tmp_path / "report.json"
    job = subprocess.Popen(
        [spoor.binary, "run", "-q", "-i", "0.05", *BUDGET, "--samples", str(samples), "-f", "json", "-o", str(report), "--",
         "unshare", "-n", "sh", "-c", 'ip link set lo up && exec /usr/bin/python3 -c "$1"', "sh", """
import socket
with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()) as client:
    server, _ = listener.accept()
    client.sendall(bytes(1000))
    print("ready", flush=True)
    while input():
        client.sendall(b"x")
    client.sendall(bytes(1_000_000))
    client.shutdown(socket.SHUT_WR)
    while server.recv(1 << 20):
        pass
"""], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    job.stdout.readline()

    def is_counted():
        before = len(rows_of(samples))
        job.stdin.write(b"more\n")
        job.stdin.flush()
        eventually(lambda: len(rows_of(samples)) > before + 1, "samples")
        return rows_of(samples)[-1]["job_loopback_received_bytes"]
    eventually(is_counted, "traffic of the namespace is counted")
    job.communicate(b"\n", timeout=60)
    figures = json.loads(report.read_text())["network"]["job"]
    for name in ("loopback_received_bytes", "loopback_sent_bytes"):
        assert figures[name]["source"] == "procfs.net.dev"
        assert 1_000_000 <= figures[name]["value"] <= 1_100_000, figures
        assert_within(figures[name], figures[name]["value"])


@pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")
def test_all_figures_are_exact_if_nothing_else_uses_the_network(spoor):
    done = subprocess.run(
        ["unshare", "-n", "sh", "-c", 'ip link set lo up && exec "$@"', "sh", sys.executable, "-m", "pytest", "-q", "-x",
         "-p", "no:cacheprovider", __file__, "-k", "long or inherits or passed or given or half or server"],
        env={**os.environ, "SPOOR_BINARY": str(spoor.binary), "SPOOR_TEST_ALONE": "1"}, capture_output=True, text=True,
        check=False, timeout=300)
    assert done.returncode == 0, done.stdout
