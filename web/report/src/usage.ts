// The usage of the job: totals, means, peaks with their bounds, and the share of the limits.

import { isKnown, meanOf, peakOf } from "./curve";
import { button, h, scrollArea, section } from "./dom";
import * as format from "./format";
import { usefulBound } from "./overlay";
import {
  elapsedOf,
  gpuMemoryOf,
  gpusOf,
  hasManyNodes,
  isCacheNotable,
  isSystem,
  limitedMemoryOf,
  measureAt,
  number,
  type Quantiles,
  type Run,
  rereadBytesOf,
  valueAt,
} from "./report";

type Text = (value: number) => string;

// A figure of the report, given by its path, or a value computed from the curve.
type Cell = { path: string; text: Text } | { value: number; text: Text } | null;

interface UsageRow {
  name: string;
  note?: string;
  total: Cell;
  mean: Cell;
  p50?: Cell;
  p95?: Cell;
  peak: Cell;
  allowed: number;
  allowedText: Text;
  share: number; // share of the limit
}

function meanOfColumn(run: Run, column: string): number {
  const found = run.curve?.columns[column];
  return run.curve && isKnown(found) ? meanOf(run.curve, found) : Number.NaN;
}

function firstKnown(value: number, other: number): number {
  return Number.isNaN(value) ? other : value;
}

function peakOfColumn(run: Run, column: string): number {
  return peakOf(run.curve?.columns[column]?.high ?? [])?.value ?? Number.NaN;
}

function row(name: string, parts: Partial<UsageRow>): UsageRow {
  return {
    name,
    total: null,
    mean: null,
    peak: null,
    allowed: Number.NaN,
    allowedText: format.short,
    share: Number.NaN,
    ...parts,
  };
}

// Returns the distribution of the usage over time, which shows whether a peak was a single
// spike.
function quantilesOf(found: Quantiles | undefined, text: Text): Partial<UsageRow> {
  const [p50, p95] = [number(found?.p50), number(found?.p95)];
  return Number.isNaN(p50) ? {} : { p50: { value: p50, text }, p95: { value: p95, text } };
}

const cores: Text = (value) => `${format.short(value)} cores`;
const gpuCount: Text = (value) => `${format.short(value)} GPUs`;

function cpuRow(run: Run): UsageRow {
  const system = isSystem(run);
  const allowed = number(run.limits?.cpus ?? run.host?.cpus);
  const mean = system ? "cpu.system.mean_cores" : "cpu.mean_cores";
  return row("CPU", {
    total: system ? null : { path: "cpu.total_seconds", text: format.duration },
    mean: { path: mean, text: cores },
    ...(system ? {} : quantilesOf(run.distribution?.cores, cores)),
    peak: { path: system ? "cpu.system.max_cores" : "cpu.max_cores", text: cores },
    allowed,
    allowedText: (value) => `${Number(value.toFixed(2))} cores`,
    share: valueAt(run, mean) / allowed,
  });
}

// Threads that were ready to run but had no CPU. They get a row if they waited at least a
// quarter of the time they ran.
function waitRows(run: Run): UsageRow[] {
  const path = "cpu.wait_seconds";
  const wait = valueAt(run, path);
  if (!(wait > 0.1 && wait >= 0.25 * valueAt(run, "cpu.total_seconds"))) return [];
  const note = measureAt(run, path)?.exact ? "all threads together" : "at least";
  return [row("Waiting for a CPU", { note, total: { path, text: format.duration } })];
}

function memoryOverTime(run: Run): Partial<UsageRow> {
  const mean = firstKnown(meanOfColumn(run, "job_rss_bytes"), meanOfColumn(run, "job_pss_bytes"));
  return {
    mean: { value: mean, text: format.bytes },
    ...quantilesOf(run.distribution?.memory_bytes, format.bytes),
  };
}

