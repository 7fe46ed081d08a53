// One chart: a heading with a legend, whose values follow the cursor, and the curves below it.

import uPlot from "uplot";
import type { Chart, Line } from "./charts";
import {
  capped,
  heldBack,
  highestIn,
  isReduced,
  meansOf,
  peakOf,
  scaledTo,
  stacked,
  type Values,
} from "./curve";
import { announce, h } from "./dom";
import { moment, rangeText, units } from "./format";
import { describe, drawMarks, drawPhases, type Labeled, type Span, topOf } from "./overlay";
import type { Column, Curve } from "./report";
import { color } from "./theme";
import type { TimeAxis } from "./time_axis";

// The plot areas of all charts and the lanes of the timeline start and end at the same x.
export const GUTTER_LEFT = 62;
export const GUTTER_RIGHT = 28; // half the width of a tick label
const HEIGHT = 124;
const HEIGHT_TALL = 168;
export const SELECTION_MIN = 6; // pixels
// Distances between ticks for units that cannot be divided.
const WHOLE_STEPS = Array.from({ length: 18 }, (_, power) => power).flatMap((power) =>
  [1, 2, 5].map((digit) => digit * 10 ** power),
);
const WHOLE_UNITS = [units.count, units.bytes, units.bytesPerSecond, units.celsius];
// A point covers the time since the previous point, and unknown points are not drawn: at any x,
// a line has the value that the legend shows.
const STEPS = uPlot.paths.stepped!({ align: -1, alignGaps: -1 });
const FONT = "11px system-ui, sans-serif";

function heightOf(chart: Chart): number {
  return chart.isTall ? HEIGHT_TALL : HEIGHT;
}

interface Item {
  line: Line;
  column: Column;
  area: Values; // the height of the line's area
  isShown: boolean;
  value: HTMLElement;
  button: HTMLButtonElement;
}

// Adds a point at 0, so that the first point covers the time before it.
function fromZero(seconds: number[], values: Values): Values {
  return (seconds[0] ?? 0) > 0 ? [values[0] ?? null, ...values] : values;
}

export class Plot {
  readonly root: HTMLElement;
  private readonly items: Item[];
  private readonly seconds: number[];
  private readonly canvas: HTMLElement;
  private readonly when: HTMLElement;
  private u: uPlot | null = null;
  private isFollowing = false;

  constructor(
    private readonly chart: Chart,
    private readonly curve: Curve,
    private readonly axis: TimeAxis,
    private readonly spans: Span[],
  ) {
    this.seconds = fromZero(curve.seconds, [...curve.seconds]) as number[];
    if ((curve.seconds[0] ?? 0) > 0) this.seconds[0] = 0;
    this.items = chart.lines.map((line) => this.item(line));
    this.fitAreas();
    this.when = h("span", { class: "when" }, "peak");
    this.canvas = h("div", {
      class: "plot",
      style: `height: ${heightOf(chart)}px`,
      role: "img",
      tabindex: "0",
      "aria-label": describe(chart, this.seconds, this.labeled()),
      "aria-describedby": "chart-keys",
      on: { keydown: (event) => this.key(event as KeyboardEvent) },
    });
    const title = h("h3", {}, chart.title);
    if (chart.note) title.append(h("small", {}, ` ${chart.note}`));
    this.root = h(
      "div",
      { class: "chart", id: `chart-${chart.id}` },
      h(
        "div",
        { class: "chart-head" },
        title,
        h(
          "div",
          { class: "legend", role: "group", "aria-label": `${chart.title}: lines` },
          this.when,
          ...this.items.map(({ button }) => button),
        ),
      ),
      this.canvas,
    );
    axis.onView(() => this.view());
    axis.onCursor(() => this.follow());
    this.legend();
    this.reserve();
  }

  private item(line: Line): Item {
    const value = h("span", { class: "value" });
    const swatch = h("span", {
      class: `swatch ${line.style === "stack" ? "area" : ""} ${line.dashed ? "dashed" : ""}`,
      style: `--swatch: var(--${line.color})`,
      "aria-hidden": "true",
    });
    const item: Item = {
      line,
      column: this.curve.columns[line.column]!,
      area: meansOf(this.curve.columns[line.column]!),
      isShown: !line.isHidden,
      value,
      button: h(
        "button",
        { type: "button", class: "legend-item", "aria-pressed": String(!line.isHidden) },
        swatch,
        h("span", {}, line.label),
        " ",
        value,
      ),
    };
    item.button.addEventListener("click", () => this.toggle(item));
    return item;
  }

  // The areas of a gauge must reach the line of the job, which is drawn through its highest
  // values.
  private fitAreas(): void {
    const areas = this.items.filter(({ line }) => line.style === "stack");
    const job = this.items.find(({ line }) => line.style === "peak" && line.color === "job");
    if (job?.column.kind !== "gauge") return;
    const highs = areas.map(({ column }) => column.high);
    const fitted = scaledTo(job.column.high, highs);
    for (const [index, item] of areas.entries()) item.area = fitted[index]!;
  }

