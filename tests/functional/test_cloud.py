# SPDX-License-Identifier: Apache-2.0
"""spoor info in a cloud: its requests, and how it uses the responses."""
import json
import os
import stat
import subprocess

import pytest

from conftest import DEADLINE_SECONDS
from fake_services import DMI, METADATA, Service, with_dmi

pytestmark = pytest.mark.any_user

EXPECTED = {
    "aws": ["us-west-2", "us-west-2b", "g4dn.xlarge", "123456789012"],
    "gcp": ["europe-west1", "europe-west1-b", "n2-standard-8", "example.com:genomes"],
    "azure": ["westeurope", "2", "Standard_D4s_v3", "8d10da13-8125-4ba9-a717-bf7490507b3d"],
    "hcloud": ["eu-central", "fsn1-dc14", None, None],
    "upcloud": ["fi-hel1", None, None, None],
    "ovh": ["eu-west-par-a", "eu-west-par-a", "b3-8", None],
    "alicloud": ["cn-hangzhou", "cn-hangzhou-i", "ecs.g7.large", "1609"],
    "vultr": ["EWR", None, None, None],
}
DOCUMENT = ("GET", "/latest/dynamic/instance-identity/document")


@pytest.fixture
def machine(spoor, tmp_path):
    """Returns a function that runs spoor on a machine with the given DMI strings and returns its
    output."""
    def run(strings, url, *arguments, **environment):
        environment = {
            **os.environ, "SPOOR_METADATA_URL": url, "SPOOR_METADATA_TIMEOUT": "30",
            "XDG_CACHE_HOME": str(tmp_path),
            # No server listens at this proxy, so a request through a proxy fails.
            "http_proxy": "http://127.0.0.1:1", "all_proxy": "http://127.0.0.1:1", **environment}
        prefix = with_dmi(tmp_path, strings)
        if subprocess.run([*prefix, "true"], check=False, stderr=subprocess.DEVNULL).returncode != 0:
            pytest.skip("namespaces are refused")
        done = subprocess.run([*prefix, spoor.binary, *arguments], env=environment, text=True,
                              capture_output=True, check=False, stdin=subprocess.DEVNULL,
                              timeout=DEADLINE_SECONDS)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout
    return run


@pytest.fixture
def info(machine):
    return lambda strings, url, *arguments, **environment: machine(strings, url, "info", *arguments,
                                                                   **environment)


@pytest.fixture
def cloud(info):
    """Returns a function that runs spoor on a machine of a cloud and returns its JSON output."""
    return lambda vendor, url, **environment: json.loads(
        info(DMI[vendor], url, "-f", "json", **environment))


def facts(vendor, region, zone, instance_type, account):
    return {"vendor": vendor, "region": region, "zone": zone, "instance_type": instance_type,
            "account": account}


@pytest.mark.parametrize("vendor", list(METADATA))
def test_the_cloud_service_is_queried_once(cloud, tmp_path, vendor):
    with Service(METADATA[vendor]) as service:
        found = cloud(vendor, service.url)
        assert found["cloud"] == facts(vendor, *EXPECTED[vendor])
        assert found["cloud_reason"] is None
        assert service.paths() == [f"{method} {path}" for method, path in METADATA[vendor]]
        assert "cloud" not in found["host"]
        again = cloud(vendor, service.url)  # from the cache
        assert again["cloud"] == found["cloud"]
        assert len(service.requests) == len(METADATA[vendor])
    assert cloud(vendor, service.url)["cloud"] == found["cloud"]  # the service is down
    cache = tmp_path / "spoor/cloud.json"
    assert stat.S_IMODE(cache.stat().st_mode) == 0o600
    cache.write_text("{", encoding="utf-8")  # damaged, so spoor queries again, without success
    assert cloud(vendor, service.url)["cloud_reason"] is not None


@pytest.mark.parametrize("vendor, product", [("aws", "g4dn.xlarge"), ("gcp", None)])
def test_run_report_names_the_cloud_without_querying_it(cloud, machine, tmp_path, vendor, product):
    """The report of a run takes the cloud from the firmware, and from responses cached since
    boot. It does not contain the account."""
    def report(url):
        path = tmp_path / "report.json"
        machine(DMI[vendor], url, "run", "-q", "-o", path, "--", "true")
        again = json.loads(machine({}, url, "report", "-f", "json", path))
        assert again == json.loads(path.read_text(encoding="utf-8"))
        return again["host"]["cloud"]

    with Service(METADATA[vendor]) as service:
        assert report(service.url) == facts(vendor, None, None, product, None)
        assert not service.requests
        cloud(vendor, service.url)
        asked = len(service.requests)
        assert report(service.url) == facts(vendor, *EXPECTED[vendor][:3], None)
        assert len(service.requests) == asked


def test_without_a_cache_folder_the_service_is_queried_again(cloud):
    with Service(METADATA["aws"]) as service:
        for _ in range(2):
            found = cloud("aws", service.url, XDG_CACHE_HOME="/proc/self")
            assert found["cloud"] == facts("aws", *EXPECTED["aws"])
        assert len(service.requests) == 4


def test_services_without_tokens_are_queried_without_one(cloud):
    with Service({DOCUMENT: METADATA["aws"][DOCUMENT](
            {"X-aws-ec2-metadata-token": "TOKEN=="}, b"")}) as service:
        assert cloud("aws", service.url)["cloud"] == facts("aws", *EXPECTED["aws"])
        assert [request[2].get("X-aws-ec2-metadata-token") for request in service.requests] == [None, None]


