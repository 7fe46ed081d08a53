import { describe, expect, it } from "vitest";
import { shortened } from "../../src/command";
import { assignLanes } from "../../src/lanes";
import { coverage, startText } from "../../src/processes";
import {
  commandOf,
  measuresOf,
  type ProcessGroup,
  parsePageData,
  titleOf,
  valueAt,
} from "../../src/report";
import { fileName } from "../../src/save";
import { compareKeys } from "../../src/table";
import { TimeAxis } from "../../src/time_axis";
import { usageRows } from "../../src/usage";
import { buildJob, cpuJob, dataElement, HOSTILE, hostileJob, pageData, pages } from "../fixtures";

describe("the data", () => {
  it("cannot end its element, and comes back whole", () => {
    const data = pageData(hostileJob());
    const element = dataElement(data);
    expect(element.match(/<\/?script/g)).toHaveLength(2);
    const text = element.slice(element.indexOf(">") + 1, element.lastIndexOf("<"));
    expect(parsePageData(text).runs[0]!.run.host).toBe(HOSTILE);
  });

  it("of another schema is refused", () => {
    expect(() => parsePageData('{"schema": "spoor-page/9", "runs": []}')).toThrow("spoor-page/9");
  });

  it("unknown is never 0", () => {
    expect(valueAt(cpuJob(), "energy.gpu_joules")).toBeNaN();
    expect(valueAt(cpuJob(), "no.such.figure")).toBeNaN();
  });

  it("lists each measure once", () => {
    const paths = [...measuresOf(cpuJob())].map(([path]) => path);
    expect(paths).toContain("memory.combined.total_rss_bytes");
    expect(new Set(paths).size).toBe(paths.length);
  });

  it("quotes the words of a command as a shell needs it", () => {
    expect(commandOf({ run: { command: ["sh", "-c", "echo 'a b'"] } })).toBe(
      "sh -c 'echo '\\''a b'\\'''",
    );
    expect(commandOf({ run: { pid: 7 } })).toBe("process 7");
  });

  it("shows invisible characters and those that change the text direction", () => {
    const command = ["./e\u001b[31m", "a\n'b\\", "\u202etxt.exe", "\u{e0041}", "", "\u00fc"];
    expect(commandOf({ run: { command } })).toBe(
      "$'./e\\x1b[31m' $'a\\n\\'b\\\\' $'\\u202etxt.exe' $'\\U000e0041' '' '\u00fc'",
    );
    expect(titleOf({ run: { name: "a\u202eb\u0007" } })).toBe("a\\u202eb\\x07");
  });

  it("a text that is cut ends in an ellipsis", () => {
    expect(shortened("x".repeat(300))).toBe("x".repeat(300));
    expect(shortened("x".repeat(301))).toBe(`${"x".repeat(300)}\u2026`);
  });
});

describe("the fixtures", () => {
  it("have processes that add up to the job", () => {
    for (const run of [cpuJob(), buildJob()]) {
      const all = [...run.processes!.largest!, ...run.processes!.others!];
      const sum = all.reduce((total, { cpu_seconds }) => total + (cpu_seconds ?? 0), 0);
      expect(sum / valueAt(run, "cpu.total_seconds")).toBeCloseTo(1, 3);
    }
  });

  it("have usage without NaN", () => {
    for (const make of Object.values(pages))
      for (const run of make().runs) expect(usageRows(run).length).toBeGreaterThan(0);
  });
});

describe("lanes", () => {
  it("a lane is used again when its process has ended", () => {
    const lives = [
      { from: 0, to: 10 },
      { from: 1, to: 3 },
      { from: 2, to: 4 },
      { from: 3, to: 5 },
    ];
    expect(assignLanes(lives)).toEqual([0, 1, 2, 1]);
  });
});

describe("processes", () => {
  const group = (name: string | null, count: number | null) => ({
    name,
    count,
    cpu_seconds: 1,
    peak_rss_bytes: null,
  });

  it("that started before the run have a negative start", () => {
    expect(startText(-2.52)).toBe("−2.52 s");
    expect(startText(0)).toBe("0 s");
  });

  it("are counted, and the names of the others may not be known", () => {
    const run = cpuJob();
    const { largest } = run.processes!;
    const text = (...others: ProcessGroup[]) => coverage(run, largest!, others);
    expect(text(group("sh", 3))).toContain(
      "The 38 largest of 41 processes; the others are summed by name.",
    );
    expect(text(group(null, 3))).toContain("; the names of the others are not known.");
    expect(text(group("sh", 2), group(null, 1))).toContain("summed by name if it is known.");
    expect(text(group(null, 0), group(null, null))).toMatch(/^38 processes\. Together they used /);
    expect(coverage(run, largest!.slice(0, 1), [])).toMatch(/^1 process\. It used /);
  });
});

describe("the time axis", () => {
  it("stays inside the run", () => {
    const axis = new TimeAxis(100);
    axis.zoom(-10, 40);
    expect([axis.from, axis.to]).toEqual([0, 50]);
    axis.pan(10);
    expect([axis.from, axis.to]).toEqual([50, 100]);
    axis.reset();
    expect(axis.isZoomed).toBe(false);
  });

  it("zooms around the cursor", () => {
    const axis = new TimeAxis(100);
    axis.point(20);
    axis.zoomBy(0.5);
    expect([axis.from, axis.to]).toEqual([10, 60]);
    expect(axis.share(20)).toBeCloseTo(0.2);
  });

  it("cannot be zoomed to nothing", () => {
    const axis = new TimeAxis(100);
    axis.zoom(50, 50);
    expect(axis.to).toBeGreaterThan(axis.from);
  });

  it("has round ticks", () => {
    expect(new TimeAxis(3600).ticks(600)).toEqual([0, 600, 1200, 1800, 2400, 3000, 3600]);
  });
});

describe("tables", () => {
  it("sort numbers and texts, with unknown values last", () => {
    const sorted = (keys: (number | string)[], isDescending: boolean) =>
      [...keys].sort((a, b) => compareKeys(a, b, isDescending));
    expect(sorted([3, Number.NaN, 10], true)).toEqual([10, 3, Number.NaN]);
    expect(sorted([3, Number.NaN, 10], false)).toEqual([3, 10, Number.NaN]);
    expect(sorted(["b10", "", "b9"], false)).toEqual(["b9", "b10", ""]);
  });
});

describe("files", () => {
  it("have safe names", () => {
    expect(fileName("../../etc/passwd", ".json")).toBe("etc-passwd.json");
    expect(fileName(HOSTILE, ".csv")).toMatch(/^[\w.-]+\.csv$/);
    expect(fileName("", ".csv")).toBe("report.csv");
  });
});

describe("the mean of a usage", () => {
  it("is not above its peak", () => {
    const run = cpuJob();
    const columns = run.curve!.columns;
    columns.job_rss_bytes = { kind: "gauge", high: run.curve!.seconds.map(() => 1.235e9) };
    columns.job_read_bytes = { kind: "rate", high: run.curve!.seconds.map(() => 1) };
    run.memory = { combined: { total_rss_bytes: { value: 1.2346e9, source: "x", exact: true } } };
    const rows = usageRows(run);
    const memory = rows.find(({ name }) => name === "Memory")!;
    expect(memory.mean).toHaveProperty("value", 1.2346e9);
    const read = rows.find(({ name }) => name === "Disk read")!;
    expect(read.peak).toHaveProperty("value", (read.mean as { value: number }).value);
  });
});
