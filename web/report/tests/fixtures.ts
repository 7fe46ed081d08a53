// Reports in the format that the program writes, for the tests and for viewing the page.
//
// All are invented, but consistent: the peak of a curve is not above the peak of its figure, and
// the CPU times of the processes add up to the job's.

import type {
  Bench,
  BenchCell,
  Column,
  Curve,
  Measure,
  PageData,
  Phase,
  Process,
  ProcessGroup,
  Run,
} from "../src/report";
import { groupJob } from "./group_fixture";

const GB = 1e9;
const GIB = 2 ** 30;
const START = Date.parse("2026-11-16T09:14:03.250Z");

// Returns numbers from 0 to 1 that are the same in every run of the tests.
export function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

function exact(value: number, source: string): Measure {
  return { value, source, exact: true };
}

function sampled(value: number, source: string, high?: number): Measure {
  const bounds = high === undefined ? {} : { low: value, high };
  return { value, source, exact: false, ...bounds };
}

function unknown(reason: string): Measure {
  return { value: null, source: null, exact: false, reason };
}

type Shape = (share: number, index: number) => number | null;

interface ColumnShape {
  kind: "rate" | "gauge";
  shape: Shape;
  most?: number;
}

// Returns a curve of `points` points over `seconds`; reduced if there are more samples than
// points.
function curve(
  seconds: number,
  points: number,
  samples: number,
  shapes: Record<string, ColumnShape>,
  seed = 1,
): Curve {
  const random = randomNumbers(seed);
  const columns: Record<string, Column> = {};
  for (const [name, { kind, shape, most = Number.POSITIVE_INFINITY }] of Object.entries(shapes)) {
    const spread = kind === "rate" ? 0.25 : 0.06;
    const mean: (number | null)[] = [];
    const high: (number | null)[] = [];
    const low: (number | null)[] = [];
    for (let index = 0; index < points; index++) {
      const value = shape((index + 1) / points, index);
      mean.push(value === null ? null : round(value));
      if (/processes|threads/.test(name) && value !== null) {
        high.push(value + Math.floor(2 * random()));
        low.push(value);
        continue;
      }
      high.push(value === null ? null : round(Math.min(most, value * (1 + spread * random()))));
      low.push(value === null ? null : round(value * (1 - spread * random())));
    }
    columns[name] = samples > points ? { kind, high, low, mean } : { kind, high: mean };
  }
  const ends = Array.from({ length: points }, (_, index) =>
    round(((index + 1) * seconds) / points),
  );
  return { samples, seconds: ends, columns };
}

function round(value: number): number {
  return Number(value.toPrecision(7));
}

const rate = (shape: Shape, most?: number): ColumnShape => ({ kind: "rate", shape, most });
const gauge = (shape: Shape, most?: number): ColumnShape => ({ kind: "gauge", shape, most });

function noise(seed: number, amount: number): (value: number) => number {
  const random = randomNumbers(seed);
  return (value) => Math.max(0, value * (1 + amount * (random() - 0.5)));
}

interface JobOptions {
  name: string | null;
  command: string[];
  seconds: number;
  cpus: number;
  cpuSeconds: number;
  maxCores: number;
  peakBytes: number;
  limitBytes: number | null;
  exitCode?: number;
  signal?: string | null;
}

