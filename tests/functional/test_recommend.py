# SPDX-License-Identifier: Apache-2.0
"""spoor recommend: suggests a request for the next run. tests/unit/test_needs.c tests the
formulas."""
import ast
import json
import pathlib
import re
import shlex
import subprocess

import pytest

from conftest import load

pytestmark = pytest.mark.any_user

MIB, GIB = 1 << 20, 1 << 30
QUANTITIES = ["cpus", "memory_bytes", "gpus", "vram_bytes", "seconds"]
TOOLS = ["sbatch", "kubernetes", "metaflow", "nextflow", "snakemake", "docker", "pbs", "lsf", "sge", "htcondor"]


def measure(value, **others):
    return {"value": value, "source": "example", "exact": True, **others}


@pytest.fixture(name="store")
def fixture_store(spoor):
    """Stores a report of `spoor run -- true`, changed to contain figures given by the test."""
    path = spoor.new_path("original.json")
    spoor("run", "-q", "-o", path, "--", "true")
    original = load(path)

    def store(figures=(), **run):
        report = json.loads(json.dumps(original))
        # Remove facts about this machine and run that do not matter here.
        report["host"]["gpus"], report["gpu"]["devices"], report["gpu"]["count"] = [], [], 0
        report["limits"].update(cpus=None, memory_bytes=None)
        report["curve"] = None
        report["run"].update({"elapsed_seconds": 245, "exit_code": 0, "signal": None, **run})
        known = {"cpu.mean_cores": 1.62, "cpu.total_seconds": None,
                 "cpu.max_cores": 3.9, "memory.swap_peak_bytes": 0,
                 "memory.combined.total_rss_bytes": 338e6, "memory.anon_peak_bytes": 338e6,
                 "memory.page_cache_peak_bytes": 0, "events.oom_kills": 0,
                 "events.throttled_seconds": 0, **dict(figures)}
        for name, value in known.items():
            *sections, key = name.split(".")
            place = report
            for section in sections:
                place = place[section]
            place[key] = value if isinstance(value, dict) else measure(value)
        to = spoor.new_path("stored.json")
        to.write_text(json.dumps(report))
        return to

    return store


def recommend(spoor, *arguments, **options):
    done = spoor("recommend", *arguments, **options)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_recommendation_of_one_run_is_shown_as_text(spoor, store):
    assert recommend(spoor, store()) == """\
Recommended for the next run

CPUs                   2  1.62 used on average, 3.90 at peak; the mean, rounded
                          up
Memory           512 MiB  peak 338 MB, exact, times 1.2, rounded up to the next
                          step
GPUs                   0  the machine has no GPU
Time               5 min  4 min 05 s, times 1.2, rounded up to whole minutes
"""


def test_recommended_memory_of_a_50_gib_job_is_60_gib(spoor, store):
    path = store({"memory.combined.total_rss_bytes": 50 * GIB,
                  "memory.anon_peak_bytes": 50 * GIB})
    needs = json.loads(recommend(spoor, "-f", "json", path))["recommendation"]
    assert needs["memory_bytes"]["value"] == 60 * GIB
    assert "#SBATCH --mem=60G\n" in recommend(spoor, "--for", "sbatch", path)


def test_recommendation_follows_the_largest_of_many_runs(spoor, store):
    few, most, failed = (store({"memory.combined.total_rss_bytes": mib * MIB,
                                "memory.anon_peak_bytes": 0}, exit_code=code)
                         for mib, code in ((200, 0), (900, 0), (300, 3)))
    result = json.loads(recommend(spoor, few, "-f", "json", most, failed))
    assert (result["schema"], result["runs"], result["failed_runs"]) == ("spoor/1", 3, 1)
    memory = result["recommendation"]["memory_bytes"]
    assert memory == {"value": 2048 * MIB, "guess": False, "used_min": 200 * MIB,
                      "used_max": 900 * MIB, "known_runs": 3, "why": memory["why"]}
    text = recommend(spoor, few, most, failed)
    assert "judging by 3 runs\n" in text and "1 of 3 runs failed: " in text
    assert "210 MB to 944 MB in 3 runs" in re.sub(r"\s+", " ", text)


