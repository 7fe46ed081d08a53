# SPDX-License-Identifier: Apache-2.0
"""spoor recommend --server: servers that fit, from a catalogue or from a keeper on loopback."""
import csv
import io
import json
import resource
import socket

import pytest

import test_recommend
from fake_keeper import SERVERS, Keeper, gpus, price, server
from fake_services import DMI, METADATA, Service, with_dmi
from test_recommend import GIB

pytestmark = pytest.mark.any_user

fixture_store = test_recommend.fixture_store

SMALL = {"memory.combined.total_rss_bytes": 1 << 20, "memory.anon_peak_bytes": 1 << 20,
         "cpu.mean_cores": 0.1, "cpu.max_cores": 1}


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    """Allows only services that a test provides, with a long timeout."""
    monkeypatch.setenv("SPOOR_KEEPER_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("SPOOR_KEEPER_TIMEOUT", "60")
    monkeypatch.setenv("SPOOR_METADATA_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture(name="keeper")
def fixture_keeper(monkeypatch):
    with Keeper() as keeper:
        monkeypatch.setenv("SPOOR_KEEPER_URL", keeper.url)
        yield keeper


def recommend(spoor, *arguments):
    """Returns the recommendation and the servers as JSON."""
    done = spoor("recommend", "--server", "-f", "json", *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)["servers"]


def names(servers):
    return [each["name"] for each in servers["fitting"]]


def catalog_of(spoor, servers):
    """Returns the catalogue as CSV."""
    out = io.StringIO()
    writer = csv.DictWriter(out, [key for key, value in servers[0].items() if not isinstance(value, (dict, list))],
                            extrasaction="ignore")
    writer.writeheader()
    writer.writerows(servers)
    path = spoor.new_path("catalog.csv")
    path.write_text(out.getvalue())
    return path


# ---- the keeper ----

def test_the_cheapest_fitting_servers_are_listed(spoor, store, keeper):
    done = spoor("recommend", "--server", store())
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith(f"""\

Servers that fit, the cheapest first ({keeper.url})
  vendor  server        arch    vCPUs  memory  GPUs   VRAM  per hour  per run
  hcloud  cax11         arm64       2   4 GiB                $0.0055  $0.0004
  hcloud  cx22          x86_64      2   4 GiB                $0.0060  $0.0004
  aws     m5.large      x86_64      2   8 GiB                $0.0960  $0.0065
  aws     g4ad.xlarge   x86_64      4  16 GiB     1  8 GiB   $0.3785  $0.0258
  gcp     n2-highmem-8  x86_64      8  64 GiB                $0.5240  $0.0357
""")


def test_memory_is_requested_in_whole_gib_and_never_0(spoor, store, keeper):
    recommend(spoor, store(SMALL))
    recommend(spoor, "--count", "1", store({"memory.combined.total_rss_bytes": 50 * GIB}))
    assert keeper.queries() == [
        {"order_by": "min_price_ondemand", "order_dir": "asc", "limit": "5", "vcpus_min": "1", "memory_min": "1"},
        {"order_by": "min_price_ondemand", "order_dir": "asc", "limit": "1", "vcpus_min": "2", "memory_min": "60"}]


def test_servers_that_do_not_fit_are_left_out(spoor, store, keeper):
    """Servers that do not fit are left out even if the keeper returns them."""
    keeper.answer_with = SERVERS
    assert names(recommend(spoor, "--count", "9", store({"memory.combined.total_rss_bytes": 50 * GIB}))) == \
        ["n2-highmem-8", "p4d.24xlarge"]


def test_vendors_and_architecture_can_be_selected(spoor, store, keeper):
    assert names(recommend(spoor, "--vendor", "aws", store())) == ["m5.large", "g4ad.xlarge", "g4dn.xlarge",
                                                                  "p4d.24xlarge"]
    assert names(recommend(spoor, "--vendor", "gcp", "--vendor", "hcloud", "--arch", "x86_64", store())) == \
        ["cx22", "n2-highmem-8"]
    assert names(recommend(spoor, "--vendor", "x&limit=0", store())) == []
    assert len(keeper.requests) == 3


def test_message_is_shown_if_no_server_fits(spoor, store, keeper):
    done = spoor("recommend", "--server", store({"memory.combined.total_rss_bytes": 5000 * GIB}))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith(f"\n\nNo server fits ({keeper.url})\n")


@pytest.mark.usefixtures("keeper")
def test_json_contains_all_values_from_the_keeper(spoor, store):
    found = recommend(spoor, "--count", "1", store())["fitting"][0]
    assert found.pop("details") == SERVERS[1]
    assert found.pop("run_cost_usd") == pytest.approx(0.0055 * 245 / 3600)
    assert found == {"vendor": "hcloud", "name": "cax11", "region": None, "architecture": "arm64",
                     "vcpus": 2, "memory_bytes": 4 * GIB, "gpus": 0, "gpu_vendor": None,
                     "vram_bytes": None, "price_usd_per_hour": 0.0055}


def test_redirects_are_followed(spoor, store, monkeypatch, keeper):
    class Moved(Service):
        def answer(self, method, path, headers, body):
            return 307, {"Location": keeper.url + path}, b""

    with Moved() as moved:
        monkeypatch.setenv("SPOOR_KEEPER_URL", moved.url)
        assert names(recommend(spoor, "--count", "2", store())) == ["cax11", "cx22"]


HUGE = b"[" + b" " * (17 << 20) + b"]"
WRONG = {
    "an error": ((500, {}, b"[]"), "answered with status 500"),
    "too many requests": ((429, {}, b""), "answered with status 429"),
    "a page": ("<html>login</html>", "cannot be used: not valid JSON (line 1"),
    "nothing": ("", "cannot be used: not valid JSON (line 1"),
    "an object": ({"detail": "x"}, "cannot be used: expected a list of servers"),
    "other things": ([1], "cannot be used: server 1: expected an object"),
    "a text for a number": ([{**SERVERS[0], "vcpus": "2"}], "cannot be used: server 1: vcpus: expected a number"),
    "a hostile name": ([{**SERVERS[0], "api_reference": "x" * 5000}], "cannot be used: server 1: api_reference: "
                                                                      "expected at most 95 characters"),
    "too much": (HUGE, "the answer is longer than 16 MiB"),
    "redirects without end": ((302, {"Location": "/servers?x=1"}, b""), "redirects"),
    "a hang-up": ((None, {}, b""), "cannot reach"),
}


def check_failure(spoor, path, *parts):
    """Checks for one error line with the reason and a remedy; all other output is the same as
    without --server."""
    done = spoor("recommend", "--server", path)
    assert done.returncode == 125
    assert done.stdout == spoor("recommend", path).stdout
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("spoor: ") and done.stderr.endswith("; use --catalog FILE\n")
    for part in parts:
        assert part in done.stderr
    as_json = spoor("recommend", "--server", "-f", "json", path)
    assert as_json.returncode == 125
    found = json.loads(as_json.stdout)
    assert found["servers"]["fitting"] is None
    assert found["servers"]["reason"].endswith("; use --catalog FILE")
    assert found["recommendation"]["memory_bytes"]["value"] == GIB / 2


@pytest.mark.parametrize("answer, message", WRONG.values(), ids=WRONG)
def test_wrong_responses_are_reported(spoor, store, keeper, answer, message):
    keeper.answer_with = answer
    check_failure(spoor, store(), keeper.url, message)


def test_late_response_causes_a_timeout_error(spoor, store, monkeypatch, keeper):
    monkeypatch.setenv("SPOOR_KEEPER_TIMEOUT", "0.1")
    keeper.answer_with = keeper.wait
    check_failure(spoor, store(), f"cannot reach {keeper.url}: ", "timed out")


def test_a_missing_network_is_reported(spoor, store):
    check_failure(spoor, store(), "cannot reach http://127.0.0.1:1: ")


# ---- catalogues ----

def test_a_catalogue_needs_no_network(spoor, store, keeper):
    path = store({"memory.combined.total_rss_bytes": 2 * GIB})
    asked = names(recommend(spoor, "--count", "9", path))
    before = len(keeper.requests)
    as_json = spoor.new_path("catalog.json")
    as_json.write_text(json.dumps(SERVERS))
    for catalog in (as_json, catalog_of(spoor, SERVERS)):
        found = recommend(spoor, "--count", "9", "--catalog", catalog, path)
        assert names(found) == [*asked, "unpriced"]
        assert found["source"] == str(catalog)
        assert found["fitting"][-1]["price_usd_per_hour"] is None
    assert len(keeper.requests) == before


def test_gpus_of_another_vendor_do_not_fit(spoor, store, keeper):
    path = store({"gpu.job_utilization.mean_gpus": 0.8, "gpu.job_utilization.max_gpus": 1,
                  "gpu.memory.combined_bytes": 3 * GIB})
    report = json.loads(path.read_text())
    report["host"]["gpus"] = [{"index": 0, "part": None, "uuid": "GPU-1", "name": "T4", "vendor": "nvidia",
                               "memory_bytes": 16 * GIB}]
    report["gpu"]["count"] = 1
    report["gpu"]["devices"] = [{**report["host"]["gpus"][0]}]
    path.write_text(json.dumps(report))
    for options in ((), ("--catalog", catalog_of(spoor, SERVERS))):
        assert names(recommend(spoor, *options, path)) == ["g4dn.xlarge", "p4d.24xlarge"]
    assert [(each["gpu_min"], each["gpu_memory_total"]) for each in keeper.queries()] == [("1", "4")]


def test_a_large_catalogue_is_fast(spoor, store):
    """Limits the CPU time; sanitizers need about ten times as much."""
    many = [server("aws", f"s{i}", 1 + i % 64, 1 + i % 512, 1 + i, description="x" * 2000,
                   **gpus(i % 2, 16)) for i in range(1000)]
    catalog = spoor.new_path("many.json")
    catalog.write_text(json.dumps(many))
    path = store()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = recommend(spoor, "--catalog", catalog, "--count", "1000", path)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert found["fitting"][0]["name"] == "s1" and len(found["fitting"]) > 900
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 3


BAD_FILES = {
    "missing": (None, "cannot read '"),
    "empty": (b"", "it is empty"),
    "binary": (bytes(range(256)), "line 1: not a CSV file"),
    "wrong columns": (b"a;b\n1;2\n", "no column 'vcpus'"),
    "a bad cell": (b"name,vcpus,memory_amount\na,1,1\nb,\x1b[31m,1\n", "line 3: vcpus: '\\x1b[31m' is not a number"),
    "broken JSON": (b"[{\"name\": ", "not valid JSON (line 1"),
    "deep JSON": (b"[" * 100000, "not valid JSON (line 1"),
}


@pytest.mark.parametrize("content, message", BAD_FILES.values(), ids=BAD_FILES)
def test_a_bad_catalogue_is_refused(spoor, store, content, message):
    catalog = spoor.new_path("catalog")
    if content is not None:
        catalog.write_bytes(content)
    done = spoor("recommend", "--server", "--catalog", catalog, store())
    assert done.returncode == 125
    assert done.stderr.count("\n") == 1 and message in done.stderr and str(catalog) in done.stderr


# ---- the command line ----

@pytest.mark.parametrize("options, message", [
    (["--catalog", "x"], "--catalog requires --server"),
    (["--count", "2"], "--count requires --server"),
    (["--vendor", "aws"], "--vendor requires --server"),
    (["--arch", "arm64"], "--arch requires --server"),
    (["--server", "--for", "sbatch"], "--for and --server cannot be combined"),
    (["--server", "--count", "0"], "--count: invalid number '0': expected 1 to 1000"),
    (["--server", "--count", "1001"], "--count: invalid number '1001': expected 1 to 1000"),
    (["--server", "--arch", "vax"], "--arch"),
])
def test_conflicting_options_are_refused(spoor, store, options, message):
    done = spoor("recommend", *options, store())
    assert (done.returncode, done.stdout) == (125, "")
    assert message in done.stderr


def test_invalid_time_limit_is_refused(spoor, store, monkeypatch):
    monkeypatch.setenv("SPOOR_KEEPER_TIMEOUT", "soon")
    done = spoor("recommend", "--server", store())
    assert (done.returncode, done.stderr) == (125, "spoor: SPOOR_KEEPER_TIMEOUT: expected 0.001 to 60 seconds\n")


def test_no_server_is_chosen_if_memory_is_unknown(spoor, store, keeper):
    unknown = {"value": None, "reason": "denied"}
    done = spoor("recommend", "--server", store({"memory.combined.total_rss_bytes": unknown,
                                                 "memory.anon_peak_bytes": unknown}))
    assert done.returncode == 125
    assert done.stderr == "spoor: no server can be chosen: the reports have no peak memory of the job\n"
    assert keeper.requests == []


# ---- cost of the run ----

@pytest.fixture(name="on_aws")
def fixture_on_aws(spoor, tmp_path, monkeypatch):
    """Runs spoor on a simulated g4dn.xlarge in us-west-2."""
    with Service(METADATA["aws"]) as metadata:
        monkeypatch.setenv("SPOOR_METADATA_URL", metadata.url)
        monkeypatch.setenv("SPOOR_METADATA_TIMEOUT", "60")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        command = [*with_dmi(tmp_path, DMI["aws"]), spoor.binary]
        spoor.binary, *before = command
        yield lambda *arguments: spoor(*before, *arguments)


def run_of(done):
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)["servers"]["run"]


PRICES = {"aws/g4dn.xlarge": [price("us-east-1", 0.526), price("us-west-2", 0.2, "spot"),
                              price("us-west-2", 0.7, system="Windows"), price("us-west-2", 0.579)]}


def test_the_cost_of_the_run_is_shown(store, keeper, on_aws):
    keeper.prices = PRICES
    path = store()
    assert run_of(on_aws("recommend", "--server", "-f", "json", path)) == {
        "elapsed_seconds": 245, "vendor": "aws", "name": "g4dn.xlarge", "region": "us-west-2",
        "price_usd_per_hour": 0.579, "cost_usd": pytest.approx(0.579 * 245 / 3600), "reason": None}
    text = on_aws("recommend", "--server", path).stdout
    assert "This run         $0.0394  4 min 05 s on aws g4dn.xlarge in us-west-2 at $0.5790\n" in text
    # The longest run determines the cost, wherever it is in the list.
    text = on_aws("recommend", "--server", store(elapsed_seconds=10), path, store(elapsed_seconds=20)).stdout
    assert "Longest run      $0.0394  4 min 05 s on aws" in text


def test_cost_of_the_run_is_computed_from_a_catalogue(spoor, store, on_aws):
    catalog = spoor.new_path("catalog.csv")
    catalog.write_text("vendor_id,region_id,name,vcpus,memory_amount,min_price_ondemand\n"
                       "aws,us-east-1,g4dn.xlarge,4,16384,0.526\n"
                       "aws,us-west-2,g4dn.xlarge,4,16384,0.579\n")
    found = run_of(on_aws("recommend", "--server", "--catalog", catalog, "-f", "json", store()))
    assert found["price_usd_per_hour"] == 0.579


@pytest.mark.parametrize("prices, reason", [
    ({}, "answered with status 404; use --catalog FILE"),
    ({"aws/g4dn.xlarge": []}, "lists no price for it"),
    ({"aws/g4dn.xlarge": [price("us-west-2", None), price("us-west-2", 1, "spot")]}, "lists no price for it"),
    ({"aws/g4dn.xlarge": {"detail": []}}, "cannot be used: expected a list of prices; use --catalog FILE"),
])
def test_reason_is_given_if_the_price_is_unknown(store, keeper, on_aws, prices, reason):
    keeper.prices = prices
    found = run_of(on_aws("recommend", "--server", "-f", "json", store()))
    assert (found["name"], found["price_usd_per_hour"], found["cost_usd"]) == ("g4dn.xlarge", None, None)
    assert found["reason"].endswith(reason)


def test_cost_of_a_run_on_another_machine_is_unknown(store, keeper, on_aws):
    keeper.prices = PRICES
    path = store(host=f"not-{socket.gethostname()}")
    assert run_of(on_aws("recommend", "--server", "-f", "json", path)) == {
        "elapsed_seconds": 245, "vendor": None, "name": None, "region": None,
        "price_usd_per_hour": None, "cost_usd": None, "reason": None}
    assert [path for path in keeper.paths() if "prices" in path] == []