function job(options: JobOptions): Run {
  const { seconds, cpuSeconds, peakBytes, limitBytes } = options;
  const noGpu = unknown("this machine has no GPU");
  return {
    schema: "spoor/1",
    run: {
      id: "5f0c7f4e5fbd4cb7a1d2",
      name: options.name,
      tags: { project: "alpha", dataset: "hg38" },
      command: options.command,
      pid: 4711,
      host: "node17",
      user: "maria",
      cwd: "/home/maria/assembly",
      started_at: new Date(START).toISOString(),
      ended_at: new Date(START + seconds * 1000).toISOString(),
      elapsed_seconds: seconds,
      exit_code: options.signal ? 137 : (options.exitCode ?? 0),
      signal: options.signal ?? null,
      interval_seconds: 1,
      samples: Math.ceil(seconds),
      spoor_version: "0.1.0",
    } as Run["run"],
    host: {
      os: "Debian GNU/Linux 12 (bookworm)",
      kernel: "6.1.0-28-amd64",
      cpu_model: "AMD EPYC 7763 64-Core Processor",
      cpus: 64,
      memory_bytes: 540e9,
      gpus: [],
      cloud: {},
    },
    limits: {
      cpus: options.cpus,
      cpus_source: "cgroup",
      memory_bytes: limitBytes,
      memory_source: limitBytes === null ? null : "cgroup",
      gpus: [],
    },
    cpu: {
      total_seconds: exact(cpuSeconds, "cgroup.cpu.stat"),
      user_seconds: exact(cpuSeconds * 0.93, "cgroup.cpu.stat"),
      system_seconds: exact(cpuSeconds * 0.07, "cgroup.cpu.stat"),
      mean_cores: exact(cpuSeconds / seconds, "cgroup.cpu.stat"),
      max_cores: sampled(options.maxCores, "cgroup.cpu.stat"),
      system: { mean_cores: exact(cpuSeconds / seconds + 3, "host.procfs.stat") },
      threads: { combined: exact(Math.ceil(options.maxCores) + 4, "cgroup.pids.peak") },
    },
    memory: {
      combined: {
        total_rss_bytes: sampled(
          peakBytes,
          "procfs.status.VmHWM",
          Math.min(peakBytes * 1.04, limitBytes ?? Number.POSITIVE_INFINITY),
        ),
        private_rss_bytes: sampled(peakBytes * 0.9, "procfs.smaps_rollup"),
        shared_rss_bytes: sampled(peakBytes * 0.1, "procfs.smaps_rollup"),
      },
      job_peak_bytes: exact(Math.min(peakBytes * 1.01, limitBytes ?? 1e15), "cgroup.memory.peak"),
      swap_peak_bytes: sampled(0, "procfs.status.VmSwap"),
    },
    gpu: {
      count: 0,
      selected: [],
      memory: { combined_bytes: noGpu },
      utilization: { mean_gpus: noGpu, max_gpus: noGpu },
      job_utilization: { mean_gpus: noGpu, max_gpus: noGpu },
      devices: [],
    },
    io: {
      read_bytes: exact(13.4e6 * seconds, "cgroup.io.stat"),
      written_bytes: exact(2.2e6 * seconds, "cgroup.io.stat"),
    },
    network: {
      received_bytes: exact(333e3 * seconds, "host.procfs.net.dev"),
      sent_bytes: exact(24e3 * seconds, "host.procfs.net.dev"),
      scope: "host",
    },
    energy: {
      cpu_joules: unknown("no energy counter of the CPUs (a virtual machine, or no driver)"),
      gpu_joules: noGpu,
    },
    processes: {
      max_concurrent: sampled(14, "cgroup.procs"),
      started: exact(96, "proc-connector"),
      largest: [],
      others: [],
    } as Run["processes"],
    pressure: {
      cpu_seconds: exact(seconds * 0.02, "cgroup.cpu.pressure"),
      memory_seconds: exact(0, "cgroup.memory.pressure"),
      io_seconds: exact(seconds * 0.14, "cgroup.io.pressure"),
    },
    events: {
      oom_kills: exact(0, "cgroup.oom_kill"),
      throttled_seconds: exact(0, "cgroup.cpu.stat"),
    },
    phases: [],
    recommendation: {
      cpus: {
        value: Math.max(1, Math.round(cpuSeconds / seconds)),
        guess: false,
        why: "the mean of the cores used, rounded",
      },
      memory_bytes: {
        value: Math.ceil((peakBytes * 1.2) / GIB) * GIB,
        guess: false,
        why: "peak, times 1.2, rounded up to the next step",
      },
      gpus: { value: 0, guess: false, why: "the machine has no GPU" },
      vram_bytes: { value: 0, guess: false, why: "the machine has no GPU" },
      seconds: {
        value: Math.ceil((seconds * 1.2) / 60) * 60,
        guess: false,
        why: "elapsed time, times 1.2, rounded up to whole minutes",
      },
      requests: [
        { name: "sbatch", title: "Slurm", text: "#SBATCH --cpus-per-task=5\n#SBATCH --mem=7G\n" },
        { name: "kubernetes", title: "Kubernetes", text: "resources:\n  requests:\n" },
        { name: "metaflow", title: "Metaflow", text: "@resources(cpu=5, memory=7517)\n" },
      ],
    },
    tracker: {
      cpu_seconds: seconds * 0.0011,
      max_rss_bytes: 2985984,
      late_samples: 0,
      budget_percent: 0.3,
    },
    warnings: [],
  };
}

function phase(
  name: string,
  from: number,
  seconds: number,
  cpuSeconds: number,
  peak: number,
): Phase {
  return {
    name,
    started_at: new Date(START + from * 1000).toISOString(),
    elapsed_seconds: seconds,
    cpu: {
      total_seconds: exact(cpuSeconds, "cgroup.cpu.stat"),
      mean_cores: exact(cpuSeconds / seconds, "cgroup.cpu.stat"),
    },
    memory: { combined: { total_rss_bytes: sampled(peak, "procfs.smaps_rollup") } },
    io: {
      read_bytes: exact(seconds * 11e6, "cgroup.io.stat"),
      written_bytes: exact(seconds * 2e6, "cgroup.io.stat"),
    },
  };
}

function process(values: Partial<Process> & { name: string; pid: number }): Process {
  return {
    parent_pid: 4711,
    command: values.name,
    started_seconds: 0,
    ended_seconds: null,
    cpu_seconds: 0,
    peak_rss_bytes: 4e6,
    read_bytes: 0,
    written_bytes: 0,
    gpu_memory_bytes: null,
    exit_code: 0,
    signal: null,
    ...values,
  };
}

function highest(run: Run, column: string): number | null {
  const values = (run.curve?.columns[column]?.high ?? []).filter((value) => value !== null);
  return values.length > 0 ? Math.max(...values) : null;
}

