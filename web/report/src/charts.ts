// The charts of a run: a table of all charts, from which charts without data are removed.

import { isKnown, isZero } from "./curve";
import { type Unit, units } from "./format";
import {
  type Curve,
  gpuMemoryOf,
  gpusOf,
  hasManyNodes,
  type Measure,
  measureAt,
  number,
  type Run,
  valueAt,
} from "./report";

// Roles have the same color in every chart; the other colors only distinguish the lines of a
// chart.
export type Color =
  | "job"
  | "main"
  | "descendants"
  | "host"
  | "limit"
  | "first"
  | "second"
  | "third"
  | "fourth";

// stack: an area on top of the previous areas. peak: a line through the highest values. range:
// a line through the means, in a band from the lowest to the highest value.
export type Style = "stack" | "peak" | "range";

export interface Line {
  column: string;
  label: string;
  color: Color;
  style: Style;
  dashed?: boolean;
  isHidden?: boolean;
  insteadOf?: string; // a column; this line is shown only if that column is missing
  figure?: string; // the path of the line's peak in the report
  peak?: number; // the value of that figure; NaN: unknown
}

export interface Limit {
  value: number;
  label: string;
}

export interface Chart {
  id: string;
  title: string;
  note: string;
  unit: Unit;
  isTall: boolean;
  maximum?: number; // the axis reaches at least this value
  lines: Line[];
  limit?: Limit;
  mark?: { column: string; figure: Measure }; // the peak in the report, with its bounds
}

interface Definition {
  id: string;
  title: string;
  note?: string | ((run: Run) => string);
  unit: Unit;
  isTall?: boolean;
  maximum?: number;
  lines: Line[];
  limit?: (run: Run) => Limit | undefined;
  mark?: string; // the column whose peak is marked with its bounds
}

function line(
  column: string,
  label: string,
  color: Color,
  style: Style,
  more: Partial<Line> = {},
): Line {
  return { column, label, color, style, ...more };
}

function limit(value: number, label: string): Limit | undefined {
  return value > 0 ? { value, label } : undefined;
}

// The shortest time between two readings of a process's I/O (SLOW_PERIOD_NS), in seconds.
const IO_PERIOD = 1;

const inAndOut: [Color, Color] = ["first", "second"];

