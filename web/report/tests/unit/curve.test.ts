import { describe, expect, it } from "vitest";
import {
  capped,
  curveCsv,
  heldBack,
  highestIn,
  meanOf,
  peakOf,
  rowsCsv,
  scaledTo,
  stacked,
} from "../../src/curve";
import type { Curve } from "../../src/report";

describe("curves", () => {
  it("the peak is the highest of the requested points", () => {
    expect(peakOf([1, null, 5, 2])).toEqual({ index: 2, value: 5 });
    expect(peakOf([1, null, 5, 2], 3, 3)).toEqual({ index: 3, value: 2 });
    expect(peakOf([null])).toBeNull();
  });

  it("the mean weighs points by the time they cover", () => {
    const curve: Curve = { samples: 3, seconds: [1, 2, 10], columns: {} };
    expect(meanOf(curve, { kind: "gauge", high: [9, 9, 9], mean: [2, null, 4] })).toBeCloseTo(
      34 / 9,
    );
    expect(meanOf(curve, { kind: "gauge", high: [null, null, null] })).toBeNaN();
  });

  it("parts are stacked, and unknown if one is", () => {
    expect(
      stacked([
        [1, 2, null],
        [10, null, 30],
      ]),
    ).toEqual([
      [1, 2, null],
      [11, null, null],
    ]);
  });
});

describe("parts", () => {
  it("are not drawn above their total", () => {
    expect(capped([1, 5, null, 4], [3, 3, 3, null])).toEqual([1, 3, null, 4]);
  });
});

describe("parts of a gauge", () => {
  it("reach their total, whether they were read before it grew or at different moments", () => {
    const parts = scaledTo(
      [1350, 100, 80],
      [
        [600, 90, 30],
        [300, 30, 50],
      ],
    );
    expect(parts).toEqual([
      [900, 75, 30],
      [450, 25, 50],
    ]);
  });

  it("are unknown if they explain little of it, or one of them is unknown", () => {
    expect(
      scaledTo(
        [100, 100, null, 0],
        [
          [40, 90, 7, 0],
          [5, null, 8, 0],
        ],
      ),
    ).toEqual([
      [null, null, 7, 0],
      [null, null, 8, 0],
    ]);
  });
});

describe("points", () => {
  it("cover the time since the one before, and unknown ones stay unknown", () => {
    expect(heldBack([null, null, 2, null, 5])).toEqual([null, 2, 2, null, 5]);
    expect(heldBack([3, null, 2])).toEqual([3, null, 2]);
    expect(heldBack([null, null])).toEqual([null, null]);
  });

  it("that reach into the window count for its top", () => {
    const seconds = [0, 1, 2, 3];
    const lines = [
      [9, 1, 2, 8],
      [null, 3, null, null],
    ];
    expect(highestIn(seconds, lines, 0.5, 1.5)).toBe(3);
    expect(highestIn(seconds, lines, 1.2, 1.4)).toBe(2);
    expect(highestIn(seconds, lines, 1.2, 2.1)).toBe(8); // the point ends after the window
    expect(highestIn(seconds, lines, 3.5, 4)).toBe(0);
    expect(highestIn(seconds, [], 0, 3)).toBe(0);
  });
});

describe("CSV", () => {
  it("has the names of sample rows, and empty cells for unknown values", () => {
    const curve: Curve = {
      samples: 4,
      seconds: [1, 2],
      columns: {
        job_cpu_seconds: { kind: "rate", high: [2, null], low: [1, null], mean: [1.5, null] },
        job_rss_bytes: { kind: "gauge", high: [7, 8] },
        job_read_bytes: { kind: "rate", high: [0, 1] },
        host_gpu_energy_joules: { kind: "rate", high: [300, 310] },
      },
    };
    expect(curveCsv(curve)).toBe(
      "elapsed_seconds,job_cpu_cores,job_cpu_cores_low,job_cpu_cores_mean,job_rss_bytes," +
        "job_read_bytes_per_second,host_gpu_power_watts\n1,2,1,1.5,7,0,300\n2,,,,8,1,310\n",
    );
  });

  it("quotes characters that would end a cell", () => {
    expect(
      rowsCsv(
        ["name", "n"],
        [
          { name: 'a,"b"\n', n: null },
          { name: "c", n: 1 },
        ],
      ),
    ).toBe('name,n\n"a,""b""\n",\nc,1\n');
  });
});