// Makes the figures of a run agree with the curve, and the CPU times of all processes with the
// job's.
function balance(run: Run): void {
  const cpu = run.cpu as { max_cores: Measure; threads: { combined: Measure } };
  const peaks: [Measure, string][] = [
    [cpu.max_cores, "job_cpu_seconds"],
    [cpu.threads.combined, "job_threads"],
    [(run.processes as unknown as { max_concurrent: Measure }).max_concurrent, "job_processes"],
  ];
  for (const [measure, column] of peaks) measure.value = highest(run, column) ?? measure.value;
  const all: { cpu_seconds: number | null }[] = [
    ...(run.processes?.largest ?? []),
    ...(run.processes?.others ?? []),
  ];
  const sum = all.reduce((total, { cpu_seconds }) => total + (cpu_seconds ?? 0), 0);
  const total = ((run.cpu as { total_seconds: Measure }).total_seconds.value ?? 0) / sum;
  for (const one of all) one.cpu_seconds = round((one.cpu_seconds ?? 0) * total);
}

// ---- jobs -------------------------------------------------------------------

// A genome assembly of an hour in four phases, with one sample per second.
export function cpuJob(points = 256, samples = 3600): Run {
  const seconds = 3600;
  const run = job({
    name: "assembly",
    command: ["snakemake", "--cores", "12", "--configfile", "config/hg38.yaml", "assemble"],
    seconds,
    cpus: 12,
    cpuSeconds: 18600,
    maxCores: 11.9,
    peakBytes: 1.462e9 * 4,
    limitBytes: 8 * GB,
  });
  const jitter = [1, 2, 3, 4, 5, 6, 7].map((seed) => noise(seed, 0.35));
  const cores = (share: number) =>
    share < 0.08 ? 0.9 : share < 0.42 ? 8.2 : share < 0.55 ? 1.1 : share < 0.9 ? 6.5 : 0.4;
  const memory = (share: number) =>
    share < 0.08
      ? 0.4e9
      : share < 0.42
        ? 0.9e9 + 3.4e9 * ((share - 0.08) / 0.34)
        : share < 0.55
          ? 1.1e9
          : share < 0.9
            ? 2.1e9 + 3.1e9 * Math.sin(((share - 0.55) / 0.35) * Math.PI)
            : 0.3e9;
  run.curve = curve(seconds, points, samples, {
    main_cpu_seconds: rate((share) => jitter[0]!(share < 0.08 ? 0.8 : 0.12)),
    descendants_cpu_seconds: rate((share) => jitter[1]!(cores(share))),
    job_cpu_seconds: rate((share) => jitter[2]!(cores(share) + (share < 0.08 ? 0.8 : 0.12)), 11.9),
    host_cpu_seconds: rate((share) => jitter[3]!(cores(share) + 3.1)),
    job_rss_bytes: gauge((share) => memory(share), 5.7e9),
    job_private_bytes: gauge((share) => memory(share) * 0.88),
    job_shared_bytes: gauge((share) => memory(share) * 0.12),
    job_page_cache_bytes: gauge((share) => 0.3e9 + 1.4e9 * share),
    main_rss_bytes: gauge(() => 0.21e9),
    descendants_rss_bytes: gauge((share) => memory(share) - 0.2e9),
    host_memory_used_bytes: gauge((share) => 61e9 + memory(share)),
    job_processes: gauge((share) => Math.round(2 + cores(share))),
    job_threads: gauge((share) => Math.round(6 + 2.5 * cores(share))),
    job_read_bytes: rate((share) =>
      jitter[4]!(share < 0.08 || (share > 0.42 && share < 0.55) ? 92e6 : 5e6),
    ),
    job_written_bytes: rate((share) => jitter[5]!(share > 0.9 ? 21e6 : 0.6e6)),
    host_disk_read_bytes: rate((share) => jitter[4]!(share < 0.08 ? 99e6 : 6e6)),
    host_network_received_bytes: rate((share) => jitter[6]!(share < 0.06 ? 5.2e6 : 20e3)),
    host_network_sent_bytes: rate((share) => jitter[6]!(share < 0.06 ? 210e3 : 9e3)),
    job_cpu_pressure_seconds: rate((share) =>
      jitter[0]!(share > 0.1 && share < 0.42 ? 0.04 : 0.01),
    ),
    job_memory_pressure_seconds: rate(() => 0),
    job_io_pressure_seconds: rate((share) =>
      jitter[1]!(share < 0.08 || (share > 0.42 && share < 0.55) ? 0.52 : 0.02),
    ),
  });
  run.phases = [
    phase("fetch", 12, 276, 460, 0.44e9),
    phase("align", 288, 1224, 9900, 4.3e9),
    phase("sort", 1512, 468, 520, 1.1e9),
    phase("assemble", 1980, 1260, 7600, 5.85e9),
    phase("publish", 3240, 350, 120, 0.31e9),
  ];
  const random = randomNumbers(9);
  const largest = [
    process({
      name: "snakemake",
      pid: 4711,
      parent_pid: 4700,
      cpu_seconds: 160,
      peak_rss_bytes: 0.21e9,
      command: "python3 /usr/bin/snakemake --cores 12 --configfile config/hg38.yaml assemble",
      ended_seconds: 3600,
    }),
  ];
  for (let index = 0; index < 34; index++) {
    const isAlign = index < 20;
    const from = isAlign
      ? 290 + (index % 10) * 5 + (index >= 10 ? 600 : 0)
      : 1990 + (index % 7) * 9 + (index >= 27 ? 600 : 0);
    const life = (isAlign ? 560 : 540) * (0.8 + 0.25 * random());
    largest.push(
      process({
        name: isAlign ? "bwa-mem2" : "spades-core",
        pid: 4800 + index,
        command: isAlign
          ? `bwa-mem2 mem -t 1 ref/hg38.fa reads/sample_${index}_1.fq.gz reads/sample_${index}_2.fq.gz`
          : `/opt/spades/bin/spades-core /scratch/maria/K${21 + (index % 7) * 6}/configs/config.info`,
        started_seconds: from,
        ended_seconds: from + life,
        cpu_seconds: life * (0.55 + 0.4 * random()),
        peak_rss_bytes: (isAlign ? 0.3e9 : 0.7e9) * (0.7 + 0.6 * random()),
        read_bytes: 1.3e9 * random(),
        written_bytes: 0.2e9 * random(),
      }),
    );
  }
  largest.push(
    process({
      name: "samtools",
      pid: 5001,
      command: "samtools sort -@ 1 -m 1G -o sorted.bam aligned.bam",
      started_seconds: 1515,
      ended_seconds: 1972,
      cpu_seconds: 430,
      peak_rss_bytes: 1.05e9,
      read_bytes: 21e9,
      written_bytes: 4e9,
    }),
    process({
      name: "curl",
      pid: 4791,
      command: "curl -fsS -o ref/hg38.fa.gz https://example.org/hg38.fa.gz",
      started_seconds: 14,
      ended_seconds: 230,
      cpu_seconds: 38,
      written_bytes: 0.9e9,
    }),
    process({
      name: "rsync",
      pid: 5102,
      command: "rsync -a out/ archive:/results/hg38/",
      started_seconds: 3245,
      ended_seconds: 3588,
      cpu_seconds: 60,
      read_bytes: 7e9,
      exit_code: 0,
    }),
  );
  run.processes = {
    ...(run.processes as object),
    largest,
    others: [
      { name: "sh", count: 41, cpu_seconds: 0.9, peak_rss_bytes: 3.4e6 },
      { name: "mkdir", count: 12, cpu_seconds: 0.03, peak_rss_bytes: 1.9e6 },
      { name: null, count: 5, cpu_seconds: 0.01, peak_rss_bytes: null },
    ] as ProcessGroup[],
  };
  balance(run);
  return run;
}

