// Pages written by the program SPOOR_BINARY, with the stand-in for NVIDIA's library next to it.

import { execFileSync } from "node:child_process";
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Run } from "../../src/report";
import { expect, test } from "./open";

const spoor = process.env.SPOOR_BINARY ?? "";
const DEADLINE_MS = 60_000; // kills a job that would wait forever
test.skip(spoor === "", "SPOOR_BINARY names no program");

const folders: string[] = []; // removed at the end

function newFolder(): string {
  mkdirSync(tmpdir(), { recursive: true });
  const folder = mkdtempSync(join(tmpdir(), "spoor-page-"));
  folders.push(folder);
  return folder;
}

test.afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

function run(
  page: string,
  options: string[],
  command: string[],
  more: NodeJS.ProcessEnv = {},
): void {
  const env = { ...process.env, PATH: `${dirname(spoor)}:${process.env.PATH}`, ...more };
  execFileSync(spoor, ["run", "-q", ...options, "--report", page, "--", ...command], {
    env,
    timeout: DEADLINE_MS,
  });
}

function dataOf(page: string): Run {
  const text = readFileSync(page, "utf8");
  const start = text.indexOf(">", text.indexOf('<script id="spoor-data"')) + 1;
  return JSON.parse(text.slice(start, text.indexOf("</script>", start))).runs[0];
}

test("a job with phases and children", async ({ report }) => {
  const file = join(newFolder(), "job.html");
  const burn = "awk 'BEGIN { for (i = 0; i < 6000000; i++) s += i % 7 }'";
  const script = `spoor phase start "<b>load"; ${burn}; spoor phase stop "<b>load"; ${burn} & ${burn}; wait`;
  run(file, ["-i", "0.05", "--name", "a <b>job</b>"], ["sh", "-c", script]);
  const page = await report.openFile(file);
  await expect(page.locator("h1")).toHaveText("a <b>job</b>");
  await expect(page.locator(".status.good")).toHaveText("exit code 0");
  await expect(page.locator("#chart-cpu canvas")).toBeVisible();
  await expect(page.locator("#chart-memory canvas")).toBeVisible();
  await expect(page.locator(".phase-strip button")).toHaveText(["<b>load"]);
  await expect(page.locator("#phases tbody th")).toHaveText(["<b>load"]);
  await expect(page.locator("#usage tbody tr").first()).toContainText("cores");
});

test("the processes add up to the job", async ({ report }) => {
  const file = join(newFolder(), "processes.html");
  const burn = "awk 'BEGIN { for (i = 0; i < 20000000; i++) s += i % 7 }'";
  run(file, ["-i", "0.1"], ["sh", "-c", `${burn} & ${burn}; wait`]);
  const data = dataOf(file);
  const all = [...(data.processes?.largest ?? []), ...(data.processes?.others ?? [])];
  const sum = all.reduce((total, { cpu_seconds }) => total + (cpu_seconds ?? 0), 0);
  const total = (data.cpu as { total_seconds: { value: number } }).total_seconds.value;
  expect(Math.abs(sum - total)).toBeLessThan(0.02 * total);
  const page = await report.openFile(file);
  await expect(page.locator(".bar", { hasText: "awk" })).toHaveCount(2);
  await expect(page.locator(".bar.main")).toHaveCount(1);
});

test("a GPU job, on the stand-in", async ({ report }) => {
  const folder = newFolder();
  const [script, calls, file] = ["script", "calls", "gpu.html"].map((name) => join(folder, name));
  appendFileSync(
    script!,
    [
      "device 0 uuid GPU-0000-aaaa",
      "device 0 name NVIDIA H200",
      "device 0 pci 0:59:0",
      "device 0 total 150000000000",
      "device 0 used 2000000000",
      "device 0 minor 0",
      "device 0 power 412000",
      "device 0 temperature 61",
      "",
    ].join("\n"),
  );
  // The job uses the GPU until the driver has reported the job's processes and power often
  // enough.
  const job = `
    printf 'process 0 compute %s 1073741824\\ndevice 0 used 3000000000\\n' $$ >>"$SPOOR_NVML_SCRIPT"
    count() { grep -c "$1" "$SPOOR_NVML_CALLS" 2>/dev/null || echo 0; }
    until [ "$(count GetComputeRunningProcesses)" -ge 4 ] &&
          [ "$(count GetPowerUsage)" -ge 4 ]; do
        sleep 0.02
    done`;
  run(file!, ["-i", "0.1", "--budget", "none"], ["sh", "-c", job], {
    LD_LIBRARY_PATH: join(dirname(spoor), "tests/gpu/standin/full"),
    SPOOR_NVML_SCRIPT: script,
    SPOOR_NVML_CALLS: calls,
  });
  const page = await report.openFile(file!);
  await expect(page.locator("#chart-gpu-memory canvas")).toBeVisible();
  await expect(page.locator("#chart-power canvas")).toBeVisible();
  await expect(page.locator("#usage")).toContainText("1.07 GB");
  await expect(page.getByRole("region", { name: "Machine" })).toContainText("NVIDIA H200");
});

test("a job that fails, and one that does nothing", async ({ report }) => {
  const folder = newFolder();
  for (const [name, code] of [
    ["true", 0],
    ["false", 1],
  ] as const) {
    const file = join(folder, `${name}.html`);
    try {
      run(file, [], [name]);
    } catch (error) {
      expect((error as { status: number }).status).toBe(code);
    }
    const page = await report.openFile(file);
    await expect(page.locator("h1")).toHaveText(name);
    await expect(page.locator(".status")).toHaveText(`exit code ${code}`);
  }
});

test("several reports in one page", async ({ report }) => {
  const folder = newFolder();
  const files = ["one", "two"].map((name) => join(folder, `${name}.json`));
  for (const file of files)
    execFileSync(spoor, ["run", "-q", "-i", "0.05", "-o", file, "--", "sleep", "0.3"]);
  const file = join(folder, "both.html");
  execFileSync(spoor, ["report", ...files, "-o", file], { stdio: "pipe" });
  const page = await report.openFile(file);
  await expect(page.locator("h1")).toHaveText("2 runs");
  await expect(page.locator(".compare thead th")).toHaveText(["1: sleep 0.3", "2: sleep 0.3"]);
});

test("the ranks of a job, merged by the last of them", async ({ report }) => {
  const folder = newFolder();
  const burn = "BEGIN { for (i = 0; i < 3000000; i++) s += i % 7 }";
  for (const rank of ["0", "1"])
    execFileSync(spoor, ["run", "-q", "-i", "0.05", "--group", folder, "--", "awk", burn], {
      env: { ...process.env, OMPI_COMM_WORLD_RANK: rank, OMPI_COMM_WORLD_SIZE: "2" },
      timeout: DEADLINE_MS,
    });
  const page = await report.openFile(join(folder, "merged.html"));
  await expect(page.locator("#ranks tbody tr")).toHaveCount(2);
  await expect(page.locator("#nodes tbody tr")).toHaveCount(1);
  await expect(page.locator("#heat-cpu canvas")).toBeVisible();
  await page.getByRole("button", { name: "Rank 1", exact: true }).click();
  await expect(page.locator("h1")).toHaveText(/^rank 1 on /);
  await expect(page.locator("#chart-cpu canvas")).toBeVisible();
});
