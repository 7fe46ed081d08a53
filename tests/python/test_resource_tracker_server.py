# SPDX-License-Identifier: Apache-2.0
"""resource_tracker: facts about this machine, its cloud, and the request for the next run."""
import csv
import json
import os
import pathlib
import subprocess
import threading

import pytest

from conftest import BINARY, DEADLINE_SECONDS, NOWHERE
from fake_keeper import SERVERS, Keeper, price
from fake_services import DMI, METADATA, Service, with_dmi
from resource_tracker import ResourceTracker, get_cloud_info, get_server_info, keeper
from resource_tracker.column_maps import OLDEST, README
from resource_tracker.report import get_needs, recommend
from spoor._program import EndedError
from test_resource_tracker_gpu import CARD

pytestmark = pytest.mark.any_user

NEVER = 3600  # an interval so long that all rows are partial
GIB = 1 << 30
CLOUD = {"vendor": "aws", "instance_type": "g4dn.xlarge", "region": "us-west-2"}
UNKNOWN = dict.fromkeys(CLOUD, "unknown")


# ---- this machine ----


def test_server_info_describes_the_machine():
    info = get_server_info()
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / (1 << 20)
    assert list(info)[:7] == ["os", "vcpus", "memory_mib", "gpu_count", "gpu_names", "gpu_name",
                              "gpu_memory_mib"]
    assert (info["os"], info["vcpus"]) == ("Linux", os.cpu_count())
    assert info["memory_mib"] == pytest.approx(memory, abs=0.01)
    assert info["architecture"] == os.uname().machine and len(info["gpu_names"]) == info["gpu_count"]
    assert {"cpu_model", "cores", "numa_nodes", "caches", "disks", "container"} < set(info)


def test_server_info_has_the_gpus(script, tmp_path):
    played = tmp_path / "script"
    played.write_text("".join(CARD.format(number, 59 + number, GIB) for number in range(2)))
    out = script("""
        import json
        from resource_tracker import get_server_info
        print(json.dumps(get_server_info()))
    """, env={**os.environ, "LD_LIBRARY_PATH": str(BINARY.parent / "tests/gpu/standin/full"),
              "SPOOR_NVML_SCRIPT": str(played), "CUDA_VISIBLE_DEVICES": "1"})
    info = json.loads(out)
    assert (info["gpu_count"], info["gpu_names"], info["gpu_name"]) == (
        2, ["NVIDIA H200", "NVIDIA H200"], "NVIDIA H200")
    assert info["gpu_memory_mib"] == round(2 * 150e9 / (1 << 20), 2)


def test_tracker_provides_server_and_cloud_information():
    with ResourceTracker(interval=NEVER) as tracker:
        assert tracker.server_info["allocation"] == "unknown"  # there is no row yet
    info = tracker.server_info
    assert info.pop("allocation") in ("shared", "dedicated") and info == get_server_info()
    assert set(tracker.cloud_info) == {*CLOUD, "discovery_time"}
    again = ResourceTracker.loads(tracker.dumps())
    assert (again.server_info, again.cloud_info) == (tracker.server_info, tracker.cloud_info)
    with ResourceTracker(interval=NEVER, discover_server=False, discover_cloud=False) as tracker:
        assert tracker.server_info is None is tracker.cloud_info
    again = ResourceTracker.from_snapshot(tracker.snapshot())  # predecessor's bug W4: a TypeError was raised
    assert again.server_info is None is again.cloud_info


def test_killed_lookup_causes_a_warning(monkeypatch):
    from resource_tracker import server_info

    def fail(*words):
        raise EndedError("the tracker ended unexpectedly")

    monkeypatch.setattr(server_info, "Call", fail)
    with ResourceTracker(interval=NEVER) as tracker:
        with pytest.warns(RuntimeWarning, match="ended unexpectedly"):
            assert tracker.server_info is None


def test_lookups_are_not_counted_as_usage_of_the_program(script):
    out = script("""
        import os
        from resource_tracker import ResourceTracker, get_server_info

        with ResourceTracker(interval=3600) as tracker:
            get_server_info()
            tracker.server_info, tracker.cloud_info
            try:
                os.wait()
            except ChildProcessError:
                print("no children")
        print(tracker.run_totals["processes.started"]["value"])
    """)
    assert out.splitlines() == ["no children", "1"]


# ---- its cloud ----


@pytest.fixture
def machine_of(tmp_path):
    """Returns a program that runs on a machine with DMI strings."""
    def prefix(strings):
        words = with_dmi(tmp_path, strings)
        if subprocess.run([*words, "true"], check=False, stderr=subprocess.DEVNULL).returncode != 0:
            pytest.skip("namespaces are refused")
        return words
    return prefix


