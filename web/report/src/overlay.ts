// Marks drawn over the lines of a chart: phases, the limit, peaks and their bounds.

import uPlot from "uplot";
import type { Chart } from "./charts";
import { type Peak, peakOf, type Values } from "./curve";
import { moment } from "./format";
import type { Measure } from "./report";
import { color } from "./theme";

export interface Span {
  name: string;
  from: number;
  to: number;
}

// A line whose peak is labeled.
export interface Labeled {
  column: string;
  label: string;
  color: string;
  values: Values;
  figure: number; // the line's peak in the report; NaN: unknown
}

interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

const FONT = "11px system-ui, sans-serif";
const LABELS_MAX = 2;
const NAME_MAX = 20; // in characters; a longer name is identified by the color of its mark
// Peaks much lower than the highest peak are not labeled.
const NOTABLE_PEAK = 0.25;
// A limit that is further above the data than this would flatten the curves, so its name is
// shown at the top instead.
const LIMIT_IN_VIEW = 2.5;
const BOUND_USEFUL = 2;
// Leaves room for a label above the highest value.
const LABEL_ROOM = 1.3;
const LABEL_ROOM_TALL = 1.22;
const ROUNDING = 0.001;

// A bound of more than twice the value is of little use.
export function usefulBound(figure: Measure): number | null {
  const { value, high } = figure;
  if (value === null || typeof high !== "number") return null;
  return high > value && high < BOUND_USEFUL * value ? high : null;
}

export function isLimitInView(chart: Chart, peak: number): boolean {
  return chart.limit !== undefined && chart.limit.value <= LIMIT_IN_VIEW * peak;
}

// Returns the top of the y axis. The peaks in the report may be above the peaks of the samples, but
// they belong to the whole run: if only part of the run is shown, a peak far above it would
// flatten the curves.
export function topOf(chart: Chart, peak: number, figures: number[] = [], isWhole = false): number {
  const room = chart.isTall ? LABEL_ROOM_TALL : LABEL_ROOM;
  if (chart.maximum !== undefined) return Math.max(chart.maximum, peak) * room;
  const bound = chart.mark ? (usefulBound(chart.mark.figure) ?? chart.mark.figure.value ?? 0) : 0;
  const isNear = (figure: number) => figure > 0 && (isWhole || figure < 2 * peak);
  const highest = Math.max(peak, ...[bound, ...figures].filter(isNear));
  const withLimit = isLimitInView(chart, highest)
    ? Math.max(highest * 1.15, chart.limit!.value * 1.08)
    : highest * room;
  return withLimit > 0 ? withLimit : 1;
}

function ratio(): number {
  return uPlot.pxRatio;
}

export function drawPhases(u: uPlot, spans: Span[]): void {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  for (const [index, span] of spans.entries()) {
    const left = u.valToPos(span.from, "x", true);
    const right = u.valToPos(span.to, "x", true);
    ctx.fillStyle = color("phase", index % 2 === 0 ? 0.13 : 0.06);
    ctx.fillRect(left, bbox.top, right - left, bbox.height);
    ctx.fillStyle = color("phase", 0.45);
    ctx.fillRect(left, bbox.top, ratio(), bbox.height);
  }
  ctx.restore();
}

type Align = "center" | "right";

interface Label extends Box {
  text: string;
  ink: string;
}

const DOT = 3; // radius of a marker in pixels

// Texts are placed first and drawn last, on the color of the card, so that no line crosses
// them.
class Labels {
  private readonly placed: Label[] = [];

  constructor(private readonly u: uPlot) {
    this.u.ctx.font = scaledFont();
  }

  // Places a text inside the plot: above y, or beside x if there is no room above. Returns
  // false if there is no room at all.
  place(text: string, x: number, y: number, ink: string, align: Align = "center"): boolean {
    const { ctx, bbox } = this.u;
    const pad = 4 * ratio();
    const width = ctx.measureText(text).width;
    const height = 13 * ratio();
    const top = Math.max(y - height - pad, bbox.top + ratio());
    const isBeside = align === "center" && top + height > y - DOT * ratio();
    const [first, last] = [bbox.left + pad, bbox.left + bbox.width - width - pad];
    const besides = [x + 2 * pad, x - 2 * pad - width].filter((at) => at >= first && at <= last);
    const above = align === "right" ? x - width : x - width / 2;
    const lefts = isBeside ? besides : [Math.min(Math.max(above, first), last)];
    for (const left of lefts) {
      const box = { left, top, right: left + width, bottom: top + height };
      if (this.placed.some((other) => overlaps(other, box))) continue;
      this.placed.push({ ...box, text, ink });
      return true;
    }
    return false;
  }

