# SPDX-License-Identifier: Apache-2.0
"""Fake Sentinel and S3 services on the loopback interface, which check and record the requests."""
import datetime
import gzip
import hashlib
import hmac
import http.server
import json
import pathlib
import re
import socket
import sys
import threading
import urllib.parse

BUCKET = "samples"
PREFIX = f"s3://{BUCKET}/team a/2026"  # the space must be escaped, once
TOKEN = "token-5f3e"
REGION = "us-east-2"


def spools(folder):
    """Lists the stored runs with unsent samples below `folder`, which is $XDG_STATE_HOME."""
    return sorted(pathlib.Path(folder, "spoor/uploads").glob("*"))


def sign(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def expected_signature(method, target, headers, signed, scope, secret):
    """Computes AWS Signature Version 4 from the request as received."""
    path, _, query = target.partition("?")
    lines = [f"{name}:{' '.join(headers[name].split())}" for name in signed.split(";")]
    canonical = "\n".join([method, path, query, *lines, "", signed, headers["x-amz-content-sha256"]])
    date, region, service, end = scope.split("/")
    to_sign = "\n".join(["AWS4-HMAC-SHA256", headers["x-amz-date"], scope,
                         hashlib.sha256(canonical.encode()).hexdigest()])
    key = ("AWS4" + secret).encode()
    for part in (date, region, service, end):
        key = sign(key, part)
    return sign(key, to_sign).hex()


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """Ignores killed clients and closed connections."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class FakeSentinel:
    """`script` maps an action (register, refresh, finish, put, head) to the behaviour for its
    next requests, in order: an HTTP status to answer with; a function that gets the handler and
    answers itself; or None for the normal answer."""

    def __init__(self, path_of_api=""):
        self.lock = threading.Lock()
        self.script = {}
        self.runs = {}  # registrations, by run ID
        self.finishes = []  # (run ID, body)
        self.objects = {}  # uploads, by s3:// URI
        self.puts = []  # URIs, in order
        self.asked = []  # actions, in order
        self.problems = []  # requests that must never happen
        self.credentials = {}  # valid session tokens, by access key
        self.lifetime_seconds = 3600
        self.has_region = True
        self.connections = set()
        self.server = None
        # Keeps the port reserved while the server is down.
        self.holder = self.bound_socket(0)
        self.port = self.holder.getsockname()[1]
        self.path_of_api = path_of_api
        self.come_back()

    @staticmethod
    def bound_socket(port):
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(("127.0.0.1", port))
        return sock

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def environment(self, folder, **more):
        return {"SENTINEL_API_TOKEN": TOKEN, "SENTINEL_API_URL": self.url + self.path_of_api,
                "SPOOR_S3_URL": f"{self.url}/s3", "XDG_STATE_HOME": str(folder),
                "TRACKER_UPLOAD_WAIT": "60", "no_proxy": "127.0.0.1", **more}

    def come_back(self):
        fake = self

        class Bound(Handler):
            service = fake
        self.server = Server(("127.0.0.1", self.port), Bound, False)
        self.server.socket.close()
        self.server.socket = self.bound_socket(self.port)
        self.server.server_activate()
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()

    def go_away(self):
        """Closes connections and refuses new ones."""
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
        with self.lock:
            for connection in self.connections:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def close(self):
        self.go_away()
        self.holder.close()

    def next_step(self, action):
        with self.lock:
            self.asked.append(action)
            steps = self.script.get(action, [])
            return steps.pop(0) if steps else None

    def new_credentials(self):
        number = len(self.credentials)
        self.credentials[f"AKIA{number}"] = f"session/+{number}=="
        end = datetime.datetime.now(datetime.timezone.utc) + \
            datetime.timedelta(seconds=self.lifetime_seconds)
        return {"access_key": f"AKIA{number}", "secret_key": f"secret/{number}",
                "session_token": f"session/+{number}==", "expires_at": end.isoformat(),
                **({"region": REGION} if self.has_region else {})}

    def expire(self):
        """Invalidates all issued credentials."""
        with self.lock:
            self.credentials = {key: None for key in self.credentials}

    def batches(self, run_id):
        return sorted(uri for uri in self.objects if f"/{run_id}/" in uri)

    def rows(self, uris):
        """Returns the lines of all batches, each of which starts with the same header."""
        lines, headers = [], set()
        for uri in uris:
            header, *rows = gzip.decompress(self.objects[uri]).decode().splitlines()
            assert rows, f"{uri} has no rows"
            headers.add(header)
            lines += rows
        assert len(headers) <= 1
        return [*headers, *lines]


    def received(self, number=0):
        """Returns the rows of a run, as described by its end message."""
        _, end = self.finishes[number]
        if end["data_source"] == "inline":
            return end["data_csv"].splitlines()
        return self.rows(end["data_uris"])


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    service: FakeSentinel

    def setup(self):
        super().setup()
        with self.service.lock:
            self.service.connections.add(self.connection)

    def finish(self):
        try:
            super().finish()
        except OSError:
            pass
        with self.service.lock:
            self.service.connections.discard(self.connection)

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", **headers):
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def step(self, action, normal):
        step = self.service.next_step(action)
        if step is None:
            normal()
        elif callable(step):
            step(self)
        else:
            self.answer(step, {"detail": f"status {step} on purpose"})

    def read_body(self):
        if self.headers.get("Transfer-Encoding") == "chunked":
            self.service.problems.append("a chunked body")
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    # ---- the API

    def do_POST(self):
        self.body = self.read_body()
        path = self.path[len(self.service.path_of_api):]
        found = re.fullmatch(r"/runs(?:/([\w.-]+)/(refresh-credentials|finish))?", path)
        if not found:
            self.answer(404)
        elif self.headers["Authorization"] != f"Bearer {TOKEN}":
            self.service.asked.append("unauthorized")
            self.answer(401, {"detail": "invalid token"})
        elif found[2] == "finish":
            self.step("finish", lambda: self.finish_run(found[1]))
        elif found[2]:
            self.step("refresh", self.refresh)
        else:
            self.step("register", self.register)

    def register(self):
        with self.service.lock:
            run_id = f"run-{len(self.service.runs)}"
            self.service.runs[run_id] = json.loads(self.body)
            credentials = self.service.new_credentials()
        self.answer(201, {"run_id": run_id, "upload_uri_prefix": PREFIX + "/",
                          "upload_credentials": credentials})

    def refresh(self):
        with self.service.lock:
            credentials = self.service.new_credentials()
        self.answer(200, {"upload_credentials": credentials})

    def finish_run(self, run_id):
        with self.service.lock:
            if any(each == run_id for each, _ in self.service.finishes):
                self.service.problems.append(f"{run_id} was finished twice")
            self.service.finishes.append((run_id, json.loads(self.body)))
        self.answer(200, {"run_id": run_id, "stats": {"rows": 1}})

    # ---- S3

    def do_HEAD(self):
        self.step("head", lambda: self.answer(403, x_amz_bucket_region=REGION))

    def do_PUT(self):
        self.body = self.read_body()
        self.step("put", self.put)

    def signature_problem(self):
        found = re.fullmatch(r"AWS4-HMAC-SHA256 Credential=(\w+)/(\S+), ?SignedHeaders=(\S+), ?"
                             r"Signature=(\w+)", self.headers.get("Authorization", ""))
        if not found:
            return "not signed"
        key, scope, signed, signature = found.groups()
        number = key[4:]
        if not {"host", "x-amz-date", "x-amz-content-sha256"} <= set(signed.split(";")):
            return f"only {signed} are signed"
        if scope.split("/")[1:] != [REGION, "s3", "aws4_request"]:
            return f"signed for {scope}"
        if signature != expected_signature("PUT", self.path, self.headers, signed, scope,
                                           f"secret/{number}"):
            return "the signature is wrong"
        if self.service.credentials.get(key) != self.headers.get("x-amz-security-token"):
            return "expired"
        return None

    def put(self):
        problem = self.signature_problem()
        if problem:
            if problem != "expired":
                self.service.problems.append(problem)
            self.answer(403, b"<Error><Code>ExpiredToken</Code></Error>")
            return
        path = urllib.parse.unquote(self.path)
        uri = path.replace("/s3/", "s3://", 1)
        with self.service.lock:
            if self.headers["Content-Type"] != "application/gzip" or not uri.startswith(PREFIX):
                self.service.problems.append(f"{uri}: {self.headers['Content-Type']}")
            before = self.service.objects.get(uri)
            if before is not None and not gzip.decompress(self.body).startswith(gzip.decompress(before)):
                self.service.problems.append(f"{uri} was replaced by other rows")
            self.service.puts.append(uri)
            self.service.objects[uri] = self.body
        self.answer(200)