def environment(service):
    return {**os.environ, "SPOOR_METADATA_URL": service.url, "SPOOR_METADATA_TIMEOUT": "30"}


def test_lookup_exits_although_nobody_reads_its_answer(script):
    assert script("""
        import select
        from resource_tracker import cloud_info
        cloud_info.start_discovery()
        poll = select.poll()
        poll.register(cloud_info._call._socket, select.POLLRDHUP)
        print(bool(poll.poll(60_000)), *cloud_info.get_cloud_info())
    """) == "True vendor instance_type region discovery_time\n"


def without_time(info):
    assert 0 <= info.pop("discovery_time") < DEADLINE_SECONDS
    return info


def test_outside_a_cloud_no_request_is_sent(script, machine_of):
    with Service() as service:
        out = script("""
            import json
            from resource_tracker import ResourceTracker, get_cloud_info
            with ResourceTracker(interval=3600) as tracker:
                pass
            assert tracker.cloud_info == get_cloud_info()
            print(json.dumps(get_cloud_info()))
        """, prefix=machine_of({"sys_vendor": "Dell Inc."}), env=environment(service))
        assert without_time(json.loads(out)) == UNKNOWN and service.requests == []


def test_the_metadata_service_is_queried_once(script, machine_of):
    with Service(METADATA["aws"]) as service:
        out = script("""
            import json
            import resource_tracker
            from resource_tracker import ResourceTracker, get_cloud_info
            infos = [get_cloud_info()]
            for _ in range(2):
                with ResourceTracker(interval=3600) as tracker:
                    infos.append(tracker.cloud_info)
                infos.append(tracker.snapshot()["cloud_info"])
            print(json.dumps(infos))
        """, prefix=machine_of(DMI["aws"]), env=environment(service))
        assert len(service.requests) == 2  # the token and the document
    first, *others = json.loads(out)
    assert others == [first] * 4 and without_time(first) == CLOUD


def test_slow_service_does_not_delay_the_program(script, machine_of, tmp_path):
    """The service responds only after the program has stopped tracking."""
    may_answer = threading.Event()

    def answer(headers, body):
        assert may_answer.wait(DEADLINE_SECONDS)
        return "TOKEN=="

    with Service({**METADATA["aws"], ("PUT", "/latest/api/token"): answer}) as service:
        process = script.start("""
            import json
            from resource_tracker import ResourceTracker
            with ResourceTracker(interval=0.02) as tracker:
                tracker.wait_for_samples(2, timeout=60)
            print(tracker.n_samples >= 2, flush=True)
            print(json.dumps(tracker.cloud_info))
        """, prefix=machine_of(DMI["aws"]), env=environment(service))
        assert process.stdout.readline() == "True\n"
        may_answer.set()
        out, _ = process.communicate(timeout=DEADLINE_SECONDS)
    assert process.returncode == 0 and without_time(json.loads(out)) == CLOUD


def test_values_of_a_wrong_response_are_unknown(script, machine_of):
    with Service({("PUT", "/latest/api/token"): (500, {}, b"")}) as service:
        out = script("""
            import json, logging, sys
            logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(name)s: %(message)s")
            from resource_tracker import get_cloud_info
            print(json.dumps(get_cloud_info()))
        """, prefix=machine_of(DMI["aws"]), env=environment(service))
    said, info = out.splitlines()
    assert said.startswith("resource_tracker: the cloud of this machine is not known: ")
    # The firmware contains the type.
    assert without_time(json.loads(info)) == {**CLOUD, "region": "unknown"}


def test_a_forked_child_sends_its_own_request():
    with ResourceTracker(interval=NEVER):
        info = get_cloud_info()
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                os.write(writer, json.dumps(get_cloud_info()).encode())
            finally:
                os._exit(0)
        os.waitpid(pid, 0)
        os.close(writer)
        with open(reader) as file:
            found = json.load(file)
    assert without_time(found) == without_time(dict(info))


# ---- the request for the next run ----


def run_stats(cpu=1.0, memory=100.0, gpu=(0, 0), vram=0.0, exact=None, **others):
    totals = {} if exact is None else {"memory.combined.total_rss_bytes": exact}
    return {"process_cpu_usage": {"mean": cpu, "max": 2 * cpu},
            "process_memory_mib": {"mean": memory / 2, "max": memory},
            "process_gpu_usage": {"mean": gpu[0], "max": gpu[1]},
            "process_gpu_vram_mib": {"mean": vram, "max": vram}, "run_totals": totals, **others}