  private toggle(item: Item): void {
    item.isShown = !item.isShown;
    item.button.setAttribute("aria-pressed", String(item.isShown));
    this.draw(this.width);
  }

  // Returns the lines whose peaks deserve a label.
  private labeled(): Labeled[] {
    const shown = this.items.filter(({ isShown }) => isShown);
    const own = shown.filter(({ line }) => line.color !== "host" && line.style !== "stack");
    return (own.length > 0 ? own : shown).map(({ line, column }) => ({
      column: line.column,
      label: line.label,
      color: color(line.color),
      values: fromZero(this.curve.seconds, column.high),
      figure: line.peak ?? Number.NaN,
    }));
  }

  // Returns the arrays and series of the visible lines. Areas come first, so that lines are
  // drawn over them.
  private layers(): { data: Values[]; series: uPlot.Series[]; bands: uPlot.Band[] } {
    const result = {
      data: [] as Values[],
      series: [] as uPlot.Series[],
      bands: [] as uPlot.Band[],
    };
    const add = (values: Values, series: uPlot.Series) => {
      result.data.push(heldBack(fromZero(this.curve.seconds, values)));
      result.series.push({ points: { show: false }, paths: STEPS, ...series });
      return result.series.length; // the index in uPlot's data, where 0 is the time
    };
    const shown = this.items.filter(({ isShown }) => isShown);
    const areas = shown.filter(({ line }) => line.style === "stack");
    const total = this.items.find(({ line }) => line.style === "peak")?.column.high ?? [];
    const tops = stacked(areas.map(({ area }) => area)).map((top) => capped(top, total));
    for (const [index, { line }] of areas.entries()) {
      const at = add(tops[index]!, {
        stroke: color(line.color),
        width: 1,
        fill: color(line.color, 0.45),
      });
      if (index > 0) result.bands.push({ series: [at, at - 1], fill: color(line.color, 0.45) });
    }
    for (const { line, column } of shown.filter(({ line }) => line.style !== "stack"))
      this.addLine(
        line,
        column,
        add,
        result.bands,
        areas.length === 0 && isFilled(line, shown.length),
      );
    return result;
  }

  private addLine(
    line: Line,
    column: Column,
    add: (values: Values, series: uPlot.Series) => number,
    bands: uPlot.Band[],
    isAlone: boolean,
  ): void {
    if (line.style === "range" && isReduced(column)) {
      const high = add(column.high, { stroke: color(line.color, 0.5), width: 1 });
      const low = add(column.low ?? column.high, { stroke: "transparent", width: 0 });
      bands.push({ series: [high, low], fill: color(line.color, 0.2) });
    }
    add(line.style === "peak" ? column.high : meansOf(column), {
      stroke: color(line.color),
      width: line.color === "host" ? 1 : 1.4,
      dash: line.dashed ? [4, 3] : undefined,
      fill: isAlone ? color(line.color, 0.1) : undefined,
    });
  }

  // Creates the chart again after a change of the theme or of the visible lines.
  draw(width: number): void {
    this.u?.destroy();
    const { data, series, bands } = this.layers();
    const labeled = this.labeled();
    const marked = this.marked();
    const grid = { stroke: color("grid"), width: 1 };
    const ticks = { show: false };
    this.u = new uPlot(
      {
        width,
        height: heightOf(this.chart),
        padding: [8, GUTTER_RIGHT, 0, 0],
        legend: { show: false },
        cursor: {
          y: false,
          points: { show: false },
          drag: { x: true, y: false, setScale: false },
        },
        scales: {
          x: { time: false, range: () => [this.axis.from, this.axis.to] },
          y: { range: () => [0, this.top(data)] },
        },
        axes: [
          {
            stroke: color("dim"),
            font: FONT,
            grid,
            ticks,
            size: 22,
            gap: 4,
            incrs: (_u, _axis, _min, _max, width) => [this.axis.step(width)],
            space: 1,
            splits: (_u, _axis, _min, _max, step) => this.axis.ticks(step),
            values: (_u, splits) => splits.map(moment),
          },
          {
            stroke: color("dim"),
            font: FONT,
            grid,
            ticks,
            size: GUTTER_LEFT,
            gap: 6,
            space: 24,
            incrs: WHOLE_UNITS.includes(this.chart.unit) ? WHOLE_STEPS : undefined,
            values: (_u, splits) => splits.map((split) => this.chart.unit.tick(split)),
          },
        ],
        series: [{}, ...series],
        bands,
        hooks: {
          drawClear: [(u) => drawPhases(u, this.spans)],
          draw: [(u) => drawMarks(u, this.chart, labeled, marked)],
          setCursor: [(u) => this.moved(u)],
          setSelect: [(u) => this.selected(u)],
        },
      },
      [this.seconds, ...data] as uPlot.AlignedData,
      this.canvas,
    );
    this.u.over.addEventListener("dblclick", () => this.axis.reset());
  }

