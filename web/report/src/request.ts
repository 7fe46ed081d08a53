// What to request for the next run, in the syntax of schedulers and workflow managers: the same
// lines as `spoor recommend --for NAME` writes (src/recommend/scheduler_request.c).

import {
  gpusOf,
  type Need,
  number,
  type Recommendation,
  type Run,
  recommendationOf,
  wasOutOfMemory,
} from "./report";

const SHORT_SECONDS = 10;
const TOO_SHORT = "Nothing is recommended for the next run: this one was too short.";

export interface Needs {
  cpus: number;
  memoryBytes: number;
  gpus: number;
  vramBytes: number;
  seconds: number;
  vendor: string;
}

export interface RequestFormat {
  name: string;
  title: string;
  comment: string;
  lines(needs: Needs): string[];
}

// Why a run has nothing to recommend; empty if it has.
export function whyNoRecommendation(run: Run): string {
  const isShort = number(run.run.elapsed_seconds) < SHORT_SECONDS;
  if (run.context && !run.context.recommendation && isShort) return TOO_SHORT;
  if (!recommendationOf(run)) return "This report has no recommendation.";
  if (run.context?.recommendation) return "";
  if (wasOutOfMemory(run)) return "";
  if (typeof run.run.exit_code !== "number" && !run.run.still_running)
    return "Nothing is recommended for the next run: how this one ended is not known.";
  if (run.run.exit_code !== 0 && !run.run.still_running)
    return "Nothing is recommended for the next run: this one did not succeed.";
  return isShort ? TOO_SHORT : "";
}

export function needsOf(run: Run): Needs {
  const recommendation = recommendationOf(run) ?? {};
  const amount = (need: Need | undefined) => number(need?.value);
  return {
    cpus: amount(recommendation.cpus),
    memoryBytes: amount(recommendation.memory_bytes),
    gpus: amount(recommendation.gpus),
    vramBytes: amount(recommendation.vram_bytes),
    seconds: amount(recommendation.seconds),
    vendor: gpusOf(run)[0]?.vendor ?? "",
  };
}

const minutes = (needs: Needs) => Math.ceil(needs.seconds / 60);
const megabytes = (needs: Needs) => Math.ceil(needs.memoryBytes / 1e6);

function binary(needs: Needs, mibUnit: string, gibUnit: string): string {
  const mib = Math.ceil(needs.memoryBytes / 2 ** 20);
  return mib % 1024 === 0 ? `${mib / 1024}${gibUnit}` : `${mib}${mibUnit}`;
}

// Lines of which the amount is known and not 0.
function wanted(...lines: [number, () => string][]): string[] {
  return lines.filter(([amount]) => amount > 0).map(([, line]) => line());
}

function sbatch(needs: Needs): string[] {
  const pad = (value: number) => String(value).padStart(2, "0");
  return wanted(
    [needs.cpus, () => `#SBATCH --cpus-per-task=${Math.ceil(needs.cpus)}`],
    [needs.memoryBytes, () => `#SBATCH --mem=${binary(needs, "M", "G")}`],
    [needs.gpus, () => `#SBATCH --gpus=${Math.ceil(needs.gpus)}`],
    [
      needs.seconds,
      () => `#SBATCH --time=${pad(Math.floor(minutes(needs) / 60))}:${pad(minutes(needs) % 60)}:00`,
    ],
  );
}

const KUBERNETES_GPUS: Record<string, string> = {
  amd: "amd.com/gpu",
  intel: "gpu.intel.com/i915",
};

// No limit of CPUs: it would throttle the job while others are idle.
function kubernetes(needs: Needs): string[] {
  const memory = `    memory: ${binary(needs, "Mi", "Gi")}`;
  const requests = wanted(
    [needs.cpus, () => `    cpu: "${Math.ceil(needs.cpus)}"`],
    [needs.memoryBytes, () => memory],
  );
  const limits = wanted(
    [needs.memoryBytes, () => memory],
    [
      needs.gpus,
      () => `    ${KUBERNETES_GPUS[needs.vendor] ?? "nvidia.com/gpu"}: ${Math.ceil(needs.gpus)}`,
    ],
  );
  return [
    ...(requests.length + limits.length > 0 ? ["resources:"] : []),
    ...(requests.length > 0 ? ["  requests:", ...requests] : []),
    ...(limits.length > 0 ? ["  limits:", ...limits] : []),
  ];
}

