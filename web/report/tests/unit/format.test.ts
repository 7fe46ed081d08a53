import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import * as format from "../../src/format";

// The cases of tests/unit/test_number.c: the page and the text report must agree.
const cases: Record<string, [number | null, string][]> = JSON.parse(
  readFileSync(new URL("../../../../tests/unit/number_cases.json", import.meta.url), "utf8"),
);
const { bytes, bytesPerSecond: rate, duration, energy, percent, short, count } = format;
const { memoryStep: memory_step, timeStep: time_step } = format;
const formats: Record<string, (value: number) => string> = {
  bytes,
  rate,
  duration,
  energy,
  percent,
  short,
  count,
  memory_step,
  time_step,
};

describe("numbers read as in the text report", () => {
  it.each(Object.keys(cases))("%s", (name) => {
    for (const [value, text] of cases[name]!)
      expect(formats[name]!(value ?? Number.NaN)).toBe(text);
  });
});

describe("axes", () => {
  it("ticks have no trailing zeros", () => {
    expect(format.units.bytes.tick(2.5e9)).toBe("2.5 GB");
    expect(format.units.bytes.tick(1e9)).toBe("1 GB");
    expect(format.units.bytesPerSecond.tick(100e6)).toBe("100 MB/s");
    expect(format.units.cores.tick(10)).toBe("10");
    expect(format.units.percent.tick(0.5)).toBe("50 %");
    expect(format.units.count.tick(0)).toBe("0");
  });

  it("ticks that are close to each other differ", () => {
    const ticks = (unit: format.Unit, step: number) =>
      [1, 2, 3, 4].map((count) => unit.tick(count * step));
    expect(ticks(format.units.percent, 2e-4)).toEqual(["0.02 %", "0.04 %", "0.06 %", "0.08 %"]);
    expect(ticks(format.units.percent, 2.5e-3)).toEqual(["0.25 %", "0.5 %", "0.75 %", "1 %"]);
    expect(ticks(format.units.cores, 2e-3)).toEqual(["0.002", "0.004", "0.006", "0.008"]);
  });

  it("a range names its unit once", () => {
    expect(format.rangeText(format.units.bytes, 1.28e9, 1.35e9)).toBe("1.28–1.35 GB");
    expect(format.rangeText(format.units.bytes, 950e6, 1.35e9)).toBe("950 MB–1.35 GB");
    expect(format.rangeText(format.units.count, 9, 10)).toBe("9–10");
    expect(format.rangeText(format.units.count, 9, 9)).toBe("9");
  });

  it("moments have at most two units", () => {
    expect(format.moment(0)).toBe("0");
    expect(format.moment(0.25)).toBe("250 ms");
    expect(format.moment(1.5)).toBe("1.5 s");
    expect(format.moment(90)).toBe("1 min 30 s");
    expect(format.moment(3600)).toBe("1 h");
    expect(format.moment(90000)).toBe("1 d 1 h");
  });
});
