import { describe, expect, it } from "vitest";
import { measureAt } from "../../src/report";
import { usageRows } from "../../src/usage";
import { endingOf, verdictOf } from "../../src/verdict";
import {
  cpuJob,
  emptyJob,
  failedJob,
  gpuJob,
  manyGpusJob,
  oomJob,
  pages,
  systemReport,
} from "../fixtures";

describe("the verdict", () => {
  it("has at most four sentences, seven of a group, each with a full stop", () => {
    for (const make of Object.values(pages))
      for (const run of make().runs) {
        const sentences = verdictOf(run);
        expect(sentences.length).toBeLessThanOrEqual(run.group ? 7 : 4);
        for (const sentence of sentences) expect(sentence).toMatch(/^[A-Z0-9<].*\.$/);
        expect(sentences.join(" ")).not.toMatch(/NaN|undefined|null|n\/a/);
      }
  });

  it("names memory, CPUs and stalls of a CPU job", () => {
    expect(verdictOf(cpuJob())).toEqual([
      "Peak memory 5.85 GB of 8.00 GB allowed (73 %).",
      "43 % of 12 cores were used.",
      "The job waited for I/O 14 % of the time.",
    ]);
  });

  it("leaves out pressure of the machine on an idle job", () => {
    const run = cpuJob();
    const pressure = run.pressure as { io_seconds: { source: string } };
    pressure.io_seconds.source = "host.procfs.pressure";
    expect(verdictOf(run)[2]).toBe("Processes of this machine waited for I/O 14 % of the time.");
    for (const path of ["cpu.mean_cores", "io.read_bytes", "io.written_bytes"])
      measureAt(run, path)!.value = 0;
    expect(verdictOf(run).join()).not.toContain("waited");
  });

  it("names page cache that counts towards the limit", () => {
    const run = cpuJob();
    (run.memory as { job_peak_bytes: object }).job_peak_bytes = {
      value: 7.9e9,
      source: "cgroup.memory.peak",
      exact: true,
    };
    expect(verdictOf(run)[0]).toBe(
      "Peak memory 7.90 GB of 8.00 GB allowed (99 %) with page cache; the processes held 5.85 GB.",
    );
  });

  it("has a row for threads that waited for a CPU", () => {
    const run = cpuJob();
    const cpu = run.cpu as Record<string, { value: number; source: string; exact: boolean }>;
    const rows = () => usageRows(run).filter(({ name }) => name === "Waiting for a CPU");
    expect(rows()).toEqual([]);
    cpu.wait_seconds = {
      value: 0.5 * cpu.total_seconds!.value,
      source: "procfs.schedstat",
      exact: false,
    };
    expect(rows()[0]!.note).toBe("at least");
    cpu.wait_seconds.exact = true;
    expect(rows()[0]!.note).toBe("all threads together");
  });

  it("names page cache that was read again", () => {
    const run = cpuJob();
    const memory = run.memory as Record<string, object>;
    const pressure = run.pressure as Record<string, object>;
    memory.refaulted_bytes = { value: 12e9, source: "cgroup.memory.stat", exact: false };
    expect(verdictOf(run).join()).not.toContain("re-read"); // the pages may have been evicted before the run
    memory.job_peak_bytes = { value: 8e9, source: "cgroup.memory.peak", exact: true };
    expect(verdictOf(run)[2]).toBe("The job re-read 12.0 GB that did not fit in memory.");
    const seconds = run.run.elapsed_seconds as number;
    pressure.memory_seconds = {
      value: 0.25 * seconds,
      source: "cgroup.memory.pressure",
      exact: true,
    };
    expect(verdictOf(run)[2]).toBe(
      "The job re-read 12.0 GB that did not fit in memory and waited for memory 25 % of the time.",
    );
    expect(usageRows(run).map(({ name }) => name)).toContain("Page cache read again");
    memory.refaulted_bytes = { value: 5e6, source: "cgroup.memory.stat", exact: false };
    expect(verdictOf(run).join()).not.toContain("re-read");
  });

  it("never compares resident memory with the limit of a cgroup", () => {
    const run = cpuJob();
    run.memory = {
      combined: { total_rss_bytes: { value: 8.64e9, source: "procfs", exact: false } },
      job_peak_bytes: { value: 8e9, source: "cgroup.memory.peak", exact: true },
    };
    expect(verdictOf(run)[0]).toBe("Peak memory 8.00 GB of 8.00 GB allowed (100 %).");
    run.limits!.memory_source = "slurm";
    expect(verdictOf(run)[0]).toBe("Peak memory 8.64 GB of 8.00 GB allowed (108 %).");
  });

  it("states how long GPUs were idle", () => {
    expect(verdictOf(gpuJob())[2]).toBe(
      "The GPU was idle 67 % of the time; 58.3 GB of 150 GB of GPU memory was used.",
    );
    expect(verdictOf(manyGpusJob())[2]).toMatch(/^The 8 GPUs were idle 96 % of the time/);
  });

  it("points out a busy GPU whose SMs do little", () => {
    const run = gpuJob();
    const of = (value: number) => ({ value, source: "nvml", exact: false });
    const use = { mean_gpus: of(0.97), max_gpus: of(1) };
    const work = { sm_gpus: of(0.11), tensor_gpus: of(0.001) };
    Object.assign(run.gpu as object, { utilization: use, job_utilization: use, work });
    const memory = "; 58.3 GB of 150 GB of GPU memory was used.";
    expect(verdictOf(run)[2]).toBe(
      `The GPU was busy 97 % of the time, but 11 % of its SMs worked and its tensor cores were idle${memory}`,
    );
    work.tensor_gpus = of(0.05);
    expect(verdictOf(run)[2]).toBe(
      `The GPU was busy 97 % of the time, but 11 % of its SMs worked${memory}`,
    );
    work.sm_gpus = of(0.3);
    expect(verdictOf(run)[2]).toBe(`The GPU was idle 3.0 % of the time${memory}`);
  });

  it("a GPU that others kept busy was not idle", () => {
    const run = gpuJob();
    const use = (value: number) => ({ mean_gpus: { value, source: "nvml", exact: false } });
    Object.assign(run.gpu as object, { utilization: use(0.97), job_utilization: use(0.1) });
    expect(verdictOf(run)[2]).toBe(
      "The job used the GPU 10 % of the time; 58.3 GB of 150 GB of GPU memory was used.",
    );
    run.gpu = {
      memory: { combined_bytes: { value: 0, source: "nvml", exact: false } },
      utilization: use(0.97),
      job_utilization: use(0),
    };
    expect(verdictOf(run)[2]).toBe("The job did not use the GPU; other processes did.");
  });

  it("states that a GPU was not used", () => {
    const run = gpuJob();
    run.gpu = {
      memory: { combined_bytes: { value: 0, source: "nvml", exact: false } },
      job_utilization: { mean_gpus: { value: 0, source: "nvml", exact: false } },
    };
    expect(verdictOf(run)).toContain("The GPU was not used.");
  });

  it("begins with the reason of a failure", () => {
    expect(verdictOf(failedJob())[0]).toBe("The job failed with exit code 2.");
    expect(verdictOf(oomJob())[0]).toBe("The job ran out of memory and was killed.");
    const killed = oomJob();
    killed.warnings = [];
    killed.events = {};
    expect(verdictOf(killed)[0]).toBe("The job was killed by SIGKILL.");
  });

  it("omits unknown figures", () => {
    expect(verdictOf(emptyJob())).toEqual(["25 % of 2 cores were used."]);
    expect(verdictOf({ run: {} })).toEqual([]);
  });

  it("is about the machine if there is no job", () => {
    expect(verdictOf(systemReport())[0]).toBe(
      "Peak memory in use 66.0 GB of the machine's 540 GB.",
    );
  });
});

describe("the ending", () => {
  it("is good only with exit code 0", () => {
    expect(endingOf(cpuJob())).toEqual({ outcome: "good", text: "exit code 0" });
    expect(endingOf(failedJob()).outcome).toBe("bad");
    expect(endingOf(oomJob()).text).toBe("out of memory: killed by SIGKILL");
    expect(endingOf({ run: { exit_code: null, still_running: true } }).text).toBe("still running");
    expect(endingOf({ run: { exit_code: null } }).outcome).toBe("unknown");
  });
});
