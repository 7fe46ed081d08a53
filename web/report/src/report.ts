// The data of the page: JSON reports of the schema spoor/1 with their curves.
//
// An unknown number is null in the data and NaN in this code, never 0.

import { quoted, visible } from "./command";

export interface Measure {
  value: number | null;
  source: string | null;
  exact: boolean;
  low?: number | null;
  high?: number | null;
  reason?: string;
}

export interface Column {
  kind: "rate" | "gauge";
  high: (number | null)[];
  low?: (number | null)[];
  mean?: (number | null)[];
}

export interface Curve {
  samples: number;
  seconds: number[];
  columns: Record<string, Column>;
}

export interface Process {
  pid: number | null;
  parent_pid: number | null;
  name: string | null;
  command: string | null;
  started_seconds: number | null;
  ended_seconds: number | null;
  cpu_seconds: number | null;
  peak_rss_bytes: number | null;
  read_bytes: number | null;
  written_bytes: number | null;
  cpu_wait_seconds?: number | null;
  gpu_memory_bytes: number | null;
  exit_code: number | null;
  signal: string | null;
}

export interface ProcessGroup {
  name: string | null;
  count: number | null;
  cpu_seconds: number | null;
  peak_rss_bytes: number | null;
}

export interface Need {
  value: number | null;
  guess: boolean;
  why: string;
}

// A request for the next run, as lines in the syntax of a scheduler or workflow manager.
export interface Request {
  name: string; // "sbatch"
  title: string; // "Slurm"
  text: string;
}

// A number of CPUs, and the time to request with it.
export interface Choice {
  cpus: number;
  seconds: number;
}

export interface Recommendation {
  note?: string | null; // a sentence about the runs that the recommendation is based on
  choices?: Choice[];
  requests?: Request[];
  cpus?: Need;
  memory_bytes?: Need;
  gpus?: Need;
  vram_bytes?: Need;
  seconds?: Need;
}

export interface Gpu {
  index?: number | null;
  part?: number | null;
  uuid?: string | null;
  name?: string | null;
  vendor?: string | null;
  memory_bytes?: number | null;
}

export interface Phase extends Section {
  name: string;
  started_at: string | null;
  elapsed_seconds: number | null;
}

export interface Section {
  [key: string]: unknown;
}

export interface PastRun {
  elapsed_seconds?: number | null;
  cpu_mean_cores?: number | null;
  cpu_max_cores?: number | null;
  memory_mean_bytes?: number | null;
  memory_peak_bytes?: number | null;
  gpu_mean_gpus?: number | null;
  gpu_memory_peak_bytes?: number | null;
  received_bytes?: number | null;
  sent_bytes?: number | null;
}

export interface Server {
  vendor?: string | null;
  name?: string | null;
  cpus?: number | null;
  memory_bytes?: number | null;
  gpus?: number | null;
  usd_per_hour?: number | null;
}

// Data from another program about the run, such as the workflow manager that started the run.
export interface Context {
  integration?: string | null;
  status_failed?: boolean | null;
  allocation?: string | null;
  cloud?: Record<string, unknown> | null;
  current?: PastRun | null;
  historical?: PastRun[] | null;
  recommendation?: Recommendation | null; // based on this run and the earlier runs
  servers?: Server[] | null;
  servers_reason?: string | null;
  usd_per_hour?: number | null;
  cost_usd?: number | null;
}

export interface Quantiles {
  p50?: number | null;
  p95?: number | null;
}

// TCP connections of the job with one remote address.
export interface Remote {
  address: string | null; // null: several addresses
  connections: number;
  received_bytes: number;
  sent_bytes: number;
}

// The ranks of a job that a launcher started several times, merged into one report.
export interface MissingRank {
  rank: number | null;
  host: string | null;
  started_at: string | null;
  reason: string | null; // "it has no end"
}

export interface Group {
  ranks: number | null;
  reported: number | null;
  nodes_expected?: number | null;
  deciding_node?: string | null; // the node with the most memory
  imbalance?: Record<string, number | null>; // the largest rank divided by the mean
  missing?: MissingRank[];
}