def test_a_file_may_contain_many_runs_and_be_a_pipe(spoor, store):
    few, most = store({"cpu.mean_cores": 1}), store({"cpu.mean_cores": 7})
    text = few.read_text() + "\n" + most.read_text()
    result = json.loads(recommend(spoor, "-f", "json", "-", stdin=None, input=text))
    assert result["runs"] == 2 and result["recommendation"]["cpus"]["value"] == 7


def test_the_report_has_the_same_recommendation(spoor, store):
    path = store()
    needs = json.loads(recommend(spoor, "-f", "json", path))["recommendation"]
    report = json.loads(spoor("report", "-f", "json", path).stdout)
    assert report["recommendation"] == {
        key: need if key in ("choices", "note") else
        {name: need[name] for name in ("value", "guess", "why")} for key, need in needs.items()}
    assert "Next run          2 CPUs  512 MiB of memory, 5 min recommended\n" in \
        spoor("report", "-f", "text", path).stdout


NOTES = {
    "short": ({}, {"elapsed_seconds": 9.9}, "The run took less than 10 s."),
    "attached": ({}, {"elapsed_seconds": 9.9, "attached": True}, "The run was tracked for less than 10 s."),
    "failed": ({}, {"exit_code": 3}, "The run failed: a complete run may need more."),
    "starved": ({"pressure.cpu_seconds": 24.5}, {}, "The run waited for a CPU for a tenth of the time "
                "or more: with more CPUs, it may take less time."),
    "out of memory": ({"events.oom_kills": 1}, {"exit_code": 137, "signal": "SIGKILL"},
                      "The run ran out of memory: the recommended memory is a guess."),
}


@pytest.mark.parametrize("case", NOTES)
def test_note_about_a_misleading_run_is_the_same_in_every_output(spoor, store, case):
    figures, run, note = NOTES[case]
    path, page = store(figures, **run), spoor.new_path("page.html")
    as_json = [json.loads(spoor(*command, "-f", "json", path).stdout)["recommendation"]
               for command in (["report"], ["recommend"])]
    assert [each["note"] for each in as_json] == [note] * 2
    for text in (spoor("report", "-f", "text", path).stdout, recommend(spoor, path)):
        assert note in re.sub(r"\s+", " ", text)
    assert f"# {note}\n" in recommend(spoor, "--for", "sbatch", path)
    done = spoor("report", "-o", page, path)
    if "has no report page" not in done.stderr:
        data = page.read_text().partition('type="application/json">')[2].partition("</script>")[0]
        in_page = json.loads(data)["runs"][0]["recommendation"]
        assert in_page.pop("requests") and in_page == as_json[0]


def test_fewer_cpus_are_offered_with_more_time(spoor, store):
    """Uses the report of a job that used 2 CPUs for half of its 8 hours."""
    path = store({"cpu.mean_cores": 1, "cpu.total_seconds": 28800}, elapsed_seconds=28800)
    report = json.loads(path.read_text())
    report["curve"] = {"samples": 9, "seconds": [3600 * hour for hour in range(1, 9)], "columns": {
        "job_cpu_seconds": {"kind": "rate", "high": [2, 0] * 4}}}
    path.write_text(json.dumps(report))
    needs = json.loads(recommend(spoor, path, "-f", "json"))["recommendation"]
    assert (needs["cpus"]["value"], needs["seconds"]["value"]) == (2, 34560)
    assert needs["choices"] == [{"cpus": 1, "seconds": 51840}, {"cpus": 2, "seconds": 34560}]
    assert "1 CPU, 14 h 24 min; 2 CPUs, 9 h 36 min" in recommend(spoor, path)
    assert "512 MiB of memory, 9 h 36 min recommended; or 1 CPU, 14 h 24 min" in \
        re.sub(r"\s+", " ", spoor("report", "-f", "text", path).stdout)


def test_quantile_and_margin_change_the_recommendation(spoor, store):
    paths = [store({"memory.combined.total_rss_bytes": gib * GIB, "memory.anon_peak_bytes": 0})
             for gib in (1, 2, 3, 10)]
    result = json.loads(recommend(spoor, "--quantile", "0.75", "--margin", "2", "-f", "json", *paths))
    assert (result["margin"], result["quantile"], result["would_fail_runs"]) == (2, 0.75, 1)
    assert result["recommendation"]["memory_bytes"]["value"] == 6 * GIB
    assert "Would fail             1  of 4 runs, with this request at quantile 0.75" in \
        recommend(spoor, "--quantile", "0.75", "--margin", "2", *paths)
    result = json.loads(recommend(spoor, "-f", "json", *paths))
    assert (result["margin"], result["quantile"], result["would_fail_runs"]) == (1.2, 1, 0)
    assert result["recommendation"]["memory_bytes"]["value"] == 12 * GIB


