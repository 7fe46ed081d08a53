// The whole report of one run.

import { adviceOf } from "./advice";
import { cardsOf } from "./cards";
import { chartsOf } from "./charts";
import { button, h, section } from "./dom";
import { moment } from "./format";
import { headerOf } from "./header";
import { historyOf, serversOf } from "./history";
import { finish, later } from "./later";
import type { Span } from "./overlay";
import { PhaseStrip, phaseTable, spansOf } from "./phases";
import { PlotList } from "./plot_list";
import { type ProcessesView, processesOf } from "./processes";
import { ranksOf } from "./ranks";
import { elapsedOf, type Run } from "./report";
import { Sources } from "./sources";
import { TimeAxis } from "./time_axis";
import { usageOf } from "./usage";

export interface View {
  root: HTMLElement;
  draw(isFirst: boolean): void; // called when it is first shown, and when the theme changes
  resize(): void;
}

function rounded(seconds: number): number {
  return Number(seconds.toPrecision(4));
}

export function zoomTools(axis: TimeAxis): HTMLElement {
  const range = h("span", { class: "range" });
  const whole = button("Whole run", "Whole run", () => axis.reset());
  const update = () => {
    range.textContent = `${moment(rounded(axis.from))} to ${moment(rounded(axis.to))}`;
    whole.disabled = !axis.isZoomed;
  };
  axis.onView(update);
  update();
  return h(
    "div",
    { class: "tools", role: "group", "aria-label": "Zoom" },
    range,
    button("−", "Zoom out", () => axis.zoomBy(2)),
    button("+", "Zoom in", () => axis.zoomBy(0.5)),
    whole,
  );
}

export const KEYS =
  "Drag to zoom, double-click for the whole run. With the keyboard: arrows move the cursor, + and − zoom, Shift with an arrow pans, 0 shows the whole run.";

function chartsSection(run: Run, axis: TimeAxis, spans: Span[]): [HTMLElement?, PlotList?] {
  const { charts, flat } = chartsOf(run);
  if (charts.length === 0) return [];
  const curve = run.curve!;
  const plots = new PlotList(
    charts.map((chart) => ({ chart, curve })),
    axis,
    spans,
  );
  const { samples, seconds } = curve;
  const reduced =
    samples > seconds.length
      ? ` ${samples} samples are drawn as ${seconds.length} points; each keeps its highest, lowest and mean value.`
      : "";
  const zero = flat.length > 0 ? ` Not drawn because always zero: ${flat.join(", ")}.` : "";
  const root = section(
    "charts",
    "Over time",
    zoomTools(axis),
    spans.length > 0 && new PhaseStrip(spans, axis).root,
    plots.root,
    h("p", { class: "dim", id: "chart-keys" }, KEYS + reduced + zero),
  );
  return [root, plots];
}

// Creates the first screen at once, and the rest afterwards.
export function runView(run: Run, openRank?: (index: number) => void): View {
  const axis = new TimeAxis(Math.max(elapsedOf(run) || 0, run.curve?.seconds.at(-1) ?? 0, 1e-3));
  const spans = spansOf(run);
  const sources = new Sources(run);
  const [charts, plots] = chartsSection(run, axis, spans);
  const ranks = ranksOf(run, openRank);
  let processes: ProcessesView | null = null;
  const openSource = (path: string) => {
    finish();
    sources.open(path);
  };
  const root = h(
    "div",
    { class: "run" },
    headerOf(run),
    adviceOf(run),
    ...(ranks?.sections ?? []),
    usageOf(run, openSource),
    charts,
  );
  const fitTimeline = () => processes?.timeline?.resize(plots?.width ?? root.clientWidth);
  const addRest = () => {
    processes = processesOf(run, axis, spans);
    const parts = [
      processes?.root,
      phaseTable(run, axis),
      historyOf(run),
      serversOf(run),
      cardsOf(run),
      sources.root,
    ];
    for (const part of parts) if (part) root.append(part);
    fitTimeline();
  };
  return {
    root,
    draw: (isFirst) => {
      ranks?.maps?.draw();
      plots?.draw(isFirst);
      if (isFirst) later(addRest);
      fitTimeline();
    },
    resize: () => {
      ranks?.maps?.draw();
      plots?.resize();
      fitTimeline();
    },
  };
}