export interface GroupNode {
  host: string | null;
  node: number | null;
  ranks: number | null;
  reported: number | null;
  cpu_seconds: number | null;
  elapsed_seconds: number | null;
  memory?: Measure;
  cpus: number | null;
  memory_limit_bytes: number | null;
  gpus?: (string | null)[];
}

export interface Rank {
  rank: number | null;
  local_rank: number | null;
  host: string | null;
  id: string | null;
  started_seconds: number | null;
  elapsed_seconds: number | null;
  cpu_seconds: number | null;
  mean_cores: number | null;
  peak_rss_bytes: number | null;
  gpu_memory_bytes: number | null;
  read_bytes: number | null;
  written_bytes: number | null;
  wait_seconds: number | null;
  exit_code: number | null;
  signal: string | null;
  restart: number | null;
}

// Cells of equal length, with one list per row of the table of ranks.
export interface RankCurves {
  seconds?: number[];
  cores?: (number | null)[][];
  memory_bytes?: (number | null)[][];
}

export interface Run extends Section {
  launch?: { scheduler?: string | null; job?: string | null; step?: string | null };
  group?: Group;
  nodes?: GroupNode[];
  rank_table?: Rank[];
  rank_curves?: RankCurves;
  run: {
    name?: string | null;
    tags?: Record<string, string>;
    command?: string[];
    pid?: number | null;
    host?: string | null;
    user?: string | null;
    cwd?: string | null;
    started_at?: string | null;
    elapsed_seconds?: number | null;
    exit_code?: number | null;
    signal?: string | null;
    core_dumped?: boolean;
    still_running?: boolean;
    interval_seconds?: number | null;
    samples?: number | null;
    spoor_version?: string | null;
  };
  host?: {
    os?: string | null;
    kernel?: string | null;
    cpu_model?: string | null;
    cpus?: number | null;
    memory_bytes?: number | null;
    gpus?: Gpu[];
    cloud?: Record<string, unknown> | null;
  };
  limits?: {
    cpus?: number | null;
    cpus_source?: string | null;
    memory_bytes?: number | null;
    memory_source?: string | null;
    gpus?: (string | null)[];
  };
  processes?: { largest?: Process[]; others?: ProcessGroup[] };
  network?: { remotes?: Remote[]; [figure: string]: unknown };
  phases?: Phase[];
  recommendation?: Recommendation;
  distribution?: {
    cores?: Quantiles;
    memory_bytes?: Quantiles;
    near_memory_limit_seconds?: number | null;
  };
  tracker?: Record<string, unknown>;
  warnings?: { code?: string; message: string }[];
  curve?: Curve | null;
  context?: Context;
}

// A figure of one command of `spoor bench` over its runs. The ratio is relative to the best
// command.
export interface BenchCell {
  median: number | null;
  low: number | null;
  high: number | null;
  min: number | null;
  max: number | null;
  lower_quartile: number | null;
  upper_quartile: number | null;
  ratio: number | null;
  ratio_low: number | null;
  ratio_high: number | null;
  p: number | null;
  differs: boolean;
  outliers: number;
  values: number[];
}

export interface BenchFigure {
  name: string;
  label: string;
  unit: string | null;
  best: number;
  commands: BenchCell[];
}

export interface Bench {
  commands: { name: string; failed: number; runs: number[] }[];
  figures: BenchFigure[];
  warnings: string[];
}

export interface PageData {
  schema: string;
  runs: Run[];
  bench?: Bench;
}

export function parsePageData(text: string): PageData {
  const data = JSON.parse(text) as PageData;
  if (data.schema !== "spoor-page/1" || !Array.isArray(data.runs))
    throw new Error(`unknown schema '${data.schema}': expected spoor-page/1`);
  return data;
}

function isMeasure(value: unknown): value is Measure {
  return typeof value === "object" && value !== null && "value" in value && "source" in value;
}

// Returns the measure at a path such as "memory.combined.total_rss_bytes".
export function measureAt(section: Section, path: string): Measure | null {
  let at: unknown = section;
  for (const key of path.split(".")) {
    if (typeof at !== "object" || at === null) return null;
    at = (at as Section)[key];
  }
  return isMeasure(at) ? at : null;
}