const definitions: Definition[] = [
  {
    id: "cpu",
    title: "CPU",
    note: "cores",
    unit: units.cores,
    isTall: true,
    lines: [
      line("main_cpu_seconds", "main", "main", "stack"),
      line("descendants_cpu_seconds", "descendants", "descendants", "stack"),
      line("job_cpu_seconds", "job", "job", "peak", { figure: "cpu.max_cores" }),
      line("host_cpu_seconds", "host", "host", "peak", { figure: "cpu.system.max_cores" }),
    ],
    limit: (run) => limit(number(run.limits?.cpus ?? run.host?.cpus), "limit"),
  },
  {
    id: "memory",
    title: "Memory",
    unit: units.bytes,
    isTall: true,
    lines: [
      line("job_private_bytes", "private", "first", "stack"),
      line("job_shared_bytes", "shared", "second", "stack"),
      line("job_rss_bytes", "job", "job", "peak", { figure: "memory.combined.total_rss_bytes" }),
      // resource_tracker has only the PSS column.
      line("job_pss_bytes", "job (PSS)", "job", "peak", { insteadOf: "job_rss_bytes" }),
      line("job_page_cache_bytes", "page cache", "third", "range"),
      line("job_swap_bytes", "swap", "fourth", "range"),
      line("main_rss_bytes", "main", "main", "range", {
        isHidden: true,
        figure: "memory.main.total_rss_bytes",
      }),
      line("descendants_rss_bytes", "descendants", "descendants", "range", {
        isHidden: true,
        figure: "memory.descendants.total_rss_bytes",
      }),
      line("host_memory_used_bytes", "host", "host", "range", {
        isHidden: true,
        figure: "memory.system_peak_bytes",
      }),
    ],
    limit: (run) =>
      limit(number(run.limits?.memory_bytes), "limit") ??
      limit(number(run.host?.memory_bytes), "machine"),
    mark: "job_rss_bytes",
  },
  {
    id: "processes",
    title: "Processes and threads",
    unit: units.count,
    lines: [
      line("job_processes", "processes", "job", "range", { figure: "processes.max_concurrent" }),
      line("job_threads", "threads", "first", "range", { figure: "cpu.threads.combined" }),
    ],
  },
  {
    id: "disk",
    title: "Disk",
    note: (run) =>
      number(run.run.interval_seconds) < IO_PERIOD
        ? "the job's transfers are counted once a second"
        : "",
    unit: units.bytesPerSecond,
    lines: [
      line("job_read_bytes", "read", inAndOut[0], "range"),
      line("job_written_bytes", "written", inAndOut[1], "range"),
      line("host_disk_read_bytes", "read by the host", "host", "range", { isHidden: true }),
      line("host_disk_written_bytes", "written by the host", "host", "range", {
        isHidden: true,
        dashed: true,
      }),
    ],
  },
  {
    id: "network",
    title: "Network",
    note: (run) =>
      run.curve?.columns.job_network_received_bytes ? "of the job: TCP only" : "whole host",
    unit: units.bytesPerSecond,
    lines: [
      line("job_network_received_bytes", "received by the job", "job", "range"),
      line("job_network_sent_bytes", "sent by the job", "job", "range", { dashed: true }),
      line("job_loopback_received_bytes", "received locally", "job", "range", { isHidden: true }),
      line("job_loopback_sent_bytes", "sent locally", "job", "range", {
        isHidden: true,
        dashed: true,
      }),
      line("host_network_received_bytes", "received by the host", "host", "range"),
      line("host_network_sent_bytes", "sent by the host", "host", "range", { dashed: true }),
      line("host_rdma_received_bytes", "RDMA received", "host", "range"),
      line("host_rdma_sent_bytes", "RDMA sent", "host", "range", { dashed: true }),
      line("host_nfs_read_bytes", "NFS read", "host", "range", { isHidden: true }),
      line("host_nfs_written_bytes", "NFS written", "host", "range", {
        isHidden: true,
        dashed: true,
      }),
    ],
  },
  {
    id: "gpu-memory",
    title: "GPU memory",
    unit: units.bytes,
    lines: [
      line("main_gpu_memory_bytes", "main", "main", "stack"),
      line("descendants_gpu_memory_bytes", "descendants", "descendants", "stack"),
      line("job_gpu_memory_bytes", "job", "job", "peak", { figure: "gpu.memory.combined_bytes" }),
      line("host_gpu_memory_bytes", "host", "host", "peak"),
    ],
    limit: (run) => limit(gpuMemoryOf(run), gpusOf(run).length > 1 ? "all GPUs" : "GPU"),
    mark: "job_gpu_memory_bytes",
  },
  {
    id: "pressure",
    title: "Pressure",
    note: "share of time spent waiting",
    unit: units.percent,
    maximum: 0.1, // smaller values are noise
    lines: [
      line("job_cpu_pressure_seconds", "for a CPU", "first", "range"),
      line("job_memory_pressure_seconds", "for memory", "second", "range"),
      line("job_io_pressure_seconds", "for I/O", "third", "range"),
      line("job_throttled_seconds", "throttled", "fourth", "range"),
      line("host_cpu_pressure_seconds", "host: for a CPU", "host", "range", { isHidden: true }),
      line("host_memory_pressure_seconds", "host: for memory", "host", "range", {
        isHidden: true,
        dashed: true,
      }),
      line("host_io_pressure_seconds", "host: for I/O", "host", "range", { isHidden: true }),
    ],
  },
];

const GPU_COLORS: Color[] = ["first", "second", "third", "fourth"];

// Returns the name of each GPU in column names such as "gpu0_1_utilization", and its display
// name.
export function gpuNames(curve: Curve): [string, string][] {
  const names = new Set<string>();
  for (const column of Object.keys(curve.columns)) {
    const match = /^(gpu\d+(?:_\d+)?)_[a-z]/.exec(column);
    if (match) names.add(match[1]!);
  }
  return [...names].map((name) => [name, `GPU ${name.slice(3).replace("_", ":")}`]);
}

// Returns one line per GPU; with a single GPU, also a line for the part that the job used.
function gpuLines(curve: Curve, suffix: string, ofJob?: string): Line[] {
  const names = gpuNames(curve);
  const [only] = names;
  if (names.length === 1 && only && ofJob && isKnown(curve.columns[`${only[0]}_${ofJob}`]))
    return [
      line(`${only[0]}_${ofJob}`, "job", "job", "range"),
      line(`${only[0]}_${suffix}`, "host", "host", "range"),
    ];
  return names.map(([name, label], index) =>
    line(`${name}_${suffix}`, label, GPU_COLORS[index % GPU_COLORS.length]!, "range", {
      dashed: index >= GPU_COLORS.length,
    }),
  );
}

// The rows of other trackers may contain only the sum over all GPUs.
function gpuUse(curve: Curve): Definition {
  const each = gpuLines(curve, "utilization", "job_utilization");
  const head = { id: "gpu", title: "GPU use" };
  if (each.some(({ column }) => isKnown(curve.columns[column])))
    return { ...head, unit: units.percent, maximum: 1, lines: each };
  return {
    ...head,
    note: "number of GPUs",
    unit: units.cores,
    lines: [
      line("job_gpu_utilization_gpus", "job", "job", "range"),
      line("host_gpu_utilization_gpus", "host", "host", "range"),
    ],
  };
}