  draw(): void {
    const { ctx } = this.u;
    const margin = 2 * ratio();
    ctx.textAlign = "left";
    ctx.textBaseline = "top";
    for (const { text, ink, left, top, right, bottom } of this.placed) {
      ctx.fillStyle = color("panel", 0.85);
      ctx.fillRect(left - margin, top, right - left + 2 * margin, bottom - top);
      ctx.fillStyle = ink;
      ctx.fillText(text, left, top + ratio());
    }
  }
}

function overlaps(a: Box, b: Box): boolean {
  const gap = 3 * ratio();
  return a.left < b.right + gap && b.left < a.right + gap && a.top < b.bottom && b.top < a.bottom;
}

function scaledFont(): string {
  return FONT.replace("11px", `${11 * ratio()}px`);
}

function drawLimitLine(u: uPlot, { limit }: Chart): void {
  const { ctx, bbox } = u;
  if (!limit || limit.value > u.scales.y!.max!) return;
  const y = Math.round(u.valToPos(limit.value, "y", true));
  ctx.strokeStyle = color("limit");
  ctx.lineWidth = 1.5 * ratio();
  ctx.setLineDash([6 * ratio(), 4 * ratio()]);
  ctx.beginPath();
  ctx.moveTo(bbox.left, y);
  ctx.lineTo(bbox.left + bbox.width, y);
  ctx.stroke();
}

// Places the name of the limit below its line, at the right end, or at the left end if a peak
// occupies the right one.
function nameLimit(u: uPlot, chart: Chart, labels: Labels): void {
  const { bbox } = u;
  const { limit } = chart;
  if (!limit) return;
  const isInView = limit.value <= u.scales.y!.max!;
  const text = `${limit.label} ${chart.unit.tick(limit.value)}${isInView ? "" : " ↑"}`;
  const y = isInView ? Math.round(u.valToPos(limit.value, "y", true)) + 20 * ratio() : bbox.top;
  for (const x of [bbox.left + bbox.width, bbox.left])
    if (labels.place(text, x, y, color("limit-text"), "right")) return;
}

// Returns the x of a mark whose whole width is inside the plot.
function markX(u: uPlot, seconds: number): number {
  const { left, width } = u.bbox;
  const room = (DOT + 1) * ratio();
  return Math.min(Math.max(u.valToPos(seconds, "x", true), left + room), left + width - room);
}

function drawDot(u: uPlot, x: number, y: number, ink: string): void {
  const { ctx } = u;
  ctx.fillStyle = ink;
  ctx.strokeStyle = color("panel");
  ctx.lineWidth = 1.5 * ratio();
  ctx.setLineDash([]);
  ctx.beginPath();
  ctx.arc(x, y, DOT * ratio(), 0, 2 * Math.PI);
  ctx.fill();
  ctx.stroke();
}

// Draws a diamond at the report's peak, above the samples, and a whisker up to its bound. If
// the axis ends below them, as it may when part of the run is shown, an arrow replaces them.
function drawMark(u: uPlot, chart: Chart, x: number, sampled: number, labels: Labels): void {
  const { ctx } = u;
  const figure = chart.mark!.figure;
  const value = figure.value!;
  const bound = usefulBound(figure);
  const most = u.scales.y!.max!;
  const at = (y: number) => u.valToPos(Math.min(y, most), "y", true);
  const size = 4 * ratio();
  ctx.strokeStyle = color("job");
  ctx.lineWidth = ratio();
  ctx.setLineDash([]);
  ctx.beginPath();
  ctx.moveTo(x, at(Math.min(sampled, value)));
  ctx.lineTo(x, at(bound ?? value));
  if (bound !== null && bound <= most) {
    ctx.moveTo(x - size, at(bound));
    ctx.lineTo(x + size, at(bound));
  }
  ctx.stroke();
  if (value <= most) {
    ctx.fillStyle = color("job");
    ctx.beginPath();
    ctx.moveTo(x, at(value) - size);
    ctx.lineTo(x + size, at(value));
    ctx.lineTo(x, at(value) + size);
    ctx.lineTo(x - size, at(value));
    ctx.fill();
  }
  const more = bound === null ? "" : `, at most ${chart.unit.text(bound)}`;
  const text = `peak ${chart.unit.text(value)}${more}${value <= most ? "" : " ↑"}`;
  labels.place(text, x, at(bound ?? value), color("ink"));
}

