# SPDX-License-Identifier: Apache-2.0
"""Prints the table of outcomes."""

COLUMNS = "{:<20} {:<17} {:<22} {:>10} {:>10} {:>8} {:<7} {:>21} {:<24} {}"
HEADER = ("program", "setup", "figure", "true", "reported", "error", "", "bounds", "source",
          "verdict")


def quantity(name, value):
    if value is None:
        return "n/a"
    if name.endswith("_seconds"):
        return f"{value:.3f} s"
    if name.endswith(("_bytes", "_chars")):
        return f"{value / 1e6:.1f} MB"
    return f"{value:.0f}"


def line(outcome, row):
    bounds = ""
    if row.low is not None:
        high = "?" if row.high is None else quantity(row.figure, row.high)
        bounds = f"{quantity(row.figure, row.low)}-{high}"
    error = "" if row.error is None else f"{row.error:+.1%}"
    kind = "" if row.value is None else "exact" if row.exact else "sampled"
    verdict = f"FAILED: {row.fault}" if row.fault else "ok" + (f" ({row.note})" if row.note else "")
    return COLUMNS.format(outcome.case.name, f"{outcome.setup.name}, {outcome.setup.user}",
                          row.figure, quantity(row.figure, row.true),
                          quantity(row.figure, row.value), error, kind, bounds, row.source or "",
                          verdict)


def show(outcomes):
    print(COLUMNS.format(*HEADER))
    for outcome in outcomes:
        for row in outcome.rows:
            print(line(outcome, row))
        for fault in outcome.faults:
            print(f"{outcome.case.name:<20} {outcome.setup.name}, {outcome.setup.user}"
                  f"  FAILED: {fault}")
        if outcome.skip:
            print(f"{outcome.case.name:<20} {outcome.setup.name}, {outcome.setup.user}"
                  f"  skipped: {outcome.skip}")