export function gpuJob(): Run {
  const seconds = 1280;
  const run = job({
    name: "train",
    command: ["python3", "train.py", "--epochs", "4", "--batch-size", "256"],
    seconds,
    cpus: 8,
    cpuSeconds: 2900,
    maxCores: 6.1,
    peakBytes: 9.4e9,
    limitBytes: 64 * GB,
  });
  const uuid = "GPU-31d2a7b4-6c11-4d34-9a5e-1f0a0b1c2d3e";
  run.host!.gpus = [{ index: 0, uuid, name: "NVIDIA H200", vendor: "nvidia", memory_bytes: 150e9 }];
  run.host!.cloud = { vendor: "aws", instance_type: "p5en.48xlarge", region: "eu-north-1" };
  run.limits!.gpus = [uuid];
  run.gpu = {
    count: 1,
    selected: [uuid],
    memory: {
      combined_bytes: sampled(58.3e9, "nvml.processes"),
      system_bytes: sampled(58.9e9, "nvml.memory"),
    },
    utilization: { mean_gpus: sampled(0.33, "nvml.samples"), max_gpus: sampled(1, "nvml.samples") },
    job_utilization: {
      mean_gpus: sampled(0.31, "nvml.samples"),
      max_gpus: sampled(0.98, "nvml.samples"),
    },
    devices: [
      {
        index: 0,
        uuid,
        energy_joules: exact(391e3, "nvml.energy"),
        max_power_watts: sampled(688, "nvml.power"),
      },
    ],
  };
  (run.energy as Record<string, Measure>).gpu_joules = exact(391e3, "nvml.energy");
  run.recommendation!.gpus = { value: 1, guess: false, why: "1 GPU was used" };
  run.recommendation!.vram_bytes = {
    value: 66 * GIB,
    guess: false,
    why: "peak 58.3 GB, times 1.2, rounded up",
  };
  const jitter = [11, 12, 13, 14].map((seed) => noise(seed, 0.3));
  const isTraining = (share: number) => (share * 4.4) % 1 > 0.55 && share > 0.08 && share < 0.97;
  run.curve = curve(seconds, 256, 1280, {
    main_cpu_seconds: rate((share) => jitter[0]!(isTraining(share) ? 1.2 : 0.9)),
    descendants_cpu_seconds: rate((share) => jitter[1]!(isTraining(share) ? 0.5 : 2.6)),
    job_cpu_seconds: rate((share) => jitter[2]!(isTraining(share) ? 1.7 : 3.5)),
    host_cpu_seconds: rate((share) => jitter[3]!(isTraining(share) ? 2.0 : 3.9)),
    job_rss_bytes: gauge((share) => 3e9 + 5.5e9 * Math.min(1, share * 5)),
    job_private_bytes: gauge((share) => 2.2e9 + 4.1e9 * Math.min(1, share * 5)),
    job_shared_bytes: gauge((share) => 0.8e9 + 1.4e9 * Math.min(1, share * 5)),
    job_processes: gauge(() => 9),
    job_threads: gauge((share) => (share < 0.05 ? 12 : 71)),
    job_read_bytes: rate((share) => jitter[0]!(isTraining(share) ? 4e6 : 310e6)),
    job_written_bytes: rate((share) => (Math.abs((share * 4) % 1) < 0.02 ? 620e6 : 0)),
    gpu0_utilization: gauge((share) => Math.min(1, jitter[1]!(isTraining(share) ? 0.86 : 0.01)), 1),
    gpu0_job_utilization: gauge(
      (share) => Math.min(0.98, jitter[2]!(isTraining(share) ? 0.84 : 0)),
      0.98,
    ),
    main_gpu_memory_bytes: gauge(
      (share) => (share < 0.06 ? 0 : 56.9e9 * Math.min(1, share * 4)),
      57.1e9,
    ),
    descendants_gpu_memory_bytes: gauge((share) => (share < 0.06 ? 0 : 1.2e9), 1.2e9),
    job_gpu_memory_bytes: gauge(
      (share) => (share < 0.06 ? 0 : 1.2e9 + 56.9e9 * Math.min(1, share * 4)),
      58.3e9,
    ),
    host_gpu_memory_bytes: gauge(
      (share) => 0.6e9 + (share < 0.06 ? 0 : 1.2e9 + 56.9e9 * Math.min(1, share * 4)),
      58.9e9,
    ),
    gpu0_power_watts: gauge((share) => jitter[3]!(isTraining(share) ? 610 : 121), 688),
    gpu0_temperature_celsius: gauge((share) => (isTraining(share) ? 61 : 42)),
    job_io_pressure_seconds: rate((share) => jitter[0]!(isTraining(share) ? 0.02 : 0.35)),
  });
  run.processes = {
    ...(run.processes as object),
    largest: [
      process({
        name: "python3",
        pid: 4711,
        parent_pid: 4700,
        command: "python3 train.py --epochs 4 --batch-size 256",
        ended_seconds: seconds,
        cpu_seconds: 1300,
        peak_rss_bytes: 6.1e9,
        gpu_memory_bytes: 57.1e9,
      }),
      ...Array.from({ length: 8 }, (_, index) =>
        process({
          name: "pt_data_worker",
          pid: 4720 + index,
          command: "python3 train.py --epochs 4 --batch-size 256",
          started_seconds: 21 + index * 0.2,
          ended_seconds: 1276,
          cpu_seconds: 190 + index * 7,
          peak_rss_bytes: 0.9e9,
          read_bytes: 14e9,
          gpu_memory_bytes: index === 0 ? 1.2e9 : 0,
        }),
      ),
    ],
    others: [],
  };
  balance(run);
  return run;
}

