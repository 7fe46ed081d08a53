# SPDX-License-Identifier: Apache-2.0
"""rows.py - figures of the bench with their floors and limits, and the table of these rows."""
import dataclasses
import math
import statistics


@dataclasses.dataclass
class Row:
    """One figure. `value`, `floor` and `limit` are in `unit`; None: there is no such value.
    `spread` is the standard error of the value."""
    name: str
    unit: str
    value: float
    floor: float = None
    limit: float = None
    limit_is: str = ""  # how the limit is derived: "1.5 x floor"
    spread: float = 0.0
    more: dict = dataclasses.field(default_factory=dict)  # written only to the JSON file

    @property
    def verdict(self):
        if self.limit is None:
            return ""
        if self.value <= self.limit:
            return "ok"
        return "unclear" if self.value - 2 * self.spread <= self.limit else "OVER"

    def as_json(self):
        return {**dataclasses.asdict(self), "verdict": self.verdict or None}


def spread_of(values):
    """Returns the standard error of a median, derived from the median distance to it, so that
    outliers do not count."""
    if len(values) < 3:
        return 0.0
    middle = statistics.median(values)
    distance = statistics.median(abs(value - middle) for value in values)
    return 1.253 * 1.4826 * distance / math.sqrt(len(values))


def number(value, unit):
    if value is None:
        return ""
    digits = 0 if abs(value) >= 100 else 2 if abs(value) < 10 else 1
    return f"{value:,.{digits}f} {unit}".rstrip()


def format_table(rows):
    """Returns the lines of the table, with aligned columns."""
    lines = [("figure", "value", "floor", "limit", "", "verdict")]
    for row in rows:
        value = number(row.value, row.unit)
        if row.spread:
            value = f"{value} ±{row.spread / abs(row.value or 1) * 100:.0f} %" \
                if row.unit != "%" else f"{value} ±{row.spread:.2f}"
        lines.append((row.name, value, number(row.floor, row.unit), number(row.limit, row.unit),
                      row.limit_is, row.verdict))
    widths = [max(len(line[i]) for line in lines) for i in range(6)]
    aligned = [f"{line[0]:<{widths[0]}}  {line[1]:>{widths[1]}}  {line[2]:>{widths[2]}}  "
               f"{line[3]:>{widths[3]}}  {line[4]:<{widths[4]}}  {line[5]}".rstrip()
               for line in lines]
    return [aligned[0], "-" * max(map(len, aligned)), *aligned[1:]]
