# SPDX-License-Identifier: Apache-2.0
"""Figures of the cases of real.py: how each is judged, and a table of them."""
import dataclasses
import math

HEADER = ("case", "figure", "true", "nvidia-smi", "spoor", "deviation", "limit", "")


@dataclasses.dataclass
class Row:
    """A figure and its expected values. `judge` is one of:

      near   within `limit`, as a share, of the truth and of nvidia-smi's figure (`judged`)
      apart  like near, but `limit` is a difference in the figure's unit
      most   not above `limit`
      times  `smi` is at least `limit` times as much
      shown  not judged

    Without a limit, the figure is shown but not judged.
    """
    case: str
    figure: str
    spoor: float | None
    true: float | None = None
    smi: float | None = None
    judge: str = "shown"
    limit: float | None = None
    judged: tuple = ("true", "smi")
    fault: str = ""  # the reason why there is no figure

    @property
    def deviation(self):
        """Returns the largest difference to a reference that counts; None if there is nothing to
        compare."""
        if self.spoor is None:
            return None
        if self.judge == "times":
            return None if self.smi is None or self.spoor <= 0 else self.smi / self.spoor
        references = [getattr(self, name) for name in self.judged]
        distances = [self.distance(reference) for reference in references if reference is not None]
        return max(distances, key=abs, default=None)

    def distance(self, reference):
        difference = self.spoor - reference
        if self.judge == "apart" or difference == 0:
            return difference
        return difference / reference if reference else math.inf

    @property
    def is_failed(self):
        if self.fault:
            return True
        if self.limit is None:
            return False
        if self.judge == "most":
            return self.spoor is None or not self.spoor <= self.limit
        if self.deviation is None:
            return True
        if self.judge == "times":
            return not self.deviation >= self.limit
        return not abs(self.deviation) <= self.limit

    @property
    def verdict(self):
        if self.fault:
            return f"FAILED: {self.fault}"
        if self.limit is None:
            return ""
        return "FAILED" if self.is_failed else "ok"

    def cells(self):
        """Returns the value as text; "null" if unknown."""
        if self.fault:
            return [self.case, self.figure, "", "", "", "", "", self.verdict]
        return [self.case, self.figure, quantity(self.figure, self.true),
                quantity(self.figure, self.smi),
                "null" if self.spoor is None else quantity(self.figure, self.spoor),
                self.deviation_text(), self.limit_text(), self.verdict]

    def deviation_text(self):
        deviation = self.deviation
        if deviation is None or self.judge == "most":
            return ""
        if self.judge == "times":
            return f"{deviation:.1f} times less"
        if self.judge == "apart":
            sign = "+" if deviation >= 0 else "-"
            return sign + quantity(self.figure, abs(deviation))
        return f"{deviation:+.1%}"

    def limit_text(self):
        if self.limit is None:
            return ""
        if self.judge == "most":
            return f"at most {quantity(self.figure, self.limit)}"
        if self.judge == "times":
            return f"at least {self.limit:.0f}"
        return f"±{self.limit:.0%}" if self.judge == "near" else \
            f"±{quantity(self.figure, self.limit)}"


def quantity(figure, value):
    """Formats a value with a readable unit, which is derived from the figure's name."""
    if value is None:
        return ""
    for ending, factor, digits, unit in (("_bytes", 1 / (1 << 20), 1, " MiB"),
                                         ("_joules", 1, 0, " J"), ("_seconds", 1000, 3, " ms"),
                                         ("_gpus", 100, 1, " %"), ("_share", 100, 2, " %")):
        if figure.endswith(ending):
            return f"{value * factor:.{digits}f}{unit}"
    return f"{value:g}"


def measure(report, path):
    """Returns the value at a path such as "gpu.memory.main_bytes" of a report: a number, or
    None."""
    for key in path.split("."):
        report = report.get(key) if isinstance(report, dict) else None
    if isinstance(report, dict):
        report = report.get("value")
    return report if isinstance(report, (int, float)) and not isinstance(report, bool) else None


def format_table(rows):
    """Formats a table with aligned columns; numbers are aligned right."""
    table = [HEADER, *(row.cells() for row in rows)]
    widths = [max(len(line[i]) for line in table) for i in range(len(HEADER) - 1)]
    lines = []
    for cells in table:
        left = [cell.ljust(width) for cell, width in zip(cells[:2], widths)]
        right = [cell.rjust(width) for cell, width in zip(cells[2:], widths[2:])]
        lines.append("  ".join([*left, *right, cells[-1]]).rstrip())
    return lines


def format_markdown(rows, heading, notes):
    """Formats a Markdown section: heading, table, notes."""
    def line(cells):
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    return "\n".join([f"### {heading}", "", line(HEADER), "|---|---|---:|---:|---:|---:|---:|---|",
                      *(line(row.cells()) for row in rows), "", *(f"- {note}" for note in notes),
                      ""])