// A job on a machine with eight GPUs, of which it used some.
export function manyGpusJob(): Run {
  const run = gpuJob();
  run.phases = [
    phase("epoch", 20, 600, 1200, 8e9),
    phase("load", 20, 150, 600, 8e9),
    phase("step", 170, 440, 600, 8e9),
    phase("epoch", 620, 640, 1200, 8e9),
  ];
  const gpus = Array.from({ length: 8 }, (_, index) => ({
    index,
    uuid: `GPU-${index}`,
    name: "NVIDIA H200",
    vendor: "nvidia",
    memory_bytes: 150e9,
  }));
  run.host!.gpus = gpus;
  run.limits!.gpus = gpus.map(({ uuid }) => uuid);
  const { columns } = run.curve!;
  for (const name of ["utilization", "job_utilization", "power_watts", "temperature_celsius"]) {
    const first = columns[`gpu0_${name}`]!;
    for (let index = 0; index < 8; index++)
      columns[`gpu${index}_${name}`] = {
        kind: "gauge",
        high: first.high.map((value) => (value === null ? null : round(value * (1 - index * 0.1)))),
      };
  }
  return run;
}

export function failedJob(): Run {
  const run = job({
    name: null,
    command: ["make", "-j4", "check"],
    seconds: 42.7,
    cpus: 4,
    cpuSeconds: 96,
    maxCores: 3.98,
    peakBytes: 0.61e9,
    limitBytes: null,
    exitCode: 2,
  });
  run.recommendation!.note = "The run failed: a complete run may need more.";
  const jitter = noise(21, 0.3);
  run.curve = curve(42.7, 43, 43, {
    main_cpu_seconds: rate(() => 0.01),
    descendants_cpu_seconds: rate(() => jitter(2.4)),
    job_cpu_seconds: rate(() => jitter(2.4)),
    job_rss_bytes: gauge((share) => 0.2e9 + 0.4e9 * share),
    job_processes: gauge(() => 9),
  });
  run.processes = {
    ...(run.processes as object),
    largest: [
      process({ name: "make", pid: 4711, ended_seconds: 42.7, cpu_seconds: 0.4, exit_code: 2 }),
      process({
        name: "test_parser",
        pid: 4790,
        command: "./test_parser --all",
        started_seconds: 8,
        ended_seconds: 31,
        cpu_seconds: 22,
        exit_code: null,
        signal: "SIGSEGV",
      }),
      process({
        name: "cc1",
        pid: 4801,
        command: "/usr/lib/gcc/x86_64-linux-gnu/12/cc1 -quiet parser.c",
        started_seconds: 1,
        ended_seconds: 7.5,
        cpu_seconds: 6.2,
      }),
    ],
    others: [],
  };
  balance(run);
  return run;
}

