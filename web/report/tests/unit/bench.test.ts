import { describe, expect, it } from "vitest";
import { ratioText, Scale } from "../../src/bench";
import type { BenchFigure } from "../../src/report";
import { pages } from "../fixtures";

describe("the scale of a box plot", () => {
  it("has round ticks, and the values inside", () => {
    const scale = new Scale(90, 240);
    expect(scale.ticks).toEqual([100, 150, 200]);
    expect(Number.parseFloat(scale.percent(90))).toBeGreaterThan(0);
    expect(Number.parseFloat(scale.percent(240))).toBeLessThan(100);
  });

  it("has room for values that are all equal, also to 0", () => {
    for (const value of [5, 0, 1e-9]) {
      const at = Number.parseFloat(new Scale(value, value).percent(value));
      expect(at).toBeGreaterThanOrEqual(0);
      expect(at).toBeLessThan(100);
    }
    expect(new Scale(0, 60).ticks[0]).toBe(0);
  });
});

describe("the ratio to the best command", () => {
  const figure = (): BenchFigure => pages.bench!().bench!.figures[0]!;

  it("has its interval", () => {
    expect(ratioText(figure(), 0)).toBe("3.00 times (2.85 to 3.15)");
    expect(ratioText(figure(), 1)).toBe("lowest");
    expect(ratioText(figure(), 2)).toBe("");
  });

  it("is not shown if no difference was found", () => {
    const same = figure();
    same.commands[0]!.differs = false;
    expect(ratioText(same, 0)).toBe("no difference found");
    expect(ratioText(same, 1)).toBe("");
    same.commands[0]!.p = null;
    expect(ratioText(same, 0)).toBe("too few runs");
  });
});