export function number(value: unknown): number {
  return typeof value === "number" ? value : Number.NaN;
}

export function valueAt(section: Section, path: string): number {
  return number(measureAt(section, path)?.value);
}

const NOT_MEASURED = new Set([
  ...["phases", "curve", "recommendation", "tracker", "context", "run"],
  ...["group", "nodes", "rank_table", "rank_curves"],
]);

// Yields every measure of a report with its path, in the order of the report.
export function* measuresOf(section: Section, prefix = ""): Generator<[string, Measure]> {
  for (const [key, value] of Object.entries(section)) {
    if (typeof value !== "object" || value === null) continue;
    if (prefix === "" && NOT_MEASURED.has(key)) continue;
    if (isMeasure(value)) yield [prefix + key, value];
    else yield* measuresOf(value as Section, `${prefix}${key}.`);
  }
}

// Rows written by `spoor system` have no job.
export function isSystem(run: Run): boolean {
  return run.system !== undefined;
}

export function wasOutOfMemory(run: Run): boolean {
  return (
    valueAt(run, "events.oom_kills") > 0 ||
    (run.warnings ?? []).some((warning) => warning.code === "oom")
  );
}

// The memory of a run on many nodes is the memory of its largest node, and its curve is the sum over
// all nodes.
export function hasManyNodes(run: Run): boolean {
  return (run.nodes ?? []).length > 1;
}

// Returns whether memory with page cache differs notably from the memory of the processes.
export function isCacheNotable(withCache: number, peak: number): boolean {
  return withCache > 1.02 * peak;
}

// Returns the page cache that was evicted and read again; NaN if it is too little to matter.
export function rereadBytesOf(run: Run): number {
  const bytes = valueAt(run, "memory.refaulted_bytes");
  return bytes >= 1e7 && !(bytes < 0.1 * valueAt(run, "io.read_bytes")) ? bytes : Number.NaN;
}

// Returns the memory that counts against the limit. The limit of a cgroup applies to the memory
// charged to the cgroup, page cache included, not to the resident memory of its processes. If
// both are about equal, returns the figure that the rest of the report uses.
export function limitedMemoryOf(run: Run): number {
  const charged = valueAt(run, "memory.job_peak_bytes");
  const resident = valueAt(run, "memory.combined.total_rss_bytes");
  const isOfCgroup = run.limits?.memory_source?.startsWith("cgroup") ?? false;
  const isApart = charged < resident || isCacheNotable(charged, resident);
  return isOfCgroup && charged > 0 && isApart ? charged : resident;
}

export function recommendationOf(run: Run): Recommendation | undefined {
  return run.context ? (run.context.recommendation ?? undefined) : run.recommendation;
}

// Returns the GPUs assigned to the job.
export function gpusOf(run: Run): Gpu[] {
  const selected = new Set(run.limits?.gpus ?? []);
  return (run.host?.gpus ?? []).filter(
    (gpu) => selected.size === 0 || selected.has(gpu.uuid ?? null),
  );
}

export function gpuMemoryOf(run: Run): number {
  return gpusOf(run).reduce((sum, gpu) => sum + number(gpu.memory_bytes), 0) || Number.NaN;
}

export function elapsedOf(run: Run): number {
  const elapsed = number(run.run.elapsed_seconds);
  if (elapsed > 0) return elapsed;
  return run.curve?.seconds.at(-1) ?? elapsed;
}

export function startOf(phase: Phase, run: Run): number {
  return (Date.parse(phase.started_at ?? "") - Date.parse(run.run.started_at ?? "")) / 1000;
}

export function titleOf(run: Run): string {
  const command = commandOf(run);
  return (
    visible(run.run.name ?? "") ||
    command ||
    (isSystem(run) ? `machine ${run.run.host ?? ""}` : "job")
  );
}

export function commandOf(run: Run): string {
  const words = run.run.command ?? [];
  if (words.length > 0) return words.map(quoted).join(" ");
  return typeof run.run.pid === "number" ? `process ${run.run.pid}` : "";
}
