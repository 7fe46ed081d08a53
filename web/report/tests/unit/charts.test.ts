import { describe, expect, it } from "vitest";
import { chartsOf } from "../../src/charts";
import { changeText, mergedCurve, runNames } from "../../src/compare";
import { type Labeled, peakValue, topOf, usefulBound } from "../../src/overlay";
import { gpusOf, type Run, valueAt } from "../../src/report";
import { usageRows } from "../../src/usage";
import { cpuJob, emptyJob, gpuJob, manyGpusJob, systemReport } from "../fixtures";

const titles = (run: Run) => chartsOf(run).charts.map(({ title }) => title);

describe("the charts of a run", () => {
  it("are those it has data for", () => {
    expect(titles(cpuJob())).toEqual([
      "CPU",
      "Memory",
      "Processes and threads",
      "Disk",
      "Network",
      "Pressure",
    ]);
    expect(titles(gpuJob())).toEqual(
      expect.arrayContaining(["GPU use", "GPU memory", "GPU power", "GPU temperature"]),
    );
    expect(titles(emptyJob())).toEqual([]);
    expect(titles({ run: {} })).toEqual([]);
  });

  it("those that are 0 all the time are named, not drawn", () => {
    const run = cpuJob();
    run.curve!.columns.host_network_sent_bytes!.high.fill(0);
    run.curve!.columns.host_network_received_bytes!.high.fill(0);
    expect(titles(run)).not.toContain("Network");
    expect(chartsOf(run).flat).toEqual(["Network"]);
  });

  it("RDMA and NFS have lines and rows if bytes were moved", () => {
    const run = cpuJob();
    const { columns } = run.curve!;
    const lines = () => chartsOf(run).charts.find(({ id }) => id === "network")!.lines;
    const rows = () => usageRows(run).filter(({ name }) => /^(RDMA|NFS)/.test(name));
    columns.host_rdma_sent_bytes = structuredClone(columns.host_network_sent_bytes!);
    columns.host_nfs_read_bytes = structuredClone(columns.host_network_sent_bytes!);
    columns.host_nfs_read_bytes.high.fill(0);
    run.network!.rdma = { sent_bytes: { value: 7e9, source: "sysfs", exact: false } };
    run.network!.nfs = { read_bytes: { value: 0, source: "procfs", exact: true } };
    expect(lines().map(({ label }) => label)).toEqual([
      "received by the host",
      "sent by the host",
      "RDMA sent",
    ]);
    expect(rows()).toMatchObject([{ name: "RDMA sent", note: "host" }]);
  });

  it("main, descendants, host and limit have the same color everywhere", () => {
    for (const run of [cpuJob(), gpuJob(), manyGpusJob()])
      for (const { lines } of chartsOf(run).charts)
        for (const { label, color } of lines)
          if (["main", "descendants", "host"].includes(label)) expect(color).toBe(label);
  });

  it("figures of the whole host have the color of the host", () => {
    for (const { lines } of chartsOf(cpuJob()).charts)
      for (const { column, color } of lines)
        if (column.startsWith("host_")) expect(color).toBe("host");
  });

  it("a machine without a job shows its host", () => {
    const { charts } = chartsOf(systemReport());
    const memory = charts.find(({ id }) => id === "memory")!;
    expect(memory.lines).toMatchObject([{ label: "host", isHidden: false }]);
    expect(memory.limit).toEqual({ value: 540e9, label: "machine" });
  });

  it("proportional memory replaces resident memory", () => {
    const run = cpuJob();
    const { columns } = run.curve!;
    columns.job_pss_bytes = columns.job_rss_bytes!;
    const memory = () => chartsOf(run).charts[1]!.lines.map(({ column }) => column);
    expect(memory()).not.toContain("job_pss_bytes");
    delete columns.job_rss_bytes;
    expect(memory()).toContain("job_pss_bytes");
  });

  it("show the work of one GPU, or the SMs of several", () => {
    const columns = (run: Run) =>
      chartsOf(run)
        .charts.find(({ id }) => id === "gpu-work")
        ?.lines.map(({ column }) => column);
    const one = gpuJob();
    expect(columns(one)).toBeUndefined();
    for (const name of ["sm", "tensor", "dram"])
      one.curve!.columns[`gpu0_${name}_active`] = one.curve!.columns.gpu0_utilization!;
    expect(columns(one)).toEqual(["gpu0_sm_active", "gpu0_tensor_active", "gpu0_dram_active"]);
    const many = manyGpusJob();
    many.curve!.columns.gpu1_sm_active = many.curve!.columns.gpu1_utilization!;
    many.curve!.columns.gpu1_dram_active = many.curve!.columns.gpu1_utilization!;
    expect(columns(many)).toEqual(["gpu1_sm_active"]);
  });

  it("energy replaces unknown power", () => {
    const run = gpuJob();
    delete run.curve!.columns.gpu0_power_watts;
    run.curve!.columns.host_gpu_energy_joules = {
      kind: "rate",
      high: run.curve!.seconds.map(() => 300),
    };
    expect(chartsOf(run).charts.find(({ id }) => id === "power")!.lines).toMatchObject([
      { column: "host_gpu_energy_joules" },
    ]);
  });
});

