// Arithmetic on the columns of a curve. A point covers the time since the previous point.

import type { Column, Curve } from "./report";

export type Values = (number | null)[];

export interface Peak {
  index: number;
  value: number;
}

export function isKnown(column: Column | undefined): column is Column {
  return column?.high.some((value) => value !== null) ?? false;
}

export function isZero(column: Column): boolean {
  return column.high.every((value) => value === null || value === 0);
}

// Returns whether a point covers several samples, of which it keeps the extremes.
export function isReduced(column: Column): boolean {
  return column.mean !== undefined || column.low !== undefined;
}

export function meansOf(column: Column): Values {
  return column.mean ?? column.high;
}

// A point covers the time since the previous point. A line begins at a known point, so the
// first known value is also drawn at the point before it.
export function heldBack(values: Values): Values {
  const first = values.findIndex((value) => typeof value === "number");
  return values.map((value, index) => (index === first - 1 ? values[first]! : value));
}

// Returns the highest value among the points that cover a part of from..to.
export function highestIn(seconds: number[], lines: Values[], from: number, to: number): number {
  const first = seconds.findIndex((end) => end >= from);
  const last = seconds.findIndex((end) => end >= to);
  const peaks = lines.map((values) => {
    const end = last < 0 ? values.length - 1 : last;
    return peakOf(values, first < 0 ? values.length : first, end)?.value ?? 0;
  });
  return Math.max(0, ...peaks);
}

// Returns the highest value among the points first..last.
export function peakOf(values: Values, first = 0, last = values.length - 1): Peak | null {
  let peak: Peak | null = null;
  for (let index = Math.max(first, 0); index <= last; index++) {
    const value = values[index];
    if (typeof value === "number" && (!peak || value > peak.value)) peak = { index, value };
  }
  return peak;
}

// Returns the mean over time of the known points.
export function meanOf(curve: Curve, column: Column): number {
  const means = meansOf(column);
  let sum = 0;
  let seconds = 0;
  for (const [index, value] of means.entries()) {
    const span = curve.seconds[index]! - (index > 0 ? curve.seconds[index - 1]! : 0);
    if (value === null || value === undefined || !(span > 0)) continue;
    sum += value * span;
    seconds += span;
  }
  return seconds > 0 ? sum / seconds : (peakOf(means)?.value ?? Number.NaN);
}

// Stacks each area on the areas before it; a value is unknown if any of its parts is.
export function stacked(parts: Values[]): Values[] {
  const stack: Values[] = [];
  for (const part of parts) {
    const below = stack.at(-1);
    stack.push(
      part.map((value, index) => {
        const base = below ? below[index] : 0;
        return value === null || base === null || base === undefined ? null : value + base;
      }),
    );
  }
  return stack;
}

// Scales the parts of a gauge to their total: the parts may be read less often than the total,
// and their highest values may occur at different moments. If the parts explain less than half
// of the total, they are unknown.
export function scaledTo(total: Values, parts: Values[]): Values[] {
  const factors = total.map((whole, index) => {
    const sum = parts.reduce((sum, part) => sum + (part[index] ?? Number.NaN), 0);
    if (whole === null || whole === sum) return 1;
    return sum >= whole / 2 ? whole / sum : Number.NaN;
  });
  return parts.map((part) =>
    part.map((value, index) => {
      const scaled = (value ?? Number.NaN) * factors[index]!;
      return Number.isNaN(scaled) ? null : scaled;
    }),
  );
}

// Parts and their total may be read at different moments, so limit each part to the total.
export function capped(values: Values, total: Values): Values {
  return values.map((value, index) => {
    const most = total[index];
    return value !== null && typeof most === "number" ? Math.min(value, most) : value;
  });
}

// Returns the columns as CSV, with the same names as in rows of samples.
export function columnName(name: string, column: Column): string {
  if (column.kind === "gauge") return name;
  if (name.endsWith("_cpu_seconds")) return name.replace(/seconds$/, "cores");
  if (name.endsWith("_joules")) return name.replace(/energy_joules$/, "power_watts");
  return `${name}_per_second`;
}

export function curveCsv(curve: Curve): string {
  const columns: [string, Values][] = [];
  for (const [name, column] of Object.entries(curve.columns)) {
    const title = columnName(name, column);
    columns.push([title, column.high]);
    if (column.low) columns.push([`${title}_low`, column.low]);
    if (column.mean) columns.push([`${title}_mean`, column.mean]);
  }
  const header = ["elapsed_seconds", ...columns.map(([title]) => title)].join(",");
  const rows = curve.seconds.map((seconds, index) =>
    [seconds, ...columns.map(([, values]) => values[index] ?? "")].join(","),
  );
  return `${[header, ...rows].join("\n")}\n`;
}

function csvCell(value: unknown): string {
  const text = value === null || value === undefined ? "" : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function rowsCsv(keys: readonly string[], rows: Record<string, unknown>[]): string {
  const lines = [keys, ...rows.map((row) => keys.map((key) => row[key]))];
  return `${lines.map((line) => line.map(csvCell).join(",")).join("\n")}\n`;
}