export function oomJob(): Run {
  const run = job({
    name: "merge",
    command: ["Rscript", "merge.R"],
    seconds: 318,
    cpus: 2,
    cpuSeconds: 296,
    maxCores: 1.02,
    peakBytes: 3.99e9,
    limitBytes: 4 * GB,
    signal: "SIGKILL",
  });
  (run.events as Record<string, Measure>).oom_kills = exact(1, "cgroup.oom_kill");
  run.warnings = [
    { code: "oom", message: "the out-of-memory killer killed 1 process in the job's cgroup" },
    { code: "swapped", message: "up to 412 MB of the job was swapped out" },
  ];
  run.recommendation!.note = "The run ran out of memory: the recommended memory is a guess.";
  run.recommendation!.memory_bytes = {
    value: 8 * GIB,
    guess: true,
    why: "it was killed for lack of memory at 4.00 GB: twice the limit",
  };
  run.curve = curve(318, 256, 318, {
    main_cpu_seconds: rate(() => 0.97, 1.02),
    job_cpu_seconds: rate(() => 0.97, 1.02),
    job_rss_bytes: gauge((share) => 0.3e9 + 2.6e9 * share ** 2),
    job_private_bytes: gauge((share) => 0.25e9 + 2.6e9 * share ** 2),
    job_shared_bytes: gauge(() => 0.05e9),
    job_processes: gauge(() => 1),
    job_memory_pressure_seconds: rate((share) => (share > 0.9 ? 0.6 : 0)),
  });
  run.processes = {
    ...(run.processes as object),
    largest: [
      process({
        name: "R",
        pid: 4711,
        ended_seconds: 318,
        cpu_seconds: 296,
        peak_rss_bytes: 3.99e9,
        signal: "SIGKILL",
        exit_code: null,
      }),
    ],
    others: [],
  };
  balance(run);
  return run;
}

// A command that did nothing, so almost every figure is unknown.
export function emptyJob(): Run {
  const run = job({
    name: null,
    command: ["true"],
    seconds: 0.0012,
    cpus: 2,
    cpuSeconds: 0.0006,
    maxCores: 0.5,
    peakBytes: 1.2e6,
    limitBytes: null,
  });
  run.curve = { samples: 1, seconds: [0.0012], columns: {} };
  run.memory = { combined: { total_rss_bytes: unknown("the job ended before the first sample") } };
  run.processes = undefined;
  (run.pressure as Record<string, Measure>).io_seconds = exact(0, "cgroup.io.pressure");
  run.recommendation!.note = "The run took less than 10 s.";
  return run;
}

// A build: thousands of short processes, of which the report lists only the largest.
export function buildJob(): Run {
  const seconds = 94;
  const run = job({
    name: null,
    command: ["ninja", "-C", "build"],
    seconds,
    cpus: 8,
    cpuSeconds: 690,
    maxCores: 8,
    peakBytes: 2.3e9,
    limitBytes: 16 * GB,
  });
  (run.pressure as Record<string, Measure>).cpu_seconds = exact(29, "cgroup.cpu.pressure");
  run.recommendation!.note =
    "The run waited for a CPU for a tenth of the time or more: with more CPUs, it may take less time.";
  run.recommendation!.choices = [
    { cpus: 4, seconds: 240 },
    { cpus: 7, seconds: 120 },
  ];
  const random = randomNumbers(5);
  const jitter = noise(31, 0.2);
  run.curve = curve(seconds, 94, 94, {
    main_cpu_seconds: rate(() => jitter(0.05)),
    descendants_cpu_seconds: rate((share) => (share < 0.93 ? Math.min(7.9, jitter(7.4)) : 1)),
    job_cpu_seconds: rate((share) => (share < 0.93 ? Math.min(8, jitter(7.4)) : 1)),
    host_cpu_seconds: rate((share) => (share < 0.93 ? jitter(8.8) : 1.2)),
    job_rss_bytes: gauge((share) => (share < 0.93 ? jitter(1.7e9) : 0.6e9)),
    job_processes: gauge(() => Math.round(jitter(24))),
  });
  const largest = [
    process({
      name: "ninja",
      pid: 4711,
      ended_seconds: seconds,
      cpu_seconds: 4,
      command: "ninja -C build",
    }),
  ];
  const slots = Array.from({ length: 8 }, () => 0.2);
  for (let index = 0; index < 196; index++) {
    const slot = slots.indexOf(Math.min(...slots));
    const life = 1.2 + 4.5 * random() ** 2;
    const from = slots[slot]!;
    slots[slot] = from + life + 0.03;
    if (from + life > seconds) break;
    largest.push(
      process({
        name: "cc1",
        pid: 5000 + index * 3,
        parent_pid: 4999 + index * 3,
        command: `/usr/lib/gcc/x86_64-linux-gnu/12/cc1 -quiet -I include -I src src/module_${index}.c -o /tmp/cc${index}.s`,
        started_seconds: round(from),
        ended_seconds: round(from + life),
        cpu_seconds: life * 0.97,
        peak_rss_bytes: 60e6 + 130e6 * random(),
        read_bytes: null,
        written_bytes: null,
      }),
    );
  }
  largest.push(
    process({
      name: "ld",
      pid: 9901,
      command: "/usr/bin/ld -o spoor main.o libspoor.a",
      started_seconds: 88,
      ended_seconds: 93.4,
      cpu_seconds: 5,
      peak_rss_bytes: 0.6e9,
    }),
  );
  run.processes = {
    ...(run.processes as object),
    largest,
    others: [
      { name: "sh", count: 2402, cpu_seconds: 6.1, peak_rss_bytes: 3.5e6 },
      { name: "gcc", count: 1201, cpu_seconds: 3.9, peak_rss_bytes: 5.1e6 },
      { name: "as", count: 1201, cpu_seconds: 41, peak_rss_bytes: 31e6 },
      { name: null, count: 30, cpu_seconds: 0.2, peak_rss_bytes: null },
    ],
  };
  balance(run);
  return run;
}