def test_other_openstack_clouds_are_unknown(cloud):
    answers = {**METADATA["ovh"], ("GET", "/openstack/latest/network_data.json"): {"services": []}}
    with Service(answers) as service:
        found = cloud("ovh", service.url)
    assert found["cloud"] is None and found["cloud_reason"] is None


def test_values_that_ovh_does_not_report_are_unknown(cloud):
    answers = {**METADATA["ovh"], ("GET", "/openstack/latest/meta_data.json"): {"availability_zone": "nova"}}
    del answers["GET", "/latest/meta-data/instance-type"]
    with Service(answers) as service:
        assert cloud("ovh", service.url)["cloud"] == facts("ovh", None, None, None, None)


def test_hetzner_server_id_is_not_reported_as_the_server_type(cloud):
    text = METADATA["hcloud"]["GET", "/hetzner/v1/metadata"] + "instance-type: cx22\n"
    with Service({("GET", "/hetzner/v1/metadata"): text}) as service:
        assert cloud("hcloud", service.url)["cloud"]["instance_type"] == "cx22"


WRONG = {
    "a page": (200, {"Content-Type": "text/html"}, b"<html><body>Please log in</body></html>"),
    "other JSON": {"hello": "world"},
    "a list": [1, 2, 3],
    "values of other types": {"region": 7, "instanceType": {}},
    "nothing": b"",
    "bytes": bytes(range(256)),
    "too much": b'{"region": "x", "y": "' + b"x" * 2**20 + b'"}',
    "controls": {"region": "a\x1b[31mb"},
    "a long value": {"region": "x" * 500},
    "a failure": (500, {}, b'{"region": "x"}'),
    "not found": (404, {}, b'{"region": "x"}'),
    "an empty answer": (204, {}, b""),
    "a redirect": (302, {"Location": "/elsewhere"}, b""),
    "the end of the connection": (None, {}, b""),
}


@pytest.mark.parametrize("answer", WRONG.values(), ids=list(WRONG))
def test_values_of_wrong_responses_are_unknown_with_a_reason(cloud, tmp_path, answer):
    """The firmware provides the vendor and, on AWS, the instance type."""
    elsewhere = {("GET", "/elsewhere"): {"region": "nowhere"}}
    with Service({**METADATA["aws"], **elsewhere, DOCUMENT: answer}) as service:
        found = cloud("aws", service.url)
    assert found["cloud"] == facts("aws", None, None, "g4dn.xlarge", None)
    assert found["cloud_reason"].startswith("the metadata service of aws")
    assert "GET /elsewhere" not in service.paths()
    assert not (tmp_path / "spoor/cloud.json").exists()


def test_a_gcp_response_is_identified_by_a_header(cloud):
    path = ("GET", "/computeMetadata/v1/instance/zone")
    with Service({**METADATA["gcp"], path: "projects/42/zones/europe-west1-b"}) as service:
        found = cloud("gcp", service.url)
    assert found["cloud"] == facts("gcp", None, None, None, None)
    assert "unexpected answer" in found["cloud_reason"]


def test_token_with_invalid_characters_is_refused(cloud):
    token = ("PUT", "/latest/api/token")
    with Service({**METADATA["aws"], token: "a b\r\nEvil: yes"}) as service:
        assert "unexpected answer" in cloud("aws", service.url)["cloud_reason"]
        assert len(service.requests) == 1


@pytest.mark.parametrize("silent", [("PUT", "/latest/api/token"), DOCUMENT], ids=["token", "document"])
def test_query_of_a_silent_service_times_out(cloud, silent):
    with Service(METADATA["aws"]) as service:
        service.answers[silent] = service.wait
        found = cloud("aws", service.url, SPOOR_METADATA_TIMEOUT="0.3")
    assert found["cloud"] == facts("aws", None, None, "g4dn.xlarge", None)
    assert found["cloud_reason"] == "the metadata service of aws did not answer in time"


def test_queries_can_be_disabled(cloud):
    with Service(METADATA["aws"]) as service:
        found = cloud("aws", service.url, SPOOR_METADATA_TIMEOUT="0")
        assert found["cloud_reason"] == "SPOOR_METADATA_TIMEOUT is 0, so the metadata service is not asked"
        assert not service.requests


@pytest.mark.parametrize("strings", [
    {}, {"sys_vendor": "QEMU", "product_name": "Standard PC"},
    {"sys_vendor": "Microsoft Corporation", "product_name": "Virtual Machine"}],
    ids=["no firmware", "qemu", "hyper-v"])
def test_a_machine_outside_a_cloud_sends_no_query(info, strings):
    with Service(METADATA["azure"]) as service:
        found = json.loads(info(strings, service.url, "-f", "json"))
        assert found["cloud"] is None and found["cloud_reason"] is None
        assert not service.requests


@pytest.mark.parametrize("vendor", list(METADATA))
def test_text_shows_the_cloud(info, vendor):
    with Service(METADATA[vendor]) as service:
        text = info(DMI[vendor], service.url)
    assert f"\nCloud        {vendor}, " in text
    words = " ".join(text.split())
    assert all(value in words for value in EXPECTED[vendor] if value)
    maker = DMI[vendor].get("sys_vendor", "-")
    assert f"{maker} {maker}" not in words
    assert max(map(len, text.splitlines())) <= 80
