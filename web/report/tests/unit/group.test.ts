import { describe, expect, it } from "vitest";
import { chartsOf } from "../../src/charts";
import { rankRun } from "../../src/group";
import { blend, rowsOf, rowsOfLine } from "../../src/heat_map";
import { measuresOf } from "../../src/report";
import { usageRows } from "../../src/usage";
import { endingOf, verdictOf } from "../../src/verdict";
import { cpuJob, sixteenRanks } from "../fixtures";
import { groupJob } from "../group_fixture";

describe("the verdict of a group", () => {
  it("names missing and idle ranks, the imbalance and the node that decides", () => {
    expect(verdictOf(sixteenRanks())).toEqual([
      "15 of 16 ranks reported; rank 7 on n02 has no end.",
      "The ranks are uneven: memory up to 1.26 times the mean (rank 14 on n04).",
      "Rank 12 on n04 was idle.",
      "Node n01 decides how much memory to request: 4.57 GB of 6.00 GB allowed (76 %); the other nodes held 2.40–4.46 GB.",
      "61 % of 16 cores were used.",
    ]);
    expect(endingOf(sixteenRanks())).toEqual({
      outcome: "unknown",
      text: "15 of 16 ranks reported",
    });
  });

  it("is short if many ranks are missing or failed", () => {
    const missing = Array.from({ length: 40 }, (_, rank) => rank);
    const run = groupJob(cpuJob(), { ranks: 60, nodes: 2, missing });
    for (const rank of run.rank_table!) rank.exit_code = 1;
    run.rank_table![1]!.signal = "SIGKILL";
    const [first, second] = verdictOf(run);
    expect(first).toMatch(/^20 of 60 ranks reported; .*rank 4 on n01 has no end and 35 more\.$/);
    expect(second).toMatch(
      /^20 ranks failed: rank 40 on n02 \(exit code 1\), rank 41 on n02 \(killed by SIGKILL\), .* and 15 more\.$/,
    );
  });

  it("states that ranks are balanced", () => {
    const run = sixteenRanks();
    run.group!.imbalance = { cpu: 1.05, memory: null, elapsed: 1 };
    expect(verdictOf(run)).toContain(
      "The ranks are balanced: CPU time up to 1.05 times the mean, run time up to 1.00 times the mean.",
    );
  });

  it("has no NaN if nothing is known", () => {
    const group = { ranks: 2, reported: 0, imbalance: { cpu: null }, missing: [] };
    expect(verdictOf({ run: {}, group, nodes: [], rank_table: [] })).toEqual([
      "0 of 2 ranks reported.",
    ]);
  });
});

describe("the sections of a group", () => {
  it("never compare the memory of all nodes with the limit of one", () => {
    const run = sixteenRanks();
    const chart = chartsOf(run).charts.find(({ id }) => id === "memory")!;
    expect([chart.note, chart.limit, chart.mark]).toEqual([
      "all nodes together",
      undefined,
      undefined,
    ]);
    const memory = usageRows(run).find(({ name }) => name === "Memory")!;
    expect([memory.note, memory.mean]).toEqual(["largest node", null]);
    run.nodes = run.nodes!.slice(0, 1);
    expect(chartsOf(run).charts.find(({ id }) => id === "memory")!.limit?.value).toBe(6e9);
  });

  it("leave the figures of the whole report alone", () => {
    expect([...measuresOf(sixteenRanks())].map(([path]) => path).join()).not.toMatch(/nodes|rank/);
  });

  it("have a report of each rank", () => {
    const run = rankRun(sixteenRanks(), 7); // rank 7 is missing
    expect(run.run.name).toBe("rank 8 on n03");
    expect(chartsOf(run).charts.map(({ id }) => id)).toEqual(["cpu", "memory"]);
    expect(verdictOf(run)[0]).toBe("Peak memory 1.30 GB.");
  });
});

describe("the heat map", () => {
  it("has a row for each rank, missing ones included", () => {
    const rows = rowsOf(sixteenRanks());
    expect(rows.map(({ rank }) => rank)).toEqual(Array.from({ length: 16 }, (_, rank) => rank));
    expect(rows.filter(({ index }) => index < 0).map(({ rank }) => rank)).toEqual([7]);
  });

  it("spreads all rows over its lines", () => {
    const lines = Array.from({ length: 600 }, (_, line) => rowsOfLine(line, 600, 1000));
    expect(lines[0]![0]).toBe(0);
    expect(lines.at(-1)![1]).toBe(1000);
    for (const [index, [from, to]] of lines.entries()) {
      expect(to).toBeGreaterThan(from);
      expect(from).toBe(lines[index - 1]?.[1] ?? 0);
    }
  });

  it("blends three colors", () => {
    const scale: [number, number, number][] = [
      [0, 0, 0],
      [100, 100, 100],
      [200, 0, 0],
    ];
    expect([0, 0.25, 0.5, 1].map((share) => blend(scale, share))).toEqual([
      [0, 0, 0],
      [50, 50, 50],
      [100, 100, 100],
      [200, 0, 0],
    ]);
  });
});
