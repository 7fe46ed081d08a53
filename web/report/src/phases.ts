// The phases of the job: their names above the charts, and a table.

import { button, h, section } from "./dom";
import * as format from "./format";
import { assignLanes } from "./lanes";
import type { Span } from "./overlay";
import { GUTTER_LEFT, GUTTER_RIGHT } from "./plot";
import { number, type Phase, type Run, startOf, valueAt } from "./report";
import { Table, type TableColumn } from "./table";
import type { TimeAxis } from "./time_axis";

export function spansOf(run: Run): Span[] {
  return (run.phases ?? [])
    .map((phase) => {
      const from = startOf(phase, run);
      return { name: phase.name, from, to: from + number(phase.elapsed_seconds) };
    })
    .filter(({ from, to }) => to >= from);
}

const ROW = 22; // height of a row; overlapping phases are in different rows
// More tab stops would keep keyboard users from reaching the charts; the table lists all
// phases.
const TAB_STOPS_MAX = 30;

// A strip above the charts; clicking a name shows only that phase.
export class PhaseStrip {
  readonly root: HTMLElement;
  private readonly labels: [Span, HTMLElement][];

  constructor(
    spans: Span[],
    private readonly axis: TimeAxis,
  ) {
    const sorted = [...spans].sort((a, b) => a.from - b.from || b.to - a.to);
    const rows = assignLanes(sorted);
    this.labels = sorted.map((span, index) => [
      span,
      button(span.name, `Zoom to the phase ${span.name}`, () => axis.zoom(span.from, span.to), {
        title: `${span.name}: ${format.duration(span.to - span.from)}`,
        style: `top: ${rows[index]! * ROW}px`,
        tabindex: sorted.length > TAB_STOPS_MAX ? "-1" : undefined,
      }),
    ]);
    this.root = h(
      "div",
      {
        class: "phase-strip",
        role: "group",
        "aria-label": "Phases",
        style: `margin-left: ${GUTTER_LEFT}px; margin-right: ${GUTTER_RIGHT}px; height: ${(Math.max(0, ...rows) + 1) * ROW}px`,
      },
      ...this.labels.map(([, label]) => label),
    );
    axis.onView(() => this.place());
    this.place();
  }

  private place(): void {
    for (const [span, label] of this.labels) {
      const left = Math.max(0, this.axis.share(span.from));
      const right = Math.min(1, this.axis.share(span.to));
      label.style.left = `${left * 100}%`;
      label.style.width = `${Math.max(0, right - left) * 100}%`;
      label.hidden = right <= 0 || left >= 1;
    }
  }
}

export function phaseTable(run: Run, axis: TimeAxis): HTMLElement | null {
  const phases = run.phases ?? [];
  if (phases.length === 0) return null;
  const figure = (
    title: string,
    path: string,
    text: (value: number) => string,
  ): TableColumn<Phase> => ({
    title,
    key: (phase) => valueAt(phase, path),
    text: (phase) => (Number.isNaN(valueAt(phase, path)) ? "" : text(valueAt(phase, path))),
    kind: "number",
  });
  const columns: TableColumn<Phase>[] = [
    { title: "Phase", key: ({ name }) => name, text: ({ name }) => name, isRowHeader: true },
    {
      title: "Start",
      key: (phase) => startOf(phase, run),
      text: (phase) => format.duration(Math.max(0, startOf(phase, run))),
      kind: "number",
    },
    {
      title: "Time",
      key: (phase) => number(phase.elapsed_seconds),
      text: (phase) => format.duration(number(phase.elapsed_seconds)),
      kind: "number",
    },
    {
      title: "Share",
      key: (phase) => number(phase.elapsed_seconds),
      text: (phase) => format.percent(number(phase.elapsed_seconds) / axis.end),
      kind: "number",
    },
    figure("CPU time", "cpu.total_seconds", format.duration),
    figure("Mean cores", "cpu.mean_cores", format.short),
    figure("Peak memory", "memory.combined.total_rss_bytes", format.bytes),
    figure("Read", "io.read_bytes", format.bytes),
    figure("Written", "io.written_bytes", format.bytes),
    figure("GPU use", "gpu.job_utilization.mean_gpus", format.short),
    figure("GPU memory", "gpu.memory.combined_bytes", format.bytes),
  ];
  const shown = columns.filter(({ text }) => phases.some((phase) => text(phase) !== ""));
  const table = new Table(shown, phases, { caption: "Phases of the job", limit: 50 });
  return section("phases", "Phases", table.root);
}
