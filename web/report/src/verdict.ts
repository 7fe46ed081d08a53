// Summarizes the report in at most four sentences.

import { bytes, capitalized, count, counted, duration, percent } from "./format";
import { groupSentences, missingText } from "./group";
import {
  elapsedOf,
  gpuMemoryOf,
  gpusOf,
  isCacheNotable,
  isSystem,
  limitedMemoryOf,
  measureAt,
  number,
  type Run,
  rereadBytesOf,
  valueAt,
  wasOutOfMemory,
} from "./report";

const SENTENCES_MAX = 4;
const SENTENCES_OF_GROUP = 7;
const NOTABLE_STALL = 0.1; // share of the time
const NOTABLE_CORES = 0.01; // below this, the job is idle
const NOTABLE_FOREIGN = 0.05; // share of a GPU
// A GPU that is busy for this share of the time, while less than this share of its SMs works,
// could do more.
const NOTABLE_BUSY = 0.5;
const NOTABLE_SM = 0.3;
// Tensor cores are idle below these shares of the time and of the work of the SMs.
const IDLE = 0.005;
const TENSOR_OF_SM = 0.1;

export type Outcome = "good" | "bad" | "unknown";

export interface Ending {
  outcome: Outcome;
  text: string;
}

export function endingOf(run: Run): Ending {
  const { exit_code: code, signal } = run.run;
  if (run.context?.status_failed) return { outcome: "bad", text: "failed" };
  if (isSystem(run)) return { outcome: "unknown", text: "the whole machine" };
  if (signal) {
    const core = run.run.core_dumped ? " (core dumped)" : "";
    const why = wasOutOfMemory(run) ? "out of memory: " : "";
    return { outcome: "bad", text: `${why}killed by ${signal}${core}` };
  }
  if (code === 0 && run.group && missingText(run.group))
    return { outcome: "unknown", text: missingText(run.group) };
  if (typeof code === "number")
    return { outcome: code === 0 ? "good" : "bad", text: `exit code ${code}` };
  return {
    outcome: "unknown",
    text: run.run.still_running ? "still running" : "exit code unknown",
  };
}

function failure(run: Run): string {
  const { exit_code: code, signal } = run.run;
  if (wasOutOfMemory(run)) {
    const kills = valueAt(run, "events.oom_kills");
    if (signal) return "The job ran out of memory and was killed.";
    return `The out-of-memory killer ended ${kills > 1 ? `${count(kills)} processes` : "a process"} of the job.`;
  }
  if (signal) return `The job was killed by ${signal}.`;
  return code ? `The job failed with exit code ${code}.` : "";
}

function memory(run: Run): string {
  const peak = valueAt(run, "memory.combined.total_rss_bytes");
  const limit = number(run.limits?.memory_bytes);
  if (Number.isNaN(peak)) {
    const used = valueAt(run, "memory.system_peak_bytes");
    const total = number(run.host?.memory_bytes);
    if (Number.isNaN(used)) return "";
    return `Peak memory in use ${bytes(used)} of the machine's ${bytes(total)}.`;
  }
  if (limit > 0) {
    const used = limitedMemoryOf(run);
    const cache = isCacheNotable(used, peak)
      ? ` with page cache; the processes held ${bytes(peak)}`
      : "";
    return `Peak memory ${bytes(used)} of ${bytes(limit)} allowed (${percent(used / limit)})${cache}.`;
  }
  const total = number(run.host?.memory_bytes);
  return total > 0
    ? `Peak memory ${bytes(peak)} of the machine's ${bytes(total)}.`
    : `Peak memory ${bytes(peak)}.`;
}

function cpu(run: Run): string {
  const system = isSystem(run);
  const mean = valueAt(run, system ? "cpu.system.mean_cores" : "cpu.mean_cores");
  const allowed = number(run.limits?.cpus ?? run.host?.cpus);
  if (Number.isNaN(mean)) return "";
  if (!(allowed > 0)) return `${percent(mean)} of one core was used on average.`;
  const cores = Number.isInteger(allowed) ? counted(allowed, "core") : `${allowed} cores`;
  return `${percent(mean / allowed)} of ${cores} ${allowed === 1 ? "was" : "were"} used.`;
}