function memoryRows(run: Run): UsageRow[] {
  const limit = number(run.limits?.memory_bytes);
  const allowed = limit > 0 ? limit : number(run.host?.memory_bytes);
  const peak = valueAt(run, "memory.combined.total_rss_bytes");
  const withCache = valueAt(run, "memory.job_peak_bytes");
  const bytes = { text: format.bytes };
  const allowedText: Text = (value) => format.bytes(value) + (limit > 0 ? "" : " (machine)");
  if (isSystem(run))
    return [
      row("Memory", {
        mean: { value: meanOfColumn(run, "host_memory_used_bytes"), ...bytes },
        peak: { path: "memory.system_peak_bytes", ...bytes },
        allowed,
        allowedText,
        share: valueAt(run, "memory.system_peak_bytes") / allowed,
      }),
    ];
  const nearLimit = number(run.distribution?.near_memory_limit_seconds);
  const showsCache = isCacheNotable(withCache, peak);
  // The limit of a cgroup applies to memory with page cache.
  const limited = limitedMemoryOf(run);
  const isLimited = !showsCache || limited !== withCache;
  const rows = [
    row("Memory", {
      ...(hasManyNodes(run) ? { note: "largest node" } : memoryOverTime(run)),
      ...(nearLimit > 0 && { note: `above 90 % of the limit for ${format.duration(nearLimit)}` }),
      peak: { path: "memory.combined.total_rss_bytes", ...bytes },
      allowed: isLimited ? allowed : Number.NaN,
      allowedText,
      share: isLimited ? limited / allowed : Number.NaN,
    }),
  ];
  if (showsCache)
    rows.push(
      row("Memory with page cache", {
        peak: { path: "memory.job_peak_bytes", ...bytes },
        allowed: limit,
        allowedText,
        share: withCache / limit,
      }),
    );
  if (valueAt(run, "memory.swap_peak_bytes") > 0)
    rows.push(row("Swapped out", { peak: { path: "memory.swap_peak_bytes", ...bytes } }));
  if (rereadBytesOf(run) > 0)
    rows.push(
      row("Page cache read again", { total: { path: "memory.refaulted_bytes", ...bytes } }),
    );
  return rows;
}

function gpuWorkRows(run: Run, gpus: number): UsageRow[] {
  const kinds: [string, string][] = [
    ["GPU SMs", "gpu.work.sm_gpus"],
    ["GPU tensor cores", "gpu.work.tensor_gpus"],
    ["GPU memory bandwidth", "gpu.work.dram_gpus"],
  ];
  return kinds
    .filter(([, path]) => !Number.isNaN(valueAt(run, path)))
    .map(([name, path]) =>
      row(name, { mean: { path, text: gpuCount }, share: valueAt(run, path) / gpus }),
    );
}

function gpuRows(run: Run): UsageRow[] {
  const gpus = gpusOf(run).length;
  if (gpus === 0) return [];
  const memory = gpuMemoryOf(run);
  const scope = Number.isNaN(valueAt(run, "gpu.job_utilization.mean_gpus")) ? "" : "job_";
  const use = `gpu.${scope}utilization`;
  return [
    row("GPU use", {
      mean: { path: `${use}.mean_gpus`, text: gpuCount },
      peak: { path: `${use}.max_gpus`, text: gpuCount },
      allowed: gpus,
      allowedText: (value) => format.counted(value, "GPU"),
      share: valueAt(run, `${use}.mean_gpus`) / gpus,
    }),
    ...gpuWorkRows(run, gpus),
    row("GPU memory", {
      mean: { value: meanOfColumn(run, "job_gpu_memory_bytes"), text: format.bytes },
      peak: { path: "gpu.memory.combined_bytes", text: format.bytes },
      allowed: memory,
      allowedText: format.bytes,
      share: valueAt(run, "gpu.memory.combined_bytes") / memory,
    }),
  ];
}