// A million samples, reduced to 2,000 points, with one peak that no mean shows.
export const HIDDEN_PEAK = 4.321e9;

export function millionSamplesJob(): Run {
  const run = cpuJob(2000, 1_000_000);
  const day = 86400 / 3600;
  run.run.name = "a week";
  run.run.elapsed_seconds = 3600 * day * 7;
  run.run.samples = 1_000_000;
  run.phases = [];
  run.processes = undefined;
  run.curve!.seconds = run.curve!.seconds.map((end) => end * day * 7);
  run.curve!.columns.job_page_cache_bytes!.high[1234] = HIDDEN_PEAK;
  return run;
}

export const HOSTILE =
  '<img src=x onerror="document.title=\'owned\'"><script>document.title="owned"</script>';

// Names that look like HTML, contain the end tag of their element, or are very long.
export function hostileJob(): Run {
  const run = cpuJob();
  const long = "x".repeat(10_000);
  run.run.name = `${HOSTILE} "'&amp;\u202e`;
  run.run.command = ["sh", "-c", `echo '</script>${HOSTILE}'`, long];
  run.run.tags = { [HOSTILE]: HOSTILE };
  run.run.host = HOSTILE;
  run.warnings = [{ code: "x", message: HOSTILE + long }];
  run.phases![0]!.name = HOSTILE;
  run.phases![1]!.name = long;
  run.run.cwd = "/home/\u202etxt\n";
  run.processes!.largest![0]!.name = `${HOSTILE}\u0007`;
  run.processes!.largest![1]!.name = long;
  run.processes!.largest![1]!.command = HOSTILE + long;
  run.processes!.others![0]!.name = HOSTILE;
  run.recommendation!.cpus!.why = HOSTILE;
  run.recommendation!.cpus!.guess = true;
  run.recommendation!.requests![0]!.text = `# CPUs: ${HOSTILE}\n`;
  run.host!.cpu_model = HOSTILE;
  run.host!.cloud = { vendor: HOSTILE };
  run.context = {
    integration: HOSTILE,
    allocation: HOSTILE,
    servers: [{ name: HOSTILE, vendor: long }],
  };
  return run;
}

// A machine without a job, as reported by `spoor system`.
export function systemReport(): Run {
  const run = cpuJob(60, 60);
  run.run = {
    host: "node17",
    started_at: run.run.started_at,
    elapsed_seconds: 60,
    samples: 60,
    interval_seconds: 1,
    exit_code: null,
    command: [],
  };
  run.system = {
    cpu: { busy_cores: exact(4.1, "host.procfs.stat") },
    disk: {
      read_bytes_per_second: exact(13.4e6, "host.procfs.diskstats"),
      written_bytes_per_second: exact(2.2e6, "host.procfs.diskstats"),
    },
    network: {
      received_bytes_per_second: exact(333e3, "host.procfs.net.dev"),
      sent_bytes_per_second: exact(0, "host.procfs.net.dev"),
    },
  };
  (run.memory as Record<string, unknown>) = {
    system_peak_bytes: sampled(66e9, "host.procfs.meminfo"),
  };
  run.phases = [];
  run.processes = undefined;
  run.recommendation = undefined;
  run.limits = { cpus: 64, memory_bytes: null };
  for (const name of Object.keys(run.curve!.columns))
    if (!name.startsWith("host_")) delete run.curve!.columns[name];
  run.curve!.seconds = run.curve!.seconds.map((end) => end / 60);
  return run;
}

// A workflow step that has earlier runs.
export function flowStep(): Run {
  const run = failedJob();
  const past = (seconds: number) => ({
    elapsed_seconds: seconds,
    cpu_mean_cores: 2.1,
    cpu_max_cores: 3.9,
    memory_peak_bytes: 0.58e9,
    gpu_mean_gpus: null,
  });
  run.recommendation = undefined;
  run.limits = { cpus: null, memory_bytes: null };
  run.curve!.columns.job_pss_bytes = run.curve!.columns.job_rss_bytes!;
  for (const name of ["job_rss_bytes", "job_private_bytes", "job_shared_bytes"])
    delete run.curve!.columns[name];
  run.context = {
    integration: "Metaflow",
    status_failed: true,
    cloud: { vendor: "aws", instance_type: "c7g.xlarge" },
    current: past(42.7),
    historical: [past(40.1), past(39.5)],
    recommendation: cpuJob().recommendation!,
    servers: [
      {
        vendor: "aws",
        name: "c7g.xlarge",
        cpus: 4,
        memory_bytes: 8.6e9,
        gpus: 0,
        usd_per_hour: 0.145,
      },
    ],
    usd_per_hour: 0.145,
    cost_usd: 0.0017,
  };
  return run;
}

