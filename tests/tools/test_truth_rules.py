# SPDX-License-Identifier: Apache-2.0
"""The rules of the truth suite, tested with planted faults."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "truth"))
import cases  # noqa: E402
import properties  # noqa: E402
import rules  # noqa: E402
import truth  # noqa: E402

MB = 1_000_000


def report_of(name, **measure):
    report = {"exact": False, "source": "somewhere", **measure}
    for key in reversed(rules.FIGURES[name].path.split(".")):
        report = {key: report}
    return report


def fault(name, true, must=None, **measure):
    row = rules.judge_figure(name, true, report_of(name, **measure), must)
    return row.fault or row.far


@pytest.mark.parametrize("value, is_right", [(99.1, True), (100.9, True), (98.9, False),
                                             (101.1, False)])
def test_exact_figure_must_be_within_one_percent(value, is_right):
    assert (fault("cpu_seconds", 100, value=value, exact=True) == "") == is_right


def test_small_figure_has_an_absolute_tolerance():
    assert fault("cpu_seconds", 0.001, value=0.02, exact=True) == ""
    assert fault("cpu_seconds", 0.001, value=0.03, exact=True) != ""


@pytest.mark.parametrize("low, high, is_right", [
    (90, 110, True), (100.5, 110, True), (102, 110, False), (80, 98, False), (80, 99.5, True),
    (90, None, True), (102, None, False), (None, None, False)])
def test_bounds_of_a_sampled_peak_must_include_the_truth(low, high, is_right):
    found = fault("peak_rss_bytes", 100 * MB, value=95 * MB, low=low and low * MB,
                  high=high and high * MB)
    assert (found == "") == is_right


@pytest.mark.parametrize("value, low, high, is_right", [
    (50, 50, 110, True), (0, 0, 100, True), (0, 0, None, True), (101, 101, 110, False), (50, 50, 99, False),
    (50, None, None, False)])
def test_bounds_of_network_bytes_must_include_the_truth(value, low, high, is_right):
    assert (fault("loopback_sent_bytes", 100, value=value, low=low, high=high) == "") == is_right


def test_sampled_total_may_be_below_but_not_above_the_truth():
    assert fault("written_chars", 64 * MB, value=10 * MB) == ""
    assert fault("written_chars", 64 * MB, value=128 * MB) != ""


@pytest.mark.parametrize("is_exact", [True, False])
def test_zero_is_wrong_for_used_resources(is_exact):
    assert "0" in fault("cpu_seconds", 4, value=0, exact=is_exact)


def test_an_unknown_value_needs_a_reason():
    assert fault("cpu_seconds", 4, value=None, source=None) != ""
    assert fault("cpu_seconds", 4, value=None, source=None, reason="refused") == ""
    assert fault("cpu_seconds", 4, must=0.02, value=None, source=None, reason="refused") != ""


def test_wide_bounds_do_not_excuse_a_wrong_value():
    wide = {"value": 60 * MB, "low": 60 * MB, "high": 900 * MB}
    assert fault("peak_rss_bytes", 100 * MB, **wide) == ""
    assert fault("peak_rss_bytes", 100 * MB, must=0.03, **wide) != ""


@pytest.mark.parametrize("source, is_exact, value, is_right", [
    ("wait4", True, 4.44, True), ("wait4", True, 4.46, False), ("wait4", True, 3.9, False),
    ("perf.task-clock", False, 4.53, True), ("perf.task-clock", False, 4.55, False),
    ("procfs.stat", False, 4.46, True), ("procfs.stat", False, 4.48, False)])
def test_cpu_time_may_exceed_the_process_clocks_by_known_amounts(source, is_exact, value, is_right):
    """There are 200 exits of 0.55 ms, 0.3 s taken by the hypervisor and 0.2 s of interrupts:
    each source has its own allowance."""
    row, = rules.judge({"cpu_seconds": 4, "unseen_cpu_microseconds": 110_000},
                       report_of("cpu_seconds", value=value, source=source, exact=is_exact),
                       stolen=0.3, interrupted=0.2)
    assert (row.fault == "") == is_right


@pytest.mark.parametrize("source, value, is_right", [
    ("proc-connector", 3, True), ("proc-connector", 4, False), ("procfs.stat", 3, False)])
def test_late_exit_events_may_count_one_process_more_at_once(source, value, is_right):
    row, = rules.judge({"concurrent": 2}, report_of("concurrent", value=value, source=source))
    assert (row.fault == "") == is_right


def test_quick_plan_covers_every_quick_case_and_every_configuration():
    quick, full = ([(case.name, setup) for case, setup in cases.plan(["root", "user"], is_full)]
                   for is_full in (False, True))
    assert set(quick) < set(full)
    assert {name for name, _ in quick} == {case.name for case in cases.CASES if case.is_quick}
    for setup in cases.SETUPS:
        found = {name for name, planned in quick if planned == setup}
        assert found == set(setup.quick) if setup.quick is not None else len(found) > 20, setup


def test_figure_of_a_phase_is_judged_like_one_of_the_run():
    report = {"phases": [report_of("read_chars", value=0, exact=True)]}
    row, = rules.judge_phase(0, {"read_chars": 300 * MB}, report, rules.Doubt())
    assert (row.figure, row.fault) == ("phase 0 read_chars", "0 where the truth is not")


@pytest.mark.parametrize("low, is_right", [(20, True), (32, False)])
def test_lower_bound_must_not_exceed_the_ceiling(low, is_right):
    found = fault("shared_bytes_at_most", 21 * MB, value=40 * MB, low=low * MB, high=90 * MB)
    assert (found == "") == is_right


def planted(**parts):
    """Returns a report without faults, except for the given parts."""
    second = {"value": 2.0, "exact": True, "source": "wait4"}
    cpu = {"total_seconds": second, "user_seconds": {**second, "value": 1.5},
           "system_seconds": {**second, "value": 0.5}}
    for scope in ("main", "descendants", "system"):
        cpu[scope] = {"mean_cores": {"value": None, "exact": False, "source": None}}
    return {"cpu": cpu, "phases": [], "warnings": [], "curve": None,
            "run": {"elapsed_seconds": 4}, **parts}


def curve_of(*rates):
    return {"seconds": [0, *range(1, len(rates))],
            "columns": {"job_cpu_seconds": {"kind": "rate", "high": list(rates)}}}


ROW = {"elapsed_seconds": 1, "main_cpu_seconds": 1, "descendants_cpu_seconds": 2,
       "job_cpu_seconds": 3, "job_private_bytes": 5, "job_shared_bytes": 2, "job_rss_bytes": 7}


@pytest.mark.parametrize("check, report, rows, is_right", [
    (properties.equal_bounds_are_exact, planted(x={"value": 1, "exact": False, "low": 1, "high": 1}), [], False),
    (properties.equal_bounds_are_exact, planted(x={"value": 1, "exact": False, "low": 1, "high": 2}), [], True),
    (properties.user_and_system_are_all, planted(), [], True),
    (properties.warnings_are_true, planted(warnings=[{"code": "oom", "message": ""}]), [], False),
    (properties.warnings_are_true, planted(warnings=[{"code": "late-samples", "message": ""}]), [], True),
    (properties.rows_add_up, planted(), [ROW], True),
    (properties.rows_add_up, planted(), [{**ROW, "job_cpu_seconds": 4}], False),
    (properties.rows_add_up, planted(), [{**ROW, "job_rss_bytes": 8}], False),
    (properties.rows_add_up, planted(), [{**ROW, "job_rss_bytes": None}], True)])
def test_violated_properties_of_a_report_are_detected(check, report, rows, is_right):
    assert (not list(check(report, rows, ()))) == is_right


@pytest.mark.parametrize("rates, total", [((None, 0.5, 1.5), 2.0), ((None, 0.5, None), 0.5)])
def test_integral_of_a_curve_is_the_sum_of_its_points(rates, total):
    curve = curve_of(*rates)
    assert properties.integral(curve, curve["columns"]["job_cpu_seconds"]) == total


class Runs:
    """A runner whose outcomes are planned by the test."""

    def __init__(self, *outcomes):
        self.outcomes = list(outcomes)

    def run(self, case, setup):
        return self.outcomes.pop(0)


def outcome_of(far="", fault="", busy=0.0, exact=False):
    return truth.Outcome(cases.CASES[0], cases.SETUPS[0], busy=busy,
                         rows=[rules.Row("peak_rss_bytes", 1, exact=exact, far=far, fault=fault)])


@pytest.mark.parametrize("first, later, is_right, left", [
    (outcome_of(), [], True, 0),
    (outcome_of("far"), [outcome_of()], True, 0),                       # near the truth when run alone
    (outcome_of("far"), [outcome_of("far"), outcome_of("far")], False, 0),
    (outcome_of("far"), [outcome_of("far"), outcome_of("far", busy=0.9)], True, 0),
    (outcome_of("far"), [outcome_of("far"), outcome_of("far", busy=0.9, exact=True)], False, 0),
    (outcome_of(fault="broken"), [outcome_of()], False, 1),             # not repeated if a rule is broken
    (outcome_of("far"), [outcome_of(fault="broken"), outcome_of()], False, 1)])
def test_only_runs_far_from_the_truth_are_repeated(first, later, is_right, left):
    runs = Runs(*later)
    row, = truth.again(runs, first).rows
    assert (row.fault == "") == is_right
    assert len(runs.outcomes) == left


def test_malformed_measures_are_reported():
    report = {"a": {"b": {"value": None, "exact": False, "source": None}},
              "c": {"value": 3, "exact": False, "source": "s", "low": 4, "high": 5},
              "d": {"value": 3, "exact": True, "source": None},
              "e": {"value": 3, "exact": False, "source": "s", "low": 3, "high": None}}
    assert [text.split(":")[0] for text in rules.judge_form(report)] == ["a.b", "c", "d"]


def test_every_case_names_existing_programs_and_figures():
    folder = pathlib.Path(cases.__file__).parent / "programs"
    programs = {path.stem for path in folder.glob("*.c")} | {path.name for path in folder.glob("*.py")}
    for case in cases.CASES:
        assert case.command.split()[0] in programs
        assert set(case.must) <= set(rules.FIGURES)
    # beside is not a job: it runs beside one. rank is started by launchers, in tests/integration.
    assert programs - {"ledger", "workload", "beside", "rank"} == {case.command.split()[0] for case in cases.CASES}


def recommended(true, value, peak, must=None, guess=False, **measure):
    """Returns the verdict on a recommendation. The value is in MiB, the other sizes in MB."""
    report = report_of("peak_rss_bytes", value=peak * MB, **{"exact": True, **measure})
    report["recommendation"] = {"memory_bytes": {"value": value * rules.MIB, "guess": guess,
                                                 "why": "because"}}
    return rules.judge_recommendation(true * MB, report, must)


def test_recommended_memory_is_the_peak_times_1_2_rounded_up():
    assert recommended(400, 512, 400).fault == ""
    for value in (256, 1024, 0.5, 400):  # the step below, the step above, the wrong unit, no step
        assert recommended(400, value, 400).fault != ""
    assert recommended(400, 512, 400, guess=True).fault != ""


def request_fault(choices, value=100, exact=True, held=()):
    """Returns the verdict on CPUs and time for a job that used 100 CPU seconds; `held`: memory
    on each GPU."""
    report = report_of("cpu_seconds", value=value, exact=exact)
    report["gpu"] = {"devices": [{"part": None, "memory": {"job_peak_bytes": {"value": size}}}
                                 for size in held]}
    cpus, seconds = choices[-1]
    report["recommendation"] = {"cpus": {"value": cpus, "why": "because"}, "seconds": {"value": seconds},
                                "gpus": {"value": 2}, "note": None,
                                "choices": [{"cpus": a, "seconds": b} for a, b in choices]}
    return rules.judge_request(100, report).fault


def test_a_request_covers_the_cpu_time_and_the_gpus():
    assert request_fault([(1, 120)]) == "" == request_fault([(1, 120), (2, 60)], held=[5, 0, 5])
    assert request_fault([(1, 60)]) != ""
    assert request_fault([(1, 120)], value=150) != ""  # less than the CPU time in the report itself
    assert request_fault([(1, 60)], value=50, exact=False) == ""
    assert request_fault([(2, 60), (1, 120)]) != ""
    assert request_fault([(1, 120)], held=[1, 1, 1]) != ""


def test_upper_bound_does_not_excuse_a_wrong_recommendation():
    bounds = {"exact": False, "low": 400 * MB, "high": 600 * MB}
    assert recommended(400, 512, 400, **bounds).fault == ""
    assert recommended(400, 1024, 400, **bounds).fault != ""


def test_recommendation_based_on_a_wrong_peak_is_marked():
    bounds = {"exact": False, "low": 180 * MB, "high": None}
    row = recommended(400, 256, 180, **bounds)
    assert (row.fault, row.note) == ("", "the sampled peak is off")
    assert recommended(400, 256, 180, must=0.03, **bounds).far != ""
    assert recommended(400, 512, 400, must=0.03).far == ""