// The report of a machine contains rates.
function systemTransferRows(run: Run): UsageRow[] {
  const kinds: [string, string, string][] = [
    ["Disk read", "system.disk.read_bytes_per_second", "host_disk_read_bytes"],
    ["Disk written", "system.disk.written_bytes_per_second", "host_disk_written_bytes"],
    ["Network received", "system.network.received_bytes_per_second", "host_network_received_bytes"],
    ["Network sent", "system.network.sent_bytes_per_second", "host_network_sent_bytes"],
  ];
  return kinds.map(([name, path, column]) =>
    row(name, {
      total: { value: valueAt(run, path) * elapsedOf(run), text: format.bytes },
      mean: { path, text: format.bytesPerSecond },
      peak: { value: peakOfColumn(run, column), text: format.bytesPerSecond },
    }),
  );
}

function transferRows(run: Run): UsageRow[] {
  const elapsed = elapsedOf(run);
  const kinds: [string, string, string, string][] = [
    ["Disk read", "", "io.read_bytes", "job_read_bytes"],
    ["Disk written", "", "io.written_bytes", "job_written_bytes"],
    ["TCP received", "job", "network.job.received_bytes", "job_network_received_bytes"],
    ["TCP sent", "job", "network.job.sent_bytes", "job_network_sent_bytes"],
    [
      "TCP received",
      "within the machine",
      "network.job.loopback_received_bytes",
      "job_loopback_received_bytes",
    ],
    [
      "TCP sent",
      "within the machine",
      "network.job.loopback_sent_bytes",
      "job_loopback_sent_bytes",
    ],
    ["Network received", "host", "network.received_bytes", "host_network_received_bytes"],
    ["Network sent", "host", "network.sent_bytes", "host_network_sent_bytes"],
    ["RDMA received", "host", "network.rdma.received_bytes", "host_rdma_received_bytes"],
    ["RDMA sent", "host", "network.rdma.sent_bytes", "host_rdma_sent_bytes"],
    ["NFS read", "host", "network.nfs.read_bytes", "host_nfs_read_bytes"],
    ["NFS written", "host", "network.nfs.written_bytes", "host_nfs_written_bytes"],
  ];
  return kinds
    .filter(([, note, path]) => note === "" || valueAt(run, path) > 0)
    .map(([name, note, path, column]) =>
      row(name, {
        note,
        total: { path, text: format.bytes },
        mean: { value: valueAt(run, path) / elapsed, text: format.bytesPerSecond },
        peak: { value: peakOfColumn(run, column), text: format.bytesPerSecond },
      }),
    );
}

function countRows(run: Run): UsageRow[] {
  const text: Text = format.count;
  return [
    row("Processes", {
      total: { path: "processes.started", text: (value) => `${format.count(value)} started` },
      mean: { value: meanOfColumn(run, "job_processes"), text: format.short },
      peak: { path: "processes.max_concurrent", text },
    }),
    row("Threads", {
      mean: { value: meanOfColumn(run, "job_threads"), text: format.short },
      peak: { path: "cpu.threads.combined", text },
    }),
  ];
}

// No mean may be above its peak, although values of the curve have only four digits. Figures
// take precedence; of two values of the curve, the mean does, because its total is exact.
function ordered(run: Run, row: UsageRow): UsageRow {
  const { mean, peak } = row;
  const isAbove = numberOf(run, mean) > numberOf(run, peak); // not if one is unknown
  if (!isAbove || !mean || !peak) return row;
  if (!("path" in peak)) return { ...row, peak: { ...peak, value: numberOf(run, mean) } };
  return "path" in mean ? row : { ...row, mean: { ...mean, value: numberOf(run, peak) } };
}

export function usageRows(run: Run): UsageRow[] {
  const rows = [cpuRow(run), ...waitRows(run), ...memoryRows(run), ...gpuRows(run)];
  const all = isSystem(run)
    ? [...rows, ...systemTransferRows(run)]
    : [...rows, ...transferRows(run), ...countRows(run)];
  const known = all.filter(({ total, mean, peak }) =>
    [total, mean, peak].some((cell) => !Number.isNaN(numberOf(run, cell))),
  );
  return known.map((row) => ordered(run, row));
}