# ---- requests to paste --------------------------------------------------------

def with_gpus(store):
    figures = {"gpu.job_utilization.mean_gpus": 1.2, "gpu.job_utilization.max_gpus": 2,
               "gpu.memory.combined_bytes": 20 * GIB}
    path = store(figures)
    report = json.loads(path.read_text())
    report["gpu"]["count"] = None
    path.write_text(json.dumps(report))
    return path


REQUESTS = {
    "sbatch": """\
# GPU memory: 24576 MiB in all
#SBATCH --cpus-per-task=2
#SBATCH --mem=512M
#SBATCH --gpus=2
#SBATCH --time=00:05:00
""",
    "kubernetes": """\
# GPU memory: 24576 MiB in all
resources:
  requests:
    cpu: "2"
    memory: 512Mi
  limits:
    memory: 512Mi
    nvidia.com/gpu: 2
""",
    "metaflow": """\
# GPU memory: 24576 MiB in all
@timeout(minutes=5)
@resources(cpu=2, memory=537, gpu=2)
""",
    "nextflow": """\
// GPU memory: 24576 MiB in all
cpus 2
memory 512.MB
time 5.min
accelerator 2
""",
    "snakemake": """\
# GPU memory: 24576 MiB in all
threads: 2
resources:
    mem_mb=537,
    runtime=5,
    gpu=2
""",
    "docker": """\
# GPU memory: 24576 MiB in all
docker run --cpus=2 --memory=512m --gpus=2 IMAGE
""",
    "pbs": """\
# GPU memory: 24576 MiB in all
#PBS -l select=1:ncpus=2:mem=512mb:ngpus=2
#PBS -l walltime=00:05:00
""",
    "lsf": """\
# GPU memory: 24576 MiB in all
# mem is that of a host: if LSF reserves it per task, divide it by the tasks of a host
#BSUB -n 2
#BSUB -R "span[ptile=2]"
#BSUB -R "rusage[mem=512MB]"
#BSUB -M 512MB
#BSUB -gpu "num=2"
#BSUB -W 5
""",
    "sge": """\
# GPU memory: 24576 MiB in all
# h_vmem is per slot and limits virtual memory; the names of -pe and gpu depend on the site
#$ -pe smp 2
#$ -l h_vmem=256M
#$ -l gpu=2
#$ -l h_rt=00:05:00
""",
    "htcondor": """\
# GPU memory: 24576 MiB in all
request_cpus = 2
request_memory = 512MB
request_gpus = 2
""",
}


@pytest.mark.parametrize("tool", TOOLS)
def test_request_for_each_tool_can_be_pasted(spoor, store, tool):
    assert recommend(spoor, with_gpus(store), "--for", tool) == REQUESTS[tool]


def test_requests_are_valid_syntax(spoor, store):
    path = with_gpus(store)
    flow = ast.parse(recommend(spoor, path, "--for", "metaflow") + "def step(self): pass\n")
    assert [each.func.id for each in flow.body[0].decorator_list] == ["timeout", "resources"]
    for tool in ("sbatch", "docker", "pbs", "lsf", "sge"):
        subprocess.run(["sh", "-n"], input=recommend(spoor, path, "--for", tool), text=True,
                       check=True)
    words = shlex.split(recommend(spoor, path, "--for", "docker"), comments=True)
    assert words[:2] == ["docker", "run"] and words[-1] == "IMAGE"


# ---- refused input ------------------------------------------------------------

@pytest.mark.parametrize("arguments, message", [
    ([], "spoor: missing argument: spoor recommend [OPTIONS] FILE...\n"),
    (["no-such.json"], "spoor: cannot read 'no-such.json': No such file or directory\n"),
    (["--for", "make", "x"], "spoor: --for: invalid value 'make': expected sbatch, kubernetes, "
                             "metaflow, nextflow, snakemake, docker, pbs, lsf, sge or htcondor\n"),
    (["--for", "docker", "-f", "json", "x"], "spoor: --for and --format cannot be combined\n"),
    (["-f", "csv", "x"], None),
    (["--margin", "0.9", "x"], "spoor: --margin: invalid number '0.9': expected 1 to 10\n"),
    (["--margin", "nan", "x"], "spoor: --margin: invalid number 'nan': expected 1 to 10\n"),
    (["--quantile", "0", "x"], "spoor: --quantile: invalid number '0': expected more than 0, at most 1\n"),
], ids=str)
def test_invalid_arguments_are_refused(spoor, arguments, message):
    done = spoor("recommend", *arguments)
    assert done.returncode == 125 and done.stdout == ""
    assert done.stderr.count("\n") == 1 and message in (None, done.stderr)