describe("the y axis", () => {
  const chart = chartsOf(cpuJob()).charts[0]!;

  it("includes a limit that is near, and not one that is far away", () => {
    expect(topOf(chart, 11)).toBeGreaterThan(12);
    expect(topOf({ ...chart, limit: { value: 64, label: "limit" } }, 11)).toBeLessThan(20);
  });

  it("is never empty", () => {
    expect(topOf({ ...chart, limit: undefined }, 0)).toBe(1);
  });

  it("includes a bound of the peak that is near", () => {
    const measure = { value: 10, source: "x", exact: false };
    expect(usefulBound({ ...measure, high: 11 })).toBe(11);
    expect(usefulBound({ ...measure, high: 20 })).toBeNull();
    expect(usefulBound({ ...measure, high: null })).toBeNull();
    expect(usefulBound(measure)).toBeNull();
  });
});

describe("the use of GPUs", () => {
  it("is the sum if the use of each is unknown", () => {
    const run = cpuJob();
    run.curve!.columns.host_gpu_utilization_gpus = run.curve!.columns.job_cpu_seconds!;
    const chart = chartsOf(run).charts.find(({ title }) => title === "GPU use");
    expect(chart?.lines.map(({ column }) => column)).toEqual(["host_gpu_utilization_gpus"]);
  });

  it("includes GPUs without an identifier", () => {
    const run = cpuJob();
    run.host!.gpus = [{ index: 0, uuid: null, memory_bytes: 16e9 }];
    run.limits!.gpus = [null];
    expect(gpusOf(run)).toHaveLength(1);
  });
});

describe("several runs", () => {
  it("have different names", () => {
    expect(runNames([cpuJob(), gpuJob()])).toEqual(["assembly", "train"]);
    expect(runNames([cpuJob(), cpuJob()])).toEqual(["1: assembly", "2: assembly"]);
  });

  it("are compared with the first", () => {
    expect(changeText(80, 100)).toBe("−20 %");
    expect(changeText(1500, 100)).toBe("15 times");
    expect(changeText(93000, 100)).toBe("930 times");
    expect(changeText(100, 100)).toBe("");
    expect(changeText(5, 0)).toBe("");
    expect(changeText(Number.NaN, 1)).toBe("");
  });

  it("share one time axis; a run that has ended has no values", () => {
    const run = (seconds: number[]): Run => ({
      run: {},
      curve: {
        samples: seconds.length,
        seconds,
        columns: { job_rss_bytes: { kind: "gauge", high: seconds } },
      },
    });
    const curve = mergedCurve([run([1, 3]), run([2])], "job_rss_bytes");
    expect(curve.seconds).toEqual([1, 2, 3]);
    expect(curve.columns.run0!.high).toEqual([1, 3, 3]);
    expect(curve.columns.run1!.high).toEqual([2, 2, null]);
  });
});

describe("the peak of a line", () => {
  const line = (figure: number): Labeled => ({
    column: "job_rss_bytes",
    label: "job",
    color: "",
    values: [1, 5.235, 2],
    figure,
  });

  it("is the peak of the report, not of its rounded curve", () => {
    expect(peakValue({ index: 1, value: 5.235 }, line(5.2346))).toBe(5.2346);
  });

  it("is above the samples if they missed it", () => {
    expect(peakValue({ index: 1, value: 5.235 }, line(7.1))).toBe(7.1);
  });

  it("is the peak of the samples in a part of the run, or without a figure", () => {
    expect(peakValue({ index: 2, value: 2 }, line(7.1))).toBe(2);
    expect(peakValue({ index: 1, value: 5.235 }, line(Number.NaN))).toBe(5.235);
    expect(peakValue({ index: 1, value: 5.235 }, line(3))).toBe(5.235); // the peak of another figure
  });

  it("equals the value of the usage table", () => {
    const run = gpuJob();
    for (const [id, label, path] of [
      ["cpu", "job", "cpu.max_cores"],
      ["memory", "job", "memory.combined.total_rss_bytes"],
      ["processes", "threads", "cpu.threads.combined"],
      ["gpu-memory", "job", "gpu.memory.combined_bytes"],
    ] as const) {
      const chart = chartsOf(run).charts.find((each) => each.id === id)!;
      expect(chart.lines.find((each) => each.label === label)!.peak).toBe(valueAt(run, path));
    }
  });

  it("has room in the chart, unless it is far above the visible part", () => {
    const chart = chartsOf(cpuJob()).charts.find(({ id }) => id === "processes")!;
    expect(topOf(chart, 10, [15])).toBeGreaterThan(15);
    expect(topOf(chart, 10, [25])).toBe(topOf(chart, 10));
    expect(topOf(chart, 10, [25], true)).toBeGreaterThan(25);
    expect(topOf(chart, 10, [Number.NaN], true)).toBe(topOf(chart, 10));
  });
});

it("disk transfers that are counted more rarely than sampled have a note", () => {
  const run = cpuJob();
  const note = () => chartsOf(run).charts.find(({ id }) => id === "disk")!.note;
  expect(note()).toBe("");
  run.run.interval_seconds = 0.1;
  expect(note()).toContain("once a second");
});
