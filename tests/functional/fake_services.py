# SPDX-License-Identifier: Apache-2.0
"""Fake services on the loopback interface, so that no test sends anything to the network: an
HTTP server in a thread, and the metadata services of the clouds."""
import http.server
import json
import os
import threading

# Unshares namespaces; an ordinary user needs a user namespace, too.
UNSHARE = ["unshare", *(["--user", "--map-root-user"] if os.geteuid() != 0 else [])]


class Service:
    """An HTTP server on 127.0.0.1. A subclass defines the answers; `requests` records the
    received requests.

        with Service({("GET", "/x"): "hello"}) as service:
            ... service.url ...
    """

    def __init__(self, answers=None):
        self.answers = dict(answers or {})
        self.requests = []  # (method, path, headers, body)
        self.is_ended = threading.Event()  # set to release answers that wait
        service = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 60

            def handle_one(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                service.requests.append((self.command, self.path, self.headers, body))
                try:
                    self.reply(*service.answer(self.command, self.path, self.headers, body))
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

            do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = handle_one

            def reply(self, status, headers, body):
                if status is None:  # close the connection
                    self.close_connection = True
                    return
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            def log_message(self, *_):  # pylint: disable=arguments-differ
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):  # a client closed the connection
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_port}"

    def answer(self, method, path, headers, body):
        """Returns status (None: close the connection), headers and body. An entry of the answers
        table is such a tuple, a text, an object for JSON, or a function of the headers and the
        body that returns one of these."""
        answer = self.answers.get((method, path), (404, {}, b"not found"))
        if callable(answer):
            answer = answer(headers, body)
        if isinstance(answer, str):
            answer = answer.encode()
        if isinstance(answer, bytes):
            return 200, {"Content-Type": "text/plain"}, answer
        if isinstance(answer, tuple):
            return answer
        return 200, {"Content-Type": "application/json"}, json.dumps(answer).encode()

    def paths(self):
        return [f"{method} {path}" for method, path, _, _ in self.requests]

    def wait(self, *_):
        """Delays the answer until the test ends."""
        self.is_ended.wait(60)
        return None, {}, b""

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.is_ended.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


def with_header(name, value, answer):
    """Answers only requests that have this header with this value; others get status 401."""
    return lambda headers, body: answer if headers.get(name) == value else (401, {}, b"")


AWS_DOCUMENT = {"accountId": "123456789012", "architecture": "x86_64", "availabilityZone": "us-west-2b",
                "instanceId": "i-1234567890abcdef0", "instanceType": "g4dn.xlarge", "region": "us-west-2",
                "version": "2017-09-30"}
ALIBABA_DOCUMENT = {"instance-id": "i-bp1", "instance-type": "ecs.g7.large", "owner-account-id": "1609",
                    "region-id": "cn-hangzhou", "zone-id": "cn-hangzhou-i"}
GOOGLE = {"Metadata-Flavor": "Google"}
HETZNER_TEXT = """\
availability-zone: fsn1-dc14
hostname: box
instance-id: 42
local-ipv4: ''
public-ipv4: 192.0.2.7
region: eu-central
"""


def gcp(text):
    return with_header("Metadata-Flavor", "Google", (200, GOOGLE, text.encode()))


# Answers of the metadata service of each cloud.
METADATA = {
    "aws": {
        ("PUT", "/latest/api/token"):
            with_header("X-aws-ec2-metadata-token-ttl-seconds", "60", "TOKEN=="),
        ("GET", "/latest/dynamic/instance-identity/document"):
            with_header("X-aws-ec2-metadata-token", "TOKEN==", AWS_DOCUMENT),
    },
    "gcp": {
        ("GET", "/computeMetadata/v1/instance/zone"): gcp("projects/42/zones/europe-west1-b"),
        ("GET", "/computeMetadata/v1/instance/machine-type"): gcp("projects/42/machineTypes/n2-standard-8"),
        ("GET", "/computeMetadata/v1/project/project-id"): gcp("example.com:genomes"),
    },
    "azure": {
        ("GET", "/metadata/instance?api-version=2021-02-01"): with_header("Metadata", "true", {
            "compute": {"location": "westeurope", "subscriptionId": "8d10da13-8125-4ba9-a717-bf7490507b3d",
                        "vmSize": "Standard_D4s_v3", "zone": "2"},
            "network": {"interface": []}}),
    },
    "hcloud": {("GET", "/hetzner/v1/metadata"): HETZNER_TEXT},
    "upcloud": {
        ("GET", "/metadata/v1.json"): {"cloud_name": "upcloud", "instance_id": "00c4", "region": "fi-hel1"},
    },
    "ovh": {
        ("GET", "/openstack/latest/network_data.json"):
            {"services": [{"address": "213.186.33.99", "type": "dns"}]},
        ("GET", "/openstack/latest/meta_data.json"): {"availability_zone": "eu-west-par-a", "uuid": "7"},
        ("GET", "/latest/meta-data/instance-type"): "b3-8",
    },
    "alicloud": {
        ("PUT", "/latest/api/token"):
            with_header("X-aliyun-ecs-metadata-token-ttl-seconds", "60", "TOKEN=="),
        ("GET", "/latest/dynamic/instance-identity/document"):
            with_header("X-aliyun-ecs-metadata-token", "TOKEN==", ALIBABA_DOCUMENT),
    },
    "vultr": {("GET", "/v1.json"): {"instance-v2-id": "c0", "region": {"regioncode": "EWR"}}},
}

# The strings in /sys/class/dmi/id on a machine in each cloud.
DMI = {
    "aws": {"sys_vendor": "Amazon EC2", "product_name": "g4dn.xlarge", "bios_vendor": "Amazon EC2"},
    "gcp": {"sys_vendor": "Google", "product_name": "Google Compute Engine", "bios_vendor": "Google"},
    "azure": {"sys_vendor": "Microsoft Corporation", "product_name": "Virtual Machine",
              "chassis_asset_tag": "7783-7084-3265-9085-8269-3286-77"},
    "hcloud": {"sys_vendor": "Hetzner", "product_name": "vServer"},
    "upcloud": {"sys_vendor": "UpCloud", "product_name": "Server"},
    "ovh": {"sys_vendor": "OpenStack Foundation", "product_name": "OpenStack Nova"},
    "alicloud": {"sys_vendor": "Alibaba Cloud", "product_name": "Alibaba Cloud ECS"},
    "vultr": {"sys_vendor": "Vultr", "product_name": "VC2"},
}


def with_dmi(folder, strings, *namespaces):
    """Returns a command prefix. The rest of the command runs in a namespace in which /sys
    contains only these DMI strings. `namespaces` lists additional namespaces ("--net")."""
    sys_folder = folder / "sys"
    (sys_folder / "class/dmi/id").mkdir(parents=True, exist_ok=True)
    for name, text in strings.items():
        (sys_folder / "class/dmi/id" / name).write_text(text + "\n", encoding="utf-8")
    script = 'mount -t tmpfs none /sys && cp -r "$0/." /sys && exec "$@"'
    return [*UNSHARE, "--mount", *namespaces, "sh", "-c", script, str(sys_folder)]