// Returns the peak in the report, if it is the peak of the whole run: samples may have missed
// it, and values of the curve have only four digits.
export function peakValue({ value, index }: Peak, { values, figure }: Labeled): number {
  const isWhole = peakOf(values)?.index === index;
  return isWhole && figure >= value * (1 - ROUNDING) ? figure : value;
}

function drawWhisker(u: uPlot, x: number, from: number, to: number, ink: string): void {
  const { ctx } = u;
  ctx.strokeStyle = ink;
  ctx.lineWidth = ratio();
  ctx.setLineDash([]);
  ctx.beginPath();
  ctx.moveTo(x, from);
  ctx.lineTo(x, to);
  ctx.stroke();
}

function drawPeaks(u: uPlot, chart: Chart, lines: Labeled[], labels: Labels, marked: number): void {
  const [first, last] = u.series[0]!.idxs ?? [0, 0];
  const peaks = lines
    .map((line) => ({ line, peak: peakOf(line.values, first, last) }))
    .filter(({ peak }) => peak !== null && peak.value > 0)
    .map(({ line, peak }) => ({ line, peak: peak!, value: peakValue(peak!, line) }))
    .sort((a, b) => b.value - a.value);
  const highest = Math.max(marked, peaks[0]?.value ?? 0);
  // A job too short for a sample has no line, so the peak shown is the host's.
  const isNamed = lines.length > 1 || marked > 0 || lines[0]?.label === "host";
  for (const { line, peak, value } of peaks.slice(0, LABELS_MAX)) {
    if (value < NOTABLE_PEAK * highest) continue;
    const isInView = value <= u.scales.y!.max!;
    const x = markX(u, u.data[0][peak.index]!);
    const y = isInView ? u.valToPos(value, "y", true) : u.bbox.top;
    const name = isNamed && line.label.length <= NAME_MAX ? line.label : "peak";
    const text = `${name} ${chart.unit.text(value)}${isInView ? "" : " ↑"}`;
    if (!labels.place(text, x, y - 2 * ratio(), color("ink"))) continue;
    drawWhisker(u, x, u.valToPos(peak.value, "y", true), y, line.color);
    if (isInView) drawDot(u, x, y, line.color);
  }
}

// Returns the peak of the marked column, if it is in view.
function markedPeak(u: uPlot, marked: Values): { x: number; value: number } | null {
  const peak = peakOf(marked);
  if (!peak) return null;
  const seconds = u.data[0][peak.index]!;
  const { min, max } = u.scales.x!;
  return seconds >= min! && seconds <= max! ? { x: markX(u, seconds), value: peak.value } : null;
}

export function drawMarks(u: uPlot, chart: Chart, lines: Labeled[], marked: Values | null): void {
  const { ctx } = u;
  ctx.save();
  const labels = new Labels(u);
  drawLimitLine(u, chart);
  const peak = marked && markedPeak(u, marked);
  if (peak) drawMark(u, chart, peak.x, peak.value, labels);
  const others = peak ? lines.filter(({ column }) => column !== chart.mark?.column) : lines;
  drawPeaks(u, chart, others, labels, peak?.value ?? 0);
  nameLimit(u, chart, labels);
  labels.draw();
  ctx.restore();
}

export function describe(chart: Chart, seconds: ArrayLike<number>, lines: Labeled[]): string {
  const parts = lines.map((line) => {
    const peak = peakOf(line.values);
    return peak
      ? `${line.label}: peak ${chart.unit.text(peakValue(peak, line))} at ${moment(Number((seconds[peak.index] ?? 0).toPrecision(4)))}`
      : "";
  });
  if (chart.limit) parts.push(`${chart.limit.label}: ${chart.unit.text(chart.limit.value)}`);
  return `${chart.title} over time. ${parts.filter(Boolean).join("; ")}.`;
}
