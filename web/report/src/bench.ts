// The runs of `spoor bench`: a box plot for each figure, and the list of runs. The program
// computes the statistics.

import { visible } from "./command";
import { COLORS } from "./compare";
import { h, section } from "./dom";
import * as format from "./format";
import {
  type Bench,
  type BenchCell,
  type BenchFigure,
  elapsedOf,
  number,
  type Run,
  titleOf,
  valueAt,
} from "./report";
import type { View } from "./run_view";
import { Table, type TableColumn } from "./table";
import { endingOf } from "./verdict";

const texts: Record<string, (value: number) => string> = {
  seconds: format.duration,
  bytes: format.bytes,
  joules: format.energy,
};

function textOf(figure: BenchFigure, value: number | null): string {
  return (texts[figure.unit ?? ""] ?? format.short)(number(value)).replaceAll(" ", "\u00a0");
}

type Attributes = Record<string, string | number>;

function svg(tag: string, attributes: Attributes, ...children: Element[]): SVGElement {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

// The values of a figure, and the position of each value as a share of the width.
export class Scale {
  readonly ticks: number[];
  private readonly from: number;
  private readonly to: number;

  constructor(low: number, high: number) {
    const room = (high - low || Math.abs(high) || 1) * 0.06;
    this.from = Math.max(low >= 0 ? 0 : Number.NEGATIVE_INFINITY, low - room);
    this.to = high + room;
    const span = this.to - this.from;
    const power = 10 ** Math.floor(Math.log10(span / 3));
    const step = power * ([1, 2, 5, 10].find((factor) => span / (factor * power) <= 5) ?? 10);
    this.ticks = [];
    for (let at = Math.ceil(this.from / step); at * step <= this.to; at++)
      this.ticks.push(Number((at * step).toPrecision(12)));
  }

  percent(value: number): string {
    return `${((100 * (value - this.from)) / (this.to - this.from)).toFixed(2)}%`;
  }
}

const HEIGHT = 34;
const MIDDLE = HEIGHT / 2;

function line(x1: string, x2: string, y1: number, y2: number, style: string): SVGElement {
  return svg("line", { x1, x2, y1, y2, class: style });
}

// Dots that would hide each other are stacked.
function dots(cell: BenchCell, scale: Scale): SVGElement[] {
  return cell.values.map((value, index) =>
    svg("circle", {
      cx: scale.percent(value),
      cy: MIDDLE + [0, -6, 6, -3, 3][index % 5]!,
      r: 2.5,
      class: "dot",
    }),
  );
}

// The box spans the middle half of the runs; the line through it is the median, and the bar
// below it the confidence interval of the median.
function box(figure: BenchFigure, cell: BenchCell, scale: Scale): SVGElement {
  const at = (value: number | null) => scale.percent(number(value));
  const width = `${Number.parseFloat(at(cell.upper_quartile)) - Number.parseFloat(at(cell.lower_quartile))}%`;
  const grid = scale.ticks.map((tick) => line(at(tick), at(tick), 0, HEIGHT, "grid"));
  const median = at(cell.median);
  return svg(
    "svg",
    {
      class: "box-plot",
      height: HEIGHT,
      role: "img",
      "aria-label": `${textOf(figure, cell.min)} to ${textOf(figure, cell.max)}, median ${textOf(figure, cell.median)}`,
    },
    ...grid,
    line(at(cell.min), at(cell.max), MIDDLE, MIDDLE, "whisker"),
    svg("rect", { x: at(cell.lower_quartile), y: 6, width, height: HEIGHT - 12, class: "box" }),
    ...dots(cell, scale),
    line(median, median, 4, HEIGHT - 4, "median"),
    ...(cell.low === null
      ? []
      : [line(at(cell.low), at(cell.high), HEIGHT - 2, HEIGHT - 2, "interval")]),
  );
}

// Returns "2.65 times (2.64 to 2.67)".
export function ratioText(figure: BenchFigure, index: number): string {
  const cell = figure.commands[index]!;
  if (figure.commands.length < 2 || cell.median === null) return "";
  if (index === figure.best) return figure.commands.some(({ differs }) => differs) ? "lowest" : "";
  if (cell.p === null) return "too few runs";
  if (!cell.differs) return "no difference found";
  const ratio = format.short(number(cell.ratio));
  if (cell.ratio === null) return "more";
  return cell.ratio_low === null
    ? `${ratio} times`
    : `${ratio} times (${format.short(number(cell.ratio_low))} to ${format.short(number(cell.ratio_high))})`;
}

function intervalText(figure: BenchFigure, cell: BenchCell): string {
  return cell.low === null ? "" : `${textOf(figure, cell.low)} to ${textOf(figure, cell.high)}`;
}

function plot(bench: Bench, figure: BenchFigure): HTMLElement {
  const known = figure.commands.filter((cell) => cell.median !== null);
  const scale = new Scale(
    Math.min(...known.map((cell) => number(cell.min))),
    Math.max(...known.map((cell) => number(cell.max))),
  );
  const rows = figure.commands.map((cell, index) => {
    const name = visible(bench.commands[index]!.name);
    return h(
      "div",
      { class: "bench-row", style: `--swatch: var(--${COLORS[index % COLORS.length]})` },
      h("span", { class: "bench-name", title: name }, name),
      cell.median === null ? h("span", { class: "dim" }, "no run") : box(figure, cell, scale),
      h("span", { class: "bench-median" }, cell.median === null ? "" : textOf(figure, cell.median)),
      h("span", { class: "bench-note dim" }, intervalText(figure, cell)),
      h("span", { class: "bench-note dim" }, ratioText(figure, index)),
    );
  });
  const axis = h(
    "div",
    { class: "bench-axis", "aria-hidden": "true" },
    ...scale.ticks.map((tick) =>
      h("span", { style: `left: ${scale.percent(tick)}` }, format.trimmed(textOf(figure, tick))),
    ),
  );
  return h(
    "section",
    { class: "chart bench-figure", "aria-label": figure.label },
    h("h3", {}, figure.label),
    ...rows,
    h("div", { class: "bench-row" }, h("span"), axis),
  );
}

interface NumberedRun {
  index: number;
  run: Run;
}

function numeric(
  title: string,
  key: (run: Run) => number,
  text: (value: number) => string,
): TableColumn<NumberedRun> {
  return {
    title,
    key: ({ run }) => key(run),
    text: ({ run }) => (Number.isNaN(key(run)) ? "" : text(key(run))),
    kind: "number",
  };
}

function columns(open: (index: number) => void): TableColumn<NumberedRun>[] {
  return [
    {
      title: "Run",
      key: ({ index }) => index,
      text: ({ index }) => String(index + 1),
      kind: "number",
      isRowHeader: true,
      press: ({ index }) => open(index),
    },
    {
      title: "Command",
      key: ({ run }) => titleOf(run),
      text: ({ run }) => titleOf(run),
      kind: "code",
    },
    {
      title: "Status",
      key: ({ run }) => endingOf(run).text,
      text: ({ run }) => endingOf(run).text,
      isBad: ({ run }) => endingOf(run).outcome === "bad",
    },
    numeric("Time", elapsedOf, format.duration),
    numeric("CPU time", (run) => valueAt(run, "cpu.total_seconds"), format.duration),
    numeric("Peak memory", (run) => valueAt(run, "memory.combined.total_rss_bytes"), format.bytes),
  ];
}

// `open` opens the view of one of the runs.
export function benchView(bench: Bench, runs: Run[], open: (index: number) => void): View {
  const rows = runs.map((run, index) => ({ index, run }));
  const root = h(
    "div",
    { class: "run" },
    h(
      "header",
      { class: "run-header" },
      h("h1", { tabindex: "-1" }, format.counted(bench.commands.length, "command")),
      h("p", { class: "facts" }, format.counted(runs.length, "run")),
      bench.warnings.length > 0 &&
        h("ul", { class: "warnings" }, ...bench.warnings.map((text) => h("li", {}, visible(text)))),
    ),
    section(
      "figures",
      "Figures",
      ...bench.figures.map((figure) => plot(bench, figure)),
      h(
        "p",
        { class: "dim" },
        "Each dot is a run. The box has the middle half of the runs and the line in it is their median; the bar below is the 95 % interval of the median.",
      ),
    ),
    section(
      "runs-list",
      "Runs",
      new Table(columns(open), rows, { caption: "Runs", limit: 100 }).root,
    ),
  );
  return { root, draw: () => {}, resize: () => {} };
}