function numberOf(run: Run, cell: Cell): number {
  if (!cell) return Number.NaN;
  return "path" in cell ? valueAt(run, cell.path) : cell.value;
}

function sourceOf(run: Run, path: string): string {
  const measure = measureAt(run, path);
  if (!measure || measure.value === null) return measure?.reason ?? "not measured";
  return `${measure.exact ? "exact" : "sampled"}, from ${measure.source}`;
}

// Creates a cell; a figure links to its source.
function cell(run: Run, content: Cell, openSource: (path: string) => void): HTMLElement {
  if (!content) return h("td", { class: "number" });
  const value = numberOf(run, content);
  const text = Number.isNaN(value) ? "n/a" : content.text(value);
  if (!("path" in content)) return h("td", { class: "number" }, Number.isNaN(value) ? "" : text);
  const { path } = content;
  const measure = measureAt(run, path);
  const bound = measure && usefulBound(measure);
  return h(
    "td",
    { class: "number" },
    button(text, `${text}: how it was measured`, () => openSource(path), {
      class: "figure",
      title: sourceOf(run, path),
    }),
    bound !== null && h("small", { class: "bound" }, `≤ ${content.text(bound)}`),
  );
}

const FULL = 0.9; // this share of the memory limit means that the job was close to being killed

function meter(share: number, isLimit: boolean): HTMLElement {
  if (!(share >= 0)) return h("td");
  const text = format.percent(share);
  return h(
    "td",
    { class: "meter-cell" },
    h(
      "span",
      { class: isLimit && share >= FULL ? "meter full" : "meter", "aria-hidden": "true" },
      h("span", { style: `width: ${Math.min(100, share * 100).toFixed(1)}%` }),
    ),
    h("span", { class: "meter-text" }, text),
  );
}

// Leaves out columns that are empty in every row.
function columnsOf(rows: UsageRow[]): string[] {
  const isFilled: Record<string, (row: UsageRow) => boolean> = {
    peak: ({ peak }) => peak !== null,
    p95: ({ p95 }) => !!p95,
    p50: ({ p50 }) => !!p50,
    mean: ({ mean }) => mean !== null,
    total: ({ total }) => total !== null,
    allowed: ({ allowed }) => allowed > 0,
    used: ({ share }) => share >= 0,
  };
  return Object.keys(isFilled).filter((name) => rows.some(isFilled[name]!));
}

function usageCell(
  run: Run,
  row: UsageRow,
  column: string,
  openSource: (path: string) => void,
): HTMLElement {
  switch (column) {
    case "allowed":
      return h("td", { class: "number" }, row.allowed > 0 ? row.allowedText(row.allowed) : "");
    case "used":
      return meter(row.share, row.name.startsWith("Memory"));
    default:
      return cell(
        run,
        row[column as "peak" | "p95" | "p50" | "mean" | "total"] ?? null,
        openSource,
      );
  }
}

export function usageOf(run: Run, openSource: (path: string) => void): HTMLElement {
  const rows = usageRows(run);
  const columns = columnsOf(rows);
  const headers = columns.map((name) =>
    h("th", { scope: "col", class: name === "used" ? "text" : "number" }, name),
  );
  const lines = rows.map((row) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, row.name, row.note ? h("small", {}, ` ${row.note}`) : null),
      ...columns.map((column) => usageCell(run, row, column, openSource)),
    ),
  );
  return section(
    "usage",
    "Usage",
    scrollArea(
      "Table of usage",
      h(
        "table",
        { class: "usage" },
        h("caption", { class: "visually-hidden" }, "Peaks, means and totals of what was used"),
        h("thead", {}, h("tr", {}, h("td"), ...headers)),
        h("tbody", {}, ...lines),
      ),
    ),
  );
}
