# SPDX-License-Identifier: Apache-2.0
"""The comparison of tracked and untracked jobs: its figures, verdicts and division of time."""
import argparse
import pathlib
import sys
import types

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "bench"))
import comparing  # noqa: E402
import joblist  # noqa: E402
import jobs  # noqa: E402

SOME_JOB = joblist.Job("a job", lambda place: ["true"], 1.0, 3, joblist.HARMLESS,
                       per=("switch", 1000))


def run(cpu, wall=10.0, tracker_cpu=0.0):
    return comparing.Run(cpu, wall, wall, tracker_cpu, said={"cpu_seconds": tracker_cpu})


def compare(plain, tracked, job=SOME_JOB):
    tracker = comparing.Tracker("now", "/bin/true")
    return comparing.Comparison(job, 1.0, tracker, [run(cpu) for cpu in plain],
                                [run(cpu, tracker_cpu=0.1) for cpu in tracked])


def verdicts(comparison):
    return [row.verdict for row in comparison.goals()]


def test_tracker_argument_contains_options_and_variables():
    tracker = comparing.Tracker.parse("bare=/bin/true --cgroup=off SPOOR_DISABLE=perf,cgroup -i 2")
    assert (tracker.name, tracker.spoor) == ("bare", str(pathlib.Path("/bin/true").resolve()))
    assert tracker.options == ("--cgroup=off", "-i", "2")
    assert tracker.variables == {"SPOOR_DISABLE": "perf,cgroup"}


@pytest.mark.parametrize("text", ["", "/bin/true", "now=", "=/bin/true", "now=/proc/nonexistent"])
def test_a_tracker_without_a_name_or_program_is_refused(text):
    with pytest.raises(argparse.ArgumentTypeError):
        comparing.Tracker.parse(text)


def test_drift_of_the_machine_is_not_reported_as_a_loss():
    comparison = compare([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    assert comparison.figures["cpu_lost_percent"] == (0.0, 0.0)


def test_loss_per_context_switch_is_computed_from_the_best_runs():
    value, _ = compare([1.5, 1.0, 1.2], [1.1, 1.7, 1.3]).figures["lost_us"]
    assert value == pytest.approx(100.0)


def test_a_loss_within_the_noise_is_ok_and_one_above_is_over():
    plain = [1.00, 1.01, 0.99, 1.00, 1.01, 0.99]
    assert verdicts(compare(plain, [cpu * 1.005 for cpu in plain])) == ["ok", "ok"]
    assert verdicts(compare(plain, [cpu * 1.1 for cpu in plain])) == ["OVER", "ok"]


def test_noise_does_not_hide_a_large_loss():
    plain = [1.0, 1.5, 1.0, 1.5, 1.0, 1.5]
    assert verdicts(compare(plain, [cpu * 1.1 for cpu in plain]))[0] == "OVER"


def test_widely_scattered_runs_do_not_prove_that_there_is_no_loss():
    assert verdicts(compare([1.0] * 6, [0.7, 1.1, 0.8, 1.2, 0.9, 1.0]))[0] == "unclear"


def test_too_few_rounds_have_no_verdict():
    assert verdicts(compare([1.0, 1.0], [2.0, 2.0])) == []


def test_missing_commands_of_a_job_are_named():
    assert joblist.missing_commands("sh") == ""
    assert joblist.missing_commands("sh", "no-such-command") == "no no-such-command"


def test_time_unused_by_short_jobs_is_given_to_long_ones():
    some = [types.SimpleNamespace(name=name, seconds=seconds, rounds=10)
            for name, seconds in (("short", 1), ("long", 100), ("longer", 200))]
    budget = jobs.Budget(110, some, 1, None)
    assert budget.take(some[0]) == pytest.approx(50, abs=5)  # the job needs only 10 of these seconds
    assert budget.take(some[1]) == pytest.approx(55, abs=5)
    assert budget.take(some[2]) == pytest.approx(110, abs=5)


def test_the_summary_has_a_row_for_each_goal_and_a_column_for_each_tracker():
    plain = [1.0] * 3
    measured = [{"job": "a | b", "tracked": [compare(plain, plain).as_json()] * 2},
                {"job": "c", "skipped": "no GPU"}]
    lines = jobs.summary(["before", "after"], measured).splitlines()
    assert lines[0] == "| job | goal | before | after |"
    assert len(lines) == 2 + len(joblist.HARMLESS)
    assert lines[2].startswith("| a \\| b | job's CPU grows") and lines[2].count("ok: 0 %") == 2