  private top(data: Values[]): number {
    const { from, to } = this.axis;
    const highest = highestIn(this.seconds, data, from, to);
    const figures = this.items.map(({ line, isShown }) => (isShown ? (line.peak ?? 0) : 0));
    return topOf(this.chart, highest, figures, !this.axis.isZoomed);
  }

  private marked(): Values | null {
    const { mark } = this.chart;
    const item = mark && this.items.find(({ line }) => line.column === mark.column);
    return item?.isShown ? fromZero(this.curve.seconds, item.column.high) : null;
  }

  get isDrawn(): boolean {
    return this.u !== null;
  }

  get isInView(): boolean {
    return this.root.getBoundingClientRect().top < innerHeight;
  }

  get width(): number {
    return this.canvas.clientWidth;
  }

  resize(width: number): void {
    if (this.u && width > 0 && width !== this.u.width)
      this.u.setSize({ width, height: this.u.height });
  }

  private view(): void {
    this.u?.setScale("x", { min: this.axis.from, max: this.axis.to });
  }

  private selected(u: uPlot): void {
    const { left, width } = u.select;
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    if (width >= SELECTION_MIN)
      this.axis.zoom(u.posToVal(left, "x"), u.posToVal(left + width, "x"));
  }

  private moved(u: uPlot): void {
    if (this.isFollowing) return;
    const { left } = u.cursor;
    this.axis.point(left === undefined || left < 0 ? null : u.posToVal(left, "x"));
  }

  private follow(): void {
    const { u, axis } = this;
    if (!u) return;
    this.isFollowing = true;
    const left = axis.cursor === null ? -10 : u.valToPos(axis.cursor, "x");
    if (Math.abs((u.cursor.left ?? -10) - left) > 0.5)
      u.setCursor({ left, top: left < 0 ? -10 : 1 });
    this.isFollowing = false;
    this.legend();
  }

  // Returns the point that covers the cursor: the first point that ends at or after it.
  private indexAt(seconds: number): number {
    const ends = this.curve.seconds;
    let low = 0;
    let high = ends.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (ends[middle]! < seconds) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  private legend(): void {
    const { cursor } = this.axis;
    const index = cursor === null ? -1 : this.indexAt(cursor);
    this.when.textContent =
      cursor === null ? "peak" : `at ${moment(Number(cursor.toPrecision(4)))}`;
    for (const item of this.items)
      item.value.textContent = index < 0 ? this.peakText(item) : this.pointText(item, index);
  }

  // Reserves room for the values, so that the row does not move with the cursor.
  private reserve(): void {
    for (const item of this.items) item.value.style.minWidth = `${this.peakText(item).length}ch`;
  }

  // Returns the peak in the report, or else the highest sample.
  private peakText({ line, column }: Item): string {
    const figure = line.peak ?? Number.NaN;
    return this.chart.unit.text(
      Number.isNaN(figure) ? (peakOf(column.high)?.value ?? Number.NaN) : figure,
    );
  }

  // Returns the value drawn at a point; for a range, both of its ends.
  private pointText({ line, column, area }: Item, index: number): string {
    const at = (values: Values) => values[index] ?? Number.NaN;
    if (line.style === "peak") return this.chart.unit.text(at(column.high));
    if (line.style === "stack" || !isReduced(column)) return this.chart.unit.text(at(area));
    return rangeText(this.chart.unit, at(column.low ?? column.high), at(column.high));
  }

  private key(event: KeyboardEvent): void {
    const { axis } = this;
    const ends = this.curve.seconds;
    const move = (by: number) => {
      const index = axis.cursor === null ? (by > 0 ? -1 : ends.length) : this.indexAt(axis.cursor);
      const next = ends[Math.min(Math.max(index + by, 0), ends.length - 1)]!;
      if (next < axis.from || next > axis.to) axis.pan(by > 0 ? 0.5 : -0.5);
      axis.point(next);
      announce(
        `${moment(Number(next.toPrecision(4)))}: ${this.items.map(({ line, value }) => `${line.label} ${value.textContent}`).join(", ")}`,
      );
    };
    const actions: Record<string, () => void> = {
      ArrowLeft: () => (event.shiftKey ? axis.pan(-0.25) : move(-1)),
      ArrowRight: () => (event.shiftKey ? axis.pan(0.25) : move(1)),
      "+": () => axis.zoomBy(0.5),
      "=": () => axis.zoomBy(0.5),
      "-": () => axis.zoomBy(2),
      "0": () => axis.reset(),
      Home: () => axis.point(ends[0] ?? null),
      End: () => axis.point(ends.at(-1) ?? null),
      Escape: () => {
        axis.point(null);
        axis.reset();
      },
    };
    const action = actions[event.key];
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    action();
  }
}

// If there are no areas, the job's line is filled, and the host's if it is the only line.
function isFilled(line: Line, shown: number): boolean {
  return line.style === "peak" && (line.color === "job" || shown === 1);
}