// For one GPU, shows the parts that worked; for several, the SMs of each GPU.
function gpuWork(curve: Curve): Definition {
  const [only, ...others] = gpuNames(curve);
  const lines =
    only && others.length === 0
      ? [
          line(`${only[0]}_sm_active`, "SMs", "first", "range"),
          line(`${only[0]}_tensor_active`, "tensor cores", "second", "range"),
          line(`${only[0]}_dram_active`, "memory bandwidth", "third", "range"),
        ]
      : gpuLines(curve, "sm_active");
  return { id: "gpu-work", title: "GPU work", unit: units.percent, maximum: 1, lines };
}

function gpuDefinitions(
  curve: Curve,
): Record<"utilization" | "work" | "power" | "temperature", Definition> {
  const power = gpuLines(curve, "power_watts");
  return {
    utilization: gpuUse(curve),
    work: gpuWork(curve),
    power: {
      id: "power",
      title: "GPU power",
      unit: units.watts,
      lines: power.some(({ column }) => isKnown(curve.columns[column]))
        ? power
        : [line("host_gpu_energy_joules", "all GPUs", "host", "range")],
    },
    temperature: {
      id: "temperature",
      title: "GPU temperature",
      unit: units.celsius,
      lines: gpuLines(curve, "temperature_celsius"),
    },
  };
}

function allDefinitions(curve: Curve): Definition[] {
  const gpu = gpuDefinitions(curve);
  const before = definitions.findIndex(({ id }) => id === "gpu-memory");
  const memory = definitions[before]!;
  const each = gpuNames(curve).length > 1 ? gpuLines(curve, "memory_bytes") : [];
  const hidden = each.map((line) => ({ ...line, isHidden: true }));
  return [
    ...definitions.slice(0, before),
    gpu.utilization,
    gpu.work,
    { ...memory, lines: [...memory.lines, ...hidden] },
    gpu.power,
    gpu.temperature,
    ...definitions.slice(before + 1),
  ];
}

// Leaves out lines that add nothing: unknown values, or an area that is always 0.
function linesOf(definition: Definition, curve: Curve): Line[] {
  const known = definition.lines.filter(
    ({ column, insteadOf }) =>
      isKnown(curve.columns[column]) && !(insteadOf && isKnown(curve.columns[insteadOf])),
  );
  const shown = known.filter(
    ({ column, isHidden, style }) =>
      !isZero(curve.columns[column]!) || (!isHidden && style !== "stack" && known.length <= 2),
  );
  // If there is no job, the chart is about the host.
  return shown.some((line) => !line.isHidden)
    ? shown
    : shown.map((line) => ({ ...line, isHidden: false }));
}

export interface Charts {
  charts: Chart[];
  flat: string[]; // titles of the charts that are always 0
}

export function chartsOf(run: Run): Charts {
  const result: Charts = { charts: [], flat: [] };
  const { curve } = run;
  if (!curve || curve.seconds.length === 0) return result;
  for (const definition of allDefinitions(curve)) {
    const lines = linesOf(definition, curve);
    if (lines.every(({ column }) => isZero(curve.columns[column]!))) {
      if (definition.lines.some(({ column }) => isKnown(curve.columns[column])))
        result.flat.push(definition.title);
      continue;
    }
    const isOfAllNodes = definition.id === "memory" && hasManyNodes(run);
    const { note = isOfAllNodes ? "all nodes together" : "" } = definition;
    const figures = isOfAllNodes ? { run: run.run } : run;
    const marked = lines.find(({ column }) => column === definition.mark);
    const figure = marked?.figure ? measureAt(figures, marked.figure) : null;
    result.charts.push({
      id: definition.id,
      title: definition.title,
      note: typeof note === "string" ? note : note(run),
      unit: definition.unit,
      isTall: definition.isTall ?? false,
      maximum: definition.maximum,
      lines: lines.map((line) => ({
        ...line,
        peak: line.figure ? valueAt(figures, line.figure) : Number.NaN,
      })),
      limit: definition.limit?.(figures),
      mark:
        marked && figure && figure.value !== null ? { column: marked.column, figure } : undefined,
    });
  }
  return result;
}

// The figures by which runs are compared, with one line per run.
export const comparedColumns: {
  title: string;
  note?: string;
  column: string;
  other?: string;
  figure?: string; // the path of the line's peak in the report
  unit: Unit;
}[] = [
  {
    title: "CPU",
    note: "cores",
    column: "job_cpu_seconds",
    figure: "cpu.max_cores",
    unit: units.cores,
  },
  {
    title: "Memory",
    column: "job_rss_bytes",
    other: "job_pss_bytes",
    figure: "memory.combined.total_rss_bytes",
    unit: units.bytes,
  },
  {
    title: "GPU use",
    note: "GPUs",
    column: "job_gpu_utilization_gpus",
    figure: "gpu.job_utilization.max_gpus",
    unit: units.cores,
  },
  {
    title: "GPU memory",
    column: "job_gpu_memory_bytes",
    figure: "gpu.memory.combined_bytes",
    unit: units.bytes,
  },
  { title: "Disk read", column: "job_read_bytes", unit: units.bytesPerSecond },
  { title: "Disk written", column: "job_written_bytes", unit: units.bytesPerSecond },
];