function nextflow(needs: Needs): string[] {
  return wanted(
    [needs.cpus, () => `cpus ${Math.ceil(needs.cpus)}`],
    [needs.memoryBytes, () => `memory ${binary(needs, ".MB", ".GB")}`],
    [needs.seconds, () => `time ${minutes(needs)}.min`],
    [needs.gpus, () => `accelerator ${Math.ceil(needs.gpus)}`],
  );
}

function snakemake(needs: Needs): string[] {
  const pairs = wanted(
    [needs.memoryBytes, () => `mem_mb=${megabytes(needs)}`],
    [needs.seconds, () => `runtime=${minutes(needs)}`],
    [needs.gpus, () => `gpu=${Math.ceil(needs.gpus)}`],
  );
  return [
    ...wanted([needs.cpus, () => `threads: ${Math.ceil(needs.cpus)}`]),
    ...(pairs.length > 0
      ? [
          "resources:",
          ...pairs
            .join(",\n")
            .split("\n")
            .map((pair) => `    ${pair}`),
        ]
      : []),
  ];
}

function metaflow(needs: Needs): string[] {
  const pairs = wanted(
    [needs.cpus, () => `cpu=${Math.ceil(needs.cpus)}`],
    [needs.memoryBytes, () => `memory=${megabytes(needs)}`],
    [needs.gpus, () => `gpu=${Math.ceil(needs.gpus)}`],
  );
  return [
    ...wanted([needs.seconds, () => `@timeout(minutes=${minutes(needs)})`]),
    ...(pairs.length > 0 ? [`@resources(${pairs.join(", ")})`] : []),
  ];
}

const DOCKER_GPUS: Record<string, string> = {
  amd: "--device=/dev/kfd --device=/dev/dri",
  intel: "--device=/dev/dri",
};

function docker(needs: Needs): string[] {
  const options = wanted(
    [needs.cpus, () => `--cpus=${Math.ceil(needs.cpus)}`],
    [needs.memoryBytes, () => `--memory=${binary(needs, "m", "g")}`],
    [needs.gpus, () => DOCKER_GPUS[needs.vendor] ?? `--gpus=${Math.ceil(needs.gpus)}`],
  );
  return [["docker run", ...options, "IMAGE"].join(" ")];
}

export const requestFormats: RequestFormat[] = [
  { name: "sbatch", title: "Slurm", comment: "#", lines: sbatch },
  { name: "kubernetes", title: "Kubernetes", comment: "#", lines: kubernetes },
  { name: "nextflow", title: "Nextflow", comment: "//", lines: nextflow },
  { name: "snakemake", title: "Snakemake", comment: "#", lines: snakemake },
  { name: "metaflow", title: "Metaflow", comment: "#", lines: metaflow },
  { name: "docker", title: "Docker", comment: "#", lines: docker },
];

// What the syntax has no place for, as comments.
function comments(recommendation: Recommendation, needs: Needs): string[] {
  const names: [keyof Recommendation, string][] = [
    ["cpus", "CPUs"],
    ["memory_bytes", "memory"],
    ["gpus", "GPUs"],
    ["vram_bytes", "GPU memory"],
    ["seconds", "time"],
  ];
  const lines: string[] = [];
  for (const [key, name] of names) {
    const need = recommendation[key];
    if (!need || (need.value !== null && !need.guess)) continue;
    // One line, whatever the reason holds.
    const why = need.why.replace(/\s+/g, " ");
    lines.push(`${name}${need.value === null ? " is unknown" : ""}: ${why}`);
  }
  if (needs.gpus > 0 && needs.vramBytes > 0)
    lines.push(`GPU memory: ${Math.ceil(needs.vramBytes / 2 ** 20)} MiB in all`);
  return lines;
}

export function requestText(format: RequestFormat, run: Run): string {
  const needs = needsOf(run);
  const notes = comments(recommendationOf(run) ?? {}, needs);
  return [...notes.map((note) => `${format.comment} ${note}`), ...format.lines(needs)].join("\n");
}