def test_system_report_without_a_job_is_refused(spoor):
    system = spoor("system", "-i", "20ms", "-f", "json").stdout
    done = spoor("recommend", "-", stdin=None, input=system)
    assert done.returncode == 125
    assert done.stderr == "spoor: '-': no job was tracked; expected a report of 'spoor run'\n"


def test_variables_that_apply_to_runs_are_ignored(spoor, store, monkeypatch):
    monkeypatch.setenv("SPOOR_FORMAT", "csv")
    monkeypatch.setenv("SPOOR_FOR", "x")
    assert recommend(spoor, store()).startswith("Recommended")


BROKEN = ["", "null", "[]", "{}", "{", '{"schema": "spoor/1"}', '{"schema": "spoor/2", "run": {}}',
          '{"schema": "spoor/1", "run": 1}', '{"schema": "spoor/1", "run": {}, "cpu": 1}',
          '{"schema": "spoor/1", "run": {}, "cpu": {"mean_cores": {"value": "x"}}}',
          '{"schema": "spoor/1", "run": {"elapsed_seconds": 1e999}}',
          '{"schema": "spoor/1", "run": {}, "warnings": [{"code": 1}]}',
          "[" * 100000, '{"schema": "spoor/1", "run": {}} x', "\0", "\xff"]


@pytest.mark.parametrize("text", BROKEN, ids=lambda text: repr(text[:60]))
def test_an_invalid_report_is_refused(spoor, text):
    path = spoor.new_path("broken.json")
    pathlib.Path(path).write_bytes(text.encode("latin-1"))
    done = spoor("recommend", path)
    assert done.returncode == 125 and done.stdout == ""
    assert done.stderr.count("\n") == 1 and str(path) in done.stderr


HOSTILE = [
    {"memory.combined.total_rss_bytes": -1}, {"memory.combined.total_rss_bytes": 1e308},
    {"cpu.mean_cores": 1e308}, {"cpu.mean_cores": -5}, {"cpu.max_cores": -1e308},
    {"events.oom_kills": 1e308}, {"events.throttled_seconds": 1e308},
    {"memory.swap_peak_bytes": 1e308}, {"memory.anon_peak_bytes": 4e18},
    {"memory.combined.total_rss_bytes": measure(1e6, exact=False, low=1e6, high=-1e308)},
    {"memory.combined.total_rss_bytes": measure(4e18, exact=False, low=0, high=1e308)},
    {"memory.combined.total_rss_bytes": measure(None, reason="\x1b[2J\n#SBATCH --x\r" + "y" * 9999)},
]


@pytest.mark.parametrize("figures", HOSTILE, ids=lambda figures: str(figures)[:60])
def test_hostile_values_are_harmless(spoor, store, figures):
    path = store(figures)
    needs = json.loads(recommend(spoor, "-f", "json", path))["recommendation"]
    for key in QUANTITIES:
        need = needs[key]
        assert need["value"] is None or 0 <= need["value"] < 1e20, key
    for arguments in ([], *(["--for", tool] for tool in TOOLS)):
        text = recommend(spoor, path, *arguments)
        assert "\x1b" not in text and "\r" not in text
        assert all(line.startswith(("#SBATCH --", "# ")) for line in text.splitlines()
                   if "sbatch" in arguments)
        assert "\n#SBATCH --x" not in text


def test_report_without_figures_causes_a_message(spoor):
    path = spoor.new_path("empty.json")
    path.write_text('{"schema": "spoor/1", "run": {}}')
    result = json.loads(recommend(spoor, "-f", "json", path))
    for key in QUANTITIES:
        need = result["recommendation"][key]
        assert need["value"] is None and need["why"], key
    assert (result["recommendation"]["choices"], result["recommendation"]["note"]) == ([], None)
    assert recommend(spoor, path).count("n/a") == 5
