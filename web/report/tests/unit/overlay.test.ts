import uPlot from "uplot";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { type Chart, chartsOf } from "../../src/charts";
import { drawMarks, type Labeled } from "../../src/overlay";
import { oomJob } from "../fixtures";

type Call = [name: string, ...numbers: unknown[]];

const bbox = { left: 62, top: 8, width: 800, height: 120 };

beforeAll(() => {
  uPlot.pxRatio = 1;
  vi.stubGlobal("document", {});
  vi.stubGlobal("getComputedStyle", () => ({ getPropertyValue: () => "#000000" }));
});

// Draws the marks over a chart of memory that grows until the end of the run, with an axis up
// to `top`.
function drawn(chart: Chart, top: number, lines: Labeled[] = []): Call[] {
  const calls: Call[] = [];
  const ctx = new Proxy({} as Record<string, unknown>, {
    get:
      (_, name: string) =>
      (...values: unknown[]) => {
        calls.push([name, ...values]);
        return { width: 6 * String(values[0]).length };
      },
    set: () => true,
  });
  const values = [1e9, 1e9, 2e9, 3e9];
  const u = {
    ctx,
    bbox,
    data: [[0, 1, 2, 3]],
    series: [{ idxs: [0, 3] }],
    scales: { x: { min: 0, max: 3 }, y: { min: 0, max: top } },
    valToPos: (value: number, scale: string) =>
      scale === "x"
        ? bbox.left + (value / 3) * bbox.width
        : bbox.top + (1 - value / top) * bbox.height,
  } as unknown as uPlot;
  drawMarks(u, chart, lines, lines.length > 0 ? null : values);
  return calls;
}

function memory(): Chart {
  return chartsOf(oomJob()).charts.find(({ id }) => id === "memory")!;
}

function expectInside(calls: Call[]): void {
  const room: Record<string, number> = { moveTo: 0, lineTo: 0, arc: 3, fillText: 0 };
  for (const [name, ...values] of calls) {
    if (!(name in room)) continue;
    const [x, y] = values.filter((value) => typeof value === "number") as [number, number];
    const width = name === "fillText" ? 6 * String(values[0]).length : room[name]!;
    expect(x - room[name]!).toBeGreaterThanOrEqual(bbox.left);
    expect(x + width).toBeLessThanOrEqual(bbox.left + bbox.width);
    expect(y - room[name]!).toBeGreaterThanOrEqual(bbox.top);
    expect(y + room[name]!).toBeLessThanOrEqual(bbox.top + bbox.height);
  }
}

describe("marks on a chart", () => {
  it("are inside it, though the peak is at its end", () => {
    const calls = drawn(memory(), 4.4e9);
    expectInside(calls);
    const texts = calls.filter(([name]) => name === "fillText").map(([, text]) => text);
    expect(texts).toEqual(["peak 3.99 GB, at most 4.00 GB", "limit 4 GB"]);
  });

  it("that are above the axis are arrows inside it", () => {
    const calls = drawn(memory(), 3.5e9);
    expectInside(calls);
    const texts = calls.filter(([name]) => name === "fillText").map(([, text]) => text);
    expect(texts).toEqual(["peak 3.99 GB, at most 4.00 GB ↑", "limit 4 GB ↑"]);
  });

  it("name the host if the job has none", () => {
    const values = [1e9, 2e9, 3e9, 3e9];
    const host = {
      column: "host_memory_used_bytes",
      label: "host",
      color: "#888",
      values,
      figure: Number.NaN,
    };
    const texts = drawn(memory(), 4.4e9, [host]).filter(([name]) => name === "fillText");
    expect(texts.map(([, text]) => text)).toContain("host 3.00 GB");
  });

  it("are drawn before all texts, so that no line strikes one through", () => {
    const calls = drawn(memory(), 4.4e9).map(([name]) => name);
    expect(Math.max(calls.lastIndexOf("stroke"), calls.lastIndexOf("fill"))).toBeLessThan(
      calls.indexOf("fillText"),
    );
    expect(calls.indexOf("fillRect")).toBeLessThan(calls.indexOf("fillText"));
  });
});
