// Several runs side by side: each is a column in a table, and a line in the charts.

import { type Chart, type Color, comparedColumns } from "./charts";
import { isKnown, isZero } from "./curve";
import { h, scrollArea, section } from "./dom";
import * as format from "./format";
import { type CurveChart, PlotList } from "./plot_list";
import { type Column, type Curve, elapsedOf, type Run, titleOf, valueAt } from "./report";
import { KEYS, type View, zoomTools } from "./run_view";
import { TimeAxis } from "./time_axis";
import { endingOf } from "./verdict";

export const COLORS: Color[] = ["main", "descendants", "first", "second", "fourth", "third"];

// Returns names that distinguish the runs.
export function runNames(runs: Run[]): string[] {
  const titles = runs.map(titleOf);
  return titles.map((title, index) => {
    const short = title.length > 40 ? `${title.slice(0, 39)}…` : title;
    return titles.filter((other) => other === title).length > 1 ? `${index + 1}: ${short}` : short;
  });
}

interface ComparedRow {
  name: string;
  text: (run: Run) => string;
  value?: (run: Run) => number;
}

function figure(name: string, path: string, text: (value: number) => string): ComparedRow {
  return {
    name,
    text: (run) => text(valueAt(run, path)),
    value: (run) => valueAt(run, path),
  };
}

const rows: ComparedRow[] = [
  { name: "Status", text: (run) => endingOf(run).text },
  { name: "Started", text: (run) => format.date(run.run.started_at) },
  { name: "Host", text: (run) => run.run.host ?? "" },
  { name: "Wall time", text: (run) => format.duration(elapsedOf(run)), value: elapsedOf },
  figure("CPU time", "cpu.total_seconds", format.duration),
  figure("Mean cores", "cpu.mean_cores", format.short),
  figure("Peak cores", "cpu.max_cores", format.short),
  figure("Peak memory", "memory.combined.total_rss_bytes", format.bytes),
  figure("Disk read", "io.read_bytes", format.bytes),
  figure("Disk written", "io.written_bytes", format.bytes),
  figure("Processes started", "processes.started", format.count),
  figure("GPUs busy on average", "gpu.job_utilization.mean_gpus", format.short),
  figure("Peak GPU memory", "gpu.memory.combined_bytes", format.bytes),
  figure("GPU energy", "energy.gpu_joules", format.energy),
];

// Returns the difference from the first run, as "+12 %" or "15 times".
export function changeText(value: number, first: number): string {
  if (!(value >= 0) || !(first > 0)) return "";
  const change = value / first - 1;
  if (change >= 9) return `${format.trimmed(format.short(value / first))} times`;
  const text = format.percent(Math.abs(change));
  return Math.abs(change) < 0.001 ? "" : `${change > 0 ? "+" : "−"}${text}`;
}

function table(runs: Run[], names: string[]): HTMLElement {
  const known = rows.filter(({ text }) => runs.some((run) => !["", "n/a"].includes(text(run))));
  return scrollArea(
    "Runs side by side",
    h(
      "table",
      { class: "compare", style: `--runs: ${runs.length}` },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          h("td"),
          ...names.map((name, index) =>
            h(
              "th",
              { scope: "col", class: "number" },
              h("span", {
                class: index < COLORS.length ? "swatch" : "swatch dashed",
                style: `--swatch: var(--${COLORS[index % COLORS.length]})`,
                "aria-hidden": "true",
              }),
              h("span", { title: name }, name),
            ),
          ),
        ),
      ),
      h(
        "tbody",
        {},
        ...known.map(({ name, text, value }) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, name),
            ...runs.map((run, index) => {
              const change = index > 0 && value ? changeText(value(run), value(runs[0]!)) : "";
              return h(
                "td",
                { class: "number" },
                value ? text(run).replaceAll(" ", "\u00a0") : text(run),
                change && h("small", {}, ` ${change}`),
              );
            }),
          ),
        ),
      ),
    ),
  );
}

// Resamples a column at other times: each point gets the value of the point that covers it.
function resampled(curve: Curve, column: Column, seconds: number[]): Column {
  let at = 0;
  const pick = seconds.map((end) => {
    while (at < curve.seconds.length && curve.seconds[at]! < end) at++;
    return at;
  });
  const take = (values: (number | null)[]) => pick.map((index) => values[index] ?? null);
  return {
    kind: column.kind,
    high: take(column.high),
    low: column.low && take(column.low),
    mean: column.mean && take(column.mean),
  };
}

// Returns the column of each run; for runs without it, the column `other`.
export function mergedCurve(runs: Run[], column: string, other = ""): Curve {
  const ends = new Set<number>();
  for (const { curve } of runs) for (const end of curve?.seconds ?? []) ends.add(end);
  const seconds = [...ends].sort((a, b) => a - b);
  const columns: Record<string, Column> = {};
  for (const [index, { curve }] of runs.entries()) {
    const found = curve?.columns[column] ?? curve?.columns[other];
    if (curve && isKnown(found)) columns[`run${index}`] = resampled(curve, found, seconds);
  }
  return { samples: seconds.length, seconds, columns };
}

export function compareView(runs: Run[]): View {
  const names = runNames(runs);
  const axis = new TimeAxis(Math.max(1e-3, ...runs.map((run) => elapsedOf(run) || 0)));
  const charts: CurveChart[] = [];
  for (const { title, note, column, other, figure, unit } of comparedColumns) {
    const curve = mergedCurve(runs, column, other);
    const columns = Object.values(curve.columns);
    if (columns.length === 0 || columns.every(isZero)) continue;
    const chart: Chart = {
      id: `compare-${column}`,
      title,
      note: note ?? "",
      unit,
      isTall: true,
      lines: names
        .map((label, index) => ({
          column: `run${index}`,
          label,
          color: COLORS[index % COLORS.length]!,
          style: "range" as const,
          dashed: index >= COLORS.length,
          peak: figure ? valueAt(runs[index]!, figure) : Number.NaN,
        }))
        .filter((line) => curve.columns[line.column]),
    };
    charts.push({ chart, curve });
  }
  const plots = new PlotList(charts, axis, []);
  const root = h(
    "div",
    { class: "run" },
    h("header", { class: "run-header" }, h("h1", { tabindex: "-1" }, `${runs.length} runs`)),
    section(
      "side-by-side",
      "Side by side",
      h("p", { class: "dim" }, "Changes are relative to the first run."),
      table(runs, names),
    ),
    charts.length > 0 &&
      section(
        "charts",
        "Over time",
        zoomTools(axis),
        plots.root,
        h("p", { class: "dim", id: "chart-keys" }, KEYS),
      ),
  );
  return {
    root,
    draw: (isFirst) => {
      plots.draw(isFirst);
    },
    resize: () => {
      plots.resize();
    },
  };
}