@pytest.mark.parametrize("runs, expected", [
    ([{}], {"cpu": 1, "memory": 128, "gpu": 0, "vram": 0}),
    ([{"memory": 50 * 1024}], {"memory": 60 * 1024}),  # predecessor's bug W1: the result was 128
    ([{"memory": 338}], {"memory": 512}),
    ([{"memory": 106}], {"memory": 128}), ([{"memory": 107}], {"memory": 256}),
    ([{"memory": 1706}], {"memory": 2048}), ([{"memory": 1708}], {"memory": 3072}),
    ([{"cpu": 0.01}], {"cpu": 1}), ([{"cpu": 2.5}], {"cpu": 2}), ([{"cpu": 3.5}], {"cpu": 4}),
    ([{"gpu": (0.01, 0.2)}], {"gpu": 1}), ([{"gpu": (1, 3.6)}], {"gpu": 4}),
    ([{"vram": 1000}], {"vram": 2048}),
    ([{"exact": 300 * (1 << 20)}], {"memory": 512}),  # a peak between two rows
    ([{"cpu": 1, "memory": 100}, {"cpu": 4, "memory": 1000}], {"cpu": 2, "memory": 2048}),
    ([{}, {"exact": 10 * GIB}], {"memory": 12 * 1024}),
])
def test_resources_follow_the_formulas(runs, expected):
    found = get_needs(recommend([run_stats(**run) for run in runs]))
    assert {key: found[key] for key in expected} == expected
    assert all(isinstance(value, int) for value in found.values())


def test_unknown_resources_are_none():
    run = run_stats(gpu=(None, None), vram=None)
    assert get_needs(recommend([run])) == {"cpu": 1, "memory": 128, "gpu": None, "vram": None}
    old = {"process_cpu_usage": {"mean": 1}, "process_pss": {"max": 3 * 1024 * 1024}}
    assert get_needs(recommend([old]))["memory"] == 4096
    with pytest.raises(RuntimeError, match="memory of the process is not known"):
        recommend([{"process_cpu_usage": {"mean": 1}}])
    with pytest.raises(RuntimeError, match="invalid number 'inf'"):
        recommend([run_stats(cpu=float("inf"))])


def test_recommendation_equals_the_one_in_a_report():
    run = run_stats(cpu=1.7, memory=400, gpu=(1, 1), vram=100, timestamp={"duration": 7200})
    found = recommend([run, run])
    assert found["memory_bytes"] == {"value": 512 << 20, "guess": False, "why": (
        "the peak of 2 runs, times 1.2, rounded up to the next step")}
    assert found["cpus"]["value"] == 2 and found["vram_bytes"]["value"] == 128 << 20
    assert found["seconds"]["value"] == 8640
    found = recommend([run_stats()])
    assert found["seconds"]["value"] is None
    assert found["cpus"]["why"] == "used on average, rounded; at least 1"


@pytest.mark.parametrize("options", [{}, {"dialect": README}, {"dialect": OLDEST},
                                     {"track_system": False}])
def test_resources_include_a_peak_between_rows(script, options):
    """The peak occurs between two rows."""
    out = script(f"""
        from resource_tracker import ResourceTracker

        with ResourceTracker(interval=3600, **{options!r}) as tracker:
            held = bytearray(300 << 20)
            del held
        rows = next(iter(tracker.process_metrics[name]
                         for name in ("memory_mib", "memory", "pss")
                         if name in tracker.process_metrics.columns))[0]
        print(rows / (1 if "memory_mib" in tracker.process_metrics.columns else 1024) < 200)
        print(tracker.recommend_resources())
        old = tracker.stats()
        old["process_cpu_usage"]["mean"] = 30
        print(tracker.recommend_resources(historical_stats=[old])["cpu"] >= 15)
    """)
    small, needs, is_more = out.splitlines()
    needs = eval(needs)  # pylint: disable=eval-used
    assert small == is_more == "True" and needs["memory"] == 512
    assert needs["cpu"] == 1 and needs["gpu"] == needs["vram"] == 0


def test_recommendation_without_metrics_is_an_error():
    with pytest.raises(RuntimeError, match="No metrics collected"):
        ResourceTracker(autostart=False).recommend_resources()
    with ResourceTracker(interval=NEVER, track_processes=False) as tracker:
        with pytest.raises(RuntimeError, match="no metrics of a process"):
            tracker.recommend_resources()
    with ResourceTracker(interval=0.02) as tracker:
        assert tracker.recommend_resources()["cpu"] >= 1  # waits for a row


# ---- servers ----


