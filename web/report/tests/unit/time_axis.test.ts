// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { TimeAxis } from "../../src/time_axis";

test("the number of ticks depends on the width, however long the run is", () => {
  for (const seconds of [0.001, 1, 3600, 864e4, 1e11, 1e18, 1e300]) {
    const ticks = new TimeAxis(seconds).ticks(900);
    expect(ticks.length).toBeGreaterThan(1);
    expect(ticks.length).toBeLessThanOrEqual(11);
    expect(ticks.at(-1)).toBeLessThanOrEqual(seconds);
  }
});
