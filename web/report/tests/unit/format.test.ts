import { describe, expect, it } from "vitest";
import * as format from "../../src/format";

// The same cases as tests/unit/test_number.c: the page and the text report must agree.
describe("numbers read as in the text report", () => {
  it.each([
    [0, "0 B"],
    [999, "999 B"],
    [999.5, "1.00 kB"],
    [1234567, "1.23 MB"],
    [99.96e6, "100 MB"],
    [999.6e6, "1.00 GB"],
    [25234767872, "25.2 GB"],
    [Number.NaN, "n/a"],
    [-1, "n/a"],
  ])("%d bytes", (value, text) => expect(format.bytes(value)).toBe(text));

  it.each([
    [0, "0 s"],
    [0.0000012, "1 us"],
    [0.4939, "494 ms"],
    [0.9996, "1.00 s"],
    [59.96, "1 min 00 s"],
    [318, "5 min 18 s"],
    [3599.6, "1 h 00 min"],
    [86400 * 7, "7 d 00 h"],
    [Number.NaN, "n/a"],
  ])("%d seconds", (value, text) => expect(format.duration(value)).toBe(text));

  it.each([
    [0, "0.0 %"],
    [0.0005, "<0.1 %"],
    [0.0994, "9.9 %"],
    [0.43, "43 %"],
    [1.2, "120 %"],
  ])("a share of %d", (value, text) => expect(format.percent(value)).toBe(text));

  it("energy, cores and requested amounts", () => {
    expect(format.energy(391e3)).toBe("391 kJ");
    expect(format.short(5.1667)).toBe("5.17");
    expect(format.memoryStep(512 * 2 ** 20)).toBe("512 MiB");
    expect(format.memoryStep(7 * 2 ** 30)).toBe("7 GiB");
    expect(format.timeStep(420)).toBe("7 min");
    expect(format.timeStep(4320)).toBe("1 h 12 min");
  });
});

describe("axes", () => {
  it("ticks have no zeros that say nothing", () => {
    expect(format.units.bytes.tick(2.5e9)).toBe("2.5 GB");
    expect(format.units.bytes.tick(1e9)).toBe("1 GB");
    expect(format.units.bytesPerSecond.tick(100e6)).toBe("100 MB/s");
    expect(format.units.cores.tick(10)).toBe("10");
    expect(format.units.percent.tick(0.5)).toBe("50 %");
    expect(format.units.count.tick(0)).toBe("0");
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