function gpu(run: Run): string {
  const gpus = gpusOf(run).length;
  if (gpus === 0) return "";
  const own = valueAt(run, "gpu.job_utilization.mean_gpus");
  const ofAll = valueAt(run, "gpu.utilization.mean_gpus");
  const busy = Number.isNaN(ofAll) ? own : ofAll;
  const peak = valueAt(run, "gpu.memory.combined_bytes");
  const which = gpus === 1 ? "the GPU" : `the ${gpus} GPUs`;
  const isShared = busy - own > NOTABLE_FOREIGN * gpus;
  if (!((Number.isNaN(own) ? busy : own) > 0) && peak === 0)
    return isShared
      ? `The job did not use ${which}; other processes did.`
      : `${capitalized(which)} ${gpus === 1 ? "was" : "were"} not used.`;
  if (Number.isNaN(busy)) return "";
  const total = gpuMemoryOf(run);
  const filled =
    peak > 0 && total > 0 ? `; ${bytes(peak)} of ${bytes(total)} of GPU memory was used` : "";
  // If other processes kept the GPU busy, it was not idle.
  if (isShared) return `The job used ${which} ${percent(own / gpus)} of the time${filled}.`;
  const sm = valueAt(run, "gpu.work.sm_gpus");
  if (busy / gpus >= NOTABLE_BUSY && sm < NOTABLE_SM * busy) {
    const [verb, whose] = gpus === 1 ? ["was", "its"] : ["were", "their"];
    const tensorGpus = valueAt(run, "gpu.work.tensor_gpus");
    const isTensorIdle = tensorGpus < IDLE * gpus && tensorGpus < TENSOR_OF_SM * sm;
    const tensor = isTensorIdle ? ` and ${whose} tensor cores were idle` : "";
    return `${capitalized(which)} ${verb} busy ${percent(busy / gpus)} of the time, but ${percent(sm / gpus)} of ${whose} SMs worked${tensor}${filled}.`;
  }
  const idle = percent(Math.max(0, 1 - busy / gpus));
  return `${capitalized(which)} ${gpus === 1 ? "was" : "were"} idle ${idle} of the time${filled}.`;
}

function isOfHost(run: Run, path: string): boolean {
  return measureAt(run, path)?.source?.startsWith("host.") ?? false;
}

// The pressure of the host may be caused by other processes, so it matters only to a job that
// ran or used disks.
function wasIdle(run: Run): boolean {
  return !(
    valueAt(run, "cpu.mean_cores") >= NOTABLE_CORES ||
    valueAt(run, "io.read_bytes") > 0 ||
    valueAt(run, "io.written_bytes") > 0
  );
}

// Pages that were evicted before the run are counted too, so only a job that lacked memory is
// known to have re-read its own pages.
function rereads(run: Run): string {
  const read = rereadBytesOf(run);
  const isFull = limitedMemoryOf(run) >= 0.95 * number(run.limits?.memory_bytes);
  const path = "pressure.memory_seconds";
  const share = isOfHost(run, path) ? 0 : Math.min(1, valueAt(run, path) / elapsedOf(run));
  if (!(read > 0) || !(isFull || share >= NOTABLE_STALL)) return "";
  const stall = share >= 0.01 ? ` and waited for memory ${percent(share)} of the time` : "";
  return `The job re-read ${bytes(read)} that did not fit in memory${stall}.`;
}

function stalls(run: Run): string {
  const elapsed = elapsedOf(run);
  const throttled = valueAt(run, "events.throttled_seconds");
  if (throttled > NOTABLE_STALL * elapsed)
    return `Its CPU limit throttled the job for ${duration(throttled)}.`;
  const thrashing = rereads(run);
  if (thrashing) return thrashing;
  const kinds = [
    ["pressure.io_seconds", "I/O"],
    ["pressure.memory_seconds", "memory"],
    ["pressure.cpu_seconds", "a CPU"],
  ] as const;
  for (const [path, name] of kinds) {
    const share = valueAt(run, path) / elapsed;
    const ofHost = isOfHost(run, path);
    if (share >= NOTABLE_STALL && !(ofHost && wasIdle(run)))
      return `${ofHost ? "Processes of this machine" : "The job"} waited for ${name} ${percent(Math.min(1, share))} of the time.`;
  }
  const swap = valueAt(run, "memory.swap_peak_bytes");
  return swap > 0 ? `Up to ${bytes(swap)} was swapped out.` : "";
}

export function verdictOf(run: Run): string[] {
  const isOom = wasOutOfMemory(run);
  const sentences = run.group
    ? [isOom && failure(run), ...groupSentences(run), cpu(run), gpu(run)]
    : [failure, memory, cpu, gpu, stalls].map((sentence) => sentence(run));
  return sentences
    .filter((sentence): sentence is string => Boolean(sentence))
    .slice(0, run.group ? SENTENCES_OF_GROUP : SENTENCES_MAX);
}