@pytest.fixture
def service(monkeypatch):
    prices = {"aws/m5.large": [price("us-east-1", 0.05, "spot"), price("us-east-1", 0.096),
                               price("eu-west-1", 0.107)]}
    with Keeper(prices=prices) as service:
        monkeypatch.setenv("SPOOR_KEEPER_URL", service.url)
        monkeypatch.setenv("SPOOR_KEEPER_TIMEOUT", "60")
        yield service


@pytest.fixture(scope="module")
def tracker():
    with ResourceTracker(interval=NEVER) as tracker:
        pass
    return tracker


def test_the_cheapest_server_is_recommended(service, tracker):
    assert tracker.recommend_server() == SERVERS[1]  # at least 1 GiB, because the service counts in whole GiB
    assert service.queries() == [{"vcpus_min": "1", "memory_min": "1", "limit": "1",
                                  "order_by": "min_price_ondemand", "order_dir": "asc"}]
    assert tracker.recommend_server(vendor_id="gcp")["api_reference"] == "n2-highmem-8"  # W5
    assert tracker.recommend_server(cpu_architecture="arm64")["server_id"] == "cax11"
    large = run_stats(memory=50 * 1024)
    assert tracker.recommend_server(historical_stats=[large])["api_reference"] == "n2-highmem-8"
    with pytest.raises(RuntimeError, match="no server fits: .*'vendor_id': 'x'"):
        tracker.recommend_server(vendor_id="x")
    with pytest.raises(TypeError):
        tracker.recommend_server(planet="earth")


def names(servers):
    return [server["server_id"] for server in servers]


def test_servers_are_found_by_needs(service):
    find = keeper.get_recommended_cloud_servers
    assert names(find(2, 4096, n=3)) == ["cax11", "cx22", "m5.large"]
    assert names(find(cpu=1, memory=1, gpu=1, vram=12 * 1024)) == ["g4dn.xlarge", "p4d.24xlarge"]
    assert service.queries()[-1]["gpu_memory_total"] == "12"  # predecessor's bug W5: the value was in MiB
    assert names(find(1, 1, vendor_id=["gcp", "azure"])) == ["n2-highmem-8"]
    assert find(10000, 1) == []


def test_price_depends_on_the_region(service, caplog):
    assert keeper.get_instance_price("aws", "eu-west-1", "m5.large") == 0.107
    assert keeper.get_instance_price("aws", "mars", "m5.large") == 0.096
    assert keeper.get_instance_price("aws", "mars", "none") is None
    assert "the price of aws none is not known" in caplog.text


@pytest.fixture(params=["csv", "json"])
def catalog(request):
    path = pathlib.Path(f"servers.{request.param}")
    if request.param == "json":
        path.write_text(json.dumps(SERVERS))
        return path
    with path.open("w", encoding="utf-8") as file:
        keys = ["vendor_id", "server_id", "vcpus", "memory_amount", "cpu_architecture", "gpu_count",
                "gpu_memory_total", "min_price_ondemand"]
        writer = csv.DictWriter(file, keys, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(SERVERS)
    return path


def test_a_catalogue_needs_no_network(tracker, catalog):
    found = tracker.recommend_server(catalog=catalog)
    assert {key: found[key] for key in ("vendor_id", "server_id", "api_reference", "vcpus",
                                        "memory_amount", "min_price_ondemand")} == {
        "vendor_id": "aws", "server_id": "t3.nano", "api_reference": "t3.nano", "vcpus": 2,
        "memory_amount": 512, "min_price_ondemand": 0.0052}
    assert tracker.recommend_server(vendor_id="gcp", catalog=str(catalog))["vcpus"] == 8
    assert keeper.get_instance_price("aws", "", "m5.large", catalog=catalog) == 0.096
    with pytest.raises(FileNotFoundError, match="missing.csv"):
        tracker.recommend_server(catalog="missing.csv")


def test_a_missing_network_is_reported(tracker, caplog):
    """Bug W3 of the predecessor: a TypeError was raised."""
    with pytest.raises(RuntimeError) as error:
        tracker.recommend_server()
    assert str(error.value).startswith(f"cannot reach {NOWHERE}: ")
    assert str(error.value).endswith("; use catalog=FILE")
    assert keeper.get_instance_price("aws", "us-east-1", "m5.large") is None
    assert "cannot reach" in caplog.text


@pytest.mark.parametrize("answer, message", [
    ((500, {}, b""), "status 500"), ("<html>", "cannot be used"), ({"a": 1}, "cannot be used"),
    ((302, {"Location": "http://127.0.0.1:1/"}, b""), "cannot reach"), ((None, {}, b""), "cannot reach")])
def test_wrong_responses_of_the_keeper_are_errors(service, tracker, answer, message):
    service.answer_with = answer
    with pytest.raises(RuntimeError, match=message):
        tracker.recommend_server()
