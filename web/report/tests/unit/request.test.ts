import { describe, expect, it } from "vitest";
import { requestFormats, requestText, whyNoRecommendation } from "../../src/request";
import { cpuJob, emptyJob, failedJob, gpuJob, oomJob } from "../fixtures";

function text(name: string, run = gpuJob()): string {
  return requestText(requestFormats.find((format) => format.name === name)!, run);
}

describe("lines for the next run", () => {
  it("for Slurm", () => {
    expect(text("sbatch")).toBe(
      [
        "# GPU memory: 67584 MiB in all",
        "#SBATCH --cpus-per-task=2",
        "#SBATCH --mem=11G",
        "#SBATCH --gpus=1",
        "#SBATCH --time=00:26:00",
      ].join("\n"),
    );
  });

  it("for Kubernetes, without a limit of CPUs", () => {
    expect(text("kubernetes")).toBe(
      [
        "# GPU memory: 67584 MiB in all",
        "resources:",
        "  requests:",
        '    cpu: "2"',
        "    memory: 11Gi",
        "  limits:",
        "    memory: 11Gi",
        "    nvidia.com/gpu: 1",
      ].join("\n"),
    );
  });

  it("for Nextflow, Snakemake, Metaflow and Docker", () => {
    expect(text("nextflow", cpuJob())).toBe("cpus 5\nmemory 7.GB\ntime 72.min");
    expect(text("snakemake", cpuJob())).toBe(
      "threads: 5\nresources:\n    mem_mb=7517,\n    runtime=72",
    );
    expect(text("metaflow", cpuJob())).toBe("@timeout(minutes=72)\n@resources(cpu=5, memory=7517)");
    expect(text("docker", cpuJob())).toBe("docker run --cpus=5 --memory=7g IMAGE");
  });

  it("memory that is not whole GiB is in MiB", () => {
    const run = cpuJob();
    run.recommendation!.memory_bytes!.value = 512 * 2 ** 20;
    expect(text("sbatch", run)).toContain("--mem=512M");
  });

  it("what is unknown is left out and commented", () => {
    const run = cpuJob();
    run.recommendation!.cpus = { value: null, guess: false, why: "not\nmeasured" };
    expect(text("sbatch", run)).toBe(
      "# CPUs is unknown: not measured\n#SBATCH --mem=7G\n#SBATCH --time=01:12:00",
    );
  });

  it("a guess says why", () => {
    expect(text("sbatch", oomJob()).split("\n")[0]).toBe(
      "# memory: it was killed for lack of memory at 4.00 GB: twice the limit",
    );
  });

  it("other vendors' GPUs have other names", () => {
    const run = gpuJob();
    run.host!.gpus![0]!.vendor = "amd";
    expect(text("kubernetes", run)).toContain("amd.com/gpu: 1");
    expect(text("docker", run)).toContain("--device=/dev/kfd --device=/dev/dri");
  });
});

describe("a recommendation", () => {
  it("is made for runs that succeeded, or ran out of memory", () => {
    expect(whyNoRecommendation(cpuJob())).toBe("");
    expect(whyNoRecommendation(oomJob())).toBe("");
    expect(whyNoRecommendation(failedJob())).not.toBe("");
    expect(whyNoRecommendation(emptyJob())).not.toBe("");
    expect(whyNoRecommendation({ run: {} })).not.toBe("");
    const unknown = cpuJob();
    unknown.run.exit_code = null;
    expect(whyNoRecommendation(unknown)).toContain("not known");
  });

  it("is not made by a short run, whoever recommends", () => {
    const run = cpuJob();
    run.run.elapsed_seconds = 1.25;
    expect(whyNoRecommendation(run)).toContain("too short");
    run.recommendation = undefined;
    run.context = { recommendation: null };
    expect(whyNoRecommendation(run)).toContain("too short");
  });

  it("a program that tracks itself is still running, and has not failed", () => {
    const run = cpuJob();
    run.run.exit_code = null;
    expect(whyNoRecommendation(run)).toContain("not known");
    run.run.still_running = true;
    expect(whyNoRecommendation(run)).toBe("");
  });
});
