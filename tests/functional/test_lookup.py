# SPDX-License-Identifier: Apache-2.0
"""Requests to the agent of resource-tracker that work without tracking."""
import csv
import json
import os
import subprocess
import time

import pytest

from conftest import DEADLINE_SECONDS
from fake_keeper import SERVERS, Keeper, price
from fake_services import DMI, METADATA, Service, with_dmi

pytestmark = pytest.mark.any_user


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    """Allows only services that a test provides, with a long timeout."""
    for name in ("SPOOR_KEEPER_URL", "SPOOR_METADATA_URL", "SPOOR_S3_URL"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.setenv("SPOOR_KEEPER_TIMEOUT", "60")
    monkeypatch.setenv("SPOOR_METADATA_TIMEOUT", "30")
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
def keeper(monkeypatch):
    prices = {"aws/m5.large": [price("us-east-1", 0.096), price("eu-west-1", 0.107)]}
    with Keeper(prices=prices) as keeper:
        monkeypatch.setenv("SPOOR_KEEPER_URL", keeper.url)
        yield keeper


def make_request(op, *arguments):
    return json.dumps({"id": 1, "op": op, "arguments": arguments}) + "\n"


def read_answer(stdout):
    """Returns the answer that follows the event "ready", without its id and event."""
    ready, answer = map(json.loads, stdout.splitlines())
    assert ready["event"] == "ready" and answer.pop("id") == 1
    assert (answer.pop("event") == "error") == ("code" in answer)
    return answer


@pytest.fixture
def lookup(resource_tracker):
    def lookup(op, *arguments):
        done = resource_tracker("agent", stdin=None, input=make_request(op, *arguments))
        assert (done.stderr, done.returncode) == ("", 0)
        return read_answer(done.stdout)
    return lookup


def names(answer):
    return [each["name"] for each in answer["servers"]["fitting"]]


def test_cloud_is_null_outside_a_cloud(resource_tracker, tmp_path):
    prefix = with_dmi(tmp_path, {"sys_vendor": "Dell Inc."})
    if subprocess.run([*prefix, "true"], check=False, stderr=subprocess.DEVNULL).returncode != 0:
        pytest.skip("namespaces are refused")
    started = time.monotonic()
    done = subprocess.run([*prefix, resource_tracker.binary, "agent"], text=True,
                          input=make_request("cloud"), stdout=subprocess.PIPE, check=True, timeout=DEADLINE_SECONDS)
    answer = read_answer(done.stdout)
    assert 0 < answer.pop("seconds") < time.monotonic() - started and set(answer.values()) == {None}


def test_cloud_is_reported_in_a_cloud(resource_tracker, tmp_path):
    prefix = with_dmi(tmp_path, DMI["aws"])
    if subprocess.run([*prefix, "true"], check=False, stderr=subprocess.DEVNULL).returncode != 0:
        pytest.skip("namespaces are refused")

    def run(url):
        done = subprocess.run([*prefix, resource_tracker.binary, "agent"], text=True,
                              env={**os.environ, "SPOOR_METADATA_URL": url, "XDG_CACHE_HOME": str(tmp_path)},
                              input=make_request("cloud"), stdout=subprocess.PIPE, check=True, timeout=DEADLINE_SECONDS)
        return read_answer(done.stdout)
    failed = run("http://127.0.0.1:1")
    assert failed["vendor"] == "aws" and "Failed to connect" in failed["reason"]
    with Service(METADATA["aws"]) as service:
        found = run(service.url)
    assert found.pop("seconds") > 0
    assert found == {"vendor": "aws", "region": "us-west-2", "zone": "us-west-2b",
                     "instance_type": "g4dn.xlarge", "account": "123456789012", "reason": None}


def test_server_lookup_equals_spoor_info(lookup, spoor):
    info = json.loads(spoor("info", "-f", "json", "--gpus=all").stdout)
    assert lookup("server") == {"machine": {**info, "cloud": None, "cloud_reason": None}}


def test_servers_that_fit_are_listed_by_price(lookup, keeper):
    answer = lookup("servers", json.dumps(dict(cpus=2, memory_mib=4000)))
    assert names(answer) == ["cax11", "cx22", "m5.large", "g4ad.xlarge", "n2-highmem-8",
                             "g4dn.xlarge", "p4d.24xlarge"]
    assert answer["servers"]["fitting"][0]["details"] == SERVERS[1]
    assert names(lookup("servers", json.dumps(dict(cpus=2, memory_mib=4000, gpus=0, vram_mib=0, count=1)))) == ["cax11"]
    assert names(lookup("servers", json.dumps(dict(cpus=2, memory_mib=4000, vendors=["gcp", "aws"], count=2)))) == [
        "m5.large", "g4ad.xlarge"]
    assert names(lookup("servers", json.dumps(dict(cpus=1, memory_mib=1, architecture="arm64")))) == ["cax11"]
    assert names(lookup("servers", json.dumps(dict(cpus=1, memory_mib=1, gpus=1, vram_mib=12000)))) == [
        "g4dn.xlarge", "p4d.24xlarge"]
    assert names(lookup("servers", json.dumps(dict(cpus=1000, memory_mib=1)))) == []
    assert keeper.queries()[0]["memory_min"] == "4"


def test_servers_are_searched_in_a_catalogue(lookup, tmp_path):
    path = tmp_path / "servers.csv"
    with path.open("w") as file:
        writer = csv.DictWriter(file, ["vendor_id", "name", "vcpus", "memory_amount", "min_price_ondemand"],
                                extrasaction="ignore")
        writer.writeheader()
        writer.writerows(SERVERS)
    answer = lookup("servers", json.dumps(dict(cpus=2, memory_mib=4000, catalog=str(path), count=2)))
    assert names(answer) == ["cax11", "cx22"] and answer["servers"]["source"] == str(path)
    assert lookup("price", json.dumps(dict(vendor="aws", server="m5.large", catalog=str(path)))) == {"price": 0.096}
    assert lookup("price", json.dumps(dict(vendor="aws", server="none", catalog=str(path)))) == {"price": None}
    path = str(tmp_path / "missing.csv")
    for answer in (lookup("servers", json.dumps(dict(cpus=1, memory_mib=1, catalog=path))),
                   lookup("price", json.dumps(dict(vendor="aws", server="x", catalog=path)))):
        assert answer["code"] == "ENOENT" and path in answer["message"]


def test_price_of_a_server_depends_on_the_region(lookup, keeper):
    assert lookup("price", json.dumps(dict(vendor="aws", server="m5.large", region="eu-west-1"))) == {"price": 0.107}
    assert lookup("price", json.dumps(dict(vendor="aws", server="m5.large"))) == {"price": 0.096}
    assert "status 404" in lookup("price", json.dumps(dict(vendor="aws", server="x")))["message"]


def test_invalid_requests_are_refused(lookup):
    for what, request in (("servers", {}), ("servers", {"cpus": "x", "memory_mib": 1}), ("price", {}),
                          ("price", {"vendor": 1, "server": "x"}), ("x", {})):
        assert lookup(what, json.dumps(request))["code"] == "EINVAL"
    assert lookup("price", "[")["code"] == "EINVAL"
    for what, request in (("servers", {"cpus": 1, "memory_mib": 1}), ("price", {"vendor": "a", "server": "b"})):
        assert "Failed to connect" in lookup(what, json.dumps(request))["message"]


def test_a_run_is_registered_with_its_cloud(resource_tracker, sentinel, tmp_path):
    prefix = with_dmi(tmp_path, DMI["aws"])
    if subprocess.run([*prefix, "true"], check=False, stderr=subprocess.DEVNULL).returncode != 0:
        pytest.skip("namespaces are refused")
    with Service(METADATA["aws"]) as service:
        subprocess.run([*prefix, resource_tracker.binary, "--quiet", "--", "true"], check=True,
                       timeout=DEADLINE_SECONDS,
                       env={**os.environ, **sentinel.environment(tmp_path / "state"),
                            "SPOOR_METADATA_URL": service.url, "XDG_CACHE_HOME": str(tmp_path)})
    run = sentinel.runs["run-0"]
    assert {key: value for key, value in run.items() if key.startswith("cloud_")} == {
        "cloud_vendor_id": "aws", "cloud_account_id": "123456789012", "cloud_region_id": "us-west-2",
        "cloud_zone_id": "us-west-2b", "cloud_instance_type": "g4dn.xlarge"}
    assert len(sentinel.finishes) == 1