export function pageData(...runs: Run[]): PageData {
  return { schema: "spoor-page/1", runs };
}

// Returns the element that the program inserts into the template.
export function dataElement(data: PageData): string {
  const text = JSON.stringify(data).replaceAll("<", "\\u003c");
  return `<script id="spoor-data" type="application/json">${text}</script>`;
}

export function fillTemplate(template: string, data: PageData): string {
  return template.replace("<!--spoor-data-->", () => dataElement(data));
}

function second(): Run {
  const run = cpuJob(200, 3600);
  run.run.name = "assembly with more cores";
  run.run.elapsed_seconds = 2880;
  run.curve!.seconds = run.curve!.seconds.map((end) => end * 0.8);
  return run;
}

// Five runs with long names; the later runs took longer.
function five(): Run[] {
  return [1, 1.1, 1.25, 0.8, 1.5].map((factor, index) => {
    const run = index === 4 ? oomJob() : cpuJob(200, 3600);
    run.run.name = `assembly of sample ${index + 1} with --threads=12`;
    run.run.host = `node-${index}.rack-7.cluster.example.org`;
    run.run.elapsed_seconds! *= factor;
    run.curve!.seconds = run.curve!.seconds.map((end) => end * factor);
    return run;
  });
}

const BENCH_COMMANDS = ["gzip -kf data", "zstd -qf data", "<b>xz</b>"];

// Two commands with 12 runs each, and one whose runs failed.
function bench(): PageData {
  const random = randomNumbers(5);
  const runs = Array.from({ length: 36 }, (_, index) => {
    const run = cpuJob(20, 20);
    run.run.name = BENCH_COMMANDS[index % 3]!;
    run.run.exit_code = index % 3 === 2 ? 1 : 0;
    run.run.elapsed_seconds = (index % 3 === 0 ? 3 : 1) * (1 + 0.2 * random());
    return run;
  });
  const cell = (command: number, ratio: number): BenchCell => {
    const values = runs
      .filter((_, index) => index % 3 === command && command < 2)
      .map((run) => run.run.elapsed_seconds!)
      .sort((a, b) => a - b);
    const at = (index: number) => values[index] ?? null;
    return {
      median: at(5),
      low: at(2),
      high: at(9),
      min: at(0),
      max: at(11),
      lower_quartile: at(2),
      upper_quartile: at(8),
      ratio: at(0) && ratio,
      ratio_low: at(0) && ratio * 0.95,
      ratio_high: at(0) && ratio * 1.05,
      p: at(0) && (ratio === 1 ? 1 : 0.0001),
      differs: values.length > 0 && ratio !== 1,
      outliers: 0,
      values,
    };
  };
  const summary: Bench = {
    commands: BENCH_COMMANDS.map((name, command) => ({
      name,
      failed: command === 2 ? 12 : 0,
      runs: command === 2 ? [] : Array.from({ length: 12 }, (_, index) => 3 * index + command),
    })),
    figures: [
      {
        name: "time",
        label: "Time",
        unit: "seconds",
        best: 1,
        commands: [cell(0, 3), cell(1, 1), cell(2, 1)],
      },
    ],
    warnings: ["every run of '<b>xz</b>' failed"],
  };
  return { ...pageData(...runs), bench: summary };
}

// An edited file may contain such a report.
function endless(): Run {
  const run = cpuJob();
  run.run.elapsed_seconds = 1e11;
  return run;
}

export function sixteenRanks(): Run {
  return groupJob(cpuJob(), { ranks: 16, nodes: 4, missing: [7], idle: [12] });
}

export const pages: Record<string, () => PageData> = {
  cpu: () => pageData(cpuJob()),
  gpu: () => pageData(gpuJob()),
  "many-gpus": () => pageData(manyGpusJob()),
  failed: () => pageData(failedJob()),
  oom: () => pageData(oomJob()),
  empty: () => pageData(emptyJob()),
  build: () => pageData(buildJob()),
  million: () => pageData(millionSamplesJob()),
  hour: () => pageData(cpuJob(1800, 3600)),
  hostile: () => pageData(hostileJob()),
  system: () => pageData(systemReport()),
  flow: () => pageData(flowStep()),
  several: () => pageData(cpuJob(), second(), failedJob()),
  five: () => pageData(...five()),
  endless: () => pageData(endless()),
  bench,
  group: () => pageData(sixteenRanks()),
  "group-large": () => pageData(groupJob(cpuJob(), { ranks: 1000, nodes: 20, idle: [334] })),
  "group-hostile": () =>
    pageData(groupJob(cpuJob(), { ranks: 8, nodes: 2, missing: [3], host: (n) => HOSTILE + n })),
};
