// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { moment } from "../../src/format";
import { TimeAxis } from "../../src/time_axis";

test("the number of ticks depends on the width, however long the run is", () => {
  for (const seconds of [0.001, 1, 3600, 864e4, 1e11, 1e18, 1e300]) {
    const axis = new TimeAxis(seconds);
    const ticks = axis.ticks(axis.step(900));
    expect(ticks.length).toBeGreaterThan(1);
    expect(ticks.length).toBeLessThanOrEqual(11);
    expect(ticks.at(-1)).toBeLessThanOrEqual(seconds);
  }
});

test("a phone has as many ticks as their texts have room for", () => {
  const phone = (seconds: number) => {
    const axis = new TimeAxis(seconds);
    return axis.ticks(axis.step(254)).map(moment);
  };
  expect(phone(0.8)).toEqual(["0", "200 ms", "400 ms", "600 ms", "800 ms"]);
  expect(phone(8.25)).toEqual(["0", "2 s", "4 s", "6 s", "8 s"]);
  expect(phone(94)).toEqual(["0", "30 s", "1 min", "1 min 30 s"]);
  expect(phone(3600)).toEqual(["0", "15 min", "30 min", "45 min", "1 h"]);
});
